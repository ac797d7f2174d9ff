"""Along dimensions, with PyTorch's optional parameters: sums, means, norms, shares, running sums.

``sum(x, dtype=float64)``, ``var(x, unbiased=False)``, ``diff``: each is a function and, where
PyTorch has it so, a method of Tensor. They call operators, so that Tensors, tangents and batches
may all be given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.dtypes import float16
from gradcli.engine.grad_mode import current
from gradcli.engine.record.arguments import (
    UNSAID,
    Asked,
    Kept,
    Number,
    Order,
    Required,
    whole_or_along,
)
from gradcli.engine.record.composite import called, in_float32, lasting, named
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.multi_output import joined
from gradcli.engine.record.out import ONE_SCALAR, may_be
from gradcli.engine.source_location import warn
from gradcli.functions.matrices import in_dtype, matrix_norm
from gradcli.ops.dims import normal_dim, normal_dims
from gradcli.ops.errors import bad_dtype, bad_shape, bad_size, bad_type, bad_value
from gradcli.ops.operator import is_complex
from gradcli.ops.torch_messages import not_a


def _typed(input: Any, dtype: Any) -> Any:
    """``input`` in the ``dtype`` that is asked for.

    Raises RuntimeFault (E0309) for whole numbers of what a gradient is recorded for.
    """
    if dtype is None:
        return input
    out = input.to(dtype)
    if out.dtype.kind < 2 and getattr(input, "requires_grad", False) and current().grad:
        raise bad_dtype(f"Autograd not support dtype: {out.dtype.scalar_name}")
    return out


def _narrowed(out: Any, dtype: Any) -> Any:
    """A sum or product in the whole ``dtype`` that is asked for: NumPy's are int64."""
    return out if dtype is None or out.dtype.kind > 1 else out.to(dtype)


def sum(input: Any, dim: Any = None, keepdim: Kept = False, *, dtype: Any = None) -> Any:
    """The sum of all entries, or along dimensions, computed in ``dtype`` where one is given."""
    if dtype is None:
        return O["sum"](input, dim, keepdim)
    return _narrowed(O["sum"](_typed(input, dtype), dim, keepdim), dtype)


def amax(input: Any, dim: int | Sequence[int] | None = (), keepdim: bool = False) -> Any:
    """The largest entry, or along dimensions; ties share the gradient evenly."""
    return O["amax"](input, () if dim is None else dim, keepdim)


def amin(input: Any, dim: int | Sequence[int] | None = (), keepdim: bool = False) -> Any:
    """The smallest entry, or along dimensions; ties share the gradient evenly."""
    return O["amin"](input, () if dim is None else dim, keepdim)


def mean(input: Any, dim: Any = None, keepdim: Kept = False, *, dtype: Any = None) -> Any:
    """The mean of all entries, or along dimensions, computed in ``dtype`` where one is given."""
    if dtype is not None and dtypes.to_dtype(dtype).kind < 2:
        name = dtypes.to_dtype(dtype).scalar_name
        said = "mean(): could not infer output dtype. Optional dtype must be either a floating"
        raise bad_dtype(f"{said} point or complex dtype. Got: {name}")
    return O["mean"](_typed(input, dtype), dim, keepdim)


def prod(input: Any, dim: int = UNSAID, keepdim: Kept = False, *, dtype: Any = None) -> Any:
    """The product of all entries, or along a dimension."""
    along = whole_or_along("prod", dim, keepdim)
    return _narrowed(O["prod"](_typed(input, dtype), along, keepdim), dtype)


def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of the entries that are numbers, computed in ``dtype`` where one is given."""
    if is_complex(input):
        raise bad_dtype("nansum on CPU does not support complex inputs")
    kept = input
    if input.dtype.kind > 1:
        if dtype is not None:
            refuse_kinds("complex", "nansum_cpu", dtypes.to_dtype(dtype))
        kept = O["where"](O["isnan"](input), 0.0, input)
    return called(sum(kept, dim, keepdim, dtype=dtype), "NansumBackward0", input)


def _spread(name: str) -> Any:
    def spread(
        input: Any, dim: int | Sequence[int] | bool | None = None, unbiased: bool = UNSAID,
        keepdim: bool = False, *, correction: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(dim, bool):  # var(False) is var(unbiased=False)
            if (unbiased, keepdim) != (UNSAID, False):
                raise bad_type(f"{name}() takes unbiased without other arguments, or by its name")
            unbiased, dim = dim, None
        if correction is not None and unbiased is not UNSAID:
            raise bad_type(f"{name}() takes unbiased or correction, not both")
        given = (1 if unbiased else 0) if correction is None else correction
        found = O[name](input, dim, given, keepdim)
        sizes = input.shape
        if dim is not None:
            sizes = [sizes[d] for d in normal_dims(dim, len(sizes))]
        if math.prod(sizes) <= given:
            warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than "
                "the reduction factor (input numel divided by output numel)."
            )
        return found

    return named(spread, name, f"{O[name].__doc__} ``unbiased=False`` divides by n.")


var, std = _spread("var"), _spread("std")


def _with_mean(spread: Any, what: str) -> Any:
    def pair(
        input: Any, dim: int | Sequence[int] | bool | None = None, unbiased: bool = UNSAID,
        keepdim: bool = False, *, correction: Any = None,
    ) -> tuple:  # fmt: skip
        found = spread(input, dim, unbiased, keepdim, correction=correction)
        dim = None if isinstance(dim, bool) else dim
        node = f"{spread.__name__.capitalize()}MeanBackward0"
        return joined(node, (found, mean(input, dim, keepdim)), input)

    return named(pair, f"{spread.__name__}_mean", f"The {what} and the mean.")


var_mean = _with_mean(var, "variance")
std_mean = _with_mean(std, "standard deviation")


def norm(
    input: Asked, p: Order | None = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """The p-norm of all entries, or along dimensions; p may be "fro", or "nuc" for matrices."""
    if isinstance(p, str):
        if p == "nuc" or (p == "fro" and isinstance(dim, tuple | list) and len(dim) > 2):
            dims: Any = tuple(range(input.ndim)) if dim is None else dim
            return matrix_norm(input, p, dims, keepdim, dtype=dtype)
        if p != "fro":
            raise bad_value(f"norm has p='fro' and p='nuc', not {p!r}")
        p = 2
    return O["norm"](in_dtype("vector_norm", input, dtype), 2 if p is None else p, dim, keepdim)


def dist(input: Any, other: Any, p: Number = 2) -> Any:
    """The p-norm of a difference."""
    if getattr(input, "dtype", None) is getattr(other, "dtype", None) is float16:
        return in_float32(dist, "DistBackward0", input, other, p=p)
    return called(O["norm"](input - other, p), "DistBackward0", input, other)


def softmax(input: Any, dim: Required = -1, dtype: Any = None) -> Any:
    """exp(x) over its sum along a dimension."""
    return _share("softmax", input, dim, dtype)


def log_softmax(input: Any, dim: Required = -1, dtype: Any = None) -> Any:
    """The logarithm of softmax, exact where it is small."""
    return _share("log_softmax", input, dim, dtype)


def _share(name: str, input: Any, dim: int, dtype: Any) -> Any:
    normal_dim(dim, input.ndim)
    input = input if dtype is None else input.to(dtype)
    if input.dtype.kind < 2 and not input.numel():  # of nothing there are whole numbers, too
        return O["clone"](input)
    return O[name](input, dim)


def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Running sums along a dimension."""
    return _running("cumsum", input, dim, dtype)


def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Running products along a dimension; exact where entries are 0."""
    return _running("cumprod", input, dim, dtype)


def _running(name: str, input: Any, dim: int, dtype: Any) -> Any:
    if dtype is not None:
        refuse_kinds("bool", f"{name}_out_cpu", dtypes.to_dtype(dtype))
    return _narrowed(O[name](_typed(input, dtype), dim), dtype)


def logcumsumexp(input: Any, dim: int) -> Any:
    """The logarithm of the running sum of exponentials along a dimension, without overflow."""
    normal_dim(dim, input.ndim)
    return O["logcumsumexp"](input, dim)


def sum_to_size(input: Any, shape: Sequence[int]) -> Any:
    """Summed to a shape that broadcasts to that of ``input``."""
    have = tuple(input.shape)
    there = have[len(have) - len(shape) :]
    if len(shape) > len(have) or any(n not in (1, m) for n, m in zip(shape, there, strict=True)):
        raise bad_shape(f"size {{{list(shape)}}} is not expandable to size {{{list(have)}}}.")
    if not shape:
        return O["sum"](input)
    return input if shape == have else O["sum_to"](input, shape)


def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences between neighbours along a dimension, ``n`` times.

    ``prepend`` and ``append`` are joined to the ends first.
    """
    given = input
    if n < 0:
        raise bad_value(f"order must be non-negative but got {n}")
    for part in (prepend, append):
        if part is not None:
            _fits_end(input, part, dim)
    if n and (prepend is not None or append is not None):
        parts = [part for part in (prepend, input, append) if part is not None]
        input = O["cat"](*parts, dim=dim)
    before = (slice(None),) * normal_dim(dim, len(input.shape))
    if not input.shape:
        raise bad_size("diff expects input to be at least one-dimensional")
    for _ in range(min(n, input.shape[normal_dim(dim, len(input.shape))])):
        last, first = input[(*before, slice(1, None))], input[(*before, slice(None, -1))]
        input = O["ne"](last, first) if input.dtype.kind == 0 else last - first
    return O["clone"](input) if input is given else input


def _fits_end(input: Any, part: Any, dim: int) -> None:
    """Raise RuntimeFault (E0301) for what cannot be joined to ``input`` along a dimension."""
    own, wanted = list(part.shape), list(input.shape)
    if len(own) != len(wanted):
        raise bad_shape("diff expects prepend or append to be the same dimension as input")
    if own:
        axis = normal_dim(dim, len(own))
        own[axis] = wanted[axis]
    if own != wanted:
        said = "diff expects the shape of tensor to prepend or append to match that of input"
        raise bad_shape(f"{said} except along the differencing dimension")


def trapezoid(y: Any, x: Any = UNSAID, *, dx: Any = UNSAID, dim: int = -1) -> Any:
    """The area below points, by trapezes."""
    axis = normal_dim(dim, len(y.shape))
    if y.shape and not y.shape[axis]:
        return y.new_zeros((*y.shape[:axis], *y.shape[axis + 1 :]))
    if x is not UNSAID:
        twice = O["sum"](_trapezes("trapezoid", y, x, dx, dim), axis)
        return called(twice / 2.0, "DivBackward1", twice)
    dx = _check_points("trapezoid", y, x, dx)
    first, last = (y[(*(slice(None),) * axis, place)] for place in (0, -1))
    whole = O["sum"](y, axis) - lasting((first + last) * 0.5)
    return called(lasting(whole * dx), "MulBackward1")


def cumulative_trapezoid(y: Any, x: Any = UNSAID, *, dx: Any = UNSAID, dim: int = -1) -> Any:
    """The area below points up to each of them, by trapezes."""
    half = _check_points("cumulative_trapezoid", y, x, dx) / 2.0 if x is UNSAID else dx
    pieces = _trapezes("cumulative_trapezoid", y, x, half, dim)
    found = O["cumsum"](pieces, normal_dim(dim, len(y.shape)))
    return found if x is UNSAID else called(found / 2.0, "DivBackward1", found)


def _check_points(name: str, y: Any, x: Any, dx: Any) -> Any:
    """The distance of points, 1 if none is given."""
    if x is not UNSAID and dx is not UNSAID:
        raise bad_type(f"{name}() takes the places x or their distance dx, not both")
    if x is not UNSAID and not hasattr(x, "shape"):
        raise not_a("Tensor", name, "x", 2, x)
    if not y.dtype.kind or (x is not UNSAID and not x.dtype.kind):
        which = "`y`" if x is UNSAID else "`x` or `y`"
        raise bad_dtype(f"{name}: received a bool input for {which}, but bool is not supported")
    if x is UNSAID and (is_complex(dx) or dx.__class__ is bool):
        raise bad_dtype(f"{name}: Currently, we only support dx as a real number.")
    return 1 if dx is UNSAID else dx


def _trapezes(name: str, y: Any, x: Any, dx: Any, dim: int) -> Any:
    """Twice the area between neighbours; a vector ``x`` has the places along ``dim``."""
    dx = _check_points(name, y, x, dx)
    axis = normal_dim(dim, len(y.shape))
    before = (slice(None),) * axis
    if x is not UNSAID:
        behind = 0
        if len(x.shape) == 1:
            if y.shape and x.shape[0] != y.shape[axis]:
                raise bad_shape(f"{name}: There must be one `x` value for each sample point")
            behind = len(y.shape) - 1 - axis
        lead = max(len(y.shape) - len(x.shape) - behind, 0)
        dx = diff(O["reshape"](x, (1,) * lead + (*x.shape,) + (1,) * behind), dim=axis)
    found = dx * (y[(*before, slice(1, None))] + y[(*before, slice(None, -1))])
    return lasting(found) if x is UNSAID else found


may_be("wider", diff, var, std)
may_be("deeper", mean)
may_be("any", sum, prod, nansum, cumsum, cumprod)
may_be("same", logcumsumexp, misfit=ONE_SCALAR)
may_be("none", var_mean, std_mean, dist, trapezoid, cumulative_trapezoid)
