"""Arithmetic: + - * / // % **, roots and powers, rounding.

Conventions at edges: x**0 has gradient 0 and 0**0 gives (0, 0); sqrt' at 0 is inf; floor, ceil,
round and sign have derivative zero everywhere.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.comparison import isnan, logical_and, logical_or, sign, zeros_like
from gradcli.ops.declaration import cures
from gradcli.ops.declaration.node_names import tensor_first, tensors_alone
from gradcli.ops.dims import in_rows
from gradcli.ops.errors import RuntimeFault, UnwrittenFault, bad_value
from gradcli.ops.exponential import log
from gradcli.ops.kinds import bilinear, composite, elementwise, linear, step
from gradcli.ops.operator import OPERATORS, Operator, is_complex, is_number
from gradcli.ops.piecewise import abs as magnitude
from gradcli.ops.piecewise import where
from gradcli.ops.torch_messages import NO_MASK, no_difference

add = linear(
    "add",
    operator.add,
    lambda g: g,
    lambda g: g,
    alone=True,
    doc="The sum of two values; `x + y`.",
    example="x + y --x 1 --y 2",
    of_truths="logical_or",
    infix="+",
    node={"saved": {"alpha": 1}, "edges": tensor_first},
    cures=cures.ADD,
)
sub = linear(
    "sub",
    operator.sub,
    lambda g: g,
    lambda g: -g,
    alone=True,
    doc="The difference; `x - y`.",
    aliases=("subtract",),
    example="x - y --x 1 --y 2",
    infix="-",
    refuses=no_difference,
    node={
        "name": lambda node: "RsubBackward1" if node.only == 1 else "SubBackward0",
        "saved": {"alpha": 1},
        "edges": lambda node: node.edges[1:] if node.only == 1 else node.edges,
    },
    neutral=0.0,
    cures=cures.SUB,
)
mul = bilinear(
    "mul",
    operator.mul,
    lambda g, y: g * y,
    lambda g, x: g * x,
    numbers="xy",
    aliases=("multiply",),
    alone=True,
    halves="number",
    doc="The elementwise product; `x * y`.",
    example="x * y --x 2 --y 3",
    of_truths="logical_and",
    infix="*",
    node={"turns": True, "edges": tensor_first},
    neutral=1.0,
    cures=cures.MUL,
)


def _along(x: Any, y: Any) -> Any:
    found = np.multiply(x, y)
    lost = np.isnan(found)
    if np.any(lost):
        lost &= ((x == 0) | (y == 0)) & ~(np.isnan(x) | np.isnan(y))
        if not found.ndim:
            return found.dtype.type(0) if lost else found
        found[lost] = 0
    return found


along: Operator = bilinear(
    "along",
    _along,
    lambda g, y: along(g, y),
    lambda g, x: along(g, x),
    holds=1.4,
    doc="The product of what moves and a slope, where 0 times infinity is 0.",
    public=False,
)
add_scaled = linear(
    "add_scaled",
    # a type without negative numbers has none for a factor
    lambda x, y, alpha=1: x - -alpha * y if alpha.__class__ is int and alpha < 0 else x + alpha * y,
    lambda g: g,
    lambda g, alpha: g * alpha.conjugate(),  # a linear rule turns what its factor turns
    holds=2,
    grad_name="AddBackward0",
    halves="all",
    doc="x + alpha*y; `add(x, y, alpha=2)`.",
    example="add_scaled(x, y, 2) --x 1 --y 3",
)


def _addcmul(x: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    if value == 1:
        return x + tensor1 * tensor2
    kinds = {v.dtype.kind for v in (x, tensor1, tensor2) if hasattr(v, "dtype")}
    if kinds and kinds <= {"i", "u"} and value.__class__ is float:
        value = int(value)
    if value.__class__ is int and value < 0:  # which an unsigned type has not
        return x - -value * tensor1 * tensor2
    return x + value * tensor1 * tensor2


addcmul = elementwise(
    "addcmul",
    _addcmul,
    lambda t: t,
    lambda t, tensor2, value: t * (tensor2 if value == 1 else tensor2 * value),
    lambda t, tensor1, value: t * (tensor1 if value == 1 else tensor1 * value),
    dtypes="promote",
    grows=True,
    holds=2,
    node={"operands": {"": ("self", "tensor1", "tensor2")}},
    doc="x + value*tensor1*tensor2.",
    halves="all",
    refuses={"bool": "addcmul_cpu_out"},
    example="addcmul(x, y, 2) --x 1 --y 3",
)
div = elementwise(
    "div",
    operator.truediv,
    lambda t, y: t / y,
    # The cotangent first: a zero one stays 0 where x/y/y overflows.
    lambda t, x, y: -t * (x / y) / y,
    aliases=("divide", "true_divide"),
    alone=True,
    halves="number",
    doc="The quotient; `x / y`.",
    domain="y != 0",
    example="x / y --x 1 --y 2",
    infix="/",
    vanishes="x",
    node={"name": lambda node: "MulBackward0" if node.only == 1 else "DivBackward0", "turns": True},
    neutral=1.0,
    cures=cures.DIV,
)


def _lerp(x: Any, y: Any, weight: Any = 0.5) -> Any:
    # From the nearer end: both ends are met exactly.
    far = abs(weight) >= 0.5
    near = (y if far else x) if is_number(weight) else np.where(far, y, x)[()]
    return near + (weight - far) * (y - x)


lerp_number = linear(
    "lerp_number",
    _lerp,
    lambda g, weight: g * (1 - weight.conjugate()),
    lambda g, weight: g * weight.conjugate(),
    formula=lambda x, y, weight=0.5: x + weight * (y - x),
    holds=2.1,
    doc="From x to y, by `weight` (a number) of the way.",
    grad_name="LerpBackward0",
    halves="all",
    refuses={"bool int": "lerp_kernel_scalar"},
    public=False,
)

lerp_tensor = composite(
    "lerp_tensor",
    lambda x, y, z: x + (y - x) * z,
    _lerp,
    lambda t, z: t * (1.0 - z),
    lambda t, z: t * z,
    lambda t, x, y: t * (y - x),
    holds=3.2,
    dtypes="promote",
    grows=True,
    doc="From x to y, by z of the way.",
    grad_name="LerpBackward1",
    node={"operands": {"": ("self", "end", "weight")}},
    public=False,
)
neg = linear(
    "neg",
    operator.neg,
    lambda g: -g,
    aliases=("negative",),
    dtypes="promote",
    doc="The opposite; `-x`.",
    refuses={"bool": f"Negation, the `-` operator, on a bool tensor is not supported. {NO_MASK}"},
    python="-{0}",
)


def of_whole(result: Any, divisor: Any) -> Any:
    """``result`` of a division. Raises RuntimeFault (E0304) for whole numbers divided by 0."""
    whole = getattr(result, "dtype", None) is not None and result.dtype.kind in "iu"
    if whole and result.size and not np.all(divisor):
        said = "ZeroDivisionError: whole numbers have no quotient by 0"
        mend = "write x / y, or x.float() // y, where 1/0 is inf"
        raise bad_value(said, help=mend, torch="ZeroDivisionError")
    return result


def _remainder(x: Any, y: Any) -> Any:
    rest = of_whole(x % y, y)
    if getattr(rest, "dtype", None) is None or rest.dtype.kind != "f":
        return rest
    zero = rest == 0
    if np.any(zero):  # of -4.0 by 2.0 it is -0.0
        rest = np.where(zero, np.copysign(rest, x), rest)[()]
    return rest


floor_divide = step(
    "floor_divide",
    lambda x, y: of_whole(x // y, y),
    of_whole=True,
    numbers="xy",
    dtypes="promote",
    grad_name="NotImplemented",
    edges="slope 0 at the jumps too; PyTorch has none",
    alone=True,
    grows=lambda x, y: x,  # the lowest by -1
    halves="number",
    numpy="np.floor_divide",
    doc="The quotient rounded down; `x // y`.",
    domain="y != 0",
    example="x // y --x 7 --y 2",
    infix="//",
    refuses={"bool complex": "div_floor_cpu"},
    breaks="multiples",
)
trunc_divide = step(
    "trunc_divide",
    lambda x, y: np.trunc(x / y),
    formula=lambda x, y: trunc(x / y),
    kink="where the quotient of {0} and {1} is whole: derivative taken as 0",
    dtypes="float",
    grad_name="DivBackward2",
    edges="slope 0 at the jumps too",
    halves="number",
    doc="The quotient rounded towards 0.",
    domain="y != 0",
    refuses={"bool complex": "div_trunc_cpu"},
    breaks="multiples",
    public=False,
)
remainder = elementwise(
    "remainder",
    _remainder,
    lambda t: t,
    lambda t, x, y: -t * floor_divide(x, y),
    holds=1.2,
    of_whole=True,
    numbers="xy",
    dtypes="promote",
    numpy="np.remainder",
    doc="The remainder with the divisor's sign; `x % y`.",
    domain="y != 0",
    edges="the slope by x is 1 at the jumps too",
    example="x % y --x 7 --y 2.5",
    infix="%",
    kink="where remainder of {0} jumps: derivative of its smooth pieces",
    refuses={"bool complex": "remainder_cpu"},
    breaks="multiples",
    node={
        "name": lambda node: "RemainderBackward0" if node.only == 0 else "RemainderBackward1",
        "edges": tensors_alone,
    },
)


def _turns(x: Any, y: Any) -> Any:
    """How many ``y`` fmod takes off: ``trunc(x / y)`` is one more where x / y rounds up to it, as
    that of 1 by 0.1 to 10."""
    turns = floor_divide(magnitude(x), magnitude(y))
    return sign(x) * where(y < 0, -turns, turns)  # by y = 0 infinite, which a sign of 0 hides


fmod = elementwise(
    "fmod",
    lambda x, y: of_whole(np.fmod(x, y), y),
    lambda t: t,
    lambda t, x, y: -t * _turns(x, y),
    of_whole=True,
    numbers="y",
    dtypes="promote",
    doc="The remainder with the sign of x, as C has it.",
    domain="y != 0",
    edges="the slope by x is 1 at the jumps too",
    example="fmod(x, y) --x -7 --y 2.5",
    kink="where fmod of {0} jumps: derivative of its smooth pieces",
    breaks="multiples",
    refuses={"bool complex": "fmod_cpu"},
    node={
        "name": lambda node: "FmodBackward0" if node.only == 0 else "FmodBackward1",
        "edges": tensors_alone,
    },
)


nextafter = elementwise(
    "nextafter",
    np.nextafter,
    lambda t, x, y: where(x == y, zeros_like(t), t),
    lambda t: zeros_like(t),
    dtypes="promote",
    doc="The number next to x, towards y.",
    edges="slope 0 where x = y",
    example="nextafter(x, y) --x 1 --y 2",
    refuses={"bool int complex": "nextafter_cpu"},
)


_SHORT_POWERS: dict[float, Callable[[Any], Any]] = {
    2: lambda x: x * x, 3: lambda x: x * x * x, 0.5: np.sqrt, -0.5: lambda x: 1.0 / np.sqrt(x),
    1: np.positive, -1: lambda x: 1.0 / x,
}  # fmt: skip


def _power(x: Any, y: Any) -> Any:
    # np.power is two orders of magnitude slower than a product for small whole exponents.
    if is_number(y) and getattr(x, "dtype", None) is not None and x.dtype.kind in "fc":
        if y.__class__ is complex and x.dtype.kind == "f":
            x = x + 0j
        if y in _SHORT_POWERS:
            return _SHORT_POWERS[y](x)
        if y == -2 and x.dtype.char in "fd":  # the square of a half overflows from 256 on
            return 1.0 / (x * x)
        if x.dtype.kind == "c" and y in range(-99, -1):
            return np.power(1.0 / x, -y)  # the power of x itself may overflow
    elif y.__class__ is int and y < 0 and not isinstance(x, float):
        raise _no_whole_power()
    if y.__class__ is bool and getattr(x, "dtype", None) == np.bool_:
        return np.logical_or(x, not y)  # NumPy makes bytes of it
    if is_number(x) and x == 1 and is_complex(y):
        return np.ones_like(y, order="C")[()]  # also of infinities and NaN, as of real ones
    if is_number(x) and isinstance(y, np.floating):  # an exponent alone has loops of its own
        return np.power(x, y.reshape(1))[0]
    if is_number(x) and isinstance(y, np.ndarray):
        y = in_rows(y)
    try:
        found = np.power(x, y)
        if found.dtype.kind == "c" and (lost := np.isnan(found)).any():  # at 0 and infinities
            found = np.where(lost, np.exp(y * np.log(x, dtype=found.dtype)), found)
        return found
    except ValueError:
        if not {getattr(v, "dtype", np.dtype(int)).kind for v in (x, y)} <= {"i", "u", "b"}:
            raise
    # A whole number to a negative whole power, inside a tensor: what is left of the fraction.
    below = np.less(y, 0)
    found = np.power(x, np.where(below, np.bitwise_and(y, 1), y))  # of 1 and -1 the parity counts
    return np.where(below & (np.abs(x) != 1), 0, found)


def _no_whole_power() -> RuntimeFault:
    said = "an integer cannot be raised to a negative power"
    mend = "make the base a float: 2.0**-1, or x.double()"
    told = "Integers to negative integer powers are not allowed."
    return RuntimeFault("E0303", said, help=mend, torch=told)


def _power_in_floats(x: Any, y: Any) -> Any:
    """Raises RuntimeFault (E0303) for a fraction, of which whole numbers leave 0."""
    if y.__class__ is not int and (np.less(y, 0) & (np.abs(x) != 1)).any():
        raise _no_whole_power()
    return np.power(x, y, dtype=float)


def _power_by_base(t: Any, x: Any, y: Any) -> Any:
    # By ``pow``: NumPy's sign gives C's powers on a number alone, with other last digits than in
    # an array, and with other roots of -0.0 and -inf.
    if is_number(y):
        if y == 0:
            return zeros_like(t)
        if y == 2 and getattr(x, "edge", None) is None:
            return t * (2.0 * x)
        # In a graph, as in PyTorch, a slope that is constant still leads to x: zeros, no error.
        return t * (y * pow(x, y - 1))
    # In a formula ``t`` is a symbol, which has no dtype.
    if getattr(t, "dtype", None) is None:
        return t * where(y == 0, 0.0, y * pow(x, y - 1))
    if isinstance(t, np.ndarray | np.generic):  # mostly there is no edge among the entries
        found = t * (y * _power(x, y - 1))
        if np.isfinite(found).all():
            return found
    lost = logical_and(y == 0, isnan(t))  # x**0 moves by nothing that arrives
    return where(lost, 0.0, along(t, power_slope(x, y)))


def _flat_at_zero(y: Any) -> Any:
    """Where 0**y is the same all around y: 0, and 1 where y is 0."""
    return logical_or(OPERATORS["real"](y) > 0, y == 0) if is_complex(y) else y >= 0


def _power_by_exponent(t: Any, x: Any, y: Any, out: Any) -> Any:
    if is_number(x):
        # The logarithm of a number is a number: a choice between numbers has no dtype to keep.
        if x == 0:
            return t * where(_flat_at_zero(y), 0.0, -out)
        if isinstance(x, complex) or (x < 0 and is_complex(out)):
            return t * (out * cmath.log(x))
        return t * (out * (math.log(x) if x > 0 else math.nan))
    if getattr(t, "dtype", None) is None:
        return t * (out * _log_of_base(x, y))
    if isinstance(t, np.ndarray | np.generic):
        found = t * (out * np.log(x))
        if np.isfinite(found).all():
            return found
    return along(t, power_slope(x, y, 0, 1))


def _log_of_base(x: Any, y: Any) -> Any:
    # 0**y is constant in y for y >= 0: no 0 * log(0).
    base = where(logical_and(x == 0, _flat_at_zero(y)), 1.0, x)
    if is_complex(y) and not is_complex(x):  # whose logarithm, where it is negative, is complex
        base = base + 0j
    return log(base)


def _power_slope(x: Any, y: Any, by_base: int = 1, by_exponent: int = 0) -> Any:
    """x**(y - by_base) times a polynomial in log(x), whose coefficients are the derivatives by y
    of y(y - 1)(y - 2)...: the largest power first, which alone counts where log(x) is infinite."""
    factors: list[Any] = [1.0]
    for i in range(by_base):
        own = [(y - i) * d + k * factors[k - 1] for k, d in enumerate(factors)]
        factors = [*own, (i + 1) * factors[-1]]
    found = factors[0]
    if by_exponent:
        base = x + 0j if is_complex(y) and not is_complex(x) else x
        root = np.log(base) if by_base else _log_of_base(x, y)
        for k in range(1, by_exponent + 1):
            further = math.comb(by_exponent, k) * factors[k] if k <= by_base else 0.0
            found = _along(found, root) + further
    slope = _along(found, _power(x, y - by_base))
    lost = np.isinf(slope) & (x != 0)
    if by_base and np.any(lost):  # the power alone may overflow, as where x and y are tiny
        apart, base = found, np.where(lost, x, 1.0)
        for _ in range(by_base):
            apart = apart / base
        apart = apart * _power(x, y)
        slope = np.where(lost & np.isfinite(apart), apart, slope)
    # Where y is 0 the slope by x is 0, of 0 and NaN too.
    return np.where(found == 0, 0.0, slope)[()]


power_slope: Operator = elementwise(
    "power_slope",
    _power_slope,
    lambda t, x, y, by_base, by_exponent: along(t, power_slope(x, y, by_base + 1, by_exponent)),
    lambda t, x, y, by_base, by_exponent: along(t, power_slope(x, y, by_base, by_exponent + 1)),
    holds=4.3,
    doc="The slopes of x**y of every order, which do not depend on the order of differentiation.",
    public=False,
)
pow = elementwise(
    "pow",
    _power,
    _power_by_base,
    _power_by_exponent,
    aliases=("power",),
    refuses={"bool": "pow"},
    grows=True,
    without_bounds=_power_in_floats,
    dtypes="promote",
    wraps=False,
    doc="x to the power y; `x**y`, and `x^y` on the command line.",
    domain="x > 0, or whole y",
    edges="x**0 has slope 0; 0**0 has slopes 0 and 0",
    example="x**y --x 2 --y 3",
    infix="**",
    node={
        "name": lambda node: "PowBackward" + {0: "0", None: "1", 1: "2"}[node.only],
        "operands": {"": ("self", "exponent")},
        "edges": tensors_alone,
    },
    neutral=1.0,
    cures=cures.POW,
)
sqrt = elementwise(
    "sqrt",
    np.sqrt,
    lambda t, out: t / (2.0 * out),
    doc="The square root.",
    domain="x >= 0",
    edges="infinite slope at 0",
    example="sqrt(x) --x 4",
    cures=cures.SQRT,
)
rsqrt = elementwise(
    "rsqrt",
    lambda x: 1.0 / np.sqrt(x),
    lambda t, out: -0.5 * (t * out) * out * out,  # of 1e240 the cube alone would be 0
    holds=2,
    doc="One over the square root.",
    domain="x > 0",
    example="rsqrt(x) --x 4",
    numpy="(1/np.sqrt({0}))",
    python="1.0 / sqrt({0})",
    cures=cures.RSQRT,
)
cbrt = elementwise(
    "cbrt",
    np.cbrt,
    lambda t, out: t / (3.0 * out * out),
    doc="The real cube root.",
    edges="infinite slope at 0",
    example="cbrt(x) --x 8",
    parity="odd",
    pytorch="""def _cbrt(x):
    return torch.sign(x) * torch.abs(x) ** (1 / 3)""",
    latex=r"\sqrt[3]{{x}}",
    cures=cures.CBRT,
)


def _square(x: Any) -> Any:
    return np.square(x.astype(np.int64) if getattr(x, "dtype", None) == np.bool_ else x)


square = elementwise(
    "square",
    _square,
    lambda x: 2.0 * (x if getattr(x, "edge", None) is None else x**1),  # as for pow, in a graph
    doc="x times x.",
    out="wider",
    grows=lambda x: x * x,
    dtypes="promote",
    grad_name="PowBackward0",
    node={"operands": {"": ("self", "exponent")}, "saved": {"exponent": 2}},
    python="{0} * {0}",
    cures=cures.TOO_LARGE,
)
reciprocal = elementwise(
    "reciprocal",
    lambda x: 1.0 / x,
    lambda out: -out * out,
    doc="One over x.",
    domain="x != 0",
    example="reciprocal(x) --x 4",
    numpy="(1/({0}))",
    python="1.0 / {0}",
    cures=cures.RECIPROCAL,
)


def _whole_part(name: str, compute: Any, doc: str, **facts: Any) -> Operator:
    refused = (UnwrittenFault, f"{name} is not supported for complex inputs")
    refuses = {"bool": f"{name}_vml_cpu", "complex": refused}
    return step(name, compute, doc=doc, refuses=refuses, breaks="whole", **facts)


floor = _whole_part(
    "floor", np.floor, "The largest whole number not above x.",
    latex=r"\left\lfloor {x} \right\rfloor",
)  # fmt: skip
ceil = _whole_part(
    "ceil", np.ceil, "The smallest whole number not below x.",
    latex=r"\left\lceil {x} \right\rceil",
)  # fmt: skip
round = step(
    "round",
    np.round,
    doc="The nearest whole number, ties to even.",
    refuses={"bool complex": "round_vml_cpu"},
    breaks="half",
)
trunc: Operator = _whole_part("trunc", np.trunc, "x without its fraction.", aliases=("fix",))
frac = elementwise(
    "frac",
    lambda x: x - np.trunc(x),
    lambda t: t,
    holds=2,
    doc="The fraction of x, with x's sign.",
    dtypes="keep",
    edges="slope 1 at the jumps too",
    kink="where {0} is whole: derivative of frac taken as 1",
    numpy="np.fmod({0}, 1.0)",
    refuses={"bool int complex": "frac_cpu"},
    breaks="whole",
)
