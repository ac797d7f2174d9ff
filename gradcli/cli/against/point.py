"""What an expression, its parts and formulas give at a point."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from gradcli.cli import inputs
from gradcli.cli.job import Job
from gradcli.display.graphs import watch_gradients
from gradcli.engine import Tensor, grad, wrap
from gradcli.engine.backward.node_values import values_of
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import mode, no_grad
from gradcli.engine.graph.node import Node
from gradcli.language.runtime.run import Program
from gradcli.ops.errors import Fault
from gradcli.ops.operator import is_complex

DRAWS = 8
"""How often the steps are moved by their last digits, with other signs each time."""
_MATRIX = re.compile(r"->\(\w,\w\)\Z")
"""The core of an operator that gives a matrix made of whole matrices."""


def given_values(job: Job, names: Sequence[str]) -> dict[str, Any]:
    """The given values of variables."""
    return {name: np.array(job.leaves[name].detach().array) for name in names}


class Point:
    """The expression and its parts with some of the variables' values replaced."""

    def __init__(self, job: Job, values: Mapping[str, Any]) -> None:
        self.job = job
        self.leaves = {
            name: wrap(array, job.leaves[name].dtype).requires_grad_()
            for name, array in values.items()
        }  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        """The values of all variables that a gradient could be taken by."""
        known = {**self.job.leaves, **self.leaves}
        return {k: np.array(v.detach().array) for k, v in known.items() if v.dtype.differentiable}

    def tensor(self, program: Program) -> Tensor:
        """A program's value here, recorded."""
        job = self.job
        with job.anew():
            known = {**job.fixed, **job.leaves, **self.leaves}
            known = {k: v for k, v in known.items() if program.takes(k)}
            return as_tensor(inputs.execute(program, known, job.bounds, quiet=True)[0])

    def value(self, program: Program) -> Any:
        """A program's value here, as numbers."""
        with no_grad():
            found = self.tensor(program)
        return np.array(found.array, dtype=np.result_type(found.array.dtype, np.float32))

    def gradient(self, program: Program, name: str, cotangent: Any = None) -> Any:
        """The gradient of a program's value by a variable here; None where there is none."""
        return self._pulled(self.tensor(program), [name], cotangent)[0]

    def _pulled(self, value: Tensor, names: Sequence[str], cotangent: Any = None) -> list[Any]:
        """The gradients of a recorded value; None for each where there is none."""
        none = [None] * len(names)
        if value.edge is None or not value.dtype.differentiable:
            return none
        weights = np.ones_like(value.array) if cotangent is None else cotangent
        if weights.shape != value.array.shape:
            return none
        weights = wrap(np.asarray(weights, value.array.dtype), value.dtype)
        found = grad(value, [self.leaves[k] for k in names], weights, allow_unused=True)
        return [None if g is None else np.asarray(g.array) for g in found]

    def rounding(self, program: Program, name: str, given: Program | None) -> Any:
        """What each entry of a program's gradient by a variable, and that of a program that gives
        it, are rounded by together; 0 where that is not known."""
        mode.annotate = True
        try:
            (by,) = grad(self.tensor(program), [self.leaves[name]], create_graph=True)
            found = [by] if given is None else [by, self.tensor(given)]
            return sum(self._rounded(value) for value in found)
        except Fault:
            return 0.0
        finally:
            mode.annotate = False

    def _rounded(self, value: Tensor) -> Any:
        """How far the last digits of all steps move each entry: the cotangents of the steps are
        linear in those of the entries, so their gradients say how far."""
        if value.edge is None:
            return 0.0
        weights = wrap(np.ones_like(value.array), value.dtype).requires_grad_()
        seen = watch_gradients(value)
        grad(value, [*self.leaves.values()], weights, create_graph=True, allow_unused=True)
        seen.remove()
        steps = sorted(seen, key=attrgetter("seq"))
        known = values_of(steps, {value.edge: value})
        limits, draw = np.finfo(value.array.dtype), np.random.default_rng(0)
        pairs = [
            (seen[k], np.clip(limits.eps * _sizes(k, v), limits.smallest_subnormal, limits.max))
            for k in steps if (v := known.get(k)) is not None and seen[k].edge
        ]  # fmt: skip
        total, cotangents = 0.0, [g for g, _ in pairs]
        for _ in range(DRAWS if pairs else 0):
            by = []
            for g, digits in pairs:
                turns = draw.choice((1, -1, -1j, 1j)[: 4 if is_complex(g) else 2], g.shape)
                by.append(wrap(np.asarray(digits * turns, g.array.dtype), g.dtype))
            (felt,) = grad(cotangents, [weights], by, retain_graph=True, materialize_grads=True)
            total = np.maximum(total, np.abs(felt.array))
        return total

    def by(self, program: Program, name: str) -> Any:
        """The gradient of a program's value by a variable here; zeros where there is none."""
        return self.gradients(program, [name])[1][name]

    def gradients(self, program: Program, names: Collection[str]) -> tuple[Any, dict[str, Any]]:
        """A program's value here, and its gradients; zeros where there is none."""
        value = self.tensor(program)
        found = zip(names, self._pulled(value, [*names]), strict=True)
        by = {k: np.zeros_like(self.leaves[k].array) if g is None else g for k, g in found}
        return value.array, by


def _sizes(step: Node, value: Any) -> Any:
    """What the entries of a step are rounded in proportion to: each to itself; those of a matrix
    that is computed as a whole, as by ``matrix_exp``, to the largest of it."""
    sizes = np.abs(value)
    if not _MATRIX.search(getattr(step.op, "core", "")):
        return sizes
    return np.broadcast_to(sizes.max((-2, -1), initial=0.0, keepdims=True), sizes.shape)


def full(value: Any, right: Any) -> Any:
    """A given gradient in the shape of the right one, where it is a single number."""
    return np.broadcast_to(value, right.shape) if value.shape == () else value


def or_none(function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives; None where it cannot be computed, or not within the limits."""
    try:
        return function(*args)
    except Fault:
        return None
