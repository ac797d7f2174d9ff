"""What messages call the kinds of values: a tensor, an int, a string, None."""

from __future__ import annotations

from typing import Any

_WORDS = {
    "Tensor": "a tensor", "str": "a string", "NoneType": "None", "int": "an int",
    "ellipsis": "...", "builtin_function_or_method": "a function", "method": "a function",
    "Operator": "a function", "type": "a function", "Size": "a shape", "float64": "a float",
    "slice": "a slice", "Lazy": "an iterator",
}  # fmt: skip


def a_kind(name: str) -> str:
    """The name of a type with its article.

    >>> a_kind("int"), a_kind("list"), a_kind("NoneType")
    ('an int', 'a list', 'None')
    """
    return _WORDS.get(name) or f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"


def a_value(value: Any) -> str:
    """The same of a value.

    >>> a_value("text")
    'a string'
    """
    return a_kind(type(value).__name__)
