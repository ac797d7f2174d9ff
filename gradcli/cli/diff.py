"""``gradcli diff``: the closed form of a derivative, checked before it is printed."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from gradcli.cli import inputs, options, output, watchdog
from gradcli.display.values import show_rows, show_value
from gradcli.engine import dtypes
from gradcli.language.run import prepare

_KINDS = ("scalar", "vector", "matrix")


def diff(
    ctx: typer.Context,
    expression: options.Expression = None,
    pieces: options.Pieces = None,
    file: options.File = None,
    wrt: options.Wrt = None,
    order: Annotated[int, typer.Option("--order", metavar="N", help="Differentiate N times.")] = 1,
    given: options.Set = None,
    json: options.Json = False,
    precision: options.Precision = None,
    color: options.Color = "auto",
    timeout: options.Timeout = 60.0,
) -> None:
    """A variable is declared by its shape: scalar, vector, vector:n, matrix, matrix:n,m, with
    symmetric, spd or positive after it. A value declares its shape, and the formula is evaluated at
    it. What is not declared is inferred and told.

    Example: gradcli diff "x.T @ A @ x" --x vector --A matrix --wrt x
    """
    from gradcli.symbolic import Declaration
    from gradcli.symbolic import diff as closed_form

    digits = output.read_precision(precision)
    source, mode = inputs.read_source(expression, pieces, file)
    watchdog.start(timeout)
    program = prepare(source, mode)
    declared: dict[str, str | Declaration] = {}
    values: dict[str, Any] = {}
    for name, text in inputs.given_texts(program, ctx.obj, given).items():
        if text.split(":")[0].split()[:1] and text.split(":")[0].split()[0] in _KINDS:
            declared[name] = text
        else:
            values[name] = inputs.read_flag(name, text, dtypes.float64)
            declared[name] = Declaration.of_shape(np.shape(values[name]))
    result = closed_form(program, wrt, order=order, declared=declared)
    known = {name for name in program.checked.outer if name in values}
    found = result.evaluate(**values) if known and known >= set(program.free) else None
    by_name = found if isinstance(found, dict) else dict.fromkeys(result.derivatives, found)
    watchdog.stop()
    if json:
        from gradcli.display.records import dump_json, tensor_record

        record: dict[str, Any] = {
            "schema": 1, "ok": True, "command": "diff", "derivatives": result.derivatives,
            "assumed": result.assumed, "checked": result.checked, "warnings": [],
        }  # fmt: skip
        if found is not None:
            record["values"] = {name: tensor_record(value) for name, value in by_name.items()}
        output.write(dump_json(record) + "\n")
        return
    rows = [(_label(name, order), formula) for name, formula in result.derivatives.items()]
    if found is not None:
        rows += [("  at", show_value(by_name[name], digits)) for name in result.derivatives]
    output.write(show_rows(rows) + "\n")
    notes = []
    if result.assumed:
        notes.append(
            "assumed: " + ", ".join(f"{name} {kind}" for name, kind in result.assumed.items())
        )
    if result.checked is not None:
        worst = result.checked["max_rel_error"]
        notes.append(f"checked at {result.checked['points']} points: {worst:.0e}")
    output.write("# " + "      ".join(notes) + "\n")


def _label(name: str, order: int) -> str:
    """``d/dx``, ``d2/dx2``, ``d2/dxdy``."""
    if order == 1:
        return f"d/d{name}"
    names = name.split(",")
    below = f"d{name}{order}" if len(names) == 1 else "".join(f"d{n}" for n in names)
    return f"d{order}/{below}"
