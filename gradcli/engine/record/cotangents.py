"""A cotangent made to fit the input it goes to: shape and element type.

No rule does this for itself: sums undo broadcasting, a too-small cotangent is expanded, a complex
one is projected where its input is real.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.graph.node import Cotangents
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS


def fit(r: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent in its input's shape: sums undo broadcasting, a too-small one is expanded."""
    if r.__class__ is np.ndarray and r.size > math.prod(shape):
        r = OPERATORS["sum_to"].compute(r, shape)
    elif len(r.shape) > len(shape) or any(
        n == 1 != m for n, m in zip(shape[::-1], r.shape[::-1], strict=False)
    ):
        r = OPERATORS["sum_to"](r, shape)
    return r if r.shape == shape else OPERATORS["expand"](r, shape)


def cast(r: Any, dtype: dtypes.DType | None) -> Any:
    """A cotangent in its input's element type; a real input takes the real part.

    None is the type of a leaf that takes what arrives: see ``Tensor.grad_dtype``.
    """
    if r.__class__ is Cotangents or dtype is None:
        return r
    if isinstance(r, Tensor):
        if r.dtype is dtype:
            return r
        if r.dtype.is_complex and not dtype.is_complex:
            r = OPERATORS["real"](r)
        return r.to(dtype)
    if r.dtype.kind == "c" and not dtype.is_complex:
        r = r.real
    if r.dtype == dtype.numpy:
        return r
    charge_shape(r.shape, dtype.itemsize)
    return r.astype(dtype.numpy)
