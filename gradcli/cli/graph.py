"""``gradcli graph``: the recorded graph as text, Graphviz or JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from gradcli.cli import inputs, options, output
from gradcli.language.run import MAX_STEPS
from gradcli.ops.errors import ValueFault

FORMS = ("text", "dot", "json")


def graph(
    ctx: typer.Context,
    expression: options.Expression = None,
    pieces: options.Pieces = None,
    file: options.File = None,
    of: options.Of = None,
    values: Annotated[
        bool, typer.Option("--values", help="Show each node's value and gradient.")
    ] = False,
    given: options.Set = None,
    vars: options.Vars = None,
    dtype: options.DType = None,
    rng: options.Rng = None,
    device: options.Device = "cpu",
    json: options.Json = False,
    format: Annotated[str | None, typer.Option("--format", help="text, dot or json.")] = None,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
    timeout: options.Timeout = 60.0,
) -> None:
    """Example: gradcli graph "2*dot(x,x)" --x 0,1,2,3 --values"""
    from gradcli.display import graphs

    form = format or ("json" if json else "text")
    if form not in FORMS:
        raise ValueFault(
            "E0907", f"--format {form}: no such form", help=f"one of {', '.join(FORMS)}"
        )
    job = inputs.Job(ctx.obj, {**locals(), "format": None})
    value, outcome = inputs.execute(job.program, job.leaves, job.bounds, of)
    names = {**job.leaves, **outcome.variables}
    grads = None
    if values and value.edge is not None and value.array.size == 1:
        watched = graphs.watch_gradients(value)
        value.backward(retain_graph=True)
        grads = watched
    made = graphs.graph_of(value, names, values=values, grads=grads)
    output.form_of(False, None)
    if form == "json":
        from gradcli.display.records import dump_json

        record = {
            "schema": 1,
            "ok": True,
            "command": "graph",
            "graph": graphs.to_json(made),
            "warnings": [],
        }
        output.write(dump_json(record) + "\n")
    else:
        text = graphs.to_dot(made) if form == "dot" else graphs.to_text(made)
        output.write(text if text.endswith("\n") else text + "\n")
