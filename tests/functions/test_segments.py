"""Segments reduced, windows of spectra, and answers that hang on a corner of the rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gradcli as torch
from gradcli import func
from tests.support.families import family

DATA = [1.0, 2.0, 3.0, 3.0, 5.0, 0.0, 0.0]
LENGTHS = [2, 0, 4, 1]
SEGMENTS = {
    "sum": [3.0, 0.0, 11.0, 0.0], "mean": [1.5, math.nan, 2.75, 0.0],
    "max": [2.0, -math.inf, 5.0, 0.0], "min": [1.0, math.inf, 0.0, 0.0],
    "prod": [2.0, 1.0, 0.0, 0.0],
}  # fmt: skip
SLOPES = {
    "sum": [1.0] * 7, "mean": [0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 1.0],
    "max": [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0], "min": [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0],
    "prod": [2.0, 1.0, 0.0, 0.0, 0.0, 45.0, 1.0],
}  # fmt: skip


@family("reduce", SEGMENTS)
def test_segments_are_reduced_with_pytorchs_gradients(reduce):
    x = torch.tensor(DATA, dtype=torch.float64, requires_grad=True)
    found = torch.segment_reduce(x, reduce, lengths=torch.tensor(LENGTHS))
    assert np.array_equal(found.detach().numpy(), SEGMENTS[reduce], equal_nan=True)
    again = torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 2, 2, 6, 7]))
    assert torch.equal(torch.nan_to_num(again), torch.nan_to_num(found))
    (slope,) = torch.autograd.grad(found[torch.isfinite(found)].sum(), x)
    assert slope.tolist() == SLOPES[reduce]


def test_nan_is_the_extreme_of_its_segment_and_has_the_gradient():
    x = torch.tensor([math.nan, 2.0, math.nan, 1.0, 3.0], requires_grad=True)
    for reduce, last in (("max", [0.0, 1.0]), ("min", [1.0, 0.0])):
        found = torch.segment_reduce(x, reduce, lengths=torch.tensor([3, 2]))
        (slope,) = torch.autograd.grad(found, x, torch.ones(2))
        assert slope.tolist() == [0.5, 0.0, 0.5, *last]
    begun = torch.segment_reduce(x, "max", lengths=torch.tensor([3, 2]), initial=math.nan)
    (slope,) = torch.autograd.grad(begun, x, torch.ones(2))
    assert begun.isnan().all() and slope.tolist() == [0.5, 0.0, 0.5, 0.0, 0.0]


def test_rows_of_segments_begin_at_a_number():
    x = torch.arange(12.0).reshape(2, 3, 2)
    lengths = torch.tensor([[1, 2], [3, 0]])
    found = torch.segment_reduce(x, "max", lengths=lengths, axis=1, initial=7)
    assert found.tolist() == [[[7, 7], [7, 7]], [[10, 11], [7, 7]]]
    found = torch.segment_reduce(x, "mean", lengths=lengths, axis=1, initial=6)
    assert found.tolist() == [[[6, 7], [6, 7]], [[10, 11], [6, 6]]]
    with pytest.raises(RuntimeError, match="rows of lengths"):
        torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 2]))


def test_windows_of_spectra():
    assert torch.hann_window(4).tolist() == pytest.approx([0, 0.5, 1, 0.5])
    assert torch.hann_window(4, False).tolist() == pytest.approx([0, 0.75, 0.75, 0])
    assert torch.hamming_window(2, True, 0.5, 0.4).tolist() == pytest.approx([0.1, 0.9])
    assert torch.blackman_window(2).tolist() == pytest.approx([0, 1])
    assert torch.bartlett_window(5, False).tolist() == pytest.approx([0, 0.5, 1, 0.5, 0])
    kaiser = torch.kaiser_window(3, False, beta=8.0, dtype=torch.float64)
    assert kaiser.tolist() == pytest.approx([1 / np.i0(8.0), 1, 1 / np.i0(8.0)])
    assert torch.hann_window(1).tolist() == [1]
    assert torch.hann_window(0, requires_grad=True).requires_grad
    for wrong in (lambda: torch.hann_window(-1), lambda: torch.hann_window(3, dtype=torch.int64)):
        with pytest.raises(RuntimeError):
            wrong()


def test_complex_numbers_lose_their_nan_part_by_part():
    x = torch.tensor([complex(math.nan, math.inf), complex(1, math.nan)])
    most = torch.finfo(torch.float32).max
    assert torch.nan_to_num(x, nan=3.0).tolist() == [complex(3, most), complex(1, 3)]


def test_an_empty_list_of_dimensions_asks_each_entry():
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    for ask in (torch.all, torch.any):
        for none in ([], ()):
            assert ask(x, dim=none).tolist() == [[False, True], [True, False]]
    assert torch.aminmax(x, keepdim=True).min.tolist() == [[0.0]]


@family("alpha", (math.inf, math.nan))
def test_what_an_index_does_not_name_keeps_its_value(alpha):
    x, index, more = torch.ones(3), torch.tensor([2, 0]), torch.ones(2)
    assert torch.index_add(x, 0, index, more, alpha=alpha).isfinite().tolist() == [
        False,
        True,
        False,
    ]
    rows = func.vmap(lambda i: torch.index_add(x, 0, i, more, alpha=alpha))(index.view(1, 2))
    assert rows.isfinite().tolist() == [[False, True, False]]


def test_shifts_of_one_dimension_add_up():
    x = torch.arange(6).reshape(2, 3)
    assert torch.roll(x, (1, 1), (1, 1)).tolist() == torch.roll(x, 2, 1).tolist()


def test_whole_quotients_of_truths_and_what_has_no_minus():
    truth, byte = torch.tensor([True, False]), torch.tensor([1, 2], dtype=torch.uint8)
    found = torch.div(truth, byte, rounding_mode="trunc")
    assert found.tolist() == [1, 0] and found.dtype is torch.uint8
    with pytest.raises(RuntimeError, match="Subtraction"):
        torch.sub(truth, byte, alpha=2)


def test_an_einsum_that_changes_nothing_is_a_view():
    x = torch.arange(4.0).reshape(2, 2)
    torch.einsum("ij->ij", x).mul_(2)
    assert x.tolist() == [[0, 2], [4, 6]]


def test_a_number_has_one_window():
    x = torch.tensor(2.0)
    assert x.unfold(0, 1, 1).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="maximum size"):
        x.unfold(0, 2, 1)


def test_so_many_places_of_what_is_not_zero():
    x = torch.tensor([[0, 1], [2, 3]])
    assert torch.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    assert torch.nonzero_static(x, size=4, fill_value=-2).tolist()[3] == [-2, -2]


def test_the_only_function_where_scipy_and_c_differ_in_sign():
    assert torch.lgamma(torch.tensor([-math.inf, math.inf])).tolist() == [math.inf, math.inf]


def test_an_einsum_of_several_types():
    x, y = torch.ones(2), torch.ones(2, dtype=torch.float64)
    assert torch.einsum("i,->i", x, torch.tensor(2.0, dtype=torch.float64)).dtype is torch.float64
    assert torch.einsum("i,j->ij", x, torch.ones(2, dtype=torch.int64)).dtype is torch.float32
    for equation in ("i,i", "i,i->"):
        with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
            torch.einsum(equation, x, y)


def test_parts_of_complex_numbers_are_set_to_numbers():
    z = torch.tensor([1 + 1j, 2])
    z.real, z.imag = 3, torch.tensor([1.0, 5.0])
    assert z.tolist() == [3 + 1j, 3 + 5j]


def test_a_norm_of_order_nan_is_nan():
    x = torch.tensor([[0.5, 0.0], [3.0, 1.0]], requires_grad=True)
    for order in (torch.norm, torch.linalg.vector_norm):
        found = order(x, math.nan, 1)
        assert found.isnan().all() and torch.autograd.grad(found.sum(), x)[0].isnan().all()
    assert torch.dist(x, torch.zeros(2, 2), math.nan).isnan()


def test_what_norms_and_shapes_do_not_take():
    x = torch.ones(2, 2)
    for wrong in (
        lambda: torch.norm(x, 1j), lambda: torch.linalg.norm(x, dim=()),
        lambda: torch.norm(torch.ones(2, 2, 2), "nuc"), lambda: torch.vander(x[0], N=-1),
        lambda: torch.linalg.svdvals(x, driver="gesvd"),
        lambda: torch.tensor_split(x, torch.tensor([[1]])),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(ValueError, match="negative length"):
        torch.broadcast_shapes((-1, 1), (3,))
    with pytest.raises(IndexError):
        torch.diag_embed(torch.tensor(1.0))
    assert torch.unravel_index(torch.tensor([3], dtype=torch.int8), (2, 2))[0].dtype is torch.int64


def test_least_squares_say_what_their_driver_does():
    tall, right = torch.tensor([[1.0, 0], [0, 2], [1, 1]]), torch.ones(3, 1)
    assert torch.linalg.lstsq(tall, right).residuals.shape == (0,)
    assert torch.linalg.lstsq(tall, right, driver="gels").residuals.shape == (1,)
    exact = torch.linalg.lstsq(tall, right).solution
    for driver in ("gels", "gelsd"):  # for which a tolerance of one is none
        found = torch.linalg.lstsq(tall, right, rcond=1.0, driver=driver).solution
        assert torch.allclose(found, exact)


def test_a_default_by_a_type_of_tensors():
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="deprecated"):
            torch.set_default_tensor_type("torch.DoubleTensor")
        assert torch.ones(1).dtype is torch.float64
        with pytest.warns(UserWarning), pytest.raises(TypeError, match="floating-point"):
            torch.set_default_tensor_type(torch.LongTensor)
    finally:
        torch.set_warn_always(False)
        torch.set_default_dtype(torch.float32)


def test_the_same_part_of_the_same_memory():
    x = torch.arange(4.0)
    assert x.is_set_to(x.view(4)) and not x.is_set_to(x[:2]) and not x.is_set_to(x.clone())


def test_nothing_is_joined_along_any_dimension():
    assert torch.cat([torch.ones(0), torch.ones(0)], 1).shape == (0,)


def test_a_meshgrid_asks_for_its_indexing_once():
    x = torch.arange(2)
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="indexing"):
            torch.meshgrid(x, x)
        assert torch.cartesian_prod(x, x).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    finally:
        torch.set_warn_always(False)
