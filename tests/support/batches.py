"""A batch in memory: rows as text in, the output as text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from gradcli.batch.fields import Fields
from gradcli.batch.lines import LineSource, text_of
from gradcli.batch.outputs import open_output
from gradcli.batch.readers import Reader, Row
from gradcli.batch.session import Serial, Summary, run_session
from gradcli.batch.task import Task
from gradcli.language.runtime.run import Limits


def output_of(
    program: str, text: str, form: str = "jsonl", mode: str = "line", *, executor: Any = None,
    limits: Limits | None = None, output: str = "jsonl", where: str | None = None,
    id: str | None = None, halt: Any = None, **options: Any,
) -> tuple[str, Summary]:  # fmt: skip
    """What a batch writes, and its summary."""
    source = LineSource(io.BytesIO(text.encode("utf-8", "surrogateescape")), form)
    task = Task(
        program, "<expr>", mode, form, limits or Limits(), options, output=output, where=where,
        id=id, header=source.header,
    )  # fmt: skip
    out = io.BytesIO()
    target = open_output(output, None, task.worker().names, id is not None, out)
    summary = run_session(source, task, executor or Serial(), target, halt=halt)
    return out.getvalue().decode(), summary


def read_rows(
    stream: BinaryIO, form: str = "jsonl", *, wanted: Callable[[str], bool] | None = None,
    dtype: str = "float64", max_bytes: int = 2 << 30,
) -> Iterator[Row]:  # fmt: skip
    """The rows of a stream, each as soon as it is there."""
    reader = Reader(form, Fields(wanted or (lambda name: name != "id"), dtype, max_bytes))
    source = LineSource(stream, form)
    if source.header is not None:
        reader.head(text_of(source.header))
    while not source.ended:
        if not source.pending:
            source.read()
            continue
        chunk = source.cut(1)
        for i, line in enumerate(chunk.data.split(b"\n") if chunk else ()):
            yield reader.row(chunk.first + i, text_of(line))
