"""``gradcli.linalg``: norms, products and what else of PyTorch's ``linalg`` gradcli has."""

from __future__ import annotations

from typing import Any

from gradcli.engine import calls, functions
from gradcli.engine.functions import public_operators
from gradcli.ops import OPERATORS as _O
from gradcli.ops.errors import ValueFault

__all__ = [
    "cholesky", "cross", "det", "diagonal", "inv", "matmul", "matrix_norm", "matrix_power",
    "multi_dot", "norm", "slogdet", "solve", "vecdot", "vector_norm",
]  # fmt: skip

_names = public_operators()
cholesky, det, inv, solve = (_names[_name] for _name in ("cholesky", "det", "inv", "solve"))
slogdet = functions.slogdet
cross, multi_dot = calls.cross, calls.multi_dot


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """The ``ord``-norm of all entries, or along dimensions."""
    return _O["norm"](x, ord, dim, keepdim)


def matrix_norm(
    A: Any, ord: Any = "fro", dim: tuple[int, int] = (-2, -1), keepdim: bool = False
) -> Any:
    """The Frobenius norm of matrices. Raises ValueFault (E0304) for another ``ord``."""
    if ord != "fro":
        raise ValueFault("E0304", f"matrix_norm has ord='fro', not {ord!r}")
    return _O["norm"](A, 2, tuple(dim), keepdim)


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    """The norm of a vector, or Frobenius's of a matrix."""
    if ord is not None and (A.ndim == 2 if dim is None else isinstance(dim, tuple)):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim)
    return _O["norm"](A, 2 if ord is None else ord, dim, keepdim)


def matmul(input: Any, other: Any) -> Any:
    """The matrix product."""
    return input @ other


def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Inner products along a dimension, the first side conjugated."""
    return _O["sum"](x.conj() * y, dim)


def diagonal(A: Any) -> Any:
    """The diagonals of the last two dimensions."""
    return _O["diagonal"](A)


def matrix_power(A: Any, n: int) -> Any:
    """A matrix times itself, ``n`` times in all."""
    if n < 0:
        A, n = _O["inv"](A), -n
    if not n:
        from gradcli.engine.creation import eye

        return eye(A.shape[-1], dtype=A.dtype).expand(A.shape)
    out = None
    while n:
        if n & 1:
            out = A if out is None else out @ A
        n >>= 1
        A = A @ A if n else A
    return out
