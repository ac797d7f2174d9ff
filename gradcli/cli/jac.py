"""``gradcli jac`` and ``gradcli hess``: all first, all second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from gradcli.cli import inputs, options
from gradcli.engine import Tensor
from gradcli.language.run import MAX_STEPS
from gradcli.transforms import hessian, jacobian


def jac(
    ctx: typer.Context,
    expression: options.Expression = None,
    pieces: options.Pieces = None,
    file: options.File = None,
    of: options.Of = None,
    wrt: options.Wrt = None,
    given: options.Set = None,
    vars: options.Vars = None,
    dtype: options.DType = None,
    rng: options.Rng = None,
    device: options.Device = "cpu",
    json: options.Json = False,
    format: options.Format = None,
    precision: options.Precision = None,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
    timeout: options.Timeout = 60.0,
) -> None:
    """Example: gradcli jac "W @ x" --W "1,2;3,4" --x 1,-1 --wrt x"""
    _tables("jac", jacobian, ctx, locals())


def hess(
    ctx: typer.Context,
    expression: options.Expression = None,
    pieces: options.Pieces = None,
    file: options.File = None,
    of: options.Of = None,
    wrt: options.Wrt = None,
    given: options.Set = None,
    vars: options.Vars = None,
    dtype: options.DType = None,
    rng: options.Rng = None,
    device: options.Device = "cpu",
    json: options.Json = False,
    format: options.Format = None,
    precision: options.Precision = None,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
    timeout: options.Timeout = 60.0,
) -> None:
    """Example: gradcli hess "dot(x,x)**2" --x 1,2"""
    _tables("hess", hessian, ctx, locals())


def _tables(
    command: str, transform: Callable[..., Tensor], ctx: typer.Context, asked: dict[str, Any]
) -> None:
    """Evaluate, and one table of derivatives per variable."""
    job = inputs.Job(ctx.obj, asked)
    value = job.value()
    if command == "hess":
        inputs.need_scalar(value, job.program)
    parts: list[tuple[str, str, Any, str]] = [("value", "value", value.detach(), "")]
    label = "d2/d{}2" if command == "hess" else "d/d{}"
    place = "hessians" if command == "hess" else "jacobians"
    for name in job.wanted:
        table = transform(job.function(name), job.leaves[name])
        parts.append((f"{place}.{name}", label.format(name), table, ""))
    job.emit(command, parts)
