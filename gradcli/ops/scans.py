"""Scans: running sums, products and extremes along a dimension, and the linear recurrence.

A running product and a running logsumexp are differentiated by one sweep back along the dimension,
in memory of the size of the input. With s[j-1] the result before entry j,

    cumprod        s[j] = x[j] s[j-1]            ds[k]/dx[j] = s[j-1] x[j+1] ... x[k]
    logcumsumexp   s[j] = log(e^s[j-1] + e^x[j]) ds[k]/dx[j] = e^(x[j]-s[j]) e^(s[j]-s[j+1]) ...

and what each row sums over k is h[j] = g[j] + a[j+1] h[j+1]: a ``recurrence``, run backwards.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import numpy as np

from gradcli.ops.comparison import isinf, ones_like, zeros_like
from gradcli.ops.conversion import in_wider
from gradcli.ops.cupy_compat import on_host
from gradcli.ops.declaration import cures
from gradcli.ops.declaration.batching import Batch, along
from gradcli.ops.dims import in_rows, normal_dim
from gradcli.ops.exponential import exp, log_of_both
from gradcli.ops.indexing import getitem
from gradcli.ops.joining import cat
from gradcli.ops.kinds import constant, general, linear
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.numerics.summation import WIDER, in_double
from gradcli.ops.operator import OPERATORS, Operator, is_complex
from gradcli.ops.piecewise import where
from gradcli.ops.shape import flip

_FEW = 16
"""Lanes up to which Python's own numbers are faster than a NumPy call for each step."""
_PIECE = 1 << 14
"""Steps for which Python numbers are made at a time."""


def _scan(ufunc: Any, function: Any) -> Any:
    """``ufunc`` along a dimension, whose warnings are not NumPy's own; ``function`` for arrays of
    other libraries."""

    def scan(x: Any, axis: int) -> Any:
        return (ufunc.accumulate if x.__class__ is np.ndarray else function)(x, axis=axis)

    return scan


_sums = in_double(_scan(np.add, np.cumsum))


def _cumsum(x: Any, dim: int) -> Any:
    axis = normal_dim(dim, np.ndim(x))
    if not np.ndim(x):
        return np.cumsum(x)[0]
    out = _sums(x, axis=axis)
    if not isinstance(out, np.ndarray):
        return out + 0
    out += 0  # PyTorch begins with 0, which a first entry of -0.0 does not change
    return in_rows(out)


cumsum: Operator = linear(
    "cumsum",
    lambda x, dim=0: _cumsum(x, dim),
    lambda g, dim: flip(cumsum(flip(g, dim), dim), dim) if len(g.shape) else g,
    doc="Running sums along a dimension.",
    example="sum(cumsum(x, 0)) --x 1,2,3",
    numpy="np.cumsum({0}, {dim})",
    latex=r"\operatorname{cumsum}",
    cures=cures.TOO_LARGE,
)


# ---- The linear recurrence -----------------------------------------------------------------------


def _steps(x: Any, axis: int) -> list[tuple[Any, ...]]:
    """The index of each step along an axis."""
    before = (slice(None),) * axis
    return [(*before, j) for j in range(x.shape[axis])]


def _recurrence(a: Any, b: Any, dim: int) -> Any:
    if not np.ndim(b):
        return b + 0 * a
    axis = normal_dim(dim, b.ndim)
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.char in WIDER:
        a, b = (v.astype(WIDER[dtype.char]) for v in (a, b))
        return _recurrence(a, b, dim).astype(dtype)
    charge_shape(b.shape, dtype.itemsize)
    out = np.empty_like(b, dtype=dtype)
    length = b.shape[axis]
    if b.size and b.size // length <= _FEW < length:
        for lane in np.ndindex(*b.shape[:axis], *b.shape[axis + 1 :]):
            row = (*lane[:axis], slice(None), *lane[axis:])
            out[row] = _of_numbers(a[row], b[row], out[row])
        return out
    if axis and b.size > _PIECE:  # steps through memory as it lies
        a, b = (np.ascontiguousarray(np.moveaxis(v, axis, 0)) for v in (a, b))
        return np.moveaxis(_recurrence(a, b, 0), 0, axis)
    places = _steps(b, axis)
    for j, place in enumerate(places):
        out[place] = b[place] + a[place] * out[places[j - 1]] if j else b[place]
    return out


def _of_numbers(a: Any, b: Any, out: Any) -> Any:
    """One lane of the recurrence, in Python's floats, which are faster there."""
    last = 0.0
    for start in range(0, len(b), _PIECE):
        piece = slice(start, start + _PIECE)
        pairs = zip(a[piece].tolist(), b[piece].tolist(), strict=True)
        if not start:
            _, last = next(pairs)
            out[0] = last
            piece = slice(1, _PIECE)
        found = list(accumulate(pairs, lambda s, ab: ab[1] + ab[0] * s, initial=last))
        last = found[-1]
        out[piece] = found[1:]
    return out


def one_before(s: Any, dim: int, first: Any) -> Any:
    """The entries one step earlier, with ``first`` of the first one ahead of them."""
    start = (slice(None),) * normal_dim(dim, len(s.shape))
    head = getitem(s, (*start, slice(0, 1)))
    return cat(first(head), getitem(s, (*start, slice(None, -1))), dim=dim)


def _swept_back(a: Any, g: Any, dim: int) -> Any:
    """h[j] = g[j] + a[j+1] h[j+1], the transpose of the recurrence by b."""
    return flip(recurrence(one_before(flip(a, dim), dim, zeros_like), flip(g, dim), dim), dim)


def both_along(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Operators of two values of one shape, along one of their dimensions."""
    rank = batch.ranks[0]
    return op(batch.full(0), batch.full(1), dim=normal_dim(params["dim"], rank) + 1)


recurrence: Operator = general(
    "recurrence",
    lambda a, b, dim=0: on_host(_recurrence)(a, b, dim),
    lambda g, a, out, dim: one_before(out, dim, zeros_like) * _swept_back(a, g, dim),
    lambda g, a, dim: _swept_back(a, g, dim),
    jvp=lambda ta, tb, a, out, dim: recurrence(a, tb + ta * one_before(out, dim, zeros_like), dim),
    dtypes="promote",
    holds=2,
    doc="s[j] = b[j] + a[j] s[j-1] along a dimension, from s[0] = b[0].",
    batching=both_along,
    public=False,
)


# ---- Running products, and sums of exponentials --------------------------------------------------


def _lined(scan: Any) -> Any:
    """What ``scan`` computes, of a 0-d array too: that is a line of one entry."""
    scan = on_host(scan)

    def compute(x: Any, dim: int = 0) -> Any:
        axis = normal_dim(dim, np.ndim(x))
        return in_rows(scan(x, axis) if np.ndim(x) else scan(np.reshape(x, (1,)), 0).reshape(()))

    return compute


cumprod = general(
    "cumprod",
    _lined(in_double(_scan(np.multiply, np.cumprod))),
    lambda g, x, out, dim: (
        one_before(out, dim, ones_like) * _swept_back(x, g, dim) if len(g.shape) else g
    ),
    jvp=lambda tx, x, out, dim: (
        recurrence(x, tx * one_before(out, dim, ones_like), dim) if len(out.shape) else tx
    ),
    dtypes="keep",
    doc="Running products along a dimension.",
    edges="exact where entries are 0",
    example="sum(cumprod(x, 0)) --x 2,3,4",
    numpy="np.cumprod({0}, {dim})",
    latex=r"\operatorname{cumprod}",
)


def _logcumsumexp(x: Any, axis: int) -> Any:
    if is_complex(x):
        out = np.empty_like(x)
        sums: Any = -np.inf  # of nothing
        for place in _steps(x, axis):
            out[place] = sums = log_of_both(x[place], sums)
        return out
    out = np.logaddexp.accumulate(x, axis)
    out += 0  # a first entry of -0.0 is added to nothing, as in PyTorch
    return out


running_largest = constant(
    "running_largest",
    lambda x, dim=0: _lined(np.maximum.accumulate)(x, dim),
    doc="The largest entry so far along a dimension.",
    public=False,
)


def _shares(x: Any, out: Any, dim: int) -> tuple[Any, Any, Any]:
    """How much of each result its entry is, exp(x - out), how much was there one step before, and
    where the former is not known.

    Both by the largest entry so far: beside large entries ``out`` has lost digits of x - out.

    An infinite result stays the same, so all of it was there. Where an entry is infinite too its
    share is not known, and no other entry's derivative feels it: NaN where one is asked for.
    """
    if not len(out.shape):  # a number is its own sum, an infinite one too
        return 1.0, None, None
    same = (x == out) & isinf(out) | (out == -math.inf)
    parts = OPERATORS["real"](x) if is_complex(x) else x
    top = running_largest(parts, dim)
    earlier = one_before(top, dim, lambda head: head)
    kept = exp(where(earlier == top, 0.0, earlier - top))
    own = exp(where((parts == top) & isinf(top), 0.0, x - top))
    total = recurrence(kept, own, dim)
    kept = kept * (one_before(total, dim, lambda head: head) / total)
    stays = (one_before(out, dim, lambda head: head) == out) & isinf(out)
    return where(same, 0.0, own / total), where(stays, 1.0, kept), same


def _logcumsumexp_vjp(g: Any, x: Any, out: Any, dim: int) -> Any:
    own, kept, lost = _shares(x, out, dim)
    if kept is None:
        return g
    swept = _swept_back(kept, g, dim)
    return where(lost & (swept != 0), np.nan, own * swept)  # of nothing asked for it is 0


def _logcumsumexp_jvp(tx: Any, x: Any, out: Any, dim: int) -> Any:
    own, kept, lost = _shares(x, out, dim)
    if kept is None:
        return tx
    asked = running_largest(lost & (tx != 0), dim)
    return where(isinf(out) & asked, np.nan, recurrence(kept, own * tx, dim))


logcumsumexp = general(
    "logcumsumexp",
    _lined(in_double(_logcumsumexp)),
    # What rounding does to one share stays in the product of those that follow.
    lambda g, x, out, dim: in_wider(WIDER, _logcumsumexp_vjp, dim, g, x, out),
    jvp=lambda tx, x, out, dim: in_wider(WIDER, _logcumsumexp_jvp, dim, tx, x, out),
    doc="The logarithm of running sums of exponentials along a dimension, without overflow.",
    example="sum(logcumsumexp(x, 0)) --x 1,2,3",
    numpy="np.logaddexp.accumulate({0}, {dim})",
    latex=r"\operatorname{logcumsumexp}",
    refuses={"bool int": "logcumsumexp_out_cpu"},
    batching=lambda op, batch, params: (
        along(op, batch, params) if batch.ranks[0] else NotImplemented  # see _shares
    ),
)


# ---- Running extremes ----------------------------------------------------------------------------


def _extreme_places(name: str, find: Any, which: str) -> Operator:
    def places(x: Any, axis: int) -> Any:
        hits = x == find.accumulate(x, axis)
        hits |= x != x  # a NaN is the extreme until another one comes
        steps = np.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
        return np.maximum.accumulate(hits * steps, axis)

    return constant(
        f"arg{name}",
        lambda x, dim=0: _lined(places)(x, dim),
        doc=f"Where the {which} entry so far along a dimension stands; the last of equals.",
        refuses={"complex": f"{name}_cpu"},
        public=False,
    )


argcummax = _extreme_places("cummax", np.maximum, "largest")
argcummin = _extreme_places("cummin", np.minimum, "smallest")
