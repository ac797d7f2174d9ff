"""Float32 is as accurate as NumPy makes it, keeps its type, and keeps the tails of sigmoid."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import gradcli as torch
from tests.support.families import family

NAMES = (
    "exp", "expm1", "log", "log10", "log1p", "sin", "cos", "tanh", "sinh", "cosh", "sigmoid",
    "softplus", "logsigmoid", "erfinv", "atanh",
)  # fmt: skip
EPSILON = float(np.finfo(np.float32).eps)


@family("name, count", product(NAMES, [1, 500, 5000]))
def test_within_a_few_roundings_of_float64(name, count):
    values = np.random.default_rng(3).uniform(0.01, 0.99, size=count).astype(np.float32)
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    found = function(torch.from_numpy(values))
    exact = function(torch.from_numpy(values.astype(np.float64)))
    assert found.dtype is torch.float32
    np.testing.assert_allclose(found.numpy(), exact.numpy(), rtol=4 * EPSILON)


@family("shape", [(5,), (40,), (7, 9), (3, 400), (400, 3)])
def test_sums_within_a_few_roundings(shape):
    values = np.random.default_rng(4).normal(size=shape).astype(np.float32)
    x = torch.from_numpy(values)
    size = np.abs(values.astype(np.float64))
    assert abs(x.sum().item() - math.fsum(values.ravel().tolist())) <= 8 * EPSILON * size.sum()
    for dim in range(values.ndim):
        exact = values.astype(np.float64).sum(dim)
        for keepdim in (False, True):
            found = x.sum(dim, keepdim=keepdim)
            assert found.dtype is torch.float32
            error = np.abs(found.numpy().reshape(exact.shape) - exact)
            assert np.all(error <= 16 * EPSILON * size.sum(dim))


@family("dim", (0, 1, 2))
def test_sums_along_an_expanded_dimension_within_a_few_roundings(dim):
    x = torch.full((2, 2), 1000.3).unsqueeze(dim)
    x = x.expand(*x.shape[:dim], 66000, *x.shape[dim + 1 :])
    assert torch.allclose(x.mean(dim), torch.full((2, 2), 1000.3), rtol=64 * EPSILON, atol=0)


LONG = {
    "logcumsumexp": lambda x: x.logcumsumexp(0),
    "prod": lambda x: x.prod(),
    "cumprod": lambda x: x.cumprod(0) / 64,
    "bernoulli_nll": lambda x: torch.nn.functional.binary_cross_entropy(
        x / 4, torch.full_like(x, 0.25), reduction="none"
    ),
}


@family("name, dtype", product(LONG, [np.float32, np.float16]))
def test_gradients_of_many_entries_within_a_few_roundings(name, dtype):
    values = (1 + np.random.default_rng(6).normal(size=2000) / 100).astype(dtype)
    found, exact = (
        torch.func.grad(lambda x: LONG[name](x).sum())(torch.from_numpy(v)).numpy()
        for v in (values, values.astype(np.float64))
    )
    assert found.dtype == dtype
    np.testing.assert_allclose(found, exact, rtol=16 * np.finfo(dtype).eps)


def test_softmax_adds_up_to_1():
    x = torch.from_numpy(np.random.default_rng(5).normal(size=(20, 30)).astype(np.float32))
    for dim in (0, 1):
        share = torch.softmax(x, dim)
        np.testing.assert_allclose(share.sum(dim).numpy(), 1.0, rtol=8 * EPSILON)
        np.testing.assert_allclose(
            torch.log_softmax(x, dim).exp().numpy(), share.numpy(), rtol=16 * EPSILON
        )


@family(
    "dtype, low, tiny",
    [(torch.float16, -12.0, -800.0), (torch.float32, -80.0, -800.0), (torch.double, -700.0, -8e2)],
)
def test_sigmoid_keeps_its_tails(dtype, low, tiny):
    x = torch.tensor([low, tiny, -tiny, 0.0], dtype=dtype)
    found = torch.sigmoid(x)
    assert found.dtype is dtype
    assert found[0].item() == pytest.approx(math.exp(low), rel=2e-2)
    assert found[1:].tolist() == [0.0, 1.0, 0.5]
    assert torch.sigmoid(x[0]).item() == found[0].item()


SPREADS = {
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(1),
    "cov": lambda x: torch.cov(x),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[1:]),
    "group_norm": lambda x: torch.nn.functional.group_norm(x, 1),
    "instance_norm": lambda x: torch.nn.functional.instance_norm(x[None]),
    "batch_norm": lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
}


def _in_both(function, values):
    """Value, gradient and second derivative in float64 and in float32."""
    out = []
    for dtype in (np.float64, np.float32):
        x = torch.from_numpy(values.astype(dtype)).requires_grad_()
        y = function(x)
        weights = [torch.from_numpy(np.cos(np.arange(v.numel())).astype(dtype)) for v in (y, x)]
        (g,) = torch.autograd.grad(y.reshape(-1) @ weights[0], x, create_graph=True)
        (h,) = torch.autograd.grad(g.reshape(-1) @ weights[1], x)
        assert y.dtype is g.dtype is h.dtype is x.dtype
        out.append([v.detach().numpy() for v in (y, g, h)])
    return zip(out[1], out[0], strict=True)


@family("name, size, mean", [(n, s, m) for n in SPREADS for s in (6, 300) for m in (1e4, 3e7)])
def test_spread_beside_a_large_mean_is_that_of_float64_to_the_second_derivative(name, size, mean):
    rng = np.random.default_rng(6)
    values = (mean + rng.normal(size=(3, size))).astype(np.float32)
    for found, exact in _in_both(SPREADS[name], values):
        np.testing.assert_allclose(found, exact, rtol=0, atol=2e-6 * np.abs(exact).max())


POWERS = {
    "lp_pool 2": lambda x: torch.nn.functional.lp_pool1d(x, 2.0, 2),
    "lp_pool 3": lambda x: torch.nn.functional.lp_pool1d(x, 3.0, 2),
    "local_response_norm": lambda x: torch.nn.functional.local_response_norm(x.T[None], 2),
}


@family("name, scale", product(POWERS, [1e-24, 1.0, 1e15, 1e22]))
def test_powers_that_leave_float32_leave_results_that_it_holds(name, scale):
    values = (scale * np.random.default_rng(6).uniform(0.5, 2.0, (3, 4))).astype(np.float32)
    for found, exact in _in_both(POWERS[name], values):
        held = np.finfo(np.float32).smallest_subnormal
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max() + 4 * held)
