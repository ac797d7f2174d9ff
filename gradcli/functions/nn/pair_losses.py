"""Losses and distances of pairs of vectors: by margin, by angle, of triplets."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.dtypes import float16, promote_types
from gradcli.engine.record.arguments import Asked
from gradcli.engine.record.composite import bottom, called, in_float32
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.functions import arithmetic
from gradcli.functions.indexing import broadcast_tensors
from gradcli.functions.nn.layers import normalize
from gradcli.functions.nn.losses import chosen, reduced
from gradcli.ops.comparison import all_finite
from gradcli.ops.errors import bad_argument, bad_dtype, bad_shape, bad_value
from gradcli.ops.memory_budget import charge_shape

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss",
    "pairwise_distance", "pdist", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def _above_0(lack: Any) -> Any:
    """``lack`` where it is not below 0, else 0; NaN keeps its slope, which ``clamp`` has not."""
    return called(_O["where"](lack < 0.0, 0.0, lack), "ClampMinBackward0", lack)


def _by_target(target: Any, alike: Any, apart: Any) -> Any:
    """``alike`` where the target is 1, ``apart`` where it is -1, else 0."""
    zero = _O["zeros_like"](alike)
    return _O["where"](target == 1, alike, zero) + _O["where"](target == -1, apart, zero)


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean",
) -> Any:  # fmt: skip
    """``input`` where the target is 1, and what lacks to the margin where it is -1."""
    reduction = chosen(size_average, reduce, reduction)
    margin = margin if input.dtype.kind > 1 else int(margin)
    apart = arithmetic.clamp_min(margin - input, 0)
    zero = _O["zeros_like"](input)  # another target takes both, as in PyTorch
    loss = _O["where"](target != -1, input, zero) + _O["where"](target != 1, apart, zero)
    return reduced(loss, reduction)


def margin_ranking_loss(
    input1: Asked, input2: Asked, target: Asked, margin: float = 0.0,
    size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
) -> Any:  # fmt: skip
    """What lacks to ``target * (input1 - input2)`` above the margin."""
    reduction = chosen(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise bad_shape("margin_ranking_loss : All input tensors should have same dimension")
    return reduced(arithmetic.clamp_min(-target * (input1 - input2) + margin, 0.0), reduction)


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of differences along the last dimension; ``eps`` is added to each."""
    return called(_O["norm"](x1 - x2 + eps, p, -1, keepdim), "NormBackward1")


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, size_average: Any = None, reduce: Any = None,
    reduction: Any = "mean",
) -> Any:  # fmt: skip
    """How much nearer the anchor is to ``negative`` than to ``positive`` and a margin."""
    reduction = chosen(size_average, reduce, reduction)
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, margin=margin, swap=swap, reduction=reduction,
        distance_function=lambda x1, x2: pairwise_distance(x1, x2, p, eps),
    )  # fmt: skip


def triplet_margin_with_distance_loss(
    anchor: Asked,
    positive: Asked,
    negative: Asked,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: Any = "mean",
) -> Any:
    """``triplet_margin_loss`` by a distance of one's own, ``pairwise_distance`` if none is given.

    Raises ValueFault (E0304) for a margin that is not above 0.
    """
    if margin <= 0:
        raise bad_argument(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise bad_shape(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _O["minimum"](far, distance(positive, negative))
    return reduced(_above_0(margin + near - far), reduction)


def pdist(input: Any, p: float = 2.0) -> Any:
    """The p-norm distances between all pairs of rows of a matrix, in order."""
    if len(input.shape) != 2:
        raise bad_shape(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    if input.dtype.kind != 2:
        raise bad_dtype("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise bad_value("pdist only supports non-negative p values")
    n, m = input.shape
    charge_shape((n * (n - 1) // 2, 2 * m + 2))
    first, second = np.triu_indices(n, 1)
    gaps = _O["getitem"](input, (first,)) - _O["getitem"](input, (second,))
    return called(arithmetic.distances(gaps, p), "PdistBackward0", input, leads=input)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along a dimension."""
    if not eps >= 0:
        raise bad_value(f"eps must be non-negative, got: {eps:g}")
    if x1.dtype is not x2.dtype:
        x1, x2 = (x.to(promote_types(x1.dtype, x2.dtype)) for x in (x1, x2))
    if x1.dtype.kind != 2:
        said = f"yet common dtype is {x1.dtype.scalar_name}"
        raise bad_dtype(f"expected common dtype to be floating point, {said}")
    if tuple(x1.shape) != tuple(x2.shape):
        x1, x2 = broadcast_tensors(x1, x2)  # dim counts in the common shape
    if x1.dtype is float16:
        return in_float32(cosine_similarity, "SumBackward1", x1, x2, dim=dim, eps=eps)
    return _O["sum"](normalize(x1, 2, dim, eps) * normalize(x2, 2, dim, eps), dim)


def _cosine(x1: Any, x2: Any) -> Any:
    # PyTorch adds a small number to the squares here.
    squares = [_O["sum"](_O["square"](x), -1) + 1e-12 for x in (x1, x2)]
    product, dot = squares[0] * squares[1], _O["sum"](x1 * x2, -1)
    known = getattr(bottom(product), "array", None)
    if known is None or all_finite(known):
        return dot / _O["sqrt"](product)
    fits = _O["isfinite"](product)  # where it overflows the quotient would be 0
    apart = cosine_similarity(x1.to(product.dtype), x2.to(product.dtype), -1)
    return _O["where"](fits, dot / _O["sqrt"](_O["where"](fits, product, 1.0)), apart)


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, size_average: Any = None,
    reduce: Any = None, reduction: Any = "mean",
) -> Any:  # fmt: skip
    """1 - cosine where the target is 1, and the cosine above a margin where it is -1."""
    reduction = chosen(size_average, reduce, reduction)
    if target.ndim > 1:
        raise bad_shape("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        said = f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found"
        raise bad_shape(f"{said} inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
    halves = input1.dtype is input2.dtype is float16
    cosine = (
        in_float32(_cosine, "DivBackward0", input1, input2) if halves else _cosine(input1, input2)
    )
    apart = _above_0(cosine - margin)
    return reduced(_by_target(target, 1.0 - cosine, apart), reduction)
