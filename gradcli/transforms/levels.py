"""Levels of nested transforms: the numbers that tell them apart, and what runs in this thread."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from gradcli.engine.grad_mode import begin_pushing, of_transforms, transformed
from gradcli.engine.tensor.storage import References

next_level = itertools.count(2).__next__
"""Numbers for nested transforms, above Tensor's rank: the innermost is the highest."""


class Vmap(NamedTuple):
    """One that is running: its level, its size, and how it makes a batch of its level."""

    level: int
    count: int  # type: ignore[assignment]  # not tuple's method
    batched: Callable[[Any], Any]
    internal: bool  # of directions or rows, inside another transform


class _Running(threading.local):
    """The transforms that are running in one thread."""

    def __init__(self) -> None:
        self.vmaps: list[Vmap] = []  # outermost first
        self.randomness: dict[int, str] = {}  # what each vmap says of random numbers
        # Levels of dual numbers that are no transform, and how many transforms were around each.
        self.dual = transformed.dual
        self.linear = transformed.linear
        # What writes made part of a level (weak references), and what it was before.
        self.promoted: dict[int, list[tuple[Any, Any]]] = {}

        # Values that have hooks, as they were then.
        self.hooked: list[Any] = []
        # Of ``forward_ad``, by level: the values, and the nodes at tangents that were given.
        self.given: dict[int, weakref.WeakSet] = {}
        self.values: dict[int, References] = {}
        self.pulling: frozenset[int] = frozenset()  # the levels of tangents that a pass is at

    def duals(self, level: int) -> list[Any]:
        """Those of a level of ``forward_ad`` that are still referred to."""
        values = self.values.get(level, References()).alive()
        return [v for v in values if getattr(v, "__gradcli_rank__", 0) == level]

    def begin_dual(self) -> int:
        """A new level of dual numbers, which ``dual`` has until it ends."""
        level = next_level()
        begin_pushing((level,))
        self.dual[level] = len(transformed.by)
        return level

    def internal(self, level: int) -> bool:
        """Whether a level is that of a vmap inside another transform, which nobody wrote."""
        return any(v.internal and v.level == level for v in self.vmaps)


running = _Running()
of_transforms.append(running)
