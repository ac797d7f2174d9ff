"""Given gradients held against those of the rules, at the given point and at others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.cli import inputs
from gradcli.cli.against.differences import apart_at, how_far_off
from gradcli.cli.against.edits import WORDS, Edit, mending_edit
from gradcli.cli.against.parts import parts_of
from gradcli.cli.against.point import Point, full, given_values
from gradcli.cli.against.trial_points import (
    samples_farther,
    samples_nearby,
    symmetric_parts,
    turned,
)
from gradcli.cli.job import Job
from gradcli.display.mistakes import Mistake, Sample, close, diagnose
from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault
from gradcli.transforms.check import tolerance

NUMBERS = re.compile(r"[-+\d.eE,;\s\[\]]*\d[-+\d.eE,;\s\[\]]*")


class Finding(NamedTuple):
    """What is to be said of the gradient that was given by one variable.

    rounded        whether some entries agree but for what they are rounded by
    first, worst   the entries; None where the shapes differ
    nearby         at how many of the points nearby it agrees, and at how many it was tried
    farther        the same of points farther away
    counter        one of these points at which it does not agree, and an entry there
    signed         where it agrees but at farther points where variables have other signs: those
    held           other variables, where it does not agree with other values of them
    """

    name: str
    given: Any
    right: Any
    agrees: bool
    rounded: bool
    first: tuple[int, ...] | None
    worst: tuple[int, ...] | None
    differing: int
    nearby: tuple[int, int]
    farther: tuple[int, int]
    counter: tuple[Sample, tuple[int, ...]] | None
    signed: list[str]
    held: list[str]
    mistake: Mistake | None
    edit: Edit | None
    formula: str | None


def compare(
    job: Job, right: Mapping[str, Any], texts: Mapping[str, str], arrays: Mapping[str, Any],
    kinks: Mapping[str, Mapping[tuple[int, ...], tuple[float, float]]],
) -> list[Finding]:  # fmt: skip
    """What there is to say of each given gradient; ``right`` are the checked ones.

    ``kinks`` are the slopes on both sides where those differ: any between them is right.
    """
    names = [*texts, *arrays]
    numbers = {
        k: inputs.read_flag("against", text, job.leaves[k].dtype, files=False)
        for k, text in texts.items() if NUMBERS.fullmatch(text)
    }  # fmt: skip
    texts = {k: text for k, text in texts.items() if k not in numbers}
    arrays = {**arrays, **numbers}
    programs = {name: _prepared(job, text, name) for name, text in texts.items()}
    floats = [k for k, v in job.leaves.items() if v.dtype.differentiable]
    here = Point(job, given_values(job, floats))
    given = {k: here.value(programs[k]) for k in texts} | {
        k: np.asarray(v) for k, v in arrays.items()
    }
    given = {name: full(value, right[name]) for name, value in given.items()}
    beside = everywhere = far = []
    # What the other variables are shall not look like numbers that belong into the formula, and
    # the gradient given may be theirs.
    if texts and not arrays:
        symmetric = symmetric_parts(job, floats)
        beside = samples_nearby(job, programs, names, symmetric)
        everywhere = samples_nearby(job, programs, floats, symmetric) or beside
        far = samples_farther(job, programs, names, symmetric)
    others = here.gradients(job.program, floats)[1]
    samples = [Sample(here.numbers(), {**others, **{k: right[k] for k in names}}, given)]
    samples += everywhere
    return [
        _finding(name, job, samples, beside, far, programs, kinks.get(name, {}), texts.get(name))
        for name in names
    ]  # fmt: skip


def _finding(
    name: str, job: Job, samples: Sequence[Sample], beside: Sequence[Sample],
    far: Sequence[Sample], programs: Mapping[str, Program],
    kinks: Mapping[tuple[int, ...], tuple[float, float]], text: str | None,
) -> Finding:  # fmt: skip
    given, right = samples[0].given[name], samples[0].right[name]
    dtype = job.leaves[name].array.dtype
    enough = tolerance(dtype)
    if text is not None:  # computed like the gradient itself, not typed to a few digits
        enough = min(enough, float(np.finfo(dtype).eps) ** 0.5)
    first = worst = None
    differing, rounded = right.size, False
    if given.shape == right.shape:
        off, rounded = how_far_off(job, name, samples[0], programs.get(name), enough)
        for place, (low, high) in kinks.items():
            slack = 1e-3 * max(abs(low), abs(high))  # they are differences
            if low - slack <= given[place] <= high + slack:
                off[place] = 0.0
        wrong = np.argwhere(off)
        differing = len(wrong)
        if differing:
            first = tuple(map(int, wrong[0]))
            worst = tuple(map(int, np.unravel_index(int(np.argmax(off)), off.shape)))
    others = () if differing else (*far, *beside)
    apart = [apart_at(job, name, s, programs.get(name), 10 * enough) for s in others]
    farther, near = (
        (sum(place is None for place in places), len(places))
        for places in (apart[: len(far)], apart[len(far) :])
    )
    counters = [(s, at) for s, at in zip(others, apart, strict=True) if at is not None]
    counter = min(counters, key=lambda c: len(turned(job, c[0].point)), default=None)
    signed = [] if counter is None else turned(job, counter[0].point)
    if all(turned(job, sample.point) for sample in far):
        signed = []
    agrees = not differing and (counter is None or bool(signed)) and given.shape == right.shape
    held = []
    if agrees and beside:
        moved = any(
            None is not apart_at(job, name, s, programs.get(name), 10 * enough) for s in samples[1:]
        )
        held = [k for k in samples[0].right if moved and k not in programs]
    if counter is not None and not agrees:
        samples = [samples[0], _whole(job, counter[0]), *samples[1:]]
    mistake = edit = None
    if not agrees:
        mistake = diagnose(name, samples, parts_of(job, name, samples, text), enough)
        if text is not None:
            edit = mending_edit(job, name, programs[name], samples, enough)
        known = mistake is not None and mistake.kind != "shape"
        if not known and (edit is None or edit.kind != "transpose"):
            mistake = _symmetric(job, name, programs) or mistake
        vague = mistake is None or mistake.kind == "shape" or " is off by " in mistake.said
        if vague and edit is not None:
            mistake = Mistake(edit.kind, WORDS[edit.kind])
    return Finding(
        name, given, right, agrees, rounded, first, worst, differing, near, farther, counter,
        signed, held, mistake, edit, text,
    )  # fmt: skip


def _whole(job: Job, sample: Sample) -> Sample:
    """A sample with the gradients by all variables."""
    return sample._replace(right=Point(job, sample.point).gradients(job.program, sample.point)[1])


def _symmetric(job: Job, name: str, programs: Mapping[str, Program]) -> Mistake | None:
    """A formula that holds for a symmetric matrix alone: ``2*A @ x`` for ``x @ A @ x``."""
    if name not in programs:
        return None
    values = given_values(job, [k for k, v in job.leaves.items() if v.dtype.differentiable])
    for matrix, value in values.items():
        if value.ndim != 2 or value.shape[0] != value.shape[1]:
            continue
        try:
            found = []
            for seed in range(2):
                x = value + seed
                point = Point(job, {**values, matrix: (x + x.T) / 2})
                given = point.value(programs[name])
                found.append(close(given, point.by(job.program, name), 1e-6))
        except Fault:
            continue
        if all(found):
            said = f"a transpose: it holds for a symmetric {matrix} only"
            return Mistake("transpose", f"{said} (2*{matrix} for {matrix} + {matrix}.T?)")
    return None


def _prepared(job: Job, text: str, name: str) -> Program:
    program = prepare(Source(text, f"--against {name}"))
    program.names.require({*job.leaves, *job.fixed})
    return program
