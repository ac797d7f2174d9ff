"""How ``gradcli diff`` shows its answers: formulas with their notes, and as a JSON object."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.cli import output, watchdog
from gradcli.display.records import tensor_record
from gradcli.display.values import show_rows, show_value
from gradcli.symbolic.program.conditions import conditions_text
from gradcli.symbolic.program.let import named

WIDTH = 100
"""Notes that are longer together get a line each."""


def notes_of(result: Any) -> list[str]:
    """What was assumed, on which path the formula holds, and how it was checked."""
    notes = []
    if result.conditions:
        notes.append(conditions_text(result.conditions))
    for name, array in result.constants.items():
        in_a_line = " ".join(show_value(array, None).split()).replace("[ ", "[")
        notes.append(f"{name} = {in_a_line}")
    notes += result.kinks
    if result.assumed:
        assumed = ", ".join(f"{name} {kind}" for name, kind in result.assumed.items())
        notes.append(f"assumed: {assumed}")
    if result.checked is not None:
        points = result.checked["points"]
        where = f"{points} point" + "s" * (points != 1)
        notes.append(f"checked at {where}: {result.checked['max_rel_error']:.0e}")
        if lost := result.checked.get("loses_digits_near"):
            notes.append(f"rounding costs it digits near {', '.join(map(_short, lost))}")
    return notes


def _short(size: float) -> str:
    return f"{size:g}".replace("e-0", "e-").replace("e+0", "e")


def say(text: str, comment: str, result: Any) -> None:
    """A text for another program, what is to be known about it in comments."""
    watchdog.stop()
    output.write(text)
    for note in notes_of(result):
        output.write(f"{comment} {note}\n")


def write_json(
    result: Any, found: Mapping[str, Any] | None, looked: Mapping[str, Any] | None, job: Any
) -> None:
    """One object: the derivatives, what was assumed and checked, and what was asked besides."""
    record: dict[str, Any] = {
        "order": result.order, "derivatives": result.derivatives, "assumed": result.assumed,
        "checked": result.checked,
    }  # fmt: skip
    if job.along:
        record["along"] = job.along
    if result.conditions:
        record["conditions"] = [c.record() for c in result.conditions]
    if result.constants:
        record["constants"] = {k: tensor_record(x) for k, x in result.constants.items()}
    if found is not None:
        record["values"] = {name: tensor_record(value) for name, value in found.items()}
    if job.settled:
        record["values_of_engine"] = job.settled
    if looked is not None:
        record["zeros"] = {name: z.record() for name, z in looked.items()}
    if result.kinks:
        record["kinks"] = result.kinks
    output.write_record("diff", _warnings(result, found, job), **record)


def write_text(
    result: Any,
    found: Mapping[str, Any] | None,
    looked: Mapping[str, Any] | None,
    job: Any,
    let: bool,
    digits: Any,
) -> None:
    """Print the formulas in rows, each with its value or its zeros below, and the notes last.

    ``let`` gives parts that come up again a name; ``digits`` is the precision of values.
    """
    rows: list[tuple[str, str]] = []
    for name, formula in result.derivatives.items():
        bindings: list[tuple[str, str]] = []
        if let:
            formula, bindings = named(formula, result.declared)
        lines = [formula]
        for i, (short, meaning) in enumerate(bindings):
            lines.append(f"{'where' if not i else '     '} {short} = {meaning}")
        rows.append((job.label(name, result.order), "\n".join(lines)))
        if found is not None:
            rows.append(("  at", show_value(found[name], digits)))
        if looked is not None:
            rows.append(("  zero", _zeros_text(name, looked[name], digits)))
    output.write(show_rows(rows) + "\n")
    notes = notes_of(result)
    if job.settled:
        notes.append(
            "value by the engine, as in gradcli grad: rounding costs the formula its digits there"
        )
    if looked is not None:
        notes += sorted({z.method for z in looked.values()})
    line = "# " + "      ".join(notes)
    output.write((line if len(line) <= WIDTH else "# " + "\n# ".join(notes)) + "\n")
    for warning in _warnings(result, found, job):
        sys.stderr.write(f"warning: {warning}\n")


def _warnings(result: Any, found: Mapping[str, Any] | None, job: Any) -> list[str]:
    return [
        f"the value of {job.label(name, result.order)} is not finite"
        for name, value in (found or {}).items() if not np.isfinite(value).all()
    ]  # fmt: skip


def _zeros_text(name: str, z: Any, digits: Any) -> str:
    if z.everywhere:
        return "everywhere"
    if not z.points:
        return "nowhere"
    shown = []
    for x, exact in zip(z.points, z.exact, strict=True):
        shown.append(show_value(np.float64(x), digits) if exact is None else str(exact))
    return ", ".join(f"{name} = {x}" for x in shown)
