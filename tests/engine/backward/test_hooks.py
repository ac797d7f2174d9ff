"""Hooks and kept gradients: what they see, what they may replace, and the order in which they
run.
"""

from __future__ import annotations

import contextlib
import math
import random

import pytest

import gradcli as torch
from gradcli.autograd import grad
from gradcli.ops.errors import Fault
from tests.support.families import family


def leaf(data):
    return torch.tensor(data, requires_grad=True)


def test_retain_grad():
    x = leaf([1.0, 2.0])
    h = x * x
    assert not h.retains_grad
    h.retain_grad()
    assert h.retains_grad
    (h * 3).sum().backward()
    assert h.grad.tolist() == [3, 3]
    assert x.grad.tolist() == [6, 12]
    with pytest.raises(RuntimeError) as fault:
        torch.ones(1).retain_grad()
    assert fault.value.code == "E0404"


def test_a_kept_gradient_has_memory_of_its_own():
    x, g = leaf([1.0, 2.0]), torch.ones(2)
    y = x * 1
    z = y.view(2)
    y.retain_grad(), z.retain_grad()
    z.grad_fn.register_prehook(lambda given: (given[0].mul_(3),))
    z.backward(g)
    y.grad.mul_(5)
    assert (y.grad.tolist(), z.grad.tolist(), x.grad.tolist()) == ([15, 15], [1, 1], [3, 3])
    h = x * 1
    h.retain_grad()
    h.sum().backward()
    assert h.grad.mul_(2).tolist() == [2, 2]


TURNS = (
    lambda v: v.unsqueeze_(0), lambda v: v.squeeze_(), lambda v: v.transpose_(0, -1),
    lambda v: v.swapaxes_(-1, 0), lambda v: v.t_() if v.ndim <= 2 else v.unsqueeze_(-1),
)  # fmt: skip


def assigned(v):
    v[0] = v[0] * 2


WRITES = (lambda v: v.mul_(3), lambda v: v[:1].add_(1), assigned, lambda v: v.copy_(v.exp()))


@pytest.mark.parametrize("seed", range(40))
def test_a_kept_gradient_is_that_of_one_place_of_a_tensor_that_is_turned_and_written(seed):
    draw = random.Random(seed)
    base = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * 1
    v = base.view(2, 3) if seed % 2 else base
    turned = True
    for step in range(draw.randint(3, 6)):
        if step == 1 or draw.random() < 0.3:
            v.retain_grad()
        turned = draw.random() < 0.5
        draw.choice(TURNS if turned else WRITES)(v)
    w = torch.arange(6.0).reshape(v.shape)
    (v * w).sum().backward()
    kept = v.grad.flatten().sort()[0] if turned else v.grad  # of the shape that it was kept in
    assert torch.equal(kept, w.flatten() if turned else w)


@pytest.mark.parametrize("change", [*TURNS, *WRITES])
@pytest.mark.parametrize("asked", [False, True])
def test_a_view_keeps_the_gradient_of_the_place_that_it_was_last_asked_for(change, asked):
    """Another view is changed in place: a view that nobody asks for its new place keeps what it
    was, in any number of passes. It had moved at once, and kept None where values flowed by."""
    base = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) * 1
    kept = base.view(2, 3)
    kept.retain_grad()
    other, read = kept.view(2, 3), (kept * 3).sum()
    change(other)
    if asked:
        assert kept.grad_fn.name() == "AsStridedBackward0"
    for turn in (1, 2):
        read.backward(retain_graph=True)
        assert kept.grad is None if asked else kept.grad.tolist() == [[3.0 * turn] * 3] * 2
    kept.grad = None
    (read + kept.sum()).backward()
    assert kept.grad.tolist() == [[1.0] * 3] * 2  # now it is asked


def test_a_hook_of_a_tensor_that_was_turned_runs_beside_those_it_had():
    v, seen = leaf([[1.0, 2.0, 3.0]]) * 2, []
    first = v.register_hook(lambda g: seen.append(("first", tuple(g.shape))))
    v.t_()
    v.register_hook(lambda g: seen.append(("second", tuple(g.shape))))
    v.unsqueeze_(0)
    v.register_hook(lambda g: seen.append(("third", tuple(g.shape))))
    first.remove()
    assert len(v._backward_hooks) == 2
    v.mul_(2)
    assert v._backward_hooks is None
    v.register_hook(lambda g: seen.append(("fourth", tuple(g.shape))))
    v.sum().backward()
    assert seen == [("fourth", (1, 3, 1)), ("second", (1, 3)), ("third", (1, 3))]


def test_a_refused_backward_retains_nothing():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="scalar"):
        y.exp().backward(inputs=[y])
    assert not y.retains_grad


def test_the_documented_order_of_two_hooks():
    x = leaf(3.0)
    y1, y2 = x + 1, 2 * x
    loss = (y1 - y2) ** 2
    seen = []
    y1.register_hook(lambda g: seen.append(("y1", g.item())))
    y2.register_hook(lambda g: seen.append(("y2", g.item())))
    loss.retain_grad()
    loss.backward()
    assert seen == [("y2", 4.0), ("y1", -4.0)]
    assert loss.grad.item() == 1
    assert x.grad.item() == 4


def test_a_hook_may_replace_the_gradient_and_be_removed():
    x = leaf([1.0, 2.0])
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert x.grad.tolist() == [20, 20]
    handle.remove()
    handle.remove()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with x.register_hook(lambda g: g * 0):
        x.sum().backward()
    assert x.grad.tolist() == [2, 2]
    x.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_leafs_hook_sees_the_whole_sum_once():
    x = leaf(2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 3 + x * 4).backward()
    assert seen == [7.0]


def test_hooks_run_in_order_and_pass_on():
    x = leaf(1.0)
    y = x * 1
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: g * 5)
    y.backward()
    assert x.grad.item() == 10


def test_tensor_hooks_then_the_kept_gradient_then_node_prehooks_then_posthooks():
    x = leaf(2.0)
    y = x * 3
    order = []

    def tensor_hook(g):
        order.append("tensor")
        return g * 2

    def prehook(grad_outputs):
        order.append("pre")
        assert grad_outputs[0].item() == 2
        return (grad_outputs[0] + 1,)

    def posthook(grad_inputs, grad_outputs):
        order.append("post")
        assert grad_outputs[0].item() == 3
        assert grad_inputs[0].item() == 9
        return tuple(None if g is None else g * 10 for g in grad_inputs)

    y.retain_grad()
    y.grad_fn.register_hook(posthook)
    y.grad_fn.register_prehook(prehook)
    y.register_hook(tensor_hook)
    y.backward()
    assert order == ["tensor", "pre", "post"]
    assert y.grad.item() == 2
    assert x.grad.item() == 90


def test_a_post_accumulate_hook_is_given_a_leaf_that_the_user_let_go_of():
    x, seen = leaf([1.0, 2.0]), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    y = x * 2
    del x
    y.sum().backward()
    assert seen == [[2, 2]]


def test_post_accumulate_hook():
    x = leaf([1.0, 2.0])
    seen = []

    def use_and_clear(p):
        seen.append(p.grad.tolist())
        p.grad = None

    x.register_post_accumulate_grad_hook(use_and_clear)
    (x * x).sum().backward()
    assert seen == [[2, 4]]
    assert x.grad is None
    with pytest.raises(RuntimeError) as fault:
        (x * 2).register_post_accumulate_grad_hook(use_and_clear)
    assert fault.value.code == "E0404"


def test_a_leaf_receives_its_gradient_before_older_nodes_run():
    """A leaf's hooks run as soon as its last contribution is there, in the middle of the pass."""
    x, w = leaf(2.0), leaf(3.0)
    order = []
    w.register_post_accumulate_grad_hook(lambda p: order.append("w"))
    h = x * x
    h.register_hook(lambda g: order.append("h"))
    (h * w).backward()
    assert order in (["w", "h"], ["h", "w"])
    late = x * 5
    late.register_hook(lambda g: order.append("late"))
    order.clear()
    v = leaf(1.0)
    v.register_post_accumulate_grad_hook(lambda p: order.append("v"))
    (torch.sin(late) * v).backward()
    assert order[0] == "v"


def test_hooks_run_in_grad_too_and_only_on_the_way():
    x, w = leaf(2.0), leaf(3.0)
    seen = []
    x.register_hook(lambda g: seen.append("x"))
    w.register_hook(lambda g: seen.append("w"))
    grad(x * w, x)
    assert seen == ["x"]


def test_hooks_under_create_graph_see_recorded_gradients():
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = grad(y, x, create_graph=True)  # x * 2x
    assert g.item() == 8
    assert grad(g, x)[0].item() == 8  # 4x


def test_what_a_hook_may_not_do():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError) as fault:
        torch.ones(1).register_hook(lambda g: None)
    assert fault.value.code == "E0404"
    for result in (5, torch.ones(3)):
        y = x * 2
        y.register_hook(lambda g, result=result: result)
        with pytest.raises(Fault) as fault:
            y.sum().backward()
        assert fault.value.code == "E0407"


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_hook_of_a_leafs_node_has_no_gradients_to_replace(create_graph):
    for result, error in ((None, None), ((), None), (5, TypeError), ((None,), RuntimeError)):
        x = leaf([1.0, 2.0])
        y = x * 2
        node = y.grad_fn.next_functions[0][0]
        node.register_hook(lambda inputs, _, result=result: result)
        with contextlib.nullcontext() if error is None else pytest.raises(error, match="hook"):
            y.sum().backward(create_graph=create_graph)
        assert x.grad.tolist() == [2, 2]


def test_an_exception_in_a_hook_comes_out_and_leaves_the_mode_as_it_was():
    x = leaf(1.0)
    y = x * 2

    def fail(g):
        raise ZeroDivisionError

    y.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert torch.is_grad_enabled()
    assert (x * 2).requires_grad


def test_a_hook_after_accumulation_may_give_the_leaf_itself():
    leaf = torch.zeros(2, requires_grad=True)
    with leaf.register_post_accumulate_grad_hook(lambda p: p.add_(p.grad, alpha=-0.5)):
        leaf.backward(torch.ones(2))
    assert leaf.tolist() == [-0.5, -0.5]
    for returned, kind in ((torch.ones(2), RuntimeError), ((1,), TypeError)):
        with pytest.raises(kind, match="should return None"):
            hook = leaf.register_post_accumulate_grad_hook(lambda p, given=returned: given)
            leaf.backward(torch.ones(2))
        hook.remove()


def test_asarray_keeps_its_argument_in_the_graph():
    leaf = torch.ones(2, requires_grad=True)
    assert torch.asarray(leaf, copy=True).grad_fn is not None
    assert not torch.asarray(leaf * 2, requires_grad=False).requires_grad


def test_a_hook_on_several_counts_the_tensors_as_they_were():
    """One that was written to since is made by another node, which the hook is not about."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = x.sin(), x * 3
    v = y[:1]
    seen = []
    torch.autograd.graph.register_multi_grad_hook(
        [v, z], lambda grads: seen.append([g is None for g in grads])
    )
    v.mul_(2)
    (y.sum() + z.sum()).backward()
    assert seen == [[True, False]]


def test_a_node_of_a_function_composed_here_gives_the_gradient_of_the_function():
    for function in (torch.nn.functional.gelu, lambda x: x.max(-1)[0], lambda x: x.kthvalue(1)[0]):
        x = torch.tensor([[0.3, 1.0], [0.7, 0.2]], requires_grad=True)
        y = function(x)
        seen: list = []
        y.grad_fn.register_hook(lambda inputs, _, seen=seen: seen.append(inputs[0]))
        cotangent = torch.ones_like(y) * 2
        found = y.grad_fn(cotangent)
        y.backward(cotangent)
        assert found.tolist() == seen[0].tolist() == x.grad.tolist()
        assert [node.variable for node, _ in y.grad_fn.next_functions] == [x]


@family(
    "function",
    [
        lambda x, w: torch.where(x > 1, x, w),
        lambda x, w: torch.where(x > 1, x * 1, 3.0) * w,
        lambda x, w: torch.nn.functional.threshold(x * w, 2.5, 1.0),
        lambda x, w: w.copy_(x * 2),
        lambda x, w: torch.nn.functional.hardshrink(x + w),
        torch.dot,
        torch.atan2,
    ],
)
def test_a_node_is_called_for_the_gradients_of_its_inputs(function):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 0.5]) * 1
    y = function(x, w)
    node, cotangent = y.grad_fn, torch.full_like(y, 2.0)
    places = [torch.autograd.graph.GradientEdge(*to) for to in node.next_functions if to[0]]
    want = torch.autograd.grad(y, places, cotangent, retain_graph=True)
    found = node(cotangent)
    found = found if isinstance(found, tuple) else (found,)
    assert len(found) == len(node.next_functions)
    found = [g for g, (to, _) in zip(found, node.next_functions, strict=True) if to is not None]
    assert all(map(torch.equal, found, want))
    none = node(None)
    assert none is None or set(none) == {None}
    for wrong in (2.0, [2.0]):
        with pytest.raises(TypeError, match="is not a Variable"):
            node(wrong)


def test_a_leafs_node_is_called_to_add_to_its_gradient():
    x, seen = leaf([1.0, 2.0]), []
    node = (x * 1).grad_fn.next_functions[0][0]
    node.register_prehook(seen.append)
    node.register_hook(lambda *gradients: seen.append(gradients))
    x.register_post_accumulate_grad_hook(lambda x: seen.append(x.grad.tolist()))
    assert node(torch.tensor([3.0, 4.0])) == node(None) == node(torch.ones(2)) == ()
    assert x.grad.tolist() == [4, 5] and seen == [[3, 4], [3, 4], [4, 5]]
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        node(torch.ones(3))


def test_a_node_hook_sees_gradients_in_the_type_of_what_they_are_of():
    x, p, seen = leaf([1.0, 2.0]), torch.ones(2, dtype=torch.complex128, requires_grad=True), []
    y = x * p
    y.grad_fn.register_hook(lambda gradients, _: seen.extend(g.dtype for g in gradients))
    y.real.sum().backward()
    assert seen == [torch.float32, torch.complex128]


def test_a_backward_that_raises_leaves_the_flags_of_what_comes_later():
    y, n = leaf(1.0) * 2, torch.ones(())
    with pytest.raises(RuntimeError, match="does not require grad"):
        y.backward(inputs=[n, y])
    assert not y.retains_grad


def test_a_function_of_several_results_does_not_run_for_an_input_elsewhere():
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            raise AssertionError

    w, seen = leaf(1.0), []
    y = Two.apply(leaf(1.0))[0]
    y.register_hook(seen.append)
    y.backward(inputs=[w])
    assert w.grad is None and len(seen) == 1


COMPOSED = {
    "diagonal": ((lambda x: x.diagonal(0, 1, 0)), (3, 3)),
    "lower diagonal": ((lambda x: x.diagonal(-1, 0, 2)), (2, 2, 3)),
    "diag_embed": ((lambda x: x.diag_embed(1, 0, 2)), (2, 3)),
    "index_put": (
        (lambda x, v: x.index_put((torch.tensor([0, 0, 1]),), v, accumulate=True)), (2, 2), (3, 2),
    ),
    "scatter of numbers": ((lambda x, v: x.scatter(0, torch.tensor(0), v)), (), ()),
    "cumsum of a number": ((lambda x: x.cumsum(0)), ()),
    "sort of a number": ((lambda x: x.sort().values), ()),
    "addcdiv_": ((lambda x, *two: x.clone().addcdiv_(*two)), (2,), (2,), (2,)),
    "lerp_": ((lambda x, *two: x.clone().lerp_(*two)), (2,), (2,), (2,)),
    "scatter_reduce": (
        (lambda x, v: x.scatter_reduce(0, torch.tensor([[0, 1]]), v, "prod")), (2, 2), (2, 2),
    ),
    "affine_grid": (
        (lambda x: torch.nn.functional.affine_grid(x, (1, 1, 2, 2), align_corners=True)), (1, 2, 3),
    ),
    "var": ((lambda x: x.var(0)), (3, 2)),
    "renorm": ((lambda x: x.renorm(2, 0, 0.5)), (3, 2)),
    "addcdiv": (torch.addcdiv, (2,), (2,), (2,)),
    "addmm": (torch.addmm, (2,), (2, 3), (3, 2)),
    "index_add of numbers": ((lambda x, v: x.index_add(0, torch.tensor([0]), v)), (), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSED)
def test_a_hook_of_a_composed_function_replaces_the_gradients_of_its_inputs(name):
    function, *shapes = COMPOSED[name]
    draw = random.Random(name)

    def drawn(shape):
        values = [draw.uniform(0.5, 2) for _ in range(math.prod(shape))]
        return torch.tensor(values, dtype=torch.float64).reshape(shape)

    def run(hook, **how):
        leaves = [t.detach().requires_grad_() for t in given]
        middle = [t * 1 for t in leaves]
        y = function(*middle)
        shown = [n for n, _ in y.grad_fn.next_functions]
        assert [n.next_functions[0][0] if n.name() == "CloneBackward0" else n for n in shown] == [
            t.grad_fn for t in middle
        ]
        y.grad_fn.register_hook(hook)
        found = grad((y * y).sum() + sum((t * 3).sum() for t in leaves), leaves, **how)
        return [f.detach() - 3 for f in found]

    given, seen = [drawn(shape) for shape in shapes], []
    right = run(lambda gi, go: seen.extend(g.detach().clone() for g in gi))
    torch.testing.assert_close(seen, right)
    new = [drawn(shape) for shape in shapes]
    for how in ({}, {"create_graph": True}, {"retain_graph": True}):
        torch.testing.assert_close(run(lambda gi, go: tuple(new), **how), new)
    written = run(lambda gi, go: [g.mul_(5) for g in gi] and None)
    torch.testing.assert_close(written, [5 * g for g in right])


@pytest.mark.parametrize("cut", [lambda b: b.split(2, 1), lambda b: b[:, :1].unbind(1)])
def test_the_node_of_a_single_piece_can_be_called(cut):
    b = torch.ones(3, 2, requires_grad=True) * 2
    (piece,) = cut(b)
    assert piece.grad_fn(torch.ones_like(piece)).sum() == piece.numel()


@pytest.mark.parametrize("function, slopes", [
    (torch.rsub, (-1.0, 1.0)),
    (lambda x, y: torch.rsub(x, y, alpha=2), (-2.0, 1.0)),
    (lambda x, y: torch.masked_fill(x, torch.tensor(True), y), (0.0, 1.0)),
    (lambda x, y: torch.masked_fill(x, torch.tensor(False), y), (1.0, 0.0)),
    (torch.sub, (1.0, -1.0)),
])  # fmt: skip
@pytest.mark.parametrize("recorded", [False, True])
def test_a_hook_sees_the_gradients_of_one_tensor_given_twice_in_their_places(
    function, slopes, recorded
):
    seen = []

    def doubled(inputs, outputs):
        seen.extend(inputs)
        return (2 * inputs[0], inputs[1])

    x = leaf(0.5)
    value = x * 1
    out = function(value, value)
    assert tuple(g.item() for g in out.grad_fn(torch.tensor(1.0))) == slopes
    out.grad_fn.register_hook(doubled)
    found = grad(out, x, create_graph=recorded)[0].item()
    assert tuple(g.item() for g in seen) == slopes and found == 2 * slopes[0] + slopes[1]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("function, left, right, seen", [
    (torch.matmul, (2, 3, 2), (2, 2, 3), (2, 3, 3)),
    (torch.matmul, (2, 3, 2), (2, 3), (6, 3)),
    (torch.matmul, (2, 3, 2), (2,), (6,)),
    (torch.matmul, (2,), (3, 2, 4), (12,)),
    (torch.matmul, (3, 2), (4, 2, 5), (4, 3, 5)),
    (torch.matmul, (2,), (2, 3), (1, 3)),
    (torch.nn.functional.linear, (2, 3, 2), (4, 2), (6, 4)),
    (lambda x, y: torch.einsum("ij,jk->ki", x, y), (2, 3), (3, 4), (4, 2, 1)),
    (lambda x, y: torch.einsum("bij,bij->b", x, y), (2, 3, 2), (2, 3, 2), (2, 1, 1)),
])  # fmt: skip
def test_the_hook_of_a_product_that_pytorch_views_replaces_the_gradient_of_the_product(
    function, left, right, seen, recorded
):
    x, y = (torch.rand(s, dtype=torch.float64, requires_grad=True) for s in (left, right))
    out, shapes = function(x, y), []
    weights = torch.rand(out.shape, dtype=torch.float64)

    def weighted(inputs, outputs):
        shapes.append([tuple(g.shape) for g in inputs])
        return tuple(g * weights.reshape(g.shape) for g in inputs)

    out.grad_fn.register_hook(weighted)
    found = grad(out.sum(), (x, y), create_graph=recorded)
    torch.testing.assert_close(found, grad((function(x, y) * weights).sum(), (x, y)))
    assert shapes == [[seen]]


def test_the_hook_of_a_third_power_sees_the_square_first():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    out, seen = torch.linalg.matrix_power(x, 3), []
    out.grad_fn.register_hook(lambda inputs, _: seen.extend(inputs))
    out.sum().backward()
    torch.testing.assert_close(seen, [torch.ones(2, 2) @ x.mT, (x @ x).mT @ torch.ones(2, 2)])


@pytest.mark.parametrize("function, seen", [(torch.matmul, [True]), (torch.bmm, [True, True])])
def test_the_hook_of_a_product_of_halves_sees_what_that_of_floats_does(function, seen):
    x = torch.ones(2, 2, 2, dtype=torch.float16, requires_grad=True)
    y = torch.ones(2, 2, 2, dtype=torch.float16, requires_grad=True)
    out, halves = function(x * 1, y * 1), []

    def first_alone(inputs, outputs):
        halves.extend(g.dtype is torch.float16 for g in inputs)
        return (inputs[0] * 0, *inputs[1:])

    out.grad_fn.register_hook(first_alone)
    out.sum().backward()
    assert halves == seen and not x.grad.any()
    assert y.grad.any() == (len(seen) == 2)
