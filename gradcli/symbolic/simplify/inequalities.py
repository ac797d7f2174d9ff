"""Inequalities between sums of terms: whether some exclude each other: ``x > 6`` and ``0 > x``."""

from __future__ import annotations

from fractions import Fraction

from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.simplify.relations import is_call

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
