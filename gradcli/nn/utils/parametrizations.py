"""``gradcli.nn.utils.parametrizations``: parametrizations that are often wanted."""

from __future__ import annotations

from typing import Any

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.record.fast_path import FUNCTIONS as _O
from gradcli.nn.modules.module import Module
from gradcli.nn.utils.parametrize import register_parametrization

__all__ = ["weight_norm"]


class _WeightNorm(Module):
    """A size for each slice along ``dim``, -1 for all at once, and a direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """The direction in that size."""
        return weight_v * (weight_g / self._size(weight_v))

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        """The size of a weight, and the weight."""
        return self._size(weight), weight

    def _size(self, weight: Any) -> Any:
        if self.dim == -1:
            return _O["norm"](weight, 2.0)
        dims = tuple(d for d in range(weight.ndim) if d != self.dim % weight.ndim)
        if not dims:  # of none: the norm of each entry, not of all
            return _O["norm"](_O["unsqueeze"](weight, -1), 2.0, -1)
        return _O["norm"](weight, 2.0, dims, True)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Let a parameter be computed from its norm, ``original0``, and its direction, ``original1``.

    The norm is over all dimensions but ``dim``, with None over all.

    Salimans and Kingma, Weight normalization, 2016.
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
