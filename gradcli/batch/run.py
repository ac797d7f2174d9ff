"""A whole batch, in this process: rows in, one record out for each, in order."""

from __future__ import annotations

from typing import BinaryIO, TextIO

from gradcli.batch.evaluate import Evaluator
from gradcli.batch.fields import Fields
from gradcli.batch.lines import lines_of
from gradcli.batch.readers import Reader
from gradcli.batch.writers import json_line
from gradcli.engine.creation import generator as random


class Summary:
    """How a batch went: rows read, and how many of them failed."""

    __slots__ = ("failed", "rows")

    def __init__(self, rows: int = 0, failed: int = 0) -> None:
        self.rows = rows
        self.failed = failed

    def __repr__(self) -> str:
        return f"Summary(rows={self.rows}, failed={self.failed})"


def reader_for(evaluator: Evaluator, form: str) -> Reader:
    """The reader of rows for an evaluator: its variables, its dtype, its memory."""
    return Reader(form, Fields(evaluator.takes, evaluator.dtype, evaluator.max_bytes))


def record_line(
    reader: Reader, evaluator: Evaluator, number: int, line: str | None
) -> tuple[bool, str]:
    """One line of input as one line of output; first whether its row succeeded."""
    evaluator.begin(number)  # a field may draw a random number too
    record = evaluator.record(reader.row(number, line))
    return record["ok"], json_line(record)


def run_batch(
    stream: BinaryIO, evaluator: Evaluator, target: TextIO, *, form: str = "jsonl"
) -> Summary:
    """Evaluate every row of ``stream`` and write its record to ``target``, as a line.

    form    ``"jsonl"`` or ``"csv"``; any other raises ValueFault (E0905)

    A row that never ends, or that ends the process, takes the batch along; ``workers`` keeps rows
    apart.

    >>> import io
    >>> from gradcli.language.runtime.run import prepare
    >>> rows = io.BytesIO(b'{"x": 3}\\n{"x": "three"}\\n')
    >>> run_batch(rows, Evaluator(prepare("x^2")), io.StringIO())
    Summary(rows=2, failed=1)
    """
    reader = reader_for(evaluator, form)
    lines = lines_of(stream)
    if reader.headed:
        for line in lines:
            reader.head(line)
            break
    summary = Summary()
    drawn = random.snapshot()
    try:
        for number, line in enumerate(lines, 1):
            good, found = record_line(reader, evaluator, number, line)
            summary.rows += 1
            summary.failed += not good
            target.write(found)
    finally:
        random.seed_when_asked(None)
        random.restore(drawn)
    return summary
