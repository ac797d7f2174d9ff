"""The answer's tree with its cost: names, numbers, calls, signed sums and short products.

One for every operation; names, numbers and the minus before a written number are free. The trees
are the language's own, so that the printer brackets them and the answer can be read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeGuard

from gradcli.language.diagnostics.parsing import parse
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.language.syntax.source import Source
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr.base import in_decimals, terminates
from gradcli.symbolic.expr.identities import ODD
from gradcli.symbolic.unsupported import no_value, too_large

MOST = 20_000
"""Operations that an answer may have."""


class Text:
    """A tree and its cost."""

    __slots__ = ("_key", "cost", "node")

    def __init__(self, node: n.Expr, cost: int) -> None:
        if cost > MOST:
            raise too_large()
        self.node: Any = node  # of the kind that a reader asks for
        self.cost = cost
        self._key: str | None = None

    @property
    def key(self) -> str:
        """How it is written."""
        if self._key is None:
            node = self.node
            self._key = node.id if node.__class__ is n.Name else unparse(node)
        return self._key


def operations(node: n.Expr) -> int:
    """The cost of a tree: as ``Text`` adds it up, for a part of one."""
    waiting: list[n.Node] = [node]
    total = 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, n.Unary):
            total += not isinstance(one.operand, n.Number)
        else:
            total += isinstance(one, n.Binary | n.Call | n.Attribute | n.Compare)
        waiting += n.children(one)
    return total


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
    return Text(n.call(function, *(a.node for a in args)), 1 + sum(a.cost for a in args))


def filled(template: str, x: Text) -> Text:
    """A call as a declaration writes it, of ``{x}``: ``eigh({x})[1]``."""
    statement = parse(Source(template.format(x="x")), "line").body[-1]
    root: Any = statement.value  # type: ignore[attr-defined]
    call: Any = root.value if isinstance(root, n.Subscript) else root
    whole: n.Expr = n.Call(call.func, (x.node, *call.args[1:]), ())
    if isinstance(root, n.Subscript):
        whole = n.Subscript(whole, root.index)
    return Text(whole, x.cost + 1)


def indexed(x: Text, places: Sequence[n.Expr | None]) -> Text:
    """``x[places]``, where None stands for all of an axis; an index is free.

    Into an index that stands already it is written: ``A[0][1]`` is ``A[0, 1]``.
    """
    items: list[n.Expr | None] = list(places)
    node = x.node
    if isinstance(node, n.Subscript) and f"{n.called(node.value)}_parts" not in OPERATORS:
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


def choice(node: n.Expr) -> TypeGuard[n.Call]:
    """Whether a tree is a where."""
    return n.called(node) == "where"


def chosen(x: Text) -> Text | None:
    """The condition of ``where(condition, 1, 0)``, else None."""
    node = x.node
    if not choice(node):
        return None
    one, zero = node.args[1:]
    if n.is_number(one, 1) and n.is_number(zero, 0):
        return Text(node.args[0], x.cost - 1)
    return None


def inside(x: Text, function: str) -> Text | None:
    """What a call of a function of one argument is applied to, else None."""
    node = x.node
    if n.called(node) == function and len(node.args) == 1:
        return Text(node.args[0], x.cost - 1)
    return None


def less_its_mean(x: Text) -> Text | None:
    """What u is in ``u - mean(u)``, else None."""
    node = x.node
    if not isinstance(node, n.Binary) or node.op != "-":
        return None
    meant = n.same(node.right, n.call("mean", node.left))
    return Text(node.left, (x.cost - 2) // 2) if meant else None


def averaged(x: Text) -> Text:
    """The mean in place of a sum, or of the square of a length."""
    node = x.node
    if n.called(node) == "norm":
        size = n.call("abs", *node.args[:1])
        return Text(n.call("mean", size, *node.args[2:]), x.cost + 1)
    if isinstance(node, n.Call):
        return Text(n.call("mean", *node.args), x.cost)
    return Text(n.call("mean", n.Binary("**", node.left.args[0], node.right)), x.cost)


def compared(op: str, left: Text, right: Text) -> Text:
    """``left op right`` for a comparison."""
    return Text(n.Compare(left.node, (op,), (right.node,)), left.cost + right.cost + 1)


def transposed(x: Text) -> Text:
    """``x.T``; of a transpose, what was transposed."""
    if isinstance(x.node, n.Attribute) and x.node.name == "T":
        return Text(x.node.value, x.cost - 1)
    return Text(n.Attribute(x.node, "T"), x.cost + 1)


def attribute(x: Text, name: str) -> Text:
    """``x.name``."""
    return Text(n.Attribute(x.node, name), x.cost + 1)


def joined(parts: Sequence[Text], op: str = "*") -> Text:
    """Parts with an operator between them, from the left."""
    found = parts[0]
    for part in parts[1:]:
        found = binary(op, found, part) if op != "*" else _times(found, part)
    return found


def _times(left: Text, right: Text) -> Text:
    """``a*(b*c)`` as ``a*b*c``."""
    return _in_front(left, right, ("*", "/"))


# ---- Shorter products: one power, one root, a minus inside a bracket -----------------------------


def is_difference(node: n.Expr) -> TypeGuard[n.Binary]:
    """Whether a tree is ``a - b`` where a is no sum."""
    if not isinstance(node, n.Binary) or node.op != "-":
        return False
    return not (isinstance(node.left, n.Binary) and node.left.op in "+-") and not _signed(node.left)


_DEEPEST = 4
"""Brackets within brackets that a minus goes into."""


def turnable(spine: Sequence[n.Binary]) -> tuple[int, n.Expr, int] | None:
    """The place in a product that takes a minus, what it becomes, and the operations saved."""
    for i in range(len(spine) - 1, -1, -1):
        found = turned(spine[i].right)
        if found is not None:
            return i, *found
    return None


def turned(node: n.Expr, depth: int = 0) -> tuple[n.Expr, int] | None:
    """A tree with the other sign at no cost: in an odd function, in a product in brackets."""
    if depth == _DEEPEST:
        return None
    if is_difference(node):
        return n.Binary("-", node.right, node.left), 0
    if isinstance(node, n.Call) and (function := n.called(node)) and not node.keywords:
        if function in ODD and len(node.args) == 1:
            inner = turned(node.args[0], depth + 1)
            return None if inner is None else (n.Call(node.func, (inner[0],), ()), inner[1])
        if function == "where":
            turns = [_turned_or_zero(x, depth) for x in node.args[1:]]
            sides = [x for x in turns if x is not None]
            if len(sides) == len(turns):
                found = (node.args[0], *(x[0] for x in sides))
                return n.Call(node.func, found, ()), sum(x[1] for x in sides)
        if function in ("outer", "dot") and n.same(*node.args[:2]):
            return None  # outer(u, u) is seen to be symmetric
        for place in range(min(_linear_in(function), len(node.args))):
            inner = turned(node.args[place], depth + 1)
            if inner is not None:
                given = list(node.args)
                given[place] = inner[0]
                return n.Call(node.func, tuple(given), ()), inner[1]
        return None
    if isinstance(node, n.Unary) and node.op == "-" and depth:
        return node.operand, 1
    if isinstance(node, n.Binary) and node.op in ("*", "/", "@"):
        for right in (True, False):
            inner = turned(node.right if right else node.left, depth + 1)
            if inner is not None:
                left, other = (node.left, inner[0]) if right else (inner[0], node.right)
                return n.Binary(node.op, left, other), inner[1]
    return None


def _linear_in(name: str) -> int:
    """In how many of its first arguments a function is linear, in each by itself."""
    op = OPERATORS.get(name)
    if op is None:
        return int(name == "diag")
    return {"bilinear": 2, "linear": int(op.arity == 1 and not op.variadic)}.get(op.kind, 0)


def _turned_or_zero(node: n.Expr, depth: int) -> tuple[n.Expr, int] | None:
    if isinstance(node, n.Number):
        value = -node.value if node.value else node.value
        return n.Number(value, repr(value)), 0
    return turned(node, depth + 1)


def _signed(node: Any) -> bool:
    """Whether a tree is written with a minus in front."""
    while isinstance(node, n.Binary):
        node = node.left
    return isinstance(node, n.Unary) or (
        isinstance(node, n.Number) and node.value < 0  # type: ignore[operator]
    )


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
    parts = n.operands(x.node, "*")
    if len(parts) == 1 or not all(_is_power(p) or isinstance(p, n.Name | n.Number) for p in parts):
        return [x]
    return [Text(p, operations(p)) for p in parts]


def _powers(x: Text) -> bool:
    return any(map(_is_power, n.operands(x.node, "*")))


def roots_gathered(
    c: Fraction, top: list[Text], below: list[Text]
) -> tuple[Fraction, list[Text], list[Text]]:
    """``sqrt(2)*u/(2*sqrt(pi))`` as ``u/sqrt(2*pi)``, ``sqrt(2)*sqrt(x)`` as ``sqrt(2*x)``."""
    if sum(n.called(t.node) == "sqrt" for t in (*top, *below)) < 2:
        return c, top, below
    pi = next((t for t in below if _root_of(t, n.Name) == "pi"), None)
    for i, t in enumerate(top) if pi is not None else ():
        number = _root_of(t, n.Number)
        if not number:
            continue
        below = [x for x in below if x is not pi]
        if c.denominator % number == 0:
            top = [*top[:i], *top[i + 1 :]]
            below.insert(0, called("sqrt", binary("*", numeral(number), name("pi"))))
            c *= number
        else:
            ratio = called("sqrt", binary("/", numeral(number), name("pi")))
            top = [*top[:i], ratio, *top[i + 1 :]]
        break
    return c, one_root(top), one_root(below)


def one_root(parts: list[Text]) -> list[Text]:
    """Factors with their square roots as one, where those are no quotients."""
    roots: list[tuple[Text, Text]] = []
    for t in parts:
        under = inside(t, "sqrt")
        if under is not None and not (isinstance(under.node, n.Binary) and under.node.op == "/"):
            roots.append((t, under))
    if len(roots) < 2:
        return parts
    number, inner = 1, []
    for _, under in roots:
        if isinstance(under.node, n.Number) and isinstance(under.node.value, int):
            number *= under.node.value
        else:
            inner.append(under)
    inner.sort(key=lambda x: x.key != "pi")
    if number != 1:
        inner.insert(0, numeral(number))
    place = parts.index(roots[0][0])
    gone = {id(t) for t, _ in roots}
    rest = [t for t in parts[place + 1 :] if id(t) not in gone]
    return [*parts[:place], called("sqrt", joined(inner)), *rest]


def _root_of(x: Text, kind: type) -> Any:
    """The number or the name that a text is the root of, None where it is not."""
    inner = inside(x, "sqrt")
    if inner is None or not isinstance(inner.node, kind):
        return None
    node: Any = inner.node
    return node.id if kind is n.Name else node.value


# ---- Signed sums and products --------------------------------------------------------------------


def negated(x: Text) -> Text:
    """``-x``: the sign goes to a number in front, into a difference (``b - a``), or in front."""
    node, spine = _spine(x.node, ("*", "/", "@"))
    # a number takes the sign, but for 1/(1 - u)
    if isinstance(node, n.Number) and not (
        spine and spine[0].op == "/" and is_difference(spine[0].right)
    ):
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
    return Text(_on_spine(first, spine), cost)


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


def above_and_below(factors: Iterable[tuple[Text, Fraction]]) -> tuple[list[Text], list[Text]]:
    """Factors above and below the line; those that are written alike as one power."""
    powers: dict[str, tuple[Text, Fraction]] = {}
    for x, e in factors:
        have = powers.get(x.key)
        powers[x.key] = x, e if have is None else have[1] + e
    above = [raised(x, e) for x, e in powers.values() if e > 0]
    return above, [raised(x, -e) for x, e in powers.values() if e < 0]


def is_sum(x: Text) -> bool:
    """Whether a factor is a sum, or a matrix product: it stands behind the others."""
    return isinstance(x.node, n.Binary) and x.node.op in "+-@"


def _in_front(factor: Text, x: Text, ops: Sequence[str]) -> Text:
    """``factor*x`` with the factor at the front of a product by these operators."""
    node, spine = _spine(x.node, ops)
    return Text(_on_spine(n.Binary("*", factor.node, node), spine), factor.cost + x.cost + 1)


def _spine(node: n.Expr, ops: Sequence[str]) -> tuple[Any, list[n.Binary]]:
    """What a chain of operators begins with, and the operations on it, the last one first."""
    spine: list[n.Binary] = []
    while isinstance(node, n.Binary) and node.op in ops:
        spine.append(node)
        node = node.left
    return node, spine


def _on_spine(first: n.Expr, spine: Sequence[n.Binary]) -> n.Expr:
    """The operations of a chain on another beginning."""
    for part in reversed(spine):
        first = n.Binary(part.op, first, part.right)
    return first


def _exact(c: Fraction) -> bool:
    """Whether both parts of a fraction are whole numbers that float64 holds."""
    return c.numerator.bit_length() <= 53 and c.denominator.bit_length() <= 53


def _root_below(
    c: Fraction, top: list[Text], below: list[Text]
) -> tuple[Fraction, list[Text], list[Text]]:
    """``sqrt(2)*x/2`` as ``x/sqrt(2)``."""
    for i, t in enumerate(top):
        node = t.node
        if n.called(node) == "sqrt":
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
    found = last if found is None else _in_front(found, last, ("*", "/", "@"))
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
