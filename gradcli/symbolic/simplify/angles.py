"""Squares and angles of sines and cosines: doubled, halved, added, under roots.

Each change is an identity wherever both sides are defined, and is offered as a candidate: whether
it is used is decided by the length of the text.
"""

from __future__ import annotations

from fractions import Fraction

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import in_pairs, in_terms, inside_groups
from gradcli.symbolic.expr.elementwise import applied
from gradcli.symbolic.expr.identities import ODD, QUOTIENTS, SQUARES
from gradcli.symbolic.simplify.relations import call, is_call

_ONE = Fraction(1)


_UNDER_ROOTS = {f: (a, b, g, 2) for g, (f, a, b) in SQUARES.items()} | {
    f: (1, -SQUARES[h][2], h, -2) for f, (_, h) in QUOTIENTS.items()
}
"""f -> a, b, g, k where a + b*f**2 is g**k; for f = g/h, h**2 = 1 + c*g**2 gives 1 - c*f**2."""


def roots_named(t: v.Tensor) -> v.Tensor:
    """sqrt(1 - tanh(u)**2) as 1/cosh(u), sqrt(1 - cos(u)**2) as abs(sin(u))."""

    def change(m: v.Monomial, c: Fraction) -> v.Tensor:
        kept, term = [], v.UNIT
        for b, i, e in m:
            square = _square(b) if e.denominator > 1 and b.kind == "sum" else None
            if square is None or v.bound_of([(b, i, e)]):
                kept.append((b, i, e))
            else:
                term = v.mul(term, v.power(v.place(square, i), e))
        return v.mul(v.product(kept, c, v.bound_of(kept)), term)

    return in_terms(t, change, True)


def _square(b: v.Base) -> v.Tensor | None:
    """The one square that a group of 1 and another square is; None where it is none."""
    terms = dict(b.args[0].terms)
    unit = terms.pop((), None)
    if len(terms) != 1:
        return None
    ((m, c),) = terms.items()
    f, i, e = m[0]
    if len(m) > 1 or e != 2 or not is_call(f, *_UNDER_ROOTS):
        return None
    *wanted, name, k = _UNDER_ROOTS[f.name]
    if wanted != [unit, c]:
        return None
    return v.product([(*g[:2], g[2] * k) for g in call(name, f, i)], _ONE, ())


def double_angles(t: v.Tensor) -> list[v.Tensor]:
    """sin*cos as sin(2u)/2, cos**2 - sin**2 and 2*cos**2 - 1 as cos(2u); hyperbolic ones too.

    The other way too: 1 - cos(2u) as 2*sin(u)**2. And sums: sin*cos + cos*sin as sin(u + w).
    """
    seen = {t.key}
    forms = []
    for changes in (
        (_doubled_squares,),
        (_doubled_products,),
        (_doubled_squares, _doubled_products, _doubled_products),
        (_halved,),
        (_added,),
    ):
        found = t
        for change in changes:
            found = inside_groups(found, change)
        if found.key not in seen:
            seen.add(found.key)
            forms.append(found)
    return forms


def _doubled_products(t: v.Tensor) -> v.Tensor:
    found = []
    for m, c in t.terms.items():
        factors = {(b, i): e for b, i, e in m}
        extra: list[tuple] = []
        for b, i, e in m:
            if (
                not is_call(b, *SQUARES)
                or b.name not in ODD
                or e.denominator != 1
                or v.bound_of([(b, i, e)])
            ):
                continue
            other = call(SQUARES[b.name][0], b, i)[0][:2]
            if factors.get(other) == e:
                del factors[other], factors[b, i]
                c = c / 2 ** int(e) if e > 0 else c * 2 ** int(-e)
                extra += [(*f[:2], f[2] * e) for f in call(b.name, b, i, v.scale(b.args[0], 2))]
        whole = [(b, i, e) for (b, i), e in factors.items()]
        found.append(v.product([*whole, *extra], c, v.bound_of(m)))
    return v.add(*found)


@in_pairs
def _doubled_squares(terms: dict, m: v.Monomial) -> tuple[v.Monomial, v.Tensor] | None:
    """cos**2 - sin**2 as cos(2u), cos**2 - 1/2 and 1/2 - sin**2 as half of it."""
    c = terms[m]
    for b, i, e in m:
        if e != 2 or not is_call(b, *SQUARES) or v.bound_of([(b, i, e)]):
            continue
        partner, one, two = SQUARES[b.name]
        odd = b.name in ODD
        even = partner if odd else b.name
        # Of the odd one, one*f**2 - 1/2 is half of two*g(2u); of the even one f**2 - 1/2.
        unit, sign = Fraction(-(one if odd else 1), 2), two if odd else 1
        rest = [f for f in m if f[:2] != (b, i)]
        half = _ONE / 2
        other = next(iter(v.product(rest, _ONE, v.bound_of(rest)).terms))
        wanted = c * unit
        if not odd:
            square = [*rest, (*call(partner, b, i)[0][:2], e)]
            candidate = next(iter(v.product(square, _ONE, v.bound_of(rest)).terms))
            if terms.get(candidate) == c * two:
                other, wanted, half = candidate, c * two, _ONE
        if terms.get(other) == wanted:
            angle = call(even, b, i, v.scale(b.args[0], 2))
            return other, v.product([*rest, *angle], c * half * sign, v.bound_of(m))
    return None


@in_pairs
def _halved(terms: dict, m: v.Monomial) -> tuple[v.Monomial, v.Tensor] | None:
    """1 + cos(2u) as 2*cos(u)**2, 1 - cos(2u) as 2*sin(u)**2, 1 - cosh(2u) as -2*sinh(u)**2."""
    for b, i, e in m:
        if e != 1 or not is_call(b, "cos", "cosh") or v.bound_of([(b, i, e)]):
            continue
        if any(k.denominator > 1 or k.numerator % 2 for k in b.args[0].terms.values()):
            continue
        rest = [f for f in m if f[:2] != (b, i)]
        ((other, _),) = v.product(rest, _ONE, v.bound_of(rest)).terms.items()
        whole = terms.get(other, 0)
        if abs(whole) != abs(terms[m]):
            continue
        name, sign = b.name, 1
        if whole != terms[m]:
            name = SQUARES[b.name][0]
            sign = SQUARES[name][1]
        half = [(*f[:2], f[2] * 2) for f in call(name, b, i, v.scale(b.args[0], _ONE / 2))]
        return other, v.product([*rest, *half], 2 * sign * whole, v.bound_of(m))
    return None


@in_pairs
def _added(terms: dict, m: v.Monomial) -> tuple[v.Monomial, v.Tensor] | None:
    """sin(u)*cos(w) - cos(u)*sin(w) as sin(u - w), cos(u)*cos(w) + sin(u)*sin(w) as cos(u - w)."""
    waves = [f for f in m if is_call(f[0], "sin", "cos") and f[2] == 1 and not v.bound_of([f])]
    for k, (b, i, _) in enumerate(waves):
        for d, j, _ in waves[k + 1 :]:
            if b.args == d.args and i == j:
                continue
            rest = [f for f in m if f[:2] not in ((b, i), (d, j))]
            swapped = [*rest, *call(SQUARES[b.name][0], b, i), *call(SQUARES[d.name][0], d, j)]
            ((other, sign),) = v.product(swapped, _ONE, v.bound_of(rest)).terms.items()
            c, e = terms[m], terms.get(other, 0) * sign
            if other == m or abs(c) != abs(e):
                continue
            (u, w) = v.place(b.args[0], i), v.place(d.args[0], j)
            if b.name != d.name:  # sin(u)*cos(w) + cos(u)*sin(w)
                if b.name == "cos":
                    u, w = w, u
                angle = applied("sin", (v.add(u, v.scale(w, 1 if c == e else -1)),))
            else:
                if b.name == "sin":
                    c = e
                angle = applied("cos", (v.add(u, v.scale(w, -1 if terms[m] == e else 1)),))
            front = v.product(rest, c, v.bound_of(rest))
            return other, v.distribute(front, angle)
    return None
