"""Functions with kinks: absolute value, choices, minima and maxima, clamping, rectifiers.

A kink has no derivative; the slope used there is PyTorch's and stands in
each declaration's ``edges``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.comparison import MANY, chosen, ge, le, logical_not, sign
from gradcli.ops.declaration.node_names import of_choice
from gradcli.ops.errors import UnwrittenFault, bad_dtype, bad_value
from gradcli.ops.exponential import exp, log, log1p, logistic, logit, softplus
from gradcli.ops.kinds import composite, elementwise
from gradcli.ops.operator import Operator, is_complex
from gradcli.ops.torch_messages import SCALARS

_BOOL = np.dtype(bool)


def _where(condition: Any, x: Any, y: Any) -> Any:
    kind = getattr(condition, "dtype", None)
    if kind is not _BOOL and kind is not None and kind.kind not in "bu":
        said = "the condition of where has to be a tensor of booleans"
        told = "where expected condition to be a boolean tensor, but got a tensor with dtype"
        told += f" {SCALARS.get(str(kind), kind)}"
        raise bad_dtype(said, help="write where(c != 0, x, y)", torch=told)
    many = kind is _BOOL and condition.size >= MANY
    found = chosen(condition, x, y) if many else np.where(condition, x, y)
    return found if found.ndim else found[()]


where: Operator = elementwise(
    "where",
    _where,
    None,
    lambda t, condition: where(condition, t, 0.0),
    lambda t, condition: where(condition, 0.0, t),
    jvp=lambda tx, ty, condition: where(condition, tx, ty),
    dtypes="where",
    holds=1.2,
    doc="x where the condition holds, else y; entry by entry.",
    edges="the branch not taken contributes exactly 0, even where its own slope is inf or NaN",
    example="where(x > 0, x**2, -x) --x 3",
    kink="where {0} changes: derivative of the side that is taken",
    breaks="condition",
    masks=True,
    node={
        "operands": {"": ("condition",)} | {f"MaskedFillBackward{n}": ("mask",) for n in (0, 1)},
        "edges": of_choice,
    },
    python="{1} if {0} else {2}",
)


def unit(x: Any) -> Any:
    """x over its absolute value, 0 at 0 with slope 0: the sign, or a complex number's direction."""
    if not is_complex(x):
        return sign(x)
    size = abs(x)
    return where(size == 0, 0.0, direction(x, where(size == 0, 1.0, size)))


abs = elementwise(
    "abs",
    np.abs,
    lambda t, x: t * unit(x),
    aliases=("absolute",),
    grows=lambda x: x,  # the lowest
    dtypes="keep",
    out="real",
    numpy="np.abs",
    doc="The absolute value.",
    edges="slope 0 at 0",
    parity="even",
    values={0: 0},
    kink="at {0} = 0: derivative of {op} taken as 0",
    latex=r"\left\lvert {x} \right\rvert",
    refuses={"bool": "abs_cpu"},
    breaks="0",
    python="fabs({0})",
)


def _direction(x: Any, y: Any) -> Any:
    if is_complex(x):
        y = y.real
        if np.any(least := y < 1.2e-38):  # 1/y may overflow
            x, y = (v * np.where(least, 2.0**60, 1.0).astype(y.dtype) for v in (x, y))
    if np.all(y):
        return x / y
    flat = y == 0
    return np.where(flat, 0.0 * y, x / np.where(flat, 1, y))[()]


direction = composite(
    "direction",
    lambda x, y: x / y,
    _direction,
    lambda t, y: t / y,
    lambda t, y, out: -t * out / y,
    holds=1,
    doc="x over its length y, the slope of lengths: 0 where the length is, and no slope there.",
    public=False,
)


def _larger(t: Any, x: Any, y: Any) -> Any:
    """t where x is the larger or one of the two is NaN, half of it at a tie, 0 elsewhere."""
    return where(x == y, 0.5 * t, where(logical_not(x <= y), t, 0.0))


def _smaller(t: Any, x: Any, y: Any) -> Any:
    return _larger(t, y, x)


def _first(loop: Any, x: Any, y: Any) -> Any:
    """``loop(x, y)``, of 0.0 and -0.0 the first, as in PyTorch: NumPy takes it of halves alone."""
    return loop(x, y) if getattr(x, "dtype", None) == np.float16 else loop(y, x)


def _extreme(name: str, rule: Any, other: Any, which: str, sign: str) -> Operator:
    find = getattr(np, name)
    return elementwise(
        name,
        lambda x, y: _first(find, x, y),
        rule,
        other,
        dtypes="promote",
        doc=f"The {which} of two, entry by entry; NaN wins.",
        edges="a tie is split in half; where one is NaN both have slope 1",
        example=f"{name}(x, y) --x 1 --y 2",
        kink="where {0} = {1}: the formula leaves ties of {op} out (gradcli grad splits them in "
        "half)",
        keeps_truths={"larger": "logical_or", "smaller": "logical_and"}[which],
        latex=rf"\{name[:3]}",
        refuses={"complex": f"{name} not implemented for complex tensors."},
        breaks="ties",
        masks=True,
        python=f"{{0}} if {{0}} {sign} {{1}} or {{0}} != {{0}} else {{1}}",
    )


maximum = _extreme("maximum", _larger, _smaller, "larger", ">=")
minimum = _extreme("minimum", _smaller, _larger, "smaller", "<=")


def _number(loop: Any, numbers: Any, x: Any, y: Any) -> Any:
    # Of 0.0 and -0.0 NumPy's ``fmax`` takes the one or the other, by their place in the array.
    out = _first(loop, x, y)
    lost = out != out
    return chosen(lost, numbers(x, y), out)[()] if np.any(lost) else out


def _extreme_number(name: str, before: Callable[[Any, Any], Any], which: str) -> Operator:
    extreme, find = getattr(np, f"{name[1:]}imum"), getattr(np, name)
    return elementwise(
        name,
        lambda x, y: _number(extreme, find, x, y),
        lambda t, x, y: where(before(x, y) | (y != y), t, 0.0),
        lambda t, x, y: where(before(x, y) | (y != y), 0.0, t),
        dtypes="promote",
        holds=1.2,
        doc=f"The {which} of two; a NaN loses.",
        refuses={"complex": f"{name} not implemented for complex tensors."},
        edges="a tie goes to the first",
        example=f"{name}(x, y) --x 1 --y 2",
        kink="where {0} = {1}: the formula leaves ties of {op} out (gradcli grad takes the first)",
        keeps_truths={"larger": "logical_or", "smaller": "logical_and"}[which],
        latex=rf"\{name[1:]}",
        breaks="ties",
        masks=True,
    )


fmax = _extreme_number("fmax", ge, "larger")
fmin = _extreme_number("fmin", le, "smaller")


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    if min is None and max is None:
        told = "torch.clamp: At least one of 'min' or 'max' must not be None"
        raise bad_value("clamp needs min, max or both", help="write clamp(x, 0, 1)", torch=told)
    if min is not None:
        x = _first(np.maximum, x, min)
    return x if max is None else _first(np.minimum, x, max)


def _inside(t: Any, x: Any, min: Any, max: Any) -> Any:
    if min is not None:
        t = where(x >= min, t, 0.0)
    return t if max is None else where(x <= max, t, 0.0)


clamp = elementwise(
    "clamp",
    _clamp,
    lambda t, x, min, max: _inside(t, x, min, max),
    aliases=("clip",),
    dtypes="promote",
    holds=2,
    grad_name="ClampBackward1",
    doc="x held between two bounds (numbers).",
    edges="slope 1 at a bound",
    example="clamp(x, -1, 1) --x 0.5",
    kink="where {0} meets a bound: derivative of clamp taken as 1",
    numpy="np.clip({0}, {min}, {max})",
    pytorch="torch.clamp({0}, min={min}, max={max})",
    refuses={"complex": (UnwrittenFault, "clamp is not supported for complex types")},
    masks=True,
)
relu = elementwise(
    "relu",
    lambda x: _first(np.maximum, x, 0),
    lambda t, x: where(logical_not(x <= 0), t, 0.0),  # NaN has slope 1
    dtypes="keep",
    node={"backward": "ThresholdBackwardBackward0", "saves_result": True},
    by_result="x",
    out="none",
    doc="x where positive, else 0.",
    edges="slope 0 at 0",
    example="relu(x) --x 2",
    kink="at {0} = 0: derivative of {op} taken as 0",
    numpy="np.maximum({0}, 0.0)",
    refuses={
        "bool": "Boolean inputs not supported for relu",
        "complex": (UnwrittenFault, "clamp is not supported for complex types"),
    },
    breaks="0",
    masks=True,
    python="0.0 if {0} <= 0.0 else {0}",
)
leaky_relu = composite(
    "leaky_relu",
    lambda x, negative_slope=0.01: where(x > 0, x, x * negative_slope),
    node={"backward": "LeakyReluBackwardBackward0"},
    doc="x where positive, else a small multiple of x.",
    edges="the negative slope at 0",
    example="leaky_relu(x) --x -2",
    kink="at {0} = 0: derivative of leaky_relu taken as the negative slope",
    numpy="""def _leaky_relu(x, slope):
    return np.where(x > 0, x, slope * x)""",
    pytorch="torch.nn.functional.leaky_relu({0}, {negative_slope})",
    latex=r"\operatorname{LeakyReLU}_{{negative_slope}}",
    refuses={"bool int complex": "leaky_relu_cpu"},
    breaks="0",
)
elu = composite(
    "elu",
    lambda x, alpha=1.0: where(logical_not(x <= 0), x, alpha * (exp(x) - 1.0)),
    lambda x, alpha: chosen(x < 0, alpha * np.expm1(np.minimum(0, x)), x)[()],
    # At 0 the exponent is constant: the slope is alpha and the second derivative 0.
    lambda t, x, alpha: where(logical_not(x <= 0), t, t * (alpha * exp(where(x < 0, x, 0.0)))),
    node={"saved": {"scale": 1, "input_scale": 1}},
    doc="x where positive, else alpha*(exp(x) - 1).",
    edges="slope alpha and second derivative 0 at 0",
    example="elu(x) --x -2",
    kink="at {0} = 0: slope of elu taken as alpha, second derivative as 0",
    numpy="""def _elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))""",
    pytorch="torch.nn.functional.elu({0}, {alpha})",
    latex=r"\operatorname{ELU}_{{alpha}}",
    refuses={"bool int complex": "elu_cpu"},
    breaks="0",
)


def _softplus_beta(x: Any, beta: float, threshold: float) -> Any:
    scaled = x * beta
    return chosen(scaled > threshold, x, softplus.compute(scaled) / beta)[()]


softplus_beta = composite(
    "softplus_beta",
    lambda x, beta=1.0, threshold=20.0: where(x * beta > threshold, x, softplus(x * beta) / beta),
    _softplus_beta,
    # Where it meets the threshold the slope is the smooth side's and constant, as in PyTorch.
    lambda t, x, beta, threshold: where(
        x * beta > threshold,
        t,
        t * logistic(where(logical_not(x * beta >= threshold), x * beta, threshold)),
    ),
    grad_name="SoftplusBackward0",
    holds=4,
    doc="log(1 + exp(beta*x))/beta, and x itself where beta*x is above the threshold.",
    kink="where beta times {0} is the threshold: derivative of softplus taken below it",
    refuses={"bool int complex": "softplus_cpu"},
    public=False,
)
hardtanh = composite(
    "hardtanh",
    lambda x: where(logical_not(abs(x) >= 1), x, where(x < 0, -1.0, 1.0)),
    lambda x: np.clip(x, -1.0, 1.0),
    node={"backward": "HardtanhBackwardBackward0", "saved": {"min_val": -1.0, "max_val": 1.0}},
    holds=1,
    doc="x held between -1 and 1.",
    edges="slope 0 at a bound",
    kink="at {0} = -1 and 1: derivative of hardtanh taken as 0",
    latex=r"\min\left(\max\left({x}, -1\right), 1\right)",
    numpy="np.clip({0}, -1.0, 1.0)",
    pytorch="torch.clamp({0}, -1.0, 1.0)",
    breaks="-1 1",
)
hardswish = composite(
    "hardswish",
    lambda x: where(x <= -3, -0.0, where(x < 3, x * (x + 3.0) / 6.0, x)),
    doc="x*hardsigmoid(x).",
    refuses={"complex": "hardswish_cpu"},
    public=False,
)


bernoulli_slope: Operator = composite(
    "bernoulli_slope",
    lambda x, y: (x - y) / clamp(x * (1.0 - x), 9.999999960041972e-13),  # 1e-12 as a float32
    lambda x, y: (x - y) / np.maximum(x * (1.0 - x), 9.999999960041972e-13),
    # Of positive terms: those of the quotient's own slope are as large as 1/x and cancel.
    lambda x, y: (
        (1.0 - y) * (x / clamp(x * (1.0 - x), 9.999999960041972e-13)) ** 2
        + y * ((1.0 - x) / clamp(x * (1.0 - x), 9.999999960041972e-13)) ** 2
    ),
    lambda x: bernoulli_slope(x, 1.0) - bernoulli_slope(x, 0.0),  # of which a slope is held, too
    grad_name="BinaryCrossEntropyBackwardBackward0",
    holds=3,
    doc="(x - y) / (x*(1 - x)), the slope of bernoulli_nll by x, with 1e-12 for less below.",
    public=False,
)


def _bernoulli_nll(x: Any, y: Any) -> Any:
    return (y - 1.0) * np.maximum(np.log1p(-x), -100.0) - y * np.maximum(np.log(x), -100.0)


bernoulli_nll: Operator = composite(
    "bernoulli_nll",
    lambda x, y: (y - 1.0) * clamp(log1p(-x), -100.0) - y * clamp(log(x), -100.0),
    _bernoulli_nll,
    lambda x, y: bernoulli_slope(x, y),
    lambda x: where(x * (1.0 - x) > 1e-6, -logit(x), bernoulli_nll(x, 1.0) - bernoulli_nll(x, 0.0)),
    grad_name="BinaryCrossEntropyBackward0",
    holds=3,
    doc="-y*log(x) - (1 - y)*log(1 - x), with logarithms held above -100.",
    numpy="""def _bernoulli_nll(x, y):
    yes, no = np.maximum(np.log(x), -100.0), np.maximum(np.log1p(-x), -100.0)
    return (y - 1.0) * no - y * yes""",
    pytorch="torch.nn.functional.binary_cross_entropy({0}, {1}, reduction='none')",
    public=False,
)


def _logit_nll(x: Any, y: Any) -> Any:
    return np.where(x < 0, -y, 1.0 - y) * x + np.log1p(np.exp(-np.abs(x)))


def _logit_slope(x: Any, y: Any) -> Any:
    small = logistic.compute(-np.abs(x))
    return np.where(x < 0, small - y, 1.0 - y - small)[()]


logit_slope = composite(
    "logit_slope",
    lambda x, y: logistic(x) - y,
    _logit_slope,
    lambda t, x: t * logistic(x) * logistic(-x),
    lambda t: -t,
    grad_name="BinaryCrossEntropyWithLogitsBackwardBackward0",
    holds=4,
    doc="sigmoid(x) - y, the slope of logit_nll by x, which cancels neither near 0 nor near 1.",
    public=False,
)
logit_nll = composite(
    "logit_nll",
    lambda x, y: softplus(x) - x * y,
    _logit_nll,
    lambda x, y: logit_slope(x, y),
    lambda x: -x,
    grad_name="BinaryCrossEntropyWithLogitsBackward0",
    holds=4,
    doc="bernoulli_nll of sigmoid(x), without overflow.",
    pytorch="torch.nn.functional.binary_cross_entropy_with_logits({0}, {1}, reduction='none')",
    public=False,
)
