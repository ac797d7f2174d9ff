"""Comparisons and choices as they are written: the shorter of ``a > b`` and ``a - b > 0``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gradcli.language.syntax import nodes as n
from gradcli.ops.declaration.infix import MIRRORED
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.reductions import reached
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import opened

_MOST_WORK = 2000
"""Factors that may be looked at to write one comparison."""


def comparison(writer: Any, b: v.Base, labels: tuple[v.Label, ...]) -> Text:
    """A comparison; where one side is 0, terms with a minus go there: ``x < 1``."""
    found = reached(writer, b, labels) if b.name == "eq" and 0 < len(labels) < 3 else None
    if found is not None:
        return found
    found = w.compared(
        OPERATORS[b.name].infix, *(writer.argument(a, labels, False) for a in b.args)
    )
    right = b.args[1].number()
    body = _apart(writer, b) if b.name not in ("eq", "ne") else None
    if right is not None and (right == 0 or b.name not in ("eq", "ne")):
        body = v.add(b.args[0], v.number(-right))
    if body is None:
        return _variable_first(found)
    c = v.content(body)
    body = body if c <= 0 or c == 1 else v.scale(body, 1 / c)
    minus = v.Tensor({m: -c for m, c in body.terms.items() if c < 0})
    plus = v.Tensor({m: c for m, c in body.terms.items() if c > 0})
    if not minus.terms and () in plus.terms and len(plus.terms) > 1:  # b + 1 > 0 is b > -1
        minus = v.number(-plus.terms[()])
        plus = v.add(plus, minus)
    sign = OPERATORS[b.name].infix
    other = w.compared(sign, *(writer.argument(a, labels, False) for a in (plus, minus)))
    return _variable_first(other if other.cost < found.cost else found)


def _variable_first(x: Text) -> Text:
    """``x < 1`` for ``1 > x``."""
    left, (right,), (op,) = x.node.left, x.node.rights, x.node.ops
    below = isinstance(left, n.Unary) and isinstance(left.operand, n.Number)
    if not below and (not isinstance(left, n.Number) or isinstance(right, n.Number)):
        return x
    return Text(n.Compare(right, (MIRRORED[op],), (left,)), x.cost)


def _apart(writer: Any, b: v.Base) -> v.Tensor | None:
    """The difference of two sides that have something in common, multiplied out; else None."""
    first = v.bases_of(b.args[0])
    if not any(x in first for x in v.bases_of(b.args[1])):
        return None
    try:
        with v.limited(_MOST_WORK):
            body = opened(v.add(b.args[0], v.scale(b.args[1], -1)))
    except Fault:
        return None
    if set(body.free()) != {x for a in b.args for x in a.free()}:
        return None  # the shape would go: x + s < x + 1
    writer.bases(body)
    return body


def choice(test: Text, yes: Text, no: Text, positive: Collection[str]) -> Text:
    """``where(test, yes, no)``; u within bounds, else the nearer bound, as ``clamp(u, -d, d)``.

    The larger and the smaller of two by their names. ``positive`` are variables that may be such a
    bound.
    """
    found = w.called("where", test, yes, no)
    node = test.node
    if not isinstance(node, n.Compare) or node.ops[0] not in ("<", "<=", ">", ">="):
        return found
    if len(node.ops) > 1:
        return found
    ends = (node.left, node.rights[0])
    size, bound = ends if node.ops[0] in ("<", "<=") else ends[::-1]
    if n.same(size, no.node) and n.same(bound, yes.node):
        return _extreme("max", ends, yes, no)
    if n.same(size, yes.node) and n.same(bound, no.node):
        return _extreme("min", ends, yes, no)
    if not n.same(size, n.call("abs", yes.node)):
        return found
    if isinstance(bound, n.Number):
        if not bound.value > 0:  # type: ignore[operator]
            return found
    elif not isinstance(bound, n.Name) or bound.id not in positive:
        return found
    sign = n.call("sign", yes.node)
    outside: list[n.Expr] = [n.Binary("*", bound, sign), n.Binary("*", sign, bound)]
    if n.is_number(bound, 1):
        outside = [sign]
    if not any(n.same(no.node, x) for x in outside):
        return found
    d = Text(bound, test.cost - yes.cost - 2)
    clamped = w.called("clamp", yes, w.negated(d), d)
    return clamped if clamped.cost < found.cost else found


def outer_first(chosen: Sequence[Sequence[tuple]]) -> list[tuple | None]:
    """Of the indicators in each term the one to ask first: that most terms have.

    Among those one that all terms need to hold, or all not to: ``where(c, where(d, x, y), 0)``.
    """
    if not any(len(found) > 1 for found in chosen):
        return [found[0] if found else None for found in chosen]
    uses: dict[tuple, list[bool]] = {}
    for found in chosen:
        for b, idx, _ in found:
            uses.setdefault((b.args[0], idx), []).append(bool(b.args[1].number()))
    rank = {k: (-len(u), len(set(u)), i) for i, (k, u) in enumerate(uses.items())}
    return [
        min(found, key=lambda f: rank[f[0].args[0], f[1]]) if found else None for found in chosen
    ]  # fmt: skip


def _extreme(name: str, ends: tuple[n.Expr, n.Expr], yes: Text, no: Text) -> Text:
    """``max(u, a)`` or ``min(u, a)``."""
    sides = (yes, no) if n.same(ends[0], yes.node) else (no, yes)
    return smaller(sides) if name == "min" else w.called(name, *sides)


def smaller(sides: Sequence[Text]) -> Text:
    """``min(u, v)``; the smaller of ``max(u, a)`` and b as ``clamp(u, a, b)``."""
    for u, high in (sides, sides[::-1]):
        node = u.node
        if n.called(node) == "max" and len(node.args) == 2 and not node.keywords:
            low = node.args[::-1] if isinstance(node.args[0], n.Number) else node.args
            return Text(n.call("clamp", *low, high.node), u.cost + high.cost)
    return w.called("min", *sides)
