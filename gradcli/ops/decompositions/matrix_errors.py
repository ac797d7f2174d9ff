"""The errors of square matrices: not square, singular, not positive definite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.ops.errors import LinAlgFault, RuntimeFault, bad_shape

_NAMES = ("inv", "det", "slogdet", "eig", "eigvals", "matrix_power", "matrix_exp")
_TITLES = {name: f"linalg.{name}" for name in _NAMES}
_TITLES |= {"solve": "torch.linalg.solve", "eigh": "linalg.eigh", "eigvalsh": "linalg.eigh"}


def not_square(name: str, shape: Sequence[int]) -> RuntimeFault:
    """The error of a matrix whose last two dimensions differ, or of what is no matrix."""
    title = _TITLES.get(name, name).removeprefix("torch.")
    if len(shape) < 2:
        said = f"{title}: The input tensor A must have at least 2 dimensions."
    else:
        said = (
            f"{title}: A must be batches of square matrices, but they are {shape[-2]} by "
            f"{shape[-1]} matrices"
        )
    message = f"{name} needs a square matrix, got shape {tuple(shape)}"
    mend = "its last two dimensions must be equal"
    return bad_shape(message, help=mend, operands=((0, f"shape {tuple(shape)}"),), torch=said)


def unsolved(name: str, x: Any, definite: bool = False) -> LinAlgFault:
    """The error of a singular matrix, or of one that had to be positive ``definite``."""
    where, order = _first_refused(x, definite)
    start = f"{_TITLES.get(name, name)}: {where}"
    if definite:
        return LinAlgFault(
            "E0304",
            f"{name}: the matrix is not positive definite",
            help="it has to be symmetric with eigenvalues above 0",
            torch=f"{start}The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {order} is not positive-definite).",
        )
    if name == "inv":
        said = (
            f"{start}The diagonal element {order} is zero, the inversion could not be completed "
            "because the input matrix is singular."
        )
    else:
        said = f"{start}The solver failed because the input matrix is singular."
    mend = "it has no inverse; det and its derivatives exist all the same"
    return LinAlgFault("E0304", f"{name}: the matrix is singular", help=mend, torch=said)


def stopped_at(x: Any, definite: bool = False) -> Any:
    """For each matrix 0, or which pivot of its elimination is 0, counted from 1.

    Of one that is to be positive ``definite``: which leading minor is not.
    """
    from scipy.linalg import lapack

    x = np.asarray(x.get() if hasattr(x, "get") else x)
    wide = x.astype(np.result_type(x.dtype, np.float32))
    functions: Any = lapack.get_lapack_funcs(("potrf" if definite else "getrf",), (wide,))
    function, options = functions[0], {"lower": True} if definite else {}
    count, found = math.prod(x.shape[:-2]), []
    for matrix in wide.reshape(count, *x.shape[-2:]):
        missing = np.isnan(np.tril(matrix)).any(axis=1) if definite else np.zeros(1, bool)
        nan = int(missing.argmax()) + 1 if missing.any() else 0
        found.append(function(matrix, **options)[-1] or nan)
    return np.array(found, np.int32).reshape(x.shape[:-2])


def _first_refused(x: Any, definite: bool) -> tuple[str, int]:
    """``(Batch element n): `` of the first matrix that has no answer, and where LAPACK stopped."""
    found = stopped_at(x, definite)
    for n, info in enumerate(found.reshape(-1)):
        if info > 0:
            return (f"(Batch element {n}): " if found.ndim else ""), int(info)
    return "", x.shape[-1]
