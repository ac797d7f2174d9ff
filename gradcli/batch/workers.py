"""A batch over processes: rows in, one record out for each, in order, whatever a row does.

The parent reads lines and keeps the clock; each worker has one chunk in flight over its own pipe.
A row that takes too long (E0608), or whose process ends (E0610), gets its error record from here:
the process is replaced, the rows of the chunk before and after it are run again. Nothing about a
row depends on the rows around it, so the output is the same for any number of workers.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any, BinaryIO, TextIO

from gradcli.batch.fields import Fields
from gradcli.batch.lines import BLOCK, Splitter
from gradcli.batch.readers import Reader
from gradcli.batch.run import Summary
from gradcli.batch.worker import Task, serve
from gradcli.batch.writers import json_line
from gradcli.language.diagnostics.render import Diagnostic
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault

CHUNK_ROWS = 128
CHUNK_CHARACTERS = 1 << 20
"""A chunk holds at most so many rows, and no further row past so many characters."""
AHEAD = 4
"""Chunks per worker that are read or finished ahead of what can be written."""
STARTS = 3
"""How often a process may end before its first row until that row is held to be the cause."""
FORKS = sys.platform == "linux"
"""A forked process is there in milliseconds; elsewhere fork is missing or unsafe."""
PULSE = 0.05
"""Seconds between two looks at a worker that does not answer."""


class _Chunk:
    """Lines with following numbers, and the answers to them as far as they are known."""

    __slots__ = ("answers", "first", "lines", "parts", "starts")

    def __init__(self, first: int, lines: list[str | None]) -> None:
        self.first = first
        self.lines = lines
        self.answers: dict[int, tuple[bool, str]] = {}
        # Ranges still to run: after trouble, the rows around the one that made it.
        self.parts: list[tuple[int, int]] = [(first, first + len(lines))]
        self.starts = 0  # processes that ended before they began with a row of it


class _Worker:
    """A process with its pipe, and the part of a chunk that it is at."""

    def __init__(self, context: Any, task: Task, head: str | None) -> None:
        self.progress = context.RawValue("q", 0)
        self.pipe, other = context.Pipe()
        self.process = context.Process(
            target=serve, args=(other, self.progress, task, head), daemon=True
        )
        self.process.start()
        other.close()
        self.chunk: _Chunk | None = None
        self.part = (0, 0)
        self.row, self.since = 0, 0.0

    def give(self, chunk: _Chunk) -> None:
        """Send the next part of a chunk."""
        self.chunk, self.part = chunk, chunk.parts.pop()
        self.row, self.since = 0, time.monotonic()
        start, end = self.part
        lines = chunk.lines[start - chunk.first : end - chunk.first]
        try:
            self.pipe.send((start, lines))
        except OSError:
            return  # it has ended: the next look finds that

    def late(self, seconds: float, now: float) -> bool:
        """Whether it has been at one row for longer than ``seconds``."""
        row = self.progress.value
        if row != self.row:
            self.row, self.since = row, now
        return row > 0 and 0 < seconds < now - self.since

    def end(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Batch:
    """One batch at work."""

    def __init__(
        self, stream: BinaryIO, task: Task, target: TextIO, workers: int, seconds: float
    ) -> None:
        import multiprocessing

        self.context = multiprocessing.get_context("fork" if FORKS else "spawn")
        self.stream, self.task, self.target = stream, task, target
        self.most = workers
        self.seconds = seconds
        self.workers: list[_Worker] = []
        self.splitter = Splitter()
        self.lines: deque[str | None] = deque()
        self.ended = False
        self.read = 0  # rows handed out in chunks
        self.head: str | None = None
        self.headed = task.form != "csv"
        self.chunks: deque[_Chunk] = deque()  # in order, until they are written
        self.summary = Summary()

    def run(self) -> Summary:
        try:
            while True:
                self.fill()
                self.flush()
                if self.ended and not self.lines and not self.chunks:
                    return self.summary
                self.wait()
        finally:
            for worker in self.workers:
                worker.end()

    # ---- Input ----------------------------------------------------------------------------------

    def wants(self) -> bool:
        """Whether more input is needed now."""
        full = len(self.chunks) >= AHEAD * self.most or len(self.lines) >= CHUNK_ROWS
        return not self.ended and not full

    def take(self) -> None:
        """Read what is there."""
        data = getattr(self.stream, "read1", self.stream.read)(BLOCK)
        found = self.splitter.push(data) if data else self.splitter.end()
        self.ended = not data
        if not self.headed and found:
            self.head = found.pop(0)
            self.headed = True
        self.lines += found

    def fill(self) -> None:
        """Give every idle worker something to do."""
        idle = [worker for worker in self.workers if worker.chunk is None]
        while self.lines and (idle or len(self.workers) < self.most):
            if len(self.chunks) >= AHEAD * self.most:
                return
            if not idle:
                worker = _Worker(self.context, self.task, self.head)
                self.workers.append(worker)
                idle.append(worker)
            self.chunks.append(self.cut())
            idle.pop().give(self.chunks[-1])

    def cut(self) -> _Chunk:
        """The next chunk of the lines that were read."""
        taken: list[str | None] = []
        size = 0
        while self.lines and len(taken) < CHUNK_ROWS and size < CHUNK_CHARACTERS:
            line = self.lines.popleft()
            taken.append(line)
            size += len(line or "")
        self.read += len(taken)
        return _Chunk(self.read - len(taken) + 1, taken)

    # ---- Output ---------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write the records that are next in order."""
        before = self.summary.rows
        while self.chunks:
            chunk = self.chunks[0]
            end = chunk.first + len(chunk.lines)
            while (number := self.summary.rows + 1) in chunk.answers:
                good, line = chunk.answers.pop(number)
                self.summary.rows = number
                self.summary.failed += not good
                self.target.write(line)
            if number < end:
                break
            self.chunks.popleft()
        if self.summary.rows > before and not self.lines:
            self.target.flush()  # who sends row after row waits for these

    # ---- Waiting --------------------------------------------------------------------------------

    def wait(self) -> None:
        """Until a worker answers, input comes, or it is time to look at the clock."""
        import multiprocessing.connection

        busy = {worker.pipe: worker for worker in self.workers if worker.chunk is not None}
        sources: list[Any] = list(busy)
        if self.wants():
            if not busy or not _can_wait(self.stream):
                self.take()
                return
            sources.append(self.stream)
        for ready in multiprocessing.connection.wait(sources, PULSE):
            if ready is self.stream:
                self.take()
            else:
                self.answered(busy[ready])
        now = time.monotonic()
        for worker in busy.values():
            if worker.chunk is not None and worker.late(self.seconds, now):
                self.lost(worker, _too_long(self.seconds))

    def answered(self, worker: _Worker) -> None:
        try:
            answers = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(1.0)
            self.lost(worker, _ended(worker.process.exitcode))
            return
        chunk, (start, end) = worker.chunk, worker.part
        assert chunk is not None
        chunk.answers.update(enumerate(answers, start))
        worker.part = (start + len(answers), end)
        if worker.part[0] == end:
            self.go_on(worker, chunk)

    def lost(self, worker: _Worker, fault: Fault) -> None:
        """Replace a worker; the row it was at has its error, the others of its part run again."""
        chunk, (start, end) = worker.chunk, worker.part
        assert chunk is not None
        at = worker.progress.value
        if not at and chunk.starts < STARTS:
            chunk.starts += 1
            chunk.parts.append((start, end))
        else:
            at = at or start
            line = chunk.lines[at - chunk.first]
            chunk.answers[at] = False, _error_line(self.task.form, self.head, at, line, fault)
            chunk.parts += [part for part in ((at + 1, end), (start, at)) if part[0] < part[1]]
        worker.end()
        self.workers.remove(worker)
        if chunk.parts:
            again = _Worker(self.context, self.task, self.head)
            self.workers.append(again)
            self.go_on(again, chunk)

    def go_on(self, worker: _Worker, chunk: _Chunk) -> None:
        """The chunk's next part, where there is one."""
        worker.chunk = None
        if chunk.parts:
            worker.give(chunk)


def run_batch_apart(
    stream: BinaryIO, task: Task, target: TextIO, *, workers: int = 1, seconds: float = 0.0
) -> Summary:
    """Evaluate every row of ``stream`` in other processes; ``target`` gets each record, in order.

    workers  how many processes
    seconds  of wall time for one row, 0 for no limit

    Raises what ``Task.evaluator`` raises, before any row is read.

    >>> import io
    >>> from gradcli.language.runtime.run import Limits
    >>> task = Task("x^2", "<expr>", "line", "jsonl", Limits(), {})
    >>> run_batch_apart(io.BytesIO(b'{"x": 3}\\n{"x": "three"}\\n'), task, io.StringIO())
    Summary(rows=2, failed=1)
    """
    evaluator = task.evaluator()
    Reader(task.form, Fields(evaluator.takes, evaluator.dtype, evaluator.max_bytes))
    return _Batch(stream, task, target, workers, seconds).run()


def _can_wait(stream: BinaryIO) -> bool:
    """Whether the system can say when the stream has something to read."""
    if sys.platform == "win32":
        return False
    try:
        stream.fileno()
    except (OSError, AttributeError):
        return False
    return True


def _too_long(seconds: float) -> Fault:
    return LimitFault(
        "E0608",
        f"the row took longer than {seconds:g} s",
        help="--timeout SECONDS raises the limit",
    )


def _ended(code: int | None) -> Fault:
    why = f" (signal {-code})" if code is not None and code < 0 else ""
    return RuntimeFault(
        "E0610", f"the process that computed the row ended{why}",
        help="mostly the memory ran out: a smaller --max-mem refuses the row in time",
    )  # fmt: skip


def _error_line(form: str, head: str | None, number: int, line: str | None, fault: Fault) -> str:
    """The record of a row that cannot speak for itself; its id is read without its values."""
    reader = Reader(form, Fields(lambda name: False, "float64", 1 << 20))
    if reader.headed:
        reader.head(head)
    row = reader.row(number, line)
    error = Diagnostic.of(fault).to_json()
    return json_line({"schema": 1, "row": number, "id": row.id, "ok": False, "error": error})
