"""Rearranging under PyTorch's names, composed of indexing and shape operators.

Each is a function and, where PyTorch has it so, a method of Tensor.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import zeros
from gradcli.engine.record.arguments import Anything, Asked, Operand
from gradcli.engine.record.composite import (
    bottom,
    by_element,
    called,
    of_its_own,
    of_no_batch,
    reshaped,
    rowwise,
)
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.multi_output import together
from gradcli.engine.record.out import may_be
from gradcli.engine.source_location import warn_once
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.functions import overloads
from gradcli.functions.indexing import _along, meeting_shape
from gradcli.ops.dims import normal_dim, some_dim
from gradcli.ops.errors import (
    TypeFault,
    UnwrittenFault,
    ValueFault,
    bad_dim,
    bad_dtype,
    bad_shape,
    bad_size,
    bad_type,
    bad_value,
)
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.torch_messages import not_a, too_long


def split(tensor: Asked, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple:
    """Pieces along a dimension: of one size (the last may be shorter), or of the sizes given."""
    axis, n = _axis("split", tensor, dim)
    size = split_size_or_sections
    if not isinstance(size, int):
        sizes = list(size)
        if min(sizes, default=0) < 0:
            said = "split_with_sizes expects split_sizes have only non-negative entries"
            raise bad_size(f"{said}, but got split_sizes={sizes}")
        if sum(sizes) != n:
            said = f"{n} (input tensor's size at dimension {axis}), but got split_sizes={sizes}"
            raise bad_size(f"split_with_sizes expects split_sizes to sum exactly to {said}")
        return _pieces(tensor, sizes, axis, "SplitWithSizesBackward0")
    if size < 0 or (not size and n):
        said = f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
        if size:
            said = f"split expects split_size be non-negative, but got split_size={size}"
        raise bad_size(said)
    sizes = [min(size, n - i) for i in range(0, n, size)] if n else [0]
    return _pieces(tensor, sizes, axis, "SplitBackward0")


def _pieces(x: Any, sizes: Sequence[int], axis: int, name: str) -> tuple:
    """Pieces of those sizes along a dimension, shown as the outputs of one node."""
    take, before = O["getitem"], (slice(None),) * axis
    ends = list(itertools.accumulate(sizes))
    pieces = [take(x, (*before, slice(e - n, e))) for e, n in zip(ends, sizes, strict=True)]
    return together(pieces, x, axis, "cat", name)


def chunk(input: Any, chunks: int, dim: int = 0) -> tuple:
    """At most ``chunks`` pieces of equal size along a dimension."""
    _, n = _axis("chunk", input, dim)
    if not isinstance(chunks, int):
        raise bad_type(f"chunk needs a whole number, got {type(chunks).__name__}")
    if chunks < 1:
        raise bad_size(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    return split(input, -(-n // chunks) if n else (0,) * chunks, dim)


def _axis(name: str, x: Any, dim: int) -> tuple[int, int]:
    """A dimension counted from 0, and its size. Raises RuntimeFault (E0305) for a 0-d tensor."""
    if not len(x.shape):
        raise bad_dim(f"{name} expects at least a 1-dimensional tensor", help="x.reshape(1)")
    axis = normal_dim(dim, len(x.shape))
    return axis, x.shape[axis]


def split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple:
    """Pieces of the given sizes along a dimension."""
    return split(input, tuple(split_sizes), dim)


def unsafe_split(input: Any, split_size: int | Sequence[int], dim: int = 0) -> tuple:
    """``split`` into pieces that may be written to: nothing notes that they share memory."""
    return _unsafe(split(input, split_size, dim))


def unsafe_split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> tuple:
    """``split_with_sizes`` as by ``unsafe_split``."""
    return _unsafe(split(input, split_sizes, dim), "UnsafeSplitWithSizesBackward0")


def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> tuple:
    """``chunk`` as by ``unsafe_split``."""
    return _unsafe(chunk(input, chunks, dim))


def _unsafe(pieces: tuple, name: str = "UnsafeSplitBackward0") -> tuple:
    for part in map(bottom, pieces):  # tangents that linearize records follow writes
        of_its_own(part).meta, node = None, part.edge and part.edge.origin
        if node is None:  # nothing is recorded
            part.edge = None
        called(wrap(part.array, part.dtype, node), name)
    return pieces


def unbind(input: Any, dim: int = 0) -> tuple:
    """The slices along a dimension, without it."""
    some_dim(dim, len(input.shape))
    axis, n = _axis("unbind", input, dim)
    charge_shape((n, 450), 1)  # a view of each, in bytes
    take, before = O["getitem"], (slice(None),) * axis
    pieces = [take(input, (*before, i)) for i in range(n)]
    return together(pieces, input, axis, "stack", "UnbindBackward0")


def tensor_split(
    input: Any, indices_or_sections: Anything= None, dim: int = 0, *, indices: Anything= None,
    sections: Anything= None,
) -> tuple:  # fmt: skip
    """Pieces along a dimension: so many, the first ones longer, or cut at the places given."""
    given = [x for x in (indices_or_sections, indices, sections) if x is not None]
    if len(given) != 1:
        raise TypeFault("E0302", "tensor_split takes either indices or sections", help="sections=2")
    (indices_or_sections,) = given
    if not len(input.shape):
        said = "a 1-dimensional tensor, but got a tensor with 0 dims"
        raise bad_dim(f"tensor_split expected at least {said}")
    _, size = _axis("tensor_split", input, dim)
    if isinstance(cut := indices_or_sections, Plain) and cut.dtype is not dtypes.int64:
        said = f"to have dtype of long, but got {cut.dtype.scalar_name}"
        raise bad_dtype(f"tensor_split expected tensor_indices_or_sections {said}")
    if getattr(indices_or_sections, "shape", None) == ():
        indices_or_sections = int(indices_or_sections)
    if isinstance(indices_or_sections, int):
        if indices_or_sections >= 2**63:
            raise too_long()
        if indices_or_sections < 1:
            raise bad_size(f"number of sections must be larger than 0, got {indices_or_sections}")
        charge_shape((indices_or_sections, 450), 1)  # a view of each, in bytes
        small, more = divmod(size, indices_or_sections)
        sizes = [small + (i < more) for i in range(indices_or_sections)]
        cuts = list(itertools.accumulate(sizes))[:-1]
    else:
        if getattr(indices_or_sections, "ndim", 1) > 1:
            said = f"a zero-dimensional or one-dimensional tensor, but got a tensor with {cut.ndim}"
            raise bad_dim(f"tensor_split expected tensor_indices_or_sections to be {said} dims")
        listed = getattr(indices_or_sections, "tolist", None)
        cuts = list(listed() if listed else indices_or_sections)
    ends = zip([0, *cuts], [*cuts, size], strict=True)
    return tuple(_along(input, dim, slice(start, end)) for start, end in ends)


def at_least(tensors: Sequence[Any], rank: int) -> list:
    """Tensors with dimensions of size 1 added until there are ``rank``."""
    out = []
    for t in tensors:
        if t.ndim < 1:
            t = O["reshape"](t, (1,) * rank)
        if rank >= 2 and t.ndim < 2:
            t = O["unsqueeze"](t, 0)
        out.append(O["unsqueeze"](t, -1) if rank == 3 and t.ndim < 3 else t)
    return out


def _some(name: str, tensors: Any) -> None:
    """Raise for what is no list of tensors, or an empty one."""
    if not isinstance(tensors, list | tuple | Tensor) and not hasattr(tensors, "__gradcli_rank__"):
        raise not_a("tuple of Tensors", name, "tensors", 1, tensors, f"write {name}([a, b])")
    if isinstance(tensors, list | tuple) and not tensors:
        raise bad_size(f"{name} expects a non-empty TensorList")


def hstack(tensors: Sequence[Any]) -> Any:
    """Tensors joined side by side."""
    _some("hstack", tensors)
    tensors = at_least(tensors, 1)
    return overloads.cat(tensors, 0 if tensors[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Any]) -> Any:
    """Tensors joined one below the other; vectors are rows."""
    _some("vstack", tensors)
    return overloads.cat(at_least(tensors, 2), 0)


def dstack(tensors: Sequence[Any]) -> Any:
    """Tensors joined along a third dimension."""
    _some("dstack", tensors)
    return overloads.cat(at_least(tensors, 3), 2)


def column_stack(tensors: Sequence[Any]) -> Any:
    """Vectors joined as columns."""
    _some("column_stack", tensors)
    return hstack([t if t.ndim > 1 else O["reshape"](t, (-1, 1)) for t in tensors])


def movedim(input: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Dimensions moved to other places; the rest keeps its order."""
    n = len(input.shape)
    pairs: Any = ([source], [destination]) if isinstance(source, int) else (source, destination)
    if isinstance(pairs[1], tuple | list) and len(pairs[0]) != len(pairs[1]):
        said = "movedim: Invalid source or destination dims:"
        said += f" source ({list(pairs[0])} dims) should contain the same number of dims as"
        raise bad_dim(f"{said} destination ({list(pairs[1])} dims)")
    come, go = ([normal_dim(d, n) for d in dims] for dims in pairs)
    for name, dims, given in ("source", come, pairs[0]), ("destination", go, pairs[1]):
        if len(set(dims)) < len(dims):
            said = f"movedim: repeated dim in `{name}` ({list(given)})"
            raise bad_dim(said, help="name each dimension once")
    rest = iter([d for d in range(n) if d not in come])
    placed = dict(zip(go, come, strict=True))
    order = tuple(placed[i] if i in placed else next(rest) for i in range(n))
    return called(O["permute"](input, order), f"{'Permute' if n else 'Alias'}Backward0")


def permute(input: Any, dims: Sequence[int]) -> Any:
    """Dimensions in a new order."""
    return O["permute"](input, tuple(dims))


def unsqueeze(input: Any, dim: int) -> Any:
    """A dimension of size 1 put in at ``dim``."""
    return O["unsqueeze"](input, dim)


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged."""
    return O["transpose"](input, dim0, dim1)


def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Two dimensions exchanged, by NumPy's names."""
    return O["transpose"](input, axis0, axis1)


def unflatten(input: Any, dim: int, sizes: Tensor | Sequence[int]) -> Any:
    """A dimension split into several."""
    at = _axis("unflatten", input, dim)[0]
    shape = tuple(input.shape)
    sizes = tuple(int(n) for n in sizes)
    if not sizes:
        raise bad_size("unflatten: sizes must be non-empty")
    if -1 in sizes and (known := -math.prod(sizes)) > 0 and shape[at] % known == 0:
        sizes = tuple(shape[at] // known if n == -1 else n for n in sizes)
    if -1 not in sizes and math.prod(sizes) != shape[at]:
        said = f"don't multiply up to the size of dim {at} ({shape[at]}) in the input tensor"
        raise bad_size(f"unflatten: Provided sizes {list(sizes)} {said}")
    return O["reshape"](input, (*shape[:at], *sizes, *shape[at + 1 :]))


def expand_as(input: Any, other: Any) -> Any:
    """Expanded to another tensor's shape."""
    return O["expand"](input, tuple(other.shape))


def view_as(input: Any, other: Any) -> Any:
    """A view in another tensor's shape."""
    return input.view(tuple(other.shape))


def reshape_as(input: Any, other: Any) -> Any:
    """Reshaped to another tensor's shape."""
    return reshaped(O["reshape"](input, tuple(other.shape)), input)


@by_element
def repeat_interleave(
    input: Any, repeats: Tensor | int | None = None, dim: int | None = None, *,
    output_size: int | None = None,
) -> Any:  # fmt: skip
    """Every entry repeated in its place; of whole numbers alone, each place so many times.

    Raises RuntimeFault: E0301 for repeats that do not fit, or that do not add up to
    ``output_size``, E0304 for negative ones.
    """
    if repeats is None:
        if len(input.shape) != 1:
            raise bad_shape("repeat_interleave only accept 1D vector as repeat")
        places = wrap(np.arange(input.shape[0]).astype(input.array.dtype), input.dtype)
        return repeat_interleave(places, input, 0, output_size=output_size)
    if dim is None:
        input, dim = O["reshape"](input, (-1,)), 0
    size = input.shape[normal_dim(dim, len(input.shape))]
    times = repeats._numbers() if isinstance(repeats, Plain) else repeats
    kind = dtypes.dtype_of(np.asarray(times))
    if np.ndim(times) > 1:
        raise bad_shape("repeats must be 0-dim or 1-dim tensor")
    if kind.name not in ("int64", "int32"):
        said = f'"repeat_interleave_cpu" not implemented for {kind.scalar_name!r}'
        raise UnwrittenFault("E0309", said)
    if np.size(times) and np.min(times) < 0:
        plain = not hasattr(repeats, "shape")
        raise bad_value("Repeats must be non-negative" if plain else "repeats can not be negative")
    if np.size(times) not in (1, size):
        said = f"repeats.size(0) = {np.size(times)} and input.size(0) = {size}"
        raise bad_shape(f"repeats must have the same size as input along dim, but got {said}")
    total = int(np.sum(times, dtype=float)) * (size if np.size(times) == 1 else 1)
    if output_size is not None and total != output_size:
        said = f"output_size is {output_size}, the repeats add up to {total}"
        raise bad_shape(f"allocated size does not match required size: {said}")
    charge_shape((max(0, total), input.numel() // max(1, size)))
    if not isinstance(repeats, Plain):
        shape, axis = list(input.shape), normal_dim(dim, len(input.shape))
        each = O["unsqueeze"](input, axis + 1)
        each = O["expand"](each, (*shape[: axis + 1], int(times), *shape[axis + 1 :]))
        shape[axis] = total
        return O["reshape"](rowwise(O["clone"](each)), tuple(shape))
    charge_shape((2, max(0, total)))  # the indices too
    found = rowwise(_along(input, dim, np.repeat(np.arange(size), times)))
    return called(found, "IndexSelectBackward0", input)


def fliplr(input: Any) -> Any:
    """Columns in reverse order."""
    if input.ndim < 2:
        raise bad_shape("Input must be >= 2-d.")
    return O["flip"](input, (1,))


def flipud(input: Any) -> Any:
    """Rows in reverse order."""
    if not input.ndim:
        raise bad_shape("Input must be >= 1-d.")
    return O["flip"](input, (0,))


def rot90(input: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    """Turned by so many right angles, from the first dimension to the second."""
    if not isinstance(k, int):
        raise not_a("int", "rot90", "k", 1, k)
    if input.ndim < 2:
        raise bad_shape(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if len(dims) != 2:
        raise bad_dim(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    for d in dims:
        normal_dim(d, input.ndim)
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        said = f"but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        raise bad_dim(f"expected rotation dims to be different, {said}")
    flips = ((), (dims[1],), tuple(dims), (dims[0],))[k % 4]
    turned = O["flip"](input, flips) if flips else rowwise(O["clone"](input))
    turned = of_its_own(O["transpose"](turned, *dims)) if k % 2 else turned
    return called(turned, "Rot90Backward0", input)


@by_element
def unravel_index(indices: Asked, shape: Anything) -> tuple:
    """Indices into the flat tensor of a ``shape`` as an index for each dimension.

    Raises TypeFault (E0303) unless they are whole numbers.
    """
    if indices.dtype.kind != 1:
        raise bad_type(f"expected 'indices' to be integer dtype, but got {indices.dtype!r}")
    if not isinstance(shape, int | tuple | list):
        raise bad_type(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    wrong = next((n for n in sizes if not isinstance(n, int)), None)
    if wrong is not None:
        raise bad_type(f"expected 'shape' sequence to only contain ints, but got {type(wrong)}")
    if any(n < 0 for n in sizes):
        raise ValueFault("E0301", f"'shape' cannot have negative values, but got {sizes}")
    steps = np.cumprod((1, *sizes[:0:-1]))[::-1].tolist() if sizes else []
    indices = indices.to(dtypes.int64)
    found = [indices // step % n for step, n in zip(steps, sizes, strict=True)]
    return unbind(O["stack"](*found, dim=-1), -1) if found else ()


@of_no_batch
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The places of the entries that are not zero, a row each; or an index per dimension."""
    array = np.atleast_1d(input.array)
    charge_shape((2, array.ndim, int(np.count_nonzero(array))))
    found = np.stack(np.nonzero(array))  # a column behind the other
    if as_tuple:
        return tuple(wrap(f, dtypes.int64) for f in found)
    return wrap(found[: input.ndim].T, dtypes.int64)


@by_element
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Any:
    """``nonzero`` with ``size`` rows: the first ones, or ``fill_value`` below them."""
    if size < 0:
        raise bad_value("nonzero_static: 'size' must be an non-negative integer")
    charge_shape((size, input.ndim))
    found = nonzero(input).array[:size]
    out = np.full((size, input.ndim), fill_value, np.int64)
    out[: len(found)] = found
    return wrap(out, dtypes.int64)


@by_element
def argwhere(input: Any) -> Any:
    """The places of the entries that are not zero, a row each."""
    return nonzero(input)


def where(condition: Any, input: Operand = None, other: Operand = None) -> Any:
    """``input`` where the condition holds, else ``other``; alone, the places where it holds."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return O["where"](condition, input, other)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple:
    """Grids of the coordinates that vectors give, one for each."""
    one = len(tensors) == 1 and isinstance(tensors[0], list | tuple)
    listed = list(tensors[0] if one else tensors)
    if not listed:
        raise bad_value("meshgrid expects a non-empty TensorList")
    if not isinstance(indexing, str | None):
        raise not_a("str", "meshgrid", "indexing", 2, indexing)
    for i, value in enumerate(listed):
        if not getattr(value, "__gradcli_rank__", 0):
            raise not_a("Tensor", "meshgrid", "tensors", i + 1, value)
        if len(value.shape) > 1:
            raise bad_shape("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
    if len({t.dtype for t in listed}) > 1:
        raise bad_dtype("meshgrid expects all tensors to have the same dtype")
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument."
        )
    elif indexing not in ("ij", "xy"):
        said = 'torch.meshgrid: indexing must be one of "xy" or "ij", but received: '
        raise bad_value(f"{said}{indexing}")
    order = [*range(len(listed))]
    if indexing == "xy":
        order[:2] = order[1::-1]
    shape = tuple(listed[k].numel() for k in order)
    grids = []
    for i, k in enumerate(order):
        lined = O["reshape"](listed[k], (1,) * i + (-1,) + (1,) * (len(shape) - 1 - i))
        grids.append(O["expand"](lined, shape))
    return tuple(grids[k] for k in order)


def cartesian_prod(*tensors: Tensor) -> Any:
    """All combinations of entries of vectors, a row each."""
    for value in tensors:
        _check_vector(value)
    if len(tensors) == 1:
        return tensors[0]
    return overloads.stack([O["reshape"](g, (-1,)) for g in meshgrid(*tensors, indexing="ij")], 1)


def _check_vector(value: Any) -> None:
    if len(value.shape) != 1:
        raise bad_shape(f"Expect a 1D vector, but got shape {list(value.shape)}")


_MANY = 300
"""So many chosen or left out, the choices are at least 2**300 and are not counted."""


def _choices(n: int, r: int) -> int:
    """n over r, or an enormous number where that is one."""
    if not 0 <= r <= n:
        return 0
    if min(r, n - r) > _MANY:
        return 1 << 50
    return math.comb(n, r)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of ``r`` entries of a vector, a row each."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    _check_vector(input)
    size = input.shape[0]
    if r < 0:
        raise bad_value(f"Expect a non-negative number, but got {r}")
    if not r:
        return input.new_zeros((0,))
    count = _choices(size + r - 1 if with_replacement and size else size, r)
    charge_shape((count, 8 * (r + 4)))  # each row is first a tuple of Python's
    places = list(choose(range(size), r)) if count else []
    return O["getitem"](input, np.array(places, np.int64).reshape(-1, r))


def block_diag(*tensors: Tensor) -> Any:
    """Matrices along a diagonal, zeros elsewhere."""
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            said = f"must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions"
            raise bad_shape(f"torch.block_diag: Input tensors {said}")
    if not tensors:
        return zeros(1, 0)
    dtype = dtypes.meeting(*tensors)  # a number widens no matrix
    wide = (t.to(dtype) for t in tensors)
    blocks = [t if t.ndim == 2 else O["reshape"](t, (1, t.numel())) for t in wide]
    width = sum(b.shape[1] for b in blocks)
    rows, start = [], 0
    for b in blocks:
        height, n = b.shape
        sides = [b.new_zeros(height, start), b, b.new_zeros(height, width - start - n)]
        rows.append(overloads.cat(sides, 1))
        start += n
    return called(overloads.cat(rows, 0), "BlockDiagBackward0", *tensors)


def t(input: Any) -> Any:
    """A matrix transposed; a vector as it is."""
    rank = len(input.shape)
    if rank > 2:
        mend = "x.mT exchanges the last two"
        raise bad_dim(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D", help=mend)
    # PyTorch gives a vector a node of its own here too.
    return called(O["mT" if rank == 2 else "reverse_dims"](input), "TBackward0")


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape."""
    return input.shape == other.shape


@of_no_batch
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and the same entries."""
    if not isinstance(other, Tensor):
        raise not_a("Tensor", "equal", "other", 2, other)
    return input.shape == other.shape and bool(np.all(input.array == other.array))


@of_no_batch
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all entries agree to within atol + rtol*abs(other)."""
    if not isinstance(other, Tensor):
        raise not_a("Tensor", "allclose", "other", 2, other)
    if input.dtype is not other.dtype:
        said = f"{input.dtype.scalar_name} did not match {other.dtype.scalar_name}"
        raise bad_dtype(said, help=f"write other.to({input.dtype!r})")
    meeting_shape(input.shape, other.shape)
    return bool(O["isclose"](input, other, rtol, atol, equal_nan).all())


may_be("joined", column_stack, hstack, vstack, dstack, apart=True)
may_be(
    "same", nonzero,
    misfit="nonzero: Expected out tensor to have scalar type {made} but got scalar type{given}",
)  # fmt: skip
may_be(
    "none", block_diag, combinations, cartesian_prod, chunk, unsafe_chunk, fliplr, flipud,
    meshgrid, rot90, split, unsafe_split, split_with_sizes, unsafe_split_with_sizes,
    tensor_split, unravel_index, unflatten, unbind, movedim, unsqueeze, permute, transpose, t,
    argwhere, repeat_interleave, swapaxes, allclose, equal, is_same_size,
)  # fmt: skip
