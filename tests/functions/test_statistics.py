"""Order statistics and running extremes at their edges: no entries, no dimensions, NaN, ties."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli as torch
from gradcli import func
from gradcli.ops.memory_budget import set_budget
from tests.support.families import family

nan = float("nan")


def test_running_extremes_of_nothing_and_of_one_number():
    values, indices = torch.cummax(torch.zeros(0, 3), 1)
    assert values.shape == indices.shape == (0, 3)
    values, indices = torch.tensor(3.0).cummin(0)
    assert (values.item(), indices.item()) == (3, 0)


def test_a_nan_stays_the_extreme_until_the_next():
    x = torch.tensor([1.0, nan, 5.0, nan, 2.0])
    assert torch.cummax(x, 0).indices.tolist() == [0, 1, 1, 3, 3]
    assert torch.cummin(x, 0).indices.tolist() == [0, 1, 1, 3, 3]


def test_of_equal_entries_the_last_one_has_the_gradient():
    x = torch.tensor([2.0, 2.0, 1.0], requires_grad=True)
    torch.cummax(x, 0).values.sum().backward()
    assert x.grad.tolist() == [1, 2, 0]


def test_a_long_running_maximum_is_that_of_numpy():
    x = np.random.default_rng(0).normal(size=(3, 257, 2))
    got = torch.cummax(torch.tensor(x), 1).values.numpy()
    np.testing.assert_array_equal(got, np.maximum.accumulate(x, 1))


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_quantiles_are_numpys(how, dim, keepdim):
    x = np.random.default_rng(1).normal(size=(3, 4, 5))
    q = np.array([0.0, 0.3, 0.65, 1.0])
    got = torch.quantile(torch.tensor(x), torch.tensor(q), dim, keepdim, interpolation=how)
    np.testing.assert_allclose(got.numpy(), np.quantile(x, q, dim, keepdims=keepdim, method=how))


def test_quantiles_of_what_holds_nan():
    x = torch.tensor([[1.0, nan, 3.0], [4.0, 5.0, 7.0]])
    assert str(torch.quantile(x, 0.5, dim=1).tolist()) == "[nan, 5.0]"
    assert torch.nanquantile(x, 0.5, dim=1).tolist() == [2.0, 5.0]
    assert torch.nanmedian(x).item() == 4.0 and torch.nanmedian(x, 1).values.tolist() == [1, 5]
    assert torch.nanmean(x, 1).tolist()[0] == 2.0
    none = torch.full((1, 3), nan, requires_grad=True)
    for function, slope in ((torch.nanquantile, [1, 0, 0]), (torch.quantile, [0, 0, 1])):
        assert torch.autograd.grad(function(none, 0.3, 1), none)[0].tolist() == [slope]


def test_wrong_quantiles():
    x = torch.ones(3)
    for call, words in (
        (lambda: torch.quantile(x, 1.5), "must be in the range"),
        (lambda: torch.quantile(x, 0.5, interpolation="best"), "interpolation must be one of"),
        (lambda: torch.quantile(torch.zeros(0), 0.5), "must be non-empty"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()


def test_the_median_of_nothing_has_no_slope():
    for function in (torch.median, torch.nanmedian):
        value, slope = func.jvp(function, (torch.zeros(0),), (torch.ones(0),))
        assert value.isnan() and slope == 0


def test_mode_takes_the_smallest_of_the_most_frequent_and_its_last_place():
    found = torch.mode(torch.tensor([[3, 1, 1, 3, 2], [5, 5, 4, 0, 5]]))
    assert found.values.tolist() == [1, 5] and found.indices.tolist() == [2, 4]


def test_data_dependent_functions_in_a_batch():
    x = torch.tensor([[3.0, 1.0, 2.0], [4.0, 4.0, 6.0]])
    assert func.vmap(torch.median)(x).tolist() == [2, 4]
    assert func.vmap(lambda r: torch.quantile(r, 0.5))(x).tolist() == [2, 4]
    assert func.vmap(func.grad(torch.median))(x).tolist() == [[0, 0, 1], [0.5, 0.5, 0]]


def test_searching():
    edges = torch.tensor([1.0, 3.0, 5.0])
    values = torch.tensor([[0.0, 1.0], [3.0, 9.0]])
    assert torch.searchsorted(edges, values).tolist() == [[0, 0], [1, 3]]
    assert torch.bucketize(values, edges, right=True).tolist() == [[0, 1], [2, 3]]
    rows = torch.stack([edges, edges + 1])
    assert torch.searchsorted(rows, values).tolist() == [[0, 0], [1, 3]]
    with pytest.raises(RuntimeError, match="first N-1 dimensions"):
        torch.searchsorted(rows, torch.ones(3, 1))
    nans = torch.tensor([1.0, nan, nan])  # each is below what it is compared with
    assert torch.searchsorted(nans, torch.tensor([3.0, 0.0])).tolist() == [3, 3]
    assert torch.bucketize(torch.tensor([nan, 2.0, 1.0]), nans[:2], right=True).tolist() == [2] * 3


def test_running_logsumexp_of_infinities_has_pytorchs_slopes():
    inf = float("inf")
    for entries, slopes in (
        ([-inf, 1.0, -inf, 2.0], [nan, 2.2689, 0.0, 0.7311]),
        ([1.0, inf, 2.0], [1.0, nan, 0.0]),
        ([-800.0, 800.0, 800.0, -800.0], [1.0, 2.0, 1.0, 0.0]),
    ):
        x = torch.tensor(entries, requires_grad=True)
        x.logcumsumexp(0).sum().backward()
        wanted = torch.tensor(slopes)
        assert torch.allclose(x.grad, wanted, atol=2e-4, equal_nan=True)
        forward = torch.func.jacfwd(lambda x: x.logcumsumexp(0))(x.detach()).sum(0)
        assert torch.allclose(forward, wanted, atol=2e-4, equal_nan=True)


def test_running_products_of_a_long_line_take_memory_of_its_size():
    set_budget(100 << 20)
    try:
        x = torch.full((10**6,), 1.0, dtype=torch.float64, requires_grad=True)
        x.cumprod(0).sum().backward()
        assert x.grad[0] == 10**6 and x.grad[-1] == 1
        x.grad = None
        x.logcumsumexp(0)[-1].backward()
        assert abs(x.grad[7] * 10**6 - 1) < 1e-3
    finally:
        set_budget(None)


def test_a_quantile_has_its_slope_by_q():
    x = torch.tensor([[1.0, 3.0, 2.0, 7.0], [0.0, 5.0, 1.0, 2.0]], dtype=torch.float64)
    q = torch.tensor([0.2, 0.55], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda q: torch.quantile(x, q, dim=1), q)
    slopes = func.vmap(func.grad(lambda q: torch.quantile(x[0], q)))(q.detach())
    assert torch.allclose(slopes, torch.full_like(slopes, 3.0))


@pytest.mark.parametrize("part", [0.0, 1j])
def test_correlations_are_between_minus_one_and_one(part):
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = torch.tensor(rng.standard_normal((3, 4)) + part * rng.standard_normal((3, 4)))
        found = torch.corrcoef(x)
        assert float(found.real.abs().max()) <= 1
        np.testing.assert_allclose(found.numpy(), np.corrcoef(x.numpy()), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_one_weighted_observation_is_its_own_mean():
    x = torch.tensor([[1.5], [2.5]])
    for weight in (3.4186606407165527, 0.1, 7.3):
        said = {"aweights": torch.tensor([weight])}
        assert torch.cov(x, correction=0, **said).tolist() == [[0, 0], [0, 0]]
        assert torch.cov(x, **said).isnan().all()
    with pytest.raises(RuntimeError, match="weights sum to zero"):
        torch.cov(x, fweights=torch.tensor([0]))


def test_ranks_and_bins_are_those_of_the_entries_own_dtype():
    """0.1 of float32 times 10 is 1 there; in float64 it lies just above."""
    x = torch.arange(11.0) ** 2
    tenth = torch.tensor([0.1])
    for how, wanted in (("lower", 1.0), ("higher", 1.0), ("nearest", 1.0), ("linear", 1.0)):
        assert torch.quantile(x, tenth, interpolation=how).item() == wanted
    assert torch.quantile(torch.arange(6.0), tenth, interpolation="nearest").item() == 0.0
    entries = torch.tensor([-0.9, -0.6, -0.3, 0.3, 0.6, 0.9])
    assert torch.histc(entries, 10, -1.0, 1.0).tolist() == [1, 1, 0, 1, 0, 0, 1, 0, 1, 1]
    most = torch.finfo(torch.float32).max
    for x, place in ((most, 3), (-most, 0), (1e8, 2), (-1e20, 2), (5.0, 2)):
        assert torch.histc(torch.full((3,), x), 4).tolist() == [
            3.0 * (d == place) for d in range(4)
        ]
    with pytest.raises(RuntimeError, match="float without overflow"):
        torch.histc(entries, 4, -1e39, 1e39)


@family("spread", [torch.var, torch.std, torch.var_mean, torch.std_mean])
def test_too_few_entries_are_warned_of(spread):
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        spread(torch.ones(2, 3), dim=1, correction=3)


def test_rows_that_are_not_contiguous_are_warned_of():
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="not contiguous"):
            torch.searchsorted(torch.ones(3, 3).t(), torch.ones(3, 1))
    finally:
        torch.set_warn_always(False)


def test_a_part_of_a_long_order_is_that_of_a_stable_sort():
    rng = np.random.default_rng(0)
    for levels, missing in (5, 0), (5, 0.3), (10**6, 0.001):
        a = rng.integers(-levels, levels, (2, 1500)).astype(float)
        a[rng.random(a.shape) < missing] = np.nan
        x = torch.tensor(a)
        for k in 1, 3, 700, 1500:
            for most in False, True:
                order = torch.argsort(x, 1, most)
                assert torch.equal(torch.topk(x, k, 1, most).indices, order[:, :k])
            indices = torch.kthvalue(x.T, k, 0).indices
            assert torch.equal(indices, torch.argsort(x, 1)[:, k - 1])


def test_the_spread_over_no_named_dimension_is_that_of_all():
    x = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    for spread in (torch.var, torch.std):
        for dim in ((), []):
            assert torch.autograd.gradcheck(lambda x, f=spread, d=dim: f(x, d), x)
    for both in (torch.var_mean, torch.std_mean):
        assert torch.autograd.gradcheck(lambda x, f=both: f(x, ()), x)
