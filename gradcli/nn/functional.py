"""``gradcli.nn.functional``: activations and losses, under PyTorch's names.

Losses take ``reduction``: ``"mean"``, ``"sum"`` or ``"none"``.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine import calls
from gradcli.engine.creation import ones, zeros
from gradcli.engine.functions import public_operators
from gradcli.engine.naming import called
from gradcli.engine.tensor import Tensor
from gradcli.ops import OPERATORS as _O
from gradcli.ops.errors import RuntimeFault, ValueFault

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_similarity",
    "cross_entropy", "elu", "hardtanh", "huber_loss", "l1_loss", "leaky_relu", "linear",
    "log_softmax", "logsigmoid", "mse_loss", "nll_loss", "normalize", "one_hot", "relu", "sigmoid",
    "silu", "smooth_l1_loss", "softmax", "softplus", "softsign", "tanh",
]  # fmt: skip

_names = public_operators()
relu, sigmoid, tanh = _names["relu"], _names["sigmoid"], _names["tanh"]
elu, leaky_relu, logsigmoid = _names["elu"], _names["leaky_relu"], _names["logsigmoid"]
softsign, hardtanh = _names["softsign"], _names["hardtanh"]
softmax, log_softmax = calls.softmax, calls.log_softmax


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta*x)) / beta, and x itself where beta*x is above the threshold."""
    scaled = input if beta == 1 else input * beta
    smooth = _O["softplus"](scaled)
    smooth = smooth if beta == 1 else smooth / beta
    return called(_O["where"](scaled > threshold, input, smooth), "SoftplusBackward0")


def silu(input: Any) -> Any:
    """x * sigmoid(x)."""
    return called(input * _O["sigmoid"](input), "SiluBackward0")


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``."""
    out = input @ weight.t()
    if bias is None:
        return out
    return called(out + bias, "AddmmBackward0" if input.ndim == 2 else "ViewBackward0")


def _reduced(loss: Any, reduction: str, name: str) -> Any:
    if reduction == "none":
        return called(loss, name)
    if reduction not in ("mean", "sum"):
        raise ValueFault(
            "E0304", f"{reduction} is not a valid value for reduction", help="none, mean or sum"
        )
    return called(_O[reduction](loss), name)


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The squares of the differences."""
    difference = input - target
    return _reduced(difference * difference, reduction, "MseLossBackward0")


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The sizes of the differences."""
    loss = _O["abs"](input - target)
    if reduction == "none":
        return loss
    return _reduced(loss, reduction, f"{reduction.capitalize()}Backward0")


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Half the square of a small difference, ``delta`` times a large one less delta/2."""
    difference = input - target
    size = _O["abs"](difference)
    small = 0.5 * difference * difference
    loss = _O["where"](size <= delta, small, delta * (size - 0.5 * delta))
    return _reduced(loss, reduction, "HuberLossBackward0")


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """The Huber loss over ``beta``."""
    difference = input - target
    size = _O["abs"](difference)
    if beta == 0:
        return _reduced(size, reduction, "SmoothL1LossBackward0")
    small = 0.5 * difference * difference / beta
    loss = _O["where"](size < beta, small, size - 0.5 * beta)
    return _reduced(loss, reduction, "SmoothL1LossBackward0")


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """The cross entropy of probabilities and 0 or 1; logarithms are held above -100."""
    yes = calls.clamp(_O["log"](input), min=-100.0)
    no = calls.clamp(_O["log1p"](-input), min=-100.0)
    loss = (target - 1.0) * no - target * yes
    loss = loss if weight is None else loss * weight
    return _reduced(loss, reduction, "BinaryCrossEntropyBackward0")


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """The cross entropy of sigmoid(x) and 0 or 1, without overflow."""
    loss = (1.0 - target) * input - _O["logsigmoid"](input)
    loss = loss if weight is None else loss * weight
    return _reduced(loss, reduction, "BinaryCrossEntropyWithLogitsBackward0")


def nll_loss(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """The negative logarithm of the probability of each row's class."""
    if input.ndim not in (1, 2):
        raise RuntimeFault("E0301", "nll_loss takes one row or a matrix of log-probabilities")
    rows = input if input.ndim == 2 else input.unsqueeze(0)
    classes = target.reshape(-1)
    kept = classes != ignore_index
    safe = classes.masked_fill(~kept, 0)
    picked = rows.gather(1, safe.unsqueeze(1)).squeeze(1)
    weights = ones(safe.shape[0], dtype=input.dtype) if weight is None else weight[safe]
    weights = weights * kept.to(input.dtype)
    loss = -picked * weights
    if reduction == "mean":
        return called(loss.sum() / weights.sum(), "NllLossBackward0")
    loss = loss if input.ndim == 2 else loss.squeeze(0)
    return _reduced(loss, reduction, "NllLossBackward0")


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of softmax(x) and a class for each row, or probabilities of classes."""
    dim = 1 if input.ndim > 1 else 0
    logs = log_softmax(input, dim)
    smooth = label_smoothing
    if target.is_floating_point():
        count = input.shape[dim]
        wanted = target if not smooth else target * (1 - smooth) + smooth / count
        loss = -(logs * wanted if weight is None else logs * wanted * weight).sum(dim)
        if reduction == "mean":
            return loss.sum() / (loss.numel() or 1)
        return _reduced(loss, reduction, "SumBackward0")
    if smooth:
        return cross_entropy(
            input, one_hot(target, input.shape[dim]).to(input.dtype), weight, ignore_index,
            reduction, smooth,
        )  # fmt: skip
    return nll_loss(logs, target, weight, ignore_index, reduction)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A row for each class number: 1 at its place, else 0."""
    count = int(tensor.max().item()) + 1 if num_classes == -1 else num_classes
    out = zeros(*tensor.shape, count, dtype="int64")
    return out.scatter(-1, tensor.unsqueeze(-1), 1)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """Vectors along a dimension over their norm."""
    size = calls.clamp(_O["norm"](input, p, dim, True), min=eps)
    return input / size


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along a dimension."""
    sizes = [calls.clamp(_O["norm"](x, 2, dim, True), min=eps) for x in (x1, x2)]
    return _O["sum"]((x1 / sizes[0]) * (x2 / sizes[1]), dim)
