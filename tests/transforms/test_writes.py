"""Writing in place inside transforms: views share memory, and see writes, as tensors do."""

from __future__ import annotations

import functools
import math
import random
import sys
import threading
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest

import gradcli as torch
import gradcli.autograd.forward_ad as fwad
from gradcli.autograd import functional
from gradcli.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from tests.support.families import family
from tests.transforms import random_writes

T = torch.tensor([1.0, 0.5, 0.25])


def point():
    return torch.tensor([1.0, 2.0, 3.0])


def same(found, want):
    np.testing.assert_allclose(found.detach().numpy(), np.array(want), rtol=1e-6)


# ---- Random functions ----------------------------------------------------------------------------


def compare(seed: int, count: int) -> int:
    """Hold so many transforms of the function of this number against loops over plain backward."""
    function = random_writes.random_function(seed)
    case = random_writes.Case(torch, function, seed)
    with np.errstate(all="ignore"):
        if random_writes.plain_fault(case) is not None:
            return 0
        table = random_writes.transforms(case)
        for name in random.Random(seed).sample(list(table), count):
            run, want = table[name]
            told = f"function {seed}, {name}:\n{function.source}"
            if random_writes.refuses(function, name):
                with pytest.raises(RuntimeError, match="vmap"):
                    run()
                continue
            wanted = want()
            try:
                found = run()
            except Exception as fault:
                raise AssertionError(f"{told}{type(fault).__name__}: {fault}") from fault
            assert not random_writes.differs(found, wanted), f"{told}{found}\nnot {wanted}"
    return 1


@family("block", range(4))
def test_random_functions(block):
    assert sum(compare(seed, 8) for seed in range(block * 30, block * 30 + 15)) >= 7


@pytest.mark.long
@family("block", range(100))
def test_twenty_thousand_random_functions(block):
    tried, seed = 0, 10_000 + block * 1_000
    while tried < 200:
        tried += compare(seed, 12)
        seed += 1


# ---- Writes to an argument -----------------------------------------------------------------------


def into_argument(x):
    x.mul_(2)
    return (x * x).sum()


def into_part(x):
    x[0] *= 2
    return x * x


@family("run", [
    lambda x: grad(into_argument)(x), lambda x: vjp(into_argument, x),
    lambda x: jacrev(into_part)(x),
    lambda x: hessian(into_argument)(x), lambda x: jacfwd(jacrev(into_part))(x),
    lambda x: grad(lambda a: grad(into_argument)(a).sum())(x),
    lambda x: vmap(grad(into_argument))(x.reshape(1, 3)),
    lambda x: grad(lambda a: vmap(lambda b: b.mul_(2))(a).sum())(x),
    lambda x: functional.jacobian(into_part, x), lambda x: functional.hessian(into_argument, x),
    lambda x: functional.jacobian(into_part, x, create_graph=True),
    lambda x: functional.jacobian(into_part, x, vectorize=True),
    lambda x: functional.hessian(into_argument, x, vectorize=True),
    lambda x: functional.hessian(
        into_argument, x, vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
    lambda x: functional.vjp(into_part, x, T), lambda x: functional.jvp(into_part, x, T),
    lambda x: functional.hvp(into_argument, x, T),
])  # fmt: skip
def test_what_is_differentiated_by_in_reverse_is_not_written_to(run):
    x = point()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used"):
        run(x)
    same(x, [1, 2, 3])


def test_a_view_of_an_argument_that_is_written_to_under_no_grad():
    def f(x):
        view = x[1:]
        with torch.no_grad():
            x.mul_(2)
        return (view * view).sum()

    same(grad(f)(point()), [0, 8, 12])
    same(hessian(f)(point()), np.diag([0, 4, 4]))
    same(vmap(hessian(f))(torch.stack([point(), point()])), [np.diag([0, 4, 4])] * 2)


def test_forward_mode_and_vmap_write_to_the_caller_s_tensor():
    x, t = point(), T.clone()
    value, tangent = jvp(into_part, (x,), (t,))
    same(value, [4, 4, 9])
    same(tangent, [8, 2, 1.5])
    same(x, [2, 2, 3])
    same(t, [2, 0.5, 0.25])  # laid out like x: the tangent itself; else a copy
    x, t = torch.stack([point(), point()]), torch.stack([T, T])
    vmap(lambda x, t: jvp(into_part, (x,), (t,)))(x, t)
    same(t, [[2, 0.5, 0.25]] * 2)
    t = T[:1].expand(3)
    jvp(into_part, (point(),), (t,))
    same(t, [1, 1, 1])
    for transform in (jacfwd(into_part), lambda x: functional.jacobian(
            into_part, x, vectorize=True, strategy="forward-mode")):  # fmt: skip
        x = point()
        same(transform(x), np.diag([8, 4, 6]))
        same(x, [2, 2, 3])
    x = point()
    same(jacfwd(jacfwd(into_argument))(x), np.diag([8, 8, 8]))
    same(x, [2, 4, 6])
    same(vmap(lambda a: a.mul_(2))(x), [4, 8, 12])
    same(x, [4, 8, 12])
    x = point()
    same(vmap(into_part)(x.reshape(1, 3)), [[4, 4, 9]])
    same(x, [2, 2, 3])
    x = torch.arange(6.0).reshape(2, 3)
    vmap(lambda column: column.zero_(), in_dims=1)(x[:, 1:])
    same(x, [[0, 0, 0], [3, 0, 0]])


def test_what_is_mapped_over_is_turned_in_place():
    x = torch.arange(6.0).reshape(2, 3)
    assert vmap(lambda a: a.unsqueeze_(0) * 2)(x).shape == (2, 1, 3) == x.shape
    x = torch.arange(12.0).reshape(2, 3, 2)
    vmap(vmap(lambda a: a.unsqueeze_(-1)))(x)
    assert x.shape == (2, 3, 2, 1)
    leaf = torch.ones(2, 3, requires_grad=True)
    (g,) = torch.autograd.grad(vmap(lambda a: (a * 2).unsqueeze_(0))(leaf).sum(), leaf)
    same(g, [[2, 2, 2], [2, 2, 2]])
    x = torch.arange(6.0).reshape(2, 3, 1)
    same(vmap(lambda a: (a * 1).t_() + a.t_())(x), 2 * torch.arange(6.0).reshape(2, 1, 3))
    assert x.shape == (2, 1, 3)
    with pytest.raises(RuntimeError, match="cannot be turned in place"):
        vmap(lambda a: a.t_(), in_dims=1)(x)


def test_a_turn_in_place_is_a_write_to_what_was_saved_before():
    def f(x):
        y = x.clone()
        z = y.sin()
        y.t_()
        seen.append(y._version)
        return z.sum()

    x, seen = torch.ones(2, 2), []
    same(jvp(f, (x,), (x,))[1], 4 * np.cos(1))
    for slope, point in ((grad(f), x), (jacrev(f), x), (hessian(f), x), (vmap(grad(f)), x[None])):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            slope(point)
    assert set(seen) == {1}


# ---- Values with and without a level on either side ----------------------------------------------


@pytest.mark.parametrize("turn", [
    lambda y: y.unsqueeze_(0), lambda y: y.t_(), lambda y: y.swapaxes_(0, 1),
    lambda y: y.unsqueeze_(1).squeeze_(),
])  # fmt: skip
@pytest.mark.parametrize("part", [lambda y: y, lambda y: y[-1:]])
def test_a_constant_that_is_turned_takes_a_graph_that_is_written_to_it(turn, part):
    def f(s, x):
        y = x * 1
        before = y[:]
        turn(y)
        part(y).mul_(s)
        before.add_(s)
        return (y.sin() * before.sum()).sum()

    s, x = torch.tensor([0.5, 2.0]), torch.arange(12.0).reshape(2, 3, 2).cos()
    for slope in (grad(f), hessian(f), jacfwd(f)):
        single = [slope(*pair).item() for pair in zip(s, x, strict=True)]
        same(vmap(slope)(s, x), single)


def test_a_tensor_takes_tangents_and_so_do_its_views():
    x = point()
    with fwad.dual_level():
        a = fwad.make_dual(x, T.clone())
        b = torch.zeros(3)
        v = b[1:]
        v += a[1:]
        b[0] = a[0] * 2
        a.mul_(3)
        found = [fwad.unpack_dual(value) for value in (b, a, v)]
    same(found[0].primal, [2, 2, 3])
    same(found[0].tangent, [2, 0.5, 0.25])
    same(found[1].primal, [3, 6, 9])
    same(found[1].tangent, [3, 1.5, 0.75])
    same(found[2].primal, [2, 3])
    same(found[2].tangent, [0.5, 0.25])
    same(x, [3, 6, 9])
    assert type(b) is type(v) is torch.Tensor  # where the level ends they are tensors again
    b[1] = 7
    same(v, [7, 3])


@family("write", [
    lambda b, d: b.copy_(d), lambda b, d: b.add_(d), lambda b, d: b.__setitem__(slice(None), d),
    lambda b, d: b.__iadd__(d), lambda b, d: b.fill_(d[0]), lambda b, d: b.sub_(d, alpha=-1),
    lambda b, d: b.addcmul_(d, torch.ones(3)), lambda b, d: b.lerp_(d, 0.5),
    lambda b, d: b.masked_fill_(torch.tensor([True, False, True]), d[1]),
    lambda b, d: b.__setitem__(torch.tensor([2, 0]), d[:2]),
    lambda b, d: b.index_put_((torch.tensor([2, 0]),), d[:2]),
    lambda b, d: b.index_add_(0, torch.tensor([0, 0, 1]), d),
    lambda b, d: b.scatter_(0, torch.tensor([1, 0, 2]), d),
    lambda b, d: b[1:].copy_(d[1:]), lambda b, d: b.view(3, 1).copy_(d.view(3, 1)),
    lambda b, d: b.unsqueeze(0).add_(d), lambda b, d: b.pow_(2).add_(d).clamp_(0.5, 2.5),
])  # fmt: skip
def test_a_plain_target_of_each_write(write):
    def f(x):
        b = torch.ones(3, dtype=torch.float64)
        write(b, x)
        return b * x

    x, t = point().double(), T.double()
    want = functional.jacobian(f, x)
    same(jacfwd(f)(x), want.numpy())
    same(jvp(f, (x,), (t,))[1], (want @ t).numpy())
    same(hessian(lambda x: f(x).sum())(x), functional.hessian(lambda x: f(x).sum(), x).numpy())
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        vmap(f)(x.reshape(1, 3))

    def made_of_x(x):
        b = x.new_ones(3)
        write(b, x)
        return b * x

    rows = torch.stack([x, x * 0.5])
    same(vmap(made_of_x)(rows), np.stack([f(row).numpy() for row in rows]))


@pytest.mark.parametrize("parts", [lambda b: b.split(1), lambda b: b.unbind()])
def test_a_constant_is_written_to_beside_views_that_came_together(parts):
    def f(x, written=lambda b, views: b):
        b = torch.ones(3) * 2
        views = parts(b)
        target = written(b, views)
        target *= x[: len(target.reshape(-1))] + 1
        return (b * b).sum()

    for second in (hessian(f), jacrev(grad(f)), jacfwd(jacfwd(f))):
        same(second(point()), 8 * np.eye(3))
    with pytest.raises(RuntimeError, match="returns multiple views"):
        hessian(lambda x: f(x, lambda b, views: views[1].view(1)))(point())


@family("write", [
    lambda v, w, x: w[0].copy_(x[1] * x[2]), lambda v, w, x: v.mul_(x),
    lambda v, w, x: v.__setitem__(0, v[0] * x[1]), lambda v, w, x: w[1].mul_(w[2]),
])  # fmt: skip
@pytest.mark.parametrize("cut", [lambda v: v.unbind(), lambda v: torch.unsafe_chunk(v, 3)])
def test_tangents_follow_writes_to_views_that_came_together(write, cut):
    def f(x):
        v = x * 2
        parts = cut(v)
        write(v, parts, x)
        return v * v * parts[0]

    x, t = point().double(), T.double()
    want = (f(x + 1e-6 * t) - f(x - 1e-6 * t)) / 2e-6
    same(jvp(f, (x,), (t,))[1], want)
    value, push = linearize(f, x)
    same(value, f(x))
    same(push(t), want)
    same(vmap(lambda row: linearize(f, row)[1](t))(torch.stack([x, x])), torch.stack([want, want]))
    slopes = jacfwd(f)
    want = (slopes(x + 1e-6 * t) - slopes(x - 1e-6 * t)) / 2e-6
    same(jvp(slopes, (x,), (t,))[1], want)


class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.ones(3))

    def forward(self, x):
        self.seen.add_(x.detach())
        return (x * self.seen).sum()


HELD = torch.ones(3)


def into_global(x):
    return (HELD.copy_(x) * x).sum()


@family("transform", [
    grad, jacrev, jacfwd, hessian, lambda f: lambda x: vjp(f, x),
    lambda f: lambda x: jvp(f, (x,), (T,)), lambda f: lambda x: vmap(grad(f))(x[None]),
    lambda f: grad(lambda x: vmap(f)(x[None]).sum()), lambda f: grad(lambda x: grad(f)(x).sum()),
])  # fmt: skip
def test_a_captured_tensor_is_not_written_to(transform):
    c, module = torch.ones(3), Holder()
    view, several, lists, deep = c[1:], (c,), {"held": [c]}, SimpleNamespace(held=[c])
    frozen = torch.nn.Parameter(c, requires_grad=False)
    for write in (
        lambda x: (c.copy_(x) * x).sum(), lambda x: (c.add_(1) * x).sum(), module, into_global,
        lambda x: (c.view(3).mul_(x.detach()) * x).sum(), lambda x: (view.zero_() * x[1:]).sum(),
        lambda x: x.sum() * c.detach().fill_(2).sum(),
        functools.partial(lambda b, x: (b.sub_(x) * x).sum(), c),
        lambda x: (c.unsqueeze_(0) * x).sum(), lambda x: (c.resize_(4)[:3] * x).sum(),
        lambda x: (several[0].add_(x) * x).sum(), lambda x: (deep.held[0].mul_(x) * x).sum(),
        lambda x: (lists["held"][0].mul_(2) * x).sum(), lambda x: (frozen.mul_(x) * x).sum(),
        lambda x: (lists["held"][0].data.mul_(2) * x).sum(),
        lambda x: ((x * c).sin() * (c * 1).unsqueeze_(0)).sum() + c.t_().sum(),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=r"mutate a captured Tensor|vmap: inplace"):
            transform(write)(point())
    for around in (lambda f: jvp(f, (point(),), (T,)), lambda f: vmap(f)(point()[None])):
        with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
            around(lambda c: grad(lambda x: (c.unsqueeze_(0) * x).sum())(point()))
    assert type(c) is torch.Tensor and not c.requires_grad
    same(c, [1, 1, 1])
    same(HELD, [1, 1, 1])
    same(module.seen, [1, 1, 1])


def test_a_tensor_of_another_thread_at_the_id_of_one_made_inside_is_captured():
    shared = []

    def make(ids):
        kept = [torch.ones(3) for _ in range(2 * len(ids))]
        shared.extend(t for t in kept if id(t) in ids)

    def written(x):
        ids = set(map(id, [torch.ones(3) for _ in range(500)]))
        thread = threading.Thread(target=make, args=(ids,))
        thread.start()
        thread.join()
        return sum((x * t.mul_(2)).sum() for t in shared)

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        grad(written)(point())
    same(shared[0], [1, 1, 1])


def made(x):
    """A constant that the function makes, under a name and in a list that are not its own."""
    global LATELY
    LATELY, parts = deepcopy(HELD), []

    def fill():
        nonlocal parts
        parts = [torch.zeros(3), torch.arange(3.0) * 2, deepcopy(HELD)]
        for part in parts:
            part.add_(x)
        LATELY.mul_(x)

    fill()
    return (sum(parts) * LATELY).sum()


@family("around", [lambda f: f, lambda f: lambda x: jvp(f, (x,), (T,))[1]])
def test_what_is_made_inside_is_written_to_by_any_name(around):
    x = point()
    want = around(grad(lambda x: ((3 * x + torch.arange(3.0) * 2 + 1) * x).sum()))(x)
    for inner in (grad, jacrev, jacfwd, lambda f: grad(functionalize(f))):
        same(around(inner(made))(x), want)
        same(around(inner(lambda x: jvp(made, (x,), (torch.ones(3),))[0]))(x), want)


@family("held", [lambda w: w, lambda w: [w]])
@pytest.mark.parametrize("make", [lambda x: x * 1, torch.ones_like])
def test_an_argument_that_is_held_elsewhere_too_is_not_written_to_in_nested_transforms(held, make):
    def f(x):
        w = make(x)
        kept = held(w)
        return grad(lambda z, c: (c.mul_(z) * 0 + kept[0] * z).sum())(x, w)

    for around in (jacrev, jacfwd, lambda f: lambda x: jvp(f, (x,), (T,))):
        with pytest.raises(RuntimeError, match="captured"):
            around(f)(point())


@family("inner", [
    grad, jacrev, hessian, lambda f: lambda a: vjp(f, a)[1](torch.tensor(1.0))[0],
    lambda f: lambda a: jvp(grad(f), (a,), (a * 1,))[1],
])  # fmt: skip
def test_tangents_follow_a_write_under_no_grad(inner):
    def written(a):
        with torch.no_grad():
            a.mul_(2)
        return (a * a).sum()

    def f(x):
        y = x * 3
        inner(written)(y)
        return y * x

    same(jvp(f, (point(),), (T,))[1], 12 * point() * T)
    same(jacfwd(f)(point()), np.diag([12, 24, 36]))
    rows = torch.stack([point(), point()])
    same(vmap(jacfwd(f))(rows), [np.diag([12, 24, 36])] * 2)
    same(vmap(grad(lambda x: (inner(written)(x * 1) * 0).sum() + x.sum()))(rows), np.ones((2, 3)))


@family("inner", [grad, jacrev])
def test_a_detached_twin_sees_what_is_written_to_a_batch(inner):
    def f(x):
        inner(lambda z, u: (z * 1 + u.detach().copy_(z)).sum())(x * 2, x)
        return x * x

    same(jacfwd(f)(point()), np.diag([4, 8, 12]))
    same(jvp(f, (point(),), (T,))[1], 4 * point() * T)


@family("detached", [
    lambda z: z.detach(), lambda z: z.data, lambda z: z[1:].detach(),
    lambda z: z.view(3, 1).detach()[:, 0],
])  # fmt: skip
def test_a_detached_twin_of_what_became_a_batch_is_not_written_to(detached):
    def f(y, x, write=True):
        z = torch.zeros(3)
        d = detached(z)
        z += y
        if write:
            d.mul_(3)
        return (z * x * y).sum() + d.sum()

    row = torch.ones(3)
    same(vmap(lambda x: grad(lambda y: f(y, x, write=False))(row))(point()[None]), [2 * point()])
    for inner in (grad, jacrev):
        with pytest.raises(RuntimeError, match="write to a clone"):
            vmap(lambda x, inner=inner: inner(f)(row, x))(point()[None])


@family("data", [lambda y: y.data, lambda y: y[1:].data])
def test_a_write_that_data_of_the_target_could_not_follow_is_refused(data):
    def f(x):
        y = torch.zeros(3)
        d = data(y)
        y.add_(x)
        return (d * x[-1]).sum()

    same(jvp(f, (point(),), (T,))[1], data(point()).sum() * T[-1])
    for nested in (grad(f), lambda x: jvp(f, (x,), (T,))[1]):
        with pytest.raises(RuntimeError, match="write to a clone"):
            jvp(nested, (point(),), (T,))


def test_a_write_to_what_is_one_for_all_directions_is_to_the_tangents_of_each():
    def written(x):
        with torch.no_grad():
            x.mul_(2)
        return x**3

    for inner in (lambda x: vjp(written, x)[0], written):
        rows = jacfwd(inner)
        same(jvp(lambda x, f=rows: f(x * 1).sum(0), (point(),), (T,))[1], 48 * point() * T)
    f = hessian(lambda x: written(x).sum())
    same(jvp(lambda x: f(x * 1).sum(0), (point(),), (T,))[1], 24 * T)


def test_what_is_detached_in_place():
    def moved(x):
        s = x * 1
        x.detach_()
        x += s + 1
        return (s + x).sum()

    for transform in (grad, jacrev, lambda f: lambda x: vmap(grad(f))(x[None])[0]):
        same(transform(moved)(point()), [1, 1, 1])  # by what it has become

    def both(x):
        y = x * 2
        x.detach_()
        y.detach_()
        return (y * y * x).sum()

    for transform in (jacrev, lambda f: lambda x: vjp(f, x)[1](torch.tensor(1.0))[0]):
        same(transform(both)(point()), [0, 0, 0])
        for found in (*jvp(transform(both), (point(),), (T,)), jacrev(transform(both))(point())):
            assert not found.any()
    for part in (lambda a: a, lambda a: a[:1], lambda a: (a * 1)[:1]):
        with pytest.raises(RuntimeError, match="Can't detach views"):
            jvp(lambda a, part=part: part(a).detach_(), (point(),), (T,))
    x = point().requires_grad_()
    y = x * 1
    for value in (x, y):
        same(grad(lambda a, v=value: (a.detach_(), v.sum())[1])(value), [0, 0, 0])
        same(grad(lambda b, a: (a.detach_(), b.sum())[1])(value, value), [1, 1, 1])
        assert value.requires_grad
    assert x.is_leaf


@family("write", [
    lambda z, u: u.mul_(z), lambda z, u: u[1:].mul_(z).sin_(), lambda z, u: u.copy_(z.expand(3)),
    lambda z, u: u.add_(z.detach()), lambda z, u: u.mul_(2), lambda z, u: u.detach().mul_(2),
])  # fmt: skip
@pytest.mark.parametrize("inner", [
    grad, jacrev, hessian, lambda f: grad(lambda z, u: grad(f)(z, u)),
    lambda f: lambda z, u: grad(lambda z, u: f(z, u[0]))(z, [u]),
])  # fmt: skip
def test_a_constant_argument_that_is_written_to_follows_in_graphs_around(write, inner):
    """As where the transform around had run the write itself; so do views of the constant."""

    def by(run):
        def f(x):
            whole = torch.stack([point(), point()])
            v, part = whole[0], whole[0][1:]
            run(lambda z, u: (write(z, u) * z).sum())(x, v)
            return torch.cat([v * x, part, whole.sum(0)])

        return f

    def backward(f, x):
        x = x.clone().requires_grad_()
        y = f(x)
        found = (torch.autograd.grad(v, x, retain_graph=True, materialize_grads=True)[0] for v in y)
        return torch.stack(list(found)) if y.requires_grad else torch.zeros(len(y))

    x = torch.tensor(0.5)
    want = backward(by(lambda f: f), x)
    for around in (
        jacrev, jacfwd, lambda f: lambda x: jvp(f, (x,), (x * 0 + 1,))[1],
        lambda f: lambda x: backward(f, x),
    ):  # fmt: skip
        same(around(by(inner))(x), want.numpy())
    assert not by(inner)(x).requires_grad


@pytest.mark.parametrize("inner", [grad, jacrev])
def test_a_batch_that_is_written_to_is_left_without_graph(inner):
    rows, held = torch.stack([point(), 2 * point()]), torch.ones(2, 3)
    vmap(inner(lambda z, u: (u.mul_(z) * z).sum()))(rows, held)
    same(held, rows.numpy())
    assert not held.requires_grad


@pytest.mark.parametrize("around", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [grad, jacrev])
def test_a_write_to_an_argument_in_memory_of_one_that_is_differentiated_by(inner, around):
    x = point()
    for f in (
        lambda x: (lambda y: inner(twice)(y, y))(x.clone()),
        lambda x: (lambda y: inner(twice)(y, y.view(3)))(x.clone()),
    ):
        with pytest.raises(RuntimeError, match="in the memory of one that is differentiated by"):
            around(f)(x)
    same(inner(twice)(x, x), [12, 48, 108])
    same(x, [2, 4, 6])


def test_an_argument_that_is_captured_too_is_not_written_to_in_a_graph():
    def f(x):
        w = x * 1
        return grad(lambda z, c: (c.mul_(z) * 0 + w * z).sum())(x, w)

    same(f(point()), [1, 4, 9])
    for at in (f, jacrev(f), jacfwd(f)):
        with pytest.raises(RuntimeError, match="captured"):
            at(point().requires_grad_())


def twice(z, c):
    c.mul_(2)
    return (z**3).sum()


def test_jacfwd_refuses_writes_to_a_captured_tensor_that_it_differentiates_by():
    x = point()
    with pytest.raises(RuntimeError, match="captured"):
        jacfwd(lambda z: x.mul_(2) * z)(x)


@family("parts", [
    lambda u: (u, u), lambda u: (u[:2], u[1:]), lambda u: (u.view(3, 1), u),
    lambda u: (u[1], u[:2]), lambda u: (u.detach(), u[1:]),
])  # fmt: skip
@pytest.mark.parametrize("kind", [torch.float32, torch.complex64])
@pytest.mark.parametrize("inner", [grad, jacrev, lambda f: grad(lambda z, *u: grad(f)(z, *u))])
def test_constant_arguments_that_share_memory_share_writes(parts, kind, inner):
    def write(z, a, b):
        return ((a.mul_(z) + 0).sum() * z + b.add_(z).sum() * z).real

    def by(run):
        def f(x):
            u = torch.ones(3, dtype=kind)
            found = run(write)(x, *(parts(u) if not kind.is_complex else (u.real, *parts(u))[:2]))
            return torch.cat([torch.view_as_real(u + 0j).reshape(-1), found.reshape(1)])

        return f

    values, found = by(lambda f: f), by(inner)
    for x in (torch.tensor(0.5), torch.tensor(1.5)):
        want = jacrev(values)(x)
        for slopes in (jacrev(found)(x), jacfwd(found)(x), jvp(found, (x,), (x * 0 + 1,))[1]):
            same(slopes[:-1], want[:-1].numpy())
    if inner is grad:
        same(found(x)[-1], want[-1].numpy())


def by_setters(z, w):
    y, r = z * 1, z.real * 1
    y.real = z.imag * w
    y.imag[0] = z.real[0] * 2
    y.imag += z.real
    r.real = z.imag
    return torch.view_as_real(y * y).sum(-1) * r + y.mH.mean().real if z.ndim > 1 else y.real * r


def by_copies(z, w):
    re, im = z.imag * w, z.imag + z.real
    im = torch.cat([(z.real[:1] * 3), im[1:]])
    y, r = torch.complex(re, im), z.imag
    return torch.view_as_real(y * y).sum(-1) * r + y.mean().real if z.ndim > 1 else y.real * r


@family("slope", [
    lambda f: lambda z, w: jvp(f, (z, w), (z.cos(), w)), lambda f: jacrev(f, 1),
    lambda f: lambda z, w: torch.view_as_real(vjp(f, z, w)[1](w)[0]),
    lambda f: lambda z, w: vmap(f)(torch.stack([z, z * 2]), torch.stack([w, w])),
    lambda f: lambda z, w: jvp(vmap(f), (z[None], w[None]), (z[None], w[None])),
    lambda f: lambda z, w: vmap(jacfwd(f, 1))(torch.stack([z, z * 2]), torch.stack([w, w])),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_parts_of_complex_numbers_are_set(slope, shape):
    z = torch.complex(
        torch.linspace(1, 2, math.prod(shape)), torch.linspace(2, -1, math.prod(shape))
    )
    z, w = z.reshape(shape), torch.linspace(0.5, 3, math.prod(shape)).reshape(shape)
    found, want = slope(by_setters)(z, w), slope(by_copies)(z, w)
    for f, v in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, want)), strict=True):
        same(f, v.numpy())


class Keeps(torch.nn.Module):
    def forward(self, x):
        self.several = x.exp() * 1, torch.zeros_like(x)
        self.several[1].add_(x)
        self.kept = self.several[0]
        self.part = self.kept[1:]
        self.part.mul_(x[1:])
        self.kept.add_(1).unsqueeze_(0)
        return (self.kept * x).sum()


@family("slope", [
    grad, hessian, jacfwd, jacrev, lambda f: lambda x: jvp(f, (x,), (T,))[1],
    lambda f: lambda x: vjp(f, x)[0], lambda f: lambda x: vmap(f)(x[None]),
    lambda f: lambda x: vmap(hessian(f))(x[None]),
])  # fmt: skip
def test_what_a_function_computes_it_may_write_to_by_any_name(slope):
    kept = None

    def f(x):
        nonlocal kept
        kept = x.exp() * 1
        kept[1:].mul_(x[1:])
        kept.add_(1).unsqueeze_(0)
        return (kept * x).sum()

    def plain(x):
        return ((x.exp() * torch.stack([x.new_ones(()), x[1], x[2]]) + 1) * x).sum()

    for function in (f, Keeps()):
        for _ in range(2):
            same(slope(function)(point()), slope(plain)(point()).numpy())


def test_an_argument_may_be_written_to_and_takes_no_graph():
    y = torch.zeros(3)
    same(jacrev(lambda x, y: y.copy_(x * x))(point(), y), np.diag([2, 4, 6]))
    same(y, [1, 4, 9])
    assert not y.requires_grad
    same(grad(lambda x, y: (y.mul_(2) * x).sum())(point(), y=y), [2, 8, 18])
    module, state = Holder(), {"seen": torch.zeros(3)}
    found = grad(lambda x: torch.func.functional_call(module, state, (x,)))
    with pytest.raises(RuntimeError, match="captured"):
        found(point())
    found = grad(lambda x, state: torch.func.functional_call(module, state, (x,)))
    same(found(point(), state), [1, 2, 3])
    same(state["seen"], [1, 2, 3])


def test_a_leaf_of_the_caller_s_graph_is_not_written_to():
    c = torch.ones(3, requires_grad=True)
    for run in (lambda: jvp(lambda x: c.add_(x), (point(),), (T,)), lambda: vmap(c.add_)(point())):
        with pytest.raises(RuntimeError):
            run()
    assert type(c) is torch.Tensor and c.is_leaf
    same(c, [1, 1, 1])


def test_a_write_that_would_grow_or_cast_its_target():
    for run in (
        lambda x: torch.zeros(1).add_(x), lambda x: x[:1].add_(x),
        lambda x: torch.zeros(3, dtype=torch.int64).add_(x), lambda x: x.long().add_(x),
    ):  # fmt: skip
        for transform in (lambda f: jvp(f, (point(),), (T,)), lambda f: vmap(f)(point()[None])):
            with pytest.raises(RuntimeError):
                transform(run)


def test_a_tangent_is_the_callers_and_stays_so():
    x, t = point(), T.clone()
    _, tangent = jvp(lambda x: x.clone().mul_(3).add_(x), (x,), (t,))
    same(tangent, 4 * T.numpy())
    same(t, T.numpy())

    def kept(x):
        y = x * 1
        z = y + 0
        y[0] = 5
        w = y + 0
        y[1] = 6
        return torch.stack([y, z, w])

    same(jvp(kept, (x,), (t,))[1], [[0, 0, 0.25], T.tolist(), [0, 0.5, 0.25]])


def test_indices_that_differ_along_the_batch():
    x, i = torch.arange(6.0).reshape(2, 3), torch.tensor([0, 2])

    def written(x, i):
        y = x.clone()
        y[i] = 9.0
        return y

    same(vmap(written)(x, i), [[9, 1, 2], [3, 4, 9]])
    same(vmap(lambda row: row.masked_fill_(row > 3, 0))(x.clone()), [[0, 1, 2], [3, 0, 0]])


def test_grad_inside_a_dual_level():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with fwad.dual_level():
        point = fwad.make_dual(x, torch.tensor([1.0, 0.5]))
        assert point.untyped_storage().data_ptr() == x.data_ptr()
        assert point.storage().tolist() == x.tolist()
        y = point * 1
        y[:1] *= point[1:]
        (g,) = torch.autograd.grad((y * y).sum(), point, create_graph=True)
        found = fwad.unpack_dual(g)
        with pytest.raises(RuntimeError):
            torch.autograd.grad(y, point)
        other = torch.ones(1, requires_grad=True)
        with pytest.raises(RuntimeError, match="not have been used"):
            torch.autograd.grad(y.sum(), other)
        assert torch.autograd.grad(y.sum(), other, allow_unused=True) == (None,)
    # y = (ab, b), and the sum of squares a^2 b^2 + b^2
    same(found.primal, [8, 8])
    same(found.tangent, [2 * 4 + 4 * 2 * 0.5, 4 * 2 * 1 + (2 + 2) * 0.5])


def test_threads_do_not_meet():
    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def written(x):
        y = torch.zeros_like(x)
        y[:1] += x[1:]
        y *= x
        return y

    def found():
        square = hessian(lambda x: (written(x) ** 2).sum())
        values = (vmap(written)(rows), jacfwd(written)(rows[0]), square(rows[0]))
        return [value.tolist() for value in values]

    want, differ, interval = found(), [], sys.getswitchinterval()

    def repeat():
        differ.extend(True for _ in range(15) if found() != want)
        differ.append(False)

    threads = [threading.Thread(target=repeat) for _ in range(4)]
    try:
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert differ == [False] * 4


def strided(x):
    y = x * 1
    y.as_strided((2,), (1,)).mul_(x[:2])
    y[1:].as_strided((2,), (1,), 1).add_(x[:2])
    return y


def test_strided_views_share_memory_in_every_transform():
    x = torch.tensor([1.0, 2.0, 3.0])
    wanted = torch.autograd.functional.jacobian(strided, x)
    for found in (jacrev(strided)(x), jacfwd(strided)(x)):
        same(found, wanted)
    rows = torch.stack([x, x * 2])
    same(vmap(strided)(rows), torch.stack([strided(row) for row in rows]))
    same(vmap(jacfwd(strided))(rows), torch.stack([jacrev(strided)(row) for row in rows]))

    def turned(x):  # of leaves that lie in one memory
        view = x.as_strided((2, 2), (1, 2), 1)
        return view.sin().as_strided((3,), (1,)) * view.as_strided((3,), (1,), 1)

    def weighed(x):
        return (turned(x) * x[:3]).sum()

    x = torch.linspace(0.1, 0.9, 6)[1:]
    wanted = torch.autograd.functional.hessian(weighed, x - 0)
    same(hessian(weighed)(x - 0), wanted)
    same(vmap(grad(weighed))(x[None] - 0), grad(weighed)(x - 0)[None])


def test_what_a_batch_is_a_view_of_takes_the_tangent_that_is_written_to_it():
    def slope(e, write):
        return jvp(lambda t: write(e * torch.ones(2, 3), t), (T[0] * 3,), (T[0],))[1]

    def to_slice(y, t):
        y[0, 1:] += t * t
        return y[0].sum() * y[0, 1]

    def to_transpose(y, t):
        v = y.T
        v[1:] += t * t
        y[0].mul_(t)
        return (y * y).sum() + v[1, 0]

    rows = torch.tensor([1.0, 2.0])  # the numbers are PyTorch's
    same(vmap(lambda e: slope(e, to_slice))(rows), [246, 276])
    same(vmap(lambda e: slope(e, to_transpose))(rows), [3634, 4145])


def test_elements_in_one_memory_have_gradients_of_their_own():
    def f(x):
        return (x.as_strided((2,), (1,), 1) ** 2).sum() * x.sum()

    want = jacrev(jacrev(f))(point())
    same(hessian(f)(point()), want)
    same(vmap(lambda t: jvp(grad(f), (point(),), (t,))[1])(torch.eye(3)), want)


@family("write", [
    lambda y: y.mul_(2), lambda y: y.mul_(y), lambda y: y.masked_fill_(y > 2, 5.0),
    lambda y: torch.Tensor.__setitem__(y, torch.tensor([0, 1]), 5.0),
])  # fmt: skip
def test_a_hessian_writes_once_to_what_was_detached(write):
    def f(x):
        y = x.detach()
        write(y)
        return (y * x * x).sum()

    x, z = point(), point()
    write(z)
    same(hessian(f)(x), torch.diag(2 * z))
    same(x, z)


def test_a_strided_view_of_a_number_that_is_a_view():
    x = torch.tensor(3.0, requires_grad=True)
    for number in (x.view(()), torch.stack([x, x])[1]):
        for out in (number.as_strided((2,), (0,)), torch.as_strided_copy(number, (1,), (1,))):
            same(torch.autograd.grad((out * out).sum(), number)[0], 6 * out.numel())
    same(functional.hessian(lambda a: (a.as_strided((1,), (1,)) ** 2).sum(), x), 2.0)


def test_copies_of_numbers_do_not_share_memory():
    for copy in (lambda x: x.flip(()), lambda x: x.sum_to_size(()), lambda x: x.sum(())):
        x = torch.tensor([1.0, 2.0])
        same(vmap(lambda e, copy=copy: copy(e).mul_(3))(x), torch.tensor([3.0, 6.0]))
        copy(x[0]).mul_(3)
        same(x, torch.tensor([1.0, 2.0]))
        assert copy(x[0]).data_ptr() != x.data_ptr()


def test_what_two_levels_made_of_a_captured_tensor_is_a_tensor_again():
    kept = torch.tensor([1.0, 2.0])
    part = kept[:1]

    def f(x):
        kept.sub_(x)
        return (kept * kept * x).sum()

    x = torch.tensor([0.5, 0.25])
    functional.hessian(f, x, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert part.requires_grad and part._base is kept
    assert type(kept) is type(part) is torch.Tensor
    same(kept + 1, [1.5, 2.75])
    part.mul_(2)
    same(vmap(lambda e: e * kept)(x), [[0.5, 0.875], [0.25, 0.4375]])


def written_after_use(x):
    y = torch.ones(3) * x.detach()
    z = x * y
    y.zero_()
    return z


def test_linearize_of_what_was_written_to_since():
    x = torch.tensor([1.0, 2.0, 3.0])
    same(torch.func.linearize(written_after_use, x)[1](x), x * x)


def test_elements_between_each_other_have_strides_of_their_own():
    columns = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    wanted = torch.stack([strided(row) for row in columns.t().clone()])
    same(vmap(strided, in_dims=1)(columns), wanted)
    same(vmap(lambda x: x.as_strided((2,), (4,)), in_dims=1)(columns), columns[::2].t())
    neighbours = lambda x: x.as_strided((2,), (1,))  # noqa: E731
    same(vmap(neighbours, in_dims=1)(columns), [[1.0, 2.0], [2.0, 3.0]])
    beyond = lambda x: x.as_strided((2,), (5,))  # noqa: E731
    both = lambda x: (vmap(neighbours, in_dims=1)(x) ** 2).sum()  # noqa: E731
    same(grad(both)(columns), [[2.0, 8.0], [6.0, 0.0], [0.0, 0.0]])
    for f in beyond, grad(lambda x: neighbours(x).sum()):
        with pytest.raises(RuntimeError, match="not supported inside of vmap"):
            vmap(f, in_dims=1)(columns)


def flattened(x):
    y = x * 1
    y.reshape(-1).mul_(2)  # a view: y is new, so its entries lie in row order
    return y


def turned_number(x):
    y = x * 1
    y.mT.mul_(2)
    torch.Tensor.view(y, (1,)).add_(1)
    return y


def test_a_single_number_is_its_own_transpose():
    x = torch.tensor([1.0, 2.0])
    same(vmap(turned_number)(x), 2 * x + 1)
    same(jacfwd(lambda x: vmap(turned_number)(x))(x), 2 * torch.eye(2))
    same(vmap(jacfwd(turned_number))(x), torch.full((2,), 2.0))


def rolled(x):
    y = x.roll(1)
    y.as_strided((2,), (1,)).mul_(3)
    return y


@family("dim", [0, 1, -1])
def test_a_new_result_lies_as_that_of_one_element(dim):
    x = torch.arange(24.0, dtype=torch.double).reshape(2, 3, 4)
    same(vmap(flattened, in_dims=dim)(x), 2 * x.movedim(dim, 0))
    same(vmap(vmap(flattened, in_dims=-1), in_dims=dim)(x), 2 * x.movedim(dim, 0).mT)
    pushed = vmap(lambda x: jvp(flattened, (x,), (x,))[1], in_dims=dim)(x)
    same(pushed, 2 * x.movedim(dim, 0))
    same(vmap(vmap(rolled), in_dims=dim)(x), torch.stack([
        torch.stack([rolled(line) for line in rows]) for rows in x.movedim(dim, 0)
    ]))  # fmt: skip
    steps = vmap(lambda x: torch.tensor([*x.stride(), *(x * 1).stride()]), in_dims=dim)(x)
    one = x.select(dim, 0)
    assert steps[0].tolist() == [*one.stride(), *(one * 1).stride()]
    kept = vmap(lambda x: torch.tensor(x.contiguous() is x), in_dims=dim)(x)
    assert kept[0].item() == one.is_contiguous()


def test_elements_of_a_batch_lie_as_they_do_alone():
    """A view of one is a view of the other: what a later write shows in hangs on it."""

    def turned(x):
        y = x.index_select(1, torch.tensor([1, 0]))
        y.fill_(2.0)
        flat, parts = y.flatten(), y.unfold(-1, 2, 2)
        flat[...] = 1.5
        return torch.cat([flat, parts.reshape(-1)])

    def written(x):
        line = (x * (1 + 2j)).conj().imag.diagonal()
        row = line.unsqueeze(0)
        row[...] = row.sin()
        return row

    def fourier(x):
        y = torch.fft.fft(x, dim=0).real
        flat = y.flatten()  # a copy
        y.zero_()
        return flat

    def written_beside(function):
        def f(x):
            y = function(x.mT * 1)
            y.reshape(-1).mul_(2)  # of a copy, or not: as y lies
            return y.as_strided((2,), (1,)) + y[0]

        return f

    def strewn(x):
        y = torch.zeros_like(x).add_(x)
        return y.as_strided((2, 2), (2, 1))

    laid = [written_beside(f) for f in (
        lambda x: x.sort(0).values, lambda x: x.masked_scatter(x > 3, x),
        lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
        lambda x: torch.linalg.lu_factor(x + 5 * torch.eye(2, dtype=torch.float64))[0],
    )]  # fmt: skip
    batch = torch.arange(12.0, dtype=torch.float64).reshape(3, 2, 2)
    for function in laid:
        near = functools.partial(torch.testing.assert_close, rtol=1e-12, atol=1e-12)
        alone = torch.stack([function(x) for x in batch])
        near(torch.vmap(function)(batch), alone)
        near(torch.vmap(lambda x, f=function: jvp(f, (x,), (x,))[0])(batch), alone)
        near(jvp(function, (batch[0],), (batch[0],))[0], alone[0])
    assert jvp(fourier, (batch[0],), (batch[0],))[1].tolist() == [2.0, 4.0, -2.0, -2.0]
    for function in (turned, written, fourier, strewn):
        alone = torch.stack([function(x) for x in batch])
        assert torch.equal(torch.vmap(function)(batch), alone)
        assert torch.equal(torch.vmap(function, in_dims=-1)(batch.movedim(0, -1)), alone)


def test_an_argument_written_to_in_a_transform_of_a_transform_is_written_to():
    def f(a, b):
        b.copy_(a)
        return (b * a).sum()

    for second in (hessian(f), jacfwd(grad(f))):
        y = torch.zeros(2)
        same(second(torch.tensor([3.0, 4.0]), y), 2 * torch.eye(2))
        same(y, torch.tensor([3.0, 4.0]))


def test_a_tangent_that_was_read_sees_later_writes():
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    with fwad.dual_level():
        d = fwad.make_dual(torch.tensor([1.0, 2.0]), x)
        y = d * d
        read = fwad.unpack_dual(y).tangent
        same(torch.autograd.grad(read.sum(), x, retain_graph=True)[0], torch.tensor([2.0, 4.0]))
        y.mul_(2)
        y[0] = 0.0
        assert fwad.unpack_dual(y).tangent is read
        same(read, torch.tensor([0.0, 32.0]))
        same(torch.autograd.grad(read.sum(), x)[0], torch.tensor([0.0, 8.0]))


@family("write", [lambda t, d: t.copy_(d), lambda t, d: t[:].copy_(d[:])])
def test_a_value_is_written_to_its_own_tangent(write):
    with fwad.dual_level():
        tangent = T.clone()
        write(tangent, fwad.make_dual(point(), tangent))
        found = fwad.unpack_dual(tangent)
        same(found.primal, point())
        same(found.tangent, T)


@family("turn", [
    lambda y: y.t_(), lambda y: y.unsqueeze_(0), lambda y: y.squeeze_(), lambda y: y.mul_(2),
    lambda y: y.as_strided_((2,), (1,)),
])  # fmt: skip
def test_a_value_that_is_turned_in_place_counts_as_written_to(turn):
    x = torch.ones(2, 3, requires_grad=True)
    with fwad.dual_level():
        y = fwad.make_dual(x, torch.ones(2, 3)).clone()
        z = y * y
        turn(y)
        assert y._version == 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_another_thread_sees_the_tangents_of_a_level():
    found = []
    with fwad.dual_level():
        d = fwad.make_dual(torch.tensor(3.0), torch.tensor(1.0))

        def look():
            found.extend(fwad.unpack_dual(v).tangent.item() for v in (d, d * d))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert found == [1, 6]
    assert fwad.unpack_dual(d).tangent is None


@family("pieces", [list, torch.unbind, lambda v: v.chunk(2), lambda v: v.split([1, 2], -1)])
def test_one_of_several_views_takes_no_recorded_write_in_a_transform(pieces):
    def written(x):
        y = x.sin()
        pieces(y)[0].mul_(2)
        return y

    x = point() + torch.zeros(2, 1)
    want = torch.cat([x[:, :1].sin() * 2, x[:, 1:].sin()], 1)
    if pieces in (list, torch.unbind):
        same(vmap(written)(x), want)
    for run in (
        lambda: vmap(grad(lambda row: written(row).sum()))(x),
        lambda: grad(lambda x: vmap(written)(x).sum())(x),
        lambda: vmap(written)(x.requires_grad_()),
        lambda: grad(lambda x: jvp(written, (x,), (x,))[1].sum())(x),
        lambda: jvp(grad(lambda x: written(x).sum()), (x,), (x,)),
    ):
        with pytest.raises(RuntimeError, match="returns multiple views"):
            run()


@family("pieces", [lambda x: x.unsafe_split(1), lambda x: x.unsafe_chunk(2)])
def test_pieces_that_may_be_written_to_hold_nothing_of_each_other(pieces):
    def function(x):
        y = x * 1
        one, two = pieces(y)
        one.mul_(3.0)
        two.add_(one)
        return (two * two).sum() + y.sum()

    rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for gradients in (
        vmap(grad(function))(rows),
        grad(lambda rows: vmap(function)(rows).sum())(rows),
    ):
        same(gradients, [[31.0, 11.0], [79.0, 27.0]])


def test_a_value_of_an_inner_transform_is_written_to_beside_its_expanded_view():
    k = torch.tensor(1.5)

    def function(x, w):
        y = grad(lambda a: (k, a * w), has_aux=True)(w)[1]
        view = y.expand(2)
        y.copy_(w * 0.5)
        y *= x + 1
        return y + view.sum()

    same(jacfwd(jacrev(function, argnums=1))(k, k), 1.5)


WRITES = {
    "mul_": lambda t, b: t.mul_(b**2),
    "of a fresh one": lambda t, b: torch.ones(3).add_(b * b) * t,
    "a view": lambda t, b: (t[1:].mul_(b[:2] ** 3), t)[1],
    "an item": lambda t, b: (t.__setitem__(0, b[1] * 2), t)[1],
    "copy_ of rows": lambda t, b: torch.zeros(2, 3).copy_(b**3) * t,
    "index_add_": lambda t, b: t.index_add_(0, torch.tensor([0, 0]), (b * b)[:2]),
    "masked_fill_": lambda t, b: t.masked_fill_(torch.tensor([True, False, True]), b[0] ** 2),
}


@family("written", list(WRITES))
@family("transform", [grad, jacrev, hessian, jacfwd])
def test_a_variable_that_no_vmap_maps_is_written_into_values(written, transform):
    """Reverse transforms make a batch of it, for a gradient of each element: nobody wrote that."""

    def one(a, c):
        return transform(lambda b: (WRITES[written](a.clone(), b) * c).sum())(point())

    rows = torch.arange(6.0).reshape(2, 3) + 1
    both = vmap(lambda a: vmap(lambda c: one(a, c))(rows))(rows)
    same(both, [[one(a, c).tolist() for c in rows] for a in rows])
    same(vmap(lambda c: one(T, c))(rows), [one(T, c).tolist() for c in rows])


@family(
    "function",
    [
        lambda c: grad(lambda b: torch.zeros(3).add_(b * c).sum())(T),
        lambda c: grad(lambda b: torch.zeros(3).add_(b).sum())(c),
    ],
)
def test_what_is_mapped_is_still_refused(function):
    with pytest.raises(RuntimeError, match="more elements than"):
        vmap(function)(torch.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("name", (
    "normal_", "uniform_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "random_",
    "by_chances", "rand_like", "randn_like", "dropout", "alpha_dropout",
))  # fmt: skip
def test_draws_are_in_one_order_with_tangents_and_without(name):
    """In the order of the memory: of a dual it is that of its value."""

    def draw(x):
        y = x * 1
        view = y.permute(2, 1, 0)
        if name == "by_chances":
            view.bernoulli_(torch.linspace(0, 1, view.numel()).reshape(view.shape))
        elif name.endswith("_"):
            getattr(view, name)()
        elif name.endswith("like"):
            return getattr(torch, name)(view)
        else:
            return getattr(torch.nn.functional, name)(view, training=True)
        return y

    def seeded(function):
        torch.manual_seed(3)
        return function(x)

    def pushed(function):
        return lambda x: torch.func.jvp(function, (x,), (x,))[0]

    def mapped(function):
        return torch.func.vmap(function, randomness="different")

    x = torch.linspace(-1, 1, 120).reshape(2, 3, 4, 5)
    assert torch.equal(seeded(lambda x: draw(x[0])), seeded(lambda x: pushed(draw)(x[0])))
    plain = seeded(mapped(draw))
    assert torch.equal(plain, seeded(mapped(pushed(draw))))
    assert torch.equal(plain, seeded(pushed(mapped(draw))))
