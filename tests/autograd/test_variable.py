"""``Variable`` as old programs use it, and generators under the switches of gradient mode."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import Function, Variable
from tests.support.families import family


def test_a_variable_is_a_leaf_with_the_same_memory():
    x = torch.ones(2)
    v = Variable(x, requires_grad=True)
    assert isinstance(v, Variable)
    assert isinstance(x, Variable)
    assert (v.requires_grad, x.requires_grad) == (True, False)
    with torch.no_grad():
        v[0] = 5.0
    assert x.tolist() == [5.0, 1.0]
    assert Variable(torch.ones(2).double()).dtype is torch.float64
    assert Variable(torch.ones(2, requires_grad=True) * 2).grad_fn is None
    with pytest.raises(TypeError, match="has to be a tensor"):
        Variable([1.0])
    with pytest.raises(RuntimeError, match="floating point"):
        Variable(torch.tensor([1]), requires_grad=True)


def test_a_generator_is_switched_while_it_runs_and_only_then():
    log = []

    @torch.no_grad()
    def numbers():
        """What it says."""
        got = yield torch.is_grad_enabled()
        log.append((got, torch.is_grad_enabled()))
        try:
            yield 1
        except ValueError:
            log.append(torch.is_grad_enabled())
            yield "caught"
        return 7

    it = numbers()
    assert next(it) is False
    assert torch.is_grad_enabled()
    assert it.send(5) == 1
    assert it.throw(ValueError()) == "caught"
    with pytest.raises(StopIteration) as end:
        next(it)
    assert end.value.value == 7
    assert log == [(5, False), False]
    assert numbers.__doc__ == "What it says."
    assert torch.is_grad_enabled()


def test_a_generator_that_is_closed_ends_under_its_switch():
    seen = []

    @torch.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            seen.append(torch.is_grad_enabled())

    it = numbers()
    next(it)
    it.close()
    assert seen == [False]
    assert torch.is_grad_enabled()


@family("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_creation_takes_its_size_by_name(name):
    make = getattr(torch, name)
    made = make(size=(2, 3), dtype=torch.float64, requires_grad=True, pin_memory=False, layout=None)
    assert (tuple(made.shape), made.dtype, made.requires_grad) == ((2, 3), torch.float64, True)
    assert make(size=()).shape == ()
    with pytest.raises(TypeError, match="multiple values"):
        make(2, size=(3,))
    with pytest.raises(TypeError, match="must be tuple of ints, not int"):
        make(size=2)


def test_numpy_is_given_where_nothing_is_recorded():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        assert x.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(x.numpy() ** 2)

        @staticmethod
        def vjp(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_functions_are_pickled_by_their_names():
    for function in (torch.tanh, torch.zeros, torch.conv1d, torch.nn.functional.relu):
        assert pickle.loads(pickle.dumps(function)) is function


def test_tensors_are_pickled_as_leaves():
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    whole = torch.tensor(3)
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    back, computed, count, kept = pickle.loads(pickle.dumps((x, x * 2, whole, parameter)))
    assert torch.equal(back, x)
    assert back.requires_grad and back.is_leaf and back.dtype is torch.float64
    assert computed.requires_grad and computed.is_leaf
    assert count.item() == 3 and count.dtype is torch.int64 and not count.requires_grad
    assert isinstance(kept, torch.nn.Parameter) and not kept.requires_grad
    np.testing.assert_array_equal(copy.deepcopy(back).detach().numpy(), [[1.0, 2.0]])
    a = np.ones(2)
    t, memory, array = copy.deepcopy([torch.from_numpy(a), torch.from_numpy(a).storage(), a])
    assert t.data_ptr() == memory.data_ptr() != a.ctypes.data and array.tolist() == [1, 1]


def test_copies_keep_the_layout_and_pickles_share_no_memory():
    x = torch.arange(6.0)
    views = (
        x[::2],
        x[2:4],
        x.view(2, 3).t(),
        x[:1].expand(2, 3),
        x[3],
        x[None, 1:],
        x.unfold(0, 3, 2),
    )
    for view in (*views, torch.nn.Parameter(x[1::2])):
        for back in (pickle.loads(pickle.dumps(view)), copy.deepcopy(view.detach())):
            assert back.stride() == view.stride(), view
            assert back.storage_offset() == view.storage_offset() and torch.equal(back, view)
    whole, part = pickle.loads(pickle.dumps((x, x[1:])))
    whole.zero_()
    assert part.tolist() == [1, 2, 3, 4, 5]


def test_what_is_written_where_nothing_is_recorded_keeps_its_node():
    for write in ("zero_()", "copy_(y)", "fill_(1.0)", "masked_fill_(y > 0, 2.0)", "relu_()"):
        y = torch.ones(2, requires_grad=True) * 1
        with torch.no_grad():
            eval(f"y.{write}")
        assert y.grad_fn.name() == "MulBackward0", write


def test_a_counted_write_overtakes_views():
    y = torch.ones(3, requires_grad=True) * 1
    one, two = y[:1], y.unbind()[0]
    torch.autograd.graph.increment_version(y.detach())
    assert one.grad_fn.name() == "AsStridedBackward0"
    with pytest.raises(RuntimeError, match="is a view and its base"):
        two * 2
