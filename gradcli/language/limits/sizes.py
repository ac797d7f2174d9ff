"""Limits on what a running program builds: lengths, whole numbers, nesting.

A single call into C code cannot be interrupted, so its size is checked before it. Loops inside
functions (``sum(...)``, ``list(zip(...))``) take a step from the budget for each item, as loops of
the program do.
"""

from __future__ import annotations

import itertools
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from types import GeneratorType
from typing import Any

from gradcli.engine.grad_mode import mode
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.language.type_names import a_value
from gradcli.ops.errors import LimitFault, bad_type
from gradcli.ops.memory_budget import charge

INT_BITS = 4096
"""The largest whole number that a program may build, in bits."""
TEXT_LIMIT = 1 << 20
"""The longest string, in characters."""
LIST_LIMIT = 10_000_000
"""The longest list, and the most items of nested lists that one operation looks at."""
COMPARED = 2_000_000
"""The most items of nested lists that are compared."""
LAZY_DEPTH = 50
"""How deep enumerate and zip may stand inside each other: each is a call on C's own stack."""
OUTPUT_LIMIT = 16 << 20
"""The most that one run may print, in characters."""
TENSOR_BYTES = 400
"""What one small tensor in a list of them takes, with its place in the graph."""

_ENDLESS: Iterator[bool] = itertools.repeat(True)
running_steps: ContextVar[Iterator[bool]] = ContextVar("steps", default=_ENDLESS)
"""The step budget of the program that this thread runs; endless where it runs none."""


def take_steps(items: int) -> None:
    """Take steps from the budget for one call of C code over so many items."""
    if items > 10_000:
        next(itertools.islice(running_steps.get(), items >> 4, None), None)


def check_length(length: int, what: str = "list", copied: bool = True, each: int = 8) -> int:
    """Check the length of a list or string about to be built. Raises LimitFault (E0605).

    ``copied``: all of it is written now, which takes steps from the budget. ``each``: the bytes of
    an item, with what is made for it.
    """
    limit = TEXT_LIMIT if what == "string" else LIST_LIMIT
    if length > limit:
        said = f"a {what} of {length:,} items would pass the limit of {limit:,}"
        mend = "work on tensors: ones(n) instead of a list of numbers"
        raise LimitFault("E0605", said, help=mend)
    if length > 10_000:
        charge(each * length)
        if copied:
            take_steps(length >> 6)
    return length


def check_table(length: int) -> int:
    """The same of a dictionary or a set, which takes half as much again while it grows."""
    check_length(length, copied=False, each=0)
    if length > 10_000:
        charge(30 << (length * 3 // 2).bit_length())
        take_steps(length >> 6)
    return length


def filling(held: dict, items: Iterable[Any]) -> Iterator[Any]:
    """The items that ``held`` is about to take; each time it is full, its next table is checked."""
    size = max(14, (len(held) * 3 // 2).bit_length())  # of 2**size places two thirds are used
    for item in items:
        if len(held) >= (2 << size) // 3:
            size += 1
            check_table(len(held) + 1)
        yield item


def bounded(number: Any) -> Any:
    """A result of whole-number arithmetic, checked. Raises LimitFault (E0605)."""
    if number.__class__ is int and number.bit_length() > INT_BITS:
        raise too_large(number.bit_length())
    return number


def too_large(bits: int) -> LimitFault:
    """The fault for a whole number of so many bits."""
    said = f"a whole number of {bits:,} bits would pass the limit of {INT_BITS:,}"
    return LimitFault("E0605", said, help="write a float: 2.0**100")


class Lazy:
    """enumerate, zip and reversed: walked over once, item by item."""

    __slots__ = ("depth", "items", "kind")

    def __init__(self, kind: str, items: Iterable[Any], sources: Iterable[Any] = ()) -> None:
        self.kind = kind
        self.items = items
        self.depth: int = 1 + max((s.depth for s in sources if s.__class__ is Lazy), default=0)
        if self.depth > LAZY_DEPTH:
            said = f"{kind} stands more than {LAZY_DEPTH} deep in itself"
            raise LimitFault("E0605", said, help="make a list of it: list(...)")

    def __iter__(self) -> Any:
        return iter(self.items)

    def __repr__(self) -> str:
        return f"<{self.kind}>"


class Defaulting(dict):
    """``collections.defaultdict``: CPython frees nested ones of its own by recursion in C."""

    __slots__ = ("default_factory",)

    def __init__(self, factory: Any, values: dict) -> None:
        super().__init__(values)
        self.default_factory = factory

    def __missing__(self, key: Any) -> Any:
        if self.default_factory is None:
            raise KeyError(key)
        made = self[key] = self.default_factory()
        return made

    def copy(self) -> Defaulting:
        """Another one of the same items."""
        return Defaulting(self.default_factory, self)


WALKED: set[type] = {GeneratorType, dict, OrderedDict, Defaulting}
"""Further types that a ``for`` walks over; one that is loaded late joins when its table is made."""


def generator(items: Iterable[Any], source: Any) -> Lazy:
    """``(... for x in source)``: CPython frees a long chain of generators by recursion in C."""
    return Lazy("generator object <genexpr>", items, (source,))


def iterate(value: Any) -> Any:
    """What a ``for`` walks over. Raises TypeFault (E0303) for what cannot be walked over."""
    layers = getattr(value, "__gradcli_layer__", False) and hasattr(value, "__len__")
    known = isinstance(value, list | tuple | range | str | Tensor | Lazy)
    if known or value.__class__ in WALKED or layers or getattr(value, "__gradcli_rank__", 0):
        return iter(value)
    mend = "loop over range(n), a list or a tensor"
    told = f"'{type(value).__name__}' object is not iterable"
    raise bad_type(f"cannot loop over {a_value(value)}", help=mend, torch=told)


def counted(value: Any) -> Any:
    """The same where the walk is inside a function: a step from the budget at each turn."""
    return itertools.compress(iterate(value), running_steps.get())


def as_list(values: Any) -> list:
    """A new list of the items of ``values``, its length known or counted first."""
    if isinstance(values, list | tuple | str | range):
        check_length(_length(values), each=40 if isinstance(values, range) else 8)
        return list(values)
    if isinstance(values, Tensor) and values.array.ndim:
        charge(TENSOR_BYTES * check_length(len(values)))
    return list(counted(values))


def spread(values: Any) -> Any:
    """``*values``: a list itself, as Python copies what it unpacks."""
    if values.__class__ is not list:
        return as_list(values)
    check_length(len(values))
    return values


KEY_SIZE = 1000
"""The most items of the nested tuples of one key: hashing looks at each, on C's own stack."""

MODULUS = sys.hash_info.modulus
"""Python hashes a whole number by its remainder: larger ones can be chosen to be all alike, and
a dictionary of n of them takes n**2 comparisons."""


class NumberKey(Tensor):
    """A number of a program without tensors as a key: by its value, as Python's floats are, and
    still in the graph for whoever walks over the keys."""

    __slots__ = ()
    sought = False

    def __hash__(self) -> int:
        return hash(self.array.item())

    def __eq__(self, other: Any) -> Any:
        """Raises TypeFault (E0303) where one of two would stand for both in the gradient."""
        found = self.array.item() == (other.array.item() if isinstance(other, NumberKey) else other)
        if found and self.edge is not getattr(other, "edge", self.edge if self.sought else None):
            said = "two values, of which a gradient may lead to one, are equal: one key for both"
            raise bad_type(said, help="take x.detach() as the key")
        return found


class SoughtKey(NumberKey):
    """The same where it is looked up only: among constants it takes no key's place."""

    __slots__ = ()
    __hash__ = NumberKey.__hash__
    sought = True


for _kind in (NumberKey, SoughtKey):
    _kind.__name__, _kind.__qualname__ = "Tensor", "Tensor"


def _number_key(value: Any, sought: bool) -> Any:
    """A tensor or array as a key. Raises TypeFault (E0303) for what is no number, and inside a
    transform."""
    if value.ndim:
        mend = "take tuple(a.tolist()) as the key"
        raise bad_type("an array is no key of a dictionary or a set", help=mend)
    if not isinstance(value, Plain):
        said = "a value that is differentiated by is no key of a dictionary or a set here"
        raise bad_type(said, help="take x.detach() as the key")
    if value.edge is None:
        return value.array.item()
    made = value._alias(value.edge)
    made.__class__ = SoughtKey if sought else NumberKey  # type: ignore[assignment]
    return made


def key(value: Any, sought: bool = False) -> Any:
    """``value`` itself, where it may be a key of a dictionary or an item of a set; a number that is
    a tensor as one that is found by its value. ``sought``: it is looked up and not put in.

    Raises LimitFault (E0605) for tuples that are large or deep and for whole numbers of more than
    61 bits; Python refuses lists.
    """
    kind = value.__class__
    if kind is tuple:
        nested_size(value, KEY_SIZE)
        work, numbers = [value], False
        while work:
            one = work.pop()
            for item in one:
                if item.__class__ is tuple:
                    work.append(item)
                elif item.__class__ is int:
                    key(item)
                elif _by_value(item):
                    if one is not value:
                        said = "a tuple inside a key holds a number that may be differentiated by"
                        raise bad_type(said, help="take x.detach() in it")
                    numbers = True
        return (
            tuple([_number_key(v, sought) if _by_value(v) else v for v in value])
            if numbers
            else value
        )
    if kind is int:
        if not -MODULUS < value < MODULUS:
            said = "a whole number of more than 61 bits is no key of a dictionary or a set"
            raise LimitFault("E0605", said, help="take str(n) as the key")
    elif kind is not str and _by_value(value):
        return _number_key(value, sought)
    return value


def _by_value(value: Any) -> bool:
    """Whether a value is a number or an array that Python would not know by its identity."""
    return hasattr(value, "__gradcli_rank__") and (mode.rebinds or hasattr(value, "of_numpy"))


_NESTED = frozenset((list, tuple))


def check_nested(value: Any, limit: int = LIST_LIMIT) -> Any:
    """``value`` itself, once its nested lists are known to hold few items in all."""
    nested_size(value, limit)
    return value


def nested_size(value: Any, limit: int = LIST_LIMIT, cycles: bool = False) -> int:
    """How many items nested lists hold in all.

    A list that holds one list twice, which holds one list twice and so on costs nothing to build
    and forever to compare or convert; each list is looked at once here. ``cycles``: a list that
    holds itself may pass. Raises LimitFault (E0605).
    """
    known: dict[int, int] = {}
    work = [value]
    while work:
        item = work[-1]
        key = id(item)
        if known.get(key, _OPEN) >= 0:
            work.pop()
            continue
        total = _length(item)
        held: Any = item.values() if item.__class__ in _MAPPINGS else item
        inner = () if item.__class__ is range else [i for i in held if i.__class__ in _HOLDS]
        if inner and key not in known:
            known[key] = _OPEN
            for i in inner:
                found = known.get(id(i))
                if found is None:
                    work.append(i)
                elif found == _OPEN and not cycles:
                    total = limit + 1
        elif inner:
            work.pop()
            total += sum([max(known[id(i)], 0) for i in inner])
            known[key] = total
        else:
            work.pop()
            known[key] = total
        if total > limit:
            said = f"nested lists of more than {limit:,} items in all"
            raise LimitFault("E0605", said, help="work on tensors instead of nested lists")
    return max(0, known[id(value)])


_OPEN = -1
_MAPPINGS = frozenset((dict, OrderedDict, Defaulting))
_HOLDS = frozenset((list, tuple, range, *_MAPPINGS))

SHORT = 100_000
"""The most items of a list that says a shape, an index or dimensions."""


def checked_index(target: Any, index: Any) -> Any:
    """An index about to be used: lists in it are short, and what it picks is charged."""
    parts = index if index.__class__ is tuple else (index,)
    for part in parts:
        kind = part.__class__
        if kind is list or kind is tuple or kind is range:
            items = nested_size(part, LIST_LIMIT if index is part else SHORT)
            if items > SHORT and target.__class__ is Tensor and target.array.ndim:
                charge(8 * items * (target.array.size // max(1, target.array.shape[0])))
        elif kind is Tensor and part.array.ndim and target.__class__ is Tensor:
            row = target.array.size // max(1, target.array.shape[0]) if target.array.ndim else 1
            charge(8 * part.array.size * (row if len(parts) == 1 else 1))
    return index


def item(target: Any, index: Any) -> Any:
    """``target[index]`` where the index may be anything."""
    if index.__class__ is int:
        return target[index]
    if isinstance(target, dict):
        return target[key(index, sought=True)]
    return target[checked_index(target, index)]


def _length(items: Any) -> int:
    try:
        return len(items)
    except OverflowError:
        return 1 << 63


def pair(a: Any, b: Any) -> None:
    """Check two values about to be compared: comparing lists compares all that is in them."""
    if a.__class__ in _COMPARED and b.__class__ in _COMPARED:
        take_steps(nested_size(a, COMPARED))
        check_nested(b, COMPARED)


_COMPARED = _NESTED | _MAPPINGS


def contains(item: Any, box: Any) -> bool:
    """``item in box``. Raises TypeFault (E0303) for what holds nothing."""
    kind = box.__class__
    if kind is range:
        # Python would walk over the range for anything but a plain whole number.
        if isinstance(item, Tensor):
            item = item.item()
        if isinstance(item, float) and item.is_integer():
            item = int(item)
        return isinstance(item, int) and int(item) in box
    if kind in _NESTED:
        pair(item, box)
        take_steps(len(box))
        return item in box
    if kind is Lazy or kind is GeneratorType:
        for found in counted(box):
            pair(item, found)
            if found is item or found == item:
                return True
        return False
    if isinstance(box, dict):
        return key(item, sought=True) in box
    if isinstance(box, Tensor):
        charge(box.array.size)
        return item in box
    if kind in WALKED and kind is not GeneratorType:
        return item in box
    if getattr(box, "__gradcli_layer__", False) and hasattr(box, "__contains__"):
        return item in box
    if isinstance(box, tuple):
        return item in box
    if isinstance(box, str) and isinstance(item, str):
        return item in box
    raise bad_type(
        f"`in` looks into lists, tuples, ranges, strings and tensors, not into a "
        f"{type(box).__name__}" if not isinstance(box, str) else
        f"`in` a string needs a string, got {a_value(item)}",
    )  # fmt: skip
