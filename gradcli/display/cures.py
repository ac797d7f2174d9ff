"""Why an operator gives a NaN or an infinity, and what people usually do about it.

``reason(operator, operands, backward)`` reads the operands at the place where it happened. An
operator without an entry is explained by its declared domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.ops.operator import OPERATORS

Entry = tuple[str, Callable[..., bool], str, str]
"""Operators, when it applies (called with the operands), the reason, the cure."""

_ABOVE = "keep the argument above 0: clamp(x, min=1e-12), or softplus(x) where x may be anything"
_TINY = "add a small number, as in log(x + 1e-12); x*log(x) is where(x > 0, x*log(x), 0)"
_CHOOSE = "where(x != 0, y/x, 0) leaves the zero out: a branch not taken contributes nothing"
_LARGEST = "subtract the largest entry first, as softmax, logsumexp and log_softmax do"
_INSIDE = "clamp(x, -1, 1) keeps the argument inside"
_CLEAR = "clamp(x, -0.999999, 0.999999) keeps clear of the ends"
_SHIFT = "sqrt(x + 1e-12), or where(x > 0, sqrt(x), 0): a branch not taken contributes nothing"
_LATER = "mend the operation that made the infinity; a limit is better taken by hand"

_FORWARD: tuple[Entry, ...] = (
    ("log log2 log10", lambda x: x < 0, "{op} of a negative number", _ABOVE),
    ("log log2 log10", lambda x: x == 0, "{op} of zero", _TINY),
    ("log1p", lambda x: x <= -1, "log1p of -1 or less", "clamp(x, min=-0.999999)"),
    ("sqrt rsqrt", lambda x: x < 0, "{op} of a negative number", "sqrt(clamp(x, min=0)), or abs"),
    ("rsqrt reciprocal", lambda x: x == 0, "one over zero", _CHOOSE),
    ("div", lambda x, y: x == y == 0, "zero over zero", _CHOOSE),
    ("div", lambda x, y: y == 0, "division by zero", _CHOOSE),
    ("asin acos", lambda x: abs(x) > 1, "{op} of a number outside -1 to 1", _INSIDE),
    ("acosh", lambda x: x < 1, "acosh of a number below 1", "clamp(x, min=1)"),
    ("atanh", lambda x: abs(x) >= 1, "atanh of a number that is not inside -1 to 1", _CLEAR),
    ("logit", lambda x: not 0 < x < 1, "logit of a number that is not inside 0 to 1",
     "clamp(x, 1e-12, 1 - 1e-12), or keep the value before its sigmoid"),
    ("exp exp2 expm1 sinh cosh", lambda x: abs(x) > 10, "{op} of a large number",
     _LARGEST),
    ("pow", lambda x, y: x < 0 and y != int(y), "a fractional power of a negative number",
     "abs(x)**y, or sign(x)*abs(x)**y"),
    ("pow", lambda x, y: x == 0 > y, "zero to a negative power", _CHOOSE),
    ("pow", lambda x, y: abs(x) > 1, "a power of a large number",
     "scale x down first, or work with logarithms"),
    ("sub", lambda x, y: x == y, "inf - inf", _LATER),
    ("add", lambda x, y: x == -y, "inf - inf", _LATER),
    ("mul", lambda x, y: 0 in (x, y), "0 * inf", _LATER),
    ("add sub mul div square", lambda *xs: True, "{op} of values too large for their dtype",
     "scale the values down, or give --dtype float64"),
    ("sum mean prod dot matmul outer norm cumsum contract", lambda *xs: True,
     "{op} of values too large for their dtype",
     "scale the values down, or give --dtype float64"),
    ("std var", lambda *xs: True, "{op} of fewer than two entries",
     "{op}(x, correction=0) divides by n instead of n - 1"),
    ("logdet", lambda *xs: True, "logdet of a matrix whose determinant is not above 0",
     "add a small multiple of eye(n), or take slogdet"),
    ("leaf", lambda *xs: True, "a number that was given", "give a finite number"),
)  # fmt: skip
_BACKWARD: tuple[Entry, ...] = (
    ("sqrt", lambda x: x == 0, "the slope of sqrt at zero", _SHIFT),
    ("rsqrt reciprocal log log2 log10 logit", lambda x: x == 0, "the slope of {op} at zero", _TINY),
    ("div", lambda x, y: y == 0, "the slope of a quotient at zero", _CHOOSE),
    ("pow", lambda x, y: x == 0 and y < 1, "the slope of a power below 1 at zero", _SHIFT),
    ("pow", lambda x, y: x <= 0, "the slope of x**y by y, where x is not above 0",
     "keep x above 0, or make y a number and not a variable"),
    ("asin acos atanh", lambda x: abs(x) == 1, "the slope of {op} at an end of its domain",
     _CLEAR),
    ("acosh", lambda x: x == 1, "the slope of acosh at 1", "clamp(x, min=1.000001)"),
    ("cbrt", lambda x: x == 0, "the slope of cbrt at zero", _SHIFT),
    ("exp exp2 expm1 sinh cosh", lambda x: abs(x) > 10, "the slope of {op} at a large number",
     _LARGEST),
)  # fmt: skip


def reason(operator: str, operands: tuple[Any, ...], backward: bool) -> tuple[str | None, str]:
    """Why, in a few words (None where nothing is known), and the usual cure.

    ``operands`` are the values at the place, None where one is not known.

    >>> reason("log", (-1.0,), backward=False)[0]
    'log of a negative number'
    >>> reason("div", (2.0, 0.0), backward=False)[0]
    'division by zero'
    """
    if backward and any(isinstance(v, float) and not math.isfinite(v) for v in operands):
        return None, "an operand is not finite already: mend what the forward pass finds first"
    known = all(isinstance(v, int | float) and not math.isnan(v) for v in operands)
    if known and any(math.isinf(v) for v in operands) and operator not in ("add", "sub", "mul"):
        return f"{operator} of an infinite number", _LATER
    for names, applies, why, cure in _BACKWARD if backward else _FORWARD:
        if operator not in names.split():
            continue
        needed = applies.__code__.co_argcount
        if needed and (not known or needed != len(operands)):
            continue
        if applies(*operands[: needed or None]):
            return why.format(op=operator), cure.format(op=operator)
    if backward:
        return None, reason(operator, operands, False)[1]
    domain = OPERATORS[operator].domain if operator in OPERATORS else ""
    if domain and domain != "all x":
        return None, f"{operator} asks for {domain}; where() and clamp() keep values away from it"
    return None, "where() and clamp() keep values away from an edge"
