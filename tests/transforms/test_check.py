"""gradcheck and gradgradcheck: what they compare, pass on, and find."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import Function, forward_ad, gradcheck, gradgradcheck
from gradcli.autograd.gradcheck import GradcheckError
from gradcli.transforms.check import slope
from tests.support.families import family


def x():
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.double, requires_grad=True)


def z():
    return torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)


PLAIN = torch.tensor([1.5, 2.5, 3.5], dtype=torch.double)


@family("function, inputs", [
    (lambda a, b: a * b.detach(), (x(), PLAIN)), (lambda a, b: a * b.round(), (x(), PLAIN)),
    (lambda a, i: (a**3)[i], (x(), torch.tensor([0, 2]))),
    (lambda a, m: torch.where(m, a**2, a**3), (x(), torch.tensor([True, False, True]))),
    (lambda a, k: a**2 * k, (x(), 3)), (lambda a, k: a**2 if k == "s" else a, (x(), "s")),
    (lambda a, none: a**2, (x(), None)), (lambda a: (a * a * 2, a.sum(), a.argmax()), (x(),)),
    (lambda a: a.clone().mul_(a), (x(),)), (lambda a: a * a, (x()[:0].detach().requires_grad_(),)),
    (lambda a: a * a, (z(),)), (lambda a: a.abs(), (z(),)), (lambda a: a.conj() * a * 2j, (z(),)),
    (lambda a: a.real**2, (z(),)), (lambda a: a * a * (1 + 2j), (x(),)),
    (lambda a, b: a * b, (z(), torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True))),
])  # fmt: skip
def test_what_agrees(function, inputs):
    assert gradcheck(function, inputs)
    assert gradcheck(function, inputs, check_forward_ad=True, check_backward_ad=False)
    assert gradgradcheck(function, inputs)


class Wrong(Function):
    """A square whose gradient is 3a, and that of a complex number without its conjugate."""

    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * (2 if a.dtype.is_complex else 3) * a


@family("function, inputs", [
    (Wrong.apply, (x(),)), (Wrong.apply, (z(),)), (lambda a: Wrong.apply(a).real, (z(),)),
    (lambda a: (a, Wrong.apply(a)), (x(),)), (lambda a: a.detach() * 2, (x(),)),
])  # fmt: skip
def test_what_does_not(function, inputs):
    with pytest.raises(RuntimeError, match="off at entry"):
        gradcheck(function, inputs)
    assert not gradcheck(function, inputs, raise_exception=False)


def test_a_wrong_second_derivative():
    class Half(Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a**3

        @staticmethod
        def backward(ctx, g):
            (a,) = ctx.saved_tensors
            return g * 3 * a * a.detach()

    assert gradcheck(Half.apply, (x(),))
    with pytest.raises(RuntimeError, match="off at entry"):
        gradgradcheck(Half.apply, (x(),))


def test_what_is_refused():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda a: a * a, (PLAIN,))
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda a: a * a, (x().detach()[:1].expand(3).requires_grad_(),))


class Jittered(Function):
    """The identity, whose backward is not the same twice."""

    @staticmethod
    def forward(ctx, a):
        return a.clone()

    @staticmethod
    def backward(ctx, g):
        return g * (1 + torch.rand_like(g) * 1e-6)


def hooked(hook):
    def function(a):
        y = a.clone()
        y.register_hook(hook)
        return y

    return function


def needs_a_gradient(g):
    if g is None:
        raise RuntimeError("no gradient")


@pytest.mark.parametrize(("function", "options", "said"), [
    (Jittered.apply, {}, "Backward is not reentrant"),
    (hooked(lambda g: g + 1e-7), {}, "backward not multiplied by grad_output"),
    (hooked(needs_a_gradient), {}, "handle undefined output grads"),
    (Wrong.apply, {}, "Jacobian mismatch for output 0 with respect to input 0"),
    (lambda a: a.detach(), {}, "Numerical gradient for function expected to be zero"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:Backwards compatibility")
def test_what_a_backward_may_not_do(function, options, said):
    with pytest.raises(GradcheckError, match=said):
        gradcheck(function, x(), **options)
    assert not gradcheck(function, x(), raise_exception=False, **options)


def test_what_is_let_pass():
    assert gradcheck(Jittered.apply, x(), nondet_tol=1e-5)
    assert gradcheck(hooked(needs_a_gradient), x(), check_undefined_grad=False)


@family("function, options, error, said", [
    (lambda a: torch.cat([a, a]) if (a >= 1).all() else a, {}, AssertionError, "the same shape"),
    (lambda a: a.float() if (a >= 1).all() else a, {}, AssertionError, "the same dtype"),
    (lambda a: a, {"check_backward_ad": False}, AssertionError, "at least one of"),
    (lambda a: a, {"check_batched_forward_grad": True}, AssertionError, "check_forward_ad"),
    (lambda a: [a, 3], {}, AttributeError, "returns tensors, got int"),
])  # fmt: skip
def test_what_cannot_be_checked(function, options, error, said):
    ones = torch.ones(2, dtype=torch.double, requires_grad=True)
    with pytest.raises(error, match=said):
        gradcheck(function, ones, **options)


def test_single_precision_is_warned_of():
    ones = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double"):
        assert gradcheck(lambda a: a, ones, atol=0.1)


def test_forward_over_reverse_takes_the_gradient_of_the_primal():
    x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    for rev in (True, False):
        options = {"check_rev_over_rev": rev, "check_undefined_grad": rev}
        assert gradgradcheck(torch.sin, x, check_fwd_over_rev=True, **options)
        assert not gradgradcheck(
            lambda x: torch.sin(x.detach()) * x, x, check_fwd_over_rev=True, raise_exception=False,
            **options,
        )  # fmt: skip
    with pytest.raises(AssertionError, match="check_undefined_grad"):
        gradgradcheck(torch.sin, x, check_fwd_over_rev=True, check_rev_over_rev=False)


def test_forward_ad_sees_the_level_of_a_check():
    def wrong(x):
        if forward_ad._current_level >= 0:
            x, tangent = forward_ad.unpack_dual(x)
            x = forward_ad.make_dual(x, tangent * 1.1)
        return x * x

    x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    assert gradcheck(wrong, x)
    with pytest.raises(GradcheckError, match="forward mode mismatch"):
        gradcheck(wrong, x, check_forward_ad=True)
    assert forward_ad._current_level == -1


def test_several_cotangents_or_tangents_at_once():
    class Summed(torch.autograd.Function):
        """Its jvp mixes up the entries of a batch with those of one tangent."""

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            torch.randn_like(t)
            return t * 2

    x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
    assert gradcheck(Summed.apply, x, check_forward_ad=True, check_batched_grad=True)
    forward = {"check_forward_ad": True, "check_batched_forward_grad": True}
    with pytest.raises(RuntimeError, match="While computing batched gradients"):
        gradcheck(Summed.apply, x, **forward)
    assert not gradcheck(Summed.apply, x, raise_exception=False, **forward)
    assert gradcheck(lambda x: (x.sin() * x, x.sum()), x, check_batched_grad=True, **forward)


def test_jacobians_as_pytorch_had_them():
    from gradcli.autograd.gradcheck import get_analytical_jacobian, get_numerical_jacobian

    a = torch.tensor([[0.5, -1.0]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([2.0 + 1.0j], dtype=torch.complex128, requires_grad=True)
    for fn in (lambda i: i[0].T * i[0], lambda i: (i[0].sum() * i[1] ** 2).real):
        with pytest.warns(FutureWarning, match="`get_numerical_jacobian`"):
            numeric = get_numerical_jacobian(fn, (a, b), eps=1e-6)
        with pytest.warns(FutureWarning, match="get_analytical_jacobian"):
            exact, again, *fit = get_analytical_jacobian((a, b), fn((a, b)))
        assert again and all(fit)
        for n, e in zip(numeric, exact, strict=True):
            assert n.shape == e.shape and torch.allclose(n, e, atol=1e-8)
    assert exact[1].tolist() == [[-2.0 + 1.0j]]
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="complex outputs"):
        get_analytical_jacobian((b,), b * 2)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="grad_out"):
        get_numerical_jacobian(fn, (a, b), grad_out=2.0)


@pytest.mark.parametrize("function", [lambda a: (), lambda a: a.long(), lambda a: a > 0])
def test_results_without_tangents_pass(function):
    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert gradcheck(function, x(), **options)
    assert gradcheck(function, x(), check_backward_ad=False, **options)


def test_results_that_require_no_gradient_are_left_out_beside_others():
    def function(a):
        return a * a, a.detach() * 3

    assert gradcheck(function, x(), check_forward_ad=True) and gradgradcheck(function, x())


def test_the_second_order_is_weighted_by_seeded_numbers():
    for apart, following in ((False, 0.4556), (True, 0.0223)):
        torch.manual_seed(0)
        a = torch.rand(2, dtype=torch.double, requires_grad=True)
        assert gradgradcheck(torch.exp, a, gen_non_contig_grad_outputs=apart)
        assert torch.rand(1).item() == pytest.approx(following, abs=1e-4)


def test_there_is_a_gradient_to_differentiate():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    for function in (lambda x: x.int(), lambda x: x.detach() * 2):
        with pytest.raises(TypeError, match="requires a gradient"):
            gradgradcheck(function, x)


def test_forward_mode_with_no_tangent_for_an_input():
    """It has to be as with zeros; the function sees inputs that require no gradient."""

    class Product(torch.autograd.Function):
        factor = 1

        @staticmethod
        def forward(ctx, x, y):
            assert not (forward_ad._current_level >= 0 and (x.requires_grad or y.requires_grad))
            ctx.set_materialize_grads(False)
            ctx.save_for_forward(x, y)
            return x * y

        @staticmethod
        def jvp(ctx, along_x, along_y):
            x, y = ctx.saved_tensors
            if along_x is None or along_y is None:
                return Product.factor * (along_x * y if along_y is None else x * along_y)
            return along_x * y + x * along_y

    x, y = (torch.rand(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    options = {"check_forward_ad": True, "check_backward_ad": False}
    assert gradcheck(Product.apply, (x, y), **options)
    Product.factor = 2
    assert gradcheck(Product.apply, (x, y), check_undefined_grad=False, **options)
    with pytest.raises(RuntimeError, match="when input: 0 has an undefined tangent value"):
        gradcheck(Product.apply, (x, y), **options)


def test_what_a_long_sum_is_rounded_by_is_no_kink():
    def total(v):
        square, found = (v * v).sum(), 0.0
        for _ in range(4000):
            found += square * 1e-3
        return found

    assert slope(total, np.arange(1.0, 14), (5,)).kind == "smooth"
