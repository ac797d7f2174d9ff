"""What every row of a batch is put through: chunks of rows in, results out, in any process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradcli.batch.columns import arrow, columns_of
from gradcli.batch.encode import Result, encode
from gradcli.batch.evaluate import Answers, Evaluator, Group, unwatched
from gradcli.batch.fields import Fields, shown
from gradcli.batch.lines import text_of
from gradcli.batch.readers import Reader, Row
from gradcli.batch.sources import Chunk
from gradcli.language.diagnostics.render import closest
from gradcli.language.runtime.run import Limits, prepare
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault, RuntimeFault, ValueFault

Watch = Callable[[int], object]
Verdict = tuple[str, str, str]
"""An error that somebody else found: code, message, help."""
Poisoned = Mapping[int, Verdict] | None
"""Rows, by number, that are not to be computed again."""


class Task:
    """A program over rows, in values that another process can be sent.

    text, name, mode   the program, as for ``prepare``
    form               of the rows: ``jsonl``, ``csv``, or ``arrays``
    limits, options    of ``Evaluator``
    output             the form of the results, see ``encode``
    where              a condition; rows that do not meet it have no record
    id                 the column that is echoed; without one, a field ``id``
    header             a CSV's first line
    columns            the names of arrays
    """

    def __init__(
        self, text: str, name: str, mode: str, form: str, limits: Limits,
        options: Mapping[str, Any] | None = None, *, output: str = "jsonl",
        where: str | None = None, id: str | None = None, header: bytes | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.text, self.name, self.mode, self.form = text, name, mode, form
        self.limits = limits
        self.options = dict(options or {})
        self.output = output
        self.where = where
        self.id = id
        self.header = header
        self.columns = columns

    def worker(self) -> RowWorker:
        """What computes. Raises what ``prepare`` and ``Evaluator`` raise, and ValueFault (E0910)
        for a column that there is not."""
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
    """A task at work in one process."""

    def __init__(self, task: Task) -> None:
        self.task = task
        program = prepare(Source(task.text, task.name), task.mode)
        self.evaluator = Evaluator(program, limits=task.limits, **task.options)
        self.condition: Evaluator | None = None
        if task.where is not None:
            self.condition = _condition(task, self.evaluator)
        evaluator = self.evaluator
        fields = Fields(self._takes, evaluator.dtype, evaluator.max_bytes)
        self.reader: Reader | None = None
        columns = task.columns
        if task.form == "csv":
            arrow()  # before this process is forked, not once in each worker
        if task.form != "arrays":
            self.reader = Reader(task.form, fields, task.id or "id")
            if task.header is not None:
                self.reader.head(text_of(task.header))
                columns = self.reader.columns
                if self.reader.problem is not None:
                    raise self.reader.problem
        if columns is not None:
            self._check(columns)
        self.id = task.id
        if columns is not None and task.id is None and "id" in columns:
            self.id = "id"
        self.wanted = None if columns is None else [
            name for name in dict.fromkeys(columns) if self._takes(name)
        ]  # fmt: skip
        self.names = self._gradients()

    def _takes(self, name: str) -> bool:
        if self.evaluator.takes(name):
            return True
        return self.condition is not None and self.condition.takes(name)

    def _check(self, columns: Sequence[str]) -> None:
        """Raises ValueFault (E0910) where no row can satisfy what is asked."""
        task, evaluator = self.task, self.evaluator
        have = f"columns: {', '.join(shown(c)[1:-1] for c in columns[:12])}"
        for name in evaluator.constants:
            if name in columns:
                raise ValueFault(
                    "E0910", f"--const {name}: the rows have a column {name}",
                    help="rename the column, or leave out the constant",
                )  # fmt: skip
        if task.id is not None and task.id not in columns:
            near = closest(task.id, columns)
            raise ValueFault(
                "E0910", f"--id {task.id}: there is no such column",
                help=f"did you mean {near}?" if near else have,
            )  # fmt: skip
        asked = [(name, "--wrt") for name in evaluator.wrt or ()]
        asked += [(name, "the expression") for name in evaluator.program.free]
        if self.condition is not None:
            asked += [(name, "--where") for name in self.condition.program.free]
        for name, by in asked:
            if name in columns or name in evaluator.constants:
                continue
            near = closest(name, columns)
            raise ValueFault(
                "E0910", f"there is no column `{name}`, which {by} reads"
                if by != "--wrt" else f"--wrt {name}: there is no such column",
                help=f"did you mean {near}?" if near else f"{have}; or --const {name}=VALUE",
            )  # fmt: skip

    def _gradients(self) -> list[str]:
        """The names that a table has a gradient of."""
        evaluator = self.evaluator
        if not evaluator.grad:
            return []
        if evaluator.wrt is not None:
            return list(evaluator.wrt)
        given = evaluator.program.free if self.wanted is None else self.wanted
        return [n for n in evaluator.names if n in given and n not in evaluator.constants]

    # ---- A chunk ---------------------------------------------------------------------------------

    def result(
        self, chunk: Chunk, poisoned: Poisoned = None, single: bool = False,
        watch: Watch = unwatched,
    ) -> Result:  # fmt: skip
        """The records of a chunk.

        poisoned   rows, by number, that are not to be computed again, and why
        single     compute row by row, and tell ``watch`` the number of each
        """
        first = chunk.first
        found = Answers()
        ids: list[Any] | None = None
        kept = np.ones(chunk.count, bool)

        def at_work(position: int) -> None:
            watch(position if position < 0 else first + position)

        if isinstance(chunk.data, dict):
            if self.id is not None:
                ids = chunk.data[self.id].tolist()
            columns = {n: self._typed(chunk.data[n]) for n in self.wanted or ()}
            self._columns(columns, None, chunk.count, first, kept, found, at_work, poisoned, single)
        elif self.task.form == "csv":
            assert self.reader is not None and self.wanted is not None
            plain = columns_of(
                chunk.data, chunk.count, self.reader.columns, self.wanted, self.id,
                self.reader.fields.numpy,
            )  # fmt: skip
            if len(plain.positions):
                where = None if len(plain.positions) == chunk.count else plain.positions
                self._columns(
                    plain.arrays, where, len(plain.positions), first, kept, found, at_work,
                    poisoned, single,
                )  # fmt: skip
            ids = None if self.id is None else [None] * chunk.count
            if ids is not None and plain.ids is not None:
                for p, id in zip(plain.positions.tolist(), plain.ids, strict=True):
                    ids[p] = id
            if plain.rest:
                lines = chunk.data.split(b"\n")
                rows = self._read([(p, lines[p]) for p in plain.rest], first)
                self._rows(rows, first, kept, found, at_work, poisoned, single)
                for row in rows:
                    if ids is not None:
                        ids[row.number - first] = row.id
        else:
            rows = self._read(list(enumerate(chunk.data.split(b"\n"))), first)
            ids = [row.id for row in rows]
            self._rows(rows, first, kept, found, at_work, poisoned, single)
        places: Sequence[int] = range(chunk.count)
        if not kept.all():
            places = np.flatnonzero(kept).tolist()
        return encode(
            self.task.output, self.names, self.task.id is not None, first, chunk.count, places,
            ids, found,
        )  # fmt: skip

    def answers(self, columns: Mapping[str, np.ndarray], count: int) -> tuple[np.ndarray, Answers]:
        """Which rows of arrays are kept, and what becomes of those."""
        found, kept = Answers(), np.ones(count, bool)
        taken = {n: self._typed(columns[n]) for n in self.wanted or ()}
        self._columns(taken, None, count, 1, kept, found, unwatched, None, False)
        return kept, found

    def refused(self, chunk: Chunk, verdict: Verdict) -> Result:
        """The records of a chunk of which no row is computed."""
        return self.result(chunk, {chunk.first + i: verdict for i in range(chunk.count)})

    def _typed(self, array: np.ndarray) -> np.ndarray:
        """An array of a file as values: real numbers in the batch's dtype, booleans as they are."""
        if array.dtype.kind in "iuf":
            return array.astype(self.evaluator.dtype, copy=False)
        if array.dtype.kind in "US":
            raise ValueFault("E0926", "a variable of the program is a column of text")
        return array

    def _read(self, lines: Sequence[tuple[int, bytes]], first: int) -> list[Row]:
        assert self.reader is not None
        rows = []
        for position, line in lines:
            self.evaluator.begin(first + position)  # a field may draw a random number
            rows.append(self.reader.row(first + position, text_of(line)))
        return rows

    def _columns(
        self, columns: dict[str, np.ndarray], positions: np.ndarray | None, count: int, first: int,
        kept: np.ndarray, found: Answers, watch: Watch, poisoned: Poisoned, single: bool,
    ) -> None:  # fmt: skip
        if not columns or single or poisoned:
            at = range(count) if positions is None else positions.tolist()
            rows = [
                Row(first + p, None, {name: a[i] for name, a in columns.items()})
                for i, p in enumerate(at)
            ]
            self._rows(rows, first, kept, found, watch, poisoned, single)
            return
        if self.condition is not None:
            watch(-1)
            given = {n: a for n, a in columns.items() if self.condition.takes(n)}
            positions = np.arange(count) if positions is None else positions
            answers = self.condition.of_columns(given, count, first, positions)
            holds = self._holding(answers, positions, kept, found)
            positions, count = positions[holds], int(holds.sum())
            columns = {n: a[holds] for n, a in columns.items()}
        given = {n: a for n, a in columns.items() if self.evaluator.takes(n)}
        _add(found, self.evaluator.of_columns(given, count, first, positions, watch))

    def _rows(
        self, rows: Sequence[Row], first: int, kept: np.ndarray, found: Answers, watch: Watch,
        poisoned: Poisoned, single: bool,
    ) -> None:  # fmt: skip
        if poisoned:
            for row in rows:
                if row.number in poisoned:
                    found.errors[row.number - first] = fault_of(poisoned[row.number])
            rows = [row for row in rows if row.number not in poisoned]
        for part in [[row] for row in rows] if single else [rows]:
            if single:
                watch(part[0].number - first)
            if self.condition is not None and part:
                positions = np.array([row.number - first for row in part])
                answers = self.condition.answers(_of(part, self.condition), first)
                holds = self._holding(answers, positions, kept, found)
                held = [row for row, meets in zip(part, holds, strict=True) if meets]
                part = _of(held, self.evaluator)

            def at_row(p: int) -> None:
                if p >= 0 or not single:
                    watch(p)

            _add(found, self.evaluator.answers(part, first, at_row))

    def _holding(
        self, answers: Answers, positions: np.ndarray, kept: np.ndarray, found: Answers
    ) -> np.ndarray:
        """Which rows meet the condition; the others are left out, those with errors kept."""
        truth = np.zeros(len(kept), bool)
        for group in answers.groups:
            if group.value[:1].size > 1:
                answers.errors.update((int(p), _not_one(group)) for p in group.positions)
                continue
            truth[group.positions] = group.value.reshape(len(group.value)).astype(bool)
        kept[positions[~truth[positions]]] = False
        for p, fault in answers.errors.items():
            kept[p] = True
            found.errors[p] = fault
        return truth[positions]


def fault_of(verdict: Verdict) -> Fault:
    """The fault that a verdict describes."""
    code, message, help = verdict
    return RuntimeFault(code, message, help=help)


def _condition(task: Task, evaluator: Evaluator) -> Evaluator:
    """What evaluates ``where``. Raises Fault for a condition that cannot be."""
    options = {k: v for k, v in task.options.items() if k in ("dtype", "seed")}
    try:
        program = prepare(Source(task.where or "", "--where"))
        names = Evaluator(program).names
        constants = {n: v for n, v in evaluator.constants.items() if n in names}
        return Evaluator(program, grad=False, limits=task.limits, constants=constants, **options)
    except Fault as fault:
        fault.message = f"--where: {fault.message}"
        raise


def _not_one(group: Group) -> Fault:
    return ValueFault(
        "E0912", f"--where gives an array of shape {tuple(group.value.shape[1:])} for the row",
        help="a condition is one number: all(...), any(...)",
    )  # fmt: skip


def _of(rows: Sequence[Row], evaluator: Evaluator) -> list[Row]:
    """Rows with the values that a program reads."""
    return [
        Row(row.number, row.id, {n: v for n, v in row.values.items() if evaluator.takes(n)},
            row.problem)
        for row in rows
    ]  # fmt: skip


def _add(found: Answers, answers: Answers) -> None:
    """Add the answers to some rows of a block."""
    found.groups += answers.groups
    found.errors.update(answers.errors)
