"""``class Name:`` of a program: a record of functions and values, never a Python class.

A ``ClassRecord`` holds what the body of the class binds and the record that it derives from. What
it makes is an ``Instance`` with fields of its own, or, where the class derives from ``nn.Module``
or a layer, an instance of one fixed Python class for that layer (``names.modules``), or an
``ErrorValue`` where it derives from an exception. Attributes are looked up here, in records and
fields: no attribute of a Python object can be reached by a name of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, repeat
from typing import Any

from gradcli.language.limits.sizes import WALKED
from gradcli.language.names.calling import named, of_program, plain
from gradcli.language.names.exceptions import (
    KINDS,
    ErrorKind,
    ErrorValue,
    Raised,
    catchable,
    error_is,
    error_of,
    unknown,
)
from gradcli.language.type_names import a_value
from gradcli.ops.declaration.infix import METHODS
from gradcli.ops.errors import AttributeFault, LimitFault, TypeFault, bad_type

MOST_BASES = 100
"""How long a chain of classes that derive from each other may be."""
NOTHING = object()


class Marked:
    """A method under ``@staticmethod``, ``@classmethod`` or ``@property``."""

    __slots__ = ("function", "mark", "setter")

    def __init__(self, mark: str, function: Any, setter: Any = None) -> None:
        self.mark = mark
        self.function = function
        self.setter = setter


def marked(mark: str, function: Any, before: Any = None) -> Marked:
    """A method under a decorator that says what kind it is; ``before`` is the property of a
    setter."""
    if mark == "setter":
        if before.__class__ is not Marked or before.mark != "property":
            raise bad_type("a setter stands under a property of the same name")
        return Marked("property", before.function, function)
    return Marked(mark, function)


class Bound:
    """A method with the instance or class that it is called on."""

    __slots__ = ("__name__", "function", "instance")

    def __init__(self, function: Any, instance: Any) -> None:
        self.function = plain(function)
        self.instance = instance
        self.__name__ = getattr(function, "__name__", "")

    def __call__(self, /, *args: Any, **options: Any) -> Any:
        return self.function(self.instance, *args, **options)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Bound)
            and self.instance is other.instance
            and self.__name__ == other.__name__
        )

    def __hash__(self) -> int:
        return hash((id(self.instance), self.__name__))


class ClassRecord:
    """A class of a program.

    base    the class of the program that it derives from, or None
    native  what makes an instance and looks its attributes up, where that is no Instance: see
            ``modules.Layers``
    python  the built-in exception that an exception class stands for, else None
    """

    __slots__ = ("__name__", "base", "members", "native", "python")
    __gradcli_type__ = True

    def __init__(
        self, name: str, base: ClassRecord | None, native: Any, python: Any, members: dict
    ) -> None:
        self.__name__ = name
        self.base = base
        self.native = native
        self.python = python
        self.members = members

    def chain(self) -> Iterator[ClassRecord]:
        """The class and those it derives from, itself first."""
        record: ClassRecord | None = self
        while record is not None:
            yield record
            record = record.base

    def find(self, name: str) -> Any:
        """What the class or one it derives from holds under a name; ``NOTHING`` for nothing."""
        for record in self.chain():
            if name in record.members:
                return record.members[name]
        return NOTHING

    def method(self, name: str) -> Callable | None:
        """The method of that name, to be called with the instance first; None without one."""
        found = self.find(name)
        return None if found is NOTHING or found.__class__ is Marked else plain(found)

    def derives(self, other: Any) -> bool:
        """Whether it is ``other`` or derives from it."""
        return any(record is other for record in self.chain())

    def __call__(self, /, *args: Any, **options: Any) -> Any:
        if self.native is not None:
            return self.native.make(self, args, options)
        if self.python is not None:
            made: Any = ErrorValue(self, args)
        else:
            made = Instance(self)
        init = self.method("__init__")
        if init is not None:
            if init(made, *args, **options) is not None:
                raise bad_type("__init__() should return None", help="leave out return")
        elif (args or options) and self.python is None:
            said = f"{self.__name__}() takes no arguments"
            mend = "give the class a method def __init__(self, ...):"
            raise TypeFault("E0302", said, help=mend, torch=f"{self.__name__}() takes no arguments")
        return made

    # -- attributes --------------------------------------------------------------------------------

    def bind(self, found: Any, instance: Any) -> Any:
        """What an attribute that the class holds is on an instance."""
        if found.__class__ is Marked:
            if found.mark == "staticmethod":
                return found.function
            if found.mark == "classmethod":
                return Bound(found.function, self)
            return plain(found.function)(instance)
        if of_program(found) or getattr(found, "__gradcli_method__", False):
            return Bound(found, instance)
        return found

    def of_instance(self, instance: Any, fields: dict, name: str) -> Any:
        """``instance.name``: a property, a field, or what the class holds."""
        found = self.find(name)
        if found.__class__ is Marked and found.mark == "property":
            return plain(found.function)(instance)
        if name in fields:
            return fields[name]
        if found is NOTHING:
            raise unknown(self.__name__, name)
        return self.bind(found, instance)

    def set_property(self, instance: Any, name: str, value: Any) -> bool:
        """Whether a name is a property, which then is set. Raises AttributeFault (E0204)."""
        found = self.find(name)
        if found.__class__ is not Marked or found.mark != "property":
            return False
        if found.setter is None:
            mend = f"write a setter: @{name}.setter"
            raise AttributeFault("E0204", f"attribute `{name}` cannot be assigned", help=mend)
        plain(found.setter)(instance, value)
        return True

    def __gradcli_get__(self, name: str) -> Any:
        if name == "__name__":
            return self.__name__
        found = self.find(name)
        if found is NOTHING:
            if self.native is not None:
                return self.native.of_class(name)
            if name == "__init__":
                return _no_init
            raise unknown("type", name)
        if found.__class__ is Marked:
            return Bound(found.function, self) if found.mark == "classmethod" else found.function
        return found

    def __gradcli_set__(self, name: str, value: Any) -> None:
        self.members[name] = value

    def __deepcopy__(self, memo: dict) -> ClassRecord:
        return self

    def __repr__(self) -> str:
        return f"<class '__main__.{self.__name__}'>"


def _no_init(*args: Any) -> None:
    """``object.__init__``."""


class Super:
    """``super()``: the attributes of an instance as the class before the method's own has them."""

    __slots__ = ("instance", "record")

    def __init__(self, record: ClassRecord, instance: Any) -> None:
        self.record = record
        self.instance = instance

    def __gradcli_get__(self, name: str) -> Any:
        record, instance = self.record, self.instance
        found = NOTHING if record.base is None else record.base.find(name)
        if found is not NOTHING:
            return record.bind(found, instance)
        if record.native is not None:
            return record.native.of_super(instance, name)
        if name == "__init__":
            if isinstance(instance, ErrorValue):
                return Bound(_init_error, instance)
            return _no_init
        if name in ("__str__", "__repr__"):
            return lambda: shown(instance)
        raise unknown("super", name)


def _init_error(instance: ErrorValue, *args: Any) -> None:
    instance.args = args


def parent(record: Any, instance: Any) -> Super:
    """``super(record, instance)``. Raises TypeFault (E0303) for what is no class of it."""
    kind = record_of(instance)
    if not isinstance(record, ClassRecord) or kind is None or not kind.derives(record):
        raise bad_type("super takes a class and an instance of it", help="write super().__init__()")
    return Super(record, instance)


def record_of(value: Any) -> ClassRecord | None:
    """The class of the program that a value is an instance of."""
    if value.__class__ is Instance:
        return value.record  # type: ignore[no-any-return]
    if value.__class__ is ErrorValue:
        return value.kind if isinstance(value.kind, ClassRecord) else None
    return getattr(value, "__gradcli_record__", None)


def shown(instance: Any) -> str:
    """An instance without a ``__repr__`` of its own; no address."""
    if isinstance(instance, ErrorValue):
        return ""
    record = record_of(instance)
    return f"<__main__.{record.__name__ if record else 'object'} object>"


def class_record(words: tuple[str, ...], base: Any, *members: Any) -> ClassRecord:
    """A class of the program; ``words`` are its name and the names of what it holds.

    Raises TypeFault (E0130) for a base that no class can derive from.
    """
    name, *called = words
    held = dict(zip(called, members, strict=True))
    if base is None or base is OBJECT:
        return ClassRecord(name, None, None, None, held)
    if isinstance(base, ClassRecord):
        if sum(1 for _ in base.chain()) >= MOST_BASES:
            said = f"more than {MOST_BASES} classes derive from each other"
            mend = "derive from one class, and keep what differs in fields"
            raise LimitFault("E0606", said, help=mend)
        return ClassRecord(name, base, base.native, base.python, held)
    if isinstance(base, ErrorKind) and issubclass(base.python, Exception):
        return ClassRecord(name, None, None, base.python, held)
    native = getattr(base, "__gradcli_base__", None)
    if native is None:
        raise TypeFault(
            "E0130", f"a class cannot derive from {getattr(base, '__name__', a_value(base))}",
            help="it derives from nn.Module or a layer, Dataset, an exception such as ValueError, "
            "or another class of the program",
        )  # fmt: skip
    return ClassRecord(name, None, native(), None, held)


def OBJECT(*args: Any) -> Any:
    """``object``: a base that holds nothing."""
    raise bad_type("object() has no use here", help="write class Name:")


OBJECT.__name__ = "object"


# ---- Instances -----------------------------------------------------------------------------------


class Instance:
    """What a class of the program makes: fields, and operators by the methods of its class."""

    __slots__ = ("fields", "record")

    def __init__(self, record: ClassRecord) -> None:
        self.record = record
        self.fields: dict[str, Any] = {}

    def __gradcli_get__(self, name: str) -> Any:
        return self.record.of_instance(self, self.fields, name)

    def __gradcli_set__(self, name: str, value: Any) -> None:
        if not self.record.set_property(self, name, value):
            self.fields[name] = value

    def __gradcli_del__(self, name: str) -> None:
        if name not in self.fields:
            raise unknown(self.record.__name__, name)
        del self.fields[name]

    def _asked(self, name: str, refusal: str) -> Callable:
        method = self.record.method(name)
        if method is None:
            mend = f"give its class a method def {name}(self, ...):"
            raise bad_type(f"a {self.record.__name__} {refusal}", help=mend)
        return method

    def __len__(self) -> int:
        length: int = self._asked("__len__", "has no len()")(self)
        return length

    def __contains__(self, item: Any) -> bool:
        method = self.record.method("__contains__")
        if method is not None:
            return bool(method(self, item))
        return any(found is item or found == item for found in self)

    def __iter__(self) -> Iterator[Any]:
        method = self.record.method("__iter__")
        given = self if method is None else method(self)
        if given is not self:
            return iter(given)
        if method is not None or self.record.method("__next__") is not None:
            step = self._asked("__next__", "cannot be looped over")
            return _items(step, repeat((self,)), "StopIteration")
        step = self._asked("__getitem__", "cannot be looped over")
        return _items(step, ((self, index) for index in count()), "IndexError")

    def __bool__(self) -> bool:
        for name in ("__bool__", "__len__"):
            method = self.record.method(name)
            if method is not None:
                found = method(self)
                if name == "__bool__" and not isinstance(found, bool):
                    raise bad_type(f"__bool__ should give True or False, got {a_value(found)}")
                return bool(found)
        return True

    def __eq__(self, other: object) -> Any:
        method = self.record.method("__eq__")
        return self is other if method is None else method(self, other)

    def __ne__(self, other: object) -> Any:
        method = self.record.method("__ne__")
        return not self == other if method is None else method(self, other)

    def __hash__(self) -> int:
        method = self.record.method("__hash__")
        if method is not None:
            found = method(self)
            if not isinstance(found, int):
                raise bad_type(f"__hash__ should give a whole number, got {a_value(found)}")
            return found
        if self.record.method("__eq__") is not None:
            raise TypeError(f"unhashable type: '{self.record.__name__}'")
        return id(self) >> 4

    def __repr__(self) -> str:
        method = self.record.method("__repr__")
        return shown(self) if method is None else text_of(method(self), "__repr__")

    def __str__(self) -> str:
        method = self.record.method("__str__")
        return repr(self) if method is None else text_of(method(self), "__str__")

    def __float__(self) -> float:
        return float(self._asked("__float__", "is no number")(self))

    def __int__(self) -> int:
        return int(self._asked("__int__", "is no number")(self))


WALKED.add(Instance)


def text_of(value: Any, name: str) -> str:
    """What the method of that name gave. Raises TypeFault (E0303) for what is no string."""
    if not isinstance(value, str):
        raise bad_type(
            f"{name} returned {a_value(value)}", help="return a string: f'...'",
            torch=f"{name} returned non-string (type {type(value).__name__})",
        )  # fmt: skip
    return value


def _items(step: Callable, calls: Iterable[tuple], end: str) -> Iterator[Any]:
    """What the calls of a method give, until it raises the exception of that name."""
    for args in calls:
        try:
            item = step(*args)
        except Raised as fault:
            if error_is(fault.error, KINDS[end]):
                return
            raise
        except IndexError:
            if end == "IndexError":
                return
            raise
        yield item


def _operator(name: str) -> Callable:
    def apply(self: Instance, *others: Any) -> Any:
        method = self.record.method(name)
        return NotImplemented if method is None else method(self, *others)

    return named(apply, name)


for _name in (
    *(f"__{front}{one}__" for one in (*METHODS.values(), "lshift", "rshift")
      for front in ("", "r", "i")),
    "__lt__", "__le__", "__gt__", "__ge__",
):  # fmt: skip
    setattr(Instance, _name, _operator(_name))


def _asking(name: str, refusal: str) -> Callable:
    def apply(self: Instance, /, *args: Any, **options: Any) -> Any:
        return self._asked(name, refusal)(self, *args, **options)

    return named(apply, name)


for _name, _refusal in {
    "__call__": "cannot be called", "__getitem__": "has no items to index",
    "__setitem__": "has no items that can be changed", "__next__": "gives no next item",
    **{name: f"has no {name}" for name in ("__neg__", "__pos__", "__abs__", "__invert__")},
}.items():  # fmt: skip
    setattr(Instance, _name, _asking(_name, _refusal))


class Entered:
    """An instance in a ``with``: its ``__exit__`` is told of errors, and not of limits."""

    __slots__ = ("instance",)

    def __init__(self, instance: Instance) -> None:
        instance._asked("__exit__", "cannot stand in a with")
        self.instance = instance

    def __enter__(self) -> Any:
        return self.instance._asked("__enter__", "cannot stand in a with")(self.instance)

    def __exit__(self, kind: Any, fault: Any, _trace: Any) -> bool:
        leave = self.instance._asked("__exit__", "cannot stand in a with")
        if fault is None:
            leave(self.instance, None, None, None)
            return False
        if not catchable(fault):
            return False
        error = error_of(fault)
        return bool(leave(self.instance, error.kind, error, None))


class TypeName:
    """The type of a value that a program cannot make by its type: it has a name, and no more."""

    __slots__ = ("__name__", "kind", "shown")
    __gradcli_type__ = True

    def __init__(self, kind: type, name: str, shown: str = "") -> None:
        self.kind = kind
        self.__name__ = name
        self.shown = shown or name

    def __gradcli_get__(self, name: str) -> Any:
        if name == "__name__":
            return self.__name__
        raise unknown("type", name)

    def __repr__(self) -> str:
        return f"<class '{self.shown}'>"
