"""``gradcli doctor``: where the first NaN or infinity comes from, forward and backward."""

from __future__ import annotations

import sys

import typer

from gradcli.cli import options, output, watchdog
from gradcli.cli.job import Job
from gradcli.display.findings import record_of, text_of
from gradcli.display.records import dump_json


@options.command(
    options.TEXT, options.VALUES, {k: options.SHOWN[k] for k in ("json", "color")}, options.LIMITS
)
def doctor(job: Job) -> None:
    """Example: gradcli doctor "sum(where(x > 0, x*log(x), 0))" --x 0,1,4"""
    found = job.examine()
    healthy = not any(f.reaches for f in found)
    watchdog.stop()
    if job.json:
        record = {
            "schema": 1, "ok": True, "command": "doctor", "healthy": healthy,
            "findings": [record_of(f) for f in found], "warnings": [],
        }  # fmt: skip
        output.write(dump_json(record) + "\n")
    elif found:
        output.write(text_of(found, output.colour(sys.stdout)) + "\n")
    else:
        output.write("healthy: no NaN and no infinity, neither forward nor backward\n")
    if not healthy:
        raise typer.Exit(1)
