"""Summed labels: which factors they tie together, and one way of naming them.

Two products that differ only in how their summed labels are called must become one. The labels are
distinguished by where they occur, round by round (each round looks one factor further); labels that
stay alike are interchangeable, or so nearly that no more than a simplification is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def components(factors: Sequence[tuple]) -> tuple[list[list[tuple]], list[tuple]]:
    """Factors tied only by summed labels, group by group, and all the others.

    The first are the scalars in a product: groups without a free label.
    """
    groups: list[tuple[set, list[tuple]]] = []
    rest = []
    for f in factors:
        bound = {x for x in f[1] if x[1] < 0}
        if not bound:
            rest.append(f)
            continue
        joined: tuple[set, list[tuple]] = (bound, [f])
        apart = []
        for group in groups:
            if group[0] & bound:
                joined = (joined[0] | group[0], [*group[1], *joined[1]])
            else:
                apart.append(group)
        groups = [*apart, joined]
    closed = []
    for _, members in groups:
        if any(x[1] >= 0 for f in members for x in f[1]):
            rest.extend(members)
        else:
            closed.append(members)
    return closed, rest


def canonical(factors: Sequence[tuple]) -> Any:
    """The factors sorted, with their summed labels renamed to -1, -2, ... in a fixed way."""
    colours: dict[tuple[str, int], Any] = {}
    pairs = False
    for _, idx, _ in factors:
        pairs = pairs or len(idx) == 2
        for x in idx:
            if x[1] < 0:
                colours[x] = 0
    if colours:
        names = _names(factors, colours) if len(colours) > 1 else {x: (x[0], -1) for x in colours}
        factors = [
            (b, _ordered(b, tuple([names.get(x, x) for x in idx])) if idx else idx, e)
            for b, idx, e in factors
        ]
    elif pairs:
        factors = [(b, _ordered(b, idx), e) for b, idx, e in factors]
    return in_order(factors)


def in_order(factors: Sequence[tuple]) -> Any:
    """The factors sorted: by the bases as they came, where each hangs, and how high it is."""
    if len(factors) < 2:
        return tuple(factors)
    return tuple(sorted(factors, key=_place))


def _place(f: tuple) -> tuple:
    return f[0].serial, f[1], -f[2]


def _ordered(b: Any, idx: tuple) -> tuple:
    if len(idx) == 2 and (b.kind == "delta" or "symmetric" in b.traits):
        return idx if idx[0] <= idx[1] else (idx[1], idx[0])
    return idx


def _names(factors: Sequence[tuple], colours: dict) -> dict:
    rank = _refined(factors, colours)
    while len(set(rank.values())) < len(rank):
        # Labels that look alike: set one apart, and look again.
        alike = [v for v in rank.values() if sum(1 for w in rank.values() if w == v) > 1]
        least = min(alike)
        chosen = max(x for x, v in rank.items() if v == least)
        rank = {x: 2 * v + (1 if v == least and x != chosen else 0) for x, v in rank.items()}
        rank = _refined(factors, rank)
    placed = sorted(rank, key=lambda x: (rank[x], x[0]))
    return {x: (x[0], -1 - i) for i, x in enumerate(placed)}


def _refined(factors: Sequence[tuple], rank: dict) -> dict:
    for _ in range(len(rank) + 1):
        seen: dict[tuple, list] = {x: [] for x in rank}
        for b, idx, e in factors:
            symmetric = b.kind == "delta" or "symmetric" in b.traits
            around = tuple((0, x[1], x[0]) if x[1] >= 0 else (1, rank[x], x[0]) for x in idx)
            if symmetric:
                around = tuple(sorted(around))
            for i, x in enumerate(idx):
                if x[1] < 0:
                    seen[x].append((b.serial, 0 if symmetric else i, e, around))
        signs = {x: (rank[x], x[0], tuple(sorted(seen[x]))) for x in rank}
        places = {sign: i for i, sign in enumerate(sorted(set(signs.values())))}
        new = {x: places[signs[x]] for x in rank}
        if len(set(new.values())) == len(set(rank.values())):
            return new
        rank = new
    return rank
