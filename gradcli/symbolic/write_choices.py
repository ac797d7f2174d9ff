"""Comparisons and choices as they are written: the shorter of ``a > b`` and ``a - b > 0``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gradcli.language import nodes as n
from gradcli.ops.errors import Fault
from gradcli.symbolic import text as w
from gradcli.symbolic import value as v
from gradcli.symbolic.algebra import opened
from gradcli.symbolic.text import Text
from gradcli.symbolic.write_reduced import reached

SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_MOST_WORK = 2000
"""Factors that may be looked at to write one comparison."""


def comparison(writer: Any, b: v.Base, labels: tuple[v.Label, ...]) -> Text:
    """A comparison; where one side is 0, terms with a minus go there: ``1 > x``."""
    found = reached(writer, b, labels) if b.name == "eq" and 0 < len(labels) < 3 else None
    if found is not None:
        return found
    found = w.compared(SIGNS[b.name], *(writer.argument(a, labels, False) for a in b.args))
    body = _apart(writer, b) if b.name not in ("eq", "ne") else None
    if b.args[1].number() == 0:
        body = b.args[0]
    if body is None:
        return found
    minus = v.Tensor({m: -c for m, c in body.terms.items() if c < 0})
    plus = v.Tensor({m: c for m, c in body.terms.items() if c > 0})
    sides = [writer.argument(a, labels, False) for a in (plus, minus)]
    sign = SIGNS[b.name]
    if plus.number() is not None:
        sides, sign = sides[::-1], _FLIPPED[sign]
    other = w.compared(sign, *sides)
    return other if other.cost < found.cost else found


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
    if not n.same(size, n.Call(n.Name("abs"), (yes.node,), ())):
        return found
    if isinstance(bound, n.Number):
        if not bound.value > 0:
            return found
    elif not isinstance(bound, n.Name) or bound.id not in positive:
        return found
    sign = n.Call(n.Name("sign"), (yes.node,), ())
    outside = [n.Binary("*", bound, sign), n.Binary("*", sign, bound)]
    if n.same(bound, n.Number(1, "1")):
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
    """``max(u, a)`` or ``min(u, a)``; the smaller of that and b as ``clamp(u, a, b)``."""
    sides = (yes, no) if n.same(ends[0], yes.node) else (no, yes)
    for u, high in (sides, sides[::-1]):
        node = u.node
        larger = isinstance(node, n.Call) and n.same(node.func, n.Name("max"))
        if name == "min" and larger and len(node.args) == 2 and not node.keywords:
            args = (*node.args, high.node)
            return Text(n.Call(n.Name("clamp"), args, ()), u.cost + high.cost)
    return w.called(name, *sides)
