"""One value's text as it is read: offsets into it, what it may take, and single numbers.

The forms of several numbers are in ``arrays``, those of files in ``files``; ``flags`` reads the
whole of a value. Each is given the Reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.ops.errors import Fault, LimitFault

MAX_NESTING = 64
"""How deep lists nest, and the most axes of a value."""
MAX_BYTES = 2 << 30
INF = float("inf")

# Starts like a number and holds nothing that an expression would need: a slip, not an expression.
NUMBERISH = re.compile(r"[+-]?\.?\d(?:[eE][+-]|[\w.])*(?:\s+\.?\d[\w.]*|\s*[+-]\s*[\d.]*[iI])*\Z")

# Written out, not computed: 2024-10-12 is not 2002, nor 1.#INF (of C) the number before a comment.
_DATE = re.compile(
    r"(?:\A|[\[,])\s*(?:\d{4}([-/])\d\d?\1\d\d?|\d\d?([-/])\d\d?\2\d{4})(?=[\s,\]]|\Z)"
)


class ValueFormFault(Fault, ValueError):
    """A value's text that cannot be read; ``text[start:end]`` is the part that is wrong."""

    def __init__(
        self, code: str, message: str, text: str, start: int, end: int, *, help: str | None = None
    ) -> None:
        super().__init__(code, message, help=help)
        self.text = text
        self.start = start
        self.end = end


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span from ``start`` to ``end`` without the blanks around it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def check_bytes(count: int, itemsize: int, max_bytes: int) -> None:
    """Raise LimitFault (E0602) where `count` items would pass the limit."""
    if count * itemsize > max_bytes:
        said = f"refusing to allocate {_size(count * itemsize)}"
        notes = (f"{count:.6g} elements; the limit is {_size(max_bytes)}",)
        raise LimitFault("E0602", said, help="--max-mem SIZE", notes=notes)


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.3g} {unit}" if count < 1e6 else f"{count:.3e} {unit}"
        count /= 1024
    raise AssertionError


class Reader:
    """One text being read. Positions are offsets into the whole text throughout.

    The parameters are those of ``flags.read_value``.
    """

    def __init__(
        self, text: str, evaluate: Callable[[str], object] | None = None,
        base_dir: str | None = None, allow_files: bool = False, stdin: Any = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:  # fmt: skip
        self.text = text
        self.evaluate = evaluate
        self.base_dir = base_dir
        self.allow_files = allow_files
        self.stdin = stdin
        self.max_bytes = max_bytes

    def fault(self, code: str, message: str, start: int, end: int, help: str | None = None):
        """The error for ``text[start:end]``; a gap shows at least one column."""
        return ValueFormFault(code, message, self.text, start, max(end, start + 1), help=help)

    def scalar(
        self, start: int, end: int, where: str, dtype: np.dtype, alone: bool = True
    ) -> np.ndarray:
        text = self.text[start:end]
        value = self.literal(text, start, end, where, dtype)
        if value is not None:
            return np.asarray(value)
        from gradcli.language.diagnostics.flag_values import mend  # needed after an error only

        expression = text.isascii() and not NUMBERISH.match(text)
        if expression and self.evaluate is not None and text.lower() not in ("true", "false"):
            return self.expression(start, end, alone)
        raise self.fault("E0901", f"{where} is not a number", start, end, mend(text, dtype.kind))

    def literal(self, text: str, start: int, end: int, where: str, dtype: np.dtype):
        """The number that `text` is, or None where it is none."""
        if not text.isascii():
            return None
        if dtype.kind == "b" and text.lower() in ("true", "false"):
            return np.bool_(text.lower() == "true")
        try:
            # int() first, for whole numbers past 2**53
            number: Any = int(text) if dtype.kind in "iu" else float(text)
        except ValueError:
            try:
                number = float(text)
            except ValueError:
                number = self.complex_literal(text)
                if number is None or np.isfinite(number) or "n" in text.lower():
                    return number
            if dtype.kind in "iu" and number - number == 0:
                from decimal import Decimal  # 1e3 where a whole number is asked for

                number = Decimal(text)  # exactly, also past 2**53
        message = help = None
        if isinstance(number, complex):
            message, help = f"{where} is too large for complex128", "write inf for infinity"
        elif dtype.kind in "iu":
            info = np.iinfo(dtype)
            if number != number or (abs(number) != INF and number != int(number)):
                message, help = f"{where} is not a whole number", range_of(dtype)
            elif not info.min <= number <= info.max:
                message, help = f"{where} does not fit {dtype}", range_of(dtype)
            else:
                return dtype.type(int(number))
        elif dtype.kind == "b":
            if number not in (0.0, 1.0):
                message, help = f"{where} is neither true nor false", range_of(dtype)
        elif number - number == 0:
            if dtype.itemsize < 8 and abs(number) > float(np.finfo(dtype).max):
                message, help = f"{where} is too large for {dtype}", "inf, or a wider dtype"
        elif "n" not in text.lower():  # digits that became an infinity nobody wrote
            message, help = f"{where} is too large for float64", "write inf for infinity"
        if message is not None:
            raise self.fault("E0901", message, start, end, help)
        return np.float64(number)

    def complex_literal(self, text: str):
        if text[-1:] not in ("j", "J") or len(text) > 100:
            return None
        tight = re.sub(r"\s*([+-])\s*", r"\1", text)
        if not re.fullmatch(r"[\w.+-]+", tight):
            return None
        try:
            return np.complex128(complex(tight))
        except ValueError:
            return None

    def expression(self, start: int, end: int, alone: bool = True) -> np.ndarray:
        """What `evaluate` makes of a part of the text."""
        assert self.evaluate is not None
        text = self.text[start:end]
        if "#" in text or _DATE.search(text):
            what = "a comment is no part of a value" if "#" in text else "a date is not a number"
            raise self.fault("E0901", what, start, end)
        try:
            result = self.evaluate(text)
        except LimitFault:
            raise
        except Fault as fault:
            if alone and start == 0:
                raise  # its positions are the value's own
            raise self.fault(fault.code, fault.message, start, end, fault.help) from fault
        try:
            value = np.asarray(result)
        except ValueError:
            value = None
        if value is None or value.dtype.kind not in "biufc":
            raise self.fault("E0901", "the expression does not give numbers", start, end)
        return value


def items(count: int) -> str:
    """``count`` items, in words."""
    return f"{count} item{'s' * (count != 1)}"


def range_of(dtype: np.dtype) -> str:
    """What numbers an element type holds, in words."""
    if dtype.kind == "b":
        return "true or false, 1 or 0"
    info = np.iinfo(dtype)
    return f"{dtype} holds whole numbers from {info.min} to {info.max}"
