"""``gradcli doctor``: where the first NaN or infinity comes from, forward and backward."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gradcli.cli import options, output, watchdog
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.display.findings import record_of, text_of

Env = Annotated[bool, option("--env", "Versions and settings instead, for a bug report.")]


@options.command(
    options.TEXT, options.VALUES, {k: options.SHOWN[k] for k in ("json", "color")}, options.LIMITS,
    alone="env",
)  # fmt: skip
def doctor(job: Job, env: Env = False, json: options.Json = False) -> None:
    """Example: gradcli doctor "sum(where(x > 0, x*log(x), 0))" --x 0,1,4"""
    if env:
        from gradcli.cli.environment import report  # needed by --env alone

        if json:
            output.write_record("doctor", env=dict(report()))
            return
        rows = report()
        width = max(len(name) for name, _ in rows)
        output.write("".join(f"{name:<{width}}  {value}\n" for name, value in rows))
        return
    found = job.examine()
    healthy = not any(f.reaches for f in found)
    watchdog.stop()
    if json:
        output.write_record("doctor", healthy=healthy, findings=[record_of(f) for f in found])
    elif found:
        output.write(text_of(found, output.colour(sys.stdout)) + "\n")
    else:
        output.write("healthy: no NaN and no infinity, neither forward nor backward\n")
    if not healthy:
        raise typer.Exit(1)
