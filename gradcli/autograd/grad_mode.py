"""``gradcli.autograd.grad_mode``: what turns recording on and off, under PyTorch's names."""

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip
