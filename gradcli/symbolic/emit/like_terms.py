"""Terms of a sum as they are collected: a number, scalars, a product; and what they share."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr.base import common
from gradcli.symbolic.expr.tensor import SMALL


class Piece:
    """A term: coefficient, scalars above and below the line, a matrix product.

    cover   2 where it has the whole shape, 1 the last axis only, 0 none
    apart   the same product with an outer product's matrices as separate factors, or None
    whole   for a column, the same with the whole shape; else None
    """

    __slots__ = ("apart", "below", "c", "chain", "cover", "tops", "whole")

    def __init__(
        self, c: Fraction, tops: Sequence[Text], below: Sequence[Text], chain: Sequence[Text],
        cover: int,
    ) -> None:  # fmt: skip
        self.c = c
        self.tops = list(tops)
        self.below = list(below)
        self.chain = tuple(chain)
        self.cover = cover
        self.apart: tuple[Text, ...] | None = None
        self.whole: Piece | None = None

    def text(self) -> Text:
        """The term without its sign."""
        parts = [*self.tops, w.joined(self.chain, "@")] if self.chain else self.tops
        c = self.c
        c = c if c.numerator > 0 else -c
        if len(self.chain) == 1 and (self.tops or c != 1):
            found = self.shared(c)
            if found is not None:
                return found
        return w.scaled(c, parts, self.below)

    def shared(self, c: Fraction) -> Text | None:
        """``c*diag(1/u)`` as ``diag(c/u)``; None where there is no such function."""
        node = self.chain[0].node
        inner = node.args[0] if w.n.called(node) in ("diag", "sum", "mean") else None
        if not isinstance(inner, w.n.Binary) or inner.op != "/":
            return None
        if not w.n.is_number(inner.left, 1):
            return None
        whole = c if c.denominator >= SMALL else c * c.denominator  # a decimal stays one
        above = w.scaled(whole, self.tops, [])
        args = (w.n.Binary("/", above.node, inner.right), *node.args[1:])
        found = Text(w.n.Call(node.func, args, ()), self.chain[0].cost + above.cost)
        return w.scaled(c / whole, [found], self.below)

    def size(self) -> tuple:
        """Equal for terms that are written alike, and found without writing them."""
        own = [t.cost for part in (self.tops, self.below, self.chain) for t in part]
        return len(self.tops), len(self.below), *own

    def whole_key(self) -> tuple:
        """All of it but the number, as it is written."""
        return self.cover, *self.scalars(), *(t.key for t in self.chain)

    def scalars(self) -> tuple:
        """What must be equal for two terms to be joined."""
        return tuple(t.key for t in self.tops), tuple(t.key for t in self.below)


def like_terms(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Terms that are written alike as one with their numbers added; all of them where all cancel.

    Two sums over labels may differ as factors and read the same.
    """
    # Most sums have no two terms of one size: then none has to be written down to compare.
    if len({p.size() for p in pieces}) == len(pieces):
        return pieces
    if len({p.whole_key() for p in pieces}) == len(pieces):
        return pieces
    numbers: dict[tuple, Fraction] = {}
    for p in pieces:
        numbers[p.whole_key()] = numbers.get(p.whole_key(), Fraction(0)) + p.c
    found = []
    for p in pieces:
        c = numbers.pop(p.whole_key(), None)
        if c:
            one = Piece(c, p.tops, p.below, p.chain, p.cover)
            one.apart, one.whole = p.apart, p.whole
            found.append(one)
    return found or pieces


def total(pieces: Sequence[Piece]) -> Text:
    """The terms one after the other."""
    return w.total([(1 if p.c.numerator > 0 else -1, p.text()) for p in pieces])


def shared(pieces: Sequence[Piece]) -> tuple[Fraction, list[Text], list[Text], list[Piece]]:
    """The number and the scalars above and below the line that all share, and what is left."""
    c = content([p.c for p in pieces])
    tops = in_all([p.tops for p in pieces])
    below = in_all([p.below for p in pieces])
    rest = _over(pieces, c, tops, below)
    if c.denominator > 1:  # (a + 2*b)/2 is longer than a/2 + b
        unit = Fraction(-1 if c < 0 else 1)
        whole = _over(pieces, unit, tops, below)
        if w.scaled(unit, [total(whole)], []).cost < w.scaled(c, [total(rest)], []).cost:
            c, rest = unit, whole
    return c, tops, below, rest


def _over(
    pieces: Sequence[Piece], c: Fraction, tops: Sequence[Text], below: Sequence[Text]
) -> list[Piece]:
    """The terms divided by a number and by scalars that stand in each."""
    found = []
    for p in pieces:
        rest = without(p.tops, tops), without(p.below, below)
        found.append(Piece(p.c if c == 1 else p.c / c, *rest, p.chain, 2))
    return found


def in_all(lists: Sequence[Sequence[Text]]) -> list[Text]:
    """The texts that stand in every list, each once."""
    first = {t.key: t for t in lists[0]}
    return [t for k, t in first.items() if all(k in [x.key for x in other] for other in lists)]


def without(texts: Sequence[Text], gone: Sequence[Text]) -> list[Text]:
    """The texts less one of each that is ``gone``, which all stand among them."""
    left = list(texts)
    for t in gone:
        left.remove(next(x for x in left if x.key == t.key))
    return left


def content(values: Sequence[Fraction]) -> Fraction:
    """What all numbers share; negative where all are."""
    c = common(values)
    return -c if all(x.numerator < 0 for x in values) else c
