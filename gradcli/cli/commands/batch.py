"""``gradcli batch``: one expression over many rows, or jobs of any kind, one a line."""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import combinations
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from gradcli import __version__
from gradcli.cli import inputs, options
from gradcli.cli.arguments import assigned, no_choice
from gradcli.cli.options import entry
from gradcli.cli.output import write_record
from gradcli.cli.streams import opened, standard_input, unwritable
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import ValueFault

MOST_WORKERS = 256
EXECUTORS = ("processes", "serial", "dask")
LINES = ("csv", "jsonl", "jobs")
ARRAYS = ("npy", "npz", "parquet")
OF_ROWS = ("wrt", "const", "where", "id", "no_grad", "cotangent")
"""Flags of rows, which a job states for itself."""

OPTIONS: options.Group = {
    "expression": options.TEXT["expression"],
    "journal_file": (Annotated[str | None, typer.Argument(metavar="[JOURNAL]", hidden=True)], None),
    "pieces": options.TEXT["pieces"],
    "file": options.TEXT["file"],
    "csv": entry("--csv", "Rows as CSV; the header names the variables.", "FILE"),
    "jsonl": entry("--jsonl", "Rows as JSON objects, one a line; - is stdin.", "FILE"),
    "npy": entry("--npy", "A structured array, or a table with --columns.", "FILE"),
    "npz": entry("--npz", "An array for each variable, rows first", "FILE"),
    "parquet": entry("--parquet", "A Parquet file (needs pyarrow).", "FILE"),
    "columns": entry("--columns", "Names of the columns of --npy.", "NAMES"),
    "jobs": entry("--jobs", "Jobs as JSON objects, one a line: expr, vars ...", "FILE"),
    "out": entry("--out", "Write here, whole at the end; - is stdout.", "FILE", also="-o"),
    "format": entry("--format", "jsonl, csv, npz, npy or parquet; by suffix.", "FORM"),
    "wrt": (options.Wrt, None),
    "const": entry(
        "--const", "The same in every row; may be repeated.", "NAME=VALUE", kind=list[str]
    ),
    "where": entry("--where", "Only rows for which this holds.", "COND"),
    "id": entry("--id", "Echo this column.", "COLUMN"),
    "no_grad": entry("--no-grad", "Values only.", default=False),
    "cotangent": entry("--cotangent", "Weights of a result with entries.", "VALUE"),
    "dtype": options.VALUES["dtype"],
    "rng": entry("--rng", "Seed; each row draws its own random numbers.", "SEED", 0),
    "halt": entry("--halt", "Stop: never, at the first failure, or at N%.", "WHEN", "never"),
    "journal": entry("--journal", "Keep what is done; on disk within 1 s.", "FILE"),
    "resume": entry("--resume", "Go on where the journal ends.", default=False),
    "workers": entry("--workers", "Processes (default: one a core).", "N", kind=int),
    "executor": entry("--executor", "processes (default), serial or dask.", "NAME", "processes"),
    "scheduler": entry("--scheduler", "Of a Dask cluster; else a local one.", "ADDRESS"),
    "progress": entry("--progress", "auto (a bar), json or none.", "KIND", "auto"),
    "quiet": entry("--quiet", "No bar and no summary.", default=False),
    "json": options.SHOWN["json"],
    "color": options.SHOWN["color"],
    **options.LIMITS,
    "timeout": entry("--timeout", "Seconds allowed for a row; 0: no limit.", "S", 10.0),
}


@options.taking(OPTIONS)
def batch(ctx: typer.Context, **given: Any) -> int:
    """One record per row, in order; a bad row gets an error record and harms no other.

    A CSV or an array has the columns value, d_a, d_b ...; a row that failed is NaN there, and its
    error stands in FILE.errors.jsonl. --jobs takes an expression and a command from each line.
    A named pipe is waited for, however long, until its writers have come and gone.

    --journal FILE keeps what is done; the disk is told to keep it once a second. After a kill, a
    full disk or a loss of power the same command with --resume goes on, and writes what an unbroken
    run would have written. gradcli batch status JOURNAL tells how far it is.

    The exit code is 0 when every row succeeded, 1 when one failed, 2 for wrong flags.

    Example: gradcli batch "a*exp(-b*t)" --csv examples/decay.csv --wrt a,b
    """
    asked = SimpleNamespace(ctx=ctx, **given)
    if asked.expression == "status" and not _rows(asked):
        return _status(asked.journal_file, asked.json)
    _check(asked)
    source = _source(asked)
    try:
        return _run(asked, source, _task(asked, source))
    finally:
        if asked.form in LINES and asked.path != "-":
            source.stream.close()


def _rows(asked: Any) -> list[tuple[str, str]]:
    """Where rows are asked for: form and path."""
    found = [(form, getattr(asked, form)) for form in (*LINES, *ARRAYS)]
    return [(form, path) for form, path in found if path is not None]


def _check(asked: Any) -> None:
    """Raises ValueFault (E0907 mostly) for flags that do not go together; notes ``form`` and
    ``path`` of the rows."""
    rows = _rows(asked)
    asked.out = None if asked.out in ("-", "/dev/stdout") else asked.out
    if asked.journal_file is not None:
        raise ValueFault("E0907", f"{asked.journal_file!r}: one expression is enough")
    if len(rows) != 1:
        said = "give the rows with --csv FILE or --jsonl FILE"
        said = f"--{rows[0][0]} and --{rows[1][0]} exclude each other" if rows else said
        mend = "--npy, --npz and --parquet for arrays, --jobs for jobs"
        raise ValueFault("E0907", said, help=mend)
    if asked.ctx.obj.given:
        name, value = asked.ctx.obj.given[0]
        mend = f"put {name} into each row, or --const {name}={value}"
        raise ValueFault("E0902", f"--{name}: a batch takes its variables from the rows", help=mend)
    if asked.workers is not None and not 1 <= asked.workers <= MOST_WORKERS:
        raise ValueFault("E0907", f"--workers {asked.workers}: 1 to {MOST_WORKERS}")
    if asked.executor not in EXECUTORS:
        raise no_choice("--executor", asked.executor, EXECUTORS)
    if asked.scheduler is not None and asked.executor != "dask":
        raise ValueFault("E0907", "--scheduler goes with --executor dask")
    if asked.resume and (asked.journal is None or asked.out is None):
        lost = "--journal FILE" if asked.journal is None else "-o FILE"
        raise ValueFault("E0907", f"--resume needs {lost}")
    if asked.columns is not None and asked.npy is None:
        raise ValueFault("E0907", "--columns names the columns of --npy")
    if asked.no_grad and (asked.wrt is not None or asked.cotangent is not None):
        raise ValueFault("E0907", "--no-grad excludes --wrt and --cotangent")
    asked.form, asked.path = rows[0]
    places = {"the rows": asked.path, "the output": asked.out, "the journal": asked.journal,
              "the errors": asked.out and f"{asked.out}.errors.jsonl"}  # fmt: skip
    for (one, path), (two, other) in combinations(places.items(), 2):
        if path and other and os.path.realpath(path) == os.path.realpath(other) and (
            os.path.isfile(path) or not os.path.exists(path)
        ):  # fmt: skip
            raise ValueFault("E0907", f"{one} and {two} are one file: {other}")


def _source(asked: Any) -> Any:
    """Where the rows come from. Raises ValueFault for what cannot be read."""
    if asked.form in ARRAYS:
        from gradcli.batch.arrays import open_arrays

        columns = _names("--columns", asked.columns)
        return open_arrays(asked.form, asked.path, columns, inputs.read_size(asked.max_mem))
    from gradcli.batch.lines import LineSource

    try:
        given = asked.path != "-"
        stream = opened(asked.path) if given else standard_input().buffer
    except OSError as problem:
        raise ValueFault("E0904", f"cannot read {asked.path}: {problem.strerror}") from None
    return LineSource(stream, asked.form)


def _task(asked: Any, source: Any) -> Any:
    """What every row is put through. Raises Fault for an expression that is none."""
    from gradcli.batch.outputs import form_of

    limits = inputs.limits(asked.max_steps, asked.max_mem, asked.max_depth, asked.max_output)
    output = form_of(asked.out, asked.format)
    if asked.form == "jobs":
        from gradcli.batch.jobs import JobTask

        for name in ("expression", "pieces", "file", *OF_ROWS):
            if getattr(asked, name):
                option = f"--{name.replace('_', '-')}" if name in OF_ROWS else "an expression"
                mend = "each job says that for itself"
                raise ValueFault("E0907", f"{option} does not go with --jobs", help=mend)
        if output != "jsonl":
            raise ValueFault("E0907", f"jobs give JSON lines, not {output}", help="-o FILE.jsonl")
        return JobTask(limits, asked.dtype and inputs.set_dtype(asked.dtype).name, asked.rng)
    from gradcli.batch.task import Task

    text, mode = inputs.read_source(asked.expression, asked.pieces, asked.file)
    dtype = inputs.set_dtype(asked.dtype, prepare(text, mode))
    constants = inputs.read_flags(assigned("--const", asked.const or ()), dtype, limits.memory)
    given = {} if asked.cotangent is None else {"cotangent": asked.cotangent}
    weights = inputs.read_flags(given, dtype, limits.memory, constants)
    options = {
        "wrt": _names("--wrt", asked.wrt), "grad": not asked.no_grad,
        "cotangent": weights.get("cotangent"), "dtype": dtype.name, "seed": asked.rng,
        "constants": constants,
    }  # fmt: skip
    arrays = asked.form in ARRAYS
    return Task(
        text.text, text.name, mode, "arrays" if arrays else asked.form, limits, options,
        output=output, where=asked.where, id=asked.id, header=source.header,
        columns=source.columns if arrays else None,
    )  # fmt: skip


def _run(asked: Any, source: Any, task: Any) -> int:
    """Compute and write everything; the exit code."""
    from gradcli.batch.outputs import open_output
    from gradcli.batch.session import Halt, run_session

    halt = Halt(asked.halt)
    telling = Progress(asked.progress, asked.quiet, source)
    executor = _executor(asked)
    worker = task.worker()  # what is wrong with the flags is said before the first row
    if asked.form in ARRAYS:
        source.choose(worker.needed)
    log = None if asked.journal is None else _journal(asked, source, task)
    errors = None if asked.quiet else sys.stderr.buffer
    output = open_output(
        task.output, asked.out, worker.names, asked.id is not None, sys.stdout.buffer, errors
    )
    sys.stdout.flush()
    try:
        summary = run_session(
            source, task, executor, output, journal=log, halt=halt, progress=telling
        )
    except BaseException as problem:
        telling.end()
        output.abandon()
        if log is not None:
            log.file.close()
        if log is not None and isinstance(problem, OSError):
            fault = unwritable(problem)
            fault.help = "make room; the same command with --resume goes on"
            raise fault from None
        raise
    telling.end(summary)
    if not asked.quiet and asked.progress != "json":
        unit = ("job" if asked.form == "jobs" else "row") + "s" * (summary.rows != 1)
        left = f", {summary.rows - summary.records:,} left out" if asked.where is not None else ""
        halted = ", halted" if summary.halted else ""
        sys.stderr.write(f"{summary.rows:,} {unit}{left}, {summary.failed:,} failed{halted}\n")
    return 1 if summary.failed else 0


def _names(flag: str, text: str | None) -> list[str] | None:
    return None if text is None else inputs.names_in(flag, text)


def _executor(asked: Any) -> Any:
    seconds = inputs.read_seconds(asked.timeout)
    if asked.executor == "serial":
        from gradcli.batch.session import Serial

        return Serial(seconds)
    if asked.executor == "dask":
        from gradcli.batch.cluster import Cluster

        return Cluster(asked.scheduler, asked.workers, seconds)
    from gradcli.batch.workers import Processes

    return Processes(asked.workers or min(os.cpu_count() or 1, 16), seconds)


def _journal(asked: Any, source: Any, task: Any) -> Any:
    """The journal; ``source`` stands behind what it holds. Raises ValueFault (E0927)."""
    from gradcli.batch.journal import Journal
    from gradcli.batch.lines import file_hash

    source.seal()
    deciding = {"input": file_hash(asked.path) if os.path.isfile(asked.path) else "",
                "version": __version__, **task.deciding()}  # fmt: skip
    what = {"input": asked.path, "form": asked.form, "output": asked.out, "format": task.output,
            "program": deciding.get("program")}  # fmt: skip
    log = Journal(asked.journal, asked.resume, what, deciding)
    if log.rows and not source.skip(log.rows, log.seal):
        said = f"the journal {asked.journal} is of another batch: the input has changed"
        mend = "resume with the same input, or remove the journal to start again"
        raise ValueFault("E0927", said, help=mend)
    return log


def _status(path: str | None, as_json: bool) -> int:
    """``gradcli batch status JOURNAL``."""
    if path is None:
        raise ValueFault("E0907", "gradcli batch status needs a JOURNAL")
    from gradcli.batch.journal import status
    from gradcli.language.diagnostics.render import inert

    found = status(path)
    if as_json:
        write_record("batch", None, **found)
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


# ---- How far it is, on standard error ------------------------------------------------------------


KINDS = ("auto", "json", "none")
AFTER = 1.0
"""Seconds until the bar appears, and between two lines of JSON."""


class Progress:
    """Tells how far a batch is; called with its summary after each block.

    kind    auto, json or none. Raises ValueFault (E0907) for another
    source  where the rows come from: knows the share that was read
    """

    def __init__(self, kind: str, quiet: bool, source: Any = None) -> None:
        if kind not in KINDS:
            raise no_choice("--progress", kind, KINDS)
        self.json = kind == "json"
        self.bar = kind == "auto" and not quiet and sys.stderr.isatty()
        self.source = source
        self.began = time.monotonic()
        self.said = self.began
        self._shown: Any = None
        self._task: Any = None

    def __call__(self, summary: Any) -> None:
        now = time.monotonic()
        if self.json and now - self.said >= AFTER:
            self.said = now
            self._line(summary, False)
        if self.bar and now - self.began >= AFTER:
            self._draw(summary)

    def _draw(self, summary: Any) -> None:
        if self._shown is None:
            from rich.console import Console  # only where a batch takes long
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._shown = Bar(
                TextColumn("{task.fields[rows]} rows"), BarColumn(),
                TextColumn("{task.fields[rate]} rows/s"), TimeRemainingColumn(),
                TextColumn("{task.fields[failed]}"),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._task = self._shown.add_task("", total=None, rows="", rate="", failed="")
            self._shown.start()
        done = self.source.done
        self._shown.update(
            self._task, total=1.0 if done else None, completed=done, rows=f"{summary.rows:,}",
            rate=f"{self._rate(summary):,.0f}",
            failed=f"{summary.failed:,} failed" if summary.failed else "",
        )  # fmt: skip

    def _rate(self, summary: Any) -> float:
        return summary.rows / max(time.monotonic() - self.began, 1e-9)

    def _line(self, summary: Any, finished: bool) -> None:
        record = {
            "rows": summary.rows, "records": summary.records, "failed": summary.failed,
            "done": 1.0 if finished else round(self.source.done, 4),
            "seconds": round(time.monotonic() - self.began, 3),
            "rate": round(self._rate(summary), 1), "finished": finished,
        }  # fmt: skip
        sys.stderr.write(json.dumps(record) + "\n")
        sys.stderr.flush()

    def end(self, summary: Any = None) -> None:
        """Remove the bar; the last line of JSON where the batch ended by itself."""
        if self._shown is not None:
            self._shown.stop()
            self._shown = None
        if self.json and summary is not None:
            self._line(summary, True)
