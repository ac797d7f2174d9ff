"""Polynomials in one variable with exact coefficients: quotients, greatest divisors, real roots.

A polynomial is the list of its coefficients from the constant one up, without zeros at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from gradcli.symbolic.program.steps import Step

Poly = list[Fraction]
MOST_DEGREE = 60


def trimmed(p: Sequence[Fraction]) -> Poly:
    """Without zeros at the end."""
    found = list(p)
    while found and not found[-1]:
        found.pop()
    return found


def added(a: Poly, b: Poly, sign: int = 1) -> Poly:
    """a + sign*b."""
    size = max(len(a), len(b))
    return trimmed(
        [
            (a[i] if i < len(a) else Fraction(0)) + sign * (b[i] if i < len(b) else Fraction(0))
            for i in range(size)
        ]
    )


def multiplied(a: Poly, b: Poly) -> Poly:
    """a*b. Raises OverflowError above the largest degree."""
    if not a or not b:
        return []
    if len(a) + len(b) > MOST_DEGREE + 2:
        raise OverflowError
    found = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] += x * y
    return trimmed(found)


def divided(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder of a by b, which is not zero."""
    rest = list(a)
    quotient = [Fraction(0)] * max(0, len(a) - len(b) + 1)
    while len(rest) >= len(b):
        factor = rest[-1] / b[-1]
        shift = len(rest) - len(b)
        quotient[shift] = factor
        for i, c in enumerate(b):
            rest[i + shift] -= factor * c
        rest.pop()
        rest = trimmed(rest)
    return trimmed(quotient), rest


def gcd(a: Poly, b: Poly) -> Poly:
    """The greatest common divisor, its leading coefficient 1."""
    while b:
        a, b = b, divided(a, b)[1]
    return [c / a[-1] for c in a]


def slope(p: Poly) -> Poly:
    """The polynomial's derivative."""
    return [i * c for i, c in enumerate(p)][1:]


def at(p: Poly, x: Fraction) -> Fraction:
    """The value at x."""
    total = Fraction(0)
    for c in reversed(p):
        total = total * x + c
    return total


def quotient_of(
    steps: Sequence[Step], name: str, values: Mapping[str, Any]
) -> tuple[Poly, Poly] | None:
    """The steps' value as a quotient of polynomials in ``name``; None where it is none."""
    done: list[tuple[Poly, Poly]] = []
    one = [Fraction(1)]
    try:
        for s in steps:
            args = [done[i] for i in s.inputs]
            found = _quotient(s, args, name, values)
            if found is None or not found[1]:
                return None
            common = gcd(found[0], found[1]) if found[0] else found[1]
            done.append(
                (divided(found[0], common)[0], divided(found[1], common)[0])
                if len(common) > 1 else (found if found[0] else ([], one))
            )  # fmt: skip
    except OverflowError:
        return None
    return done[-1]


def _quotient(
    s: Step, args: list[tuple[Poly, Poly]], name: str, values: Mapping[str, Any]
) -> tuple[Poly, Poly] | None:
    one = [Fraction(1)]
    if s.op == "number":
        return trimmed([Fraction(s.value)]), one
    if s.op == "name":
        if s.value == name:
            return [Fraction(0), Fraction(1)], one
        x = np.asarray(values.get(s.value, np.nan))
        if x.ndim or not np.isfinite(x):
            return None
        return trimmed([Fraction(float(x))]), one
    if s.op in ("neg", "clone"):
        return multiplied(args[0][0], [Fraction(-1 if s.op == "neg" else 1)]), args[0][1]
    if s.op in ("add", "sub"):
        (a, b), (c, d) = args
        if b == d:
            return added(a, c, 1 if s.op == "add" else -1), b
        return added(multiplied(a, d), multiplied(c, b), 1 if s.op == "add" else -1), multiplied(
            b, d
        )
    if s.op == "mul":
        return multiplied(args[0][0], args[1][0]), multiplied(args[0][1], args[1][1])
    if s.op == "div":
        return multiplied(args[0][0], args[1][1]), multiplied(args[0][1], args[1][0])
    if s.op == "reciprocal":
        return args[0][1], args[0][0]
    if s.op in ("pow", "square"):
        exponent = 2 if s.op == "square" else _whole(args[1])
        if exponent is None or abs(exponent) > MOST_DEGREE:
            return None
        top, below = args[0] if exponent >= 0 else args[0][::-1]
        p, q = one, one
        for _ in range(abs(exponent)):
            p, q = multiplied(p, top), multiplied(q, below)
        return p, q
    return None


def _whole(x: tuple[Poly, Poly]) -> int | None:
    top, below = x
    if len(top) > 1 or len(below) > 1:
        return None
    number = top[0] / below[0] if top else Fraction(0)
    return int(number) if number.denominator == 1 else None


# ---- Real roots ----------------------------------------------------------------------------------


def real_roots(p: Poly) -> list[tuple[float, Fraction | None]]:
    """Every real root once, in order, with its exact value where that is a small fraction.

    The companion matrix proposes, Sturm's theorem counts; where they disagree, Sturm's count is
    halved in until every interval holds one root.
    """
    p = divided(p, gcd(p, slope(p)))[0] if len(p) > 1 else p
    if len(p) < 2:
        return []
    chain = sturm(p)
    bound = 1 + max(abs(c / p[-1]) for c in p[:-1])
    count = changes(chain, -bound) - changes(chain, bound)
    proposed = _companion(p)
    if len(proposed) != count:
        proposed = _isolated(chain, -bound, bound)
    gap = min((b - a for a, b in pairwise(proposed)), default=np.inf)
    found = [(x, _exact(p, x, gap / 4)) for x in proposed]
    return [(x if exact is None else float(exact), exact) for x, exact in found]


def sturm(p: Poly) -> list[Poly]:
    """Sturm's chain of a polynomial without multiple roots."""
    chain = [p, slope(p)]
    while True:
        rest = divided(chain[-2], chain[-1])[1]
        if not rest:
            return chain
        largest = max(abs(c) for c in rest)
        chain.append([-c / largest for c in rest])


def changes(chain: Sequence[Poly], x: Fraction) -> int:
    """The changes of sign of the chain at x."""
    signs = [s for s in (at(q, x) for q in chain) if s]
    return sum((a > 0) != (b > 0) for a, b in pairwise(signs))


def _companion(p: Poly) -> list[float]:
    """Real eigenvalues of the companion matrix, polished."""
    top = max(abs(c) for c in p)
    try:
        found = np.roots([float(c / top) for c in reversed(p)])
    except (np.linalg.LinAlgError, OverflowError):
        return []
    near = [r.real for r in found if abs(r.imag) <= 1e-7 * max(1.0, abs(r))]
    d = slope(p)
    polished = []
    for x in near:
        for _ in range(4):
            f = Fraction(x)
            rise = at(d, f)
            if not rise:
                break
            x = float(f - at(p, f) / rise)
        polished.append(x)
    return sorted(set(polished))


def _isolated(chain: Sequence[Poly], low: Fraction, high: Fraction) -> list[float]:
    """Roots by halving: intervals with one root each, then down to the floats' own spacing."""
    found: list[float] = []
    waiting = [(low, high)]
    while waiting:
        a, b = waiting.pop()
        count = changes(chain, a) - changes(chain, b)
        if count and (float(a) == float(b) or (count == 1 and b - a < abs(b) / 2**56)):
            found.append(float(b))
        elif count:
            middle = (a + b) / 2
            waiting += [(middle, b), (a, middle)]
    return sorted(found)


def _exact(p: Poly, x: float, reach: float) -> Fraction | None:
    """The fraction next to x that is a root exactly, if one with a small denominator is."""
    near = Fraction(x).limit_denominator(10_000)
    return near if abs(float(near) - x) < reach and at(p, near) == 0 else None
