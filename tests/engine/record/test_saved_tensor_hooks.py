"""Hooks on saved tensors, gradient edges and hooks on several tensors: what no cell shows."""

from __future__ import annotations

import gc
import weakref

import pytest

import gradcli as torch
from gradcli.autograd import graph
from gradcli.engine.grad_mode import mode
from gradcli.ops.errors import Fault
from gradcli.utils.checkpoint import checkpoint
from tests.support.families import family


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_every_way_of_saving_is_packed():
    x = leaf(1.0, 2.0)
    seen = []
    with graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
        y = torch.sin(x) * x.exp() / (2**x) + x.softmax(0) + torch.cat([x, x])[:2]
    y.sum().backward()
    with_hooks, x.grad = x.grad, None
    (torch.sin(x) * x.exp() / (2**x) + x.softmax(0) + torch.cat([x, x])[:2]).sum().backward()
    assert len(seen) >= 7
    assert with_hooks.tolist() == x.grad.tolist()


def test_the_short_ways_are_back_after_an_error():
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with pytest.raises(ValueError, match="mine"), hooks:
        raise ValueError("mine")
    assert not mode.saving
    assert torch.float32.quick
    assert torch.float64.quick
    assert not torch.int64.quick
    assert not torch.complex64.quick


def test_what_unpack_gives_must_be_a_tensor():
    x = leaf(1.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x * x
    with pytest.raises(Fault) as fault:
        y.backward()
    assert fault.value.code == "E0407"


@family("unpack", [
    lambda t: t[:1], lambda t: t.sum(), lambda t: t[None], lambda t: t.to(torch.complex128),
])  # fmt: skip
def test_what_unpack_gives_has_the_shape_and_the_kind_of_what_was_packed(unpack):
    for function in (torch.prod, torch.std, torch.exp, lambda x: x * 1 * x, torch.special.entr):
        for recorded in (False, True):
            x = leaf(0.5, 2.0)
            with graph.saved_tensors_hooks(lambda t: t, unpack):
                y = function(x).sum()
            with pytest.raises(RuntimeError, match="in the place of") as fault:
                torch.autograd.grad(y, x, create_graph=recorded)
            assert fault.value.code == "E0407"


@family("function, order", [
    (lambda x, y, w: x * y, "yx"), (lambda x, y, w: x / y, "yx"), (lambda x, y, w: x.dot(y), "xy"),
    (lambda x, y, w: x.logaddexp(y), "yx"), (lambda x, y, w: x.expand(2, 2).mv(y), "xy"),
    (lambda x, y, w: x.expand(2, 2) @ y.expand(2, 2), "yx"), (lambda x, y, w: x**y, "yx="),
    (torch.lerp, "yxw"), (torch.addcmul, "yw"),
])  # fmt: skip
def test_operands_are_packed_and_unpacked_in_the_order_of_pytorchs_words(function, order):
    """The result comes last; "self" after "other" and before "tensor" and "vec"."""
    given, packed, unpacked = {"x": leaf(2.0, 3), "y": leaf(5.0, 7), "w": leaf(11.0, 13)}, [], []
    names = {t.flatten()[0].item(): name for name, t in given.items()}

    def pack(t):
        packed.append(names.get(t.flatten()[0].item(), "="))
        return t

    def unpack(t):
        unpacked.append(names.get(t.flatten()[0].item(), "="))
        return t

    with graph.saved_tensors_hooks(pack, unpack):
        y = function(*given.values())
    y.sum().backward()
    assert "".join(packed) == "".join(unpacked) == order


def test_an_output_packed_as_itself_is_no_cycle():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0)
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = x.exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_a_custom_functions_tensors_are_packed_too():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x**3
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 3 * y / x

    x = leaf(2.0)
    packed = []
    with graph.saved_tensors_hooks(lambda t: packed.append(t.item()) or t, lambda t: t):
        y = Cube.apply(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert packed == [2.0, 8.0]
    assert g.item() == 12.0
    assert torch.autograd.grad(g, x)[0].item() == pytest.approx(12.0)


def test_the_edge_of_an_output_of_several_outlives_its_tensor():
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return 2 * g + 3 * h

    x = leaf(1.0)
    edge = graph.get_gradient_edge(Two.apply(x)[1])
    assert edge.output_nr == 1
    (g,) = torch.autograd.grad(edge, x, torch.ones(1, dtype=torch.float64))
    assert g.item() == 3.0


def test_disable_decorates():
    @graph.disable_saved_tensors_hooks("none here")
    def run():
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    with pytest.raises(RuntimeError, match="none here"):
        run()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_a_wrong_mode_of_a_multi_hook():
    with pytest.raises(ValueError, match="to be one of"):
        graph.register_multi_grad_hook((leaf(1.0),), print, mode="some")


def test_backward_into_inputs_adds_and_calls_the_leafs_hooks_once():
    x = leaf(1.0)
    y = x * 2
    calls = []
    x.register_post_accumulate_grad_hook(lambda p: calls.append(p.grad.item()))
    for _ in range(2):
        (y * y).backward(inputs=[x, y], retain_graph=True)
    assert calls == [8.0, 16.0]
    assert y.grad.item() == 8.0


def test_what_is_saved_is_copied_when_it_is_written_to_and_once():
    """Copies go with the graphs that keep them; a part of the memory counts as all of it."""
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as kept:
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 1
        square, cube, part = y**2, y**3, y[:2] * y[1:]
        assert not kept.cloned
        y[2:].add_(1)
        y.sin_()
        copies = len(kept.cloned)
        del cube
        assert len(kept.cloned) == copies == 3
        (square.sum() + part.sum()).backward()
        assert x.grad.tolist() == [4, 8, 8]
        assert not kept.cloned
    assert not kept.original


@family("write", [
    lambda y: y.mul_(y), lambda y: y[:].mul_(y), lambda y: y.hypot_(y[:]), lambda y: y.xlogy_(y),
    lambda y: y.addcmul_(y, y),
])  # fmt: skip
def test_what_is_saved_of_an_operand_that_is_written_to_itself_is_copied(write):
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        assert torch.autograd.gradcheck(lambda x: write(x * 1), leaf(0.5, 2.0))


def test_a_hook_unpacks_nothing_when_its_operand_is_overwritten():
    counts = [0, 0]

    def pack(t):
        counts[0] += 1
        return t

    def unpack(t):
        counts[1] += 1
        return t

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * 1
        y.sin_()
    assert counts == [1, 0]
    y.sum().backward()
    assert counts == [1, 1] and torch.equal(x.grad, x.detach().cos())


def test_what_is_unpacked_in_another_type_gives_gradients_of_the_input_s():
    for function in (torch.exp, lambda x: x * x):
        for recorded in (False, True):
            x = torch.ones(2, requires_grad=True)
            with graph.saved_tensors_hooks(lambda t: t, lambda t: t.double()):
                y = function(x).sum()
            (g,) = torch.autograd.grad(y, x, create_graph=recorded)
            assert g.dtype is torch.float32 and str(g.detach().numpy().dtype) == "float32"


class Saving(torch.autograd.Function):
    """Of what a custom function keeps: its input and its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        _, y = ctx.saved_tensors
        return g * y


def _again(function, x):
    return checkpoint(function, x, use_reentrant=False)


WAYS = {
    "no hooks": lambda function, x: function(x),
    "checkpoint": _again,
    "to the end": lambda f, x: checkpoint(f, x, use_reentrant=False, early_stop=False),
    "nested": lambda f, x: _again(lambda y: _again(f, y.clone()), x),
    "reentrant": lambda f, x: checkpoint(f, x, use_reentrant=True),
    "itself": (lambda t: t, lambda t: t),
    "detached": (lambda t: t.detach(), lambda t: t),
    "a view": (lambda t: t.view(-1), lambda t: t.view(-1)),
    "on the CPU": graph.save_on_cpu().hooks,
    "a copy": (lambda t: t.clone(), lambda t: t),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("writes", (False, True))
@pytest.mark.parametrize("what", ("operand", "result"))
def test_what_is_written_to_after_it_was_saved_is_refused_or_right(way, writes, what):
    way = WAYS[way]
    for of in (lambda y: y**3, torch.exp, torch.special.expm1, Saving.apply, lambda y: y[:] * y):

        def function(x, of=of):
            y = x.clone()
            z = of(y)
            out = z * 1
            if writes:
                (y if what == "operand" else z).mul_(7)
            return out.sin()

        def run(x, of=of, function=function):
            if callable(way):
                return way(function, x)
            with graph.saved_tensors_hooks(*way):
                return function(x)

        x = leaf(1.354, 0.2)
        (right,) = torch.autograd.grad(of(x).sin().sum(), x)
        try:
            run(x).sum().backward()
        except Fault as fault:
            assert fault.code == "E0402" and writes and way is not WAYS["a copy"]
        else:
            torch.testing.assert_close(x.grad, right)


@family("make", (lambda x: x * 2, lambda x: 2 * x, lambda x: x * 2.0))
def test_a_number_is_shown_to_hooks_and_stays(make):
    x = leaf(1.0, 2.0)
    y = make(x)
    kept = y.grad_fn._raw_saved_other
    seen = []
    kept.register_hooks(lambda t: seen.append(t) or [t], lambda found: 3 * found[0])
    number = make(1)
    assert kept.data.tolist() == kept.unpack().tolist() == number
    assert [type(t.tolist()) for t in seen] == [type(number)]
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert y.grad_fn._raw_saved_self.data is None


def test_hooks_registered_later_see_the_tensor_outside_the_graph():
    for x in (leaf(1.0, 2.0), leaf(1.0, 2.0) * 1):
        y, seen = x**2, []
        kept = y.grad_fn._raw_saved_self
        kept.register_hooks(lambda t, seen=seen: seen.append(t) or t, lambda t: t)
        assert not seen[0].requires_grad
        assert seen[0].data_ptr() == x.data_ptr()
        assert y.grad_fn._saved_self.grad_fn is x.grad_fn
        assert y.grad_fn._saved_self.requires_grad
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        assert torch.autograd.grad(g.sum(), x)[0].tolist() == [2, 2]
        y = x**2
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
        with torch.no_grad():
            x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
