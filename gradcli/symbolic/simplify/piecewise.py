"""Functions made of pieces, cell by cell: which comparisons decide, and what holds in each cell.

max, min, relu and choices split the space: ``min(max(x, 0), 6)`` is 0, x or 6. What decides are the
signs of differences between smooth formulas; a cell is one sign for each of them, as far as signs
exclude each other or not (``x > 6`` and not ``x > 0``). Cells have no borders here: what is said
holds but for a set of measure zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.algebra import common, divided, opened
from gradcli.symbolic.expr.elementwise import applied, indicator
from gradcli.symbolic.expr.identities import ORDERS
from gradcli.symbolic.simplify.relations import is_call

PIECES = ("maximum", "minimum", "relu", "where", "abs")
"""The functions that ``Cells`` takes apart; other pieces are written by these, so
which they are is decided here."""
MOST_SIGNS = 6
"""Differences whose signs decide, at most."""
MOST_CELLS = 40
_LENGTHS = ("abs", "sign")
Path = Mapping[int, bool]


_MOST_ROWS = 60
"""Inequalities that are looked at."""


def surely_positive(m: v.Monomial) -> bool:
    """Whether a product is above 0 but for a set of measure zero."""
    return bool(m) and not v.bound_of(m) and all(
        v.is_positive(b, Fraction(e)) or is_call(b, "abs", "relu")
        or (e.denominator == 1 and not e % 2) for b, _, e in m
    )  # fmt: skip


def contradict(rows: list[dict]) -> bool:
    """Whether sums of terms cannot all be above 0.

    Their terms are eliminated one by one, each treated as a variable (Fourier, Motzkin).
    """
    while True:
        if any(not any(c > 0 for c in r.values()) and not any(m and c for m, c in r.items())
               for r in rows):  # fmt: skip
            return True  # a number, not above 0
        terms = {m for r in rows for m, c in r.items() if m and c}
        if not terms or len(rows) > _MOST_ROWS:
            return False
        gone = min(terms, key=lambda m: sum(1 for r in rows if r.get(m)))
        above = [r for r in rows if r.get(gone, 0) > 0]
        below = [r for r in rows if r.get(gone, 0) < 0]
        rows = [r for r in rows if not r.get(gone)]
        for one in above:
            for two in below:
                k = one[gone] / -two[gone]
                both = {m: one.get(m, 0) + k * two.get(m, 0) for m in {*one, *two}}
                rows.append({m: c for m, c in both.items() if c})


class Undecided(Exception):
    """A difference whose sign is not known in a cell."""

    def __init__(self, place: int) -> None:
        self.place = place


class TooMany(Exception):
    """More differences or cells than are worth looking at."""


class Sign:
    """A difference d of which only the sign matters, and a condition that decides it.

    ``test`` holds where d > 0 if ``up``, else where d < 0. ``d`` is None for a condition that is no
    comparison of sizes: it holds where ``up``. ``given`` says that the test stood in the formula.
    """

    __slots__ = ("d", "given", "test", "up")

    def __init__(self, d: v.Tensor | None, test: v.Tensor | None, up: bool) -> None:
        self.d = d
        self.test = test
        self.up = up
        self.given = False

    def condition(self) -> v.Tensor:
        """A condition that holds where d > 0 if ``up``."""
        if self.test is None:
            assert self.d is not None
            plus = v.Tensor({m: c for m, c in self.d.terms.items() if c > 0})
            self.test = applied("gt", (plus, v.add(plus, v.scale(self.d, -1))))
        return self.test


class Cells:
    """The signs that decide among pieces of tensors whose entries have the dimensions ``dims``.

    With ``plainly`` a comparison is not taken apart, nor is an absolute value: of what has pieces
    it is one condition.
    """

    def __init__(self, dims: tuple[str, ...], plainly: bool = False) -> None:
        self.plainly = plainly
        self.dims = dims
        self.own = v.labels_of(dims)
        self.signs: list[Sign] = []
        self.places: dict[Any, tuple[int, bool]] = {}
        self.split_up: dict[Any, tuple[tuple[tuple[int, bool], ...], bool]] = {}
        self.impossible: dict[frozenset, bool] = {}

    # -- signs -----------------------------------------------------------------------------------

    def positive(
        self, d: v.Tensor, path: Path, name: str, sides: Sequence[v.Tensor], given: bool = False
    ) -> bool:
        """Whether a difference, not 0, is above 0 in a cell. Raises Undecided.

        It is that of two sides, which are compared by name (``given`` where the formula does so).
        """
        found = d.number()
        if found is not None:
            return found > 0
        known = self.split_up.get(d.key)
        if known is None:
            known = self.split_up[d.key] = self.factors(d)
        signs, above = known
        if len(signs) == 1:
            place, up = signs[0]
            s = self.signs[place]
            strict = s.test is None or is_strict(s.test)
            if s.test is None or (given and (not s.given or (strict and name in ("ge", "le")))):
                s.test, s.given = applied(name, sides), given
                s.up = (up == above) == (ORDERS[name] > 0)
        for place, up in signs:
            above ^= self.holds(place, path) != up
        return above

    def holds(self, place: int, path: Path) -> bool:
        """Whether a sign is plus in a cell: it is named, or another one would be impossible."""
        if place in path:
            return path[place]
        for yes in (True, False):
            if not self.possible({**path, place: not yes}):
                return yes
        raise Undecided(place)

    def factors(self, d: v.Tensor) -> tuple[tuple[tuple[int, bool], ...], bool]:
        """The signs of the factors of a difference, and whether all plus make it plus."""
        if self.plainly:
            return (self.sign(d),), True
        front, rest = common(d)
        signs: list[tuple[int, bool]] = []
        plus = True
        ((m, _),) = front.terms.items()
        for b, idx, e in m:
            if e.denominator == 1 and e % 2 and not v.is_positive(b, Fraction(e)):
                signs.append(self.sign(v.factor(b, idx)))
        for known in [s.d for s in self.signs]:
            quotient = None if known is None else divided(rest, known)
            if quotient is not None and quotient.number() is None:
                signs.append(self.places[known.key])  # type: ignore[union-attr]
                rest = quotient
        number = rest.number()
        if number is not None:
            plus ^= number < 0
        else:
            signs.append(self.sign(rest))
        return tuple(signs), plus

    def sign(self, d: v.Tensor) -> tuple[int, bool]:
        """The place of a sign, and whether plus there is plus here."""
        c = abs(v.content(d))
        d = d if c == 1 else v.scale(d, 1 / c)
        found = self.places.get(d.key)
        if found is None:
            found = self.added(Sign(d, None, True), d.key)
            self.places[v.scale(d, -1).key] = (found[0], False)
        return found

    def added(self, sign: Sign, key: Any) -> tuple[int, bool]:
        """One more sign; its place."""
        found = self.places[key] = (len(self.signs), True)
        self.signs.append(sign)
        if len(self.signs) > MOST_SIGNS:
            raise TooMany
        return found

    def truth(self, condition: v.Tensor, path: Path) -> bool:
        """Whether a condition holds in a cell. Raises Undecided."""
        test = _comparison(condition)
        if test is not None and self.plainly and not all(map(_is_simple, test[0].args)):
            test = None
        if test is not None and test[1] in (self.own, ()):
            b, idx, _ = test
            given = [v.place(a, idx) for a in b.args]
            sides = [self.resolved(a, path) for a in given]
            d = self.difference(*sides)
            if not d.terms:
                return b.name in ("ge", "le")
            return self.positive(d, path, b.name, sides, sides == given) == (ORDERS[b.name] > 0)
        known = self.places.get(condition.key)
        if known is None:
            known = self.added(Sign(None, condition, True), condition.key)
        return self.holds(known[0], path)

    def difference(self, a: v.Tensor, b: v.Tensor) -> v.Tensor:
        """a - b multiplied out."""
        return opened(v.add(a, v.scale(b, -1)))

    def may_vanish(self, d: v.Tensor, path: Path, wrt: str) -> bool:
        """Whether a difference may be 0 inside a cell by a factor that depends on a variable."""
        if d.number() is not None:
            return False
        size = len(self.signs)
        try:
            return any(
                any(b.name == wrt for b in v.bases_of(self.signs[place].d))  # type: ignore[arg-type]
                and all(self.possible({**path, place: yes}) for yes in (True, False))
                for place, _ in self.factors(d)[0] if place not in path
            )  # fmt: skip
        finally:
            self.forget(size)

    # -- pieces ----------------------------------------------------------------------------------

    def resolved(self, t: v.Tensor, path: Path) -> v.Tensor:
        """A tensor over the own labels with the piece of that cell in place of what has pieces.

        Raises Undecided.
        """
        forms = self.forms(t, path, False)
        return self.put(t, forms, self.own) if forms else t

    def forms(self, t: v.Tensor, path: Path, known: bool) -> dict[v.Base, v.Tensor]:
        """The bases of a tensor that are another one in that cell."""
        forms: dict[v.Base, v.Tensor] = {}
        for b in v.bases_of(t):
            if b.kind not in ("sum", "call") or b.dims not in (self.dims, ()):
                continue
            try:
                new = self.form(b, forms, path, known)
            except Undecided:
                if not known:
                    raise
                continue
            if new is not None:
                forms[b] = new
        return forms

    def form(
        self, b: v.Base, forms: dict[v.Base, v.Tensor], path: Path, known: bool
    ) -> v.Tensor | None:
        """What a base is in a cell; None for itself."""
        own = self.own if b.dims else ()
        if is_call(b, "where"):
            return v.number(int(self.truth(b.args[0], path) == bool(b.args[1].number())))
        changed = any(f in forms for a in b.args for m in a.terms for f, _, _ in m)
        args = [self.put(a, forms, own) for a in b.args] if changed else list(b.args)
        if is_call(b, *PIECES, "sign"):
            if self.plainly and b.name in _LENGTHS:
                return None if args == list(b.args) else applied(b.name, args)
            first, second = (*args, v.ZERO)[:2]
            d = self.difference(first, second)
            if not d.terms:
                return first if b.name != "sign" else v.ZERO
            size = len(self.signs)
            try:
                above = self.positive(d, path, "gt", (first, second))
            except Undecided as fault:
                if known and fault.place >= size:  # nothing else asks for it
                    self.forget(size)
                raise
            if b.name in _LENGTHS:
                return v.scale(first if b.name == "abs" else v.UNIT, 1 if above else -1)
            return first if above == (b.name != "minimum") else second
        if not changed or args == list(b.args):
            return None
        return args[0] if b.kind == "sum" else applied(b.name, args)

    def forget(self, size: int) -> None:
        """Only the first signs, as they were."""
        del self.signs[size:]
        self.places = {k: x for k, x in self.places.items() if x[0] < size}
        self.impossible = {k: x for k, x in self.impossible.items() if all(i < size for i, _ in k)}
        self.split_up = {k: x for k, x in self.split_up.items() if all(i < size for i, _ in x[0])}

    def put(self, t: v.Tensor, forms: Mapping[v.Base, v.Tensor], at: tuple) -> v.Tensor:
        """A tensor with forms in place of bases that stand at these labels or are scalars."""
        found = []
        for m, c in t.terms.items():
            if not any(f in forms and idx in (at, ()) for f, idx, _ in m):
                found.append(v.Tensor({m: c}))
                continue
            bound = v.bound_of(m)
            kept = [(f, i, e) for f, i, e in m if f not in forms or i not in (at, ())]
            if bound - v.bound_of(kept):
                raise TooMany
            term = v.product(kept, c, bound)
            for f, i, e in m:
                if f in forms and i in (at, ()):
                    term = v.mul(term, v.power(v.place(forms[f], i), Fraction(e)))
            found.append(term)
        return v.add(*found)

    # -- what excludes what ----------------------------------------------------------------------

    def possible(self, path: Path) -> bool:
        """Whether these signs are possible together, as far as linear combinations tell."""
        key = frozenset(path.items())
        found = self.impossible.get(key)
        if found is None:
            found = self.impossible[key] = not contradict(self.rows(path))
        return found

    def rows(self, path: Path) -> list[dict]:
        """Sums of terms that are above 0, by term."""
        rows = []
        terms: dict[v.Monomial, None] = {}
        for place, yes in path.items():
            d = self.signs[place].d
            if d is not None:
                rows.append(dict((d if yes else v.scale(d, -1)).terms))
                terms.update(dict.fromkeys(d.terms))
        if len(rows) < 2 and not any(surely_positive(m) for m in terms):
            return []
        return rows + [{m: v.ONE} for m in terms if surely_positive(m)]

    def walk(self, ask: Any) -> list[tuple[dict[int, bool], Any]]:
        """What ``ask`` says in every cell, with the signs that it needed to know there."""
        found = []
        waiting: list[dict[int, bool]] = [{}]
        while waiting:
            path = waiting.pop()
            try:
                found.append((path, ask(path)))
            except Undecided as fault:
                for yes in (False, True):
                    more = {**path, fault.place: yes}
                    if self.possible(more):
                        waiting.append(more)
            if len(found) + len(waiting) > MOST_CELLS:
                raise TooMany
        return found

    def all(self) -> Iterator[dict[int, bool]]:
        """Every cell, with all its signs."""
        waiting: list[dict[int, bool]] = [{}]
        while waiting:
            path = waiting.pop()
            place = len(path)
            if place == len(self.signs):
                yield path
                continue
            for yes in (False, True):
                more = {**path, place: yes}
                if self.possible(more):
                    waiting.append(more)

    def indicator(self, place: int, yes: bool) -> v.Tensor:
        """1 where a sign is plus (or minus), else 0: over the own labels."""
        s = self.signs[place]
        return indicator(s.condition(), yes == s.up)


def _comparison(condition: v.Tensor) -> tuple | None:
    """The one comparison of sizes that a condition is, as ``sole`` gives it."""
    found = v.sole(condition)
    return found if found is not None and is_call(found[0], *ORDERS) else None


def _is_simple(t: v.Tensor) -> bool:
    """Whether a tensor has no pieces but lengths, or is a max, a min or a choice alone."""
    if all(len(m) == 1 and is_call(m[0][0], *PIECES) for m in t.terms):
        return True
    chosen = [
        v.product([f for f in m if not is_call(f[0], "where")], c, v.bound_of(m))
        for m, c in t.terms.items()
    ]
    return not any(is_call(b, *PIECES) and b.name != "abs" for u in chosen for b in v.bases_of(u))


def is_strict(condition: v.Tensor) -> bool:
    """Whether comparisons leave out where both sides are equal."""
    return all(b.name in ("gt", "lt") for m in condition.terms for b, _, _ in m)


def meeting(a: v.Tensor, b: v.Tensor, apart: Any, wrt: str) -> tuple[v.Tensor | None, bool]:
    """1 in the cells in which two formulas are one, else 0; None where that is not clear.

    And whether they may agree at single points of other cells too, but for what does not depend on
    the variable ``wrt``. ``apart`` says whether two formulas that are not made of pieces agree at
    isolated points only.
    """
    at = tuple(sorted({*a.free(), *b.free()}, key=lambda x: (x[1], x[0])))
    cells = Cells(tuple(x[0] for x in at))
    names = dict(zip(at, cells.own, strict=True))
    sides = [v.relabel(x, names) for x in (a, b)]

    def ask(path: Path) -> tuple[bool, bool] | None:
        one, two = (cells.resolved(x, path) for x in sides)
        d = cells.difference(one, two)
        if not d.terms:
            return True, False
        return (False, cells.may_vanish(d, path, wrt)) if apart(one, two) else None

    try:
        found = cells.walk(ask)
    except TooMany:
        return None, False
    if any(same is None for _, same in found):
        return None, False
    whole = []
    for path, (same, _) in found:
        if same:
            term = v.UNIT
            for place, yes in path.items():
                term = v.mul(term, cells.indicator(place, yes))
            whole.append(term)
    return v.place(v.add(*whole), at), any(single for _, (_, single) in found)


def has_pieces(tensors: Sequence[v.Tensor]) -> bool:
    """Whether tensors are made of pieces that ``cells`` can tell apart."""
    return any(b.kind == "call" and b.name in PIECES for t in tensors for b in v.bases_of(t))
