"""Fractional pooling: which dimension each drawn number places windows along."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.nn import functional as F

# PyTorch 2.13.0: the largest entries of windows of 2 at these numbers.
PLANE = {
    (0.9, 0.2): [8, 10, 13, 15, 17, 20, 22, 24, 27, 36, 38, 41],
    (0.2, 0.9): [8, 11, 13, 15, 18, 20, 22, 25, 27, 36, 39, 41],
}
SOLID = {
    (0.9, 0.2, 0.5): [131, 134, 136, 139, 201, 204, 206, 209, 271, 274, 276, 279, 411, 414, 416,
                      419],
    (0.5, 0.2, 0.9): [131, 134, 136, 139, 271, 274, 276, 279, 341, 344, 346, 349, 411, 414, 416,
                      419],
}  # fmt: skip


@pytest.mark.parametrize(
    ("pool", "shape", "size", "wanted"),
    [
        (F.fractional_max_pool2d, (1, 1, 6, 7), (4, 3), PLANE),
        (F.fractional_max_pool3d, (1, 1, 6, 7, 10), (4, 1, 4), SOLID),
    ],
)
def test_places_are_pytorchs(pool, shape, size, wanted):
    count = gradcli.zeros(shape).numel()
    x = gradcli.arange(float(count)).reshape(shape)
    for drawn, largest in wanted.items():
        found = pool(x, 2, output_size=size, _random_samples=gradcli.tensor([[drawn]]))
        assert found.flatten().tolist() == largest


def test_one_size_in_a_tuple_is_not_the_size_of_each_side():
    x = gradcli.ones(1, 1, 4, 4)
    for sizes in ({"kernel_size": (), "output_size": 2}, {"kernel_size": 2, "output_size": (1,)}):
        with pytest.raises(RuntimeError, match="must either be a single Int or tuple of Ints"):
            F.fractional_max_pool2d(x, **sizes)


def test_places_of_halves_are_reckoned_in_halves():
    x = gradcli.arange(100.0).half().reshape(1, 1, 1, 100)
    drawn = gradcli.tensor([[[0.2, 0.5]]]).half()
    found = F.fractional_max_pool2d(x, (1, 2), output_size=(1, 30), _random_samples=drawn)
    assert found[0, 0, 0, 13:16].tolist() == [45.0, 49.0, 52.0]  # in float32 48


def test_the_places_come_whatever_is_said_of_them():
    x = gradcli.arange(8.0).reshape(1, 1, 8)
    for given in ((2,), (2, 2, 0, 1, False, False), (2, 2, 0, 1, False, True)):
        values, places = F.max_pool1d_with_indices(x, *given)
        assert values.tolist() == places.tolist() == [[[1, 3, 5, 7]]]


def test_many_windows_that_give_one_entry_each_way():
    gradcli.manual_seed(0)
    x = gradcli.randn(100, 90, 3, 3, requires_grad=True)
    wanted = x.detach()[..., :2, :2].amax((2, 3), keepdim=True)
    for pool in (F.max_pool2d, F.adaptive_max_pool2d):
        seen = x if pool is F.max_pool2d else x[..., :2, :2]
        found, places = pool(seen, *((2, 2) if seen is x else (1,)), return_indices=True)
        assert found.equal(wanted)
        assert seen.flatten(2).gather(2, places.flatten(2)).equal(wanted.flatten(2))
        (slope,) = gradcli.autograd.grad(found.sum(), x)
        assert slope.equal((x.detach() == wanted).to(slope.dtype))
