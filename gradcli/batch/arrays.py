"""Rows from arrays, in memory or in a file: NPY, NPZ and Parquet, cut into chunks.

Columns that no program reads may hold anything: only those that are asked for are read.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.batch.chunk import Chunk
from gradcli.batch.columns import arrow, need_arrow
from gradcli.batch.fields import shown
from gradcli.batch.lines import LineSource
from gradcli.language.values.files import npy_header
from gradcli.language.values.reader import MAX_BYTES, check_bytes
from gradcli.ops.errors import Fault, LimitFault, ValueFault

ARRAY_ROWS = 1 << 15
"""Rows of a chunk of arrays."""
KINDS = {"b": "boolean", "i": "number", "u": "number", "f": "number", "c": "complex", "U": "text",
         "S": "text"}  # fmt: skip
"""What a column is, by the kind of its dtype; any other is ``unreadable``."""

Slices = Callable[[Sequence[str]], Iterator[tuple[int, dict[str, np.ndarray]]]]


class ArraySource:
    """Rows from arrays (rows, ...) by name.

    slices   the rows of named columns in parts: how many, and their arrays
    columns  what each column is, see ``KINDS``
    total    rows altogether
    """

    form = "arrays"
    header = None
    stream: Any = None
    pending = True

    def __init__(self, slices: Slices, columns: Mapping[str, str], total: int) -> None:
        self.slices = slices
        self.columns = dict(columns)
        self.total = total
        self.rows = 0
        self.ended = not total
        self.chosen = [n for n, kind in columns.items() if kind != "unreadable"]
        self._parts: Any = None
        self._held: dict[str, np.ndarray] = {}
        self._count = 0

    def choose(self, names: Sequence[str]) -> None:
        """Read these columns only."""
        self.chosen = list(names)

    def seal(self) -> None:
        """A file of arrays is known by its whole."""

    @property
    def done(self) -> float:
        """The share of the rows that was taken."""
        return self.rows / self.total if self.total else 1.0

    def wants(self) -> bool:
        """There is nothing to wait for."""
        return False

    def can_wait(self) -> bool:
        """There is nothing to wait for."""
        return False

    def read(self) -> None:
        """There is nothing to wait for."""

    def cut(self, size: int) -> Chunk | None:
        """The next rows; ``size`` in bytes, as for lines."""
        if self._parts is None:
            self._parts = self.slices(self.chosen)
        if not self._count:
            self._count, self._held = next(self._parts)
            if not self._count:
                return None
        width = sum(a[:1].nbytes for a in self._held.values()) or 8
        most = max(1, min(ARRAY_ROWS, size // width, self._count))
        chunk = Chunk(self.rows + 1, most, {n: a[:most] for n, a in self._held.items()})
        self._pass(most)
        return chunk

    def _pass(self, rows: int) -> None:
        """Go on behind so many rows of the part."""
        self._held = {n: a[rows:] for n, a in self._held.items()}
        self._count -= rows
        self.rows += rows
        self.ended = self.rows >= self.total

    def skip(self, rows: int, seal: str) -> bool:
        """Pass over rows; False where there are fewer."""
        goal = self.rows + rows
        while self.rows < goal and not self.ended:
            if not self._count:
                self.cut(1)  # the next part
                continue
            self._pass(min(goal - self.rows, self._count))
        return self.rows == goal


Source = LineSource | ArraySource


# ---- Arrays in memory ----------------------------------------------------------------------------


def array_source(table: Any, columns: Sequence[str] | None = None, what: str = "the table") -> (
    ArraySource
):  # fmt: skip
    """The rows of what ``columns_by_name`` takes."""
    arrays = columns_by_name(table, columns, what)
    total = len(next(iter(arrays.values()))) if arrays else 0

    def slices(names: Sequence[str]) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        for at in range(0, total, ARRAY_ROWS):
            end = min(at + ARRAY_ROWS, total)
            yield end - at, {name: plain(arrays[name][at:end], name) for name in names}

    return ArraySource(slices, kinds_of(arrays), total)


def columns_by_name(
    table: Any, columns: Sequence[str] | None = None, what: str = "the table"
) -> dict[str, Any]:
    """The columns of a table by name: a dict of arrays, a structured array, a table of pyarrow, a
    data frame, or a plain array whose ``columns`` are named.

    Raises ValueFault (E0926) where it has no rows, or columns that differ in length.
    """
    arrays = _by_name(table, columns, what)
    lost = next((name for name, a in arrays.items() if not getattr(a, "ndim", 1)), None)
    if lost is not None:
        mend = "the first axis is the rows; give a constant with --const (in Python: const)"
        raise ValueFault("E0926", f"{what}: {lost} has no rows: its shape is ()", help=mend)
    if len(set(map(len, arrays.values()))) > 1:
        sizes = ", ".join(f"{name} {len(a):,}" for name, a in arrays.items())
        said = f"{what}: the arrays differ in their number of rows ({sizes})"
        raise ValueFault("E0926", said, help="the first axis of every array is the rows")
    return arrays


def _by_name(table: Any, columns: Sequence[str] | None, what: str) -> dict[str, Any]:
    if hasattr(table, "column_names") and hasattr(table, "combine_chunks"):  # pyarrow's
        return {name: table[name] for name in table.column_names}
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):  # a data frame
        return {str(name): _array(table[name].to_numpy()) for name in table.columns}
    if isinstance(table, Mapping):
        return {str(name): a if _is_arrow(a) else _array(a) for name, a in table.items()}
    array = np.asanyarray(table)
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim == 1 and columns is not None and len(columns) == 1:
        array = array[:, None]
    if columns is None or array.ndim != 2 or array.shape[1] != len(columns):
        said = f"{what}: an array of shape {tuple(array.shape)} has no names for its columns"
        mend = "a structured array, or --columns a,b,t with one name for each of its columns"
        raise ValueFault("E0926", said, help=mend)
    if len(set(columns)) < len(columns):
        raise ValueFault("E0926", f"{what}: a name of --columns stands twice", help="keep one")
    return {n: array[:, i] for i, n in enumerate(columns)}


def _array(column: Any) -> np.ndarray:
    """A column as an array, NaN for what is masked."""
    if hasattr(column, "mask") and hasattr(column, "filled") and column.dtype.kind in "biufc":
        own = np.complex128 if column.dtype.kind == "c" else np.float64
        return np.asarray(column.astype(own).filled(np.nan))
    return np.asarray(column)


def _is_arrow(column: Any) -> bool:
    return hasattr(column, "null_count") and hasattr(column, "type")


def kinds_of(arrays: Mapping[str, Any]) -> dict[str, str]:
    """What each column is, see ``KINDS``."""
    return {
        name: _arrow_kind(a.type) if _is_arrow(a) else KINDS.get(a.dtype.kind, "unreadable")
        for name, a in arrays.items()
    }


def plain(column: Any, name: str) -> np.ndarray:
    """A column as an array of this machine's byte order. Raises ValueFault (E0926) for a column of
    pyarrow that is none."""
    if _is_arrow(column):
        column = _from_arrow(column, name)
    return np.asarray(column).astype(column.dtype.newbyteorder("="), copy=False)


# ---- Columns of pyarrow --------------------------------------------------------------------------


def _arrow_kind(kind: Any) -> str:
    types = arrow().types
    if types.is_dictionary(kind) or _is_list(kind):
        return _arrow_kind(kind.value_type)
    if types.is_boolean(kind):
        return "boolean"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    return "number" if any(is_one(kind) for is_one in numbers) else "unreadable"


def _is_list(kind: Any) -> bool:
    types = arrow().types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _from_arrow(column: Any, name: str) -> np.ndarray:
    """Numbers, NaN for those that are missing; lists of one length; or texts."""
    pa = arrow()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if _is_list(kind):
        fixed = pa.types.is_fixed_size_list(kind)
        lengths = {kind.list_size} if fixed else set(column.value_lengths().to_pylist())
        if len(lengths) > 1 or column.null_count:
            said = f"the column {shown(name)} holds lists of different lengths"
            mend = "one length in all rows; or give the rows as JSON lines"
            raise ValueFault("E0926", said, help=mend)
        inner = _from_arrow(column.flatten(), name)
        return inner.reshape(len(column), *lengths or (0,), *inner.shape[1:])
    what = _arrow_kind(kind)
    if what == "text":
        return np.array(["" if v is None else v for v in column.to_pylist()], dtype=np.str_)
    if what == "boolean" and column.null_count:
        raise ValueFault("E0926", f"the column {shown(name)} has rows without a value")
    if pa.types.is_decimal(kind):  # pyarrow's own cast rounds twice: 96.85 to 96.85000000000001
        column = column.cast(pa.string()).cast(pa.float64())
    elif what == "number" and column.null_count:
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


# ---- Files ---------------------------------------------------------------------------------------


def open_arrays(
    form: str, path: str, columns: Sequence[str] | None, memory: int = MAX_BYTES
) -> ArraySource:
    """The rows of a file: ``npy``, ``npz`` or ``parquet``; ``memory`` bounds what is unpacked.

    Raises ValueFault (E0904) for a file that cannot be read so, (E0926) for what has no rows.
    """
    if path == "-":
        raise ValueFault("E0907", f"--{form} reads a file", help="standard input: --csv, --jsonl")
    if os.path.exists(path) and not os.path.isfile(path):  # a device may have no end
        raise ValueFault("E0904", f"cannot read {path}: it is no regular file")
    try:
        if form == "parquet":
            return _parquet(path)
        if form == "npz":
            return array_source(_npz(path, memory), None, path)
        with open(path, "rb") as file:
            found = _mapped(path, npy_header(file), file.tell(), os.stat(path).st_size)
        if found.dtype.names and columns is not None:
            raise ValueFault("E0907", f"--columns: the columns of {path} have names already")
        return array_source(found, columns, path)
    except Fault:
        raise
    except OSError as problem:
        said = problem.strerror or str(problem)
        raise ValueFault("E0904", f"cannot read {path}: {said}") from None
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as problem:
        raise ValueFault("E0904", f"{path} is no {form.upper()} file: {problem}") from None


def _npz(path: str, room: int) -> dict[str, Any]:
    """The arrays of an archive: uncompressed ones are read as they are needed, the others held,
    in at most ``room`` bytes."""
    found: dict[str, Any] = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            try:
                if name in found:
                    raise ValueError("an array of this name stands twice")
                found[name] = array = _stored(path, archive, info, room)
            except LimitFault:
                raise
            except (ValueError, zlib.error, struct.error, RuntimeError) as problem:
                raise ValueError(f"{info.filename}: {problem}") from None
            if not isinstance(array, np.memmap):
                room -= array.nbytes
    return found


def _mapped(path: str, header: Any, start: int, end: int) -> Any:
    """The array of a header whose numbers are these bytes of a file, read as they are needed."""
    shape, columns_first, dtype = header
    if not _held(header, end - start):
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", start, shape, "F" if columns_first else "C")


def _held(header: Any, most: int) -> int:
    """The bytes of an array of a header. Raises ValueError for more than ``most``."""
    shape, _, dtype = header
    size: int = math.prod(shape) * dtype.itemsize
    if size > most:
        raise ValueError("it does not hold what its header says")
    return size


def _stored(path: str, archive: Any, info: Any, room: int) -> Any:
    """The array of a member of an archive, which holds at most ``room`` bytes when unpacked."""
    with archive.open(info) as member:
        header = npy_header(member)
        offset = member.tell()
    if info.compress_type == zipfile.ZIP_STORED:
        with open(path, "rb") as file:  # behind the member's own header in the archive
            file.seek(info.header_offset + 26)
            name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
        start = info.header_offset + 30 + name + extra
        return _mapped(path, header, start + offset, start + info.file_size)
    _held(header, info.file_size - offset)
    check_bytes(math.prod(header[0]), header[2].itemsize, room)
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _parquet(path: str) -> ArraySource:
    pa = need_arrow("--parquet")
    import pyarrow.parquet  # slow to load

    try:
        file = pyarrow.parquet.ParquetFile(path)
    except pa.ArrowInvalid as problem:
        raise ValueError(str(problem).splitlines()[0]) from None
    schema = file.schema_arrow
    kinds = {name: _arrow_kind(schema.field(name).type) for name in schema.names}

    def slices(names: Sequence[str]) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        for batch in file.iter_batches(ARRAY_ROWS, columns=list(names)):
            yield batch.num_rows, {name: plain(batch[name], name) for name in names}

    return ArraySource(slices, kinds, file.metadata.num_rows)
