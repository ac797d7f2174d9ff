"""Small arrays written out as numbers: the same results, in the order of NumPy's sums."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.jit import eager
from tests.support.families import family


def steps(x):
    y = x
    for _ in range(20):
        y = gradcli.sin(y * x + y) * 1.01
    return y.sum()


def moved(x):
    y = x.reshape(2, 2).T
    z = gradcli.stack((y[0], y[1] * 2)).reshape(-1) ** 3
    for _ in range(20):
        z = z * 1.1 + x * z.mean() - x[0]
    return (z[1:] * z[:-1]).sum()


@family("size", [1, 2, 3, 7, 8])
def test_vectors(size):
    x = np.random.default_rng(size).standard_normal(size)
    c = gradcli.compile(steps)
    value, (slope,) = c.value_and_grad(x)
    want, (at,) = eager.gradient(steps, [x], False)
    assert "tolist" in c.code(x) and f"x0_{size - 1}" in c.ir(x)
    assert value == pytest.approx(want, rel=1e-13)
    np.testing.assert_allclose(slope, at, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(c.hessian(x), eager.hessian(steps, [x], False), atol=1e-9)


def test_entries_that_move():
    x = np.array([0.5, -1.0, 0.25, 2.0])
    c = gradcli.compile(moved)
    assert "tolist" in c.code(x)
    value, (slope,) = c.value_and_grad(x)
    want, (at,) = eager.gradient(moved, [x], False)
    assert value == pytest.approx(want, rel=1e-13)
    np.testing.assert_allclose(slope, at, rtol=1e-12)


@family("size", [3, 5, 8])
def test_sums_are_numpys_to_the_last_bit(size):
    def spread(x):
        y = x
        for _ in range(20):
            y = y * x + x
        return y.sum()

    x = np.random.default_rng(3).standard_normal(size)
    c = gradcli.compile(spread)
    assert "tolist" in c.code(x, of="value")
    assert c(x) == eager.value(spread, [x], False)


def test_a_larger_array_keeps_all_as_they_are():
    assert "tolist" not in gradcli.compile(steps).code(np.ones(9))
