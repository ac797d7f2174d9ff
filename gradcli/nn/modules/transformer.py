"""Attention with several heads, and the encoder and decoder of a transformer, as modules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import empty, full
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.nn import functional as F
from gradcli.nn import init
from gradcli.nn.modules.container import ModuleList
from gradcli.nn.modules.dropout import Dropout
from gradcli.nn.modules.linear import Linear
from gradcli.nn.modules.module import Module
from gradcli.nn.modules.normalization import LayerNorm
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


def _activation(given: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    known: dict[Any, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}
    if isinstance(given, str) and given not in known:
        raise RuntimeFault("E0304", f"activation should be relu/gelu, not {given}")
    return known.get(given, given)  # type: ignore[arg-type]


class _Layer(Module):
    """What the layers of encoder and decoder share: the feed-forward part and its options."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, dtype=dtype
        )
        if self.crosses:
            self.multihead_attn = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, dtype=dtype
            )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, dtype=dtype)
        self.norm_first = norm_first
        count = 3 if self.crosses else 2
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    crosses = False

    def _step(self, x: Tensor, i: int, part: Callable[[Tensor], Tensor]) -> Tensor:
        """``x`` with what a part makes of it added, normalised before or after."""
        norm, drop = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        return x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))

    def _forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a feed-forward network, each added to its input."""

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The sequence, each place with what it gathers from the others."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0]

        return self._step(self._step(src, 1, attend), 2, self._forward)


class TransformerDecoderLayer(_Layer):
    """As an encoder's layer, with attention to the encoder's ``memory`` between its two parts."""

    crosses = True

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The target sequence, with what it gathers from itself and from ``memory``."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0]

        def look(x: Tensor) -> Tensor:
            mask = memory_key_padding_mask
            return self.multihead_attn(x, memory, memory, mask, False, memory_mask)[0]

        return self._step(self._step(self._step(tgt, 1, attend), 2, look), 3, self._forward)


class _Stack(Module):
    """Copies of one layer, one after the other, and a last normalisation where one is given."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x: Tensor, call: Callable[[Module, Tensor], Tensor]) -> Tensor:
        for layer in self.layers:
            x = call(layer, x)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A stack of encoder layers."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        """The sequence after all layers."""
        return self._through(src, lambda layer, x: layer(x, mask, src_key_padding_mask))


class TransformerDecoder(_Stack):
    """A stack of decoder layers."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The target sequence after all layers."""
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self._through(tgt, lambda layer, x: layer(x, memory, *masks))


class Transformer(Module):
    """An encoder and a decoder: sequences ``src`` to sequences ``tgt``.

    Inputs are ``(S, N, E)`` and ``(T, N, E)``; with ``batch_first`` N is the first dimension.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Module | None = None, custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def last() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, last()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, last()
        )
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The decoder's sequence for ``tgt``, which sees what the encoder made of ``src``."""
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeFault(
                "E0301", "the feature number of src and tgt must be equal to d_model"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The mask with which each place sees those before it: -inf above the diagonal."""
        return _O["triu"](full((sz, sz), float("-inf"), dtype=dtype), 1)
