"""What a traced function reads from outside: its closure, its globals, its defaults.

Numbers found there are constants of the traced program, so they are looked at before each run;
where one has changed the function is traced again. Tensors and arrays are read in every run, and
small ones are looked at too, since a function may have taken single numbers out of them.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from gradcli.engine.record.captures import cells_of, codes_of
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.declaration.infix import METHODS
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
_UNSAID = {f"__{r}{name}__" for name in METHODS.values() for r in ("", "r")}
_UNSAID |= {"__call__", "__getattr__", "__getitem__", "__len__", "__iter__", "__neg__"}
"""Methods that are called without their names."""
_LASTING = sys.stdlib_module_names | {"gradcli", "numpy"}
"""Whose modules and classes stay what they are."""
_FIXED = (type, types.ModuleType, types.BuiltinFunctionType, Operator)
_PLAIN = (types.BuiltinFunctionType, Operator, float, int, str, complex, types.NoneType)


class Outside:
    """A picture of what a function reads from outside; ``changed`` compares it with now."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.read: dict[tuple[int, str], tuple[Callable[[str], Any], Any]] = {}
        self.held: list[tuple[Any, Any]] = []
        self.reason = ""
        """Why the function cannot stand as it was traced; empty where it can."""
        self._seen: dict[int, Any] = {}
        self._kept: list[Any] = []  # what is known by id, so that no other gets that
        self._stack: list[Any] = [function]
        words = {*_UNSAID}
        scopes: list[Any] = []
        while self._stack and len(self._seen) < _MANY:
            thing = self._stack.pop()
            if id(thing) not in self._seen and not isinstance(thing, _PLAIN):
                self._seen[id(thing)] = thing
                if isinstance(thing, types.FunctionType):
                    words.update(self._read(thing))
                elif isinstance(thing, types.MethodType):
                    self._stack += [thing.__func__, thing.__self__]
                elif isinstance(thing, type):
                    scopes += [c for c in thing.__mro__ if not _lasts(c.__module__)]
                elif isinstance(thing, types.ModuleType):
                    scopes += [] if _lasts(thing.__name__) else [thing]
                else:
                    self._hold(thing)
            if not self._stack:  # what is looked up in the end, by all the names that were found
                for scope in scopes:
                    self._look_up(vars(scope), id(scope), words)

    def _read(self, f: types.FunctionType) -> list[str]:
        """Note the variables of ``f``; the names in its code."""
        if _lasts(f.__module__, frozenset(("gradcli",))):
            return []
        for cell, held in cells_of(f):
            self.read[id(cell), "cell_contents"] = partial(getattr, cell), held
            self._stack.append(held)
        self._stack += [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
        words = [name for code in codes_of(f.__code__) for name in code.co_names]
        self.reason = next((f"a call of {name}" for name in words if name in _TELLING), self.reason)
        self._look_up(f.__globals__, id(f.__globals__), words)
        return words

    def _look_up(self, scope: Any, key: int, words: Iterable[str]) -> None:
        """Note what ``scope`` has under each of the names."""
        for name in words:
            if name in scope and (key, name) not in self.read:
                held = scope[name]
                self.read[key, name] = scope.get, held
                self._stack.append(getattr(held, "fget", None) or getattr(held, "__func__", held))

    def _hold(self, thing: Any) -> None:
        inner = getattr(thing, "__wrapped__", None) or getattr(thing, "func", None)
        self._stack += [inner] if callable(inner) else []
        found, parts = _print_of(thing)
        if found is None:
            self.reason = "more outside than can be looked at before each run"
        elif hasattr(thing, "__next__") or "random" in type(thing).__module__:
            self.reason = f"a {type(thing).__name__} outside, which changes as it is used"
        self.held.append((thing, found))
        self._kept += parts
        code = (types.FunctionType, types.MethodType, type, types.ModuleType)
        self._stack += [part if isinstance(part, code) else type(part) for part in parts]

    def changed(self) -> bool:
        """Whether anything that was read is different now."""
        for (_, name), (read, held) in self.read.items():
            if read(name) is not held:
                return True
        return any(_print_of(thing)[0] != held for thing, held in self.held)


def _lasts(module: str | None, lasting: frozenset[str] = _LASTING) -> bool:
    return (module or "").partition(".")[0] in lasting


def _print_of(thing: Any) -> tuple[list[Any] | None, list[Any]]:
    """Something equal as long as what a function can read of ``thing`` is; None of too much.

    And what stands in it by id, which is to be kept for as long as the ids are.
    """
    parts: list[Any] = []
    kept: list[Any] = []
    stack: list[tuple[Any, int]] = [(thing, 0)]
    while stack:
        value, depth = stack.pop()
        if len(parts) + len(stack) > _MANY or depth > _DEEP:
            return None, kept
        if isinstance(value, float | int | str | complex):
            parts.append((value.__class__, repr(value)))  # by which -0.0 is not 0
            continue
        array = value.array if isinstance(value, Tensor) else value
        inner: Any = value
        if not isinstance(value, list | tuple | set | frozenset | dict):
            parts.append(id(value))
            kept.append(value)
            if isinstance(array, np.ndarray | np.generic):
                parts.append(array.tobytes() if array.nbytes <= _SMALL else b"")
                continue
            inner = {} if isinstance(value, _FIXED) else getattr(value, "__dict__", {})
        parts += [len(inner), *(v if v.__class__ is str else None for v in inner)]
        stack += [(v, depth + 1) for v in inner if v.__class__ is not str]
        stack += [(v, depth + 1) for v in inner.values()] if isinstance(inner, dict) else []
    return (None if len(parts) > _MANY else parts), kept
