"""Closed forms in LaTeX."""
