"""By size: sorted, the largest few, the middle, the largest and smallest with their places.

Where there are places too, the result is a pair, ``(values, indices)``, and the gradient goes to
the entries at those places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.dtypes import bool_, bounds, contiguous_format, int64, uint8
from gradcli.engine.named_tuples import Results, results
from gradcli.engine.record.arguments import UNSAID, Kept, is_whole, whole_or_along
from gradcli.engine.record.composite import (
    by_element,
    called,
    laid_like,
    of_its_own,
    of_numbers_too,
    rowwise,
)
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.multi_output import joined
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.functions.indexing import _along
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import (
    IndexFault,
    RuntimeFault,
    UnwrittenFault,
    bad_dtype,
    bad_shape,
    bad_value,
)  # fmt: skip
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.torch_messages import not_a


def picked(input: Any, places: Any, dim: int, keepdim: bool, name: str) -> Any:
    """The entries at ``places`` along a dimension, ``(values, indices)`` of the function ``name``;
    unless ``keepdim`` there is one place, and the dimension goes."""
    values = O["gather"](input, places.array, dim, True)
    if not keepdim:
        values, places = (of_its_own(O["squeeze"](v, dim)) for v in (values, places))
    values = called(values, f"{name.capitalize()}Backward{int('median' in name)}", input)
    return results(name, values=values, indices=places)


@of_numbers_too
def sort(
    input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = True
) -> Any:  # fmt: skip
    """``(values, indices)`` in order along a dimension; equal entries keep theirs."""
    found = picked(input, O["argsort"](input, dim, descending), dim, True, "sort")
    laid_like(found[0], input)
    return found


def argsort(
    input: Any, dim: int = -1, descending: bool = False, *, stable: bool = True
) -> Any:  # fmt: skip
    """Indices that sort ``input`` along a dimension; equal entries keep their order."""
    return O["argsort"](input, dim, descending)


@of_numbers_too
def msort(input: Any) -> Any:
    """Sorted along the first dimension."""
    return sort(input, 0)[0]


@of_numbers_too
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The ``k`` largest (or smallest) along a dimension, ``(values, indices)``."""
    size = input.shape[normal_dim(dim, input.ndim)]
    if input.dtype.kind == 0:
        raise bad_dtype("topk does not support bool dtypes on CPU")
    if not 0 <= k <= size:
        raise bad_value("selected index k out of range", help=f"k is {k}, at most {size}")
    return picked(input, _some(input, dim, 0, k, largest), dim, True, "topk")


def sized(name: str, input: Any, dim: int) -> int:
    """``dim``, counted from 0, once it is known to have entries. Raises IndexFault (E0307)."""
    axis = normal_dim(dim, len(input.shape))
    if input.shape and not input.shape[axis]:
        raise IndexFault("E0307", f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return axis


@of_numbers_too
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The ``k``-th smallest along a dimension, counted from 1: ``(values, indices)``."""
    axis = sized("kthvalue", input, dim)
    refuse_kinds("bool complex", "kthvalue_cpu", input.dtype)
    if not 0 < k <= input.shape[axis]:
        said = f"kthvalue(): selected number k out of range for dimension {axis}"
        raise bad_value(said, help=f"k is 1 to {input.shape[axis]}")
    return picked(input, _some(input, dim, k - 1, k), dim, keepdim, "kthvalue")


LONG = 1024
"""Entries along a dimension from which on a part of their order is found without the rest."""


def _some(input: Any, dim: int, start: int, stop: int, descending: bool = False) -> Any:
    """A part of the indices that sort ``input``, in memory of their own."""
    size = input.array.shape[dim] if input.__class__ is Tensor else 0
    if size >= LONG and 0 < 2 * (stop - start) < size:
        rows = np.moveaxis(input.array, dim, -1)
        charge_shape((size,), rows.itemsize + 4)  # a row in parts, and what lies in which
        found = np.empty((*rows.shape[:-1], stop - start), np.int64)
        for at in np.ndindex(rows.shape[:-1]):
            if descending:
                mirrored = _part_of_order(rows[at][::-1], size - stop, size - start)
                found[at] = size - 1 - mirrored[::-1]
            else:
                found[at] = _part_of_order(rows[at], start, stop)
        return rowwise(wrap(np.moveaxis(found, -1, dim), int64).clone())
    order = O["argsort"](input, dim, descending)
    return O["clone"](_along(order, dim, slice(start, stop)), contiguous_format)


def _part_of_order(row: np.ndarray, start: int, stop: int) -> Any:
    """``np.argsort(row, kind="stable")[start:stop]``; NaN stands last."""
    low, high = np.partition(row, (start, stop - 1))[[start, stop - 1]]
    before = row < low
    among = np.flatnonzero(~(before | (row > high)))
    order = among[np.argsort(row[among], kind="stable")]
    return order[start - np.count_nonzero(before) :][: stop - start]


@by_element
def median(input: Any, dim: int = UNSAID, keepdim: Kept = False) -> Any:
    """The middle entry (the lower of two) of all, or ``(values, indices)`` along a dimension."""
    return medians(input, dim, keepdim, "median")


def medians(input: Any, dim: Any, keepdim: Any, name: str) -> Any:
    """``median`` or ``nanmedian``, whose ``name`` it is."""
    if whole_or_along(name, dim, keepdim) is None:
        found = of_its_own(_median_of(input, name == "nanmedian"))
        return called(found, f"{name.capitalize()}Backward0", input)
    refuse_kinds("bool complex", "median_cpu", input.dtype)
    return _median_along(input, dim, keepdim, name)


@of_numbers_too
def _median_along(input: Any, dim: int, keepdim: bool, name: str) -> Any:
    size = input.shape[sized("median", input, dim)]
    middle = (size - 1) // 2
    missing = O["isnan"](input).sum(dim, True).array
    if np.any(missing):
        numbers = size - missing
        if name == "nanmedian":
            place = np.maximum((numbers - 1) // 2, 0)
        else:  # A NaN is the median of whatever holds one: the first, as they stand last in order.
            place = np.where(missing > 0, numbers, middle)
        order = rowwise(O["gather"](O["argsort"](input, dim, False), place, dim))
    else:
        order = _some(input, dim, middle, middle + 1)
    return picked(input, order, dim, keepdim, name)


def _median_of(input: Any, skip: bool) -> Any:
    """The middle one (the lower of two) of all entries; of several equal ones all have a share.

    A NaN is the median of whatever holds one; ``skip`` leaves NaN out where there are others.
    """
    flat = O["reshape"](input, (-1,))
    if not flat.numel():
        if flat.dtype.kind < 2:
            return input.new_full((), input.dtype is bool_ or bounds(input.dtype)[0])
        return O["sum"](flat) + float("nan")  # with a node: the gradient of nothing is nothing
    refuse_kinds("bool complex", "median_cpu", input.dtype)
    raw = flat.array
    missing = np.isnan(raw) if raw.dtype.kind == "f" else np.zeros(raw.shape, bool)
    if missing.any() and (not skip or missing.all()):
        same = missing
    else:
        kept = raw[~missing]
        middle = (kept.size - 1) // 2
        kept.partition(middle)
        same = raw == kept[middle]
    entries = O["gather"](flat, np.flatnonzero(same), 0, True)
    return entries[0] if same.sum() == 1 or flat.dtype.kind < 2 else O["amax"](entries)


def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """``(min, max)`` of all entries, or along a dimension."""
    if dim is not None:
        normal_dim(dim, input.ndim)
    along = () if dim is None else dim
    if dim is None and not input.numel():
        said = "cannot compute aminmax over an empty dimension as the operation has no identity."
        raise bad_shape(f"aminmax(): {said}")
    both = O["amin"](input, along, keepdim), O["amax"](input, along, keepdim)
    least, most = joined("AminmaxBackward0", both, input)
    return results("aminmax", min=least, max=most)


def extreme_method(name: str) -> Callable:
    """max and min as PyTorch has the methods: all entries, along a dimension, or of two tensors."""
    along, full = f"{name}imum", f"a{name}"

    def method(self: Tensor, dim: Tensor | int = UNSAID, keepdim: Kept = False) -> Any:
        dim = cast(Any, None if dim is UNSAID else dim)
        if keepdim:
            if not is_whole(dim):
                mend = "keepdim= is for an extreme along a dimension"
                raise not_a("int", name, "dim", 1, dim, mend)
            dim = int(dim)  # type: ignore[arg-type]
        if getattr(dim, "__gradcli_rank__", 0):
            return O[along](self, dim)
        try:
            if dim is None:
                return called(O[full](self), f"{name.capitalize()}Backward1", self)
            return _extremes(self, dim, keepdim, name)
        except (RuntimeFault, IndexFault, UnwrittenFault) as fault:
            said = (fault.torch or "").replace(f"arg{name}(", f"{name}(")
            said = said.replace(f"{name}_values_cpu", f"{name}_all")
            fault.torch = said.replace(f"a{name}(", f"{name}(") or None
            raise

    method.__name__ = method.__qualname__ = name

    return method


@of_numbers_too
def _extremes(x: Any, dim: int, keepdim: bool, name: str) -> Results:
    """The extremes of ``x`` along ``dim``: the gradient goes to one index, the first."""
    indices = O[f"arg{name}"](x if x.dtype.kind else x.to(uint8), dim, True)
    return picked(x, indices, dim, keepdim, name)


may_be("none", argsort)
sort.by_name = argsort.by_name = "stable"  # type: ignore[attr-defined]
may_be("same", kthvalue, apart=True)
