"""Picking entries by whole numbers and masks, and writing there: select, gather, scatter, take.

Each is a function and, where PyTorch has it so, a method of Tensor; ``arranging`` lists them.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.record.arguments import Operand
from gradcli.engine.record.composite import (
    bottom,
    by_element,
    called,
    dynamic_shape,
    is_batch,
    of_numbers_too,
    rowwise,
    runs_once,
)
from gradcli.engine.record.dtype_checks import of_truths, one_filling, same_dtype
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.functions.segments import joined
from gradcli.ops.dims import normal_dim, some_dim
from gradcli.ops.errors import (
    Fault,
    IndexFault,
    RuntimeFault,
    TypeFault,
    bad_dtype,
    bad_shape,
    bad_value,
)
from gradcli.ops.indexing import Apart
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import is_complex, is_number
from gradcli.ops.torch_messages import no_broadcast, sizes_differ


def _along(input: Any, dim: int, part: Any) -> Any:
    before = (slice(None),) * normal_dim(dim, len(input.shape))
    return O["getitem"](input, (*before, part))


_INT = "(): Expected dtype int32/int64 for index"
_WIDE = f"{_INT} but got: {{}}"
_LONG = "(): Expected a long tensor for index, but got {}"


def whole(
    index: Any, said: str, cls: type[Fault] = RuntimeFault, *, empty: bool = False
) -> np.ndarray:
    """Indices as an array: int64, or int32 where the sentence ``said`` names it.

    Raises ``cls`` (E0307) for others, with PyTorch's sentence of the element type; with ``empty``
    no index at all may be of any type.
    """
    array = np.asarray(index._numbers() if isinstance(index, Plain) else index)
    name = array.dtype.name
    if name != "int64" and (name != "int32" or "int32" not in said) and (array.size or not empty):
        said = said.format(dtypes.dtype_of(array).scalar_name)
        raise cls("E0307", said, help="write index.long()")
    return array


def _vector(index: Any, name: str, said: str) -> np.ndarray:
    """Indices along one dimension. Raises IndexFault (E0307) for a table of them."""
    found: np.ndarray = _lined(whole(index, name + said))
    if found.ndim > 1:
        said = f"{name}(): Index is supposed to be a vector, but got dim: {found.ndim}"
        raise IndexFault("E0307", said)
    return found


def _lined(value: Any) -> Any:
    """``value``, a vector of one entry where it is a 0-d tensor or array."""
    return value.reshape(1) if getattr(value, "shape", None) == () else value


def _within(
    index: np.ndarray, size: int, dim: int, cls: type[Fault] = RuntimeFault, least: int = 0
) -> None:
    """Raise ``cls`` (E0307) for the first index below ``least`` or not below ``size``."""
    if index.size and (index.min() < least or index.max() >= size):
        wrong = index[(index < least) | (index >= size)].flat[0]
        said = f"index {wrong} is out of bounds for dimension {dim} with size {size}"
        raise cls("E0307", said, help="indices count from 0")


def within_flat(index: np.ndarray, size: int) -> None:
    """Raise IndexFault (E0307) for the first index that is none of ``size`` entries."""
    if index.size and (index.min() < -size or index.max() >= size):
        wrong = index[(index < -size) | (index >= size)].flat[0]
        said = f"out of range: tried to access index {wrong} on a tensor of {size} elements."
        raise IndexFault("E0307", said)


_ONE_TYPE = "{}(): self ({{}}) and source ({{}}) must have the same scalar type"


def select(input: Any, dim: int, index: int) -> Any:
    """The slice at ``index`` along a dimension, without it; a view."""
    if not len(input.shape):
        raise IndexFault("E0307", "select() cannot be applied to a 0-dim tensor.")
    size = input.shape[normal_dim(dim, len(input.shape))]
    if not -size <= int(index) < size:
        said = f"select(): index {index} out of range for tensor of size {list(input.shape)} at"
        raise IndexFault("E0307", f"{said} dimension {dim}")
    return _along(input, dim, int(index))


def narrow(input: Any, dim: int, start: Tensor | int, length: int) -> Any:
    """``length`` entries along a dimension from ``start`` on; a view."""
    if not input.shape:
        raise RuntimeFault("E0307", "narrow() cannot be applied to a 0-dim tensor.")
    size = input.shape[normal_dim(dim, len(input.shape))]
    if isinstance(start, Plain) and (start.ndim or start.dtype.kind != 1):
        raise RuntimeFault("E0303", "start must be an 0-dim integral Tensor.")
    if not -size <= start <= size:
        said = f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        raise IndexFault("E0307", said)
    start = int(start) + size * (start < 0)
    if length < 0:
        raise RuntimeFault("E0307", "narrow(): length must be non-negative.")
    if not 0 <= start <= size or start + length > size:
        said = f"start ({start}) + length ({length}) exceeds dimension size ({size})."
        raise RuntimeFault("E0307", said)
    return called(_along(input, dim, slice(start, start + length)), "SliceBackward0")


def _batched(function: Any, input: Any, dim: int, index: Any, *src: Any) -> Any:
    """``function`` along a dimension of a whole batch of indices, which have the input's rank.

    The batch is one dimension more in front, so that it runs once, along the next dimension.
    """
    rank = len(input.shape)
    if not rank or any(len(v.shape) != rank for v in (index, *src) if hasattr(v, "shape")):
        return index.each_of(function, (input, dim, index, *src), {})
    axis = normal_dim(dim, rank) + 1
    return index.at_once(lambda x, i, *s: function(x, axis, i, *s), input, index, *src)


def _spread(index: Any, dim: int, shape: Any) -> Any:
    """One number for each place along a dimension, as one for each entry of ``shape``."""
    line = [1] * len(shape)
    line[dim] = -1
    return index.reshape(line).expand(tuple(shape))


@of_numbers_too
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The entries along a dimension that ``index`` names."""
    if is_batch(index):
        shape = list(input.shape)
        shape[dim] = len(index.reshape(-1))
        return gather(input, dim, _spread(index, dim, shape))
    index = _vector(index, "index_select", "(): Expected dtype int32 or int64 for index")
    size = input.shape[normal_dim(dim, input.ndim)]
    if index.size and (index.min() < 0 or index.max() >= size):
        said = f"the indices are {index.min()} to {index.max()}, dimension {dim} has size {size}"
        if input.ndim != 2 or (size and not dim % 2):
            raise IndexFault("E0307", said, torch="index out of range in self")
        wrong = index[(index < 0) | (index >= size)].flat[0]  # PyTorch looks first in matrices
        words = f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}"
        words = words if size else "index_select(): self indexing axis dim should be positive"
        raise RuntimeFault("E0307", said, torch=words)
    charge_shape((index.size, input.numel() // max(1, size)))
    return called(rowwise(_along(input, dim, index)), "IndexSelectBackward0", input)


def masked_select(input: Any, mask: Any) -> Any:
    """The entries where ``mask`` holds, in order."""
    if is_batch(mask) and (mask := mask.alike()) is None:
        raise dynamic_shape("a mask in masked_select()")
    return _selected(input, mask)


@by_element
def _selected(input: Any, mask: Any) -> Any:
    if mask.dtype is not dtypes.bool_:
        raise bad_dtype("masked_select: expected BoolTensor for mask")
    input, mask = broadcast_tensors(input, mask)
    charge_shape(input.shape)
    index = Apart((bottom(mask)._numbers(),))
    return called(O["getitem"](input, index), "MaskedSelectBackward0", input)


def masked_fill(input: Any, mask: Any, value: Operand) -> Any:
    """``input`` with a value where ``mask`` holds."""
    of_truths("masked_fill_", mask, mask.dtype.c_name)
    meeting_shape(mask.shape, input.shape)
    value = _filling(input, value, "masked_fill_")
    name = f"MaskedFillBackward{isinstance(value, Plain):d}"
    return called(rowwise(O["where"](mask, value, input)), name, input, value, turned=True)


def _filling(input: Any, value: Any, name: str) -> Any:
    """``value``, a number or a 0-d tensor, in the dtype of ``input``.

    Raises RuntimeFault: E0301 for several values, E0309 for a complex one among real numbers.
    """
    one_filling(value, name)
    narrows = is_complex(value) and not input.dtype.is_complex
    if narrows and name == "index_fill_":
        raise bad_dtype(f"{name}(): Converting complex Scalar to non-complex type is not supported")
    if is_number(value):
        return input.dtype.entry(value)
    if narrows and isinstance(value, Plain) and value.edge is None:
        return input.dtype.entry(value.item())
    if narrows:
        raise bad_dtype(f"value cannot be converted to type {input.dtype.c_name} without overflow")
    if getattr(value, "dtype", input.dtype) is not input.dtype and hasattr(value, "to"):
        if input.dtype.kind < 2 and isinstance(value, Plain):
            if value.edge is not None:
                raise bad_dtype(f"Autograd not support dtype: {input.dtype.scalar_name}")
            return input.dtype.entry(value.item())
        return value.to(input.dtype)
    return value


def meeting_shape(*shapes: Any) -> tuple[int, ...]:
    """What two shapes broadcast to. Raises RuntimeFault (E0301) where they do not."""
    said = sizes_differ(*shapes)
    if said is not None:
        raise bad_shape(said)
    return np.broadcast_shapes(*shapes)


def take(input: Any, index: Any) -> Any:
    """The entries of the flattened tensor that ``index`` names."""
    if is_batch(index):
        return input.reshape(-1)[index]
    index = whole(index, f"take{_LONG}")
    if index.size and not input.numel():
        raise IndexFault("E0307", "take(): tried to take from an empty tensor")
    within_flat(index, input.numel())
    charge_shape(index.shape)
    return called(O["getitem"](O["reshape"](input, (-1,)), index), "TakeBackward0", input)


def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """Along a dimension, the entries that whole numbers name, place by place.

    The gradient is dense, ``sparse_grad`` or not.
    """
    if is_batch(index):
        return _batched(gather, input, dim, index)
    normal_dim(dim, len(input.shape))
    return _gathered(input, dim, whole(index, f"gather{_INT}", empty=True))


def _gathered(input: Any, dim: int, index: np.ndarray) -> Any:
    shape = index.shape
    charge_shape(shape)  # before every index is compared with the size
    if not index.size:
        nothing = O["getitem"](O["reshape"](input, (-1,)), slice(0, 0))
        return called(O["reshape"](O["clone"](nothing), shape), "GatherBackward0", input)
    given = input
    input, index = _lined(input), _lined(index)
    if index.ndim != input.ndim:
        raise bad_shape("Index tensor must have the same number of dimensions as input tensor")
    axis = normal_dim(dim, input.ndim)
    for at, (n, size) in enumerate(zip(index.shape, input.shape, strict=True)):
        if n > size and at != axis:
            raise bad_shape(
                f"Size does not match at dimension {at} expected index {list(index.shape)} to be "
                f"no larger than self {list(input.shape)} apart from dimension {axis}"
            )
    _within(index, input.shape[axis], axis)
    sizes = (*index.shape[:axis], input.shape[axis], *index.shape[axis + 1 :])
    if tuple(input.shape) != sizes:
        input = O["getitem"](input, tuple(slice(0, n) for n in sizes))
    found = O["gather"](input, index, axis)
    found = found if found.shape == shape else O["reshape"](found, shape)
    return called(found, "GatherBackward0", given)


def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """Along a dimension, the entries that whole numbers name; sizes broadcast."""
    if is_batch(indices):
        if dim is None:
            return _batched(gather, input.reshape(-1), 0, indices.reshape(-1))
        return _batched(lambda x, d, i: take_along_dim(x, i, d), input, dim, indices)
    indices = whole(
        indices,
        f"gather{_INT}" if dim is None else
        "torch.take_along_dim(): dtype of indices should be Long but got {}",
    )  # fmt: skip
    charge_shape(indices.shape)
    if dim is None:
        return _gathered(O["reshape"](input, (-1,)), 0, indices.reshape(-1))
    if indices.ndim != input.ndim:
        raise bad_shape(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    axis = some_dim(dim, input.ndim)
    sizes: Any = [list(v.shape) for v in (input, indices)]
    reach, count = (given.pop(axis) for given in sizes)
    indices = np.where(indices < 0, indices + reach, indices)
    both = meeting_shape(*sizes)
    wide, many = ((*both[:axis], n, *both[axis:]) for n in (reach, count))
    if tuple(input.shape) != wide:
        input = O["expand"](input, wide)
    return _gathered(input, dim, np.broadcast_to(indices, many))


def scatter(
    input: Any, dim: int, index: Any, src: Operand = None, *, value: Operand = None,
    reduce: str | None = None,
) -> Any:  # fmt: skip
    """``input`` with the entries of ``src`` written where ``index`` names along a dimension.

    ``reduce="add"`` or ``"multiply"`` joins them to what stands there. ``value`` is another name
    of a ``src`` that is a number. Raises TypeFault (E0302) for neither or both.
    """
    if (src is None) is (value is None):
        raise TypeFault("E0302", "scatter takes src or value, one of them")
    src = value if src is None else src
    if is_number(src):
        src = input.dtype.entry(src)
    if reduce is None:
        return rowwise(_written(input, dim, index, src))
    if reduce not in ("add", "multiply"):
        raise bad_value("reduce argument must be either add or multiply.")
    if not hasattr(src, "shape"):
        src = input.new_full(tuple(index.shape), src)
    name = "sum" if reduce == "add" else "prod"
    return called(scatter_reduce(input, dim, index, src, name), "ScatterBackward1")


@of_numbers_too
def _written(input: Any, dim: int, index: Any, src: Any) -> Any:
    if is_batch(index):
        return _batched(_written, input, dim, index, src)
    places, values = _places(input, dim, index, src)
    return called(O["put"](input, values, places), f"ScatterBackward{is_number(src):d}", input, src)


@of_numbers_too
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """``input`` with the entries of ``src`` added where ``index`` names along a dimension."""
    if is_batch(index):
        return _batched(scatter_add, input, dim, index, src)
    places, values = _places(input, dim, index, src)
    added = runs_once(O["scatter"](values, tuple(input.shape), places))
    return called(rowwise(input + added), "ScatterAddBackward0", input, src)


def _places(input: Any, dim: int, index: Any, src: Any) -> tuple:
    same_dtype(input, src, "scatter(): Expected self.dtype to be equal to src.dtype")
    index, src = _lined(whole(index, f"scatter{_INT}", empty=True)), _lined(src)
    axis = normal_dim(dim, input.ndim)
    if not index.size:
        index = index.reshape((0,) * input.ndim)
        if hasattr(src, "shape"):  # none of it, but still its graph
            src = O["reshape"](src, (-1,))[:0].reshape(index.shape)
    if index.ndim != input.ndim:
        raise bad_shape("Index tensor must have the same number of dimensions as self tensor")
    tensor = hasattr(src, "shape")
    if tensor and len(src.shape) != index.ndim:
        raise bad_shape("Index tensor must have the same number of dimensions as src tensor")
    room = [*input.shape]
    room[axis] = index.shape[axis]
    if any(n > m for n, m in zip((*index.shape, *index.shape), (*room, *src.shape) if tensor
           else room, strict=False)):  # fmt: skip
        more = f" and to be no larger size than src {list(src.shape)}" if tensor else ""
        said = f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)}"
        raise bad_shape(f"{said} apart from dimension {dim}{more}")
    _within(index, input.shape[axis], axis)
    places = list(np.indices(index.shape, sparse=True))
    places[axis] = index
    if tensor and tuple(src.shape) != index.shape:
        src = O["getitem"](src, tuple(slice(0, n) for n in index.shape))
    return tuple(places), src


def _other_shape(input: Any, source: Any) -> Fault:
    said = "source tensor shape must match self tensor shape, excluding the specified"
    shapes = f"self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
    return bad_shape(f"{said} dimension. Got {shapes}")


def _of_one_rank(function: Any) -> Any:
    """A function that puts no vector into a number, nor a number into a vector."""

    @wraps(function)
    def call(input: Any, dim: int, index: Any, source: Any, *args: Any, **options: Any) -> Any:
        normal_dim(dim, len(input.shape))
        if bool(len(input.shape)) is not bool(len(source.shape)):
            raise _other_shape(input, source)
        return function(input, dim, index, source, *args, **options)

    return call


@_of_one_rank
@of_numbers_too
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """``input`` with slices of ``source`` added where ``index`` names along a dimension."""
    alpha = source.dtype.entry(alpha)
    added = source if alpha == 1 else alpha * source
    if is_batch(index):
        added = _lined(added)
        return scatter_add(input, dim, _spread(index, dim, added.shape), added)
    axis, index, added = _slices("index_add_", input, dim, index, added)
    if not input.numel():
        out = O["clone"](input)
        return out + 0 * O["sum"](source) if source.requires_grad else out
    added = runs_once(O["scatter"](added, tuple(input.shape), (*(slice(None),) * axis, index)))
    return called(rowwise(input + added), "IndexAddBackward0", input, source)


def _slices(name: str, input: Any, dim: int, index: Any, source: Any) -> tuple[int, Any, Any]:
    """The dimension counted from 0, the indices along it, and the slices that go there.

    Raises IndexFault (E0307) for an index that is none (RuntimeFault in index_add of matrices),
    RuntimeFault (E0301, E0309) where dtypes, sizes or the count of slices differ.
    """
    index = _vector(index, name, _WIDE)
    same_dtype(input, source, _ONE_TYPE.format(name))
    axis, own = normal_dim(dim, len(input.shape)), tuple(source.shape)
    if axis and axis >= len(own):
        raise bad_shape(f"{name}(): Indexing dim {axis} is out of bounds of the source tensor")
    count = own[axis] if own else 1
    if count != index.size:
        said = f"({index.size}) should be equal to source.size(dim): ({count}), for dim: {axis}"
        raise bad_shape(f"{name}(): Number of indices {said}")
    if (*own[:axis], *own[axis + 1 :]) != (*input.shape[:axis], *input.shape[axis + 1 :]):
        raise _other_shape(input, source)
    if input.numel() or input.ndim == 1:
        added = name == "index_add_" and input.ndim > 1
        _within(index, input.shape[axis], axis, RuntimeFault if added else IndexFault)
    return axis, index, _lined(source)


@of_numbers_too
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """``input`` with slices of ``source`` written where ``index`` names along a dimension."""
    same_dtype(input, source, "index_copy_(): self and source expected to have the same dtype")
    if is_batch(index):
        source = _lined(source)
        return _written(input, dim, _spread(index, dim, source.shape), source)
    axis = normal_dim(dim, len(input.shape))
    index = _vector(index, "index_copy_", _LONG)
    if not source.shape and index.size != 1:
        said = "index_copy_(): When source is scalar, index should have one element"
        raise IndexFault("E0301", said)
    if len(source.shape) != len(input.shape) and source.shape:
        said = "index_copy_(): When source and destination are not scalars, their dimensionality"
        raise IndexFault("E0301", f"{said} must match.")
    source = _lined(source)
    own, room = ([*v.shape[:axis], *v.shape[axis + 1 :]] for v in (source, input))
    if own != room:
        raise bad_shape("index_copy_(): Source/destination tensor must have same slice shapes.")
    if source.shape[axis] != index.size:
        said = f"Number of indices ({index.size}) should be equal to source.size(dim)"
        raise IndexFault("E0301", f"index_copy_(): {said}")
    _within(index, input.shape[axis], axis, IndexFault)
    before = (slice(None),) * axis
    return called(rowwise(O["put"](input, source, (*before, index))), "IndexCopyBackward0")


@of_numbers_too
def index_fill(input: Any, dim: int, index: Any, value: Operand) -> Any:
    """``input`` with a value written where ``index`` names along a dimension."""
    if is_batch(index):
        return index.each_of(index_fill, (input, dim, index, value), {})
    before = (slice(None),) * normal_dim(dim, len(input.shape))
    # A place that is named twice is filled once, and counts once in the derivative by the value.
    size = input.shape[normal_dim(dim, input.ndim)]
    index = whole(index, "index_fill_(): Expected dtype int64 for index.", IndexFault)
    if index.ndim > 1:
        raise RuntimeFault("E0307", "Index has to be a vector/scalar")
    _within(index, size, dim, IndexFault, -size)
    index = np.unique(np.where(index < 0, index + size, index))
    value = _filling(input, value, "index_fill_")
    name = f"IndexFillBackward{isinstance(value, Plain):d}"
    return called(O["put"](input, value, (*before, index)), name, input, value)


@by_element
@of_numbers_too
def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """``input`` with entries of ``src`` joined to it where ``index`` names along a dimension.

    ``reduce`` is ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``; without
    ``include_self`` the entry that stands there is left out. Raises RuntimeFault (E0304) for
    another ``reduce``.
    """
    places, part = _places(input, dim, index, src)
    name = "ScatterReduceBackward0"
    return called(_reduced(input, places, part, reduce, include_self, name), name, input, src)


@_of_one_rank
@by_element
@of_numbers_too
def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """``input`` with slices of ``source`` joined to it where ``index`` names along a dimension.

    ``reduce`` is ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``: see ``scatter_reduce``.
    """
    if reduce == "sum":
        raise bad_value("index_reduce(): Expected reduce to be one of prod, mean, amax or amin")
    refuse_kinds("bool complex", "index_func_", input.dtype)
    axis, index, source = _slices("index_reduce_", input, dim, index, source)
    index = index.reshape((-1,) + (1,) * (input.ndim - 1 - axis))
    index = np.broadcast_to(index, tuple(source.shape))
    places, source = _places(input, dim, index, source)
    return _reduced(input, places, source, reduce, include_self, "IndexReduceBackward0")


def _reduced(
    input: Any, places: tuple, src: Any, reduce: str, include_self: bool, name: str
) -> Any:
    """``input`` with the entries of ``src`` joined to it at ``places``."""
    if reduce[:2] == "am":
        refuse_kinds("complex", f"scatter_gather_tensor_cpu_reduce_{reduce}", input.dtype)
    shape = tuple(input.shape)
    flat, entries = O["reshape"](input, (-1,)), O["reshape"](src, (-1,))
    at = np.ravel_multi_index(np.broadcast_arrays(*places), shape).ravel()
    named, groups = np.unique(at, return_inverse=True)
    if include_self:
        entries = O["cat"](O["getitem"](flat, (named,)), entries, dim=0)
        groups = np.concatenate((np.arange(named.size), groups))
    found = joined(entries, groups, named.size, reduce)
    return called(O["reshape"](O["put"](flat, found, Apart((named,))), shape), name, input, src)


def broadcast_tensors(*tensors: Tensor) -> tuple:
    """Tensors expanded to the one shape they broadcast to."""
    shapes = [tuple(t.shape) for t in tensors]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise no_broadcast(shapes) from None
    return tuple(t if tuple(t.shape) == shape else O["expand"](t, shape) for t in tensors)


may_be("none", broadcast_tensors, masked_fill, narrow, select, index_fill)
may_be("same", gather, take, take_along_dim, apart=True)
may_be(
    "same", index_select, masked_select, apart=True,
    misfit="{name}(): self and result must have the same scalar type",
)  # fmt: skip
