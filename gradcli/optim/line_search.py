"""A step length that satisfies the strong Wolfe conditions (Nocedal and Wright, 3.5 and 3.6).

    f(t) <= f(0) + c1 t f'(0)      enough less         |f'(t)| <= c2 |f'(0)|      flat enough

First a bracket that holds such a point is found by growing steps, then it is narrowed. The choices
that the book leaves open (cubic interpolation, how far from the ends, when to stop) are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gradcli.engine import Tensor

_ARMIJO, _CURVATURE, _NARROW = 1e-4, 0.9, 1e-9


class Point(NamedTuple):
    """A step length, the value and gradient there, and the slope along the direction."""

    t: Any
    f: float
    g: Tensor
    slope: Any


def strong_wolfe(
    at: Callable[[Any], tuple[float, Tensor]], t: Any, direction: Tensor, f: float,
    g: Tensor, slope: Any, allowed: int,
) -> tuple[float, Tensor, Any, int]:  # fmt: skip
    """``(value, gradient, step length, evaluations)`` of a good step along ``direction``.

    ``at(t)`` gives value and gradient at a step length; ``f``, ``g`` and ``slope`` are those at 0;
    ``allowed`` bounds the rounds.
    """
    evaluations = 0

    def look(t: Any) -> Point:
        nonlocal evaluations
        evaluations += 1
        value, gradient = at(t)
        return Point(t, value, gradient, gradient.dot(direction))

    origin = Point(0, f, g.clone(), slope)
    before, here = origin, look(t)
    rounds = 0
    bracket: list[Point] = []
    done = False
    while rounds < allowed:
        if _too_high(here, origin) or (rounds > 1 and here.f >= before.f):
            bracket = [before, here]
            break
        if abs(here.slope) <= -_CURVATURE * slope:
            bracket, done = [here], True
            break
        if here.slope >= 0:
            bracket = [before, here]
            break
        bounds = (here.t + 0.01 * (here.t - before.t), here.t * 10)
        before, here = here, look(cubic_minimum(before, here, bounds))
        rounds += 1
    if rounds == allowed or not bracket:
        bracket = [origin, here]
    low, high = (0, 1) if bracket[0].f <= bracket[-1].f else (1, 0)
    size = direction.abs().max()
    stuck = False
    while not done and rounds < allowed:
        ends = [p.t for p in bracket]
        if abs(ends[1] - ends[0]) * size < _NARROW:
            break
        t, stuck = _inside(cubic_minimum(bracket[0], bracket[1]), min(ends), max(ends), stuck)
        here = look(t)
        rounds += 1
        if _too_high(here, origin) or here.f >= bracket[low].f:
            bracket[high] = here
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
            continue
        if abs(here.slope) <= -_CURVATURE * slope:
            done = True
        elif here.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = here
    best = bracket[low if len(bracket) > 1 else 0]
    return best.f, best.g, best.t, evaluations


def _too_high(here: Point, origin: Point) -> bool:
    return here.f > origin.f + _ARMIJO * here.t * origin.slope


def _inside(t: Any, start: Any, end: Any, stuck: bool) -> tuple[Any, bool]:
    """``t``, moved a tenth of the bracket inwards where it sits at an end for the second time."""
    margin = 0.1 * (end - start)
    if min(end - t, t - start) >= margin:
        return t, False
    if not (stuck or t >= end or t <= start):
        return t, True
    return (end - margin if abs(t - end) < abs(t - start) else start + margin), False


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with their slopes is least, held within bounds.

    The middle of the bounds where that cubic has no minimum.
    """
    low, high = bounds or ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    if a.t > b.t:
        a, b = b, a
    d2 = square.sqrt()
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)
