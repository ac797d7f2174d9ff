"""Products of vectors, matrices and stacks of them under PyTorch's many names.

``mm`` and the like insist on the dimensions that they are named for; ``kron``, ``tensordot`` and
``cross``, and the sums with a product (``addmm``), are composed of operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.dtypes import float16
from gradcli.engine.record.arguments import Anything, Asked
from gradcli.engine.record.composite import called, in_float32, of_its_own, rowwise
from gradcli.engine.record.dtype_checks import same_dtype
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions.matrices import beside
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import bad_dtype, bad_shape, bad_size, bad_value
from gradcli.ops.operator import OPERATORS as O
from gradcli.ops.operator import refuse_derivative
from gradcli.ops.shape import expand_words
from gradcli.ops.torch_messages import not_a, types_differ

_PLACES = {"mm": ("self", "mat2"), "mv": ("self", "vec"), "bmm": ("batch1", "batch2")}
_KERNELS = {"mm": "addmm_impl_cpu_", "mv": "addmv_impl_cpu", "bmm": "bmm"}
_ADDED = {"addmm": ("mat1", "mat2"), "addmv": ("mat", "vec"), "baddbmm": ("batch1", "batch2")}


def _shapes(name: str, *checks: tuple[Any, int], within: str = "") -> None:
    for i, (value, rank) in enumerate(checks):
        if not getattr(value, "__gradcli_rank__", 0):
            if within:
                raise not_a("Tensor", within, _ADDED[within][i], i + 2, value)
            argument = ("input", "mat2" if name != "mv" else "vec")[i]
            raise not_a("Tensor", name, argument, i + 1, value)
        if value.ndim != rank:
            ranks = [c.ndim for c, _ in checks]
            place = _ADDED[within][i] if within else _PLACES[name][i]
            if rank == 3:
                said = f"{place} must be a 3D tensor"
            elif name == "mm":
                said = f"{place} must be a matrix"
                said += f", got {value.ndim}-D tensor" if within else ""
            else:
                said = f"vector + matrix @ vector expected, got 1, {', '.join(map(str, ranks))}"
            raise bad_shape(said, help="@ multiplies vectors, matrices and stacks of them")
    (x, _), (y, _) = checks
    refuse_kinds("bool", _KERNELS[name], x.dtype)
    if x.dtype is not y.dtype:
        raise types_differ("matmul", x, y)


def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices."""
    return _mm(input, mat2)


def _mm(input: Any, mat2: Any, within: str = "") -> Any:
    _shapes("mm", (input, 2), (mat2, 2), within=within)
    return O["matmul"](input, mat2)


def mv(input: Any, vec: Any) -> Any:
    """The product of a matrix and a vector."""
    _shapes("mv", (input, 2), (vec, 1))
    return O["matmul"](input, vec)


def bmm(input: Any, mat2: Any) -> Any:
    """The products of two stacks of matrices."""
    _shapes("bmm", (input, 3), (mat2, 3))
    if input.shape[0] != mat2.shape[0]:
        room, got = [input.shape[0], input.shape[2]], list(mat2.shape[:2])
        said = "Expected size for first two dimensions of batch2 tensor to be:"
        raise bad_shape(f"{said} {room} but got: {got}.")
    return called(O["matmul"](input, mat2), "BmmBackward0")


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * mat1 @ mat2``."""
    total = mixed(partial(_mm, within="addmm"), input, mat1, mat2, beta, alpha)
    return called(total, "AddmmBackward0", input, mat1, mat2)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * mat @ vec``."""
    return called(mixed(mv, input, mat, vec, beta, alpha), "AddmvBackward0", input, mat, vec)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * batch1 @ batch2``, for stacks of matrices."""
    total = mixed(bmm, input, batch1, batch2, beta, alpha)
    return called(total, "BaddbmmBackward0", input, batch1, batch2)


def mixed(multiply: Any, input: Any, x: Any, y: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * multiply(x, y)``, the factors in the one dtype that all have."""
    refuse_derivative("addmm", beta=beta, alpha=alpha)
    if getattr(x, "dtype", None) is getattr(y, "dtype", None) is input.dtype is float16:
        in_floats = partial(mixed, multiply)
        return in_float32(in_floats, "ToCopyBackward0", input, x, y, beta=beta, alpha=alpha)
    product = multiply(x, y)
    same_dtype(input, product, "self and mat2 must have the same dtype, but got {} and {}")
    refuse_kinds("bool", "addmm_impl_cpu_", input.dtype)
    expands(input, tuple(product.shape))
    beta, alpha = input.dtype.entry(beta), input.dtype.entry(alpha)
    return rowwise(plus(input, product, beta, alpha))


def plus(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * product``; NaN in an input that ``beta=0`` leaves out is none."""
    product = product if alpha == 1 else alpha * product
    if beta == 0:
        return beside(product + O["zeros_like"](input), input)
    return (input if beta == 1 else beta * input) + product


def expands(input: Any, room: tuple[int, ...]) -> None:
    """Raise RuntimeFault (E0301) for a tensor that does not expand to a shape."""
    said = expand_words(tuple(input.shape), room, input.dtype.name)
    if said is not None:
        raise bad_shape(said, help="the first argument broadcasts to the product")


def vdot(input: Any, other: Any) -> Any:
    """The inner product of two vectors, the first one conjugated."""
    return called(O["dot"](input.conj(), other), "VdotBackward0", input, other)


def _one_type(input: Any, other: Any) -> None:
    if input.dtype is not other.dtype:
        raise bad_dtype("both inputs should have same dtype", help="write x.to(y.dtype)")


def inner(input: Any, other: Any) -> Any:
    """Products of last dimensions, summed."""
    if not input.ndim or not other.ndim:
        return input * other
    _one_type(input, other)
    if input.shape[-1] != other.shape[-1]:
        said = "inner() the last dimension must match on both input tensors but got shapes"
        raise bad_shape(f"{said} {list(input.shape)} and {list(other.shape)}")
    if input.ndim == other.ndim == 1:
        out = O["dot"](input, other)
    else:
        refuse_kinds("bool", "addmm_impl_cpu_", input.dtype)
        # Every row of the one with every row of the other.
        lone = (1,) * (other.ndim - 1)
        rows = O["reshape"](input, (*input.shape[:-1], *lone, input.shape[-1]))
        out = O["sum"](rows * other, -1)
        out = out if out.dtype is input.dtype else out.to(input.dtype)
    return O["reshape"](out, tuple(out.shape))  # a view, as PyTorch's


def kron(input: Tensor, other: Tensor) -> Any:
    """The table of all products of entries, block by block."""
    rank = max(input.ndim, other.ndim)
    a, b = ((1,) * (rank - t.ndim) + tuple(t.shape) for t in (input, other))
    left = O["reshape"](input, tuple(n for size in a for n in (size, 1)))
    right = O["reshape"](other, tuple(n for size in b for n in (1, size)))
    shape = tuple(m * n for m, n in zip(a, b, strict=True))
    return called(of_its_own(O["reshape"](left * right, shape)), "UnsafeViewBackward0")


def multi_dot(tensors: Sequence[Any]) -> Any:
    """The product of several matrices."""
    if len(tensors) < 2:
        raise bad_size(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    if not isinstance(tensors, list | tuple):
        raise not_a("tuple of Tensors", "linalg_multi_dot", "tensors", 1, tensors)
    ends = {0: "the first tensor", len(tensors) - 1: "the last tensor"}
    for i, tensor in enumerate(tensors):
        if tensor.ndim != 2 and not (i in ends and tensor.ndim == 1):
            said = f"{ends[i]} must be 1D or 2D" if i in ends else f"tensor {i} must be 2D"
            raise bad_shape(f"multi_dot(): {said} but got {tensor.ndim}D")
    first, *others = tensors
    out = O["unsqueeze"](first, 0) if first.ndim == 1 else first
    for i, other in enumerate(others, 1):
        if other.dtype is not first.dtype:
            raise bad_dtype("multi_dot(): all tensors must have be the same dtype")
        before = tensors[i - 1]
        if before.shape[-1] != other.shape[0]:
            said = f"{list(before.shape)} and {list(other.shape)} cannot be multiplied"
            raise bad_shape(f"multi_dot(): tensors {i - 1} and {i} with shapes {said}")
        out = O["matmul"](out, O["unsqueeze"](other, -1) if other.ndim == 1 else other)
    return O["reshape"](out, (*first.shape[:-1], *tensors[-1].shape[1:]))


def chain_matmul(*matrices: Tensor) -> Any:
    """The product of several matrices."""
    if not matrices:
        raise bad_size("chain_matmul(): Expected one or more matrices")
    for m in matrices:
        if m.ndim != 2:
            raise bad_shape(f"Tensor dimension is {m.ndim}, expected 2 instead.")
    return multi_dot(matrices) if len(matrices) != 1 else O["clone"](matrices[0])


def tensordot(a: Asked, b: Asked, dims: Anything = 2) -> Any:
    """The sum over ``dims`` dimensions of products: the last of ``a`` with the first of ``b``."""
    dims = dims.tolist() if hasattr(dims, "tolist") else dims
    if not isinstance(dims, int | tuple | list):
        said = "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]]"
        raise bad_value(f"{said} containing two lists, but got dims={dims}")
    if isinstance(dims, int):
        if dims < 0:
            raise bad_value(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise bad_shape(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        first, second = dims
        if isinstance(first, int):
            first, second = [first], [second]
        if len(first) != len(second):
            raise bad_shape("both dimension lists should have same length")
        left = [normal_dim(d, a.ndim) for d in first]
        right = [normal_dim(d, b.ndim) for d in second]
    _one_type(a, b)
    for i, j in zip(left, right, strict=True):
        if a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]):
            place = i - a.ndim if isinstance(dims, int) else i
            sizes = f"{a.shape[i]} in dim {place} and second has size {b.shape[j]} in dim {j}"
            raise bad_shape(f"contracted dimensions need to match, but first has size {sizes}")
    for i, j in zip(left, right, strict=True):  # a size of 1 broadcasts
        if a.shape[i] != b.shape[j]:
            a = O["sum"](a, i, True).to(a.dtype) if b.shape[j] == 1 else a
            b = O["sum"](b, j, True).to(b.dtype) if a.shape[i] == 1 else b
    kept_a = [d for d in range(a.ndim) if d not in left]
    kept_b = [d for d in range(b.ndim) if d not in right]
    shape = [a.shape[d] for d in kept_a] + [b.shape[d] for d in kept_b]
    joined = int(np.prod([a.shape[d] for d in left], dtype=int))
    rows, columns = (int(np.prod([t.shape[d] for d in kept], dtype=int))
                     for t, kept in ((a, kept_a), (b, kept_b)))  # fmt: skip
    x = O["reshape"](O["permute"](a, (*kept_a, *left)), (rows, joined))
    y = O["reshape"](O["permute"](b, (*right, *kept_b)), (joined, columns))
    return O["reshape"](O["matmul"](x, y), tuple(shape))


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The vector product of three-vectors along a dimension: the first of size 3 if left out.

    ``linalg.cross`` takes the last one then.
    """
    if dim is None:
        if 3 not in input.shape:
            raise bad_shape("no dimension of size 3 in input")
        dim = tuple(input.shape).index(3)
    if not isinstance(dim, int):
        raise not_a("int", "cross", "dim", 2, dim)
    if input.ndim != other.ndim:
        raise bad_shape("linalg.cross: inputs must have the same number of dimensions.")
    normal_dim(dim, input.ndim)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        said = f"length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        raise bad_shape(f"linalg.cross: inputs dimension {dim} must have {said}")
    refuse_kinds("bool", "cross", input.dtype)
    same_dtype(input, other)
    turn = O["roll"]
    x, y = input, other
    first = turn(x, -1, dim) * turn(y, -2, dim) - turn(x, -2, dim) * turn(y, -1, dim)
    return called(first, "LinalgCrossBackward0", input, other)


may_be("same", cross, apart=True)
may_be("wider", kron)
may_be(
    "same", multi_dot,
    misfit="multi_dot(): expected out tensor to have dtype {made_c} but got {given_c}",
)  # fmt: skip
