"""``gradcli.autograd.function``: custom functions, under PyTorch's names."""

from gradcli.engine.custom_function.context import Context as FunctionCtx
from gradcli.engine.custom_function.function import (
    Function,
    InplaceFunction,
    function_record,
    once_differentiable,
)

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "function_record", "once_differentiable"]
