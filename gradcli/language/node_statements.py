"""Nodes of statements, of what they consist of, and of the whole text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .node_base import Expr, Node, Statement, put

if TYPE_CHECKING:
    from .node_expressions import Name


class Module(Node):
    """A program, or one line of input."""

    __slots__ = ("body",)
    fields = ("body",)

    def __init__(self, body: tuple[Statement, ...], start: int = 0, end: int = 0) -> None:
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class Def(Statement):
    """``def name(params): body``."""

    __slots__ = ("body", "name", "params")
    fields = ("params", "body")
    data = ("name",)

    def __init__(
        self,
        name: str,
        params: tuple[Param, ...],
        body: tuple[Statement, ...],
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "name", name)
        put(self, "params", params)
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class Return(Statement):
    """``return value``; value is None where nothing follows."""

    __slots__ = ("value",)
    fields = ("value",)

    def __init__(self, value: Expr | None, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class If(Statement):
    """``if test: body else: orelse``; an ``elif`` is an If that is all of ``orelse``."""

    __slots__ = ("body", "orelse", "test")
    fields = ("test", "body", "orelse")

    def __init__(
        self,
        test: Expr,
        body: tuple[Statement, ...],
        orelse: tuple[Statement, ...],
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "test", test)
        put(self, "body", body)
        put(self, "orelse", orelse)
        put(self, "start", start)
        put(self, "end", end)


class While(Statement):
    """``while test: body``."""

    __slots__ = ("body", "test")
    fields = ("test", "body")

    def __init__(
        self, test: Expr, body: tuple[Statement, ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "test", test)
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class For(Statement):
    """``for target in iter: body``."""

    __slots__ = ("body", "iter", "target")
    fields = ("target", "iter", "body")

    def __init__(
        self, target: Expr, iter: Expr, body: tuple[Statement, ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "target", target)
        put(self, "iter", iter)
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class Break(Statement):
    """``break``."""

    __slots__ = ()

    def __init__(self, start: int = 0, end: int = 0) -> None:
        put(self, "start", start)
        put(self, "end", end)


class Continue(Statement):
    """``continue``."""

    __slots__ = ()

    def __init__(self, start: int = 0, end: int = 0) -> None:
        put(self, "start", start)
        put(self, "end", end)


class Pass(Statement):
    """``pass``."""

    __slots__ = ()

    def __init__(self, start: int = 0, end: int = 0) -> None:
        put(self, "start", start)
        put(self, "end", end)


class Assert(Statement):
    """``assert test, message``; message may be None."""

    __slots__ = ("message", "test")
    fields = ("test", "message")

    def __init__(self, test: Expr, message: Expr | None, start: int = 0, end: int = 0) -> None:
        put(self, "test", test)
        put(self, "message", message)
        put(self, "start", start)
        put(self, "end", end)


class With(Statement):
    """``with items: body``."""

    __slots__ = ("body", "items")
    fields = ("items", "body")

    def __init__(
        self, items: tuple[WithItem, ...], body: tuple[Statement, ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "items", items)
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class Assign(Statement):
    """``a = b = value``: targets from left to right."""

    __slots__ = ("targets", "value")
    fields = ("targets", "value")

    def __init__(
        self, targets: tuple[Expr, ...], value: Expr, start: int = 0, end: int = 0
    ) -> None:
        put(self, "targets", targets)
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class AugAssign(Statement):
    """``target op= value``; ``op`` is the operator's sign without the ``=``."""

    __slots__ = ("op", "target", "value")
    fields = ("target", "value")
    data = ("op",)

    def __init__(self, target: Expr, op: str, value: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "target", target)
        put(self, "op", op)
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class ExprStmt(Statement):
    """An expression that stands alone."""

    __slots__ = ("value",)
    fields = ("value",)

    def __init__(self, value: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Import(Statement):
    """``import module as alias``; module is dotted, alias may be None."""

    __slots__ = ("alias", "module")
    data = ("module", "alias")

    def __init__(self, module: str, alias: str | None, start: int = 0, end: int = 0) -> None:
        put(self, "module", module)
        put(self, "alias", alias)
        put(self, "start", start)
        put(self, "end", end)


class FromImport(Statement):
    """``from module import names``: pairs of a name and its alias or None."""

    __slots__ = ("module", "names")
    data = ("module", "names")

    def __init__(
        self, module: str, names: tuple[tuple[str, str | None], ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "module", module)
        put(self, "names", names)
        put(self, "start", start)
        put(self, "end", end)


class FunctionClass(Statement):
    """``class name(base)`` with static methods, in the order of the text; base is dotted text.

    ``rule`` is what ``generate_vmap_rule`` was set to, None where it was not.
    """

    __slots__ = ("base", "methods", "name", "rule")
    fields = ("methods",)
    data = ("name", "base", "rule")

    def __init__(
        self, name: str, base: str, methods: tuple[Def, ...], rule: bool | None, start: int = 0,
        end: int = 0,
    ) -> None:  # fmt: skip
        put(self, "name", name)
        put(self, "base", base)
        put(self, "methods", methods)
        put(self, "rule", rule)
        put(self, "start", start)
        put(self, "end", end)

    def method(self, name: str) -> Def | None:
        """The method of that name, if there is one."""
        return next((one for one in self.methods if one.name == name), None)


# ---- Parts of statements -------------------------------------------------------------------------


class Param(Node):
    """A parameter; default is None where there is none."""

    __slots__ = ("default", "name")
    fields = ("default",)
    data = ("name",)

    def __init__(self, name: str, default: Expr | None, start: int = 0, end: int = 0) -> None:
        put(self, "name", name)
        put(self, "default", default)
        put(self, "start", start)
        put(self, "end", end)


class WithItem(Node):
    """``expr as target``; target is a Name or None."""

    __slots__ = ("expr", "target")
    fields = ("expr", "target")

    def __init__(self, expr: Expr, target: Name | None, start: int = 0, end: int = 0) -> None:
        put(self, "expr", expr)
        put(self, "target", target)
        put(self, "start", start)
        put(self, "end", end)
