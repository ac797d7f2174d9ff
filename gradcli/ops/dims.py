"""Dimensions as callers name them: from 0, or from the end when negative; one, several, or all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcli.ops.errors import IndexFault, RuntimeFault

Dims = int | Sequence[int] | None


def normal_dim(dim: int, ndim: int) -> int:
    """``dim`` counted from 0. Raises IndexFault (E0305) when a tensor of ``ndim`` has no such
    one.
    """
    rank = max(ndim, 1)
    if not -rank <= dim < rank:
        raise IndexFault(
            "E0305",
            f"dimension {dim} is out of range for a tensor with {ndim} "
            f"dimension{'s' * (ndim != 1)}",
            help=f"use {-rank} to {rank - 1}",
        )
    return dim % rank


def normal_dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions that ``dim`` names, counted from 0: None means all of them."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, int | np.integer):
        return (normal_dim(int(dim), ndim),) if ndim else ()
    dims = tuple(normal_dim(int(d), ndim) for d in dim)
    if len(set(dims)) != len(dims):
        raise RuntimeFault("E0305", f"dimension {dim} appears twice")
    return dims if dims and ndim else tuple(range(ndim))
