"""``gradcli jac`` and ``gradcli hess``: all first, all second derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.cli import inputs, options, runner
from gradcli.cli.job import Job
from gradcli.cli.jumps import jumps
from gradcli.display.values import of_complex_result
from gradcli.engine import Tensor
from gradcli.engine.creation.factories import zeros_like
from gradcli.ops.errors import RuntimeFault
from gradcli.transforms import jacobian
from gradcli.transforms.functional import hessian


@options.command(*options.EVERYTHING)
def jac(
    job: Job, wrt: options.Wrt = None, nan: options.Nan = "warn", run_by: runner.Runner = "auto"
) -> None:
    """Example: gradcli jac "W @ x" --W "1,2;3,4" --x 1,-1 --wrt x"""
    names = job.wanted
    leaves = [job.leaves[name] for name in names]
    compiled = None
    few = sum(leaf.array.size for leaf in leaves) < runner.MANY
    if runner.checked(run_by) == "generated" or (run_by == "auto" and not few):
        compiled = runner.generated(job, names, "jacobian") if names else None
    if compiled is None:
        tables = jacobian(job.function(*names), leaves) if names else ()
    else:
        tables = compiled.jacobian(*(leaf.detach() for leaf in leaves))
        tables = (tables,) if len(names) == 1 else tables
    value = job.value()
    parts = [
        (f"jacobians.{n}", f"d/d{n}", table, "") for n, table in zip(names, tables, strict=True)
    ]
    warnings = jumps(job, names, 1)
    if value.dtype.is_complex:
        warnings += [of_complex_result(n, job.leaves[n].dtype.is_complex) for n in names]
    job.emit("jac", parts, None, warnings, value)


@options.command(*options.EVERYTHING)
def hess(
    job: Job, wrt: options.Wrt = None, nan: options.Nan = "warn", run_by: runner.Runner = "auto"
) -> None:
    """Several variables give a block for each pair of them.

    Example: gradcli hess "dot(x,x)**2" --x 1,2
    """
    names = job.wanted
    leaves = [job.leaves[name] for name in names]
    for name, leaf in zip(names, leaves, strict=True):
        if leaf.dtype.is_complex:
            said = f"`{name}` is complex; a matrix of second derivatives needs real variables"
            cure = f"gradcli hvp gives the product with a direction; or write {name} as x + 1j*y"
            raise RuntimeFault("E0403", said, help=cure)
    few = sum(leaf.array.size for leaf in leaves) < runner.MANY
    compiled = runner.second(job, names, "hessian", runner.checked(run_by), few)
    if compiled is None:
        value = job.value()
        inputs.need_scalar(value, job.program)
        blocks = _blocks(job, names)
    else:
        at = [leaf.detach() for leaf in leaves]
        value = compiled.hvp(at, [zeros_like(x) for x in at])[0]
        found = compiled.hessian(*at)
        blocks = [[found]] if len(names) == 1 else found
    parts = [
        (f"hessians.{a}", f"d2/d{a}2", block, "") if a == b
        else (f"hessians.{a},{b}", f"d2/d{a} d{b}", block, "")
        for a, row in zip(names, blocks, strict=True) for b, block in zip(names, row, strict=True)
    ]  # fmt: skip
    derive = None if compiled is None else lambda *point: compiled.hvp(*point)[1]
    job.emit("hess", parts, None, jumps(job, names, derive=derive), value)


def _blocks(job: Job, names: Sequence[str]) -> Sequence[Sequence[Any]]:
    """The second derivatives by each pair of variables, on the engine."""

    def scalar(*values: Tensor) -> Tensor:
        return job.function(*names)(*values).reshape(())

    at = tuple(job.leaves[name].detach() for name in names)
    return hessian(scalar, at) if names else ()
