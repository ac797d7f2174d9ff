"""``gradcli graph``: the recorded graph as text, Graphviz, JSON or for TensorBoard."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from gradcli.cli import options, output, watchdog
from gradcli.cli.arguments import no_choice
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.display import graphs
from gradcli.language.diagnostics.render import inert
from gradcli.ops.errors import RuntimeFault, ValueFault

FORMS = ("text", "dot", "json", "ir")

Form = Annotated[str | None, option("--format", "text, dot, json or ir.")]
Folder = Annotated[
    str | None, option("--tensorboard", "Write an event file for TensorBoard here.", "DIR")
]


Values = Annotated[bool, option("--values", "Show each node's value and gradient.")]


@options.command(*options.EVERYTHING)
def graph(
    job: Job, values: Values = False, format: Form = None, tensorboard: Folder = None
) -> None:
    """Example: gradcli graph "2*dot(x,x)" --x 0,1,2,3 --values"""
    form = format or ("json" if job.json else "text")
    if form not in FORMS:
        raise no_choice("--format", form, FORMS)
    if form == "ir":
        output.write(_program(job))
        return
    made = job.graph(values)
    watchdog.stop()
    if tensorboard is not None:
        _write(made, tensorboard)
        return
    if form == "json":
        output.write_record("graph", graph=graphs.to_json(made))
    else:
        text = graphs.to_dot(made) if form == "dot" else graphs.to_text(made)
        output.write(text if text.endswith("\n") else text + "\n")


def _program(job: Job) -> str:
    """The value and its gradient as generated code has them: a line for each operator."""
    from gradcli.cli import runner

    of = "gradient" if job.wanted and not job.value().shape else "value"
    names = job.wanted if of == "gradient" else list(job.leaves)
    compiled = runner.generated(job, names, of)
    if compiled is None:
        reasons: list[Any] = []
        compiled = runner.of_program(job, names, of, reasons=reasons)
        if compiled is None:
            said = "gradcli graph without --format ir shows what ran"
            raise runner.not_generated(job, "no program of operators", reasons[0], said)
    named = ", ".join(f"x{i} = {name}" for i, name in enumerate(names))
    given = [job.leaves[name].detach() for name in names]
    return f"# {named}\n{compiled.ir(*given, of=of)}\n"


def _write(made: Any, folder: str) -> None:
    from gradcli.display.tensorboard import write_graph  # loads TensorBoard

    try:
        write_graph(made, folder)
    except ImportError:
        said = "--tensorboard needs the tensorboard package, which is not installed"
        raise RuntimeFault("E0905", said, help="pip install gradcli[tensorboard]") from None
    except OSError as problem:
        raise ValueFault("E0904", f"cannot write {folder}: {problem.strerror}") from None
    said = f"{len(made)} nodes written; show them with: tensorboard --logdir {inert(folder)}\n"
    sys.stderr.write(said)
