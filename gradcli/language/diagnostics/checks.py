"""What is said of sentences that the grammar takes and the language does not: the checks of
the reductions that failed. Loaded only when one does."""

from __future__ import annotations

from typing import Any

from gradcli.language.diagnostics import lexical
from gradcli.language.diagnostics.render import SyntaxFault, closest
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source


def bad_target(work: Any, target: n.Expr, how: str) -> SyntaxFault:
    """Something that cannot be assigned to."""
    shown = {
        n.Call: "a call",
        n.Number: "a number",
        n.String: "a string",
        n.FString: "a string",
        n.Literal: f"`{work.text[target.start : target.end]}`",
        n.Compare: "a comparison",
        n.Conditional: "a conditional expression",
        n.Lambda: "a function",
        n.ListComp: "a list comprehension",
        n.Tuple: "a tuple",
        n.List: "a list",
    }.get(type(target), "an expression")
    help = "on the left of `=` stands a name, x[i], or several with commas; to compare, write `==`"
    if type(target) is n.Call:
        called = work.text[target.func.start : target.func.end]
        help = f"to define a function, write {called} = lambda x: ..."
    if type(target) is n.Lambda:
        help = "write f = lambda x: ...; a function that assigns is written with def"
    if how == "augment":
        help = "on the left stands a name or x[i]"
    return SyntaxFault(
        "E0109", f"cannot assign to {shown}", work.source, target.start, target.end, help=help
    )


def bad_number(work: Any, start: int, end: int) -> SyntaxFault:
    """A number that is written in no known way."""
    return lexical.bad_number(work.source, start, end)


def bad_import(work: Any, path: str, start: int, end: int) -> SyntaxFault:
    """The import of a module that the language does not know."""
    from gradcli.language.syntax.actions import MODULES

    root = path.partition(".")[0]
    near = closest(root, MODULES)
    help = "torch, numpy, math and gradcli can be imported"
    if near:
        help = f"did you mean `{near}`?"
    elif root in ("jax", "tensorflow", "scipy", "sympy", "autograd"):
        help += "; most functions have the same names there"
    return SyntaxFault("E0139", f"cannot import `{path}`", work.source, start, end, help=help)


def twice(work: Any, what: str, node: Any, first: Any) -> SyntaxFault:
    """Two parameters, arguments or methods of one name."""
    size = len(node.name) + (4 if what == "method" else 0)
    return SyntaxFault(
        "E0146",
        f"the {what} `{node.name}` stands here twice",
        work.source,
        node.start,
        node.start + size,
        "again",
        others=[(first.start, first.start + size, "first")],
        help="remove or rename one of them",
    )


def default_order(work: Any, param: n.Param, last: n.Param) -> SyntaxFault:
    """A parameter without a default after one that has a default."""
    return SyntaxFault(
        "E0146",
        f"`{param.name}` needs a default, since `{last.name}` before it has one",
        work.source,
        param.start,
        param.end,
        others=[(last.start, last.end, "has a default")],
        help=f"put `{param.name}` before `{last.name}`, or give it a default",
    )


def argument_order(work: Any, argument: n.Node, last: n.Keyword) -> SyntaxFault:
    """A plain argument after a named one."""
    return SyntaxFault(
        "E0146",
        "a plain argument stands after a named one",
        work.source,
        argument.start,
        argument.end,
        others=[(last.start, last.end, "named")],
        help="put the plain arguments first",
    )


def class_refused(work: Any, start: int, end: int) -> SyntaxFault:
    """Any class but a Function."""
    return SyntaxFault(
        "E0130",
        "classes are not part of the language, except a Function",
        work.source,
        start,
        end,
        help="write functions that take the parameters as arguments; an own derivative is "
        "class Name(Function): with forward and backward",
    )


def class_item(work: Any, item: n.Statement) -> SyntaxFault:
    """Something else than its methods in a Function."""
    what = f"the method `{item.name}`" if type(item) is n.Def else "this"
    last = work.source.line_bounds(item.start)[1]
    return SyntaxFault(
        "E0130",
        f"{what} cannot stand in a Function",
        work.source,
        item.start,
        min(item.end, last),
        help="a Function holds forward(ctx, ...) and backward(ctx, ...), also setup_context, jvp "
        "and vmap; put the rest outside",
    )


def class_incomplete(work: Any, called: str, start: int, methods: dict[str, n.Def]) -> SyntaxFault:
    """A Function without forward or backward."""
    missing = next(name for name in ("forward", "backward") if name not in methods)
    last = work.source.line_bounds(start)[1]
    return SyntaxFault(
        "E0130",
        f"the Function `{called}` has no {missing}",
        work.source,
        start,
        last,
        help=f"add a static method {missing}(ctx, ...)",
    )


def decorator_refused(work: Any, start: int, end: int) -> SyntaxFault:
    """A decorator other than @staticmethod in a Function."""
    shown = work.text[start:end].lstrip("@")
    name = shown.partition("(")[0]
    help = "write f = name(f) after the function"
    if name.rpartition(".")[2] in ("no_grad", "enable_grad", "inference_mode"):
        help = f"write with {name}(): inside the function"
    elif name == "staticmethod":
        help = "@staticmethod stands only in a class Name(Function):"
    return SyntaxFault(
        "E0132", "decorators are not part of the language", work.source, start, end, help=help
    )


def not_an_expression(source: Source, body: tuple[n.Statement, ...]) -> SyntaxFault:
    """A statement, several, or nothing, where one expression is wanted."""
    if not body:
        return SyntaxFault(
            "E0108", "the expression is empty", source, 0, 1, help="write a value, for example 2*x"
        )
    wrong = next((one for one in body if type(one) is not n.ExprStmt), body[-1])
    last = source.line_bounds(wrong.start)[1]
    return SyntaxFault(
        "E0108",
        "expected one expression",
        source,
        wrong.start,
        max(min(wrong.end, last), wrong.start + 1),
        "this is a statement" if type(wrong) is not n.ExprStmt else "a second expression",
        help="write a single value, for example 2*x",
    )
