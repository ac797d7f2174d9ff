"""Modules that move entries to other places: shuffles, windows, other sizes."""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.nn import functional as F
from gradcli.nn.modules.made import module_of
from gradcli.nn.modules.module import Module

ChannelShuffle = module_of(
    __name__, "ChannelShuffle", F.channel_shuffle, "groups={groups}", groups=...
)
PixelShuffle = module_of(
    __name__, "PixelShuffle", F.pixel_shuffle, "upscale_factor={upscale_factor}", upscale_factor=...
)
PixelUnshuffle = module_of(
    __name__, "PixelUnshuffle", F.pixel_unshuffle, "downscale_factor={downscale_factor}",
    downscale_factor=...,
)  # fmt: skip
_WINDOWS = "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"
Fold = module_of(
    __name__, "Fold", F.fold, "output_size={output_size}, " + _WINDOWS, output_size=...,
    kernel_size=..., dilation=1, padding=0, stride=1,
)  # fmt: skip
Unfold = module_of(
    __name__, "Unfold", F.unfold, _WINDOWS, kernel_size=..., dilation=1, padding=0, stride=1
)


class Upsample(Module):
    """``(N, C, ...)`` at another size of its last dimensions: ``functional.interpolate``."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
        align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, tuple | list):
            self.scale_factor: Any = tuple(map(float, scale_factor))
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The input at the other size."""
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The size or the factor, and the mode."""
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` of images by their nearest entries."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of images by straight lines between entries, corners on corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
