"""Layers of ``gradcli.nn.functional``: linear maps, normalisations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.dtypes import bounds, float16, float32
from gradcli.engine.grad_mode import outside_transforms
from gradcli.engine.record.arguments import Anything, Asked, Sized
from gradcli.engine.record.composite import (
    bottom,
    called,
    formatted,
    in_double,
    in_float32,
    of_its_own,
    rowwise,
)
from gradcli.engine.record.dtype_checks import same_dtype
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.record.multi_output import joined as outputs
from gradcli.engine.record.out import may_be
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.functions import arithmetic
from gradcli.functions.nn.loss_checks import check_floating
from gradcli.functions.nn.padding import pad
from gradcli.ops.comparison import all_finite
from gradcli.ops.errors import (
    Fault,
    IndexFault,
    RuntimeFault,
    TypeFault,
    ValueFault,
    bad_argument,
    bad_dtype,
    bad_shape,
    bad_value,
)
from gradcli.ops.torch_messages import no_room, not_a

__all__ = [
    "batch_norm", "bilinear", "group_norm", "instance_norm", "layer_norm", "linear",
    "local_response_norm", "normalize", "rms_norm",
]  # fmt: skip


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""
    several = bias is not None and isinstance(input, Plain) and 0 < input.ndim != 2
    if several and input.numel() and input.is_contiguous():
        flat = linear(_O["reshape"](input, (-1, input.shape[-1])), weight, bias)
        return _O["reshape"](flat, (*input.shape[:-1], *flat.shape[1:]))
    turned = weight.t()
    if bias is not None and getattr(input, "dtype", 0) is weight.dtype is bias.dtype is float16:
        name = "AddmmBackward0" if input.ndim == 2 else "ViewBackward0"
        return in_float32(lambda b, x, w: linear(x, w.t(), b), name, bias, input, turned)
    try:
        out = input @ turned
    except (RuntimeFault, TypeFault) as fault:
        raise _misfit(fault, input, weight, bias) from None
    if bias is None:
        return out
    if bias.dtype is not weight.dtype:
        same_dtype(bias, weight, "self and mat2 must have the same dtype, but got {} and {}")
    total = out + bias
    if total.shape != out.shape:
        raise no_room(out.shape, total.shape)
    if input.ndim == 2:
        return called(total, "AddmmBackward0", bias, input, turned)
    return total


def _misfit(fault: Fault, input: Any, weight: Any, bias: Any) -> Fault:
    """The error of a linear map in PyTorch's words."""
    if not hasattr(input, "dtype"):
        return not_a("Tensor", "linear", "input", 1, input)
    if input.dtype is not weight.dtype and bias is not None:
        names = input.dtype.scalar_name, weight.dtype.scalar_name
        fault.torch = f"mat1 and mat2 must have the same dtype, but got {names[0]} and {names[1]}"
    return fault


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``input1 @ W[k] @ input2`` for each output ``k``."""
    if len(weight.shape) != 3 or len(input1.shape) != len(input2.shape):
        said = f"got {len(input1.shape)} and {len(input2.shape)}"
        raise bad_shape(f"bilinear(): input dimensions do not match: {said}")
    for at, (m, n) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if m != n:
            said = f"do not match at dim {at}: got {m} and {n}"
            raise bad_shape(f"bilinear(): input batch dimensions {said}")
    sizes = (*input1.shape[-1:], *input2.shape[-1:])
    if tuple(weight.shape[1:]) != sizes or (
        bias is not None and (not bias.shape or bias.shape[0] != weight.shape[0])
    ):
        said = f"input sizes {list(sizes)} or the bias do not match weight size: got"
        raise bad_shape(f"bilinear(): {said} {list(weight.shape)}")
    if not input1.dtype is input2.dtype is weight.dtype or (
        bias is not None and bias.dtype is not weight.dtype
    ):
        kinds = ", ".join(v.dtype.c_name for v in (input1, input2, weight))
        raise bad_dtype(f"All tensors must have the same dtype, got {kinds}")
    if input1.dtype is float16:
        return in_float32(bilinear, "AddBackward0", input1, input2, weight, bias)
    left = _O["matmul"](_O["unsqueeze"](_O["unsqueeze"](input1, -2), -2), weight)
    out = _O["sum"](_O["squeeze"](left, -2) * _O["unsqueeze"](input2, -2), -1)
    out = out if out.dtype is weight.dtype else out.to(weight.dtype)  # of a sum of small integers
    out = _O["reshape"](out, tuple(out.shape))  # a view, as PyTorch's
    return out if bias is None else out + bias


def normalize(input: Asked, p: float = 2.0, dim: Anything = 1, eps: float = 1e-12) -> Any:
    """Vectors along a dimension over their norm."""
    size = arithmetic.clamp_min(_O["norm"](input, p, dim, True), eps)
    known = getattr(bottom(size), "array", None)
    if known is not None and not all_finite(known):  # over an overflow the quotient would be 0
        parts = (input.real, input.imag) if input.is_complex() else (input,) * 2
        most = _O["amax"](_O["maximum"](*map(abs, parts)), dim, True)
        lost = (size == math.inf) & (most < math.inf)
        input = input / _O["where"](lost, most, 1.0)
        size = arithmetic.clamp_min(_O["norm"](input, p, dim, True), eps)
    return input / size


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Mean 0 and variance 1 over the last dimensions, then ``weight`` and ``bias``."""
    shape = _last(input, normalized_shape)
    if input.dtype.kind != 2:
        check_floating(input, "LayerNormKernelImpl", True)
    _check_affine(weight, bias, shape, "of same shape as normalized_shape")
    _check_dtypes(input, weight, bias)
    dims = -1 if len(shape) == 1 else tuple(range(-len(shape), 0))
    own, w, b = _wide(input, weight, bias)
    out = rowwise(_narrow(_scaled(_standard(own, dims, eps), w, b), input))
    return called(out, "NativeLayerNormBackward0", input, weight, bias, leads=(input, weight))


def _check_affine(weight: Any, bias: Any, shape: tuple, wanted: str) -> None:
    """Raise RuntimeFault (E0301) unless ``weight`` and ``bias`` have a ``shape``."""
    for which, given in (("weight", weight), ("bias", bias)):
        if given is not None and tuple(given.shape) != shape:
            said = f"but got {which} of shape {list(given.shape)}"
            raise bad_shape(f"Expected {which} to be {wanted}, {said}")


def _check_dtypes(input: Any, *given: Any) -> None:
    """Raise RuntimeFault unless all have one dtype, or all but an ``input`` of halves float32."""
    types = [v.dtype for v in given if v is not None]
    wanted = input.dtype if not types or types[0] is input.dtype else float32
    for dtype in types:
        if dtype is not wanted and wanted is input.dtype:
            said = f"expected scalar type {wanted.scalar_name} but found {dtype.scalar_name}"
            raise bad_dtype(said)
        if dtype is not wanted:
            raise bad_dtype("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if wanted is not input.dtype is not float16:
        raise bad_dtype("mixed dtype (CPU): all inputs must share same datatype.")


def _wide(*given: Any) -> list:
    """What PyTorch's kernels compute with: halves as float32, rounded once in the end."""
    return [v.to(float32) if v is not None and v.dtype is float16 else v for v in given]


def _narrow(out: Any, input: Any) -> Any:
    return out if out.dtype is input.dtype else out.to(input.dtype)


def _last(input: Any, normalized_shape: Sequence[int]) -> tuple[int, ...]:
    """``normalized_shape``. Raises RuntimeFault (E0301) unless ``input`` ends in these sizes."""
    shape = tuple(normalized_shape)
    if not shape:
        raise bad_shape("Expected normalized_shape to be at least 1-dimensional")
    if tuple(input.shape[-len(shape) :]) != shape:
        sizes = ", ".join(map(str, shape))
        said = f"Given normalized_shape={list(shape)}, expected input with shape [*, {sizes}], but"
        raise bad_shape(f"{said} got input of size{list(input.shape)}")
    return shape


def _standard(input: Any, dims: int | tuple, eps: float) -> Any:
    return _over_root(_O["centred"](input, dims), dims, eps)


def _over_root(x: Any, dims: int | tuple, eps: Any) -> Any:
    """``x / sqrt(mean + eps)`` by the mean of its squares, scaled where these overflow."""
    mean = _O["mean"](_O["square"](x), dims, True)
    known = getattr(bottom(mean), "array", None)
    if known is None:
        eps = 0.0 * mean + eps  # NaN where squares overflow: 0 would look like a result
    elif np.any(known > (most := 2.0 ** (np.finfo(x.dtype.numpy).maxexp // 4))):
        # Slopes take powers of the root, which underflow long before the mean overflows.
        size = _O["clamp"](_O["amax"](_O["abs"](x.detach()), dims, True), 1.0, bounds(x.dtype)[1])
        shrink = _O["where"](mean > most, _O["exp2"](-_O["floor"](_O["log2"](size))), 1.0)
        x, eps = x * shrink, eps * shrink * shrink
        mean = _O["mean"](_O["square"](x), dims, True)
    return x * _O["rsqrt"](mean + eps)


def _scaled(out: Any, weight: Any, bias: Any, shape: tuple[int, ...] | None = None) -> Any:
    """``out * weight + bias``, of which each may be None, first in a ``shape`` that broadcasts."""
    if shape is not None:
        weight, bias = (None if v is None else _O["reshape"](v, shape) for v in (weight, bias))
    out = out if weight is None else out * weight
    if bias is not None and bias.shape == out.shape:
        bias = _O["pad"](bias, (0, 0))  # its gradient has memory of its own
    return out if bias is None else out + bias


def rms_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Any:
    """``input`` over the root of the mean of its squares over the last dimensions."""
    refuse_kinds("bool int", "rms_norm", input.dtype)
    shape = _last(input, normalized_shape)
    _check_affine(weight, None, shape, "of same shape as normalized_shape")
    own = _wide(input)[0]
    eps = float(np.finfo(own.dtype.numpy).eps) if eps is None else eps
    out = _over_root(own, tuple(range(-len(shape), 0)), eps)
    return rowwise(_narrow(_scaled(out, weight, None), input))


def _beside_channels(input: Any) -> tuple[int, ...]:
    """All dimensions but that of channels, which only an empty vector lacks."""
    if len(input.shape) < 2 and input.numel():
        raise bad_shape("batch_norm takes an input of shape (N, C, ...)")
    return 0, *range(2, len(input.shape))


def batch_norm(
    input: Sized, running_mean: Tensor | None, running_var: Tensor | None, weight: Any = None,
    bias: Any = None, training: bool = False, momentum: float | None = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Mean 0 and variance 1 for each channel: of the batch while training, else as they run."""
    dims, channels = _beside_channels(input), (*input.shape, 0)[1]
    shape = (1,)[: len(input.shape) - 1] + (channels,) + (1,) * (len(input.shape) - 2)
    if eps < 0 and not training:
        raise bad_argument(f"batch_norm eps must be non-negative, but got {eps}")
    if training:
        _both_or_neither(running_mean, running_var)
        if eps <= 0:
            raise bad_argument(f"batch_norm eps must be positive during training, but got {eps}")
        if 0 < input.numel() < 2 * channels:
            said = f"value per channel when training, got input size {input.shape}"
            raise ValueFault("E0301", f"Expected more than 1 {said}")
    if not input.numel():  # as PyTorch: there is no second derivative without a weight
        first = (v if v is None else v[0] for v in (weight, bias))
        return _scaled(_O["clone"](input), *first)
    _check_channels(input, channels, running_mean, running_var, weight, bias)
    _check_dtypes(input, weight, bias, running_mean, running_var)
    own, mean, variance, w, b = _wide(input, running_mean, running_var, weight, bias)
    if training:
        out = _standard(own, dims, eps)
        if running_mean is not None and running_var is not None:
            with outside_transforms():
                known = _known(own.detach())
                _move(running_mean, momentum, _O["mean"](known, dims))
                _move(running_var, momentum, _O["var"](known, dims, 1))
    elif running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise bad_value(f"{missing} must be defined in evaluation mode")
    else:
        mean, variance = (_O["reshape"](v, shape) for v in (mean, variance))
        out = (own - mean) * _O["rsqrt"](variance + eps)
    out = _scaled(out, w, b, shape)
    out = formatted(_narrow(out, input), input, gapless=True)
    return called(out, "NativeBatchNormBackward0", input, weight, bias, leads=(input, weight))


def _check_channels(input: Any, count: int, *given: Any) -> None:
    """Raise where a normalisation's vectors have not one number for each of ``count`` channels.

    RuntimeFault: E0301 for sizes, E0304 for statistics that ask for a gradient. UnwrittenFault
    (E0309) for an input that is not of real floating-point numbers.
    """
    if input.dtype.kind != 2:
        check_floating(input, "batch_norm", True)
    for i, value in enumerate(given):
        if value is None:
            continue
        if tuple(value.shape) != (count,):
            raise bad_shape(f"{_VECTORS[i]} should contain {count} elements not {value.numel()}")
        if i < 2 and getattr(value, "requires_grad", False):
            said = "The function 'native_batch_norm' is not differentiable with respect to argument"
            raise bad_value(f"{said} {_VECTORS[i]!r}. This input cannot have requires_grad True.")


def _move(running: Any, momentum: Any, value: Any) -> None:
    """Move a running statistic towards a ``value``, unrecorded.

    Raises E0304 where that is a batch alone, or ``momentum`` of a graph.
    """
    if getattr(momentum, "requires_grad", False):  # of a tangent: others are no numbers
        said = "The function 'native_batch_norm' is not differentiable with respect to argument"
        raise bad_value(f"{said} 'momentum'. This input cannot have requires_grad True.")
    if getattr(value, "batch", False) and not getattr(running, "batch", False):
        raise bad_value(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which "
            "will be updated in place, were not batched.",
            help="write track_running_stats=False",
        )
    running.copy_(_wide(running)[0] * (1 - momentum) + momentum * value)


_VECTORS = ("running_mean", "running_var", "weight", "bias")


def _known(value: Any) -> Any:
    """What running statistics move by: of a batch of equal values one."""
    while getattr(value, "batch", False) and value.content.stride()[:1] == (0,):
        value = value.content[0]
    return value


def _both_or_neither(running_mean: Any, running_var: Any) -> None:
    if (running_mean is None) is not (running_var is None):
        said = "must either both be None or neither be None"
        raise bad_argument(f"running_mean and running_var {said}")


def instance_norm(
    input: Sized, running_mean: Any = None, running_var: Any = None, weight: Any = None,
    bias: Any = None, use_input_stats: bool = True, momentum: Any = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """``batch_norm`` for each sample alone."""
    _both_or_neither(running_mean, running_var)
    if not use_input_stats:
        if running_mean is not None:  # in whatever dtype, as here PyTorch computes with copies
            dtype = (input if weight is None else weight).dtype
            running_mean, running_var = running_mean.to(dtype), running_var.to(dtype)
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    shape, dims = (1, -1) + (1,) * (len(input.shape) - 2), tuple(range(2, len(input.shape)))
    count = math.prod(input.shape[2:])
    if count == 1:
        said = f"Expected more than 1 spatial element when training, got input size {input.shape}"
        raise ValueFault("E0301", said)
    if input.numel():
        _check_channels(input, input.shape[1], running_mean, running_var, weight, bias)
    elif not input.shape[0] and (weight is not None or bias is not None):
        said = "select(): index 0 out of range for tensor of size [0] at dimension 0"
        raise IndexFault("E0307", said)
    _check_dtypes(input, weight, bias)
    own, w, b = _wide(input, weight, bias)
    # They move towards the means over the samples, where a sample has any numbers.
    if running_mean is not None and (count or not input.shape[0]):
        with outside_transforms():
            known = _known(own.detach())
            mean, spread = _O["mean"](known, dims), _O["var"](known, dims, 1)
            _move(running_mean, momentum, _O["mean"](mean, 0))
            _move(running_var, momentum, _O["mean"](spread, 0))
    out = rowwise(_narrow(_scaled(_standard(own, dims, eps), w, b, shape), input))
    out = called(of_its_own(out), "NativeBatchNormBackward0", leads=(input, weight))
    return _O["reshape"](out, tuple(input.shape))  # a view, as PyTorch's


def group_norm(
    input: Asked, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Mean 0 and variance 1 for each group of channels of each sample."""
    if len(input.shape) < 2:
        said = "Expected at least 2 dimensions for input tensor but received"
        raise bad_shape(f"{said} {len(input.shape)}")
    if num_groups <= 0:
        raise bad_value(f"Expected num groups to be greater than 0, got {num_groups}")
    if input.shape[1] % num_groups:
        said = "Expected number of channels in input to be divisible by num_groups, but got input"
        raise bad_shape(f"{said} of shape {list(input.shape)} and num_groups={num_groups}")
    each = input.numel() // max(1, input.shape[0] * num_groups)
    if each * input.shape[0] == 1:
        said = f"value per channel when training, got input size {list(input.shape)}"
        raise ValueFault("E0301", f"Expected more than 1 {said}")
    if input.dtype.kind != 2:
        check_floating(input, "GroupNormKernelImpl", True)
    wanted = "a vector of size equal to the number of channels in input"
    _check_affine(weight, bias, tuple(input.shape[1:2]), wanted)
    _check_dtypes(input, weight, bias)
    own, w, b = _wide(input, weight, bias)
    groups = _O["reshape"](own, (input.shape[0], num_groups, each))
    out = _O["reshape"](_standard(groups, (2,), eps), tuple(input.shape))
    shape = (1, -1) + (1,) * (len(input.shape) - 2)
    out = formatted(_narrow(_scaled(out, w, b, shape), input), input)
    return called(out, "NativeGroupNormBackward0", input, weight, bias)


def native_layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None,
    eps: float,
) -> tuple:  # fmt: skip
    """``layer_norm``, and the mean and the inverse standard deviation that it used."""
    dims = tuple(range(-len(tuple(normalized_shape)), 0))
    out = layer_norm(input, normalized_shape, weight, bias, eps)
    return out, *_statistics(input.detach(), dims, eps, weight, bias)  # constants, as in PyTorch


def _statistics(input: Any, dims: tuple, eps: float, *affine: Any) -> tuple:
    """The mean and the inverse standard deviation, of the dtype of the first of ``affine``."""
    own = _wide(input)[0]
    spread = _O["rsqrt"](_O["var"](own, dims, 0, True) + eps)
    like = next((v for v in affine if v is not None), input)
    return _narrow(_O["mean"](own, dims, True), like), _narrow(spread, like)


def native_group_norm(
    input: Any, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int,
    eps: float,
) -> tuple:  # fmt: skip
    """``group_norm``, and the mean and the inverse standard deviation of each group."""
    groups = _O["reshape"](input, (N, group, C * HxW // max(1, group)))
    stats = _statistics(groups, (-1,), eps, weight, bias)
    mean, spread = (of_its_own(_O["squeeze"](v, -1)) for v in stats)
    found = group_norm(input, group, weight, bias, eps), mean, spread
    return outputs("NativeGroupNormBackward0", found, input, weight, bias)


def torch_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """``batch_norm`` with its arguments in another order, all of them given."""
    return batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def torch_instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """``instance_norm`` with its arguments in another order, all of them given."""
    running = running_mean, running_var
    return instance_norm(input, *running, weight, bias, use_input_stats, momentum, eps)


def native_batch_norm(
    input: Any, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple:  # fmt: skip
    """``batch_norm``, and the mean and the inverse standard deviation of the batch if training."""
    if training and not input.numel():
        said = f"at least one element, but got input_sizes = {list(input.shape)}"
        raise bad_shape(f"input tensor must have {said}")
    out = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    given = weight, bias, running_mean, running_var
    found = _statistics(input.detach(), _beside_channels(input), eps, *given)
    kept = [of_its_own(_O["reshape"](v, (-1,))) for v in found]
    return out, *(kept if training else [v.new_zeros((0,)) for v in kept])


def local_response_norm(
    input: Asked, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """``input`` over a power of ``k`` and the mean of the squares of ``size`` channels around."""
    if len(input.shape) < 3:
        said = f"dimensionality input (got {len(input.shape)} dimensions)"
        raise ValueFault("E0301", f"Expected 3D or higher {said}")
    if size < 1:
        raise bad_value(f"kernel size should be greater than zero, but got kH: {size} kW: 1")
    if not input.numel():
        return input
    _, c, *rest = input.shape
    before, after = (min(n, max(c - 1, 0)) for n in (size // 2, (size - 1) // 2))
    own = in_double(input)
    squares = pad(own * own, (0, 0) * len(rest) + (before, after))
    if input.dtype.is_complex:
        check_floating(input, "avg_pool2d", True)
    places = ((slice(None), slice(i, i + c)) for i in range(before + after + 1))
    first, *others = (_O["getitem"](squares, place) for place in places)
    total = sum(others, first)
    mean = total / size if input.dtype.kind > 1 else total // size  # as PyTorch's pools
    below = (k + alpha * mean) ** beta
    out = own / below
    return out if own is input else called(out.to(input.dtype), "DivBackward0", input, below)


may_be("same", linear)
may_be("wider", normalize)
