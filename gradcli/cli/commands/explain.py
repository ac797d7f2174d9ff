"""``gradcli explain``: the chain rule step by step, forward and backward."""

from __future__ import annotations

from gradcli.cli import options, output, watchdog
from gradcli.cli.job import Job
from gradcli.display.explanations import explain as explanation
from gradcli.display.explanations import need_short


@options.command(options.TEXT, options.VALUES, {"json": options.SHOWN["json"]}, options.LIMITS)
def explain(job: Job) -> None:
    """Example: gradcli explain "(x+1 - 2*x)^2" --x 3"""
    need_short(job.program, job.leaves)
    text = explanation(job.graph(values=True, scalar=True))
    watchdog.stop()
    if job.json:
        output.write_record("explain", lines=text.splitlines())
    else:
        output.write(text + "\n")
