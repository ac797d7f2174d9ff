"""Calls of a program's functions by gradcli's own: hooks, transforms, methods, sort keys.

In generated code the parameters of a program's functions carry the prefix ``v_``. Everything else
that can be called (functions of the tables, bound methods, classes) takes the names of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

from gradcli.language.limits.step_budget import FILE
from gradcli.language.type_names import a_value
from gradcli.ops.errors import bad_type


def of_program(function: Any) -> bool:
    """Whether a value is a function that the program defined, as generated code has it."""
    return function.__class__ is FunctionType and function.__code__.co_filename == FILE


def plain(function: Any) -> Any:
    """``function`` so that it takes keywords under the names of the text."""
    if not of_program(function):
        return function

    def call(*args: Any, **options: Any) -> Any:
        return function(*args, **{f"v_{name}": value for name, value in options.items()})

    return call


def keywords(function: Any) -> Any:
    """``function`` so that it takes keywords under the names of generated code."""
    if of_program(function):
        return function

    def call(*args: Any, **options: Any) -> Any:
        return function(*args, **{name[2:]: value for name, value in options.items()})

    return call


def named(function: Any, name: str, kind: type | None = None) -> Any:
    """``function`` under the name that programs have it by; ``kind`` is the class that it makes."""
    function.__name__ = name
    if kind is not None:
        function.__gradcli_kind__ = lambda: kind
    return function


def checking(function: Callable, check: Callable[[Any], Any]) -> Any:
    """``function`` with each of its arguments looked at by ``check``, which gives what it gets."""

    def call(*args: Any, **options: Any) -> Any:
        return function(*map(check, args), **{key: check(x) for key, x in options.items()})

    return call


def is_function(value: Any) -> bool:
    """Whether a value can be called, and is no tensor or what stands for one."""
    return callable(value) and not getattr(value, "__gradcli_rank__", False)


def called(value: Any, what: str) -> Callable:
    """``value``, where it can be called. Raises TypeFault (E0303)."""
    if not is_function(value):
        raise bad_type(f"{what} is a function, got {a_value(value)}", help="write lambda x: x")
    return plain(value)


def own_name(function: Any, otherwise: str = "") -> str:
    """The name of a function as the program has it."""
    return re.sub(r"^(?:v|t_\d+)_", "", getattr(function, "__name__", otherwise))


def own_names(message: str) -> str:
    """Python's own message with the program's names, as generated code has other ones."""
    message = re.sub(r"\bt_\d+_(\w+\(\))", r"\1", message)  # a method
    return re.sub(r"\bv_(\w+)", r"\1", without_addresses(message))


def without_addresses(message: str) -> str:
    """A message without where a value lies in memory, and where gradcli keeps what made it.

    >>> without_addresses("<generator object main.<locals>.v_g at 0x7f0884768400> is not in list")
    '<generator object g> is not in list'
    """
    # From where a word begins: else a long one would be read again from each of its letters.
    message = re.sub(r"(?<![\w.])(?:[\w.]+\.<locals>\.)+(?:v_)?", "", message)
    return re.sub(r" at 0x[0-9a-f]{6,}|\bgradcli\.(?:engine|language|ops)\.[a-z_.]*", "", message)
