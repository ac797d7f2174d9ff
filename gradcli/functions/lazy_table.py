"""A table of names whose values are made, or their modules loaded, when they are first wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any


class LazyTable(Mapping[str, Any]):
    """Values by name: those of ``made``, and of ``sources`` what ``make`` makes of a source at the
    first look-up of its name.

    Where both have a name, ``made`` counts. The order is that of ``sources``, then of ``made``.

    >>> table = LazyTable({"two": 1}, lambda number: number + 1, {"one": 1})
    >>> list(table), "two" in table, table["two"]
    (['two', 'one'], True, 2)
    """

    __slots__ = ("_made", "_make", "_sources")

    def __init__(
        self, sources: Mapping[str, Any], make: Callable[[Any], Any], made: Mapping[str, Any]
    ) -> None:
        self._sources = sources
        self._make = make
        self._made = dict(made)

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:  # of what two threads make the first stays
            return self._made.setdefault(name, self._make(self._sources[name]))
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._sources

    def isdisjoint(self, names: Set[str]) -> bool:
        """Whether it has none of these names: quicker than looking them up one by one."""
        sets = self._made.keys(), self._sources.keys()
        return all(known.isdisjoint(names) for known in sets)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._sources, **self._made})

    def __len__(self) -> int:
        return len(self._sources.keys() | self._made.keys())
