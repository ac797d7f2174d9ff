"""Adam (Kingma and Ba, 2014) and AdamW, whose weight decay does not pass through the moments
(Loshchilov and Hutter, 2019).

    Adam:  g = grad + weight_decay * p            AdamW:  p *= 1 - lr * weight_decay, g = grad
    m  = beta1 * m + (1 - beta1) * g
    v  = beta2 * v + (1 - beta2) * g * g          amsgrad: the largest v so far
    p -= lr / (1 - beta1**n) * m / (sqrt(v) / sqrt(1 - beta2**n) + eps)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradcli.engine import Tensor
from gradcli.ops import OPERATORS
from gradcli.ops.errors import bad_argument
from gradcli.optim.optimizer import Group, Optimizer, State, is_followed


class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square.

    Raises ValueFault (E0304) for a number out of range.
    """

    decoupled = False

    switches = ("foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay")

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
        maximize: bool = False, **switches: Any,
    ) -> None:  # fmt: skip
        switches.setdefault("decoupled_weight_decay", self.decoupled)
        if isinstance(lr, Tensor) and switches.get("foreach") and not switches.get("capturable"):
            said = "lr as a Tensor is not supported for capturable=False and foreach=True"
            raise bad_argument(said)
        if len({isinstance(beta, Tensor) for beta in betas}) > 1:
            raise bad_argument("betas must be either both floats or both Tensors")
        super().__init__(params, {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize,
        }, switches)  # fmt: skip

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
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
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
