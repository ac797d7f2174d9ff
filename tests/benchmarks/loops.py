"""``python -m tests.benchmarks.loops``: programs with loops against their peers, in one process.

For each program the time for its value and gradient is measured in turn for generated Python, for
machine code (with llvmlite), for gradcli's engine, PyTorch eager and JAX jit (warm), and shown as
the ratio of generated Python to each. Peers that are not installed are left out; PyTorch runs the
same text. JAX has the loop as ``fori_loop``, and cannot differentiate a while loop in reverse.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import gradcli
from gradcli.jit.program import Generated
from gradcli.language.runtime.run import Limits, prepare

ROUNDS = 5
TURNS = 2000
CHAIN = f"""y = x
for i in range({TURNS}):
    y = y * x
    y = y + x
    y = sin(y)
    y = y * 1.01
y"""
EULER = f"""y = x
for i in range({TURNS}):
    y = y - 0.0001 * k * y
y"""
WHILE = f"""a = x
n = 0
while n < {TURNS}:
    if a > 1:
        a = a * 0.9
    else:
        a = a + 0.1 * k * x
    n = n + 1
a"""
PROGRAMS = {
    "chain of sin and * (1 input)": (CHAIN, {"x": 0.5}),
    "Euler's method (2 inputs)": (EULER, {"x": 2.0, "k": 0.7}),
    "while with a branch (2 inputs)": (WHILE, {"x": 0.5, "k": 0.7}),
}  # fmt: skip
OPERATIONS = {"chain": 4, "Euler": 3, "while": 3}


def of_torch(text: str, values: dict[str, float]) -> Callable[[], Any]:
    """The same text on PyTorch's tensors."""
    import torch

    *body, last = text.split("\n")
    code = compile("\n".join([*body, f"result = {last}"]), "<program>", "exec")

    def call() -> Any:
        leaves = {n: torch.tensor(v, dtype=torch.float64, requires_grad=True)
                  for n, v in values.items()}  # fmt: skip
        scope = {"sin": torch.sin, **leaves}
        exec(code, scope)
        return torch.autograd.grad(scope["result"], list(leaves.values()))

    return call


def of_jax(name: str, values: dict[str, float]) -> Callable[[], Any] | None:
    """The loop by hand, compiled."""
    import jax

    jax.config.update("jax_enable_x64", True)
    if name.startswith("while"):
        return None

    def chain(x: Any) -> Any:
        return jax.lax.fori_loop(
            0, TURNS, lambda i, y: jax.numpy.sin(y * x + x) * 1.01, x + jax.numpy.zeros(())
        )

    def euler(x: Any, k: Any) -> Any:
        return jax.lax.fori_loop(0, TURNS, lambda i, y: y - 0.0001 * k * y, x)

    f = chain if name.startswith("chain") else euler
    made = jax.jit(jax.value_and_grad(f, argnums=tuple(range(len(values)))))
    given = [jax.numpy.asarray(v) for v in values.values()]
    return lambda: jax.block_until_ready(made(*given))


def sides_of(name: str, text: str, values: dict[str, float]) -> dict[str, Callable[[], Any]]:
    """What is measured, by name; the first is what the others are compared with."""
    program = prepare(text, "file")
    leaves = {n: gradcli.tensor(v, requires_grad=True) for n, v in values.items()}
    by = list(leaves)
    args = list(values.values())
    made = Generated(program, leaves, by, limits=Limits(steps=10**9))
    made._may_be_native = False

    def engine() -> Any:
        return gradcli.autograd.grad(program.run(leaves).value, list(leaves.values()))

    found: dict[str, Callable[[], Any]] = {"python": lambda: made.run(*args)}
    try:
        from gradcli.jit.native import Native

        native = Native(made.program, made.pairs)
        found["native"] = lambda: native.run(args, 10**9, None)
    except ImportError:
        print("llvmlite is not installed here")
    found["engine"] = engine
    try:
        found["torch"] = of_torch(text, values)
        found["torch"]()
    except ImportError:
        found.pop("torch", None)
    try:
        jitted = of_jax(name, values)
        if jitted is not None:
            found["jax"] = jitted
            jitted()
    except ImportError:
        pass
    return found


def timed(call: Callable[[], Any]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def memory() -> None:
    """Bytes a turn of Euler's method with both gradients, saved in full and with checkpoints."""
    turns = 100_000
    program = prepare(EULER.replace(str(TURNS), str(turns)), "file")
    leaves = {n: gradcli.tensor(v, requires_grad=True) for n, v in (("x", 2.0), ("k", 0.7))}
    for how, checkpoint in (("all saved", None), ("sqrt", 0), ("revolve:50", 50)):
        made = Generated(program, leaves, ["x", "k"], checkpoint=checkpoint)
        made._may_be_native = False
        tracemalloc.start()
        made.run(2.0, 0.7)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        seconds = timed(lambda made=made: made.run(2.0, 0.7))
        print(f"Euler, {turns:,} turns, {how:<12} {peak / turns:8.2f} bytes a turn "
              f"{seconds / turns * 1e9:8.0f} ns a turn")  # fmt: skip


def main() -> None:
    """Run every program."""
    gradcli.set_default_dtype(gradcli.float64)
    for name, (text, values) in PROGRAMS.items():
        sides = sides_of(name, text, values)
        times: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(ROUNDS):
            for side, call in sides.items():
                times[side].append(timed(call))
        found = {side: statistics.median(t) for side, t in times.items()}
        count = TURNS * OPERATIONS[name.split()[0].removesuffix("'s")]
        print(f"{name:<34} {found['python'] / count * 1e9:6.1f} ns an operation; over " + ", ".join(
            f"{side} {found['python'] / t:.3g}" for side, t in found.items() if side != "python"
        ), flush=True)  # fmt: skip
    memory()


if __name__ == "__main__":
    main()
