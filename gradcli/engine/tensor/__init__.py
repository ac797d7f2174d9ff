"""Tensor, and what it is made of: attributes, conversions, storage shared by views."""
