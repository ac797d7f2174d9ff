"""A whole batch: results in order from whoever computes them, to the journal and to the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from gradcli.batch.arrays import Source
from gradcli.batch.chunk import LARGEST, Crowded
from gradcli.batch.encode import Result
from gradcli.batch.journal import Journal
from gradcli.batch.outputs import Output
from gradcli.batch.worker import by_the_clock
from gradcli.ops.errors import ValueFault

SETTLED = 100
"""Records from which on a share of failures can stop a batch."""


class Executor(Protocol):
    """Who computes: this process, several, or a cluster."""

    def results(self, source: Source, task: Any) -> Iterator[Result]:
        """The results of all chunks of ``source``, in order."""


class Serial:
    """An executor: everything in this process, with no guard against its end.

    seconds  of wall time for one row, 0 for no limit
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def results(self, source: Source, task: Any) -> Iterator[Result]:
        """The results of all chunks of ``source``, in order."""
        worker = task.worker()
        while not source.ended:
            if not source.pending:
                source.read()
                continue
            chunk = source.cut(LARGEST)
            work = [] if chunk is None else [chunk]
            while work:
                chunk = work.pop()
                try:
                    yield by_the_clock(worker, chunk, self.seconds)
                except Crowded:
                    work += reversed(chunk.halves())


@dataclass(eq=False, slots=True)
class Summary:
    """How a batch went: rows read, records written, how many failed, whether it was halted."""

    rows: int = 0
    records: int = 0
    failed: int = 0
    halted: bool = False


class Halt:
    """When failures stop a batch: ``never``, at the ``first``, or past a share, ``5%``.

    The share is that of all records so far, looked at from the 100th on.
    """

    def __init__(self, text: str = "never") -> None:
        self.first = text == "first"
        self.share: float | None = None
        if text not in ("never", "first"):
            try:
                self.share = float(text.removesuffix("%")) / 100
            except ValueError:
                self.share = -1.0
            if not text.endswith("%") or not 0 <= self.share <= 1:
                raise ValueFault("E0907", f"--halt {text}: never, first or a share such as 5%")

    def cut(self, result: Result, before: Summary, form: str) -> Result | None:
        """The result up to the failure that stops the batch; None where none does."""
        if self.first and result.failed:
            place, row = result.failed[0]
            return result.until(place + 1, row, form)
        if self.share is None:
            return None
        for failed, (place, row) in enumerate(result.failed, before.failed + 1):
            records = before.records + place + 1
            if records >= SETTLED and failed > self.share * records:
                return result.until(place + 1, row, form)
        return None


def run_session(
    source: Source, task: Any, executor: Executor, output: Output, *,
    journal: Journal | None = None, halt: Halt | None = None,
    progress: Callable[[Summary], object] | None = None,
) -> Summary:  # fmt: skip
    """Compute what ``source`` holds and write it; the output is finished when this returns.

    A journal that has records already is played to the output first, and the source has to stand
    behind them. Raises what the output raises (OSError for a full disk).
    """
    summary = Summary()
    halt = halt or Halt()
    output.lasting = journal is not None

    def take(result: Result) -> bool:
        result = output.fitted(result)
        cut = halt.cut(result, summary, output.form)
        result = cut or result
        if journal is not None and not journal.replaying:
            journal.append(result)
        output.write(result)
        summary.rows = result.first + result.count - 1
        summary.records += result.records
        summary.failed += len(result.failed)
        summary.halted = cut is not None
        if progress is not None:
            progress(summary)
        return summary.halted

    results = executor.results(source, task)
    try:
        if journal is None or not any(map(take, journal.replay())):
            for result in results:
                stopped = take(result)
                if not source.pending:
                    output.flush()  # who sends row after row waits for these
                if stopped:
                    break
    finally:
        results.close()  # type: ignore[attr-defined]
    output.finish()
    if journal is not None:
        journal.close(summary)
    return summary
