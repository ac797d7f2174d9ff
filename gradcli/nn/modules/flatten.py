"""Modules that change a shape."""

from __future__ import annotations

from collections.abc import Sequence

from gradcli.engine import Tensor
from gradcli.nn.modules.module import Module
from gradcli.ops.errors import bad_type


class Flatten(Module):
    """Dimensions ``start_dim`` to ``end_dim`` as one; the first, the batch, stays."""

    _shown = "start_dim={0.start_dim}, end_dim={0.end_dim}"

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input flattened."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """One dimension as several."""

    _shown = "dim={0.dim}, unflattened_size={0.unflattened_size}"

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        said = "unflattened_size must be {} of ints, but found {}type {}"
        if not isinstance(unflattened_size, list | tuple):
            kind = type(unflattened_size).__name__
            raise bad_type(said.format("a tuple", "", kind))
        for at, n in enumerate(unflattened_size):
            if not isinstance(n, int):
                kind = f"{type(n).__name__} at pos {at}"
                raise bad_type(said.format("tuple", "element of ", kind))
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The input with dimension ``dim`` split."""
        return input.unflatten(self.dim, tuple(self.unflattened_size))
