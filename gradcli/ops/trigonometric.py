"""Circular and hyperbolic functions, their inverses, and the two-argument angle and length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.arithmetic import along, sqrt
from gradcli.ops.declaration import cures
from gradcli.ops.kinds import composite, elementwise
from gradcli.ops.operator import Operator, is_complex
from gradcli.ops.piecewise import direction, where

sin = elementwise(
    "sin",
    np.sin,
    lambda x: cos(x),
    doc="The sine; x in radians.",
    parity="odd",
    square=("cos", 1, -1),
    latex=r"\sin",
)
cos: Operator = elementwise(
    "cos",
    np.cos,
    lambda x: -sin(x),
    doc="The cosine; x in radians.",
    parity="even",
    values={0: 1},
    square=("sin", 1, -1),
    latex=r"\cos",
)
tan = elementwise(
    "tan",
    np.tan,
    lambda out: 1.0 + out * out,
    doc="The tangent; x in radians.",
    domain="x != pi/2 + k*pi",
    parity="odd",
    quotient=("sin", "cos"),
    latex=r"\tan",
)


def _of_asin(x: Any) -> Any:
    """On a branch cut the sign of a zero tells the side: taking away a real number keeps it."""
    return 1.0 / (np.sqrt(-(x - 1.0)) * np.sqrt(x - -1.0))


asin_slope: Operator = composite(
    "asin_slope",
    lambda x: 1.0 / sqrt(1.0 - x * x),
    # 1 - x*x loses digits beside 1.
    lambda x: _of_asin(x) if is_complex(x) else 1.0 / np.sqrt((1.0 - x) * (1.0 + x)),
    lambda t, x, out: t * x * out * out * out,
    complex_holds=3,
    doc="1/sqrt(1 - x**2), the slope of asin.",
    python="1.0 / sqrt((1.0 - {0}) * (1.0 + {0}))",
    public=False,
)
asin = elementwise(
    "asin",
    np.arcsin,
    lambda t, x: t * asin_slope(x),
    aliases=("arcsin",),
    doc="The angle in [-pi/2, pi/2] whose sine is x.",
    domain="-1 <= x <= 1",
    edges="infinite slope at -1 and 1",
    parity="odd",
    latex=r"\arcsin",
    cures=cures.ASIN,
)
acos = elementwise(
    "acos",
    np.arccos,
    lambda t, x: -t * asin_slope(x),
    aliases=("arccos",),
    doc="The angle in [0, pi] whose cosine is x.",
    domain="-1 <= x <= 1",
    edges="infinite slope at -1 and 1",
    latex=r"\arccos",
    cures=cures.ASIN,
)
atan = elementwise(
    "atan",
    np.arctan,
    # The square of complex numbers leaves the floats far out, and loses digits beside 1j.
    lambda t, x: t * atanh_slope(1j * x) if is_complex(x) else t / (1.0 + x * x),
    aliases=("arctan",),
    doc="The angle in (-pi/2, pi/2) whose tangent is x.",
    parity="odd",
    latex=r"\arctan",
)
sinh = elementwise(
    "sinh",
    np.sinh,
    lambda x: cosh(x),
    doc="The hyperbolic sine.",
    parity="odd",
    square=("cosh", -1, 1),
    latex=r"\sinh",
    cures=cures.EXP,
)
cosh: Operator = elementwise(
    "cosh",
    np.cosh,
    lambda x: sinh(x),
    doc="The hyperbolic cosine.",
    parity="even",
    values={0: 1},
    positive=True,
    square=("sinh", 1, 1),
    latex=r"\cosh",
    cures=cures.EXP,
)
tanh = elementwise(
    "tanh",
    np.tanh,
    lambda out: 1.0 - out**2,
    doc="The hyperbolic tangent.",
    edges="the slope is read off the result, as in PyTorch: 0 beyond -19 and 19",
    parity="odd",
    quotient=("sinh", "cosh"),
    latex=r"\tanh",
)


def _over_root(x: Any) -> Any:
    if is_complex(x):
        turned = x.reshape(-1) * 1j  # which alone would lose the sign of a zero
        turned.real[...], turned.imag[...] = -x.imag.reshape(-1), x.real.reshape(-1)
        return _of_asin(turned.reshape(x.shape)[()])
    return _where_squares_overflow(1.0 / np.sqrt(1.0 + x * x), x)


def _where_squares_overflow(slope: Any, x: Any) -> Any:
    """1/abs(x) where ``slope`` is 0; np.hypot, or two roots, would cost more for every entry."""
    return slope if np.all(slope) else np.where(slope == 0, 1.0 / np.abs(x), slope)


asinh_slope: Operator = composite(
    "asinh_slope",
    lambda x: 1.0 / sqrt(1.0 + x * x),
    _over_root,
    lambda t, x, out: -(t * along(x, out)) * out * out,
    complex_holds=4,
    doc="1/sqrt(1 + x**2), the slope of asinh.",
    positive=True,
    public=False,
)
asinh = elementwise(
    "asinh",
    np.arcsinh,
    lambda t, x: t * asinh_slope(x),
    aliases=("arcsinh",),
    doc="The inverse of sinh.",
    parity="odd",
    latex=r"\operatorname{arsinh}",
)


def _over_roots(x: Any) -> Any:
    if is_complex(x):
        return 1.0 / (np.sqrt(x - 1.0) * np.sqrt(x - -1.0))
    square = (x - 1.0) * (x + 1.0) + 0.0  # of -1 it would be -0.0
    return _where_squares_overflow(1.0 / np.sqrt(square), x)


acosh_slope: Operator = composite(
    "acosh_slope",
    # Between the branch cuts of the two roots their product is not the root of the product.
    lambda x: 1.0 / sqrt(x - 1.0) / sqrt(x - -1.0) if is_complex(x) else 1.0 / sqrt(x * x - 1.0),
    _over_roots,
    lambda t, x, out: -(t * along(x, out)) * out * out,
    holds=3,
    doc="1/sqrt(x**2 - 1), the slope of acosh.",
    public=False,
)
acosh = elementwise(
    "acosh",
    np.arccosh,
    lambda t, x: t * acosh_slope(x),
    aliases=("arccosh",),
    doc="The inverse of cosh, not negative.",
    domain="x >= 1",
    edges="infinite slope at 1",
    example="acosh(x) --x 2",
    latex=r"\operatorname{arcosh}",
    cures=cures.ACOSH,
)
atanh_slope: Operator = composite(
    "atanh_slope",
    lambda x: 1.0 / (1.0 - x * x),
    lambda x: 1.0 / (1.0 - x) / (1.0 + x),
    lambda t, x, out: 2.0 * (t * along(x, out)) * out,
    doc="1/(1 - x**2), the slope of atanh.",
    python="1.0 / (1.0 - {0}) / (1.0 + {0})",
    public=False,
)
atanh = elementwise(
    "atanh",
    np.arctanh,
    lambda t, x: t * atanh_slope(x),
    aliases=("arctanh",),
    doc="The inverse of tanh.",
    domain="-1 < x < 1",
    parity="odd",
    latex=r"\operatorname{artanh}",
    cures=cures.ATANH,
)


def _safe(squares: Any) -> Any:
    """The divisor with 1 where both arguments are 0, so that the slope there is 0."""
    return where(squares == 0, 1.0, squares)


def _squares(x: Any, y: Any) -> tuple[Any, Any]:
    """The sum of the squares, and where it is no float with all digits; None where nowhere."""
    squares = x * x + y * y
    span = np.finfo(squares.dtype)
    least, most = span.tiny / span.eps, span.max
    if least <= squares.min(initial=1.0) and squares.max(initial=1.0) <= most:
        return squares, None
    return squares, (squares < least) | (squares > most)


def _hypot_slope(x: Any, y: Any) -> Any:
    """By a root: np.hypot takes many times as long."""
    squares, apart = _squares(x, y)
    if apart is None:
        return x / np.sqrt(squares)
    part = np.where(squares < np.inf, squares.dtype.type(1), squares.dtype.type(0.5))
    length = np.hypot(part * x, part * y)  # of the halves where the whole may leave the floats
    found = where(apart, direction(part * x, length), x / np.sqrt(_safe(squares)))
    return where((abs(x) == np.inf) & (abs(y) < np.inf), np.sign(x), found)


def _inverse(x: Any, y: Any) -> Any:
    """The real part of 1/z at z = x + y*i."""
    squares, apart = _squares(x, y)
    if apart is None:
        return x / squares
    found = x / _safe(squares)
    length = np.hypot(x, y)
    # There the slopes themselves leave the floats: PyTorch takes 0. At infinity they are 0.
    flat = (length < 1.0 / np.finfo(squares.dtype).max) | (
        (length == np.inf) & (squares == squares)
    )
    length = where(flat, 1.0, length)
    # Entry by entry, as no entry's bits may depend on the others.
    return where(apart, where(flat, 0.0, x / length / length), found)


def _over_squares(inverse: Callable[[Any, Any], Any], x: Any, y: Any, n: int, m: int) -> Any:
    """The real part of i**m times the derivative of order n of 1/z at z = x + y*i."""
    w = inverse(x, y)
    if not n:
        return w
    v = -inverse(y, x)
    real, imag = -(w - v) * (w + v), -2.0 * w * v
    for k in range(2, n + 1):
        real, imag = -k * (real * w - imag * v), -k * (real * v + imag * w)
    return (real, -imag, -real, imag)[m % 4] / ((x != 0) | (y != 0))


over_squares: Operator = composite(
    "over_squares",
    lambda x, y, n=0, m=0: _over_squares(
        lambda x, y: where(x * x + y * y == 0, 0.0, x / _safe(x * x + y * y)), x, y, n, m
    ),
    lambda x, y, n=0, m=0: _over_squares(_inverse, x, y, n, m),
    lambda x, y, n, m: over_squares(x, y, n + 1, m),
    lambda x, y, n, m: over_squares(x, y, n + 1, m + 1),
    holds=6.5,
    doc="x/(x**2 + y**2), of the slopes of atan2, and its derivative of order n, m times by y.",
    public=False,
)
atan2 = elementwise(
    "atan2",
    np.arctan2,
    lambda t, x, y: t * over_squares(y, x),
    lambda t, x, y: -t * over_squares(x, y),
    aliases=("arctan2",),
    doc="The angle of the point (y, x): atan2(x, y) is atan(x/y) by quadrant.",
    edges="slopes 0 and 0 at (0, 0)",
    example="atan2(x, y) --x 1 --y 2",
    kink="at {0} = {1} = 0: atan2 has no derivative (gradcli grad takes 0)",
    refuses={"complex": "atan2_cpu"},
)
hypot_slope: Operator = composite(
    "hypot_slope",
    lambda x, y: x / hypot(x, y),
    _hypot_slope,
    lambda t, x, y: t * hypot_slope(y, x) * hypot_slope(y, x) / hypot(x, y),
    lambda t, x, y, out: -t * out * hypot_slope(y, x) / hypot(x, y),
    holds=3,
    doc="x/hypot(x, y), the slopes of hypot; their own slopes do not cancel.",
    public=False,
)
hypot: Operator = elementwise(
    "hypot",
    np.hypot,
    lambda t, x, y: t * hypot_slope(x, y),
    lambda t, x, y: t * hypot_slope(y, x),
    doc="sqrt(x**2 + y**2), without overflow.",
    edges="slopes 0 and 0 at (0, 0)",
    example="hypot(x, y) --x 3 --y 4",
    parity="even",
    kink="at {0} = {1} = 0: hypot has no derivative (gradcli grad takes 0)",
    refuses={"bool int complex": "hypot_cpu"},
)
