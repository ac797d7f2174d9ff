"""``gradcli.testing``: whether two tensors are close, and how far apart where they are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine import Tensor
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.dtypes import float64
from gradcli.ops.errors import AssertionFault, TypeFault, ValueFault, bad_type

_TOLERANCES = {
    "float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "complex64": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex128": (1e-7, 1e-7),
}  # fmt: skip
"""PyTorch's relative and absolute tolerance by element type; whole numbers have to be equal."""


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
    check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
    msg: Any = None,
) -> None:  # fmt: skip
    """Raise AssertionError (E0313) unless |actual - expected| <= atol + rtol * |expected|.

    Tensors, numbers and arrays are compared, and sequences and mappings of them entry by entry.
    Without tolerances those of the element type hold: 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7
    for float64. Raises ValueFault (E0302) for one tolerance without the other, and TypeFault
    where `allow_subclasses` is False and two values that are compared are of different classes.

    Example:
        >>> import gradcli as torch
        >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-6]))
    """
    if (rtol is None) != (atol is None):
        name, value = ("rtol", rtol) if atol is None else ("atol", atol)
        other = "atol" if name == "rtol" else "rtol"
        raise ValueFault(
            "E0302",
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {other}.",
            help=f"give {other} beside {name}={value}",
        )
    options = {"equal_nan": equal_nan, "check_dtype": check_dtype, "check_stride": check_stride}
    waiting = [("", actual, expected)]
    while waiting:
        place, a, b = waiting.pop()
        parts = _parts(a, b)
        if parts is not None:
            waiting += [(f"{place}[{key!r}]", x, y) for key, x, y in reversed(parts)]
            continue
        if not allow_subclasses and type(a) is not type(b):
            raise _incomparable(a, b)
        wrong = _difference(a, b, rtol, atol, **options)
        if wrong:
            if place:
                wrong += f"\n\nThe failure occurred for item {place}"
            raise AssertionFault("E0313", msg(wrong) if callable(msg) else msg or wrong)


def _parts(a: Any, b: Any) -> list[tuple[Any, Any, Any]] | None:
    """The entries of two sequences or mappings by their keys; None for what is compared itself."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            missing, more = sorted(b.keys() - a.keys()), sorted(a.keys() - b.keys())
            raise AssertionFault(
                "E0313",
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {more}",
            )
        return [(key, a[key], b[key]) for key in b]
    if _is_sequence(a) and _is_sequence(b):
        if len(a) != len(b):
            raise AssertionFault(
                "E0313", f"The length of the sequences mismatch: {len(a)} != {len(b)}"
            )
        return [(i, x, y) for i, (x, y) in enumerate(zip(a, b, strict=True))]
    return None


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _difference(
    a: Any, b: Any, rtol: float | None, atol: float | None, *, equal_nan: bool, check_dtype: bool,
    check_stride: bool,
) -> str:  # fmt: skip
    """What keeps two values from being close, in PyTorch's words; nothing where they are."""
    if a is None and b is None:
        return ""
    numbers = not any(isinstance(v, Tensor | np.ndarray) for v in (a, b))
    if numbers:
        check_dtype = False  # Python's numbers are compared as numbers
    elif isinstance(a, Tensor) != isinstance(b, Tensor) or a is None or b is None:
        raise _incomparable(a, b)
    try:
        x, y = (as_tensor(v, float64 if isinstance(v, float) else None).detach() for v in (a, b))
    except TypeError:
        raise _incomparable(a, b) from None
    for name, left, right in (
        ("shape", x.shape, y.shape), ("dtype", x.dtype, y.dtype),
        ("stride()", x.stride(), y.stride()),
    ):  # fmt: skip
        checked = {"dtype": check_dtype, "stride()": check_stride}.get(name, True)
        if checked and left != right:
            return f"The values for attribute '{name}' do not match: {left} != {right}."
    if rtol is None or atol is None:
        known = [_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (x, y)]
        rtol, atol = max(r for r, _ in known), max(t for _, t in known)
    left, right = _widened(x.array), _widened(y.array)
    close = np.isclose(left, right, rtol, atol, equal_nan)
    if close.all():
        return ""
    dtype = np.result_type(x.array, y.array)
    with np.errstate(all="ignore"):
        apart = np.where(close, 0, np.abs(left - right))
        ratio = np.where(close, 0, apart / np.abs(right))
    real = np.finfo(dtype).dtype if dtype.kind in "fc" else np.dtype(np.float32)
    apart = apart.astype(real if dtype.kind in "fc" else np.int64)
    ratio = ratio.astype(real).astype(np.float64)
    exact = not rtol and not atol
    head = "Tensor-likes" if left.ndim else "Scalars"
    how = "equal" if exact else "close"
    if not left.ndim:
        bounds = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
        return (
            f"{head} are not {how}!\n\nExpected {y.item()} but got {x.item()}.\n"
            f"Absolute difference: {apart.item()}{bounds[0]}\n"
            f"Relative difference: {ratio.item()}{bounds[1]}"
        )
    count, size = int((~close).sum()), close.size
    lines = [f"Mismatched elements: {count} / {size} ({count / size:.1%})"]
    for name, gap, most in (("absolute", apart, atol), ("relative", ratio, rtol)):
        where = tuple(int(i) for i in np.unravel_index(np.argmax(gap), gap.shape))
        limit = "" if exact else f" (up to {most} allowed)"
        lines.append(f"Greatest {name} difference: {gap[where]} at index {where}{limit}")
    return f"{head} are not {how}!\n\n" + "\n".join(lines)


def _incomparable(a: Any, b: Any) -> TypeFault:
    return bad_type(
        f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}.",
        help="compare a tensor with a tensor",
    )


def _widened(array: Any) -> Any:
    """An array in which differences neither wrap around nor lose digits."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


__all__ = ["assert_close"]
