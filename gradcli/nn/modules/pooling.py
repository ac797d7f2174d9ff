"""Pooling as modules."""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.nn import functional as F
from gradcli.nn.modules.made import module_of
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

    plain = made.__init__
    __init__.__signature__ = plain.__signature__  # type: ignore[attr-defined]
    made.__init__ = __init__
    return made


MaxPool1d = _row("MaxPool1d", F.max_pool1d, _MAX + "ceil_mode={ceil_mode}",
                 kernel_size=..., stride=None, padding=0, dilation=1, return_indices=False,
                 ceil_mode=False)  # fmt: skip
MaxPool2d = _row("MaxPool2d", F.max_pool2d, _MAX + "ceil_mode={ceil_mode}",
                 kernel_size=..., stride=None, padding=0, dilation=1, return_indices=False,
                 ceil_mode=False)  # fmt: skip
AvgPool1d = _row("AvgPool1d", F.avg_pool1d, _AVG, kernel_size=..., stride=None, padding=0,
                 ceil_mode=False, count_include_pad=True)  # fmt: skip
AvgPool2d = _row("AvgPool2d", F.avg_pool2d, _AVG, kernel_size=..., stride=None, padding=0,
                 ceil_mode=False, count_include_pad=True, divisor_override=None)  # fmt: skip
_SIZE = "output_size={output_size}"
AdaptiveAvgPool1d = _row("AdaptiveAvgPool1d", F.adaptive_avg_pool1d, _SIZE, output_size=...)
AdaptiveAvgPool2d = _row("AdaptiveAvgPool2d", F.adaptive_avg_pool2d, _SIZE, output_size=...)
AdaptiveMaxPool1d = _row("AdaptiveMaxPool1d", F.adaptive_max_pool1d, _SIZE, output_size=...,
                         return_indices=False)  # fmt: skip
AdaptiveMaxPool2d = _row("AdaptiveMaxPool2d", F.adaptive_max_pool2d, _SIZE, output_size=...,
                         return_indices=False)  # fmt: skip

MaxPool3d = _row("MaxPool3d", F.max_pool3d, _MAX + "ceil_mode={ceil_mode}",
                 kernel_size=..., stride=None, padding=0, dilation=1, return_indices=False,
                 ceil_mode=False)  # fmt: skip
AvgPool3d = _row("AvgPool3d", F.avg_pool3d, _AVG, kernel_size=..., stride=None, padding=0,
                 ceil_mode=False, count_include_pad=True, divisor_override=None)  # fmt: skip
AdaptiveAvgPool3d = _row("AdaptiveAvgPool3d", F.adaptive_avg_pool3d, _SIZE, output_size=...)
AdaptiveMaxPool3d = _row("AdaptiveMaxPool3d", F.adaptive_max_pool3d, _SIZE, output_size=...,
                         return_indices=False)  # fmt: skip
_POWER = "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}"


def _power(rank: int) -> type[Module]:
    return module_of(
        __name__, f"LPPool{rank}d", getattr(F, f"lp_pool{rank}d"), _POWER, norm_type=...,
        kernel_size=..., stride=None, ceil_mode=False,
    )  # fmt: skip


LPPool1d, LPPool2d, LPPool3d = (_power(rank) for rank in (1, 2, 3))


def _fractional(rank: int) -> type[Module]:
    return module_of(
        __name__, f"FractionalMaxPool{rank}d", getattr(F, f"fractional_max_pool{rank}d"),
        kernel_size=..., output_size=None, output_ratio=None, return_indices=False,
        _random_samples=None,
    )  # fmt: skip


FractionalMaxPool2d, FractionalMaxPool3d = (_fractional(rank) for rank in (2, 3))


class _MaxUnpool(Module):
    """The entries that ``MaxPool`` took back in their places, zeros around them."""

    rank = 1

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        sides = (kernel_size, kernel_size if stride is None else stride, padding)
        self.kernel_size, self.stride, self.padding = (
            tuple(v) if isinstance(v, tuple | list) else (v,) * self.rank for v in sides
        )

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """The input at ``indices``, which ``return_indices=True`` gave."""
        unpool = getattr(F, f"max_unpool{self.rank}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """The windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """``MaxPool1d`` undone."""


class MaxUnpool2d(_MaxUnpool):
    """``MaxPool2d`` undone."""

    rank = 2


class MaxUnpool3d(_MaxUnpool):
    """``MaxPool3d`` undone."""

    rank = 3
