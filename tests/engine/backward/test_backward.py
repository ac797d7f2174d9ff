"""The backward pass as PyTorch's users know it: leaves, sums, freed graphs, higher orders,
cotangents.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import gradcli as torch
from gradcli.autograd import backward, grad
from gradcli.nn import functional as F
from gradcli.ops.errors import Fault


def leaf(data, **options):
    return torch.tensor(data, requires_grad=True, **options)


@contextmanager
def fault_of(code):
    with pytest.raises(Fault) as fault:
        yield
    assert fault.value.code == code


def test_twice_the_dot_product():
    x = leaf([0.0, 1, 2, 3])
    y = 2 * torch.dot(x, x)
    y.backward()
    assert y.item() == 28
    assert x.grad.tolist() == [0, 4, 8, 12]


def test_the_tutorials_mean_of_squares_accumulates_and_clears():
    x = torch.ones(2, 2, requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    out.backward()
    assert out.item() == 27
    assert x.grad.tolist() == [[4.5, 4.5]] * 2
    x.sum().backward()
    assert x.grad.tolist() == [[5.5, 5.5]] * 2
    x.grad.zero_()
    assert x.grad.tolist() == [[0, 0]] * 2
    x.sum().backward()
    x.grad.data.zero_()
    assert x.grad.tolist() == [[0, 0]] * 2
    x.grad = None
    assert x.grad is None
    x.sum().backward()
    assert x.grad.tolist() == [[1, 1]] * 2


def test_accumulation_is_in_place_in_the_same_gradient():
    x = leaf([1.0, 2.0])
    x.sum().backward()
    kept = x.grad
    x.sum().backward()
    assert x.grad is kept
    assert kept.tolist() == [2, 2]


def test_a_gradient_is_no_alias_of_what_came_in_or_of_another_gradient():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    cotangent = torch.tensor([1.0, 1.0])
    (x + y).backward(cotangent)
    x.grad.add_(10)
    assert y.grad.tolist() == [1, 1]
    assert cotangent.tolist() == [1, 1]
    (x * 1).backward(cotangent)
    cotangent.zero_()
    assert x.grad.tolist() == [12, 12]


def test_a_gradient_that_may_not_be_written_to_is_not_added_to():
    x = leaf([1.0, 2.0])
    x.grad = torch.zeros(1).expand(2)
    with fault_of("E0409"):
        x.sum().backward()
    with torch.inference_mode():
        x.grad = torch.zeros(2)
    with fault_of("E0415"):
        x.sum().backward()
    x.grad = torch.zeros(2, 2).diagonal()
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_leaf_rules():
    x = leaf(1.0)
    assert x.is_leaf
    assert x.grad_fn is None
    y = x * 2
    assert y.requires_grad
    assert not y.is_leaf
    y.backward()
    with pytest.warns(UserWarning, match="is not a leaf Tensor is being accessed"):
        assert y.grad is None
    assert torch.tensor(1.0).is_leaf
    assert not torch.tensor(1.0).requires_grad
    with fault_of("E0404"):
        y.requires_grad_(False)
    z = torch.ones(2)
    z.requires_grad = True
    assert z.requires_grad
    assert z.requires_grad_(False) is z
    assert not z.requires_grad


def test_detach_lets_nothing_through():
    x = torch.arange(4.0).requires_grad_()
    y = x * x
    u = y.detach()
    z = u * x
    z.sum().backward()
    assert x.grad.tolist() == u.tolist()
    x.grad.zero_()
    y.sum().backward()
    assert x.grad.tolist() == (2 * x.detach()).tolist()


def test_data_is_outside_the_graph():
    x = leaf([1.0])
    y = 2 * x
    x.data *= 100
    y.backward()
    assert x.tolist() == [100]
    assert x.grad.tolist() == [2]


def test_pythons_own_control_flow():
    a = leaf(0.7)
    b = a * 2
    while b.norm() < 1000:
        b = b * 2
    c = b if b.sum() > 0 else 100 * b
    c.backward()
    assert a.grad.item() == pytest.approx((c / a).item(), rel=1e-6)


def test_a_vector_doubled_until_its_norm_passes_1000():
    x = leaf([0.3, -1.2, 0.9])
    y = x * 2
    factor = 2.0
    while y.data.norm() < 1000:
        y = y * 2
        factor *= 2
    y.backward(torch.tensor([0.1, 1.0, 0.0001]))
    np.testing.assert_allclose(x.grad.numpy(), [0.1 * factor, factor, 0.0001 * factor], rtol=1e-6)


def test_a_non_scalar_needs_its_cotangent():
    x = leaf([1.0, 2.0, 3.0, 4.0])
    v = torch.tensor([[1.0, 0.1], [0.01, 0.001]])
    z = (2 * x).view(2, 2)
    with pytest.raises(RuntimeError, match=r"gradient=v") as fault:
        z.backward()
    assert fault.value.code == "E0403"
    z.backward(v)
    np.testing.assert_allclose(x.grad.numpy(), [2, 0.2, 0.02, 0.002], rtol=1e-6)
    x.grad = None
    ((2 * x).view(2, 2) * v).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [2, 0.2, 0.02, 0.002], rtol=1e-6)
    with fault_of("E0301"):
        (2 * x).backward(torch.ones(3))


def test_the_cotangent_is_a_tensor_and_is_cast():
    x = leaf([1.0, 2.0])
    (2 * x).backward(torch.tensor([1.0, 3.0], dtype=torch.float64))
    assert x.grad.tolist() == [2, 6]
    assert x.grad.dtype is torch.float32
    array = np.ones(2)
    for asked in (
        lambda: (2 * x).backward(array),
        lambda: torch.autograd.backward([2 * x], [array]),
        lambda: torch.autograd.grad(2 * x, x, array),
        lambda: torch.autograd.grad(2 * x, x, [array]),
    ):
        with pytest.raises(TypeError, match="gradients can be either Tensors or None"):
            asked()


def test_one_entry_of_any_rank_needs_no_cotangent():
    x = leaf([[3.0]])
    (x * x).backward()
    assert x.grad.tolist() == [[6]]


def test_freed_after_backward_unless_retained():
    x = leaf(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8
    with pytest.raises(RuntimeError, match="retain_graph=True") as fault:
        y.backward()
    assert fault.value.code == "E0401"


def test_a_node_that_saved_nothing_runs_again():
    x = leaf([1.0, 2.0])
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("order", [1, 2])
def test_differences_save_nothing(order):
    x = leaf([1.0, 4.0, 9.0, 16.0])
    (slope,) = torch.gradient(x, spacing=2.0, edge_order=order)
    slope.sum().backward()
    once = x.grad.clone()
    slope.sum().backward()
    assert x.grad.tolist() == (2 * once).tolist() != [0] * 4


@pytest.mark.parametrize("write", [
    lambda b, i, a: b.index_add(0, i, a), lambda b, i, a: b.scatter_add(0, i, a),
    lambda b, i, a: b.index_put((i,), a, accumulate=True),
    lambda b, i, a: b.put(i, a, accumulate=True), lambda b, i, a: b.masked_scatter(b < 1, a),
    lambda b, i, a: b.scatter_reduce(0, i, a, "amax"), lambda b, i, a: b.index_fill(0, i, a[0]),
    lambda b, i, a: (a * 1).scatter(0, i, 2.0),
])  # fmt: skip
def test_a_write_by_index_holds_its_places_for_one_pass(write):
    y = write(torch.zeros(2), torch.tensor([0, 1]), leaf([1.0, 2.0])).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()
    sum_of_constant = leaf([1.0, 2.0]).index_add(0, torch.tensor([0]), torch.ones(1)).sum()
    sum_of_constant.backward()
    sum_of_constant.backward()


def test_part_of_a_freed_graph_is_named():
    x = leaf(2.0)
    y = torch.sin(x)
    (y * 3).backward()
    with pytest.raises(RuntimeError, match="SinBackward0"):
        (y + 1).backward()


def test_no_graph():
    with pytest.raises(RuntimeError, match="does not require grad") as fault:
        torch.ones(1).backward()
    assert fault.value.code == "E0405"


def test_create_graph_and_higher_orders():
    x = leaf(0.0)
    (first,) = grad(x**2 - 2 * x + 1, x, create_graph=True)
    assert first.item() == -2
    assert first.requires_grad
    (second,) = grad(first, x)
    assert second.item() == 2
    assert not second.requires_grad
    assert x.grad is None


def test_six_orders_of_exp_and_of_sin():
    for function, cycle in ((torch.exp, [1.0] * 7), (torch.sin, [0.0, 1, 0, -1, 0, 1, 0])):
        x = leaf(0.0, dtype=torch.double)
        y = function(x)
        for want in cycle:
            assert y.item() == pytest.approx(want, abs=1e-15)
            (y,) = grad(y, x, create_graph=True)


@pytest.mark.filterwarnings("ignore:Using backward")
def test_backward_with_create_graph_leaves_a_gradient_with_a_graph():
    x = leaf(3.0)
    (x**3).backward(create_graph=True)
    assert x.grad.item() == 27
    first = x.grad
    x.grad = None
    first.backward()
    assert x.grad.item() == 18


def test_a_gradient_penalty():
    x = leaf([1.0, 2.0])
    w = leaf([3.0, -1.0])
    (g,) = grad((w * x * x).sum(), x, create_graph=True)
    (g * g).sum().backward()  # sum of 4 w^2 x^2
    assert w.grad.tolist() == [24, -32]
    assert x.grad.tolist() == [72, 16]


def test_several_inputs_and_outputs():
    x1, x2 = leaf(1.0), leaf(2.0)
    found = grad([x1 * x2, x1 + x2], [x1, x2])
    assert [g.item() for g in found] == [3, 2]
    weighted = grad([x1 * x2, x1 + x2], [x1, x2], [torch.tensor(10.0), torch.tensor(1.0)])
    assert [g.item() for g in weighted] == [21, 11]
    backward([x1 * x2, x1 + x2], [None, None])
    assert (x1.grad.item(), x2.grad.item()) == (3, 2)


def test_an_output_that_leads_to_another():
    x = leaf(2.0)
    y = x * x
    z = y * 3
    assert [g.item() for g in grad([y, z], [x])] == [16]
    y = x * x
    z = y * 3
    assert [g.item() for g in grad([y, z], [x, y])] == [16, 4]


def test_the_gradient_by_an_intermediate_and_by_the_output_itself():
    x = leaf(2.0)
    y = x * x
    z = torch.sin(y)
    by_y, by_x, by_z = grad(z, [y, x, z])
    assert by_y.item() == pytest.approx(np.cos(4.0), rel=1e-6)
    assert by_x.item() == pytest.approx(4 * np.cos(4.0), rel=1e-6)
    assert by_z.item() == 1


def test_an_unused_input():
    x, other = leaf(1.0), leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="allow_unused=True") as fault:
        grad(x * 2, [x, other])
    assert fault.value.code == "E0406"
    assert grad(x * 2, [x, other], allow_unused=True)[1] is None
    zeros = grad(x * 2, [x, other], materialize_grads=True)[1]
    assert zeros.tolist() == [0, 0]
    with fault_of("E0404"):
        grad(x * 2, [torch.tensor(1.0)])


def test_grad_touches_no_grad():
    x, w = leaf(2.0), leaf(5.0)
    grad(x * w, x)
    assert x.grad is None
    assert w.grad is None


def test_only_the_inputs_asked_for():
    x, w = leaf(2.0), leaf(5.0)
    (x * w).backward(inputs=[x])
    assert x.grad.item() == 5
    assert w.grad is None


def test_the_same_tensor_as_both_operands():
    x = leaf([3.0])
    (x * x - x / x + x**x).sum().backward()
    assert x.grad.item() == pytest.approx(6 + 27 * (np.log(3) + 1), rel=1e-6)


def test_broadcast_gradients_are_summed_back():
    x, b = leaf([[1.0], [2.0]]), leaf([1.0, 2.0, 3.0])
    s = leaf(2.0)
    ((x * b) * s).sum().backward()
    assert x.grad.tolist() == [[12], [12]]
    assert b.grad.tolist() == [6, 6, 6]
    assert s.grad.item() == 18


def test_a_diamond_of_forty_levels_is_walked_once():
    x = leaf(1.0, dtype=torch.double)
    y = x
    for _ in range(40):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**40


def test_grad_may_be_assigned():
    x = leaf([1.0, 2.0])
    x.grad = torch.tensor([5.0, 5.0])
    x.sum().backward()
    assert x.grad.tolist() == [6, 6]
    with fault_of("E0301"):
        x.grad = torch.ones(3)
    with fault_of("E0303"):
        x.grad = 1.0


def test_an_input_whose_rule_saves_nothing_beside_one_whose_rule_does():
    """x's slope in x % y is 1 whatever y is: with y a constant of another dtype nothing is kept."""
    x = torch.tensor([5.0, 7.0], requires_grad=True)
    torch.remainder(x, torch.tensor([2, 3])).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_complex_number_is_conjugated_in_a_recorded_gradient():
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    g = torch.tensor([1 + 2j, 3 - 1j])
    for record in (False, True):
        (found,) = torch.autograd.grad(x * 1j, x, g, create_graph=record)
        assert found.tolist() == [2, -1]


def test_gradients_beyond_the_outputs_are_left_over():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    given = [torch.ones(2), torch.ones(2)]
    assert torch.autograd.grad([x * 3], [x], given, only_inputs=True)[0].tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.backward([x, x], given[:1])


def test_a_view_made_under_no_grad_is_no_root():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with torch.no_grad():
        v = y[:1]
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        torch.autograd.backward([y.sum(), v])
    with pytest.raises(AssertionError, match="Expected gradient function"):
        torch.autograd.graph.get_gradient_edge(v)


def test_numpys_error_settings_neither_stop_a_pass_nor_change_by_it():
    x = leaf([0.0, 1.0])
    y = x.sqrt()
    with np.errstate(all="raise"):
        settings = np.geterr()
        y.backward(torch.ones(2))
        assert x.grad.tolist() == [float("inf"), 0.5] and np.geterr() == settings
        with fault_of("E0401"):
            y.backward(torch.ones(2))
        assert np.geterr() == settings


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_a_gradient_is_never_rounded_to_whole_numbers(dtype):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a gradient has no dtype"):
        x.grad_dtype = dtype
    (x * 0.5).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("function", [
    lambda x: torch.addcdiv(x, torch.ones(2), torch.ones(2)),
    lambda x: torch.div(x, 2.0, rounding_mode="floor"),
    lambda x: torch.div(x, x, rounding_mode="trunc"),
    torch.sgn,
])  # fmt: skip
def test_a_composed_node_is_freed_where_pytorchs_is(function):
    x = torch.tensor([0.5, -1.5], requires_grad=True)
    y = function(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


@pytest.mark.parametrize("function", [
    lambda x: F.interpolate(x, size=(3, 5), mode="bilinear"),
    lambda x: F.interpolate(x, size=(3, 5), mode="bicubic", antialias=True),
    lambda x: F.interpolate(x[0], size=5, mode="linear"),
    lambda x: F.interpolate(x[None], size=(2, 3, 1), mode="trilinear"),
    lambda x: torch.trapezoid(x, dx=0.5),
    lambda x: torch.cumulative_trapezoid(x, dx=0.5),
    lambda x: torch.matrix_power(x, 0),
])  # fmt: skip
def test_a_composed_map_by_constant_weights_is_never_freed_as_in_pytorch(function):
    x = torch.rand(1, 2, 4, 4, requires_grad=True)
    y = function(x).sum()
    y.backward()
    once = x.grad.clone()
    y.backward()
    assert torch.equal(x.grad, 2 * once)
    pooled = F.adaptive_avg_pool2d(x, 3).sum()  # PyTorch's node saves what it pools
    pooled.backward()
    with pytest.raises(RuntimeError, match="second time"):
        pooled.backward()
