"""A text without control flow: its tree is walked, and no code is made of it.

Making code of statements takes many times as long as running them. So the first run of such a text
computes as it walks. It does nothing but assign to names and call functions that
compute: where anything else stands, or goes wrong, the run is given up and code is made after all,
which runs from the beginning and finds the same error with its place. A text with a long sum is
walked every time, its different terms once each.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from gradcli.engine.grad_mode import current
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import methods
from gradcli.language.compile.resolve import Checked
from gradcli.language.names import builtins
from gradcli.language.names import table as names
from gradcli.language.names.argument_checks import with_checks
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import LimitFault

DEEPEST = 60
"""Expressions that nest deeper are left to generated code."""

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": builtins.add, "-": operator.sub, "*": builtins.multiply, "/": operator.truediv,
    "%": builtins.modulo, "**": builtins.power, "@": operator.matmul,
}  # fmt: skip
_UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos}
_OPERANDS = frozenset((Tensor, float, int))


_BUILTIN = ("abs", "max", "min", "pow")


class _GivenUp(Exception):
    """The text has something that is left to generated code."""


@functools.cache
def _computing(name: str) -> Any:
    """The function of a bare name that does nothing but compute. Raises _GivenUp."""
    pure = name in methods.public_operators() or name in methods.COMPOSED or name in _BUILTIN
    if not pure or name not in names.NAMES:
        raise _GivenUp
    return names.NAMES[name]


def walked(checked: Checked, inputs: Mapping[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """The value and the variables that the text leaves; None where code has to be made of it.

    Raises LimitFault (E0608) for the limit of time.
    """
    body = checked.module.body
    state = current()
    if state.placed or state.annotate or state.inspect:
        return None
    if any(name in names.NAMES for name in checked.bound) or checked.functions:
        return None
    variables = dict(inputs)
    result = None

    def value(node: Any, depth: int) -> Any:
        kind = node.__class__
        if kind is n.Name:
            name = node.id
            if name in variables:
                return variables[name]
            if name in names.CONSTANTS and name not in checked.imported:
                return names.CONSTANTS[name]
            raise _GivenUp
        if kind is n.Number:
            return node.value
        if depth > DEEPEST:
            raise _GivenUp
        if kind is n.Binary:
            a, b = value(node.left, depth + 1), value(node.right, depth + 1)
            if a.__class__ in _OPERANDS and b.__class__ in _OPERANDS:
                return _BINARY[node.op](a, b)
        elif kind is n.Sum:
            terms = [value(term, depth + 1) for term in node.terms]
            if all(term.__class__ in _OPERANDS for term in terms):
                from gradcli.language.runtime.sums import in_order  # texts of kilobytes only

                return in_order(terms, node.order)
        elif kind is n.Unary:
            a = value(node.operand, depth + 1)
            if a.__class__ in _OPERANDS:
                return _UNARY[node.op](a)
        elif kind is n.Call and node.func.__class__ is n.Name and not node.keywords:
            name = node.func.id
            if name not in variables and name not in checked.imported:
                args = [value(a, depth + 1) for a in node.args]
                if all(a.__class__ in _OPERANDS for a in args):
                    return with_checks(_computing(name), len(args))(*args)
        raise _GivenUp

    try:
        for node in body:
            kind: Any = node.__class__
            if kind is n.Assign:
                (target,) = node.targets  # type: ignore[attr-defined]
                if target.__class__ is not n.Name:
                    return None
                variables[target.id] = value(node.value, 0)  # type: ignore[attr-defined]
            elif kind is n.ExprStmt:
                result = value(node.value, 0)  # type: ignore[attr-defined]
            else:
                return None
    except LimitFault as fault:
        if fault.code == "E0608":
            raise
        return None
    except Exception:  # generated code finds it again, with its place
        return None
    return result, variables
