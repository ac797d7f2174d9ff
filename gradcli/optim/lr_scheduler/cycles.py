"""Schedulers that know the rate by the step's number: cycles up and down, restarts."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from typing import Any

from gradcli.ops.errors import bad_argument
from gradcli.optim.lr_scheduler.base import LRScheduler, checked_optimizer, per_group, set_rate
from gradcli.optim.optimizer import Optimizer


def _set_momentum(group: dict[str, Any], momentum: float) -> None:
    """Momentum, or what plays its part: the first of Adam's betas."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def _begin_momentum(optimizer: Optimizer, base: Any, top: Any, fresh: bool) -> tuple[list, list]:
    """The momentums of each group at the top rate and at the base rate, set where ``fresh``."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        said = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        raise bad_argument(said, help="write cycle_momentum=False")
    lows = per_group(optimizer, "base_momentum", base)
    highs = per_group(optimizer, "max_momentum", top)
    if fresh:
        for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
            _set_momentum(group, high)
            group.update(base_momentum=low, max_momentum=high)
    return lows, highs


class CyclicLR(LRScheduler):
    """The rate from ``base_lr`` up to ``max_lr`` and down again, over and over.

    Up in ``step_size_up`` steps, down in ``step_size_down``. The height of a cycle stays
    ("triangular"), halves each time ("triangular2"), shrinks by ``gamma`` a step ("exp_range"), or
    is scaled by ``scale_fn`` of the cycle's or the step's number (``scale_mode`` "cycle" or
    "iterations"). With ``cycle_momentum`` the momentum goes the other way. Raises ValueFault
    (E0304) for an unknown mode, and for an optimizer without momentum.

    Source: Smith, Cyclical Learning Rates for Training Neural Networks, arXiv:1506.01186.
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
        step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular",
        gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle", cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8, max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.optimizer = checked_optimizer(optimizer)
        lows = per_group(optimizer, "base_lr", base_lr)
        self.max_lrs = per_group(optimizer, "max_lr", max_lr)
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows, strict=True):
                set_rate(group, low)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if scale_fn is None:
            if mode not in ("triangular", "triangular2", "exp_range"):
                mend = 'mode is "triangular", "triangular2" or "exp_range"'
                raise bad_argument("mode is invalid and scale_fn is None", help=mend)
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.mode, self.gamma, self.scale_mode = mode, gamma, scale_mode
        self._scale_fn_custom = scale_fn
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums, self.max_momentums = _begin_momentum(
                optimizer, base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """How high a cycle is, 1 for all of ``max_lr - base_lr``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[float]:
        """A rate between ``base_lr`` and ``max_lr`` for each group; sets the momentum as well."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momentums = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, momentums, strict=True):
                _set_momentum(group, high - (high - low) * part * scale)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * part * scale for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """As ever; of a ``scale_fn`` that is an object with attributes, those."""
        own = self._scale_fn_custom
        plain = own is None or isinstance(own, types.FunctionType)
        return {**super().state_dict(), "_scale_fn_custom": None if plain else dict(vars(own))}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what ``state_dict()`` gave; a function stays that given before."""
        own = self._scale_fn_custom
        super().load_state_dict({**state_dict, "_scale_fn_custom": own})
        if state_dict.get("_scale_fn_custom") is not None:
            vars(own).update(state_dict["_scale_fn_custom"])


class OneCycleLR(LRScheduler):
    """One cycle over the whole training: up to ``max_lr``, then down to next to nothing.

    It starts at ``max_lr/div_factor``, is at the top after ``pct_start`` of the ``total_steps`` (or
    ``epochs * steps_per_epoch``) and ends at the start's ``1/final_div_factor``; with
    ``three_phase`` it passes the starting rate on its way down. ``anneal_strategy`` is "cos" or
    "linear"; with ``cycle_momentum`` the momentum goes the other way. Raises ValueFault (E0304) for
    numbers that do not fit, and for a step beyond the last.

    Source: Smith and Topin, Super-Convergence, arXiv:1708.07120.
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: str = "cos", cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.optimizer = checked_optimizer(optimizer)
        self.total_steps = _whole_training(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise bad_argument(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            said = f"one of 'cos' or 'linear', instead got {anneal_strategy}"
            raise bad_argument(f"anneal_strategy must be {said}")
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        tops = per_group(optimizer, "max_lr", max_lr)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, tops, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = "betas" in optimizer.defaults
            _begin_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rate of each group in the phase that ``last_epoch`` is in; sets the momentum as well.

        Raises ValueFault (E0304) behind the last step.
        """
        t = self.last_epoch
        if t > self.total_steps:
            said = f"The specified number of total steps is {self.total_steps}"
            raise bad_argument(f"Tried to step {t} times. {said}")
        before, phases = 0.0, self._schedule_phases
        while t > phases[0]["end_step"] and len(phases) > 1:
            before, phases = phases[0]["end_step"], phases[1:]
        phase = phases[0]
        part = (t - before) / (phase["end_step"] - before)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, self._between(*ends, part))
        return rates

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _whole_training(total: Any, epochs: Any, each: Any) -> int:
    given = {"total_steps": total}
    if total is None:
        given = {"epochs": epochs, "steps_per_epoch": each}
        if epochs is None or each is None:
            raise bad_argument("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise bad_argument(f"Expected positive integer {name}, but got {value}")
    return total if total is not None else epochs * each


def _phases(total: int, pct_start: float, three: bool) -> list[dict[str, Any]]:
    """Where each phase ends, and between which of a group's rates and momentums it goes."""
    top = float(pct_start * total) - 1
    stops = [("initial_lr", "max_momentum"), ("max_lr", "base_momentum")]
    ends: list[float] = [top]
    if three:
        stops.append(("initial_lr", "max_momentum"))
        ends.append(float(2 * pct_start * total) - 2)
    stops.append(("min_lr", "max_momentum"))
    ends.append(total - 1)
    return [
        {"end_step": end, "start_lr": a[0], "end_lr": b[0],
         "start_momentum": a[1], "end_momentum": b[1]}
        for end, a, b in zip(ends, stops, stops[1:], strict=False)
    ]  # fmt: skip


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial rate down to ``eta_min``, then at once up and down again.

    The first takes ``T_0`` steps, each next one ``T_mult`` times as many. Raises ValueFault (E0304)
    for other than positive whole numbers.

    Source: Loshchilov and Hutter, SGDR, arXiv:1608.03983.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not isinstance(T_0, int) or T_0 <= 0:
            raise bad_argument(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise bad_argument(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            said = f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            raise bad_argument(said)
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rate of each group ``T_cur`` steps after the last restart, of ``T_i``."""
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the next rates, or those at ``epoch``, which may lie between two whole numbers."""
        if epoch is not None and epoch < 0:
            raise bad_argument(f"Expected non-negative epoch, but got {epoch}")
        if epoch is None and self.last_epoch >= 0:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._place(epoch or 0)
        self._set(self.get_lr())

    def _place(self, epoch: float) -> None:
        """Which cycle ``epoch`` is in, and how far."""
        self.last_epoch = math.floor(epoch)
        cycle = 0
        if self.T_mult > 1 and epoch >= self.T_0:
            cycle = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        self.T_i = self.T_0 * self.T_mult**cycle
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            self.T_cur = epoch - self.T_0 * (self.T_mult**cycle - 1) / (self.T_mult - 1)
