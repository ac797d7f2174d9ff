"""PyTorch's ``linalg``: norms and solutions here, decompositions from ``decompositions``.

Everything takes stacks of matrices and is differentiable to any order where PyTorch's is.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.named_tuples import results
from gradcli.engine.record.arguments import Number, Operand, Order
from gradcli.engine.record.composite import by_element, called, columnwise, of_its_own
from gradcli.engine.record.face import face
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.record.multi_output import joined as outputs
from gradcli.engine.record.out import may_be, safely
from gradcli.engine.tensor.tensor import Plain, wrap
from gradcli.functions import overloads, products, scatter
from gradcli.functions.decompositions import (
    by_triangle,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    of_floats,
    of_one_dtype,
    of_reflections,
    of_squares,
    qr,
    reflected,
    svd,
    svdvals,
    triangle,
)
from gradcli.functions.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from gradcli.functions.matrices import (
    cholesky_factor,
    in_dtype,
    matrix_norm,
    of_matrices,
    one_triangle,
    upper_factor,
)
from gradcli.functions.matrices import matrix_power as _matrix_power
from gradcli.functions.methods import public_operators
from gradcli.functions.reductions import cumprod
from gradcli.ops.decompositions.matrix_errors import not_square, stopped_at
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import LinAlgFault as LinAlgError
from gradcli.ops.errors import RuntimeFault, bad_dim, bad_dtype, bad_shape, bad_value
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import is_complex, refuse_derivative

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "expm", "householder_product", "inv", "inv_ex", "ldl_factor",
    "ldl_factor_ex", "ldl_solve", "logm", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex",
    "solve_sylvester", "solve_triangular", "sqrtm", "svd", "svdvals", "tensorinv", "tensorsolve",
    "vander", "vecdot", "vector_norm",
]  # fmt: skip

_names = public_operators()
det = _names["det"]
inv = _names["inv"]
matrix_exp = expm = _names["matrix_exp"]
logm, sqrtm, solve_sylvester = (_names[_n] for _n in ("logm", "sqrtm", "solve_sylvester"))
multi_dot = products.multi_dot


def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The vector product of three-vectors along a dimension, the last one if left out."""
    return products.cross(input, other, dim)


def cholesky(A: Any, *, upper: bool = False) -> Any:
    """The lower triangular L with A = L L' of a positive definite matrix, or (``upper``) L'."""
    try:
        factor = cholesky_factor(A, upper)
    except RuntimeFault as fault:
        if fault.torch and fault.torch.startswith("cholesky:"):
            fault.torch = f"linalg.{fault.torch}"
        raise
    return called(factor, "LinalgCholeskyExBackward0", A)


def slogdet(A: Any) -> Any:
    """The sign of the determinant and the logarithm of its size: ``(sign, logabsdet)``."""
    sign, size = overloads.slogdet(A)
    return results("linalg_slogdet", sign=sign, logabsdet=size)


def _tried(title: str, function: Any, A: Any, check_errors: bool, *others: Any) -> tuple:
    """``function(A, *others)`` and LAPACK's ``info``: 0, or where a matrix had no answer, then NaN.

    Raises LinAlgFault (E0304) where errors are to be checked.
    """
    try:
        return function(A, *others), wrap(np.zeros(A.shape[:-2], np.int32)[()], dtypes.int32)
    except LinAlgError as fault:
        if check_errors:
            fault.torch = f"{title}:{(fault.torch or '').partition(':')[2]}"
            raise
        info = _stopped_at(A, function is _O["cholesky"])
    solved = _O["eq"](info, 0).unsqueeze(-1).unsqueeze(-1)
    safe = _O["where"](solved, A, wrap(np.eye(A.shape[-1], dtype=A.dtype.numpy), A.dtype))
    found = function(safe, *others)
    # A factor that depends on A and all of whose derivatives are NaN, where it is not 1.
    lost = _O["sum"](_O["where"](solved, 0.0, A * math.nan), (-2, -1), True)
    return found * _O["exp"](lost if found.ndim == A.ndim else lost.squeeze(-1)), info


@by_element
def _stopped_at(A: Any, definite: bool) -> Any:
    """LAPACK's ``info`` of each matrix."""
    return wrap(stopped_at(A.array, definite)[()], dtypes.int32)


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """``(L, info)``: the Cholesky factor, and 0 or the order of the first minor that refuses it.

    The factor of a matrix that is not positive definite is NaN. Raises LinAlgFault (E0304) instead
    where ``check_errors``.
    """
    whole = one_triangle(A, "U" if upper else "L")
    low, info = _tried("linalg.cholesky_ex", _O["cholesky"], whole, check_errors)
    factor = called(upper_factor(low) if upper else low, "LinalgCholeskyExBackward0", A)
    return results("linalg_cholesky_ex", L=factor, info=info)


def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """The inverse and LAPACK's ``info``: above 0 for a singular matrix, whose inverse is NaN."""
    inverse, info = _tried("linalg.inv_ex", inv, A, check_errors)
    return results("linalg_inv_ex", inverse=inverse, info=info)


def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """The X with A X = B, or (``left=False``) X A = B; B is a vector or a matrix.

    Example:
        >>> import gradcli
        >>> A = gradcli.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> gradcli.linalg.solve(A, gradcli.tensor([2.0, 4.0]))
        tensor([1., 1.])
    """
    if A.ndim > 2 and tuple(B.shape) == tuple(A.shape[:-1]):  # a vector for each matrix
        return columnwise(_O["squeeze"](_solved(A, _O["unsqueeze"](B, -1), left), -1))
    return _solved(A, B, left)


def _solved(A: Any, B: Any, left: bool) -> Any:
    of_one_dtype("linalg.solve", A=A, B=B)
    if left:
        return _O["solve"](A, B)
    found = of_its_own(_O["mT"](_O["solve"](_O["mT"](A), _O["mT"](B))))
    return called(found, "LinalgSolveExBackward0", A, B)


def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """``solve`` and LAPACK's ``info``: above 0 for a singular matrix, whose solution is NaN."""
    solved = functools.partial(solve, left=left)
    result, info = _tried("torch.linalg.solve_ex", solved, A, check_errors, B)
    return results("linalg_solve_ex", result=result, info=info)


def solve_triangular(
    A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """``solve`` by a triangle of A: nothing else of it is read.

    ``unitriangular`` counts the diagonal as ones, whatever stands there.
    """
    of_matrices("linalg.solve_triangular: The input tensor B", B)
    of_one_dtype("linalg.solve_triangular", A=A, B=B)
    refuse_kinds("bool int half", "triangular_solve_cpu", A.dtype)
    part = triangle(A, upper, unitriangular)
    try:
        if left:
            found = by_triangle(part, B, upper)
        else:
            found = columnwise(_O["mT"](by_triangle(_O["mT"](part), _O["mT"](B), not upper)))
    except RuntimeFault as fault:
        fault.torch = fault.torch and fault.torch.replace(
            "linalg.solve:", "linalg.solve_triangular:"
        )
        raise
    return called(found, "LinalgSolveTriangularBackward0", A, B)


def vector_norm(
    x: Any, ord: Number = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The ``ord``-norm of all entries, or along dimensions."""
    return _O["norm"](in_dtype("vector_norm", x, dtype), ord, dim, keepdim)


def norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The norm of a vector, or of a matrix where ``ord`` is given and there are two dimensions."""
    matrix = A.ndim == 2 if dim is None else isinstance(dim, tuple | list) and len(dim) == 2
    if dim is None and ord is not None and A.ndim not in (1, 2):
        said = "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D."
        raise bad_shape(f"{said} Got {A.ndim}D.")
    if isinstance(dim, tuple | list) and not 0 < len(dim) < 3:
        raise bad_dim("linalg.norm: If dim is specified, it must be of length 1 or 2.")
    if ord is not None and (matrix or isinstance(ord, str)):
        dim = (-2, -1) if dim is None else (dim,) if isinstance(dim, int) else dim
        return matrix_norm(A, ord, dim, keepdim, dtype=dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def matmul(input: Any, other: Any) -> Any:
    """The matrix product."""
    return _O["matmul"](input, other)


def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Inner products along a dimension, the first side conjugated."""
    of_one_dtype("linalg.vecdot", x=x, y=y)
    of_floats("linalg.vecdot", x)
    if x.ndim == y.ndim == 1:
        return products.vdot(x, y)
    return _O["sum"](x.conj() * y, dim)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of the last two dimensions."""
    return scatter.diagonal(A, offset, dim1, dim2)


def matrix_power(A: Any, n: int) -> Any:
    """A matrix times itself, ``n`` times in all. Raises RuntimeFault (E0301) unless square."""
    return _matrix_power(A, n)


def pinv(
    A: Any, rcond: Operand | None = None, *, atol: Operand | None = None,
    rtol: Operand | None = None, hermitian: bool = False,
) -> Any:  # fmt: skip
    """The Moore-Penrose inverse.

    Singular values up to ``max(atol, rtol * the largest)`` count as zero; ``rtol`` is the larger
    size times the dtype's epsilon where neither is given. ``hermitian`` reads the lower triangle.
    Tolerances are numbers, or tensors of one for each matrix; ``rcond`` is NumPy's name of
    ``rtol``. Raises RuntimeFault (E0405) for one that requires a gradient.
    """
    for name, given in (("rcond", rcond), ("rtol", rtol), ("atol", atol)):
        if getattr(given, "requires_grad", False):
            said = "The function 'linalg_pinv' is not differentiable with respect to argument"
            raise RuntimeFault("E0405", f"{said} '{name}'.", help=f"write {name}.detach()")
        if given is not None and is_complex(given):
            raise bad_dtype(f"torch.linalg.pinv: {name} tensor of complex type is not supported")
    if A.ndim < 2:
        given = f"{A.dtype.scalar_name}{{{list(A.shape)}}}"
        raise bad_shape(f"linalg.pinv({given}): expected a tensor with 2 or more dimensions")
    rtol = rcond if rtol is None else rtol
    if hermitian and A.numel():
        of_squares("linalg.eigh", A)
        A = one_triangle(A, "L")
    sizes = (tuple(getattr(t, "shape", ())) for t in (rtol, atol))
    lead = overloads.broadcast_shapes(A.shape[:-2], *sizes)
    A = A if lead == A.shape[:-2] else _O["expand"](A, (*lead, *A.shape[-2:]))  # behind a batch
    fixed: Any = (getattr(t, "detach", lambda t=t: t)() for t in (rtol, atol))
    rtol, atol = (t.array if isinstance(t, Plain) else t for t in fixed)
    return _O["pinv"](A, rtol, 0.0 if atol is None else atol)


@by_element
def matrix_rank(
    A: Any, tol: Operand | None = None, hermitian: bool = False, *, atol: Operand | None = None,
    rtol: Operand | None = None,
) -> Any:  # fmt: skip
    """How many singular values are above ``max(atol, rtol * the largest)``; no derivative.

    Tolerances are numbers, or tensors of one for each matrix; ``tol`` alone is the ``atol``.
    """
    of_matrices("torch.linalg.matrix_rank: The input tensor input", A)
    if A.dtype.family == "half":
        raise bad_dtype("This function doesn't handle types other than float and double")
    A = A.detach()
    values = _O["abs"](eigvalsh(A)).array if hermitian and A.numel() else svdvals(A).array
    if tol is not None:
        atol, rtol = tol, 0.0
    least = np.asarray(getattr(atol, "array", 0.0 if atol is None else atol))
    if rtol is None:
        eps = float(np.finfo(values.dtype).eps)
        rtol = np.where(least > 0, 0.0, max(A.shape[-2:]) * eps)
    top = values.max(axis=-1, initial=0.0)
    least = np.maximum(np.asarray(getattr(rtol, "array", rtol)) * top, least)
    ranks = np.asarray(np.sum(values > least[..., None], axis=-1, dtype=np.int64))
    return wrap(ranks[()], dtypes.int64)


@by_element
def cond(A: Any, p: Order | None = None) -> Any:
    """The condition number: the norm of A times that of its inverse; of singular values for 2."""
    refuse_derivative("cond", p=p)
    if p not in (None, "fro", "nuc", 1, -1, math.inf, -math.inf, 2, -2):
        raise bad_value(f"linalg.cond got an invalid norm type: {p}")
    of_matrices("linalg.cond: The input tensor", A)
    by_inverse = p not in (None, 2, -2) and (isinstance(p, str) or A.numel())
    if by_inverse and A.shape[-1] != A.shape[-2]:
        raise not_square(f"linalg.cond(ord={p})", tuple(A.shape))
    if not A.numel():
        return _O["sum"](_O["abs"](A), (-2, -1))  # of nothing 0
    if p in (None, 2, -2):
        values = svdvals(A)
        high, low = values[..., :1], values[..., -1:]
        return _O["squeeze"](high / low if p != -2 else low / high, -1)
    if p == "nuc":
        values = svdvals(A)
        return _O["sum"](values, -1) * _O["sum"](1.0 / values, -1)
    inverse, info = _tried("linalg.cond", inv, A, False)
    found = matrix_norm(A, p) * matrix_norm(inverse, p)
    infinite = 1.0 / _O["sum"](_O["abs"](A) * 0.0, (-2, -1))  # whose derivatives are NaN
    return found if not info.any() else _O["where"](info == 0, found, infinite)


@by_element
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The X with the least ``norm(A X - B)``: ``(solution, residuals, rank, singular_values)``.

    Residuals are there for full rank, more rows than columns and a driver other than ``"gelsy"``,
    the default; singular values, outside the graph, for ``"gelsd"`` and ``"gelss"``. Raises
    RuntimeFault (E0301) for sizes that differ.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        said = "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        raise bad_value(f"{said}, got {driver}")
    of_matrices("torch.linalg.lstsq: input", A)
    if not B.ndim:
        raise bad_shape("torch.linalg.lstsq: other must have at least 1 dimension.")
    if not 0 <= A.ndim - B.ndim <= 1:
        raise bad_shape("torch.linalg.lstsq: input.dim() must be greater or equal to other.dim()")
    of_one_dtype("torch.linalg.lstsq", input=A, other=B)
    of_floats("torch.linalg.lstsq", A)
    vector = B.ndim == 1 or tuple(B.shape) == tuple(A.shape[:-1])  # else a matrix for all of A
    right = _O["unsqueeze"](B, -1) if vector else B
    m, n = A.shape[-2:]
    if right.shape[-2] != m:
        said = f"input.size(-2) should match other.size({-1 if vector else -2})"
        raise bad_shape(f"torch.linalg.lstsq: {said}")
    # "gels" takes A to be of full rank, and no rcond.
    rtol = None if rcond is None or driver == "gels" else float(rcond)
    if driver == "gelsd" and rtol is not None and not 0 < rtol < 1:
        rtol = float(np.finfo(A.dtype.numpy).eps)
    solution = columnwise(_O["matmul"](pinv(A, rtol=rtol), right))
    rank = matrix_rank(A, rtol=rtol)
    residuals = of_its_own(_O["getitem"](_O["reshape"](solution, (-1,)), slice(0, 0)))
    residuals = _O["abs"](residuals) if residuals.is_complex() else residuals
    empty = residuals.detach()
    if m > n and driver not in (None, "gelsy") and bool((rank.array == n).all()):
        gap = _O["abs"](right - _O["matmul"](A, solution))
        residuals = _O["sum"](gap * gap, -2)
    solution, residuals = outputs("LinalgLstsqBackward0", (solution, residuals), A, B)
    return results(
        "linalg_lstsq",
        solution=_O["squeeze"](solution, -1) if vector else solution,
        residuals=residuals,
        rank=wrap(np.zeros(0, np.int64), dtypes.int64) if driver == "gels" else rank,
        singular_values=svdvals(A.detach()) if driver in ("gelsd", "gelss") else empty,
    )


def householder_product(A: Any, tau: Any) -> Any:
    """The first columns of the product of ``I - tau[k] v[k] v[k]'``, v from the columns of A."""
    title = "torch.linalg.householder_product"
    of_matrices(f"{title}: input", A)
    for name, large, small, least in (
        ("input.shape[-2]", A.shape[-2], A.shape[-1], "input.shape[-1]"),
        ("input.shape[-1]", A.shape[-1], tau.shape[-1], "tau.shape[-1]"),
    ):
        if large < small:
            raise bad_shape(f"{title}: {name} must be greater than or equal to {least}")
    of_reflections(title, A, tau)
    refuse_kinds("bool int half", "orgqr_cpu", A.dtype)
    m, n = A.shape[-2:]
    eye = wrap(np.eye(m, n, dtype=A.dtype.numpy), A.dtype)
    found = reflected(A, tau, _O["expand"](eye, tuple(A.shape)))
    return called(columnwise(found), "LinalgHouseholderProductBackward0", A, tau)


def vander(x: Any, *, N: int | None = None) -> Any:
    """The powers 0 to N - 1 of each entry, a row each."""
    if x.dtype.family in ("bool", "half"):
        said = "linalg.vander supports floating point, complex, and integer tensors, but got"
        raise bad_dtype(f"{said} {x.dtype.scalar_name}")
    x = x if x.ndim else _O["reshape"](x, (1,))
    N = x.shape[-1] if N is None else N
    if N < 2:
        raise bad_value("N must be greater than 1.")
    ones = _O["ones_like"](_O["unsqueeze"](x, -1))
    charge_shape((*x.shape, N))
    rows = _O["expand"](_O["unsqueeze"](x, -1), (*x.shape, N - 1))
    return _O["cat"](ones, cumprod(rows, -1), dim=-1)


def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse of A read as a matrix from its first ``ind`` dimensions to the others."""
    if ind <= 0:
        raise bad_value("Expected a strictly positive integer for 'ind'")
    if ind > A.ndim:
        raise bad_shape(f"Expected self to have at least {ind} dimensions, got {A.ndim}")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(rows) != math.prod(columns):
        said = "Expected self to satisfy the requirement prod(self.shape[ind:]) =="
        raise bad_shape(f"{said} prod(self.shape[:ind])")
    return inv(A.reshape(math.prod(rows), math.prod(columns))).reshape(*columns, *rows)


def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """The X with ``tensordot(A, X, X.ndim) == B``; ``dims`` of A are moved to its end first."""
    if dims is not None:
        moved = [normal_dim(d, A.ndim) for d in dims]
        A = A.permute(*(d for d in range(A.ndim) if d not in moved), *moved)
    shape = tuple(A.shape[B.ndim :])
    size = math.prod(shape)
    if size != B.numel():
        said = "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) =="
        raise bad_shape(f"{said} prod(self.shape[:other.ndim])")
    return solve(A.reshape(B.numel(), size), B.reshape(-1)).reshape(shape)


may_be("same", norm, matrix_norm,
       misfit="linalg.{name} expected out tensor dtype {made} but got: {given}")  # fmt: skip
may_be("same", vecdot, misfit="linalg.vecdot: Expected out of dtype{made} but found {given}")
may_be("wider", cond, pinv, misfit=safely("linalg.{name}"))
may_be("wider", matrix_power, tensorinv, tensorsolve, misfit=safely("{name}"), copied=True)
may_be(
    "wider", householder_product, lstsq, matrix_rank,
    misfit=safely("torch.linalg.{name}", "{part}"),
)  # fmt: skip
may_be("same", cross, apart=True)
may_be("none", diagonal, vander)
globals().update({_n: face(globals()[_n]) for _n in __all__ if _n != "LinAlgError"})
