"""Calls at special values: zeros of both signs, NaN, infinities, subnormals, ties, huge numbers.

Each call is a text that runs under PyTorch and under gradcli, with ``torch`` and ``F`` the library.
``tests/oracles/record_edges.py`` records PyTorch's values and gradients; ``APART`` names where
gradcli differs on purpose, and why.

    UNARY    x holds SPECIAL; every entry of the result depends on one entry of x
    BINARY   x and y hold all pairs of PAIRED
    ROWS     x is a matrix whose rows are ROWS_OF, reduced along the last dimension
    MATRIX   x is one of MATRICES
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

INF, NAN = float("inf"), float("nan")


def special(dtype: str) -> np.ndarray:
    """The values at which a function of one variable is tried."""
    info = np.finfo(dtype)
    tiny, least, most = float(info.tiny), float(info.smallest_subnormal), float(info.max)
    sizes = [
        0.0, least, 3 * least, tiny, float(info.eps), 1e-30, 1e-3, 1 / 3, 0.5, 1.0, 1.5, 2.0, 2.5,
        3.0, 6.0, 20.0, 21.0, 88.0, 110.0, 400.0, 710.0, 746.0, 1500.0, 1e17, most, INF,
    ]  # fmt: skip
    if dtype == "float64":
        sizes += [1e-200, 1e-160, 1e160, 1e300]
    return np.array([s * v for v in sizes for s in (1.0, -1.0)] + [NAN], dtype)


def paired(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of the values at which a function of two variables is tried."""
    info = np.finfo(dtype)
    sizes = [0.0, float(info.smallest_subnormal), 1e-30, 1 / 3, 1.0, 2.0, 3.0, 8.0, 1e17, INF]
    values = np.array([s * v for v in sizes for s in (1.0, -1.0)] + [NAN], dtype)
    x, y = np.meshgrid(values, values, indexing="ij")
    return x.ravel(), y.ravel()


ROWS_OF = (
    (1.0, 2.0, 3.0, 4.0), (1.0, NAN, 3.0, 2.0), (NAN, NAN, 1.0, NAN), (NAN, NAN, NAN, NAN),
    (3.0, 3.0, 1.0, 3.0), (0.0, -0.0, 0.0, -0.0), (-0.0, -0.0, -0.0, -0.0), (0.0, 0.0, 2.0, 3.0),
    (INF, 1.0, 2.0, 3.0), (INF, INF, 1.0, 2.0), (-INF, 1.0, INF, 0.0), (-INF, -INF, -INF, -INF),
    (-INF, 1.0, 2.0, 2.0), (INF, NAN, 1.0, -INF), (1e-30, 1e-30, 1e-30, 1e-30),
    (1e30, 1e30, 1e30, 1e30), (400.0, 710.0, 1500.0, -1500.0), (-1500.0, -1500.0, -1501.0, -1e4),
    (1e17, 1.0, -1e17, 3.0), (5.0, NAN, 5.0, 5.0), (-3.0, 2.0, -3.0, 2.0), (2.0, 1.0, NAN, 1.0),
)  # fmt: skip
EXTREME_ROWS = {
    "float64": ((1e-200,) * 4, (3e-200, 4e-200, 0.0, 0.0), (1e200,) * 4, (5e-324, 0.0, 0.0, 0.0),
                (1e-200, 1.0, 1e200, 0.0), (1e160, -1e160, 1e300, 1.0)),
    "float32": ((1e-30, 2e-30, 0.0, 0.0), (3e-38, 0.0, 0.0, 4e-38), (1e30, 3e30, 0.0, 1.0)),
}  # fmt: skip


def rows(dtype: str) -> np.ndarray:
    """Rows to reduce."""
    return np.array((*ROWS_OF, *EXTREME_ROWS[dtype]), dtype)


MATRICES = (
    ((1.0, 2.0), (2.0, 4.0)), ((0.0, 0.0), (0.0, 0.0)), ((2.0, 1.0), (1.0, 3.0)),
    ((0.0, 1.0), (1.0, 0.0)), ((-1.0, 0.0), (0.0, 2.0)), ((1.0, 0.0), (0.0, 1.0)),
    ((1.0, NAN), (0.0, 1.0)), ((1e-200, 0.0), (0.0, 1e-200)), ((0.0, 0.0), (1.0, 2.0)),
)  # fmt: skip

UNARY = (
    *(f"torch.{name}(x)" for name in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "deg2rad",
        "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "i0",
        "lgamma", "log", "log10", "log1p", "log2", "logit", "nan_to_num", "neg", "positive",
        "rad2deg", "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "sin", "sinc",
        "sinh", "sqrt", "square", "tan", "tanh", "trunc")),
    *(f"torch.special.{name}(x)" for name in (
        "entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri")),
    *(f"F.{name}(x)" for name in (
        "celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
        "logsigmoid", "mish", "relu6", "selu", "silu", "softplus", "softshrink", "softsign",
        "tanhshrink", "rrelu")),
    "F.threshold(x, 0.5, 7.0)", "F.threshold(x, -1.0, 2.0)", "F.hardtanh(x, -0.1, 0.3)",
    "F.hardtanh(x, 0.0, 1.5)", "F.gelu(x, approximate='tanh')", "F.softplus(x, 3.0, 4.0)",
    "F.celu(x, 0.7)", "F.elu(x, 1.5)", "F.hardshrink(x, 1/3)", "F.softshrink(x, 1/3)",
    "torch.clamp(x, -1, 2)", "torch.clamp(x, min=0.5)", "torch.clamp(x, max=-0.5)",
    "torch.clamp(x, 2, -1)", "torch.clamp(x, min=torch.tensor(1.0, dtype=x.dtype))",
    "torch.clamp(x, max=torch.tensor(float('nan'), dtype=x.dtype))",
    "torch.clamp(x, torch.tensor(1.0, dtype=x.dtype), torch.tensor(0.5, dtype=x.dtype))",
    "torch.clamp(x, min=float('nan'))",
    "torch.clamp_min(x, 0)", "torch.clamp_max(x, 0)",
    "torch.round(x, decimals=2)", "torch.round(x, decimals=-1)", "torch.round(x, decimals=-3)",
    "torch.fmod(x, 3)", "torch.fmod(x, -2.5)", "torch.fmod(x, float('inf'))", "x % 3", "x % -2.5",
    "x.detach() // 3", "torch.div(x, 3, rounding_mode='trunc')",
    "torch.div(x, -2.5, rounding_mode='floor')",
    "x ** 2", "x ** 3", "x ** 0", "x ** 0.5", "x ** -1", "x ** -2", "x ** 1", "x ** 1.5",
    "x ** -0.5", "x ** float('inf')", "x ** float('nan')", "2.0 ** x", "0.0 ** x",
    "1.0 ** x", "(-2.0) ** x",
    "torch.logit(x, eps=0.1)", "torch.nan_to_num(x, 1.0, 2.0, 3.0)", "torch.mvlgamma(x, 2)",
    "torch.polygamma(0, x)", "torch.polygamma(1, x)", "torch.polygamma(2, x)",
    "torch.ldexp(x, torch.tensor(3))", "torch.copysign(x, -1.0)", "torch.special.xlogy(x, 2.0)",
    "torch.special.xlog1py(x, 2.0)", "torch.special.xlogy(2.0, x)", "torch.special.xlogy(0.0, x)",
    "torch.special.xlog1py(0.0, x)", "torch.float_power(x, 2)", "torch.where(x > 0, x, -x)",
    "torch.isclose(x, x)", "torch.isfinite(x)", "torch.isinf(x)", "torch.isnan(x)",
    "torch.isposinf(x)", "torch.isneginf(x)", "torch.signbit(x)", "torch.logical_not(x)",
    "torch.special.bessel_j0(x.detach())", "torch.special.bessel_j1(x.detach())", "torch.angle(x)",
    "x.masked_fill(x > 1, 0.0)", "1 / x", "3 - x", "x / 3",
)  # fmt: skip
BINARY = (
    *(f"torch.{name}(x, y)" for name in (
        "add", "sub", "mul", "div", "atan2", "copysign", "fmax", "fmin", "fmod", "hypot",
        "logaddexp", "logaddexp2", "maximum", "minimum", "pow", "remainder", "xlogy",
        "eq", "lt", "le", "gt", "ge", "ne", "isclose",
        "logical_and", "logical_or", "logical_xor", "ldexp")),
    "torch.special.xlog1py(x, y)", "torch.heaviside(x.detach(), y.detach())",
    "torch.floor_divide(x.detach(), y.detach())",
    "torch.div(x, y, rounding_mode='floor')", "torch.div(x, y, rounding_mode='trunc')",
    "torch.clamp(x, min=y)", "torch.clamp(x, max=y)", "torch.lerp(x, y, 0.3)",
    "torch.lerp(x, y, 0.7)", "torch.lerp(x, y, torch.tensor(0.3, dtype=x.dtype))",
    "torch.addcmul(x, x, y, value=2)", "torch.addcdiv(x, x, y, value=2)",
    "torch.isclose(x, y, equal_nan=True)", "F.mse_loss(x, y, reduction='none')",
    "F.l1_loss(x, y, reduction='none')", "F.smooth_l1_loss(x, y, reduction='none')",
    "F.huber_loss(x, y, reduction='none')", "torch.max(x, y)", "torch.min(x, y)",
    "F.binary_cross_entropy_with_logits(x, y, reduction='none')",
    "F.prelu(x, y.reshape(-1)[:1])", "torch.where(x > y, x, y)",
)  # fmt: skip
GAMMAS = ("torch.igamma(x.abs().detach(), y.abs())", "torch.igammac(x.abs().detach(), y.abs())",
          "torch.special.zeta(x.detach(), y.detach())")  # fmt: skip
ROWS = (
    *(f"torch.{name}(x, 1)" for name in (
        "sum", "mean", "prod", "amax", "amin", "max", "min", "median", "nanmedian", "mode",
        "cummax", "cummin", "cumsum", "cumprod", "logcumsumexp", "logsumexp", "nansum", "nanmean",
        "std", "var", "argmax", "argmin", "all", "any", "count_nonzero", "softmax",
        "log_softmax", "sort")),
    "torch.std(x, 1, correction=0)", "torch.var(x, 1, correction=0)", "F.softmin(x, 1)",
    "torch.kthvalue(x, 2, 1)", "torch.kthvalue(x, 4, 1)", "torch.topk(x, 2, 1)",
    "torch.topk(x, 2, 1, largest=False)", "torch.sort(x, 1, descending=True)",
    "torch.quantile(x, 0.5, 1)", "torch.quantile(x, 0.3, 1)", "torch.nanquantile(x, 0.4, 1)",
    "torch.quantile(x, 0.3, 1, interpolation='nearest')", "torch.aminmax(x, dim=1)",
    *(f"torch.linalg.vector_norm(x, {p}, 1)" for p in (
        "2", "1", "0", "3", "float('inf')", "-float('inf')", "0.5", "-1", "2.5")),
    "torch.norm(x, 2, 1)", "F.normalize(x, dim=1)", "torch.diff(x, dim=1)",
    "torch.renorm(x, 2, 0, 1.0)", "torch.argsort(x, 1)", "torch.logsumexp(x, (1,))",
    "F.layer_norm(x, (4,))", "F.cosine_similarity(x, x.flip(1), dim=1)",
    "torch.cdist(x, x[:2])", "torch.cdist(x, x[:2], p=1.0)", "F.pairwise_distance(x, x.flip(1))",
    "F.cross_entropy(x, torch.zeros(len(x), dtype=torch.int64), reduction='none')",
    "torch.dist(x[0], x[1])", "torch.trapezoid(x, dim=1)",
)  # fmt: skip
WHOLLY = (
    *(f"torch.{name}(x)" for name in (
        "max", "min", "amax", "amin", "median", "nanmedian", "norm", "std", "sum", "prod")),
    "torch.inner(x.reshape(2, 2), torch.outer(x, x).reshape(2, 4, 2))",
)  # fmt: skip
MATRIX = (
    "torch.logdet(x.detach())", "torch.linalg.slogdet(x.detach())", "torch.det(x)",
    "torch.linalg.norm(x)",
    "torch.linalg.matrix_norm(x, 1)", "torch.trace(x)", "torch.linalg.matrix_norm(x)",
)  # fmt: skip
PROBABILITY = (
    "F.binary_cross_entropy(x, y, reduction='none')", "F.kl_div(x, y, reduction='none')",
    "F.poisson_nll_loss(x, y, reduction='none')", "torch.special.entr(x) + 0 * y",
    "F.poisson_nll_loss(x, y, log_input=False, reduction='none')", "torch.erfinv(x) + 0 * y",
    "F.binary_cross_entropy_with_logits(x, y, reduction='none')", "torch.logit(x) + 0 * y",
    "torch.special.ndtri(x) + 0 * y", "torch.logaddexp(x.log(), y.log())",
)  # fmt: skip
WHOLE = np.array([0, 1, -1, 2, -2, 3, -3, 7, -7, 2**31, -(2**62), 10**17], np.int64)
WHOLE_PAIRS = (
    *(f"torch.{name}(x, y)" for name in (
        "add", "sub", "mul", "maximum", "minimum", "fmax", "fmin", "eq", "lt", "logical_and",
        "gcd", "lcm", "atan2", "xlogy", "true_divide")),
    "torch.fmod(x, y)", "torch.remainder(x, y)", "torch.floor_divide(x, y)",
    "torch.div(x, y, rounding_mode='trunc')", "torch.div(x, y, rounding_mode='floor')",
)  # fmt: skip


def whole_pairs() -> tuple[np.ndarray, np.ndarray]:
    """Pairs of whole numbers, the second never 0."""
    x, y = np.meshgrid(WHOLE, WHOLE[1:], indexing="ij")
    return x.ravel(), y.ravel()


EMPTY = (
    *(f"torch.{name}(x)" for name in (
        "sum", "mean", "prod", "median", "nanmedian", "std", "var", "nansum", "nanmean", "norm",
        "all", "any", "count_nonzero")),
    "torch.logsumexp(x, 0)", "torch.softmax(x, 0)", "torch.cumsum(x, 0)", "torch.cumprod(x, 0)",
    "torch.logcumsumexp(x, 0)", "torch.sort(x)", "torch.linalg.vector_norm(x)", "torch.dot(x, x)",
    "torch.outer(x, x)", "torch.diff(x)", "torch.cummax(x, 0)", "torch.linalg.vector_norm(x, 0)",
    "torch.linalg.vector_norm(x, 1)", "torch.inner(x, x)", "torch.flip(x, (0,))",
)  # fmt: skip


def situations() -> dict[str, tuple[str, tuple[np.ndarray, ...], bool]]:
    """Every call by a key: its text, its arrays, and whether they are differentiated by."""
    found: dict[str, tuple[str, tuple[np.ndarray, ...], bool]] = {}
    for dtype in ("float64", "float32"):
        for text in UNARY:
            found[f"{text} {dtype}"] = (text, (special(dtype),), True)
        for text in BINARY + (GAMMAS if dtype == "float64" else ()):
            found[f"{text} {dtype}"] = (text, paired(dtype), True)
        for text in ROWS:
            found[f"{text} {dtype}"] = (text, (rows(dtype),), True)
    unit = np.array([0.0, 1e-300, 1e-30, 0.25, 0.5, 1.0 - 2.0**-53, 1.0])
    chances = tuple(a.ravel() for a in np.meshgrid(unit, unit, indexing="ij"))
    for text in PROBABILITY:
        found[f"{text} chances"] = (text, chances, True)
    for i, row in enumerate(rows("float64")):
        for text in WHOLLY:
            found[f"{text} row {i}"] = (text, (row,), True)
    for text in EMPTY:
        found[f"{text} empty"] = (text, (np.zeros(0),), True)
    for i, matrix in enumerate(MATRICES):
        for text in MATRIX:
            found[f"{text} matrix {i}"] = (text, (np.array(matrix),), True)
    for text in WHOLE_PAIRS:
        found[f"{text} int64"] = (text, whole_pairs(), False)
    return found


def function(lib: Any, text: str, names: str) -> Callable[..., Any]:
    """The call as a function of its arrays."""
    scope = {"torch": lib, "F": lib.nn.functional}
    return eval(f"lambda {', '.join(names)}: {text}", scope)


def evaluate(lib: Any, text: str, arrays: tuple[np.ndarray, ...], slopes: bool) -> dict:
    """Values as ``value0`` ..., and the gradients of the first one's sum as ``slope0`` ..."""
    leaves = [lib.tensor(a, requires_grad=slopes) for a in arrays]
    outs = function(lib, text, "xy"[: len(leaves)])(*leaves)
    outs = tuple(outs) if isinstance(outs, tuple) else (outs,)
    found = {f"value{i}": out.detach().numpy() for i, out in enumerate(outs)}
    first = next((out for out in outs if out.requires_grad), None)
    if first is not None:
        ones = lib.ones_like(first)
        grads = lib.autograd.grad(first, leaves, ones, allow_unused=True, materialize_grads=True)
        # Added to zeros: PyTorch has tensors of zeros without memory.
        zeros = [lib.zeros_like(leaf) for leaf in leaves]
        grads = [z + g for z, g in zip(zeros, grads, strict=True)]
        found |= {f"slope{i}": g.detach().numpy() for i, g in enumerate(grads)}
    return found


# ---- Where gradcli differs on purpose ------------------------------------------------------------

Mask = Callable[..., Any]


def _nan(got: Any, want: Any, *_: Any) -> Any:
    return np.isnan(want)


def _zeros(got: Any, want: Any, *_: Any) -> Any:
    return (got == 0) & (want == 0)


def _anywhere(got: Any, want: Any, *_: Any) -> Any:
    return np.ones(np.shape(want), bool)


def _ties(got: Any, want: Any, x: Any) -> Any:
    """Rows in which an entry comes twice, NaN too."""
    many = [len(np.unique(row)) < len(row) for row in x]
    return np.broadcast_to(np.reshape(many, (-1,) + (1,) * (np.ndim(want) - 1)), np.shape(want))


def _extreme_rows(got: Any, want: Any, x: Any) -> Any:
    """Rows whose squares leave the floats."""
    with np.errstate(all="ignore"):
        powers = np.sum(np.abs(x).astype(x.dtype) ** 3, -1)
        least = np.min(np.where(x == 0, np.inf, np.abs(x)), -1)
    info = np.finfo(x.dtype)
    off = (powers > info.max) | (powers < info.tiny) | (least < info.tiny ** (1 / 3))
    if not np.ndim(want):
        return np.any(off)
    return np.broadcast_to(np.reshape(off, off.shape + (1,) * (np.ndim(want) - off.ndim)),
                           np.shape(want))  # fmt: skip


APART: tuple[tuple[str, str, Mask, str], ...] = (
    (r"torch.(maximum|minimum|fmax|fmin|max|min|clamp|amax|amin|aminmax|kthvalue|quantile)\(|hard"
     r"|relu6|celu|layer_norm|angle|lerp|addc|erfinv|slogdet|det\(|median|sgn",
     "value", _zeros, "which of two equal zeros, or the sign that a sum of zeros has"),
    (r"torch.(digamma|polygamma)", "value|slope", lambda g, w, x: (x <= 0) | np.isinf(x),
     "its reflection formula leaves the poles by rounding, and inf gives NaN"),
    (r"torch.sinc", "value", lambda g, w, x: x % 1 == 0, "sin(pi) of a rounded pi is not 0"),
    (r"torch.sinc", "slope", lambda g, w, x: (np.abs(x) < 1e-2) | (np.abs(x) > 1e16),
     "cancels near 0, and sin(1e17*pi) rounds its argument"),
    (r"special.i1\(|special.i1e|special.i0e|erfcx", "slope",
     lambda g, w, x: (np.abs(x) > 80) | np.isnan(x), "inf - inf, or digits that cancel"),
    (r"expm1", "slope", lambda g, w, x: x < -10, "its result + 1 has lost the digits of exp(x)"),
    (r"log_ndtr", "slope", lambda g, w, x: x < -80, "its quotient of exponentials underflows"),
    (r"ndtr\(|gelu", "value|slope", lambda g, w, x: (np.abs(x) > 2) | np.isnan(w),
     "1 + erf cancels far below 0, and inf*0 is NaN"),
    (r"hardsigmoid", "value|slope", lambda g, w, x: np.isclose(g, w, rtol=1e-7),
     "its 1/6 is rounded to float32; 1/6 here"),
    (r"celu\(x, 0.7|elu|selu", "slope", lambda g, w, x: x <= 0, "its 1/0.7 is rounded to float32"),
    (r"softsign", "slope", lambda g, w, x: np.abs(x) > 500, "digits lost to 1 + abs(x)"),
    (r"copysign", "slope", lambda g, w, x, y=0: np.isinf(x), "inf/inf: the slope is a sign"),
    (r"hardswish", "value", lambda g, w, x: x == -np.inf, "-inf*0 is NaN; 0 is the limit"),
    (r"zeta", "value", lambda g, w, x, y: (np.abs(y) > 1e16) | np.isinf(x), "the limit, 0"),
    (r"igamma", "value|slope", lambda g, w, x, y: np.isnan(x + y) | np.isinf(x) | (
        np.abs(x) > 1e16) | (np.abs(x) < 1e-29), "NaN, limits at inf, digits that cancel"),
    (r"bessel_j", "value", lambda g, w, x: np.abs(x) > 5, "its series is off by 4e-7 at 6"),
    (r"torch.(fmod|remainder)\(x, y\)|^x % ", "value", _nan,
     "the quotient overflows; fmod is exact"),
    (r"torch.fmod\(x, y\)", "slope1", lambda g, w, x, y: np.isinf(x) | (x / y - np.fmod(
        x, y) / y == -g), "x / y rounds up to a whole number, and of inf nothing remains"),
    (r"torch.atan2", "slope", lambda g, w, x, y: np.hypot(x, y) < 1e-19, "its squares underflow"),
    (r"torch.atan2", "slope", lambda g, w, x, y: np.hypot(x, y) == np.inf, "inf/inf: the limit, 0"),
    (r"torch.pow", "slope", lambda g, w, x, y: (g == 0) & np.isnan(w), "0*inf: the limit, 0"),
    (r"torch.(acosh|asinh)", "slope", lambda g, w, x: np.abs(x) > 1e19, "its square overflows"),
    (r"hypot", "slope", _nan, "0/0 at the origin; 0 here, as norm has it"),
    (r"logaddexp2", "value", lambda g, w, x, y: np.abs(g - w) < 1e-15, "a rounded 0"),
    (r"addcdiv", "slope1", _nan, "0 over the square of a subnormal"),
    (r"with_logits", "value", lambda g, w, x, y: x < -1e16, "x - logsigmoid(x) is 0, or inf - inf"),
    (r"F.binary_cross_entropy\(", "slope1", lambda g, w, x, y: (x < 1e-29) | (x > 1 - 1e-12),
     "the slope by the target is that of clamped logarithms; there it is infinite"),
    (r"kl_div", "slope1", lambda g, w, x, y: (y == 0) | (np.abs(g - w) < 1e-15),
     "y*log(y) at 0, and log(y) + 1 - x where that is 0 but for rounding"),
    (r"nanmedian|nanquantile|nanmean", "value1|slope",
     lambda g, w, x: np.isnan(x).all(-1).reshape((-1,) + (1,) * (np.ndim(w) - 1)),
     "no entry is a number"),
    (r"torch.(kthvalue|topk|sort|median|argsort)", "value1|slope", _ties,
     "which one of several equal entries is not said"),
    (r"torch.(cumprod|prod)\(", "value|slope", lambda g, w, x: np.broadcast_to(
        ~np.isfinite(np.prod(np.abs(x) + 1, -1, dtype=x.dtype, keepdims=True))
        | (np.abs(x).max(-1, keepdims=True) < 1e-100), np.shape(w)),
     "a quotient of products, or products in another order"),
    (r"logsumexp", "slope", lambda g, w, x: (
        np.abs(x) * np.isfinite(x)).max(-1, keepdims=True) > 1e16,
     "its shares of a result that is rounded do not sum to 1"),
    (r"logcumsumexp", "slope", _anywhere, "it rounds log(n) away beside 1e17"),
    (r"vector_norm|torch.norm|normalize|renorm|cosine|pairwise|torch.std|linalg.norm|matrix_norm"
     r"|cdist|torch.dist|layer_norm|torch.var", "value|slope", _extreme_rows,
     "its squares overflow or underflow"),
    (r"renorm|softmax|softmin|layer_norm", "slope",
     lambda g, w, x: np.isclose(g, w, rtol=0, atol=1e-6), "a sum that is 0 but for rounding"),
    (r"layer_norm", "slope|value", lambda g, w, x: np.isinf(x).any(-1, keepdims=True) | (
        np.abs(x).max(-1, keepdims=True) > 1e16), "its variance overflows"),
    (r"torch.det", "slope", lambda g, w, x: np.broadcast_to(np.linalg.det(x) == 0, np.shape(w)),
     "its gradient of a singular matrix of rank n - 1 is 0; the adjugate here"),
    (r"slogdet", "value0", lambda g, w, x: np.isnan(x).any(), "the sign of NaN"),
)  # fmt: skip
"""Calls (a pattern of their key), parts, where, and why."""


def compared(key: str, part: str, got: Any, want: Any, arrays: Any) -> tuple[Any, set[int]]:
    """Where the two differ without a reason in ``APART``, and the reasons that were needed."""
    import re

    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return np.ones(want.shape, bool) if want.size else np.ones(1, bool), set()
    if want.dtype.kind not in "fc":
        apart = got != want
    else:
        rtol, atol = (1e-4, 3e-7) if want.dtype == np.float32 else (1e-9, 1e-307)
        with np.errstate(all="ignore"):
            near = (got == want) | (np.isnan(got) & np.isnan(want))
            near |= np.abs(got - want) <= rtol * np.abs(want) + atol
        if part.startswith("value"):
            near &= ~((got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want)))
        apart = ~near
    used = set()
    for i, (calls, parts, mask, _) in enumerate(APART):
        if apart.any() and re.search(calls, key) and re.match(parts, part):
            with np.errstate(all="ignore"):
                there = mask(got, want, *arrays)
            left = apart & ~np.broadcast_to(there, apart.shape)
            if left.sum() < apart.sum():
                used.add(i)
            apart = left
    return apart, used
