"""Pooling of ``gradcli.nn.functional``: the largest entry or the mean of each window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.named_tuples import Extremes
from gradcli.engine.record.composite import by_element, called
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.functions.nn.padding import pad
from gradcli.functions.nn.windows import Sizes, each, windows
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.memory_budget import charge_shape, step

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "avg_pool1d", "avg_pool2d", "max_pool1d", "max_pool2d",
]  # fmt: skip

PIECE = 400
"""Bytes that one small tensor takes, with its place in the graph."""


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


def _pooled(input: Any, kernel: Any, stride: Any, padding: Any, rank: int, ceil: bool) -> tuple:
    sizes = each(kernel, rank, "kernel_size")
    steps = sizes if stride is None or stride == [] else each(stride, rank, "stride")
    edges = each(padding, rank, "padding")
    if any(2 * e > k for e, k in zip(edges, sizes, strict=True)):
        raise RuntimeFault(
            "E0304", "pad should be at most half of effective kernel size, but got "
            f"pad={edges[0]}, kernel_size={sizes[0]} and dilation=1",
        )  # fmt: skip
    sides = [e for edge in reversed(edges) for e in (edge, edge)]
    return sizes, steps, sides


def _max_pool(
    input: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, indices: bool,
    rank: int,
) -> Any:  # fmt: skip
    sizes, steps, sides = _pooled(input, kernel, stride, padding, rank, ceil)
    spread = each(dilation, rank, "dilation")
    outer = tuple(input.shape[-rank:])
    padded = pad(input, sides, value=-float("inf")) if any(sides) else input
    if ceil:
        more = _extra(padded.shape[-rank:], sizes, steps, spread, sides)
        padded = pad(padded, more, value=-float("inf")) if any(more) else padded
    found, out = windows(padded, sizes, steps, spread)
    flat = _O["reshape"](found, (*input.shape[:-rank], *out, -1))
    values, where = flat.max(-1)
    if rank > 1:
        values = called(values, f"MaxPool{rank}DWithIndicesBackward0", input)
    else:
        values = called(values, "SqueezeBackward1")
    if not indices:
        return values
    return Extremes((values, _flat_places(where, sizes, steps, spread, sides, outer, rank)),
                    f"max_pool{rank}d")  # fmt: skip


@by_element
def _flat_places(
    where: Any, kernel: tuple, stride: tuple, dilation: tuple, sides: list, outer: tuple, rank: int
) -> Any:
    from gradcli.engine.dtypes import int64
    from gradcli.engine.tensor.tensor import wrap

    inside = np.unravel_index(where.array, kernel)
    total: Any = 0
    for i in range(rank):
        out = where.shape[len(where.shape) - rank + i]
        start = np.arange(out).reshape((-1,) + (1,) * (rank - 1 - i)) * stride[i]
        before = sides[2 * (rank - 1 - i)]
        total = total * outer[i] + start + inside[i] * dilation[i] - before
    return wrap(np.asarray(total, np.int64), int64)


def max_pool1d(
    input: Any, kernel_size: Sizes, stride: Any = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest entry of each window of ``(N, C, L)``."""
    return _max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 1)


def max_pool2d(
    input: Any, kernel_size: Sizes, stride: Any = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest entry of each window of ``(N, C, H, W)``."""
    return _max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, 2)


def _avg_pool(
    input: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, count_pad: bool, rank: int,
    divisor: int | None = None,
) -> Any:  # fmt: skip
    sizes, steps, sides = _pooled(input, kernel, stride, padding, rank, ceil)
    one = (1,) * rank
    padded = pad(input, sides) if any(sides) else input
    counted = _O["ones_like"](padded if count_pad else input).detach()
    if not count_pad and any(sides):
        counted = pad(counted, sides)
    if ceil:
        more = _extra(padded.shape[-rank:], sizes, steps, one, sides)
        padded, counted = (pad(v, more) if any(more) else v for v in (padded, counted))
    dims = tuple(range(-rank, 0))
    total = _O["sum"](windows(padded, sizes, steps, one)[0], dims)
    if divisor is not None:
        share: Any = divisor
    elif ceil or (any(sides) and not count_pad):
        share = _O["sum"](windows(counted, sizes, steps, one)[0], dims)
    else:
        share = math.prod(sizes)
    return called(total / share, f"AvgPool{rank}DBackward0" if rank > 1 else "SqueezeBackward1")


def avg_pool1d(
    input: Any, kernel_size: Sizes, stride: Any = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window of ``(N, C, L)``."""
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, 1)


def avg_pool2d(
    input: Any, kernel_size: Sizes, stride: Any = None, padding: Sizes = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window of ``(N, C, H, W)``."""
    return _avg_pool(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, 2, divisor_override
    )


def _adaptive(input: Any, output_size: Any, rank: int, name: str) -> Any:
    wanted = each(output_size, rank, "output_size")
    sizes = input.shape[-rank:]
    pieces = []
    charge_shape((math.prod(wanted), PIECE), 1)
    parts = [
        [slice(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]
        for n, m in zip(sizes, wanted, strict=True)
    ]
    dims = tuple(range(-rank, 0))
    for place in itertools.product(*parts):
        step(20)
        part = _O["getitem"](input, (Ellipsis, *place))
        if name == "mean":
            pieces.append(_O["mean"](part, dims))
        else:
            flat = _O["reshape"](part, (*part.shape[:-rank], -1))
            pieces.append(flat.max(-1)[0])
    out = _O["stack"](*pieces, dim=-1)
    return _O["reshape"](out, (*input.shape[:-rank], *wanted))


def adaptive_avg_pool1d(input: Any, output_size: Sizes) -> Any:
    """Means of so many windows of ``(N, C, L)`` as are asked for."""
    return _adaptive(input, output_size, 1, "mean")


def adaptive_avg_pool2d(input: Any, output_size: Sizes) -> Any:
    """Means of so many windows of ``(N, C, H, W)`` as are asked for."""
    return _adaptive(input, output_size, 2, "mean")


def adaptive_max_pool1d(input: Any, output_size: Sizes) -> Any:
    """The largest entries of so many windows of ``(N, C, L)`` as are asked for."""
    return _adaptive(input, output_size, 1, "max")


def adaptive_max_pool2d(input: Any, output_size: Sizes) -> Any:
    """The largest entries of so many windows of ``(N, C, H, W)`` as are asked for."""
    return _adaptive(input, output_size, 2, "max")
