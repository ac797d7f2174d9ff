"""Sums of matrix products: equal scalars, first factors and last factors are taken out.

``A.T @ x + A @ x`` is ``(A + A.T) @ x``. A step is taken only where the text gets shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.symbolic import text as w
from gradcli.symbolic.collect_entries import entries_shared, outers_merged
from gradcli.symbolic.pieces import Piece, content, like_terms, shared, total
from gradcli.symbolic.text import Text


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
