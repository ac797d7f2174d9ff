"""Attention with several heads, as a module."""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import empty, full
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.nn import functional as F
from gradcli.nn import init
from gradcli.nn.modules.linear import Linear
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import AssertionFault, RuntimeFault


class NonDynamicallyQuantizableLinear(Linear):
    """The last layer of an attention, under the name that PyTorch prints."""


class MultiheadAttention(Module):
    """Attention of queries to keys, in ``num_heads`` parts of the features side by side.

    Inputs are ``(L, N, E)``, with ``batch_first`` ``(N, L, E)``, or without a batch ``(L, E)``. The
    result is a pair: the values gathered, and the weights (``need_weights``), averaged over heads.

    Example:
        >>> import gradcli as torch
        >>> x = torch.ones(3, 1, 4)
        >>> torch.nn.MultiheadAttention(4, 2)(x, x, x)[1]
        tensor([[[0.3333, 0.3333, 0.3333],
                 [0.3333, 0.3333, 0.3333],
                 [0.3333, 0.3333, 0.3333]]], grad_fn=<MeanBackward1>)
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionFault("E0304", "embed_dim must be divisible by num_heads")
        if add_bias_kv or add_zero_attn:
            raise RuntimeFault("E0304", "add_bias_kv and add_zero_attn are not there yet")
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.kdim, self.vdim, self.dropout = kdim or embed_dim, vdim or embed_dim, dropout
        self.head_dim = embed_dim // num_heads
        one = self.kdim == self.vdim == embed_dim
        shapes = {"in_proj_weight": (3 * embed_dim, embed_dim)} if one else {
            "q_proj_weight": (embed_dim, embed_dim), "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
        }  # fmt: skip
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            made = Parameter(empty(*shapes[name], dtype=dtype)) if name in shapes else None
            self.register_parameter(name, made)
        self.register_parameter(
            "in_proj_bias", Parameter(empty(3 * embed_dim, dtype=dtype)) if bias else None
        )
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, dtype=dtype
        )
        for name in shapes:
            init.xavier_uniform_(getattr(self, name))
        if bias:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The values that the queries gather, and the weights of each key."""
        if is_causal and attn_mask is None:
            raise RuntimeFault(
                "E0304", "Need attn_mask if specifying the is_causal hint.",
                help="pass nn.Transformer.generate_square_subsequent_mask(L)",
            )  # fmt: skip
        batched = query.ndim == 3
        if not batched:
            query, key, value = (_O["unsqueeze"](t, 1) for t in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = _O["unsqueeze"](key_padding_mask, 0)
        elif self.batch_first:
            query, key, value = (_O["transpose"](t, 0, 1) for t in (query, key, value))
        q, k, v = self._projected(query, key, value)
        mask = self._mask(attn_mask, key_padding_mask, q)
        scores = _O["matmul"](q * self.head_dim**-0.5, _O["mT"](k))
        weights = F.softmax(scores if mask is None else scores + mask, -1)
        if self.dropout:
            weights = F.dropout(weights, self.dropout, self.training)
        found = _O["permute"](_O["matmul"](weights, v), (2, 0, 1, 3))  # (L, N, heads, head_dim)
        out = self.out_proj(_O["reshape"](found, (*found.shape[:2], self.embed_dim)))
        shown = None
        if need_weights:
            shown = _O["mean"](weights, 1) if average_attn_weights else weights
        if not batched:
            return out[:, 0], None if shown is None else shown[0]
        return (_O["transpose"](out, 0, 1) if self.batch_first else out), shown

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Queries, keys and values by heads: ``(N, heads, length, head_dim)``."""
        size = self.embed_dim
        found = []
        for i, (given, name) in enumerate(zip((query, key, value), "qkv", strict=True)):
            part = slice(i * size, (i + 1) * size)
            whole = self.in_proj_weight
            weight = getattr(self, f"{name}_proj_weight") if whole is None else whole[part]
            bias = None if self.in_proj_bias is None else self.in_proj_bias[part]
            lined = F.linear(given, weight, bias)
            heads = _O["reshape"](lined, (*lined.shape[:2], self.num_heads, self.head_dim))
            found.append(_O["permute"](heads, (1, 2, 0, 3)))
        return found

    def _mask(self, mask: Tensor | None, padding: Tensor | None, q: Tensor) -> Tensor | None:
        """What is added to the scores: ``mask`` for each head, and -inf at keys that are padded."""
        total = None
        if mask is not None:
            total = _additive(mask, q)
            if mask.ndim == 3:
                total = _O["reshape"](total, (-1, self.num_heads, *mask.shape[1:]))
        if padding is not None:
            keys = _O["reshape"](_additive(padding, q), (padding.shape[0], 1, 1, -1))
            total = keys if total is None else total + keys
        return total


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    """A mask of booleans as numbers to add: -inf where it is True."""
    if mask.dtype.kind:
        return mask
    zeros = full(tuple(mask.shape), 0.0, dtype=like.dtype)
    return _O["where"](mask, float("-inf"), zeros)


__all__ = ["MultiheadAttention"]
