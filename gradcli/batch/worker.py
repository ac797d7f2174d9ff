"""The process that evaluates rows: told what to do once, then chunk after chunk of lines.

It keeps no clock. The row it is at stands in memory that its parent reads (see ``workers``), so a
row that hangs or ends the process is known exactly, and costs only itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gradcli.batch.evaluate import Evaluator
from gradcli.batch.run import reader_for, record_line
from gradcli.language.runtime.run import Limits, prepare
from gradcli.language.syntax.source import Source
from gradcli.ops.memory_budget import hold_address_space

PART_CHARACTERS = 1 << 20
PART_SECONDS = 0.2
"""A worker sends what it has past so many characters, and once so much time has passed."""
FEW = 8
"""Who gives only so many rows at once may be waiting for each: they are answered one by one."""


class Task:
    """What every row of a batch is put through, in values that another process can be sent.

    text, name, mode   the program, as for ``prepare``
    form               ``"jsonl"`` or ``"csv"``
    limits, options    of ``Evaluator``
    """

    __slots__ = ("form", "limits", "mode", "name", "options", "text")

    def __init__(
        self, text: str, name: str, mode: str, form: str, limits: Limits, options: dict[str, Any]
    ) -> None:
        self.text, self.name, self.mode, self.form = text, name, mode, form
        self.limits = limits
        self.options = options

    def evaluator(self) -> Evaluator:
        """The evaluator. Raises what ``prepare`` and ``Evaluator`` raise."""
        program = prepare(Source(self.text, self.name), self.mode)
        return Evaluator(program, limits=self.limits, **self.options)


def serve(pipe: Any, progress: Any, task: Task, head: str | None) -> None:
    """Answer chunks ``(first number, lines)`` with lists of ``(ok, record)`` until the pipe closes.

    progress  shared memory that always holds the number of the row at work
    head      a CSV's first line
    """
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, who ends this process
    _end_with_the_parent()
    evaluator = task.evaluator()
    reader = reader_for(evaluator, task.form)
    if reader.headed:
        reader.head(head)
    hold_address_space(2 * evaluator.max_bytes + (1 << 30))
    while True:
        try:
            first, lines = pipe.recv()
            _answer(pipe, progress, first, lines, lambda *row: record_line(reader, evaluator, *row))
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


def _answer(
    pipe: Any, progress: Any, first: int, lines: list[str | None],
    compute: Callable[[int, str | None], tuple[bool, str]],
) -> None:  # fmt: skip
    """Send the records of a chunk: all at once where that is soon and little, else in parts."""
    answers: list[tuple[bool, str]] = []
    size, sent = 0, time.monotonic()
    pause = PART_SECONDS if len(lines) > FEW else 0.0
    for number, line in enumerate(lines, first):
        progress.value = number
        answers.append(compute(number, line))
        size += len(answers[-1][1])
        if size > PART_CHARACTERS or time.monotonic() - sent >= pause:
            progress.value = 0
            pipe.send(answers)
            answers, size, sent = [], 0, time.monotonic()
    progress.value = 0
    if answers:
        pipe.send(answers)
