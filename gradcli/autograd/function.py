"""``gradcli.autograd.function``: custom functions, under PyTorch's names."""

from gradcli.engine.custom_function.function import Function, function_record, once_differentiable

__all__ = ["Function", "function_record", "once_differentiable"]
