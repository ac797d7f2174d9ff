"""Losses of ``gradcli.nn.functional``; ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import calls
from gradcli.engine.creation import ones, zeros
from gradcli.engine.dtypes import int64
from gradcli.engine.naming import called
from gradcli.engine.tensor import Tensor
from gradcli.nn.activations import log_softmax
from gradcli.nn.loss_words import check_classes, check_probabilities, warn_of_sizes
from gradcli.ops import OPERATORS as _O
from gradcli.ops.errors import IndexFault, RuntimeFault, ValueFault


def _reduced(loss: Any, reduction: str, name: str = "", *inputs: Any) -> Any:
    if reduction not in ("none", "mean", "sum"):
        raise ValueFault(
            "E0304", f"{reduction} is not a valid value for reduction", help="none, mean or sum"
        )
    out = loss if reduction == "none" else _O[reduction](loss)
    return called(out, name, *inputs) if name else out


def _chosen(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction that PyTorch's two older arguments mean, where they are given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def mse_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The squares of the differences; with ``weight``, their weighted mean."""
    reduction = _chosen(size_average, reduce, reduction)
    warn_of_sizes(input, target)
    difference = input - target
    square = difference * difference
    if weight is None:
        return _reduced(square, reduction, "MseLossBackward0", input, target)
    loss = weight * square
    if reduction == "mean":
        return _O["sum"](loss) / _O["sum"](weight)
    return _reduced(loss, reduction)


def l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The sizes of the differences; with ``weight``, their weighted mean."""
    reduction = _chosen(size_average, reduce, reduction)
    warn_of_sizes(input, target)
    loss = _O["abs"](input - target)
    if weight is None:
        return _reduced(loss, reduction)
    loss = weight * loss
    return _O["sum"](loss) / _O["sum"](weight) if reduction == "mean" else _reduced(loss, reduction)


def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    """Half the square of a small difference, ``delta`` times a large one less delta/2."""
    if delta <= 0:
        raise RuntimeFault("E0304", "huber_loss does not support non-positive values for delta.")
    warn_of_sizes(input, target)
    difference = input - target
    size = _O["abs"](difference)
    small = 0.5 * difference * difference
    loss = _O["where"](size <= delta, small, delta * (size - 0.5 * delta))
    if weight is None:
        return _reduced(loss, reduction, "HuberLossBackward0", input, target)
    loss = weight * loss
    return _O["sum"](loss) / _O["sum"](weight) if reduction == "mean" else _reduced(loss, reduction)


def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """The Huber loss over ``beta``."""
    reduction = _chosen(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeFault("E0304", "smooth_l1_loss does not support negative values for beta.")
    warn_of_sizes(input, target)
    difference = input - target
    size = _O["abs"](difference)
    if beta == 0:
        return _reduced(size, reduction, "SmoothL1LossBackward0", input, target)
    small = 0.5 * difference * difference / beta
    loss = _O["where"](size < beta, small, size - 0.5 * beta)
    return _reduced(loss, reduction, "SmoothL1LossBackward0", input, target)


def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The cross entropy of probabilities and 0 or 1; logarithms are held above -100.

    Raises RuntimeFault (E0304) for what is no probability.
    """
    reduction = _chosen(size_average, reduce, reduction)
    check_probabilities(input, target)
    if input.__class__ is Tensor and not ((input.array >= 0) & (input.array <= 1)).all():
        raise RuntimeFault(
            "E0304",
            "all elements of input should be between 0 and 1",
            help="binary_cross_entropy_with_logits takes any numbers",
        )
    yes = calls.clamp(_O["log"](input), min=-100.0)
    no = calls.clamp(_O["log1p"](-input), min=-100.0)
    loss = (target - 1.0) * no - target * yes
    loss = loss if weight is None else loss * weight
    return _reduced(loss, reduction, "BinaryCrossEntropyBackward0", input, target)


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """The cross entropy of sigmoid(x) and 0 or 1, without overflow."""
    reduction = _chosen(size_average, reduce, reduction)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueFault(
            "E0301", f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    if target.dtype.kind < 2:
        raise RuntimeFault(
            "E0309",
            f"the target has to be floating point, it is {target.dtype.name}",
            help="write target.float()",
            torch=f"result type {input.dtype.scalar_name} can't be cast to the desired output "
            f"type {target.dtype.scalar_name}",
        )
    logs = _O["logsigmoid"](input)
    if pos_weight is not None:
        loss = (1.0 - target) * input - ((pos_weight - 1.0) * target + 1.0) * logs
    else:
        loss = (1.0 - target) * input - logs
    loss = loss if weight is None else loss * weight
    return _reduced(loss, reduction, "BinaryCrossEntropyWithLogitsBackward0", input, target)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The negative logarithm of the probability of each row's class, for ``(N, C, ...)``."""
    reduction = _chosen(size_average, reduce, reduction)
    if input.ndim < 1:
        raise RuntimeFault("E0301", "nll_loss takes log-probabilities of shape (C), (N, C), ...")
    check_classes(input, target)
    rows = input if input.ndim > 1 else _O["unsqueeze"](input, 0)
    classes = target if input.ndim > 1 else target.reshape(1)
    expected = (rows.shape[0], *rows.shape[2:])
    if tuple(classes.shape) != expected:
        raise ValueFault(
            "E0301", f"Expected target size {list(expected)}, got {list(classes.shape)}",
            help="the target has a class number for each row",
        )  # fmt: skip
    name = "NllLossBackward0" if input.ndim < 3 else "NllLoss2DBackward0"
    safe, kept = _classes(classes, rows.shape[1], ignore_index)
    if safe.__class__ is Tensor and rows.ndim == 2:
        picked = _O["getitem"](rows, (np.arange(rows.shape[0]), safe.array))
    else:
        picked = rows.gather(1, safe.unsqueeze(1)).squeeze(1)
    if kept is None and weight is None:
        loss = -picked
        if reduction == "mean":
            return called(loss.mean(), name, input)
    else:
        weights = ones(safe.shape, dtype=input.dtype) if weight is None else weight[safe]
        if kept is not None:
            weights = weights * kept.to(input.dtype)
        loss = -picked * weights
        if reduction == "mean":
            return called(loss.sum() / weights.sum(), name, input)
    return _reduced(loss if input.ndim > 1 else loss.squeeze(0), reduction, name, input)


def _classes(classes: Any, count: int, ignored: int) -> tuple[Any, Any]:
    """Classes to pick, 0 where they are ignored, and which count: None where all do.

    Raises IndexFault (E0307) for one that is none of ``count``.
    """
    if classes.__class__ is Tensor and classes.dtype.kind == 1:
        numbers = classes.array
        out_of_range = (numbers < 0) | (numbers >= count)
        if not out_of_range.any():
            return (classes, None) if not 0 <= ignored < count else _kept(classes, ignored)
        out_of_range &= numbers != ignored
        if out_of_range.any():
            raise IndexFault(
                "E0307", f"Target {numbers[out_of_range][0]} is out of bounds.",
                help=f"classes are 0 to {count - 1}",
            )  # fmt: skip
    return _kept(classes, ignored)


def _kept(classes: Any, ignored: int) -> tuple[Any, Any]:
    kept = classes != ignored
    return classes.masked_fill(~kept, 0), kept


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of softmax(x) and a class for each row, or probabilities of classes."""
    reduction = _chosen(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeFault("E0304", "label_smoothing must be between 0.0 and 1.0. Got: "
                           f"{label_smoothing}")  # fmt: skip
    dim = 1 if input.ndim > 1 else 0
    if not (target.dtype.kind == 2 and tuple(target.shape) == tuple(input.shape)):
        check_classes(input, target)
    logs = log_softmax(input, dim)
    count = input.shape[dim]
    if target.is_floating_point():
        wanted = target
        if label_smoothing:
            wanted = target * (1 - label_smoothing) + label_smoothing / count
        loss = -_O["sum"](logs * wanted * _by_class(weight, input, dim), dim)
        if reduction == "mean":
            return loss.sum() / (loss.numel() or 1)
        return _reduced(loss, reduction)
    main = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return main
    # The share of the smoothing is spread over all classes of the rows that count.
    kept = target != ignore_index
    scale = _by_class(weight, input, dim)
    spread = -_O["sum"](logs * scale, dim)
    spread = _O["where"](kept, spread, 0.0)
    if reduction == "mean":
        total = kept.sum() if weight is None else _O["where"](
            kept, weight[target.masked_fill(~kept, 0)], 0.0
        ).sum()  # fmt: skip
        smooth = spread.sum() / total
    else:
        smooth = spread if reduction == "none" else spread.sum()
    return (1 - label_smoothing) * main + label_smoothing / count * smooth


def _by_class(weight: Any, input: Any, dim: int) -> Any:
    """The weights of classes, shaped to go along ``dim``."""
    if weight is None:
        return 1.0
    return _O["reshape"](weight, (-1,) + (1,) * (len(input.shape) - dim - 1))


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """The divergence of ``target`` from ``exp(input)``; ``"batchmean"`` divides by N."""
    reduction = _chosen(size_average, reduce, reduction)
    loss = (_O["exp"](target) * (target - input)) if log_target else (
        calls.xlogy(target, target) - target * input
    )  # fmt: skip
    if reduction == "batchmean":
        return _O["sum"](loss) / input.shape[0]
    return _reduced(loss, reduction)


def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """``input`` where the target is 1, and what lacks to the margin where it is -1."""
    reduction = _chosen(size_average, reduce, reduction)
    zero = _O["zeros_like"](input)
    loss = _O["where"](target == 1, input, zero) + _O["where"](
        target == -1, calls.clamp(margin - input, min=0.0), zero
    )
    return _reduced(loss, reduction)


def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """What lacks to ``target * (input1 - input2)`` above the margin."""
    reduction = _chosen(size_average, reduce, reduction)
    return _reduced(calls.clamp(-target * (input1 - input2) + margin, min=0.0), reduction)


def soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """log(1 + exp(-target*input))."""
    reduction = _chosen(size_average, reduce, reduction)
    return _reduced(
        _O["softplus"](-target * input), reduction, "SoftMarginLossBackward0", input, target
    )


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of differences along the last dimension; ``eps`` is added to each."""
    return _O["norm"](x1 - x2 + eps, p, -1, keepdim)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """How much nearer the anchor is to ``negative`` than to ``positive`` and a margin."""
    reduction = _chosen(size_average, reduce, reduction)
    near, far = (pairwise_distance(anchor, other, p, eps) for other in (positive, negative))
    if swap:
        far = _O["minimum"](far, pairwise_distance(positive, negative, p, eps))
    return _reduced(calls.clamp(margin + near - far, min=0.0), reduction)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along a dimension."""
    sizes = [calls.clamp(_O["norm"](x, 2, dim, True), min=eps) for x in (x1, x2)]
    return _O["sum"]((x1 / sizes[0]) * (x2 / sizes[1]), dim)


def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """1 - cosine where the target is 1, and the cosine above a margin where it is -1."""
    reduction = _chosen(size_average, reduce, reduction)
    # PyTorch adds a small number to the squares here.
    squares = [_O["sum"](x * x, -1) + 1e-12 for x in (input1, input2)]
    cosine = _O["sum"](input1 * input2, -1) / _O["sqrt"](squares[0] * squares[1])
    zero = _O["zeros_like"](cosine)
    apart = calls.clamp(cosine - margin, min=0.0)
    loss = _O["where"](target == 1, 1.0 - cosine, zero) + _O["where"](target == -1, apart, zero)
    return _reduced(loss, reduction)


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The negative log-likelihood of counts; ``input`` is the logarithm of the rate."""
    reduction = _chosen(size_average, reduce, reduction)
    if log_input:
        loss = _O["exp"](input) - target * input
    else:
        loss = input - target * _O["log"](input + eps)
    if full:
        stirling = target * _O["log"](target) - target + 0.5 * _O["log"](2 * math.pi * target)
        loss = loss + _O["where"](target > 1, stirling, 0.0)
    return _reduced(loss, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The negative log-likelihood of normal numbers of mean ``input`` and variance ``var``."""
    if isinstance(var, float):
        var = input.new_full(tuple(input.shape), var)
    # The floor under the variance lets no gradient through, as in PyTorch.
    held = _O["where"](var < eps, var - var.detach() + eps, var)
    loss = 0.5 * (_O["log"](held) + (input - target) ** 2 / held)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The mean over classes of the cross entropy of each class alone."""
    reduction = _chosen(size_average, reduce, reduction)
    loss = -(target * _O["logsigmoid"](input) + (1.0 - target) * _O["logsigmoid"](-input))
    loss = loss if weight is None else loss * weight
    return _reduced(_O["mean"](loss, -1), reduction)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """What each wrong class lacks to a margin below the right one."""
    reduction = _chosen(size_average, reduce, reduction)
    if p not in (1, 2):
        raise RuntimeFault("E0304", "only p == 1 and p == 2 supported")
    check_classes(input, target)
    rows = input if input.ndim > 1 else _O["unsqueeze"](input, 0)
    classes = target.reshape(-1, 1)
    lack = calls.clamp(margin - rows.gather(1, classes) + rows, min=0.0)
    lack = lack if p == 1 else lack * lack
    lack = lack if weight is None else lack * _O["unsqueeze"](weight[classes.squeeze(1)], 1)
    wrong = ones(tuple(rows.shape), dtype=input.dtype).scatter(1, classes, 0.0)
    loss = _O["sum"](lack * wrong, 1) / rows.shape[1]
    loss = loss if input.ndim > 1 else _O["squeeze"](loss, 0)
    return _reduced(loss, reduction, "MultiMarginLossBackward0", input, target)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A row for each class number: 1 at its place, else 0."""
    if tensor.dtype is not int64:
        raise RuntimeFault(
            "E0309", "one_hot is only applicable to index tensor of type LongTensor.",
            help="write x.long()",
        )  # fmt: skip
    count = int(tensor.max().item()) + 1 if num_classes == -1 else num_classes
    if tensor.numel() and tensor.min().item() < 0:
        raise RuntimeFault("E0307", "Class values must be non-negative.")
    if tensor.numel() and tensor.max().item() >= count:
        raise RuntimeFault("E0307", "Class values must be smaller than num_classes.")
    out = zeros(*tensor.shape, count, dtype="int64")
    return out.scatter(-1, tensor.unsqueeze(-1), 1)


LOSSES: tuple[Callable, ...] = (
    mse_loss, l1_loss, huber_loss, smooth_l1_loss, binary_cross_entropy,
    binary_cross_entropy_with_logits, nll_loss, cross_entropy, kl_div, hinge_embedding_loss,
    margin_ranking_loss, soft_margin_loss, triplet_margin_loss, cosine_embedding_loss,
    poisson_nll_loss, gaussian_nll_loss, multilabel_soft_margin_loss, multi_margin_loss,
)  # fmt: skip
"""Every loss."""
