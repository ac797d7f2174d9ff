"""``python -m tests.benchmarks.generated``: generated code against its peers, in one process.

For each task the milliseconds of a call are measured in turn for gradcli's generated code,
gradcli's engine, PyTorch eager, ``torch.func``, JAX jit (warm) and HIPS autograd, and the ratios of
the medians are shown: what generated code takes over what the peer takes. A goal stands behind
the line, and whether it is met. Programs with loops run as generated Python and, with llvmlite, as
machine code; PyTorch and autograd run the same text, JAX has the loop as ``fori_loop`` (a while
loop it cannot differentiate in reverse). Run with an interpreter that has the peers; those that are
not installed are left out. ``--only WORD`` measures the lines with the word, ``--threads N`` sets
PyTorch's.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")  # as in the command: see cli.main

import numpy as np

import gradcli
from gradcli.jit import eager
from gradcli.jit.program import Generated
from gradcli.language.runtime.run import Limits, prepare

ROUNDS = 11
SECONDS = 0.02
TURNS = 2000
PEERS = ("engine", "torch", "func", "jax", "hips")
asked = argparse.Namespace(only="", threads=2)
missed: list[str] = []


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


def quadratic(m: Any, x: Any) -> Any:
    """What SGD minimizes."""
    return ((x - 1) ** 2).sum()


def functions() -> list[tuple]:
    """Name, function, inputs, how many are differentiated by, what is computed, and the goals."""
    rng = np.random.default_rng(0)
    n = rng.standard_normal
    X, y = n((200, 10)), (n(200) > 0) * 1.0
    layers = (n((64, 128)) / 8, n(128), n((128, 10)) / 11, n(10), n((256, 64)), n((256, 10)))
    one = n(1_000_000)
    third = {"torch": 1 / 3}
    return [
        ("tiny expression", tiny, (0.3, 0.7), 2, "gradient", third),
        ("chain of 1,000, scalar", chain, (0.5,), 1, "gradient", {"torch": 1 / 50}),
        ("chain of 1,000, 4-vector", total_chain, (np.full(4, 0.5),), 1, "gradient", third),
        ("chain of 1,000, 100-vector", total_chain, (np.full(100, 0.5),), 1, "gradient", third),
        ("2*dot(x,x), 4-vector", dot, (np.arange(4.0),), 1, "gradient", third),
        ("logistic regression 200x10", logistic, (n(10), 0.1, X, y), 2, "gradient", third),
        ("MLP 256x64x128", mlp, layers, 4, "gradient", {"torch": 1, "jax": 1}),
        ("Rosenbrock 60, gradient", rosenbrock, (n(60),), 1, "gradient", third),
        ("Rosenbrock 60, Hessian", rosenbrock, (n(60),), 1, "hessian", {"jax": 1.5}),
        ("sum(sin(x)*exp(-x*x)), 1e7", large, (n(10_000_000),), 1, "gradient", {"jax": 1}),
        ("a*exp(-b*t), 1e6 rows, 3 slopes", rows, (one, one * 0.1, np.abs(one)), 3, "gradient",
         {"jax": 1}),
    ]  # fmt: skip


# ---- The sides: each gives what is called and measured -------------------------------------------


def of_gradcli(f: Callable, inputs: tuple, by: int, what: str) -> dict[str, Callable]:
    """Generated code, and the engine."""
    rest = [gradcli.tensor(v, dtype=gradcli.float64) for v in inputs[by:]]

    def g(*given: Any) -> Any:
        return f(gradcli, *given, *rest)

    compiled = gradcli.compile(g)
    given = inputs[:by]
    method = compiled.value_and_grad if what == "gradient" else compiled.hessian
    return {
        "generated": lambda: method(*given),
        "engine": lambda: eager.RUN[what](g, list(given), False),
    }


def of_torch(f: Callable, inputs: tuple, by: int, what: str) -> dict[str, Callable]:
    """PyTorch eager, and its function transforms."""
    import torch

    torch.set_num_threads(asked.threads)
    values = [torch.tensor(v, dtype=torch.float64) for v in inputs]

    def g(*given: Any) -> Any:
        return f(torch, *given, *values[by:])

    def gradient() -> Any:
        leaves = [v.detach().requires_grad_() for v in values[:by]]
        return torch.autograd.grad(g(*leaves), leaves)

    if what == "hessian":
        second = torch.func.hessian(g)
        return {
            "torch": lambda: torch.autograd.functional.hessian(g, values[0]),
            "func": lambda: second(values[0]),
        }
    both = torch.func.grad_and_value(g, tuple(range(by)))
    return {"torch": gradient, "func": lambda: both(*values[:by])}


def of_jax(f: Callable, inputs: tuple, by: int, what: str) -> dict[str, Callable]:
    """JAX jit, after its first call."""
    import jax

    jax.config.update("jax_enable_x64", True)
    values = [jax.numpy.asarray(v) for v in inputs]

    def g(*given: Any) -> Any:
        return f(jax.numpy, *given, *values[by:])

    derived = jax.value_and_grad(g, tuple(range(by))) if what == "gradient" else jax.hessian(g)
    made = jax.jit(derived)
    return {"jax": lambda: jax.block_until_ready(made(*values[:by]))}


def of_hips(f: Callable, inputs: tuple, by: int, what: str) -> dict[str, Callable]:
    """HIPS autograd."""
    import autograd

    def g(*given: Any) -> Any:
        return f(autograd.numpy, *given, *inputs[by:])

    if what == "hessian":
        second = autograd.hessian(g)
        return {"hips": lambda: second(inputs[0])}
    first = autograd.grad(g, tuple(range(by)))
    return {"hips": lambda: first(*inputs[:by])}


MAKERS = {None: of_gradcli, "torch": of_torch, "jax": of_jax, "autograd": of_hips}
LOOPS = {
    "loop of sin and * (1 input)": (
        "y = x\nfor i in range(TURNS):\n    y = y * x\n    y = y + x\n    y = sin(y)\n"
        "    y = y * 1.01\ny",
        {"x": 0.5},
    ),
    "loop of Euler's method (2 inputs)": (
        "y = x\nfor i in range(TURNS):\n    y = y - 0.0001 * k * y\ny", {"x": 2.0, "k": 0.7},
    ),
    "while loop with a branch (2 inputs)": (
        "a = x\nn = 0\nwhile n < TURNS:\n    if a > 1:\n        a = a * 0.9\n    else:\n"
        "        a = a + 0.1 * k * x\n    n = n + 1\na",
        {"x": 0.5, "k": 0.7},
    ),
}  # fmt: skip


def program_of(
    name: str, values: dict[str, float], turns: int = TURNS, **options: Any
) -> Generated:
    """One of the programs as generated code."""
    program = prepare(LOOPS[name][0].replace("TURNS", str(turns)), "file")
    leaves = {n: gradcli.tensor(v, requires_grad=True) for n, v in values.items()}
    return Generated(program, leaves, list(leaves), limits=Limits(steps=10**9), **options)


def loop_sides(name: str, text: str, values: dict[str, float]) -> dict[str, Callable]:
    """A program with a loop for every side that is there."""
    args = list(values.values())
    made = program_of(name, values)
    made._may_be_native = False
    text = text.replace("TURNS", str(TURNS))
    program = prepare(text, "file")
    leaves = {n: gradcli.tensor(v, requires_grad=True) for n, v in values.items()}
    found: dict[str, Callable] = {
        "generated": lambda: made.run(*args),
        "engine": lambda: gradcli.autograd.grad(
            program.run(leaves).value, list(leaves.values())
        ),
    }  # fmt: skip
    if installed("llvmlite"):
        from gradcli.jit.native import Native

        native = Native(made.program, made.pairs)
        found["machine code"] = lambda: native.run(args, 10**9, None)
    *body, last = text.split("\n")
    code = compile("\n".join([*body, f"result = {last}"]), "<program>", "exec")
    if installed("torch"):
        import torch

        def of_torch() -> Any:
            given = {n: torch.tensor(v, dtype=torch.float64, requires_grad=True)
                     for n, v in values.items()}  # fmt: skip
            scope = {"sin": torch.sin, **given}
            exec(code, scope)
            return torch.autograd.grad(scope["result"], list(given.values()))

        found["torch"] = of_torch
    if installed("autograd"):
        import autograd

        def run(*given: Any) -> Any:
            scope = {"sin": autograd.numpy.sin, **dict(zip(values, given, strict=True))}
            exec(code, scope)
            return scope["result"]

        slopes = autograd.grad(run, tuple(range(len(args))))
        found["hips"] = lambda: slopes(*args)
    if installed("jax") and "while" not in name:
        import jax

        jax.config.update("jax_enable_x64", True)

        def sine(x: Any) -> Any:
            return jax.lax.fori_loop(
                0, TURNS, lambda i, y: jax.numpy.sin(y * x + x) * 1.01, x + jax.numpy.zeros(())
            )

        def euler(x: Any, k: Any) -> Any:
            return jax.lax.fori_loop(0, TURNS, lambda i, y: y - 0.0001 * k * y, x)

        f = sine if "sin" in name else euler
        jitted = jax.jit(jax.value_and_grad(f, argnums=tuple(range(len(args)))))
        given = [jax.numpy.asarray(v) for v in args]
        found["jax"] = lambda: jax.block_until_ready(jitted(*given))
    return found


def descent() -> dict[str, Callable]:
    """500 steps of SGD on a quadratic of 10 variables."""
    start = np.linspace(-1, 1, 10)
    compiled = gradcli.compile(lambda x: quadratic(gradcli, x))

    def generated() -> Any:
        x = start.copy()
        for _ in range(500):
            x -= 0.01 * compiled.value_and_grad(x)[1][0]
        return x

    def steps(m: Any, make: Callable) -> Any:
        x = make()
        optimizer = m.optim.SGD([x], lr=0.01)
        for _ in range(500):
            optimizer.zero_grad()
            quadratic(m, x).backward()
            optimizer.step()
        return x

    found = {
        "generated": generated,
        "engine": lambda: steps(gradcli, lambda: gradcli.tensor(start, requires_grad=True)),
    }
    if installed("torch"):
        import torch

        found["torch"] = lambda: steps(torch, lambda: torch.tensor(start, requires_grad=True))
    if installed("jax"):
        import jax

        slope = jax.jit(jax.grad(lambda x: quadratic(jax.numpy, x)))

        def of_jax() -> Any:
            x = jax.numpy.asarray(start)
            for _ in range(500):
                x = x - 0.01 * slope(x)
            return jax.block_until_ready(x)

        found["jax"] = of_jax
    return found


def first_gradient() -> dict[str, Callable]:
    """The first gradient of a program of 1,000 statements, which is parsed and checked before.

    One run is no reason to generate code: the command takes the engine, as is measured here.
    """
    forms = ("sin(y{0})", "y{0} * x", "y{0} + 0.25", "y{0} * 1.01")
    lines = [f"y{i + 1} = {forms[i % 4].format(i)}" for i in range(1000)]
    text = "\n".join(["y0 = x", *lines, "y1000"])
    leaf = gradcli.tensor(0.5, requires_grad=True)
    fresh = iter([prepare(text, "file") for _ in range(200)])  # each is run once
    found: dict[str, Callable] = {
        "generated": lambda: gradcli.autograd.grad(next(fresh).run({"x": leaf}).value, [leaf])
    }
    if installed("jax"):
        import jax

        def of_jax() -> Any:
            def f(x: Any) -> Any:
                return chain(jax.numpy, x)

            return jax.block_until_ready(jax.jit(jax.grad(f))(0.5))

        found["jax"] = of_jax
    return found


# ---- Measuring -----------------------------------------------------------------------------------


def installed(module: str | None) -> bool:
    """Whether a peer is there."""
    return module is None or importlib.util.find_spec(module) is not None


def timed(call: Callable[[], Any], count: int) -> float:
    """Seconds for one of ``count`` calls."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def medians(sides: dict[str, Callable]) -> dict[str, float]:
    """Seconds of a call for each side, measured in turn."""
    counts = {}
    for name, call in sides.items():
        call()
        counts[name] = max(1, int(SECONDS / max(timed(call, 1), 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS if counts["generated"] > 1 else 5):
        for name, call in sides.items():
            times[name].append(timed(call, counts[name]))
    return {name: statistics.median(t) for name, t in times.items()}


def verdict(name: str, goals: list[tuple[str, float, float]]) -> str:
    """What was to be reached, and whether it was."""
    for word, found, most in goals:
        if found > most:
            missed.append(f"{name}: {found:.3g} {word}, wanted {most:.3g}")
    return ", ".join(f"{'ok' if f <= most else 'MISSED'}: {most:.3g} {w}" for w, f, most in goals)


def compared(
    name: str, sides: dict[str, Callable], goals: dict[str, float], most: float | None = None
) -> None:
    """A line with the ratios to the peers; one more where there is machine code.

    ``most``: the seconds that it may take.
    """
    found = medians(sides)
    for own in ("generated", "machine code"):
        if own not in found:
            continue
        ratios = "".join(f"{found[own] / found[p]:9.3f}" if p in found else f"{'':>9}"
                         for p in PEERS)  # fmt: skip
        mine = {"jax": 1.2} if own == "machine code" else goals
        met = [(f"of {p}", found[own] / found[p], g) for p, g in mine.items() if p in found]
        if most is not None:
            met.append(("ms", found[own] * 1e3, most * 1e3))
        label = name if own == "generated" else "  as machine code"
        print(f"{label:<36}{found[own] * 1e3:9.4g}{ratios}   {verdict(name, met)}", flush=True)


def figure(name: str, found: float, unit: str, most: float | None = None) -> None:
    """A line with one figure."""
    goal = "" if most is None else verdict(name, [(unit, found, most)])
    print(f"{name:<48}{found:10.4g} {unit:<12} {goal}", flush=True)


def euler() -> None:
    """1e6 steps of an ordinary differential equation: time and memory."""
    turns, values = 1_000_000, {"x": 2.0, "k": 0.7}
    for how, checkpoint in (("all saved", None), ("sqrt", 0), ("revolve:50", 50)):
        made = program_of("loop of Euler's method (2 inputs)", values, turns, checkpoint=checkpoint)
        made._may_be_native = False
        figure(f"Euler, 1e6 steps, {how}", timed(lambda m=made: m.run(2.0, 0.7), 1), "s",
               2 if checkpoint is None else None)  # fmt: skip
        tracemalloc.start()
        made.run(2.0, 0.7)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        if checkpoint is None:
            figure("  its memory", peak / turns, "bytes a step", 40)
        else:
            figure("  its memory", peak / 1e6, "MB", 1)


def processes() -> None:
    """What is measured in processes of its own."""
    with tempfile.TemporaryDirectory() as cache:  # as installed: with its modules compiled
        env = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        first_calls(env)
        shell(env)


def first_calls(env: dict[str, str]) -> None:
    """The first call of a compiled function, after the peer's and the engine's own imports."""
    text = "import time, numpy as np\nimport {0}\nx = np.arange(4.0)\n{1}\n"
    text += "t = time.perf_counter()\n{2}\nprint((time.perf_counter() - t) * 1e3)"
    calls = {
        "gradcli": ("gradcli.tensor(x).sum()",
                    "gradcli.compile(lambda x: 2*gradcli.dot(x,x)).value_and_grad(x)"),
        "jax": ("jax.numpy.asarray(x).sum()",
                "jax.jit(jax.value_and_grad(lambda x: 2*jax.numpy.dot(x,x)))(x)"),
    }  # fmt: skip
    for module, parts in calls.items():
        if not installed(module):
            continue
        code = [sys.executable, "-c", text.format(module, *parts)]
        found = [
            float(subprocess.run(code, check=True, capture_output=True, text=True, env=env).stdout)
            for _ in range(6)
        ]
        figure(f"first call of a compiled function, {module}", statistics.median(found[1:]), "ms")


def shell(env: dict[str, str]) -> None:
    """One gradient in the shell: the generated runner costs it nothing."""
    times: dict[str, list[float]] = {}
    command = [sys.executable, "-m", "gradcli", "grad", "2*dot(x,x)", "--x", "0,1,2,3"]
    for _ in range(9):
        for runner in ("eager", "auto"):
            start = time.perf_counter()
            subprocess.run([*command, "--runner", runner], check=True,
                           stdout=subprocess.DEVNULL, env=env)  # fmt: skip
            times.setdefault(runner, []).append(time.perf_counter() - start)
    eagerly, auto = (statistics.median(times[runner]) for runner in ("eager", "auto"))
    figure("gradcli grad, --runner auto over eager", auto / eagerly, "", 1.05)


def main() -> None:
    """Run every task; exit with 1 where a goal is missed."""
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks.generated")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--only", default="")
    options.parse_args(namespace=asked)
    for module in ("torch", "jax", "autograd", "llvmlite"):
        if not installed(module):
            print(f"{module} is not installed here")
    gradcli.set_default_dtype(gradcli.float64)
    print(f"{'generated over':<36}{'ms':>9}" + "".join(f"{n:>9}" for n in PEERS) + "   goals")
    for name, f, inputs, by, what, goals in functions():
        if asked.only in name:
            sides: dict[str, Callable] = {}
            for module, make in MAKERS.items():
                if installed(module):
                    sides.update(make(f, inputs, by, what))
            compared(name, sides, goals)
    for name, (text, values) in LOOPS.items():
        if asked.only in name:
            compared(name, loop_sides(name, text, values), {"torch": 1 / 50})
    if asked.only in "500 steps of SGD on a quadratic":
        compared("500 steps of SGD on a quadratic", descent(), {"torch": 0.1})
    if asked.only in "first gradient of 1,000 statements":
        compared("first gradient of 1,000 statements", first_gradient(), {"jax": 1}, 5e-3)
    if asked.only in "Euler, 1e6 steps":
        euler()
    if asked.only in "processes":
        processes()
    for line in missed:
        print(f"missed: {line}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
