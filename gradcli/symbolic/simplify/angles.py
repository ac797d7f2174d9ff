"""Squares and angles of sines and cosines: exchanged, doubled, halved, added, under roots.

Each change is an identity wherever both sides are defined, and is offered as a candidate: whether
it is used is decided by the length of the text.
"""

from __future__ import annotations

from fractions import Fraction

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import inside_groups
from gradcli.symbolic.simplify.relations import call, is_call
from gradcli.symbolic.trace.elementwise import applied

_ONE = Fraction(1)


def squares_exchanged(t: v.Tensor, gone: str, stays: str, sign: int) -> v.Tensor | None:
    """Every gone**2 as 1 + sign*stays**2 (sinh**2: stays**2 - 1); None where there is none."""
    found = []
    changed = False
    for m, c in t.terms.items():
        whole = v.UNIT
        kept = []
        for b, i, e in m:
            if is_call(b, gone) and e >= 2 and e.denominator == 1 and not v.bound_of([(b, i, e)]):
                changed = True
                other = call(stays, b, i)
                square = v.product([(*f[:2], Fraction(2)) for f in other], _ONE, ())
                if gone == "sinh":
                    unit = v.add(square, v.number(-1))
                else:
                    unit = v.add(v.UNIT, v.scale(square, sign))
                for _ in range(int(e) // 2):
                    whole = v.distribute(whole, unit)
                if e % 2:
                    kept.append((b, i, _ONE))
            else:
                kept.append((b, i, e))
        found.append(v.distribute(v.product(kept, c, v.bound_of(m)), whole))
    return v.add(*found) if changed else None


_UNDER_ROOTS = {
    "sin": (1, -1, "cos", 2), "cos": (1, -1, "sin", 2), "tan": (1, 1, "cos", -2),
    "tanh": (1, -1, "cosh", -2), "sinh": (1, 1, "cosh", 2), "cosh": (-1, 1, "sinh", 2),
}  # fmt: skip
"""f -> a, b, g, k where a + b*f**2 is g**k."""


def roots_named(t: v.Tensor) -> v.Tensor:
    """sqrt(1 - tanh(u)**2) as 1/cosh(u), sqrt(1 - cos(u)**2) as abs(sin(u))."""

    def change(u: v.Tensor) -> v.Tensor:
        found = []
        for m, c in u.terms.items():
            kept, term = [], v.UNIT
            for b, i, e in m:
                square = _square(b) if e.denominator > 1 and b.kind == "sum" else None
                if square is None or v.bound_of([(b, i, e)]):
                    kept.append((b, i, e))
                else:
                    term = v.mul(term, v.power(v.place(square, i), e))
            found.append(v.mul(v.product(kept, c, v.bound_of(kept)), term))
        return v.add(*found)

    return inside_groups(t, change, True)


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


_PAIRS = {"sin": "cos", "sinh": "cosh"}


def _doubled_products(t: v.Tensor) -> v.Tensor:
    found = []
    for m, c in t.terms.items():
        factors = {(b, i): e for b, i, e in m}
        extra: list[tuple] = []
        for b, i, e in m:
            if not is_call(b, *_PAIRS) or e.denominator != 1 or v.bound_of([(b, i, e)]):
                continue
            other = call(_PAIRS[b.name], b, i)[0][:2]
            if factors.get(other) == e:
                del factors[other], factors[b, i]
                c = c / 2 ** int(e) if e > 0 else c * 2 ** int(-e)
                extra += [(*f[:2], f[2] * e) for f in call(b.name, b, i, v.scale(b.args[0], 2))]
        whole = [(b, i, e) for (b, i), e in factors.items()]
        found.append(v.product([*whole, *extra], c, v.bound_of(m)))
    return v.add(*found)


_SQUARES = {
    "cos": ("sin", -1, Fraction(-1, 2), 1), "cosh": ("sinh", 1, Fraction(-1, 2), 1),
    "sin": (None, 0, Fraction(-1, 2), -1), "sinh": (None, 0, Fraction(1, 2), 1),
}  # fmt: skip
"""f -> its partner with the ratio of the partner's square, that of a plain 1, and the sign.

cos**2 - sin**2 is cos(2u), cos**2 - 1/2 half of it.
"""


def _doubled_squares(t: v.Tensor) -> v.Tensor:
    terms = dict(t.terms)
    extra = []
    for m, c in t.terms.items():
        for b, i, e in m:
            if m not in terms or e != 2 or not is_call(b, *_SQUARES) or v.bound_of([(b, i, e)]):
                continue
            partner, ratio, unit, sign = _SQUARES[b.name]
            rest = [f for f in m if f[:2] != (b, i)]
            half = _ONE / 2
            other = next(iter(v.product(rest, _ONE, v.bound_of(rest)).terms))
            wanted = c * unit
            if partner is not None:
                square = [*rest, (*call(partner, b, i)[0][:2], e)]
                candidate = next(iter(v.product(square, _ONE, v.bound_of(rest)).terms))
                if terms.get(candidate) == c * ratio:
                    other, wanted, half = candidate, c * ratio, _ONE
            if terms.get(other) == wanted:
                del terms[m], terms[other]
                name = "cos" if b.name in ("sin", "cos") else "cosh"
                angle = call(name, b, i, v.scale(b.args[0], 2))
                extra.append(v.product([*rest, *angle], c * half * sign, v.bound_of(m)))
    return v.add(v.Tensor(terms), *extra) if extra else t


_HALVES = {("cos", -1): ("sin", 1), ("cos", 1): ("cos", 1), ("cosh", -1): ("sinh", -1),
           ("cosh", 1): ("cosh", 1)}  # fmt: skip
"""f and sign -> g and sign where 1 + sign*f(2u) is 2*sign*g(u)**2."""


def _halved(t: v.Tensor) -> v.Tensor:
    terms = dict(t.terms)
    extra = []
    for m, c in t.terms.items():
        for b, i, e in m:
            if m not in terms or e != 1 or not is_call(b, "cos", "cosh") or v.bound_of([(b, i, e)]):
                continue
            if any(k.denominator > 1 or k.numerator % 2 for k in b.args[0].terms.values()):
                continue
            rest = [f for f in m if f[:2] != (b, i)]
            ((other, _),) = v.product(rest, _ONE, v.bound_of(rest)).terms.items()
            if abs(terms.get(other, 0)) != abs(c):
                continue
            whole = terms[other]
            name, sign = _HALVES[b.name, 1 if whole == c else -1]
            half = [(*f[:2], f[2] * 2) for f in call(name, b, i, v.scale(b.args[0], _ONE / 2))]
            extra.append(v.product([*rest, *half], 2 * sign * whole, v.bound_of(m)))
            del terms[m], terms[other]
    return v.add(v.Tensor(terms), *extra) if extra else t


_OTHER = {"sin": "cos", "cos": "sin"}


def _added(t: v.Tensor) -> v.Tensor:
    """sin(u)*cos(w) - cos(u)*sin(w) as sin(u - w), cos(u)*cos(w) + sin(u)*sin(w) as cos(u - w)."""
    terms = dict(t.terms)
    extra = []
    for m in t.terms:
        found = _angle_pair(terms, m) if m in terms else None
        if found is not None:
            gone, whole = found
            for key in gone:
                del terms[key]
            extra.append(whole)
    return v.add(v.Tensor(terms), *extra) if extra else t


def _angle_pair(terms: dict, m: v.Monomial) -> tuple[tuple, v.Tensor] | None:
    """Two terms that are the sine or cosine of a sum, and what they are."""
    waves = [f for f in m if is_call(f[0], "sin", "cos") and f[2] == 1 and not v.bound_of([f])]
    for k, (b, i, _) in enumerate(waves):
        for d, j, _ in waves[k + 1 :]:
            if b.args == d.args and i == j:
                continue
            rest = [f for f in m if f[:2] not in ((b, i), (d, j))]
            swapped = [*rest, *call(_OTHER[b.name], b, i), *call(_OTHER[d.name], d, j)]
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
            return (m, other), v.distribute(front, angle)
    return None
