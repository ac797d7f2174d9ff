"""How far a given gradient is off at a point, beyond what the two are rounded by."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.cli.against.point import Point
from gradcli.cli.job import Job
from gradcli.display.mistakes import Sample
from gradcli.language.runtime.run import Program
from gradcli.transforms.check import tolerance

ROUNDINGS = 16
"""How many times the estimate of what a value is rounded by two may be apart."""


def apart_at(
    job: Job, name: str, sample: Sample, program: Program | None, enough: float
) -> tuple[int, ...] | None:
    """The entry of the given gradient that is off most at a point; None where all agree."""
    if sample.given[name].shape != sample.right[name].shape:
        return ()
    off, _ = how_far_off(job, name, sample, program, enough)
    return tuple(map(int, np.unravel_index(int(np.argmax(off)), off.shape))) if off.any() else None


def how_far_off(
    job: Job, name: str, sample: Sample, program: Program | None, enough: float
) -> tuple[Any, bool]:
    """How far, relatively, the entries of the given gradient are off; 0 for those that agree.

    And whether some agree only since what the two are rounded by explains the difference. Numbers,
    which have no ``program``, have as many digits as the largest of them.
    """
    given, right = sample.given[name], sample.right[name]
    sizes = np.abs(right)
    if program is None:
        sizes = np.maximum(sizes, 1e-3 * sizes.max(initial=0.0))
    with np.errstate(all="ignore"):
        apart = np.abs(given - right)
        off = np.where(apart == 0, 0.0, apart / sizes)
    off = np.where(np.isnan(off), np.inf, np.where(off <= enough, 0.0, off))
    most = max(float(np.abs(v).max(initial=1.0)) for v in (right, sample.point[name]))
    digits = np.finfo(np.result_type(right.dtype, np.float32)).eps ** 0.5  # more are never rounded
    rounded = (off > 0) & ((apart <= digits * most) | (off <= tolerance(right.dtype)))
    if rounded.any():
        much = Point(job, sample.point).rounding(job.program, name, program)
        rounded &= apart <= ROUNDINGS * much
    return np.where(rounded, 0.0, off), bool(rounded.any())
