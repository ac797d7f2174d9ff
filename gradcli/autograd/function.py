"""``gradcli.autograd.function``: custom functions, under PyTorch's names."""

from gradcli.engine.function import Function, function_record, once_differentiable

__all__ = ["Function", "function_record", "once_differentiable"]
