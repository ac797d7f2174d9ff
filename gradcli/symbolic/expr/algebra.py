"""Rearranging symbolic tensors: opening groups, taking out common factors, dividing exactly.

A tensor is treated as a polynomial in its factors; a group (a parenthesised sum) is opened only
where asked. What is summed over stays as it is: opening a group never loses the size of a label
that one of its terms does not mention, see ``opened``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.unsupported import too_large

MOST_OPENED = 160
"""Terms that a tensor may have while it is multiplied out."""
MOST_FACTORS = 16
"""Groups, counted with their powers, that are multiplied out in one term."""
MOST_POWER = 12
"""The largest power of a group that is multiplied out."""


@v.remembered
def opened(t: v.Tensor, deep: bool = True) -> v.Tensor:
    """All groups to a whole positive power multiplied out; with ``deep`` those inside them too."""
    if any(sum(f[2] for f in m if can_open(f)) > MOST_FACTORS for m in t.terms):
        raise too_large()
    while True:
        if len(t.terms) > MOST_OPENED:
            raise too_large()
        found: list[v.Tensor] = []
        changed = False
        for m, c in t.terms.items():
            place = next((i for i, f in enumerate(m) if can_open(f)), None)
            if place is None:
                found.append(v.Tensor({m: c}))
                continue
            changed = True
            found.append(v.scale(open_factor(m, place), c))
        t = v.add(*found)
        if not changed or not deep:
            return t


def can_open(f: tuple) -> bool:
    """Whether a factor is a group to a whole positive power."""
    b, idx, e = f
    if b.kind != "sum" or e.denominator != 1 or not 0 < e <= MOST_POWER:
        return False
    return len(b.args[0].terms) > 1 or (bool(idx) and e == 1)


def open_factor(m: v.Monomial, place: int) -> v.Tensor:
    """One group of a product multiplied out, once."""
    b, idx, e = m[place]
    rest = [f for i, f in enumerate(m) if i != place]
    if e > 1:
        rest.append((b, idx, e - 1))
    names = {(x[0], i): x for i, x in enumerate(idx)}
    found = []
    for inner, c in b.args[0].terms.items():
        moved = [(k, tuple(names.get(x, x) for x in i), p) for k, i, p in v.renamed(inner)]
        # A label of the product that this term does not mention is still summed over.
        bound = v.bound_of(m) | v.bound_of(moved)
        found.append(v.product([*rest, *moved], c, bound))
    return v.add(*found)


def common(t: v.Tensor, below: bool = True) -> tuple[v.Tensor, v.Tensor]:
    """(g, r) with t = g*r: g a product of what all terms share.

    ``below`` also takes out what only some terms have below the line: r then has no denominators.
    """
    least: dict[tuple, Any] | None = None
    for m in t.terms:
        here = {(b, i): e for b, i, e in m if b.kind != "delta" and all(x[1] >= 0 for x in i)}
        if least is None:
            least = here
            continue
        if not least and (not below or all(e > 0 for e in here.values())):
            continue
        for key in [*least, *here]:
            one, two = least.get(key, 0), here.get(key, 0)
            low = min(one, two)
            if not below and one <= 0 and two <= 0:
                low = max(one, two)
            if low and (below or one * two > 0):
                least[key] = low
            else:
                least.pop(key, None)
    if not least:
        return v.UNIT, t
    front = [(b, i, e) for (b, i), e in least.items()]
    back = [(b, i, -e) for b, i, e in front]
    rest = [v.product([*m, *back], c, v.bound_of(m)) for m, c in t.terms.items()]
    return v.product(front, Fraction(1), ()), v.add(*rest)


def replaced(t: v.Tensor, change: Callable[[v.Base], v.Tensor | None]) -> v.Tensor:
    """The tensor with bases replaced by tensors over their own labels (None: kept)."""
    found = []
    for m, c in t.terms.items():
        term = v.UNIT
        kept = []
        for b, idx, e in m:
            new = change(b)
            if new is not None and any(x[1] < 0 for x in idx):
                moved = _in_place(new, idx, e)
                if moved is not None:
                    c *= moved[1]
                    kept += moved[0]
                    continue
                new = None
            if new is None:
                kept.append((b, idx, e))
            else:
                term = v.mul(term, v.power(v.place(new, idx), e))
        found.append(v.mul(v.product(kept, c, v.bound_of(kept)), term))
    return v.add(*found)


def _in_place(new: v.Tensor, idx: tuple, e: Fraction) -> tuple[list, Fraction] | None:
    """The factors and the number of a single term put at labels that are summed over."""
    if len(new.terms) > 1:
        new = v.as_factor(new)
    if len(new.terms) != 1 or e.denominator != 1:
        return None
    ((m, c),) = new.terms.items()
    if v.bound_of(m) or {x for _, i, _ in m for x in i} != {(x[0], k) for k, x in enumerate(idx)}:
        return None
    return [(b, tuple(idx[x[1]] for x in i), p * e) for b, i, p in m], c ** int(e)


def inside_groups(
    t: v.Tensor, change: Callable[[v.Tensor], v.Tensor], products: bool = False
) -> v.Tensor:
    """A change made in every group of a tensor, the inner ones first, and in the tensor itself.

    With ``products`` in those of one term too, where that has something below the line or a power.
    """
    forms: dict[v.Base, v.Tensor] = {}
    for b in v.groups_of(t):
        body = b.args[0]
        new = replaced(body, forms.get) if forms else body
        if len(body.terms) > 1:
            new = change(new)
        elif (
            products
            and not b.dims
            and any(i and (e < 0 or f.name == "pow") for m in body.terms for f, i, e in m)
        ):
            ((m, c),) = new.terms.items() if len(new.terms) == 1 else [((), v.ONE)]
            if new is not body and len(m) == 1 and m[0][0].kind == "sum" and m[0][2] == 1:
                new = v.scale(m[0][0].args[0], c)  # its factors replaced, it is closed again
            found = change(new)
            if found != v.factor(b):
                new = found
        if new != body:
            forms[b] = new
    return change(replaced(t, forms.get) if forms else t)


def in_terms(
    t: v.Tensor, change: Callable[[v.Monomial, Fraction], v.Tensor], products: bool = False
) -> v.Tensor:
    """A change of every term, made in every group of a tensor and in the tensor itself."""

    def by_term(u: v.Tensor) -> v.Tensor:
        return v.add(*(change(m, c) for m, c in u.terms.items()))

    return inside_groups(t, by_term, products)


def _everywhere(apply: Callable[..., v.Tensor]) -> Callable[[Callable], Callable]:
    """A decorator that makes a change of one part a change of all such parts of a tensor."""
    return lambda change: wraps(change)(lambda t: apply(t, change))


in_each_base = _everywhere(replaced)
in_each_term = _everywhere(in_terms)
in_each_group = _everywhere(inside_groups)


def in_pairs(
    find: Callable[[dict, v.Monomial], tuple[v.Monomial, v.Tensor] | None],
) -> Callable[[v.Tensor], v.Tensor]:
    """A change of a sum, two terms at a time: ``find(terms, m)`` gives another term and what it and
    m are together; None where no other fits.
    """

    @wraps(find)
    def change(t: v.Tensor) -> v.Tensor:
        terms, made = dict(t.terms), []
        for m in t.terms:
            found = find(terms, m) if m in terms else None
            if found is not None:
                del terms[m], terms[found[0]]
                made.append(found[1])
        return v.add(v.Tensor(terms), *made) if made else t

    return change


def divided(t: v.Tensor, d: v.Tensor) -> v.Tensor | None:
    """t/d where the division of these polynomials leaves nothing, else None."""
    if len(d.terms) < 2 or len(t.terms) < len(d.terms) or len(t.terms) > 60:
        return None
    if not (_is_polynomial(t) and _is_polynomial(d)):
        return None
    lead_d = _lead(d)
    rest: v.Tensor = t
    parts: list[v.Tensor] = []
    for _ in range(200):
        if not rest.terms:
            return v.add(*parts)
        lead = _lead(rest)
        back = [(b, i, -e) for b, i, e in lead_d]
        quotient = v.product([*lead, *back], rest.terms[lead] / d.terms[lead_d], ())
        if not _is_polynomial(quotient):
            return None
        parts.append(quotient)
        rest = v.add(rest, v.scale(v.distribute(quotient, d), -1))
        if len(rest.terms) > 120:
            return None
    return None


def _is_polynomial(t: v.Tensor) -> bool:
    return all(
        e > 0 and e.denominator == 1 and all(x[1] >= 0 for x in i) and b.kind != "delta"
        for m in t.terms
        for b, i, e in m
    )


def _lead(t: v.Tensor) -> v.Monomial:
    """The leading term, lexicographically by the factors' first appearance."""
    atoms = sorted({(b.serial, i) for m in t.terms for b, i, _ in m})
    place = {a: k for k, a in enumerate(atoms)}

    def key(m: v.Monomial) -> list[Fraction]:
        exponents = [Fraction(0)] * len(atoms)
        for b, i, e in m:
            exponents[place[b.serial, i]] = e
        return exponents

    return max(t.terms, key=key)


# ---- The factored form ---------------------------------------------------------------------------


def lifted(t: v.Tensor, below: bool = False) -> v.Tensor:
    """What all terms of a sum or of a group share taken out, nothing multiplied out.

    With ``below`` the denominators of single terms too: (a/b + 1) is (a + b)/b.
    """
    forms: dict[v.Base, v.Tensor] = {}

    def taken(u: v.Tensor) -> v.Tensor:
        front, rest = common(replaced(u, forms.get), below=below)
        return v.mul(front, rest) if len(rest.terms) < 2 else v.mul(front, v.as_factor(rest))

    for b in v.groups_of(t):
        if len(b.args[0].terms) > 1:
            forms[b] = taken(b.args[0])
    return taken(t)


def factored(t: v.Tensor) -> v.Tensor:
    """A product of groups, as far as common factors and the groups that stand already show it.

    Groups inside groups first, by the order in which they came, each brought to one fraction.
    """
    whole = replaced(t, _forms(t).get)
    return _merged(_product_form(whole, tuple(v.groups_of(t))))


def _forms(t: v.Tensor) -> dict[v.Base, v.Tensor]:
    """The factored form of every group in a tensor."""
    forms: dict[v.Base, v.Tensor] = {}
    inside = tuple(v.groups_of(t))
    for b in inside:
        if len(b.args[0].terms) > 1:
            forms[b] = _product_form(replaced(b.args[0], forms.get), inside)
    return forms


@v.remembered
def _product_form(t: v.Tensor, groups: tuple[v.Base, ...]) -> v.Tensor:
    front, rest = common(t)
    rest = opened(rest)
    again, rest = common(rest)
    front = v.mul(front, again)
    if len(rest.terms) < 2:
        return v.mul(front, rest)
    if rest.free() and {len(b.dims) for b in groups} == {0}:
        return v.mul(front, v.as_factor(rest))
    labels = tuple(rest.free())
    for b in groups:
        if len(b.dims) not in (0, len(labels)) or len(b.args[0].terms) < 2:
            continue
        body = v.place(opened(b.args[0]), labels if b.dims else ())
        while len(rest.terms) > 1:
            quotient = divided(rest, body)
            if quotient is None:
                break
            front = v.mul(front, v.factor(b, labels if b.dims else ()))
            rest = quotient
        again, rest = common(rest)
        front = v.mul(front, again)
        if len(rest.terms) < 2:
            return v.mul(front, rest)
    return v.mul(front, v.as_factor(rest))


def _merged(t: v.Tensor) -> v.Tensor:
    """Groups below the line that another group of the term divides are taken apart."""
    if len(t.terms) != 1:
        return t
    for _ in range(20):
        ((m, c),) = t.terms.items()
        groups = [f for f in m if f[0].kind == "sum" and len(f[0].args[0].terms) > 1]
        for b, idx, e in groups:
            found = None
            whole = opened(v.place(b.args[0], idx)) if not v.bound_of([(b, idx, e)]) else None
            for b2, idx2, _ in groups:
                if whole is None or b2 is b or v.bound_of([(b2, idx2, e)]):
                    continue
                quotient = divided(whole, opened(v.place(b2.args[0], idx2)))
                if quotient is not None:
                    found = v.mul(v.factor(b2, idx2, e), v.power(quotient, e))
                    break
            if found is not None:
                rest = [f for f in m if f[0] is not b or f[1] != idx]
                t = v.mul(v.product(rest, c, v.bound_of(rest)), found)
                break
        else:
            return t
        if len(t.terms) != 1:
            return t
    return t
