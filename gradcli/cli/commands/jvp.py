"""``gradcli jvp``, ``vjp``, ``hvp``: products with the derivative, without forming it."""

from __future__ import annotations

from typing import Annotated

from gradcli.cli import inputs, options, runner
from gradcli.cli.arguments import assigned
from gradcli.cli.commands.grad import Cotangent, read_cotangent, severed
from gradcli.cli.job import Job
from gradcli.cli.jumps import jumps
from gradcli.cli.options import option
from gradcli.display.expression import gradients
from gradcli.engine import wrap
from gradcli.ops.errors import ValueFault
from gradcli.transforms import functional
from gradcli.transforms.forward import dual_numbers

Along = Annotated[
    list[str] | None, option("--along", "The direction of a variable; repeatable.", "NAME=VALUE")
]


@options.command(*options.EVERYTHING)
def jvp(job: Job, along: Along = None, nan: options.Nan = "warn") -> None:
    """Example: gradcli jvp "sin(x)*y" --x 1 --y 2 --along x=1"""
    names, at, vectors = _directions(along, job)
    value, tangent = dual_numbers(job.function(*names), at, vectors)
    job.emit("jvp", [("tangent", "tangent", tangent, "")], value=value)


@options.command(*options.EVERYTHING)
def vjp(
    job: Job, wrt: options.Wrt = None, cotangent: Cotangent = None, nan: options.Nan = "warn"
) -> None:
    """Example: gradcli vjp "W @ x" --W "1,2;3,4" --x 1,-1 --cotangent 1,0"""
    value = job.value()
    weights = read_cotangent(cotangent, value, job.program)
    found = gradients(value, [job.leaves[n] for n in job.wanted], weights)
    by = "d/d" if cotangent is None else "cotangent @ d/d"
    parts = [(f"grads.{n}", f"{by}{n}", g, "") for n, g in zip(job.wanted, found, strict=True)]
    job.emit("vjp", parts, None, severed(job, value), value)


@options.command(*options.EVERYTHING)
def hvp(
    job: Job, along: Along = None, nan: options.Nan = "warn", run_by: runner.Runner = "auto"
) -> None:
    """Variables without a direction stay fixed.

    Example: gradcli hvp "dot(x,x)**2" --x 1,2 --along x=1,0
    """
    names, at, vectors = _directions(along, job)
    compiled = runner.second(job, names, "hvp", runner.checked(run_by), few=True)
    if compiled is None:
        inputs.need_scalar(job.value(), job.program)
        function = job.function(*names)
        value, products = functional.hvp(lambda *xs: function(*xs).reshape(()), at, vectors)
    else:
        value, products = compiled.hvp(at, vectors)
    label = "d2/d{0}2 @ v" if len(names) == 1 else "(H @ v) for {0}"
    parts = [(f"hvp.{n}", label.format(n), v, "") for n, v in zip(names, products, strict=True)]
    derive = None if compiled is None else lambda *point: compiled.hvp(*point)[1]
    job.emit("hvp", parts, None, jumps(job, names, 2, vectors, derive), value)


def _directions(along: list[str] | None, job: Job) -> tuple[list[str], tuple, tuple]:
    """The variables of ``--along``, their values and tangents.

    Raises ValueFault (E0907, E0909, E0910, E0912).
    """
    if not along:
        name = job.wanted[0] if job.wanted else "x"
        raise ValueFault("E0907", "there is no direction", help=f"add --along {name}=VALUE")
    found = {}
    if len(job.leaves) == 1:  # the only variable need not be named
        (only,) = job.leaves
        along = [item if "=" in item else f"{only}={item}" for item in along]
    for name, text in assigned("--along", along).items():
        if name not in job.leaves:
            said = f"--along {name}={text}: no variable {name!r} has a value"
            raise ValueFault("E0910", said, help="write --along NAME=VALUE")
        leaf = job.leaves[name]
        array = inputs.read_flag(f"along {name}", text, leaf.dtype)
        if array.shape != leaf.array.shape:
            shapes = f"{tuple(array.shape)}, {name} {tuple(leaf.array.shape)}"
            mend = "a direction has its variable's shape"
            raise ValueFault("E0912", f"--along {name} has shape {shapes}", help=mend)
        found[name] = wrap(array.astype(leaf.dtype.numpy)[()], leaf.dtype)
    job.fix([*found])
    return [*found], tuple(job.leaves[name].detach() for name in found), tuple(found.values())
