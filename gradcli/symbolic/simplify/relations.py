"""Relations between functions that run over a whole sum: hyperbolic ones, powers, logarithms.

Each change is an identity wherever both sides are defined, and is offered as a candidate: whether
it is used is decided by the length of the text. A rule is a function of a tensor, marked with the
operators that it rewrites.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from gradcli.symbolic.expr import elementwise
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import in_each_base, in_each_term, in_pairs, replaced
from gradcli.symbolic.expr.elementwise import LOG_SHARES, SHARES, applied


class Rule(Protocol):
    """A function of a tensor; ``operators`` are those that the tensor has to hold."""

    operators: frozenset[str]

    def __call__(self, t: v.Tensor, /) -> v.Tensor: ...


def rewrites(*names: str) -> Callable[[Callable[[v.Tensor], v.Tensor]], Rule]:
    """Mark a rule with the operators without which it changes nothing."""

    def mark(rule: Callable[[v.Tensor], v.Tensor]) -> Rule:
        rule.operators = frozenset(names)  # type: ignore[attr-defined]
        return rule  # type: ignore[return-value]

    return mark


_ONE = Fraction(1)


def is_call(b: v.Base, *names: str) -> bool:
    """Whether a base is a call of one of these operators."""
    return b.kind == "call" and b.name in names


def call(name: str, like: v.Base, labels: tuple, argument: v.Tensor | None = None) -> list:
    """A call with the argument of another call, as factors at its labels."""
    args = like.args if argument is None else (argument,)
    terms = list(applied(name, args[:1]).terms.items())
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        return [(v.base("call", name, args, like.dims), labels, _ONE)]
    b, idx, e = terms[0][0][0]
    at = {(d, k): x for k, (d, x) in enumerate(zip(like.dims, labels, strict=True))}
    return [(b, tuple(at[x] for x in idx), e)]


@rewrites("exp")
@in_pairs
def hyperbolic(terms: dict, m: v.Monomial) -> tuple[v.Monomial, v.Tensor] | None:
    """c*exp(u) + c*exp(-u) as 2*c*cosh(u), with a minus as 2*c*sinh(u)."""
    c = terms[m]
    for b, i, e in m:
        if not is_call(b, "exp") or e != 1 or v.bound_of(m):
            continue
        rest = [f for f in m if f[:2] != (b, i)]
        other = next(iter(v.product([*rest, (b, i, -_ONE)], _ONE, ()).terms))
        d = terms.get(other)
        if d is not None and abs(d) == abs(c):
            made = v.base("call", "cosh" if d == c else "sinh", b.args, b.dims)
            return other, v.product([*rest, (made, i, _ONE)], 2 * c, ())
    return None


@rewrites("exp")
@in_each_base
def balanced(b: v.Base) -> v.Tensor | None:
    """Groups such as exp(2*u) - 1 as 2*exp(u)*sinh(u), with a plus as 2*exp(u)*cosh(u)."""
    if b.kind != "sum" or len(b.args[0].terms) != 2:
        return None
    (m1, c1), (m2, c2) = b.args[0].sorted()
    if abs(c1) != abs(c2):
        return None
    ratio = v.product([*m1, *((f, i, -e) for f, i, e in m2)], _ONE, ())
    m = next(iter(ratio.terms), ())  # none where two conditions exclude each other
    if len(m) != 1 or not is_call(m[0][0], "exp") or v.bound_of([*m1, *m2]):
        return None
    exp, idx, k = m[0]
    if k < 0:
        (m1, c1), (m2, c2), k = (m2, c2), (m1, c1), -k
    half = v.scale(exp.args[0], Fraction(k) / 2)
    name = "cosh" if c1 == c2 else "sinh"
    middle = [*m2, (exp, idx, Fraction(k) / 2), *call(name, exp, idx, half)]
    return v.product(middle, 2 * c1, ())


@rewrites("pow")
@in_each_term
def powers_joined(m: v.Monomial, c: Fraction) -> v.Tensor:
    """x**a*x**b as x**(a + b)."""
    same: dict[tuple, list] = {}
    for f in m:
        if is_call(f[0], "pow") and f[2].denominator == 1 and not v.bound_of([f]):
            same.setdefault((f[0].args[0].key, f[1]), []).append(f)
    term = v.Tensor({m: c})
    for (_, idx), group in same.items():
        if len(group) > 1:
            ((left, k),) = term.terms.items()
            exponent = v.add(*(v.scale(b.args[1], e) for b, _, e in group))
            made = elementwise.powered(group[0][0].args[0], exponent)
            rest = v.product([f for f in left if f not in group], k, v.bound_of(m))
            term = v.distribute(rest, v.place(made, idx))
            if len(term.terms) != 1:
                break
    return term


@rewrites("exp", "log")
@in_each_base
def powers_named(b: v.Base) -> v.Tensor | None:
    """exp(y*log(x)) as x**y."""
    if not is_call(b, "exp") or len(b.args[0].terms) != 1:
        return None
    ((m, c),) = b.args[0].terms.items()
    logs = [f for f in m if is_call(f[0], "log") and f[2] == 1]
    if len(logs) != 1 or v.bound_of(m):
        return None
    rest = v.product([f for f in m if f is not logs[0]], c, ())
    under = v.place(logs[0][0].args[0], logs[0][1])
    labels = v.labels_of(b.dims)
    return v.factor(v.base("call", "pow", (under, rest), b.dims), labels)


@rewrites("exp", "log")
def logarithms_named(t: v.Tensor) -> v.Tensor:
    """log(1 + exp(u)) as softplus(u), log(exp(u) + exp(w)) as logaddexp(u, w), in calls too."""
    forms: dict[v.Base, v.Tensor] = {}
    for b in v.bases_of(t):
        new = _logarithm_named(b)
        if new is None and forms and b.kind in ("sum", "call") and not is_call(b, *_WHOLE):
            args = [replaced(a, forms.get) for a in b.args]
            if args != [*b.args]:
                new = args[0] if b.kind == "sum" else applied(b.name, args)
        if new is not None:
            forms[b] = new
    return replaced(t, forms.get) if forms else t


_WHOLE = ("where", *SHARES, *LOG_SHARES)
"""Calls that are no function of each entry of their arguments."""


def _logarithm_named(b: v.Base) -> v.Tensor | None:
    if not is_call(b, "log") or len(b.args[0].terms) != 2:
        return None
    found = [_exponent(m) for m, c in b.args[0].sorted() if c == 1]
    powers = [u for u in found if u is not None]
    if len(powers) != 2:
        return None
    one, two = sorted(powers, key=lambda u: not u.terms)
    labels = v.labels_of(b.dims)
    if not two.terms:
        return v.factor(v.base("call", "softplus", (one,), b.dims), labels)
    return v.factor(v.base("call", "logaddexp", (one, two), b.dims), labels)


def _exponent(m: v.Monomial) -> v.Tensor | None:
    """u where a product is exp(u), 0 where it is 1."""
    if not m:
        return v.ZERO
    if not all(is_call(b, "exp") for b, _, _ in m) or v.bound_of(m):
        return None
    return v.add(*(v.scale(v.place(b.args[0], i), e) for b, i, e in m))
