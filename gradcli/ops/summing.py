"""Sums of small arrays in PyTorch's order, which decides their last digit.

PyTorch adds whole vector registers of 32 bytes, four of them at a time, and joins those at the end;
what is left over comes first or last. Which entry meets which is the same here for float32 and
float64 arrays of up to ``SMALL`` entries; larger ones, and other element types, take NumPy's sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SMALL = 1024
_CHUNK = 16  # PyTorch sums the sums of so many
_FEW = {n: np.array([0, *range(4, n), 1, 2, 3]) for n in (5, 6, 7)}  # the rest goes to the first
_running = np.add.accumulate  # one after the other, where reduce pairs what lies side by side
_reduce = np.add.reduce  # one after the other, too, over an axis that is not the last


def ordered_sum(x: Any, axes: tuple[int, ...] | None) -> Any:
    """The sum over all axes (None), the last one, or the first of two; None for other cases.

    Example:
        >>> import numpy as np
        >>> x = np.array([1e8, 1, 1, 1, -1e8], np.float32)
        >>> float(ordered_sum(x, None)), float(((((x[0] + x[1]) + x[2]) + x[3]) + x[4]))
        (3.0, 0.0)
    """
    if x.__class__ is not np.ndarray or not 4 < x.size <= SMALL or x.dtype.char not in "fd":
        return None
    if not x.flags.c_contiguous:
        return None
    if axes is None or len(axes) == x.ndim:
        return _along_last(x if x.ndim == 1 else x.reshape(-1))
    if len(axes) > 1:
        return None
    if axes[0] == x.ndim - 1:
        return _along_last(x)
    if x.ndim != 2:
        return None
    return _along_first(x) if x.shape[1] > 1 else _along_last(x.reshape(1, -1))


def _along_last(x: Any) -> Any:
    """Registers in fours, then what is left over and the lanes of the register in turn."""
    n, lanes = x.shape[-1], 32 // x.itemsize
    if n < 5:
        return _reduce(x, axis=-1)
    if n < lanes:
        return _running(x[..., _FEW[n]], axis=-1)[..., -1]
    rest = n % lanes
    register = x[..., : n - rest]
    if n >= 2 * lanes:
        register = _in_fours(register.reshape(*x.shape[:-1], -1, lanes))
    if rest:
        register = np.concatenate((x[..., n - rest :], register), axis=-1)
    return _running(register, axis=-1)[..., -1]


def _along_first(x: Any) -> Any:
    """Of each column: row after row in groups of four registers of columns, the others in fours.

    Columns that fill no register go in groups of four.
    """
    wide = 128 // x.itemsize if x.shape[1] >= 32 // x.itemsize else 4
    whole = x.shape[1] - x.shape[1] % wide
    if len(x) < 5:
        return _reduce(x, axis=0)
    if not whole:
        return _in_fours(x)
    rest = x[:, whole:]
    parts = [_in_chunks(x[:, :whole])]
    if rest.shape[1] == 1:  # a single one is a row by itself
        parts.append(_in_fours(np.concatenate((rest, rest), axis=1))[:1])
    elif rest.size:
        parts.append(_in_fours(rest))
    return np.concatenate(parts)


def _in_fours(x: Any) -> Any:
    """Over the last axis but one: four running sums, the first takes the rest, then joined."""
    m = x.shape[-2]
    q = m // 4
    if m < 5:
        return _reduce(x, axis=-2)
    parts = x[..., : 4 * q, :]
    if q > 1:
        width = x.shape[-1]
        parts = _in_chunks(parts.reshape(*x.shape[:-2], q, 4 * width))
        parts = parts.reshape(*x.shape[:-2], 4, width)
    if m > 4 * q:
        parts = np.concatenate((parts[..., :1, :], x[..., 4 * q :, :], parts[..., 1:, :]), axis=-2)
    return _reduce(parts, axis=-2)


def _in_chunks(x: Any) -> Any:
    """Over the last axis but one: one after the other, full chunks for themselves."""
    n, width = x.shape[-2:]
    if n < _CHUNK:
        return _reduce(x, axis=-2)
    full = n - n % _CHUNK
    chunks = x[..., :full, :].reshape(*x.shape[:-2], -1, _CHUNK, width)
    total = _reduce(_reduce(chunks, axis=-2), axis=-2)
    return total if full == n else _reduce(x[..., full:, :], axis=-2) + total


def sum_in_lanes(x: Any) -> Any:
    """The sum of positive numbers along the last dimension, which stays, added in PyTorch's order.

    That is the order of a vector register of 32 bytes: running sums of every eighth float32 (every
    fourth float64), then of those the halves onto each other (one after the other). Of softmax and
    its logarithm 2 to 12 per cent of the entries then differ from PyTorch's in the last digit, and
    20 to 40 with NumPy's sum. Larger arrays, and other element types, take NumPy's.

    Example:
        >>> import numpy as np
        >>> float(sum_in_lanes(np.ones(20, np.float32))[0])
        20.0
    """
    lanes, n = 32 // x.itemsize if x.itemsize in (4, 8) else 0, x.shape[-1]
    if not lanes or n < lanes or x.__class__ is not np.ndarray or x.size > SMALL:
        return x.sum(axis=-1, keepdims=True)
    rest = n % lanes
    a = x[..., : n - rest]
    if n >= 2 * lanes:
        a = a.reshape(*x.shape[:-1], -1, lanes).sum(axis=-2)
    if rest:
        a = a.copy()
        a[..., :rest] += x[..., n - rest :]
    x = a
    if lanes == 4:
        return x.sum(axis=-1, keepdims=True)
    x = x[..., :4] + x[..., 4:]
    x = x[..., :2] + x[..., 2:]
    return x[..., :1] + x[..., 1:]
