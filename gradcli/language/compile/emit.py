"""Tables and helpers of lowering: operators, the runtime helpers that replace them, values."""

from __future__ import annotations

import ast
from collections.abc import Generator
from typing import Any

from gradcli.language.syntax import nodes as n

DEEP = 40
LOAD, STORE = ast.Load(), ast.Store()

Lowering = Generator[Any, Any, Any]
"""Lowers one node: yields the children to be lowered first and is sent what they became."""

OPERATORS = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "**": ast.Pow, "^": ast.Pow, "@": ast.MatMult,
}  # fmt: skip
COMPARISONS = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
    "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}  # fmt: skip
COMPARED = {
    "==": "h_eq", "!=": "h_ne", "<": "h_lt", "<=": "h_le", ">": "h_gt", ">=": "h_ge",
    "in": "h_in", "not in": "h_not_in",
}  # fmt: skip
"""Comparisons that look into lists: through a helper where both sides may be one."""
GUARDED = {"+": "h_add", "*": "h_multiply", "**": "h_power", "^": "h_power", "%": "h_modulo"}
GUARDED_IN_PLACE = {"+": "h_add_to", "*": "h_multiply_by", "**": "h_power_by", "^": "h_power_by"}


class Value:
    """A lowered expression.

    code     what computes it
    depth    how deep that is
    inexact  whether it is surely no int, str or list
    bits     where it is surely an int or a float, the most bits that it has; else 0
    """

    __slots__ = ("bits", "code", "depth", "inexact")

    def __init__(self, code: ast.expr, depth: int, inexact: bool = False, bits: int = 0) -> None:
        self.code = code
        self.depth = depth
        self.inexact = inexact
        self.bits = bits


def arguments(params: list[str], defaults: list[ast.expr]) -> ast.arguments:
    """The parameters of a generated function: plain names, the last of them with defaults."""
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=p, lineno=1, col_offset=0) for p in params],
        kwonlyargs=[], kw_defaults=[], defaults=defaults, vararg=None, kwarg=None,
    )  # fmt: skip


def only_names(target: n.Node) -> bool:
    """Whether a target is a name, or a tuple of names however nested."""
    work = [target]
    while work:
        node = work.pop()
        if isinstance(node, n.Tuple | n.List):
            work += node.items
        elif not isinstance(node, n.Name):
            return False
    return True
