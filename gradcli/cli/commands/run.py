"""``gradcli run``: execute a program; its prints are its output."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gradcli.cli import options, output, watchdog
from gradcli.cli.commands.grad import Show, kept_names, shown
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.engine import Tensor
from gradcli.language.runtime.run import Outcome
from gradcli.ops.errors import ValueFault

_FILE = typer.Argument(metavar="FILE", help="The program; `-` reads standard input.")
PROGRAM: options.Group = {
    "file": (Annotated[str | None, _FILE], None), "pieces": options.TEXT["pieces"],
}  # fmt: skip
Retain = Annotated[
    str | None, option("--retain", "Show the gradients of h,k or all variables.", "NAMES")
]

Trace = Annotated[bool, option("--trace", "Show each statement that runs, with shapes and values.")]


@options.command(PROGRAM, options.VALUES, options.SHOWN, options.LIMITS)
def run(job: Job, show: Show = None, retain: Retain = None, trace: Trace = False) -> None:
    """Example: gradcli run examples/newton.grad"""
    write = output.inert_writer(sys.stderr if job.json else sys.stdout)
    outcome = job.program.run(
        job.leaves, limits=job.bounds, write=write, keep=_names(retain),
        trace=output.inert_writer(sys.stderr) if trace else None,
    )  # fmt: skip
    outcome.variables.update(job.leaves)
    parts = shown(show, outcome)
    labels = {label for _, label, _, _ in parts}
    for place, label, value, note in _kept(retain, outcome, job.leaves):
        parts.append((place, "" if label in labels else label, value, note))
    watchdog.stop()
    sys.stdout.flush()
    if parts or job.json:
        job.emit("run", parts)


def _names(text: str | None) -> frozenset[str] | None:
    """The variables whose gradients are to be kept while the program runs; None for all."""
    if text == "all":
        return None
    return frozenset(name.strip() for name in (text or "").split(",") if name.strip())


def _kept(
    retain: str | None, outcome: Outcome, leaves: dict[str, Tensor]
) -> list[tuple[str, str, Any, str]]:
    parts: list[tuple[str, str, Any, str]] = []
    for name in kept_names(retain, outcome, leaves):
        value = outcome.variables[name]
        if value.grad is None:
            if retain == "all":
                continue
            mend = "the program has to call backward() on something computed from it"
            raise ValueFault("E0910", f"--retain {name}: backward() did not reach it", help=mend)
        parts.append((f"retained.{name}.value", name, value, ""))
        parts.append((f"retained.{name}.grad", f"{name}.grad", value.grad, ""))
    return parts
