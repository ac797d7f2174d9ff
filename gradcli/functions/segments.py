"""Entries joined in groups: the sum, mean, product or an extreme of all that go to one place.

Every step is linear in the number of entries, whatever the groups' sizes, and made of operators:
derivatives of any order follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.dtypes import bool_
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.tensor.tensor import wrap
from gradcli.ops.errors import bad_value
from gradcli.ops.memory_budget import charge_shape


def joined(values: Any, groups: np.ndarray, count: int, reduce: str) -> Any:
    """The vector of what the entries of each group come to; no group is empty.

    ``values`` is a vector, ``groups`` the number of each entry's group, below ``count``. Equal
    extremes share the gradient evenly. Raises RuntimeFault (E0304) for another ``reduce``.
    """
    charge_shape((4, groups.size))
    if reduce == "prod":
        return _product(values, groups, count)
    if reduce == "amax" or reduce == "amin":
        return _extreme(values, groups, count, reduce)
    if reduce != "sum" and reduce != "mean":
        raise bad_value(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
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
    while groups.size > count:
        first = np.searchsorted(groups, groups)
        left = np.flatnonzero((np.arange(groups.size) - first) % 2 == 0)
        right = np.minimum(left + 1, groups.size - 1)
        paired = (right != left) & (groups[right] == groups[left])
        factor = O["where"](wrap(paired, bool_), O["getitem"](values, right), one)
        values, groups = O["getitem"](values, left) * factor, groups[left]
    return values


def _extreme(values: Any, groups: np.ndarray, count: int, reduce: str) -> Any:
    raw = np.asarray(values.array)
    ordered = -raw.astype(np.result_type(raw, np.int8)) if reduce == "amin" else raw
    order = np.lexsort((ordered, groups))  # NaN comes last, and is the extreme of its group
    ends = np.searchsorted(groups[order], np.arange(count), side="right") - 1
    best = order[ends]
    found = O["getitem"](values, best)
    nowhere = np.isnan(raw[best])
    if nowhere.any():  # the gradients of all in such a group are NaN
        inside = wrap(nowhere[groups], bool_)
        factor = wrap(np.where(nowhere[groups], np.nan, 1.0).astype(raw.dtype), values.dtype)
        lost = O["where"](inside, values, 0.0) * factor
        found = found + O["scatter"](lost, (count,), (groups,))
    same = raw == raw[best][groups]
    sizes = np.bincount(groups[same], minlength=count)
    if (sizes < 2).all() or values.dtype.kind < 2:
        return found
    # Zeros are added, whose gradient spreads that of the one that was found over its equals.
    gaps = values - O["getitem"](found, groups)
    gaps = O["where"](wrap(same & np.isfinite(raw), bool_), gaps, 0.0)
    share = wrap(np.maximum(sizes, 1)[groups].astype(raw.dtype), values.dtype)
    endless = np.isinf(raw[best])  # has no gaps: the mean of all that are equal
    if endless.any():
        parts = O["where"](wrap(same & endless[groups], bool_), values / share, 0.0)
        total = O["scatter"](parts, (count,), (groups,))
        found = O["where"](wrap(endless, bool_), total, found)
    return found + O["scatter"](gaps / share, (count,), (groups,))
