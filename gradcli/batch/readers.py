"""Rows of a batch from a byte stream: JSON lines or CSV, one line a row, read as they come.

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

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradcli.batch import lines
from gradcli.batch.fields import Fields, shown
from gradcli.ops.errors import Fault, LimitFault, ValueFault

_NAME = re.compile(r"(?:[A-Za-z][A-Za-z0-9_]*|_)\Z")
"""What a column must be called to be a variable."""


@dataclass(eq=False, slots=True)
class Row:
    """One row of a batch.

    number   counting from 1; blank lines are not rows
    id       what the row's ``id`` field holds: text, a number, true, false, or None without one
    values   the numbers and arrays by variable name
    problem  what is wrong with the row, or None
    """

    number: int
    id: Any
    values: dict[str, object]
    problem: Fault | None = None


class Reader:
    """How lines become rows; a CSV's first line has to be given to ``head`` before the others.

    form    ``"jsonl"``, an object a line; or ``"csv"``, whose first line names the variables
    fields  how a field becomes a value, and which ones are wanted
    id      the field that is echoed

    >>> reader = Reader("csv", Fields("xy".__contains__, "float64", 1 << 20))
    >>> reader.head("id,x")
    >>> row = reader.row(1, "first,2.5")
    >>> row.id, row.values, reader.row(2, "second,oops").problem.code
    ('first', {'x': np.float64(2.5)}, 'E0901')
    """

    __slots__ = ("_decode", "columns", "fields", "id")

    def __init__(self, form: str, fields: Fields, id: str = "id") -> None:
        self.fields = fields
        self.id = id
        self.columns: list[str] = []
        self._decode = None if form == "csv" else _decoder()

    def head(self, line: str | None) -> None:
        """Read the header. Raises Fault for what is wrong with it."""
        try:
            self.columns = [name.strip() for name in _cells(_checked(line))]
            _check_header(self.columns, self.fields)
        except Fault as fault:
            raise ValueFault(fault.code, f"the header: {fault.message}", help=fault.help) from None

    def row(self, number: int, line: str | None) -> Row:
        """The row that a line is. What is wrong with it is its ``problem``; nothing is raised."""
        row = Row(number, None, {})
        try:
            if self._decode is None:
                _fill_from_csv(row, _cells(_checked(line)), self.columns, self.fields, self.id)
            else:
                row.id, found = self.parsed(line)
                for name, value in found.items():
                    if self.fields.wanted(name):
                        row.values[name] = self.fields.json(name, value)
        except Fault as fault:
            row.problem = fault
        return row

    def parsed(self, line: str | None) -> tuple[Any, dict[str, Any]]:
        """The id of a line of JSON, and the line as it is. Raises Fault where it is no object."""
        assert self._decode is not None
        found = _parsed(self._decode, _checked(line))
        if found.__class__ is not dict:
            raise ValueFault("E0920", "the line is JSON, but not an object", help=_LIKE)
        return _checked_id(found.get(self.id)), found


_LIKE = 'write {"x": 1.5, "id": "first"}'


def _checked(line: str | None) -> str:
    """A line that may be a row. Raises Fault (E0921, E0922) for any other."""
    if line is None:
        said = f"the line is longer than {lines.LINE_LIMIT >> 20} MiB"
        mend = "split the row, or make large constants part of the command"
        raise LimitFault("E0922", said, help=mend)
    at = line.find("\0")
    if at >= 0:
        mend = "the file is damaged, or saved as UTF-16; save it as UTF-8"
        raise ValueFault("E0921", f"the line holds a NUL byte at character {at + 1}", help=mend)
    wrong = None if line.isascii() else re.search("[\ud800-\udfff]", line)
    if wrong is not None:
        byte, place = ord(wrong[0]) - 0xDC00, wrong.start() + 1
        said = f"the line holds the byte 0x{byte:02x}, which is not UTF-8, at character {place}"
        raise ValueFault("E0921", said, help="save the file as UTF-8")
    return line


# ---- JSON lines ----------------------------------------------------------------------------------


class Twice(Exception):
    """A name that an object holds twice; ends the parse."""


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON (``object_pairs_hook``). Raises Twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        ((most, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise Twice(most)
    return found


def _constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _decoder() -> Callable[[str], Any]:
    import json

    return json.JSONDecoder(object_pairs_hook=without_twins, parse_constant=_constant).decode


def _parsed(decode: Callable[[str], Any], line: str) -> Any:
    try:
        return decode(line)
    except Twice as twice:
        raise ValueFault(
            "E0924", f"the field {shown(str(twice))} stands twice", help="keep one of them"
        ) from None
    except (ValueError, RecursionError, MemoryError) as fault:
        raise _not_json(fault) from None


def _checked_id(value: Any) -> Any:
    if value.__class__ in (dict, list) or (value.__class__ is float and value - value != 0):
        raise ValueFault("E0923", "id: neither text nor a number", help='like "id": "first"')
    if value.__class__ is int and value.bit_length() > 1024:
        raise ValueFault("E0923", "id: the number is too long", help="write it as text")
    return value


def _not_json(fault: Exception) -> Fault:
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


def _check_header(columns: list[str], values: Fields) -> None:
    seen: set[str] = set()
    for name in columns:
        if name in seen and (name == "id" or values.wanted(name)):
            raise ValueFault(
                "E0924", f"the column {shown(name)} stands twice", help="keep one of them"
            )
        seen.add(name)
    if not any(_NAME.match(name) for name in columns):
        mend = "the first line names the columns: id,a,b"
        raise ValueFault("E0925", "no cell of it is a name of a variable", help=mend)


def _cells(line: str) -> list[str]:
    """The cells of one line. The csv module is asked only where quotes need it."""
    if '"' not in line and "\r" not in line:
        return line.split(",")
    import csv

    if csv.field_size_limit() < lines.LINE_LIMIT:
        csv.field_size_limit(lines.LINE_LIMIT)
    alone = line.count('"') % 2
    try:
        cells = next(csv.reader([line], strict=True, skipinitialspace=True))
        if not alone:
            return cells
        raise csv.Error("a quote stands alone: a cell of the line before may end here")
    except csv.Error as fault:
        message, help = str(fault), 'quote a list: "1,2,3"'
        if "end of data" in message:
            message = "a quoted cell does not end on its line"
        if alone:
            help = "each line is a row: no cell holds a line break"
        elif "new-line" in message:
            message = "a carriage return stands inside the line"
        raise ValueFault("E0925", message, help=help) from None


def _fill_from_csv(row: Row, cells: list[str], columns: list[str], values: Fields, id: str) -> None:
    if id in columns[: len(cells)]:
        row.id = cells[columns.index(id)]
    if len(cells) != len(columns):
        said = f"the row has {len(cells)} cells; the header names {len(columns)}"
        mend = 'quote a list that holds commas: "1,2,3"' if len(cells) > len(columns) else None
        raise ValueFault("E0925", said, help=mend)
    for name, cell in zip(columns, cells, strict=True):
        if values.wanted(name):
            row.values[name] = values.text(name, cell)
