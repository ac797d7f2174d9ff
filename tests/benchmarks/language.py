"""What the language adds to the calls it makes, and what the parser costs beside Python's own."""

from __future__ import annotations

import ast
import statistics
import time
from collections.abc import Callable

import gradcli
from gradcli.language.runtime.run import prepare
from gradcli.language.syntax.parser import parse
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
READS = "s = 0.0\nfor i in range(20000): s = s + x[i % 4].item()\n"
ITEMS = "l = [0.0]*100\nfor i in range(200000): l[i % 100] = l[(i + 1) % 100] + 1.0\n"
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
    return ratio(lambda: program.run({}), _function(LOOP, ""), 7)


def reads() -> tuple[float, float, float]:
    """20,000 entries of a tensor read in a loop, against the same calls in Python."""
    program = prepare(READS, "file")
    x = gradcli.tensor([0.1, 0.2, 0.3, 0.4], dtype=gradcli.float64)
    peer = _function(READS, "x")
    return ratio(lambda: program.run({"x": x}), lambda: peer(x), 15)


def items() -> tuple[float, float, float]:
    """200,000 reads and writes of a list's items, limits on, against CPython."""
    program = prepare(ITEMS, "file")
    return ratio(lambda: program.run({}), _function(ITEMS, ""), 9)


def _function(text: str, parameters: str) -> Callable[..., object]:
    """A program's text as a function of CPython."""
    space: dict = {}
    lines = "".join(f" {line}\n" for line in text.splitlines())
    exec(compile(f"def work({parameters}):\n{lines}", "work", "exec"), space)
    return space["work"]


def parsing() -> tuple[float, float, float]:
    """Parsing one expression, against Python's own parser."""
    return ratio(
        lambda: [parse(EXPRESSION) for _ in range(100)],
        lambda: [ast.parse(EXPRESSION) for _ in range(100)],
        20,
    )
