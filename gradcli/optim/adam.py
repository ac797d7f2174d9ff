"""Adam (Kingma and Ba, 2014), AdamW, whose weight decay does not pass through the moments
(Loshchilov and Hutter, 2019), Adamax (Kingma and Ba, 2014), NAdam (Dozat, 2016), RAdam (Liu, 2019).

Adam     g = grad + weight_decay * p            AdamW: p *= 1 - lr * weight_decay, g = grad
         m = beta1*m + (1 - beta1)*g
         v = beta2*v + (1 - beta2)*g*g          amsgrad: the largest v so far
         p -= lr/(1 - beta1**n) * m/(sqrt(v)/sqrt(1 - beta2**n) + eps)
Adamax   u = max(beta2*u, abs(g) + eps);  p -= lr/(1 - beta1**n) * m/u
NAdam    mu = beta1*(1 - 0.96**(n*momentum_decay)/2), M the product of all mu so far
         p -= lr*((1 - mu)*g/(1 - M) + mu'*m/(1 - M*mu')) / (sqrt(v/(1 - beta2**n)) + eps)
RAdam    p -= lr*m/(1 - beta1**n) * r*sqrt(1 - beta2**n)/(sqrt(v) + eps), r once it is defined
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from gradcli.engine import Tensor
from gradcli.ops import OPERATORS
from gradcli.ops.errors import bad_argument
from gradcli.optim.optimizer import Group, Optimizer, State, is_followed

Betas = tuple[float, float]


class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square.

    Raises ValueFault (E0304) for a number out of range.
    """

    decoupled = False

    switches = ("foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay")

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
        maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        switches.setdefault("decoupled_weight_decay", self.decoupled)
        if isinstance(lr, Tensor) and switches.get("foreach") and not switches.get("capturable"):
            said = "lr as a Tensor is not supported for capturable=False and foreach=True"
            raise bad_argument(said)
        if len({isinstance(beta, Tensor) for beta in betas}) > 1:
            raise bad_argument("betas must be either both floats or both Tensors")
        self._begin(locals())

    def _kept(self, group: Group) -> dict[str, float]:
        largest = {"max_exp_avg_sq": 0.0} if group["amsgrad"] else {}
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0, **largest}

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        lr, (beta1, beta2) = group["lr"], group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        followed = is_followed(lr) or is_followed(beta1) or is_followed(beta2)
        if followed:  # nothing that is kept may be written to
            mean = state["exp_avg"] = mean + (g - mean) * (1.0 - beta1)
            square = state["exp_avg_sq"] = square * beta2 + g * g * (1.0 - beta2)
        else:
            mean.lerp_(g, 1.0 - beta1)
            square.mul_(beta2).addcmul_(g, g, value=1.0 - beta2)
        if group["amsgrad"]:
            square = OPERATORS["maximum"](state["max_exp_avg_sq"].clone(), square)
            state["max_exp_avg_sq"].copy_(square)
        size = square.sqrt() / (1.0 - beta2**n) ** 0.5 + group["eps"]
        rate = lr / (1.0 - beta1**n)
        p.sub_(mean / size * rate) if followed else p.addcdiv_(mean, size, value=-rate)


class AdamW(Adam):
    """Adam with weight decay applied to the parameter itself.

    Raises ValueFault (E0304) for a number out of range.
    """

    decoupled = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
        maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, **switches
        )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` gave, of Adam too, but for where weight decay is applied.

        Raises ValueFault where groups or their sizes differ.
        """
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the root of the mean square.

    Raises ValueFault (E0304) for a number out of range.
    """

    switches = ("foreach", "maximize", "differentiable", "capturable")
    kept = ("exp_avg", "exp_inf")

    def __init__(
        self, params: Iterable[Any], lr: float = 2e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, *, maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        self._begin(locals())

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        beta1, beta2 = group["betas"]
        mean = state["exp_avg"].lerp_(g, 1.0 - beta1)
        largest = OPERATORS["maximum"](beta2 * state["exp_inf"], g.abs() + group["eps"])
        state["exp_inf"].copy_(largest)
        p.addcdiv_(mean, largest, value=-group["lr"] / (1.0 - beta1**n))


class NAdam(Optimizer):
    """Adam with Nesterov's momentum. Raises ValueFault (E0304) for a number out of range."""

    switches = ("foreach", "capturable", "differentiable")

    def __init__(
        self, params: Iterable[Any], lr: float = 2e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, *, maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        self._begin(locals())

    def _kept(self, group: Group) -> dict[str, float]:
        return {"mu_product": 1.0, "exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        lr, (beta1, beta2), fall = group["lr"], group["betas"], group["momentum_decay"]
        mu, next_mu = (beta1 * (1.0 - 0.5 * 0.96 ** (k * fall)) for k in (n, n + 1))
        state["mu_product"] *= mu
        product = float(state["mu_product"])
        mean = state["exp_avg"].lerp_(g, 1.0 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1.0 - beta2)
        size = (square / (1.0 - beta2**n)).sqrt() + group["eps"]
        p.addcdiv_(g, size, value=-lr * (1.0 - mu) / (1.0 - product))
        p.addcdiv_(mean, size, value=-lr * next_mu / (1.0 - product * next_mu))


class RAdam(Optimizer):
    """Adam that waits to trust the mean square until enough gradients were seen.

    Raises ValueFault (E0304) for a number out of range.
    """

    switches = ("foreach", "capturable", "decoupled_weight_decay", "differentiable")
    kept = ("exp_avg", "exp_avg_sq")

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: Betas = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
        maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        self._begin(locals())

    def _update(self, p: Tensor, g: Tensor, state: State, group: Group, n: int) -> None:
        beta1, beta2 = group["betas"]
        mean = state["exp_avg"].lerp_(g, 1.0 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1.0 - beta2)
        step = mean / (1.0 - beta1**n)
        limit = 2.0 / (1.0 - beta2) - 1.0
        rho = limit - 2.0 * n * beta2**n / (1.0 - beta2**n)
        if rho > 5.0:
            rest = (rho - 4.0) * (rho - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * rho)
            step = step * math.sqrt(rest * (1.0 - beta2**n)) / (square.sqrt() + group["eps"])
        p.sub_(group["lr"] * step)
