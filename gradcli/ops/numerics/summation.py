"""Sums of arrays whose rounding does not grow with the number of terms.

NumPy adds in pairs along the dimension that is closest in memory, and one term after another along
all others: there 5,000 halves of 1 make 2,048, and 20 million single ones 16,777,216.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

FEW = 128
"""Terms that are added one after another."""
HALF = np.dtype(np.float16)
WIDER = {
    "e": np.dtype(np.float64), "f": np.dtype(np.float64), "F": np.dtype(np.complex128),
}  # fmt: skip
"""The double precision of each narrower type."""

_add: Any = np.add.reduce
"""In half the time of np.sum, and what overflows is no warning of NumPy's own Python code."""


def accurate_sum(x: Any, axes: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """The sum of ``x`` over ``axes`` (None: all), in the dtype that NumPy's sum has.

    Halves are added as doubles and rounded once. Where NumPy would add many terms one after
    another, blocks of ``FEW`` are added, then their sums in the same way. Arrays of other libraries
    have the method ``sum``. Raises NumPy's AxisError for a dimension that ``x`` does not have.

    Example:
        >>> import numpy as np
        >>> from gradcli.ops.numerics.summation import accurate_sum
        >>> accurate_sum(np.ones((5000, 2), np.float16), 0)
        array([5.e+03, 5.e+03], dtype=float16)
    """
    if x.__class__ is not np.ndarray:
        return x.sum(axis=axes, keepdims=keepdims)
    if x.dtype is HALF:
        return _add(x, axes, np.float64, None, keepdims).astype(HALF)
    if x.size <= FEW or x.dtype.kind not in "fc":
        return _add(x, axis=axes, keepdims=keepdims)
    given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    gone = {axis % x.ndim for axis in given}
    if math.prod([x.shape[axis] for axis in gone]) <= FEW:
        return _add(x, axis=axes, keepdims=keepdims)  # as in fewer rows: the same bits
    first = x.ndim
    while first - 1 in gone and x.flags.c_contiguous:
        first -= 1  # dimensions that lie together are one
    if first < x.ndim or max(map(abs, given)) > x.ndim:
        out = _add(x, axis=axes if first == 0 else tuple(range(first, x.ndim)), keepdims=True)
    else:
        out = x
    for axis in sorted(gone, key=x.shape.__getitem__, reverse=True):
        if axis < first:
            out = _in_blocks(out, axis)
    return out if keepdims else np.squeeze(out, tuple(gone))[()]


def _in_blocks(x: Any, axis: int) -> Any:
    """The sum along one dimension, which is kept."""
    size = x.shape[axis]
    steps = [abs(step) for step, n in zip(x.strides, x.shape, strict=True) if n > 1]
    # Pairs only along the innermost dimension, which an expanded one beside others is not.
    if size <= FEW or len(steps) == 1 or 0 < abs(x.strides[axis]) == min(steps):
        return _add(x, axis=axis, keepdims=True)
    lead, whole = (slice(None),) * axis, size // FEW * FEW
    shape = (*x.shape[:axis], -1, FEW, *x.shape[axis + 1 :])
    out = _in_blocks(_add(x[(*lead, slice(whole))].reshape(shape), axis=axis + 1), axis)
    if whole < size:
        out += _add(x[(*lead, slice(whole, None))], axis=axis, keepdims=True)
    return out


def in_double(scan: Any) -> Any:
    """``scan`` in double precision, rounded once for each result: 3000 halves of 1 are 3000."""

    def compute(x: Any, axis: int) -> Any:
        wide = WIDER.get(getattr(getattr(x, "dtype", None), "char", ""))
        if wide is None:
            return scan(x, axis=axis)
        return scan(x.astype(wide), axis=axis).astype(x.dtype)

    return compute
