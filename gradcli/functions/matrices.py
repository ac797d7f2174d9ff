"""Functions of square matrices that are methods too: powers, adjoints, the Cholesky factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.record.composite import called
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.tensor.tensor import wrap
from gradcli.ops.errors import RuntimeFault


def beside(value: Any, input: Any) -> Any:
    """``value``, recorded as a function of ``input`` that does not change with it."""
    nothing = O["getitem"](O["reshape"](input, (-1,)), slice(0, 0))
    return value + O["sum"](nothing)


def matrix_power(input: Any, n: int) -> Any:
    """A matrix times itself, ``n`` times in all; its inverse for a negative ``n``."""
    if n < 0:
        input, n = O["inv"](input), -n
    if not n:
        eye = wrap(np.eye(input.shape[-1], dtype=input.dtype.numpy), input.dtype)
        return beside(O["expand"](eye, tuple(input.shape)), input)
    out = None
    while n:
        if n & 1:
            out = input if out is None else O["matmul"](out, input)
        n >>= 1
        input = O["matmul"](input, input) if n else input
    return out


def adjoint(input: Any) -> Any:
    """The last two dimensions exchanged, conjugated."""
    if len(input.shape) == 1:
        raise RuntimeFault(
            "E0301",
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D "
            "tensor.",
        )
    return O["conj"](O["mT"](input) if len(input.shape) != 0 else input)


def cholesky(input: Any, upper: bool = False) -> Any:
    """The lower triangular L with A = L L' of a positive definite matrix, or (``upper``) L'."""
    low = O["cholesky"](input)
    return called(adjoint(low), "CholeskyBackward0") if upper else low


BOTH = (matrix_power, adjoint, cholesky)
"""Functions that are methods too."""
ALONE: tuple = ()
"""Functions only."""
ALIASES: dict[str, Any] = {}
"""Further names."""
