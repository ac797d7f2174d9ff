"""Sums of matrix products: like terms added, equal scalars and factors at the ends taken out.

``A.T @ x + A @ x`` is ``(A + A.T) @ x``. A step is taken only where the text gets shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

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


def entries_shared(pieces: Sequence[Piece]) -> list[Piece] | None:
    """The sum as one term, where all its terms have a factor in common entry by entry."""
    if any(len(p.chain) != 1 for p in pieces):
        return None
    products = [getattr(p.chain[0].node, "op", "") in ("*", "/") for p in pieces]
    if sum(products) < len(pieces) - 1:
        return None  # at most one of them is the factor itself
    split = [_entries(p.chain[0]) for p in pieces]
    tops = in_all([above for above, _ in split])
    below = in_all([under for _, under in split])
    if not tops:
        return None
    rest = []
    for p, (above, under) in zip(pieces, split, strict=True):
        left, right = without(above, tops), without(under, below)
        chain: tuple[Text, ...] = ()
        if left or right:
            whole = w.joined(left) if left else w.numeral(1)
            chain = (w.binary("/", whole, w.joined(right)) if right else whole,)
        rest.append(Piece(p.c, p.tops, p.below, chain, 2))
    rest = sorted(like_terms(rest), key=lambda p: not (p.tops or p.below or p.chain))
    c, over, under, rest = shared(rest)
    found = w.joined([*tops, total(rest)])
    if below:
        found = w.binary("/", found, w.joined(below))
    cover = max(p.cover for p in pieces)
    return [Piece(c, over, under, (found,), cover)]


def outers_merged(
    pieces: Sequence[Piece], gathered: Callable[[Sequence[Piece]], Text]
) -> list[Piece] | None:
    """The terms with outer products of one side as one; None where there are no two such."""
    if sum(_sides(p) is not None for p in pieces) < 2:
        return None
    changed = False
    found = list(pieces)
    for side in (1, 0):
        groups: dict[str, list[tuple[Piece, tuple[Text, Text]]]] = {}
        for p in found:
            both = _sides(p)
            if both is not None:
                groups.setdefault(both[side].key, []).append((p, both))
        for group in groups.values():
            if len(group) < 2:
                continue
            changed = True
            members = [p for p, _ in group]
            inner = [Piece(p.c, p.tops, p.below, (both[1 - side],), 2) for p, both in group]
            c, tops, below, inner = shared(inner)
            ends = [group[0][1][side], gathered(inner)]
            whole = w.called("outer", *(ends if side == 0 else ends[::-1]))
            place = found.index(members[0])
            found = [p for p in found if p not in members]
            found.insert(place, Piece(c, tops, below, (whole,), members[0].cover))
    return found if changed else None


def _sides(p: Piece) -> tuple[Text, Text] | None:
    """u and v where a term is outer(u, v)."""
    node: Any = p.chain[0].node if len(p.chain) == 1 else None
    if w.n.called(node) != "outer":
        return None
    left, right = node.args
    cost = w.operations(left)
    return Text(left, cost), Text(right, p.chain[0].cost - cost - 1)


def _entries(x: Text) -> tuple[list[Text], list[Text]]:
    """The factors of a product entry by entry, above and below the line."""
    above: list[w.n.Expr] = []
    under: list[w.n.Expr] = []
    node = x.node
    while isinstance(node, w.n.Binary) and node.op in ("*", "/"):
        (above if node.op == "*" else under).append(node.right)
        node = node.left
    if not w.n.is_number(node, 1):
        above.append(node)
    top, below = (
        [Text(one, w.operations(one)) for one in reversed(part)] for part in (above, under)
    )
    return top, below


def gathered(pieces: Sequence[Piece]) -> Text:
    """The sum, as short as taking out common factors makes it."""
    pieces = like_terms(pieces)
    plain = total(pieces)
    if len(pieces) < 2 or len(pieces) > 40:
        return plain
    best = plain
    others = (_merged(pieces), outers_merged(pieces, gathered), entries_shared(pieces))
    for terms in (pieces, *(x for x in others if x is not None)):
        for unfolded in (False, True) if any(p.apart for p in terms) else (False,):
            known = plain if terms is pieces and not unfolded else None
            candidate = _factored([_copy(p, unfolded) for p in terms], known)
            if candidate.cost < best.cost:
                best = candidate
    return best


def _merged(pieces: Sequence[Piece]) -> list[Piece] | None:
    """The terms with those of one matrix as one: ``(1 - a/b)*eye(n)``. None where all differ."""
    if len({tuple(t.cost for t in p.chain) for p in pieces}) == len(pieces):
        return None
    groups: dict[tuple, list[Piece]] = {}
    for p in pieces:
        groups.setdefault((p.cover, *(t.key for t in p.chain)), []).append(p)
    if len(groups) == len(pieces):
        return None
    found = []
    for group in groups.values():
        if len(group) < 2 or not group[0].chain:
            found += group
            continue
        c, tops, below, rest = shared(group)
        for p in rest:
            p.chain = ()
        whole = Piece(c, [*tops, total(rest)], below, group[0].chain, group[0].cover)
        whole.apart = group[0].apart
        found.append(whole)
    return found


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
    plain = plain or total(pieces)
    shared = _scalars_shared(pieces) if len(pieces) > 1 else None
    return plain if shared is None or shared.cost >= plain.cost else shared


def _scalars_shared(pieces: Sequence[Piece]) -> Text | None:
    """The sum with the number and the scalars that all terms share taken out."""
    c, tops, below, rest = shared(pieces)
    if not tops and not below and c.denominator == 1 and abs(c.numerator) == 1:
        return None
    return w.scaled(c, [*tops, total(rest)], below)


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
    c = content([p.c for p in group])
    inner = [Piece(p.c / c, (), (), chain, 2) for p, chain in zip(group, chains, strict=True)]
    inner.sort(key=lambda p: (p.c.numerator < 0, p.text().cost))
    whole = gathered(inner)
    chain = (whole, *reversed(end)) if last else (*end, whole)
    return Piece(c, group[0].tops, group[0].below, chain, 2)
