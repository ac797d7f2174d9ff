"""What the table leaves out: reductions of nothing and of one number, refusals, NaN and large
numbers.
"""

from __future__ import annotations

import itertools
import math
import tracemalloc
import warnings

import numpy as np
import pytest

import gradcli as torch
from gradcli.ops import OPERATORS
from gradcli.ops.errors import Fault
from tests.support.families import family

inf, nan = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def zeros(*shape):
    return torch.zeros(shape, dtype=torch.double)


@family("name, shape, params, value", [
        ("all", (), {}, False), ("all", (0,), {}, True), ("all", (2, 0), {"dim": 1}, [True, True]),
        ("any", (), {}, False), ("any", (0,), {}, False),
            ("any", (2, 0), {"dim": 1}, [False, False]),
        ("count_nonzero", (), {}, 0), ("count_nonzero", (0,), {}, 0),
            ("count_nonzero", (0, 2), {"dim": 0}, [0, 0]),
        ("argmax", (), {}, 0), ("argmin", (), {}, 0), ("argmax", (), {"dim": 0}, 0),
        ("argsort", (), {}, 0), ("argsort", (0,), {}, []),
        ("sum", (0,), {}, 0.0), ("prod", (0,), {}, 1.0), ("norm", (0,), {}, 0.0),
            ("mean", (0,), {}, nan),
        ("var", (0,), {}, nan), ("std", (0,), {}, nan), ("var", (), {}, nan),
            ("logsumexp", (0,), {}, -inf),
        ("sum", (2, 0), {"dim": 1}, [0.0, 0.0]), ("prod", (2, 0), {"dim": 1}, [1.0, 1.0]),
        ("norm", (2, 0), {"dim": 1}, [0.0, 0.0]), ("mean", (2, 0), {"dim": 1}, [nan, nan]),
        ("logsumexp", (2, 0), {"dim": 1}, [-inf, -inf]),
    ],
)  # fmt: skip
def test_of_nothing_and_of_one(name, shape, params, value):
    """The values are PyTorch 2.13's."""
    out = OPERATORS[name](zeros(*shape), **params)
    np.testing.assert_array_equal(out.numpy(), value)
    assert tuple(out.shape) == np.shape(value)


@family("code, call", [
        ("E0308", lambda: zeros(0).amax()), ("E0308", lambda: zeros(2, 0).amin(1)),
        ("E0308", lambda: zeros(0).argmax()), ("E0308", lambda: zeros(2, 0).argmin(1)),
        ("E0308", lambda: zeros(2, 0).max(1)),
        ("E0305", lambda: zeros(2).sum(1)), ("E0305", lambda: zeros(2, 2).argmax(2)),
        ("E0305", lambda: zeros(2, 2).argsort(2)), ("E0305", lambda: zeros(2, 2).all(5)),
        ("E0305", lambda: zeros(2, 2).sum((0, 0))), ("E0305", lambda: zeros(2, 2).transpose(0, 2)),
        ("E0305", lambda: zeros(2, 2).count_nonzero(-3)), ("E0305", lambda: zeros(2).softmax(1)),
        ("E0305", lambda: zeros(2, 2).permute(0)), ("E0305", lambda: zeros(2, 2).roll(1, 2)),
        ("E0301", lambda: zeros(2) + zeros(3)), ("E0301", lambda: torch.add(zeros(2), zeros(3))),
        ("E0301", lambda: zeros(2, 3) @ zeros(2, 3)), ("E0301", lambda: zeros(2) @ zeros()),
        ("E0301", lambda: torch.dot(zeros(2), zeros(3))),
            ("E0301", lambda: torch.dot(zeros(2, 2), zeros(2))),
        ("E0301", lambda: torch.outer(zeros(2, 2), zeros(2))),
            ("E0301", lambda: torch.trace(zeros(2))),
        ("E0301", lambda: torch.trace(zeros())), ("E0301", lambda: torch.dot(zeros(), zeros())),
        ("E0301", lambda: torch.cat([zeros(2), zeros(2, 2)])),
            ("E0301", lambda: torch.stack([zeros(2), zeros(3)])),
        ("E0301", lambda: torch.cat([zeros(), zeros()])), ("E0306", lambda: torch.cat([])),
        ("E0301", lambda: torch.where(zeros(2) > 0, zeros(3), zeros(2))),
        ("E0306", lambda: zeros(2, 3).reshape(4)), ("E0306", lambda: zeros(2, 3).view(-1, -1)),
        ("E0306", lambda: zeros(2).expand(3)),
        ("E0307", lambda: zeros(2)[2]), ("E0307", lambda: zeros(2)[0, 0]),
            ("E0307", lambda: zeros(2)[1.0]),
        ("E0307", lambda: zeros()[0]), ("E0307", lambda: zeros(2)[torch.tensor([2])]),
        ("E0307", lambda: zeros(2)[torch.tensor([True])]), ("E0307", lambda: zeros(2)["a"]),
        ("E0309", lambda: torch.tensor([1, 2]).mean()),
            ("E0309", lambda: torch.tensor([1, 2]).var()),
        ("E0309", lambda: torch.imag(zeros(2))), ("E0304", lambda: torch.clamp(zeros(2))),
        ("E0302", lambda: OPERATORS["sin"]()), ("E0302", lambda: OPERATORS["sin"](zeros(2), 1)),
        ("E0302", lambda: OPERATORS["sum"](zeros(2), dims=0)),
            ("E0303", lambda: OPERATORS["add"](zeros(2), "1")),
        ("E0303", lambda: torch.tensor(2) ** -1),
    ])  # fmt: skip
def test_refusals_have_codes(code, call):
    with pytest.raises(Fault) as fault:
        call()
    assert fault.value.code == code
    assert fault.value.message
    assert "numpy" not in str(fault.value).lower()


def test_nan_wins_maxima_and_gets_the_gradient():
    x = torch.tensor([1.0, nan, 3.0], requires_grad=True)
    y = torch.max(x)
    assert np.isnan(y.item())
    y.backward()
    assert x.grad.tolist() == [0, 1, 0]


def test_max_along_a_dimension_gives_the_gradient_to_the_first():
    x = torch.tensor([[2.0, 2.0, 1.0], [0.0, 3.0, 3.0]], requires_grad=True)
    values, indices = x.max(1)
    assert indices.tolist() == [0, 1]
    values.sum().backward()
    assert x.grad.tolist() == [[1, 0, 0], [0, 1, 0]]
    x.grad = None
    x.max().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 0.5, 0.5]]


def test_the_sign_of_nan_is_0_as_in_pytorch():
    """So are the slopes made of it, but where PyTorch's own is a quotient; values keep the NaN."""
    x = torch.tensor([nan, 2.0], requires_grad=True)
    assert torch.sign(x).tolist() == [0, 1] == torch.heaviside(x, x).tolist()
    zero = torch.zeros(2)
    F = torch.nn.functional
    for function, kept in (
        (torch.abs, False), (lambda x: F.l1_loss(x, zero), False),
        (lambda x: torch.linalg.vector_norm(x, 1), False),
        (lambda x: torch.linalg.vector_norm(x, float("inf")), False), (F.hardsigmoid, False),
        (lambda x: F.huber_loss(x, zero), True), (lambda x: F.smooth_l1_loss(x, zero), True),
        (lambda x: torch.copysign(x, zero), True),
        (lambda x: torch.cdist(x[None], zero[None], 1), True),
    ):  # fmt: skip
        out = function(x)
        assert np.isnan(out.detach().numpy()).any()
        (slope,) = torch.autograd.grad(out.sum(), x)
        assert np.isnan(slope[0].item()) if kept else slope[0] == 0
        assert not np.isnan(slope[1].item())


@family("name", ["sigmoid", "logsigmoid", "softplus", "logaddexp", "logsumexp", "softmax"])
def test_nothing_overflows(name):
    x = torch.tensor([800.0, -800.0, 30.0], dtype=torch.double, requires_grad=True)
    args = (x, -x) if name == "logaddexp" else (x,)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        out = OPERATORS[name](*args)
        out.sum().backward()
    assert np.isfinite(out.detach().numpy()).all()
    assert np.isfinite(x.grad.numpy()).all()


def test_prod_is_exact_where_entries_are_zero():
    for values, first, mixed in (
        ([2.0, 0.0, 3.0], [0, 6, 0], [[0, 3, 0], [3, 0, 2], [0, 2, 0]]),
        ([0.0, 0.0, 3.0], [0, 0, 0], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]),
    ):
        x = torch.tensor(values, requires_grad=True)
        x.prod().backward()
        assert x.grad.tolist() == first
        assert torch.func.hessian(lambda t: t.prod())(x.detach()).tolist() == mixed


def test_second_derivatives_of_a_product_take_the_memory_of_their_size():
    x = torch.ones(200, dtype=torch.float64)
    tracemalloc.start()
    mixed = torch.func.hessian(torch.prod)(x)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 40 * 8 * mixed.numel()


def test_one_entry_read_twice_gets_both_gradients():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x[[0, 0, 2]].sum().backward()
    assert x.grad.tolist() == [2, 0, 1]
    x.grad = None
    (
        x[torch.tensor([[0, 1], [1, 1]])] * torch.tensor([[1.0, 10.0], [100.0, 1000.0]])
    ).sum().backward()
    assert x.grad.tolist() == [1, 1110, 0]


LENGTHS = {
    "norm": lambda x: x.norm(),
    "its square": lambda x: x.norm() ** 2,
    "behind a choice": lambda x: torch.maximum(x, -torch.ones_like(x)).norm() ** 2,
    "order 3": lambda x: x.norm(3) ** 2,
    "order 1.5": lambda x: x.norm(1.5) ** 2,
    "std": lambda x: x.std() ** 2,
    "hypot": lambda x: torch.hypot(x[0], x[1]) ** 2,
    "atan2": lambda x: torch.atan2(x[0], x[1]) ** 2,
    "pdist": lambda x: torch.pdist(torch.stack([x, x])).sum() ** 2,
}
"""Of x at 0: the slope is taken as 0 there, and has none itself."""


@family("name", LENGTHS)
def test_a_length_has_no_second_derivative_at_0(name):
    f, x, v = LENGTHS[name], torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    grad = torch.func.grad(f)
    assert grad(x).tolist() == torch.func.jacfwd(f)(x).tolist() == [0.0, 0.0]
    found = (
        torch.func.hessian(f)(x),
        torch.func.jacrev(grad)(x),
        torch.func.jacrev(torch.func.jacfwd(f))(x),
        torch.func.jvp(lambda x: torch.func.jvp(f, (x,), (v,))[1], (x,), (v,))[1],
        torch.vmap(torch.func.hessian(f))(torch.stack([x, x])),
    )
    for second in found:
        assert not second.isfinite().any()


def test_shares_of_a_rounded_sum_are_halves_in_every_transform():
    x = torch.tensor([3e38, 3e38, -1.0])
    both = torch.stack([x, x])

    def f(a):
        return torch.logsumexp(a, 0)

    for way in (torch.func.grad, torch.func.jacfwd, torch.func.jacrev):
        assert way(f)(x).tolist() == [0.5, 0.5, 0.0]
        assert torch.func.vmap(way(f))(both).tolist() == [[0.5, 0.5, 0.0]] * 2


def test_the_spread_of_float32_does_not_depend_on_the_mean():
    near = np.tile([0.0, 1.0], (4, 350))
    for entries in (near[:, :6], near):
        x = torch.tensor(entries + 16777000.0, dtype=torch.float32)
        for name, dim in (("var", None), ("std", None), ("var", 1), ("std", 1)):
            true = getattr(np, name)(entries, axis=dim, ddof=1)
            np.testing.assert_allclose(getattr(x, name)(dim).numpy(), true, rtol=1e-6)
    assert torch.tensor([1e30, -1e30], dtype=torch.float32).std().isfinite()


def test_where_a_value_is_nan_so_is_its_gradient():
    x = torch.tensor([[nan, nan, 2.0], [1.0, nan, 3.0]], requires_grad=True)
    x.nanmean(0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0.0, nan, 0.5], [1.0, nan, 0.5]])
    x = torch.tensor([nan, 1.0, 3.0], requires_grad=True)
    at = torch.tensor([0, 0, 1])
    torch.zeros(2).scatter_reduce(0, at, x, "amax").sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [nan, nan, 1.0])


def test_numpy_says_nothing_of_infinities_that_meet():
    """A sum that overflows or is none, as in PyTorch: inf or NaN, and no warning."""
    calls = (
        "x.sum()", "x.sum(0)", "x.mean()", "x.prod(0)", "x.var()", "x.std(0)", "x.cumsum(0)",
        "x.cumprod(0)", "x.nansum()", "x.norm(1)", "x.norm(3)", "torch.fft.fft(x)",
        "torch.outer(x, x).det()", "x.dot(x)", "torch.nn.functional.layer_norm(x, (4,))",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"gradcli\.")  # as in ops
        for dtype in (torch.float64, torch.float32, torch.float16):
            most = torch.finfo(dtype).max
            for values in ((math.inf, -math.inf, 1.0, 0.0), (most, most, -most, most)):
                x = torch.tensor(values, dtype=dtype, requires_grad=True)
                for text in calls:
                    if dtype is torch.float16 and ("fft" in text or "det" in text):
                        continue  # which halves have not
                    out = eval(text, {"torch": torch, "x": x})
                    out.backward(torch.ones_like(out))
        c = torch.compile(lambda x: x.sum() * x.mean())
        assert np.isnan(c(np.array([math.inf, -math.inf])))


MANY = 5000
ADDING = {
    "sum": lambda x: x.sum(0), "sum of columns": lambda x: x.T.sum(1),
    "sum of all": lambda x: x.T.sum(), "of two": lambda x: x.reshape(50, -1, 2).sum((0, 1)),
    "apart": lambda x: x.reshape(50, 100, 2).transpose(0, 1).sum((0, -2)),
    "mean": lambda x: x.mean(0), "nansum": lambda x: x.nansum(0), "std": lambda x: x.std(0),
    "norm": lambda x: x.norm(dim=0), "norm of order 3": lambda x: x.norm(3, 0),
    "softmax": lambda x: x.softmax(0), "log_softmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(0), "cumsum": lambda x: x.cumsum(0),
    "einsum": lambda x: torch.einsum("ij->j", x), "trapezoid": lambda x: torch.trapezoid(x, dim=0),
    "sum_to_size": lambda x: x.sum_to_size(1, 2), "broadcast": lambda x: x * x[:1],
    "expand": lambda x: x[:1].expand(MANY, 2) * 2, "repeat": lambda x: x[:1].repeat(MANY, 1),
    "index": lambda x: x[torch.zeros(MANY, dtype=torch.int64)],
    "gather": lambda x: x.gather(0, torch.zeros(MANY, 2, dtype=torch.int64)),
    "index_add": lambda x: torch.zeros(1, 2, dtype=x.dtype).index_add(
        0, torch.zeros(MANY, dtype=torch.int64), x),
    "scatter mean": lambda x: torch.zeros(1, 2, dtype=x.dtype).scatter_reduce(
        0, torch.zeros(MANY, 2, dtype=torch.int64), x, "mean"),
    "batch_norm": lambda x: torch.nn.functional.batch_norm(x, None, None, None, None, True),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x.T, (MANY,)),
}  # fmt: skip


@family("name,dtype", [(name, d) for name in ADDING for d in ("float16", "float32")])
def test_the_rounding_of_many_terms_does_not_grow_with_their_number(name, dtype):
    """Along any dimension of any layout, in values and gradients: where halves were added one after
    another, 5,000 ones were 2,048."""
    spread = np.random.default_rng(0).random((MANY, 2))

    def found(kind):
        x = torch.tensor(spread, dtype=torch.float16).to(kind).requires_grad_()
        out = ADDING[name](x)
        (grad,) = torch.autograd.grad(out, x, torch.ones_like(out))
        return out.detach().double().numpy(), grad.double().numpy()

    eps = torch.finfo(getattr(torch, dtype)).eps
    of_results = 1 if name in ("softmax", "log_softmax", "logsumexp") or "norm" in name else 2
    pairs = list(zip(found(getattr(torch, dtype)), found(torch.float64), strict=True))
    for got, want in pairs[:of_results]:  # gradients by rounded results, or that cancel, are rough
        assert np.abs(got - want).max() < 6 * eps * np.abs(want).max()


def test_single_sums_pass_the_largest_whole_number_of_their_precision():
    x = torch.ones(1, requires_grad=True)
    many = x.expand(2**24 + 2**20, 1)
    assert many.sum(0).item() == 2**24 + 2**20
    (grad,) = torch.autograd.grad(many.sum(), x)
    assert grad.item() == 2**24 + 2**20


def test_a_spread_of_too_few_complex_numbers_keeps_its_dtype():
    x = torch.tensor([1 + 1j, 2])
    for spread in (torch.var, torch.std):
        with pytest.warns(UserWarning, match="degrees of freedom"):
            assert spread(x[:1]).dtype is spread(x, correction=5).dtype is torch.float32


SPECTRA = {
    "eigvalsh": lambda x: torch.linalg.eigvalsh(x),
    "svdvals": lambda x: torch.linalg.svdvals(x),
    "eigvals": lambda x: torch.linalg.eigvals(x).real,
}


@family("name", SPECTRA)
def test_equal_values_of_a_matrix_have_no_second_derivative(name):
    zeros = torch.zeros(2, 2, dtype=torch.float64)
    hessian = torch.func.hessian(lambda x: (SPECTRA[name](x) ** 2).sum())(zeros)
    assert hessian[0, 1, 0, 1].isnan() and hessian[0, 1, 1, 0].isnan()


@pytest.mark.parametrize("call", [
    lambda x: torch.trace(x), lambda x: torch.matrix_exp(x), lambda x: torch.multinomial(x[0], 1),
    lambda x: torch.prod(x[0, 0] * (1 + 1j) * 10),
    lambda x: torch.histogram(torch.zeros(1), -x[0] * 10),
])  # fmt: skip
def test_modules_of_numpy_announce_nothing(call):
    with warnings.catch_warnings(), np.errstate(divide="warn", over="warn", invalid="warn"):
        warnings.simplefilter("error", RuntimeWarning)
        torch.silence_numpy()  # the filter of gradcli's own modules
        call(torch.full((3, 3), 3e38))


@pytest.mark.parametrize("call, values", [
    (torch.sigmoid, [-1000.0]), (torch.special.spherical_bessel_j0, [math.inf]),
    (torch.lgamma, [0.0, 1e-310]), (lambda x: torch.xlogy(x, 0), [0.0]),
])  # fmt: skip
def test_what_overflows_on_the_way_is_not_announced(call, values):
    x = torch.tensor(values, dtype=torch.float64)
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")  # as the user's own runner may set it after the import
        call(x)
    assert not seen


@pytest.mark.parametrize("settings", ["warn", "raise"])
def test_a_filter_or_setting_that_makes_errors_of_warnings_changes_no_value(settings):
    x = torch.tensor([0.0, -1.0, 3e38, math.inf, math.nan], requires_grad=True)
    for call in (
        torch.log, torch.sigmoid, torch.special.entr, torch.Tensor.prod, lambda x: x.half(),
        lambda x: 1 / x, lambda x: 10 * x, lambda x: torch.xlogy(x, x),
        lambda x: x.detach().clone().mul_(10), lambda x: x - x, lambda x: x[0].log(),
        lambda x: torch.func.jvp(torch.log, (x.detach(),), (torch.ones(5),))[1],
        lambda x: torch.vmap(torch.log)(x), lambda x: torch.autograd.grad(x.log().sum(), x)[0],
    ):  # fmt: skip
        wanted = call(x)
        with warnings.catch_warnings(), np.errstate(all=settings):
            warnings.simplefilter("error")
            for _ in range(10):  # the written function is another than that of the first calls
                assert torch.equal(torch.nan_to_num(call(x), 5), torch.nan_to_num(wanted, 5))


@family("p", [-2, -1, 0.5, 1.5, 3, 4])
def test_a_zero_beside_others_leaves_their_second_derivatives(p):
    """As far as the slope of the zero is finite, also as a complex number."""
    for kind in (torch.float64, torch.complex128):
        x = torch.tensor([0.0, 1.0, 2.0], dtype=kind, requires_grad=True)
        (g,) = torch.autograd.grad(torch.linalg.vector_norm(x, p), x, create_graph=True)
        (h,) = torch.autograd.grad(g[1:].real.sum(), x)
        _, near = torch.func.vjp(
            torch.func.grad(lambda y: torch.linalg.vector_norm(y, p)),
            torch.tensor([1.0, 2.0], dtype=torch.float64),
        )
        some = near(torch.ones(2, dtype=torch.float64))[0] if p > 0 else torch.zeros(2)
        np.testing.assert_allclose(h[1:].numpy(), some.numpy(), atol=1e-15)
        assert p < 3 or h[0] == 0


@family("p", [-2, -1, -0.5])
def test_an_infinite_entry_leaves_the_second_derivatives_of_a_norm_of_others(p):
    func = torch.func
    alone, x = (torch.tensor(v, dtype=torch.float64) for v in ([1.0, 2.0], [inf, 1.0, 2.0]))
    for second, first in itertools.product((func.jacrev, func.jacfwd), repeat=2):
        curves = second(first(lambda v: torch.linalg.vector_norm(v, p)))
        assert not curves(x)[0].any() and not curves(x)[:, 0].any()
        np.testing.assert_allclose(curves(x)[1:, 1:], curves(alone), rtol=1e-14)


@pytest.mark.parametrize("correction", [-1, 0, 0.5])
def test_the_deviation_of_one_entry_is_the_constant_0(correction):
    x = torch.tensor([[5.0], [6.0]])
    f = lambda row: torch.std(row, correction=correction)  # noqa: E731
    for hessian in (torch.func.hessian(f), torch.func.jacrev(torch.func.jacrev(f))):
        assert hessian(x[0]).tolist() == [[0.0]]
        assert torch.vmap(hessian)(x).tolist() == [[[0.0]], [[0.0]]]
        assert hessian(torch.tensor([nan])).isnan().all()
        assert hessian(torch.tensor([5.0, 5.0])).isnan().all()  # a kink
    of_rows = torch.func.hessian(lambda x: torch.std_mean(x, 1, correction=correction)[0].sum())
    assert not of_rows(x).any()
