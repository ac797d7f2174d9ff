"""The derivative of a program along the path that values take, checked at them and near them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

import gradcli.transforms as transforms
from gradcli.engine.creation.factories import as_tensor
from gradcli.language.runtime.run import Limits, Program, prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic.borders import with_borders
from gradcli.symbolic.closed_form import Result, _key, _paths, check_order, names_in, withheld
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.emit.writer import Writer
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.base import decimals
from gradcli.symbolic.kinks import kinks
from gradcli.symbolic.program.conditions import Condition
from gradcli.symbolic.program.path import Tape
from gradcli.symbolic.program.steps import Step, steps_of, writes_decimals
from gradcli.symbolic.program.tape import follow, needs_values, result_of, up_to_backward
from gradcli.symbolic.shapes.declarations import Declaration, declared_as
from gradcli.symbolic.shapes.inference import Shapes, infer
from gradcli.symbolic.simplify.relations import is_call
from gradcli.symbolic.simplify.search import forms
from gradcli.symbolic.symmetry import without_symmetry
from gradcli.symbolic.trace.trace import derivative, primal
from gradcli.symbolic.unsupported import as_reals, no_closed_form
from gradcli.symbolic.verify import TOLERANCE, Points, agreeing, double, draw, unspoiled, worst

_SIZES = (3, 4, 2, 5, 6, 7)


def diff_program(
    program: str | Program, wrt: str | Sequence[str] | None = None, *, order: int = 1,
    declared: Mapping[str, str | Declaration] | None = None,
    values: Mapping[str, Any] | None = None, of: str | None = None, limits: Limits | None = None,
) -> Result:  # fmt: skip
    """The closed form of a program's derivative on the path that ``values`` take.

    program    a text with loops, branches and functions, or a checked Program
    values     numbers or arrays by variable; without values a variable is as ``declared``, or a
               scalar, and then the path must not depend on it
    of         the variable that is the result; else the last expression

    The result's ``conditions`` say for which values it holds. Raises RuntimeFault: E0701 where
    there is no closed form, E0702 where the check failed, E0703 where values are needed.

    Example:
        >>> found = diff_program("b = a*2\\nwhile b < 1000:\\n    b = b*2\\nb", values={"a": 1.0})
        >>> found.text, [str(c) for c in found.conditions]
        ('1024', ['b < 1000 held 9 times'])
    """
    program = prepare(program, "file") if isinstance(program, str) else program
    work = _Path(program, declared or {}, values or {}, of, limits)
    return work.run(wrt, order)


class _Path:
    def __init__(
        self, program: Program, declared: Mapping[str, str | Declaration],
        values: Mapping[str, Any], of: str | None, limits: Limits | None,
    ) -> None:  # fmt: skip
        self.program = up_to_backward(program) if of is None else program
        self.of = of
        self.limits = limits
        self.values = {k: np.asarray(x) for k, x in values.items()}
        self.declared = declared_as(declared)
        self.open = [k for k in program.free if k not in self.values]
        for k in self.open:
            self.declared.setdefault(k, Declaration(0))
        for k, x in self.values.items():
            as_reals(k, x)
            self.declared[k] = Declaration.of_shape(x.shape)
        self.fixed = [k for k, x in self.values.items() if x.dtype.kind != "f"]
        self.rng = np.random.default_rng(20240229)
        self.unsized = [k for k in self.open if len(self.declared[k].dims) < self.declared[k].rank]
        self.sizes = self._sizes()
        self.lower: set[str] = set()
        self.elsewhere: list[tuple[int, str]] = []
        """The derivatives, those of lower orders too."""

    def _sizes(self, one: bool = False) -> dict[str, int]:
        """A size for every dimension that has a name; ``one`` for all others.

        A symmetric matrix is square.
        """
        found: dict[str, int] = {}
        alone = next(x for x in ("n", "m", "k", "n_") if not self.program.takes(x))
        for k in self.open:
            d = self.declared[k]
            if k in self.unsized:
                square = "symmetric" in d.traits
                dims = tuple(alone if one else f"{k}{0 if square else i}" for i in range(d.rank))
                self.declared[k] = d = Declaration(d.rank, dims, tuple(d.traits))
            for x in d.dims:
                size = int(x) if x.isdigit() else _SIZES[len(found) % len(_SIZES)]
                found.setdefault(x, size)
        return found

    def point(self, first: bool) -> dict[str, np.ndarray]:
        """Values for all variables: those given, or near them, and random ones for the others."""
        near = {}
        for k, x in self.values.items():
            if first or k in self.fixed:
                near[k] = x
            else:
                near[k] = x * (1 + 1e-4 * self.rng.uniform(-1, 1, x.shape))
        return near | draw({k: self.declared[k] for k in self.open}, self.sizes, self.rng)

    def follow(self, point: Mapping[str, Any]) -> tuple[Tape, list[Condition]]:
        """The path of a point."""
        with double():
            return follow(self.program, point, self.of, self.limits, self.fixed)

    def start(self) -> tuple[dict[str, np.ndarray], Tape, list[Condition]]:
        """The first point and its path, of several drawn one where the value is finite, if any."""
        for _ in range(8):
            found = self._first()
            if not self.open or _finite(found[1]):
                break
        return found

    def _first(self) -> tuple[dict[str, np.ndarray], Tape, list[Condition]]:
        """A point and its path; where sizes that nobody gave do not fit, all are one."""
        differing: Fault | None = None
        while True:
            point = self.point(True)
            try:
                return point, *self.follow(point)
            except Fault as fault:
                if fault.code != "E0301" or not self.unsized:
                    raise
                if differing is not None:
                    raise differing from None
                differing = fault
            self.sizes = self._sizes(True)

    def run(self, wrt: str | Sequence[str] | None, order: int) -> Result:
        """Trace, differentiate, check."""
        check_order(order)
        start, tape, conditions = self.start()
        if conditions and self.open:
            raise needs_values(self.program, conditions, self.open[0])
        assert tape.result is not None
        if not _finite(tape):
            raise no_closed_form("a program whose value is not finite at these values")
        steps = tape.steps[: tape.result.index + 1]
        points = [(start, tape), *self._others(conditions)]
        known = {k: self.declared[k] for k in start if k not in self.fixed}
        known |= {k: _declared([t.constants[k] for _, t in points]) for k in tape.constants}
        mend = "a variable is a name that the program does not set: give it with --a VALUE"
        by = names_in(wrt, [k for k in start if k not in self.fixed], (), "program", mend)
        answers: dict[str, Text] = {}
        error = 0.0
        with decimals(writes_decimals(self.program.checked)):
            for path in _paths(by, order, wrt is not None):
                text, off = self.along(path, steps, tape, known, points)
                answers[_key(path)] = text
                error = max(error, off)
            value = self._value(steps, known)
        v.reset()
        result = Result(
            answers, {k: str(self.declared[k]) for k in self.open},
            {"points": len(points), "max_rel_error": error}, known, value or self.program, order,
        )  # fmt: skip
        result.kinks = kinks(steps, by, self.lower, order, self.elsewhere)
        result.conditions = list(conditions)
        result.constants = dict(tape.constants)
        return result

    def _others(self, conditions: Sequence[Condition]) -> list[tuple[dict, Tape]]:
        """Two further points that take the same path, where some are found."""
        want = [(c.text, c.answers) for c in conditions]
        found = []
        for _ in range(8):
            point = self.point(False)
            try:
                tape, other = self.follow(point)
            except Fault:
                continue
            if _finite(tape) and [(c.text, c.answers) for c in other] == want:
                found.append((point, tape))
                if len(found) == 2:
                    break
        return found

    def along(
        self, path: tuple[str, ...], steps: list[Step], tape: Tape,
        known: Mapping[str, Declaration], points: Sequence[tuple[dict, Tape]],
    ) -> tuple[Text, float]:  # fmt: skip
        """The derivative by one variable after the other."""
        source = self.program.source
        text: Text | None = None
        for depth, name in enumerate(path, 1):
            v.reset()
            detached: set[int] = tape.detached
            if text is not None:
                again = prepare(text.key)
                steps, detached, source = steps_of(again), set(), again.source
            shapes = infer(steps, known, source)
            shapes.declarations = dict(known) | shapes.declarations
            shapes = without_symmetry(shapes, path)
            options = forms(*derivative(steps, shapes, name, source, detached))
            exact = [self._exact(point, path[:depth]) for point, _ in points]
            text, error = self._confirmed(options, points, exact, path[:depth])
            self.lower.add(text.key)
        assert text is not None
        return text, error

    def _exact(self, point: Mapping[str, Any], path: tuple[str, ...]) -> np.ndarray:
        """The engine's derivative at a point."""
        given = {k: as_tensor(x) for k, x in point.items()}

        def level(depth: int, values: dict) -> Any:
            if not depth:
                done = self.program.run(values, limits=self.limits)
                return as_tensor(result_of(self.program, done, self.of))
            name = path[depth - 1]
            return transforms.jacobian(
                lambda x: level(depth - 1, {**values, name: x}), values[name], depth < len(path)
            )

        with double():
            return np.asarray(level(len(path), given).detach().array)

    def _confirmed(
        self, options: Sequence[Text], found: Sequence[tuple[dict, Tape]],
        exact: Sequence[np.ndarray], path: tuple[str, ...],
    ) -> tuple[Text, float]:  # fmt: skip
        """The shortest text that agrees with the engine at every point. Raises E0702, E0701."""
        pairs = [
            ({**point, **tape.constants}, value)
            for (point, tape), value in zip(found, exact, strict=True)
        ]
        if not all(np.all(np.isfinite(x)) for x in exact):
            raise no_closed_form("a program whose derivative is not finite at these values")
        text, off = agreeing(options, options, pairs, self.sizes)
        if off[0] > TOLERANCE:
            answer = prepare(options[0].key)
            defined = [p for p in pairs if np.isfinite(worst(answer, [p], self.sizes)[0])]
            if not (sure := unspoiled(answer, defined, self.sizes)):
                raise no_closed_form("a program whose formula has no value, or is all rounding, "
                                     "at these values")  # fmt: skip
            text, off = agreeing(options, options, sure, self.sizes)
        if off[0] > TOLERANCE:
            raise withheld(text, off, path)
        near = _OnPath(self, found[0][0])
        (text, *_), _, _, apart = with_borders(text, options, options, pairs, near, path)
        self.elsewhere += apart
        return text, off[0]

    def _value(self, steps: list[Step], known: Mapping[str, Declaration]) -> Program | None:
        """The path's value as a program of one line, for printers; None where it is too long."""
        v.reset()
        source = self.program.source
        try:
            shapes = infer(steps, known, source)
            shapes.declarations = dict(known) | shapes.declarations
            t, dims = primal(steps, shapes)
            if any(is_call(b, "where") for b in v.bases_of(t)):  # as it is, with its borders
                return prepare(Writer({}).tensor(t, v.labels_of(dims), True).key)
            return prepare(forms(t, dims)[0].key)
        except Fault:
            return None


class _OnPath(Points):
    """Points of a program's path, with the derivatives there."""

    def __init__(self, path: _Path, start: Mapping[str, np.ndarray]) -> None:
        self.path, self.start = path, start
        self.program = path.program
        self.shapes = Shapes()
        self.shapes.declarations = {k: path.declared[k] for k in start if k not in path.fixed}
        dims = {x for d in path.declared.values() for x in d.dims if x.isdigit()}
        self.sizes = {x: int(x) for x in dims} | path.sizes
        held: Any = {k: as_tensor(a) for k, a in path.follow(start)[0].constants.items()}
        self.sizes |= held  # formulas name them as well
        self.answers = self._answers(start)

    def _answers(self, point: Mapping[str, np.ndarray]) -> list[tuple]:
        """What the conditions on the way of a point are, and the constants there."""
        tape, conditions = self.path.follow(point)
        found: list[tuple] = [(c.text, c.answers) for c in conditions]
        return found + [(k, a.tobytes()) for k, a in tape.constants.items()]

    def numeric(self, point: Mapping[str, np.ndarray], path: Sequence[str]) -> np.ndarray | None:
        """The engine's derivative at a point, None where it is off the path."""
        point = {**self.start, **point}
        with suppress(Fault):
            if self._answers(point) == self.answers:
                return self.path._exact(point, tuple(path))
        return None


def _finite(tape: Tape) -> bool:
    """Whether the value at the end of a path is finite, all of it."""
    if tape.result is None:
        return True
    return bool(np.all(np.isfinite(np.asarray(as_tensor(tape.result.value).detach().array))))


def _declared(arrays: Sequence[np.ndarray]) -> Declaration:
    """What one constant of a path is at several points: its shape, and whether it is symmetric."""
    shape = arrays[0].shape
    found = Declaration.of_shape(shape)
    if len(shape) == 2 and shape[0] == shape[1] and all(np.array_equal(a, a.T) for a in arrays):
        return Declaration(found.rank, found.dims, ("symmetric",))
    return found
