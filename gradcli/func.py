"""``gradcli.func``: transforms of functions, under PyTorch's names."""

from gradcli.transforms.composable import grad, grad_and_value, hessian, jacfwd, jacrev, vjp
from gradcli.transforms.forward import jvp
from gradcli.transforms.vmap import vmap

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
