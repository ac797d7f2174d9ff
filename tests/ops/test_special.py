"""Special functions against mpmath, at points where PyTorch has fewer digits or no derivative."""

from __future__ import annotations

import math
import tracemalloc
from itertools import product

import mpmath
import numpy as np
import pytest

import gradcli
from gradcli.ops import OPERATORS
from tests.support.families import family

POINTS = (0.01, 0.3, 0.7, 1.0, 1.9, 3.4)


@family("x, n", product(POINTS, range(5)))
def test_polygamma(n, x):
    want = float(mpmath.polygamma(n, x))
    assert gradcli.polygamma(n, gradcli.tensor(x, dtype=gradcli.float64)).item() == pytest.approx(
        want, rel=1e-13
    )


@family("n", (1, 2, 3))
def test_polygamma_far_below_zero(n):
    x = np.array([-1000.75, -1e12 - 0.25, -np.inf])  # a term for each step would take minutes
    # by reflection, where polygamma(n, 1e12) is 1e-12
    slope = float(mpmath.diff(mpmath.cot, -mpmath.pi / 4, n)) * -(np.pi ** (n + 1))
    want = [float(mpmath.polygamma(n, mpmath.mpf("-1000.75"))), slope, (-1.0) ** (n + 1) * np.inf]
    assert OPERATORS["polygamma"](x, n=n) == pytest.approx(want, rel=1e-11)


def test_digamma_keeps_its_digits_beside_its_poles():
    for x in (-1 + 2.0**-53, -0.99999999, -3.0000001, -5.03, -1e6 - 2.0**-20):
        want = float(mpmath.digamma(x))
        assert OPERATORS["digamma"](np.float64(x)) == pytest.approx(want, rel=1e-14)


def test_slopes_of_sinc_far_out_are_those_of_whole_turns():
    x = np.array([-3e16, 1e100])
    assert OPERATORS["sinc_slope"](x, n=1) == pytest.approx(1 / x, rel=1e-14)
    assert OPERATORS["sinc_slope"](x, n=3) == pytest.approx(-(np.pi**2) / x, rel=1e-14)


@family("x", (1 - 1e-12, 1 + 1e-12, 2 - 1e-9, 1e6 + 1e-6, 1e15 + 0.5))
def test_sinc_keeps_its_digits_beside_whole_numbers(x):
    with mpmath.workdps(50):
        want = float(mpmath.sincpi(mpmath.mpf(x)))
    found = gradcli.sinc(gradcli.tensor(x, dtype=gradcli.float64)).item()
    assert found == pytest.approx(want, rel=1e-14)


@family("order, y", ((1001.2, -1e20), (1e20, -1001.2), (4.5, -1002.0), (10001, -1001.7)))
def test_zeta_is_infinite_at_poles_and_large_powers_far_below_zero(order, y):
    assert OPERATORS["zeta"](np.float64(order), np.float64(y)) == np.inf


@family("dtype, order", (("float32", 501), ("float64", 4988429)))
def test_zeta_has_the_sign_of_its_largest_power_far_below_zero(dtype, order):
    found = OPERATORS["zeta"](np.array([order, order], dtype), np.array([-1001.2, 0.6], dtype))
    assert found.tolist() == [-np.inf, np.inf] and found.dtype == dtype


@family("order, y", ((2.5, -1.5), (2.5, -1001.5), (1001.2, -13437.7), (10000.5, -1000.2)))
def test_zeta_has_no_number_where_powers_of_negative_y_have_none(order, y):
    assert np.isnan(OPERATORS["zeta"](np.float64(order), np.float64(y)))


def test_slopes_of_erfcx_in_single_precision_are_rounded_once():
    x = np.float32([5.5, 9.0])
    want = OPERATORS["erfcx_slope"](x.astype(np.float64), n=3)
    assert OPERATORS["erfcx_slope"](x, n=3) == pytest.approx(want, rel=1e-7)


def test_lgamma_keeps_its_digits_beside_its_zeros():
    for x in (1 - 1e-9, 1 + 2.0**-52, 2 + 1e-9, 2 - 1e-13, 0.81, 2.19, 1.0, 2.0):
        want = float(mpmath.loggamma(x))
        assert OPERATORS["lgamma"](np.float64(x)) == pytest.approx(want, rel=1e-14)


@family("x, n", product((0.0, *POINTS), range(6)))
def test_derivatives_of_sinc(n, x):
    with mpmath.workdps(40):
        want = float(mpmath.diff(mpmath.sincpi, x or mpmath.mpf("1e-30"), n))
    got = float(OPERATORS["sinc_slope"](np.float64(x), n=n))
    assert got == pytest.approx(want, abs=2e-14 * np.pi**n, rel=1e-12)


@family("x, n", [(x, n) for x in (-2.0, 7.5, 9.5, 12.5, 40.0, 1e5) for n in (1, 2, 3, 4)])
def test_derivatives_of_erfcx_near_and_far_out(x, n):
    with mpmath.workdps(60):
        scaled = lambda t: mpmath.exp(t * t) * mpmath.erfc(t)  # noqa: E731
        want = float(mpmath.diff(scaled, mpmath.mpf(x), n, h=mpmath.mpf(10) ** -10))
    assert OPERATORS["erfcx_slope"](np.float64(x), n=n) == pytest.approx(want, rel=1e-8)


@family("x", (-1e12, -1e8, -1e4, -37.0, -9.01, -8.9, -1.1, -0.9, 3.0))
def test_derivatives_of_log_ndtr_far_below_zero(x):
    leaf = gradcli.tensor(x, dtype=gradcli.float64).requires_grad_()
    out = gradcli.log_ndtr(leaf)
    with mpmath.workdps(300):
        t = -mpmath.mpf(x)
        mills = mpmath.npdf(t) / mpmath.ncdf(-t) if t < 50 else t  # else its continued fraction
        if t >= 50:
            below = mpmath.mpf(0)
            for k in range(400, 0, -1):
                below = k / (t + below)
            mills += below
        slopes = [mills]
        for n in range(3):  # h' = -h*(h - t)
            apart = [mills - t, 1 + slopes[1] if n else 0, slopes[2] if n > 1 else 0]
            slopes.append(-sum(math.comb(n, k) * slopes[k] * apart[n - k] for k in range(n + 1)))
    for want in slopes:
        (out,) = gradcli.autograd.grad(out, leaf, create_graph=True)
        assert out.item() == pytest.approx(float(want), rel=1e-8, abs=1e-300)


@family("x", (0.0, -0.7, 2.5))
def test_bessel_functions_to_third_order(x):
    for name, function in (("i0", mpmath.besseli), ("bessel_j0", mpmath.besselj)):
        leaf = gradcli.tensor(x, dtype=gradcli.float64, requires_grad=True)
        out = getattr(gradcli.special, name)(leaf)
        for order in range(4):
            with mpmath.workdps(30):
                want = float(mpmath.diff(lambda t, f=function: f(0, t), x, order).real)
            assert out.item() == pytest.approx(want, abs=1e-14, rel=1e-13)
            if order < 3:
                (out,) = gradcli.autograd.grad(out, leaf, create_graph=True)


@family("x", (1.5e4, -3e9, 1e15, 1e20, 1.7e308))
def test_bessel_functions_far_out_keep_their_phase(x):
    leaf = gradcli.tensor(x, dtype=gradcli.float64, requires_grad=True)
    with mpmath.workdps(340):
        j = [mpmath.besselj(n, mpmath.mpf(x)) for n in range(4)]
        wanted = {
            "bessel_j0": (j[0], -j[1], (j[2] - j[0]) / 2),
            "bessel_j1": (j[1], (j[0] - j[2]) / 2, (j[3] - 3 * j[1]) / 4),
        }
    for name, wants in wanted.items():
        out = getattr(gradcli.special, name)(leaf)
        for order, want in enumerate(wants):
            assert out.item() == pytest.approx(float(want), rel=1e-12, abs=1e-12 / abs(x) ** 0.5)
            if order < 2:
                (out,) = gradcli.autograd.grad(out, leaf, create_graph=True)


def test_scaled_bessel_functions_of_the_second_kind_have_no_slope_below_0():
    for name in ("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"):
        leaf = gradcli.tensor([-100.0, -3.0], requires_grad=True)
        (slope,) = gradcli.autograd.grad(getattr(gradcli.special, name)(leaf).sum(), leaf)
        assert slope.isnan().all()


def test_derivatives_of_spherical_bessel_j0_keep_large_arguments_in_float32():
    for x in (10.0, 1e5, 3e7):
        found = OPERATORS["sinc_slope"](np.float32(x), n=2, unit=1.0)
        assert found == pytest.approx(float(mpmath.diff(mpmath.sinc, x, 2)), rel=1e-5)


@family("name", ["erf", "lgamma", "digamma", "sinc", "i0"])
def test_float32_stays_float32(name):
    x = gradcli.tensor([0.5, 1.5], requires_grad=True)
    out = getattr(gradcli, name)(x)
    out.sum().backward()
    assert out.dtype is x.grad.dtype is gradcli.float32


@family("name, order, y, n", [
        *(("gammainc_slope", *at) for at in (
            (1e-3, 0.5, 1), (0.5, 1e-8, 1), (1.5, 2.0, 1), (2.5, 0.7, 1), (7, 70, 1),
            (21, 19.5, 1), (21, 2e-7, 1), (300, 290, 1), (5000, 5050, 1), (2.5, 3.1, 2),
            (0.1, 0.4, 2), (7, 2.2, 3), (1.5, 15, 3))),
        *(("zeta_slope", *at) for at in (
            (1.001, 1, 1), (2, 1, 1), (3.7, 0.2, 1), (40, 1.3, 1), (1.5, 1e-3, 2), (10, 1e4, 2),
            (1.1, 2, 3))),
    ],
)  # fmt: skip
def test_slopes_by_the_order(name, order, y, n):
    with mpmath.workdps(40):
        if name == "zeta_slope":
            want = mpmath.zeta(order, y, n)
        else:  # the smaller one of the two, whose digits do not cancel
            ends = (0, y) if y < order else (y, mpmath.inf)
            sign = 1 if y < order else -1
            want = sign * mpmath.diff(
                lambda a: mpmath.gammainc(a, *ends, regularized=True), mpmath.mpf(order), n,
                h=mpmath.mpf(10) ** -12,
            )  # fmt: skip
    got = float(OPERATORS[name](np.float64(order), np.float64(y), n=n))
    assert got == pytest.approx(float(want), rel=1e-11)


@family("order", [1e14, 1e20, 1e30])
def test_the_slope_by_a_large_order(order):
    y = order + 2.0 * np.sqrt(order)
    with mpmath.workdps(80):
        a, root = mpmath.mpf(order), mpmath.sqrt(order)
        rate = mpmath.log(a) - 1 / (2 * a) - 1 / (12 * a**2)  # digamma
        first = root * mpmath.log(mpmath.mpf(y) / a)
        want = mpmath.quad(
            lambda w: -mpmath.exp(-a * (mpmath.expm1(w / root) - w / root))
            * (mpmath.log(a) + w / root - rate), [first, first + 2, first + 6, first + 20],
        ) * mpmath.exp(-1 / (12 * a)) / mpmath.sqrt(2 * mpmath.pi)  # fmt: skip
    got = float(OPERATORS["gammainc_slope"](np.float64(order), np.float64(y), n=1))
    assert got == pytest.approx(float(want), rel=1e-11)


@family("order", [0.5, 19.9, 20.1, 300.0, 1e8, 1e14, 1e20])
def test_the_density_of_a_large_order_and_its_slope_by_it(order):
    for away in (-3, -0.5, 0, 1e-3, 3):
        y = gradcli.tensor(order + away * np.sqrt(order), dtype=gradcli.float64)
        if y <= 0:
            continue
        x = gradcli.tensor(order, dtype=gradcli.float64, requires_grad=True)
        value = gradcli.special.gammainc(x, y.requires_grad_())
        (got,) = gradcli.autograd.grad(value, y, create_graph=True)
        (mixed,) = gradcli.autograd.grad(got, x)
        with mpmath.workdps(80):
            a, z = mpmath.mpf(order), mpmath.mpf(y.item())
            want = mpmath.exp((a - 1) * mpmath.log(z) - z - mpmath.loggamma(a))
            slope = want * (mpmath.log(z) - mpmath.digamma(a))
        assert got.item() == pytest.approx(float(want), rel=1e-12), away
        assert mixed.item() == pytest.approx(float(slope), rel=1e-9), away


def test_slopes_by_the_order_at_the_ends():
    slope = OPERATORS["gammainc_slope"]
    huge = np.float64(1e184)
    assert float(slope(huge, huge)) == pytest.approx(-((2e184 * np.pi) ** -0.5), rel=1e-12)
    assert [float(slope(np.float64(2.0), np.float64(y))) for y in (0.0, np.inf)] == [0.0, 0.0]
    assert np.isnan(slope(np.float64(-1.0), np.float64(1.0)))
    assert np.isnan(OPERATORS["zeta_slope"](np.float64(0.5), np.float64(1.0)))
    assert slope(np.ones((2, 1), np.float32), np.ones(3, np.float32)).dtype == np.float32
    assert slope(np.ones((0, 1)), np.ones(3)).shape == (0, 3)


@family("order, y", product([5e-324, 1e-310, 1e-300, 1e-200], [1e-310, 1e-8, 0.5, 1.0, 3.0, 700.0]))
def test_incomplete_gamma_of_a_tiny_order(order, y):
    above = OPERATORS["gammaincc"](np.array(order), np.array(y))
    below = OPERATORS["gammainc"](np.array(order), np.array(y))
    with mpmath.workdps(50):
        exact = order * mpmath.e1(y)  # but for a factor 1 + O(order)
    assert below == 1.0
    assert above == pytest.approx(float(exact), rel=1e-11, abs=1e-322)


def test_log_ndtr_is_a_parabola_far_below_0():
    for at, dtype in ((-1e17, np.float64), (-1e160, np.float64), (-1e20, np.float32)):
        x = gradcli.from_numpy(np.array(at, dtype))
        assert gradcli.func.hessian(gradcli.special.log_ndtr)(x).item() == pytest.approx(-1)


def test_logit_has_no_slope_where_it_is_held_in_forward_mode_either():
    x = gradcli.tensor([-1.0, 0.5, 3.0], dtype=gradcli.float64)
    for eps in (0.0, 0.1):
        (_, slope) = gradcli.func.jvp(lambda v, e=eps: gradcli.logit(v, e), (x,), (x * 0 + 1,))
        assert slope.tolist() == [0.0, pytest.approx(4.0), 0.0]
    assert gradcli.vmap(lambda a: gradcli.lerp(a, a * 0 + 1, 1.0))(x * 1e30).tolist() == [1, 1, 1]


def test_slopes_of_gammainc_beside_0():
    """Of order 1 it is 1 - exp(-y), of order 2 its slope is y*exp(-y)."""
    for order, slopes in ((1.0, (1.0, -1.0, 1.0)), (2.0, (1e-100, 1.0, -2.0))):
        y = gradcli.tensor(1e-100, dtype=gradcli.float64, requires_grad=True)
        found = gradcli.special.gammainc(gradcli.tensor(order, dtype=gradcli.float64), y)
        for slope in slopes:
            (found,) = gradcli.autograd.grad(found, y, create_graph=True)
            assert found.item() == pytest.approx(slope, rel=1e-12)


def test_slopes_of_scaled_bessel_functions_in_single_precision():
    for name in ("i0e", "i1e"):
        x = gradcli.tensor(9000.0, requires_grad=True)
        (slope,) = gradcli.autograd.grad(getattr(gradcli.special, name)(x), x, create_graph=True)
        (curve,) = gradcli.autograd.grad(slope, x)
        order = int(name[1])
        value = lambda t, n=order: mpmath.exp(-t) * mpmath.besseli(n, t)  # noqa: E731
        with mpmath.workdps(40):
            wanted = [float(mpmath.diff(value, 9000, k)) for k in (1, 2)]
        assert [slope.item(), curve.item()] == pytest.approx(wanted, rel=1e-6)


@family("order, second, x", product((0, 1), (False, True), (1e8, -1e8, np.float32(1e8))))
def test_slopes_of_scaled_bessel_functions_far_out(order, second, x):
    x = np.asarray(x)[()]
    if second and x < 0:
        return
    got = OPERATORS["decay_slope"](x, order=order, n=2, second=second)
    # of (1 - c/x)/sqrt(2*pi*x) and (1 + c/x)*sqrt(pi/(2*x))
    c = (4 * order**2 - 1) / 8 * (1 if second else -1)
    want = np.sqrt(np.pi / 2 if second else 0.5 / np.pi) * (0.75 + 3.75 * c * 1e-8) * 1e8**-2.5
    want *= np.sign(x) if order else 1.0
    assert got / want == pytest.approx(1.0, rel=1e-6 if x.dtype == np.float32 else 1e-13)


def test_the_slope_of_gammainc_by_its_order_takes_so_many_integrals_at_a_time():
    order, y = np.full(20_000, 3.0), np.full(20_000, 5.0)
    tracemalloc.start()
    OPERATORS["gammainc_slope"].compute(order, y)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 200 * order.nbytes  # 1,600 for all at once
