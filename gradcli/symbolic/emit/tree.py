"""The answer's tree with its cost: names, numbers, calls and operations.

``text`` builds signed sums and products of these. The trees are the language's own, so that the
printer brackets them and the answer can be read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.language.syntax.source import Source
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.unsupported import too_large

MOST = 20_000
"""Operations that an answer may have."""


class Text:
    """A tree and its cost."""

    __slots__ = ("_key", "cost", "node")

    def __init__(self, node: n.Expr, cost: int) -> None:
        if cost > MOST:
            raise too_large()
        self.node: Any = node  # of the kind that a reader asks for
        self.cost = cost
        self._key: str | None = None

    @property
    def key(self) -> str:
        """How it is written."""
        if self._key is None:
            node = self.node
            self._key = node.id if node.__class__ is n.Name else unparse(node)
        return self._key


def operations(node: n.Expr) -> int:
    """The cost of a tree: as ``Text`` adds it up, for a part of one."""
    waiting: list[n.Node] = [node]
    total = 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, n.Unary):
            total += not isinstance(one.operand, n.Number)
        else:
            total += isinstance(one, n.Binary | n.Call | n.Attribute | n.Compare)
        waiting += n.children(one)
    return total


def name(word: str) -> Text:
    """A name."""
    return Text(n.Name(word), 0)


def numeral(value: int | float) -> Text:
    """A number as it is written."""
    return Text(n.Number(value, repr(value)), 0)


def quoted(words: str) -> Text:
    """A string."""
    return Text(n.String(words), 0)


def binary(op: str, left: Text, right: Text) -> Text:
    """``left op right``."""
    return Text(n.Binary(op, left.node, right.node), left.cost + right.cost + 1)


def called(function: str, *args: Text) -> Text:
    """``function(args)``."""
    node = n.Call(n.Name(function), tuple(a.node for a in args), ())
    return Text(node, 1 + sum(a.cost for a in args))


def filled(template: str, x: Text) -> Text:
    """A call as a declaration writes it, of ``{x}``: ``eigh({x})[1]``."""
    statement = parse(Source(template.format(x="x")), "line").body[-1]
    root: Any = statement.value  # type: ignore[attr-defined]
    call: Any = root.value if isinstance(root, n.Subscript) else root
    whole: n.Expr = n.Call(call.func, (x.node, *call.args[1:]), ())
    if isinstance(root, n.Subscript):
        whole = n.Subscript(whole, root.index)
    return Text(whole, x.cost + 1)


def indexed(x: Text, places: Sequence[n.Expr | None]) -> Text:
    """``x[places]``, where None stands for all of an axis; an index is free.

    Into an index that stands already it is written: ``A[0][1]`` is ``A[0, 1]``.
    """
    items: list[n.Expr | None] = list(places)
    node = x.node
    if isinstance(node, n.Subscript) and not _is_part(node):
        have = node.index.items if isinstance(node.index, n.Tuple) else (node.index,)
        left, merged = list(items), []
        for item in have:
            if not isinstance(item, n.Slice) or not left:
                merged.append(item)
                continue
            new = left.pop(0)
            if new is not None and not n.same(item, _ALL):
                break  # a part of a part
            merged.append(item if new is None else new)
        else:
            items, node = [*merged, *left], node.value
    while items and (items[-1] is None or n.same(items[-1], _ALL)):
        items.pop()
    full = tuple(_ALL if p is None else p for p in items)
    if not full:
        return Text(node, x.cost)
    return Text(n.Subscript(node, full[0] if len(full) == 1 else n.Tuple(full)), x.cost)


def _is_part(node: n.Subscript) -> bool:
    """Whether an index takes one of several results: ``eigh(A)[1]``."""
    call: Any = node.value
    name = call.func.id if isinstance(call, n.Call) and isinstance(call.func, n.Name) else ""
    return f"{name}_parts" in OPERATORS


_ALL = n.Slice(None, None, None)


def whole(value: int) -> n.Expr:
    """A whole number as it stands in an index."""
    return n.Number(value, repr(value)) if value >= 0 else n.Unary("-", numeral(-value).node)


def choice(node: n.Expr) -> TypeGuard[n.Call]:
    """Whether a tree is a where."""
    return isinstance(node, n.Call) and n.same(node.func, n.Name("where"))


def chosen(x: Text) -> Text | None:
    """The condition of ``where(condition, 1, 0)``, else None."""
    node = x.node
    if not choice(node):
        return None
    one, zero = node.args[1:]
    if n.same(one, n.Number(1, "1")) and n.same(zero, n.Number(0, "0")):
        return Text(node.args[0], x.cost - 1)
    return None


def inside(x: Text, function: str) -> Text | None:
    """What a call of a function of one argument is applied to, else None."""
    node = x.node
    if isinstance(node, n.Call) and n.same(node.func, n.Name(function)) and len(node.args) == 1:
        return Text(node.args[0], x.cost - 1)
    return None


def less_its_mean(x: Text) -> Text | None:
    """What u is in ``u - mean(u)``, else None."""
    node = x.node
    if isinstance(node, n.Binary) and node.op == "-":
        right = node.right
        if isinstance(right, n.Call) and n.same(right, n.Call(n.Name("mean"), (node.left,), ())):
            return Text(node.left, (x.cost - 2) // 2)
    return None


def averaged(x: Text) -> Text:
    """The mean in place of a sum, or of the square of a length."""
    node = x.node
    if isinstance(node, n.Call) and n.same(node.func, n.Name("norm")):
        size = n.Call(n.Name("abs"), node.args[:1], ())
        return Text(n.Call(n.Name("mean"), (size, *node.args[2:]), ()), x.cost + 1)
    if isinstance(node, n.Call):
        return Text(n.Call(n.Name("mean"), node.args, ()), x.cost)
    square = n.Binary("**", node.left.args[0], node.right)
    return Text(n.Call(n.Name("mean"), (square,), ()), x.cost)


def compared(op: str, left: Text, right: Text) -> Text:
    """``left op right`` for a comparison."""
    return Text(n.Compare(left.node, (op,), (right.node,)), left.cost + right.cost + 1)


def transposed(x: Text) -> Text:
    """``x.T``; of a transpose, what was transposed."""
    if isinstance(x.node, n.Attribute) and x.node.name == "T":
        return Text(x.node.value, x.cost - 1)
    return Text(n.Attribute(x.node, "T"), x.cost + 1)


def attribute(x: Text, name: str) -> Text:
    """``x.name``."""
    return Text(n.Attribute(x.node, name), x.cost + 1)


def joined(parts: Sequence[Text], op: str = "*") -> Text:
    """Parts with an operator between them, from the left."""
    found = parts[0]
    for part in parts[1:]:
        found = binary(op, found, part) if op != "*" else _times(found, part)
    return found


def _times(left: Text, right: Text) -> Text:
    """``a*(b*c)`` as ``a*b*c``."""
    spine: list[n.Binary] = []
    node = right.node
    while isinstance(node, n.Binary) and node.op in ("*", "/"):
        spine.append(node)
        node = node.left
    first = n.Binary("*", left.node, node)
    for part in reversed(spine):
        first = n.Binary(part.op, first, part.right)
    return Text(first, left.cost + right.cost + 1)
