"""Normalisations of each sample as modules: of a layer, of groups of channels, of the root mean
square."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import empty
from gradcli.nn import functional as F
from gradcli.nn import init
from gradcli.nn.modules.made import module_of
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import bad_argument


class Normed(Module):
    """A normalisation with a weight and a bias, each for some."""

    def _learnt(
        self, shape: tuple[int, ...], weight: bool, bias: bool, dtype: Any, device: Any
    ) -> None:
        for name, there in (("weight", weight), ("bias", bias)):
            made = Parameter(empty(tuple(shape), dtype=dtype, device=device)) if there else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0 again."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


def _sizes(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, Integral) else tuple(shape)


class LayerNorm(Normed):
    """Mean 0 and variance 1 over the last dimensions, then ``weight`` and ``bias``."""

    _shown = (
        "{0.normalized_shape}, eps={0.eps}, elementwise_affine={0.elementwise_affine}, bias={bias}"
    )

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5,
        elementwise_affine: bool = True, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = _sizes(normalized_shape), eps
        self.elementwise_affine = affine = elementwise_affine
        self._learnt(self.normalized_shape, affine, affine and bias, dtype, device)

    def forward(self, input: Tensor) -> Tensor:
        """The input normalised."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Normed):
    """Entries over the root of the mean of their squares over the last dimensions."""

    _shown = "{0.normalized_shape}, eps={0.eps}, elementwise_affine={0.elementwise_affine}"

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None,
        elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = _sizes(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        weight = Parameter(empty(self.normalized_shape, dtype=dtype, device=device))
        self.register_parameter("weight", weight if elementwise_affine else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The input normalised."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Normed):
    """Mean 0 and variance 1 for each group of channels of each sample."""

    _shown = "{0.num_groups}, {0.num_channels}, eps={0.eps}, affine={0.affine}, bias={bias}"

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            said = f"({num_channels}) must be divisible by num_groups ({num_groups})"
            raise bad_argument(f"num_channels {said}")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        self._learnt((num_channels,), affine, affine and bias, dtype, device)

    def forward(self, input: Tensor) -> Tensor:
        """The input normalised."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


LocalResponseNorm = module_of(
    __name__, "LocalResponseNorm", F.local_response_norm,
    "{size}, alpha={alpha}, beta={beta}, k={k}", size=..., alpha=1e-4, beta=0.75, k=1.0,
)  # fmt: skip
