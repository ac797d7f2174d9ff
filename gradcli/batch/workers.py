"""Chunks computed by processes on this machine: results in order, whatever a row does.

The parent reads the input and keeps the clock; each worker has one chunk in flight over its own
pipe. A row that takes too long (E0608), or whose process ends (E0610), gets its error from here:
the process is replaced, and computes the chunk again without that row. A process that ends while
it works on rows together computes them again one by one, so that the row is known; and a row is
held to be the cause only when it ends a second process. Nothing about a row depends on the rows
around it, so the output is the same for any number of workers.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gradcli.batch.arrays import Source
from gradcli.batch.chunk import LARGEST, Chunk
from gradcli.batch.encode import Result
from gradcli.batch.task import Verdict
from gradcli.batch.worker import ended, serve, too_long

SMALLEST = 1 << 14
"""Bytes of the first chunks; they grow while chunks are done soon, so that large ones are quick."""
SOON, LATE = 0.1, 0.5
"""Seconds for a chunk below which chunks grow, and above which they shrink."""
AHEAD = 4
"""Chunks per worker that are cut or finished ahead of what can be written."""
STARTS = 5
"""How often a process may end before it begins with a chunk until the chunk is given up."""
FORKS = sys.platform == "linux"
"""A forked process is there in milliseconds; elsewhere fork is missing or unsafe."""
PULSE = 0.05
"""Seconds between two looks at a worker that does not answer."""
PATIENCE = 60.0
"""Seconds at least that rows together may take, until they are computed one by one."""


@dataclass(eq=False, slots=True)
class _Pending:
    """A chunk, and what is known of it until its result is there."""

    chunk: Chunk
    result: Result | None = None
    poisoned: dict[int, Verdict] = field(default_factory=dict)
    suspects: set[int] = field(default_factory=set)  # rows that ended a process once
    single: bool = False
    starts: int = 0  # processes that ended before they began with it


class _Worker:
    """A process with its pipe, and the chunk that it is at."""

    def __init__(self, context: Any, task: Any) -> None:
        self.progress = context.RawValue("q", 0)
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, self.progress, task), daemon=True)
        self.process.start()
        other.close()
        self.work: _Pending | None = None
        self.row, self.since, self.began = 0, 0.0, 0.0

    def give(self, work: _Pending) -> None:
        """Send a chunk."""
        self.work = work
        self.row, self.since = 0, time.monotonic()
        self.began = self.since
        try:
            self.pipe.send((work.chunk, work.poisoned, work.single))
        except OSError:
            return  # it has ended: the next look finds that

    def late(self, seconds: float, now: float) -> bool:
        """Whether it has been at one row for longer than ``seconds``."""
        row = self.progress.value
        if row != self.row:
            self.row, self.since = row, now
        limit = seconds if row > 0 else max(4 * seconds, PATIENCE)
        return row != 0 and seconds > 0 and limit < now - self.since

    def end(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Processes:
    """An executor: as many processes as asked for.

    count    how many
    seconds  of wall time for one row, 0 for no limit
    """

    def __init__(self, count: int = 1, seconds: float = 0.0) -> None:
        import multiprocessing

        self.context = multiprocessing.get_context("fork" if FORKS else "spawn")
        self.most = count
        self.seconds = seconds
        self.workers: list[_Worker] = []
        self.waiting: deque[_Pending] = deque()  # in order, until they are given out
        self.halves: list[_Pending] = []  # of chunks that were too much, to be given out first
        self.size = SMALLEST

    def results(self, source: Source, task: Any) -> Iterator[Result]:
        """The results of all chunks of ``source``, in order."""
        self.source, self.task = source, task
        try:
            while True:
                self._fill()
                while self.waiting and (found := self.waiting[0].result) is not None:
                    self.waiting.popleft()
                    yield found
                if source.ended and not self.waiting:
                    return
                self._wait()
        finally:
            for worker in self.workers:
                worker.end()
            self.workers.clear()

    def _fill(self) -> None:
        """Give every idle worker something to do."""
        idle = [worker for worker in self.workers if worker.work is None]
        while idle or len(self.workers) < self.most:
            if self.halves:
                work = self.halves.pop()
            elif (
                not self.source.pending or self.source.ended
                or len(self.waiting) >= AHEAD * self.most
            ):  # fmt: skip
                return
            elif (chunk := self.source.cut(self.size)) is None:
                continue
            else:
                self.waiting.append(work := _Pending(chunk))
            if not idle:
                worker = _Worker(self.context, self.task)
                self.workers.append(worker)
                idle.append(worker)
            idle.pop().give(work)

    def _wait(self) -> None:
        """Until a worker answers, input comes, or it is time to look at the clock."""
        import multiprocessing.connection

        busy = {worker.pipe: worker for worker in self.workers if worker.work is not None}
        sources: list[Any] = list(busy)
        source = self.source
        stream = None
        if source.wants():
            if not busy or not source.can_wait():
                source.read()
                return
            stream = source.stream
            sources.append(stream)
        for ready in multiprocessing.connection.wait(sources, PULSE):
            if ready is stream:
                source.read()
            else:
                self._answered(busy[ready])
        now = time.monotonic()
        for worker in busy.values():
            if worker.work is not None and worker.late(self.seconds, now):
                self._lost(worker, too_long(self.seconds))

    def _answered(self, worker: _Worker) -> None:
        try:
            found = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(1.0)
            self._lost(worker, ended(worker.process.exitcode))
            return
        assert worker.work is not None
        if found is None:
            return self._cut(worker)
        worker.work.result = found
        worker.work = None
        took = time.monotonic() - worker.began
        if took < SOON:
            self.size = min(2 * self.size, LARGEST)
        elif took > LATE:
            self.size = max(self.size // 2, 1)

    def _cut(self, worker: _Worker) -> None:
        """Have the halves of a chunk computed, which is too much at once."""
        work = worker.work
        assert work is not None
        low, high = (replace(work, chunk=half) for half in work.chunk.halves())
        at = self.waiting.index(work)
        self.waiting[at] = low
        self.waiting.insert(at + 1, high)
        self.halves.append(high)
        self.size = max(self.size // 2, 1)
        worker.give(low)

    def _lost(self, worker: _Worker, verdict: Verdict) -> None:
        """Replace a worker, and have its chunk computed again without the row to blame."""
        work = worker.work
        assert work is not None
        row = worker.progress.value
        worker.end()
        self.workers.remove(worker)
        if row > 0 and row not in work.poisoned:
            if verdict[0] == "E0608" or row in work.suspects:
                work.poisoned[row] = verdict
            work.suspects.add(row)
        elif row < 0 and not work.single:
            work.single = True
        else:
            work.starts += 1
            if work.starts >= STARTS:
                work.result = self.task.worker().result(work.chunk, work.chunk.each(verdict))
                return
        again = _Worker(self.context, self.task)
        self.workers.append(again)
        again.give(work)
