"""Sums of matrix products: equal scalars, first factors and last factors are taken out.

``A.T @ x + A @ x`` is ``(A + A.T) @ x``. A step is taken only where the text gets shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gradcli.symbolic import text as w
from gradcli.symbolic.base import common
from gradcli.symbolic.terms import SMALL
from gradcli.symbolic.text import Text


class Piece:
    """A term: coefficient, scalars above and below the line, a matrix product.

    cover   2 where it has the whole shape, 1 the last axis only, 0 none
    apart   the same product with an outer product's matrices as factors of their own, or None
    whole   for a column, the same with the whole shape; else None
    """

    __slots__ = ("apart", "below", "c", "chain", "cover", "tops", "whole")

    def __init__(
        self,
        c: Fraction,
        tops: Sequence[Text],
        below: Sequence[Text],
        chain: Sequence[Text],
        cover: int,
    ) -> None:
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
        if not isinstance(node, w.n.Call) or not isinstance(node.func, w.n.Name):
            return None
        inner = node.args[0] if node.func.id in ("diag", "sum", "mean") else None
        if not isinstance(inner, w.n.Binary) or inner.op != "/":
            return None
        if not w.n.same(inner.left, w.n.Number(1, "1")):
            return None
        whole = c if c.denominator >= SMALL else c * c.denominator  # a decimal stays one
        above = w.scaled(whole, self.tops, [])
        args = (w.n.Binary("/", above.node, inner.right), *node.args[1:])
        found = Text(w.n.Call(node.func, args, ()), self.chain[0].cost + above.cost)
        return w.scaled(c / whole, [found], self.below)

    def scalars(self) -> tuple:
        """What must be equal for two terms to be joined."""
        return tuple(t.key for t in self.tops), tuple(t.key for t in self.below)


def gathered(pieces: Sequence[Piece]) -> Text:
    """The sum, as short as taking out common factors makes it."""
    plain = _total(pieces)
    if len(pieces) < 2 or len(pieces) > 40:
        return plain
    best = plain
    merged = _merged(pieces)
    for terms in (pieces,) if merged is None else (pieces, merged):
        for unfolded in (False, True) if any(p.apart for p in terms) else (False,):
            known = plain if terms is pieces and not unfolded else None
            candidate = _factored([_copy(p, unfolded) for p in terms], known)
            if candidate.cost < best.cost:
                best = candidate
    return best


def _merged(pieces: Sequence[Piece]) -> list[Piece] | None:
    """The terms with those of one matrix as one: ``(1 - a/b)*eye(n)``. None where all differ."""
    groups: dict[tuple, list[Piece]] = {}
    for p in pieces:
        groups.setdefault((p.cover, *(t.key for t in p.chain)), []).append(p)
    if len(groups) == len(pieces):
        return None
    found = []
    for group in groups.values():
        first = group[0]
        if len(group) > 1 and first.chain:
            c, tops, below, rest = _shared(group)
            for p in rest:
                p.chain = ()
            first = Piece(c, [*tops, _total(rest)], below, first.chain, first.cover)
            first.apart = group[0].apart
            found.append(first)
        else:
            found += group
    return found


def _total(pieces: Sequence[Piece]) -> Text:
    """The terms one after the other."""
    return w.total([(1 if p.c.numerator > 0 else -1, p.text()) for p in pieces])


def _copy(p: Piece, unfolded: bool) -> Piece:
    chain = p.apart if unfolded and p.apart else p.chain
    return Piece(p.c, p.tops, p.below, chain, p.cover)


def _factored(pieces: list[Piece], plain: Text | None = None) -> Text:
    """Join groups of terms with a common last or first factor until there is none.

    ``plain`` is the sum as it stands, where that is known.
    """
    while sum(len(p.chain) > 1 for p in pieces) > 1:
        for last in (True, False):
            groups: dict[tuple, list[Piece]] = {}
            for p in pieces:
                if len(p.chain) > 1:
                    end = p.chain[-1] if last else p.chain[0]
                    groups.setdefault((end.key, p.scalars()), []).append(p)
            group = next((g for g in groups.values() if len(g) > 1), None)
            if group is not None:
                joined = _joined(group, last)
                place = pieces.index(group[0])
                pieces = [p for p in pieces if p not in group]
                pieces.insert(place, joined)
                plain = None
                break
        else:
            break
    plain = plain or _total(pieces)
    shared = _scalars_shared(pieces) if len(pieces) > 1 else None
    return plain if shared is None or shared.cost >= plain.cost else shared


def _scalars_shared(pieces: Sequence[Piece]) -> Text | None:
    """The sum with the number and the scalars that all terms share taken out."""
    c, tops, below, rest = _shared(pieces)
    if not tops and not below and c.denominator == 1 and abs(c.numerator) == 1:
        return None
    return w.scaled(c, [*tops, _total(rest)], below)


def _shared(pieces: Sequence[Piece]) -> tuple[Fraction, list[Text], list[Text], list[Piece]]:
    """The number and the scalars above and below the line that all share, and what is left."""
    c = _content([p.c for p in pieces])
    tops = _in_all([p.tops for p in pieces])
    below = _in_all([p.below for p in pieces])
    rest = [
        Piece(p.c / c, _without(p.tops, tops), _without(p.below, below), p.chain, 2) for p in pieces
    ]
    return c, tops, below, rest


def _in_all(lists: Sequence[Sequence[Text]]) -> list[Text]:
    """The texts that stand in every list, each once."""
    first = {t.key: t for t in lists[0]}
    return [t for k, t in first.items() if all(k in [x.key for x in other] for other in lists)]


def _without(texts: Sequence[Text], gone: Sequence[Text]) -> list[Text]:
    left = list(texts)
    for t in gone:
        left.remove(next(x for x in left if x.key == t.key))
    return left


def _content(values: Sequence[Fraction]) -> Fraction:
    """What all numbers share; negative where all are."""
    c = common(values)
    return -c if all(x.numerator < 0 for x in values) else c


def _joined(group: list[Piece], last: bool) -> Piece:
    """Terms with one last (or first) factor as one: their other factors summed."""
    end: list[Text] = []
    chains = [p.chain for p in group]
    while all(len(c) > 1 for c in chains):
        keys = {(c[-1] if last else c[0]).key for c in chains}
        if len(keys) > 1:
            break
        end.append(chains[0][-1] if last else chains[0][0])
        chains = [c[:-1] if last else c[1:] for c in chains]
    c = _content([p.c for p in group])
    inner = [Piece(p.c / c, (), (), chain, 2) for p, chain in zip(group, chains, strict=True)]
    inner.sort(key=lambda p: (p.c.numerator < 0, p.text().cost))
    whole = gathered(inner)
    chain = (whole, *reversed(end)) if last else (*end, whole)
    return Piece(c, group[0].tops, group[0].below, chain, 2)
