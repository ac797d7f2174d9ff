"""Shape: linear operators that move entries without computing; each transpose moves them back.

Dimensions count from 0, or from the end when negative. Results of the view-like ones (reshape where
it can, expand, transpose, squeeze ...) share memory with their input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gradcli.ops.comparison import zeros_like
from gradcli.ops.cupy_compat import zeros
from gradcli.ops.declaration.batching import Batch, matrices
from gradcli.ops.declaration.node_names import by_dim
from gradcli.ops.dims import (
    Dims,
    copied,
    in_format,
    in_rows,
    named_dims,
    normal_dim,
    normal_dims,
    some_dim,
    strided_view,
    suggested_format,
)
from gradcli.ops.errors import (
    IndexFault,
    RuntimeFault,
    bad_dim,
    bad_shape,
    bad_size,
    bad_type,
    bad_value,
)
from gradcli.ops.kinds import linear
from gradcli.ops.memory_budget import budget, charge_shape, check_view
from gradcli.ops.numerics.summation import accurate_sum
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.ops.torch_messages import SCALARS


def count(shape: Sequence[int], dim: Dims) -> Any:
    """How many entries a reduction over ``dim`` joins."""
    if dim is None:
        return math.prod(shape)
    if dim.__class__ is int and -len(shape) <= dim < len(shape):
        return shape[dim]
    total = 1
    for d in normal_dims(dim, len(shape)):
        total = total * shape[d]
    return total


def _reshape(x: Any, shape: Any = ()) -> Any:
    if budget.on and x.__class__ is np.ndarray and not x.flags.c_contiguous:
        charge_shape(x.shape, x.itemsize)  # mostly a copy
    if shape.__class__ is tuple and shape and min(shape) >= -1:
        try:
            return x.reshape(shape)
        except (ValueError, TypeError, AttributeError):
            pass  # what is wrong with it is found below
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
    if shape and min(shape) < -1:
        wrong = next(i for i, n in enumerate(shape) if n < -1)
        raise bad_size(
            f"invalid shape dimension {shape[wrong]} at index {wrong} of shape "
            f"{list(shape)}",
        )  # fmt: skip
    try:
        return np.reshape(x, shape)
    except ValueError:
        if shape.count(-1) > 1:
            raise bad_size("only one dimension can be inferred", help="write -1 once") from None
        have = np.shape(x)
        said = f"shape '{list(shape)}' is invalid for input of size {np.size(x)}"
        if not np.size(x) and 0 in shape:
            said = (
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        raise bad_size(
            said,
            help=f"the input has shape {tuple(have)}: the product of the sizes must agree",
            operands=((0, f"shape {tuple(have)}"),),
        ) from None


# ---- Under vmap: the batch is the first dimension ---------------------------------------------


def reshaped(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element in another shape, or what is put back into one."""
    shape = params["shape"]
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if -1 in shape:
        # Found by the operator itself on one element, so that its errors are about that.
        shape = _reshape(np.empty(tuple(batch.args[0].shape)), shape).shape
    return op(batch.values[0], shape=(batch.count, *shape))


def expanded(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element broadcast to a shape."""
    x, rank, shape = batch.values[0], batch.ranks[0], tuple(params["shape"])
    lead = len(shape) - rank
    if lead < 0:
        return NotImplemented
    own = tuple(x.shape)
    x = reshape(x, (own[0], *((1,) * lead), *own[1:]))
    return op(x, shape=(batch.count, *shape))


def summed_to(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element summed to the shape it was broadcast from."""
    x, shape = batch.values[0], tuple(params["shape"])
    lead = batch.ranks[0] - len(shape)
    if lead > 0:
        x = OPERATORS["sum"](x, dim=tuple(range(1, lead + 1)))
    return op(x, shape=(batch.count, *shape))


def transposed(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Two dimensions of each element exchanged."""
    rank = batch.ranks[0]
    moved = {name: normal_dim(params[name], rank) + 1 for name in ("dim0", "dim1")}
    return op(batch.values[0], **moved) if rank else batch.values[0]


def permuted(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """The dimensions of each element in another order."""
    dims = tuple(params["dims"])
    if len(dims) != batch.ranks[0]:
        return NotImplemented
    moved = (0, *(d + 1 for d in normal_dims(dims, len(dims))))
    return op(batch.values[0], dims=moved)


def reversed_dims(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """The dimensions of each element in reverse order."""
    return permute(batch.values[0], dims=(0, *range(batch.ranks[0], 0, -1)))


def squeezed(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element without some dimensions of size 1."""
    try:
        dims = named_dims(params["dim"], batch.ranks[0])
    except IndexFault as fault:  # PyTorch's own class here
        raise bad_dim(fault.message) from None
    value = batch.values[0]  # of numbers a view too
    return op(value, dim=tuple(d + 1 for d in dims)) if dims else OPERATORS["getitem"](value, ...)


def unsqueezed(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element with one more dimension of size 1."""
    return op(batch.values[0], dim=normal_dim(params["dim"], batch.ranks[0] + 1) + 1)


def flipped(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element with the order of entries along some dimensions reversed."""
    dims = named_dims(params["dims"], batch.ranks[0])
    return op(batch.values[0], dims=tuple(d + 1 for d in dims))  # a copy, also of no dimensions


def rolled(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """The entries of each element rotated along a dimension, or all in order."""
    x, shifts, dims = batch.values[0], params["shifts"], params["dims"]
    if dims is None:  # all entries in order
        if not isinstance(shifts, int):
            return NotImplemented
        flat = reshape(x, (batch.count, math.prod(x.shape[1:])))
        return reshape(op(flat, shifts, 1), tuple(x.shape))
    dims = _in_turn(dims, batch.ranks[0])
    if not dims:
        return NotImplemented
    return op(x, shifts, tuple(d + 1 for d in dims) if len(dims) > 1 else dims[0] + 1)


def tiled(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """Each element repeated along its dimensions."""
    x, repeats = batch.values[0], params["repeats"]
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    lead = len(repeats) - batch.ranks[0]
    if lead > 0:
        x = reshape(x, (batch.count, *(1,) * lead, *x.shape[1:]))
    return op(x, (1, *(1,) * -lead, *repeats))


reshape: Operator = linear(
    "reshape",
    _reshape,
    lambda g, shape: reshape(g, shape),
    grad_name="ViewBackward0",
    example="sum(reshape(x, (2, 2))[0]) --x 1,2,3,4",
    doc="The same entries, in order, in another shape; one size may be -1.",
    sizes="shape",
    moves="view",
    numpy="np.reshape({0}, {shape})",
    batching=reshaped,
)


def expand_words(
    given: Sequence[int], shape: tuple[Any, ...], dtype: str = "float32"
) -> str | None:
    """What PyTorch says of an expansion that cannot be: the last dimension that does not fit."""
    for back in range(1, min(len(given), len(shape)) + 1):
        if given[-back] not in (1, shape[-back]) and shape[-back] != -1:
            return (
                f"The expanded size of the tensor ({shape[-back]}) must match the existing size "
                f"({given[-back]}) at non-singleton dimension {len(shape) - back}.  Target sizes: "
                f"{list(shape)}.  Tensor sizes: {list(given)}"
            )
    if len(given) > len(shape):
        return (
            f"expand(gradcli.{SCALARS.get(dtype, dtype)}Tensor{{{list(given)}}}, "
            f"size={list(shape)}): the number of sizes provided ({len(shape)}) must be greater or "
            f"equal to the number of dimensions in the tensor ({len(given)})"
        )
    if -1 in (lead := shape[: len(shape) - len(given)]):
        return (
            "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
            f"dimension {lead.index(-1)}"
        )
    return None


_NUMPY = (np.ndarray, np.generic)


def _repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """``x`` broadcast to a shape, without copying: np.broadcast_to in a third of the time.

    None where that does not go. A new dimension of size 1 has the stride of a contiguous one.
    """
    given, lead = x.shape, len(shape) - x.ndim
    if lead < 0 or not x.size:
        return None
    strides = [0] * lead
    for n, wanted, stride in zip(given, shape[lead:], x.strides, strict=True):
        if n != wanted and n != 1:
            return None
        strides.append(stride if n == wanted else 0)
    for i in range(min(lead, len(shape) - 1) - 1, -1, -1):
        if shape[i] == 1:
            strides[i] = shape[i + 1] * strides[i + 1]
    if not x.flags.c_contiguous:
        return strided_view(x, shape, strides)  # else it would stay protected
    # Of a number an array: the memory of one may be written to, that of NumPy's numbers not.
    out = np.ndarray(shape, x.dtype, np.asarray(x), 0, strides)
    out.flags.writeable = False
    return out


def _expand(x: Any, shape: Sequence[int] = ()) -> Any:
    shape = tuple(shape)
    given = x.shape if isinstance(x, _NUMPY) else np.shape(x)
    if -1 in shape:
        lead = len(shape) - len(given)
        shape = tuple(given[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(shape))
    out = _repeated(x, shape) if isinstance(x, _NUMPY) and -1 not in shape else None
    if out is not None:
        check_view(shape, x.itemsize)
        return out
    try:
        return np.broadcast_to(x, shape)
    except ValueError:
        raise bad_size(
            f"cannot expand shape {tuple(given)} to {shape}",
            help="only a dimension of size 1 can be expanded",
            operands=((0, f"shape {tuple(given)}"),),
            torch=expand_words(given, shape, str(x.dtype)),
        ) from None


expand = linear(
    "expand",
    _expand,
    lambda g, shape: sum_to(g, shape),
    aliases=("broadcast_to",),
    doc="Dimensions of size 1 repeated, without copying.",
    example="sum(expand(x, (3, 2))) --x 1,2",
    sizes="shape",
    moves="view",
    numpy="np.broadcast_to({0}, {shape})",
    pytorch="torch.broadcast_to({0}, {shape})",
    batching=expanded,
)


def _sum_to(x: Any, shape: Sequence[int] = ()) -> Any:
    shape = tuple(shape)
    lead = np.ndim(x) - len(shape)
    if lead > 0:
        x = accurate_sum(x, tuple(range(lead)))
    elif lead < 0:
        shape = shape[-lead:]  # dimensions that are missing are to be expanded
    ones = tuple([i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1])
    x = accurate_sum(x, ones, True) if ones else x
    return in_rows(x) if (ones or lead > 0) and x.__class__ is np.ndarray else x


sum_to: Operator = linear(
    "sum_to",
    _sum_to,
    lambda g, shape: expand(g, shape),
    grad_name="SumToSizeBackward0",
    aliases=("sum_to_size",),
    doc="The transpose of broadcasting: repeated dimensions summed.",
    example='sum(sum_to(x, (1, 2))) --x "1,2;3,4"',
    batching=summed_to,
)


def _transpose(x: Any, dim0: int = -2, dim1: int = -1) -> Any:
    n = np.ndim(x)
    dims = normal_dim(dim0, n), normal_dim(dim1, n)
    return np.swapaxes(x, *dims) if n else x


transpose: Operator = linear(
    "transpose",
    _transpose,
    lambda g, dim0, dim1: transpose(g, dim0, dim1),
    aliases=("swapaxes",),
    doc="Two dimensions exchanged.",
    example='sum(transpose(A, 0, 1) @ x) --A "1,2;3,4" --x 1,2',
    moves="view",
    numpy="np.swapaxes({0}, {dim0}, {dim1})",
    pytorch="torch.transpose({0}, {dim0}, {dim1})",
    batching=transposed,
)
reverse_dims: Operator = linear(
    "reverse_dims",
    np.transpose,
    lambda g: reverse_dims(g),
    grad_name="PermuteBackward0",
    doc="All dimensions in reverse order; `x.T`.",
    example='sum(A.T @ x) --A "1,2;3,4" --x 1,2',
    moves="view",
    pytorch="({0}).mT",
    batching=reversed_dims,
    public=False,
)


def _mT(x: Any) -> Any:
    if np.ndim(x) == 1:
        said = "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."
        raise bad_dim(said, help="x[:, None] is a column")
    return np.swapaxes(x, -1, -2) if np.ndim(x) else x


mT: Operator = linear(
    "mT",
    _mT,
    lambda g: mT(g),
    grad_name="TransposeBackward0",
    doc="The last two dimensions exchanged; `x.mT`.",
    example='sum(A.mT @ x) --A "1,2;3,4" --x 1,2',
    moves="view",
    numpy="np.swapaxes({0}, -1, -2)",
    pytorch="({0}).mT",
    batching=matrices,
    public=False,
)


def _permute(x: Any, dims: Sequence[int] = ()) -> Any:
    if dims.__class__ is tuple:
        try:
            return x.transpose(dims)
        except (ValueError, TypeError, AttributeError):
            pass  # what is wrong with them is found below
    if len(dims) != np.ndim(x):
        said = f"permute got {len(dims)} dimensions for a tensor with {np.ndim(x)}"
        told = "permute(sparse_coo): number of dimensions in the tensor input does not match the"
        told += f" length of the desired ordering of dimensions i.e. input.dim() = {np.ndim(x)} is"
        raise bad_dim(said, torch=f"{told} not equal to len(dims) = {len(dims)}")
    try:
        return np.transpose(x, normal_dims(dims, np.ndim(x)))
    except RuntimeFault as fault:
        fault.torch = "permute(): duplicate dims are not allowed."
        raise


def _unpermute(g: Any, dims: Sequence[int]) -> Any:
    back = [0] * len(dims)
    for i, d in enumerate(normal_dims(dims, len(dims))):
        back[d] = i
    return permute(g, tuple(back))


permute = linear(
    "permute",
    _permute,
    lambda g, dims: _unpermute(g, dims),
    doc="Dimensions in a new order.",
    example='sum(permute(A, (1, 0)) @ x) --A "1,2;3,4" --x 1,2',
    sizes="dims",
    moves="view",
    numpy="np.transpose({0}, {dims})",
    pytorch="torch.permute({0}, {dims})",
    batching=permuted,
)


_PYTHON = (float, int, complex)


def _squeeze(x: Any, dim: Dims = None) -> Any:
    shape = np.shape(x)
    if dim.__class__ is int and shape:
        d = normal_dim(dim, len(shape))
        return x.squeeze(d) if shape[d] == 1 else x
    dims = [d for d in named_dims(dim, len(shape)) if shape[d] == 1]
    return np.squeeze(x, axis=tuple(dims)) if dims else x


def _unsqueeze(x: Any, dim: int = 0) -> Any:
    shape = list(np.shape(x))
    place = normal_dim(dim, len(shape) + 1)
    # With the stride that PyTorch gives.
    if x.__class__ is np.ndarray and (1 in shape or not x.flags.c_contiguous):
        steps = list(x.strides)
        steps.insert(place, shape[place] * steps[place] if place < x.ndim else x.itemsize)
        shape.insert(place, 1)
        return strided_view(x, shape, steps)
    shape.insert(place, 1)
    return np.reshape(x, shape) if isinstance(x, _PYTHON) else x.reshape(shape)


squeeze = linear(
    "squeeze",
    _squeeze,
    lambda g, shape: reshape(g, shape),
    doc="Dimensions of size 1 removed.",
    example='sum(squeeze(A)) --A "1,2"',
    moves="view",
    numpy="np.squeeze({0}, {dim})",
    batching=squeezed,
    node={"name": by_dim("SqueezeBackward0", "SqueezeBackward1", "SqueezeBackward2")},
)
unsqueeze = linear(
    "unsqueeze",
    _unsqueeze,
    lambda g, shape: reshape(g, shape),
    doc="A dimension of size 1 put in at ``dim``.",
    example="sum(unsqueeze(x, 0)) --x 1,2",
    moves="view",
    numpy="np.expand_dims({0}, {dim})",
    pytorch="torch.unsqueeze({0}, {dim})",
    batching=unsqueezed,
)


def _flip(x: Any, dims: Dims = None) -> Any:
    index = [slice(None)] * np.ndim(x)
    for d in named_dims(dims, len(index)):
        index[d] = slice(None, None, -1)
    # A copy: a write to the result must not show in x, as it would in NumPy's view.
    return copied(x[(*index, ...)])


flip: Operator = linear(
    "flip",
    _flip,
    lambda g, dims: flip(g, dims),
    required="dims",
    sizes="dims",
    doc="Entries in reverse order along dimensions.",
    latex=r"\operatorname{flip}",
    example="dot(flip(x, 0), y) --x 1,2 --y 3,4",
    batching=flipped,
    moves="copy",
    out="none",
)


def _roll(x: Any, shifts: Any = 1, dims: Dims = None) -> Any:
    for shift in shifts if isinstance(shifts, tuple | list) else (shifts,):
        if not isinstance(shift, int | np.integer):
            kind = type(shift).__name__
            raise bad_type(f"roll moves entries by whole numbers, not by a {kind}")
    dims = () if dims is None else dims
    counts = [len(v) if isinstance(v, tuple | list) else 1 for v in (shifts, dims)]
    if not counts[0]:
        raise bad_value("`shifts` required")
    if counts[0] != counts[1] and max(counts) > 1:
        said = f"shifts and dimensions must align. shifts: {counts[0]}, dims:{counts[1]}"
        raise bad_value(said)
    if not counts[1]:
        if np.ndim(x):
            x = in_rows(x)
            charge_shape(x.shape, x.itemsize)  # beside the copy
        return np.roll(x, shifts)
    if not np.ndim(x):
        some_dim(dims if isinstance(dims, int) else dims[0], 0)
    return in_format(np.roll(x, shifts, _in_turn(dims, np.ndim(x))), suggested_format(x))


def _in_turn(dims: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions of a roll, counted from 0: the shifts of one that is named twice add up."""
    named = dims if isinstance(dims, tuple | list) else (dims,)
    return tuple(normal_dim(d, ndim) for d in named)


roll: Operator = linear(
    "roll",
    _roll,
    lambda g, shifts, dims: roll(g, _opposite(shifts), dims),
    required="shifts",
    node={"dims": True},
    doc="Entries moved round along dimensions.",
    example="dot(roll(x, 1), x) --x 1,2,3",
    numpy="np.roll({0}, {shifts}, {dims})",
    latex=lambda given, rank: _rolled(given["shifts"], given["dims"] if rank > 1 else None),
    batching=rolled,
    moves="copy",
    out="none",
)


def _rolled(shifts: Any, dims: Any) -> str:
    parts = [shifts] if isinstance(shifts, int) else list(shifts)
    mark = ",".join(map(str, parts))
    if dims is not None:
        along = ",".join(map(str, (dims,) if isinstance(dims, int) else dims))
        mark += rf", \mathrm{{dim}}\,{along}"
    return rf"\operatorname{{roll}}_{{{mark}}}"


def _opposite(shifts: Any) -> Any:
    return tuple(-s for s in shifts) if isinstance(shifts, tuple | list) else -shifts


def _tile(x: Any, repeats: Any = ()) -> Any:
    blocks, kept = _blocks(np.shape(x), repeats)
    total = [blocks[i] * blocks[i + 1] for i in range(0, len(blocks), 2)]
    charge_shape(total, x.itemsize)
    out = np.empty_like(x, shape=blocks, order="C")
    out[...] = np.reshape(x, kept)
    return out.reshape(total)


def _untile(g: Any, shape: Sequence[int], repeats: Any) -> Any:
    blocks, kept = _blocks(shape, repeats)
    found = reshape(sum_to(reshape(g, blocks), kept), shape)
    return zeros_like(found) if 0 in blocks[::2] else found


def _blocks(shape: Sequence[int], repeats: Any) -> tuple[list[int], list[int]]:
    """The repeats and the size of each dimension in turn, and the same before it is repeated."""
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    repeats = (1,) * (len(shape) - len(repeats)) + repeats
    sizes = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    blocks = [n for pair in zip(repeats, sizes, strict=True) for n in pair]
    return blocks, [n for size in sizes for n in (1, size)]


tile = linear(
    "tile",
    _tile,
    lambda g, shape, repeats: _untile(g, shape, repeats),
    required="repeats",
    grad_name="RepeatBackward0",
    doc="The tensor repeated along each dimension.",
    example="dot(tile(x, (2,)), y) --x 1,2 --y 1,2,3,4",
    sizes="repeats",
    numpy="np.tile({0}, {repeats})",
    batching=tiled,
    public=False,
    moves="copy",
    out="none",
)
diagonal = linear(
    "diagonal",
    lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    lambda g, shape: undiagonal(g, shape),
    doc="The diagonals of the last two dimensions.",
    example='sum(diagonal(A)) --A "1,2;3,4"',
    core="(n,n)->(n)",
    moves="view",
    numpy="np.diag",
    pytorch="torch.diag",
    latex=r"\operatorname{diag}",
    batching=matrices,
)


def _undiagonal(x: Any, shape: Sequence[int] = ()) -> Any:
    charge_shape(shape, x.itemsize)
    out = zeros(x, shape)
    # In a flattened matrix the diagonal is every (columns + 1)-th entry.
    rows, columns = shape[-2:]
    step = columns + 1
    out.reshape((*shape[:-2], rows * columns))[..., : min(rows, columns) * step : step] = x
    return out


undiagonal: Operator = linear(
    "undiagonal",
    _undiagonal,
    lambda g: diagonal(g),
    grad_name="DiagEmbedBackward0",
    doc="Zeros of a shape with x on the diagonals of the last two dimensions.",
    numpy="np.diag({0})",
    pytorch="torch.diag({0})",
    batching=reshaped,
    public=False,
)


def _at_least_matrix(name: str, x: Any) -> Any:
    if np.ndim(x) < 2:
        said = f"{name}: input tensor must have at least 2 dimensions"
        raise bad_shape(said, operands=((0, f"shape {np.shape(x)}"),))
    return x


FEW = 1 << 12
"""Entries of matrices up to which it is remembered which of them lie in a triangle."""


@lru_cache(maxsize=64)
def _below(rows: int, columns: int, diagonal: int) -> Any:
    """Whether each entry of a matrix is on a diagonal or below it."""
    return np.tri(rows, columns, diagonal, bool)


def _triangle(name: str, x: Any, diagonal: int) -> Any:
    """``np.tril`` or ``np.triu``, which take most of their time to find out where it lies."""
    _at_least_matrix(name, x)
    rows, columns = x.shape[-2:]
    if x.__class__ is not np.ndarray or rows * columns > FEW:
        return in_rows(getattr(np, name)(x, diagonal))
    nothing = x.dtype.type(0)
    if name == "tril":
        return in_rows(np.where(_below(rows, columns, diagonal), x, nothing))
    return in_rows(np.where(_below(rows, columns, diagonal - 1), nothing, x))


def _of_triangle(name: str, side: str, other: str) -> Operator:
    def latex(given: Mapping[str, Any], rank: int) -> str:
        diagonal = given["diagonal"]
        return rf"\operatorname{{{name}}}" + (f"_{{{diagonal}}}" if diagonal else "")

    op: Operator = linear(
        name,
        lambda x, diagonal=0: _triangle(name, x, diagonal),
        lambda g, diagonal: op(g, diagonal),
        doc=f"Entries on and {side} a diagonal, zeros {other}.",
        example=f'sum({name}(A)) --A "1,2;3,4"',
        numpy=f"np.{name}({{0}}, {{diagonal}})",
        latex=latex,
        batching=matrices,
    )
    return op


tril, triu = _of_triangle("tril", "below", "above"), _of_triangle("triu", "above", "below")
