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
    _shown = "p={0.p}, inplace={0.inplace}"

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise bad_argument(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, thinned out while training."""
        return self._function(input, self.p, self.training, self.inplace)


def _row(name: str, function: Callable[..., Any], doc: str) -> type[Dropout]:
    body = {"_function": staticmethod(function), "__doc__": doc, "__module__": __name__}
    return type(name, (Dropout,), body)


_CHANNELS = "``Dropout`` of whole channels of ``(N, C, ...)``."
Dropout1d = _row("Dropout1d", F.dropout1d, _CHANNELS)
Dropout2d = _row("Dropout2d", F.dropout2d, _CHANNELS)
Dropout3d = _row("Dropout3d", F.dropout3d, _CHANNELS)
AlphaDropout = _row(
    "AlphaDropout", F.alpha_dropout,
    "``Dropout`` for ``SELU``: entries get its least value; mean and variance stay.",
)  # fmt: skip
FeatureAlphaDropout = _row(
    "FeatureAlphaDropout", F.feature_alpha_dropout, "``AlphaDropout`` of whole channels."
)
