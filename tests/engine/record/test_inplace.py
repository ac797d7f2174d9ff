"""Writing in place: leaves refuse, versions are checked, views share memory and counters."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import numpy as np
import pytest

import gradcli as torch
from gradcli.nn import functional as F
from gradcli.ops.errors import Fault
from tests.support.families import family


def leaf(data):
    return torch.tensor(data, requires_grad=True)


def test_a_leaf_that_requires_grad_refuses():
    x = leaf([1.0, 2.0])
    for write in (lambda: x.add_(1), lambda: x.mul_(2), lambda: x.__setitem__(0, 5.0),
        lambda: x.__iadd__(1),
                  lambda: x.zero_(), lambda: x.fill_(1), lambda: x.copy_(x)):  # fmt: skip
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad") as fault:
            write()
        assert fault.value.code == "E0408"
    assert x.tolist() == [1, 2]
    with torch.no_grad():
        x.add_(1)
        x[0] = 7
    assert x.tolist() == [7, 3]
    assert x.is_leaf


def test_in_place_results_are_recorded():
    x = leaf([1.0, 2.0])
    y = x * 1
    same = y.mul_(3)
    assert same is y
    y += x
    y[0] = x[1] * 10
    y.sum().backward()
    assert y.tolist() == [20, 8]
    assert x.grad.tolist() == [0, 14]


def test_a_tensor_times_itself_in_place_is_refused_at_backward_as_in_pytorch():
    x = leaf(2.0)
    y = x * 3
    y *= y
    with pytest.raises(RuntimeError) as fault:
        y.backward()
    assert fault.value.code == "E0402"


def test_functions_in_place_read_what_was_there_before():
    x = leaf([0.5, 1.0])
    y = x * 3
    y.sin_()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.cos([1.5, 3.0]), rtol=1e-6)


def test_a_wider_operand_in_place_keeps_both_dtypes():
    x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
    y = torch.zeros(2)
    y += x
    y.mul_(x)
    assert y.dtype is torch.float32
    y.sum().backward()
    assert x.grad.dtype is torch.float64
    assert x.grad.array.dtype == np.float64
    assert x.grad.tolist() == [2, 4]


def test_every_symbol_in_place():
    for write, first in (
        (lambda y, x: y.__iadd__(x), 4), (lambda y, x: y.__isub__(x), 2),
            (lambda y, x: y.__imul__(x), 12),
        (lambda y, x: y.__itruediv__(x), 0), (lambda y, x: y.__ipow__(2), 36),
    ):  # fmt: skip
        x = leaf(2.0)
        y = x * 3
        y = write(y, x)
        y.backward()
        assert x.grad.item() == first


def test_a_plain_tensor_that_takes_in_a_recorded_one_becomes_recorded():
    x = leaf([1.0, 2.0])
    buffer = torch.zeros(2)
    buffer.add_(x * 3)
    buffer[1] = x[0] * 5
    assert buffer.requires_grad
    buffer.sum().backward()
    assert x.grad.tolist() == [8, 0]


def test_a_saved_value_that_changed_is_an_error_that_names_operator_shape_and_versions():
    x = leaf([1.0, 2.0])
    y = x * 2
    z = y * y
    y += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as fault:
        z.sum().backward()
    assert fault.value.code == "E0402"
    text = fault.value.message
    assert "mul" in text
    assert "MulBackward0" in text
    assert "[2]" in text
    assert "is at version 1; expected version 0" in text
    assert str(fault.value).startswith(  # PyTorch's own words
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [gradcli.FloatTensor [2]], which is output 0 of Add, is at version 1; expected "
        "version 0 instead. Hint: enable anomaly detection"
    )
    assert f"note: {text}" in fault.value.__notes__
    assert "code: E0402" in fault.value.__notes__


def test_a_saved_result_that_changed_is_an_error():
    x = leaf([1.0, 2.0])
    y = torch.exp(x)
    y.add_(1)
    with pytest.raises(RuntimeError, match="result of exp") as fault:
        y.sum().backward()
    assert fault.value.code == "E0402"


@family("function", [
    lambda x: torch.std_mean(x, 1)[0], lambda x: torch.aminmax(x, dim=1)[0],
    lambda x: torch.aminmax(x, dim=1)[1], lambda x: torch.logcumsumexp(x.sum(), 0),
    lambda x: torch.linalg.qr(x)[0], lambda x: torch.linalg.eigh(x)[1],
])  # fmt: skip
def test_one_of_several_results_that_changed_is_an_error(function):
    y = function(leaf([[2.0, 1.0], [1.0, 3.0]]))
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


KEPT = {
    "max_pool2d": (lambda x: F.max_pool2d(x, 2, return_indices=True), [(1, 1, 4, 4)]),
    "adaptive": (lambda x: F.adaptive_max_pool1d(x, 2, return_indices=True), [(1, 1, 4)]),
    "transposed": (lambda x, w: (F.conv_transpose1d(x, w), w), [(1, 2, 4), (2, 3, 3)]),
    "mse_loss": (lambda x, y: (F.mse_loss(x, y), y), [(3,), (3,)]),
    "clamp": (lambda x, y: (torch.clamp(x, min=y), y), [(3,), (3,)]),
    "cross": (lambda x, y: (torch.linalg.cross(x, y), y), [(3,), (3,)]),
}


@family("name", KEPT)
def test_a_write_to_what_no_rule_reads_changes_no_gradient(name):
    function, shapes = KEPT[name]

    def gradient(write):
        torch.manual_seed(0)
        x, *others = (torch.randn(*shape) for shape in shapes)
        y, kept = function(x.requires_grad_(), *others)
        if write:
            kept.zero_()
        y.sum().backward()
        return x.grad

    torch.testing.assert_close(gradient(True), gradient(False), rtol=0, atol=0)


def test_a_write_of_what_already_stands_there_is_a_write():
    """The conjugate of real numbers: hooks of before the write see what goes through it."""
    x, seen = leaf([1.0, 2.0]), []
    y = x * 2
    y.register_hook(lambda g: (seen.append("before"), g * 3)[1])
    view = y.view(2)
    view.grad_fn.register_hook(lambda *given: seen.append("view"))
    y.conj_physical_()
    assert type(y.grad_fn).__name__ == "ConjPhysicalBackward1"
    y.register_hook(lambda g: (seen.append("after"), g * 5)[1])
    y.retain_grad()
    y.sum().backward()
    assert (seen, y.grad.tolist(), x.grad.tolist()) == (["after", "before"], [5, 5], [30, 30])
    y = x * 2
    view = y.view(2)
    view.grad_fn.register_hook(lambda *given: seen.append("view"))
    view.conj_physical_()
    (view + y).sum().backward()
    assert seen == ["after", "before"]


def test_a_value_saved_after_the_write_is_good():
    x = leaf([1.0, 2.0])
    y = x * 2
    y += 1
    z = y * y
    z.sum().backward()
    assert x.grad.tolist() == [12, 20]


def test_a_write_to_what_nobody_saved_is_good():
    x = leaf([1.0, 2.0])
    y = x * 2
    z = y + 1
    y.zero_()
    z.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_in_place_operators_that_save_their_result():
    x = leaf([1.0, 4.0])
    y = x * 1
    y.sqrt_()
    y.sum().backward()
    assert x.grad.tolist() == [0.5, 0.25]
    x.grad = None
    y = x * 1
    y.exp_().mul_(2)
    with pytest.raises(RuntimeError) as fault:
        y.sum().backward()
    assert fault.value.code == "E0402"


def test_the_version_counter_is_shared_by_detached_twins():
    x = leaf([1.0, 2.0])
    y = x * 2
    z = y * y
    y.detach().add_(1)
    with pytest.raises(RuntimeError) as fault:
        z.sum().backward()
    assert fault.value.code == "E0402"


def test_a_write_through_data_goes_unseen():
    x = leaf([1.0, 2.0])
    y = x * 2
    z = (y * y).sum()
    y.data.mul_(10)
    z.backward()
    assert x.grad.tolist() == [80, 160]


def test_a_write_to_a_view_is_seen_by_what_saved_its_base():
    x = torch.ones(3)
    w = leaf([1.0, 2.0, 3.0])
    y = w * x
    x[1:].mul_(5)
    assert x.tolist() == [1, 5, 5]
    with pytest.raises(RuntimeError) as fault:
        y.sum().backward()
    assert fault.value.code == "E0402"


def test_views_share_memory_both_ways():
    x = torch.arange(6.0)
    for view in (x.view(2, 3), x.reshape(3, 2), x[1:4], x[2], x.view(2, 3).t(), x.unsqueeze(0),
        x.detach(), x.data,
                 x.expand(2, 6), x.view(2, 3).diagonal(), x.view(1, 6).squeeze(0)):  # fmt: skip
        assert np.shares_memory(view.detach().numpy(), x.numpy())
    x.view(2, 3)[1, 0] = 100
    assert x[3].item() == 100
    x[0] = -1
    assert x.view(2, 3)[0, 0].item() == -1
    first = x[0]
    first.add_(1)
    assert x[0].item() == 0


def test_writing_by_index_sends_the_gradient_to_the_value_and_not_to_what_it_replaced():
    x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
    y = x * 2
    y[1:] = v * v
    assert y.tolist() == [2, 100, 400]
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2, 0, 0]
    assert v.grad.tolist() == [40, 120]


def test_a_broadcast_value_and_masks_and_lists():
    x, v = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf(5.0)
    y = x * 1
    y[y > 2.5] = v
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1], [0, 0]]
    assert v.grad.item() == 2
    z = torch.zeros(2, 2)
    z[0] = [1, 2]
    z[:, 1] = torch.tensor([7, 8])
    assert z.tolist() == [[1, 7], [0, 8]]


@family("code, write", [
        ("E0301", lambda: torch.ones(2).add_(torch.ones(3))),
            ("E0301", lambda: torch.ones(1).add_(torch.ones(3))),
        ("E0309", lambda: torch.tensor([1, 2]).mul_(2.5)),
            ("E0309", lambda: torch.tensor([1, 2]).add_(torch.ones(2))),
        ("E0409", lambda: torch.ones(1).expand(3).add_(1)),
            ("E0301", lambda: torch.ones(2).__setitem__(0, torch.ones(2))),
        ("E0307", lambda: torch.ones(2).__setitem__(2, 1.0)),
            ("E0307", lambda: torch.ones(2).__setitem__((0, 0), 1.0)),
    ],
)  # fmt: skip
def test_refusals(code, write):
    with pytest.raises(Fault) as fault:
        write()
    assert fault.value.code == code


def test_what_is_written_is_no_index_of_the_write():
    index, mask = torch.tensor([1, 0]), torch.tensor([True, False, True])
    for write in (
        lambda: index.index_put_((index,), torch.tensor([5, 6])),
        lambda: index.put_(index, torch.tensor([5, 6])),
        lambda: mask[1:].masked_fill_(mask[:-1], False),
    ):
        with pytest.raises(Fault, match="single memory location"):
            write()
    assert mask.masked_fill_(mask, False).tolist() == [False] * 3  # entry by entry


def test_the_gradient_flows_through_a_write_to_a_view():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    y[1:].mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [2, 20, 20]


def test_a_view_taken_before_the_write_sees_the_new_graph():
    x = leaf([1.0, 2.0])
    y = x * 2
    first = y[0]
    y.mul_(3)
    first.backward()
    assert first.item() == 6
    assert x.grad.tolist() == [6, 0]


def test_views_of_views_and_transposed_bases():
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = x * 2
    y.t()[1:][0].mul_(10)  # the second column
    y[0][2] = 7.0
    (y * torch.tensor([[1.0, 10.0, 100.0], [1.0, 10.0, 100.0]])).sum().backward()
    assert y.tolist() == [[2, 40, 7], [8, 100, 12]]
    assert x.grad.tolist() == [[2, 200, 0], [2, 200, 200]]
    z = (x.detach().requires_grad_() * 1).t().contiguous()
    z.view(-1)[::2].zero_()
    assert z.tolist() == [[0, 4], [0, 5], [0, 6]]


def test_a_recorded_value_written_into_a_view_of_a_plain_tensor():
    x = leaf([1.0, 2.0])
    buffer = torch.zeros(2, 2)
    buffer[0].copy_(x * x)
    buffer[1][0] = x[1] * 3
    (buffer * torch.tensor([[1.0, 1.0], [10.0, 0.0]])).sum().backward()
    assert x.grad.tolist() == [2, 34]


def test_a_view_of_a_leaf_refuses():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="view of a leaf") as fault:
        x[0].add_(1)
    assert fault.value.code == "E0408"
    with torch.no_grad():
        x[0].add_(1)
    assert x.tolist() == [2, 2]
    for of in (torch.ones(2), torch.ones(0)):  # a leaf that is a view, and nothing of it
        shown = of.view(-1).requires_grad_()
        with pytest.raises(RuntimeError, match="view of a leaf"):
            shown[2:].mul_(2)
        assert shown.is_leaf


def test_views_are_not_kept_alive_by_their_base():
    x = torch.ones(3)
    for i in range(3):
        x[i].item()
    assert not any(view() is not None for view in x.meta.views)
    for _ in range(1000):
        x[0]
    assert len(x.meta.views) < 20


def test_a_write_to_a_part_runs_backward_once_and_a_whole_write_again():
    x = torch.ones(3, requires_grad=True)
    part, whole = x + 0.0, x + 0.0
    part[0] = 5.0
    whole[:] = 5.0
    part.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        part.sum().backward()
    whole.sum().backward()
    whole.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0]


def test_what_was_overwritten_whole_gets_zeros_without_a_graph():
    x = torch.ones(3, requires_grad=True)
    y = x * 1.0
    y.zero_()
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    assert not g.requires_grad
    assert g.tolist() == [0.0, 0.0, 0.0]


def test_an_expanded_tensor_may_be_copied_to_itself():
    x = torch.ones(2, requires_grad=True)
    wide = (x * 3).expand(2, 2)
    assert wide.copy_(wide) is wide
    wide.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    assert wide._version == 1


def test_a_copy_of_what_was_overwritten_keeps_its_version():
    """The rule of a complex product looks at a view of it, in each pass."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.complex(x, x)
    y.zero_()
    y.mul_(x)
    for _ in range(2):
        y.real.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [0, 0]


def _of_dim(name, *where_and_input):
    *where, x = where_and_input
    return tuple(getattr(torch, name)(x, *where))


def _indexed():
    """Functions of a 2 by 4 matrix that keep an index or a mask: (result, index) of each."""
    pair, rows = torch.tensor([[1, 2], [3, 1]]), torch.tensor([1, 0])
    for name in ("sort", "max", "min", "median", "mode", "cummax", "cummin"):
        yield name, partial(_of_dim, name, 1)
    for name in ("topk", "kthvalue"):
        yield name, partial(_of_dim, name, 2, 1)

    def given(index, function):
        def call(x):
            own = index.clone() if isinstance(index, torch.Tensor) else index(x)
            return function(x, own), own

        return call

    def above(x):
        return x.detach() > 1.5

    def assigned(x, i):
        y = x * 1
        y[i] = x[0, 0] * 3
        return y

    F = torch.nn.functional
    for name, index, function in (
        ("gather", pair, lambda x, i: x.gather(1, i)),
        ("take", rows, lambda x, i: x.take(i)),
        ("x[i]", rows, lambda x, i: x[i]),
        ("x[:, view]", pair, lambda x, i: x[:, i[0]]),
        ("x[mask]", above, lambda x, i: x[i]),
        ("index_select", rows, lambda x, i: x.index_select(1, i)),
        ("embedding", rows, lambda x, i: F.embedding(i, x)),
        ("scatter", pair, lambda x, i: x.scatter(1, i, x[:, :2] * 2)),
        ("scatter_add", pair, lambda x, i: x.scatter_add(1, i, x[:, :2] * 2)),
        ("index_add", rows, lambda x, i: x.index_add(0, i, x * 2)),
        ("index_copy", rows, lambda x, i: x.index_copy(0, i, x * 2)),
        ("put", rows, lambda x, i: x.put(i, x[0, :2])),
        ("y[i] =", rows, assigned),
        ("y[mask] =", above, assigned),
        ("masked_select", above, lambda x, i: x.masked_select(i)),
        ("masked_scatter", above, lambda x, i: x.masked_scatter(i, x * 2)),
        ("nll_loss", rows, lambda x, i: F.nll_loss(x, i)),
        ("cross_entropy", rows, lambda x, i: F.cross_entropy(x, i)),
        ("multi_margin_loss", rows, lambda x, i: F.multi_margin_loss(x, i)),
    ):
        yield name, given(index, function)


def test_a_write_to_an_index_that_backward_reads_is_refused():
    for name, function in _indexed():
        x = torch.tensor([[3.0, 1.0, 2.0, 0.0], [1.0, 5.0, 4.0, 2.0]], requires_grad=True)
        out, index = function(x)
        index.logical_not_() if index.dtype is torch.bool else index.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()
            pytest.fail(f"{name}: no error")


def test_an_index_written_to_before_its_use_gives_the_gradient_of_its_use():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index = torch.tensor([0, 0])
    index[0] = 2
    (x[index] * torch.tensor([5.0, 7.0])).sum().backward()
    assert x.grad.tolist() == [7.0, 0.0, 5.0]


def test_a_tensor_without_dimensions_is_cast_into_its_place():
    x, large = torch.zeros(3, dtype=torch.int32), torch.tensor(2**40 + 5)
    x[0] = large
    x[1:] = large + 1
    assert x.tolist() == [5, 6, 6]
    assert x.fill_(large).tolist() == [5] * 3
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = large.item()


def test_what_does_not_fit_half_is_inf_where_it_is_assigned():
    x = torch.zeros(2, dtype=torch.float16)
    x[0] = 1e6
    x[1] = 2 + 0j
    assert x.tolist() == [float("inf"), 2]
    with pytest.raises(RuntimeError, match="overflow"):
        x.fill_(1e6)
    with pytest.raises(RuntimeError, match="overflow"):
        torch.zeros(1, dtype=torch.complex64)[0] = 1e39


@family("write", ["relu_", "exp_", "sqrt_", "tanh_", "reciprocal_", "sigmoid_"])
def test_a_saved_result_on_a_view_holds_no_cycle(write):
    class Noted:
        def __call__(self, grads, outs):
            pass

    noted = Noted()
    gone = weakref.ref(noted)
    gc.disable()
    try:
        c = torch.ones(3, 3, requires_grad=True).clone()
        c.grad_fn.register_hook(noted)
        v = c.view(9)
        getattr(v, write)()
        del c, v, noted
        assert gone() is None
    finally:
        gc.enable()


def test_many_views_follow_writes_when_they_are_asked_for():
    a = leaf(2.0)
    y = torch.zeros(40)
    views = [y[i] for i in range(40)]
    y.copy_(a * torch.arange(40.0))
    y[:20] *= 3
    y[5] = a * a
    assert views[7].requires_grad
    assert views[9].grad_fn.name() == "AsStridedBackward0"
    found = (views[5], views[6] * views[30], 5 * views[31])  # 4, 36 * 60, 5 * 62
    assert [v.item() for v in found] == [4, 2160, 310]
    assert [torch.autograd.grad(v, a, retain_graph=True)[0].item() for v in found] == [4, 2160, 155]
    views[8].mul_(a)
    assert torch.autograd.grad(y[8] + views[8], a)[0].item() == 192  # 2 * 24 a**2


@pytest.mark.parametrize("shape", [(), (2,)])
def test_views_follow_a_gradient_that_lies_in_their_memory(shape):
    x = torch.full(shape, 2.0, requires_grad=True)
    x.grad = x.detach()
    v = x.view(-1)
    x.register_hook(lambda g: g * 1.5)
    (x * 3).sum().backward()
    assert v.tolist() == [6.5] * v.numel()
    (v * v * x.view(-1)).sum().backward()
    assert v.tolist() == [196.625] * v.numel()  # 6.5 + 1.5 * 3 * 6.5**2


@pytest.mark.parametrize("given", (3, None, "a", [1], [torch.ones(1), 1]))
def test_only_of_tensors_a_write_is_counted(given):
    with pytest.raises(RuntimeError, match="takes tensors"):
        torch.autograd.graph.increment_version(given)


@pytest.mark.parametrize("types", [("float32", "float64"), ("float16", "float32")])
def test_a_write_in_another_type_reads_what_the_target_was(types):
    names = "div atan2 fmod remainder xlogy hypot igamma igammac pow mul sub copysign clamp"
    for name in names.split():
        for needs in ((True, True), (False, True), (True, False)):
            x, w = (
                torch.tensor(values, dtype=getattr(torch, kind), requires_grad=need)
                for values, kind, need in zip(([1.25, 0.5], [1.5, 0.7]), types, needs, strict=True)
            )
            leaves = [leaf for leaf, need in zip((x, w), needs, strict=True) if need]
            expected = torch.autograd.grad(getattr(x, name)(w).to(x.dtype).sum(), leaves)
            y = x.clone()
            getattr(y, f"{name}_")(w)
            found = torch.autograd.grad(y.sum(), leaves)
            assert all(map(torch.equal, found, expected)), name


def test_halves_written_in_place_are_rounded_once():
    """What composes several operators gives in place what it gives: each entry rounded once."""
    one, x = (torch.linspace(a, 8.0, 400).half() for a in (0.3, -8.0))
    functions = {
        "silu": lambda t: F.silu(t, inplace=t.grad_fn is not None),
        "mish": lambda t: F.mish(t, inplace=t.grad_fn is not None),
        "hardswish": lambda t: F.hardswish(t, inplace=t.grad_fn is not None),
        "addcdiv": lambda t: (t.addcdiv if t.is_leaf else t.addcdiv_)(one, one + 1, value=0.3),
        "lerp": lambda t: (t.lerp if t.is_leaf else t.lerp_)(one, one / 9),
    }
    for name, function in functions.items():
        leaves = [x.clone().requires_grad_() for _ in range(2)]
        found = [function(leaf) for leaf in (leaves[0], leaves[1] * 1)]
        for out in found:
            out.sum().backward()
        assert torch.equal(*found), name
        assert torch.equal(*(leaf.grad for leaf in leaves)), name


WRITES = {
    "silu": lambda v, o: F.silu(v, inplace=True),
    "cumsum": lambda v, o: v.cumsum_(0),
    "put": lambda v, o: v.put_(torch.tensor([0]), torch.tensor([2.0])),
    "scatter": lambda v, o: v.scatter_(0, torch.tensor([0, 1]), o),
    "copysign": lambda v, o: v.copysign_(o),
    "lerp": lambda v, o: v.lerp_(o, torch.full((2,), 0.25)),
    "nan_to_num": lambda v, o: v.nan_to_num_(),
    "conj_physical": lambda v, o: v.conj_physical_(),
    "clamp": lambda v, o: v.clamp_(0.5, 1.5),
    "addcdiv": lambda v, o: v.addcdiv_(o, o.detach()),
    "addcmul": lambda v, o: v.addcmul_(o, o),
}


@family("name", WRITES)
def test_node_hooks_of_a_written_view_stand_between_base_and_others(name):
    """A node hook after a write to a view sees what goes to the base and to each other operand."""
    x, o = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([0.5, 0.25])
    wanted = torch.autograd.grad(written(WRITES[name], x * 1, o).sum(), (x, o), allow_unused=True)
    z, seen = written(WRITES[name], x * 1, o), []
    z.grad_fn.register_hook(lambda given, _: seen.append([g for g in given if g is not None]))
    z.grad_fn.register_hook(lambda given, _: (given[0] * 3, *given[1:]))
    found = torch.autograd.grad(z.sum(), (x, o), allow_unused=True)
    assert torch.equal(found[0], wanted[0] * 3)
    assert torch.equal(seen[0][0], wanted[0])
    if wanted[1] is not None:
        assert torch.equal(found[1], wanted[1])
        assert torch.equal(sum(seen[0][1:]), wanted[1])
    else:
        assert len(seen[0]) == 1


def written(write, z, o):
    write(z[0], o)
    return z
