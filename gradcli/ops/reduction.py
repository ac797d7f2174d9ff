"""Reductions: sums, means, products, spread, norms, extremes and softmax.

``dim`` is one dimension, several, or None for all; ``keepdim`` leaves reduced ones with size 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.ops.comparison import all_finite, isnan, ones_like, zeros_like
from gradcli.ops.conversion import in_wider
from gradcli.ops.declaration import cures
from gradcli.ops.declaration.batching import Batch, along, vectors
from gradcli.ops.declaration.node_names import by_dim
from gradcli.ops.dims import Dims, Every, in_rows, laid_as, normal_dim, normal_dims, unreduce
from gradcli.ops.errors import bad_shape, bad_value
from gradcli.ops.exponential import exp
from gradcli.ops.indexing import getitem
from gradcli.ops.joining import stack
from gradcli.ops.kinds import general, linear, reduction
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.numerics.summation import FEW, HALF, accurate_sum, in_double
from gradcli.ops.operator import Operator, is_complex
from gradcli.ops.piecewise import abs, direction, unit, where
from gradcli.ops.scans import cumprod, one_before, recurrence
from gradcli.ops.shape import count, expand, flip, permute, reshape
from gradcli.ops.torch_messages import nothing_largest

_add: Any = np.add.reduce


def _axes(x: Any, dim: Dims) -> tuple[int, ...] | None:
    return None if dim is None else normal_dims(dim, np.ndim(x))


def _sum(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    whole = isinstance(dim, tuple) and dim and dim[0].__class__ is int
    if dim is None or dim.__class__ is int or whole:
        try:
            if x.__class__ is np.ndarray and x.size <= FEW and x.dtype is not HALF:
                return _add(x, axis=dim, keepdims=keepdim)
            return accurate_sum(x, dim, keepdim)
        except (ValueError, TypeError, AttributeError):
            pass  # a number, or a wrong dimension
    return accurate_sum(x if hasattr(x, "sum") else np.asarray(x), _axes(x, dim), keepdim)


def _product(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    if getattr(x, "dtype", None) is HALF:  # rounded once
        return _product(x.astype(np.float32), dim, keepdim).astype(HALF)
    found: Any = np.multiply.reduce if isinstance(x, np.ndarray | np.generic) else np.prod
    return found(x, axis=_axes(x, dim), keepdims=keepdim)


sum = linear(
    "sum",
    _sum,
    lambda g, shape, dim, keepdim: expand(unreduce(g, shape, dim, keepdim), shape),
    rows=True,
    doc="The sum of all entries, or along dimensions.",
    example="sum(x**2) --x 1,2,3",
    node={"name": by_dim("SumBackward0", "SumBackward1"), "dims": True},
    cures=cures.TOO_LARGE,
)


def _mean(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    n = count(x.shape if x.__class__ is np.ndarray else np.shape(x), dim)
    if not n:
        # NumPy warns of the mean of nothing; like PyTorch's, it is NaN.
        return np.sum(x, axis=_axes(x, dim), keepdims=keepdim) * np.nan
    char = getattr(getattr(x, "dtype", None), "char", "")
    if char in "dfDF" and char:
        return _sum(x, dim, keepdim) / n  # np.mean in less time
    if char == "e" and x.__class__ is np.ndarray:
        return (_add(x, _axes(x, dim), np.float64, None, keepdim) / n).astype(np.float16)
    return np.mean(x, axis=_axes(x, dim), keepdims=keepdim)


mean = linear(
    "mean",
    _mean,
    lambda g, shape, dim, keepdim: expand(
        unreduce(g, shape, dim, keepdim) / count(shape, dim), shape
    ),
    dtypes="inexact",
    rows=True,
    halves="many",
    doc="The mean of all entries, or along dimensions.",
    example="mean(x**2) --x 1,2,3",
    node={"name": by_dim("MeanBackward0", "MeanBackward1"), "dims": True, "dense": True},
    cures=cures.TOO_LARGE,
)


_SMALL = 512
_WIDER = {"f": np.float64, "F": np.complex128}


def _centred(x: Any, dim: Dims = None) -> Any:
    wider = _WIDER.get(x.dtype.char) if isinstance(x, np.ndarray) else None
    if wider is None or not x.size:
        return x - _mean(x, dim, True)
    # The rounding of a mean in single precision counts beside a small spread. A double costs
    # nothing in a small array; in others the mean of what is left, where that is such a rounding,
    # is taken out as well.
    n, axes = count(x.shape, dim), _axes(x, dim)
    if x.size <= _SMALL:
        return (x - _add(x, axes, wider, None, True) / n).astype(x.dtype)
    mean = _mean(x, dim, True)
    out = x - mean
    left = _mean(out, dim, True)
    out -= np.where(np.abs(left) < 1e-4 * np.abs(mean), left, 0)
    return out


def _centred_batch(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    x, rank = batch.values[0], batch.ranks[0]
    return op(x, tuple(d + 1 for d in normal_dims(params["dim"], rank))) if rank else x - x


centred: Operator = linear(
    "centred",
    _centred,
    lambda g, dim: centred(g, dim),
    dtypes="inexact",
    doc="Each entry less the mean, which is not rounded before.",
    numpy="""def _centred(x, dim):
    return x - np.mean(x, axis=dim, keepdims=True)""",
    pytorch="""def _centred(x, dim):
    return x - torch.mean(x, dim=dim, keepdim=True)""",
    batching=_centred_batch,
    few=_SMALL,
    public=False,
)


def _last(x: Any, dim: int | None) -> tuple[Any, int]:
    """x with the dimension to work along at the end, and where it came from (None: all, flat)."""
    if dim is None:
        return reshape(x, (-1,)), 0
    return moveaxis(x, dim, -1), normal_dim(dim, len(x.shape))


def moveaxis(x: Any, source: int, target: int) -> Any:
    """One dimension moved to another place, by ``permute``."""
    n = len(x.shape)
    dims = list(range(n))
    d = dims.pop(normal_dim(source, n))
    dims.insert(normal_dim(target, n), d)
    return permute(x, tuple(dims))


@in_double
def _others(x: Any, axis: int) -> Any:
    """Along the last dimension, the product of all the other entries: exact where some are 0."""
    one = np.ones_like(x[..., :1])
    left = np.cumprod(np.concatenate([one, x[..., :-1]], axis=-1), axis=-1)
    right = np.cumprod(np.concatenate([one, x[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return laid_as(left * right, x)


def _others_along(t: Any, x: Any) -> Any:
    """How these products change along ``t``: those of the entries before and after change as
    running products do. It is its own transpose, as the products are a gradient."""
    x, t = (stack(v, flip(v, -1), dim=0) for v in (x, t))
    products = one_before(cumprod(x, -1), -1, ones_like)
    slopes = one_before(recurrence(x, t * products, -1), -1, zeros_like)
    joined = products * flip(slopes, (0, -1))
    return getitem(joined, (0,)) + flip(getitem(joined, (1,)), -1)


prod_others = general(
    "prod_others",
    lambda x: _others(x, -1),
    lambda g, x: _others_along(g, x),
    jvp=lambda tx, x: _others_along(tx, x),
    holds=3,
    doc="Along the last dimension, the product of all the other entries.",
    dtypes="keep",
    batching=vectors,
    public=False,
)


def _prod_slope(x: Any, dim: int | None) -> Any:
    if not len(x.shape):
        return 1.0
    flat, place = _last(x, dim)
    others = prod_others(flat)
    return reshape(others, x.shape) if dim is None else moveaxis(others, -1, place)


prod = reduction(
    "prod",
    _product,
    # The result is not read but saved, as in PyTorch: a write to it is an error of backward.
    lambda x, out, dim: _prod_slope(x, dim),
    dtypes="keep",
    doc="The product of all entries, or along one dimension.",
    edges="exact where entries are 0",
    example="prod(x) --x 2,3,4",
    kink="where an entry of {0} is 0: the formula divides by it (gradcli grad does not)",
    batching=along,
    node={"name": by_dim("ProdBackward0", "ProdBackward1")},
    cures=cures.TOO_LARGE,
)


def _is_far(mean: Any, std: Any) -> bool:
    """Whether a mean is so large that its rounding may count beside ``std``."""
    return bool((np.abs(mean).reshape(np.shape(std)) > 30 * std).any())


def _var(x: Any, dim: Dims = None, correction: float = 1, keepdim: bool = False) -> Any:
    n = count(np.shape(x), dim)
    # As in ``_centred``; the squares of a small array are doubles too.
    small = x.__class__ is np.ndarray and x.size <= _SMALL
    wider = _WIDER.get(x.dtype.char) if small and n else None
    if wider:
        mean = _add(x, _axes(x, dim), wider, None, True) / n
    else:
        mean = _mean(x, dim, True)
    d = x - mean
    total = _sum((d * np.conj(d)).real if is_complex(d) else d * d, dim, keepdim)
    if n - correction >= 1:
        out = total / total.dtype.type(n - correction)
        if not small and _is_far(mean, np.sqrt(out)):
            return _var(d, dim, correction, keepdim)
    elif is_complex(d):  # each part by itself: a part without spread makes it NaN
        out = _var(d.real, dim, correction, keepdim) + _var(d.imag, dim, correction, keepdim)
    else:
        with np.errstate(all="ignore"):  # of too few it is inf, or NaN where they are equal
            out = total / total.dtype.type(max(n - correction, 0))
    return out.astype(np.float32) if wider else out


def _spread(x: Any, dim: Dims, correction: float) -> Any:
    """The gradient of half the variance: each entry less the mean, over n - correction.

    Of all entries, where they are too few, it is inf as the value is, and NaN at the mean.
    """
    away, share = centred(x, dim), count(x.shape, dim) - correction
    whole = dim is None or isinstance(dim, Every)
    if share.__class__ in (int, float) and share <= 0 and (whole or not x.shape):
        return where(away == 0, math.nan * ones_like(away), math.inf)
    return away / share


var = reduction(
    "var",
    _var,
    lambda x, dim, correction: 2.0 * _spread(x, dim, correction),
    dtypes="inexact",
    halves="all",
    few=_SMALL,
    holds=2,
    doc="The variance, with n - correction below the line.",
    example="var(x) --x 1,2,4",
    cures=cures.SPREAD,
    node={"dims": True},
)


def _std(x: Any, dim: Dims = None, correction: float = 1, keepdim: bool = False) -> Any:
    n = count(np.shape(x), dim)
    if n <= correction:
        return np.sqrt(_var(x, dim, correction, keepdim))
    small = x.__class__ is np.ndarray and x.size <= _SMALL
    if small and x.dtype.char in _WIDER:
        wide = x.astype(_WIDER[x.dtype.char])
        return np.sqrt(_var(wide, dim, correction, keepdim)).astype(np.float32)
    mean = _mean(x, dim, True)
    d = x - mean
    out = _length(np.abs(d), _axes(x, dim), keepdim, share=n - correction)
    return out if small or not _is_far(mean, out) else _std(d, dim, correction, keepdim)


std = reduction(
    "std",
    _std,
    lambda x, out, dim, correction: direction(
        _spread(x, dim, correction),
        out + 1 if count(x.shape, dim) == 1 > correction else out,  # of one: 0, without a kink
    ),
    dtypes="inexact",
    halves="all",
    few=_SMALL,
    holds=3,
    doc="The standard deviation: the root of the variance.",
    edges="slope 0 for a constant",
    example="std(x) --x 1,2,4",
    parity="even",
    kink="where {0} is constant: std has no derivative (gradcli grad takes 0)",
    cures=cures.SPREAD,
    node={"dims": True},
)


def _length(
    size: Any, axes: tuple[int, ...] | None, keepdim: bool, p: float = 2, share: float = 1
) -> Any:
    """The p-norm of sizes over ``share ** (1/p)``; scaled where powers would leave the floats."""
    if p != 2:
        charge_shape(size.shape, size.itemsize)
    total = accurate_sum(size * size if p == 2 else size**p, axes, keepdim)
    out = np.sqrt(total / share) if p == 2 else (total / share) ** (1.0 / p)
    info = np.finfo(total.dtype)
    fits = (total > info.tiny / info.eps) & (total < info.max)
    if fits.all() or not size.size:
        return out
    most = (np.max if p > 0 else np.min)(np.abs(size), axis=axes, keepdims=True)
    if p > 0 and share > 0 and (fits | (np.reshape(most, np.shape(total)) == 0)).all():
        return out  # what is no power of zeros needs no scaling
    safe = np.where((most > 0) & (most < np.inf), most, most.dtype.type(1))
    charge_shape((2, *size.shape), size.itemsize)
    total = accurate_sum((size / safe) ** p, axes, keepdim) / share
    # Each by its own: a norm does not depend on what lies beside it.
    found = np.reshape(safe, np.shape(total)) * total ** (1.0 / p)
    found = np.where(np.reshape(most, np.shape(total)) == 0, 0.0, found)  # where 1/p is 0 too
    return np.where(fits, out, found)[()]


_SPANS = {
    np.dtype(kind).char: (
        float(np.finfo(kind).tiny / np.finfo(kind).eps),
        float(np.finfo(kind).max),
    )
    for kind in (np.float32, np.float64)
}
"""By element type: between which sums of squares their root needs no scaling."""


def _check_norm(p: float, shape: tuple[int, ...], dim: Dims) -> None:
    """Raise RuntimeFault (E0304) for a norm of no entries that begins with none."""
    if 0 in shape and not count(shape, dim):
        axes = () if dim is None else normal_dims(dim, len(shape))
        empty = next((d for d in axes if not shape[d]), None)
        where = "an empty tensor " if empty is None else f"the dimension {empty}"
        this = "" if empty is None else "this dimension is empty and "
        said = f"linalg.vector_norm cannot compute the {p:g} norm on {where}because {this}the"
        raise bad_value(f"{said} operation does not have an identity")


def _norm(x: Any, p: Any = 2, dim: Dims = None, keepdim: bool = False) -> Any:
    plain = p.__class__ is int and dim is None and x.__class__ is np.ndarray
    if plain and p == 2 and x.dtype.char in _SPANS:
        total = _add(x * x, axis=None, keepdims=keepdim)  # the commonest norm by far
        least, most = _SPANS[x.dtype.char]
        if least < total < most:
            return np.sqrt(total)
    axes = _axes(x, dim)
    if p in (2, "fro", None):
        return _length(np.abs(x) if is_complex(x) else x, axes, keepdim)
    size = np.abs(x)
    if p.__class__ is complex:
        raise bad_value("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    if p < 0 or p == np.inf:
        _check_norm(p, size.shape, dim)
    if p == 1:
        return accurate_sum(size, axes, keepdim)
    if p == 0:
        return np.sum(size != 0, axis=axes, keepdims=keepdim).astype(size.dtype)
    if p in (np.inf, -np.inf):
        return (np.max if p > 0 else np.min)(size, axis=axes, keepdims=keepdim)
    return _length(size + p if p != p else size, axes, keepdim, p)  # of order NaN it is NaN


def _norm_slope(x: Any, out: Any, p: Any, dim: Dims) -> Any:
    """The derivative of the p-norm by each entry; ``out`` has the reduced dimensions kept."""
    if p in (2, "fro", None):
        return direction(x, out)
    if p == 1:
        return unit(x)
    if p in (np.inf, -np.inf):
        most = where((abs(x) == out) | (x != x), 1.0, zeros_like(x))  # NaN has a slope of 0
        return unit(x) * most / sum(most, dim, True)
    size = abs(x)
    if p >= 2:
        return unit(x) * direction(size, out) ** (p - 1)
    flat = ((size == 0) & (out == out)) | (out == 0)  # NaN beside 0 is NaN for both
    # By two powers, as a quotient may leave the floats; of p < 0 an infinite size has to divide.
    mine, whole = where(flat, 1.0, size), where(flat, 1.0, out)
    found = unit(x) * (mine ** (p - 1) / whole ** (p - 1) if p > 0 else (whole / mine) ** (1 - p))
    length = size if p < 0 else where(out == 0, out, size)
    return where(flat, direction(where(size == 0, x, 0.0), length), found)


norm = reduction(
    "norm",
    _norm,
    # A count moves with nothing, whatever arrives.
    lambda t, x, out, p, dim: zeros_like(x) if p == 0 else t * _norm_slope(x, out, p, dim),
    dtypes="inexact",
    grad_name="LinalgVectorNormBackward0",
    node={"dims": True, "words": {"p": "ord"}},
    halves="many",
    holds=1,
    doc="The p-norm of all entries (Frobenius for a matrix), or along dimensions.",
    edges="slope 0 at the zero vector",
    example="norm(x) --x 3,4",
    parity="even",
    kink="at {0} = 0: {op} has no derivative (gradcli grad takes 0)",
    cures=cures.TOO_LARGE,
)


def _extreme_slope(t: Any, x: Any, out: Any, dim: Dims) -> Any:
    reached, whole = x == out, dim is None or isinstance(dim, Every)
    if whole:  # PyTorch's max(): a NaN is reached too
        reached = reached | (isnan(x) & isnan(out))
    hits = where(reached, 1.0, zeros_like(x))  # counted in x's own dtype
    share = t / sum(hits, dim, True)
    # PyTorch's amax(): where a NaN wins all are NaN, and a product shows in the sign of a zero.
    return where(reached, share, 0.0) if whole else share * hits


def _extreme(name: str, which: str) -> Operator:
    short = name[1:]

    def compute(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
        if not x.size:
            empty = dim
            if dim is not None:
                empty = next((d for d in normal_dims(dim, x.ndim) if not x.shape[d]), -1)
            if empty != -1:
                raise nothing_largest(name, empty if dim else dim)
        # The method: np.max costs as much again on small arrays.
        return getattr(x, short)(axis=_axes(x, dim), keepdims=keepdim)

    return reduction(
        name,
        compute,
        _extreme_slope,
        dtypes="keep",
        grows=False,
        halves="many",
        doc=f"The {which} entry, or along dimensions.",
        edges="ties share evenly",
        example=f"{name}(x) --x 1,5,2",
        kink=f"where {which} entries of {{0}} tie: the formula leaves them out "
        "(gradcli grad shares evenly)",
        numpy=f"np.{short}",
        pytorch=f"torch.{name}",
        latex=rf"\{short}",
        refuses={"complex": f"{short}_values_cpu"},
        node={"dims": True},
    )


amax, amin = _extreme("amax", "largest"), _extreme("amin", "smallest")


def _logsumexp(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    if dim is not None and not np.size(dim) and not keepdim and np.ndim(x) and np.size(x):
        ones = [1] * np.ndim(x)
        raise bad_shape(f"output with shape [] doesn't match the broadcast shape {ones}")
    axes = normal_dims(dim, np.ndim(x))
    top = (x.max if x.size else x.sum)(axis=axes, keepdims=True)
    top = top.real if is_complex(x) else top  # its largest is by real parts; the phases stay
    e = np.exp(
        x - (top if all_finite(top) else np.where(np.isfinite(top), top, 0.0).astype(x.dtype))
    )
    out = np.log(accurate_sum(e, axes, True)) + top
    return out if keepdim else out.squeeze(axes)[()]


_COARSE = 2.0**16
"""Results of this size are rounded so far that exp(x - out) feels it."""


def _shares(x: Any, out: Any, dim: Dims) -> Any:
    """How much of the sum each entry is: the slope of logsumexp.

    The rounding of a large result is a factor common to all shares, so they are divided by their
    sum: of 1e17 and 1e17 each is a half, where PyTorch has 1 for both.
    """
    shares = exp(x - out)
    if not getattr(out, "__gradcli_traced__", False):  # else its numbers are known in a run only
        known = out
        while hasattr(known, "content"):  # a batch, or a value with a tangent
            known = known.content
        known = getattr(known, "array", known)
        size = np.abs(known) if getattr(getattr(known, "dtype", None), "kind", "") == "f" else 0.0
        if not np.any((size > _COARSE) & (size < np.inf)):
            return shares
    size = abs(out)
    total = where(size > _COARSE, sum(shares, dim, keepdim=True), 1.0)
    return shares / where(size < np.inf, total, 1.0)


logsumexp = reduction(
    "logsumexp",
    _logsumexp,
    lambda x, out, dim: _shares(x, out, dim),
    required="dim",
    out="deeper",
    holds=2,
    doc="log(sum(exp(x))), without overflow.",
    example="logsumexp(x) --x 1,2,3",
    numpy="""def _logsumexp(x, axis, keepdims):
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)""",
    node={"dims": True},
)


def _below_largest(x: Any, dim: int) -> tuple[Any, tuple[int, ...], Any]:
    """x less its largest entry along ``dim``, the axes, and where to write on: None for a number.

    Where the largest is infinite all become NaN, as in PyTorch.
    """
    axes = normal_dims(dim, x.ndim)
    # Methods, not NumPy's functions: on small arrays those cost as much again. Nothing has no max.
    below = in_rows(x - (x.max if x.size else x.sum)(axis=axes, keepdims=True))
    return below, axes, below if below.__class__ is np.ndarray else None


_SINGLE = {"e": np.dtype(np.float32)}
"""What PyTorch's kernels compute halves in, to round once."""


def _softmax(x: Any, dim: int = -1) -> Any:
    if x.dtype.char in _SINGLE:
        return _softmax(x.astype(np.float32), dim).astype(x.dtype)
    below, axes, own = _below_largest(x, dim)
    e = np.exp(below, out=own)
    return np.divide(e, accurate_sum(e, axes, True), out=own)


def _softmax_vjp(g: Any, out: Any, dim: int) -> Any:
    return out * (g + sum(-g * out, dim, True))


def _log_softmax_vjp(g: Any, out: Any, dim: int) -> Any:
    return g + exp(out) * sum(-g, dim, True)


softmax = general(
    "softmax",
    _softmax,
    lambda g, out, dim: in_wider(_SINGLE, _softmax_vjp, dim, g, out),
    jvp=lambda tx, out, dim: out * (tx - sum(tx * out, dim, True)),
    doc="exp(x) over its sum along a dimension.",
    example="softmax(x)[0] --x 1,2,3",
    numpy="""def _softmax(x, axis):
    top = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return top / np.sum(top, axis=axis, keepdims=True)""",
    pytorch="torch.softmax({0}, {dim})",
    latex=r"\operatorname{softmax}",
    refuses={"bool int complex": "softmax_lastdim_kernel_impl"},
)


def _log_softmax(x: Any, dim: int = -1) -> Any:
    if x.dtype.char in _SINGLE:
        return _log_softmax(x.astype(np.float32), dim).astype(x.dtype)
    below, axes, own = _below_largest(x, dim)
    charge_shape(below.shape, below.itemsize)  # the exponentials, beside what was charged before
    return np.subtract(below, np.log(accurate_sum(np.exp(below), axes, True)), out=own)


log_softmax = general(
    "log_softmax",
    _log_softmax,
    lambda g, out, dim: in_wider(_SINGLE, _log_softmax_vjp, dim, g, out),
    jvp=lambda tx, out, dim: tx - sum(exp(out) * tx, dim, True),
    doc="The logarithm of softmax, exact where it is small.",
    example="log_softmax(x)[0] --x 1,2,3",
    numpy="""def _log_softmax(x, axis):
    x = x - np.max(x, axis=axis, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))""",
    pytorch="torch.log_softmax({0}, {dim})",
    latex=r"\log\operatorname{softmax}",
    refuses={"bool int complex": "log_softmax_lastdim_kernel_impl"},
)
