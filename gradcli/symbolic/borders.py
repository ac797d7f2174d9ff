"""To which side the border of two pieces belongs: that of the engine, where it matters.

Forms are found cell by cell, without borders (``simplify.piecewise``). Of what is not
differentiated by, a border is a point like any other, and the form has to have the engine's value
there: ``where(x <= 0, where(x < 0, exp(x), 0), 0)*y`` by y is 0 at x = 0. At a border of what is
differentiated by, the form takes the side that the engine takes (``kinks`` says which), unless it
has the slope of both sides: 1 of ``relu(x) - relu(-x)``, where the engine has 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from itertools import product
from typing import Any

import numpy as np

from gradcli.language.runtime.run import Program, prepare
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.verify import TOLERANCE, Draws, Points, double, draw, evaluate, worst

_NAMES = {n for op in OPERATORS.values() if op.breaks or op.masks for n in (op.name, *op.aliases)}
_BRANCHES = re.compile(rf"\b(max|min|{'|'.join(sorted(_NAMES))})\(")
_POINTS = 12
"""How many points are looked at where all is at a border, and where what moves is not."""
_MOST_TURNED, _MOST_FORMS = 4, 60
"""Comparisons of one form that are turned, and forms that are tried, at most."""
_BESIDE = 1e-7
_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
Point = tuple[dict, np.ndarray]


def with_borders(
    text: Text, options: Sequence[Text], small: Sequence[Text], known: Sequence[Point],
    points: Points, path: tuple[str, ...],
) -> tuple[list[Text], list[Text], list[Point], list[tuple[int, str]]]:  # fmt: skip
    """The options from that on which is right at the most borders, and those points; and what is
    to be said of one at which the engine has another slope than the first of them, by order.

    ``text`` is the first of them that is right at the points ``known``.
    """
    k = next(i for i, option in enumerate(options) if option is text)
    options, small = list(options[k:]), list(small[k:])
    if not any(_BRANCHES.search(option.key) for option in options):
        return options, small, [], []

    points = copy(points)
    points.strict = False  # a value of 0 is one of the border's

    def right(answer: Program) -> list[bool]:
        return [worst(answer, [p], points.sizes)[0] <= TOLERANCE for p in borders]

    answer = prepare(small[0].key)
    borders = _borders(answer, points, path)
    everywhere = borders
    pairs = zip(borders, right(answer), strict=True)
    borders = [p for p, yes in pairs if yes or _decides(answer, p, points, path)]
    best, most, tried = 0, sum(right(answer)), 0
    for i, forms in enumerate(zip(options, small, strict=True)):
        for option, checkable in _turned(*forms):
            if most == len(borders) or tried == _MOST_FORMS:
                break
            tried += 1
            other = prepare(checkable.key)
            count = sum(right(other))
            if count > most and worst(other, known, points.sizes)[0] <= TOLERANCE:
                best, most, answer = i, count, other
                options[i], small[i] = option, checkable
    held = [p for p, yes in zip(borders, right(answer), strict=True) if yes]
    apart = [(len(path), words) for words in _apart(answer, everywhere, points)]
    return options[best:], small[best:], held, apart[:1]


def _apart(answer: Program, borders: Sequence[Point], points: Points) -> Iterator[str]:
    """What is to be said of each border at which the engine has another slope than an answer."""
    for border in borders:
        off, got, exact = worst(answer, [border], points.sizes)
        if 1e-6 < off < np.inf:
            single = all(a.ndim == 0 for a in border[0].values())
            where = ", ".join(f"{k} = {a:g}" for k, a in border[0].items()) if single else "a place"
            yield f"where pieces meet gradcli grad may differ: {exact:g} at {where}, not {got:g}"


def _borders(answer: Program, points: Points, path: tuple[str, ...]) -> list[Point]:
    """Points at numbers that the program or its derivative names, with the engine's derivative."""
    trees = [program.names.module for program in (points.program, answer)]
    named = {one.value for t in trees for one in n.walk(t) if type(one) is n.Number}
    near = sorted({x for k in named | {0, 1} for x in (k, -k) if not isinstance(x, complex)})
    rng = Draws(20240302)
    found: list[Point] = []
    with double():
        for i in range(8 * _POINTS):
            if len(found) == 2 * _POINTS:
                break
            point = draw(points.shapes.declarations, points.sizes, rng)
            first = True
            for name, a in point.items():
                traits = points.shapes.declarations[name].traits
                if (i % 2 and name in path) or "spd" in traits:
                    continue
                some = [x for x in near if x > 0] if "positive" in traits else near
                places = [rng.integers(len(some)) for _ in range(a.size)]
                if first and a.size:  # a single number takes each of them
                    places[0], first = i // 2 % len(some), False
                x = np.array([float(some[k]) for k in places]).reshape(a.shape)
                point[name] = np.triu(x) + np.triu(x, 1).T if "symmetric" in traits else x
            exact = points.numeric(point, path)
            if exact is not None and np.isfinite(exact).all():
                found.append((point, exact))
    return found


def _decides(answer: Program, border: Point, points: Points, path: tuple[str, ...]) -> bool:
    """Whether a border counts at which an answer is not what the engine has there.

    It does not where the answer has the slope of both sides, nor where the engine has neither.
    """
    point, exact = border
    rng = Draws(20240303)
    beside = []
    with double():
        for _ in range(4):
            way = {k: rng.uniform(-_BESIDE, _BESIDE, np.shape(point[k])) for k in path}
            for sign in (1, -1):
                moved = point | {k: point[k] + sign * by for k, by in way.items()}
                beside.append(points.numeric(moved, path))
    sides = np.array([np.full(exact.shape, np.nan) if x is None else x for x in beside])
    near = 1e-4 * max(1.0, np.abs(exact).max(initial=0.0))
    got = np.full(exact.shape, np.nan)
    with suppress(Fault):
        got = evaluate(answer, point, points.sizes)
    off = ~(np.abs(got - exact) <= TOLERANCE)
    both = (np.abs(sides - got) <= near).all(0)
    one = (np.abs(sides - exact) <= near).any(0)
    return bool(one[off].all() and not both[off].all())


def _turned(text: Text, small: Text) -> Iterator[tuple[Text, Text]]:
    """A form, and with some of its comparisons turned: ``<`` and ``<=`` exchanged.

    ``small`` is the same form at other sizes.
    """
    yield text, small
    found = [_comparisons(one) for one in (text, small)]
    if not 0 < len(found[0]) == len(found[1]) <= _MOST_TURNED:
        return
    for chosen in product((False, True), repeat=len(found[0])):
        if any(chosen):
            one, two = ([c for c, yes in zip(f, chosen, strict=True) if yes] for f in found)
            yield _with_turned(text, one), _with_turned(small, two)


def _comparisons(text: Text) -> list[list[n.Compare]]:
    """The comparisons of sizes in a form, equal ones together."""
    groups: dict[str, list[n.Compare]] = {}
    for one in n.walk(text.node):
        if isinstance(one, n.Compare) and len(one.ops) == 1 and one.ops[0] in _OTHER:
            groups.setdefault(unparse(one), []).append(one)
    return list(groups.values())


def _with_turned(text: Text, groups: Sequence[Sequence[n.Compare]]) -> Text:
    turned = {id(one) for group in groups for one in group}

    def change(one: n.Node, new: Any) -> Any:
        return new.replace(ops=(_OTHER[new.ops[0]],)) if id(one) in turned else new

    return Text(n.rewritten(text.node, change), text.cost)
