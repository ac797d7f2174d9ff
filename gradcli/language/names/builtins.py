"""Python's built-in functions, operators and methods of lists and strings, within limits.

Every result that can grow is checked or charged before it is built. Each takes Tensors too where
Python's function would. ``TABLE`` is the part of the name table that this module fills.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from importlib import import_module
from types import GeneratorType
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.grad_mode import mode
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions.index import found
from gradcli.language.limits.sizes import (
    INT_BITS,
    WALKED,
    Lazy,
    as_list,
    bounded,
    check_length,
    check_nested,
    checked_index,
    counted,
    iterate,
    key,
    pair,
    running_steps,
    take_steps,
    too_large,
)
from gradcli.language.names.calling import called, named
from gradcli.language.type_names import EXCEPTIONS, a_value
from gradcli.ops.errors import LimitFault, TypeFault, bad_argument, bad_type
from gradcli.ops.operator import OPERATORS


def add(a: Any, b: Any) -> Any:
    """``a + b`` where neither side is known to be a float: lists and whole numbers are bounded."""
    kind = a.__class__
    if kind is Tensor or kind is float:
        return a + b
    if b.__class__ is Tensor or b.__class__ is float:
        return a + b
    if isinstance(a, list | tuple | str) and isinstance(b, list | tuple | str):
        check_length(len(a) + len(b), "string" if isinstance(a, str) else "list")
    return bounded(a + b)


def add_to(a: Any, b: Any) -> Any:
    """``a += b``: in place on tensors and lists, as in Python."""
    if a.__class__ is Tensor or a.__class__ is float:
        a += b
        return a
    if isinstance(a, list) and not _is_array(b):
        extend(a, b)
        return a
    if getattr(a, "__gradcli_rank__", False):
        a += b  # another reading of a tensor
        return a
    return add(a, b)


def _is_number(value: Any) -> bool:
    """Whether it is a number of NumPy's: a list takes it as Python's, and it stays as it is."""
    return hasattr(value, "of_numpy") and isinstance(value.array, np.generic)


def number(value: Any) -> Any:
    """A number of NumPy's as Python's; anything else as it is."""
    return value.array.item() if _is_number(value) else value


def _changes(value: Any) -> bool:
    """Whether it is a tensor or an array, and no number of NumPy's: what is written to in place."""
    if value.__class__ is Tensor:
        return True
    return getattr(value, "__gradcli_rank__", False) and not _is_number(value)


def _is_array(value: Any) -> bool:
    """Whether it is an array, or a tensor that stands for one: what adds itself to a list."""
    return hasattr(value, "of_numpy") or (mode.arrays and hasattr(value, "__gradcli_rank__"))


def multiply(a: Any, b: Any) -> Any:
    """``a * b`` where neither side is known to be a float."""
    kind = a.__class__
    other = b.__class__
    if kind is Tensor:
        if other is Tensor or other is float or other is int:
            return a * b
    elif kind is int and other is int:
        bits = a.bit_length() + b.bit_length()
        if bits > INT_BITS + 1:
            raise too_large(bits)
        return a * b
    elif kind is float or other is float:
        return a * b
    if (kind is Tensor and other in _SEQUENCES) or (other is Tensor and kind in _SEQUENCES):
        # Python would take a whole-number tensor as the count of repeats.
        mend = "tensor([...]) makes a tensor of a list; n.item() is a number"
        raise bad_type(f"cannot multiply {a_value(a)} and {a_value(b)}", help=mend)
    for many, times in ((a, b), (b, a)):
        if not isinstance(many, list | tuple | str):
            continue
        if _is_number(times) and times.dtype is not dtypes.bool_:
            return multiply(many, number(times))
        if _is_number(times):
            raise bad_type(f"cannot repeat {a_value(many)} by a truth", help="write x*int(a > 0)")
        if isinstance(times, int):
            check_length(len(many) * max(0, times), "string" if isinstance(many, str) else "list")
    return a * b


_SEQUENCES = frozenset((list, tuple, str))
_LISTS = frozenset((list, tuple))


def power(a: Any, b: Any) -> Any:
    """``a ** b`` where neither side is known to be a float."""
    if a.__class__ is int and b.__class__ is int and b > 1:
        bits = a.bit_length() * b
        if bits > INT_BITS + b:
            raise too_large(bits)
    if a.__class__ is Tensor and b.__class__ is Tensor and a.dtype is b.dtype is dtypes.bool_:
        said = "truths have no power; ^ is power here, not the exclusive or"
        mend = "write a != b, or torch.logical_xor(a, b)"
        raise TypeFault("E0309", said, help=mend, torch="\"pow\" not implemented for 'Bool'")
    return a**b


def modulo(a: Any, b: Any) -> Any:
    """``a % b``; of a string, its formats filled with values."""
    if isinstance(a, str):
        from gradcli.language.names import texts  # few programs format text with %

        return texts.percent(a, b)
    return a % b


def invert(a: Any) -> Any:
    """``~a``. Raises TypeFault (E0303) for a truth of Python's: both -1 and -2 hold."""
    if a.__class__ is bool:
        raise bad_type(f"~{a} is {~int(a)}, which holds as a truth", help="write not x, or x == 0")
    return ~a


def shift_left(a: Any, b: Any) -> Any:
    """``a << b``, a whole number of bounded size."""
    if a.__class__ is int and b.__class__ is int and b > 0:
        bits = a.bit_length() + b
        if bits > INT_BITS + 1:
            raise too_large(bits)
    return a << b


def _in_place(apply: Callable, bounded: Callable) -> Callable:
    def changed(a: Any, b: Any) -> Any:
        if _changes(a):
            return apply(a, b)
        return bounded(a, b)

    return changed


def multiply_by(a: Any, b: Any) -> Any:
    """``a *= b``: in place on tensors, and on a list, whose items it repeats."""
    if _changes(a):
        a *= b
        return a
    found = multiply(a, b)
    if a.__class__ is not list or found.__class__ is not list:
        return found
    a[:] = found
    return a


power_by, modulo_by, shift_left_by, shift_right_by = (
    _in_place(operator.ipow, power), _in_place(operator.imod, modulo),
    _in_place(operator.ilshift, shift_left),
    _in_place(operator.irshift, operator.rshift),
)  # fmt: skip
"""``a *= b`` and the like: in place on tensors."""


def set_item(target: Any, index: Any, value: Any) -> None:
    """``target[a:b] = value``: a slice of a list may grow it."""
    if index.__class__ is int and target.__class__ is list:
        target[index] = value
        return
    if isinstance(target, list) and isinstance(index, slice):
        value = as_list(value)
        check_length(len(target) + len(value))
    elif value.__class__ in _LISTS and not isinstance(target, list | dict):
        value = check_nested(value)
        if mode.rebinds and hasattr(target, "__gradcli_rank__"):  # as NumPy's arrays take lists
            checks = import_module("gradcli.language.names.argument_checks")  # which is above
            value = checks.stacked(value, whole=True) if checks.holds_traced(value) else value
    target[key(index) if isinstance(target, dict) else checked_index(target, index)] = value


def extend(target: list, more: Any) -> None:
    """``target.extend(more)``, bounded."""
    more = more if more.__class__ is list or more.__class__ is tuple else as_list(more)
    check_length(len(target) + len(more), copied=False)
    take_steps(len(more) >> 6)
    target.extend(more)


def _append(target: list, item: Any) -> None:
    target.append(item)
    if not len(target) % 65536:
        check_length(len(target), copied=False)


def _searching(method: Callable) -> Callable:
    def search(target: Any, value: Any, *bounds: Any) -> Any:
        pair(target, value)
        return method(target, value, *bounds)

    return search


def _sort(target: list, key: Any = None, reverse: Any = False) -> None:
    items = _copied(target)
    target.clear()  # as in Python: what the key sees of it, and changes
    try:
        items = _sorted(items, key, reverse)
    finally:
        changed = bool(target)
        target[:] = items
    if changed:
        raise bad_argument("list modified during sort", help="sort a copy: y = sorted(x, key=f)")


def _copied(target: list) -> list:
    check_length(len(target))
    return target.copy()


LIST_METHODS: dict[str, Callable] = {
    "append": _append, "extend": extend, "pop": list.pop, "insert": list.insert,
    "reverse": list.reverse, "index": _searching(list.index), "count": _searching(list.count),
    "clear": list.clear, "copy": _copied, "remove": _searching(list.remove), "sort": _sort,
}  # fmt: skip
TUPLE_METHODS: dict[str, Callable] = {
    "index": _searching(tuple.index), "count": _searching(tuple.count)
}  # fmt: skip


def _length(value: Any) -> int:
    if isinstance(value, list | tuple | range | str) or getattr(value, "__gradcli_rank__", False):
        return len(value)
    if value.__class__ in WALKED and hasattr(value, "__len__"):
        return len(value)
    if getattr(value, "__gradcli_layer__", False) and hasattr(value, "__len__"):
        return len(value)
    said = f"{a_value(value)} has no len()"
    raise bad_type(said, torch=f"object of type '{type(value).__name__}' has no len()")


def _range(*bounds: Any) -> range:
    made = range(*(b.item() if isinstance(b, Tensor) else b for b in bounds))
    for bound in (made.start, made.stop, made.step):
        if bound.bit_length() > 63:  # loops count on it: see Checked.counters
            raise LimitFault(
                "E0605", "a range ends at 2**63", help="loop over fewer numbers, or use while"
            )
    return made


def _is_data(value: Any) -> bool:
    return getattr(value, "__gradcli_rank__", False) > 0 or isinstance(value, np.ndarray)


_REAL = frozenset((float, int, bool))


def _total(values: Any, *args: Any, **options: Any) -> Any:
    """Tensor: its entries summed, as PyTorch. List: its items added, as Python, and an array."""
    if _is_data(values):
        if mode.arrays and values.ndim and options.keys() <= {"start"}:
            rows = OPERATORS["sum"](values, 0)
            return sum((*args, *options.values()), rows)
        return OPERATORS["sum"](values, *args, **options)
    if options.keys() - {"start"} or len(args) + len(options) > 1:
        raise TypeFault(
            "E0302", "sum takes a list and a number to begin with", help="write sum([a, b, c])"
        )
    if isinstance(values, int | float | complex):
        return values
    total: Any = args[0] if args else options.get("start", 0)
    if values.__class__ is range and total.__class__ is int:
        if not values:
            return total
        count = (values[-1] - values[0]) // values.step + 1
        return bounded(total + count * (values[0] + values[-1]) // 2)
    items = list(counted(values))
    if float in {v.__class__ for v in (total, *items)} <= _REAL:
        return sum(items, total)  # with a compensation from Python 3.12 on
    for value in items:
        total = add(total, value)
    return total


def _extreme(name: str, python: Callable) -> Callable:
    pairwise, full = OPERATORS[f"{name}imum"], f"a{name}"

    def extreme(
        *values: Any, dim: Any = None, keepdim: bool = False, key: Any = None, default: Any = _NONE
    ) -> Any:
        """The elementwise extreme of several values; of one tensor, over all or along ``dim``.

        With a ``key`` the item for which that is most, as Python's.
        """
        if key is not None or default is not _NONE:
            items = as_list(values[0] if len(values) == 1 else values)
            if not items and default is not _NONE:
                return default
            places = _ranked(items, key)
            return items[python(range(len(items)), key=places.__getitem__)] if items else extreme()
        if len(values) == 1:
            (only,) = values
            if _is_data(only):
                if dim is not None:
                    return getattr(only, name)(dim, keepdim)
                return OPERATORS[full](only)
            values = tuple(as_list(only))
        if not values:
            raise bad_argument(f"{name} of nothing", help=f"write {name}(a, b)")
        if not any(_is_data(v) and not (hasattr(v, "of_numpy") and not v.ndim) for v in values):
            return python(_comparable(values))
        found = values[0]
        for value in values[1:]:
            found = pairwise(found, value)
        return found

    return named(extreme, name)


_NONE = object()


def _ranked(items: list, key: Any) -> list:
    """What items are compared by."""
    if key is None:
        return list(_comparable(items))
    function = called(key, "key")
    take = running_steps.get().__next__
    found = []
    for item in items:
        take()
        found.append(function(item))
    return list(_comparable(found))


def _comparable(values: Any) -> Any:
    """Values about to be compared with each other."""
    if any(v.__class__ is list or v.__class__ is tuple for v in values):
        check_nested(values)
    return values


def _rounded(value: Any, digits: Any = None, *, decimals: Any = None) -> Any:
    digits = decimals if digits is None else digits  # PyTorch's name for it
    if _is_data(value):
        if digits is None and hasattr(value, "of_numpy") and not value.ndim:
            return round(value.item())
        if digits is None:
            return OPERATORS["round"](value)
        if hasattr(value, "of_numpy"):
            return value.__gradcli_get__("round")(digits)
        return found("arithmetic.round")(value, decimals=digits)
    if digits is None:
        return bounded(round(value))
    # Python would compute 10**digits first.
    if not isinstance(digits, int):
        said = f"the number of digits is a whole number, got {a_value(digits)}"
        raise bad_type(said, help="write round(x, 2)")
    return round(value, max(-400, min(400, digits)))


def _every(name: str, python: Callable) -> Callable:
    def test(value: Any, *args: Any, **options: Any) -> Any:
        if _is_data(value):
            return OPERATORS[name](value, *args, **options)
        return python(counted(value))

    return named(test, name)


_DIGITS = 1000
"""The most characters of a text that is read as a number."""


def _number_text(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _DIGITS:
        raise bad_argument(f"a number of {len(value):,} characters is too long to be read")
    return value


def _float(value: Any) -> Any:
    if mode.arrays and hasattr(value, "__gradcli_rank__"):
        checks = import_module("gradcli.language.names.argument_checks")  # which is above
        if checks.is_kept(value) and value.is_floating_point():
            return checks.to_number(value).to(dtypes.float64)
    return float(_number_text(value))


def _sorted(values: Any, key: Any = None, reverse: bool = False) -> list:
    items = as_list(values)
    ranks = _ranked(items, key)
    take_steps(len(items))
    check_length(len(items), each=64)
    order = sorted(range(len(items)), key=ranks.__getitem__, reverse=bool(reverse))
    return [items[i] for i in order]


def _tuple(values: Any = ()) -> tuple:
    values = values if values.__class__ is list else as_list(values)
    check_length(len(values))  # beside the list
    return tuple(values)


def _map(function: Any, *values: Any) -> Lazy:
    call = called(function, "the first argument of map")
    return Lazy("map", map(call, *map(counted, values)), values)


def _filter(function: Any, values: Any) -> Lazy:
    test = None if function is None else called(function, "the first argument of filter")
    return Lazy("filter", filter(test, counted(values)), (values,))


def _iter(values: Any) -> Any:
    if values.__class__ is Lazy or values.__class__ is GeneratorType:
        return values
    return Lazy("iterator", iterate(values), (values,))


def _next(values: Any, *default: Any) -> Any:
    """The next item of an iterator. Raises TypeFault (E0303) for what is none."""
    running_steps.get().__next__()
    if values.__class__ is Lazy:
        values.items = iter(values.items)
        values = values.items
    elif values.__class__ is not GeneratorType and not hasattr(type(values), "__next__"):
        raise bad_type(
            f"{a_value(values)} is no iterator", help="write next(iter(values))",
            torch=f"'{type(values).__name__}' object is not an iterator",
        )  # fmt: skip
    return next(values, *default)


def _reversed(values: Any) -> Any:
    """The items from the last to the first, each read when its turn comes."""
    if mode.rebinds and hasattr(values, "__gradcli_rank__"):  # elsewhere PyTorch's, a copy
        return map(values.__getitem__, reversed(range(len(values))))
    return reversed(values if isinstance(values, range | list) else as_list(values))


# Python's own functions, which have the names of operators and take lists.
TABLE: dict[str, Any] = {
    "len": _length, "range": _range, "list": lambda values=(): as_list(values),
    "tuple": _tuple, "sum": _total,
    "max": _extreme("max", max), "min": _extreme("min", min), "abs": lambda value: abs(value),
    "round": _rounded, "any": _every("any", any), "all": _every("all", all),
    "float": lambda value=0.0: _float(value),
    "int": lambda value=0: bounded(int(_number_text(value))),
    "bool": lambda value=False: bool(value), "sorted": _sorted,
    "pow": lambda base, exp, mod=None: power(base, exp) if mod is None else pow(base, exp, mod),
    "enumerate": lambda values, start=0: Lazy(
        "enumerate", enumerate(iterate(values), start), (values,)),
    "zip": lambda *values, strict=False: Lazy(
        "zip", zip(*map(iterate, values), strict=bool(strict)), values),
    "reversed": lambda values: Lazy("reversed", _reversed(values)),
    "map": _map, "filter": _filter, "iter": _iter, "next": _next,
    "divmod": lambda a, b: (a // b, modulo(a, b)),
    "callable": lambda value: callable(value) and not getattr(value, "__gradcli_rank__", False),
    "chr": lambda number: chr(number), "ord": lambda text: ord(text),
}  # fmt: skip
for _name, _function in TABLE.items():
    _function.__name__ = _function.__qualname__ = _name
LATE = {
    "isinstance": "isinstance_types.is_instance", "issubclass": "isinstance_types.is_subclass",
    "type": "isinstance_types.type_of", "id": "identity.identity", "super": "records.parent",
    "object": "records.OBJECT", "getattr": "attributes.named_attribute",
    "setattr": "attributes.set_named_attribute", "hasattr": "attributes.has_attribute",
    "delattr": "attributes.delete_attribute", "dict": "mappings.dictionary",
    "set": "mappings.set_of", "print": "printing.PRINT", "str": "printing.string",
    "repr": "printing.representation", "format": "printing.text_of",
}  # fmt: skip
"""Names whose modules are loaded when a program uses them: an expression has none of them."""
PYTHON_ONLY = (*TABLE, *LATE, *EXCEPTIONS)
"""Names that are Python's; under a prefix some stand for functions of tensors."""
