"""What a wrong gradient looks like: a factor, a sign, a transpose, a missing term or chain factor.

A gradient worked out by hand and the right one are known at several points. Each rule here is a
mistake that people make; it holds only where it turns one into the other at every point.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Mistake(NamedTuple):
    """The kind of a difference and a sentence about it."""

    kind: str
    said: str


class Sample(NamedTuple):
    """The variables at one point, the right gradients there, and those that were given."""

    point: Mapping[str, Array]
    right: Mapping[str, Array]
    given: Mapping[str, Array]


Part = Callable[[Sample], Array | None]
"""An array at a point that the expression leads to, or None where there is none."""

Named = Sequence[tuple[str, Part]]
"""Such arrays with the text that each belongs to."""


class Parts(NamedTuple):
    """What the rules may look into.

    formula     the text of the given gradient, where it has one
    values      what the parts of the expression are
    gradients   of those that are terms of a sum, by the variable
    pulled      the given gradient pulled back through each part, as a cotangent
    through     the result's gradient with the derivative of a part by what is in it left out
    constant    the result's gradient with the part held constant
    axes        the result's gradient with an axis changed
    """

    formula: str | None
    values: Named
    gradients: Named
    pulled: Named
    through: Named
    constant: Named
    axes: Named


def close(a: Array | None, b: Array, enough: float) -> bool:
    """Whether two arrays are the same but for rounding."""
    if a is None or a.shape != b.shape or not np.isfinite(a).all():
        return False
    sizes = np.abs(b)
    last = np.finfo(np.result_type(b.dtype, np.float32)).eps * sizes.max(initial=0.0)
    return bool((np.abs(a - b) <= enough * sizes + last).all())


def diagnose(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """The mistake that explains the gradient given by ``name`` at every sample."""
    rules = (
        _shape, _plain, _exchanged, _index, _chain, _held, _another, _power, _term, _factor, _ends,
        _normalised,
    )  # fmt: skip
    for rule in rules:
        found = rule(name, samples, parts, enough)
        if found is not None:
            return found
    return None


def _right(
    name: str, samples: Sequence[Sample], enough: float, changed: Iterable[Array | None]
) -> bool:
    """Whether what was made of the given gradients is the right one, everywhere."""
    return all(close(c, s.right[name], enough) for c, s in zip(changed, samples, strict=True))


def _shape(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """The given array has another shape: transposed, or not summed over an axis."""
    given, right = samples[0].given[name].shape, samples[0].right[name].shape
    if given == right:
        return None
    if (turned := _turned(name, samples, enough)) is not None:
        return turned
    dims = range(len(given))
    for axes in (axes for n in dims for axes in itertools.combinations(dims, n + 1)):
        sums = [s.given[name].sum(axis=axes) for s in samples]
        fitted = (v.reshape(right) if v.size == math.prod(right) else None for v in sums)
        if _right(name, samples, enough, fitted):
            which = " and ".join(map(str, axes))
            return Mistake(
                "sum", f"a missing sum: over ax{'is' if len(axes) == 1 else 'es'} {which}, to the "
                f"shape of {name}",
            )  # fmt: skip
    chain = _chain(name, samples, parts, enough)
    return chain or Mistake("shape", f"its shape is {given}; {name} has {right}")


def _turned(name: str, samples: Sequence[Sample], enough: float) -> Mistake | None:
    """The given array has the axes in another order."""
    ndim = samples[0].given[name].ndim
    for order in itertools.permutations(range(ndim)) if 1 < ndim < 5 else ():
        turned = [s.given[name].transpose(order) for s in samples]
        if _right(name, samples, enough, turned):
            if ndim == 2:
                return Mistake("transpose", "a transpose: it is the transposed gradient")
            return Mistake("axis", f"wrong axes: permute it to {order}")
    return None


def _plain(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    if _right(name, samples, enough, (-s.given[name] for s in samples)):
        return Mistake("sign", "the sign: it is minus the gradient")
    if (turned := _turned(name, samples, enough)) is not None:
        return turned
    factor = _constant_ratio([(s.given[name], s.right[name]) for s in samples], enough)
    if factor is None:
        return None
    shown = _number(factor)
    sizes = {int(np.size(v)) for s in samples for v in s.point.values()} - {0, 1}
    mean = next((n for n in sizes if abs(abs(factor) - n) < 1e-6 * n), None)
    less = next((n for n in sizes if abs(abs(factor) * n - 1) < 1e-6), None)
    if mean is not None and mean > 2:
        return Mistake("factor", f"a factor: {shown} is missing; {mean} is the number of entries")
    if less is not None and less > 2:
        said = f"a factor: it is {_number(1 / factor)} times too large; {less} is the number of "
        return Mistake("factor", said + "entries (a mean, or a sum?)")
    if abs(factor) > 1:
        return Mistake("factor", f"a factor: {shown} is missing")
    return Mistake("factor", f"a factor: it is {_number(1 / factor)} times too large")


def _constant_ratio(pairs: Sequence[tuple[Array, Array]], enough: float) -> float | None:
    """The number that turns the first of each pair into the second; None where there is none.

    One entry at one point has a ratio to anything.
    """
    given, right = (np.concatenate([a.ravel() for a in side]) for side in zip(*pairs, strict=True))
    weight = float(given @ given)
    if right.size < 2 or not weight or not np.isfinite(weight):
        return None
    factor = float(given @ right) / weight
    return factor if factor and close(given * factor, right, enough) else None


def _normalised(
    name: str, samples: Sequence[Sample], parts: Parts, enough: float
) -> Mistake | None:
    """One factor for all entries, another at each point: a division by a norm or a sum is left
    out."""
    ratios = [_constant_ratio([(s.given[name], s.right[name])], enough) for s in samples]
    if samples[0].right[name].size < 2 or None in ratios:
        return None
    return Mistake(
        "factor", f"a factor: {_number(float(ratios[0] or 0.0))} here, another elsewhere, the same "
        "for all entries (a norm or a sum of them that divides?)",
    )  # fmt: skip


def _number(value: float) -> str:
    if abs(value - 1) < 1e-5:
        return f"{value:.10g}"
    simple = Fraction(value).limit_denominator(64)
    if abs(float(simple) - value) < 1e-7 * max(1.0, abs(value)):
        return str(simple)
    for word, size in (("pi", np.pi), ("e", np.e), ("log(2)", np.log(2)), ("sqrt(2)", 2**0.5),
                       ("sqrt(pi)", np.pi**0.5)):  # fmt: skip
        for ratio in (value / size, value * size):
            simple = Fraction(ratio).limit_denominator(12)
            if simple and abs(float(simple) - ratio) < 1e-7:
                sign = "*" if ratio == value / size else "/"
                return f"{simple}{sign}{word}" if simple != 1 or sign == "/" else word
    return f"{value:.6g}"


def _exchanged(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    for other in samples[0].right:
        if other != name and all(close(s.given[name], s.right[other], enough) for s in samples):
            return Mistake("exchanged", f"two variables exchanged: it is the gradient by {other}")
    return None


def _index(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """Entries moved by one along an axis; what falls off the end comes back or is 0."""
    shape = samples[0].right[name].shape
    for axis, size in enumerate(shape):
        if size < 2:
            continue
        for step in (1, -1) if size > 2 else ():
            moved = [np.roll(s.given[name], step, axis) for s in samples]
            inside = [slice(None)] * len(shape)
            inside[axis] = slice(1, None) if step > 0 else slice(None, -1)
            parted = [
                (m[tuple(inside)], s.right[name][tuple(inside)])
                for m, s in zip(moved, samples, strict=True)
            ]
            if _right(name, samples, enough, moved) or (
                size > 3 and all(_varies(b, enough) and close(a, b, enough) for a, b in parted)
            ):
                way = "after" if step > 0 else "before"
                along = f" along axis {axis}" if len(shape) > 1 else ""
                said = f"off by an index: entry i has what belongs to the one {way} it{along}"
                return Mistake("index", said)
        if _right(name, samples, enough, [np.flip(s.given[name], axis) for s in samples]):
            return Mistake("index", f"the entries are in reverse order along axis {axis}")
    return None


def _varies(array: Array, enough: float) -> bool:
    return float(np.ptp(array)) > enough * float(np.abs(array).max(initial=0))


def _ends(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """Two entries exchanged what they have too much, or the ends alone are wrong."""
    off = []
    for s in samples:
        scale = float(np.abs(s.right[name]).max(initial=0.0))
        off.append(np.abs(s.right[name] - s.given[name]) > enough * scale)
    wrong = np.logical_or.reduce(off)
    places = np.argwhere(wrong)
    if len(places) == 2 and all(
        abs(float((s.right[name] - s.given[name])[wrong].sum())) <= enough for s in samples
    ):
        first, second = (tuple(map(int, p)) if len(p) > 1 else int(p[0]) for p in places)
        return Mistake("index", f"off by an index: entry {first} has what belongs to {second}, or "
                       "the other way round")  # fmt: skip
    for axis, size in enumerate(wrong.shape):
        inside = np.delete(wrong, [0, size - 1], axis) if size > 3 else None
        if inside is not None and len(places) and not inside.any():
            along = f" along axis {axis}" if wrong.ndim > 1 else ""
            return Mistake("index", f"the ends: it agrees inside, not at the first or last{along}")
    return None


def _chain(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """The inner derivative left out: the given gradient stops at a part of the expression."""
    for text, pulled in parts.pulled:
        if _right(name, samples, enough, map(pulled, samples)):
            return Mistake("chain factor", f"a missing chain factor: the derivative of {text}")
    return None


def _held(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """One of the ways in which the variable enters left out: a term of the sum or product rule."""
    for text, gradient in parts.constant:
        held = [gradient(s) for s in samples]
        if any(
            h is None or h.shape != s.given[name].shape for h, s in zip(held, samples, strict=True)
        ):
            continue
        if all(_same(h, s.given[name], enough) for h, s in zip(held, samples, strict=True)):
            return Mistake(
                "term", f"a missing term: {text} is taken as a constant, it depends on {name}"
            )
        # given = held + c*(right - held): what comes through the part, c times
        through = [
            (s.right[name] - h, s.given[name] - h)
            for h, s in zip(held, samples, strict=True) if h is not None
        ]  # fmt: skip
        factor = _constant_ratio(through, 10 * enough)
        if factor is None or abs(factor - 1) < 1e-6 or all(not np.any(h) for h in held):
            continue
        if abs(factor + 1) < 1e-6:
            return Mistake("sign", f"the sign of one term: what comes through {text}")
        if abs(Fraction(factor).limit_denominator(12) - factor) < 1e-7:
            return Mistake("factor", f"a factor: what comes through {text} is {_number(factor)} "
                           "times what it should be")  # fmt: skip
    return None


def _same(a: Array | None, b: Array, enough: float) -> bool:
    return close(b, a, enough) if a is not None and a.shape == b.shape else False


def _another(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """The derivative of a function inside the expression left out, or another axis."""
    for table, kind, said in (
        (parts.through, "chain factor", "a missing chain factor: the derivative of"),
        (parts.axes, "axis", "the wrong axis: it is the gradient with"),
    ):
        for text, gradient in table:
            if all(_same(gradient(s), s.given[name], enough) for s in samples):
                return Mistake(kind, f"{said} {text}")
    return None


def _power(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """Given times a power of a variable (and a number) is the gradient."""
    right = [s.right[name] for s in samples]
    for other in sorted(samples[0].point, key=lambda n: n != name):
        bases = [s.point[other] for s in samples]
        if any(b.shape not in ((), r.shape) for b, r in zip(bases, right, strict=True)):
            continue
        for k in (1, -1, 2, -2, 0.5, -0.5, 3, -3):
            changed = [_scaled(s.given[name], s.point[other], k) for s in samples]
            if not all(np.isfinite(c).all() for c in changed):
                continue
            factor = _constant_ratio([*zip(changed, right, strict=True)], enough)
            sizes = {round(float(v), 9) for b in bases for v in np.ravel(np.abs(b))}
            if factor is not None and len(sizes) > 1:
                times = f"{other}^{k:g}" if k != 1 else other
                more = f"{_number(factor)}*{times}" if abs(factor - 1) > 1e-7 else times
                return Mistake("power", f"the wrong power of {other}: times {more} it agrees")
    return None


def _scaled(given: Array, value: Array, power: float) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(given * value**power)


def _term(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """What is missing is a multiple of a term's gradient, of a part's value, or a number."""
    shape = samples[0].right[name].shape
    for what, table in (("the derivative of ", parts.gradients), ("", parts.values)):
        for text, part in table:
            terms = [part(s) for s in samples]
            if any(t is None or t.shape not in ((), shape) for t in terms):
                continue
            full = [np.broadcast_to(t, shape) for t in terms if t is not None]
            missing = [
                (t, s.right[name] - s.given[name]) for s, t in zip(samples, full, strict=True)
            ]
            factor = _constant_ratio(missing, 10 * enough)
            if factor is None or abs(factor) < 1e-6:
                continue
            return _of_term(factor, f"{what}{text}", bool(what))
    rest = np.concatenate([(s.right[name] - s.given[name]).ravel() for s in samples])
    if rest.size > 1 and float(np.ptp(rest)) <= enough * float(np.abs(rest).max()):
        return Mistake("term", f"a missing term: the number {_number(float(rest[0]))}")
    return None


def _of_term(factor: float, said: str, derivative: bool) -> Mistake:
    if abs(factor - 2) < 1e-6 and derivative:
        return Mistake("sign", f"the sign of one term: {said}")
    if abs(factor - 1) < 1e-6:
        return Mistake("term", f"a missing term: {said}")
    if abs(factor + 1) < 1e-6:
        return Mistake("term", f"a term too many: {said}")
    return Mistake("term", f"a term is off by {_number(factor)} times {said}")


def _factor(name: str, samples: Sequence[Sample], parts: Parts, enough: float) -> Mistake | None:
    """A part of the expression, or a power of it, left out of a product, or one too many."""
    formula = parts.formula or ""
    powers = 1.0, -1.0, 0.5, -0.5, 2.0, -2.0
    written = [entry for entry in parts.values if entry[0] in formula]
    tried = [(p, *entry) for entry in written for p in powers]
    tried += [(p, *entry) for p in powers for entry in parts.values]
    for power, text, part in tried:
        changed = []
        for s in samples:
            value = part(s)
            if value is None or value.shape not in ((), s.right[name].shape):
                break
            scaled = _scaled(s.given[name], np.asarray(value, dtype=float), power)
            if not np.isfinite(scaled).all():
                break
            changed.append((scaled, s.right[name]))
        else:
            factor = _constant_ratio(changed, enough)
            if factor is not None:
                return _of_factor(factor, text, power, parts.formula)
    return None


def _of_factor(factor: float, text: str, power: float, formula: str | None) -> Mistake:
    plain = text.isidentifier() or (text.endswith(")") and text.find("(") == text.rfind("("))
    shown = text if plain else f"({text})"
    if formula is not None and text in formula:
        times = shown if power == 1 else f"{shown}^{power:g}"
        more = "" if abs(factor - 1) < 1e-7 else f"{_number(factor)}*"
        return Mistake("power", f"the wrong power of {text}: times {more}{times} it agrees")
    if abs(factor - 1) < 1e-7 and abs(power) == 1:
        return Mistake("factor", f"a factor: {text} is {'missing' if power > 0 else 'too many'}")
    return Mistake("factor", f"a factor: {_number(factor)}*{shown}^{power:g} is missing")
