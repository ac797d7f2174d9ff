"""``autograd.functional`` and batched cotangents, against what PyTorch 2.13 gave and said."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import functional, grad
from gradcli.ops.errors import Fault
from tests.oracles.record_functional import CASES, REFUSED, build, plain
from tests.support.families import family
from tests.support.oracles import load

ORACLE = load("functional")
RECORDED = {case["name"]: case for case in ORACLE["cases"]}


def compare(found, want):
    if isinstance(want, list) and want and isinstance(want[0], dict):
        assert len(found) == len(want)
        for a, b in zip(found, want, strict=True):
            compare(a, b)
    elif isinstance(want, dict) and "parts" in want:
        assert len(found["parts"]) == len(want["parts"])
        for a, b in zip(found["parts"], want["parts"], strict=True):
            compare(a, b)
    else:
        assert found["shape"] == want["shape"]
        assert found["requires_grad"] == want["requires_grad"]
        np.testing.assert_allclose(found["data"], want["data"], rtol=1e-12, atol=1e-14)


@family("name", CASES)
def test_value(name):
    compare(plain(build(torch, CASES[name])), RECORDED[name]["result"])


@family("name", REFUSED)
def test_message(name):
    with pytest.raises((RuntimeError, TypeError, ValueError)) as fault:
        build(torch, REFUSED[name])
    assert isinstance(fault.value, Fault)
    assert fault.value.message == RECORDED[name]["message"].replace("torch.", "gradcli.")


def test_forward_mode_is_the_same():
    x = torch.tensor([0.3, 0.7], dtype=torch.double)

    def f(x):
        return torch.stack([x[0] * x[1], torch.sin(x[0]), x[1] ** 3])

    a = functional.jacobian(f, x)
    b = functional.jacobian(f, x, vectorize=True, strategy="forward-mode")
    assert torch.allclose(a, b)
    with pytest.raises(AssertionError, match="forward-mode"):
        functional.jacobian(f, x, strategy="sideways")


def test_a_hessian_in_forward_mode_is_of_functions_that_differentiate():
    x = torch.tensor([0.3, 0.7], dtype=torch.double)

    def cube(x):
        return (x**3).sum()

    def product(x):
        return (x * functional.jacobian(cube, x)).sum()

    for f in (product, lambda x: (x**3 * x.detach().requires_grad_()).sum()):
        want = functional.hessian(f, x)
        found = functional.hessian(f, x, vectorize=True, outer_jacobian_strategy="forward-mode")
        assert torch.allclose(found, want)
    assert not x.requires_grad


def test_forward_mode_keeps_no_graph_in_no_grad():
    x, c = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    for enabled in (True, False):
        with torch.set_grad_enabled(enabled):
            found = functional.jacobian(lambda x: x * c, x, vectorize=True, strategy="forward-mode")
        assert found.requires_grad is enabled


@family("name, how", product(["jacobian", "hessian"], [{"vectorize": True}, "forward-mode"]))
def test_strict_goes_with_rows_of_their_own_only(name, how):
    if how == "forward-mode":
        how = {("outer_jacobian_" if name == "hessian" else "") + "strategy": how}
    x = torch.tensor([0.3, 0.7])
    with pytest.raises(RuntimeError, match=r"`strict=True` and .* not supported together") as fault:
        getattr(functional, name)(lambda x: (x**3).sum(), x, strict=True, **how)
    assert fault.value.code == "E0303"


def test_strict_mode_asks_that_a_product_depends_on_its_direction():
    x, v = torch.tensor([0.5, 2.0]), torch.ones(2)
    for push, f in (functional.jvp, torch.sign), (functional.hvp, lambda x: x.relu().sum()):
        with pytest.raises(RuntimeError, match="not allowed in strict mode"):
            push(f, x, v, strict=True)
        assert not push(f, x, v)[1].any()
    assert functional.jvp(lambda x: x * 2, x, v, strict=True)[1].tolist() == [2.0, 2.0]


def test_a_result_that_does_not_depend_has_a_tangent_of_zeros():
    x = torch.tensor([0.3, 0.7])
    _, (one, none) = functional.jvp(lambda x: (x * 2, torch.ones(2)), x, torch.ones(2))
    assert one.tolist() == [2, 2] and none.tolist() == [0, 0]


def test_jvp_inside_a_transform():
    x = torch.tensor([1.0, 2.0])
    pushed = lambda t: functional.jvp(lambda q: q * q, t, t, create_graph=True)[1]  # noqa: E731
    assert torch.func.vjp(pushed, x)[1](x)[0].tolist() == [4, 16]


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"])
def test_what_a_map_leaves_unrecorded_is_no_gradient_of_zeros(name):
    x = torch.ones(2, requires_grad=True)
    along = () if name in ("vjp", "jacobian", "hessian") else (x,)

    def product(i):
        return getattr(functional, name)(lambda q: (q * q * i).sum(), x, *along, create_graph=True)

    with pytest.raises(Fault, match="does not require grad"):
        torch.func.vmap(product)(torch.ones(3))


def test_vectorize_runs_the_function_once_however_many_rows():
    calls = []

    def f(x):
        calls.append(1)
        return torch.sin(x) * x.sum()

    x = torch.randn(40, dtype=torch.double)
    found = functional.jacobian(f, x, vectorize=True)
    assert len(calls) == 1
    assert torch.equal(found, functional.jacobian(f, x))
    norm = torch.nn.BatchNorm1d(2)
    functional.jacobian(norm, torch.randn(3, 2), vectorize=True)
    assert norm.num_batches_tracked == 1
    functional.hessian(lambda x: f(x).sum(), x[:3], vectorize=True)
    assert len(calls) == 3
    assert functional.jacobian(lambda x: x[:0], x, vectorize=True).shape == (0, 40)
    with pytest.raises(TypeError, match="must be either a Tensor"):
        functional.jacobian(lambda x: 3.0, x, vectorize=True)


def test_forward_mode_has_no_graph_and_needs_vectorize():
    x = torch.tensor([0.3, 0.7], dtype=torch.double, requires_grad=True)
    for name, how in (("jacobian", "strategy"), ("hessian", "outer_jacobian_strategy")):
        for options in ({}, {"vectorize": True, "create_graph": True}):
            with pytest.raises(NotImplementedError, match="forward"):
                getattr(functional, name)(
                    lambda x: (x**4).sum(), x, **{how: "forward-mode"}, **options
                )
    assert isinstance(
        functional.jacobian(lambda a, b: a * b, (x, x), vectorize=True, strategy="forward-mode"),
        list,
    )


def test_vectorize_takes_functions_that_look_at_values_or_write():
    seen = torch.zeros(2)

    def f(x):
        seen.copy_(x.detach())
        return (x**3).sum() if x.sum() > 0 else x.sum()

    x = torch.tensor([0.3, 0.7])
    for name in ("jacobian", "hessian"):
        found = getattr(functional, name)(f, x, vectorize=True)
        np.testing.assert_allclose(found.numpy(), getattr(functional, name)(f, x).numpy())


def test_a_graph_for_the_caller():
    x = torch.tensor([0.3, 0.7], dtype=torch.double, requires_grad=True)
    for how in ({}, {"vectorize": True}):
        h = functional.hessian(lambda x: (x**4).sum(), x, create_graph=True, **how)
        (third,) = grad(h.sum(), x)
        np.testing.assert_allclose(third.numpy(), [7.2, 16.8], rtol=1e-12)
    assert not functional.hessian(lambda x: (x**4).sum(), x).requires_grad
    assert x.grad is None


def test_batched_cotangents():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    (rows,) = grad(y, x, torch.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2, 0], [0, 4]]
    y = x * x
    (rows,) = grad(y, x, torch.eye(2), is_grads_batched=True, create_graph=True)
    assert grad(rows.sum(), x)[0].tolist() == [2, 2]

    def kept(x):
        y = x * 2
        y.retain_grad()
        return y * y

    inner = functional.jacobian
    with pytest.raises(RuntimeError, match="vmap that has ended"):  # to which the next is added
        inner(
            lambda x: inner(kept, x, create_graph=True, vectorize=True).sum(0),
            torch.tensor([0.3, 0.5]),
        )
    unused = torch.ones(3, requires_grad=True)
    none = grad(
        x * x, [x, unused], torch.eye(2), is_grads_batched=True, materialize_grads=True,
        create_graph=True,
    )[1]  # fmt: skip
    assert none.tolist() == [0, 0, 0] and none.requires_grad and none.is_leaf
    for weights in (None, (None, torch.ones(3))):  # a scalar's own is none of a batch
        with pytest.raises(ValueError):
            grad((x.sum(), x.sum()), x, weights, is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        grad(y * y, x, torch.ones(1, 2), is_grads_batched=True)
        grad(y, x, torch.ones(1, 2), is_grads_batched=True)
        grad(y, x, torch.ones(1, 2), is_grads_batched=True)
    for none in (torch.zeros(0, 2), torch.zeros(())):
        with pytest.raises(RuntimeError, match="at least 1"):
            grad(x * 2, x, none, is_grads_batched=True)


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize("f", [lambda x: x * 2, _Doubled.apply, lambda x: (x * 2).unbind(1)[1]])
def test_gradients_by_an_edge(f):
    """Its shape is that of the output it names, which has to be there."""
    x = torch.ones(3, 2, requires_grad=True)
    y = f(x)
    edge, weights = torch.autograd.graph.get_gradient_edge(y), torch.ones(4, *y.shape)
    (found,) = grad(edge, x, weights, True, is_grads_batched=True)
    (want,) = grad(y, x, weights, True, is_grads_batched=True)
    assert torch.equal(found, want)
    for wrong in (-1, 2):
        beside = edge._replace(output_nr=wrong)
        with pytest.raises(IndexError, match="names output"):
            grad(beside, x, weights[0])
        with pytest.raises(IndexError, match="names output"):
            grad(y.sum(), beside)


def test_gradients_with_tangents_are_batched_and_free_what_was_saved():
    x, t = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 5.0])
    with torch.autograd.forward_ad.dual_level():
        z = torch.autograd.forward_ad.make_dual(x, t) ** 2
        grad((z * 3).sum(), z)  # z's own node did not run
        (rows,) = grad(z, x, torch.eye(2), is_grads_batched=True)
        rows, along = torch.autograd.forward_ad.unpack_dual(rows)
        assert rows.tolist() == [[2, 0], [0, 4]] and along.tolist() == [[6, 0], [0, 10]]
        with pytest.raises(RuntimeError, match="second time"):
            grad(z.sum(), x)


@pytest.mark.parametrize("recorded", [False, True])
def test_derivatives_with_create_graph_keep_the_tangents_of_their_inputs(recorded):
    v, cube, fourth = torch.ones(2), lambda z: z**3, lambda z: (z**4).sum()
    x = torch.tensor([1.0, 2.0], requires_grad=recorded)
    for derivative, along in (
        (lambda z: functional.jacobian(cube, z, create_graph=True).sum(0), [6, 12]),
        (lambda z: functional.hessian(fourth, z, create_graph=True).sum(0), [24, 48]),
        (lambda z: functional.vjp(cube, z, v, create_graph=True)[1], [6, 12]),
        (lambda z: functional.jvp(cube, z, v, create_graph=True)[1], [6, 12]),
        (lambda z: functional.hvp(fourth, z, v, create_graph=True)[1], [24, 48]),
        (lambda z: functional.vhp(fourth, z, v, create_graph=True)[1], [24, 48]),
        (lambda z: functional.vjp(cube, torch.ones(2), z, create_graph=True)[1], [3, 3]),
    ):
        with torch.autograd.forward_ad.dual_level():
            found = derivative(torch.autograd.forward_ad.make_dual(x, v))
            assert torch.autograd.forward_ad.unpack_dual(found).tangent.tolist() == along
        assert torch.func.linearize(derivative, x)[1](v).tolist() == along
        assert x.requires_grad == recorded


def test_a_hook_that_looks_on_is_called_once_where_gradients_have_tangents():
    x, calls = torch.tensor([1.0, 2.0], requires_grad=True), []
    x.register_hook(lambda g: calls.append(g.tolist()))
    with torch.autograd.forward_ad.dual_level():
        z = x * torch.autograd.forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
        (g,) = grad(z.sum(), x, retain_graph=True)
        z.sum().backward(retain_graph=True)
        z.sum().backward()
        assert torch.autograd.forward_ad.unpack_dual(g).tangent.tolist() == [3, 3]
    assert calls == [[1, 1]] * 3
    one, two = x.unbind()
    one.register_hook(calls.append)  # is told that nothing arrived
    with torch.autograd.forward_ad.dual_level():
        z = two * torch.autograd.forward_ad.make_dual(torch.tensor(2.0), torch.tensor(3.0))
        (g,) = grad(z, x)
        assert torch.autograd.forward_ad.unpack_dual(g).tangent.tolist() == [0, 3]
    assert calls[3:] == [None, [0, 2]]


def test_whole_numbers_have_no_jacobian():
    x = torch.ones(3)
    for transform in (torch.func.jacrev, torch.func.hessian):
        with pytest.raises(RuntimeError, match="must be floating-point or complex Tensors"):
            transform(lambda x: x.argmax())(x)


def test_an_infinite_cotangent_of_an_imaginary_part_leaves_the_real_part():
    z = torch.tensor([1 + 2j], requires_grad=True)
    (z.imag * float("inf") + z.real).sum().backward()
    assert z.grad.tolist() == [complex(1, float("inf"))]


def test_a_hook_that_bends_gradients_is_met_on_the_way_of_each_product():
    def f(x):
        y = x * x
        y.register_hook(lambda g: g * g)
        return (y * x).sum()

    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 0.5])
    assert functional.vhp(f, x, v)[1].tolist() == [36.0, 13.0]
    assert functional.hvp(f, x, v)[1].tolist() == [18.0, 12.0]


def test_shapes_under_vmap_are_refused_in_pytorchs_words():
    for shape, said in (((-1, -1), "only one dimension"), ((0, -1), "is invalid for input")):
        with pytest.raises(RuntimeError, match=said):
            torch.func.vmap(lambda x, shape=shape: x.view(shape))(torch.ones(2, 4))
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        torch.tensor(2.0).roll(1, 0)
    with pytest.raises(RuntimeError, match="repeated dim in `source`"):
        torch.tensor(2.0).movedim((0, -1), (0, -1))


def test_a_transform_has_the_name_and_the_text_of_its_function():
    def own(x):
        """What it is."""
        return (x**2).sum()

    for name in ("grad", "vmap", "jacrev", "jacfwd", "hessian", "grad_and_value"):
        made = getattr(torch.func, name)(own)
        assert (made.__name__, made.__doc__) == ("own", "What it is.")


def test_a_product_with_the_hessian_is_nan_where_that_is():
    torch.where(torch.tensor(True), torch.tensor(1.0), 2.0)  # from here on branches are looked for
    for f, x in ((lambda x: x**x, -1.0), (lambda x: torch.norm(x), np.inf)):
        assert torch.isnan(functional.hvp(f, torch.tensor(x), torch.tensor(1.0))[1]), x
    # the branch not taken gives nothing all the same
    x = torch.tensor([0.0, 4.0])
    pushed = functional.jvp(lambda x: torch.where(x > 0, torch.sqrt(x), x), x, torch.ones(2))[1]
    assert pushed.tolist() == [1.0, 0.25]
