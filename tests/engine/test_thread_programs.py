"""Random programs that threads run at once give what they give one after the other.

What they share is a graph that is made anew all the time, and a module; each thread is stopped at
random places for a moment, so that others come in between.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import gradcli as torch
from gradcli import func
from gradcli.utils.checkpoint import checkpoint

THREADS, STEPS = 3, 3
ONES = torch.ones(3)

MAKERS: tuple[Callable[[Any], Any], ...] = (
    lambda w: w * w,
    lambda w: func.grad(lambda v: (v * w * w).sum())(ONES),
    lambda w: func.vjp(lambda v: v * w * w, ONES)[0],
    lambda w: checkpoint(lambda w: w * w, w, use_reentrant=False),
)


def dual(f, x):
    with torch.autograd.forward_ad.dual_level():
        y = f(torch.autograd.forward_ad.make_dual(x, x))
        return torch.autograd.forward_ad.unpack_dual(y).tangent


TRANSFORMS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda f, x: func.grad(f)(x),
    lambda f, x: func.grad_and_value(f)(x)[1],
    lambda f, x: func.vjp(f, x)[1](torch.tensor(1.0))[0],
    lambda f, x: func.jacrev(f)(x),
    lambda f, x: func.jvp(f, (x,), (x,))[1],
    lambda f, x: func.linearize(f, x)[1](x),
    lambda f, x: func.hessian(f)(x),
    lambda f, x: func.vmap(func.grad(f))(torch.stack([x, 2 * x])),
    lambda f, x: func.grad(lambda x: (func.grad(f)(x) ** 2).sum())(x),
    dual,
)
CALLS: tuple[Callable[[Any, dict], Any], ...] = (
    lambda call, given: call(given),
    lambda call, given: [*func.grad(lambda g: call(g).sin().sum())(given).values()],
    lambda call, given: func.vmap(call)({n: torch.stack([v, 2 * v]) for n, v in given.items()}),
)


def numbers(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [numbers(v) for v in value]
    return value if value is None else (value.tolist(), value.requires_grad)


class Shared:
    """A graph with its leaf, of the same numbers whenever it is made, and a module."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.numbers = torch.randn(3, generator=generator)
        self.graph = self.made(MAKERS[0])
        nn = torch.nn
        self.net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
        for p in self.net.parameters():
            p.detach().normal_(generator=generator)
        # Read once: who reads parameters while another thread calls with others may see those.
        self.modules = [(m, dict(m.named_parameters())) for m in (self.net, self.net[0])]

    def made(self, maker: Callable) -> tuple[Any, Any]:
        leaf = self.numbers.clone().requires_grad_()
        return leaf, maker(leaf)

    def publish(self, draw: random.Random) -> None:
        maker = draw.choice(MAKERS)
        for _ in range(draw.randint(1, 6)):
            self.graph = self.made(maker)

    def consume(self, draw: random.Random) -> Any:
        """A derivative of a function that captures the graph, what the function sees of it, and
        the derivative of that by the leaf."""
        transform, x = draw.choice(TRANSFORMS), self.numbers * draw.choice([0.5, -1.0])
        seen: list[Any] = []

        def function(x):
            time.sleep(1e-4)
            leaf, z = self.graph
            try:
                found = numbers(torch.autograd.grad(z.sum(), leaf, retain_graph=True))
            except RuntimeError as fault:
                found = str(fault)
            seen[:] = leaf, found, (z[:1] * 1).requires_grad
            return (x * x * z).sin().sum()

        out = transform(function, x)
        further = torch.autograd.grad((out * out).sum(), seen[0], retain_graph=True)
        return numbers(out), numbers(further), seen[1:]

    def call(self, draw: random.Random) -> Any:
        """The module, or one in it, with other parameters."""
        module, own = draw.choice(self.modules)
        given = {n: p.detach() * draw.choice([2.0, 3.0]) for n, p in own.items()
                 if draw.random() < 0.7}  # fmt: skip
        called = draw.choice(CALLS if given else CALLS[:1])
        return numbers(called(lambda g: func.functional_call(module, g, (self.numbers,)), given))


def interrupted(draw: random.Random) -> Callable[..., None]:
    """A profile function that lets other threads run at random places."""

    def stop(frame, event, arg):
        if draw.random() < 0.003:
            time.sleep(draw.choice([0, 1e-5, 3e-4]))

    return stop


def results(seed: int, at_once: bool) -> list[Any]:
    shared = Shared(seed)
    found: list[Any] = [None] * THREADS
    ready = threading.Barrier(THREADS)

    def run(place: int) -> None:
        draw = random.Random(seed * THREADS + place)
        steps = [draw.choice(["publish", "consume", "call"]) for _ in range(STEPS)]
        draws = [random.Random(draw.random()) for _ in steps]
        if at_once:
            ready.wait()
            sys.setprofile(interrupted(draw))
        try:
            found[place] = [getattr(shared, s)(d) for s, d in zip(steps, draws, strict=True)]
        except BaseException as fault:
            found[place] = repr(fault)
        finally:
            sys.setprofile(None)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
        if not at_once:
            thread.join()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("seeds", [range(15), pytest.param(range(2000), marks=pytest.mark.long)])
def test_programs_at_once_give_what_they_give_in_turn(seeds):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for seed in seeds:
            assert results(seed, at_once=True) == results(seed, at_once=False), seed
    finally:
        sys.setswitchinterval(before)
