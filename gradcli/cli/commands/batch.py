"""``gradcli batch``: one expression over many rows, or jobs of any kind, one a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, BinaryIO

import typer

from gradcli.cli import inputs, options
from gradcli.cli.arguments import no_choice
from gradcli.cli.streams import standard_input
from gradcli.language.limits.sizes import OUTPUT_LIMIT
from gradcli.language.runtime.run import MAX_DEPTH, MAX_STEPS
from gradcli.ops.errors import ValueFault

Jsonl = Annotated[
    str | None,
    typer.Option("--jsonl", metavar="FILE", help="Rows as JSON objects, one a line; - is stdin."),
]
Csv = Annotated[
    str | None,
    typer.Option("--csv", metavar="FILE", help="Rows as CSV; the header names the variables."),
]
Npy = Annotated[
    str | None,
    typer.Option("--npy", metavar="FILE", help="A structured array, or a table with --columns."),
]
Npz = Annotated[
    str | None, typer.Option("--npz", metavar="FILE", help="An array for each variable, rows first")
]
Parquet = Annotated[
    str | None, typer.Option("--parquet", metavar="FILE", help="A Parquet file (needs pyarrow).")
]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="NAMES", help="Names of the columns of --npy.")
]
Jobs = Annotated[
    str | None,
    typer.Option("--jobs", metavar="FILE", help="Jobs as JSON objects, one a line: expr, vars ..."),
]
Const = Annotated[
    list[str] | None,
    typer.Option("--const", metavar="NAME=VALUE", help="The same in every row; may be repeated."),
]
Where = Annotated[
    str | None, typer.Option("--where", metavar="COND", help="Only rows for which this holds.")
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Echo this column.")]
Out = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write here (whole, by rename) instead."),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORM", help="jsonl, csv, npz, npy or parquet; by suffix."),
]
NoGrad = Annotated[bool, typer.Option("--no-grad", help="Values only.")]
Cotangent = Annotated[
    str | None,
    typer.Option("--cotangent", metavar="VALUE", help="Weights of a result with entries."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Processes (default: one a core).")
]
Executor = Annotated[
    str, typer.Option("--executor", metavar="NAME", help="processes (default), serial or dask.")
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="Of a Dask cluster; else a local one."),
]
Halt = Annotated[
    str, typer.Option("--halt", metavar="WHEN", help="Stop: never, at the first failure, or at N%.")
]
JournalFile = Annotated[
    str | None,
    typer.Option("--journal", metavar="FILE", help="Keep what is done, to go on after a kill."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on where the journal ends.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No bar and no summary.")]
ProgressKind = Annotated[
    str, typer.Option("--progress", metavar="KIND", help="auto (a bar), json or none.")
]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="S", help="Seconds allowed for a row; 0: no limit.")
]
Rng = Annotated[
    int, typer.Option("--rng", metavar="SEED", help="Seed; each row draws its own random numbers.")
]
StatusFile = Annotated[str | None, typer.Argument(metavar="[JOURNAL]", hidden=True)]

MOST_WORKERS = 256
EXECUTORS = ("processes", "serial", "dask")


def batch(
    ctx: typer.Context,
    expression: options.Expression = None,
    journal_file: StatusFile = None,
    pieces: options.Pieces = None,
    file: options.File = None,
    csv: Csv = None,
    jsonl: Jsonl = None,
    npy: Npy = None,
    npz: Npz = None,
    parquet: Parquet = None,
    columns: Columns = None,
    jobs: Jobs = None,
    out: Out = None,
    format: Format = None,
    wrt: options.Wrt = None,
    const: Const = None,
    where: Where = None,
    id: Id = None,
    no_grad: NoGrad = False,
    cotangent: Cotangent = None,
    dtype: options.DType = None,
    rng: Rng = 0,
    halt: Halt = "never",
    journal: JournalFile = None,
    resume: Resume = False,
    workers: Workers = None,
    executor: Executor = "processes",
    scheduler: Scheduler = None,
    progress: ProgressKind = "auto",
    quiet: Quiet = False,
    json: options.Json = False,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_depth: options.MaxDepth = MAX_DEPTH,
    max_output: options.MaxOutput = OUTPUT_LIMIT,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
    timeout: Timeout = 10.0,
) -> int:
    """One record per row, in order; a bad row gets an error record and harms no other.

    A CSV or an array has the columns value, d_a, d_b ...; a row that failed is NaN there, and its
    error stands in FILE.errors.jsonl. --jobs takes an expression and a command from each line.
    gradcli batch status JOURNAL tells how far a batch with a journal is.

    The exit code is 0 when every row succeeded, else 1.

    Example: gradcli batch "a*exp(-b*t)" --csv examples/decay.csv --wrt a,b
    """
    given = {"csv": csv, "jsonl": jsonl, "npy": npy, "npz": npz, "parquet": parquet, "jobs": jobs}
    named = [(form, path) for form, path in given.items() if path is not None]
    if expression == "status" and journal_file is not None and not named:
        return _status(journal_file, json)
    if journal_file is not None:
        raise ValueFault("E0907", f"{journal_file!r}: one expression is enough")
    if len(named) != 1:
        raise ValueFault(
            "E0907", "give the rows with --csv FILE or --jsonl FILE"
            if not named else f"--{named[0][0]} and --{named[1][0]} exclude each other",
            help="--npy, --npz and --parquet for arrays, --jobs for jobs",
        )  # fmt: skip
    if ctx.obj.given:
        name, value = ctx.obj.given[0]
        raise ValueFault(
            "E0902",
            f"--{name}: a batch takes its variables from the rows",
            help=f"put {name} into each row, or --const {name}={value}",
        )
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise ValueFault("E0907", f"--workers {workers}: 1 to {MOST_WORKERS}")
    if executor not in EXECUTORS:
        raise no_choice("--executor", executor, EXECUTORS)
    if scheduler is not None and executor != "dask":
        raise ValueFault("E0907", "--scheduler goes with --executor dask")
    if resume and (journal is None or out is None):
        lost = "--journal FILE" if journal is None else "-o FILE"
        raise ValueFault("E0907", f"--resume needs {lost}")
    form, path = named[0]
    assert path is not None
    chosen = inputs.set_dtype(dtype)
    limits = inputs.limits(max_steps, max_mem, max_depth, max_output)

    # multiprocessing, pyarrow and what computes are slow to load.
    from gradcli.batch import outputs
    from gradcli.batch.session import Halt as Halting
    from gradcli.batch.session import run_session
    from gradcli.batch.sources import size_of
    from gradcli.cli.progress import Progress

    stopping = Halting(halt)
    output_form = outputs.form_of(out, format)
    telling = Progress(progress, quiet)
    stream: BinaryIO | None = None
    source: Any
    if form in ("npy", "npz", "parquet"):
        from gradcli.batch.arrays import open_arrays

        source = open_arrays(form, path, _names(columns))
    else:
        from gradcli.batch.sources import LineSource

        if columns is not None:
            raise ValueFault("E0907", "--columns names the columns of --npy")
        stream = _opened(path)
        source = LineSource(stream, form, size_of(stream))
    telling.source = source
    if form == "jobs":
        task: Any = _job_task(
            {"an expression": expression or pieces or file, "--wrt": wrt, "--const": const,
             "--where": where, "--id": id, "--no-grad": no_grad or None,
             "--cotangent": cotangent},
            output_form, chosen.name, limits, rng,
        )  # fmt: skip
    else:
        from gradcli.batch.task import Task

        text, mode = inputs.read_source(expression, pieces, file)
        asked = {
            "wrt": _names(wrt),
            "grad": not no_grad,
            "cotangent": None
            if cotangent is None
            else inputs.read_flag("cotangent", cotangent, chosen),
            "dtype": chosen.name,
            "seed": rng,
            "constants": _constants(const or (), chosen),
        }
        task = Task(
            text.text, text.name, mode, form if stream is not None else "arrays", limits, asked,
            output=output_form, where=where, id=id, header=source.header,
            columns=None if stream is not None else source.columns,
        )  # fmt: skip
    worker = task.worker()  # what is wrong with the flags is said before the first row
    if stream is None:
        source.choose(worker.needed)
    log = None
    if journal is not None:
        log = _journal(journal, resume, out, form, path, stream, source, task, output_form)
    errors = None if quiet else sys.stderr.buffer
    output = outputs.open_output(
        output_form, out, worker.names, id is not None, sys.stdout.buffer, errors
    )
    sys.stdout.flush()
    chooser = _executor(executor, workers, scheduler, timeout)
    try:
        summary = run_session(
            source, task, chooser, output, journal=log, halt=stopping, progress=telling
        )
    except BaseException:
        telling.end()
        output.abandon()
        raise
    finally:
        if stream is not None and path != "-":
            stream.close()
    telling.end(summary)
    if not quiet and progress != "json":
        unit = "jobs" if form == "jobs" else "rows"
        left = f", {summary.rows - summary.records} left out" if where is not None else ""
        halted = ", halted" if summary.halted else ""
        sys.stderr.write(f"{summary.rows} {unit}{left}, {summary.failed} failed{halted}\n")
    return 1 if summary.failed else 0


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _constants(given: Sequence[str], dtype: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise ValueFault("E0907", f"--const {item}: write --const NAME=VALUE")
        if name.strip() in found:
            raise ValueFault("E0909", f"--const {name.strip()} is given twice")
        found[name.strip()] = inputs.read_flag(name.strip(), value, dtype)
    return found


def _job_task(useless: dict[str, Any], output: str, dtype: str, limits: Any, seed: int) -> Any:
    from gradcli.batch.jobs import JobTask

    for option, value in useless.items():
        if value is not None:
            raise ValueFault(
                "E0907", f"{option} does not go with --jobs", help="each job says that for itself"
            )
    if output != "jsonl":
        raise ValueFault("E0907", f"jobs give JSON lines, not {output}", help="-o FILE.jsonl")
    return JobTask(limits, dtype, seed)


def _executor(name: str, workers: int | None, scheduler: str | None, seconds: float) -> Any:
    if name == "serial":
        from gradcli.batch.session import Serial

        return Serial()
    if name == "dask":
        from gradcli.batch.cluster import Cluster

        return Cluster(scheduler, workers, seconds)
    from gradcli.batch.workers import Processes

    return Processes(workers or min(os.cpu_count() or 1, 16), seconds)


def _journal(
    journal: str, resume: bool, out: str | None, form: str, path: str, stream: BinaryIO | None,
    source: Any, task: Any, output: str,
) -> Any:  # fmt: skip
    from gradcli.batch.journal import Journal
    from gradcli.batch.sources import file_hash, size_of

    whole = stream is None or size_of(stream) > 0
    source.seal()
    deciding = {"input": file_hash(path) if whole else "", **task.deciding()}
    what = {"input": path, "form": form, "output": out, "format": output,
            "program": deciding.get("program")}  # fmt: skip
    log = Journal(journal, resume, what, deciding)
    if log.rows and not source.skip(log.rows, log.seal):
        raise ValueFault(
            "E0927", f"the journal {journal} is of another batch: the input has changed",
            help="resume with the same input, or remove the journal to start again",
        )  # fmt: skip
    return log


def _status(path: str, as_json: bool) -> int:
    from gradcli.batch.journal import status
    from gradcli.display.records import dump_json
    from gradcli.language.diagnostics.render import inert

    found = status(path)
    if as_json:
        sys.stdout.write(dump_json({"schema": 1, "ok": True, "command": "batch", **found}) + "\n")
        return 0
    said = {
        "finished": "finished", "halted": "halted at a failure; --resume goes on behind it",
        "unfinished": "unfinished; --resume goes on",
    }[found["state"]]  # fmt: skip
    lines = [("state", said)]
    for name in ("program", "input", "output"):
        if found.get(name):
            lines.append((name, inert(str(found[name]))))
    lines.append(("rows", f"{found['rows']:,}"))
    if found["records"] != found["rows"]:
        lines.append(("records", f"{found['records']:,}"))
    lines.append(("failed", f"{found['failed']:,}"))
    if found["torn"]:
        lines.append(("torn", f"{found['torn']:,} bytes at the end, to be cut off"))
    sys.stdout.write("".join(f"{name:<9}{text}\n" for name, text in lines))
    return 0


def _opened(name: str) -> BinaryIO:
    if name == "-":
        return standard_input().buffer
    try:
        return open(name, "rb")
    except OSError as problem:
        raise ValueFault("E0904", f"cannot read {name}: {problem.strerror}") from None
