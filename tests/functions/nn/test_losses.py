"""Losses where probabilities end."""

from __future__ import annotations

import pytest

import gradcli as torch
from gradcli.nn import functional as F
from tests.support.families import family


@pytest.mark.parametrize(
    ("p", "y", "slope"), [(0.0, 1.0, -1e12), (1.0, 0.0, 1e12), (1.0, 1.0, 0.0), (0.5, 1.0, -2.0)]
)
def test_the_cross_entropy_of_certain_probabilities_has_pytorchs_slope(p, y, slope):
    x = torch.tensor([p], dtype=torch.float64)

    def loss(x):
        return F.binary_cross_entropy(x, torch.full_like(x, y))

    slope = pytest.approx(slope, rel=1e-8)
    assert torch.func.grad(loss)(x).item() == slope
    assert torch.func.jvp(loss, (x,), (torch.ones_like(x),))[1].item() == slope
    assert torch.func.vmap(torch.func.grad(loss))(x[:, None]).item() == slope


NEGATIVE = torch.tensor([1.0, -0.5])
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
