"""The actions of the grammar: a function for each production, which builds the node.

An action is given the Tokens of the text, the offsets at which the reduced text starts and ends,
and the values of the symbols that the grammar keeps: a node, a list, or for a terminal the index of
its token. Rules that the grammar cannot state (assignment targets, the order of parameters) are
checked here; a violation raises a SyntaxFailure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.failures import Kind, SyntaxFailure
from gradcli.language.syntax.lexer import Tokens

Action = Callable[[Tokens, int, int, list[Any]], Any]


def _of_parts(cls: type[n.Node], *fixed: Any) -> Action:
    """A node of the symbols as they stand, None for those that are left out."""
    count = len(cls.slots) - len(("start", "end")) - len(fixed)

    def build(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Node:
        return cls(*fixed, *symbols, *[None] * (count - len(symbols)), start, end)

    return build


def _of_items(cls: type[n.Node], *fixed: Any) -> Action:
    """A node of all symbols as one tuple."""
    return lambda _w, start, end, symbols: cls(*fixed, tuple(symbols), start, end)


def _of_clauses(cls: type[n.Comprehension]) -> Action:
    """A comprehension: its element, then its clauses."""
    return lambda _w, start, end, symbols: cls(symbols[0], tuple(symbols[1:]), start, end)


def _of_value(cls: type[n.Node]) -> Action:
    """A node of what the lexer read as a whole."""
    return lambda w, start, end, symbols: cls(w.values[symbols[0]], start, end)


def _part(made: Callable[[Tokens, list[Any]], Any]) -> Action:
    """What is no node by itself, of the tokens and the symbols."""
    return lambda w, _start, _end, symbols: made(w, symbols)


def _failure(kind: Kind, w: Tokens, node: n.Node, **details: Any) -> SyntaxFailure:
    """The failure at the place of a node."""
    return SyntaxFailure(kind, w.source, node.start, node.end, **details)


def _named_twice(w: Tokens, node: Any, what: str, first: n.Node) -> SyntaxFailure:
    """The failure of a node whose name an earlier one has."""
    return _failure("duplicate_name", w, node, what=what, name=node.name, first=first.start)


starred = _of_parts(n.Starred)
string, data = _of_value(n.String), _of_value(n.Data)
tuple_of = _of_items(n.Tuple)
group = else_clause = decorator = _part(lambda _w, symbols: symbols[0])
comparison_sign = _part(lambda w, symbols: " ".join([w.word(token) for token in symbols]))
list_of = _of_items(n.List)
list_comprehension = _of_clauses(n.ListComp)
generator = _of_clauses(n.GeneratorExp)
set_of = _of_items(n.Set)
set_comprehension = _of_clauses(n.SetComp)
dict_of = _of_items(n.Dict)
conditional = _of_parts(n.Conditional)
or_operation = _of_items(n.BoolOp, "or")
and_operation = _of_items(n.BoolOp, "and")
negation = _of_parts(n.Unary, "not")
keywords_of = _of_parts(n.Keyword, None)
subscript = _of_parts(n.Subscript)


def check_target(w: Tokens, target: n.Expr) -> None:
    """Refuses what cannot be assigned to, and more than one ``*rest`` among several targets."""
    waiting: list[tuple[n.Expr, bool]] = [(target, False)]
    while waiting:
        one, among = waiting.pop()
        if isinstance(one, n.Tuple | n.List):
            rest = [item for item in one.items if isinstance(item, n.Starred)]
            if len(rest) > 1:
                raise _failure("bad_target", w, rest[1], target=rest[1])
            waiting.extend((item, True) for item in reversed(one.items))
        elif isinstance(one, n.Starred) and among:
            waiting.append((one.value, False))
        else:
            _check_target(w, one)


def _check_target(w: Tokens, one: n.Expr) -> None:
    """Raise what is wrong with a target that is no tuple."""
    if not isinstance(one, n.Name | n.Subscript | n.Attribute) or _special(one):
        raise _failure("bad_target", w, one, target=one)


def _special(node: n.Expr) -> bool:
    """Whether a name or attribute is one of those with two underscores, which are only read."""
    text = node.id if isinstance(node, n.Name) else getattr(node, "name", "")
    return str(text).startswith("__")


def tuple_in_brackets(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Tuple:
    """``(a, b)``: its place includes the brackets."""
    return n.Tuple(symbols[0].items, start, end)


def entry(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.DictItem:
    """``key: value`` or ``**more``."""
    key = symbols[0] if len(symbols) > 1 else None
    return n.DictItem(key, symbols[-1], start, end)


def dict_comprehension(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.DictComp:
    """``{key: value for ...}``."""
    if symbols[0].key is None:
        raise _failure("bad_target", w, symbols[0], target=symbols[0])
    return n.DictComp(symbols[0], tuple(symbols[1:]), start, end)


def clause(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Clause:
    """``for target in items if test`` of a comprehension."""
    target, over, *conditions = symbols
    check_target(w, target)
    return n.Clause(target, over, tuple(conditions), start, end)


def lambda_function(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Lambda:
    """``lambda params: value``."""
    *params, body = symbols
    return n.Lambda(params[0] if params else (), body, start, end)


def compare(_w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Compare:
    """``a < b <= c``."""
    return n.Compare(symbols[0], tuple(symbols[1::2]), tuple(symbols[2::2]), start, end)


def binary(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Binary:
    """``a + b``; ``^`` is ``**`` from here on."""
    left, token, right = symbols
    op_start, op_end = w.starts[token], w.ends[token]
    op = w.text[op_start:op_end]
    return n.Binary("**" if op == "^" else op, left, right, op_start, op_end, start, end)


def long_sum(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Sum:
    """A sum that the lexer took apart."""
    terms = tuple(symbols[1:])
    counts = [1] * len(terms)
    for i, term in enumerate(terms):
        columns = (node for node in n.walk(term) if type(node) is n.Column)
        if (column := next(columns, None)) is not None:
            counts[i] = len(column.values)
    return n.Sum(terms, tuple(counts), w.values[symbols[0]], start, end)


def unary(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Unary:
    """``-a``."""
    return n.Unary(w.text[start], symbols[1], start, end)


def attribute(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Attribute:
    """``a.name``.

    Of the names with two underscores ``__name__`` is the name of a type or function,
    ``__class__`` stands only before it, and a method of a class may ask the class before.
    """
    value, token = symbols
    word = w.word(token)
    if word == "__class__" and not w.text.startswith(".__name__", end):
        raise SyntaxFailure("special_name", w.source, w.starts[token], end)
    return n.Attribute(value, word, start, end)


def call(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Call:
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
            name = argument.name
            if name is not None and name in seen:
                raise _named_twice(w, argument, "argument", seen[name])
            if name is not None:
                seen[name] = argument
            last = argument
        elif last is not None:
            raise _failure("argument_order", w, argument, last=last)
        elif (
            type(argument) is n.GeneratorExp
            and len(symbols) > 1
            and w.text[argument.start] + w.text[argument.end - 1] != "()"
        ):
            raise _failure("bare_generator", w, argument)
    return symbols


def keyword(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Keyword:
    """``name=value`` of a call."""
    if w.text[start] == "_" and w.word(symbols[0]) != "_":
        raise SyntaxFailure("special_name", w.source, start, w.ends[symbols[0]])
    return n.Keyword(w.word(symbols[0]), symbols[1], start, end)


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
    """A name; of those with two underscores only ``__name__`` has a value."""
    text = w.text[start:end]
    if text[:2] == "__" and text != "__name__":
        raise SyntaxFailure("special_name", w.source, start, end)
    return n.Name(text, start, end)


def number(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Number | n.Column:
    """A number, as an int, a float or a complex number; all of a column that stand in its place."""
    texts: list[str] | None = w.values.get(symbols[0])
    if texts is not None:
        values = [int(text) if text.isdigit() else float(text) for text in texts]
        return n.Column(values, texts, start, end)
    text = w.text[start:end]
    try:
        return n.Number(_number_value(text), text, start, end)
    except ValueError:
        raise SyntaxFailure("bad_number", w.source, start, end) from None


_BASES = ("0x", "0X", "0o", "0O", "0b", "0B")

DIGIT_LIMIT = 4300
"""The most characters in one whole number (as CPython has it for decimal ones)."""


def _number_value(text: str) -> int | float | complex:
    """The value of a number: whole, or with a base, a point, an exponent or a ``j``."""
    based = text[:2] in _BASES
    if text[-1] in "jJ" and not based:
        return complex(text)
    if not based and ("." in text or "e" in text or "E" in text):
        return float(text)
    if len(text) > DIGIT_LIMIT:
        raise ValueError(text)
    return int(text, 0)


def literal(w: Tokens, start: int, end: int, _symbols: list[Any]) -> n.Literal:
    """``True``, ``False``, ``None`` or ``...``."""
    return n.Literal(_LITERALS[w.text[start:end]], start, end)


_LITERALS = {"True": True, "False": False, "None": None, "...": ...}


# ---- Strings -------------------------------------------------------------------------------------


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
    """``{value!r:format}`` of an f-string."""
    spec, text, conversion = w.values[symbols[2]]
    return n.FormatPart(symbols[1], spec, text, conversion, start, end)


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


simple_line = _part(lambda _w, symbols: list(_statements(symbols)))
suite = _part(lambda _w, symbols: _statements(symbols))

# ---- Statements of one line ----------------------------------------------------------------------

expr_stmt = _of_parts(n.ExprStmt)
return_value = _of_parts(n.Return)
raise_stmt = _of_parts(n.Raise)
yield_stmt = _of_parts(n.Yield, False)
yield_from = _of_parts(n.Yield, True)
assertion = _of_parts(n.Assert)
pass_stmt = _of_parts(n.Pass)
break_stmt = _of_parts(n.Break)
continue_stmt = _of_parts(n.Continue)


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


def annotation(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Annotation:
    """``x: int = value``."""
    target, kind, *value = symbols
    if type(target) not in (n.Name, n.Attribute, n.Subscript):
        raise _failure("bad_target", w, target, target=target)
    check_target(w, target)
    return n.Annotation(target, kind, value[0] if value else None, start, end)


def del_stmt(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Del:
    """``del a, b[0]``."""
    (target,) = symbols
    targets = target.items if isinstance(target, n.Tuple) else (target,)
    for one in targets:
        _check_target(w, one)
    return n.Del(targets, start, end)


def global_stmt(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Outer:
    """``global a, b`` or ``nonlocal a, b``."""
    names = tuple([w.word(token) for token in symbols])
    return n.Outer("nonlocal" if w.text[start] == "n" else "global", names, start, end)


nonlocal_stmt = global_stmt

name_as = _part(lambda w, s: (w.word(s[0]), w.word(s[1]) if len(s) > 1 else None))
"""``sin as s`` of an import."""
MODULES = (
    "torch", "numpy", "math", "gradcli", "collections", "copy", "functools", "itertools", "random",
    "time", "typing", "warnings",
)  # fmt: skip
"""What a program may import: names of the language under that prefix, and nothing else."""


def _module(w: Tokens, path: str, start: int, end: int) -> str:
    if path.partition(".")[0] not in MODULES:
        raise SyntaxFailure("unknown_module", w.source, start, end, path=path)
    return path


def imports(_w: Tokens, start: int, end: int, symbols: list[Any]) -> list[n.Import]:
    """``import torch, numpy as np``: a statement for each."""
    if len(symbols) == 1:
        (path, alias, _, _) = symbols[0]
        return [n.Import(path, alias, start, end)]
    return [n.Import(*one) for one in symbols]


def from_import(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.FromImport:
    """``from torch import sin as s``."""
    path, *names = symbols
    return n.FromImport(_module(w, *path), tuple(names), start, end)


def module_as(
    w: Tokens, start: int, end: int, symbols: list[Any]
) -> tuple[str, str | None, int, int]:
    """``torch as t`` of an import."""
    path, *alias = symbols
    return _module(w, *path), w.word(alias[0]) if alias else None, start, end


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


_Loop = TypeVar("_Loop", n.While, n.For)


def _loop(cls: type[_Loop], head: list[Any], start: int, rest: list[Any]) -> _Loop:
    """A loop of what its line says, its body and its ``else``, if there is one."""
    body, *orelse = rest
    return cls(*head, body, orelse[0] if orelse else (), start, rest[-1][-1].end)


def while_stmt(_w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.While:
    """``while test: body else: orelse``."""
    return _loop(n.While, symbols[:1], start, symbols[1:])


def for_stmt(w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.For:
    """``for target in items: body else: orelse``."""
    check_target(w, symbols[0])
    return _loop(n.For, symbols[:2], start, symbols[2:])


def try_stmt(w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.Try:
    """``try: body except ...: ... else: ... finally: ...``."""
    body, *more = symbols
    handlers = tuple([one for one in more if type(one) is n.Handler])
    final: tuple[n.Statement, ...] = ()
    if type(more[-1]) is list:
        (final,) = more.pop()
    orelse: tuple[n.Statement, ...] = more[-1] if more and type(more[-1]) is tuple else ()
    for handler in handlers[:-1]:
        if handler.kind is None:
            raise SyntaxFailure("bare_except", w.source, handler.start, handler.start + 6)
    end = (final or orelse or handlers[-1].body)[-1].end
    return n.Try(body, handlers, orelse, final, start, end)


def handler(w: Tokens, start: int, _end: int, symbols: list[Any]) -> n.Handler:
    """``except kind as name: body``."""
    *head, body = symbols
    kind = head[0] if head else None
    called = None
    if len(head) > 1:
        place = w.starts[head[1]], w.ends[head[1]]
        called = n.Name(w.word(head[1]), *place)
    return n.Handler(kind, called, body, start, body[-1].end)


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
    """``def name(params) -> returns: body``."""
    called, *more, body = symbols
    params: tuple[n.Param, ...] = ()
    if more and type(more[0]) is tuple:
        params = more.pop(0)
    returns = more[0][0] if more else None
    return n.Def(w.word(called), params, body, (), returns, start, body[-1].end)


returns = finally_clause = _part(lambda _w, symbols: symbols[-1:])
"""``-> kind`` or ``finally: body``, in a list."""


def parameters(w: Tokens, _start: int, _end: int, symbols: list[Any]) -> tuple[n.Param, ...]:
    """The parameters of a function: no name twice, defaults last, one ``*`` and one ``**`` at most.

    After ``*`` a parameter is given by name only; what stands before ``/`` by place only.
    """
    found: list[n.Param] = []
    seen: dict[str, n.Param] = {}
    last = None
    by_name = 0  # 1: just after a lone *, 2: after that
    for param in symbols:
        if param.kind == "/":
            if not found or by_name or any(one.kind for one in found):
                raise _failure("parameter_order", w, param)
            found = [one.replace(kind="/") for one in found]
            continue
        if (found and found[-1].kind == "**") or (param.kind == "*" and by_name):
            raise _failure("parameter_order", w, param)
        if param.kind == "*":
            by_name = 2 if param.name else 1
            if not param.name:
                star = param
                continue
        elif by_name and param.kind == "":
            param = param.replace(kind="=")
            by_name = 2
        if param.name in seen:
            raise _named_twice(w, param, "parameter", seen[param.name])
        if param.kind == "":
            if last is not None and last.default is not None and param.default is None:
                raise _failure("default_order", w, param, parameter=param, last=last)
            last = param
        seen[param.name] = param
        found.append(param)
    if by_name == 1:
        raise _failure("parameter_order", w, star)
    return tuple(found)


def parameter(w: Tokens, start: int, end: int, symbols: list[Any]) -> n.Param:
    """``name: kind = default`` of a def, ``*rest``, ``**more``, or a lone ``*`` or ``/``."""
    kind = w.word(symbols[0])
    kind = kind if kind in ("*", "**", "/") else ""
    rest = symbols[1:] if kind else symbols
    called = w.word(rest[0]) if rest else ""
    annotation = default = None
    for sign, value in zip(rest[1::2], rest[2::2], strict=True):
        if w.word(sign) == ":":
            annotation = value
        else:
            default = value
    return n.Param(called, default, annotation, kind, start, end)


def class_head(
    w: Tokens, start: int, end: int, symbols: list[Any]
) -> tuple[str, tuple[n.Expr, ...], int]:
    """``class Name(bases):``; one base at most, and no keywords."""
    bases = symbols[1] if len(symbols) > 1 else []
    plain = [base for base in bases if isinstance(base, n.Name | n.Attribute)]
    if len(bases) > 1 or len(plain) != len(bases):
        raise SyntaxFailure("class_bases", w.source, bases[0].start, bases[-1].end)
    return w.word(symbols[0]), tuple(bases), end


def class_stmt(w: Tokens, start: int, end: int, symbols: list[Any]) -> Any:
    """A class: a custom Function where its base is called so, else a record."""
    (called, bases, head), *items = symbols
    body = _statements(items)
    if bases and n.dotted_text(bases[0]).rpartition(".")[2] == "Function":
        return _function_class(w, called, n.dotted_text(bases[0]), body, start, head)
    seen: dict[str, n.Def] = {}
    for number, item in enumerate(body):
        if type(item) is n.Def:
            if item.name in seen and not _accessor(item):
                raise _named_twice(w, item, "method", seen[item.name])
            seen[item.name] = item
        elif not _of_record(item, number):
            raise _failure("class_member", w, item, member=item, function=False)
    return n.ClassDef(called, bases, body, (), start, body[-1].end)


def _accessor(item: n.Def) -> bool:
    """Whether a method stands under ``@name.setter``: it shares its name with the property."""
    return any(isinstance(one, n.Attribute) and one.name == "setter" for one in item.decorators)


def _of_record(item: n.Statement, number: int) -> bool:
    """Whether a statement may stand in a class: ``name = value``, ``pass`` or a docstring."""
    if isinstance(item, n.Assign):
        return all(isinstance(target, n.Name) for target in item.targets)
    if isinstance(item, n.Annotation):
        return isinstance(item.target, n.Name)
    if isinstance(item, n.ExprStmt):
        text = isinstance(item.value, n.String) and not number
        return text or (isinstance(item.value, n.Literal) and item.value.value is ...)
    return isinstance(item, n.Pass)


def _function_class(
    w: Tokens, called: str, base: str, body: tuple[n.Statement, ...], start: int, head: int
) -> n.FunctionClass:
    """A custom Function: its methods and ``generate_vmap_rule``, and nothing else."""
    methods: dict[str, n.Def] = {}
    rule = None
    end = head
    for number, item in enumerate(body):
        if type(item) is n.Def and item.name in METHODS:
            if item.name in methods:
                raise _named_twice(w, item, "method", methods[item.name])
            methods[item.name] = _static(w, item)
        elif (chosen := _rule_of(item)) is not None:
            rule = chosen
        elif number or type(item) is not n.ExprStmt or type(item.value) is not n.String:
            raise _failure("class_member", w, item, member=item, function=True)
        end = item.end
    if "forward" not in methods:
        raise SyntaxFailure("incomplete_class", w.source, start, end, name=called)
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


def _static(w: Tokens, method: n.Def) -> n.Def:
    """A method of a Function without its ``@staticmethod``."""
    kept = []
    for one in method.decorators:
        path = n.dotted_text(one)
        if path.rpartition(".")[2] == "once_differentiable":
            kept.append(one)
        elif path != "staticmethod":
            raise _failure("decorator", w, one)
    return method.replace(decorators=tuple(kept))


def decorated(w: Tokens, _start: int, _end: int, symbols: list[Any]) -> n.Def | n.ClassDef:
    """A function or class under its decorators."""
    *decorators, made = symbols
    if isinstance(made, n.FunctionClass):
        raise _failure("decorator", w, decorators[0])
    found: n.Def | n.ClassDef = made.replace(decorators=tuple(decorators))
    return found
