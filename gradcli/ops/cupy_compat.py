"""The little that NumPy's dispatch does not carry to arrays of another device.

NumPy's functions called on a CuPy array run on the GPU by themselves, through NumPy's own
protocols. What has no array among its arguments, or goes past the protocols, stands here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.ops.memory_budget import charge_shape

SMALL = 1024
"""Sizes of dimensions up to this are worth keeping the positions of."""


def add_at(target: Any, index: Any, values: Any) -> None:
    """``target[index] += values``, where an entry may be named more than once."""
    if isinstance(target, np.ndarray):
        np.add.at(target, index, values)
    else:
        target.scatter_add(index, values)


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
    def run(*args: Any) -> Any:
        like = next((a for a in args if hasattr(a, "get")), None)  # CuPy's copy to the host
        if like is None:
            return function(*args)
        return np.asarray(function(*(a.get() if hasattr(a, "get") else a for a in args)), like=like)

    return run
