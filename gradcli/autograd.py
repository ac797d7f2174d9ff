"""``gradcli.autograd``: gradients of tensors that were recorded, under PyTorch's names."""

from gradcli.engine import backward, grad
from gradcli.engine.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from gradcli.transforms.check import gradcheck, gradgradcheck

__all__ = [
    "backward", "enable_grad", "grad", "gradcheck", "gradgradcheck", "inference_mode", "no_grad",
    "set_grad_enabled",
]  # fmt: skip
