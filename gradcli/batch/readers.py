"""Rows of a batch from a text stream: JSON lines or CSV, one line a row, read as they come.

Whatever a line holds, it becomes exactly one ``Row``; what is wrong with it is the row's
``problem``, and the next line is read as if nothing had happened. So a line is a row in CSV too: a
quoted cell ends on its own line. Lines end at ``\\n`` and nowhere else.

    not JSON, or not an object           E0920
    bytes that are not UTF-8, a NUL      E0921
    a line of more than 16 MiB           E0922
    a field that is no value             E0923, or the value form's own code (E0901, E0903 ...)
    a field twice                        E0924
    a CSV header or a count of cells     E0925

A number, nested lists of numbers, or a string with a value form (``"1,2;3,4"``, ``"int:3"``,
``"NaN"``, ``"-Infinity"``) is a value. ``@file`` is not: rows may come from a stranger.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TextIO

from gradcli.batch.fields import Fields, shown
from gradcli.language.values import MAX_BYTES
from gradcli.ops.errors import Fault, LimitFault, ValueFault

LINE_LIMIT = 16 << 20
"""The longest line that is read, in characters without its newline."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


class Row:
    """One row of a batch.

    number   counting from 1; blank lines are not rows
    id       what the row's ``id`` field holds: text, a number, true, false, or None without one
    values   the numbers and arrays by variable name
    problem  what is wrong with the row, or None
    """

    __slots__ = ("id", "number", "problem", "values")

    def __init__(
        self, number: int, id: Any, values: dict[str, object], problem: Fault | None = None
    ) -> None:
        self.number = number
        self.id = id
        self.values = values
        self.problem = problem

    def __repr__(self) -> str:
        trouble = f", {self.problem.code}" if self.problem is not None else ""
        return f"Row({self.number}, id={self.id!r}, {', '.join(self.values)}{trouble})"


def text_stream(binary: BinaryIO) -> TextIO:
    """The text stream that the readers want of a byte stream.

    Bytes that are not UTF-8 pass as lone surrogates, so that they spoil their own row only, and no
    line end is translated.

    >>> next(read_rows(text_stream(io.BytesIO(b'{"x": 2}')))).values
    {'x': np.float64(2.0)}
    """
    return io.TextIOWrapper(binary, encoding="utf-8", errors="surrogateescape", newline="\n")


def read_rows(
    stream: TextIO,
    form: str = "jsonl",
    *,
    wanted: Callable[[str], bool] | None = None,
    dtype: str = "float64",
    max_bytes: int = MAX_BYTES,
) -> Iterator[Row]:
    """The rows of ``stream``, in order; nothing but a wrong ``form`` is ever raised.

    form       ``"jsonl"``, an object a line; or ``"csv"``, whose first line names the variables
    wanted     whether a name is a variable of the program; other fields are passed over unread
    dtype      of the values that name none themselves
    max_bytes  the most that one value may take in memory

    Raises ValueFault (E0905) for a form that is none of these.

    >>> rows = read_rows(io.StringIO('id,x\\nfirst,2.5\\nsecond,oops\\n'), "csv")
    >>> [(row.id, row.values, row.problem and row.problem.code) for row in rows]
    [('first', {'x': np.float64(2.5)}, None), ('second', {}, 'E0901')]
    """
    readers = {"jsonl": _json_rows, "csv": _csv_rows}
    if form not in readers:
        raise ValueFault("E0905", f"batch rows cannot be read as {form!r}", help="jsonl or csv")
    return readers[form](stream, Fields(wanted or _any_name, dtype, max_bytes))


def _any_name(name: str) -> bool:
    return name != "id" and _NAME.match(name) is not None


# ---- lines ---------------------------------------------------------------------------------------


def _lines(stream: TextIO) -> Iterator[tuple[str, Fault | None]]:
    """Each line without its end, and what keeps it from being read; blank lines are left out."""
    first = True
    while True:
        try:
            line = stream.readline(LINE_LIMIT + 1)
        except UnicodeDecodeError as fault:
            # A strict stream has lost its place; text_stream() gives one that goes on.
            yield "", ValueFault("E0921", f"the input is not UTF-8: {fault.reason}", help=_UTF8)
            return
        if not line:
            return
        if line[-1] == "\n":
            line = line[:-1]
        elif len(line) > LINE_LIMIT:
            yield "", _skip_line(stream)
            first = False
            continue
        if first:
            line = line.removeprefix("\ufeff")
            first = False
        if line[-1:] == "\r":
            line = line[:-1]
        if not line or line.isspace():
            continue
        yield line, None if line.isascii() and "\0" not in line else _bad_characters(line)


_UTF8 = "save the file as UTF-8"


def _skip_line(stream: TextIO) -> Fault:
    """Pass over the rest of a line that is too long."""
    try:
        while (part := stream.readline(1 << 20)) and part[-1] != "\n":
            pass
    except UnicodeDecodeError:
        pass
    return LimitFault(
        "E0922", f"the line is longer than {LINE_LIMIT >> 20} MiB",
        help="split the row, or make large constants part of the command",
    )  # fmt: skip


def _bad_characters(line: str) -> Fault | None:
    at = line.find("\0")
    if at >= 0:
        return ValueFault(
            "E0921", f"the line holds a NUL byte at character {at + 1}",
            help="the file is damaged, or saved as UTF-16; save it as UTF-8",
        )  # fmt: skip
    wrong = re.search("[\ud800-\udfff]", line)
    if wrong is None:
        return None
    what = "a byte that is not UTF-8"
    if "\udc80" <= wrong[0] <= "\udcff":
        what = f"the byte 0x{ord(wrong[0]) - 0xDC00:02x}, which is not UTF-8,"
    place = wrong.start() + 1
    return ValueFault("E0921", f"the line holds {what} at character {place}", help=_UTF8)


# ---- JSON lines ----------------------------------------------------------------------------------


class _Twice(Exception):
    """A name that an object holds twice; ends the parse."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Twice(name)
            seen.add(name)
    return found


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _json_rows(stream: TextIO, values: Fields) -> Iterator[Row]:
    import json

    decode = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant).decode
    for number, (line, problem) in enumerate(_lines(stream), 1):
        row = Row(number, None, {}, problem)
        if problem is None:
            try:
                _fill_from_json(row, decode(line), values)
            except Fault as fault:
                row.problem = fault
            except _Twice as twice:
                row.problem = ValueFault(
                    "E0924", f"the field {shown(str(twice))} stands twice", help="keep one of them"
                )
            except (ValueError, RecursionError, MemoryError) as fault:
                row.problem = _not_json(fault, line)
        yield row


def _fill_from_json(row: Row, found: Any, values: Fields) -> None:
    if found.__class__ is not dict:
        raise ValueFault(
            "E0920", "the line is JSON, but not an object", help='write {"x": 1.5, "id": "first"}'
        )
    if "id" in found:
        row.id = _checked_id(found["id"])
    for name, value in found.items():
        if values.wanted(name):
            row.values[name] = values.json(name, value)


def _checked_id(value: Any) -> Any:
    if value.__class__ in (dict, list) or (value.__class__ is float and value - value != 0):
        raise ValueFault("E0923", "id: neither text nor a number", help='like "id": "first"')
    if value.__class__ is int and value.bit_length() > 1024:
        raise ValueFault("E0923", "id: the number is too long", help="write it as text")
    return value


def _not_json(fault: Exception, line: str) -> Fault:
    """What is wrong with a line that the JSON parser refused, in few words."""
    help = 'each line is one object, like {"x": 1.5, "y": [1, 2]}'
    if isinstance(fault, RecursionError | MemoryError):
        return ValueFault("E0920", "the line nests too deeply", help=help)
    message = str(fault)
    place = getattr(fault, "pos", None)
    if place is None:
        if "is not JSON" in message:
            help = 'write "NaN", "Infinity" or "-Infinity", with quotes'
        else:  # the parser's own limit on digits
            message, help = "a number has too many digits", "write it as 1.5e300, or as text"
        return ValueFault("E0920", message, help=help)
    said = message.partition(":")[0]
    said = said[:1].lower() + said[1:]
    return ValueFault("E0920", f"not JSON at character {place + 1}: {said}", help=help)


# ---- CSV -----------------------------------------------------------------------------------------


def _csv_rows(stream: TextIO, values: Fields) -> Iterator[Row]:
    lines = _lines(stream)
    head, problem = next(lines, ("", None))
    columns: list[str] = []
    if problem is None:
        try:
            columns = [name.strip() for name in _cells(head)]
            _check_header(columns, values)
        except Fault as fault:
            problem = fault
    if problem is not None:
        problem = ValueFault(problem.code, f"the header: {problem.message}", help=problem.help)
    for number, (line, trouble) in enumerate(lines, 1):
        row = Row(number, None, {}, trouble or problem)
        if row.problem is None:
            try:
                _fill_from_csv(row, _cells(line), columns, values)
            except Fault as fault:
                row.problem = fault
        yield row


def _check_header(columns: list[str], values: Fields) -> None:
    seen: set[str] = set()
    for name in columns:
        if name in seen and (name == "id" or values.wanted(name)):
            raise ValueFault(
                "E0924", f"the column {shown(name)} stands twice", help="keep one of them"
            )
        seen.add(name)
    if not any(_NAME.match(name) for name in columns):
        raise ValueFault(
            "E0925", "no cell of it is a name of a variable",
            help="the first line names the columns: id,a,b",
        )  # fmt: skip


def _cells(line: str) -> list[str]:
    """The cells of one line. The csv module is asked only where quotes need it."""
    if '"' not in line and "\r" not in line:
        return line.split(",")
    import csv

    if csv.field_size_limit() < LINE_LIMIT:
        csv.field_size_limit(LINE_LIMIT)
    try:
        return next(csv.reader([line], strict=True, skipinitialspace=True))
    except csv.Error as fault:
        message = str(fault)
        if "end of data" in message:
            message = "a quoted cell does not end on its line"
        elif "new-line" in message:
            message = "a carriage return stands inside the line"
        raise ValueFault("E0925", message, help='quote a list: "1,2,3"') from None


def _fill_from_csv(row: Row, cells: list[str], columns: list[str], values: Fields) -> None:
    if "id" in columns[: len(cells)]:
        row.id = cells[columns.index("id")]
    if len(cells) != len(columns):
        raise ValueFault(
            "E0925", f"the row has {len(cells)} cells; the header names {len(columns)}",
            help='quote a list that holds commas: "1,2,3"' if len(cells) > len(columns) else None,
        )  # fmt: skip
    for name, cell in zip(columns, cells, strict=True):
        if values.wanted(name):
            row.values[name] = values.text(name, cell)
