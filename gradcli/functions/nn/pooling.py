"""Pooling of ``gradcli.nn.functional``: the largest entry or the mean of each window."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from gradcli.engine.creation.sampling import rand
from gradcli.engine.dtypes import int64
from gradcli.engine.grad_mode import mode
from gradcli.engine.record.arguments import Asked, Sized
from gradcli.engine.record.composite import (
    by_element,
    called,
    formatted,
    in_double,
    is_batch,
    of_its_own,
    rowwise,
    watch,
)
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.functions import arithmetic
from gradcli.functions.indexing import scatter
from gradcli.functions.nn.loss_checks import check_floating
from gradcli.functions.nn.padding import pad
from gradcli.functions.nn.resampling import adaptive, means
from gradcli.functions.nn.windows import Sizes, check_sizes, each, in_ranks, windows
from gradcli.ops.dims import unraveled
from gradcli.ops.errors import ValueFault, bad_argument, bad_dtype, bad_shape, bad_value
from gradcli.ops.indexing import Apart
from gradcli.ops.memory_budget import charge_shape

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "fractional_max_pool2d", "fractional_max_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
    "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def _of_images(found: Any, dim: int = -2) -> Any:
    """Results for sequences from those for images of one row, of which they are views."""
    if found.__class__ is tuple:
        return tuple(_O["squeeze"](v, dim) for v in found)
    return _O["squeeze"](found, dim)


def _extra(
    sizes: Sequence[int], kernel: tuple, stride: tuple, dilation: tuple, sides: list[int]
) -> list[int]:
    """How much the last window of ``ceil_mode`` reaches past the end, the last dimension first."""
    edges = sides[::2][::-1]
    out = []
    for n, k, s, d, edge in reversed(
        list(zip(sizes, kernel, stride, dilation, edges, strict=True))
    ):
        reach = d * (k - 1) + 1
        count = -(-(n - reach) // s) + 1
        if (count - 1) * s >= n - edge:  # the last window begins within the input or its left edge
            count -= 1
        out += [0, max(0, (count - 1) * s + reach - n)]
    return out


def _check_kind(input: Any, kernel: str, whole: bool) -> None:
    """Raise UnwrittenFault (E0309) for numbers that are not real, or whole unless they may be."""
    kind = input.dtype.kind
    if kind != 2 and not (whole and kind == 1):
        check_floating(input, kernel, True)


def _least(dtype: Any) -> float:
    """What no entry is below."""
    return -math.inf if dtype.kind > 1 else int(np.iinfo(dtype.numpy).min)


def _pooled(
    name: str, input: Any, kernel: Any, stride: Any, padding: Any, rank: int, dilation: Any = 1,
    over: bool = False,
) -> tuple:  # fmt: skip
    """The options of a window, for each dimension; ``over``: the last one may reach past the end.

    Raises RuntimeFault for a shape (E0301) and for a number that is out of range (E0304).
    """
    sizes = each(kernel, rank, "kernel_size")
    steps = each(stride, rank, "stride") if isinstance(stride, int) or stride else sizes
    edges, spread = each(padding, rank, "padding"), each(dilation, rank, "dilation")
    if rank > 1 and not 1 <= len(input.shape) - rank <= 2:
        said = f"{rank + 1}D or {rank + 2}D (batch mode) tensor expected for input"
        raise bad_shape(f"non-empty {said}")
    if (rank > 1 or name == "avg_pool") and max(*sizes, *steps, *edges, *spread) >= 2**31:
        raise bad_value("value cannot be converted to type int without overflow")
    if 0 in steps:
        raise bad_value("stride should not be zero")
    if min(*sizes, *steps, *spread) < 1:
        named = {"kernel size": sizes, "stride": steps, "dilation": spread}
        wrong = next(name for name, given in named.items() if min(given) < 1)
        raise bad_value(f"{wrong} should be greater than zero, but got {list(named[wrong])}")
    if min(edges) < 0:
        raise bad_value(f"pad must be non-negative, but got pad: {min(edges)}")
    for e, k in zip(edges, sizes, strict=True):
        if 2 * e > k:
            said = "pad should be at most half of effective kernel size, but got"
            raise bad_value(f"{said} pad={e}, kernel_size={k} and dilation=1")
    check_sizes(name, input, rank)
    old = input.shape[-rank:]
    counts = [
        (n + 2 * e - d * (k - 1) - 1 + (s - 1) * over) // s + 1
        for n, e, d, k, s in zip(old, edges, spread, sizes, steps, strict=True)
    ]
    if min(counts) < 1:
        lead = (input.shape[-rank - 1], *(1,) * (rank < 2))  # PyTorch has it of two dimensions
        given, made = ("x".join(map(str, (*lead, *shape))) for shape in (old, counts))
        said = f"Given input size: ({given}). Calculated output size: ({made})."
        raise bad_shape(f"{said} Output size is too small")
    sides = [e for edge in reversed(edges) for e in (edge, edge)]
    return sizes, steps, sides, spread


def _max_pool(
    input: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    dilation: Sizes = 1, ceil_mode: bool = False, return_indices: Any = False, *, _rank: int,
    _both: bool = False,
) -> Any:  # fmt: skip
    """The largest entry of each window of ``(N, C, SIZES)``."""
    return_indices = return_indices or _both
    sizes, steps, sides, spread = _pooled(
        "max_pool", input, kernel_size, stride, padding, _rank, dilation, ceil_mode
    )
    flat = _rank < 2 and not return_indices  # of lines alone, whose kernel takes floats alone
    _check_kind(input, "max_pool1d_impl" if flat else f"max_pool{max(_rank, 2)}d", not flat)
    if _rank == 1:
        image, edge, far = _O["unsqueeze"](input, -2), (0, sides[0]), (1, *spread)
        found = _max_pool(
            image, (1, *sizes), (1, *steps), edge, far, ceil_mode, return_indices, _rank=2
        )
        found = _of_images(found)
        if return_indices or (input.requires_grad and mode.grad):
            return found
        return rowwise(of_its_own(found))  # by a kernel of its own
    padded, least = input.detach(), _least(input.dtype)
    padded = pad(padded, sides, value=least) if any(sides) else padded
    if ceil_mode:
        more = _extra(padded.shape[-_rank:], sizes, steps, spread, sides)
        padded = pad(padded, more, value=least) if any(more) else padded
        sides = [a + b for a, b in zip(sides, more, strict=True)]
    source = input
    if any(sides) and max(spread) > 1:  # a window may lie in the padding alone: it is read there
        source = pad(input, [n if i % 2 else 0 for i, n in enumerate(sides)], value=least)
    found, _ = windows(padded, sizes, steps, spread)
    edges = tuple(sides[::2][::-1])
    apart = all(k * d <= s for k, d, s in zip(sizes, spread, steps, strict=True))

    def at(where: np.ndarray) -> list[np.ndarray]:
        inside = unraveled(where, sizes)
        starts = _starts(where.shape[-_rank:], steps, edges)
        along = [s + i * d for s, i, d in zip(starts, inside, spread, strict=True)]
        for start, found, d in zip(starts, along, spread, strict=True):
            if any(edges):  # where a window holds -inf alone: its first entry that is no padding
                np.maximum(found, start % d, where=start < 0, out=found)
        return along

    name = f"MaxPool{_rank}DWithIndicesBackward0"
    found = _largest(input, found, at, _rank, return_indices, name, apart, source)
    values, places = (formatted(v, input, lone=_rank == 3 and input.ndim == 4) for v in found)
    return (values, places) if return_indices else values


max_pool1d, max_pool2d, max_pool3d = in_ranks(_max_pool, 1, 2, 3)


@functools.lru_cache(maxsize=64)
def _starts(counts: tuple, steps: tuple, edges: tuple) -> list[np.ndarray]:
    """Where the windows begin along each dimension, to broadcast over the windows."""
    rank = len(counts)
    return [
        np.arange(-e, n * s - e, s).reshape((-1,) + (1,) * (rank - 1 - i))
        for i, (n, s, e) in enumerate(zip(counts, steps, edges, strict=True))
    ]


def _largest(
    input: Any, found: Any, at: Callable, rank: int, indices: bool, name: str, apart: bool = False,
    source: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The largest entry of each window, and its place in the last ``rank`` dimensions if asked.

    found    the windows, ``(N, C, out..., kernel...)``; they only say which entry it is: the values
             are read from ``input`` itself, so that a gradient has no entry for each of a window's
    at       the indices along each dimension of the entries at given places in their windows
    apart    whether no two windows share an entry
    source   the input with what of its padding is read, if any is
    """
    found = _O["reshape"](found, (*found.shape[:-rank], math.prod(found.shape[-rank:])))
    read = _read(input if source is None else source, found, at, rank, apart)
    values = called(read, name, input, leads=input)
    return values, _flat_places(found, at, tuple(input.shape[-rank:])) if indices else None


def _which(found: Any) -> np.ndarray:
    """Which entry of each window is its largest: the first of equal ones, the last NaN."""
    each = np.asarray(found.array)
    where = each.argmax(-1)
    if np.isnan(each.max(initial=0)):
        backwards = np.isnan(each[..., ::-1])
        where = np.where(backwards.any(-1), each.shape[-1] - 1 - backwards.argmax(-1), where)
    return where


def _read(input: Any, found: Any, at: Callable, rank: int, apart: bool) -> Any:
    if is_batch(found):
        return found.at_once(lambda x, f: _read(x, f, at, rank, apart), input, found)
    charge_shape((2 + 2 * rank, *found.shape[:-1]))  # places
    where = _which(found)
    index = (*_lead(where.shape, rank), *at(where))
    return _O["getitem"](input, Apart(index) if apart else index)


@functools.lru_cache(maxsize=64)
def _lead(shape: tuple, rank: int) -> tuple[np.ndarray, ...]:
    """The indices of the dimensions before the last ``rank`` ones, to broadcast over all."""
    return np.indices(shape[:-rank] + (1,) * rank, sparse=True)[: len(shape) - rank]


@by_element
def _flat_places(found: Any, at: Callable, sizes: tuple) -> Any:
    total: Any = 0
    for along, n in zip(at(_which(found)), sizes, strict=True):
        total = total * n + along
    return wrap(np.asarray(total, np.int64), int64)


_DOC = "The largest entry of each window, and its place."
_with_indices: Any = functools.partial(in_ranks, more="_with_indices", doc=_DOC, _both=True)
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = _with_indices(
    _max_pool, 1, 2, 3
)


def _avg_pool(
    input: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
    *, _rank: int,
) -> Any:  # fmt: skip
    """The mean of each window of ``(N, C, SIZES)``."""
    sizes, steps, sides, one = _pooled(
        "avg_pool", input, kernel_size, stride, padding, _rank, over=ceil_mode
    )
    if divisor_override == 0:
        raise bad_value("divisor must be not zero")
    _check_kind(input, f"avg_pool{max(_rank, 2)}d", input.dtype is int64)
    if _rank == 1:
        image, window = _O["unsqueeze"](input, -2), ((1, *sizes), (1, *steps), (0, *sides[:1]))
        return _of_images(_avg_pool(image, *window, ceil_mode, count_include_pad, _rank=2))
    padded = pad(input, sides) if any(sides) else input
    more = _extra(padded.shape[-_rank:], sizes, steps, one, sides) if ceil_mode else ()
    dims = tuple(range(-_rank, 0))

    def added(v: Any) -> Any:
        v = pad(v, more) if any(more) else v
        return _O["sum"](windows(v, sizes, steps, one)[0], dims)

    total = added(padded)
    if divisor_override is not None:
        share: Any = divisor_override
    elif ceil_mode or (any(sides) and not count_include_pad):
        counted = _O["ones_like"](padded if count_include_pad else input).detach()
        share = added(counted if count_include_pad or not any(sides) else pad(counted, sides))
    else:
        share = math.prod(sizes)
    whole = "trunc" if input.dtype.kind < 2 else None
    out = arithmetic.div(total, share, rounding_mode=whole)
    out = rowwise(out) if _rank == 3 else formatted(out, input)
    return called(out, f"AvgPool{_rank}DBackward0", input, leads=input)


def avg_pool1d(
    input: Any, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window of ``(N, C, L)``."""
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, _rank=1)


avg_pool2d, avg_pool3d = in_ranks(_avg_pool, 2, 3)


def _lp_pool(
    input: Asked, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None,
    ceil_mode: bool = False, *, _rank: int,
) -> Any:  # fmt: skip
    """The ``norm_type``-norm of each window of ``(N, C, SIZES)``."""
    if abs(norm_type) == math.inf:
        size = _O["abs"](input) if norm_type > 0 else -_O["abs"](input)
        most = _max_pool(size, kernel_size, stride, ceil_mode=ceil_mode, _rank=_rank)
        return most if norm_type > 0 else -most
    count = math.prod(each(kernel_size, _rank, "kernel_size"))
    own = in_double(input)
    sums = _avg_pool(own**norm_type, kernel_size, stride, 0, ceil_mode, _rank=_rank) * count
    # A sum of 0 has slope 0. By products, not by a choice: the slope at infinity has to stay NaN.
    none = (sums.detach() == 0).to(sums.dtype)
    out = (sums * (1 - none) + none) ** (1.0 / norm_type)
    out = out - none if norm_type > 0 else out + none / (1 - none)
    return called(out if own is input else out.to(input.dtype), "PowBackward0", sums)


lp_pool1d, lp_pool2d, lp_pool3d = in_ranks(_lp_pool, 1, 2, 3)


def _wanted(name: str, input: Any, output_size: Any, rank: int) -> tuple[int, ...]:
    """The sizes that are asked for; None keeps the input's."""
    old = tuple(input.shape[-rank:])
    if not isinstance(output_size, Integral):
        output_size = tuple(output_size)
        if rank > 1 and len(output_size) >= len(input.shape):
            raise ValueFault("E0301", f"Input dimension should be at least {len(output_size) + 1}")
        if len(output_size) == rank == len(old):
            output_size = [n if m is None else m for n, m in zip(old, output_size, strict=True)]
    sizes = (output_size,) if isinstance(output_size, Integral) else output_size
    one = name == "adaptive_avg_pool" and all(m == 1 for m in sizes)  # NaN of no entries
    check_sizes(name, input, rank, len(input.shape) if one else 1)
    if not isinstance(output_size, Integral) and len(output_size) != rank:
        lone = f"1d() argument 'output_size' should contain one int (got {len(output_size)})"
        lone = lone if rank < 2 else f"{rank}d(): internal error: output_size must be {rank}"
        raise bad_value(name + lone)
    wanted = each(output_size, rank, "output_size")
    if min(wanted) < 0:
        said = "elements of output_size must be greater than or equal to 0 but received"
        if name == "adaptive_max_pool":
            said = "Trying to create tensor with negative dimension"
        raise bad_value(f"{said} {min(wanted)}")
    return wanted


def _nothing(input: Any, wanted: tuple[int, ...], indices: Any = False) -> Any:
    """No window at all: none of the input's entries, nor of their ``indices`` if asked, and as in
    PyTorch no way back."""
    out = _O["getitem"](input, (Ellipsis, *np.ix_(*(np.zeros(n, int) for n in wanted))))
    if isinstance(out, Tensor):
        watch(out, _no_way_back)
    return (out, out.detach().long()) if indices else out


def _no_way_back(g: Any) -> None:
    said = "Expected grad_output to have non-zero size for non-batch dimensions"
    raise bad_shape(f"adaptive pooling: {said}")


def _adaptive_avg_pool(input: Any, output_size: Any, *, _rank: int) -> Any:
    """Means of so many windows of ``(N, C, SIZES)`` as are asked for."""
    wanted = _wanted("adaptive_avg_pool", input, output_size, _rank)
    if max(wanted) > 1 or min(wanted) < 1:
        check_floating(input, f"adaptive_avg_pool{max(_rank, 2)}d", True)
    return means(input, wanted) if all(wanted) else _nothing(input, wanted)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = in_ranks(
    _adaptive_avg_pool, 1, 2, 3
)


def _adaptive_max_pool(
    input: Any, output_size: Any, return_indices: Any = False, *, _rank: int, _both: bool = False
) -> Any:
    """The largest entries of so many windows of ``(N, C, SIZES)`` as are asked for."""
    return_indices = return_indices or _both
    wanted = _wanted("adaptive_max_pool", input, output_size, _rank)
    sizes = tuple(input.shape[-_rank:])
    check_floating(input, f"adaptive_max_pool{max(_rank, 2)}d", True)
    if not all(wanted):
        return _nothing(input, wanted, return_indices)
    if _rank == 1:
        image = _O["unsqueeze"](input, -2)
        return _of_images(_adaptive_max_pool(image, (1, *wanted), return_indices, _rank=2))
    spots = [adaptive(n, m)[0] for n, m in zip(sizes, wanted, strict=True)]
    found = _largest_of(input, spots, return_indices, f"AdaptiveMaxPool{_rank}DBackward0")
    values, places = (rowwise(v) if _rank == 3 else formatted(v, input) for v in found)
    return (values, places) if return_indices else values


def _largest_of(
    input: Any, spots: Sequence[np.ndarray], indices: bool, name: str
) -> tuple[Any, Any]:
    """``_largest`` of windows that take the entries ``spots`` along each of the last dimensions.

    An array of these is (windows, entries), or has that for each channel.
    """
    rank, own = len(spots), spots[0].ndim - 2
    lead = tuple(input.shape[:-rank])
    index: list[Any] = [*_lead(lead + (1,) * (2 * rank), 2 * rank)] if own else [Ellipsis]
    for i, along in enumerate(spots):
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = along.shape[-2:]
        index.append(along.reshape(*along.shape[:own], *shape))
    wanted, sizes = zip(*(along.shape[-2:] for along in spots), strict=True)
    charge_shape((*lead, *wanted, *sizes))

    def at(where: np.ndarray) -> list[np.ndarray]:
        before = _lead(where.shape, rank)[where.ndim - rank - own :]
        rows = np.indices(wanted, sparse=True)
        inside = unraveled(where, sizes)
        parts = zip(spots, rows, inside, strict=True)
        return [along[(*before, row, place)] for along, row, place in parts]

    found = _O["getitem"](input.detach(), tuple(index))
    return _largest(input, found, at, rank, indices, name)


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = in_ranks(
    _adaptive_max_pool, 1, 2, 3
)
(adaptive_max_pool1d_with_indices,) = _with_indices(_adaptive_max_pool, 1)


def _max_unpool(
    input: Sized, indices: Any, kernel_size: Sizes, stride: Sizes | None = None,
    padding: Sizes = 0, output_size: Any = None, *, _rank: int,
) -> Any:  # fmt: skip
    """Entries put back where ``max_pool1d`` took them, zeros elsewhere."""
    check_sizes("max_unpool", input, _rank)
    check_floating(input, f"max_unpool{_rank}d", True)
    if indices.dtype is not int64:
        said = f"elements in indices should be type int64 but got: {indices.dtype.scalar_name}"
        raise bad_dtype(said, help="write indices.long()")
    if tuple(indices.shape) != tuple(input.shape):
        raise bad_shape("Expected shape of indices to be same as that of the input tensor")
    sizes = each(kernel_size, _rank, "kernel_size")
    steps = each(stride, _rank, "stride") if isinstance(stride, int) or stride else sizes
    edges = each(padding, _rank, "padding")
    out = tuple(
        (n - 1) * s - 2 * e + k
        for n, s, e, k in zip(input.shape[-_rank:], steps, edges, sizes, strict=True)
    )
    if output_size is not None:
        asked = tuple(output_size)[-_rank:]
        if len(asked) != _rank:
            said = f"{_rank} or {_rank + 2} elements, but it has a length of '{len(asked)}'"
            raise bad_argument(f"output_size should be a sequence containing {said}")
        for dim, (size, n, s) in enumerate(zip(asked, out, steps, strict=True)):
            if abs(size - n) >= s:
                said = f"(dim {dim} must be between {n - s} and {n + s})"
                raise bad_argument(f'invalid output_size "{asked}" {said}')
        out = asked
    if _rank == 1:
        image, places = (_O["unsqueeze"](v, -1) for v in (input, indices))
        size, step, edge, out = (*sizes, 1), (*steps, 1), (*edges, 0), (*out, 1)
        return _of_images(_max_unpool(image, places, size, step, edge, out, _rank=2), -1)
    lead = tuple(input.shape[:-_rank])
    charge_shape((*lead, *out))
    flat = input.new_zeros((*lead, math.prod(out)))
    count = math.prod(input.shape[-_rank:])
    spots, values = (_O["reshape"](v, (*lead, count)) for v in (indices, input))
    filled = scatter(flat, -1, spots, values)
    filled = _O["reshape"](filled, (*lead, *out))
    filled = formatted(filled, input) if _rank == 2 else filled
    return called(filled, f"MaxUnpool{_rank}DBackward0", input)


max_unpool1d, max_unpool2d, max_unpool3d = in_ranks(_max_unpool, 1, 2, 3)


_SIDES = ("time", "height", "width")


def _fractional_max_pool(
    input: Asked, kernel_size: Sizes, output_size: Any = None, output_ratio: Any = None,
    return_indices: Any = False, _random_samples: Any = None, *, _rank: int,
) -> Any:  # fmt: skip
    """The largest entries of windows of ``(N, C, SIZES)`` whose places are drawn."""
    for name, given in (("kernel_size", kernel_size), ("output_size", output_size)):
        if isinstance(given, tuple | list) and len(given) != _rank:
            said = "must either be a single Int or tuple of " + "three " * (_rank == 3)
            raise bad_value(f"fractional_max_pool{_rank}d: {name} {said}Ints")
    sizes, old = each(kernel_size, _rank, "kernel_size"), tuple(input.shape[-_rank:])
    if (output_size is None) is (output_ratio is None):
        said = "requires specifying either an output_size or an output_ratio"
        raise bad_argument(f"fractional_max_pool{_rank}d {said}")
    check_sizes("fractional_max_pool", input, _rank)
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, tuple | list) else (output_ratio,) * _rank
        if len(ratios) != _rank:
            raise bad_argument(f"output_ratio should have {_rank} numbers, got {len(ratios)}")
        wanted = tuple(int(n * r) for n, r in zip(old, ratios, strict=True))
    else:
        wanted = each(output_size, _rank, "output_size")
    check_floating(input, f"fractional_max_pool{_rank}d_out_frame", True)
    for side, size, m, k in zip(_SIDES[-_rank:], old, wanted, sizes, strict=True):
        if m < 0 or k < 1 or m + k - (_rank == 2) > size:
            name = "fractional_max_pool2d()" if _rank == 2 else "fractional_max_pool3d_out()"
            said = f"{name}: pool {side} {k} too large relative to input {side} {size}"
            raise bad_shape(said, help=f"the output has {m} here; neither may be below 1")
    if not all(wanted):
        return _nothing(input, wanted, return_indices)
    n = 1 if len(input.shape) == _rank + 1 else input.shape[0]
    channels = input.shape[-_rank - 1]
    if _random_samples is None:
        _random_samples = rand((n, channels, _rank), dtype=input.dtype)
    drawn = tuple(_random_samples.shape)
    if _random_samples.dtype is not input.dtype:
        raise bad_dtype("Expect _random_samples to have the same dtype as input")
    if len(drawn) != 3 or drawn[0] < n or drawn[1:] != (channels, _rank):
        said = f"of shape {[n, channels, _rank]}, but got {list(drawn)}"
        raise bad_shape(f"Expect _random_samples {said}")
    shares = np.asarray(_random_samples.array)[:n].reshape(*input.shape[:-_rank], _rank)
    spots = _drawn_windows(shares, old, wanted, sizes)
    name = f"FractionalMaxPool{_rank}DBackward0"
    values, places = _largest_of(input, spots, return_indices, name)
    return (values, places) if return_indices else values


def _drawn_windows(shares: np.ndarray, old: tuple, wanted: tuple, sizes: tuple) -> list[np.ndarray]:
    """Which entries the windows take along each dimension: (windows, entries) for each channel.

    ``shares``, between 0 and 1 for each channel and dimension, say where windows begin.
    """
    spots = []
    for i, (size, m, k) in enumerate(zip(old, wanted, sizes, strict=True)):
        # PyTorch draws for the last dimension first in 2-d, and for the first one in 3-d.
        share = shares[..., 1 - i if len(sizes) == 2 else i, None]
        real = share.dtype.type  # PyTorch reckons in the dtype of what is drawn
        step = real(size - k) / real(m - 1) if m > 1 else real(0)
        starts = ((np.arange(m, dtype=real) + share) * step).astype(int)
        starts -= (share * step).astype(int)
        starts[..., m - 1] = size - k
        spots.append(starts[..., None] + np.arange(k))
    return spots


fractional_max_pool2d, fractional_max_pool3d = in_ranks(_fractional_max_pool, 2, 3)


may_be("same", avg_pool2d, avg_pool3d)
