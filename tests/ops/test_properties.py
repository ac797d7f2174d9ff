"""Random expressions over random broadcastable shapes: every way to a derivative must agree.

An expression is a list of steps, each an operator on earlier values; it is printed as a program
when an example fails. The functions are smooth where the inputs are drawn, so differences can
judge.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli as torch
from gradcli.autograd import grad
from tests.ops.rows import differences, weights

# Bounded and smooth for every argument in [-3, 3], so that values never leave the range of
# differences.
UNARY = {
    "sin": lambda x: torch.sin(x), "tanh": lambda x: torch.tanh(x),
        "sigmoid": lambda x: torch.sigmoid(x),
    "exp of -x^2": lambda x: torch.exp(-x * x), "log of 2+x^2": lambda x: torch.log(2 + x**2),
    "sqrt of 1+x^2": lambda x: torch.sqrt(1 + x * x),
        "reciprocal": lambda x: 1 / (3 + torch.cos(x)),
    "softplus": lambda x: torch.softplus(x) / 2, "neg": lambda x: -x, "half": lambda x: 0.5 * x,
    "mean of rows": lambda x: x.mean(-1, keepdim=True) if x.ndim else x,
    "softmax": lambda x: torch.softmax(x, -1), "flip": lambda x: torch.flip(x, list(range(x.ndim))),
    "transpose": lambda x: x.mT if x.ndim > 1 else x,
    "logsumexp": lambda x: torch.logsumexp(x, list(range(x.ndim))) / 4,
    "norm": lambda x: (x + 4).norm() / (x.numel() + 8), "cumsum": lambda x: torch.cumsum(x, 0) / 4,
    "last": lambda x: x[-1] if x.ndim and x.shape[0] else x,
}  # fmt: skip
BINARY = {
    "add": lambda x, y: (x + y) / 2, "mul": lambda x, y: x * y / 2, "sub": lambda x, y: (x - y) / 2,
    "div": lambda x, y: x / (2 + y * y), "pow": lambda x, y: (2 + torch.sin(x)) ** (y / 4),
    "atan2": lambda x, y: torch.atan2(x, 4 + y), "logaddexp": lambda x,
        y: torch.logaddexp(x, y) / 2,
    "hypot": lambda x, y: torch.hypot(x, y + 4) / 4, "where": lambda x,
        y: torch.where(torch.tensor(even_places(x)), x, y),
}  # fmt: skip


def even_places(x):
    """A condition that differences cannot move: it looks at places, not values."""
    return np.arange(int(np.prod(tuple(x.shape), dtype=int))).reshape(tuple(x.shape)) % 2 == 0


SHAPES = st.sampled_from(
    [
        ((), (3,)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 1), (1, 3)),
        ((2, 3), ()),
        ((1,), (2, 2)),
        ((2, 1, 2), (3, 1)),
    ]
)


@st.composite
def programs(draw):
    """Two shapes, a seed for the numbers, and steps ``(name, place, place)``."""
    steps = []
    for i in range(draw(st.integers(1, 7))):
        places = st.integers(0, i + 1)
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(sorted(UNARY))), draw(places)))
        else:
            steps.append((draw(st.sampled_from(sorted(BINARY))), draw(places), draw(places)))
    return draw(SHAPES), draw(st.integers(0, 10**6)), tuple(steps)


def compute(steps, x, y):
    """The last step's value plus a little of every other, as one number."""
    values = [x, y]
    for name, *places in steps:
        args = [values[p] for p in places]
        if len(args) == 2:
            try:
                np.broadcast_shapes(tuple(args[0].shape), tuple(args[1].shape))
            except ValueError:
                args[1] = args[1].mean()
        values.append((UNARY if len(args) == 1 else BINARY)[name](*args))
    total = 0.0
    for i, v in enumerate(values):
        total = total + (v * weights(tuple(v.shape), i)).sum() * (1.0 if v is values[-1] else 0.1)
    return total


def numbers(shapes, seed):
    rng = np.random.default_rng(seed)
    return [np.asarray(np.round(rng.uniform(-2, 2, s), 3)) for s in shapes]


def leaves(arrays):
    return [torch.tensor(a, requires_grad=True) for a in arrays]


def agree(got, want, tolerance):
    scale = 1 + np.max(np.abs(want), initial=0)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


def value(steps, *arrays):
    return compute(steps, *map(torch.tensor, arrays)).item()


def first(steps, arrays, create_graph=False):
    inputs = leaves(arrays)
    out = compute(steps, *inputs)
    return inputs, grad(out, inputs, create_graph=create_graph, materialize_grads=True)


@settings(max_examples=60, derandomize=True, deadline=None, print_blob=True)
@given(programs())
def test_reverse_is_what_differences_say(program):
    shapes, seed, steps = program
    arrays = numbers(shapes, seed)
    _, found = first(steps, arrays)
    for i, g in enumerate(found):
        agree(g.numpy(), differences(lambda *a: value(steps, *a), arrays, i, 1e-3), 1e-8)


@settings(max_examples=60, derandomize=True, deadline=None, print_blob=True)
@given(programs())
def test_forward_is_reverse(program):
    shapes, seed, steps = program
    arrays = numbers(shapes, seed)
    _, found = first(steps, arrays)
    directions = [weights(a.shape, 3 + i) for i, a in enumerate(arrays)]
    _, tangent = torch.func.jvp(
        lambda x, y: compute(steps, x, y),
        tuple(torch.tensor(a) for a in arrays),
        tuple(torch.tensor(d) for d in directions),
    )
    along = sum(float(np.sum(g.numpy() * d)) for g, d in zip(found, directions, strict=True))
    agree(tangent.item(), along, 1e-12)


def by_graph(steps, arrays, directions):
    """The Hessian times a direction, reverse over reverse."""
    inputs, found = first(steps, arrays, create_graph=True)
    along = sum((g * torch.tensor(d)).sum() for g, d in zip(found, directions, strict=True))
    if not along.requires_grad:
        return [np.zeros(a.shape) for a in arrays]
    return [g.numpy() for g in grad(along, inputs, materialize_grads=True)]


@settings(max_examples=40, derandomize=True, deadline=None, print_blob=True)
@given(programs())
def test_second_order_both_ways_and_by_differences(program):
    shapes, seed, steps = program
    arrays = numbers(shapes, seed)
    directions = [weights(a.shape, 5 + i) for i, a in enumerate(arrays)]
    found = by_graph(steps, arrays, directions)
    inputs = leaves(arrays)
    _, tangent = torch.func.jvp(
        lambda x, y: compute(steps, x, y), tuple(inputs), tuple(torch.tensor(d) for d in directions)
    )
    over = grad(tangent, inputs, materialize_grads=True) if tangent.requires_grad else None

    def along(*shifted):
        return sum(
            float(np.sum(g.numpy() * d))
            for g, d in zip(first(steps, shifted)[1], directions, strict=True)
        )

    for i, h in enumerate(found):
        agree(h, differences(along, arrays, i, 1e-3), 1e-7)
        if over is not None:
            agree(over[i].numpy(), h, 1e-11)


@settings(max_examples=40, derandomize=True, deadline=None, print_blob=True)
@given(programs())
def test_a_second_run_and_a_float32_run_agree(program):
    """Nothing is left behind by a pass; float32 gives the same to its precision, in its own
    dtype.
    """
    shapes, seed, steps = program
    arrays = numbers(shapes, seed)
    inputs = leaves(arrays)
    out = compute(steps, *inputs)
    once = grad(out, inputs, retain_graph=True, materialize_grads=True)
    out.backward()
    narrow = [torch.tensor(a.astype(np.float32), requires_grad=True) for a in arrays]
    compute(steps, *narrow).backward()
    for t, g, n in zip(inputs, once, narrow, strict=True):
        if t.grad is not None:
            np.testing.assert_array_equal(t.grad.numpy(), g.numpy())
            assert n.grad.numpy().dtype == np.float32
            agree(n.grad.numpy(), g.numpy(), 2e-4)


@settings(max_examples=20, derandomize=True, deadline=None, print_blob=True)
@given(programs())
def test_a_detached_part_gets_nothing(program):
    shapes, seed, steps = program
    arrays = numbers(shapes, seed)
    inputs = leaves(arrays)
    whole = compute(steps, *inputs)
    held = compute(steps, inputs[0], inputs[1].detach())
    want = grad(whole, inputs[0], materialize_grads=True)[0]
    got, other = grad(held, inputs, allow_unused=True)
    assert other is None
    if got is not None:
        agree(got.numpy(), want.numpy(), 1e-14)
