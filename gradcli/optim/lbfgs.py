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
from gradcli.ops import OPERATORS
from gradcli.ops.errors import AssertionFault, bad_argument, bad_value
from gradcli.optim.line_search import strong_wolfe
from gradcli.optim.optimizer import Optimizer, as_reals


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

    stepped = False

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
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise bad_argument("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run the closure, then move up to ``max_iter`` times; returns the first loss."""
        if len(self.param_groups) != 1:
            said = f"Expected exactly one param_group, got {len(self.param_groups)}"
            raise AssertionFault("E0304", said, help="give one list of parameters")
        self.stepped = True
        with no_grad():
            return self._step(closure)

    def _evaluate(self, closure: Callable[[], Any]) -> tuple[Any, np.ndarray]:
        with enable_grad():
            loss = closure()
        return loss, self._gradient()

    def _gradient(self) -> np.ndarray:
        grads = [OPERATORS["zeros_like"](p) if p.grad is None else p.grad for p in self._params]
        return np.concatenate([as_reals(g).array.reshape(-1) for g in grads])

    def _move(self, t: Any, direction: np.ndarray) -> None:
        start = 0
        for p in map(as_reals, self._params):
            part = direction[start : start + p.numel()].reshape(p.array.shape)
            p.add_(p.new_tensor(part), alpha=float(t))
            start += p.numel()

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first, g = self._evaluate(closure)
        loss, evaluated = float(first), 1
        state["func_evals"] += 1
        if _largest(g) <= group["tolerance_grad"]:
            return first
        for i in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(g, state, group["history_size"])
            before = loss
            state["prev_flat_grad"] = g.copy()
            slope = np.dot(g, direction)
            t = group["lr"].item() if isinstance(group["lr"], Tensor) else group["lr"]
            if state["n_iter"] == 1:
                t = min(1.0, 1.0 / np.sum(np.abs(g))) * t
            state["d"], state["t"] = direction, t
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                allowed = group["max_eval"] - evaluated
                loss, g, t, count = self._search(closure, t, direction, loss, g, slope, allowed)
                state["t"] = t
                self._move(t, direction)
            else:
                self._move(t, direction)
                count = 0
                if i != group["max_iter"]:  # the last move is not looked at again
                    found, g = self._evaluate(closure)
                    loss, count = float(found), 1
            evaluated += count
            state["func_evals"] += count
            if (
                evaluated >= group["max_eval"]
                or _largest(g) <= group["tolerance_grad"]
                or _largest(direction * t) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first

    def _direction(self, g: np.ndarray, state: dict[str, Any], size: int) -> np.ndarray:
        """Downhill, bent by what the steps before told of the curvature."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -g
        changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = g - state["prev_flat_grad"], state["d"] * state["t"]
        ys = np.dot(y, s)
        if ys > 1e-10:
            if len(changes) == size:
                for kept in (changes, steps, ro):
                    kept.pop(0)
            changes.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / np.dot(y, y)
        q = -g
        al = [None] * len(changes)
        for i in range(len(changes) - 1, -1, -1):
            al[i] = np.dot(steps[i], q) * ro[i]
            q = q - al[i] * changes[i]
        r = q * state["H_diag"]
        for i in range(len(changes)):
            be = np.dot(changes[i], r) * ro[i]
            r = r + (al[i] - be) * steps[i]
        return r

    def _search(
        self, closure: Any, t: Any, direction: Any, loss: float, g: Any, slope: Any, allowed: int
    ) -> tuple:
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise bad_value("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self._params]

        def at(t: Any) -> tuple[float, np.ndarray]:
            self._move(t, direction)
            found, gradient = self._evaluate(closure)
            gradient = gradient.copy()
            for p, kept in zip(self._params, start, strict=True):
                p.copy_(kept)
            return float(found), gradient

        return strong_wolfe(at, t, direction, loss, g, slope, allowed)


def _largest(values: np.ndarray) -> Any:
    return np.max(np.abs(values))
