"""``gradcli.testing``: ``assert_close``, for tests of what was computed.

The tolerances by element type are those of ``torch.testing.assert_close``'s documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.engine import Tensor, dtypes
from gradcli.engine.creation.factories import as_tensor
from gradcli.ops.errors import ValueFault

_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}
"""Relative and absolute tolerance by element type; whole numbers and truths have to be equal."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that abs(actual - expected) <= atol + rtol*abs(expected) in every entry.

    ``actual`` and ``expected`` are tensors, numbers, arrays, or sequences and mappings of them of
    the same length and keys. Tolerances follow the element type where neither is given (the larger
    of two where the types differ and ``check_dtype`` is False). Infinities are close to themselves,
    NaN only with ``equal_nan``.

    Raises AssertionError that says how many entries differ and where most, or that shapes, element
    types, strides (``check_stride``), lengths or keys differ; ValueFault (E0304) where only one of
    the tolerances is given.

    Example:
        >>> import gradcli
        >>> gradcli.testing.assert_close(gradcli.tensor([1.0]), gradcli.tensor([1.0 + 1e-7]))
    """
    if (rtol is None) is not (atol is None):
        raise ValueFault("E0304", "rtol and atol must both be specified or both be unspecified")
    work: list[tuple[Any, Any, str]] = [(actual, expected, "")]
    while work:
        one, other, place = work.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                lost, more = ([k for k in a if k not in b] for a, b in ((other, one), (one, other)))
                _fail(
                    "The keys of the mappings do not match:\n"
                    f"Missing keys in the actual mapping: {lost}\n"
                    f"Additional keys in the actual mapping: {more}",
                    msg,
                )
            work += [(one[k], other[k], f"{place}[{k!r}]") for k in reversed(list(one))]
        elif _is_sequence(one) and _is_sequence(other):
            if len(one) != len(other):
                _fail(f"The length of the sequences mismatch: {len(one)} != {len(other)}", msg)
            work += [(one[i], other[i], f"{place}[{i}]") for i in reversed(range(len(one)))]
        else:
            problem = _difference(one, other, rtol, atol, equal_nan, check_dtype, check_stride)
            if problem:
                _fail(problem + (f"\n\nThe failure occurred for item {place}" * bool(place)), msg)


def _fail(problem: str, msg: str | Callable[[str], str] | None) -> None:
    raise AssertionError(problem if msg is None else msg if isinstance(msg, str) else msg(problem))


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _difference(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, equal_nan: bool,
    check_dtype: bool, check_stride: bool,
) -> str:  # fmt: skip
    """What is wrong with one pair of tensors or numbers; empty where they are close."""
    scalar = not isinstance(actual, Tensor | np.ndarray)
    if scalar is isinstance(expected, Tensor | np.ndarray):
        kinds = f"{type(actual).__name__} and {type(expected).__name__}"
        return f"None of the pairs is of comparable types: {kinds}"
    wide = {"dtype": dtypes.float64} if isinstance(actual, float) else {}
    one, other = (as_tensor(v, **wide).detach() for v in (actual, expected))
    if one.shape != other.shape:
        return f"The values for attribute 'shape' do not match: {one.shape!r} != {other.shape!r}."
    if check_dtype and one.dtype is not other.dtype and not scalar:
        return f"The values for attribute 'dtype' do not match: {one.dtype} != {other.dtype}."
    if check_stride and one.stride() != other.stride():
        return (
            f"The values for attribute 'stride()' do not match: {one.stride()} != {other.stride()}."
        )
    allowed = [_TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (one, other)]
    relative = max(a[0] for a in allowed) if rtol is None else rtol
    absolute = max(a[1] for a in allowed) if atol is None else atol
    x, y = np.asarray(one.array), np.asarray(other.array)
    whole = x.dtype.kind in "bui"
    if whole:
        x, y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        close = np.isclose(x, y, relative, absolute, equal_nan)
        if close.all():
            return ""
        gap = np.where(close, 0.0, np.abs(x - y))
        share = np.where(close, 0.0, gap / np.abs(y))
    if scalar:
        return (
            f"Scalars are not close!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {float(gap)} (up to {absolute} allowed)\n"
            f"Relative difference: {float(share)} (up to {relative} allowed)"
        )
    count = int((~close).sum())
    if whole:
        gap = gap.astype(np.int64)
    bounds = ("", "")
    if relative or absolute:
        bounds = (f" (up to {absolute} allowed)", f" (up to {relative} allowed)")
    return (
        f"Tensor-likes are not {'close' if absolute or relative else 'equal'}!\n\n"
        f"Mismatched elements: {count} / {close.size} ({100 * count / close.size:.1f}%)\n"
        f"Greatest absolute difference: {_largest(gap)}{bounds[0]}\n"
        f"Greatest relative difference: {_largest(share)}{bounds[1]}"
    )


def _largest(gaps: np.ndarray) -> str:
    """The largest entry and its place."""
    if not gaps.ndim:
        return f"{gaps.item()}"
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(gaps), np.inf, gaps))), gaps.shape)
    return f"{gaps[place].item()} at index {tuple(map(int, place))}"
