"""Activations as modules."""

from __future__ import annotations

from typing import Any

from gradcli.engine import Tensor
from gradcli.engine.creation.factories import empty
from gradcli.engine.record.face import face
from gradcli.nn import functional as F
from gradcli.nn.init import constant_
from gradcli.nn.modules.made import module_of
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import Parameter
from gradcli.ops.errors import AssertionFault, ValueFault
from gradcli.ops.operator import OPERATORS


def _row(
    name: str, function: Any, shown: str = "", check: Any = None, /, **options: Any
) -> type[Module]:
    return module_of(__name__, name, function, shown, 1, check, **options)


def _ordered(self: Any) -> None:
    if not self.max_val > self.min_val:
        said = f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
        raise AssertionFault("E0304", said)


ReLU = _row("ReLU", F.relu, inplace=False)
Sigmoid = _row("Sigmoid", face(OPERATORS["sigmoid"]))
Tanh = _row("Tanh", face(OPERATORS["tanh"]))
LeakyReLU = _row("LeakyReLU", F.leaky_relu, "negative_slope={negative_slope}",
                 negative_slope=0.01, inplace=False)  # fmt: skip
ELU = _row("ELU", F.elu, "alpha={alpha}", alpha=1.0, inplace=False)
CELU = _row("CELU", F.celu, "alpha={alpha}", alpha=1.0, inplace=False)
SELU = _row("SELU", F.selu, inplace=False)
GELU = _row("GELU", F.gelu, "approximate={approximate!r}", approximate="none")
SiLU = _row("SiLU", F.silu, inplace=False)
Mish = _row("Mish", F.mish, inplace=False)
ReLU6 = _row("ReLU6", F.relu6, inplace=False)
Softplus = _row("Softplus", F.softplus, "beta={beta}, threshold={threshold}",
                beta=1.0, threshold=20.0)  # fmt: skip
Softsign = _row("Softsign", F.softsign)
LogSigmoid = _row("LogSigmoid", F.logsigmoid)
Hardsigmoid = _row("Hardsigmoid", F.hardsigmoid, inplace=False)
Hardswish = _row("Hardswish", F.hardswish, inplace=False)
Hardtanh = _row("Hardtanh", F.hardtanh, "min_val={min_val}, max_val={max_val}", _ordered,
                min_val=-1.0, max_val=1.0, inplace=False)  # fmt: skip
Hardshrink = _row("Hardshrink", F.hardshrink, "{lambd}", lambd=0.5)
Softshrink = _row("Softshrink", F.softshrink, "{lambd}", lambd=0.5)
Tanhshrink = _row("Tanhshrink", F.tanhshrink)
Threshold = _row("Threshold", F.threshold, "threshold={threshold}, value={value}",
                 threshold=..., value=..., inplace=False)  # fmt: skip
GLU = _row("GLU", F.glu, "dim={dim}", dim=-1)
Softmax = _row("Softmax", F.softmax, "dim={dim}", dim=None)
LogSoftmax = _row("LogSoftmax", F.log_softmax, "dim={dim}", dim=None)
Softmin = _row("Softmin", F.softmin, "dim={dim}", dim=None)


class RReLU(Module):
    """``x`` where it is positive, else a slope times x, drawn for each entry while training."""

    _shown, _usual = "lower={0.lower}, upper={0.upper}", {"inplace": False}

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input; what is negative has the slope drawn, or the middle one."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Softmax2d(Module):
    """The softmax over the channels of ``(N, C, H, W)`` or ``(C, H, W)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Each place's channels, which sum to 1. Raises ValueFault for other ranks."""
        if input.ndim not in (3, 4):
            said = f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead"
            raise ValueFault("E0301", said)
        return F.softmax(input, -3)


class PReLU(Module):
    """``x`` where it is positive, else ``weight * x``; the weight is learnt."""

    _shown = "num_parameters={0.num_parameters}"

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The slope that it began with."""
        constant_(self.weight, float(self.init))

    def forward(self, input: Tensor) -> Tensor:
        """The input with its negative part scaled."""
        return F.prelu(input, self.weight)
