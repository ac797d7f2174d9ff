"""``print``, ``str``, ``repr`` and ``format`` of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.language.limits.sizes import OUTPUT_LIMIT
from gradcli.language.names import showing
from gradcli.language.syntax.strings import good_spec
from gradcli.language.type_names import a_value
from gradcli.ops.errors import LimitFault, bad_type


def printer(write: Callable[[str], Any], limit: int = OUTPUT_LIMIT) -> Callable:
    """``print`` for a program, onto ``write``; bounded in volume."""
    left = limit

    def print(
        *values: Any, sep: str | None = " ", end: str | None = "\n", flush: Any = False
    ) -> None:
        nonlocal left
        for name, part in (("sep", sep), ("end", end)):
            if part is not None and not isinstance(part, str):
                raise bad_type(f"{name} must be a string, got {a_value(part)}")
        sep = " " if sep is None else sep
        pieces = []
        size = 0
        for value in values:
            pieces.append(showing.show(value))
            size += len(pieces[-1]) + len(sep)
            if size > left + len(sep):
                raise _too_much(limit)
        text = sep.join(pieces) + ("\n" if end is None else end)
        left -= len(text)
        if left < 0:
            raise _too_much(limit)
        write(text)

    return print


def _too_much(limit: int) -> LimitFault:
    mend = "print less often: if i % 100 == 0: (--max-output N raises the limit)"
    return LimitFault("E0607", f"the program printed more than {limit:,} characters", help=mend)


def nowhere(_text: str) -> None:
    """Where printed text goes that nobody asked for."""


PRINT = printer(nowhere)
"""Stands for ``print`` in the table of names; a run has its own in its place."""


def string(value: Any = "") -> str:
    """``str(value)``."""
    return showing.show(value)


def representation(value: Any) -> str:
    """``repr(value)``."""
    return showing.show(value, True)


def text_of(value: Any, spec: Any = "") -> str:
    """``format(value, spec)``. Raises TypeFault (E0303) for what is no format."""
    if not isinstance(spec, str) or not good_spec(spec):
        raise bad_type("format takes a value and a format", help='format(x, ".4f")')
    return showing.field(value, spec)


for _function, _name in ((string, "str"), (representation, "repr"), (text_of, "format")):
    _function.__name__ = _function.__qualname__ = _name
