"""Custom functions: every corner as PyTorch 2.13 has it; the messages were recorded from it."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import Function, forward_ad, grad
from gradcli.autograd.function import function_record, once_differentiable
from gradcli.func import jvp
from tests.support.families import family


def leaf(data=(1.0, 2.0), **options):
    return torch.tensor(data, requires_grad=True, **options)


def made(forward, backward=lambda ctx, g: g, name="F"):
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (Function,), body)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


class Square(Function):
    """Saves apart, as transforms ask for."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


class Exp(Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx, x):
        out = torch.exp(x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * out


def test_the_tutorials_relu():
    class ReLU(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return torch.where(x < 0, 0.0, g)

    x, w, b = leaf([[3.0, 1.0]]), leaf([[1.0, 0.0], [0.0, 1.0]]), leaf(3.0)
    y = ReLU.apply(x @ w + b)
    ((y - torch.tensor([[2.0, 3.0]])) ** 2).mean().backward()
    assert repr(y).endswith("grad_fn=<ReLUBackward>)")
    assert b.grad.item() == 5.0
    assert x.grad.tolist() == [[4.0, 1.0]]


def test_names_and_links():
    x = leaf()
    y = Cube.apply(x)
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "CubeBackward"
    ((end, number),) = y.grad_fn.next_functions
    assert (end.variable, number) == (x, 0)
    assert y.grad_fn.saved_tensors[0] is x
    assert y.grad_fn.needs_input_grad == (True,)
    assert str(type(y.grad_fn)) == "<class 'gradcli.autograd.function.CubeBackward'>"
    assert repr(y.grad_fn).startswith("<gradcli.autograd.function.CubeBackward object at 0x")
    with pytest.raises(AttributeError):
        y.grad_fn.nothing  # noqa: B018


@pytest.mark.parametrize(("function", "plain"), [(Cube, lambda x: x**3), (Exp, torch.exp)])
def test_three_orders(function, plain):
    x = leaf(0.7, dtype=torch.double)
    y, z = function.apply(x), plain(x)
    for _ in range(3):
        (y,), (z,) = grad(y, x, create_graph=True), grad(z, x, create_graph=True)
        assert y.item() == pytest.approx(z.item(), rel=1e-14)


def test_gradcheck_takes_them():
    x = leaf([0.3, -1.2], dtype=torch.double)
    assert torch.autograd.gradcheck(Cube.apply, (x,))
    assert torch.autograd.gradgradcheck(Exp.apply, (x,))


def test_forward_sees_the_users_tensors_and_records_nothing():
    seen = []

    def forward(ctx, x, k):
        seen.append((x.requires_grad, torch.is_grad_enabled(), ctx.needs_input_grad, k))
        ctx.k = k
        return x * k

    x = leaf()
    y = made(forward, lambda ctx, g: (g * ctx.k, None)).apply(x, 5)
    y.sum().backward()
    assert seen == [(True, False, (True, False), 5)]
    assert x.grad.tolist() == [5, 5]
    assert y.grad_fn.k == 5
    with torch.no_grad():
        assert not made(forward).apply(x, 5).requires_grad


def test_inputs_without_gradient():
    f = made(lambda ctx, a, b: a * b, lambda ctx, g: (g, None))
    a, b = leaf(), leaf()
    f.apply(a, b).sum().backward()
    assert a.grad.tolist() == [1, 1]
    assert b.grad is None
    assert grad(f.apply(a, b).sum(), [a, b], allow_unused=True)[1] is None
    assert not f.apply(torch.ones(2), torch.ones(2)).requires_grad


REFUSED = {
    "too few": (lambda ctx, a, b: a * b, lambda ctx, g: g, 2,
        "function FBackward returned an incorrect number of gradients (expected 2, got 1)"),
    "too many": (lambda ctx, a: a * 2, lambda ctx, g: (g, g), 1,
        "function FBackward returned an incorrect number of gradients (expected 1, got 2)"),
    "a number": (lambda ctx, a: a * 2, lambda ctx, g: 3.0, 1,
        "expected Variable or None (got float)"),
    "wrong shape": (lambda ctx, a: a * 2, lambda ctx, g: torch.ones(3), 1,
        "Function FBackward returned an invalid gradient at index 0 - got [3] but expected shape "
        "compatible with [2]"),
    "too small": (lambda ctx, a: a * 2, lambda ctx, g: torch.tensor(1.0), 1,
        "Function FBackward returned an invalid gradient at index 0 - got [] but expected shape "
        "compatible with [2]"),
}  # fmt: skip


@family("case", REFUSED)
def test_gradients_that_do_not_fit(case):
    forward, backward, count, message = REFUSED[case]
    y = made(forward, backward).apply(*(leaf() for _ in range(count)))
    with pytest.raises(RuntimeError) as fault:
        y.sum().backward()
    assert fault.value.message == message
    assert fault.value.code == "E0411"


def test_a_gradient_for_what_is_no_tensor():
    y = made(lambda ctx, a, k: a * k, lambda ctx, g: (g, g)).apply(leaf(), 3)
    with pytest.raises(RuntimeError, match="different than None at position 2"):
        y.sum().backward()


@pytest.mark.parametrize("wanted", [torch.float32, torch.complex64, None])
def test_a_complex_gradient_of_real_numbers_is_refused(wanted):
    """Whatever type the gradient may be added in."""
    x = leaf()
    x.grad_dtype = wanted
    y = made(lambda ctx, a: a * 2, lambda ctx, g: g * 1j).apply(x)
    with pytest.raises(RuntimeError, match=r"returned a .*complex64 gradient at index 0"):
        y.sum().backward()


def test_gradients_that_are_fitted():
    x = leaf()
    made(lambda ctx, a: a * 2, lambda ctx, g: (g, None, None)).apply(x).sum().backward()
    assert x.grad.tolist() == [1, 1]
    x.grad = None
    made(lambda ctx, a: a * 2, lambda ctx, g: torch.ones(3, 2)).apply(x).sum().backward()
    assert x.grad.tolist() == [3, 3]
    x.grad = None
    made(lambda ctx, a: a * 2, lambda ctx, g: g.double()).apply(x).sum().backward()
    assert x.grad.dtype is torch.float32


def test_freed_only_where_saved_values_are_asked_for():
    x = leaf()
    y = Cube.apply(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph=True") as fault:
        y.sum().backward()
    assert fault.value.code == "E0401"
    with pytest.raises(RuntimeError, match="freed"):
        y.grad_fn.saved_tensors  # noqa: B018
    z = made(lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1], lambda ctx, g: g * 2).apply(x)
    x.grad = None
    z.sum().backward()
    z.sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_saved_values_may_be_given_away_once():
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        held = weakref.ref(x)
        del x
        seen.append(held())
        with pytest.raises(RuntimeError, match="can only be accessed once") as fault:
            ctx.saved_tensors  # noqa: B018
        assert fault.value.code == "E0401"
        return g

    seen = []
    f = made(lambda ctx, a: (ctx.save_for_backward(a), a * 2)[1], backward)
    f.clear_saved_tensors_on_access = True
    f.apply(leaf() * 1).sum().backward()
    assert seen == [None]
    node = f.apply(leaf()).grad_fn
    (kept,) = node._raw_saved_tensors
    assert len(node.saved_tensors) == 1
    assert kept.data is kept.unpack() is kept.unpack_hook is None


def test_a_pure_view_made_where_nothing_is_recorded_is_not_written_to():
    def forward(ctx, a):
        ctx._is_pure_view = True
        return a[:1]

    view = made(forward, lambda ctx, g: torch.cat([g, g * 0]))
    base = leaf() * 1
    with torch.no_grad():
        v = view.apply(base)
    for part in (v, v[:]):
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            part.mul_(2)
    x = leaf()
    v = view.apply(x * 1)
    v[:].mul_(3)
    v.sum().backward()
    assert x.grad.tolist() == [3, 0]


def test_an_input_that_is_returned_and_saved_is_refused_where_it_would_be_a_new_view():
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(*inputs[:fixed])

    f = made(lambda a: a)
    f.setup_context = staticmethod(setup)
    fixed = 0
    for recording, x in ((True, leaf()), (False, torch.ones(2)), (True, torch.arange(2))):
        with (
            torch.set_grad_enabled(recording),
            pytest.raises(RuntimeError, match="returned as-is as output is being saved"),
        ):
            f.apply(x)
    with torch.no_grad():
        assert not f.apply(leaf()).requires_grad
    fixed = 1
    assert not f.apply(leaf()).requires_grad
    with pytest.raises(RuntimeError, match="returned as-is as output is being saved"):
        f.apply(torch.ones(2))


def test_an_input_that_is_written_to_comes_before_its_views():
    def forward(ctx, a, turned, fixed):
        ctx.mark_dirty(a.mul_(3))
        view = a[:1]
        if fixed:
            ctx.mark_non_differentiable(view)
        return (view, a) if turned else (a, view)

    f = made(forward, lambda ctx, *gs: (3 * max(gs, key=len), None, None))
    for turned in (False, True):
        x = leaf()
        y = x * 1
        view = f.apply(y, turned, False)[not turned]
        assert view.grad_fn is y.grad_fn
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3, 3]
        y = x * 1
        view = f.apply(y, turned, True)[not turned]
        assert view.requires_grad
        for ask in (lambda v: v.grad_fn, lambda v: v.is_leaf, lambda v: v.mul_(2)):
            with pytest.raises(RuntimeError, match="created"):
                ask(view)
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3, 3]


@family("level", ["outer", "inner"])
@family("given", [False, True])
def test_a_jvp_has_none_for_what_is_returned_without_a_gradient(level, given):
    class Twice(Function):
        @staticmethod
        def forward(x, y):
            return (y if level == "outer" else y * 1), x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_non_differentiable(inputs[1] if level == "outer" else output[0])

        @staticmethod
        def jvp(ctx, t, u):
            return u if given else None, 2 * t

    def f(x):
        return Twice.apply(x, y)[1]

    x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    y = torch.ones(2)
    asked = (lambda v: jvp(f, (v,), (t,))[1]) if level == "inner" else f
    if given:
        with pytest.raises(RuntimeError, match="should return None at that position"):
            jvp(asked, (x,), (t,))
    else:
        assert jvp(asked, (x,), (t,))[1].tolist() == ([0, 0] if level == "inner" else [6, 8])


def test_saved_values_that_were_written_to():
    a = leaf()
    b = a * 1
    y = Cube.apply(b)
    b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as fault:
        y.sum().backward()
    assert fault.value.code == "E0402"
    y = Exp.apply(a)
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"output 0 .* is at version 1; expected version 0"):
        y.sum().backward()


def test_none_may_be_saved_and_numbers_may_not():
    f = made(lambda ctx, a: (ctx.save_for_backward(a, None), a * 2)[1])
    assert f.apply(leaf()).grad_fn.saved_tensors[1] is None
    with pytest.raises(TypeError, match="argument 0 is of type float") as fault:
        made(lambda ctx, a: ctx.save_for_backward(3.0)).apply(leaf())
    assert fault.value.code == "E0412"


def test_a_returned_input_is_a_view():
    x = leaf()
    y = made(lambda ctx, a: a, lambda ctx, g: g * 7).apply(x)
    assert y is not x
    assert np.shares_memory(y.detach().numpy(), x.detach().numpy())
    y.sum().backward()
    assert x.grad.tolist() == [7, 7]
    with torch.no_grad():
        assert made(lambda ctx, a: a).apply(x) is not x


@pytest.mark.parametrize("forward", [lambda ctx, a: a, lambda ctx, a: a.view(2, 1)])
def test_a_view_that_a_function_made_refuses_writes(forward):
    b = leaf() * 1
    y = made(forward).apply(b)
    with pytest.raises(RuntimeError, match="Output 0 of F is a view and is being") as fault:
        y.mul_(2)
    assert fault.value.code == "E0409"
    b.mul_(2)
    with pytest.raises(RuntimeError, match="F is a view and its base or another view"):
        y.grad_fn  # noqa: B018


def twice(ctx, a):
    a.mul_(2)
    ctx.mark_dirty(a)
    return a


def test_an_input_written_in_place():
    f = made(twice, lambda ctx, g: g * 2)
    a = leaf()
    b = a * 1
    y = f.apply(b)
    assert y is b
    y.sum().backward()
    assert a.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        f.apply(leaf())


@pytest.mark.parametrize("first", [True, False])
def test_an_input_written_in_place_comes_with_a_view_of_it(first):
    def forward(ctx, a):
        a.mul_(2)
        ctx.mark_dirty(a, a)  # each mark is a write
        return (a[:1], a) if first else (a, a[:1])

    def backward(ctx, *gs):
        view, whole = gs if first else gs[::-1]
        return torch.cat([view, torch.zeros(1)]) * 10 + whole * 2

    x = leaf()
    results = made(forward, backward).apply(x * 1)
    assert [(r.requires_grad, r.is_leaf, r._version) for r in results] == [(True, False, 3)] * 2
    (results[0].sum() + results[1].sum()).backward()
    assert x.grad.tolist() == [12, 2]


def test_a_view_written_in_place_takes_its_base_along():
    a = leaf()
    b = a * 1
    made(twice, lambda ctx, g: g * 2).apply(b[0:1])
    b.sum().backward()
    assert b.tolist() == [2, 2]
    assert a.grad.tolist() == [2, 1]
    two = made(lambda ctx, a: (twice(ctx, a), a * 2), lambda ctx, g, h: g)
    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        two.apply((leaf() * 1)[0:1])


def test_a_dirty_input_that_is_not_returned():
    f = made(lambda ctx, a: twice(ctx, a) * 1)
    with pytest.raises(RuntimeError, match="were not returned as output") as fault:
        f.apply(leaf() * 1)
    assert fault.value.code == "E0412"
    with pytest.raises(RuntimeError, match="got float"):
        made(lambda ctx, a: ctx.mark_non_differentiable(3.0)).apply(leaf())


def test_once_differentiable():
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

    f = made(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], once_differentiable(backward))
    x = leaf()
    (g,) = grad(f.apply(x).sum(), x, create_graph=True)
    assert not g.requires_grad
    for out in (f.apply(x * x) * x, f.apply(x) + x**3, f.apply(x.exp()), f.apply(x) * x):
        (g,) = grad(out.sum(), x, create_graph=True)
        assert g.tolist() == grad(out.sum(), x)[0].tolist()
        with pytest.raises(RuntimeError, match="differentiate twice") as fault:
            g.sum().backward()
        assert fault.value.code == "E0413"
    with pytest.raises(RuntimeError, match="differentiate twice"):
        torch.autograd.functional.hessian(lambda x: f.apply(x).sum(), x)


def test_once_differentiable_leaves_what_its_backward_recorded_itself():
    def backward(ctx, g):
        with torch.enable_grad():
            return 2 * ctx.saved_tensors[0] * g

    f = made(lambda ctx, a: (ctx.save_for_backward(a), a * a)[1], once_differentiable(backward))
    x = leaf(3.0)
    (g,) = grad(f.apply(x), x, create_graph=True)
    assert grad(g, x)[0] == 2


def test_once_differentiable_in_nested_transforms_is_refused():
    once = once_differentiable(lambda ctx, g: 2 * ctx.x * g)
    f = function_record(
        "f", lambda x: x * x, once, generate_vmap_rule=True,
        setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0]),
    )  # fmt: skip
    x, first = torch.tensor([1.0, 2.0]), torch.func.grad(lambda x: f.apply(x).sum())
    assert first(x).tolist() == torch.vmap(first)(x).tolist() == [2, 4]
    assert not first(x).requires_grad

    def pulled(x):
        return torch.func.vjp(f.apply, x)[1](torch.ones(2))[0].sum()

    for second in (
        torch.func.jacrev(first), torch.func.grad(lambda x: torch.vmap(first)(x).sum()),
        torch.vmap(torch.func.grad(first)), torch.func.grad(pulled),
        lambda x: torch.autograd.functional.hessian(lambda x: (f.apply(x) ** 2).sum(), x),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="differentiate twice"):
            second(x)


def test_the_gradient_that_a_backward_is_given_in_a_transform():
    seen = []

    def backward(ctx, g):
        seen.append((g.requires_grad, torch.is_grad_enabled()))
        return 3 * g

    f = function_record(
        "f", lambda x: x * 3, backward, setup_context=lambda ctx, inputs, output: None
    )
    x = torch.tensor([1.0, 2.0])
    g = torch.func.grad(lambda x: (f.apply(x) ** 2).sum())
    assert not g(x).requires_grad
    torch.func.grad(lambda x: g(x).sum())(x)
    assert seen == [(True, True)] * 3


def test_a_node_is_a_ctx_to_isinstance():
    node = made(lambda ctx, a: a * 2, lambda ctx, g: g * 2).apply(leaf()).grad_fn
    assert isinstance(node, torch.autograd.function.FunctionCtx)
    assert not isinstance((leaf() * 2).grad_fn, torch.autograd.function.FunctionCtx)


def test_setup_context():
    class Scale(Function):
        @staticmethod
        def forward(x, k=3):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors[0].tolist() == [3, 6]
            return g * ctx.k, None

    x = leaf()
    Scale.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_saved_input_that_is_returned_where_nothing_is_recorded():
    """With setup_context it is refused where the result would be a view of it."""

    class Same(Function):
        constant = False

        @staticmethod
        def forward(x):
            return x

        @classmethod
        def setup_context(cls, ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            if cls.constant:
                ctx.mark_non_differentiable(output)

    class Constant(Same):
        constant = True

    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert not Same.apply(leaf()).requires_grad
    assert Constant.apply(leaf()).tolist() == [1, 2]
    for function, x in ((Same, leaf()), (Same, leaf().detach()), (Constant, leaf().detach())):
        with pytest.raises(RuntimeError, match="An input that has been returned as-is"):
            function.apply(x)


def test_what_is_missing():
    x = leaf()
    with pytest.raises(NotImplementedError, match="implement the forward function"):
        type("F", (Function,), {}).apply(x)
    y = type("F", (Function,), {"forward": staticmethod(lambda ctx, a: a * 2)}).apply(x)
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        y.sum().backward()
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        cube = Cube()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        cube(x)
    with pytest.raises(RuntimeError, match="Attribute 'next_functions' is invalid"):
        cube.next_functions  # noqa: B018


def test_hooks_work_on_it():
    x = leaf()
    y = Cube.apply(x)
    seen = []
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(lambda gs: seen.append(gs[0].tolist()))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 2,))
    y.sum().backward()
    assert seen == [[10, 10]]
    assert x.grad.tolist() == [60, 240]


def test_a_record_is_no_class():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.power = 3
        return x**3

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return ctx.power * x**2 * g

    cube = function_record("Cube", forward, backward)
    x = leaf()
    y = cube.apply(x)
    assert not isinstance(cube, type)
    assert repr(y).endswith("grad_fn=<CubeBackward>)")
    assert type(y.grad_fn).__name__ == "CubeBackward"
    (g,) = grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [6, 12]


def test_forward_mode_asks_for_a_jvp():
    x = torch.tensor([1.0, 2.0])
    for run in (
        lambda: torch.func.jvp(Square.apply, (x,), (x,)),
        lambda: torch.func.jacfwd(Square.apply)(x),
        lambda: torch.func.hessian(lambda x: Square.apply(x).sum())(x),
        lambda: Exp.apply(forward_ad.make_dual(x, x)),
    ):
        with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="jvp function"):
            run()
    assert torch.func.jacrev(torch.func.jacrev(Square.apply))(x).sum().item() == 4.0


def test_vmap_runs_it_for_each():
    x = torch.tensor([1.0, 2.0])
    assert torch.func.vmap(Square.apply)(x).tolist() == [1, 4]
    assert torch.func.vmap(torch.func.grad(Square.apply))(x).tolist() == [2, 4]


def test_transforms_ask_for_setup_context_and_vmap_for_a_rule():
    class WithoutRule(Square):
        generate_vmap_rule = False

    x = torch.tensor([1.0, 2.0])
    for transform in (
        torch.func.grad, torch.func.jacrev, torch.func.jacfwd, torch.func.vmap,
        lambda f: lambda x: torch.func.jvp(f, (x,), (x,)), lambda f: lambda x: torch.func.vjp(f, x),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="setup_context"):
            transform(lambda x: Cube.apply(x).sum())(x)
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        torch.func.vmap(WithoutRule.apply)(x)


def test_nothing_stays_behind():
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = Exp.apply(x)
        watched = [weakref.ref(y), weakref.ref(y.grad_fn)]
        y.sum().backward()
        del y
        assert [w() for w in watched] == [None, None]
    finally:
        gc.enable()


NAMES = (
    "shape", "dtype", "seq", "saved", "edges", "op", "outputs", "ports", "arguments", "ctx",
    "definition", "name", "extra", "pull", "port", "register_hook", "device", "grad", "only",
    "shown", "needs_input_grad", "_node", "_dirty", "_fixed", "_materialize", "_to_save",
)  # fmt: skip


@family("name", NAMES)
def test_ctx_takes_any_name_a_user_would_choose(name):
    found = []

    def forward(ctx, x):
        setattr(ctx, name, ("mine", 3))
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        found.append(getattr(ctx, name))
        found.append(ctx.saved_tensors[0].tolist())
        return g * 2

    x = leaf()
    y = made(forward, backward).apply(x)
    assert getattr(y.grad_fn, name) == ("mine", 3)
    assert "grad_fn=<FBackward>" in repr(y)
    (y * 1).sum().backward()
    assert found == [("mine", 3), [1, 2]] and x.grad.tolist() == [2, 2]


def test_the_node_that_a_user_sees_is_one_and_writes_to_ctx():
    def backward(ctx, g):
        return g * ctx.shape

    y = made(lambda ctx, x: x * 2, backward).apply(x := leaf())
    node = y.grad_fn
    z = y * 1
    assert z.grad_fn.next_functions[0][0] is node
    assert torch.autograd.graph.get_gradient_edge(y).node is node
    assert isinstance(node, torch.autograd.graph.Node) and type(node).__name__ == "FBackward"
    node.shape = 7
    with pytest.raises(AttributeError, match="no attribute 'shap'"):
        node.shap  # noqa: B018
    z.sum().backward()
    assert x.grad.tolist() == [7, 7]


def test_vmap_refuses_two_rules_at_once():
    class Both(Square):
        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    assert Both.apply(torch.tensor([2.0])).tolist() == [4]
    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden vmap"):
        torch.vmap(Both.apply)(torch.ones(2))


def test_a_gradient_inside_vmap_is_that_of_backward():
    """Not of what the function's own vmap computes by, here the sign, whose derivative is 0."""

    class Through(Function):
        @staticmethod
        def forward(x):
            return x.sign()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return 3 * g

        @staticmethod
        def vmap(info, in_dims, x):
            return x.sign(), in_dims[0]

    x = torch.tensor([0.5, -0.25])
    func, f = torch.func, Through.apply
    assert torch.vmap(f)(x).tolist() == [1, -1]
    assert torch.vmap(func.grad(f))(x).tolist() == [3, 3]
    assert torch.vmap(func.grad(func.grad(lambda z: f(z) * z)))(x).tolist() == [6, 6]
    assert torch.vmap(torch.vmap(func.grad(f)))(x[None]).tolist() == [[3, 3]]
    assert torch.vmap(func.jacrev(f))(x[:, None]).tolist() == [[[3]], [[3]]]
    assert torch.vmap(lambda z: func.vjp(f, z)[1](z)[0])(x).tolist() == [1.5, -0.75]
    assert func.grad(lambda x: torch.vmap(f)(x).sum())(x).tolist() == [0, 0]


class Tenfold(Function):
    """Whose own vmap gives other numbers than its forward, to tell which of them was asked."""

    @staticmethod
    def forward(x):
        return 2 * x

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

    @staticmethod
    def vmap(info, in_dims, x):
        return 10 * Tenfold.apply(x), in_dims[0]


def test_values_inside_vmap_are_those_of_its_own_vmap_where_a_gradient_is_taken_too():
    func, vmap, f = torch.func, torch.vmap, Tenfold.apply
    x = torch.tensor([1.0, 2.0])
    both = func.grad_and_value(f)
    for found in (vmap(both)(x), func.jvp(vmap(both), (x,), (x,))[0]):
        assert [v.tolist() for v in found] == [[20, 40], [20, 40]]
    assert vmap(vmap(func.grad(f)))(x[None]).tolist() == [[200, 400]]
    assert vmap(func.grad(lambda r: vmap(f)(r).sum()))(x[None]).tolist() == [[200, 400]]
    assert vmap(lambda z: func.vjp(f, z)[0])(x).tolist() == [20, 40]
    assert vmap(func.jacrev(f))(x[None]).tolist() == [[[20, 0], [0, 40]]]
    for nested in (func.hessian, lambda f: func.jacrev(func.jacrev(f))):
        assert nested(lambda z: f(z).sum())(x).tolist() == [[2, 0], [0, 4]]


def test_an_own_vmap_that_writes_to_its_argument_where_a_gradient_is_taken():
    class Doubled(Function):
        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

        @staticmethod
        def vmap(info, in_dims, x):
            return x.mul_(2), in_dims[0]

    def f(x):
        y = x.clone()
        return Doubled.apply(y) + y

    x = torch.tensor([1.0, 2.0])
    found = torch.vmap(torch.func.grad_and_value(f))(x)
    assert [v.tolist() for v in found] == [[4, 4], [4, 8]]


def test_linearize_in_inference_mode():
    class Cubed(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, t, s):
            x, y = ctx.saved_tensors
            return 2 * t * x * y + s * x * x

    x = torch.tensor([1.0, 2.0])
    with torch.inference_mode():
        inside = torch.tensor([1.0, 2.0])
        for f in (
            lambda x: Cubed.apply(x, x),
            lambda x: torch.vmap(Cubed.apply)(torch.stack([x, x]), torch.stack([x, x]))[1],
            lambda x: torch.vmap(Cubed.apply, in_dims=(0, None))(x, x[1]) * x,
        ):
            for at in (x, inside):
                _, want = torch.func.jvp(f, (at,), (x,))
                assert want.any()
                assert torch.equal(torch.func.linearize(f, at)[1](x), want)


def test_forward_mode_runs_a_function_once():
    runs = []

    class Masked(Function):
        @staticmethod
        def forward(ctx, x):
            runs.append(x)
            ctx.mask = torch.rand(x.shape) > 0.5
            return x * ctx.mask

        @staticmethod
        def backward(ctx, g):
            return g * ctx.mask

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.mask

    with forward_ad.dual_level():
        out = Masked.apply(forward_ad.make_dual(torch.ones(40), torch.ones(40)))
        primal, tangent = forward_ad.unpack_dual(out)
    assert torch.equal(primal, tangent)
    assert len(runs) == 1


def test_forward_mode_follows_a_write_of_a_function():
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x, way):
            ctx.mark_dirty(x)
            ctx.way = way
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, t, _):
            return {"right": lambda: t.mul_(2), "new": lambda: t * 2, "kept": lambda: t,
                    "other": lambda: t.mul_(2) * 1}[ctx.way]()  # fmt: skip

    with forward_ad.dual_level():
        d = forward_ad.make_dual(torch.ones(3), torch.ones(3)) * 1
        Doubled.apply(d[1:], "right")
        primal, tangent = forward_ad.unpack_dual(d)
        assert primal.tolist() == tangent.tolist() == [1.0, 2.0, 2.0]
        x, t = torch.ones(2), torch.ones(2)
        d = forward_ad.make_dual(x, t)
        assert Doubled.apply(d, "right") is d and forward_ad.unpack_dual(d).tangent is t
        assert x.tolist() == t.tolist() == [2.0, 2.0]
        for way, said in (("new", "modifying"), ("kept", "modifying"), ("other", "returning")):
            with pytest.raises(RuntimeError, match=f"not {said} the forward mode gradients"):
                Doubled.apply(forward_ad.make_dual(x, t), way)


def test_a_jvp_returns_a_view_where_forward_does():
    class First(Function):
        @staticmethod
        def forward(ctx, x, way):
            ctx.way = way
            return x[:2]

        @staticmethod
        def jvp(ctx, t, _):
            return ctx.way(t)

    with forward_ad.dual_level():
        t = torch.ones(3)
        d = forward_ad.make_dual(torch.ones(3), t)
        part = First.apply(d, lambda t: t[:2])
        part.mul_(3)
        assert t.tolist() == forward_ad.unpack_dual(d).tangent.tolist() == [3.0, 3.0, 1.0]
        for way, said in (
            (lambda t: t[:2].clone(), "view\\."),
            (lambda t: t[:2].clone()[:], "view of the given grad input"),
        ):
            with pytest.raises(RuntimeError, match=f"jvp is not returning a {said}"):
                First.apply(d, way)
        with pytest.raises(RuntimeError, match="view of the same base as the given grad input"):
            First.apply(d[:], lambda t: t[:2].clone()[:])


def test_a_jvp_sees_what_was_saved_for_it_and_no_tangent_of_integers():
    seen = []

    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.save_for_backward(x, n)
            ctx.save_for_forward(n)
            ctx.mark_non_differentiable(n)
            return x * n, n

        @staticmethod
        def jvp(ctx, t, u):
            seen.append((len(ctx.saved_tensors), u))
            return t * ctx.saved_tensors[0], None

    class Wrong(Scaled):
        @staticmethod
        def jvp(ctx, t, u):
            return t, t

    with forward_ad.dual_level():
        d = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        out, n = Scaled.apply(d, torch.tensor(3))
        assert forward_ad.unpack_dual(out).tangent.tolist() == [3.0, 3.0]
        assert forward_ad.unpack_dual(n).tangent is None and seen == [(1, None)]
        with pytest.raises(RuntimeError, match="should return None at that position"):
            Wrong.apply(d, torch.tensor(3))


def test_a_jvp_gives_one_tangent_for_each_output_in_its_shape():
    for bad in (
        lambda t: t.sum(), lambda t: None, lambda t: (t, t), lambda t: 3, lambda t: t.long(),
        lambda t: t * 1j,
    ):  # fmt: skip
        body = {
            "forward": staticmethod(lambda ctx, x: x * 2),
            "jvp": staticmethod(lambda ctx, t, bad=bad: bad(t)),
        }
        function = type("Function_", (Function,), body)
        with forward_ad.dual_level(), pytest.raises(RuntimeError):
            function.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))


def test_a_dirty_view_passes_by_the_hooks_it_had():
    """As a write by an operator does: the function reads the base, as it was."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 3
    view = y[:2]
    seen = []
    view.register_hook(seen.append)
    Twice.apply(view)
    y.sum().backward()
    assert not seen and x.grad.tolist() == [6, 6, 3]


def test_inside_a_transform_the_node_is_one_generated():
    class Same(Function):
        @staticmethod
        def forward(x):
            return x.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g

    names = []

    def f(x):
        y = Same.apply(x)
        names.append(type(y.grad_fn).__name__)
        return y.sum()

    torch.func.grad(f)(torch.ones(2))
    f(torch.ones(2, requires_grad=True))
    assert names == ["SameGeneratedBackward", "SameBackward"]


@family("ask", ["z.backward()", "torch.autograd.grad(z, x, allow_unused=True)"])
def test_a_node_that_no_gradient_arrives_at_is_freed_too(ask):
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    x = torch.ones(2, requires_grad=True)
    for hooked in (False, True):
        y = x.exp()
        z = Nothing.apply(y).sum()
        if hooked:
            y.register_hook(print)
        eval(ask, {"z": z, "x": x, "torch": torch})
        with pytest.raises(RuntimeError, match="a second time"):
            eval(ask, {"z": z, "x": x, "torch": torch})


def test_a_view_marked_as_constant_requires_grad_as_its_base():
    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            part = x[:1]
            ctx.mark_non_differentiable(part)
            return part

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(2, requires_grad=True)
    part = Part.apply(x)
    assert part.requires_grad and part.is_leaf and part.grad_fn is None
    (part * x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_view_that_a_function_wrote_to_where_nothing_is_recorded_is_ambiguous(mode):
    def forward(ctx, x):
        part = x[:1]
        ctx.mark_dirty(x.mul_(2))
        return part, x

    x = leaf() * 1
    with mode():
        part, _ = made(forward).apply(x)
    assert part.requires_grad
    with pytest.raises(RuntimeError, match="has been modified inplace"):
        part.sum().backward()


def test_a_backward_and_a_vjp_are_two_of_one_wherever_they_are_inherited_from():
    def kind(parent, **written):
        return type("Times", (parent,), {k: staticmethod(f) for k, f in written.items()})

    base = kind(torch.autograd.Function, forward=lambda ctx, x: x * 2)
    by_vjp = kind(base, vjp=lambda ctx, g: g * 7)
    by_backward = kind(base, backward=lambda ctx, g: g * 3)
    x = torch.ones(2, requires_grad=True)
    for function, slope in (
        (kind(by_vjp), 7.0),
        (kind(kind(by_vjp), vjp=lambda ctx, g: g * 5), 5.0),
        (kind(by_backward, backward=lambda ctx, g: g * 5), 5.0),
    ):
        assert torch.autograd.grad(function.apply(x).sum(), x)[0].tolist() == [slope] * 2
    both = kind(by_vjp, backward=lambda ctx, g: g)
    for function in (both, kind(both), kind(by_backward, vjp=lambda ctx, g: g)):
        with pytest.raises(RuntimeError, match="both 'backward' and 'vjp'"):
            function.apply(x).sum().backward()


@pytest.mark.parametrize("kind", ["tensor", "node", "pre"])
@pytest.mark.parametrize("kept", [True, False])
def test_what_saves_a_view_that_it_writes_to_passes_by_its_hooks_in_a_second_pass(kind, kept):
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(3))
        ctx.save_for_backward(x)
        return x

    times = made(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    seen = []

    def tripled(*given):
        seen.append(kind)
        return 3 * given[0] if kind == "tensor" else tuple(3 * g for g in given[0])

    x = torch.tensor([0.5, 2.0], requires_grad=True)
    base = x * 1
    view = base.view(-1)
    if kind == "tensor":
        view.register_hook(tripled)
    else:
        node = view.grad_fn
        (node.register_hook if kind == "node" else node.register_prehook)(tripled)
    times.apply(view)
    first = torch.autograd.grad(view.sum(), x, create_graph=True)[0]
    assert first.tolist() == [1.5, 6.0] and not seen
    if not kept:
        del base, view
    second = torch.autograd.grad(first.sum(), x)[0]  # as in PyTorch: 3 * 3x
    assert second.tolist() == [4.5, 18.0] and seen == [kind]


def test_what_saves_a_tensor_that_it_writes_to_is_one_node_in_a_second_pass():
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(3))
        ctx.save_for_backward(x)
        return x

    seen = []
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    y = made(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x * 1)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
    first = torch.autograd.grad((y * y).sum(), x, create_graph=True)[0]
    torch.autograd.grad(first.sum(), x)
    assert seen == [[3.0, 12.0], [6.0, 24.0]]  # 2y, and what comes by y's two places at once


def test_what_it_writes_to_is_no_view_whose_entries_share_memory():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x[0].mul_(3)
        return x

    y = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="more than one element"):
        made(forward, lambda ctx, g: g * 3).apply(y.expand(2, 2))
