"""Python numbers that a run computes, and the types of what loops carry and branches join.

constant, class, number, text   one number that is known     number, kind   any number of a kind
held, id, shape, dtype, tensor  one tensor that is known     tensor, shape, dtype   any of those
either, shape, dtype, whole     a tensor or a Python number, perhaps a whole one
list or tuple, types of items                                same, id, value   anything else
"""

from __future__ import annotations

from typing import Any

from gradcli.engine import dtypes
from gradcli.jit.ir import NotTraceable, Value

FLOATS = (dtypes.float64, dtypes.float32)
"""What programs are lowered in."""
KINDS: dict[Any, str] = {int: "int", float: "float", bool: "bool"}
SMALL = 1 << 24
"""Whole numbers below this, added up in every step of a program, do not become too large."""
UNSET = object()
"""Stands for the value of a variable that is not set."""


class PyNumber:
    """A Python number of the program that is not known before the run.

    kind   int, float, bool, or mixed where it may be an int or a float
    small  whether it is surely of a few digits: the index of a loop
    """

    __slots__ = ("kind", "small", "value")

    def __init__(self, value: Value, kind: str, small: bool = False) -> None:
        self.value = value
        value.trace.numbers.add(value)
        value.example = {"float": 1.0, "int": 1, "bool": True, "mixed": 1.0}[kind]
        self.kind = kind
        self.small = small


def is_narrow(spec: tuple) -> bool:
    """Whether a value is one known number, or a Python number: no tensor, list or function."""
    return spec[0] in ("constant", "number")


def widened(spec: tuple) -> tuple:
    """The type of a variable that a loop changes: not one number, but any. Raises NotTraceable for
    a whole number that no tensor takes."""
    if spec[0] == "constant":
        if spec[1] is int and abs(spec[2]) >= 1 << 63:
            raise NotTraceable("a whole number that no tensor takes")
        return "number", KINDS[spec[1]]
    if spec[0] == "held":
        return "tensor", spec[2], spec[3]
    if spec[0] in (list, tuple):
        return (spec[0], *map(widened, spec[1:]))
    return spec


def optional(spec: tuple) -> tuple:
    """The type of a variable that is not set on every way. Raises NotTraceable for what no run
    carries, such as a function or a text."""
    stack = [spec]
    while stack:
        head, *parts = stack.pop()
        if head == "same":
            raise NotTraceable("a variable that is not set on every way")
        stack += parts if head in (list, tuple) else []
    return widened(spec)


def joined_type(a: tuple, b: tuple) -> tuple:
    """The type that values of two types have together. Raises NotTraceable."""
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if one[0] == "same" and one[2] is UNSET:
            return optional(other)
    if a[0] in (list, tuple) and b[0] is a[0] and len(a) == len(b):
        return (a[0], *(joined_type(x, y) for x, y in zip(a[1:], b[1:], strict=True)))
    if "same" in (a[0], b[0]) or a[0] in (list, tuple) or b[0] in (list, tuple):
        raise NotTraceable("a variable that is one thing or another")
    a, b = widened(a), widened(b)
    if a == b:
        return a
    if a[0] == b[0] == "number":
        if "bool" in (a[1], b[1]):
            raise NotTraceable("a variable that is a truth or a number")
        return "number", "mixed"
    if {a[0], b[0]} <= {"tensor", "either"} and a[1:3] == b[1:3]:
        return "either", *a[1:3], True in (*a[3:], *b[3:])
    for one, other in ((a, b), (b, a)):
        if one[0] in ("tensor", "either") and other[0] == "number":
            if one[1] or one[2] not in FLOATS or other[1] == "bool":
                break
            return "either", *one[1:3], other[1] != "float" or True in one[3:]
    raise NotTraceable("a variable of several shapes or types")
