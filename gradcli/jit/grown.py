"""Lists that grow in loops: lists of the generated code too, of single numbers of one type.

    l = []                  a list of the program that a long loop appends to becomes one of the run
    l.append(v)             in the order of the program: these are never shared or moved
    v = l[i]                an item; another index ends the run, as every error does

In reverse mode a list of cotangents stands beside it. The backward turns undo what the forward ones
did: an item that was appended is popped, with all that has arrived at it, so that an index counted
from the end finds the same item again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.jit import scalars
from gradcli.jit.control import Block, Loop
from gradcli.jit.ir import NotTraceable, Value, refusing
from gradcli.jit.specs import PyNumber, widened
from gradcli.ops.operator import OPERATORS


class Grown:
    """A list that grows in a loop, lowered. What else is done with it raises NotTraceable.

    value  the list in the run
    kind   the type of its items (see ``specs``); None while there are none
    home   the block that it is made in: outside it there is no list, or one of several
    walked whether the statements that are lowered stand in a loop over it
    """

    __slots__ = ("home", "kind", "value", "values", "walked")

    def __init__(self, values: Any, held: list) -> None:
        self.values = values
        self.kind: tuple | None = None
        self.walked = False
        self.home = values.region
        self.value = self._noted(scalars.LIST)
        values.grown.append(self)
        for item in held:
            self.append(item)

    def _noted(self, op: Any, *args: Any) -> Value:
        self._check_home()
        out = Value(self.values.trace, (), dtypes.float64, example=np.float64(1))
        return self.values.trace.note(op, args, out)

    def _check_home(self) -> None:
        region = self.values.region
        while region is not self.home:
            region = region.around
            if region is None:
                raise NotTraceable("a list that grew in a block that has ended")

    def append(self, item: Any) -> None:
        """Note that an item is appended."""
        kind = widened(self.values.spec(item))
        if kind[1:3] not in (((), dtypes.float64), ("float",), ("int",)):
            raise NotTraceable("a list that grows by something else than single numbers")
        if self.walked or kind != (self.kind or kind):
            raise NotTraceable("a list that grows in a loop over it, or by several types")
        self.kind = kind
        self._noted(scalars.APPEND, self.value, self.values.operand(self.values.keep(item)))

    def item(self, index: Any) -> Any:
        """An item at a place that is known or computed."""
        whole = index.__class__ is int or (index.__class__ is PyNumber and index.kind == "int")
        if self.kind is None or not whole:
            raise NotTraceable("such items of a list that grows")
        self._check_home()
        args = self.value, self.values.operand(index)
        if self.kind[0] == "number":
            return self.values.note(scalars.AT, args, self.kind[1])
        return self._typed(self._noted(scalars.AT, *args))

    def _typed(self, found: Value) -> Value:
        """An item or a sum of tensors, which may be numbers where the items may be."""
        if self.kind is not None and self.kind[0] == "either":
            self.values.trace.either[found] = self.kind[3]
        return found

    def length(self) -> Any:
        """How many items it has, at this place of the program."""
        self._check_home()
        return self.values.note(scalars.LENGTH, (self.value,), "int", True)

    def total(self) -> Any:
        """The sum of its items, one after the other; of none it is left to the engine."""
        trace = self.values.trace
        count = self.length().value
        index = Value(trace, (), dtypes.int64, example=np.int64(1))
        before, after = (Value(trace, (), dtypes.float64, example=np.float64(1)) for _ in "12")
        outer, trace.tape = trace.tape, []
        turn = self.values.note(scalars.POSITIVE, (index,), "int", True)
        item = self.item(turn)
        if self.kind == ("number", "int"):
            raise NotTraceable("a sum of whole numbers of a list that grows")
        if self.kind == ("number", "float"):
            self.values.trace.numbers.update((before, after))
            item = item.value
        made = self.values.trace.apply(OPERATORS["add"], (before, item), {})
        body, trace.tape = Block(trace.tape, [made]), outer
        trace.tape.append(Loop(
            (0, count, 1), index, None, [before], [0.0], body, [after], turns=True
        ))  # fmt: skip
        if self.kind == ("number", "float"):
            return self.values.note(scalars.POSITIVE, (after,), "float")
        return self._typed(after)

    __bool__ = refusing("the truth of a list that grows")
    __repr__ = refusing("the text of a list that grows")
