"""A whole batch, in this process: rows in, one record out for each, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from gradcli.batch.evaluate import Evaluator
from gradcli.batch.readers import read_rows


class Summary:
    """How a batch went: rows read, and how many of them failed."""

    __slots__ = ("failed", "rows")

    def __init__(self, rows: int, failed: int) -> None:
        self.rows = rows
        self.failed = failed

    def __repr__(self) -> str:
        return f"Summary(rows={self.rows}, failed={self.failed})"


def run_batch(
    stream: TextIO, evaluator: Evaluator, write: Callable[[dict], object], *, form: str = "jsonl"
) -> Summary:
    """Evaluate every row of ``stream`` and hand each record to ``write``.

    stream  text, best from ``readers.text_stream``
    form    ``"jsonl"`` or ``"csv"``; any other raises ValueFault (E0905)

    >>> import io
    >>> from gradcli.language.run import prepare
    >>> rows = io.StringIO('{"x": 3}\\n{"x": "three"}\\n')
    >>> run_batch(rows, Evaluator(prepare("x^2")), lambda record: None)
    Summary(rows=2, failed=1)
    """
    count = failed = 0
    record = evaluator.record
    for row in read_rows(
        stream, form, wanted=evaluator.takes, dtype=evaluator.dtype, max_bytes=evaluator.max_bytes
    ):
        found = record(row)
        count += 1
        failed += not found["ok"]
        write(found)
    return Summary(count, failed)
