"""Explanations of what the grammar accepts and the language does not: assignment targets, the order
of parameters, classes, decorators, imports, and a text that should be one expression.

One function for each kind of SyntaxFailure, by the offsets of the mistake.
"""

from __future__ import annotations

from gradcli.language.diagnostics.lexical import Explanation, Where, plain
from gradcli.language.diagnostics.render import SyntaxFault, closest
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.actions import MODULES
from gradcli.language.syntax.parser import MOST_STATEMENTS
from gradcli.ops.errors import LimitFault


def bad_target(at: Where, target: n.Expr, augmented: bool = False) -> SyntaxFault:
    """Something that cannot be assigned to."""
    source, start, end = at
    shown = {
        n.Call: "a call", n.Number: "a number", n.String: "a string", n.FString: "a string",
        n.Literal: f"`{source.text[start:end]}`", n.Compare: "a comparison",
        n.Conditional: "a conditional expression", n.Lambda: "a function",
        n.ListComp: "a list comprehension", n.GeneratorExp: "a generator",
        n.Dict: "a dictionary", n.Set: "a set", n.Starred: "a starred value", n.Tuple: "a tuple",
        n.List: "a list",
    }.get(type(target), "an expression")  # fmt: skip
    help = "on the left of `=` stands a name, x[i], or several with commas; to compare, write `==`"
    if type(target) is n.Call:
        called = source.text[target.func.start : target.func.end]
        help = f"to define a function, write {called} = lambda x: ..."
    if type(target) is n.Lambda:
        help = "write f = lambda x: ...; a function that assigns is written with def"
    if augmented:
        help = "on the left stands a name or x[i]"
    return SyntaxFault("E0109", f"cannot assign to {shown}", *at, help=help)


def unknown_module(at: Where, path: str) -> SyntaxFault:
    """The import of a module that the language does not know."""
    root = path.partition(".")[0]
    near = closest(root, MODULES)
    help = f"{', '.join(MODULES[:-1])} and {MODULES[-1]} can be imported"
    if near:
        help = f"did you mean `{near}`?"
    elif root in ("jax", "tensorflow", "scipy", "sympy", "autograd"):
        help += "; most functions have the same names there"
    return SyntaxFault("E0139", f"cannot import `{path}`", *at, help=help)


def duplicate_name(at: Where, what: str, name: str, first: int) -> SyntaxFault:
    """Two parameters, arguments or methods of one name; ``first`` is the place of the other."""
    source, start, _ = at
    size = len(name) + (len("def ") if what == "method" else 0)
    return SyntaxFault(
        "E0146", f"the {what} `{name}` stands here twice", source, start, start + size, "again",
        others=[(first, first + size, "first")], help="remove or rename one of them",
    )  # fmt: skip


def default_order(at: Where, parameter: n.Param, last: n.Param) -> SyntaxFault:
    """A parameter without a default after one that has a default."""
    said = f"`{parameter.name}` needs a default, since `{last.name}` before it has one"
    help = f"put `{parameter.name}` before `{last.name}`, or give it a default"
    others = [(last.start, last.end, "has a default")]
    return SyntaxFault("E0146", said, *at, others=others, help=help)


def argument_order(at: Where, last: n.Keyword) -> SyntaxFault:
    """A plain argument after a named one."""
    said = "a plain argument stands after a named one"
    mend = "put the plain arguments first"
    return SyntaxFault("E0146", said, *at, others=[(last.start, last.end, "named")], help=mend)


def class_member(at: Where, member: n.Statement, function: bool) -> SyntaxFault:
    """Something else than methods and values in a class, or than its methods in a Function."""
    source, start, end = at
    what = f"the method `{member.name}`" if type(member) is n.Def else "this"
    where = "class"
    help = "a class holds methods, and values as name = value; put the rest into __init__"
    if function:
        where = "Function"
        help = (
            "a Function holds forward(ctx, ...) and backward(ctx, ...), also setup_context, jvp "
            "and vmap; put the rest outside"
        )
    said, end = f"{what} cannot stand in a {where}", min(end, source.line_bounds(start)[1])
    return SyntaxFault("E0130", said, source, start, end, help=help)


def special_name(at: Where) -> SyntaxFault:
    """A name with two underscores where it has no meaning, or a keyword that begins with one."""
    source, start, end = at
    shown = source.text[start:end]
    help = "such names are those of methods in a class, and __name__"
    if shown == "__class__":
        help = "write type(x), or x.__class__.__name__ for its name"
    elif not shown.startswith("__"):
        help = "the functions of the language have no such parameter; rename it"
    return SyntaxFault("E0112", f"the name `{shown}` begins with an underscore", *at, help=help)


def incomplete_class(at: Where, name: str) -> SyntaxFault:
    """A Function without forward."""
    source, start, _ = at
    said, last = f"the Function `{name}` has no forward", source.line_bounds(start)[1]
    help = "add a static method forward(ctx, ...)"
    return SyntaxFault("E0130", said, source, start, last, help=help)


def too_many_statements(_at: Where) -> LimitFault:
    """A program of more statements than the parser takes."""
    said = f"the program has more than {MOST_STATEMENTS:,} statements"
    mend = "write a loop, or load numbers from a data file (--x @file.csv)"
    return LimitFault("E0603", said, help=mend)


EXPLANATIONS: dict[str, Explanation] = {
    **{
        explanation.__name__: explanation
        for explanation in (
            bad_target, unknown_module, duplicate_name, default_order, argument_order,
            class_member, incomplete_class, special_name, too_many_statements,
        )
    },
    "parameter_order": plain("E0146", "this parameter stands in the wrong place",
        "the order is (a, b=1, *rest, c, d=2, **options); after a lone * others follow"),
    "class_bases": plain("E0130", "a class derives from one other at most",
        "write class Net(nn.Module):"),
    "decorator": plain("E0132", "this decorator cannot stand here",
        "the methods of a Function stand under @staticmethod, and @once_differentiable"),
    "bare_generator": plain("E0135", "a generator among other arguments needs brackets of its own",
        "write f((x for x in items), 2)"),
    "bare_except": plain("E0131", "an `except:` that catches everything stands last",
        "put it after the others, or say what it catches: except ValueError:"),
}  # fmt: skip
"""By the kind of a SyntaxFailure."""
