"""Sums of vectors: what every term is multiplied with entry by entry, or makes an outer product of.

``e*(1 - u**2) + e`` is ``e*(2 - u**2)``, ``outer(u, x) + outer(w, x)`` is ``outer(u + w, x)``. Seen
in the text, since the terms may hold sums over labels that no algebra looks into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradcli.symbolic import text as w
from gradcli.symbolic.pieces import Piece, in_all, like_terms, shared, total, without
from gradcli.symbolic.text import Text


def entries_shared(pieces: Sequence[Piece]) -> list[Piece] | None:
    """The sum as one term, where all its terms have a factor in common entry by entry."""
    if any(len(p.chain) != 1 for p in pieces):
        return None
    if sum(_is_product(p.chain[0].node) for p in pieces) < len(pieces) - 1:
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
    rest = _numbers_added(like_terms(rest))
    c, over, under, rest = shared(rest)
    found = w.joined([*tops, total(rest)])
    if below:
        found = w.binary("/", found, w.joined(below))
    cover = max(p.cover for p in pieces)
    return [Piece(c, over, under, (found,), cover)]


def _is_product(node: w.n.Expr) -> bool:
    return isinstance(node, w.n.Binary) and node.op in ("*", "/")


def _numbers_added(pieces: list[Piece]) -> list[Piece]:
    """The terms with plain numbers added to one that stands in a sum: 1 + (1 - u) as 2 - u."""
    plain = [p for p in pieces if not (p.tops or p.below or p.chain)]
    for p in pieces if plain else ():
        if p.tops or p.below or len(p.chain) != 1:
            continue
        terms: list[tuple[int, w.n.Expr]] = []
        node = p.chain[0].node
        while isinstance(node, w.n.Binary) and node.op in ("+", "-"):
            terms.insert(0, (1 if node.op == "+" else -1, node.right))
            node = node.left
        terms.insert(0, (1, node))
        numbers = [x for x in terms if isinstance(x[1], w.n.Number)]
        if len(terms) < 2 or len(numbers) != 1 or numbers[0][1].value.__class__ is not int:
            continue
        own = p.c * numbers[0][0] * numbers[0][1].value
        rest = [
            Piece(p.c * sign, [], [], (Text(x, w.operations(x)),), 2)
            for sign, x in terms if not isinstance(x, w.n.Number)
        ]  # fmt: skip
        whole = own + sum(q.c for q in plain)
        found = [q for q in pieces if q is not p and q not in plain]
        return [*found, *rest, *([Piece(whole, [], [], (), 2)] if whole else [])]
    return [*(p for p in pieces if p not in plain), *plain]


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
    node = p.chain[0].node if len(p.chain) == 1 else None
    if not isinstance(node, w.n.Call) or not isinstance(node.func, w.n.Name):
        return None
    if node.func.id != "outer":
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
    if not w.n.same(node, w.n.Number(1, "1")):
        above.append(node)
    return [[Text(one, w.operations(one)) for one in reversed(part)] for part in (above, under)]
