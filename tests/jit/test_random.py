"""Random expressions over the operators: generated code agrees with the engine.

Values are brought back between -2 and 2 now and then, so that an expression magnifies the last
digit, in which ``math`` and NumPy may differ, by no more than what the tolerance leaves.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.jit import eager
from gradcli.ops import OPERATORS
from tests.jit.test_table import close, leaves
from tests.support.families import family

UNARY = (
    "sin", "cos", "tanh", "exp", "atan", "sinh", "asinh", "sigmoid", "softplus", "square", "neg",
    "relu", "abs", "erf", "elu", "softsign", "leaky_relu", "hardtanh", "logsigmoid", "floor",
    "sign", "frac", "expm1", "sinc", "i0", "bessel_j0", "ndtr",
)  # fmt: skip
BINARY = ("add", "sub", "mul", "maximum", "minimum", "atan2", "logaddexp", "hypot", "fmax", "fmin")
POSITIVE = ("log", "sqrt", "rsqrt", "reciprocal", "log1p", "cbrt", "lgamma", "log2", "digamma")
REDUCE = ("sum", "mean", "var", "norm", "logsumexp", "amax", "amin", "prod", "std")
MOVE = ("flip", "cumsum", "softmax", "log_softmax", "roll", "reverse_dims", "clone")
TAME = ("tanh", "sin", "atan")
WHAT = ("value", "gradient", "hessian", "jvp", "hvp")


def expression(seed: int) -> tuple[Any, list]:
    """A function of tensors, and the inputs to call it with; always the same for a seed."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    shapes = [rng.choice([(), (), (3,), (4,), (2, 3), (9,)]) for _ in range(rng.randint(1, 3))]
    inputs = [np.asarray(numbers.uniform(-2, 2, shape)) for shape in shapes]
    inputs = [float(a) if not a.shape else a for a in inputs]
    steps = [
        (rng.choice("uuubbbpprmwcn"), rng.random(), rng.random(), rng.random())
        for _ in range(rng.randint(3, 14))
    ]

    def pick(names: Any, part: float) -> Any:
        return names[int(part * len(names))]

    def function(*values: Any) -> Any:
        pool = list(values)
        for kind, a, b, c in steps:
            x, y = pick(pool, a), pick(pool, b)
            if kind == "u":
                out = OPERATORS[pick(UNARY, c)](x)
            elif kind == "p":
                out = OPERATORS[pick(POSITIVE, c)](x * x + 0.5)
            elif kind == "r":
                out = OPERATORS[pick(REDUCE, c)](x) if x.shape else x * 2
            elif kind == "m":
                out = gradcli.mean(x, -1) if x.shape and c < 0.4 else (
                    _moved(pick(MOVE, c), x, b) if x.shape else x + 1
                )  # fmt: skip
            elif kind == "n":
                out = pick((x * 2.5, 1 - x, x / 3, x**2, x**3.0, 0.5**x, x - 0.0), c)
            elif x.shape and y.shape and x.shape != y.shape:
                out = x * y.sum()
            elif kind == "b":
                out = OPERATORS[pick(BINARY, c)](x, y)
            elif kind == "w":
                out = gradcli.where(x > y, x * y, y - x)
            else:
                out = gradcli.dot(x, y) if len(x.shape) == len(y.shape) == 1 else x / (y * y + 1)
            pool.append(OPERATORS[pick(TAME, b)](out))
        return sum((v.sum() for v in pool[-3:]), 0.0)

    return function, inputs


def _moved(name: str, x: Any, part: float) -> Any:
    if name in ("flip", "cumsum", "softmax", "log_softmax"):
        return OPERATORS[name](x, -1)
    return x[..., 1:] if part < 0.3 else OPERATORS[name](x, 1) if name == "roll" else (
        OPERATORS[name](x)
    )  # fmt: skip


def agrees(seed: int) -> None:
    """One expression, its value and derivatives."""
    function, inputs = expression(seed)
    rng = np.random.default_rng(seed)
    compiled = gradcli.compile(function)
    along = [np.asarray(rng.standard_normal(np.shape(a))) for a in inputs]
    along = [float(a) if not a.shape else a for a in along]
    for what in WHAT:
        given = [*inputs, *along] if what in ("jvp", "hvp") else inputs
        want = eager.RUN[what](function, given, False)
        entry = compiled._wanted(what, tuple(inputs))
        got = compiled._run(what, tuple(given))
        assert entry.program is not None, (seed, what, entry.reason)
        rtol = 1e-13 if what in ("value", "gradient", "jvp") else 1e-12
        try:
            close(got, want, rtol)
        except AssertionError:
            close(got, want, rtol, _unsure(what, function, given, want))


def _unsure(what: str, function: Any, given: list, want: Any) -> float:
    """By how much the engine's own result is unsure: a few last digits of the inputs move it so.

    Second derivatives beside a place that has none subtract numbers that are as good as equal.
    """
    moved = [0.0]
    for part in (0.5, -0.5, 1.0, -1.0):
        near = [a * (1 + part * 2**-51) for a in given]
        for b, c in zip(leaves(want), leaves(eager.RUN[what](function, near, False)), strict=True):
            apart = np.abs(np.asarray(b, float) - np.asarray(c, float))
            moved.append(float(np.max(apart[np.isfinite(apart)], initial=0.0)))
    return 4 * max(moved)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@family("start", range(0, 24, 8))
def test_random_expressions(start):
    for seed in range(start, start + 8):
        agrees(seed)


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 20_000, 1000))
def test_many_random_expressions(start):
    for seed in range(start, start + 1000):
        agrees(seed)
