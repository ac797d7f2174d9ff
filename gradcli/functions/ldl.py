"""L D L' of symmetric and Hermitian matrices that need not be definite: LAPACK's sytrf and hetrf.

Without derivatives, as in PyTorch: ``solve`` and ``eigh`` have them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.custom_function.function import without_derivative
from gradcli.engine.named_tuples import results
from gradcli.engine.record.composite import by_element
from gradcli.engine.tensor.tensor import wrap
from gradcli.functions.decompositions import of_floats, of_one_dtype, of_pivots, of_rows, of_squares
from gradcli.ops.dims import in_columns, normal_dim
from gradcli.ops.errors import LinAlgFault, bad_dtype, bad_shape
from gradcli.ops.memory_budget import charge_shape


def _lapack(hermitian: bool, ending: str, *arrays: Any) -> Any:
    from scipy.linalg import lapack  # slow to load

    kind = "he" if hermitian and np.result_type(*arrays).kind == "c" else "sy"
    functions: Any = lapack.get_lapack_funcs((f"{kind}{ending}",), arrays)
    return functions[0]


def _underived(name: str, array: np.ndarray, *sources: Any) -> Any:
    """The result of one of these functions, of which PyTorch has no derivative."""
    name = f"linalg_ldl_{name}"
    said = f"derivative for aten::{name} is not implemented"
    found = wrap(array, sources[0].dtype)
    return without_derivative(found, sources, name, "NotImplemented", said)


@by_element
def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """``(LD, pivots, info)``: ``ldl_factor``, and 0 or which entry of D is 0, counted from 1.

    Raises RuntimeFault (E0301) unless square, (E0405) where a gradient is asked for, and
    LinAlgFault (E0304) for a singular D where ``check_errors``.
    """
    of_squares("torch.linalg.ldl_factor_ex", A)
    of_floats("torch.linalg.ldl_factor_ex", A)
    refuse_kinds("half", "ldl_factor_kernel_cpu", A.dtype)
    charge_shape((2, *A.shape))
    raw = np.asarray(A.array)
    factor = _lapack(hermitian, "trf", raw)
    n, lead = A.shape[-1], tuple(A.shape[:-2])
    both, pivots = np.empty(A.shape, raw.dtype), np.empty((*lead, n), np.int32)
    info = np.zeros(lead, np.int32)
    for place in np.ndindex(lead if n else (0,)):
        found, pivots[place], info[place] = factor(raw[place], lower=True)
        both[place] = np.tril(found)
    if check_errors and info.any():
        raise LinAlgFault("E0304", "linalg.ldl_factor_ex: D has a zero on its diagonal")
    return results(
        "linalg_ldl_factor_ex", LD=_underived("factor_ex", in_columns(both), A),
        pivots=wrap(pivots, dtypes.int32), info=wrap(info[()], dtypes.int32),
    )  # fmt: skip


def ldl_factor(A: Any, *, hermitian: bool = False) -> Any:
    """``(LD, pivots)`` of A = L D L.T, or with ``hermitian`` L D L': L below the blocks of D.

    Only the lower triangle of A is read; a negative pivot belongs to a block of two. See
    ``ldl_solve``. Raises as ``ldl_factor_ex``.
    """
    both, pivots, _ = ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return results("linalg_ldl_factor", LD=both, pivots=pivots)


@by_element
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:
    """The X with A X = B, from ``ldl_factor`` of A. Raises RuntimeFault (E0301, E0405).

    Example:
        >>> import gradcli
        >>> A = gradcli.tensor([[2.0, 1.0], [1.0, 0.0]])
        >>> gradcli.linalg.ldl_solve(*gradcli.linalg.ldl_factor(A), gradcli.ones(2, 1))
        tensor([[ 1.],
                [-1.]])
    """
    title = "torch.linalg.ldl_solve"
    of_squares(title, LD)
    of_floats(title, LD)
    n = LD.shape[-1]
    normal_dim(-2, B.ndim)
    if B.ndim < 2 or B.shape[-2] != n:
        raise bad_shape(f"linalg.ldl_solve: LD {list(LD.shape)} and B {list(B.shape)} do not fit")
    of_pivots(title, LD, pivots)
    if pivots.dtype.kind != 1:
        raise bad_dtype(f"{title}: Expected pivots to be integers. Got {pivots.dtype.scalar_name}")
    of_one_dtype(title, B=B, LD=LD)
    of_rows("ldl", LD, pivots)
    refuse_kinds("half", "ldl_solve_kernel_cpu", LD.dtype)
    lead = np.broadcast_shapes(tuple(LD.shape[:-2]), tuple(B.shape[:-2]))
    charge_shape((*lead, *B.shape[-2:]))
    factors = np.broadcast_to(LD.array, (*lead, n, n))
    order = np.broadcast_to(pivots.array, (*lead, n))
    sides = np.broadcast_to(B.array, (*lead, *B.shape[-2:]))
    solve = _lapack(hermitian, "trs", factors, sides)
    out = np.empty(sides.shape, np.result_type(factors, sides))
    if out.size:
        for place in np.ndindex(lead):
            out[place] = solve(factors[place], order[place], sides[place], lower=True)[0]
    return _underived("solve", in_columns(out), B, LD)
