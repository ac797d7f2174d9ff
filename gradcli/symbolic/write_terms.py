"""One term of a sum with what hangs on its labels: vectors, columns, outer products, diagonals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gradcli.symbolic import text as w
from gradcli.symbolic import value as v
from gradcli.symbolic.collect import Piece
from gradcli.symbolic.contraction import Graph, Vector, elementwise
from gradcli.symbolic.text import Text

_KEEPING = dict.fromkeys(("sum", "mean", "amax", "amin", "prod", "logsumexp"), 2) | {"norm": 3}
"""Functions that can keep a dimension, by the number of their arguments with one."""


def column(writer: Any, u: Text) -> Text:
    """A vector as a column: along the rows of a matrix. A sum over rows keeps its dimension."""
    node = u.node
    if isinstance(node, w.n.Call) and isinstance(node.func, w.n.Name):
        places = _KEEPING.get(node.func.id)
        if places == len(node.args) and w.n.same(node.args[-1], w.numeral(1).node):
            args = (*node.args, w.n.Literal(True))
            found = Text(w.n.Call(node.func, args, ()), u.cost)
            if u.key in writer.sums:
                writer.sums[found.key] = writer.sums[u.key]
            return found
    return w.called("unsqueeze", u, w.numeral(1))


def vector_piece(
    writer: Any, c: Fraction, tops: list[Text], below: list[Text], vectors: list[Vector]
) -> Piece:
    if not vectors:
        return Piece(c, tops, below, (), 0)
    if len(vectors) == 1 and vectors[0].exponent == 1:
        return Piece(c, tops, below, vectors[0].chain, 2)
    if any(x.exponent == 1 and w.chosen(x.text()) is not None for x in vectors):
        return Piece(c, tops, below, (elementwise(vectors),), 2)
    same: dict[str, list] = {}
    for x in vectors:
        part = x.text()
        same.setdefault(part.key, [part, Fraction(0)])[1] += x.exponent
    above = [w.raised(x, e) for x, e in same.values() if e > 0]
    under = [w.raised(x, -e) for x, e in same.values() if e < 0]
    above.sort(key=lambda t: isinstance(t.node, w.n.Binary) and t.node.op in "+-@")
    chain = (w.joined(above),) if above else ()
    return Piece(c, tops, [*below, *under], chain, 2 if above or under else 0)


def outer_piece(
    writer: Any,
    c: Fraction,
    tops: list[Text],
    below: list[Text],
    left: list[Vector],
    right: list[Vector],
) -> Piece:
    """``outer(u, v)``; matrices in front of u or behind v are kept apart for collecting."""
    found = Piece(c, tops, below, (w.called("outer", elementwise(left), elementwise(right)),), 2)
    head: tuple[Text, ...] = ()
    tail: tuple[Text, ...] = ()
    u, x = elementwise(left), elementwise(right)
    if len(left) == 1 and left[0].exponent == 1:
        *front, u = left[0].chain
        head = tuple(front)
    if len(right) == 1 and right[0].exponent == 1:
        *front, x = right[0].chain
        tail = tuple(w.transposed(t) for t in reversed(front))
    found.apart = (*head, w.called("outer", u, x), *tail)
    return found


def diagonal_piece(
    writer: Any, c: Fraction, tops: list[Text], below: list[Text], vectors: list[list[Vector]],
    graph: Graph, labels: tuple[v.Label, ...],
) -> Piece:  # fmt: skip
    eye = w.called("eye", writer.dimension(labels[0][0]))
    every = [*vectors[0], *vectors[1]]
    for m in graph.matrices:
        every.append(Vector((w.called("diag", m.text()),)))
    if not every:
        return Piece(c, tops, below, (eye,), 2)
    one = every[0]
    node = one.text().node
    single = len(every) == 1 and one.exponent == 1 and isinstance(node, w.n.Call)
    if single and w.n.same(node.func, w.n.Name("diag")):
        inner = Text(node.args[0], one.text().cost - 1)
        return Piece(c, tops, below, (w.binary("*", eye, inner),), 2)
    return Piece(c, tops, below, (w.called("diag", elementwise(every)),), 2)
