"""Reads the values that flags carry: ``--x 0,1,2,3``.

    5                a scalar                  [[1,2],[3,4]]    nested lists
    5,               shape (1,)                0:10:0.1         a range, end exclusive
    0,1,2,3          a vector                  2x2:1,2,3,4      any of these, reshaped
    1,2;3,4          a matrix, row by row      int:3            any of these, of that dtype
    pi/4, [e, 2*e]   constant expressions      @points.csv:x    a file (see files)

Values are floats unless they say otherwise, so that they can be differentiated. A list of numbers
is read here at once; an item that is no number but may be an expression goes to the caller's
``evaluate``. Every error knows the part of the text that is wrong.

    number with a slip     2o        -> E0901, did you mean 20?
    rows that differ       1,2;3     -> E0903
    a file's own troubles  @no.npy   -> E0904
    more than may be held  0:1e12    -> E0602
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine.dtypes import BY_NAME
from gradcli.language.values.reader import (
    INF,
    MAX_BYTES,
    MAX_NESTING,
    Reader,
    check_bytes,
    range_of,
    trim,
)
from gradcli.ops.errors import ValueFault

_KINDS = {**{name: d.name for name, d in BY_NAME.items()}, "int": "int64", "complex": "complex128"}
_WORD = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*:")
_SHAPE = re.compile(r"\s*(\d{1,18}(?:\s*x\s*\d{1,18})+)\s*:")
_CONSTANTS = ("pi", "e", "tau", "inf", "nan")


def read_value(
    text: str, *, dtype: str = "float64", evaluate: Callable[[str], object] | None = None,
    base_dir: str | None = None, allow_files: bool = True, stdin: Any = None,
    max_bytes: int = MAX_BYTES,
) -> np.ndarray | np.generic:  # fmt: skip
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
    if dtype == "float64" and len(text) < 1000 and text.isascii():
        # The everyday forms, at once: `5` and `0,1,2,3`. All else, and every error, comes below.
        try:
            numbers = list(map(float, text.split(",")))
        except ValueError:
            pass
        else:
            if INF not in numbers and -INF not in numbers:
                if len(numbers) == 1:
                    return np.float64(numbers[0])
                return np.array(numbers)
    if dtype not in _KINDS.values():
        names = ", ".join(sorted(set(_KINDS.values())))
        raise ValueFault("E0905", f"values cannot have dtype {dtype!r}", help=names)
    reader = Reader(text, evaluate, base_dir, allow_files, stdin, max_bytes)
    return _read(reader, *trim(text, 0, len(text)), np.dtype(dtype))


def _read(reader: Reader, start: int, end: int, dtype: np.dtype) -> np.ndarray | np.generic:
    """The value of ``text[start:end]``: prefixes for its shape and its dtype, then the numbers."""
    text, named = reader.text, False
    shape = None
    shape_span = (start, end)
    while start < end:
        if match := _SHAPE.match(text, start, end):
            if shape is not None:
                raise reader.fault("E0903", "two shapes", *match.span(1), help="keep one")
            shape = tuple(int(size) for size in match[1].split("x"))
            shape_span = match.span(1)
        elif (match := _WORD.match(text, start, end)) and match[1] not in _CONSTANTS:
            if named:
                raise reader.fault("E0901", "two dtypes", *match.span(1), help="keep one")
            dtype, named = _dtype_of(reader, match), True
        else:
            break
        start, end = trim(text, match.end(), end)
    if start >= end:
        raise reader.fault("E0901", "the value is empty", start, end, help="a number, or 1,2,3")
    # A list and a file are loaded late: most flags carry numbers, which read_value reads at once.
    if text[start] == "@":
        from gradcli.language.values.files import read_file

        value = read_file(reader, start, end)
    else:
        from gradcli.language.values.arrays import read_array

        value = read_array(reader, start, end, dtype)
    if dtype.kind == "f" and not named and value.dtype.kind == "c":
        dtype = np.dtype("complex64" if dtype.itemsize < 8 else "complex128")
    value = _cast(reader, value, dtype, start, end)
    if shape is not None:
        value = _reshape(reader, value, shape, shape_span)
    if value.ndim == 0:
        return value[()]
    if not value.flags.c_contiguous:
        check_bytes(value.size, 2 * value.itemsize, reader.max_bytes)
    return np.ascontiguousarray(value)


def _dtype_of(reader: Reader, match: re.Match[str]) -> np.dtype:
    """The dtype that a prefix names."""
    name = match[1]
    if name in _KINDS:
        return np.dtype(_KINDS[name])
    near = difflib.get_close_matches(name.lower(), _KINDS, 1)
    help = f"did you mean {near[0]}:?" if near else "int:, bool:, float32:, complex128:, ..."
    raise reader.fault("E0901", f"`{name}:` is not a dtype", *match.span(1), help=help)


def _reshape(
    reader: Reader, value: np.ndarray, shape: tuple[int, ...], span: tuple[int, int]
) -> np.ndarray:
    need = 1
    for size in shape:
        need *= size
    name = "x".join(map(str, shape))
    if len(shape) > MAX_NESTING:
        raise reader.fault("E0903", f"more than {MAX_NESTING} axes", *span)
    if need != value.size:
        raise reader.fault(
            "E0903", f"{name} needs {need} item{'s' * (need != 1)}; {value.size} given", *span
        )
    try:
        return value.reshape(shape)
    except ValueError:  # more axes than this NumPy has
        raise reader.fault("E0903", f"{len(shape)} axes are too many", *span) from None


def _cast(reader: Reader, value: np.ndarray, dtype: np.dtype, start: int, end: int) -> np.ndarray:
    """Turn what was read into `dtype`, refusing to change a number on the way."""
    source = value.dtype
    if source == dtype:
        return value
    # Both are held, and three bytes a number of what is found out about the results.
    check_bytes(value.size, source.itemsize + dtype.itemsize + 3, reader.max_bytes)
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
            message, help = f"not one that {dtype} holds", range_of(dtype)
        else:
            wrong = ~np.isfinite(result) & np.isfinite(value)
            message, help = f"too large for {dtype}", "inf, or a wider dtype"
    if wrong.any():
        where = f"item {int(np.argmax(wrong)) + 1}" if value.ndim else "the value"
        raise reader.fault("E0901", f"{where} is {message}", start, end, help)
    return result
