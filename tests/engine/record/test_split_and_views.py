"""Pieces share a node, parts of expanded tensors are written to, nodes are freed as PyTorch frees
them, and zeros of gradients have its sign.

Falsifies, if it fails: "the engine keeps PyTorch's meaning". What is expected was seen in PyTorch
2.13.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradcli as torch
from tests.support.families import family


def leaf(*numbers):
    return torch.tensor(list(numbers), requires_grad=True)


def test_pieces_are_outputs_of_one_node():
    a, b = (leaf(1.0, 2.0) * 1).split(1)
    assert a.grad_fn is b.grad_fn
    assert [y.grad_fn.next_functions[0][1] for y in (a * 1, b * 1)] == [0, 1]
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    first, second = x.unbind(1)
    (second * second).sum().backward()
    assert x.grad.tolist() == [[0, 4], [0, 8]]
    (g,) = torch.autograd.grad((first**3).sum() + x.chunk(2)[1].sum(), x, create_graph=True)
    assert g.tolist() == [[3, 0], [28, 1]]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [[6, 0], [18, 0]]


@family("quiet", [False, True])
def test_a_stale_piece_knows_which_output_it_was(quiet):
    base = leaf(1.0, 2.0) * 1
    pieces = base.split(1)
    with torch.set_grad_enabled(not quiet):
        (pieces[0] if quiet else base).mul_(2)
    assert [p.output_nr for p in pieces] == [0, 1]
    assert pieces[1]._backward_hooks is None and pieces[1].requires_grad_() is pieces[1]
    with pytest.raises(RuntimeError):
        _ = pieces[1].grad_fn


@family("index, strides", [
    ((None, slice(2), 3), (25, 5)),
    ((None, slice(2)), (25, 5, 1)),
    ((slice(None), None, 1), (5, 5)),
    ((1, ..., None, slice(1, 2)), (5, 1)),
    ((slice(None, None, 2), None, slice(1, None, 3)), (10, 5, 3)),
])  # fmt: skip
def test_a_new_dimension_steps_over_what_stands_behind(index, strides):
    assert torch.ones(5, 5)[index].stride() == strides


@family("turn, name", [
    (lambda v: v.t_(), "TBackward1"),
    (lambda v: v.unsqueeze_(0), "UnsqueezeBackward1"),
    (lambda v: v.squeeze_(1), "SqueezeBackward4"),
    (torch.alias_copy, "AliasBackward0_copy"),
    (lambda v: torch.view_copy(v, (2,)), "ViewBackward0_copy"),
    (lambda v: torch.narrow_copy(v, 0, 0, 1), "NarrowCopyBackward0"),
    (lambda v: torch.split_copy(v, 1)[1], "SplitBackward0_copy"),
])  # fmt: skip
def test_views_turned_in_place_and_copied_have_names_of_their_own(turn, name):
    assert turn((leaf(1.0, 2.0) * 1).view(2, 1)).grad_fn.name() == name


def test_a_part_of_an_expanded_tensor_is_written_to():
    x = leaf(1.0, 2.0)
    base = x * 1
    wide = base.expand(2, 2)
    wide[0] *= 3
    wide[:, 0][:1] = 5.0
    assert base.tolist() == [5, 6] and wide.tolist() == [[5, 6], [5, 6]]
    base.sum().backward()
    assert x.grad.tolist() == [0, 3]
    with pytest.raises(RuntimeError, match="single memory location"):
        wide[:] = 1.0
    with pytest.raises(RuntimeError, match="single memory location"):
        wide[:, 0] = 1.0


FREED = ("x[torch.tensor([0])]", "x[x > 0]", "x.gather(0, torch.tensor([1]))", "x.max(0).values",
         "x.sort()[0]", "x.median()", "x.index_fill(0, torch.tensor([0]), 1.0)",
         "F.max_pool1d(x[None], 2)", "F.max_pool3d(x.expand(1, 2, 3, 3), 2)",
         "F.adaptive_max_pool2d(x.expand(1, 3, 3), 2)",
         "F.fractional_max_pool2d(x.expand(1, 3, 3), 2, output_size=1)",
         "F.pad(x[None], (1, 1), 'reflect')", "F.pad(x.expand(1, 3, 3), (1, 0) * 2, 'replicate')",
         "F.nll_loss(x[None], torch.tensor([1]))", "torch.fft.rfft(x).real",
         "x.index_reduce(0, torch.tensor([0]), x[:1], 'amax')")  # fmt: skip
KEPT = ("torch.add(x, x, alpha=2)", "x.sub(x, alpha=3)", "(x + 0).add_(x, alpha=2)", "x[:1]",
        "torch.lerp(x, x + 1, 0.25)", "x.deg2rad()", "x.round(decimals=1)",
        "F.pad(x[None], (1, -1), value=2.0)")  # fmt: skip


@family("text", (*FREED, *KEPT))
def test_a_node_is_freed_where_pytorchs_is(text):
    y = eval(text, {"torch": torch, "F": torch.nn.functional, "x": leaf(1.0, 2.0, 3.0)}).sum()
    y.backward()
    if text in KEPT:
        y.backward()
    else:
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()


def test_a_leaf_turned_off_and_on_is_the_same_end_of_its_graphs():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    x.requires_grad_(False)
    y.backward(retain_graph=True)  # lost
    assert x.grad.tolist() == [2, 4]
    x.requires_grad_(True)
    y.backward()
    assert x.grad.tolist() == [4, 8]


def test_a_view_of_a_leaf_turned_off_refuses_writes():
    x = leaf(1.0, 2.0)
    part = x[:1]
    x.requires_grad_(False)
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        part.mul_(2)


@pytest.mark.parametrize("again", [False, True])
def test_a_view_that_was_overtaken_leaves_the_graph_with_its_base(again):
    x = leaf(1.0, 2.0)
    base = x * 1
    part = base[:1]
    base.mul_(3)
    base.detach_()
    if again:
        base.requires_grad_()
    (part * 2 + x).sum().backward()
    assert x.grad.tolist() == [1, 1]  # as in PyTorch: not through part
    assert base.grad is None if not again else base.grad.tolist() == [4, 0]


def test_a_view_outside_the_graph_requires_grad_as_its_base_does():
    def made(stale=False, own=False):
        x = torch.ones(2) * leaf(2.0)
        with torch.no_grad():
            part = x[:1]
        if own:
            part.requires_grad_()
        if stale:
            x.mul_(3)
        return x, part

    for stale in (False, True):  # its place in the graph is asked for in vain, until there is none
        for own in (False, True):
            x, part = made(stale, own)
            assert part.requires_grad and not x.detach_().requires_grad
            assert part.requires_grad is own and part.is_leaf
    _, part = made(own=True)
    part.register_hook(lambda g: g * 3)
    assert part.requires_grad_(False).requires_grad  # by its base, and its gradient goes nowhere
    (part * part).sum().backward()
    assert part.grad is None
    (part.requires_grad_() * part).sum().backward()
    assert part.grad.tolist() == [12]


def test_a_write_to_a_view_passes_by_the_hooks_of_views():
    x = leaf(1.0, 2.0)
    base = x * 2
    view = base.view(2, 1)
    view.register_hook(lambda g: g * 100)
    view.reshape(2).neg_()
    (base * 1).sum().backward()
    assert x.grad.tolist() == [-2, -2]


def test_reshape_shows_as_a_view_an_alias_or_a_copy():
    x = torch.ones(2, 3, requires_grad=True)
    assert "ViewBackward0" in str((x * 1).reshape(6).grad_fn)
    assert "ReshapeAliasBackward0" in str(x[:, :1].flatten().grad_fn)
    assert "UnsafeViewBackward0" in str(torch.flatten(x.t()).grad_fn)
    assert "ViewBackward0" in str(x.t().ravel().grad_fn)
    assert x[0].flatten().grad_fn.name() == "SelectBackward0"


SIGNS = {  # of the gradient where all that arrives is -0.0, then where it is -1
    "x.max()": ("++-+", "++-+"), "x.amax()": ("----", "----"), "x.max(0).values": ("++-+", "++-+"),
    "x.sort().values": ("----", "----"), "x.cumsum(0)": ("++++", "----"),
    "x.softmax(0)[:0].sum() + x**0": ("++++", "++++"), "x.clamp(0, 1)": ("+---", "+---"),
    "torch.lerp(x, x * 1, 0.5)": ("----", "----"), "x[x > 0]": ("++++", "++--"),
    "x.masked_select(x > 0)": ("++--", "++--"), "x.log_softmax(0)": ("++++", None),
}  # fmt: skip


@family("text", SIGNS)
def test_zeros_of_gradients_have_pytorchs_sign(text):
    for arrives, expected in zip((-0.0, -1.0), SIGNS[text], strict=True):
        if expected is None:
            continue
        x = leaf(-1.0, 0.0, 1.0, 0.5)
        y = eval(text)
        y.backward(torch.full(y.shape, arrives))
        found = "".join("+-"[int(s)] for s in torch.signbit(x.grad).tolist())
        assert found == expected, arrives


def test_values_of_minus_zero_are_pytorchs():
    zero = torch.tensor([-0.0, -4.0])
    for text in ("zero.relu()", "zero.clamp(min=0)", "zero % 2"):
        assert str(eval(text)) == "tensor([-0., 0.])" or text == "zero % 2"
    assert str(zero % 2) == "tensor([-0., -0.])"
    assert str(torch.tensor([-0.0, -0.0]).cumsum(0)) == "tensor([0., 0.])"
    column, row = torch.full((2, 1), -0.0), torch.ones(1, 2)
    assert str(column @ row) == "tensor([[-0., -0.],\n        [-0., -0.]])"


def test_leaves_that_were_done_before_an_error_have_their_gradient():
    x, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = torch.tanh(x * 1)
    y = h + b
    h.neg_()
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()
    assert x.grad is None and b.grad.tolist() == [1, 1]


def test_pieces_of_a_detached_expansion_are_written_to():
    wide = torch.ones(2).expand(2, 2).detach()
    _, last = wide.tensor_split([1])
    last += 1
    assert wide.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    protected = np.ones(2)
    protected.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        protected = torch.from_numpy(protected)
    with pytest.raises(RuntimeError):
        protected.add_(1)


def windows(y):
    return y.as_strided((2, 2), (1, 1))


@pytest.mark.parametrize(("write", "wanted"), [
    (lambda y, v: (y.mul_(3), v)[1], [3, 15, 12]),
    (lambda y, v: (v[0].mul_(5), v)[1], [5, 25, 4]),
    (lambda y, v: (v.zero_(), y)[1], [0, 0, 0]),
])  # fmt: skip
@pytest.mark.parametrize("windows", [windows, lambda y: y.unfold(0, 2, 1)])
def test_windows_that_overlap_follow_a_write_to_their_base_or_a_part(windows, write, wanted):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    out = write(y, windows(y))
    (out * torch.arange(1.0, out.numel() + 1).reshape(out.shape)).sum().backward()
    assert x.grad.tolist() == wanted


@family("write", [
    lambda y: windows(y).mul_(2), lambda y: y.unfold(0, 2, 1).add_(1),
    lambda y: windows(y).copy_(torch.ones(2, 2)),
    lambda y: y.as_strided_((2, 2), (1, 1))[0].mul_(2),
])  # fmt: skip
def test_windows_that_overlap_are_not_written_entry_by_entry(write):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        write(torch.tensor([1.0, 2.0, 3.0], requires_grad=True) * 1)


MASK = torch.tensor([True, False, True])


@family("index, wanted", [
    (torch.tensor([0]), [4.0, 4.0, 4.0]), (torch.stack([MASK, ~MASK]), [4.0, 4.0, 4.0]),
    ((slice(None), MASK), [4.0, 0.0, 4.0]), (([0, 1], [1, 1]), [0.0, 4.0, 0.0]),
])  # fmt: skip
def test_a_number_is_written_at_an_index_where_entries_share_memory(index, wanted):
    base = torch.zeros(3)
    rows = base.expand(2, 3)
    rows[index] = 4
    assert base.tolist() == wanted and rows.tolist() == [wanted] * 2 and base._version == 1
    for refused in (rows, torch.zeros(3, requires_grad=True).clone().expand(2, 3)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            refused[index] = torch.arange(2.0)[1] if refused is rows else 4


@family("function", [
    torch.diag, lambda x: x.diff(0), lambda x: x[:, :0].diff(), torch.chain_matmul,
    lambda x: x.long().nan_to_num(), lambda x: x.bool().sign(), lambda x: x.bool().sgn(),
])  # fmt: skip
def test_what_gives_a_copy_shares_no_memory(function):
    x = torch.ones(2, 2, requires_grad=True) * 1
    found = function(x)
    before = found.tolist()
    x.mul_(3)
    assert found.tolist() == before
    assert (found._base, x.tolist()) == (None, [[3, 3], [3, 3]])
    for kind in (torch.int64, torch.bool):
        whole = torch.ones(2, 2).to(kind)
        function(whole).zero_()
        assert whole.all()


def test_a_copy_lies_in_memory_as_what_it_is_of():
    """Whether reshape gives a view of it, and so who sees a write, follows from that."""
    x = torch.arange(6.0).reshape(2, 3)
    y = x.t().clone()
    assert y.stride() == (1, 3)
    y.reshape(-1).mul_(2)
    assert y.tolist() == x.t().tolist()
    rows = x.t().clone(memory_format=torch.contiguous_format)
    assert rows.stride() == y.contiguous().stride() == (2, 1)
    rows.reshape(-1).mul_(2)
    assert rows.tolist() == (2 * x.t()).tolist()

    def steps(a):
        return torch.tensor([*a.t().clone().stride(), *a.t().contiguous().stride()])

    assert torch.func.vmap(steps)(torch.ones(2, 2, 3)).tolist() == [[1, 3, 2, 1]] * 2


def test_what_is_made_of_two_layouts_lies_as_the_first():
    rows = torch.arange(12).view(2, 3, 2)
    turned = rows.transpose(0, 2)
    for function in (torch.add, torch.fmax, torch.gcd, torch.bitwise_or, torch.bitwise_left_shift):
        assert function(turned, rows).stride() == (1, 2, 6), function
        assert function(rows, turned).stride() == (6, 2, 1), function
        assert function(turned, rows[0, 0]).stride() == (1, 2, 6), function
    assert (turned | 3).stride() == (3 ^ turned).stride() == (1, 2, 6)


def test_rows_of_a_loop_are_views_of_one_unbind():
    y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True) * 1
    for loop in (lambda: [row.mul_(2) for row in y], lambda: next(iter(enumerate(y)))[1].zero_()):
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            loop()
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for row in x:
        row.mul_(2)
    assert x.tolist() == [[2.0, 4.0], [6.0, 8.0]]
