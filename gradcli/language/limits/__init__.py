"""Limits of a running program: steps, sizes, nesting."""
