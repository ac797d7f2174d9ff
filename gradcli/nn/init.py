"""``gradcli.nn.init``: first values of weights, drawn as PyTorch draws them from the same seed."""

from __future__ import annotations

import math
from typing import Any

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine import Tensor
from gradcli.engine.creation.factories import eye
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.record.fast_path import FUNCTIONS
from gradcli.engine.source_location import warn
from gradcli.ops.errors import bad_argument

# From PyTorch's documentation of calculate_gain; layers are among them.
_GAINS = {
    **dict.fromkeys(("linear", "sigmoid", *(f"conv{i}d" for i in (1, 2, 3)),
                     *(f"conv_transpose{i}d" for i in (1, 2, 3))), 1.0),
    "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """How much a layer's weights grow to make up for its nonlinearity. Raises ValueFault (E0304).

    Example:
        >>> calculate_gain("leaky_relu", 1.0)
        1.0
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, int | float):
            raise bad_argument(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise bad_argument(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Inputs and outputs of each unit: for a convolution, times the places of its kernel."""
    if tensor.ndim < 2:
        said = "can not be computed for tensor with fewer than 2 dimensions"
        raise bad_argument(f"Fan in and fan out {said}")
    places = math.prod(tensor.shape[2:])
    return tensor.shape[1] * places, tensor.shape[0] * places


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers in [a, b)."""
    if not tensor.array.size:
        return tensor
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix. Raises ValueFault (E0304) unless there are two dimensions."""
    if tensor.ndim != 2:
        raise bad_argument("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution that passes its channels through, in each of ``groups``."""
    if tensor.ndim not in (3, 4, 5):
        raise bad_argument("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise bad_argument("dim 0 must be divisible by groups")
    own = tensor.shape[0] // groups
    centre = tuple(n // 2 for n in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(own, tensor.shape[1])):
                tensor[(group * own + channel, channel, *centre)] = 1.0
    return tensor


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Normal numbers between ``a`` and ``b``: those outside are drawn again.

    Where fewer than three in ten would fall inside, uniform ones are drawn and kept as often as the
    normal density asks.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )
    inside = math.erf((b - mean) / std / math.sqrt(2)) - math.erf((a - mean) / std / math.sqrt(2))
    with no_grad():
        if inside > 0.6:
            low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
            tensor.normal_(mean, std, generator=generator)
            while (out := (tensor < low) | (tensor > high)).any():
                again = tensor.clone().normal_(mean, std, generator=generator)
                tensor.copy_(FUNCTIONS["where"](out, again, tensor))
            return tensor
        peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
        pending = tensor.uniform_(a, b, generator=generator) == tensor
        kept = tensor.clone()
        while True:
            height = ((kept - mean) / std) ** 2 * -0.5 - peak
            drawn = tensor.clone().uniform_(generator=generator).log()
            pending = pending & (drawn > height)
            if not pending.any():
                return tensor
            kept = tensor.clone().uniform_(a, b, generator=generator)
            tensor.copy_(FUNCTIONS["where"](pending, kept, tensor))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Saxe and others (2013): a matrix with orthogonal rows or columns, by QR of normal numbers.

    Dimensions behind the first count as one. Raises ValueFault (E0304) for a vector.
    """
    from gradcli.functions.decompositions import qr  # few programs need it

    if tensor.ndim < 2:
        raise bad_argument("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = rows < drawn.shape[1]
    q, r = qr(drawn.T if wide else drawn)
    q = q * r.diagonal().sign()
    with no_grad():
        return tensor.copy_((q.T if wide else q).reshape(tensor.shape)).mul_(gain)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot and Bengio (2010): uniform, the variance 2 / (inputs + outputs) times gain squared."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot and Bengio (2010): normal, the variance 2 / (inputs + outputs) times gain squared."""
    return normal_(
        tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator
    )


def _spread(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if not tensor.numel():
        warn("Initializing zero-element tensors is a no-op")
        return 0.0
    if mode not in ("fan_in", "fan_out"):
        raise bad_argument(f"Mode {mode} not supported, please use one of fan_in, fan_out")
    fan = _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """He and others (2015): uniform, so that the variance passes through the layer."""
    bound = math.sqrt(3.0) * _spread(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """He and others (2015): normal, so that the variance passes through the layer."""
    std = _spread(tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, std, generator) if tensor.numel() else tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal numbers, of which a part of each column is 0."""
    from gradcli.engine.creation.sampling import randperm

    if tensor.ndim != 2:
        raise bad_argument("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    none = math.ceil(sparsity * rows)
    normal_(tensor, 0.0, std, generator)
    with no_grad():
        for column in range(columns):
            tensor[randperm(rows)[:none], column] = 0.0
    return tensor


__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_",
    "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip
