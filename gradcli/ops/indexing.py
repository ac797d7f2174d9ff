"""Indexing: reading and writing entries by integers, slices, masks and index arrays.

An index is what NumPy takes between brackets, already made of plain values: integers, slices, None,
Ellipsis, integer arrays and boolean masks, or a tuple of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.comparison import zeros_like
from gradcli.ops.cupy_compat import add_at, beside, grid, writable_copy, zeros
from gradcli.ops.declaration.batching import Batch
from gradcli.ops.declaration.node_names import index_parts, of_index, of_write
from gradcli.ops.dims import copied, in_rows, normal_dim, strided_view
from gradcli.ops.errors import IndexFault, bad_shape
from gradcli.ops.kinds import linear
from gradcli.ops.memory_budget import budget, charge_copies, charge_shape
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.piecewise import where
from gradcli.ops.shape import expand_words, reshape, sum_to
from gradcli.ops.torch_messages import sizes_differ

_BASIC = frozenset((int, slice, type(None), type(...)))


def is_basic(index: Any) -> bool:
    """Whether ``index`` names each entry at most once by position (no arrays): a view in NumPy."""
    for part in index if isinstance(index, tuple) else (index,):
        if part.__class__ not in _BASIC and not isinstance(part, int | np.integer):
            return False
    return True


def _getitem(x: Any, index: Any = ()) -> Any:
    try:
        if not is_basic(index):
            if budget.on:
                _charge_picked(x, index)
            return _picked(x[index], x, index)
        # The trailing Ellipsis keeps a 0-d result a view of x instead of a copied scalar.
        parts = index if isinstance(index, tuple) else (index,)
        parts = parts if Ellipsis in parts else (*parts, Ellipsis)
        found = x[parts]
    except IndexError as fault:
        raise _explained(fault, np.shape(x), index) from None
    if not found.size and found.__class__ is np.ndarray:
        return _begun(found, x, parts)
    return _stepped(found, x, parts) if None in parts else found


def _picked(found: Any, x: Any, index: Any) -> Any:
    """What arrays pick of ``x``: NumPy has their dimensions first in memory, and PyTorch lays it in
    rows where the dimensions of ``x`` that are left lie so."""
    if x.flags.c_contiguous or not found.size:
        return in_rows(found)
    one: list[Any] = []  # an index of one entry of each array
    for p in index if isinstance(index, tuple) else (index,):
        count = p.ndim if getattr(p, "dtype", None) == np.bool_ else 1
        one += [p] if is_basic(p) else [0] * count
    left = [step for step in x[tuple(one)].strides if step]
    return in_rows(found) if left == sorted(left, reverse=True) else found


def _begun(found: Any, x: Any, parts: Sequence[Any]) -> Any:
    """No entries, ``found`` in ``x``, where they would lie: NumPy has them begin as ``x`` does."""
    shape, index, axis = [*x.shape], [*parts], 0
    for i, part in enumerate(parts):
        if part is Ellipsis:
            axis = x.ndim - sum(p is not None for p in parts[i + 1 :])
            continue
        if part.__class__ is slice:
            first, stop, step = part.indices(shape[axis])
            if not range(first, stop, step):  # as of one entry there
                first = max(first, 0)
                index[i] = slice(first, first + 1, step)
                shape[axis] = max(first + 1, shape[axis])
        axis += part is not None
    place = strided_view(x, shape, x.strides)[tuple(index)]
    place = _stepped(place, x, index) if None in index else place
    return strided_view(place, found.shape, place.strides)


def _stepped(found: Any, x: Any, parts: Sequence[Any]) -> Any:
    """``found`` with PyTorch's strides along new dimensions, where NumPy has 0: those of what
    stands behind in ``x``, of which less may be taken."""
    if found.flags.c_contiguous and 0 < found.size == x.size and 1 not in x.shape:
        return found.reshape(-1).reshape(found.shape)
    if found.__class__ is not np.ndarray:
        return found
    steps, axis, d = [*found.strides], 0, 0
    for i, part in enumerate(parts):
        if part is Ellipsis:
            wide = x.ndim - axis - sum(p is not None for p in parts[i + 1 :])
            axis, d = axis + wide, d + wide
            continue
        if part is None:
            steps[d] = x.shape[axis] * x.strides[axis] if axis < x.ndim else x.itemsize
        axis += part is not None
        d += part is None or isinstance(part, slice)
    return strided_view(found, found.shape, steps)


def _charge_picked(x: Any, index: Any) -> None:
    """Account for what arrays of integers pick; a mask picks no more than there is."""
    picked: list[int] = []
    shapes, axis = [], 0
    for part in index if isinstance(index, tuple) else (index,):
        if part is None or part is Ellipsis or isinstance(part, slice):
            if part is Ellipsis:
                return  # what stands after it is rare, and no part of a program's own index
            if part is not None and axis < x.ndim:
                picked.append(len(range(*part.indices(x.shape[axis]))))
                axis += 1
            continue
        shape = np.shape(part)
        if getattr(getattr(part, "dtype", None), "kind", "") == "b":
            return
        shapes.append(shape)
        axis += 1
    try:
        rows = np.broadcast_shapes(*shapes) if len({*map(len, shapes)}) < 2 else ()
    except ValueError:
        return  # the indexing itself says what is wrong
    charge_shape((*rows, *picked, *x.shape[axis:]), x.dtype.itemsize)


def _explained(fault: IndexError, shape: Sequence[int], index: Any) -> IndexFault:
    parts = index if isinstance(index, tuple) else (index,)
    if not shape:
        said = (
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number"
        )
        if isinstance(next(p for p in parts if p is not None), slice):
            said = "slice() cannot be applied to a 0-dim tensor."
        mend = "x.item() gives its number"
        return IndexFault("E0307", "a 0-d tensor cannot be indexed", help=mend, torch=said)
    masks = [getattr(getattr(p, "dtype", None), "kind", "") == "b" for p in parts]
    given = sum(
        np.ndim(p) if mask else 1
        for p, mask in zip(parts, masks, strict=True)
        if p is not None and p is not Ellipsis
    )
    if given > len(shape):
        said = f"too many indices: {given} for a tensor with {len(shape)} dimension"
        told = f"too many indices for tensor of dimension {len(shape)}"
        where = ((0, f"shape {tuple(shape)}"),)
        return IndexFault("E0307", said + "s" * (len(shape) != 1), operands=where, torch=told)
    axis = added = 0
    for p, mask in zip(parts, masks, strict=True):
        if p is None or p is Ellipsis:
            added += p is None
            continue
        if isinstance(p, int | np.integer) and not -shape[axis] <= p < shape[axis]:
            return IndexFault(
                "E0307",
                f"index {p} is out of bounds for dimension {axis + added} with size {shape[axis]}",
                help=f"use {-shape[axis]} to {shape[axis] - 1}" if shape[axis] else None,
                operands=((0, f"shape {tuple(shape)}"),),
            )
        if mask:
            for k, n in enumerate(np.shape(p)):
                if n != shape[axis + k]:
                    return IndexFault(
                        "E0307",
                        str(fault),
                        operands=((0, f"shape {tuple(shape)}"),),
                        torch=f"The shape of the mask {list(np.shape(p))} at index {k} does not "
                        f"match the shape of the indexed tensor {list(shape)} at index {axis + k}",
                    )
            axis += np.ndim(p)
            continue
        axis += 1
    said = str(fault).replace("for axis", "for dimension")
    if said.endswith("with size 0"):
        said = "index is out of bounds for dimension with size 0"
    if "broadcast" in said:
        shapes = ", ".join(str(list(np.shape(p))) for p in parts if not is_basic(p))
        said = (
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        )
    return IndexFault("E0307", str(fault), operands=((0, f"shape {tuple(shape)}"),), torch=said)


# ---- Under vmap: the batch is the first dimension ---------------------------------------------


def _in_front(index: Any) -> Any:
    """The index behind the batch dimension; None where NumPy would move dimensions about."""
    parts = index if isinstance(index, tuple) else (index,)
    if is_basic(index):
        return (slice(None), *parts)
    # An integer counts as an index array beside one; arrays that do not stand side by side move.
    arrays = [i for i, p in enumerate(parts) if isinstance(p, int) or hasattr(p, "dtype")]
    if arrays != list(range(arrays[0], arrays[-1] + 1)):
        return None
    return (slice(None), *parts)


def indexed(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element at one basic index; None where NumPy would move the axes."""
    index = _in_front(params["index"])
    return NotImplemented if index is None else op(batch.values[0], index=index)


def scattered(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Zeros of one shape, with the entries of each element at one index."""
    index = _in_front(params["index"])
    if index is None:
        return NotImplemented
    return op(batch.values[0], shape=(batch.count, *params["shape"]), index=index)


def gathered(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Entries of each element at the same positions along a dimension."""
    rank = batch.ranks[0]
    if not rank:
        return NotImplemented
    indices = getattr(params["indices"], "array", params["indices"])
    if hasattr(indices, "__gradcli_rank__"):  # a batch of an enclosing vmap
        return NotImplemented
    indices = np.asarray(indices)
    moved = {
        "indices": np.broadcast_to(indices, (batch.count, *indices.shape)),
        "dim": normal_dim(params["dim"], rank) + 1,
        "once": params["once"],
    }
    if "shape" in params:
        moved["shape"] = (batch.count, *params["shape"])
    return op(batch.values[0], **moved)


getitem = linear(
    "getitem",
    _getitem,
    lambda g, shape, index: scatter(g, shape, index),
    by_index="index",
    grad_name="SelectBackward0",
    doc="Entries by index; `x[index]`.",
    example="x[1] * x[2] --x 1,2,3",
    moves="view",
    batching=indexed,
    node={"name": of_index, "parts": index_parts},
    public=False,
)


def _scatter(x: Any, shape: Sequence[int] = (), index: Any = ()) -> Any:
    out, index = zeros(x, shape), beside(index, x)
    if is_basic(index) or index.__class__ is Apart:
        out[index] = x
    elif getattr(index, "dtype", None) == np.bool_:
        out[index] = x
        out += False  # what is added to 0 is no -0.0
    else:
        add_at(out, index, x)  # an entry may be named more than once
    return out


class Apart(tuple[Any, ...]):
    """An index of arrays that names no entry twice: its transpose writes, and need not add."""

    __slots__ = ()


scatter: Operator = linear(
    "scatter",
    _scatter,
    lambda g, index: getitem(g, index),
    by_index="index",
    grad_name="IndexPutBackward0",
    doc="The transpose of reading an index: zeros of a shape with x added in at the index.",
    batching=scattered,
    public=False,
)


def _windows(x: Any, dim: int = 0, size: int = 1, step: int = 1) -> Any:
    dim %= x.ndim
    count = (x.shape[dim] - size) // step + 1
    if isinstance(x, np.ndarray):
        shape, strides = [*x.shape, size], [*x.strides, x.strides[dim]]
        shape[dim] = count
        strides[dim] *= step
        return strided_view(x, shape, strides)
    before = (slice(None),) * dim
    places = np.arange(count, like=x)[:, None] * step + np.arange(size, like=x)
    return np.moveaxis(x[(*before, places)], dim + 1, -1)  # on a GPU a copy


def _unwindowed(g: Any, shape: Sequence[int], dim: int, size: int, step: int) -> Any:
    at = normal_dim(dim, len(shape))
    places = np.arange(g.shape[at])[:, None] * step + np.arange(size)
    index = (slice(None),) * at + (places,)
    order = (*range(at + 1), len(shape), *range(at + 1, len(shape)))
    return scatter(OPERATORS["permute"](g, order), shape, Apart(index) if step >= size else index)


unfold: Operator = linear(
    "unfold",
    _windows,
    lambda g, shape, dim, size, step: _unwindowed(g, shape, dim, size, step),
    node={"words": {"dim": "dimension"}},
    doc="All windows of a size along a dimension, as a last dimension.",
    moves="view",
    public=False,
)


def _put(x: Any, value: Any, index: Any = (), onward: bool = False) -> Any:
    out = copied(x) if x.__class__ is np.ndarray else writable_copy(x)
    write(out, index, value)
    return out


def write(target: Any, index: Any, value: Any) -> None:
    """``target[index] = value`` in place, with gradcli's errors (E0307, E0301)."""
    try:
        target[index] = value
    except IndexError as fault:
        raise _explained(fault, np.shape(target), index) from None
    except (ValueError, TypeError) as fault:
        have, room = tuple(np.shape(value)), tuple(np.shape(target[index]))
        lead = len(have) - len(room)
        if lead > 0 and math.prod(have[:lead]) == 1:  # NumPy takes them in some places only
            write(target, index, np.reshape(value, have[lead:]))
            return
        if isinstance(fault, TypeError) and lead <= 0:
            raise
        said = f"cannot write shape {have} into entries of shape {room}"
        mend = "the value must broadcast to the entries that it replaces"
        raise bad_shape(said, help=mend, torch=_too_large(index, have, room)) from None


def _too_large(index: Any, have: tuple[Any, ...], room: tuple[Any, ...]) -> str | None:
    """PyTorch's words for a value that does not fit the entries that it is written to."""
    if index is Ellipsis:
        if len(have) <= len(room) and (said := sizes_differ(room, have)):
            return said
        return f"output with shape {list(room)} doesn't match the broadcast shape {list(have)}"
    if not is_basic(index):
        return (
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing "
            f"result of shape {list(room)}"
        )
    return expand_words(have, room)


def _rest(g: Any, index: Any, onward: bool) -> Any:
    """The cotangent of what was not overwritten: nothing depends on the rest.

    Where the value came ``onward`` from the same entries of x, their cotangent is added to this
    one: that finds -0.0 there, the zero that leaves the sign of every number as it is.
    """
    if index is Ellipsis:
        return zeros_like(g)
    nothing = zeros_like(getitem(g, index))
    return put(g, -nothing if onward else nothing, index)


def _of_value(g: Any, index: Any) -> Any:
    """The cotangent of the values written: where an entry is named twice, of the one that stayed.

    PyTorch gives it to each of them, and says of such gradients that they are incorrect.
    """
    picked = getitem(g, index)
    parts = index if isinstance(index, tuple) else (index,)
    named = [p for p in parts if isinstance(p, np.ndarray) and p.dtype != np.bool_]
    if index.__class__ is Apart or all(p.size < 2 for p in named):
        return picked
    charge_shape(g.shape, 8)
    order = np.arange(math.prod(picked.shape)).reshape(picked.shape)
    holder = np.empty(g.shape, order.dtype)
    holder[index] = order
    stayed = holder[index] == order
    return picked if stayed.all() else where(stayed, picked, 0.0)


def _summed_to(g: Any, shape: Sequence[int]) -> Any:
    """``g`` as the cotangent of a value that was broadcast: which may have more dimensions of 1."""
    lead = len(shape) - np.ndim(g)
    return sum_to(reshape(g, (*shape[:lead], *np.shape(g))) if lead > 0 else g, shape)


put = linear(
    "put",
    _put,
    lambda g, index, onward: _rest(g, index, onward),
    lambda g, index, shape: _summed_to(_of_value(g, index), shape),
    by_index="index",
    dtypes="keep",
    grad_name="CopySlices",
    node={"edges": of_write},
    entrywise=False,
    doc="x with the entries at an index replaced by a value.",
    public=False,
)


def _gather(x: Any, indices: Any = (), dim: int = 0, once: bool = False) -> Any:
    charge_shape(indices.shape, x.itemsize)
    along = (*indices.shape[:dim], x.shape[dim], *indices.shape[dim % x.ndim + 1 :])
    if along != x.shape:  # sizes of 1 to broadcast, or shapes to refuse
        return np.take_along_axis(x, indices, axis=dim)
    places = grid(indices.shape, indices)
    places[dim] = indices
    return x[tuple(places)]


def _ungather(
    x: Any, indices: Any = (), shape: Sequence[int] = (), dim: int = 0, once: bool = False
) -> Any:
    out = zeros(x, shape)
    places = grid(indices.shape, indices)
    places[dim] = indices
    charge_copies(x)
    if once:
        out[tuple(places)] = x
    else:
        add_at(out, tuple(places), x)
    return out


gather = linear(
    "gather",
    _gather,
    lambda g, shape, indices, dim, once: ungather(g, indices, shape, dim, once),
    holds=0,
    by_index="indices",
    doc="Along a dimension, the entries that integer indices name (same rank as x); `once` tells "
    "that no entry is named twice.",
    example="sum(gather(x, tensor([2, 0]), 0)**2) --x 1,2,3",
    rows=True,
    batching=gathered,
    moves="copy",
)
ungather: Operator = linear(
    "ungather",
    _ungather,
    lambda g, indices, dim, once: gather(g, indices, dim, once),
    by_index="indices",
    grad_name="ScatterAddBackward0",
    doc="The transpose of gather: zeros with entries added in at the indices.",
    batching=gathered,
    public=False,
)
