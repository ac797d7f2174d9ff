"""The forms that a derivative may be written in, the shortest first.

As traced, multiplied out, factored, each with relations between functions used or not, each with
functions recognised or not. All are equal; the cost decides, the numeric check has the last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from gradcli.ops.errors import Fault
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.emit.writer import Writer
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import factored, lifted, opened
from gradcli.symbolic.expr.elementwise import SHARES
from gradcli.symbolic.expr.identities import EVEN, ODD, QUOTIENTS, SQUARES
from gradcli.symbolic.expr.rational import opens
from gradcli.symbolic.simplify.angles import double_angles, roots_named
from gradcli.symbolic.simplify.arrangements import arrangements
from gradcli.symbolic.simplify.choice_trees import by_cases, choices_met
from gradcli.symbolic.simplify.cross_products import crossed, turns
from gradcli.symbolic.simplify.exponentials import (
    erfc_scaled,
    erfcx_below,
    exponents_below,
    exponents_joined,
    exponents_met,
    over_expm1,
)
from gradcli.symbolic.simplify.guards import unguarded
from gradcli.symbolic.simplify.inverse_products import inverses_joined, systems_solved
from gradcli.symbolic.simplify.piecewise import PIECES
from gradcli.symbolic.simplify.recognise import (
    as_exponentials,
    as_quotients,
    mirrored,
    named,
    ramps,
    tidied,
)
from gradcli.symbolic.simplify.regroup import (
    groups_kept,
    inverses_met,
    logs_joined,
    logs_of_shares,
    products_joined,
    products_opened,
    shares_summed,
    sums_shared,
)
from gradcli.symbolic.simplify.relations import (
    Rule,
    balanced,
    hyperbolic,
    is_call,
    logarithms_named,
    powers_joined,
    powers_named,
)

_SQUARES = frozenset(SQUARES)
_ANGLES = _SQUARES | set(QUOTIENTS)
_GONE: tuple[frozenset[str], ...] = (frozenset(), _SQUARES & ODD, _SQUARES & EVEN)
"""Functions whose squares are exchanged in a normal form: none, the odd ones, the even ones."""
_RAMPS = frozenset(PIECES) - {"where", "abs"}
_NAMED = _SQUARES | {"exp", "sigmoid"}
_RULES: tuple[Rule, ...] = (
    hyperbolic, balanced, exponents_joined, powers_named, logarithms_named, ramps, powers_joined,
    logs_of_shares, logs_joined, erfc_scaled,
)  # fmt: skip
"""Rules that are tried on every arrangement, each where its operators occur."""
MOST_FORMS = 80
MOST_WORK = 8000
"""Factors, over all forms that are tried: the search ends there, the same way every time."""
MOST_STEP, MOST_STEPS = 30_000, 120_000
"""Factors that one rearrangement may look at, and all of them."""


def forms(t: v.Tensor, dims: Sequence[str], sizes: dict[str, int] | None = None) -> list[Text]:
    """Texts of equal value, shortest first; among equals the one nearest to what was traced."""
    labels = v.labels_of(dims)
    writer = Writer(sizes or {})
    found: list[Text] = []
    refused: Fault | None = None
    for candidate in _Search(t).forms():
        try:
            text = writer.tensor(candidate, labels, True)
        except Fault as fault:
            refused = refused or fault
            continue
        found.append(text)
        if text.cost < 2:
            break
    if not found and refused is not None:
        raise refused
    bases = v.bases_of(t)
    if any(b.kind == "matrix" and b.name == "inv" for b in bases):
        scalars = {b.name for b in bases if b.kind in ("name", "size") and not b.dims}
        for change in (inverses_joined, systems_solved):
            found += [y for x in found if (y := change(x, scalars)) is not None]
    # Among equals A.T @ (u*v) before (A.T*u) @ v.
    found.sort(key=lambda x: (x.cost, x.key.count(".T*")))
    if len(dims) < 3 and "einsum(" in found[0].key:  # it says little where matrices can say it
        found.sort(key=lambda x: "einsum(" in x.key)
    return found


def forms_at(
    t: v.Tensor, dims: Sequence[str], sizes: dict[str, int]
) -> tuple[list[Text], list[Text]]:
    """The forms, and the same at other sizes, at which they can be checked."""
    found = forms(t, dims)
    return found, forms(t, dims, sizes) if sizes else found


class _Search:
    """The candidates for one tensor, each once, within a budget."""

    def __init__(self, t: v.Tensor) -> None:
        if any(is_call(b, "eq") for b in v.bases_of(t)):
            t = _tried(choices_met, t) or t  # before trees, of which no cell is a tie
        self.exponentials = _exponentials(t)
        self.t = as_exponentials(t)
        self.shares = None if t == self.t else _tried(choices_met, t) or t
        t = self.t
        self.calls = {b.name for b in v.bases_of(t) if b.kind == "call"}
        self.single = len(t.terms) < 2 and not any(map(opens, v.groups_of(t)))
        sums = [b for b in v.groups_of(t) if not b.dims and len(b.args[0].terms) == 1]
        self.scalars = len(sums)
        self.shapes: set = set()

    def forms(self) -> Iterator[v.Tensor]:
        """All candidates; after them those that do not overflow in both parts of a quotient."""
        given = {}
        work = 0
        with v.limited(MOST_STEPS):
            for t in self._all():
                if t is not None and t.key not in given:
                    given[t.key] = t
                    work += _size(t)
                    yield t
                    if len(given) == MOST_FORMS or work > MOST_WORK:
                        break
        lasting = []
        if self._named(self.t) is self.shares and self.shares is not None:
            lasting = [self.shares, _tried(lifted, self.shares)]
            lasting.append(_tried(lambda t: lifted(shares_summed(t)), self.shares))
        for rule in (exponents_below, over_expm1, erfcx_below):
            if rule.operators <= self.calls:
                lasting += [_tried(rule, t) for t in [*given.values(), *filter(None, lasting)]]
        for t in lasting:
            if t is not None and t.key not in given:
                given[t.key] = t
                yield t

    def _all(self) -> Iterator[v.Tensor | None]:
        """As it stands, rearranged, by its normal form."""
        t = self.t
        if self.calls & _ANGLES:
            t = _tried(roots_named, t) or t
        if self.calls >= {"exp", "log"} and not self.single:
            t = _tried(exponents_met, t) or t
        if self.calls & (tidied.operators | {"where"}):
            yield t
            if "where" in self.calls:
                t = _tried(unguarded, t) or t
            t = _tried(tidied, t) or t
            if "where" in self.calls:
                yield from self._trees(t)
                t = _tried(choices_met, t) or t
        if turns(t):
            yield from self._crosses(t)
        whole = _tried(lambda u: groups_kept(named(u)), t)
        if whole is not None:
            yield from (whole, _tried(lifted, whole))
        for shape in self._arranged(t):
            yield from self._variants(shape)
        shares = self._named(t)
        if shares is not None and any(is_call(b, *SHARES) for b in v.bases_of(shares)):
            for shape in self._arranged(shares):  # shares as units
                yield from self._variants(shape)
        if not self.single:
            yield from self._normal(t)

    def _named(self, t: v.Tensor) -> v.Tensor | None:
        """A tensor with its shares as units: as they were traced where not all are found again."""
        found = _tried(lambda u: named(opened(u)), t) if "exp" in self.calls else None
        if self.shares is None or (found and not _exponentials(found) - self.exponentials):
            return found
        return self.shares

    def _trees(self, t: v.Tensor) -> Iterator[v.Tensor | None]:
        """A tensor with its choices as one tree, and the other terms in its leaves or not."""
        trees = [_tried(by_cases, t), _tried(lambda u: by_cases(u, False, True), self.t)]
        if trees[0] not in (None, t):
            trees.append(_tried(ramps, trees[0]))
        if self.calls & _RAMPS:
            trees.append(_tried(lambda u: by_cases(u, True, False), t))
        for start in dict.fromkeys(trees):
            if start is not None and start not in (t, self.t):
                for shape in self._arranged(_tried(tidied, start) or start):
                    yield from self._variants(shape)

    def _crosses(self, t: v.Tensor) -> Iterator[v.Tensor | None]:
        """Cross products by their name, what stands in them multiplied out or shared."""
        first = _tried(crossed, t) or t
        shared = _tried(lambda u: crossed(sums_shared(opened(u))), first)
        for other in (_tried(lambda u: crossed(opened(u)), first), first, shared):
            for shape in self._arranged(other) if other is not None else ():
                yield from self._variants(shape)

    def _normal(self, t: v.Tensor) -> Iterator[v.Tensor | None]:
        """The normal form, squares of sines and cosines exchanged or not, tan as sin/cos or not."""
        starts = [t]
        if self.calls & set(QUOTIENTS):
            starts.append(_tried(as_quotients, t) or t)
        for start in starts:
            squares = self.calls & _SQUARES or start is not t
            for gone in _GONE if squares else _GONE[:1]:
                for shape in _tried(partial(_by_parts, gone=gone), start) or ():
                    yield from self._variants(_tried(tidied, shape), start is not t)
        for start in dict.fromkeys((t, _tried(opened, t) or t)) if t.free() else ():
            for shape in _tried(_coefficients, start) or ():
                yield from self._variants(shape)

    def _arranged(self, t: v.Tensor) -> Iterator[v.Tensor]:
        """A tensor as it is, factored and multiplied out."""
        yield t
        if self.single:
            return
        over_all = [lambda u: lifted(u, True)] if _divides(t) else []
        for arrange in (lifted, *over_all, factored, opened):
            other = _tried(arrange, t, tidy=True)
            if other is not None:
                yield other
                if arrange is opened:
                    yield from filter(None, (_tried(factored, other),))
        yield from self._regrouped(t)

    def _regrouped(self, t: v.Tensor) -> Iterator[v.Tensor]:
        """A tensor with what is summed over shared, as it is and multiplied out."""
        yield from _changed(inverses_met, t)
        for flat in _changed(products_opened, t):
            yield flat
            yield from filter(None, (_tried(lifted, flat), _tried(factored, flat)))
        for start in (t, *_changed(opened, t)):
            for most, last in ((9, False), (1, False), (1, True)):
                yield from _changed(partial(sums_shared, most=most, last=last), start)

    def _variants(self, t: v.Tensor | None, quotients: bool = False) -> Iterator[v.Tensor | None]:
        """A tensor with functions recognised, and as it is. Each tensor once."""
        if t is None or t.key in self.shapes:
            return
        self.shapes.add(t.key)
        starts = [*(_changed(named, t) if quotients or self.calls & _NAMED else ()), t]
        yield from starts
        if self.scalars > 1:
            for start in starts:
                yield _tried(products_joined, start)
        for rule in _RULES:
            if rule.operators <= self.calls:
                for start in starts:
                    for other in _changed(rule, start):
                        yield other
                        yield _tried(named, other)
        if "sigmoid" in self.calls or "exp" in self.calls:
            yield _tried(mirrored, starts[0])
        if quotients or self.calls & _SQUARES:
            for start in starts:
                for angles in _tried(double_angles, start) or ():
                    yield angles
                    yield _tried(named, angles)


def _divides(t: v.Tensor) -> bool:
    """Whether terms of a sum have something below the line."""
    sums = [u for u in (t, *(b.args[0] for b in v.groups_of(t))) if len(u.terms) > 1]
    return any(e < 0 for u in sums for m in u.terms for _, _, e in m)


def _by_parts(t: v.Tensor, gone: frozenset[str]) -> list[v.Tensor]:
    """The arrangements of a tensor; those of its diagonal and of its choices each by itself.

    What is below the line in one branch of a choice stays there: the other may be defined where
    it is not.
    """
    parts = _parts(t, lambda f: f[0].kind == "delta" or is_call(f[0], "where"))
    if set(parts) == {()}:
        return arrangements(t, gone)
    return _each_arranged(parts, gone)


def _coefficients(t: v.Tensor) -> list[v.Tensor]:
    """The arrangements of what scalars stand before each vector or matrix."""
    parts = _parts(t, lambda f: bool(f[1]))
    return _each_arranged(parts, frozenset()) if len(parts) < len(t.terms) else []


def _parts(t: v.Tensor, stays: Callable[[tuple], bool]) -> dict[tuple, dict]:
    """The terms by those of their factors that stay as they are."""
    parts: dict[tuple, dict] = {}
    for m, c in t.terms.items():
        kept = tuple(f for f in m if stays(f))
        rest = tuple(f for f in m if f not in kept)
        parts.setdefault(kept, {})[rest] = c
    return parts


def _each_arranged(parts: dict[tuple, dict], gone: frozenset[str]) -> list[v.Tensor]:
    shapes = {kept: arrangements(v.Tensor(part), gone) for kept, part in parts.items()}
    found = []
    for one in [*parts, None]:
        # One part rearranged, the others as they are; then the smallest of each.
        for k in range(len(shapes[one]) if one is not None else 1):
            whole = []
            for kept, part in parts.items():
                form = v.Tensor(part)
                if kept == one:
                    form = shapes[kept][k]
                elif one is None:
                    form = min([form, *shapes[kept]], key=_size)
                whole.append(v.distribute(v.product(kept, v.ONE, v.bound_of(kept)), form))
            found.append(v.add(*whole))
    return found


def _exponentials(t: v.Tensor) -> set[v.Base]:
    """Those that do not stand in calls."""
    return {b for b in v.bases_within(t, lambda b: b.kind != "call") if is_call(b, "exp")}


def _size(t: v.Tensor) -> int:
    """Factors in a tensor and in its groups."""
    whole = [t, *(b.args[0] for b in v.groups_of(t))]
    return sum([len(m) + 1 for u in whole for m in u.terms])


def _changed(change: Callable[[v.Tensor], Any], t: v.Tensor) -> Iterator[v.Tensor]:
    """A rearrangement, where it is within the limit and another tensor; else nothing."""
    found = _tried(change, t)
    if found is not None and found != t:
        yield found


def _tried(change: Callable[[v.Tensor], Any], t: v.Tensor, tidy: bool = False) -> Any:
    """A rearrangement, ``tidy`` or as it comes, or None where it grows past the limit."""
    try:
        with v.limited(MOST_STEP):
            return tidied(change(t)) if tidy else change(t)
    except Fault:
        return None
