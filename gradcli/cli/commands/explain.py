"""``gradcli explain``: the chain rule step by step, forward and backward."""

from __future__ import annotations

from gradcli.cli import inputs, options, output, watchdog
from gradcli.cli.job import Job
from gradcli.display.explanations import explain as explanation
from gradcli.display.explanations import need_short
from gradcli.display.graphs import graph_of, watch_gradients
from gradcli.engine.grad_mode import mode


@options.command(options.TEXT, options.VALUES, {"json": options.SHOWN["json"]}, options.LIMITS)
def explain(job: Job) -> None:
    """Example: gradcli explain "(x+1 - 2*x)^2" --x 3"""
    need_short(job.program, job.leaves)
    mode.annotate = True
    value, outcome = job.run()
    mode.annotate = False
    inputs.need_scalar(value, job.program)
    grads = None
    if value.edge is not None:
        grads = watch_gradients(value)
        value.backward(retain_graph=True)  # type: ignore[attr-defined]
    names = {**job.names, **outcome.variables}
    text = explanation(graph_of(value, names, values=True, grads=grads))
    watchdog.stop()
    if job.json:
        output.write_record("explain", lines=text.splitlines())
    else:
        output.write(text + "\n")
