"""What became of a block of rows as bytes: JSON lines, lines of CSV, or arrays.

JSON lines: one record a row, errors in place.

    {"schema": 1, "row": 1, "id": "a", "ok": true, "value": T, "grads": {"x": T}}
    {"schema": 1, "row": 2, "id": "b", "ok": false, "error": {"code", "message", "help", "span"}}

with ``T = {"data": nested lists, "shape": [...], "dtype": ...}``. Every line is strict JSON in
printable ASCII: NaN and the infinities are strings, control characters and everything outside ASCII
are escapes, so neither a terminal nor a line-wise reader is misled by an id that a stranger chose.

CSV and arrays: the value and ``d_NAME`` for each gradient, NaN in a row that failed; its record
stands in a file of errors beside the output. A CSV is what spreadsheets open, so an id that one
would take for a formula gets an apostrophe in front.

The bytes of a number are the same with and without pyarrow: the shortest text that reads as it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli.batch.chunk import Chunk
from gradcli.batch.columns import arrow
from gradcli.batch.evaluate import Answers, Group
from gradcli.display.records import dump_json, tensor_record, write_csv
from gradcli.language.diagnostics.render import Diagnostic
from gradcli.ops.errors import Fault, ValueFault


@dataclass(eq=False, slots=True)
class Result:
    """The records of some following rows, ready to be written.

    first, count   the rows: the number of the first, and how many
    records        how many records there are; fewer where rows were left out
    failed         (place among the records, row number) of each that failed
    body           the records
    errors         lines of JSON for rows that failed, where the form has no place for them
    seal           what of the input was read until its end (``chunk.Chunk``)
    """

    first: int
    count: int
    records: int
    failed: list[tuple[int, int]]
    body: bytes
    errors: bytes = b""
    seal: str = ""

    def until(self, records: int, row: int, form: str) -> Result:
        """The first so many records of it, the last of which is of the row ``row``."""
        failed = [(place, number) for place, number in self.failed if place < records]
        if form in ("jsonl", "csv"):
            body = b"".join(self.body.splitlines(keepends=True)[:records])
        else:
            groups = []
            for places, arrays in unpack(self.body):
                kept = places < records
                if kept.any():
                    groups.append((places[kept], {name: a[kept] for name, a in arrays.items()}))
            body = _packed(groups)
        errors = b"".join(self.errors.splitlines(keepends=True)[: len(failed)])
        return Result(self.first, row - self.first + 1, records, failed, body, errors)


def encode(
    chunk: Chunk, form: str, names: Sequence[str], with_id: bool, places: Sequence[int],
    ids: Sequence[Any] | None, answers: Answers,
) -> Result:  # fmt: skip
    """The result of a chunk.

    names     of the gradients that a table has columns for
    with_id   whether a table has a column ``id``
    places    the positions in the block that have a record, in order
    ids       of all positions of the block, or None
    """
    first, count = chunk.first, chunk.count
    failed: list[tuple[int, int]] = []
    if answers.errors:
        failed = [(k, first + p) for k, p in enumerate(places) if p in answers.errors]
    records = len(places)
    at = None
    if len(places) != count:
        at = {position: k for k, position in enumerate(places)}
    errors = {
        p: error_line(first + p, None if ids is None else ids[p], answers.errors[p])
        for _, number in failed for p in (number - first,)
    }  # fmt: skip
    if form == "jsonl":
        lines = _json_lines(answers.groups, first, count, ids)
        for position, line in errors.items():
            lines[position] = line
        chosen = lines if at is None else [lines[p] for p in places]
        body = "".join(chosen).encode()
        return Result(first, count, records, failed, body, b"", chunk.seal)
    said = "".join(errors.values()).encode()
    if form == "csv":
        body = _csv(answers.groups, names, with_id, count, places, ids)
    else:
        groups = [(_moved(g.positions, at), _arrays(g, names)) for g in answers.groups]
        about: dict[str, np.ndarray] = {}
        if with_id:
            about["id"] = np.array([_text(ids[p] if ids else None) for p in places], np.str_)
        if at is not None:
            about["row"] = np.array(places, np.int64) + first
        body = _packed([*groups, (np.arange(records), about)] if about else groups)
    return Result(first, count, records, failed, body, said, chunk.seal)


def _moved(positions: np.ndarray, at: dict[int, int] | None) -> np.ndarray:
    return positions if at is None else np.array([at[p] for p in positions.tolist()], np.int64)


def error_line(number: int, id: Any, fault: Fault) -> str:
    """The record of a row that failed."""
    error = Diagnostic.of(fault).to_json()
    record = {"schema": 1, "row": number, "id": id, "ok": False, "error": error}
    return dump_json(record) + "\n"


# ---- JSON lines ----------------------------------------------------------------------------------


def _json_lines(
    groups: Sequence[Group], first: int, count: int, ids: Sequence[Any] | None
) -> list[str]:
    lines = [""] * count
    for group in groups:
        positions = group.positions.tolist()
        said = ["null"] * len(positions)
        if ids is not None:
            said = ["null" if (id := ids[p]) is None else dump_json(id) for p in positions]
        columns = [_json_texts(group.value)]
        pattern = '{{"schema": 1, "row": {}, "id": {}, "ok": true, "value": {}'
        if group.grads is not None:
            names = ", ".join(f"{json.dumps(name)}: {{}}" for name in group.grads)
            pattern += f', "grads": {{{{{names}}}}}'
            columns += [_json_texts(g) for g in group.grads.values()]
        form = (pattern + "}}\n").format
        for p, id, *texts in zip(positions, said, *columns, strict=True):
            lines[p] = form(first + p, id, *texts)
    return lines


def _json_texts(array: np.ndarray) -> list[str]:
    """The record of a number or array for each row."""
    if array.dtype.kind == "c" or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        return [dump_json(tensor_record(row)) for row in array]
    tail = f', "shape": {list(array.shape[1:])}, "dtype": "{array.dtype.name}"}}'
    if array.dtype.kind == "b":
        return [f'{{"data": {json.dumps(row)}{tail}' for row in array.tolist()]
    return [f'{{"data": {row!r}{tail}' for row in array.tolist()]


# ---- CSV -----------------------------------------------------------------------------------------


def csv_header(names: Sequence[str], with_id: bool) -> str:
    """The first line of a table."""
    return ",".join([*(["id"] if with_id else []), "value", *(f"d_{n}" for n in names)]) + "\n"


def _csv(
    groups: Sequence[Group], names: Sequence[str], with_id: bool, count: int,
    places: Sequence[int], ids: Sequence[Any] | None,
) -> bytes:  # fmt: skip
    if len(groups) == 1 and len(groups[0].value) == count and not with_id:
        return _csv_block(_csv_columns(groups[0], names))
    lost = ",".join(["nan"] * (1 + len(names))) + "\n"
    lines = [lost] * count
    for group in groups:
        block = _csv_block(_csv_columns(group, names)).decode()
        for p, line in zip(group.positions.tolist(), block.splitlines(True), strict=True):
            lines[p] = line
    if with_id:
        cells = write_csv([[ids[p] if ids else None] for p in places]).splitlines()
        return "".join([f"{id},{lines[p]}" for id, p in zip(cells, places, strict=True)]).encode()
    return "".join(lines if len(places) == count else [lines[p] for p in places]).encode()


def _csv_columns(group: Group, names: Sequence[str]) -> list[np.ndarray]:
    grads = group.grads or {}
    lost = np.full(len(group.value), np.nan)
    return [group.value, *(grads.get(name, lost) for name in names)]


def _csv_block(columns: Sequence[np.ndarray]) -> bytes:
    pa = arrow() if columns[0].shape[0] > 64 else None
    if pa is not None and all(c.dtype == np.float64 and c.ndim == 1 for c in columns):
        return _by_arrow(pa, columns)
    texts = [_csv_texts(c) for c in columns]
    return ("\n".join(map(",".join, zip(*texts, strict=True))) + "\n").encode()


def _by_arrow(pa: Any, columns: Sequence[np.ndarray]) -> bytes:
    """What pyarrow writes, mended where ``repr`` writes a number otherwise: ``3.0`` for ``3``, and
    another exponent."""
    numbers = np.stack(columns, axis=1)
    size = np.abs(numbers)
    with np.errstate(invalid="ignore"):
        far = ((size >= 1e10) & (size < np.inf)) | ((size < 1e-4) & (size > 0))
        whole = (size < 1e10) & (numbers == np.rint(numbers))
    as_text = 8 * far.sum(axis=0) > len(numbers)
    odd = np.flatnonzero(far & ~as_text)
    whole = np.flatnonzero(whole & ~as_text)
    given = [
        pa.array(list(map(repr, c.tolist()))) if text
        else pa.Array.from_buffers(pa.float64(), len(c), [None, pa.py_buffer(c)])
        for c, text in zip(columns, as_text, strict=True)
    ]  # fmt: skip
    options = pa.csv.WriteOptions(
        include_header=False, quoting_style="none", batch_size=len(numbers)
    )
    out = pa.BufferOutputStream()
    pa.csv.write_csv(pa.record_batch(given, [""] * len(given)), out, options)
    body = out.getvalue()
    if len(whole):
        codes = np.frombuffer(body, np.uint8)
        ends = _cell_ends(codes)[whole]
        body = np.insert(codes, np.repeat(ends, 2), np.tile([46, 48], len(ends))).tobytes()
    if len(odd):
        ends = _cell_ends(np.frombuffer(body, np.uint8))
        starts = np.concatenate([[0], ends[:-1] + 1])[odd].tolist()
        texts = map(repr, numbers.reshape(-1)[odd].tolist())
        pieces: list[Any] = []
        last = 0
        with memoryview(body) as held:
            for start, end, text in zip(starts, ends[odd].tolist(), texts, strict=True):
                pieces += [held[last:start], text.encode()]
                last = end
            return b"".join([*pieces, held[last:]])
    return bytes(body)


def _cell_ends(codes: np.ndarray) -> np.ndarray:
    """Where the cells of a CSV without quotes end."""
    return np.flatnonzero((codes == 44) | (codes == 10))


def _csv_texts(array: np.ndarray) -> list[str]:
    rows = array.tolist()
    if array.ndim > 1:  # a list in one cell, as the reader of rows takes it
        listed = [dump_json(row) for row in array]
        return ['"' + text.replace('"', '""') + '"' for text in listed]
    if array.dtype.kind == "b":
        return ["true" if row else "false" for row in rows]
    if array.dtype.kind == "c":
        return [repr(row).strip("()") for row in rows]
    return list(map(repr, rows))


# ---- Arrays --------------------------------------------------------------------------------------


def _arrays(group: Group, names: Sequence[str]) -> dict[str, np.ndarray]:
    found = {"value": _one_nan(group.value)}
    for name in names:
        if group.grads is not None and name in group.grads:
            found[f"d_{name}"] = _one_nan(group.grads[name])
    return found


def _one_nan(array: np.ndarray) -> np.ndarray:
    """The array with one NaN for all: its sign depends on where in a block a row stands."""
    if array.dtype.kind not in "fc" or not np.isnan(array).any():
        return array
    parts = np.ascontiguousarray(array).view(array.real.dtype)  # of complex numbers, each alone
    return np.where(np.isnan(parts), np.nan, parts).astype(parts.dtype).view(array.dtype)


def _text(id: Any) -> str:
    return "" if id is None else id if isinstance(id, str) else dump_json(id)


def _packed(groups: Sequence[tuple[np.ndarray, dict[str, np.ndarray]]]) -> bytes:
    """Groups of arrays as bytes: of each the places of its records, and the arrays by name."""
    out = io.BytesIO()
    for places, arrays in groups:
        out.write(len(arrays).to_bytes(4, "little"))
        np.save(out, places, allow_pickle=False)
        for name, array in arrays.items():
            text = name.encode()
            out.write(len(text).to_bytes(4, "little") + text)
            np.save(out, array, allow_pickle=False)
    return out.getvalue()


def unpack(body: bytes) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """The groups that a body of arrays holds."""
    stream, found = io.BytesIO(body), []
    while head := stream.read(4):
        places = np.load(stream, allow_pickle=False)
        arrays = {}
        for _ in range(int.from_bytes(head, "little")):
            name = stream.read(int.from_bytes(stream.read(4), "little")).decode()
            arrays[name] = np.load(stream, allow_pickle=False)
        found.append((places, arrays))
    return found


MISFIT = ValueFault(
    "E0912", "the row's results have another shape or type than those of the first row, or are "
    "whole numbers that its floats cannot hold",
    help="an array has one shape and dtype in all rows; --format jsonl takes any",
)  # fmt: skip


def fitting(array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Which rows of an array a column of this shape and float dtype holds, to the last digit."""
    kind, fits = array.dtype.kind, np.ones(len(array), bool)
    if array.shape[1:] != shape or not (kind in "biu" or np.can_cast(array.dtype, dtype)):
        return ~fits
    if kind in "iu":
        most = 2 ** (np.finfo(dtype).nmant + 1)
        large = (array > most) | (array < -most)
        fits = ~large.reshape(len(array), -1).any(axis=1)
    return fits
