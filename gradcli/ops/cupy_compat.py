"""The little that NumPy's dispatch does not carry to arrays of another device.

NumPy's functions called on a CuPy array run on the GPU by themselves, through NumPy's own
protocols. What has no array among its arguments, or goes past the protocols, stands here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.ops.memory_budget import charge_shape

SMALL = 1024
"""Sizes of dimensions up to this are worth keeping the positions of."""


BLOCK = 8192
"""Entries that are copied at once where blocks of them do."""


def add_at(target: Any, index: Any, values: Any) -> None:
    """``target[index] += values``, where an entry may be named more than once.

    ``target`` is zeros. Each entry sums in the order of ``values`` whichever way is taken, so that
    the way shows in no digit: ``np.add.at`` alone takes 30 times as long as reading the entries.
    Halves are added as single ones and rounded once.
    """
    if not isinstance(target, np.ndarray):
        target.scatter_add(index, values)
        return
    if target.dtype == np.float16:
        wide = np.zeros(target.shape, np.float32)
        add_at(wide, index, values)
        target[...] = wide
        return
    many = values.size >= SMALL and 4 * values.size >= target.size
    found = _merged(target, index) if many else None
    if found is None:
        np.add.at(target, index, values)
        return
    lead, rows, merged = found
    shape = (*merged.shape[:lead], *rows.shape, *merged.shape[lead + 1 :])
    values = np.broadcast_to(values, shape)
    if not values.flags.c_contiguous:
        charge_shape(shape, values.itemsize)
    values = values.reshape(*merged.shape[:lead], -1, *merged.shape[lead + 1 :])
    row = rows.reshape(-1)
    if lead == merged.ndim - 1 and target.size < row.size * merged.shape[lead]:
        size = merged.shape[lead]  # vectors, which NumPy has a loop of its own for
        for part, added in zip(merged.reshape(-1, size), values.reshape(-1, row.size), strict=True):
            np.add.at(part, row, added)
    elif not _add_rows(np.moveaxis(merged, lead, 0), row, np.moveaxis(values, lead, 0)):
        np.add.at(target, index, values.reshape(shape))


def _merged(target: Any, index: Any) -> tuple[int, Any, Any] | None:
    """``target`` with the dimensions as one that integer arrays side by side name, which one that
    is, and the places in it. None for another index, or where it leads out of the array.
    """
    parts = index if isinstance(index, tuple) else (index,)
    dots = next((i for i, p in enumerate(parts) if p is Ellipsis), len(parts))
    left = target.ndim - len(parts) + (dots < len(parts))
    parts = (*parts[:dots], *(slice(None),) * left, *parts[dots + 1 :])
    arrays = [i for i, p in enumerate(parts) if p.__class__ is not slice]
    first = arrays[0] if arrays else 0
    if not arrays or left < 0 or arrays != list(range(first, arrays[-1] + 1)):
        return None
    if any(p != slice(None) for p in parts if p.__class__ is slice):
        return None
    places: Any = None
    for part, size in zip(parts[first:], target.shape[first:], strict=True):
        if part.__class__ is slice:
            break
        if not getattr(part, "ndim", 0) or part.dtype.kind not in "iu" or not part.size:
            return None
        least = part.min()
        if least < -size or part.max() >= size:
            return None
        part = part if least >= 0 else np.where(part < 0, part + size, part)
        if places is not None:
            shape = np.broadcast_shapes(places.shape, part.shape)
            # The zeros too: the system gives them no memory before they are written to.
            charge_shape((math.prod(shape) * part.itemsize + target.nbytes,), 1)
            scaled = places * size
            part = np.add(scaled, part, out=scaled if scaled.shape == shape else None)
        places = part
    before, after = target.shape[:first], target.shape[first + len(arrays) :]
    return first, places, target.reshape(*before, -1, *after)


def _add_rows(target: Any, row: Any, values: Any) -> bool:
    """Add whole slices: in round k those that are the k-th of their place. False where slices are
    so small, or a place is named so often, that the rounds would take long.
    """
    count, each = row.size, target.size // target.shape[0]
    if each < 8:
        return False
    if each >= BLOCK // 16:
        for name, value in zip(row.tolist(), values, strict=True):
            target[name] += value
        return True
    order = np.argsort(row, kind="stable")
    first = np.ones(count, bool)
    first[1:] = row[order[1:]] != row[order[:-1]]
    ranks = np.arange(count)
    ranks -= np.maximum.accumulate(np.where(first, ranks, 0))
    sizes = np.bincount(ranks)
    if len(sizes) > 64 and len(sizes) * 8 > count:
        return False
    order = order[np.argsort(ranks, kind="stable")]
    step, end = max(1, BLOCK // each), 0
    for n in sizes.tolist():
        start, end = end, end + n
        for first_of in range(start, end, step):  # what a block copies stays in the cache
            names = order[first_of : min(end, first_of + step)]
            target[row[names]] += values[names]
    return True


def beside(index: Any, like: Any) -> Any:
    """``index`` with its arrays on the device of ``like``: rules make theirs by NumPy."""
    if isinstance(like, np.ndarray | np.generic) or not isinstance(index, tuple):
        return index
    return type(index)(np.asarray(p, like=like) if isinstance(p, np.ndarray) else p for p in index)


def grid(shape: Sequence[int], like: Any) -> list[Any]:
    """For each dimension its positions, shaped to broadcast to ``shape``, on the device of
    ``like``.
    """
    if like.__class__ is np.ndarray and max(shape, default=0) <= SMALL:
        return list(_grid(tuple(shape)))
    return _positions(shape, like)


def _positions(shape: Sequence[int], like: Any) -> list[Any]:
    rank = len(shape)
    return [
        np.arange(n, like=like).reshape((1,) * axis + (-1,) + (1,) * (rank - 1 - axis))
        for axis, n in enumerate(shape)
    ]


@functools.lru_cache(maxsize=64)
def _grid(shape: tuple[int, ...]) -> list[Any]:
    return _positions(shape, np.empty(0))


def writable_copy(x: Any) -> Any:
    """A copy that can be written to; a number becomes a 0-d array."""
    return (
        np.array(x) if isinstance(x, np.ndarray | np.generic | int | float | complex) else x.copy()
    )


def zeros(like: Any, shape: Sequence[int]) -> Any:
    """Zeros of a shape, of the element type and on the device of ``like``."""
    if isinstance(like, np.ndarray | np.generic):
        charge_shape(shape, like.itemsize)
        return np.zeros(shape, like.dtype)  # np.zeros_like takes five times as long
    return np.zeros_like(like, shape=tuple(shape))


def special(name: str, like: Any, *args: Any) -> Any:
    """A function of ``scipy.special``, or of CuPy's twin of it, in the precision of ``like``."""
    if type(like).__module__.startswith("cupy"):
        import cupyx.scipy.special as library
    else:
        import scipy.special as library
    out = getattr(library, name)(*args)
    dtype = getattr(like, "dtype", None)
    return out if dtype is None or out.dtype == dtype or dtype.kind != "f" else out.astype(dtype)


def on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays, for arrays of another device too: they are moved, and back."""

    @functools.wraps(function)
    def run(*args: Any, **params: Any) -> Any:
        like = next((a for a in args if hasattr(a, "get")), None)  # CuPy's copy to the host
        if like is None:
            return function(*args, **params)
        here = [a.get() if hasattr(a, "get") else a for a in args]
        return np.asarray(function(*here, **params), like=like)

    return run
