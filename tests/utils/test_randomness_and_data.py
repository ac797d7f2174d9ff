"""Random choices, generators, checkpoints, batches of rows and dual numbers at their edges."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import forward_ad
from gradcli.utils.checkpoint import CheckpointError, _Run, checkpoint, set_checkpoint_early_stop
from gradcli.utils.data import DataLoader, Subset, TensorDataset, random_split
from tests.support.families import family


def test_a_state_brings_the_numbers_back():
    g = torch.Generator().manual_seed(2**62 + 1)
    torch.randn(3, generator=g)  # half a pair waits
    state = g.get_state()
    first = torch.randn(5, generator=g)
    assert torch.equal(first, torch.randn(5, generator=g.set_state(state)))
    assert g.initial_seed() == 2**62 + 1
    with pytest.raises(TypeError, match="ByteTensor"):
        g.set_state(torch.zeros(3))


def test_choices_follow_the_weights():
    torch.manual_seed(0)
    drawn = torch.multinomial(torch.tensor([1.0, 0.0, 3.0]), 4000, replacement=True)
    share = torch.bincount(drawn, minlength=3) / 4000
    assert share[1] == 0 and abs(share[2].item() - 0.75) < 0.03
    rows = torch.multinomial(torch.tensor([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]), 2)
    assert sorted(rows[0].tolist()) == [1, 2] and sorted(rows[1].tolist()) == [0, 1]


@family(
    "draw, said",
    [
        (lambda: torch.multinomial(torch.ones(2), 3), "without replacement"),
        (lambda: torch.multinomial(torch.tensor([-1.0, 2.0]), 1), "element < 0"),
        (lambda: torch.multinomial(torch.zeros(2), 1), "sum of probabilities"),
        (lambda: torch.multinomial(torch.ones(2), 0), "n_sample <= 0"),
        (lambda: torch.bernoulli(torch.tensor([1.5])), "p_in"),
        (lambda: torch.empty(2).bernoulli_(-0.1), "p=-0.1"),
    ],
)
def test_what_cannot_be_drawn(draw, said):
    with pytest.raises(RuntimeError, match=said):
        draw()


def test_a_checkpoint_has_second_derivatives():
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    y = checkpoint(lambda t: (t.sin() * t.exp()).sum(), x, use_reentrant=False)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert torch.allclose(h, 2 * x.cos() * x.exp())


def test_a_checkpoint_that_does_something_else():
    runs = []

    def unsteady(t):
        runs.append(1)
        return t.exp() if len(runs) % 2 else t.exp().exp()

    with set_checkpoint_early_stop(False):  # else it saves what is asked for, and stops
        y = checkpoint(unsteady, torch.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(CheckpointError, match="trying to save more tensors"):
        y.sum().backward()
    runs[:] = [1]
    y = checkpoint(unsteady, torch.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(RuntimeError, match="A different number of tensors"):
        y.sum().backward()


def test_the_second_run_saves_tensors_of_other_shapes():
    shapes = iter([2, 3, 2, 3])

    def unsteady(t):
        return (t * torch.ones(next(shapes))).sum()

    x = torch.ones(1, requires_grad=True)
    with pytest.raises(CheckpointError, match="different metadata"):
        checkpoint(unsteady, x, use_reentrant=False).backward()
    with pytest.raises(CheckpointError, match="you passed `debug=True`"):
        checkpoint(unsteady, x, use_reentrant=False, debug=True).backward()
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(unsteady, x, use_reentrant=False, determinism_check="some")


def test_contexts_of_a_checkpoint():
    log = []

    @contextlib.contextmanager
    def inside(name):
        log.append(name)
        yield

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(
        torch.exp, x, use_reentrant=False, context_fn=lambda: (inside("first"), inside("second"))
    )
    y.sum().backward()
    assert log == ["first", "second"]


def test_a_reentrant_checkpoint():
    w, x = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    y = checkpoint(lambda a: w * a.exp(), x, use_reentrant=True)
    assert y.grad_fn.name() == "CheckpointFunctionBackward"
    y.sum().backward()
    assert torch.equal(x.grad, 2 * x.detach().exp()) and torch.equal(w.grad, x.detach().exp())
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        unrecorded = checkpoint(lambda a: w * a, torch.ones(1), use_reentrant=True)
    assert not unrecorded.requires_grad
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad"):
        torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=True).sum(), x)
    with pytest.raises(RuntimeError, match="incompatible"):
        checkpoint(torch.exp, x, use_reentrant=True).backward(inputs=x)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        (checkpoint(lambda t: t.detach(), x, use_reentrant=True) + x).backward()
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        checkpoint(torch.exp, x, use_reentrant=True, k=1)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.exp, x, use_reentrant=True, debug=True)
    with pytest.warns(UserWarning, match="should be passed explicitly"):
        checkpoint(torch.exp, x)


def test_saved_tensors_of_a_checkpoint_are_given_out_once_a_pass():
    runs = []

    def function(t):
        runs.append(1)
        return t.exp()

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(function, x, use_reentrant=False)
    for count in (2, 3):
        assert torch.equal(y.grad_fn._saved_result, y)
        assert len(runs) == count
    y.sum().backward()
    assert len(runs) == 4


def test_a_checkpoint_stops_early():
    late = []

    def function(t):
        out = t.sin().exp()
        late.append(1)
        return out.clone()

    for early, runs in ((True, 1), (False, 2)):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        late.clear()
        with set_checkpoint_early_stop(early):
            y = checkpoint(function, x, use_reentrant=False)
        y.sum().backward()
        assert len(late) == runs
        assert torch.allclose(x.grad, (x.sin().exp() * x.cos()).detach())


def test_a_checkpoint_around_a_gradient():
    def penalty(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return (g * g).sum()  # 9 x^4

    x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
    checkpoint(penalty, x, use_reentrant=False).backward()
    assert x.grad.tolist() == [36, 288]


def test_rows_in_batches():
    rows = TensorDataset(torch.arange(7), torch.arange(7) * 2)
    sizes = [len(a) for a, _ in DataLoader(rows, 3)]
    assert sizes == [3, 3, 1]
    assert len(list(DataLoader(rows, 3, drop_last=True))) == len(
        DataLoader(rows, 3, drop_last=True)
    )
    parts = random_split(rows, [0.5, 0.5])
    assert [len(p) for p in parts] == [4, 3]
    seen = sorted(int(a) for part in parts for a, _ in part)
    assert seen == list(range(7)) and isinstance(parts[0], Subset)
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(rows, [1, 2])
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(torch.ones(2), torch.ones(3))
    passes = DataLoader(range(5), 3, shuffle=True, generator=torch.Generator().manual_seed(3))
    drawn = [[batch.tolist() for batch in passes] for _ in range(2)]
    assert drawn == [[[2, 4, 3], [0, 1]], [[0, 2, 1], [4, 3]]]  # PyTorch 2.13
    assert [*DataLoader(rows, None)][1] == [1, 2]
    assert [*DataLoader(rows, None, collate_fn=sum)][1:3] == [3, 6]
    assert next(iter(DataLoader([("a", 1), ("b", 2)], 2)))[0] == ("a", "b")


@family("kind, read", [
    (ValueError, lambda: DataLoader([1], sampler=[0], shuffle=True)),
    (ValueError, lambda: DataLoader([1], 2, batch_sampler=[[0]])),
    (ValueError, lambda: DataLoader([1], None, drop_last=True)),
    (ValueError, lambda: DataLoader([1], 1.5)),
    (ValueError, lambda: DataLoader([1], timeout=-1)),
    (TypeError, lambda: [*DataLoader([None])]),
    (RuntimeError, lambda: [*DataLoader([(1,), (1, 2)], 2)]),
    (NotImplementedError, lambda: torch.utils.data.Dataset()[0]),
])  # fmt: skip
def test_rows_that_are_refused(kind, read):
    with pytest.raises(kind):
        read()


def test_dual_numbers_at_their_edges():
    x, v = torch.tensor(2.0), torch.tensor(1.0)
    with pytest.raises(RuntimeError, match="no level exists"):
        forward_ad.make_dual(x, v)
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode"):
            forward_ad.enter_dual_level()
        with pytest.raises(RuntimeError, match="different size than that of the original"):
            forward_ad.make_dual(x, torch.ones(2))
        with pytest.raises(TypeError, match="make_dual takes tensors"):
            forward_ad.make_dual(2.0, v)
        y = forward_ad.make_dual(x, v) ** 3
        assert forward_ad.unpack_dual(y).tangent == 12
    assert forward_ad.unpack_dual(y).tangent is None
    with pytest.raises(RuntimeError, match="no level was entered"):
        forward_ad.exit_dual_level()


def test_ranges_of_element_types():
    assert repr(torch.iinfo(torch.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    assert torch.finfo(torch.complex64).max == torch.finfo(torch.float32).max
    with pytest.raises(TypeError, match="requires a floating point"):
        torch.finfo(torch.int32)
    with pytest.raises(TypeError, match="requires an integer"):
        torch.iinfo(torch.float32)


@family("place", [625, 10**6, -1, -(2**63)])
def test_a_state_whose_place_is_outside_is_refused(place):
    generator = torch.Generator().manual_seed(3)
    before = torch.rand(2, generator=torch.Generator().manual_seed(3))
    state = generator.get_state()
    state.array[2496:2504] = np.array([place], np.int64).view(np.uint8)
    with pytest.raises(RuntimeError, match="get_state"):
        generator.set_state(state)
    with pytest.raises(RuntimeError, match="get_state"):
        generator.set_state(generator.get_state()[None])
    assert torch.equal(torch.rand(2, generator=generator), before)


def test_expanded_weights_are_drawn_as_rows():
    for weights in (torch.ones(20).expand(4, 20), torch.ones(1, 20).expand(4, 20)):
        torch.manual_seed(0)
        rows = torch.multinomial(torch.ones(4, 20), 3)
        torch.manual_seed(0)
        assert torch.equal(torch.multinomial(weights, 3), rows)


def test_passes_over_one_checkpoint_do_not_take_each_others_values(monkeypatch):
    """The second pass comes as that of another thread may: between a second run and its use."""
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    y = checkpoint(lambda t: (t.sin() * t.exp()).cos() * t, x, use_reentrant=False).sum()
    (alone,) = torch.autograd.grad(y, x, retain_graph=True)
    again, others = _Run._again, []

    def interleaved(run):
        found = again(run)
        if not others:
            others.append(None)
            others[:] = torch.autograd.grad(y, x, retain_graph=True)
        return found

    monkeypatch.setattr(_Run, "_again", interleaved)
    (found,) = torch.autograd.grad(y, x)
    assert torch.equal(found, alone) and torch.equal(others[0], alone)
