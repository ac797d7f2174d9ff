"""Matrix decompositions under PyTorch's names; ``gradcli.functions.linalg`` offers them.

Each takes apart what one operator of ``gradcli.ops`` gives (``ops.parts``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.creation.sampling import randn
from gradcli.engine.custom_function.function import without_derivative
from gradcli.engine.named_tuples import results, return_type
from gradcli.engine.record.arguments import Anything
from gradcli.engine.record.composite import (
    bottom,
    by_element,
    called,
    columnwise,
    is_batch,
    of_its_own,
    primal,
    rowwise,
)
from gradcli.engine.record.dtype_checks import same_dtype
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.record.multi_output import joined as outputs
from gradcli.engine.record.out import may_be, safely
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.functions.matrices import adjoint, beside, of_matrices, one_triangle
from gradcli.functions.scatter import diag_embed
from gradcli.ops.dims import in_columns
from gradcli.ops.errors import LinAlgFault, bad_argument, bad_dtype, bad_shape, bad_value
from gradcli.ops.memory_budget import charge_shape


def _part(joined: Any, start: int, *shape: int) -> Any:
    lead = tuple(joined.shape)[:-1]
    size = int(np.prod(shape, dtype=int))
    part = _O["reshape"](joined[..., start : start + size], (*lead, *shape))
    return columnwise(part) if len(shape) > 1 else rowwise(of_its_own(part))


def _mH(x: Any) -> Any:
    return _O["conj"](_O["mT"](x)) if x.dtype.is_complex else _O["mT"](x)


def _real(x: Any) -> Any:
    return rowwise(of_its_own(_O["real"](x))) if x.dtype.is_complex else x


def eigh(A: Any, UPLO: str = "L") -> Any:
    """``(eigenvalues, eigenvectors)`` of a symmetric or Hermitian matrix, values ascending.

    Only the lower (``UPLO="U"``: upper) triangle is read. Raises RuntimeFault: E0301 unless square,
    E0304 where entries are infinite or NaN, and in backward where a complex loss depends on the
    vectors' phases.

    Example:
        >>> import gradcli
        >>> gradcli.linalg.eigh(gradcli.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
        tensor([1., 2.])
    """
    n = A.shape[-1] if A.ndim else 0
    joined = _O["eigh_parts"](one_triangle(A, UPLO), True)
    values, vectors = outputs(
        "LinalgEighBackward0", (_real(_part(joined, 0, n)), _part(joined, n, n, n)), A
    )
    return results("linalg_eigh", eigenvalues=values, eigenvectors=vectors)


def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of a symmetric or Hermitian matrix in ascending order."""
    return _O["eigvalsh"](one_triangle(A, UPLO))


def eig(A: Any) -> Any:
    """``(eigenvalues, eigenvectors)`` of a square matrix, complex, in no order.

    Raises RuntimeFault: E0301 unless square, E0304 in backward where the loss depends on the phases
    of the vectors.
    """
    n = A.shape[-1] if A.ndim else 0
    joined = _O["eig_parts"](A, True)
    values, vectors = outputs(
        "LinalgEigBackward0", (_part(joined, 0, n), _part(joined, n, n, n)), A
    )
    return results("linalg_eig", eigenvalues=values, eigenvectors=vectors)


def eigvals(A: Any) -> Any:
    """The eigenvalues of a square matrix, complex."""
    return _O["eigvals"](A)


def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """``(U, S, Vh)`` with ``A = U diag(S) Vh``, S in descending order.

    ``full_matrices`` fills U and Vh up to square matrices; no gradient flows to what is filled in.
    """
    _one_driver(driver)
    u, s, vh = _svd(A)
    m, n = A.shape[-2:]
    if full_matrices and m != n:
        if is_batch(primal(A)):
            return A.each_of(svd, (A,), {})
        whole = np.linalg.svd(A.array, full_matrices=True)
        if m > n:
            u = _O["cat"](u, wrap(whole[0][..., n:].astype(A.dtype.numpy), A.dtype), dim=-1)
        else:
            vh = _O["cat"](vh, wrap(whole[2][..., m:, :].astype(A.dtype.numpy), A.dtype), dim=-2)
    u, s, vh = outputs("LinalgSvdBackward0", (columnwise(u), s, columnwise(vh)), A)
    return results("linalg_svd", U=u, S=s, Vh=vh)


def _svd(A: Any) -> tuple[Any, Any, Any]:
    m, n = A.shape[-2:] if A.ndim > 1 else (0, 0)
    k = min(m, n)
    joined = _O["svd_parts"](A, True)
    u, s = _part(joined, 0, m, k), _real(_part(joined, m * k, k))
    vh = _part(joined, m * k + k, k, n)
    return u, s, vh


def torch_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """``(U, S, V)`` with ``A = U diag(S) V.mH``; ``some=False`` for square U and V."""
    if not compute_uv:
        s = svdvals(input)
        u, v = (input.detach().new_zeros((*input.shape[:-2], k, k)) for k in input.shape[-2:])
        return results("svd", U=u, S=s, V=v)
    u, s, vh = svd(input, not some)
    return results("svd", U=u, S=s, V=adjoint(vh))


def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """The singular values in descending order."""
    _one_driver(driver)
    return _O["svdvals"](A)


def _one_driver(driver: str | None) -> None:
    if driver is not None:
        raise bad_value("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA")


def qr(A: Any, mode: str = "reduced") -> Any:
    """``(Q, R)`` with A = Q R, Q with orthonormal columns and R upper triangular.

    ``mode`` is ``"reduced"``, ``"complete"`` (Q square) or ``"r"`` (Q empty). A gradient of the
    last, and of a complete Q of more rows than columns, raises RuntimeFault (E0405).
    """
    if mode not in ("reduced", "complete", "r"):
        raise bad_value(f"qr received unrecognized mode '{mode}', not reduced, complete or r")
    m, n = A.shape[-2:] if A.ndim > 1 else (0, 0)
    if m >= n:
        joined = _O["qr_parts"](A)
        q, r = _part(joined, 0, m, n), _part(joined, m * n, n, n)
    else:  # the square part decides Q, the rest follows
        joined = _O["qr_parts"](A[..., :m])
        q, r = _part(joined, 0, m, m), _part(joined, m * m, m, m)
        r = _O["cat"](r, _mH(q) @ A[..., m:], dim=-1)
    if mode == "r" or (mode == "complete" and m > n):
        if is_batch(primal(A)):
            return A.each_of(qr, (A, mode), {})
        said = "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        q, r = A.detach().new_zeros((0,)), r.detach()
        if mode == "r":
            said = (
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
                "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through "
                "linalg.qr."
            )
        else:
            whole = np.linalg.qr(A.array, mode="complete")
            q, r = (columnwise(wrap(part.astype(A.dtype.numpy), A.dtype)) for part in whole)
        name = "linalg_qr", "LinalgQrBackward0", said
        q, r = (without_derivative(v, (A,), *name) for v in (q, r))
    else:
        q, r = outputs("LinalgQrBackward0", (columnwise(q), columnwise(r)), A)
    return results("linalg_qr", Q=q, R=r)


def torch_qr(input: Any, some: bool = True) -> Any:
    """``(Q, R)``; ``some=False`` for a square Q."""
    q, r = qr(input, "reduced" if some else "complete")
    return results("qr", Q=q, R=r)


def _exchanges(x: np.ndarray) -> np.ndarray:
    """The row that partial pivoting exchanges each with, counted from 1, as LAPACK has them."""
    from scipy.linalg import lapack  # slow to load

    pivots = np.zeros((*x.shape[:-2], min(x.shape[-2:])), np.int32)
    (factor,) = lapack.get_lapack_funcs(("getrf",), (x,))
    for place in np.ndindex(x.shape[:-2]) if pivots.size else ():
        pivots[place] = factor(x[place])[1] + 1
    return pivots


def _pivoted(pivot: bool) -> None:
    if not pivot:
        said = "linalg.lu_factor: LU without pivoting is not implemented on the CPU"
        raise bad_value(said, help="leave pivot=False away")


def _lu(A: Any) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """The order of rows, the exchanges, and L and U, of any shape of matrix."""
    of_matrices("linalg.lu: The input tensor A", A)
    refuse_kinds("bool int", "lu_cpu", A.dtype)
    m, n = A.shape[-2:]
    k = min(m, n)
    pivots = _exchanges(A.array)
    order = _order(pivots, m)
    turned = _O["gather"](A, np.broadcast_to(order[..., :, None], tuple(A.shape)), -2)
    compact = _O["lu_compact"](turned[..., :k, :k])
    ones = diag_embed(_O["ones_like"](_O["diagonal"](compact)))
    low, high = _O["tril"](compact, -1) + ones, _O["triu"](compact, 0)
    if n > k:
        high = _O["cat"](high, _O["solve"](low, turned[..., :k, k:]), dim=-1)
    if m > k:
        own = _O["diagonal"](high)
        lost = _O["eq"](own, 0)  # and so are all below it: they are 0 times any number
        nonzero = high + diag_embed(lost.to(high.dtype))
        below = _O["mT"](_O["solve"](_O["mT"](nonzero), _O["mT"](turned[..., k:, :])))
        if lost.any():  # 0, as which it has no derivative, nor has a pivot that any row may be
            root = _O["where"](lost, _O["sqrt"](_O["where"](lost, own, 1.0)), 0.0)
            below = below + _O["unsqueeze"](root, -2)
            high = high + diag_embed(root)
        low = _O["cat"](low, below, dim=-2)
    return order, pivots, low, high


@by_element
def lu(A: Any, *, pivot: bool = True) -> Any:
    """``(P, L, U)`` with A = P L U: P a permutation, L and U triangular, the diagonal of L ones."""
    _pivoted(pivot)
    order, _, low, high = _lu(A)
    eye = np.eye(A.shape[-2], dtype=A.dtype.numpy)
    permutation = np.ascontiguousarray(np.swapaxes(eye[order], -1, -2))
    low, high = outputs("LinalgLuBackward0", (low, high), A)
    return results("linalg_lu", P=wrap(permutation, A.dtype), L=low, U=high)


@by_element
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """``(LU, pivots)``: both factors in one matrix, and the exchanges of rows, counted from 1.

    Raises RuntimeFault (E0304) for a singular matrix: ``lu_factor_ex`` says where its pivot is 0.
    """
    both, pivots, _ = _factored(A, pivot, "lu_factor")
    return results("linalg_lu_factor", LU=both, pivots=pivots)


def _first_zero(LU: Any) -> np.ndarray:
    """For each matrix the place of its first zero pivot, counted from 1, or 0."""
    zero = np.diagonal(LU.array, axis1=-2, axis2=-1) == 0
    if not zero.shape[-1]:
        return np.zeros(zero.shape[:-1], np.int32)
    return np.where(zero.any(axis=-1), np.argmax(zero, axis=-1) + 1, 0).astype(np.int32)


def _factored(A: Any, pivot: bool, checked: str) -> tuple[Any, Any, np.ndarray]:
    """``(LU, pivots, info)`` of any matrix, singular ones too unless ``checked`` by a function."""
    _pivoted(pivot)
    _, pivots, low, high = _lu(A)
    m, n = A.shape[-2:]
    low = _O["pad"](_O["tril"](low, -1), (0, max(n - m, 0)))
    high = _O["pad"](high, (0, 0, 0, max(m - n, 0)))
    both = called(columnwise(low + high), "LinalgLuFactorExBackward0", A)
    info = _first_zero(both)
    if checked and info.any():
        place = int(info[info > 0].flat[0])
        raise bad_value(
            f"torch.linalg.{checked}: U[{place},{place}] is zero and using it on lu_solve would "
            "result in a division by zero. If you still want to perform the factorization, "
            "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return both, wrap(pivots, dtypes.int32), info


@by_element
def lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """``lu_factor`` and for each matrix the place of its first zero pivot, counted from 1, or 0."""
    both, pivots, info = _factored(A, pivot, "lu_factor_ex" if check_errors else "")
    return results("linalg_lu_factor_ex", LU=both, pivots=pivots, info=wrap(info[()], dtypes.int32))


@by_element
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The X with A X = B (``left=False``: X A = B), from ``lu_factor`` of A or (adjoint) of A'."""
    title = "linalg.lu_solve"
    of_floats(f"torch.{title}", LU)
    of_one_dtype(title, LU=LU, B=B)
    if pivots.dtype is not dtypes.int32:
        raise bad_dtype(f"{title}: pivots should be a Tensor of scalar type torch.int32")
    of_squares(f"torch.{title}", LU)
    of_matrices(f"{title}: The input tensor B", B)
    if B.shape[-2 if left else -1] != LU.shape[-1]:
        raise bad_shape(f"{title}: Incompatible shapes of A and B: {[*LU.shape]} and {[*B.shape]}")
    of_pivots(title, LU, pivots)
    of_rows("lu", LU, pivots)
    refuse_kinds("half", "lu_solve_cpu", LU.dtype)
    if not left:  # X A = B by the transpose, A' by the adjoint of the conjugate
        turned = _O["conj"](_O["mT"](B))
        found = _mH(lu_solve(LU, pivots, turned, adjoint=not adjoint))
        return called(found, "LinalgLuSolveBackward0", LU, B)
    _, low, high = lu_unpack(LU, pivots, unpack_pivots=False)
    order = _order(np.asarray(pivots.array), LU.shape[-1])
    if adjoint:
        found = by_triangle(_mH(high), B, False)
        found = columnwise(_rows(_O["solve"](_mH(low), found), np.argsort(order, -1)))
    else:
        found = by_triangle(high, _O["solve"](low, _rows(B, order)), True)
    return called(found, "LinalgLuSolveBackward0", LU, B)


def _order(pivots: np.ndarray, rows: int) -> np.ndarray:
    """Which row stands where after the exchanges that ``pivots`` lists."""
    exchanges = pivots - 1
    order = np.broadcast_to(np.arange(rows), (*exchanges.shape[:-1], rows)).copy()
    for i in range(exchanges.shape[-1]):
        best = exchanges[..., i : i + 1]
        here = order[..., i : i + 1].copy()
        order[..., i : i + 1] = np.take_along_axis(order, best, -1)
        np.put_along_axis(order, best, here, -1)
    return order


def _rows(B: Any, order: np.ndarray) -> Any:
    """The rows of matrices in another order; leading dimensions broadcast."""
    lead = np.broadcast_shapes(tuple(B.shape[:-2]), order.shape[:-1])
    shape = (*lead, *B.shape[-2:])
    B = B if tuple(B.shape) == shape else _O["expand"](B, shape)
    return _O["gather"](B, np.broadcast_to(order[..., None], shape), -2, True)


def torch_lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """The x with A x = b, from ``lu`` of A."""
    return lu_solve(LU_data, LU_pivots, b)


@by_element
def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """``(P, L, U)`` of what ``lu_factor`` gives; what is not asked for is empty."""
    of_matrices("torch.lu_unpack: LU_data", LU_data)
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    P = low = high = LU_data.new_zeros((0,))
    if unpack_data:
        eye = wrap(np.eye(m, k, dtype=LU_data.dtype.numpy), LU_data.dtype)
        low, high = _O["tril"](LU_data[..., :k], -1) + eye, _O["triu"](LU_data[..., :k, :], 0)
        low, high = outputs("LuUnpackBackward0", (low, high), LU_data)
    if unpack_pivots:
        given = np.asarray(LU_pivots.array)
        if given.shape != (*LU_data.shape[:-2], k):
            raise bad_shape(f"lu_unpack: pivots {given.shape} do not fit {tuple(LU_data.shape)}")
        if LU_pivots.dtype is not dtypes.int32:
            said = "LU_pivots is expected to be a contiguous tensor of torch.int32 dtype"
            raise bad_dtype(f"torch.lu_unpack: {said}")
        if given.size and not 1 <= given.min() <= given.max() <= m:
            raise bad_value("pivots passed to lu_unpack must be between 1 and LU.size(-2).")
        P = LU_data.new_zeros((*LU_data.shape[:-2], m, m))
        np.put_along_axis(P.array, _order(given, m)[..., None, :], 1, -2)
    return results("lu_unpack", P=P, L=low, U=high)


@by_element
def torch_lu(A: Any, pivot: bool = True, get_infos: Anything = False) -> tuple:
    """``(LU, pivots)``, and ``info`` where asked for: see ``lu_factor_ex``."""
    found = lu_factor_ex(A, pivot=pivot)
    return return_type("_lu_with_info")(found) if get_infos else tuple(found[:2])


def of_floats(title: str, A: Any) -> None:
    """Raise RuntimeFault (E0309) for whole numbers."""
    if A.dtype.kind < 2:
        said = f"{title}: Expected a floating point or complex tensor as input."
        raise bad_dtype(f"{said} Got {A.dtype.scalar_name}")


def of_squares(title: str, A: Any) -> None:
    """Raise RuntimeFault (E0301) for what is no stack of square matrices."""
    of_matrices(f"{title}: The input tensor A", A)
    if A.shape[-1] != A.shape[-2]:
        said = f"{title}: A must be batches of square matrices, but they are"
        raise bad_shape(f"{said} {A.shape[-2]} by {A.shape[-1]} matrices")


def of_pivots(title: str, A: Any, pivots: Any) -> None:
    """Raise RuntimeFault (E0301) unless there is a pivot for each row of the matrices."""
    if tuple(pivots.shape) != tuple(A.shape[:-1]):
        kind = "LD" if "ldl" in title else "LU"
        raise bad_shape(f"{title}: Expected {kind}.shape[:-1] and pivots.shape to be the same")


def of_rows(kind: str, A: Any, pivots: Any) -> None:
    """Raise RuntimeFault (E0304) unless each pivot, without sign for "ldl", names a row from 1."""
    given = np.abs(pivots.array) if kind == "ldl" else np.asarray(pivots.array)
    if given.size and not 1 <= given.min() <= given.max() <= A.shape[-1]:
        few = given.min() < 1
        wanted = f"be {'greater or equal to 1' if few else 'smaller or equal to LU.size(-2)'}"
        if kind == "ldl":
            wanted = f"satisfy |pivot| {'>= 1' if few else '<= LD.size(-2)'}"
        raise bad_value(f"Pivots given to {kind}_solve must all {wanted}.")


def of_one_dtype(title: str, **two: Any) -> None:
    """Raise RuntimeFault (E0309) for two operands, by their names, of different element types."""
    (first, x), (second, y) = two.items()
    if x.dtype is not y.dtype:
        said = f"Expected {first} and {second} to have the same dtype, but found {first} of type"
        kinds = f"{x.dtype.scalar_name} and {second} of type {y.dtype.scalar_name} instead"
        raise bad_dtype(f"{title}: {said} {kinds}", help=f"write {second}.to({first}.dtype)")


def triangular_solve(
    b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """``(solution, cloned_coefficient)``: the X with A X = b by a triangle of A, or of A.T."""
    of_matrices("torch.triangular_solve: b", b)
    of_one_dtype("triangular_solve", b=b, A=A)
    refuse_kinds("bool int half", "triangular_solve_cpu", A.dtype)
    part = triangle(A, upper, unitriangular)
    found = by_triangle(_O["mT"](part) if transpose else part, b, upper is not transpose)
    copy = _O["clone"](_O["expand"](A, (*found.shape[:-2], *A.shape[-2:])))
    found, copy = outputs("TriangularSolveBackward0", map(columnwise, (found, copy)), b, A)
    return results("triangular_solve", solution=found, cloned_coefficient=copy)


def by_triangle(part: Any, B: Any, upper: bool) -> Any:
    """The X with ``part`` X = B, by substitution where the diagonal has a 0, or where an entry is
    infinite: what that makes infinite, or NaN."""
    inner, n = bottom(part), part.shape[-1]
    plain = isinstance(inner, Plain) and inner.ndim > 1 and part.shape[-2] == n == B.shape[-2]
    if not plain or not (_first_zero(inner).any() or np.isinf(inner.array).any()):
        return _O["solve"](part, B)
    rows: dict[int, Any] = {}
    for i in reversed(range(n)) if upper else range(n):
        row = B[..., i : i + 1, :]
        for j, above in rows.items():
            row = row - part[..., i : i + 1, j : j + 1] * above
        rows[i] = row / part[..., i : i + 1, i : i + 1]
    return _O["cat"](*(rows[i] for i in range(n)), dim=-2)


def triangle(A: Any, upper: bool, unitriangular: bool = False) -> Any:
    """The ``upper`` or lower triangle of A, with ones on the diagonal for ``unitriangular``."""
    part = _O["triu" if upper else "tril"]
    if not unitriangular:
        return part(A, 0)
    return part(A, 1 if upper else -1) + wrap(np.eye(A.shape[-1], dtype=A.dtype.numpy), A.dtype)


def reflected(A: Any, tau: Any, other: Any, adjoint: bool = False) -> Any:
    """Q @ other, or (``adjoint``) Q' @ other, for the product Q of Householder reflections.

    Reflection k is ``I - tau[k] v v'``, v from column k of A below a 1; Q itself is never formed.
    """
    m, k = A.shape[-2], tau.shape[-1]
    if not k:
        return beside(beside(other, A), tau)
    eye = wrap(np.eye(m, A.shape[-1], dtype=A.dtype.numpy), A.dtype)
    vectors = _O["tril"](A, -1) + eye
    for i in range(k) if adjoint else reversed(range(k)):
        v, t = vectors[..., :, i : i + 1], tau[..., i : i + 1, None]
        along = _O["matmul"](_mH(v), other)
        other = other - (_O["conj"](t) if adjoint else t) * _O["matmul"](v, along)
    return other


def of_reflections(title: str, A: Any, tau: Any) -> None:
    """Raise RuntimeFault (E0301, E0309) unless ``tau`` has factors for the columns of A."""
    if tau.ndim != A.ndim - 1:
        raise bad_shape(f"{title}: Expected tau to have one dimension less than input")
    if tuple(tau.shape[:-1]) != tuple(A.shape[:-2]):
        said = "Expected batch dimensions of tau to be equal to input.shape[:-2]"
        raise bad_shape(f"{title}: {said}")
    same_dtype(tau, A, f"{title}: tau dtype {{}} does not match input dtype {{}}")


def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """Q @ other for the Q of ``geqrf``, or other @ Q; ``transpose`` takes Q's adjoint."""
    of_matrices("torch.ormqr: input", input)
    of_matrices("torch.ormqr: other", other)
    side = -2 if left else -1
    k = tau.shape[-1] if tau.ndim else 1
    if other.shape[side] < k:
        said = f"other.shape[{side}] must be greater than or equal to tau.shape[-1]"
        raise bad_shape(f"torch.ormqr: {said}")
    if other.shape[side] != input.shape[-2]:
        raise bad_shape(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if k != min(other.shape[side], input.shape[-1]):
        said = f"tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
        raise bad_shape(f"torch.ormqr: {said}")
    of_reflections("torch.ormqr", input, tau)
    if tuple(other.shape[:-2]) != tuple(input.shape[:-2]):
        raise bad_shape("ormqr: Expected batch dimensions of other to be equal to input.shape[:-2]")
    of_one_dtype("torch.ormqr", input=input, other=other)
    refuse_kinds("bool int half", "ormqr_cpu", input.dtype)
    if left:
        found = reflected(input, tau, other, transpose)
    else:
        found = _mH(reflected(input, tau, _mH(other), not transpose))
    return called(columnwise(found), "OrmqrBackward0", input, tau, other)


@by_element
def geqrf(input: Any) -> Any:
    """``(a, tau)``: R in the upper triangle of a, the reflections below it; see ``ormqr``.

    No derivative, as in PyTorch: ``qr`` has one. Raises UnwrittenFault (E0405) where it is asked
    for.
    """
    of_matrices("torch.geqrf: input", input)
    refuse_kinds("bool int half", "geqrf_cpu", input.dtype)
    m, n = input.shape[-2:]
    charge_shape((2, *input.shape))
    flat = np.asarray(input.array).reshape(math.prod(input.shape[:-2]), m, n)
    found = [np.linalg.qr(matrix, mode="raw") for matrix in flat]
    # LAPACK's own layout is by columns, and NumPy hands it over turned.
    a = np.stack([h.T for h, _ in found]) if found else flat
    tau = np.stack([t for _, t in found]) if found else np.zeros((0, min(m, n)), flat.dtype)
    lead = tuple(input.shape[:-2])
    made = in_columns(a.reshape(input.shape)), tau.reshape(*lead, min(m, n))
    both = (wrap(v.astype(input.dtype.numpy), input.dtype) for v in made)
    both = (without_derivative(v, (input,), "geqrf", "GeqrfBackward0") for v in both)
    return results("geqrf", **dict(zip(("a", "tau"), both, strict=True)))


def cholesky_solve(B: Any, L: Tensor, upper: bool = False) -> Any:
    """The X with A X = B, from the Cholesky factor of A."""
    of_matrices("b", B)
    of_matrices("u", L)
    of_one_dtype("cholesky_solve", b=B, A=L)
    refuse_kinds("bool int half", "cholesky_solve_cpu", L.dtype)
    part = triangle(L, upper)
    low = _mH(part) if upper else part
    found = by_triangle(_mH(low), by_triangle(low, B, False), True)
    return called(found, "CholeskySolveBackward0", B, L)


def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """The inverse of A from its Cholesky factor. Raises LinAlgFault (E0304) for a singular one."""
    of_squares("cholesky_inverse", L)
    refuse_kinds("bool int half", "cholesky_inverse_out_cpu", L.dtype)
    if isinstance(L, Plain) and L.ndim > 1 and (zero := _first_zero(L)).any():
        places = np.flatnonzero(zero)
        which = f"(Batch element {places[0]}): " if zero.ndim else ""
        said = f"{which}The diagonal element {zero.flat[places[0]]} is zero, the inversion could"
        raise LinAlgFault("E0304", f"cholesky_inverse: {said} not be completed: it is singular.")
    factor = triangle(L, upper)
    inverse = _O["inv"](_mH(factor) if upper else factor)
    found = columnwise(_O["matmul"](_mH(inverse), inverse))
    return called(found, "CholeskyInverseBackward0", L)


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple:
    """``(U, S, V)`` with A - M close to U diag(S) V.mH, of ``q`` singular values.

    ``niter`` rounds sharpen the random directions, which are drawn from the generator in PyTorch's
    order. ``M`` broadcasts to A. After Halko, Martinsson and Tropp, Finding structure with
    randomness, 2011.

    Example:
        >>> import gradcli
        >>> A = gradcli.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
        >>> gradcli.svd_lowrank(A, 1)[1]
        tensor([8.3666])
    """
    rows = A if M is None else A - M
    wide = A.shape[-2] < A.shape[-1]
    tall = _mH(rows) if wide else rows
    start = randn(tall.shape[-1], 6 if q is None else q, dtype=A.dtype)
    basis = qr(tall @ start)[0]
    for _ in range(2 if niter is None else niter):
        basis = qr(_mH(tall) @ basis)[0]
        basis = qr(tall @ basis)[0]
    u, s, vh = svd(_mH(basis) @ tall, False)
    u, v = basis @ u, _mH(vh)
    return (v, s, u) if wide else (u, s, v)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple:
    """``(U, S, V)`` of the principal components: ``svd_lowrank`` of A less the mean of its columns.

    A row is an observation; ``q`` is 6 if left out. Raises ValueFault (E0304) for more components
    than rows or columns.
    """
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise bad_argument(f"q(={q}) must be non-negative integer and not greater than {min(m, n)}")
    if niter < 0:
        raise bad_argument(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - _O["mean"](A, -2, True) if center else A, q, niter)


may_be("none", pca_lowrank, svd_lowrank)
may_be("wider", cholesky_inverse, misfit=safely("{name}"))
may_be("wider", cholesky_solve, misfit=safely("{name}"), copied=True)
may_be("wider", geqrf, misfit=safely("torch.geqrf", "{part}"))
may_be("wider", eig, misfit=safely("torch.linalg.eig", "{part}"))
may_be("wider", eigvals, misfit=safely("torch.linalg.eigvals", "eigenvalues"))
