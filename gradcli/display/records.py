"""Values for other programs: strict JSON, CSV and NPY.

JSON has no NaN and no infinities, so they are written as the strings "NaN", "Infinity" and
"-Infinity"; a complex number is ``{"re": ..., "im": ...}``. Everything is ASCII with no control
character left as it is, so that a terminal can show it too. CSV text that a spreadsheet would take
for a formula gets an apostrophe in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

from gradcli.ops.errors import ValueFault, bad_type
from gradcli.ops.memory_budget import charge_shape

_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
"""A signed number is no formula: -5 means -5 to a spreadsheet too."""
_FLOAT64 = np.dtype(np.float64)
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")


def tensor_record(data: object, dtype_name: str | None = None) -> dict[str, object]:
    """``{"data": nested lists, "shape": [...], "dtype": ...}``, ready for ``dump_json``.

    data         a number or an array
    dtype_name   the name to write; the array's own when left out

    >>> tensor_record(np.array([1.5, np.nan]))
    {'data': [1.5, 'NaN'], 'shape': [2], 'dtype': 'float64'}
    """
    array = np.asarray(data)
    if array.dtype is _FLOAT64 and not array.ndim and dtype_name is None:
        number = array.item()  # the commonest record by far
        if number - number == 0:
            return {"data": number, "shape": [], "dtype": "float64"}
    if array.dtype.kind not in "biufc":
        raise bad_type(f"a value of dtype {array.dtype} has no record")
    charge_shape(array.shape, 64)  # numbers of Python, then text
    return {
        "data": _nested(array),
        "shape": list(array.shape),
        "dtype": dtype_name or array.dtype.name,
    }


def _nested(array: np.ndarray) -> object:
    """Nested lists of what JSON can hold."""
    kind = array.dtype.kind
    if kind == "c":
        flat: list = [
            {"re": re, "im": im}
            for re, im in zip(_finite_list(array.real), _finite_list(array.imag), strict=True)
        ]
    elif kind == "f" and not np.isfinite(array).all():
        flat = _finite_list(array)
    else:
        return array.tolist()
    items = np.empty(len(flat), object)
    items[:] = flat
    return items.reshape(array.shape).tolist()


def _finite_list(array: np.ndarray) -> list:
    """The elements in order, with strings for those that JSON has no number for."""
    flat = array.reshape(-1)
    items = flat.tolist()
    for index in np.flatnonzero(~np.isfinite(flat)).tolist():
        items[index] = _NOT_FINITE[str(items[index])]
    return items


def dump_json(obj: object) -> str:
    """One strict JSON text, on one line.

    Takes dicts, lists, tuples, strings, None, Python and NumPy numbers and arrays, nested to any
    depth that JSON readers take. Floats are written so that reading gives back the same float64.

    >>> dump_json({"ok": True, "value": float("inf"), "x": np.arange(3)})
    '{"ok": true, "value": "Infinity", "x": [0, 1, 2]}'
    """
    import json  # late: most runs print no record

    try:
        text = json.dumps(obj, allow_nan=False, default=_jsonable)
    except ValueError as error:
        if "Circular" in str(error):
            raise
        # A float that is not finite, somewhere: rare, so only now is everything looked at.
        text = json.dumps(_plain(obj), allow_nan=False, default=_jsonable)
    if "\\ud" in text:
        text = _pair_surrogates(text)
    return text.replace("\x7f", "\\u007f")


def _jsonable(value: object) -> object:
    """What stands for a value that json does not know."""
    if isinstance(value, (np.ndarray, np.generic, complex)):
        return _nested(np.asarray(value))
    raise bad_type(f"a {type(value).__name__} cannot be written as JSON")


def _plain(obj: object) -> object:
    """A copy without floats that are not finite. Iterative: depth is the data's business."""
    root: list = [obj]
    work: list[tuple[Any, object, object]] = [(root, 0, obj)]
    while work:
        holder, place, value = work.pop()
        if isinstance(value, float):
            if value - value != 0:
                holder[place] = _NOT_FINITE[str(float(value))]
        elif isinstance(value, dict):
            holder[place] = pairs = dict(value)
            work.extend((pairs, key, item) for key, item in value.items())
        elif isinstance(value, (list, tuple)):
            copy = list(value)
            holder[place] = copy
            work.extend((copy, index, item) for index, item in enumerate(value))
    return root[0]


def _pair_surrogates(text: str) -> str:
    """Replace escapes of half a character (as undecodable bytes in a name give) by U+FFFD."""

    def fix(match: re.Match[str]) -> str:
        return match[0] if match[1] or match[2] else "\\ufffd"

    return re.sub(r"(\\\\)|(\\ud[89ab]..\\ud[c-f]..)|\\ud[89a-f]..", fix, text)


def csv_text(data: object) -> str:
    """A number, vector (an element a line) or matrix (a row a line) as CSV, every digit kept.

    Raises ValueFault (E0905) for more axes than two: CSV has no place for them.

    >>> csv_text([[1.0, 0.1], [2.0, float("nan")]])
    '1.0,0.1\\n2.0,nan\\n'
    """
    array = np.asarray(data)
    if array.ndim > 2:
        said = f"CSV holds at most 2 axes; this value has shape {array.shape}"
        raise ValueFault("E0905", said, help="--format npy or --json")
    write = repr if array.dtype.kind in "fiu" else _cell  # sooner
    rows = (array if array.ndim == 2 else array.reshape(-1, 1)).tolist()
    return "".join(",".join(map(write, row)) + "\n" for row in rows)


def write_csv(rows: Iterable[Iterable[object]]) -> str:
    """Rows of texts, numbers and None as CSV; text is quoted where it must be and made inert.

    >>> write_csv([["id", "value"], ["=1+1", 0.5], ["a,b", None]])
    'id,value\\n\\'=1+1,0.5\\n"a,b",\\n'
    """
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: object) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (float, complex)):
        return repr(value).strip("()")
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return repr(value)
    text = str(value)
    # Spreadsheets run these as formulas, some even behind white space, or in full-width form.
    if text.lstrip()[:1] in _FORMULA or text[:1] in ("\t", "\r", "\n"):
        text = text if _NUMBER.match(text) else "'" + text
    text = "".join(c if c.isprintable() else _escaped(c) for c in text)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"') else text


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def write_npy(stream: BinaryIO, data: object) -> None:
    """The array as a ``.npy`` file.

    Raises TypeFault for Python objects: they would need pickle.

    >>> import io
    >>> write_npy(out := io.BytesIO(), np.arange(3.0)); out.getvalue()[:6]
    b'\\x93NUMPY'
    """
    array = np.asarray(data)
    if array.dtype.kind not in "biufc":
        raise bad_type(f"a value of dtype {array.dtype} cannot be written as NPY")
    # NumPy would pass the stream by where it sees a file, and fail where that is a pipe.
    np.lib.format.write_array(SimpleNamespace(write=stream.write), array, allow_pickle=False)
