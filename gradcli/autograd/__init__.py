"""``gradcli.autograd``: gradients of tensors that were recorded, under PyTorch's names."""

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli._lazy import lazily
from gradcli.autograd.gradcheck import gradcheck, gradgradcheck
from gradcli.engine import backward, grad
from gradcli.engine.backward.anomaly import detect_anomaly, set_detect_anomaly
from gradcli.engine.custom_function.function import Function
from gradcli.engine.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__getattr__ = lazily(__name__, {
    **dict.fromkeys((
        "anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "graph", "variable",
    ), ""),
    "Variable": "gradcli.autograd.variable",
})  # fmt: skip

__all__ = [
    "Function", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "function",
    "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_multithreading_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip
