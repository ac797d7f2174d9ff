"""Dictionaries and sets of a program: keys that are quick to hash, lengths within their limit.

A dictionary is Python's own. A set is a ``Set``, whose order does not depend on the hashes of its
strings: a program prints the same in every process.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gradcli.language.limits.sizes import (
    WALKED,
    as_list,
    check_table,
    counted,
    filling,
    key,
    take_steps,
)
from gradcli.language.type_names import a_value
from gradcli.ops.errors import bad_argument, bad_type


class View:
    """``d.keys()``, ``d.values()`` or ``d.items()``: what the dictionary holds when it is read."""

    __slots__ = ("held", "kind")

    def __init__(self, kind: str, held: dict) -> None:
        self.kind = kind
        self.held = held

    def __iter__(self) -> Iterator[Any]:
        return iter(getattr(self.held, self.kind)())

    def __len__(self) -> int:
        return len(self.held)

    def __contains__(self, item: Any) -> bool:
        if self.kind == "keys":
            return key(item, sought=True) in self.held
        take_steps(len(self.held))
        return any(found is item or found == item for found in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View | Set):
            return NotImplemented
        return set(map(key, self)) == set(map(key, other))

    __hash__ = None  # type: ignore[assignment]


def named(values: Any) -> dict[str, Any]:
    """``**values`` of a call. Raises TypeFault (E0303) for keys that are no names."""
    found = mapping(values)
    for name in found:
        if not isinstance(name, str) or name[:1] == "_" or not name.isidentifier():
            raise bad_type(
                f"keywords are names, got {name!r}" if isinstance(name, str) else
                f"keywords must be strings, got {a_value(name)}",
                help='write f(**{"name": value})', torch="keywords must be strings",
            )  # fmt: skip
    return found


def own_named(values: Any) -> dict[str, Any]:
    """The same for a function of the program, whose parameters carry generated names."""
    return {f"v_{name}": value for name, value in named(values).items()}


def rest(options: dict[str, Any]) -> dict[str, Any]:
    """``**options`` of a function of the program, under the names of the text."""
    return {name[2:]: value for name, value in options.items()}


def mapping(values: Any) -> dict:
    """``**values``: a dictionary. Raises TypeFault (E0303) for anything else."""
    if not isinstance(values, dict):
        said = f"`**` takes a dictionary, got {a_value(values)}"
        told = f"argument after ** must be a mapping, not {type(values).__name__}"
        raise bad_type(said, help='write **{"name": value}', torch=told)
    check_table(len(values))
    return values


def of_pairs(pairs: Iterable[Any]) -> dict:
    """A dictionary of pairs. Raises ValueFault (E0304) for what is no pair."""
    made: dict = {}
    for item in filling(made, pairs):
        if isinstance(item, list | tuple | str) and len(item) == 2:
            name, value = item[0], item[1]
        else:
            said = f"a dictionary is made of pairs, got {a_value(item)}"
            raise bad_argument(said, help="write dict([(key, value)]), or {key: value}")
        made[key(name)] = value
    return made


def dictionary(values: Any = (), /, **more: Any) -> dict:
    """``dict(values, name=value)``."""
    if isinstance(values, dict):
        check_table(len(values))
        made = dict(values)
    else:
        made = of_pairs(counted(values))
    made.update(more)
    return made


def _updated(held: dict, values: Any = (), /, **more: Any) -> None:
    found = dictionary(values, **more)
    check_table(len(held) + len(found))
    held.update(found)


def _copied(held: dict) -> dict:
    check_table(len(held))
    return held.copy()


def _fromkeys(names: Any, value: Any = None) -> dict:
    made: dict = {}
    for name in filling(made, counted(names)):
        made[key(name)] = value
    return made


def _moved(held: dict, name: Any, last: bool = True) -> None:
    if not isinstance(held, OrderedDict):
        raise bad_type("move_to_end is a method of OrderedDict")
    held.move_to_end(key(name, sought=True), bool(last))


def _counts(held: dict, most: Any = None) -> list:
    """``Counter.most_common``."""
    items = sorted(held.items(), key=lambda pair: pair[1], reverse=True)
    return items if most is None else items[:most]


DICT_METHODS: dict[str, Callable] = {
    "keys": lambda held: View("keys", held), "values": lambda held: View("values", held),
    "items": lambda held: View("items", held), "clear": dict.clear,
    "get": lambda held, name, default=None: held.get(key(name, sought=True), default),
    "pop": lambda held, name, *default: held.pop(key(name, sought=True), *default),
    "setdefault": lambda held, name, value=None: held.setdefault(key(name), value),
    "update": _updated, "copy": _copied,
    "popitem": lambda held, *last: held.popitem(*last), "move_to_end": _moved,
    "most_common": _counts, "fromkeys": lambda held, *given: _fromkeys(*given),
}  # fmt: skip


def _comparing(compare: Callable[[Any, Any], bool]) -> Callable[[Set, Any], bool]:
    return lambda self, other: compare(self.held.keys(), _other(other).keys())


def _into(combine: Callable[[Set, Any], Set]) -> Callable[[Set, Any], Set]:
    def changed(self: Set, other: Any) -> Set:
        found = combine(self, other).held
        self.held.clear()
        self.held.update(found)
        return self

    return changed


class Set:
    """A set: its items in ascending order where all are whole numbers, else as they came."""

    __slots__ = ("held",)

    def __init__(self, items: Iterable[Any] = ()) -> None:
        held: dict[Any, None] = {}
        for item in filling(held, items):
            held[key(item)] = None
        self.held = held

    def __iter__(self) -> Iterator[Any]:
        if all(item.__class__ is int for item in self.held):
            return iter(sorted(self.held))
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)

    def __contains__(self, item: Any) -> bool:
        return key(item, sought=True) in self.held

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Set):
            return NotImplemented
        return self.held.keys() == other.held.keys()

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Any) -> Set:
        found, more = Set(), _other(other)
        check_table(len(self) + len(more))
        found.held = self.held | more
        return found

    def __and__(self, other: Any) -> Set:
        kept = _other(other)
        return Set(item for item in self.held if item in kept)

    def __sub__(self, other: Any) -> Set:
        gone = _other(other)
        return Set(item for item in self.held if item not in gone)

    __ior__, __iand__, __isub__ = _into(__or__), _into(__and__), _into(__sub__)
    __le__, __lt__ = _comparing(operator.le), _comparing(operator.lt)
    __ge__, __gt__ = _comparing(operator.ge), _comparing(operator.gt)


def _other(value: Any) -> dict:
    if isinstance(value, Set):
        take_steps(len(value))
        return value.held
    raise bad_type(f"the other side is no set but {a_value(value)}", help="set(items)")


def set_of(values: Any = ()) -> Set:
    """``set(values)``."""
    return Set(as_list(values))


def _with(combine: Callable[[Set, Set], Any]) -> Callable:
    def method(self: Set, *others: Any) -> Any:
        found = self
        for other in others:
            found = combine(found, set_of(other))
        return Set(found.held) if found is self else found

    return method


def _added(self: Set, item: Any) -> None:
    self.held[key(item)] = None


def _removed(self: Set, item: Any) -> None:
    del self.held[key(item, sought=True)]


def _extended(self: Set, *others: Any) -> None:
    for other in others:
        more = set_of(other).held
        check_table(len(self) + len(more))
        self.held.update(more)


def _first(self: Set) -> Any:
    for item in self:
        del self.held[item]
        return item
    raise bad_argument("pop from an empty set")


SET_METHODS: dict[str, Callable] = {
    "add": _added, "remove": _removed, "update": _extended, "clear": lambda self: self.held.clear(),
    "discard": lambda self, item: self.held.pop(key(item, sought=True), None) and None,
    "pop": _first, "copy": lambda self: Set(self.held), "union": _with(Set.__or__),
    "intersection": _with(Set.__and__), "difference": _with(Set.__sub__),
    "issubset": lambda self, other: self <= set_of(other),
    "issuperset": lambda self, other: self >= set_of(other),
    "isdisjoint": lambda self, other: not len(self & set_of(other)),
}  # fmt: skip

WALKED.update((View, Set))


def delete_item(target: Any, index: Any) -> None:
    """``del target[index]``. Raises TypeFault (E0303) for what keeps its items."""
    if isinstance(target, dict):
        del target[key(index, sought=True)]
    elif isinstance(target, list) or (
        hasattr(type(target), "__gradcli_get__") and hasattr(type(target), "__delitem__")
    ):
        del target[index]
    else:
        told = f"'{type(target).__name__}' object doesn't support item deletion"
        raise bad_type(f"the items of {a_value(target)} cannot be deleted", torch=told)
