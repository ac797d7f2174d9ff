"""Halves: functions that compute in single precision, as PyTorch's kernels, round once."""

from __future__ import annotations

import pytest

import gradcli as torch
from gradcli.nn import functional as F
from tests.support.families import family

TAKES = torch.tensor([[0, 1, 2, 3, 0, 1], [3, 3, 2, 2, 1, 0]])
CASES = {
    "softmax": (lambda x: torch.softmax(x, -1), (4, 6)),
    "log_softmax": (lambda x: torch.log_softmax(x, 0), (4, 6)),
    "linear": (F.linear, (2, 4, 6), (5, 6), (5,)),
    "a product of a batch": (torch.matmul, (3, 4, 6), (6, 5)),
    "bilinear": (F.bilinear, (4, 3), (4, 5), (2, 3, 5), (2,)),
    "conv1d": (F.conv1d, (2, 3, 8), (4, 3, 3), (4,)),
    "conv2d of one image": (
        lambda x, w: F.conv2d(x, w, padding=1, groups=2), (4, 5, 5), (4, 2, 3, 3)
    ),
    "conv_transpose1d": (F.conv_transpose1d, (2, 3, 8), (3, 2, 3), (2,)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), (2, 3, 7, 9)),
    "interpolate": (lambda x: F.interpolate(x, (7, 5), mode="bilinear"), (1, 2, 4, 3)),
    "embedding_bag": (
        lambda w, p: F.embedding_bag(TAKES, w, per_sample_weights=p, mode="sum"), (4, 5), (2, 6)
    ),
    "hardsigmoid": (F.hardsigmoid, (30,)),
    "hardswish": (F.hardswish, (30,)),
    "cosine_similarity": (F.cosine_similarity, (5, 6), (5, 6)),
    "dist": (torch.dist, (6,), (6,)),
}  # fmt: skip


@family("function, shapes", [(f, shapes) for f, *shapes in CASES.values()])
def test_values_and_gradients_are_those_of_single_precision_rounded_once(function, shapes):
    torch.manual_seed(0)
    halves = [(2 * torch.randn(shape)).half() for shape in shapes]
    found = []
    for dtype in (torch.float16, torch.float32):
        given = [h.to(dtype).requires_grad_() for h in halves]
        out = function(*given)
        weights = torch.linspace(-1, 1, out.numel()).reshape(out.shape).half().to(dtype)
        found.append((out, *torch.autograd.grad(out, given, weights)))
    for of_halves, of_singles in zip(*found, strict=True):
        assert of_halves.dtype is torch.float16
        wide = of_singles.half().float()
        step = 2.0 ** (wide.abs().max().log2().floor() - 10)  # softmax's slope reads its halves
        assert (of_halves.float() - wide).abs().max() <= step


def test_a_long_bag_of_halves_is_summed_whole():
    table = torch.ones(3, 2, dtype=torch.float16)
    assert F.embedding_bag(torch.zeros(1, 5000, dtype=torch.int64), table, mode="sum")[0, 0] == 5000


def test_halves_without_dimensions_meet_the_weight_of_lerp():
    half, single = torch.tensor(1.0).half(), torch.tensor(0.3)
    assert torch.lerp(half, half * 0, single).dtype is torch.float32
    assert torch.lerp(half[None], half * 0, single).dtype is torch.float16


def test_a_step_between_large_halves_does_not_overflow_in_transforms():
    x = torch.tensor([65504.0], dtype=torch.float16)
    step = lambda x: torch.lerp(x, -x, 0.25)  # noqa: E731
    values = step(x), torch.vmap(step)(x), *torch.func.jvp(step, (x,), (x,))
    assert [v.item() for v in values] == [32752] * 4


def test_halves_have_no_complex_view():
    with pytest.raises(RuntimeError, match="no complex numbers of halves"):
        torch.view_as_complex(torch.ones(2, 2, dtype=torch.float16))
