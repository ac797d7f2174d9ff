"""The discrete Fourier transform along one dimension: a linear operator.

Its transpose is the transform the other way, with the other scale. Real transforms, paddings and
transforms along several dimensions are composed of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.declaration.batching import Batch
from gradcli.ops.dims import normal_dim
from gradcli.ops.kinds import linear
from gradcli.ops.operator import Operator

OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The scaling of the transform the other way."""


def _fourier(x: Any, dim: int, inverse: bool, norm: Any) -> Any:
    with np.errstate(all="ignore"):  # the warnings are those of a module of NumPy
        return (np.fft.ifft if inverse else np.fft.fft)(x, axis=dim, norm=norm)


# ---- Under vmap: the batch is the first dimension ---------------------------------------------


def transformed(op: Operator, batch: Batch, params: dict[str, Any]) -> Any:
    """``op`` along its dimension of each element of a batch."""
    rank = batch.ranks[0]
    if not rank:
        return NotImplemented
    return op(batch.values[0], **{**params, "dim": normal_dim(params["dim"], rank) + 1})


fourier: Operator = linear(
    "fourier",
    lambda x, dim=-1, inverse=False, norm="backward": _fourier(x, dim, inverse, norm),
    lambda g, dim, inverse, norm: fourier(g, dim, not inverse, OTHER[norm]),
    grad_name="FftC2CBackward0",
    holds=2,
    doc="The discrete Fourier transform along a dimension, or its inverse; always complex.",
    batching=transformed,
    public=False,
)
