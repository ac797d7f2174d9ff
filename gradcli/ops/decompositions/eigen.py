"""Eigenvalues and eigenvectors, of symmetric and Hermitian matrices and of any square one.

Formulas: Giles, Collected matrix derivative results (2008); conventions and complex terms as in
PyTorch's linalg backward functions. How results lie in one array stands in ``parts``.
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
    independent,
    join,
    mH,
    one_phase,
    over_gaps,
    packed,
    unpacked,
)
from gradcli.ops.kinds import general
from gradcli.ops.linalg import _square, hermitian, solve
from gradcli.ops.products import matmul
from gradcli.ops.shape import diagonal, unsqueeze


def _eigh(x: Any, checked: bool = False) -> Any:
    shape = _square("eigh", x)
    values, vectors = decompose("eigh", np.linalg.eigh, hermitian(x))
    return join((values, vectors), shape[:-2], x.dtype)


_CORE = "n nn"


def _eigh_both(out: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    values, vectors = unpacked(out, shape, _CORE)
    return real(values), vectors


def _eigh_vjp(g: Any, out: Any, shape: Sequence[int], checked: bool) -> Any:
    values, vectors = _eigh_both(out, shape)
    g_values, g_vectors = _eigh_both(conj(g), shape)
    eye = eye_of(values)
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    along = matmul(mH(vectors), g_vectors)
    if checked:
        one_phase("linalg_eigh", diagonal(along))
    inside = over_gaps(along, asked(gaps, checked, g_vectors), eye) + diagonal_matrix(g_values)
    turned = matmul(matmul(vectors, inside), mH(vectors))
    return conj(0.5 * (turned + mH(turned)))


def _eigh_jvp(tx: Any, x: Any, out: Any) -> Any:
    values, vectors = _eigh_both(out, x.shape)
    inside = matmul(matmul(mH(vectors), 0.5 * (tx + mH(tx))), vectors)
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    moved = matmul(vectors, over_gaps(inside, gaps, eye_of(values)))
    return packed(_CORE, diagonal(inside), moved)


eigh_parts = general(
    "eigh_parts",
    _eigh,
    _eigh_vjp,
    jvp=_eigh_jvp,
    grad_name="LinalgEighBackward0",
    refuses={"half": "linalg_eigh_cpu"},
    holds=5.2,
    doc="Eigenvalues in ascending order, then eigenvectors, of (x + x.mH)/2.",
    edges="infinite or NaN for the vectors of repeated eigenvalues",
    core="(n,n)->(n),(n,n)",
    symmetrizes=True,
    parts=("eigvalsh({x})", "eigh({x})[1]"),
    latex=lambda params, rank: {1: r"\mathbf{V}"}.get(params.get("part", -1)),
    numpy="np.linalg.eigh({0})[{part}]",
    pytorch="torch.linalg.eigh({0})[{part}]",
    public=False,
)


def _eigvalsh(x: Any) -> Any:
    _square("eigvalsh", x)
    return decompose("eigvalsh", np.linalg.eigvalsh, hermitian(x))


def _eigvalsh_vjp(g: Any, x: Any, shape: Sequence[int]) -> Any:
    _, vectors = _eigh_both(eigh_parts(x), shape)
    return matmul(vectors * unsqueeze(g, -2), mH(vectors))


def _eigvalsh_jvp(tx: Any, x: Any) -> Any:
    _, vectors = _eigh_both(eigh_parts(x), x.shape)
    inside = matmul(matmul(mH(vectors), 0.5 * (tx + mH(tx))), vectors)
    return real(diagonal(inside))


eigvalsh = general(
    "eigvalsh",
    _eigvalsh,
    _eigvalsh_vjp,
    jvp=_eigvalsh_jvp,
    grad_name="LinalgEighBackward0",
    refuses={"half": "linalg_eigh_cpu"},
    holds=2.1,
    doc="The eigenvalues of (x + x.mH)/2 in ascending order, for a symmetric or Hermitian x.",
    edges="of (x + x.mH)/2, so that value and derivative agree where x is not symmetric",
    core="(n,n)->(n)",
    sorted=1,
    symmetrizes=True,
    kink="where eigenvalues of {0} are equal: single ones have no derivative",
    latex=r"\boldsymbol{\lambda}",
)

# ---- Any square matrix ---------------------------------------------------------------------------


def _eig(x: Any, checked: bool = False) -> Any:
    shape = _square("eig", x)
    values, vectors = decompose("eig", np.linalg.eig, x)
    return join((values, vectors), shape[:-2], np.result_type(x.dtype, np.complex64))


def _eig_vjp(g: Any, out: Any, shape: Sequence[int], checked: bool) -> Any:
    values, vectors = unpacked(out, shape, _CORE)
    g_values, g_vectors = unpacked(conj(g), shape, _CORE)
    eye = eye_of(values)
    gaps = conj(unsqueeze(values, -2) - unsqueeze(values, -1))
    inside = matmul(mH(vectors), g_vectors)
    if checked:
        one_phase("linalg_eig", diagonal(inside))
    inside = inside - matmul(mH(vectors), vectors * unsqueeze(real(diagonal(inside)), -2))
    middle = over_gaps(inside, asked(gaps, checked, g_vectors), eye) + diagonal_matrix(g_values)
    return conj(solve(mH(vectors), matmul(middle, mH(vectors))))


def _eig_jvp(tx: Any, x: Any, out: Any) -> Any:
    values, vectors = unpacked(out, x.shape, _CORE)
    inside = solve(independent(vectors), matmul(tx + 0.0 * vectors, vectors))
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    moved = matmul(vectors, over_gaps(inside, gaps, eye_of(values)))
    along = real(diagonal(matmul(mH(vectors), moved)))
    return packed(_CORE, diagonal(inside), moved - vectors * unsqueeze(along, -2))


eig_parts = general(
    "eig_parts",
    _eig,
    _eig_vjp,
    jvp=_eig_jvp,
    grad_name="LinalgEigBackward0",
    refuses={"half": "linalg_eig_out_cpu"},
    holds=6.3,
    doc="Eigenvalues, then eigenvectors of length 1, as complex numbers, of any square matrix.",
    edges="of vectors up to their phase; infinite or NaN for the vectors of repeated eigenvalues",
    public=False,
)


def _eigvals(x: Any) -> Any:
    _square("eigvals", x)
    # Not NumPy's eigvals: it may give another order than eig, whose vectors the rule needs.
    found = decompose("eigvals", lambda a: np.linalg.eig(a)[0], x)
    return found.astype(np.result_type(x.dtype, np.complex64))


def _eigvals_vjp(g: Any, x: Any, shape: Sequence[int]) -> Any:
    _, vectors = unpacked(eig_parts(x), shape, _CORE)
    return conj(solve(mH(vectors), unsqueeze(conj(g), -1) * mH(vectors)))


def _eigvals_jvp(tx: Any, x: Any) -> Any:
    _, vectors = unpacked(eig_parts(x), x.shape, _CORE)
    return diagonal(solve(independent(vectors), matmul(tx + 0.0 * vectors, vectors)))


eigvals = general(
    "eigvals",
    _eigvals,
    _eigvals_vjp,
    jvp=_eigvals_jvp,
    grad_name="LinalgEigBackward0",
    refuses={"half": "linalg_eig_out_cpu"},
    holds=6.3,
    doc="The eigenvalues of any square matrix, as complex numbers.",
    public=False,
)
