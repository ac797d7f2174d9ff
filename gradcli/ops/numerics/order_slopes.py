"""Derivatives of the incomplete Gamma functions and of zeta by their orders, as numbers.

No library of NumPy's world has them. All orders of derivative come from one form each: of an
integrand or a term ``exp(f(s))``, the derivatives by s are that times polynomials in those of f.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.cupy_compat import on_host, special, zeros

# Nodes and weights for the integral from 0 to infinity: t = exp(pi/2 sinh(s)), which meets both
# ends double exponentially (Takahasi and Mori, 1974).
_STEPS = np.arange(-4.0, 3.2, 1.0 / 24)
_NODES = np.exp(0.5 * np.pi * np.sinh(_STEPS))
_WEIGHTS = _NODES * 0.5 * np.pi * np.cosh(_STEPS) / 24
_PIECE = 1024
"""Integrals that are computed at a time."""
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
              -174611 / 330)  # fmt: skip


def _bell(n: int, slopes: list[Any]) -> Any:
    """The derivative of order n of exp(f), over exp(f), from the derivatives of f by order."""
    found: list[Any] = [1.0]
    for m in range(n):
        found.append(sum(math.comb(m, i) * found[m - i] * slopes[i] for i in range(m + 1)))
    return found[n]


def _log_slopes(order: Any, n: int) -> list[Any]:
    """Minus the derivatives of lgamma at ``order``, from the first to the n-th."""
    found = [-special("psi", order, order)] if n else []
    for m in range(1, n):
        factor = (-1.0) ** (m + 1) * math.factorial(m)
        found.append(-factor * special("zeta", order, m + 1.0, order))
    return found


def log_ratio(a: Any, y: Any) -> Any:
    """log(y) - digamma(a): for large a by digamma's series, so that no digits cancel."""
    kept = a if hasattr(a, "dtype") else y
    a = a if hasattr(a, "dtype") else zeros(y, y.shape) + a
    far = np.where(a > 20, a, 20.0)
    m = (y - far) / far
    near = np.abs(m) < 0.5
    log = np.where(near, np.log1p(np.where(near, m, 0.0)), np.log(y / far))
    rest = sum(b / (2 * k * far ** (2 * k)) for k, b in enumerate(_BERNOULLI[:6], 1))
    plain = np.log(y) - special("psi", a, a)
    return np.where(a > 20, log + 0.5 / far + rest, plain).astype(kept.dtype)[()]


def gamma_density(order: Any, y: Any, n: int = 0) -> Any:
    """y**(order - 1 - n) exp(-y)/gamma(order): for n = 0 of large orders by Stirling's series, so
    that no digits cancel.
    """
    if not hasattr(order, "dtype"):
        order = zeros(y, y.shape) + order
    plain = np.exp((order - 1.0 - n) * np.log(y) - y - special("gammaln", order, order))
    if n:
        return plain
    far = np.where(order > 20, order, 20.0)
    m = (y - far) / far
    small = np.where(np.abs(m) < 0.05, m, 0.0)
    series = sum((-small) ** k / k for k in range(2, 16))  # of m - log1p(m)
    gap = np.where(np.abs(m) < 0.05, series, m - np.log(y / far))
    rest = 1 / (12 * far) - 1 / (360 * far**3) + 1 / (1260 * far**5) - 1 / (1680 * far**7)
    stirling = np.sqrt(far / (2 * np.pi)) * np.exp(-far * gap - rest) / np.where(y == 0, 1.0, y)
    return np.where(order > 20, stirling, plain).astype(order.dtype)[()]


@on_host
def gammainc_slope(order: Any, y: Any, n: int) -> Any:
    """The derivative of order n of gammainc(order, y) by ``order``; NaN outside order > 0, y >= 0.

    A series where y is small; elsewhere the integral from 0 to y, or minus the one from y on, of
    t**(order - 1) exp(-t) log(t/...): whichever has no change of sign.

    Example:
        >>> round(float(gammainc_slope(2.0, 1.5, 1)), 12)
        -0.313488637825
    """
    kept = np.result_type(order, y)
    a, z = np.broadcast_arrays(np.asarray(order, np.float64), np.asarray(y, np.float64))
    inside = (a > 0) & (z > 0) & np.isfinite(a) & np.isfinite(z)
    a, z = np.where(inside, a, 1.0), np.where(inside, z, 1.0)
    with np.errstate(all="ignore"):
        c = z * gamma_density(a, z)
        slopes = _log_slopes(a, n)
        slopes[0] = log_ratio(a, z)
        found = np.where(z < 2, _series(a, z, c, n), _in_pieces(a, z, c, slopes, n))
    given = np.broadcast_to((np.asarray(order) > 0) & (np.asarray(y) >= 0), a.shape)
    found = np.where(inside, found, np.where(given, 0.0, np.nan))  # constant at y = 0 and at inf
    return found.astype(kept if kept.kind == "f" else np.float64)[()]


def _series(a: Any, z: Any, c: Any, n: int) -> Any:
    """The sum of z**(a + k) exp(-z)/gamma(a + k + 1), term by term: for z below 2."""
    total = 0.0
    term = c / a
    for k in range(40):
        slopes = _log_slopes(a + (k + 1.0), n)
        slopes[0] = slopes[0] + np.log(z)
        total = total + term * _bell(n, slopes)
        term = term * (z / (a + (k + 1.0)))
    return total


def _in_pieces(a: Any, z: Any, c: Any, slopes: list[Any], n: int) -> Any:
    """The integrals of so many at a time, as each takes many nodes."""
    given = [np.broadcast_to(v, a.shape).ravel() for v in (a, z, c, *slopes)]
    found = np.empty(a.size)
    for start in range(0, a.size, _PIECE):
        piece = slice(start, start + _PIECE)
        of, at, height, *rest = (v[piece] for v in given)
        found[piece] = _integral(of, at, height, rest, n)
    return found.reshape(a.shape)


def _integral(a: Any, z: Any, c: Any, slopes: list[Any], n: int) -> Any:
    """With t = z exp(-u), or z exp(u): one exponential of u, smooth from 0 to infinity."""
    a, z, c = (v[..., None] for v in (a, z, c))
    slopes = [s[..., None] for s in slopes]
    side = np.where(slopes[0] < 0, -1.0, 1.0)
    u = side * _NODES / np.sqrt(a + 1.0)  # as wide as the integrand is at its widest
    weights = _WEIGHTS / np.sqrt(a + 1.0)
    small = np.where(np.abs(u) < 0.05, u, 0.0)
    series = sum(small**k / math.factorial(k) for k in range(2, 10))  # of expm1(u) - u
    bend = np.where(np.abs(u) < 0.05, series, np.expm1(u) - u)
    height = np.exp((a - z) * u - z * bend)
    slopes[0] = slopes[0] + u
    terms = np.where(height > 0, height * _bell(n, slopes), 0.0)
    return np.sum(-side * c * weights * terms, -1)


@on_host
def zeta_slope(order: Any, y: Any, n: int) -> Any:
    """The derivative of order n of Hurwitz's zeta(order, y) by ``order``.

    NaN unless order > 1 and y > 0. The formula of Euler and Maclaurin, differentiated as power
    series in the order.

    Example:
        >>> round(float(zeta_slope(2.0, 1.0, 1)), 12)
        -0.937548254316
    """
    kept = np.result_type(order, y)
    s, q = np.broadcast_arrays(np.asarray(order, np.float64), np.asarray(y, np.float64))
    inside = (s > 1) & (q > 0)
    s, q = np.where(inside, s, 2.0), np.where(inside, q, 1.0)
    with np.errstate(all="ignore"):
        total = sum(_powers(s, q + k, n)[n] for k in range(12))
        end = q + 12.0
        powers = _powers(s, end, n)
        first = [(-1.0) ** i / (s - 1.0) ** (i + 1) for i in range(n + 1)]
        total = total + end * _times(powers, first)[n] + 0.5 * powers[n]
        rising = powers
        for j, number in enumerate(_BERNOULLI, 1):
            for i in (2 * j - 3, 2 * j - 2) if j > 1 else (0,):
                rising = _times(rising, [s + i, np.ones_like(s), *[np.zeros_like(s)] * (n - 1)])
            scale = number / math.factorial(2 * j) / end ** (2 * j - 1)
            total = total + scale * rising[n]
    found = np.where(inside, total * math.factorial(n), np.nan)
    return found.astype(kept if kept.kind == "f" else np.float64)[()]


def _powers(s: Any, x: Any, n: int) -> list[Any]:
    """x**-s as a power series in s, up to the n-th coefficient."""
    log = -np.log(x)
    return [x**-s * log**i / math.factorial(i) for i in range(n + 1)]


def _times(a: list[Any], b: list[Any]) -> list[Any]:
    """The product of two power series of one length."""
    return [sum(a[i] * b[m - i] for i in range(m + 1)) for m in range(min(len(a), len(b)))]
