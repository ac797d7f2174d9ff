"""``gradcli.autograd.function``: custom functions, under PyTorch's names."""

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.custom_function.context import Context as FunctionCtx
from gradcli.engine.custom_function.function import (
    Function,
    InplaceFunction,
    function_record,
    once_differentiable,
)

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "function_record", "once_differentiable"]
