"""Named functions in place of what they are made of, and the relations between functions.

``exp(u)/(1 + exp(u))`` is sigmoid(u), ``exp(u)/sum(exp(u))`` softmax(u), ``sin(u)/cos(u)`` tan(u);
sin**2 + cos**2 is 1, and double angles. Each is an identity wherever both sides are defined;
whether one is used is decided by the length of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from gradcli.symbolic import value as v
from gradcli.symbolic.algebra import inside_groups
from gradcli.symbolic.calls import applied

_ONE = Fraction(1)


def tidied(t: v.Tensor) -> v.Tensor:
    """What is shorter in every case: u*sign(u) is abs(u), max(u, 0)*[u > 0] is max(u, 0)."""
    if not any(b.kind == "call" and b.name in ("sign", "maximum") for b in v.bases_of(t)):
        return t
    return inside_groups(t, lambda u: _by_term(u, _tidy))


def named(t: v.Tensor) -> v.Tensor:
    """Quotients of exponentials, sines and hyperbolic functions by their names."""
    return inside_groups(t, lambda u: _by_term(_by_term(u, _name), _ratio))


def as_quotients(t: v.Tensor) -> v.Tensor:
    """tan as sin/cos, tanh as sinh/cosh."""

    def change(factors: dict) -> list | None:
        for (b, i), e in factors.items():
            for (top, below), name in _RATIOS.items():
                if e and _is_call(b, name):
                    factors[b, i] = Fraction(0)
                    above = [(*f[:2], e) for f in _call(top, b, i)]
                    return [*above, *((*f[:2], -e) for f in _call(below, b, i))]
        return None

    return inside_groups(t, lambda u: _by_term(u, change))


def mirrored(t: v.Tensor) -> v.Tensor:
    """1 - sigmoid(u) as sigmoid(-u)."""

    def change(u: v.Tensor) -> v.Tensor:
        if len(u.terms) != 2 or () not in u.terms:
            return u
        one = u.terms[()]
        (m, c) = next((m, c) for m, c in u.terms.items() if m)
        if c != -one or len(m) != 1 or m[0][2] != 1 or not _is_call(m[0][0], "sigmoid"):
            return u
        b, idx, _ = m[0]
        down = v.base("call", "sigmoid", (v.scale(b.args[0], -1),), b.dims)
        return v.factor_scaled(down, idx, one)

    return inside_groups(t, change)


def _by_term(t: v.Tensor, change: Callable[[dict], v.Tensor | None]) -> v.Tensor:
    found = []
    for m, c in t.terms.items():
        factors = {(b, i): e for b, i, e in m}
        bound = v.bound_of(m)
        extra: list[tuple] = []
        while True:
            new = change(factors)
            if new is None:
                break
            extra += new
        whole = [(b, i, e) for (b, i), e in factors.items() if e]
        found.append(v.product([*whole, *extra], c, bound))
    return v.add(*found)


def _is_call(b: v.Base, *names: str) -> bool:
    return b.kind == "call" and b.name in names


def _tidy(factors: dict) -> list | None:
    for (b, i), e in factors.items():
        if not e or b.kind != "call":
            continue
        if b.name == "sign" and e == 2:
            factors[b, i] = Fraction(0)
            return []
        if b.name == "sign" and e == 1:
            inner = _single(b, i)
            if inner is not None and factors.get(inner, 0) % 2 == 1 and factors[inner] > 0:
                factors[inner] -= 1
                factors[b, i] = Fraction(0)
                return _call("abs", b, i)
        if b.name == "maximum" and e >= 1:
            for other, j in factors:
                if _is_call(other, "where") and j == i and other.args[1].number() == 1:
                    test = other.args[0]
                    if test == applied("gt", b.args) and b.args[1].number() == 0:
                        factors.pop((other, j))
                        return []
    return None


def _single(b: v.Base, labels: tuple) -> tuple | None:
    """The one factor that a call's argument consists of, at the call's labels."""
    terms = b.args[0].terms
    if len(terms) != 1:
        return None
    ((m, c),) = terms.items()
    if c != 1 or len(m) != 1 or m[0][2] != 1 or v.bound_of(m):
        return None
    at = {(d, k): x for k, (d, x) in enumerate(zip(b.dims, labels, strict=True))}
    return m[0][0], tuple(at[x] for x in m[0][1])


def _call(name: str, like: v.Base, labels: tuple, argument: v.Tensor | None = None) -> list:
    """A call with the argument of another call, as factors at its labels."""
    made = applied(name, (like.args[0] if argument is None else argument,))
    terms = list(made.terms.items())
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        b, idx = (
            v.base("call", name, like.args if argument is None else (argument,), like.dims),
            labels,
        )
        return [(b, idx, _ONE)]
    b, idx, e = terms[0][0][0]
    at = {(d, k): x for k, (d, x) in enumerate(zip(like.dims, labels, strict=True))}
    return [(b, tuple(at[x] for x in idx), e)]


def _name(factors: dict) -> list | None:
    """sigmoid and softmax."""
    for (b, i), e in list(factors.items()):
        if b.kind != "sum" or e >= 0 or e.denominator != 1:
            continue
        body = b.args[0]
        if len(body.terms) == 1:
            found = _softmax(factors, b, i)
        elif len(body.terms) == 2 and body.terms.get(()) == 1:
            found = _sigmoid(factors, b, i)
        else:
            found = None
        if found is not None:
            return found
    return None


def _sigmoid(factors: dict, b: v.Base, i: tuple) -> list | None:
    """1/(1 + exp(u)) is sigmoid(-u), and exp(u) times it sigmoid(u)."""
    (m, c) = next((m, c) for m, c in b.args[0].terms.items() if m)
    if c != 1 or len(m) != 1 or not _is_call(m[0][0], "exp") or v.bound_of(m):
        return None
    if len(m[0][1]) != len(i):
        return None
    exp, k = m[0][0], m[0][2]
    labels = tuple(i[x[1]] for x in m[0][1])
    u = v.scale(exp.args[0], k)
    key = (exp, labels)
    power = Fraction(factors.get(key, 0)) / k
    factors[b, i] += 1
    up = v.base("call", "sigmoid", (u,), exp.dims)
    if factors[b, i] < 0 and power == 1:
        factors[key] = Fraction(0)
        factors[b, i] += 1
        rest = v.add(
            v.UNIT, v.scale(v.factor(up, tuple((d, n) for n, d in enumerate(exp.dims))), -1)
        )
        group = next(iter(v.as_factor(rest).terms.items()))
        at = tuple(labels)
        sign = group[1]
        one = [(g[0], tuple(at[x[1]] for x in g[1]), g[2]) for g in group[0]]
        return [(up, labels, _ONE), *one] if sign == 1 else None
    if power >= 1:
        factors[key] -= k
        return [(up, labels, _ONE)]
    down = v.base("call", "sigmoid", (v.scale(u, -1),), exp.dims)
    return [(down, labels, _ONE)]


def _softmax(factors: dict, b: v.Base, i: tuple) -> list | None:
    """exp(u) over its sum along the last axis."""
    ((m, c),) = b.args[0].terms.items()
    if c != 1 or len(m) != 1 or not _is_call(m[0][0], "exp") or m[0][2] != 1:
        return None
    exp, idx, _ = m[0]
    gone = [k for k, x in enumerate(idx) if x[1] < 0]
    if len(gone) != 1 or len(idx) > 2 or len(set(idx)) < len(idx):
        return None
    (axis,) = gone
    front = tuple(i[x[1]] for x in idx if x[1] >= 0)
    name = "softmax" if axis == len(idx) - 1 else "softmax0"
    for (other, labels), e in factors.items():
        apart = tuple(x for k, x in enumerate(labels) if k != axis)
        if other is exp and e >= 1 and apart == front:
            factors[b, i] += 1
            factors[other, labels] -= 1
            return [(v.base("call", name, exp.args, exp.dims), labels, _ONE)]
    return None if i else _softmax_inside(factors, b, exp)


def _softmax_inside(factors: dict, b: v.Base, exp: v.Base) -> list | None:
    """dot(exp(u), w)/sum(exp(u)) is dot(softmax(u), w), which does not overflow."""
    for (other, labels), e in factors.items():
        if other is b or other.kind != "sum" or labels or e != 1 or len(other.args[0].terms) > 1:
            continue
        (m,) = other.args[0].terms
        inside = [f for f in m if f[0] is exp]
        if len(inside) != 1 or inside[0][2] != 1 or other.args[0].terms[m] != 1:
            continue
        factors[b, ()] += 1
        factors[other, labels] -= 1
        soft = v.base("call", "softmax", exp.args, exp.dims)
        moved = [(soft if f[0] is exp else f[0], f[1], f[2]) for f in v.renamed(m)]
        ((whole, _),) = v.product(moved, _ONE, v.bound_of(moved)).terms.items()
        return list(whole)
    return None


_RATIOS = {("sin", "cos"): "tan", ("sinh", "cosh"): "tanh"}


def _ratio(factors: dict) -> list | None:
    for (b, i), e in list(factors.items()):
        for (top, below), name in _RATIOS.items():
            if not _is_call(b, top):
                continue
            other = _partner(factors, b, i, below)
            if other is not None and e * factors[other] < 0:
                n = min(abs(e), abs(factors[other])) * (1 if e > 0 else -1)
                if n.denominator == 1:
                    factors[b, i] -= n
                    factors[other] += n
                    return [(f[0], f[1], n) for f in _call(name, b, i)]
    return None


def _partner(factors: dict, b: v.Base, i: tuple, name: str) -> tuple | None:
    """Another call with the same argument at the same place."""
    for (other, j), e in factors.items():
        if e and j == i and _is_call(other, name) and other.args == b.args:
            return other, j
    return None


# ---- Relations over sums -------------------------------------------------------------------------


def squares_exchanged(t: v.Tensor, gone: str, stays: str, sign: int) -> v.Tensor | None:
    """Every gone**2 as 1 + sign*stays**2 (sinh**2: stays**2 - 1); None where there is none."""
    found = []
    changed = False
    for m, c in t.terms.items():
        whole = v.UNIT
        kept = []
        for b, i, e in m:
            if _is_call(b, gone) and e >= 2 and e.denominator == 1 and not v.bound_of([(b, i, e)]):
                changed = True
                other = _call(stays, b, i)
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


def hyperbolic(t: v.Tensor) -> v.Tensor:
    """c*exp(u) + c*exp(-u) as 2*c*cosh(u), with a minus as 2*c*sinh(u)."""
    terms = dict(t.terms)
    extra = []
    for m, c in list(terms.items()):
        for b, i, e in m:
            if m not in terms or not _is_call(b, "exp") or e != 1 or v.bound_of(m):
                continue
            rest = [f for f in m if f[:2] != (b, i)]
            other = next(iter(v.product([*rest, (b, i, -_ONE)], _ONE, ()).terms))
            d = terms.get(other)
            if d is not None and abs(d) == abs(c):
                made = v.base("call", "cosh" if d == c else "sinh", b.args, b.dims)
                extra.append(v.product([*rest, (made, i, _ONE)], 2 * c, ()))
                del terms[m], terms[other]
    return v.add(v.Tensor(terms), *extra) if extra else t


def double_angles(t: v.Tensor) -> v.Tensor | None:
    """cos**2 - sin**2 as cos(2u), sin*cos as sin(2u)/2, sinh*cosh so too; None where none is."""
    terms = dict(t.terms)
    changed = False
    for m, c in list(terms.items()):
        for b, i, e in m:
            sine = next((f for f in m if f[1] == i and _is_call(f[0], "sinh") and f[2] == 1), None)
            if not _is_call(b, "cosh") or e != 1 or sine is None or sine[0].args != b.args:
                continue
            if not v.bound_of(m):
                rest = [f for f in m if f is not sine and f[:2] != (b, i)]
                twice = _call("sinh", b, i, v.scale(b.args[0], 2))
                del terms[m]
                return v.add(v.Tensor(terms), v.product([*rest, *twice], c / 2, ()))
    for m, c in list(terms.items()):
        if m not in terms:
            continue
        factors = {(b, i): e for b, i, e in m}
        for b, i, e in m:
            if not _is_call(b, "cos") or v.bound_of([(b, i, e)]):
                continue
            sine = _call("sin", b, i)[0]
            rest = [f for f in m if f[:2] != (b, i)]
            twice = v.scale(b.args[0], 2)
            if e == 2:
                other = next(iter(v.product([*rest, (*sine[:2], e)], _ONE, v.bound_of(m)).terms))
                if terms.get(other) == -c:
                    del terms[other], terms[m]
                    new = v.product([*rest, *_call("cos", b, i, twice)], c, v.bound_of(m))
                    return v.add(v.Tensor(terms), new)
            if e == 1 and factors.get(sine[:2]) == 1:
                rest = [f for f in rest if f[:2] != sine[:2]]
                del terms[m]
                new = v.product([*rest, *_call("sin", b, i, twice)], c / 2, v.bound_of(m))
                terms = dict(v.add(v.Tensor(terms), new).terms)
                changed = True
                break
    return v.Tensor(terms) if changed else None
