"""The normal form: symbolic tensors as sums of products in index notation."""
