"""An expression at the values of its variables, as commands and jobs look at it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradcli.engine import Tensor, grad, wrap
from gradcli.engine.grad_mode import next_number
from gradcli.engine.graph.node import collect
from gradcli.engine.tensor.stale_view import put_at
from gradcli.engine.undo_log import UndoLog, current_log, open_log
from gradcli.language.runtime.run import Program
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault

LONG = 1 << 16
"""Characters of a text up to which a command makes more runs than it needs for its answer."""
OFF_THE_GRAPH = ("detach", "item", "tolist", "numpy", "data", "detach_")
"""Methods and attributes that give a value without its graph; so do ``PLAIN``, as functions."""
PLAIN = ("float", "int", "bool")


class Expression:
    """A program at values of its variables.

    leaves   the variables that are tensors; fixed are those that are none
    wanted   the variables to differentiate by
    written  variables that the last run wrote to: each with its state after and before the run,
             and the log that takes the writes back
    """

    program: Program
    leaves: dict[str, Tensor]
    fixed: dict[str, Any]
    wanted: list[str]
    written: Sequence[tuple[Tensor, tuple, tuple, UndoLog]] = ()

    def redraw(self) -> None:
        """Start the random numbers of a run, the same for each: one function is looked at."""
        raise NotImplementedError

    @contextmanager
    def anew(self) -> Iterator[None]:
        """A run from the given state: on the same random numbers, and with what the run before it
        wrote to the variables, or left as their gradients, put back."""
        self.redraw()
        for leaf, after, before, log in self.written:
            now = _state(leaf)
            if now and (not after or _same(now[:3], after[:3])):  # what minimize wrote since stays
                leaf.array = before[1]
                if not after or now[3] is after[3]:
                    put_at(leaf, before[3])
                leaf.grad = before[2]
                log.undo()
                leaf._meta().version.bump()
        outer = log = current_log()
        given = []
        for leaf in {**self.fixed, **self.leaves}.values():
            if isinstance(leaf, Tensor) and leaf.is_leaf and not leaf.is_inference():
                log = UndoLog([leaf.array], next_number(), log)
                given.append((leaf, _state(leaf), log))
        open_log(log)
        try:
            yield
        finally:
            open_log(outer)
            left = [(leaf, _state(leaf), before, log) for leaf, before, log in given]
            self.written = [w for w in left if w[3].written or not _same(w[1], w[2])]

    @property
    def long(self) -> bool:
        """Whether the text is so long that one more run in another way takes its time."""
        return len(self.program.source.text) > LONG

    def result(self, put_in: Mapping[str, Any]) -> Any:
        """The value with some variables replaced, on the same random numbers every time."""
        raise NotImplementedError

    def value(self) -> Any:
        """The value at the given variables."""
        return self.result({})

    def function(self, *names: str) -> Callable[..., Any]:
        """The value as a function of these variables, the others fixed."""
        return lambda *values: self.result(dict(zip(names, values, strict=True)))

    def closed_form(self, declared: Mapping[str, Any]) -> Any:
        """The formulas of the gradient, as ``gradcli.symbolic.diff`` gives them."""
        from gradcli.symbolic import diff  # slow to load

        return diff(self.program, self.wanted, declared=declared)


def _state(leaf: Tensor) -> tuple[Any, ...]:
    """What a write to a leaf changes; none of what a transform at work has made a value of its."""
    if Tensor not in leaf.__class__.__mro__:
        return ()
    return leaf._version, leaf.array, leaf.grad if leaf.is_leaf else None, leaf.edge


def _same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and a[:1] == b[:1] and all(map(operator.is_, a[1:], b[1:]))


def tried(function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives; None where it cannot be computed, but for the limits of the run."""
    try:
        return function(*args)
    except LimitFault:
        raise
    except Fault:
        return None


def need_scalar(value: Tensor, mend: str) -> None:
    """Check that a gradient makes sense without a cotangent. Raises RuntimeFault (E0403), with
    ``mend`` as the cure for a value with entries."""
    if value.dtype.is_complex:
        said = "the result is complex; a gradient needs a real scalar"
        raise RuntimeFault("E0403", said, help="take abs(...), its .real or its .imag")
    if value.array.size != 1:
        said = f"the result has shape {tuple(value.array.shape)}; a gradient needs a scalar"
        raise RuntimeFault("E0403", said, help=mend)


def gradients(value: Tensor, targets: list[Tensor], weights: Tensor | None) -> list[Tensor]:
    """The gradient by each target; zeros where the value does not depend on it."""
    if not targets:
        return []
    if value.edge is None:
        return [wrap(np.zeros_like(t.array), t.dtype) for t in targets]
    if not value.dtype.differentiable:
        raise RuntimeFault("E0404", f"a {value.dtype.name} result has no derivative")
    found = grad(value, targets, weights, allow_unused=True, materialize_grads=True)
    return [g for g in found if g is not None]  # none is: they are materialized


def symmetrizes(value: Tensor) -> bool:
    """Whether a value comes from an operator of symmetric matrices, cholesky or eigvalsh, whose
    derivative is that of the symmetric part."""
    behind = collect([value.edge] if value.edge is not None else [])
    return any(getattr(node.op, "symmetrizes", False) for node in behind)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of an array of matrices; what has no two dimensions as it is."""
    return x.swapaxes(-1, -2).conj() if x.ndim >= 2 else x


def cut_by(node: Any) -> str | None:
    """What takes a value off the graph, where a node of a program is such a call or attribute."""
    if isinstance(node, n.Call) and isinstance(node.func, n.Name) and node.func.id in PLAIN:
        return node.func.id
    return node.name if isinstance(node, n.Attribute) and node.name in OFF_THE_GRAPH else None
