"""What loops go over: ranges that are not known before the run, items by the number of the turn.

A loop over a short list is written out, item by item. Of a long one each item is found by the
number of the turn: an entry of a vector, a number of a range, a tuple of those for ``zip``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.tensor.tensor import Tensor
from gradcli.jit import scalars
from gradcli.jit.control import EXACT, Block, Loop
from gradcli.jit.grown import Grown
from gradcli.jit.ir import NotTraceable, Value
from gradcli.jit.specs import FLOATS, KINDS, SMALL, PyNumber

UNROLLED = 256
"""The most turns of a loop that is written out."""


class Range:
    """A range whose bounds are not known before the run."""

    __slots__ = ("args",)

    def __init__(self, args: list) -> None:
        for a in args:
            whole = a.__class__ is int or (a.__class__ is PyNumber and a.kind == "int")
            if not whole:
                raise NotTraceable("a range of such bounds")
        if len(args) == 3 and args[2].__class__ is not int:
            raise NotTraceable("a range of such bounds")
        self.args = args

    def bounds(self, values: Any) -> tuple:
        """Start, stop and step as operands."""
        given = [values.operand(a) for a in self.args]
        if len(given) == 1:
            return 0, given[0], 1
        return given[0], given[1], given[2] if len(given) == 3 else 1


@dataclass(eq=False, slots=True)
class ByTurn:
    """What a long loop goes over: so many items, each by the number of its turn.

    ``known`` is the iterator for what else may take it, where the items do not depend on an input.
    """

    count: Any
    item: Callable[[PyNumber], Any]
    over: Grown | None = None
    known: Any = None

    @property
    def is_long(self) -> bool:
        """Whether there are more items than what is written out."""
        return self.count.__class__ is not int or self.count > UNROLLED


def by_turn(values: Any, over: Any) -> ByTurn | None:
    """The same as items by the number of the turn; None for what has to be written out."""
    if over.__class__ is ByTurn:
        return over
    if over.__class__ is Grown:
        return ByTurn(over.length(), over.item, over)
    if isinstance(over, range):
        start, step = over.start, over.step
        if max(abs(start), abs(over.stop)) > SMALL:
            return None

        def number(turn: PyNumber) -> PyNumber:
            by, plus = scalars.ARITHMETIC["*"], scalars.ARITHMETIC["+"]
            found = turn if step == 1 else values.note(by, (turn.value, step), "int", True)
            return values.note(plus, (found.value, start), "int", True) if start else found

        return ByTurn(len(over), number)
    if over.__class__ is Value or isinstance(over, Tensor):
        if len(over.shape) != 1 or over.dtype not in FLOATS:
            return None
        return ByTurn(over.shape[0], functools.partial(values.pick, over))
    if isinstance(over, list | tuple) and over:
        kind = KINDS.get(over[0].__class__)
        if kind not in ("int", "float") or any(
            v.__class__ is not over[0].__class__ or abs(v) > EXACT for v in over
        ):  # fmt: skip
            return None
        vector = values.trace.constant(np.array(over))
        return ByTurn(len(over), lambda turn: values.note(scalars.PICK, (vector, turn.value), kind))
    return None


def iterator(values: Any, name: str, args: list, options: dict) -> ByTurn | None:
    """``enumerate``, ``zip`` and ``reversed`` of what is long; None for what is written out."""
    start = args.pop(1) if name == "enumerate" and len(args) == 2 else options.pop("start", 0)
    parts = [by_turn(values, a) for a in args]
    if options or start.__class__ is not int or not parts or None in parts:
        return None
    found: Any = parts
    count = min(part.count for part in found) if len(found) > 1 else found[0].count
    if not any(part.is_long for part in found):
        return None
    over = next((part.over for part in found if part.over is not None), None)
    if name == "zip":
        return ByTurn(count, lambda turn: tuple(part.item(turn) for part in found), over)
    (part,) = found
    if name == "enumerate":
        shift: Any = by_turn(values, range(start, start + 1))
        return ByTurn(count, lambda turn: (shift.item(turn), part.item(turn)), over)
    if over is not None:
        raise NotTraceable("a list that grows, from its end")
    if not isinstance(args[0], list | tuple | range):  # it is made a list of, step by step
        index = Value(values.trace, (), dtypes.int64, example=np.int64(1))
        values.trace.tape.append(Loop((0, count, 1), index, None, [], [], Block([]), []))
    back: Any = by_turn(values, range(count - 1, -1, -1))
    return ByTurn(count, lambda turn: part.item(back.item(turn)))
