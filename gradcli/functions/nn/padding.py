"""``pad``: entries added at the ends of dimensions, or cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.record.composite import called, formatted, lasting, rowwise
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.functions.nn.windows import not_samples
from gradcli.ops.errors import UnwrittenFault, bad_value
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS, refuse_derivative
from gradcli.ops.torch_messages import not_a

__all__ = ["pad"]


def pad(input: Any, pad: Sequence[int], mode: Any = "constant", value: Any = None) -> Any:
    """Entries added at the ends of the last dimensions, the last one first; negative numbers cut.

    ``mode`` is ``"constant"`` (``value``), ``"reflect"``, ``"replicate"`` or ``"circular"``.
    """
    refuse_derivative("pad", value=value)
    source = input
    sides = list(pad)
    if len(sides) % 2:
        raise bad_value("Padding length must be divisible by 2")
    if len(sides) // 2 > len(input.shape):
        given = f"padding length {len(sides)} and input of dimension {len(input.shape)}"
        said = "Padding length should be less than or equal to two times the input dimension but"
        raise bad_value(f"{said} got {given}")
    if not isinstance(mode, str):
        raise not_a("str", "pad", "mode", 3, mode)
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise UnwrittenFault("E0304", f"Unrecognised padding mode {mode}")
    if mode != "constant":
        _check_repeated(input, sides, mode, value)
    for i in range(len(sides) // 2):
        before, after = sides[2 * i], sides[2 * i + 1]
        axis = len(input.shape) - 1 - i
        if mode == "constant":
            input = _cropped(input, axis, before, after)
        elif before or after:
            input = _repeated(input, axis, before, after, mode)
    name = {"constant": "ConstantPadNdBackward0", "circular": "CopySlices"}.get(
        mode, f"{mode.capitalize().rstrip('e')}ionPad{len(sides) // 2}DBackward0"
    )
    crops = max(sides, default=0) <= 0  # which are views
    if mode == "constant":
        out = _surrounded(input, [max(0, n) for n in sides], value)
    else:
        out = _O["clone"](input) if crops else input
    if mode == "circular":
        return called(rowwise(out), name)
    if mode != "constant" or not crops:
        out = formatted(out, source)
    return called(out, name, source, leads=None if mode == "constant" else source)


def _check_repeated(input: Any, sides: list[int], mode: str, value: Any) -> None:
    """Raise what PyTorch raises for sides of so many dimensions that the mode is not for."""
    if value:
        raise bad_value(f'Padding mode "{mode}" doesn\'t take in value argument')
    rank = len(input.shape)
    if not 1 <= rank - len(sides) // 2 <= 2 or rank == 1:
        said = f"Padding size {len(sides)} is not supported for {rank}D input tensor."
        fitting = " or ".join(str(2 * n) for n in (rank - 2, rank - 1) if 0 < n < 4)
        raise UnwrittenFault("E0304", said, help=f"give {fitting or 'no'} sizes for {rank}D input")
    full = 1 if rank - len(sides) // 2 == 2 else 0
    if 0 in input.shape[full:] and mode != "circular":
        raise not_samples(rank - full, input)


_pad = pad  # as a parameter is called


def constant_pad_nd(input: Any, pad: Sequence[int], value: Any = 0) -> Any:
    """Entries of one number added at the ends of the last dimensions, the last one first."""
    return _pad(input, pad, "constant", value)


def _surrounded(input: Any, sides: Sequence[int], value: Any) -> Any:
    out = OPERATORS["pad"](input, sides)
    if not value or not any(sides):
        return out
    inside = OPERATORS["pad"].compute(np.ones(tuple(input.shape), bool), sides)
    return lasting(_O["where"](inside, out, input.new_full((), value)))


def _cropped(input: Any, axis: int, before: int, after: int) -> Any:
    if before >= 0 and after >= 0:
        return input
    kept = slice(max(0, -before), input.shape[axis] + min(0, after))
    if kept.start > kept.stop:
        raise bad_value("narrow(): length must be non-negative.")
    return _O["getitem"](input, ((slice(None),) * axis + (kept,)))


def _repeated(input: Any, axis: int, before: int, after: int, mode: str) -> Any:
    if mode == "circular":  # what is left repeats
        input = _cropped(input, axis, before, after)
        before, after = max(0, before), max(0, after)
    size = input.shape[axis]
    if mode != "circular" and size + before + after < 1:
        name = "WHD"[len(input.shape) - 1 - axis]
        said = f"input ({name}: {size}) is too small. Calculated output {name}: "
        raise bad_value(f"{said}{size + before + after}")
    most = {"reflect": size - 1, "circular": size, "replicate": max(before, after)}[mode]
    if mode == "circular" and max(before, after) > most:
        raise bad_value("Padding value causes wrapping around more than once.")
    if max(before, after) > most:
        said = "Padding size should be less than the corresponding input dimension, but got padding"
        raise bad_value(f"{said} ({before}, {after}) at a dimension of size {size}")
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
