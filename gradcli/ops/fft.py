"""The discrete Fourier transform along one dimension: a linear operator.

Its transpose is the transform the other way, with the other scale. Real transforms, paddings and
transforms along several dimensions are composed of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.ops.kinds import linear

_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _fourier(x: Any, dim: int, inverse: bool, norm: str) -> Any:
    return (np.fft.ifft if inverse else np.fft.fft)(x, axis=dim, norm=norm)


fourier = linear(
    "fourier",
    lambda x, dim, inverse, norm: _fourier(x, dim, inverse, norm),
    lambda g, dim, inverse, norm: fourier(g, dim, not inverse, _OTHER[norm]),
    params={"dim": -1, "inverse": False, "norm": "backward"},
    dtypes="keep",
    grad_name="FftC2CBackward0",
    doc="The discrete Fourier transform along a dimension, or its inverse; always complex.",
)
