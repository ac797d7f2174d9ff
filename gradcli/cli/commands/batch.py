"""``gradcli batch``: one gradient per row of a JSONL or CSV file."""

from __future__ import annotations

import os
import sys
from typing import Annotated, BinaryIO

import typer

from gradcli.cli import inputs, options
from gradcli.cli.streams import standard_input
from gradcli.language.runtime.run import MAX_DEPTH, MAX_STEPS
from gradcli.language.runtime.text import OUTPUT_LIMIT
from gradcli.ops.errors import ValueFault

Jsonl = Annotated[
    str | None,
    typer.Option("--jsonl", metavar="FILE", help="Rows as JSON objects, one a line; - is stdin."),
]
Csv = Annotated[
    str | None,
    typer.Option("--csv", metavar="FILE", help="Rows as CSV; the header names the variables."),
]
Out = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="Write here (whole, by rename) instead.")
]
NoGrad = Annotated[bool, typer.Option("--no-grad", help="Values only.")]
Cotangent = Annotated[
    str | None,
    typer.Option("--cotangent", metavar="VALUE", help="Weights of a result with entries."),
]
Workers = Annotated[int, typer.Option("--workers", metavar="N", help="Processes that compute.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="S", help="Seconds allowed for a row; 0: no limit.")
]
Rng = Annotated[
    int, typer.Option("--rng", metavar="SEED", help="Seed; each row draws its own random numbers.")
]


def batch(
    ctx: typer.Context,
    expression: options.Expression = None,
    pieces: options.Pieces = None,
    file: options.File = None,
    jsonl: Jsonl = None,
    csv: Csv = None,
    out: Out = None,
    wrt: options.Wrt = None,
    no_grad: NoGrad = False,
    cotangent: Cotangent = None,
    dtype: options.DType = None,
    rng: Rng = 0,
    workers: Workers = 1,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_depth: options.MaxDepth = MAX_DEPTH,
    max_output: options.MaxOutput = OUTPUT_LIMIT,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
    timeout: Timeout = 10.0,
) -> int:
    """One JSON record per row, in order; a bad row gets an error record and harms no other.

    The exit code is 0 when every row succeeded, else 1.

    Example: gradcli batch "sum(a*exp(-b*t))" --csv examples/decay.csv
    """
    # multiprocessing is slow to load.
    from gradcli.batch.worker import Task
    from gradcli.batch.workers import run_batch_apart

    if (jsonl is None) == (csv is None):
        raise ValueFault("E0907", "give the rows with --jsonl FILE or --csv FILE")
    if ctx.obj.given:
        name = ctx.obj.given[0][0]
        raise ValueFault(
            "E0902",
            f"--{name}: a batch takes its variables from the rows",
            help=f"put {name} into each row",
        )
    if not 1 <= workers <= MOST_WORKERS:
        raise ValueFault("E0907", f"--workers {workers}: 1 to {MOST_WORKERS}")
    source, mode = inputs.read_source(expression, pieces, file)
    chosen = inputs.set_dtype(dtype)
    limits = inputs.limits(max_steps, max_mem, max_depth, max_output)
    asked = {
        "wrt": None if wrt is None else [name.strip() for name in wrt.split(",")],
        "grad": not no_grad,
        "cotangent": None
        if cotangent is None
        else inputs.read_flag("cotangent", cotangent, chosen),
        "dtype": chosen.name,
        "seed": rng,
    }
    form = "csv" if jsonl is None else "jsonl"
    task = Task(source.text, source.name, mode, form, limits, asked)
    with _opened(jsonl or csv or "-") as stream, _Target(out) as target:
        summary = run_batch_apart(stream, task, target, workers=workers, seconds=timeout)
        sys.stderr.write(f"{summary.rows} rows, {summary.failed} failed\n")
    return 1 if summary.failed else 0


MOST_WORKERS = 256


class _Target:
    """Standard output, or a file that appears whole once everything went well."""

    def __init__(self, out: str | None) -> None:
        self.out = out

    def __enter__(self):
        self.file = sys.stdout
        if self.out is not None:
            try:
                self.file = open(f"{self.out}.partial", "w", encoding="utf-8")
            except OSError as problem:
                raise ValueFault("E0904", f"cannot write {self.out}: {problem.strerror}") from None
        return self.file

    def __exit__(self, kind: type | None, *rest: object) -> None:
        if self.out is not None:
            self.file.close()
            if kind is None:
                os.replace(f"{self.out}.partial", self.out)


def _opened(name: str) -> BinaryIO:
    if name == "-":
        return standard_input().buffer
    try:
        return open(name, "rb")
    except OSError as problem:
        raise ValueFault("E0904", f"cannot read {name}: {problem.strerror}") from None
