"""The abstract syntax tree: a program or an expression without its layout.

Nodes are immutable, slotted, and know their place: ``start`` and ``end`` are offsets into the
``Source``. Sequences are tuples. For each class ``fields`` names the slots that hold child nodes (a
node, None, or a tuple of nodes), in the order in which the children stand in the text, and ``data``
names the slots that hold plain values. With these two, ``walk`` and ``same`` need to know nothing
of the single classes, and both are iterative: a tree may be 100,000 nodes deep.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import EllipsisType
from typing import Any

put = object.__setattr__
"""How a node's own ``__init__`` sets its slots."""


class Node:
    """What all nodes share: a place in the source, and that nothing can be assigned."""

    __slots__ = ("end", "start")
    fields: tuple[str, ...] = ()
    data: tuple[str, ...] = ()

    start: int
    end: int

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    def __repr__(self) -> str:
        shown = "".join(f" {getattr(self, name)!r}" for name in self.data)
        return f"<{type(self).__name__}{shown} {self.start}:{self.end}>"


class Statement(Node):
    """A step of a program."""

    __slots__ = ()


class Expr(Node):
    """Something that has a value."""

    __slots__ = ()


class Name(Expr):
    """A name."""

    __slots__ = ("id",)
    data = ("id",)

    id: str

    def __init__(self, id: str, start: int = 0, end: int = 0) -> None:
        put(self, "id", id)
        put(self, "start", start)
        put(self, "end", end)


class Number(Expr):
    """A number: its value (int, float or complex) and how it was written."""

    __slots__ = ("text", "value")
    data = ("value",)

    value: int | float | complex
    text: str

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

    value: str

    def __init__(self, value: str, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Literal(Expr):
    """``True``, ``False``, ``None`` or ``...``."""

    __slots__ = ("value",)
    data = ("value",)

    value: bool | EllipsisType | None

    def __init__(self, value: bool | EllipsisType | None, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Binary(Expr):
    """``left op right``; ``op_start`` and ``op_end`` are the place of the operator's sign."""

    __slots__ = ("left", "op", "op_end", "op_start", "right")
    fields = ("left", "right")
    data = ("op",)

    op: str
    left: Expr
    right: Expr
    op_start: int
    op_end: int

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
    """``op operand``, where op is ``-``, ``+``, ``~`` or ``not``."""

    __slots__ = ("op", "operand")
    fields = ("operand",)
    data = ("op",)

    op: str
    operand: Expr

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

    left: Expr
    ops: tuple[str, ...]
    rights: tuple[Expr, ...]

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

    op: str
    values: tuple[Expr, ...]

    def __init__(self, op: str, values: tuple[Expr, ...], start: int = 0, end: int = 0) -> None:
        put(self, "op", op)
        put(self, "values", values)
        put(self, "start", start)
        put(self, "end", end)


class Conditional(Expr):
    """``body if test else orelse``."""

    __slots__ = ("body", "orelse", "test")
    fields = ("body", "test", "orelse")

    test: Expr
    body: Expr
    orelse: Expr

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

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]

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
    """``name=value`` in a call; name is None for ``**value``."""

    __slots__ = ("name", "value")
    fields = ("value",)
    data = ("name",)

    name: str | None
    value: Expr

    def __init__(self, name: str | None, value: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "name", name)
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Attribute(Expr):
    """``value.name``."""

    __slots__ = ("name", "value")
    fields = ("value",)
    data = ("name",)

    value: Expr
    name: str

    def __init__(self, value: Expr, name: str, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "name", name)
        put(self, "start", start)
        put(self, "end", end)


class Subscript(Expr):
    """``value[index]``; several indices are a Tuple."""

    __slots__ = ("index", "value")
    fields = ("value", "index")

    value: Expr
    index: Expr

    def __init__(self, value: Expr, index: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "index", index)
        put(self, "start", start)
        put(self, "end", end)


class Slice(Expr):
    """``lower:upper:step`` inside a subscript; each may be None."""

    __slots__ = ("lower", "step", "upper")
    fields = ("lower", "upper", "step")

    lower: Expr | None
    upper: Expr | None
    step: Expr | None

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

    items: tuple[Expr, ...]

    def __init__(self, items: tuple[Expr, ...], start: int = 0, end: int = 0) -> None:
        put(self, "items", items)
        put(self, "start", start)
        put(self, "end", end)


class List(Expr):
    """``[a, b]``."""

    __slots__ = ("items",)
    fields = ("items",)

    items: tuple[Expr, ...]

    def __init__(self, items: tuple[Expr, ...], start: int = 0, end: int = 0) -> None:
        put(self, "items", items)
        put(self, "start", start)
        put(self, "end", end)


class Lambda(Expr):
    """``lambda params: body``."""

    __slots__ = ("body", "params")
    fields = ("params", "body")

    params: tuple[Param, ...]
    body: Expr

    def __init__(self, params: tuple[Param, ...], body: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "params", params)
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class Set(Expr):
    """``{a, b}``."""

    __slots__ = ("items",)
    fields = ("items",)

    items: tuple[Expr, ...]

    def __init__(self, items: tuple[Expr, ...], start: int = 0, end: int = 0) -> None:
        put(self, "items", items)
        put(self, "start", start)
        put(self, "end", end)


class Dict(Expr):
    """``{key: value, **more}``."""

    __slots__ = ("items",)
    fields = ("items",)

    items: tuple[DictItem, ...]

    def __init__(self, items: tuple[DictItem, ...], start: int = 0, end: int = 0) -> None:
        put(self, "items", items)
        put(self, "start", start)
        put(self, "end", end)


class DictItem(Node):
    """``key: value``; key is None for ``**value``."""

    __slots__ = ("key", "value")
    fields = ("key", "value")

    key: Expr | None
    value: Expr

    def __init__(self, key: Expr | None, value: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "key", key)
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Starred(Expr):
    """``*value`` among the items of a tuple or list, the arguments of a call, or targets."""

    __slots__ = ("value",)
    fields = ("value",)

    value: Expr

    def __init__(self, value: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Comprehension(Expr):
    """``element for ... in ... if ...``, in the brackets that say what it makes."""

    __slots__ = ("clauses", "element")
    fields = ("element", "clauses")

    element: Expr | DictItem
    clauses: tuple[Clause, ...]

    def __init__(
        self, element: Expr | DictItem, clauses: tuple[Clause, ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "element", element)
        put(self, "clauses", clauses)
        put(self, "start", start)
        put(self, "end", end)


class ListComp(Comprehension):
    """``[element for ...]``."""

    __slots__ = ()


class SetComp(Comprehension):
    """``{element for ...}``."""

    __slots__ = ()


class DictComp(Comprehension):
    """``{key: value for ...}``: its element is a DictItem."""

    __slots__ = ()


class GeneratorExp(Comprehension):
    """``(element for ...)``, also without brackets of its own as the argument of a call."""

    __slots__ = ()


class Clause(Node):
    """``for target in iter if condition if condition``."""

    __slots__ = ("conditions", "iter", "target")
    fields = ("target", "iter", "conditions")

    target: Expr
    iter: Expr
    conditions: tuple[Expr, ...]

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

    parts: tuple[String | FormatPart, ...]

    def __init__(
        self, parts: tuple[String | FormatPart, ...], start: int = 0, end: int = 0
    ) -> None:
        put(self, "parts", parts)
        put(self, "start", start)
        put(self, "end", end)


class FormatPart(Node):
    """``{value!conversion:spec}``; ``text`` is what ``{value=}`` prints before it, or None."""

    __slots__ = ("conversion", "spec", "text", "value")
    fields = ("value",)
    data = ("spec", "text", "conversion")

    value: Expr
    spec: str
    text: str | None
    conversion: str

    def __init__(
        self,
        value: Expr,
        spec: str,
        text: str | None,
        conversion: str = "",
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "value", value)
        put(self, "spec", spec)
        put(self, "text", text)
        put(self, "conversion", conversion)
        put(self, "start", start)
        put(self, "end", end)


class Module(Node):
    """A program, or one line of input."""

    __slots__ = ("body",)
    fields = ("body",)

    body: tuple[Statement, ...]

    def __init__(self, body: tuple[Statement, ...], start: int = 0, end: int = 0) -> None:
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class Def(Statement):
    """``def name(params) -> returns: body`` under its decorators."""

    __slots__ = ("body", "decorators", "name", "params", "returns")
    fields = ("decorators", "params", "returns", "body")
    data = ("name",)

    name: str
    params: tuple[Param, ...]
    body: tuple[Statement, ...]
    decorators: tuple[Expr, ...]
    returns: Expr | None

    def __init__(
        self,
        name: str,
        params: tuple[Param, ...],
        body: tuple[Statement, ...],
        start: int = 0,
        end: int = 0,
        decorators: tuple[Expr, ...] = (),
        returns: Expr | None = None,
    ) -> None:
        put(self, "name", name)
        put(self, "params", params)
        put(self, "body", body)
        put(self, "decorators", decorators)
        put(self, "returns", returns)
        put(self, "start", start)
        put(self, "end", end)

    def decorated(self, decorators: tuple[Expr, ...]) -> Def:
        """The same under other decorators."""
        return Def(
            self.name, self.params, self.body, self.start, self.end, decorators, self.returns
        )


class Return(Statement):
    """``return value``; value is None where nothing follows."""

    __slots__ = ("value",)
    fields = ("value",)

    value: Expr | None

    def __init__(self, value: Expr | None, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class If(Statement):
    """``if test: body else: orelse``; an ``elif`` is an If that is all of ``orelse``."""

    __slots__ = ("body", "orelse", "test")
    fields = ("test", "body", "orelse")

    test: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]

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
    """``while test: body else: orelse``."""

    __slots__ = ("body", "orelse", "test")
    fields = ("test", "body", "orelse")

    test: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]

    def __init__(
        self,
        test: Expr,
        body: tuple[Statement, ...],
        orelse: tuple[Statement, ...] = (),
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "test", test)
        put(self, "body", body)
        put(self, "orelse", orelse)
        put(self, "start", start)
        put(self, "end", end)


class For(Statement):
    """``for target in iter: body else: orelse``."""

    __slots__ = ("body", "iter", "orelse", "target")
    fields = ("target", "iter", "body", "orelse")

    target: Expr
    iter: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]

    def __init__(
        self,
        target: Expr,
        iter: Expr,
        body: tuple[Statement, ...],
        orelse: tuple[Statement, ...] = (),
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "target", target)
        put(self, "iter", iter)
        put(self, "body", body)
        put(self, "orelse", orelse)
        put(self, "start", start)
        put(self, "end", end)


class Try(Statement):
    """``try: body except ...: else: orelse finally: final``."""

    __slots__ = ("body", "final", "handlers", "orelse")
    fields = ("body", "handlers", "orelse", "final")

    body: tuple[Statement, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Statement, ...]
    final: tuple[Statement, ...]

    def __init__(
        self,
        body: tuple[Statement, ...],
        handlers: tuple[Handler, ...],
        orelse: tuple[Statement, ...],
        final: tuple[Statement, ...],
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "body", body)
        put(self, "handlers", handlers)
        put(self, "orelse", orelse)
        put(self, "final", final)
        put(self, "start", start)
        put(self, "end", end)


class Raise(Statement):
    """``raise value from cause``; both may be None."""

    __slots__ = ("cause", "value")
    fields = ("value", "cause")

    value: Expr | None
    cause: Expr | None

    def __init__(
        self, value: Expr | None, cause: Expr | None, start: int = 0, end: int = 0
    ) -> None:
        put(self, "value", value)
        put(self, "cause", cause)
        put(self, "start", start)
        put(self, "end", end)


class Del(Statement):
    """``del a, b[0]``."""

    __slots__ = ("targets",)
    fields = ("targets",)

    targets: tuple[Expr, ...]

    def __init__(self, targets: tuple[Expr, ...], start: int = 0, end: int = 0) -> None:
        put(self, "targets", targets)
        put(self, "start", start)
        put(self, "end", end)


class Outer(Statement):
    """``global a, b`` or ``nonlocal a, b``: ``word`` says which."""

    __slots__ = ("names", "word")
    data = ("word", "names")

    word: str
    names: tuple[str, ...]

    def __init__(self, word: str, names: tuple[str, ...], start: int = 0, end: int = 0) -> None:
        put(self, "word", word)
        put(self, "names", names)
        put(self, "start", start)
        put(self, "end", end)


class Yield(Statement):
    """``yield value`` or ``yield from values`` on a line of its own; value may be None."""

    __slots__ = ("many", "value")
    fields = ("value",)
    data = ("many",)

    value: Expr | None
    many: bool

    def __init__(self, value: Expr | None, many: bool, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "many", many)
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

    test: Expr
    message: Expr | None

    def __init__(self, test: Expr, message: Expr | None, start: int = 0, end: int = 0) -> None:
        put(self, "test", test)
        put(self, "message", message)
        put(self, "start", start)
        put(self, "end", end)


class With(Statement):
    """``with items: body``."""

    __slots__ = ("body", "items")
    fields = ("items", "body")

    items: tuple[WithItem, ...]
    body: tuple[Statement, ...]

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

    targets: tuple[Expr, ...]
    value: Expr

    def __init__(
        self, targets: tuple[Expr, ...], value: Expr, start: int = 0, end: int = 0
    ) -> None:
        put(self, "targets", targets)
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Annotation(Statement):
    """``target: kind = value``; value may be None. The kind is read, and not computed."""

    __slots__ = ("kind", "target", "value")
    fields = ("target", "kind", "value")

    target: Expr
    kind: Expr
    value: Expr | None

    def __init__(
        self, target: Expr, kind: Expr, value: Expr | None, start: int = 0, end: int = 0
    ) -> None:
        put(self, "target", target)
        put(self, "kind", kind)
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class AugAssign(Statement):
    """``target op= value``; ``op`` is the operator's sign without the ``=``."""

    __slots__ = ("op", "target", "value")
    fields = ("target", "value")
    data = ("op",)

    target: Expr
    op: str
    value: Expr

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

    value: Expr

    def __init__(self, value: Expr, start: int = 0, end: int = 0) -> None:
        put(self, "value", value)
        put(self, "start", start)
        put(self, "end", end)


class Import(Statement):
    """``import module as alias``; module is dotted, alias may be None."""

    __slots__ = ("alias", "module")
    data = ("module", "alias")

    module: str
    alias: str | None

    def __init__(self, module: str, alias: str | None, start: int = 0, end: int = 0) -> None:
        put(self, "module", module)
        put(self, "alias", alias)
        put(self, "start", start)
        put(self, "end", end)


class FromImport(Statement):
    """``from module import names``: pairs of a name and its alias or None."""

    __slots__ = ("module", "names")
    data = ("module", "names")

    module: str
    names: tuple[tuple[str, str | None], ...]

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

    name: str
    base: str
    methods: tuple[Def, ...]
    rule: bool | None

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


class ClassDef(Statement):
    """``class name(bases):`` with methods, values and a docstring, under its decorators."""

    __slots__ = ("bases", "body", "decorators", "name")
    fields = ("decorators", "bases", "body")
    data = ("name",)

    name: str
    bases: tuple[Expr, ...]
    body: tuple[Statement, ...]
    decorators: tuple[Expr, ...]

    def __init__(
        self,
        name: str,
        bases: tuple[Expr, ...],
        body: tuple[Statement, ...],
        start: int = 0,
        end: int = 0,
        decorators: tuple[Expr, ...] = (),
    ) -> None:
        put(self, "name", name)
        put(self, "bases", bases)
        put(self, "body", body)
        put(self, "decorators", decorators)
        put(self, "start", start)
        put(self, "end", end)

    def decorated(self, decorators: tuple[Expr, ...]) -> ClassDef:
        """The same under other decorators."""
        return ClassDef(self.name, self.bases, self.body, self.start, self.end, decorators)

    @property
    def methods(self) -> tuple[Def, ...]:
        """The functions among what it holds."""
        return tuple(one for one in self.body if isinstance(one, Def))


class Handler(Node):
    """``except kind as name: body``; kind and name may be None."""

    __slots__ = ("body", "kind", "name")
    fields = ("kind", "name", "body")

    kind: Expr | None
    name: Name | None
    body: tuple[Statement, ...]

    def __init__(
        self,
        kind: Expr | None,
        name: Name | None,
        body: tuple[Statement, ...],
        start: int = 0,
        end: int = 0,
    ) -> None:
        put(self, "kind", kind)
        put(self, "name", name)
        put(self, "body", body)
        put(self, "start", start)
        put(self, "end", end)


class Param(Node):
    """A parameter; annotation and default are None where there is none.

    kind    "" as it stands; "/" by place only; "=" by name only; "*" or "**" for all that are left
    """

    __slots__ = ("annotation", "default", "kind", "name")
    fields = ("annotation", "default")
    data = ("name", "kind")

    name: str
    default: Expr | None
    annotation: Expr | None
    kind: str

    def __init__(
        self,
        name: str,
        default: Expr | None,
        start: int = 0,
        end: int = 0,
        annotation: Expr | None = None,
        kind: str = "",
    ) -> None:
        put(self, "name", name)
        put(self, "default", default)
        put(self, "annotation", annotation)
        put(self, "kind", kind)
        put(self, "start", start)
        put(self, "end", end)


class WithItem(Node):
    """``expr as target``; target is a Name or None."""

    __slots__ = ("expr", "target")
    fields = ("expr", "target")

    expr: Expr
    target: Name | None

    def __init__(self, expr: Expr, target: Name | None, start: int = 0, end: int = 0) -> None:
        put(self, "expr", expr)
        put(self, "target", target)
        put(self, "start", start)
        put(self, "end", end)


def children(node: Node) -> list[Node]:
    """The child nodes of ``node`` in source order."""
    found: list[Node] = []
    for name in node.fields:
        value = getattr(node, name)
        if type(value) is tuple:
            found.extend(value)
        elif value is not None:
            found.append(value)
    return found


def dotted_text(node: Node) -> str:
    """``"a.b.c"`` for a name or a chain of attributes, else an empty string."""
    parts: list[str] = []
    while type(node) is Attribute:
        parts.append(node.name)
        node = node.value
    if type(node) is not Name:
        return ""
    return ".".join([node.id, *reversed(parts)])


def walk(node: Node) -> Iterator[Node]:
    """``node`` and all below it, each before its children, in source order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        below = children(node)
        below.reverse()
        waiting.extend(below)


def same(left: Node | None, right: Node | None) -> bool:
    """Whether two trees say the same, wherever and however they were written.

    ``1`` and ``1.0`` differ, since an int and a float do; ``1e3`` and ``1000.0`` do not.
    """
    pairs: list[tuple[Any, Any]] = [(left, right)]
    while pairs:
        a, b = pairs.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if type(a) is tuple:
            if len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
            continue
        for name in a.data:
            x, y = getattr(a, name), getattr(b, name)
            if x != y or type(x) is not type(y):
                return False
        pairs.extend((getattr(a, name), getattr(b, name)) for name in a.fields)
    return True
