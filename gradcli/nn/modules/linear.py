"""Linear maps as modules."""

from __future__ import annotations

import math
from typing import Any

from gradcli.engine import Tensor
from gradcli.nn import functional as F
from gradcli.nn import init
from gradcli.nn.modules.module import Module
from gradcli.nn.parameter import reserve
from gradcli.ops.errors import bad_argument


class Identity(Module):
    """What comes in goes out; any arguments are accepted and ignored."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input itself."""
        return input


class Weighted(Module):
    """Outputs of a weight and a bias, whose first values are uniform within 1/sqrt(n) of 0, with
    ``n`` the number of inputs that one output is of."""

    def _learn(self, shape: tuple[int, ...], outputs: int, bias: bool, **options: Any) -> None:
        reserve(self, {"weight": shape, "bias": (outputs,) if bias else None}, **options)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the first values again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(inputs) if inputs else 0
            init.uniform_(self.bias, -bound, bound)


class Linear(Weighted):
    """``x @ weight.T + bias``.

    The first values are uniform within 1/sqrt(in_features) of 0.

    Example:
        >>> import gradcli as torch
        >>> torch.nn.Linear(3, 2)(torch.ones(4, 3)).shape
        gradcli.Size([4, 2])
    """

    _shown = "in_features={0.in_features}, out_features={0.out_features}, bias={bias}"

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self._learn((out_features, in_features), out_features, bias, dtype=dtype, device=device)

    def forward(self, input: Tensor) -> Tensor:
        """``(..., in_features)`` to ``(..., out_features)``."""
        return F.linear(input, self.weight, self.bias)


class Bilinear(Weighted):
    """``x1 @ W[k] @ x2 + bias[k]`` for each output ``k``."""

    _shown = (
        "in1_features={0.in1_features}, in2_features={0.in2_features}, "
        "out_features={0.out_features}, bias={bias}"
    )

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in1_features <= 0:
            raise bad_argument(f"in1_features must be > 0, but got ({in1_features=})")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features, shape = out_features, (out_features, in1_features, in2_features)
        self._learn(shape, out_features, bias, dtype=dtype, device=device)

    def reset_parameters(self) -> None:
        """Draw the first values again."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """``(..., in1)`` and ``(..., in2)`` to ``(..., out_features)``."""
        return F.bilinear(input1, input2, self.weight, self.bias)
