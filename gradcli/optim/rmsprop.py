"""RMSprop (Hinton, 2012), optionally centred (Graves, 2013) and with momentum.

g   = grad + weight_decay * p
v   = alpha * v + (1 - alpha) * g * g
size = sqrt(v) + eps                       centered: sqrt(v - mean**2) + eps
buf = momentum * buf + g / size
p  -= lr * buf                             without momentum: lr * g / size
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradcli.engine import Tensor
from gradcli.optim.optimizer import Group, Optimizer, State


class RMSprop(Optimizer):
    """Steps divided by the root of a running mean of squared gradients.

    Raises ValueFault (E0304) for a number out of range.
    """

    switches = ("capturable", "foreach", "maximize", "differentiable")

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0, momentum: float = 0, centered: bool = False, *,
        maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "maximize": maximize,
        }, switches)  # fmt: skip

    def _kept(self, group: Group) -> dict[str, float]:
        wanted = {
            "square_avg": True, "momentum_buffer": group["momentum"], "grad_avg": group["centered"],
        }  # fmt: skip
        return {name: 0.0 for name, needed in wanted.items() if needed}

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        alpha, momentum = group["alpha"], group["momentum"]
        square = state["square_avg"]
        square.mul_(alpha).addcmul_(g, g, value=1.0 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(g, 1.0 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        size = square.sqrt() + group["eps"]
        if not momentum:
            p.addcdiv_(g, size, value=-group["lr"])
            return
        step = state["momentum_buffer"].mul_(momentum).addcdiv_(g, size)
        p.add_(step, alpha=-group["lr"])
