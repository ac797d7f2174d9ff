"""Naming what stands twice: ``r`` for ``inv(S) @ (x - mu)``, where that saves two operations.

``chosen`` decides for any graph of shared parts; ``named`` does it for one expression of the
language. The answer with names is for people and for code; JSON keeps the whole expression.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.names.table import NAMES
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.language.syntax.source import Source

LEAST = 2
"""Operations that a name has to save."""
_LETTERS = ("r", "s", "u", "q", "h", "w", "z", "k")
_HINTS = {"softmax": "p", "sigmoid": "s", "norm": "d"}
"""Letters that textbooks use for a probability, a sigmoid, a distance; no fact of the operator."""


def chosen(
    children: Sequence[Sequence[int]], costs: Sequence[int], roots: Sequence[int],
    fixed: Collection[int] = (), given: Collection[int] = (), least: int = LEAST,
) -> list[int]:  # fmt: skip
    """The nodes of a graph that are worth a name, inner ones first.

    children   what each node is made of, as often as it is; always earlier nodes
    costs      operations of the node itself; one without any is never named
    roots      the results
    fixed      nodes that must not be named
    given      those of them that have a name already
    least      what a name has to save, in operations
    """
    edges = [0] * len(children)
    for inner in (*children, roots):
        for i in inner:
            edges[i] += 1
    taken = {i for i, e in enumerate(edges) if e > 1 and costs[i] and i not in fixed}
    while taken:
        uses, whole = _weighed(children, costs, roots, taken.union(given))
        saved, worst = min(((uses[i] - 1) * whole[i], i) for i in taken)
        if saved >= least:
            break
        taken.discard(worst)
    return sorted(taken)


def _weighed(
    children: Sequence[Sequence[int]], costs: Sequence[int], roots: Sequence[int], taken: set[int]
) -> tuple[list[int], list[int]]:
    """How often each node would be written, and what it costs to write it."""
    uses = [0] * len(children)
    for r in roots:
        uses[r] += 1
    for i in range(len(children) - 1, -1, -1):
        times = min(uses[i], 1) if i in taken else uses[i]
        for c in children[i]:
            uses[c] += times
    whole: list[int] = []
    for i, inner in enumerate(children):
        whole.append(min(10**9, costs[i] + sum(0 if c in taken else whole[c] for c in inner)))
    return uses, whole


def fresh_names(taken: Collection[str]) -> Iterator[str]:
    """Names that are neither taken nor the language's own."""
    for letter in _LETTERS:
        if letter not in taken and letter not in NAMES:
            yield letter
    number = 1
    while True:
        if f"r{number}" not in taken:
            yield f"r{number}"
        number += 1


def names_for(
    picked: Sequence[int], hints: Sequence[str | None], used: Collection[str]
) -> dict[int, str]:
    """Names for the chosen nodes; ``hints`` has the function that each calls, where it is one."""
    taken = set(used)
    letters = fresh_names(taken)
    found: dict[int, str] = {}
    for i, function in zip(picked, hints, strict=True):
        name = _HINTS.get(function or "")
        if name is None or name in taken:
            name = next(x for x in letters if x not in taken)
        found[i] = name
        taken.add(name)
    return found


def named(text: str, avoid: Collection[str] = ()) -> tuple[str, list[tuple[str, str]]]:
    """An expression with names for what stands twice, and what the names stand for, in order.

    Example:
        >>> named("(outer(inv(S) @ (x - m), inv(S) @ (x - m)) - inv(S))/2")
        ('(outer(r, r) - inv(S))/2', [('r', 'inv(S) @ (x - m)')])
    """
    statement = parse(Source(text), "line").body[-1]
    assert isinstance(statement, n.ExprStmt)
    order, children, root = _interned(statement.value)
    costs = [_cost(node) for node in order]
    picked = chosen(children, costs, [root], {root})
    if not picked:
        return text, []
    used = {*avoid, *(node.id for node in order if isinstance(node, n.Name))}
    names = names_for(picked, [n.called(order[i]) for i in picked], used)
    built: list[n.Node] = []
    meant: dict[int, n.Node] = {}
    for i, node in enumerate(order):
        parts = [built[c] for c in children[i]]
        whole = n.with_parts(node, dict(zip(map(id, parts_of(node)), parts, strict=True)))
        meant[i] = whole
        built.append(n.Name(names[i]) if i in names else whole)
    return unparse(built[root]), [(names[i], unparse(meant[i])) for i in picked]


def _interned(root: n.Node) -> tuple[list[n.Node], list[tuple[int, ...]], int]:
    """The distinct parts of a tree, each after its own parts; what each is made of; the whole."""
    place: dict[tuple, int] = {}
    order: list[n.Node] = []
    children: list[tuple[int, ...]] = []
    done: dict[int, int] = {}
    waiting: list[tuple[n.Node, bool]] = [(root, False)]
    while waiting:
        node, ready = waiting.pop()
        inner = parts_of(node)
        if not ready:
            waiting.append((node, True))
            waiting.extend((c, False) for c in reversed(inner))
            continue
        ids = tuple(done[id(c)] for c in inner)
        key = (
            type(node).__name__, tuple(repr(getattr(node, d)) for d in node.data),
            n.called(node), ids,
            tuple(bool(getattr(node, f)) for f in node.fields),
        )  # fmt: skip
        if key not in place:
            place[key] = len(order)
            order.append(node)
            children.append(ids)
        done[id(node)] = place[key]
    return order, children, done[id(root)]


def parts_of(node: n.Node) -> list[n.Node]:
    """Child nodes; the name of a called function is no part."""
    found = list(n.children(node))
    if isinstance(node, n.Call) and n.called(node):
        found.remove(node.func)
    return found


def _cost(node: n.Node) -> int:
    if isinstance(node, n.Unary):
        return int(not isinstance(node.operand, n.Number))
    return int(isinstance(node, n.Binary | n.Call | n.Compare | n.Attribute | n.Subscript))
