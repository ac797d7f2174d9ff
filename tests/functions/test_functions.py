"""Composed functions: value, gradients and second derivatives as recorded from PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from tests.functions.function_table import CALLS
from tests.ops.rows import derivatives, differences, weights
from tests.support.families import family
from tests.support.oracles import load

RECORD = load("functions")
CASES = RECORD["cases"]
RTOL = (1e-12, 1e-11, 1e-10)


@pytest.fixture(autouse=True)
def double():
    gradcli.set_default_dtype(gradcli.float64)
    with np.errstate(all="ignore"):
        yield
    gradcli.set_default_dtype(gradcli.float32)


def recorded(entry):
    return np.array([float(v) for v in entry["data"]]).reshape(entry["shape"])


def close(got, want, rtol):
    assert got.shape == want.shape
    size = np.max(np.abs(want[np.isfinite(want)]), initial=1e-3)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * size)


def test_the_recording_is_of_these_calls():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert list(CASES) == list(CALLS)
    assert len(CALLS) > 200


@family("name", CALLS)
def test_value_and_derivatives_are_pytorchs(name):
    call = CALLS[name]
    arrays = call.arrays()
    levels = derivatives(
        gradcli, call.function(gradcli), arrays, range(len(arrays)), len(CASES[name]) - 1
    )
    for order, (level, wanted) in enumerate(zip(levels, CASES[name], strict=True)):
        for got, entry in zip(level, wanted, strict=True):
            close(got, recorded(entry), 1e-7 if call.single else RTOL[order])


@family("name", [n for n, c in CALLS.items() if c.order < 2 and not c.convention])
def test_second_derivatives_where_pytorch_has_none(name):
    call = CALLS[name]
    arrays, function = call.arrays(), call.function(gradcli)
    wrt = range(len(arrays))
    levels = derivatives(gradcli, function, arrays, wrt, 2)

    def first(*shifted):
        found = derivatives(gradcli, function, shifted, wrt, 1)[-1]
        return float(sum(np.sum(weights(f.shape, 1) * f) for f in found))

    for i, got in zip(wrt, levels[2], strict=True):
        close(got, differences(first, arrays, i, 2e-3), 2e-6)


@family("name", CALLS)
def test_forward_mode_is_reverse_mode(name):
    call = CALLS[name]
    if call.convention:
        pytest.skip("the gradient is a convention")
    leaves = [gradcli.tensor(a, requires_grad=True) for a in call.arrays()]
    along = [gradcli.tensor(weights(a.shape, 5 + i)) for i, a in enumerate(call.arrays())]
    function = call.function(gradcli)
    out = function(*leaves)
    value, tangent = gradcli.func.jvp(function, tuple(leaves), tuple(along))
    np.testing.assert_array_equal(value.detach().numpy(), out.detach().numpy())
    w = gradcli.tensor(weights(out.shape, 0))
    pulled = gradcli.autograd.grad(out, leaves, w, allow_unused=True, materialize_grads=True)
    total = sum((g * t).sum() for g, t in zip(pulled, along, strict=True))
    assert (tangent * w).sum().item() == pytest.approx(total.item(), rel=1e-10, abs=1e-10)


@family("name", CALLS)
def test_linearize_is_forward_mode(name):
    call = CALLS[name]
    points = tuple(gradcli.tensor(a) for a in call.arrays())
    along = tuple(gradcli.tensor(weights(p.shape, 5 + i)) for i, p in enumerate(points))
    if not points:
        pytest.skip("no tensor to push from")
    value, tangent = gradcli.func.jvp(call.function(gradcli), points, along)
    again, push = gradcli.func.linearize(call.function(gradcli), *points)
    np.testing.assert_array_equal(again.numpy(), value.numpy())
    close(push(*along).numpy(), tangent.numpy(), 1e-10)


@family("name", CALLS)
def test_vmap_is_a_stack_of_single_calls(name):
    call = CALLS[name]
    function = call.function(gradcli)
    arrays = call.arrays()
    if not arrays:
        pytest.skip("no tensor to map over")
    stacks = [gradcli.tensor(np.stack([a, a[::-1], 0.9 * a])) if a.ndim else
              gradcli.tensor(np.stack([a, a, 0.9 * a])) for a in arrays]  # fmt: skip
    singles = [function(*(s[i] for s in stacks)) for i in range(3)]
    mapped = gradcli.func.vmap(function)(*stacks)
    np.testing.assert_allclose(
        mapped.numpy(), gradcli.stack(singles).numpy(), rtol=1e-12, atol=1e-12
    )


def test_what_pytorch_takes_is_taken_too():
    assert (2 ** gradcli.tensor([-1, 0, 2])).tolist() == [0, 1, 4]
    assert gradcli.tensor([[0, 1], [2, 3]]).flip(0, 1).tolist() == [[3, 2], [1, 0]]
    assert gradcli.tensor([2**70, 1.5]).tolist() == [2.0**70, 1.5]
    assert gradcli.tensor([-1, -255], dtype=gradcli.uint8).tolist() == [255, 1]


@family(
    "name, args, named, want",
    [
        ("dot", ([1.0, 2.0],), {"tensor": [3.0, 4.0]}, 11.0),
        ("outer", ([1.0, 2.0],), {"vec2": [3.0, 4.0]}, [[3.0, 4.0], [6.0, 8.0]]),
        ("heaviside", ([0.0, 1.0],), {"values": [0.5, 0.5]}, [0.5, 1.0]),
        ("full_like", ([0.0, 1.0],), {"fill_value": 7.0}, [7.0, 7.0]),
        ("swapaxes", ([[1.0, 2.0]],), {"axis0": 0, "axis1": 1}, [[1.0], [2.0]]),
        ("tile", ([1.0],), {"dims": (2,)}, [1.0, 1.0]),
        ("tensor_split", ([1.0, 2.0, 3.0],), {"sections": 2}, [[1.0, 2.0], [3.0]]),
        ("tensor_split", ([1.0, 2.0, 3.0],), {"indices": (1,)}, [[1.0], [2.0, 3.0]]),
    ],
)
def test_parameters_have_pytorchs_names(name, args, named, want):
    def made(value):
        return gradcli.tensor(value) if isinstance(value, list) else value

    out = getattr(gradcli, name)(*map(made, args), **{k: made(v) for k, v in named.items()})
    found = [v.tolist() for v in out] if isinstance(out, tuple) else out.tolist()
    assert found == want


def test_sizes_and_modes_by_name():
    assert gradcli.zeros(size=(2,)).tolist() == [0.0, 0.0]
    assert gradcli.ones(size=[1, 2]).tolist() == [[1.0, 1.0]]
    with pytest.raises(TypeError, match="multiple values"):
        gradcli.zeros(2, size=(3,))
    with gradcli.inference_mode(mode=True):
        assert gradcli.is_inference_mode_enabled()
    assert gradcli.vmap(func=gradcli.sin)(gradcli.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'vec2'"):
        gradcli.dot(gradcli.ones(2), vec2=gradcli.ones(2))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'tensor'"):
        gradcli.dot(gradcli.ones(2))


def test_one_right_side_for_a_stack_of_triangles_is_a_matrix():
    stack = gradcli.arange(27.0, dtype=gradcli.float64).reshape(3, 3, 3) + 3 * gradcli.eye(3)
    side = gradcli.arange(9.0, dtype=gradcli.float64).reshape(3, 3).sin()
    for left in (True, False):
        found = gradcli.linalg.solve_triangular(stack, side, upper=True, left=left)
        for triangle, solution in zip(stack.triu(), found, strict=True):
            product = triangle @ solution if left else solution @ triangle
            assert gradcli.allclose(product, side)


def test_bounds_of_unsigned_numbers_count_from_the_top():
    x = gradcli.tensor([0, 1, 5], dtype=gradcli.uint8)
    assert x.clamp(-1, 1).tolist() == [1, 1, 1] and x.clamp_min(-2).tolist() == [254, 254, 254]
    with pytest.raises(RuntimeError, match="overflow"):
        x.clamp(max=300)
    assert gradcli.pow(-2, x[1:]).tolist() == [254, 224]


def test_a_value_and_two_bounds_meet_in_one_dtype():
    """As three operands of one operation, not the value with one bound and then the other."""
    float32, float64, int32 = gradcli.float32, gradcli.float64, gradcli.int32
    for dtypes, shapes, wanted in (
        ((int32, float64, float32), ((2,), (), (2,)), float32),
        ((int32, float32, float64), ((2,), (2,), ()), float32),
        ((gradcli.bool, float64, float32), ((), (), (2,)), float32),
        ((int32, float32, float64), ((2,), (), ()), float64),
    ):
        x, low, high = (gradcli.ones(s, dtype=d) for d, s in zip(dtypes, shapes, strict=True))
        assert gradcli.clamp(x, low, high).dtype == wanted


def test_the_angle_of_whole_numbers_is_of_the_default_dtype():
    gradcli.set_default_dtype(gradcli.float32)
    for dtype in (gradcli.int64, gradcli.uint8, gradcli.bool):
        found = gradcli.angle(gradcli.tensor([1, 0], dtype=dtype))
        assert found.dtype is gradcli.float32 and found.tolist() == [0.0, 0.0]
    assert gradcli.equal(gradcli.tensor([-2, 3]).angle(), gradcli.tensor([np.pi, 0.0]))


def test_of_no_whole_numbers_there_is_a_quotient_by_0():
    none = gradcli.zeros(0, dtype=gradcli.int64)
    assert (none // 0).dtype is (none % 0).dtype is gradcli.int64


def test_rows_of_no_columns_are_0_apart():
    x, y = gradcli.ones(2, 0), gradcli.ones(1, 0)
    for p in (0.0, 1.0, 2.0, float("inf")):
        assert gradcli.cdist(x, y, p=p).tolist() == [[0.0], [0.0]]
    x = gradcli.ones(2, 3)  # nor are equal ones, by an order whose reciprocal is 0 in float32
    assert gradcli.pdist(x, 1e60).tolist() == [0.0]
