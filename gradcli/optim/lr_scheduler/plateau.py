"""ReduceLROnPlateau: a smaller rate where the loss no longer falls."""

from __future__ import annotations

import math
import warnings
from typing import Any

from gradcli.ops.errors import bad_argument, bad_value
from gradcli.optim.lr_scheduler.base import BY_NUMBER, LRScheduler, checked_optimizer, set_rate
from gradcli.optim.optimizer import Optimizer, number_of


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor`` once ``patience`` steps in a row brought nothing better.

    mode            "min": less is better, "max": more is
    threshold       how much better counts: that share of the best (threshold_mode "rel"), or that
                    much ("abs")
    cooldown        steps after a change that are not counted
    min_lr, eps     the least rate, one for all groups or a list; the least change worth making

    Raises ValueFault (E0304) for a mode or a factor out of range.

    Example:
        >>> import gradcli
        >>> sgd = gradcli.optim.SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0)
        >>> plateau = gradcli.optim.lr_scheduler.ReduceLROnPlateau(sgd, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     plateau.step(loss)
        >>> plateau.get_last_lr()
        [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
        min_lr: list[float] | float = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise bad_argument(f"Factor should be < 1.0, got {factor}.")
        if mode not in ("min", "max"):
            raise bad_argument(f"mode {mode} is unknown!", help='write "min" or "max"')
        if threshold_mode not in ("rel", "abs"):
            raise bad_argument(f"threshold mode {threshold_mode} is unknown!")
        self.factor, self.optimizer = factor, checked_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != groups:
                raise bad_argument(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * groups
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether steps are not counted, after a change."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take in the loss (a number, or a tensor of one) and set the rates."""
        current = number_of(metrics)
        if epoch is not None:
            warnings.warn(BY_NUMBER, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()

    def _better(self, current: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            bar = self.best * (1.0 + sign * self.threshold)
        else:
            bar = self.best + sign * self.threshold
        return current < bar if self.mode == "min" else current > bar

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                said = f"min_lr was given for {len(self.min_lrs)} of {len(groups)} parameter groups"
                raise bad_value(said, help="set min_lrs of the scheduler")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                set_rate(group, rate)
