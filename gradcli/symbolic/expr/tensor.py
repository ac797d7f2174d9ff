"""Symbolic tensors: sums of products in index notation, and the arithmetic of them.

    a tensor    a sum of terms, each a rational coefficient times a product
    a product   factors base^exponent[labels], for example  2 * A[n0, m-1] * x[m-1]

So ``@``, elementwise ``*``, ``sum``, ``trace``, ``outer``, ``.T`` and broadcasting are one thing. A
free label that a term does not mention is broadcast over. Factors that are summed over completely
are a scalar base; products of scalars therefore commute and merge like numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from gradcli.symbolic.expr import selectors
from gradcli.symbolic.expr.base import (
    HALF,
    MOST_TERMS,
    ONE,
    Base,
    Label,
    Monomial,
    Tensor,
    bases_of,
    bases_within,
    fresh,
    fresh_sum,
    groups_of,
    hidden,
    is_hidden,
    known,
    labels_of,
    limited,
    order,
    refuse_hidden,
    remembered,
    reset,
    sole,
    spend,
)
from gradcli.symbolic.expr.cancel import rooted
from gradcli.symbolic.expr.dummies import canonical
from gradcli.symbolic.expr.identities import POSITIVE
from gradcli.symbolic.expr.terms import (
    UNIT,
    ZERO,
    add,
    as_factor,
    base,
    bound_of,
    content,
    delta,
    factor,
    factor_scaled,
    number,
    place,
    product,
    relabel,
    renamed,
    scale,
    settled,
    size,
)
from gradcli.symbolic.unsupported import no_value, too_large

__all__ = [
    "HALF", "ONE", "UNIT", "ZERO", "Base", "Label", "Monomial", "Tensor", "add", "as_factor",
    "base", "bases_of", "bases_within", "before_join", "bound_of", "content", "contract", "delta",
    "distribute", "factor", "factor_scaled", "fresh", "groups_of", "has_delta", "hidden",
    "is_hidden", "is_positive", "known", "labels_of", "limited", "mul", "number", "order", "place",
    "power", "product", "refuse_hidden", "relabel", "remembered", "renamed", "reset", "scale",
    "settled", "size", "sole", "spend", "through_join",
]  # fmt: skip


def contract(t: Tensor, labels: Iterable[Label]) -> Tensor:
    """The sum over free labels; a term that does not mention one is multiplied by its size."""
    names = {x: fresh_sum(x[0]) for x in labels}
    found = []
    for m, c in t.terms.items():
        simple = _summed_group(m, names)
        if simple is not None:
            found.append(scale(simple, c))
            continue
        moved = [(b, tuple(names.get(x, x) for x in idx), e) for b, idx, e in m]
        found.append(product(moved, c, bound_of(m) | set(names.values())))
    return add(*found)


def _summed_group(m: Monomial, names: Mapping[Label, Label]) -> Tensor | None:
    """The sum over a group that alone has the label, where it is short: sum(x - mean(x)) is 0."""
    if len(names) != 1:
        return None
    (label,) = names
    here = [f for f in m if label in f[1]]
    if len(here) != 1 or here[0][0].kind != "sum" or here[0][2] != 1 or bound_of(here):
        return None
    b, idx, _ = here[0]
    if len(b.args[0].terms) < 2:
        return None
    whole = contract(place(b.args[0], idx), [label])
    if len(whole.terms) > 1:
        return None
    rest = [f for f in m if f is not here[0]]
    return distribute(product(rest, ONE, bound_of(rest)), whole)


def has_delta(t: Tensor) -> bool:
    """Whether a term holds a delta."""
    return any(b.kind == "delta" for m in t.terms for b, _, _ in m)


def mul(a: Tensor, b: Tensor) -> Tensor:
    """The product. A sum stays a group, except where it holds a delta: that one is distributed."""
    na, nb = a.number(), b.number()
    if na is not None:
        return scale(b, na)
    if nb is not None:
        return scale(a, nb)
    if len(a.terms) > 1 and not has_delta(a):
        a = as_factor(a)
    if len(b.terms) > 1 and not has_delta(b):
        b = as_factor(b)
    return distribute(a, b)


def distribute(a: Tensor, b: Tensor) -> Tensor:
    """The product, every term by every term."""
    if len(a.terms) * len(b.terms) > 20 * MOST_TERMS:
        raise too_large()
    found = []
    for m1, c1 in a.terms.items():
        first = renamed(m1)
        for m2, c2 in b.terms.items():
            second = renamed(m2)
            factors = [*first, *second]
            c = c2 if c1 is ONE else c1 if c2 is ONE else c1 * c2
            found.append(product(factors, c, bound_of(factors)))
    return add(*found)


def through_join(
    tensors: Sequence[Tensor], change: Callable[[list[Tensor]], Tensor]
) -> Tensor | None:
    """What is done entry by entry to a joined axis, done before: exp(flatten(X)).

    None where the tensors do not all consist of entries that one join brings into a row.
    """
    found = before_join(tensors)
    if found is None:
        return None
    b, labels, bodies = found
    return contract(distribute(change(bodies), factor(b, labels)), labels[1:])


def before_join(
    tensors: Sequence[Tensor],
) -> tuple[Base, tuple[Label, Label, Label], list[Tensor]] | None:
    """The join that brings entries of tensors into a row, its labels, and what they were before."""
    joins = {f[:2] for t in tensors for m in t.terms for f in m if f[0].kind == "join"}
    if not joins or len({(b, idx[0]) for b, idx in joins}) > 1:
        return None
    b, (k, *_) = next(iter(joins))
    i, j = fresh(b.dims[1]), fresh(b.dims[2])
    bodies = []
    for t in tensors:
        parts = []
        for m, c in t.terms.items():
            here = [f for f in m if f[0] is b and f[1][0] == k]
            rest = [f for f in m if f not in here]
            labels = {x for f in rest for x in f[1] if x[1] >= 0}
            own = {x for f in here for x in f[1][1:] if x[1] < 0}
            if len(here) == 1 and not labels and len(own) == 2:
                names = dict(zip(here[0][1][1:], (i, j), strict=True))
                moved = [(f, tuple(names.get(x, x) for x in idx), e) for f, idx, e in rest]
                parts.append(product(moved, c, bound_of(moved)))
            elif not here and not labels:
                parts.append(product(rest, c, bound_of(rest)))
            else:
                return None
        bodies.append(add(*parts))
    return b, (k, i, j), bodies


def power(t: Tensor, e: Fraction) -> Tensor:
    """The tensor to a rational power, entry by entry. Raises a fault for 0 to a negative power."""
    if e == 1:
        return t
    if e == 0:
        return UNIT
    if any(b.kind == "join" for m in t.terms for b, _, _ in m):
        joined = through_join([t], lambda bodies: power(bodies[0], e))
        if joined is not None:
            return joined
    if not t.terms:
        if e < 0:
            raise no_value("a division by zero")
        return ZERO
    single = t if len(t.terms) == 1 else as_factor(t, e.denominator > 1)
    ((m, c),) = single.terms.items()
    if bound_of(m):
        b, labels = settled("sum", "", (Tensor({m: ONE}),), tuple(Tensor({m: ONE}).free()))
        m = ((b, labels, ONE),)
    if e < 0 and any(b.kind in selectors.KINDS for b, _, _ in m):
        raise no_value("a division by zero")
    if e.denominator == 1:
        whole = e.numerator
        number = c if c == 1 or whole == 1 else c**whole
        return product([(b, i, k * whole) for b, i, k in m], number, ())
    inner: list = []
    even: list = []
    found: list = []
    for b, i, k in m:
        if is_positive(b, k):
            found.append((b, i, k * e))
        elif k.denominator == 1 and not k.numerator % 2:
            even.append((b, i, k))
        else:
            inner.append((b, i, k))
    if c < 0 and not inner:  # nowhere a value, but that is for the check to say
        inner, even = even, []
    if c < 0 and len(inner) == 1 and inner[0][0].kind == "sum" and inner[0][2] == 1:
        b, i, _ = inner[0]
        flipped = base("sum", "", (scale(b.args[0], -1),), b.dims)
        inner, c = [(flipped, i, ONE)], -c
    if c < 0 or len(inner) > 1:
        group = Tensor({canonical(inner): Fraction(-1 if c < 0 else 1)})
        inner = [(*settled("sum", "", (group,), tuple(group.free())), ONE)]
        c = abs(c)
    found += [(b, i, k * e) for b, i, k in inner]
    for b, i, k in even:  # sqrt(x**2) is abs(x)
        found.append((*settled("call", "abs", (factor(b, i),), tuple(sorted(set(i)))), k * e))
    roots, plain = rooted(c, e)
    return product([*found, *roots], plain, ())


def is_positive(b: Base, exponent: Fraction = ONE) -> bool:
    """Whether base^exponent is surely positive on the domain of the expression."""
    if b.kind in ("constant", "number", "size") or exponent.denominator > 1:
        return True
    if b.kind in selectors.KINDS:
        return b.kind != "below"  # of what is summed over them, something is left
    if b.kind == "name":
        return "positive" in b.traits
    if b.kind == "matrix" and b.name == "det":
        return all("spd" in f.traits for m in b.args[0].terms for f, _, _ in m)
    if b.kind == "call":
        return b.name in POSITIVE
    if b.kind == "sum":
        body = b.args[0]
        return all(
            c > 0 and all(is_positive(f, k) or (k.denominator == 1 and k % 2 == 0) for f, _, k in m)
            for m, c in body.terms.items()
        ) and (() in body.terms or len(body.terms) == 1)
    return False
