"""Element types: what two operands meet in (tests/oracles/promotion.json.gz), what survives,
conversions.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradcli as torch
from gradcli.ops.errors import Fault
from tests.oracles import record_promotion as recorder
from tests.support.families import family
from tests.support.oracles import load

RECORD = load("promotion")


@pytest.fixture(scope="module")
def ours():
    with np.errstate(all="ignore"):
        return recorder.table(torch, Fault)


@pytest.mark.parametrize("operation", recorder.OPERATIONS)
def test_every_pair_of_dtypes_meets_where_pytorch_says(ours, operation):
    assert RECORD["made_with"]["torch"] == "2.13.0"
    # There is no complex32 here; what PyTorch would give in it comes as complex64.
    theirs = {
        k: "complex64" if v == "complex32" else v for k, v in RECORD["results"][operation].items()
    }
    assert ours[operation].keys() == theirs.keys()
    wrong = {
        pair: f"{ours[operation][pair]}, PyTorch {theirs[pair]}"
        for pair in theirs
        if ours[operation][pair] != theirs[pair] and theirs[pair] is not None
    }
    assert not wrong, f"{len(wrong)} of {len(theirs)}: {dict(list(wrong.items())[:12])}"


def test_constructors_and_names():
    for data, dtype in ((1, "int64"), (2.0, "float32"), (True, "bool"), (1j, "complex64"),
        ([1, 2.0], "float32"),
                        ([], "float32"), (np.array(1.0), "float64"), (np.float32(1), "float32"),
                        (np.int8(1), "int8")):  # fmt: skip
        assert torch.tensor(data).dtype is getattr(torch, dtype)
        assert repr(torch.tensor(data).dtype) == f"gradcli.{dtype}"
    assert (torch.double, torch.long, torch.half) == (torch.float64, torch.int64, torch.float16)
    assert (torch.float, torch.int, torch.short) == (torch.float32, torch.int32, torch.int16)
    assert torch.Tensor(np.array(2.0)).dtype is torch.float32
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    for alias in (torch.Tensor(x * 1), torch.DoubleTensor(x * 1), x.new(x * 1)):
        assert alias.dtype is torch.float64 and alias.grad_fn.name() == "AliasBackward0"
        assert torch.autograd.grad(alias.sum(), x)[0].tolist() == [1, 1]
    with pytest.raises(TypeError, match="expected a int64 tensor"):
        torch.LongTensor(x)
    assert torch.FloatTensor((2.0, 3.0), device="cpu").tolist() == [2, 3]
    for make in (torch.Tensor, torch.FloatTensor, x.new):
        with pytest.raises(RuntimeError, match="expects device type: cpu"):
            make((2.0, 3.0), device="cuda")
        with pytest.raises(RuntimeError, match="Legacy tensor"):
            make(x, device="cpu")
    assert torch.tensor([1, 0], dtype=torch.bool).tolist() == [True, False]


def test_conversions():
    x = torch.tensor([1.7, -2.0])
    assert x.double().dtype is torch.float64
    assert x.float() is x
    assert x.long().tolist() == [1, -2]
    assert x.int().dtype is torch.int32
    assert x.bool().tolist() == [True, True]
    assert x.type(float).dtype is torch.float64  # as PyTorch reads Python's float
    assert x.type_as(torch.tensor([1])).dtype is torch.int64
    assert x.to(torch.float16).dtype is torch.float16
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda") as fault:
        x.to("float32")
    assert fault.value.code == "E0905"


def test_gradients_have_their_tensors_dtype_across_a_conversion():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], dtype=torch.double, requires_grad=True)
    (x.double() * w).sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (torch.float32, torch.float64)
    x.grad = w.grad = None
    (x * w).sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (torch.float32, torch.float64)
    assert x.grad.array.dtype == np.float32
    assert x.grad.tolist() == [3, 4]


def test_a_0d_double_does_not_widen_and_gets_its_own_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    s = torch.tensor(3.0, dtype=torch.double, requires_grad=True)
    y = x * s
    assert y.dtype is torch.float32
    y.sum().backward()
    assert (x.grad.dtype, s.grad.dtype) == (torch.float32, torch.float64)
    assert s.grad.item() == 3


def test_default_dtype():
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.tensor(1.5).dtype is torch.float64
        assert torch.ones(2).dtype is torch.float64
        assert (torch.tensor([1, 2]) * 2.5).dtype is torch.float64
        assert (torch.tensor([1, 2]) / 2).dtype is torch.float64
        with pytest.raises(TypeError) as fault:
            torch.set_default_dtype(torch.int64)
        assert fault.value.code == "E0309"
    finally:
        torch.set_default_dtype(before)


def test_integers_and_booleans_require_no_gradient():
    for data in (1, [True]):
        x = torch.tensor(data)
        with pytest.raises(RuntimeError, match="floating point") as fault:
            x.requires_grad_()
        assert fault.value.code == "E0404"
        with pytest.raises(RuntimeError):
            x.requires_grad = True
        with pytest.raises(RuntimeError):
            torch.tensor(data, requires_grad=True)
    assert not (torch.tensor([1]) + 2).requires_grad


def test_an_integer_result_of_a_recorded_tensor_is_outside_the_graph():
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    assert not x.long().requires_grad
    assert not (x > 2).requires_grad
    (x * x.long()).sum().backward()
    assert x.grad.tolist() == [1, 2]


def test_complex_gradient_of_a_real_loss():
    z = torch.tensor([3 + 4j, 1j], dtype=torch.complex128, requires_grad=True)
    (torch.abs(z) ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [6 + 8j, 2j], rtol=1e-14)
    x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
    torch.real(x * z.detach()).sum().backward()
    assert x.grad.tolist() == [3, 0]


@family("data", [10**30, -(2**63) - 1, 2**64, [2**63]])
def test_numbers_beyond_int64_are_refused(data):
    with pytest.raises(ValueError, match="Overflow when unpacking long long") as fault:
        torch.tensor(data)
    assert fault.value.code == "E0303"


def test_no_object_arrays():
    for data in (None, "a", [None], [[1], 2], {}, object()):
        with pytest.raises(Fault):
            torch.tensor(data)


@family("other", ["int64", "float16", "float64"])
def test_gradients_of_mixed_types_are_stored_in_their_own(other):
    # A rule reads the operand in the type that was computed with, not in its own, wider one.
    given = torch.tensor(3.0).to(getattr(torch, other))
    for compute in (torch.div, lambda x, y: y / x, torch.mul, torch.pow):
        for wanted in (False, other != "int64"):
            small = given.clone().requires_grad_(wanted)
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            y = compute(x, small)
            assert y.dtype is torch.float32
            y.sum().backward()
            assert x.grad.numpy().dtype == "float32"
            if wanted:
                assert small.grad.numpy().dtype == other


def test_a_size_joins_as_a_tuple_does():
    shape = [1]
    shape += torch.Size([2, 3])
    assert shape == [1, 2, 3]
    assert (1,) + torch.Size([2]) == torch.Size([1, 2])  # noqa: RUF005
    with pytest.raises(TypeError):
        [1] + torch.Size([2])  # noqa: RUF005
    assert torch.full(torch.Size([2]), 1.0, out=torch.empty(2)).tolist() == [1, 1]


def test_a_size_is_of_whole_numbers():
    size = torch.Size([0, torch.tensor(2), True])
    assert size == (0, 2, 1) and {type(n) for n in size} == {int}
    assert type(torch.ones(2).shape) is torch.Size


def test_another_device_is_a_runtime_error():
    with pytest.raises(RuntimeError, match="no device 'foo'"):
        torch.zeros(2, device="foo")


def test_a_device_is_a_context_on_the_cpu_alone():
    with torch.device("cpu") as device:
        assert torch.zeros(2).device == device == torch.device("cpu")
    with pytest.raises(RuntimeError, match="no tensors are made on meta"), torch.device("meta"):
        pass


def test_a_number_that_scales_halves_is_not_rounded_to_one():
    half = torch.tensor([100.0, 2.0], dtype=torch.float16)
    assert half.div(1e5).tolist() == [0.0010004043579101562, 2.002716064453125e-05]
    assert (1e5 * (half * 1e-7)).tolist() == [1.0009765625, 0.01788330078125]
    assert (half // 0.1).tolist() == [999.0, 19.0]
    assert (half * 2j).dtype is torch.complex64 and (half * 0.1).dtype is torch.float16
    x = half.clone().requires_grad_()
    (by_x,) = torch.autograd.grad(x.div(1e5).sum(), x)
    assert by_x.tolist() == [1.0013580322265625e-05] * 2  # 1e-5 as a half
    below = torch.nn.functional.leaky_relu(torch.tensor([-1000.0], dtype=torch.float16), 1e-8)
    assert below.tolist() == [-1.0013580322265625e-05]
    assert (torch.ones(200_000, dtype=torch.float16) * 0.3)[-1].item() == 0.300048828125
    assert (2 * half).dtype is torch.float16 and (3 // half).tolist() == [0.0, 1.0]


_MANY = {
    "mean": (0.5, 1 / 70_000), "nanmean": (0.5, 1 / 70_000), "amax": (0.5, 1 / 70_000),
    "var": (0.0, 0.0), "std": (0.0, 0.0),
}  # fmt: skip


@family("name", _MANY)
def test_counts_that_no_half_holds(name):
    x = torch.full((70_000,), 0.5, dtype=torch.float16, requires_grad=True)
    value, slope = (torch.tensor(n, dtype=torch.float16).item() for n in _MANY[name])
    for of in (x, x[None]):
        out = getattr(of, name)(dim=-1)
        assert out.dtype is torch.float16 and out.ravel().tolist() == [value]
        (found,) = torch.autograd.grad(out.sum(), x)
        assert found.dtype is torch.float16 and found.unique().tolist() == [slope]
    spread = torch.tensor([1.0, 2.0], dtype=torch.float16).repeat(35_000).requires_grad_()
    assert spread.var().item() == 0.25 and spread.std().item() == 0.5
    (found,) = torch.autograd.grad(spread.std(), spread)
    assert found[:2].tolist() == [-7.152557373046875e-06 * 2, 7.152557373046875e-06 * 2]
    assert torch.nn.functional.mse_loss(x, x.detach() - 1).item() == 1.0


def test_halves_joined_in_groups_are_rounded_once():
    x = torch.tensor([1.1, 0.9, 1.3, 0.7] * 5, dtype=torch.float16)
    exact = torch.tensor([x.double().prod().item()], dtype=torch.float16)
    where, one = torch.zeros(20, dtype=torch.int64), torch.ones(1, dtype=torch.float16)
    assert x.prod().item() == exact.item()
    assert torch.equal(one.scatter_reduce(0, where, x, "prod"), exact)
    many = torch.full((70_000,), 0.5, dtype=torch.float16)
    where = torch.zeros(70_000, dtype=torch.int64)
    assert one.scatter_reduce(0, where, many, "mean").item() == 0.5


def test_products_and_quotients_of_narrow_numbers_have_the_digits_of_what_they_are_added_to():
    x, y = torch.tensor([1.0]), torch.tensor([3.0])
    wide = torch.zeros(1, dtype=torch.float64)
    assert torch.addcdiv(wide, x, y).item() == 1 / 3
    tenth = torch.tensor([0.1])
    assert torch.addr(wide, tenth, tenth).item() == tenth.item() ** 2
