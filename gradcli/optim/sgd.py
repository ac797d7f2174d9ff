"""Stochastic gradient descent, with momentum; and averaged.

SGD   g    = grad + weight_decay * p
      buf  = g                                   the first time
      buf  = momentum * buf + (1 - dampening) * g
      p   -= lr * (g + momentum * buf if nesterov else buf)
ASGD  p   -= eta * (lambd * p + g)
      ax  += mu * (p - ax)                       the average of p
      eta  = lr / (1 + lambd * lr * step)**alpha
      mu   = 1 / max(1, step - t0)               1 (ax is p) until step t0

Source of ASGD: Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gradcli.engine import Tensor
from gradcli.ops.errors import bad_argument
from gradcli.optim.optimizer import Group, Optimizer, State, is_followed


class SGD(Optimizer):
    """Gradient descent with optional momentum, Nesterov's look-ahead and weight decay.

    Raises ValueFault (E0304) for a number out of range, or nesterov without momentum.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor(0.0, requires_grad=True)
        >>> sgd = gradcli.optim.SGD([x], lr=0.5)
        >>> (x**2 - 2 * x + 1).backward()
        >>> sgd.step()
        >>> x
        tensor(1., requires_grad=True)
    """

    linear = True
    switches = ("foreach", "differentiable", "fused")

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        self._begin(locals())

    def _check(self, group: Mapping[str, Any]) -> None:
        super()._check(group)
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise bad_argument("Nesterov momentum requires a momentum and zero dampening")

    def _started(self, p: Tensor, group: Group) -> State:
        # As it is before the step: of a parameter that is there twice both begin, as in PyTorch.
        return dict(self.state[p]) if group["momentum"] else {}

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        momentum = group["momentum"]
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = self.state[p]["momentum_buffer"] = g.clone()
            else:
                buffer.mul_(momentum).add_(g, alpha=1.0 - group["dampening"])
            g = g.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        lr = group["lr"]
        p.sub_(g * lr) if is_followed(lr) else p.add_(g, alpha=-lr)


class ASGD(Optimizer):
    """Gradient descent with a rate that falls; ``state[p]["ax"]`` is the average of the steps.

    Raises ValueFault (E0304) for a number out of range.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor(1.0, requires_grad=True)
        >>> asgd = gradcli.optim.ASGD([x], lr=0.5, lambd=0.0)
        >>> (x * x).backward()
        >>> asgd.step()
        >>> x, asgd.state[x]["ax"]
        (tensor(0., requires_grad=True), tensor(0.))
    """

    switches = ("foreach", "maximize", "differentiable", "capturable")

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
        t0: float = 1e6, weight_decay: float = 0, *, maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        self._begin(locals())

    def _kept(self, group: Group) -> dict[str, float]:
        return {"eta": float(group["lr"]), "mu": 1.0, "ax": 0.0}

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        lr, lambd = group["lr"], group["lambd"]
        average, eta, mu = state["ax"], float(state["eta"]), float(state["mu"])
        p.mul_(1 - lambd * eta)
        p.add_(g, alpha=-eta)
        if mu == 1:
            average.copy_(p)
        else:
            average.add_((p - average) * mu)
        state["eta"].fill_(float(lr / (1 + lambd * lr * n) ** group["alpha"]))
        state["mu"].fill_(1 / max(1, n - group["t0"]))
