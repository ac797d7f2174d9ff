"""Evenly spaced numbers with PyTorch's last digit.

NumPy's ``arange`` repeats a step that was rounded once; PyTorch multiplies the step by the place,
rounded once together with the sum, afresh from the first number of each vector register.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.rounding import fused_exactly


def by_step(start: float, step: float, count: int, dtype: Any) -> np.ndarray:
    """``count`` numbers from ``start``, ``step`` apart.

    Example:
        >>> by_step(-1.0, 0.1, 40, np.float64)[20:22].tolist(), (-1.0 + 0.1 * 21)
        ([1.0, 1.1], 1.1)
    """
    places = np.arange(count)
    if np.dtype(dtype).kind != "f":
        return (start + step * places).astype(dtype)
    lanes = max(1, 32 // np.dtype(dtype).itemsize)
    whole = count - count % (2 * lanes)  # registers go in pairs; the rest are counted one by one
    first = np.where(places < whole, places - places % lanes, places).astype(np.float64)
    base = fused_exactly(first, float(step), float(start)).astype(dtype).astype(np.float64)
    return fused_exactly(places - first, float(step), base).astype(dtype)


def between(start: float, end: float, count: int, dtype: Any) -> np.ndarray:
    """``count`` numbers from ``start`` to ``end``, each counted from the nearer of the two.

    Example:
        >>> between(0.0, 1.0, 5, np.float32).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if np.dtype(dtype).char not in "fd" or count < 2:
        return np.linspace(start, end, count).astype(dtype)
    kind = np.dtype(dtype).type
    start, end = kind(start), kind(end)
    step = (end - start) / kind(count - 1)
    low, high = count // 2, count - count // 2
    return np.concatenate((
        fused_exactly(np.arange(low, dtype=kind), step, start),
        fused_exactly(np.arange(high - 1, -1, -1, dtype=kind), -step, end),
    ))  # fmt: skip
