"""Exponentials, logarithms and the sigmoid family.

Each is computed so that no overflow spoils it and nothing cancels: see the formula beside it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.declaration import cures
from gradcli.ops.kinds import composite, elementwise
from gradcli.ops.operator import OPERATORS, Operator, is_complex

_HALF = np.dtype(np.float16)

exp = elementwise(
    "exp",
    np.exp,
    lambda out: out,
    doc="The exponential, e**x.",
    values={0: 1},
    positive=True,
    cures=cures.EXP,
)
exp2 = elementwise(
    "exp2",
    np.exp2,
    lambda out: out * _LN2,
    doc="2**x.",
    values={0: 1},
    positive=True,
    cures=cures.EXP,
)
expm1 = elementwise(
    "expm1",
    np.expm1,
    lambda x: exp(x),  # out + 1 has lost its digits far below 0
    doc="e**x - 1, exact near 0.",
    values={0: 0},
    cures=cures.EXP,
)
log = elementwise(
    "log",
    np.log,
    lambda t, x: t / x,
    doc="The natural logarithm.",
    domain="x > 0",
    edges="log(-1) is NaN, with slope -1",
    aliases=("ln",),
    example="log(x) --x 2",
    values={1: 0},
    latex=r"\log",
    cures=cures.LOG,
)


def _to_base(base: int, at: int) -> Operator:
    over = math.log(base)
    return elementwise(
        f"log{base}",
        getattr(np, f"log{base}"),
        lambda t, x: t / (x * over),
        doc=f"The logarithm to base {base}.",
        domain="x > 0",
        example=f"log{base}(x) --x {at}",
        values={1: 0},
        latex=rf"\log_{{{base}}}",
        cures=cures.LOG,
    )


log2, log10 = _to_base(2, 8), _to_base(10, 100)


def _log1p(x: Any) -> Any:
    if not is_complex(x) or not isinstance(x, np.ndarray | np.generic):
        return np.log1p(x)  # on a GPU, the GPU's own
    a, b = np.real(x), np.imag(x)
    with np.errstate(over="ignore", invalid="ignore"):
        near = 0.5 * np.log1p(a * (2.0 + a) + b * b)  # log(abs(1 + x)), exact near 0
        out = np.asarray(np.log1p(x))  # laid out as results are
        out.real = np.where(np.abs(a) + np.abs(b) < 0.5, near, out.real)
    return out[()]


log1p = elementwise(
    "log1p",
    _log1p,
    lambda t, x: t / (1.0 + x),
    doc="log(1 + x), exact near 0.",
    domain="x > -1",
    complex_holds=2.5,
    grad_name="Log1PBackward0",
    values={0: 0},
    cures=cures.LOG1P,
)


# Where exp(-x) overflows the quotient is 0, as it should be, and nothing to announce. A decorator
# takes half the time of a block.
@np.errstate(over="ignore")
def _sigmoid(x: Any) -> Any:
    if getattr(x, "dtype", None) == _HALF:
        return _sigmoid(x.astype(np.float32)).astype(_HALF)  # exp(12) is too large for a half
    out = 1.0 / (1.0 + np.exp(-x))
    if is_complex(x):
        lost = np.isnan(out) & ~np.isnan(x)  # an infinite complex exp(-x) has no quotient
        out = np.where(lost, np.exp(x), out)[()] if lost.any() else out
    return out


sigmoid = elementwise(
    "sigmoid",
    _sigmoid,
    lambda t, out: t * (1.0 - out) * out,
    aliases=("expit",),
    holds=2,
    doc="The logistic function 1/(1 + exp(-x)).",
    edges="the slope is read off the result, as in PyTorch: 0 from x = 37 on",
    values={0: 0.5},
    positive=True,
    numpy="""def _sigmoid(x):
    return np.exp(-np.logaddexp(-x, 0.0))""",
    latex=r"\sigma",
    python="1.0 / (1.0 + exp(-{0}))",
)
logistic: Operator = composite(
    "logistic",
    lambda x: sigmoid(x),
    _sigmoid,
    lambda t, x, out: t * out * logistic(-x),
    doc="sigmoid as the slope of others: it reads x, where 1 - out has lost its digits.",
    positive=True,
    public=False,
)
logsigmoid = elementwise(
    "logsigmoid",
    lambda x: np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x))),
    lambda x: logistic(-x),
    holds=3,
    doc="log(sigmoid(x)), without underflow.",
    grad_name="LogSigmoidBackward0",
    rows=True,
    numpy="(-np.logaddexp(-({0}), 0.0))",
    pytorch="torch.nn.functional.logsigmoid",
    latex=r"\log\sigma",
    python="({0} if {0} < 0.0 else 0.0) - log1p(exp(-fabs({0})))",
    refuses={"bool int complex": "log_sigmoid_cpu"},
)
softplus = elementwise(
    "softplus",
    lambda x: np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))),
    lambda x: logistic(x),
    holds=3,
    doc="log(1 + exp(x)), without overflow.",
    positive=True,
    numpy="np.logaddexp({0}, 0.0)",
    pytorch="torch.logaddexp({0}, torch.zeros_like({0}))",
    refuses={"bool int complex": "softplus_cpu"},
    python="({0} if {0} > 0.0 else 0.0) + log1p(exp(-fabs({0})))",
)
logit = elementwise(
    "logit",
    lambda x: np.log(x / (1.0 - x)),
    lambda t, x: t * (OPERATORS["rsqrt"](x) ** 2 + OPERATORS["rsqrt"](1.0 - x) ** 2),
    node={"saved": {"eps": None}},
    holds=2,
    doc="The inverse of sigmoid: log(x/(1 - x)).",
    domain="0 < x < 1",
    example="logit(x) --x 0.3",
    numpy="""def _logit(x):
    return np.log(x) - np.log1p(-x)""",
    refuses={"complex": "logit_cpu"},
    cures=cures.LOGIT,
)


def log_of_both(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)), of complex numbers too; of equal real parts y's is subtracted."""
    if not (is_complex(x) or is_complex(y)):
        return np.logaddexp(x, y)
    first = np.real(x) >= np.real(y)
    top, low = np.where(first, x, y), np.where(first, y, x)
    gone = np.isinf(top.real)
    found = np.where(gone, top, top + np.log1p(np.exp(np.where(gone, 0.0, low - top))))
    none, both = np.isneginf(top.real), np.isposinf(low.real)  # two infinities point each its way
    found = np.where(none, low, np.where(both, np.log(np.exp(top) + np.exp(low)), found))
    return np.where(np.isnan(x) | np.isnan(y), complex(np.nan, np.nan), found)[()]


logaddexp = elementwise(
    "logaddexp",
    log_of_both,
    lambda x, y: logistic(x - y),
    lambda x, y: logistic(y - x),
    complex_holds=5.3,
    doc="log(exp(x) + exp(y)), without overflow.",
    example="logaddexp(x, y) --x 1 --y 2",
    refuses={"bool int": "logaddexp_cpu"},
)
softsign = elementwise(
    "softsign",
    lambda x: x / (1.0 + np.abs(x)),
    lambda t, x: t * (1.0 / (1.0 + OPERATORS["abs"](x))) ** 2,
    holds=2,
    doc="x/(1 + abs(x)).",
    kink="at {0} = 0: second derivative of softsign taken as 0",
    refuses={"complex": "softsign_cpu"},
    grad_name="DivBackward0",
    numpy="""def _softsign(x):
    return x / (1 + np.abs(x))""",
    pytorch="torch.nn.functional.softsign",
)

_LN2 = 0.6931471805599453
