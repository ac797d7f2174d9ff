"""Nothing keeps a graph alive that the user let go of: with the collector off, all of it dies."""

from __future__ import annotations

import gc
import warnings
import weakref
from itertools import product

import numpy as np
import pytest

import gradcli as torch
from gradcli.engine.source_location import SAID
from tests.support.families import family


@pytest.fixture(autouse=True)
def _no_collector():
    """Whatever dies in these tests dies by reference counting: there are no cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Cube(torch.autograd.Function):
    """Saves its input and its output."""

    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 3 * x**2 * g + 0 * y * g


class Pair(torch.autograd.Function):
    """Two outputs, both saved."""

    @staticmethod
    def forward(ctx, x):
        outputs = x * 2, x**2
        ctx.save_for_backward(x, *outputs)
        return outputs

    @staticmethod
    def backward(ctx, g, h):
        x, y, z = ctx.saved_tensors
        return 2 * g + 2 * x * h + 0 * (y + z)


def chain(x):
    return torch.exp(x) * torch.sin(x) / (x * x + 1)


def kept(x):
    y = torch.tanh(x)
    y.retain_grad()
    return y * y


def hooked(x):
    y = torch.sigmoid(x)
    y.register_hook(lambda g: g * y.detach())  # sees its own tensor: PyTorch has the cycle too
    return y * 2


def node_hooked(x):
    y = x.exp()
    y.grad_fn.register_hook(lambda grads, outputs: None)
    y.grad_fn.register_prehook(lambda outputs: None)
    y.grad_fn.metadata["note"] = 1
    return y * y


def views(x):
    y = x * 1
    return (y[0] * y[1:].sum() + y.view(2, 2).t().reshape(-1).exp()) * y.expand(2, 4).sum(0)


def written(x):
    y = x * 1
    first = y[:2]
    first.mul_(x[2:])
    y[3] = x[0] * 5
    y[y > 100] = 0.0
    y.add_(1)
    return y.sin().mul_(2) * first.sum()


def custom(x):
    a, b = Pair.apply(Cube.apply(x))
    return a * b


def joined(x):
    parts = torch.stack([x, x * 2]).unbind(0)
    return torch.cat([*parts, x.sort().values]).gather(0, torch.tensor([0, 3, 5])).prod()


def reduced(x):
    m = torch.outer(x, x) + torch.eye(4, dtype=x.dtype)
    return torch.linalg.solve(m, x).sum() + torch.logdet(m) + x.std() + x.softmax(0).amax()


CONSTRUCTS = [chain, kept, node_hooked, views, written, custom, joined, reduced]


def leaf():
    return torch.tensor([0.5, 1.0, 1.5, 2.0], dtype=torch.float64, requires_grad=True)


def nodes(out):
    """Weak references to every node and every saved tensor behind ``out``."""
    found, work = {}, [out.grad_fn]
    while work:
        node = work.pop()
        if node in found:
            continue
        found[node] = [weakref.ref(node)]
        for value in node.saved or ():
            if isinstance(value, torch.Tensor):
                found[node].append(weakref.ref(value))
        work += [edge for edge in node.edges if edge is not None]
    return [r for refs in found.values() for r in refs]


def alive(watched):
    return [r() for r in watched if r() is not None]


@family(
    "construct, way",
    product(CONSTRUCTS, ["never run", "backward", "twice", "grad", "second order"]),
)
def test_a_graph_dies_with_its_last_name(construct, way):
    x = leaf()
    out = construct(x)
    watched = nodes(out)
    total = out.sum()
    if way == "backward":
        total.backward()
    elif way == "twice":
        total.backward(retain_graph=True)
        total.backward()
    elif way == "grad":
        torch.autograd.grad(total, x)
    elif way == "second order":
        (g,) = torch.autograd.grad(total, x, create_graph=True)
        watched += nodes(g)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        watched += nodes(h) if h.grad_fn is not None else []
        h.sum().backward()
        del g, h
    del out, total
    left = alive(watched)
    # Once accumulated, the leaf's own end of the graph is kept by the leaf alone.
    assert all(item is x.edge or item is x for item in left)
    del left, x
    assert alive(watched) == []


@family("construct", CONSTRUCTS)
def test_saved_values_are_gone_after_backward(construct):
    x = leaf()
    out = construct(x)
    order, work = [], [out.grad_fn]
    while work:
        node = work.pop()
        order.append(node)
        work += [edge for edge in node.edges if edge is not None]
    arrays = [
        weakref.ref(value.array)
        for node in order
        for value in node.saved or ()
        if isinstance(value, torch.Tensor) and value is not x and value.array.base is None
        if isinstance(value.array, np.ndarray)
    ]
    total = out.sum()
    del out, work
    total.backward()
    assert not any(node.saved for node in order)
    left = alive(arrays)
    assert not left or construct in (views, written)  # what is a view's memory is its base's


def test_a_hook_that_holds_its_own_tensor_is_the_users_cycle():
    x = leaf()
    out = hooked(x)
    watched = nodes(out)
    out.sum().backward()
    del out
    assert alive(watched)  # y -> node -> hook -> y, as in PyTorch
    gc.collect()
    assert all(item is x.edge or item is x for item in alive(watched))


def test_a_removed_hook_lets_go():
    x = leaf()
    held = [torch.sin(x)]
    handle = held[0].register_hook(lambda g, held=held: g * held[0].detach())
    node = weakref.ref(held[0].grad_fn)
    handle.remove()
    del held
    assert node() is None


def test_create_graph_in_backward_makes_a_cycle_and_says_so_once():
    x = leaf()
    SAID.clear()
    with pytest.warns(UserWarning, match="will create a reference cycle") as told:
        (x * x).sum().backward(create_graph=True)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x * x).sum().backward(create_graph=True)
    watched = nodes(x.grad)
    x.grad = None  # what the warning asks for
    assert all(item is x.edge or item is x for item in alive(watched))


def test_a_failed_backward_keeps_nothing():
    x = leaf()
    y = x * 1
    z = y * y
    y.add_(1)
    watched = nodes(z)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    del y, z
    gc.collect()  # the exception's own traceback is a cycle of pytest's
    assert all(item is x.edge or item is x for item in alive(watched))


def test_views_and_bases_let_go_of_each_other():
    x = leaf()
    base = x * 1
    watched = [weakref.ref(base)]
    for _ in range(3):
        view = base[1:]
        view.mul_(2)
        watched.append(weakref.ref(view))
    assert sum(view() is not None for view in base.meta.views) == 1  # the two before are gone
    del view
    assert not any(view() is not None for view in base.meta.views)
    del base
    assert alive(watched) == []
