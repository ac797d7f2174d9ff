"""Errors about saved values name the lines that matter: what saved, what changed, what freed."""

from __future__ import annotations

import gc
import inspect
import weakref

import pytest

import gradcli as torch
from gradcli.ops.errors import Fault
from tests.support.families import family


def here():
    return inspect.currentframe().f_back.f_lineno


def lines(fault):
    """Role and line of each place, all of them in this file."""
    found = {}
    for role, place in fault.places.items():
        assert place.code.co_filename == __file__
        found[role] = place.line
    return found


def ways():
    """Operators that take the short ways, wrappers of them, and the general way."""
    yield lambda a: a**2
    yield lambda a: a * a
    yield lambda a: 2 / a
    yield lambda a: a.sin()
    yield lambda a: torch.sin(a)
    yield lambda a: torch.div(a, a)
    yield lambda a: a.pow(3)
    yield lambda a: torch.pow(2.0, a)
    yield lambda a: torch.logsumexp(a, 0)
    yield lambda a: a @ a
    yield lambda a: torch.nn.functional.softplus(a)
    # What is composed of operators: the user's line, not that of the operator inside.
    yield lambda a: torch.addcmul(a, a, a)
    yield lambda a: torch.addcdiv(a, a, a)
    yield lambda a: torch.xlogy(a, a)
    yield lambda a: a.hypot(a)
    yield lambda a: torch.nn.functional.gelu(a)
    yield lambda a: torch.nn.functional.silu(a)
    yield lambda a: torch.nn.functional.layer_norm(a.expand(2, 1), (1,), a)
    yield lambda a: torch.nn.functional.linear(a, torch.ones(1, 1, requires_grad=True))
    yield lambda a: torch.nn.functional.binary_cross_entropy_with_logits(a, torch.zeros(1))
    yield lambda a: torch.nn.functional.cosine_similarity(a, torch.ones(1), 0)
    yield lambda a: torch.nn.functional.normalize(a, dim=0)
    yield lambda a: torch.einsum("i,i->", a, a)
    yield lambda a: torch.linalg.det(a.reshape(1, 1))
    yield lambda a: torch.var(torch.cat([a, 2 * a])) * a


@family("compute", list(ways()))
def test_a_changed_value_names_both_lines(compute):
    a = torch.tensor([2.0], requires_grad=True) * 1
    b = compute(a)
    saved = compute.__code__.co_firstlineno
    a += 1
    written = here() - 1
    with pytest.raises(Fault) as raised:
        b.sum().backward()
    assert raised.value.code == "E0402"
    assert lines(raised.value) == {"saved": saved, "changed": written}
    assert raised.value.notes == (
        f"saved: {__file__}, line {saved}: " + inspect.getsource(compute).strip(),
        f"changed: {__file__}, line {written}: a += 1",
    )


def writes():
    """Ways of writing in place, on the line where they stand."""
    yield lambda a: a.__setitem__(0, 3.0)
    yield lambda a: a.mul_(2)
    yield lambda a: a[:1].zero_()
    yield lambda a: a.detach().fill_(1)
    yield lambda a: a.copy_(a.detach() * 2)
    yield lambda a: torch.no_grad()(lambda: a.add_(1))()


@family("write", list(writes()))
def test_every_write_is_named(write):
    a = torch.tensor([2.0, 3.0], requires_grad=True) * 1
    b = a.exp() * a
    write(a)
    with pytest.raises(Fault) as raised:
        b.sum().backward()
    assert lines(raised.value)["changed"] == write.__code__.co_firstlineno


def test_a_changed_result_and_a_custom_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g + 0 * ctx.saved_tensors[0]

    x = torch.tensor([2.0], requires_grad=True)
    y = torch.exp(x)
    y[0] = 1.0
    at = here()
    with pytest.raises(Fault) as raised:
        y.sum().backward()
    assert lines(raised.value) == {"saved": at - 2, "changed": at - 1}

    w = x * 1
    z = Double.apply(w)
    w.mul_(2)
    at = here()
    with pytest.raises(Fault) as raised:
        z.backward()
    assert lines(raised.value) == {"saved": at - 2, "changed": at - 1}


def test_a_second_backward_names_the_first_and_what_it_freed():
    x = torch.tensor([2.0], requires_grad=True)
    y = x.exp()
    torch.autograd.grad(y.sum(), x)
    at = here()
    for again in (y.sum().backward, lambda: y.grad_fn._saved_result):
        with pytest.raises(Fault) as raised:
            again()
        assert raised.value.code == "E0401"
        assert lines(raised.value) == {"saved": at - 2, "freed": at - 1}


def test_no_frame_is_kept():
    class Big:
        pass

    def compute(x):
        big = Big()
        return x.sin(), weakref.ref(big)

    gc.disable()
    try:
        y, big = compute(torch.tensor([2.0], requires_grad=True))
        assert big() is None
        y.sum().backward()
        y.detach().add_(1)
        assert big() is None
    finally:
        gc.enable()
