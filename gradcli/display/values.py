"""How the command line shows numbers and arrays: plain text, no colour, nothing ever wrapped.

A number is written with as few digits as are right to seven: ``0.1 + 0.2`` is ``0.3``, ``2/3`` is
``0.6666667``, and whole numbers stay whole: ``28``. ``precision="full"`` writes every digit that is
needed to read the same number back.

    value  0.8928744
    d/dW   [[-0.2808545,  0.5617090],
            [-0.2811523,  0.5623046]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.engine.printing import corners, nest
from gradcli.ops.errors import ValueFault

DIGITS = 7
SUMMARY_ABOVE = 1000
EDGE = 3

# Whole floats are shown with all their digits up to here (1e15 is exact in float64).
_WHOLE_LIMIT = 1e15

Precision = int | str | None


def show_value(data: object, precision: Precision = None) -> str:
    """The text of a number or an array.

    data        a number, a NumPy scalar or array, or nested lists
    precision   None for 7 significant digits, a number of digits, or ``"full"``

    Vectors stand on one line; the rows of a matrix on a line each, its columns aligned. Past 1000
    elements only the corners are shown, except with ``"full"``. Raises ValueFault (E0905) for a
    precision that is none of these.

    >>> show_value([0.0, 4.0, 8.0, 12.0])
    '[0, 4, 8, 12]'
    >>> show_value(2/3), show_value(2/3, 3), show_value(2/3, "full")
    ('0.6666667', '0.667', '0.6666666666666666')
    >>> print(show_value([[1, 20], [-3, 4]]))
    [[ 1, 20],
     [-3,  4]]
    """
    array = np.asarray(data)
    if array.dtype.char in "gG":  # long double: beyond what Python's floats can show
        array = array.astype(np.float64 if array.dtype.char == "g" else np.complex128)
    write = _writer(array.dtype, precision)
    if array.ndim == 0:
        return write(array.item())
    if array.size == 0 and array.ndim > 1:
        return f"[] shape {array.shape}"
    cut: tuple[bool, ...] = (False,) * array.ndim
    if array.size > SUMMARY_ABOVE and precision != "full":
        array, cut = corners(array, EDGE)
    cells = [write(item) for item in array.reshape(-1).tolist()]
    if array.ndim > 1:
        cells = _align(cells, DIGITS if precision is None else precision)

    def row(parts: list[str]) -> str:
        return f"[{', '.join(_shortened(parts) if cut[-1] else parts)}]"

    def join(axis: int, parts: list[str]) -> str:
        gap = ",\n" + " " * (axis + 1)
        return f"[{gap.join(_shortened(parts) if cut[axis] else parts)}]"

    return nest(cells, array.shape, row, join)


def _shortened(parts: list[str]) -> list[str]:
    return [*parts[:EDGE], "...", *parts[-EDGE:]]


def _writer(dtype: np.dtype, precision: Precision) -> Callable[[Any], str]:
    """What turns one element, as a Python object, into text."""
    digits = DIGITS if precision is None else precision
    if digits != "full" and (isinstance(digits, bool) or not isinstance(digits, int) or digits < 1):
        raise ValueFault(
            "E0905", f"a precision of {precision!r}", help="a number of digits, 1 or more, or full"
        )
    kind = dtype.kind
    if kind not in "fc":
        return str
    if digits == "full":
        real = _shortest(dtype, narrow=dtype.itemsize // (1 + (kind == "c")) < 8)
    elif precision is None:
        real = _seven
    else:
        pattern = f"%.{digits}g"

        def real(value: float) -> str:
            return pattern % value

    if kind == "f":
        return real

    def both(value: complex) -> str:
        imag = real(value.imag)
        return f"{real(value.real)}{imag if imag[0] == '-' else '+' + imag}j"

    return both


def _seven(value: float) -> str:
    if value.is_integer() and abs(value) < _WHOLE_LIMIT:
        return f"{value:.0f}"
    return f"{value:.{DIGITS}g}"


def _shortest(dtype: np.dtype, narrow: bool) -> Callable[[float], str]:
    """Shortest digits that tell a float from its neighbours, in its narrower type where it has
    one."""
    scalar = np.float16 if dtype == np.float16 else np.float32
    return lambda value: (str(scalar(value)) if narrow else repr(value)).removesuffix(".0")


def _align(cells: list[str], digits: int | str) -> list[str]:
    """Give the elements of a matrix one width, and its fractions one number of decimals.

    The zeros put back are digits that were right but not needed: never more than ``digits``
    significant ones, so that ``0.561709`` may become ``0.5617090``; a whole number stays as it is.
    """
    if isinstance(digits, int):
        plain = {c: c.partition(".")[2] for c in cells if "." in c and not set("ej") & set(c)}
        most = max(map(len, plain.values()), default=0)
        for i, cell in enumerate(cells):
            significant = len(cell.lstrip("-").replace(".", "").lstrip("0"))
            if cell in plain:
                missing = min(most - len(plain[cell]), digits - significant)
                cells[i] += "0" * max(0, missing)
    width = max(map(len, cells), default=0)
    return [cell.rjust(width) for cell in cells]


def show_rows(rows: Iterable[Sequence[str]]) -> str:
    """Lay out ``(label, text)`` or ``(label, text, note)`` rows in columns.

    Later lines of a text stand under its first. Notes stand in a column beside the
    first line. The result has no trailing newline.

    >>> print(show_rows([("value", "28"), ("d/dx", "[[1, 2],\\n [3, 4]]")]))
    value  28
    d/dx   [[1, 2],
            [3, 4]]
    >>> print(show_rows([("value", "4"), ("d/dx", "4", "(leaf)"), ("d/dh", "-4", "kept")]))
    value  4
    d/dx   4   (leaf)
    d/dh   -4  kept
    """
    split = [(row[0], row[1].split("\n"), row[2] if len(row) > 2 else "") for row in rows]
    label_width = max((len(label) for label, _, _ in split), default=0)
    text_width = max((len(lines[0]) for _, lines, note in split if note), default=0)
    out = []
    for label, lines, note in split:
        first = f"{lines[0].ljust(text_width)}  {note}" if note else lines[0]
        out.append(f"{label.ljust(label_width)}  {first}".rstrip())
        out.extend(f"{' ' * (label_width + 2)}{line}".rstrip() for line in lines[1:])
    return "\n".join(out)


def of_complex_result(name: str, by_complex: bool) -> str:
    """What a reverse-mode Jacobian of a complex result by ``name`` holds, as a warning.

    A cotangent of 1 gives the gradient of the real part. Where f is holomorphic that is the
    conjugate of f', since a gradient by ``a + ib`` is ``d/da + i d/db``.
    """
    said = (
        f"by {name}, which is complex, these are gradients of the real part, conj(f') of a"
        " holomorphic f; gradcli jvp gives f' times a direction"
        if by_complex
        else f"by {name}, which is real, this is the real part; gradcli jvp gives both"
    )
    return f"the result is complex: {said}"
