"""``gradcli.func``: transforms of functions, under PyTorch's names."""

from gradcli.transforms import grad, hessian, hvp, jacobian, jvp, vjp

jacrev = jacobian

__all__ = ["grad", "hessian", "hvp", "jacobian", "jacrev", "jvp", "vjp"]
