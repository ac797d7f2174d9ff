"""Padding as modules: ``functional.pad`` by one mode over the last one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.engine import Tensor
from gradcli.nn import functional as F
from gradcli.nn.modules.module import Module


class _Padding(Module):
    """Entries added on both sides of the last dimensions; ``padding`` as ``functional.pad``'s."""

    _mode = "constant"
    _dims = 1

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        sides = [padding] * (2 * self._dims) if isinstance(padding, int) else padding
        self.padding = tuple(sides)

    def forward(self, input: Tensor) -> Tensor:
        """The input, padded."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """How many entries each side gets."""
        return f"{self.padding}"


class _Constant(_Padding):
    """The same, with one value in the new places."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The input, padded."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """How many entries each side gets, and of what value."""
        return f"padding={self.padding}, value={self.value}"


def _made(kind: str, dims: int, mode: str, base: type[_Padding] = _Padding) -> Any:
    body = {"_mode": mode, "_dims": dims, "__module__": __name__}
    doc = f"``functional.pad`` over the last {dims}, mode {mode!r}."
    return type(f"{kind}Pad{dims}d", (base,), {**body, "__doc__": doc})


ConstantPad1d, ConstantPad2d, ConstantPad3d = (
    _made("Constant", dims, "constant", _Constant) for dims in (1, 2, 3)
)
ZeroPad1d, ZeroPad2d, ZeroPad3d = (_made("Zero", dims, "constant") for dims in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (
    _made("Reflection", dims, "reflect") for dims in (1, 2, 3)
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    _made("Replication", dims, "replicate") for dims in (1, 2, 3)
)
CircularPad1d, CircularPad2d, CircularPad3d = (
    _made("Circular", dims, "circular") for dims in (1, 2, 3)
)

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip
