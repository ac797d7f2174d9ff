"""How a running program's values become text: ``print``, ``str`` and the fields of f-strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.language.limits.sizes import nested_size, take_steps
from gradcli.language.type_names import a_value
from gradcli.ops.errors import LimitFault, TypeFault, ValueFault

OUTPUT_LIMIT = 16 << 20
"""The most that one run may print, in characters."""
SHOWN = 1_000_000
"""The most items of nested lists that are written out at once."""


def show(value: Any, inside: bool = False) -> str:
    """``str(value)``, or its ``repr`` inside a list; NumPy scalars look like Python's numbers."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return _nested(value)
    if value is None or isinstance(value, str | bool | int | float | complex):
        return repr(value) if inside else str(value)
    shown = hasattr(value, "__gradcli_rank__") or hasattr(value, "__gradcli_layer__")
    if callable(value) and not shown:
        return f"<function {getattr(value, '__name__', '').removeprefix('v_') or 'lambda'}>"
    if value.__class__.__repr__ is object.__repr__:
        return f"<{type(value).__name__}>"  # no address
    return repr(value) if inside else str(value)


def _nested(value: Any) -> str:
    """A list or tuple, iteratively: a program may nest one as deep as it likes."""
    take_steps(16 * nested_size(value, SHOWN, cycles=True))  # each item is written out
    pieces: list[str] = []
    work: list[Any] = [(value, False)]
    around: list[int] = []  # the lists that are being written, outermost first
    size = 0
    while work:
        item, ready = work.pop()
        if ready:
            piece = item
            if piece != ", ":
                around.pop()
        elif type(item) in (list, tuple):
            opening, closing = (
                ("[", "]") if type(item) is list else ("(", ",)" if len(item) == 1 else ")")
            )
            if len(around) < 1000 and id(item) in around:
                piece = f"{opening}...{closing[-1]}"
            else:
                around.append(id(item))
                work.append((closing, True))
                for i in range(len(item) - 1, -1, -1):
                    work.append((item[i], False))
                    if i:
                        work.append((", ", True))
                piece = opening
        else:
            piece = show(item, True)
        size += len(piece)
        if size > OUTPUT_LIMIT or len(work) > 1_000_000:
            raise LimitFault("E0607", "this list is too long, or too deep, to print")
        pieces.append(piece)
    return "".join(pieces)


def field(value: Any, spec: str) -> str:
    """One field of an f-string, with a format that the parser has checked."""
    if not spec:
        # A 0-d tensor in a field is its number, as in PyTorch.
        return format(value) if hasattr(value, "__gradcli_rank__") else show(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bool | int | float | complex) or hasattr(value, "__gradcli_rank__"):
        try:
            return format(value, spec)
        except ValueError as fault:
            raise ValueFault("E0304", f"the format {spec!r} does not fit: {fault}") from None
    raise TypeFault("E0303", f"the format {spec!r} needs a number, got {a_value(value)}")


def printer(write: Callable[[str], Any], limit: int = OUTPUT_LIMIT) -> Callable:
    """``print`` for a program, onto ``write``; bounded in volume."""
    left = limit

    def print(*values: Any, sep: str | None = " ", end: str | None = "\n") -> None:
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
