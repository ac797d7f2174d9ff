"""QR and LU factors, as ``parts`` joins them.

Formulas: Roberts and Roberts, QR and LQ decomposition (2020); PyTorch's linalg backward functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.comparison import ones_like
from gradcli.ops.conversion import conj
from gradcli.ops.decompositions.packing import (
    diagonal_matrix,
    eye_of,
    join,
    matrix_shape,
    mH,
    over_r,
    packed,
    unpacked,
)
from gradcli.ops.indexing import getitem
from gradcli.ops.joining import cat
from gradcli.ops.kinds import general
from gradcli.ops.linalg import _square, solve
from gradcli.ops.products import matmul
from gradcli.ops.shape import diagonal, tril, triu


def _qr(x: Any) -> Any:
    shape = matrix_shape("qr", x)
    return join(np.linalg.qr(x), shape[:-2], x.dtype)


_CORE = "mn nn"


def _qr_vjp(g: Any, out: Any, shape: Sequence[int]) -> Any:
    q, r = unpacked(out, shape, _CORE)
    gq, gr = unpacked(conj(g), shape, _CORE)
    along, upper = matmul(mH(q), gq), triu(matmul(triu(gr, 0), mH(r)), 0)
    # Of Q's cotangent nothing stays above the diagonal: a rounding there, over R, may be anything.
    both = upper + mH(upper) + tril(along - mH(along), 0)
    found = matmul(q, both - 0.5 * diagonal_matrix(diagonal(both)))
    if shape[-2] > shape[-1]:
        found = found + gq - matmul(q, along)
    return conj(over_r(found, r))


def _qr_jvp(tx: Any, x: Any, out: Any) -> Any:
    q, r = unpacked(out, x.shape, _CORE)
    inside = matmul(mH(q), tx)
    scaled = over_r(inside, mH(r))
    below = tril(scaled, -1)
    own = diagonal(scaled)
    turn = below - mH(below) + 0.5 * diagonal_matrix(own - conj(own))
    tq = matmul(q, turn)
    if x.shape[-2] > x.shape[-1]:
        tq = tq + over_r(tx - matmul(q, inside), mH(r))
    return packed(_CORE, tq, inside - matmul(turn, r))


qr_parts = general(
    "qr_parts",
    _qr,
    _qr_vjp,
    jvp=_qr_jvp,
    grad_name="LinalgQrBackward0",
    refuses={"half": "geqrf_cpu"},
    doc="Q with orthonormal columns, then R upper triangular: x = Q R, where x is not wide.",
    core="(m,n)->(m,n),(n,n)",
    parts=("qr({x})[0]", "qr({x})[1]"),
    latex=lambda params, rank: {0: r"\mathbf{Q}", 1: r"\mathbf{R}"}.get(params.get("part", -1)),
    numpy="np.linalg.qr({0})[{part}]",
    pytorch="torch.linalg.qr({0})[{part}]",
    public=False,
)


def _lu_compact(x: Any) -> Any:
    shape = _square("lu", x)
    out, places = x, np.arange(shape[-1], like=x)
    rows, columns = places[:, None], places[None, :]
    for k in range(shape[-1] - 1):
        pivot = out[..., k : k + 1, k : k + 1]  # where it is 0, so are all below it
        factors = np.where(rows > k, out[..., :, k : k + 1] / np.where(pivot == 0, 1, pivot), 0.0)
        out = out - np.where(columns > k, factors * out[..., k : k + 1, :], 0.0)
        out = np.where((rows > k) & (columns == k), factors, out)
    return out.astype(x.dtype)


def _lu_all(out: Any) -> tuple[Any, Any, Any]:
    """L, U, and U with 1 for its last pivot, by which no derivative divides."""
    own = diagonal(out)
    last = ones_like(getitem(own, (..., slice(-1, None))))
    own = cat(getitem(own, (..., slice(None, -1))), last, dim=-1)
    return tril(out, -1) + eye_of(own), triu(out, 0), triu(out, 1) + diagonal_matrix(own)


def _lu_vjp(g: Any, out: Any) -> Any:
    low, high, divisor = _lu_all(out)
    below, above = tril(conj(g), -1), triu(conj(g), 0)
    inside = tril(matmul(mH(low), below) - matmul(above, mH(high)), -1)
    return conj(solve(mH(low), above + over_r(inside, divisor)))


def _lu_jvp(tx: Any, out: Any) -> Any:
    low, high, divisor = _lu_all(out)
    left = solve(low, tx)
    below = tril(over_r(left, mH(divisor)), -1)
    return matmul(low, below) + triu(left - matmul(below, high), 0)


lu_compact = general(
    "lu_compact",
    _lu_compact,
    _lu_vjp,
    jvp=_lu_jvp,
    grad_name="LinalgLuFactorExBackward0",
    refuses={"half": "lu_cpu"},
    holds=3.3,
    doc="L below the diagonal (its own is 1) and U above: x = L U without exchanges of rows.",
    public=False,
)
