"""The rational normal form: one fraction over generators, reduced to lowest terms.

Variables, calls and roots are generators of a polynomial ring; a group is a polynomial in them, and
a root's power its group again. ``sin(u)**2`` may be exchanged for ``1 - cos(u)**2`` and the other
way round, which a common divisor then sees. What holds summed labels, or grows past the budget, has
no normal form (TooMuch). ``arrangements`` gives the fraction in the shapes that may be short.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import lcm
from typing import Any

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.identities import SQUARES
from gradcli.symbolic.expr.multivariate import Poly, Ring, TooMuch

BUDGET = 40_000
"""Term operations for one normal form: some 20 milliseconds."""
MOST_GENERATORS = 14

Key = tuple[v.Base, tuple]


class Product:
    """number * generators to powers * polynomials to powers."""

    __slots__ = ("c", "polys", "powers")

    def __init__(self, c: Fraction, powers: dict[int, int], polys: dict[int, int]) -> None:
        self.c = c
        self.powers = powers
        self.polys = polys


class Normal:
    """The normal form of one tensor; ``gone`` are functions whose squares are exchanged."""

    def __init__(self, t: v.Tensor, gone: frozenset[str] = frozenset()) -> None:
        self.roots: dict[Key, int] = {}
        self.groups: list[v.Base] = []
        self.gone = gone
        self._survey(t)
        self.keys = sorted(self.roots, key=lambda k: (k[0].serial, k[1]))
        if len(self.keys) > MOST_GENERATORS:
            raise TooMuch
        self.place = {k: i for i, k in enumerate(self.keys)}
        self.ring = Ring(len(self.keys), BUDGET)
        self.known: list[Poly] = []
        self.number_of: dict[frozenset, int] = {}
        self.relations: dict[int, tuple[int, Poly]] = {}
        self._relate()
        self.forms: dict[v.Base, Product] = {}
        for b in self.groups:
            self.forms[b] = self._sum(b.args[0])
            key = (b, v.labels_of(b.dims))
            if key in self.place:
                self._root(self.place[key], self.roots[key], self.forms[b])
        self.whole = self._sum(t)

    # -- Generators --------------------------------------------------------------------------------

    def _survey(self, t: v.Tensor) -> None:
        """The generators, each with the common denominator of its exponents; the groups."""
        groups = [b for b in v.bases_within(t, opens) if opens(b)]
        self.groups = groups
        for body in (*(b.args[0] for b in groups), t):
            for m in body.terms:
                if v.bound_of(m):
                    raise TooMuch
                for b, idx, e in m:
                    if b.kind == "delta" or (opens(b) and idx != v.labels_of(b.dims)):
                        raise TooMuch
                    if b.kind == "call" and b.name == "where":
                        raise TooMuch  # its branches have other denominators
                    if not opens(b) or e.denominator > 1:
                        self.roots[b, idx] = lcm(self.roots.get((b, idx), 1), e.denominator)
        for b, idx in list(self.roots):
            if b.kind == "call" and b.name in self.gone:
                stays = v.base("call", SQUARES[b.name][0], b.args, b.dims)
                self.roots.setdefault((stays, idx), 1)

    def _relate(self) -> None:
        """What a power of a generator is equal to."""
        for i, (b, idx) in enumerate(self.keys):
            if b.kind == "number":
                self.relations[i] = self.roots[b, idx], {self.ring.unit: int(b.name)}
            elif b.kind == "call" and b.name == "sign":
                self.relations[i] = 2, self.ring.one
            elif b.kind == "call" and b.name in self.gone and self.roots[b, idx] == 1:
                stays, one, two = SQUARES[b.name]
                other = self.place[v.base("call", stays, b.args, b.dims), idx]
                if self.roots[self.keys[other]] == 1:
                    square = self.ring.variable(other, 2)
                    self.relations[i] = 2, {self.ring.unit: one, next(iter(square)): two}

    def _root(self, i: int, q: int, body: Product) -> None:
        """A root's power is its group, where that is a polynomial."""
        if body.c.denominator == 1 and all(
            e > 0 for e in (*body.powers.values(), *body.polys.values())
        ):
            self.relations[i] = q, self._expanded(body)

    # -- Sums --------------------------------------------------------------------------------------

    def _term(self, m: v.Monomial, c: Fraction) -> Product:
        found = Product(Fraction(c), {}, {})
        for b, idx, e in m:
            key = (b, idx)
            if key in self.place and not (opens(b) and e.denominator == 1):
                i = self.place[key]
                found.powers[i] = found.powers.get(i, 0) + int(e * self.roots[key])
            else:
                form = self.forms[b]
                if form.c == 0:
                    raise TooMuch
                n = int(e)
                found.c *= form.c**n
                for have, more in ((found.powers, form.powers), (found.polys, form.polys)):
                    for i, k in more.items():
                        have[i] = have.get(i, 0) + k * n
        return found

    def _sum(self, t: v.Tensor) -> Product:
        """A sum as one product: the common denominator, then the numerator in lowest terms."""
        terms = [self._term(m, c) for m, c in t.sorted()]
        if not terms:
            return Product(Fraction(0), {}, {})
        powers = _least([p.powers for p in terms])
        polys = _least([p.polys for p in terms])
        below = lcm(*(p.c.denominator for p in terms))
        top: Poly = {}
        for p in terms:
            part: Poly = {self.ring.unit: int(p.c * below)}
            for i, e in p.powers.items():
                part = self.ring.mul(part, self.ring.variable(i, e - powers.get(i, 0)))
            for i in {*powers} - {*p.powers}:
                part = self.ring.mul(part, self.ring.variable(i, -powers[i]))
            for i in {*polys, *p.polys}:
                e = p.polys.get(i, 0) - polys.get(i, 0)
                part = self.ring.mul(part, self.ring.power(self.known[i], e))
            top = self.ring.add(top, part)
        found = Product(Fraction(1, below), powers, polys)
        self._multiply(found, self.reduced(top))
        return found

    def reduced(self, p: Poly) -> Poly:
        """The polynomial with all relations used."""
        while True:
            for i, (q, other) in self.relations.items():
                if self.ring.degree(p, i) >= q:
                    p = self._exchanged(p, i, q, other)
                    break
            else:
                return p

    def _exchanged(self, p: Poly, i: int, q: int, other: Poly) -> Poly:
        parts: dict[int, Poly] = {}
        for m, c in p.items():
            n, rest = divmod(m[i], q)
            parts.setdefault(n, {})[(*m[:i], rest, *m[i + 1 :])] = c
        found: Poly = {}
        for n, part in parts.items():
            found = self.ring.add(found, self.ring.mul(part, self.ring.power(other, n)))
        return found

    def _multiply(self, to: Product, p: Poly) -> None:
        """Multiply by a polynomial: what it shares with those below the line is cancelled."""
        if not p:
            to.c, to.powers, to.polys = Fraction(0), {}, {}
            return
        p = self._stripped(to, p)
        for i in [i for i, e in sorted(to.polys.items()) if e < 0]:
            while len(p) > 1 and to.polys.get(i, 0) < 0:
                quotient = self.ring.divide(p, self.known[i])
                if quotient is not None:
                    to.polys[i] += 1
                    p = self._stripped(to, quotient)
                    continue
                shared = self.ring.gcd(p, self.known[i])
                if len(shared) < 2:
                    break
                self._split(to, i, shared)
        for i, known in enumerate(self.known):
            while len(p) > 1:
                quotient = self.ring.divide(p, known)
                if quotient is None:
                    break
                to.polys[i] = to.polys.get(i, 0) + 1
                p = self._stripped(to, quotient)
        if len(p) > 1:
            i = self._number(p)
            to.polys[i] = to.polys.get(i, 0) + 1
        to.powers = {i: e for i, e in to.powers.items() if e}
        to.polys = {i: e for i, e in to.polys.items() if e}

    def _stripped(self, to: Product, p: Poly) -> Poly:
        """A polynomial without its number and its monomial, which go to the product."""
        c, m, p = self.ring.primitive(p)
        to.c *= c
        for i, e in enumerate(m):
            if e:
                to.powers[i] = to.powers.get(i, 0) + e
        return p

    def _split(self, to: Product, i: int, shared: Poly) -> None:
        """A polynomial below the line as a product of two."""
        rest = self.ring.divide(self.known[i], shared)
        assert rest is not None
        e = to.polys.pop(i)
        for part in (shared, rest):
            part = self._stripped(to, part)
            if len(part) > 1:
                k = self._number(part)
                to.polys[k] = to.polys.get(k, 0) + e

    def _number(self, p: Poly) -> int:
        key = frozenset(p.items())
        if key not in self.number_of:
            self.number_of[key] = len(self.known)
            self.known.append(p)
        return self.number_of[key]

    def _expanded(self, p: Product) -> Poly:
        """All factors with positive exponents multiplied out."""
        found: Poly = {self.ring.unit: int(p.c) if p.c.denominator == 1 else 1}
        for i, e in sorted(p.powers.items()):
            if e > 0:
                found = self.ring.mul(found, self.ring.variable(i, e))
        for i, e in sorted(p.polys.items()):
            if e > 0:
                found = self.ring.mul(found, self.ring.power(self.known[i], e))
        return found

    # -- Back to tensors ---------------------------------------------------------------------------

    def written(
        self, c: Fraction, powers: Mapping[int, int], polys: Any, more: Any = ()
    ) -> v.Tensor:
        """A product as a tensor."""
        factors = [self._factor(i, e) for i, e in sorted(powers.items())]
        for p, e in (*((self.known[i], e) for i, e in polys), *more):
            if not p or not e:
                if not p:
                    return v.ZERO
                continue
            single = v.as_factor(self.tensor(p))
            ((m, k),) = single.terms.items()
            c = c * k**e
            factors += [(b, idx, x * e) for b, idx, x in m]
        return v.product(factors, c, ())

    def _factor(self, i: int, e: int) -> tuple:
        b, idx = self.keys[i]
        root = self.roots[b, idx]
        return b, idx, e if root == 1 else Fraction(e, root)

    def tensor(self, p: Poly) -> v.Tensor:
        """A polynomial as a sum of terms."""
        return v.add(
            *(
                v.product([self._factor(i, e) for i, e in enumerate(m) if e], Fraction(c), ())
                for m, c in sorted(p.items(), reverse=True)
            )
        )


def _least(maps: list[dict[int, int]]) -> dict[int, int]:
    """The least exponent of each, 0 where it is missing from one."""
    found = {}
    for i in sorted({i for x in maps for i in x}):
        e = min(x.get(i, 0) for x in maps)
        if e:
            found[i] = e
    return found


def opens(b: v.Base) -> bool:
    """Whether a base is a sum of several terms."""
    return b.kind == "sum" and len(b.args[0].terms) > 1
