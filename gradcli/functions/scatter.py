"""Writing parts of a tensor without changing it, and further products and shapes, under PyTorch's
names: composed of operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.dtypes import float16, promote_types, uint8
from gradcli.engine.record.apply import note_view
from gradcli.engine.record.composite import (
    called,
    in_float32,
    is_batch,
    laid_like,
    named,
    of_its_own,
    rowwise,
    runs_once,
)
from gradcli.engine.record.dtype_checks import of_truths, one_type, same_dtype
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Plain
from gradcli.functions.arithmetic import factor
from gradcli.functions.indexing import masked_fill, meeting_shape, whole, within_flat
from gradcli.functions.products import bmm, expands, mixed, plus
from gradcli.functions.reshaping import at_least, movedim, tensor_split
from gradcli.functions.subscripts import SHORT, byte_mask, no_index
from gradcli.ops.dims import normal_dim, strided_view
from gradcli.ops.errors import IndexFault, bad_dim, bad_dtype, bad_shape, bad_size, bad_value
from gradcli.ops.indexing import Apart
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.torch_messages import not_a


def _array(index: Any) -> Any:
    if not isinstance(index, Plain):
        return index
    if index.dtype.name in SHORT:
        raise no_index(f"a {index.dtype.name} tensor")
    return byte_mask(index) if index.dtype is uint8 else index.array


def index_put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """``input`` with ``values`` written (or added) where ``input[indices]`` stands.

    An entry that is named more than once keeps the last value written to it. The gradient goes to
    that value alone, in reverse and in forward mode; PyTorch's reverse mode gives it to each of the
    values, and its documentation calls such gradients incorrect. The same holds for ``put``,
    ``index_copy``, ``scatter`` and ``x[index] = value``. Raises TypeFault (E0303) for values that
    are no tensor, RuntimeFault (E0309) for those of another dtype.
    """
    if not hasattr(values, "dtype"):
        raise not_a("Tensor", "index_put", "values", 2, values)
    if not indices:
        raise bad_value("index_put: at least one index must be provided")
    mask = indices[0]
    lone = len(indices) == 1 and isinstance(mask, Plain) and mask.dtype.kind == 0
    if lone and values.numel() == 1 and not accumulate and mask.shape == input.shape[: mask.ndim]:
        # One number where a mask holds may be of any type, as masked_fill takes it.
        mask = O["reshape"](mask, (*mask.shape, *(1,) * (input.ndim - mask.ndim)))
        filled = masked_fill(input, mask, O["reshape"](values, ()))
        return called(filled, "IndexPutBackward0", input, values)
    one_type(input, values)
    for part in indices:
        if is_batch(part):
            return part.put_into(input, tuple(indices), values, accumulate)
    index = tuple(_array(i) for i in indices)
    if values.ndim > max(np.ndim(i) for i in index):
        room = np.broadcast_to(False, tuple(input.shape))[index].shape
        if values.ndim > len(room):
            said = f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast"
            raise bad_shape(f"{said} to indexing result of shape {list(room)}")
    if not accumulate:
        return called(O["put"](input, values, index), "IndexPutBackward0")
    shape = np.empty(tuple(input.shape), bool)[index].shape
    added = O["scatter"](O["expand"](values, shape), tuple(input.shape), index)
    return called(input + runs_once(added), "IndexPutBackward0", input, values)


def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """``input`` with ``source`` written (or added) where ``index`` counts in the flat tensor."""
    same_dtype(input, source, "put_(): self and source expected to have the same dtype")
    if not is_batch(index):
        index = whole(index, "put_(): Expected a long tensor for index, but got {}")
        if index.size != source.numel():
            said = "put_(): Expected source and index to have the same number of elements"
            raise IndexFault("E0301", said)
        within_flat(index, input.numel())
    flat, values = O["reshape"](input, (-1,)), O["reshape"](source, tuple(index.shape))
    written = O["reshape"](index_put(flat, (index,), values, accumulate), tuple(input.shape))
    return laid_like(called(written, "PutBackward0", input, source), input)


def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """``input`` with the entries of ``source``, in order, where ``mask`` holds."""
    of_truths("masked_scatter_", mask, mask.dtype.scalar_name)
    same_dtype(input, source, "masked_scatter: expected self and source to have same dtypes")
    if is_batch(mask):
        return mask.each_of(masked_scatter, (input, mask, source), {})
    shape = meeting_shape(mask.shape, input.shape)
    mask = np.broadcast_to(np.asarray(mask.array), shape)
    wide = input if tuple(input.shape) == shape else O["expand"](input, shape)
    count = int(mask.sum())
    if source.numel() < count:
        said = f"masked_scatter: the mask wants {count} entries, source has {source.numel()}"
        raise bad_shape(said, torch="Number of elements of source < number of ones in mask")
    values = O["getitem"](O["reshape"](source, (-1,)), slice(0, count))
    return called(rowwise(O["put"](wide, values, mask)), "MaskedScatterBackward0", input, source)


def _before(input: Any, dim: int) -> tuple:
    return (slice(None),) * normal_dim(dim, len(input.shape))


def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """``input`` with ``src`` as the slice at ``index`` along a dimension."""
    axis = normal_dim(dim, len(input.shape))
    fills(input, src, (*input.shape[:axis], *input.shape[axis + 1 :]))
    return called(O["put"](input, src, (*_before(input, dim), index)), "SelectScatterBackward0")


def fills(input: Any, src: Any, part: tuple) -> None:
    """Raise RuntimeFault for a source of another shape than the part it is written to (E0301), or
    with a gradient that whole numbers have not (E0309).
    """
    if not hasattr(src, "shape"):
        raise not_a("Tensor", "select_scatter", "src", 2, src)
    if tuple(src.shape) != part:
        said = f"src size = {list(src.shape)}, slice size = {list(part)}"
        raise bad_shape(f"expected src to have a size equal to the slice of self. {said}")
    if input.dtype.kind < 2 and getattr(src, "requires_grad", False):
        raise bad_dtype(f"Autograd not support dtype: {input.dtype.scalar_name}")


def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Any:  # fmt: skip
    """``input`` with ``src`` as the slices from ``start`` to ``end`` along a dimension."""
    before, part = _before(input, dim), slice(start, end, step)
    sizes = list(input.shape)
    sizes[len(before)] = len(range(*part.indices(sizes[len(before)])))
    fills(input, src, tuple(sizes))
    return called(O["put"](input, src, (*before, part)), "SliceScatterBackward0")


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """``input`` with ``src`` on a diagonal."""
    rank = len(input.shape)
    axes = [normal_dim(d, rank) for d in (dim1, dim2)]
    moved = movedim(input, axes, (-2, -1))
    rows, columns = _diagonal(moved.shape[-2], moved.shape[-1], offset)
    fills(input, src, (*moved.shape[:-2], rows.size))
    put = O["put"](moved, src, (Ellipsis, rows, columns))
    return called(movedim(put, (-2, -1), axes), "DiagonalScatterBackward0", input, src)


def _diagonal(height: int, width: int, offset: int) -> tuple:
    count = max(0, min(height + min(offset, 0), width - max(offset, 0)))
    steps = np.arange(count)
    return steps + max(0, -offset), steps + max(0, offset)


def _two_axes(dim1: int, dim2: int, rank: int) -> list[int]:
    axes = [normal_dim(d, rank) for d in (dim1, dim2)]
    if axes[0] == axes[1]:
        raise bad_dim(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return axes


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A diagonal of two dimensions, as the last one; a view where it is the main one."""
    rank = len(input.shape)
    axes = _two_axes(dim1, dim2, rank)
    moved = input if axes == [rank - 2, rank - 1] else movedim(input, axes, (-2, -1))
    if offset:
        rest: tuple = slice(max(-offset, 0), None), slice(max(offset, 0), None)
        if not _diagonal(moved.shape[-2], moved.shape[-1], offset)[0].size:
            rest = (slice(0),)  # in PyTorch it begins where the matrix does
        moved = O["getitem"](moved, (Ellipsis, *rest))
    return called(O["diagonal"](moved), "DiagonalBackward0", input, view=True)


_main = diagonal


def diag(input: Any, diagonal: int = 0) -> Any:
    """A matrix with the vector on a diagonal; of a matrix, a diagonal."""
    rank = len(input.shape)
    if rank == 1:
        return diag_embed(input, diagonal)
    if rank != 2:
        mend = "diag_embed makes matrices of the last dimension"
        raise bad_shape(f"diag(): Supports 1D or 2D tensors. Got {rank}D", help=mend)
    return called(O["clone"](_main(input, diagonal)), "DiagonalBackward0_copy", input)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the last dimension of ``input`` on a diagonal."""
    shape = tuple(input.shape)
    rank = len(shape) + 1
    axes = _two_axes(dim1, dim2, rank)
    size = shape[-1] + abs(offset)
    if offset:
        charge_shape((*shape[:-1], size, size))
        index = Apart((Ellipsis, *_diagonal(size, size, offset)))
        made = O["scatter"](input, (*shape[:-1], size, size), index)
    else:
        made = O["undiagonal"](input, (*shape, size))
    if axes != [rank - 2, rank - 1]:
        made = rowwise(of_its_own(movedim(made, (-2, -1), axes)))
    return called(made, "DiagEmbedBackward0", input)


def diagflat(input: Any, offset: int = 0) -> Any:
    """A matrix with all entries on a diagonal."""
    return diag_embed(O["reshape"](input, (-1,)), offset)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of a vector's entries, a row for each. Raises RuntimeFault (E0301) for others."""
    if len(x.shape) != 1:
        raise bad_shape("x must be a one-dimensional tensor.")
    if x.dtype.kind < 2:
        x = x.long()
    count = x.shape[0] if N is None else N
    if count < 0:
        raise bad_value("N must be non-negative.")
    powers = range(count) if increasing else range(count - 1, -1, -1)
    charge_shape((x.shape[0], count))
    columns = [x**p if p else O["ones_like"](x) for p in powers]
    return O["stack"](*columns, dim=-1) if columns else x.new_zeros((x.shape[0], 0))


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    beta, alpha = (
        factor(name, value, input, vec1, vec2) for name, value in (("beta", beta), ("alpha", alpha))
    )
    # That of a number counts too.
    kept = promote_types(input.dtype, promote_types(vec1.dtype, vec2.dtype))
    product = O["outer"](vec1.to(kept), vec2)
    expands(input, tuple(product.shape))
    return called(plus(input, product, beta, alpha), "AddrBackward0", input, vec1, vec2)


def _summed(batch1: Any, batch2: Any) -> Any:
    return O["sum"](bmm(batch1, batch2), 0).to(batch1.dtype)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha *`` the sum of the products of two stacks of matrices."""
    total = mixed(_summed, input, batch1, batch2, beta, alpha)
    return called(total, "AddbmmBackward0", input, batch1, batch2)


def _raised(rank: int) -> Any:
    def raised(*tensors: Any) -> Any:
        several = len(tensors) != 1 or isinstance(tensors[0], tuple | list)
        given = tensors[0] if len(tensors) == 1 and several else tensors
        out = tuple(at_least(given, rank))
        return out if several else out[0]

    return named(raised, f"atleast_{rank}d", f"Tensors with {rank} dimensions at least.")


atleast_1d, atleast_2d, atleast_3d = _raised(1), _raised(2), _raised(3)


def _splitting(name: str, doc: str, least: int, axis: int) -> Any:
    """``tensor_split`` along ``axis`` of what has as many dimensions as ``least``."""

    def split(input: Any, indices_or_sections: int | Sequence[int]) -> tuple:
        parts, rank = indices_or_sections, len(input.shape)
        dim = 0 if rank == least == 1 else axis
        if hasattr(parts, "shape"):
            raise not_a("int or a list of them", name, "indices_or_sections", 2, parts)
        whole = isinstance(parts, int) or all(isinstance(p, int) for p in parts)
        if whole and rank < least:
            said = f"torch.{name} requires a tensor with at least {least} dimension, but got a"
            raise bad_shape(f"{said} tensor with {rank} dimensions!")
        if isinstance(parts, int) and (parts < 1 or input.shape[dim] % parts):
            said = f"torch.{name} attempted to split along dimension {dim}, but the size of the"
            size = input.shape[dim]
            raise bad_value(f"{said} dimension {size} is not divisible by the split_size {parts}!")
        return tensor_split(input, parts, dim)

    return named(split, name, doc)


hsplit = _splitting("hsplit", "Pieces side by side.", 1, 1)
vsplit = _splitting("vsplit", "Pieces one below the other.", 2, 0)
dsplit = _splitting("dsplit", "Pieces along the third dimension.", 3, 2)


def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """All windows of a size along a dimension, as a last dimension."""
    axis = normal_dim(dimension, len(input.shape))
    length = input.shape[axis] if input.shape else 1
    if size > length or step < 1:
        said = f"maximum size for tensor at dimension {dimension} is {length} but size is {size}"
        raise bad_value(said if step > 0 else f"step is {step} but must be > 0")
    if size < 0:
        raise bad_value(f"size is {size} but must be >= 0")
    if not input.shape:  # one window, of the one entry there is, or of none
        return O["getitem"](O["reshape"](input, (1,)), slice(0, size))
    return O["unfold"](input, dimension, size, step)


def view_as_complex(input: Any) -> Any:
    """Complex numbers of two parts along the last dimension."""
    if input.dtype.kind != 2:
        raise bad_dtype("view_as_complex is only supported for half, float and double tensors")
    if input.dtype.itemsize == 2:
        raise bad_dtype("there are no complex numbers of halves", help="write x.float()")
    if not len(input.shape):
        raise bad_shape("Input tensor must have one or more dimensions")
    if input.shape[-1:] != (2,):
        raise bad_shape("Tensor must have a last dimension of size 2")
    if getattr(input, "__gradcli_rank__", 0) > 1:  # stands for a tensor in a transform
        return input.viewed(view_as_complex)
    parts = [O["getitem"](input, (Ellipsis, i)) for i in (0, 1)]
    out = called(O["of_parts"](*parts), "ViewAsComplexBackward0", input)
    if isinstance(input, Plain):
        if input.storage_offset() % 2:
            raise bad_size("Tensor must have a storage_offset divisible by 2")
        *steps, step = input.stride()
        if step != 1:
            raise bad_size("Tensor must have a last dimension with stride 1")
        if any(s % 2 for s, n in zip(steps, input.shape, strict=False) if n != 1):
            raise bad_size("Tensor must have a stride divisible by 2 for all but last dimension")
        array = input.own_array()
        if not array.size:  # of none NumPy keeps no steps
            array = strided_view(array, array.shape, [s * array.itemsize for s in (*steps, step)])
        out.array = array.view(out.array.dtype)[..., 0]
        note_view(out, input)
    return out


def ravel(input: Any) -> Any:
    """All entries in one dimension."""
    laid = getattr(input, "contiguous", None)
    return O["reshape"](input, (-1,)) if laid is None else laid().view(-1)  # symbols lie nowhere


def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Slices along a dimension scaled down to a norm of ``maxnorm`` at most."""
    if len(input.shape) < 2:
        raise bad_shape(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if not p > 0:
        raise bad_value("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise bad_value(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.dtype is float16:  # which the inverse of a small norm leaves
        return in_float32(renorm, "RenormBackward0", input, p=p, dim=dim, maxnorm=maxnorm)
    others = tuple(d for d in range(len(input.shape)) if d != normal_dim(dim, len(input.shape)))
    size = O["norm"](input, p, others, True)
    scaled = O["where"](size > maxnorm, input / (size + 1e-7) * maxnorm, input)
    return called(rowwise(scaled), "RenormBackward0", input)


may_be("wider", addr)
may_be(
    "none", view_as_complex, diag_embed, diagonal, diagonal_scatter, masked_scatter,
    select_scatter, hsplit, vsplit, dsplit, ravel, atleast_1d, atleast_2d, atleast_3d,
    index_put, put, diagflat, vander,
)  # fmt: skip
