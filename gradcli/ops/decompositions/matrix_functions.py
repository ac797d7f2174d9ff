"""Functions of a matrix that are computed through a decomposition: pseudoinverse, exponential."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.conversion import conj
from gradcli.ops.declaration.batching import matrices
from gradcli.ops.decompositions.packing import Together, decompose, matrix_shape, mH, square_shape
from gradcli.ops.indexing import getitem
from gradcli.ops.joining import cat
from gradcli.ops.kinds import general
from gradcli.ops.products import matmul


def _pinv(x: Any, rtol: float | None, atol: float) -> Any:
    shape = matrix_shape("pinv", x)
    found = decompose("pinv", lambda a: Together(np.linalg.svd(a, full_matrices=False)), x)
    u, s, vh = found
    if rtol is None:
        rtol = 0.0 if atol else max(shape[-2:]) * float(np.finfo(x.dtype).eps)
    least = np.maximum(rtol * s[..., :1], atol) if s.shape[-1] else s
    inverse = np.where(s > least, 1.0 / np.where(s == 0, 1.0, s), 0.0).astype(s.dtype)
    turned = np.conj(np.swapaxes(vh, -1, -2)) * inverse[..., None, :]
    return (turned @ np.conj(np.swapaxes(u, -1, -2))).astype(x.dtype)


def _pinv_vjp(g: Any, x: Any, out: Any) -> Any:
    """From dP = -P dA P + P P' dA' (I - A P) + (I - P A) dA' P' P, at constant rank."""
    ph, gh = mH(out), mH(g)
    first = matmul(matmul(ph, g), ph)
    second = matmul(matmul(gh - matmul(x, matmul(out, gh)), out), ph)
    third = matmul(matmul(ph, out), gh - matmul(matmul(gh, out), x))
    return second + third - first


def _pinv_jvp(tx: Any, x: Any, out: Any) -> Any:
    ph, th = mH(out), mH(tx)
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
    latex=r"\operatorname{pinv}",
    batching=matrices,
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
    shape = square_shape("matrix_exp", x)
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
    lambda g, x: conj(_along_block(mH(x), conj(g))),
    jvp=lambda tx, x: _along_block(x, tx),
    dtypes="inexact",
    grad_name="LinalgMatrixExpBackward0",
    doc="The exponential of a square matrix: the sum of x^k / k!.",
    example='sum(matrix_exp(A)) --A "0,1;-1,0"',
    latex=r"\operatorname{expm}",
    batching=matrices,
)
