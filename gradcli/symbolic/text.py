"""Building the answer's tree with its cost: one for every operation, names and numbers free.

``- x`` costs nothing before a number that is written out, since it is part of the number. The trees
are the language's own, so that the printer brackets them and the answer can be read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gradcli.language import nodes as n
from gradcli.language.printer import unparse

MOST = 20_000
"""Operations that an answer may have."""


class Text:
    """A tree and its cost."""

    __slots__ = ("_key", "cost", "node")

    def __init__(self, node: n.Expr, cost: int) -> None:
        if cost > MOST:
            from gradcli.symbolic.unsupported import too_large

            raise too_large()
        self.node = node
        self.cost = cost
        self._key: str | None = None

    @property
    def key(self) -> str:
        """How it is written."""
        if self._key is None:
            node = self.node
            self._key = node.id if node.__class__ is n.Name else unparse(node)
        return self._key


def name(word: str) -> Text:
    """A name."""
    return Text(n.Name(word), 0)


def numeral(value: int | float) -> Text:
    """A number as it is written."""
    return Text(n.Number(value, repr(value)), 0)


def quoted(words: str) -> Text:
    """A string."""
    return Text(n.String(words), 0)


def binary(op: str, left: Text, right: Text) -> Text:
    """``left op right``."""
    return Text(n.Binary(op, left.node, right.node), left.cost + right.cost + 1)


def called(function: str, *args: Text) -> Text:
    """``function(args)``."""
    node = n.Call(n.Name(function), tuple(a.node for a in args), ())
    return Text(node, 1 + sum(a.cost for a in args))


def indexed(x: Text, places: Sequence[n.Expr | None]) -> Text:
    """``x[places]``, where None stands for all of an axis; an index is free.

    Into an index that stands already it is written: ``A[0][1]`` is ``A[0, 1]``.
    """
    items: list[n.Expr | None] = list(places)
    node = x.node
    if isinstance(node, n.Subscript):
        have = node.index.items if isinstance(node.index, n.Tuple) else (node.index,)
        left, merged = list(items), []
        for item in have:
            if not isinstance(item, n.Slice) or not left:
                merged.append(item)
                continue
            new = left.pop(0)
            if new is not None and not n.same(item, _ALL):
                break  # a part of a part
            merged.append(item if new is None else new)
        else:
            items, node = [*merged, *left], node.value
    while items and (items[-1] is None or n.same(items[-1], _ALL)):
        items.pop()
    full = tuple(_ALL if p is None else p for p in items)
    if not full:
        return Text(node, x.cost)
    return Text(n.Subscript(node, full[0] if len(full) == 1 else n.Tuple(full)), x.cost)


_ALL = n.Slice(None, None, None)


def whole(value: int) -> n.Expr:
    """A whole number as it stands in an index."""
    return n.Number(value, repr(value)) if value >= 0 else n.Unary("-", numeral(-value).node)


def choice(node: n.Expr) -> bool:
    """Whether a tree is a where."""
    return isinstance(node, n.Call) and n.same(node.func, n.Name("where"))


def chosen(x: Text) -> Text | None:
    """The condition of ``where(condition, 1, 0)``, else None."""
    node = x.node
    if not choice(node):
        return None
    one, zero = node.args[1:]
    if n.same(one, n.Number(1, "1")) and n.same(zero, n.Number(0, "0")):
        return Text(node.args[0], x.cost - 1)
    return None


def inside(x: Text, function: str) -> Text | None:
    """What a call of a function of one argument is applied to, else None."""
    node = x.node
    if isinstance(node, n.Call) and n.same(node.func, n.Name(function)) and len(node.args) == 1:
        return Text(node.args[0], x.cost - 1)
    return None


def less_its_mean(x: Text) -> Text | None:
    """What u is in ``u - mean(u)``, else None."""
    node = x.node
    if isinstance(node, n.Binary) and node.op == "-":
        right = node.right
        if isinstance(right, n.Call) and n.same(right, n.Call(n.Name("mean"), (node.left,), ())):
            return Text(node.left, (x.cost - 2) // 2)
    return None


def compared(op: str, left: Text, right: Text) -> Text:
    """``left op right`` for a comparison."""
    return Text(n.Compare(left.node, (op,), (right.node,)), left.cost + right.cost + 1)


def transposed(x: Text) -> Text:
    """``x.T``; of a transpose, what was transposed."""
    if isinstance(x.node, n.Attribute) and x.node.name == "T":
        return Text(x.node.value, x.cost - 1)
    return Text(n.Attribute(x.node, "T"), x.cost + 1)


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
    elif _difference(node):
        first, cost = n.Binary("-", node.right, node.left), x.cost
    elif any(_difference(part.right) for part in spine):
        place = max(i for i, part in enumerate(spine) if _difference(part.right))
        part, inner = spine[place], spine[place].right
        spine[place] = n.Binary(part.op, part.left, n.Binary("-", inner.right, inner.left))
        first, cost = node, x.cost
    else:
        first, cost = n.Unary("-", node), x.cost + 1
    for part in reversed(spine):
        first = n.Binary(part.op, first, part.right)
    return Text(first, cost)


def _difference(node: n.Expr) -> bool:
    """Whether a tree is ``a - b`` where a is no sum."""
    if not isinstance(node, n.Binary) or node.op != "-":
        return False
    return not (isinstance(node.left, n.Binary) and node.left.op in "+-") and not _signed(node.left)


def _signed(node: n.Expr) -> bool:
    """Whether a tree is written with a minus in front."""
    while isinstance(node, n.Binary):
        node = node.left
    return isinstance(node, n.Unary) or (isinstance(node, n.Number) and node.value < 0)


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


def joined(parts: Sequence[Text], op: str = "*") -> Text:
    """Parts with an operator between them, from the left."""
    found = parts[0]
    for part in parts[1:]:
        found = binary(op, found, part)
    return found


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
        from gradcli.symbolic.unsupported import no_value

        raise no_value("a number in it is past the range of float64")
    return found


def scaled(c: Fraction, numerators: Sequence[Text], denominators: Sequence[Text]) -> Text:
    """``c`` times a product over a product. The sign of c is that of the whole."""
    top = list(numerators)
    below = list(denominators)
    number, under = c.as_integer_ratio()
    if top and under == 1 and (number == 1 or number == -1):
        pass
    elif not _exact(c) or (c.denominator > 1000 and _short(c)):
        top.insert(0, numeral(_rounded(abs(c))))
    else:
        if abs(number) != 1 or not top:
            top.insert(0, numeral(abs(number)))
        if under != 1:
            below.insert(0, numeral(under))
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
