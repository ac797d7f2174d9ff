"""``gradcli eval``: the value of an expression."""

from __future__ import annotations

from gradcli.cli import options
from gradcli.cli.inputs import Job


@options.command(*options.EVERYTHING)
def eval(job: Job) -> None:
    """Example: gradcli eval "norm(A @ x)" --A "1,2;3,4" --x 1,-1"""
    job.emit("eval", [("value", "value", job.value(), "")])
