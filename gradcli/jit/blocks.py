"""Large elementwise computations, a block at a time: every temporary stays in the cache.

Instructions that work entry by entry on arrays of one large shape form a group, with the sums of
their results. A group becomes a function of one block, called for all of them with the same few
buffers, on two threads where that pays. The blocks are those that NumPy's pairwise summation splits
an array into, and their sums are joined in its order: a sum has the same rounding as in one piece.
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.jit.ir import Instruction, Value
from gradcli.jit.trace import freeze

LARGE = 1 << 15
"""Entries from which a shape is worked on in blocks."""
BLOCK = 1 << 14
"""The most entries of a block: eight buffers of it are a megabyte."""
THREADED = 1 << 18
"""Entries from which a second thread helps."""

SUMS = ("sum", "mean", "sum_to")
"""What a loop over blocks can add up as it goes; the loop is written for these."""


@dataclass(eq=False, repr=False, slots=True)
class Group:
    """Instructions on one shape that run together; ``sums`` are the sums and means of results."""

    shape: tuple
    instructions: list[Instruction] = field(default_factory=list)
    sums: list[Instruction] = field(default_factory=list)

    def everything(self) -> list[Instruction]:
        """All of it."""
        return [*self.instructions, *self.sums]


def _fits(ins: Instruction) -> bool:
    """Whether an instruction works entry by entry on one large shape of float64."""
    out = ins.out
    if not ins.op.entrywise or math.prod(out.shape) < LARGE or freeze(ins.params) is None:
        return False
    if out.dtype is not dtypes.float64 and out.dtype is not dtypes.bool_:
        return False
    if ins.op.name in ("zeros_like", "ones_like", "clone"):
        return False
    for a in ins.inputs():
        if a.shape != out.shape and a.shape:
            return False
        if a.dtype is not dtypes.float64 and a.dtype is not dtypes.bool_:
            return False
    return any(a.shape for a in ins.inputs())


def _sums(ins: Instruction, fused: dict[Value, Any]) -> bool:
    """Whether an instruction adds up all entries of an array of a group."""
    x = ins.args[0]
    if ins.op.name not in SUMS or x not in fused or x.dtype is not dtypes.float64:
        return False
    return not ins.out.shape


def schedule(instructions: Sequence[Instruction]) -> list[Instruction | Group]:
    """The instructions in an order in which large elementwise ones stand in groups."""
    if not any(_fits(ins) for ins in instructions):
        return list(instructions)
    stage: dict[Value, int] = {}
    fused: dict[Value, Any] = {}
    summed: set[Value] = set()
    alone: dict[int, list[Instruction]] = {}
    groups: dict[int, dict[tuple, Group]] = {}
    for ins in instructions:
        inside = _fits(ins)
        total = _sums(ins, fused)
        at = 0
        for a in ins.inputs():
            if a not in stage:
                continue
            together = (inside or total) and fused.get(a) == ins.args[0].shape if total else (
                inside and fused.get(a) == ins.out.shape
            )  # fmt: skip
            later = (a in fused and not together) or a in summed
            at = max(at, stage[a] + later)
        stage[ins.out] = at
        if inside or total:
            shape = tuple(ins.args[0].shape if total else ins.out.shape)
            group = groups.setdefault(at, {}).setdefault(shape, Group(shape))
            (group.sums if total else group.instructions).append(ins)
            if total:
                summed.add(ins.out)
            else:
                fused[ins.out] = ins.out.shape
        else:
            alone.setdefault(at, []).append(ins)
    found: list[Instruction | Group] = []
    for at in range(max(stage.values()) + 1):
        found += alone.get(at, [])
        found += groups.get(at, {}).values()
    return found


# ---- Running -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _split(size: int) -> tuple[tuple, tuple, int]:
    """The blocks of an array, and which two of the nodes join to which."""
    nodes, joins, blocks = [(0, size)], [], []
    for place, (low, high) in enumerate(nodes):  # grows as it is walked
        n = high - low
        if n <= BLOCK:
            blocks.append((place, low, high))
            continue
        half = n // 2
        half -= half % 8
        joins.append((place, len(nodes), len(nodes) + 1))
        nodes += [(low, low + half), (low + half, high)]
    return tuple(blocks), tuple(reversed(joins)), len(nodes)


def on_two_threads(first: Callable[[], None], second: Callable[[], None]) -> None:
    """Call both at once, the first in this thread. Raises what either of them raises."""
    raised: list[BaseException] = []

    def other() -> None:
        try:
            second()
        except BaseException as fault:
            raised.append(fault)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        first()
    finally:
        thread.join()
    if raised:
        raise raised[0]


def run(
    block: Callable[..., tuple], size: int, buffers: int, arrays: Sequence[Any], sums: int
) -> list[float]:
    """Call ``block(low, high, buffers, *arrays)`` for all blocks; the sums of what it returns."""
    blocks, joins, nodes = _split(size)
    parts: list = [None] * nodes
    left_over = iter(blocks)  # both threads take from it: one may be slower

    def work() -> None:
        space = np.empty((max(buffers, 1), BLOCK))
        with np.errstate(all="ignore"):
            for place, low, high in left_over:
                parts[place] = block(low, high, space[:, : high - low], *arrays)

    if size >= THREADED and (os.cpu_count() or 1) > 1:
        on_two_threads(work, work)
    else:
        work()
    if not sums:
        return []
    for place, left, right in joins:
        parts[place] = [a + b for a, b in zip(parts[left], parts[right], strict=True)]
    return [float(v) for v in parts[0]]
