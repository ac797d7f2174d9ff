"""The file that a batch writes, in any of its forms: it appears whole, by rename, at the end.

Until then it is called ``FILE.gradcli-partial`` (beside what FILE leads to where it is a link),
which one run at a time may write to; what a killed run left of that is written over. A pipe or a
device is written to as it is. Rows that failed stand in ``FILE.errors.jsonl`` where the form has no
place for errors.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from gradcli.batch.columns import arrow, need_arrow
from gradcli.batch.encode import MISFIT, Result, csv_header, error_line, fitting, unpack
from gradcli.ops.errors import ValueFault

ROW_GROUP = 1 << 16
"""Rows that are written at once, and of a row group of a Parquet file."""
_PARTIAL = ".gradcli-partial"


class Output:
    """Lines, to a file or a stream.

    form    ``jsonl`` or ``csv``
    path    None for a stream
    names   of the gradients that a table has a column for
    """

    def __init__(
        self, form: str, path: str | None, names: Sequence[str], with_id: bool,
        stream: BinaryIO | None = None, error_stream: BinaryIO | None = None,
    ) -> None:  # fmt: skip
        self.form = form
        self.path = path
        self.names = list(names)
        self.with_id = with_id
        self.lasting = False
        """Whether the disk is told to keep the files before they appear."""
        self._errors: BinaryIO | None = None
        self._error_stream = error_stream
        self.file = self._opened(path) if stream is None else stream
        self.begin()

    def _opened(self, path: str | None) -> BinaryIO:
        name = path or ""
        try:
            if os.path.isfile(name) or not os.path.exists(name):
                target = os.path.realpath(name) if os.path.islink(name) else name  # the link stays
                return _of_this_run(target + _PARTIAL)
            return open(name, "wb")
        except OSError as problem:
            said = f"cannot write {path}: {problem.strerror or problem}"
            raise ValueFault("E0904", said) from None

    def begin(self) -> None:
        """Write what stands before the first row."""
        if self.form == "csv":
            self.file.write(csv_header(self.names, self.with_id).encode())

    def fitted(self, result: Result) -> Result:
        """The result as this form can take it."""
        return result

    def write(self, result: Result) -> None:
        """Add records."""
        self.file.write(result.body)
        self.write_errors(result.errors)

    def write_errors(self, lines: bytes) -> None:
        """Add errors that have no place among the records."""
        if not lines:
            return
        if self.path is None:
            if self._error_stream is not None:
                self._error_stream.write(lines)
            return
        if self._errors is None:
            self._errors = self._opened(f"{self.path}.errors.jsonl")
        self._errors.write(lines)

    def flush(self) -> None:
        """Hand on what was written, to a stream that somebody may be reading."""
        if self.path is None:
            self.file.flush()

    def end(self) -> None:
        """Write what stands behind the last row."""

    def finish(self) -> None:
        """Let the file appear."""
        self.end()
        if self.path is None:
            self.file.flush()
            return
        said = f"{self.path}.errors.jsonl"
        if self._errors is None:
            with contextlib.suppress(OSError):  # of an earlier run
                os.unlink(said)
        else:
            self._settle(self._errors)
        self._settle(self.file)

    def _settle(self, file: BinaryIO) -> None:
        file.flush()
        if self.lasting:
            with contextlib.suppress(OSError):  # a pipe or a device has nothing to keep
                os.fsync(file.fileno())
        if file.name.endswith(_PARTIAL):  # while it is open, so that no other run can have it
            os.replace(file.name, file.name.removesuffix(_PARTIAL))
        file.close()

    def abandon(self) -> None:
        """Leave no half file behind."""
        for file in (self.file, self._errors):
            if self.path is not None and file is not None and not file.closed:
                if file.name.endswith(_PARTIAL):
                    with contextlib.suppress(OSError):
                        os.unlink(file.name)
                with contextlib.suppress(OSError):
                    file.close()


def _of_this_run(name: str) -> BinaryIO:
    """The file ``name``, emptied, which no other run writes to. Raises OSError where one does, or
    where the name is a link."""

    def created(path: str, flags: int) -> int:
        return os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)

    while True:
        file = open(name, "r+b", opener=created)  # noqa: SIM115
        try:
            lock(file)
            status = os.fstat(file.fileno())
            if status.st_nlink > 1:
                raise FileExistsError(errno.EEXIST, f"{name} is a link")
            if os.path.samestat(status, os.lstat(name)):
                file.truncate()
                return file
        except FileNotFoundError:  # it was renamed meanwhile, at the end of another run
            pass
        except BaseException:
            file.close()
            raise
        file.close()


def lock(file: BinaryIO) -> None:
    """Keep other runs from a file until it is closed. Raises BlockingIOError where one has it."""
    try:
        import fcntl  # not on Windows
    except ImportError:
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of this process, not of its workers
    except (BlockingIOError, PermissionError):
        raise BlockingIOError(errno.EAGAIN, "another run is writing it") from None


class TableOutput(Output):
    """Arrays, as NPZ, NPY or Parquet: every column has one shape and dtype, those of the first row
    that succeeded. Columns are kept in files without a name until all rows are there."""

    def begin(self) -> None:
        """Nothing is known of the columns yet."""
        self.columns = ["value", *(f"d_{n}" for n in self.names)]
        self.rows = 0
        self.types: dict[str, np.dtype] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.unknown = 0  # rows that failed before one succeeded
        self.spools: dict[str, BinaryIO] = {}
        self.width = 1  # of the longest id

    def fitted(self, result: Result) -> Result:
        """The result, with an error for each row whose arrays are none of this table."""
        groups, about = _groups(result)
        if groups and not self.shapes:
            _, first = min(groups, key=lambda g: int(g[0].min()))
            for name in self.columns:
                array = first.get(name, np.empty(0))
                floats = name != "value" or array.dtype.kind in "fc"
                self.types[name] = array.dtype if floats else np.dtype(np.float64)
                self.shapes[name] = array.shape[1:]
        known = {place for place, _ in result.failed}
        wrong = [
            place for places, arrays in groups
            for place in places[~self._fitting(arrays)].tolist() if place not in known
        ]  # fmt: skip
        if not wrong:
            return result
        said = dict(zip(result.failed, result.errors.splitlines(True), strict=True))
        for place in wrong:
            row = int(about["row"][place]) if "row" in about else result.first + place
            id = str(about["id"][place]) if "id" in about else None
            said[place, row] = error_line(row, id, MISFIT).encode()
        return Result(
            result.first, result.count, result.records, sorted(said), result.body,
            b"".join(said[key] for key in sorted(said)), result.seal,
        )  # fmt: skip

    def _fitting(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """Which rows of a group this table can hold."""
        names = arrays.keys() & self.shapes.keys()
        fits = [fitting(arrays[n], self.shapes[n], self.types[n]) for n in names]
        return np.all(fits, axis=0)  # type: ignore[no-any-return]

    def write(self, result: Result) -> None:
        """Add records to the columns."""
        groups, about = _groups(result)
        self.rows += result.records
        if self.with_id:
            ids = about["id"].tolist()
            self.width = max(self.width, *map(len, ids), 1)
            self._spool("id").write("".join(json.dumps(id) + "\n" for id in ids).encode())
        if not self.shapes:
            self.unknown += result.records
        else:
            self._fill()
            fits = [self._fitting(arrays) for _, arrays in groups]
            for name in self.columns:
                column = self._lost(name, result.records)
                for (places, arrays), good in zip(groups, fits, strict=True):
                    if name in arrays and good.any():
                        column[places[good]] = arrays[name][good]
                self._spool(name).write(column.tobytes())
        self.write_errors(result.errors)

    def _spool(self, name: str) -> BinaryIO:
        if name not in self.spools:
            folder = os.path.dirname(os.path.abspath(self.path or "."))
            self.spools[name] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        return self.spools[name]

    def _lost(self, name: str, count: int) -> np.ndarray:
        return np.full((count, *self.shapes[name]), np.nan, self.types[name])

    def _fill(self) -> None:
        """Write the rows that failed before the columns were known."""
        for name in self.columns:
            self._spool(name).write(self._lost(name, self.unknown).tobytes())
        self.unknown = 0

    def _parts(self, name: str) -> Iterator[np.ndarray]:
        """A column again, some rows at a time; one part at least."""
        spool, left = self._spool(name), self.rows
        spool.seek(0)
        while True:
            count = min(ROW_GROUP, left)
            if name == "id":
                texts = [json.loads(line) for line in itertools.islice(spool, count)]
                yield np.array(texts, dtype=f"U{self.width}")
            else:
                part = np.empty((count, *self.shapes[name]), self.types[name])
                spool.readinto(part.reshape(-1).view(np.uint8))  # type: ignore[attr-defined]
                yield part
            left -= count
            if not left:
                return

    def end(self) -> None:
        """Join the columns."""
        for name in self.columns:
            self.shapes.setdefault(name, ())
            self.types.setdefault(name, np.dtype(np.float64))
        self._fill()
        names = [*(["id"] if self.with_id else []), *self.columns]
        types = {"id": np.dtype(f"U{self.width}"), **self.types}
        if self.form == "npz":
            with zipfile.ZipFile(self.file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                for name in names:
                    info = zipfile.ZipInfo(f"{name}.npy")  # its date is fixed: the same bytes
                    with archive.open(info, "w", force_zip64=True) as member:
                        shape = (self.rows, *self.shapes.get(name, ()))
                        _npy_head(member, shape, types[name])
                        for part in self._parts(name):
                            member.write(part.tobytes())
            return
        parts = zip(*map(self._parts, names), strict=True)
        if self.form == "npy":
            whole = np.dtype([(name, types[name], self.shapes.get(name, ())) for name in names])
            _npy_head(self.file, (self.rows,), whole)
            for columns in parts:
                table = np.empty(len(columns[0]), whole)
                for name, column in zip(names, columns, strict=True):
                    table[name] = column
                self.file.write(table.tobytes())
            return
        import pyarrow.parquet  # slow to load

        writer: Any = None
        for columns in parts:
            group = arrow().table(dict(zip(names, map(_arrow_column, columns), strict=True)))
            writer = writer or pyarrow.parquet.ParquetWriter(self.file, group.schema)
            writer.write_table(group, row_group_size=ROW_GROUP)
        writer.close()


def _groups(result: Result) -> tuple[list[tuple[np.ndarray, dict]], dict[str, np.ndarray]]:
    """The arrays of a result by the places of their records; the ids and numbers of all records."""
    groups = unpack(result.body)
    about = next((arrays for _, arrays in groups if "value" not in arrays), {})
    return [group for group in groups if "value" in group[1]], about


def _npy_head(file: Any, shape: tuple[int, ...], dtype: np.dtype) -> None:
    head = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(file, head)


def _arrow_column(array: np.ndarray) -> Any:
    """An array as a column of pyarrow: texts, numbers, or lists of one length. Raises ValueFault
    (E0905) for what it has no column for."""
    pa = arrow()
    if array.dtype.kind == "c" or 0 in array.shape[1:]:
        what = "complex numbers" if array.dtype.kind == "c" else "lists without items"
        raise ValueFault("E0905", f"Parquet has no place for {what}", help="--format npz")
    if array.dtype.kind == "U":
        return pa.array(array.tolist(), pa.string())
    found = pa.array(np.ascontiguousarray(array).reshape(-1))
    for size in reversed(array.shape[1:]):
        found = pa.FixedSizeListArray.from_arrays(found, size)
    return found


def form_of(path: str | None, form: str | None) -> str:
    """The form of the output: as asked, or by the suffix of the file; else JSON lines.

    Raises ValueFault (E0907) for another form, one that only a file can have, or one that needs
    pyarrow where it is not installed.
    """
    known = {"jsonl", "csv", "npz", "npy", "parquet"}
    if form is not None and form not in known:
        raise ValueFault("E0907", f"--format {form}: jsonl, csv, npz, npy or parquet")
    suffix = os.path.splitext(path or "")[1][1:].lower()
    chosen = form or ({"json": "jsonl", "ndjson": "jsonl"}.get(suffix, suffix))
    if chosen not in known:
        if chosen:
            said = "the suffixes are .jsonl, .csv, .npz, .npy and .parquet"
            warnings.warn(f"-o {path}: {said}; these are JSON lines", stacklevel=2)
        chosen = "jsonl"
    if chosen not in ("jsonl", "csv") and path is None:
        raise ValueFault("E0907", f"--format {chosen} writes a file", help=f"-o out.{chosen}")
    if chosen == "parquet":
        need_arrow("Parquet")
    return chosen


def open_output(
    form: str, path: str | None, names: Sequence[str], with_id: bool,
    stream: BinaryIO | None = None, error_stream: BinaryIO | None = None,
) -> Output:  # fmt: skip
    """The output of a form."""
    kind = Output if form in ("jsonl", "csv") else TableOutput
    return kind(form, path, names, with_id, None if path is not None else stream, error_stream)
