"""Padding as modules: constant, zero, reflected, repeated and circular, of one to three dimensions.

``padding`` is one number for all sides, or a pair for each dimension, the last dimension first.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.nn import functional as F
from gradcli.nn.modules.batchnorm import check_rank
from gradcli.nn.modules.module import Module


class _Padding(Module):
    """What they share: the sides and the mode of ``functional.pad``."""

    rank = 1
    mode = "constant"
    value: float = 0.0

    def __init__(self, padding: Any) -> None:
        super().__init__()
        sides = padding if isinstance(padding, tuple | list) else (padding,) * (2 * self.rank)
        self.padding = tuple(sides)

    def forward(self, input: Tensor) -> Tensor:
        """The input with entries around its last dimensions."""
        if self.mode == "constant":
            return F.pad(input, self.padding, "constant", self.value)
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The sides."""
        return f"{self.padding}"


class _Circular(_Padding):
    """Those that look at the input's dimensions first."""

    def forward(self, input: Tensor) -> Tensor:
        """The input with entries around its last dimensions."""
        check_rank(input, (self.rank + 1, self.rank + 2))
        return super().forward(input)


class ConstantPad1d(_Padding):
    """One number put around the last dimension."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The sides and the number."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """One number put around the last two dimensions."""

    rank = 2


class ConstantPad3d(ConstantPad1d):
    """One number put around the last three dimensions."""

    rank = 3


def _row(name: str, mode: str, rank: int, base: type = _Padding) -> type[_Padding]:
    """A class that pads by a mode of ``functional.pad``."""
    doc = f"``functional.pad`` of the last {rank} dimension{'s' * (rank > 1)}, mode={mode!r}."
    body = {"mode": mode, "rank": rank, "__doc__": doc, "__module__": __name__}
    return type(name, (base,), body)


ZeroPad1d, ZeroPad2d, ZeroPad3d = (_row(f"ZeroPad{n}d", "constant", n) for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (
    _row(f"ReflectionPad{n}d", "reflect", n) for n in (1, 2, 3)
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    _row(f"ReplicationPad{n}d", "replicate", n) for n in (1, 2, 3)
)
CircularPad1d, CircularPad2d, CircularPad3d = (
    _row(f"CircularPad{n}d", "circular", n, _Circular) for n in (1, 2, 3)
)
