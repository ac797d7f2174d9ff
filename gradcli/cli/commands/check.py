"""``gradcli check``: the gradient against central differences, entry by entry.

``--against`` holds a gradient that was worked out by hand against both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer

from gradcli.cli import inputs, options, output, runner, watchdog
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.display.expression import gradients
from gradcli.display.values import show_value
from gradcli.display.verdict import Entries

Against = Annotated[
    list[str] | None,
    option("--against", "Your own gradient: 4*x, or x=4*x for each variable.", "GRADIENT"),
]
AgainstFile = Annotated[
    str | None, option("--against-file", "The same from .csv, .npy, .json, .grad.", "FILE")
]


@options.command(*options.EVERYTHING)
def check(
    job: Job, wrt: options.Wrt = None, against: Against = None, against_file: AgainstFile = None,
    run_by: runner.Runner = "auto",
) -> None:  # fmt: skip
    """Example: gradcli check "sum(sigmoid(W @ x)**2)" --W "1,2;3,4" --x 1,-1"""
    runner.checked(run_by)
    value = job.value()
    inputs.need_scalar(value, job.program)
    found = gradients(value, [job.leaves[n] for n in job.wanted], None)
    given = _given(job, against, against_file)
    parts = [(f"grads.{n}", f"d/d{n}", g, "") for n, g in zip(job.wanted, found, strict=True)]

    def plain(name: str) -> Callable[..., Any]:
        many = run_by == "auto" and 2 * job.leaves[name].array.size > runner.WARM
        code = runner.generated(job, [name], "value") if many or run_by == "generated" else None
        return code or job.function(name)

    seen = Entries(job, value, plain)
    seen.examine(found, watchdog.share_of_time(0.5))
    record: dict[str, Any] = {
        "checked": {
            "compared": seen.compared + seen.stepped, "max_rel_error": seen.worst,
            "notes": seen.notes, "also": seen.also,
        }
    }  # fmt: skip
    findings = []
    if given is not None:
        from gradcli.cli.against.comparison import compare
        from gradcli.cli.against.report import lines_of, record_of
        from gradcli.display.records import tensor_record

        right = {n: np.asarray(g.array) for n, g in zip(job.wanted, found, strict=True)}
        findings = compare(job, right, given[0], given[1], seen.kinks)
        record["against"] = {
            f.name: record_of(f, lambda a: tensor_record(a, str(a.dtype))) for f in findings
        }
    if job.emit("check", parts, record, value=value) == "text":
        said = f"agrees with central differences: worst relative difference {seen.worst:.1e}"
        if seen.small:
            slopes = f"{seen.small} slope{'s are' if seen.small > 1 else ' is'} too small for"
            none = f"nothing was compared: {slopes} central differences"
            said = f"{said}; {slopes} them" if seen.compared else none
        elif seen.stepped and not seen.compared:
            said = "agrees with complex steps"
        elif not seen.compared:
            said = "nothing was compared" + ("" if seen.notes else ": there is no entry to move")
        if seen.also:
            said += f"\nalso: {', '.join(seen.also)}"
        lines = [*seen.notes, said]
        for finding in findings:
            lines += lines_of(finding, lambda v: show_value(v, job.digits))
        output.write("\n".join(lines) + "\n")
    if not all(finding.agrees for finding in findings):
        raise typer.Exit(1)


def _given(job: Job, against: list[str] | None, file: str | None) -> Any:
    """The gradients to hold against: formulas and arrays by variable; None for none."""
    if not against and file is None:
        return None
    from gradcli.cli.against.given import formulas, from_file  # needed by --against alone

    texts = formulas(job, against or ())
    more, arrays = ({}, {}) if file is None else from_file(job, file)
    texts = {**more, **texts}
    return texts, {name: array for name, array in arrays.items() if name not in texts}
