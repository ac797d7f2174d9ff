"""Convolutions as modules."""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.functions.nn.convolution import sides_of
from gradcli.nn import functional as F
from gradcli.nn.modules.linear import Weighted
from gradcli.nn.modules.made import in_ranks
from gradcli.ops.errors import ValueFault, bad_argument


def each_side(value: Any, rank: int) -> tuple[int, ...]:
    """One number for each of ``rank`` dimensions: those given, or one number for all."""
    return tuple(value) if isinstance(value, tuple | list) else (value,) * rank


class _Convolution(Weighted):
    """What all convolutions share; ``rank`` says how many dimensions the kernel has.

    Example:
        >>> import gradcli as torch
        >>> torch.nn.Conv2d(3, 8, 3, padding=1)(torch.zeros(1, 3, 5, 5)).shape
        gradcli.Size([1, 8, 5, 5])
    """

    rank = 0
    transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
        output_padding: Any = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        for wrong, said in (
            (groups <= 0, "groups must be a positive integer"),
            (groups and in_channels % groups, "in_channels must be divisible by groups"),
            (groups and out_channels % groups, "out_channels must be divisible by groups"),
            (isinstance(padding, str) and padding not in ("same", "valid"),
             f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}"),
            (padding == "same" and max(each_side(stride, self.rank)) > 1,
             "padding='same' is not supported for strided convolutions"),
            (padding_mode not in ("zeros", "reflect", "replicate", "circular"),
             "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got "
             f"padding_mode='{padding_mode}'"),
        ):  # fmt: skip
            if wrong:
                raise bad_argument(said)
        rank = self.rank
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = each_side(kernel_size, rank), each_side(stride, rank)
        self.padding = padding if isinstance(padding, str) else each_side(padding, rank)
        self.dilation, self.groups = each_side(dilation, rank), groups
        self.output_padding = each_side(output_padding, rank)
        self.padding_mode = padding_mode
        ends = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = ends[0], ends[1] // groups, *self.kernel_size
        self._learn(shape, out_channels, bias, dtype=dtype, device=device)

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, ...)`` to ``(N, out_channels, ...)``."""
        convolve = getattr(F, f"conv{self.rank}d")
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            sides = sides_of(padding, self.kernel_size, self.dilation, self.rank)
            input, padding = F.pad(input, sides, mode=self.padding_mode), 0
        return convolve(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        none, one = (0,) * self.rank, (1,) * self.rank
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ) + self._unusual(padding=none, dilation=one, output_padding=none, groups=1)
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


Conv1d, Conv2d, Conv3d = in_ranks(
    _Convolution, "Conv",
    "A convolution of ``(N, C, ...)`` over its last dimensions, {rank} of them; first values are "
    "uniform within 1/sqrt(inputs of an output).",
)  # fmt: skip


class _Transposed(_Convolution):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise bad_argument(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode, device, dtype, output_padding,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """``(N, C, ...)`` to ``(N, out_channels, ...)``, of ``output_size`` where it is given."""
        convolve = getattr(F, f"conv_transpose{self.rank}d")
        further = self._padding_for(input, output_size) if output_size else self.output_padding
        return convolve(
            input, self.weight, self.bias, self.stride, self.padding, further, self.groups,
            self.dilation,
        )  # fmt: skip

    def _padding_for(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output padding of that size. Raises ValueFault (E0301) where there is none."""
        size = tuple(output_size)[-self.rank :]
        if len(output_size) not in (self.rank, input.ndim):
            said = f"ConvTranspose{self.rank}D: for {input.ndim}D input, output_size must have"
            given = f"{self.rank} or {input.ndim} elements (got {len(output_size)})"
            raise ValueFault("E0301", f"{said} {given}")
        padding: Any = self.padding
        least = [
            (n - 1) * step - 2 * pad + spread * (kernel - 1) + 1
            for n, step, pad, spread, kernel in zip(
                input.shape[-self.rank :], self.stride, padding, self.dilation,
                self.kernel_size, strict=True,
            )
        ]  # fmt: skip
        most = [n + step - 1 for n, step in zip(least, self.stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(least, size, most, strict=True)):
            said = f"requested an output size of {size}, but valid sizes range from {least} to"
            raise ValueFault("E0301", f"{said} {most} (for an input of {input.shape[2:]})")
        return tuple(n - low for n, low in zip(size, least, strict=True))


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = in_ranks(
    _Transposed, "ConvTranspose", "The transpose of ``Conv{rank}d``."
)
