"""``gradcli eval``: the value of an expression."""

from __future__ import annotations

import typer

from gradcli.cli import inputs, options, output
from gradcli.language.run import MAX_STEPS


def eval(
    ctx: typer.Context,
    expression: options.Expression = None,
    pieces: options.Pieces = None,
    file: options.File = None,
    of: options.Of = None,
    given: options.Set = None,
    vars: options.Vars = None,
    dtype: options.DType = None,
    rng: options.Rng = None,
    device: options.Device = "cpu",
    json: options.Json = False,
    format: options.Format = None,
    precision: options.Precision = None,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
    timeout: options.Timeout = 60.0,
) -> None:
    """Example: gradcli eval "norm(A @ x)" --A "1,2;3,4" --x 1,-1"""
    digits = output.read_precision(precision)
    source, mode = inputs.read_source(expression, pieces, file)
    bounds = inputs.limits(max_steps, max_mem, timeout)
    program, leaves, _ = inputs.load(
        source, mode, ctx.obj, given, vars, dtype, rng, device, differentiate=mode == "file"
    )
    value, _ = inputs.execute(program, leaves, bounds, of)
    form = output.form_of(json, format)
    output.emit("eval", form, [("value", "value", value, "")], digits)
