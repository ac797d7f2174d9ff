"""vmap: every operator over a batch equals the loop over its elements; dimensions; nesting."""

from __future__ import annotations

import functools
import random
from collections import OrderedDict, defaultdict, deque
from itertools import product

import numpy as np
import pytest

import gradcli as torch
from gradcli.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from gradcli.nn import functional as F
from gradcli.ops.errors import Fault
from gradcli.transforms.batched import Batched
from tests.support.families import family

RNG = np.random.default_rng(5)


def numbers(*shape):
    return torch.tensor(RNG.uniform(0.2, 0.9, shape))


W = numbers(3, 2)
V = numbers(3)

# One argument of each shape: name -> (function, shape of an element)
FUNCTIONS = {
    "unary": (lambda x: torch.sin(x).exp(), (2, 3)), "with number": (lambda x: 2 - x / 3, (3,)),
    "same for all": (lambda x: x * W.T, (2, 3)), "broadcast up": (lambda x: x + W, (2,)),
    "broadcast of 0-d": (lambda x: x * W, ()), "both": (lambda x: x * x[0], (3, 2)),
    "power": (lambda x: x**x + 2**x, (3,)), "sum": (lambda x: x.sum(), (2, 3)),
    "sum of 0-d": (lambda x: x.sum() + x.mean(), ()), "sum 0": (lambda x: x.sum(0), (2, 3)),
    "sum -1 keep": (lambda x: x.sum(-1, keepdim=True), (2, 3)),
    "sum of two": (lambda x: x.sum((0, 2)), (2, 3, 2)),
    "keep all": (lambda x: torch.sum(x, None, keepdim=True), (2, 3)),
    "mean": (lambda x: x.mean(1), (2, 3)), "var": (lambda x: x.var(0) + x.std(), (2, 3)),
    "norm": (lambda x: x.norm() + x.norm(dim=1), (2, 3)),
    "amax": (lambda x: x.amax(1) + x.amin(), (2, 3)), "max": (lambda x: x.max(1)[0], (2, 3)),
    "min": (lambda x: x.min(0, True).values, (2, 3)), "logsumexp": (lambda x: x.logsumexp(0), (3,)),
    "prod": (lambda x: x.prod() * x.prod(1), (2, 3)), "softmax": (lambda x: x.softmax(0), (2, 3)),
    "log_softmax": (lambda x: torch.log_softmax(x, -1), (3,)),
    "cumsum": (lambda x: x.cumsum(1), (2, 3)), "argmax": (lambda x: x.argmax(), (2, 3)),
    "argsort": (lambda x: x.argsort(), (3,)), "any": (lambda x: (x > 0.5).any(0), (2, 3)),
    "count": (lambda x: torch.count_nonzero(x > 0.5), (2, 3)),
    "reshape": (lambda x: x.reshape(3, -1), (2, 3)), "flatten": (lambda x: x.flatten(), (2, 3)),
    "expand": (lambda x: x.expand(4, 2, 3), (2, 3)), "transpose": (lambda x: x.T, (2, 3)),
    "mT": (lambda x: x.mT, (4, 2, 3)), "permute": (lambda x: x.permute(2, 0, 1), (4, 2, 3)),
    "swap": (lambda x: x.transpose(0, -1), (4, 2, 3)), "squeeze": (lambda x: x.squeeze(), (1, 3)),
    "unsqueeze": (lambda x: x.unsqueeze(-1), (3,)), "flip": (lambda x: x.flip(0), (3, 2)),
    "roll": (lambda x: torch.roll(x, 1), (3,)), "tile": (lambda x: x.repeat(2, 2), (2,)),
    "diagonal": (lambda x: torch.diagonal(x), (3, 3)), "tril": (lambda x: torch.tril(x), (3, 3)),
    "diag": (lambda x: torch.diag(x), (3,)), "trace": (lambda x: torch.trace(x @ x), (3, 3)),
    "index": (lambda x: x[1], (2, 3)), "slice": (lambda x: x[:, ::2], (2, 3)),
    "index array": (lambda x: x[torch.tensor([2, 0, 2])], (3, 2)),
    "index apart": (lambda x: x[torch.tensor([1, 0]), :, 1], (3, 2, 2)),
    "new dimension": (lambda x: x[None, :, None], (3,)), "mask": (lambda x: x[V > 0.5], (3,)),
    "gather": (lambda x: torch.gather(x, 0, torch.tensor([[0, 1], [1, 1]])), (2, 2)),
    "own index": (lambda x: x[x.argmax()], (3,)),
    "own index and mask": (lambda x: x[V > 0.5, x[0].argmax()], (3, 2)),
    "max of 0-d": (lambda x: x.max(0)[0] + x.min(-1).values, ()),
    "put at own index": (lambda x: _put(x, x.argmax(), x[:1] * 2), (3,)),
    "new indices": (lambda x: _put(x, (x > 0.5).sum() - 1, x[1] * 2), (3,)),
    "cat": (lambda x: torch.cat([x, V]), (3,)),
    "stack": (lambda x: torch.stack([x, V], 1), (3,)), "dot": (lambda x: torch.dot(x, V), (3,)),
    "matvec": (lambda x: x @ W, (3,)), "vecmat": (lambda x: W.T @ x, (3,)),
    "matmat": (lambda x: x @ W, (2, 3)), "mat@vec": (lambda x: x @ V, (2, 3)),
    "vec@vec": (lambda x: x @ x, (3,)), "mat@mat": (lambda x: x @ x.T, (2, 3)),
    "many": (lambda x: x @ W, (4, 2, 3)), "vec@many": (lambda x: V @ x, (4, 3, 2)),
    "outer": (lambda x: torch.outer(x, V), (3,)), "where": (lambda x: torch.where(x > 0.5, x, 0.0),
        (3,)), "clamp": (lambda x: x.clamp(0.3, 0.6), (3,)),
    "compare": (lambda x: (x > 0.5) & (x < 0.8), (3,)), "cast": (lambda x: x.float(), (3,)),
    "written": (lambda x: _written(x), (3,)), "loop": (lambda x: sum(e * e for e in x), (3,)),
    "kept": (lambda x: x.maximum(x.flip(0)), (3,)),
}  # fmt: skip


def _put(x, index, value):
    y = x * 1
    y[index] = value
    return y


def _written(x):
    y = x * 1
    y[0] = 5.0
    y += 1
    y.mul_(2)
    return y


@family("name, dim", product(FUNCTIONS, [0, -1]))
def test_a_batch_is_a_loop(name, dim):
    function, shape = FUNCTIONS[name]
    x = numbers(4, *shape)
    looped = torch.stack([torch.as_tensor(function(e)) for e in x])
    if dim:
        x = x.permute(*range(1, x.ndim), 0)
    found = vmap(function, in_dims=dim)(x)
    assert found.dtype is looped.dtype
    np.testing.assert_allclose(found.numpy(), looped.numpy(), rtol=1e-13)


@family("name", [n for n in FUNCTIONS if n not in ("argmax", "argsort", "any",
    "count", "compare")])  # fmt: skip
def test_gradients_of_a_batch(name):
    """Each element's gradient, and the gradient through the mapped function, agree with loops."""
    function, shape = FUNCTIONS[name]
    x = numbers(4, *shape)

    def scalar(e):
        return torch.sin(function(e)).sum()

    looped = torch.stack([grad(scalar)(e) for e in x])
    found = vmap(grad(scalar))(x)
    np.testing.assert_allclose(found.numpy(), looped.numpy(), rtol=1e-12, atol=1e-14)
    through = grad(lambda x: vmap(scalar)(x).sum())(x)
    np.testing.assert_allclose(through.numpy(), looped.numpy(), rtol=1e-12, atol=1e-14)


def test_dimensions_in_and_out():
    a, b = numbers(2, 5), numbers(5, 3)
    out = vmap(torch.outer, in_dims=(1, 0), out_dims=2)(a, b)
    assert out.shape == (2, 3, 5)
    assert torch.allclose(out[:, :, 1], torch.outer(a[:, 1], b[1]))
    assert vmap(lambda x, y: x * y, in_dims=(0, None))(a, 3.0).shape == (2, 5)
    whole = (torch.argmax, lambda x: x.roll(1), lambda x: x.as_strided((2, 2), (1, 2)))
    assert [vmap(f)(a[:0].reshape(0, 5, 1)).shape for f in whole] == [(0,), (0, 5, 1), (0, 2, 2)]
    first, second = vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(a)
    assert (first.shape, second.shape) == ((5, 2), (2,))
    nested = vmap(lambda p, k: p["a"] * p["b"] * k, in_dims=({"a": 0, "b": None}, None))
    assert nested({"a": a, "b": 2.0}, 3).shape == (2, 5)
    assert vmap(lambda x: V)(a).shape == (2, 3)
    assert vmap(lambda x: V, out_dims=None)(a).shape == (3,)


def test_two_levels():
    a, b = numbers(4), numbers(3)
    table = vmap(vmap(lambda x, y: x * y + x, (None, 0)), (0, None))(a, b)
    assert torch.allclose(table, torch.outer(a, b) + a.reshape(-1, 1))
    points = numbers(4, 3)
    pairs = vmap(vmap(lambda p, q: (p - q).norm(), (None, 0)), (0, None))(points, points)
    assert torch.allclose(pairs, (points.unsqueeze(1) - points.unsqueeze(0)).norm(dim=2))


def test_gradients_for_each_sample():
    w, data = numbers(3), numbers(4, 3)

    def loss(w, x):
        return torch.tanh(w @ x) ** 2

    each = vmap(grad(loss), in_dims=(None, 0))(w, data)
    looped = torch.stack([grad(loss)(w, x) for x in data])
    assert torch.allclose(each, looped)


def test_any_order_of_transforms():
    x = numbers(4, 3)

    def f(r):
        return (r**3).sum() * r[0]

    want = torch.stack([jacrev(jacrev(f))(r) for r in x])
    for second in (hessian(f), jacfwd(jacfwd(f)), jacrev(jacfwd(f)), jacfwd(jacrev(f))):
        assert torch.allclose(vmap(second)(x), want)
    t = numbers(4, 3)
    pushed = vmap(lambda r, d: jvp(f, (r,), (d,))[1])(x, t)
    assert torch.allclose(
        pushed, torch.stack([jvp(f, (r,), (d,))[1] for r, d in zip(x, t, strict=True)])
    )
    value, along = jvp(vmap(f), (x,), (t,))
    assert torch.allclose(value, vmap(f)(x))
    assert torch.allclose(along, pushed)


def test_a_0d_batch_does_not_decide_the_dtype():
    halves = numbers(3)
    row = torch.ones(2)
    assert vmap(lambda s: s * row)(halves).dtype is (halves[0] * row).dtype is torch.float32


OF_TWO = """
add sub mul div pow atan2 hypot maximum fmin fmod remainder copysign heaviside logaddexp logaddexp2
xlogy eq floor_divide float_power ldexp gcd bitwise_and nextafter dot vdot inner outer kron matmul
F.mse_loss F.l1_loss F.huber_loss F.smooth_l1_loss F.hinge_embedding_loss F.soft_margin_loss
F.poisson_nll_loss F.cosine_similarity F.pairwise_distance
"""


@family("name", OF_TWO.split())
def test_elements_of_two_dtypes_meet_as_they_do_alone(name):
    f = getattr(F, name[2:]) if name[:2] == "F." else getattr(torch, name)
    for types in ("64 16", "16 64", "32 64", "64 32", "int32 int32", "uint8 uint8", "int32 16"):
        x, y = (torch.tensor([1.3, 2.1, 3.7]).to(getattr(torch, t if "i" in t else f"float{t}"))
                for t in types.split())  # fmt: skip
        for other in (y, y[0])[: 2 - (f.__name__[-5:] == "_loss")]:
            try:
                alone = f(x, other)
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue
            found = vmap(f)(torch.stack([x, x]), torch.stack([other, other]))[1]
            near = 2e-3 if alone.dtype is torch.float16 else 1e-6
            assert found.dtype is alone.dtype, (x.dtype, other)
            assert not other.ndim or torch.allclose(found.double(), alone.double(), rtol=near)


def test_a_single_number_of_a_batch_meets_one_beside_it_as_its_equal():
    double = torch.tensor(2.0, dtype=torch.float64)
    x = torch.ones(3)
    for f in (torch.add, torch.mul, torch.div, torch.atan2, torch.maximum, torch.copysign):
        assert vmap(f, in_dims=(0, None))(x, double).dtype is torch.float64
        assert vmap(lambda a, f=f: f(double, a))(x).dtype is torch.float64
        assert vmap(f, in_dims=(0, None))(torch.ones(3, 1), double).dtype is torch.float32
    assert vmap(lambda a: 2 * a + 1.5)(x).dtype is torch.float32


def test_channels_are_dropped_of_inputs_without_a_batch():
    torch.manual_seed(0)
    volumes = F.dropout3d(torch.ones(40, 2, 2, 2), 0.5).flatten(1).sum(1)
    assert set(volumes.tolist()) == {0.0, 16.0}
    lines = F.dropout1d(torch.ones(40, 8), 0.5).sum(1)
    assert set(lines.tolist()) == {0.0, 16.0}
    with pytest.raises(RuntimeError, match="2D or 3D input"):
        F.dropout1d(torch.ones(2, 2, 2, 2))


def test_logits_of_a_batch_meet_their_targets_dtype():
    x, y = torch.ones(2, 1, dtype=torch.float64), torch.ones(2, 1)
    found = vmap(F.binary_cross_entropy_with_logits)
    assert found(x, y).dtype is found(x, y.int()).dtype is torch.float64  # alone it is float32


def test_a_slope_of_no_quotient_is_0_beside_a_0_divisor():
    def rounded(x, y):
        return torch.div(x, y, rounding_mode="trunc").sum()

    x, y = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 1.0]])
    assert [g.tolist() for g in vmap(grad(rounded, (0, 1)))(x, y)] == [[[0, 0]], [[0, 0]]]


def test_conversions_of_a_batch():
    for copy in (None, True, False):
        assert torch.equal(vmap(lambda x, copy=copy: torch.asarray(x, copy=copy))(W), W)
    assert vmap(lambda x: torch.asarray(x, dtype=torch.int64))(W).dtype is torch.int64


def escaped():
    kept = []
    vmap(lambda x: kept.append(x) or x)(V)
    return kept[0]


REFUSED = {
    "condition": (lambda: vmap(lambda x: x if x > 0 else -x)(V), "E0414"),
    "number": (lambda: vmap(lambda x: x.item())(V), "E0414"),
    "no inputs": (lambda: vmap(torch.sin)(), "E0303"),
    "out=": (lambda: vmap(lambda x: torch.sin(x, out=x))(V), "E0414"),
    "numbers of a list": (lambda: vmap(lambda x: torch.tensor([x[0], x[1]]))(W), "E0414"),
    "ended": (lambda: escaped().sin(), "E0414"),
    "ended, written": (lambda: escaped().fill_(0), "E0414"),
    "ended, detached": (lambda: escaped().detach(), "E0414"),
    "ended, zeros like it": (lambda: torch.zeros_like(escaped()), "E0414"),
    "ended, zeros beside it": (lambda: escaped().new_zeros(2), "E0414"),
    "ended, its maximum": (lambda: escaped().max(), "E0414"),
    "a list for a tuple": (
        lambda: vmap(lambda xy: xy[0] + xy[1], in_dims=((0, 0),))([V, V]),
        "E0303",
    ),
    "sizes": (lambda: vmap(torch.dot)(numbers(2, 3), numbers(4, 3)), "E0303"),
    "nothing mapped": (lambda: vmap(torch.sin, in_dims=None)(V), "E0303"),
    "no such dimension": (lambda: vmap(torch.sin, in_dims=1)(V), "E0303"),
    "entries": (lambda: vmap(torch.dot, in_dims=(0,))(W, W), "E0303"),
    "not a number": (lambda: vmap(torch.sin, in_dims=0.5)(V), "E0303"),
    "out None": (lambda: vmap(torch.sin, out_dims=None)(V), "E0303"),
    "shapes": (lambda: vmap(lambda x: x @ V)(numbers(2, 2)), "E0301"),
    "a parameter": (lambda: vmap(lambda x: torch.nn.Parameter(x) * x)(V), "E0412"),
    "several values fill one": (lambda: vmap(lambda x: x.clone().fill_(V))(numbers(2, 3)), "E0301"),
    "a place counted from the end": (
        lambda: vmap(torch.take_along_dim)(numbers(2, 3), torch.tensor([[0, -1], [1, 1]])),
        "E0307",
    ),
    "entries among others'": (
        lambda: vmap(lambda x: torch.as_strided_scatter(x, V[:2], (2,), (2,)), -1)(numbers(6, 2)),
        "E0414",
    ),
}


@family("case", REFUSED)
def test_what_is_refused(case):
    call, code = REFUSED[case]
    with pytest.raises(Fault) as fault:
        call()
    assert fault.value.code == code


def test_an_index_that_differs_along_the_batch():
    w = torch.arange(12.0).reshape(4, 3)
    i = torch.tensor([2, 0, 3])
    assert torch.equal(vmap(lambda k: w[k])(i), w[i])
    rows = torch.stack([w, w + 100, w + 200])
    assert vmap(lambda x, k: x[k, 1])(rows, i).tolist() == [7, 101, 210]
    pairs = torch.tensor([[0, 1], [1, 1], [3, 2]])
    assert torch.equal(vmap(lambda k: w[k])(pairs), w[pairs])
    grads = vmap(grad(lambda x, k: x[k].square()), in_dims=(None, 0))(w[:, 0], i)
    assert grads.tolist() == [[0, 0, 12, 0], [0, 0, 0, 0], [0, 0, 0, 18]]


@family("chunk_size", [1, 2, 3, 5, 100])
def test_chunks_change_nothing(chunk_size):
    x, y = torch.arange(15.0).reshape(5, 3), torch.arange(10.0).reshape(2, 5)

    def f(a, b):
        return a.sum() * b, (a, b @ b)

    whole = vmap(f, in_dims=(0, 1), out_dims=(1, (0, 0)))(x, y)
    parts = vmap(f, in_dims=(0, 1), out_dims=(1, (0, 0)), chunk_size=chunk_size)(x, y)
    assert torch.equal(whole[0], parts[0])
    assert all(map(torch.equal, whole[1], parts[1]))


@family("draw", [
    torch.poisson, torch.bernoulli, lambda t: torch.normal(t, t), lambda t: torch.multinomial(t, 2),
    lambda t: torch.multinomial(t, 5, replacement=True),
])  # fmt: skip
def test_numbers_drawn_by_a_batch_are_those_of_one_long_draw(draw):
    chances = torch.tensor([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05]], dtype=torch.double)
    torch.manual_seed(7)
    want = draw(chances)
    torch.manual_seed(7)
    same(vmap(draw, randomness="different")(chances), want.numpy())
    torch.manual_seed(7)
    found = vmap(lambda _: draw(chances), randomness="same")(V)
    same(found, np.stack([want.numpy()] * 3))
    for randomness, said in (("error", "randomness error mode"), ("same", "same randomness")):
        with pytest.raises(RuntimeError, match=said):
            vmap(draw, randomness=randomness)(chances)


@pytest.mark.parametrize("made", [
    lambda v: deque([v], maxlen=3), lambda v: defaultdict(list, {0: v}),
    lambda v: OrderedDict({0: v}),
])  # fmt: skip
def test_collections_of_the_standard_library_are_nested_values(made):
    tree = made(torch.rand(3, 2))
    found = vmap(lambda t: (t, t[0] * 2))(tree)
    assert torch.equal(found[1], tree[0] * 2)
    slopes = torch.func.grad(lambda t: t[0].square().sum())(tree)
    pushed = torch.func.jvp(lambda t: t, (tree,), (tree,))[1]
    for value, want in ((found[0], tree[0]), (slopes, tree[0] * 2), (pushed, tree[0])):
        assert type(value) is type(tree) and torch.equal(value[0], want)
        for own in ("maxlen", "default_factory"):
            assert getattr(value, own, None) == getattr(tree, own, None)


@pytest.mark.parametrize("access", [
    lambda v: v.storage(), lambda v: v.set_(V), lambda v: v.apply_(abs),
    lambda v: v.map_(v, max), lambda v: v.is_set_to(v),
])  # fmt: skip
def test_memory_of_a_value_of_a_transform_is_refused(access):
    for transform in (vmap, lambda f: lambda v: torch.func.jvp(f, (v,), (v,))):
        with pytest.raises(NotImplementedError):
            transform(access)(torch.rand(3))


def test_randomness():
    x = torch.zeros(3)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error"):
        vmap(lambda v: v + torch.randn(2))(x)
    same = vmap(lambda v: v + torch.randn(2), randomness="same")(x)
    assert torch.equal(same[0], same[1]) and torch.equal(same[0], same[2])
    torch.manual_seed(0)
    different = vmap(lambda v: v + torch.randn(2), randomness="different")(x)
    torch.manual_seed(0)
    assert torch.equal(different, torch.randn(3, 2))
    torch.manual_seed(0)
    x = torch.zeros(2, 3, 2)
    drawn = vmap(torch.rand_like, in_dims=1, randomness="different")(x)  # as they lie in memory
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(2, 3, 2).transpose(0, 1))
    torch.manual_seed(0)
    x = torch.zeros(3)
    chunks = vmap(lambda v: v + torch.randn(2), randomness="same", chunk_size=1)(x)
    assert torch.equal(chunks, torch.stack([chunks[0]] * 3))
    for draw in (lambda p: torch.bernoulli(p, 0.5), lambda p: p.bernoulli(0.5)):
        with pytest.raises(RuntimeError, match="same randomness with a batched"):
            vmap(draw, randomness="same")(x)
    each = functools.partial(vmap, randomness="different")
    all_alike = functools.partial(vmap, randomness="same")
    rows = torch.rand(2, 3, 4)
    with pytest.raises(RuntimeError, match="same randomness with a batched"):
        all_alike(each(torch.bernoulli))(rows)
    alike = each(lambda m: all_alike(lambda row: torch.bernoulli(m[0]))(m))(rows)
    assert torch.equal(alike, alike[:, :1].expand(2, 3, 4)) and alike.unique().numel() == 2
    chances, X = torch.rand(4), torch.rand(3, 4) + 1
    for draw in (torch.bernoulli, torch.poisson, lambda w: torch.normal(w, 2.0)):
        torch.manual_seed(0)
        slopes = all_alike(grad(lambda w, x, d=draw: (w * x * d(w)).sum()), (None, 0))(chances, X)
        torch.manual_seed(0)  # the weights are a batch for their gradients' sake alone
        assert torch.equal(slopes, X * draw(chances))
        torch.manual_seed(0)
        pushed = jvp(lambda w, d=draw: each(lambda x: x * d(w))(X), (chances,), (chances,))
        torch.manual_seed(0)  # as they lie in memory, each for the same chances
        assert torch.equal(pushed[0], X * draw(chances.expand(3, 4))) and not pushed[1].any()
    halves = vmap(lambda p: p.bernoulli_(0.5), randomness="same")(torch.zeros(3, 8))
    assert torch.equal(halves[0], halves[2])
    with pytest.raises(RuntimeError, match="allowed values for randomness"):
        vmap(lambda v: v, randomness="often")


def same(found, want):
    np.testing.assert_allclose(found.detach().numpy(), np.array(want), rtol=1e-5, atol=1e-12)


def test_permutations_in_nested_vmaps():
    torch.manual_seed(7)
    one = vmap(lambda a: torch.randperm(3), randomness="different")
    drawn = vmap(one, randomness="different")(torch.zeros(3, 2))  # as PyTorch draws them
    assert drawn.tolist() == [
        [[0, 1, 2], [2, 0, 1]], [[1, 0, 2], [1, 2, 0]], [[1, 2, 0], [1, 2, 0]]
    ]  # fmt: skip


def test_places_that_differ_along_the_batch_are_filled_from_either_end():
    places = torch.tensor([[0, -1], [-2, 1]])
    rows = [row.index_fill(0, i, 9.0) for row, i in zip(W.mT, places, strict=True)]
    assert torch.equal(vmap(lambda x, i: x.index_fill(0, i, 9.0))(W.mT, places), torch.stack(rows))
    assert torch.equal(vmap(lambda x, i: x.clone().index_fill_(-1, i, 9.0))(W.mT, places),
        torch.stack(rows))  # fmt: skip


@family("function", [
    torch.linalg.inv_ex, torch.linalg.cholesky_ex, lambda x: torch.linalg.solve_ex(x, x + 1),
    lambda x: torch.linalg.solve_ex(x, W[:2, 0]),
])  # fmt: skip
def test_what_has_no_answer_in_a_batch_is_told_of_each_matrix(function):
    fails = torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 1.0], [1.0, 2.0]]], dtype=torch.float64)
    found, info = vmap(function)(fails)
    assert info.tolist() == [2, 0]
    assert found[0].isnan().all() and torch.allclose(found[1], function(fails[1])[0])
    slope = grad(lambda x: function(x)[0].sum())
    slopes = vmap(slope)(fails)
    assert slopes[0].isnan().any() and torch.allclose(slopes[1], slope(fails[1]))
    nested = vmap(vmap(lambda x: function(x)[1]))(torch.stack([fails, fails.flip(0)]))
    assert nested.tolist() == [[2, 0], [0, 2]]


def test_indices_of_any_form_that_differ_along_the_batch():
    random.seed(3)
    rng, tried = np.random.default_rng(0), 0
    for _ in range(60):
        shape = tuple(random.choice([3, 4]) for _ in range(random.choice([1, 2, 3])))
        x = torch.tensor(rng.standard_normal((2, *shape)))
        own, parts = [], []
        for _ in shape:
            part = random.choice(["own", "own", "same", 1, slice(0, 2), slice(None, None, 2), None])
            if part == "own":
                size = random.choice([(), (2,), (2, 2)])
                own.append(torch.tensor(rng.integers(-3, 3, (2, *size))))
            elif part == "same":
                part = torch.tensor(rng.integers(0, 3, (2,)))
            parts.append(part)
        if not own:
            continue
        tried += 1

        def where(given, parts=parts):
            left = iter(given)
            return tuple(next(left) if p.__class__ is str else p for p in parts)

        def read(x, *given):
            return x[where(given)]

        def written(x, value, *given):
            y = x.clone()
            y[where(given)] = value
            return y

        rows = [(x[b], *(i[b] for i in own)) for b in range(2)]
        picked = [read(*row) for row in rows]
        same(vmap(read)(x, *own), np.stack([p.numpy() for p in picked]))
        value = torch.tensor(rng.standard_normal(picked[0].shape))
        want = [written(row[0], value, *row[1:]).numpy() for row in rows]
        same(vmap(written, in_dims=(0, None, *(0,) * len(own)))(x, value, *own), np.stack(want))
        want = np.stack([jacrev(read)(*row).numpy() for row in rows])
        same(vmap(jacfwd(read))(x, *own), want)
        same(vmap(jacrev(read))(x, *own), want)
    assert tried > 20


LOGITS, CLASSES = torch.randn(50, 4, 3), torch.randint(0, 3, (50, 4))


@pytest.mark.parametrize("function", [
    lambda x, i: F.cross_entropy(x, i), lambda x, i: F.nll_loss(x, i, ignore_index=1),
    lambda x, i: F.embedding(i, x), lambda x, i: x.gather(1, i[:, None]),
    lambda x, i: F.one_hot(i, 3), lambda x, i: x.scatter(1, i[:, None], 0.5),
    lambda x, i: torch.zeros(3).scatter_add(0, i, x[:, 0]), lambda x, i: x.index_select(1, i),
    lambda x, i: x.index_put((i, i), x[:, 0]), lambda x, i: x.index_add(1, i, x[:, i]),
    lambda x, i: x.take(i), lambda x, i: x[:, i],
    lambda x, i: torch.take_along_dim(x, i[:, None], 1),
    grad(lambda x, i: F.cross_entropy(x, i)),
])  # fmt: skip
def test_whole_numbers_are_looked_up_at_once(function, monkeypatch):
    want = np.stack([function(LOGITS[b], CLASSES[b]).numpy() for b in range(50)])

    def by_element(*args):
        raise AssertionError("an element at a time")

    monkeypatch.setattr(Batched, "_each", by_element)
    found = vmap(function)(LOGITS, CLASSES)
    same(found, want)


def test_what_has_a_shape_of_its_own_in_every_element():
    x = torch.tensor([[0.0, 1.0, 0.0], [0.0, 3.0, 0.0]])
    for function in (
        torch.nonzero, torch.unique, torch.unique_consecutive, lambda x: x[x > 0],
        lambda x: torch.masked_select(x, x > 0), lambda x: torch.where(x > 0),
        lambda x: x.clone().__setitem__(x > 0, 0.0), lambda x: torch.tensor(torch.equal(x, x)),
        lambda x: x * len(range(x.sum().long())), lambda x: torch.ones(3)[: x.sum().long()],
        lambda x: f"{x.sum():.2f}", lambda x: F.one_hot(x.long()),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="vmap"):
            vmap(function)(x)
    mask = torch.tensor([True, False, True])
    same(vmap(lambda x: x[mask])(x), x[:, mask].numpy())
    same(vmap(lambda x: torch.masked_select(x, mask))(x), x[:, mask].numpy())
    same(vmap(lambda x: (x.long() & 1) + (x.long() << 1))(x), [[0, 3, 0], [0, 7, 0]])
    strided = [[[0, 1], [1, 0]], [[0, 3], [3, 0]]]
    for offset in (None, 0):
        same(vmap(lambda x, offset=offset: x.as_strided((2, 2), (1, 1), offset))(x), strided)
    constant = torch.arange(3.0)  # a tangent that has no batch, of indices that have
    moved = vmap(lambda x: jvp(lambda x: x.sort()[0], (x,), (constant,))[1])(x)
    same(moved, [[0, 2, 1], [0, 2, 1]])
    assert vmap(torch.linalg.eigh)(torch.eye(3).expand(2, 3, 3)).eigenvalues.shape == (2, 3)
    same(vmap(lambda x: x.clone().uniform_(1, 1), randomness="different")(x), np.ones((2, 3)))
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda x: x.clone().normal_())(x)
    for draw in ("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_"):
        shared = getattr(torch.zeros(3), draw)
        with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched"):
            vmap(lambda x, shared=shared: x + shared(), randomness="different")(x)


def test_what_goes_without_a_dimension_and_what_does_not_fit():
    x = torch.ones(2, 3)
    rows, three = vmap(lambda row: (row * 2, 3.0), out_dims=(0, None))(x)
    assert three == 3.0 and rows.shape == (2, 3)
    for run in (
        lambda: vmap(torch.sin, in_dims=[0])(x), lambda: vmap(torch.sin, in_dims=None)(x),
        lambda: vmap(lambda row: {"a": row}, out_dims=(0,))(x),
        lambda: vmap(lambda d: d["a"], in_dims=({"b": 0},))({"a": x}),
        lambda: vmap(lambda row: (row, 3.0))(x),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="vmap"):
            run()
    for draw in (lambda row: torch.randperm(3), lambda row: torch.randint(0, 9, (4,))):
        with pytest.raises(RuntimeError, match="randomness"):
            vmap(draw)(x)
        first, second = vmap(draw, randomness="same")(x)
        assert first.tolist() == second.tolist()
        assert vmap(draw, randomness="different")(x).shape == (2, len(first))


def test_out_dims_are_nested_as_the_results_are():
    x = numbers(2, 3)
    for given in ([1, 0], {"a": 1}):
        with pytest.raises(ValueError, match="not compatible with the structure"):
            vmap(lambda row: (row, row), out_dims=given)(x)
    assert vmap(lambda row: (row, row), out_dims=(1, 0))(x)[0].shape == (3, 2)
    assert vmap(lambda row: row * 2, chunk_size=2)(torch.zeros(0, 3)).shape == (0, 3)
    for factor in torch.linalg.lu_factor, torch.linalg.ldl_factor:
        assert vmap(factor)(torch.zeros(0, 3, 3)).pivots.shape == (0, 3)


def test_linearize_of_what_is_not_mapped_gives_what_is_not():
    w, rows = torch.tensor([0.5, 1.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def scaled(x):
        total = torch.zeros(2)
        total.add_(torch.func.linearize(torch.sin, w)[1](w))
        return total * x

    want = w.cos() * w * rows
    assert torch.allclose(torch.vmap(scaled)(rows), want)
    pushed = torch.vmap(lambda x: torch.func.linearize(torch.sin, w)[1](x))(rows)
    assert torch.allclose(pushed, w.cos() * rows)


def test_vectors_by_one_matrix_are_their_product_without_vmap_to_the_last_bit():
    torch.manual_seed(0)
    weight, bias, rows = torch.randn(33, 31), torch.randn(33), torch.randn(64, 31)
    want = rows @ weight.T
    assert torch.equal(vmap(lambda x: weight @ x)(rows), want)
    assert torch.equal(vmap(lambda x: x @ weight.T)(rows), want)

    def predict(x):
        return F.linear(x, weight, bias).tanh()

    assert torch.equal(vmap(predict)(rows), predict(rows))
    summed = jacrev(lambda x: predict(x).sum(0))(rows).movedim(1, 0)
    assert torch.allclose(vmap(jacrev(predict))(rows), summed)


ALL = slice(None)


@pytest.mark.parametrize(
    "index", [(1, ALL, "j"), ("i", ALL, "j"), ("j", 1, "j"), ("i", "i"), (ALL, "j", None, "i")]
)
def test_an_index_along_a_batch_takes_numbers_first_as_that_of_an_element_does(index):
    x = torch.arange(8.0).reshape(2, 2, 2)
    given = {"i": torch.tensor([1, 0, 1]), "j": torch.tensor([[0, 1], [1, 0], [1, 1]])}

    def read(i, j):
        return x[tuple({"i": i, "j": j}.get(p, p) if isinstance(p, str) else p for p in index)]

    def write(i, j):
        out, value = x * (i + 2), read(i, j)
        place = tuple({"i": i, "j": j}.get(p, p) if isinstance(p, str) else p for p in index)
        out[place] = torch.arange(float(value.numel())).reshape(value.shape)
        return out

    for f in (read, write):
        each = [f(i, j) for i, j in zip(given["i"], given["j"], strict=True)]
        assert vmap(f)(given["i"], given["j"]).tolist() == torch.stack(each).tolist()


def test_squeeze_of_numbers_inside_vmap_is_a_view():
    p = torch.rand(3, requires_grad=True)
    value = torch.vmap(torch.squeeze)(p)
    assert value is not p and value._is_view() and not value.is_leaf


@pytest.mark.parametrize("call", [
    "normal_()", "uniform_()", "bernoulli_(0.5)", "exponential_()", "geometric_(0.3)", "random_(5)",
])  # fmt: skip
@pytest.mark.parametrize("target", ["leaf", "expanded", "not mapped over"])
def test_a_draw_that_is_refused_leaves_the_generator_where_it_was(call, target):
    x = torch.ones(3, requires_grad=target == "leaf")
    x = torch.ones(1).expand(3) if target == "expanded" else x

    def draw(_other=None):
        return eval(f"x.{call}", {"x": x})

    torch.manual_seed(3)
    expected = torch.randn(2).tolist()
    torch.manual_seed(3)
    with pytest.raises(RuntimeError):
        if target == "not mapped over":
            torch.vmap(draw, randomness="different")(torch.ones(4))
        else:
            draw()
    assert torch.randn(2).tolist() == expected


CHANCES = torch.arange(24.0).reshape(2, 3, 4) / 24


@family("draw", [
    lambda x, p: x.bernoulli_(p), lambda x, p: x.uniform_(), lambda x, p: x.normal_(),
    lambda x, p: torch.rand_like(x), lambda x, p: torch.randn_like(x),
    lambda x, p: torch.randint_like(x, 90), lambda x, p: torch.poisson(9 * x),
    lambda x, p: torch.multinomial(x.reshape(-1, x.shape[-1]), 3).reshape(*x.shape[:-1], 3),
])  # fmt: skip
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_a_batch_is_drawn_for_as_a_whole_in_the_order_of_its_memory(draw, order):
    x = CHANCES.permute(order).contiguous().permute(*np.argsort(order).tolist())

    def drawn(function, *args):
        torch.manual_seed(7)
        return function(*(v.clone() for v in args)), torch.rand(1)

    want = drawn(draw, x, CHANCES)
    each = functools.partial(vmap, randomness="different")
    for function in (each(draw), each(each(draw))):
        found = drawn(function, x, CHANCES)
        assert all(map(torch.equal, found, want))
    alike = functools.partial(vmap, randomness="same")
    like = torch.rand_like, torch.randn_like, lambda v: torch.randint_like(v, 90)
    for one in like:  # as one element lies
        element = drawn(one, x[0])[0]
        assert torch.equal(drawn(alike(one), x)[0], torch.stack([element] * 2))
    dropped = drawn(lambda v: each(torch.nn.functional.dropout)(v) > 0, x)[0]  # in rows
    assert torch.equal(dropped, drawn(torch.nn.functional.dropout, CHANCES)[0] > 0)
    rows = drawn(each(lambda v: torch.zeros_like(v, memory_format=torch.contiguous_format)), x)[0]
    assert rows.is_contiguous()
    with pytest.raises(RuntimeError, match="required rank 4"):
        vmap(lambda v: torch.zeros_like(v, memory_format=torch.channels_last))(x)


def test_a_batch_under_a_tangent_and_of_windows_is_looked_at():
    pushed = lambda x: torch.func.jvp(lambda y: torch.linalg.svd(y)[0], (x,), (x,))[1]  # noqa: E731
    for shape in ((2, 3, 2, 0), (2, 2, 3), (2, 3, 2)):
        x = torch.rand(*shape, dtype=torch.float64)
        want = torch.stack([pushed(v) for v in x])
        np.testing.assert_allclose(torch.vmap(pushed)(x), want)
        np.testing.assert_allclose(
            torch.func.jvp(torch.vmap(lambda y: torch.linalg.svd(y)[0]), (x,), (x,))[1], want
        )
    spectrum = torch.rand(3, 4, dtype=torch.float64) + 0j
    windows = torch.rand(2, 4, dtype=torch.float64) + 0.5
    back = lambda w: torch.istft(spectrum, n_fft=4, hop_length=2, window=w)  # noqa: E731
    want = torch.stack([back(w) for w in windows])
    np.testing.assert_allclose(torch.vmap(back)(windows), want)
    with pytest.raises(RuntimeError, match="window overlap"):
        torch.vmap(back)(windows * torch.tensor([[1.0], [0.0]]))


def _loud(w, x):
    return (w * x).sum() * (2 if w.sum() > 0 else 3)


def _listed(w, x):
    return (w * x * torch.tensor(w.tolist()) * w.max().item()).sum() * float(w[0])


def _filled(w, x):
    v = w.clone()
    v[v > 0.1] *= 2
    return (v * x)[w > 0].sum() + (w * x)[w.nonzero()[:, 0]].sum() + w[w.argmax().item()]


def _put_where(w, x):
    w = w.double()
    put = w.clone().index_put((w > 0,), x[:2]).index_put((w > 0,), w[1:], accumulate=True)
    return (put**2 * torch.where(w.data > 0, x, w)[w.detach() > 0].sum()).sum()


@family(
    "f, transform", product([_loud, _listed, _filled, _put_where], [grad, jacfwd, jacrev, hessian])
)
def test_what_is_not_mapped_over_may_be_looked_at_where_it_is_differentiated_by(f, transform):
    w, x = torch.tensor([0.5, 2.0, -1.0]), numbers(2, 3)
    found = vmap(transform(f), in_dims=(None, 0))(w, x)
    np.testing.assert_allclose(found, torch.stack([transform(f)(w, row) for row in x]), rtol=1e-6)


@family("f", [
    lambda w, x: _loud(w * x, x), lambda w, x: _loud(_put(w, 0, x[0]), x),
    lambda w, x: _loud(w, x) if x.sum() > 0 else w.sum(),
])  # fmt: skip
def test_what_was_computed_from_what_is_mapped_over_is_not_looked_at(f):
    with pytest.raises(Fault, match="data-dependent"):
        vmap(grad(f), in_dims=(None, 0))(V, numbers(1, 3))


def test_a_gradient_that_is_the_same_for_all_needs_no_dimension():
    def same(w):
        return vmap(grad(lambda w, x: (w**3).sum()), in_dims=(None, 0), out_dims=None)(w, W.T)

    np.testing.assert_allclose(same(V), 3 * V**2)
    np.testing.assert_allclose(grad(lambda w: same(w).sum())(V), 6 * V)
    with pytest.raises(ValueError, match="out_dim is None"):
        vmap(grad(lambda w, x: (w * x).sum()), in_dims=(None, 0), out_dims=None)(V, W.T[:1])


@family("run", [
    lambda f: hessian(lambda w: f(w).sum() ** 2)(V), lambda f: jacfwd(lambda w: vjp(f, w)[1](V))(V),
    lambda f: jacfwd(lambda w: vjp(lambda w: (w, f(w)), w)[1]((V, V)))(V),
    lambda f: vmap(grad(lambda w, x: f(w).sum()), in_dims=(None, 0))(V, W.T),
])  # fmt: skip
def test_a_function_without_a_derivative_has_none_in_a_nest(run):
    with pytest.raises(Fault, match="not implemented"):
        run(torch.unique)
