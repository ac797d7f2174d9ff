"""Modules that change a shape."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.engine import Tensor
from gradcli.nn.modules.module import Module


class Flatten(Module):
    """Dimensions ``start_dim`` to ``end_dim`` as one; the first, the batch, stays."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input flattened."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The input with dimension ``dim`` split."""
        return input.unflatten(self.dim, tuple(self.unflattened_size))

    def extra_repr(self) -> str:
        """The dimension and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
