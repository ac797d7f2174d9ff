"""Pooling as modules."""

from __future__ import annotations

from typing import Any

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
AdaptiveMaxPool1d = _row("AdaptiveMaxPool1d", F.adaptive_max_pool1d, _SIZE, output_size=...)
AdaptiveMaxPool2d = _row("AdaptiveMaxPool2d", F.adaptive_max_pool2d, _SIZE, output_size=...)

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AvgPool1d",
    "AvgPool2d", "MaxPool1d", "MaxPool2d",
]  # fmt: skip
