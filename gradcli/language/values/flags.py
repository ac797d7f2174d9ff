"""Reads the values that flags carry: ``--x 0,1,2,3``.

    5                a scalar                  [[1,2],[3,4]]    nested lists
    5,               shape (1,)                0:10:0.1         a range, end exclusive
    0,1,2,3          a vector                  2x2:1,2,3,4      any of these, reshaped
    1,2;3,4          a matrix, row by row      int:3            any of these, of that dtype
    pi/4, [e, 2*e]   constant expressions      @points.csv:x    a file (see value_files)

Values are floats unless they say otherwise, so that they can be differentiated. A list of numbers
is read here at once; an item that is no number but may be an expression goes to the caller's
``evaluate``. Every error knows the part of the text that is wrong.

    number with a slip     2o        -> E0901, did you mean 20?
    rows that differ       1,2;3     -> E0903
    a file's own troubles  @no.npy   -> E0904
    more than may be held  0:1e12    -> E0602
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from gradcli.ops.errors import Fault, LimitFault, ValueFault

MAX_NESTING = 64
MAX_BYTES = 2 << 30

_KINDS = {
    "bool": "bool",
    "uint8": "uint8",
    "int8": "int8",
    "int16": "int16",
    "short": "int16",
    "int32": "int32",
    "int": "int64",
    "int64": "int64",
    "long": "int64",
    "float16": "float16",
    "half": "float16",
    "float": "float32",
    "float32": "float32",
    "float64": "float64",
    "double": "float64",
    "complex64": "complex64",
    "complex": "complex128",
    "complex128": "complex128",
}
_INF = float("inf")
_WORD = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*:")
_SHAPE = re.compile(r"\s*(\d{1,18}(?:\s*x\s*\d{1,18})+)\s*:")
# Starts like a number and holds nothing that an expression would need: a slip, not an expression.
_NUMBERISH = re.compile(r"[+-]?\.?\d(?:[eE][+-]|[\w.])*(?:\s+\.?\d[\w.]*|\s*[+-]\s*[\d.]*[iI])*\Z")
_CONSTANTS = ("pi", "e", "tau", "inf", "nan")


class ValueFormFault(Fault, ValueError):
    """A value's text that cannot be read; ``text[start:end]`` is the part that is wrong."""

    def __init__(
        self, code: str, message: str, text: str, start: int, end: int, *, help: str | None = None
    ) -> None:
        super().__init__(code, message, help=help)
        self.text = text
        self.start = start
        self.end = end


def read_value(
    text: str,
    *,
    dtype: str = "float64",
    evaluate: Callable[[str], object] | None = None,
    base_dir: str | None = None,
    allow_files: bool = True,
    stdin: object = None,
    max_bytes: int = MAX_BYTES,
) -> np.ndarray | np.generic:
    """The value that `text` describes: a NumPy scalar, or a C-contiguous array.

    dtype        of the result, where the text names none; complex values become complex
    evaluate     computes a constant expression and returns a number, an array or nested lists; its
                 own faults pass through. Without it only numbers are read
    base_dir     where relative ``@file`` names start; the working directory when left out
    allow_files  False refuses every ``@`` form
    stdin        what ``@-`` reads: a stream; None refuses it
    max_bytes    the most that the value may take, known before anything is allocated

    Raises ValueFormFault (E0901 a bad number, E0903 rows or shapes that do not fit, E0904 a file),
    LimitFault (E0602) and ValueFault (E0905 a dtype that values cannot have).

    >>> read_value("2.5").item(), read_value("5,").shape
    (2.5, (1,))
    >>> read_value("1,2;3,4").tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> read_value("int:2x2:0:4").tolist()
    [[0, 1], [2, 3]]
    """
    if dtype == "float64" and text.isascii():
        # The everyday forms, at once: `5` and `0,1,2,3`. All else, and every error, comes below.
        try:
            numbers = list(map(float, text.split(",")))
        except ValueError:
            pass
        else:
            if _INF not in numbers and -_INF not in numbers:
                if len(numbers) == 1:
                    return np.float64(numbers[0])
                return np.array(numbers)
    if dtype not in _KINDS.values():
        names = ", ".join(sorted(set(_KINDS.values())))
        raise ValueFault("E0905", f"values cannot have dtype {dtype!r}", help=names)
    reader = _Reader(text, evaluate, base_dir, allow_files, stdin, max_bytes)
    start, end = _trim(text, 0, len(text))
    return reader.read(start, end, np.dtype(dtype), named=False)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def check_bytes(count: int, itemsize: int, max_bytes: int) -> None:
    """Raise LimitFault (E0602) where `count` items would pass the limit."""
    if count * itemsize > max_bytes:
        raise LimitFault(
            "E0602",
            f"refusing to allocate {_size(count * itemsize)}",
            help="--max-mem SIZE",
            notes=(f"{count:.6g} elements; the limit is {_size(max_bytes)}",),
        )


def _size(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.3g} {unit}" if count < 1e6 else f"{count:.3e} {unit}"
        count /= 1024
    raise AssertionError


class _Reader:
    """One text being read. Positions are offsets into the whole text throughout."""

    def __init__(self, text, evaluate, base_dir, allow_files, stdin, max_bytes) -> None:
        self.text = text
        self.evaluate = evaluate
        self.base_dir = base_dir
        self.allow_files = allow_files
        self.stdin = stdin
        self.max_bytes = max_bytes

    def fault(self, code: str, message: str, start: int, end: int, help: str | None = None):
        """The error for ``text[start:end]``; a gap shows at least one column."""
        return ValueFormFault(code, message, self.text, start, max(end, start + 1), help=help)

    # -- prefixes ---------------------------------------------------------------------------

    def read(self, start: int, end: int, dtype: np.dtype, named: bool):
        text = self.text
        shape = None
        shape_span = (start, end)
        while start < end:
            if match := _SHAPE.match(text, start, end):
                if shape is not None:
                    raise self.fault("E0903", "two shapes", *match.span(1), help="keep one")
                shape = tuple(int(size) for size in match[1].split("x"))
                shape_span = match.span(1)
            elif (match := _WORD.match(text, start, end)) and match[1] not in _CONSTANTS:
                if named:
                    raise self.fault("E0901", "two dtypes", *match.span(1), help="keep one")
                dtype, named = self.kind(match), True
            else:
                break
            start, end = _trim(text, match.end(), end)
        if start >= end:
            raise self.fault("E0901", "the value is empty", start, end, help="a number, or 1,2,3")
        value = self.body(start, end, dtype)
        if dtype.kind == "f" and not named and value.dtype.kind == "c":
            dtype = np.dtype("complex64" if dtype == np.float32 else "complex128")
        value = self.cast(value, dtype, start, end)
        if shape is not None:
            value = self.reshape(value, shape, shape_span)
        if value.ndim == 0:
            return value[()]
        return np.ascontiguousarray(value)

    def kind(self, match: re.Match[str]) -> np.dtype:
        name = match[1]
        if name in _KINDS:
            return np.dtype(_KINDS[name])
        import difflib

        near = difflib.get_close_matches(name.lower(), _KINDS, 1)
        help = f"did you mean {near[0]}:?" if near else "int:, bool:, float32:, complex128:, ..."
        raise self.fault("E0901", f"`{name}:` is not a dtype", *match.span(1), help=help)

    def reshape(self, value: np.ndarray, shape: tuple[int, ...], span: tuple[int, int]):
        need = 1
        for size in shape:
            need *= size
        name = "x".join(map(str, shape))
        if len(shape) > MAX_NESTING:
            raise self.fault("E0903", f"more than {MAX_NESTING} axes", *span)
        if need != value.size:
            raise self.fault(
                "E0903", f"{name} needs {need} item{'s' * (need != 1)}; {value.size} given", *span
            )
        try:
            return value.reshape(shape)
        except ValueError:  # more axes than this NumPy has
            raise self.fault("E0903", f"{len(shape)} axes are too many", *span) from None

    def cast(self, value: np.ndarray, dtype: np.dtype, start: int, end: int) -> np.ndarray:
        """Turn what was read into `dtype`, refusing to change a number on the way."""
        source = value.dtype
        if source == dtype:
            return value
        check_bytes(value.size, dtype.itemsize, self.max_bytes)
        with np.errstate(all="ignore"):
            result = value.real.astype(dtype) if dtype.kind != "c" else value.astype(dtype)
            if source.kind == "c" and dtype.kind != "c":
                wrong = value.imag != 0
                message, help = f"complex, not {dtype}", "complex128:..."
            elif dtype.kind in "iub":
                if source.kind in "iu" and dtype.kind != "b":
                    info = np.iinfo(dtype)
                    wrong = (value < info.min) | (value > info.max)
                else:
                    wrong = result.astype(source) != value
                if source.kind == "f" and dtype.itemsize == 8:
                    wrong |= np.abs(value) >= 2.0**63  # as a float, the largest int64 is 2**63
                message, help = f"not one that {dtype} holds", _range_of(dtype)
            else:
                wrong = ~np.isfinite(result) & np.isfinite(value)
                message, help = f"too large for {dtype}", "inf, or a wider dtype"
        if wrong.any():
            where = f"item {int(np.argmax(wrong)) + 1}" if value.ndim else "the value"
            raise self.fault("E0901", f"{where} is {message}", start, end, help)
        return result

    # -- forms ------------------------------------------------------------------------------

    def body(self, start: int, end: int, dtype: np.dtype) -> np.ndarray:
        first = self.text[start]
        if first == "@":
            from gradcli.language.values.files import read_file

            return read_file(self, start, end)
        if first == "[":
            from gradcli.language.values.arrays import read_nested

            return read_nested(self, start, end, dtype)
        if dtype.kind == "f" and (array := _all_numbers(self.text[start:end], dtype)) is not None:
            return array
        from gradcli.language.values.arrays import read_lists, read_range, split

        rows, colons = split(self.text, start, end)
        if colons:
            return read_range(self, start, end, colons, rows)
        return read_lists(self, rows, dtype)

    def scalar(
        self, start: int, end: int, where: str, dtype: np.dtype, alone: bool = True
    ) -> np.ndarray:
        text = self.text[start:end]
        value = self.literal(text, start, end, where, dtype)
        if value is not None:
            return np.asarray(value)
        from gradcli.language.diagnostics.flag_values import mend

        expression = text.isascii() and not _NUMBERISH.match(text)
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
            number = int(text) if dtype.kind in "iu" else float(text)
        except ValueError:
            try:
                number = float(text)
            except ValueError:
                return self.complex_literal(text)
        message = help = None
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            if number != number or (abs(number) != _INF and number != int(number)):
                message, help = f"{where} is not a whole number", _range_of(dtype)
            elif not info.min <= number <= info.max:
                message, help = f"{where} does not fit {dtype}", _range_of(dtype)
            else:
                return dtype.type(int(number))
        elif dtype.kind == "b":
            if number not in (0.0, 1.0):
                message, help = f"{where} is neither true nor false", _range_of(dtype)
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
        try:
            result = self.evaluate(self.text[start:end])
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


def _all_numbers(text: str, dtype: np.dtype) -> np.ndarray | None:
    """A plain list or matrix of numbers, fast; None where it holds or needs anything more."""
    if not text.isascii():
        return None
    try:
        rows = [list(map(float, row.split(","))) for row in text.split(";")]
    except ValueError:
        return None
    width = len(rows[0])
    if any(len(row) != width or _INF in row or -_INF in row for row in rows):
        return None
    array = np.array(rows)
    if dtype.itemsize < 8 and (np.abs(array) > float(np.finfo(dtype).max)).any():
        return None
    if len(rows) > 1:
        return array
    return array[0] if width > 1 else array.reshape(())


def _items(count: int) -> str:
    return f"{count} item{'s' * (count != 1)}"


def _range_of(dtype: np.dtype) -> str:
    if dtype.kind == "b":
        return "true or false, 1 or 0"
    info = np.iinfo(dtype)
    return f"{dtype} holds whole numbers from {info.min} to {info.max}"
