"""Slopes that are a convention, and second derivatives far out: PyTorch's, and exact digits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import gradcli as torch
from gradcli.nn import functional as F
from gradcli.ops import OPERATORS

NAN, INF = math.nan, math.inf


def orders(function, x, highest: int) -> list[np.ndarray]:
    """The value of ``function(x)`` and its derivatives entry by entry, to order ``highest``."""
    leaf = torch.tensor(np.asarray(x, dtype=float), requires_grad=True)
    found = [function(leaf)]
    for _ in range(highest):
        found += torch.autograd.grad(found[-1].sum(), leaf, create_graph=True)
    return [f.detach().numpy() for f in found]


# Each at a point where two pieces meet: the slope there, and PyTorch's second derivative of it.
MEETINGS = {
    "elu": (lambda x: F.elu(x, 2.0), 0.0, 2.0, 0.0),
    "celu": (lambda x: F.celu(x, 2.0), 0.0, 1.0, 0.0),
    "celu of a negative alpha": (lambda x: F.celu(x, -0.5), 0.0, 1.0, 0.0),
    "selu": (F.selu, 0.0, 1.0507009873554805 * 1.6732632423543772, 0.0),
    "softplus": (lambda x: F.softplus(x, 2.0, 6.0), 3.0, 1 / (1 + math.exp(-6)), 0.0),
    "huber_loss": (lambda x: F.huber_loss(x, x.detach() * 0, delta=2.0), 2.0, 2.0, 0.0),
    "smooth_l1_loss": (lambda x: F.smooth_l1_loss(x, x.detach() * 0), 1.0, 1.0, 0.0),
    "hardswish": (F.hardswish, 3.0, 1.0, 0.0),
}


def test_second_derivatives_where_two_pieces_meet():
    for name, (function, x, slope, curve) in MEETINGS.items():
        _, first, second = orders(function, x, 2)
        assert first == pytest.approx(slope, rel=1e-15), name
        assert second == curve, name


def test_celu_of_a_negative_alpha_is_its_formula():
    np.testing.assert_allclose(F.celu(torch.tensor([-3.0, 1.0]), -2.0), [-2 * math.expm1(1.5), 1])


def test_curvature_far_from_a_tie_keeps_its_digits():
    # s*(1 - s) of s = sigmoid(gap), which is 1 to the last digit from a gap of 37 on.
    gaps = np.array([-700.0, -40.0, -30.0, -1.0, 0.5, 30.0, 40.0, 200.0, 700.0])
    wanted = np.exp(-abs(gaps)) / (1 + np.exp(-abs(gaps))) ** 2
    for function, sign in (
        (lambda x: torch.logaddexp(x, 0 * x.detach()), 1),
        (torch.softplus, 1),
        (torch.logsigmoid, -1),
        (lambda x: F.soft_margin_loss(x, -torch.ones_like(x), reduction="sum"), 1),
        (lambda x: F.binary_cross_entropy_with_logits(x, 0 * x.detach(), reduction="sum"), 1),
    ):
        _, _, second, third = orders(function, gaps, 3)
        np.testing.assert_allclose(second, sign * wanted, rtol=1e-14)
        np.testing.assert_allclose(third, -sign * wanted * np.tanh(gaps / 2), rtol=1e-13)


def test_the_loss_of_a_logit_and_its_slope_keep_their_digits_on_both_sides():
    x = np.array([-700.0, -40.0, -25.0, -1.0, 0.0, 0.5, 25.0, 40.0, 700.0])
    both = np.exp(-abs(x)) / (1 + np.exp(-abs(x))), 1 / (1 + np.exp(-abs(x)))
    share = np.where(x < 0, *both)  # sigmoid(x)
    for target, sign in ((0.0, 1), (1.0, -1)):
        for positive in (None, torch.tensor(3.0, dtype=torch.float64)):
            value, slope = orders(
                lambda x, target=target, positive=positive: F.binary_cross_entropy_with_logits(
                    x, torch.full_like(x, target), reduction="none", pos_weight=positive
                ),
                sign * x, 1,
            )  # fmt: skip
            weight = 3 if target and positive is not None else 1
            np.testing.assert_allclose(slope, weight * sign * share, rtol=1e-14)
            np.testing.assert_allclose(value, weight * np.logaddexp(x, 0), rtol=1e-14)


def test_slopes_of_inverses_where_squares_overflow_or_cancel():
    near, gap = 1 - 2.0**-30, 2.0**-30
    root = math.sqrt(gap * (2 - gap))
    for function, x, wanted in (
        (torch.asinh, 1e200, (1e-200, 0.0, 0.0)),
        (torch.asinh, -1e150, (1e-150, 1e-300, 0.0)),
        (torch.asinh, 1e100, (1e-100, -1e-200, 2e-300)),
        (lambda x: torch.hypot(x, torch.tensor(1.0).to(x)), 1e50, (1.0, 1e-150, -3e-200)),
        (torch.acosh, 1e200, (1e-200, 0.0, 0.0)),
        (torch.acosh, 1e100, (1e-100, -1e-200, 2e-300)),
        (torch.acosh, 1 + gap, (1 / math.sqrt(gap * (2 + gap)),)),
        (torch.asin, near, (1 / root, near / root**3)),
        (torch.acos, near, (-1 / root, -near / root**3)),
        (torch.atanh, near, (1 / root**2, 2 * near / root**4)),
        (torch.atanh, 1e-200, (1.0, 2e-200)),
        (torch.logit, 0.0, (INF, -INF, INF)),
        (torch.logit, 1.0, (INF, INF, INF)),
        (torch.logit, 0.25, (16 / 3, -128 / 9)),
    ):
        found = orders(function, x, len(wanted))[1:]
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    slopes = [torch.func.grad(torch.asinh)(torch.tensor(x)).item() for x in (1e30, 3e38)]
    np.testing.assert_allclose(slopes, [1e-30, 1 / 3e38], rtol=1e-6)
    assert torch.func.grad(torch.acosh)(torch.tensor(-1.0)) == math.inf
    for function, pole in ((torch.atan, 1j), (torch.atanh, 1.0)):
        for z in (pole + 3e-9 * (1 + 2j), 1e155 * (1 + 1j), 2e-9 + 1e-9j):
            x = torch.tensor(z, dtype=torch.complex128, requires_grad=True)
            (slope,) = torch.autograd.grad(function(x), x, torch.ones_like(x), create_graph=True)
            (curve,) = torch.autograd.grad(slope, x, torch.ones_like(x))
            want = -(pole**2) / (z - pole) / (z + pole)
            found = np.conj([slope.item(), curve.item()])
            np.testing.assert_allclose(found, [want, 2 * z * want**2 * pole**2], rtol=1e-14)


def test_nan_makes_the_slopes_of_amax_and_amin_nan_but_goes_to_max_and_min():
    for name in ("amax", "amin"):
        _, slope = orders(getattr(torch, name), [1.0, NAN, 3.0], 1)
        assert np.isnan(slope).all()
        _, slope = orders(getattr(torch, name[1:]), [1.0, NAN, 3.0], 1)
        np.testing.assert_array_equal(slope, [0, 1, 0])


def test_heaviside_has_a_slope_by_its_values_where_it_takes_them():
    x, values = torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    torch.heaviside(x, values).sum().backward()
    np.testing.assert_array_equal(values.grad, [0, 1, 0])


def test_a_negative_determinant_has_no_logarithm_and_no_slope():
    value, slope = orders(torch.logdet, [[[1, 2], [3, 4]], [[2, 0], [0, 3]]], 1)
    np.testing.assert_allclose(value, [NAN, math.log(6)])
    np.testing.assert_allclose(slope, [[[0, 0], [0, 0]], [[0.5, 0], [0, 1 / 3]]])


def test_an_impossible_alignment_has_the_slope_nan_or_0():
    scores = np.log(np.full((2, 2, 3), 1 / 3))
    for zero, loss, wanted in ((False, INF, NAN), (True, 0.0, 0.0)):
        value, slope = orders(
            lambda x, zero=zero: F.ctc_loss(
                x, torch.tensor([[1, 1], [1, 2]]), [2, 2], [2, 2], reduction="none",
                zero_infinity=zero,
            ),
            scores, 1,
        )  # fmt: skip
        assert value[0] == loss and np.isfinite(value[1])
        np.testing.assert_array_equal(slope[:, 0], np.full((2, 3), wanted))
        assert np.isfinite(slope[:, 1]).all()


def test_the_slopes_of_an_angle_neither_overflow_nor_underflow():
    for size in (1e-200, 1e-160, 1.0, 1e160, 1e200, 1e307):
        y, x = (torch.tensor(np.array(v * size), requires_grad=True) for v in (3.0, 4.0))
        slopes = torch.autograd.grad(torch.atan2(y, x), (y, x))
        wanted = 0.16 / size, -0.12 / size
        for slope, want in zip(slopes, wanted, strict=True):
            assert float(slope) == pytest.approx(want, rel=1e-12, abs=1e-322)


def test_what_does_not_move_the_result_has_slope_0_whatever_arrives():
    """Where a bound or x is NaN clamp gives NaN, which moves with neither; x**0 is 1."""
    x = torch.tensor([1.0, NAN, 3.0], requires_grad=True)
    bound = torch.tensor([2.0, 2.0, NAN], requires_grad=True)
    nothing = torch.tensor([0.0, 0.0, 0.0])
    for arrives in (1.0, INF, NAN):
        weights = torch.full((3,), arrives)
        for out in (torch.clamp(x, min=bound), torch.clamp(x, max=4 - bound)):
            np.testing.assert_array_equal(out.isnan(), [False, True, True])
            slopes = torch.autograd.grad(out, (x, bound), weights)
            np.testing.assert_array_equal(slopes[0][1:], [0, 0])
            np.testing.assert_array_equal(slopes[1][1:], [0, 0])
        slopes = torch.autograd.grad(torch.clamp(nothing - 1, x, x)[0], x, weights[0])
        np.testing.assert_array_equal(slopes[0], [arrives, 0, 0])  # as of x itself
        for out, weight in ((x**nothing, weights), (torch.norm(x, 0), weights[0])):
            (slope,) = torch.autograd.grad(out, x, weight)
            np.testing.assert_array_equal(slope, [0, 0, 0])


def test_a_quotient_by_a_tiny_number_moves_with_its_numerator_alone():
    """A tangent of 0 by y stays 0 where x/y/y overflows."""
    for function, y, want in (
        (torch.div, 1e-200, 1e200),
        (lambda x, y: torch.addcdiv(0 * x, x, y), 1e-200, 1e200),
        (torch.xlogy, 5e-324, math.log(5e-324)),
    ):
        at = torch.tensor([1.0, y], dtype=torch.float64).unbind()
        along = torch.tensor([1.0, 0.0], dtype=torch.float64).unbind()
        assert torch.func.jvp(function, at, along)[1].item() == pytest.approx(want, rel=1e-12)


def test_the_tangent_of_a_slope_that_overflows_is_finite_where_it_is():
    for power, x, want in ((3.0, 1e160, 6e160), (2.5, -0.0, 0.0), (-2.0, 1e-160, INF)):
        exponent = torch.tensor(power, dtype=torch.float64)

        def slope(x, exponent=exponent):
            return torch.func.jvp(lambda x: x**exponent, (x,), (torch.ones_like(x),))[1]

        at = torch.tensor(x, dtype=torch.float64)
        found = torch.func.jvp(slope, (at,), (torch.ones_like(at),))[1].item()
        assert found == pytest.approx(want, rel=1e-12), power


def test_the_slope_of_a_gate_is_multiplied_by_what_arrives_at_once():
    gate = torch.tensor([20.0, 6.0], requires_grad=True)
    out = F.glu(torch.cat([gate.detach(), gate]))
    (found,) = torch.autograd.grad(out, gate, torch.full((2,), 1e38))
    np.testing.assert_allclose(
        found, [0, 1e38 * 6 * math.exp(-6) / (1 + math.exp(-6)) ** 2], rtol=1e-4
    )


def test_an_infinite_gradient_goes_to_both_ends_of_a_way():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for weight in (0.3, torch.tensor([0.3, 0.7])):
        (found,) = torch.autograd.grad(torch.lerp(*x, weight), x, torch.full((2,), INF))
        assert (found == INF).all()
    (found,) = torch.autograd.grad(torch.quantile(x, 0.3), x, torch.tensor(INF))
    assert found.tolist() == [[INF, INF], [0, 0]]


def test_halves_do_not_overflow_on_the_way():
    """PyTorch's numbers: its kernels compute these in float32."""

    def halves(*values):
        return torch.tensor(values, dtype=torch.float16, requires_grad=True)

    for out, values in (
        (torch.round(halves(7.0, 700.0), decimals=4), (7.0, 700.0)),
        (torch.round(halves(65504.0), decimals=-1), (65504.0,)),
        (halves(300.0, -2.0) ** -2, (1 / 300**2, 0.25)),
        (torch.sinc(halves(1.0, 1.5)), (0.0, -2 / (3 * math.pi))),
        (F.rms_norm(halves(1e-4, 2e-4, 0.0), (3,)), (0.2713, 0.5426, 0.0)),
    ):
        assert out.dtype is torch.float16
        np.testing.assert_allclose(out.detach(), values, rtol=5e-3, atol=1e-7)
    for function in (F.silu, F.mish, F.gelu, lambda x: F.gelu(x, approximate="tanh")):
        x = halves(700.0, -700.0, 65504.0)
        (slope,) = torch.autograd.grad(function(x), x, torch.ones_like(x), create_graph=True)
        assert slope.dtype is torch.float16 and slope.tolist() == [1.0, 0.0, 1.0]
        _, tangent = torch.func.jvp(function, (x.detach(),), (torch.ones_like(x.detach()),))
        assert tangent.dtype is torch.float16 and tangent.tolist() == [1.0, 0.0, 1.0]
    c = torch.compile(lambda x: x**-2)
    assert c(np.array([300.0], np.float16)) == np.float16(300.0) ** -2 > 0


def test_negative_powers_of_large_complex_numbers_are_0():
    for dtype, size in ((torch.complex64, 1e25), (torch.complex128, 1e200)):
        x = torch.tensor([size + 1j, 3 + 4j], dtype=dtype)
        for power in (-1, -2, -3):
            slope = torch.func.jvp(lambda x, p=power: x**p, (x,), (torch.ones_like(x),))[1]
            wanted = power * (3 + 4j) ** (power - 1)
            np.testing.assert_allclose(slope, [0, wanted], rtol=1e-5, atol=1e-30)
            wanted = [size**power, (3 + 4j) ** power]
            np.testing.assert_allclose(x**power, wanted, rtol=1e-5, atol=1e-40)


@pytest.mark.parametrize("dtype, sizes", [
    (torch.float16, (1e-4, 1.0, 12.0, 4e4)), (torch.float32, (1.0, 1e9, 1e18, 1e25)),
    (torch.float64, (1.0, 1e100, 1e200)),
])  # fmt: skip
def test_a_loss_of_an_angle_does_not_depend_on_the_lengths(dtype, sizes):
    """PyTorch's product of the squares overflows: a cosine and slopes of 0."""
    rows = [1.0, -0.5, 0.25], [0.5, 1.5, 1.0], [0.0, 0.5, -1.0]
    target = torch.tensor([1, -1, 1])
    for size in sizes:
        found = []
        for dt, scale in ((dtype, size), (torch.float64, 1e3)):
            x = (torch.tensor(rows, dtype=torch.float64) * scale).to(dt)
            y = x.flip(1) + scale * torch.tensor([0.5, 0.0, -0.25], dtype=dt)
            loss = lambda x, y=y: F.cosine_embedding_loss(x, y, target)  # noqa: E731
            slopes = torch.func.grad(loss)(x), torch.func.jvp(loss, (x,), (x.flip(0),))[1]
            found.append([loss(x).double(), slopes[0].double() * scale, slopes[1].double()])
        for narrow, wide in zip(*found, strict=True):
            atol = 5e-3 if dtype is torch.float16 else 1e-6
            np.testing.assert_allclose(narrow, wide, rtol=1e-2, atol=atol)


def test_squares_of_halves_neither_overflow_nor_underflow_on_the_way():
    x = torch.tensor([[[-1301.0], [-548.0], [30.0]]], dtype=torch.float16)
    wide = x.float()
    for found, wanted in zip(
        (
            F.local_response_norm(x, 2),
            *torch.func.vjp(lambda x: F.local_response_norm(x, 2), x)[1](x),
        ),
        (
            F.local_response_norm(wide, 2),
            *torch.func.vjp(lambda x: F.local_response_norm(x, 2), wide)[1](wide),
        ),
        strict=True,
    ):
        assert found.dtype is torch.float16
        np.testing.assert_allclose(found.float(), wanted, rtol=2e-3)
    for scale in (1.0, 1e-4):
        row, wanted = x.mT * scale, 1412.0 * scale
        assert float(F.lp_pool1d(row, 2.0, 3)) == pytest.approx(wanted, rel=2e-3)
        slope = torch.func.grad(lambda x: F.lp_pool1d(x, 2.0, 3).sum())(row)
        np.testing.assert_allclose(slope, row.float() / wanted, rtol=5e-3)
    y = torch.tensor([2e-5, -3e-5], dtype=torch.float16)
    slope = torch.func.grad(lambda y: torch.atan2(y, torch.zeros_like(y) + 3e-5).sum())(y)
    assert (slope > 1e4).all(), "a slope that a half holds"


def test_far_from_0_the_slopes_of_complex_silu_are_those_of_x_and_of_0():
    for dtype in (torch.complex64, torch.complex128):
        x = torch.tensor([1000 + 30j, -1000 + 3j, 100 - 30j, -90 + 2j], dtype=dtype)
        one = torch.ones_like(x)
        out, tangent = torch.func.jvp(F.silu, (x,), (one,))
        (slope,) = torch.autograd.grad(F.silu(x.requires_grad_()), x, one)
        wanted = [1.0, 0.0, 1.0, 0.0]
        for found in (out / x, torch.sigmoid(x), tangent, slope):
            np.testing.assert_allclose(found.detach().numpy(), wanted, atol=1e-30)


def test_an_exponent_without_dimensions_is_as_exact_as_what_it_scales():
    x = torch.tensor([0.3], dtype=torch.float64)
    for dtype in (torch.float16, torch.float32):
        power = torch.tensor(-0.5, dtype=dtype, requires_grad=True)
        out = torch.ldexp(x, power)
        out.sum().backward()
        assert out.item() == pytest.approx(0.3 / math.sqrt(2), rel=1e-15)
        assert power.grad.dtype is dtype
    assert torch.ldexp(x.float(), power.double()).dtype is torch.float32


def test_one_to_any_power_is_one():
    x = torch.tensor([complex(INF, 0), complex(0, NAN), 2 - 1j], requires_grad=True)
    (slope,) = torch.autograd.grad((1.0**x).real.sum(), x)
    assert (1**x).tolist() == [1, 1, 1] and slope.tolist() == [0, 0, 0]


def test_a_distance_of_order_0_counts_no_nan():
    x = torch.tensor([[math.nan, 1.0], [2.0, 1.0], [3.0, 1.0]], requires_grad=True)
    found = torch.cat([F.pdist(x, 0), torch.cdist(x[1:], x, 0)[0]])
    np.testing.assert_equal(found.tolist(), [math.nan, math.nan, 1, math.nan, 0, 1])
    assert not torch.autograd.grad(found.sum(), x)[0].any()


@pytest.mark.parametrize("first", (torch.func.jacrev, torch.func.jacfwd))
@pytest.mark.parametrize("second", (torch.func.jacrev, torch.func.jacfwd))
def test_the_slope_of_a_power_moves_with_an_exponent_of_zero(first, second):
    slopes = second(first(lambda v: v[0] ** v[1]))(torch.tensor([3.0, 0.0]))
    log = math.log(3)
    np.testing.assert_allclose(slopes.numpy(), [[0, 1 / 3], [1 / 3, log**2]], rtol=1e-6)
    for x in (0.0, math.nan):
        slopes = torch.func.jacrev(lambda v: v[0] ** v[1])(torch.tensor([x, 0.0]))
        assert slopes[0] == 0, "the slope by the base is 0 wherever the exponent is"


@pytest.mark.parametrize("first", (torch.func.jacrev, torch.func.jacfwd))
@pytest.mark.parametrize("second", (torch.func.jacrev, torch.func.jacfwd))
@pytest.mark.parametrize("power", (torch.pow, torch.float_power))
def test_the_mixed_slope_of_a_power_at_0_is_finite_for_exponents_above_1_alone(
    first, second, power
):
    for exponent in (0.5, 1.0, 2.0, 3.0):
        x = torch.tensor([0.0, exponent], dtype=torch.float64)
        assert torch.func.grad(lambda v: power(v[0], v[1]))(x)[1] == 0
        slopes = second(first(lambda v: power(v[0], v[1])))(x)
        mixed = [slopes[0, 1].item(), slopes[1, 0].item()]
        if exponent > 1:
            assert mixed == [0, 0] and slopes[1, 1] == 0
        else:
            assert all(math.isnan(m) or m == -INF for m in mixed), (exponent, mixed)
        if exponent == 1:
            assert slopes.tolist() == [[0, -INF], [-INF, 0]], "what does not move adds nothing"
            along = torch.tensor([INF, 0.0], dtype=torch.float64)
            assert torch.func.jvp(lambda v: power(v[0], v[1]), (x,), (along,))[1] == INF


def test_slopes_on_a_branch_cut_are_of_the_side_of_the_value():
    for name, points in (("asin", (2.5, -2.5)), ("acos", (2.5, -2.5)), ("acosh", (0.5, -2.5))):
        function = getattr(torch, name)
        for at in (complex(p, zero) for p in points for zero in (0.0, -0.0)):
            # Along the cut, as z and as i*z: asinh(i*z) is i*asin(z).
            beside = [complex(at.real + h, at.imag) for h in (1e-6, -1e-6)]
            above, below = function(torch.tensor(beside, dtype=torch.complex128)).tolist()
            x = torch.tensor([at], dtype=torch.complex128)
            (slope,) = torch.func.jvp(function, (x,), (torch.ones_like(x),))[1].tolist()
            assert slope == pytest.approx((above - below) / 2e-6, rel=1e-6), (name, at)
            if name == "asin":
                turned = torch.tensor([complex(-at.imag, at.real)], dtype=torch.complex128)
                found = torch.func.jvp(torch.asinh, (turned,), (torch.ones_like(x),))[1]
                assert found.tolist() == [slope], at


@pytest.mark.parametrize("dtype", (torch.float16, torch.float32, torch.float64))
def test_slopes_of_logcumsumexp_beside_large_entries(dtype):
    """The results have no digits of the logarithm of how many entries there are."""
    x = torch.tensor([5e4, 5e4, 0, 5e4], dtype=dtype)
    x = x * (1 if dtype == torch.float16 else 1e12)
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        found = jacobian(lambda x: torch.logcumsumexp(x, 0))(x)[-1]
        np.testing.assert_allclose(found.numpy(), [1 / 3, 1 / 3, 0, 1 / 3], rtol=1e-3)
    if dtype == torch.float64:
        curves = torch.func.hessian(lambda x: torch.logcumsumexp(x, 0)[-1])(x)[-1]
        np.testing.assert_allclose(curves.numpy(), [-1 / 9, -1 / 9, 0, 2 / 9], rtol=1e-12)


WAYS = (torch.func.jacrev, torch.func.jacfwd)
"""Of which two after one another are the four ways to a second derivative."""


def test_a_complex_zero_is_as_flat_as_a_real_one():
    """Of one number; a length of several has no second derivative at 0."""
    for function in (
        lambda z: z.abs() ** 2,
        lambda z: torch.sgn(z).real ** 2,
        lambda z: torch.linalg.vector_norm(torch.stack([z, 0 * z + 3]), 4),
    ):
        for first in WAYS:
            for second in WAYS:
                curves = second(first(lambda v, f=function: f(torch.complex(v[0], v[1]))))
                assert not curves(torch.zeros(2, dtype=torch.float64)).any()


def test_slopes_where_x_is_infinite():
    x = torch.tensor([INF, -INF])
    for function in (torch.softsign, F.softsign):
        for first in WAYS:
            for second in WAYS:
                assert not second(first(function))(x).any()
    for value in (0.0, INF, -INF):
        for way in WAYS:
            assert way(lambda x: torch.logcumsumexp(x, 0))(torch.tensor(value)) == 1


@pytest.mark.parametrize("x", [INF, -INF])
@pytest.mark.parametrize("y", [0.0, -3.0])
def test_slopes_of_angles_and_lengths_at_infinity(x, y):
    for point in ([x, y], [y, x]):
        for function, slope in ((torch.atan2, 0.0), (torch.hypot, math.copysign(1.0, x))):
            for first in WAYS:
                at = torch.tensor(point)
                wanted = [slope if math.isinf(v) else 0.0 for v in point]
                assert first(lambda v, f=function: f(v[0], v[1]))(at).tolist() == wanted
                for second in WAYS:
                    assert not second(first(lambda v, f=function: f(v[0], v[1])))(at).any()
    for way in WAYS:
        unknown = way(lambda v: torch.atan2(v[0], v[1]))(torch.tensor([x, NAN]))
        assert unknown.isnan().all()


def test_an_entry_of_minus_infinity_has_no_share_in_what_is_finite():
    x = torch.tensor([-INF, 1.0, 2.0])
    for way in WAYS:
        table = way(lambda x: torch.logcumsumexp(x, 0))(x)
        np.testing.assert_allclose(table[1:], [[0, 1, 0], [0, 0.2689414, 0.7310586]], rtol=1e-6)


def test_a_linear_map_is_that_of_a_tangent_that_is_not_0():
    """A rule may hold 0 times the logarithm of 0 for 0; ``linearize`` records no such zero."""
    y = torch.tensor([0.0, -1.0, 0.0, 3.0])
    for function in (lambda x: torch.xlogy(x, y), lambda x: torch.special.xlog1py(x, y - 1)):
        x, along = torch.tensor([1.0, 2.0, 0.0, 2.0]), torch.tensor([1.0, 1.0, 1.0, -2.0])
        wanted = torch.func.jvp(function, (x,), (along,))[1]
        found = torch.func.linearize(function, x)[1](along)
        np.testing.assert_equal(found.numpy(), wanted.numpy())
        np.testing.assert_allclose(found.numpy(), [-INF, NAN, 0, -2 * math.log(3)], rtol=1e-6)


def test_a_linear_map_keeps_the_nan_of_a_factor_of_0():
    x, along = torch.tensor([0.0, 1.0]), torch.tensor([1.0, -2.0])
    for function in (
        lambda x: torch.xlogy(x, x),
        lambda x: F.kl_div(torch.ones_like(x), x, reduction="none"),
        lambda x: torch.linalg.vector_norm(x * math.inf, dim=0) * torch.relu(x),
    ):
        wanted = torch.func.jvp(function, (x,), (along,))[1]
        assert wanted[0].isnan()
        found = torch.func.linearize(function, x)[1](along)
        np.testing.assert_equal(found.numpy(), wanted.numpy())


ACTIVATIONS = (
    F.silu, F.mish, F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.hardswish, F.softsign,
    F.hardsigmoid, F.elu, F.selu, F.celu, F.softplus, F.leaky_relu,
)  # fmt: skip


def test_a_gradient_that_arrives_is_multiplied_once():
    """An infinite one, or one that x times overflows, moves as the slope says: nothing cancels."""
    unary = [op for op in OPERATORS.values() if op.entrywise and op.arity == 1 and not op.params]
    unary = [op for op in unary if op.public and op.kind == "elementwise" and op.out != "complex"]
    for dtype, arriving in ((torch.float64, INF), (torch.float32, 1e38)):
        for function in (*ACTIVATIONS, *unary):
            x = torch.tensor([-1.3, -0.8, 0.3, 0.9, 1.5, 4.0], dtype=dtype, requires_grad=True)
            out = function(x)
            if not out.requires_grad:
                continue
            slope, moved = (
                torch.autograd.grad(out, x, torch.full_like(out, g), retain_graph=True)[0]
                for g in (1.0, arriving)
            )
            slope, moved = slope.double().numpy(), moved.double().numpy()
            moves = np.isfinite(slope) & (slope != 0)
            moves &= abs(slope) * 1e38 < 3e38 if dtype is torch.float32 else True
            np.testing.assert_allclose(moved[moves], slope[moves] * arriving, rtol=1e-5)
    x = torch.tensor([-1.0, 0.0, 2.0, INF, NAN], requires_grad=True)
    (moved,) = torch.autograd.grad(torch.angle(x), x, torch.full_like(x, INF))
    assert moved.tolist() == [0.0] * 5


def test_gated_activations_refuse_what_pytorchs_kernels_do():
    for function, given in (
        (F.mish, [1, 2]), (F.mish, [1j]), (F.hardswish, [1]), (F.hardswish, [1j]), (F.silu, [1]),
        (F.gelu, [1j]),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="not implemented for"):
            function(torch.tensor(given))


def test_second_slopes_of_running_sums_beside_minus_infinity_are_the_same_by_every_mode():
    both = (torch.func.jacfwd, torch.func.jacrev)
    x = torch.tensor([-INF, 0.0, 1.0], dtype=torch.float64)
    share = math.e / (1 + math.e) ** 2
    for first, second in itertools.product(both, both):
        slopes = second(first(lambda v: torch.logcumsumexp(v, 0)))(x)
        np.testing.assert_allclose(slopes[2, 1:, 1:], [[share, -share], [-share, share]], 1e-14)
        assert not slopes[:2].any() and not slopes[2, 0].any(), (first, second)


def _slope(place, f):
    return lambda *xy: torch.func.grad(lambda *xy: f(*xy).sum(), place)(*xy)


def _push(place, f):
    def pushed(x, y):
        alone = (lambda y: f(x, y)) if place else (lambda x: f(x, y))
        return torch.func.jvp(alone, ((x, y)[place],), (torch.ones_like(x),))[1]

    return pushed


@pytest.mark.parametrize(
    ("name", "order"),
    [
        *((n, 2) for n in ("pow", "mul", "atan2", "logaddexp", "maximum", "ldexp")), ("pow", 3),
        *((n, k) for n in ("bernoulli_nll", "bernoulli_slope") for k in (2, 3)),
    ],
)  # fmt: skip
def test_mixed_slopes_do_not_depend_on_the_order_of_differentiation(name, order):
    points = [0.0, -0.0, 1.0, 0.5, 2.0, 40.0, 1e160, INF, 1e-5, -1.0, -0.5]
    if order == 2:  # the third slopes there are beyond floats
        points += [1e-160, 1e308, 1e-308]
    if name[:9] == "bernoulli":  # of shares, whose slopes are held near 0 and 1
        points = [*(p for p in points if 0 <= p <= 1), 1e-14, 1e-9, 1e-6, 1 - 1e-6, 1 - 1e-14]
    x, y = torch.cartesian_prod(*[torch.tensor(points, dtype=torch.float64)] * 2).T
    for places in itertools.combinations_with_replacement((0, 1), order):
        found = []
        for turn in sorted(set(itertools.permutations(places))):
            for modes in itertools.product((_slope, _push), repeat=order):
                f = OPERATORS.get(name) or getattr(torch, name)
                for mode, place in zip(modes, turn, strict=True):
                    f = mode(place, f)
                found.append(f(x, y))
        if len(set(places)) > 1:
            for other in found[1:]:
                np.testing.assert_allclose(other, found[0], 1e-9, 1e-307)


def test_only_a_product_with_zero_is_zero_beside_infinity():
    along = OPERATORS["along"]
    x = torch.tensor([0.0, 0.0, 2.0, NAN, complex(1, 1), complex(0, 2)])
    y = torch.tensor([INF, NAN, 0.0, 0.0, complex(INF, INF), complex(-INF, INF)])
    assert torch.isnan(along(x, y)).tolist() == [False, True, False, True, True, True]


def readings(function, points, order):
    """The derivative of ``order`` entry by entry, by each way of reading: reverse, forward and, of
    order 2 and more, both in turn."""
    for turns in {("R",) * order, ("F",) * order, ("R", "F", "F", "R")[:order]}:
        found = function
        for turn in turns:
            found = torch.func.grad(lambda v, f=found: f(v).sum()) if turn == "R" else (
                lambda v, f=found: torch.func.jvp(f, (v,), (torch.ones_like(v),))[1]
            )  # fmt: skip
        yield turns, found(torch.tensor(points, dtype=torch.float64)).numpy()


def test_every_reading_of_a_rule_gives_the_same_at_the_edges():
    """To order 4; some exact derivatives stand beside, by order."""
    edges = [0.0, -0.0, 5e-324, -1e-300, 1e-30, 0.3, -3.0, 1e8, -1e154, 1e300, INF, -INF, NAN]
    tiny = [5e-324, 1e-30, 1e-8]
    at_infinity = {1: 0.0, 2: 0.0, 3: 0.0, 4: 0.0}
    for function, points, wanted in (
        (torch.erf, [INF, -INF, 1e154], at_infinity),
        (torch.special.ndtr, [INF, -INF, 1e300], at_infinity),
        (F.gelu, [INF], {**at_infinity, 1: 1.0}),
        (lambda x: torch.atan2(x, torch.tensor(0.5)), tiny, {1: 2.0, 3: -16.0}),
        (lambda x: torch.atan2(torch.tensor(0.5), x), tiny, {1: -2.0, 3: 16.0}),
        (lambda y: torch.fmod(torch.tensor(1.0), y), [0.0, NAN], {2: 0.0, 3: 0.0, 4: 0.0}),
        (torch.erfc, edges, {}), (torch.erf, edges, {}),
        (F.gelu, edges, {}), (torch.special.ndtr, edges, {}),
    ):  # fmt: skip
        for order in range(1, 5):
            first, *others = [v for _, v in readings(function, points, order)]
            for other in others:
                np.testing.assert_allclose(other, first, rtol=1e-12, atol=1e-290)
            if order in wanted:
                np.testing.assert_allclose(first, wanted[order], rtol=1e-12)


@pytest.mark.parametrize("function", [torch.fmod, torch.remainder])
def test_remainders_have_the_slopes_of_the_turns_that_they_take_off(function):
    x = torch.tensor([1.0, -1.0, 1.0, 0.3, -0.6, 7.0, 1e17], dtype=torch.float64)
    y = torch.tensor([0.1, 0.1, -0.1, 0.1, 0.2, 2.5, 3.0], dtype=torch.float64)
    slopes = torch.func.grad(lambda b: function(x, b).sum())(y)
    for a, b, slope, rest in zip(x.tolist(), y.tolist(), slopes, function(x, y), strict=True):
        turns = (Fraction(a) - Fraction(rest.item())) / Fraction(b)
        assert abs(slope.item() + float(turns)) <= 1e-12 * abs(slope.item())


def test_a_slope_of_gelu_times_a_large_cotangent_is_finite():
    x = torch.tensor([-20.0, -6.0, 6.0, 10.0], requires_grad=True)
    (slope,) = torch.autograd.grad(F.gelu(x), x, torch.full((4,), 1e38), create_graph=True)
    (curve,) = torch.autograd.grad(slope.sum(), x)
    np.testing.assert_allclose(curve, [0, -2.066e31, -2.066e31, -7.541e17], rtol=1e-3)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64))
def test_a_normalisation_does_not_depend_on_the_size_of_large_rows(dtype):
    large = 2.0**70 if dtype is torch.float32 else 2.0**700
    x = torch.tensor([[1.0, 2.0, -3.0, 1.5], [0.5, 0.0, 0.0, 4.0]], dtype=dtype)
    beside = torch.cat([x[:1] * large, x[1:]])  # a row that needs no scaling
    for function in (
        lambda x: F.rms_norm(x, (4,), eps=0.0),
        lambda x: F.layer_norm(x, (4,), eps=0.0),
        lambda x: F.instance_norm(x[:, None], eps=1e-30)[:, 0],
        lambda x: F.batch_norm(x.T, None, None, training=True, eps=1e-30).T,
        lambda x: torch.vmap(lambda row: F.layer_norm(row, (4,), eps=0.0))(x),
    ):
        for way in WAYS:
            value, slope = (f(x) for f in (function, way(function)))
            value_of_large, slope_of_large = (f(beside) for f in (function, way(function)))
            np.testing.assert_allclose(value_of_large, value, rtol=1e-5)
            np.testing.assert_allclose(slope_of_large[1], slope[1], rtol=1e-4, atol=1e-6)
            turned = slope_of_large[0, :, 0] * large
            np.testing.assert_allclose(turned, slope[0, :, 0], rtol=1e-4, atol=1e-6)
    infinite = torch.tensor([[INF, 1.0, -2.0]], dtype=dtype)
    np.testing.assert_array_equal(F.rms_norm(infinite, (3,)), [[NAN, 0, 0]])


@pytest.mark.parametrize("size", (1e3, 1e9, 1e15, 1e18))
def test_second_slopes_of_normalisations_do_not_depend_on_the_size_of_rows(size):
    """They go as the root to the power of -3, which no float32 may hold."""
    rows, weights, along = np.random.default_rng(7).normal(size=(3, 2, 3, 4))
    for function in (
        lambda x: F.rms_norm(x, (4,)),
        lambda x: F.layer_norm(x, (4,)),
        lambda x: F.group_norm(x, 1),
        lambda x: F.instance_norm(x[None]),
        lambda x: F.batch_norm(x, None, None, training=True),
    ):
        found = []
        for dtype, scale in ((torch.float32, size), (torch.float64, 1e6)):
            w, t = (torch.tensor(v, dtype=dtype) for v in (weights, along))
            x = torch.tensor(rows, dtype=dtype) * scale
            slope = torch.func.grad(lambda x, f=function, w=w: (f(x) * w).sum())
            curves = torch.func.vjp(slope, x)[1](t)[0], torch.func.jvp(slope, (x,), (t,))[1]
            found.append([c.numpy().astype(float) * scale**2 for c in curves])
        np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-4)


def test_the_slopes_of_a_tiny_number_to_its_own_power():
    """A power of it overflows where the slope by the base, times the exponent, does not."""
    for x in (1e-200, 1e-160, 1e-300):
        slope, curve = orders(lambda x: x**x, x, 2)[1:]
        np.testing.assert_allclose([slope, curve], [1 + math.log(x), 1 / x], rtol=1e-12)
    assert orders(lambda x: x**x, 5e-324, 1)[1] == pytest.approx(1 + math.log(5e-324), rel=1e-12)
    for order in (torch.func.jacrev, torch.func.jacfwd):
        second = order(torch.func.grad(lambda v: v[0] ** v[1]))
        wanted = [[-1e200, 1e200], [1e200, math.log(1e-200) ** 2]]
        found = second(torch.tensor([1e-200, 1e-200], dtype=torch.float64))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_gelu_by_tanh_is_x_or_0_far_out():
    def gelu(x):
        return F.gelu(x, approximate="tanh")

    def exact(x):
        turn = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(0.044715) * x**3)
        return x / 2 * (1 + mpmath.tanh(turn))

    for x in (1e19, 1e103, 1e160, 1e300, INF):
        assert orders(gelu, x, 3) == [x, 1, 0, 0]
        assert orders(gelu, -x, 3)[1:] == [0, 0, 0]
    with mpmath.workdps(40):
        for x in (-7.5, -1.2, 0.0, 0.4, 3.0):
            wanted = [float(mpmath.diff(exact, x, n)) for n in range(4)]
            np.testing.assert_allclose(orders(gelu, x, 3), wanted, rtol=1e-12, atol=1e-18)
    x = torch.tensor([3.0, -2.0, NAN], requires_grad=True)
    (slope,) = torch.autograd.grad(gelu(x).sum(), x, create_graph=True)
    (curve,) = torch.autograd.grad(slope, x, torch.full((3,), 1e38))
    np.testing.assert_allclose(curve, [-3.176765e36, -1.078752e37, NAN], rtol=1e-5)


def test_the_direction_of_a_subnormal_complex_number():
    for dtype, least in ((torch.complex64, 1e-45), (torch.complex128, 5e-324)):
        points = [complex(0, least), complex(-least, 0), 0j, 6e30 + 8e30j]
        x = torch.tensor(points, dtype=dtype, requires_grad=True)
        (slope,) = torch.autograd.grad(x.abs().sum(), x)
        for found in (slope, x.sgn().detach()):
            np.testing.assert_allclose(found, [1j, -1, 0, 0.6 + 0.8j], rtol=1e-6)


def test_third_slopes_of_the_incomplete_gamma_function_of_1():
    """Its density is exp(-y): a power of y that no longer counts may overflow."""
    y = [1e-200, 1e-160, 1e-3, 2.0]
    for function, sign in ((torch.special.gammainc, 1), (torch.special.gammaincc, -1)):
        found = orders(lambda y, f=function: f(torch.ones_like(y), y), y, 3)[1:]
        for slope, wanted in zip(found, (1, -1, 1), strict=True):
            np.testing.assert_allclose(slope, sign * wanted * np.exp(-np.array(y)), rtol=1e-12)


def test_slices_that_renorm_leaves_as_they_are_move_as_they_are():
    x = torch.tensor([[1.0, NAN], [NAN, NAN], [0.5, 0.0]])
    for p in (1.0, 2.0, INF):
        along = torch.ones_like(x)
        _, moved = torch.func.jvp(lambda x, p=p: torch.renorm(x, p, 0, 1.0), (x,), (along,))
        leaf = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(torch.renorm(leaf, p, 0, 1.0).sum(), leaf)
        np.testing.assert_array_equal(slope, along)
        np.testing.assert_array_equal(moved, along)


def test_a_slice_scaled_down_moves_in_both_modes_where_its_square_leaves_the_floats():
    for dtype, scale in ((torch.float32, 1e25), (torch.float64, 1e170)):
        x = torch.tensor([[3.0, 4.0, 12.0]], dtype=dtype) * scale
        for f in (lambda x: torch.renorm(x, 2, 0, 0.5), lambda x: torch.nn.functional.normalize(x)):
            exact = torch.func.jacrev(f)(x / scale).double()
            for mode in (torch.func.jacfwd, torch.func.jacrev):
                found = mode(f)(x) * scale
                np.testing.assert_allclose(found.double(), exact, rtol=1e-5)
    for row in ([6e4, 5e4], [1e-6, 2e-6]):  # a length, and its inverse, that are no halves
        x = torch.tensor([row], dtype=torch.float16)
        f = lambda x, most=row[0] / 2: torch.renorm(x, 2, 0, most)  # noqa: E731
        for mode in (torch.func.jacfwd, torch.func.jacrev):
            np.testing.assert_allclose(mode(f)(x), mode(f)(x.float()), rtol=2e-3)


def test_directions_of_vectors_whose_length_overflows():
    F = torch.nn.functional
    for dtype, most in ((torch.float64, 1.7e308), (torch.float32, 3e38), (torch.float16, 6e4)):
        rows = torch.tensor([[1.0, -1.0, 0.5], [3.0, 4.0, 0.0]], dtype=dtype)
        x = rows * torch.tensor([[most], [1.0]], dtype=dtype)
        for f in (
            lambda x: F.normalize(x, dim=1), lambda x: F.normalize(x, 1.0, 1),
            lambda x: torch.vmap(lambda v: F.normalize(v, dim=0))(x),
            lambda x: F.cosine_similarity(x, x[:, [2, 0, 1]]),
        ):  # fmt: skip
            np.testing.assert_allclose(f(x), f(rows), rtol=2e-3 if most == 6e4 else 1e-6)
            moved = torch.func.jvp(f, (x,), (rows,))[1]
            leaf = x.clone().requires_grad_()
            (slope,) = torch.autograd.grad(f(leaf).sum(), leaf)
            for found in (moved[0], slope[0]):  # of 1e-308, or so
                np.testing.assert_allclose(found, np.zeros_like(found), atol=1e-3)
            np.testing.assert_allclose(
                slope[1], torch.func.grad(lambda x, f=f: f(x).sum())(rows)[1], rtol=1e-3
            )
    x = torch.tensor([[INF, 1.0]])
    np.testing.assert_array_equal(F.normalize(x), [[NAN, 0.0]])
    big = torch.tensor(np.array([[1.5e308 + 1.5e308j, -1.5e308j]]))  # the length of one entry does
    np.testing.assert_allclose(F.normalize(big), np.array([[1 + 1j, -1j]]) / 3**0.5, rtol=1e-15)
    for dtype, most in ((torch.float64, 1.7e308), (torch.float32, 3e38)):
        x = torch.tensor([most, -0.75 * most], dtype=dtype, requires_grad=True)
        slopes = torch.autograd.grad(torch.hypot(x[0], x[1]), x)[0]
        np.testing.assert_allclose(slopes, [0.8, -0.6], rtol=1e-6)


def test_slopes_of_a_norm_of_low_order_beside_entries_of_other_sizes():
    for dtype, size, rtol in ((torch.float32, 1e30, 1e-5), (torch.float64, 1e200, 1e-12)):
        x = torch.tensor([1 / size, -1.0, size], dtype=dtype)
        for p in (0.5, 1.5):
            length = float(torch.linalg.vector_norm(x, p))
            wanted = [size ** (1 - p) * length ** (1 - p), -(length ** (1 - p)), 1]
            for way in WAYS:
                found = way(lambda x, p=p: torch.linalg.vector_norm(x, p))(x)
                np.testing.assert_allclose(found, wanted, rtol=rtol)
