"""``gradcli.masked``: reductions and softmaxes of the entries that a mask names, as PyTorch's.

``mask`` is True where an entry counts, and broadcasts to the input; None counts all. An entry that
does not count gets a zero gradient. What is computed of no entries is the identity of the
reduction, or NaN where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine import dtypes
from gradcli.engine.record.arguments import Anything as Mask
from gradcli.engine.record.arguments import Asked
from gradcli.engine.record.composite import named
from gradcli.engine.record.face import face
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.record.out import may_be
from gradcli.functions import reductions, statistics
from gradcli.functions.matrices import in_dtype
from gradcli.ops.dims import normal_dims
from gradcli.ops.errors import AssertionFault, IndexFault, UnwrittenFault, bad_argument, bad_dtype
from gradcli.ops.torch_messages import NO_MASK

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip


def _counted(input: Any, mask: Any) -> Any:
    """``mask`` in the shape of ``input``."""
    if len(mask.shape) > len(input.shape):
        raise IndexFault(
            "E0301",
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input)",
        )
    mask = mask.bool()
    return mask if mask.shape == input.shape else _O["expand"](mask, tuple(input.shape))


def _filled(input: Any, mask: Any, value: Any, dtype: Any = None) -> Any:
    """``input`` in ``dtype`` with ``value`` where it does not count."""
    input = input if dtype is None else input.to(dtype)
    if value.__class__ is float and input.dtype.kind < 2:
        value = 0  # whole numbers stay whole, and are refused as without a mask
    return input if mask is None else _O["where"](_counted(input, mask), input, value)


def _least(input: Any, name: str = "amax") -> Any:
    """Below every number of the dtype; above every one for ``"amin"``."""
    kind = input.dtype
    if not kind.kind:
        raise UnwrittenFault("E0309", f"identity of {name} on {kind!r} input")
    least, most = dtypes.bounds(kind) if kind.kind < 2 else (-float("inf"), float("inf"))
    return least if name == "amax" else most


_greatest = partial(_least, name="amin")


def _reduction(
    name: str, function: Callable, identity: Callable, what: str, cast: str = "result"
) -> Callable:
    """``cast`` says what is cast to the dtype: the "input", the "result", or both."""

    def reduction(
        input: Asked, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Mask = None
    ) -> Any:
        none = None if mask is None else identity(input)
        filled = _filled(input, mask, none, dtype if "input" in cast else None)
        found = function(filled, normal_dims(dim, len(input.shape)), bool(keepdim))
        return found.to(dtype) if "result" in cast and dtype is not None else found

    return named(reduction, name, f"{what} of the entries that count.")


def _product(input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The product along one dimension after the other."""
    for d in sorted(dims, reverse=True):
        input = _O["prod"](input, d, keepdim)
    return input if input.dtype.kind > 1 else input.to(dtypes.int64)


sum = _reduction("sum", _O["sum"], lambda _: 0, "The sum", cast="input result")
prod = _reduction("prod", _product, lambda _: 1, "The product", cast="input")
amax = _reduction("amax", reductions.amax, _least, "The largest")
amin = _reduction("amin", reductions.amin, _greatest, "The smallest")


def _place(name: str, identity: Callable, what: str) -> Callable:
    def place(
        input: Asked, dim: int | None = None, *, keepdim: Any = False, dtype: Any = None,
        mask: Mask = None,
    ) -> Any:  # fmt: skip
        kind = input.dtype if dtype is None else dtypes.to_dtype(dtype)
        if not kind.kind:
            raise bad_dtype(f"{name}(): does not support bool input")
        found = _O[name](_filled(input, mask, identity(input)), dim, bool(keepdim))
        return found.to(kind)  # as PyTorch has it

    return named(place, name, f"The place of the {what} of the entries that count.")


argmax, argmin = _place("argmax", _least, "largest"), _place("argmin", _greatest, "smallest")


def logsumexp(
    input: Asked, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Mask = None
) -> Any:
    """The logarithm of the sum of the exponentials of the entries that count."""
    filled = _filled(input, mask, _least(input))
    found = _O["logsumexp"](filled, normal_dims(dim, len(input.shape)), keepdim)
    return found.to(input.dtype if dtype is None else dtype)


def _counts(input: Any, dim: Any, keepdim: Any, mask: Any) -> Any:
    ones = _O["ones_like"](input).detach()
    return _O["sum"](_filled(ones, mask, 0), dim, bool(keepdim))


def mean(
    input: Asked, dim: Any = None, *, keepdim: Any = False, dtype: Any = None, mask: Mask = None
) -> Any:
    """The mean of the entries that count; NaN where none do."""
    input = input if dtype is None else input.to(dtype)
    if input.dtype.kind < 2:
        raise bad_argument(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {input.dtype!r}",
            help="give a dtype",
        )
    total = sum(input, dim, keepdim=keepdim, mask=mask)
    return total / _counts(input, dim, keepdim, mask)


def median(
    input: Asked, dim: int = -1, *, keepdim: Any = False, dtype: Any = None, mask: Mask = None
) -> Any:
    """The middle one (the lower of two) of the entries that count, along a dimension.

    Raises ValueFault (E0304) where none count and the dtype has no NaN.
    """
    kind = input.dtype if dtype is None else dtypes.to_dtype(dtype)
    wide = input if input.dtype.is_floating_point else input.to(dtypes.float32)
    found = statistics.nanmedian(_filled(wide, mask, float("nan")), dim, bool(keepdim))[0]
    if wide is input:
        return found
    if np.isnan(found.array).any():
        raise bad_argument(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return found.to(kind)


def norm(
    input: Asked, ord: float | None = 2.0, dim: Any = None, *, keepdim: Any = False,
    dtype: Any = None, mask: Mask = None,
) -> Any:  # fmt: skip
    """The ``ord``-norm of the entries that count."""
    order = 2.0 if ord is None else float(ord)
    input = in_dtype("vector_norm", input, dtype)
    filled = _filled(input, mask, float("inf") if order < 0 else 0.0)
    return _O["norm"](filled, order, dim, bool(keepdim))


def var(
    input: Asked, dim: Any = None, unbiased: Any = None, *, correction: Any = None,
    keepdim: Any = False, dtype: Any = None, mask: Mask = None,
) -> Any:  # fmt: skip
    """The variance of the entries that count."""
    if correction is not None and unbiased is not None:
        raise AssertionFault("E0304", "Only one of unbiased and correction may be given")
    less = 1.0 if correction is None else float(correction)
    less = less if unbiased is None else float(bool(unbiased))
    if not input.dtype.kind:
        raise bad_dtype(
            f"Subtraction, the `-` operator, with a bool tensor is not supported. {NO_MASK}"
        )
    if dtype is not None or input.dtype.kind < 2:
        input = input.to(dtypes.float32 if dtype is None else dtype)
    centred = input - mean(input, dim, keepdim=True, mask=mask)
    squares = centred * centred.conj()  # complex numbers have a complex variance, as in PyTorch
    total = sum(squares, dim, keepdim=keepdim, mask=mask)
    count = _counts(_O["abs"](squares), dim, keepdim, mask) - less
    return total / _O["where"](count < 0, 0.0, count)


def std(
    input: Asked, dim: Any = None, unbiased: Any = None, *, correction: Any = None,
    keepdim: Any = False, dtype: Any = None, mask: Mask = None,
) -> Any:  # fmt: skip
    """The standard deviation of the entries that count."""
    options = {"keepdim": keepdim, "dtype": dtype, "mask": mask}
    return _O["sqrt"](var(input, dim, unbiased, correction=correction, **options))


def _along(name: str, function: Callable, fill: float, what: str) -> Callable:
    def along(input: Asked, dim: int, *, dtype: Any = None, mask: Mask = None) -> Any:
        kind = input.dtype if dtype is None else dtypes.to_dtype(dtype)
        if name.startswith("cum"):
            return function(_filled(input, mask, fill, dtype), dim, dtype=kind)
        return function(_filled(input, mask, fill, dtype), dim)

    return named(along, name, f"{what} of the entries that count, along a dimension.")


softmax = _along("softmax", reductions.softmax, -float("inf"), "exp(x) over its sum")
log_softmax = _along(
    "log_softmax", reductions.log_softmax, -float("inf"), "The logarithm of softmax"
)
softmin = _along("softmin", lambda x, dim: reductions.softmax(-x, dim), float("inf"), "softmax(-x)")
cumsum = _along("cumsum", reductions.cumsum, 0, "Running sums")
cumprod = _along("cumprod", reductions.cumprod, 1, "Running products")


def normalize(
    input: Asked, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Mask = None
) -> Any:
    """Vectors along a dimension over their norm, both of the entries that count."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0.0, dtype) / _O["maximum"](size, size.new_full((), eps))


def logaddexp(
    input: Asked, other: Asked, *, dtype: Any = None, input_mask: Mask = None,
    other_mask: Mask = None,
) -> Any:  # fmt: skip
    """``log(exp(input) + exp(other))``, of what counts in each."""
    never = -float("inf")
    found = _O["logaddexp"](_filled(input, input_mask, never), _filled(other, other_mask, never))
    return found.to(input.dtype if dtype is None else dtype)


may_be("none", *(globals()[name] for name in __all__))
globals().update({name: face(globals()[name], strict=True) for name in __all__})
