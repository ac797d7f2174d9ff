"""Comparisons, logic and tests: operators whose derivative is zero wherever it exists."""

from __future__ import annotations

import cmath
import operator
from typing import Any

import numpy as np

from gradcli.ops.declaration.batching import reduced
from gradcli.ops.dims import Dims, in_order, named_dims, normal_dim, normal_dims, told_apart
from gradcli.ops.errors import UnwrittenFault, bad_dtype, bad_value
from gradcli.ops.kinds import constant, elementwise, step
from gradcli.ops.operator import Operator
from gradcli.ops.torch_messages import not_one_dtype, nothing_largest

eq = constant("eq", operator.eq, doc="Whether x equals y; `x == y`.", infix="==", latex="=")
ne = constant(
    "ne",
    operator.ne,
    aliases=("not_equal",),
    doc="Whether x differs; `x != y`.",
    infix="!=",
    latex=r"\ne",
)


def _ordered(name: str, sign: str, alias: str, latex: str = "") -> Operator:
    return constant(
        name,
        getattr(operator, name),
        aliases=(alias,),
        doc=f"`x {sign} y`.",
        infix=sign,
        latex=latex,
        refuses={"complex": f"{name}_cpu"},
    )


lt, le = _ordered("lt", "<", "less"), _ordered("le", "<=", "less_equal", r"\le")
gt, ge = _ordered("gt", ">", "greater"), _ordered("ge", ">=", "greater_equal", r"\ge")

TRUTH = 1 / 8
"""What a byte for each number of eight takes, in arrays of these."""

logical_and = constant(
    "logical_and",
    np.logical_and,
    holds=TRUTH,
    doc="Both, by entry.",
    infix="&",
    python="bool({0} and {1})",
)
logical_or = constant(
    "logical_or",
    np.logical_or,
    holds=TRUTH,
    doc="Either, by entry.",
    infix="|",
    python="bool({0} or {1})",
)
logical_xor = constant(
    "logical_xor", np.logical_xor, holds=TRUTH, doc="One of the two, by entry.", infix="^"
)
logical_not = constant(
    "logical_not",
    np.logical_not,
    holds=TRUTH,
    out="wider",
    doc="The opposite truth, by entry.",
    python="not {0}",
)

_ASKED = {"out": "none", "holds": TRUTH}
isnan = constant("isnan", np.isnan, doc="Whether each entry is NaN.", python="{0} != {0}", **_ASKED)
isinf = constant("isinf", np.isinf, doc="Whether each entry is infinite.", **_ASKED)
isfinite = constant("isfinite", np.isfinite, doc="Whether each entry is finite.", **_ASKED)


def _isclose(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    for name, given in (("rtol", rtol), ("atol", atol)):
        if not given >= 0:
            raise bad_value(f"{name} must be greater than or equal to zero, but got {given}")
    return np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)


isclose = constant(
    "isclose",
    _isclose,
    dtypes="compare",
    holds=17,  # bytes: the result is one
    doc="Whether entries agree to within atol + rtol*abs(y).",
    refuses=not_one_dtype,
    out="none",
)


def _truth(name: str, whose: str) -> Operator:
    def compute(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
        out = getattr(np, name)(x, axis=named_dims(dim, np.ndim(x)), keepdims=keepdim)
        # Of bytes, which were PyTorch's booleans, a byte.
        return out.astype(np.uint8) if getattr(x, "dtype", None) == np.uint8 else out

    return constant(
        name,
        compute,
        rows=True,
        out="bytes",
        doc=f"Whether {whose} entry is true.",
        batching=reduced,
    )


all, any = _truth("all", "every"), _truth("any", "some")


def _arg_extreme(name: str, which: str) -> Operator:
    def compute(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        axis = None if dim is None else normal_dim(dim, np.ndim(x))
        axis = axis if np.ndim(x) else None
        if getattr(x, "dtype", None) == np.bool_:
            raise bad_dtype(f"{name}(): does not support bool input", help="write x.int()")
        if not (np.size(x) if axis is None else np.shape(x)[axis]):
            raise nothing_largest(name, dim)
        return getattr(np, name)(x, axis=axis, keepdims=keepdim)

    return constant(
        name,
        compute,
        doc=f"Index of the first {which}imum.",
        latex=rf"\arg\{which}",
        refuses={"complex": f"{name}(): does not support complex input"},
    )


count_nonzero = constant(
    "count_nonzero",
    lambda x, dim=None: np.sum(x != 0, axis=normal_dims(dim, np.ndim(x)), dtype=np.int64),
    doc="How many are not zero.",
    numpy="np.count_nonzero({0}, {dim})",
    latex=r"\operatorname{nnz}",
    rows=True,
    batching=reduced,
    out="none",
)
argmax, argmin = _arg_extreme("argmax", "max"), _arg_extreme("argmin", "min")


def _argsort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    dim = normal_dim(dim, x.ndim)
    if not x.ndim:
        return np.zeros_like(x, dtype=np.int64)
    if not x.flags.c_contiguous:  # laid out as x is
        found = _argsort(x.copy("C"), dim, descending)
        return in_order(found, told_apart([x.strides], x.shape))
    if descending:
        # Stable in descending order too: sort the mirror image, then mirror the indices.
        mirror = (slice(None),) * dim + (slice(None, None, -1),)  # np.flip takes ten times as long
        return x.shape[dim] - 1 - np.argsort(x[mirror], axis=dim, kind="stable")[mirror]
    return np.argsort(x, axis=dim, kind="stable")


argsort = constant(
    "argsort",
    _argsort,
    doc="Indices that sort x along a dimension; stable.",
    example="argsort(x) --x 3,1,2",
    refuses={"complex": " Sort does not support complex dtypes on CPU"},
)
zeros_like = constant(
    "zeros_like", np.zeros_like, doc="Zeros with x's shape and dtype.", python="0.0"
)
ones_like = constant("ones_like", np.ones_like, doc="Ones with x's shape and dtype.", python="1.0")


def _sign(x: Any) -> Any:
    if x.__class__ is bool or getattr(x, "dtype", None) == np.bool_:
        return np.copy(x)
    found = np.sign(x)
    if found.dtype.kind == "f":  # of NaN it is 0 in PyTorch, and NaN in NumPy
        if found.ndim:
            found[found != found] = 0
        elif found != found:
            found = found.dtype.type(0)
    return found


sign = step(
    "sign",
    _sign,
    holds=1.2,
    doc="-1, 0 or 1 by the sign of x.",
    edges="0 at NaN; slope 0 at 0 too",
    parity="odd",
    refuses={
        "complex": (
            UnwrittenFault,
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
            "torch.sgn instead.",
        )
    },
    breaks="0",
    python="1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else 0.0",
)
heaviside = elementwise(
    "heaviside",
    lambda x, y: np.where(x == 0, y, x > 0).astype(x.dtype, copy=False)[()],
    lambda t: zeros_like(t),
    lambda t, x: t * eq(x, 0.0),
    torch=("input", "values"),
    out="same",
    dtypes="promote",
    one_dtype=True,
    grad_name="NotImplemented",
    holds=2.1,  # NumPy makes floats of all the truths
    doc="0 below 0, y at 0, 1 above.",
    edges="0 at NaN; slope 0 by x everywhere; PyTorch has none",
    kink="where {op} of {0} jumps: derivative taken as 0",
    refuses={"complex": "heaviside is not yet implemented for complex tensors."},
    breaks="0",
)
signbit = constant(
    "signbit",
    np.signbit,
    holds=TRUTH,
    doc="Whether the sign bit is set; true for -0.0.",
    refuses={"complex": (UnwrittenFault, "signbit is not implemented for complex tensors.")},
)


def all_finite(x: Any) -> bool:
    """Whether no entry of an array is infinite or NaN; now and then False where they are huge.

    One pass without an array of answers: the sum of squares is not finite where an entry is not.
    """
    return cmath.isfinite(np.vdot(x, x) if x.ndim else x)


MANY = 8192
"""Entries from which on NumPy's ``where`` pays for each change of an irregular condition."""


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """``np.where``, of many entries without jumps: a product of the numbers' bits by 0 and 1."""
    if getattr(condition, "size", 0) < MANY or not (
        condition.dtype == bool and condition.flags.c_contiguous
    ):
        return np.where(condition, x, y)
    like, other = (x, y) if np.ndim(x) else (y, x)
    if not _fits(like, like, condition) or not _fits(other, like, condition):
        return np.where(condition, x, y)
    bits = np.dtype(f"u{like.itemsize}")
    x, y = (np.asarray(v, like.dtype).view(bits) for v in (x, y))
    if not (y.ndim or y):
        return np.multiply(x, condition).view(like.dtype)
    if not (x.ndim or x):
        return np.multiply(y, ~condition).view(like.dtype)
    flat = condition.ravel()
    step = flat.size // 1024
    changes = flat[:-1:step] != flat[1::step]
    if np.count_nonzero(changes) < changes.size // 8:
        return np.where(condition, x, y).view(like.dtype)
    out = x ^ y
    out *= condition
    out ^= y
    return out.view(like.dtype)


def _fits(value: Any, like: Any, condition: Any) -> bool:
    """Whether ``chosen`` can read the bits of ``value`` as of the type of ``like``."""
    if value.__class__ is float or value.__class__ is int:
        return like is not value and like.dtype.kind == "f"
    return (
        isinstance(value, np.ndarray | np.generic) and value.dtype == like.dtype
        and value.dtype.isnative and value.dtype.kind in "fi" and value.itemsize in (4, 8)
        and (not value.ndim or (value.shape == condition.shape and value.flags.c_contiguous))
    )  # fmt: skip
