"""The derivative of an expression by four further ways, for ``gradcli check``.

All but the closed form take it in one direction, drawn at random: a gradient that is wrong in any
entry is wrong there.

    forward mode     tangents, by the same rules read the other way round
    Richardson       central differences at falling steps, extrapolated (Ridders, 1982)
    complex step     f(x + ih)/h without a difference, where the expression is analytic
    closed form      the formula of ``gradcli diff``, evaluated
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from gradcli.display.expression import Expression, tried
from gradcli.engine import Tensor, dtypes, wrap
from gradcli.engine.grad_mode import no_grad
from gradcli.ops.errors import LimitFault, RuntimeFault
from gradcli.transforms.check import tolerance
from gradcli.transforms.forward import tangents_of

LONGEST = 1000
"""Characters of a text, and entries of its variables, up to which a closed form is looked for."""
LEVELS = 8
FALL = 1.6
"""Richardson's steps: how many, and by how much each is smaller than the one before."""


def agreements(
    job: Expression, found: Sequence[Tensor], unit: float, share: AbstractContextManager[Any]
) -> dict[str, float]:
    """The relative difference to each way that can be gone. Raises RuntimeFault (E0410).

    ``found`` are the gradients by ``job.wanted``; central differences already agree with them. A
    way that is off by what is as good as 0 beside ``unit`` says nothing. ``share`` limits the time
    in which a closed form is looked for.
    """
    points = [np.asarray(job.leaves[name].detach().cpu().array) for name in job.wanted]
    rng = np.random.default_rng(0)
    along = [rng.uniform(0.5, 1, x.shape) * rng.choice((-1, 1), x.shape) for x in points]
    gradients = [np.asarray(g.detach().cpu().array.real, np.float64) for g in found]
    right = float(sum((g * v).sum() for g, v in zip(gradients, along, strict=True)))
    size = float(sum(np.abs(g * v).sum() for g, v in zip(gradients, along, strict=True)))
    enough = tolerance(points[0].dtype)
    differences: dict[str, float] = {}
    for name, way, must in (
        ("forward mode", _forward, True), ("Richardson differences", _richardson, False),
        ("complex step", complex_step, False),
    ):  # fmt: skip
        value = tried(way, job, points, along)
        if value is None or not np.isfinite(value):
            continue
        apart = abs(value - right)
        if apart <= enough * size:
            differences[name] = apart / (size or 1.0)
        elif must and not apart <= enough * unit:
            raise RuntimeFault(
                "E0410", f"{name} gives {value:.10g} in a direction in which the gradient gives "
                f"{right:.10g}", help="one of the two is wrong: gradcli doctor --env for a report",
            )  # fmt: skip
    closed = None
    try:
        with share:
            closed = tried(_closed_form, job, gradients)
    except LimitFault as fault:
        if fault.code != "E0608":
            raise
    largest = max((float(np.abs(g).max(initial=0.0)) for g in gradients), default=0.0)
    if closed is not None and closed <= 10 * enough * largest:
        differences["closed form"] = closed / (largest or 1.0)
    elif closed is not None and not closed <= 10 * enough * unit:
        said = f"the closed form is off by {closed / (largest or 1.0):.1e} of the gradient"
        mend = "one of the two is wrong: compare gradcli diff with gradcli grad"
        raise RuntimeFault("E0410", said, help=mend)
    return differences


def _value(job: Expression, values: Sequence[Any]) -> Any:
    return job.function(*job.wanted)(*values).reshape(())


def _forward(job: Expression, points: Sequence[Any], along: Sequence[Any]) -> float:
    leaves = tuple(job.leaves[name].detach() for name in job.wanted)
    tangents = tuple(
        wrap(v.astype(x.dtype)[()], leaf.dtype)
        for v, x, leaf in zip(along, points, leaves, strict=True)
    )
    tangent = tangents_of(lambda *xs: _value(job, xs), leaves, tangents)
    return float(tangent.array)


def _richardson(job: Expression, points: Sequence[Any], along: Sequence[Any]) -> float:
    def at(step: float) -> float:
        moved = [
            wrap((x + step * v).astype(x.dtype)[()], job.leaves[name].dtype)
            for name, x, v in zip(job.wanted, points, along, strict=True)
        ]
        with no_grad():
            return float(_value(job, moved).array)

    # No entry changes its sign but those so small that steps below them are rounded to 0.
    smallest = min(
        float(np.abs(x).min(initial=1.0, where=np.abs(x) >= np.finfo(x.dtype).tiny)) for x in points
    )
    step = 0.1 * smallest
    best, least = float("nan"), float("inf")
    row: list[float] = []
    for _ in range(LEVELS):
        before, row = row, [(at(step) - at(-step)) / (2 * step)]
        weight = FALL**2
        for i, coarse in enumerate(before):
            row.append((row[i] * weight - coarse) / (weight - 1))
            weight *= FALL**2
            error = max(abs(row[-1] - row[i]), abs(row[-1] - coarse))
            if error < least:
                best, least = row[-1], error
        step /= FALL
    return best


def by_complex_step(job: Expression, name: str, place: tuple[int, ...]) -> float | None:
    """The slope by one entry of a variable, from values alone; None where no such step is."""
    points = [np.asarray(job.leaves[k].detach().cpu().array) for k in job.wanted]
    along = [np.zeros(x.shape) for x in points]
    along[job.wanted.index(name)][place] = 1.0
    found: float | None = tried(complex_step, job, points, along)
    return found


def complex_step(job: Expression, points: Sequence[Any], along: Sequence[Any]) -> float | None:
    """The slope in a direction, f(x + ih).imag / h; None where f is not of complex numbers, or
    has no value."""
    if any(x.dtype not in (np.float64, np.float32) for x in points):
        return None
    tiny = 1e-30 if points[0].dtype == np.float64 else 1e-12
    complexes = {np.float64: dtypes.complex128, np.float32: dtypes.complex64}
    moved = []
    for x, v in zip(points, along, strict=True):
        dtype = complexes[x.dtype.type]
        moved.append(wrap((x + 1j * tiny * v).astype(dtype.numpy)[()], dtype))
    with no_grad():
        found = _value(job, moved)
    if not found.dtype.is_complex or np.isnan(found.array.real):
        return None
    return float(found.array.imag) / tiny


def _closed_form(job: Expression, gradients: Sequence[Any]) -> float | None:
    text = job.program.source.text
    entries = sum(leaf.array.size for leaf in job.leaves.values())
    real = not any(leaf.dtype.is_complex for leaf in job.leaves.values())
    if len(text) > LONGEST or entries > LONGEST or "rand" in text or job.fixed or not real:
        return None
    from gradcli.symbolic import Declaration  # slow to load

    shapes = {k: Declaration.of_shape(leaf.array.shape) for k, leaf in job.leaves.items()}
    result = job.closed_form(shapes)
    values = {name: leaf.detach().cpu().array for name, leaf in job.leaves.items()}
    tables, lost, *_ = result.settled(**values)
    if lost:  # the formula has no value there, or has lost its digits
        return None
    worst = 0.0
    for name, g in zip(job.wanted, gradients, strict=True):
        if np.shape(tables[name]) != g.shape:
            return None
        worst = max(worst, float(np.abs(tables[name] - g).max(initial=0.0)))
    return worst
