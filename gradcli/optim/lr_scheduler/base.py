"""What every scheduler of learning rates has: the optimizer, the step's number, its state."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from gradcli.engine import Tensor
from gradcli.ops.errors import KeyFault, UnwrittenFault, bad_argument, bad_type
from gradcli.ops.memory_budget import step as turn
from gradcli.optim.optimizer import Optimizer

BY_NUMBER = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler."
)
ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite "
    "order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of the "
    "learning rate schedule is skipped."
)
OVERRIDDEN = (
    "`optimizer.step()` has been overridden after the scheduler was made, which cannot see then "
    "whether it is called before `lr_scheduler.step()`."
)


class LRScheduler:
    """Sets the ``lr`` of an optimizer's groups, once when it is made and again at each ``step()``.

    A scheduler of your own gives ``get_lr()``: the new rate of each group, from ``last_epoch`` (0
    the first time), ``base_lrs`` and ``optimizer.param_groups``. ``last_epoch`` other than -1 goes
    on with an optimizer whose groups have an ``initial_lr``. Raises TypeFault (E0303) for what is
    no optimizer, KeyFault (E0304) where an ``initial_lr`` is missing.

    Example:
        >>> import gradcli
        >>> sgd = gradcli.optim.SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0)
        >>> class Half(gradcli.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base * 0.5**self.last_epoch for base in self.base_lrs]
        >>> half = Half(sgd)
        >>> for _ in range(3):
        ...     sgd.step()
        ...     half.step()
        >>> half.get_last_lr()
        [0.125]
    """

    _not_saved: tuple[str, ...] = ("optimizer",)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked_optimizer(optimizer)
        optimizer.stepped = bool(optimizer.stepped)
        optimizer.own_step = vars(optimizer).get("step")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                said = f"param 'initial_lr' is not specified in param_groups[{i}] when resuming"
                raise KeyFault(
                    "E0304", f"{said} scheduler with last_epoch >= 0.", help="leave last_epoch out"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._start()

    def _start(self) -> None:
        """The step that sets the first rates."""
        self._step_count = 0
        self._is_initial, self._get_lr_called_within_step = True, False
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[float]:
        """The rate of each group at ``last_epoch``; what a scheduler is about."""
        mend = "write def get_lr(self) in it: a list with a rate for each parameter group"
        said = f"{type(self).__name__} does not say what its learning rates are"
        raise UnwrittenFault("E0304", said, help=mend)

    def get_last_lr(self) -> list[float]:
        """The rates that were set last, one for each group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Set the next rates; call it after the optimizer's ``step()``."""
        if self._step_count == 1:
            if vars(self.optimizer).get("step") is not self.optimizer.own_step:
                warnings.warn(OVERRIDDEN, UserWarning, stacklevel=2)
            elif self.optimizer.stepped is False:
                warnings.warn(ORDER, UserWarning, stacklevel=2)
        if epoch is not None:
            warnings.warn(BY_NUMBER, UserWarning, stacklevel=2)
        turn()
        self._step_count += 1
        self._go_to(epoch)

    def _go_to(self, epoch: int | None) -> None:
        """The rates of the next step, or of step ``epoch``."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        jumps = getattr(self, "_jump", None) if epoch is not None else None
        self._set(self.get_lr() if jumps is None else jumps())

    def _set(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_rate(group, rate)
        self._last_lr = self._rates()

    def _rates(self) -> list[float]:
        return [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All that ``load_state_dict`` needs to go on from here; the optimizer has its own."""
        return {k: v for k, v in vars(self).items() if k not in self._not_saved}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what ``state_dict()`` gave."""
        vars(self).update(state_dict)


class _LRScheduler(LRScheduler):
    """The older name."""


def _copied(rate: Any) -> Any:
    return rate.detach().clone() if isinstance(rate, Tensor) else rate


def set_rate(group: dict[str, Any], rate: Any) -> None:
    """Give a group its next rate; where that is a tensor, whoever has it sees it change."""
    if isinstance(group["lr"], Tensor):
        group["lr"].detach().fill_(float(rate))
    else:
        group["lr"] = _copied(rate)


def checked_optimizer(optimizer: Any) -> Optimizer:
    """``optimizer``; raises TypeFault (E0303) where it is none."""
    if not isinstance(optimizer, Optimizer):
        raise bad_type(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def per_group(optimizer: Optimizer, name: str, given: Any) -> list[Any]:
    """A copy of one value for each group, from one for all or a list. Raises ValueFault (E0304)."""
    count = len(optimizer.param_groups)
    if not isinstance(given, list | tuple):
        return [_copied(given) for _ in range(count)]
    if len(given) != count:
        said = f"optimizer.param_groups. {name} has {len(given)} values, param_groups has {count}."
        raise bad_argument(f"{name} must have the same length as {said}")
    return [_copied(value) for value in given]
