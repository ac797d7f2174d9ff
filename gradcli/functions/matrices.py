"""Functions of matrices by few operators: powers, norms, adjoints, the Cholesky factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.record.arguments import Order
from gradcli.engine.record.composite import bottom, called, columnwise, lasting, rowwise
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.out import may_be, safely
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions.arithmetic import conj
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import bad_dim, bad_dtype, bad_shape, bad_value
from gradcli.ops.operator import refuse_derivative


def beside(value: Any, input: Any) -> Any:
    """``value``, recorded as a function of ``input`` that does not change with it."""
    nothing = O["getitem"](O["reshape"](input, (-1,)), slice(0, 0))
    return value + O["sum"](nothing).to(value.dtype)


def of_matrices(subject: str, A: Any) -> None:
    """Raise RuntimeFault (E0301) for a ``subject`` that is no stack of matrices."""
    if A.ndim < 2:
        raise bad_shape(f"{subject} must have at least 2 dimensions.", help="write x.unsqueeze(-1)")


def in_dtype(name: str, x: Any, dtype: Any) -> Any:
    """``x`` in the dtype that a norm of it is asked for in.

    Raises RuntimeFault (E0309) for one that narrows it, or is complex where ``x`` is not.
    """
    if dtype is None:
        return x
    wanted = dtypes.to_dtype(dtype)
    if x.dtype.kind < 2:
        said = f"Expected a floating point or complex tensor as input. Got {x.dtype.scalar_name}"
    elif x.dtype.is_complex is not wanted.is_complex:
        kind = "complex" if x.dtype.is_complex else "real"
        said = f"dtype should be {kind} for {kind} inputs, but got {wanted.scalar_name}"
    elif wanted.itemsize < x.dtype.itemsize:
        said = (
            f"the dtype of the input ({x.dtype.scalar_name}) should be convertible without "
            f"narrowing to the specified dtype ({wanted.scalar_name})"
        )
    else:
        return x.to(wanted)
    raise bad_dtype(f"linalg.{name}: {said}")


def matrix_norm(
    A: Any,
    ord: Order = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Any:
    """The norm of matrices: ``"fro"``, ``"nuc"``, 1, -1, 2, -2, inf or -inf.

    1 and inf are the largest sums of columns and rows, 2 and "nuc" the largest singular value and
    the sum of all. Raises RuntimeFault: E0304 for another ``ord``, E0301 for vectors.
    """
    of_matrices("linalg.matrix_norm: The input tensor A", A)
    A = in_dtype("matrix_norm", A, A.dtype if dtype is None else dtype)
    known = ("fro", "nuc", 1, -1, math.inf, -math.inf, 2, -2)
    refuse_derivative("matrix_norm", ord=ord)
    if ord not in known:
        mend = '"fro", "nuc", 1, -1, 2, -2, inf or -inf'
        raise bad_value(f"linalg.matrix_norm: Order {ord} not supported.", help=mend)
    dim = dim if isinstance(dim, tuple | list) else (dim,)
    if len(dim) != 2:
        raise bad_dim(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, columns = (normal_dim(d, A.ndim) for d in dim)
    if rows == columns:
        raise bad_dim(f"linalg.matrix_norm: dims must be different, got {dim}")
    if ord == "fro":
        return called(O["norm"](A, 2, (rows, columns), keepdim), "LinalgVectorNormBackward0", A)
    if ord in (1, -1, math.inf, -math.inf):
        first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = O["sum"](O["abs"](A), first, keepdim)
        return _extreme(sums, second - (first < second and not keepdim), ord, keepdim)
    rest = [d for d in range(A.ndim) if d not in (rows, columns)]
    values = O["svdvals"](O["permute"](A, (*rest, rows, columns)))
    found = O["sum"](values, -1) if ord == "nuc" else _extreme(values, -1, ord, False)
    for d in sorted((rows, columns)) if keepdim else ():
        found = O["unsqueeze"](found, d)
    return found


def _extreme(values: Any, dim: int, ord: float, keepdim: bool) -> Any:
    """The largest along a dimension, 0 of none, or for a negative order the least."""
    if ord < 0:
        return O["amin"](values, dim, keepdim)
    return O["amax" if values.shape[dim] else "sum"](values, dim, keepdim)


def matrix_power(input: Any, n: int) -> Any:
    """A matrix times itself, ``n`` times in all; its inverse for a negative ``n``.

    Raises RuntimeFault (E0301) unless square.
    """
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        from gradcli.ops.decompositions.matrix_errors import not_square

        raise not_square("matrix_power", tuple(input.shape))
    if n == 1:
        return O["clone"](input)
    if n < 0:
        input, n = O["inv"](input), -n
    if not n:
        unit = O["tril"](O["triu"](lasting(input**0))).to(input.dtype)  # whose gradient is 0
        return called(rowwise(unit), "CopyBackwards")
    if n == 3:  # PyTorch's order
        return O["matmul"](O["matmul"](input, input), input)
    out = None
    while n:
        if n & 1:
            out = input if out is None else O["matmul"](out, input)
        n >>= 1
        input = O["matmul"](input, input) if n else input
    return out


def adjoint(input: Any) -> Any:
    """The last two dimensions exchanged, conjugated."""
    if len(input.shape) == 1:
        said = "tensor.adjoint() is only supported on matrices or batches of matrices."
        raise bad_shape(f"{said} Got 1-D tensor.")
    turned = O["mT"](input) if len(input.shape) != 0 else input
    return conj(turned)


def one_triangle(A: Any, UPLO: str) -> Any:
    """``A`` with the numbers of one triangle in both; derivatives are by the whole matrix.

    What the other one holds, infinities and NaN too, leaves no trace in the value.
    """
    if UPLO.upper() not in ("L", "U"):
        raise bad_value(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}", help="UPLO='L'")
    if not isinstance(A, Tensor) or A.ndim < 2 or A.shape[-1] != A.shape[-2] or A.dtype.kind < 2:
        return A
    held = getattr(bottom(A), "array", None)
    if held is not None:  # of a batch too, which comes first
        turned = held.swapaxes(-1, -2)
        if (held == (turned.conj() if held.dtype.kind == "c" else turned)).all():
            return A
    raw = A.detach()
    part, beyond = ("tril", -1) if UPLO.upper() == "L" else ("triu", 1)
    both = O[part](raw, 0) + adjoint(O[part](raw, beyond))
    if A.dtype.is_complex:  # LAPACK reads the real part of the diagonal alone
        both = 0.5 * (both + adjoint(both))
    seen = both + O["where"](O["lt"](O["abs"](raw), math.inf), A - raw, 0.0)
    return O["where"](O["eq"](both, raw), A, seen)  # also of infinities, as where all are equal


def cholesky(input: Any, upper: bool = False) -> Any:
    """The lower triangular L with A = L L' of a positive definite matrix, or (``upper``) L'."""
    refuse_kinds("bool int half", "cholesky_cpu", input.dtype)
    return called(cholesky_factor(input, upper), "CholeskyBackward0", input)


def cholesky_factor(A: Any, upper: bool) -> Any:
    """``cholesky``, not yet under its node's name."""
    low = O["cholesky"](one_triangle(A, "U" if upper else "L"))
    return upper_factor(low) if upper else low


def upper_factor(low: Any) -> Any:
    """The upper factor that a lower one gives, in memory of its own."""
    return columnwise(adjoint(low).resolve_conj())


may_be("none", adjoint)
may_be("wider", cholesky, misfit=safely("{name}"), copied=True)
