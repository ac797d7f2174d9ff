"""``gradcli.func``: transforms of functions, under PyTorch's names."""

from gradcli.transforms.forward import jvp, linearize
from gradcli.transforms.func import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    vjp,
)
from gradcli.transforms.tracer import debug_unwrap
from gradcli.transforms.vmap import vmap

_OF_MODULES = ("functional_call", "replace_all_batch_norm_modules_", "stack_module_state")

__all__ = [
    "debug_unwrap", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "vjp", "vmap", *_OF_MODULES,
]  # fmt: skip


def __getattr__(name: str) -> object:
    """What works on modules is loaded when it is first used."""
    if name in _OF_MODULES:
        from gradcli.nn import functional_call as home

        return getattr(home, name)
    raise AttributeError(f"module 'gradcli.func' has no attribute {name!r}")
