"""What runs where rows are computed, and the errors of a row that hangs or ends its process.

``serve`` is a process of ours: told what to do once, then chunk after chunk. It keeps no clock.
What it is at stands in memory that its parent reads (see ``workers``): the number of a row, or -1
for rows together. So a row that hangs or ends the process is known exactly, and costs only itself.
``by_the_clock`` is for a process that nobody watches.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

from gradcli.batch.chunk import Chunk, Crowded
from gradcli.batch.encode import Result
from gradcli.batch.task import Verdict
from gradcli.ops.errors import LimitFault
from gradcli.ops.memory_budget import hold_address_space, look

BETWEEN_LOOKS = 0.1
"""The most seconds between two looks at the memory."""


def serve(pipe: Any, progress: Any, task: Any) -> None:
    """Answer ``(chunk, poisoned, single)`` with its result, or None where it is to be cut, until
    the pipe closes.

    progress  shared memory that always holds the number of the row at work
    task      has ``worker()``, which gives what computes
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, who ends this process
    _end_with_the_parent()
    worker = task.worker()

    def watch(row: int) -> None:
        progress.value = row

    hold_address_space(2 * worker.max_bytes + (1 << 30))
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda *_: _look_again(worker.max_bytes))
        signal.setitimer(signal.ITIMER_REAL, BETWEEN_LOOKS)
    while True:
        try:
            chunk, poisoned, single = pipe.recv()
            progress.value = -1
            found = worker.result(chunk, poisoned, single, watch)
            progress.value = 0
            pipe.send(found)
        except Crowded:
            progress.value = 0
            pipe.send(None)
        except (EOFError, BrokenPipeError, ConnectionError):
            return
        except (MemoryError, LimitFault):
            os._exit(1)  # the parent has the memory to say so


def _look_again(allowed: int) -> None:
    """Look at a row that may hold so many bytes; the next look is a pause after the end of this."""
    pause = BETWEEN_LOOKS
    try:
        pause = min(pause, look(allowed))
    finally:
        signal.setitimer(signal.ITIMER_REAL, pause)


def _end_with_the_parent() -> None:
    """No row outlives the command: where the parent was killed, nobody else keeps the clock."""
    from multiprocessing.connection import wait
    from multiprocessing.process import parent_process

    parent: Any = parent_process()

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def by_the_clock(worker: Any, chunk: Chunk, seconds: float) -> Result:
    """The result; a row at work for longer than ``seconds`` (0: no limit) is broken off, and gets
    its error. What a row calls in C is not broken off before it returns."""
    if not seconds:
        return worker.result(chunk)
    import ctypes

    poisoned: dict[int, Verdict] = {}
    own = threading.get_ident()
    while True:
        at = _AtWork()

        def keep(at: _AtWork = at) -> None:
            while not at.done.wait(min(0.05, seconds / 4)):
                with at.lock:
                    late = time.monotonic() - at.since > seconds
                    if late and at.row > 0 and not at.done.is_set():
                        at.late = at.row
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(
                            ctypes.c_ulong(own), ctypes.py_object(_Late)
                        )
                        return

        threading.Thread(target=keep, daemon=True).start()
        try:
            found = worker.result(chunk, poisoned, False, at)
            with at.lock:
                at.done.set()
            if not at.late:
                return found
        except _Late:
            pass
        finally:
            at.done.set()
        poisoned[at.late] = too_long(seconds)


class _AtWork:
    """The row at work, since when, and which one was late."""

    def __init__(self) -> None:
        self.row, self.since, self.late = 0, time.monotonic(), 0
        self.done = threading.Event()
        self.lock = threading.Lock()

    def __call__(self, row: int) -> None:
        self.since, self.row = time.monotonic(), row


class _Late(BaseException):
    """A row that is broken off; no handler of ``Exception`` takes it for a row's own error."""


def too_long(seconds: float) -> Verdict:
    """The error of a row that passed its time."""
    said = f"the row took longer than {seconds:g} s"
    return "E0608", said, "--timeout SECONDS raises the limit"


def ended(code: int | None) -> Verdict:
    """The error of a row that ended its process."""
    why = f" (signal {-code})" if code is not None and code < 0 else ""
    return (
        "E0610", f"the process that computed the row ended{why}",
        "mostly the memory ran out: a smaller --max-mem refuses the row in time",
    )  # fmt: skip
