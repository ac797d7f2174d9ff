"""What decompositions of matrices share: several results in one array, and their conventions.

A decomposition has several results. Its operator gives them in one array, flattened and joined
along the last dimension, so that one rule serves them all:

    eigh_parts(x)   [ eigenvalues | eigenvectors, row by row ]     for each matrix of a stack

``gradcli.functions.linalg`` takes the parts out again. Where eigenvalues or singular values repeat,
the derivative of their vectors does not exist and comes out infinite or NaN.

The engine turns g and what a general rule gives where results are complex (``engine.pulling``),
which is right for a rule without conjugates. The rules of decompositions have theirs, and turn both
back.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gradcli.ops.comparison import ones_like, zeros_like
from gradcli.ops.conversion import conj
from gradcli.ops.errors import LinAlgFault, bad_shape, bad_value
from gradcli.ops.indexing import getitem
from gradcli.ops.joining import cat
from gradcli.ops.linalg import _solved, solve
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.piecewise import abs, where
from gradcli.ops.reduction import sum
from gradcli.ops.shape import diagonal, mT, reshape, undiagonal, unsqueeze


def matrix_shape(name: str, x: Any, arrays: int = 4) -> tuple[int, ...]:
    """The shape of x, whose factors and what they are worked out in take so many ``arrays``.

    Raises RuntimeFault (E0301) for fewer than two dimensions.
    """
    shape = tuple(np.shape(x))
    if len(shape) < 2:
        said = f"linalg.{name}: The input tensor A must have at least 2 dimensions."
        raise bad_shape(said, operands=((0, f"shape {shape}"),))
    entries = shape[-2] * shape[-1] + min(shape[-2:]) ** 2
    charge_shape((arrays, *shape[:-2], entries), x.itemsize)
    return shape


def decompose(name: str, function: Any, x: Any) -> Any:
    """A NumPy decomposition. Raises LinAlgFault (E0304) for what does not converge."""
    if np.size(x) and not np.all(np.isfinite(x)):
        said = f"torch.linalg.{name}: input tensor should not contain infs or NaNs."
        if name in ("eig", "eigvals"):
            raise bad_value(said.replace("vals", ""))
        wrong = np.flatnonzero(~np.isfinite(x).all((-2, -1)))
        which = f"(Batch element {wrong[0]}): " if np.ndim(x) > 2 else ""
        raise LinAlgFault(
            "E0304",
            f"linalg.{name}: {which}The algorithm failed to converge because the input matrix "
            "contained non-finite values.",
        )
    return _solved(name, function, x)


def join(parts: Sequence[Any], lead: Sequence[int], dtype: Any) -> Any:
    """Results flattened behind the dimensions ``lead`` and joined along the last, in one dtype."""
    flat = [p.reshape((*lead, int(np.prod(p.shape[len(lead) :])))).astype(dtype) for p in parts]
    return np.concatenate(flat, axis=-1)


def unpacked(out: Any, shape: Sequence[int], core: str) -> tuple[Any, ...]:
    """The parts of a joined array: of a decomposition of ``shape``, as ``core`` has their sizes.

    What does not lie in an array (a formula) has them as ``__gradcli_parts__``.
    """
    apart = getattr(out, "__gradcli_parts__", None)
    if apart is not None:
        return apart  # type: ignore[no-any-return]
    lead, found, start = tuple(out.shape)[:-1], [], 0
    sizes = {"m": shape[-2], "n": shape[-1], "k": min(shape[-2:])}
    for letters in core.split():
        own = tuple(sizes[c] for c in letters)
        end = start + prod(own)
        found.append(reshape(getitem(out, (Ellipsis, slice(start, end))), (*lead, *own)))
        start = end
    return tuple(found)


def packed(core: str, *parts: Any) -> Any:
    """Parts of several results joined as they lie in one array; see ``unpacked``."""
    together = getattr(type(parts[0]), "__gradcli_packed__", None)
    if together is not None:
        return together(parts)
    flat = []
    for letters, x in zip(core.split(), parts, strict=True):
        s = tuple(x.shape)
        flat.append(x if len(letters) < 2 else reshape(x, (*s[:-2], s[-2] * s[-1])))
    return cat(*flat, dim=-1)


def mH(x: Any) -> Any:
    """The conjugate transpose of each matrix of a stack."""
    return conj(mT(x))


def eye_of(x: Any) -> Any:
    """The identity for each vector of ``x``."""
    return diagonal_matrix(ones_like(x))


def diagonal_matrix(x: Any) -> Any:
    """A square matrix for each vector of ``x``, with it on the diagonal."""
    shape = tuple(x.shape)
    return undiagonal(x, (*shape, shape[-1]))


def over_gaps(x: Any, gaps: Any, eye: Any) -> Any:
    """The entries off the diagonal over the gaps, zeros on it."""
    return x * (1.0 - eye) / (gaps + eye)


def asked(divisor: Any, checked: bool, *cotangents: Any) -> Any:
    """The divisor, with 1 for its zeros in a matrix whose vectors' cotangents are all 0.

    Gaps between equal values divide what vectors pass on; where only the values are used, nothing.
    Those of the rules of the values alone, not ``checked``, are used: 0 by their numbers, as of
    ``eigvalsh(x)**2`` at 0, they stand for a derivative that there is none of.
    """
    if not checked:
        return divisor
    used = 0.0
    for g in cotangents:
        used = used + sum(abs(g), (-2, -1), True)
    return where((divisor == 0) & (used == 0), 1.0, divisor)


def one_phase(who: str, turn: Any) -> None:
    """Raise RuntimeFault (E0304) where a gradient depends on the phases of vectors."""
    raw = getattr(turn, "array", turn)
    if not isinstance(raw, np.ndarray) or raw.dtype.kind != "c" or not raw.size:
        return
    small = 1e-6 if raw.dtype == np.complex128 else 1e-3
    if np.abs(raw.imag).max() > 0.01 * np.abs(raw).max() + small:
        raise bad_value(
            f"{who}_backward: The {'singular vectors' if who == 'svd' else 'eigenvectors'} in the "
            "complex case are specified up to multiplication by e^{i phi}. The specified loss "
            "function depends on this quantity, so it is ill-defined.",
            help="use what does not change with the phase: v.abs(), or v @ v.mH",
        )


def over_r(x: Any, r: Any) -> Any:
    """x @ inv(r).mH"""
    return mH(solve(solvable(r), mH(x)))


def independent(vectors: Any) -> Any:
    """Eigenvectors, as NaN where they span no space: of a matrix that is defective in rounding,
    whose eigenvalues have no derivative one by one."""
    if not hasattr(vectors, "dtype"):
        return vectors  # in a closed form
    size = sum(abs(solve(vectors, eye_of(diagonal(vectors)))), (-2, -1))
    small = zeros_like(size)
    return vectors + unsqueeze(unsqueeze(where(size >= 2.0**51, np.nan, small), -1), -1)


def solvable(r: Any) -> Any:
    """Triangular matrices, singular ones as NaN: of a stack with one, ``solve`` takes none."""
    if not hasattr(r, "dtype"):
        return r  # in a closed form
    own = diagonal(r)
    return r + unsqueeze(sum(where(own == 0, np.nan, zeros_like(own)), -1, True), -1)
