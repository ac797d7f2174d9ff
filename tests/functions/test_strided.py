"""Memory: as_strided stays within that of its tensor, and copies have their own."""

from __future__ import annotations

import pytest

import gradcli as torch
import gradcli.nn.functional as F
from gradcli.ops.errors import Fault
from tests.support.families import family


@family(
    "code, size, stride, offset",
    [
        ("E0301", (5,), (1,), None),
        ("E0301", (2,), (1,), 3),
        ("E0301", (2, 2), (3, 1), None),
        ("E0301", (1,), (1,), -1),
        ("E0301", (-1,), (1,), None),
        ("E0301", (-5, -5), (1, 1), 0),
        ("E0301", (1,), (10**30,), None),
        ("E0301", (10**30,), (1,), None),
        ("E0303", (1,), (1,), 10**30),
        ("E0303", (1.5,), (1,), None),
        ("E0303", (1,), ("1",), None),
    ],
)
def test_refusals(code, size, stride, offset):
    with pytest.raises(Fault) as fault:
        torch.zeros(4).as_strided(size, stride, offset)
    assert fault.value.code == code


def test_a_view_of_a_view_begins_where_that_does():
    x = torch.arange(12.0).view(3, 4)
    row = x[1]
    assert row.as_strided((2,), (2,)).tolist() == [4.0, 6.0]
    assert row.as_strided((2,), (2,), 0).tolist() == [0.0, 2.0]
    row.as_strided((2,), (4,)).fill_(-1)
    assert x.tolist() == [[0, 1, 2, 3], [-1, 5, 6, 7], [-1, 9, 10, 11]]


@family("empty, begins", [
    (lambda x: x[2:2], 2),
    (lambda x: x[1:][3:], 4),
    (lambda x: x.narrow(0, 3, 0), 3),
    (lambda x: x.split([2, 0, 2])[1], 2),
    (lambda x: x[3:3:2], 3),
    (lambda x: x.view(2, 2)[1:, None, 2:].squeeze(), 4),
    (lambda x: x.view(2, 2)[1:1].select(1, 1), 3),
    (lambda x: x.view(2, 2)[None, 1:1][:, :, 1], 3),
    (lambda x: x.view(1, 4)[:, :, None][:, 1:1].diagonal(1), 1),
    (lambda x: x.view(2, 2)[..., 1:].diagonal(1), 1),
    (lambda x: torch.view_as_real(torch.view_as_complex(x.view(2, 2)[1:1])), 2),
])  # fmt: skip
def test_a_view_without_entries_begins_where_they_would_lie(empty, begins):
    x = torch.arange(4.0, requires_grad=True)
    view = empty(x * 1)
    assert (view.numel(), view.storage_offset(), view._is_view()) == (0, begins, True)
    if begins == 4:
        with pytest.raises(RuntimeError):
            view.as_strided((1,), (1,))
        return
    seen = view.as_strided((1,), (1,))
    assert seen.tolist() == [begins]
    expected = torch.arange(4) == begins
    # By differences: in PyTorch, what shows no entries has no gradient for those of its memory.
    assert torch.equal(torch.autograd.grad(seen.sum(), x)[0], expected.float())
    base = view._base.detach()
    empty(base).as_strided((1,), (1,)).fill_(9.0)
    assert torch.equal(base == 9, expected)


def test_a_view_without_entries_grows_where_it_begins():
    x = torch.arange(4.0)
    x[2:2].resize_(2).fill_(8.0)
    assert x.tolist() == [0, 1, 8, 8]
    beyond = x.view(2, 2)[2:, 1:].resize_(1)
    assert (beyond.fill_(7.0).storage_offset(), x.untyped_storage().nbytes()) == (5, 24)
    x.expand(3, 4)[:, 2:2].fill_(1.0)  # of whose entries none lie in one place


def test_a_view_in_memory_that_ends_within_an_entry():
    memory = torch.zeros(12, dtype=torch.uint8)
    x = memory[:8].view(torch.float64)
    x.as_strided((1,), (1,)).fill_(1.0)
    y = torch.empty(3, dtype=torch.float64)
    y.set_(memory.untyped_storage(), 0, (), ())
    assert (x.item(), y.item(), memory[6:].tolist()) == (1.0, 1.0, [240, 63, 0, 0, 0, 0])
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 12"):
        x.as_strided((2,), (1,))


def test_complex_numbers_lie_in_pairs_whatever_the_step_along_one():
    x = torch.arange(6.0, requires_grad=True)
    pairs = torch.view_as_complex((x * 1).as_strided((1, 2, 2), (3, 2, 1), 2))
    assert pairs.tolist() == [[2 + 3j, 4 + 5j]] and pairs._is_view()
    assert torch.autograd.grad(pairs.imag.sum(), x)[0].tolist() == [0, 0, 0, 1, 0, 1]
    with pytest.raises(RuntimeError, match="stride divisible by 2"):
        torch.view_as_complex(x.as_strided((2, 2), (3, 1)))


@pytest.mark.parametrize("turned", [False, True])
def test_gradients_of_every_order(turned):
    x = torch.arange(6.0, dtype=torch.double).view(2, 3).add(0.5).requires_grad_()

    def windows(x):
        base = (x * x).t() if turned else x * x
        return base.as_strided((3, 2), (1, 2)).sin()

    assert torch.autograd.gradcheck(windows, x)
    assert torch.autograd.gradgradcheck(windows, x)


def test_each_element_of_a_batch():
    x = torch.arange(8.0).view(2, 4)
    found = torch.func.vmap(lambda row: row.as_strided((2, 2), (1, 1)))(x)
    assert found.tolist() == [[[0, 1], [1, 2]], [[4, 5], [5, 6]]]


@pytest.mark.parametrize("name", ["empty_strided", "empty_permuted", "new_empty_strided"])
def test_a_tensor_made_with_steps_is_a_leaf(name):
    make = getattr(torch, name, None) or getattr(torch.ones(1), name)
    x = make((2, 2), (1, 0) if name == "empty_permuted" else (1, 2), requires_grad=True)
    assert x.is_leaf and x.grad_fn is None and x.stride() == (1, 2)
    x.detach().fill_(3.0)
    x.square().sum().backward()
    assert x.grad.tolist() == [[6.0, 6.0], [6.0, 6.0]]


def test_no_place_at_all():
    assert torch.tensor(3.0, requires_grad=True).as_strided((1, 1), (1, 1)).tolist() == [[3.0]]
    with pytest.raises(Fault):
        torch.tensor(3.0, requires_grad=True).as_strided((2,), (1,))
    x = torch.tensor(3.0, requires_grad=True)
    (x.as_strided((2,), (0,)) * torch.tensor([1.0, 2.0])).sum().backward()
    assert x.grad.item() == 3


@family("name, function", [
    ("pad", lambda x: F.pad(x, (0, 0))),
    ("reflect", lambda x: F.pad(x, (0, 0, 0, 0), mode="reflect")),
    ("pixel_shuffle", lambda x: F.pixel_shuffle(x[None], 1)),
    ("pixel_unshuffle", lambda x: F.pixel_unshuffle(x[None], 1)),
    ("channel_shuffle", lambda x: F.channel_shuffle(x[None, None], 1)),
    ("unfold", lambda x: F.unfold(x[None], 1)),
    ("matrix_power", lambda x: torch.linalg.matrix_power(x, 1)),
    ("embedding", lambda x: F.embedding(torch.tensor(1), x[0])),
    ("fft", lambda x: torch.fft.fftn(torch.complex(x, x), dim=())),
    ("to", lambda x: x.to("cpu", torch.float32, False, True)),
    ("tile", lambda x: x[:0].tile(2)),
    ("gather", lambda x: x.gather(0, torch.zeros(0, 1, 1, dtype=torch.long))),
    ("repeat", lambda x: x[:0].repeat(2, 1, 1)),
])  # fmt: skip
def test_a_result_that_changes_nothing_is_still_a_copy(name, function):
    x = torch.arange(4.0).reshape(1, 2, 2).requires_grad_()
    function(x).add_(1)  # not a write to x, nor to a view of a leaf
    assert x.detach().flatten().tolist() == [0, 1, 2, 3], name
    y = x * 2
    function(y)
    assert y.grad_fn.name() == "MulBackward0"


def test_a_number_along_a_dimension_shows_what_was_done():
    x = torch.tensor(2.0, requires_grad=True)
    for name in ("max", "min", "sort", "mode", "cummax", "kthvalue", "topk"):
        values = getattr(x, name)(*[1] * (name in ("kthvalue", "topk")), 0)[0]
        assert values.grad_fn.name() == f"{name.capitalize()}Backward0"
        assert torch.autograd.grad(values, x)[0].item() == 1


def test_nothing_added_to_nothing_is_in_its_graph():
    empty, index = torch.ones(0, requires_grad=True), torch.zeros(0, dtype=torch.long)
    total = torch.ones(0).index_add(0, index, empty)
    assert torch.autograd.grad(total.sum(), empty)[0].shape == (0,)


@family(
    "size, wanted",
    [
        ((1, 1, 5), (5, 5, 1)),
        ((2, 1, -1), (0, 5, 1)),
        ((1, 3, 5), (0, 0, 1)),
        ((3, 1, 1, 5), (0, 5, 5, 1)),
    ],
)
def test_a_new_dimension_of_size_1_repeats_nothing(size, wanted):
    assert torch.zeros(5).expand(size).stride() == wanted
    assert torch.zeros(5, 2)[:, 1].expand(size).stride() == tuple(2 * n for n in wanted)
    assert torch.tensor(1.0).expand(2, 1).stride() == (0, 0)


@pytest.mark.parametrize(("order", "expanded", "steps"), [
    ((0, 1, 2), 0, (18, 3, 1)), ((2, 0, 1), 0, (18, 1, 6)), ((2, 0, 1), 1, (1, 5, 30)),
    ((1, 2, 0), 2, (3, 15, 1)), ((2, 1, 0), 1, (1, 5, 30)), ((1, 0, 2), 2, (3, 15, 1)),
])  # fmt: skip
def test_copies_of_what_is_expanded_lie_as_the_other_dimensions_do(order, expanded, steps):
    x = torch.arange(90.0).reshape(*((5, 6, 3)[d] for d in order))
    x = x.permute(*(order.index(d) for d in range(3)))
    x = x.select(expanded, 0).unsqueeze(expanded).expand(5, 6, 3)
    for copy in (x.clone(), x.double(), x.flip(1), x.to(torch.float32, copy=True),
                 torch.nn.functional.pad(x, (0, 0)), torch.rand_like(x)):  # fmt: skip
        assert copy.stride() == steps
    assert torch.equal(x.clone(), x) and torch.equal(x.double(), x)
    assert torch.equal(x.argsort(0), x.contiguous().argsort(0))


@family(
    "view", [lambda v: v.unfold(-1, 2, 2), lambda v: v[None, ::2], lambda v: v[1:].unsqueeze(0)]
)
def test_a_view_of_what_is_expanded_to_its_own_shape_is_written(view):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    want = x.clone()
    view(want).mul_(2)
    view(x.expand(4)).mul_(2)
    assert torch.equal(x, want)
    wide = view(x.expand(1, 4)[0].expand(4))
    wide.zero_()
    assert not view(x).any()
    with pytest.raises(RuntimeError):
        x.expand(2, 4).unfold(1, 2, 2).mul_(2)


@family("view", [
    lambda x: x.as_strided((9000, 1), (2, 1), 1), lambda x: x.reshape(9000, 2)[:, 1:],
    lambda x: x.view(9000, 2).narrow(1, 1, 1), lambda x: x.view(2, 4500, 2)[..., 1:],
])  # fmt: skip
def test_long_columns_of_what_is_written_lead_to_their_entries(view):
    x = torch.zeros(18000, requires_grad=True)
    y = x * 1
    column = view(y)
    y.mul_(1)
    weights = torch.arange(9000.0)
    column.backward(weights.reshape(column.shape))
    assert torch.equal(x.grad.view(9000, 2), torch.stack((torch.zeros(9000), weights), 1))
