"""From a checked program to Python code: the second half of lowering.

The tree becomes ``ast`` nodes, never text, and those a code object. Measured on a loop over plain
numbers, code objects run at 1.0 to 1.6 times CPython's own time, nested closures at 5.8.

User names become ``v_name``, so that they cannot meet a helper's (``h_name``), a table
function's (``g_name``) or a temporary's (``t_1``). What each construct turns into, and why that
is safe, stands in ``lower_expressions`` and ``lower_statements``; the node kinds that may appear
at all stand here.

The line number of every emitted node is the number of the tree node it came from, so that a
traceback leads back to an exact span of the user's text at no cost while running.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from gradcli.language import names
from gradcli.language import nodes as n
from gradcli.language.check import Checked
from gradcli.language.emit import COMPARISONS, LOAD, OPERATORS, arguments
from gradcli.language.lower_statements import Statements

_ALLOWED = frozenset(
    (ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Assign, ast.AugAssign, ast.Expr,
     ast.If, ast.While, ast.For, ast.With, ast.withitem, ast.Break, ast.Continue, ast.Pass,
     ast.Return, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp,
     ast.IfExp, ast.Call, ast.keyword, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Lambda,
     ast.ListComp, ast.comprehension, ast.Load, ast.Store, ast.And, ast.Or, ast.Not, ast.USub,
     ast.UAdd, *OPERATORS.values(), *COMPARISONS.values())
)  # fmt: skip


def lower(
    checked: Checked,
    inputs: Sequence[str],
    keep: frozenset[str] | None = frozenset(),
    trace: bool = False,
    lists_in_place: bool = True,
) -> tuple[ast.Module, list[n.Node], dict[str, Any]]:
    """The code of ``main(inputs...)``, the tree node behind each line number, and its constants.

    Tensors assigned to a name in ``keep`` (None: any) keep their gradient, as by ``retain_grad``.
    With ``trace`` each statement comes with a call of ``h_trace``. ``lists_in_place``: some lists
    with ``for`` become loops, which nest 20 deep at most in CPython.
    ``main`` returns the value of the last expression statement and all variables. Raises
    SyntaxFault for names that are not known (E0201, E0202, E0204).
    """
    checked.require(inputs)
    work = _Program(checked, frozenset(inputs), keep, trace, lists_in_place)
    body = work.program()
    main = ast.FunctionDef(
        name="main",
        args=arguments([f"v_{name}" for name in inputs], []),
        body=body,
        decorator_list=[],
        lineno=1,
        col_offset=0,
    )
    if "type_params" in ast.FunctionDef._fields:
        main.type_params = []
    tree = ast.Module(body=[main], type_ignores=[])
    _only_allowed(tree)
    return tree, work.places, work.constants


def _only_allowed(tree: ast.Module) -> None:
    """Raises AssertionError where generated code holds anything that lowering never writes.

    ``ast.walk`` asks every field of every node in turn, and takes as long as the lowering.
    """
    waiting: list[Any] = [tree]
    while waiting:
        item = waiting.pop()
        for part in item if item.__class__ is list else item.__dict__.values():
            kind = part.__class__
            if kind is list or kind in _ALLOWED:
                waiting.append(part)
            elif kind is not int and isinstance(part, ast.AST):
                raise AssertionError(f"lowering emitted {kind.__name__}")


class _Program(Statements):
    """A whole program."""

    def program(self) -> list[ast.stmt]:
        checked = self.checked
        first = [
            self.assign(f"v_{name}", self.table(name, place))
            for name, place in checked.bound.items()
            if name in names.NAMES and name not in self.inputs
        ]
        first.append(self.assign("result", ast.Constant(None, **self.at(checked.module))))
        body = self.run(checked.module.body)
        final = ast.Return(
            ast.Tuple([self.name("result"), self.call("h_locals")], LOAD, **self.here()),
            **self.here(),
        )
        return [*first, *body, final]
