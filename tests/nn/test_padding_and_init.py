"""Padding modules against NumPy's pad, and first values of weights by what defines them."""

import math
from itertools import product

import numpy as np
import pytest

import gradcli as g
from gradcli import nn
from tests.support.families import family

MODES = {
    "Zero": "constant", "Reflection": "reflect", "Replication": "edge", "Circular": "wrap",
}  # fmt: skip


@family("dims, kind", product([1, 2, 3], MODES))
def test_padding_is_that_of_numpy(kind, dims):
    x = np.arange(2.0 * 3 * 4**dims).reshape(2, 3, *(4,) * dims)
    made = getattr(nn, f"{kind}Pad{dims}d")
    sides = tuple(range(1, 2 * dims + 1)) if dims == 1 else (1, 2) * dims
    widths = [(0, 0), (0, 0), *zip(sides[::2], sides[1::2], strict=True)][: 2 + dims]
    np.testing.assert_array_equal(
        made(sides)(g.tensor(x)), np.pad(x, [*widths[:2], *widths[:1:-1]], MODES[kind])
    )
    np.testing.assert_array_equal(
        made(2)(g.tensor(x)), np.pad(x, [(0, 0), (0, 0), *[(2, 2)] * dims], MODES[kind])
    )


@family("mode, sides", product(("reflect", "replicate"), ((-4, 0), (-1, -2), (0, 0, -1, -2))))
def test_no_more_is_cut_than_there_is(mode, sides):
    with pytest.raises(RuntimeError, match=r"too small. Calculated output [WH]"):
        nn.functional.pad(g.arange(6.0).view(1, 2, 3), sides, mode)


def test_constant_padding_has_a_value():
    module = nn.ConstantPad2d((1, 0, 0, 2), 3.5)
    assert repr(module) == "ConstantPad2d(padding=(1, 0, 0, 2), value=3.5)"
    expected = np.pad(np.ones((1, 2, 2)), [(0, 0), (0, 2), (1, 0)], constant_values=3.5)
    np.testing.assert_array_equal(module(g.ones(1, 2, 2)), expected)


@family("shape", [(3, 5), (5, 3), (4, 2, 2)])
def test_orthogonal(shape):
    w = nn.init.orthogonal_(g.empty(shape, dtype=g.float64), gain=2.0).reshape(shape[0], -1)
    w = w if w.shape[0] <= w.shape[1] else w.T
    g.testing.assert_close(w @ w.T, 4 * g.eye(w.shape[0], dtype=g.float64))


@pytest.mark.parametrize("a, b", [(-2.0, 2.0), (1.5, 3.0)])
def test_truncated_normal_numbers_have_their_mean(a, b):
    g.manual_seed(0)
    w = nn.init.trunc_normal_(g.empty(20000), 0.0, 1.0, a, b).numpy()
    density = [math.exp(-0.5 * end**2) / math.sqrt(2 * math.pi) for end in (a, b)]
    mass = (math.erf(b / math.sqrt(2)) - math.erf(a / math.sqrt(2))) / 2
    assert a <= w.min() and w.max() <= b
    assert abs(w.mean() - (density[0] - density[1]) / mass) < 0.02


def test_dirac_of_groups_passes_each_group_through():
    x = g.randn(1, 4, 7)
    w = nn.init.dirac_(g.empty(4, 2, 3), 2)
    g.testing.assert_close(nn.functional.conv1d(x, w, padding=1, groups=2), x)


def test_orthogonal_numbers_of_each_element_of_a_batch():
    g.manual_seed(0)
    fill = g.func.vmap(lambda t: g.nn.init.orthogonal_(t.clone()), randomness="different")
    found = fill(g.zeros(2, 2, 2))
    np.testing.assert_allclose(found @ found.mT, g.eye(2).expand(2, 2, 2), atol=1e-6)
    assert not g.equal(found[0], found[1])


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_nothing_is_drawn_for_an_empty_tensor_of_any_type():
    for name in ("kaiming_normal_", "kaiming_uniform_"):
        empty = g.empty(0)
        assert getattr(g.nn.init, name)(empty) is empty and not empty._version
    for name, *args in (("exponential_",), ("normal_",), ("log_normal_",), ("geometric_", 0.5)):
        empty = g.empty(0, dtype=g.bool)
        assert getattr(empty, name)(*args) is empty and empty._version == 1
    with pytest.raises(RuntimeError, match="expects lambda > 0"):
        g.empty(0, dtype=g.int64).exponential_(-1.0)
