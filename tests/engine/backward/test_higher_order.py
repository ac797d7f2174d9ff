"""Second and third derivatives through everything that keeps the graph, against differences.

Each function takes a vector of four and gives a scalar. Its gradient, the gradient of the gradient
in a direction, and that one's gradient again must be what differences of the order before say.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradcli as torch
from tests.support.families import family

POINT = (0.7, 1.3, -0.4, 0.9)
DIRECTION = (0.3, -0.5, 0.8, 0.2)


class Scaled(torch.autograd.Function):
    """x**2 * exp(y), with a backward made of recorded operations; saves an input and an output."""

    @staticmethod
    def forward(ctx, x, y):
        e = y.exp()
        ctx.save_for_backward(x, y)
        return x * x * e

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return 2 * x * y.exp() * g, x * x * y.exp() * g


class Both(torch.autograd.Function):
    """Two outputs, the second saved as an output."""

    @staticmethod
    def forward(ctx, x):
        s, e = x.sin(), x.exp()
        ctx.save_for_backward(x, e)
        return s, e

    @staticmethod
    def backward(ctx, g, h):
        x, e = ctx.saved_tensors
        return g * x.cos() + h * e


class Doubled(torch.autograd.Function):
    """Writes to its input."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def matrix(x):
    return x.reshape(2, 2)


def spd(x):
    m = matrix(x)
    return m @ m.T + torch.eye(2, dtype=x.dtype)


def views(x):
    m = (x * x).view(2, 2)
    return (m.t()[0] * m[:, 1].exp()).sum() * m.diagonal().prod() + m.expand(3, 2, 2).sum() ** 2


def in_place(x):
    y = x.sin()
    y.mul_(x).add_(x**3)
    y *= 2
    return (y * y).sum()


def through_a_view(x):
    y = x * 1
    y[1:3].mul_(x[:2] ** 2)
    y.view(2, 2)[0] += x[2] * x[3]
    return (y**3).sum()


def index_writes(x):
    y = torch.zeros(6, dtype=x.dtype)
    y[0] = x[0] ** 3
    y[1:5] = x.exp()
    y[torch.tensor([5, 0])] = x[:2] * x[2:]
    y[y > 2.5] = x[3] ** 2
    return (y**2).sum()


def custom(x):
    return (Scaled.apply(x, x.flip(0)) ** 2).sum()


def several_outputs(x):
    s, e = Both.apply(x * x)
    return (s * e * x).sum()


def dirty(x):
    return (Doubled.apply(x**2) ** 2 * x).sum()


def where(x):
    return torch.where(x > 0, x**4, x.exp()).prod() + torch.maximum(x, x.flip(0)).pow(3).sum()


def joined(x):
    c = torch.cat([x[:2] ** 2, x.exp()])
    return torch.stack([c, c * c]).gather(1, torch.tensor([[0, 3, 3], [1, 5, 2]])).pow(2).sum()


def pieces(x):
    a, b = (x**2).split(2)
    c, d = x.exp().unbind(0)[1:3]
    return (a * b).sum() * c + d * torch.chunk(x, 2)[1].prod()


def sorted_(x):
    values, _ = (x**2).sort()
    return (values * x).sum() * x.topk(2).values.prod() + x.max(0).values ** 3 + x.median() ** 2


def reductions(x):
    return (x**2).prod() + x.exp().var() * x.std() + x.norm() ** 3 + x.logsumexp(0) ** 2


def scans(x):
    return (x.cumsum(0) * x.cumprod(0)).sum() + (x.softmax(0) * x.log_softmax(0)).sum()


def along(x):
    m = matrix(x.exp())
    return (m.mean(0) * m.prod(1)).sum() + m.amax(1).pow(3).sum() + m.norm(dim=0).prod()


def products(x):
    m = matrix(x)
    return (m @ m @ x[:2]).dot(x[2:]) + torch.einsum("ij,jk,ki->", m, m, m.exp())


def linear_algebra(x):
    s = spd(x)
    return torch.logdet(s) + torch.linalg.solve(s, x[:2]).pow(2).sum() + torch.linalg.inv(s).sum()


def factors(x):
    low = torch.linalg.cholesky(spd(x))
    return low.pow(2)[1].sum() * low.sum() + torch.linalg.det(matrix(x)) ** 3


def clamps(x):
    return x.clamp(-1, 1).pow(3).sum() + x.relu().pow(4).sum() + x.abs().pow(3).sum()


def powers(x):
    y = x * x + 0.5
    return (y**y).sum() + (2**x * y.sqrt()).prod() + torch.atan2(y, x).pow(2).sum()


def casts(x):
    return ((x * 2).to(torch.float64) ** 3).sum() + (
        x.to(torch.complex128) * (1 + 2j)
    ).exp().real.sum()


def detached(x):
    y = x**3
    with torch.no_grad():
        fixed = y * 2
    return (y * fixed.detach() + y * y).sum()


CONSTRUCTS = [
    views, in_place, through_a_view, index_writes, custom, several_outputs, dirty, where,
    joined, pieces, sorted_, reductions, scans, along, products, linear_algebra, factors,
    clamps, powers, casts,
]  # fmt: skip


def leaf(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def orders(function, point):
    """The gradient, and twice its derivative in DIRECTION, each by backward of the one before."""
    x = leaf(point)
    v = torch.tensor(DIRECTION, dtype=torch.float64)
    (first,) = torch.autograd.grad(function(x), x, create_graph=True)
    (second,) = torch.autograd.grad((first * v).sum(), x, create_graph=True)
    (third,) = torch.autograd.grad((second * v).sum(), x)
    return [t.detach().numpy() for t in (first, second, third)]


@family("function", CONSTRUCTS)
def test_the_first_three_orders_agree_with_differences(function):
    point, v, h = np.array(POINT), np.array(DIRECTION), 1e-5
    found = orders(function, POINT)
    above, below = orders(function, point + h * v), orders(function, point - h * v)
    value = [float(function(leaf(point + s * h * v)).detach()) for s in (1, -1)]
    np.testing.assert_allclose(found[0] @ v, (value[0] - value[1]) / (2 * h), rtol=1e-6, atol=1e-6)
    for order in (0, 1):
        slope = (above[order] - below[order]) / (2 * h)
        size = np.abs(slope).max()
        np.testing.assert_allclose(found[order + 1], slope, rtol=1e-5, atol=1e-6 * (1 + size))


def test_what_is_detached_stays_a_constant_in_every_order():
    x = leaf(POINT)
    (first,) = torch.autograd.grad(detached(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    p = np.array(POINT)
    # y*c + y**2 with y = x**3 and c = 2*x**3 held fixed: 3*x**2*c + 6*x**5
    np.testing.assert_allclose(first.detach().numpy(), 12 * p**5, rtol=1e-12)
    # again with c fixed: 6*x*c + 30*x**4
    np.testing.assert_allclose(second.detach().numpy(), 42 * p**4, rtol=1e-12)


ZEROS = {
    "repeat": lambda x: x.repeat(0, 2),
    "tile": lambda x: torch.tile(x, (0,)),
    "matrix_power": lambda x: torch.linalg.matrix_power(x.reshape(1, 1), 0),
    "copysign": lambda x: torch.copysign(x.detach(), x),
    "nextafter": lambda x: torch.nextafter(x.detach(), x),
}


@family("name", ZEROS)
def test_a_gradient_that_is_always_zero_leads_nowhere(name):
    x = leaf([0.5])
    y = ZEROS[name](x)
    v = torch.ones_like(y).requires_grad_()
    (g,) = torch.autograd.grad(y, x, v, create_graph=True)
    assert g.tolist() == [0.0] and not g.requires_grad


def test_a_product_of_one_entry_has_a_second_derivative():
    x, index = leaf([3.0, 4.0]), torch.tensor([0, 1])
    y = torch.ones(2, dtype=torch.float64)
    for made in (
        y.scatter_reduce(0, index, x, "prod", include_self=False),
        y.index_reduce(0, index, x, "prod", include_self=False),
    ):
        (g,) = torch.autograd.grad(made.sum(), x, create_graph=True)
        assert torch.autograd.grad(g.sum(), x)[0].tolist() == [0.0, 0.0]


def test_a_hook_is_differentiated_too():
    x = leaf([0.5])
    y = x**3
    y.register_hook(lambda g: g * g)
    (first,) = torch.autograd.grad((y * x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    # g = x reaches y, the hook makes it x**2: x**2 * 3*x**2 + x**3, then its derivative
    assert first.item() == pytest.approx(3 * 0.5**4 + 0.5**3)
    assert second.item() == pytest.approx(12 * 0.5**3 + 3 * 0.5**2)
