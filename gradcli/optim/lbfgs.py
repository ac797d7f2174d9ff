"""L-BFGS: a quasi-Newton method that remembers the last steps instead of a matrix.

The direction is Nocedal's two-loop recursion (Nocedal and Wright, Numerical Optimization, algorithm
7.4) over the pairs  s = x_k+1 - x_k,  y = g_k+1 - g_k,  rho = 1/(y.s),  with  (y.s)/(y.y)  as the
first guess of the inverse Hessian. The defaults, the stopping rules and the line search
(``line_search``) are PyTorch's, so that a trajectory is PyTorch's too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradcli.engine import Tensor
from gradcli.engine.grad_mode import enable_grad, no_grad
from gradcli.functions.overloads import cat
from gradcli.ops import OPERATORS
from gradcli.ops.errors import AssertionFault, bad_argument, bad_value
from gradcli.optim.line_search import strong_wolfe
from gradcli.optim.optimizer import Optimizer, State, as_reals, number_of


class LBFGS(Optimizer):
    """Quasi-Newton steps; ``step(closure)`` takes up to ``max_iter`` of them.

    ``closure`` clears the gradients, computes the loss, calls backward and returns the loss. One
    group of parameters only. Raises ValueFault (E0304) for a number out of range or several groups,
    RuntimeFault (E0304) for a ``line_search_fn`` other than None and ``"strong_wolfe"``.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor(0.0, requires_grad=True)
        >>> lbfgs = gradcli.optim.LBFGS([x])
        >>> def closure():
        ...     lbfgs.zero_grad()
        ...     loss = (x - 2) ** 2
        ...     loss.backward()
        ...     return loss
        >>> lbfgs.step(closure)
        tensor(4., grad_fn=<PowBackward0>)
        >>> x
        tensor(2., requires_grad=True)
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        }, {})  # fmt: skip
        if len(self.param_groups) != 1:
            raise bad_argument("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run the closure, then move up to ``max_iter`` times; returns the first loss."""
        if len(self.param_groups) != 1:
            said = f"Expected exactly one param_group, got {len(self.param_groups)}"
            raise AssertionFault("E0304", said, help="give one list of parameters")
        with no_grad():
            return self._step(closure)

    def _evaluate(self, closure: Callable[[], Any]) -> tuple[Any, Tensor]:
        with enable_grad():
            loss = closure()
        grads = [OPERATORS["zeros_like"](p) if p.grad is None else p.grad for p in self._params]
        return loss, cat([as_reals(g).reshape(-1) for g in grads]).clone()

    def _move(self, t: Any, direction: Tensor) -> None:
        start = 0
        for p in map(as_reals, self._params):
            p.add_(direction[start : start + p.numel()].view_as(p), alpha=float(t))
            start += p.numel()

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first, g = self._evaluate(closure)
        loss, evaluated = number_of(first), 1
        state["func_evals"] += 1
        if _largest(g) <= group["tolerance_grad"]:
            return first
        # What a step that fails has not told the state, the next one does not know.
        kept = {name: state.get(name) for name in _KEPT}
        for i in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            kept["d"] = direction = self._direction(g, state, kept, group["history_size"])
            before = kept["prev_loss"] = loss
            kept["prev_flat_grad"] = g.clone()
            t = group["lr"].squeeze() if isinstance(group["lr"], Tensor) else group["lr"]
            if state["n_iter"] == 1:
                t = min(1.0, 1.0 / g.abs().sum()) * t
            kept["t"] = t
            slope = g.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                allowed = group["max_eval"] - evaluated
                loss, g, t, count = self._search(closure, t, direction, loss, g, slope, allowed)
                kept["t"] = t
                self._move(t, direction)
            else:
                self._move(t, direction)
                count = 0
                if i != group["max_iter"]:  # the last move is not looked at again
                    found, g = self._evaluate(closure)
                    loss, count = number_of(found), 1
            evaluated += count
            state["func_evals"] += count
            if (
                evaluated >= group["max_eval"]
                or _largest(g) <= group["tolerance_grad"]
                or _largest(direction * t) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        state.update(kept)
        return first

    def _direction(self, g: Tensor, state: State, kept: State, size: int) -> Tensor:
        """Downhill, bent by what the steps before told of the curvature."""
        if state["n_iter"] == 1:
            kept.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -g
        changes, steps, ro = kept["old_dirs"], kept["old_stps"], kept["ro"]
        y, s = g - kept["prev_flat_grad"], kept["d"] * kept["t"]
        ys = y.dot(s)
        if ys > 1e-10:
            if len(changes) == size:
                for past in (changes, steps, ro):
                    past.pop(0)
            changes.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            kept["H_diag"] = ys / y.dot(y)
        r, al = -g.array, []
        pairs = [[part.array for part in pair] for pair in zip(changes, steps, ro, strict=True)]
        for y, s, rho in reversed(pairs):
            al.append(np.dot(s, r) * rho)
            r = r - al[-1] * y
        r = r * (H.array if isinstance(H := kept["H_diag"], Tensor) else H)
        for y, s, rho in pairs:
            r = r + (al.pop() - np.dot(y, r) * rho) * s
        return g.new_tensor(r)

    def _search(
        self, closure: Any, t: Any, direction: Any, loss: float, g: Any, slope: Any, allowed: int
    ) -> tuple:
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise bad_value("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self._params]

        def at(t: Any) -> tuple[float, Tensor]:
            self._move(t, direction)
            found, gradient = self._evaluate(closure)
            for p, before in zip(self._params, start, strict=True):
                p.copy_(before)
            return number_of(found), gradient

        return strong_wolfe(at, t, direction, loss, g, slope, allowed)


_KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
"""What one step leaves to the next, in PyTorch's order."""


def _largest(values: Tensor) -> Tensor:
    return values.abs().max()
