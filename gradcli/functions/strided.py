"""Tensors by strides through memory, and slopes of sampled functions.

as_strided   a view with any shape and strides of the memory that a tensor lies in
gradient     the slope along each dimension, by differences of neighbours
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import index
from sys import getrefcount
from typing import Any

import numpy as np

from gradcli.engine.creation import factories
from gradcli.engine.dtypes import get_default_dtype
from gradcli.engine.grad_mode import current, mode
from gradcli.engine.record.apply import flipped_view, share_memory
from gradcli.engine.record.composite import called, lasting, of_its_own
from gradcli.engine.record.inplace import check_writable, record_entries, views_of, written_twice
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.engine.undo_log import current_log
from gradcli.functions.scatter import fills
from gradcli.ops.dims import format_order, named_dims, strided_view, unraveled
from gradcli.ops.errors import RuntimeFault, bad_dim, bad_dtype, bad_shape, bad_type, bad_value
from gradcli.ops.indexing import Apart
from gradcli.ops.memory_budget import charge_shape, check_view
from gradcli.ops.operator import OPERATORS as O
from gradcli.ops.torch_messages import no_difference

_FARTHEST = 2**40


def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A view of shape ``size``, whose neighbours along a dimension are ``stride`` entries apart.

    It begins ``storage_offset`` entries into the memory, or where ``input`` begins. Raises
    RuntimeFault (E0301) for strides that do not fit the shape or lead out of the memory.

    Example:
        >>> import gradcli
        >>> gradcli.as_strided(gradcli.arange(5.0), (2, 3), (2, 1))
        tensor([[0., 1., 2.],
                [2., 3., 4.]])
    """
    shape, steps, storage_offset = _laid_out(size, stride, storage_offset)
    inside = getattr(input, "strided", None)
    if inside is not None:
        ahead = 0 if storage_offset is None else storage_offset - input.storage_offset()
        return inside(as_strided, shape, steps, ahead)  # type: ignore[no-any-return]
    if not isinstance(input, Plain):
        raise bad_type(f"as_strided needs a tensor, got {type(input).__name__}")
    if input._flips:
        return flipped_view(as_strided(flipped_view(input), shape, steps, storage_offset))
    storage, item = input.untyped_storage(), input.dtype.itemsize
    if storage_offset is None:
        storage_offset = input.storage_offset()
    last = sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    need = storage_offset + last + 1 if 0 not in shape else 0
    flat = storage.entries(input.dtype)  # of a part of complex numbers, both parts
    if need > flat.size or storage_offset < 0:
        raise _outside(shape, steps, storage_offset, item, storage.nbytes())
    check_view(shape, item)
    array = strided_view(flat, shape, [s * item for s in steps], storage_offset * item)
    out = wrap(array, input.dtype)
    if mode.grad and input.edge is not None and input.dtype.differentiable:
        base = input._meta().base
        # What shows nothing has no share in the memory that it lies in; its base has.
        record_entries(out, input if base is None or input.numel() else base)
        called(out, "AsStridedBackward0", input)
    share_memory(out, input)  # wherever in memory it lies
    return out


def _outside(shape: Any, steps: Any, offset: int, item: int, room: int) -> RuntimeFault:
    """The error of a view that leads out of the ``room``, in bytes, that there is."""
    need = offset + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + 1
    return bad_shape(
        f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {offset}, and "
        f"itemsize {item} requiring a storage size of {need * item} are out of bounds for storage "
        f"of size {room}"
    )


def _laid_out(
    size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> tuple[tuple[int, ...], tuple[int, ...], int | None]:
    """Sizes, strides and offset as whole numbers that fit each other, or a fault."""
    try:
        shape, steps = tuple(map(index, size)), tuple(map(index, stride))
        storage_offset = None if storage_offset is None else index(storage_offset)
    except TypeError as fault:
        said = "as_strided needs whole numbers for sizes, strides and offset"
        raise bad_type(said, help="write x.as_strided((2, 2), (2, 1))") from fault
    if any(n < 0 for n in shape):
        raise bad_shape(f"as_strided: sizes cannot be negative, got {list(shape)}")
    if len(shape) != len(steps):
        raise bad_shape("mismatch in length of strides and shape")
    if any(s < 0 for s in steps):
        said = "as_strided: Negative strides are not supported at the moment, got strides:"
        raise bad_shape(f"{said} {list(steps)}", help="flip() turns a dimension around")
    if any(s > _FARTHEST for s in steps):
        raise bad_shape(f"as_strided: strides too large: {list(steps)}")
    return shape, steps, storage_offset


def as_strided_scatter(
    input: Any, src: Any, size: Sequence[int], stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:  # fmt: skip
    """``input`` with the entries of ``src`` where ``as_strided`` would see them."""
    given = src
    shape, steps, offset = _laid_out(size, stride, storage_offset)
    fills(input, src, shape)
    if isinstance(input, Plain):
        as_strided(input.detach(), shape, steps, offset)  # raises for what is out of bounds
    elif not input.is_contiguous():
        said = "as_strided_scatter is not supported inside of vmap for entries among others"
        raise RuntimeFault("E0414", said, help="write x.contiguous()")
    begin = input.storage_offset()
    charge_shape((3, *shape, *input.shape))
    here = _steps_from(0, input.shape, input.stride())
    there = _steps_from(0 if offset is None else offset - begin, shape, steps)
    known, first = np.unique(here, return_index=True)
    seen = np.isin(there, known)
    if not seen.all():  # what lies elsewhere in memory is written, but not seen
        there, src = there[seen], O["getitem"](O["expand"](src, shape), seen)
    source = input if input.ndim else O["reshape"](input, (1,))
    where = unraveled(first[np.searchsorted(known, there)], tuple(source.shape))
    apart = np.unique(there).size == there.size
    if any(n > 1 and not s for n, s in zip(shape, steps, strict=True)):
        raise written_twice()
    put = O["put"](source, src, Apart(where) if apart else where)
    found = O["reshape"](put, tuple(input.shape))
    return called(found, "AsStridedScatterBackward0", input, given)


def _steps_from(start: int, shape: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    """How far in memory each entry of a shape lies from a first one."""
    grids: Any = np.indices(tuple(shape), sparse=True)
    return np.asarray(sum((g * s for g, s in zip(grids, steps, strict=True)), np.int64(start)))


def gradient(
    input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Any, ...]:
    """The slope along each dimension (or those in ``dim``) of a function that was sampled.

    ``spacing`` is the distance of the samples, one for all dimensions or a list, or a list of their
    coordinates. Inside it is the slope of the parabola through three neighbours; at the ends that
    of the line through two, or with ``edge_order=2`` again of a parabola. Raises RuntimeFault
    (E0301, E0304) for a spacing that does not fit, or too few samples.

    Example:
        >>> import gradcli
        >>> gradcli.gradient(gradcli.tensor([1.0, 4.0, 9.0, 16.0]))
        (tensor([3., 4., 6., 7.]),)
    """
    if edge_order not in (1, 2):
        raise bad_value("torch.gradient only supports edge_order=1 and edge_order=2.")
    rank = len(input.shape)
    given = range(rank) if dim is None else dim if isinstance(dim, tuple | list) else (dim,)
    axes = list(named_dims(tuple(given), rank)) if rank else []
    spacing = 1 if spacing is None else spacing
    several = isinstance(spacing, tuple | list)
    widths = list(spacing) if several else [spacing] * len(axes)
    if len(widths) != len(axes):
        said = "torch.gradient expected spacing to be unspecified, a scalar or a list with an entry"
        raise bad_shape(f"{said} for each of {len(axes)} dimensions, got {len(widths)}")
    if input.dtype.name in ("bool", "uint8"):
        refused = no_difference([input.dtype] * 2, 2)
        raise bad_dtype(refused or "torch.gradient does not support uint8 input.")
    if any(hasattr(w, "shape") and len(w.shape) != 1 for w in widths if several):
        raise bad_shape("torch.gradient expected each element of spacing to have one dimension")
    if input.dtype.kind < 2:
        input = input.to(get_default_dtype())
    return tuple(
        _slope(input, axis, width, edge_order) for axis, width in zip(axes, widths, strict=True)
    )


def _slope(f: Any, axis: int, width: Any, edge_order: int) -> Any:
    size = f.shape[axis]
    if size < edge_order + 1:
        raise bad_shape("torch.gradient expected each dimension size to be at least edge_order+1")

    def part(start: int, stop: int) -> Any:
        return O["getitem"](f, (slice(None),) * axis + (slice(start, stop),))

    coordinates = getattr(width, "shape", ()) != ()
    if coordinates and width.shape[0] != size:
        raise bad_shape(f"gradient expected {size} coordinates along {axis}, got {width.shape[0]}")
    shape = (-1,) + (1,) * (len(f.shape) - 1 - axis)
    if coordinates:
        steps = O["reshape"](width[1:] - width[:-1], shape)
        ends = (slice(i, i + 1) for i in (0, min(1, size - 2), size - 2, max(size - 3, 0)))
        at = (slice(None, -1), slice(1, None), *ends)
        left, right, first, second, last, before = (O["getitem"](steps, (s,)) for s in at)
        both = left + right
        inside = (
            part(0, size - 2) * -(right / (left * both))
            + part(1, size - 1) * ((right - left) / (left * right))
            + part(2, size) * (left / (right * both))
        )
    else:
        first = second = last = before = width
        inside = lasting((part(2, size) - part(0, size - 2)) / (2 * width))
    if edge_order == 1:
        low = lasting((part(1, 2) - part(0, 1)) / first)
        high = lasting((part(size - 1, size) - part(size - 2, size - 1)) / last)
    else:
        low = _end(part(0, 1), part(1, 2), part(2, 3), first, second)
        a, b, c = (part(size - k, size - k + 1) for k in (1, 2, 3))
        high = -_end(a, b, c, last, before)
    return called(O["cat"](low, inside, high, dim=axis), "CatBackward0")


def _end(f0: Any, f1: Any, f2: Any, near: Any, far: Any) -> Any:
    """The slope at the first of three points, ``near`` and then ``far`` apart."""
    both = near + far
    return (
        lasting(f0 * -((near + both) / (near * both)))
        + lasting(f1 * (both / (near * far)))
        - lasting(f2 * (near / (far * both)))
    )


def empty_strided(size: Any, stride: Any, **options: Any) -> Tensor:
    """A tensor of a shape, to be written to, whose entries lie ``stride`` apart in memory.

    Example:
        >>> import gradcli
        >>> gradcli.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    shape, steps, _ = _laid_out(size, stride, None)
    last = sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    wanted = options.pop("requires_grad", False)  # of the tensor itself, which is a leaf
    flat = factories.empty(0 if 0 in shape else last + 1, **options)
    return factories.requiring(of_its_own(as_strided(flat, shape, steps)), wanted)


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """A tensor of a shape, to be written to, whose dimensions lie in an order, outermost first."""
    order = list(physical_layout)
    if len(order) != len(size):
        said = "Number of dimensions in size does not match the length of the physical_layout"
        raise bad_shape(said)
    for i, d in enumerate(order):
        if not 0 <= d < len(order):
            said = f"(expected to be between 0 and {len(order) - 1}, but got {d} at index {i})"
            raise bad_dim(f"Dimension out of range {said}")
    if len(set(order)) < len(order):
        raise bad_dim("Duplicate dim not allowed")
    steps, step = [0] * len(order), 1
    for d in reversed(order):
        steps[d] = step
        step *= max(size[d], 1)
    return empty_strided(size, steps, **options)


def dim_order(input: Tensor) -> tuple[int, ...]:
    """The dimensions as they lie in memory, the outermost first."""
    return tuple(sorted(range(input.ndim), key=lambda d: -input.array.strides[d]))


def resize_(input: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Another shape in place: the entries of its memory in order, and zeros where it has no more.

    Views of memory that grows see it where it is then. Raises RuntimeFault (E0404) for a tensor
    that requires a gradient, but for a leaf in inference mode, and (E0409) where an array or a
    detached twin shares memory that would have to grow.
    """
    if input.edge is not None and not (current().inference and input.edge.leaf):
        raise RuntimeFault("E0404", "cannot resize variables that require grad")
    input._refuse_captured()
    if input.is_inference():
        check_writable(input, ())
    shape = factories.sizes_of(sizes, "resize_")
    meta, count = input._meta(), math.prod(shape)
    flat = input.untyped_storage().entries(input.dtype)[input.storage_offset() :]
    if count > flat.size:
        charge_shape(shape, input.dtype.itemsize)
        del flat
        have = input.untyped_storage().nbytes()
        more = (input.storage_offset() + count) * input.dtype.itemsize - have
        _grow(input if meta.base is None else meta.base, more)
        flat = input.untyped_storage().entries(input.dtype)[input.storage_offset() :]
    if shape != tuple(input.shape) or memory_format is not None:
        order = format_order(memory_format or "contiguous_format", len(shape))
        rows = flat[:count].reshape([shape[d] for d in order])
        input.array = rows.transpose(sorted(range(len(shape)), key=order.__getitem__))
        if not input.is_inference():
            meta.version.bump()
        if input.edge is not None:
            input._outgrow()
    return input


def _grow(base: Tensor, more: int) -> None:
    """``more`` bytes, which are 0, at the end of the memory of ``base`` and its views."""
    owner, known = base.untyped_storage().array, [base, *views_of(base)]
    # As in NumPy's own resize: who else refers to the memory would be left with the old one. A
    # session that can take statements back refers to all.
    uses = Counter(id(t.array) for t in known)
    uses[id(owner)] += 1 + len(uses.keys() - {id(owner)})
    arrays = (getrefcount(t.array) - uses[id(t.array)] for t in known)
    if current_log() is None and max(getrefcount(owner) - uses[id(owner)], *arrays) > 1:
        said = "Trying to resize storage that is not resizable: other tensors share it"
        raise RuntimeFault("E0409", said, help="resize a clone()")
    start = owner.__array_interface__["data"][0]
    data = np.concatenate([owner.ravel(order="K").view(np.uint8), np.zeros(more, np.uint8)])
    for t in known:
        old = t.array
        first = min(t.data_ptr() - start, data.nbytes)  # one without entries may lie beyond
        t.array = np.ndarray(old.shape, old.dtype, data, first, old.strides)


may_be("none", gradient, as_strided, as_strided_scatter, empty_strided, empty_permuted)
