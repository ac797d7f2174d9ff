"""Points at which a formula of ``gradcli check --against`` is tried, and what is found there.

Nearby ones tell chance from agreement. Farther ones are of ordinary sizes and of all signs, and on
both sides of the numbers at which a branch may begin: a term that vanishes at the given point, as
it is tiny, huge or whole, does not vanish there.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.cli import watchdog
from gradcli.cli.against.point import Point, full, given_values, or_none
from gradcli.cli.job import Job
from gradcli.display.expression import adjoint, symmetrizes
from gradcli.display.mistakes import Sample, close
from gradcli.language.runtime.run import Program
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import Fault
from gradcli.ops.operator import is_complex
from gradcli.transforms.check import tolerance

POINTS = 4
"""Points nearby at which a formula is tried."""
NEAR = 0.1
"""How far they are from the given one, relative to its entries."""
SHARE = 0.3
"""The share of the seconds left that farther points may take."""
MOST_LEVELS = 4
"""At how many of the large numbers that stand in the texts, or are given, points lie on both sides;
and at how many of the small ones."""
FINEST = 1e-6
"""How far from a large one at least, relatively: float32 has no points nearer."""
GUARD = 1e-8
"""Up to here a number keeps a logarithm or a quotient finite, and begins no branch of interest."""
HUGE = 1e100
"""From here on a number is past all others."""


def symmetric_parts(job: Job, names: Sequence[str]) -> set[str]:
    """The symmetric matrices of which the derivatives see no other part, as they are put into
    cholesky or eigvalsh: a formula need hold for symmetric ones alone."""
    found = set()
    for name, x in given_values(job, names).items() if symmetrizes(job.value()) else ():
        if x.ndim >= 2 and np.array_equal(x, adjoint(x)):
            above = np.triu(np.full_like(x, NEAR * (1 + 1j if is_complex(x) else 1)), 1)
            moved = Point(job, {name: x + above - adjoint(above)})
            by = or_none(moved.by, job.program, name)
            if by is not None and close(by, adjoint(by), tolerance(by.dtype)):
                found.add(name)
    return found


def _nearby(job: Job, moved: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Values of ``moved`` that differ a little from the given ones."""
    rng = np.random.default_rng(0)
    for _ in range(POINTS):
        yield {name: _near(x, rng) for name, x in _wide(job, moved).items()}


def _near(x: Any, rng: np.random.Generator) -> Any:
    """A value for each entry of ``x`` that differs a little from it."""
    size = np.where(x == 0, 1.0, np.abs(x))
    return x + NEAR * size * rng.uniform(-1, 1, x.shape) * _turns(rng, x, (1,))


class _Way(NamedTuple):
    """A value ``share*x + sign*(middle + size*u)`` where x is given and u is from 0.3 to 1.7.

    The sign of an entry is "given", "other" or "any", "+" or "-".
    """

    share: float
    sign: str
    middle: float
    size: float

    def value(self, x: Any, rng: np.random.Generator) -> Any:
        """Such a value for each entry of ``x``."""
        u, drawn = rng.uniform(0.3, 1.7, x.shape), _turns(rng, x, (1, -1))
        given = np.where(x == 0, drawn, np.sign(x))
        signs = {"given": given, "other": -given, "any": drawn, "+": 1, "-": -1}
        return self.share * x + signs[self.sign] * (self.middle + self.size * u)


_FARTHER = [
    _Way(*way) for way in (
        (1, "any", 0, 1), (1, "given", 0, 1), (1, "other", 0, 1),
        (0, "given", 0, 0.5), (0, "given", 1, 1), (0, "given", 0, 4), (0, "given", 0, 12),
        (0, "any", 0, 1), (0, "any", 0, 4), (0, "other", 0, 0.5), (0, "other", 0, 12),
        (0, "+", 0, 0.5), (0, "+", 1, 1), (0, "-", 0, 0.5),
    )
]  # fmt: skip
"""Many domains have some of these."""
_MULTIPLES = (-1, 4, 0.25, 12)
"""Near these multiples of the given values: exp(-x/1e-9) is flat at points of ordinary sizes."""
_ORDINARY, _APART, _MOST_STEPS = 1e3, 12.0, 8
"""Up to where, and down to its inverse, sizes are ordinary; how far steps from others to those are
apart, and how many there are at most."""
_SIDES = ("given", "other")


def _farther(
    job: Job, programs: Mapping[str, Program], moved: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Values of ``moved`` by about 1 from the given ones, near multiples of them, of ordinary size
    and both signs, and on both sides of the numbers that stand in the texts or are given: a branch
    may begin there."""
    rng = np.random.default_rng(1)
    levels = [*dict.fromkeys(_levels(job, programs, moved))]
    beside = [
        _Way(0, sign, middle, size)
        for middle, size in _steps_beside(levels) for sign in _SIDES
    ]  # fmt: skip
    known = _wide(job, moved)
    for factor in _MULTIPLES:
        yield {name: _near(factor * x, rng) for name, x in known.items()}
    for factor in _steps_to_ordinary(known.values()):
        yield {name: _near(_nearer_to_1(x, factor), rng) for name, x in known.items()}
    for way in (*_FARTHER, *beside):
        yield {name: way.value(x, rng) for name, x in known.items()}


def _steps_to_ordinary(values: Iterable[Any]) -> Iterator[float]:
    """Factors that lead from a tiny or huge given value to ordinary sizes, and to both sides of
    that with the other sign."""
    sizes = np.concatenate([np.abs(x[x != 0]).ravel() for x in values])
    ratio = max(sizes.max(initial=1.0), 1 / max(sizes.min(initial=1.0), 1 / HUGE))
    if ratio > _ORDINARY:
        yield from (-1 / 4, -4.0, -_APART)
        yield from (_APART**k for k in range(1, _MOST_STEPS + 1) if _APART**k < ratio)


def _nearer_to_1(x: Any, factor: float) -> Any:
    """``x``, entries that are smaller or larger than 1 by more than a factor nearer by that."""
    size, by = np.abs(x), abs(factor)
    moved = np.where(size * by < 1, x * by, np.where(size > by, x / by, x))
    return np.sign(factor) * moved


def _steps_beside(levels: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Sizes, and the steps from them, that lead to both sides of levels, not past the next ones."""
    large = [level for level in levels if level > 1][:MOST_LEVELS]
    small = [level for level in levels if level <= 1][:MOST_LEVELS]
    known = [0.0, *sorted(levels), np.inf]
    for level in (*large, *small):
        step, at = max(1.0, FINEST * level) if level > 1 else level, known.index(level)
        yield level, -min(step, (level - known[at - 1]) / 2)
        yield level, min(step, (known[at + 1] - level) / 2)
        if known[at + 1] > 4 * level > 4:  # what begins at a large one may be too small beside it
            yield level, level
        if level > 1 and known[at + 1] == np.inf:
            yield 0.0, 10 * level  # x/100 > 3


def _levels(job: Job, programs: Mapping[str, Program], moved: Sequence[str]) -> Iterator[float]:
    """Sizes at which branches may begin: those in comparisons, then such as points of ordinary
    size do not surround."""
    given = {
        name: abs(float(leaf.array.item())) for name, leaf in job.leaves.items()
        if name not in moved and leaf.array.size == 1 and not is_complex(leaf.array)
    }  # fmt: skip
    modules = [p.checked.module for p in (job.program, *programs.values())]
    compared = [node for m in modules for node in n.walk(m) if isinstance(node, n.Compare)]
    for node in (part for whole in compared for part in n.walk(whole)):
        size = _size(node, given)
        if GUARD < size < HUGE:
            yield size
    for node in (part for module in modules for part in n.walk(module)):
        size = _size(node, given)
        if 1e-4 <= size <= 0.3 or 2 < size < HUGE:
            yield size


def _size(node: n.Node, given: Mapping[str, float]) -> float:
    """The size of a number, or of the value given for a name; 0 of what is neither."""
    if isinstance(node, n.Number):
        return float(abs(node.value))
    return given.get(node.id, 0.0) if isinstance(node, n.Name) else 0.0


def turned(job: Job, point: Mapping[str, Any]) -> list[str]:
    """The variables of which an entry has another sign at a point than as it is given; entries
    that are given as 0, and complex ones, have none."""
    given = given_values(job, [*point])
    return [
        name for name, x in given.items()
        if not is_complex(x) and (x * np.sign(point[name]) < 0).any()
    ]  # fmt: skip


def _wide(job: Job, names: Sequence[str]) -> dict[str, Any]:
    """The values of variables as float64 or complex128."""
    values = given_values(job, names)
    return {k: v.astype(np.result_type(v.dtype, np.float64)) for k, v in values.items()}


def _turns(rng: np.random.Generator, x: Any, signs: tuple[int, ...]) -> Any:
    """A sign for each entry; of complex ones a direction."""
    if is_complex(x):
        return np.exp(2j * np.pi * rng.uniform(size=x.shape))
    return rng.choice(signs, x.shape) if len(signs) > 1 else 1.0


def samples_nearby(
    job: Job, programs: Mapping[str, Program], moved: Sequence[str], symmetric: Container[str]
) -> list[Sample]:
    """The samples nearby."""
    return [*_samples(job, programs, moved, symmetric, _nearby(job, moved))]


def samples_farther(
    job: Job, programs: Mapping[str, Program], moved: Sequence[str], symmetric: Container[str]
) -> list[Sample]:
    """The samples farther away that are found in a share of the time."""
    found = []
    try:
        with watchdog.share_of_time(SHARE):
            for s in _samples(job, programs, moved, symmetric, _farther(job, programs, moved)):
                found.append(s)
    except Fault as fault:
        if fault.code != "E0608":
            raise
    return found


def _samples(
    job: Job, programs: Mapping[str, Program], moved: Sequence[str], symmetric: Container[str],
    moves: Iterable[Mapping[str, Any]],
) -> Iterator[Sample]:  # fmt: skip
    """Points with other values of ``moved``, the gradients of the rules and the formulas' values.

    Those at which something is not finite or has no value are left out.
    """
    for values in moves:
        near = {
            k: (v + adjoint(v)) / 2 if k in symmetric else v for k, v in values.items()
        }  # fmt: skip
        point = Point(job, {k: np.asarray(v, job.leaves[k].array.dtype) for k, v in near.items()})
        try:
            value, gradients = point.gradients(job.program, near)
            if not np.isfinite(value).all():  # as log(-1) is: a slope means nothing there
                continue
            given = {name: point.value(program) for name, program in programs.items()}
        except Fault as fault:
            if fault.code == "E0608":
                raise
            continue
        given |= {k: full(given[k], g) for k, g in gradients.items() if k in given}
        if all(np.isfinite(a).all() for a in (*gradients.values(), *given.values())):
            yield Sample(point.numbers(), gradients, given)
