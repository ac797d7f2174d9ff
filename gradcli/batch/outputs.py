"""The file that a batch writes, in any of its forms: it appears whole, by rename, at the end.

Until then it is called ``FILE.partial``; what a killed run left of that is written over. A pipe or
a device is written to as it is. Rows that failed stand in ``FILE.errors.jsonl`` where the form has
no place for errors.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from gradcli.batch.columns import arrow
from gradcli.batch.encode import Result, csv_header, json_line, unpack
from gradcli.ops.errors import ValueFault

ROW_GROUP = 1 << 16
"""Rows of a row group of a Parquet file."""


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
        try:
            return open(_partial(path or ""), "w+b" if _is_file(path or "") else "wb")
        except OSError as problem:
            raise ValueFault("E0904", f"cannot write {path}: {problem.strerror}") from None

    def begin(self) -> None:
        """Write what stands before the first row."""
        if self.form == "csv":
            self.file.write(csv_header(self.names, self.with_id).encode())

    def write(self, result: Result) -> None:
        """Add records."""
        self.add(result)
        if result.errors:
            self._fail(result.errors)

    def add(self, result: Result) -> None:
        """Add the body of a result."""
        self.file.write(result.body)

    def _fail(self, lines: bytes) -> None:
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
            self._settle(self._errors, said)
        self._settle(self.file, self.path)

    def _settle(self, file: BinaryIO, path: str) -> None:
        file.flush()
        if self.lasting:
            with contextlib.suppress(OSError):  # a pipe or a device has nothing to keep
                os.fsync(file.fileno())
        file.close()
        if _is_file(path):
            os.replace(_partial(path), path)

    def abandon(self) -> None:
        """Leave no half file behind."""
        for file, name in ((self.file, self.path), (self._errors, f"{self.path}.errors.jsonl")):
            if self.path is not None and file is not None and not file.closed:
                with contextlib.suppress(OSError):
                    file.close()
                if _is_file(str(name)):
                    with contextlib.suppress(OSError):
                        os.unlink(_partial(str(name)))


def _is_file(path: str) -> bool:
    """Whether a path is a file, or can become one."""
    return os.path.isfile(path) or not os.path.exists(path)


def _partial(path: str) -> str:
    """What a file is called until it is whole."""
    return f"{path}.partial" if _is_file(path) else path


class _Table(Output):
    """Arrays: every column has one shape and dtype, those of the first row that succeeded."""

    def begin(self) -> None:
        """Nothing is known of the columns yet."""
        self.columns = ["value", *(f"d_{n}" for n in self.names)]
        self.rows = 0
        self.shapes: dict[str, tuple] = {}
        self.types: dict[str, np.dtype] = {}
        self.unknown = 0  # rows that failed before one succeeded

    def add(self, result: Result) -> None:
        """Add columns of a result."""
        groups = unpack(result.body)
        if not self.shapes:
            for _, arrays in groups:
                if "value" not in arrays:
                    continue
                for name in self.columns:
                    a = arrays.get(name, np.empty((0,)))
                    self.shapes[name] = a.shape[1:]
                    floats = name != "value" or a.dtype.kind in "fc"
                    self.types[name] = a.dtype if floats else np.dtype(np.float64)
                break
        if not self.shapes:
            self.unknown += result.records
            self.rows += result.records
            if self.with_id:
                self.place("id", self._ids(groups, result.records))
            return
        if self.unknown:
            for name in self.columns:
                self.place(name, self._lost(name, self.unknown))
            self.unknown = 0
        table = {name: self._lost(name, result.records) for name in self.columns}
        wrong: list[int] = []
        for places, arrays in groups:
            if "value" not in arrays:
                continue
            fits = all(arrays[n].shape[1:] == self.shapes[n] for n in self.columns if n in arrays)
            if not fits:
                wrong += places.tolist()
                continue
            for name in self.columns:
                if name in arrays:
                    table[name][places] = arrays[name]
        self.rows += result.records
        for name in self.columns:
            self.place(name, table[name])
        if self.with_id:
            self.place("id", self._ids(groups, result.records))
        if wrong:
            self._fail(b"".join(self._unfit(result, place) for place in sorted(wrong)))
            known = dict(result.failed)
            result.failed = sorted([*known.items(), *((p, result.first + p) for p in wrong)])

    def _unfit(self, result: Result, place: int) -> bytes:
        shape = tuple(self.shapes["value"])
        error = {
            "code": "E0912",
            "message": f"the row's results have other shapes than those before ({shape})",
            "help": "an array has one shape in all rows; --format jsonl takes any", "span": None,
        }  # fmt: skip
        record = {
            "schema": 1, "row": result.first + place, "id": None, "ok": False, "error": error,
        }  # fmt: skip
        return json_line(record).encode()

    def _lost(self, name: str, count: int) -> np.ndarray:
        return np.full((count, *self.shapes[name]), np.nan, self.types[name])

    def _ids(self, groups: list, count: int) -> np.ndarray:
        found = np.full(count, "", dtype=object)
        for places, arrays in groups:
            if "id" in arrays:
                found[places] = arrays["id"]
        return found

    def place(self, name: str, array: np.ndarray) -> None:
        """Add rows to a column."""

    def known(self) -> None:
        """See that every column has a type, where no row succeeded."""
        for name in self.columns:
            self.shapes.setdefault(name, ())
            self.types.setdefault(name, np.dtype(np.float64))
        if self.unknown:
            for name in self.columns:
                self.place(name, self._lost(name, self.unknown))
            self.unknown = 0


class ArrayOutput(_Table):
    """``npz``: an array for each column; ``npy``: a structured array of them.

    Columns are written to files without a name while rows come, and joined at the end.
    """

    def begin(self) -> None:
        """Nothing is known of the columns yet."""
        super().begin()
        folder = os.path.dirname(os.path.abspath(self.path or "."))
        self.spools: dict[str, Any] = {}
        self.folder = folder
        self.width = 1

    def place(self, name: str, array: np.ndarray) -> None:
        """Add rows to a column."""
        if name not in self.spools:
            self.spools[name] = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115
        if name == "id":
            texts = [str(v).encode("utf-8", "replace") for v in array.tolist()]
            self.width = max(self.width, *(len(str(v)) for v in array.tolist()), 1)
            for text in texts:
                self.spools[name].write(len(text).to_bytes(4, "little") + text)
            return
        self.spools[name].write(np.ascontiguousarray(array).tobytes())

    def _rows(self, name: str, most: int = 1 << 16) -> Any:
        """A column again, some rows at a time."""
        spool = self.spools.get(name)
        if spool is None:
            return
        spool.seek(0)
        if name == "id":
            left = self.rows
            while left:
                texts = [
                    spool.read(int.from_bytes(spool.read(4), "little")).decode()
                    for _ in range(min(most, left))
                ]
                left -= len(texts)
                yield np.array(texts, dtype=f"U{self.width}")
            return
        dtype, shape = self.types[name], self.shapes[name]
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        while data := spool.read(max(1, most) * size) if size else b"":
            yield np.frombuffer(data, dtype).reshape(-1, *shape)

    def end(self) -> None:
        """Join the columns."""
        self.known()
        types: list[tuple[str, Any, tuple]] = []
        if self.with_id:
            types.append(("id", np.dtype(f"U{self.width}"), ()))
        types += [(n, self.types[n], self.shapes[n]) for n in self.columns]
        if self.form == "npz":
            import zipfile

            with zipfile.ZipFile(self.file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                for name, dtype, shape in types:
                    info = zipfile.ZipInfo(f"{name}.npy")  # its date is fixed: the same bytes
                    with archive.open(info, "w", force_zip64=True) as member:
                        _npy_head(member, (self.rows, *shape), dtype)
                        for part in self._rows(name):
                            member.write(part.astype(dtype, copy=False).tobytes())
            return
        whole = np.dtype([(n, d, s) for n, d, s in types])
        _npy_head(self.file, (self.rows,), whole)
        for parts in zip(*(self._rows(n) for n, _, _ in types), strict=True):
            table = np.empty(len(parts[0]), whole)
            for (name, _, _), part in zip(types, parts, strict=True):
                table[name] = part
            self.file.write(table.tobytes())


def _npy_head(file: Any, shape: tuple, dtype: np.dtype) -> None:
    head = {
        "descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape,
    }  # fmt: skip
    np.lib.format.write_array_header_2_0(file, head)


class ParquetOutput(_Table):
    """Parquet, in row groups of one size, whatever the blocks were."""

    def begin(self) -> None:
        """Nothing is known of the columns yet."""
        super().begin()
        self.writer: Any = None
        self.held: dict[str, list[np.ndarray]] = {}

    def place(self, name: str, array: np.ndarray) -> None:
        """Add rows to a column."""
        self.held.setdefault(name, []).append(array)
        last = "id" if self.with_id else self.columns[-1]
        if name == last:
            while sum(map(len, self.held[self.columns[0]])) >= ROW_GROUP:
                self._group(ROW_GROUP)

    def _group(self, count: int) -> None:
        pa = arrow()
        columns = {}
        for name in [*(["id"] if self.with_id else []), *self.columns]:
            whole = np.concatenate(self.held.get(name) or [self._lost(name, 0)])
            self.held[name] = [whole[count:]]
            columns[name] = self._column(pa, name, whole[:count])
        table = pa.table(columns)
        if self.writer is None:
            import pyarrow.parquet  # slow to load

            self.writer = pyarrow.parquet.ParquetWriter(self.file, table.schema)
        self.writer.write_table(table, row_group_size=ROW_GROUP)

    def _column(self, pa: Any, name: str, array: np.ndarray) -> Any:
        if name == "id":
            return pa.array([str(v) for v in array.tolist()], pa.string())
        if array.ndim == 1:
            return pa.array(array)
        flat = pa.array(np.ascontiguousarray(array).reshape(-1))
        for size in reversed(array.shape[1:]):
            flat = pa.FixedSizeListArray.from_arrays(flat, size)
        return flat

    def end(self) -> None:
        """Write the rows that are left."""
        self.known()
        left = sum(map(len, self.held.get(self.columns[0], [])))
        if left or self.writer is None:
            self._group(left)
        self.writer.close()


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
        chosen = "jsonl"
    if chosen not in ("jsonl", "csv") and path is None:
        raise ValueFault("E0907", f"--format {chosen} writes a file", help=f"-o out.{chosen}")
    if chosen == "parquet" and arrow() is None:
        raise ValueFault(
            "E0905", "Parquet needs pyarrow, which is not installed",
            help='pip install "gradcli[arrow]"',
        )  # fmt: skip
    return chosen


def open_output(
    form: str, path: str | None, names: Sequence[str], with_id: bool,
    stream: BinaryIO | None = None, error_stream: BinaryIO | None = None,
) -> Output:  # fmt: skip
    """The output of a form."""
    kinds = {"npz": ArrayOutput, "npy": ArrayOutput, "parquet": ParquetOutput}
    kind = kinds.get(form, Output)
    return kind(form, path, names, with_id, None if path is not None else stream, error_stream)
