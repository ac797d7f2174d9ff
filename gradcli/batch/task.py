"""What every row of a batch is put through: chunks of rows in, results out, in any process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli import silence_numpy
from gradcli.batch.chunk import Chunk
from gradcli.batch.columns import arrow, columns_of
from gradcli.batch.encode import Result, encode
from gradcli.batch.evaluate import RECORD_LIMIT, Answers, Evaluator, unwatched
from gradcli.batch.fields import Fields, shown
from gradcli.batch.lines import text_of
from gradcli.batch.readers import Reader, Row
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.runtime.run import Limits, prepare
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault, RuntimeFault, ValueFault

Watch = Callable[[int], object]
Verdict = tuple[str, str, str]
"""An error that somebody else found: code, message, help."""
Poisoned = Mapping[int, Verdict] | None
"""Rows, by number, that are not to be computed again."""


@dataclass(eq=False)
class Task:
    """A program over rows, in values that another process can be sent.

    text, name, mode   the program, as for ``prepare``
    form               of the rows: ``jsonl``, ``csv``, or ``arrays``
    limits, options    of ``Evaluator``
    output             the form of the results, see ``encode``
    where              a condition; rows that do not meet it have no record
    id                 the column that is echoed; without one, a field ``id``
    header             a CSV's first line
    columns            what each array is, by name (``arrays.KINDS``)
    """

    text: str
    name: str
    mode: str
    form: str
    limits: Limits
    options: Mapping[str, Any] = field(default_factory=dict)
    output: str = "jsonl"
    where: str | None = None
    id: str | None = None
    header: bytes | None = None
    columns: Mapping[str, str] | None = None

    def worker(self) -> RowWorker:
        """What computes. Raises what ``prepare`` and ``Evaluator`` raise, and ValueFault (E0910)
        for a column that there is not."""
        silence_numpy()
        return RowWorker(self)

    def deciding(self) -> dict[str, Any]:
        """Everything besides the input that decides the output, for a journal."""
        limits = self.limits
        found = {"program": self.text, "mode": self.mode, "format": self.output,
                 "where": self.where, "id": self.id, "columns": self.columns,
                 "limits": [limits.steps, limits.memory, limits.depth]}  # fmt: skip
        for name, value in self.options.items():
            plain = isinstance(value, str | int | float | bool | list | None)
            found[name] = value if plain else _spelled(value)
        return found


def _spelled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _spelled(v) for name, v in value.items()}
    array = np.asarray(value)
    return [array.dtype.str, list(array.shape), array.tobytes().hex()]


class RowWorker:
    """A task at work in one process.

    names   of the gradients that a table has a column for
    needed  the columns that are read, where they are known before the rows
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        options = dict(task.options)
        constants = options.pop("constants", None) or {}
        program = prepare(Source(task.text, task.name), task.mode)
        self.condition = None if task.where is None else _condition(task, constants)
        theirs = () if self.condition is None else self.condition.constants
        mine = {n: v for n, v in constants.items() if program.takes(n) or n not in theirs}
        self.evaluator = Evaluator(program, limits=task.limits, constants=mine, **options)
        self.max_bytes = self.evaluator.max_bytes
        self.fields = Fields(self._takes, self.evaluator.dtype, self.max_bytes)
        self.reader: Reader | None = None
        columns: Sequence[str] | None = None if task.columns is None else list(task.columns)
        if task.form == "csv":
            arrow()  # before this process is forked, not once in each worker
        if task.form != "arrays":
            self.reader = Reader(task.form, self.fields, task.id or "id")
            if task.header is not None:
                self.reader.head(text_of(task.header))
                columns = self.reader.columns
        self.wanted: list[str] = []
        self.id = task.id
        if columns is not None:
            self._check(columns, constants)
            self.wanted = [name for name in dict.fromkeys(columns) if self._takes(name)]
            if task.id is None and "id" in columns:
                self.id = "id"
        self.needed = [*dict.fromkeys([*self.wanted, *([self.id] if self.id is not None else [])])]
        self.names = self._gradients(columns)

    def _takes(self, name: str) -> bool:
        if self.evaluator.takes(name):
            return True
        return self.condition is not None and self.condition.takes(name)

    def _check(self, columns: Sequence[str], constants: Mapping[str, Any]) -> None:
        """Raises ValueFault (E0910, E0926) where no row can satisfy what is asked."""
        task, evaluator = self.task, self.evaluator
        have = f"columns: {', '.join(shown(c)[1:-1] for c in columns[:12])}"
        for name in constants:
            if name in columns:
                said = f"--const {name}: the rows have a column {name}"
                raise ValueFault("E0910", said, help="rename the column, or leave out the constant")
        if task.id is not None and task.id not in columns:
            mend = did_you_mean(task.id, columns, have)
            raise ValueFault("E0910", f"--id {task.id}: there is no such column", help=mend)
        asked = [(name, "--wrt") for name in evaluator.wrt or ()]
        asked += [(name, "the expression") for name in evaluator.program.free]
        if self.condition is not None:
            asked += [(name, "--where") for name in self.condition.program.free]
        for name, by in asked:
            if name in columns or name in constants:
                continue
            raise ValueFault(
                "E0910", f"there is no column `{name}`, which {by} reads"
                if by != "--wrt" else f"--wrt {name}: there is no such column",
                help=did_you_mean(name, columns, f"{have}; or --const {name}=VALUE"),
            )  # fmt: skip
        for name, kind in (task.columns or {}).items():
            if kind in ("text", "unreadable") and self._takes(name):
                what = "text" if kind == "text" else "neither numbers nor text"
                said = f"the column {shown(name)}, a variable, holds {what}"
                mend = "a variable is a column of numbers or booleans"
                raise ValueFault("E0926", said, help=mend)
            if kind == "unreadable" and name == task.id:
                raise ValueFault("E0926", f"--id {name}: the column holds no numbers or text")
            if kind == "boolean" and name in (evaluator.wrt or ()):
                raise ValueFault("E0910", f"--wrt {name}: the column holds booleans")

    def _gradients(self, columns: Sequence[str] | None) -> list[str]:
        """The names that a table has a gradient of."""
        evaluator = self.evaluator
        if not evaluator.grad:
            return []
        if evaluator.wrt is not None:
            return list(evaluator.wrt)
        given = evaluator.program.free if columns is None else [
            n for n in self.wanted if (self.task.columns or {}).get(n) != "boolean"
        ]  # fmt: skip
        return [n for n in evaluator.names if n in given and n not in evaluator.constants]

    # ---- A chunk ---------------------------------------------------------------------------------

    def result(
        self, chunk: Chunk, poisoned: Poisoned = None, single: bool = False,
        watch: Watch = unwatched,
    ) -> Result:  # fmt: skip
        """The records of a chunk.

        poisoned   rows, by number, that are not to be computed again, and why
        single     compute row by row, and tell ``watch`` the number of each

        Raises Crowded where that is too much of several rows to hold at once.
        """
        block = _Block(chunk.first, chunk.count, poisoned or {}, single, watch)
        self.evaluator.room = RECORD_LIMIT if chunk.count > 1 else float("inf")
        ids: list[Any] | None = None
        if isinstance(chunk.data, dict):
            if self.id is not None:
                ids = chunk.data[self.id].tolist()
            self._columns(block, chunk.data, None)
        elif self.task.form == "csv":
            assert self.reader is not None
            plain = columns_of(
                chunk.data, chunk.count, self.reader.columns, self.wanted, self.id,
                self.fields.numpy,
            )  # fmt: skip
            if len(plain.positions):
                every = len(plain.positions) == chunk.count
                self._columns(block, plain.arrays, None if every else plain.positions)
            rows: list[Row] = []
            if plain.rest:
                lines = chunk.data.split(b"\n")
                rows = self._read([(p, lines[p]) for p in plain.rest], chunk.first)
                self._rows(block, rows)
            if self.id is not None:
                ids = [None] * chunk.count
                for p, id in zip(plain.positions.tolist(), plain.ids or (), strict=True):
                    ids[p] = id
                for row in rows:
                    ids[row.number - chunk.first] = row.id
        else:
            rows = self._read(list(enumerate(chunk.data.split(b"\n"))), chunk.first)
            ids = [row.id for row in rows]
            self._rows(block, rows)
        places: Sequence[int] = range(chunk.count)
        if not block.kept.all():
            places = np.flatnonzero(block.kept).tolist()
        return encode(
            chunk, self.task.output, self.names, self.task.id is not None, places, ids, block.found
        )

    def answers(self, columns: Mapping[str, np.ndarray], count: int) -> tuple[np.ndarray, Answers]:
        """Which rows of arrays are kept, and what becomes of those."""
        block = _Block(1, count, {}, False, unwatched)
        self._columns(block, columns, None)
        return block.kept, block.found

    def _read(self, lines: Sequence[tuple[int, bytes]], first: int) -> list[Row]:
        assert self.reader is not None
        rows = []
        for position, line in lines:
            self.evaluator.begin(first + position)  # a field may draw a random number
            rows.append(row := self.reader.row(first + position, text_of(line)))
            self.evaluator.hold(sum(getattr(v, "size", 1) for v in row.values.values()))
        return rows

    def _columns(
        self, block: _Block, given: Mapping[str, np.ndarray], positions: np.ndarray | None
    ) -> None:
        """Add the answers to rows that are arrays; ``positions`` as for ``of_columns``."""
        count = block.count if positions is None else len(positions)
        columns = {n: given[n] for n in self.wanted}
        for name, array in columns.items():
            own = self.fields.own(array.dtype.kind)
            if array.dtype.kind not in "iufc" or array.dtype == own:
                continue
            with np.errstate(over="ignore"):
                columns[name] = array.astype(own)
            over = np.isinf(columns[name]) & np.isfinite(array)
            if over.any():
                lost = over.reshape(count, -1).any(axis=1)
                positions = np.arange(count) if positions is None else positions
                fault = self.fields.too_large(name)
                block.found.errors.update(dict.fromkeys(positions[lost].tolist(), fault))
                rest = {n: given[n][~lost] for n in self.wanted}
                return self._columns(block, rest, positions[~lost])
        if not columns or block.single or block.poisoned:
            at = range(count) if positions is None else positions.tolist()
            self._rows(block, [
                Row(block.first + p, None, {name: a[i] for name, a in columns.items()})
                for i, p in enumerate(at)
            ])  # fmt: skip
            return
        if self.condition is not None:
            block.watch(-1)
            positions = np.arange(count) if positions is None else positions
            holds = block.holding(
                self.condition.of_columns(columns, count, block.first, positions), positions
            )
            positions, count = positions[holds], int(holds.sum())
            columns = {n: a[holds] for n, a in columns.items()}
        block.found.add(
            self.evaluator.of_columns(columns, count, block.first, positions, block.at_work)
        )

    def _rows(self, block: _Block, rows: Sequence[Row]) -> None:
        """Add the answers to rows that are values."""
        for row in rows:
            if row.number in block.poisoned:
                row.problem = fault_of(block.poisoned[row.number])
            if row.problem is not None:
                block.found.errors[row.number - block.first] = row.problem
        rows = [row for row in rows if row.problem is None]
        for part in [[row] for row in rows] if block.single else [rows]:
            if block.single:
                block.watch(part[0].number)
            if self.condition is not None and part:
                positions = np.array([row.number - block.first for row in part])
                holds = block.holding(self.condition.answers(part, block.first), positions)
                part = [row for row, meets in zip(part, holds, strict=True) if meets]
            block.found.add(self.evaluator.answers(part, block.first, block.at_work))


_ONE = "a condition is one number: all(...), any(...)"


@dataclass(eq=False, slots=True)
class _Block:
    """The rows of a chunk, and what became of them so far.

    kept   which have a record: all but those that do not meet the condition
    """

    first: int
    count: int
    poisoned: Mapping[int, Verdict]
    single: bool
    watch: Watch
    kept: np.ndarray = field(init=False)
    found: Answers = field(default_factory=Answers)

    def __post_init__(self) -> None:
        self.kept = np.ones(self.count, bool)

    def at_work(self, position: int) -> None:
        """Tell which row is at work, or that it is rows together."""
        if position >= 0:
            self.watch(self.first + position)
        elif not self.single:
            self.watch(-1)

    def holding(self, answers: Answers, positions: np.ndarray) -> np.ndarray:
        """Which rows meet the condition; the others are left out, those with errors kept."""
        truth = np.zeros(self.count, bool)
        for group in answers.groups:
            if group.value[:1].size > 1:
                said = f"--where gives an array of shape {group.value.shape[1:]} for the row"
                wrong = ValueFault("E0912", said, help=_ONE)
                answers.errors.update((int(p), wrong) for p in group.positions)
                continue
            truth[group.positions] = group.value.reshape(len(group.value)).astype(bool)
        self.kept[positions[~truth[positions]]] = False
        for p, fault in answers.errors.items():
            if not fault.message.startswith("--where"):  # one fault may be that of many rows
                fault.message = f"--where: {fault.message}"
            self.kept[p] = True
            self.found.errors[p] = fault
        return truth[positions]


def fault_of(verdict: Verdict) -> Fault:
    """The fault that a verdict describes."""
    code, message, help = verdict
    return RuntimeFault(code, message, help=help)


def _condition(task: Task, constants: Mapping[str, Any]) -> Evaluator:
    """What evaluates ``where``. Raises Fault for a condition that cannot be."""
    options = {k: v for k, v in task.options.items() if k in ("dtype", "seed")}
    try:
        program = prepare(Source(task.where or "", "--where"))
        if program.names.last_assigned:  # what it gives would hold for every row
            said = f"{task.where} sets a variable; a condition compares"
            raise ValueFault("E0910", said, help="write == for equal")
        mine = {n: v for n, v in constants.items() if program.takes(n)}
        return Evaluator(program, grad=False, limits=task.limits, constants=mine, **options)
    except Fault as fault:
        fault.message = f"--where: {fault.message}"
        raise
