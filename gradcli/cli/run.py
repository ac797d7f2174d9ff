"""``gradcli run``: execute a program; its prints are its output."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gradcli.cli import inputs, options, output
from gradcli.cli.grad import kept_names
from gradcli.engine import Tensor
from gradcli.language.run import MAX_STEPS, Outcome
from gradcli.ops.errors import ValueFault


def run(
    ctx: typer.Context,
    program_file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="The program; `-` reads standard input.")
    ] = None,
    pieces: options.Pieces = None,
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="NAMES", help="Show a,b and their gradients at the end."),
    ] = None,
    retain: Annotated[
        str | None,
        typer.Option(
            "--retain", metavar="NAMES", help="Show the gradients of h,k or all variables."
        ),
    ] = None,
    given: options.Set = None,
    vars: options.Vars = None,
    dtype: options.DType = None,
    rng: options.Rng = None,
    device: options.Device = "cpu",
    json: options.Json = False,
    precision: options.Precision = None,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
    timeout: options.Timeout = 60.0,
) -> None:
    """Example: gradcli run examples/newton.grad"""
    digits = output.read_precision(precision)
    source, mode = _program_text(program_file, pieces)
    bounds = inputs.limits(max_steps, max_mem, timeout)
    program, leaves, _ = inputs.load(source, mode, ctx.obj, given, vars, dtype, rng, device)
    write = sys.stderr.write if json else sys.stdout.write
    outcome = program.run(leaves, limits=bounds, write=write, keep=_names(retain))
    outcome.variables.update(leaves)
    parts = _shown(show, outcome)
    parts += _kept(retain, outcome, leaves)
    form = output.form_of(json, None)
    if form == "json":
        output.emit("run", form, parts, digits)
    elif parts:
        sys.stdout.flush()
        output.emit("run", form, [p for p in parts if p[2] is not None], digits)


def _program_text(file: str | None, pieces: list[str] | None) -> tuple[Any, str]:
    if file == "-":
        source, _ = inputs.read_source("-", pieces, None)
        return source, "file"
    return inputs.read_source(None, pieces, file)


def _names(text: str | None) -> frozenset[str] | None:
    """The variables whose gradients are to be kept while the program runs; None for all."""
    if text == "all":
        return None
    return frozenset(name.strip() for name in (text or "").split(",") if name.strip())


def _shown(show: str | None, outcome: Outcome) -> list[tuple[str, str, Any, str]]:
    parts: list[tuple[str, str, Any, str]] = []
    for name in (n.strip() for n in (show or "").split(",") if n.strip()):
        if name not in outcome.variables:
            from gradcli.language.diagnostics import closest

            near = closest(name, outcome.variables)
            raise ValueFault(
                "E0910", f"--show {name}: the program leaves no variable of that name",
                help=f"did you mean {near}?" if near else None,
            )  # fmt: skip
        value = outcome.variables[name]
        tensor = value if isinstance(value, Tensor) else inputs.as_result(value)
        parts.append((f"shown.{name}.value", name, tensor, ""))
        if isinstance(value, Tensor) and value.grad is not None:
            parts.append((f"shown.{name}.grad", f"{name}.grad", value.grad, ""))
    return parts


def _kept(
    retain: str | None, outcome: Outcome, leaves: dict[str, Tensor]
) -> list[tuple[str, str, Any, str]]:
    parts: list[tuple[str, str, Any, str]] = []
    for name in kept_names(retain, outcome, leaves):
        value = outcome.variables[name]
        if value.grad is None:
            if retain == "all":
                continue
            raise ValueFault(
                "E0910", f"--retain {name}: backward() did not reach it",
                help="the program has to call backward() on something computed from it",
            )  # fmt: skip
        parts.append((f"retained.{name}.value", name, value, ""))
        parts.append((f"retained.{name}.grad", f"{name}.grad", value.grad, ""))
    return parts
