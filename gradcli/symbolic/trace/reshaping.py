"""What joins axes to one or splits one: reshape and tile, as products with ``selectors.join``.

``x.reshape(n, m)`` and ``X.flatten()`` read entries in order: entry i*m + j of the one is entry
(i, j) of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.symbolic.expr import selectors, sizes
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.shapes.rules import listed, matched
from gradcli.symbolic.trace.indexing import selected
from gradcli.symbolic.trace.operations import apart
from gradcli.symbolic.trace.symbol import Symbol, dimension_of, operation


@operation("reshape")
def reshape(x: Symbol, shape: Any = ()) -> Symbol:
    """The same entries in the same order: axes are joined and split; -1 is what is left over."""
    given = listed(shape)
    x = apart(x)
    have = [a for a in x.axes if a is not None]
    one = (1,) if have else (1, -1)
    ones = [isinstance(entry, int) and entry in one for entry in given]
    asked = [
        None if isinstance(entry, int) and entry == -1 else dimension_of(entry)
        for entry, one in zip(given, ones, strict=True) if not one
    ]  # fmt: skip
    t, labels = x.tensor, []
    for here, there in matched([a[0] for a in have], asked):
        left, right = [have[i] for i in here], [asked[k] for k in there]
        if len(left) == len(right) == 1:
            labels.append(left[0])
        elif len(right) == 1:
            t, label = _joined(t, left)
            labels.append(label)
        else:
            t, parts = _split(t, left[0], right)
            labels += parts
    found = iter(labels)
    return Symbol(t, tuple(None if one else next(found) for one in ones))


def _joined(t: v.Tensor, left: Sequence[v.Label]) -> tuple[v.Tensor, v.Label]:
    """Axes as one: from the last two on."""
    labels = list(left)
    while len(labels) > 1:
        i, j = labels[-2:]
        whole = v.fresh(sizes.times(i[0], j[0]))
        t = selected(t, selectors.join(whole[0], i[0], j[0]), (whole, i, j), i, j)
        labels[-2:] = [whole]
    return t, labels[0]


def _split(
    t: v.Tensor, whole: v.Label, right: Sequence[str | None]
) -> tuple[v.Tensor, list[v.Label]]:
    """One axis as several: the first is split off, then the next."""
    dims = [str(d) for d in right]
    if None in right:
        rest = 1
        for d in right:
            rest *= int(d) if d is not None else 1
        dims[right.index(None)] = str(int(whole[0]) // rest)
    found = []
    while len(dims) > 1:
        below = "1"
        for d in dims[1:]:
            below = sizes.times(below, d)
        i, j = v.fresh(dims.pop(0)), v.fresh(below)
        t = selected(t, selectors.join(whole[0], i[0], j[0]), (whole, i, j), whole)
        found.append(i)
        whole = j
    return t, [*found, whole]


@operation("tile")
def tile(x: Symbol, repeats: Any = ()) -> Symbol:
    """Copies side by side: a new axis of each number of copies, joined with the old one."""
    x = apart(x)
    t, axes = x.tensor, list(x.axes)
    for d, k in enumerate(listed(repeats)):
        if isinstance(k, int) and k == 1:
            continue
        times, here = v.fresh(str(k)), axes[d]
        axes[d] = times
        if here is not None:
            t, axes[d] = _joined(t, [times, here])
    return Symbol(t, tuple(axes))
