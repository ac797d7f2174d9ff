"""Two other derivatives: in a direction, and by a symmetric matrix as such.

Both are made of the ordinary derivative before it is simplified, and are checked like it: against
the engine's derivative, contracted with a direction or folded as the formula was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from gradcli.language.runtime.run import Program, prepare
from gradcli.ops.errors import ValueFault
from gradcli.symbolic.closed_form import Result, _confirmed, check_order, how_checked, names_in
from gradcli.symbolic.emit.tree import Text, total
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.base import decimals
from gradcli.symbolic.kinks import kinks
from gradcli.symbolic.program.steps import steps_of, writes_decimals
from gradcli.symbolic.shapes.declarations import Declaration, declared_as
from gradcli.symbolic.shapes.inference import Shapes, infer
from gradcli.symbolic.simplify.search import forms, forms_at
from gradcli.symbolic.symmetry import reread, retraced, without_symmetry
from gradcli.symbolic.trace.trace import derivative
from gradcli.symbolic.unsupported import no_closed_form
from gradcli.symbolic.verify import POINTS, TOLERANCE, Points, numeric, worst


class _Job:
    """What both need: steps, shapes, points."""

    def __init__(
        self, expression: str | Program, declared: Mapping[str, str | Declaration] | None,
        order: int = 1,
    ) -> None:  # fmt: skip
        check_order(order)
        self.order = order
        v.reset()
        self.program = prepare(expression) if isinstance(expression, str) else expression
        given = declared_as(declared)
        self.source = self.program.source
        self.steps = steps_of(self.program)
        known = {k: d for k, d in given.items() if self.program.takes(k)}
        self.shapes = infer(self.steps, known, self.source)
        self.points = Points(self.program, self.shapes)
        self.now: Any = (self.steps, self.shapes, self.source)
        self.lower: set[str] = set()
        """The derivatives of lower orders."""
        self.checked = POINTS
        self.lost: dict[str, list[float]] = {}
        """By variable, the numbers about which its formula loses its digits."""
        self.elsewhere: list[tuple[int, str]] = []

    def start(
        self, text: Text | None = None, more: Mapping[str, Declaration] | None = None
    ) -> None:
        """Begin with a formula, the derivative so far; without one, with the expression itself."""
        v.reset()
        self.now = (self.steps, self.shapes, self.source)
        if text is not None:
            shapes = copy(self.shapes)
            shapes.declarations = {**shapes.declarations, **(more or {})}
            self.now = reread(text, shapes)
            self.lower.add(text.key)

    def derivative(self, name: str) -> tuple[v.Tensor, tuple]:
        """The derivative by a variable, not simplified."""
        steps, shapes, source = self.now
        return derivative(steps, shapes, name, source)

    def confirmed(
        self, t: v.Tensor, dims: Sequence[str], points: Points, path: Sequence[str]
    ) -> tuple[Text, float]:
        """The shortest text that agrees at all points. Raises E0702, E0701 where there is none."""
        with decimals(writes_decimals(self.program.checked)):
            found = _confirmed(*forms_at(t, dims, points.shrunk), points, tuple(path))
        self.checked = min(self.checked, points.checked)
        self.lost[path[0]] = points.lost.get(tuple(path), [])
        self.elsewhere = [(self.order, words) for _, words in points.elsewhere]
        return found

    def textbook(
        self, twice: v.Tensor, on_diagonal: v.Tensor, dims: Sequence[str], points: Points, name: str
    ) -> tuple[Text, float]:
        """``2*G - eye(n)*G`` as it stands in books, unless another form is much shorter."""
        best, error = self.confirmed(v.add(twice, v.scale(on_diagonal, -1)), dims, points, (name,))
        if points.shrunk:
            return best, error
        front = forms(twice, dims)[0]
        ends = [(k, forms(v.scale(on_diagonal, -k), dims)[0]) for k in (-1, 1)]
        known_form = min((total([(1, front), end]) for end in ends), key=lambda t: t.cost)
        off = worst(prepare(known_form.key), points.at((name,)), points.sizes)[0]
        if known_form.cost <= best.cost + 2 and off <= TOLERANCE:
            return known_form, off
        return best, error

    def result(
        self, texts: Mapping[str, Text], error: float, more: Mapping[str, Declaration]
    ) -> Result:
        """The answer as ``diff`` gives it."""
        v.reset()
        known = {**self.shapes.declarations, **more}
        result = Result(texts, self.shapes.assumed, None, known, self.program, self.order)
        by = {k for key in texts for k in key.split(",")}
        answers = self.lower.union(result.derivatives.values())
        result.kinks = kinks(self.steps, by, answers, self.order, self.elsewhere)
        lost = (x for numbers in self.lost.values() for x in numbers)
        result.checked = how_checked(self.checked, error, lost, result.kinks)
        return result


class _Lines(Points):
    """Points and directions, with the derivatives along those lines."""

    def __init__(
        self, program: Program, shapes: Shapes, along: Mapping[str, str], order: int
    ) -> None:
        super().__init__(program, shapes)
        self.along = along
        self.order = order

    def numeric(self, point: Mapping[str, np.ndarray], path: Sequence[str]) -> np.ndarray | None:
        """The engine's derivative along the line through a point."""
        sizes = {k: self.sizes[k] for k in self.shapes.sizes}
        moved = [path[0]] * self.order
        return numeric(self.program, point, sizes, moved, self.strict, self.along)


class _Folded(Points):
    """Points with the derivatives by a symmetric matrix as such."""

    def numeric(self, point: Mapping[str, np.ndarray], path: Sequence[str]) -> np.ndarray | None:
        """The engine's derivative at a point, folded."""
        g = super().numeric(point, path)
        return None if g is None else _folded(g, len(path))


def directional(
    expression: str | Program, along: Mapping[str, str],
    declared: Mapping[str, str | Declaration] | None = None, order: int = 1,
) -> Result:  # fmt: skip
    """The derivative in a direction; ``along`` names the direction of each variable that moves.

    ``order`` 2 is the second derivative along the same straight line, v.T @ H @ v, and so on. The
    result's only key lists the variables. Raises as ``diff`` does.

    Example:
        >>> directional("x.T @ A @ x", {"x": "v"}, {"A": "matrix symmetric"}).text
        '2*dot(v, A @ x)'
    """
    job = _Job(expression, declared, order)
    names = names_in(list(along), list(job.shapes.declarations))
    more = {
        along[k]: Declaration(len(d.dims), d.dims)
        for k, d in job.shapes.declarations.items() if k in names
    }  # fmt: skip
    text: Text | None = None
    error = 0.0
    given = job.shapes
    lines = copy(given)
    lines.declarations = {**given.declarations, **more}
    job.shapes = without_symmetry(given, names * order)
    for depth in range(1, order + 1):
        job.start(text, more)
        moved, out = v.ZERO, ()
        for name in names:
            whole, dims = job.derivative(name)
            own = job.shapes.declarations[name].dims
            out = dims[: len(dims) - len(own)]
            labels = tuple((d, len(out) + i) for i, d in enumerate(own))
            direction = v.factor(v.base("name", along[name], (), own), labels)
            moved = v.add(moved, v.contract(v.mul(whole, direction), labels))
        points = _Lines(job.program, lines, along, depth)
        text, error = job.confirmed(moved, out, points, names)
    assert text is not None
    if job.shapes is not given:
        job.shapes = lines
        moved, out = retraced(text, job.shapes)
        again, off = job.confirmed(moved, out, points, names)
        text, error = (again, off) if again.cost <= text.cost else (text, error)
        job.shapes = given
    result = job.result({",".join(names): text}, error, more)
    result.along = along
    return result


def structured(
    expression: str | Program, wrt: str | Sequence[str] | None = None,
    declared: Mapping[str, str | Declaration] | None = None, order: int = 1,
) -> Result:  # fmt: skip
    """The derivative of a scalar by symmetric matrices as such: G + G.T - diag(G).

    An entry off the diagonal stands for two that move together. Variables that are not declared
    symmetric get their ordinary derivative. With ``order`` 2 each of them twice. Raises as ``diff``
    does; E0907 where none is symmetric.

    Example:
        >>> structured("logdet(S)", "S", {"S": "matrix:n,n spd"}).text
        '2*inv(S) - eye(n)*inv(S)'
    """
    job = _Job(expression, declared, order)
    names = names_in(wrt, list(job.shapes.declarations))
    declarations = job.shapes.declarations
    if not any("symmetric" in declarations[k].traits for k in names):
        mend = f'declare it: --{names[0]} "matrix:n,n symmetric"'
        raise ValueFault("E0907", "--structured: no variable is declared symmetric", help=mend)
    texts: dict[str, Text] = {}
    error = 0.0
    for name in names:
        own = len(declarations[name].dims)
        symmetric = "symmetric" in declarations[name].traits
        job.start()
        for depth in range(1, order + 1):
            if depth > 1:
                job.start(texts[name])
            t, dims = job.derivative(name)
            if symmetric:
                if len(dims) != own * depth:
                    raise no_closed_form("a structured derivative of more than a scalar")
                texts[name], off = _both(job, t, dims, (name,) * depth)
            else:
                texts[name], off = job.confirmed(t, dims, job.points, (name,) * depth)
        error = max(error, off)
    return job.result(texts, error, {})


def _both(job: _Job, t: v.Tensor, dims: Sequence[str], path: tuple[str, ...]) -> tuple[Text, float]:
    """A derivative by a symmetric matrix, its last two labels, as of a symmetric one."""
    k = len(dims) - 2
    a, b = (dims[k], k), (dims[k + 1], k + 1)
    turned = v.relabel(t, {a: b, b: a})
    points = _Folded(job.program, job.points.shapes)
    if not t.terms:
        return job.confirmed(t, dims, points, path)
    on_diagonal = v.distribute(v.delta(a, b), t if k else v.as_factor(t))
    if k:
        return job.confirmed(v.add(t, turned, v.scale(on_diagonal, -1)), dims, points, path)
    even = all(np.allclose(g, g.T, 1e-12, 1e-12) for _, g in job.points.at(path))
    twice = v.scale(t, 2) if even or t == turned else v.add(t, turned)
    return job.textbook(twice, on_diagonal, dims, points, path[0])


def _folded(g: np.ndarray, depth: int) -> np.ndarray:
    """A derivative with both entries of every pair added, for each pair of its axes."""
    eye = np.eye(g.shape[-1])
    for i in range(depth):
        pair = (2 * i, 2 * i + 1)
        moved = np.moveaxis(g, pair, (-2, -1))
        moved = moved + np.swapaxes(moved, -1, -2) - moved * eye
        g = np.moveaxis(moved, (-2, -1), pair)
    return g
