"""Losses of classes: a number of each row's class, or probabilities of all; and ``one_hot``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.creation.factories import ones, zeros
from gradcli.engine.dtypes import int64
from gradcli.engine.record.composite import called, is_batch
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import arithmetic
from gradcli.functions.nn.activations import log_softmax
from gradcli.functions.nn.loss_checks import check_classes
from gradcli.functions.nn.losses import chosen, reduced
from gradcli.ops.errors import IndexFault, RuntimeFault, ValueFault

__all__ = ["cross_entropy", "multi_margin_loss", "nll_loss", "one_hot"]


def nll_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The negative logarithm of the probability of each row's class, for ``(N, C, ...)``."""
    if is_batch(target):
        args = (input, target, weight, size_average, ignore_index, reduce, reduction)
        return target.each_of(nll_loss, args, {})
    reduction = chosen(size_average, reduce, reduction)
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
    return reduced(loss if input.ndim > 1 else loss.squeeze(0), reduction, name, input)


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
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The cross entropy of softmax(x) and a class for each row, or probabilities of classes."""
    if is_batch(target) and target.dtype.kind == 1:
        args = (input, target, weight, size_average, ignore_index, reduce, reduction)
        return target.each_of(cross_entropy, (*args, label_smoothing), {})
    reduction = chosen(size_average, reduce, reduction)
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
        return reduced(loss, reduction)
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


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """What each wrong class lacks to a margin below the right one."""
    reduction = chosen(size_average, reduce, reduction)
    if p not in (1, 2):
        raise RuntimeFault("E0304", "only p == 1 and p == 2 supported")
    check_classes(input, target)
    rows = input if input.ndim > 1 else _O["unsqueeze"](input, 0)
    classes = target.reshape(-1, 1)
    lack = arithmetic.clamp(margin - rows.gather(1, classes) + rows, min=0.0)
    lack = lack if p == 1 else lack * lack
    lack = lack if weight is None else lack * _O["unsqueeze"](weight[classes.squeeze(1)], 1)
    wrong = ones(tuple(rows.shape), dtype=input.dtype).scatter(1, classes, 0.0)
    loss = _O["sum"](lack * wrong, 1) / rows.shape[1]
    loss = loss if input.ndim > 1 else _O["squeeze"](loss, 0)
    return reduced(loss, reduction, "MultiMarginLossBackward0", input, target)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A row for each class number: 1 at its place, else 0."""
    if is_batch(tensor):
        if num_classes < 0:
            raise RuntimeFault(
                "E0414",
                "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive "
                "num_classes argument.",
            )
        return tensor.each_of(one_hot, (tensor, num_classes), {})
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
