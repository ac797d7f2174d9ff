"""Dropout as modules: only while training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from gradcli.engine import Tensor
from gradcli.nn import functional as F
from gradcli.nn.modules.module import Module
from gradcli.ops.errors import bad_argument


class Dropout(Module):
    """Entries set to 0 with probability ``p`` while training, the others scaled up."""

    _function: ClassVar[Callable[..., Any]] = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise bad_argument(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, thinned out while training."""
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The options."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """``Dropout`` of whole channels of ``(N, C, L)``."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """``Dropout`` of whole channels of ``(N, C, H, W)``."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(Dropout):
    """``Dropout`` of whole channels of ``(N, C, D, H, W)``."""

    _function = staticmethod(F.dropout3d)


class AlphaDropout(Dropout):
    """``Dropout`` for ``SELU``: entries get its least value; mean and variance stay."""

    _function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """``AlphaDropout`` of whole channels."""

    _function = staticmethod(F.feature_alpha_dropout)
