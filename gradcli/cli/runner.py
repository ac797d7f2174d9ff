"""``--runner``: whether a command's expression runs on the engine or as generated code.

Generated code (``gradcli.compile``) needs its package loaded and its function traced, so of itself
a command takes it only where many evaluations follow. What cannot run that way runs on the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from gradcli.cli.arguments import no_choice
from gradcli.cli.job import Job
from gradcli.engine import dtypes, wrap
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import RuntimeFault, ValueFault

Runner = Annotated[
    str, typer.Option("--runner", metavar="NAME", help="auto (default), eager or generated.")
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint", metavar="HOW", help="Memory of long loops: sqrt, or revolve:K states."
    ),
]
RUNNERS = ("auto", "eager", "generated")
WARM = 50
"""Evaluations on the engine before ``auto`` turns to generated code."""
MANY = 256
"""Entries of a variable from which ``auto`` generates its Hessian."""


def checked(runner: str) -> str:
    """``runner``, one of the names. Raises ValueFault (E0907)."""
    if runner not in RUNNERS:
        raise no_choice("--runner", runner, RUNNERS)
    return runner


def states(checkpoint: str | None) -> int | None:
    """How many states ``--checkpoint`` keeps; 0 stands for sqrt. Raises ValueFault (E0907)."""
    if checkpoint is None or checkpoint == "sqrt":
        return None if checkpoint is None else 0
    name, _, count = checkpoint.partition(":")
    if name != "revolve" or not (count.isascii() and count.isdigit()) or not 0 < int(count) < 1e6:
        raise ValueFault(
            "E0907", f"--checkpoint {checkpoint}: sqrt, or revolve:K with K of 1 or more",
            help="--checkpoint revolve:50 keeps 50 states of a loop",
        )  # fmt: skip
    return int(count)


class Switch(BaseException):
    """Ends a long run on the engine, where the same program is there as generated code."""


def with_gradient(
    job: Job, run_by: str, plain: bool, checkpoint: int | None = None
) -> tuple[Any, Any, list | None]:
    """The value, what the run left, and the gradients where generated code has given them.

    A run on the engine that takes thousands of steps is given up for generated code where that can
    do the same. ``plain``: whether nothing is asked for but the value and its gradient.
    """
    if checkpoint is not None:
        return _with_checkpoints(job, run_by, plain, checkpoint)
    if not plain or run_by == "eager" or not job.wanted or job.fixed or not has_loops(job):
        return *job.run(), None
    made: list[Any] = []

    def long() -> None:
        made.append(_or_none(of_program, job, job.wanted))
        if made[0] is not None:
            raise Switch

    if run_by == "auto":
        try:
            return *job.run(long), None
        except Switch:
            pass
    else:
        made.append(_or_none(of_program, job, job.wanted))
    found = None if made[0] is None else _run(job, made[0], job.wanted)
    return (*job.run(), None) if found is None else found


def product(job: Job, along: Mapping[str, Any], run_by: str) -> tuple[Any, list] | None:
    """The value, and the Hessian times a direction; None where the engine has to compute them."""
    names = list(along)
    if run_by == "eager" or job.fixed:
        return None
    ways = [t.array for t in along.values()]
    if not has_loops(job):
        compiled = generated(job, names, "hvp") if run_by == "generated" else None
        if compiled is None:
            return None
        value, found = compiled.hvp(
            [job.leaves[name].detach() for name in names], list(along.values())
        )
        return value, list(found)
    made: list[Any] = []

    def long() -> None:
        made.append(_or_none(of_program, job, names, None, ways))
        if made[0] is not None:
            raise Switch

    if run_by == "auto":
        try:
            job.run(long)
            return None
        except Switch:
            pass
    else:
        made.append(_or_none(of_program, job, names, None, ways))
    found = None if made[0] is None else _run(job, made[0], names)
    return None if found is None else (found[0], found[2])


def _run(job: Job, made: Any, names: Sequence[str]) -> tuple[Any, Any, list] | None:
    """What generated code gives, as tensors."""
    found = made.run(*(job.leaves[name] for name in names))
    if found is None:
        return None
    tensors = [wrap(np.asarray(v)[()], dtypes.float64) for v in (found[0], *found[1])]
    return tensors[0], None, tensors[1:]


def _with_checkpoints(
    job: Job, run_by: str, plain: bool, checkpoint: int
) -> tuple[Any, Any, list | None]:
    """The same with ``--checkpoint``."""
    why = "the engine keeps every value"
    if plain and run_by != "eager" and job.wanted and not job.fixed:
        from gradcli.jit.ir import NotTraceable

        try:
            made = of_program(job, job.wanted, checkpoint)
        except NotTraceable as reason:
            why = f"it has {reason}"
        else:
            found = _run(job, made, job.wanted)
            if found is not None:
                return found
            why = "it has results that only the engine gives"
    raise RuntimeFault(
        "E0404", f"--checkpoint: the program does not run as generated code: {why}",
        help="leave out --checkpoint, and --retain, --show, --cotangent and --doctor with it",
    )  # fmt: skip


def has_loops(job: Job) -> bool:
    """Whether a program has a loop of its own."""
    text = job.program.source.text
    if "for" not in text and "while" not in text:
        return False
    return any(isinstance(node, n.For | n.While) for node in n.walk(job.program.checked.module))


def of_program(
    job: Job, names: Sequence[str], checkpoint: int | None = None, along: Any = None
) -> Any:
    """A program with loops as generated code. Raises NotTraceable where it has to run eagerly."""
    from gradcli.jit.program import Generated

    def function(*values: Any) -> Any:
        return job.result(dict(zip(names, values, strict=True)))

    return Generated(
        job.program,
        job.leaves,
        names,
        job.of,
        job.bounds,
        eagerly=function,
        checkpoint=checkpoint,
        along=along,
    )


def _or_none(make: Callable[..., Any], *args: Any) -> Any:
    from gradcli.jit.ir import NotTraceable

    try:
        return make(*args)
    except NotTraceable:
        return None


def generated(job: Job, names: Sequence[str], of: str = "gradient", inputs: Any = None) -> Any:
    """The expression, a function of ``names``, as generated code; None where it has to be eager.

    ``inputs`` are what it is traced with: the leaves, where nothing else is said.
    """
    if any(word in job.program.source.text for word in ("print", "hook")):
        return None
    if of == "gradient" and not job.fixed and has_loops(job):
        found = _or_none(of_program, job, names)
        if found is not None:
            return found
    from gradcli.jit import compile
    from gradcli.jit.ir import NotTraceable

    def function(*values: Any) -> Any:
        return job.result(dict(zip(names, values, strict=True)))

    compiled = compile(function)
    try:
        given = [job.leaves[name].detach() for name in names] if inputs is None else inputs
        compiled.code(*given, of=of)
    except NotTraceable:
        return None
    return compiled


def gradient(job: Job, value: Any, found: list) -> tuple[Any, list]:
    """The value and the gradients by generated code; those given where there is none."""
    compiled = generated(job, job.wanted)
    if compiled is None:
        return value, found
    value, grads = compiled.value_and_grad(*(job.leaves[name].detach() for name in job.wanted))
    return value, list(grads)


def value_of(job: Job, names: Sequence[str], run_by: str) -> Callable[[], Any]:
    """The value at the leaves' entries as they are, with a graph to them; for many calls."""
    if run_by == "eager":
        return job.value
    calls = 0
    evaluate: Callable[[], Any] | None = None
    loops = not job.fixed and has_loops(job)
    made: list[Any] = []

    def long() -> None:
        made.append(_or_none(of_program, job, names))
        if made[0] is not None:
            raise Switch

    def value() -> Any:
        nonlocal calls, evaluate
        calls += 1
        if evaluate is None and calls <= WARM and run_by == "auto":
            if not loops or made:
                return job.value()
            try:
                return job.run(long)[0]
            except Switch:
                evaluate = _recorded(job, names, made[0])
        if evaluate is None:
            compiled = generated(job, names)
            evaluate = job.value if compiled is None else _recorded(job, names, compiled)
        return evaluate()

    return value


def _recorded(job: Job, names: Sequence[str], compiled: Any) -> Callable[[], Any]:
    """The generated value as one node of the graph, which knows its gradients already."""
    from gradcli.engine.custom_function.function import Function

    class Generated(Function):
        @staticmethod
        def forward(ctx: Any, *leaves: Any) -> Any:
            value, ctx.gradients = compiled.value_and_grad(*(leaf.detach() for leaf in leaves))
            return value

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return tuple(g * found for found in ctx.gradients)

    moved = [job.leaves[name] for name in names]
    return lambda: Generated.apply(*moved)
