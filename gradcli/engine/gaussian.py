"""Normal numbers from uniform ones by Box and Muller (1958), with PyTorch's last digit.

For float32 PyTorch takes the logarithm, the sine and the cosine from the single-precision routines
of Moshier's Cephes library, eight at a time, each product and sum of their polynomials fused into
one rounding. The same steps, in the same order and with the same coefficients, give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.fused import fused

BLOCK = 16
"""Numbers come in blocks: u1 from the first half, u2 from the second."""
_PIECE = 1 << 14  # numbers at once: what a step makes stays in the cache
_f = np.float32
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LN2 = (0.693359375, -2.12194440e-4)  # a part with few digits, and the rest
_SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_QUARTER = (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)  # pi/4 in three parts


def box_muller(uniform: Any) -> Any:
    """As many normal numbers as there are uniform ones in [0, 1), a multiple of ``BLOCK``.

    Example:
        >>> import numpy as np
        >>> box_muller(np.full(16, 0.5))[:2].round(4).tolist()
        [-1.1774, -1.1774]
    """
    blocks = uniform.reshape(-1, 2, BLOCK // 2)
    if uniform.dtype == _f:
        rows = _PIECE // BLOCK
        pieces = [blocks[i : i + rows] for i in range(0, len(blocks), rows)]
        return np.concatenate([_in_single(piece).reshape(-1) for piece in pieces])
    radius = np.sqrt(-2.0 * np.log(1.0 - blocks[:, 0]))
    angle = 2.0 * np.pi * blocks[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


def _in_single(blocks: Any) -> Any:
    radius = np.sqrt(_f(-2) * _log(_f(1) - blocks[:, 0]))
    sine, cosine = _sine_and_cosine(_f(2 * np.pi) * blocks[:, 1])
    return np.stack([radius * cosine, radius * sine], axis=1)


def _polynomial(coefficients: tuple, x: Any) -> Any:
    y = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        y = fused(y, x, c)
    return y


def _log(x: Any) -> Any:
    """The natural logarithm of float32 numbers in (0, 1]."""
    fraction, exponent = np.frexp(x)
    low = fraction < _f(np.sqrt(0.5))
    exponent = exponent.astype(_f) - low
    x = np.where(low, (fraction - _f(1)) + fraction, fraction - _f(1))
    square = x * x
    y = _polynomial(_LOG, x) * x
    y = fused(y, square, exponent * _f(_LN2[1]))
    y = fused(square, -0.5, y)
    return fused(exponent, _LN2[0], x + y)


def _sine_and_cosine(x: Any) -> tuple[Any, Any]:
    """Of float32 angles in [0, 2 pi)."""
    eighth = ((x * _f(4 / np.pi)).astype(np.int32) + 1) & ~1
    for part in _QUARTER:
        x = fused(eighth.astype(_f), -part, x)
    square = x * x
    even = _polynomial(_COSINE, square) * square
    even = fused(even, square, -(square * _f(0.5))) + _f(1)
    odd = fused(_polynomial(_SINE, square) * square, x, x)
    straight = (eighth & 2) == 0
    sine, cosine = np.where(straight, odd, even), np.where(straight, even, odd)
    return (np.where(eighth & 4, -sine, sine), np.where((eighth - 2) & 4, cosine, -cosine))
