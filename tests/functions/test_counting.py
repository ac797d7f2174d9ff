"""Histograms, indices of flat tensors, memory read as tensors, and random whole numbers."""

from __future__ import annotations

import array
from itertools import product

import numpy as np
import pytest

import gradcli
import gradcli as torch
from gradcli.ops.errors import Fault
from tests.support.families import family

POINTS = np.random.default_rng(5).normal(size=(40, 2))


@family("density, weighted", product([False, True], [False, True]))
def test_histograms_are_those_of_numpy(density, weighted):
    weight = np.linspace(0.5, 2.0, 40) if weighted else None
    given = None if weight is None else gradcli.tensor(weight, requires_grad=True)
    for bins, ends in ((5, None), (4, (-1.0, 1.0)), (np.array([-1.0, 0.0, 0.3]), None)):
        wanted = np.histogram(POINTS[:, 0], bins, ends, density, weight)
        asked = bins if isinstance(bins, int) else gradcli.tensor(bins)
        x = gradcli.tensor(POINTS[:, 0].copy())
        found = gradcli.histogram(x, asked, range=ends, weight=given, density=density)
        np.testing.assert_allclose(found.hist.detach().numpy(), wanted[0])
        np.testing.assert_allclose(found.bin_edges.numpy(), wanted[1])
        if weighted and not density:  # each entry of a bin has the slope of its bin
            (slope,) = gradcli.autograd.grad(found.hist @ gradcli.arange(len(wanted[0])).double(),
                                             given)  # fmt: skip
            place = np.searchsorted(wanted[1], POINTS[:, 0], "right") - 1
            inside = (POINTS[:, 0] >= wanted[1][0]) & (POINTS[:, 0] <= wanted[1][-1])
            np.testing.assert_array_equal(
                slope.numpy(), np.where(inside, np.minimum(place, len(wanted[0]) - 1), 0)
            )
    wanted = np.histogramdd(POINTS, [3, 4], [(-1, 1), (-2, 2)], density, weight)
    found = gradcli.histogramdd(
        gradcli.tensor(POINTS), [3, 4], [-1.0, 1.0, -2.0, 2.0], given, density
    )
    np.testing.assert_allclose(found.hist.detach().numpy(), wanted[0])
    for have, edges in zip(found.bin_edges, wanted[1], strict=True):
        np.testing.assert_allclose(have.numpy(), edges)


@family(
    "call, said",
    [
        ("histogram(x, 0)", "bins must be > 0"),
        ("histogram(x, 2, range=(3.0, 1.0))", "min 3 max 1"),
        ("histogram(x, 2, weight=torch.ones(2).double())", "shape"),
        ("histogram(x.long(), 2)", "not implemented for 'Long'"),
        ("histogram(x / 0, 2)", "not finite"),
        ("histogramdd(x, 2)", "at least 2 dimensions"),
        ("histogramdd(x[None], [2])", "size of bins"),
        ("unravel_index(x, (2, 3))", "integer dtype"),
        ("unravel_index(x.long(), (2, -3))", "negative"),
        ("poisson(-x - 1)", "non-negative"),
        ("normal(x, -x - 1)", "all elements of std"),
        ("frombuffer(bytearray(4), dtype=torch.float64)", "multiple of element size"),
        ("frombuffer(bytearray(8), dtype=torch.uint8, offset=8)", "offset"),
        ("frombuffer(bytearray(8), dtype=torch.uint8, count=9)", "not be greater"),
        ("einsum(x, [52])", "valid range"),
        ("ones(2, 3).view(torch.float64)", "self.size(-1) must be divisible by 2"),
        ("ones(4, 3).T.view(torch.float64)", "self.stride(-1) must be 1"),
        ("ones(3, 3)[:, :2].view(torch.float64)", "self.stride(0) must be divisible by 2"),
        ("ones(2, 4)[:, 1:3].view(torch.float64)", "self.storage_offset()"),
        ("tensor(1.0).view(torch.float64)", "self.dim() cannot be 0"),
        ("zeros()", 'missing 1 required positional arguments: "size"'),
        ("normal(0.0, 1.0)", "size"),
        ("device('foo')", "Expected one of cpu"),
        ("device('cpu', -1)", "must not be negative"),
        ("is_nonzero(x)", "more than one value is ambiguous"),
        ("numel(3)", "must be Tensor, not int"),
        ("is_complex(3)", "must be Tensor, not int"),
        ("tensor((l := [1]).append(l) or l)", "self-referential"),
        ("split(x, [1, -1, 3])", "only non-negative entries"),
        ("histogram(x, x.flip(0))", "ascending"),
        (
            "nn.LSTMCell(3, 2)(torch.ones(2, 3), (torch.ones(1, 2), torch.ones(1, 2)))",
            "Input batch size 2 doesn't match hidden0 batch size 1",
        ),
        ("nn.GRUCell(3, 2)(torch.ones(2, 3), torch.ones(2, 1))", "got 1, expected 2"),
        ("nn.Unflatten(1, 3)", "tuple of ints, but found type int"),
        ("nn.functional.embedding(x.long(), torch.ones(5, 2), 7)", "Padding_idx must be within"),
        ("nn.functional.embedding_bag(x.long(), torch.ones(5, 2), x[:1])", "Long, Int"),
        (
            "nn.functional.ctc_loss(torch.ones(5, 2, 4), torch.ones(2, 3).long(), (5, 5), (-1, 3))",
            "at least 0",
        ),
        ("func.jacfwd(lambda x: x, randomness='all')(x)", "Only allowed values for randomness"),
        ("conv_tbc(x, x, x)", "Input must have 3 dims"),
    ],
)
def test_what_is_refused(call, said):
    scope = {"torch": gradcli, "x": gradcli.tensor([0.0, 1.0, 2.0], dtype=gradcli.float64)}
    with pytest.raises(Fault) as fault:
        eval(f"torch.{call}", scope)
    assert said in str(fault.value)


def test_counts_of_no_numbers_are_whole():
    none = gradcli.tensor([], dtype=gradcli.int64)
    found = gradcli.bincount(none, weights=none.double(), minlength=2)
    assert found.dtype is gradcli.int64 and found.tolist() == [0, 0]


def test_indices_of_a_flat_tensor():
    flat = np.array([[0, 5, 11], [1, 7, 23]])
    found = gradcli.unravel_index(gradcli.tensor(flat), (2, 3, 4))
    for have, want in zip(found, np.unravel_index(flat, (2, 3, 4)), strict=True):
        np.testing.assert_array_equal(have.numpy(), want)


def test_places_of_entries_lie_one_behind_the_other():
    x = gradcli.tensor([[0, 1], [1, 1]])
    assert [f.stride() for f in (*x.nonzero(as_tuple=True), *gradcli.where(x > 0))] == [(1,)] * 4


def test_a_common_multiple_of_narrow_numbers_wraps_behind_its_sign():
    for name, pairs in (("int8", {(6, 75): -106, (-6, 9): 18}), ("int16", {(300, 175): 2100})):
        for pair, want in pairs.items():
            x, y = gradcli.tensor(pair, dtype=getattr(gradcli, name))
            assert gradcli.lcm(x, y).item() == want


def test_memory_is_shared_or_copied():
    numbers = array.array("d", [1.0, 2.0, 3.0])
    x = gradcli.frombuffer(numbers, dtype=gradcli.float64, count=2, offset=8)
    x[0] = 5.0
    assert numbers.tolist() == [1.0, 5.0, 3.0]
    with pytest.warns(UserWarning, match="not writable"):
        copied = gradcli.frombuffer(b"\x01\x02", dtype=gradcli.uint8)
    assert copied.add_(1).tolist() == [2, 3]


def test_bits_read_as_another_type_share_the_memory():
    x = gradcli.tensor([1.0, -2.0], dtype=gradcli.float64)
    bits = x.view(gradcli.int64)
    np.testing.assert_array_equal(bits.numpy(), np.array([1.0, -2.0]).view(np.int64))
    bits[0] = bits[1]
    assert x.tolist() == [-2.0, -2.0]
    assert x.view(dtype=gradcli.complex128).tolist() == [-2 - 2j]
    before = x.exp()
    x.requires_grad_()
    assert not x.view(gradcli.int32).requires_grad and not before.requires_grad


def test_what_einsum_sums_of_one_operand_is_an_int64():
    """PyTorch 2.13 sums it first, and so does not leave the small type."""
    x, y = gradcli.tensor([100, 100, 100]), gradcli.tensor([1, 2])
    for dtype in (gradcli.uint8, gradcli.int16, gradcli.int32):
        found = gradcli.einsum("i,j->j", x.to(dtype), y.to(dtype))
        assert (found.tolist(), found.dtype) == ([300, 600], gradcli.int64)
        assert gradcli.einsum("i,j->ij", x.to(dtype), y.to(dtype)).dtype == dtype
        found = gradcli.einsum("ii,j", x.to(dtype).diag(), y.to(dtype))
        assert (found.tolist(), found.dtype) == ([300, 600], gradcli.int64)


def test_einsum_by_numbers():
    A, B = gradcli.tensor(POINTS), gradcli.tensor(POINTS[:2])
    for found, want in (
        (gradcli.einsum(A, [0, 1], B, [1, 2], [2, 0]), "ij,jk->ki"),
        (gradcli.einsum(A, [0, 1], B, [1, 2]), "ij,jk"),
        (gradcli.einsum(A, [Ellipsis, 30], B, [30, 2], [Ellipsis, 2]), "...j,jk->...k"),
    ):
        np.testing.assert_allclose(found.numpy(), np.einsum(want, POINTS, POINTS[:2]))


def test_random_numbers_are_pytorchs_and_their_derivative_is_zero():
    assert gradcli.bernoulli(gradcli.zeros(0, 3)).shape == (0, 3)
    gradcli.manual_seed(0)
    rates = gradcli.tensor([0.0, 0.3, 4.0, 20.0, 500.0, 9.9], requires_grad=True)
    drawn = gradcli.poisson(rates)
    assert drawn.tolist() == POISSON
    assert gradcli.rand(1).item() == pytest.approx(AFTER)
    for out in (drawn, gradcli.bernoulli(rates / 500), gradcli.normal(rates, 1.0),
                gradcli.normal(0.0, rates), gradcli.normal(rates, rates)):  # fmt: skip
        (slope,) = gradcli.autograd.grad(out.sum(), rates)
        assert not slope.any()


POISSON, AFTER = [0.0, 1.0, 5.0, 21.0, 497.0, 10.0], 0.815468966960907
"""PyTorch 2.13.0: torch.manual_seed(0), torch.poisson of these rates, torch.rand(1)."""


def test_bins_that_the_numbers_decide_have_no_derivative():
    x = torch.tensor([[1.0], [2.0], [4.0]], requires_grad=True)
    edges = torch.histogramdd(x, [2]).bin_edges[0]
    density = torch.histogram(x, 2, density=True).hist
    for made in (edges, density):
        with pytest.raises(RuntimeError, match="histogram is not implemented"):
            made.sum().backward()
    with pytest.raises(RuntimeError, match="histogram is not implemented"):
        torch.func.jvp(lambda x: torch.histogramdd(x, [2])[1], (x.detach(),), (x.detach(),))


@pytest.mark.parametrize("function, kind, name", (
    (lambda x: torch.geqrf(x)[0], NotImplementedError, "GeqrfBackward0"),
    (lambda x: torch.geqrf(x)[1], NotImplementedError, "GeqrfBackward0"),
    (lambda x: torch.linalg.ldl_factor(x)[0], RuntimeError, "NotImplemented"),
    (lambda x: torch.linalg.ldl_solve(x, torch.tensor([1, 2]), x.detach()), RuntimeError,
     "NotImplemented"),
    (lambda x: torch.linalg.ldl_solve(x.detach(), torch.tensor([1, 2]), x), RuntimeError,
     "NotImplemented"),
))  # fmt: skip
def test_what_has_no_derivative_refuses_when_one_is_asked_for(function, kind, name):
    x = torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    found = function(x)
    assert type(found.grad_fn).__name__ == name and torch.equal(found, function(x.detach()))
    with torch.no_grad():
        assert not function(x).requires_grad
    mapped = torch.func.vmap(lambda x: torch.func.grad(lambda x: function(x).sum())(x))
    for ask in (
        lambda: found.sum().backward(),
        lambda: mapped(torch.stack([x, x]).detach()),
        lambda: torch.func.jvp(function, (x.detach(),), (x.detach(),)),
    ):
        with pytest.raises(kind, match="is not implemented"):
            ask()
