"""What it takes to undo a statement: memory as it was before a write, saved values before their
release.

A session that wants to take a statement back opens a log of the memory and the nodes that were
there when the statement began. The engine adds an entry before the first write to a piece of that
memory and before a backward pass lets go of what such a node saved. Everything else that a
statement changes (which array a tensor has, its place in the graph, its gradient) is a reference
that the session can copy beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from gradcli.ops.memory_budget import Use

undo = Use()
PART = 4
"""Up to this fraction of a piece of memory is copied in parts."""


class UndoLog:
    """The overwritten memory and the released values of one statement.

    ``arrays`` are those that can be reached when it begins; ``number`` is the sequence number from
    which on nodes are the statement's own; ``outer`` is the log of the session around, which goes
    on.
    """

    __slots__ = ("nbytes", "number", "outer", "owners", "parts", "released", "written")

    def __init__(self, arrays: Iterable[Any], number: int, outer: Any = None) -> None:
        self.number, self.outer = number, outer
        self.owners: dict[int, Any] = {}
        for array in arrays:
            owner = owner_of(array)
            self.owners[id(owner)] = owner
        self.written: list[tuple[Any, Any]] = []
        self.parts: dict[int, int] = {}  # bytes that are copied already of an owner in parts
        self.released: list[tuple[Any, Any]] = []
        self.nbytes = 0

    def write(self, array: Any) -> None:
        """``array`` is about to be written to: it is copied, or all of its memory once many parts
        of that were."""
        if self.outer is not None:
            self.outer.write(array)
        owner = owner_of(array)
        key = id(owner)
        if key not in self.owners:
            return
        copied = self.parts.get(key, 0)
        if copied >= owner.nbytes and copied:
            return
        if PART * (copied + array.nbytes) > owner.nbytes:
            array, copied = owner, owner.nbytes
        else:
            copied += array.nbytes
        self.parts[key] = copied
        self.written.append((array, array.copy()))
        self.nbytes += array.nbytes

    def release(self, order: Iterable[Any]) -> None:
        """The saved values of these nodes, the oldest first, are about to be let go of."""
        if self.outer is not None:
            self.outer.release(order)
        for node in order:
            if node.seq >= self.number:
                return
            if node.saved:
                self.released.append((node, node.saved))

    def undo(self) -> None:
        """Put back what was overwritten and released."""
        for array, before in reversed(self.written):
            writeable = array.flags.writeable
            if not writeable:
                array.flags.writeable = True
            array[...] = before
            if not writeable:
                array.flags.writeable = False
        for node, saved in self.released:
            node.saved = saved


def owner_of(array: Any) -> Any:
    """The array that the memory of ``array`` belongs to: itself, or what it is a view of."""
    base = array.base
    while base is not None:
        if base.__class__ is array.__class__:
            array = base
        base = getattr(base, "base", None)  # NumPy's windows have an object between
    return array


_open: ContextVar[Any] = ContextVar("undo log", default=None)
current_log = _open.get
"""The log that is open in the calling thread, or None."""


def open_log(log: Any) -> None:
    """Make ``log``, which has UndoLog's ``write`` and ``release``, the one that the engine adds to
    in this thread; None closes it."""
    if log is not None:
        undo.on = True
    _open.set(log)


def note_write(array: Any, index: Any = None) -> None:
    """Called before ``array``, or the part of it at a basic index, is written to, where
    ``undo.on``."""
    log = current_log()
    if log is None:
        return
    if index is not None:
        part = array[index]
        if part.__class__ is array.__class__:  # and not a number
            array = part
    log.write(array)
