"""Two other derivatives: in a direction, and by a symmetric matrix as such.

Both are made of the ordinary derivative before it is simplified, and are checked like it: against
the engine's derivative, contracted with a direction or folded as the formula was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.language.run import Program, prepare
from gradcli.ops.errors import ValueFault
from gradcli.symbolic import value as v
from gradcli.symbolic.check import TOLERANCE, Draws, Points, worst
from gradcli.symbolic.derive import Result, _names, withheld
from gradcli.symbolic.program import steps_of
from gradcli.symbolic.shapes import Declaration, infer, parse_declaration
from gradcli.symbolic.simplify import forms
from gradcli.symbolic.text import Text, total
from gradcli.symbolic.trace import derivative
from gradcli.symbolic.unsupported import no_closed_form


class _Job:
    """What both need: steps, shapes, points."""

    def __init__(
        self, expression: str | Program, declared: Mapping[str, str | Declaration] | None
    ) -> None:
        v.reset()
        self.program = prepare(expression) if isinstance(expression, str) else expression
        given = {
            k: d if isinstance(d, Declaration) else parse_declaration(d)
            for k, d in (declared or {}).items()
        }
        self.source = self.program.source
        self.steps = steps_of(self.program.checked)
        known = {k: d for k, d in given.items() if self.program.takes(k)}
        self.shapes = infer(self.steps, known, self.source)
        self.points = Points(self.program, self.shapes)

    def derivative(self, name: str) -> tuple[v.Tensor, tuple]:
        """The derivative by a variable, not simplified."""
        return derivative(self.steps, self.shapes, name, self.source)

    def confirmed(
        self, t: v.Tensor, dims: Sequence[str], known: Sequence[tuple[dict, np.ndarray]], name: str
    ) -> tuple[Text, float]:
        """The shortest text that agrees at all points. Raises E0702, E0701 where there is none."""
        if not known:
            raise no_closed_form("an expression for which no point of its domain was found")
        options = forms(t, dims)
        small = forms(t, dims, self.points.shrunk) if self.points.shrunk else options
        first: tuple | None = None
        for text, checkable in zip(options, small, strict=True):
            off = worst(prepare(checkable.key), known, self.points.sizes)
            if off[0] <= TOLERANCE:
                return text, off[0]
            first = first or (text, off)
        assert first is not None
        raise withheld(*first, (name,))

    def textbook(
        self, twice: v.Tensor, on_diagonal: v.Tensor, dims: Sequence[str],
        known: Sequence[tuple[dict, np.ndarray]], name: str,
    ) -> tuple[Text, float]:  # fmt: skip
        """``2*G - eye(n)*G`` as it stands in books, unless another form is much shorter."""
        best, error = self.confirmed(v.add(twice, v.scale(on_diagonal, -1)), dims, known, name)
        if self.points.shrunk:
            return best, error
        known_form = total([(1, forms(twice, dims)[0]), (-1, forms(on_diagonal, dims)[0])])
        off = worst(prepare(known_form.key), known, self.points.sizes)[0]
        if known_form.cost <= best.cost + 2 and off <= TOLERANCE:
            return known_form, off
        return best, error

    def result(
        self, texts: Mapping[str, Text], error: float, more: Mapping[str, Declaration]
    ) -> Result:
        """The answer as ``diff`` gives it."""
        v.reset()
        return Result(
            {k: t.key for k, t in texts.items()}, {k: t.cost for k, t in texts.items()},
            self.shapes.assumed, {"points": 3, "max_rel_error": error},
            {**self.shapes.declarations, **more}, self.program, 1,
        )  # fmt: skip


def directional(
    expression: str | Program, along: Mapping[str, str],
    declared: Mapping[str, str | Declaration] | None = None,
) -> Result:  # fmt: skip
    """The derivative in a direction; ``along`` names the direction of each variable that moves.

    The result's only key lists the variables. Raises as ``diff`` does.

    Example:
        >>> directional("x.T @ A @ x", {"x": "v"}, {"A": "matrix symmetric"}).text
        '2*dot(v, A @ x)'
    """
    job = _Job(expression, declared)
    names = _names(list(along), job.shapes, job.program)
    total = v.ZERO
    known: list[tuple[dict, np.ndarray]] = []
    more: dict[str, Declaration] = {}
    out: tuple = ()
    rng = Draws(7)
    for position, name in enumerate(names):
        whole, dims = job.derivative(name)
        own = job.shapes.declarations[name].dims
        out = dims[: len(dims) - len(own)]
        labels = tuple((d, len(out) + i) for i, d in enumerate(own))
        direction = v.factor(v.base("name", along[name], (), own), labels)
        total = v.add(total, v.contract(v.mul(whole, direction), labels))
        more[along[name]] = Declaration(len(own), own)
        found = job.points.at((name,))
        if not position:
            known = [(point, np.zeros(np.shape(exact)[: len(out)])) for point, exact in found]
        kept = []
        for point, sofar in known:
            exact = next((e for q, e in found if _equal(point, q)), None)
            if exact is not None:
                step = point.get(along[name])
                step = rng.uniform(-1, 1, np.shape(point[name])) if step is None else step
                moved = sofar + np.tensordot(exact, step, np.ndim(step))
                kept.append(({**point, along[name]: step}, moved))
        known = kept
    text, error = job.confirmed(total, out, known, ",".join(names))
    return job.result({",".join(names): text}, error, more)


def _equal(point: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(np.array_equal(point[k], x) for k, x in other.items())


def structured(
    expression: str | Program, wrt: str | Sequence[str] | None = None,
    declared: Mapping[str, str | Declaration] | None = None,
) -> Result:  # fmt: skip
    """The derivative of a scalar by symmetric matrices as such: G + G.T - diag(G).

    An entry off the diagonal stands for two that move together. Variables that are not declared
    symmetric get their ordinary derivative. Raises as ``diff`` does; E0907 where none is symmetric.

    Example:
        >>> structured("logdet(S)", "S", {"S": "matrix:n,n spd"}).text
        '2*inv(S) - eye(n)*inv(S)'
    """
    job = _Job(expression, declared)
    names = _names(wrt, job.shapes, job.program)
    declarations = job.shapes.declarations
    if not any("symmetric" in declarations[k].traits for k in names):
        raise ValueFault(
            "E0907", "--structured: no variable is declared symmetric",
            help=f'declare it: --{names[0]} "matrix:n,n symmetric"',
        )  # fmt: skip
    texts: dict[str, Text] = {}
    error = 0.0
    for name in names:
        t, dims = job.derivative(name)
        known = job.points.at((name,))
        if "symmetric" in declarations[name].traits:
            if len(dims) != 2:
                raise no_closed_form("a structured derivative of more than a scalar")
            a, b = (dims[0], 0), (dims[1], 1)
            turned = v.relabel(t, {a: b, b: a})
            on_diagonal = v.distribute(v.delta(a, b), v.as_factor(t))
            known = [(p, g + g.T - np.diag(np.diag(g))) for p, g in known]
            even = all(np.allclose(g, g.T, 1e-12, 1e-12) for _, g in job.points.at((name,)))
            twice = v.scale(t, 2) if even or t == turned else v.add(t, turned)
            texts[name], off = job.textbook(twice, on_diagonal, dims, known, name)
        else:
            texts[name], off = job.confirmed(t, dims, known, name)
        error = max(error, off)
    return job.result(texts, error, {})
