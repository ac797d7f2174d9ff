"""Conversion: another element type, a copy, the parts of a complex number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.ops.dims import copied, copied_in, format_order
from gradcli.ops.errors import bad_dtype
from gradcli.ops.kinds import linear, step
from gradcli.ops.memory_budget import LARGE, charge
from gradcli.ops.operator import Operator, is_complex


def _cast(x: Any, dtype: Any = None) -> Any:
    if x.dtype.kind == "c" and dtype.kind not in "cb":  # a boolean is of both
        x = x.real
    if x.size > LARGE:
        charge(x.size * dtype.itemsize)
    return copied(x, dtype)


def without_bounds(x: Any, dtype: Any) -> Any:
    """The whole numbers that a cast gives where the type has room for all, from -128 for 8 bits:
    an unsigned type writes small ones below 0 with the same bits, as -1 is 255."""
    whole = np.trunc(np.real(x))
    if dtype.kind == "u":
        half = 2 ** (8 * dtype.itemsize - 1)
        whole = np.where((whole < 0) & (whole >= -half), whole + 2.0 * half, whole)
    return whole


def _clone(x: Any, memory_format: Any = None) -> Any:
    name = None if memory_format is None else getattr(memory_format, "name", memory_format)
    if name is None or name == "preserve_format":
        return copied(x)
    if name == "contiguous_format":
        return x.copy("C")
    return copied_in(format_order(memory_format, x.ndim), x)


def _imag(x: Any) -> Any:
    if not is_complex(x):
        told = "imag is not implemented for tensors with non-complex dtypes."
        raise bad_dtype("imag is for complex tensors", help="a real tensor has none", torch=told)
    return np.imag(x)


cast = linear(
    "cast",
    _cast,
    lambda g: g,
    grows=lambda x: x,
    without_bounds=without_bounds,
    holds=0,
    grad_name="ToCopyBackward0",
    doc="The same numbers with another element type.",
    example="sum(x.double()) --x 1,2",
    public=False,
)


def in_wider(wider: Mapping[str, np.dtype], rule: Any, dim: Any, *values: Any) -> Any:
    """``rule(*values, dim)`` in the type that ``wider`` names for that of the values, rounded once.

    The rule itself, where it names none. For rules whose rounding errors add up.
    """
    dtype = getattr(values[0], "dtype", None)
    dtype = getattr(dtype, "numpy", dtype)
    wide = wider.get(getattr(dtype, "char", ""))
    if wide is None:
        return rule(*values, dim)
    return cast(rule(*[cast(v, wide) for v in values], dim), dtype)


clone = linear(
    "clone",
    _clone,
    lambda g: g,
    keeps_truths="clone",
    doc="A copy in memory of its own, still in the graph.",
    example="sum(clone(x)) --x 1,2",
    numpy="{0}",
    pytorch="torch.clone",
    out="none",
)
conj: Operator = linear(
    "conj",
    np.conj,
    lambda g: conj(g),
    doc="The complex conjugate.",
    numpy="{0}",
    latex=r"\overline{{x}}",
)
real = linear(
    "real",
    np.real,
    lambda g: g,
    doc="The real part.",
    moves="view",
    numpy="{0}",
    latex=r"\operatorname{Re}",
    node={"name": lambda node: "SelectBackward0"},
)
imag = linear(
    "imag",
    _imag,
    lambda g: of_parts(0.0, g),  # 1j * inf is not a number
    numpy="",
    doc="The imaginary part of a complex tensor.",
    domain="complex x",
    moves="view",
    example="imag(x*2j) --x 3",
    latex=r"\operatorname{Im}",
    node={"name": lambda node: "SelectBackward0"},  # of the two columns of view_as_real,
)


def _of_parts(re: Any, im: Any) -> Any:
    out = np.zeros_like(
        re + im, dtype=np.result_type(*(getattr(v, "dtype", float) for v in (re, im)), np.complex64)
    )
    out.real[...], out.imag[...] = re, im
    return out[()]


of_parts: Operator = linear(
    "of_parts",
    _of_parts,
    lambda g: real(g),
    lambda g: imag(g),
    dtypes="inexact",
    holds=3,
    doc="The complex number of two parts; re + im*1j loses the sign of a zero, and infinities.",
    grad_name="ComplexBackward0",
    numpy="{0} + 1j*{1}",
    pytorch="torch.complex",
    jax="jax.lax.complex",
    public=False,
)
drawn = step(
    "drawn",
    lambda x, numbers=None: np.broadcast_to(numbers, np.shape(x)).astype(x.dtype),
    entrywise=False,  # the numbers have a shape of their own
    doc="Random numbers that were drawn by x, which says how likely they are.",
    kink="",
    public=False,
)
