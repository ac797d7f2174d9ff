"""Entries joined in groups: the sum, mean, product or an extreme of all that go to one place.

Every step is linear in the number of entries, whatever the groups' sizes, and made of operators:
derivatives of any order follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.dtypes import bool_, float16, float32
from gradcli.engine.record.composite import by_element, called
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import bad_shape, bad_value
from gradcli.ops.memory_budget import charge_shape


def joined(
    values: Any, groups: np.ndarray, count: int, reduce: str, nan_equal: bool = False
) -> Any:
    """The vector of what the entries of each group come to; no group is empty.

    ``values`` is a vector, ``groups`` the number of each entry's group, below ``count``. Equal
    extremes share the gradient evenly, NaN among them where ``nan_equal``; else all gradients of a
    group with NaN are. Raises RuntimeFault (E0304) for another ``reduce``.
    """
    charge_shape((4, groups.size))
    if values.dtype is float16:  # rounded once; sizes may be no halves
        return joined(values.to(float32), groups, count, reduce, nan_equal).to(float16)
    if reduce == "prod":
        return _product(values, groups, count)
    if reduce == "amax" or reduce == "amin":
        return _extreme(values, groups, count, reduce, nan_equal)
    if reduce != "sum" and reduce != "mean":
        said = "reduce argument must be either sum, prod, mean, amax or amin"
        raise bad_value(f"{said}, got {reduce}")
    total = O["scatter"](values, (count,), (groups,))
    if reduce == "sum":
        return total
    sizes = wrap(np.bincount(groups, minlength=count).astype(values.dtype.numpy), values.dtype)
    return total / sizes if values.dtype.kind > 1 else O["floor_divide"](total, sizes)


def _product(values: Any, groups: np.ndarray, count: int) -> Any:
    """Neighbours in a group multiplied in pairs until one entry is left: exact beside zeros."""
    order = np.argsort(groups, kind="stable")
    values, groups = O["getitem"](values, order), groups[order]
    one = 1.0 if values.dtype.kind > 1 else 1
    if groups.size == count:  # a product of one still has a second derivative, which is 0
        values = values * O["drawn"](values, numbers=np.ones(()))
    while groups.size > count:
        first = np.searchsorted(groups, groups)
        left = np.flatnonzero((np.arange(groups.size) - first) % 2 == 0)
        right = np.minimum(left + 1, groups.size - 1)
        paired = (right != left) & (groups[right] == groups[left])
        factor = O["where"](wrap(paired, bool_), O["getitem"](values, right), one)
        values, groups = O["getitem"](values, left) * factor, groups[left]
    return values


def _extreme(values: Any, groups: np.ndarray, count: int, reduce: str, nan_equal: bool) -> Any:
    raw = np.asarray(values.array)
    ordered = -raw.astype(np.result_type(raw, np.int8)) if reduce == "amin" else raw
    order = np.lexsort((ordered, groups))  # NaN comes last, and is the extreme of its group
    ends = np.searchsorted(groups[order], np.arange(count), side="right") - 1
    best = order[ends]
    found = O["getitem"](values, best)
    nowhere = np.isnan(raw[best])
    if nowhere.any() and not nan_equal:  # the gradients of all in such a group are NaN
        inside = wrap(nowhere[groups], bool_)
        factor = wrap(np.where(nowhere[groups], np.nan, 1.0).astype(raw.dtype), values.dtype)
        lost = O["where"](inside, values, 0.0) * factor
        found = found + O["scatter"](lost, (count,), (groups,))
    same = (raw == raw[best][groups]) | (np.isnan(raw) & nan_equal)
    sizes = np.bincount(groups[same], minlength=count)
    if (sizes < 2).all() or values.dtype.kind < 2:
        return found
    # Zeros are added, whose gradient spreads that of the one that was found over its equals.
    gaps = values - O["getitem"](found, groups)
    gaps = O["where"](wrap(same & np.isfinite(raw), bool_), gaps, 0.0)
    share = wrap(np.maximum(sizes, 1)[groups].astype(raw.dtype), values.dtype)
    endless = np.isinf(raw[best]) | (nowhere & nan_equal)  # no gaps: the mean of all equal ones
    if endless.any():
        parts = O["where"](wrap(same & endless[groups], bool_), values / share, 0.0)
        total = O["scatter"](parts, (count,), (groups,))
        found = O["where"](wrap(endless, bool_), total, found)
    return found + O["scatter"](gaps / share, (count,), (groups,))


_REDUCTIONS = "sum mean max min prod"
_OF_NOTHING = (0.0, np.nan, -np.inf, np.inf, 1.0)
"""What each of them makes of a segment without entries."""


@by_element
def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None,
    axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Any:  # fmt: skip
    """What segments of ``data`` that follow each other along ``axis`` come to: one entry each.

    ``lengths`` has their sizes or ``offsets`` where they begin, and the last of them ends, along
    their own last dimension, which is ``axis``; the dimensions before it are those of ``data``.
    ``reduce`` is ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"``, and ``initial`` one
    more value, which the mean does not count. Raises RuntimeFault for sizes that do not fit.
    """
    if indices is not None:
        raise bad_value("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise bad_value("segment_reduce(): Either lengths or offsets must be defined.")
    axis = normal_dim(axis, data.ndim)
    known = _REDUCTIONS.split()
    if reduce not in known:
        raise bad_value(f"segment_reduce(): {reduce!r} is none of {_REDUCTIONS}")
    refuse_kinds("bool int complex", "_segment_reduce_cpu", data.dtype)
    named = lengths if offsets is None else offsets
    refuse_kinds("bool float complex", "_segment_reduce_lengths_cpu_kernel1", named.dtype)
    sizes = np.asarray(named.array)
    if axis != sizes.ndim - 1 or data.ndim <= axis or data.shape[:axis] != sizes.shape[:axis]:
        raise bad_shape("segment_reduce(): Expected axis to be the last dimension of lengths")
    length = data.shape[axis]
    if offsets is None:
        ends = np.cumsum(sizes, -1)
        starts = ends - sizes
    else:
        starts, ends = sizes[..., :-1], sizes[..., 1:]
    if (ends < starts).any():
        raise bad_value("lengths contains negative value!")
    if offsets is None and not unsafe and (sizes.sum(-1) != length).any():
        raise bad_shape("segment_reduce(): Expected all rows of lengths along axis to sum to size")
    if starts.size and (starts.min() < 0 or ends.max() > length):
        raise bad_shape(f"segment_reduce(): segments leave the {length} entries along axis {axis}")
    # Each row of segments has its own groups, and so has each entry behind the axis.
    out_shape = (*starts.shape, *data.shape[axis + 1 :])
    rest = int(np.prod(data.shape[axis + 1 :], dtype=np.int64))
    rows = int(np.prod(starts.shape[:-1], dtype=np.int64))
    charge_shape((4, data.numel() + rows * starts.shape[-1] * rest))
    counts = (ends - starts).reshape(-1)
    segment = np.repeat(np.arange(counts.size), counts)
    first = (starts + np.arange(rows).reshape(*starts.shape[:-1], 1) * length).reshape(-1)
    before = np.cumsum(counts) - counts
    place = np.repeat(first - before, counts) + np.arange(segment.size)
    behind = np.arange(rest)
    places = (place[:, None] * rest + behind).reshape(-1)
    groups = (segment[:, None] * rest + behind).reshape(-1)
    start = _OF_NOTHING[known.index(reduce)] if initial is None else float(initial)
    out = data.new_full((counts.size * rest,), start)
    full = np.flatnonzero(np.repeat(counts, rest))
    if full.size:
        entries = O["getitem"](O["reshape"](data, (-1,)), places)
        kind = f"a{reduce}" if reduce in ("max", "min") else reduce
        found = joined(entries, np.searchsorted(full, groups), full.size, kind, nan_equal=True)
        if initial is not None:
            found = _begun(found, reduce, start, np.repeat(counts, rest)[full])
        out = O["put"](out, found, full)
    return called(O["reshape"](out, out_shape), "SegmentReduceBackward0", data)


def _begun(found: Any, reduce: str, start: float, counts: np.ndarray) -> Any:
    """Segments that begin at a number; an extreme that equals it has the gradient."""
    if reduce == "sum":
        return found + start
    if reduce == "mean":
        return found + wrap((start / counts).astype(found.dtype.numpy), found.dtype)
    if reduce == "prod":
        return found * start
    beaten = O["lt" if reduce == "max" else "gt"](found, start)
    if start != start:
        beaten = found == found  # NaN is beyond all but NaN
    return O["where"](beaten, start, found)
