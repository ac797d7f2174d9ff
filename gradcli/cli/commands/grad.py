"""``gradcli grad``: the value and its gradient by every variable."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

import gradcli.engine as engine
from gradcli.cli import inputs, options, output, runner
from gradcli.cli.job import Job
from gradcli.cli.jumps import jumps
from gradcli.cli.options import option
from gradcli.display.expression import cut_by, gradients
from gradcli.engine import Tensor
from gradcli.engine.graph.node import AccumulateGrad, collect
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.runtime.run import Outcome
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import ValueFault

Cotangent = Annotated[
    str | None, option("--cotangent", "Weights of a result with entries.", "VALUE")
]
Retain = Annotated[
    str | None, option("--retain", "Gradients of h,k or all variables too.", "NAMES")
]

Doctor = Annotated[bool, option("--doctor", "Say where a NaN or inf first comes from, both ways.")]

Show = Annotated[str | None, option("--show", "Show a,b and their gradients at the end.", "NAMES")]


@options.command(*options.EVERYTHING)
def grad(
    job: Job, wrt: options.Wrt = None, cotangent: Cotangent = None, retain: Retain = None,
    show: Show = None, nan: options.Nan = "warn", doctor: Doctor = False,
    run_by: runner.Runner = "auto", checkpoint: runner.Checkpoint = None,
) -> None:  # fmt: skip
    """Example: gradcli grad "2*dot(x,x)" --x 0,1,2,3"""
    asked = cotangent is not None or retain is not None or show is not None or doctor
    value, outcome, ready = runner.with_gradient(
        job, runner.checked(run_by), not asked, runner.states(checkpoint)
    )
    parts: list[tuple[str, str, Any, str]]
    if ready is not None:
        parts = [(f"grads.{k}", f"d/d{k}", g, "") for k, g in zip(job.wanted, ready, strict=True)]
        job.emit("grad", parts, value=value)
        return
    leaves, wanted = job.leaves, job.wanted
    own = own_leaves(outcome, leaves) if wrt is None else {}
    if any(leaf.grad is not None for leaf in own.values()):
        return _differentiated(job, value, own)
    weights = read_cotangent(cotangent, value, job.program)
    kept = kept_names(retain, outcome, leaves)
    targets = {
        **{name: leaves[name] for name in wanted}, **own,
        **{k: outcome.variables[k] for k in kept},
    }  # fmt: skip
    found = gradients(value, list(targets.values()), weights)
    if run_by == "generated" and not kept and weights is None:
        value, found = runner.gradient(job, value, found)
    parts = []
    for name, g in zip(targets, found, strict=True):
        if name in kept:
            parts.append((f"retained.{name}.value", "", targets[name], ""))
            parts.append((f"retained.{name}.grad", f"d/d{name}", g, "kept"))
        else:
            parts.append((f"grads.{name}", f"d/d{name}", g, "(leaf)" if kept else ""))
    outcome.variables.update(leaves)
    parts += shown(show, outcome)
    extra: dict[str, Any] = {}
    warnings = severed(job, value) + jumps(job, wanted, 1)
    if not doctor:
        job.emit("grad", parts, extra, warnings, value)
        return
    from gradcli.display.findings import record_of, text_of  # needed by --doctor alone

    findings = job.examine()
    extra["findings"] = [record_of(f) for f in findings]
    job.nan = "allow"  # the findings say more
    job.emit("grad", parts, extra, warnings, value)
    if findings and output.form_of(job.json, job.format) != "json":
        sys.stderr.write(text_of(findings, output.colour(sys.stderr)) + "\n")


def own_leaves(outcome: Outcome, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The leaves that the program made itself, by their names in it."""
    known = set(map(id, given.values()))
    return {
        name: value for name, value in outcome.variables.items()
        if isinstance(value, Tensor) and value.is_leaf and value.requires_grad
        and name not in given and id(value) not in known
    }  # fmt: skip


def _differentiated(job: Job, value: Tensor, own: Mapping[str, Tensor]) -> None:
    """A program that called backward() itself: the gradients that it left."""
    found = {name: leaf.grad for name, leaf in own.items() if leaf.grad is not None}
    job.emit("grad", [(f"grads.{k}", f"d/d{k}", g, "") for k, g in found.items()], value=value)


def read_cotangent(text: str | None, value: Tensor, program: Any) -> Tensor | None:
    """The weights of a result with entries; E0403 where they are needed and missing."""
    if text is None:
        inputs.need_scalar(value, program)
        if value.array.shape:
            return engine.wrap(np.ones_like(value.array), value.dtype)
        return None
    array = inputs.read_flag("cotangent", text, value.dtype)
    if array.shape != value.array.shape:
        said = f"--cotangent has shape {tuple(array.shape)}, the result {tuple(value.array.shape)}"
        raise ValueFault("E0912", said, help="a cotangent has one entry per entry of the result")
    return engine.wrap(array.astype(value.dtype.numpy)[()], value.dtype)


def kept_names(retain: str | None, outcome: Outcome, leaves: dict[str, Tensor]) -> list[str]:
    """The program's variables whose gradients ``--retain`` asks for. Raises ValueFault (E0910)."""
    if retain is None:
        return []
    recorded = [
        name for name, v in outcome.variables.items()
        if isinstance(v, Tensor) and v.grad_fn is not None and name not in leaves
    ]  # fmt: skip
    if retain == "all":
        return recorded
    names = [name.strip() for name in retain.split(",") if name.strip()]
    for name in names:
        if name not in recorded:
            names_there = f"in the graph: {', '.join(recorded)}"
            have = names_there if recorded else "no variable is in the graph"
            raise ValueFault("E0910", f"--retain {name}: no such variable in the graph", help=have)
    return names


def shown(show: str | None, outcome: Outcome) -> list[tuple[str, str, Any, str]]:
    """The variables that ``--show`` asks for, each with its gradient. Raises ValueFault (E0910)."""
    parts: list[tuple[str, str, Any, str]] = []
    for name in (k.strip() for k in (show or "").split(",") if k.strip()):
        if name not in outcome.variables:
            said = f"--show {name}: the program leaves no variable of that name"
            raise ValueFault("E0910", said, help=did_you_mean(name, outcome.variables, None))
        value = outcome.variables[name]
        tensor = value if isinstance(value, Tensor) else inputs.as_result(value)
        parts.append((f"shown.{name}.value", name, tensor, ""))
        kept = isinstance(value, Tensor) and (value.is_leaf or value.retains_grad)
        if kept and value.grad is not None:
            parts.append((f"shown.{name}.grad", f"{name}.grad", value.grad, ""))
    return parts


def severed(job: Job, value: Tensor) -> list[str]:
    """A warning for each variable that is taken off the graph by name and is not in it."""
    if job.long:
        return []
    cuts = {
        part.id: by for node in n.walk(job.program.names.module)
        if (by := cut_by(node)) not in (None, "float")  # of which the engine warns itself
        for part in n.walk(node) if isinstance(part, n.Name) and part.id in job.wanted
    }  # fmt: skip
    if not cuts:
        return []
    behind = collect([value.edge] if value.edge is not None else [])
    there = {id(node.owner()) for node in behind if isinstance(node, AccumulateGrad)}
    return [
        f"the gradient by {name} is 0: `{by}` takes it off the graph"
        for name, by in cuts.items() if id(job.leaves[name]) not in there
    ]  # fmt: skip
