"""``out=``: any function's result in a tensor that is given, by PyTorch's rules."""

from __future__ import annotations

from functools import partial

import pytest

import gradcli as torch
from tests.support.families import family


def test_the_result_is_the_tensor_given():
    for function, args in (
        (torch.sin, (torch.ones(2),)), (torch.add, (torch.ones(2), 1)),
        (torch.clamp, (torch.ones(2), 0.0, 0.5)), (torch.matmul, (torch.eye(2), torch.ones(2))),
        (torch.cumsum, (torch.ones(2), 0)), (torch.special.erf, (torch.ones(2),)),
    ):  # fmt: skip
        out = torch.zeros(2)
        if function is torch.special.erf:
            function = torch.erf
        assert function(*args, out=out) is out
        assert torch.equal(out, function(*args))


def test_in_place_on_an_argument_shows_in_its_views():
    x = torch.arange(4.0)
    view = x[1:]
    torch.mul(x, 2, out=x)
    assert view.tolist() == [2, 4, 6]


def test_several_results():
    x = torch.tensor([[1.0, 3.0], [5.0, 2.0]])
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.max(x, 1, out=(values, indices))
    assert values.tolist() == [3, 5] and indices.tolist() == [1, 0]
    assert values._version == indices._version == 1


def test_dtypes():
    wide = torch.zeros(2, dtype=torch.float64)
    assert torch.sqrt(torch.tensor([1.0, 4.0]), out=wide).dtype is torch.float64
    assert torch.bernoulli(torch.ones(2, dtype=torch.float64), out=torch.empty(2)).sum() == 2
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type int64"):
        torch.sqrt(torch.ones(2), out=torch.zeros(2, dtype=torch.int64))
    for dtype in (torch.float32, torch.float64, torch.complex64):
        assert torch.abs(torch.tensor([3 + 4j]), out=torch.empty(1, dtype=dtype)).tolist() == [5]


@family("chances", [(torch.zeros(3), 2.0), (1.0, torch.ones(3)), (torch.ones(3),)])
def test_numbers_drawn_by_tensors(chances):
    torch.manual_seed(3)
    found = torch.normal(*chances, out=torch.empty(3))
    torch.manual_seed(3)
    named = torch.normal(**dict(zip(("mean", "std"), chances, strict=False)), out=torch.empty(3))
    assert torch.equal(found, named)
    torch.manual_seed(3)
    assert torch.equal(found, torch.normal(*chances))


@family(
    "draw, written",
    [
        (partial(torch.rand, (4, 8)), torch.Tensor.uniform_),
        (partial(torch.randn, (4, 8)), torch.Tensor.normal_),
        (partial(torch.randint, 9, (4, 8)), lambda out: out.random_(9)),
        (partial(torch.normal, torch.zeros(4, 8), 1.0), torch.Tensor.normal_),
        (partial(torch.bernoulli, torch.full((4, 8), 0.3)), lambda x: x.bernoulli_(x * 0 + 0.3)),
    ],
)
def test_numbers_are_drawn_as_the_out_lies_in_memory(draw, written):
    for lies in (lambda: torch.zeros(8, 4).t(), lambda: torch.zeros(8, 16)[::2, ::2]):
        torch.manual_seed(3)
        found = draw(out=lies())
        torch.manual_seed(3)
        assert torch.equal(found, written(lies()))


@family("function", [torch.mean, torch.nanmean, torch.logsumexp])
def test_what_is_added_up_is_computed_in_a_wider_out(function):
    x = torch.tensor([0.1, 0.2, 0.4])
    wide = torch.empty(0, dtype=torch.float64)
    assert function(x, 0, out=wide).item() == function(x.double(), 0).item()


def test_shapes():
    assert torch.exp(torch.zeros(3), out=torch.empty(0)).tolist() == [1, 1, 1]
    with pytest.warns(UserWarning, match="was resized since it had shape"):
        assert torch.exp(torch.zeros(3), out=torch.zeros(2)).tolist() == [1, 1, 1]
    with pytest.warns(UserWarning, match="was resized since it had shape"):
        assert torch.arange(2, out=torch.zeros(3)).tolist() == [0, 1]
    for create in (
        torch.ones,
        torch.eye,
        torch.rand,
        lambda n, out: torch.linspace(0, 1, n, out=out),
    ):
        assert len(create(2, out=torch.zeros(3))) == 2  # silently
    turned, square = torch.zeros(2, 3, 4).permute(2, 0, 1), torch.zeros(3, 3).t()
    for made, strides in (
        (torch.exp(turned, out=torch.empty(0)), (1, 12, 4)),
        (torch.eq(turned, 1, out=torch.empty(0, 5, dtype=torch.bool)), (1, 12, 4)),
        (torch.addcmul(turned, turned, turned, out=torch.empty(0)), (1, 12, 4)),
        (torch.mean(turned, 0, out=torch.empty(0)), (3, 1)),
        (torch.topk(turned, 1, 1)[1], (3, 3, 1)),
        (torch.addmm(square, square, square, out=torch.empty(0)), (3, 1)),
    ):
        assert made.stride() == strides


def test_what_has_no_gradient_may_be_computed_of_what_requires_one():
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    assert torch.gt(x, 0, out=torch.zeros(2)).tolist() == [1, 0]
    assert torch.argmax(x, out=torch.zeros((), dtype=torch.int64)).item() == 0
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.max(x, 0, out=(torch.zeros(()), torch.zeros((), dtype=torch.int64)))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.gt(x, 0, out=x * 1)


@pytest.mark.parametrize("name", ["sum", "nansum", "prod", "cumsum", "cumprod"])
def test_whole_numbers_computed_in_the_dtype_of_out_do_not_cut_a_graph(name):
    x, out = torch.tensor([0.5, -1.0], requires_grad=True), torch.empty(0, dtype=torch.int64)
    for options in ({}, {"dtype": torch.int64}):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            getattr(torch, name)(x, 0, out=out, **options)
    assert getattr(torch, name)(x.detach(), 0, out=out) is out


@pytest.mark.parametrize("where", ["input", "out"])
def test_nothing_may_require_a_gradient(where):
    x = torch.ones(2, requires_grad=where == "input")
    out = torch.ones(2, requires_grad=where == "out")
    message = "sin.*: functions with out=... arguments don't support automatic differentiation"
    with pytest.raises(RuntimeError, match=message):
        torch.sin(x, out=out)
    with torch.no_grad():
        assert torch.sin(x, out=out) is out


def test_out_is_a_tensor():
    with pytest.raises(TypeError, match="out must be a tensor"):
        torch.sin(torch.ones(1), out=[1.0])


def test_out_is_where_pytorch_has_one():
    x = torch.ones(2)
    for function, *more in (
        (torch.isnan,), (torch.flip, (0,)), (torch.roll, 1), (torch.clone,), (torch.chunk, 2),
        (torch.reshape, (2,)), (torch.t,), (torch.rsub, 1), (torch.argsort,), (torch.meshgrid,),
        (torch.relu,),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
            function(x, *more, out=torch.empty(0))
    with pytest.raises(TypeError, match="must be Tensor, not tuple"):
        torch.sin(x, out=(torch.empty(2),))
    assert torch.squeeze_copy(x, out=torch.empty(0)).tolist() == [1, 1]


def test_a_leaf_takes_the_shape_of_a_result():
    leaf = torch.ones(2, requires_grad=True)
    with torch.no_grad(), pytest.warns(UserWarning, match="resized"):
        torch.sum(torch.ones(2, 3), 0, out=leaf)
    (leaf * leaf).sum().backward()
    assert leaf.grad.tolist() == [4, 4, 4] and leaf._version == 1
    computed = torch.ones(2, requires_grad=True) * 2
    with torch.no_grad(), pytest.warns(UserWarning), pytest.raises(RuntimeError, match="resize"):
        torch.sum(torch.ones(2, 3), 0, out=computed)


COPIED = {
    "fft": (lambda x, **o: torch.fft.fft(x, dim=0, **o), (5, 1)),
    "ifft": (lambda x, **o: torch.fft.ifft(x, dim=0, **o), (1, 5)),
    "matrix_power": (lambda x, **o: torch.linalg.matrix_power(x, -1, **o), (5, 1)),
    "inv": (lambda x, **o: torch.linalg.inv(x, **o), (1, 5)),
    "cholesky": (lambda x, **o: torch.cholesky(x, **o), (5, 1)),
    "quantile": (lambda x, **o: torch.quantile(x, torch.tensor([0.1, 0.9]), 1, **o), (5, 1)),
}


@family("name", COPIED)
def test_an_out_that_grows_lies_as_pytorch_writes_it(name):
    function, steps = COPIED[name]
    x = torch.eye(5) * 2
    out = torch.zeros(0, dtype=function(x).dtype)
    assert function(x, out=out) is out and out.stride() == steps
    torch.testing.assert_close(out, function(x))
