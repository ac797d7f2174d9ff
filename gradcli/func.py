"""``gradcli.func``: transforms of functions, under PyTorch's names."""

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli._lazy import lazily
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

_OF_MODULES = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]
__all__ = [
    "debug_unwrap", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "vjp", "vmap", *_OF_MODULES,
]  # fmt: skip

__getattr__ = lazily(__name__, dict.fromkeys(_OF_MODULES, "gradcli.nn.functional_call"))
