"""A product and a sum rounded once, as a processor's fused instruction does it.

PyTorch's random numbers are made with that instruction, and a seed gives them bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def fused(a: Any, b: Any, c: Any) -> Any:
    """``a*b + c`` for a finite array of float32 or float64; ``b`` and ``c`` are taken as its type.

    For float32, float64 holds the product. For float64 the error of the product is found by
    splitting the factors in halves (Dekker, 1971) and added last.

    Example:
        >>> import numpy as np
        >>> float(fused(np.array([0.1]), 10.0, -1.0)[0])
        5.551115123125783e-17
        >>> x = np.array([0.1], np.float32)
        >>> float(fused(x, 10.0, -1.0)[0]), float((x * np.float32(10.0) - 1.0)[0])
        (1.4901161193847656e-08, 0.0)
    """
    if a.dtype.char == "f":
        b, c = (v if isinstance(v, np.ndarray) else np.float32(v) for v in (b, c))
        return (a.astype(np.float64) * b + c).astype(np.float32)
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(np.float64(b))
    error = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
    total = product + c
    part = total - product
    return total + (error + ((product - (total - part)) + (c - part)))


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of half the digits whose sum is x (Veltkamp)."""
    scaled = x * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - x)
    return high, x - high
