"""What a traced function reads from outside: its closure, its globals, its defaults.

Numbers found there are constants of the traced program, so they are looked at before each run;
where one has changed the function is traced again. Tensors and arrays are read in every run, and
small ones are looked at too, since a function may have taken single numbers out of them.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.operator import Operator

_DEEP = 8
_MANY = 2000
"""What is looked at before each run: so deep into objects, and so many things."""
_SMALL = 4096
"""Bytes up to which an array is compared."""
_TELLING = frozenset((
    "print", "input", "open", "isinstance", "issubclass", "type", "hasattr", "id", "random",
    "urandom", "time", "time_ns", "perf_counter", "monotonic", "now", "next", "environ", "getenv",
))  # fmt: skip
"""Names by which a function could do something else in its next run, or with a Tensor."""
_FIXED = (type, types.ModuleType, types.BuiltinFunctionType, Operator)


class Outside:
    """A picture of what a function reads from outside; ``changed`` compares it with now."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.cells: list[tuple[Any, Any]] = []
        self.names: list[tuple[dict, str, Any]] = []
        self.held: list[tuple[Any, Any]] = []
        self.reason = ""
        """Why the function cannot stand as it was traced; empty where it can."""
        seen: set[int] = set()
        stack: list[Any] = [function]
        while stack and len(seen) < _MANY:
            f = stack.pop()
            if id(f) in seen:
                continue
            seen.add(id(f))
            if isinstance(f, types.MethodType):
                stack.append(f.__func__)
                self._hold(f.__self__)
                continue
            if not isinstance(f, types.FunctionType):
                inner = getattr(f, "__wrapped__", None) or getattr(f, "func", None)
                stack += [inner] if callable(inner) else []
                self._hold(f)
                continue
            if f.__module__ is not None and f.__module__.partition(".")[0] == "gradcli":
                continue
            found = [c.cell_contents for c in f.__closure__ or () if _full(c)]
            self.cells += [(c, c.cell_contents) for c in f.__closure__ or () if _full(c)]
            for name in _global_names(f.__code__):
                if name in _TELLING:
                    self.reason = f"a call of {name}"
                if name in f.__globals__:
                    thing = f.__globals__[name]
                    self.names.append((f.__globals__, name, thing))
                    found.append(thing)
            found += [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
            for thing in found:
                if isinstance(thing, types.FunctionType | types.MethodType):
                    stack.append(thing)
                else:
                    self._hold(thing)

    def _hold(self, thing: Any) -> None:
        if not isinstance(thing, (*_FIXED, float, int, str, complex, types.NoneType)):
            found = _print_of(thing)
            if found is None:
                self.reason = "more outside than can be looked at before each run"
            elif hasattr(thing, "__next__") or "random" in type(thing).__module__:
                self.reason = f"a {type(thing).__name__} outside, which changes as it is used"
            self.held.append((thing, found))

    def changed(self) -> bool:
        """Whether anything that was read is different now."""
        for cell, held in self.cells:
            if cell.cell_contents is not held:
                return True
        for scope, name, held in self.names:
            if scope.get(name) is not held:
                return True
        return any(_print_of(thing) != held for thing, held in self.held)


def _full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _global_names(code: types.CodeType) -> list[str]:
    names: list[str] = []
    stack = [code]
    while stack:
        code = stack.pop()
        names += code.co_names
        stack += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return names


def _print_of(thing: Any) -> Any:
    """Something equal as long as what a function can read of ``thing`` is; None of too much."""
    parts: list[Any] = []
    stack: list[tuple[Any, int]] = [(thing, 0)]
    while stack:
        value, depth = stack.pop()
        if len(parts) + len(stack) > _MANY or depth > _DEEP:
            return None
        array = value.array if isinstance(value, Tensor) else value
        if isinstance(array, np.ndarray | np.generic):
            parts.append((id(value), array.tobytes() if array.nbytes <= _SMALL else b""))
        elif isinstance(value, float | int | str | complex):
            parts.append(value)
        elif isinstance(value, _FIXED):
            parts.append(id(value))
        elif isinstance(value, list | tuple | set | frozenset):
            parts.append(len(value))
            stack += [(v, depth + 1) for v in value]
        elif isinstance(value, dict):
            parts.append(len(value))
            stack += [(v, depth + 1) for v in value.values()]
        else:
            parts.append(id(value))
            held = getattr(value, "__dict__", None)
            stack += [(v, depth + 1) for v in held.values()] if held else []
    return parts
