"""The globals of generated code: helpers, constants of the program, and no Python builtins.

Helpers named ``h_...`` replace the operators and statements that need a check; ``compile.lower``
emits their calls.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from gradcli.engine.grad_mode import mode
from gradcli.engine.record.captures import cells_of
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.limits.sizes import (
    Defaulting,
    contains,
    generator,
    item,
    iterate,
    key,
    pair,
    spread,
)
from gradcli.language.limits.step_budget import FILE, tokens
from gradcli.language.names import (
    attributes,
    builtins,
    custom_function,
    exceptions,
    isinstance_types,
    mappings,
    printing,
    records,
    settings,
    showing,
)
from gradcli.language.names.argument_checks import method_with_checks, with_checks
from gradcli.language.names.calling import keywords, plain
from gradcli.language.names.context_managers import context, decorate
from gradcli.language.names.long_sums import one_more, turns
from gradcli.ops.errors import LimitFault


def _too_deep(depth: int) -> Callable:
    def refuse() -> None:
        mend = "use a loop, or see that the recursion ends; --max-depth N raises the limit"
        raise LimitFault("E0606", f"calls nest deeper than {depth}", help=mend)

    return refuse


_OF_THE_RUN = (
    "h_budget", "h_tick", "h_steps", "h_down", "h_up", "h_deep", "h_depth", "h_catches", "g_print",
)  # fmt: skip


def scope_of(
    constants: Mapping[str, Any], limits: Any, write: Callable, summed: Callable[..., Any],
    instead: Callable[[Any, Any], Any] | None = None, long: Callable[[], Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The globals of a generated module: helpers, constants, and no builtins at all.

    ``summed`` computes a long sum at once: of its node, and what gives the variables.
    """
    budget = tokens(limits.steps, limits.memory, long)
    depth = [False, *[True] * limits.depth]
    scope: dict[str, Any] = dict(_HELPERS)
    scope["__builtins__"] = {}
    scope["h_budget"] = budget
    scope["h_tick"] = budget.__next__
    scope["h_steps"] = lambda items: itertools.compress(items, budget)
    scope["h_down"] = depth.pop
    scope["h_up"] = depth.append
    scope["h_deep"] = _too_deep(limits.depth)
    scope["h_depth"] = depth.__len__
    scope["h_catches"] = _catching(depth)
    scope["g_print"] = show = printing.printer(write, limits.output)
    for name, value in constants.items():
        kind, *of = value if value.__class__ is tuple and value else ("function", value)
        if kind == "method":
            value = caller(*of)
        elif kind == "tensor method":
            value = attributes.CALL[Tensor][of[0]]
        elif kind in _MADE:
            value = functools.partial(_MADE[kind], *of)
        elif kind == "sum":
            value = functools.partial(summed, *of)
        elif value.__class__ not in _NUMBERS:
            called = show if of[0] is printing.PRINT else with_checks(*of)
            value = called if instead is None else instead(of[0], called)
        scope[name] = value
    return scope


def _copy_of(values: list[Any]) -> list[Any]:
    """A list of numbers and of such lists, which nest three deep at most, anew."""
    return [_copy_of(one) if one.__class__ is list else one for one in values]


_MADE: dict[str, Callable[..., Any]] = {
    "data": _copy_of, "turns": turns, "column": operator.getitem,
}  # fmt: skip
"""What constants stand for that are called with more."""


def _catching(depth: list[bool]) -> Callable[..., tuple[type, ...]]:
    """What ``except`` asks first; the calls that the error left give their tokens back."""

    def catches(before: int, *kinds: Any) -> tuple[type, ...]:
        found = exceptions.catches(*kinds)
        if found:
            depth.extend([True] * (before - len(depth)))
        return found

    return catches


_NUMBERS = frozenset((float, int, str, bool, complex))


def adopted(value: Any, scope: dict[str, Any]) -> Any:
    """A function that an earlier run defined works within the limits of this one; so do those that
    it calls, and those in a list."""
    todo, seen = [value], set()
    while todo:
        one = todo.pop()
        kind = one.__class__
        if kind is FunctionType:
            if id(one) in seen:
                continue
            seen.add(id(one))
            if one.__code__.co_filename == FILE:
                one.__globals__.update({name: scope[name] for name in _OF_THE_RUN})
            todo += (held for _, held in cells_of(one))
        elif kind in _HOLDING and id(one) not in seen:
            seen.add(id(one))
            items = one.values() if kind is dict else one
            todo += (item for item in items if item.__class__ in _FOLLOWED)
    return value


_HOLDING = frozenset((list, tuple, dict))
_FOLLOWED = _HOLDING | {FunctionType}

_methods: dict[tuple[str, int | None], Callable] = {}


def caller(name: str, count: int | None) -> Callable:
    """``value.name(...)``: the tensor's method straight away, others through the tables."""
    key = (name, count)
    if key not in _methods:
        _methods[key] = _made_caller(name, count)
    return _methods[key]


def _made_caller(name: str, count: int | None) -> Callable:
    method: Any = attributes.CALL[Tensor].get(name)
    attribute = attributes.attribute
    tensor = None if method is None or name in settings.OF_ARRAYS else Tensor
    checked: Any = method
    if method is not None and count != 0:
        checked = method_with_checks(name, method, 1 if count == 1 else None)

    def without(value: Any) -> Any:
        return checked(value) if value.__class__ is tensor else attribute(value, name)()

    def with_one(value: Any, first: Any) -> Any:
        if value.__class__ is tensor:
            return checked(value, first)
        return attribute(value, name)(first)

    def with_any(value: Any, /, *args: Any, **options: Any) -> Any:
        if value.__class__ is tensor:
            return checked(value, *args, **options)
        return plain(attribute(value, name))(*args, **options)

    if name in settings.BY_NUMPY and (count != 0 or name not in ("max", "min")):

        def meant(value: Any, /, *args: Any, **options: Any) -> Any:
            if mode.arrays:
                return plain(attribute(value, name))(*args, **options)
            if name in ("max", "min"):  # along an axis
                settings.plain_tensor(value, name)
            return with_any(value, *args, **options)

        return meant
    return without if count == 0 else with_one if count == 1 else with_any


def _cut(value: Any, part: slice) -> Any:
    if value.__class__ is list or value.__class__ is tuple:
        builtins.check_length(len(value))
    return value[part]


def _comparing(compare: Callable) -> Callable:
    def compared(a: Any, b: Any) -> Any:
        if a.__class__ in _LOOKED_INTO:
            pair(a, b)
        return compare(a, b)

    return compared


_LOOKED_INTO = frozenset((list, tuple, dict, OrderedDict, Defaulting))


def _keep(value: Any) -> Any:
    if value.__class__ is Tensor and not value._is_leaf:
        value.retain_grad()
    return value


def _fail(message: Any = None) -> None:
    raise AssertionError("" if message is None else showing.show(message))


def _concat(*pieces: str) -> str:
    builtins.check_length(sum(map(len, pieces)), "string")
    return "".join(pieces)


def _raised(value: Any) -> None:
    """``raise value``. Raises what the value is; TypeFault (E0303) where it is no exception."""
    error = exceptions.raisable(value)
    raise exceptions.Raised(error, showing.show(error))


_HELPERS: dict[str, Any] = {
    "h_Tensor": Tensor, "h_add": builtins.add, "h_add_to": builtins.add_to,
    "h_and_by": operator.iand, "h_attribute": attributes.attribute,
    "h_class": records.class_record, "h_concat": _concat, "h_context": context, "h_cut": _cut,
    "h_decorate": decorate, "h_del_attribute": attributes.delete_attribute,
    "h_del_item": mappings.delete_item, "h_dict": mappings.of_pairs,
    "h_divide_by": operator.itruediv, "h_eq": _comparing(operator.eq),
    "h_error": exceptions.error_of, "h_fail": _fail, "h_field": showing.field,
    "h_finishes": exceptions.finishes, "h_floor_by": operator.ifloordiv, "h_generator": generator,
    "h_ge": _comparing(operator.ge), "h_gt": _comparing(operator.gt), "h_in": contains,
    "h_invert": builtins.invert, "h_item": item, "h_iterate": iterate, "h_keep": _keep,
    "h_key": key, "h_keywords": keywords,
    "h_kind": isinstance_types.type_of, "h_le": _comparing(operator.le), "h_locals": locals,
    "h_lt": _comparing(operator.lt), "h_mapping": mappings.mapping, "h_marked": records.marked,
    "h_matmul_by": operator.imatmul, "h_modulo": builtins.modulo, "h_modulo_by": builtins.modulo_by,
    "h_multiply": builtins.multiply, "h_multiply_by": builtins.multiply_by,
    "h_named": mappings.named, "h_ne": _comparing(operator.ne),
    "h_not_in": lambda item, box: not contains(item, box), "h_once": custom_function.once,
    "h_or_by": operator.ior, "h_own_named": mappings.own_named, "h_put": list.append,
    "h_power": builtins.power, "h_power_by": builtins.power_by, "h_raise": _raised,
    "h_raise_again": exceptions.raised_again, "h_record": custom_function.function_record,
    "h_rest": mappings.rest, "h_set": mappings.set_of, "h_set_attribute": attributes.set_attribute,
    "h_set_item": builtins.set_item, "h_shift_left": builtins.shift_left,
    "h_shift_left_by": builtins.shift_left_by, "h_shift_right": operator.rshift,
    "h_shift_right_by": builtins.shift_right_by, "h_slice": slice, "h_spread": spread,
    "h_sub_from": operator.isub, "h_super": records.parent, "h_term": one_more, "h_type": type,
    "h_unused": settings.unused,
}  # fmt: skip
