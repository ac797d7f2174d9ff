"""A closed form for other readers: LaTeX, NumPy, PyTorch, JAX."""
