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


def averaged(x: Text) -> Text:
    """The mean in place of a sum, or of the square of a length."""
    node = x.node
    if isinstance(node, n.Call):
        return Text(n.Call(n.Name("mean"), node.args, ()), x.cost)
    square = n.Binary("**", node.left.args[0], node.right)
    return Text(n.Call(n.Name("mean"), (square,), ()), x.cost)


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
    elif (place := _turnable(spine)) is not None:
        i, turned, less = place
        part = spine[i]
        spine[i] = n.Binary(part.op, part.left, turned)
        first, cost = node, x.cost - less
    elif (turn := _turned(node)) is not None:
        first, cost = turn[0], x.cost - turn[1]
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


_ODD = frozenset(("sign", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf"))
_DEEPEST = 4
"""Brackets within brackets that a minus goes into."""


def _turnable(spine: Sequence[n.Binary]) -> tuple[int, n.Expr, int] | None:
    """The place in a product that takes a minus, what it becomes, and the operations saved."""
    for i in range(len(spine) - 1, -1, -1):
        found = _turned(spine[i].right)
        if found is not None:
            return i, *found
    return None


def _turned(node: n.Expr, depth: int = 0) -> tuple[n.Expr, int] | None:
    """A tree with the other sign at no cost: in an odd function, in a product in brackets."""
    if depth == _DEEPEST:
        return None
    if _difference(node):
        return n.Binary("-", node.right, node.left), 0
    if isinstance(node, n.Call) and isinstance(node.func, n.Name) and not node.keywords:
        if node.func.id in _ODD and len(node.args) == 1:
            inner = _turned(node.args[0], depth + 1)
            return None if inner is None else (n.Call(node.func, (inner[0],), ()), inner[1])
        if node.func.id == "where":
            sides = [_turned_or_zero(x, depth) for x in node.args[1:]]
            if None not in sides:
                found = (node.args[0], *(x[0] for x in sides))
                return n.Call(node.func, found, ()), sum(x[1] for x in sides)
        return None
    if isinstance(node, n.Unary) and node.op == "-" and depth:
        return node.operand, 1
    if isinstance(node, n.Binary) and node.op in ("*", "/", "@"):
        for right in (True, False):
            inner = _turned(node.right if right else node.left, depth + 1)
            if inner is not None:
                left, other = (node.left, inner[0]) if right else (inner[0], node.right)
                return n.Binary(node.op, left, other), inner[1]
    return None


def _turned_or_zero(node: n.Expr, depth: int) -> tuple[n.Expr, int] | None:
    if isinstance(node, n.Number):
        value = -node.value if node.value else node.value
        return n.Number(value, repr(value)), 0
    return _turned(node, depth + 1)


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


def powers_gathered(top: Sequence[Text], below: Sequence[Text]) -> tuple[list[Text], list[Text]]:
    """``a**2*b**2/c**2`` as ``(a*b/c)**2``: one power for factors with one whole exponent."""
    above = [x for t in top for x in _factors(t)] if any(map(_powers, top)) else list(top)
    groups: dict[int, list[tuple[bool, Text]]] = {}
    for up, parts in ((True, above), (False, below)):
        for x in parts:
            if _is_power(x.node):
                groups.setdefault(x.node.right.value, []).append((up, x))
    groups = {e: g for e, g in groups.items() if len(g) > 1}
    if not groups:
        return list(top), list(below)
    under = list(below)
    for e, group in groups.items():
        bases = {up: [Text(x.node.left, x.cost - 1) for u, x in group if u is up]
                 for up in (True, False)}  # fmt: skip
        up = bool(bases[True])
        inner = joined(bases[up])
        if up and bases[False]:
            inner = binary("/", inner, joined(bases[False]))
        whole = binary("**", inner, numeral(e))
        place = (above if up else under).index(next(x for u, x in group if u is up))
        gone = {id(x) for _, x in group}
        (above if up else under).insert(place, whole)
        above = [x for x in above if id(x) not in gone]
        under = [x for x in under if id(x) not in gone]
    return above, under


def _is_power(node: n.Expr) -> bool:
    """Whether a tree is a power with a whole number in the exponent."""
    return (
        isinstance(node, n.Binary) and node.op == "**" and isinstance(node.right, n.Number)
        and isinstance(node.right.value, int) and node.right.value > 1
    )  # fmt: skip


def _factors(x: Text) -> list[Text]:
    """The factors of a product entry by entry; the cost is split among them."""
    found: list[n.Expr] = []
    node = x.node
    while isinstance(node, n.Binary) and node.op == "*":
        found.append(node.right)
        node = node.left
    if not found:
        return [x]
    parts = [node, *reversed(found)]
    if not all(_is_power(p) or isinstance(p, n.Name | n.Number) for p in parts):
        return [x]  # the costs of the others are not known here
    return [Text(p, _cost(p)) for p in parts]


def _cost(node: n.Expr) -> int:
    """The operations in a small tree of names, numbers and signs."""
    waiting, total = [node], 0
    while waiting:
        one = waiting.pop()
        total += isinstance(one, n.Binary | n.Call | n.Attribute | n.Compare)
        waiting += n.children(one)
    return total


def _powers(x: Text) -> bool:
    node = x.node
    while isinstance(node, n.Binary) and node.op == "*":
        if _is_power(node.right):
            return True
        node = node.left
    return _is_power(node)


def roots_gathered(
    c: Fraction, top: list[Text], below: list[Text]
) -> tuple[Fraction, list[Text], list[Text]]:
    """``sqrt(2)*u/(2*sqrt(pi))`` as ``u/sqrt(2*pi)``."""
    other = next((t for t in below if _root_of(t, n.Name) is not None), None)
    if other is None or _root_of(other, n.Name).id != "pi":
        return c, top, below
    for t in top:
        number = _root_of(t, n.Number)
        if number is None or c.denominator % number.value:
            continue
        whole = called("sqrt", binary("*", Text(number, 0), name("pi")))
        rest = [x for x in below if x is not other]
        return c * number.value, [x for x in top if x is not t], [whole, *rest]
    return c, top, below


def _root_of(x: Text, kind: type) -> n.Expr | None:
    inner = inside(x, "sqrt")
    return inner.node if inner is not None and isinstance(inner.node, kind) else None


def scaled(c: Fraction, numerators: Sequence[Text], denominators: Sequence[Text]) -> Text:
    """``c`` times a product over a product. The sign of c is that of the whole."""
    top = list(numerators)
    below = list(denominators)
    if len(below) and len(top) > 1:
        c, top, below = roots_gathered(c, top, below)
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
