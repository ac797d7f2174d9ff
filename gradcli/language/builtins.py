"""Python's own functions as the language has them, bounded.

Nothing here grows without being charged. Each takes Tensors as well as Python values where Python's
function would. ``TABLE`` is the part of the name table that this file fills.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradcli.engine.tensor import Tensor
from gradcli.ops.core import OPERATORS
from gradcli.ops.errors import LimitFault, TypeFault, ValueFault
from gradcli.ops.limits import charge

INT_BITS = 4096
"""The largest whole number that a program may build, in bits."""
TEXT_LIMIT = 1 << 20
"""The longest string, in characters."""
LIST_LIMIT = 10_000_000
"""The longest list."""

_LISTS = (list, tuple, range)


def grown(length: int, what: str = "list") -> int:
    """Check the length of a list or string about to be built. Raises LimitFault (E0605)."""
    limit = TEXT_LIMIT if what == "string" else LIST_LIMIT
    if length > limit:
        raise LimitFault(
            "E0605", f"a {what} of {length:,} items would pass the limit of {limit:,}",
            help="work on tensors: ones(n) instead of a list of numbers",
        )  # fmt: skip
    if length > 100_000:
        charge(8 * length)
    return length


def bounded(number: Any) -> Any:
    """A result of whole-number arithmetic, checked. Raises LimitFault (E0605)."""
    if number.__class__ is int and number.bit_length() > INT_BITS:
        raise _too_large(number.bit_length())
    return number


def _too_large(bits: int) -> LimitFault:
    return LimitFault(
        "E0605", f"a whole number of {bits:,} bits would pass the limit of {INT_BITS:,}",
        help="write a float: 2.0**100",
    )  # fmt: skip


def add(a: Any, b: Any) -> Any:
    """``a + b`` where neither side is known to be a float: lists and whole numbers are bounded."""
    if (
        a.__class__ is Tensor
        or b.__class__ is Tensor
        or a.__class__ is float
        or b.__class__ is float
    ):
        return a + b
    if isinstance(a, list | tuple | str) and isinstance(b, list | tuple | str):
        grown(len(a) + len(b), "string" if isinstance(a, str) else "list")
    return bounded(a + b)


def add_to(a: Any, b: Any) -> Any:
    """``a += b``: in place on tensors and lists, as in Python."""
    if a.__class__ is Tensor or a.__class__ is float:
        a += b
        return a
    if isinstance(a, list):
        extend(a, b)
        return a
    return add(a, b)


def multiply(a: Any, b: Any) -> Any:
    """``a * b`` where neither side is known to be a float."""
    if (
        a.__class__ is Tensor
        or b.__class__ is Tensor
        or a.__class__ is float
        or b.__class__ is float
    ):
        return a * b
    if a.__class__ is int and b.__class__ is int:
        bits = a.bit_length() + b.bit_length()
        if bits > INT_BITS + 1:
            raise _too_large(bits)
        return a * b
    for many, times in ((a, b), (b, a)):
        if isinstance(many, list | tuple | str) and isinstance(times, int):
            grown(len(many) * max(0, times), "string" if isinstance(many, str) else "list")
    return a * b


def multiply_by(a: Any, b: Any) -> Any:
    """``a *= b``: in place on tensors."""
    if a.__class__ is Tensor:
        a *= b
        return a
    return multiply(a, b)


def power(a: Any, b: Any) -> Any:
    """``a ** b`` where neither side is known to be a float."""
    if a.__class__ is int and b.__class__ is int and b > 1:
        bits = a.bit_length() * b
        if bits > INT_BITS + b:
            raise _too_large(bits)
    return a**b


def power_by(a: Any, b: Any) -> Any:
    """``a **= b``: in place on tensors."""
    if a.__class__ is Tensor:
        a **= b
        return a
    return power(a, b)


def modulo(a: Any, b: Any) -> Any:
    """``a % b`` for numbers and tensors; never string formatting."""
    if isinstance(a, str):
        raise TypeFault("E0303", "% does not format strings here", help='write f"{x:.4f}"')
    return a % b


def iterate(value: Any) -> Any:
    """What a ``for`` walks over. Raises TypeFault (E0303) for what cannot be walked over."""
    if isinstance(value, list | tuple | range | str | Tensor | _Lazy):
        return iter(value)
    if getattr(value, "__gradcli_rank__", 0):
        return iter(value)
    raise TypeFault(
        "E0303",
        f"cannot loop over a {type(value).__name__}",
        help="loop over range(n), a list or a tensor",
    )


class _Lazy:
    """enumerate, zip and reversed: walked over once, item by item."""

    __slots__ = ("items",)

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items

    def __iter__(self) -> Any:
        return iter(self.items)


def set_item(target: Any, index: Any, value: Any) -> None:
    """``target[a:b] = value``: a slice of a list may grow it."""
    if isinstance(target, list) and isinstance(index, slice):
        value = list(iterate(value))
        grown(len(target) + len(value))
    target[index] = value


def extend(target: list, more: Any) -> None:
    """``target.extend(more)``, bounded."""
    if hasattr(more, "__len__"):
        grown(len(target) + len(more))
        # list.extend copes with a list that extends itself, an iterator over it would never end.
        target.extend(more if isinstance(more, list | tuple | range | str) else iterate(more))
        return
    for item in iterate(more):
        target.append(item)
        if not len(target) % 4096:
            grown(len(target))


def _append(target: list, item: Any) -> None:
    target.append(item)
    if not len(target) % 65536:
        grown(len(target))


def _join(separator: str, parts: Any) -> str:
    parts = list(iterate(parts))
    grown(len(separator) * len(parts) + _sum(len(p) for p in parts if isinstance(p, str)), "string")
    return separator.join(parts)


_sum, _max, _min, _abs, _round = sum, max, min, abs, round
_any, _all = any, all

LIST_METHODS: dict[str, Callable] = {
    "append": _append, "extend": extend, "pop": list.pop, "insert": list.insert,
    "reverse": list.reverse, "index": list.index, "count": list.count, "clear": list.clear,
    "copy": list.copy, "remove": list.remove,
}  # fmt: skip
STRING_METHODS: dict[str, Callable] = {
    "upper": str.upper, "lower": str.lower, "strip": str.strip, "join": _join,
    "startswith": str.startswith, "endswith": str.endswith, "split": str.split,
}  # fmt: skip


def _length(value: Any) -> int:
    if isinstance(value, list | tuple | range | str) or getattr(value, "__gradcli_rank__", 0):
        return len(value)
    raise TypeFault("E0303", f"a {type(value).__name__} has no len()")


def _range(*bounds: Any) -> range:
    return range(*(b.item() if isinstance(b, Tensor) else b for b in bounds))


def _list(values: Any = ()) -> list:
    if hasattr(values, "__len__"):
        grown(len(values))
    return list(iterate(values))


def _tuple(values: Any = ()) -> tuple:
    return tuple(_list(values))


def _is_data(value: Any) -> bool:
    return getattr(value, "__gradcli_rank__", 0) > 0 or isinstance(value, np.ndarray)


def _total(values: Any, *args: Any, **options: Any) -> Any:
    """Tensor: its entries summed, as PyTorch. List: its items added, as Python."""
    if _is_data(values):
        return OPERATORS["sum"](values, *args, **options)
    if isinstance(values, int | float | complex):
        return values
    total: Any = args[0] if args else 0
    for value in iterate(values):
        total = total + value
    return bounded(total)


def _extreme(name: str, python: Callable) -> Callable:
    pairwise, full = OPERATORS[f"{name}imum"], f"a{name}"

    def extreme(*values: Any, dim: Any = None, keepdim: bool = False) -> Any:
        """The elementwise extreme of several values; of one tensor, over all or along ``dim``."""
        if len(values) == 1:
            (only,) = values
            if _is_data(only):
                if dim is not None:
                    return getattr(only, name)(dim, keepdim)
                return OPERATORS[full](only)
            values = tuple(iterate(only))
        if not values:
            raise ValueFault("E0304", f"{name} of nothing", help=f"write {name}(a, b)")
        if not _any(_is_data(v) for v in values):
            return python(values)
        found = values[0]
        for value in values[1:]:
            found = pairwise(found, value)
        return found

    extreme.__name__ = name
    return extreme


def _absolute(value: Any) -> Any:
    return _abs(value)


def _rounded(value: Any, digits: Any = None) -> Any:
    if _is_data(value):
        return OPERATORS["round"](value)
    return _round(value) if digits is None else _round(value, digits)


def _every(name: str, python: Callable) -> Callable:
    def test(value: Any, *args: Any, **options: Any) -> Any:
        if _is_data(value):
            return OPERATORS[name](value, *args, **options)
        return python(iterate(value))

    test.__name__ = name
    return test


def _float(value: Any = 0.0) -> float:
    return float(value)


def _int(value: Any = 0) -> int:
    if isinstance(value, str):
        grown(len(value) * 4 if len(value) > 1000 else 0, "string")
    return bounded(int(value))


def _bool(value: Any = False) -> bool:
    return bool(value)


def _sorted(values: Any, reverse: bool = False) -> list:
    return sorted(_list(values), reverse=bool(reverse))


def _power(a: Any, b: Any) -> Any:
    return power(a, b)


TABLE: dict[str, Any] = {
    "len": _length, "range": _range, "list": _list, "tuple": _tuple, "sum": _total,
    "max": _extreme("max", _max), "min": _extreme("min", _min), "abs": _absolute, "round": _rounded,
    "any": _every("any", _any), "all": _every("all", _all), "float": _float, "int": _int,
    "bool": _bool, "sorted": _sorted, "pow": _power,
    "enumerate": lambda values, start=0: _Lazy(enumerate(iterate(values), start)),
    "zip": lambda *values: _Lazy(zip(*map(iterate, values), strict=False)),
    "reversed": lambda values: _Lazy(reversed(_list(values))),
}  # fmt: skip
PYTHON_ONLY = ("len", "range", "list", "tuple", "sorted", "enumerate", "zip", "reversed")
"""Names that are Python's and stand under no prefix."""
