"""``gradcli jac`` and ``gradcli hess``: all first, all second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.cli import inputs, options, runner
from gradcli.cli.job import Job
from gradcli.engine import Tensor
from gradcli.transforms import hessian, jacobian


@options.command(*options.EVERYTHING)
def jac(job: Job, wrt: options.Wrt = None) -> None:
    """Example: gradcli jac "W @ x" --W "1,2;3,4" --x 1,-1 --wrt x"""
    _tables("jac", jacobian, job, "jacobians", "d/d{}")


@options.command(*options.EVERYTHING)
def hess(job: Job, wrt: options.Wrt = None, run_by: runner.Runner = "auto") -> None:
    """Example: gradcli hess "dot(x,x)**2" --x 1,2"""
    inputs.need_scalar(job.value(), job.program)
    runner.checked(run_by)

    def transform(function: Callable[..., Tensor], leaf: Tensor) -> Tensor:
        if run_by == "generated" or (run_by == "auto" and leaf.array.size >= runner.MANY):
            name = next(n for n, v in job.leaves.items() if v is leaf)
            compiled = runner.generated(job, [name], "hessian")
            if compiled is not None:
                return compiled.hessian(leaf.detach())
        return hessian(function, leaf)

    _tables("hess", transform, job, "hessians", "d2/d{}2")


def _tables(
    command: str, transform: Callable[..., Tensor], job: Job, place: str, label: str
) -> None:
    """The value, and one table of derivatives per variable."""
    parts: list[tuple[str, str, Any, str]] = [("value", "value", job.value(), "")]
    for name in job.wanted:
        table = transform(job.function(name), job.leaves[name])
        parts.append((f"{place}.{name}", label.format(name), table, ""))
    job.emit(command, parts)
