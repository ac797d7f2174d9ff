"""``gradcli eval``: the value of an expression."""

from __future__ import annotations

import numpy as np

from gradcli.cli import options
from gradcli.cli.job import Job
from gradcli.cli.output import array_of


@options.command(*options.EVERYTHING)
def eval(job: Job, nan: options.Nan = "warn") -> None:
    """Example: gradcli eval "norm(A @ x)" --A "1,2;3,4" --x 1,-1"""
    job.fix(())
    value = job.value()
    finite = np.isfinite(array_of(value)).all()
    warnings = job.unusual([] if finite else ["the value is not finite"])
    job.emit("eval", [("value", "value", value, "")], None, warnings)
