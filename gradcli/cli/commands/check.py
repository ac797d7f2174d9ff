"""``gradcli check``: the gradient against central differences, entry by entry.

``--against`` holds a gradient that was worked out by hand against both.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from gradcli.cli import inputs, options, output, runner
from gradcli.cli.agreements import agreements
from gradcli.cli.commands.grad import gradients
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.display.values import show_value
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import no_grad
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms.check import Slope, slope, tolerance

Against = Annotated[
    list[str] | None,
    option("--against", "Your own gradient: 4*x, or x=4*x for each variable.", "GRADIENT"),
]
AgainstFile = Annotated[
    str | None, option("--against-file", "The same from .csv, .npy, .json, .grad.", "FILE")
]


@options.command(*options.EVERYTHING)
def check(
    job: Job,
    wrt: options.Wrt = None,
    against: Against = None,
    against_file: AgainstFile = None,
    run_by: runner.Runner = "auto",
) -> None:
    """Example: gradcli check "sum(sigmoid(W @ x)**2)" --W "1,2;3,4" --x 1,-1"""
    runner.checked(run_by)
    value = job.value()
    inputs.need_scalar(value, job.program)
    found = gradients(value, [job.leaves[n] for n in job.wanted], None)
    given = _given(job, against, against_file)
    parts: list[tuple[str, str, Any, str]] = [("value", "value", value, "")]
    worst, compared, notes = 0.0, 0, []
    kinks: dict[str, dict[tuple[int, ...], tuple[float, float]]] = {}
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
                sides = sorted((seen.left, seen.right))
                kinks.setdefault(name, {})[place] = (sides[0], sides[1])
    also = {} if notes or not compared or job.long else agreements(job, found)
    record: dict[str, Any] = {
        "checked": {"compared": compared, "max_rel_error": worst, "notes": notes, "also": also}
    }
    findings = []
    if given is not None:
        from gradcli.cli.against import compare, lines_of, record_of
        from gradcli.display.records import tensor_record

        right = {n: np.asarray(g.array) for n, g in zip(job.wanted, found, strict=True)}
        findings = compare(job, right, given[0], given[1], kinks)
        record["against"] = {
            f.name: record_of(f, lambda a: tensor_record(a, str(a.dtype))) for f in findings
        }
    if job.emit("check", parts, record) == "text":
        said = f"agrees with central differences: worst relative difference {worst:.1e}"
        if not compared:
            said = "nothing was compared" + ("" if notes else ": there is no entry to move")
        if also:
            said += f"\nalso: {', '.join(also)}"
        lines = [*notes, said]
        for finding in findings:
            lines += lines_of(finding, lambda v: show_value(v, job.digits))
        output.write("\n".join(lines) + "\n")
    if not all(finding.agrees for finding in findings):
        raise typer.Exit(1)


def _given(job: Job, against: list[str] | None, file: str | None) -> Any:
    """The gradients to hold against: formulas and arrays by variable; None for none."""
    if not against and file is None:
        return None
    from gradcli.cli.against import formulas, from_file  # needed by --against alone

    texts = formulas(job, against or ())
    arrays: dict[str, Any] = {}
    if file is not None:
        more, arrays = from_file(job, file)
        texts = {**more, **texts}
        arrays = {name: array for name, array in arrays.items() if name not in texts}
    return texts, arrays


def _number(function: Any) -> Any:
    return lambda x: as_tensor(function(as_tensor(x))).item()


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
    elif seen.kind == "unsettled" or abs(rule - seen.value) <= seen.doubt * abs(seen.value):
        said = "differences settle at no step: it turns too fast, or has no bound"
        help = "float64, or a smaller argument, leaves more digits"
    raise RuntimeFault("E0410", f"{where} is {rule:.10g} by the rules; {said}", help=help)
