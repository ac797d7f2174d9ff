"""Where the running extremes along a dimension stand: the constant part of cummax and cummin."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.core import constant
from gradcli.ops.dims import normal_dim


def _running(x: Any, dim: int, sign: int) -> Any:
    if not np.ndim(x):
        return np.zeros_like(x, dtype=np.int64)
    axis = normal_dim(dim, x.ndim)
    steps = np.arange(x.shape[axis], like=x).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    # Doubling: entry i knows the best of the 2**k entries that end at i; ties go to the later one.
    best, places = x, np.zeros_like(x, dtype=np.int64) + steps
    width = 1
    while width < x.shape[axis]:
        here = (slice(None),) * axis + (slice(width, None),)
        before = (slice(None),) * axis + (slice(None, -width),)
        new, old = best[here], best[before]
        # A NaN is the extreme until another one comes: no comparison with it holds.
        ahead = np.logical_or(new >= old if sign > 0 else new <= old, new != new)
        head = (slice(None),) * axis + (slice(None, width),)
        chosen = np.where(ahead, new, old)
        stood = np.where(ahead, places[here], places[before])
        best = np.concatenate([best[head], chosen], axis)
        places = np.concatenate([places[head], stood], axis)
        width *= 2
    return places


argcummax = constant(
    "argcummax",
    lambda x, dim: _running(x, dim, 1),
    inputs=("x",),
    params={"dim": 0},
    dtypes="keep",
    doc="Where the largest entry so far along a dimension stands; the last of equals.",
)
argcummin = constant(
    "argcummin",
    lambda x, dim: _running(x, dim, -1),
    inputs=("x",),
    params={"dim": 0},
    dtypes="keep",
    doc="Where the smallest entry so far along a dimension stands; the last of equals.",
)
