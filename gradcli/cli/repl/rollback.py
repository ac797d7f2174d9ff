"""What a session's variables hold, noted before a statement so that it can be taken back.

References are copied: which values a list or a record has, which array, gradient and place in the
graph a tensor has. Memory is not: the engine's undo log copies a piece of it before its first
write, so that a statement that writes nothing costs nothing per entry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from types import CellType, FunctionType, GeneratorType, MethodType
from typing import Any

import numpy as np

from gradcli.engine import Tensor
from gradcli.engine.creation import generator as random
from gradcli.engine.dtypes import DType
from gradcli.engine.grad_mode import next_number
from gradcli.engine.graph.node import AccumulateGrad, Node
from gradcli.engine.record.index_writes import counts, restore_counts
from gradcli.engine.tensor.stale_view import place_of, put_at
from gradcli.engine.undo_log import UndoLog
from gradcli.language.limits.sizes import Lazy
from gradcli.language.names.settings import drawing_states, restore_drawing
from gradcli.ops.errors import Fault
from gradcli.ops.memory_budget import no_collection
from gradcli.ops.operator import Operator

_PLAIN = frozenset(
    (int, float, bool, str, complex, bytes, type(None), type(...), slice, range, DType, Operator)
)
"""Types of values that nothing can change, and of the operators, which no program changes."""

EMPTY = object()
"""The content of a cell that has none yet."""


class Replay:
    """An iterator that can go back: it keeps what was taken since it was noted first.

    What a generator did when it gave an item is not done again when the item is given again.
    """

    __slots__ = ("first", "place", "source", "taken")

    def __init__(self, source: Iterator[Any]) -> None:
        self.source = source
        self.taken: list[Any] = []
        self.first = self.place = 0  # the number of taken[0], and of the next item

    def __iter__(self) -> Replay:
        return self

    def __next__(self) -> Any:
        again = self.place - self.first
        if again == len(self.taken):
            self.taken.append(next(self.source))
        self.place += 1
        return self.taken[again]

    def forget(self, place: int) -> None:
        """Nothing goes back before ``place`` any more."""
        del self.taken[: place - self.first]
        self.first = place


def repeatable(value: Any) -> Any:
    """``value``; for a generator, what gives the same items and can go back."""
    if value.__class__ is not GeneratorType:
        return value
    return Lazy(f"generator object {value.__name__.removeprefix('v_')}", value)


class Snapshot:
    """The references of everything that can be reached from ``variables``."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._tensors: list[tuple[Any, ...]] = []
        self._others: list[tuple[Any, Callable[[Any, Any], None], Any]] = []
        self._memory: list[Any] = []
        self._replays: list[tuple[Replay, int]] = []
        self._random = random.snapshot(), drawing_states()
        self._index_writes = counts()
        self._todo: list[Any] = [v for v in variables.values() if v.__class__ not in _PLAIN]
        with no_collection():
            self._walk()
        self.log = UndoLog(self._memory, next_number())

    def restore(self) -> None:
        """Put everything back as it was."""
        for tensor, kind, array, dtype, edge, meta in self._tensors:
            if tensor.__class__ is not kind:
                tensor.__class__ = kind
            tensor.array, tensor._dtype, tensor.meta = array, dtype, meta
            put_at(tensor, edge)
        for value, put_back, state in self._others:
            put_back(value, state)
        for replay, place in self._replays:
            replay.place = place
        self.log.undo()
        restore_counts(self._index_writes)
        random.restore(self._random[0])
        restore_drawing(self._random[1])

    def is_oldest(self) -> None:
        """Nothing before this snapshot is restored any more."""
        for replay, place in self._replays:
            replay.forget(place)

    @property
    def nbytes(self) -> int:
        """About the memory that it takes, the log's copies included."""
        taken = sum([replay.place - place for replay, place in self._replays])
        return 200 * len(self) + 50 * taken + self.log.nbytes

    def __len__(self) -> int:
        """How many values were noted."""
        return len(self._tensors) + len(self._others)

    def _walk(self) -> None:
        # What is noted keeps what it refers to alive, so that no id is given twice.
        todo, seen = self._todo, set()
        tensors, others, memory = self._tensors, self._others, self._memory
        while todo:
            value = todo.pop()
            kind = value.__class__
            if kind in _PLAIN or id(value) in seen:
                continue
            seen.add(id(value))
            if Tensor in kind.__mro__:  # a dual is an instance of Tensor, too, and a plain object
                try:
                    array = value.own_array() if kind._flips else value.array
                except Fault:  # a parameter of a lazy layer has none yet
                    others.append((value, _restore_uninitialized, (kind, dict(value.__dict__))))
                    continue
                edge, meta = place_of(value), value.meta
                tensors.append((value, kind, array, value.dtype, edge, meta))
                if not isinstance(array, np.generic):
                    memory.append(array)
                if edge is not None:
                    todo.append(edge)
                if meta is not None:
                    todo.append(meta)
                own = getattr(value, "__dict__", None)  # a Parameter's
                if own is not None:
                    todo += own.values()
                    others.append((value.__dict__, _restore_dict, dict(own)))
                continue
            found = self._note(value)
            if found is not None:
                others.append((value, *found))

    def _note(self, value: Any) -> tuple[Any, Any] | None:
        """How to restore a value, and its state; what it refers to is put on the list."""
        todo = self._todo
        if isinstance(value, list):
            self._follow(value)
            return _restore_collection, list(value)
        if isinstance(value, tuple):
            self._follow(value)
            return None
        if isinstance(value, dict):
            todo += value.keys()
            todo += value.values()
            return _restore_dict, dict(value)
        if isinstance(value, set | deque):
            todo += value
            return _restore_collection, list(value)
        if isinstance(value, Lazy):
            if value.items.__class__ is not Replay:
                value.items = Replay(iter(value.items))
            self._replays.append((value.items, value.items.place))
            return None
        if isinstance(value, np.ndarray):
            self._memory.append(value)
            return None
        if isinstance(value, Node):
            return self._note_node(value)
        if isinstance(value, FunctionType):
            self._note_function(value)
            return None
        if isinstance(value, CellType):
            content = held_by(value)
            todo.append(content)
            return restore_cell, content
        if isinstance(value, MethodType):
            todo += (value.__self__, value.__func__)
            return None
        if isinstance(value, partial):
            todo += (value.func, *value.args, *value.keywords.values())
            return None
        if isinstance(value, np.random.BitGenerator):
            return _restore_bits, value.state
        return self._note_object(value)

    def _follow(self, items: Collection[Any]) -> None:
        """Put the items on the list that anything could change; of numbers there may be many."""
        if not _PLAIN.issuperset(map(type, items)):
            self._todo += (v for v in items if v.__class__ not in _PLAIN)

    def _note_node(self, node: Node) -> tuple[Any, Any]:
        """A node at a tensor; what lies behind it in the graph only a backward pass changes."""
        extra = node.extra
        grad = node.grad if node.__class__ is AccumulateGrad else None
        self._todo.append(grad)
        self._todo += () if extra is None else extra.__dict__.values()
        return _restore_node, (grad, extra, None if extra is None else dict(extra.__dict__))

    def _note_function(self, function: FunctionType) -> None:
        self._todo += function.__closure__ or ()
        self._todo += function.__defaults__ or ()
        self._todo += (function.__kwdefaults__ or {}).values()

    def _note_object(self, value: Any) -> tuple[Any, Any] | None:
        """A record of gradcli: a layer, an optimizer, the ctx of a custom Function."""
        kind = type(value)
        if isinstance(value, type) or kind.__module__.partition(".")[0] != "gradcli":
            return None
        own = getattr(value, "__dict__", None)
        slots = {}
        for base in kind.__mro__:
            names = base.__dict__.get("__slots__", ())
            for name in (names,) if isinstance(names, str) else names:
                if not name.startswith("__") and hasattr(value, name):
                    slots[name] = getattr(value, name)
        self._todo += slots.values()
        self._todo += (own or {}).values()
        return _restore_object, (kind, None if own is None else dict(own), slots)


def _restore_dict(value: dict, items: dict) -> None:
    value.clear()
    value.update(items)


def _restore_collection(value: Any, items: list) -> None:
    value.clear()
    (value.update if isinstance(value, set) else value.extend)(items)


def held_by(cell: CellType) -> Any:
    """What a cell has, ``EMPTY`` where that is nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def restore_cell(cell: CellType, content: Any) -> None:
    """Put back what a cell had, as ``held_by`` gave it."""
    if content is not EMPTY:
        cell.cell_contents = content
    elif held_by(cell) is not EMPTY:
        del cell.cell_contents


def _restore_bits(bits: Any, state: Any) -> None:
    bits.state = state


def _restore_node(node: Node, state: Any) -> None:
    grad, extra, own = state
    if isinstance(node, AccumulateGrad):
        node.grad = grad
    node.extra = extra
    if extra is not None:
        _restore_dict(extra.__dict__, own)


def _restore_uninitialized(value: Any, state: Any) -> None:
    value.__class__, own = state
    value.edge = None
    _restore_dict(value.__dict__, own)


def _restore_object(value: Any, state: Any) -> None:
    kind, own, slots = state
    if value.__class__ is not kind:
        value.__class__ = kind
    for name, content in slots.items():
        if getattr(value, name, EMPTY) is not content:
            setattr(value, name, content)
    if own is not None:
        _restore_dict(value.__dict__, own)
