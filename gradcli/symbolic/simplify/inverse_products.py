"""Inverses that stand side by side in a finished text, as the inverse of one product.

    inv(X) @ inv(Y)          inv(Y @ X)
    inv(X).T @ inv(Y) @ u    inv(Y @ X.T) @ u

What is one inverse used twice, ``inv(L).T @ inv(L)``, stays.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gradcli.language.syntax import nodes as n
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.program.let import parts_of, rebuilt

_SCALAR = {op.name for op in OPERATORS.values() if op.core.endswith("->()")} | {"exp"}
"""Functions whose value is a number; exp stands in factors of numbers only."""


def inverses_joined(x: Text, scalars: Collection[str]) -> Text | None:
    """A text with products of inverses written as the inverse of a product; None without any.

    ``scalars`` are the variables that are numbers: only past those may an inverse be reached.
    """
    if x.key.count("inv(") < 2 or "@" not in x.key:
        return None
    saved = 0
    built: dict[int, n.Node] = {}
    waiting: list[tuple[n.Node, bool]] = [(x.node, False)]
    while waiting:
        node, ready = waiting.pop()
        inner = parts_of(node)
        if not ready:
            waiting.append((node, True))
            waiting += [(c, False) for c in inner]
            continue
        new = node
        if any(built[id(c)] is not c for c in inner):
            new = rebuilt(node, [built[id(c)] for c in inner])
        if isinstance(new, n.Binary) and new.op == "@":
            joined = _joined(new, scalars)
            if joined is not None:
                new = joined[0]
                saved += joined[1]
        built[id(node)] = new
    whole = built[id(x.node)]
    return Text(whole, x.cost - saved) if saved else None  # type: ignore[arg-type]


def _joined(node: n.Binary, scalars: Collection[str]) -> tuple[n.Expr, int] | None:
    """``... inv(X) @ inv(Y)`` with the last two as one, and the operations that this saves."""
    right = _argument(node.right)
    if right is None:
        return None
    left: Any = node.left
    around: list = []
    while True:
        one = _argument(left)
        if one is not None:
            break
        if isinstance(left, n.Binary) and (
            left.op == "@" or (left.op == "*" and _is_scalar(left.left, scalars))
        ):
            around.append(left)
            left = left.right
        elif isinstance(left, n.Unary) and left.op == "-":
            around.append(left)
            left = left.operand
        else:
            return None
    if n.same(_plain(right[0]), _plain(one[0])):
        return None  # inverted once, used twice
    product = right[0]
    for factor in _factors(one[0]):
        product = n.Binary("@", product, factor)
    whole: n.Expr = n.Call(n.Name("inv"), (product,), ())
    for part in reversed(around):
        if isinstance(part, n.Unary):
            whole = n.Unary(part.op, whole)
        else:
            whole = n.Binary(part.op, part.left, whole)
    return whole, 1 + right[1] + one[1]


def _argument(node: n.Expr) -> tuple[n.Expr, int] | None:
    """What an inverse is of, and the operations saved beside one: inv(X).T is inv(X.T)."""
    turned = isinstance(node, n.Attribute) and node.name == "T"
    inner: Any = node.value if turned else node  # type: ignore[attr-defined]
    if not isinstance(inner, n.Call) or not n.same(inner.func, n.Name("inv")):
        return None
    x = inner.args[0]
    if not turned:
        return x, 0
    if isinstance(x, n.Attribute) and x.name == "T":
        return x.value, 2
    return n.Attribute(x, "T"), 0


def _factors(node: n.Expr) -> list[n.Expr]:
    """The factors of a matrix product."""
    found = []
    while isinstance(node, n.Binary) and node.op == "@":
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def _plain(node: n.Expr) -> n.Expr:
    return node.value if isinstance(node, n.Attribute) and node.name == "T" else node


def _is_scalar(node: n.Expr, scalars: Collection[str]) -> bool:
    """Whether a factor is surely a number."""
    for part in n.walk(node):
        if isinstance(part, n.Name):
            if part.id not in scalars and part.id not in _SCALAR:
                return False
        elif isinstance(part, n.Call):
            return n.same(part, node) and isinstance(part.func, n.Name) and part.func.id in _SCALAR
        elif not isinstance(part, n.Number | n.Binary | n.Unary):
            return False
    return True
