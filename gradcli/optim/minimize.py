"""Looking for a minimum: one loop around any of the optimizers, and an honest word on how it ended.

Converged means that no entry of the gradient is larger than ``tolerance`` times the size of the
value (that at the start where it was smaller, and 1 at least). Where L-BFGS's line search finds
nothing, its memory is dropped, and then plain steps along the gradient are made shorter and
shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.ops.errors import ValueFault, bad_argument
from gradcli.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from gradcli.optim.adaptive import Adadelta, Adagrad, RMSprop, Rprop
from gradcli.optim.lbfgs import LBFGS
from gradcli.optim.sgd import SGD

METHODS: dict[str, Any] = {
    kind.__name__.lower(): kind
    for kind in (LBFGS, SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, Adamax, NAdam, RAdam, Rprop)
}
STEPS = {"lbfgs": 1000}
"""The most steps by method, where nothing is said; of the first-order methods ``MANY``."""
MANY = 10_000
TOLERANCES = {"float64": 1e-8, "float32": 1e-5, "float16": 1e-2}
"""How large a gradient may be, by the dtype that it is computed in, where nothing is said."""
SEARCH = 25
"""Evaluations in one line search, as PyTorch's."""
SHORTER = 20
"""How many steps are tried from one place, the later ones shorter and shorter."""

BOUNDLESS = "it seems to have no smallest value; add a term that grows, or a bound"


class Minimum:
    """Where the search ended; the parameters hold the place.

    value        the value there
    gradient     the largest entry of the gradient there
    converged    whether that is within the tolerance
    steps        how many steps were taken
    evaluations  how often the function was evaluated with its gradient
    said         a sentence on how it ended
    """

    __slots__ = ("converged", "evaluations", "gradient", "said", "steps", "value")

    def __init__(self, value: float, gradient: float) -> None:
        self.value, self.gradient = value, gradient
        self.converged = False
        self.steps = self.evaluations = 0
        self.said = ""

    def __repr__(self) -> str:
        return f"Minimum(value={self.value:g}, steps={self.steps}, converged={self.converged})"


def minimize(
    function: Callable[[], Any], params: Sequence[Any], method: str = "lbfgs", *,
    lr: float | None = None, steps: int | None = None, tolerance: float | None = None,
    each: Callable[[int, float, float], Any] | None = None,
) -> Minimum:  # fmt: skip
    """Move ``params``, leaves that need a gradient, to where ``function()``, a scalar, is smallest.

    ``method`` is an optimizer's name in small letters, ``lr`` its learning rate (its own default
    where None). ``tolerance`` is 1e-8 for float64 and what its rounding leaves for a smaller dtype,
    where None. ``each`` is called with the number of the step, the value and the largest entry of
    the gradient, from step 0 on. Raises ValueFault: E0304 for an argument out of range, E0501
    where the value or the gradient is not finite, or the value falls without end.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([3.0, -1.0], dtype=gradcli.float64, requires_grad=True)
        >>> minimize(lambda: ((x - 1) ** 2).sum(), [x])
        Minimum(value=0, steps=2, converged=True)
    """
    if method not in METHODS:
        raise bad_argument(f"no method {method!r}", help=f"one of {', '.join(METHODS)}")
    if tolerance is None:
        tolerance = max((TOLERANCES.get(p.dtype.name, 1e-8) for p in params), default=1e-8)
    if not tolerance > 0:
        raise bad_argument(f"a tolerance of {tolerance:g}", help="a number above 0: 1e-8")
    most = STEPS.get(method, MANY) if steps is None else steps
    if most < 1:
        raise bad_argument(f"{most} steps", help="1 or more")
    search = _Search(function, list(params), method, lr, tolerance)
    found = search.look(0, each)
    while not found.converged and search.number < most:
        search.move()
        found = search.look(search.number, each)
        if search.stuck:
            break
    found.said = search.words()
    return found


class _Search:
    """The state of one search."""

    def __init__(
        self, function: Callable[[], Any], params: list[Any], method: str, lr: float | None,
        tolerance: float,
    ) -> None:  # fmt: skip
        self.function, self.params, self.method, self.lr = function, params, method, lr
        self.tolerance = tolerance
        self.number = self.evaluations = 0
        self.flat = False  # whether the last step changed the value by rounding only
        self.seen: Any = None  # the versions of the parameters at the last evaluation
        self.loss: Any = None
        self.stuck = False
        self.scale = self.start = 1.0
        self.optimizer = self.made()

    def made(self) -> Any:
        """The optimizer, without a memory."""
        options: dict[str, Any] = {} if self.lr is None else {"lr": self.lr}
        if self.method == "lbfgs":
            options = {"lr": 1.0, "max_iter": 1, "max_eval": SEARCH,
                       "line_search_fn": "strong_wolfe", "tolerance_grad": 0.0,
                       "tolerance_change": 0.0, **options}  # fmt: skip
        return METHODS[self.method](self.params, **options)

    def closure(self) -> Any:
        """The value at the parameters, its gradients in their ``grad``."""
        versions = [p._version for p in self.params]
        if versions != self.seen:
            for p in self.params:
                p.grad = None
            self.loss = self.function()
            if self.loss.requires_grad:
                self.loss.sum().backward()
            self.evaluations += 1
            self.seen = versions
        return self.loss

    def measured(self) -> tuple[float, float]:
        """The value and the largest entry of the gradient."""
        value = float(self.closure().item())
        largest = 0.0
        for p in self.params:
            if p.grad is not None and p.numel():
                largest = max(largest, float(abs(p.grad).max()), key=_badness)
        return value, largest

    def look(self, number: int, each: Callable[..., Any] | None) -> Minimum:
        """Where the search is."""
        value, gradient = self.measured()
        if not np.isfinite(value) or not np.isfinite(gradient):
            if value == -np.inf:
                said = f"the value falls to -inf after {_steps(number)}"
                raise ValueFault("E0501", said, help=BOUNDLESS)
            what, bad = ("value", value) if not np.isfinite(value) else ("gradient", gradient)
            where = f"after {_steps(number)}" if number else "at the start"
            mend = "start elsewhere, or make the steps shorter with lr"
            raise ValueFault("E0501", f"the {what} is {bad:g} {where}", help=mend)
        if each is not None:
            each(number, value, gradient)
        found = Minimum(value, gradient)
        if number == 0:
            self.start = abs(value)
        self.scale = max(1.0, min(abs(value), self.start))
        found.converged = gradient <= self.tolerance * self.scale
        found.steps, found.evaluations = number, self.evaluations
        self.last = found
        return found

    def move(self) -> None:
        """One step; what L-BFGS cannot mend by itself is mended here."""
        self.number += 1
        if self.method != "lbfgs":
            self.closure()
            self.optimizer.step()
            return
        before = self.last
        start = [p.detach().clone() for p in self.params]
        rounding = 4 * np.finfo(np.float64).eps * max(1.0, abs(before.value))
        for attempt in range(SHORTER):
            if attempt:
                self.optimizer = self.made()
            group = self.optimizer.param_groups[0]
            if attempt > 1 or (attempt == 0 and self.flat):
                group["line_search_fn"] = None
                group["lr"] *= 0.25 ** max(0, attempt - 2)
            self.optimizer.step(self.closure)
            value, gradient = self.measured()
            smaller = np.isfinite(gradient) and value < before.value
            # In a flat place the value cannot say any more which of the two is better.
            level = gradient < before.gradient and value <= before.value + rounding
            if value == -np.inf or smaller or level:
                self.flat = bool(abs(value - before.value) <= rounding)
                group.update(self.made().param_groups[0], params=group["params"])
                return
            self.back(start)
        self.stuck = True

    def back(self, start: list[Any]) -> None:
        """Put the parameters where they were."""
        from gradcli.engine.grad_mode import no_grad

        with no_grad():
            for p, kept in zip(self.params, start, strict=True):
                p.copy_(kept)

    def words(self) -> str:
        """How the search ended. Raises ValueFault (E0501) where the value has no lower bound."""
        last = self.last
        within = f"{self.tolerance:g}" + (" of the value's size" if self.scale > 1 else "")
        taken = _steps(last.steps)
        if last.converged:
            return f"converged after {taken}: no entry of the gradient is larger than {within}"
        why = "no smaller value is near" if self.stuck else "that is the limit"
        if last.value < -1e12 * max(1.0, self.start):
            said = f"the value falls to {last.value:g} after {taken}, and without end, it seems"
            raise ValueFault("E0501", said, help=BOUNDLESS)
        return (
            f"not converged after {taken}: {why}; the largest entry of the gradient is "
            f"{last.gradient:.3g}, not within {within}"
        )


def _steps(number: int) -> str:
    return f"{number} step{'s' * (number != 1)}"


def _badness(value: float) -> float:
    """Order in which a NaN is the largest."""
    return value if value == value else float("inf")
