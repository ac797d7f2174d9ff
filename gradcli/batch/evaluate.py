"""Rows of a batch to values and gradients: the program prepared once, run on every row's values.

Rows of one signature (the same variables in the same shapes and dtypes) are computed together, as
arrays (``plan``); what cannot be computed so runs on the engine, row by row. Whatever goes wrong
with a row stays its own error; what a program switches (gradient mode, default dtype) is switched
back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradcli.batch.chunk import Crowded
from gradcli.batch.plan import Plan
from gradcli.batch.readers import Row
from gradcli.display.expression import gradients, need_scalar
from gradcli.engine.creation import generator as random
from gradcli.engine.creation.factories import as_tensor, tensor
from gradcli.engine.dtypes import default_dtype, float64, set_default_dtype, to_dtype
from gradcli.engine.grad_mode import mode, unchanged
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.functions.overloads import stack
from gradcli.language.diagnostics.runtime import placed
from gradcli.language.names.exceptions import passing
from gradcli.language.names.table import NAMES
from gradcli.language.runtime.run import MAX_MEMORY, Limits, Outcome, Program
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault, TypeFault, ValueFault
from gradcli.ops.memory_budget import within

_SEEDS = 0x9E3779B1  # odd and far from a power of two: seeds of one row and the next stay apart
_OF_THE_PROGRAM = 0x5BD1E995
"""What the program draws is apart from what a field of the row drew."""
RECORD_LIMIT = 1_000_000
"""The most numbers that one record may hold, its value and gradients together."""

FLOATS = ("float64", "float32", "float16")
MOST_PLANS = 256
"""Signatures whose code is kept."""


class Group(NamedTuple):
    """Rows whose results have the same shapes: arrays (rows, ...) of the value and the gradients.

    ``where`` are their places in the block; None for all rows of it, in order.
    """

    where: np.ndarray | None
    value: np.ndarray
    grads: dict[str, np.ndarray] | None

    @property
    def positions(self) -> np.ndarray:
        """The places in the block, as an array."""
        return np.arange(len(self.value)) if self.where is None else self.where


@dataclass(eq=False, slots=True)
class Answers:
    """What became of rows: groups of results, and the errors of those that failed, by position."""

    groups: list[Group] = field(default_factory=list)
    errors: dict[int, Fault] = field(default_factory=dict)

    def add(self, answers: Answers) -> None:
        """Add what became of other rows of the block."""
        self.groups += answers.groups
        self.errors.update(answers.errors)


def without_frames(fault: Fault) -> Fault:
    """The fault alone: the frames that it went through hold all that its row made."""
    fault.__traceback__ = fault.__context__ = fault.__cause__ = None
    return fault


def unwatched(position: int) -> None:
    """Nobody is told which row is at work."""


def dtype_of(program: Program, asked: str | None) -> str:
    """The dtype asked for, else float32 for a program that imports torch, else float64."""
    return asked or ("float32" if program.names.uses_torch else "float64")


class Evaluator:
    """A program, and what is asked of it for every row.

    A program's value is its last expression, or the variable that its last line assigns.

    program    from ``gradcli.language.runtime.run.prepare``
    wrt        the variables to differentiate by; all of the row's that can be when left out
    grad       False gives values only
    cotangent  weights a result that is no scalar: an array of its shape
    dtype      of values that name none themselves: float64, float32 or float16 (see ``dtype_of``)
    limits     of each row's run
    seed       of the random numbers: every row draws its own, whatever rows ran before it
    constants  values of variables that are the same in every row; real numbers without a dtype

    Raises SyntaxFault (E0201) where the program calls an unknown function, ValueFault (E0910) for a
    name in ``wrt`` or ``constants`` that the program does not read, (E0905) for another dtype.

    >>> from gradcli.language.runtime.run import prepare
    >>> found = Evaluator(prepare("a*x^2")).answers([Row(1, "p", {"a": 2.0, "x": 3.0})])
    >>> found.groups[0].value, found.groups[0].grads["x"]
    (array([18.]), array([12.]))
    """

    def __init__(
        self, program: Program, *, wrt: Iterable[str] | None = None, grad: bool = True,
        cotangent: object = None, dtype: str | None = None, limits: Limits | None = None,
        seed: int = 0, constants: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        dtype = dtype_of(program, dtype)
        if dtype not in FLOATS:
            raise ValueFault("E0905", f"a batch has no dtype {dtype!r}", help=", ".join(FLOATS))
        self.program = program
        self.dtype = dtype
        self.limits = limits or Limits()
        self.seed = seed
        # The functions that a program calls are its own; a row cannot put a number in their place.
        self.names = {
            name: None
            for name in program.names.outer
            if name not in program.names.called and not callable(NAMES.get(name))
        }
        self.wrt = None if wrt is None else tuple(dict.fromkeys(wrt))
        for name in (*(self.wrt or ()), *(constants or ())):
            if name not in self.names:
                mend = f"its variables: {', '.join(self.names) or 'none'}"
                raise ValueFault("E0910", f"{name!r} is not a variable of this program", help=mend)
        program.names.require(program.free)
        self.grad = grad
        self.cotangent = None if cotangent is None else tensor(cotangent, dtype=dtype)
        self.constants = {n: _real(v, dtype) for n, v in (constants or {}).items()}
        self._fixed = {
            name: value
            for name, value in self.constants.items()
            if not grad or name not in (self.wrt or ())
        }
        self._default = to_dtype(dtype)
        self._known: set[tuple[str, ...]] = set()
        self._plans: dict[tuple, Plan] = {}
        self.room = float("inf")
        """How many more numbers of the rows of a chunk may be held."""

    def hold(self, numbers: int) -> None:
        """Count numbers that are held until the chunk is done. Raises Crowded."""
        self.room -= numbers
        if self.room < 0:
            raise Crowded

    def takes(self, name: str) -> bool:
        """Whether a row's field of this name is a variable of the program."""
        return name in self.names

    @property
    def max_bytes(self) -> int:
        """The most that one value of a row may take in memory."""
        return self.limits.memory or MAX_MEMORY

    def begin(self, number: int) -> None:
        """Start the random numbers of the fields of the row with this number."""
        random.seed_when_asked((self.seed * _SEEDS + number) & 0xFFFFFFFF)

    # ---- Rows as arrays --------------------------------------------------------------------------

    def answers(
        self, rows: Sequence[Row], first: int = 1, watch: Callable[[int], object] = unwatched
    ) -> Answers:
        """What becomes of rows without a problem; never raises for anything that a row did.

        first   the number of the row at position 0 of the block that these rows are of
        watch   is told the position of each row that the engine works on, and -1 where it is rows
                together
        """
        found = Answers()
        alike: dict[tuple, list[int]] = {}
        for position, row in enumerate(rows):
            key = tuple([
                (name, value.dtype.char, value.shape)
                if isinstance(value, np.ndarray | np.generic) else (name, value.__class__, ())
                for name, value in row.values.items()
            ])  # fmt: skip
            alike.setdefault(key, []).append(position)
        for members in alike.values():
            names = rows[members[0]].values
            columns = {name: np.array([rows[p].values[name] for p in members]) for name in names}
            at = np.array([rows[p].number - first for p in members])
            found.add(self.of_columns(columns, len(members), first, at, watch))
        return found

    def of_columns(
        self, columns: Mapping[str, np.ndarray], count: int, first: int = 1,
        positions: np.ndarray | None = None, watch: Callable[[int], object] = unwatched,
    ) -> Answers:  # fmt: skip
        """What becomes of rows that are given as arrays (rows, ...) by variable.

        positions   of these rows in the block; None for all of it
        """
        found = Answers()
        if not count:
            return found
        watch(-1)
        columns = dict(columns)

        def at(i: int) -> int:
            return i if i < 0 or positions is None else int(positions[i])

        def failed(fault: Fault) -> Answers:
            return Answers(errors={at(i): fault for i in range(count)})

        for name, value in self.constants.items():
            if name in columns:
                said = f"{name} stands in the row, and is a constant of the batch"
                mend = "rename the field, or leave out the constant"
                return failed(ValueFault("E0924", said, help=mend))
            if name not in self._fixed:
                columns[name] = np.broadcast_to(value, (count, *np.shape(value)))
        given = tuple([name for name in self.names if name in columns])
        with self.settings():
            try:
                if given not in self._known:
                    self._require(given)
                by = self._wanted(given, columns)
            except Fault as fault:
                return failed(fault)
            chosen = [columns[name] for name in given]
            plan = self._plan(given, chosen, by)
            parts, left = plan.results(chosen, count, lambda i: watch(at(i)), self.hold)
            for part in parts:
                grads = dict(zip(by, part.outputs[1:], strict=True)) if self.grad else None
                where = part.rows if positions is None else (
                    positions if part.rows is None else positions[part.rows]
                )  # fmt: skip
                found.groups.append(Group(where, part.outputs[0], grads))
            for i in left.tolist():
                watch(at(i))
                values = {name: columns[name][i] for name in given}
                try:
                    value, grads = self._evaluated(values, by, first + at(i))
                except Fault as fault:
                    found.errors[at(i)] = without_frames(fault)
                    continue
                self.hold(sum(map(np.size, (value, *(grads or {}).values()))))
                found.groups.append(Group(
                    np.array([at(i)]), np.asarray(value)[None],
                    None if grads is None else {n: np.asarray(g)[None] for n, g in grads.items()},
                ))  # fmt: skip
        return found

    def _plan(self, given: tuple[str, ...], columns: list[np.ndarray], by: list[str]) -> Plan:
        key = (given, *((c.dtype.char, c.shape[1:]) for c in columns))
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()

            def function(*values: Any) -> Any:
                leaves = {**dict(zip(given, values, strict=True)), **self._constants()}
                before = passing.set(True)
                try:
                    outcome = self.program.run(leaves, limits=self.limits, twice=False)
                    return self.result(outcome)
                finally:
                    passing.reset(before)

            wanted = [given.index(name) for name in by] if self.grad else None
            cotangent = None if self.cotangent is None else np.asarray(self.cotangent.array)
            plan = Plan(function, wanted, cotangent, RECORD_LIMIT, self.max_bytes)
            self._plans[key] = plan
        return plan

    def _wanted(self, given: tuple[str, ...], values: Mapping[str, Any]) -> list[str]:
        """What is differentiated by. Raises TypeFault (E0910) where it cannot be."""
        if not self.grad:
            return []
        if self.wrt is None:
            return [name for name in given if values[name].dtype.kind in "fc"]
        for name in self.wrt:
            if values[name].dtype.kind not in "fc":
                said = f"cannot differentiate by `{name}`: its type is {values[name].dtype.name}"
                raise TypeFault("E0910", said, help="leave out the type, so that it is a float")
        return list(self.wrt)

    @contextmanager
    def settings(self) -> Iterator[None]:
        """What holds while rows are evaluated: the default dtype, gradient mode, no warnings."""
        drawn = random.snapshot()
        try:
            # Infinities are results here, not warnings.
            with unchanged(), default_dtype(self._default), np.errstate(all="ignore"):
                mode.grad = True
                yield
        finally:
            random.seed_when_asked(None)
            random.restore(drawn)

    def _require(self, given: tuple[str, ...]) -> None:
        """Check once for each set of fields that nothing is missing. Raises SyntaxFault (E0202)."""
        have = [*given, *self._fixed]
        try:
            self.program.names.require([*have, *self.program.names.called])
        except Fault as fault:
            name = next((n for n in self.program.free if n not in have), "")
            fault.help = f"give the row a field `{name}`"
            raise
        missing = [name for name in self.wrt or () if name not in given]
        if missing:
            said = f"no value for `{missing[0]}`, by which to differentiate"
            raise ValueFault("E0202", said, help=f"give the row a field `{missing[0]}`")
        self._known.add(given)

    def result(self, outcome: Outcome) -> Any:
        """What a run gives: its last expression, or what its last line assigned; several results in
        a list are one with a row for each, and a float of Python is one of the default dtype."""
        value = self.program.result(outcome)
        value = self.program.differentiated(outcome) if value is None else value
        if isinstance(value, list | tuple) and any(isinstance(item, Tensor) for item in value):
            return stack(value)
        if isinstance(value, list | tuple | float | complex):
            with suppress(Fault):
                return as_tensor(value)
        return value

    # ---- One row on the engine -------------------------------------------------------------------

    def row(self, values: Mapping[str, Any], number: int = 1) -> tuple[Any, dict[str, Any] | None]:
        """The value and gradients of one row of arrays and NumPy numbers, by the engine. Raises
        Fault for whatever is wrong with it."""
        given = tuple([name for name in self.names if name in values])
        with self.settings():
            if given not in self._known:
                self._require(given)
            by = self._wanted(given, values)
            return self._evaluated({name: values[name] for name in given}, by, number)

    def redraw(self, number: int) -> None:
        """Start the random numbers of a run on the row with this number."""
        random.seed_when_asked((self.seed * _SEEDS + number) & 0xFFFFFFFF ^ _OF_THE_PROGRAM)

    def _evaluated(
        self, values: Mapping[str, Any], by: Sequence[str], number: int
    ) -> tuple[Any, dict[str, Any] | None]:
        self.redraw(number)
        try:
            with within(self.limits.memory):  # a gradient takes more than a run
                leaves = {
                    name: self._leaf(value, name in by or self.program.differentiates)
                    for name, value in values.items()
                }  # fmt: skip
                given = {**leaves, **self._constants()}
                outcome = self.program.run(given, limits=self.limits)
                value = self.result(outcome)
                result = number_of(value)
                if not self.grad:
                    return _checked(result, []), None
                grads = self.gradients(value, [leaves[name] for name in by])
                return _checked(result, grads), dict(zip(by, grads, strict=True))
        except Fault:
            raise
        except Exception as fault:
            raise placed(fault, self.program, []) from None
        finally:
            set_default_dtype(self._default)
            mode.grad = True

    def _constants(self) -> dict[str, Tensor]:
        """The constants as tensors that no other row has: a gradient may be left in them."""
        return {n: self._leaf(v, self.program.differentiates) for n, v in self._fixed.items()}

    def _leaf(self, value: Any, wanted: bool) -> Tensor:
        """A variable's value as a leaf of the graph."""
        if value.__class__ is np.float64:
            leaf = wrap(value, float64)  # what tensor(value) makes, sooner
        else:
            leaf = tensor(value)
        if wanted and leaf.dtype.differentiable:
            leaf.requires_grad_()
        return leaf

    def gradients(self, value: Any, leaves: list[Tensor]) -> list[Any]:
        """The gradient by each leaf, as arrays; zero where the result does not depend on it. Raises
        RuntimeFault (E0403, E0912) for results that have none."""
        if isinstance(value, Tensor):
            if self.cotangent is None:
                need_scalar(value, "sum(...) of it, a cotangent, or values without gradients")
            elif self.cotangent.shape != value.shape:
                shapes = f"{tuple(self.cotangent.shape)}, the result {tuple(value.shape)}"
                mend = "a cotangent has one entry per entry of the result"
                raise RuntimeFault("E0912", f"the cotangent has shape {shapes}", help=mend)
            return [g.array for g in gradients(value, leaves, self.cotangent)]
        return [np.zeros(leaf.array.shape, leaf.dtype.numpy) for leaf in leaves]


def _real(value: Any, dtype: str) -> Any:
    """A constant; without a dtype it is of real numbers."""
    array = np.asarray(value)
    return (
        array.astype(dtype) if not hasattr(value, "dtype") and array.dtype.kind in "iuf" else value
    )


def number_of(value: Any) -> Any:
    """What a program's result is as an array or number. Raises TypeFault (E0314)."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, bool | int | float | complex | np.ndarray | np.generic):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise TypeFault(
                "E0314", "the result is a whole number past 64 bits", help="write a float: 2.0**100"
            )
        return value
    what = "nothing" if value is None else f"a {type(value).__name__}"
    said = f"the program gives {what}; a row needs a number or a tensor"
    mend = "end the program with an expression that has a numeric value"
    raise TypeFault("E0314", said, help=mend)


def _checked(result: Any, grads: list[Any]) -> Any:
    """The result. Raises LimitFault (E0609) where a record would hold too many numbers."""
    total = np.size(result) + sum(map(np.size, grads))
    if total > RECORD_LIMIT:
        said = f"the row's result has {total:,} numbers; a record holds {RECORD_LIMIT:,}"
        mend = "reduce it with sum() or mean(), or run it alone with --format npy"
        raise LimitFault("E0609", said, help=mend)
    return result
