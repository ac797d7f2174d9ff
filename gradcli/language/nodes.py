"""The abstract syntax tree: what a program or an expression says, without how it was spelled.

Nodes are immutable, slotted, and know their place: ``start`` and ``end`` are offsets into the
``Source``. Sequences are tuples. For each class ``fields`` names the slots that hold child nodes (a
node, None, or a tuple of nodes), in the order in which the children stand in the text, and ``data``
names the slots that hold plain values. With these two, ``walk`` and ``same`` need to know nothing
of the single classes, and both are iterative: a tree may be 100,000 nodes deep.
"""

from __future__ import annotations

from collections.abc import Iterator

from .node_base import Expr, Node, Statement
from .node_expressions import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Clause,
    Compare,
    Conditional,
    FormatPart,
    FString,
    Keyword,
    Lambda,
    List,
    ListComp,
    Literal,
    Name,
    Number,
    Slice,
    String,
    Subscript,
    Tuple,
    Unary,
)
from .node_statements import (
    Assert,
    Assign,
    AugAssign,
    Break,
    Continue,
    Def,
    ExprStmt,
    For,
    FromImport,
    FunctionClass,
    If,
    Import,
    Module,
    Param,
    Pass,
    Return,
    While,
    With,
    WithItem,
)

__all__ = [
    "Assert",
    "Assign",
    "Attribute",
    "AugAssign",
    "Binary",
    "BoolOp",
    "Break",
    "Call",
    "Clause",
    "Compare",
    "Conditional",
    "Continue",
    "Def",
    "Expr",
    "ExprStmt",
    "FString",
    "For",
    "FormatPart",
    "FromImport",
    "FunctionClass",
    "If",
    "Import",
    "Keyword",
    "Lambda",
    "List",
    "ListComp",
    "Literal",
    "Module",
    "Name",
    "Node",
    "Number",
    "Param",
    "Pass",
    "Return",
    "Slice",
    "Statement",
    "String",
    "Subscript",
    "Tuple",
    "Unary",
    "While",
    "With",
    "WithItem",
    "children",
    "same",
    "walk",
]


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
    pairs: list[tuple[object, object]] = [(left, right)]
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
