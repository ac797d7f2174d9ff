"""Products of vectors and matrices: dot, matmul, outer, trace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.declaration import cures
from gradcli.ops.declaration.batching import Batch
from gradcli.ops.declaration.node_names import OF_PRODUCT, of_product, product_viewed
from gradcli.ops.errors import RuntimeFault, TypeFault, UnwrittenFault, bad_shape
from gradcli.ops.kinds import bilinear, linear
from gradcli.ops.memory_budget import LARGE, budget, charge_copies, charge_shape
from gradcli.ops.operator import OPERATORS, Operator, is_number
from gradcli.ops.reduction import sum
from gradcli.ops.shape import diagonal, expand, mT, reshape, squeeze, undiagonal, unsqueeze
from gradcli.ops.torch_messages import sizes_differ


def _matmul(x: Any, y: Any) -> Any:
    a, b = np.shape(x), np.shape(y)
    if not a or not b:
        raise _no_matrix(x, y)
    if a[-1] != b[-2 if len(b) > 1 else 0]:
        raise _mismatch(a, b)
    if budget.on and np.size(x) * np.size(y) > LARGE:
        charge_copies(x, y, result=(*a[:-1], b[-1]) if len(b) > 1 else a[:-1])
    if a[-1] == 1 and len(a) == len(b) == 2 and a[0] != 1 != b[1]:
        return x * y  # a BLAS adds each product to 0, where PyTorch's keeps a -0.0
    try:
        return np.matmul(x, y)
    except ValueError:
        said = f"cannot multiply shapes {a} @ {b}: the leading sizes do not broadcast"
        shown = (0, f"shape {a}"), (1, f"shape {b}")
        torch = sizes_differ((*a[:-2], 1, 1), (*b[:-2], 1, 1))
        raise bad_shape(said, operands=shown, torch=torch) from None


def _no_matrix(x: Any, y: Any) -> RuntimeFault | TypeFault:
    a, b = np.shape(x), np.shape(y)
    cls: type[RuntimeFault | TypeFault] = RuntimeFault
    if is_number(x) or is_number(y):
        kinds = [type(v).__name__ if is_number(v) else "Tensor" for v in (x, y)]
        cls, said = TypeFault, f"unsupported operand type(s) for @: '{kinds[0]}' and '{kinds[1]}'"
    else:
        said = (
            f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D"
        )
    return cls(
        "E0301",
        "@ needs at least 1-d tensors on both sides",
        help="a scalar multiplies with *",
        operands=((0, f"shape {a}"), (1, f"shape {b}")),
        torch=said,
    )


def _torchs_words(a: tuple[Any, ...], b: tuple[Any, ...]) -> str | None:
    if len(a) > 2 and len(b) > 2 and a[:-2] == b[:-2]:
        rows = math.prod(a[:-2])
        return (
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{rows}, {a[-1]}] but got: [{rows}, {b[-2]}]."
        )
    if len(a) == 1 and len(b) == 2:
        return f"mat1 and mat2 shapes cannot be multiplied (1x{a[0]} and {b[0]}x{b[1]})"
    if len(a) > 2 and len(b) == 2:
        rows = math.prod(a[:-1])
        return f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {b[0]}x{b[1]})"
    if len(a) == len(b) == 2:
        return f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})"
    if len(a) == 2 and len(b) == 1:
        return f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})"
    if len(a) == len(b) == 1:
        return _vectors_differ(a[0], b[0])
    return None


def _vectors_differ(n: int, m: int) -> str:
    return (
        f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of "
        f"elements, but got {n} and {m} elements respectively"
    )


def _mismatch(a: tuple[Any, ...], b: tuple[Any, ...]) -> RuntimeFault:
    inner = b[-2 if len(b) > 1 else 0]
    flipped = a[:-2] + a[:-3:-1]
    mend = None
    if len(a) == 2 and flipped[-1] == inner:
        shape = (*flipped[:-1], *b[1:]) if len(b) <= 2 else None
        mend = f"transposing the left side works: {flipped} @ {b}" + (
            f" -> {shape}" if shape else ""
        )
    elif len(b) == 2 and b[1] == a[-1]:
        mend = f"transposing the right side works: {a} @ {b[::-1]} -> {(*a[:-1], b[0])}"
    elif len(a) == len(b) == 1:
        mend = "outer(x, y) multiplies vectors of any two lengths"
    return bad_shape(
        f"cannot multiply {a} @ {b}: inner sizes {a[-1]} and {inner} differ",
        help=mend,
        torch=_torchs_words(a, b),
        operands=((0, f"shape {a}"), (1, f"shape {b}")),
    )


def _by_left(g: Any, y: Any, shape: Sequence[int]) -> Any:
    if len(shape) == 1:
        if len(y.shape) == 1:
            return g * y
        return matmul(y, g) if len(y.shape) == 2 else squeeze(matmul(y, unsqueeze(g, -1)), -1)
    if len(y.shape) == 1:
        return unsqueeze(g, -1) * y
    return matmul(g, mT(y))


def _by_right(g: Any, x: Any, shape: Sequence[int]) -> Any:
    if len(shape) == 1:
        if len(x.shape) == 1:
            return g * x
        return (
            matmul(mT(x), g) if len(x.shape) == 2 else squeeze(matmul(mT(x), unsqueeze(g, -1)), -1)
        )
    if len(x.shape) == 1:
        return outer(x, g) if len(shape) == 2 else unsqueeze(x, -1) * unsqueeze(g, -2)
    return matmul(mT(x), g)


# ---- Under vmap: the batch is the first dimension ---------------------------------------------


def multiplied(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """A product for each element: vectors become matrices of one row or column."""
    a, b = batch.ranks
    if not a or not b:
        return NotImplemented
    x, y = batch.values
    inner = (batch.args[0].shape[-1], batch.args[1].shape[-2 if b > 1 else 0])
    if inner[0] != inner[1]:
        return NotImplemented  # for the operator's own error, about one element
    if {a, b} == {1, 2} and not batch.own[1 - batch.ranks.index(1)]:
        # Vectors by one matrix are one product of matrices, to the last bit as without vmap.
        return op(x, y) if a == 1 else op(y, mT(x))
    rank = max(a, b, 2)

    def matrices(value: Any, mine: bool, own: int, vector: str) -> Any:
        shape = tuple(value.shape)
        front, rest = (shape[:1], shape[1:]) if mine else ((), shape)
        if own == 1:
            rest = (1, *rest) if vector == "row" else (*rest, 1)
        return reshape(value, (*front, *((1,) * (rank - len(rest)) if mine else ()), *rest))

    x = matrices(x, batch.own[0], a, "row")
    y = matrices(y, batch.own[1], b, "column")
    out = op(x, y)
    shape = list(out.shape)
    if b == 1:
        shape.pop()
    if a == 1:
        shape.pop(-1 if b == 1 else -2)
    return reshape(out, tuple(shape)) if len(shape) != len(out.shape) else out


def dotted(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """The dot product of each pair of vectors."""
    if batch.ranks != [1, 1] or batch.args[0].shape[0] != batch.args[1].shape[0]:
        return NotImplemented
    pairs = matmul(unsqueeze(batch.values[0], -2), unsqueeze(batch.values[1], -1))
    return reshape(pairs, (batch.count,))


def outer_products(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """The outer product of each pair of vectors."""
    if batch.ranks != [1, 1]:
        return NotImplemented
    return unsqueeze(batch.values[0], -1) * unsqueeze(batch.values[1], -2)


def traces(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """The trace of each matrix."""
    if batch.ranks[0] != 2:
        return NotImplemented
    return OPERATORS["sum"](diagonal(batch.values[0]), dim=-1)


matmul = bilinear(
    "matmul",
    _matmul,
    lambda g, y, shape: _by_left(g, y, shape),
    lambda g, x, shape: _by_right(g, x, shape),
    aliases=("mm", "mv", "bmm"),
    grad_name="MmBackward0",
    refuses={"bool": (UnwrittenFault, "\"addmm_impl_cpu_\" not implemented for 'Bool'")},
    doc="The matrix product; `x @ y`. Vectors are 1-d, leading dimensions broadcast.",
    example='sum(A @ x) --A "1,2;3,4" --x 1,2',
    infix="@",
    rows=True,
    batching=multiplied,
    one_dtype=True,
    halves="all",
    node={"name": of_product, "operands": OF_PRODUCT, "views": product_viewed, "columns": True},
    cures=cures.TOO_LARGE,
)


def _dot(x: Any, y: Any) -> Any:
    a, b = np.shape(x), np.shape(y)
    if len(a) != 1 or len(b) != 1:
        raise bad_shape(
            f"dot needs two 1-d tensors, got shapes {a} and {b}",
            help="@ multiplies matrices; sum(x*y) joins any two of one shape",
            operands=((0, f"shape {a}"), (1, f"shape {b}")),
            torch=f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors",
        )
    if a != b:
        raise bad_shape(
            f"dot needs vectors of one length, got {a[0]} and {b[0]}",
            operands=((0, f"shape {a}"), (1, f"shape {b}")),
            torch=_vectors_differ(a[0], b[0]),
        )
    if budget.on and a[0] > LARGE:
        charge_copies(x, y)
    return np.dot(x, y)


dot = bilinear(
    "dot",
    _dot,
    lambda g, y: g * y,
    lambda g, x: g * x,
    aliases=("inner",),
    torch=("input", "tensor"),
    doc="The inner product of two vectors.",
    example="2*dot(x, x) --x 0,1,2,3",
    core="(n),(n)->()",
    numpy="@",
    batching=dotted,
    refuses={"bool": "dot"},
    one_dtype=True,
    node={"operands": OF_PRODUCT},
    cures=cures.TOO_LARGE,
)


def _outer(x: Any, y: Any) -> Any:
    if np.ndim(x) != 1 or np.ndim(y) != 1:
        said = f"outer needs two 1-d tensors, got shapes {np.shape(x)} and {np.shape(y)}"
        wrong, rank = ("self", np.ndim(x)) if np.ndim(x) != 1 else ("vec2", np.ndim(y))
        shapes = ((0, f"shape {np.shape(x)}"), (1, f"shape {np.shape(y)}"))
        told = f"outer: Expected 1-D argument {wrong}, but got {rank}-D"
        raise bad_shape(said, operands=shapes, torch=told)
    charge_shape((np.size(x), np.size(y)))
    return np.multiply.outer(x, y)


def _summed(g: Any, y: Any) -> Any:
    """``g @ y``, also of two dtypes: the vectors of ``outer`` need not have one."""
    if getattr(g, "dtype", None) == getattr(y, "dtype", None):
        return matmul(g, y)
    return sum(g * y, dim=-1)


outer = bilinear(
    "outer",
    _outer,
    lambda g, y: _summed(g, y),
    lambda g, x: _summed(mT(g), x),
    out="wider",
    apart=True,
    grad_name="MulBackward0",
    torch=("input", "vec2"),
    doc="The table of all products of entries of two vectors.",
    example="sum(outer(x, y) @ y) --x 1,2 --y 3,4",
    aliases=("ger",),
    core="(n),(m)->(n,m)",
    batching=outer_products,
    cures=cures.TOO_LARGE,
)


def _trace(x: Any) -> Any:
    if np.ndim(x) != 2:
        said = f"trace needs a matrix, got shape {np.shape(x)}"
        told = f"trace: expected a matrix, but got tensor with dim {np.ndim(x)}"
        raise bad_shape(said, operands=((0, f"shape {np.shape(x)}"),), torch=told)
    with np.errstate(all="ignore"):  # the warnings are those of a module of NumPy
        return np.trace(x)


trace = linear(
    "trace",
    _trace,
    lambda g, shape: undiagonal(expand(g, (min(shape),)), tuple(shape)),
    doc="The sum of a matrix's diagonal.",
    example='trace(A @ A) --A "1,2;3,4"',
    core="(n,n)->()",
    refuses={"bool": "trace"},
    latex=r"\operatorname{tr}",
    batching=traces,
    out="none",
)
