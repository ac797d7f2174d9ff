"""``gradcli check``: the gradient against central differences, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.cli import inputs, options, output, runner
from gradcli.cli.commands.grad import gradients
from gradcli.cli.job import Job
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms.check import numeric_jacobian

TOLERANCE = 1e-6
STEP = 1e-6


@options.command(*options.EVERYTHING)
def check(job: Job, wrt: options.Wrt = None, run_by: runner.Runner = "auto") -> None:
    """Example: gradcli check "sum(sigmoid(W @ x)**2)" --W "1,2;3,4" --x 1,-1"""
    runner.checked(run_by)
    value = job.value()
    inputs.need_scalar(value, job.program)
    found = gradients(value, [job.leaves[n] for n in job.wanted], None)
    parts: list[tuple[str, str, Any, str]] = [("value", "value", value, "")]
    worst = 0.0
    for name, g in zip(job.wanted, found, strict=True):
        function = job.function(name)
        many = run_by == "auto" and 2 * g.array.size > runner.WARM
        if many or run_by == "generated":
            function = runner.generated(job, [name], "value") or function
        numeric = numeric_jacobian(function, [job.leaves[name].detach()], 0, STEP)
        numeric = numeric.reshape(g.array.shape)
        off = np.abs(np.asarray(g.array) - numeric) / np.maximum(1.0, np.abs(numeric))
        place = np.unravel_index(int(np.argmax(off)), off.shape) if off.size else ()
        if off.size and not off[place] <= TOLERANCE:
            raise RuntimeFault(
                "E0410",
                f"d/d{name} is off at entry {tuple(map(int, place))}: "
                f"{np.asarray(g.array)[place]:.10g} by the rules, "
                f"{numeric[place]:.10g} by differences",
                help="at a kink both may be right: move the point a little",
            )
        worst = max(worst, float(off.max(initial=0.0)))
        parts.append((f"grads.{name}", f"d/d{name}", g, ""))
    worst_record = {"checked": {"step": STEP, "max_rel_error": worst}}
    if job.emit("check", parts, worst_record) == "text":
        output.write(f"agrees with central differences: worst relative difference {worst:.1e}\n")
