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
from gradcli.engine.creation.generator import drawing
from gradcli.engine.grad_mode import State, current, restore, transformed
from gradcli.transforms.levels import running

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
            more = False
        except KeyboardInterrupt:
            yield value
        finally:
            sys.setprofile(None)


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
    lambda x: torch.func.vmap(lambda t: t * 2)(x.detach()),
    lambda x: torch.func.jvp(lambda t: t * 2, (x.detach(),), (x.detach(),)),
])  # fmt: skip
def test_modes_are_what_they_were(work):
    state, tried = current(), 0
    for _ in interrupted(lambda: torch.ones(3, requires_grad=True), work):
        tried += 1
        try:
            assert modes(current()) == modes(state)
            assert not (transformed.by or running.vmaps or running.randomness or drawing.get())
        finally:
            restore(state)
    assert tried > 30


def test_a_pack_hook_that_is_interrupted_leaves_recording_on():
    for _ in interrupted(lambda: torch.ones(3, requires_grad=True), packs):
        try:
            assert torch.is_grad_enabled()
        finally:
            restore(current().replaced(saving=()))
