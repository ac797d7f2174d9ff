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
    "**": ast.Pow, "@": ast.MatMult, "&": ast.BitAnd, "|": ast.BitOr,
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
GUARDED = {"+": "h_add", "*": "h_multiply", "**": "h_power", "%": "h_modulo",
           "<<": "h_shift_left", ">>": "h_shift_right"}  # fmt: skip
GUARDED_IN_PLACE = {"+": "h_add_to", "*": "h_multiply_by", "**": "h_power_by", "%": "h_modulo_by",
                    "<<": "h_shift_left_by", ">>": "h_shift_right_by"}  # fmt: skip


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


def parameters(params: tuple[n.Param, ...], defaults: list[ast.expr]) -> ast.arguments:
    """The parameters of a function of the program; ``defaults`` are those that there are."""
    made = arguments([], [])
    left = iter(defaults)
    for param in params:
        arg = ast.arg(arg=f"v_{param.name}", lineno=1, col_offset=0)
        default = next(left) if param.default is not None else None
        if param.kind == "*":
            made.vararg = arg
        elif param.kind == "**":
            made.kwarg = arg
        elif param.kind == "=":
            made.kwonlyargs.append(arg)
            made.kw_defaults.append(default)
        else:
            (made.posonlyargs if param.kind == "/" else made.args).append(arg)
            if default is not None:
                made.defaults.append(default)
    return made


def only_names(target: n.Node) -> bool:
    """Whether a target is a name, or a tuple of names however nested; none takes the rest."""
    work = [target]
    while work:
        node = work.pop()
        if isinstance(node, n.Tuple | n.List):
            work += node.items
        elif not isinstance(node, n.Name):
            return False
    return True


def yields(node: n.Def) -> bool:
    """Whether a function is a generator: ``yield`` stands in it, and in no function inside it."""
    work: list[n.Node] = list(node.body)
    while work:
        inner = work.pop()
        if isinstance(inner, n.Yield):
            return True
        if isinstance(inner, n.Statement | n.Handler) and not isinstance(
            inner, n.Def | n.ClassDef | n.FunctionClass
        ):
            work += n.children(inner)
    return False
