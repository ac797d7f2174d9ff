"""What counts and compares whole samples: distinct entries, occurrences, covariances."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.custom_function.function import without_derivative
from gradcli.engine.named_tuples import results
from gradcli.engine.record.arguments import Anything
from gradcli.engine.record.composite import bottom, by_element, called, of_no_batch
from gradcli.engine.record.inplace import set_item
from gradcli.engine.record.out import may_be
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import bad_dtype, bad_shape, bad_type, bad_value
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS as O
from gradcli.ops.torch_messages import not_a


def _flags(name: str, **flags: Any) -> None:
    """Raise TypeFault (E0303) for what is no flag: ``unique(x, 0)`` says no dimension."""
    for value in flags.values():
        bool(value)  # that of a tensor may be none
    for place, (flag, value) in enumerate(flags.items(), 2):
        if not isinstance(value, bool | np.bool_):
            raise not_a("bool", name, flag, place, value)


@of_no_batch
def unique(
    input: Any, sorted: Anything = True, return_inverse: Anything = False,
    return_counts: Anything = False, dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct entries in order; also where each came to stand, and how often each occurs.

    With ``dim``, the distinct slices along that dimension.

    Example:
        >>> import gradcli
        >>> gradcli.unique(gradcli.tensor([[1, 2], [0, 1], [1, 2]]), dim=0)
        tensor([[0, 1],
                [1, 2]])
    """
    _flags("unique", sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    refuse_kinds("complex", "unique", input.dtype)
    charge_shape((3, *input.shape))
    axis = _sliced(input, dim)
    values, inverse, counts = np.unique(
        input.array, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    inverse = np.asarray(inverse).reshape(input.shape if axis is None else (-1,))
    name = ("_unique2", "Unique2Backward0") if dim is None else ("unique_dim", "UniqueDimBackward0")
    return _found(name, input, values, inverse, counts, return_inverse, return_counts)


def _found(
    name: tuple[str, str], input: Any, values: Any, inverse: Any, counts: Any, *wanted: bool
) -> Any:
    out = [without_derivative(wrap(values, input.dtype), (input,), *name)]
    for part, is_wanted in zip((inverse, counts), wanted, strict=True):
        if is_wanted:
            out.append(wrap(np.asarray(part, dtype=np.int64), dtypes.int64))
    return out[0] if len(out) == 1 else tuple(out)


def _sliced(input: Any, dim: int | None) -> int | None:
    """``dim`` counted from 0, or None.

    Raises RuntimeFault (E0301) for slices along it that have no entries, IndexFault (E0305) for a
    number, which has no slices.
    """
    if dim is None:
        return None
    axis = normal_dim(dim, len(input.shape))
    if input.shape.count(0) > 1:
        raise bad_shape("Number of zero sized dimensions is more than one")
    if input.size(axis) and input.shape.count(0):
        raise bad_shape("There are 0 sized dimensions, and they aren't selected")
    return axis


@of_no_batch
def unique_consecutive(
    input: Any, return_inverse: Anything = False, return_counts: Anything = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The entries in order without direct repeats; also where each went, and the runs' lengths.

    With ``dim``, the slices along that dimension.
    """
    _flags("unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    refuse_kinds("complex", "unique", input.dtype)
    axis = _sliced(input, dim)
    charge_shape((5, *input.shape))
    rows = np.asarray(input.array)
    rows = rows.ravel() if axis is None else np.moveaxis(rows, axis, 0)
    size = len(rows)
    first = np.ones(size, bool)
    first[1:] = (rows[1:] != rows[:-1]).any(axis=tuple(range(1, rows.ndim)))
    inverse = np.cumsum(first) - 1
    starts = np.append(np.flatnonzero(first), size)
    values = np.moveaxis(rows[first], 0, axis or 0)
    if dim is None:
        inverse = inverse.reshape(input.shape)
    name = "unique_consecutive", "UniqueConsecutiveBackward0"
    return _found(name, input, values, inverse, np.diff(starts), return_inverse, return_counts)


@by_element
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each whole number occurs, or the sum of the weights of its occurrences.

    Raises RuntimeFault (E0301) unless there is a weight for each number, (E0304) for negative ones.
    """
    refuse_kinds("bool half float complex", "bincount_cpu", input.dtype)
    numbers = np.asarray(bottom(input)._numbers())
    if numbers.ndim != 1 or (numbers.size and numbers.min() < 0):
        raise bad_value("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise bad_value("minlength should be >= 0")
    size = max(minlength, int(numbers.max()) + 1 if numbers.size else 0)
    charge_shape((size,))
    if weights is None or not numbers.size:
        return wrap(np.bincount(numbers, minlength=minlength), dtypes.int64)
    if tuple(weights.shape) != numbers.shape:
        raise bad_shape("weights should be 1-d and have the same length as input")
    if weights.dtype is not dtypes.float32:
        weights = weights.to(dtypes.float64)
    return O["scatter"](weights, (size,), (numbers,))


@by_element
def histogram(
    input: Any, bins: Tensor | int = 100, *, range: Any = None, weight: Any = None,
    density: bool = False,
) -> Any:  # fmt: skip
    """``(hist, bin_edges)``: how many entries fall into each bin, the last edge included.

    ``bins`` is the number of bins of one width between the ends ``range``, or between the smallest
    and the largest entry; or the edges themselves. Entries count as much as their ``weight``, by
    which there is a derivative; with ``density`` the histogram's integral is 1. Raises RuntimeFault
    (E0301) for shapes that do not fit, (E0304) for no bins or ends that are not in order.

    Example:
        >>> import gradcli
        >>> gradcli.histogram(gradcli.tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 3.0)).hist
        tensor([2., 1.])
    """
    rows = O["reshape"](input, (-1, 1))
    flat = None if weight is None else O["reshape"](weight, (-1,))
    given = [bins] if isinstance(bins, Plain) else bins
    if given is not bins and range is not None:
        said = "histogram() received an invalid combination of arguments: edges and their range"
        raise bad_type(said, help="give the number of bins, or leave range out")
    hist, edges = histogramdd(rows, given, range, flat, density)
    return results("histogram", hist=hist, bin_edges=edges[0])


@by_element
def histogramdd(
    input: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """``(hist, bin_edges)`` of points, a row each: see ``histogram``; edges for each dimension.

    ``bins`` is one number for all dimensions or one for each, or the edges of each; ``range`` has
    two ends for each.
    """
    if len(input.shape) < 2:
        raise bad_shape("torch.histogramdd: input tensor should have at least 2 dimensions")
    count = input.shape[-1]
    given = [bins] * count if isinstance(bins, int) else list(bins)
    if len(given) != count:
        said = "The size of bins must be equal to the innermost dimension of the input."
        raise bad_shape(f"histogramdd: {said}")
    if range is not None and len(range) != 2 * count:
        said = f"range should have {2 * count} elements, but got {len(range)}"
        raise bad_shape(f"torch.histogramdd: {said}")
    refuse_kinds("bool int half complex", "histogramdd", input.dtype)
    points = np.asarray(input.array).reshape(input.numel() // max(count, 1), count)
    edges = [
        _edges(d, bins, points[:, d], None if range is None else range[2 * d : 2 * d + 2])
        for d, bins in enumerate(given)
    ]
    shape = tuple(len(e) - 1 for e in edges)
    charge_shape(shape)
    if weight is None:
        weight = wrap(np.ones(len(points), points.dtype), input.dtype)
    elif weight.dtype is not input.dtype or tuple(weight.shape) != tuple(input.shape[:-1]):
        said = "weight has the dtype of the input and its shape but for the innermost dimension"
        raise bad_shape(f"torch.histogramdd: {said}")
    places = [np.searchsorted(e, points[:, d], "right") - 1 for d, e in enumerate(edges)]
    inside = np.ones(len(points), bool)
    for d, (place, e) in enumerate(zip(places, edges, strict=True)):
        place[points[:, d] == e[-1]] = len(e) - 2  # the last edge belongs to the last bin
        inside &= (place >= 0) & (place < len(e) - 1)
    kept = O["getitem"](O["reshape"](weight, (-1,)), (inside,))
    spots = tuple(place[inside] for place in places)
    hist = O["scatter"](kept, shape, spots) if spots else kept.new_zeros(())

    def of_input(numbers: np.ndarray) -> Any:  # which the ends of the range are
        said = "derivative for aten::histogram is not implemented"
        found = wrap(numbers, input.dtype)
        return without_derivative(found, (input,), "histogram", "NotImplemented", said)

    if density:
        hist = hist / O["sum"](hist)
        for d, e in enumerate(edges):
            widths = np.diff(e).reshape([-1 if d == k else 1 for k in builtins.range(count)])
            hist = hist / of_input(widths)
    return results("histogramdd", hist=hist, bin_edges=tuple(map(of_input, edges)))


def _edges(d: int, bins: Any, column: np.ndarray, ends: Any) -> np.ndarray:
    """The edges of the bins of one dimension."""
    if isinstance(bins, Plain):
        if bins.ndim != 1 or not bins.numel():
            said = "torch.histogramdd: bins tensor should have one dimension"
            raise bad_shape(said, help="give it entries along that dimension")
        if bins.array.dtype != column.dtype:
            said = "input tensor and bins tensors should have the same dtype"
            raise bad_dtype(f"torch.histogramdd: {said}")
    count = bins.numel() - 1 if isinstance(bins, Plain) else bins
    if count < 1:
        raise bad_value(f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}")
    if isinstance(bins, Plain):
        if (bins.array[1:] < bins.array[:-1]).any():
            raise bad_value("torch.histogram(): the edges of the bins must be in ascending order")
        return np.array(bins.array)
    low, high = ends or ((column.min(), column.max()) if column.size else (0.0, 1.0))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise bad_value(f"torch.histogramdd: dimension {d}'s range [{low}, {high}] is not finite")
    if low > high:
        said = f"min should not exceed max, but got min {low:g} max {high:g}"
        raise bad_value(f"torch.histogramdd: {said}")
    charge_shape((bins + 1,))
    half = 0.5 if low == high else 0.0
    return np.linspace(low - half, high + half, bins + 1).astype(column.dtype)


def _refuse_deep(name: str, input: Any) -> None:
    """Raise RuntimeFault (E0301) for an input that is no matrix."""
    if len(input.shape) > 2:
        raise bad_shape(f"{name}(): expected input to have two or fewer dimensions")


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariances of variables, a row each; a column is an observation.

    ``fweights`` says how often each observation was made, ``aweights`` how much it matters. Raises
    RuntimeFault (E0301) for weights of another length, (E0304) for negative ones.
    """
    _refuse_deep("cov", input)
    if not input.dtype.kind:
        raise bad_dtype("cov(): bool dtype is not supported for input")
    if input.dtype.kind < 2:
        input = input.to(dtypes.get_default_dtype())
    rows = input if len(input.shape) == 2 else O["reshape"](input, (1, -1))
    count = rows.shape[1]
    weights = _weights(count, fweights, aweights)
    if weights is None:
        total, norm = count, count - correction
        centred = O["centred"](rows, 1)
        weighted = centred
    else:
        total = O["sum"](weights)
        share = (weights if weights.dtype.kind > 1 else weights.to(rows.dtype)) / total
        centred = rows - O["sum"](rows * share, 1, True)  # the share of one observation is 1
        weighted = centred * weights
        excess = 1 if aweights is None else O["sum"](share * aweights)
        norm = total - correction * excess
    known = norm.item() if isinstance(norm, Plain) else norm  # a symbol is no number
    if isinstance(known, int | float) and known <= 0:
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number"
             " of observations.")  # fmt: skip
        norm = 0.0 * norm * norm  # its sign is none
    return O["squeeze"](O["matmul"](weighted, O["conj"](O["mT"](centred))) / norm)


def _weights(count: int, fweights: Any, aweights: Any) -> Any:
    for name, given, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if given is None:
            continue
        if len(given.shape) > 1:
            raise bad_shape(f"cov(): expected {name} to have one or fewer dimensions")
        if (given.dtype.kind < 2) is not whole:
            kind = "integral" if whole else "floating point"
            raise bad_dtype(f"cov(): expected {name} to have {kind} dtype")
        if given.numel() != count:
            raise bad_shape(f"cov(): expected {name} to have the same numel as observations")
        if (bottom(given).array < 0).any():
            raise bad_value(f"cov(): {name} cannot be negative")
    weights = aweights if fweights is None else fweights
    if fweights is not None and aweights is not None:
        weights = fweights * aweights
    if weights is not None and not bottom(weights).array.sum():
        raise bad_value("cov(): weights sum to zero, can't be normalized")
    return weights


def corrcoef(input: Any) -> Any:
    """The correlations of variables, a row each."""
    _refuse_deep("corrcoef", input)
    found = cov(input)
    if not len(found.shape):
        return found / found
    size = O["sqrt"](O["diagonal"](found))
    found = found / O["unsqueeze"](size, 1) / O["unsqueeze"](size, 0)
    if not hasattr(bottom(found), "array"):  # a symbol, which no rounding leads past 1
        return found
    sure = found.detach()  # its slope is that of what was not held, NaN too
    parts = [O["real"](sure), O["imag"](sure)] if sure.is_complex() else [sure]
    held = [O["clamp"](part, min=-1.0, max=1.0) for part in parts]
    past = sure - (O["of_parts"](*held) if len(held) > 1 else held[0])
    return called(found - past, "ComplexBackward0" if len(held) > 1 else "ClampBackward1")


@by_element
def frexp(input: Any) -> tuple:
    """``(mantissa, exponent)``: x = mantissa * 2**exponent, the mantissa at least 0.5, below 1."""
    if input.dtype.kind != 2:
        raise bad_dtype("torch.frexp() only supports floating-point dtypes")
    _, exponent = np.frexp(input.array)
    out = input
    for part in (exponent // 2, exponent - exponent // 2):  # 2**1074 is past the largest number
        powers = np.ldexp(np.ones((), input.array.dtype), -part)
        out = O["mul"](out, wrap(powers, input.dtype))
    whole = wrap(np.asarray(exponent, dtype=np.int32)[()], dtypes.int32)
    out = called(out, "FrexpBackward0", input)
    return results("frexp", mantissa=out, exponent=whole)


def fill_diagonal_(input: Any, fill_value: Any, wrap: bool = False) -> Any:
    """``fill_value`` written to the main diagonal, in place. Raises RuntimeFault (E0301)."""
    shape = tuple(input.shape)
    if len(shape) < 2:
        raise bad_shape("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise bad_shape("all dimensions of input must be of equal length")
    places = np.diag_indices(min(shape), len(shape))
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        rows = np.arange(shape[0])
        rows = rows[rows % (shape[1] + 1) < shape[1]]
        places = rows, rows % (shape[1] + 1)
    return set_item(input, places, fill_value, name="CopySlices")


may_be("none", corrcoef, cov, unique, unique_consecutive, bincount, histogramdd)
