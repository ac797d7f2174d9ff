"""Why an operator gives a NaN or an infinity, and what people usually do about it.

``reason(operator, operands, backward)`` reads the operands at the place where it happened, and the
``cures`` of the operator's declaration. An operator without any is explained by its domain.
"""

from __future__ import annotations

import math
from typing import Any

from gradcli.ops.declaration.cures import LATER
from gradcli.ops.operator import OPERATORS


def reason(operator: str, operands: tuple[Any, ...], backward: bool) -> tuple[str | None, str]:
    """Why, in a few words (None where nothing is known), and the usual cure.

    ``operands`` are the values at the place, None where one is not known; ``operator`` is ``leaf``
    for a number that was given.

    >>> reason("log", (-1.0,), backward=False)[0]
    'log of a negative number'
    >>> reason("div", (2.0, 0.0), backward=False)[0]
    'division by zero'
    """
    if backward and any(isinstance(v, float) and not math.isfinite(v) for v in operands):
        return None, "an operand is not finite already: mend what the forward pass finds first"
    if operator == "leaf":
        return None if backward else "a number that was given", "give a finite number"
    op = OPERATORS.get(operator)
    known = all(isinstance(v, int | float) and not math.isnan(v) for v in operands)
    sums = op is not None and op.infix in ("+", "-", "*")
    if known and any(math.isinf(v) for v in operands) and not sums:
        return f"{operator} of an infinite number", LATER
    if op is None:
        return None, "where() and clamp() keep values away from an edge"
    given = dict(zip(op.inputs, operands, strict=False))
    for when, why, cure in op.slope_cures if backward else op.cures:
        if not when or (known and len(operands) == op.arity and eval(when, {}, given)):
            return why.format(op=operator), cure.format(op=operator)
    if backward:
        return None, reason(operator, operands, False)[1]
    if op.domain != "all x":
        return (
            None,
            f"{operator} asks for {op.domain}; where() and clamp() keep values away from it",
        )
    return None, "where() and clamp() keep values away from an edge"
