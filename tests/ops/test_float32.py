"""Small float32 arrays are computed in float64 and rounded once; everything else is left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gradcli as torch
from gradcli.ops.rounding import SMALL, rounded_once

EXACT = {
    "exp": math.exp,
    "expm1": math.expm1,
    "tanh": math.tanh,
    "log10": math.log10,
    "log1p": math.log1p,
}


@pytest.mark.parametrize("name", EXACT)
def test_the_last_digit_is_right(name):
    values = np.abs(np.random.default_rng(3).normal(size=500)).astype(np.float32)
    exact = [np.float32(EXACT[name](float(v))) for v in values]
    found = getattr(torch, name)(torch.from_numpy(values))
    assert found.dtype is torch.float32
    assert found.tolist() == [float(v) for v in exact]
    assert [getattr(torch, name)(torch.tensor(float(v))).item() for v in values] == found.tolist()


def test_what_goes_by_float64():
    seen = []

    def spy(x):
        seen.append(np.asarray(x).dtype)
        return np.exp(x)

    compute = rounded_once(spy)
    one = np.float32
    for given in (np.ones(SMALL, one), np.ones((), one), one(1.0)):
        assert compute(given).dtype == one
    assert seen == [np.float64] * 3
    seen.clear()
    assert compute(np.ones(SMALL + 1, one)).dtype == one
    for other in (np.float16, np.float64, np.complex64):
        assert compute(np.ones(3, other)).dtype == other
    assert compute(1.0) == math.e
    assert seen == [one, np.float16, np.float64, np.complex64, np.float64]


@pytest.mark.parametrize(
    ("dtype", "low", "tiny"),
    [(torch.float16, -12.0, -800.0), (torch.float32, -80.0, -800.0), (torch.double, -700.0, -8e2)],
)
def test_sigmoid_keeps_its_tails(dtype, low, tiny):
    x = torch.tensor([low, tiny, -tiny, 0.0], dtype=dtype)
    found = torch.sigmoid(x)
    assert found.dtype is dtype
    assert found[0].item() == pytest.approx(math.exp(low), rel=2e-2)
    assert found[1:].tolist() == [0.0, 1.0, 0.5]
    assert torch.sigmoid(x[0]).item() == found[0].item()
