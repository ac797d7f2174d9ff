"""Values from files: ``@a.npy``, ``@a.npz:key``, ``@a.csv``, ``@a.csv:column`` and ``@-``.

Files are data. Nothing is unpickled, evaluated or fetched; what a header claims is checked against
the limit and against the file before memory is taken for it.

A text file (CSV, TSV, columns parted by blanks, or JSON lists) gives a matrix, row by row; one
column, or one row without a header, gives a vector; a single number a scalar. Lines that are empty
or begin with ``#`` are skipped. A first row with a cell that is no number names the columns.
"""

from __future__ import annotations

import ast
import difflib
import math
import os
import re
import stat
import struct
import warnings
import zlib
from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np

from gradcli.language.values.arrays import finite, from_json, read_array
from gradcli.language.values.reader import NUMBERISH, Reader, ValueFormFault, check_bytes, items
from gradcli.ops.errors import Fault

_SUFFIX = re.compile(r"(.+?\.(npy|npz|csv|tsv|txt|dat|json))(?::(.*))?\Z", re.I | re.S)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_NPY_MAGIC = b"\x93NUMPY"
_NPY_HEADER_LIMIT = 10_000
_INF = float("inf")
_LONG_LINE = 1 << 16
_NAME = re.compile(r"[^\W\d]|[^\w\d]+[^\W\d]")
_MISSING = re.compile(
    r"(n/?a|null|none|nil|missing|true|false|#(n/a|null!|num!|ref!|value!|div/0!|name\?))(\W|\Z)",
    re.I,
)
"""What stands in place of a number, in a first row too; a spreadsheet's is no comment."""
_CELL = 88
"""Bytes that a cell of a long line takes: in the line and in the file, as a text, as a number."""


class _Trouble(Exception):
    """What is wrong with a file, before it is known where the user named it."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


def read_file(reader: Reader, start: int, end: int) -> np.ndarray:
    """The array that ``text[start:end]``, which begins with ``@``, names."""
    name = reader.text[start + 1 : end]
    try:
        if not reader.allow_files:
            raise _Trouble("files are not read here", "give the numbers themselves")
        if name == "-" or name.startswith("-:"):
            return _from_stdin(reader, name[2:] or None)
        return _from_path(reader, name)
    except _Trouble as trouble:
        raise reader.fault("E0904", str(trouble), start, end, trouble.help) from None


def _from_path(reader: Reader, name: str) -> np.ndarray:
    if _URL.match(name):
        raise _Trouble("URLs are not read", "download the file, and name that")
    if not name:
        raise _Trouble("the file name is missing", "@points.csv, or @- for standard input")
    match = _SUFFIX.match(name)
    if not match:
        said = f"{_shown(name)}: this kind of file is not read"
        raise _Trouble(said, "npy, npz, csv, tsv, txt, dat or json; @- for standard input")
    path, suffix, part = match[1], match[2].lower(), match[3]
    if suffix in ("npy", "json") and part is not None:
        raise _Trouble(f"a .{suffix} file has no parts to name", f"@{_shown(path)}")
    place = os.path.join(reader.base_dir or "", os.path.expanduser(path))
    if os.name == "nt" and re.match(r"[\\/]{2}", place):
        raise _Trouble("network paths are not read", "copy the file, and name that")
    shown = _shown(path)
    try:
        info = os.stat(place)
        if not stat.S_ISREG(info.st_mode):
            raise _Trouble(f"{shown} is not a regular file", "@- for standard input")
        check_bytes(info.st_size, 1, reader.max_bytes)
        with open(place, "rb") as stream:
            if suffix == "npy":
                return _read_npy(stream, info.st_size, shown, reader.max_bytes)
            if suffix == "npz":
                return _read_npz(stream, shown, part, reader.max_bytes)
            lists = part is None and suffix in ("txt", "dat") and stream.peek(1)[:1] == b"["
            if suffix == "json" or lists:
                return _from_text(_decoded(stream.read(), shown), shown, None, reader)
            return _table(_lines(stream, shown), shown, part, reader.max_bytes)
    except FileNotFoundError:
        raise _Trouble(f"there is no file {shown}", _nearest_file(place)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, Fault):
            raise
        reason = getattr(error, "strerror", None) or "it cannot be opened"
        raise _Trouble(f"{shown}: {reason.lower()}") from None


def _shown(name: str) -> str:
    """A file name with nothing in it that a terminal would act on."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in name)


def _nearest_file(place: str) -> str | None:
    folder, name = os.path.split(place)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return f"there is no folder {_shown(folder)}"
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean @{_shown(os.path.join(folder, near[0]))}?" if near else None


# -- NumPy's formats ----------------------------------------------------------------------------


def npy_header(stream) -> tuple[tuple[int, ...], bool, np.dtype]:
    """The shape in the header of an NPY file, whether columns come first, and the dtype.

    Leaves the stream at the data. Raises ValueError for what is no such header.
    """
    head = stream.read(8)
    if head[:6] != _NPY_MAGIC or len(head) < 8 or head[6] not in (1, 2, 3):
        raise ValueError("it is not an NPY file")
    length = int.from_bytes(stream.read(2 if head[6] == 1 else 4), "little")
    if length > _NPY_HEADER_LIMIT:
        raise ValueError(f"its header is longer than {_NPY_HEADER_LIMIT} bytes")
    text = stream.read(length).decode("utf-8" if head[6] == 3 else "latin-1")
    try:
        with warnings.catch_warnings():  # Python's, of how the text is written
            warnings.simplefilter("ignore")
            header = ast.literal_eval(text.strip())  # a literal is read, and nothing evaluated
        shape, columns_first = header["shape"], header["fortran_order"]
        dtype = np.lib.format.descr_to_dtype(header["descr"])
    except (ValueError, TypeError, LookupError, SyntaxError, MemoryError, RecursionError):
        raise ValueError("its header does not describe an array") from None
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which only pickle reads")
    if type(shape) is not tuple or type(columns_first) is not bool:
        raise ValueError("its header does not describe an array")
    if len(shape) > 32 or not all(type(n) is int and 0 <= n < 10**18 for n in shape):
        raise ValueError("its header claims an impossible shape")
    return shape, columns_first, dtype


def _read_npy(stream, available: int, shown: str, max_bytes: int) -> np.ndarray:
    """One array in NPY format, of which `available` bytes can be read."""
    try:
        shape, columns_first, dtype = npy_header(stream)
    except ValueError as error:
        raise _Trouble(f"{shown}: {error}") from None
    kind, itemsize = dtype.kind, dtype.itemsize
    if (kind, itemsize) not in _NPY_TYPES:
        raise _Trouble(f"{shown} holds {dtype}, which are not numbers read here")
    count = math.prod(shape)
    copies = 1 if dtype.isnative else 2
    check_bytes(count, max(itemsize * copies, 8), max_bytes)
    if stream.tell() + count * itemsize > available:
        raise _Trouble(f"{shown} ends before the {items(count)} that its header claims")
    data = bytearray(count * itemsize)
    space = memoryview(data)
    for start in range(0, len(data), _PIECE):
        piece = space[start : start + _PIECE]
        if stream.readinto(piece) != len(piece):
            raise _Trouble(f"{shown} ends before the {items(count)} that its header claims")
    layout: Literal["F", "C"] = "F" if columns_first else "C"
    if kind == "b":  # a byte other than 0 and 1 would be a bool that is neither
        return (np.frombuffer(data, np.uint8) != 0).reshape(shape, order=layout)
    return (
        np.frombuffer(data, dtype)
        .reshape(shape, order=layout)
        .astype(dtype.newbyteorder("="), copy=False)
    )


# Read at once: a packed array is held a second time while it unpacks, and no limit is looked at.
_PIECE = 1 << 20
_NPY_TYPES = {("b", 1), ("f", 2), ("f", 4), ("f", 8), ("c", 8), ("c", 16)} | {
    (kind, size) for kind in "iu" for size in (1, 2, 4, 8)
}


def _read_npz(stream, shown: str, key: str | None, max_bytes: int) -> np.ndarray:
    import zipfile  # needed for .npz only, slow to load

    broken = (
        zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, EOFError, RuntimeError,
        LookupError, OverflowError,
    )  # fmt: skip
    try:
        with zipfile.ZipFile(stream) as archive:
            members = {info.filename: info for info in archive.infolist()}
            keys = [name[:-4] for name in members if name.endswith(".npy")]
            if not key:
                if len(keys) != 1:
                    raise _Trouble(
                        f"{shown} holds {items(len(keys))}", f"@{shown}:KEY, with {_listed(keys)}"
                    )
                key = keys[0]
            if key not in keys:
                raise _Trouble(f"{shown} has no array {_shown(key)}", f"it has {_listed(keys)}")
            if [info.filename for info in archive.infolist()].count(key + ".npy") > 1:
                raise _Trouble(f"{shown} holds {_shown(key)} twice")
            info = members[key + ".npy"]
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _Trouble(f"{shown} is packed in a way that NumPy does not use")
            check_bytes(info.file_size, 1, max_bytes)
            with archive.open(info) as member:
                return _read_npy(member, info.file_size, f"{shown}:{_shown(key)}", max_bytes)
    except broken as error:
        if isinstance(error, Fault):
            raise
        raise _Trouble(f"{shown} is not a sound NPZ file") from None


def _listed(names: list[str]) -> str:
    shown = ", ".join(_shown(name) for name in names[:8])
    return (shown + ", ..." if len(names) > 8 else shown) or "none"


# -- text ---------------------------------------------------------------------------------------


def _from_stdin(reader: Reader, part: str | None) -> np.ndarray:
    if reader.stdin is None:
        raise _Trouble("standard input is not read here")
    stream = getattr(reader.stdin, "buffer", reader.stdin)
    data = stream.read(reader.max_bytes + 1)
    check_bytes(len(data), 1, reader.max_bytes)
    text = data if isinstance(data, str) else _decoded(data, "standard input")
    return _from_text(text, "standard input", part, reader)


def _decoded(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Trouble(f"{shown}: byte {error.start} is not UTF-8 text") from None


def _lines(stream: Iterable[bytes], shown: str) -> Iterator[str]:
    for number, line in enumerate(stream):
        try:
            text = line.decode("utf-8-sig" if number == 0 else "utf-8")
        except UnicodeDecodeError:
            raise _Trouble(f"{shown} line {number + 1} is not UTF-8 text") from None
        yield text


def _from_text(text: str, shown: str, part: str | None, reader: Reader) -> np.ndarray:
    """JSON lists, a record of ``--json``, a list as on the command line, or a table."""
    body = text.strip()
    if not body:
        raise _Trouble(f"{shown} is empty")
    if body[0] == "{":
        return _from_record(body, shown)
    if part is None and body[0] == "@" and ";" in body and "\n" not in body:
        raise _Trouble(f"{shown}: files are not read here", "give the numbers themselves")
    if part is None and (body[0] == "[" or ("\n" not in body and ("," in body or ";" in body))):
        inner = Reader(body, max_bytes=reader.max_bytes)
        try:
            return read_array(inner, 0, len(body), np.dtype(np.float64))
        except ValueFormFault as fault:
            if body[0] == "[" or ";" in body:
                raise _Trouble(f"{shown}: {fault.message}", fault.help) from None
    return _table(text.split("\n"), shown, part, reader.max_bytes)


def _from_record(body: str, shown: str) -> np.ndarray:
    import json  # needed for .json only

    wrong = f"{shown}: not a record with numbers under data"
    try:
        record = json.loads(body, parse_float=finite, parse_constant=str)
        record = record.get("value", record)
        return from_json({"data": record["data"], **record})
    except OverflowError as number:
        said = f"{shown}: {str(number)[:20]} is too large for float64"
        raise _Trouble(said, "write Infinity") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _Trouble(wrong, '{"data": [1, 2, 3]}') from None


def _table(lines: Iterable[str], shown: str, part: str | None, max_bytes: int) -> np.ndarray:
    """Rows of cells; `part` chooses one column, by its header or its index from 0."""
    import array  # the name of many variables here

    values = array.array("d")
    split = header = column = None
    width = rows = 0
    for number, line in enumerate(lines, 1):
        line = line.strip("\r\n")
        if not line.strip() or (line.lstrip()[0] == "#" and not _MISSING.match(line.lstrip())):
            continue
        if split is None:
            split = _splitter(line)
        if len(line) > _LONG_LINE:
            check_bytes(1 + max(map(line.count, ",;\t ")), _CELL, max_bytes)
        cells = split(line)
        if not width:
            width = len(cells)
            if _is_header(cells):
                header = [cell.strip() for cell in cells]
            column = _column(part, header, width, shown)
            if header is not None:
                continue
        if len(cells) != width:
            mend = "no cell holds a line break" if line.count('"') % 2 else None
            said = f"{shown} line {number} has {items(len(cells))}; the first has {width}"
            raise _Trouble(said, mend)
        wanted = cells if column is None else cells[column : column + 1]
        try:
            values.extend(map(float, wanted))  # no list of numbers beside the texts
        except ValueError:
            bad = next(index for index, cell in enumerate(wanted) if not _is_number(cell))
            where = f"{shown} line {number}, column {(column or 0) + bad + 1}"
            what = "is not a number" if wanted[bad].strip() else "is empty"
            raise _Trouble(f"{where} {what}", "write nan for a missing value") from None
        row = values[-len(wanted) :]
        if _INF in row or -_INF in row:
            for index, (cell, value) in enumerate(zip(wanted, row, strict=True)):
                if abs(value) == _INF and "n" not in cell.lower():  # digits, no infinity
                    where = f"{shown} line {number}, column {(column or 0) + index + 1}"
                    raise _Trouble(f"{where} is too large for float64", "write inf for infinity")
        rows += 1
        check_bytes(len(values), 8, max_bytes)
    if not rows:
        raise _Trouble(f"{shown} holds no numbers")
    result = np.frombuffer(values)
    if column is not None or width == 1:
        return result.reshape(()) if rows == 1 and header is None and part is None else result
    return result if rows == 1 and header is None else result.reshape(rows, width)


def _splitter(line: str):
    """How to cut lines like this first one into cells."""
    mark = next((mark for mark in ",;\t" if mark in line), None)
    if mark is None:
        return str.split
    return lambda text: _quoted(text, mark) if '"' in text else text.split(mark)


def _quoted(line: str, mark: str) -> list[str]:
    import csv  # needed for quoted cells only

    try:
        return next(csv.reader([line], delimiter=mark, strict=True))
    except csv.Error:
        return line.split(mark)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_header(cells: list[str]) -> bool:
    """Whether a first row names the columns, and is not data with a slip such as ``2o`` in it."""
    names = [cell.strip() for cell in cells if cell.strip() and not _is_number(cell)]
    known = any(_NAME.match(name) and not _MISSING.fullmatch(name) for name in names)
    return known and not any(map(NUMBERISH.match, names))


def _column(part: str | None, header: list[str] | None, width: int, shown: str) -> int | None:
    if not part:
        return None
    if header is not None and part in header:
        if header.count(part) > 1:
            raise _Trouble(f"{shown} has several columns {_shown(part)}", "its index, from 0")
        return header.index(part)
    if re.fullmatch(r"-?\d{1,9}", part) and -width <= int(part) < width:
        return int(part) % width
    if header is None:
        raise _Trouble(
            f"{shown} has no column {_shown(part)}", f"it has no header; columns 0 to {width - 1}"
        )
    raise _Trouble(f"{shown} has no column {_shown(part)}", f"it has {_listed(header)}")
