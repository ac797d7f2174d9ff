"""Resampling of ``gradcli.nn.functional``: ``interpolate``, and ``grid_sample`` at given places.

Resizing works dimension by dimension: each new entry is a weighted sum of a few old ones, its taps.
PyTorch's conventions for where the new entries lie are those of its ``UpSample.h``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.engine.creation.errors import too_large
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.dtypes import bool_, float16, float32, float64, uint8
from gradcli.engine.record.arguments import Asked
from gradcli.engine.record.composite import (
    by_element,
    called,
    formatted,
    in_float32,
    lasting,
    rowwise,
)
from gradcli.engine.record.dtype_checks import same_dtype
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.tensor import wrap
from gradcli.functions import arithmetic
from gradcli.functions.matrices import beside
from gradcli.functions.nn.loss_checks import check_floating
from gradcli.functions.nn.windows import each, in_rows
from gradcli.ops.errors import (
    UnwrittenFault,
    ValueFault,
    bad_argument,
    bad_shape,
    bad_type,
    bad_value,
)
from gradcli.ops.memory_budget import charge_shape

__all__ = [
    "affine_grid", "grid_sample", "interpolate", "upsample", "upsample_bilinear",
    "upsample_nearest",
]  # fmt: skip

_LINEAR = ("linear", "bilinear", "trilinear")
_RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_NAMES = {
    "nearest": "UpsampleNearest{}DBackward0", "nearest-exact": "UpsampleNearestExact{}DBackward0",
    "linear": "UpsampleLinear1DBackward0", "bilinear": "UpsampleBilinear2DBackward0",
    "bicubic": "UpsampleBicubic2DBackward0", "trilinear": "UpsampleTrilinear3DBackward0",
    "area": "",
}  # fmt: skip


_GRID_KERNELS = {2: "grid_sampler_2d_cpu_kernel_impl", 3: "grid_sampler3d_cpu"}
_MODES, _PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
_FEW = 4
"""Taps up to which each is read by itself."""


def taps(input: Any, axis: int, places: np.ndarray, weights: np.ndarray | None) -> Any:
    """New entries along ``axis``: row i is the sum of ``weights[i, k] * input[places[i, k]]``."""
    charge_shape((*input.shape[:axis], len(places), *input.shape[axis + 1 :]))
    before = (slice(None),) * axis
    shape = (-1,) + (1,) * (len(input.shape) - 1 - axis)
    count = places.shape[1]
    if weights is not None and count > _FEW:  # one gradient to add up, not one for each tap
        charge_shape((*input.shape[:axis], len(places), count, *input.shape[axis + 1 :]))
        factors = weights.reshape((-1, count, *shape[1:])).astype(input.dtype.numpy)
        parts = lasting(_O["getitem"](input, (*before, places)) * wrap(factors, input.dtype))
        return _O["sum"](parts, axis + 1)
    total = None
    for k in range(count):
        part = _O["getitem"](input, (*before, places[:, k]))
        if weights is not None:
            factor = weights[:, k].reshape(shape).astype(input.dtype.numpy)
            part = lasting(part * wrap(factor, input.dtype))
        total = part if total is None else total + part
    return total


def adaptive(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of ``m`` windows that cover ``n`` entries, and how long each window is.

    Rows are filled up with a window's last place.
    """
    if m >= 2**59:
        raise too_large((m,))
    charge_shape((6, m))
    rows = np.arange(m)
    starts, ends = rows * n // m, -(-(rows + 1) * n // m)
    longest = int((ends - starts).max(initial=0))
    charge_shape((2, m, longest))
    return np.minimum(starts[:, None] + np.arange(longest), ends[:, None] - 1), ends - starts


def means(input: Any, wanted: Sequence[int]) -> Any:
    """Means of the windows that cover the last dimensions, so many along each as are wanted.

    Of sequences they are a view of those of images, as in PyTorch.
    """
    rank = len(wanted)
    if rank == 1:
        return _O["squeeze"](means(_O["unsqueeze"](input, -2), (1, *wanted)), -2)
    if max(wanted) == 1:
        mean = _O["mean"](input, tuple(range(-rank, 0)), True)
        return called(mean if rank == 3 else formatted(mean, input), "MeanBackward1")
    out = in_rows(input.to(float32) if input.dtype is float16 else input)
    for axis, m in enumerate(wanted, input.ndim - rank):
        places, sizes = adaptive(out.shape[axis], m)
        weights = np.repeat(1 / sizes[:, None], places.shape[1], axis=1)
        out = taps(out, axis, places, _filled_up(weights, sizes))
    out = out if out.dtype is input.dtype else out.to(input.dtype)
    out = rowwise(out) if rank == 3 else formatted(out, input)
    return called(out, f"AdaptiveAvgPool{rank}DBackward0", input, leads=input)


def _filled_up(weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Weights whose rows are filled up with row i's last of ``sizes[i]`` taps, in exact shares.

    w is w/2 + w/4 + w/4; what reads no more than its own taps keeps infinities, 0 times them not.
    """
    last = sizes[:, None] - 1
    beyond = np.arange(weights.shape[1]) - last
    share = 0.5 ** np.minimum(beyond + 1, weights.shape[1] - 1 - last)
    return np.where(beyond < 0, weights, np.take_along_axis(weights, last, 1) * share)


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _places(
    n: int, m: int, factor: float | None, mode: str, align: bool, antialias: bool, flat: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """The taps of ``m`` new entries among ``n`` old ones, and their weights.

    ``flat`` says whether this is a dimension of two.
    """
    charge_shape((24, m))
    at = np.arange(m)
    # Some kernels of PyTorch do not look at the factor where the sizes alone say what to do.
    if n == m and (antialias or mode in _LINEAR):
        return at[:, None], None
    if mode == "nearest" and flat and m in (n, 2 * n):
        return at[:, None] // (m // n), None
    if mode.startswith("nearest"):
        stride = np.float32(1.0 / factor if factor else n / m)  # PyTorch's kernels reckon so
        exact = np.float32(0.5) if mode == "nearest-exact" else np.float32(0)
        found = np.floor((at.astype(np.float32) + exact) * stride).astype(np.int64)
        return np.minimum(found, n - 1)[:, None], None
    if align:
        step = (n - 1) / (m - 1) if m > 1 else 0.0
        centre = at * step
    else:
        step = 1.0 / factor if factor else n / m
        centre = (at + 0.5) * step - 0.5
    cubic = mode == "bicubic"
    if antialias:
        wide = max(step, 1.0)
        reach = (2.0 if cubic else 1.0) * wide
        middle = (at + 0.5) * step  # with align_corners too: that changes the step alone
        low = np.maximum((middle - reach + 0.5).astype(np.int64), 0)
        high = np.minimum((middle + reach + 0.5).astype(np.int64), n)
        charge_shape((4, m, int((high - low).max(initial=0))))
        places = low[:, None] + np.arange(int((high - low).max(initial=0)))
        far = (places - middle[:, None] + 0.5) / wide
        weights = _cubic(far, -0.5) if cubic else np.maximum(1 - np.abs(far), 0.0)
        weights = _filled_up(weights, high - low)
        return np.minimum(places, high[:, None] - 1), weights / weights.sum(1, keepdims=True)
    if cubic:
        first = np.floor(centre)
        offsets = np.arange(-1, 3)
        weights = _cubic((centre - first)[:, None] - offsets, -0.75)
        return np.clip(first[:, None] + offsets, 0, n - 1).astype(np.int64), weights
    centre = np.maximum(centre, 0.0)
    first = np.minimum(np.floor(centre).astype(np.int64), n - 1)
    share = np.clip(centre - first, 0.0, 1.0)
    return (np.stack([first, np.minimum(first + 1, n - 1)], 1), np.stack([1 - share, share], 1))


def _in_16_bits(places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weights of bytes, as PyTorch has them after Pillow: whole multiples of a power of 2."""
    weights = weights.copy()
    for k in range(1, weights.shape[1]):  # those of one place together
        same = places[:, k] == places[:, k - 1]
        weights[:, k] += np.where(same, weights[:, k - 1], 0.0)
        weights[same, k - 1] = 0.0
    most = float(weights.max())
    unit = 2.0 ** next((b for b in range(22) if int(0.5 + most * 2 ** (b + 1)) >= 2**15), 22)
    return np.trunc(weights * unit + np.copysign(0.5, weights)) / unit


def interpolate(
    input: Asked, size: Any = None, scale_factor: Any = None, mode: Any = "nearest",
    align_corners: Any = None, recompute_scale_factor: Any = None,
    antialias: Any = False,
) -> Any:  # fmt: skip
    """``input`` at another ``size`` of its last dimensions, or ``scale_factor`` times its own.

    ``mode`` is ``"nearest"``, ``"nearest-exact"``, ``"linear"`` (3-D input), ``"bilinear"``,
    ``"bicubic"`` (4-D), ``"trilinear"`` (5-D) or ``"area"``. Raises ValueFault (E0304) for other
    modes and options that do not go together, RuntimeFault (E0301) for empty dimensions.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([[[1.0, 3.0]]])
        >>> gradcli.nn.functional.interpolate(x, 4, mode="linear")
        tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    _check_options(
        input, size, scale_factor, mode, align_corners, antialias, recompute_scale_factor
    )
    rank = len(input.shape) - 2
    old, new, factors = _resized(input, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return means(input, new)
    source, whole = input, input.dtype is uint8 and mode in _RANKS
    if input.dtype is float16:
        input = input.to(float32)
    for i in range(rank)[:: -1 if whole else 1]:
        places, weights = _places(
            old[i], new[i], factors[i], mode, bool(align_corners), antialias, rank == 2
        )
        if whole:  # bytes are rounded along each dimension, the last one first
            weights = None if weights is None else _in_16_bits(places, weights)
            found = taps(input.to(float64), 2 + i, places, weights)
            input = arithmetic.clamp(_O["floor"](found + 0.5), min=0.0, max=255.0).to(uint8)
        else:
            input = taps(input, 2 + i, places, weights)
    out = formatted(input, source)
    out = out if out.dtype is source.dtype else out.to(source.dtype)
    name = _NAMES[mode].format(rank)
    return called(out, name.replace("DB", "DAaB") if antialias else name, source)


def _check_options(
    input: Any, size: Any, scale_factor: Any, mode: str, align_corners: Any, antialias: bool,
    recompute: bool | None,
) -> None:  # fmt: skip
    """Raise where options of ``interpolate`` do not go with each other, or with the input."""
    rank = len(input.shape) - 2
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        said = "align_corners option can only be set with the interpolating modes:"
        raise bad_argument(f"{said} linear | bilinear | bicubic | trilinear")
    if align_corners is not None and not isinstance(align_corners, bool):
        raise bad_type(f"interpolate: align_corners must be True or False, not {align_corners!r}")
    if (size is None) is (scale_factor is None):
        which = "either" if size is None else "only one of"
        said = f"{which} size or scale_factor should be defined"
        raise bad_argument(said, help="size=8")
    given = scale_factor if size is None else size
    if isinstance(given, list | tuple) and len(given) != rank:
        name, shown = ("output", "output size of") if scale_factor is None else (
            "scale_factor", "scale_factor of shape"
        )  # fmt: skip
        said = f"Input and {name} must have the same number of spatial dimensions, but got"
        sizes = f"input with spatial dimensions of {list(input.shape[2:])} and {shown} {given}"
        raise ValueFault("E0301", f"{said} {sizes}")
    if recompute and size is not None:
        raise bad_argument("recompute_scale_factor is not meaningful with an explicit size.")
    if antialias and (mode not in ("bilinear", "bicubic") or rank != 2):
        said = "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D"
        raise bad_argument(f"{said} tensor as input")
    if mode not in _NAMES or not 1 <= rank <= 3 or _RANKS.get(mode, rank) != rank:
        count = len(input.shape)
        said = f"Only 3D, 4D and 5D input Tensors supported (got {count}D) for the modes"
        if mode in ("linear", "bilinear", "trilinear") and 1 <= rank <= 3:
            said = f"Got {count}D input, but {mode} mode needs {_RANKS[mode] + 2}D input"
        raise UnwrittenFault("E0304", said, help=f"modes are {', '.join(_NAMES)}")
    if not input.shape[1]:
        said = f"Non-empty {rank + 2}D data tensor expected but got a tensor with sizes"
        raise bad_shape(f"{said} {list(input.shape)}")
    if input.dtype.kind != 2 and (
        input.dtype is not uint8 or mode in ("area", "linear", "trilinear")
    ):
        refuse_kinds("bool int complex", f"compute_indices_weights_{mode}", input.dtype)


def _resized(
    input: Any, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]]:
    """The old sizes, the new ones, and the factors between them that are to be used as given."""
    old = tuple(input.shape[2:])
    rank = len(old)
    factors: tuple = (None,) * rank
    if size is not None:
        new = each(size, rank, "size")
    else:
        factors = tuple(scale_factor) if isinstance(scale_factor, tuple | list) else (
            (scale_factor,) * rank
        )  # fmt: skip
        sizes = [float(n) * f for n, f in zip(old, factors, strict=True)]
        if not all(abs(n) < 2**63 for n in sizes):
            raise bad_value("value cannot be converted to type int64_t without overflow")
        new = tuple(map(math.floor, sizes))
        factors = (None,) * rank if recompute else factors
    if min(old) < 1 or min(new) < 1:
        said = f"but got input {list(old)} and output {list(new)}"
        raise bad_shape(f"Input and output sizes should be greater than 0, {said}")
    return old, new, factors


def upsample(
    input: Asked, size: Any = None, scale_factor: Any = None, mode: Any = "nearest",
    align_corners: Any = None,
) -> Any:  # fmt: skip
    """``interpolate`` under its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Asked, size: Any = None, scale_factor: Any = None) -> Any:
    """``interpolate`` by the nearest entries."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Asked, size: Any = None, scale_factor: Any = None) -> Any:
    """``interpolate`` of matrices between four neighbours, corners kept."""
    return interpolate(input, size, scale_factor, "bilinear", True)


# ---- At given places -----------------------------------------------------------------------------


def _held(x: Any, size: int, rank: int) -> Any:
    """``x`` held within 0 and ``size - 1``: its slope at a bound is 0.

    NaN is at 0, of 3-d input at the other end, as in PyTorch.
    """
    top = float(size - 1)
    if rank == 3:
        return _O["where"](x <= 0, 0.0, _O["where"](x < top, x, top))
    return _O["where"](x > 0, _O["where"](x >= top, top, x), 0.0)


def _mirrored(x: Any, size: int, align: bool) -> Any:
    """``x`` reflected at the middles of the outer entries (``align``), or at their borders."""
    low, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
    if not span:
        return 0.0 * x
    raw = np.asarray(x.array)
    far = np.abs(raw - low)
    even = np.floor(far / span) % 2 == 0
    sign = np.where(raw < low, -1.0, 1.0) * np.where(even, 1.0, -1.0)
    rest = np.fmod(far, span)
    found = np.where(even, rest + low, span - rest + low)
    # Its derivative is the sign; the rest of it is constant.
    kept = wrap(np.asarray(found - sign * raw, raw.dtype), x.dtype)
    return x * wrap(np.asarray(sign, raw.dtype), x.dtype) + kept


def _within(x: Any, size: int, rank: int, padding: str, align: bool) -> Any:
    if padding == "reflection":
        x = _mirrored(x, size, align)
    return x if padding == "zeros" else _held(x, size, rank)


def _picked(input: Any, places: Sequence[np.ndarray], weight: Any = None) -> Any:
    """Entries ``(N, C, ...)`` at whole places along the last dimensions; 0 where there is none.

    Times a ``weight``: what is infinitely far away has none, in 3-d as in PyTorch.
    """
    rank = len(places)
    sizes = input.shape[2:]
    inside = np.ones(places[0].shape, bool)
    for place, n in zip(places, sizes, strict=True):
        inside &= (place >= 0) & (place < n)
    held = [np.where(inside, p, 0).astype(np.int64) for p in places]  # NaN is nowhere
    charge_shape((*places[0].shape, input.shape[1]))
    rows = np.arange(input.shape[0]).reshape((-1,) + (1,) * rank)
    found = _O["getitem"](input, (rows, slice(None), *held))  # channels come last
    order = (0, len(found.shape) - 1, *range(1, len(found.shape) - 1))
    found = _O["permute"](found, order)
    share = 1.0 if weight is None else _O["unsqueeze"](weight, 1)
    if inside.all():
        return found * share
    there = wrap(inside[:, None], bool_)
    if rank == 3:
        return _O["where"](there, found * share, 0.0)
    return _O["where"](there, found, 0.0) * share


def _cubic_weights(t: Any) -> list:
    """The weights of four neighbours for a place ``t`` beyond the second of them."""

    def near(x: Any) -> Any:
        return (1.25 * x - 2.25) * x * x + 1.0

    def far(x: Any) -> Any:
        return ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]


_CORNERS = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of {} "
    "for details."
)


@by_element
def grid_sample(
    input: Any, grid: Any, mode: Any = "bilinear", padding_mode: Any = "zeros",
    align_corners: bool | None = None,
) -> Any:  # fmt: skip
    """Entries of ``(N, C, H, W)`` or ``(N, C, D, H, W)`` at the places that ``grid`` names.

    The last dimension of ``grid`` has x, y (and z) from -1 to 1, the middles of the outer entries
    with ``align_corners``, else their borders. ``mode`` is ``"bilinear"``, ``"nearest"`` or (of
    4-D input) ``"bicubic"``; beyond the input lie ``"zeros"``, its ``"border"``, or its
    ``"reflection"``. Raises ValueFault (E0304) for others, RuntimeFault (E0301) for shapes that do
    not fit.
    """
    for name, word, known in (("mode", mode, _MODES), ("padding_mode", padding_mode, _PADDINGS)):
        if word not in known:
            said = f"expected {name} to be one of {', '.join(known)}, but got: '{word}'"
            raise bad_argument(f"nn.functional.grid_sample(): {said}")
    if align_corners is None:
        warn(_CORNERS.format("grid_sample"))
    rank = len(input.shape) - 2
    fits = len(grid.shape) == rank + 2 and grid.shape[0] == input.shape[0]
    if rank not in (2, 3) or not fits or grid.shape[-1] != rank:
        if grid.shape[0] != input.shape[0]:
            said = "expected grid and input to have same batch size"
        elif grid.shape[-1] != rank:
            said = f"expected grid to have size {rank} in last dimension"
        else:
            said = f"expected {'5D' if rank > 2 else '4D'} input and grid with same number of"
            said += " dimensions"
        given = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        raise bad_shape(f"grid_sampler(): {said}, but got {given}")
    same_dtype(input, grid)
    check_floating(input, _GRID_KERNELS[rank], True)
    if 0 in input.shape[2:]:
        raise bad_shape("grid_sampler(): expected input to have non-empty spatial dimensions")
    if mode == "bicubic" and rank != 2:
        raise bad_value("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype is float16:
        return in_float32(
            grid_sample, f"GridSampler{rank}DBackward0", input, grid, mode=mode,
            padding_mode=padding_mode, align_corners=align_corners,
        )  # fmt: skip
    align = bool(align_corners)
    spots = []
    for i, n in enumerate(input.shape[2:]):  # x is the last dimension
        unit = _O["getitem"](grid, (Ellipsis, rank - 1 - i))
        spots.append((unit + 1.0) * ((n - 1) / 2.0) if align else (unit + 1.0) * (n / 2.0) - 0.5)
    if mode == "bicubic":
        out = _bicubic(input, spots, padding_mode, align)
    else:
        sizes = input.shape[2:]
        spots = [
            _within(s, n, rank, padding_mode, align) for s, n in zip(spots, sizes, strict=True)
        ]
        out = _nearest(input, spots) if mode == "nearest" else _linear(input, spots)
    return called(rowwise(out), f"GridSampler{rank}DBackward0", input, grid, leads=(input, grid))


def _nearest(input: Any, spots: list) -> Any:
    found = _picked(input, [np.rint(np.asarray(s.array)) for s in spots])
    for spot in spots:
        found = beside(found, spot)  # recorded, its slope 0
    return found


def _linear(input: Any, spots: list) -> Any:
    first = [np.floor(np.asarray(s.array)) for s in spots]
    shares = [s - wrap(f, s.dtype) for s, f in zip(spots, first, strict=True)]
    return _corners(input, first, [[1.0 - t, t] for t in shares], lambda place, i: place)


def _bicubic(input: Any, spots: list, padding: str, align: bool) -> Any:
    first = [np.floor(np.asarray(s.array)) for s in spots]
    weights = [_cubic_weights(s - wrap(f, s.dtype)) for s, f in zip(spots, first, strict=True)]
    sizes = input.shape[2:]

    def inside(place: np.ndarray, i: int) -> np.ndarray:
        if padding == "zeros":
            return place
        return np.asarray(_within(wrap(place, spots[i].dtype), sizes[i], 2, padding, align).array)

    return _corners(input, [f - 1 for f in first], weights, inside)


def _corners(input: Any, first: list, weights: list, inside: Callable) -> Any:
    """The sum over neighbours from ``first`` on of their entries times their weights."""
    total: Any = None
    for steps in np.ndindex(*(len(w) for w in weights)):
        places = [inside(f + k, i) for i, (f, k) in enumerate(zip(first, steps, strict=True))]
        weight = weights[0][steps[0]]
        for w, k in zip(weights[1:], steps[1:], strict=True):
            weight = weight * w[k]
        part = _picked(input, places, weight)
        total = part if total is None else total + part
    return total


def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """``grid_sample`` by the numbers of its modes."""
    mode, padding = _MODES[interpolation_mode], _PADDINGS[padding_mode]
    return grid_sample(input, grid, mode, padding, align_corners)


def affine_grid(theta: Asked, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """The grid for ``grid_sample`` that affine maps ``(N, 2, 3)`` or ``(N, 3, 4)`` give.

    ``size`` is that of the output, ``(N, C, H, W)`` or ``(N, C, D, H, W)``.
    """
    if align_corners is None:
        warn(_CORNERS.format("affine_grid"))
    rank = len(size) - 2
    if theta.dtype.kind < 2:
        said = f"Expected theta to have floating point type, but got {theta.dtype!r}"
        raise ValueFault("E0309", said)
    if rank not in (2, 3):
        raise UnwrittenFault("E0301", "affine_grid only supports 4D and 5D sizes")
    if tuple(theta.shape) != (size[0], rank, rank + 1):
        said = f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size"
        raise ValueFault("E0301", f"{said} {tuple(size)}. Got {theta.shape}.")
    if min(size) < 1:
        raise ValueFault("E0301", f"Expected non-zero, positive output size. Got {tuple(size)}")
    charge_shape((3, *size[2:], rank + 1))
    axes = []
    for n in size[2:]:
        line = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)
        axes.append(line if align_corners else line * (n - 1) / n)
    grids = [*np.meshgrid(*axes, indexing="ij")][::-1]
    base = np.stack([*grids, np.ones(size[2:])], -1).reshape(-1, rank + 1)
    places = _O["matmul"](wrap(base.astype(theta.dtype.numpy), theta.dtype), _O["mT"](theta))
    places = _O["reshape"](places, (size[0], *size[2:], rank))
    return called(places, "AffineGridGeneratorBackward0", theta)
