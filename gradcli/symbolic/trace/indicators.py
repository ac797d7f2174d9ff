"""Choices: conditions as indicators, 0 or 1. ``where(c, x, y)`` is x*[c] + y*[not c]."""

from __future__ import annotations

from functools import partial
from typing import Any

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.elementwise import applied, indicator
from gradcli.symbolic.simplify.coincidence import end_of_sorted, may_coincide
from gradcli.symbolic.simplify.piecewise import has_pieces, meeting
from gradcli.symbolic.trace.symbol import (
    Symbol,
    aligned,
    as_symbol,
    call,
    in_a_rule,
    operation,
    ties,
)


@operation("where")
def where(condition: Symbol, x: Symbol, y: Symbol) -> Symbol:
    """x*[c] + y*[not c]; x or y itself where the condition is known or both are equal."""
    (c, a, b), axes = aligned((condition, x, y))
    known = c.number()
    if known is not None:
        return Symbol(a if known else b, axes)
    if a == b:
        return Symbol(a, axes)
    return Symbol(v.add(_taken(a, indicator(c, True)), _taken(b, indicator(c, False))), axes)


def _taken(t: v.Tensor, where: v.Tensor) -> v.Tensor:
    """A tensor times an indicator; one of several terms is no group, its terms exclude others."""
    if len(where.terms) < 2:
        return v.mul(t, where)
    return v.distribute(v.as_factor(t) if len(t.terms) > 1 and not v.has_delta(t) else t, where)


_OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
"""The comparison that holds where another does not, of two numbers that can be compared."""


@operation("logical_not")
def logical_not(x: Symbol) -> Symbol:
    """The opposite comparison in a rule, which says ``not x <= 0``; what a program negates stays as
    it is: at NaN ``not x > 0`` holds, and ``x <= 0`` does not."""
    sole = v.sole(x.tensor) if in_a_rule() else None
    if sole is None or sole[2] != 1 or sole[0].name not in _OPPOSITE:
        return call("logical_not", [x])
    base, places, _ = sole
    args = tuple(v.place(arg, places) for arg in base.args)
    labels = tuple(x.tensor.free())
    found = v.settled("call", _OPPOSITE[base.name], args, labels)
    return Symbol(v.factor(*found), x.axes)


@operation("clamp")
def clamp(x: Symbol, min: Any = None, max: Any = None) -> Symbol:
    """minimum(maximum(x, min), max), each bound where it is given."""
    if min is not None:
        x = call("maximum", [x, as_symbol(min)])
    return x if max is None else call("minimum", [x, as_symbol(max)])


def _unless_zero(x: Any, product: Symbol) -> Symbol:
    """A product, 0 where its factor x is: in a rule that is what arrives there, seldom 0."""
    if in_a_rule():
        return product
    return where(call("eq", [x, as_symbol(0)]), as_symbol(0), product)


operation("xlogy")(lambda x, y: _unless_zero(x, x * call("log", [y])))
operation("xlog1py")(lambda x, y: _unless_zero(x, x * call("log1p", [y])))


def _equality(name: str, x: Symbol, y: Symbol) -> Symbol:
    """A comparison. In a rule it notes in ``ties`` what the formula does where both are equal.

    There two formulas that are equal at isolated points only count as different, and those made of
    pieces are equal in some cells: where, as indicators.
    """
    (a, b), axes = aligned((x, y))
    if not in_a_rule():
        return Symbol(applied(name, (a, b)), axes)
    end = (end_of_sorted(a, b) or end_of_sorted(b, a)) if name == "eq" else None
    if end is not None:
        ties.seen.add("one")
        return Symbol(end, axes)
    if a == b:
        ties.seen.add("kept")
    elif a.number() is None or b.number() is None:
        if not may_coincide(a, b):
            ties.seen.add("left")
            return Symbol(v.number(int(name == "ne")), axes)
        if name == "eq" and has_pieces((a, b)):
            found, isolated = meeting(a, b, lambda one, two: not may_coincide(one, two), ties.wrt)
            if found is not None:
                ties.seen.add("left" if not found.terms else "both" if isolated else "kept")
                return Symbol(found, axes)
        ties.seen.add("kept")
    return Symbol(applied(name, (a, b)), axes)


operation("eq")(partial(_equality, "eq"))
operation("ne")(partial(_equality, "ne"))
