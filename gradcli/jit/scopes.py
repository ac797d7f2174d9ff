"""What statements may do to the block that they stand in: leave it, or give a value to a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.language.syntax import nodes as n


def exits(node: n.Node) -> set[Any]:
    """The kinds of statements by which one may leave the block that it stands in."""
    found: set[Any] = set()
    stack: list[tuple[n.Node, bool]] = [(node, True)]
    while stack:
        one, own = stack.pop()
        kind = one.__class__
        if kind is n.Return or (own and kind in (n.Break, n.Continue)):
            found.add(kind)
        elif kind in (n.If, n.With, n.For, n.While):
            inner = own and kind not in (n.For, n.While)
            stack += [(c, inner) for c in n.children(one) if isinstance(c, n.Statement)]
    return found


def first_target(node: Any) -> n.Node:
    """The first target of an assignment."""
    return node.targets[0] if isinstance(node, n.Assign) else node.target


def assigned(body: Sequence[n.Statement], items: bool = False) -> list[str]:
    """The names that statements may give a value to, in their own scope.

    ``items``: those too whose items are written to.
    """
    found: dict[str, None] = {}
    stack: list[Any] = list(reversed(body))
    while stack:
        node: Any = stack.pop()
        kind = node.__class__
        if kind is n.Assign:
            parts: list[n.Node] = list(node.targets)
        elif kind in (n.AugAssign, n.Annotation, n.For):
            parts = [node.target]
        else:
            parts = []
        while parts:
            part = parts.pop()
            if isinstance(part, n.Tuple | n.List):
                parts += part.items
            elif items and isinstance(part, n.Subscript):
                parts.append(part.value)
            elif isinstance(part, n.Name):
                found[part.id] = None
        if kind is n.Def:
            found[node.name] = None
        elif kind is n.ExprStmt:
            found["<result>"] = None
        elif kind is n.Return:
            found["<return>"] = found["<returned>"] = None
        elif kind in (n.If, n.While, n.For, n.With):
            stack += [c for c in reversed(n.children(node)) if isinstance(c, n.Statement)]
    return list(found)
