"""``--runner``: whether a command's expression runs on the engine or as generated code.

Generated code (``gradcli.compile``) needs its package loaded and its function traced, so of itself
a command takes it only where many evaluations follow. What cannot run that way runs on the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from gradcli.cli.arguments import no_choice
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.engine import wrap
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import LimitFault, RuntimeFault, ValueFault

Runner = Annotated[str, option("--runner", "auto (default), eager or generated.", "NAME")]
Checkpoint = Annotated[
    str | None, option("--checkpoint", "Memory of long loops: sqrt, or revolve:K states.", "HOW")
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
        said = f"--checkpoint {checkpoint}: sqrt, or revolve:K with K of 1 or more"
        raise ValueFault("E0907", said, help="--checkpoint revolve:50 keeps 50 states of a loop")
    return int(count)


class Switch(BaseException):
    """Ends a long run on the engine, where the same program is there as generated code."""


def _engine_first(
    run: Callable[[Callable[[], None]], Any], make: Callable[[], Any]
) -> tuple[Any, Any]:
    """A run on the engine, and None; where it takes thousands of steps, None and generated code.

    ``make`` makes the code, None where there can be none: the run on the engine then goes on.
    """
    made: list[Any] = []

    def long() -> None:
        made.append(make())
        if made[0] is not None:
            raise Switch

    try:
        return run(long), None
    except Switch:
        return None, made[0]


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
    if run_by == "auto":
        outcome, made = _engine_first(job.run, lambda: of_program(job, job.wanted))
        if made is None:
            return *outcome, None
    else:
        made = of_program(job, job.wanted)
    found = None if made is None else _run(job, made, job.wanted)
    return (*job.run(), None) if found is None else found


def second(job: Job, names: Sequence[str], of: str, run_by: str, few: bool = False) -> Any:
    """Generated code for second derivatives, ``of`` hessian or hvp; None to compute them eagerly.

    ``few``: whether a program without long loops is left to the engine.
    """
    if run_by == "eager" or job.fixed or not names:
        return None
    if run_by == "generated" or not (few or has_loops(job)):
        return generated(job, names, of)
    if not has_loops(job) or _speaks(job):
        return None
    return _engine_first(job.run, lambda: of_program(job, names, of))[1]


def _run(job: Job, made: Any, names: Sequence[str]) -> tuple[Any, Any, list] | None:
    """What generated code gives, as tensors."""
    try:
        found = made.run(*(job.leaves[name] for name in names))
    except LimitFault as fault:
        if fault.code == "E0602":
            fault.help = f"--checkpoint sqrt keeps less of a loop; {fault.help}"
        raise
    if found is None:
        return None
    tensors = [wrap(np.asarray(v)[()], made.dtype) for v in (found[0], *found[1])]
    return tensors[0], None, tensors[1:]


def _with_checkpoints(
    job: Job, run_by: str, plain: bool, checkpoint: int
) -> tuple[Any, Any, list | None]:
    """The same with ``--checkpoint``."""
    why: Any = "options that need the engine's graph"
    if plain and run_by != "eager" and job.wanted and not job.fixed:
        reasons: list[Any] = []
        made = of_program(job, job.wanted, checkpoint=checkpoint, reasons=reasons)
        if made is None:
            (why,) = reasons
        else:
            found = _run(job, made, job.wanted)
            if found is not None:
                return found
            why = "results that only the engine gives"
    said = "leave out --checkpoint, and --retain, --show, --cotangent and --doctor with it"
    raise not_generated(job, "--checkpoint: the program does not run as generated code", why, said)


def not_generated(job: Job, message: str, why: Any, cure: str) -> RuntimeFault:
    """The error for a program that has to run eagerly; it is marked in the text where that is
    known.

    ``why`` is what it has: a text, or the NotTraceable that says so.
    """
    fault = RuntimeFault("E0404", f"{message}: it has {why}", help=cure)
    place = getattr(why, "at", None)
    if place is not None:
        source = job.program.source
        start, end = place
        marked = start, min(end, source.line_bounds(start)[1]), "", True
        fault.source, fault.labels = source, [marked]  # type: ignore[attr-defined]
    return fault


def has_loops(job: Job) -> bool:
    """Whether a program has a loop of its own."""
    text = job.program.source.text
    if "for" not in text and "while" not in text:
        return False
    return any(isinstance(node, n.For | n.While) for node in n.walk(job.program.names.module))


def _speaks(job: Job) -> bool:
    """Whether a run may do something besides computing: it is then not tried."""
    return any(word in job.program.source.text for word in ("print", "hook"))


def of_program(
    job: Job, names: Sequence[str], of: str = "gradient", inputs: Any = None,
    checkpoint: int | None = None, reasons: list[Any] | None = None,
) -> Any:  # fmt: skip
    """A program with loops as generated code; None where it has to run eagerly.

    ``inputs`` are what it is made for: the leaves, where nothing else is said. Why there is none
    is added to ``reasons``.
    """
    from gradcli.jit.ir import NotTraceable
    from gradcli.jit.program import Generated

    given = dict(job.leaves)
    if inputs is not None:
        given.update(zip(names, inputs, strict=True))
    what = "hvp" if of == "hessian" else of
    try:
        return Generated(job.program, given, names, job.of, job.bounds, what,
                         eagerly=job.function(*names), checkpoint=checkpoint)  # fmt: skip
    except NotTraceable as why:
        if reasons is not None:
            reasons.append(why)
        return None


def generated(job: Job, names: Sequence[str], of: str = "gradient", inputs: Any = None) -> Any:
    """The expression, a function of ``names``, as generated code; None where it has to be eager.

    ``inputs`` are what it is traced with: the leaves, where nothing else is said.
    """
    if _speaks(job):
        return None
    if of in ("value", "gradient", "hessian", "hvp") and not job.fixed and has_loops(job):
        found = of_program(job, names, of, inputs)
        if found is not None:
            return found
    from gradcli.jit import compile
    from gradcli.jit.ir import NotTraceable

    compiled = compile(job.function(*names))
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


def where_long(job: Job, name: str, at: Any) -> Any:
    """Generated code of a program whose loops turn thousands of times, by one variable; else None.

    ``at`` is a value of the variable, on which the program is tried.
    """
    if job.fixed or not has_loops(job) or _speaks(job):
        return None
    return _engine_first(
        lambda long: job.result({name: at}, long), lambda: of_program(job, [name], inputs=[at])
    )[1]


def value_of(job: Job, names: Sequence[str], run_by: str) -> Callable[[], Any]:
    """The value at the leaves' entries as they are, with a graph to them; for many calls."""
    if run_by == "eager":
        return job.value
    calls = 0
    evaluate: Callable[[], Any] | None = None
    tried = job.fixed or not has_loops(job)  # whether there is no long run to be found

    def value() -> Any:
        nonlocal calls, evaluate, tried
        calls += 1
        if evaluate is None and calls <= WARM and run_by == "auto":
            if tried:
                return job.value()
            tried = True
            outcome, made = _engine_first(job.run, lambda: of_program(job, names))
            if made is None:
                return outcome[0]
            evaluate = _recorded(job, names, made)
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
