"""Losses where probabilities end, and those whose reduction is a number."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gradcli as torch
from gradcli.nn import functional as F
from tests.support.families import family


@family("p, y, slope", [(0.0, 1.0, -1e12), (1.0, 0.0, 1e12), (1.0, 1.0, 0.0), (0.5, 1.0, -2.0)])
def test_the_cross_entropy_of_certain_probabilities_has_pytorchs_slope(p, y, slope):
    x = torch.tensor([p], dtype=torch.float64)

    def loss(x):
        return F.binary_cross_entropy(x, torch.full_like(x, y))

    slope = pytest.approx(slope, rel=1e-8)
    assert torch.func.grad(loss)(x).item() == slope
    assert torch.func.jvp(loss, (x,), (torch.ones_like(x),))[1].item() == slope
    assert torch.func.vmap(torch.func.grad(loss))(x[:, None]).item() == slope


NEGATIVE = torch.tensor([1.0, -0.5])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("p", "y", "curvature"),  # (1 - y)/(1 - p)**2 + y/p**2, and as PyTorch where 1e-12 steps in
    [
        (1e-6, 0.0, (1 - 1e-6) ** -2),
        (1e-10, 0.0, (1 - 1e-10) ** -2),
        (0.3, 0.3, 1 / 0.21),
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 0),
    ],
)
def test_the_cross_entropy_of_small_probabilities_has_its_curvature(p, y, curvature, dtype):
    def loss(x):
        return F.binary_cross_entropy(x, torch.full_like(x, y))

    found = torch.func.grad(torch.func.grad(loss))(torch.tensor(p, dtype=dtype))
    assert found.item() == pytest.approx(curvature, rel=16 * torch.finfo(dtype).eps)


def test_a_wider_weight_leaves_the_dtype_of_cross_entropy():
    x = torch.tensor([0.25, 0.5], requires_grad=True)
    loss = F.binary_cross_entropy(x, torch.ones(2), torch.tensor([1.0, 2.0], dtype=torch.float64))
    assert loss.dtype is torch.float32
    assert loss.item() == pytest.approx(np.log(4))
    assert torch.autograd.grad(loss, x)[0].tolist() == [-2.0, -2.0]


def test_a_blank_among_the_labels_of_ctc_is_a_label():
    scores = (torch.arange(12.0, dtype=torch.float64) * 7 % 5).reshape(4, 1, 3).log_softmax(-1)
    for labels, loss in (  # PyTorch 2.13
        ([1, 0], 2.2867001680215537),
        ([0, 1], 4.351178750087637),
        ([1, 0, 2], 5.285560796741394),
    ):
        sizes = torch.tensor([4]), torch.tensor([len(labels)])
        found = F.ctc_loss(scores, torch.tensor([labels]), *sizes, reduction="sum")
        assert found.item() == pytest.approx(loss, rel=1e-12)


def _spelled(path: tuple[int, ...], blank: int) -> list[int]:
    """The labels that one class a step stands for: repeats once, blanks not at all."""
    return [c for i, c in enumerate(path) if c != blank and (not i or path[i - 1] != c)]


@pytest.mark.parametrize("seed", range(12))
def test_ctc_is_the_sum_over_all_paths_that_spell_the_labels(seed):
    draw = np.random.default_rng(seed)
    classes, steps, blank = 3, 3, int(draw.integers(3))
    names = [c for c in range(classes) if c != blank]
    # No step and no label, no step and labels, and what is drawn.
    lengths = [0, 0, *draw.integers(0, steps + 1, 2).tolist()]
    sizes = [0, 2, *draw.integers(0, 3, 2).tolist()]
    if seed % 3 == 0:
        lengths = [0] * 4
    labels = draw.choice(names, (4, 3))
    scores = torch.tensor(draw.normal(size=(steps, 4, classes)), requires_grad=True)
    logs = scores.log_softmax(-1)
    wanted = []
    for n, (length, size) in enumerate(zip(lengths, sizes, strict=True)):
        paths = itertools.product(range(classes), repeat=length)
        said = labels[n, :size].tolist()
        ways = [sum(logs[t, n, c].item() for t, c in enumerate(path))
                for path in paths if _spelled(path, blank) == said]  # fmt: skip
        wanted.append(-np.logaddexp.reduce(ways) if ways else np.inf)
    joined = np.concatenate([row[:size] for row, size in zip(labels, sizes, strict=True)])
    for targets in (torch.tensor(labels), torch.tensor(joined)):
        given = targets, torch.tensor(lengths), torch.tensor(sizes), blank
        found = F.ctc_loss(logs, *given, reduction="none")
        np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-9)
        total = F.ctc_loss(logs, *given, reduction="sum", zero_infinity=True)
        assert total.item() == pytest.approx(sum(w for w in wanted if w < np.inf), rel=1e-9)
        assert torch.autograd.gradcheck(
            lambda x: F.ctc_loss(x.log_softmax(-1), *given, zero_infinity=True),  # noqa: B023
            (scores,),
        )


OUTSIDE = {
    "between 0 and 1": lambda x: F.binary_cross_entropy(x, x.detach() * 0),
    "var has negative": lambda x: F.gaussian_nll_loss(x, x, x),
}


@family("words, loss", OUTSIDE.items())
def test_what_is_refused_is_refused_in_every_transform(words, loss):
    calls = (
        loss, torch.vmap(loss), torch.func.grad(loss), torch.func.jacfwd(loss),
        torch.func.hessian(loss), torch.vmap(torch.func.grad(loss)),
    )  # fmt: skip
    for call in calls:
        with pytest.raises((RuntimeError, ValueError), match=words):
            call(NEGATIVE)


V, SIGNS = torch.tensor([[1.0, -2.0, 0.5], [0.25, 1.0, 3.0]]), torch.tensor([1.0, -1.0])
LENGTHS = torch.tensor([[1, 2]]), torch.tensor([2]), torch.tensor([2])
NUMBERED = {
    "kl_div": (V, V.exp()), "binary_cross_entropy_with_logits": (V, V.sigmoid()),
    "hinge_embedding_loss": (SIGNS, SIGNS, 0.5),
    "margin_ranking_loss": (V[:, 0], V[:, 1], SIGNS, 0.5),
    "cosine_embedding_loss": (V, V.flip(0), SIGNS, 0.1),
    "triplet_margin_loss": (V, V.flip(0), V.flip(1), 2.0, 2.0, 1e-6, True),
    "ctc_loss": (V[:, None].log_softmax(-1), *LENGTHS, 0),
}  # fmt: skip


@family("name, args", NUMBERED.items())
def test_losses_of_torch_itself_are_reduced_by_number_and_not_by_default(name, args):
    number, words = getattr(torch, name), getattr(F, name)
    wanted = [words(*args, reduction=word) for word in ("none", "mean", "sum")]
    assert torch.equal(number(*args), wanted[0])
    if name not in ("kl_div", "binary_cross_entropy_with_logits"):
        found = [number(*args, i) for i in range(3)]
    else:
        found = [number(*args, reduction=i) for i in range(3)]
    assert all(map(torch.equal, found, wanted))


def test_torchs_poisson_loss_has_no_defaults():
    found = torch.poisson_nll_loss(V, V, True, False, 1e-8, 2)
    assert torch.equal(found, F.poisson_nll_loss(V, V, reduction="sum"))
    with pytest.raises(TypeError, match="missing"):
        torch.poisson_nll_loss(V, V)


def test_operands_of_one_size_decide_the_dtype():
    row, number = torch.ones(2), torch.tensor(0.5, dtype=torch.float64)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss):
        with pytest.warns(UserWarning, match="different to the input size"):
            assert loss(row, number).dtype is loss(number, row.half()).dtype is torch.float64
    whole = torch.tensor([1, 2])
    found = F.hinge_embedding_loss(whole, whole * 0 - 1, margin=3.9, reduction="none")
    assert found.dtype is torch.int64 and found.tolist() == [2, 1]
    halves = F.multilabel_soft_margin_loss(row[None].half(), torch.tensor([[1, 0]]))
    assert halves.dtype is torch.float16
    table = torch.ones(2, 2, dtype=torch.int32)
    assert torch.inner(table, table).dtype is torch.int32


def test_the_weighted_mean_of_huber_counts_entries_and_that_of_others_weights():
    x, y, w = (torch.tensor(v) for v in ([1.0, 5.0, -2.0], [0.0, 1.0, 3.0], [0.5, 1.0, 2.0]))
    assert F.huber_loss(x, y, weight=w).item() == pytest.approx((0.25 + 3.5 + 9.0) / 3)
    assert F.l1_loss(x, y, weight=w).item() == pytest.approx((0.5 + 4.0 + 10.0) / 3.5)


def test_a_variance_for_all_is_no_whole_number_where_the_means_are():
    x, y = torch.tensor([1, -2, 3]), torch.tensor([0.5, 0.2, 0.3])
    wanted = F.gaussian_nll_loss(x, y, torch.full((3,), 0.5))
    assert F.gaussian_nll_loss(x, y, 0.5).item() == wanted.item() == pytest.approx(3.780093)


def test_a_mean_over_no_classes_is_no_number():
    for shape in ((5, 0), (5, 0, 3), (0,)):
        assert F.cross_entropy(torch.rand(shape), torch.rand(shape)).isnan()
        assert F.cross_entropy(torch.rand(shape), torch.rand(shape), reduction="sum") == 0
