"""Convolutions of ``gradcli.nn.functional``, ``unfold``, ``fold``, shuffled channels and pixels.

Windows are gathered by index arrays (``im2col``), and what is done with them is a matrix product, a
mean or a maximum: derivatives of every order follow from those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.dtypes import float16
from gradcli.engine.record.composite import (
    bottom,
    called,
    formatted,
    in_float32,
    of_its_own,
    rowwise,
)
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.functions.nn.loss_checks import check_floating
from gradcli.functions.nn.padding import pad
from gradcli.functions.nn.windows import (
    Sizes,
    check_positive,
    each,
    in_ranks,
    not_samples,
    places,
    windows,
)
from gradcli.ops.errors import bad_dtype, bad_shape, bad_type, bad_value
from gradcli.ops.memory_budget import charge_shape

__all__ = [
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold",
]  # fmt: skip


def _conv(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Any = 0,
    dilation: Sizes = 1, groups: int = 1, *, _rank: int,
) -> Any:  # fmt: skip
    """A convolution of ``(N, C, SIZES)`` with ``(O, C/groups, ...)``."""
    if input.dtype is weight.dtype is float16 and (bias is None or bias.dtype is float16):
        return in_float32(
            _conv, "ConvolutionBackward0", input, weight, bias, stride=stride, padding=padding,
            dilation=dilation, groups=groups, _rank=_rank,
        )  # fmt: skip
    if groups.__class__ is not int or groups < 1:
        _check_groups(groups)
    input, single = _batched("conv", input, _rank)
    steps, spread = each(stride, _rank, "stride"), each(dilation, _rank, "dilation")
    _check_weight(input, weight, groups, _rank)
    kernel = tuple(weight.shape[2:])
    source, sides = input, sides_of(padding, kernel, spread, _rank)
    if min(sides) < 0:
        raise bad_value("negative padding is not supported")
    check_positive(stride=steps, dilation=spread)
    _check_extent(input, _rank)
    channels, wanted = input.shape[1], weight.shape[1] * groups
    if channels != wanted:
        raise bad_shape(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected "
            f"input{list(input.shape)} to have {wanted} channels, but got {channels} channels "
            "instead"
        )
    if bias is not None:
        _check_bias(input, weight, bias, weight.shape[0])
    if 0 in kernel:
        raise bad_value("kernel size should be greater than zero")
    if padding == "same" and max(steps) > 1:
        raise bad_value("padding='same' is not supported for strided convolutions")
    found, out = windows(pad(input, sides) if any(sides) else input, kernel, steps, spread, True)
    # (groups, O/g, C/g * k) with (N, groups, C/g * k, out): a product of matrices
    n, volume = input.shape[0], channels // groups * math.prod(kernel)
    patches = _O["reshape"](found, (n, groups, volume, math.prod(out)))
    rows = _O["reshape"](weight, (groups, weight.shape[0] // groups, volume))
    made = of_its_own(_O["reshape"](_O["matmul"](rows, patches), (n, weight.shape[0], *out)))
    if bias is not None:
        made = made + _O["reshape"](bias, (-1,) + (1,) * _rank)
    made = called(made, "ConvolutionBackward0", source, weight, bias, leads=(source, weight))
    made = formatted(made, source, weight)
    return _O["squeeze"](made, 0) if single else made


def _batched(name: str, input: Any, rank: int) -> tuple[Any, bool]:
    """``(N, C, sizes)``, and whether it had no N. Raises RuntimeFault (E0301) for other ranks."""
    if not 1 <= len(input.shape) - rank <= 2:
        said = f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}{rank}d"
        raise bad_shape(f"{said}, but got input of size: {list(input.shape)}")
    single = len(input.shape) == rank + 1
    return (_O["unsqueeze"](input, 0) if single else input), single


def _check_groups(groups: Any) -> None:
    """Raise TypeFault (E0303) for what is no whole number, RuntimeFault (E0304) below 1."""
    if isinstance(groups, bool) or not isinstance(groups, int | np.integer):
        raise bad_type(f"groups must be a whole number, not {groups!r}")
    check_positive(groups=(int(groups),))


def _check_weight(input: Any, weight: Any, groups: int, rank: int) -> None:
    """Raise RuntimeFault (E0301) for a weight of other dimensions, or that no groups divide."""
    if len(weight.shape) < 3:
        raise bad_shape("weight should have at least three dimensions")
    if (k := len(weight.shape)) != rank + 2:
        said = f"Expected {k}-dimensional input for {k}-dimensional weight{list(weight.shape)}, but"
        raise bad_shape(f"{said} got {rank + 2}-dimensional input of size {list(input.shape)}")
    if weight.shape[0] < groups or weight.shape[0] % groups:
        kind = "at least" if weight.shape[0] < groups else "divisible by"
        said = f"Given groups={groups}, expected weight to be {kind} {groups} at dimension 0, but"
        raise bad_shape(f"{said} got weight of size {list(weight.shape)} instead")


def _check_extent(input: Any, rank: int) -> None:
    """Raise RuntimeFault (E0301) where one of the last dimensions is empty."""
    if 0 in input.shape[-rank:]:
        said = "Only zero batch or zero channel inputs are supported, but got input shape:"
        raise bad_shape(f"{said} {list(input.shape)}")


def _check_bias(input: Any, weight: Any, bias: Any, count: int) -> None:
    """Raise RuntimeFault (E0301, E0309) unless ``bias`` has a number for each channel."""
    if tuple(bias.shape) != (count,):
        said = f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with"
        raise bad_shape(f"{said} {count} elements, but got bias of size {list(bias.shape)} instead")
    if bias.dtype is not input.dtype and input.dtype is weight.dtype:
        kinds = input.dtype.c_name, bias.dtype.c_name
        raise bad_dtype("Input type ({}) and bias type ({}) should be the same".format(*kinds))


def sides_of(padding: Any, kernel: tuple, dilation: tuple, rank: int) -> list[int]:
    """What to pad before and after each dimension, the last one first."""
    if padding == "valid":
        return [0] * (2 * rank)
    if isinstance(padding, str) and padding != "same":
        raise bad_value(f"Invalid padding string: '{padding}'")
    sides = []
    for i in range(rank - 1, -1, -1):
        if padding == "same":
            total = dilation[i] * (kernel[i] - 1)
            sides += [total // 2, total - total // 2]
        else:
            sides += [each(padding, rank, "padding")[i]] * 2
    return sides


conv1d, conv2d, conv3d = in_ranks(_conv, 1, 2, 3)


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """``conv1d`` of ``(T, N, C)`` with ``(k, C, O)``: time comes first."""
    if len(input.shape) != 3:
        raise bad_shape("Input must have 3 dims: time, batch, in_channel")
    first, kernel = input.permute(1, 2, 0), weight.permute(2, 1, 0)
    turned = _conv(first, kernel, bias, padding=pad, _rank=1)
    return called(turned.permute(2, 0, 1), "ConvTbcBackward0", input, weight, bias)


def _conv_transpose(
    input: Any, weight: Any, bias: Any = None, stride: Sizes = 1, padding: Sizes = 0,
    output_padding: Sizes = 0, groups: int = 1, dilation: Sizes = 1, *, _rank: int,
) -> Any:  # fmt: skip
    """The transpose of ``conv1d``: ``weight`` is ``(C, O/groups, ...)``."""
    if input.dtype is weight.dtype is float16 and (bias is None or bias.dtype is float16):
        return in_float32(
            _conv_transpose, "ConvolutionBackward0", input, weight, bias, stride=stride,
            padding=padding, output_padding=output_padding, groups=groups, dilation=dilation,
            _rank=_rank,
        )  # fmt: skip
    _check_groups(groups)
    input, single = _batched("conv_transpose", input, _rank)
    _check_weight(input, weight, groups, _rank)
    _check_extent(input, _rank)
    steps, spread = each(stride, _rank, "stride"), each(dilation, _rank, "dilation")
    inner, more = each(padding, _rank, "padding"), each(output_padding, _rank, "output_padding")
    kernel = tuple(weight.shape[2:])
    check_positive(stride=steps, dilation=spread)
    if input.shape[1] != weight.shape[0]:
        raise bad_shape(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected "
            f"input{list(input.shape)} to have {weight.shape[0]} channels, but got "
            f"{input.shape[1]} channels instead"
        )
    for name, sizes in (("padding", inner), ("output_padding", more)):
        if min(sizes) < 0:
            raise bad_value(f"negative {name} is not supported")
    if input.shape[0] and any(m >= max(s, d) for m, s, d in zip(more, steps, spread, strict=True)):
        said = f"either stride or dilation, but got {more}, {steps} and {spread}"
        raise bad_value(f"output padding must be smaller than {said}")
    old = tuple(input.shape[2:])
    each_side = zip(old, spread, kernel, inner, more, strict=True)
    out = math.prod(n + d * (k - 1) - 2 * p + m for n, d, k, p, m in each_side)  # of stride 1
    fewer = 2 * weight.shape[1] * groups * math.prod(old) < weight.shape[0] * out
    if fewer or max(steps) > 1:  # fewer entries in the windows of the input than of the output
        made = _added_windows(input, weight, bias, groups, steps, inner, more, spread)
        return _O["squeeze"](made, 0) if single else made
    # A convolution with the kernel turned about.
    sides: list[int] = []
    for i in range(_rank - 1, -1, -1):
        edge = spread[i] * (kernel[i] - 1) - inner[i]
        sides += [edge, edge + more[i]]
    dense = _O["pad"](weight, (0, 0))  # a copy whose gradient lies in rows, too
    turned = _O["flip"](dense, tuple(range(2, _rank + 2)))
    shape = tuple(turned.shape)
    grouped = _O["reshape"](turned, (groups, shape[0] // groups, *shape[1:]))
    swapped = _O["reshape"](_O["transpose"](grouped, 1, 2), (-1, shape[0] // groups, *shape[2:]))
    padded = pad(input, sides) if any(sides) else input
    made = _conv(padded, swapped, bias, 1, 0, spread, groups, _rank=_rank)
    made = called(made, "ConvolutionBackward0", input, weight, bias, leads=(input, weight))
    made = formatted(made, input, weight)
    return _O["squeeze"](made, 0) if single else made


def _added_windows(
    input: Any, weight: Any, bias: Any, groups: int, steps: tuple, inner: tuple, more: tuple,
    spread: tuple,
) -> Any:  # fmt: skip
    """A transposed convolution as ``fold``: each entry of the input adds one window.

    With strides, a convolution of the spread input multiplies the zeros between the entries too.
    """
    n, old, kernel = input.shape[0], tuple(input.shape[2:]), tuple(weight.shape[2:])
    channels, rank = weight.shape[1] * groups, len(old)
    if 0 in kernel:
        raise bad_value("kernel size should be greater than zero")
    if bias is not None:
        _check_bias(input, weight, bias, channels)
    each_side = zip(old, steps, spread, kernel, strict=True)
    full = tuple((size - 1) * s + d * (k - 1) + 1 for size, s, d, k in each_side)
    out = tuple(size - 2 * p + m for size, p, m in zip(full, inner, more, strict=True))
    if min(out) < 1:
        said = f"Given input size per channel: {list(old)}. Calculated output size per channel:"
        raise bad_shape(f"{said} {list(out)}. Output size is too small")
    volume, dense = weight.shape[1] * math.prod(kernel), _O["pad"](weight, (0, 0))
    grouped = _O["reshape"](dense, (groups, weight.shape[0] // groups, volume))
    rows = _O["transpose"](grouped, 1, 2)
    entries = (n, groups, weight.shape[0] // groups, math.prod(old))
    blocks = (n, channels, *kernel, *old)
    charge_shape(blocks)
    patches = _O["reshape"](_O["matmul"](rows, _O["reshape"](input, entries)), blocks)
    index, _ = places(full, kernel, steps, spread, True)
    wide = (n, channels, *(size + m for size, m in zip(full, more, strict=True)))
    charge_shape(wide)
    made = _O["scatter"](patches, wide, index)
    if any(inner):
        kept = tuple(slice(p, p + m) for p, m in zip(inner, out, strict=True))
        made = _O["getitem"](made, (Ellipsis, *kept))
        made = made if bias is not None else _O["clone"](made)
    if bias is not None:
        made = made + _O["reshape"](bias, (-1,) + (1,) * rank)
    made = called(made, "ConvolutionBackward0", input, weight, bias, leads=(input, weight))
    return formatted(made, input, weight)


conv_transpose1d, conv_transpose2d, conv_transpose3d = in_ranks(_conv_transpose, 1, 2, 3)


_OPTIONS = (("kernel size", "kernel", 1), ("dilation", "dilation", 1), ("padding", "pad", 0),
            ("stride", "stride", 1))  # fmt: skip
"""What ``fold`` and ``unfold`` are told, as PyTorch's errors name it, and the least of each."""


def _block_sizes(
    kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> tuple[tuple[int, ...], ...]:
    """Two of each option of ``fold`` and ``unfold``. Raises RuntimeFault (E0304) for too small."""
    pairs = (
        each(kernel_size, 2, "kernel_size"), each(dilation, 2, "dilation"),
        each(padding, 2, "padding"), each(stride, 2, "stride"),
    )  # fmt: skip
    for (name, short, least), (high, wide) in zip(_OPTIONS, pairs, strict=True):
        if min(high, wide) < least:
            wanted = "greater than zero" if least else "non-negative"
            said = f"{short}_height: {high} {short}_width: {wide}"
            raise bad_value(f"{name} should be {wanted}, but got {said}")
    return pairs


def _block_counts(
    sizes: Sequence[int], kernel: Sequence[int], spread: Sequence[int], edges: Sequence[int],
    steps: Sequence[int],
) -> tuple[int, ...]:  # fmt: skip
    """How many windows lie along each dimension."""
    each_side = zip(sizes, kernel, spread, edges, steps, strict=True)
    return tuple((n + 2 * e - d * (k - 1) - 1) // s + 1 for n, k, d, e, s in each_side)


def unfold(
    input: Any, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Any:
    """The windows of ``(N, C, H, W)``, or of ``(C, H, W)``, as columns."""
    shape = tuple(input.shape)
    if not 3 <= len(shape) <= 4 or 0 in shape[-3:]:
        raise not_samples(3, input)
    if input.dtype.kind == 1:
        check_floating(input, "im2col_out_cpu")
    if len(input.shape) == 3:
        single = unfold(_O["unsqueeze"](input, 0), kernel_size, dilation, padding, stride)
        return called(_O["squeeze"](single, 0), "Im2ColBackward0", input)
    kernel, spread, edges, steps = _block_sizes(kernel_size, dilation, padding, stride)
    counts = _block_counts(shape[2:], kernel, spread, edges, steps)
    if min(counts) < 1:
        raise bad_shape(
            f"Given input with spatial size {shape[2:]}, kernel_size={kernel}, dilation={spread}, "
            f"padding={edges}, calculated shape of the array of sliding blocks as {counts}, but "
            "its components must be at least one."
        )
    found, out = windows(pad(input, sides_of(padding, kernel, spread, 2)), kernel, steps, spread)
    columns = _O["permute"](found, (0, 1, 4, 5, 2, 3))
    shape = (input.shape[0], input.shape[1] * math.prod(kernel), math.prod(out))
    return called(rowwise(_O["reshape"](columns, shape)), "Im2ColBackward0", input)


def _check_shuffled(name: str, input: Any, **factor: int) -> None:
    if len(input.shape) < 3:
        said = f"{name} expects input to have at least 3 dimensions, but got input with"
        raise bad_shape(f"{said} {len(input.shape)} dimension(s)")
    for what, given in factor.items():
        if given < 1:
            raise bad_value(f"{name} expects a positive {what}, but got {given}")


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """``(N, C*r*r, H, W)`` as ``(N, C, H*r, W*r)``."""
    _check_shuffled("pixel_shuffle", input, upscale_factor=upscale_factor)
    *lead, c, h, w = input.shape
    r = upscale_factor
    if c % (r * r):
        said = "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square"
        raise bad_shape(f"{said} of upscale_factor, but input.size(-3)={c}")
    n = len(lead)
    split = _O["reshape"](input, (*lead, c // (r * r), r, r, h, w))
    turned = _O["permute"](split, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return _shuffled(turned, (*lead, c // (r * r), h * r, w * r), input, "PixelShuffleBackward0")


def _shuffled(turned: Any, shape: tuple, input: Any, name: str) -> Any:
    """``turned`` in this shape: no view of the input, nor the gradient one, as reshapes may be."""
    out = _O["reshape"](turned, shape)
    out = _O["pad"](out, (0, 0)) if getattr(bottom(out), "_is_view", bool)() else out
    return called(formatted(out, input), name, input)


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """``(N, C, H*r, W*r)`` as ``(N, C*r*r, H, W)``: the inverse of ``pixel_shuffle``."""
    _check_shuffled("pixel_unshuffle", input, downscale_factor=downscale_factor)
    *lead, c, h, w = input.shape
    r = downscale_factor
    for name, axis, size in (("height", -2, h), ("width", -1, w)):
        if size % r:
            said = f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but"
            raise bad_shape(f"{said} input.size({axis})={size} is not divisible by {r}")
    n = len(lead)
    split = _O["reshape"](input, (*lead, c, h // r, r, w // r, r))
    turned = _O["permute"](split, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    shape = (*lead, c * r * r, h // r, w // r)
    return _shuffled(turned, shape, input, "PixelUnshuffleBackward0")


def channel_shuffle(input: Any, groups: int) -> Any:
    """Channels ``(N, C, ...)`` dealt out: the first of each group, then the second ones."""
    _check_shuffled("channel_shuffle", input)
    n, c, *rest = input.shape
    if groups < 1:
        said = f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        raise bad_value(said)
    if c % groups:
        said = f"divisible by groups. Got {c} channels and {groups} groups."
        raise bad_shape(f"Number of channels must be {said}")
    shape = tuple(input.shape)
    source = _O["pad"](input, (0, 0)) if groups in (1, c) else input  # else a view is left
    split = _O["reshape"](source, (n, groups, c // groups, *rest))
    dealt = formatted(_O["reshape"](_O["transpose"](split, 1, 2), shape), input)
    return called(dealt, "ChannelShuffleBackward0", input)


def fold(
    input: Any, output_size: Sizes, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0,
    stride: Sizes = 1,
) -> Any:  # fmt: skip
    """The transpose of ``unfold``: columns ``(N, C*k*k, L)`` added up as ``(N, C, H, W)``."""
    out = each(output_size, 2, "output_size")
    kernel, spread, edges, steps = _block_sizes(kernel_size, dilation, padding, stride)
    if input.dtype.kind == 1:
        check_floating(input, "col2im_out_cpu")
    if len(input.shape) not in (2, 3) or 0 in input.shape[-2:]:
        raise not_samples(2, input)
    *lead, rows, length = input.shape
    if rows % math.prod(kernel):
        raise bad_shape(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={rows} and kernel_size={kernel}."
        )
    high, wide = _block_counts(out, kernel, spread, edges, steps)
    if length != high * wide:
        raise bad_shape(
            f"Given output_size={out}, kernel_size={kernel}, dilation={spread}, padding={edges}, "
            f"stride={steps}, expected size of input's dimension 2 to match the calculated number "
            f"of sliding blocks {high} * {wide} = {high * wide}, but got input.size(2)={length}."
        )
    check_positive(output_size=out)
    sizes = tuple(m + 2 * e for m, e in zip(out, edges, strict=True))
    index, blocks = places(sizes, kernel, steps, spread, True)
    channels = rows // math.prod(kernel)
    split = _O["reshape"](input, (*lead, channels, *kernel, *blocks))
    charge_shape((*lead, channels, *sizes))
    found = _O["scatter"](split, (*lead, channels, *sizes), index)
    if any(edges):
        kept = tuple(slice(e, e + m) for e, m in zip(edges, out, strict=True))
        found = _O["clone"](_O["getitem"](found, (Ellipsis, *kept)))
    return called(found, "Col2ImBackward0", input)
