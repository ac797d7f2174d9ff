"""Padding as modules: constant, zero, reflected, repeated and circular, of one to three dimensions.

``padding`` is one number for all sides, or a pair for each dimension, the last dimension first.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.nn import functional as F
from gradcli.nn.modules.batchnorm import check_rank
from gradcli.nn.modules.made import in_ranks
from gradcli.nn.modules.module import Module


class _Padding(Module):
    """What they share: the sides and the mode of ``functional.pad``."""

    rank = 1
    mode = "constant"
    value: float = 0.0
    _shown = "{0.padding}"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        sides = padding if isinstance(padding, tuple | list) else (padding,) * (2 * self.rank)
        self.padding = tuple(sides)

    def forward(self, input: Tensor) -> Tensor:
        """The input with entries around its last dimensions."""
        if self.mode == "constant":
            return F.pad(input, self.padding, "constant", self.value)
        if self.mode == "circular":  # PyTorch's look at the input's dimensions first
            check_rank(input, (self.rank + 1, self.rank + 2))
        return F.pad(input, self.padding, self.mode)


class _Constant(_Padding):
    """Those that are given the number."""

    _shown = "padding={0.padding}, value={0.value}"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value


_DOC = "``functional.pad`` of the last dimensions, {rank} of them, mode={mode!r}."
ConstantPad1d, ConstantPad2d, ConstantPad3d = in_ranks(
    _Constant, "ConstantPad", "One number put around the last dimensions, {rank} of them."
)
ZeroPad1d, ZeroPad2d, ZeroPad3d = in_ranks(_Padding, "ZeroPad", _DOC, mode="constant")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = in_ranks(
    _Padding, "ReflectionPad", _DOC, mode="reflect"
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = in_ranks(
    _Padding, "ReplicationPad", _DOC, mode="replicate"
)
CircularPad1d, CircularPad2d, CircularPad3d = in_ranks(
    _Padding, "CircularPad", _DOC, mode="circular"
)
