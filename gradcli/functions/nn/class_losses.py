"""Losses of classes: a number of each row's class, or probabilities of all; and ``one_hot``."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.creation.factories import ones, zeros
from gradcli.engine.dtypes import bool_, float64, int64
from gradcli.engine.record.arguments import Asked
from gradcli.engine.record.composite import called, is_batch
from gradcli.engine.record.dtype_checks import same_dtype
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.functions import products
from gradcli.functions.nn.activations import log_softmax
from gradcli.functions.nn.loss_checks import check_classes, check_floating
from gradcli.functions.nn.losses import check_word, chosen, reduced
from gradcli.functions.nn.padding import pad
from gradcli.ops.errors import (
    IndexFault,
    RuntimeFault,
    ValueFault,
    bad_argument,
    bad_dtype,
    bad_shape,
    bad_type,
    bad_value,
)
from gradcli.ops.memory_budget import charge_shape

__all__ = [
    "cross_entropy", "ctc_loss", "linear_cross_entropy", "multi_margin_loss",
    "multilabel_margin_loss", "nll_loss", "one_hot",
]  # fmt: skip


def nll_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: Any = "mean",
) -> Any:  # fmt: skip
    """The negative logarithm of the probability of each row's class, for ``(N, C, ...)``."""
    reduction = chosen(size_average, reduce, reduction)
    if input.ndim < 1:
        raise ValueFault("E0301", "Expected 1 or more dimensions (got 0)")
    check_floating(input, "nll_loss_out_frame", True)
    target = check_classes(input, target)
    rows = input if input.ndim > 1 else _O["unsqueeze"](input, 0)
    classes = target if input.ndim > 1 else target.reshape(1)
    expected = (rows.shape[0], *rows.shape[2:])
    if tuple(classes.shape) != expected:
        said = f"Expected target size {list(expected)}, got {list(classes.shape)}"
        if input.ndim == 4 and classes.ndim != 3:
            said = "only batches of spatial targets supported (3D tensors) but got targets of "
            said += f"dimension: {classes.ndim}"
        elif input.ndim == 4:
            said = f"size mismatch (got input: {list(input.shape)} , target: {list(classes.shape)}"
        raise bad_shape(said, help="the target has a class number for each row")
    if weight is not None:
        if tuple(weight.shape) != rows.shape[1:2]:
            said = f"all {rows.shape[1]} classes or no classes but got weight tensor of shape:"
            said = f"weight tensor should be defined either for {said}"
            raise bad_shape(f"{said} {list(weight.shape)}")
        same_dtype(rows, weight)
    name = "NllLossBackward0" if input.ndim < 3 else "NllLoss2DBackward0"
    safe, kept = _classes(classes, rows.shape[1], ignore_index)
    if safe.__class__ is Tensor and rows.ndim == 2:
        picked = _O["getitem"](rows, (np.arange(rows.shape[0]), safe.array))
    else:
        picked = rows.gather(1, safe.unsqueeze(1)).squeeze(1)
    if kept is None and weight is None:
        loss = -picked
        if reduction == "mean":
            return called(loss.mean(), name, input, leads=input)
    else:
        weights = ones(safe.shape, dtype=input.dtype) if weight is None else weight[safe]
        loss = -picked * weights
        if kept is not None:
            weights = weights * kept.to(input.dtype)
            loss = _O["where"](kept, loss, 0.0)  # no slope, even where none counts: 0/0
        if reduction == "mean":
            return called(loss.sum() / weights.sum(), name, input, leads=input)
    return reduced(loss if input.ndim > 1 else loss.squeeze(0), reduction, name, input, leads=input)


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
            said = f"Target {numbers[out_of_range][0]} is out of bounds."
            raise IndexFault("E0307", said, help=f"classes are 0 to {count - 1}")
    return _kept(classes, ignored)


def _kept(classes: Any, ignored: int) -> tuple[Any, Any]:
    kept = classes != ignored
    return classes.masked_fill(~kept, 0), kept


def cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: Any = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The cross entropy of softmax(x) and a class for each row, or probabilities of classes."""
    reduction = chosen(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise bad_value(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 1 if input.ndim > 1 else 0
    if ignore_index >= 0 and target.is_floating_point():
        raise bad_value("ignore_index is not supported for floating point target")
    if not input.ndim:
        raise bad_shape("cross_entropy takes scores of shape (C), (N, C), ...")
    if not (target.dtype.kind == 2 and tuple(target.shape) == tuple(input.shape)):
        target = check_classes(input, target)
    logs = log_softmax(input, dim)
    count = input.shape[dim] or 1
    if target.is_floating_point():
        wanted = target
        if label_smoothing:
            wanted = target * (1 - label_smoothing) + label_smoothing / count
        terms = logs * wanted * _by_class(weight, input, dim)
        if reduction == "none":
            return -_O["sum"](terms, dim)
        check_word(reduction)
        total = -_O["sum"](terms)
        if reduction == "sum":
            return total
        return called(total / (input.numel() / count), "DivBackward1")  # NaN without classes
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
    input: Any, target: Any, p: Any = 1, margin: float = 1.0, weight: Asked | None = None,
    size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
) -> Any:  # fmt: skip
    """What each wrong class lacks to a margin below the right one."""
    reduction = chosen(size_average, reduce, reduction)
    if p not in (1, 2):
        raise bad_argument("only p == 1 and p == 2 supported")
    _check_rows(input)
    check_word(reduction)
    if weight is not None and weight.ndim != 1:
        raise ValueFault("E0301", "weight must be one-dimensional")
    count = input.shape[0] if input.ndim > 1 else 1
    if target.ndim > 1 or target.numel() != count:
        said = (
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input"
        )
        said += f" samples (batch size). Expected target size [{count}]"
        raise bad_shape(f"{said}, but got {list(target.shape)}.")
    classes_count = input.shape[-1] if input.ndim else 1
    if weight is not None and weight.numel() != classes_count:
        said = f"expected {classes_count} but got {list(weight.shape)}"
        raise bad_shape(f"inconsistent weight size, {said}")
    _check_long(target)
    check_classes(input, target)
    rows = input if input.ndim > 1 else _O["reshape"](input, (1, -1))
    classes = target.reshape(-1, 1)
    lack = _O["relu"](margin - rows.gather(1, classes) + rows).scatter(1, classes, 0.0)
    lack = lack if p == 1 else lack * lack
    lack = lack if weight is None else lack * _O["unsqueeze"](weight[classes.squeeze(1)], 1)
    loss = _O["sum"](lack, 1) / rows.shape[1]
    loss = loss if target.ndim else _O["squeeze"](loss, 0)
    return reduced(loss, reduction, "MultiMarginLossBackward0", input)


def _check_long(target: Any) -> None:
    if target.dtype is not int64:
        raise bad_dtype(f"expected scalar type Long but found {target.dtype.scalar_name}")


def _check_rows(input: Any) -> None:
    if len(input.shape) and not input.shape[-1]:
        said = "Expected non-empty vector or matrix with optional 0-dim batch size, but got:"
        raise bad_shape(f"{said} {list(input.shape)}")


def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: Any = "mean"
) -> Any:
    """What each class that is none of a row's lacks to 1 below each of the row's classes.

    A row of ``target`` lists its classes and ends with -1. Raises RuntimeFault (E0301) for shapes
    that differ.
    """
    if is_batch(target):
        args = (input, target, size_average, reduce, reduction)
        return target.each_of(multilabel_margin_loss, args, {})
    reduction = chosen(size_average, reduce, reduction)
    check_word(reduction)
    _check_rows(input)
    check_floating(input, "multilabel_margin_loss_forward_out_frame", True)
    if tuple(input.shape) != tuple(target.shape) or len(input.shape) > 2:
        said = f"{list(target.shape)} for input of size: {list(input.shape)}"
        raise bad_shape(f"inconsistent target size: {said}")
    _check_long(target)
    rows = _O["reshape"](input, (1,) * (2 - len(input.shape)) + tuple(input.shape))
    n, c = rows.shape
    classes = np.asarray(target.array).reshape(n, c)
    if classes.size and not -1 <= classes.min() <= classes.max() < c:
        raise RuntimeFault("E0307", "argument #2 'target' is out of range")
    listed = np.cumprod(classes >= 0, 1).astype(bool)
    held = np.where(listed, classes, 0)
    own = np.zeros((n, c), bool)
    own[np.nonzero(listed)[0], classes[listed]] = True
    charge_shape((n, c, c))
    chosen_ones = _O["getitem"](rows, (np.arange(n)[:, None], held))
    lack = 1.0 - _O["unsqueeze"](chosen_ones, 2) + _O["unsqueeze"](rows, 1)
    counted = wrap(listed[:, :, None] & ~own[:, None, :], bool_)
    lack = _O["where"](counted, _O["relu"](lack), 0.0)
    loss = _O["sum"](lack, (1, 2)) / c
    loss = loss if len(input.shape) > 1 else _O["squeeze"](loss, 0)
    return reduced(loss, reduction, "MultilabelMarginLossBackward0", input)


def linear_cross_entropy(
    input: Asked,
    linear_weight: Any,
    target: Asked,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: Any = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """``cross_entropy`` of the classes that ``input @ linear_weight.T`` scores.

    ``linear_weight`` is ``(C, in)``, or ``(C, d1, ..., in)`` for a loss of more dimensions.
    """
    if not 1 <= input.ndim <= 2:
        raise bad_shape(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        said = f"dimensionality at least 2, got {linear_weight.ndim}"
        raise bad_shape(f"expected linear_weight with {said}")
    if input.ndim == 1 and linear_weight.ndim > 2:
        raise bad_shape(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {input.shape[0]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    features, wanted = input.shape[-1], linear_weight.shape[-1]
    if features != wanted:
        said = "expected equal input and linear_weight last dimensions (in_features), got"
        raise bad_shape(f"{said} {features} and {wanted}, respectively")
    if ignore_index is not None and target.is_floating_point():
        raise bad_value("ignore_index cannot be specified when target contains probabilities")
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        shapes = tuple(linear_weight.shape[:-1]), tuple(linear_bias.shape)
        raise bad_shape("expected linear_bias shape {}, got {}".format(*shapes))
    logits = products.tensordot(input, linear_weight, ([-1], [-1]))
    logits = logits if linear_bias is None else logits + linear_bias
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip


_NEVER = -1e30
"""The logarithm of a probability of 0: finite, so that no difference of it is NaN."""


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Any = "mean",
    zero_infinity: bool = False,
) -> Any:
    """The negative log-likelihood of label sequences, over all their alignments with time steps.

    ``log_probs`` is ``(T, N, C)`` or ``(T, C)``, ``targets`` ``(N, S)`` or one after the other. The
    derivative is that of the value by ``log_probs`` as they are. (PyTorch's adds their
    probabilities, which makes no difference behind ``log_softmax``.) That of an infinite loss is
    NaN, with ``zero_infinity`` 0.

    See Graves et al., Connectionist Temporal Classification, 2006, section 4.1. Raises RuntimeFault
    (E0304) for lengths that do not fit.
    """
    if not log_probs.numel():
        raise bad_shape("log_probs tensor must not be empty")
    check_floating(log_probs, "ctc_loss_cpu", True)
    if len(log_probs.shape) not in (2, 3):
        raise bad_shape("Expected 3-dimensional tensor", help="log_probs is (T, N, C) or (T, C)")
    single = len(log_probs.shape) == 2
    scores = _O["unsqueeze"](log_probs, 1) if single else log_probs
    steps, n, classes = scores.shape
    if isinstance(input_lengths, Tensor) is not isinstance(target_lengths, Tensor):
        raise bad_type("ctc_loss(): input_lengths and target_lengths are both tensors or tuples")
    lengths = _lengths("input_lengths", input_lengths, n)
    sizes = _lengths("target_lengths", target_lengths, n)
    if lengths.max() > steps or lengths.min() < 0:
        raise bad_value(f"Expected input_lengths to have value at most {steps}")
    if sizes.min() < 0:
        raise bad_value("Expected target_lengths to have value at least 0")
    if not 0 <= blank < classes:
        raise bad_value("blank must be in label range")
    states = _with_blanks(np.asarray(targets.array, np.int64), sizes, blank)
    loss = -_of_alignments(scores, states, lengths, sizes)
    no_way = loss > -0.5 * _NEVER
    without: Any = 0.0
    if not zero_infinity:  # 1/abs(0): infinite, and its slope NaN
        seen = wrap(np.arange(steps)[:, None, None] < lengths[:, None], bool_)
        seen = seen & _O["isfinite"](scores)
        without = 1.0 / abs(0.0 * _O["sum"](_O["where"](seen, scores, 0.0), (0, 2)))
    loss = _O["where"](no_way, without, loss)
    if reduction == "mean":
        return _O["mean"](loss / wrap(np.maximum(sizes, 1).astype(loss.dtype.numpy), loss.dtype))
    loss = loss[0] if single and reduction == "none" else loss
    return reduced(loss, reduction, "CtcLossBackward0", log_probs)


def _lengths(name: str, given: Any, n: int) -> np.ndarray:
    if not isinstance(given, Tensor | tuple | list):
        raise bad_type(f"ctc_loss(): {name} are a tensor or a tuple of ints")
    numbers = np.asarray(getattr(given, "array", given)).reshape(-1)
    if numbers.dtype.kind not in "iu":
        raise (bad_dtype if isinstance(given, Tensor) else bad_type)(f"{name} must be integral")
    if numbers.size != n:
        raise bad_value(f"{name} must be of size batch_size")
    return numbers.astype(np.int64)


def _with_blanks(labels: np.ndarray, sizes: np.ndarray, blank: int) -> np.ndarray:
    """The labels of each sequence in a row, with blanks before, between and after them."""
    n, longest = sizes.size, int(sizes.max())
    if not 1 <= labels.ndim <= 2:
        raise bad_shape("Expected 1 to 2 dimensions", help="targets is (N, S), or one row")
    count = n if labels.ndim == 2 else int(sizes.sum())
    if len(labels) != count:
        said = f"Expected tensor to have size {count} at dimension 0, but got size {len(labels)}"
        raise bad_shape(said, help="targets has the labels of each sequence")
    if labels.shape[-1] < longest:
        raise bad_value(f"Expected target_lengths to be at most {labels.shape[-1]}")
    there = np.arange(longest) < sizes[:, None]
    spelled = np.full((n, longest), blank)
    spelled[there] = labels if labels.ndim == 1 else labels[:, :longest][there]
    states = np.full((n, 2 * longest + 1), blank)
    states[:, 1::2] = spelled
    return states


def _of_alignments(scores: Any, states: np.ndarray, lengths: np.ndarray, sizes: np.ndarray) -> Any:
    """The logarithm of the sum of the probabilities of all alignments, for each sequence.

    ``alpha`` has those that end in each state after t steps: each came from the state itself, from
    the one before or, between two labels that differ, from the one before that. A blank among the
    labels is a label, as in PyTorch.
    """
    steps, n = scores.shape[:2]
    width = states.shape[1]
    charge_shape((steps, n, 2 * width, 4))
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = states[:, 2:] != states[:, :-2]
    rows = np.arange(n)[:, None]
    emitted = _O["getitem"](scores, (slice(None), rows, states))
    start = np.broadcast_to(np.arange(width) < 2, states.shape)
    alpha = _O["where"](wrap(start, bool_), emitted[0], _NEVER)
    last = 2 * sizes[:, None] - np.array([0, 1])
    # Without a step there is one alignment of no labels and none of others.
    at_first = wrap(np.where((lengths == 0) & (sizes == 0), 0.0, _NEVER), float64)
    total = _O["sum"](scores[:0], (0, 2)) + at_first.to(scores.dtype)
    for t in range(1, steps + 1):
        if (lengths == t).any():
            ends = _O["getitem"](alpha, (rows, np.maximum(last, 0)))
            found = _O["logsumexp"](_O["where"](wrap(last >= 0, bool_), ends, _NEVER), -1)
            total = _O["where"](wrap(lengths == t, bool_), found, total)
        if t < steps:
            one, two = (pad(alpha[:, :k], (width - k, 0), value=_NEVER)
                        for k in (width - 1, max(0, width - 2)))  # fmt: skip
            two = _O["where"](wrap(skips, bool_), two, _NEVER)
            alpha = _O["logsumexp"](_O["stack"](alpha, one, two, dim=0), 0) + emitted[t]
    return total


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A row for each class number: 1 at its place, else 0."""
    if is_batch(tensor) and num_classes < 0:
        said = "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive"
        raise RuntimeFault("E0414", f"{said} num_classes argument.")
    if tensor.dtype is not int64:
        said = "one_hot is only applicable to index tensor of type LongTensor."
        raise bad_dtype(said, help="write x.long()")
    if num_classes < 1 and not tensor.numel():
        raise bad_value("Can not infer total number of classes from empty tensor.")
    count = int(tensor.max().item()) + 1 if num_classes == -1 else num_classes
    if tensor.numel() and not is_batch(tensor):  # of a batch, scatter looks
        if tensor.min().item() < 0:
            raise RuntimeFault("E0307", "Class values must be non-negative.")
        if tensor.max().item() >= count:
            raise RuntimeFault("E0307", "Class values must be smaller than num_classes.")
    out = zeros(*tensor.shape, count, dtype="int64")
    return out.scatter(-1, tensor.unsqueeze(-1), 1)
