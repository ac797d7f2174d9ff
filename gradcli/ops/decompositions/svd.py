"""Singular values and vectors, as ``parts`` joins them.

Formulas: Giles, Collected matrix derivative results (2008); complex terms as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.conversion import conj, real
from gradcli.ops.decompositions.packing import (
    asked,
    decompose,
    diagonal_matrix,
    eye_of,
    join,
    matrix_shape,
    mH,
    one_phase,
    over_gaps,
    packed,
    unpacked,
)
from gradcli.ops.kinds import general
from gradcli.ops.operator import is_complex
from gradcli.ops.piecewise import where
from gradcli.ops.products import matmul
from gradcli.ops.shape import diagonal, mT, unsqueeze


def singular(x: Any, vectors: bool = True) -> Any:
    """NumPy's decomposition, or its values alone; NaN for a matrix with infinite entries."""
    endless = np.isinf(x).any((-2, -1)) & ~np.isnan(x).any((-2, -1))
    if endless.any():
        x = np.where(endless[..., None, None], 0, x).astype(x.dtype)
    svd: Any = np.linalg.svd
    found = decompose("svd", lambda a: svd(a, False, vectors), x)
    for part in found if vectors else (found,):
        part[endless] = np.nan
    return found


def _svd(x: Any, checked: bool = False) -> Any:
    shape = matrix_shape("svd", x)
    return join(singular(x), shape[:-2], x.dtype)


_CORE = "mk k kn"


def _svd_all(out: Any, shape: Sequence[int]) -> tuple[Any, Any, Any]:
    u, s, vh = unpacked(out, shape, _CORE)
    return u, real(s), vh


def _svd_vjp(g: Any, out: Any, shape: Sequence[int], checked: bool) -> Any:
    u, s, vh = _svd_all(out, shape)
    gu, gs, gvh = _svd_all(conj(g), shape)
    m, n = shape[-2:]
    row, column, eye = unsqueeze(s, -2), unsqueeze(s, -1), eye_of(s)
    # The squares of the values, whose differences the formula has, would leave the floats.
    both = asked(row + column, checked, gu, gvh) + eye
    left, right = matmul(mH(u), gu), matmul(vh, mH(gvh))
    if checked:
        one_phase("svd", diagonal(left + right))
    over = asked(row, checked, gu, gvh)
    if is_complex(u):
        turn = diagonal(left - mH(left))
        gs = gs + turn / where(turn == 0, 1.0, 2.0 * s)
    turned = (left - mH(left)) * (row / both) + (column / both) * (right - mH(right))
    inside = over_gaps(turned, asked(row - column, checked, gu, gvh), eye)
    found = matmul(matmul(u, inside + diagonal_matrix(gs)), vh)
    if m > n:
        found = found + matmul((gu - matmul(u, left)) / over, vh)
    if n > m:
        found = found + matmul(u, (gvh - matmul(matmul(gvh, mH(vh)), vh)) / mT(over))
    return conj(found)


def _svd_jvp(tx: Any, x: Any, out: Any) -> Any:
    u, s, vh = _svd_all(out, x.shape)
    m, n = x.shape[-2:]
    row, column, eye = unsqueeze(s, -2), unsqueeze(s, -1), eye_of(s)
    over, under = row / (row + column + eye), column / (row + column + eye)
    inside = matmul(matmul(mH(u), tx), mH(vh))
    left = over_gaps(inside * over + under * mH(inside), row - column, eye)
    right = over_gaps(under * inside + mH(inside) * over, row - column, eye)
    if is_complex(u):
        turn = diagonal_matrix(diagonal(inside - mH(inside)) / (4.0 * s))
        left, right = left + turn, right - turn
    tu, tvh = matmul(u, left), -matmul(right, vh)
    if m > n:
        tu = tu + (matmul(tx, mH(vh)) - matmul(u, inside)) / row
    if n > m:
        tvh = tvh + (matmul(mH(u), tx) - matmul(inside, vh)) / column
    ts = 0.5 * diagonal(inside + mH(inside))
    return packed(_CORE, tu, ts, tvh)


svd_parts = general(
    "svd_parts",
    _svd,
    _svd_vjp,
    jvp=_svd_jvp,
    grad_name="LinalgSvdBackward0",
    refuses={"half": "linalg_svd_cpu"},
    doc="U, the singular values in descending order, and V' with x = U diag(s) V'.",
    edges="infinite or NaN for the vectors of repeated or zero singular values",
    core="(m,n)->(m,k),(k),(k,n)",
    parts=("svd({x}, False)[0]", "svdvals({x})", "svd({x}, False)[2]"),
    latex=lambda params, rank: {0: r"\mathbf{U}", 2: r"\mathbf{V}^{\top}"}.get(
        params.get("part", -1)
    ),
    numpy="np.linalg.svd({0}, full_matrices=False)[{part}]",
    pytorch="torch.linalg.svd({0}, full_matrices=False)[{part}]",
    public=False,
)


def _svdvals(x: Any) -> Any:
    matrix_shape("svdvals", x, 0)
    return singular(x, False)


def _svdvals_vjp(g: Any, x: Any, shape: Sequence[int]) -> Any:
    u, _, vh = _svd_all(svd_parts(x), shape)
    return matmul(u * unsqueeze(g, -2), vh)


def _svdvals_jvp(tx: Any, x: Any) -> Any:
    u, _, vh = _svd_all(svd_parts(x), x.shape)
    return real(diagonal(matmul(matmul(mH(u), tx), mH(vh))))


svdvals = general(
    "svdvals",
    _svdvals,
    _svdvals_vjp,
    jvp=_svdvals_jvp,
    grad_name="LinalgSvdBackward0",
    refuses={"half": "linalg_svd_cpu"},
    doc="The singular values of a matrix in descending order.",
    core="(m,n)->(k)",
    sorted=-1,
    kink="where singular values of {0} are equal or 0: single ones have no derivative",
    numpy="np.linalg.svd({0}, compute_uv=False)",
    pytorch="torch.linalg.svdvals",
    latex=r"\boldsymbol{\sigma}",
)
