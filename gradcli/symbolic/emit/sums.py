"""Building the answer's tree with its cost: one for every operation, names and numbers free.

``- x`` costs nothing before a number that is written out, since it is part of the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcli.language.syntax import nodes as n
from gradcli.symbolic.emit.products import (
    is_difference,
    powers_gathered,
    roots_gathered,
    turnable,
    turned,
)
from gradcli.symbolic.emit.tree import (
    Text,
    attribute,
    averaged,
    binary,
    called,
    choice,
    chosen,
    compared,
    filled,
    indexed,
    inside,
    joined,
    less_its_mean,
    name,
    numeral,
    operations,
    quoted,
    transposed,
    whole,
)
from gradcli.symbolic.expr.base import in_decimals, terminates
from gradcli.symbolic.unsupported import no_value

__all__ = [
    "Text", "attribute", "averaged", "binary", "called", "choice", "chosen", "compared", "filled",
    "indexed",
    "inside", "joined", "less_its_mean", "n", "name", "negated", "numeral", "operations",
    "prepended", "quoted", "raised", "scaled", "total", "transposed", "whole",
]  # fmt: skip


def negated(x: Text) -> Text:
    """``-x``: the sign goes to a number in front, into a difference (``b - a``), or in front."""
    spine: list[n.Binary] = []
    node = x.node
    while isinstance(node, n.Binary) and node.op in ("*", "/", "@"):
        spine.append(node)
        node = node.left
    if isinstance(node, n.Number):
        first: n.Expr = n.Number(-node.value, repr(-node.value))
        cost = x.cost
    elif isinstance(node, n.Unary) and node.op == "-":
        first, cost = node.operand, x.cost - 1
    elif is_difference(node):
        first, cost = n.Binary("-", node.right, node.left), x.cost
    elif any(is_difference(part.right) for part in spine):
        last = max(i for i, part in enumerate(spine) if is_difference(part.right))
        part = spine[last]
        inner: Any = part.right
        spine[last] = n.Binary(part.op, part.left, n.Binary("-", inner.right, inner.left))
        first, cost = node, x.cost
    elif (place := turnable(spine)) is not None:
        i, other, less = place
        part = spine[i]
        spine[i] = n.Binary(part.op, part.left, other)
        first, cost = node, x.cost - less
    elif (turn := turned(node)) is not None:
        first, cost = turn[0], x.cost - turn[1]
    else:
        first, cost = n.Unary("-", node), x.cost + 1
    for part in reversed(spine):
        first = n.Binary(part.op, first, part.right)
    return Text(first, cost)


def raised(x: Text, e: Fraction) -> Text:
    """``x**e``, a square root as sqrt."""
    if e == 1:
        return x
    if e == Fraction(1, 2):
        return called("sqrt", x)
    if e.denominator == 1:
        return binary("**", x, numeral(int(e) if _exact(e) else _rounded(e)))
    if not _exact(e) or _short(e):
        return binary("**", x, numeral(_rounded(e)))
    return binary("**", x, binary("/", numeral(e.numerator), numeral(e.denominator)))


def prepended(factor: Text, x: Text) -> Text:
    """``factor*x`` for a scalar factor, put at the very front of a product: ``2*A @ x``."""
    spine: list[n.Binary] = []
    node = x.node
    while isinstance(node, n.Binary) and node.op in ("*", "/", "@"):
        spine.append(node)
        node = node.left
    first: n.Expr = n.Binary("*", factor.node, node)
    for part in reversed(spine):
        first = n.Binary(part.op, first, part.right)
    return Text(first, factor.cost + x.cost + 1)


def _exact(c: Fraction) -> bool:
    """Whether both parts of a fraction are whole numbers that float64 holds."""
    return c.numerator.bit_length() <= 53 and c.denominator.bit_length() <= 53


def _root_below(
    c: Fraction, top: list[Text], below: list[Text]
) -> tuple[Fraction, list[Text], list[Text]]:
    """``sqrt(2)*x/2`` as ``x/sqrt(2)``."""
    for i, t in enumerate(top):
        node = t.node
        if isinstance(node, n.Call) and n.same(node.func, n.Name("sqrt")):
            inside = node.args[0]
            value = inside.value if isinstance(inside, n.Number) else 0
            if isinstance(value, int) and value > 1 and c.denominator % value == 0:
                rest = [*top[:i], *top[i + 1 :]]
                return c * value, rest or [numeral(1)], [t, *below]
    return c, top, below


def _as_decimal(c: Fraction) -> bool:
    """Whether a decimal number is written as one: long, or where others are, but for a half."""
    if in_decimals():
        return abs(c) != Fraction(1, 2)
    return c.denominator >= 1000 and c.denominator % 5 == 0


def _short(c: Fraction) -> bool:
    """Whether a fraction is a decimal number of few digits."""
    written = repr(float(c))
    return len(written) < 13 and Fraction(written) == c


def _rounded(c: Fraction) -> float:
    """The nearest float64. Raises a fault (E0701) where that is 0 or infinite."""
    try:
        found = float(c)
    except OverflowError:
        found = 0.0
    if not found:
        raise no_value("a number in it is past the range of float64")
    return found


def scaled(c: Fraction, numerators: Sequence[Text], denominators: Sequence[Text]) -> Text:
    """``c`` times a product over a product. The sign of c is that of the whole."""
    top = list(numerators)
    below = list(denominators)
    c, top, below = roots_gathered(c, top, below)
    c, top, below = _root_below(c, top, below)
    number, under = c.as_integer_ratio()
    if top and under == 1 and (number == 1 or number == -1):
        pass
    elif not _exact(c) or (terminates(c) and _as_decimal(c)):
        top.insert(0, numeral(_rounded(abs(c))))
    elif in_decimals() and under != 1 and terminates(1 / c):
        top = top or [numeral(1)]
        below.insert(0, numeral(_rounded(abs(1 / c))))
    else:
        if abs(number) != 1 or not top:
            top.insert(0, numeral(abs(number)))
        if under != 1:
            below.insert(0, numeral(under))
    if len(top) + len(below) > 1:
        top, below = powers_gathered(top, below)
    last = top[-1]
    found = joined(top[:-1]) if len(top) > 1 else None
    found = last if found is None else prepended(found, last)
    if below:
        found = binary("/", found, joined(below))
    return negated(found) if number < 0 else found


def total(signed: Sequence[tuple[int, Text]]) -> Text:
    """The sum of signed parts, a positive one first where there is one."""
    first = next((i for i, (sign, _) in enumerate(signed) if sign > 0), 0)
    sign, found = signed[first]
    if sign < 0:
        found = negated(found)
    for i, (sign, part) in enumerate(signed):
        if i != first:
            found = binary("+" if sign > 0 else "-", found, part)
    return found
