"""Shorter products: one power for several factors, one root, a minus that goes inside a bracket."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeGuard

from gradcli.language.syntax import nodes as n
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.emit.tree import (
    Text,
    binary,
    called,
    inside,
    joined,
    name,
    numeral,
    operations,
)
from gradcli.symbolic.expr.identities import ODD


def is_difference(node: n.Expr) -> TypeGuard[n.Binary]:
    """Whether a tree is ``a - b`` where a is no sum."""
    if not isinstance(node, n.Binary) or node.op != "-":
        return False
    return not (isinstance(node.left, n.Binary) and node.left.op in "+-") and not _signed(node.left)


_DEEPEST = 4
"""Brackets within brackets that a minus goes into."""


def turnable(spine: Sequence[n.Binary]) -> tuple[int, n.Expr, int] | None:
    """The place in a product that takes a minus, what it becomes, and the operations saved."""
    for i in range(len(spine) - 1, -1, -1):
        found = turned(spine[i].right)
        if found is not None:
            return i, *found
    return None


def turned(node: n.Expr, depth: int = 0) -> tuple[n.Expr, int] | None:
    """A tree with the other sign at no cost: in an odd function, in a product in brackets."""
    if depth == _DEEPEST:
        return None
    if is_difference(node):
        return n.Binary("-", node.right, node.left), 0
    if isinstance(node, n.Call) and isinstance(node.func, n.Name) and not node.keywords:
        if node.func.id in ODD and len(node.args) == 1:
            inner = turned(node.args[0], depth + 1)
            return None if inner is None else (n.Call(node.func, (inner[0],), ()), inner[1])
        if node.func.id == "where":
            turns = [_turned_or_zero(x, depth) for x in node.args[1:]]
            sides = [x for x in turns if x is not None]
            if len(sides) == len(turns):
                found = (node.args[0], *(x[0] for x in sides))
                return n.Call(node.func, found, ()), sum(x[1] for x in sides)
        if node.func.id in ("outer", "dot") and n.same(*node.args[:2]):
            return None  # outer(u, u) is seen to be symmetric
        for place in range(min(_linear_in(node.func.id), len(node.args))):
            inner = turned(node.args[place], depth + 1)
            if inner is not None:
                given = list(node.args)
                given[place] = inner[0]
                return n.Call(node.func, tuple(given), ()), inner[1]
        return None
    if isinstance(node, n.Unary) and node.op == "-" and depth:
        return node.operand, 1
    if isinstance(node, n.Binary) and node.op in ("*", "/", "@"):
        for right in (True, False):
            inner = turned(node.right if right else node.left, depth + 1)
            if inner is not None:
                left, other = (node.left, inner[0]) if right else (inner[0], node.right)
                return n.Binary(node.op, left, other), inner[1]
    return None


def _linear_in(name: str) -> int:
    """In how many of its first arguments a function is linear, in each by itself."""
    op = OPERATORS.get(name)
    if op is None:
        return int(name == "diag")
    return {"bilinear": 2, "linear": int(op.arity == 1 and not op.variadic)}.get(op.kind, 0)


def _turned_or_zero(node: n.Expr, depth: int) -> tuple[n.Expr, int] | None:
    if isinstance(node, n.Number):
        value = -node.value if node.value else node.value
        return n.Number(value, repr(value)), 0
    return turned(node, depth + 1)


def _signed(node: Any) -> bool:
    """Whether a tree is written with a minus in front."""
    while isinstance(node, n.Binary):
        node = node.left
    return isinstance(node, n.Unary) or (
        isinstance(node, n.Number) and node.value < 0  # type: ignore[operator]
    )


def powers_gathered(top: Sequence[Text], below: Sequence[Text]) -> tuple[list[Text], list[Text]]:
    """``a**2*b**2/c**2`` as ``(a*b/c)**2``: one power for factors with one whole exponent."""
    above = [x for t in top for x in _factors(t)] if any(map(_powers, top)) else list(top)
    groups: dict[int, list[tuple[bool, Text]]] = {}
    for up, parts in ((True, above), (False, below)):
        for x in parts:
            if _is_power(x.node):
                groups.setdefault(x.node.right.value, []).append((up, x))
    groups = {e: g for e, g in groups.items() if len(g) > 1}
    if not groups:
        return list(top), list(below)
    under = list(below)
    for e, group in groups.items():
        bases = {up: [Text(x.node.left, x.cost - 1) for u, x in group if u is up]
                 for up in (True, False)}  # fmt: skip
        up = bool(bases[True])
        inner = joined(bases[up])
        if up and bases[False]:
            inner = binary("/", inner, joined(bases[False]))
        whole = binary("**", inner, numeral(e))
        place = (above if up else under).index(next(x for u, x in group if u is up))
        gone = {id(x) for _, x in group}
        (above if up else under).insert(place, whole)
        above = [x for x in above if id(x) not in gone]
        under = [x for x in under if id(x) not in gone]
    return above, under


def _is_power(node: n.Expr) -> bool:
    """Whether a tree is a power with a whole number in the exponent."""
    return (
        isinstance(node, n.Binary) and node.op == "**" and isinstance(node.right, n.Number)
        and isinstance(node.right.value, int) and node.right.value > 1
    )  # fmt: skip


def _factors(x: Text) -> list[Text]:
    """The factors of a product entry by entry; the cost is split among them."""
    found: list[n.Expr] = []
    node = x.node
    while isinstance(node, n.Binary) and node.op == "*":
        found.append(node.right)
        node = node.left
    if not found:
        return [x]
    parts = [node, *reversed(found)]
    if not all(_is_power(p) or isinstance(p, n.Name | n.Number) for p in parts):
        return [x]
    return [Text(p, operations(p)) for p in parts]


def _powers(x: Text) -> bool:
    node = x.node
    while isinstance(node, n.Binary) and node.op == "*":
        if _is_power(node.right):
            return True
        node = node.left
    return _is_power(node)


def roots_gathered(
    c: Fraction, top: list[Text], below: list[Text]
) -> tuple[Fraction, list[Text], list[Text]]:
    """``sqrt(2)*u/(2*sqrt(pi))`` as ``u/sqrt(2*pi)``, ``sqrt(2)*sqrt(x)`` as ``sqrt(2*x)``."""
    if sum(_is_root(t.node) for part in (top, below) for t in part) < 2:
        return c, top, below
    pi = next((t for t in below if _root_of(t, n.Name) == "pi"), None)
    for i, t in enumerate(top) if pi is not None else ():
        number = _root_of(t, n.Number)
        if not number:
            continue
        below = [x for x in below if x is not pi]
        if c.denominator % number == 0:
            top = [*top[:i], *top[i + 1 :]]
            below.insert(0, called("sqrt", binary("*", numeral(number), name("pi"))))
            c *= number
        else:
            ratio = called("sqrt", binary("/", numeral(number), name("pi")))
            top = [*top[:i], ratio, *top[i + 1 :]]
        break
    return c, one_root(top), one_root(below)


def _is_root(node: n.Expr) -> bool:
    return isinstance(node, n.Call) and isinstance(node.func, n.Name) and node.func.id == "sqrt"


def one_root(parts: list[Text]) -> list[Text]:
    """Factors with their square roots as one, where those are no quotients."""
    roots: list[tuple[Text, Text]] = []
    for t in parts:
        under = inside(t, "sqrt")
        if under is not None and not (isinstance(under.node, n.Binary) and under.node.op == "/"):
            roots.append((t, under))
    if len(roots) < 2:
        return parts
    number, inner = 1, []
    for _, under in roots:
        if isinstance(under.node, n.Number) and isinstance(under.node.value, int):
            number *= under.node.value
        else:
            inner.append(under)
    inner.sort(key=lambda x: x.key != "pi")
    if number != 1:
        inner.insert(0, numeral(number))
    place = parts.index(roots[0][0])
    gone = {id(t) for t, _ in roots}
    rest = [t for t in parts[place + 1 :] if id(t) not in gone]
    return [*parts[:place], called("sqrt", joined(inner)), *rest]


def _root_of(x: Text, kind: type) -> Any:
    """The number or the name that a text is the root of, None where it is not."""
    inner = inside(x, "sqrt")
    if inner is None or not isinstance(inner.node, kind):
        return None
    node: Any = inner.node
    return node.id if kind is n.Name else node.value
