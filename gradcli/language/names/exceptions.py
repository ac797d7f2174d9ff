"""``try``, ``except`` and ``raise`` of a program.

An exception that a program has in its hands is an ``ErrorValue``: a kind, arguments and text, and
nothing of Python's own (no traceback, no frames). What a program can catch are errors. A limit
(LimitFault), a stack or memory that is full, and an interrupt pass through every ``except``, and
``finally`` does not run for them.
"""

from __future__ import annotations

import builtins
import sys
from contextvars import ContextVar
from typing import Any

from gradcli.language.names.calling import own_names, without_addresses
from gradcli.language.type_names import EXCEPTIONS, a_type, a_value
from gradcli.ops.errors import (
    AttributeFault,
    Fault,
    LimitFault,
    LinAlgFault,
    RuntimeFault,
    TypeFault,
    bad_type,
)

_UNCATCHABLE = (LimitFault, MemoryError, RecursionError, OSError)


class ErrorKind:
    """A built-in kind of exception: ``ValueError``. Called it makes an ErrorValue."""

    __slots__ = ("__name__", "python")
    __gradcli_type__ = True

    def __init__(self, python: type[BaseException], name: str = "") -> None:
        self.python = python
        self.__name__ = name or python.__name__

    def __call__(self, *args: Any) -> ErrorValue:
        return ErrorValue(self, args)

    def __repr__(self) -> str:
        return f"<class '{self.__name__}'>"

    def __gradcli_get__(self, name: str) -> Any:
        if name == "__name__":
            return self.__name__
        raise unknown(self.__name__, name)


class ErrorValue:
    """An exception as a program has it.

    kind    an ErrorKind, or the class of the program that it was made of
    args    what it was made of
    text    what gradcli's own error said, else None
    fields  what the program stored on it, where it is of a class of the program
    """

    __slots__ = ("args", "fields", "kind", "text")

    def __init__(self, kind: Any, args: tuple, text: str | None = None) -> None:
        self.kind = kind
        self.args = args
        self.text = text
        self.fields: dict[str, Any] = {}

    def __gradcli_get__(self, name: str) -> Any:
        if name == "args":
            return self.args
        lookup = getattr(self.kind, "of_instance", None)
        if lookup is not None:
            return lookup(self, self.fields, name)
        raise unknown(self.kind.__name__, name)

    def __gradcli_set__(self, name: str, value: Any) -> None:
        if name == "args":
            self.args = tuple(value) if isinstance(value, tuple | list) else (value,)
            return
        if isinstance(self.kind, ErrorKind):
            raise unknown(self.kind.__name__, name)
        self.fields[name] = value


class UnknownAttribute(AttributeFault):
    """A value of this type has no such attribute (E0204); diagnostics adds the help."""

    def __init__(self, kind: type, name: str, said: str = "") -> None:
        said = said or kind.__name__
        super().__init__(
            "E0204", f"{a_type(said)} has no attribute `{name}`",
            torch=f"'{said}' object has no attribute '{name}'",
        )  # fmt: skip
        self.kind = kind
        self.name = name


# Like every Fault it is called by the built-in type that Python raises.
UnknownAttribute.__name__ = UnknownAttribute.__qualname__ = AttributeFault.__name__
UnknownAttribute.__module__ = AttributeFault.__module__


def unknown(kind: str, name: str) -> UnknownAttribute:
    """The error for an attribute that a value of the program's own does not have."""
    return UnknownAttribute(object, name, kind)


class Raised(Fault):
    """An exception that a program raised and nothing caught yet."""

    def __init__(self, error: ErrorValue, shown: str) -> None:
        name = error.kind.__name__
        super().__init__("E0315", f"{name}: {shown}" if shown else name)
        self.error = error
        self.torch = shown


KINDS: dict[str, ErrorKind] = {name: ErrorKind(getattr(builtins, name)) for name in EXCEPTIONS}
LINALG = ErrorKind(LinAlgFault, "_LinAlgError")
"""``torch.linalg.LinAlgError``."""


passing: ContextVar[bool] = ContextVar("passing", default=False)
"""Whether programs catch nothing: one that is traced, where an error may be of the trace alone."""


def catchable(fault: BaseException | None) -> bool:
    """Whether a program may catch an exception: an error, and not what gradcli itself raises to
    leave a computation early."""
    if passing.get() or not isinstance(fault, Exception) or isinstance(fault, _UNCATCHABLE):
        return False
    return isinstance(fault, Fault) or not type(fault).__module__.startswith("gradcli.")


def finishes() -> bool:
    """Whether the block of ``finally`` runs: not while a limit or an interrupt passes through."""
    fault = sys.exc_info()[1]
    return fault is None or catchable(fault)


def catches(*kinds: Any) -> tuple[type, ...]:
    """What ``except kinds`` catches of the exception at hand: its class, or nothing.

    Raises TypeFault (E0303) for what is no kind of exception.
    """
    fault = sys.exc_info()[1]
    if fault is None or not catchable(fault):
        return ()
    if not kinds:
        return (type(fault),)
    wanted = kinds[0] if kinds[0].__class__ is tuple else kinds
    return (type(fault),) if any(_is_of(fault, kind) for kind in wanted) else ()


def _is_of(fault: BaseException, kind: Any) -> bool:
    error = getattr(fault, "error", None) if isinstance(fault, Raised) else None
    if error is not None:
        return error_is(error, kind)
    if isinstance(kind, ErrorKind):
        return issubclass(type(fault), kind.python)
    if getattr(kind, "python", None) is not None:
        return False  # a class of the program: only it raises those
    raise _no_kind(kind)


def error_is(error: ErrorValue, kind: Any) -> bool:
    """Whether an exception is of a kind, or of a class of the program."""
    if isinstance(kind, ErrorKind):
        return issubclass(error.kind.python, kind.python)
    if getattr(kind, "python", None) is None:
        raise _no_kind(kind)
    return isinstance(error.kind, type(kind)) and error.kind.derives(kind)


def _no_kind(kind: Any) -> TypeFault:
    return bad_type(
        f"catching {a_value(kind)} that is no kind of exception",
        help="write except ValueError:, or several in brackets",
        torch="catching classes that do not inherit from BaseException is not allowed",
    )  # fmt: skip


def error_of(fault: BaseException) -> ErrorValue:
    """The exception that a handler has under its name."""
    if isinstance(fault, Raised):
        return fault.error
    if isinstance(fault, LinAlgFault):
        kind = LINALG
    else:
        python = next(c for c in type(fault).__mro__ if getattr(builtins, c.__name__, 0) is c)
        kind = KINDS.get(python.__name__) or ErrorKind(python)
        if isinstance(fault, Fault) and type(fault).__name__ != python.__name__:
            kind = ErrorKind(
                python, type(fault).__name__
            )  # GradcheckError, which is a RuntimeError
    if isinstance(fault, Fault):
        shown = without_addresses(str(fault))
    elif isinstance(fault, KeyError):
        return ErrorValue(kind, fault.args)  # the key: str() shows it as print() would
    else:
        shown = own_names(str(fault))
    return ErrorValue(kind, (shown,), shown)


def raisable(value: Any) -> ErrorValue:
    """What ``raise value`` raises. Raises TypeFault (E0303) where that is no exception."""
    if callable(value) and isinstance(getattr(value, "python", None), type):
        value = value()  # a kind or a class: raise ValueError
    if not isinstance(value, ErrorValue):
        said = f"only an exception can be raised, got {a_value(value)}"
        mend = 'write raise ValueError("what is wrong")'
        raise bad_type(said, help=mend, torch="exceptions must derive from BaseException")
    return value


def raised_again() -> None:
    """``raise`` alone: what the handler around it caught goes on."""
    fault = sys.exc_info()[1]
    if fault is None:
        said = "`raise` alone stands in the body of an except"
        mend = 'write raise ValueError("what is wrong")'
        raise RuntimeFault("E0303", said, help=mend, torch="No active exception to reraise")
    raise fault
