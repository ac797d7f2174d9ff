"""Several exponentials: in one product as one, in one sum by one of them where that is possible."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import in_each_group, in_each_term, opened
from gradcli.symbolic.expr.elementwise import applied, logged
from gradcli.symbolic.simplify.arrangements import arrangements
from gradcli.symbolic.simplify.relations import is_call, rewrites

MOST_PAIRS = 6
"""Exponents that are compared in one sum."""


@rewrites("exp")
@in_each_term
def exponents_joined(m: v.Monomial, c: Fraction) -> v.Tensor:
    """exp(u)*exp(w) as exp(u + w)."""
    exps = [f for f in m if is_call(f[0], "exp") and not v.bound_of([f])]
    if len(exps) < 2:
        return v.Tensor({m: c})
    rest = [f for f in m if f not in exps]
    parts = [v.scale(v.place(b.args[0], i), e) for b, i, e in exps]
    whole = applied("exp", (v.add(*parts),))
    return v.mul(v.product(rest, c, v.bound_of(rest)), whole)


@rewrites("exp")
@in_each_term
def exponents_below(m: v.Monomial, c: Fraction) -> v.Tensor:
    """exp(u)/(exp(2*u) + 1)**q as 1/(exp((2 - 1/q)*u) + exp(-u/q))**q, which is never inf/inf.

    The exponentials of a term are multiplied into a sum that it is divided by.
    """
    exps = [f for f in m if is_call(f[0], "exp")]
    below = [  # sums of exponentials, and perhaps of numbers
        f for f in m if f[0].kind == "sum" and f[2] < 0 and len(f[0].args[0].terms) > 1
        and all(is_call(g[0], "exp") for term in f[0].args[0].terms for g in term)
    ]  # fmt: skip
    if not exps or not below or v.bound_of(m):
        return v.Tensor({m: c})
    b, idx, power = below[0]
    over = {x for f in exps for x in f[1]}
    if not over <= set(idx):
        return v.Tensor({m: c})
    exponent = v.add(*(v.scale(v.place(f.args[0], i), Fraction(e) / power) for f, i, e in exps))
    body = v.distribute(applied("exp", (exponent,)), v.place(b.args[0], idx))
    rest = v.product([f for f in m if f not in exps and f is not below[0]], c, ())
    return v.mul(rest, v.power(v.as_factor(exponents_joined(body)), power))


@rewrites("exp", "expm1")
@in_each_term
def over_expm1(m: v.Monomial, c: Fraction) -> v.Tensor:
    """exp(u)/expm1(u) as -1/expm1(-u): exp(u) beside other factors overflows before the whole."""
    powers = {f[:2]: f[2] for f in m}
    for b, idx, e in m:
        if not is_call(b, "expm1"):
            continue
        turned = (v.scale(b.args[0], -1),)
        for side, argument in ((1, b.args), (-1, turned)):  # exp(u), or below the line exp(-u)
            exp = v.base("call", "exp", argument, b.dims)
            count = min(side * powers.get((exp, idx), Fraction(0)), -e)
            if count.denominator == 1 and count > 0:
                other = v.base("call", "expm1", turned, b.dims)
                quotient = [(exp, idx, -side * count), (b, idx, count), (other, idx, -count)]
                return v.product([*m, *quotient], c * (-1) ** int(count), v.bound_of(m))
    return v.Tensor({m: c})


@rewrites("exp", "erfc")
@in_each_term
def erfc_scaled(m: v.Monomial, c: Fraction) -> v.Tensor:
    """exp(u**2)*erfc(u) as erfcx(u): one of the two, or a power of it, soon leaves its range."""
    for b, idx, e in (f for f in m if is_call(f[0], "erfc")):
        square = v.scale(v.power(b.args[0], Fraction(2)), e)
        for f in (f for f in m if is_call(f[0], "exp") and f[1] == idx):
            if not opened(v.add(square, v.scale(f[0].args[0], -f[2]))).terms:
                kept = [g for g in m if g not in (f, (b, idx, e))]
                scaled = v.base("call", "erfcx", b.args, b.dims)
                return v.product([*kept, (scaled, idx, e)], c, v.bound_of(m))
    return v.Tensor({m: c})


@rewrites("erfcx")
@in_each_term
def erfcx_below(m: v.Monomial, c: Fraction) -> v.Tensor:
    """(a*erfcx(u) + b)/erfcx(u)**2 as (a + b/erfcx(u))/erfcx(u): erfcx(-40) is infinite."""
    sums = [f for f in m if f[0].kind == "sum" and f[2] == 1 and not v.bound_of(m)]
    for b, idx, e in (f for f in m if is_call(f[0], "erfcx") and f[2] < 0):
        for s in sums:
            inner = v.place(s[0].args[0], s[1])
            powers = [f[2] for term in inner.terms for f in term if f[:2] == (b, idx)]
            if not powers or min(powers) < 0 or any(map(v.bound_of, inner.terms)):
                continue
            by = v.factor(b, idx, min(-e, *powers))
            whole = v.as_factor(v.distribute(v.power(by, Fraction(-1)), inner))
            rest = v.product([f for f in m if f is not s], c, ())
            return v.mul(v.mul(rest, by), whole)
    return v.Tensor({m: c})


@in_each_group
def exponents_met(t: v.Tensor) -> v.Tensor:
    """``exp(u + log(a))`` beside ``exp(u)`` as ``a*exp(u)``, however the two are written.

    A normal form of the difference of the exponents shows it: the density of Black and Scholes is
    one at both of their quantiles, but for the ratio of the prices.
    """
    found: list[v.Tensor] = []
    first: list[tuple[v.Tensor, list]] = []
    pairs = 0
    for m, c in t.sorted():
        exps = [f for f in m if is_call(f[0], "exp")]
        if not exps or v.bound_of(m):
            found.append(v.Tensor({m: c}))
            continue
        exponent = v.add(*(v.scale(v.place(b.args[0], i), e) for b, i, e in exps))
        rest = v.product([f for f in m if f not in exps], c, ())
        for other, factors in first:
            pairs += 1
            ratio = None
            if pairs <= MOST_PAIRS and [f[1] for f in factors] == [exps[0][1]] * len(factors):
                ratio = _exponential(v.add(exponent, v.scale(other, -1)))
            if ratio is not None:
                found.append(v.distribute(rest, v.mul(ratio, v.product(factors, v.ONE, ()))))
                break
        else:
            first.append((exponent, exps))
            found.append(v.Tensor({m: c}))
    return v.add(*found)


def _exponential(difference: v.Tensor) -> v.Tensor | None:
    """exp of a sum of logarithms, None where it is another sum."""
    for shape in [difference, *arrangements(difference)]:
        logs = [(logged(m), c) for m, c in shape.terms.items()]
        if all(c.denominator <= 2 and u is not None for u, c in logs):
            return reduce(v.mul, (v.power(u, c) for u, c in logs if u is not None), v.UNIT)
    return None
