"""Recording: an operator applied to Tensors, on the general path and on the fast one."""
