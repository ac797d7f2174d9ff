"""What each line of the grammar builds, statements: one function a name, called by the parser.

A function is given the work at hand, the offsets at which the reduced text starts and ends, and the
values of the symbols that the grammar passes on: a node, a list, or for a terminal the index of its
token. Checks that the grammar cannot make (what may be assigned to, the order of parameters) are
here. ``reduce_expressions`` has the other half.
"""

from __future__ import annotations

from typing import Any

from . import nodes as n
from .parse_work import Work, check_target, refuse
from .reduce_expressions import name


def _statements(symbols: list[Any]) -> tuple[n.Statement, ...]:
    """Statements and lists of them (a line may hold several) as one tuple."""
    flat: list[n.Statement] = []
    for symbol in symbols:
        if type(symbol) is list:
            flat += symbol
        else:
            flat.append(symbol)
    return tuple(flat)


# ---- The program ---------------------------------------------------------------------------------


def module(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Module:
    """The whole text."""
    return n.Module(_statements(symbols), start, end)


def simple_line(_w: Work, _start: int, _end: int, symbols: list[Any]) -> list[n.Statement]:
    """Statements joined by semicolons."""
    return list(_statements(symbols))


def suite(_w: Work, _start: int, _end: int, symbols: list[Any]) -> tuple[n.Statement, ...]:
    """The body of a block."""
    return _statements(symbols)


# ---- Statements of one line ----------------------------------------------------------------------


def expr_stmt(_w: Work, start: int, end: int, symbols: list[Any]) -> n.ExprStmt:
    """An expression that stands alone."""
    return n.ExprStmt(symbols[0], start, end)


def assign(w: Work, start: int, end: int, symbols: list[Any]) -> n.Assign:
    """``a = b = value``."""
    value = symbols.pop()
    for target in symbols:
        check_target(w, target)
    return n.Assign(tuple(symbols), value, start, end)


def augmented_assign(w: Work, start: int, end: int, symbols: list[Any]) -> n.AugAssign:
    """``x += value``."""
    target, op, value = symbols
    if type(target) not in (n.Name, n.Attribute, n.Subscript):
        raise refuse("bad_target", w, target, "augment")
    return n.AugAssign(target, op, value, start, end)


def augmented_sign(w: Work, start: int, end: int, _symbols: list[Any]) -> str:
    """The sign of ``+=`` without its ``=``."""
    return w.text[start : end - 1]


def return_value(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Return:
    """``return value``."""
    return n.Return(symbols[0], start, end)


def return_nothing(_w: Work, start: int, end: int, _symbols: list[Any]) -> n.Return:
    """``return``."""
    return n.Return(None, start, end)


def assertion(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Assert:
    """``assert test, message``."""
    return n.Assert(symbols[0], symbols[1] if len(symbols) > 1 else None, start, end)


def pass_stmt(_w: Work, start: int, end: int, _symbols: list[Any]) -> n.Pass:
    """``pass``."""
    return n.Pass(start, end)


def break_stmt(_w: Work, start: int, end: int, _symbols: list[Any]) -> n.Break:
    """``break``."""
    return n.Break(start, end)


def continue_stmt(_w: Work, start: int, end: int, _symbols: list[Any]) -> n.Continue:
    """``continue``."""
    return n.Continue(start, end)


MODULES = ("torch", "numpy", "math", "gradcli")
"""What a program may import: names of the language under that prefix, and nothing else."""


def imports(_w: Work, start: int, end: int, symbols: list[Any]) -> list[n.Import]:
    """``import torch, numpy as np``: a statement for each."""
    if len(symbols) == 1:
        return [n.Import(*symbols[0][:2], start, end)]
    return [n.Import(*one) for one in symbols]


def from_import(w: Work, start: int, end: int, symbols: list[Any]) -> n.FromImport:
    """``from torch import sin as s``."""
    path, *names = symbols
    if path[0].partition(".")[0] not in MODULES:
        raise refuse("bad_import", w, *path)
    return n.FromImport(path[0], tuple(names), start, end)


def module_as(
    w: Work, start: int, end: int, symbols: list[Any]
) -> tuple[str, str | None, int, int]:
    """``torch as t`` of an import."""
    path, *alias = symbols
    if path[0].partition(".")[0] not in MODULES:
        raise refuse("bad_import", w, *path)
    return path[0], w.word(alias[0]) if alias else None, start, end


def name_as(w: Work, _start: int, _end: int, symbols: list[Any]) -> tuple[str, str | None]:
    """``sin as s`` of an import."""
    return w.word(symbols[0]), w.word(symbols[1]) if len(symbols) > 1 else None


def dotted_name(w: Work, start: int, end: int, symbols: list[Any]) -> tuple[str, int, int]:
    """``torch.nn``, and its place."""
    return ".".join([w.word(token) for token in symbols]), start, end


# ---- Statements with a body ----------------------------------------------------------------------


def if_stmt(_w: Work, start: int, _end: int, symbols: list[Any]) -> n.If:
    """``if`` with its ``elif`` and ``else``: each ``elif`` is an If inside the one before."""
    test, body, *more = symbols
    orelse: tuple[n.Statement, ...] = ()
    if more and type(more[-1]) is tuple:
        orelse = more.pop()
    end = orelse[-1].end if orelse else (more[-1][2][-1].end if more else body[-1].end)
    for elif_start, elif_test, elif_body in reversed(more):
        orelse = (n.If(elif_test, elif_body, orelse, elif_start, end),)
    return n.If(test, body, orelse, start, end)


def elif_clause(_w: Work, start: int, _end: int, symbols: list[Any]) -> list[Any]:
    """``elif test: body``, with its place."""
    return [start, *symbols]


def else_clause(_w: Work, _start: int, _end: int, symbols: list[Any]) -> tuple[n.Statement, ...]:
    """``else: body``."""
    return symbols[0]


def while_stmt(_w: Work, start: int, _end: int, symbols: list[Any]) -> n.While:
    """``while test: body``."""
    test, body = symbols
    return n.While(test, body, start, body[-1].end)


def for_stmt(w: Work, start: int, _end: int, symbols: list[Any]) -> n.For:
    """``for target in items: body``."""
    target, over, body = symbols
    check_target(w, target)
    return n.For(target, over, body, start, body[-1].end)


def with_stmt(_w: Work, start: int, _end: int, symbols: list[Any]) -> n.With:
    """``with items: body``."""
    body = symbols.pop()
    first = symbols[0]
    if len(symbols) == 1 and first.target is None and type(first.expr) is n.Tuple:
        held = first.expr  # `with (a, b):` holds two, as in Python; `with ((a, b)):` one tuple
        if held.items and held.start == first.start:
            symbols = [n.WithItem(item, None, item.start, item.end) for item in held.items]
    return n.With(tuple(symbols), body, start, body[-1].end)


def with_item(w: Work, start: int, end: int, symbols: list[Any]) -> n.WithItem:
    """``no_grad() as n`` of a with."""
    target = name(w, w.starts[symbols[1]], end, symbols[1:]) if len(symbols) > 1 else None
    return n.WithItem(symbols[0], target, start, end)


def def_stmt(w: Work, start: int, _end: int, symbols: list[Any]) -> n.Def:
    """``def name(params): body``."""
    called, *params, body = symbols
    return n.Def(w.word(called), params[0] if params else (), body, start, body[-1].end)


def parameters(w: Work, _start: int, _end: int, symbols: list[Any]) -> tuple[n.Param, ...]:
    """The parameters of a function; no name twice, defaults last."""
    seen: dict[str, n.Param] = {}
    last = None
    for param in symbols:
        if param.name in seen:
            raise refuse("twice", w, "parameter", param, seen[param.name])
        if last is not None and last.default is not None and param.default is None:
            raise refuse("default_order", w, param, last)
        seen[param.name] = last = param
    return tuple(symbols)


def parameter(w: Work, start: int, end: int, symbols: list[Any]) -> n.Param:
    """``name=default`` of a def."""
    return n.Param(w.word(symbols[0]), symbols[1] if len(symbols) > 1 else None, start, end)


def class_head(w: Work, start: int, end: int, symbols: list[Any]) -> tuple[str, str]:
    """``class Name(Function):``; every other class is refused."""
    bases = symbols[1] if len(symbols) > 1 else []
    base = dotted_text(bases[0]) if len(bases) == 1 else ""
    if base.rpartition(".")[2] != "Function":
        raise refuse("class_refused", w, start, end)
    return w.word(symbols[0]), base


def dotted_text(node: n.Node) -> str:
    """``"a.b.c"`` for a name or a chain of attributes, else an empty string."""
    parts: list[str] = []
    while type(node) is n.Attribute:
        parts.append(node.name)
        node = node.value
    if type(node) is not n.Name:
        return ""
    return ".".join([node.id, *reversed(parts)])


def class_stmt(w: Work, start: int, end: int, symbols: list[Any]) -> n.FunctionClass:
    """A custom Function: its methods and ``generate_vmap_rule``, and nothing else."""
    (called, base), *items = symbols
    methods: dict[str, n.Def] = {}
    rule = None
    for number, item in enumerate(_statements(items)):
        if type(item) is n.Def and item.name in METHODS:
            if item.name in methods:
                raise refuse("twice", w, "method", item, methods[item.name])
            methods[item.name] = item
        elif _sets_rule(item):
            rule = item.value.value
        elif number or type(item) is not n.ExprStmt or type(item.value) is not n.String:
            raise refuse("class_item", w, item)
        end = item.end
    if "forward" not in methods or not methods.keys() & {"backward", "jvp"}:
        raise refuse("class_incomplete", w, called, start, methods)
    return n.FunctionClass(called, base, tuple(methods.values()), rule, start, end)


METHODS = ("forward", "backward", "setup_context", "jvp", "vmap")
"""What a custom Function may hold."""


def _sets_rule(item: n.Statement) -> bool:
    """Whether a statement is ``generate_vmap_rule = True`` or ``= False``."""
    if type(item) is not n.Assign or len(item.targets) != 1:
        return False
    (target,) = item.targets
    named = type(target) is n.Name and target.id == "generate_vmap_rule"
    return named and type(item.value) is n.Literal and type(item.value.value) is bool


def static_method(w: Work, _start: int, _end: int, symbols: list[Any]) -> n.Def:
    """``@staticmethod`` before a method."""
    *decorators, method = symbols
    for path, begin, stop in decorators:
        if path != "staticmethod":
            raise refuse("decorator_refused", w, begin, stop)
    return method


def decorator(_w: Work, _start: int, _end: int, symbols: list[Any]) -> tuple[str, int, int]:
    """``@name``, and its place."""
    return symbols[0]
