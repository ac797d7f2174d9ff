"""Entries of a known dimension, written one by one as a stack."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcli.ops.errors import Fault
from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import open_factor

MOST_STACKED = 8
"""Entries that are written one by one."""


def stacked(writer: Any, t: v.Tensor, labels: tuple[v.Label, ...]) -> Text | None:
    """Terms that are entries of a known dimension as a stack, where that is shorter."""
    first = labels[0]
    size = writer.resized(first[0])
    if not size.isdigit() or not 1 < int(size) <= MOST_STACKED or len(labels) > 2:
        return None
    t = _entries_opened(t, first)
    rows: list[dict] = [{} for _ in range(int(size))]
    rest: dict[v.Monomial, Fraction] = {}
    for m, c in t.terms.items():
        here = next((f for f in m if f[0].kind == "entry" and f[1] == (first,)), None)
        if here is None:
            rest[m] = c
        else:
            rows[here[0].name][tuple(f for f in m if f is not here)] = c
    if len(rest) == len(t.terms):
        return None
    whole = v.Tensor({m: c for m, c in t.terms.items() if m not in rest})
    c = v.content(whole) * (-1 if all(x < 0 for x in whole.terms.values()) else 1)
    inside = len(labels) == 1 and bool(first[1])  # a row of a stack
    fronts = [Fraction(1)] if inside else [c, Fraction(1)]
    options = [_of_rows(writer, rows, rest, labels, k) for k in fronts]
    found = min(options, key=lambda x: x.cost)
    try:
        other = writer.plainly(t, labels, True)
    except Fault:  # only so can it be said
        return found
    return found if found.cost <= other.cost else None


def _of_rows(
    writer: Any, rows: Sequence[dict], rest: dict, labels: tuple[v.Label, ...], c: Fraction
) -> Text:
    """A stack of rows with a number in front, and what is added to it."""
    parts = [
        writer.sum(v.Tensor({m: x / c for m, x in row.items()}), labels[1:], True) for row in rows
    ]
    if writer.inside and all(isinstance(p.node, w.n.Number) for p in parts):
        parts = [w.numeral(float(p.node.value)) for p in parts]  # whole numbers have no norm
    items = w.n.List(tuple(p.node for p in parts))
    found = w.called("stack", Text(items, sum(p.cost for p in parts)))
    if not rest:
        return w.scaled(c, [found], [])
    found = w.scaled(abs(c), [found], [])
    sign = -1 if all(x < 0 for x in rest.values()) else 1
    added = writer.sum(v.scale(v.Tensor(rest), sign), labels, False)
    return w.total([(sign, added), (1 if c > 0 else -1, found)])


def _entries_opened(t: v.Tensor, label: v.Label) -> v.Tensor:
    """The tensor with groups multiplied out that hold entries of a label."""
    while True:
        for m in t.terms:
            place = next((i for i, f in enumerate(m) if _holds_entries(f, label)), None)
            if place is not None:
                rest = v.Tensor({k: c for k, c in t.terms.items() if k != m})
                t = v.add(rest, v.scale(open_factor(m, place), t.terms[m]))
                break
        else:
            return t


def _holds_entries(f: tuple, label: v.Label) -> bool:
    b, idx, e = f
    if b.kind != "sum" or e != 1 or label not in idx:
        return False
    own = (label[0], idx.index(label))
    return any(k.kind == "entry" and i == (own,) for m in b.args[0].terms for k, i, _ in m)
