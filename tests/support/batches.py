"""A batch in memory: rows as text in, the output as text."""

from __future__ import annotations

import io
from typing import Any

from gradcli.batch.outputs import open_output
from gradcli.batch.session import Serial, Summary, run_session
from gradcli.batch.sources import LineSource
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
