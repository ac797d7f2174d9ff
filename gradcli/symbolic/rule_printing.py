"""The derivative rule of an operator as text, for ``gradcli ops NAME``: as declared, traced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.read import partial
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.simplify.search import forms
from gradcli.symbolic.trace import trace as trace  # registers what operators do to symbols
from gradcli.symbolic.trace.symbol import Symbol, inside_a_rule

_PLAIN = {
    "linear": "linear: the transpose",
    "bilinear": "bilinear: the transpose by each input",
    "constant": "zero wherever it exists: no edge in the graph",
    "reduction": "the slope by each entry",
    "general": "its own vjp and jvp",
}


def rule_text(op: Operator | str) -> str:
    """What an operator's derivative is: a formula in x, y, its parameters and ``out``, or its kind.

    The formula holds away from isolated points; what is used there stands in ``Operator.edges``.

    Example:
        >>> rule_text("tanh")
        '1 - out**2'
    """
    op = OPERATORS[op] if isinstance(op, str) else op
    if op.kind != "elementwise":
        return _PLAIN[op.kind]
    texts = {
        name: partial_text(op, i) for i, name in enumerate(op.inputs) if op.rules[i] is not None
    }
    if None in texts.values():
        return "its own partial derivatives"
    if op.arity == 1:
        return str(*texts.values())
    return ", ".join(f"by {name}: {text}" for name, text in texts.items())


def partial_text(
    op: Operator | str, index: int, numbers: Mapping[str, float] | None = None
) -> str | None:
    """The partial derivative of an elementwise operator by one input, as ``rule_text`` writes it.

    ``numbers`` puts numbers in for some of its inputs and parameters. None for a rule that is no
    formula of its names, or has no value at these numbers.

    Example:
        >>> partial_text("pow", 0, {"y": 2})
        '2*x'
    """
    op = OPERATORS[op] if isinstance(op, str) else op
    v.reset()
    given: dict[str, Any] = {name: _variable(name) for name in (*op.inputs, *op.params, "out")}
    given.update(numbers or {})
    try:
        with inside_a_rule():
            found = partial(op, index, given)
        tensor = found.tensor if isinstance(found, Symbol) else v.number(np.asarray(found).item())
        return forms(tensor, ())[0].key
    except (Fault, TypeError, AttributeError, ValueError, ArithmeticError):
        return None
    finally:
        v.reset()


def _variable(name: str) -> Symbol:
    return Symbol(v.factor(v.base("name", name)))
