"""``gradcli doctor``: where the first NaN or infinity comes from, forward and backward."""

from __future__ import annotations

import sys
from typing import Any

import typer

from gradcli.cli import options, output, watchdog
from gradcli.cli.job import Job
from gradcli.display.findings import Diagnosis, examine
from gradcli.language.diagnostics.render import Diagnostic


@options.command(
    options.TEXT, options.VALUES, {k: options.SHOWN[k] for k in ("json", "color")}, options.LIMITS
)
def doctor(job: Job) -> None:
    """Example: gradcli doctor "sum(where(x > 0, x*log(x), 0))" --x 0,1,4"""
    found = search(job)
    healthy = not any(f.reaches for f in found)
    watchdog.stop()
    if job.json:
        from gradcli.display.records import dump_json

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


def search(job: Job) -> list[Diagnosis]:
    """What ``examine`` finds, on the random numbers of the job's own run."""
    job.redraw()
    return examine(job.program, job.leaves, job.bounds, job.of)


def text_of(found: list[Diagnosis], colour: bool = False) -> str:
    """The diagnoses one below the other."""
    return "\n\n".join(Diagnostic.of(f).render(colour) for f in found)


def record_of(said: Diagnosis) -> dict[str, Any]:
    """A diagnosis for ``--json``: error object, pass, and what is known of the operation."""
    record = Diagnostic.of(said).to_json()
    record["pass"] = "backward" if said.backward else "forward"
    record["reaches_result"] = said.reaches
    record["value"] = said.value
    finding = said.finding
    if finding is not None:
        operands = [v if isinstance(v, int | float) else None for v in finding.operands]
        record |= {
            "operator": finding.operator, "index": list(finding.index), "operands": operands,
            "count": finding.count, "size": finding.size,
        }  # fmt: skip
    return record


def warning(job: Job, problem: str) -> str:
    """``problem`` with the operation that it comes from, in one line."""
    found = search(job)
    if not found:
        return problem
    first = cause(found)
    line, column = first.source.place(first.labels[0][0]) if first.labels else (0, 0)
    place = f" (line {line}, column {column})" if line else ""
    return f"{problem}: {first.message}{place}"


def cause(found: list[Diagnosis]) -> Diagnosis:
    """The diagnosis to name where there is room for one: one that reaches the result."""
    return next((f for f in found if f.reaches), found[0])
