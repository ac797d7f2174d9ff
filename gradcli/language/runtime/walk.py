"""A text without control flow: its tree is walked, and no code is made of it.

Making code of statements takes many times as long as running them. So the first run of such a text
computes as it walks. It does nothing but assign to names and call functions that
compute: where anything else stands, or goes wrong, the run is given up and code is made after all,
which runs from the beginning and finds the same error with its place. A text with a long sum is
walked every time, its different terms once each, and with all that ``computing`` knows.
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
from gradcli.language.runtime.computing import ACTIVATIONS, OPERANDS, GivenUp, Parts, assigned
from gradcli.language.syntax.nodes import (
    Assign,
    Binary,
    Call,
    Column,
    Compare,
    Def,
    ExprStmt,
    FromImport,
    Import,
    Lambda,
    Name,
    Number,
    Return,
    Statement,
    Sum,
    Unary,
)
from gradcli.ops.errors import LimitFault
from gradcli.ops.operator import OPERATORS, Operator

DEEPEST = 60
"""Expressions that nest deeper are left to generated code."""

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": builtins.add, "-": operator.sub, "*": builtins.multiply, "/": operator.truediv,
    "%": builtins.modulo, "**": builtins.power, "@": operator.matmul,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OF_TENSOR = {**_BINARY, "+": operator.add, "*": operator.mul}
"""The same where the left operand is a Tensor: nothing to bound."""
_UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos}

_BUILTIN = ("abs", "max", "min", "pow")


@functools.cache
def _computes(name: str) -> bool:
    """Whether functions and methods of a name do nothing but compute."""
    tables = (methods.public_operators(), OPERATORS, methods.COMPOSED, ACTIVATIONS, _BUILTIN)
    return any(name in table for table in tables)


def _entrywise(name: str) -> bool:
    operator = names.NAMES.get(name)
    operator = getattr(operator, "operator", operator)
    return operator.__class__ is Operator and operator.entrywise


def walked(
    checked: Checked, inputs: Mapping[str, Any], calls: int = 0,
    body: tuple[Statement, ...] | None = None,
) -> tuple[Any, dict[str, Any]] | None:  # fmt: skip
    """The value and the variables that the text leaves, or only a ``body`` of it; None where code
    has to be made of it.

    At most ``calls`` of functions of the text are made. Raises LimitFault (E0608) for the limit of
    time.
    """
    state = current()
    if state.placed or state.annotate or state.inspect:
        return None
    if (checked.functions and not checked.sums) or not names.NAMES.isdisjoint(checked.bound.keys()):
        return None
    everywhere = variables = dict(inputs)
    known = variables.get
    imported = checked.imported
    called: dict[tuple[str, int], Callable[..., Any]] = {}
    parts: Parts | None = None
    result = None
    row = 0  # of the columns in a long sum

    def value(node: Any, depth: int) -> Any:
        kind = node.__class__
        if kind is Binary and depth < DEEPEST:
            chain = []  # x*x*x nests to the left, and may be 100,000 long
            left = node.left
            while left.__class__ is Binary:
                chain.append(node)
                node, left = left, left.left
            # Most operands are variables and numbers: looked up here they cost no call.
            a = known(left.id) if left.__class__ is Name else None
            if a is None:
                a = value(left, depth + 1)
            while True:
                right = node.right
                b = known(right.id) if right.__class__ is Name else (
                    right.value if right.__class__ is Number else None)  # fmt: skip
                if b is None:
                    b = value(right, depth + 1)
                if b.__class__ not in OPERANDS:
                    raise GivenUp
                if a.__class__ is Tensor:
                    a = _OF_TENSOR[node.op](a, b)
                elif a.__class__ in OPERANDS:
                    a = _BINARY[node.op](a, b)
                else:
                    raise GivenUp
                if not chain:
                    return a
                node = chain.pop()
        elif kind is Name:
            name = node.id
            if name in variables:
                return variables[name]
            if name in names.CONSTANTS and name not in imported:
                return names.CONSTANTS[name]
        elif kind is Number:
            return node.value
        elif depth >= DEEPEST:
            raise GivenUp
        elif kind is Call and node.func.__class__ is Name and not node.keywords:
            name, args = node.func.id, []
            for arg in node.args:
                x = known(arg.id) if arg.__class__ is Name else None
                args.append(value(arg, depth + 1) if x is None else x)
            if OPERANDS.issuperset(map(type, args)):
                if parts and name in parts.functions and name not in variables:
                    return result_of(name, args, depth + 1)
                return function_of(name, len(args))(*args)
        elif kind is Sum:
            return summed(node, depth + 1)
        elif kind is Column:
            return node.values[row]
        elif kind is Compare and len(node.ops) == 1:
            a, b = value(node.left, depth + 1), value(node.rights[0], depth + 1)
            if a.__class__ is Tensor and b.__class__ in OPERANDS and node.ops[0] in _BINARY:
                return _BINARY[node.ops[0]](a, b)
        elif kind is Unary:
            signs = []  # as many as the text has room for
            while node.__class__ is Unary:
                signs.append(node.op)
                node = node.operand
            a = value(node, depth + 1)
            if a.__class__ in OPERANDS:
                while signs:
                    a = _UNARY[signs.pop()](a)
                return a
        elif parts:
            return parts.part(node, depth + 1)
        raise GivenUp

    def function_of(name: str, count: int) -> Callable[..., Any]:
        function = called.get((name, count))
        if function is None:
            found = names.NAMES.get(name)
            if name in imported:
                found = None if parts is None else parts.imported(name)
            if name in variables or found is None or not _computes(name):
                raise GivenUp
            function = called[name, count] = with_checks(found, count)
        return function

    def result_of(name: str, args: list[Any], depth: int) -> Any:
        nonlocal variables, known
        assert parts is not None  # it has the functions
        before = variables
        variables = parts.frame(name, args, everywhere)
        known = variables.get
        try:
            for line in parts.functions[name].lines:
                if line.__class__ is Assign:
                    variables[assigned(line)] = value(line.value, depth)
                elif line.__class__ is Return and line.value is not None:
                    return value(line.value, depth)
                else:
                    raise GivenUp
        finally:
            variables, known = before, before.get
        raise GivenUp

    def summed(node: Sum, depth: int) -> Any:
        from gradcli.language.runtime import sums  # texts of kilobytes only

        nonlocal row
        together = sums.Together(
            lambda part: value(part, depth), _BINARY,
            lambda name, count: function_of(name, count) if _entrywise(name) else None, DEEPEST,
        )  # fmt: skip
        terms: list[Any] = []
        counts: list[int] = []
        for term, count in zip(node.terms, node.counts, strict=True):
            if count > 1:
                try:
                    terms.append(together.run(term, count))
                    counts.append(count)
                    continue
                except sums.Apart:
                    pass
            for row in range(count):  # noqa: B007 - which Columns read
                terms.append(value(term, depth))
                counts.append(1)
        flat = (x for t in terms for x in (t if t.__class__ is list else (t,)))
        if not OPERANDS.issuperset(map(type, flat)):
            raise GivenUp
        return sums.in_order(terms, counts, node.order)

    try:
        if checked.sums or checked.long:
            parts = Parts(checked, value, _computes, calls)
        node: Any
        for node in checked.module.body if body is None else body:
            kind: Any = node.__class__
            if kind is Assign:
                name = assigned(node)
                if parts and node.value.__class__ is Lambda:
                    parts.define(name, node.value)
                    variables.pop(name, None)
                else:
                    variables[name] = value(node.value, 0)
            elif kind is ExprStmt:
                result = value(node.value, 0)
            elif parts and kind is Def:
                parts.define(node.name, node)
                variables.pop(node.name, None)
            elif not parts or kind not in (Import, FromImport):
                return None
    except LimitFault as fault:
        if fault.code == "E0608":
            raise
        return None
    except Exception:  # generated code finds it again, with its place
        return None
    if parts:
        for name in parts.functions.keys() - variables.keys():
            variables[name] = lambda *args, name=name: result_of(name, [*args], 0)
    return result, variables
