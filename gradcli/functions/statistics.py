"""Order statistics, running extremes, tests and sums over what is a number: composed of operators.

Each is a function and, where PyTorch has it so, a method of Tensor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import as_tensor, refuse_kinds
from gradcli.engine.named_tuples import results
from gradcli.engine.record.arguments import UNSAID, Kept, Operand
from gradcli.engine.record.composite import (
    bottom,
    by_element,
    called,
    in_float32,
    named,
    of_its_own,
)
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.out import ONE_SCALAR, may_be
from gradcli.engine.source_location import warn_once
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.functions.reshaping import movedim
from gradcli.functions.sorting import medians, picked, sized
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import UnwrittenFault, bad_dtype, bad_shape, bad_type, bad_value
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import differentiated, is_number, refuse_derivative

PIECE = 400
"""Bytes that are charged for one turn of a loop over rows."""


def _running(name: str) -> Any:
    def running(input: Any, dim: int) -> Any:
        places = O[f"arg{name}"](input, dim)
        values = O["gather"](input, places.array, dim) if len(input.shape) else input.clone()
        values = called(values, f"{name.capitalize()}Backward0", input)
        return results(name, values=values, indices=places)

    doc = f"The running {name[3:]}imum along a dimension: ``(values, indices)``."
    return named(running, name, doc)


cummax, cummin = _running("cummax"), _running("cummin")
may_be("same", cummax, cummin, misfit=ONE_SCALAR)


_INTERPOLATION = ("linear", "lower", "higher", "midpoint", "nearest")


@by_element
def quantile(
    input: Any, q: Operand, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Any:  # fmt: skip
    """The ``q``-quantiles of all entries, or along a dimension; ``q`` is a number or a vector.

    Raises RuntimeFault (E0304) for a ``q`` outside 0..1 or an unknown ``interpolation``.
    """
    return _quantile(input, q, dim, keepdim, interpolation, False)


@by_element
def nanquantile(
    input: Any, q: Operand, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Any:  # fmt: skip
    """``quantile`` of the entries that are numbers."""
    return _quantile(input, q, dim, keepdim, interpolation, True)


def _quantile(
    input: Any, q: Operand, dim: int | None, keepdim: bool, interpolation: str, skip: bool
) -> Any:
    points = np.asarray(getattr(q, "array", q), np.float64)
    if input.dtype.kind != 2 or input.dtype.itemsize < 4:
        said = "quantile() input tensor must be either float or double dtype"
        raise bad_dtype(said, help="write x.float() first")
    if isinstance(q, Plain) and q.dtype is not input.dtype:
        raise bad_dtype("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in _INTERPOLATION:
        said = "must be one of linear, lower, higher, midpoint or nearest"
        raise bad_value(f"quantile() interpolation {said}, but got {interpolation}")
    if points.ndim > 1:
        raise bad_shape("quantile() q must be a scalar or 1D tensor")
    if not ((points >= 0) & (points <= 1)).all():
        if isinstance(q, int | float):
            raise bad_value(f"quantile() q must be in the range [0, 1] but got {q:g}")
        raise bad_value("quantile() q values must be in the range [0, 1]")
    rank = len(input.shape)
    if dim is None:
        line = O["reshape"](input, (-1,))
    else:
        normal_dim(dim, rank)
        line = movedim(input, dim, -1) if rank else O["reshape"](input, (1,))
    if not line.numel():
        raise bad_value("quantile() input tensor must be non-empty")
    values = O["gather"](line, O["argsort"](line, -1, False).array, -1)
    missing = O["isnan"](line).sum(-1, True).array
    whole = values.shape[-1]
    count = whole - missing if skip else np.where(missing > 0, 0, whole)
    # In the values' own dtype: 0.1 of float32 times 10 is 1 there, and 1.0000000149 in float64.
    ranks = points.reshape(-1).astype(values.dtype.numpy) * np.maximum(count - 1, 0)
    # Where a NaN decides, the last entry does: NaN sorts last.
    place = np.where(missing * (not skip) > 0, whole - 1, ranks.astype(values.dtype.numpy))
    below, above = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    if interpolation in ("lower", "higher", "nearest"):
        pick = {"lower": below, "higher": above}.get(
            interpolation, np.round(place).astype(np.int64)
        )
        out = O["gather"](values, pick, -1)
    else:
        share = (place - below) if interpolation == "linear" else np.full_like(place, 0.5)
        low, high = O["gather"](values, below, -1), O["gather"](values, above, -1)
        weight = wrap(share.astype(input.dtype.numpy), input.dtype)
        if interpolation == "linear" and hasattr(q, "requires_grad"):
            # Of the value that was computed, with the slope by q.
            steps = wrap(np.maximum(count - 1, 0).astype(input.dtype.numpy), input.dtype)
            line_of_q = O["reshape"](q.to(input.dtype), (-1,)) * steps
            weight = weight + (line_of_q - line_of_q.detach())
        between = O["lerp_tensor"](low, high, weight)
        settled = low + 0.0 * weight if differentiated(q) else low
        out = called(O["where"](below == above, settled, between), "LerpBackward0")
    if not rank and dim is not None:
        out = O["reshape"](out, (-1,))
    return of_its_own(_arranged(out, points.ndim, dim, rank, keepdim))


def _arranged(out: Any, many: int, dim: int | None, rank: int, keepdim: bool) -> Any:
    """Quantiles along the last dimension as PyTorch has them: along the first, or one alone."""
    out = movedim(out, -1, 0)
    if keepdim and rank:
        if dim is None:
            out = O["reshape"](out, (out.shape[0],) + (1,) * rank)
        else:
            out = O["unsqueeze"](out, normal_dim(dim, rank) + 1)
    return out if many else called(out[0], "SqueezeBackward4")


def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of the entries that are numbers. Raises RuntimeFault (E0309) for whole numbers."""
    target = input.dtype if dtype is None else dtypes.to_dtype(dtype)
    if input.dtype.is_complex:
        raise bad_dtype("nansum on CPU does not support complex inputs", help="write view_as_real")
    refuse_kinds("complex", "nansum_cpu", target)
    whole = min(input.dtype, target, key=lambda d: d.kind)
    if whole.kind < 2:
        said = "nanmean(): expected input to have floating point or complex dtype but got"
        raise bad_dtype(f"{said} {whole.scalar_name}", help="write x.float()")
    input = input.to(target)
    if input.dtype is dtypes.float16:  # counts may be no halves
        return in_float32(nanmean, "DivBackward0", input, dim=dim, keepdim=keepdim)
    there = O["logical_not"](O["isnan"](input))
    # Of none, NaN is summed and divides, so that the gradient is NaN too.
    kept = O["logical_or"](there, O["eq"](O["sum"](there, dim, True), 0))
    total, count = (
        O["sum"](O["where"](kept, input, 0.0), dim, keepdim),
        O["sum"](there, dim, keepdim),
    )
    return total / O["where"](O["eq"](count, 0), math.nan, count).to(total.dtype)


@by_element
def nanmedian(input: Any, dim: int = UNSAID, keepdim: Kept = False) -> Any:
    """The middle one (the lower of two) of the entries that are numbers."""
    return medians(input, dim, keepdim, "nanmedian")


def _order(row: Any) -> Any:
    """The places of a row's entries as C++'s ``std::sort`` leaves them, which ``mode`` counts by.

    It inserts up to 16 entries one by one, and none moves past a NaN but to the front; of more
    with a NaN among them its order is undefined, and NaN comes last here.
    """
    if len(row) > 16 or not (row != row).any():
        return np.argsort(row, kind="stable")
    order: list[int] = []
    for place, entry in enumerate(row):
        at = len(order) if order and not entry < row[order[0]] else 0
        while at and entry < row[order[at - 1]]:
            at -= 1
        order.insert(at, place)
    return np.array(order)


@by_element
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent entry along a dimension, the smallest of several, and its last place."""
    if not len(input.shape):
        normal_dim(dim, 0)
        values = called(input.clone(), "ModeBackward0", input)
        return results("mode", values=values, indices=wrap(np.int64(0), dtypes.int64))
    refuse_kinds("complex", "mode_cpu", input.dtype)
    rows = np.moveaxis(input.array, sized("mode", input, dim), -1)
    charge_shape((*rows.shape[:-1], PIECE), 1)
    found = np.empty(rows.shape[:-1], np.int64)
    for place in np.ndindex(found.shape):
        row = rows[place]
        order = _order(row)
        entries = row[order]
        last = np.flatnonzero(np.append(entries[1:] != entries[:-1], True))  # of each run
        found[place] = order[last[np.argmax(np.diff(last, prepend=-1))]]
    places = wrap(np.expand_dims(found, normal_dim(dim, input.ndim)), dtypes.int64)
    return picked(input, places, dim, keepdim, "mode")


def _ordered(input: Any, name: str) -> None:
    if input.dtype.is_complex:
        raise bad_dtype(f"{name} does not support complex inputs.")


def isposinf(input: Any) -> Any:
    """Whether each entry is plus infinity."""
    _ordered(input, "isposinf")
    return input == float("inf")


def isneginf(input: Any) -> Any:
    """Whether each entry is minus infinity."""
    _ordered(input, "isneginf")
    return input == -float("inf")


def isreal(input: Any) -> Any:
    """Whether each entry has no imaginary part."""
    return O["imag"](input) == 0 if input.dtype.is_complex else O["ones_like"](input) == 1


@by_element
def isin(
    elements: Operand, test_elements: Operand, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each entry is one of ``test_elements``."""
    for value in (elements, test_elements):
        dtype: Any = value.dtype if hasattr(value, "dtype") else dtypes.number_dtype(value)
        if dtype.kind in (0, 3):
            raise bad_dtype(f"Unsupported input type encountered for isin(): {dtype.scalar_name}")
    raw: list[Any] = [getattr(v, "array", v) for v in (elements, test_elements)]
    charge_shape((6, sum(map(np.size, raw))))  # both are sorted, and then sorted together
    return wrap(np.isin(raw[0], raw[1], invert=invert), dtypes.bool_)


@by_element
def searchsorted(
    sorted_sequence: Tensor, input: Operand, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where each value would go to keep the last dimension of ``sorted_sequence`` in order.

    ``sorter`` is the indices that sort it, where it is not. Raises RuntimeFault.
    """
    if side not in (None, "left", "right"):
        raise bad_value(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise bad_value("torch.searchsorted(): side and right can't be set to opposites")
    rows = np.asarray(as_tensor(sorted_sequence).array)
    met = dtypes.promote_types(as_tensor(sorted_sequence).dtype, as_tensor(input).dtype)
    refuse_kinds("bool complex", "searchsorted_out_cpu", met)
    if sorter is not None:
        if tuple(sorter.shape) != rows.shape:
            raise bad_shape("torch.searchsorted(): boundary and sorter must have the same size")
        if sorter.dtype is not dtypes.int64:
            raise bad_dtype("torch.searchsorted(): sorter must be a tensor of long dtype")
        order = np.asarray(sorter.array)
        if order.size and not 0 <= order.min() <= order.max() < rows.shape[-1]:
            raise bad_value("sorter index out of range")
        rows = np.take_along_axis(rows, order, -1)
    values = np.asarray(as_tensor(input).array)
    where: Any = "right" if right or side == "right" else "left"
    if not rows.ndim:
        raise bad_shape("boundaries tensor should have positive dimension, but got 0 dimension")
    if not (rows.flags.c_contiguous and values.flags.c_contiguous):
        warn_once(
            "searchsorted(): a tensor that is not contiguous is copied first: call contiguous() on "
            "it once"
        )
    if rows.ndim == 1:
        found = _places(rows, values, where)
    else:
        if not values.ndim:
            said = "input value can be a scalar only when boundaries tensor dimension is 1"
            raise bad_shape(f"torch.searchsorted(): {said}")
        if rows.shape[:-1] != values.shape[:-1]:
            said = "the first N-1 dimensions of boundaries tensor and input value tensor must match"
            raise bad_shape(f"searchsorted(): boundaries tensor should be 1 dimension or {said}")
        charge_shape((*rows.shape[:-1], PIECE), 1)
        found = np.empty(values.shape, np.int64)
        for place in np.ndindex(rows.shape[:-1]):
            found[place] = _places(rows[place], values[place], where)
    dtype = dtypes.int32 if out_int32 else dtypes.int64
    return wrap(np.asarray(found).astype(dtype.numpy)[()], dtype)


def _places(row: np.ndarray, values: np.ndarray, where: Any) -> np.ndarray:
    """Where each value goes in a row, by PyTorch's bisection where the row ends with NaN."""
    if not row.size or row[-1] == row[-1]:
        return np.searchsorted(row, values, where)
    start = np.zeros(values.shape, np.int64)
    end = start + row.size
    while (more := start < end).any():
        middle = (start + end) // 2
        met = row[np.minimum(middle, row.size - 1)]
        on = more & ~(met > values if where == "right" else met >= values)
        start, end = np.where(on, middle + 1, start), np.where(more & ~on, middle, end)
    return start


@by_element
def bucketize(
    input: Operand, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the bucket, between ``boundaries``, of each value."""
    if boundaries.ndim != 1:
        raise bad_shape(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@by_element
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many entries fall into each of ``bins`` equal parts of ``min`` to ``max``."""
    refuse_derivative("histc", bins=bins, min=min, max=max)
    raw = np.asarray(input.array).ravel()
    if max < min:
        raise bad_value("torch.histc: max must be larger than min")
    if input.dtype.kind != 2:
        said = f'"histogram_cpu" not implemented for {input.dtype.scalar_name!r}'
        raise UnwrittenFault("E0309", said, help="write x.float() first")
    if not isinstance(bins, int):
        raise bad_type(f"histc needs a whole number of bins, got {type(bins).__name__}")
    if bins < 1:
        raise bad_value("bins must be > 0")
    charge_shape((bins,))
    if min == max:
        min, max = (raw.min(initial=np.inf), raw.max(initial=-np.inf)) if raw.size else (0, 0)
    if not np.isfinite(max - min):
        raise bad_value(f"torch.histc: range of [{min:g}, {max:g}] is not finite")
    if min == max:  # the ends stand apart among large numbers too, which 1 does not change
        of = np.finfo(raw.dtype)
        apart = np.maximum(1, abs(max) * of.eps)
        min, max = np.maximum(min - apart, of.min), np.minimum(max + apart, of.max)
    # In the entries' own dtype, so that those that stand at an edge there fall where they stand.
    low, high = (raw.dtype.type(input.dtype.entry(end)) for end in (min, max))
    within = raw[(raw >= low) & (raw <= high)]
    places = np.minimum(((within - low) * bins / (high - low)).astype(np.int64), bins - 1)
    return wrap(np.bincount(places, minlength=bins).astype(input.dtype.numpy), input.dtype)


def logaddexp2(input: Any, other: Any) -> Any:
    """``log2(2**input + 2**other)``, without overflow."""
    given = [v for v in (input, other) if hasattr(bottom(v), "array")]
    wide = dtypes.meeting(*given) if given else dtypes.float64
    input, other = (v.to(wide) if hasattr(bottom(v), "array") else v for v in (input, other))
    if wide is dtypes.float16:
        return in_float32(logaddexp2, "Logaddexp2Backward0", input, other)
    ln2 = 0.6931471805599453
    out = O["logaddexp"](input * ln2, other * ln2) / ln2
    refuse_kinds("bool int complex", "logaddexp2_cpu", wide)  # sizes that differ come first
    return called(out, "Logaddexp2Backward0", input, other)


def ldexp(input: Any, other: Any) -> Any:
    """``input * 2**other``; the power of an exponent without dimensions is of the wider dtype."""
    other = as_tensor(other) if is_number(other) else other
    if other.dtype.kind > 1:
        power = other if other.ndim else other.to(dtypes.promote(input.dtype, other.dtype))
        return called(input * O["exp2"](power), "LdexpBackward0", input, other)
    if input.dtype.kind == 2:
        refuse_kinds("bool", "ldexp_cpu_exp", other.dtype)
    dtype = input.dtype if input.dtype.kind > 1 else dtypes.get_default_dtype()
    far = np.finfo(dtype.numpy).maxexp - 2  # what is beyond is no power of 2 in this dtype
    out, power = input, other.long()
    for _ in range(3):  # from the least number to beyond the largest
        part = O["clamp"](power, min=-far, max=far)
        out, power = out * O["exp2"](part.double()).to(dtype), power - part
    return called(out, "LdexpBackward0", input, other)


may_be("wider", ldexp, logaddexp2)
may_be("deeper", nanmean)
may_be(
    "same", quantile, nanquantile,
    misfit="quantile() out tensor must be same dtype as the input tensor", copied=True,
)  # fmt: skip
may_be("same", isposinf, isneginf, misfit="{name} does not support non-boolean outputs.")
may_be("none", isreal)
