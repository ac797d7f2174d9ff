"""Lines of a CSV as columns of numbers, at array speed: pyarrow where it is there, else Python.

Only cells that are plainly a number are read here, and they mean what ``fields`` reads in them;
every other row is left to ``readers``, which knows all forms of a value and every error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.errors import ValueFault

_arrow: list[Any] = []
"""The module pyarrow.csv, or None where it is not installed, once it has been looked for."""


def arrow() -> Any:
    """pyarrow with its module ``csv``, or None."""
    if not _arrow:
        try:
            import pyarrow  # optional, slow to load
            import pyarrow.csv
        except ImportError:
            pyarrow = None
        _arrow.append(pyarrow)
    return _arrow[0]


def need_arrow(what: str) -> Any:
    """pyarrow. Raises ValueFault (E0905) where ``what`` needs it and it is not installed."""
    if arrow() is None:
        mend = 'pip install "gradcli[arrow]"'
        raise ValueFault("E0905", f"{what} needs pyarrow, which is not installed", help=mend)
    return arrow()


class Columns(NamedTuple):
    """Plain rows of a block: an array for each variable, the cells of one more column as text.

    ``positions`` are the places of these rows in the block; ``rest`` those of all others.
    """

    positions: np.ndarray
    arrays: dict[str, np.ndarray]
    ids: list[str] | None
    rest: list[int]


def columns_of(
    data: bytes, count: int, header: Sequence[str], wanted: Sequence[str], id_column: str | None,
    dtype: np.dtype,
) -> Columns:  # fmt: skip
    """The plain rows among ``count`` lines.

    header     the names of the columns
    wanted     those that are variables
    id_column  one whose cells are echoed, or None
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    if arrow() is not None and b'"' not in data and wanted:
        found = _by_arrow(data, count, header, wanted, id_column)
        if found is not None and all(np.isfinite(a.sum()) or not np.isinf(a).any()
                                     for a in found.arrays.values()):  # fmt: skip
            return _cast(found, dtype)
    return _cast(_by_hand(data, header, wanted, id_column), dtype)


def _cast(found: Columns, dtype: np.dtype) -> Columns:
    """The columns in the batch's dtype; rows that overflow it are left to the reader."""
    if dtype == np.float64:
        return found
    with np.errstate(over="ignore"):
        arrays = {name: a.astype(dtype) for name, a in found.arrays.items()}
    over = np.zeros(len(found.positions), bool)
    for array in arrays.values():
        over |= np.isinf(array)
    return Columns(
        found.positions[~over],
        {name: a[~over] for name, a in arrays.items()},
        found.ids and [id for id, out in zip(found.ids, over, strict=True) if not out],
        sorted([*found.rest, *found.positions[over].tolist()]),
    )


def _by_arrow(
    data: bytes, count: int, header: Sequence[str], wanted: Sequence[str], id_column: str | None
) -> Columns | None:
    """All rows; None where one is not plain."""
    pa = arrow()
    if id_column in wanted:
        return None
    if b"\r" in data or b"\0" in data or (not data.isascii() and not _is_utf8(data)):
        return None
    names = [f"c{i}" for i in range(len(header))]
    asked = [names[header.index(name)] for name in wanted]
    text = [] if id_column is None else [names[header.index(id_column)]]
    types = {**dict.fromkeys(text, pa.string()), **dict.fromkeys(asked, pa.float64())}
    csv = pa.csv
    reading = csv.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1)
    converting = csv.ConvertOptions(
        column_types=types, include_columns=list(dict.fromkeys([*asked, *text])),
        null_values=[], strings_can_be_null=False,
    )  # fmt: skip
    try:
        table = csv.read_csv(
            pa.BufferReader(data), read_options=reading, convert_options=converting,
            parse_options=csv.ParseOptions(quote_char=False),
        )  # fmt: skip
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    if table.num_rows != count:
        return None
    arrays = {
        name: np.ascontiguousarray(table[column].to_numpy())
        for name, column in zip(wanted, asked, strict=True)
    }
    ids = table[text[0]].to_pylist() if text else None
    return Columns(np.arange(count), arrays, ids, [])


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _by_hand(
    data: bytes, header: Sequence[str], wanted: Sequence[str], id_column: str | None
) -> Columns:
    """The plain rows, line by line."""
    places = [header.index(name) for name in wanted]
    at_id = None if id_column is None else header.index(id_column)
    usual = data.isascii() and not any(mark.encode() in data for mark in _UNUSUAL)
    good: list[int] = []
    rest: list[int] = []
    ids: list[str] = []
    numbers: list[list[float]] = []
    for i, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n")):
        cells = line.split(",")
        try:
            found = [float(cells[p]) for p in places]
        except (ValueError, IndexError):
            rest.append(i)
            continue
        # An infinity is a word, or has too many digits: the reader knows.
        if len(cells) != len(header) or not (usual or _usual(line)) or _INFINITE & set(found):
            rest.append(i)
            continue
        good.append(i)
        numbers.append(found)
        if at_id is not None:
            ids.append(cells[at_id])
    table = np.array(numbers).reshape(len(good), len(places))
    arrays = {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(wanted)}
    return Columns(np.array(good, np.int64), arrays, None if at_id is None else ids, rest)


_UNUSUAL = '"_\0\r'
_INFINITE = {float("inf"), float("-inf")}


def _usual(line: str) -> bool:
    return line.isascii() and not any(mark in line for mark in _UNUSUAL)
