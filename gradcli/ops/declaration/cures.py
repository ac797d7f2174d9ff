"""Why an operator gives a NaN or an infinity, and what people usually do: ``Operator.cures``.

An entry is a condition on the inputs at the place where it happened ("" where any will do), the
reason and the cure. The reason is of "the slope of ..." where it is a gradient that is none.
``{op}`` is the operator's name.
"""

from __future__ import annotations

Cures = tuple[tuple[str, str, str], ...]

LATER = "mend the operation that made the infinity; a limit is better taken by hand"
"""The cure where an operand is infinite already."""
_LESS = "scale the values down, or give --dtype float64"
_TINY = "add a small number, as in log(x + 1e-12); x*log(x) is where(x > 0, x*log(x), 0)"
_CHOOSE = "where(x != 0, y/x, 0) leaves the zero out: a branch not taken contributes nothing"
_CLEAR = "clamp(x, -0.999999, 0.999999) keeps clear of the ends"
_SHIFT = "sqrt(x + 1e-12), or where(x > 0, sqrt(x), 0): a branch not taken contributes nothing"
_LARGEST = "subtract the largest entry first, as softmax, logsumexp and log_softmax do"

TOO_LARGE: Cures = (("", "{op} of values too large for their dtype", _LESS),)
_LOG_SLOPE = ("x == 0", "the slope of {op} at zero", _TINY)
LOG: Cures = (
    ("x < 0", "{op} of a negative number",
     "keep the argument above 0: clamp(x, min=1e-12), or softplus(x) where x may be anything"),
    ("x == 0", "{op} of zero", _TINY),
    _LOG_SLOPE,
)  # fmt: skip
LOG1P: Cures = (("x <= -1", "log1p of -1 or less", "clamp(x, min=-0.999999)"),)
LOGIT: Cures = (
    ("not 0 < x < 1", "logit of a number that is not inside 0 to 1",
     "clamp(x, 1e-12, 1 - 1e-12), or keep the value before its sigmoid"),
    _LOG_SLOPE,
)  # fmt: skip
EXP: Cures = (
    ("abs(x) > 10", "{op} of a large number", _LARGEST),
    ("abs(x) > 10", "the slope of {op} at a large number", _LARGEST),
)
CBRT: Cures = (("x == 0", "the slope of {op} at zero", _SHIFT),)
_NEGATIVE = ("x < 0", "{op} of a negative number", "sqrt(clamp(x, min=0)), or abs")
SQRT: Cures = (_NEGATIVE, *CBRT)
RECIPROCAL: Cures = (("x == 0", "one over zero", _CHOOSE), _LOG_SLOPE)
RSQRT: Cures = (_NEGATIVE, *RECIPROCAL)
DIV: Cures = (
    ("x == y == 0", "zero over zero", _CHOOSE), ("y == 0", "division by zero", _CHOOSE), *TOO_LARGE,
    ("y == 0", "the slope of a quotient at zero", _CHOOSE),
)  # fmt: skip
POW: Cures = (
    ("x < 0 and y != int(y)", "a fractional power of a negative number",
     "abs(x)**y, or sign(x)*abs(x)**y"),
    ("x == 0 > y", "zero to a negative power", _CHOOSE),
    ("abs(x) > 1", "a power of a large number", "scale x down first, or work with logarithms"),
    ("x == 0 and y < 1", "the slope of a power below 1 at zero", _SHIFT),
    ("x <= 0", "the slope of x**y by y, where x is not above 0",
     "keep x above 0, or make y a number and not a variable"),
)  # fmt: skip
ADD: Cures = (("x == -y", "inf - inf", LATER), *TOO_LARGE)
SUB: Cures = (("x == y", "inf - inf", LATER), *TOO_LARGE)
MUL: Cures = (("0 in (x, y)", "0 * inf", LATER), *TOO_LARGE)
_END = ("abs(x) == 1", "the slope of {op} at an end of its domain", _CLEAR)
ASIN: Cures = (
    ("abs(x) > 1", "{op} of a number outside -1 to 1", "clamp(x, -1, 1) keeps the argument inside"),
    _END,
)
ATANH: Cures = (("abs(x) >= 1", "atanh of a number that is not inside -1 to 1", _CLEAR), _END)
ACOSH: Cures = (
    ("x < 1", "acosh of a number below 1", "clamp(x, min=1)"),
    ("x == 1", "the slope of acosh at 1", "clamp(x, min=1.000001)"),
)
SPREAD: Cures = (
    ("", "{op} of fewer than two entries", "{op}(x, correction=0) divides by n instead of n - 1"),
)
LOGDET: Cures = (
    ("", "logdet of a matrix whose determinant is not above 0",
     "add a small multiple of eye(n), or take slogdet"),
)  # fmt: skip
