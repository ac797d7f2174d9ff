"""The gate before functions that are composed of operators.

Which of their parameters hold data is read off the parameters' names, which are PyTorch's. Numbers
alone are computed in float64 and give a number back, as the operators do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import creation, dtypes
from gradcli.engine.outputs import into
from gradcli.engine.tensor import Tensor, wrap
from gradcli.language import gate
from gradcli.language.bounds import Lazy, listed, weigh
from gradcli.ops.limits import charge

DATA = frozenset(
    ("input", "other", "tensor1", "tensor2", "end", "exponent", "mat1", "mat2", "mat",
     "vec", "vec1", "vec2", "batch1", "batch2", "x", "y", "x1", "x2", "a", "b", "target",
     "src", "source", "mask", "condition", "real", "imag", "abs", "tensor", "anchor",
     "positive", "negative", "weight", "bias", "query", "key", "value", "running_mean",
     "running_var", "A", "B")
)  # fmt: skip
SEQUENCES = frozenset(("tensors", "matrices", "operands"))
_HEAVY = frozenset((list, tuple, range, Lazy))
_NUMBERS = frozenset((float, int, complex, bool))
_VARIADIC = 0x04


def composed(function: Callable) -> Callable:
    """``function`` with its arguments looked at."""
    code = getattr(function, "__wrapped__", function).__code__
    order = code.co_varnames[: code.co_argcount]
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if (
        code.co_flags & _VARIADIC
    ) else ""  # fmt: skip
    name = function.__name__
    leading = bool(order) and order[0] in DATA

    def call(*args: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:
            return into(out, call, args, options)
        given = [_seen(order[i] if i < len(order) else rest, a, name) for i, a in enumerate(args)]
        for key, value in options.items():
            options[key] = _seen(key, value, name)
        if leading and given and given[0].__class__ in _NUMBERS:
            return _of_numbers(function, order, given, options)
        return function(*given, **options)

    call.__name__ = name
    call.__module__ = __name__
    return call


def _seen(name: str, value: Any, function: str) -> Any:
    if name in SEQUENCES:
        return _tensors(value, function)
    if name in DATA and value is not None and not isinstance(value, str):
        return gate.data(value, function)
    return gate.light(value)


def _tensors(values: Any, function: str) -> Any:
    """A list of tensors, or one of them where the function takes several."""
    if values.__class__ not in _HEAVY:
        return gate.data(values, function)
    values = listed(values)
    charge(sum([v.array.size * 8 if v.__class__ is Tensor else 8 for v in values]))
    for i, value in enumerate(values):
        if value.__class__ is not Tensor:
            weigh(value) if value.__class__ in _HEAVY else gate.data(value, function)
            values[i] = value if getattr(value, "__gradcli_rank__", 0) else creation.tensor(
                gate.solid(value)
            )  # fmt: skip
    return values


def _of_numbers(function: Callable, order: tuple, given: list, options: dict) -> Any:
    """The call with a number first: a tensor of it among tensors, else a number comes out."""
    others = [v for k, v in [*zip(order, given, strict=False), *options.items()] if k in DATA]
    if any(getattr(v, "__gradcli_rank__", 0) for v in others):
        given[0] = creation.tensor(given[0])
        return function(*given, **options)
    given = [_exact(v) if k in DATA else v for k, v in zip(order, given, strict=False)]
    options = {k: _exact(v) if k in DATA else v for k, v in options.items()}
    result = function(*given, **options)
    return result.item() if isinstance(result, Tensor) and not result.ndim else result


def _exact(value: Any) -> Any:
    """A number as a 0-d tensor that holds all of it."""
    if value.__class__ not in _NUMBERS:
        return value
    dtype = {float: dtypes.float64, complex: dtypes.complex128}.get(
        value.__class__, dtypes.number_dtype(value)
    )
    return wrap(np.asarray(value, dtype.numpy)[()], dtype)
