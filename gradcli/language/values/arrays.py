"""The value forms of several numbers: ``1,2;3,4``, ``[[1,2],[3,4]]`` and ``0:10:0.1``; and the
lists that JSON holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcli.language.values.reader import (
    INF,
    MAX_NESTING,
    NUMBERISH,
    Reader,
    check_bytes,
    items,
    trim,
)
from gradcli.ops.errors import LimitFault

_PIECE = 1 << 16
"""Values of a range that are computed, and letters of a list that are cut, at once."""
_MARK = re.compile(r"[,;:()\[\]{}]")
_BETWEEN = re.compile(r"\]\s*,\s*\[")
_TOKEN = re.compile(r"[\[\],]|[^\[\],]+")
_DECIMAL = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?\Z", re.ASCII)
_WORDS = {"NaN": float("nan"), "Infinity": INF, "-Infinity": -INF}
_JSON_STRINGS = {f'"{word}"': str(number) for word, number in _WORDS.items()}


def read_array(reader: Reader, start: int, end: int, dtype: np.dtype) -> np.ndarray:
    """The array, or the single number, that ``text[start:end]`` of a reader describes."""
    text = reader.text
    lists = text[start] == "["
    plain = _all_lists if lists else _all_numbers
    if dtype.kind == "f" and (array := plain(text[start:end], dtype)) is not None:
        return array
    if lists:
        return read_nested(reader, start, end, dtype)
    rows, colons = split(text, start, end)
    if colons:
        return read_range(reader, start, end, colons, rows)
    return read_lists(reader, rows, dtype)


def _all_numbers(text: str, dtype: np.dtype) -> np.ndarray | None:
    """A plain list or matrix of numbers, fast; None where it holds or needs anything more."""
    rows = text.split(";")
    commas = rows[0].count(",")
    if not text.isascii() or any(row.count(",") != commas for row in rows):
        return None
    try:
        array = np.fromiter(map(float, _items(",".join(rows))), np.float64)
    except ValueError:
        return None
    if np.isinf(array).any():
        return None
    if dtype.itemsize < 8 and (np.abs(array) > float(np.finfo(dtype).max)).any():
        return None
    if len(rows) > 1:
        return array.reshape(len(rows), -1)
    return array if commas else array.reshape(())


def _items(text: str) -> Iterator[str]:
    """What stands between commas, cut a piece at a time: as texts, numbers take ten times as much
    as they do in an array."""
    start = 0
    while start <= len(text):
        end = text.find(",", start + _PIECE)
        end = len(text) if end < 0 else end
        yield from text[start:end].split(",")
        start = end + 1


def _all_lists(text: str, dtype: np.dtype) -> np.ndarray | None:
    """``[1,2]`` or ``[[1,2],[3,4]]`` of numbers alone, fast; None where it is anything more."""
    inner = _BETWEEN.sub(";", text[1:-1]).strip()
    deep = inner[:1] + inner[-1:] == "[]"
    inner = inner[1:-1] if deep else inner
    if text[-1] != "]" or ";" in (text if deep else inner) or "[" in inner or "]" in inner:
        return None
    array = _all_numbers(inner, dtype)
    return None if array is None else array.reshape((inner.count(";") + 1, -1) if deep else -1)


def split(text: str, start: int, end: int) -> tuple[list[list[tuple[int, int]]], list[int]]:
    """Rows of item spans, and the places of colons, all outside brackets."""
    rows: list[list[tuple[int, int]]] = [[]]
    colons = []
    depth = 0
    item = start
    for match in _MARK.finditer(text, start, end):
        mark, place = match[0], match.start()
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif depth <= 0:
            if mark == ":":
                colons.append(place)
                continue
            rows[-1].append((item, place))
            item = place + 1
            if mark == ";":
                rows.append([])
    rows[-1].append((item, end))
    return rows, colons


def read_lists(reader: Reader, rows: list[list[tuple[int, int]]], dtype: np.dtype) -> np.ndarray:
    """``5``, ``5,``, ``1,2,3`` and ``1,2;3,4``, from the spans of their items.

    A comma or semicolon at the end adds no item: ``5,`` is a list of one and ``1,2;`` a matrix.
    """
    text = reader.text
    if len(rows) == 1 and len(rows[0]) == 1:
        return reader.scalar(*trim(text, *rows[0][0]), "the value", dtype)
    matrix = len(rows) > 1
    if matrix and _blank(text, rows[-1]):
        rows.pop()
    values = []
    width = 0
    for number, row in enumerate(rows, 1):
        if len(row) > 1 and _blank(text, row[-1:]):
            row = row[:-1]
        width = width or len(row)
        if len(row) != width:
            message = f"row {number} has {items(len(row))}; row 1 has {width}"
            span = trim(text, row[0][0], row[-1][1])
            raise reader.fault("E0903", message, *span, help="give every row as many items")
        for index, span in enumerate(row, 1):
            where = f"item {index} of row {number}" if matrix else f"item {index}"
            place = trim(text, *span)
            if place[0] == place[1]:
                raise reader.fault("E0901", f"{where} is empty", *span, help="remove the comma")
            value = reader.scalar(*place, where, dtype, alone=False)
            if value.ndim:
                message = f"{where} has shape {value.shape}; a list holds numbers"
                raise reader.fault("E0903", message, *place, help="write it as [[1,2],[3,4]]")
            values.append(value[()])
    check_bytes(len(values), dtype.itemsize, reader.max_bytes)
    array = np.array(values)
    return array.reshape(len(rows), width) if matrix else array


def _blank(text: str, spans: list[tuple[int, int]]) -> bool:
    return len(spans) == 1 and not text[slice(*spans[0])].strip()


class _Open:
    """A list whose ``]`` has not come yet."""

    __slots__ = ("child", "count", "start", "wants_item")

    def __init__(self, start: int) -> None:
        self.start = start
        self.count = 0
        self.child: tuple[int, ...] | None = None  # the shape that every item must have
        self.wants_item = True


def read_nested(reader: Reader, start: int, end: int, dtype: np.dtype) -> np.ndarray:
    """``[1,2]``, ``[[1,2],[3,4]]`` and deeper, as Python and JSON write them.

    Where the text turns out to be more than lists of numbers, such as ``[1,2]*3`` or ``[pi, e]``,
    the whole of it goes to the reader's ``evaluate``.
    """
    text = reader.text
    fast = dtype.kind in "fc" and text.isascii()
    stack: list[_Open] = []
    numbers: list = []
    shape: tuple[int, ...] | None = None
    for match in _TOKEN.finditer(text, start, end):
        token = match[0]
        place = match.start()
        if shape is not None:  # all lists are closed, yet there is more
            if not token.strip():
                continue
            return _beyond(reader, start, end, place)
        if token == "[":
            if stack and not stack[-1].wants_item:
                raise reader.fault("E0901", "a comma is missing", place, place + 1)
            if len(stack) == MAX_NESTING:
                raise reader.fault(
                    "E0903", f"lists nest deeper than {MAX_NESTING}", place, place + 1
                )
            stack.append(_Open(place))
        elif token == "]":
            closed = stack.pop()
            shape = (closed.count, *(closed.child or ()))
            if stack:
                _add(reader, stack, shape, closed.start, place + 1)
                shape = None
        elif token == ",":
            inner = stack[-1]
            if inner.wants_item:
                message = f"item {inner.count + 1} is empty"
                raise reader.fault("E0901", message, place, place + 1, "remove the comma")
            inner.wants_item = True
        elif item := token.strip():
            span = trim(text, place, match.end())
            inner = stack[-1]
            if not inner.wants_item:
                raise reader.fault("E0901", "a comma is missing", *span)
            number = _number(reader, item, span, inner, dtype, fast)
            if number is None:
                return reader.expression(start, end)
            numbers.append(number)
            _add(reader, stack, (), *span)
    if shape is None:
        place = stack[-1].start
        raise reader.fault("E0901", "this [ is never closed", place, place + 1, "add a ]")
    check_bytes(len(numbers), dtype.itemsize, reader.max_bytes)
    flat = np.array(numbers) if numbers else np.zeros(0, dtype)
    try:
        return flat.reshape(shape)
    except ValueError:  # more axes than this NumPy has
        raise reader.fault("E0903", f"{len(shape)} axes are too many", start, end) from None


def _number(reader: Reader, item: str, span: tuple[int, int], inner: _Open, dtype, fast: bool):
    """The item's number, or None where it may be an expression that the reader can evaluate."""
    if fast:
        try:
            number = float(item)
        except ValueError:
            pass
        else:
            if number - number == 0:
                return number
    where = f"item {inner.count + 1}"
    number = reader.literal(_JSON_STRINGS.get(item, item), *span, where, dtype)
    if number is not None:
        return number
    if reader.evaluate is not None and item.isascii() and not NUMBERISH.match(item):
        return None
    from gradcli.language.diagnostics.flag_values import mend  # needed after an error only

    raise reader.fault("E0901", f"{where} is not a number", *span, mend(item, dtype.kind))


def _beyond(reader: Reader, start: int, end: int, place: int) -> np.ndarray:
    """There is text after the last ``]``."""
    mark = reader.text[place]
    if mark in ",;":
        raise reader.fault(
            "E0901", "a list ends here, and more follows", place, end, "write [[1,2],[3,4]]"
        )
    if mark == "]":
        raise reader.fault("E0901", "this ] was never opened", place, place + 1, "remove it")
    if reader.evaluate is None:
        raise reader.fault("E0901", "a list ends here, and more follows", place, end)
    return reader.expression(start, end)


def _add(reader: Reader, stack: list[_Open], shape: tuple[int, ...], start: int, end: int) -> None:
    """Count an item of the innermost open list, which must be shaped like the first."""
    inner = stack[-1]
    inner.count += 1
    inner.wants_item = False
    if inner.child is None:
        inner.child = shape
        return
    if inner.child == shape:
        return
    nested = "".join(f"[{outer.count}]" for outer in stack[:-1])
    of = f" of {nested}" if nested else ""
    help: str | None = "give every row as many items"
    if not shape or not inner.child:
        kinds = ("a list", "a number") if shape else ("a number", "a list")
        message = f"item {inner.count}{of} is {kinds[0]}; item 1 is {kinds[1]}"
        help = None
    elif len(shape) == 1 and len(inner.child) == 1:
        message = f"row {inner.count}{of} has {items(shape[0])}; row 1 has {inner.child[0]}"
    else:
        message = f"item {inner.count}{of} has shape {shape}; item 1 has {inner.child}"
    raise reader.fault("E0903", message, start, end, help)


def read_range(
    reader: Reader, start: int, end: int, colons: list[int], rows: list[list[tuple[int, int]]]
) -> np.ndarray:
    """``first:end`` and ``first:end:step``; the end is not part of it.

    The bounds may be constant expressions: ``0:2*pi:pi/8``.
    """
    if len(rows) > 1 or len(rows[0]) > 1 or len(colons) > 2:
        place = colons[2] if len(colons) > 2 else colons[0]
        raise reader.fault(
            "E0901", "a range stands alone: first:end:step", place, place + 1, "like 0:10:0.1"
        )
    edges = [start - 1, *colons, end]
    texts: list[str] = []
    numbers: list[float] = []
    names = ("the first value", "the end", "the step")
    for name, before, after in zip(names, edges, edges[1:], strict=False):
        span = trim(reader.text, before + 1, after)
        if span[0] == span[1]:
            raise reader.fault("E0901", f"{name} is missing", *span, help="like 0:10:0.1")
        value = reader.scalar(*span, name, np.dtype(np.float64), alone=False)
        if value.ndim or value.dtype.kind == "c" or not np.isfinite(value):
            raise reader.fault("E0901", f"{name} is not a finite real number", *span)
        texts.append(reader.text[slice(*span)])
        numbers.append(float(value))
    if len(numbers) == 2:
        texts.append("1")
        numbers.append(1.0)
    first, last, step = numbers
    if step == 0:
        raise reader.fault("E0901", "the step is zero", colons[-1] + 1, end)
    if (last > first) != (step > 0) and last != first:
        mended = f"-({texts[2]})" if step > 0 and not texts[2][0].isdigit() else f"-{texts[2]}"
        mended = mended if step > 0 else texts[2].lstrip("-")
        help = f"did you mean {texts[0]}:{texts[1]}:{mended}?"
        raise reader.fault("E0901", "the step leads away from the end", start, end, help)
    return _steps(first, last, step, _as_integers(texts), reader.max_bytes)


def _steps(
    first: float, last: float, step: float, exact: list[int] | None, max_bytes: int
) -> np.ndarray:
    """Every value computed from its own index, so that no error adds up."""
    if exact is not None:
        # First, last and step times one power of ten: i/10 is 0.3 where i*0.1 is not, and
        # 1:1.3:0.1 ends before 1.3.
        a, b, c, scale = exact
        count = -((a - b) // c)
        check_bytes(count, 8, max_bytes)
        if max(abs(a), abs(b), abs(c)) + abs(c) < 2**53:
            return _by_index(count, lambda i: (a + c * i) / float(scale))
        return _by_index(count, lambda i: first + step * i)
    ratio = (last - first) / step
    if not ratio < 2**62:
        raise LimitFault("E0602", "refusing to allocate a range without end", help="a larger step")
    # A quotient within rounding of a whole number is that number: 0:2*pi:pi/8 has 16 values.
    near = round(ratio)
    close = abs(ratio - near) <= 4e-15 * max(1.0, ratio)
    count = near if close else int(np.ceil(ratio))
    check_bytes(count, 8, max_bytes)
    return _by_index(count, lambda i: first + step * i)


def _by_index(count: int, formula: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """``formula`` of 0 to ``count`` - 1, a piece at a time: no other array of that size is made."""
    found = np.empty(count)
    for start in range(0, count, _PIECE):
        end = min(start + _PIECE, count)
        found[start:end] = formula(np.arange(start, end))
    return found


def _as_integers(texts: list[str]) -> list[int] | None:
    """Decimal texts as integers over one power of ten, which comes last; None where that fails."""
    parts = []
    for text in texts:
        match = _DECIMAL.match(text.replace("_", ""))
        if not match or not (match[2] or match[3]):
            return None
        fraction = match[3] or ""
        digits = match[2] + fraction
        exponent = int(match[4] or 0) - len(fraction)
        if len(digits) > 18 or abs(exponent) > 22:
            return None
        parts.append((-1 if match[1] == "-" else 1, int(digits), exponent))
    lowest = min(0, *(exponent for _, _, exponent in parts))
    scaled = [sign * digits * 10 ** (exponent - lowest) for sign, digits, exponent in parts]
    return [*scaled, 10**-lowest]


# -- JSON ---------------------------------------------------------------------------------------


def finite(text: str) -> float:
    """A number of JSON. Raises OverflowError, with its text, where float64 has none so large."""
    number = float(text)
    if abs(number) == float("inf"):
        raise OverflowError(text)
    return number


def from_json(value: Any) -> np.ndarray:
    """The array of a number or nested lists of JSON, or of a record of them: ``data``, ``shape``.

    Raises what ``from_lists`` does, and ValueError for another shape.
    """
    record = value if isinstance(value, dict) and "data" in value else {"data": value}
    found = np.asarray(from_lists([record["data"]])[0])
    return found.reshape(record.get("shape", found.shape))


def from_lists(value: list) -> np.ndarray:
    """Nested lists of JSON as an array of float64, complex128 or bool.

    Raises ValueError, which says what is wrong with the list, and OverflowError where a number is
    too large.
    """
    found = np.array(value, dtype=object)
    flat = found.reshape(-1).tolist()
    kinds = set(map(type, flat))
    if kinds == {bool}:
        return found.astype(bool)
    if list in kinds:
        raise ValueError(f"has rows that differ in length, or more than {MAX_NESTING} axes")
    if dict in kinds:
        return _complexes(flat).reshape(found.shape)
    if not kinds <= {int, float, str}:
        raise ValueError("holds more than numbers")
    try:
        numbers = np.array([_WORDS[v] if v.__class__ is str else float(v) for v in flat], float)
    except KeyError:
        raise ValueError("holds text that is no number") from None
    # An infinity that no word asked for had too many digits.
    asked = sum(v in ("Infinity", "-Infinity") for v in flat) if str in kinds else 0
    if np.count_nonzero(np.isinf(numbers)) > asked:
        raise OverflowError
    return numbers.reshape(found.shape)


def _complexes(found: list) -> np.ndarray:
    """Numbers of which some are complex, ``{"re": 1, "im": 2}``, as a batch writes them."""
    if any(v.__class__ is dict and v.keys() != {"re", "im"} for v in found):
        raise ValueError("holds more than numbers")
    pairs = [[v["re"], v["im"]] if v.__class__ is dict else [v, 0] for v in found]
    if any(part.__class__ is dict for pair in pairs for part in pair):
        raise ValueError("holds a complex number of complex parts")
    parts = from_lists(pairs)
    if parts.ndim != 2 or parts.dtype.kind != "f":
        raise ValueError("holds a part of a complex number that is no number")
    return parts.view(np.complex128)[:, 0]
