"""Nodes with several outputs: each result its own edge, their cotangents together in one call."""

from __future__ import annotations

import gc
import weakref

import pytest

import gradcli as torch
from gradcli.autograd import Function, grad


def leaf(data=(1.0, 2.0)):
    return torch.tensor(data, requires_grad=True)


seen: list = []


class Two(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        seen.append(tuple(None if t is None else t.tolist() for t in (g, h)))
        return g * 2 + h * 3


class SinCos(Function):
    """Saves both results, each of which the other's derivative needs."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.sin(x), torch.cos(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*output)
        ctx.save_for_forward(*output)

    @staticmethod
    def backward(ctx, g, h):
        s, c = ctx.saved_tensors
        return g * c - h * s

    @staticmethod
    def jvp(ctx, t):
        s, c = ctx.saved_tensors
        return t * c, -t * s


@pytest.fixture(autouse=True)
def fresh():
    seen.clear()


def test_one_node_several_numbers():
    x = leaf()
    y, z = Two.apply(x)
    assert y.grad_fn is z.grad_fn
    assert (y + 1).grad_fn.next_functions[0] == (y.grad_fn, 0)
    assert (z + 1).grad_fn.next_functions[0] == (y.grad_fn, 1)


def test_what_is_missing_is_zero():
    x = leaf()
    _, z = Two.apply(x)
    z.sum().backward()
    assert seen == [([0, 0], [1, 1])]
    assert x.grad.tolist() == [3, 3]


def test_backward_runs_once_for_all():
    x = leaf()
    y, z = Two.apply(x)
    (y + z * 10 + y).sum().backward()
    assert seen == [([2, 2], [10, 10])]
    assert x.grad.tolist() == [34, 34]


def test_none_where_grads_are_not_materialised():
    class Plain(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            seen.append((g, h.tolist()))
            return h * 3

    x = leaf()
    Plain.apply(x)[1].sum().backward()
    assert seen == [(None, [1, 1])]
    assert x.grad.tolist() == [3, 3]


def test_results_that_are_no_tensors_or_not_differentiable():
    class Mixed(Function):
        @staticmethod
        def forward(ctx, x):
            fixed = x * 1
            ctx.mark_non_differentiable(fixed)
            return x * 2, 5, None, x.long(), fixed

        @staticmethod
        def backward(ctx, g, *others):
            seen.append([None if t is None else t.tolist() for t in others])
            return g * 2

    x = leaf()
    y, five, nothing, whole, fixed = Mixed.apply(x)
    assert (five, nothing, whole.requires_grad, fixed.requires_grad) == (5, None, False, False)
    y.sum().backward()
    assert seen == [[None, None, [0, 0], [0, 0]]]
    assert x.grad.tolist() == [2, 2]


def test_hooks_of_each_result_and_of_the_node():
    x = leaf()
    y, z = Two.apply(x)
    notes = []
    y.register_hook(lambda g: g * 10)
    z.retain_grad()
    y.grad_fn.register_prehook(lambda gs: notes.append([g.tolist() for g in gs]))
    y.grad_fn.register_hook(lambda gi, go: notes.append((gi[0].tolist(), len(go))))
    (y + z).sum().backward()
    assert z.grad.tolist() == [1, 1]
    assert notes == [[[10, 10], [1, 1]], ([23, 23], 2)]
    assert x.grad.tolist() == [23, 23]


def test_gradients_by_a_result():
    x = leaf()
    y, z = Two.apply(x)
    by_y, by_z, by_x = grad((y * z).sum(), [y, z, x])
    assert by_y.tolist() == z.tolist()
    assert by_z.tolist() == y.tolist()
    assert by_x.tolist() == [12, 24]


def test_three_orders_through_saved_results():
    x = torch.tensor(0.7, dtype=torch.double, requires_grad=True)
    s, c = SinCos.apply(x)
    y, z = s * c * c, torch.sin(x) * torch.cos(x) ** 2
    for _ in range(3):
        (y,), (z,) = grad(y, x, create_graph=True), grad(z, x, create_graph=True)
        assert y.item() == pytest.approx(z.item(), rel=1e-13)


def test_a_saved_result_is_the_result():
    """A gradient by the result counts what flows through the saved copy of it."""
    x = torch.tensor(0.7, dtype=torch.double, requires_grad=True)
    s, c = SinCos.apply(x)
    (g,) = grad(s, x, create_graph=True)
    assert grad(g, c, retain_graph=True)[0].item() == 1
    assert grad(g, s, allow_unused=True)[0].item() == 0


def test_forward_mode_and_vmap():
    x = torch.tensor([0.3, 0.9])
    (s, c), (ts, tc) = torch.func.jvp(SinCos.apply, (x,), (torch.ones(2),))
    assert ts.tolist() == pytest.approx(c.tolist())
    assert tc.tolist() == pytest.approx((-s).tolist())
    s, c = torch.func.vmap(SinCos.apply)(x)
    assert s.tolist() == pytest.approx(torch.sin(x).tolist())
    assert c.tolist() == pytest.approx(torch.cos(x).tolist())


def test_sequences_of_them_are_walked_without_recursion():
    x = leaf([1.0])
    y = x
    for _ in range(3000):
        a, b = Two.apply(y)
        y = a * 0.2 + b * 0.2
    y.sum().backward()
    assert len(seen) == 3000
    assert x.grad.item() == pytest.approx(1, rel=1e-3)


def test_nothing_stays_behind():
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        s, c = SinCos.apply(x)
        watched = [weakref.ref(t) for t in (s, c, s.grad_fn, s.edge)]
        (g,) = grad((s * c).sum(), x, create_graph=True)
        del s, c, g
        assert [w() for w in watched] == [None] * 4
    finally:
        gc.enable()


def test_a_write_to_one_of_several_results_changes_no_other():
    w = torch.ones(2, 2, requires_grad=True)
    values, vectors = torch.linalg.eigh(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    y = (vectors.abs() * w).sum()
    values.mul_(2)
    assert (values._version, vectors._version) == (1, 0)
    y.backward()
    torch.testing.assert_close(w.grad, vectors.abs())


def test_results_that_share_a_node_say_which_they_are():
    x = torch.eye(3, requires_grad=True)
    factors = torch.lu_unpack(*torch.linalg.lu_factor(x))[1:]
    for name, parts in (
        ("LuUnpackBackward0", factors),
        ("UnbindBackward0_copy", torch.unbind_copy(x)),
    ):
        assert [part.output_nr for part in parts] == [*range(len(parts))]
        assert all(part.grad_fn is parts[0].grad_fn for part in parts)
        assert parts[0].grad_fn.name() == name
    assert torch.autograd.grad(torch.unbind_copy(x)[1].sum(), x)[0].sum(1).tolist() == [0, 3, 0]


def test_pieces_that_no_gradient_arrives_at_beside_a_count_that_is_written_to():
    class Constant(Function):
        @staticmethod
        def forward(ctx, a):
            return a + 1

        @staticmethod
        def backward(ctx, g):
            return None

    count = torch.tensor(0)
    count += 1
    for pieces in (lambda x: x.split(1), lambda x: x.chunk(2), torch.unbind, torch.unbind_copy):
        x = leaf()
        Constant.apply(pieces(x)[0]).sum().backward()
        assert x.grad is None
        (Constant.apply(pieces(x)[0]).sum() + x.sum()).backward()
        assert x.grad.tolist() == [1, 1]
    assert count == 1
