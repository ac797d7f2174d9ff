"""An interrupt (Ctrl-C, a time limit) may come between any two steps: what it leaves is sound.

It is raised here after the n-th call of a C function inside the package, for every n: these are
the places where Python looks for signals.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gradcli as torch
from gradcli.engine.backward.traverse import _depth
from gradcli.engine.creation.generator import drawing
from gradcli.engine.grad_mode import State, current, pushing, restore, transformed
from gradcli.transforms.levels import running
from gradcli.utils.checkpoint import checkpoint

PACKAGE = os.path.dirname(torch.__file__)


def interrupted(make: Callable[[], Any], work: Callable[[Any], Any]) -> Iterator[Any]:
    """What ``make`` gave, each time after ``work`` of it was interrupted at a further place."""
    work(make())  # what is made once only
    number, more = 0, True
    while more:
        number += 1
        value, left = make(), number

        def count(frame, event, arg):
            nonlocal left
            if event == "c_return" and frame.f_code.co_filename.startswith(PACKAGE):
                left -= 1
                if not left:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        try:
            sys.setprofile(count)
            work(value)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        more = not left  # also where Python ignored it, at the end of an object
        if more:
            yield value


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Thrice(Twice):
    @staticmethod
    def forward(x):
        return x * 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


def modes(state: State) -> list[Any]:
    return [getattr(state, name) for name in State.__slots__ if name != "variants"]


def packs(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return x.exp()


@pytest.mark.parametrize("work", [
    Twice.apply, Thrice.apply,
    lambda x: torch.func.grad(lambda t: (t * t).sum())(x.detach()),
    lambda x: checkpoint(torch.sin, x, use_reentrant=False),
    lambda x: torch.autograd.grad(Twice.apply(x).sum(), x),
    lambda x: torch.func.vmap(lambda t: t * 2)(x.detach()),
    lambda x: torch.func.jvp(lambda t: t * 2, (x.detach(),), (x.detach(),)),
])  # fmt: skip
def test_modes_are_what_they_were(work):
    state, tried = current(), 0
    for _ in interrupted(lambda: torch.ones(3, requires_grad=True), work):
        tried += 1
        try:
            assert modes(current()) == modes(state)
            assert not (transformed.by or running.vmaps or drawing.get())
            assert (_depth.passes, _depth.final) == (0, None)
        finally:
            restore(state)
            pushing.clear()  # an end may be cut short too; the level is nobody's then
    assert tried > 30


def test_a_pack_hook_that_is_interrupted_leaves_recording_on():
    for _ in interrupted(lambda: torch.ones(3, requires_grad=True), packs):
        try:
            assert torch.is_grad_enabled()
        finally:
            restore(current().replaced(saving=()))


def test_a_module_has_its_own_values_after_a_call_with_others():
    module = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1))
    own, state = [*module.parameters(), *module.buffers()], current()
    given = {"0.weight": torch.full((1, 1), 3.0), "1.running_mean": torch.ones(1)}

    def work(given):
        torch.func.functional_call(module, given, torch.ones(2, 1))

    for _ in interrupted(lambda: dict(given), work):
        restore(state)
        found = [*module.parameters(), *module.buffers()]
        assert all(a is b for a, b in zip(found, own, strict=True))
        assert not transformed.turns


def put(index: Any, value: Any) -> Callable[[Any], None]:
    def work(y):
        y[index] = value

    return work


@pytest.mark.parametrize("write", [
    lambda y: y.mul_(2.0), lambda y: y.zero_(), lambda y: y.exp_(), lambda y: y[1:].mul_(3.0),
    lambda y: y.view(2, 2).t()[0].mul_(4.0), lambda y: y.copy_(torch.full((4,), 9.0)),
    put(0, 5.0), put([0, 2], 3.0), put(slice(1, 3), torch.tensor([7.0, 8.0])),
])  # fmt: skip
def test_a_write_is_recorded_or_refused_or_not_done(write):
    """Nobody gets the gradient of other numbers than those that a tensor holds."""
    weights = torch.tensor([1.0, 10.0, 100.0, 1000.0])

    def make():
        x = torch.tensor([0.3, -0.7, 1.2, 0.5], requires_grad=True)
        y = x * 1
        return x, y, (y * y * weights).sum()

    def slope(x, out):
        try:
            return torch.autograd.grad(out, x, retain_graph=True, allow_unused=True)[0].tolist()
        except RuntimeError as fault:
            assert fault.code == "E0402"
            return None

    x, y, square = make()
    before, squared = slope(x, (y * weights).sum()), slope(x, square)
    write(y)
    after, refused = slope(x, (y * weights).sum()), 0
    assert after != before
    for x, y, square in interrupted(make, lambda made: write(made[1])):
        known = before if torch.equal(y, x) else after
        found = slope(x, (y * weights).sum())
        assert found in (known, None)
        assert slope(x, square) in (squared, None)
        refused += found is None
        assert y._version or torch.equal(y, x)
    assert refused


def test_a_tensor_that_a_write_was_broken_off_at_is_whole_when_written_anew():
    x = torch.ones(3, requires_grad=True)
    for y in interrupted(lambda: x * 1, lambda y: y.mul_(2.0)):
        y.detach_().zero_()
        y += x * 5
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [5.0] * 3


def test_what_a_refused_write_leaves_is_as_before():
    x = torch.ones(3, requires_grad=True)
    y, z = x * 1, torch.zeros(3)
    square = y * y
    for value in (y, z):
        with pytest.raises(IndexError):
            value[7] = 1.0
        with pytest.raises(RuntimeError):
            value[[0, 1]] = torch.ones(5)
        assert not value._version
    assert torch.autograd.grad(square.sum(), x)[0].tolist() == [2.0] * 3
