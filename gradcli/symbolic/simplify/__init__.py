"""Shorter forms of a derivative, and the search for the shortest."""
