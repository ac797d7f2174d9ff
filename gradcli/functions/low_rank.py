"""Decompositions of matrices by a few random directions: ``svd_lowrank`` and ``pca_lowrank``.

After Halko, Martinsson and Tropp, Finding structure with randomness, 2011. Directions are drawn
from the generator, in PyTorch's order.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine.creation.sampling import randn
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.functions.decompositions import qr, svd
from gradcli.ops.errors import ValueFault


def _mH(x: Any) -> Any:
    return O["conj"](O["mT"](x))


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple:
    """``(U, S, V)`` with A - M close to U diag(S) V.mH, of ``q`` singular values.

    ``niter`` rounds sharpen the random directions. ``M`` broadcasts to A.

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
        raise ValueFault(
            "E0304",
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}",
        )
    if niter < 0:
        raise ValueFault("E0304", f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - O["mean"](A, -2, True) if center else A, q, niter)
