"""``Variable``: what tensors were called when they did not record by themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import gradcli.transforms  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine import Tensor
from gradcli.engine.backward.traverse import queue_callback
from gradcli.ops.errors import bad_type


class _Anything(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_Anything):
    """A leaf with the memory of ``data``; every tensor is an instance. PyTorch keeps the name.

    Raises TypeFault (E0303) for what is no tensor, RuntimeFault (E0404) where whole numbers are
    asked to require a gradient.

    Example:
        >>> import gradcli
        >>> gradcli.autograd.Variable(gradcli.ones(2), requires_grad=True)
        tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = SimpleNamespace(queue_callback=queue_callback)

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        """The leaf; ``volatile`` is accepted and does nothing, as in PyTorch."""
        if data is None:
            from gradcli.engine.creation.factories import zeros

            data = zeros(0)
        if not isinstance(data, Tensor):
            raise bad_type(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data._alias().requires_grad_(requires_grad)
