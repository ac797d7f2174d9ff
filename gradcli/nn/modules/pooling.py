"""Pooling as modules."""

from __future__ import annotations

from functools import update_wrapper
from typing import Any

from gradcli.engine import Tensor
from gradcli.functions.nn.windows import each
from gradcli.nn import functional as F
from gradcli.nn.modules.conv import each_side
from gradcli.nn.modules.made import in_ranks, module_of
from gradcli.nn.modules.module import Module

_MAX = "kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, "
_AVG = "kernel_size={kernel_size}, stride={stride}, padding={padding}"


def _row(name: str, function: Any, shown: str, /, **options: Any) -> type[Module]:
    made: Any = module_of(__name__, name, function, shown, **options)
    if "stride" not in options:
        return made

    def __init__(self: Module, *args: Any, **given: Any) -> None:
        plain(self, *args, **given)
        if self.stride is None:  # the windows lie side by side
            self.stride = self.kernel_size
        if name == "AvgPool1d":  # a size for each dimension, as PyTorch keeps them
            for key in ("kernel_size", "stride", "padding"):
                setattr(self, key, each(getattr(self, key), 1, key))

    plain = made.__init__
    made.__init__ = update_wrapper(__init__, plain)
    return made


def _in_ranks(name: str, function: str, ranks: tuple, shown: str, /, **options: Any) -> list[Any]:
    return [
        _row(f"{name}{rank}d", getattr(F, f"{function}{rank}d"), shown, **options) for rank in ranks
    ]


MaxPool1d, MaxPool2d, MaxPool3d = _in_ranks(
    "MaxPool", "max_pool", (1, 2, 3), _MAX + "ceil_mode={ceil_mode}", kernel_size=..., stride=None,
    padding=0, dilation=1, return_indices=False, ceil_mode=False,
)  # fmt: skip
AvgPool1d = _row("AvgPool1d", F.avg_pool1d, _AVG, kernel_size=..., stride=None, padding=0,
                 ceil_mode=False, count_include_pad=True)  # fmt: skip
AvgPool2d, AvgPool3d = _in_ranks(
    "AvgPool", "avg_pool", (2, 3), _AVG, kernel_size=..., stride=None, padding=0, ceil_mode=False,
    count_include_pad=True, divisor_override=None,
)  # fmt: skip
_SIZE = "output_size={output_size}"
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = _in_ranks(
    "AdaptiveAvgPool", "adaptive_avg_pool", (1, 2, 3), _SIZE, output_size=...
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = _in_ranks(
    "AdaptiveMaxPool", "adaptive_max_pool", (1, 2, 3), _SIZE, output_size=..., return_indices=False
)
_POWER = "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}"

LPPool1d, LPPool2d, LPPool3d = (
    module_of(__name__, f"LPPool{rank}d", getattr(F, f"lp_pool{rank}d"), _POWER, norm_type=...,
              kernel_size=..., stride=None, ceil_mode=False) for rank in (1, 2, 3)
)  # fmt: skip
FractionalMaxPool2d, FractionalMaxPool3d = _in_ranks(
    "FractionalMaxPool", "fractional_max_pool", (2, 3), "", kernel_size=..., output_size=None,
    output_ratio=None, return_indices=False, _random_samples=None,
)  # fmt: skip


class _MaxUnpool(Module):
    """The entries that ``MaxPool`` took back in their places, zeros around them."""

    rank = 1
    _shown = "kernel_size={0.kernel_size}, stride={0.stride}, padding={0.padding}"

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        sides = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (each_side(v, self.rank) for v in sides)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """The input at ``indices``, which ``return_indices=True`` gave."""
        unpool = getattr(F, f"max_unpool{self.rank}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = in_ranks(
    _MaxUnpool, "MaxUnpool", "``MaxPool{rank}d`` undone."
)
