"""Minima found by every method, and what is said where none is found."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.ops.errors import Fault
from gradcli.optim.minimize import METHODS, minimize
from tests.support.families import family


def leaf(*values):
    return gradcli.tensor(list(values), dtype=gradcli.float64, requires_grad=True)


def test_rosenbrock():
    x = leaf(-1.2, 1.0)
    found = minimize(lambda: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, [x])
    assert found.converged and found.gradient <= 1e-8
    assert np.allclose(x.tolist(), [1, 1], rtol=0, atol=1e-8)
    assert found.steps <= 60 and found.evaluations <= 150


@family("method", METHODS)
def test_every_method_finds_the_bottom_of_a_bowl(method):
    x, y = leaf(3.0, -1.0), leaf(0.5)
    rate = {
        "adadelta": 1.0, "adagrad": 0.5, "adamw": 0.3, "sgd": 0.1, "lbfgs": 1.0, "rprop": 0.1
    }.get(method, 0.05)  # fmt: skip

    def bowl():
        return ((x - gradcli.tensor([1.0, 2.0], dtype=gradcli.float64)) ** 2).sum() + (y * y).sum()

    # AdamW pulls towards 0 until the squares of its gradients are small: no tighter in few steps.
    found = minimize(bowl, [x, y], method, lr=rate, steps=2_000, tolerance=1e-2)
    assert found.converged and "converged after" in found.said, found.said
    assert np.allclose([*x.tolist(), *y.tolist()], [1, 2, 0], rtol=0, atol=6e-3)


@family("seed", range(5))
def test_least_squares(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(8, 3)), rng.normal(size=8)
    x = leaf(0.0, 0.0, 0.0)
    left, right = gradcli.from_numpy(a), gradcli.from_numpy(b)
    found = minimize(lambda: ((left @ x - right) ** 2).sum(), [x])
    assert found.converged
    assert np.allclose(x.tolist(), np.linalg.lstsq(a, b, rcond=None)[0], atol=1e-7)


@family(
    "function, start, place",
    [
        (lambda x: x - x.log(), 50.0, 1.0),  # the value goes flat before the gradient does
        (lambda x: x - x.log(), 0.01, 1.0),  # a long step leaves the domain
        (lambda x: x.cosh() + 1e6, 5.0, 0.0),
        (lambda x: (x - 3) ** 4, 0.0, 3.0),
        (lambda x: -(-(x**2)).exp(), 1.5, 0.0),
    ],
)
def test_minima_of_one_variable(function, start, place):
    x = leaf(start)
    found = minimize(lambda: function(x).sum(), [x])
    assert found.converged, found.said
    assert abs(x.item() - place) < 1e-2


def test_a_step_is_reported_with_its_number():
    x, seen = leaf(4.0), []
    found = minimize(lambda: (x**2).sum(), [x], each=lambda *line: seen.append(line))
    assert seen[0] == (0, 16.0, 8.0)
    assert [line[0] for line in seen] == list(range(found.steps + 1))
    assert seen[-1][1:] == (found.value, found.gradient)


@family(
    "function, start, said",
    [
        (lambda x: x.abs(), 3.3, "no smaller value is near"),
        (lambda x: x.sqrt(), 4.0, "no smaller value is near"),
    ],
)
def test_what_has_no_smooth_minimum_is_not_called_converged(function, start, said):
    x = leaf(start)
    found = minimize(lambda: function(x - 0.1).sum(), [x], steps=200)
    assert not found.converged and said in found.said
    assert np.isfinite(found.value) and found.value < start


def test_a_value_without_a_lower_bound():
    x = leaf(3.0)
    with pytest.raises(Fault, match="falls to -inf"):
        minimize(lambda: -(x**4).sum(), [x])
    y = leaf(3.0)
    with pytest.raises(Fault, match="without end"):
        minimize(lambda: y.sum(), [y])


@family(
    "change, code",
    [
        ({"method": "newton"}, "E0304"),
        ({"tolerance": 0.0}, "E0304"),
        ({"steps": 0}, "E0304"),
        ({"method": "sgd", "lr": -1.0}, "E0304"),
        ({"method": "sgd", "lr": 5.0}, "E0501"),
    ],
)
def test_arguments_out_of_range(change, code):
    x = leaf(3.0)
    with pytest.raises(Fault) as caught:
        minimize(lambda: (x**2).sum(), [x], **change)
    assert caught.value.code == code
