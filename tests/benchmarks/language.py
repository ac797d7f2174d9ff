"""What the language adds to the calls it makes, and what the parser costs beside Python's own."""

from __future__ import annotations

import ast
import statistics
import time
from collections.abc import Callable

import gradcli
from gradcli.language.parser import parse
from gradcli.language.run import prepare
from tests.benchmarks.chain import chain

CHAIN = """
y = x
for i in range(250):
    y = y*x
    y = y + x
    y = y.sin()
    y = y*1.01
y.backward()
"""
LOOP = "s = 0.0\nfor i in range(1000000): s = s + i*0.5\n"
EXPRESSION = "sum(sigmoid(W @ x + b)**2)"


def ratio(
    ours: Callable[[], object], peer: Callable[[], object], rounds: int
) -> tuple[float, float, float]:
    """Median times of both, interleaved, and the median of the ratios round by round."""
    pairs = []
    for _ in range(rounds):
        times = []
        for work in (ours, peer):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        pairs.append(times)
    own, other = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    return own, other, statistics.median(a / b for a, b in pairs)


def tensors() -> tuple[float, float, float]:
    """A chain of 1,000 tensor operations in the language, limits on, against the same in Python."""
    program = prepare(CHAIN, "file")
    x = gradcli.tensor(0.3, dtype=gradcli.float64, requires_grad=True)
    return ratio(lambda: program.run({"x": x}), lambda: chain(x).backward(), 60)


def numbers() -> tuple[float, float, float]:
    """A loop of 1,000,000 turns over plain numbers, limits on, against CPython."""
    program = prepare(LOOP, "file")
    space: dict = {}
    exec(
        compile("def loop():\n s = 0.0\n for i in range(1000000): s = s + i*0.5\n", "loop", "exec"),
        space,
    )
    return ratio(lambda: program.run({}), space["loop"], 7)


def parsing() -> tuple[float, float, float]:
    """Parsing one expression, against Python's own parser."""
    return ratio(
        lambda: [parse(EXPRESSION) for _ in range(100)],
        lambda: [ast.parse(EXPRESSION) for _ in range(100)],
        20,
    )
