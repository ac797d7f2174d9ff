"""Labels, interned bases and the symbolic tensor itself: what ``expr.tensor`` computes with.

    a label     (dimension, number): one axis. A number below 0 is summed over, others are free
    a base      a variable, the delta, a constant, a dimension, an elementwise call, a grouped sum

Bases are interned, so that equality is identity, and numbered as they appear: every order that a
result depends on comes from these numbers.
"""

from __future__ import annotations

from _thread import _local as local
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from gradcli.symbolic.unsupported import no_closed_form, too_large

Label = tuple[str, int]
Monomial = tuple[tuple["Base", tuple[Label, ...], Fraction], ...]
ONE, HALF = Fraction(1), Fraction(1, 2)
MOST_TERMS = 600
"""Terms that one tensor may have before the machine gives up on it."""
MOST_WORK = 2_000_000
"""Factors that one derivation may look at. Counted, not timed: the same input ends the same way."""


def hidden(dimension: str, place: int) -> Label:
    """The label of an axis of the variable by which is differentiated."""
    return dimension, 500 + place


def is_hidden(label: Label) -> bool:
    """Whether a label belongs to the variable by which is differentiated."""
    return 500 <= label[1] < 600


class Base:
    """What stands under an exponent; made by ``base`` only, so that equal bases are identical.

    kind    "name", "constant", "number", "size", "delta", "call", "sum" or "matrix"
    name    of the variable, constant, dimension or operator; the number itself
    args    tensors over the local labels 0, 1, ... (calls: the arguments; sums: the body)
    dims    the dimension of each axis
    traits  properties of a variable: "symmetric", "spd", "positive"
    """

    __slots__ = ("args", "dims", "examined", "kind", "name", "serial", "traits")

    def __init__(self, kind: str, name: Any, args: tuple, dims: tuple, traits: frozenset) -> None:
        self.kind = kind
        self.name = name
        self.args = args
        self.dims = dims
        self.traits = traits
        self.serial = 0
        self.examined = False

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name} #{self.serial}>"


class _Table(local):
    """The interned bases of the derivation that this thread is working on."""

    def __init__(self) -> None:
        self.bases: dict[Any, Base] = {}
        self.memory: dict[Any, Any] = {}
        self.fresh = 0
        self.tally = [0, MOST_WORK]  # what has been done, and where it ends
        self.decimals = False


_table = _Table()


def reset() -> None:
    """Forget all bases: a derivation starts with an empty table, so that it depends on nothing."""
    _table.bases = {}
    _table.memory = {}
    _table.fresh = 0
    _table.tally = [0, MOST_WORK]


def spend(work: int) -> None:
    """Count work, in factors. Raises a fault (E0701) where the limit is reached."""
    tally = _table.tally
    tally[0] += work
    if tally[0] > tally[1]:
        raise too_large()


def digits(c: Fraction) -> int:
    """The work that a coefficient makes by its length: a product of 10,000 numbers is a long
    one."""
    return (c.numerator.bit_length() + c.denominator.bit_length()) // 200


@contextmanager
def limited(work: int) -> Iterator[None]:
    """Within this block no more than so much work can be done (see ``spend``)."""
    tally = _table.tally
    before, tally[1] = tally[1], min(tally[1], tally[0] + work)
    try:
        yield
    finally:
        tally[1] = before


@contextmanager
def decimals(on: bool) -> Iterator[None]:
    """Within this block 3/10 is written 0.3, where ``on``: as who wrote 0.3 would."""
    before, _table.decimals = _table.decimals, on
    try:
        yield
    finally:
        _table.decimals = before


def in_decimals() -> bool:
    """Whether numbers are written as decimals now."""
    return _table.decimals


def terminates(c: Fraction) -> bool:
    """Whether a fraction, no whole number, is a decimal number."""
    below = c.denominator
    for p in (2, 5):
        while below % p == 0:
            below //= p
    return below == 1 and c.denominator > 1


def common(values: Sequence[Fraction]) -> Fraction:
    """What numbers share: the largest that leaves whole numbers without a common divisor.

    Among decimals the least, where the others are small multiples of it; else 1.
    """
    if len(values) > 1 and _table.decimals and any(map(terminates, values)):
        least = min(abs(v) for v in values)
        shared = all((v / least).denominator == 1 and abs(v) <= 10 * least for v in values)
        return least if shared else ONE
    return Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))


def base(
    kind: str, name: Any, args: tuple = (), dims: tuple = (), traits: frozenset = frozenset()
) -> Base:
    """The base of that description."""
    key = (kind, name, tuple(a.key for a in args), dims, traits)
    found = _table.bases.get(key)
    if found is None:
        found = _table.bases[key] = Base(kind, name, args, dims, traits)
        found.serial = len(_table.bases)
    return found


def known(kind: str, name: Any, args: tuple, dims: tuple) -> bool:
    """Whether that base exists already."""
    return (kind, name, tuple(a.key for a in args), dims, frozenset()) in _table.bases


def fresh(dimension: str) -> Label:
    """A free label that nothing else uses."""
    _table.fresh += 1
    return dimension, 1000 + _table.fresh


def fresh_sum(dimension: str) -> Label:
    """A summed label that nothing else uses."""
    _table.fresh += 1
    return dimension, -1000 - _table.fresh


class Tensor:
    """A sum of terms: ``terms`` maps a product of factors to its coefficient. Never changed."""

    __slots__ = ("_key", "bases", "groups", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = terms
        self._key: Any = None
        self.bases: list[Base] | None = None  # see bases_of
        self.groups: list[Base] | None = None
        if len(terms) > MOST_TERMS:
            raise too_large()

    @property
    def key(self) -> Any:
        """The terms in a fixed order, hashable."""
        if self._key is None:
            terms = self.terms
            ordered = sorted(terms, key=order) if len(terms) > 1 else terms
            self._key = tuple([(ids(m), *terms[m].as_integer_ratio()) for m in ordered])
        return self._key

    def sorted(self) -> list[tuple[Monomial, Fraction]]:
        """The terms in their canonical order."""
        return [(m, self.terms[m]) for m in sorted(self.terms, key=order)]

    def free(self) -> list[Label]:
        """The free labels, by number: in the order of the axes that they came from."""
        free = {x for m in self.terms for _, idx, _ in m for x in idx if x[1] >= 0}
        return sorted(free, key=lambda x: (x[1], x[0]))

    def number(self) -> Fraction | None:
        """The value of a tensor that is a plain number, else None."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(()) if len(self.terms) == 1 else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.key)


def ids(m: Monomial) -> tuple:
    """A product as plain numbers."""
    return tuple([(b.serial, idx, e.numerator, e.denominator) for b, idx, e in m])


def order(m: Monomial) -> tuple:
    """The sort key of a product: by the bases as they first appeared."""
    return tuple([(b.serial, idx, -e) for b, idx, e in m])


def sole(t: Tensor) -> tuple[Base, tuple[Label, ...], Fraction] | None:
    """b, its labels and c where a tensor is ``c*b[labels]``; None for any other."""
    if len(t.terms) != 1:
        return None
    ((m, c),) = t.terms.items()
    return (m[0][0], m[0][1], c) if len(m) == 1 and m[0][2] == 1 else None


def labels_of(dims: Iterable[str]) -> tuple[Label, ...]:
    """The labels of the entries of a base with these dimensions, in its own arguments."""
    return tuple([(d, i) for i, d in enumerate(dims)])


def refuse_hidden(labels: Iterable[Label], name: str) -> None:
    """Raise the fault (E0701) of an operator applied to what holds a derivative's labels."""
    if any(map(is_hidden, labels)):
        raise no_closed_form(f"`{name}` of a derivative (its rule is not linear)")


def bases_of(t: Tensor) -> list[Base]:
    """The bases that a tensor is made of, each after what it is made of. Not to be changed."""
    if t.bases is None:
        t.bases = bases_within(t, lambda b: True)
    return t.bases


def groups_of(t: Tensor) -> list[Base]:
    """The sums in a tensor and in those sums, not those in calls. Not to be changed."""
    if t.groups is None:
        t.groups = [b for b in bases_within(t, lambda b: b.kind == "sum") if b.kind == "sum"]
    return t.groups


def bases_within(t: Tensor, into: Callable[[Base], bool]) -> list[Base]:
    """The bases in a tensor and in those that ``into`` allows, each after what it is made of."""
    seen: dict[int, Base] = {}
    waiting = [t]
    while waiting:
        for m in waiting.pop().terms:
            for b, _, _ in m:
                if b.serial not in seen:
                    seen[b.serial] = b
                    if b.args and into(b):
                        waiting += b.args
    return [seen[i] for i in sorted(seen)]


def remembered(change: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a tensor (and of plain values) that is computed once in a derivation."""

    def once(t: Tensor, *more: Any) -> Any:
        key = (change, t.key, more)
        memory = _table.memory
        if key not in memory:
            memory[key] = change(t, *more)
        return memory[key]

    once.__doc__ = change.__doc__
    return once
