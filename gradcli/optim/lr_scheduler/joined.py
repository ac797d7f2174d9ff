"""Schedulers made of schedulers: all at each step, or one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.ops.errors import bad_argument, bad_type
from gradcli.optim.lr_scheduler.base import LRScheduler, set_rate
from gradcli.optim.lr_scheduler.plateau import ReduceLROnPlateau
from gradcli.optim.optimizer import Optimizer


class _Joined(LRScheduler):
    _not_saved = (*LRScheduler._not_saved, "_schedulers")

    def _take(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> None:
        name = type(self).__name__
        if not schedulers:
            kind = " to be chained" if name == "ChainedScheduler" else ""
            said = f"{name} expects at least one scheduler{kind}, but got no scheduler."
            raise bad_argument(said)
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise bad_type(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                said = f"{name} does not support `ReduceLROnPlateau`, whose `step` needs a loss"
                raise bad_argument(f"{said}, but got one at index {i}.")
            if scheduler.optimizer is not (optimizer or schedulers[0].optimizer):
                said = f"{name} expects all schedulers to belong to the same optimizer, but got"
                raise bad_argument(f"{said} {type(scheduler).__name__} at index {i} with another.")
        self._schedulers = schedulers
        self.optimizer = optimizer or schedulers[0].optimizer

    def state_dict(self) -> dict[str, Any]:
        """The state of this scheduler and of those it is made of."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what ``state_dict()`` gave."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class ChainedScheduler(_Joined):
    """Several schedulers of one optimizer, all of them at each step.

    Raises ValueFault (E0304) where they are not of one optimizer, or one is ReduceLROnPlateau.

    Example:
        >>> import gradcli
        >>> from gradcli.optim import lr_scheduler
        >>> sgd = gradcli.optim.SGD([gradcli.zeros(1, requires_grad=True)], lr=1.0)
        >>> warm = lr_scheduler.ConstantLR(sgd, factor=0.5, total_iters=2)
        >>> chained = lr_scheduler.ChainedScheduler([warm, lr_scheduler.ExponentialLR(sgd, 0.5)])
        >>> sgd.step(), chained.step(), chained.get_last_lr()
        (None, None, [0.25])
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        self._take(schedulers, optimizer)
        self._last_lr = self._rates()

    def step(self) -> None:  # type: ignore[override]
        """A step of each."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()


class SequentialLR(_Joined):
    """One scheduler after the other: the next from each of the ``milestones`` on.

    Raises ValueFault (E0304) where there is not one milestone less than schedulers, they are not of
    one optimizer, or one is ReduceLROnPlateau.
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: list[int],
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            said = "Sequential Schedulers expects number of schedulers provided to be one more than"
            raise bad_argument(f"{said} the number of milestone points")
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        # Each scheduler set first rates when it was made: only those of the first are wanted.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        undo: list[Any] = list(schedulers)
        while undo:
            scheduler = undo.pop()
            if hasattr(scheduler, "_schedulers"):
                undo += scheduler._schedulers
            else:
                scheduler.last_epoch -= 1
        first = schedulers[bisect_right(milestones, 0)]
        first._start()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """A step of the scheduler whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[turn]
        if turn and self._milestones[turn - 1] == self.last_epoch:
            scheduler._go_to(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()
