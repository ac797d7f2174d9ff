"""The text of a tensor, character for character what PyTorch 2.13 prints.

Works on NumPy arrays alone. The elements that will be seen are gathered into one small array first
(``corners``), then every one of them becomes a string of one common width, and the rows are joined
from the innermost axis outward (``nest``); so the cost follows what is printed, not what is stored.

The rules, as PyTorch applies them to the elements that are shown:

    whole    all finite elements are whole numbers       1.   2.  10.
    fixed    otherwise                                   1.0000   2.5000
    power    largest/smallest > 1000, or > 1e8, or < 1e-4   1.0000e+00   1.0000e-05

where zero, nan and the infinities have no say in the choice, nor in the width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from gradcli.ops.errors import ValueFault
from gradcli.ops.memory_budget import charge_shape

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}


_OPENED = "tensor("
_CELL = 120
"""Bytes that an element takes as text, with the number it is made of."""


class PrintOptions(NamedTuple):
    """How tensors are printed: precision, threshold, edgeitems, linewidth and sci_mode.

    ``sci_mode`` is True, False, or None where each tensor decides for itself.
    """

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_DEFAULT = PrintOptions()
_options: ContextVar[PrintOptions] = ContextVar("print options", default=_DEFAULT)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how this thread prints tensors from now on; what is left out stays as it was.

    precision   digits after the point (4)
    threshold   number of elements above which only the corners are shown (1000)
    edgeitems   how many elements a summary shows at each end of an axis (3)
    linewidth   columns in which a row is broken (80)
    profile     ``"default"``, ``"short"`` or ``"full"``; the other arguments override it
    sci_mode    True or False; leaving it out hands the choice back to each tensor, as in PyTorch

    Raises ValueFault for a profile that does not exist and for negative numbers.

    >>> set_printoptions(precision=2)
    >>> format_tensor(np.array([1.12345]), "float32")
    'tensor([1.12])'
    >>> set_printoptions(profile="default")
    >>> format_tensor(np.array([1.12345]), "float32")
    'tensor([1.1235])'
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueFault(
            "E0303", f"there is no print profile {profile!r}", help="default, short or full"
        )
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen = _options.get()._asdict()
    if profile is not None:
        chosen.update(_PROFILES[profile])
    for name, value in given.items():
        if value is None:
            continue
        if value < 0:
            raise ValueFault("E0303", f"{name} must not be negative, got {value}")
        chosen[name] = value
    _options.set(PrintOptions(**chosen | {"sci_mode": sci_mode}))


def get_printoptions() -> dict[str, Any]:
    """The options in force, ready for ``set_printoptions(**options)``."""
    return _options.get()._asdict()


@contextmanager
def printoptions(**changes: object) -> Iterator[None]:
    """Print with other options inside a ``with`` block; takes what ``set_printoptions`` takes.

    >>> with printoptions(precision=1):
    ...     format_tensor(np.array([0.25, 3.0]), "float32")
    'tensor([0.2, 3.0])'
    """
    before = get_printoptions()
    try:
        set_printoptions(**changes)  # type: ignore[arg-type]
        yield
    finally:
        set_printoptions(**before)


def corners(data: np.ndarray, edge: int) -> tuple[np.ndarray, tuple[bool, ...]]:
    """The first and last `edge` elements along every axis, and which axes lost some in between.

    Long axes are cut first, so a large array is never copied on the way.
    """
    cut = tuple(size > 2 * edge for size in data.shape)
    for axis in sorted(range(data.ndim), key=data.shape.__getitem__, reverse=True):
        if cut[axis]:
            before = (slice(None),) * axis
            first = data[(*before, slice(0, edge))]
            last = data[(*before, slice(data.shape[axis] - edge, None))]
            data = np.concatenate((first, last), axis=axis)
    return data, cut


def nest(
    cells: list[str],
    shape: Sequence[int],
    row: Callable[[list[str]], str],
    join: Callable[[int, list[str]], str],
) -> str:
    """Fold a flat list of element texts into one bracketed text, from the last axis outward.

    ``row`` joins the elements of the last axis, ``join(axis, parts)`` those of an outer one.
    """
    size = shape[-1]
    count = len(cells) // size if size else math.prod(shape[:-1])
    parts = [row(cells[i * size : (i + 1) * size]) for i in range(count)]
    for axis in range(len(shape) - 2, -1, -1):
        size = shape[axis]
        count = len(parts) // size if size else math.prod(shape[:axis])
        parts = [join(axis, parts[i * size : (i + 1) * size]) for i in range(count)]
    return parts[0]


def format_tensor(
    data: np.ndarray | np.generic,
    dtype_name: str,
    *,
    default_dtype: str = "float32",
    requires_grad: bool = False,
    grad_fn: str | None = None,
) -> str:
    """The text PyTorch would print for this tensor, with ``gradcli.`` for ``torch.``.

    data            the elements, on the host
    dtype_name      the tensor's dtype, such as ``"float32"``
    default_dtype   the dtype that goes without saying
    grad_fn         the name of the node that made it, such as ``"MulBackward0"``

    >>> print(format_tensor(np.array([[1.0, -2.5], [0.0, 30.0]]), "float64"))
    tensor([[ 1.0000, -2.5000],
            [ 0.0000, 30.0000]], dtype=gradcli.float64)
    >>> format_tensor(np.float32(4.5), "float32", grad_fn="MulBackward0")
    'tensor(4.5000, grad_fn=<MulBackward0>)'
    """
    data = np.asarray(data)
    options = _options.get()
    default_complex = "complex128" if default_dtype == "float64" else "complex64"
    tails = []
    if data.size == 0:
        body = "[]"
        if data.ndim != 1:
            tails.append(f"size={data.shape}")
        # No element tells the dtype, so even int64 and bool are named.
        if dtype_name != default_dtype:
            tails.append(f"dtype=gradcli.{dtype_name}")
    else:
        body = _body(data, len(_OPENED), options)
        if not options.edgeitems:
            tails.append(f"size={data.shape}")
        if dtype_name not in (default_dtype, default_complex, "int64", "bool"):
            tails.append(f"dtype=gradcli.{dtype_name}")
    if grad_fn is not None:
        tails.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        tails.append("requires_grad=True")
    return _with_tails(_OPENED + body, tails, options.linewidth)


def with_tail(shown: str, tail: str) -> str:
    """The text of a tensor with one more fact at its end."""
    return _with_tails(shown[:-1], [tail], _options.get().linewidth)


def _with_tails(text: str, tails: list[str], linewidth: float) -> str:
    """Append each tail to the last line while it fits, else open a new line for it."""
    pieces = [text]
    # PyTorch counts one column too many on a last line, two on an only line; so do we.
    column = len(text) - text.rfind("\n") + 1
    for tail in tails:
        # Reckoned with PyTorch's own word, so that lines break at the same places as there.
        size = len(tail.replace("dtype=gradcli.", "dtype=torch."))
        if column + size + 2 > linewidth:
            pieces.append(f",\n{' ' * len(_OPENED)}{tail}")
            column = len(_OPENED) + size
        else:
            pieces.append(f", {tail}")
            column += size + 2
    pieces.append(")")
    return "".join(pieces)


def _body(data: np.ndarray, indent: int, options: PrintOptions) -> str:
    """The bracketed elements of a tensor that has some."""
    edge = options.edgeitems
    ndim = data.ndim
    cut: tuple[bool, ...] = (False,) * ndim
    if data.size > options.threshold and ndim:
        if not edge:
            return "[...]"
        data, cut = corners(data, edge)
    charge_shape(data.shape, _CELL)
    cells, width = _cells(data.reshape(-1), options)
    if ndim == 0:
        return cells[0]
    per_line = max(1, int((options.linewidth - (indent + ndim - 1)) // (width + 2)))
    fold = ",\n" + " " * (indent + ndim)

    def row(parts: list[str]) -> str:
        if cut[-1]:
            parts = [*parts[:edge], " ...", *parts[-edge:]]
        lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
        return f"[{fold.join(lines)}]"

    def join(axis: int, parts: list[str]) -> str:
        if cut[axis]:
            parts = [*parts[:edge], "...", *parts[-edge:]]
        gap = "," + "\n" * (ndim - axis - 1) + " " * (indent + axis + 1)
        return f"[{gap.join(parts)}]"

    return nest(cells, data.shape, row, join)


def _cells(flat: np.ndarray, options: PrintOptions) -> tuple[list[str], int]:
    """The text of every element, and the width a line reckons with."""
    kind = flat.dtype.kind
    if kind == "c":
        real, real_width = _float_cells(flat.real, options)
        imag, imag_width = _float_cells(flat.imag, options)
        texts = []
        for re, im in zip(real, imag, strict=True):
            im = im.lstrip()
            texts.append(f"{re}{im}j" if im[0] == "-" else f"{re}+{im}j")
        return texts, real_width + imag_width + 1
    if kind == "f":
        return _float_cells(flat, options)
    texts = [str(value) for value in flat.tolist()]
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts], width


def _float_cells(flat: np.ndarray, options: PrintOptions) -> tuple[list[str], int]:
    deciding = flat[np.isfinite(flat) & (flat != 0)]
    whole, power = True, False
    if deciding.size:
        magnitudes = np.abs(deciding).astype(np.float64)
        low, high = float(magnitudes.min()), float(magnitudes.max())
        whole = bool((np.ceil(deciding) == deciding).all())
        with np.errstate(over="ignore"):
            ratio = float(np.float64(high) / np.float64(low))
        power = ratio > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if options.sci_mode is not None:
            power = options.sci_mode
    if power:
        pattern = f"%.{options.precision}e"
    elif whole:
        pattern = "%.0f."
    else:
        pattern = f"%.{options.precision}f"
    width = max((len(pattern % value) for value in deciding.tolist()), default=1)
    texts = []
    for value in flat.tolist():
        pointless = whole and not power and value - value != 0  # nan and inf take no point
        texts.append((str(value) if pointless else pattern % value).rjust(width))
    return texts, width
