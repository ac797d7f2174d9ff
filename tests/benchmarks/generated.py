"""``python -m tests.benchmarks.generated``: generated code against its peers, in one process.

For each task the milliseconds of a call are measured in turn for gradcli's generated code,
gradcli's engine, PyTorch eager and, where it is installed, JAX jit (warm), and the ratios of the
medians are shown: what generated code takes over what the peer takes. Run with an interpreter that
has PyTorch; peers that are not installed are left out. ``--threads N`` sets PyTorch's.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gradcli
from gradcli.jit import eager

ROUNDS = 15
SECONDS = 0.02


def chain(m: Any, x: Any) -> Any:
    """1,000 operations."""
    y = x
    for _ in range(250):
        y = y * x
        y = y + x
        y = m.sin(y)
        y = y * 1.01
    return y


def total_chain(m: Any, x: Any) -> Any:
    """The same on vectors."""
    return chain(m, x).sum()


def dot(m: Any, x: Any) -> Any:
    """The first example of the manual."""
    return 2 * m.dot(x, x)


def logistic(m: Any, w: Any, b: Any, X: Any, y: Any) -> Any:
    """The loss of logistic regression."""
    z = X @ w + b
    return (m.log(1 + m.exp(-z)) + (1 - y) * z).mean()


def mlp(m: Any, W1: Any, b1: Any, W2: Any, b2: Any, X: Any, Y: Any) -> Any:
    """256 x 64 x 128 x 10, tanh, mean square."""
    h = m.tanh(X @ W1 + b1)
    r = h @ W2 + b2 - Y
    return (r * r).mean()


def rosenbrock(m: Any, x: Any) -> Any:
    """Of 60 variables."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def large(m: Any, x: Any) -> Any:
    """sum(sin(x)*exp(-x*x))."""
    return (m.sin(x) * m.exp(-x * x)).sum()


def rows(m: Any, a: Any, b: Any, t: Any) -> Any:
    """a*exp(-b*t) on many rows."""
    return (a * m.exp(-b * t)).sum()


def tiny(m: Any, x: Any, y: Any) -> Any:
    """An expression of two numbers."""
    return x * m.sin(x * y) + y * y


def tasks() -> list[tuple]:
    """Name, function, inputs, how many of them are differentiated by, and what is computed."""
    rng = np.random.default_rng(0)
    n = rng.standard_normal
    X, y = n((200, 10)), (n(200) > 0) * 1.0
    layers = (n((64, 128)) / 8, n(128), n((128, 10)) / 11, n(10), n((256, 64)), n((256, 10)))
    one = n(1_000_000)
    return [
        ("tiny expression", tiny, (0.3, 0.7), 2, "gradient"),
        ("chain of 1,000, scalar", chain, (0.5,), 1, "gradient"),
        ("chain of 1,000, 4-vector", total_chain, (np.full(4, 0.5),), 1, "gradient"),
        ("chain of 1,000, 100-vector", total_chain, (np.full(100, 0.5),), 1, "gradient"),
        ("2*dot(x,x), 4-vector", dot, (np.arange(4.0),), 1, "gradient"),
        ("logistic regression 200x10", logistic, (n(10), 0.1, X, y), 2, "gradient"),
        ("MLP 256x64x128", mlp, layers, 4, "gradient"),
        ("Rosenbrock 60, gradient", rosenbrock, (n(60),), 1, "gradient"),
        ("Rosenbrock 60, Hessian", rosenbrock, (n(60),), 1, "hessian"),
        ("sum(sin(x)*exp(-x*x)), 1e7", large, (n(10_000_000),), 1, "gradient"),
        ("a*exp(-b*t), 1e6 rows, 3 slopes", rows, (one, one * 0.1, np.abs(one)), 3, "gradient"),
    ]  # fmt: skip


class Gradcli:
    """Generated code."""

    def __init__(self, f: Callable, inputs: tuple, by: int, what: str) -> None:
        def g(*given: Any) -> Any:
            return f(gradcli, *given, *rest)

        rest = [gradcli.tensor(v, dtype=gradcli.float64) for v in inputs[by:]]
        compiled = gradcli.compile(g)
        given = inputs[:by]
        method = compiled.value_and_grad if what == "gradient" else compiled.hessian
        self.function = g
        self.call = lambda: method(*given)


class Engine(Gradcli):
    """gradcli's engine."""

    def __init__(self, f: Callable, inputs: tuple, by: int, what: str) -> None:
        super().__init__(f, inputs, by, what)
        given = list(inputs[:by])
        self.call = lambda: eager.RUN[what](self.function, given, False)


class Torch:
    """PyTorch eager."""

    def __init__(self, f: Callable, inputs: tuple, by: int, what: str) -> None:
        import torch

        values = [torch.tensor(v, dtype=torch.float64) for v in inputs]

        def gradient() -> Any:
            leaves = [v.requires_grad_() for v in values[:by]]
            return torch.autograd.grad(f(torch, *leaves, *values[by:]), leaves)

        def hessian() -> Any:
            return torch.autograd.functional.hessian(lambda x: f(torch, x), values[0])

        self.call = gradient if what == "gradient" else hessian


class Jax:
    """JAX jit, after its first call."""

    def __init__(self, f: Callable, inputs: tuple, by: int, what: str) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        values = [jax.numpy.asarray(v) for v in inputs]

        def g(*given: Any) -> Any:
            return f(jax.numpy, *given, *values[by:])

        if what == "gradient":
            made = jax.jit(jax.value_and_grad(g, argnums=tuple(range(by))))
        else:
            made = jax.jit(jax.hessian(g))
        self.call = lambda: jax.block_until_ready(made(*values[:by]))


def timed(call: Callable[[], Any], count: int) -> float:
    """Seconds for one of ``count`` calls."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def main() -> None:
    """Run every task."""
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks.generated")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--only", default="")
    asked = options.parse_args()
    kinds: list[Any] = [Gradcli, Engine]
    for kind, module in ((Torch, "torch"), (Jax, "jax")):
        try:
            found = __import__(module)
        except ImportError:
            print(f"{module} is not installed here")
            continue
        if module == "torch":
            found.set_num_threads(asked.threads)
        kinds.append(kind)
    names = [kind.__name__ for kind in kinds]
    print(f"{'generated over':<40}" + "".join(f"{n:>10}" for n in names[1:]) + "   ms")
    for name, f, inputs, by, what in tasks():
        if asked.only not in name:
            continue
        sides = [kind(f, inputs, by, what) for kind in kinds]
        counts = []
        for side in sides:
            side.call()
            counts.append(max(1, int(SECONDS / max(timed(side.call, 1), 1e-7))))
        times: list[list[float]] = [[] for _ in sides]
        for _ in range(ROUNDS if counts[0] > 1 else 5):
            for side, count, found in zip(sides, counts, times, strict=True):
                found.append(timed(side.call, count))
        own, *others = (statistics.median(t) for t in times)
        ratios = "".join(f"{own / other:10.3f}" for other in others)
        print(f"{name:<40}{ratios}   {own * 1e3:.4g}", flush=True)


if __name__ == "__main__":
    main()
