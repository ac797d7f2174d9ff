"""``gradcli.func``: transforms of functions, under PyTorch's names."""

from gradcli.transforms.forward import jvp, linearize
from gradcli.transforms.func import grad, grad_and_value, hessian, jacfwd, jacrev, vjp
from gradcli.transforms.vmap import vmap

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> object:
    """What works on modules is loaded when it is first used."""
    if name in ("functional_call", "stack_module_state"):
        from gradcli.nn import functional_call as home

        return getattr(home, name)
    raise AttributeError(f"module 'gradcli.func' has no attribute {name!r}")
