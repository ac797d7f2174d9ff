"""Shape: linear operators that move entries without computing; each transpose moves them back.

Dimensions count from 0, or from the end when negative. Results of the view-like ones (reshape where
it can, expand, transpose, squeeze ...) share memory with their input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.cupy_compat import zeros
from gradcli.ops.dims import Dims, normal_dim, normal_dims
from gradcli.ops.errors import RuntimeFault, TypeFault
from gradcli.ops.kinds import linear
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.torch_messages import SCALARS


def count(shape: Sequence[int], dim: Dims) -> Any:
    """How many entries a reduction over ``dim`` joins."""
    total = 1
    for d in normal_dims(dim, len(shape)):
        total = total * shape[d]
    return total


def unreduce(g: Any, shape: Sequence[int], dim: Dims, keepdim: bool) -> Any:
    """Put the reduced dimensions back as ones, so that ``g`` broadcasts against ``shape``."""
    if keepdim or dim is None:
        return g
    dims = normal_dims(dim, len(shape))
    return reshape(g, tuple(1 if i in dims else n for i, n in enumerate(shape)))


def _reshape(x: Any, shape: Any) -> Any:
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
    if shape and min(shape) < -1:
        wrong = next(i for i, n in enumerate(shape) if n < -1)
        raise RuntimeFault(
            "E0306", f"invalid shape dimension {shape[wrong]} at index {wrong} of shape "
            f"{list(shape)}",
        )  # fmt: skip
    try:
        return np.reshape(x, shape)
    except ValueError:
        if shape.count(-1) > 1:
            raise RuntimeFault(
                "E0306", "only one dimension can be inferred", help="write -1 once"
            ) from None
        have = np.shape(x)
        raise RuntimeFault(
            "E0306",
            f"shape '{list(shape)}' is invalid for input of size {np.size(x)}",
            help=f"the input has shape {tuple(have)}: the product of the sizes must agree",
            operands=((0, f"shape {tuple(have)}"),),
        ) from None


reshape = linear(
    "reshape",
    _reshape,
    lambda g, shape: reshape(g, shape),
    inputs=("x",),
    params={"shape": ()},
    dtypes="keep",
    grad_name="ViewBackward0",
    example="sum(reshape(x, (2, 2))[0]) --x 1,2,3,4",
    doc="The same entries, in order, in another shape; one size may be -1.",
    sizes="shape",
    view=True,
    numpy="np.reshape({0}, {shape})",
)


def expand_words(given: Sequence[int], shape: tuple, dtype: str = "float32") -> str | None:
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
    return None


def _repeated(number: Any, shape: tuple[int, ...]) -> Any:
    """One number everywhere, without copying: np.broadcast_to in a seventh of the time."""
    out = np.ndarray(shape, number.dtype, number, 0, (0,) * len(shape))
    out.flags.writeable = False
    return out


def _expand(x: Any, shape: Sequence[int]) -> Any:
    given = np.shape(x)
    shape = tuple(shape)
    lead = len(shape) - len(given)
    full = tuple(given[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(shape))
    try:
        if not given and isinstance(x, np.ndarray | np.generic):
            return _repeated(x, full)
        return np.broadcast_to(x, full)
    except ValueError:
        raise RuntimeFault(
            "E0306",
            f"cannot expand shape {tuple(given)} to {shape}",
            help="only a dimension of size 1 can be expanded",
            operands=((0, f"shape {tuple(given)}"),),
            torch=expand_words(given, shape, str(x.dtype)),
        ) from None


expand = linear(
    "expand",
    _expand,
    lambda g, shape: sum_to(g, shape),
    inputs=("x",),
    params={"shape": ()},
    dtypes="keep",
    aliases=("broadcast_to",),
    doc="Dimensions of size 1 repeated, without copying.",
    example="sum(expand(x, (3, 2))) --x 1,2",
    sizes="shape",
    view=True,
    numpy="np.broadcast_to({0}, {shape})",
    pytorch="torch.broadcast_to({0}, {shape})",
)


def _sum_to(x: Any, shape: Sequence[int]) -> Any:
    shape = tuple(shape)
    lead = np.ndim(x) - len(shape)
    if lead > 0:
        x = np.sum(x, axis=tuple(range(lead)))
    ones = tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1)
    return np.sum(x, axis=ones, keepdims=True) if ones else x


sum_to = linear(
    "sum_to",
    _sum_to,
    lambda g, shape: expand(g, shape),
    inputs=("x",),
    params={"shape": ()},
    dtypes="keep",
    grad_name="SumToSizeBackward0",
    aliases=("sum_to_size",),
    doc="The transpose of broadcasting: repeated dimensions summed.",
    example='sum(sum_to(x, (1, 2))) --x "1,2;3,4"',
)


def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    n = np.ndim(x)
    dims = normal_dim(dim0, n), normal_dim(dim1, n)
    return np.swapaxes(x, *dims) if n else x


transpose = linear(
    "transpose",
    _transpose,
    lambda g, dim0, dim1: transpose(g, dim0, dim1),
    params={"dim0": -2, "dim1": -1},
    dtypes="keep",
    aliases=("swapaxes",),
    doc="Two dimensions exchanged.",
    example='sum(transpose(A, 0, 1) @ x) --A "1,2;3,4" --x 1,2',
    view=True,
    numpy="np.swapaxes({0}, {dim0}, {dim1})",
    pytorch="torch.transpose({0}, {dim0}, {dim1})",
)
reverse_dims = linear(
    "reverse_dims",
    np.transpose,
    lambda g: reverse_dims(g),
    dtypes="keep",
    grad_name="PermuteBackward0",
    doc="All dimensions in reverse order; `x.T`.",
    example='sum(A.T @ x) --A "1,2;3,4" --x 1,2',
    view=True,
    numpy="np.transpose",
    pytorch="({0}).mT",
)
mT = linear(
    "mT",
    lambda x: np.swapaxes(x, -1, -2),
    lambda g: mT(g),
    dtypes="keep",
    grad_name="TransposeBackward0",
    doc="The last two dimensions exchanged; `x.mT`.",
    example='sum(A.mT @ x) --A "1,2;3,4" --x 1,2',
    view=True,
    numpy="np.swapaxes({0}, -1, -2)",
    pytorch="({0}).mT",
)


def _permute(x: Any, dims: Sequence[int]) -> Any:
    if len(dims) != np.ndim(x):
        raise RuntimeFault(
            "E0305",
            f"permute got {len(dims)} dimensions for a tensor with {np.ndim(x)}",
            torch="permute(sparse_coo): number of dimensions in the tensor input does not match "
            f"the length of the desired ordering of dimensions i.e. input.dim() = {np.ndim(x)} is "
            f"not equal to len(dims) = {len(dims)}",
        )
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
    params={"dims": ()},
    dtypes="keep",
    doc="Dimensions in a new order.",
    example='sum(permute(A, (1, 0)) @ x) --A "1,2;3,4" --x 1,2',
    sizes="dims",
    view=True,
    numpy="np.transpose({0}, {dims})",
    pytorch="torch.permute({0}, {dims})",
)


def _squeeze(x: Any, dim: Dims) -> Any:
    shape = np.shape(x)
    dims = [d for d in normal_dims(dim, len(shape)) if shape[d] == 1]
    return np.squeeze(x, axis=tuple(dims)) if dims else x


def _unsqueeze(x: Any, dim: int) -> Any:
    return np.expand_dims(x, normal_dim(dim, np.ndim(x) + 1))


squeeze = linear(
    "squeeze",
    _squeeze,
    lambda g, shape: reshape(g, shape),
    params={"dim": None},
    dtypes="keep",
    doc="Dimensions of size 1 removed.",
    example='sum(squeeze(A)) --A "1,2"',
    view=True,
    numpy="np.squeeze({0}, {dim})",
)
unsqueeze = linear(
    "unsqueeze",
    _unsqueeze,
    lambda g, shape: reshape(g, shape),
    params={"dim": 0},
    dtypes="keep",
    doc="A dimension of size 1 put in at ``dim``.",
    example="sum(unsqueeze(x, 0)) --x 1,2",
    view=True,
    numpy="np.expand_dims({0}, {dim})",
    pytorch="torch.unsqueeze({0}, {dim})",
)
flip = linear(
    "flip",
    # A copy: a write to the result must not show in x, as it would in NumPy's view.
    lambda x, dims: np.flip(x, normal_dims(dims, np.ndim(x))).copy(),
    lambda g, dims: flip(g, dims),
    params={"dims": None},
    dtypes="keep",
    doc="Entries in reverse order along dimensions.",
    latex=r"\operatorname{flip}",
    example="dot(flip(x, 0), y) --x 1,2 --y 3,4",
)


def _roll(x: Any, shifts: Any, dims: Dims) -> Any:
    for shift in shifts if isinstance(shifts, tuple | list) else (shifts,):
        if not isinstance(shift, int | np.integer):
            kind = type(shift).__name__
            raise TypeFault("E0303", f"roll moves entries by whole numbers, not by a {kind}")
    return np.roll(x, shifts, dims if dims is None else normal_dims(dims, np.ndim(x)))


roll = linear(
    "roll",
    _roll,
    lambda g, shifts, dims: roll(g, _opposite(shifts), dims),
    params={"shifts": 1, "dims": None},
    dtypes="keep",
    doc="Entries moved round along dimensions.",
    example="dot(roll(x, 1), x) --x 1,2,3",
    numpy="np.roll({0}, {shifts}, {dims})",
    latex=lambda given, rank: _rolled(given["shifts"], given["dims"] if rank > 1 else None),
)


def _rolled(shifts: Any, dims: Any) -> str:
    parts = [shifts] if isinstance(shifts, int) else list(shifts)
    mark = ",".join(map(str, parts))
    if dims is not None:
        along = ",".join(map(str, (dims,) if isinstance(dims, int) else dims))
        mark += rf", \mathrm{{dim}}\,{along}"
    return rf"\operatorname{{roll}}_{{{mark}}}"


def _opposite(shifts: Any) -> Any:
    return -shifts if isinstance(shifts, int) else tuple(-s for s in shifts)


def _tile(x: Any, repeats: Any) -> Any:
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    sizes = (1,) * (len(repeats) - np.ndim(x)) + np.shape(x)
    each = (1,) * (len(sizes) - len(repeats)) + repeats
    charge_shape([r * n for r, n in zip(each, sizes, strict=True)])
    return np.tile(x, repeats)


def _untile(g: Any, shape: Sequence[int], repeats: Any) -> Any:
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    repeats = (1,) * (len(shape) - len(repeats)) + repeats
    sizes = (1,) * (len(repeats) - len(shape)) + tuple(shape)
    blocks = tuple(n for pair in zip(repeats, sizes, strict=True) for n in pair)
    kept = tuple(n for size in sizes for n in (1, size))
    return reshape(sum_to(reshape(g, blocks), kept), shape)


tile = linear(
    "tile",
    _tile,
    lambda g, shape, repeats: _untile(g, shape, repeats),
    params={"repeats": ()},
    dtypes="keep",
    grad_name="RepeatBackward0",
    doc="The tensor repeated along each dimension.",
    example="dot(tile(x, (2,)), y) --x 1,2 --y 1,2,3,4",
    sizes="repeats",
    numpy="np.tile({0}, {repeats})",
)
diagonal = linear(
    "diagonal",
    lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    lambda g, shape: undiagonal(g, shape),
    dtypes="keep",
    doc="The diagonals of the last two dimensions.",
    example='sum(diagonal(A)) --A "1,2;3,4"',
    core="(n,n)->(n)",
    view=True,
    numpy="np.diag",
    pytorch="torch.diag",
    latex=r"\operatorname{diag}",
)


def _undiagonal(x: Any, shape: Sequence[int]) -> Any:
    charge_shape(shape, x.itemsize)
    out = zeros(x, shape)
    # In a flattened matrix the diagonal is every (columns + 1)-th entry.
    rows, columns = shape[-2:]
    step = columns + 1
    out.reshape((*shape[:-2], rows * columns))[..., : min(rows, columns) * step : step] = x
    return out


undiagonal = linear(
    "undiagonal",
    _undiagonal,
    lambda g: diagonal(g),
    inputs=("x",),
    params={"shape": ()},
    dtypes="keep",
    grad_name="DiagEmbedBackward0",
    doc="Zeros of a shape with x on the diagonals of the last two dimensions.",
    numpy="np.diag({0})",
    pytorch="torch.diag({0})",
)


def _at_least_matrix(name: str, x: Any) -> Any:
    if np.ndim(x) < 2:
        raise RuntimeFault(
            "E0301",
            f"{name}: input tensor must have at least 2 dimensions",
            operands=((0, f"shape {np.shape(x)}"),),
        )
    return x


def _marked(head: str, diagonal: int) -> str:
    return f"{head}_{{{diagonal}}}" if diagonal else head


tril = linear(
    "tril",
    lambda x, diagonal: np.tril(_at_least_matrix("tril", x), diagonal),
    lambda g, diagonal: tril(g, diagonal),
    params={"diagonal": 0},
    dtypes="keep",
    doc="Entries on and below a diagonal, zeros above.",
    example='sum(tril(A)) --A "1,2;3,4"',
    numpy="np.tril({0}, {diagonal})",
    latex=lambda given, rank: _marked(r"\operatorname{tril}", given["diagonal"]),
)
triu = linear(
    "triu",
    lambda x, diagonal: np.triu(_at_least_matrix("triu", x), diagonal),
    lambda g, diagonal: triu(g, diagonal),
    params={"diagonal": 0},
    dtypes="keep",
    doc="Entries on and above a diagonal, zeros below.",
    example='sum(triu(A)) --A "1,2;3,4"',
    numpy="np.triu({0}, {diagonal})",
    latex=lambda given, rank: _marked(r"\operatorname{triu}", given["diagonal"]),
)
