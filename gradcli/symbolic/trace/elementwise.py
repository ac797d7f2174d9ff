"""Elementwise functions of symbols: their values at known numbers, their parity, their inverses.

What is folded here holds wherever both sides are defined. Conditions become indicators, 0 or 1:
``where(c, x, y)`` is x*[c] + y*[not c].
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd
from typing import Any

from gradcli.ops.infix import is_comparison
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr import selectors
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.identities import EVEN, ODD, PIECEWISE
from gradcli.symbolic.trace.symbol import Symbol, aligned, in_a_rule, ties
from gradcli.symbolic.unsupported import no_closed_form


def call(name: str, symbols: Sequence[Symbol]) -> Symbol:
    """The operator of that name applied entry by entry."""
    tensors, axes = aligned(symbols)
    return Symbol(applied(name, tensors), axes)


def applied(name: str, tensors: Sequence[v.Tensor]) -> v.Tensor:
    """The call of an elementwise operator on tensors that share their labels."""
    numbers = [t.number() for t in tensors]
    if is_comparison(name):
        found = _compared(name, tensors, numbers)
        if found is not None:
            return found if isinstance(found, v.Tensor) else v.number(found)
    elif name in ("maximum", "minimum", "fmax", "fmin") and tensors[0] == tensors[1]:
        return tensors[0]
    elif name in ("isnan", "isinf"):
        return v.ZERO
    elif len(tensors) == 1:
        (t,) = tensors
        if numbers[0] is not None:
            found = _at_number(name, numbers[0])
            if found is not None:
                return found
        if name in ("abs", "sign"):
            found = _length(name, t)
            if found is not None:
                return found
        if name == "exp":
            return _exp(t)
        if name == "log":
            return _log(t)
        if name in ODD or name in EVEN:
            t, sign = _signed(name, t)
            return v.scale(_made(name, (t,)), sign if name in ODD else 1)
    return _made(name, tuple(tensors))


def _length(name: str, t: v.Tensor) -> v.Tensor | None:
    """abs or sign with all that has a known sign taken out; None where that is nothing.

    abs(2*x) is 2*abs(x), abs(1/x) 1/abs(x), and of what is positive itself.
    """
    if len(t.terms) != 1:
        positive = bool(t.terms) and all(
            c > 0 and not v.bound_of(m) and all(v.is_positive(b, e) for b, _, e in m)
            for m, c in t.terms.items()
        )
        return (t if name == "abs" else v.UNIT) if positive else None
    ((m, c),) = t.terms.items()
    if v.bound_of(m):
        return None
    known = [f for f in m if v.is_positive(f[0], f[2])]
    rest = [f for f in m if f not in known]
    turned = len(rest) == 1 and rest[0][2] != 1 and rest[0][2].denominator == 1 and (
        name == "abs" or rest[0][2] % 2
    )  # fmt: skip
    if c == 1 and not known and not turned:
        return None
    found = v.product(known, abs(c), ()) if name == "abs" else v.number(1 if c > 0 else -1)
    if not rest:
        return found
    power = rest[0][2] if turned else 1
    inner = v.factor(*rest[0][:2]) if turned else v.product(rest, Fraction(1), ())
    made = applied(name, (inner,))
    return v.mul(found, v.power(made, Fraction(power)) if name == "abs" else made)


def _made(name: str, tensors: tuple[v.Tensor, ...]) -> v.Tensor:
    if any(b.kind == "join" for t in tensors for m in t.terms for b, _, _ in m):
        found = v.through_join(tensors, lambda bodies: applied(name, bodies))
        if found is not None:
            return found
    labels = tuple(sorted({x for t in tensors for x in t.free()}, key=lambda x: (x[1], x[0])))
    if any(v.is_hidden(x) for x in labels):
        raise no_closed_form(f"`{name}` of a derivative (its rule is not linear)")
    return v.factor(*v.settled("call", name, tensors, labels))


def _compared(
    name: str, tensors: Sequence[v.Tensor], numbers: Sequence[Any]
) -> bool | v.Tensor | None:
    """Whether a comparison holds, where that is known.

    In a rule two formulas that are made of pieces are equal in some cells: where, as indicators.
    """
    a, b = tensors
    rule = in_a_rule() and name in ("eq", "ne")
    if a == b:
        if rule:
            ties.seen.add("kept")
        return name in ("eq", "le", "ge")
    if None not in numbers:
        return OPERATORS[name].compute(*numbers)
    if not rule:
        return None
    if not may_coincide(a, b):
        ties.seen.add("left")
        return name == "ne"
    found = None
    if name == "eq" and has_pieces(tensors):
        from gradcli.symbolic.simplify.piecewise import meeting

        found, isolated = meeting(a, b, lambda one, two: not may_coincide(one, two), ties.wrt)
        if found is not None:
            ties.seen.add("left" if not found.terms else "both" if isolated else "kept")
            return found
    ties.seen.add("kept")
    return found


_PARTLY = frozenset((*selectors.KINDS, "delta", "reduce"))
"""Bases that are 0 in places: cumsum(x, 0) and x agree in their first entry."""


PIECES = ("maximum", "minimum", "relu", "where", "abs")


def has_pieces(tensors: Sequence[v.Tensor]) -> bool:
    """Whether tensors are made of pieces that ``cells`` can tell apart."""
    return any(b.kind == "call" and b.name in PIECES for t in tensors for b in v.bases_of(t))


def may_coincide(a: v.Tensor, b: v.Tensor) -> bool:
    """Whether two formulas may be equal on more than isolated points: one is made of pieces."""
    if any(_apart(u, other) for u, other in ((a, b), (b, a))):
        return False
    below = [v.bases_of(t) for t in (a, b)]
    if any(_extreme(t) for t in (a, b)):
        return True
    names = [{x.name for x in found if x.kind == "name"} for found in below]
    dims = [x[0] for x in {*a.free(), *b.free()}]
    if len(set(dims)) < len(dims) and names[0] & names[1]:
        return True  # A and A.T agree on the diagonal
    entries = bool(a.free() or b.free())  # else all is summed: 0 at isolated points only
    if not any(
        (x.kind in _PARTLY and entries) or (x.kind == "call" and x.name in PIECEWISE)
        or (x.kind == "call" and x.name == "abs" and len(x.dims) == len(dims))
        for found in below for x in found
    ):  # fmt: skip
        return False
    return not names[0] or not names[1] or bool(names[0] & names[1])


def _extreme(t: v.Tensor) -> v.Base | None:
    """The base of a tensor that is the largest or smallest entry of something."""
    if len(t.terms) != 1:
        return None
    ((m, c),) = t.terms.items()
    if len(m) != 1 or c != 1 or m[0][0].kind != "reduce" or m[0][0].name == "prod":
        return None
    return m[0][0]


def marks_one(t: v.Tensor, gone: Sequence[v.Label]) -> bool:
    """Whether a tensor has a single 1 over these labels: where an entry is the largest."""
    if len(t.terms) != 1:
        return False
    ((m, c),) = t.terms.items()
    if len(m) != 1 or c != 1 or m[0][0].kind != "call":
        return False
    b, idx, _ = m[0]
    if b.name == "where":
        inner = v.place(b.args[0], idx) if b.args[1].number() else v.ZERO
        return bool(inner.terms) and marks_one(inner, gone)
    if b.name != "eq" or not gone:
        return False
    for side, whole in (b.args, b.args[::-1]):
        found = _extreme(side)
        if found is not None and not _ties(whole):
            kept = {idx[x[1]] for x in side.free()}
            return set(gone) == set(idx) - kept
    return False


def _ties(t: v.Tensor) -> bool:
    """Whether entries may be equal on more than isolated points: by symmetry, or some are 0."""
    for b in v.bases_of(t):
        if b.kind in _PARTLY or "symmetric" in b.traits:
            return True
        if b.kind == "call" and (b.name in PIECEWISE or is_comparison(b.name)):
            return True  # min(x, 1) is 1 at many entries
    labels = t.free()
    if len(labels) != 2 or labels[0][0] != labels[1][0]:
        return False
    a, b = labels
    return v.relabel(t, {a: b, b: a}) == v.add(t)


def _apart(a: v.Tensor, b: v.Tensor) -> bool:
    """Whether a is a length and b is 0, with a variable in what is measured that is added to it.

    norm(relu(x) - y) is 0 at isolated y only.
    """
    if b.terms or len(a.terms) != 1:
        return False
    ((m, _),) = a.terms.items()
    if len(m) != 1 or m[0][0].kind != "sum" or len(m[0][0].args[0].terms) != 1:
        return False
    ((inner, _),) = m[0][0].args[0].terms.items()
    if len(inner) != 1 or inner[0][0].kind != "sum" or inner[0][2] != 2:
        return False
    terms = inner[0][0].args[0].terms
    alone = [k[0][0] for k in terms if len(k) == 1 and k[0][0].kind == "name" and k[0][2] == 1]
    return any(sum(b in v.bases_of(v.Tensor({k: v.ONE})) for k in terms) == 1 for b in alone)


def _at_number(name: str, x: Fraction) -> v.Tensor | None:
    if x in OPERATORS[name].values:
        return v.number(OPERATORS[name].values[x])
    if name == "abs":
        return v.number(abs(x))
    if name == "sign":
        return v.number((x > 0) - (x < 0))
    if name == "logical_not":
        return v.number(int(x == 0))
    if name in ("floor", "ceil", "trunc") and x.denominator == 1:
        return v.number(x)
    return None


def _signed(name: str, t: v.Tensor) -> tuple[v.Tensor, int]:
    """Of t and -t the one whose call came first; with all signs negative, -t."""
    labels = tuple(t.free())
    opposite = v.scale(t, -1)
    for candidate, sign in ((t, 1), (opposite, -1)):
        inner = tuple(v.relabel(candidate, {x: (x[0], i) for i, x in enumerate(labels)}).sorted())
        if v.known("call", name, (v.Tensor(dict(inner)),), tuple(x[0] for x in labels)):
            return candidate, sign
    if all(c < 0 for c in t.terms.values()):
        return opposite, -1
    return t, 1


def _exp(t: v.Tensor) -> v.Tensor:
    """exp: logarithms in the exponent become powers, whole multiples too."""
    rest: dict = {}
    found = v.UNIT
    for m, c in t.terms.items():
        if _alone(m, "log"):
            inner = v.place(m[0][0].args[0], m[0][1])
            found = v.mul(found, v.power(inner, c))
        else:
            rest[m] = c
    if not rest:
        return found
    t = v.Tensor(rest)
    whole = gcd(*(c.numerator for c in rest.values())) if all(
        c.denominator == 1 for c in rest.values()
    ) else 1  # fmt: skip
    t, sign = _signed("exp", v.scale(t, Fraction(1, whole)))
    if sign < 0 and not _seen("exp", t):
        t, sign = v.scale(t, -1), 1  # exp(-x) as it was written first
    return v.mul(found, v.power(_made("exp", (t,)), Fraction(sign * whole)))


def _alone(m: v.Monomial, name: str) -> bool:
    """Whether a product is one call of an operator, not summed over."""
    return (
        len(m) == 1 and m[0][0].kind == "call" and m[0][0].name == name and m[0][2] == 1
        and not v.bound_of(m)
    )  # fmt: skip


def _seen(name: str, t: v.Tensor) -> bool:
    labels = tuple(t.free())
    inner = v.relabel(t, {x: (x[0], i) for i, x in enumerate(labels)})
    return v.known("call", name, (inner,), tuple(x[0] for x in labels))


def _log(t: v.Tensor) -> v.Tensor:
    """log: of exp, and of a root, is taken apart."""
    if len(t.terms) == 1:
        ((m, c),) = t.terms.items()
        if c == 1 and len(m) == 1 and not v.bound_of(m):
            b, idx, e = m[0]
            if b.kind == "call" and b.name == "exp":
                return v.scale(v.place(b.args[0], idx), e)
            if b.kind == "constant" and b.name == "e":
                return v.number(e)
            if b.kind == "matrix" and b.name == "det" and e == 1:
                return v.factor(v.base("matrix", "logdet", b.args))
            if e.denominator > 1 or (e != 1 and v.is_positive(b)):
                return v.scale(_made("log", (v.factor(b, idx),)), e)
    return _made("log", (t,))


def power(x: Symbol, y: Symbol) -> Symbol:
    """x**y with a symbol in the exponent; the number in a sum of exponents is split off."""
    (a, b), axes = aligned((x, y))
    return Symbol(powered(a, b), axes)


def powered(a: v.Tensor, b: v.Tensor) -> v.Tensor:
    """a**b for tensors that share their labels."""
    if a.number() == 1:
        return v.UNIT
    if len(a.terms) == 1:
        ((m, c),) = a.terms.items()
        if c == 1 and len(m) == 1 and m[0][2] == 1:
            if m[0][0].kind == "constant" and m[0][0].name == "e":
                return _exp(b)
            if _alone(m, "exp"):
                return _exp(v.mul(v.place(m[0][0].args[0], m[0][1]), b))
    whole = b.terms.get((), Fraction(0)) if len(b.terms) > 1 else Fraction(0)
    rest = v.add(b, v.number(-whole))
    sign = -1 if all(c < 0 for c in rest.terms.values()) else 1  # x**-n is 1/x**n
    found = v.power(_made("pow", (a, v.scale(rest, sign))), Fraction(sign))
    return v.mul(found, v.power(a, whole))
