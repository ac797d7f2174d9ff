"""Products of vectors, matrices and stacks of them under PyTorch's many names.

``mm`` and kin insist on the dimensions that they are named for; ``kron``, ``tensordot``, ``cross``
and the sums with a product (``addmm``) are composed of operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.naming import called, of_its_own
from gradcli.ops.core import OPERATORS as O
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import RuntimeFault, TypeFault


def _shapes(name: str, *checks: tuple[Any, int]) -> None:
    for value, rank in checks:
        if not getattr(value, "__gradcli_rank__", 0):
            raise TypeFault("E0303", f"{name} needs tensors, got {type(value).__name__}")
        if value.ndim != rank:
            raise RuntimeFault(
                "E0301",
                f"{name}: expected a tensor of {rank} dimensions, got shape {tuple(value.shape)}",
                help="@ multiplies vectors, matrices and stacks of them",
            )
    first = checks[0][0].dtype
    for value, _ in checks[1:]:
        if value.dtype is not first:
            raise RuntimeFault(
                "E0309",
                f"expected m1 and m2 to have the same dtype, but got: {first.name} != "
                f"{value.dtype.name}",
                help="write x.to(y.dtype)",
            )


def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices."""
    _shapes("mm", (input, 2), (mat2, 2))
    return O["matmul"](input, mat2)


def mv(input: Any, vec: Any) -> Any:
    """The product of a matrix and a vector."""
    _shapes("mv", (input, 2), (vec, 1))
    return O["matmul"](input, vec)


def bmm(input: Any, mat2: Any) -> Any:
    """The products of two stacks of matrices."""
    _shapes("bmm", (input, 3), (mat2, 3))
    if input.shape[0] != mat2.shape[0]:
        raise RuntimeFault("E0301", "bmm: the stacks have different heights")
    return called(O["matmul"](input, mat2), "BmmBackward0")


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * mat1 @ mat2``."""
    return called(_mixed(input, mm(mat1, mat2), beta, alpha), "AddmmBackward0", input, mat1, mat2)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * mat @ vec``."""
    return called(_mixed(input, mv(mat, vec), beta, alpha), "AddmvBackward0", input, mat, vec)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * batch1 @ batch2``, for stacks of matrices."""
    total = _mixed(input, bmm(batch1, batch2), beta, alpha)
    return called(total, "BaddbmmBackward0", input, batch1, batch2)


def _mixed(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    return (input if beta == 1 else beta * input) + (product if alpha == 1 else alpha * product)


def vdot(input: Any, other: Any) -> Any:
    """The inner product of two vectors, the first one conjugated."""
    return O["dot"](input.conj(), other)


def inner(input: Any, other: Any) -> Any:
    """Products of last dimensions, summed."""
    if not input.ndim or not other.ndim:
        return input * other
    if input.ndim == other.ndim == 1:
        return O["dot"](input, other)
    return O["sum"](O["unsqueeze"](input, -2) * other, -1)


def kron(input: Any, other: Any) -> Any:
    """The table of all products of entries, block by block."""
    rank = max(input.ndim, other.ndim)
    a, b = ((1,) * (rank - t.ndim) + tuple(t.shape) for t in (input, other))
    left = O["reshape"](input, tuple(n for size in a for n in (size, 1)))
    right = O["reshape"](other, tuple(n for size in b for n in (1, size)))
    shape = tuple(m * n for m, n in zip(a, b, strict=True))
    return of_its_own(O["reshape"](left * right, shape))


def multi_dot(tensors: Sequence[Any]) -> Any:
    """The product of several matrices."""
    first, *others = tensors
    for other in others:
        first = O["matmul"](first, other)
    return first


def chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices."""
    return multi_dot(matrices)


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sum over ``dims`` dimensions of products: the last of ``a`` with the first of ``b``."""
    if isinstance(dims, int):
        left, right = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        left = [normal_dim(d, a.ndim) for d in dims[0]]
        right = [normal_dim(d, b.ndim) for d in dims[1]]
    kept_a = [d for d in range(a.ndim) if d not in left]
    kept_b = [d for d in range(b.ndim) if d not in right]
    shape = [a.shape[d] for d in kept_a] + [b.shape[d] for d in kept_b]
    joined = int(np.prod([a.shape[d] for d in left], dtype=int))
    x = O["reshape"](O["permute"](a, (*kept_a, *left)), (-1, joined))
    y = O["reshape"](O["permute"](b, (*right, *kept_b)), (joined, -1))
    return O["reshape"](O["matmul"](x, y), tuple(shape))


def cross(input: Any, other: Any, dim: int = -1) -> Any:
    """The vector product of three-vectors along a dimension."""
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeFault("E0301", "cross needs three entries along its dimension")
    turn = O["roll"]
    x, y = input, other
    first = turn(x, -1, dim) * turn(y, -2, dim) - turn(x, -2, dim) * turn(y, -1, dim)
    return called(first, "LinalgCrossBackward0", input, other)


BOTH = (mm, mv, bmm, addmm, addmv, baddbmm, vdot, inner, kron, cross)
"""Functions that are methods too."""
ALONE = (chain_matmul, tensordot)
"""Functions only."""
ALIASES: dict[str, Any] = {}
"""Further names."""
