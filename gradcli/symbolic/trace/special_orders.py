"""Special functions of whole orders: higher orders by recurrence from those that have a name.

Bessel functions of order 2 and more, and the slopes of sinc, are said by the ones below them, which
holds away from 0. DLMF 10.6.1 and 10.29.1.
"""

from __future__ import annotations

import math
from fractions import Fraction

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.elementwise import applied
from gradcli.symbolic.trace.symbol import Symbol, operation


@operation("polygamma")
def polygamma(x: Symbol, n: int = 1) -> Symbol:
    """The derivative of order n of digamma."""
    return Symbol(applied("polygamma", [v.number(n), x.tensor]), x.axes)


def _bessel(family: str, first: str, second: str, sign: int) -> None:
    """A family by the names of its orders 0 and 1, and the sign of its recurrence."""

    @operation(family)
    def bessel(x: Symbol, n: int = 0) -> Symbol:
        """I(n+1) = I(n-1) - 2n/x*I(n), J(n+1) = 2n/x*J(n) - J(n-1)."""
        low, high = applied(first, [x.tensor]), applied(second, [x.tensor])
        if not n:
            return Symbol(low, x.axes)
        for k in range(1, n):
            step = v.scale(v.mul(v.power(x.tensor, Fraction(-1)), high), 2 * k * sign)
            low, high = high, v.add(v.scale(low, -sign), step)
        return Symbol(high, x.axes)


_bessel("bessel_i", "i0", "i1", -1)
_bessel("bessel_ie", "i0e", "i1e", -1)
_bessel("bessel_j", "bessel_j0", "bessel_j1", 1)


@operation("sinc_slope")
def sinc_slope(x: Symbol, n: int = 1, unit: float = math.pi) -> Symbol:
    """x*f(n) + n*f(n-1) is the derivative of order n of sin(unit*x)/unit, for f = sinc or j0."""
    scale = v.UNIT if unit == 1 else v.factor(v.base("constant", "pi"))
    angle = v.mul(scale, x.tensor)
    waves = [applied("sin", [angle]), applied("cos", [angle])]
    found = applied("spherical_bessel_j0" if unit == 1 else "sinc", [x.tensor])
    for k in range(1, n + 1):
        wave = v.scale(waves[k % 2], (1, 1, -1, -1)[k % 4])
        top = v.add(v.mul(v.power(scale, Fraction(k - 1)), wave), v.scale(found, -k))
        found = v.mul(v.power(x.tensor, Fraction(-1)), top)
    return Symbol(found, x.axes)
