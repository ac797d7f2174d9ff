"""Large elementwise computations in blocks: the same digits as in one piece."""

from __future__ import annotations

import numpy as np

import gradcli
from gradcli.jit import eager
from gradcli.jit.blocks import LARGE, THREADED
from tests.support.families import family


def product(x):
    return (gradcli.sin(x) * gradcli.exp(-x * x)).sum()


def several(a, b, t):
    centred = gradcli.relu(a - a.mean()).sum() + gradcli.sigmoid(b).mean()
    centred = centred + (a**2 * gradcli.reciprocal(1 + b * b)).sum()
    return (a * gradcli.exp(-b * t)).mean() + centred + gradcli.where(a > b, a * t, b).sum()


def broadcast(a, s):
    return ((a * s).sum() * a / (1 + a * a) + a.mean(0)).sum()


@family("size", [LARGE, LARGE + 1, 100_003, THREADED + 12_345])
def test_one_array_is_equal_to_the_last_bit(size):
    x = np.random.default_rng(0).standard_normal(size)
    c = gradcli.compile(product)
    value, (slope,) = c.value_and_grad(x)
    want, (at,) = eager.gradient(product, [x], False)
    assert "run_blocks" in c.code(x) and value == want
    np.testing.assert_array_equal(slope, at)


def test_several_arrays_and_what_is_needed_of_them():
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(70_001) for _ in range(3)]
    c = gradcli.compile(several)
    value, slopes = c.value_and_grad(*arrays)
    want, at = eager.gradient(several, arrays, False)
    assert c.code(*arrays).count("run_blocks") == 2 and value == want
    for got, wanted in zip(slopes, at, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert c(*arrays) == want


def test_shapes_that_meet_others_and_arrays_that_are_not_contiguous():
    a = np.random.default_rng(2).standard_normal((300, 400))
    c = gradcli.compile(broadcast)
    for given in (a, np.asfortranarray(a), a[:, ::2], a[::-1]):
        value, (by_a, by_s) = c.value_and_grad(given, 0.5)
        want, (at_a, at_s) = eager.gradient(broadcast, [given, 0.5], False)
        np.testing.assert_allclose([value, by_s], [want, at_s], rtol=1e-12)
        np.testing.assert_allclose(by_a, at_a, rtol=1e-12, atol=1e-12)


def test_an_error_in_a_block_is_the_engines():
    x = np.full(THREADED, -1.0)
    assert np.isnan(gradcli.compile(lambda x: gradcli.log(x).sum())(x))


def test_constant_arrays_are_cut_too(monkeypatch):
    """The zeros of a gradient by what is not there, and of a Hessian."""
    monkeypatch.setattr("gradcli.jit.blocks.LARGE", 100)
    monkeypatch.setattr("gradcli.jit.blocks.BLOCK", 40)
    x = np.random.default_rng(4).standard_normal(30)

    def curved(x):
        return (gradcli.sin(x) * gradcli.exp(-x * x)).sum()

    c = gradcli.compile(curved)
    want = eager.hessian(curved, [x], False)
    assert "run_blocks" in c.code(x, of="hessian")
    entry = c._wanted("hessian", (x,))
    found = entry.finish(c._generated(entry, [x]), False)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-14)
