"""Nodes of expressions, and of what they consist of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .node_base import Expr, Node, put

if TYPE_CHECKING:
    from .node_statements import Param


class Name(Expr):
    """A name."""

    __slots__ = ("id",)
    data = ("id",)

    def __init__(self, id: str, start: int = 0, end: int = 0) -> None:
        put(self, "id", id)
        put(self, "start", start)
        put(self, "end", end)


class Number(Expr):
    """A number: its value (int, float or complex) and how it was written."""

    __slots__ = ("text", "value")
    data = ("value",)

    def __init__(
        self, value: int | float | complex, text: str, start: int = 0, end: int = 0
    ) -> None:
        put(self, "value", value)
        put(self, "text", text)
        put(self, "start", start)
        put(self, "end", end)


class String(Expr):
    """A string, or the text between the fields of an f-string."""

    __slots__ = ("value",)
    data = ("value",)

    def __init__(self, value: str, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Literal(Expr):
    """``True``, ``False``, ``None`` or ``...``."""

    __slots__ = ("value",)
    data = ("value",)

    def __init__(self, value: object, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Binary(Expr):
    """``left op right``; ``op_start`` and ``op_end`` are the place of the operator's sign."""

    __slots__ = ("left", "op", "op_end", "op_start", "right")
    fields = ("left", "right")
    data = ("op",)

    def __init__(
        self,
        op: str,
        left: Expr,
        right: Expr,
        op_start: int = 0,
        op_end: int = 0,
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "op", op)
        put(self, "left", left)
        put(self, "right", right)
        put(self, "op_start", op_start)
        put(self, "op_end", op_end)
        put(self, "start", start)
        put(self, "end", end)


class Unary(Expr):
    """``op operand``, where op is ``-``, ``+`` or ``not``."""

    __slots__ = ("op", "operand")
    fields = ("operand",)
    data = ("op",)

    def __init__(self, op: str, operand: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "op", op)
        put(self, "operand", operand)
        put(self, "start", start)
        put(self, "end", end)


class Compare(Expr):
    """``left < a <= b``: ``ops`` and ``rights`` are equally long."""

    __slots__ = ("left", "ops", "rights")
    fields = ("left", "rights")
    data = ("ops",)

    def __init__(
        self,
        left: Expr,
        ops: tuple[str, ...],
        rights: tuple[Expr, ...],
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "left", left)
        put(self, "ops", ops)
        put(self, "rights", rights)
        put(self, "start", start)
        put(self, "end", end)


class BoolOp(Expr):
    """``a and b and c``, two or more values."""

    __slots__ = ("op", "values")
    fields = ("values",)
    data = ("op",)

    def __init__(self, op: str, values: tuple[Expr, ...], start: int = 0, end: int = 0) -> None:
        put(self, "op", op)
        put(self, "values", values)
        put(self, "start", start)
        put(self, "end", end)


class Conditional(Expr):
    """``body if test else orelse``."""

    __slots__ = ("body", "orelse", "test")
    fields = ("body", "test", "orelse")

    def __init__(self, test: Expr, body: Expr, orelse: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "test", test)
        put(self, "body", body)
        put(self, "orelse", orelse)
        put(self, "start", start)
        put(self, "end", end)


class Call(Expr):
    """``func(args, keywords)``."""

    __slots__ = ("args", "func", "keywords")
    fields = ("func", "args", "keywords")

    def __init__(
        self,
        func: Expr,
        args: tuple[Expr, ...],
        keywords: tuple[Keyword, ...],
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "func", func)
        put(self, "args", args)
        put(self, "keywords", keywords)
        put(self, "start", start)
        put(self, "end", end)


class Keyword(Node):
    """``name=value`` in a call."""

    __slots__ = ("name", "value")
    fields = ("value",)
    data = ("name",)

    def __init__(self, name: str, value: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "name", name)
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Attribute(Expr):
    """``value.name``."""

    __slots__ = ("name", "value")
    fields = ("value",)
    data = ("name",)

    def __init__(self, value: Expr, name: str, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "name", name)
        put(self, "start", start)
        put(self, "end", end)


class Subscript(Expr):
    """``value[index]``; several indices are a Tuple."""

    __slots__ = ("index", "value")
    fields = ("value", "index")

    def __init__(self, value: Expr, index: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "index", index)
        put(self, "start", start)
        put(self, "end", end)


class Slice(Expr):
    """``lower:upper:step`` inside a subscript; each may be None."""

    __slots__ = ("lower", "step", "upper")
    fields = ("lower", "upper", "step")

    def __init__(
        self,
        lower: Expr | None,
        upper: Expr | None,
        step: Expr | None,
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "lower", lower)
        put(self, "upper", upper)
        put(self, "step", step)
        put(self, "start", start)
        put(self, "end", end)


class Tuple(Expr):
    """``a, b`` or ``(a, b)``."""

    __slots__ = ("items",)
    fields = ("items",)

    def __init__(self, items: tuple[Expr, ...], start: int = 0, end: int = 0) -> None:
        put(self, "items", items)
        put(self, "start", start)
        put(self, "end", end)


class List(Expr):
    """``[a, b]``."""

    __slots__ = ("items",)
    fields = ("items",)

    def __init__(self, items: tuple[Expr, ...], start: int = 0, end: int = 0) -> None:
        put(self, "items", items)
        put(self, "start", start)
        put(self, "end", end)


class Lambda(Expr):
    """``lambda params: body``."""

    __slots__ = ("body", "params")
    fields = ("params", "body")

    def __init__(self, params: tuple[Param, ...], body: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "params", params)
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class ListComp(Expr):
    """``[element for ... in ... if ...]``."""

    __slots__ = ("clauses", "element")
    fields = ("element", "clauses")

    def __init__(
        self, element: Expr, clauses: tuple[Clause, ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "element", element)
        put(self, "clauses", clauses)
        put(self, "start", start)
        put(self, "end", end)


class Clause(Node):
    """``for target in iter if condition if condition``."""

    __slots__ = ("conditions", "iter", "target")
    fields = ("target", "iter", "conditions")

    def __init__(
        self, target: Expr, iter: Expr, conditions: tuple[Expr, ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "target", target)
        put(self, "iter", iter)
        put(self, "conditions", conditions)
        put(self, "start", start)
        put(self, "end", end)


class FString(Expr):
    """An f-string: Strings and FormatParts in order."""

    __slots__ = ("parts",)
    fields = ("parts",)

    def __init__(
        self, parts: tuple[String | FormatPart, ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "parts", parts)
        put(self, "start", start)
        put(self, "end", end)


class FormatPart(Node):
    """``{value:spec}``; ``text`` is what ``{value=}`` prints before the value, or None."""

    __slots__ = ("spec", "text", "value")
    fields = ("value",)
    data = ("spec", "text")

    def __init__(
        self, value: Expr, spec: str, text: str | None, start: int = 0, end: int = 0
    ) -> None:
        put(self, "value", value)
        put(self, "spec", spec)
        put(self, "text", text)
        put(self, "start", start)
        put(self, "end", end)
