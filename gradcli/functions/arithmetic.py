"""Arithmetic with PyTorch's optional parameters, and what composes of it entry by entry.

``add(x, y, alpha=2)``, ``div(x, y, rounding_mode="floor")``, ``addcdiv``, ``lerp``: each is a
function and a method of Tensor. They call operators, so that Tensors, tangents and batches may all
be given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation.factories import check_parts, refuse_kinds
from gradcli.engine.grad_mode import mode
from gradcli.engine.record.apply import flipped_view, note_view
from gradcli.engine.record.arguments import Anything, Operand
from gradcli.engine.record.composite import bottom, called, in_float32, lasting, rowwise
from gradcli.engine.record.dtype_checks import one_number, same_dtype
from gradcli.engine.record.face import direct
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.errors import UnwrittenFault, bad_argument, bad_dtype, bad_shape, bad_value
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import differentiated, is_complex, is_number, refuse_derivative
from gradcli.ops.piecewise import unit
from gradcli.ops.torch_messages import NO_DERIVATIVE, not_a


def add(input: Operand, other: Operand, *, alpha: Any = 1) -> Any:
    """``input + alpha * other``."""
    if alpha.__class__ is not int or alpha != 1:
        alpha = factor("alpha", alpha, input, other)
    return O["add"](input, other) if alpha == 1 else O["add_scaled"](input, other, alpha)


def sub(input: Operand, other: Operand, *, alpha: Any = 1) -> Any:
    """``input - alpha * other``."""
    if alpha.__class__ is int and alpha == 1:
        return O["sub"](input, other)
    alpha = factor("alpha", alpha, input, other)
    if alpha == 1 or has_truths(input, other):
        return O["sub"](input, other)  # which refuses truths
    return called(O["add_scaled"](input, other, -alpha), "SubBackward0")


def has_truths(*values: Any) -> bool:
    """Whether one of the values is a truth, or a tensor of truths, which ``sub`` refuses."""
    return any(getattr(v, "dtype", v.__class__) in (dtypes.bool_, bool) for v in values)


def factor(name: str, value: Any, *operands: Any) -> Any:
    """``alpha`` or ``beta`` as an entry of the type that the operands meet in.

    Raises RuntimeFault (E0309) where that is of a lower kind, or no boolean and the factor one,
    TypeFault (E0303) where a derivative by it is asked for.
    """
    first = operands[0]
    if (
        value.__class__ is float and isinstance(first, Plain) and first.dtype.kind == 2
        and all(isinstance(v, Plain) and v.dtype is first.dtype for v in operands)
    ):  # fmt: skip
        return first.dtype.entry(value)
    refuse_derivative("add", **{name: value})
    if not any(hasattr(v, "dtype") for v in operands):
        return value
    dtype = dtypes.meeting(*operands)
    met, kind = dtype.kind, dtypes.meeting(value).kind
    said = f"For integral input tensors, argument {name} must not be a floating point number."
    if kind > met > 1:
        said = f"For non-complex input tensors, argument {name} must not be a complex number."
    elif not kind:
        said = f"Boolean {name} only supported for Boolean results."
    if (kind > met and kind > 1) or kind == 0 < met:
        raise bad_dtype(said, help=f"give {name} in the type of the tensors")
    return dtype.entry(value)


def rsub(input: Any, other: Operand, alpha: Any = 1) -> Any:
    """``other - alpha * input``."""
    out = sub(other, input, alpha=alpha)
    if not isinstance(other, Plain):
        return called(out, "RsubBackward1", input)
    return called(out, "RsubBackward0", input, other, turned=True)


def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Any:
    """The quotient; ``rounding_mode`` is None, ``"trunc"`` or ``"floor"``."""
    if rounding_mode is None:
        return O["div"](input, other)
    both = tuple(v if isinstance(v, Plain) else None for v in (input, other))
    if rounding_mode == "floor":
        return called(O["floor_divide"](input, other), "DivBackward2", *both)
    if rounding_mode != "trunc":
        said = "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found"
        raise bad_value(f"{said} {rounding_mode!r}")
    if _whole(input) and _whole(other):
        left = O["fmod"](input, other)
        input = (
            input.to(left.dtype) if isinstance(input, Tensor) else +input
        )  # a truth has no minus
        return O["floor_divide"](input - left, other)
    return called(O["trunc_divide"](input, other), "DivBackward2", *both)


def pow(input: Operand, exponent: Operand) -> Any:
    """``input ** exponent``."""
    return O["pow"](input, exponent)


def _whole(value: Any) -> bool:
    return isinstance(value, int) if is_number(value) else value.dtype.kind < 2


def refuse_whole_quotient(tensor1: Any, tensor2: Any) -> None:
    """Raise RuntimeFault (E0309) where ``addcdiv`` would divide whole numbers."""
    if _whole(tensor1) and _whole(tensor2):
        said = "Integer division with addcdiv is no longer supported"
        raise bad_dtype(said, help="write tensor1.float()")


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``input + value * tensor1 * tensor2``."""
    return O["addcmul"](input, tensor1, tensor2, value)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``input + value * tensor1 / tensor2``."""
    refuse_derivative("addcdiv", value=value)
    refuse_whole_quotient(tensor1, tensor2)
    operands = input, tensor1, tensor2
    met = dtypes.meeting(*operands)
    if met is dtypes.float16:
        return in_float32(addcdiv, "AddcdivBackward0", *operands, value=value)
    wide = tensor1.to(met)
    first = wide if value == 1 else met.entry(value) * wide
    return called(input + first / tensor2.to(met), "AddcdivBackward0", *operands)


def lerp(input: Any, end: Tensor, weight: Operand) -> Any:
    """From ``input`` to ``end``, by ``weight`` of the way."""
    if not is_number(end):
        same_dtype(input, end, "expected dtype {} for `end` but got dtype {}")
    if not is_number(weight):
        if weight.shape != ():
            c_names = input.dtype.c_name, weight.dtype.c_name
            said = "expected dtype {} for `weight` but got dtype {}".format(*c_names)
            same_dtype(input, weight, said)
        refuse_kinds("bool int", "lerp_kernel_tensor", input.dtype)
        half = dtypes.float16
        if input.dtype is half and (input.shape or end.shape or weight.dtype is half):
            return in_float32(lerp, "LerpBackward1", input, end, weight)
        return called(O["lerp_tensor"](input, end, weight), "LerpBackward1", input, end, weight)
    return O["lerp_number"](input, end, input.dtype.computed.entry(weight))


def clamp(input: Any, min: Operand = None, max: Operand = None) -> Any:
    """``input`` held between two bounds: numbers or tensors, either of them left out."""
    if not any(getattr(bound, "__gradcli_rank__", 0) for bound in (min, max)):
        if complex in (type(min), type(max)):
            raise UnwrittenFault("E0309", "clamp is not supported for complex types")
        if hasattr(bottom(input), "dtype"):  # a symbol has none
            if input.dtype.kind < 2 and float in (type(min), type(max)):
                input = input.to(dtypes.get_default_dtype())
            if input.dtype.kind:  # an unsigned bound counts -1 from the top
                min, max = (None if b is None else input.dtype.entry(b) for b in (min, max))
        return O["clamp"](input, min=min, max=max)
    # A number beside a tensor, which PyTorch refuses, is what ``clamp(x, 0, c)`` says of any c.
    # At a bound the derivative is the input's, as between numbers.
    if min is not None and max is not None and isinstance(bottom(input), Tensor):
        # The three meet at once: beside one bound alone a 0-d one can decide more, or less.
        input = input.to(dtypes.meeting(input, min, max))
    out = input if min is None else _held(input, min, O["lt"])
    out = out if max is None else _held(out, max, O["gt"])
    if min is not None and max is not None:
        refuse_kinds("bool", "clamp_cpu", out.dtype)
    return called(out, "ClampBackward0", input, min, max)


def _held(input: Any, bound: Any, past: Any) -> Any:
    """``bound`` where ``input`` is past it; NaN, which moves with neither, where either is NaN.

    That NaN is a clamp's, which is no branch: what made it keeps its own NaN in gradients.
    """
    held = O["where"](past(input, bound), bound, input)
    if held.dtype.kind < 2:
        return held
    missing = O["logical_or"](O["ne"](input, input), O["ne"](bound, bound))
    if missing.__class__ is Tensor and not missing.array.any():
        return held
    # A symbol is no NaN: what stands there has to vanish from its closed forms.
    known = hasattr(bottom(missing), "array")
    met = input + bound
    return O["where"](missing, O["clamp"](met, max=np.inf) if known else 0.0 * met, held)


def clamp_min(input: Any, min: Operand) -> Any:
    """``input`` where it is above ``min``, else ``min``."""
    name = f"ClampMinBackward{isinstance(min, Plain):d}"
    return called(clamp(input, min=min), name, input, min)


def clamp_max(input: Any, max: Operand) -> Any:
    """``input`` where it is below ``max``, else ``max``."""
    name = f"ClampMaxBackward{isinstance(max, Plain):d}"
    return called(clamp(input, max=max), name, input, max)


def nan_to_num(input: Any, nan: float | None = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and the infinities replaced by numbers: 0, and the largest and smallest of the dtype."""
    refuse_derivative("nan_to_num", nan=nan, posinf=posinf, neginf=neginf)
    if input.dtype.kind < 2:
        return O["clone"](input)
    if is_complex(input):
        parts = (nan_to_num(O[part](input), nan, posinf, neginf) for part in ("real", "imag"))
        return called(O["of_parts"](*parts), "NanToNumBackward0", input)
    most = float(np.finfo(input.dtype.numpy).max)
    out = O["where"](O["isnan"](input), 0.0 if nan is None else nan, input)
    out = O["where"](input == float("inf"), most if posinf is None else posinf, out)
    out = O["where"](input == -float("inf"), -most if neginf is None else neginf, out)
    return called(out, "NanToNumBackward0", input)


def round(input: Any, *, decimals: int | None = None) -> Any:
    """The nearest number of so many decimals, ties to even."""
    refuse_derivative("round", decimals=decimals)
    if decimals is None:
        return O["round"](input)
    refuse_kinds("bool int", "round_cpu", input.dtype)
    if input.dtype is dtypes.float16:  # a half times a power of ten overflows
        return in_float32(round, "RoundBackward1", input, decimals=decimals)
    # By a whole power of ten both ways: 10.0**-3 is none in float32.
    power = 10.0 ** abs(decimals)
    if decimals < 0:
        scaled = O["round"](lasting(input / power)) * power
    else:
        scaled = O["round"](lasting(input * power)) / power
    return called(lasting(scaled), "RoundBackward1", input)


def _real_only(name: str, input: Any) -> None:
    if is_complex(input):
        raise bad_dtype(f"{name} is not supported for complex tensors.")


def deg2rad(input: Any) -> Any:
    """Degrees as radians."""
    _real_only("deg2rad", input)
    return called(lasting(input * (np.pi / 180.0)), "Deg2RadBackward0")


def rad2deg(input: Any) -> Any:
    """Radians as degrees."""
    _real_only("rad2deg", input)
    return called(lasting(input * (180.0 / np.pi)), "Rad2DegBackward0")


def sgn(input: Any) -> Any:
    """The sign of real numbers; complex numbers divided by their size, 0 where that is 0."""
    return called(unit(input), "SgnBackward0", input)


def or_nan(value: Any, x: Any) -> Any:
    """``value``, NaN where ``x`` is: a clamp's, as in ``_held``; of symbols and of whole numbers,
    which are no NaN, ``value``."""
    if not hasattr(bottom(x), "array") or x.dtype.kind < 2:
        return value
    return O["where"](O["eq"](x, x), value, O["clamp"](x, max=np.inf))


def nan_in_slope(x: Any) -> Any:
    """``x``, whose slope is NaN where it is NaN: what takes its sign has a slope of 0 there."""
    if x.__class__ is Tensor and not np.isnan(x.array).any():
        return x
    if not hasattr(bottom(x), "array"):
        return x
    # A product of NaN with itself keeps its sign; of the factor, infinity times 0 is no slope.
    return x * O["where"](O["eq"](x, x), 1.0, x.detach())


def positive(input: Any) -> Any:
    """``+input``. Raises RuntimeFault (E0309) for booleans."""
    if not input.dtype.kind:
        raise bad_dtype("The `+` operator, on a bool tensor is not supported.")
    return O["clone"](input) if mode.rebinds and input.ndim else input  # NumPy's is a copy


def copysign(input: Any, other: Operand) -> Any:
    """The size of ``input`` with the sign of ``other``."""
    if not is_number(other) and not hasattr(other, "shape"):
        raise not_a("Tensor", "copysign", "other", 1, other)
    known = is_number(other) or hasattr(bottom(other), "array")
    met = dtypes.meeting(input, other) if known else input.dtype
    refuse_kinds("complex", "copysign_cpu", met)
    traced = getattr(other, "__gradcli_rank__", 0)  # a Tensor, or what stands for one
    signs = O["signbit"](other) if traced else np.signbit(other)
    input = input.to(met if met.kind > 1 else dtypes.get_default_dtype())
    size = O["abs"](input)
    out = nan_in_slope(O["where"](signs, -size, size))
    if not isinstance(other, Plain):
        return called(out, "CopysignBackward1", input)
    if other.edge is not None:  # nothing of it is taken, and so zeros are what arrives there
        out = O["where"](wrap(np.ones((), bool), dtypes.bool_), out, O["sign"](other))
    return called(out, "CopysignBackward0", input, other)


def polygamma(n: int, input: Any) -> Any:
    """The derivative of order ``n`` of digamma.

    Raises RuntimeFault (E0304) for a negative n, TypeFault (E0303) for one that requires grad.
    """
    if differentiated(n):
        raise not_a("int", "polygamma", "n", 1, n, NO_DERIVATIVE)
    if n < 0:
        raise bad_value("polygamma(n, x) does not support negative n.")
    return O["polygamma"](input, int(n))


def mvlgamma(input: Any, p: int) -> Any:
    """The logarithm of the Gamma function of ``p`` dimensions. Raises RuntimeFault (E0304)."""
    if p < 1:
        raise bad_value("p has to be greater than or equal to 1")
    charge_shape((p, 400 + 16 * input.numel()), 1)  # a few nodes and what they keep
    total = sum(O["lgamma"](input - 0.5 * j) for j in range(p))
    constant = 0.25 * p * (p - 1) * float(np.log(np.pi))
    return called(rowwise(total + constant), "MvlgammaBackward0", input)


def logit(input: Any, eps: float | None = None) -> Any:
    """``log(x/(1 - x))``; with ``eps``, x is first held within eps and 1 - eps."""
    refuse_derivative("logit", eps=eps)
    if eps is None:
        return O["logit"](input)
    low = input < eps
    outside = O["logical_or"](low, input > 1.0 - eps)
    held = O["logit"](O["where"](low, eps, clamp(input.detach(), max=1.0 - eps)))
    # Not through the clamp: its tangent of 0 times the slope at 0 or 1 would be NaN.
    out = O["where"](outside, held, O["logit"](O["where"](outside, 0.5, input)))
    return called(out, "LogitBackward0", input)


def float_power(input: Operand, exponent: Operand) -> Any:
    """``input ** exponent`` in float64, or complex128 where either is complex."""
    wide = dtypes.complex128 if is_complex(input) or is_complex(exponent) else dtypes.float64
    return O["pow"](*(x if is_number(x) else x.to(wide) for x in (input, exponent)))


_MODES = (
    "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"
)  # fmt: skip


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Anything = _MODES[0]) -> Any:
    """The p-norm distances between all rows of two matrices.

    Distances are computed from differences, whatever ``compute_mode`` says: the way through a
    product of matrices loses the digits of small ones.
    """
    if not isinstance(compute_mode, str) or compute_mode not in _MODES:
        raise bad_argument(f"{compute_mode} is not a valid value for compute_mode")
    if not p >= 0:
        raise bad_value("cdist only supports non-negative p values")
    for i, x in enumerate((x1, x2), 1):
        if len(x.shape) < 2:
            raise bad_shape(f"cdist only supports at least 2D tensors, X{i} got: {len(x.shape)}D")
        if x.dtype.kind != 2:
            kind = x.dtype.scalar_name
            raise bad_dtype(f"cdist only supports floating-point dtypes, X{i} got: {kind}")
    refuse_kinds("half", "cdist", x1.dtype)
    same_dtype(x1, x2)
    if x1.shape[-1] != x2.shape[-1]:
        said = "X1 and X2 must have the same number of columns."
        raise bad_shape(f"{said} X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    gaps = O["unsqueeze"](x1, -2) - O["unsqueeze"](x2, -3)
    return called(distances(gaps, p), "CdistBackward0", x1, x2)


def distances(gaps: Any, p: float) -> Any:
    """The p-norms of differences of rows."""
    p = p if gaps.shape[-1] else 2.0  # of no columns any is 0
    if p == 0:  # unlike in a norm, no NaN is counted
        gaps = O["where"](O["isnan"](gaps), np.nan, O["sign"](gaps) ** 2)
        return O["sum"](gaps, -1)
    return O["norm"](nan_in_slope(gaps) if p in (1, np.inf) else gaps, p, -1)


def angle(input: Any) -> Any:
    """The angle of complex numbers; of real ones 0 or pi."""
    if input.is_complex():
        return called(O["atan2"](input.imag, input.real), "AngleBackward0", input)
    flat = or_nan(0.0 * O["sign"](input) + 0.0, input)  # NaN stays, without a slope
    return called(O["where"](input < 0, np.pi, flat), "AngleBackward0", input)


def polar(abs: Any, angle: Any) -> Any:
    """Complex numbers of a size and an angle. Raises RuntimeFault (E0309) but for two of one float
    dtype, TypeFault (E0303) for what is no tensor.
    """
    for position, (name, part) in enumerate((("abs", abs), ("angle", angle)), 1):
        if not hasattr(part, "dtype"):
            raise not_a("Tensor", "polar", name, position, part)
    check_parts(abs, angle, "polar_cpu", "write angle.to(abs.dtype)")
    found = O["of_parts"](abs * O["cos"](angle), abs * O["sin"](angle))
    return called(found, "PolarBackward0", abs, angle)


def real(input: Any) -> Any:
    """The real part; a real tensor itself."""
    return O["real"](input) if input.is_complex() else input


def conj_physical(input: Any) -> Any:
    """The complex conjugate in memory of its own; a real tensor itself."""
    return called(O["conj"](input), "ConjPhysicalBackward0") if input.is_complex() else input


def conj(input: Any) -> Any:
    """The complex conjugate, as a view that is computed when it is read; a real tensor itself.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1 + 2j, 3j])
        >>> x.conj()[0] = 5j
        >>> x
        tensor([0.-5.j, 0.+3.j])
    """
    if not input.is_complex():
        return input
    if isinstance(input, Plain):
        return flipped_view(input)
    viewed = getattr(input, "viewed", None)  # of what stands for a tensor in a transform
    return O["conj"](input) if viewed is None else viewed(conj)


def fill(input: Any, value: Operand) -> Any:
    """``value`` in every place."""
    one_number(value)
    if is_number(value) and hasattr(bottom(input), "dtype"):
        value = input.dtype.entry(value)
    name = f"FillBackward{isinstance(value, Plain):d}"
    return called(O["put"](input, value, Ellipsis), name, input, value)


def resolve_conj(input: Any) -> Any:
    """``input``, or a copy in memory of its own where ``is_conj(input)``."""
    return O["clone"](input) if is_conj(input) else input


def resolve_neg(input: Any) -> Any:
    """``input``, or a copy in memory of its own where ``is_neg(input)``."""
    return O["clone"](input) if is_neg(input) else input


def is_conj(input: Any) -> bool:
    """Whether conjugation is still to be done: the tensor is a view that ``conj`` made."""
    return input.is_complex() and _flips(input)


def is_neg(input: Any) -> bool:
    """Whether a change of sign is still to be done: the imaginary part of such a conjugate."""
    return not input.is_complex() and _flips(input)


def _flips(x: Any) -> bool:
    return getattr(bottom(x), "_flips", False)


def view_as_real(input: Any) -> Any:
    """The two parts of complex numbers along a last dimension."""
    if getattr(input, "__gradcli_rank__", 0) > 1:  # stands for a tensor in a transform
        return input.viewed(view_as_real)
    if not input.is_complex():
        raise bad_dtype("view_as_real is only supported for complex tensors")
    if is_conj(input):
        raise bad_dtype("view_as_real doesn't work on unresolved conjugated tensors.")
    out = called(O["stack"](input.real, input.imag, dim=-1), "ViewAsRealBackward0", input)
    if isinstance(input, Plain):
        out.array = input.own_array()[..., None].view(out.array.dtype)
        note_view(out, input)
    return out


may_be(
    "wider",
    add, sub, rsub, div, pow, addcmul, addcdiv, lerp, clamp, clamp_min, clamp_max, deg2rad,
    rad2deg, copysign, mvlgamma, logit, angle, polygamma,
)  # fmt: skip
may_be(
    "same", float_power,
    misfit="the output given to float_power has dtype {given} but the operation's result requires "
    "dtype {made}",
)  # fmt: skip
may_be(
    "none", cdist, positive, conj, resolve_conj, resolve_neg, rsub, fill, view_as_real, real,
    is_conj, is_neg,
)  # fmt: skip
direct(add, sub, div, pow, addcmul)
