"""Activations of ``gradcli.nn.functional``: formulas as in PyTorch's documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from gradcli.engine.creation.factories import empty, laid, ones_like, zeros, zeros_like
from gradcli.engine.creation.generator import drawing
from gradcli.engine.creation.sampling import bernoulli, rand
from gradcli.engine.dtypes import bool_, bounds, contiguous_format, float16, float32, float64
from gradcli.engine.record.arguments import Asked, Number
from gradcli.engine.record.composite import called, in_float32, named, rowwise
from gradcli.engine.record.dtype_checks import same_dtype
from gradcli.engine.record.face import face
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.record.out import may_be
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.tensor import Plain
from gradcli.functions import arithmetic, reductions
from gradcli.functions.index import found
from gradcli.functions.methods import public_operators
from gradcli.functions.nn.loss_checks import check_floating
from gradcli.ops.dims import normal_dim
from gradcli.ops.errors import UnwrittenFault, bad_argument, bad_dtype, bad_shape, bad_value
from gradcli.ops.operator import is_complex, refuse_derivative
from gradcli.ops.torch_messages import no_cast

__all__ = [
    "alpha_dropout", "celu", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "feature_alpha_dropout", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "leaky_relu", "log_softmax", "logsigmoid", "mish", "prelu", "relu",
    "relu6", "rrelu", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold",
]  # fmt: skip

_WRITTEN = ("celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold")
__all__ += [f"{name}_" for name in _WRITTEN]

_names = public_operators()
logsigmoid = _names["logsigmoid"]


def sigmoid(input: Asked) -> Any:
    """1 / (1 + exp(-x))."""
    return _O["sigmoid"](input)


def tanh(input: Asked) -> Any:
    """The hyperbolic tangent."""
    return _O["tanh"](input)


def softsign(input: Asked) -> Any:
    """``input / (1 + abs(input))``."""
    if is_complex(input):  # no function of z alone: the derivative is that of its parts
        return input / (1 + _O["abs"](input))
    return _O["softsign"](input)


def _implicit(name: str, input: Any, dim: int | None) -> int:
    """The dimension that PyTorch takes where none is given, with its warning."""
    if dim is not None:
        return dim
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument."
    )
    return 0 if len(input.shape) in (0, 1, 3) else 1


def softmax(input: Asked, dim: int | None = None, _stacklevel: Any = 3, dtype: Any = None) -> Any:
    """exp(x) over its sum along a dimension."""
    return reductions.softmax(input, _implicit("softmax", input, dim), dtype=dtype)


def log_softmax(
    input: Asked, dim: int | None = None, _stacklevel: Any = 3, dtype: Any = None
) -> Any:
    """The logarithm of softmax, exact where it is small."""
    return reductions.log_softmax(input, _implicit("log_softmax", input, dim), dtype=dtype)


def _written(function: Callable[..., Any], input: Any, *args: Any) -> Any:
    """``function`` written into ``input``: of a copy, which a rule that reads it may save."""
    if isinstance(input, Plain):
        return found("in_place.rewritten")(function)(input, *args)
    return input.copy_(function(input.clone(), *args))


def relu(input: Any, inplace: Any = False) -> Any:
    """The larger of ``input`` and 0."""
    return input.relu_() if inplace else _O["relu"](input)


def elu(input: Any, alpha: Number = 1.0, inplace: Any = False) -> Any:
    """``input`` where it is positive, else alpha*(exp(x) - 1)."""
    return _rounded_once("elu", input, inplace, alpha)


def leaky_relu(input: Any, negative_slope: Number = 0.01, inplace: Any = False) -> Any:
    """``input`` where it is positive, else ``negative_slope * input``."""
    return _rounded_once("leaky_relu", input, inplace, negative_slope)


def relu6(input: Any, inplace: Any = False) -> Any:
    """``input`` held between 0 and 6."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: Any = False) -> Any:
    """``input`` held between two bounds; its slope at a bound is 0."""
    refuse_derivative("hardtanh", min_val=min_val, max_val=max_val)
    if min_val > max_val:
        raise bad_argument("min_val cannot be greater than max_val")
    if inplace:
        return _written(hardtanh, input, min_val, max_val)
    if input.dtype.is_complex:
        raise UnwrittenFault("E0309", "clamp is not supported for complex types")
    if input.dtype.kind < 2:
        min_val, max_val = _whole_bounds(input, min_val, max_val)
    elif (min_val, max_val) == (-1.0, 1.0):
        return _O["hardtanh"](input)
    elif not min_val <= max_val:  # one of them is NaN, and so is all
        return called(_O["clamp"](input, min_val, max_val), "HardtanhBackward0", input)
    if min_val == 0:  # -0.0 stays
        out = _O["relu"](input)
    else:
        out = _O["where"](input <= min_val, min_val, input)
    out = _O["where"](input >= max_val, max_val, out)  # last: a later write may be to it
    return called(out, "HardtanhBackward0", input, leads=input)


def _whole_bounds(input: Any, *bounds: float) -> tuple[int, ...]:
    """The bounds of ``hardtanh`` of whole numbers. Raises RuntimeFault (E0309) as PyTorch does."""
    if not input.dtype.kind:
        raise bad_dtype("Bool inputs not supported for hardtanh")
    whole = tuple(map(int, bounds))
    if input.dtype.name == "uint8" and min(whole) < 0:
        raise bad_dtype("cannot do hardtanh on an unsigned type with negative limits")
    return whole


def softplus(input: Any, beta: Number = 1.0, threshold: Number = 20.0) -> Any:
    """log(1 + exp(beta*x)) / beta, and x itself where beta*x is above the threshold."""
    refuse_derivative("softplus", beta=beta, threshold=threshold)
    if getattr(input, "dtype", None) is float16:
        return in_float32(softplus, "SoftplusBackward0", input, beta, threshold)
    return _O["softplus_beta"](input, beta, threshold)


def _rounded_once(name: str, input: Any, inplace: Any, *numbers: Number) -> Any:
    """The operator ``name``, rounded once of halves too."""
    if inplace:
        return _written(lambda x: _rounded_once(name, x, False, *numbers), input)
    if getattr(input, "dtype", None) is float16:
        shown = f"{name.title().replace('_', '')}Backward0"
        return in_float32(lambda x: _O[name](x, *numbers), shown, input)
    return _O[name](input, *numbers)


def silu(input: Any, inplace: Any = False) -> Any:
    """x * sigmoid(x)."""
    check_floating(input, "silu_cpu")
    return _rounded_once("silu", input, inplace)


def mish(input: Any, inplace: Any = False) -> Any:
    """x * tanh(softplus(x))."""
    return _rounded_once("mish", input, inplace)


def gelu(input: Any, *, approximate: str = "none") -> Any:
    """x times the normal distribution function; ``approximate="tanh"`` for the older formula."""
    check_floating(input, "GeluKernelImpl", True)
    if input.dtype is float16:
        return in_float32(gelu, "GeluBackward0", input, approximate=approximate)
    if approximate == "tanh":
        return _O["gelu_tanh"](input)
    if approximate != "none":
        raise bad_value("approximate argument must be either none or tanh.")
    return _O["gelu"](input)


def selu(input: Any, inplace: Any = False) -> Any:
    """A scaled ``elu`` whose scales keep mean 0 and variance 1."""
    if inplace:
        return _written(selu, input)
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return _elu(input, alpha, scale, 1.0)


def celu(input: Any, alpha: Number = 1.0, inplace: Any = False) -> Any:
    """max(0, x) + min(0, alpha*(exp(x/alpha) - 1))."""
    if alpha == 0:
        raise bad_value("ZeroDivisionError: alpha cannot be 0 for CELU")
    if inplace:
        return _written(celu, input, alpha)
    return called(_elu(input, alpha, 1.0, 1.0 / alpha), "CeluBackward0")


def _elu(input: Any, alpha: float, scale: float, inner: float) -> Any:
    check_floating(input, "elu_cpu", True)
    input.dtype.entry(alpha)  # an error for one with an imaginary part
    alpha, inner = alpha.real, inner.real
    if input.dtype is float16:
        return in_float32(_elu, "EluBackward0", input, alpha, scale, inner)
    bent = input < 0  # at 0 it is straight, as PyTorch's second derivative has it
    below = _O["expm1"](_O["where"](bent, input, 0.0) * inner)
    below = _O["where"](bent, below, input * inner) * (alpha * scale)
    return called(_O["where"](input <= 0, below, input * scale), "EluBackward0", input)


def hardsigmoid(input: Any, inplace: Any = False) -> Any:
    """``x/6 + 1/2`` held between 0 and 1."""
    if inplace:
        return _written(hardsigmoid, input)
    check_floating(input, "hardsigmoid_cpu", True)
    if input.dtype is float16:
        return in_float32(hardsigmoid, "HardsigmoidBackward0", input)
    held = arithmetic.or_nan(_O["sign"](input) * 0.5 + 0.5, input)  # NaN stays, without a slope
    out = _O["where"](_O["abs"](input) < 3, input / 6.0 + 0.5, held)
    return called(out, "HardsigmoidBackward0", input, leads=input)


def hardswish(input: Any, inplace: Any = False) -> Any:
    """``x * hardsigmoid(x)``."""
    check_floating(input, "hardswish_cpu")
    return _rounded_once("hardswish", input, inplace)


def hardshrink(input: Any, lambd: Number = 0.5) -> Any:
    """``input`` where it is further from 0 than ``lambd``, else 0."""
    check_floating(input, "hardshrink_cpu", True)
    held = _O["where"](_O["abs"](input) <= lambd, 0.0, input)
    return called(held, "HardshrinkBackward0", input, leads=input)


def softshrink(input: Any, lambd: Number = 0.5) -> Any:
    """``input`` moved towards 0 by ``lambd``, 0 where it is nearer."""
    check_floating(input, "softshrink_check")
    most = bounds(input.dtype)[1]
    if not 0 <= lambd <= most:
        said = f"lambda must be in range [0, {most:g}] for input dtype {input.dtype.scalar_name},"
        raise bad_value(f"{said} but found {lambd:g}")
    if input.dtype is float16:
        return in_float32(softshrink, "SoftshrinkBackward0", input, lambd)
    moved = _O["where"](input > 0, input - lambd, input + lambd)
    out = _O["where"](_O["abs"](input) <= lambd, 0.0, moved)
    return called(out, "SoftshrinkBackward0", input, leads=input)


def tanhshrink(input: Asked) -> Any:
    """x - tanh(x)."""
    return input - _O["tanh"](input)


def threshold(input: Any, threshold: Number, value: float, inplace: Any = False) -> Any:
    """``input`` where it is above the threshold, else ``value``."""
    refuse_derivative("threshold", threshold=threshold, value=value)
    return (partial(_written, _above) if inplace else _above)(input, threshold, value)


def _above(input: Any, least: Number, value: float) -> Any:
    if input.dtype.kind in (0, 3):
        check_floating(input, "threshold_cpu", True)
    number = int if input.dtype.kind < 2 else float
    held = _O["where"](input.to(input.dtype.computed) <= number(least), number(value), input)
    return called(held, "ThresholdBackward0", input, leads=input)


def softmin(input: Asked, dim: int | None = None, _stacklevel: Any = 3, dtype: Any = None) -> Any:
    """softmax(-x)."""
    return reductions.softmax(-input, _implicit("softmin", input, dim), dtype=dtype)


def glu(input: Asked, dim: int = -1) -> Any:
    """The first half along a dimension times the sigmoid of the second."""
    check_floating(input, "glu_cpu", True)
    if not input.ndim:
        raise bad_shape("glu does not support scalars because halving size must be even")
    axis = normal_dim(dim, input.ndim)
    if input.shape[axis] % 2:
        said = f"dimension {axis} is size {input.shape[axis]}"
        raise bad_shape(f"Halving dimension must be even, but {said}")
    first, second = input.tensor_split(2, dim)
    return called(_O["glu"](first, second), "GluBackward0", input)


def prelu(input: Any, weight: Any) -> Any:
    """``input`` where it is positive, else ``weight * input``: one weight, or one a channel."""
    if weight.ndim > 1:
        said = f"Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        raise bad_shape(f"prelu: {said}")
    same_dtype(input, weight, "prelu: Type promoting not supported. Got {} and {}")
    check_floating(input, "prelu_cpu", True)
    if weight.numel() > 1:
        if not input.ndim:
            raise bad_shape("Not allow zero-dim input tensor.")
        channels = input.shape[1] if len(input.shape) > 1 else 1
        if weight.numel() != channels:
            said = "Mismatch of parameter numbers and input channel size. Found parameter numbers"
            raise bad_shape(f"{said} = {weight.numel()} and channel size = {channels}.")
        weight = _O["reshape"](weight, (-1,) + (1,) * (len(input.shape) - 2))
    else:
        weight = _O["reshape"](weight, ())
    said = "PreluKernelBackward0"
    return called(_O["where"](input > 0, input, weight * input), said, input, weight, leads=input)


def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
    inplace: Any = False,
) -> Any:  # fmt: skip
    """``leaky_relu`` with a slope drawn for each entry while training, else their mean."""
    check_floating(input, "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu")
    if lower > upper:
        raise bad_value("Lower bound should be less than or equal to the upper bound")
    if not training:
        out = leaky_relu(input, (lower + upper) / 2, inplace)
        return called(out if inplace else rowwise(out), "RreluWithNoiseBackward0")
    if inplace:
        return _written(rrelu, input, lower, upper, True)
    # A number is drawn for each entry that needs one, in float64.
    below = input <= 0
    drawn = rand((int(below.sum()),), dtype=float64) * (upper - lower) + lower
    slope = ones_like(input).masked_scatter(below, drawn.to(input.dtype))
    out = rowwise(_O["where"](below, input * slope, input))
    return called(out, "RreluWithNoiseBackward0", input, leads=input)


def gumbel_softmax(
    logits: Any, tau: float = 1.0, hard: Any = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """A sample of the Gumbel-softmax distribution; ``hard`` makes it one-hot, gradient kept."""
    rows = zeros_like(logits.detach(), memory_format=contiguous_format)
    noise = -_O["log"](rows.exponential_())
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = _O["argmax"](soft, dim, True)
    one = zeros_like(soft).scatter(dim, index, 1.0)
    return one - soft.detach() + soft


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: Any = False) -> Any:
    """Entries set to 0 with probability ``p``, the others scaled up, while training."""
    return _dropped(input, p, training, inplace)


def _trained(function: Any) -> Any:
    def of_train(input: Any, p: float, train: bool) -> Any:
        return function(input, p, train)

    return named(of_train, function.__name__, f"``nn.functional.{function.__name__}``.")


torch_dropout = _trained(dropout)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple:
    """``dropout``, and which entries it kept: all where ``train`` is False."""
    drops = _drops(p, train is not False)
    kept = _kept(input, p, tuple(input.shape)) if drops else ones_like(input)
    out = input * (kept * (1.0 / (1.0 - p) if p < 1 else 0.0)) if drops else input.clone()
    return called(out, "NativeDropoutBackward0", input), kept.to(bool_)


def _channels(input: Any, kept: int | None, p: float) -> tuple:
    if kept is None:
        return tuple(input.shape)
    if len(input.shape) < 2 and p < 1 and input.numel():
        raise bad_shape("Feature dropout requires at least 2 dimensions in the input")
    return tuple(input.shape[:kept]) + (1,) * (len(input.shape) - kept)


def dropout1d(input: Asked, p: float = 0.5, training: bool = True, inplace: Any = False) -> Any:
    """``dropout`` of whole channels of ``(N, C, L)`` or ``(C, L)``."""
    _drops(p, training)  # refuses p before a rank
    rank = len(input.shape)
    if rank not in (2, 3):
        raise bad_shape(f"dropout1d: Expected 2D or 3D input, but received a {rank}D input.")
    return _in_batch(input, p, training, inplace, rank == 3)


def _warn_of_rank(name: str, input: Any, spaces: int) -> None:
    rank = len(input.shape)
    if rank not in (spaces + 1, spaces + 2):
        warn(
            f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in "
            f"an error in a future release. Write dropout instead, or give {spaces + 1}D or "
            f"{spaces + 2}D inputs."
        )


def dropout2d(input: Asked, p: float = 0.5, training: bool = True, inplace: Any = False) -> Any:
    """``dropout`` of whole channels of ``(N, C, H, W)``."""
    if len(input.shape) == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired: it is read as (N, C, L). Write dropout1d instead."
        )
    _warn_of_rank("dropout2d", input, 2)
    return _dropped(input, p, training, inplace, 2)


def dropout3d(input: Asked, p: float = 0.5, training: bool = True, inplace: Any = False) -> Any:
    """``dropout`` of whole channels of ``(N, C, D, H, W)``; without N, of the first dimension."""
    _warn_of_rank("dropout3d", input, 3)
    return _in_batch(input, p, training, inplace, len(input.shape) == 5)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: Any = False) -> Any:
    """Dropout that keeps the mean 0 and the variance 1 of ``selu``."""
    return _alpha_dropped(input, p, training, inplace)


def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: Any = False
) -> Any:
    """``alpha_dropout`` of whole channels."""
    return _alpha_dropped(input, p, training, inplace, 2)


torch_alpha_dropout = _trained(alpha_dropout)
torch_feature_alpha_dropout = _trained(feature_alpha_dropout)


def _alpha_dropped(
    input: Any, p: float, training: bool, inplace: bool, channels: int | None = None
) -> Any:
    refuse_derivative("alpha_dropout", p=p)
    if not (_drops(p, training) and input.numel()):
        return input
    if p == 1:
        return _dropped(input, p, training, inplace, channels)
    alpha = 1.7580993408473766  # of selu: what its negative side tends to
    kept = _kept(input, p, _channels(input, channels, p))
    scale = 1.0 / math.sqrt((alpha * alpha * p + 1.0) * (1.0 - p))
    shift = (kept - 1.0) * (alpha * scale) + alpha * scale * p
    if inplace:
        return input.mul_(kept * scale).add_(shift)
    return called(input * (kept * scale) + shift, "AddBackward0", input, None)


def _drops(p: float, training: bool) -> bool:
    if not 0 <= p <= 1:
        raise bad_argument(f"dropout probability has to be between 0 and 1, but got {p}")
    return training and p > 0


def _kept(input: Any, p: float, shape: tuple) -> Any:
    """1 with probability ``1 - p``, else 0, in a shape that broadcasts with the input's."""

    def draw(shape: tuple) -> Any:
        return bernoulli(empty(shape, dtype=input.dtype), 1.0 - p)

    alone = drawing.get() is None and shape == tuple(input.shape)
    kept = laid(draw, input) if alone else draw(shape)
    if input.dtype.kind < 2:  # after the draw, which moves the generator
        raise no_cast(float32, input.dtype, "write input.float()")
    return kept


def _dropped(
    input: Any, p: float, training: bool, inplace: bool, channels: int | None = None
) -> Any:
    if not (_drops(p, training) and input.numel()):
        return input
    shape = _channels(input, channels, p)
    kept = _kept(input, p, shape) / (1.0 - p) if p < 1 else zeros((), dtype=input.dtype)
    return input.mul_(kept) if inplace else called(input * kept, "MulBackward0", input, None)


def _in_batch(input: Any, p: float, training: bool, inplace: bool, batched: bool) -> Any:
    """Dropout of whole channels, without a batch in one of its own."""
    if batched:
        return _dropped(input, p, training, inplace, 2)
    if inplace:
        return _dropped(input.unsqueeze_(0), p, training, inplace, 2).squeeze_(0)
    return _O["squeeze"](_dropped(_O["unsqueeze"](input, 0), p, training, inplace, 2), 0)


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    def written(input: Any, *args: Any, **options: Any) -> Any:
        return face(function, strict=True)(input, *args, inplace=True, **options)

    doc = f"``{function.__name__}``, written into ``input``."
    return named(written, f"{function.__name__}_", doc)


for _name in _WRITTEN:
    globals()[f"{_name}_"] = _in_place(globals()[_name])


may_be("same", gelu, hardshrink, softplus, softshrink, threshold)
