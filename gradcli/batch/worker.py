"""The process that evaluates rows: told what to do once, then chunk after chunk.

It keeps no clock. What it is at stands in memory that its parent reads (see ``workers``): the
number of a row, or -1 for rows together. So a row that hangs or ends the process is known exactly,
and costs only itself.
"""

from __future__ import annotations

from typing import Any

from gradcli.ops.memory_budget import hold_address_space


def serve(pipe: Any, progress: Any, task: Any) -> None:
    """Answer ``(chunk, poisoned, single)`` with its result until the pipe closes.

    progress  shared memory that always holds the number of the row at work
    task      has ``worker()``, which gives what computes
    """
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, who ends this process
    _end_with_the_parent()
    worker = task.worker()

    def watch(row: int) -> None:
        progress.value = row

    hold_address_space(2 * worker.evaluator.max_bytes + (1 << 30))
    while True:
        try:
            chunk, poisoned, single = pipe.recv()
            progress.value = -1
            found = worker.result(chunk, poisoned, single, watch)
            progress.value = 0
            pipe.send(found)
        except (EOFError, BrokenPipeError, ConnectionError):
            return


def _end_with_the_parent() -> None:
    """No row outlives the command: where the parent was killed, nobody else keeps the clock."""
    import os
    import threading
    from multiprocessing.connection import wait
    from multiprocessing.process import parent_process

    parent = parent_process()
    if parent is None:
        return  # not a worker's process: a test calls serve itself

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
