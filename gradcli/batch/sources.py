"""Where rows come from: lines of a stream, or arrays in a file; both are cut into chunks.

A chunk is what is sent to whoever computes: the number of its first row, how many rows there are,
and their lines, or a slice of every array. Cuts may fall anywhere: no row depends on its chunk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from gradcli.batch.columns import arrow
from gradcli.batch.fields import shown
from gradcli.batch.lines import Lines, count_of
from gradcli.ops.errors import Fault, ValueFault

LARGEST = 1 << 20
"""Bytes of a chunk of lines, unless one line is longer."""
ARRAY_ROWS = 1 << 15
"""Rows of a chunk of arrays."""


class Chunk:
    """Following rows: ``data`` is bytes, a line each, or arrays by name.

    ``seal`` tells what was read of the input until its end, where that is to be known.
    """

    __slots__ = ("count", "data", "first", "seal")

    def __init__(
        self, first: int, count: int, data: bytes | dict[str, np.ndarray], seal: str = ""
    ) -> None:
        self.first = first
        self.count = count
        self.data = data
        self.seal = seal


class LineSource:
    """Rows from lines. A CSV's first line is its header; ``columns`` are the names in it.

    Raises ValueFault (E0925) for a CSV without a header.
    """

    def __init__(self, stream: BinaryIO, form: str, size: int = 0) -> None:
        self.form = form
        self.lines = Lines(stream)
        self.total = size
        self.rows = 0
        self.sealing: Any = None
        self.header: bytes | None = None
        while form == "csv" and self.header is None:
            while not self.lines.pending and not self.lines.ended:
                self.lines.read()
            if not self.lines.pending:
                raise ValueFault(
                    "E0925", "the CSV is empty: it has no header",
                    help="the first line names the columns: id,a,b",
                )  # fmt: skip
            self.header = self.lines.take(1) or None

    def seal(self) -> None:
        """From now on note in each chunk what was read until its end."""
        self.sealing = hashlib.blake2b(self.header or b"", digest_size=16)

    @property
    def ended(self) -> bool:
        """Whether nothing more comes."""
        return self.lines.ended and not self.lines.pending

    @property
    def pending(self) -> bool:
        """Whether a chunk can be cut at once."""
        return self.lines.pending

    @property
    def done(self) -> float:
        """The share of the input that was taken; 0 where its size is not known."""
        return self.lines.taken / self.total if self.total else 0.0

    def wants(self) -> bool:
        """Whether reading more now would make a larger chunk."""
        return not self.lines.ended and self.lines.held < LARGEST

    def read(self) -> None:
        """Wait for more lines."""
        self.lines.read()

    def cut(self, size: int) -> Chunk | None:
        """The next rows, in some ``size`` bytes; None where only blank lines were left."""
        data = self.lines.take(1 if self.lines.few else min(size, LARGEST))
        if not data:
            return None
        chunk = Chunk(self.rows + 1, count_of(data), data)
        self.rows += chunk.count
        if self.sealing is not None:
            self.sealing.update(data + b"\n")
            chunk.seal = self.sealing.hexdigest()
        return chunk

    def skip(self, rows: int, seal: str) -> bool:
        """Pass over rows; False where the input was another one then."""
        while rows:
            while not self.lines.pending:
                if self.lines.ended:
                    return False
                self.lines.read()
            data = self.lines.take(LARGEST)
            if count_of(data) > rows:
                at = -1
                for _ in range(rows):
                    at = data.find(b"\n", at + 1)
                self.lines.back(data[at + 1 :])
                data = data[:at]
            if data:
                self.sealing.update(data + b"\n")
                self.rows += count_of(data)
                rows -= count_of(data)
        return not seal or bool(self.sealing.hexdigest() == seal)


class ArraySource:
    """Rows from arrays (rows, ...) by name."""

    form = "arrays"
    header = None
    lines: Any = None
    pending = True

    def __init__(self, slices: Iterator[dict[str, np.ndarray]], columns: Sequence[str],
                 total: int) -> None:  # fmt: skip
        self.slices = slices
        self.columns = list(columns)
        self.total = total
        self.rows = 0
        self.ended = not total
        self._held: dict[str, np.ndarray] = {}
        self._count = 0

    def seal(self) -> None:
        """A file of arrays is known by its whole."""

    @property
    def done(self) -> float:
        """The share of the rows that was taken."""
        return self.rows / self.total if self.total else 1.0

    def wants(self) -> bool:
        """There is nothing to wait for."""
        return False

    def read(self) -> None:
        """There is nothing to wait for."""

    def cut(self, size: int) -> Chunk | None:
        """The next rows; ``size`` in bytes, as for lines."""
        if not self._count:
            self._held = next(self.slices)
            self._count = len(next(iter(self._held.values())))
            if not self._count:
                return None
        width = sum(a[:1].nbytes for a in self._held.values()) or 8
        most = max(1, min(ARRAY_ROWS, size // width, self._count))
        chunk = Chunk(self.rows + 1, most, {n: a[:most] for n, a in self._held.items()})
        self._held = {n: a[most:] for n, a in self._held.items()}
        self._count -= most
        self.rows += most
        self.ended = self.rows >= self.total
        return chunk

    def skip(self, rows: int, seal: str) -> bool:
        """Pass over rows."""
        while rows and not self.ended:
            chunk = self.cut(1 << 30)
            if chunk is not None and chunk.count > rows:
                assert isinstance(chunk.data, dict)
                rest = {n: a[rows:] for n, a in chunk.data.items()}
                self._held = {n: np.concatenate([rest[n], self._held[n]]) for n in rest}
                self._count += chunk.count - rows
                self.rows -= chunk.count - rows
                self.ended = False
                rows = 0
            elif chunk is not None:
                rows -= chunk.count
        return not rows


Source = LineSource | ArraySource


def file_hash(path: str) -> str:
    """What a file holds, as a hash."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- Arrays in memory and in files ---------------------------------------------------------------


def array_source(table: Any, columns: Sequence[str] | None = None, what: str = "the table") -> (
    ArraySource
):  # fmt: skip
    """A dict of arrays, a structured array, an array of columns, or a table of pyarrow.

    Raises ValueFault (E0926) where it has no rows, or columns that differ in length.
    """
    arrays = table_of(table, columns, what)
    total = len(next(iter(arrays.values()))) if arrays else 0

    def slices() -> Iterator[dict[str, np.ndarray]]:
        for at in range(0, total, ARRAY_ROWS):
            yield {name: np.asarray(a[at : at + ARRAY_ROWS]) for name, a in arrays.items()}

    return ArraySource(slices(), list(arrays), total)


def table_of(
    table: Any, columns: Sequence[str] | None = None, what: str = "the table"
) -> dict[str, Any]:
    """The arrays (rows, ...) of a table by name. Raises ValueFault (E0926)."""
    arrays = _by_name(table, columns, what)
    lengths = {len(a) if np.ndim(a) else -1 for a in arrays.values()}
    if -1 in lengths:
        lost = next(name for name, a in arrays.items() if not np.ndim(a))
        raise ValueFault(
            "E0926", f"{what}: {lost} has no rows: its shape is ()",
            help="the first axis is the rows; a constant is given with --const",
        )  # fmt: skip
    if len(lengths) > 1:
        sizes = ", ".join(f"{name} {len(a):,}" for name, a in arrays.items())
        raise ValueFault(
            "E0926", f"{what}: the arrays differ in their number of rows ({sizes})",
            help="the first axis of every array is the rows",
        )  # fmt: skip
    return arrays


def _by_name(table: Any, columns: Sequence[str] | None, what: str) -> dict[str, Any]:
    if hasattr(table, "column_names") and hasattr(table, "combine_chunks"):
        return {name: _arrow_column(table[name], name) for name in table.column_names}
    if isinstance(table, Mapping):
        return {str(name): _numbers(np.asarray(a), str(name), what) for name, a in table.items()}
    array = np.asanyarray(table)
    if array.dtype.names:
        return {name: _numbers(array[name], name, what) for name in array.dtype.names}
    if columns is None or array.ndim != 2 or array.shape[1] != len(columns):
        shape = tuple(array.shape)
        raise ValueFault(
            "E0926", f"{what}: an array of shape {shape} has no names for its columns",
            help="a structured array, or --columns a,b,t with one name for each of its columns",
        )  # fmt: skip
    return {n: _numbers(array[:, i], n, what) for i, n in enumerate(columns)}


def _numbers(array: np.ndarray, name: str, what: str) -> np.ndarray:
    if array.dtype.kind not in "biufcUS":
        raise ValueFault(
            "E0926", f"{what}: {shown(name)} holds {array.dtype}, which is no number",
            help="numbers, booleans, or text for --id",
        )  # fmt: skip
    if array.dtype.kind in "US":
        return array
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _arrow_column(column: Any, name: str) -> np.ndarray:
    """A column of pyarrow: numbers, or lists of one length."""
    pa = arrow()
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else (
            pa.array([], column.type)
        )  # fmt: skip
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        import pyarrow.compute  # slow to load

        lengths = set(pyarrow.compute.list_value_length(column).to_pylist())
        if len(lengths) > 1 or None in lengths:
            raise ValueFault(
                "E0926", f"the column {shown(name)} holds lists of different lengths",
                help="one length in all rows; or give the rows as JSON lines",
            )  # fmt: skip
        inner = _arrow_column(column.flatten(), name)
        return inner.reshape(len(column), -1, *inner.shape[1:])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array(["" if v is None else v for v in column.to_pylist()], dtype=np.str_)
    if column.null_count:
        column = column.cast(pa.float64()) if pa.types.is_integer(kind) else column
        if pa.types.is_boolean(kind):
            raise ValueFault("E0926", f"the column {shown(name)} has rows without a value")
    found = column.to_numpy(zero_copy_only=False)
    return _numbers(found, name, "the table")


def open_arrays(form: str, path: str, columns: Sequence[str] | None) -> ArraySource:
    """The rows of a file: ``npy``, ``npz`` or ``parquet``.

    Raises ValueFault (E0904) for a file that cannot be read so, (E0926) for what has no rows.
    """
    if path == "-":
        raise ValueFault("E0907", f"--{form} reads a file", help="standard input: --csv, --jsonl")
    try:
        if form == "parquet":
            return _parquet(path)
        if form == "npy":
            found = np.load(path, mmap_mode="r", allow_pickle=False)
            if not isinstance(found, np.ndarray):
                raise ValueError("it is an archive of arrays: --npz")
            return array_source(found, columns, path)
        return array_source(_npz(path), None, path)
    except Fault:
        raise
    except OSError as problem:
        said = problem.strerror or str(problem)
        raise ValueFault("E0904", f"cannot read {path}: {said}") from None
    except (ValueError, EOFError, KeyError) as problem:
        raise ValueFault("E0904", f"{path} is no {form.upper()} file: {problem}") from None


def _npz(path: str) -> dict[str, Any]:
    """The arrays of an archive: uncompressed ones are read as they are needed."""
    import zipfile

    found: dict[str, Any] = {}
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as problem:
        raise ValueError(str(problem)) from None
    with archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            found[name] = _stored(path, archive, info)
    return found


MOST_COMPRESSED = 2 << 30
"""Bytes of an array that is unpacked into memory."""


def _stored(path: str, archive: Any, info: Any) -> Any:
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
            np.lib.format.read_array_header_2_0
        )  # fmt: skip
        shape, fortran, dtype = read(member)
        offset = member.tell()
    if dtype.hasobject:
        raise ValueError(f"{info.filename} holds Python objects")
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if size + offset != info.file_size:
        raise ValueError(f"{info.filename} does not hold what its header says")
    if info.compress_type == 0 and shape:
        with open(path, "rb") as file:  # behind the member's own header in the archive
            file.seek(info.header_offset + 26)
            name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
        start = info.header_offset + 30 + name + extra + offset
        if not size:
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C")
    if size > MOST_COMPRESSED:
        raise ValueError(f"{info.filename} unpacks to {size:,} bytes; the most is 2 GiB")
    with archive.open(info) as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _parquet(path: str) -> ArraySource:
    pa = arrow()
    if pa is None:
        raise ValueFault(
            "E0905", "--parquet needs pyarrow, which is not installed",
            help='pip install "gradcli[arrow]"',
        )  # fmt: skip
    import pyarrow.parquet  # slow to load

    try:
        file = pyarrow.parquet.ParquetFile(path)
    except pa.ArrowInvalid as problem:
        raise ValueError(str(problem).splitlines()[0]) from None
    names = file.schema_arrow.names

    def slices() -> Iterator[dict[str, np.ndarray]]:
        for batch in file.iter_batches(ARRAY_ROWS):
            table = pa.Table.from_batches([batch])
            yield {name: _arrow_column(table[name], name) for name in names}

    return ArraySource(slices(), names, file.metadata.num_rows)


def size_of(stream: BinaryIO) -> int:
    """The size of a regular file, 0 of anything else."""
    import stat

    try:
        found = os.fstat(stream.fileno())
    except (OSError, AttributeError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
