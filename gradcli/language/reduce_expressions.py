"""What each line of the grammar builds, expressions: one function a name, called by the parser.

``reduce_statements`` says what a function is given.
"""

from __future__ import annotations

from typing import Any

from . import nodes as n
from .parse_work import Work, check_target, refuse


def tuple_of(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Tuple:
    """``a, b``."""
    return n.Tuple(tuple(symbols), start, end)


def empty_tuple(_w: Work, start: int, end: int, _symbols: list[Any]) -> n.Tuple:
    """``()``."""
    return n.Tuple((), start, end)


def group(_w: Work, _start: int, _end: int, symbols: list[Any]) -> n.Expr:
    """``(value)``: the value itself."""
    return symbols[0]


def tuple_in_brackets(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Tuple:
    """``(a, b)``: its place includes the brackets."""
    return n.Tuple(symbols[0].items, start, end)


def list_of(_w: Work, start: int, end: int, symbols: list[Any]) -> n.List:
    """``[a, b]``."""
    return n.List(tuple(symbols), start, end)


def list_comprehension(_w: Work, start: int, end: int, symbols: list[Any]) -> n.ListComp:
    """``[element for ...]``."""
    return n.ListComp(symbols[0], tuple(symbols[1:]), start, end)


def clause(w: Work, start: int, end: int, symbols: list[Any]) -> n.Clause:
    """``for target in items if test`` of a comprehension."""
    target, over, *conditions = symbols
    check_target(w, target)
    return n.Clause(target, over, tuple(conditions), start, end)


def conditional(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Conditional:
    """``a if test else b``."""
    body, test, orelse = symbols
    return n.Conditional(test, body, orelse, start, end)


def lambda_function(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Lambda:
    """``lambda params: value``."""
    *params, body = symbols
    return n.Lambda(params[0] if params else (), body, start, end)


def or_operation(_w: Work, start: int, end: int, symbols: list[Any]) -> n.BoolOp:
    """``a or b or c``."""
    return n.BoolOp("or", tuple(symbols), start, end)


def and_operation(_w: Work, start: int, end: int, symbols: list[Any]) -> n.BoolOp:
    """``a and b and c``."""
    return n.BoolOp("and", tuple(symbols), start, end)


def negation(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Unary:
    """``not a``."""
    return n.Unary("not", symbols[0], start, end)


def compare(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Compare:
    """``a < b <= c``."""
    return n.Compare(symbols[0], tuple(symbols[1::2]), tuple(symbols[2::2]), start, end)


def comparison_sign(w: Work, _start: int, _end: int, symbols: list[Any]) -> str:
    """``<`` or ``not in``, as one text."""
    return " ".join([w.word(token) for token in symbols])


def binary(w: Work, start: int, end: int, symbols: list[Any]) -> n.Binary:
    """``a + b``; ``^`` is ``**`` from here on."""
    left, token, right = symbols
    op_start, op_end = w.starts[token], w.ends[token]
    op = w.text[op_start:op_end]
    return n.Binary("**" if op == "^" else op, left, right, op_start, op_end, start, end)


def unary(w: Work, start: int, end: int, symbols: list[Any]) -> n.Unary:
    """``-a``."""
    return n.Unary(w.text[start], symbols[1], start, end)


def attribute(w: Work, start: int, end: int, symbols: list[Any]) -> n.Attribute:
    """``a.name``."""
    return n.Attribute(symbols[0], w.word(symbols[1]), start, end)


def call(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Call:
    """``f(args, name=value)``."""
    args, keywords = symbols[1] if len(symbols) > 1 else (), ()
    if args and type(args[-1]) is n.Keyword:
        keywords = tuple([one for one in args if type(one) is n.Keyword])
        args = args[: -len(keywords)]
    return n.Call(symbols[0], tuple(args), keywords, start, end)


def arguments(w: Work, _start: int, _end: int, symbols: list[Any]) -> list[n.Node]:
    """The arguments of a call; no name twice, named ones last."""
    seen: dict[str, n.Keyword] = {}
    last = None
    for argument in symbols:
        if type(argument) is n.Keyword:
            if argument.name in seen:
                raise refuse("twice", w, "argument", argument, seen[argument.name])
            seen[argument.name] = last = argument
        elif last is not None:
            raise refuse("argument_order", w, argument, last)
    return symbols


def keyword(w: Work, start: int, end: int, symbols: list[Any]) -> n.Keyword:
    """``name=value`` of a call."""
    return n.Keyword(w.word(symbols[0]), symbols[1], start, end)


def subscript(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Subscript:
    """``a[index]``."""
    return n.Subscript(symbols[0], symbols[1], start, end)


def slice_item(_w: Work, start: int, end: int, symbols: list[Any]) -> n.Slice:
    """``low:high:step`` of an index."""
    parts: list[n.Expr | None] = [None, None, None]
    place = 0
    for symbol in symbols:
        if type(symbol) is int:  # a colon
            place += 1
        else:
            parts[place] = symbol
    return n.Slice(*parts, start, end)


def name(w: Work, start: int, end: int, _symbols: list[Any]) -> n.Name:
    """A name."""
    return n.Name(w.text[start:end], start, end)


def number(w: Work, start: int, end: int, _symbols: list[Any]) -> n.Number:
    """A number, as an int, a float or a complex number."""
    text = w.text[start:end]
    try:
        if text.isdigit() or text[:2] in _BASES or "_" in text:
            return n.Number(_spelled(text), text, start, end)
        if text[-1] in "jJ":
            return n.Number(complex(text), text, start, end)
        return n.Number(float(text), text, start, end)
    except ValueError:
        raise refuse("bad_number", w, start, end) from None


_BASES = ("0x", "0X", "0o", "0O", "0b", "0B")

DIGIT_LIMIT = 4300
"""The most characters in one whole number (as CPython has it for decimal ones)."""


def _spelled(text: str) -> int | float | complex:
    """The value of a number written with a base or with underscores, or of a whole number."""
    if text[-1] in "jJ" and text[:2] not in _BASES:
        return complex(text)
    if text[:2] in _BASES or not any(char in text for char in ".eE"):
        if len(text) > DIGIT_LIMIT:
            raise ValueError(text)
        return int(text, 0)
    return float(text)


def literal(w: Work, start: int, end: int, _symbols: list[Any]) -> n.Literal:
    """``True``, ``False``, ``None`` or ``...``."""
    return n.Literal(_LITERALS[w.text[start:end]], start, end)


_LITERALS = {"True": True, "False": False, "None": None, "...": ...}


# ---- Strings -------------------------------------------------------------------------------------


def string(w: Work, start: int, end: int, symbols: list[Any]) -> n.String:
    """A string without fields."""
    return n.String(w.values[symbols[0]], start, end)


def text(_w: Work, start: int, end: int, symbols: list[Any]) -> n.String | n.FString:
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


def fstring(w: Work, start: int, end: int, symbols: list[Any]) -> n.FString:
    """A string with fields."""
    parts = [
        part
        if type(part) is n.FormatPart
        else n.String(w.values[part], w.starts[part], w.ends[part])
        for part in symbols[1:-1]
    ]
    return n.FString(tuple(parts), start, end)


def field(w: Work, start: int, end: int, symbols: list[Any]) -> n.FormatPart:
    """``{value:format}`` of an f-string."""
    spec, shown = w.values[symbols[2]]
    return n.FormatPart(symbols[1], spec, shown, start, end)
