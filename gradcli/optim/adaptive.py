"""Optimizers that scale each number's step by its own past gradients.

Adagrad   (Duchi and others, 2011)    s += g*g
                                      p -= lr/(1 + (n - 1)*lr_decay) * g/(sqrt(s) + eps)
Adadelta  (Zeiler, 2012)              v = rho*v + (1 - rho)*g*g
                                      d = sqrt((a + eps)/(v + eps)) * g
                                      a = rho*a + (1 - rho)*d*d;  p -= lr * d
Rprop     (Riedmiller and Braun, 1993)  the step grows by etas[1] while the sign stays, shrinks
                                      by etas[0] where it turns, and there g counts as 0
RMSprop   (Hinton, 2012; Graves, 2013)  v = alpha*v + (1 - alpha)*g*g
                                      size = sqrt(v) + eps; centered: sqrt(v - mean**2) + eps
                                      b = momentum*b + g/size;  p -= lr * b
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradcli.engine import Tensor
from gradcli.ops import OPERATORS
from gradcli.ops.errors import bad_argument
from gradcli.optim.optimizer import Group, Optimizer, State


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of all squared gradients.

    Raises ValueFault (E0304) for a number out of range.
    """

    switches = ("foreach", "maximize", "differentiable", "fused")

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, *, maximize: bool = False,
        **switches: Any,
    ) -> None:  # fmt: skip
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize,
        }, switches)  # fmt: skip
        for group in self.param_groups:
            for p in group["params"]:
                self._started(p, group)

    def _kept(self, group: Group) -> dict[str, float]:
        return {"sum": self.defaults["initial_accumulator_value"]}

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        rate = group["lr"] / (1.0 + (n - 1) * group["lr_decay"])
        total = state["sum"].addcmul_(g, g)
        p.addcdiv_(g, total.sqrt() + group["eps"], value=-rate)


class Adadelta(Optimizer):
    """Steps whose scale is the ratio of running roots: of past steps to past gradients.

    Raises ValueFault (E0304) for a number out of range.
    """

    switches = ("capturable", "foreach", "differentiable")
    kept = ("square_avg", "acc_delta")

    def __init__(
        self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0, *, maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        if not 0.0 <= rho <= 1.0:
            said = f"Invalid rho value: {rho}"
            raise bad_argument(f"rho must be between 0 and 1, got {rho}", torch=said)
        self._begin(locals())

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        rho, eps = group["rho"], group["eps"]
        square, moved = state["square_avg"], state["acc_delta"]
        square.mul_(rho).add_((1.0 - rho) * g * g)
        step = (moved + eps).sqrt() / (square + eps).sqrt() * g
        moved.mul_(rho).add_((1.0 - rho) * step * step)
        p.sub_(group["lr"] * step)


class Rprop(Optimizer):
    """Steps by the sign of the gradient alone, each of a size that adapts.

    Raises ValueFault (E0304) for a number out of range.
    """

    switches = ("foreach", "maximize", "differentiable", "capturable")

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise bad_argument(f"Invalid eta values: {etas[0]}, {etas[1]}")
        self._begin(locals())

    def _kept(self, group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        (less, more), (least, most) = group["etas"], group["step_sizes"]
        where, same = OPERATORS["where"], g * state["prev"].clone()
        factor = where(same > 0, more, where(same < 0, less, OPERATORS["ones_like"](g)))
        size = OPERATORS["clamp"](state["step_size"] * factor, min=least, max=most)
        g = where(same < 0, 0.0, g)
        state["prev"].copy_(g)
        state["step_size"].copy_(size)
        p.sub_(OPERATORS["sign"](g) * size)


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
