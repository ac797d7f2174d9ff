"""Whole numbers that have lost bits, which texts of the language refuse: ``Operator.grows``.

A fixed number of bits wraps silently. Bounds from the sizes of the operands tell at once that most
results fit; the others are compared with the same computed in floats, or by Python.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.errors import ValueFault
from gradcli.ops.operator import Operator


def computed_whole(op: Operator, found: Any, given: Sequence[Any], params: dict[str, Any]) -> None:
    """Raise ValueFault (E0314) where whole numbers ``found`` of ``given`` have lost bits."""
    if not op.grows:
        return
    if not found.ndim and op.infix and op.kind != "elementwise":  # Python's are exact, and fast
        if op.compute(*[g.item() if hasattr(g, "item") else g for g in given]) != found.item():
            raise _lost(op.name, found)
        return
    if fits(bound(op, [*map(largest, given)], [*map(np.size, given)], params), found.dtype):
        return
    if op.without_bounds is not None:
        same = op.without_bounds(*given, **params)
    else:
        same = op.compute(*map(in_floats, given), **params)
    held(op.name, found, same)


def in_floats(value: Any) -> Any:
    """Arrays of whole numbers as those of floats; numbers stay as they are."""
    return np.float64(value) if getattr(value, "dtype", _PLAIN).kind in "iu" else value


_PLAIN = np.dtype(float)
_PLACES = {
    "dim", "keepdim", "axis", "keepdims", "dtype", "out", "shape", "labels",
    "memory_format",
}  # fmt: skip
"""Parameters that say where and in which type is added up, and not what."""


def fits(most: float, dtype: np.dtype) -> bool:
    """Whether a type of whole numbers has room for all, below 0 too, whose size is at most that."""
    return dtype.kind == "i" and most < 1 << (8 * dtype.itemsize - 1)


def largest(value: Any) -> Any:
    """The largest size of the numbers of an array; infinity where that is not known at once."""
    if not isinstance(value, np.ndarray | np.generic):
        return abs(value) if value.__class__ in (int, bool, float) else math.inf
    if value.dtype.kind == "c":
        return math.inf
    return max(abs(value.max().item()), abs(value.min().item())) if value.size else 0


def bound(op: Operator, most: Sequence[Any], sizes: Sequence[int], params: Any) -> Any:
    """What the size of whole numbers that ``op`` gives does not pass, where that of its operands
    does not pass ``most``; infinity where that is not known at once."""
    if callable(op.grows):
        return op.grows(*most)
    summed = [1] * len(sizes) if op.entrywise else sizes
    if op.kind == "bilinear" and params.keys() <= _PLACES:
        return math.prod(most) * math.prod(summed)
    if op.kind == "linear" and params.keys() <= _PLACES:
        return sum(map(operator.mul, most, summed))
    return math.inf


def held(name: str, found: Any, same: Any) -> None:
    """Raise ValueFault (E0314) where the type of whole numbers ``found`` has no room for them.

    ``same`` are these computed in floats: what differs by more than rounding has lost bits.
    """
    least = 2.0 ** (8 * found.dtype.itemsize - 1)
    if not (abs(np.asarray(same, np.float64) - found) <= least).all():
        raise _lost(name, found)


def _lost(name: str, found: Any) -> ValueFault:
    said = f"{name}() of these numbers is past {8 * found.dtype.itemsize} bits"
    return ValueFault("E0314", said, help="compute in floats: x.double(), 2.0**40")
