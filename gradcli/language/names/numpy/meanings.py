"""What NumPy's functions are of tensors, where torch's of the same names are something else.

``np.std`` divides by the count, ``np.median`` of an even count lies between two entries, and
``np.repeat`` repeats each entry: ``np`` in a program means NumPy, of arrays and of tensors alike.
What stands behind a place of NumPy's that is missing here (``out``) is given by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.creation.factories import as_tensor, sizes_of
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import (
    arithmetic,
    counting,
    overloads,
    products,
    reshaping,
    scatter,
    sorting,
    statistics,
    strided,
)
from gradcli.functions.nn import padding
from gradcli.language.names.argument_checks import checked_data, composed
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import bad_argument, bad_shape
from gradcli.ops.operator import OPERATORS as O


def std(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The standard deviation, by the count less ``ddof``: by the count itself, unless said."""
    return O["std"](_of(a, dtype), axis, ddof, keepdims)


def var(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The variance, by the count less ``ddof``."""
    return O["var"](_of(a, dtype), axis, ddof, keepdims)


def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The middle entry, or what lies midway between the middle two."""
    return statistics.quantile(_of(a, None), 0.5, axis, keepdims)


def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """``median`` of what is a number."""
    return statistics.nanquantile(_of(a, None), 0.5, axis, keepdims)


def percentile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """The entries below which so many of a hundred lie."""
    a = _of(a, None)
    part = as_tensor(q, dtype=a.dtype) / 100
    return statistics.quantile(a, part, axis, keepdims, interpolation=method)


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """The mean, or the mean with weights of the shape of ``a``."""
    if weights is None:
        return O["mean"](_of(a, None), axis)
    weights = checked_data(weights, "average")
    if weights.ndim != a.ndim:
        raise bad_shape("np.average: the weights have the shape of the array")
    return O["sum"](a * weights, axis) / O["sum"](weights, axis)


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """From the smallest entry to the largest."""
    return O["amax"](a, axis, keepdims) - O["amin"](a, axis, keepdims)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """The sums up to each entry; of all entries in one row where there is no axis."""
    return O["cumsum"](*_along(_of(a, dtype, whole=True), axis))


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """The products up to each entry; of all entries in one row where there is no axis."""
    return O["cumprod"](*_along(_of(a, dtype, whole=True), axis))


def sort(a: Any, axis: int | None = -1) -> Any:
    """The entries in order, without their places."""
    return sorting.sort(*_along(a, axis))[0]


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each entry so many times; ``np.tile`` repeats the whole."""
    counts = repeats if isinstance(repeats, int) else as_tensor(repeats)
    return reshaping.repeat_interleave(a, counts, axis)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """One array behind the other."""
    parts = [_along(as_tensor(checked_data(part, "append")), axis) for part in (arr, values)]
    return overloads.cat([part for part, _ in parts], parts[0][1])


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the entries at a place, or at several."""
    a, d = _along(as_tensor(checked_data(arr, "delete")), axis)
    d = normal_dim(d, a.ndim)
    gone = as_tensor(checked_data(obj, "delete")).tolist()
    kept = np.delete(np.arange(a.shape[d]), gone)
    return a[(*[slice(None)] * d, as_tensor(kept))]


def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """With further entries at the ends of each dimension."""
    a = checked_data(array, "pad")
    each = np.asarray(pad_width)
    if each.dtype.kind != "i" or (each < 0).any():
        raise bad_argument("np.pad: a width is a whole number, 0 or more", help="np.pad(a, (1, 0))")
    widths = np.broadcast_to(each, (a.ndim, 2)).tolist()
    if mode == "constant":
        return padding.pad(a, [w for pair in widths[::-1] for w in pair], value=constant_values)
    for d, (before, after) in enumerate(widths):
        places, last = np.arange(-before, a.shape[d] + after), a.shape[d] - 1
        around = abs(places) % max(1, 2 * last)
        found = {"edge": places.clip(0, last), "wrap": places % (last + 1),
                 "reflect": np.minimum(around, 2 * last - around)}  # fmt: skip
        if mode not in found:
            raise bad_argument(f"np.pad: no mode {mode!r}", help=f"one of {', '.join(found)}")
        a = a[(*[slice(None)] * d, as_tensor(found[mode]))]
    return a


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """On the lines between points whose ``xp`` increase; beyond them what the first and the last
    have, or ``left`` and ``right``."""
    x, xp, fp = (_of(as_tensor(checked_data(v, "interp")), None) for v in (x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or len(xp) < 2:
        raise bad_shape("np.interp: two points or more, given by two vectors of one size")
    above = statistics.searchsorted(xp, x, right=True).clamp(1, len(xp) - 1)
    below = above - 1
    part = (x - xp[below]) / (xp[above] - xp[below])
    found = fp[below] + part * (fp[above] - fp[below])
    found = reshaping.where(x < xp[0], fp[0] if left is None else left, found)
    end = fp[-1] if right is None else reshaping.where(x > xp[-1], right, fp[-1])
    return reshaping.where(x >= xp[-1], end, found)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The sums of products of entries whose places add up to the same."""
    a, v = (as_tensor(checked_data(one, "convolve")) for one in (a, v))
    if a.ndim != 1 or v.ndim != 1 or not (a.numel() and v.numel()):
        raise bad_shape("np.convolve: two vectors with an entry or more")
    dtype = overloads.result_type(a, v)
    a, v = sorted((a.to(dtype), v.to(dtype)), key=len, reverse=True)
    many, few = len(a), len(v)
    parts = {"full": (0, many + few - 1), "same": ((few - 1) // 2, many),
             "valid": (few - 1, many - few + 1)}  # fmt: skip
    if mode not in parts:
        raise bad_argument(f"np.convolve: no mode {mode!r}", help=f"one of {', '.join(parts)}")
    begin, count = parts[mode]
    windows = padding.pad(a, (few - 1, few - 1)).unfold(0, few, 1)
    return O["matmul"](windows[begin : begin + count], O["flip"](v, (0,)))


def polyval(p: Any, x: Any) -> Any:
    """The polynomial with the coefficients ``p``, that of the highest power first."""
    found: Any = x * 0
    for coefficient in checked_data(p, "polyval"):
        found = found * x + coefficient
    return found


def copyto(dst: Any, src: Any) -> None:
    """``src`` written to all of ``dst``, which is no array of a lower kind, as of whole numbers."""
    found, kept = (
        "buifc".index(as_tensor(checked_data(one, "copyto")).dtype.numpy.kind) for one in (src, dst)
    )
    if found > kept:
        said = "np.copyto: an array of whole numbers takes no others"
        raise bad_argument(said, help="np.copyto(dst, src.astype(dst.dtype))")
    dst[...] = src


def fill_diagonal(a: Any, val: Any) -> None:
    """``val`` written to the diagonal of a matrix, or of an array whose dimensions are as long."""
    if a.ndim < 2 or len(set(a.shape)) > 1 < a.ndim - 1:
        raise bad_shape(f"np.fill_diagonal: no diagonal of the shape {tuple(a.shape)}")
    a[(as_tensor([*range(min(a.shape))]),) * a.ndim] = val


def ndim(a: Any) -> int:
    """How many dimensions there are."""
    return as_tensor(a).ndim


def shape(a: Any) -> tuple[int, ...]:
    """The size of each dimension."""
    return tuple(as_tensor(a).shape)


def size(a: Any, axis: int | None = None) -> int:
    """How many entries there are, of all or along one axis."""
    sizes = shape(a)
    return math.prod(sizes) if axis is None else sizes[axis]


def split(a: Any, sections: Any, axis: int = 0) -> list[Any]:
    """Equal parts, so many of them, or parts that begin at the places of a list."""
    if isinstance(sections, int) and (sections < 1 or a.shape[axis] % sections):
        raise bad_shape(f"np.split: {a.shape[axis]} entries are not {sections} equal parts")
    return list(reshaping.tensor_split(a, sections, axis))


def array_split(ary: Any, sections: Any, axis: int = 0) -> list[Any]:
    """Parts of which the first may have one entry more."""
    return list(reshaping.tensor_split(checked_data(ary, "array_split"), sections, axis))


def transpose(a: Any, axes: Any = None) -> Any:
    """The dimensions in reverse, or in the order of ``axes``."""
    return O["permute"](a, tuple(range(a.ndim))[::-1] if axes is None else axes)


def dot(a: Any, b: Any) -> Any:
    """The product of numbers, vectors or matrices; of more, along the last axis and the one before
    the last.
    """
    if not getattr(a, "ndim", 0) or not getattr(b, "ndim", 0):
        return a * b
    if b.ndim < 3:
        return O["matmul"](a, b)
    return products.tensordot(a, b, ((-1 % a.ndim,), (b.ndim - 2,)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sums of products along so many axes, or along those of two lists."""
    if not isinstance(axes, int):
        axes = [one if isinstance(one, list | tuple) else (one,) for one in axes]
    return products.tensordot(a, b, axes)


def outer(a: Any, b: Any) -> Any:
    """The products of all entries with all."""
    return O["outer"](O["reshape"](a, (-1,)), O["reshape"](b, (-1,)))


def broadcast_to(array: Any, shape: Any) -> Any:
    """Repeated to a shape, which may be one number; -1 is no size of it."""
    return O["expand"](checked_data(array, "broadcast_to"), sizes_of((shape,), "broadcast_to"))


def expand_dims(a: Any, axis: int) -> Any:
    """With a further dimension of one entry."""
    return O["unsqueeze"](a, axis)


def cross(a: Any, b: Any, *, axis: int = -1) -> Any:
    """The vector product along the last axis, or another."""
    return products.cross(a, b, axis)


def histogram(a: Any, bins: Any = 10, range: Any = None) -> Any:
    """How many entries fall into each bin, and the edges of the bins."""
    edges = bins if isinstance(bins, int) else checked_data(bins, "histogram").to(_of(a, None))
    found = counting.histogram(_of(a, None), edges, range=range)
    return found.hist.long(), found.bin_edges


def round(a: Any, decimals: int = 0) -> Any:
    """The nearest number of so many decimals, ties to even."""
    return arithmetic.round(a, decimals=decimals)


def select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    """The choice of the first condition that holds, or else ``default``."""
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        default = reshaping.where(condition, choice, default)
    return default


def nonzero(a: Any) -> tuple[Any, ...]:
    """The places of entries that are not 0, an array for each dimension."""
    return tuple(reshaping.nonzero(a, as_tuple=True))


def flatnonzero(a: Any) -> Any:
    """The places of entries that are not 0, in one row."""
    return nonzero(O["reshape"](a, (-1,)))[0]


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``x`` where the condition holds and ``y`` elsewhere; of a condition alone its ``nonzero``."""
    return nonzero(condition) if x is None and y is None else reshaping.where(condition, x, y)


def equal(a: Any, b: Any) -> Any:
    """Which entries are equal."""
    return a == b


def gradient(a: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Differences at each entry, an array for each dimension where there are several."""
    given: Any = 1 if not spacing else spacing[0] if len(spacing) == 1 else list(spacing)
    if isinstance(given, Tensor) and given.ndim:
        given = (given,)
    found = strided.gradient(a, spacing=given, dim=axis, edge_order=edge_order)
    return found[0] if len(found) == 1 else found


def meshgrid(*tensors: Any, indexing: str = "xy") -> Any:
    """The grids of vectors, of which the first goes along the columns."""
    return tuple(O["clone"](grid) for grid in reshaping.meshgrid(*tensors, indexing=indexing))


def conj(a: Any) -> Any:
    """The complex conjugate, in memory of its own."""
    return O["clone"](arithmetic.conj(a))


def flip(a: Any, axis: Any = None) -> Any:
    """The entries in reverse order along axes, as a view."""
    axes = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not isinstance(a, Tensor):  # a step of a formula, which refuses to be written to later
        return O["flip"](a, axes) if axes else a
    index = [slice(None)] * a.ndim
    for d in axes:
        index[normal_dim(d, a.ndim)] = slice(None, None, -1)
    return a[tuple(index)]


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """The entries moved on along an axis, or along several; without one in the row of all."""
    if isinstance(axis, tuple) and not isinstance(shift, tuple):
        shift = (shift,) * len(axis)
    return O["roll"](a, shift, axis)


def fliplr(a: Any) -> Any:
    """The columns in reverse order, as a view."""
    return flip(a, 1)


def flipud(a: Any) -> Any:
    """The rows in reverse order, as a view."""
    return flip(a, 0)


def rot90(a: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by so many right angles, from the first axis to the second, as a view."""
    turned = flip(a, ((), axes[1], axes, axes[0])[k % 4])
    return O["transpose"](turned, *axes) if k % 2 else turned


def diag(v: Any, k: int = 0) -> Any:
    """A matrix with the vector on a diagonal; of a matrix, a diagonal as a view."""
    return scatter.diagonal(v, k) if v.ndim == 2 else scatter.diag(v, k)


def _of(a: Any, dtype: Any, whole: bool = False) -> Any:
    """``a`` in the type that is computed in: float64 for whole numbers, unless they stay so."""
    if dtype is not None:
        return a.to(dtype)
    return a if whole or a.is_floating_point() or a.is_complex() else a.double()


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    """Of no axis NumPy takes all entries in one row."""
    return (O["reshape"](a, (-1,)), 0) if axis is None else (a, axis)


MEANINGS: dict[str, Callable[..., Any]] = {
    f.__name__: composed(f)
    for f in (
        percentile, append, delete, pad, interp, convolve, polyval, copyto, fill_diagonal, ndim,
        shape, size, array_split, flatnonzero, std, var, median, nanmedian, average, ptp, cumsum,
        cumprod, sort, repeat, split, transpose, broadcast_to,
        dot, tensordot, outer, expand_dims, cross, histogram, round, select, nonzero, where, equal,
        gradient, meshgrid,
        conj, flip, fliplr, flipud, roll, rot90, diag,
    )
}  # fmt: skip
