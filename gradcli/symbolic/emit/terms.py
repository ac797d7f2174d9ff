"""One term of a sum, with the factors over its labels: vectors, columns, outer products, diagonals.

What is no matrix product is written by letters, as an einsum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.contraction import Graph, Vector, elementwise
from gradcli.symbolic.emit.joined_axes import unjoined
from gradcli.symbolic.emit.like_terms import Piece
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.elementwise import applied


def powers_merged(
    writer: Any, m: Sequence[tuple]
) -> tuple[list[tuple[Any, tuple, Fraction]], Fraction]:
    """The factors, ``x**n * x**-1`` as ``x**(n - 1)``, also where one is (2*x)**-1."""
    number = Fraction(1)
    factors: list[Any] = list(m)
    for b, idx, e in m:
        if isinstance(b, Text) or b.kind != "call" or b.name != "pow" or abs(e) != 1:
            continue
        under = v.place(b.args[0], idx)
        for other in m:
            if other[0] is b or isinstance(other[0], Text):
                continue
            times = multiple(under, v.add(v.factor(other[0], other[1])))
            if other in factors and (times == 1 or (times > 0 and other[2].denominator == 1)):
                number /= times ** int(other[2]) if times != 1 else 1
                labels = v.labels_of(b.dims)
                exponent = writer.sum(v.add(b.args[1], v.number(e * other[2])), labels, False)
                base = writer.sum(b.args[0], labels, True)
                factors.remove(other)
                factors[factors.index((b, idx, e))] = (w.binary("**", base, exponent), idx, e)
                break
    return factors, number


def multiple(t: v.Tensor, u: v.Tensor) -> Fraction:
    """The number that makes one sum of the other; 0 where there is none."""
    if t.terms.keys() != u.terms.keys() or not t.terms:
        return Fraction(0)
    ratios = {t.terms[m] / u.terms[m] for m in t.terms}
    return ratios.pop() if len(ratios) == 1 else Fraction(0)


_LETTERS = "ijklmnopqrstuvwxyzabcdefgh"
_KEEPING = {
    op.name: op.arity + list(op.params).index("keepdim") for op in OPERATORS.values()
    if list(op.params)[-2:] == ["dim", "keepdim"]
}  # fmt: skip
"""Functions that can keep a dimension, by the number of arguments before the one that says so."""


def column(writer: Any, u: Text) -> Text:
    """A vector as a column: along the rows of a matrix. A sum over rows keeps its dimension."""
    node = u.node
    if name := w.n.called(node):
        places = _KEEPING.get(name)
        if places == len(node.args) and w.n.is_number(node.args[-1], 1):
            args = (*node.args, w.n.Literal(True))
            found = Text(w.n.Call(node.func, args, ()), u.cost)
            if u.key in writer.sums:
                writer.sums[found.key] = writer.sums[u.key]
            return found
        if name in ("var", "std") and len(node.args) == 2 and not node.keywords:
            keep = w.n.Keyword("keepdim", w.n.Literal(True))
            if w.n.is_number(node.args[1], 1):
                return Text(w.n.Call(node.func, node.args, (keep,)), u.cost)
    return w.called("unsqueeze", u, w.numeral(1))


def vector_piece(c: Fraction, tops: list[Text], below: list[Text], vectors: list[Vector]) -> Piece:
    """Factors that share one label: a matrix product alone as it is, else entry by entry."""
    if not vectors:
        return Piece(c, tops, below, (), 0)
    if len(vectors) == 1 and vectors[0].exponent == 1:
        return Piece(c, tops, below, vectors[0].chain, 2)
    if any(x.exponent == 1 and w.chosen(x.text()) is not None for x in vectors):
        return Piece(c, tops, below, (elementwise(vectors),), 2)
    above, under = w.above_and_below((x.text(), x.exponent) for x in vectors)
    above.sort(key=w.is_sum)
    chain = (w.joined(above),) if above else ()
    return Piece(c, tops, [*below, *under], chain, 2 if above or under else 0)


def outer_piece(
    writer: Any, c: Fraction, tops: list[Text], below: list[Text], left: list[Vector],
    right: list[Vector],
) -> Piece:  # fmt: skip
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
        tail = tuple(t if t.key in writer.symmetric else w.transposed(t) for t in reversed(front))
    found.apart = (*head, w.called("outer", u, x), *tail)
    return found


def on_diagonal(writer: Any, factors: list[tuple], ends: tuple[v.Label, ...]) -> list[tuple]:
    """Factors beside a delta, matrices at its two labels by their diagonals.

    ``eye(n)*(1/A)`` would be 0/0 beside the diagonal of a triangular matrix: ``diag(1/diag(A))``.
    """
    found = []
    for b, idx, e in factors:
        if len(idx) != 2 or not set(idx) <= set(ends):
            found.append((b, idx, e))
        elif isinstance(b, Text):
            found.append((w.called("diag", b), ends[:1], e))
        elif b.kind in ("name", "sum", "call"):
            op = OPERATORS.get(b.name) if b.kind == "call" else None
            if op is not None and op.kind == "elementwise":
                inner = applied(b.name, [v.place(a, (ends[0], ends[0])) for a in b.args])
                writer.bases(inner)
                text = writer.sum(inner, ends[:1], True)
            else:
                text = w.called("diag", writer.written[b.serial])
            found.append((text, ends[:1], e))
        else:
            found.append((b, idx, e))
    return found


def alongs_applied(writer: Any, factors: list[tuple]) -> list[tuple]:
    """Factors with a derivative of a matrix function, a base over four labels, as a call.

    What closes over its last two labels is the direction; over its first two, that of the
    transposed map: ``matrix_exp_along(A.T, G)``. Where neither closes, it stays.
    """
    for f in factors:
        b, idx, e = f
        if isinstance(b, Text) or b.kind != "matrix" or len(b.args) < 2 or e != 1:
            continue
        rest = [g for g in factors if g is not f]
        for ends, out, turned in ((idx[2:], idx[:2], False), (idx[:2], idx[2:], True)):
            found = _closing(rest, ends, out)
            if found is None:
                continue
            names = {x: (x[0], i) for i, x in reversed(list(enumerate(ends)))}
            moved = [(g, tuple(names.get(x, x) for x in i), p) for g, i, p in found]
            inner = v.product(moved, v.ONE, v.bound_of(moved))
            labels = ((ends[0][0], 0), (ends[1][0], 1))
            if ends[0] == ends[1]:  # a trace with weights
                inner = v.mul(inner, v.delta(*labels))
            writer.bases(inner)
            op = OPERATORS[b.name]
            given = []
            for a in b.args[: op.arity - 1]:
                own = tuple(a.free())
                given.append(writer.sum(a, own[::-1] if turned else own, True))
            text = w.called(b.name, *given, writer.sum(inner, labels, True))
            return alongs_applied(writer, [*(g for g in rest if g not in found), (text, out, e)])
    return factors


def _closing(factors: list[tuple], ends: tuple, out: tuple) -> list[tuple] | None:
    """The factors that hang together with ``ends`` by summed labels; None where others do too."""
    reached: set = set(ends)
    found: list[tuple] = []
    if any(x[1] >= 0 for x in ends) or reached & set(out):
        return None
    while True:
        more = [g for g in factors if g not in found and reached & set(g[1])]
        if not more:
            return found
        for b, idx, _ in more:
            if isinstance(b, Text) or any(x[1] >= 0 or x in out for x in idx):
                return None
            reached |= set(idx)
        found += more


def diagonal_piece(
    writer: Any, c: Fraction, tops: list[Text], below: list[Text], vectors: list[list[Vector]],
    graph: Graph, labels: tuple[v.Label, ...],
) -> Piece:  # fmt: skip
    """A term that is 0 off the diagonal: ``eye``, ``eye`` times a matrix, or ``diag``."""
    eye = w.called("eye", writer.dimension(labels[0][0]))
    every = [*vectors[0], *vectors[1]]
    every.extend(Vector((w.called("diag", m.text()),)) for m in graph.matrices)
    if not every:
        return Piece(c, tops, below, (eye,), 2)
    one = every[0]
    inner = w.inside(one.text(), "diag") if len(every) == 1 and one.exponent == 1 else None
    if inner is not None:
        return Piece(c, tops, below, (w.binary("*", eye, inner),), 2)
    return Piece(c, tops, below, (w.called("diag", elementwise(every)),), 2)


def averaged(writer: Any, p: Piece) -> Piece:
    """A sum over a dimension divided by its size is a mean."""
    places = [(p.tops, i) for i in range(len(p.tops))]
    chain = list(p.chain)
    if len(chain) == 1:
        places.append((chain, 0))
    for texts, i in places:
        dims = writer.sums.get(texts[i].key)
        if dims is None:
            continue
        below, c = list(p.below), p.c
        for d in dims:
            size = writer.dimension(d)
            found = next((t for t in below if t.key == size.key), None)
            if found is not None:
                below.remove(found)
            elif size.key.isdigit() and c.denominator % int(size.key) == 0:
                c *= int(size.key)
            else:
                break
        else:
            node = texts[i].node
            if isinstance(node, w.n.Call) and w.choice(node.args[0]):
                continue  # whole numbers have no mean
            texts[i] = w.averaged(texts[i])
            p.below, p.c, p.chain = below, c, tuple(chain)
    return p


def lettered(writer: Any, m: v.Monomial, c: Fraction, labels: tuple[v.Label, ...]) -> Piece:
    """A term as scalars and an einsum, which takes every sum and every shape."""
    scalars: list[tuple[Text, Fraction]] = []
    letters = {x: chr(ord("i") + i) for i, x in enumerate(labels)}
    parts: list[str] = []
    operands: list[Text] = []
    factors = list(m)
    if any(b.kind == "join" for b, _, _ in m):
        factors = unjoined(writer, factors)
    for f in writer.operands(factors):
        text, exponent, idx = f.text, f.exponent, f.idx
        if not idx:
            scalars.append((text, exponent))
            continue
        for x in idx:
            if x not in letters:
                letters[x] = _LETTERS[len(letters)]
        parts.append("".join(letters[x] for x in idx))
        if exponent < 0:
            text, exponent = w.binary("/", w.numeral(1), w.raised(text, -exponent)), Fraction(1)
        operands.append(w.raised(text, exponent))
    for x in labels:
        if not any(letters[x] in p for p in parts):
            parts.append(letters[x])
            operands.append(w.called("ones", writer.dimension(x[0])))
    tops, below = above_and_below(scalars)
    whole = "".join(letters[x] for x in labels)
    if len(parts) == 1 and len(whole) > 2 and parts[0] == whole[:-2] + whole[:-3:-1]:
        turned = w.attribute(operands[0], "mT")
        return Piece(c, tops, below, (turned,), 2)
    if len(parts) == 1 and parts[0] == whole:
        return Piece(c, tops, below, (operands[0],), 2 if labels else 0)
    equation = ",".join(parts) + "->" + whole
    found = w.called("einsum", w.quoted(equation), *operands)
    return Piece(c, tops, below, (found,), 2 if labels else 0)


def multiplied(writer: Any, p: Piece, m: v.Monomial, c: Fraction) -> Piece:
    """A term with its number in the terms of a bracket: ``6*x - 32`` for ``2*(3*x - 16)``."""
    if p.c in (1, -1) or any(b.kind == "delta" for b, _, _ in m):
        return p
    for b, idx, e in m:
        if b.kind != "sum" or idx or e != 1 or len(b.args[0].terms) < 2:
            continue
        number = abs(p.c)
        key = writer.written[b.serial].key
        place = next((i for i, t in enumerate(p.tops) if t.key == key), None)
        if place is not None:
            tops = list(p.tops)
            tops[place] = writer.sum(v.scale(b.args[0], number), (), True)
            other = Piece(p.c / number, tops, p.below, p.chain, p.cover)
            other.apart, other.whole = p.apart, p.whole
            if other.text().cost < p.text().cost:
                return other
    return p


def above_and_below(scalars: Sequence[tuple[Text, Fraction]]) -> tuple[list[Text], list[Text]]:
    """Scalar factors above and below the line; those that are written alike as one power."""
    if not scalars:
        return [], []
    tops, below = w.above_and_below(scalars)
    if len(tops) > 1:
        tops.sort(key=place_of)
    return tops, below


def place_of(t: Text) -> tuple[int, str]:
    """Where a scalar factor stands: roots of constants, names by name, functions, sums."""
    node = t.node
    root = w.inside(t, "sqrt")
    if root is not None and (isinstance(root.node, w.n.Number) or root.key == "pi"):
        return -1, ""
    if isinstance(node, w.n.Binary) and node.op == "**" and isinstance(node.right, w.n.Number):
        node = node.left
    if isinstance(node, w.n.Name):
        return 0, node.id
    return (2 if isinstance(node, w.n.Binary) and node.op in "+-" else 1), ""
