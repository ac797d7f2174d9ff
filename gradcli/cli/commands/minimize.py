"""``gradcli minimize``: where a scalar is smallest, from the given start."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import numpy as np

from gradcli.cli import inputs, options, output, runner
from gradcli.cli.arguments import no_choice
from gradcli.cli.job import Job
from gradcli.cli.options import option
from gradcli.display.expression import tried
from gradcli.engine import wrap
from gradcli.engine.grad_mode import no_grad
from gradcli.ops.errors import Fault, ValueFault
from gradcli.optim.minimize import METHODS, Minimum
from gradcli.optim.minimize import minimize as search

Method = Annotated[str, option("--method", "lbfgs (default), adam, sgd, rmsprop ...", "NAME")]
Rate = Annotated[float | None, option("--lr", "Learning rate (default: the method's).", "RATE")]
Steps = Annotated[
    int | None, option("--steps", "Steps at most: 1000 of lbfgs, 10000 of others.", "N")
]
Tolerance = Annotated[
    float | None,
    option("--tolerance", "Largest gradient at the end (float64: 1e-8, float32: 1e-5).", "T"),
]
Trace = Annotated[bool, option("--trace", "Show each step.")]
MOST = 8
"""The most entries of variables around which smaller values are looked for."""
LINES = 1000
"""The most lines of one trace."""


@options.command(*options.EVERYTHING)
def minimize(
    job: Job, wrt: options.Wrt = None, method: Method = "lbfgs", lr: Rate = None,
    steps: Steps = None, tolerance: Tolerance = None, trace: Trace = False,
    run_by: runner.Runner = "auto",
) -> None:  # fmt: skip
    """Example: gradcli minimize "(1-x)^2 + 100*(y-x^2)^2" --x -1.2 --y 1"""
    if method not in METHODS:
        raise no_choice("--method", method, tuple(METHODS))
    _check(lr, steps, tolerance)
    runner.checked(run_by)
    if not job.wanted:
        raise ValueFault(
            "E0910", "there is no variable to move", help='gradcli minimize "(x-1)^2" --x 0'
        )
    inputs.need_scalar(job.value(), job.program)
    for name, leaf in job.leaves.items():
        if name not in job.wanted:
            leaf.requires_grad_(False)
    moved = [job.leaves[name] for name in job.wanted]
    try:
        found = search(
            runner.value_of(job, job.wanted, run_by), moved, method, lr=lr, steps=steps,
            tolerance=tolerance, each=_tracer() if trace else None,
        )  # fmt: skip
    except Fault as fault:
        if fault.code == "E0501":
            raise _explained(fault, job) from None
        raise
    value = job.value().detach()
    parts = [(f"minimum.{name}", name, job.leaves[name], "") for name in job.wanted]
    record = {
        "method": method, "converged": found.converged, "steps": found.steps,
        "evaluations": found.evaluations, "gradient": found.gradient,
    }  # fmt: skip
    warnings = [] if found.converged else [found.said]
    if found.converged and not found.steps and found.gradient:
        said = f"nothing was moved: the gradient at the start, {found.gradient:.3g}, is small;"
        warnings.append(f"{said} a --tolerance below it goes on")
    if found.converged and (beside := _smaller(job, found)) is not None:
        warnings.append(f"{beside} has a smaller value: a saddle, or no minimum yet")
    if job.emit("minimize", parts, record, warnings, value) == "text" and found.converged:
        output.write(f"{found.said}\n")


def _smaller(job: Job, found: Minimum) -> str | None:
    """A place close by, along one variable, with a value that is smaller by more than rounding and
    what the gradient left allow; None where there is none, or there are many entries."""
    if sum(job.leaves[name].numel() for name in job.wanted) > MOST:
        return None
    for name in job.wanted:
        leaf = job.leaves[name].detach()
        eps = float(np.finfo(leaf.array.dtype).eps)
        for place in np.ndindex(leaf.array.shape):
            size = max(1.0, abs(float(leaf.array[place])))
            step = eps ** (1 / 5) * size
            least = found.value - 2 * found.gradient * step - 16 * eps * max(1.0, abs(found.value))
            for moved in (step, -step):
                x = np.array(leaf.array)
                x[place] += moved
                with no_grad():
                    value = tried(job.result, {name: wrap(x[()], leaf.dtype)})
                if value is not None and float(value.item()) < least:
                    entry = f"[{', '.join(map(str, place))}]" if place else ""
                    return f"{name}{entry} = {x[place]:.6g}"
    return None


def _check(lr: float | None, steps: int | None, tolerance: float | None) -> None:
    """The numbers among the options. Raises ValueFault (E0907)."""
    if lr is not None and not 0 < lr < float("inf"):
        raise ValueFault("E0907", f"--lr {lr:g}: a number above 0")
    if steps is not None and steps < 1:
        raise ValueFault("E0907", f"--steps {steps}: a whole number above 0")
    if tolerance is not None and not 0 < tolerance < float("inf"):
        raise ValueFault("E0907", f"--tolerance {tolerance:g}: a number above 0", help="write 1e-8")


def _tracer() -> Any:
    """A function that writes a line for each step, at most ``LINES`` of them."""
    sys.stderr.write(f"{'step':>6}  {'value':>14}  {'gradient':>9}\n")

    def show(number: int, value: float, gradient: float) -> None:
        if number < LINES:
            sys.stderr.write(f"{number:>6}  {value:>14.7g}  {gradient:>9.3g}\n")
        elif number == LINES:
            sys.stderr.write(f"        the trace ends here: {LINES:,} steps are shown\n")

    return show


def _explained(fault: Fault, job: Job) -> Fault:
    """A value that is not finite, with the operation that it comes from."""
    first = job.cause()
    if first is None:
        return fault
    first.notes = (*first.notes, fault.message)
    first.help = f"{first.help}; or {fault.help}" if first.help else fault.help
    return first
