"""``print`` of a running program, bounded in volume."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.language.names.showing import OUTPUT_LIMIT, show
from gradcli.language.type_names import a_value
from gradcli.ops.errors import LimitFault, TypeFault


def printer(write: Callable[[str], Any], limit: int = OUTPUT_LIMIT) -> Callable:
    """``print`` for a program, onto ``write``; bounded in volume."""
    left = limit

    def print(
        *values: Any, sep: str | None = " ", end: str | None = "\n", flush: Any = False
    ) -> None:
        nonlocal left
        for name, part in (("sep", sep), ("end", end)):
            if part is not None and not isinstance(part, str):
                raise TypeFault("E0303", f"{name} must be a string, got {a_value(part)}")
        sep = " " if sep is None else sep
        pieces = []
        size = 0
        for value in values:
            pieces.append(show(value))
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
    return LimitFault(
        "E0607", f"the program printed more than {limit:,} characters",
        help="print less often: if i % 100 == 0: (--max-output N raises the limit)",
    )  # fmt: skip
