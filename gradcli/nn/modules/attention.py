"""Attention with several heads, as a module."""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.nn import functional as F
from gradcli.nn import init
from gradcli.nn.modules.linear import Linear
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import reserve
from gradcli.ops.errors import AssertionFault, bad_argument


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
        if embed_dim <= 0 or num_heads <= 0:
            said = f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            raise bad_argument(f"embed_dim and num_heads must be greater than 0, {said}")
        if embed_dim % num_heads:
            raise AssertionFault("E0304", "embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.kdim, self.vdim, self.dropout = kdim or embed_dim, vdim or embed_dim, dropout
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        options = {"dtype": dtype, "device": device}
        one = self.kdim == self.vdim == embed_dim
        shapes = {"in_proj_weight": (3 * embed_dim, embed_dim)} if one else {
            "q_proj_weight": (embed_dim, embed_dim), "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
        }  # fmt: skip
        names = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
        reserve(self, {name: shapes.get(name) for name in names}, **options)
        reserve(self, {"in_proj_bias": (3 * embed_dim,) if bias else None}, **options)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, **options)
        more = (1, 1, embed_dim) if add_bias_kv else None
        reserve(self, {"bias_k": more, "bias_v": more}, **options)
        for name in shapes:
            init.xavier_uniform_(getattr(self, name))
        if bias:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if add_bias_kv:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The values that the queries gather, and the weights of each key."""
        if self.batch_first and query.ndim == 3:
            query, key, value = (_O["transpose"](t, 0, 1) for t in (query, key, value))
        out, shown = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask,
            need_weights, attn_mask, self.in_proj_weight is None, self.q_proj_weight,
            self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )  # fmt: skip
        if self.batch_first and query.ndim == 3:
            out = _O["transpose"](out, 0, 1)
        return out, shown
