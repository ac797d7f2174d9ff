"""``gradcli.autograd.functional``: derivatives of functions at a point, under PyTorch's names."""

from gradcli.transforms.functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
