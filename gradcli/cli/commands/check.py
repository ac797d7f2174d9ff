"""``gradcli check``: the gradient against central differences, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.cli import inputs, options, output, runner
from gradcli.cli.commands.grad import gradients
from gradcli.cli.job import Job
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms.check import Slope, slope, tolerance


@options.command(*options.EVERYTHING)
def check(job: Job, wrt: options.Wrt = None, run_by: runner.Runner = "auto") -> None:
    """Example: gradcli check "sum(sigmoid(W @ x)**2)" --W "1,2;3,4" --x 1,-1"""
    runner.checked(run_by)
    value = job.value()
    inputs.need_scalar(value, job.program)
    found = gradients(value, [job.leaves[n] for n in job.wanted], None)
    parts: list[tuple[str, str, Any, str]] = [("value", "value", value, "")]
    worst, compared, notes = 0.0, 0, []
    for name, g in zip(job.wanted, found, strict=True):
        plain = job.function(name)
        many = run_by == "auto" and 2 * g.array.size > runner.WARM
        if many or run_by == "generated":
            plain = runner.generated(job, [name], "value") or plain
        parts.append((f"grads.{name}", f"d/d{name}", g, ""))
        rules = np.asarray(g.array)
        x = np.array(job.leaves[name].detach().array)
        function = _number(plain)
        for place in np.ndindex(x.shape):
            with no_grad():
                seen = slope(function, x, place)
            off = abs(float(rules[place]) - seen.value) / max(1.0, abs(seen.value))
            if seen.kind == "smooth" and off <= tolerance(x.dtype):
                worst, compared = max(worst, off), compared + 1
            else:
                notes.append(_verdict(name, place, float(rules[place]), seen))
    worst_record = {"checked": {"compared": compared, "max_rel_error": worst, "notes": notes}}
    if job.emit("check", parts, worst_record) == "text":
        said = f"agrees with central differences: worst relative difference {worst:.1e}"
        if not compared:
            said = "nothing was compared" + ("" if notes else ": there is no entry to move")
        output.write("\n".join([*notes, said]) + "\n")


def _number(function: Any) -> Any:
    return lambda x: float(as_tensor(function(as_tensor(x))).array)


def _verdict(name: str, place: tuple, rule: float, seen: Slope) -> str:
    """What is said of an entry that is not comparable. Raises RuntimeFault (E0410) for a wrong one.

    At a kink the rules take a slope between those of the two sides.
    """
    where = f"d/d{name}" + (f" at entry {tuple(map(int, place))}" if place else "")
    low, high = sorted((seen.left, seen.right))
    if seen.kind == "kink" and low - 1e-3 * abs(low) <= rule <= high + 1e-3 * abs(high):
        return (
            f"{where}: a kink, {seen.left:.6g} on the left and {seen.right:.6g} on the right; "
            f"the rules take {rule:.6g}"
        )
    said, help = f"{seen.value:.10g} by differences", "move the point a little"
    if seen.kind == "kink":
        said = f"{seen.left:.10g} on the left and {seen.right:.10g} on the right by differences"
        help = "at a kink both may be right: move the point a little"
    elif seen.kind == "jump":
        said = "differences find a jump"
    elif seen.kind == "edge":
        said = "differences find no value on one side"
    elif seen.kind == "unsettled":
        said = "differences settle at no step: it turns too fast, or has no bound"
        help = "float64, or a smaller argument, leaves more digits"
    raise RuntimeFault("E0410", f"{where} is {rule:.10g} by the rules; {said}", help=help)
