"""Reductions as they are written: extremes, norms and spreads by their names."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.collect import Piece
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.elementwise import summed_exponents
from gradcli.symbolic.unsupported import no_closed_form


def reached(writer: Any, b: v.Base, labels: tuple[v.Label, ...]) -> Text | None:
    """``u == amax(u)``, with one text for u: only so are both the same to the last bit."""
    for whole, most in (b.args, b.args[::-1]):
        found = v.sole(most)
        if found is None or found[2] != 1:
            continue
        r, idx, _ = found
        gone = [x for x in labels if x not in idx]
        if r.kind != "reduce" or not gone:
            continue
        own = [x for x in r.args[0].free() if x[1] >= len(r.dims)]
        names = {(d, i): x for (i, d), x in zip(enumerate(r.dims), idx, strict=True)}
        if len(own) != len(gone) or v.relabel(
            r.args[0], names | dict(zip(own, gone, strict=True))
        ) != v.add(whole):
            continue
        u = writer.sum(whole, labels, True)
        if len(gone) == len(labels):
            size = w.inside(u, "abs") if r.name == "amax" else None
            most_text = (
                w.called(r.name, u) if size is None else w.called("norm", size, w.name("inf"))
            )
        else:
            axis = w.numeral(labels.index(gone[0]))
            keep = [Text(w.n.Literal(True), 0)] if axis.key == "1" else []
            most_text = w.called(r.name, u, axis, *keep)
        return w.compared("==", u, most_text)
    return None


def reduction(writer: Any, b: v.Base, labels: tuple[v.Label, ...]) -> Text:
    """``amax(A, 1)``; of sizes alone, a norm."""
    (body,) = b.args
    gone = tuple(x for x in body.free() if x[1] >= len(labels))
    if labels and len(gone) > 1:
        raise no_closed_form("a reduction over several dimensions, with one that stays")
    options = []
    for front in (True, False):
        order = (*labels, *gone) if front else (*gone, *labels)
        if not labels:
            order = gone if front else gone[::-1]
        inner = writer.sum(body, order, True)
        last = w.numeral(len(labels) if front else 0)
        size = w.inside(inner, "abs") if b.name == "amax" else None
        if size is not None and not labels:
            options.append(w.called("norm", size, w.name("inf")))
        else:
            options.append(w.called(b.name, inner, *([last] if labels else [])))
    return min(options, key=lambda t: t.cost)


def row_length(writer: Any, b: v.Base, e: Fraction) -> Text | None:
    """``norm(A, 2, 1)`` for the root of ``sum(A**2, 1)``, ``std(A, 1)`` of ``var(A, 1)``."""
    node = writer.written[b.serial].node
    name = w.n.called(node)
    if e.denominator != 2 or len(b.dims) != 1 or not name or len(node.args) != 2:
        return None
    if name == "var":
        return Text(w.n.call("std", *node.args), writer.written[b.serial].cost)
    if name != "sum":
        return None
    inner = node.args[0]
    if not isinstance(inner, w.n.Binary) or inner.op != "**":
        return None
    if not w.n.is_number(inner.right, 2):
        return None
    norm = w.n.call("norm", inner.left, inner.right, node.args[1])
    return Text(norm, writer.written[b.serial].cost - 1)


def row_spread(writer: Any, p: Piece) -> Piece:
    """``sum((A - mean(A, 0))**2, 0)/(n - 1)`` as ``var(A, 0)``; what else it is stays."""
    node: Any = p.chain[0].node if len(p.chain) == 1 else None
    if w.n.called(node) != "sum":
        return p
    dims = writer.sums.get(p.chain[0].key)
    inner = node.args[0]
    if dims is None or len(dims) != 1 or len(node.args) != 2 or node.keywords:
        return p
    if not isinstance(inner, w.n.Binary) or not w.n.is_number(inner.right, 2):
        return p
    less, count, below = inner.left, writer.dimension(dims[0]), list(p.below)
    c: Any = p.c
    if isinstance(count.node, w.n.Number):
        c *= count.node.value - 1
        if c.denominator == p.c.denominator:
            return p
    else:
        fewer = w.n.Binary("-", count.node, w.n.Number(1, "1"))
        place = next((i for i, t in enumerate(below) if w.n.same(t.node, fewer)), None)
        if place is None:
            return p
        del below[place]
    if inner.op != "**" or not isinstance(less, w.n.Binary) or less.op != "-":
        return p
    keep = (w.n.Literal(True),) if w.n.is_number(node.args[1], 1) else ()
    mean = w.n.call("mean", less.left, node.args[1], *keep)
    if not w.n.same(less.right, mean):
        return p
    own = (p.chain[0].cost - 4) // 2  # sum, minus, mean and a square; A stands twice
    named = w.n.call("var", less.left, node.args[1])
    return Piece(c, p.tops, below, (Text(named, own + 1),), p.cover)


def spread(
    writer: Any, m: Sequence[Any], number: Fraction
) -> tuple[list[tuple[Any, tuple, Fraction]], Fraction]:
    """The factors and a number, the length of ``x - mean(x)`` over the root of n - 1 as std(x)."""
    factors = list(m)
    for f in m:
        b, idx, e = f
        square = None if isinstance(b, Text) or idx else writer.squares.get(b.serial)
        x = None if square is None else w.less_its_mean(square)
        if x is None:
            continue
        ((inner, _),) = b.args[0].terms.items()
        count = v.UNIT
        for label in v.bound_of(inner):
            count = v.mul(count, v.size(label[0]))
        ((less, c),) = v.as_factor(v.add(count, v.number(-1))).terms.items()
        if len(less) == 1 and c == 1:
            one = less[0][0]
        elif not less and c > 1:
            one = v.base("number", int(c))
        else:
            continue
        have = next((g for g in factors if g[0] is one), (one, (), Fraction(0)))
        left = have[2] + e
        if left and (left.denominator != 1 or e.denominator == 1):
            continue
        factors = [g for g in factors if g is not f and g is not have]
        if one.kind == "number" and left.denominator == 1:
            number, left = number * Fraction(one.name) ** int(left), Fraction(0)
        if one.serial not in writer.written:
            writer.written[one.serial] = writer.base(one)
        word, power = ("var", e) if e.denominator == 1 else ("std", 2 * e)
        factors += [(w.called(word, x), (), power), *([(one, (), left)] if left else [])]
    return factors, number


def logsumexp(writer: Any, t: v.Tensor, labels: tuple[v.Label, ...]) -> Text | None:
    """``logsumexp(u)`` where t is a sum over exponentials."""
    u, gone = summed_exponents(t) or (t, ())
    if not gone or (labels and len(gone) > 1) or {*u.free()} != {*labels, *gone}:
        return None
    writer.bases(u)
    if not labels:
        options = [w.called("logsumexp", writer.sum(u, at, True)) for at in permutations(gone)]
    else:
        orders = [(*labels[:i], *gone, *labels[i:]) for i in range(len(labels) + 1)]
        inner = [writer.sum(u, at, True) for at in orders]
        options = [w.called("logsumexp", x, w.numeral(i)) for i, x in enumerate(inner)]
    return min(options, key=lambda x: x.cost)
