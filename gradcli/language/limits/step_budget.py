"""The step budget of a run: one token for each iteration of a loop and each call.

Tokens come from chained C iterators, so that taking one is a single call of C code; between two
portions of tokens Python code looks at the memory that the process holds. Portions are small at
first, and where each iteration takes much memory.

The last iterations before the budget is spent are recorded, so that the error of an endless loop
shows the values that its condition had.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.limits.sizes import TEXT_LIMIT
from gradcli.ops.errors import LimitFault
from gradcli.ops.memory_budget import held, resident, show_bytes

FILE = "<gradcli program>"
"""What generated code calls its file."""
PORTION = 8192
WATCHED = 60
"""How many turns before the end are watched."""
MANY = 2000
"""Steps after which a run counts as long."""


def tokens(
    steps: int, memory: int | None, long: Callable[[], Any] | None = None, after: int = MANY
) -> Iterator[bool]:
    """``steps`` times True, then LimitFault (E0601); E0602 where the run outgrew ``memory``.

    ``long`` is called once, when ``after`` steps have been taken; what it raises ends the run.
    """
    portions = itertools.chain.from_iterable(_portions(steps, memory, long, after))
    return itertools.chain(portions, _Spent(steps))  # type: ignore[arg-type]


class _Spent:
    """What is left of a spent budget: the error again, should something have swallowed the
    first."""

    __slots__ = ("steps",)

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __iter__(self) -> _Spent:
        return self

    def __next__(self) -> bool:
        raise _spent(self.steps, [])


def _portions(
    steps: int, memory: int | None, long: Callable[[], Any] | None, after: int
) -> Iterator[Iterator[bool]]:
    left = max(0, steps - WATCHED)
    late = left - after
    # The most that the process ever held is quick to ask for, what it holds now is not.
    base = resident() if memory and peak() > memory / 2 else 0
    portion = 16
    before = 0
    while left:
        if long is not None and left <= late:
            long()
            long = None
        portion = min(portion, left, left if long is None else left - late)
        left -= portion
        yield itertools.repeat(True, portion)
        if not memory:
            portion = PORTION
            continue
        used = peak()
        if used > memory / 2:
            used = held(base, memory)
        if used > memory:
            said = f"the evaluation holds {show_bytes(used)}; the limit is {show_bytes(memory)}"
            raise LimitFault("E0602", said, help="--max-mem SIZE raises the limit: 4G")
        grew, before = (used - before) / portion, used
        portion = min(2 * portion, PORTION)
        if grew > 0:
            portion = max(1, min(portion, int((memory - used) / 4 / grew)))
    seen: list[tuple[Any, dict[str, Any]]] = []
    for _ in range(min(steps, WATCHED)):
        yield itertools.repeat(True, 1)
        seen.append(_look(sys._getframe(1)))
    raise _spent(steps, seen)


def peak() -> int:
    """The most bytes that this process ever held; 0 where the system does not say."""
    try:
        from resource import RUSAGE_SELF, getrusage  # not on Windows
    except ImportError:
        return 0
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _look(frame: FrameType | None) -> tuple[Any, dict[str, Any]]:
    """Where the program is, and a word on each of its variables there."""
    while frame is not None and frame.f_code.co_filename != FILE:
        frame = frame.f_back
    if frame is None:
        return None, {}
    values = {
        name[2:]: brief(value) for name, value in frame.f_locals.items() if name.startswith("v_")
    }
    return (frame.f_code, frame.f_lineno), values


def brief(value: Any) -> str:
    """A value in a few characters, for a label or a trace."""
    if isinstance(value, Tensor):
        if value.array.size == 1:
            return f"{value.array.item():.6g}"
        shape = ", ".join(map(str, value.array.shape))
        if value.array.size > TEXT_LIMIT or not value.array.size or value.dtype.is_complex:
            return f"{value.dtype.name}[{shape}]"
        with np.errstate(all="ignore"):
            norm = float(np.sqrt(np.sum(np.square(value.array, dtype=np.float64))))
        return f"{value.dtype.name}[{shape}] of norm {norm:.6g}"
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return str(value) if value.bit_length() < 64 else f"{float(value):.6g}" \
            if value.bit_length() < 1000 else "a large whole number"  # fmt: skip
    if isinstance(value, str):
        return repr(value) if len(value) <= 24 else f"{value[:20]!r}..."
    if isinstance(value, list | tuple | range):
        return f"{type(value).__name__} of {len(value):,}" if _sized(value) else "range"
    return type(value).__name__


def _sized(value: Any) -> bool:
    try:
        return len(value) >= 0
    except OverflowError:
        return False


def _spent(steps: int, seen: list[tuple[Any, dict[str, Any]]]) -> LimitFault:
    said = f"the program passed {steps:,} steps (turns of loops and calls of functions)"
    fault = LimitFault("E0601", said, help="--max-steps N raises the limit")
    place = _look(sys._getframe(2))[0]
    fault.turns = [values for where, values in seen if where == place]  # type: ignore[attr-defined]
    return fault
