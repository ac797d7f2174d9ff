"""Rows of a table by whole numbers: ``embedding``, and ``embedding_bag``, which joins them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.dtypes import bool_, float16, float32, int32, int64
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.record.arguments import Asked, Sized
from gradcli.engine.record.composite import by_element, called, in_graph, untracked, watch
from gradcli.engine.record.dtype_checks import same_dtype
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.source_location import warn
from gradcli.engine.tensor.tensor import Plain, wrap
from gradcli.ops.dims import whole_number
from gradcli.ops.errors import (
    AssertionFault,
    IndexFault,
    RuntimeFault,
    UnwrittenFault,
    ValueFault,
    bad_argument,
    bad_dtype,
    bad_shape,
    bad_value,
)
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import refuse_derivative

__all__ = ["embedding", "embedding_bag"]


def _check_whole(name: str, indices: Any) -> None:
    """Raise RuntimeFault (E0309) for indices that are neither int64 nor int32."""
    if indices.dtype not in (int64, int32):  # bytes would be a mask
        kind = f"gradcli.{indices.dtype.scalar_name}Tensor"
        raise bad_dtype(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {kind} instead (while checking arguments for {name})"
        )


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of ``weight`` that whole numbers name; that of ``padding_idx`` gets no gradient.

    ``max_norm`` first scales those rows of ``weight``, in place, whose ``norm_type``-norm is above
    it. ``scale_grad_by_freq`` divides the gradient of each row by how often it is named.
    """
    refuse_derivative("embedding", max_norm=max_norm, norm_type=norm_type)
    if len(weight.shape) != 2:
        raise bad_shape("'weight' must be 2-D")
    args = (input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    for value in (input, weight) if max_norm is not None or scale_grad_by_freq else ():
        each = getattr(value, "each_of", None)  # of a batch, also inside a tangent
        if each is not None and (one_by_one := each(embedding, args, {})) is not NotImplemented:
            return one_by_one
    if padding_idx is not None:
        padding_idx = padding_row(padding_idx, weight.shape[0])
    _check_whole("embedding", input)
    named = input.array if isinstance(input, Plain) else None
    if named is not None and named.size and (named.min() < 0 or named.max() >= weight.shape[0]):
        rows = f"the table has rows 0 to {weight.shape[0] - 1}"
        raise IndexFault("E0307", "index out of range in self", help=rows)
    if max_norm is not None:
        _renormalize(input, weight, max_norm, norm_type)
    rows = weight
    if padding_idx is not None:
        padded = wrap(np.arange(weight.shape[0])[:, None] == padding_idx, bool_)
        rows = _O["where"](padded, untracked(weight), weight)  # forward mode pads nothing
    found = rows[input] if input.shape else _O["clone"](rows[input])  # one row is a view
    if scale_grad_by_freq and in_graph(found):
        named = np.asarray(input.array)
        often = np.bincount(named.ravel())[named]
        share = wrap((1 / often)[..., None].astype(weight.dtype.numpy), weight.dtype)
        watch(found, lambda g: g * share)
        found = _O["clone"](found)  # whoever hooks the result sees its whole gradient
    return called(found, "EmbeddingBackward0", weight)


def padding_row(index: Any, rows: int) -> int:
    """The padding row counted from 0. Raises AssertionFault (E0307) where there is none."""
    index = whole_number(index, "padding_idx")
    if not -rows <= index < rows:
        said = "Padding_idx must be within num_embeddings"
        raise AssertionFault("E0307", said, help=f"the table has {rows} rows")
    return index % rows


def _renormalize(input: Any, weight: Any, max_norm: float, norm_type: float) -> None:
    with no_grad():
        which = wrap(np.unique(np.asarray(input.array)), int64)
        rows = weight.detach()[which]
        sizes = _O["norm"](rows, norm_type, -1, True)
        # As PyTorch has it: a little more than the norm, so that the row is surely small enough.
        scale = _O["where"](sizes > max_norm, max_norm / (sizes + 1e-7), 1.0)
        weight.detach()[which] = rows * scale


@by_element
def torch_embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:  # fmt: skip
    """``embedding`` with the table first."""
    padded = None if padding_idx < 0 else padding_idx
    return embedding(indices, weight, padded, scale_grad_by_freq=scale_grad_by_freq)


@by_element
def embedding_bag(
    input: Asked, weight: Asked, offsets: Asked | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: Any = "mean",
    sparse: bool = False, per_sample_weights: Sized | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Bags of rows of ``weight``, each joined to one: their sum, mean or greatest entries.

    ``input`` has a bag in each row, or is one list of whole numbers, in which bags begin at
    ``offsets``. ``per_sample_weights`` weighs the rows of a sum; those of ``padding_idx`` are left
    out; a bag of none is 0. Raises ValueFault (E0304) for another mode or offsets that do not fit.

    Example:
        >>> import gradcli
        >>> table = gradcli.tensor([[1.0, 2.0], [10.0, 20.0]])
        >>> bags = gradcli.tensor([[0, 1], [1, 1]])
        >>> gradcli.nn.functional.embedding_bag(bags, table, mode="sum")
        tensor([[11., 22.],
                [20., 40.]])
    """
    if weight.dtype is int64 and input.dtype.kind == 2:
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`."
        )
        input, weight = weight, input
    if mode not in ("sum", "mean", "max"):
        raise bad_argument("mode has to be one of sum, mean or max", help=f"got {mode!r}")
    if scale_grad_by_freq and mode == "max":
        raise bad_argument("max mode does not support scaling the gradient by the frequency")
    if per_sample_weights is not None:
        _check_sample_weights(per_sample_weights, input, weight, mode)
    if weight.ndim != 2:
        said = f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}"
        raise ValueFault("E0301", said)
    if weight.dtype.kind != 2:
        said = "Expected tensor for argument #1 'weight' to have one of the following scalar types"
        raise bad_dtype(said, help="give a weight of floating point numbers")
    starts = _bags(input, offsets, include_last_offset)
    flat = np.asarray(input.array).reshape(-1)
    wrong = np.flatnonzero((flat < 0) | (flat >= weight.shape[0]))
    if wrong.size:
        said = f"Index {wrong[0]} of input takes value {flat[wrong[0]]} which is not in the valid"
        raise RuntimeFault("E0307", f"{said} range [0, {weight.shape[0]})")
    count = starts.size
    bag = np.searchsorted(starts, np.arange(flat.size), side="right") - 1
    kept = bag >= 0
    if padding_idx is not None:
        kept &= flat != _row(padding_idx, weight.shape[0])
    charge_shape((int(kept.sum()), weight.shape[1]), weight.dtype.itemsize)
    chosen = wrap(flat[kept], input.dtype)
    if max_norm is not None:
        refuse_derivative("embedding_bag", max_norm=max_norm, norm_type=norm_type)
        _renormalize(input, weight, max_norm, norm_type)  # also rows that no bag counts
    wide = float32 if weight.dtype is float16 else weight.dtype  # halves are rounded once
    rows = embedding(chosen, weight.to(wide), scale_grad_by_freq=scale_grad_by_freq)
    if per_sample_weights is not None:
        weights = _O["reshape"](per_sample_weights, (-1,))[wrap(kept, bool_)].to(wide)
        rows = rows * _O["unsqueeze"](weights, -1)
    sizes = np.bincount(bag[kept], minlength=count)
    if mode == "max":
        out = _greatest(rows, bag[kept], sizes)
    else:
        out = _O["scatter"](rows, (count, weight.shape[1]), (bag[kept],))
        if mode == "mean":
            out = out / wrap(np.maximum(sizes, 1)[:, None].astype(wide.numpy), wide)
    out = out.to(weight.dtype)
    return called(out, "EmbeddingBagBackward0", weight, per_sample_weights)


def _check_sample_weights(weights: Any, input: Any, weight: Any, mode: str) -> None:
    if weights.shape != input.shape:
        said = f"If per_sample_weights ({weights.shape}) is not None, then it must have the same"
        raise bad_argument(f"embedding_bag: {said} shape as the input ({input.shape})")
    if mode != "sum":
        said = f"per_sample_weights is only supported for mode='sum' (got mode='{mode}')"
        raise UnwrittenFault("E0304", said)
    same_dtype(weight, weights, "Expected 'weight' to have the same type as 'per_sample_weights'")


def _row(padding_idx: int, rows: int) -> int:
    """The row of a ``padding_idx``, which may count from the end."""
    if not -rows <= padding_idx < rows:
        raise bad_value(f"padding_idx must be within the number of embeddings, got {padding_idx}")
    return padding_idx % rows


def _bags(input: Any, offsets: Any, include_last: bool) -> np.ndarray:
    """Where each bag begins; it ends where the next one begins, the last with the input."""
    if input.ndim == 2:
        if offsets is not None:
            raise bad_argument("if input is 2D, then offsets has to be None")
        return np.arange(input.shape[0]) * input.shape[1]
    if input.ndim != 1:
        said = "input has to be 1D or 2D Tensor, but got Tensor of dimension "
        raise bad_argument(f"{said}{input.ndim}")
    if offsets is None or getattr(offsets, "ndim", None) != 1:
        raise bad_argument(f"offsets has to be a 1D Tensor but got {offsets}")
    _check_whole("embedding_bag", offsets)
    starts = np.asarray(offsets.array, np.int64)
    if starts.size and starts[0] != 0:
        raise bad_value(f"offsets[0] has to be 0. However, got {starts[0]}")
    if starts.size and starts[-1] > input.shape[0]:
        raise bad_value(f"offsets[-1] can not be greater than input's length {input.shape[0]}")
    if (np.diff(starts) < 0).any():
        raise bad_value("offsets have to be in ascending order")
    if include_last and not starts.size:
        raise bad_value("include_last_offset: number of offset should be at least 1")
    # As in PyTorch the last bag ends with the input, whatever the last offset is.
    return starts[:-1] if include_last else starts


def _greatest(rows: Any, bag: np.ndarray, sizes: np.ndarray) -> Any:
    """The greatest entry of each column in each bag; the first of several takes the gradient."""
    width = int(sizes.max(initial=0))
    if not width:
        return _O["scatter"](rows, (sizes.size, rows.shape[1]), (bag,))
    charge_shape((sizes.size, width, rows.shape[1]), rows.dtype.itemsize)
    place = np.arange(bag.size) - (np.cumsum(sizes) - sizes)[bag]
    filled = np.zeros((sizes.size, width), np.int64)
    filled[bag, place] = np.arange(bag.size)
    real = np.arange(width) < sizes[:, None]
    padded = _O["where"](wrap(real[..., None], bool_), rows[wrap(filled, int64)], -np.inf)
    return _O["where"](wrap(sizes[:, None] > 0, bool_), padded.max(1).values, 0.0)
