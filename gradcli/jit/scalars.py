"""Python's own operations on numbers, by the text that computes them.

A program computes with Python numbers as Python does, so generated code has the same operations.
What could give a complex number or a very large whole one goes through a function that ends the run
there: the engine then gives the result or the error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.jit.control import EXACT, Scalar


class Discard(Exception):
    """Generated code met what only the engine answers."""


def bounded(value: Any) -> Any:
    """``value``; a whole number that is too large for a float raises Discard."""
    if value.__class__ is not float and not -EXACT <= value <= EXACT:
        raise Discard
    return value


def power(a: Any, b: Any) -> Any:
    """``a ** b`` of numbers. Raises Discard for a complex or a large result."""
    if a.__class__ is not float and b.__class__ is not float and (
        b > 1 and a.bit_length() * b > 64
    ):  # fmt: skip
        raise Discard
    found = a**b
    if found.__class__ is complex:
        raise Discard
    return bounded(found)


def whole(value: Any) -> int:
    """``int(value)``, bounded."""
    return bounded(int(value))


def put(vector: Any, place: int, value: Any) -> Any:
    """A copy of ``vector`` with ``value`` at a place."""
    vector = vector.copy()
    vector[place] = value
    return vector


HELPERS = {
    "bounded": bounded, "put": put, "power": power, "whole": whole, "Discard": Discard,
    "array_of": np.array,
}  # fmt: skip
"""What the texts call, besides Python's own functions."""

ARITHMETIC = {
    "+": Scalar("+", "{0} + {1}"), "-": Scalar("-", "{0} - {1}"), "*": Scalar("*", "{0} * {1}"),
    "//": Scalar("//", "{0} // {1}", True, True), "%": Scalar("%", "{0} % {1}", True, True),
}  # fmt: skip
BOUNDED = {
    op: Scalar(f"bounded {op}", f"bounded({{0}} {op} {{1}})", raises=True) for op in ("+", "-", "*")
}
DIVIDE = Scalar("/", "{0} / {1}", raises=True)
POWER = Scalar("**", "power({0}, {1})", raises=True)
NEGATIVE = Scalar("negative", "-{0}")
POSITIVE = Scalar("positive", "+{0}")
NOT = Scalar("not", "not {0}", True)
COMPARED = {op: Scalar(op, f"{{0}} {op} {{1}}", True) for op in ("==", "!=", "<", "<=", ">", ">=")}
ABSOLUTE = Scalar("abs", "abs({0})")
LARGEST = Scalar("max", "max({0}, {1})", True)
SMALLEST = Scalar("min", "min({0}, {1})", True)
FLOAT = Scalar("float", "float({0})")
INT = Scalar("int", "whole({0})", True, True)
BOOL = Scalar("bool", "bool({0})", True)
IS_SET = Scalar("is set", "{0} is not None")
ITEM = Scalar("item", "{0}")
AS_FLOAT = Scalar("as float", "{0}")
"""A whole number where a tensor is computed with it: Python's float operations take it."""
PICK = Scalar("pick", "{0}.item({1})", raises=True)
"""An entry of a vector at a computed place."""
PUT = Scalar("put", "put({0}, {1}, {2})", raises=True)
"""A vector with another number at a computed place. These two have a derivative."""
BUFFER = Scalar("buffer", "[0.0] * {0}", raises=True)
"""What the cotangents of entries of a vector are added to."""
ADD_AT = Scalar("add at", "{0}[{1}] += {2}", raises=True)
"""The transpose of ``PICK``."""
FROM_BUFFER = Scalar("from buffer", "array_of({0}, {1})")
LIST = Scalar("list", "[]", raises=True)
"""A list that grows (see ``grown``), and what is done with it."""
APPEND = Scalar("append", "{0}.append({1})", raises=True)
AT = Scalar("at", "{0}[{1}]", raises=True)
LENGTH = Scalar("length", "len({0})", raises=True)
COTANGENTS = Scalar("cotangents", "[0.0] * len({0})", raises=True)
"""The cotangents of the items of a list, of which the last is popped as often as one was added."""
POP = Scalar("pop", "{0}.pop()", raises=True)
IN_ORDER = frozenset((BUFFER, ADD_AT, FROM_BUFFER, LIST, APPEND, AT, LENGTH, COTANGENTS, POP))
"""What writes to memory, or reads what others write: it stays in its place."""
