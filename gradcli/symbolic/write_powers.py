"""Powers with exponents that are no numbers, as they are written: one for all of the same base."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcli.symbolic import text as w
from gradcli.symbolic import value as v
from gradcli.symbolic.text import Text


def powers_merged(
    writer: Any, m: Sequence[tuple]
) -> tuple[list[tuple[Any, tuple, Fraction]], Fraction]:
    """The factors, ``x**n * x**-1`` as ``x**(n - 1)``, also where one is (2*x)**-1."""
    number = Fraction(1)
    factors: list[Any] = list(m)
    for b, idx, e in m:
        if isinstance(b, Text) or b.kind != "call" or b.name != "pow" or abs(e) != 1:
            continue
        under = v.place(b.args[0], idx)
        for other in m:
            if other[0] is b or isinstance(other[0], Text):
                continue
            times = multiple(under, v.add(v.factor(other[0], other[1])))
            if other in factors and (times == 1 or (times > 0 and other[2].denominator == 1)):
                number /= times ** int(other[2]) if times != 1 else 1
                labels = tuple((d, i) for i, d in enumerate(b.dims))
                exponent = writer.sum(v.add(b.args[1], v.number(e * other[2])), labels, False)
                base = writer.sum(b.args[0], labels, True)
                factors.remove(other)
                factors[factors.index((b, idx, e))] = (
                    w.binary("**", base, exponent), idx, e,
                )  # fmt: skip
                break
    return factors, number


def multiple(t: v.Tensor, u: v.Tensor) -> Fraction:
    """The number that makes one sum of the other; 0 where there is none."""
    if t.terms.keys() != u.terms.keys() or not t.terms:
        return Fraction(0)
    ratios = {t.terms[m] / u.terms[m] for m in t.terms}
    return ratios.pop() if len(ratios) == 1 else Fraction(0)
