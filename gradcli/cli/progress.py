"""How far a batch is, on standard error: a bar on a terminal, JSON lines for a program, or nothing.

The bar appears where standard error is a terminal and the work has lasted over a second.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from gradcli.cli.arguments import no_choice

KINDS = ("auto", "json", "none")
AFTER = 1.0
"""Seconds until the bar appears, and between two lines of JSON."""


class Progress:
    """Tells how far a batch is; called with its summary after each block.

    kind    auto, json or none. Raises ValueFault (E0907) for another
    source  where the rows come from: knows the share that was read
    """

    def __init__(self, kind: str, quiet: bool, source: Any = None) -> None:
        if kind not in KINDS:
            raise no_choice("--progress", kind, KINDS)
        self.json = kind == "json"
        self.bar = kind == "auto" and not quiet and sys.stderr.isatty()
        self.source = source
        self.began = time.monotonic()
        self.said = self.began
        self._shown: Any = None
        self._task: Any = None

    def __call__(self, summary: Any) -> None:
        now = time.monotonic()
        if self.json and now - self.said >= AFTER:
            self.said = now
            self._line(summary, False)
        if self.bar and now - self.began >= AFTER:
            self._draw(summary)

    def _draw(self, summary: Any) -> None:
        if self._shown is None:
            from rich.console import Console  # only where a batch takes long
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._shown = Bar(
                TextColumn("{task.fields[rows]} rows"), BarColumn(),
                TextColumn("{task.fields[rate]} rows/s"), TimeRemainingColumn(),
                TextColumn("{task.fields[failed]}"),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._task = self._shown.add_task("", total=None, rows="", rate="", failed="")
            self._shown.start()
        done = self.source.done
        self._shown.update(
            self._task, total=1.0 if done else None, completed=done, rows=f"{summary.rows:,}",
            rate=f"{self._rate(summary):,.0f}",
            failed=f"{summary.failed:,} failed" if summary.failed else "",
        )  # fmt: skip

    def _rate(self, summary: Any) -> float:
        return summary.rows / max(time.monotonic() - self.began, 1e-9)

    def _line(self, summary: Any, finished: bool) -> None:
        record = {
            "rows": summary.rows, "records": summary.records, "failed": summary.failed,
            "done": 1.0 if finished else round(self.source.done, 4),
            "seconds": round(time.monotonic() - self.began, 3),
            "rate": round(self._rate(summary), 1), "finished": finished,
        }  # fmt: skip
        sys.stderr.write(json.dumps(record) + "\n")
        sys.stderr.flush()

    def end(self, summary: Any = None) -> None:
        """Remove the bar; the last line of JSON where the batch ended by itself."""
        if self._shown is not None:
            self._shown.stop()
            self._shown = None
        if self.json and summary is not None:
            self._line(summary, True)
