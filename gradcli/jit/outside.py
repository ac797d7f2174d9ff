"""What a traced function reads from outside: its closure, its globals, its defaults.

Numbers found there are constants of the traced program, so they are looked at before each run;
where one has changed the function is traced again. Tensors and arrays are read in every run, and
small ones are looked at too, since a function may have taken single numbers out of them.

What cannot be looked into keeps the function on the engine, and so does code that may do another
thing in its next run, or with a Tensor: such as a handler, which may catch what only tracing
raises.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.record.captures import cells_of, codes_of
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.declaration.infix import METHODS
from gradcli.ops.operator import Operator

_DEEP = 8
_MANY = 2000
"""What is looked at before each run: so deep into objects, and so many things."""
_TOO_MUCH = "more outside than can be looked at before each run"
_SMALL = 4096
"""Bytes up to which an array is compared before each run."""
WHOLE = 1 << 26
"""The same while it is traced, and where the program holds what may be computed of it."""
_TELLING = frozenset((
    "print", "input", "open", "isinstance", "issubclass", "type", "hasattr", "id", "random",
    "urandom", "time", "time_ns", "perf_counter", "monotonic", "now", "next", "environ", "getenv",
    "getattr", "vars", "dir", "locals", "globals", "eval", "exec", "__import__", "__class__",
    "__dict__", "singledispatch", "suppress", "raises", "assertRaises", "manual_seed", "seed",
    "initial_seed", "get_rng_state", "set_rng_state", "is_grad_enabled", "is_leaf", "_version",
    "is_inference_mode_enabled", "default_rng", "Random", "SystemRandom",
))  # fmt: skip
"""Names by which a function could do something else in its next run, or with a Tensor."""
_WRITES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"))
_MAKING = frozenset(("__init__", "__new__", "__post_init__"))
_UNSAID = {f"__{r}{name}__" for name in METHODS.values() for r in ("", "r")}
_UNSAID |= {
    f"__{name}__" for name in ("call", "getattr", "getattribute", "getitem", "setitem", "len",
        "iter", "next", "neg", "contains", "bool", "eq", "hash", "missing", "get", "set", "enter",
        "exit", "float", "int", "index")
}  # fmt: skip
"""Methods that are called without their names."""
_LASTING = frozenset((
    "gradcli", "numpy", "math", "cmath", "operator", "_operator", "functools", "_functools",
    "itertools", "collections", "_collections", "_collections_abc", "typing", "types", "abc",
    "enum", "dataclasses", "contextlib", "builtins", "numbers",
))  # fmt: skip
"""Whose modules, classes and functions stay what they are, and give the same in every run."""
_CODE = (
    type, types.ModuleType, types.BuiltinFunctionType, types.FunctionType, types.MethodType,
    partial, staticmethod, classmethod,
)  # fmt: skip
_FIXED = (
    *_CODE, types.EllipsisType, range, slice, property, np.ufunc, np.dtype, Operator,
    dtypes.DType, dtypes.Device,
)  # fmt: skip
_HEAP = 1 << 9  # of the flags of a class: it was made by a class statement
_NUMBERS = (float, int, str, bytes, complex, types.NoneType)
_CONTAINERS = (list, tuple, set, frozenset, dict)


class Outside:
    """A picture of what a function reads from outside; ``changed`` compares it with now.

    ``entries`` is the code made for it, by what is asked for; None where the engine ran once, and
    changed nothing of it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.entries: dict[tuple, Any] = {}
        self.read: dict[tuple[int, str], tuple[Callable[[str], Any], Any]] = {}
        self.held: list[tuple[Any, Any]] = []
        self.most: float = _SMALL
        self.reason = ""
        """Why the function cannot stand as it was traced; empty where it can."""
        self._seen: dict[int, Any] = {}
        self._kept: list[Any] = []  # what is known by id, so that no other gets that
        self._stack: list[Any] = [function]
        words = {*_UNSAID}
        scopes: list[Any] = []
        while self._stack and len(self._seen) < _MANY:
            thing = self._stack.pop()
            if id(thing) not in self._seen and thing.__class__ not in _NUMBERS:
                self._seen[id(thing)] = thing
                if isinstance(thing, types.FunctionType):
                    words.update(self._read(thing))
                elif isinstance(thing, types.MethodType):
                    self._stack += [thing.__func__, thing.__self__]
                elif isinstance(thing, types.BuiltinFunctionType):
                    self._call(thing)
                elif isinstance(thing, type):
                    scopes += [c for c in thing.__mro__ if not _lasts(c.__module__)]
                    self._stack.append(type(thing))
                elif isinstance(thing, types.ModuleType):
                    if thing.__name__ not in sys.stdlib_module_names:
                        scopes += [] if _lasts(thing.__name__) else [thing]
                    elif not _lasts(thing.__name__):
                        self.reason = f"the module {thing.__name__}, whose answers may change"
                else:
                    self._hold(thing)
            if not self._stack:  # what is looked up in the end, by all the names that were found
                for scope in scopes:
                    self._look_up(vars(scope), id(scope), words)
        if self._stack:
            self.reason = _TOO_MUCH

    def _read(self, f: types.FunctionType) -> list[str]:
        """Note the variables of ``f``; the names in its code."""
        if _lasts(f.__module__, frozenset(("gradcli",))):
            return []
        for cell, held in cells_of(f):
            self.read[id(cell), "cell_contents"] = partial(getattr, cell), held
            self._note(held)
        self._stack += [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
        if vars(f):
            self._stack.append(vars(f))
        words = [name for code in codes_of(f.__code__) for name in code.co_names]
        does = next((why for code in codes_of(f.__code__) for why in _does(code, f.__code__)), "")
        called = (f"a call of {name}" for name in words if name in _TELLING)
        self.reason = next(called, does or self.reason)
        self._look_up(f.__globals__, id(f.__globals__), words)
        return words

    def _look_up(self, scope: Any, key: int, words: Iterable[str]) -> None:
        """Note what ``scope`` has under each of the names."""
        for name in words:
            if name in scope and (key, name) not in self.read:
                held = scope[name]
                self.read[key, name] = scope.get, held
                self._note(held.fget if isinstance(held, property) else held)
                if name == "__exit__":
                    self.reason = "a with block that may catch errors"

    def _note(self, held: Any) -> None:
        """Look at what a variable holds; a class that is found by its name may be called."""
        self._stack.append(held)
        if isinstance(held, type) and not _lasts(held.__module__):
            made = (getattr(held, name, None) for name in _MAKING)
            self._stack += [m for m in made if isinstance(m, types.FunctionType)]

    def _call(self, thing: Any) -> None:
        """A function that is written in C, or a method of an object of such a class."""
        owner = thing.__self__
        if owner is not None and not isinstance(owner, types.ModuleType | type):
            self._stack.append(owner)
        elif thing.__name__ in _TELLING or not _lasts(
            thing.__module__ or getattr(owner, "__module__", "")
        ):
            self.reason = f"a call of {thing.__name__}"

    def _hold(self, thing: Any) -> None:
        if isinstance(thing, partial):
            self._stack += [*thing.args, *thing.keywords.values()]
        inner = (getattr(thing, name, None) for name in ("__wrapped__", "func", "__func__"))
        self._stack += [f for f in inner if callable(f)]
        found, parts = _print_of(thing, self.most)
        if found is None:
            self.reason = _TOO_MUCH
        self.held.append((thing, found))
        self._kept += parts
        self._stack += [part if isinstance(part, _CODE) else type(part) for part in parts]

    def changed(self) -> bool:
        """Whether anything that was read is different now."""
        for (_, name), (read, held) in self.read.items():
            if read(name) is not held:
                return True
        return any(_print_of(thing, self.most)[0] != held for thing, held in self.held)

    def prints(self, most: float) -> list[Any]:
        """Of all that is held, arrays of up to ``most`` bytes included."""
        return [_print_of(thing, most)[0] for thing, _ in self.held]

    def compare(self, arrays: Iterable[Any]) -> None:
        """Look at large arrays too from now on, where one of ``arrays`` may be computed of them."""
        known = {*self._seen, *map(id, self._kept)}
        held = [_array(t) for t in self._kept if _array(t) is not None]
        large = [array for array in held if array.nbytes > _SMALL]
        for one in arrays if large else ():
            if id(one) not in known and not any(np.may_share_memory(_array(one), a) for a in large):
                self.most = WHOLE
        self.held = [(thing, _print_of(thing, self.most)[0]) for thing, _ in self.held]


def _lasts(module: Any, lasting: frozenset[str] = _LASTING) -> bool:
    return module.__class__ is str and module.partition(".")[0] in lasting


@lru_cache(maxsize=4096)
def _does(code: types.CodeType, whole: types.CodeType) -> list[str]:
    """What ``code``, a part of the function ``whole``, does that no trace of it shows."""
    found = []
    steps = [*dis.get_instructions(code)]
    for step, following in zip(steps, [*steps[1:], steps[-1]], strict=True):
        name = step.argval
        if step.opname == "PUSH_EXC_INFO" and following.opname != "WITH_EXCEPT_START":
            found.append("a handler of errors")
        elif step.opname == "MATCH_CLASS":
            found.append("a test of what class a value is of")
        elif step.opname == "IMPORT_NAME":
            found += [] if _lasts(name) else [f"an import of {name}"]
        elif (step.opname in _WRITES and code.co_name not in _MAKING) or (
            step.opname in ("STORE_DEREF", "DELETE_DEREF") and name in whole.co_freevars
        ):
            found.append(f"a write to {name}")
    return found


@lru_cache(maxsize=4096)
def _open(cls: type) -> bool:
    """Whether all that an object of a class holds is in its ``__dict__``, or in it as a number or a
    container."""
    slots = {
        slot for c in cls.__mro__ for slot in (c.__dict__.get("__slots__", ()),) for slot in
        ((slot,) if isinstance(slot, str) else slot)
    }  # fmt: skip
    bases = {object, types.SimpleNamespace, *_NUMBERS, *_CONTAINERS}
    made = all(c in bases or c.__flags__ & _HEAP for c in cls.__mro__)
    return made and not slots - {"__dict__", "__weakref__"}


def _array(value: Any) -> Any:
    """The array of a tensor or of NumPy; None for anything else."""
    array = value.array if isinstance(value, Tensor) else value
    return array if isinstance(array, np.ndarray | np.generic) else None


def _print_of(thing: Any, most: float) -> tuple[list[Any] | None, list[Any]]:
    """Something equal as long as what a function can read of ``thing`` is; None where that is too
    much, or not known. Arrays of more than ``most`` bytes are not compared.

    And what stands in it by id, which is to be kept for as long as the ids are.
    """
    parts: list[Any] = []
    kept: list[Any] = []
    stack: list[tuple[Any, int]] = [(thing, 0)]
    while stack:
        value, depth = stack.pop()
        if len(parts) + len(stack) > _MANY or depth > _DEEP:
            return None, kept
        cls = value.__class__
        if cls in _NUMBERS:
            parts.append((cls, repr(value)))  # by which -0.0 is not 0
            continue
        inner: Any = ()
        own: Any = {} if isinstance(value, _FIXED) else getattr(value, "__dict__", {})
        if isinstance(value, _CONTAINERS):
            inner = value
        elif isinstance(value, _NUMBERS):
            parts.append((cls, repr(value)))
        else:
            parts.append((id(value), cls))
            kept.append(value)
            array = _array(value)
            if array is not None:
                if array.dtype.hasobject:
                    return None, kept
                parts.append(array.tobytes() if array.nbytes <= most else b"")
                parts.append(getattr(value, "edge", None) is None)
            elif not isinstance(value, _FIXED) and not _open(cls):
                return None, kept
        for group in (inner, own) if own else (inner,):
            parts += [len(group), *(v if v.__class__ is str else None for v in group)]
            stack += [(v, depth + 1) for v in group if v.__class__ is not str]
            stack += [(v, depth + 1) for v in group.values()] if isinstance(group, dict) else []
    return (None if len(parts) > _MANY else parts), kept
