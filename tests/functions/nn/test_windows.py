"""What pools, resampling, norms and attention give where a kernel takes a way of its own."""

from __future__ import annotations

import pytest

import gradcli as torch
from gradcli.nn import functional as F
from tests.support.families import family

X = torch.arange(6.0).reshape(1, 1, 2, 3)


def test_a_dimension_that_keeps_its_size_is_copied_whatever_the_factor_is():
    found = F.interpolate(X, scale_factor=(1.4, 2.1), mode="bilinear")
    assert found.shape == (1, 1, 2, 6)
    assert found[0, 0, :, 0].tolist() == [0.0, 3.0]
    assert F.interpolate(X, scale_factor=(1.4, 2.1))[0, 0, 0].tolist() == [0, 0, 1, 1, 2, 2]
    line = F.interpolate(X[0], scale_factor=1.4)  # of one dimension the factor counts
    assert line[0, 0].tolist() == [0.0, 0.0, 1.0, 2.0]


@family("n, m, options, held", {
    "area": (5, 3, {"mode": "area"}, {1: [0, 1], 4: [2]}),
    "area, larger": (7, 10, {"mode": "area"}, {0: [0, 1], 2: [2, 3, 4]}),
    "bilinear": (10, 7, {"mode": "bilinear", "antialias": True}, {2: [1, 2], 9: [6]}),
    "bicubic": (9, 4, {"mode": "bicubic", "antialias": True}, {6: [1, 2, 3], 8: [2, 3]}),
}.values())  # fmt: skip
def test_infinity_is_in_the_windows_that_hold_it_alone(n, m, options, held):
    for place, windows in held.items():
        x = torch.ones(1, 1, 1, n)
        x[..., place] = float("inf")
        found = F.interpolate(x, size=(1, m), **options).flatten()
        assert not found.isnan().any()
        assert found.isinf().nonzero().flatten().tolist() == windows


@family("padding, mode, wanted", [
    ("zeros", "nearest", 0.0), ("border", "nearest", 3.0), ("border", "bilinear", 3.0),
    ("reflection", "nearest", 3.0), ("reflection", "bilinear", 3.0),
])  # fmt: skip
def test_places_that_are_nan_are_at_the_first_entry(padding, mode, wanted):
    grid = torch.tensor([[[[float("nan"), 1.0]]]])
    found = F.grid_sample(X, grid, mode, padding, align_corners=True)
    assert found.item() == wanted  # PyTorch 2.13


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_places_that_are_nan_are_at_the_last_entry_of_3_d_input(mode):
    x = torch.arange(8.0).reshape(1, 1, 2, 2, 2).requires_grad_()
    grid = torch.tensor([[[[[float("nan"), 1.0, -1.0]]]]])
    found = F.grid_sample(x, grid, mode, "border", align_corners=True)
    assert found.item() == 3.0  # PyTorch 2.13
    found.sum().backward()
    assert x.grad.flatten().tolist() == [0, 0, 0, 1, 0, 0, 0, 0]


@family("name, make", {
    "avg_pool2d": lambda x: F.avg_pool2d(x, 1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (2, 2)),
    "reflect": lambda x: F.pad(x, (1, 1, 0, 0), mode="reflect"),
    "circular": lambda x: F.pad(x, (1, 1, 0, 0), mode="circular"),
    "area": lambda x: F.interpolate(x, (2, 2), mode="area"),
}.items())  # fmt: skip
def test_results_of_an_input_in_columns_lie_in_rows(name, make):
    columns = torch.arange(6.0).reshape(1, 1, 3, 2).transpose(2, 3)
    assert make(columns).is_contiguous()
    assert torch.equal(make(columns), make(columns.contiguous()))


@family("name, make", {
    "conv2d": lambda x, w, b: F.conv2d(x, w.reshape(3, 1, 1, 1), b),
    "batch_norm": lambda x, w, b: F.batch_norm(x.reshape(2, 3), b.detach(), b.detach() + 1, w, b),
    "layer_norm": lambda x, w, b: F.layer_norm(x, (3,), w, b),
}.items())  # fmt: skip
def test_every_recorded_gradient_of_one_node_of_pytorch_asks_for_one(name, make):
    x = X.clone().requires_grad_()
    w, b = (torch.ones(3, requires_grad=True) for _ in range(2))
    grads = torch.autograd.grad(make(x, w, b).sum(), (x, w, b), create_graph=True)
    assert [g.requires_grad for g in grads] == [True] * 3
    (further,) = torch.autograd.grad(grads[2].sum(), x)
    assert further.abs().sum() == 0


@family("mode", ("bilinear", "nearest", "bicubic"))
def test_places_far_outside_are_as_those_less_far(mode):
    image = torch.arange(9.0, dtype=torch.float64).reshape(1, 1, 3, 3)
    for padding, sign in (("zeros", 1), ("border", 1), ("zeros", -1), ("border", -1)):
        found = []
        for size in (1e20, 1e308):
            grid = torch.tensor([[[[sign * size, 0.2], [0.1, 0.3]]]], dtype=torch.float64)
            image, grid = (v.detach().requires_grad_() for v in (image, grid))
            out = F.grid_sample(image, grid, mode, padding, align_corners=False)
            found.append([out, *torch.autograd.grad(out.sum(), (image, grid))])
        for less, far in zip(*found, strict=True):
            assert torch.allclose(less, far, rtol=1e-12) and less.isfinite().all()


def test_pools_of_whole_numbers_pad_with_the_least_of_them():
    x = -torch.arange(1, 5).reshape(1, 1, 2, 2)
    assert F.max_pool2d(x, 2, stride=1, padding=1).tolist() == [
        [[[-1, -1, -2], [-1, -1, -2], [-3, -3, -4]]]
    ]


@family("rank", (1, 2, 3))
def test_one_mean_of_no_entries_is_nan(rank):
    pool = getattr(F, f"adaptive_avg_pool{rank}d")
    assert pool(torch.ones(2, *[0] * rank), 1).isnan().sum() == 2
    with pytest.raises(RuntimeError, match="input"):
        pool(torch.ones(2, *[0] * rank), 2)


def test_the_mean_around_of_whole_numbers_is_whole():
    x = torch.tensor([[[1], [2], [3]]])  # the means of squares are 1 // 2, 5 // 2 and 13 // 2
    found = F.local_response_norm(x, 2, alpha=1.0, beta=1.0)
    assert found.flatten().tolist() == pytest.approx([1.0, 2 / 3, 3 / 7])


@family("name, make", {
    "pad": lambda x: F.pad(x, (0, 0, -1, 0)), "reflect": lambda x: F.pad(x, (0, -1), "reflect"),
    "none": lambda x: F.pad(x, (0, 0)), "fold": lambda x: F.fold(x, (1, 4), (1, 2)),
    "cut": lambda x: F.fold(x, (2, 2), (1, 2), padding=(0, 1)),
}.items())  # fmt: skip
def test_what_is_cut_lies_in_rows_of_its_own(name, make):
    x = torch.arange(12.0).reshape(2, 6)[:, : 3 if name == "fold" else 6]
    found, before = make(x), x.clone()
    assert not found._is_view() and found.is_contiguous()
    found.zero_()
    assert torch.equal(x, before)


def test_what_may_look_at_nothing_gives_zeros_where_no_weights_are_asked_for():
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(4, 2)
    x = torch.randn(3, 4)
    mask = torch.zeros(3, 3).bool()
    mask[1] = True
    quiet, none = layer(x, x, x, attn_mask=mask, need_weights=False)
    loud, _ = layer(x, x, x, attn_mask=mask)
    assert none is None
    assert torch.equal(quiet[1], layer.out_proj.bias)
    assert loud[1].isnan().all()
    assert torch.allclose(quiet[::2], loud[::2])


def test_tangents_see_the_floor_under_a_variance_and_gradients_do_not():
    x, var = torch.zeros(2), torch.tensor([0.1, 2.0])

    def loss(v):
        return F.gaussian_nll_loss(x, x + 1, v, eps=0.5, reduction="none")

    _, along = torch.func.jvp(loss, (var,), (torch.ones(2),))
    assert along.tolist() == [0.0, 0.125]
    assert torch.func.grad(lambda v: loss(v).sum())(var).tolist() == [-1.0, 0.125]


def test_the_mean_of_no_rows_of_probabilities_is_nan():
    nothing = torch.zeros(0, 3)
    assert F.cross_entropy(nothing, nothing).isnan()


@pytest.mark.filterwarnings("ignore:size_average")
@pytest.mark.parametrize(("old", "wanted"), [(0, "sum"), (1, "mean"), (False, "sum")])
def test_the_older_arguments_count_by_their_truth(old, wanted):
    x = torch.tensor([1.0, 2.0])
    assert F.mse_loss(x, x + 1, size_average=old) == F.mse_loss(x, x + 1, reduction=wanted)


def test_a_bag_takes_its_arguments_in_the_older_order_with_a_warning():
    table = torch.arange(6.0).reshape(3, 2)
    with pytest.warns(UserWarning, match="Argument order"):
        found = F.embedding_bag(table, torch.tensor([[0, 2]]), mode="sum")
    assert found.tolist() == [[4.0, 6.0]]
