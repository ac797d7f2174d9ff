"""``gradcli eval``: the value of an expression."""

from __future__ import annotations

from gradcli.cli import options
from gradcli.cli.job import Job


@options.command(*options.EVERYTHING)
def eval(job: Job, nan: options.Nan = "warn") -> None:
    """Example: gradcli eval "norm(A @ x)" --A "1,2;3,4" --x 1,-1"""
    job.fix(())
    job.emit("eval", (), value=job.value())
