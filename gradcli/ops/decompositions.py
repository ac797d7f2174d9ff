"""Matrix decompositions: eigenvalues, singular values, QR and LU factors, pinv, exponential.

A decomposition has several results. Its operator gives them in one array, flattened and joined
along the last dimension, so that one rule serves them all:

    eigh_parts(x)   [ eigenvalues | eigenvectors, row by row ]     for each matrix of a stack

``gradcli.linalg`` takes the parts out again. Formulas: Giles, Collected matrix derivative results
(2008); Roberts and Roberts, QR and LQ decomposition (2020); conventions and complex terms as in
PyTorch's linalg backward functions. Where eigenvalues or singular values repeat, the derivative of
their vectors does not exist and comes out infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.comparison import ones_like
from gradcli.ops.conversion import conj, real
from gradcli.ops.core import general
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.indexing import getitem
from gradcli.ops.joining import cat
from gradcli.ops.limits import charge_shape
from gradcli.ops.linalg import _solved, _square, solve
from gradcli.ops.products import matmul
from gradcli.ops.shape import diagonal, mT, reshape, tril, triu, undiagonal, unsqueeze


def _matrix(name: str, x: Any) -> tuple[int, ...]:
    """The shape of x. Raises RuntimeFault (E0301) for fewer than two dimensions."""
    shape = tuple(np.shape(x))
    if len(shape) < 2:
        raise RuntimeFault(
            "E0301",
            f"linalg.{name}: The input tensor A must have at least 2 dimensions.",
            operands=((0, f"shape {shape}"),),
        )
    charge_shape((*shape[:-2], sum(shape[-2:]), sum(shape[-2:])), 3)
    return shape


def _square_matrix(name: str, x: Any) -> tuple[int, ...]:
    shape = tuple(_square(name, x))
    charge_shape((*shape, 3))
    return shape


def _decompose(name: str, function: Any, x: Any) -> Any:
    """A NumPy decomposition, in single precision for half. E0304 for what does not converge."""
    if np.size(x) and not np.all(np.isfinite(x)):
        raise RuntimeFault(
            "E0304",
            f"linalg.{name}: The algorithm failed to converge because the input matrix contained "
            "non-finite values.",
        )
    return _solved(name, function, x)


def _joined(parts: Sequence[Any], lead: Sequence[int], dtype: Any) -> Any:
    flat = [p.reshape((*lead, int(np.prod(p.shape[len(lead) :])))).astype(dtype) for p in parts]
    return np.concatenate(flat, axis=-1)


def _taken(out: Any, start: int, shape: Sequence[int]) -> Any:
    """The part of the last dimension that begins at ``start``, in its own shape."""
    lead = tuple(out.shape)[:-1]
    size = 1
    for n in shape:
        size *= n
    return reshape(getitem(out, (Ellipsis, slice(start, start + size))), (*lead, *shape))


def _flat(x: Any) -> Any:
    shape = tuple(x.shape)
    return reshape(x, (*shape[:-2], shape[-2] * shape[-1]))


def _mH(x: Any) -> Any:
    return conj(mT(x))


def _eye(x: Any) -> Any:
    """The identity for each vector of ``x``."""
    shape = tuple(x.shape)
    return undiagonal(ones_like(x), (*shape, shape[-1]))


def _diagonal_matrix(x: Any) -> Any:
    shape = tuple(x.shape)
    return undiagonal(x, (*shape, shape[-1]))


def _over_gaps(x: Any, gaps: Any, eye: Any) -> Any:
    """The entries off the diagonal over the gaps, zeros on it."""
    return x * (1.0 - eye) / (gaps + eye)


def _one_phase(who: str, turn: Any) -> None:
    """Raise RuntimeFault (E0304) where a gradient depends on the phases of vectors."""
    raw = getattr(turn, "array", turn)
    if not isinstance(raw, np.ndarray) or raw.dtype.kind != "c" or not raw.size:
        return
    small = 1e-6 if raw.dtype == np.complex128 else 1e-3
    if np.abs(raw.imag).max() > 0.01 * np.abs(raw).max() + small:
        raise RuntimeFault(
            "E0304",
            f"{who}_backward: The {'singular vectors' if who == 'svd' else 'eigenvectors'} in the "
            "complex case are specified up to multiplication by e^{i phi}. The specified loss "
            "function depends on this quantity, so it is ill-defined.",
            help="use what does not change with the phase: v.abs(), or v @ v.mH",
        )


# The engine turns g and what a general rule gives where results are complex (``pulling``), which is
# right for a rule without conjugates. These have theirs, and turn both back.


# ---- Symmetric and Hermitian matrices ------------------------------------------------------------


def _hermitian(x: Any) -> Any:
    return 0.5 * (x + np.conj(np.swapaxes(x, -1, -2)))


def _eigh(x: Any, checked: bool) -> Any:
    shape = _square_matrix("eigh", x)
    values, vectors = _decompose("eigh", lambda a: _Pair(np.linalg.eigh(a)), _hermitian(x))
    return _joined((values, vectors), shape[:-2], x.dtype)


class _Pair(tuple):
    """Several arrays that are cast together."""

    def astype(self, dtype: Any) -> tuple:
        return tuple(a.astype(dtype) for a in self)


def _both(out: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    n = shape[-1]
    return _taken(out, 0, (n,)), _taken(out, n, (n, n))


def _eigh_both(out: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    values, vectors = _both(out, shape)
    return real(values), vectors


def _eigh_vjp(g: Any, out: Any, shape: Sequence[int], checked: bool) -> Any:
    values, vectors = _eigh_both(out, shape)
    g_values, g_vectors = _eigh_both(g, shape)
    eye = _eye(values)
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    along = matmul(_mH(vectors), g_vectors)
    if checked:
        _one_phase("linalg_eigh", diagonal(along))
    inside = _over_gaps(along, gaps, eye) + _diagonal_matrix(g_values)
    turned = matmul(matmul(vectors, inside), _mH(vectors))
    return 0.5 * (turned + _mH(turned))


def _eigh_jvp(tx: Any, x: Any, out: Any) -> Any:
    values, vectors = _eigh_both(out, x.shape)
    inside = matmul(matmul(_mH(vectors), 0.5 * (tx + _mH(tx))), vectors)
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    moved = matmul(vectors, _over_gaps(inside, gaps, _eye(values)))
    return cat(diagonal(inside), _flat(moved), dim=-1)


eigh_parts = general(
    "eigh_parts",
    _eigh,
    lambda g, out, shape, checked: conj(_eigh_vjp(conj(g), out, shape, checked)),
    jvp=_eigh_jvp,
    params={"checked": False},
    dtypes="inexact",
    grad_name="LinalgEighBackward0",
    doc="Eigenvalues in ascending order, then eigenvectors, of (x + x.mH)/2.",
    edges="infinite or NaN for the vectors of repeated eigenvalues",
)


def _eigvalsh(x: Any) -> Any:
    _square_matrix("eigvalsh", x)
    return _decompose("eigvalsh", np.linalg.eigvalsh, _hermitian(x))


def _eigvalsh_vjp(g: Any, x: Any, shape: Sequence[int]) -> Any:
    _, vectors = _eigh_both(eigh_parts(x), shape)
    return matmul(vectors * unsqueeze(g, -2), _mH(vectors))


def _eigvalsh_jvp(tx: Any, x: Any) -> Any:
    _, vectors = _eigh_both(eigh_parts(x), x.shape)
    inside = matmul(matmul(_mH(vectors), 0.5 * (tx + _mH(tx))), vectors)
    return real(diagonal(inside))


eigvalsh = general(
    "eigvalsh",
    _eigvalsh,
    lambda g, x, shape: _eigvalsh_vjp(g, x, shape),
    jvp=_eigvalsh_jvp,
    dtypes="inexact",
    grad_name="LinalgEighBackward0",
    doc="The eigenvalues of (x + x.mH)/2 in ascending order, for a symmetric or Hermitian x.",
    edges="of (x + x.mH)/2, so that value and derivative agree where x is not symmetric",
    example='sum(eigvalsh(A)) --A "2,1;1,3"',
)

# ---- Any square matrix ---------------------------------------------------------------------------


def _eig(x: Any, checked: bool) -> Any:
    shape = _square_matrix("eig", x)
    values, vectors = _decompose("eig", lambda a: _Pair(np.linalg.eig(a)), x)
    return _joined((values, vectors), shape[:-2], np.result_type(x.dtype, np.complex64))


def _eig_vjp(g: Any, out: Any, shape: Sequence[int], checked: bool) -> Any:
    values, vectors = _both(out, shape)
    g_values, g_vectors = _both(g, shape)
    eye = _eye(values)
    gaps = conj(unsqueeze(values, -2) - unsqueeze(values, -1))
    inside = matmul(_mH(vectors), g_vectors)
    if checked:
        _one_phase("linalg_eig", diagonal(inside))
    inside = inside - matmul(_mH(vectors), vectors * unsqueeze(real(diagonal(inside)), -2))
    middle = _over_gaps(inside, gaps, eye) + _diagonal_matrix(g_values)
    return solve(_mH(vectors), matmul(middle, _mH(vectors)))


def _eig_jvp(tx: Any, x: Any, out: Any) -> Any:
    values, vectors = _both(out, x.shape)
    inside = solve(vectors, matmul(tx + 0.0 * vectors, vectors))
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    moved = matmul(vectors, _over_gaps(inside, gaps, _eye(values)))
    along = real(diagonal(matmul(_mH(vectors), moved)))
    return cat(diagonal(inside), _flat(moved - vectors * unsqueeze(along, -2)), dim=-1)


eig_parts = general(
    "eig_parts",
    _eig,
    lambda g, out, shape, checked: conj(_eig_vjp(conj(g), out, shape, checked)),
    jvp=_eig_jvp,
    params={"checked": False},
    dtypes="inexact",
    grad_name="LinalgEigBackward0",
    doc="Eigenvalues, then eigenvectors of length 1, as complex numbers, of any square matrix.",
    edges="of vectors up to their phase; infinite or NaN for the vectors of repeated eigenvalues",
)


def _eigvals(x: Any) -> Any:
    _square_matrix("eigvals", x)
    # Not NumPy's eigvals: it may give another order than eig, whose vectors the rule needs.
    found = _decompose("eigvals", lambda a: np.linalg.eig(a)[0], x)
    return found.astype(np.result_type(x.dtype, np.complex64))


def _eigvals_vjp(g: Any, x: Any, shape: Sequence[int]) -> Any:
    _, vectors = _both(eig_parts(x), shape)
    return solve(_mH(vectors), unsqueeze(g, -1) * _mH(vectors))


def _eigvals_jvp(tx: Any, x: Any) -> Any:
    _, vectors = _both(eig_parts(x), x.shape)
    return diagonal(solve(vectors, matmul(tx + 0.0 * vectors, vectors)))


eigvals = general(
    "eigvals",
    _eigvals,
    lambda g, x, shape: conj(_eigvals_vjp(conj(g), x, shape)),
    jvp=_eigvals_jvp,
    dtypes="inexact",
    grad_name="LinalgEigBackward0",
    doc="The eigenvalues of any square matrix, as complex numbers.",
)


# ---- Singular values -----------------------------------------------------------------------------


def _svd(x: Any, checked: bool) -> Any:
    shape = _matrix("svd", x)
    found = _decompose("svd", lambda a: _Pair(np.linalg.svd(a, full_matrices=False)), x)
    return _joined(found, shape[:-2], x.dtype)


def _svd_all(out: Any, shape: Sequence[int]) -> tuple[Any, Any, Any]:
    m, n = shape[-2:]
    k = min(m, n)
    s = real(_taken(out, m * k, (k,)))
    return _taken(out, 0, (m, k)), s, _taken(out, m * k + k, (k, n))


def _svd_vjp(g: Any, out: Any, shape: Sequence[int], checked: bool) -> Any:
    u, s, vh = _svd_all(out, shape)
    gu, gs, gvh = _svd_all(g, shape)
    m, n = shape[-2:]
    row, column, eye = unsqueeze(s, -2), unsqueeze(s, -1), _eye(s)
    gaps = row * row - column * column
    left, right = matmul(_mH(u), gu), matmul(vh, _mH(gvh))
    if checked:
        _one_phase("svd", diagonal(left + right))
    turn = diagonal(left - _mH(left)) / (2.0 * s)  # 0 where numbers are real
    inside = _over_gaps((left - _mH(left)) * row + column * (right - _mH(right)), gaps, eye)
    found = matmul(matmul(u, inside + _diagonal_matrix(gs + turn)), vh)
    if m > n:
        found = found + matmul((gu - matmul(u, left)) / row, vh)
    if n > m:
        found = found + matmul(u, (gvh - matmul(matmul(gvh, _mH(vh)), vh)) / column)
    return found


def _svd_jvp(tx: Any, x: Any, out: Any) -> Any:
    u, s, vh = _svd_all(out, x.shape)
    m, n = x.shape[-2:]
    row, column, eye = unsqueeze(s, -2), unsqueeze(s, -1), _eye(s)
    gaps = row * row - column * column
    inside = matmul(matmul(_mH(u), tx), _mH(vh))
    off = inside - _diagonal_matrix(diagonal(inside))
    turn = _diagonal_matrix(diagonal(inside - _mH(inside)) / (4.0 * s))
    tu = matmul(u, _over_gaps(off * row + column * _mH(off), gaps, eye) + turn)
    tv = matmul(_over_gaps(column * off + _mH(off) * row, gaps, eye) - turn, vh)
    if m > n:
        tu = tu + (matmul(tx, _mH(vh)) - matmul(u, inside)) / row
    tvh = -tv
    if n > m:
        tvh = tvh + (matmul(_mH(u), tx) - matmul(inside, vh)) / column
    ts = 0.5 * diagonal(inside + _mH(inside))
    return cat(_flat(tu), ts, _flat(tvh), dim=-1)


svd_parts = general(
    "svd_parts",
    _svd,
    lambda g, out, shape, checked: conj(_svd_vjp(conj(g), out, shape, checked)),
    jvp=_svd_jvp,
    params={"checked": False},
    dtypes="inexact",
    grad_name="LinalgSvdBackward0",
    doc="U, the singular values in descending order, and V' with x = U diag(s) V'.",
    edges="infinite or NaN for the vectors of repeated or zero singular values",
)


def _svdvals(x: Any) -> Any:
    _matrix("svdvals", x)
    return _decompose("svdvals", lambda a: np.linalg.svd(a, compute_uv=False), x)


def _svdvals_vjp(g: Any, x: Any, shape: Sequence[int]) -> Any:
    u, _, vh = _svd_all(svd_parts(x), shape)
    return matmul(u * unsqueeze(g, -2), vh)


def _svdvals_jvp(tx: Any, x: Any) -> Any:
    u, _, vh = _svd_all(svd_parts(x), x.shape)
    return real(diagonal(matmul(matmul(_mH(u), tx), _mH(vh))))


svdvals = general(
    "svdvals",
    _svdvals,
    lambda g, x, shape: _svdvals_vjp(g, x, shape),
    jvp=_svdvals_jvp,
    dtypes="inexact",
    grad_name="LinalgSvdBackward0",
    doc="The singular values of a matrix in descending order.",
    example='sum(svdvals(A)) --A "2,1;1,3"',
)

# ---- QR and LU -----------------------------------------------------------------------------------


def _qr(x: Any) -> Any:
    shape = _matrix("qr", x)
    return _joined(_decompose("qr", lambda a: _Pair(np.linalg.qr(a)), x), shape[:-2], x.dtype)


def _qr_both(out: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    m, n = shape[-2:]
    return _taken(out, 0, (m, n)), _taken(out, m * n, (n, n))


def _over_r(x: Any, r: Any) -> Any:
    """x @ inv(r).mH"""
    return _mH(solve(r, _mH(x)))


def _qr_vjp(g: Any, out: Any, shape: Sequence[int]) -> Any:
    q, r = _qr_both(out, shape)
    gq, gr = _qr_both(g, shape)
    upper = triu(matmul(gr, _mH(r)) - matmul(_mH(q), gq), 0)
    both = upper + _mH(upper)
    both = both - 0.5 * _diagonal_matrix(diagonal(both))
    return _over_r(gq + matmul(q, both), r)


def _qr_jvp(tx: Any, x: Any, out: Any) -> Any:
    q, r = _qr_both(out, x.shape)
    inside = matmul(_mH(q), tx)
    scaled = _mH(solve(_mH(r), _mH(inside)))
    below = tril(scaled, -1)
    own = diagonal(scaled)
    turn = below - _mH(below) + 0.5 * _diagonal_matrix(own - conj(own))
    tq = _mH(solve(_mH(r), _mH(tx - matmul(q, inside)))) + matmul(q, turn)
    return cat(_flat(tq), _flat(inside - matmul(turn, r)), dim=-1)


qr_parts = general(
    "qr_parts",
    _qr,
    lambda g, out, shape: conj(_qr_vjp(conj(g), out, shape)),
    jvp=_qr_jvp,
    dtypes="inexact",
    grad_name="LinalgQrBackward0",
    doc="Q with orthonormal columns, then R upper triangular: x = Q R, where x is not wide.",
)


def _lu_compact(x: Any) -> Any:
    shape = _square_matrix("lu", x)
    out, places = x, np.arange(shape[-1], like=x)
    rows, columns = places[:, None], places[None, :]
    for k in range(shape[-1] - 1):
        factors = np.where(rows > k, out[..., :, k : k + 1] / out[..., k : k + 1, k : k + 1], 0.0)
        out = out - np.where(columns > k, factors * out[..., k : k + 1, :], 0.0)
        out = np.where((rows > k) & (columns == k), factors, out)
    return out.astype(x.dtype)


def _lu_both(out: Any) -> tuple[Any, Any]:
    return tril(out, -1) + _eye(diagonal(out)), triu(out, 0)


def _lu_vjp(g: Any, out: Any) -> Any:
    low, high = _lu_both(out)
    inside = tril(matmul(_mH(low), tril(g, -1)), -1) + triu(matmul(triu(g, 0), _mH(high)), 0)
    return _over_r(solve(_mH(low), inside), high)


def _lu_jvp(tx: Any, out: Any) -> Any:
    low, high = _lu_both(out)
    inside = _mH(solve(_mH(high), _mH(solve(low, tx))))
    return matmul(low, tril(inside, -1)) + matmul(triu(inside, 0), high)


lu_compact = general(
    "lu_compact",
    _lu_compact,
    lambda g, out: conj(_lu_vjp(conj(g), out)),
    jvp=_lu_jvp,
    dtypes="inexact",
    grad_name="LinalgLuFactorExBackward0",
    doc="L below the diagonal (its own is 1) and U above: x = L U without exchanges of rows.",
)

# ---- Functions of matrices -----------------------------------------------------------------------


def _pinv(x: Any, rtol: float | None, atol: float) -> Any:
    shape = _matrix("pinv", x)
    found = _decompose("pinv", lambda a: _Pair(np.linalg.svd(a, full_matrices=False)), x)
    u, s, vh = found
    if rtol is None:
        rtol = 0.0 if atol else max(shape[-2:]) * float(np.finfo(x.dtype).eps)
    least = np.maximum(rtol * s[..., :1], atol) if s.shape[-1] else s
    inverse = np.where(s > least, 1.0 / np.where(s == 0, 1.0, s), 0.0).astype(s.dtype)
    turned = np.conj(np.swapaxes(vh, -1, -2)) * inverse[..., None, :]
    return (turned @ np.conj(np.swapaxes(u, -1, -2))).astype(x.dtype)


def _pinv_vjp(g: Any, x: Any, out: Any) -> Any:
    """From dP = -P dA P + P P' dA' (I - A P) + (I - P A) dA' P' P, at constant rank."""
    ph, gh = _mH(out), _mH(g)
    first = matmul(matmul(ph, g), ph)
    second = matmul(matmul(gh - matmul(x, matmul(out, gh)), out), ph)
    third = matmul(matmul(ph, out), gh - matmul(matmul(gh, out), x))
    return second + third - first


def _pinv_jvp(tx: Any, x: Any, out: Any) -> Any:
    ph, th = _mH(out), _mH(tx)
    first = matmul(matmul(out, tx), out)
    second = matmul(matmul(out, ph), th - matmul(matmul(th, x), out))
    third = matmul(matmul(th - matmul(out, matmul(x, th)), ph), out)
    return second + third - first


pinv = general(
    "pinv",
    _pinv,
    lambda g, x, out: conj(_pinv_vjp(conj(g), x, out)),
    jvp=_pinv_jvp,
    params={"rtol": None, "atol": 0.0},
    dtypes="inexact",
    aliases=("pinverse",),
    grad_name="LinalgPinvBackward0",
    doc="The Moore-Penrose inverse: singular values up to rtol times the largest count as 0.",
    edges="at constant rank",
    example='sum(pinv(A)) --A "2,1;1,3"',
)

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0,
    960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def _matrix_exp(x: Any) -> Any:
    """Scaling and squaring with the Pade approximant of order 13: Higham, SIAM J. Matrix Anal.

    Appl. 26 (2005).
    """
    shape = _square_matrix("matrix_exp", x)
    half = x.dtype == np.float16
    a = x.astype(np.float32) if half else x
    if not a.size:
        return np.zeros_like(x)
    size = np.abs(a).sum(axis=-2).max(axis=-1)
    if not np.all(np.isfinite(size)):
        return np.full_like(x, np.nan)
    times = np.ceil(np.log2(np.maximum(size / 5.371920351148152, 1.0))).astype(int)
    a = (a / (2.0**times)[..., None, None]).astype(a.dtype)
    eye = np.broadcast_to(np.eye(shape[-1], dtype=a.dtype, like=a), a.shape)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    b = _PADE
    odd = a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2
    odd = a @ (odd + b[1] * eye)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2
    even = even + b[0] * eye
    out = np.linalg.solve(even - odd, even + odd)
    for k in range(int(times.max())):
        out = np.where((times > k)[..., None, None], out @ out, out)
    return out.astype(x.dtype)


def _along_block(x: Any, y: Any) -> Any:
    """The derivative of the exponential of x along y: a block of that of [[x, y], [0, x]]."""
    n = x.shape[-1]
    whole = cat(cat(x, y, dim=-1), cat(0.0 * x, x, dim=-1), dim=-2)
    return getitem(matrix_exp(whole), (Ellipsis, slice(0, n), slice(n, 2 * n)))


matrix_exp = general(
    "matrix_exp",
    _matrix_exp,
    lambda g, x: conj(_along_block(_mH(x), conj(g))),
    jvp=lambda tx, x: _along_block(x, tx),
    dtypes="inexact",
    grad_name="LinalgMatrixExpBackward0",
    doc="The exponential of a square matrix: the sum of x^k / k!.",
    example='sum(matrix_exp(A)) --A "0,1;-1,0"',
)
