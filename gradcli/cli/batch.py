"""``gradcli batch``: one gradient per row of a JSONL or CSV file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, BinaryIO

import typer

from gradcli.cli import inputs, options
from gradcli.language.run import MAX_STEPS, Limits, prepare
from gradcli.ops.errors import ValueFault


def batch(
    ctx: typer.Context,
    expression: options.Expression = None,
    pieces: options.Pieces = None,
    file: options.File = None,
    jsonl: Annotated[
        str | None,
        typer.Option(
            "--jsonl", metavar="FILE", help="Rows as JSON objects, one a line; - is stdin."
        ),
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option("--csv", metavar="FILE", help="Rows as CSV; the header names the variables."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Write here (whole, by rename) instead."),
    ] = None,
    wrt: options.Wrt = None,
    no_grad: Annotated[bool, typer.Option("--no-grad", help="Values only.")] = False,
    cotangent: Annotated[
        str | None,
        typer.Option("--cotangent", metavar="VALUE", help="Weights of a result with entries."),
    ] = None,
    dtype: options.DType = None,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
) -> int:
    """One JSON record per row, in order; a bad row gets an error record and harms no other.

    The exit code is 0 when every row succeeded, else 1.

    Example: gradcli batch "sum(a*exp(-b*t))" --csv examples/decay.csv
    """
    from gradcli.batch.evaluate import Evaluator
    from gradcli.batch.run import run_batch
    from gradcli.batch.writers import json_lines

    if (jsonl is None) == (csv is None):
        raise ValueFault("E0907", "give the rows with --jsonl FILE or --csv FILE")
    if ctx.obj.given:
        name = ctx.obj.given[0][0]
        raise ValueFault(
            "E0902",
            f"--{name}: a batch takes its variables from the rows",
            help=f"put {name} into each row",
        )
    source, mode = inputs.read_source(expression, pieces, file)
    chosen = inputs.set_dtype(dtype)
    evaluator = Evaluator(
        prepare(source, mode),
        wrt=None if wrt is None else [name.strip() for name in wrt.split(",")],
        grad=not no_grad,
        cotangent=None if cotangent is None else inputs.read_flag("cotangent", cotangent, chosen),
        dtype=chosen.name,
        limits=Limits(max_steps, inputs.read_size(max_mem)),
    )
    form = "csv" if jsonl is None else "jsonl"

    def work(stream: BinaryIO, target: Callable[[str], object]) -> int:
        from gradcli.batch.readers import text_stream

        summary = run_batch(text_stream(stream), evaluator, json_lines(_Writer(target)), form=form)
        sys.stderr.write(f"{summary.rows} rows, {summary.failed} failed\n")
        return 1 if summary.failed else 0

    with _opened(jsonl or csv or "-") as stream:
        if out is None:
            return work(stream, sys.stdout.write)
        partial = f"{out}.partial"
        with open(partial, "w", encoding="utf-8") as target:
            code = work(stream, target.write)
        os.replace(partial, out)
        return code


class _Writer:
    """The one method of a text stream that the record writer needs."""

    __slots__ = ("write",)

    def __init__(self, write: Callable[[str], object]) -> None:
        self.write = write


def _opened(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return open(name, "rb")
    except OSError as problem:
        raise ValueFault("E0904", f"cannot read {name}: {problem.strerror}") from None
