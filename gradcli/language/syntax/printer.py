"""Tree -> text: as few brackets as the grammar needs, and ``parse(unparse(tree))`` is the same
tree.

Iterative: what is still to be written lies on a list, as text or as a node with the tightness that
the place asks for.
"""

from __future__ import annotations

from typing import Any

from gradcli.language.syntax import nodes as n

# How tightly each form holds together; a form looser than its place asks for is put in brackets.
(
    TEST, OR, AND, NOT, COMPARE, BIT_OR, BIT_AND, SHIFT, SUM, PRODUCT, SIGN, POWER, POSTFIX, ATOM,
) = range(1, 15)  # fmt: skip
BARE = 0
"""A place where even a tuple needs no brackets."""

# operator: (its tightness, what its left and its right side must have, how it is spaced)
BINARY = {
    "|": (BIT_OR, BIT_OR, BIT_AND, " | "), "&": (BIT_AND, BIT_AND, SHIFT, " & "),
    "<<": (SHIFT, SHIFT, SUM, " << "), ">>": (SHIFT, SHIFT, SUM, " >> "),
    "+": (SUM, SUM, PRODUCT, " + "), "-": (SUM, SUM, PRODUCT, " - "),
    "*": (PRODUCT, PRODUCT, SIGN, "*"), "/": (PRODUCT, PRODUCT, SIGN, "/"),
    "//": (PRODUCT, PRODUCT, SIGN, "//"), "%": (PRODUCT, PRODUCT, SIGN, " % "),
    "@": (PRODUCT, PRODUCT, SIGN, " @ "), "**": (POWER, POSTFIX, SIGN, "**"),
}  # fmt: skip
INDENT = "    "


def unparse(node: n.Node) -> str:
    """The text of a tree.

    node   a Module, a statement, an expression, or a part of one

    Returns the text without a newline at its end. ``^`` is written as ``**``.

    >>> from gradcli.language.syntax.parser import parse
    >>> unparse(parse("(2*(x^2)) + (y)"))
    '2*x**2 + y'
    """
    if isinstance(node, n.Module):
        return _write(_block(node.body, 0)).rstrip("\n")
    if isinstance(node, n.Statement):
        return _write(_statement(node, 0)).rstrip("\n")
    return _write([(node, TEST)])


def _write(pieces: list[Any], inside_field: bool = False) -> str:
    """Writes pieces: text, (expression, tightness asked for), or (statement, depth)."""
    out: list[str] = []
    waiting = pieces[::-1]
    while waiting:
        piece = waiting.pop()
        if type(piece) is str:
            out.append(piece)
            continue
        node, level = piece
        if isinstance(node, n.Statement):
            more = _statement(node, level)
        elif inside_field and type(node) is n.String:
            more = [_field_string(node.value)]
        else:
            more = _FORMS[type(node)](node, level)
        waiting.extend(reversed(more))
    return "".join(out)


def _bracketed(own: int, asked: int, pieces: list[Any]) -> list[Any]:
    return ["(", *pieces, ")"] if own < asked else pieces


def _listed(items: tuple[n.Node, ...], sign: str = ", ", level: int = TEST) -> list[Any]:
    """Items with commas or another sign between them."""
    return [piece for item in items for piece in (sign, (item, level))][1:]


def _optional(sign: str, node: n.Node | None, level: int = TEST) -> list[Any]:
    """A sign and what follows it, nothing where that is left out."""
    return [] if node is None else [sign, (node, level)]


# ---- Expressions ---------------------------------------------------------------------------------


def _binary(node: n.Binary, asked: int) -> list[Any]:
    own, left, right, sign = BINARY[node.op]
    return _bracketed(own, asked, [(node.left, left), sign, (node.right, right)])


def _unary(node: n.Unary, asked: int) -> list[Any]:
    if node.op == "not":
        return _bracketed(NOT, asked, ["not ", (node.operand, NOT)])
    return _bracketed(SIGN, asked, [node.op, (node.operand, SIGN)])


def _compare(node: n.Compare, asked: int) -> list[Any]:
    pieces: list[Any] = [(node.left, BIT_OR)]
    for op, right in zip(node.ops, node.rights, strict=True):
        pieces += [f" {op} ", (right, BIT_OR)]
    return _bracketed(COMPARE, asked, pieces)


def _bool_op(node: n.BoolOp, asked: int) -> list[Any]:
    own = OR if node.op == "or" else AND
    return _bracketed(own, asked, _listed(node.values, f" {node.op} ", own + 1))


def _conditional(node: n.Conditional, asked: int) -> list[Any]:
    pieces = [(node.body, OR), " if ", (node.test, OR), " else ", (node.orelse, TEST)]
    return _bracketed(TEST, asked, pieces)


def _lambda(node: n.Lambda, asked: int) -> list[Any]:
    pieces = ["lambda", " " if node.params else "", *_params(node.params), ": ", (node.body, TEST)]
    return _bracketed(TEST, asked, pieces)


def _params(params: tuple[n.Param, ...]) -> list[Any]:
    """Parameters with commas between them, and a lone ``*`` or ``/`` where their kinds ask for
    it."""
    pieces: list[Any] = []
    before = ""
    for param in (*params, None):
        kind = "" if param is None else param.kind
        if before == "/" and kind != "/":
            pieces += [", /"]
        if param is None:
            break
        if pieces:
            pieces.append(", ")
        if kind == "=" and before not in ("=", "*"):
            pieces.append("*, ")
        pieces.append((param, BARE))
        before = kind
    return pieces


def _param(node: n.Param, _asked: int) -> list[Any]:
    stars = node.kind if node.kind[:1] == "*" else ""
    sign = "=" if node.annotation is None else " = "
    kind, default = _optional(": ", node.annotation), _optional(sign, node.default)
    return [stars, node.name, *kind, *default]


def _number(node: n.Number, asked: int) -> list[Any]:
    text = node.text or repr(node.value)
    return _bracketed(SIGN if text.startswith("-") else ATOM, asked, [text])


def _call(node: n.Call, _asked: int) -> list[Any]:
    if len(node.args) == 1 and type(node.args[0]) is n.GeneratorExp and not node.keywords:
        return [(node.func, POSTFIX), (node.args[0], BARE)]
    return [(node.func, POSTFIX), "(", *_listed((*node.args, *node.keywords)), ")"]


def _attribute(node: n.Attribute, _asked: int) -> list[Any]:
    if type(node.value) is n.Number:  # 2.T would be read as the number `2.` and a name
        return ["(", (node.value, BARE), f").{node.name}"]
    return [(node.value, POSTFIX), f".{node.name}"]


def _slice(node: n.Slice, _asked: int) -> list[Any]:
    upper = _optional("", node.upper)
    return [*_optional("", node.lower), ":", *upper, *_optional(":", node.step)]


def _tuple(node: n.Tuple, asked: int) -> list[Any]:
    if not node.items:
        return ["()"]
    return _bracketed(BARE, asked, [*_listed(node.items), "," if len(node.items) == 1 else ""])


_BRACKETS: dict[type, tuple[str, str]] = {
    n.ListComp: ("[", "]"), n.SetComp: ("{", "}"), n.DictComp: ("{", "}"),
    n.GeneratorExp: ("(", ")"),
}  # fmt: skip


def _comprehension(node: n.Comprehension, _asked: int) -> list[Any]:
    first, last = _BRACKETS[type(node)]
    return [first, (node.element, TEST), *[(clause, BARE) for clause in node.clauses], last]


def _clause(node: n.Clause, _asked: int) -> list[Any]:
    pieces: list[Any] = [" for ", (node.target, BARE), " in ", (node.iter, OR)]
    for condition in node.conditions:
        pieces += [" if ", (condition, OR)]
    return pieces


# ---- F-strings -----------------------------------------------------------------------------------


def _fstring(node: n.FString, _asked: int) -> list[Any]:
    fields = [_field(part) if type(part) is n.FormatPart else None for part in node.parts]
    inner = "".join(field for field in fields if field)
    fixed = "".join(part.value for part in node.parts if isinstance(part, n.String))
    left = [one for one in ('"', "'", '"""', "'''") if one not in inner]
    if not left:
        raise ValueError("no kind of quote is left for this f-string")
    quote = next((one for one in left if one not in fixed), left[0])
    if "\n" in inner and len(quote) == 1:
        quote *= 3
    pieces = [
        _fixed(part.value, quote) if isinstance(part, n.String) else str(field)
        for part, field in zip(node.parts, fields, strict=True)
    ]
    return ["f", quote, *pieces, quote]


def _field(part: n.FormatPart) -> str:
    inner = part.text if part.text is not None else _write([(part.value, OR)], inside_field=True)
    if inner[:1] == "{":  # else it would be read as a brace of the text
        inner = f" {inner} "
    conversion = f"!{part.conversion}" if part.conversion else ""
    return "{" + inner + conversion + (f":{part.spec}" if part.spec else "") + "}"


def _fixed(text: str, quote: str) -> str:
    """The text between fields, with what would end it or open a field escaped."""
    shown = repr("'\"" + text)[4:-1].replace(
        "\\'", "'"
    )  # both quotes in front: repr escapes only '
    shown = shown.replace("{", "{{").replace("}", "}}")
    return shown.replace(quote[0], "\\" + quote[0])


def _field_string(value: str) -> str:
    """A string inside a field, where Python 3.11 allows no backslash: a quote that it does not
    hold."""
    parts: list[str] = []
    rest = value
    while rest or not parts:
        single, double = rest.find("'"), rest.find('"')
        end = len(rest) if single < 0 or double < 0 else max(single, double)
        part, rest = rest[:end], rest[end:]
        quote = '"' if "'" in part else "'"
        parts.append(quote + part + quote)
    return " ".join(parts)


_FORMS: dict[type, Any] = {
    n.Binary: _binary, n.Unary: _unary, n.Compare: _compare, n.BoolOp: _bool_op,
    n.Conditional: _conditional, n.Lambda: _lambda, n.Param: _param,
    n.Name: lambda node, _asked: [node.id], n.Number: _number,
    n.String: lambda node, _asked: [repr(node.value)],
    n.Literal: lambda node, _asked: ["..." if node.value is ... else repr(node.value)],
    n.Call: _call,
    n.Keyword: lambda node, _asked: [
        "**" if node.name is None else f"{node.name}=", (node.value, TEST)],
    n.Attribute: _attribute,
    n.Subscript: lambda node, _asked: [(node.value, POSTFIX), "[", (node.index, BARE), "]"],
    n.Slice: _slice, n.Tuple: _tuple,
    n.List: lambda node, _asked: ["[", *_listed(node.items), "]"],
    n.Set: lambda node, _asked: ["{", *_listed(node.items), "}"],
    n.Dict: lambda node, _asked: ["{", *_listed(node.items), "}"],
    n.DictItem: lambda node, _asked: [(node.key, TEST), ": ", (node.value, TEST)]
    if node.key is not None else ["**", (node.value, OR)],
    n.Starred: lambda node, _asked: ["*", (node.value, OR)], n.ListComp: _comprehension,
    n.SetComp: _comprehension, n.DictComp: _comprehension, n.GeneratorExp: _comprehension,
    n.Clause: _clause, n.WithItem: lambda node, _asked: [
        (node.expr, TEST), *_optional(" as ", node.target)],
    n.FString: _fstring,
    n.FormatPart: lambda node, _asked: [_field(node)],
}  # fmt: skip


# ---- Statements ----------------------------------------------------------------------------------


def _block(body: tuple[n.Statement, ...], depth: int) -> list[Any]:
    return [(statement, depth) for statement in body] or (
        [INDENT * depth + "pass\n"] if depth else []
    )


def _statement(node: n.Statement, depth: int) -> list[Any]:
    """The pieces of one statement, its indentation and line end included."""
    margin = INDENT * depth
    if type(node) is n.FunctionClass:
        inner = margin + INDENT
        pieces: list[Any] = [f"{margin}class {node.name}({node.base}):\n"]
        if node.rule is not None:
            pieces.append(f"{inner}generate_vmap_rule = {node.rule}\n")
        for method in node.methods:
            pieces += [f"{inner}@staticmethod\n", (method, depth + 1)]
        return pieces
    parts = _STATEMENTS[type(node)](node)
    if parts[0][1] is None:
        return [margin, *parts[0][0], "\n"]
    pieces = []
    for decorator in getattr(node, "decorators", ()):
        pieces += [margin, "@", (decorator, TEST), "\n"]
    for head, body in parts:
        pieces += [margin, *head, ":\n", *_block(body, depth + 1)]
    return pieces


# Each gives a list of (what its line says, the body under it or None).


def _if(node: n.If) -> list[Any]:
    parts: list[Any] = [(["if ", (node.test, TEST)], node.body)]
    while len(node.orelse) == 1 and type(node.orelse[0]) is n.If:
        node = node.orelse[0]
        parts.append((["elif ", (node.test, TEST)], node.body))
    return [*parts, (["else"], node.orelse)] if node.orelse else parts


def _assign(node: n.Assign) -> list[Any]:
    pieces: list[Any] = []
    for target in node.targets:
        pieces += [(target, BARE), " = "]
    return [([*pieces, (node.value, BARE)], None)]


def _class(node: n.ClassDef) -> list[Any]:
    bases = ["(", *_listed(node.bases), ")"] if node.bases else []
    return [([f"class {node.name}", *bases], node.body)]


def _loop(head: list[Any], node: n.While | n.For) -> list[Any]:
    return [(head, node.body), *([(["else"], node.orelse)] if node.orelse else [])]


def _try(node: n.Try) -> list[Any]:
    parts: list[Any] = [(["try"], node.body)]
    for handler in node.handlers:
        called = _optional(" as ", handler.name)
        parts.append((["except", *_optional(" ", handler.kind), *called], handler.body))
    if node.orelse:
        parts.append((["else"], node.orelse))
    return [*parts, (["finally"], node.final)] if node.final else parts


def _with(node: n.With) -> list[Any]:
    held = node.items[0].expr if len(node.items) == 1 and node.items[0].target is None else None
    if type(held) is n.Tuple and held.items:  # one pair of brackets would be read as several items
        return [(["with ((", (held, BARE), "))"], node.body)]
    return [(["with ", *_listed(node.items)], node.body)]


def _from_import(node: n.FromImport) -> list[Any]:
    names = ", ".join(name if alias is None else f"{name} as {alias}" for name, alias in node.names)
    return [([f"from {node.module} import {names}"], None)]


_STATEMENTS: dict[type, Any] = {
    n.Def: lambda s: [
        ([f"def {s.name}(", *_params(s.params), ")", *_optional(" -> ", s.returns)], s.body)],
    n.Return: lambda s: [(["return", *_optional(" ", s.value, BARE)], None)],
    n.If: _if, n.ClassDef: _class, n.While: lambda s: _loop(["while ", (s.test, TEST)], s),
    n.For: lambda s: _loop(["for ", (s.target, BARE), " in ", (s.iter, BARE)], s), n.Try: _try,
    n.Raise: lambda s: [
        (["raise", *_optional(" ", s.value), *_optional(" from ", s.cause)], None)],
    n.Del: lambda s: [(["del ", *_listed(s.targets)], None)],
    n.Outer: lambda s: [([f"{s.word} {', '.join(s.names)}"], None)],
    n.Yield: lambda s: [([
        "yield from" if s.many else "yield", *_optional(" ", s.value, TEST if s.many else BARE)
    ], None)],
    n.Annotation: lambda s: [
        ([(s.target, POSTFIX), *_optional(": ", s.kind), *_optional(" = ", s.value, BARE)], None)],
    n.Break: lambda _s: [(["break"], None)],
    n.Continue: lambda _s: [(["continue"], None)], n.Pass: lambda _s: [(["pass"], None)],
    n.Assert: lambda s: [
        (["assert ", (s.test, TEST), *_optional(", ", s.message)], None)],
    n.With: _with, n.Assign: _assign,
    n.AugAssign: lambda s: [([(s.target, BARE), f" {s.op}= ", (s.value, BARE)], None)],
    n.ExprStmt: lambda s: [([(s.value, BARE)], None)], 
    n.Import: lambda s: [
        ([f"import {s.module}" + (f" as {s.alias}" if s.alias else "")], None)],
    n.FromImport: _from_import,
}  # fmt: skip
