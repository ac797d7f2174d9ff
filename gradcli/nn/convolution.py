"""Convolutions, pooling and padding of ``gradcli.nn.functional``.

Windows are gathered by index arrays (``im2col``), and what is done with them is a matrix product, a
mean or a maximum: derivatives of every order follow from those.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.naming import by_element, called
from gradcli.engine.results import Extremes
from gradcli.ops import OPERATORS as _O
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.limits import charge_shape, step

Sizes = int | Sequence[int]
PIECE = 400
"""Bytes that one small tensor takes, with its place in the graph."""


def _each(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """A size for each spatial dimension."""
    if isinstance(value, int):
        return (value,) * rank
    sizes = tuple(value)
    if len(sizes) == 1:
        return sizes * rank
    if len(sizes) != rank:
        raise RuntimeFault("E0304", f"{name} must be one number or {rank}, got {list(sizes)}")
    return sizes


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Any:
    """Entries added at the ends of the last dimensions, the last one first; negative numbers cut.

    ``mode`` is ``"constant"`` (``value``), ``"reflect"``, ``"replicate"`` or ``"circular"``.
    """
    sides = list(pad)
    if len(sides) % 2:
        raise RuntimeFault("E0304", "Padding length must be divisible by 2")
    if len(sides) // 2 > len(input.shape):
        raise RuntimeFault(
            "E0304", "Padding length should be less than or equal to two times the input dimension "
            f"but got padding length {len(sides)} and input of dimension {len(input.shape)}",
        )  # fmt: skip
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise RuntimeFault("E0304", f"Unrecognised padding mode {mode}")
    for i in range(len(sides) // 2):
        before, after = sides[2 * i], sides[2 * i + 1]
        axis = len(input.shape) - 1 - i
        if before or after:
            input = (
                _constant(input, axis, before, after, 0.0 if value is None else value)
                if mode == "constant"
                else _repeated(input, axis, before, after, mode)
            )
    name = {"constant": "ConstantPadNdBackward0", "circular": "CopySlices"}.get(
        mode, f"{mode.capitalize()}ionPad1DBackward0"
    )
    return called(input, name)


def _constant(input: Any, axis: int, before: int, after: int, value: float) -> Any:
    front = (slice(None),) * axis
    size = input.shape[axis]
    if before < 0 or after < 0:
        input = _O["getitem"](input, (*front, slice(max(0, -before), size + min(0, after))))
    parts = []
    for n in (before, after):
        shape = list(input.shape)
        shape[axis] = max(0, n)
        parts.append(input.new_full(tuple(shape), value) if n > 0 else None)
    parts = [p for p in (parts[0], input, parts[1]) if p is not None]
    return parts[0] if len(parts) == 1 else _O["cat"](*parts, dim=axis)


def _repeated(input: Any, axis: int, before: int, after: int, mode: str) -> Any:
    size = input.shape[axis]
    most = {"reflect": size - 1, "circular": size, "replicate": max(before, after)}[mode]
    if max(before, after) > most:
        raise RuntimeFault(
            "E0304", f"Padding size should be less than the corresponding input dimension, but got "
            f"padding ({before}, {after}) at a dimension of size {size}",
        )  # fmt: skip
    charge_shape((*input.shape[:axis], size + before + after, *input.shape[axis + 1 :]))
    places = np.arange(-before, size + after)
    if mode == "reflect":
        places = np.abs(places)
        places = np.where(places >= size, 2 * (size - 1) - places, places)
    elif mode == "circular":
        places = places % size
    else:
        places = np.clip(places, 0, size - 1)
    return _O["getitem"](input, ((slice(None),) * axis + (places,)))


def _windows(
    input: Any, kernel: tuple, stride: tuple, dilation: tuple, ceil: bool = False
) -> tuple[Any, tuple]:
    """``(N, C, out..., kernel...)``: the entries under the kernel at each place."""
    rank = len(kernel)
    sizes = input.shape[-rank:]
    index, out = [], []
    for i, (n, k, s, d) in enumerate(zip(sizes, kernel, stride, dilation, strict=True)):
        reach = d * (k - 1) + 1
        if n < reach or s < 1:
            raise RuntimeFault(
                "E0301", f"Calculated padded input size per channel: ({' x '.join(map(str, sizes))}"
                f"). Kernel size: ({' x '.join(map(str, kernel))}). Kernel size can't be greater "
                "than actual input size" if s > 0 else "stride must be positive",
            )  # fmt: skip
        count = (n - reach) // s + 1
        out.append(count)
        charge_shape((count, k))
        places = np.arange(count)[:, None] * s + np.arange(k) * d
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = count, k
        index.append(places.reshape(shape))
    charge_shape((*input.shape[:-rank], *out, *kernel))
    return _O["getitem"](input, (Ellipsis, *index)), tuple(out)


def _convolved(
    input: Any, weight: Any, bias: Any, stride: Sizes, padding: Any, dilation: Sizes, groups: int,
    rank: int,
) -> Any:  # fmt: skip
    single = len(input.shape) == rank + 1
    if single:
        input = _O["unsqueeze"](input, 0)
    if len(input.shape) != rank + 2 or len(weight.shape) != rank + 2:
        raise RuntimeFault(
            "E0301", f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to "
            f"conv{rank}d, but got input of size: {list(input.shape)}",
        )  # fmt: skip
    channels, wanted = input.shape[1], weight.shape[1] * groups
    if channels != wanted or weight.shape[0] % groups:
        raise RuntimeFault(
            "E0301", f"Given groups={groups}, weight of size {list(weight.shape)}, expected "
            f"input{list(input.shape)} to have {wanted} channels, but got {channels} channels "
            "instead",
        )  # fmt: skip
    kernel = tuple(weight.shape[2:])
    steps, spread = _each(stride, rank, "stride"), _each(dilation, rank, "dilation")
    source, input = input, pad(input, _sides(padding, kernel, spread, rank))
    found, out = _windows(input, kernel, steps, spread)
    # (N, groups, C/g, out, k) with (groups, O/g, C/g, k): sum over C/g and k
    n, area, volume = input.shape[0], math.prod(out), math.prod(kernel)
    patches = _O["reshape"](found, (n, groups, channels // groups, area, volume))
    patches = _O["reshape"](
        _O["permute"](patches, (0, 1, 3, 2, 4)), (n, groups, area, channels // groups * volume)
    )
    rows = _O["reshape"](weight, (groups, weight.shape[0] // groups, -1))
    made = _O["matmul"](patches, _O["mT"](rows))
    made = _O["reshape"](_O["mT"](made), (n, weight.shape[0], *out))
    if bias is not None:
        made = made + _O["reshape"](bias, (-1,) + (1,) * rank)
    made = called(made, "ConvolutionBackward0", source, weight, bias)
    return _O["squeeze"](made, 0) if single else made


def _sides(padding: Any, kernel: tuple, dilation: tuple, rank: int) -> list[int]:
    if padding == "valid":
        return [0] * (2 * rank)
    sides = []
    for i in range(rank - 1, -1, -1):
        if padding == "same":
            total = dilation[i] * (kernel[i] - 1)
            sides += [total // 2, total - total // 2]
        else:
            sides += [_each(padding, rank, "padding")[i]] * 2
    return sides


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """A convolution of ``(N, C, L)`` with ``(O, C/groups, k)``."""
    return _convolved(input, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """A convolution of ``(N, C, H, W)`` with ``(O, C/groups, kH, kW)``."""
    return _convolved(input, weight, bias, stride, padding, dilation, groups, 2)


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """A convolution of ``(N, C, D, H, W)`` with ``(O, C/groups, kD, kH, kW)``."""
    return _convolved(input, weight, bias, stride, padding, dilation, groups, 3)


def _spread(input: Any, stride: tuple) -> Any:
    """``stride - 1`` zeros between neighbours along the last dimensions."""
    for axis, s in enumerate(stride, len(input.shape) - len(stride)):
        if s > 1:
            shape = list(input.shape)
            shape[axis] = (shape[axis] - 1) * s + 1
            charge_shape(shape)
            index = (slice(None),) * axis + (slice(0, None, s),)
            input = _O["scatter"](input, tuple(shape), index)
    return input


def _transposed(
    input: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, output_padding: Sizes,
    groups: int, dilation: Sizes, rank: int,
) -> Any:  # fmt: skip
    """The transpose of a convolution: one of the spread input with the kernel turned about."""
    single = len(input.shape) == rank + 1
    if single:
        input = _O["unsqueeze"](input, 0)
    steps, spread = _each(stride, rank, "stride"), _each(dilation, rank, "dilation")
    inner, more = _each(padding, rank, "padding"), _each(output_padding, rank, "output_padding")
    kernel = tuple(weight.shape[2:])
    sides: list[int] = []
    for i in range(rank - 1, -1, -1):
        edge = spread[i] * (kernel[i] - 1) - inner[i]
        sides += [edge, edge + more[i]]
    turned = _O["flip"](weight, tuple(range(2, rank + 2)))
    shape = tuple(turned.shape)
    grouped = _O["reshape"](turned, (groups, shape[0] // groups, *shape[1:]))
    swapped = _O["reshape"](_O["transpose"](grouped, 1, 2), (-1, shape[0] // groups, *shape[2:]))
    padded = pad(_spread(input, steps), sides)
    made = _convolved(padded, swapped, bias, 1, 0, spread, groups, rank)
    return _O["squeeze"](made, 0) if single else made


def conv_transpose1d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Any:  # fmt: skip
    """The transpose of ``conv1d``: ``weight`` is ``(C, O/groups, k)``."""
    return _transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1,
) -> Any:  # fmt: skip
    """The transpose of ``conv2d``: ``weight`` is ``(C, O/groups, kH, kW)``."""
    return _transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


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
    sizes = _each(kernel, rank, "kernel_size")
    steps = sizes if stride is None or stride == [] else _each(stride, rank, "stride")
    edges = _each(padding, rank, "padding")
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
    spread = _each(dilation, rank, "dilation")
    outer = tuple(input.shape[-rank:])
    padded = pad(input, sides, value=-float("inf")) if any(sides) else input
    if ceil:
        more = _extra(padded.shape[-rank:], sizes, steps, spread, sides)
        padded = pad(padded, more, value=-float("inf")) if any(more) else padded
    found, out = _windows(padded, sizes, steps, spread)
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
    from gradcli.engine.tensor import wrap

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
    total = _O["sum"](_windows(padded, sizes, steps, one)[0], dims)
    if divisor is not None:
        share: Any = divisor
    elif ceil or (any(sides) and not count_pad):
        share = _O["sum"](_windows(counted, sizes, steps, one)[0], dims)
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
    wanted = _each(output_size, rank, "output_size")
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


def unfold(
    input: Any, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Any:
    """The windows of ``(N, C, H, W)`` as columns."""
    kernel = _each(kernel_size, 2, "kernel_size")
    spread, steps = _each(dilation, 2, "dilation"), _each(stride, 2, "stride")
    input = pad(input, _sides(padding, kernel, spread, 2))
    found, out = _windows(input, kernel, steps, spread)
    columns = _O["permute"](found, (0, 1, 4, 5, 2, 3))
    shape = (input.shape[0], input.shape[1] * math.prod(kernel), math.prod(out))
    return called(_O["reshape"](columns, shape), "Im2ColBackward0")


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """``(N, C*r*r, H, W)`` as ``(N, C, H*r, W*r)``."""
    *lead, c, h, w = input.shape
    r = upscale_factor
    if c % (r * r):
        raise RuntimeFault(
            "E0301", f"pixel_shuffle expects its input's 'channel' dimension to be divisible by "
            f"the square of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}",
        )  # fmt: skip
    n = len(lead)
    split = _O["reshape"](input, (*lead, c // (r * r), r, r, h, w))
    turned = _O["permute"](split, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return _O["reshape"](turned, (*lead, c // (r * r), h * r, w * r))


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest"
) -> Any:
    """``input`` at another size of its last dimensions, by the nearest entries."""
    if mode != "nearest":
        raise RuntimeFault("E0304", f"interpolate has mode='nearest' here, not {mode!r}")
    rank = len(input.shape) - 2
    old = input.shape[2:]
    if size is not None:
        new = _each(size, rank, "size")
    else:
        factors = scale_factor if isinstance(scale_factor, tuple | list) else (scale_factor,) * rank
        new = tuple(int(n * f) for n, f in zip(old, factors, strict=True))
    charge_shape((*input.shape[:2], *new))
    for i, (n, m) in enumerate(zip(old, new, strict=True)):
        places = np.minimum((np.arange(m) * (n / m)).astype(np.int64), n - 1)
        input = _O["getitem"](input, ((slice(None),) * (2 + i) + (places,)))
    return called(input, f"UpsampleNearest{rank}DBackward0")
