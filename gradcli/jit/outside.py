"""What a traced function reads from outside: its closure, its globals, its defaults.

Numbers found there are constants of the traced program, so they are looked at before each run;
where one has changed the code is forgotten. Tensors and arrays that the program reads in every run
may change, if they are not so small that the function may have taken single numbers out of them.

What cannot be looked into keeps the function on the engine, and so does code that may do another
thing in its next run, or with a Tensor: such as a handler, which may catch what only tracing
raises.
"""

from __future__ import annotations

import builtins
import dis
import operator
import sys
import types
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.record.captures import cells_of, codes_of
from gradcli.engine.tensor.tensor import Kind, Tensor
from gradcli.ops.operator import Operator

_DEEP = 8
_MANY = 2000
"""What is looked at before each run: so deep into objects, and so many things."""
_TOO_MUCH = "more outside than can be looked at before each run"
_SMALL = 4096
"""Bytes up to which an array is compared before each run, though the program reads it."""
_LARGEST = 1 << 26
"""Bytes up to which an array is compared at all."""
_TELLING = frozenset((
    "print", "input", "open", "isinstance", "issubclass", "type", "hasattr", "id", "random", "next",
    "getattr", "setattr", "delattr", "vars", "dir", "locals", "globals", "eval", "exec",
    "__import__", "__class__", "__dict__", "singledispatch", "suppress", "raises", "assertRaises",
    "manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "is_grad_enabled",
    "is_inference_mode_enabled", "is_leaf", "_version", "default_rng", "load", "save", "loadtxt",
    "savetxt", "savez", "savez_compressed", "genfromtxt", "fromfile", "tofile", "memmap", "geterr",
    "get_printoptions", "attrgetter", "methodcaller", "format", "format_map", "__getattribute__",
    "__subclasses__", "__name__", "__qualname__", "__doc__", "closing", "is_anomaly_enabled",
    "is_anomaly_check_nan_enabled", "is_warn_always_enabled", "getbufsize", "setbufsize",
    "seterr", "seterrcall", "set_printoptions", "flags",
))  # fmt: skip
"""Names by which a function could do something else in its next run, or with a Tensor."""
_TEXTS = frozenset(map(id, (
    str, repr, ascii, np.array_str, np.array_repr, np.array2string, operator.mod, operator.imod,
)))  # fmt: skip
"""What writes an array of NumPy's as its print options say."""
_WRITES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"))
_MAKING = frozenset(("__init__", "__new__", "__post_init__"))
_UNSAID = frozenset(("forward", "keys", "_missing_"))
_LASTING = frozenset((
    "gradcli", "numpy", "math", "cmath", "operator", "_operator", "functools", "_functools",
    "itertools", "collections", "_collections", "_collections_abc", "typing", "types", "abc",
    "enum", "dataclasses", "contextlib", "builtins", "numbers",
))  # fmt: skip
"""Whose modules, classes and functions stay what they are, and give the same in every run."""
_CODE = (
    type, types.ModuleType, types.BuiltinFunctionType, types.FunctionType, types.MethodType,
    partial, staticmethod, classmethod, property, slice,
)  # fmt: skip
_FIXED = (
    *_CODE, types.EllipsisType, range, np.ufunc, np.dtype, Operator,
    dtypes.DType, dtypes.Device, types.MemberDescriptorType,
    type(vars(namedtuple("Pair", "a"))["a"]),
)  # fmt: skip
_WRAPPING = (partial, property, staticmethod, classmethod, types.SimpleNamespace)
"""Of Python's own classes, whatever is in them."""
_HOLDING = ("func", "args", "keywords", "fget", "__func__", "__dict__", "start", "stop", "step")
"""Where partial functions, descriptors and slices hold what a function may read."""
_HEAP, _FINAL = 1 << 9, 1 << 8  # flags of a class: it was made at run time, nobody may change it
_ITEM, _ABSENT = "{of}[{name!r}] is {held}", "{name!r} not in {of}"
_ATTRIBUTE, _CALL = "{of}.{name} is {held}", "{of}({name!r}) is {held}"
_EQUAL = "{of} == {held}"
"""Tests whether what was read stands there still."""
_NUMBERS = (float, int, bool, str, bytes, complex, types.NoneType)
_CONTAINERS = (list, tuple, set, frozenset, dict)
_KNOWN = frozenset((
    object, types.SimpleNamespace, *_NUMBERS, *_CONTAINERS, defaultdict, OrderedDict
))  # fmt: skip


class Outside:
    """A picture of what a function reads from outside; ``changed`` compares it with now.

    ``entries`` is the code made for it, by what is asked for; None where the engine ran once, and
    changed nothing of it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.entries: dict[tuple, Any] = {}
        self.looks = 0  # that found it unchanged
        self.read: dict[tuple[int, str], tuple[str, Any, Any]] = {}  # a test, whose and what
        self._unchanged: Any = None  # all of them in one, from the first look on
        self.held: list[tuple[Any, Any]] = []
        self.names: list[tuple[Any, list[str]]] = []
        self.flowing: set[int] | None = None
        """The large arrays, by id, that every program reads in each run; None: there is none."""
        self.grads = False  # whether it may read a tensor's ``grad``
        self.reason = ""
        """Why the function cannot stand as it was traced; empty where it can."""
        self._seen: dict[int, Any] = {}
        self._kept: list[Any] = []  # what is known by id, so that no other gets that
        self._stack: list[Any] = [function, Tensor]
        self._words: set[str] = set()
        scopes: list[Any] = []
        while self._stack and len(self._seen) < _MANY:
            thing = self._stack.pop()
            if id(thing) not in self._seen and thing.__class__ not in _NUMBERS:
                self._seen[id(thing)] = thing
                if isinstance(thing, types.FunctionType):
                    self._read(thing)
                elif isinstance(thing, types.MethodType):
                    self._stack += [thing.__func__, thing.__self__]
                elif isinstance(thing, types.BuiltinFunctionType):
                    self._call(thing)
                elif isinstance(thing, type):
                    scopes += thing.__mro__
                    self._stack.append(type(thing))
                    if any("register_forward_hook" in vars(c) for c in thing.__mro__):
                        self._of_all_modules()
                elif isinstance(thing, types.ModuleType):
                    self._stack.append(type(thing))
                    if _lasts(thing.__name__) or thing.__name__ not in sys.stdlib_module_names:
                        scopes.append(thing)
                    else:
                        self.reason = f"the module {thing.__name__}, whose answers may change"
                else:
                    self._hold(thing)
            if not self._stack:  # what is looked up in the end, by all the names that were found
                for scope in scopes:
                    held = vars(scope)
                    if not is_own(scope):
                        final = isinstance(scope, type) and scope.__flags__ & _FINAL
                        if not final and scope is not Tensor:
                            self._guard(scope)
                        continue
                    self._look_up(held, id(scope), {*self._words, "__getattr__"})
                    # A new name may hide one of a class above.
                    self.names.append((held, [*held]))
                    if isinstance(scope, type):
                        # What is called without its name: a module's forward, too.
                        unsaid = {n for n, v in held.items() if n[:2] == "__" and (
                            callable(v) or isinstance(v, classmethod)
                        )}  # fmt: skip
                        self._look_up(held, id(scope), (unsaid | _UNSAID) - _MAKING)
                        # What is above a class may be another.
                        self.read[id(scope), "__mro__"] = _ATTRIBUTE, scope, scope.__mro__
                        if any(isinstance(held.get(name), classmethod) for name in self._words):
                            self._stack += self._making(scope)
        if self._stack:
            self.reason = _TOO_MUCH
        if not _TEXTS.isdisjoint(self._seen):
            self._of_texts()
        if any("grad" in name or name == "step" for name in self._words - {"gradcli"}):
            self.grads = True
            self.held = [(thing, self._print(thing)[0]) for thing, _ in self.held]
        tensors = [thing for thing in self._kept if isinstance(thing, Tensor)]
        if any(tensor.__gradcli_rank__ > 1 for tensor in tensors):
            self.reason = "a value of a transform"
        self.read[id(Kind), "changes"] = _ATTRIBUTE, Kind, Kind.changes
        if name := Kind.replaced(self._words):  # a traced value has the library's
            self.reason = f"a user's {name} of tensors"
        self.records = bool(self.reason) or any(tensor.edge is not None for tensor in tensors)
        """Whether something outside may need a gradient."""

    def _read(self, f: types.FunctionType) -> None:
        """Note the variables of ``f``, and the names in its code."""
        # Its own variables stay; a user's function may say the module of what it wraps.
        # What is made of a text, by ``make_dataclass``, is a user's too.
        known = _lasts(f.__module__) and _lasts(f.__globals__.get("__name__")) and (
            f.__code__.co_filename != "<string>"
        )  # fmt: skip
        if known and f.__name__ in _TELLING:
            self.reason = f"a call of {f.__name__}"
        for cell, held in cells_of(f):
            if callable(held) or not known:
                self.read[id(cell), "cell_contents"] = _ATTRIBUTE, cell, held
                self._note(held)
        if known:
            return
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.read[id(f), name] = _ATTRIBUTE, f, getattr(f, name)
        self._stack += [part for part in (f.__defaults__, f.__kwdefaults__, vars(f)) if part]
        words = [name for code in codes_of(f.__code__) for name in code.co_names]
        for name in {name for code in codes_of(f.__code__) for name in _imports(code)}:
            if (module := sys.modules.get(name)) is not None:
                self.read[id(sys.modules), name] = _ITEM, sys.modules, module
                self._note(module)
        self._stack += [str for code in codes_of(f.__code__) if _formats(code)]
        does = next((why for code in codes_of(f.__code__) for why in _does(code, f.__code__)), "")
        called = (f"a call of {name}" for name in words if name in _TELLING)
        self.reason = next(called, does or self.reason)
        self._look_up(f.__globals__, id(f.__globals__), words)
        self._words.update(words)

    def _look_up(self, scope: Any, key: int, words: Iterable[str]) -> None:
        """Note what ``scope`` has under each of the names."""
        for name in words:
            of, at = scope, key
            if name not in scope and name in vars(builtins):
                self.read[key, name] = _ABSENT, scope, None
                of, at = vars(builtins), id(builtins)
            if name in of and (at, name) not in self.read:
                held = of[name]
                self.read[at, name] = _ITEM, of, held
                self._note(held)
                if name == "__exit__":
                    self.reason = "a with block that may catch errors"

    def _guard(self, scope: Any) -> None:
        """Note what a lasting module or class has under the names that the code says. Somebody may
        put another thing in the place of it, which alone is looked into."""
        held_by, names = vars(scope), self._words | {"forward", "__call__"}
        if not isinstance(scope, types.ModuleType):
            if scope not in (*Tensor.__mro__, Kind):  # Kind notes what is set there
                names |= {n for n, held in held_by.items() if n[:2] == "__" and callable(held)}
        elif scope.__name__.startswith("gradcli"):
            for name in names - held_by.keys():
                getattr(scope, name, None)  # some names are loaded with their first use
        for name in names:
            if name in held_by and (id(scope), name) not in self.read:
                held = held_by[name]
                self.read[id(scope), name] = _ITEM, held_by, held
                self._note_other(held)

    def _note_other(self, held: Any) -> None:
        """Look into what may stand in the place of a function of the library's."""
        if isinstance(held, types.ModuleType):
            look = _lasts(held.__name__)
        else:  # a user's function may say the module of what it wraps
            of = getattr(held, "__globals__", {}).get("__name__")
            homes = getattr(held, "__module__", None) or "gradcli", of or "gradcli"
            look = isinstance(held, _WRAPPING) or not all(map(_lasts, homes))
        if look or isinstance(held, type) or id(held) in _TEXTS:
            self._note(held)

    def _note(self, held: Any) -> None:
        """Look at what a variable holds; a class that is found by its name may be called."""
        self._stack.append(held)
        if isinstance(held, type) and is_own(held):
            self._stack += self._making(held)

    def _making(self, cls: type) -> list[Any]:
        made = (getattr(cls, name, None) for name in _MAKING)
        return [m for m in made if isinstance(m, types.FunctionType) and id(m) not in self._seen]

    def _call(self, thing: Any) -> None:
        """A function that is written in C, or a method of an object of such a class."""
        owner = thing.__self__
        if bound := owner is not None and not isinstance(owner, types.ModuleType | type):
            self._stack.append(owner)
        lasts = bound or _lasts(thing.__module__ or getattr(owner, "__module__", ""))
        if thing.__name__ in _TELLING or not lasts:
            self.reason = f"a call of {thing.__name__}"

    def _hold(self, thing: Any) -> None:
        cls: Any = type(thing)
        if isinstance(thing, np.ufunc) and not thing.types[0].strip("O->"):
            self.reason = "a function of Python's that NumPy calls"
        if isinstance(thing, partial | property | staticmethod | classmethod | slice):
            self._note(cls)
            for name in _HOLDING:
                held = getattr(thing, name, None)
                self._stack.append(held)
                if held is not None:  # ``__setstate__`` and a second ``__init__`` change it
                    self.read[id(thing), name] = _ATTRIBUTE, thing, held
        found, parts = self._print(thing)
        if found is None:
            self.reason = _TOO_MUCH
        if not _kind(cls)[1]:  # what stays as it is needs no second look
            self.held.append((thing, found))
        self._kept += parts
        for part in parts:
            self._note(part if isinstance(part, _CODE) else type(part))

    def _of_texts(self) -> None:
        """Note how NumPy prints arrays."""
        options = np.get_printoptions()

        def now(_: str) -> Any:
            return options if np.get_printoptions() == options else None

        self.read[id(np), "printoptions"] = _CALL, now, options

    def _of_all_modules(self) -> None:
        """Note the hooks that every module runs, whether ``cached()`` keeps values, and the
        functions that the library's layers call by their names."""
        from gradcli.nn import functional  # loaded, where there is a module
        from gradcli.nn.modules.module import EVERYWHERE
        from gradcli.nn.utils.parametrize import KEPT

        called = dict(vars(functional))
        if (id(functional), "") in self.read:
            return
        self.read[id(functional), ""] = _EQUAL, vars(functional), called
        for name in functional.__all__:
            self._note_other(called.get(name))
        self._stack.append(EVERYWHERE)
        self.read[id(KEPT), "blocks"] = _ATTRIBUTE, KEPT, KEPT.blocks
        if KEPT.blocks:
            self.reason = "a module whose parameters are kept for a block"

    def changed(self) -> bool:
        """Whether anything that was read is different now."""
        test = self._unchanged = self._unchanged or self._test()
        try:
            if not test():
                return True
        except (ValueError, LookupError, AttributeError):  # of an empty cell, of what was deleted
            return True
        return bool(self.names or self.held) and (
            any([*scope] != names for scope, names in self.names)
            or any(self._print(thing)[0] != held for thing, held in self.held)
        )

    def _test(self) -> Callable[[], bool]:
        """Whether all that was read is the same: one expression, for it runs in every call."""
        known: dict[str, Any] = {}
        tests = []
        for place, ((_, name), (test, of, held)) in enumerate(self.read.items()):
            known[f"o{place}"], known[f"h{place}"] = of, held
            tests.append(test.format(of=f"o{place}", name=name, held=f"h{place}"))
        return eval(f"lambda: {' and '.join(tests)}", known)  # type: ignore[no-any-return]

    def prints(self, saved: list[Any]) -> list[Any]:
        """Of all that is held, with all its numbers; ``saved`` is for ``put_back``."""
        return [self.changed(), *(self._print(thing, saved)[0] for thing, _ in self.held)]

    def compare(self, captures: Iterable[tuple[Any, ...]], whole: bool) -> None:
        """Look at large arrays too from now on, but those of tensors that ``captures`` share memory
        with: a program reads these. Where it has one that is computed, or (``whole``) numbers of
        tensors, or a write is left out, those may be of any; what becomes of NumPy's arrays, such
        as the ``array`` of a tensor, is not noted."""
        whole = whole or "array" in self._words
        large = [] if whole else [
            (t, a) for t in self._kept if (a := _array(t)) is not None and a.nbytes > _SMALL
        ]  # fmt: skip
        flowing: set[int] = set()
        for one, *_ in captures if large else ():
            mine = [t for t, a in large if np.may_share_memory(a, _array(one))]
            if not mine and not any(one is v for v in (*self._seen.values(), *self._kept)):
                flowing = set()
                break
            flowing |= {id(t) for t in mine if isinstance(t, Tensor)}
        self.flowing = flowing if self.flowing is None else self.flowing & flowing
        self.held = [(thing, self._print(thing)[0]) for thing, _ in self.held]
        if any(found is None for _, found in self.held):
            self.reason = _TOO_MUCH

    def _print(
        self, thing: Any, saved: list[Any] | None = None
    ) -> tuple[list[Any] | None, list[Any]]:
        """Something equal as long as what a function can read of ``thing`` is; None where that is
        too much, or not known. What can be written to is ``saved``, and then all of it counts.

        And what stands in it by id, which is to be kept for as long as the ids are.
        """
        whole = saved is not None
        parts: list[Any] = []
        kept: list[Any] = []
        stack: list[tuple[Any, int]] = [(thing, 0)]
        while stack:
            value, depth = stack.pop()
            if len(parts) + len(stack) > _MANY or depth > _DEEP:
                return None, kept
            cls: Any = type(value)
            if cls in _NUMBERS:
                # By its text -0.0 is not 0.
                parts.append((cls, repr(value) if cls in (float, complex) else value))
                continue
            own: Any = {}
            contains, fixed = _kind(cls)
            inner: Any = value if contains else ()
            if cls not in _CONTAINERS:
                kept.append(value)
                parts.append((cls, id(value)))
                array = _array(value)
                if isinstance(value, defaultdict):
                    stack.append((value.default_factory, depth))
                if cls.__dictoffset__ and not fixed:
                    own = object.__getattribute__(value, "__dict__")
                if array is not None:
                    compared = whole or array.nbytes <= _SMALL or (
                        self.flowing is not None and id(value) not in self.flowing
                    )  # fmt: skip
                    huge = array.nbytes > _LARGEST
                    if array.dtype.hasobject or (huge and compared and not whole):
                        return None, kept
                    kept.append(array)
                    parts += [id(array), array.shape, array.strides, array.dtype]
                    parts.append(array.tobytes() if compared and not huge else b"")
                    if saved is not None and not huge:
                        saved.append((array, array.copy()))
                    graph = getattr(value, "edge", None), getattr(value, "meta", None)
                    parts.append(graph[0] is None)
                    if whole or self.grads:
                        stack += [(getattr(one, "grad", None), depth) for one in graph]
                elif not fixed and not _open(cls):
                    return None, kept
            for group in (inner, own) if own else (inner,):
                if saved is not None and isinstance(group, list | dict | set):
                    saved.append((group, group.copy()))
                parts += [len(group), *(v if v.__class__ is str else None for v in group)]
                others = [v for v in group if v.__class__ is not str]
                if isinstance(group, dict | set | frozenset) and any(
                    isinstance(v, Tensor) for v in others
                ):
                    return None, kept  # a tensor that was given may be one of the keys
                stack += [(v, depth + 1) for v in others]
                stack += [(v, depth + 1) for v in group.values()] if isinstance(group, dict) else []
        return (None if len(parts) > _MANY else parts), kept


def put_back(saved: list[Any]) -> None:
    """Undo what was written since then."""
    for held, was in saved:
        if isinstance(held, list):
            held[:] = was
        elif isinstance(held, dict | set):
            held.clear()
            held.update(was)
        elif held.flags.writeable:
            held[...] = was


def _lasts(module: Any) -> bool:
    known = module.__class__ is str and module.partition(".")[0] in _LASTING
    return known and module != "numpy.random"


def is_own(cls: Any) -> bool:
    """Whether a module or a class is a user's: a class that is made by a function of Python's may
    be said to be of that one's module, where it does not stand."""
    if isinstance(cls, types.ModuleType):
        return not _lasts(cls.__name__)
    if not _lasts(cls.__module__):
        return True
    made = cls.__flags__ & _HEAP and cls.__module__.partition(".")[0] not in ("gradcli", "numpy")
    return bool(made) and getattr(sys.modules.get(cls.__module__), cls.__name__, None) is not cls


@lru_cache(maxsize=4096)
def _does(code: types.CodeType, whole: types.CodeType) -> list[str]:
    """What ``code``, a part of the function ``whole``, does that no trace of it shows."""
    found = []
    steps = [*dis.get_instructions(code)]
    for step, following in zip(steps, [*steps[1:], steps[-1]], strict=True):
        name = step.argval
        if step.opname == "PUSH_EXC_INFO" and following.opname != "WITH_EXCEPT_START":
            found.append("a handler of errors")
        elif following.opname == "IS_OP" and step.opname != "LOAD_CONST":
            found.append("a test whether two are one")
        elif step.opname == "LOAD_BUILD_CLASS":
            found.append("a class statement")
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
def _imports(code: types.CodeType) -> list[str]:
    """The modules that ``code`` imports, each with those around it."""
    names = [s.argval for s in dis.get_instructions(code) if s.opname == "IMPORT_NAME"]
    return [part for name in names for part in accumulate(name.split("."), "{}.{}".format)]


@lru_cache(maxsize=4096)
def _formats(code: types.CodeType) -> bool:
    """Whether ``code`` makes a text without the name of a function for that."""
    return not {"__str__", "__repr__"}.isdisjoint(code.co_names) or any(
        step.opname.startswith("FORMAT_") or step.argrepr in ("%", "%=")
        for step in dis.get_instructions(code)
    )


@lru_cache(maxsize=4096)
def _kind(cls: type) -> list[bool]:
    """Whether a class is one of containers, of what stays as it is."""
    return [issubclass(cls, known) for known in (_CONTAINERS, _FIXED)]


@lru_cache(maxsize=4096)
def _open(cls: type) -> bool:
    """Whether all that an object of a class holds is in its ``__dict__``, or in it as a number or a
    container."""
    slots = {
        slot for c in cls.__mro__ for slot in (c.__dict__.get("__slots__", ()),) for slot in
        ((slot,) if isinstance(slot, str) else slot)
    }  # fmt: skip
    base = next(c for c in cls.__mro__ if c in _KNOWN)
    made = all(c in _KNOWN or c.__flags__ & _HEAP for c in cls.__mro__)
    more = cls.__basicsize__ - base.__basicsize__  # what a class in C holds, if it is one
    own = ("__iter__", "__len__", "values", "copy", "clear", "update")  # by which it is looked at
    usual = all(getattr(cls, name) is getattr(base, name) for name in own if hasattr(base, name))
    return made and usual and more <= 8 and not slots - {"__dict__", "__weakref__"}


def _array(value: Any) -> Any:
    """The array of a tensor or of NumPy; None for anything else."""
    array = value.array if isinstance(value, Tensor) else value
    return array if isinstance(array, np.ndarray | np.generic) else None
