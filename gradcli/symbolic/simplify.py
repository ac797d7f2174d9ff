"""The forms that a derivative may be written in, the shortest first.

As traced, multiplied out, factored, each with relations between functions used or not, each with
functions recognised or not. All are equal; the cost decides, the numeric check has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gradcli.ops.errors import Fault
from gradcli.symbolic import value as v
from gradcli.symbolic.algebra import (
    cancelled,
    denominators_opened,
    factored,
    fractions,
    lifted,
    opened,
)
from gradcli.symbolic.normal import arrangements
from gradcli.symbolic.recognise import (
    as_quotients,
    double_angles,
    hyperbolic,
    mirrored,
    named,
    squares_exchanged,
    tidied,
)
from gradcli.symbolic.text import Text
from gradcli.symbolic.write import Writer

_EXCHANGES = (
    ("sin", "cos", -1), ("cos", "sin", -1), ("sinh", "cosh", -1), ("cosh", "sinh", 1),
)  # fmt: skip
MOST_FORMS = 80


def forms(t: v.Tensor, dims: Sequence[str], sizes: dict[str, int] | None = None) -> list[Text]:
    """Texts of equal value, shortest first; among equals the one nearest to what was traced."""
    labels = tuple((d, i) for i, d in enumerate(dims))
    writer = Writer(sizes or {})
    found: dict[str, Text] = {}
    refused: Fault | None = None
    for candidate in _distinct(_candidates(t)):
        try:
            text = writer.tensor(candidate, labels, True)
        except Fault as fault:
            refused = refused or fault
            continue
        found.setdefault(text.key, text)
    if not found and refused is not None:
        raise refused
    return sorted(found.values(), key=lambda x: x.cost)


def _distinct(candidates: Iterator[v.Tensor]) -> Iterator[v.Tensor]:
    seen = set()
    for t in candidates:
        if t.key not in seen and len(seen) < MOST_FORMS:
            seen.add(t.key)
            yield t


_NAMED = frozenset(("exp", "sigmoid", "sin", "cos", "sinh", "cosh"))
_TIDIED = frozenset(("sign", "maximum", "where"))


def _calls(t: v.Tensor) -> set[str]:
    """The functions in a tensor."""
    return {b.name for b in v.bases_of(t) if b.kind == "call"}


def _candidates(t: v.Tensor) -> Iterator[v.Tensor]:
    """All forms: rearranged as it stands, then by its normal form."""
    yield from _rearranged(t)
    yield from _normal(t)


def _normal(t: v.Tensor) -> Iterator[v.Tensor]:
    """The normal form, squares of sines and cosines exchanged or not, tan as sin/cos or not."""
    if len(t.terms) < 2 and not any(_opens(b) for b in v.bases_of(t, _is_group)):
        return
    t = tidied(t)
    calls = _calls(t)
    starts = [t]
    if calls & {"tan", "tanh"}:
        starts.append(as_quotients(t))
    for start in starts:
        for gone in _GONE if _calls(start) & _SQUARES else _GONE[:1]:
            for shape in arrangements(start, gone):
                yield from _spelled(tidied(shape))


_SQUARES = frozenset(("sin", "cos", "sinh", "cosh"))
_GONE = (frozenset(), frozenset(("sin", "sinh")), frozenset(("cos", "cosh")))


def _opens(b: v.Base) -> bool:
    return b.kind == "sum" and len(b.args[0].terms) > 1


def _rearranged(t: v.Tensor) -> Iterator[v.Tensor]:
    calls = _calls(t)
    if not calls & _TIDIED and not calls & _NAMED:
        yield from _arranged(t)
        return
    t = tidied(t)
    for shape in _distinct(_arranged(t)):
        yield from _spelled(shape)
    if not calls & {gone for gone, _, _ in _EXCHANGES}:
        return
    flat = _tried(opened, named(t))
    for start in (t, flat):
        for gone, stays, sign in _EXCHANGES:
            if start is None or gone not in calls:
                continue
            other = squares_exchanged(start, gone, stays, sign)
            if other is not None:
                for shape in _distinct(_arranged(other)):
                    yield from _spelled(shape)


def _arranged(t: v.Tensor) -> Iterator[v.Tensor]:
    """A tensor as it is, factored and multiplied out."""
    yield t
    if len(t.terms) < 2 and not any(
        b.kind == "sum" and len(b.args[0].terms) > 1 for b in v.bases_of(t, _is_group)
    ):
        return
    whole = _tried(fractions, t)
    for arrange in (lifted, cancelled, factored, opened):
        start = whole if arrange is cancelled or arrange is factored else t
        if start is None:
            continue
        change = partial(factored, t) if arrange is factored else arrange
        other = _tried(change, start)
        if other is not None:
            other = tidied(other)
            yield other
            again = _tried(factored if arrange is opened else denominators_opened, other)
            if again is not None:
                yield again


def _is_group(b: v.Base) -> bool:
    return b.kind == "sum"


def _spelled(t: v.Tensor) -> Iterator[v.Tensor]:
    """A tensor with functions recognised, and as it is."""
    if not _calls(t) & _NAMED:
        yield t
        return
    short = named(t)
    yield short
    yield t
    if "exp" in _calls(t):
        yield hyperbolic(t)
    if "sigmoid" in _calls(short):
        yield mirrored(short)
    angles = double_angles(short)
    while angles is not None:
        yield angles
        angles = double_angles(angles)


def _tried(change: object, t: v.Tensor) -> v.Tensor | None:
    """A rearrangement, or None where it grows past the limit."""
    try:
        return change(t)  # type: ignore[operator]
    except Fault:
        return None
