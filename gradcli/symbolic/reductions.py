"""Largest and smallest entries and products over axes: bases of their own over a body.

The body has the local labels of the axes that stay, and labels from ``GONE`` on for those that are
reduced. What sums can say (mean, var, norm, logsumexp) is in ``operations``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gradcli.ops.shape import normal_dims
from gradcli.symbolic import calls
from gradcli.symbolic import value as v
from gradcli.symbolic.operations import _apart, _reduced, div
from gradcli.symbolic.symbol import Symbol, operation
from gradcli.symbolic.unsupported import no_closed_form

GONE = 700
"""The first of the local labels that a body is reduced over."""


def _over(name: str, x: Symbol, dim: Any, keepdim: bool) -> Symbol:
    x = _apart(x)
    gone, axes = _reduced(x, dim, keepdim)
    before = v.before_join([x.tensor]) if len(gone) == 1 else None
    if before is not None and before[1][0] == gone[0]:  # of all entries, in whatever order
        _, labels, (body,) = before
        x, gone = Symbol(body, x.axes), list(labels[1:])
    free = x.tensor.free()
    if any(v.is_hidden(label) for label in free):
        raise no_closed_form(f"`{name}` of a derivative (its rule is not linear)")
    missing = [label for label in gone if label not in free]
    if name == "prod" and missing:  # of one entry n times
        count = v.UNIT
        for label in missing:
            count = v.mul(count, v.size(label[0]))
        x = Symbol(calls.powered(x.tensor, count), x.axes)
        free = x.tensor.free()
    gone = [label for label in gone if label in free]
    if not gone:
        return Symbol(x.tensor, axes)
    stay = [label for label in free if label not in gone]
    local = {label: (label[0], i) for i, label in enumerate(stay)}
    local |= {label: (label[0], GONE + i) for i, label in enumerate(gone)}
    body = v.relabel(x.tensor, local)
    base = v.base("reduce", name, (body,), tuple(label[0] for label in stay))
    return Symbol(v.factor(base, tuple(stay)), axes)


@operation("amax")
def amax(x: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    """The largest entry over the dimensions; x itself where it is the same along all of them."""
    return _over("amax", x, dim, keepdim)


@operation("amin")
def amin(x: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    """The smallest entry over the dimensions; x itself where it is the same along all of them."""
    return _over("amin", x, dim, keepdim)


@operation("prod")
def prod(x: Symbol, dim: Any = None, keepdim: bool = False) -> Symbol:
    """The product over the dimensions: a power where x is the same along one of them.

    Raises a fault (E0701) over several dimensions where one stays.
    """
    if 1 < len(normal_dims(dim, len(x.axes))) < len(x.axes):
        raise no_closed_form("`prod` over several dimensions, with one that stays")
    return _over("prod", x, dim, keepdim)


@operation("prod_others")
def prod_others(x: Symbol) -> Symbol:
    """The product over what is left out: right where that is not 0."""
    return div(prod(x, -1, True), x)


def norm(x: Symbol, p: Any, dim: Any, keepdim: bool) -> Symbol:
    """The p-norm for p other than 1 and 2."""
    size = calls.call("abs", [x])
    if p in (float("inf"), float("-inf")):
        return _over("amax" if p > 0 else "amin", size, dim, keepdim)
    if isinstance(p, str) or p == 0:
        raise no_closed_form(f"`norm` with p = {p}")
    from gradcli.symbolic.operations import sum

    exponent = Fraction(repr(p))
    total = sum(Symbol(v.power(size.tensor, exponent), size.axes), dim, keepdim)
    return Symbol(v.power(total.tensor, 1 / exponent), total.axes)
