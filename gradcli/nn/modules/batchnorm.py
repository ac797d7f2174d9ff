"""Batch normalisation as modules, and that of each sample alone.

training        mean and variance of the batch; running ones move towards them
afterwards      the running ones
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import ones, tensor, zeros
from gradcli.engine.source_location import warn
from gradcli.nn import functional as F
from gradcli.nn import init
from gradcli.nn.modules.made import in_ranks
from gradcli.nn.modules.normalization import Normed
from gradcli.ops.errors import ValueFault


def check_rank(input: Tensor, ranks: tuple[int, ...]) -> None:
    """Raise ValueFault (E0301) unless ``input`` has one of these numbers of dimensions."""
    if input.ndim not in ranks:
        wanted = " or ".join(f"{n}D" for n in ranks)
        raise ValueFault("E0301", f"expected {wanted} input (got {input.ndim}D input)")


class _Norm(Normed):
    """What they share: options, parameters and running statistics."""

    _version = 2

    _shown = (
        "{0.num_features}, eps={0.eps}, momentum={0.momentum}, affine={0.affine}, bias={bias}, "
        "track_running_stats={0.track_running_stats}"
    )

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        tracked = {
            "running_mean": zeros(num_features, dtype=dtype, device=device),
            "running_var": ones(num_features, dtype=dtype, device=device),
            "num_batches_tracked": tensor(0, device=device),
        }
        for name, value in tracked.items():
            self.register_buffer(name, value if track_running_stats else None)
        self._learnt((num_features,), affine, affine and bias, dtype=dtype, device=device)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Mapping[str, Any], *noted: Any
    ) -> None:
        if local_metadata.get("version", 1) < 2 and self.track_running_stats:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *noted)

    def reset_running_stats(self) -> None:
        """Forget what was seen."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1 and bias 0, nothing seen."""
        self.reset_running_stats()
        super().reset_parameters()


class _BatchNorm(_Norm):
    rank = 1

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, ...)`` normalised over all but the channels."""
        check_rank(input, (2, 3) if self.rank == 1 else (self.rank + 2,))
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # the mean of all batches so far
                momentum = 1.0 / self.num_batches_tracked.item()
        of_batch = self.training or self.running_mean is None
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input, self.running_mean if keep else None, self.running_var if keep else None,
            self.weight, self.bias, of_batch, momentum or 0.0, self.eps,
        )  # fmt: skip


BatchNorm1d, BatchNorm2d, BatchNorm3d = in_ranks(
    _BatchNorm, "BatchNorm",
    "Batch normalisation of ``(N, C, ...)``, {rank} dimensions behind the channels (1d: or none).",
)  # fmt: skip


class _InstanceNorm(_Norm):
    rank = 1

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, ...)`` or ``(C, ...)`` normalised for each sample and channel."""
        check_rank(input, (self.rank + 1, self.rank + 2))
        if input.ndim == self.rank + 1:
            return self.forward(input.unsqueeze(0)).squeeze(0)
        if input.shape[1] != self.num_features:
            if self.affine:
                said = f"match num_features ({self.num_features}), but got: {input.shape[1]}."
                raise ValueFault("E0301", f"expected input's size at dim=1 to {said}")
            warn(
                "input's size at dim=1 does not match num_features. You can silence this warning "
                "by not passing in num_features, which is not used because affine=False"
            )
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum, self.eps,
        )  # fmt: skip


InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = in_ranks(
    _InstanceNorm, "InstanceNorm",
    "Normalisation over the last {rank} dimensions of ``(N, C, ...)`` for each sample and channel.",
)  # fmt: skip
