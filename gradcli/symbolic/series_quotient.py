"""The series of a quotient at a point where both sides are 0: sin(x)/x, x/(exp(x) - 1).

Numerator and denominator have series of their own, checked as such; one is divided by the other,
coefficient by coefficient, once the power of x - a that both share is taken off.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from gradcli.language.run import Program
from gradcli.ops.errors import Fault
from gradcli.symbolic import text as w
from gradcli.symbolic.program import steps_of
from gradcli.symbolic.shapes import Declaration

MOST_SHARED = 6
"""The highest power of x - a that is looked for in a denominator."""


def divided(
    program: Program, name: str, order: int, around: str, known: Mapping[str, Declaration]
) -> tuple[list[w.Text], float] | None:
    """The coefficients of a quotient that has a limit at the point, and the error of its sides.

    None where the program is no quotient, or has a pole there.
    """
    from gradcli.symbolic.series import MOST_TERMS, scaled, taylor, value_text

    root = steps_of(program.checked)[-1]
    if root.op != "div":
        return None
    declared = dict(known)
    sides = []
    error = 0.0
    try:
        texts = [value_text(program, known, place) for place in root.inputs]
        if name not in texts[1]:
            return None
        below: list[str] = []
        for most in (order + 1, order + MOST_SHARED):
            found = taylor(texts[1], name, min(most, MOST_TERMS), around, declared)
            below, error = found.coefficients, found.max_rel_error
            if any(c != "0" for c in below[:2]):
                break
        shared = next((k for k, c in enumerate(below) if c != "0"), None)
        if not shared or order + shared > MOST_TERMS:
            return None
        found = taylor(texts[0], name, order + shared, around, declared)
        above, error = found.coefficients, max(error, found.max_rel_error)
    except Fault:
        return None
    if any(c != "0" for c in above[:shared]):
        return None
    for k in range(order + 1):
        parts = [f"({above[k + shared]})"]
        for j, side in enumerate(sides):
            if shared + k - j < len(below):
                parts.append(f"({side.key})*({below[shared + k - j]})")
        whole = f"({' - '.join(parts)})/({below[shared]})"
        sides.append(scaled(whole, name, around, known, Fraction(1)))
    return sides, error
