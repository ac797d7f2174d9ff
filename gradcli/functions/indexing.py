"""Picking entries by whole numbers and masks, and writing there: select, gather, scatter, take.

Each is a function and, where PyTorch has it so, a method of Tensor; ``arranging`` lists them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.record.composite import by_element, called, is_batch
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import IndexFault, RuntimeFault
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.torch_messages import sizes_differ


def _along(input: Any, dim: int, part: Any) -> Any:
    before = (slice(None),) * normal_dim(dim, len(input.shape))
    return O["getitem"](input, (*before, part))


def _whole(index: Any, name: str = "") -> np.ndarray:
    """Indices as an array of whole numbers."""
    array = index.array if isinstance(index, Tensor) else np.asarray(index)
    if array.dtype.kind not in "iu":
        cls = RuntimeFault if name else IndexFault
        said = f"{name}: Expected dtype int32 or int64 for index" if name else None
        raise cls("E0307", "expected a tensor of whole numbers for index", torch=said)
    return np.asarray(array)


def _within(index: np.ndarray, size: int, dim: int) -> None:
    """Raise RuntimeFault (E0307) for the first index that is none of ``size``; none counts back."""
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise RuntimeFault(
            "E0307",
            f"index {wrong} is out of bounds for dimension {dim} with size {size}",
            help="indices count from 0",
        )


def select(input: Any, dim: int, index: int) -> Any:
    """The slice at ``index`` along a dimension, without it; a view."""
    if not len(input.shape):
        raise IndexFault("E0307", "select() cannot be applied to a 0-dim tensor.")
    size = input.shape[normal_dim(dim, len(input.shape))]
    if not -size <= int(index) < size:
        raise IndexFault(
            "E0307",
            f"index {index} is out of bounds for dimension {dim} with size {size}",
            torch=f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {dim}",
        )
    return _along(input, dim, int(index))


def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """``length`` entries along a dimension from ``start`` on; a view."""
    size = input.shape[normal_dim(dim, len(input.shape))]
    start = int(start) + size * (start < 0)
    if length < 0 or not 0 <= start <= size or start + length > size:
        raise RuntimeFault(
            "E0307", f"start ({start}) + length ({length}) exceeds dimension size ({size})."
        )
    return called(_along(input, dim, slice(start, start + length)), "SliceBackward0")


def index_select(input: Any, dim: int, index: Any) -> Any:
    """The entries along a dimension that ``index`` names."""
    if is_batch(index):
        return index.each_of(index_select, (input, dim, index), {})
    index = _whole(index, "index_select()")
    size = input.shape[normal_dim(dim, input.ndim)] if input.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= size):
        raise IndexFault(
            "E0307",
            f"the indices are {index.min()} to {index.max()}, dimension {dim} has size {size}",
            torch="index out of range in self",
        )
    charge_shape((index.size, input.numel() // max(1, size)))
    return called(_along(input, dim, index), "IndexSelectBackward0")


@by_element
def masked_select(input: Any, mask: Any) -> Any:
    """The entries where ``mask`` holds, in order."""
    if mask.dtype is not dtypes.bool_:
        raise RuntimeFault("E0309", "masked_select: expected BoolTensor for mask")
    input, mask = broadcast_tensors(input, mask)
    charge_shape(input.shape)
    flat = O["reshape"](input, (-1,))
    places = np.flatnonzero(mask.array)
    return called(O["gather"](flat, places, 0, True), "MaskedSelectBackward0", input)


def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """``input`` with a value where ``mask`` holds."""
    if mask.dtype is not dtypes.bool_:
        raise RuntimeFault(
            "E0309",
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{mask.dtype.c_name}",
            help="write mask.bool()",
        )
    _meet(mask, input)
    if isinstance(value, int | float) and input.dtype.kind < 2:
        value = input.dtype.numpy.type(value).item()
    return called(O["where"](mask, value, input), "MaskedFillBackward0")


def _meet(first: Any, second: Any) -> None:
    """Raise RuntimeFault (E0301) where two shapes do not broadcast."""
    shapes = tuple(first.shape), tuple(second.shape)
    said = sizes_differ(*shapes)
    if said is not None:
        raise RuntimeFault("E0301", said)


def take(input: Any, index: Any) -> Any:
    """The entries of the flattened tensor that ``index`` names."""
    if is_batch(index):
        return index.each_of(take, (input, index), {})
    index, size = _whole(index), input.numel()
    if index.size and (index.min() < -size or index.max() >= size):
        wrong = index[(index < -size) | (index >= size)].flat[0]
        raise IndexFault(
            "E0307", f"out of range: tried to access index {wrong} on a tensor of {size} elements."
        )
    charge_shape(index.shape)
    return called(O["getitem"](O["reshape"](input, (-1,)), index), "TakeBackward0", input)


def gather(input: Any, dim: int, index: Any) -> Any:
    """Along a dimension, the entries that whole numbers name, place by place."""
    if is_batch(index):
        return index.each_of(gather, (input, dim, index), {})
    if getattr(getattr(index, "dtype", None), "kind", 1) != 1:
        raise RuntimeFault("E0307", "gather(): Expected dtype int32/int64 for index")
    index = _whole(index)
    before = [slice(0, n) for n in index.shape]
    if input.ndim and index.ndim != input.ndim:
        raise RuntimeFault(
            "E0301", "Index tensor must have the same number of dimensions as input tensor"
        )
    if before and input.ndim:
        _within(index, input.shape[normal_dim(dim, input.ndim)], normal_dim(dim, input.ndim))
    if before:
        before[normal_dim(dim, index.ndim)] = slice(None)
        if any(n < m for i, (n, m) in enumerate(zip(input.shape, index.shape, strict=True))
               if i != normal_dim(dim, index.ndim)):  # fmt: skip
            raise RuntimeFault("E0307", "gather: index is larger than the tensor")
        if tuple(input.shape[i] for i in range(index.ndim)) != tuple(index.shape):
            input = O["getitem"](input, tuple(before))
    return called(O["gather"](input, index, dim), "GatherBackward0")


def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """Along a dimension, the entries that whole numbers name; sizes broadcast."""
    if is_batch(indices):
        return indices.each_of(take_along_dim, (input, indices, dim), {})
    indices = _whole(indices)
    charge_shape(indices.shape)
    if dim is None:
        return O["gather"](O["reshape"](input, (-1,)), indices.reshape(-1), 0)
    return called(O["gather"](input, indices, dim), "GatherBackward0")


def scatter(input: Any, dim: int, index: Any, src: Any) -> Any:
    """``input`` with the entries of ``src`` written where ``index`` names along a dimension."""
    if is_batch(index):
        return index.each_of(scatter, (input, dim, index, src), {})
    if isinstance(src, Tensor) and src.dtype is not input.dtype:
        raise RuntimeFault(
            "E0309",
            "scatter(): Expected self.dtype to be equal to src.dtype",
            help="write src.to(x.dtype)",
        )
    places, values = _places(input, dim, index, src)
    return called(O["put"](input, values, places), "ScatterBackward0")


def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """``input`` with the entries of ``src`` added where ``index`` names along a dimension."""
    if is_batch(index):
        return index.each_of(scatter_add, (input, dim, index, src), {})
    places, values = _places(input, dim, index, src)
    added = O["scatter"](values, tuple(input.shape), places)
    return called(input + added, "ScatterAddBackward0", input, src)


def _places(input: Any, dim: int, index: Any, src: Any) -> tuple:
    index = _whole(index)
    if index.ndim and input.ndim:
        _within(index, input.shape[normal_dim(dim, input.ndim)], normal_dim(dim, input.ndim))
    if isinstance(src, Tensor) and any(n > m for n, m in zip(index.shape, src.shape, strict=False)):
        raise RuntimeFault(
            "E0301",
            f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} "
            f"apart from dimension {dim} and to be no larger size than src {list(src.shape)}",
        )
    places = list(np.indices(index.shape, sparse=True))
    places[normal_dim(dim, index.ndim)] = index
    if isinstance(src, Tensor) and tuple(src.shape) != index.shape:
        src = O["getitem"](src, tuple(slice(0, n) for n in index.shape))
    return tuple(places), src


def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """``input`` with slices of ``source`` added where ``index`` names along a dimension."""
    if is_batch(index):
        return index.each_of(index_add, (input, dim, index, source), {"alpha": alpha})
    before = (slice(None),) * normal_dim(dim, len(input.shape))
    count = np.size(_whole(index))
    if source.ndim and source.shape[dim] != count:
        raise RuntimeFault(
            "E0301",
            f"index_add_(): Number of indices ({count}) should be equal to source.size(dim): "
            f"({source.shape[dim]}), for dim: {dim}",
        )
    added = O["scatter"](source, tuple(input.shape), (*before, _whole(index)))
    return called(
        input + (added if alpha == 1 else alpha * added), "IndexAddBackward0", input, source
    )


def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """``input`` with slices of ``source`` written where ``index`` names along a dimension."""
    if is_batch(index):
        return index.each_of(index_copy, (input, dim, index, source), {})
    before = (slice(None),) * normal_dim(dim, len(input.shape))
    return called(O["put"](input, source, (*before, _whole(index))), "IndexCopyBackward0")


def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """``input`` with a value written where ``index`` names along a dimension."""
    if is_batch(index):
        return index.each_of(index_fill, (input, dim, index, value), {})
    before = (slice(None),) * normal_dim(dim, len(input.shape))
    return called(O["put"](input, value, (*before, _whole(index))), "IndexFillBackward0")


def broadcast_tensors(*tensors: Any) -> tuple:
    """Tensors expanded to the one shape they broadcast to."""
    try:
        shape = np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    except ValueError:
        shown = " and ".join(str(tuple(t.shape)) for t in tensors)
        said = sizes_differ(*(tuple(t.shape) for t in tensors[:2]))
        raise RuntimeFault("E0301", f"shapes {shown} do not broadcast", torch=said) from None
    return tuple(t if tuple(t.shape) == shape else O["expand"](t, shape) for t in tensors)
