"""The abstract syntax tree: a program or an expression without its layout.

Nodes are immutable, slotted, and know their place: ``start`` and ``end`` are offsets into the
``Source``. Sequences are tuples. A class declares its slots with their types, in the order in which
its constructor takes them; ``start`` and ``end`` come last, and are 0 unless given. ``fields``
names the slots that hold child nodes (a node, None, or a tuple of nodes), in the order in which the
children stand in the text, and ``data`` the slots that hold plain values: both follow from the
types, and a class says them itself where its text has another order or a value does not count. With
these two, ``walk`` and ``same`` need to know nothing of the single classes, and both are iterative:
a tree may be 100,000 nodes deep.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import EllipsisType
from typing import Any, ClassVar, Self


class NodeType(type):
    """The type of the classes of nodes: makes slots and constructor from what a class declares.

    ``dataclasses`` does the same, and takes longer to import than all of the syntax.
    """

    slots: tuple[str, ...]
    """The slots of an instance in the order of the constructor, ``start`` and ``end`` last."""
    setters: tuple[Any, ...]
    """For each of them what sets it, past ``Node.__setattr__``."""
    defaults: dict[str, Any]
    """The values of those that need not be given."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> NodeType:
        kinds: dict[str, str] = body.get("__annotations__", {})
        own = tuple(slot for slot, kind in kinds.items() if not kind.startswith("ClassVar"))
        given = {slot: body.pop(slot) for slot in own if slot in body}
        body["__slots__"] = own
        base = bases[0] if bases else None
        for which, wanted in (("fields", True), ("data", False)) if base else ():
            found = tuple(slot for slot in own if _holds_nodes(kinds[slot]) is wanted)
            body.setdefault(which, getattr(base, which) + found)
        made = super().__new__(mcs, name, bases, body)
        if isinstance(base, NodeType):
            made.slots = (*base.slots[:-2], *own, *base.slots[-2:])
            made.defaults = {**base.defaults, **given}
        else:
            made.slots, made.defaults = own, given
        made.setters = tuple(getattr(made, slot).__set__ for slot in made.slots)
        return made

    def complete(cls, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """The value of each slot, from those given in order, by name, and the defaults."""
        rest = cls.slots[len(values) :]
        others = {**cls.defaults, **named}
        if len(values) > len(cls.slots) or not named.keys() <= set(rest) <= others.keys():
            raise TypeError(f"{cls.__name__} takes {', '.join(cls.slots)}")
        return values + tuple(others[slot] for slot in rest)


def _holds_nodes(kind: str) -> bool:
    """Whether an annotation names a class of nodes; those of plain values are in small letters."""
    classes = kind.replace("None", "").replace("EllipsisType", "")
    return classes != classes.lower()


class Node(metaclass=NodeType):
    """What all nodes share: a place in the source, and that nothing can be assigned."""

    fields: ClassVar[tuple[str, ...]] = ()
    data: ClassVar[tuple[str, ...]] = ()

    start: int = 0
    end: int = 0

    def __init__(self, *values: Any, **named: Any) -> None:
        cls = self.__class__
        if named or len(values) != len(cls.slots):
            values = cls.complete(values, named)
        for put, value in zip(cls.setters, values, strict=True):
            put(self, value)

    def replace(self, **changes: Any) -> Self:
        """The same node with other values in those slots."""
        return type(self)(**{slot: getattr(self, slot) for slot in self.__class__.slots} | changes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    def __repr__(self) -> str:
        shown = "".join(f" {getattr(self, name)!r}" for name in self.data)
        return f"<{type(self).__name__}{shown} {self.start}:{self.end}>"


class Statement(Node):
    """A step of a program."""


class Expr(Node):
    """Something that has a value."""


class Name(Expr):
    """A name."""

    id: str


class Number(Expr):
    """A number: its value (int, float or complex) and how it was written."""

    data = ("value",)

    value: int | float | complex
    text: str


class Column(Expr):
    """What stands in one place of the terms of a ``Sum`` that are alike but for their numbers."""

    values: list[int | float]
    texts: list[str]


class String(Expr):
    """A string, or the text between the fields of an f-string."""

    value: str


class Literal(Expr):
    """``True``, ``False``, ``None`` or ``...``."""

    value: bool | EllipsisType | None


class Binary(Expr):
    """``left op right``; ``op_start`` and ``op_end`` are the place of the operator's sign."""

    data = ("op",)

    op: str
    left: Expr
    right: Expr
    op_start: int = 0
    op_end: int = 0


class Sum(Expr):
    """A long sum, term after term, of which each different one stands there once.

    Terms that are alike but for their numbers are one, whose numbers are ``Column``s.

    counts  for each term how many it stands for
    order   for each term of the sum the number of the one that it is written as, or ``~`` of that
            where it is subtracted; a term with columns has as many numbers as it stands for
    """

    terms: tuple[Expr, ...]
    counts: tuple[int, ...]
    order: array[int]


class Unary(Expr):
    """``op operand``, where op is ``-``, ``+``, ``~`` or ``not``."""

    op: str
    operand: Expr


class Compare(Expr):
    """``left < a <= b``: ``ops`` and ``rights`` are equally long."""

    left: Expr
    ops: tuple[str, ...]
    rights: tuple[Expr, ...]


class BoolOp(Expr):
    """``a and b and c``, two or more values."""

    op: str
    values: tuple[Expr, ...]


class Conditional(Expr):
    """``body if test else orelse``."""

    body: Expr
    test: Expr
    orelse: Expr


class Call(Expr):
    """``func(args, keywords)``."""

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


class Keyword(Node):
    """``name=value`` in a call; name is None for ``**value``."""

    name: str | None
    value: Expr


class Attribute(Expr):
    """``value.name``."""

    value: Expr
    name: str


class Subscript(Expr):
    """``value[index]``; several indices are a Tuple."""

    value: Expr
    index: Expr


class Slice(Expr):
    """``lower:upper:step`` inside a subscript; each may be None."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


class Tuple(Expr):
    """``a, b`` or ``(a, b)``."""

    items: tuple[Expr, ...]


class List(Expr):
    """``[a, b]``."""

    items: tuple[Expr, ...]


class Data(Expr):
    """A long list of plain numbers, or of such lists, as one value."""

    values: list[object]


class Lambda(Expr):
    """``lambda params: body``."""

    params: tuple[Param, ...]
    body: Expr


class Set(Expr):
    """``{a, b}``."""

    items: tuple[Expr, ...]


class Dict(Expr):
    """``{key: value, **more}``."""

    items: tuple[DictItem, ...]


class DictItem(Node):
    """``key: value``; key is None for ``**value``."""

    key: Expr | None
    value: Expr


class Starred(Expr):
    """``*value`` among the items of a tuple or list, the arguments of a call, or targets."""

    value: Expr


class Comprehension(Expr):
    """``element for ... in ... if ...``, in the brackets that say what it makes."""

    element: Expr | DictItem
    clauses: tuple[Clause, ...]


class ListComp(Comprehension):
    """``[element for ...]``."""


class SetComp(Comprehension):
    """``{element for ...}``."""


class DictComp(Comprehension):
    """``{key: value for ...}``: its element is a DictItem."""


class GeneratorExp(Comprehension):
    """``(element for ...)``, also without brackets of its own as the argument of a call."""


class Clause(Node):
    """``for target in iter if condition if condition``."""

    target: Expr
    iter: Expr
    conditions: tuple[Expr, ...]


class FString(Expr):
    """An f-string: Strings and FormatParts in order."""

    parts: tuple[String | FormatPart, ...]


class FormatPart(Node):
    """``{value!conversion:spec}``; ``text`` is what ``{value=}`` prints before it, or None."""

    value: Expr
    spec: str
    text: str | None
    conversion: str = ""


class Module(Node):
    """A program, or one line of input."""

    body: tuple[Statement, ...]


class Def(Statement):
    """``def name(params) -> returns: body`` under its decorators."""

    fields = ("decorators", "params", "returns", "body")

    name: str
    params: tuple[Param, ...]
    body: tuple[Statement, ...]
    decorators: tuple[Expr, ...] = ()
    returns: Expr | None = None


class Return(Statement):
    """``return value``; value is None where nothing follows."""

    value: Expr | None


class If(Statement):
    """``if test: body else: orelse``; an ``elif`` is an If that is all of ``orelse``."""

    test: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


class While(Statement):
    """``while test: body else: orelse``."""

    test: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


class For(Statement):
    """``for target in iter: body else: orelse``."""

    target: Expr
    iter: Expr
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


class Try(Statement):
    """``try: body except ...: else: orelse finally: final``."""

    body: tuple[Statement, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Statement, ...]
    final: tuple[Statement, ...]


class Raise(Statement):
    """``raise value from cause``; both may be None."""

    value: Expr | None
    cause: Expr | None


class Del(Statement):
    """``del a, b[0]``."""

    targets: tuple[Expr, ...]


class Outer(Statement):
    """``global a, b`` or ``nonlocal a, b``: ``word`` says which."""

    word: str
    names: tuple[str, ...]


class Yield(Statement):
    """``yield value`` or ``yield from values`` on a line of its own; value may be None."""

    many: bool
    value: Expr | None


class Break(Statement):
    """``break``."""


class Continue(Statement):
    """``continue``."""


class Pass(Statement):
    """``pass``."""


class Assert(Statement):
    """``assert test, message``; message may be None."""

    test: Expr
    message: Expr | None


class With(Statement):
    """``with items: body``."""

    items: tuple[WithItem, ...]
    body: tuple[Statement, ...]


class Assign(Statement):
    """``a = b = value``: targets from left to right."""

    targets: tuple[Expr, ...]
    value: Expr


class Annotation(Statement):
    """``target: kind = value``; value may be None. The kind is read, and not computed."""

    target: Expr
    kind: Expr
    value: Expr | None


class AugAssign(Statement):
    """``target op= value``; ``op`` is the operator's sign without the ``=``."""

    target: Expr
    op: str
    value: Expr


class ExprStmt(Statement):
    """An expression that stands alone."""

    value: Expr


class Import(Statement):
    """``import module as alias``; module is dotted, alias may be None."""

    module: str
    alias: str | None


class FromImport(Statement):
    """``from module import names``: pairs of a name and its alias or None."""

    module: str
    names: tuple[tuple[str, str | None], ...]


class FunctionClass(Statement):
    """``class name(base)`` with static methods, in the order of the text; base is dotted text.

    ``rule`` is what ``generate_vmap_rule`` was set to, None where it was not.
    """

    name: str
    base: str
    methods: tuple[Def, ...]
    rule: bool | None

    def method(self, name: str) -> Def | None:
        """The method of that name, if there is one."""
        return next((one for one in self.methods if one.name == name), None)


class ClassDef(Statement):
    """``class name(bases):`` with methods, values and a docstring, under its decorators."""

    fields = ("decorators", "bases", "body")

    name: str
    bases: tuple[Expr, ...]
    body: tuple[Statement, ...]
    decorators: tuple[Expr, ...] = ()

    @property
    def methods(self) -> tuple[Def, ...]:
        """The functions among what it holds."""
        return tuple(one for one in self.body if isinstance(one, Def))


# ---- Parts of statements -------------------------------------------------------------------------


class Handler(Node):
    """``except kind as name: body``; kind and name may be None."""

    kind: Expr | None
    name: Name | None
    body: tuple[Statement, ...]


class Param(Node):
    """A parameter; annotation and default are None where there is none.

    kind    "" as it stands; "/" by place only; "=" by name only; "*" or "**" for all that are left
    """

    fields = ("annotation", "default")

    name: str
    default: Expr | None
    annotation: Expr | None = None
    kind: str = ""


class WithItem(Node):
    """``expr as target``; target is a Name or None."""

    expr: Expr
    target: Name | None


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


def called(node: Any) -> str:
    """``"f"`` for the call ``f(x)`` of a bare name, else an empty string."""
    return node.func.id if type(node) is Call and type(node.func) is Name else ""


def call(name: str, *args: Expr) -> Call:
    """``name(args)``."""
    return Call(Name(name), args, ())


def operands(node: Expr, op: str) -> list[Expr]:
    """``[a, b, c]`` of ``a*b*c``, a chain of one operator to the left; else the node alone."""
    found = []
    while type(node) is Binary and node.op == op:
        found.append(node.right)
        node = node.left
    return [node, *reversed(found)]


def is_number(node: Any, value: int) -> bool:
    """Whether a node is this whole number as it is written, ``2`` and not ``2.0``."""
    return type(node) is Number and type(node.value) is int and node.value == value


def walk(node: Node) -> Iterator[Node]:
    """``node`` and all below it, each before its children, in source order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        below = children(node)
        below.reverse()
        waiting.extend(below)


_HOLDERS = frozenset((If, While, For, With, Try, Handler))
_DEFINITIONS = frozenset((Def, ClassDef, FunctionClass))


def statements(body: Iterable[Node], inner: bool = False) -> Iterator[Statement]:
    """The statements of a body in source order, with ``inner`` those of its functions too."""
    waiting = list(body)
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        if isinstance(node, Statement):
            yield node
        if node.__class__ in _HOLDERS or (inner and node.__class__ in _DEFINITIONS):
            waiting += [c for c in reversed(children(node)) if isinstance(c, Statement | Handler)]


def with_parts(node: Node, made: Mapping[int, Node]) -> Node:
    """The node with those of its parts exchanged whose ``id`` is in ``made``; itself without."""
    changes: dict[str, Any] = {}
    for name in node.fields:
        held = getattr(node, name)
        if type(held) is tuple and any(id(part) in made for part in held):
            changes[name] = tuple([made.get(id(part), part) for part in held])
        elif id(held) in made:
            changes[name] = made[id(held)]
    return node.replace(**changes) if changes else node


def rewritten(root: Node, change: Callable[[Any, Any], Any]) -> Any:
    """The tree with each node exchanged for what ``change`` gives, the inner ones first.

    It is given the node as it was, and with its parts exchanged.
    """
    made: dict[int, Node] = {}
    for one in reversed([*walk(root)]):
        new = change(one, with_parts(one, made))
        if new is not one:
            made[id(one)] = new
    return made.get(id(root), root)


def rows(node: Expr, count: int) -> list[Expr]:
    """The ``count`` trees that a term with columns stands for; one without them is the only one."""

    def of_row(row: int) -> Callable[[Any, Any], Any]:
        return lambda one, new: new if type(one) is not Column else Number(
            one.values[row], one.texts[row], one.start, one.end
        )  # fmt: skip

    return [rewritten(node, of_row(row)) for row in range(count)]


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
