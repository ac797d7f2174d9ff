"""Threads do not meet: each has modes of its own, and what they share adds up.

A thread that gets another one's mode, or loses a contribution to a gradient, gives a wrong number
without an error. Threads switch here as often as Python lets them, so that races show.
"""

from __future__ import annotations

import copy
import gc
import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import forward_ad
from gradcli.autograd.graph import saved_tensors_hooks
from gradcli.engine import printing
from gradcli.engine.grad_mode import current, pushing, pushing_again
from gradcli.ops import memory_budget
from gradcli.ops.declaration.infix import put_signs_once
from gradcli.ops.errors import LimitFault
from gradcli.transforms.levels import running
from gradcli.utils.checkpoint import checkpoint
from tests.support.families import family

THREADS = 4


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Threads that take turns after a microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*works: Callable[[], Any]) -> list[Any]:
    """What the functions return, each run in a thread of its own; the first error is raised."""
    results: list[Any] = [None] * len(works)
    errors: list[BaseException] = []
    ready = threading.Barrier(len(works))

    def run(place: int) -> None:
        try:
            ready.wait()
            results[place] = works[place]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def elementwise(x):
    return ((x * 2 - 1).sin() * x.exp() / (x * x + 1)).sum()


def written_in_place(x):
    y = x * 1
    part = y[1:]
    part *= x[:1]
    y += x
    return (y * y).sum()


def several_results(x):
    first, second = (x * x).split(2)
    return (first * second).sum() + torch.stack([x, x.relu()]).logsumexp(0).sum()


def matrices(x):
    m = torch.outer(x, x) + torch.eye(4, dtype=x.dtype)
    return torch.linalg.solve(m, x).sum() + (m @ m).trace()


def custom(x):
    return (Cube.apply(x) * x).sum()


def second_derivative(x):
    (g,) = torch.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
    return (g * g).sum()


def untaken(x):
    return torch.where(x > 0, x.log(), x * x).sum()


FUNCTIONS = (
    elementwise, written_in_place, several_results, matrices, custom, second_derivative, untaken,
)  # fmt: skip


def gradient(function: Callable, numbers: np.ndarray) -> bytes:
    """The gradient of ``function``, to the last bit."""
    x = torch.tensor(numbers, requires_grad=True)
    function(x).backward()
    return x.grad.numpy().tobytes()


def serial_gradients(seed: int) -> list[tuple[Callable, np.ndarray, bytes]]:
    """Functions, points and the gradients that one thread finds."""
    points = np.random.default_rng(seed).normal(size=(len(FUNCTIONS), 4))
    return [(f, p, gradient(f, p)) for f, p in zip(FUNCTIONS, points, strict=True)]


def agree(seed: int, gradients: int) -> int:
    """Find so many gradients again; returns how many there were."""
    known = serial_gradients(seed)
    for i in range(gradients):
        function, point, expected = known[i % len(known)]
        assert gradient(function, point) == expected, function.__name__
    return gradients


@pytest.mark.parametrize("count", [400, pytest.param(100_000, marks=pytest.mark.long)])
def test_threads_with_their_own_tensors_get_the_serial_gradients(count):
    each = count // THREADS
    assert together(*(lambda i=i: agree(i, each) for i in range(THREADS))) == [each] * THREADS


@pytest.mark.parametrize("times", [40, pytest.param(5_000, marks=pytest.mark.long)])
def test_modes_belong_to_their_threads(times):
    def unrecorded():
        x = torch.ones(2, requires_grad=True)
        for _ in range(times):
            with torch.no_grad():
                assert not (x * 2).requires_grad
                assert not (x @ x).requires_grad
            assert (x * 2).requires_grad
            with torch.inference_mode():
                assert (x + 1).is_inference()
            assert not (x + 1).is_inference()

    def searching():
        x = torch.tensor([4.0, 9.0], requires_grad=True)
        for _ in range(times):
            assert not torch.is_anomaly_enabled()
            with torch.autograd.set_detect_anomaly(True):
                y = (x.sqrt() * 2).sum()
                assert y.grad_fn.seq.place is not None
            assert torch.autograd.grad(y, x)[0].tolist() == [0.5, pytest.approx(1 / 3)]

    def mapped():
        rows = torch.arange(12.0).reshape(3, 4)
        for _ in range(times):
            found = torch.func.vmap(torch.func.grad(lambda r: (r * r).sum()))(rows)
            assert found.equal(2 * rows)
            with forward_ad.dual_level():
                y = forward_ad.make_dual(rows, torch.ones(3, 4)) ** 2
                assert forward_ad.unpack_dual(y).tangent.equal(2 * rows)

    def doubled():
        for i in range(times):
            torch.set_default_dtype(torch.float64 if i % 2 else torch.float32)
            assert torch.tensor(1.5).dtype is (torch.float64 if i % 2 else torch.float32)
            assert (torch.tensor([1, 2]) / 2).dtype is torch.get_default_dtype()

    def packed():
        x = torch.ones(2, requires_grad=True)
        seen = []
        for i in range(times):
            with saved_tensors_hooks(lambda t: seen.append(t.shape) or t, lambda t: t):
                y = (x * x).sin().sum()
            assert len(seen) == 3 * (i + 1)
            y.backward()

    def limited():
        for _ in range(times):
            memory_budget.set_budget(1 << 20)
            with pytest.raises(LimitFault):
                torch.zeros(1 << 20)
            memory_budget.set_budget(None)
            torch.zeros(1 << 18)

    def printed():
        for _ in range(times):
            with printing.printoptions(precision=2):
                assert repr(torch.tensor(1.2345)) == "tensor(1.23)"
            assert repr(torch.tensor(1.2345)) == "tensor(1.2345)"

    def default():
        for _ in range(times):
            assert repr(torch.tensor([1.2345])) == "tensor([1.2345])"
            assert torch.zeros(1 << 18, requires_grad=True).sum().requires_grad
            assert torch.rand(2, requires_grad=True).exp().grad_fn.saved[-1].__class__ is np.ndarray

    together(
        unrecorded, searching, mapped, doubled, packed, limited, printed, default,
        lambda: agree(0, times), lambda: agree(1, times),
    )  # fmt: skip


def test_a_new_thread_starts_with_the_defaults():
    torch.set_default_dtype(torch.float64)
    with torch.no_grad(), saved_tensors_hooks(lambda t: t, lambda t: t):
        (state,) = together(current)
        (dtype,) = together(torch.get_default_dtype)
    assert state.grad and state.plain and not state.inference and not state.saving
    assert dtype is torch.float32


@family("size", [None, 1, 100_000])
def test_a_leaf_that_threads_share_has_the_sum_of_their_gradients(size):
    x = torch.ones(() if size is None else size, dtype=torch.float64, requires_grad=True)
    times = 20 if size == 100_000 else 100

    def work():
        for _ in range(times):
            (x * 3).sum().backward()

    together(*[work] * THREADS)
    assert (x.grad == 3 * times * THREADS).all()


@pytest.mark.filterwarnings("ignore:Using backward")
def test_recorded_and_kept_gradients_add_up_too():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    middle = x * 1
    middle.retain_grad()

    def work():
        for _ in range(50):
            (middle * 2).sum().backward(retain_graph=True, inputs=[x])
            torch.autograd.backward((x * x).sum(), inputs=[x], create_graph=True)

    together(*[work] * THREADS)
    assert x.grad.tolist() == [4.0 * 50 * THREADS] * 2


def test_passes_over_a_graph_that_threads_share():
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(20):
        y = (y * x).sin()
    (expected,) = torch.autograd.grad(y.sum(), x, retain_graph=True)

    def kept():
        for _ in range(20):
            (found,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
            assert found.equal(expected)

    together(*[kept] * THREADS)

    def once():
        try:
            (found,) = torch.autograd.grad(y.sum(), x)
        except RuntimeError as error:
            return getattr(error, "code", error)
        return found.equal(expected)

    assert {*together(*[once] * THREADS)} <= {True, "E0401"}


def test_hooks_and_views_that_threads_add_are_all_kept():
    x = torch.ones(4, requires_grad=True)
    base = x * 1
    seen: list[int] = []

    def work():
        for _ in range(50):
            x.register_hook(lambda g: seen.append(1))

    together(*[work] * THREADS)
    base.sum().backward()
    assert len(seen) == 50 * THREADS

    base = torch.zeros(4)
    found = together(*[lambda: [base[:2] for _ in range(200)]] * THREADS)
    assert len([v for v in base.meta.views if v() is not None]) == 200 * THREADS
    assert {v.meta.version for views in found for v in views} == {base.meta.version}


def test_the_shared_generator_gives_each_number_once():
    torch.manual_seed(3)
    serial = [torch.rand(()).item() for _ in range(100 * THREADS)]
    torch.manual_seed(3)
    found = together(*[lambda: [torch.rand(()).item() for _ in range(100)]] * THREADS)
    assert sorted(itertools.chain(*found)) == sorted(serial)
    torch.manual_seed(3)
    serial = [torch.randn(()).item() for _ in range(100 * THREADS)]
    torch.manual_seed(3)
    found = together(*[lambda: [torch.randn(()).item() for _ in range(100)]] * THREADS)
    assert sorted(itertools.chain(*found)) == sorted(serial)


_FIRST_USE = """
import sys, threading
import gradcli as torch
sys.setswitchinterval(1e-6)
names = ("sin exp tanh sqrt log1p relu sigmoid softplus abs square cumsum logsumexp softmax norm "
         "prod var").split()
ready = threading.Barrier(4)
found = []
def work(turn):
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    ready.wait()
    getattr(torch, ("func", "autograd", "optim", "nn")[turn])
    for i in range(len(names)):
        name = names[(i + 4 * turn) % len(names)]
        if name in ("cumsum", "logsumexp", "softmax"):
            y = getattr(torch, name)(x, 0)
        elif name == "softplus":
            y = torch.nn.functional.softplus(x)
        else:
            y = getattr(torch, name)(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad((g * x).sum(), x, allow_unused=True)
        second = None if h is None else str(h.tolist())
        found.append((name, type(y.grad_fn), str(g.tolist()), second))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(found) == 4 * len(names), len(found)
assert len(set(found)) == len(names), len(set(found))
"""


def test_second_runs_at_levels_that_have_ended_are_apart():
    """The level of one thread may end, also as a second run of its own, beside another's."""
    with pushing_again(frozenset({-1})):
        with pushing_again(frozenset({-1})):
            pass
        assert -1 in pushing
    assert -1 not in pushing

    def again(x):
        return checkpoint(lambda x: (x.sin() * x).exp(), x, use_reentrant=False).sum()

    def work():
        x = torch.tensor([1.5, 2.0], dtype=torch.float64, requires_grad=True)
        found = set()
        for _ in range(20):
            _, tangent = torch.func.jvp(again, (x,), (torch.ones_like(x),))
            found.add(tuple(torch.autograd.grad(tangent, x)[0].tolist()))
        return found

    alone = work()
    assert len(alone) == 1
    assert together(*[work] * 8) == [alone] * 8
    assert not pushing


def test_given_tangents_of_a_level_are_not_kept():
    w = torch.ones(2, requires_grad=True)
    with forward_ad.dual_level():
        for _ in range(5):
            forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(2), w * 2) * 2)
        gc.collect()
        assert [len(nodes) for nodes in running.given.values()] == [0]


def test_operators_that_threads_use_first_at_once():
    done = subprocess.run([sys.executable, "-c", _FIRST_USE], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_what_threads_make_at_its_first_use_is_whole_when_another_finds_it():
    """Rows of the parser, names of modules, the methods of a class for Python's signs."""
    from gradcli.language.names import namespaces
    from gradcli.language.names.table import NAMES
    from gradcli.language.syntax.parser import Parser, load_tables
    from gradcli.language.syntax.source import Source

    text = "def f(a, *b):\n    return [c**2 if c < a else -c for c in b]\nf(3, *[1, 2])[0:1]\n"
    inner = ("linalg", "random")
    for _ in range(10):
        parser = Parser(load_tables())
        together(*[lambda: parser.parse(Source(text), "file")] * THREADS)  # noqa: B023
        numpy, taken = namespaces.MAKERS["numpy"](NAMES), []
        together(*[
            lambda: taken.append((numpy["linalg.solve"], *map(len, map(numpy.below, inner))))  # noqa: B023
        ] * THREADS)  # fmt: skip
        assert len(set(taken)) == 1 and len(taken) == THREADS
        signed = type("Signed", (), {"__slots__": ()})

        def sign():
            put_signs_once(signed, without=("__ne__",))  # noqa: B023
            return sorted(vars(signed))  # noqa: B023

        first, *others = together(*[sign] * THREADS)
        assert others == [first] * (THREADS - 1) and "__xor__" in first and "__ne__" not in first


def test_transforms_of_another_thread_change_no_flag():
    """Nor do values that leaked out of one: what has ended there is nothing to tensors here."""

    class Own(torch.Tensor):
        pass

    def kinds():
        z = torch.ones(2, 3, dtype=torch.complex128, requires_grad=True)
        yield z
        yield torch.nn.Parameter(torch.ones(2))
        yield z.detach()
        for v in (z * 1j, (z * 1j).conj(), (z * 1j).conj().imag):
            with torch.no_grad():
                severed, stale, own = v[0], v[1], v.as_subclass(Own)
            parts = v.unbind(0)
            yield from (v, severed, v[0])
            v.mul_(2)
            yield from (v, stale, own, *parts)

    def flags(x):
        found = [x.requires_grad, x.is_conj()]
        for read in (lambda: x.is_leaf, lambda: x.grad_fn, lambda: (x * 2).requires_grad):
            try:
                found.append(str(read()).split(" at ")[0])
            except RuntimeError as fault:
                found.append(str(fault))
        return found

    kept = []
    values = list(kinds())
    before = [flags(x) for x in values]
    (_,) = together(
        lambda: torch.func.grad(lambda x: (kept.append(x * x), (x * x).sum())[1])(torch.ones(3))
    )
    assert [flags(x) for x in values] == before
    assert not (kept[0] * 2).requires_grad


_TRANSFORMS = {
    "grad": torch.func.grad,
    "value": lambda f: lambda x: torch.func.grad_and_value(f)(x)[1],
    "vjp": lambda f: lambda x: torch.func.vjp(f, x)[1](torch.tensor(1.0))[0],
    "jacrev": torch.func.jacrev,
    "jvp": lambda f: lambda x: torch.func.jvp(f, (x,), (torch.ones(2),))[1],
    "nested": lambda f: torch.func.grad(lambda x: torch.func.grad(f)(x).sum()),
}


@family("name, transformed", itertools.product(_TRANSFORMS, [False, True]))
def test_what_another_thread_records_meanwhile_is_a_constant_to_a_transform(name, transformed):
    """As what was there before; the caller, whose graph it is, differentiates by it."""

    def make():
        w = torch.tensor([2.0, 3.0], requires_grad=True)
        weigh = torch.func.grad(lambda v: (v * w * w).sum())
        return w, weigh(torch.ones(2)) if transformed else w * w

    def tried(*asked):
        try:
            found = torch.autograd.grad(*asked, retain_graph=True, allow_unused=True)
        except RuntimeError as fault:
            return str(fault)
        return [None if g is None else g.tolist() for g in found]

    def seen(meanwhile):
        made, told = [] if meanwhile else [make()], []

        def function(x):
            made[:] = made or together(make)
            w, z = made[0]
            y = (x * z).sum()
            part = z[:1] * 1
            told.extend((tried(z.sum(), w), tried(y, (w, x)), part.requires_grad, part.is_leaf))
            return y

        found = _TRANSFORMS[name](function)(torch.tensor([5.0, 7.0]))
        return found.tolist(), tried(found.sum(), made[0][0]), told

    assert seen(meanwhile=True) == seen(meanwhile=False)


@pytest.mark.parametrize("calls", ["the same", "the inner one"])
def test_threads_call_one_module_with_values_of_their_own(calls):
    class Meeting(torch.nn.Linear):
        def forward(self, x):
            if x.item() == 1:  # the first waits for the second, which may not come in between
                inside[0].set()
                inside[1].wait(0.2)
            else:
                inside[1].set()
                done.wait(0.2)
            return super().forward(x)

    module, done = Meeting(1, 1, bias=False), threading.Event()
    inside, own = [threading.Event(), threading.Event()], module.weight
    called, named = module, "weight"
    if calls == "the inner one":
        called, named = torch.nn.Sequential(module), "0.weight"

    def first():
        found = torch.func.functional_call(called, {named: torch.full((1, 1), 3.0)}, one)
        done.set()
        return found.item()

    def second():
        inside[0].wait()
        return torch.func.functional_call(module, {"weight": torch.full((1, 1), 5.0)}, 2 * one)

    one = torch.ones(1, 1)
    assert together(first, second) == [3.0, 10.0]
    assert module.weight is own


def test_a_call_beside_one_with_other_values_has_the_modules_own():
    begun, seen = threading.Event(), threading.Event()

    class Meeting(torch.nn.BatchNorm1d):
        def forward(self, x):
            found = super().forward(x)  # which counts its calls
            if torch.is_grad_enabled():
                begun.set()
                seen.wait(5)
                self.extra = self.weight
            return found

    module, x = Meeting(1), torch.tensor([[1.0], [-1.0]])
    module.register_buffer("extra", None)
    given = {"weight": torch.full((1,), 3.0), "running_mean": torch.zeros(1)}

    def with_others():
        return torch.func.functional_call(module, given, x)[0].item()

    def plainly():
        begun.wait()
        try:
            with torch.no_grad():
                found = module(x), copy.deepcopy(module)(x), module.state_dict()["weight"]
            return [float(v.reshape(-1)[0]) for v in found]
        finally:
            seen.set()

    lent, own = together(with_others, plainly)
    assert lent == pytest.approx(3.0, abs=1e-4) and own == pytest.approx([1.0] * 3, abs=1e-4)
    assert module.extra.item() == 3.0  # what the call assigned besides stays
    assert module.num_batches_tracked.item() == 2 and type(module._parameters) is dict


class _Inside(torch.autograd.Function):
    """Its backward starts a pass of its own, ``deep`` times, the last with ``work``."""

    @staticmethod
    def forward(ctx, x, deep, work):
        ctx.deep, ctx.work = deep, work
        return x * 1

    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            if ctx.deep:
                x = torch.ones(1, 1, requires_grad=True)
                inner = _Inside.apply(x, ctx.deep - 1, ctx.work)
                return torch.autograd.grad(inner, x, g)[0], None, None
            return ctx.work(g), None, None


def _pass_inside_passes(work):
    x = torch.ones(1, 1, requires_grad=True)
    return torch.autograd.grad(_Inside.apply(x, 25, work), x, torch.ones(1, 1))[0].item()


def test_a_pass_on_a_stack_of_its_own_is_waited_for_however_long_it_takes(monkeypatch):
    monkeypatch.setattr(sys.modules["gradcli.engine.backward.traverse"], "BEGINS", 0.05)

    def slow(g):
        time.sleep(0.15)
        return g * 7

    assert _pass_inside_passes(slow) == 7


def test_a_pass_on_a_stack_of_its_own_may_call_the_module_that_started_it():
    class Outer(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) if x.item() else torch.tensor(_pass_inside_passes(again))

    def again(g):
        return torch.func.functional_call(module, {"weight": torch.full((1, 1), 3.0)}, g)

    module = Outer(1, 1, bias=False)
    given = {"weight": torch.full((1, 1), 5.0)}
    assert torch.func.functional_call(module, given, torch.zeros(1, 1)).item() == 3


def test_a_thread_that_a_call_waits_for_gets_an_error_not_a_turn(monkeypatch):
    monkeypatch.setattr(sys.modules["gradcli.nn.functional_call"], "_PATIENCE", 0.05)
    errors = []

    class Waiting(torch.nn.Linear):
        def forward(self, x):
            if x.item():
                thread = threading.Thread(target=call, args=(0,))
                thread.start()
                thread.join()
            return super().forward(x)

    def call(x):
        try:
            given = {"weight": torch.full((1, 1), 3.0)}
            return torch.func.functional_call(module, given, torch.full((1, 1), float(x)))
        except LimitFault as fault:
            errors.append(fault.code)

    module = Waiting(1, 1, bias=False)
    assert call(1).item() == 3 and errors == ["E0608"]


def test_modes_that_a_backward_leaves_set_hold_for_no_node_after_it():
    seen = []

    class Leaving(torch.autograd.Function):
        @staticmethod
        def forward(x):
            torch.set_grad_enabled(True)
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append(torch.is_grad_enabled())
            ctx.x = inputs[0]

        @staticmethod
        def backward(ctx, g):
            seen.append(torch.is_grad_enabled())
            torch.set_grad_enabled(True)
            return g * ctx.x

    x = torch.ones(2, requires_grad=True)
    Leaving.apply(Leaving.apply(x)).sum().backward()
    assert x.grad.tolist() == [2, 2] and seen == [True, True, False, False]
