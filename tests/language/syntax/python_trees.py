"""Holds our tree against Python's own: both are flattened to one list of labels, without recursion.

A label is ``(what, number of children, place)``; in preorder such a list says all that the tree
does. The place is ``(start, end)`` for expressions and statements; of a statement with a body only
the start is compared (Python counts a semicolon at its end), and imports and parts of f-strings
have none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gradcli.language.syntax import nodes as n

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
COMPARE = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
UNARY = {ast.UAdd: "+", ast.USub: "-", ast.Not: "not", ast.Invert: "~"}


def flat(
    tree: Any, shape: Callable[[Any], tuple[Any, list[Any], Any]]
) -> list[tuple[Any, int, Any]]:
    """The labels of a tree in preorder; ``shape`` gives (what, children, place) of one node."""
    found, waiting = [], [tree]
    while waiting:
        what, children, place = shape(waiting.pop())
        found.append((what, len(children), place))
        waiting.extend(reversed(children))
    return found


def flat_ours(tree: n.Node, places: bool = True) -> list[tuple[Any, int, Any]]:
    """The labels of our tree."""
    return flat(tree, lambda node: _ours(node, places))


def flat_python(text: str, places: bool = True) -> list[tuple[Any, int, Any]]:
    """The labels of Python's tree for a text; raises SyntaxError as ``ast.parse`` does."""
    tree = ast.parse(text)
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def place(node: Any) -> tuple[int, int] | None:
        if not places:
            return None
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    return flat(tree, lambda node: _python(node, place))


def _value(value: Any) -> tuple[Any, ...]:
    return ("constant", type(value).__name__, repr(value))


def _group(what: str, items: Any) -> tuple[Any, ...]:
    """A sequence as a node of its own, so that its length is part of the list."""
    return ("group", what, list(items))


def _ours(node: Any, places: bool) -> tuple[Any, list[Any], Any]:
    if node is None:
        return "none", [], None
    if type(node) is tuple:
        return (node[:2], node[2], None) if node[0] == "group" else (node, [], None)
    what = type(node).__name__
    here = (node.start, node.end) if places else None
    if type(node) in (n.Number, n.String, n.Literal):
        return _value(node.value), [], here
    if type(node) is n.FString:
        return "FString", _our_pieces(node), here
    if type(node) is n.FormatPart:
        conversion = 114 if node.text is not None and not node.spec else -1
        conversion = ord(node.conversion) if node.conversion else conversion
        return ("Format", node.spec, conversion), [_bare(node.value)], None
    if type(node) in (n.Param, n.Keyword, n.Clause, n.WithItem, n.Module, n.Import, n.DictItem):
        here = None
    if here and type(node) in (n.If, n.While, n.For, n.With, n.Def, n.ClassDef, n.Try, n.Handler):
        here = (node.start, None)
    data = tuple(getattr(node, name) for name in node.data)
    children = []
    for name in node.fields:
        child = getattr(node, name)
        children.append(_group(name, child) if type(child) is tuple else child)
    return (what, *data), children, here


def _our_pieces(node: n.FString) -> list[Any]:
    """The parts of an f-string as Python has them: the text of ``{x=}`` belongs to the text
    before."""
    pieces: list[Any] = []
    for part in node.parts:
        text = part.value if type(part) is n.String else part.text
        if text is not None:
            if pieces and type(pieces[-1]) is tuple:
                text = pieces.pop()[2] + text
            pieces.append(("piece", "text", text))
        if type(part) is n.FormatPart:
            pieces.append(part)
    return pieces


def _bare(node: n.Node) -> tuple[Any, ...]:
    """A tree without places, as one label: Python 3.11 misplaces what is inside an f-string."""
    return ("inside", repr(flat_ours(node, places=False)))


def _params(args: ast.arguments) -> list[Any]:
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
    kinds = ["/"] * len(args.posonlyargs) + [""] * len(args.args)
    found = [(*three, kind) for *three, kind in zip(plain, defaults, kinds, strict=True)]
    if args.vararg:
        found.append((args.vararg, None, "*"))
    found += [(*two, "=") for two in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        found.append((args.kwarg, None, "**"))
    return [("param", one.arg, kind, one.annotation, value) for one, value, kind in found]


def _python(node: Any, place: Callable[[Any], Any]) -> tuple[Any, list[Any], Any]:
    if node is None:
        return "none", [], None
    if type(node) is tuple:
        if node[0] == "group":
            return node[:2], node[2], None
        if node[0] == "param":
            return ("Param", node[1], node[2]), [node[3], node[4]], None
        if node[0] == "entry":
            return ("DictItem",), [node[1], node[2]], None
        if node[0] == "called":
            return ("Name", node[1]), [], None
        return node, [], None
    shape = _SHAPES[type(node).__name__]
    what, children = shape(node)
    if isinstance(node, ast.FormattedValue | ast.Import) or not hasattr(node, "lineno"):
        return what, children, None
    if isinstance(node, ast.arg | ast.keyword):
        return what, children, None
    here = place(node)
    if here and isinstance(node, _HEADS):
        here = (here[0], None)
    return what, children, here


_HEADS = (
    ast.If | ast.While | ast.For | ast.With | ast.FunctionDef | ast.ClassDef | ast.Try
    | ast.ExceptHandler
)  # fmt: skip


def _entries(node: ast.Dict) -> list[Any]:
    """The items of a dictionary, which Python keeps as two lists."""
    return [("entry", *pair) for pair in zip(node.keys, node.values, strict=True)]


def _handler(node: ast.ExceptHandler) -> tuple[Any, list[Any]]:
    called = None if node.name is None else ("called", node.name)
    return ("Handler",), [node.type, called, _group("body", node.body)]


def _class(node: ast.ClassDef) -> tuple[Any, list[Any]]:
    groups = _group("decorators", node.decorator_list), _group("bases", node.bases)
    return ("ClassDef", node.name), [*groups, _group("body", node.body)]


def _python_pieces(node: ast.JoinedStr) -> list[Any]:
    pieces: list[Any] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(("piece", "text", part.value))
        else:
            pieces.append(part)
    return pieces


def _format(node: ast.FormattedValue) -> tuple[Any, list[Any]]:
    spec = "" if node.format_spec is None else "".join(one.value for one in node.format_spec.values)
    inside = flat(node.value, lambda one: _python(one, lambda _: None))
    return ("Format", spec, node.conversion), [("inside", repr(inside))]


def _def(node: ast.FunctionDef) -> tuple[Any, list[Any]]:
    head = _group("decorators", node.decorator_list), _group("params", _params(node.args))
    return ("Def", node.name), [*head, node.returns, _group("body", node.body)]


def _statement(node: ast.Expr) -> tuple[Any, list[Any]]:
    """An expression that stands alone; ``yield`` is a statement of ours."""
    if isinstance(node.value, ast.Yield | ast.YieldFrom):
        return ("Yield", isinstance(node.value, ast.YieldFrom)), [node.value.value]
    return ("ExprStmt",), [node.value]


_SHAPES: dict[str, Callable[[Any], tuple[Any, list[Any]]]] = {
    "Module": lambda x: (("Module",), [_group("body", x.body)]),
    "FunctionDef": _def,
    "Return": lambda x: (("Return",), [x.value]),
    "If": lambda x: (("If",), [x.test, _group("body", x.body), _group("orelse", x.orelse)]),
    "ClassDef": _class,
    "While": lambda x: (("While",), [x.test, _group("body", x.body), _group("orelse", x.orelse)]),
    "For": lambda x: (
        ("For",),
        [x.target, x.iter, _group("body", x.body), _group("orelse", x.orelse)],
    ),
    "Try": lambda x: (
        ("Try",),
        [
            _group("body", x.body),
            _group("handlers", x.handlers),
            _group("orelse", x.orelse),
            _group("final", x.finalbody),
        ],
    ),
    "ExceptHandler": _handler,
    "Raise": lambda x: (("Raise",), [x.exc, x.cause]),
    "Delete": lambda x: (("Del",), [_group("targets", x.targets)]),
    "Global": lambda x: (("Outer", "global", tuple(x.names)), []),
    "Nonlocal": lambda x: (("Outer", "nonlocal", tuple(x.names)), []),
    "AnnAssign": lambda x: (("Annotation",), [x.target, x.annotation, x.value]),
    "Break": lambda _x: (("Break",), []),
    "Continue": lambda _x: (("Continue",), []),
    "Pass": lambda _x: (("Pass",), []),
    "Assert": lambda x: (("Assert",), [x.test, x.msg]),
    "With": lambda x: (("With",), [_group("items", x.items), _group("body", x.body)]),
    "withitem": lambda x: (("WithItem",), [x.context_expr, x.optional_vars]),
    "Assign": lambda x: (("Assign",), [_group("targets", x.targets), x.value]),
    "AugAssign": lambda x: (("AugAssign", BINARY[type(x.op)]), [x.target, x.value]),
    "Expr": _statement,
    "Name": lambda x: (("Name", x.id), []),
    "Constant": lambda x: (_value(x.value), []),
    "BinOp": lambda x: (("Binary", BINARY[type(x.op)]), [x.left, x.right]),
    "UnaryOp": lambda x: (("Unary", UNARY[type(x.op)]), [x.operand]),
    "Compare": lambda x: (
        ("Compare", tuple(COMPARE[type(op)] for op in x.ops)),
        [x.left, _group("rights", x.comparators)],
    ),
    "BoolOp": lambda x: (
        ("BoolOp", "or" if isinstance(x.op, ast.Or) else "and"),
        [_group("values", x.values)],
    ),
    "IfExp": lambda x: (("Conditional",), [x.body, x.test, x.orelse]),
    "Call": lambda x: (("Call",), [x.func, _group("args", x.args), _group("keywords", x.keywords)]),
    "keyword": lambda x: (("Keyword", x.arg), [x.value]),
    "Attribute": lambda x: (("Attribute", x.attr), [x.value]),
    "Subscript": lambda x: (("Subscript",), [x.value, x.slice]),
    "Slice": lambda x: (("Slice",), [x.lower, x.upper, x.step]),
    "Tuple": lambda x: (("Tuple",), [_group("items", x.elts)]),
    "List": lambda x: (("List",), [_group("items", x.elts)]),
    "Set": lambda x: (("Set",), [_group("items", x.elts)]),
    "Dict": lambda x: (("Dict",), [_group("items", _entries(x))]),
    "Starred": lambda x: (("Starred",), [x.value]),
    "SetComp": lambda x: (("SetComp",), [x.elt, _group("clauses", x.generators)]),
    "GeneratorExp": lambda x: (("GeneratorExp",), [x.elt, _group("clauses", x.generators)]),
    "DictComp": lambda x: (
        ("DictComp",),
        [("entry", x.key, x.value), _group("clauses", x.generators)],
    ),
    "Lambda": lambda x: (("Lambda",), [_group("params", _params(x.args)), x.body]),
    "ListComp": lambda x: (("ListComp",), [x.elt, _group("clauses", x.generators)]),
    "comprehension": lambda x: (("Clause",), [x.target, x.iter, _group("conditions", x.ifs)]),
    "JoinedStr": lambda x: ("FString", _python_pieces(x)),
    "FormattedValue": _format,
    "Import": lambda x: (("Import", x.names[0].name, x.names[0].asname), []),
    "ImportFrom": lambda x: (
        ("FromImport", x.module, tuple((one.name, one.asname) for one in x.names)),
        [],
    ),
}
