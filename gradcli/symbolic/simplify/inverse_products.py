"""Inverses in the products of a finished text.

Those that stand side by side become the inverse of one product, those with something behind them
the solution of a system:

    inv(X) @ inv(Y)          inv(Y @ X)
    inv(X).T @ inv(Y) @ u    solve(Y @ X.T, u)
    A @ inv(X) @ B @ u       A @ solve(X, B @ u)

What is one inverse used twice, ``inv(L).T @ inv(L)``, stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.emit.tree import Text

_SCALAR = {op.name for op in OPERATORS.values() if op.core.endswith("->()")} | {"exp"}
"""Functions whose value is a number; exp stands in factors of numbers only."""


def inverses_joined(x: Text, scalars: Collection[str]) -> Text | None:
    """A text with products of inverses written as the inverse of a product; None without any.

    ``scalars`` are the variables that are numbers: only past those may an inverse be reached.
    """
    if x.key.count("inv(") < 2 or "@" not in x.key:
        return None
    return _rewritten(x, lambda node, _: _joined(node, scalars))


def systems_solved(x: Text, scalars: Collection[str]) -> Text | None:
    """A text with ``solve(X, Y)`` for ``inv(X) @ Y``; None without any.

    An inverse that is needed as such elsewhere stays in products too.
    """
    if "inv(" not in x.key or "@" not in x.key:
        return None
    kept: set[str] = set()
    gone: set[str] = set()

    def change(node: n.Binary, left: bool) -> tuple[n.Expr, int] | None:
        return None if left else _solved(node, scalars, kept, gone)

    while (found := _rewritten(x, change)) is not None:
        needed = {a for a in gone if f"inv({a})" in found.key}
        if not needed:
            break
        kept |= needed
        gone.clear()
    return found


def _rewritten(
    x: Text, change: Callable[[n.Binary, bool], tuple[n.Expr, int] | None]
) -> Text | None:
    """A text with its products changed, the inner ones first; None where none is.

    ``change`` gives the new product and the operations saved, of a product and whether it is the
    left part of a longer one.
    """
    saved = 0
    products = (one for one in n.walk(x.node) if isinstance(one, n.Binary) and one.op == "@")
    lefts = {id(one.left) for one in products}

    def changed(one: n.Node, new: Any) -> n.Node:
        nonlocal saved
        while isinstance(new, n.Binary) and new.op == "@":
            found = change(new, id(one) in lefts)
            if found is None:
                break
            new = found[0]
            saved += found[1]
        return new

    whole = n.rewritten(x.node, changed)
    return Text(whole, x.cost - saved) if saved else None


def _solved(
    node: n.Binary, scalars: Collection[str], kept: Collection[str], gone: set[str]
) -> tuple[n.Expr, int] | None:
    """The last inverse of a chain of factors, with all that follows it, as a system.

    Not those of what is among ``kept``; what was inverted is put into ``gone``.
    """
    factors = n.operands(node, "@")
    front, first = _inside(factors[0], scalars)  # numbers about the first: 2*inv(A) @ b
    for at in reversed(range(len(factors) - 1)):
        known = _argument(factors[at] if at else first)
        behind = factors[at + 1]
        names = [x.id for x in n.walk(behind) if isinstance(x, n.Name)]
        if isinstance(behind, n.Attribute) and {"inv", "solve"} & {*names}:
            continue  # one inverse on both sides, the product turned for the other's sake
        name = unparse(_plain(known[0])) if known is not None else ""
        if known is None or name in kept:
            continue
        whole: n.Expr = n.call("solve", known[0], _product(factors[at + 1 :]))
        whole = _product([*factors[:at], whole]) if at else _within(front, first, whole)
        gone.add(name)
        return whole, 1 + known[1]
    return None


def _product(factors: Sequence[n.Expr]) -> n.Expr:
    """Factors with @ between them."""
    whole = factors[0]
    for f in factors[1:]:
        whole = n.Binary("@", whole, f)
    return whole


def _joined(node: n.Binary, scalars: Collection[str]) -> tuple[n.Expr, int] | None:
    """``... inv(X) @ inv(Y)`` with the last two as one, and the operations that this saves."""
    right = _argument(node.right)
    if right is None:
        return None
    around, left = _inside(node.left, scalars, last=True)
    one = _argument(left)
    if one is None:
        return None
    if n.same(_plain(right[0]), _plain(one[0])):
        return None  # inverted once, used twice
    product = _product([right[0], *n.operands(one[0], "@")])
    return _within(around, left, n.call("inv", product)), 1 + right[1] + one[1]


def _inside(node: Any, scalars: Collection[str], last: bool = False) -> tuple[list[n.Expr], n.Expr]:
    """Signs and numbers about a factor, the outermost first, and that factor.

    With ``last`` also the products of which it is the last one.
    """
    around = []
    while True:
        if isinstance(node, n.Unary):
            inner = node.operand
        elif not isinstance(node, n.Binary):
            break
        elif (last and node.op == "@") or (node.op == "*" and _is_scalar(node.left, scalars)):
            inner = node.right
        elif node.op == "/" and _is_scalar(node.right, scalars):
            inner = node.left
        else:
            break
        around.append(node)
        node = inner
    return around, node


def _within(around: Sequence[Any], inner: n.Expr, whole: n.Expr) -> n.Expr:
    """``whole`` for ``inner`` inside these signs, products and quotients, the outermost first."""
    for part in reversed(around):
        whole, inner = n.with_parts(part, {id(inner): whole}), part  # type: ignore[assignment]
    return whole


def _argument(node: n.Expr) -> tuple[n.Expr, int] | None:
    """What an inverse is of, and the operations saved beside one: inv(X).T is inv(X.T)."""
    turned = isinstance(node, n.Attribute) and node.name == "T"
    inner: Any = node.value if turned else node  # type: ignore[attr-defined]
    if n.called(inner) != "inv":
        return None
    x = inner.args[0]
    if not turned:
        return x, 0
    if isinstance(x, n.Attribute) and x.name == "T":
        return x.value, 2
    return n.Attribute(x, "T"), 0


def _plain(node: n.Expr) -> n.Expr:
    return node.value if isinstance(node, n.Attribute) and node.name == "T" else node


def _is_scalar(node: n.Expr, scalars: Collection[str]) -> bool:
    """Whether a factor is surely a number."""
    for part in n.walk(node):
        if isinstance(part, n.Name):
            if part.id not in scalars and part.id not in _SCALAR:
                return False
        elif isinstance(part, n.Call):
            return n.same(part, node) and n.called(part) in _SCALAR
        elif not isinstance(part, n.Number | n.Binary | n.Unary):
            return False
    return True
