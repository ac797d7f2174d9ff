"""Calls of elementwise functions: their values at known numbers, their parity, their inverses.

What is folded here holds wherever both sides are defined. Conditions become indicators, 0 or 1:
``where(c, x, y)`` is x*[c] + y*[not c].
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import gcd

from gradcli.ops.declaration.infix import is_comparison
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.identities import EVEN, ODD

SHARES = ("softmax", "softmax0", "softmax_of_all")
LOG_SHARES = tuple(f"log_{name}" for name in SHARES)
"""Shares in a row, in a column and of all entries, as calls; each entry depends on all others."""


def applied(name: str, tensors: Sequence[v.Tensor]) -> v.Tensor:
    """The call of an elementwise operator on tensors that share their labels."""
    numbers = [t.number() for t in tensors]
    if is_comparison(name):
        if tensors[0] == tensors[1]:
            return v.number(int("=" in OPERATORS[name].infix and name != "ne"))
        if None not in numbers:
            return v.number(int(OPERATORS[name].compute(*numbers)))
    elif name in ("maximum", "minimum", "fmax", "fmin") and tensors[0] == tensors[1]:
        return tensors[0]
    elif name in ("logical_and", "logical_or") and numbers != [None, None]:
        known, other = tensors if numbers[0] is not None else tensors[::-1]
        return other if bool(known.number()) == (name == "logical_and") else known
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
            return exponential(t)
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
    v.refuse_hidden(labels, name)
    return v.factor(*v.settled("call", name, tensors, labels))


def _at_number(name: str, x: Fraction) -> v.Tensor | None:
    known = OPERATORS[name].values
    if x.denominator == 1 and x.numerator in known:
        return v.number(known[x.numerator])
    if name == "abs":
        return v.number(abs(x))
    if name == "sign":
        return v.number((x > 0) - (x < 0))
    if name == "logical_not":
        return v.number(int(x == 0))
    if name in ("floor", "ceil", "trunc", "round") and x.denominator == 1:
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


def exponential(t: v.Tensor, apart: bool = False) -> v.Tensor:
    """exp: logarithms in the exponent become powers, whole multiples too.

    Beside the logarithm of a sum of exponentials it is a share, a call that does not overflow; with
    ``apart`` what is above the line and what is below.
    """
    rest: dict = {}
    found = v.UNIT
    for m, c in (t if apart else log_shares(t, 2)).terms.items():
        inner = logged(m)
        if inner is not None and (apart or len(t.terms) == 1 or summed_exponents(inner) is None):
            found = v.mul(found, v.power(inner, c))
        elif _alone(m, *LOG_SHARES):
            b, idx, _ = m[0]
            unlogged = v.base("call", b.name.removeprefix("log_"), b.args, b.dims)
            found = v.mul(found, v.factor(unlogged, idx, c))
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


def summed_exponents(t: v.Tensor) -> tuple[v.Tensor, tuple[v.Label, ...]] | None:
    """u and the labels that are summed over where a tensor is sum(exp(u)), else None."""
    while True:
        if len(t.terms) != 1:
            return None
        ((m, c),) = t.terms.items()
        bound = v.bound_of(m)
        if c != 1 or bound or len(m) != 1 or m[0][0].kind != "sum" or m[0][2] != 1:
            break
        t = v.place(m[0][0].args[0], m[0][1])
    if c != 1 or not bound or any(b.kind != "call" or b.name != "exp" for b, _, _ in m):
        return None
    names = {x: v.fresh(x[0]) for x in sorted(bound, key=lambda x: -x[1])}
    at = [tuple(names.get(x, x) for x in idx) for _, idx, _ in m]
    parts = [v.scale(v.place(f[0].args[0], i), f[2]) for f, i in zip(m, at, strict=True)]
    return v.add(*parts), tuple(names.values())


def log_shares(t: v.Tensor, most: int = 1) -> v.Tensor:
    """u - log(sum(exp(u))) as log_softmax(u), summed over ``most`` axes at most."""
    for m, c in t.terms.items():
        below = None if (inner := logged(m)) is None else summed_exponents(inner)
        if below is None or len(t.terms) == 1 or len(below[1]) > most:
            continue
        for at in permutations(t.free(), len(below[1])):
            own = v.relabel(below[0], dict(zip(below[1], at, strict=True)))
            if all(t.terms.get(k) == -c * p for k, p in own.terms.items()):
                found = share("log_softmax", own, at)
                if found is not None:
                    return v.add(t, v.scale(own, c), v.Tensor({m: -c}), v.scale(found, -c))
    return t


def share(name: str, u: v.Tensor, along: Sequence[v.Label]) -> v.Tensor | None:
    """softmax or log_softmax of u as one call, which has a value where exponentials overflow.

    None for what is no row, column or (for softmax) matrix, and for one that is joined of others.
    """
    labels = tuple(u.free())
    joined = any(b.kind == "join" for m in u.terms for b, _, _ in m)
    if joined or len(labels) > 2 or not set(along) <= set(labels):
        return None
    v.refuse_hidden(labels, name)
    made, at = v.settled("call", "exp", (u,), labels)
    if len(along) > 1:
        name += "_of_all"
    elif "symmetric" in made.traits and at[-1] != along[0]:  # its columns are its rows
        at = at[::-1]
    elif at[-1] != along[0]:
        name += "0"
    return v.factor(v.base("call", name, made.args, made.dims), at)


def logged(m: v.Monomial) -> v.Tensor | None:
    """u where a product is log(u), else None."""
    return v.place(m[0][0].args[0], m[0][1]) if _alone(m, "log") else None


def _alone(m: v.Monomial, *names: str) -> bool:
    """Whether a product is one call of one of these operators, not summed over."""
    return (
        len(m) == 1 and m[0][0].kind == "call" and m[0][0].name in names and m[0][2] == 1
        and not v.bound_of(m)
    )  # fmt: skip


def _seen(name: str, t: v.Tensor) -> bool:
    labels = tuple(t.free())
    inner = v.relabel(t, {x: (x[0], i) for i, x in enumerate(labels)})
    return v.known("call", name, (inner,), tuple(x[0] for x in labels))


def _log(t: v.Tensor) -> v.Tensor:
    """log: of exp, also beside what is positive, and of a root, is taken apart."""
    if len(t.terms) == 1:
        ((m, c),) = t.terms.items()
        exps = [f for f in m if f[0].kind == "call" and f[0].name == "exp"]
        if exps and len(m) > 1 and c > 0 and not v.bound_of(m):
            rest = v.product([f for f in m if f not in exps], c, ())
            parts = [v.scale(v.place(b.args[0], i), e) for b, i, e in exps]
            return v.add(*parts, applied("log", (rest,)))
        if c == 1 and len(m) == 1 and not v.bound_of(m):
            b, idx, e = m[0]
            if b.kind == "call" and b.name == "exp":
                return v.scale(v.place(b.args[0], idx), e)
            if b.kind == "call" and b.name in SHARES:
                return v.scale(v.factor(v.base("call", f"log_{b.name}", b.args, b.dims), idx), e)
            if b.kind == "constant" and b.name == "e":
                return v.number(e)
            if b.kind == "matrix" and b.name == "det" and e == 1:
                return v.factor(v.base("matrix", "logdet", b.args, b.dims), idx)
            if e.denominator > 1 or (e != 1 and v.is_positive(b)):
                return v.scale(_made("log", (v.factor(b, idx),)), e)
    return _made("log", (t,))


def powered(a: v.Tensor, b: v.Tensor) -> v.Tensor:
    """a**b for tensors that share their labels."""
    if a.number() == 1:
        return v.UNIT
    base, idx, c = v.sole(a) or (None, (), 0)
    if base is not None and c == 1:
        if base.kind == "constant" and base.name == "e":
            return exponential(b)
        if base.kind == "call" and base.name == "exp" and all(x[1] >= 0 for x in idx):
            return exponential(v.mul(v.place(base.args[0], idx), b))
    whole = b.terms.get((), Fraction(0)) if len(b.terms) > 1 else Fraction(0)
    rest = v.add(b, v.number(-whole))
    sign = -1 if all(c < 0 for c in rest.terms.values()) else 1  # x**-n is 1/x**n
    found = v.power(_made("pow", (a, v.scale(rest, sign))), Fraction(sign))
    return v.mul(found, v.power(a, whole))


def indicator(condition: v.Tensor, holds: bool) -> v.Tensor:
    """1 where the condition holds (or where it does not), else 0."""
    known = condition.number()
    if known is not None:
        return v.number(int((known != 0) == holds))
    sole = v.sole(condition)
    if sole is not None and sole[0].name == "logical_not":
        return indicator(v.place(sole[0].args[0], sole[1]), not holds)
    if all(b.kind == "entry" or b.name == "where" for m in condition.terms for b, _, _ in m):
        return condition if holds else v.add(v.UNIT, v.scale(condition, -1))
    labels = tuple(condition.free())
    b, places = v.settled("call", "where", (condition, v.number(int(holds))), labels)
    return v.factor(b, places)
