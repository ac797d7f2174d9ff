"""The shapes that a normal form may be written in: factored, multiplied out, collected, divided.

Which is shortest depends on the fraction: ``2/(x + 1)**2``, ``x*(y + z)``, ``1 - 1/(x + 1)``.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.multivariate import Poly, TooMuch
from gradcli.symbolic.expr.rational import Normal, Product

MOST_TERMS = 60


def arrangements(t: v.Tensor, gone: frozenset[str] = frozenset()) -> list[v.Tensor]:
    """The normal form of a tensor in shapes that may be short; none where it grows too large.

    The squares of the functions in ``gone`` are exchanged for those of their partners.
    """
    found: list[v.Tensor] = []
    try:
        for shape in _Shapes(Normal(t, gone)).all():
            found.append(shape)
    except TooMuch:
        pass  # those found so far are as good as without a limit
    return found


class _Shapes:
    """The shapes of one normal form."""

    def __init__(self, normal: Normal) -> None:
        self.ring = normal.ring
        self.known = normal.known
        self.whole = normal.whole
        self.written = normal.written
        self.tensor = normal.tensor
        self.reduced = normal.reduced

    def all(self) -> Iterator[v.Tensor]:
        """The fraction in the shapes that may be short."""
        p = self.whole
        if not p.c:
            yield v.ZERO
            return
        yield self.written(p.c, p.powers, p.polys.items())
        above = [(i, e) for i, e in sorted(p.polys.items()) if e > 0]
        below = [(i, e) for i, e in sorted(p.polys.items()) if e < 0]
        top = self.ring.one
        split: list[tuple[Poly, int]] = []
        for i, e in above:
            top = self.ring.mul(top, self.ring.power(self.known[i], e))
            split += [(q, e * n) for q, n in self.ring.squarefree(self.known[i])]
        if len(top) > MOST_TERMS:
            return
        top = self.reduced(top)
        front = {i: e for i, e in p.powers.items() if e > 0}
        under = {i: e for i, e in p.powers.items() if e < 0}
        if len(split) > len(above) or any(n > 1 for _, n in split):
            yield self.written(p.c, p.powers, below, split)
        yield self.written(p.c, p.powers, below, [(top, 1)])
        whole = top
        for i, e in front.items():
            whole = self.ring.mul(whole, self.ring.variable(i, e))
        if front:
            yield self.written(p.c, under, below, [(whole, 1)])
        if len(top) > 2 and sum(self.ring.degree(top, k) > 0 for k in range(self.ring.size)) > 1:
            yield v.mul(self.written(p.c, p.powers, below), self._collected(top))
        if len(whole) > 1:
            outside = self.written(p.c, under, below)
            yield v.add(*(v.distribute(outside, self.tensor({m: c})) for m, c in whole.items()))
        if below:
            yield from self._over(p, top, whole, below, under)

    def _over(
        self, p: Product, top: Poly, whole: Poly, below: list, under: dict
    ) -> Iterator[v.Tensor]:
        """The denominator multiplied out, or the numerator divided by it."""
        bottom = self.ring.one
        for i, e in below:
            bottom = self.ring.mul(bottom, self.ring.power(self.known[i], -e))
        if len(bottom) <= MOST_TERMS:
            bottom = self.reduced(bottom)
            if len(below) > 1 or below[0][1] < -1:
                yield self.written(p.c, p.powers, (), [(top, 1), (bottom, -1)])
            for i, e in under.items():
                bottom = self.ring.mul(bottom, self.ring.variable(i, -e))
            if under:
                yield self.written(p.c, {}, (), [(whole, 1), (self.reduced(bottom), -1)])
        if len(below) == 1:
            ((i, e),) = below
            digits = self._digits(whole, self.known[i])
            if len(digits) > 1:
                yield v.add(
                    *(
                        self.written(p.c, under, [(i, n + e)], [(d, 1)])
                        for n, d in enumerate(digits) if d
                    )
                )  # fmt: skip

    def _digits(self, p: Poly, base: Poly) -> list[Poly]:
        """Digits with p = sum of digit*base**n, by a variable whose leading coefficient is 1."""
        for k in range(self.ring.size):
            n = self.ring.degree(base, k)
            lead = {m: c for m, c in base.items() if m[k] == n}
            if n > 0 and len(lead) == 1 and abs(next(iter(lead.values()))) == 1:
                ((m, sign),) = lead.items()
                if sum(m) == n:
                    break
        else:
            return []
        digits = []
        while p:
            rest, quotient = p, {}  # type: ignore[var-annotated]
            while True:
                high = {m: c for m, c in rest.items() if m[k] >= n}
                if not high:
                    break
                part = {(*m[:k], m[k] - n, *m[k + 1 :]): c * sign for m, c in high.items()}
                quotient = self.ring.add(quotient, part)
                rest = self.ring.add(rest, self.ring.mul(part, base), -1)
            digits.append(rest)
            p = quotient
        return digits

    def _collected(self, p: Poly) -> v.Tensor:
        """Common generators taken out again and again: x*(y*(z + 1) + 2) + 3."""
        done: list[v.Tensor] = []
        # Each entry: what stands in front, and a sum. Inner sums are finished by their outer ones.
        parts: list[tuple[Poly, list, tuple | None]] = []
        waiting: list[tuple[Poly, int | None, tuple]] = [(p, None, self.ring.unit)]
        while waiting:
            q, parent, front = waiting.pop()
            me = len(parts)
            parts.append((q, [], (parent, front) if parent is not None else None))
            while True:
                count = [sum(1 for m in q if m[k]) for k in range(self.ring.size)]
                best = max(range(self.ring.size), key=lambda k: (count[k], -k), default=0)
                if len(q) < 2 or count[best] < 2:
                    break
                inside = {m: c for m, c in q.items() if m[best]}
                q = {m: c for m, c in q.items() if not m[best]}
                c, least, rest = self.ring.primitive(inside)
                waiting.append(({m: x * c for m, x in rest.items()}, me, least))
            parts[me] = (q, parts[me][1], parts[me][2])
        for q, inner, outside in reversed(parts):
            whole = v.add(self.tensor(q), *inner) if q or inner else v.ZERO
            if outside is None:
                done.append(whole)
            else:
                parent, front = outside
                term = v.mul(self.tensor({front: 1}), whole)
                parts[parent][1].append(term)
        return done[-1]
