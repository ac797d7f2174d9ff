"""Shapes of variables and steps: declared, inferred, unified."""
