"""The actions of the grammar: a function for each production, which builds the node.

An action is given the Tokens of the text, the offsets at which the reduced text starts and ends,
and the values of the symbols that the grammar keeps: a node, a list, or for a terminal the index of
its token. Rules that the grammar cannot state (assignment targets, the order of parameters) are
checked here; a violation raises a SyntaxFailure.
"""

from __future__ import annotations

from typing import Any

from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.failures import Kind, SyntaxFailure
from gradcli.language.syntax.lexer import Tokens


def _failure(kind: Kind, w: Tokens, node: n.Node, **details: Any) -> SyntaxFailure:
    """The failure at the place of a node."""
    return SyntaxFailure(kind, w.source, node.start, node.end, **details)


def check_target(w: Tokens, target: n.Expr) -> None:
    """Refuses what cannot be assigned to."""
    waiting = [target]
    while waiting:
        one = waiting.pop()
        if isinstance(one, n.Tuple | n.List):
            waiting.extend(reversed(one.items))
        elif not isinstance(one, n.Name | n.Subscript | n.Attribute):
            raise _failure("bad_target", w, one, target=one)


def tuple_of(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Tuple:
    """``a, b``."""
    return n.Tuple(tuple(symbols), start, end)


def empty_tuple(_w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Tuple:
    """``()``."""
    return n.Tuple((), start, end)


def group(_w: Tokens, _start: int, _end: int, symbols: list[Any]) -> n.Expr:
    """``(value)``: the value itself."""
    value: n.Expr = symbols[0]
    return value


def tuple_in_brackets(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Tuple:
    """``(a, b)``: its place includes the brackets."""
    return n.Tuple(symbols[0].items, start, end)


def list_of(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.List:
    """``[a, b]``."""
    return n.List(tuple(symbols), start, end)


def list_comprehension(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.ListComp:
    """``[element for ...]``."""
    return n.ListComp(symbols[0], tuple(symbols[1:]), start, end)


def clause(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Clause:
    """``for target in items if test`` of a comprehension."""
    target, over, *conditions = symbols
    check_target(w, target)
    return n.Clause(target, over, tuple(conditions), start, end)


def conditional(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Conditional:
    """``a if test else b``."""
    body, test, orelse = symbols
    return n.Conditional(test, body, orelse, start, end)


def lambda_function(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Lambda:
    """``lambda params: value``."""
    *params, body = symbols
    return n.Lambda(params[0] if params else (), body, start, end)


def or_operation(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.BoolOp:
    """``a or b or c``."""
    return n.BoolOp("or", tuple(symbols), start, end)


def and_operation(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.BoolOp:
    """``a and b and c``."""
    return n.BoolOp("and", tuple(symbols), start, end)


def negation(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Unary:
    """``not a``."""
    return n.Unary("not", symbols[0], start, end)


def compare(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Compare:
    """``a < b <= c``."""
    return n.Compare(symbols[0], tuple(symbols[1::2]), tuple(symbols[2::2]), start, end)


def comparison_sign(w: Tokens, _start: int, _end: int, symbols: list[Any]) -> str:
    """``<`` or ``not in``, as one text."""
    return " ".join([w.word(token) for token in symbols])


def binary(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Binary:
    """``a + b``; ``^`` is ``**`` from here on."""
    left, token, right = symbols
    op_start, op_end = w.starts[token], w.ends[token]
    op = w.text[op_start:op_end]
    return n.Binary("**" if op == "^" else op, left, right, op_start, op_end, start, end)


def unary(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Unary:
    """``-a``."""
    return n.Unary(w.text[start], symbols[1], start, end)


def attribute(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Attribute:
    """``a.name``."""
    return n.Attribute(symbols[0], w.word(symbols[1]), start, end)


def call(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Call:
    """``f(args, name=value)``."""
    args: list[Any] = symbols[1] if len(symbols) > 1 else []
    keywords: tuple[n.Keyword, ...] = ()
    if args and type(args[-1]) is n.Keyword:
        keywords = tuple([one for one in args if type(one) is n.Keyword])
        args = args[: -len(keywords)]
    return n.Call(symbols[0], tuple(args), keywords, start, end)


def arguments(w: Tokens, _start: int, _end: int, symbols: list[Any]) -> list[n.Node]:
    """The arguments of a call; no name twice, named ones last."""
    seen: dict[str, n.Keyword] = {}
    last = None
    for argument in symbols:
        if type(argument) is n.Keyword:
            if argument.name in seen:
                raise _failure(
                    "duplicate_name",
                    w,
                    argument,
                    what="argument",
                    name=argument.name,
                    first=seen[argument.name].start,
                )
            seen[argument.name] = last = argument
        elif last is not None:
            raise _failure("argument_order", w, argument, last=last)
    return symbols


def keyword(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Keyword:
    """``name=value`` of a call."""
    return n.Keyword(w.word(symbols[0]), symbols[1], start, end)


def subscript(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Subscript:
    """``a[index]``."""
    return n.Subscript(symbols[0], symbols[1], start, end)


def slice_item(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Slice:
    """``low:high:step`` of an index."""
    parts: list[n.Expr | None] = [None, None, None]
    place = 0
    for symbol in symbols:
        if type(symbol) is int:  # a colon
            place += 1
        else:
            parts[place] = symbol
    lower, upper, step = parts
    return n.Slice(lower, upper, step, start, end)


def name(w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Name:
    """A name."""
    return n.Name(w.text[start:end], start, end)


def number(w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Number:
    """A number, as an int, a float or a complex number."""
    text = w.text[start:end]
    try:
        if text.isdigit() or text[:2] in _BASES or "_" in text:
            return n.Number(_number_value(text), text, start, end)
        if text[-1] in "jJ":
            return n.Number(complex(text), text, start, end)
        return n.Number(float(text), text, start, end)
    except ValueError:
        raise SyntaxFailure("bad_number", w.source, start, end) from None


_BASES = ("0x", "0X", "0o", "0O", "0b", "0B")

DIGIT_LIMIT = 4300
"""The most characters in one whole number (as CPython has it for decimal ones)."""


def _number_value(text: str) -> int | float | complex:
    """The value of a number written with a base or with underscores, or of a whole number."""
    if text[-1] in "jJ" and text[:2] not in _BASES:
        return complex(text)
    if text[:2] in _BASES or not any(char in text for char in ".eE"):
        if len(text) > DIGIT_LIMIT:
            raise ValueError(text)
        return int(text, 0)
    return float(text)


def literal(w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Literal:
    """``True``, ``False``, ``None`` or ``...``."""
    return n.Literal(_LITERALS[w.text[start:end]], start, end)


_LITERALS = {"True": True, "False": False, "None": None, "...": ...}


# ---- Strings -------------------------------------------------------------------------------------


def string(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.String:
    """A string without fields."""
    return n.String(w.values[symbols[0]], start, end)


def text(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.String | n.FString:
    """Strings that stand side by side are one."""
    pieces: list[Any] = []
    for symbol in symbols:
        if type(symbol) is n.FString:
            pieces += symbol.parts
        else:
            pieces.append(symbol)
    if all(type(symbol) is n.String for symbol in symbols):
        return n.String("".join([piece.value for piece in pieces]), start, end)
    parts: list[n.String | n.FormatPart] = []
    run: list[n.String] = []
    for piece in [*pieces, None]:
        if type(piece) is n.String:
            run.append(piece)
            continue
        joined = "".join([one.value for one in run])
        if joined:
            parts.append(n.String(joined, run[0].start, run[-1].end))
        run = []
        if piece is not None:
            parts.append(piece)
    return n.FString(tuple(parts), start, end)


def fstring(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.FString:
    """A string with fields."""
    parts = [
        part
        if type(part) is n.FormatPart
        else n.String(w.values[part], w.starts[part], w.ends[part])
        for part in symbols[1:-1]
    ]
    return n.FString(tuple(parts), start, end)


def field(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.FormatPart:
    """``{value:format}`` of an f-string."""
    spec, shown = w.values[symbols[2]]
    return n.FormatPart(symbols[1], spec, shown, start, end)


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


def module(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Module:
    """The whole text."""
    return n.Module(_statements(symbols), start, end)


def simple_line(_w: Tokens, _start: int, _end: int, symbols: list[Any]) -> list[n.Statement]:
    """Statements joined by semicolons."""
    return list(_statements(symbols))


def suite(_w: Tokens, _start: int, _end: int, symbols: list[Any]) -> tuple[n.Statement, ...]:
    """The body of a block."""
    return _statements(symbols)


# ---- Statements of one line ----------------------------------------------------------------------


def expr_stmt(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.ExprStmt:
    """An expression that stands alone."""
    return n.ExprStmt(symbols[0], start, end)


def assign(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Assign:
    """``a = b = value``."""
    value = symbols.pop()
    for target in symbols:
        check_target(w, target)
    return n.Assign(tuple(symbols), value, start, end)


def augmented_assign(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.AugAssign:
    """``x += value``."""
    target, op, value = symbols
    if type(target) not in (n.Name, n.Attribute, n.Subscript):
        raise _failure("bad_target", w, target, target=target, augmented=True)
    return n.AugAssign(target, op, value, start, end)


def augmented_sign(w: Tokens, start: int, end: int, _symbols: list[Any]) -> str:
    """The sign of ``+=`` without its ``=``."""
    return w.text[start : end - 1]


def return_value(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Return:
    """``return value``."""
    return n.Return(symbols[0], start, end)


def return_nothing(_w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Return:
    """``return``."""
    return n.Return(None, start, end)


def assertion(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Assert:
    """``assert test, message``."""
    return n.Assert(symbols[0], symbols[1] if len(symbols) > 1 else None, start, end)


def pass_stmt(_w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Pass:
    """``pass``."""
    return n.Pass(start, end)


def break_stmt(_w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Break:
    """``break``."""
    return n.Break(start, end)


def continue_stmt(_w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Continue:
    """``continue``."""
    return n.Continue(start, end)


MODULES = ("torch", "numpy", "math", "gradcli")
"""What a program may import: names of the language under that prefix, and nothing else."""


def imports(_w: Tokens, start: int, end: int, symbols: list[Any]) -> list[n.Import]:
    """``import torch, numpy as np``: a statement for each."""
    if len(symbols) == 1:
        (path, alias, _, _) = symbols[0]
        return [n.Import(path, alias, start, end)]
    return [n.Import(*one) for one in symbols]


def from_import(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.FromImport:
    """``from torch import sin as s``."""
    path, *names = symbols
    if path[0].partition(".")[0] not in MODULES:
        raise SyntaxFailure("unknown_module", w.source, *path[1:], path=path[0])
    return n.FromImport(path[0], tuple(names), start, end)


def module_as(
    w: Tokens, start: int, end: int, symbols: list[Any]
) -> tuple[str, str | None, int, int]:
    """``torch as t`` of an import."""
    path, *alias = symbols
    if path[0].partition(".")[0] not in MODULES:
        raise SyntaxFailure("unknown_module", w.source, *path[1:], path=path[0])
    return path[0], w.word(alias[0]) if alias else None, start, end


def name_as(w: Tokens, _start: int, _end: int, symbols: list[Any]) -> tuple[str, str | None]:
    """``sin as s`` of an import."""
    return w.word(symbols[0]), w.word(symbols[1]) if len(symbols) > 1 else None


def dotted_name(w: Tokens, start: int, end: int, symbols: list[Any]) -> tuple[str, int, int]:
    """``torch.nn``, and its place."""
    return ".".join([w.word(token) for token in symbols]), start, end


# ---- Statements with a body ----------------------------------------------------------------------


def if_stmt(_w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.If:
    """``if`` with its ``elif`` and ``else``: each ``elif`` is an If inside the one before."""
    test, body, *more = symbols
    orelse: tuple[n.Statement, ...] = ()
    if more and type(more[-1]) is tuple:
        orelse = more.pop()
    end = orelse[-1].end if orelse else (more[-1][2][-1].end if more else body[-1].end)
    for elif_start, elif_test, elif_body in reversed(more):
        orelse = (n.If(elif_test, elif_body, orelse, elif_start, end),)
    return n.If(test, body, orelse, start, end)


def elif_clause(_w: Tokens, start: int, _end: int, symbols: list[Any]) -> list[Any]:
    """``elif test: body``, with its place."""
    return [start, *symbols]


def else_clause(_w: Tokens, _start: int, _end: int, symbols: list[Any]) -> tuple[n.Statement, ...]:
    """``else: body``."""
    body: tuple[n.Statement, ...] = symbols[0]
    return body


def while_stmt(_w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.While:
    """``while test: body``."""
    test, body = symbols
    return n.While(test, body, start, body[-1].end)


def for_stmt(w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.For:
    """``for target in items: body``."""
    target, over, body = symbols
    check_target(w, target)
    return n.For(target, over, body, start, body[-1].end)


def with_stmt(_w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.With:
    """``with items: body``."""
    body = symbols.pop()
    first = symbols[0]
    if len(symbols) == 1 and first.target is None and type(first.expr) is n.Tuple:
        held = first.expr  # `with (a, b):` holds two, as in Python; `with ((a, b)):` one tuple
        if held.items and held.start == first.start:
            symbols = [n.WithItem(item, None, item.start, item.end) for item in held.items]
    return n.With(tuple(symbols), body, start, body[-1].end)


def with_item(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.WithItem:
    """``no_grad() as n`` of a with."""
    target = name(w, w.starts[symbols[1]], end, symbols[1:]) if len(symbols) > 1 else None
    return n.WithItem(symbols[0], target, start, end)


def def_stmt(w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.Def:
    """``def name(params): body``."""
    called, *params, body = symbols
    return n.Def(w.word(called), params[0] if params else (), body, start, body[-1].end)


def parameters(w: Tokens, _start: int, _end: int, symbols: list[Any]) -> tuple[n.Param, ...]:
    """The parameters of a function; no name twice, defaults last."""
    seen: dict[str, n.Param] = {}
    last = None
    for param in symbols:
        if param.name in seen:
            raise _failure(
                "duplicate_name",
                w,
                param,
                what="parameter",
                name=param.name,
                first=seen[param.name].start,
            )
        if last is not None and last.default is not None and param.default is None:
            raise _failure("default_order", w, param, parameter=param, last=last)
        seen[param.name] = last = param
    return tuple(symbols)


def parameter(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Param:
    """``name=default`` of a def."""
    return n.Param(w.word(symbols[0]), symbols[1] if len(symbols) > 1 else None, start, end)


def class_head(w: Tokens, start: int, end: int, symbols: list[Any]) -> tuple[str, str]:
    """``class Name(Function):``; every other class is refused."""
    bases = symbols[1] if len(symbols) > 1 else []
    base = n.dotted_text(bases[0]) if len(bases) == 1 else ""
    if base.rpartition(".")[2] != "Function":
        raise SyntaxFailure("plain_class", w.source, start, end)
    return w.word(symbols[0]), base


def class_stmt(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.FunctionClass:
    """A custom Function: its methods and ``generate_vmap_rule``, and nothing else."""
    (called, base), *items = symbols
    methods: dict[str, n.Def] = {}
    rule = None
    for number, item in enumerate(_statements(items)):
        if type(item) is n.Def and item.name in METHODS:
            if item.name in methods:
                raise _failure(
                    "duplicate_name",
                    w,
                    item,
                    what="method",
                    name=item.name,
                    first=methods[item.name].start,
                )
            methods[item.name] = item
        elif (chosen := _rule_of(item)) is not None:
            rule = chosen
        elif number or type(item) is not n.ExprStmt or type(item.value) is not n.String:
            raise _failure("class_member", w, item, member=item)
        end = item.end
    if "forward" not in methods or not methods.keys() & {"backward", "jvp"}:
        raise SyntaxFailure(
            "incomplete_class", w.source, start, end, name=called, methods=tuple(methods)
        )
    return n.FunctionClass(called, base, tuple(methods.values()), rule, start, end)


METHODS = ("forward", "backward", "setup_context", "jvp", "vmap")
"""What a custom Function may hold."""


def _rule_of(item: n.Statement) -> bool | None:
    """True or False where a statement is ``generate_vmap_rule = True`` or ``= False``."""
    if not isinstance(item, n.Assign) or len(item.targets) != 1:
        return None
    (target,) = item.targets
    if not isinstance(target, n.Name) or target.id != "generate_vmap_rule":
        return None
    value = item.value.value if isinstance(item.value, n.Literal) else None
    return value if isinstance(value, bool) else None


def static_method(w: Tokens, _start: int, _end: int, symbols: list[Any]) -> n.Def:
    """``@staticmethod`` before a method."""
    method: n.Def
    *decorators, method = symbols
    for path, begin, stop in decorators:
        if path != "staticmethod":
            raise SyntaxFailure("decorator", w.source, begin, stop)
    return method


def decorator(_w: Tokens, _start: int, _end: int, symbols: list[Any]) -> tuple[str, int, int]:
    """``@name``, and its place."""
    path: tuple[str, int, int] = symbols[0]
    return path
