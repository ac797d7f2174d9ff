"""Schedulers that make each rate from the one before, so that several can work on one optimizer.

With t the number of the step and r the rate:

LambdaLR           r = initial rate * f(t)
MultiplicativeLR   r *= f(t)
StepLR             r *= gamma                    every step_size steps
MultiStepLR        r *= gamma                    at each milestone
ConstantLR         r *= factor at first          r /= factor at step total_iters
LinearLR           r *= start_factor at first, then by a straight line to end_factor
ExponentialLR      r *= gamma
PolynomialLR       r = initial rate * (1 - t/total_iters)**power
CosineAnnealingLR  r = eta_min + (initial rate - eta_min) * (1 + cos(pi*t/T_max))/2
"""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradcli.ops.errors import bad_argument, bad_type
from gradcli.optim.lr_scheduler.base import LRScheduler
from gradcli.optim.optimizer import Optimizer


class _ByFunction(LRScheduler):
    """A function of the step's number, or one for each group."""

    _not_saved = (*LRScheduler._not_saved, "lr_lambdas")

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        groups = len(getattr(optimizer, "param_groups", ()))
        given = lr_lambda if isinstance(lr_lambda, list | tuple) else [lr_lambda] * groups
        self.lr_lambdas = list(given)
        if len(given) != groups:
            raise bad_argument(f"Expected {groups} lr_lambdas, but got {len(given)}")
        for function in self.lr_lambdas:
            if not callable(function):
                said = f"lr_lambda should be a function, but got {type(function).__name__}"
                raise bad_type(said, help="write lambda epoch: 0.95**epoch")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """As ever; of an ``lr_lambda`` that is an object with attributes, those."""
        kept = [
            None if isinstance(f, types.FunctionType) else dict(vars(f)) for f in self.lr_lambdas
        ]
        return {**super().state_dict(), "lr_lambdas": kept}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what ``state_dict()`` gave; functions stay those given to the constructor."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if kept is not None:
                vars(function).update(kept)


class LambdaLR(_ByFunction):
    """The initial rate times ``lr_lambda(t)``.

    Example:
        >>> import gradcli
        >>> sgd = gradcli.optim.SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0)
        >>> gradcli.optim.lr_scheduler.LambdaLR(sgd, lambda t: 1 / (t + 2)).get_last_lr()
        [0.5]
    """

    def get_lr(self) -> list[float]:
        """The initial rate of each group times its function of ``last_epoch``."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class MultiplicativeLR(_ByFunction):
    """The rate before times ``lr_lambda(t)``, from the first step on."""

    def get_lr(self) -> list[float]:
        """The present rate of each group times its function; at first as it is."""
        if self._is_initial:
            return self._rates()
        pairs = zip(self._rates(), self.lr_lambdas, strict=True)
        return [rate * function(self.last_epoch) for rate, function in pairs]


class _ByRatio(LRScheduler):
    """``_ratio`` of a rate to the one before (None: the same), ``_share`` of the initial rate."""

    _ratio: Callable[[int], float | None]
    _share: Callable[[int], float]

    def get_lr(self) -> list[float]:
        ratio = self._ratio(self.last_epoch)
        return [rate if ratio is None else rate * ratio for rate in self._rates()]

    def _jump(self) -> list[float]:
        share = self._share(self.last_epoch)
        return [base * share for base in self.base_lrs]


class StepLR(_ByRatio):
    """The rate times ``gamma`` every ``step_size`` steps.

    Example:
        >>> import gradcli
        >>> sgd = gradcli.optim.SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0)
        >>> steps = gradcli.optim.lr_scheduler.StepLR(sgd, 2, gamma=0.5)
        >>> for _ in range(4):
        ...     sgd.step()
        ...     steps.step()
        >>> steps.get_last_lr()
        [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self, t: int) -> float | None:
        return None if t == 0 or t % self.step_size else self.gamma

    def _share(self, t: int) -> float:
        return self.gamma ** (t // self.step_size)


class MultiStepLR(_ByRatio):
    """The rate times ``gamma`` at each of the ``milestones``, more often where one stands twice."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self, t: int) -> float | None:
        return self.gamma ** self.milestones[t] if t in self.milestones else None

    def _share(self, t: int) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), t)


class ConstantLR(_ByRatio):
    """The rate times ``factor`` until step ``total_iters``.

    Raises ValueFault (E0304) for a factor outside 0 to 1.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        _between("Constant multiplicative factor", factor)
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _ratio(self, t: int) -> float | None:
        if t == 0:
            return self.factor
        return 1.0 / self.factor if t == self.total_iters else None

    def _share(self, t: int) -> float:
        return self.factor + (t >= self.total_iters) * (1 - self.factor)


class LinearLR(_ByRatio):
    """The rate times a factor that goes from ``start_factor`` to ``end_factor`` in a straight line.

    It gets there at step ``total_iters``. Raises ValueFault (E0304) for a factor outside 0 to 1.
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
        total_iters: int = 5, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1:
            said = f"expected to be greater than 0 and less or equal to 1, got {start_factor}."
            raise bad_argument(f"Starting multiplicative factor {said}")
        _between("Ending multiplicative factor", end_factor)
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _ratio(self, t: int) -> float | None:
        if t == 0:
            return self.start_factor
        if self._is_initial or t > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (t - 1) * rise)

    def _share(self, t: int) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, t) / self.total_iters


class ExponentialLR(_ByRatio):
    """The rate times ``gamma`` at each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self, t: int) -> float | None:
        return None if self._is_initial else self.gamma

    def _share(self, t: int) -> float:
        return self.gamma**t


class PolynomialLR(_ByRatio):
    """The initial rate times ``(1 - t/total_iters)**power``, then 0."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _ratio(self, t: int) -> float | None:
        if self._is_initial or t > self.total_iters:
            return None
        whole = self.total_iters
        return ((1.0 - t / whole) / (1.0 - (t - 1) / whole)) ** self.power

    def _share(self, t: int) -> float:
        return (1 - min(self.total_iters, t) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate down to ``eta_min`` in ``T_max`` steps, and up again."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The present rate of each group above ``eta_min``, times the ratio of two cosines."""
        if self._is_initial:
            return self._rates()
        t, low = self.last_epoch, self.eta_min
        if self._step_count == 1 and t > 0:
            return self._jump()
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom a ratio would be 0/0
            rise = 1 - math.cos(math.pi / self.T_max)
            pairs = zip(self._rates(), self.base_lrs, strict=True)
            return [rate + (base - low) * rise / 2 for rate, base in pairs]
        now = 1 + math.cos(math.pi * t / self.T_max)
        before = 1 + math.cos(math.pi * (t - 1) / self.T_max)
        return [now / before * (rate - low) + low for rate in self._rates()]

    def _jump(self) -> list[float]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


def _between(what: str, factor: float) -> None:
    if not 0 <= factor <= 1:
        raise bad_argument(f"{what} expected to be between 0 and 1, got {factor}.")
