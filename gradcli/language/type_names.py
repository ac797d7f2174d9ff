"""What types are called in messages, and the exceptions that programs can name."""

from __future__ import annotations

_NAMES = {
    "Tensor": "a tensor", "str": "a string", "NoneType": "None", "int": "an int",
    "ellipsis": "...", "builtin_function_or_method": "a function", "method": "a function",
    "Operator": "a function", "type": "a function", "Size": "a shape", "float64": "a float",
    "slice": "a slice", "Lazy": "an iterator", "Pair": "a step of a formula",
}  # fmt: skip

EXCEPTIONS = (
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "EOFError", "Exception",
    "FloatingPointError", "ImportError", "IndexError", "KeyError", "KeyboardInterrupt",
    "LookupError", "MemoryError", "ModuleNotFoundError", "NameError", "NotImplementedError",
    "OSError", "OverflowError", "RecursionError", "RuntimeError", "StopIteration",
    "TimeoutError", "TypeError", "UnboundLocalError", "ValueError", "ZeroDivisionError",
    "FileNotFoundError", "Warning", "UserWarning", "DeprecationWarning", "FutureWarning",
    "RuntimeWarning",
)  # fmt: skip
"""Python's exceptions that a program can name."""


def a_type(name: str) -> str:
    """The name of a type with its article.

    >>> a_type("int"), a_type("list"), a_type("NoneType")
    ('an int', 'a list', 'None')
    """
    return _NAMES.get(name) or f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"


def a_value(value: object) -> str:
    """The type of a value with its article.

    >>> a_value("text")
    'a string'
    """
    return a_type(type(value).__name__)
