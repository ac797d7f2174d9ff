"""torch.func's transforms: values, nesting in any order, and graphs of the caller's."""

from __future__ import annotations

import time

import numpy as np
import pytest

import gradcli as torch
import gradcli.nn.functional as F
from gradcli.autograd import forward_ad
from gradcli.engine.grad_mode import transformed
from gradcli.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp
from gradcli.ops.errors import Fault
from gradcli.utils.checkpoint import checkpoint
from tests.support.families import family

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.double)
D = torch.tensor([1.0, -1.0, 0.5], dtype=torch.double)


def f(x):
    return (x**3).sum() * x[0] + torch.sin(x[1] * x[2])


def near(found, want):
    np.testing.assert_allclose(found.detach().numpy(), want.detach().numpy(), rtol=1e-12)


H = torch.autograd.functional.hessian(f, X)
G = torch.autograd.functional.jacobian(f, X)


@family("second", [
    jacrev(jacrev(f)), jacrev(jacfwd(f)), jacfwd(jacrev(f)), jacfwd(jacfwd(f)), hessian(f),
    jacrev(grad(f)), jacfwd(grad(f)),
])  # fmt: skip
def test_second_derivatives_by_every_way(second):
    near(second(X), H)


@family("turned", [
    lambda t: t.unsqueeze(0), lambda t: t.view(-1, 1), lambda t: t[..., None, 0:1],
    lambda t: t.expand(2, *t.shape), lambda t: t.flip(-1), lambda t: t.cumsum(-1),
    lambda t: t.cumprod(-1), lambda t: t.softmax(-1), lambda t: t.diag().diagonal(),
    lambda t: (t * 1).unsqueeze(0).transpose_(0, -1),
    lambda t: torch.stack([t, t * t]).select(0, 1),
    lambda t: t * 1,
])  # fmt: skip
def test_third_derivatives_by_every_way(turned):
    def g(x):
        return turned(x**3) ** 2

    def plain(second):
        def of(x):
            rows = second(x.requires_grad_())
            found = [torch.autograd.grad(r, x, retain_graph=True)[0] for r in rows.reshape(-1)]
            return torch.stack(found).reshape(*rows.shape, *x.shape)

        return of

    def pushed(first):
        return lambda x: torch.func.vmap(lambda t: jvp(first, (x,), (t,))[1], out_dims=-1)(
            torch.eye(len(x), dtype=x.dtype)
        )

    x = torch.tensor([-1.33, 0.7], dtype=torch.double)
    want = jacrev(jacrev(jacrev(g)))(x)
    for outer in (plain, pushed, jacrev, jacfwd):
        for second in (pushed, jacrev, jacfwd):
            for first in (pushed, jacrev, jacfwd):
                near(outer(second(first(g)))(x.clone()), want)


def test_products_by_every_way():
    near(jvp(grad(f), (X,), (D,))[1], H @ D)
    near(grad(lambda x: jvp(f, (x,), (D,))[1])(X), H @ D)
    near(grad(lambda x: grad(f)(x) @ D)(X), H @ D)
    near(vjp(grad(f), X)[1](D)[0], H @ D)
    near(jvp(lambda x: jvp(f, (x,), (D,))[1], (X,), (D,))[1], D @ (H @ D))


def test_third_order_mixed():
    want = grad(lambda x: D @ hessian(f)(x) @ D)(X)
    near(jvp(lambda x: jvp(grad(f), (x,), (D,))[1], (X,), (D,))[1], want)
    near(jvp(lambda x: grad(lambda y: jvp(f, (y,), (D,))[1])(x), (X,), (D,))[1], want)
    near(grad(lambda x: jvp(lambda y: jvp(f, (y,), (D,))[1], (x,), (D,))[1])(X), want)


def test_perturbations_are_kept_apart():
    """x * d/dy (x*y) is x*x: the inner derivative still depends on the outer variable."""
    one, x = torch.tensor(1.0), torch.tensor(3.0)
    assert grad(lambda x: x * grad(lambda y: x * y)(one))(x).item() == 6
    assert jvp(lambda x: x * jvp(lambda y: x * y, (one,), (one,))[1], (x,), (one,))[1].item() == 6
    assert jvp(lambda x: x * grad(lambda y: x * y)(one), (x,), (one,))[1].item() == 6
    assert grad(lambda x: x * jvp(lambda y: x * y, (one,), (one,))[1])(x).item() == 6
    # The classic: d/dx (x * d/dy (x + y)) = 1.
    assert jvp(lambda x: x * jvp(lambda y: x + y, (one,), (one,))[1], (x,), (one,))[1].item() == 1


def test_a_caller_that_records_gets_a_graph():
    w = torch.tensor(2.0, requires_grad=True)
    x = torch.tensor(3.0, requires_grad=True)
    g = grad(lambda x: w * x * x)(x)
    assert g.requires_grad
    g.backward()
    assert (w.grad.item(), x.grad.item()) == (6, 4)
    with torch.no_grad():
        assert not grad(lambda x: w * x * x)(x).requires_grad
    assert not grad(lambda x: x * x)(torch.tensor(3.0)).requires_grad
    assert x.grad.item() == 4


def test_arguments_and_values():
    def loss(params, k):
        return (params["w"] * params["b"][0]).sum() * k, params["w"] + 1

    params = {"w": X, "b": [D]}
    (gradient, aux), full = grad(loss, has_aux=True)(params, 2), grad_and_value(loss, has_aux=True)
    near(gradient["w"], 2 * D)
    near(gradient["b"][0], 2 * X)
    near(aux, X + 1)
    assert not aux.requires_grad
    _, (value, _) = full(params, 2)
    near(value, 2 * (X @ D))
    by_both = grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(X, D)
    near(by_both[0], D)
    near(by_both[1], X)


def test_each_result_is_in_the_graph_that_it_is_in():
    """A result beside another, and a gradient, are each recorded where they lead further."""
    w, y = torch.tensor(2.0, requires_grad=True), torch.ones(3, dtype=torch.double)

    def both(x):
        return (x * x).sum(), (x * w, x * 2, w, x)

    for _, aux in grad(both, has_aux=True)(X), vjp(both, X, has_aux=True)[0::2]:
        assert [v.requires_grad for v in aux] == [True, False, True, False]
    with torch.no_grad():
        found = vjp(both, X, has_aux=True)[2]
    assert [v.requires_grad for v in found] == [False, False, True, False]
    assert torch.autograd.grad(aux[0].sum(), w)[0].item() == 6
    assert [v.requires_grad for v in vjp(lambda x: (x.sin(), x * w), X)[0]] == [False, True]
    assert not grad(lambda x: (x * x).sum() + w)(X).requires_grad
    assert not hessian(lambda x: (x**3 + x * w).sum())(X).requires_grad
    assert hessian(lambda x: (x**3 * w).sum())(X).requires_grad
    for transform in grad, jacrev, lambda f, **_: lambda x: vjp(f, x, has_aux=True)[1:]:
        found = transform(lambda x: (y.sum(), x * 2), has_aux=True)
        beside = torch.func.linearize(lambda x, found=found: found(x)[1], X)[1]
        near(beside(D), 2 * D)


def test_vjp_and_jvp_of_several():
    def g(x, y):
        return x * y, {"s": x.sum()}

    (first, _), pull = vjp(g, X, D)
    near(first, X * D)
    by_x, by_y = pull((D, {"s": torch.tensor(10.0, dtype=torch.double)}))
    near(by_x, D * D + 10)
    near(by_y, D * X)
    _, (t1, t2) = jvp(g, (X, D), (D, X))
    near(t1, D * D + X * X)
    near(t2["s"], D.sum())
    _, pull, aux = vjp(lambda x: (x * 2, x * 3), X, has_aux=True)
    near(aux, X * 3)
    near(pull(D)[0], 2 * D)
    _, _, aux = jvp(lambda x: (x * 2, x * 3), (X,), (D,), has_aux=True)
    near(aux, X * 3)


def test_jacobians_of_several():
    def g(x, y):
        return x * y[0], y @ y

    for mode in (jacrev, jacfwd):
        (a, b), (c, d) = mode(g, argnums=(0, 1))(X, D)
        assert [tuple(t.shape) for t in (a, b, c, d)] == [(3, 3), (3, 3), (3,), (3,)]
        near(d, 2 * D)
        near(c, torch.zeros(3, dtype=torch.double))
        near(a, torch.diag(torch.ones(3, dtype=torch.double)))


def test_a_function_that_ignores_its_argument():
    near(grad(lambda x: torch.tensor(1.0))(X), torch.zeros(3, dtype=torch.double))
    near(jacfwd(lambda x: D)(X), torch.zeros(3, 3, dtype=torch.double))
    near(jvp(lambda x: D, (X,), (D,))[1], torch.zeros(3, dtype=torch.double))


def test_detach_and_writes_under_jvp():
    near(jvp(lambda x: x * x.detach(), (X,), (D,))[1], X * D)

    def written(x):
        y = x * 1
        y[0] = x[1] * x[2]
        y += x
        return y

    near(jvp(written, (X,), (D,))[1], jacrev(lambda x: torch.stack(
        [x[1] * x[2] + x[0], 2 * x[1], 2 * x[2]]))(X) @ D)  # fmt: skip


def test_what_is_refused():
    with pytest.raises(Fault, match="scalar") as fault:
        grad(lambda x: x * x)(X)
    assert fault.value.code == "E0403"
    with pytest.raises(Fault) as fault:
        grad(lambda x: (x.sum(), x))(X)
    assert fault.value.code == "E0403"
    with pytest.raises(Fault) as fault:
        jvp(f, (X,), (torch.ones(2),))
    assert fault.value.code == "E0301"
    with pytest.raises(RuntimeError, match="no imaginary part"):
        jvp(f, (X,), (X * 1j,))
    with pytest.raises(Fault) as fault:
        jvp(f, (X,), ())
    assert fault.value.code == "E0302"


def test_what_escapes_from_an_inner_level_keeps_the_outer_derivative():
    def kept(x):
        escaped = []
        jvp(lambda y: escaped.append(y * x) or y, (x * 2,), (x,))
        return escaped[0]

    uses = {
        "itself": lambda z, x: z,
        "read": lambda z, x: z * x + torch.where(z > 3, z, x),
        "written to": lambda z, x: z.mul_(x),
        "written": lambda z, x: (x * 1).copy_(z),
        "by jvp": lambda z, x: jvp(lambda q: q * z * q, (x,), (x,))[1],
        "by grad": lambda z, x: grad(lambda q: (q * z * q).sum())(x),
        "of it": lambda z, x: jvp(lambda q: q * x * q, (z,), (x,))[1],
        "by vmap": lambda z, x: torch.vmap(lambda q: q * z)(x),
    }
    for use in uses.values():
        plain = torch.autograd.functional.jacobian(lambda x, use=use: use(2 * x * x, x), X)
        for way in (jacfwd, jacrev):
            near(way(lambda x, use=use: use(kept(x), x))(X), plain)

    def written(x):
        escaped = []
        hessian(lambda y: (escaped.append(x.clone().mul_(y)) or escaped[-1]).sum())(D)
        return escaped[0] * x

    near(jacrev(written)(X), (2 * X * D).diag())
    with forward_ad.dual_level():
        z = forward_ad.make_dual(X, D) * X
    assert z.numpy().tolist() == [1.0, 4.0, 9.0]


def test_what_escapes_from_an_ended_transform_is_a_constant():
    kept = []

    def leaks(z):
        kept.append(z * 2)
        return (z * z).sum()

    for way in (grad(leaks), jacrev(leaks), lambda x: vjp(leaks, x), grad_and_value(leaks)):
        way(X)
        z, written = kept.pop(), torch.ones(3).double()
        y, bystander = z * 2, (X.clone().requires_grad_() * z).sum()
        assert z.requires_grad and not z.is_leaf and bystander.requires_grad
        for constant in (y, torch.stack([z]), written.add_(z), z[0], y * y):
            assert not constant.requires_grad and constant.is_leaf and constant.grad_fn is None
        assert y.numpy() is not None and "grad_fn" not in repr(y)
        (y.requires_grad_() * z).sum().backward()
        near(y.grad, z)

    def around(x):
        grad(leaks)(torch.ones(3).double())
        grad(leaks)(x)
        assert [(v * 2).requires_grad for v in kept] == [False, True]
        return (kept[0] * kept[1]).sum()

    near(grad(around)(X), torch.full((3,), 4.0))
    assert not any((v * 2).requires_grad for v in kept)


def test_a_graph_of_a_leaf_made_inside_is_one_inside_a_tangent_too():
    """functional.jvp differentiates by a cotangent of its own, which x alone does not lead to."""
    for h in (lambda a: a * 2, lambda a: a.cumsum(0), lambda a: a * a, lambda a: a.sum() + a):

        def s(x, h=h):
            pushed = torch.autograd.functional.jvp(h, x, x, create_graph=True)[1]
            return (pushed**2).sum()

        want = grad(lambda x, s=s: grad(s)(x) @ D)(X)
        near(jvp(grad(s), (X,), (D,))[1], want)


def _flags(*values):
    return "".join("r" if v.requires_grad else "l" if v.is_leaf else "?" for v in values)


@family("use, expected", [
    # As PyTorch 2.13: what a function computes from values of the transforms around is constant.
    (lambda y, z, x: y * (z if z.requires_grad else x), 1.0),
    (lambda y, z, x: y * (10 if _flags(z, x, y, y * z, z.data) == "lrrrl" else 1), 0.0),
    (lambda y, z, x: y * (x if z.grad_fn is None and y.is_leaf else 1), 1.0),
    (lambda y, z, x: z.register_hook(lambda g: g) and y, "doesn't require gradient"),
    (lambda y, z, x: torch.autograd.grad(z, x)[0] * y, "element 0 of tensors does not require"),
    (lambda y, z, x: torch.autograd.grad(z * y, z)[0] * y, "does not require grad"),
    (lambda y, z, x: torch.autograd.grad(z * y, x)[0] * y, "not have been used in the graph"),
    (lambda y, z, x: torch.autograd.grad(z * y * y, y)[0] * y * x, 250.0),
    (lambda y, z, x: F.embedding(torch.tensor([0, 0]), torch.stack([z])[None],
                                 scale_grad_by_freq=True).sum() * y, 10.0),
])  # fmt: skip
def test_a_constant_of_an_inner_transform(use, expected):
    def outer(x):
        return grad(lambda y: use(y, x * x, x))(x)

    if isinstance(expected, str):
        with pytest.raises(RuntimeError, match=expected):
            grad(outer)(torch.tensor(5.0))
    else:
        assert grad(outer)(torch.tensor(5.0)).item() == expected


def test_what_leads_out_of_an_inner_transform():
    x = torch.tensor([1.5, 2.0], requires_grad=True)

    def used(y):
        return torch.autograd.grad((x * x * y).sum(), x)[0].sum()

    with pytest.raises(RuntimeError, match="not have been used"):
        hessian(used)(X[:2])

    def apart(y):  # the data of y is a constant to the transform that differentiates by y
        _, found = vjp(lambda z: z * y.data, y)[1](y)[0], y.data * y.data
        return (y * (1 if found.requires_grad else 2)).sum()

    assert grad(apart)(x).tolist() == [2.0, 2.0]
    jvp(lambda t: checkpoint(lambda q: q * q, x * 2, use_reentrant=False) * t, (X[:2],), (X[:2],))[
        1
    ].sum().backward()
    near(x.grad, 8 * x * X[:2])

    assert grad(lambda y, z: y * (z if z.requires_grad else 3))(X[0], x[0]).item() == 3.0
    hidden = []

    def unrecorded(y):  # a batch that the inner function does not show that it captures
        hidden[:] = [y]
        with torch.no_grad():
            return vjp(lambda z: hidden[0] + 2, X)[1](y)[0].sum()

    assert hessian(unrecorded)(X).tolist() == [[0.0] * 3] * 3


def test_a_checkpoint_in_a_dual_level():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)

    def f(x):
        return checkpoint(lambda a, b: a.sin() * b, x, w, use_reentrant=False)

    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(f(forward_ad.make_dual(x, torch.ones(2)))).tangent
        by_x, by_w = torch.autograd.grad(tangent.sum(), (x, w))
    near(by_x, -x.sin() * w)
    near(by_w, x.cos())
    near(torch.func.linearize(f, x)[1](torch.ones(2)), x.cos() * w)


PARTS = (0, -1, slice(None), slice(None, None, 2), None, ..., [0, 1], "mask", "number")
"""A mask and a 0-d tensor are made where they are used."""


def test_numbers_among_lists_select_first_in_every_transform():
    """NumPy counts a number beside a list as a list: ``x[0, :, [0, 1]]`` had its dimensions turned
    in forward mode and under vmap, without an error where they were of one size."""
    known = {"mask": torch.tensor([True, False, True]), "number": torch.tensor(1)}
    x = (torch.arange(54.0, dtype=torch.double) + 1).reshape(3, 3, 2, 3) / 10
    both, rng, kept = torch.stack([x, x * 2]), np.random.default_rng(0), 0
    for _ in range(90):
        drawn = [PARTS[i] for i in rng.integers(len(PARTS), size=rng.integers(1, 5))]
        index = tuple(known.get(p, p) if isinstance(p, str) else p for p in drawn)

        def read(x, index=index):
            picked = x[index]
            return picked**2 * torch.arange(picked.numel(), dtype=x.dtype).reshape(picked.shape)

        def write(x, index=index):
            y = x * 1
            y[index] += read(x, index)
            return y * x

        for function in (read, write):
            try:
                whole = torch.stack([function(row) for row in both])
            except (IndexError, RuntimeError):
                continue  # no index of x
            kept += 1
            near(torch.vmap(function)(both), whole)
            near(jacfwd(function)(x), jacrev(function)(x))
    assert kept > 90


@pytest.mark.parametrize(
    "turn",
    [
        lambda y, x: y.sin() + y.data * 0.01,
        lambda y, x: [z := y.sin(), z.data.mul_(0.99)][0],
        lambda y, x: (y * 0.5 + x, y.register_hook(lambda g: g))[0],
    ],
)
def test_a_loop_that_leaves_the_inner_graph_in_every_turn_takes_linear_time(turn):
    """What is behind a node was found by a walk of all of it in each turn."""
    looked = []

    def inner(x):
        y = x * 1
        for _ in range(1500):
            y = turn(y, x)
        behind = transformed.by[-1].behind[1]
        looked.append(0 if behind is None else len(behind))
        return y

    begun = time.thread_time()
    grad(lambda a: grad(inner)(a) * a)(torch.tensor(0.3, dtype=torch.double))
    assert time.thread_time() - begun < 8  # it was 20 s and more
    assert looked[0] > 1500
