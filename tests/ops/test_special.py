"""Special functions against mpmath, at points where PyTorch has fewer digits or no derivative."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import gradcli
from gradcli.ops import OPERATORS

POINTS = (0.01, 0.3, 0.7, 1.0, 1.9, 3.4)


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("n", range(5))
def test_polygamma(n, x):
    want = float(mpmath.polygamma(n, x))
    assert gradcli.polygamma(n, gradcli.tensor(x, dtype="float64")).item() == pytest.approx(
        want, rel=1e-13
    )


@pytest.mark.parametrize("x", (0.0, *POINTS))
@pytest.mark.parametrize("n", range(6))
def test_derivatives_of_sinc(n, x):
    with mpmath.workdps(40):
        want = float(mpmath.diff(mpmath.sincpi, x or mpmath.mpf("1e-30"), n))
    got = float(OPERATORS["sinc_slope"](np.float64(x), n=n))
    assert got == pytest.approx(want, abs=2e-14 * np.pi**n, rel=1e-12)


@pytest.mark.parametrize("x", (0.0, -0.7, 2.5))
def test_bessel_functions_to_third_order(x):
    for name, function in (("i0", mpmath.besseli), ("bessel_j0", mpmath.besselj)):
        leaf = gradcli.tensor(x, dtype="float64", requires_grad=True)
        out = getattr(gradcli.special, name)(leaf)
        for order in range(4):
            with mpmath.workdps(30):
                want = float(mpmath.diff(lambda t, f=function: f(0, t), x, order).real)
            assert out.item() == pytest.approx(want, abs=1e-14, rel=1e-13)
            if order < 3:
                (out,) = gradcli.autograd.grad(out, leaf, create_graph=True)


@pytest.mark.parametrize("name", ["erf", "lgamma", "digamma", "sinc", "i0"])
def test_float32_stays_float32(name):
    x = gradcli.tensor([0.5, 1.5], requires_grad=True)
    out = getattr(gradcli, name)(x)
    out.sum().backward()
    assert out.dtype is x.grad.dtype is gradcli.float32
