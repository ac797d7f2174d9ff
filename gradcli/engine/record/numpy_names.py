"""NumPy's names of parameters, ``axis`` for ``dim``: arguments of every function, as in PyTorch.

A call is made as it was written. Only where that raises TypeError are its names looked at: a
function that was given a name it does not know has done nothing yet.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

_NUMPY = {
    "axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input", "x1": "input", "x2": "other",
}  # fmt: skip
"""NumPy's names of parameters, which PyTorch takes too, and its own."""


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    """The names that a function takes, below what wraps it; none where it takes any."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARKEYWORDS:
        return frozenset()
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def renamed(function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any] | None:
    """``options`` by the function's own names; None where they are, or two have one name."""
    known = _parameters(function)
    if not known or all(name in known or name not in _NUMPY for name in options):
        return None
    own = {n if n in known else _NUMPY.get(n, n): v for n, v in options.items()}
    return own if len(own) == len(options) else None


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` that takes ``axis`` for ``dim`` too; itself where it does so already."""
    known = _parameters(function)
    if "dim" not in known or "axis" in known:
        return function

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError:
            own = renamed(function, options)
            if own is None:
                raise
        return function(*args, **own)

    return call
