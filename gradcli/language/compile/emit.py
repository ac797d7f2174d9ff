"""Making Python code from tree nodes: what both halves of lowering share.

The driver runs suspended generators, so that a tree of any depth is lowered without recursion; a
lowered expression deeper than ``DEEP`` is computed into a temporary, because CPython's own compiler
recurses.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from typing import Any

from gradcli.language.compile.resolve import Checked
from gradcli.language.names import table as names
from gradcli.language.syntax import nodes as n

DEEP = 40
LOAD, STORE = ast.Load(), ast.Store()
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


class Emitter:
    """One pass over one program: the statements made so far, and ways to make more.

    The methods that lower a kind of node are named after it (see ``expressions`` and
    ``statements``); they are generators that yield the children to be lowered first.
    """

    def __init__(
        self,
        checked: Checked,
        inputs: frozenset[str],
        keep: frozenset[str] | None,
        trace: bool = False,
        lists_in_place: bool = True,
    ) -> None:
        self.lists_in_place = lists_in_place
        self.keep = keep
        self.trace = trace
        self.checked = checked
        self.inputs = inputs
        self.places: list[n.Node] = [checked.module]
        self.constants: dict[str, Any] = {}
        self.out: list[ast.stmt] = []
        self.temporaries = 0
        self.nesting = 0  # of functions
        self.line = 1
        counted = "range" not in inputs and "range" not in checked.imported
        self.counters = checked.counters if counted else frozenset()

    # -- the driver ----------------------------------------------------------------------------

    def run(self, root: Any) -> Any:
        """Lower without recursion: a stack of suspended generators."""
        stack = [self.visit(root)]
        value = None
        while stack:
            try:
                child = stack[-1].send(value)
            except StopIteration as done:
                stack.pop()
                value = done.value
            else:
                stack.append(self.visit(child))
                value = None
        return value

    def visit(self, node: Any) -> Generator:
        """The generator that lowers a node, or a block where ``node`` is a tuple of statements."""
        if node.__class__ is tuple:
            return self.block(node)
        return getattr(self, node.__class__.__name__)(node)

    # -- making code -----------------------------------------------------------------------------

    def at(self, node: n.Node) -> dict[str, int]:
        """The position arguments of code that comes from ``node``."""
        self.places.append(node)
        self.line = len(self.places)
        return {"lineno": self.line, "col_offset": 0, "end_lineno": self.line, "end_col_offset": 0}

    def here(self) -> dict[str, int]:
        """The position arguments of code that comes from the node that ``at`` was last given."""
        return {"lineno": self.line, "col_offset": 0, "end_lineno": self.line, "end_col_offset": 0}

    def name(self, name: str) -> ast.Name:
        """A variable of the generated code, read."""
        return ast.Name(name, LOAD, **self.here())

    def assign(self, name: str, code: ast.expr) -> ast.Assign:
        """``name = code`` in the generated code."""
        return ast.Assign([ast.Name(name, STORE, **self.here())], code, **self.here())

    def call(self, function: str, *args: ast.expr, at: dict | None = None) -> ast.Call:
        """A call of a helper or function of the generated code, by position only."""
        where = at or self.here()
        return ast.Call(ast.Name(function, LOAD, **where), list(args), [], **where)

    def constant(self, prefix: str, value: Any) -> str:
        """Put a value into the table of constants; the new name it has there."""
        name = f"{prefix}{len(self.constants)}"
        self.constants[name] = value
        return name

    def table(self, name: str, node: n.Node) -> ast.expr:
        """A name of the language: a number as it is, a function by its global ``g_name``."""
        where = self.at(node)
        if name in names.CONSTANTS:
            return ast.Constant(names.CONSTANTS[name], **where)
        self.constants[f"g_{name}"] = names.function(name)
        return ast.Name(f"g_{name}", LOAD, **where)

    def spelled(self, name: n.Name) -> str:
        """What a variable is called in generated code."""
        return self.checked.renamed.get(id(name)) or f"v_{name.id}"

    def fresh(self) -> str:
        """The name of a new temporary."""
        self.temporaries += 1
        return f"t_{self.temporaries}"

    def spill(self, value: Value, at: int | None = None) -> Value:
        """Compute ``value`` into a temporary, now or at an earlier place in the block."""
        name = self.fresh()
        self.out.insert(len(self.out) if at is None else at, self.assign(name, value.code))
        return Value(self.name(name), 1, value.inexact, value.bits)

    def sequence(self, children: Sequence[n.Node]) -> Generator:
        """Lower expressions that are evaluated one after the other, keeping that order."""
        done: list[Value] = []
        for child in children:
            mark = len(self.out)
            value = yield child
            if len(self.out) > mark:
                for i, earlier in enumerate(done):
                    if not isinstance(earlier.code, ast.Constant | ast.Name):
                        done[i] = self.spill(earlier, mark)
                        mark += 1
            done.append(self.spill(value) if value.depth > DEEP else value)
        return done

    def aside(self, child: Any) -> Generator:
        """Lower an expression that runs only sometimes: the statements it needs, and its value."""
        outer, self.out = self.out, []
        value = yield child
        body, self.out = self.out, outer
        return body, value


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
