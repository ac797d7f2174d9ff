"""Functions of complex numbers: values by their definition, derivatives by differences."""

import math

import numpy as np
import pytest
import scipy.linalg

import gradcli as g
from tests.support.families import family

F = g.nn.functional


def entries(*shape, seed=0):
    draw = np.random.default_rng(seed)
    return g.tensor(draw.normal(size=shape) + 1j * draw.normal(size=shape), requires_grad=True)


FUNCTIONS = {
    "lerp near": (lambda x, y: g.lerp(x, y, 0.1j), [(3,), (3,)]),
    "lerp far": (lambda x, y: g.lerp(x, y, 1.2 + 0.3j), [(3,), (3,)]),
    "add": (lambda x, y: g.add(x, y, alpha=1 + 2j), [(3,), (3,)]),
    "sub": (lambda x, y: g.sub(x, y, alpha=1 + 2j), [(3,), (3,)]),
    "addcmul": (lambda x, y, z: g.addcmul(x, y, z, value=1 + 1j), [(3,), (3,), (3,)]),
    "addcdiv": (lambda x, y, z: g.addcdiv(x, y, z, value=1 + 1j), [(3,), (3,), (3,)]),
    "softsign": (F.softsign, [(4,)]),
    "float_power": (g.float_power, [(3,), (3,)]),
    "logsumexp": (lambda x: g.logsumexp(9 * x, 0), [(4,)]),
    "lu": (lambda x: g.linalg.lu(x)[2], [(2, 4, 4)]),
    "cholesky": (lambda x: g.linalg.cholesky(x @ x.mH), [(2, 3, 3)]),
    "cumprod": (lambda x: x.cumprod(0), [(4,)]),
    "std": (lambda x: x.std(), [(4,)]),
    "norm": (lambda x: g.linalg.vector_norm(x, 3), [(4,)]),
}  # fmt: skip


@family("name", FUNCTIONS)
def test_derivative_is_that_of_differences(name):
    function, shapes = FUNCTIONS[name]
    inputs = tuple(entries(*shape, seed=i) for i, shape in enumerate(shapes))
    assert g.autograd.gradcheck(function, inputs)


@family("base, exponent, power", [
    (0j, -1 + 0j, complex(math.inf, math.nan)),
    (0j, -2.0, complex(math.inf, math.nan)),
    (complex(math.inf, 0.0), -1 + 0j, 0j),
    (-math.inf, -2 + 0j, 0j),
    (complex(math.inf, 0.0), 3 + 0j, complex(math.inf, math.nan)),
    (0j, 0j, 1.0 + 0j),
])  # fmt: skip
def test_powers_at_zero_and_infinities_as_their_logarithms_say(base, exponent, power):
    found = complex((g.tensor(base) ** g.tensor(exponent)).item())
    assert repr(abs(found.real)) == repr(power.real)
    assert math.isnan(found.imag) or found.imag == 0


def test_the_slope_of_a_root_of_a_negative_number_by_a_complex_exponent():
    x = g.tensor(-2.0, requires_grad=True)
    (x ** (0.5 + 0j)).imag.backward()
    assert x.grad.item() == pytest.approx(-0.5 / math.sqrt(2))


def test_float_power_keeps_the_imaginary_part():
    x, y = entries(5, seed=1), entries(5, seed=2)
    np.testing.assert_allclose(
        g.float_power(x, y).detach().numpy(), x.detach().numpy() ** y.detach().numpy()
    )


def test_logsumexp_gives_the_principal_value():
    x = 9 * entries(3, 50)
    out = g.logsumexp(x, 0).detach().numpy()
    np.testing.assert_allclose(out, np.log(np.exp(x.detach().numpy()).sum(0)), rtol=1e-12)
    assert np.all(np.abs(out.imag) <= np.pi)


def test_logcumsumexp_of_equal_real_parts_takes_the_branch_of_pytorch():
    x = g.tensor([-10j, 8j, -3j], dtype=g.complex128)
    wanted = [-10j, 0.60007778 + 8.42477796j, 0.88213327 + 8.81063932j]
    np.testing.assert_allclose(g.logcumsumexp(x, 0), wanted, rtol=1e-6)


def test_lu_exchanges_rows_as_lapack_does():
    for seed in range(20):
        x = entries(6, 5, seed=seed)
        both, pivots = g.linalg.lu_factor(x)
        expected, places, _ = scipy.linalg.lapack.zgetrf(x.detach().numpy())
        np.testing.assert_array_equal(pivots.numpy(), places + 1)
        np.testing.assert_allclose(both.detach().numpy(), expected, rtol=1e-10)


def test_cholesky_of_a_hermitian_matrix():
    x = entries(2, 3, 3)
    matrix = x @ x.mH + g.eye(3)
    low = g.linalg.cholesky(matrix)
    np.testing.assert_allclose((low @ low.mH).detach(), matrix.detach(), rtol=1e-12)


def test_a_number_leaves_the_gradient_as_narrow_as_it_is():
    z = g.ones(2, dtype=g.complex64, requires_grad=True)
    (z * 2.0 * (1 - 2j)).sum().abs().backward()
    assert z.grad.numpy().dtype == np.complex64


def test_infinite_terms_of_a_running_sum_have_a_direction():
    inf = float("inf")
    x = g.tensor([complex(inf, 0), complex(inf, 1), complex(inf, 3)])
    first, second, third = g.logcumsumexp(x, 0).tolist()
    assert first == complex(inf, 0) and second.real == inf
    assert second.imag == pytest.approx(np.pi / 4, rel=1e-6) and np.isnan(third.imag)
    none, nan = complex(-inf, 2), complex(0, float("nan"))
    assert g.logcumsumexp(g.tensor([none, none, 1 + 2j]), 0).tolist() == [-inf, -inf, 1 + 2j]
    _, tangent = g.func.jvp(
        lambda v: g.logcumsumexp(v, 0), (g.tensor([none, 1j]),), (g.tensor([1 + 0j, 1]),)
    )
    assert np.isnan(tangent[0].item()) and tangent[1].item() == 1  # as the cotangent
    lost = g.logcumsumexp(g.tensor([x[0], nan, 1j]), 0).tolist()
    assert all(map(np.isnan, [v.real for v in lost[1:]]))
    sums = [
        g.logaddexp(x[0], b).item() for b in (x[1], g.tensor(1 + 3j), g.tensor(complex(inf, 2)))
    ]
    assert [v.real for v in sums] == [inf] * 3 and sums[1].imag == 0 and np.isnan(sums[2].imag)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_lost_imaginary_parts_are_told_of():
    z, x = g.tensor([1 + 2j]), g.zeros(1)
    g.set_warn_always(True)
    try:
        for loses in (
            z.float, lambda: z.to(g.int64), lambda: x.copy_(z), lambda: x.__setitem__(0, z[0]),
            lambda: g.as_tensor(z, dtype=g.float64),
        ):  # fmt: skip
            with pytest.warns(UserWarning, match="discards the imaginary part"):
                loses()
        assert z.bool().item() and z.real.double().item() == 1.0  # without a warning
    finally:
        g.set_warn_always(False)
