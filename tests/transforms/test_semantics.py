"""torch.func's small print: vjp again, argnums, empty inputs, whole numbers in a batch, strict."""

from __future__ import annotations

import copy
import tracemalloc
from itertools import product

import numpy as np
import pytest

import gradcli as torch
import gradcli.nn.functional as F
from gradcli.autograd import forward_ad
from gradcli.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from tests.support.families import family

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.double)
T = torch.tensor([1.0, 0.5, 0.25], dtype=torch.double)


def near(found, want):
    np.testing.assert_allclose(found.detach().numpy(), want.detach().numpy(), rtol=1e-12)


def test_vjp_is_differentiated_by_its_cotangent():
    _, pull = vjp(torch.sin, X)
    found = grad(lambda c: pull(c)[0].sum())(T)
    near(found, X.cos())
    assert not found.requires_grad
    near(jvp(lambda c: pull(c)[0], (T,), (X,))[1], X * X.cos())
    near(vmap(lambda c: pull(c)[0])(torch.stack([T, X])), torch.stack([T, X]) * X.cos())
    c = T.clone().requires_grad_()
    pull(c)[0].sum().backward()
    near(c.grad, X.cos())
    assert not pull(T)[0].requires_grad and pull(c, create_graph=True)[0].requires_grad
    assert not pull(c, create_graph=False)[0].requires_grad


@pytest.mark.parametrize("f", [torch.sin, lambda x: (x * x, x.exp())[0], lambda x: x.unbind()[1]])
def test_hooks_and_passes_of_the_caller_are_none_of_the_pull(f):
    x, seen = X.clone().requires_grad_(), []
    value, pull = vjp(f, x)
    want = vjp(f, X)[1](torch.ones_like(value.detach()))[0]
    value.register_hook(lambda g: seen.append("value") or 10 * g)
    value.grad_fn.register_prehook(lambda gradients: seen.append("node"))
    value.retain_grad()
    near(pull(torch.ones_like(value))[0].detach(), want)
    assert not seen and value.grad is None
    value.sum().backward()
    near(x.grad, 10 * want)
    assert seen == ["value", "node"]
    near(pull(torch.ones_like(value))[0].detach(), want)


def test_vjp_made_where_nothing_is_recorded():
    x = X.clone().requires_grad_()
    with torch.no_grad():
        value, pull = vjp(torch.sin, x)
    assert not value.requires_grad
    near(torch.autograd.grad(pull(T)[0].sum(), x)[0], -X.sin() * T)
    with torch.no_grad():
        _, pull = vjp(torch.sin, X)
        assert not pull(T)[0].requires_grad
    near(grad(lambda c: pull(c)[0].sum())(T), X.cos())


@pytest.mark.parametrize("transform", [grad, jacrev, jacfwd, hessian])
@pytest.mark.parametrize(("argnums", "said"), [
    ((0, 0), "must be unique"), ((0, -2), "must be unique"), (2, "only 2 positional inputs"),
    ((), "non-empty"), ("a", "argnums must be int"), ([0], "argnums must be int"),
    ((0, 1.0), "argnum must be int"),
])  # fmt: skip
def test_argnums_that_are_refused(transform, argnums, said):
    with pytest.raises(RuntimeError, match=said):
        transform(lambda a, b: (a * b).sum(), argnums=argnums)(X, T)


def test_argnums_count_back():
    near(grad(lambda a, b: (a * b * b).sum(), argnums=-1)(X, T), 2 * X * T)


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_empty_inputs(transform):
    assert tuple(transform(lambda a: a * a)(torch.zeros(0)).shape) == (0, 0)
    assert tuple(transform(lambda a: a.sum())(torch.zeros(0, 2)).shape) == (0, 2)
    by_a, by_b = transform(lambda a, b: b * 2, argnums=(0, 1))(torch.zeros(0), X)
    assert tuple(by_a.shape) == (3, 0)
    near(by_b, 2 * torch.eye(3, dtype=torch.double))


def test_jacfwd_runs_its_function_once():
    runs = []

    def function(a, b):
        runs.append(1)
        return a * b, a.sum()

    (by_a, by_b), (sum_by_a, sum_by_b) = jacfwd(function, argnums=(0, 1))(X, T)
    assert len(runs) == 1
    near(by_a, torch.diag(T))
    near(by_b, torch.diag(X))
    near(sum_by_a, torch.ones(3))
    near(sum_by_b, torch.zeros(3))


def test_options():
    near(jacrev(lambda a: a * a, chunk_size=2)(X), torch.diag(2 * X))
    with pytest.raises(ValueError, match="chunk_size"):
        jacrev(lambda a: a * a, chunk_size=0)
    with pytest.raises(RuntimeError, match="randomness"):
        jacfwd(lambda a: a * torch.rand(3))(X)
    assert tuple(jacfwd(lambda a: a * torch.rand(3), randomness="same")(X).shape) == (3, 3)
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        jvp(lambda a: torch.ones(2), (X,), (T,), strict=True)
    near(jvp(lambda a: torch.ones(2), (X,), (T,))[1], torch.zeros(2))


A = torch.tensor(np.sin(np.arange(12.0)).reshape(4, 3))
WHERE = torch.tensor([[0, 2], [1, 1], [2, 0], [0, 0]])
LOGITS = torch.tensor(np.cos(np.arange(24.0)).reshape(4, 2, 3))


@family("function, values", [
    (lambda x, i: x[i], A), (lambda x, i: x[i[0]], A), (lambda x, i: x.gather(0, i), A),
    (lambda x, i: x.take(i), A), (lambda x, i: x.index_select(0, i), A),
    (lambda x, i: torch.take_along_dim(x, i, 0), A), (lambda x, i: x.scatter(0, i, 0.5), A),
    (lambda x, i: x.scatter(0, i, 0.5, reduce="add"), A),
    (lambda x, i: x.scatter_add(0, i, x[:2]), A), (lambda x, i: x.index_add(0, i, x[:2]), A),
    (lambda x, i: x.index_copy(0, i[:1], x[1:2]), A), (lambda x, i: x.index_fill(0, i, 2.0), A),
    (lambda x, i: F.cross_entropy(x, i), LOGITS), (lambda x, i: F.nll_loss(x, i), LOGITS),
    (lambda x, i: F.cross_entropy(x, i, reduction="none", label_smoothing=0.1), LOGITS),
    (lambda x, i: F.cross_entropy(x, i, weight=torch.tensor([1.0, 2.0, 3.0]).double()), LOGITS),
    (lambda x, i: F.embedding(i, x.reshape(3, 2)), torch.cat([A, A], 1)),
    (lambda x, i: F.one_hot(i, 3) * x, A[:, None, :].expand(4, 2, 3)),
])  # fmt: skip
def test_whole_numbers_that_differ_along_the_batch(function, values):
    want = torch.stack([function(x, i) for x, i in zip(values, WHERE, strict=True)])
    near(vmap(function)(values, WHERE), want)
    shared = torch.stack([function(values[0], i) for i in WHERE])
    near(vmap(function, in_dims=(None, 0))(values[0], WHERE), shared)

    def one(x, i):
        return (function(x, i) ** 2).sum()

    slopes = torch.stack([grad(one)(x, i) for x, i in zip(values, WHERE, strict=True)])
    near(vmap(grad(one))(values, WHERE), slopes)
    near(vmap(jacfwd(one))(values, WHERE), slopes)
    near(grad(lambda v: vmap(one)(v, WHERE).sum())(values), slopes)


def test_one_hot_needs_to_know_how_many():
    with pytest.raises(RuntimeError, match="num_classes"):
        vmap(F.one_hot)(WHERE)


@family("function", [
    lambda x: torch.zeros_like(x) + x, lambda x: torch.ones_like(x, dtype=torch.float32) * x,
    lambda x: torch.full_like(x, 3.0) * x, lambda x: torch.empty_like(x).copy_(x),
    lambda x: x.to(torch.float64) * 2, lambda x: x.to("cpu") * 2,
    lambda x: x.to("cpu", torch.float64) * 2, lambda x: x.to(device="cpu", dtype=torch.double) * 2,
    lambda x: torch.ones(3).to(x) * x, lambda x: x.float().type_as(x) * 2,
    lambda x: x.new_zeros(3) + x, lambda x: x.new_full((3,), 2.0) * x,
    lambda x: x.new_tensor([1.0, 2.0, 3.0]) * x,
    lambda x: torch.zeros(3, device=x.device, dtype=x.dtype) + x,
    lambda x: x * x.size(0) * x.numel() * len(x), lambda x: x * 2 if torch.is_tensor(x) else None,
    lambda x: x.swapaxes(0, -1) * x.view_as(x), lambda x: x.clone().detach() * x,
])  # fmt: skip
def test_tensors_like_the_argument(function):
    want = torch.autograd.functional.jacobian(function, X)
    near(jacfwd(function)(X), want)
    near(jacrev(function)(X), want)
    near(jvp(function, (X,), (T,))[1], want @ T)
    near(grad(lambda x: function(x).sum())(X), want.sum(0))
    near(vmap(function)(torch.stack([X, T])), torch.stack([function(X), function(T)]))
    near(vmap(jacrev(function))(X[None]), want[None])


def test_what_stands_for_a_tensor_is_one_to_isinstance():
    seen = []

    def function(a):
        seen.append(isinstance(a, torch.Tensor) and isinstance(a.exp(), torch.Tensor))
        return (a * a).sum()

    grad(function)(X), jvp(function, (X,), (T,)), jacfwd(jacrev(function))(X)
    vmap(function)(torch.stack([X, T]))
    with torch.autograd.forward_ad.dual_level():
        function(torch.autograd.forward_ad.make_dual(X, T))
    assert seen == [True] * len(seen) and len(seen) >= 5
    assert not isinstance(2.0, torch.Tensor) and not isinstance(X, torch.nn.Parameter)
    assert isinstance(torch.nn.Parameter(X), torch.Tensor)


def test_what_is_refused_inside_a_transform():
    for transform in (
        grad, jacrev, jacfwd, lambda f: lambda x: jvp(f, (x,), (T,)), lambda f: lambda x: vjp(f, x),
        lambda f: lambda x: vmap(f)(x[None]),
    ):  # fmt: skip
        for use in (
            lambda a: a.requires_grad_(), lambda a: torch.ones(2).requires_grad_(),
            lambda a: a.retain_grad(), lambda a: (a * 2).sum().backward(),
            lambda a: torch.autograd.backward([a.sum()]), lambda a: a.numpy(),
            lambda a: np.asarray(a), lambda a: torch.autograd.functional.jacobian(torch.sin, a),
            copy.copy, copy.deepcopy,
        ):  # fmt: skip
            with pytest.raises(RuntimeError):
                transform(lambda a, use=use: (use(a), a.sum())[1])(X)
        assert transform(lambda a: a.sum() * torch.ones(2, requires_grad=True)[0]) is not None


def test_out_of_inference_mode():
    with torch.inference_mode():
        near(grad(lambda a: (a * a).sum())(X), 2 * X)
        near(jvp(lambda a: (a * a).sum(), (X,), (T,))[1], (2 * X * T).sum())
        near(jacfwd(jacrev(lambda a: (a**3).sum()))(X), torch.diag(6 * X))
        near(grad(lambda a: (a * a).sum())(torch.tensor([3.0])), torch.tensor([6.0]))
        found = [grad(lambda a: (a * a).sum())(X), jacrev(torch.sin)(X), vjp(torch.sin, X)[1](T)[0]]
        assert not any(g.is_inference() for g in found)

    def partly(a):
        with torch.inference_mode():
            constant = a * a
        return (a - constant).sum()

    near(grad(partly)(X), torch.ones(3))
    near(jacfwd(partly)(X), torch.ones(3))

    def seen(a):
        with torch.inference_mode():
            view = a[1:]
        return view * a[:1]

    near(jvp(seen, (X,), (T,))[1], T[1:] * X[:1] + X[1:] * T[:1])


def test_the_directions_of_a_hessian_do_not_hide_values():
    def branches(a):
        total = a.sum()
        return (a**3).sum() * (2 if total > 0 else 3) * float(total) / total.item()

    near(hessian(branches)(X), torch.diag(12 * X))
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(hessian(branches))(X[None])


@family("use", [lambda a: a + 1, lambda a: _Doubled.apply(a)])
def test_a_value_of_a_vmap_that_has_ended_is_refused(use):
    escaped = []
    vmap(lambda a: (escaped.append(a), a)[1])(X)
    with pytest.raises(RuntimeError, match="vmap that has ended"):
        use(escaped[0])


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def vmap(info, in_dims, x):
        return x * 2, in_dims[0]


def test_other_shapes_of_the_same_object():
    def turned(a):
        b = a.reshape(1, 3) * 2
        b.t_().unsqueeze_(0).squeeze_(0).transpose_(0, 1)
        return b @ b.t()

    for transform in (jacrev, jacfwd, lambda f: lambda x: vmap(jacfwd(f))(x[None])[0]):
        near(transform(turned)(X).reshape(3), 8 * X)


def test_what_prints_inside():
    def shown(a):
        texts.append(repr(a))
        return a.sum()

    texts = []
    vmap(grad(shown))(torch.ones(1, 2))
    grad(lambda a: vmap(shown)(a).sum())(torch.ones(1, 2))
    tracked, batch = "GradTrackingTensor(lvl={}, value=", "BatchedTensor(lvl={}, bdim=0, value="
    for text, (outer, inner) in zip(texts, [(tracked, batch), (batch, tracked)], strict=True):
        assert text == (
            f"{outer.format(2)}\n    {inner.format(1)}\n        tensor([[1., 1.]])\n    )\n)"
        )


def test_no_complex_jacobians():
    for transform in (jacrev, jacfwd):
        with pytest.raises(RuntimeError, match="Expected all inputs"):
            transform(lambda a: a)(torch.ones(2) * 1j)
        with pytest.raises(RuntimeError, match="Expected all outputs"):
            transform(lambda a: a * 1j)(X)


def test_functionalize_and_what_it_takes():
    x = torch.ones(2)
    near(torch.func.functionalize(lambda a: a.add_(1) * 2)(x), torch.full((2,), 4.0))
    asked = torch.func.functionalize(lambda a: a * 2 + int((a * 3).grad_fn is None))
    assert vjp(asked, x)[1](x)[0].tolist() == (x * 2).tolist()  # asked what it differentiates by
    near(x, torch.full((2,), 2.0))
    with pytest.raises(RuntimeError, match="captured"):
        torch.func.functionalize(lambda a: x.add_(a))(torch.ones(2))
    with pytest.raises(RuntimeError, match="invalid argument"):
        torch.func.functionalize(torch.sin, remove="nothing")


def test_a_dual_of_a_level_is_a_tensor_like_others():
    fwad = torch.autograd.forward_ad
    w = X.clone().requires_grad_()
    with fwad.dual_level():
        dual = fwad.make_dual(w, T)
        assert not dual.is_leaf and dual.requires_grad
        (dual * dual).sum().backward()
        own = fwad.make_dual(X, T)
        near(torch.tensor(own.numpy()), X)
        own.requires_grad_()
        (own**3).sum().backward()
        near(own.grad, 3 * X * X)
        constant = own.detach() * 1
        assert fwad.unpack_dual(constant).tangent is None
    near(w.grad, 2 * X)


def test_linearize_of_a_checkpoint_inside_vmap():
    def f(x):
        return torch.utils.checkpoint.checkpoint(lambda a: a.sin() * a, x, use_reentrant=False)

    x = torch.stack([X, X + 1])
    near(torch.func.linearize(vmap(f), x)[1](x), jvp(vmap(f), (x,), (x,))[1])


def test_what_a_function_of_hessian_kept_is_used_after_it():
    """The map over directions has ended: a value that is one for all of them has not."""

    def kept(x):
        found = []
        slopes = hessian(lambda q: (found.append(q * x), (q**3).sum())[1])(x)
        return slopes.sum() * found[-1].sum() + found[-1].prod()

    x = torch.tensor([1.0, 2.0], dtype=torch.double)
    near(kept(x), torch.tensor(94.0))
    near(grad(kept)(x), torch.tensor([74.0, 106.0]))
    near(jvp(kept, (x,), (x,))[1], torch.tensor(286.0))
    near(vmap(hessian(kept))(x[None])[0], torch.tensor([[68.0, 44.0], [44.0, 86.0]]))


def test_linearize_of_results_of_which_only_some_are_mapped_over():
    hidden = {}

    def f(i):
        hidden["i"] = i
        return linearize(lambda x: (x * hidden["i"], x, {"sum": x.sum()}), X)[1](T)

    mapped, own, rest = vmap(f)(torch.arange(2.0))
    near(mapped, torch.stack([0 * T, T]))
    near(own, T.expand(2, 3))
    near(rest["sum"], T.sum().expand(2))


def test_linearize_of_a_checkpoint_that_hides_a_part_of_what_it_captures():
    def f(x):
        def inside(w):
            with torch.no_grad():
                scale = x * x
            return (scale * w).sin() * x

        return torch.utils.checkpoint.checkpoint(inside, T, use_reentrant=False)

    near(torch.func.linearize(f, X)[1](W), jvp(f, (X,), (W,))[1])


def test_a_hook_inside_linearize():
    def f(x):
        y = x * 0.5
        y.register_hook(lambda g: g * 2)
        return (y**3).sum()

    value, push = torch.func.linearize(grad(f), X)
    assert value.is_leaf and not value.requires_grad
    near(push(T), jvp(grad(f), (X,), (T,))[1])


def test_linearize_that_has_to_run_its_function_again_does_so_at_the_same_point():
    def f(x):
        x.mul_(2)
        return custom(lambda ctx, g: g * 2)(x)

    _, push = torch.func.linearize(f, X.clone())
    with pytest.raises(RuntimeError, match="its argument was written to"):
        push(T)


def test_views_inside():
    def f(x):
        seen.append((x * 1)._base is None and x[1:]._is_view() is (x[1:]._base is not None))
        return (x * x).sum()

    seen: list = []
    jvp(f, (X,), (T,)), vmap(f)(torch.stack([X, X])), hessian(f)(X)
    assert all(seen)


def test_linearize_where_a_slope_is_not_a_number():
    def f(b):
        return b ** torch.tensor([0.5, 2.0])

    at, along = torch.tensor(-4.0), torch.tensor(1.0)
    assert torch.equal(linearize(f, at)[1](along).isnan(), torch.tensor([True, False]))
    near(linearize(f, at)[1](along)[1], jvp(f, (at,), (along,))[1][1])


def test_a_complex_tangent_of_real_numbers_is_refused():
    with pytest.raises(RuntimeError, match="no imaginary part"):
        jvp(lambda x: x * 2, (X,), (X * 1j,))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(RuntimeError, match="no imaginary"):
        torch.autograd.forward_ad.make_dual(X, X * 1j)
    near(jvp(lambda x: x * 2, (X * 1j,), (X,))[1].real, 2 * X)


def test_a_memory_format_inside_a_transform():
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    out = jvp(lambda a: a.to(torch.float64, memory_format=torch.channels_last), (x,), (x,))[1]
    assert out.stride() == (24, 1, 8, 2) and torch.equal(out, x.double())
    out = jvp(lambda a: a.contiguous(memory_format=torch.channels_last), (x,), (2 * x,))[1]
    assert out.stride() == (24, 1, 8, 2) and torch.equal(out, 2 * x)
    with pytest.raises(RuntimeError, match="inside of vmap"):
        vmap(lambda a: a.contiguous(memory_format=torch.channels_last))(x[None])


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y.mul_(7), lambda y: y.__setitem__(0, 5.0), lambda y: y.copy_(X),
        lambda y: y.detach_(), lambda y: y.unsqueeze_(0),
    ],
)  # fmt: skip
def test_vjp_is_that_of_its_function_whatever_becomes_of_the_value(change):
    def f(x):
        y, pull = vjp(torch.sin, x)
        change(y)
        return pull(torch.ones_like(X))[0]

    near(f(X.clone().requires_grad_()), X.cos())
    near(grad(lambda x: f(x).sum())(X), -X.sin())
    near(jvp(f, (X,), (T,))[1], -X.sin() * T)
    near(vmap(grad(lambda x: f(x).sum()))(torch.stack([X, T])), -torch.stack([X, T]).sin())


@pytest.mark.parametrize("function", [lambda x: (x, x + 0), lambda x: (x.clone(), x[:])])
def test_what_linearize_gives_has_memory_of_its_own(function):
    along = T.clone().requires_grad_()
    found = linearize(function, X)[1](along)
    for given in found:
        assert given.requires_grad and not given.is_leaf
        given.mul_(3)
    near(along, T)
    for given in found:
        near(given, 3 * T)


def test_values_of_transforms_are_compared_with_anything():
    def f(x):
        assert (x == None) is False and (x != None) is True and x not in ("x", [])  # noqa: E711
        with pytest.raises(TypeError):
            x < None  # noqa: B015
        return x * x

    both = lambda x: f(x).sum()  # noqa: E731
    for transform in (grad(both), vmap(f), vmap(grad(f)), lambda x: jvp(f, (x,), (x,)), jacfwd(f)):
        transform(X.clone())


def test_linearize_runs_its_function_once():
    calls = []

    def f(x):
        calls.append(1)
        y = F.dropout(x * x, 0.5)
        with torch.no_grad():  # forward mode knows no such thing
            z = y * x
        return y, z.sum()

    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    (y, _), push = torch.func.linearize(f, x)
    kept = 2 * (y != 0)
    for t in (torch.ones(4), x):
        along, total = push(t)
        near(along, 2 * x * t * kept)
        near(total, (3 * x**2 * t * kept).sum())
    assert len(calls) == 1
    near(vmap(lambda t: push(t)[0])(torch.eye(4)), torch.diag(2 * x * kept))
    near(grad(lambda x: torch.func.linearize(lambda y: (y**3).sum(), x)[1](x))(x), 9 * x**2)
    for tangents in ((), (torch.ones(3),), (torch.ones(4),) * 2):
        with pytest.raises(RuntimeError):
            push(*tangents)
    for wrong, error in ((2.0, AttributeError), (torch.ones(2).long(), ValueError)):
        with pytest.raises(error):
            torch.func.linearize(f, wrong)


def masked(x):
    y = x * x
    y[x.detach() > 0] = 0.5
    return (y * y[x > -2]).sum() + y.masked_select(x < 0).sum()


def looked_at(x):
    y = F.gelu(x)
    with torch.no_grad():
        y.view(-1)
    return (y.cumsum(0) * x).sum()


@pytest.mark.parametrize("f", [masked, looked_at])
def test_all_hessians_agree(f):
    x = torch.tensor([0.5, -0.3, 1.0], dtype=torch.float64)
    wanted = jacrev(jacrev(f))(x)
    for found in (hessian(f)(x), jacfwd(jacfwd(f))(x), jacrev(jacfwd(f))(x)):
        near(found, wanted)


def test_outputs_that_hold_no_argument_have_rows_of_zeros():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    found = torch.autograd.functional.jacobian(
        lambda x: (x * 2, weight * 3), torch.ones(2), vectorize=True
    )
    near(found[0], 2 * torch.eye(2))
    near(found[1], torch.zeros(2, 2))


def test_scatter_of_a_source_wider_than_its_index():
    def f(x):
        return x[:1].scatter(0, torch.tensor([0]), x * 2)

    x = torch.tensor([1.0, 2.0])
    near(jacfwd(f)(x), torch.tensor([[2.0, 0.0]]))
    near(jacfwd(f)(x), jacrev(f)(x))


def detached_in_place(y):
    return (y * 1).detach_()


@family("constant", [lambda y: y.data, lambda y: y.clone().data, detached_in_place])
def test_data_is_constant_to_the_innermost_transform_alone(constant):
    def f(y):
        return (constant(y) * y * y).sum()

    near(grad(f)(X), 2 * X**2)
    near(jvp(f, (X,), (T,))[1], (2 * X**2 * T).sum())
    for second in (hessian(f), jacrev(jacrev(f)), jacrev(grad(f)), jacfwd(grad(f))):
        near(second(X), torch.diag(4 * X))
    near(grad(lambda x: jvp(f, (x,), (T,))[1])(X), 4 * X * T)
    near(jvp(lambda x: jvp(f, (x,), (T,))[1], (X,), (T,))[1], (4 * X * T * T).sum())
    near(vmap(grad(f))(torch.stack([X, T])), 2 * torch.stack([X, T]) ** 2)
    x = X.clone().requires_grad_()
    near(torch.autograd.grad(grad(f)(x).sum(), x)[0], 4 * X)
    near(linearize(grad(f), X)[1](T), 4 * X * T)
    # A dual level is no transform: what is outside of it is out of what surrounds it too.
    near(grad(lambda x: linearize(f, x)[1](T))(X), 2 * X * T)
    forward = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    near(torch.autograd.functional.hessian(f, X, **forward), torch.diag(2 * X))


def hooked(u):
    v = u * 1
    v.register_hook(lambda g: g * 0)
    return v


@pytest.mark.parametrize("constant", [lambda u: u.data, detached_in_place, hooked])
def test_a_pass_inside_a_function_is_one_of_its_transform(constant):
    def f(x):
        u = x * 2
        return torch.autograd.grad((constant(u) * u).sum(), u, create_graph=True)[0]

    near(torch.func.vjp(f, X)[0], 2 * X)
    near(grad(lambda x: torch.func.vjp(f, x)[0].sum())(X), 0 * X + 2)
    near(grad(lambda x: grad(lambda z: (f(z) * z).sum())(x).sum())(X), 0 * X + 2)


def made_inside_and_detached(y):
    return (y * 3).detach_()


@pytest.mark.parametrize("data", [lambda y: y.data, lambda y: y[:].data, lambda y: y.data[:]])
@pytest.mark.parametrize(("write", "want"), [
    (lambda z: z.mul_(3), [120.0, 240.0, 360.0]),
    (lambda z: z.copy_(torch.tensor([4.0, 5.0, 6.0])), [16.0, 20.0, 24.0]),
])  # fmt: skip
def test_a_write_to_data_is_constant_to_the_innermost_transform_alone(data, write, want):
    def f(x):
        y = x * 2
        write(data(y))
        return (y * y * x).sum()

    near(hessian(f)(X), torch.diag(torch.tensor(want)))
    near(jacrev(jacrev(f))(X), torch.diag(torch.tensor(want)))
    near(jvp(grad(f), (X,), (T,))[1], torch.tensor(want) * T)


@family("make, write, want", [
    (lambda x: x * 1, lambda y, x: y.data.copy_(x * x), [10.0, 56.0, 162.0]),
    (lambda x: x * 1, lambda y, x: y.data.mul_(y * x), [14.0, 256.0, 1674.0]),
    (lambda x: X * 0, lambda y, x: y.data.copy_(x * x), [4.0, 32.0, 108.0]),
    (lambda x: torch.zeros(6).double()[::2], lambda y, x: y.data.add_(x * x), [4, 32, 108]),
    (lambda x: (x * 2).detach(), lambda y, x: y.data.copy_(y * x), [8.0, 64.0, 216.0]),
    (lambda x: X * 0, lambda y, x: y.data[1:].add_(x[1:]), [0.0, 4.0, 6.0]),
])  # fmt: skip
def test_a_write_of_values_of_a_transform_to_data(make, write, want):
    def f(x):
        y = make(x)
        write(y, x)
        return (y * y * x).sum()

    ways = [
        lambda: jvp(grad(f), (X,), (torch.ones_like(X),))[1], lambda: hessian(f)(X).diagonal(),
        lambda: linearize(grad(f), X)[1](torch.ones_like(X)),
        lambda: jacrev(grad(f))(X).diagonal(),
    ]  # fmt: skip
    for found in ways:
        try:
            near(found(), torch.tensor(want).double())
        except RuntimeError as fault:
            assert "`.data` is written" in str(fault) or "modified by an inplace" in str(fault)


@family(
    "part, make",
    product([lambda y: y, lambda y: y.view(1, 3)[:, 1:]], [lambda x: x, lambda x: x * 1]),
)
def test_a_write_to_data_of_what_was_used_leaves_its_place_in_the_graph(make, part):
    def f(x):
        y = make(x)
        z = y * y
        part(y).data.mul_(0.5)
        return z.sum()

    x = X.clone()
    part(x).mul_(0.5)
    for transform in (grad, jacrev, lambda f: lambda x: vmap(grad(f))(x[None])[0]):
        near(transform(f)(X.clone()), 2 * x)  # the product reads y as it is then
    for transform in (jacrev(jacrev(f)), hessian(f)):  # these would read what has gone
        with pytest.raises(RuntimeError, match=r"modified by an inplace|leaf Variable"):
            transform(X.clone())


@family("result", [torch.exp, torch.tanh, lambda x: x.softmax(0)])
def test_a_hook_that_changes_the_gradient_of_what_its_tangent_was_computed_from(result):
    def f(x, times, hook):
        y = result(x) * 1 if times else result(x)
        y.register_hook(hook)
        y.register_hook(lambda g: None)
        return (y * y * x).sum()

    for hook in (lambda g: g * 2, lambda g: g * g, lambda g: None):
        one, other = (grad(lambda x, t=t, h=hook: f(x, t, h)) for t in (False, True))
        want = jacrev(other)(X)
        pushed = vmap(linearize(one, X)[1])(torch.eye(3).double())
        for found in (jacfwd(one)(X), vmap(jacfwd(one))(X[None])[0], pushed.T):
            near(found, want)
        near(jacfwd(jacfwd(one))(X), jacfwd(jacfwd(other))(X))


@family("result", [torch.exp, torch.tanh, lambda x: x.softmax(0), torch.square])
def test_a_gradient_by_what_its_own_tangent_was_computed_from(result):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        y = result(forward_ad.make_dual(X.clone().requires_grad_(), T))
        (g,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
        near(forward_ad.unpack_dual(g).tangent, 6 * result(X) * jvp(result, (X,), (T,))[1])


def _second(create_graph, tangent_of):
    """The tangent of the gradient of a cube, where the direction is computed from the argument."""
    x = X.clone().requires_grad_()
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, tangent_of(x)) * 1
        y.retain_grad()
        loss = (y**3).sum()
        (g,) = torch.autograd.grad(loss, x, create_graph=create_graph, retain_graph=True)
        yield "grad", g
        yield "kept by grad", y.grad
        y.grad = None
        loss.backward(create_graph=create_graph)
        yield "kept by backward", y.grad
        if create_graph:
            yield "leaf", x.grad
    near(x.grad, 3 * X**2)  # and has no tangent outside
    assert type(x.grad) is torch.Tensor


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("tangent_of", [lambda x: 2 * X, lambda x: 2 * x, lambda x: x])
def test_gradients_in_a_dual_level_have_tangents(create_graph, tangent_of):
    for _, found in _second(create_graph, tangent_of):
        near(forward_ad.unpack_dual(found).primal, 3 * X**2)
        near(forward_ad.unpack_dual(found).tangent, 6 * X * tangent_of(X))


def test_no_gradient_reaches_a_view_that_was_made_under_no_grad():
    def f(x, **options):
        v = x * 2
        with torch.no_grad():
            w = v[:2]
        w.register_hook(lambda g: g * 3)
        (g,) = torch.autograd.grad((w.sin() * v[:2]).sum(), w, create_graph=True, **options)
        return (v**3).sum() if g is None else (g * v[1]).sum() + (v**3).sum()

    x = torch.tensor([1.0, 2.0, 3.0])
    for transform in (grad, jacrev, hessian, lambda f: jacrev(grad(f))):
        with pytest.raises(RuntimeError, match="not have been used"):
            transform(f)(x)
    for options in ({"allow_unused": True}, {"materialize_grads": True}):
        assert torch.equal(hessian(lambda x, o=options: f(x, **o))(x), torch.diag(48 * x))


@pytest.mark.parametrize("outer", ["forward-mode", "reverse-mode"])
def test_a_pass_where_nothing_is_recorded_keeps_the_graph_of_its_cotangent(outer):
    def f(x):
        v = x.detach().clone().requires_grad_()
        with torch.no_grad():
            with torch.enable_grad():
                s = (v * v * x).sum()
            (g,) = torch.autograd.grad(s, v, create_graph=True, grad_outputs=s)
        return g.sum()

    x = torch.tensor([0.3, 0.7])
    found = torch.autograd.functional.hessian(f, x, vectorize=True, outer_jacobian_strategy=outer)
    half = torch.outer(x, x * x)
    near(found, 2 * (half + half.T))


def test_a_hook_of_a_plain_tensor_is_shown_the_tangent_of_its_gradient():
    def f(x, y):
        h = y.sin()
        h.register_hook(lambda g: g * g)
        return (h * x).sum()

    def by_y(x):
        return grad(f, argnums=1)(x, X)

    want = 2 * X * T * X.cos()
    near(jvp(by_y, (X,), (T,))[1], want)
    near(vmap(lambda x, t: jvp(by_y, (x,), (t,))[1])(X[None], T[None])[0], want)
    y = X.clone().requires_grad_()
    with forward_ad.dual_level():
        (g,) = torch.autograd.grad(f(forward_ad.make_dual(X, T), y), y)
        near(forward_ad.unpack_dual(g).tangent, want)


def _squared(g):
    return g * g


def _by_a_pass(g):
    """9*g, by a pass with a hook of its own."""
    with torch.enable_grad():
        y = torch.ones(3, dtype=torch.double, requires_grad=True) * 1
        y.register_hook(_squared)
        z = y * 1
        return g * torch.autograd.grad(3 * z.sum(), y)[0]


@pytest.mark.parametrize(("hooks", "c", "p"), [([_squared] * 2, 1, 4), ([_by_a_pass], 9, 1)])
def test_hooks_in_a_dual_level_that_are_registered_twice_or_begin_passes(hooks, c, p):
    y = X.clone().requires_grad_()
    with forward_ad.dual_level():
        h = y.sin()
        for hook in hooks:
            h.register_hook(hook)
        (g,) = torch.autograd.grad((h * forward_ad.make_dual(X, T)).sum(), y)
        near(forward_ad.unpack_dual(g).primal, c * X**p * X.cos())
        near(forward_ad.unpack_dual(g).tangent, c * p * X ** (p - 1) * T * X.cos())


def test_a_hook_of_a_pullback_for_rows_inside_another_level():
    def mixed(u):
        def f(z):
            y = z * z
            y.register_hook(_squared)
            return y * u * u

        _, pull = vjp(f, X)
        return vmap(lambda r: jvp(lambda w: pull(r * w)[0], (X,), (T,))[1])(rows)

    rows = torch.stack((X, T, X + T))
    _, tangent = jvp(mixed, (X,), (T,))  # of 2*X*(r*w*u*u)**2 by w along T, then by u along T
    near(tangent, 16 * rows**2 * X**5 * T * T)


def test_a_hook_of_a_dual_inside_a_higher_level():
    def mixed(u):
        def f(z):
            y = z * u
            y.register_hook(_squared)
            return y * u

        _, pull = vjp(f, X)
        return jvp(lambda w: pull(X * w)[0], (X,), (T,))[1]

    near(jvp(mixed, (X,), (T,))[1], 6 * X**5 * T * T)  # of u*(X*w*u)**2


@family("hook", [
    lambda g, w: w * w, lambda g, w: g * w, lambda g, w: g.mul_(w) is None or None,
])  # fmt: skip
def test_a_hook_gives_a_tangent_where_the_pass_does_not_follow(hook):
    def pulled(w):
        def f(z):
            y = z * 2
            y.register_hook(lambda g: hook(g, w))
            return y

        return vjp(f, X)[1](X * 1)[0]

    with pytest.raises(NotImplementedError, match="a hook returned a value of a transform"):
        jvp(pulled, (X,), (T,))
    near(jvp(lambda w: pulled(w.detach()), (X,), (T,))[0], 2 * X * X)


def test_what_had_a_tangent_keeps_no_note_of_it():
    given = (X * 1.0).requires_grad_() * 2
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X * 1, given)
        y = (x * x)[1:]
        x.name = "mine"
    assert (vars(x), vars(y)) == ({"name": "mine"}, {})


def test_a_base_has_the_tangent_that_its_view_has_a_part_of():
    near(jvp(lambda x: (x * x)[1:]._base, (X,), (T,))[1], 2 * X * T)
    with forward_ad.dual_level():
        base = torch.zeros(3, dtype=torch.double)
        view = base[1:]
        view.copy_(forward_ad.make_dual(X, T)[1:])
        assert view._base is base
        near(forward_ad.unpack_dual(base).tangent, T * torch.tensor([0.0, 1.0, 1.0]).double())
        given = forward_ad.make_dual(X, T)
        assert given[1:]._base is X


def test_a_dual_of_a_view_keeps_its_tangent_where_the_tensor_gets_one():
    with forward_ad.dual_level():
        x, other = X.clone(), X * 2
        y = forward_ad.make_dual(x, T.clone())
        z = forward_ad.make_dual(x.detach(), T * 3)
        x[0] = y[0] * 5
        y.mul_(2), z.mul_(3)
        assert x.tolist() == y.tolist() == z.tolist() == [30.0, 12.0, 18.0]
        tangents = [forward_ad.unpack_dual(v).tangent for v in (x, y, z)]
        for found, want in zip(tangents, (T * T.new_tensor([5, 0, 0]), T * 2, T * 9), strict=True):
            near(found, want)
        y = forward_ad.make_dual(other, T.clone())
        with torch.no_grad():
            y.unsqueeze_(0)
        assert forward_ad.unpack_dual(y).tangent.shape == (1, 3)


def test_a_tangent_in_a_graph_shares_the_memory_that_was_given():
    e = X.clone().requires_grad_()
    for given in (e * 1, e):
        with forward_ad.dual_level():
            y = forward_ad.make_dual(X.clone(), given)
            with torch.set_grad_enabled(given is not e):
                given.mul_(2)
            near(
                (tangent := forward_ad.unpack_dual(y * y).tangent).detach(), 2 * X * given.detach()
            )
            near(
                torch.autograd.grad(tangent.sum(), e, retain_graph=True)[0],
                (4 - 2 * (given is e)) * X,
            )
            if given is not e:
                y.mul_(3)
                near(given.detach(), 6 * X)
                near(torch.autograd.grad(given.sum(), e)[0], 0 * X + 6)


def test_a_write_to_a_dual_whose_tangent_is_in_the_graph():
    x = X.clone().requires_grad_()
    x.register_hook(lambda g: None)
    along = x * 2
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x * 1, along)
        assert forward_ad.unpack_dual(y).tangent is along
        y.exp_()
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        near(forward_ad.unpack_dual(g).tangent, 8 * X * (2 * X).exp())


def test_what_outlives_a_dual_level_is_a_plain_tensor():
    x = X.clone().requires_grad_()
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, T) * 2
        v = y[1:]
        base = X.clone()
        parts = forward_ad.make_dual(base, T.clone()).split(1)
        base.copy_(x)  # which the parts cannot follow
    assert parts[0].tolist() == [1.0]
    assert type(y) is type(v) is torch.Tensor and v._base is y and "tangent" not in repr(y)
    y.mul_(3)
    v.sum().backward()
    near(x.grad, torch.tensor([0.0, 6.0, 6.0]).double())
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(y).tangent is None


def test_a_write_to_a_view_passes_by_its_hook_in_every_transform():
    def f(x, part, write):
        v = part(x * 1)
        v.register_hook(lambda g: g * 2)
        write(v)
        return (v * v).sum()

    for part, write, want in (
        (lambda y: y[...], lambda v: v.mul_(3), [9.0, 9.0, 9.0]),
        (lambda y: y[1:], lambda v: v.mul_(3), [0.0, 9.0, 9.0]),
        (lambda y: y[...], lambda v: v[0].mul_(3), [9.0, 1.0, 1.0]),
        (lambda y: y * 1, lambda v: v.mul_(3), [18.0, 18.0, 18.0]),
    ):

        def of(x, part=part, write=write):
            return f(x, part, write)

        diagonal = 2 * torch.tensor(want).double()
        for found in (grad(of)(X), vmap(grad(of))(X[None])[0], vjp(of, X)[1](X[0])[0]):
            near(found, diagonal * X)
        near(hessian(of)(X), torch.diag(diagonal))
        near(jvp(grad(of), (X,), (T,))[1], diagonal * T)


def test_a_write_to_data_of_a_view_with_a_hook_is_none_to_its_base():
    def f(x):
        y = x * 1
        v = y[...]
        v.register_hook(lambda g: g * 2)
        v.data.copy_(v)
        return (v * y).sum()

    near(grad(f)(X), 3 * X)
    near(vmap(grad(f))(X[None])[0], 3 * X)


def test_a_view_that_a_sibling_is_turned_in_place_beside_is_read_anew():
    def f(x):
        y = x * 1
        v, w = y[...], y[...]
        v.register_hook(lambda g: g * 2)
        w.unsqueeze_(0)
        return (v * v).sum()

    near(grad(f)(X), 2 * X)
    near(vmap(grad(f))(X[None])[0], 2 * X)
    near(hessian(f)(X), 2 * torch.eye(3))


@family("body, factor", [
    ("y.data.data.mul_(.5)", 2.5), ("y[...].data.data.mul_(.5)", 2.5),
    ("a = y.data; b = y.data; a.mul_(.5); y = y + b", 6),
    ("a = y.data; y.mul_(.5); y = y + a", 4), ("a = y.data; y[...].mul_(.5); y = y + a", 4),
    ("a = y.data; b = a.data; b.mul_(.5); y = y + a", 6),
])  # fmt: skip
def test_all_data_of_a_value_are_one_for_the_transforms_around(body, factor):
    names: dict = {}
    exec(f"def f(x):\n    y = x * 1; {body}\n    return (y * y * x).sum()", names)
    f = names["f"]
    want = torch.diag(factor * X)
    for found in (jacrev(grad(f))(X), hessian(f)(X), vmap(jacrev(grad(f)))(X[None])[0]):
        near(found, want)

    def outside(x):
        y = x * 1
        return grad(lambda z: (z * y.data.mul_(2)).sum())(x)

    for transform in (grad, lambda g: vmap(grad(g))):
        with pytest.raises(RuntimeError, match="captured Tensor"):
            transform(lambda x: outside(x).sum())(X[None])


def test_an_argument_that_is_recorded_already_is_asked_to_be():
    ask = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}
    found = torch.autograd.functional.hessian(lambda x: (x.requires_grad_() ** 2).sum(), X, **ask)
    near(found, 2 * torch.eye(3))


def test_what_a_function_sets_is_not_of_its_argument_or_the_callers():
    def turned_off(x):
        x.requires_grad = False
        return (x * x).sum()

    def turned_on(x):
        x.requires_grad = True
        return (x * x).sum()

    def detached(x):
        y = x.sin().sum()
        x.detach_()
        return y

    for cut in (lambda x: ((x * x).sum(), x.detach_())[0], grad(detached)):
        with pytest.raises(RuntimeError, match="does not require grad"):
            grad(cut)(X)
    near(grad(turned_off)(X), 0 * X)
    weight = torch.ones(3, requires_grad=True)
    for at in (X, X.clone().requires_grad_()):  # and what comes of it is a constant
        for cut in (lambda x: (x.detach_() * x).sum(), lambda x: (weight * x.detach_()).sum()):
            near(grad(cut)(at.clone()), 0 * X)
            near(hessian(cut)(at.clone()), torch.zeros(3, 3))
            near(grad(lambda x, cut=cut: grad(cut)(x * 1).sum())(at.clone()), 0 * X)
    near(grad(lambda x: vmap(turned_off)(x).sum())(X[None]), 2 * X[None])
    for transform in (lambda f: vmap(f)(X[None]), lambda f: jvp(f, (X,), (T,))):
        with pytest.raises(RuntimeError, match="cannot become a leaf"):
            transform(turned_on)
    captured = X.clone()
    with pytest.raises(RuntimeError, match="captured"):
        grad(lambda x: (x * captured.detach_()).sum())(X)
    with pytest.raises(RuntimeError, match="mutating directly with"):
        jvp(vmap(lambda x: setattr(captured, "data", X) or x), (X[None],), (X[None],))
    assert not X.requires_grad


def test_no_pass_leads_to_the_argument_of_a_transform_that_has_ended():
    kept, w = [], torch.ones(3).double().requires_grad_()
    for transform in (grad, jacrev, lambda f: lambda x: vjp(f, x)):
        transform(lambda x: (kept.append((x * 2, x * w)), x.sum())[1])(X)
        alone, beside = kept.pop()
        with pytest.raises(RuntimeError, match="does not require grad"):
            (alone * 1).sum().backward()
        beside.sum().backward()
    near(w.grad, 3 * X)


def test_data_is_not_set_inside_linearize():
    def f(x, of):
        y = of.rsqrt()
        y.data = x * 2
        return torch.cat([y, x])

    for of in (lambda x: x, lambda x: x.detach()):
        with pytest.raises(RuntimeError, match="mutating directly with"):
            linearize(lambda x, of=of: f(x, of(x)), X)
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(X, T)
        value, tangent = torch.autograd.forward_ad.unpack_dual(f(x, x.detach()))
    near(value, torch.cat([2 * X, X]))
    near(tangent, torch.cat([0 * T, T]))


def test_data_of_what_an_inner_transform_captures_has_no_tangent():
    def f(x):
        return vjp(lambda w: x.data * w, T)[1](T)[0], vjp(lambda w: (x * 2).data * w, T)[1](T)[0]

    def given(*a):
        return vjp(lambda w: a[0].data * w, T)[1](T)[0]

    captured, computed = jvp(f, (X,), (W,))[1]
    near(captured, 0 * T)
    near(jvp(given, (X,), (W,))[1], 0 * T)
    near(computed, 2 * T * W)
    with forward_ad.dual_level():
        found = f(forward_ad.make_dual(X, W))[0]
        assert forward_ad.unpack_dual(found).tangent is None

    def mapped(x):
        return grad(lambda w: vmap(lambda row: x.data * w * row)(torch.stack([T, W])).sum())(W)

    near(jvp(mapped, (X,), (W,))[1], 0 * X)


def data_of_a_value_of_another(x):
    def g(y):
        v = x * y
        inner = grad(lambda z: (z * z * v.data).sum())(y)
        return (inner * v.data).sum()

    return grad(g)(x * 2)


@family("f, want", [  # slopes at X, on the diagonal, as PyTorch has them
    (lambda x: grad(lambda y, c: (c.data * y).sum())(T, x), lambda x: x * 0 + 1),
    (lambda x: grad(lambda y, c: (c[0].data * y).sum())(T, [x.sin()]), lambda x: x.cos()),
    (lambda x: jacfwd(lambda y, c: (c.data * y).sum())(T, x), lambda x: x * 0 + 1),
    (lambda x: jacfwd(lambda y: (x.data * y).sum())(x), lambda x: x * 0),
    (lambda x: grad(lambda y, c: grad(lambda z: (c.data * z).sum())(y).sum())(T, x),
     lambda x: x * 0),
    (lambda x: grad(lambda y, c: (grad(lambda z: (c.data * z).sum())(T) * y).sum())(T, x),
     lambda x: x * 0 + 1),
    (lambda x: (lambda held: jvp(lambda y: held[0].data * y, (T,), (T,))[1])([x]),
     lambda x: x * 0),
    (lambda x: (lambda held: grad(lambda y: (held["a"][0].data * y).sum())(T))({"a": (x,)}),
     lambda x: x * 0),
    (lambda x: grad(lambda y: ([x * 3][0].data * y).sum())(T), lambda x: x * 0 + 3),
    (lambda x: vmap(lambda r: grad(lambda z, c: (c.data * z).sum())(T, r))(x[None])[0],
     lambda x: x * 0 + 1),
    (data_of_a_value_of_another, lambda x: 32 * x**3),
    *((lambda x, t=t: (lambda u: t(lambda y, c: c.detach_() * y)(X, u).sum(0) * u)(x * 2),
       lambda x: 8 * x) for t in (jacrev, jacfwd)),
    *((lambda x, d=d: (lambda u: vmap(jacrev(lambda y, c: c.detach_() * y), (0, d))(
        X[None], u if d is None else torch.stack([u]))[0].sum(0) * u)(x * 2), lambda x: 8 * x)
      for d in (None, 0)),
    (lambda x: (lambda u: u + grad(lambda y, c: (
        grad(lambda z, c: (c.detach_() * z).sum())(y, c) * y).sum())(X, u))(x * 2),
     lambda x: x * 0 + 4),
])  # fmt: skip
def test_data_is_out_of_the_graph_of_the_transform_that_a_value_is_of(f, want):
    for transform in (jacfwd, jacrev):
        near(transform(f)(X), torch.diag(want(X)))


def test_a_constant_argument_detached_in_place_stays_in_the_graph_of_its_caller():
    w = torch.ones(3, dtype=torch.double, requires_grad=True)
    assert grad(lambda x, c: (c.detach_() * x).sum())(X, w).requires_grad
    assert w.requires_grad


def test_products_of_a_batch_in_reverse_mode():
    functional = torch.autograd.functional

    def both(q):
        return functional.jvp(lambda t: (t**3).sum(), q, q.cos(), create_graph=True)

    rows, one = torch.stack([X, 2 * X]), torch.ones((), dtype=torch.double)
    pulled = vmap(lambda x: vjp(both, x)[1]((one, one))[0])(rows)
    near(pulled, 3 * rows**2 + 6 * rows * rows.cos() - 3 * rows**2 * rows.sin())


def test_a_forward_jacobian_inside_vmap():
    def entries(q, r):
        cubes = torch.autograd.functional.jacobian(
            lambda t: t**3 * r, q, vectorize=True, strategy="forward-mode"
        )
        return (cubes**2).sum()

    rows = torch.stack([T, 2 * T])
    near(vmap(lambda r: grad(lambda q: entries(q, r))(X))(rows), 36 * X**3 * rows**2)
    near(vmap(lambda r: grad(lambda q: entries(q, X))(r))(rows), 36 * rows**3 * X**2)


@family("cut", [
    lambda y: y.detach_(), lambda y: y.data.mul_(1.5), lambda y: y.data.copy_(y.data * 1.5),
])  # fmt: skip
def test_a_map_inside_leaves_data_that_of_the_level_around(cut):
    def f(x, w):
        y = w * w
        cut(y)
        return y * x

    rows = torch.stack([X, X * 2])

    def mapped(w):
        return vmap(lambda x: f(x, w))(rows)

    alone = torch.stack([jvp(lambda w, x=x: f(x, w), (X,), (T,))[1] for x in rows])
    near(jvp(mapped, (X,), (T,))[1], alone)
    near(jacfwd(mapped)(X), jacrev(mapped)(X))


def test_views_of_what_is_detached_in_place_keep_their_tangents():
    def f(x, then):
        y = x * 1
        v = y[1:]
        y.detach_()
        then(y, v, x)
        return (v * v).sum() + (y * x).sum()

    for then, want in (
        (lambda y, v, x: None, [1.0, 6.0, 9.0]),
        (lambda y, v, x: y.mul_(x), [2.0, 16.0, 36.0]),
        (lambda y, v, x: v.mul_(2), [1.0, 20.0, 30.0]),
    ):
        near(jacfwd(lambda x, then=then: f(x, then))(X), torch.tensor(want).double())


def test_a_write_to_what_a_view_of_a_linked_argument_was_detached_from():
    def f(x):
        view = x[None]
        view.detach().mul_(2)
        return (view * view).sum()

    x = X.clone().requires_grad_()
    near(jacrev(f)(x), 4 * X)
    near(x, 2 * X)


def test_a_write_to_the_data_of_a_captured_tensor():
    v = torch.zeros(3).double()
    for transform in (grad, jacrev, jacfwd):
        with pytest.raises(RuntimeError, match="captured"):
            transform(lambda x: (v.data.copy_(x) * x).sum())(X)


def test_a_write_to_the_data_of_an_argument():
    def f(x, part):
        part(x).mul_(2)
        return (x * x).sum()

    x = X.clone()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        grad(lambda x: grad(lambda x: f(x, lambda x: x.data))(x).sum())(x)
    grad(lambda x: grad(lambda x: f(x, lambda x: x.detach()))(x).sum())(x)
    near(x, 2 * X)


@pytest.mark.parametrize("constant", [lambda a: a.clone().data, made_inside_and_detached])
def test_what_an_inner_transform_makes_of_outer_values_is_in_the_outer_graph(constant):
    def outer(a):
        return grad(lambda b: constant(a) * b * b)(a * 1.0)

    x, times = torch.tensor(3.0), constant(torch.tensor(1.0)).item()
    near(outer(x), 18 * torch.tensor(times))
    near(grad(outer)(x), 12 * torch.tensor(times))
    near(grad(grad(outer))(x), 4 * torch.tensor(times))
    c = x.clone().requires_grad_()
    near(torch.autograd.grad(grad(lambda b: constant(c) * b * b)(x), c)[0], 6 * constant(x) / 3)
    near(grad(lambda a: grad(lambda b: a.data * b * b)(a * 1.0))(x), 2 * x)


def test_what_is_recorded_inside_a_level():
    """The graph around a batch or a tangent is not to be seen inside, as in PyTorch."""
    seen = []

    def look(a):
        b = a * 2
        assert b.is_leaf == (b.grad_fn is None) == (not b.requires_grad)
        seen.append((a.requires_grad, b.requires_grad))
        return b.sum()

    x = X.clone().requires_grad_()
    vmap(look)(x), grad(lambda a: vmap(look)(a).sum())(X), jvp(look, (x,), (X,)), jacfwd(look)(x)
    vmap(vmap(look))(x[None]), vmap(lambda a: jvp(look, (a,), (T[0],)))(x)
    assert seen == [(False, False)] * 6
    seen.clear()
    vmap(grad(look))(x), jvp(grad(look), (X,), (X,)), hessian(look)(X), vmap(hessian(look))(X[None])
    assert seen == [(True, True)] * 4


@family("value", [lambda a: a, lambda a: a.detach(), lambda a: (a * 2).data])
def test_arrays_that_a_transform_could_not_follow(value):
    calls = []

    def f(a):
        calls.append(1)
        value(a).numpy(force=True)

    for transform in (grad, jacrev, jacfwd, hessian, vmap, lambda f: vmap(grad(f))):
        with pytest.raises(RuntimeError, match=r"doesn't have storage|under vmap"):
            transform(f)(X)
    assert len(calls) == 6


def test_values_that_decide_shapes_in_a_hessian():
    def f(a):
        assert torch.equal(a, a) and torch.allclose(a, a)
        return (a[a > 1] ** 3).sum() * len(a.nonzero()) + a[a.nonzero()[:, 0]].sum()

    near(hessian(f)(X), torch.diag(torch.tensor([0.0, 36.0, 54.0])))
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(torch.nonzero)(X)


def test_a_jvp_that_saves_its_tangent_does_not_see_later_writes():
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0]

    def f(x, exp=Exp.apply):
        y = x * 1
        y[0] *= 2
        e = exp(y)
        y.fill_(e.prod())
        return (y * e).sum()

    want = hessian(lambda x: f(x, torch.exp))(X)
    near(hessian(f)(X), want)
    near(jvp(grad(f), (X,), (T,))[1], want @ T)


def test_a_gradient_that_no_batch_enters_is_none():
    """So that it may be written to what is none, and decide shapes, under vmap."""

    def f(row):
        slope = grad(lambda q: (q * q).sum())(T)
        kept = torch.zeros(3, dtype=torch.double)
        kept[0] = slope.sum()
        return row * kept[0] * len(slope[slope > 0.6])

    near(vmap(f)(torch.stack([X, T])), torch.stack([X, T]) * 2 * T.sum() * 2)
    hidden = []

    def g(row):  # a batch that is not found beforehand
        hidden.append(row)
        return grad(lambda q: (q * q * hidden[-1]).sum())(T)

    near(vmap(g)(torch.stack([X, T])), torch.stack([X, T]) * 2 * T)


def test_a_batch_of_none():
    none = torch.zeros(0, 2)
    for function in (lambda t: t.sort(0).values, lambda t: torch.linalg.eigh(torch.outer(t, t))[0]):
        assert vmap(function)(none).shape == vmap(jacrev(function))(none).shape[:2]
    assert vmap(lambda t: t.sort(-1).values)(torch.zeros(0)).shape == (0,)
    pairs = torch.stack([none, none], -1)
    assert torch.view_as_complex(pairs).shape == vmap(torch.view_as_complex)(pairs).shape == (0, 2)


def test_tangents_of_indices_and_of_what_is_filled():
    near(jvp(vmap(lambda t: torch.isin(t, X[:1]) * t), (X,), (T,))[1], T * torch.tensor([1, 0, 0]))
    cube = torch.ones(2, 2, 2, dtype=torch.double)
    filled = jvp(lambda t: (t * 2).fill_diagonal_(0.5), (cube,), (cube,))[1]
    assert filled.sum() == 12 and filled[0, 0, 0] == filled[1, 1, 1] == 0


def test_names_and_dtypes_that_calls_look_up():
    layers = torch.nn.Sequential(torch.nn.Linear(2, 1))
    for name in ("7.bias", "0.bias.q", "0..weight"):
        with pytest.raises(AttributeError):
            torch.func.functional_call(layers, {name: X}, (torch.ones(1, 2),))
    rows = torch.randn(2, 3)
    bits = rows.view(torch.int32)
    assert (vmap(lambda t: t.view(torch.int32))(rows) == bits).all()
    near(jvp(lambda t: t * t.view(torch.int64).ndim, (X,), (T,))[1], T)
    with pytest.raises(RuntimeError, match="as many bytes"):
        vmap(lambda t: t.view(torch.double))(rows)


def test_indices_of_an_enclosing_batch():
    x = torch.tensor([[1.0, 3.0, 2.0], [3.0, 1.0, 2.0]])
    each = vmap(jacfwd(lambda row: row.cummax(0).values))(x)
    near(each, torch.stack([jacrev(lambda row: row.cummax(0).values)(row) for row in x]))
    times = torch.tensor([[1, 2, 1], [2, 1, 1]])
    found = vmap(lambda row, n: row.repeat_interleave(repeats=n, output_size=4))(x, times)
    near(found, torch.tensor([[1.0, 3, 3, 2], [3, 3, 1, 2]]))


@pytest.mark.parametrize("like", [torch.rand_like, torch.randn_like])
def test_random_numbers_like_a_batch(like):
    rows = torch.zeros(2, 3)
    drawn = vmap(like, randomness="same")(rows)
    assert drawn.shape == (2, 3) and (drawn[0] == drawn[1]).all()
    inner = vmap(lambda row: vmap(like, randomness="different")(row), randomness="different")
    assert len(set(inner(rows).flatten().tolist())) == 6
    soft = vmap(F.gumbel_softmax, randomness="different")(rows)
    assert torch.allclose(soft.sum(-1), torch.ones(2))
    assert (soft[0] != soft[1]).all()
    with pytest.raises(RuntimeError):
        vmap(like)(rows)


def test_a_constant_slope_of_a_square_still_leads_to_its_base():
    x = torch.tensor(3.0, requires_grad=True)
    for y in (x**2, x.square()):
        found = []
        for _ in range(3):
            (y,) = torch.autograd.grad(y, x, create_graph=True)
            found.append(y.item())
        assert found == [6, 2, 0] and not y.requires_grad


@family("name", [
    "abs_", "add_", "atan2_", "copy_", "cumsum_", "fill_", "lerp_", "t_", "zero_",
])  # fmt: skip
def test_methods_of_the_class_write_to_what_stands_for_a_tensor(name):
    others = {"cumsum_": (0,), "fill_": (2.0,), "lerp_": (T, 0.25), "add_": (T,), "copy_": (T,)}
    args = others.get(name, (T,) if name == "atan2_" else ())
    of_class, of_value = getattr(torch.Tensor, name), lambda x: getattr(x, name)(*args)
    for run in (vmap, lambda f: lambda v: jvp(lambda v: f(v * 1), (v,), (v,))[1]):
        x, y = torch.stack([-X, T]), torch.stack([-X, T])
        near(run(lambda x: of_class(x, *args))(x), run(of_value)(y))
        near(x, y)


@family("name, args", [
    ("new_zeros", (3,)), ("new_ones", ((3,),)), ("new_full", ((3,), 2.0)), ("new_empty", (3,)),
    ("new_empty_strided", ((3,), (2,))), ("__getitem__", (1,)), ("max", (T,)),
])  # fmt: skip
def test_methods_of_the_class_are_those_of_what_stands_for_a_tensor(name, args):
    def f(x):
        found, own = getattr(torch.Tensor, name)(x, *args), getattr(x, name)(*args)
        assert type(found) is type(own)
        assert (found.shape, found.stride()) == (own.shape, own.stride())
        return x

    vmap(f)(torch.stack([X, T]))
    jvp(f, (X,), (T,))


@family("options", [{}, {"materialize_grads": True}, {"allow_unused": True}])
def test_no_gradient_by_a_leaf_where_it_is_mapped_over(options):
    leaf = X.clone().requires_grad_()

    def f(*inputs):
        return torch.autograd.grad((leaf**2).sum(), inputs, **options)

    for run, value in (
        (vmap(f), leaf), (vmap(vmap(f)), leaf.view(3, 1)), (vmap(lambda t: f(leaf, t)), leaf)
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="does not require grad"):
            run(value)
    near(vmap(lambda t: f(leaf)[0] * t)(T)[1], X * 2 * T[1])


def made(**methods):
    body = {"forward": lambda x: x, "setup_context": lambda ctx, inputs, output: None, **methods}
    return type("Made", (torch.autograd.Function,), {k: staticmethod(v) for k, v in body.items()})


def test_the_vmap_of_a_custom_function():
    seen = []

    def both(info, in_dims, x, rest):
        seen.append(in_dims)
        return [x, rest[0]], in_dims[1]

    found = vmap(made(vmap=both, forward=lambda x, rest: None).apply)(X, [T, X])
    assert seen == [(0, [0, 0])]
    near(torch.stack(found), torch.stack([X, T]))

    def where(info, in_dims, x, y):
        seen.append((in_dims, x.shape, y.shape))
        return x, in_dims[0]

    placed = made(vmap=where, forward=lambda x, y: None)
    rows = torch.stack([X, T])
    assert vmap(placed.apply, in_dims=(-1, None), out_dims=1)(rows, X) is rows
    near(vmap(lambda x, y: placed.apply(x * 1, y), in_dims=(1, 0))(rows, X), rows.T)
    assert seen[1:] == [((1, None), (2, 3), (3,)), ((0, 0), (3, 2), (3,))]
    with pytest.raises(NotImplementedError, match="kwarg-only"):
        vmap(made(vmap=where, forward=lambda x, *, y: x).apply)(X, y=X)
    for returned, said in (
        (X, "to have two returns"), ((X, X, 0), "Got 3 returns"), ((X, (0,)), "incompatible"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=said):
            vmap(made(vmap=lambda *_, returned=returned: returned).apply)(X)
    for save in ("save_for_backward", "save_for_forward"):
        saves = made(setup_context=lambda ctx, _, out, save=save: getattr(ctx, save)(out))
        with pytest.raises(RuntimeError, match="An input that has been returned as-is"):
            saves.apply(X)


@family("transform", [grad, jacrev, hessian])
def test_no_saved_tensor_hooks_in_reverse_mode(transform):
    with (
        pytest.raises(RuntimeError, match="saved tensor hooks"),
        torch.autograd.graph.save_on_cpu(),
    ):
        transform(lambda x: x.sin().sum())(X)

    def hooked(x):
        with torch.autograd.graph.save_on_cpu():
            return x.sin().sum()

    with pytest.raises(RuntimeError, match="saved tensor hooks"):
        transform(hooked)(X)
    near(jvp(hooked, (X,), (T,))[1], (X.cos() * T).sum())


def test_tangents_that_a_linear_function_refuses():
    _, push = torch.func.linearize(torch.sin, X)
    for tangent, said in ((X[None], "the shape"), (X.float(), "the dtype"), ((X, X), "argspec")):
        with pytest.raises(RuntimeError, match=said):
            push(tangent)


def test_states_of_modules_that_do_not_fit():
    models = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).requires_grad_(False)]
    with pytest.raises(RuntimeError, match=r"weight .* same .requires_grad"):
        torch.func.stack_module_state(models)
    tied = torch.nn.Sequential(models[0], models[0])
    x, zeros = torch.ones(2), torch.zeros(2, 2)
    with pytest.raises(ValueError, match="multiple values for keys"):
        torch.func.functional_call(tied, {"0.weight": zeros, "1.weight": zeros + 1}, (x,))


def half_hidden(x):
    with torch.no_grad():
        scale = x**2
    return (x**2 * scale).sum()


@family("gradient", [
    grad(half_hidden), lambda x: vjp(half_hidden, x)[1](torch.tensor(1.0).double())[0],
    jacrev(half_hidden),
])  # fmt: skip
def test_a_gradient_inside_linearize_does_not_see_what_no_grad_hides(gradient):
    near(torch.func.linearize(gradient, X)[1](T), 6 * X**2 * T)
    near(jvp(gradient, (X,), (T,))[1], 6 * X**2 * T)


def leaf_slopes(x):
    leaf = T.clone().requires_grad_()
    return torch.autograd.grad((leaf * x).pow(3).sum(), leaf)[0]


def many_slopes(x):
    leaf = T.clone().requires_grad_()
    cubes = (leaf * x).pow(3)
    rows = torch.eye(3, dtype=torch.double)
    return torch.autograd.grad(cubes, leaf, rows, is_grads_batched=True)[0].sum(0)


def pulled_unrecorded(x):
    pull = vjp(lambda q: (q * x).pow(3), T)[1]
    with torch.no_grad():
        return pull(torch.ones_like(T))[0]


def rows_unrecorded(x):
    with torch.no_grad():
        return jacrev(lambda q: (q * x).pow(3))(T).sum(0)


@family("slopes", [leaf_slopes, many_slopes, pulled_unrecorded, rows_unrecorded])
def test_a_pass_without_a_graph_inside_linearize(slopes):
    """There is no graph to read the linear function from: it was 0, without an error."""
    near(torch.func.linearize(slopes, X)[1](W), 9 * T**2 * X**2 * W)


def test_linearize_hands_on_what_is_no_tensor():
    value, push = torch.func.linearize(lambda x: (x * 2, None, {"n": 3.5, "s": x.shape}), X)
    assert value[1:] == push(T)[1:] == (None, {"n": 3.5, "s": (3,)})
    near(push(T)[0], 2 * T)


@family("chunk_size, calls", [(None, 1), (1, 6), (2, 3), (4, 2), (100, 1)])
def test_chunks_of_a_jacobian_are_rows_at_once(chunk_size, calls):
    seen = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(g.shape) or g * 3 + 1)
        part = y.unbind(0)[1] * y
        return torch.where(x > 1.5, part, part.detach()), {"b": (x.cumsum(0), y[:0])}

    found, others = jacrev(f, chunk_size=chunk_size)(X)
    assert seen == [(3,)] * calls  # a batch has an element's shape
    one_by_one = [
        torch.autograd.grad(f(leaf)[0][i], leaf)[0]
        for i, leaf in enumerate(X.clone().requires_grad_() for _ in range(3))
    ]
    near(found, torch.stack(one_by_one))
    near(others["b"][0], torch.ones(3, 3).tril() + 2)  # the hook sees the zeros of other rows
    assert others["b"][1].shape == (0, 3)


HOOKS = [
    lambda x: lambda g: g * 3, lambda x: lambda g: g * g, lambda x: lambda g: g * x,
    lambda x: lambda g: None, lambda x: lambda g: torch.ones_like(g),
    lambda x: lambda g: g.detach() * g, lambda x: lambda g: g + x,
    lambda x: lambda g: (g.mul_(3), None)[1],
]  # fmt: skip


@family("register", [
    lambda kept, v, w: v.register_hook(kept.append),
    lambda kept, v, w: torch.autograd.graph.register_multi_grad_hook(
        [v, w], lambda grads: kept.append(grads[0])
    ),
])  # fmt: skip
def test_what_a_hook_keeps_of_a_gradient_has_its_tangent(register):
    def kept(x):
        found, gradient = (
            [],
            grad(lambda x: (v := x * 2, register(found, v, v.sin()))[0].sin().sum()),
        )
        return gradient(x) * 0 + found[-1]

    wanted = -2 * (2 * X).sin()
    near(jvp(kept, (X,), (T,))[1], wanted * T)
    near(vmap(lambda x, t: jvp(kept, (x,), (t,))[1])(X, T), wanted * T)
    near(jacfwd(kept)(X), wanted.diag())


def test_a_hook_is_called_once_with_the_gradient_and_its_tangent():
    """What it computes from both and keeps has a tangent too."""
    seen = []

    def f(x):
        y = x.exp()
        y.register_hook(lambda g: (seen.append(g * g.sin()), g * g)[1])
        return (y * y).sum()

    def kept(x):
        seen.clear()
        return grad(f)(x) * 0 + seen[0]

    def want(x):
        return 2 * x.exp() * (2 * x.exp()).sin()

    for found in (jvp(kept, (X,), (T,)), vmap(lambda x, t: jvp(kept, (x,), (t,)))(X, T)):
        near(found[1], jvp(want, (X,), (T,))[1])
        assert len(seen) == 1
    near(jacfwd(kept)(X), jacrev(want)(X))
    assert len(seen) == 1
    x = X.clone().requires_grad_()
    with forward_ad.dual_level():
        seen.clear()
        y = forward_ad.make_dual(x, T).exp()
        y.retain_grad()
        y.register_hook(lambda g: (seen.append(g * g.sin()), g * g)[1])
        (y * y).sum().backward(retain_graph=True)
        near(forward_ad.unpack_dual(seen[0]).tangent, jvp(want, (X,), (T,))[1])
        near(forward_ad.unpack_dual(y.grad).tangent, 8 * X.exp() ** 2 * T)
        assert len(seen) == 1
        y.register_hook(lambda g: g * g)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="came by a hook"):
            (g * g).sum().backward()


@family("hook", HOOKS)
def test_hooks_inside_nested_transforms(hook):
    """They see gradients with tangents: a wrong one would drop a term without a word."""

    def on_argument(x):
        x.register_hook(hook(x))
        return (x**3).sum()

    def between(x):
        y = x * x
        z = y.sin()  # before the hook, which is the value's all the same
        y.register_hook(hook(x))
        y.register_hook(lambda g: g + 1)
        y.register_hook(hook(x)).remove()
        z.register_hook(hook(x))
        return (z * x + (y * 2).detach()).sum()

    def hooked(x, g):
        g = g * 1
        changed = hook(x)(g)
        return g if changed is None else changed

    def of_between(x):
        z = hooked(x, x) * (x * x).cos()
        return (hooked(x, z) + 1) * 2 * x + (x * x).sin()

    for f, gradient in (on_argument, lambda x: hooked(x, 3 * x**2)), (between, of_between):
        want = jacrev(gradient)(X)
        for found in (
            hessian(f), jacfwd(grad(f)),
            lambda x, f=f: jacfwd(lambda x: vjp(f, x)[1](torch.tensor(1.0))[0])(x),
        ):  # fmt: skip
            near(found(X), want)
        near(vmap(hessian(f))(torch.stack([X, X])), torch.stack([want, want]))
        for push in (lambda x, f=f: jvp(grad(f), (x,), (T,)), lambda x, f=f: (
            0, linearize(grad(f), x)[1](T)
        )):  # fmt: skip
            near(push(X)[1], want @ T)
        near(jvp(lambda x, f=f: jvp(grad(f), (x,), (T,))[1], (X,), (T,))[1],
             jacrev(jacrev(gradient))(X) @ T @ T)  # fmt: skip
        with forward_ad.dual_level():
            leaf = X.clone().requires_grad_()
            found = torch.autograd.grad(f(forward_ad.make_dual(leaf, T)), leaf)[0]
            tangent = forward_ad.unpack_dual(found).tangent
            assert (tangent is None) == (not want.any())  # of what nothing led to there is none
            near(found * 0 if tangent is None else tangent, want @ T)


def test_rows_at_once_where_one_meets_an_infinite_slope():
    def f(x):  # nothing flows through branches that were not taken
        return torch.where(x > 1.0, (x - 1).sqrt(), x)

    for jacobian in (jacrev(f), lambda x: torch.autograd.functional.jacobian(f, x, vectorize=True)):
        near(jacobian(torch.tensor([1.0, 2.0, 5.0])), torch.diag(torch.tensor([1.0, 0.5, 0.25])))
    with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="nan"):
        jacrev(lambda x: (x - 1).sqrt() * 0)(torch.ones(2))


def test_a_backward_of_the_users_gets_batches_of_cotangents():
    seen = []

    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            seen.append(g.shape)
            return g * 3 if len(seen) % 2 else torch.ones(3)

    for jacobian in (jacrev(Tripled.apply), jacrev(lambda x: Tripled.apply(x) * 1)):
        near(jacobian(X), 3 * torch.eye(3))
        near(jacobian(X), torch.ones(3, 3))
    assert seen == [(3,)] * 4


def test_a_jacobian_takes_little_more_than_its_own_memory():
    x = torch.ones(300, dtype=torch.double)
    tracemalloc.start()
    found = jacrev(lambda x: x.sin() * x.sum())(x)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.5 * found.nbytes
    tracked = X.clone().requires_grad_()  # a first row without a graph, the second with one
    rows = jacrev(lambda x: torch.stack([x[0], x[1] ** 2]))(tracked)
    assert rows.requires_grad
    near(rows, torch.tensor([[1.0, 0, 0], [0, 4, 0]]))


@family("transform", [grad, lambda f: lambda x: jvp(f, (x,), (x,))])
@pytest.mark.parametrize(
    "step", [lambda y: y.data.mul_(1.0), lambda y: y.detach(), lambda y: torch.ones(3) + 1]
)
def test_a_long_loop_inside_keeps_nothing_of_what_it_made(transform, step):
    def f(x):
        y = x * 1
        for n in (200, 1000):
            known = tracemalloc.get_traced_memory()[0]
            for _ in range(n):
                step(y)
            grown.append(tracemalloc.get_traced_memory()[0] - known)
        return (y * y).sum()

    grown = []
    tracemalloc.start()
    transform(f)(torch.ones(3))
    tracemalloc.stop()
    assert grown[1] < 10_000


def test_a_hook_inside_grad_inside_vmap_gets_the_gradient_of_each_element():
    def f(x, clip):
        y = x * 2
        y.register_hook(lambda g: g / g.norm() if clip else torch.ones(2))
        return (y * y).sum()

    x = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    per_element = torch.func.vmap(torch.func.grad(f), in_dims=(0, None))
    assert per_element(x, True).tolist() == [[pytest.approx(1.2), pytest.approx(1.6)], [0, 2]]
    assert per_element(x, False).tolist() == [[2, 2], [2, 2]]
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.func.vmap(f, in_dims=(0, None))(x, True)


def custom(backward, tangent=lambda ctx, t: t * 2, mapped=False):
    """A custom function that doubles, with such a backward, such a jvp and perhaps a vmap."""
    places = {"forward": lambda x: x * 2, "setup_context": lambda ctx, inputs, output: None}
    places |= {"backward": backward, "jvp": tangent}
    if mapped:
        places["vmap"] = lambda info, dims, x: (kind.apply(x.movedim(dims[0], -1)), -1)
    body: dict = {name: staticmethod(function) for name, function in places.items()}
    kind = type("Doubled", (torch.autograd.Function,), body | {"generate_vmap_rule": not mapped})
    return kind.apply


@family(
    "mapped, backward",
    product(
        [False, True],
        [lambda ctx, g: g.clamp(-1, 1), lambda ctx, g: g * 5, lambda ctx, g: g * 2 + 3],
    ),
)
def test_a_tangent_of_a_gradient_asks_for_a_backward_that_is_the_transpose_of_jvp(backward, mapped):
    def cube_of(double):
        return lambda x: (double(x * x) ** 3).sum()

    f, good = (cube_of(custom(b, mapped=mapped)) for b in (backward, lambda ctx, g: g * 2))

    def pushed(f):
        return jvp(grad(f), (X,), (T,))[1]

    def by_forward_ad(f):
        with torch.autograd.forward_ad.dual_level():
            x = torch.autograd.forward_ad.make_dual(X.clone().requires_grad_(), T)
            (g,) = torch.autograd.grad(f(x), x)
            return torch.autograd.forward_ad.unpack_dual(g).tangent

    ways = [
        pushed, by_forward_ad, lambda f: hessian(f)(X) @ T,
        lambda f: torch.func.linearize(grad(f), X)[1](T),
        lambda f: vmap(lambda x: jvp(grad(f), (x,), (T,))[1])(torch.stack([X, X]))[0],
        lambda f: vmap(hessian(f))(torch.stack([X, X]))[0] @ T,
    ]  # fmt: skip
    want = jacrev(grad(good))(X) @ T
    for way in ways:
        near(way(good), want)
        with pytest.raises(RuntimeError, match="not the transpose of its jvp"):
            way(f)
    jacrev(grad(f))(X)  # in reverse mode it is what the user's backward does


def doubled_in_place(x):
    return x.mul_(2)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("forward", [doubled_in_place, lambda x: x[1:]])
@pytest.mark.parametrize("first", [True, False])
def test_a_mapped_function_returns_the_memory_that_it_was_given(mapped, forward, first):
    class Moved(torch.autograd.Function):
        generate_vmap_rule = not mapped

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(*(inputs if output is inputs[0] else ()))

        @staticmethod
        def jvp(ctx, t):
            return forward(t)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def by_batch(info, dims, x):
        if forward is doubled_in_place:
            return Moved.apply(x), dims[0]
        return x[:, 1:], 0

    Moved.forward = staticmethod(forward)
    Moved.vmap = staticmethod(by_batch) if mapped else None

    def f(x):
        y = x * 1
        z = Moved.apply(y)
        (y if first else z).mul_(3)
        return z * y[0] if first else y * z[0]

    def both(transform, rows):
        near(vmap(transform)(rows), torch.stack([transform(row) for row in rows]))

    rows = torch.stack([X, T])
    both(f, rows)
    both(lambda x: jvp(f, (x,), (T,))[1], rows)
    near(jvp(vmap(f), (rows,), (rows,))[1], torch.stack([jvp(f, (x,), (x,))[1] for x in rows]))
    if forward is doubled_in_place:
        both(grad(lambda x: f(x).sum()), rows)
        both(hessian(lambda x: f(x).sum()), rows)
    else:
        with pytest.raises(RuntimeError, match="is a view and"):
            vmap(grad(lambda x: f(x).sum()))(rows)


def test_a_transform_inside_of_a_custom_forward_inside_of_others():
    f = custom(lambda ctx, g: g * 2)
    cube = custom_product(
        lambda x, y: grad(lambda v: (v**2).sum())(x) + 0 * y,
        lambda ctx, inputs, output: setattr(ctx, "s", 2),
    )
    near(vmap(jacfwd(lambda x: f(cube(x * 1, x * 0))))(X[None])[0], 4 * torch.eye(3).double())


def custom_product(forward=lambda x, y: x * y, setup=lambda ctx, inputs, output: None, back=None):
    """A custom function of two, whose gradient is the product of its cotangent and ctx.s."""
    back = back or (lambda ctx, g: (g * ctx.s, g * ctx.s))
    body = {"forward": forward, "setup_context": setup, "backward": back}
    body["jvp"] = lambda ctx, s, t: (s + t) * ctx.s
    kind: dict = {name: staticmethod(function) for name, function in body.items()}
    return type("Two", (torch.autograd.Function,), kind | {"generate_vmap_rule": True}).apply


def test_what_setup_context_computes_is_constant():
    def setup(ctx, inputs, output):
        ctx.s = inputs[0].sum()

    def f(x):
        return (custom_product(setup=setup)(x, T) ** 2).sum()

    near(hessian(f)(X) @ T, jvp(grad(f), (X,), (T,))[1])


def test_what_is_the_same_for_a_batch_is_not_written_to_for_each_element():
    def setup(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    write = custom_product(lambda x, y: x.mul_(2), setup)
    with pytest.raises(RuntimeError, match="once for each element"):
        vmap(lambda y: write(X.clone(), y))(torch.stack([T, T]))


def test_a_backward_that_is_differentiable_once_inside_a_transform():
    once = torch.autograd.function.once_differentiable(lambda ctx, g: (g * T, g))
    f = custom_product(back=once)
    near(vmap(grad(lambda x, y: f(x, y).sum(), argnums=1))(X[None], T[None]), torch.ones(1, 3))
    with pytest.raises(RuntimeError, match="differentiate twice"):
        jacrev(jacrev(lambda x: (f(x, T) ** 2).sum()))(X)


@family("step", [torch.floor, torch.round, torch.sign, torch.trunc, torch.ceil])
def test_a_step_has_a_tangent_of_zeros(step):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        out = step(forward_ad.make_dual(X, T))
        assert forward_ad.unpack_dual(out).tangent.tolist() == [0.0, 0.0, 0.0]
        assert forward_ad.unpack_dual(out == 1).tangent is None


def test_running_statistics_that_a_function_captures():
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]])

    def f(x, w=1.0, norm=torch.nn.functional.batch_norm):
        return (norm(x, mean, spread, training=True) ** 3 * w).sum()

    want = grad(lambda x: (((x - x.mean(0)) / (x.var(0, False) + 1e-5).sqrt()) ** 3).sum())(x)
    for transform in (
        grad(f),
        jacrev(f),
        jacfwd(f),
        lambda x: vmap(grad(f, 1), (None, 0))(x, ONES),
    ):
        mean, spread = torch.zeros(2), torch.ones(2)
        found = transform(x)
        assert found.shape == (4,) or torch.allclose(found, want, atol=1e-5)
        assert torch.allclose(mean, x.mean(0) * 0.1)
        assert torch.allclose(spread, 0.9 + 0.1 * x.var(0))
    with pytest.raises(RuntimeError, match="updated in place, were not batched"):
        vmap(f)(torch.stack([x, x]))

    def moved(momentum):
        mean = torch.zeros(2)
        torch.nn.functional.batch_norm(x, mean, torch.ones(2), None, None, True, momentum)
        return (mean**3).sum()

    at = torch.tensor(0.3), torch.tensor(1.0)
    assert jvp(moved, at[:1], at[1:])[1].item() == pytest.approx(3 * moved(at[0]).item() / 0.3)
    for f in (
        grad(lambda p: jvp(moved, (p,), (p * 0 + 1,))[1]),
        lambda p: jvp(grad(moved), (p,), at[1:]),
    ):
        with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'mom"):
            f(at[0])


ONES = torch.ones(4)


def test_tolerances_and_weights_that_differ_along_a_batch():
    a = torch.tensor([[1.0, 0.0], [0.0, 0.1]], dtype=torch.double)
    rtol = torch.tensor([0.05, 0.5])
    each = torch.stack([torch.linalg.pinv(a, rtol=r.item()) for r in rtol])
    near(vmap(lambda r: torch.linalg.pinv(a, rtol=r))(rtol), each)
    near(torch.linalg.pinv(torch.stack([a, a]), rtol=rtol), each)
    near(torch.linalg.pinv(torch.stack([a, a]), atol=rtol), each)
    near(
        vmap(lambda a: torch.linalg.pinv(a, rtol=rtol))(torch.stack([a, a])),
        torch.stack([each] * 2),
    )
    w = torch.tensor([[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]], dtype=torch.double)
    x = torch.tensor([[1.0, 2, 4], [0, 3, 1]], dtype=torch.double)
    want = torch.stack([torch.cov(x, aweights=row) for row in w])
    near(vmap(lambda w: torch.cov(x, aweights=w))(w), want)


@pytest.mark.parametrize("kind", ["register_hook", "register_prehook"])
def test_hooks_of_nodes_inside_transforms(kind):
    def f(x):
        y = x * 2
        getattr(y.grad_fn, kind)(lambda g, *_: (g[0] * 3, *g[1:]))
        return (y * y).sum()

    near(grad(f)(X), 24 * X)
    for transform in (vmap(grad(f)), hessian(f)):
        with pytest.raises(RuntimeError, match="hook on a node"):
            transform(torch.stack([X, X]))
    near(jacrev(lambda x: f(x) * X)(X)[0], 24 * X)
    # In the passes of its own transform alone.
    near(grad(lambda x: grad(f)(x).sum())(X), 0 * X + 24)
    near(jacrev(jacrev(f))(X), 24 * torch.eye(3).double())
    x = X.clone().requires_grad_()
    near(torch.autograd.grad(grad(f)(x).sum(), x)[0], 0 * X + 24)


@family("draw", [
    torch.rand_like, torch.randn_like, lambda x: torch.randint_like(x, 9),
    lambda x: x.normal_(), lambda x: x.uniform_(), lambda x: x.bernoulli_(0.5),
    lambda x: x.exponential_(), lambda x: x.random_(100),
])  # fmt: skip
def test_numbers_of_a_batch_come_in_the_order_of_its_memory(draw):
    for shape, dim in (((4, 3), 0), ((4, 3), 1), ((2, 3, 20), 2)):
        torch.manual_seed(0)
        want = draw(torch.ones(shape).movedim(dim, 0))
        torch.manual_seed(0)
        assert torch.equal(vmap(draw, dim, randomness="different")(torch.ones(shape)), want)


def test_the_name_of_a_custom_node_inside_a_transform():
    names = []
    double = custom(lambda ctx, g: g * 2)
    grad(lambda x: (names.append(type(double(x).grad_fn).__name__), (x * x).sum())[1])(X)
    names.append(type(double(X.clone().requires_grad_()).grad_fn).__name__)
    assert names == ["DoubledGeneratedBackward", "DoubledBackward"]
    handle = X.clone().requires_grad_().register_hook(names.append)
    assert handle.hooks_dict_ref()[handle.id] == names.append


@family("function", [
    F.dropout, F.dropout1d, F.alpha_dropout, F.feature_alpha_dropout,
])  # fmt: skip
def test_nothing_is_drawn_where_all_is_dropped(function):
    torch.manual_seed(3)
    want = torch.rand(2)
    torch.manual_seed(3)
    x = torch.ones(2, 3, 4, requires_grad=True)
    y = function(x, 1.0, training=True)
    y.sum().backward()
    assert not y.any() and not x.grad.any() and torch.equal(torch.rand(2), want)
    assert not vmap(lambda a: function(a, 1.0, training=True))(torch.ones(2, 2, 3, 4)).any()


def test_a_level_ends_after_results_that_were_laid_out_anew():
    x = X.clone().requires_grad_()
    with forward_ad.dual_level():
        y = torch.fft.rfft(forward_ad.make_dual(x, torch.ones(3).double()))
        near(forward_ad.unpack_dual(y).tangent.real, torch.tensor([3.0, 0.0]))
    y.real.sum().backward()
    near(x.grad, torch.tensor([2, 0.5, 0.5]))


def test_ravel_copies_what_has_gaps():
    def f(x):
        y = x * 1
        y[::2].ravel().mul_(3)
        return y.sum()

    ones = torch.ones_like(X)
    near(vmap(f)(X[None]), f(X)[None])
    near(jvp(f, (X,), (ones,))[1], torch.tensor(3.0))
    near(vmap(grad(f))(X[None]), ones[None])
    near(hessian(lambda x: f(x * x))(X), 2 * torch.eye(3).double())


def test_a_tangent_has_the_type_of_its_value():
    x, wide = torch.ones(2), torch.zeros(2, dtype=torch.float64)
    for function in (
        lambda x: x + 0j, lambda x: 1j - x, lambda x: torch.where(x > 0, x, wide),
        lambda x: torch.maximum(x, wide), lambda x: torch.where(x > 0, x, wide + 1j),
    ):  # fmt: skip
        value, tangent = jvp(function, (x,), (x,))
        assert value.dtype is tangent.dtype


def test_aux_may_come_in_a_named_tuple():
    assert grad(lambda x: x.max(0), has_aux=True)(torch.tensor([1.0, 2.0]))[1].item() == 1


LEAF, CONST, MADE = (True, True), (False, True), (True, False)  # requires_grad and is_leaf
W = torch.ones(3, dtype=torch.double, requires_grad=True)


@family("transform, view, made", [
    (lambda f: grad(f)(X), LEAF, MADE), (lambda f: jvp(grad(f), (X,), (T,)), LEAF, MADE),
    (lambda f: vmap(grad(f))(X.expand(2, 3)), LEAF, MADE), (lambda f: hessian(f)(X), LEAF, MADE),
    (lambda f: jvp(f, (X,), (T,)), CONST, CONST),
    (lambda f: jvp(lambda x: (f(W), x), (X,), (T,)), CONST, CONST),
    (lambda f: grad(lambda x: (f(W), x.sum())[1])(X), CONST, CONST),
])  # fmt: skip
def test_flags_inside_transforms(transform, view, made):
    """Of views where nothing is recorded, of what is computed, and of leaves that are made."""
    seen = []

    def f(x):
        y = x * 2
        with torch.no_grad():
            v, u = y[:2], y * 2
        leaf = torch.ones_like(y, requires_grad=True)
        seen.extend((a.requires_grad, a.is_leaf) for a in (v, v * 1, u, y, leaf, leaf * y))
        return (y * leaf).sum()

    transform(f)
    assert seen == [view, made, CONST, made, LEAF, MADE]


def test_a_result_needs_no_gradient_for_a_leaf_that_the_function_made():
    def f(x):
        return (x * torch.ones_like(x, requires_grad=True)).sum()

    found = grad(f)(X), *jvp(f, (X,), (T,)), jacrev(f)(X), vjp(f, X)[0], hessian(f)(X)
    assert not any(v.requires_grad for v in found)
    assert grad(lambda x: (x * x * W).sum())(X).requires_grad


def test_gradients_inside_transforms_are_refused_where_there_is_no_graph_or_it_is_gone():
    def from_a_constant(x):
        return torch.autograd.grad(x.detach().sum(), x, allow_unused=True)[0] or x.sum()

    def twice(x):
        y = (x * x).sum()
        torch.autograd.grad(y, x)
        return y

    for f, said in (from_a_constant, "does not require grad"), (twice, "second time"):
        for transform in (lambda f: jvp(grad(f), (X,), (T,)), lambda f: vmap(grad(f))(X[None])):
            with pytest.raises(RuntimeError, match=said):
                transform(f)


def test_a_hook_that_comes_after_the_use_of_a_value_in_second_tangents():
    """``prod`` takes views of it: its tangent moves to memory of its own there."""

    def f(x):
        y = x.exp()
        z = y.prod()
        y.register_hook(lambda g: g * g)
        return z

    def gradient(x):
        return (x.exp().prod() / x.exp()) ** 2 * x.exp()

    second = jvp(lambda x: jvp(gradient, (x,), (T,))[1], (X,), (T,))[1]
    near(jvp(lambda x: jvp(grad(f), (x,), (T,))[1], (X,), (T,))[1], second)


def test_hooks_where_no_gradient_arrives_by_the_graph():
    seen = []

    def hidden(x):
        x.register_hook(seen.append)
        return (x.prod() * x).data.sum()

    grad(lambda x: vmap(grad(hidden))(x).sum())(X[None])
    assert not seen  # not None either: in its own pass nothing leads there

    def kinked(x):
        y = x.relu()
        y.register_hook(lambda g: seen.append(g * 1))
        return (y * 2).sum()

    torch.autograd.functional.hvp(kinked, X, T)
    assert [g.tolist() for g in seen] == [[2, 2, 2], [0, 0, 0]]


def test_what_a_function_gives_back_unchanged_is_the_callers_own():
    p = torch.rand(4, requires_grad=True)
    y, plain = torch.ones(4), torch.ones(4)
    assert torch.func.vjp(lambda x: x, p)[0] is p
    assert torch.func.vjp(torch.func.vmap(lambda x: x), p)[0] is p

    def pair(y, x):
        return (y * x).sum(), x

    assert torch.func.grad(pair, (0, 1), has_aux=True)(y, p)[1] is p
    assert torch.func.grad(pair, has_aux=True)(y, plain)[1] is plain
    assert torch.func.grad_and_value(pair, 1, has_aux=True)(y, plain)[1][1] is plain
    torch.func.vjp(lambda x: x, p)[0].sum().backward()
    assert p.grad.tolist() == [1, 1, 1, 1]


def test_what_jvp_gives_is_a_view_of_what_the_function_gave():
    p = torch.rand(4, requires_grad=True)
    for function in (lambda x: x, lambda _x: p):
        value = torch.func.jvp(function, (p,), (torch.ones(4),))[0]
        assert value is not p and not value.is_leaf and value._is_view()
    aux = torch.func.jvp(lambda x: (x * x, x), (p,), (torch.ones(4),), has_aux=True)[2]
    assert aux is not p and aux.requires_grad and aux._is_view()


def test_what_linearize_records_under_no_grad_goes_through_views():
    """The tangent of a view is in the graph that linearize reads, whatever the mode is."""
    x, along = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, -1.0, 2.0, 0.5])
    views = (
        lambda x: torch.view_as_real(torch.complex(x, x)),
        lambda x: torch.view_as_complex((x * 2).reshape(2, 2)),
        lambda x: torch.complex(x, x).conj().imag,
        lambda x: torch.as_strided(x * x, (2,), (2,)) ** 2,
        lambda x: torch.view_as_real(torch.fft.fft(x)),
        lambda x: torch.fft.ihfft(x),
    )
    for function in views:
        with torch.no_grad():
            _, push = torch.func.linearize(function, x)
        torch.testing.assert_close(push(along), torch.func.jvp(function, (x,), (along,))[1])


def test_a_pulled_gradient_leads_through_the_value_that_its_rule_reads():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    value, pull = torch.func.vjp(torch.exp, x)
    hooked = []
    value.register_hook(hooked.append)
    (pulled,) = pull(torch.tensor([1.0, 3.0], dtype=torch.float64))
    by_value, by_x = torch.autograd.grad(pulled.sum(), [value, x])
    assert by_value.tolist() == [1, 3] and len(hooked) == 1
    np.testing.assert_allclose(by_x, [np.e, 3 * np.e**2])


def test_a_batch_of_linear_pushes_is_differentiated_after_choices():
    x = X.clone().requires_grad_()
    torch.where(x > 0, x, x * 2)  # from here on passes look for branches that were not taken

    def pushed(x):
        return linearize(lambda a: torch.cat([a[:1], a[1:]]), X)[1](x).sum()

    assert vmap(grad(pushed))(torch.stack([X, -X])).tolist() == [[1, 1, 1]] * 2
