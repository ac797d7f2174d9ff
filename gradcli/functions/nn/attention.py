"""Attention: values gathered by how well queries meet keys.

Vaswani and others, Attention is all you need, 2017.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.engine.dtypes import bool_, float16, float32
from gradcli.engine.record.arguments import Asked
from gradcli.engine.record.composite import in_float32
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.functions.nn.activations import dropout, softmax
from gradcli.functions.nn.layers import linear
from gradcli.functions.nn.padding import pad
from gradcli.functions.reshaping import repeat_interleave
from gradcli.ops.errors import AssertionFault, bad_dtype, bad_shape, bad_value

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Any, key: Any, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """softmax(query @ key.T * scale) @ value; a mask's True takes part, its numbers are added.

    With ``enable_gqa`` each head of keys and values serves several heads of queries.
    """
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise bad_shape("Expected query, key, and value to all be  at least 2 dimensional")
    if not query.dtype is key.dtype is value.dtype:
        kinds = ", ".join(v.dtype.c_name for v in (query, key, value))
        raise bad_dtype(f"Expected query, key, and value to have the same dtype, but got {kinds}")
    if attn_mask is not None and attn_mask.dtype not in (bool_, float32, query.dtype):
        raise bad_dtype("Expected attn_mask dtype to be bool or float or to match query dtype")
    if query.dtype is float16:
        if attn_mask is not None and attn_mask.dtype is float16:
            attn_mask = attn_mask.to(float32)
        return in_float32(
            scaled_dot_product_attention, "ToCopyBackward0", query, key, value, scale=scale,
            attn_mask=attn_mask, dropout_p=dropout_p, is_causal=is_causal, enable_gqa=enable_gqa,
        )  # fmt: skip
    if enable_gqa:
        heads = query.shape[-3]
        key, value = (repeat_interleave(x, heads // x.shape[-3], -3) for x in (key, value))
    factor = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    scores = _O["matmul"](query, _O["mT"](key)) * factor
    if is_causal:
        if attn_mask is not None:
            raise bad_value("explicit attn_mask should not be set when is_causal=True")
        attn_mask = wrap(np.tri(*scores.shape[-2:], dtype=bool), bool_)
    if attn_mask is not None:
        if attn_mask.dtype is bool_:
            scores = _O["where"](attn_mask, scores, -float("inf"))
        else:
            scores = scores + attn_mask
    weights = softmax(scores, -1)
    if attn_mask is not None:  # what may look at nothing sees zeros
        nothing = _O["all"](scores == -math.inf, -1, True)
        weights = _O["where"](nothing, 0.0, weights)
    out = _O["matmul"](dropout(weights, dropout_p) if dropout_p else weights, value)
    if isinstance(query, Plain) and out.ndim == 4 and not query.is_contiguous():
        by_heads = query.transpose(1, 2)  # lies so if it is a view of (batch, length, all heads)
        out = out.transpose(1, 2).contiguous().transpose(1, 2) if by_heads.is_contiguous() else out
    return out


def multi_head_attention_forward(
    query: Asked, key: Asked, value: Asked, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Any, in_proj_bias: Any, bias_k: Asked | None, bias_v: Asked | None,
    add_zero_attn: Any, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
    training: bool = True, key_padding_mask: Any = None, need_weights: Any = True,
    attn_mask: Any = None, use_separate_proj_weight: Any = False, q_proj_weight: Any = None,
    k_proj_weight: Any = None, v_proj_weight: Any = None, static_k: Any = None,
    static_v: Any = None, average_attn_weights: Any = True, is_causal: Any = False,
) -> tuple[Any, Any]:  # fmt: skip
    """``(output, weights)`` of attention in ``num_heads`` parts of the features side by side.

    ``query`` is ``(L, N, E)``, ``key`` and ``value`` ``(S, N, E)``, or all without N. Masks are
    True where a key takes no part, or numbers that are added; ``bias_k`` and ``bias_v`` are one
    more key and value, ``add_zero_attn`` one of zeros, ``static_k`` and ``static_v`` what stands
    in place of the projected ones, ``(N * num_heads, S, E / num_heads)``. Without ``need_weights``
    the second part is None. Raises AssertionFault (E0304) for sizes that do not fit.
    """
    if is_causal and attn_mask is None:
        mend = "pass nn.Transformer.generate_square_subsequent_mask(L)"
        raise bad_value("Need attn_mask if specifying the is_causal hint.", help=mend)
    _check_masks(query, key, value, key_padding_mask, attn_mask, num_heads)
    batched = len(query.shape) == 3
    if not batched:
        query, key, value = (_O["unsqueeze"](t, 1) for t in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = _O["unsqueeze"](key_padding_mask, 0)
    count, size = query.shape[1:]
    _check_sizes(size, embed_dim_to_check, num_heads, bias_k, bias_v, (static_k, static_v))
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias, separate)
    if bias_k is not None:
        k, v = (
            _O["cat"](x, _O["expand"](b, (1, count, size)), dim=0)
            for x, b in ((k, bias_k), (v, bias_v))
        )
    q, k, v = (_heads(x, num_heads) for x in (q, k, v))
    k, v = (
        x if static is None else _O["reshape"](static, (count, num_heads, *static.shape[1:]))
        for x, static in ((k, static_k), (v, static_v))
    )
    if add_zero_attn:
        zeros = k.new_zeros((count, num_heads, 1, size // num_heads))
        k, v = (_O["cat"](x, zeros, dim=2) for x in (k, v))
    mask = _added(attn_mask, key_padding_mask, q, k.shape[2])
    scores = _O["matmul"](q * (size // num_heads) ** -0.5, _O["mT"](k))
    weights = softmax(scores if mask is None else scores + mask, -1)
    if mask is not None and not need_weights:  # what may look at nothing sees zeros
        weights = _O["where"](_O["all"](mask == -math.inf, -1, True), 0.0, weights)
    if dropout_p:
        weights = dropout(weights, dropout_p, training)
    found = _O["permute"](_O["matmul"](weights, v), (2, 0, 1, 3))  # (L, N, heads, E / heads)
    out = linear(_O["reshape"](found, (*found.shape[:2], size)), out_proj_weight, out_proj_bias)
    shown = None
    if need_weights:
        shown = _O["mean"](weights, 1) if average_attn_weights else weights
    if not batched:
        return out[:, 0], None if shown is None else shown[0]
    return out, shown


def _check_sizes(
    size: int, wanted: int, heads: int, bias_k: Any, bias_v: Any, statics: tuple[Any, Any]
) -> None:
    if size != wanted:
        said = f"was expecting embedding dimension of {wanted}, but got {size}"
    elif size % heads:
        said = f"embed_dim {size} not divisible by num_heads {heads}"
    elif (bias_k is None) is not (bias_v is None):
        said = "bias_k and bias_v are given both or neither"
    elif bias_k is not None and statics != (None, None):
        said = f"bias cannot be added to static {'value' if statics[0] is None else 'key'}."
    else:
        return
    raise AssertionFault("E0304", said)


def _check_masks(query: Any, key: Any, value: Any, padding: Any, mask: Any, heads: int) -> None:
    """Raise AssertionFault (E0304) for kinds and ranks, RuntimeFault (E0301) for a mask's sizes."""
    rank = len(query.shape)
    if rank not in (2, 3):
        said = "query should be unbatched 2D or batched 3D tensor but received"
        raise AssertionFault("E0304", f"{said} {rank}-D query tensor")
    each = "batched (3-D)" if rank == 3 else "unbatched (2-D)"
    if not len(key.shape) == len(value.shape) == rank:
        said = f"For {each} `query`, expected `key` and `value` to be {rank}-D but found"
        ranks = f"{len(key.shape)}-D and {len(value.shape)}-D tensors respectively"
        raise AssertionFault("E0304", f"{said} {ranks}")
    pair, batch = (query.shape[0], key.shape[0]), query.shape[1] if rank == 3 else 1
    if rank == 3 and len(key.shape) == 3 and key.shape[1] != batch:
        raise bad_shape(f"there are {batch} sequences of queries and {key.shape[1]} of keys")
    for name, given, sizes, ranks in (
        ("key_padding_mask", padding, ((batch, pair[1])[3 - rank :],), f" or {rank - 1}-D"),
        ("attn_mask", mask, (pair, (batch * heads, *pair)), ", 2-D or 3-D"),
    ):
        if given is None:
            continue
        if given.dtype.kind not in (0, 2):
            raise AssertionFault("E0304", f"only bool and floating types of {name} are supported")
        wanted = [size for size in sizes if len(size) == len(given.shape)]
        if not wanted:
            said = f"expected `{name}` to be `None`{ranks} but found {len(given.shape)}-D"
            raise AssertionFault("E0304", f"For {each} `query`, {said} tensor instead")
        if tuple(given.shape) not in wanted:
            if given is padding or rank < len(given.shape):
                said = f"shape to be {wanted[0]} but got {given.shape}"
                raise AssertionFault("E0304", f"Expected `{name}` {said}")
            said = f"is {given.shape}, but should be {wanted[0]}."
            raise bad_shape(f"The shape of the {len(given.shape)}D {name} {said}")


def _projected(
    query: Any, key: Any, value: Any, weight: Any, bias: Any, separate: tuple | None
) -> tuple[Any, Any, Any]:
    """The three inputs times their matrices, ``separate`` or thirds of one, plus their biases."""
    if separate is None and key.shape != value.shape:
        said = f"key shape {key.shape} does not match value shape {value.shape}"
        raise AssertionFault("E0304", said)
    size = query.shape[-1]
    thirds = [slice(i * size, (i + 1) * size) for i in range(3)]
    matrices = [weight[third] for third in thirds] if separate is None else separate
    biases = [None if bias is None else bias[third] for third in thirds]
    q, k, v = map(linear, (query, key, value), matrices, biases)
    return q, k, v


def _heads(x: Any, heads: int) -> Any:
    """``(L, N, E)`` by heads: ``(N, heads, L, E / heads)``."""
    split = _O["reshape"](x, (*x.shape[:2], heads, x.shape[2] // heads))
    return _O["permute"](split, (1, 2, 0, 3))


def _added(mask: Any, padding: Any, q: Any, keys: int) -> Any:
    """What is added to the scores: ``mask`` for each head, and -inf at keys that are padded."""
    total = None
    if mask is not None:
        total = _as_numbers(mask, q, keys)
        if len(mask.shape) == 3:
            total = _O["reshape"](total, (*q.shape[:2], *total.shape[1:]))
    if padding is not None:
        rows = _O["reshape"](_as_numbers(padding, q, keys), (padding.shape[0], 1, 1, keys))
        total = rows if total is None else total + rows
    return total


def _as_numbers(mask: Any, like: Any, keys: int) -> Any:
    """A mask as numbers to add, 0 for keys that were appended; -inf where it is True."""
    if not mask.dtype.kind:
        zeros = like.new_zeros(tuple(mask.shape))
        mask = _O["where"](mask, float("-inf"), zeros)
    return pad(mask, (0, keys - mask.shape[-1])) if mask.shape[-1] < keys else mask
