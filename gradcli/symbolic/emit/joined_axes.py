"""Joined axes as they are written: factors on one side of a join, reshaped to the other.

V[k, i, j]*X[i, j]      flatten(X)              V[k, i, j]*x[k]          reshape(x, (n, m))
V[k, i, j]*y[j]         kron(eye(n), y)         V[k, i, p]*A[i, j]*B[p, q]*V[l, j, q]   kron(A, B)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.slices import reshaped, size_text
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.base import Base, Label

ONE = Fraction(1)


def unjoined(writer: Any, factors: Sequence[tuple]) -> list[tuple]:
    """The factors with joins, and those that share labels with them, replaced by texts."""
    left = list(factors)
    while True:
        joins = [f for f in left if isinstance(f[0], Base) and f[0].kind == "join"]
        tries = (
            way(writer, left, f) for way in (_blocks, _shaped, _flat, _one_side) for f in joins
        )
        found = next((t for t in tries if t is not None), None)
        if found is None:
            return left
        left = found


def reach(factors: Sequence[tuple], f: tuple, labels: set) -> list[tuple] | None:
    """The factors connected to labels, not through f; None where they reach further than that."""
    inside = set(labels)
    found: list[tuple] = []
    grew = True
    while grew:
        grew = False
        for g in factors:
            if g is f or any(g is h for h in found) or not inside & set(g[1]):
                continue
            found.append(g)
            inside |= {x for x in g[1] if x[1] < 0}
            grew = True
    if any(x[1] >= 0 for g in found for x in g[1]) or set(f[1]) & inside - labels:
        return None
    if any(not isinstance(g[0], Base) for g in found):
        return None
    return found


def _tensor(factors: Sequence[tuple], labels: Sequence[Label]) -> v.Tensor:
    """Factors over local labels, which stand for these."""
    names = {x: (x[0], i) for i, x in enumerate(labels)}
    moved = [(b, tuple(names.get(x, x) for x in idx), e) for b, idx, e in factors]
    return v.product(moved, ONE, v.bound_of(moved))


def _text(writer: Any, factors: Sequence[tuple], labels: Sequence[Label]) -> Text:
    t = _tensor(factors, labels)
    writer.bases(t)
    return writer.sum(t, tuple((x[0], i) for i, x in enumerate(labels)), True)


def _without(factors: Sequence[tuple], gone: Sequence[tuple]) -> list[tuple]:
    return [g for g in factors if not any(g is h for h in gone)]


def _flat(writer: Any, factors: list[tuple], f: tuple) -> list[tuple] | None:
    """The factors over both rows and columns as a vector: ``flatten(X)``."""
    k, i, j = f[1]
    if i[1] >= 0 or j[1] >= 0 or i == j:
        return None
    inside = reach(factors, f, {i, j})
    if not inside or not all(any(x in g[1] for g in inside) for x in (i, j)):
        return None
    x = _text(writer, inside, (i, j))
    if w.n.called(x.node) == "outer":
        text = Text(w.n.call("kron", *x.node.args), x.cost)
    else:
        text = w.called("flatten", x)
    return [*_without(factors, [f, *inside]), (text, (k,), ONE)]


def _shaped(writer: Any, factors: list[tuple], f: tuple) -> list[tuple] | None:
    """The factors over the joined axis as a matrix: ``reshape(x, (n, m))``."""
    k, i, j = f[1]
    if k[1] >= 0:
        return None
    inside = reach(factors, f, {k})
    if not inside:
        return None
    sizes = [size_text(writer.resized(x[0])) for x in (i, j)]
    text = reshaped(_text(writer, inside, (k,)), sizes)
    return [*_without(factors, [f, *inside]), (text, (i, j), ONE)]


def _one_side(writer: Any, factors: list[tuple], f: tuple) -> list[tuple] | None:
    """A vector on rows or columns only: ``kron(eye(n), unsqueeze(y, 1))``."""
    k, i, j = f[1]
    for label, other in ((j, i), (i, j)) if i != j else ():
        inside = reach(factors, f, {label}) if label[1] < 0 else None
        if not inside:
            continue
        column = w.called("unsqueeze", _text(writer, inside, (label,)), w.numeral(1))
        eye = w.called("eye", size_text(writer.resized(other[0])))
        both = (eye, column) if label == j else (column, eye)
        return [*_without(factors, [f, *inside]), (w.called("kron", *both), (k, other), ONE)]
    return None


def _blocks(writer: Any, factors: list[tuple], f: tuple) -> list[tuple] | None:
    """Two matrices between two joins: ``kron(A, B)``."""
    k, i, p = f[1]
    for g in factors:
        if g is f or not isinstance(g[0], Base) or g[0].kind != "join":
            continue
        far, j, q = g[1]
        pairs = ((i, j), (p, q))
        if any(x[1] >= 0 for pair in pairs for x in pair) or i == p or j == q:
            continue
        rest = [h for h in factors if h is not g]
        parts = [reach(rest, f, set(pair)) for pair in pairs]
        if None in parts or any(h is o for h in parts[0] or () for o in parts[1] or ()):
            continue
        if not all(part or pair[0] == pair[1] for part, pair in zip(parts, pairs, strict=True)):
            continue
        down = [_block(writer, part, pair) for part, pair in zip(parts, pairs, strict=True)]
        up = [_block(writer, part, pair[::-1]) for part, pair in zip(parts, pairs, strict=True)]
        ends = (k, far)
        if sum(x.cost for x in up) < sum(x.cost for x in down):
            down, ends = up, (far, k)
        gone = [f, g, *(parts[0] or ()), *(parts[1] or ())]
        whole = w.called("kron", *down)
        if all(_alike(part, pair) for part, pair in zip(parts, pairs, strict=True)):
            writer.symmetric.add(whole.key)
        return [*_without(factors, gone), (whole, ends, ONE)]
    return None


def _alike(part: list[tuple] | None, pair: tuple[Label, Label]) -> bool:
    """Whether a block is its own transpose."""
    if pair[0] == pair[1] or not part or pair[0][0] != pair[1][0]:
        return pair[0] == pair[1]
    return _tensor(part, pair) == _tensor(part, pair[::-1])


def _block(writer: Any, part: list[tuple] | None, pair: tuple[Label, Label]) -> Text:
    """What stands between two labels as a matrix; a diagonal one where they are the same."""
    if pair[0] != pair[1]:
        return _text(writer, part or [], pair)
    if part:
        return w.called("diag", _text(writer, part, pair[:1]))
    return w.called("eye", size_text(writer.resized(pair[0][0])))
