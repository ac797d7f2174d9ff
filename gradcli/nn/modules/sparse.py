"""Embeddings: rows of a table, by whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import empty
from gradcli.engine.grad_mode import no_grad
from gradcli.functions.nn.embedding import padding_row
from gradcli.nn import functional as F
from gradcli.nn import init
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import AssertionFault


def _sizes(table: Tensor) -> tuple[int, ...]:
    if table.ndim != 2:
        raise AssertionFault("E0301", "Embeddings parameter is expected to be 2-dimensional")
    return tuple(table.shape)


class _Table(Module):
    """A table of vectors, drawn where it is not given; the row of ``padding_idx`` is then 0."""

    _shown = "{0.num_embeddings}, {0.embedding_dim}"
    _usual: Mapping[str, Any] = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            padding_idx = padding_row(padding_idx, num_embeddings)
        self.padding_idx = padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            room = empty(num_embeddings, embedding_dim, dtype=dtype, device=device)
            self.weight = Parameter(room)
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                said = "Shape of weight does not match num_embeddings and embedding_dim"
                raise AssertionFault("E0301", said)
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draw the table again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """A table of ``num_embeddings`` vectors, drawn from the standard normal distribution.

    The row of ``padding_idx`` is 0 and learns nothing.
    """

    _usual: Mapping[str, Any] = {"padding_idx": None, **_Table._usual}

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:  # fmt: skip
        """An embedding with the rows of a matrix; ``freeze`` keeps them as they are."""
        count, size = _sizes(embeddings)
        return cls(
            count, size, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
            _weight=embeddings, _freeze=freeze,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """Whole numbers of any shape to vectors: one more dimension."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip


class EmbeddingBag(_Table):
    """A table like Embedding's, whose vectors are joined in bags: by ``mode``, their mean.

    ``forward(input, offsets, per_sample_weights)`` is ``functional.embedding_bag``.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, _weight: Tensor | None = None, include_last_offset: bool = False,
        padding_idx: int | None = None, device: Any = None, dtype: Any = None,
        _freeze: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq,
            sparse, _weight, _freeze, device, dtype,
        )  # fmt: skip
        self.mode, self.include_last_offset = mode, include_last_offset

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, include_last_offset: bool = False, padding_idx: int | None = None,
    ) -> EmbeddingBag:  # fmt: skip
        """A table with the rows of a matrix; ``freeze`` keeps them as they are."""
        count, size = _sizes(embeddings)
        return cls(
            count, size, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
            include_last_offset, padding_idx, _freeze=freeze,
        )  # fmt: skip

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Bags of whole numbers to a vector each."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        return f"{super().extra_repr()}, mode={self.mode!r}{self._unusual(padding_idx=None)}"
