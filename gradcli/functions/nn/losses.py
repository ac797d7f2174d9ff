"""Losses of ``gradcli.nn.functional`` that compare number by number: squares, likelihoods.

``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``. Losses of classes stand in ``class_losses``,
those of pairs of vectors in ``pair_losses``.
"""

from __future__ import annotations

import math
from typing import Any

from gradcli.engine.creation.factories import refuse_kinds
from gradcli.engine.record.arguments import Sized
from gradcli.engine.record.composite import bottom, called, is_batch, untracked
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.source_location import warn
from gradcli.functions import arithmetic
from gradcli.functions.nn.loss_checks import (
    check_floating,
    check_probabilities,
    check_weights,
    of_one_size,
)
from gradcli.ops.errors import ValueFault, bad_argument, bad_dtype, bad_value
from gradcli.ops.torch_messages import no_cast, no_room

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "huber_loss",
    "kl_div", "l1_loss", "mse_loss", "multilabel_soft_margin_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss",
]  # fmt: skip


def reduced(loss: Any, reduction: str, name: str = "", *inputs: Any, leads: Any = None) -> Any:
    """The loss as ``reduction`` says, shown as the node ``name`` of ``inputs``: see ``called``.

    Raises ValueFault (E0304) for another word.
    """
    check_word(reduction)
    out = loss if reduction == "none" else _O[reduction](loss)
    return called(out, name, *inputs, leads=leads) if name else out


def check_word(reduction: str) -> None:
    """Raise ValueFault (E0304) for a reduction that there is not."""
    if reduction not in ("none", "mean", "sum"):
        said = f"{reduction} is not a valid value for reduction"
        raise bad_argument(said, help="write none, mean or sum")


def chosen(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction that PyTorch's two older arguments mean, where they are given."""
    if size_average is None and reduce is None:
        return reduction
    meant = "mean" if size_average is None or size_average else "sum"
    meant = meant if reduce is None or reduce else "none"
    warn(
        f"size_average and reduce args will be deprecated, please use reduction='{meant}' instead."
    )
    return meant


def _weighted(loss: Any, weight: Any, reduction: str) -> Any:
    loss = weight * loss
    return _O["sum"](loss) / _O["sum"](weight) if reduction == "mean" else reduced(loss, reduction)


def _written(loss: Any, dtype: Any, name: str) -> Any:
    """The loss in the dtype of what it is written to. Raises RuntimeFault if that holds less."""
    if loss.dtype.kind > dtype.kind:
        raise no_cast(loss.dtype, dtype, f"make {name} a tensor of another dtype")
    return loss if loss.dtype is dtype else loss.to(dtype)


def _difference(input: Any, target: Any, kernel: str) -> Any:
    """``input - target``. Raises UnwrittenFault (E0309) where neither is real floating point."""
    wide = target if target.dtype.kind > input.dtype.kind else input
    check_floating(wide, kernel, True)
    input, target = (v if v.dtype.kind else v.to(wide.dtype) for v in (input, target))
    return input - target


def mse_loss(
    input: Sized, target: Sized, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean", weight: Sized | None = None,
) -> Any:  # fmt: skip
    """The squares of the differences; with ``weight``, their weighted mean."""
    reduction = chosen(size_average, reduce, reduction)
    input, target = of_one_size(input, target)
    difference = _difference(input, target, "mse_cpu")
    square = difference * difference
    check_weights(input, weight)
    if weight is None:
        return reduced(square, reduction, "MseLossBackward0", input, target)
    return _weighted(square, weight, reduction)


def l1_loss(
    input: Sized, target: Sized, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean", weight: Sized | None = None,
) -> Any:  # fmt: skip
    """The sizes of the differences; with ``weight``, their weighted mean."""
    reduction = chosen(size_average, reduce, reduction)
    input, target = of_one_size(input, target)
    loss = _O["abs"](input - target)
    check_weights(input, weight)
    return reduced(loss, reduction) if weight is None else _weighted(loss, weight, reduction)


def huber_loss(
    input: Sized, target: Sized, reduction: Any = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    """Half the square of a small difference, ``delta`` times a large one less delta/2."""
    if not delta > 0:
        raise bad_value("huber_loss does not support non-positive values for delta.")
    input, target = of_one_size(input, target)
    check_weights(input, weight)
    difference = _difference(input, target, "huber_cpu")
    size = _O["abs"](difference)
    small = 0.5 * difference * difference
    loss = _O["where"](size < delta, small, delta * (arithmetic.nan_in_slope(size) - 0.5 * delta))
    if weight is None:
        loss = _written(loss, input.dtype, "input")
        return reduced(loss, reduction, "HuberLossBackward0", input, target)
    return reduced(loss * weight, reduction)  # PyTorch's mean counts entries here, not weights


def smooth_l1_loss(
    input: Sized, target: Sized, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean", beta: float = 1.0,
) -> Any:  # fmt: skip
    """The Huber loss over ``beta``."""
    reduction = chosen(size_average, reduce, reduction)
    if not beta >= 0:
        raise bad_value("smooth_l1_loss does not support negative values for beta.")
    input, target = of_one_size(input, target)
    difference = _difference(input, target, "smooth_l1_cpu")
    size = _O["abs"](difference)
    if beta == 0:
        return reduced(size, reduction, "SmoothL1LossBackward0", input, target)
    small = 0.5 * difference * difference / beta
    loss = _O["where"](size < beta, small, arithmetic.nan_in_slope(size) - 0.5 * beta)
    return reduced(loss, reduction, "SmoothL1LossBackward0", input, target)


def binary_cross_entropy(
    input: Sized, target: Sized, weight: Sized | None = None, size_average: Any = None,
    reduce: Any = None, reduction: Any = "mean",
) -> Any:  # fmt: skip
    """The cross entropy of probabilities and 0 or 1; logarithms are held above -100.

    The slope is (p - y) / (p (1 - p)), with 1e-12 for a smaller denominator, as in PyTorch. Raises
    RuntimeFault (E0304) for what is no probability.
    """
    reduction = chosen(size_average, reduce, reduction)
    check_probabilities(input, target)
    for name, given in (("input", input), ("target", target)):
        known = getattr(bottom(given), "array", None)  # a symbol has no numbers
        if known is not None and not ((known >= 0) & (known <= 1)).all():
            mend = "binary_cross_entropy_with_logits takes any numbers"
            raise bad_value(f"all elements of {name} should be between 0 and 1", help=mend)
    loss = _O["bernoulli_nll"](input, target)
    if weight is not None:  # PyTorch writes the product to the loss, but for batches
        weighted = loss * weight
        loss = weighted if is_batch(weighted) else _written(weighted, loss.dtype, "weight")
    return reduced(loss, reduction, "BinaryCrossEntropyBackward0", input, target)


def binary_cross_entropy_with_logits(
    input: Sized, target: Sized, weight: Any = None, size_average: Any = None,
    reduce: Any = None, reduction: Any = "mean", pos_weight: Any = None,
) -> Any:  # fmt: skip
    """The cross entropy of sigmoid(x) and 0 or 1, without overflow."""
    reduction = chosen(size_average, reduce, reduction)
    refuse_kinds("bool int complex", "log_sigmoid_cpu", input.dtype)
    if tuple(input.shape) != tuple(target.shape):
        said = f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        raise ValueFault("E0301", said)
    loss = _O["logit_nll"](input, target)
    if pos_weight is not None:
        loss = loss - (pos_weight - 1) * target * _O["logsigmoid"](input)
    loss = loss if weight is None else loss * weight
    loss = loss if is_batch(loss) else _written(loss, target.dtype, "target")
    return reduced(loss, reduction, "BinaryCrossEntropyWithLogitsBackward0", input, target)


def kl_div(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
    log_target: bool = False,
) -> Any:  # fmt: skip
    """The divergence of ``target`` from ``exp(input)``; ``"batchmean"`` divides by N."""
    reduction = chosen(size_average, reduce, reduction)
    if input.dtype.kind != 2 or target.dtype.kind != 2:
        kind = "Complex" if 3 in (input.dtype.kind, target.dtype.kind) else "Integral"
        raise bad_dtype(f"kl_div: {kind} inputs not supported.")
    loss = (_O["exp"](target) * (target - input)) if log_target else (
        _O["xlogy"](target, target) - target * input
    )  # fmt: skip
    if reduction == "batchmean":
        return _O["sum"](loss) / (input.shape[0] if len(input.shape) else 1)
    return reduced(loss, reduction)


def soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: Any = "mean"
) -> Any:
    """log(1 + exp(-target*input))."""
    reduction = chosen(size_average, reduce, reduction)
    loss = _O["softplus"](-input * target).to(input.dtype)
    if loss.shape != input.shape:
        raise no_room(input.shape, loss.shape)
    return reduced(loss, reduction, "SoftMarginLossBackward0", input)


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: Any = None,
    eps: float = 1e-8, reduce: Any = None, reduction: Any = "mean",
) -> Any:  # fmt: skip
    """The negative log-likelihood of counts; ``input`` is the logarithm of the rate."""
    reduction = chosen(size_average, reduce, reduction)
    if log_input:
        loss = _O["exp"](input) - target * input
    else:
        loss = input - target * _O["log"](input + eps)
    if full:
        stirling = target * _O["log"](target) - target + 0.5 * _O["log"](2 * math.pi * target)
        loss = loss + _O["where"](target > 1, stirling, 0.0)
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: Sized, target: Any, var: Any, full: Any = False, eps: float = 1e-6,
    reduction: Any = "mean",
) -> Any:  # fmt: skip
    """The negative log-likelihood of normal numbers of mean ``input`` and variance ``var``."""
    if isinstance(var, float):
        var = var * _O["ones_like"](input)
    known = getattr(bottom(var), "array", None)
    if known is not None and (known < 0).any():
        raise bad_argument("var has negative entry/entries")
    if len(input.shape) and tuple(var.shape) == tuple(input.shape[:-1]):
        var = _O["unsqueeze"](var, -1)  # a variance for each row
    elif len(var.shape) != len(input.shape) or any(
        m not in (1, n) for n, m in zip(input.shape, var.shape, strict=True)
    ):
        raise ValueFault("E0301", "var is of incorrect size")
    if var.dtype.kind < 2:
        said = f"result type Float can't be cast to the desired output type {var.dtype.c_name}"
        raise bad_dtype(said, help="write var.float()")
    # The floor under the variance is seen by no gradient, but by tangents, as in PyTorch.
    held = _O["where"](var >= eps, var, var - untracked(var) + eps)
    loss = 0.5 * (_O["log"](held) + (input - target) ** 2 / held)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean",
) -> Any:  # fmt: skip
    """The mean over classes of the cross entropy of each class alone."""
    reduction = chosen(size_average, reduce, reduction)
    loss = -(target * _O["logsigmoid"](input) + (1 - target) * _O["logsigmoid"](-input))
    loss = loss if weight is None else loss * weight
    dim = len(input.shape) - 1  # of the input, whatever the target is broadcast to
    return reduced(_O["sum"](loss, dim) / input.shape[dim], reduction)
