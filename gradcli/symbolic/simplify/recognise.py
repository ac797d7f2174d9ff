"""Named functions in place of what they are made of, and the relations between functions.

``exp(u)/(1 + exp(u))`` is sigmoid(u), ``exp(u)/sum(exp(u))`` softmax(u), ``sin(u)/cos(u)`` tan(u);
sin**2 + cos**2 is 1, and double angles. Each is an identity wherever both sides are defined;
whether one is used is decided by the length of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import in_each_group, inside_groups, replaced
from gradcli.symbolic.expr.elementwise import LOG_SHARES, SHARES, applied, exponential
from gradcli.symbolic.expr.identities import QUOTIENTS
from gradcli.symbolic.simplify.guards import is_step_of
from gradcli.symbolic.simplify.relations import call, is_call, rewrites

_ONE = Fraction(1)


@rewrites("sign", "abs", "maximum", "relu")
@v.remembered
def tidied(t: v.Tensor) -> v.Tensor:
    """What is shorter in every case: u*sign(u) is abs(u), max(u, 0)*[u > 0] is max(u, 0)."""
    if not any(is_call(b, *tidied.operators) for b in v.bases_of(t)):
        return t
    return inside_groups(t, lambda u: _by_term(u, _tidy))


@v.remembered
def named(t: v.Tensor) -> v.Tensor:
    """Quotients of exponentials, sines and hyperbolic functions by their names."""
    return inside_groups(t, lambda u: _by_term(_by_term(u, _name), _ratio), True)


def as_quotients(t: v.Tensor) -> v.Tensor:
    """tan as sin/cos, tanh as sinh/cosh."""

    def change(factors: dict) -> list | None:
        for (b, i), e in factors.items():
            for name, (top, below) in QUOTIENTS.items():
                if e and is_call(b, name):
                    factors[b, i] = Fraction(0)
                    above = [(*f[:2], e) for f in call(top, b, i)]
                    return [*above, *((*f[:2], -e) for f in call(below, b, i))]
        return None

    return inside_groups(t, lambda u: _by_term(u, change))


def as_exponentials(t: v.Tensor) -> v.Tensor:
    """softmax(u) as exp(u)/sum(exp(u)), log_softmax(u) as u - log(sum(exp(u))); not in calls."""
    forms: dict[v.Base, v.Tensor] = {}

    def change(b: v.Base) -> v.Tensor | None:
        if is_call(b, "exp"):
            return exponential(b.args[0], True)
        if not is_call(b, *SHARES, *LOG_SHARES):
            return forms.get(b)
        labels = v.labels_of(b.dims)
        along = [labels[0 if b.name.endswith("0") else -1]]
        top = applied("exp", b.args)
        total = v.contract(top, labels if b.name.endswith("all") else along)
        if b.name.startswith("log"):
            return v.add(b.args[0], v.scale(applied("log", (total,)), -1))
        return v.mul(top, v.power(total, -_ONE))

    for b in v.groups_of(t):
        new = replaced(b.args[0], change)
        if new != b.args[0]:
            forms[b] = new
    return replaced(t, change)


@in_each_group
def mirrored(u: v.Tensor) -> v.Tensor:
    """1 - sigmoid(u) as sigmoid(-u)."""
    if len(u.terms) != 2 or () not in u.terms:
        return u
    one = u.terms[()]
    (m, c) = next((m, c) for m, c in u.terms.items() if m)
    if c != -one or len(m) != 1 or m[0][2] != 1 or not is_call(m[0][0], "sigmoid"):
        return u
    b, idx, _ = m[0]
    down = v.base("call", "sigmoid", (v.scale(b.args[0], -1),), b.dims)
    return v.factor_scaled(down, idx, one)


@rewrites("where")
def ramps(t: v.Tensor) -> v.Tensor:
    """u where u > 0, else 0, as max(u, 0), or as relu(u) where a relu is there; 0, else u: min."""
    ramp = "relu" if any(is_call(b, "relu") for b in v.bases_of(t)) else "maximum"

    def change(factors: dict) -> list | None:
        for (b, i), e in factors.items():
            if not e or not is_call(b, "where") or not is_call_of_condition(b, "gt", "ge"):
                continue
            ((m, _),) = b.args[0].terms.items()
            condition, at, _ = m[0]
            u = v.place(condition.args[0], at)
            inner = _single(b, i, u)
            if inner is None or condition.args[1].number() != 0 or factors.get(inner, 0) < 1:
                continue
            name = ramp if b.args[1].number() else "minimum"
            power = factors[inner]
            factors[b, i] = factors[inner] = Fraction(0)
            args = (u,) if name == "relu" else (u, v.number(0))
            return [(v.base("call", name, args, b.dims), i, power)]
        return None

    return inside_groups(t, lambda u: _by_term(u, change))


def _by_term(t: v.Tensor, change: Callable[[dict], list | None]) -> v.Tensor:
    found = []
    for m, c in t.terms.items():
        factors = {(b, i): e for b, i, e in m}
        bound = v.bound_of(m)
        while True:
            new = change(factors)
            if new is None:
                break
            for b, i, e in new:
                factors[b, i] = factors.get((b, i), 0) + e
        found.append(v.product([(b, i, e) for (b, i), e in factors.items() if e], c, bound))
    return v.add(*found)


def _tidy(factors: dict) -> list | None:
    for (b, i), e in factors.items():
        if not e or b.kind != "call" or e.denominator != 1:
            continue
        if b.name == "sign":
            if not e % 2:
                factors[b, i] = Fraction(0)
                return []
            inner = _single(b, i)
            power = Fraction(0) if inner is None else factors.get(inner, Fraction(0))
            if power % 2 == 1:  # sign(u)*u**3 is abs(u)**3
                factors[inner] = factors[b, i] = Fraction(0)
                return [(*f[:2], power) for f in call("abs", b, i)]
            if e != 1:
                factors[b, i] = Fraction(1)
                return []
            length = _partner(factors, b, i, "abs")
            if length is not None and factors[length] % 2 == 1:  # sign(u)/abs(u) is 1/u
                found = _argument(b, i, factors[length])
                if found is not None:
                    factors[length] = factors[b, i] = Fraction(0)
                    return found
            if length is not None and factors[length] > 1:  # abs(u)**2*sign(u) is u*abs(u)
                whole = _argument(b, i, Fraction(1))
                if whole is not None:
                    factors[length] -= 1
                    factors[b, i] = Fraction(0)
                    return whole
        if b.name == "abs" and _partner(factors, b, i, "sign") is None:
            found = _length(factors, b, i, e)
            if found is not None:
                return found
        if b.name in ("maximum", "relu") and e >= 1:
            for other, j in factors:
                if j == i and is_step_of(other, b):
                    factors.pop((other, j))
                    return []
    return None


def _length(factors: dict, b: v.Base, i: tuple, e: Fraction) -> list | None:
    """abs(u) beside u to a power of the other sign: u**2/abs(u) is abs(u), u/abs(u) sign(u)."""
    inner = _single(b, i)
    power = Fraction(0) if inner is None else factors.get(inner, Fraction(0))
    if inner is None or not power * e < 0 or power.denominator != 1:
        if e % 2 == 0 and inner is not None:
            factors[b, i] = Fraction(0)
            return [(*inner, e)]
        return None
    if abs(power) > 1:
        step = 2 if power > 0 else -2
        factors[inner] -= step
        factors[b, i] += step
        return []
    factors[inner] = Fraction(0)
    factors[b, i] += power
    return call("sign", b, i)


def _argument(b: v.Base, i: tuple, e: Fraction) -> list | None:
    """The argument of a call at its labels, to a power, as factors."""
    terms = list(v.power(v.as_factor(b.args[0]), e).terms.items())
    if len(terms) != 1 or terms[0][1] != 1 or v.bound_of(terms[0][0]):
        return None
    at = {(d, k): x for k, (d, x) in enumerate(zip(b.dims, i, strict=True))}
    return [(f, tuple(at[x] for x in idx), p) for f, idx, p in terms[0][0]]


def is_call_of_condition(b: v.Base, *names: str) -> bool:
    """Whether an indicator's condition is one comparison of these."""
    terms = b.args[0].terms
    return len(terms) == 1 and all(len(m) == 1 and is_call(m[0][0], *names) for m in terms)


def _single(b: v.Base, labels: tuple, u: v.Tensor | None = None) -> tuple | None:
    """The one factor that a call's argument (or ``u``) consists of, at the call's labels."""
    sole = v.sole(b.args[0] if u is None else u)
    if sole is None or sole[2] != 1 or any(x[1] < 0 for x in sole[1]):
        return None
    at = dict(zip(v.labels_of(b.dims), labels, strict=True))
    return sole[0], tuple(at[x] for x in sole[1])


def _name(factors: dict) -> list | None:
    """sigmoid and softmax, in the arguments of calls too."""
    for (b, i), e in list(factors.items()):
        if b.kind != "sum" or e >= 0:
            continue
        body = b.args[0]
        if e.denominator != 1:
            found = _softmax_throughout(factors, b) if len(body.terms) == 1 else None
        elif len(body.terms) == 1:
            found = _softmax(factors, b, i)
        elif len(body.terms) == 2 and body.terms.get(()) == 1:
            found = _sigmoid(factors, b, i)
        elif len(body.terms) == 2:
            found = _share(factors, b, i)
        else:
            found = None
        if found is not None:
            return found
    for (b, i), e in factors.items():  # the arguments last: they are what the sums hold as well
        if b.kind == "call" and e:
            args = tuple(named(a) if isinstance(a, v.Tensor) else a for a in b.args)
            if args != b.args:
                factors[b, i] = Fraction(0)
                return [(v.base("call", b.name, args, b.dims), i, e)]
    return None


def _sigmoid(factors: dict, b: v.Base, i: tuple) -> list | None:
    """1/(1 + exp(u)) is sigmoid(-u), and exp(u) times it sigmoid(u)."""
    (m, c) = next((m, c) for m, c in b.args[0].terms.items() if m)
    if c != 1 or len(m) != 1 or not is_call(m[0][0], "exp") or v.bound_of(m):
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
        rest = v.add(v.UNIT, v.scale(v.factor(up, v.labels_of(exp.dims)), -1))
        group = next(iter(v.as_factor(rest).terms.items()))
        if group[1] == 1:
            one = [(g[0], tuple(labels[x[1]] for x in g[1]), g[2]) for g in group[0]]
        else:  # the group stands with the other sign already
            down = v.base("call", "sigmoid", (v.scale(u, -1),), exp.dims)
            one = [(down, labels, _ONE)]
        return [(up, labels, _ONE), *one]
    if power >= 1:
        factors[key] -= k
        return [(up, labels, _ONE)]
    down = v.base("call", "sigmoid", (v.scale(u, -1),), exp.dims)
    return [(down, labels, _ONE)]


def _share(factors: dict, b: v.Base, i: tuple) -> list | None:
    """exp(u)/(exp(u) + exp(w)) is sigmoid(u - w)."""
    own = v.labels_of(b.dims)
    (m1, c1), (m2, c2) = b.args[0].sorted()
    if c1 != 1 or c2 != 1 or any(len(m) != 1 or m[0][1] != own for m in (m1, m2)):
        return None
    if not all(is_call(m[0][0], "exp") for m in (m1, m2)):
        return None
    parts = [(m[0][0], v.scale(m[0][0].args[0], m[0][2]), m[0][2]) for m in (m1, m2)]
    for (exp, u, k), (_, other, _) in (parts, parts[::-1]):
        if Fraction(factors.get((exp, i), 0)) / k >= 1:
            factors[b, i] += 1
            factors[exp, i] -= k
            apart = v.add(u, v.scale(other, -1))
            return [(v.base("call", "sigmoid", (apart,), b.dims), i, _ONE)]
    return None


def _softmax(factors: dict, b: v.Base, i: tuple) -> list | None:
    """exp(u) over its sum along the last axis, or over that of all entries."""
    ((m, c),) = b.args[0].terms.items()
    if c == 1 and len(m) > 1 and not i:
        return _softmax_weighted(factors, b, m)
    if c != 1 or len(m) != 1 or not is_call(m[0][0], "exp") or m[0][2] != 1:
        return None
    exp, idx, _ = m[0]
    gone = [k for k, x in enumerate(idx) if x[1] < 0]
    if not gone or len(idx) > 2 or len(set(idx)) < len(idx):
        return None
    if len(gone) > 1:
        return _softmax_of_all(factors, b, exp) or _softmax_throughout(factors, b)
    (axis,) = gone
    front = tuple(i[x[1]] for x in idx if x[1] >= 0)
    if "symmetric" in exp.traits:  # rows are columns: either way along the last axis
        axis = len(idx) - 1
    name = "softmax" if axis == len(idx) - 1 else "softmax0"
    soft = v.base("call", name, exp.args, exp.dims)
    for (other, labels), e in factors.items():
        if other is not exp or e < 1:
            continue
        for at in (labels, labels[::-1]) if "symmetric" in exp.traits else (labels,):
            if at[:axis] + at[axis + 1 :] == front:
                factors[b, i] += 1
                factors[other, labels] -= 1
                return [(soft, at, _ONE)]
    return None if i else _softmax_throughout(factors, b)


def _softmax_of_all(factors: dict, b: v.Base, exp: v.Base) -> list | None:
    """exp(u)/sum(exp(u)) of a matrix, which is written as exp(u - logsumexp(u))."""
    for (other, labels), e in factors.items():
        if other is exp and e >= 1:
            factors[b, ()] += 1
            factors[exp, labels] -= 1
            return [(v.base("call", "softmax_of_all", exp.args, exp.dims), labels, _ONE)]
    return None


def _softmax_weighted(factors: dict, b: v.Base, m: v.Monomial) -> list | None:
    """w*exp(u)/dot(w, exp(u)) is softmax(u + log(w)), where log(w) stands already."""
    exps = [f for f in m if is_call(f[0], "exp") and f[2] == 1]
    if not exps or any(f[1] != exps[0][1] or len(f[1]) != 1 for f in m):
        return None
    exp = exps[0][0]
    weights = [f for f in m if f[0] is not exp]
    if not all(
        v.is_positive(w) or v.known("call", "log", (v.factor(w, ((exp.dims[0], 0),)),), exp.dims)
        for w, _, _ in weights
    ):
        return None
    for (other, labels), e in factors.items():
        if other is not exp or e < 1:
            continue
        if any(factors.get((w, labels), 0) < p for w, _, p in weights):
            continue
        u = exp.args[0]
        for w, _, p in weights:
            factors[w, labels] -= p
            u = v.add(u, v.scale(applied("log", (v.factor(w, ((exp.dims[0], 0),)),)), p))
        factors[b, ()] += 1
        factors[exp, labels] -= 1
        return [(v.base("call", "softmax", (u,), exp.dims), labels, _ONE)]
    return None


def _softmax_throughout(factors: dict, b: v.Base) -> list | None:
    """A product that is the same for all multiples of exp(u), with softmax(u) for exp(u), which
    does not overflow: norm(exp(u))/sum(exp(u)) is norm(softmax(u)), dot(exp(u), w)/sum(exp(u))
    dot(softmax(u), w).
    """
    ((inside, _),) = b.args[0].terms.items()
    exp = next((f for f, _, _ in inside if is_call(f, "exp") and f.dims), None)
    if exp is None:
        return None
    degrees = {f: _degree(f[0], exp) for f, e in factors.items() if e}
    if None in degrees.values() or sum(factors[f] * d for f, d in degrees.items()):
        return None
    if any(f[1] for f, d in degrees.items() if d and f[0] is not exp):
        return None  # sums over some of the axes
    soft = v.base("call", "softmax" if len(exp.dims) == 1 else "softmax_of_all", exp.args, exp.dims)
    found: list = []
    for (other, labels), degree in degrees.items():
        if not degree:
            continue
        e, factors[other, labels] = factors[other, labels], Fraction(0)
        if other is exp:
            found.append((soft, labels, e))
            continue
        ((m, _),) = other.args[0].terms.items()
        if [f[0] for f in m] == [exp] and m[0][2] == 1 and len(set(m[0][1])) == len(exp.dims):
            continue  # the sum of all shares
        moved = [(soft if f[0] is exp else f[0], f[1], f[2]) for f in v.renamed(m)]
        ((whole, _),) = v.product(moved, _ONE, v.bound_of(moved)).terms.items()
        found += [(f, idx, p * e) for f, idx, p in whole]
    return found


def _degree(b: v.Base, exp: v.Base) -> Fraction | None:
    """By which power of a factor before ``exp`` a base grows; None where by no power."""
    if b is exp:
        return _ONE
    if not b.args or not any(isinstance(a, v.Tensor) and exp in v.bases_of(a) for a in b.args):
        return Fraction(0)
    if b.kind != "sum" or len(b.args[0].terms) > 1:
        return None
    ((m, c),) = b.args[0].terms.items()
    degrees = [_degree(f, exp) if f.kind != "sum" else None for f, _, _ in m]
    if c != 1 or None in degrees:
        return None
    return sum((d * e for d, (_, _, e) in zip(degrees, m, strict=True) if d), Fraction(0))


def _ratio(factors: dict) -> list | None:
    for (b, i), e in list(factors.items()):
        for name, (top, below) in QUOTIENTS.items():
            if not is_call(b, top):
                continue
            other = _partner(factors, b, i, below)
            if other is not None and e * factors[other] < 0:
                n = min(abs(e), abs(factors[other])) * (1 if e > 0 else -1)
                if n.denominator == 1:
                    factors[b, i] -= n
                    factors[other] += n
                    return [(f[0], f[1], n) for f in call(name, b, i)]
    return None


def _partner(factors: dict, b: v.Base, i: tuple, name: str) -> tuple | None:
    """Another call with the same argument at the same place."""
    for (other, j), e in factors.items():
        if e and j == i and is_call(other, name) and other.args == b.args:
            return other, j
    return None
