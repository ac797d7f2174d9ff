"""How indices, slices and other selectors are written: in the text that they meet, ``A[1:] @ x``.

What takes a slice stands as ``eye(n)[1:]`` where it meets nothing. What puts a slice back is
``pad``; of a stepped one, a product with ``eye(n)[:, ::2]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.language.syntax import nodes as n
from gradcli.symbolic.emit import tree as w
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.expr import sizes
from gradcli.symbolic.expr.base import Base


def size_text(size: str) -> Text:
    """A size as a text: ``n - 1``."""
    signed = []
    for names, number in sizes.terms(size).items():
        parts = [w.name(k) if k.isidentifier() else _halved(k) for k in names]
        front = [] if abs(number) == 1 and parts else [w.numeral(abs(number))]
        signed.append((1 if number > 0 else -1, w.joined([*front, *parts])))
    return w.total(signed) if signed else w.numeral(0)


def _halved(name: str) -> Text:
    if name.startswith("min("):
        return w.called("min", *map(size_text, name[4:-1].split(",")))
    inner, _, step = name[2:-1].rpartition(")//")
    return w.binary("//", size_text(inner), w.numeral(int(step)))


class Operand:
    """A factor on its way into a product: its text, power, labels, and the base where it is one."""

    __slots__ = ("base", "exponent", "idx", "text")

    def __init__(self, text: Text, exponent: Any, idx: Sequence, base: Base | None) -> None:
        self.text = text
        self.exponent = exponent
        self.idx = list(idx)
        self.base = base

    @property
    def kind(self) -> str:
        """What kind of base it is, "" once it has been indexed."""
        return "" if self.base is None else self.base.kind

    def indexed(self, axis: int, place: n.Expr) -> None:
        """Take an entry or a slice of an axis."""
        self.text = w.indexed(self.text, [place if i == axis else None for i in range(axis + 1)])
        self.base = None


def absorbed(operands: Sequence[Operand], resize: Callable[[str], str]) -> list[Operand]:
    """The operands with entries and slices of a summed label written into what they meet."""
    left = list(operands)
    again = True
    while again:
        again = False
        for f in left:
            if f.kind not in ("entry", "slice") or len(set(f.idx)) != len(f.idx):
                continue
            label = f.idx[-1]
            users = [g for g in left if g is not f and label in g.idx]
            if label[1] >= 0 or len(users) != 1 or users[0].idx.count(label) != 1:
                continue
            (g,) = users
            if g.kind == "slice" and f.kind == "slice":
                continue
            axis = g.idx.index(label)
            assert f.base is not None
            if f.kind == "entry":
                g.indexed(axis, w.whole(f.base.name))
                del g.idx[axis]
            else:
                g.indexed(axis, span(f.base, resize))
                g.idx[axis] = f.idx[0]
            left.remove(f)
            again = True
            break
    return left


def span(b: Base, resize: Callable[[str], str]) -> n.Expr:
    """A slice as it stands in an index."""
    start, step = b.name
    short, long = (resize(d) for d in b.dims)
    low = start if isinstance(start, int) else resize(start)
    lower = None if low in (0, "0") else _bound(low)
    upper = None
    if isinstance(low, int) and low < 0:
        end = low + int(short)
        upper = None if not end else w.whole(end)
    elif step == 1:
        rest = sizes.plus(sizes.plus(long, short, -1), low, -1)
        if rest.isdigit():
            upper = None if rest == "0" else w.whole(-int(rest))
        else:
            upper = _bound(sizes.plus(short, low))
    elif sizes.extent(long, low, None, step)[0] != short:
        upper = _bound(sizes.plus(sizes.times(sizes.plus(short, -1), step), sizes.plus("1", low)))
    return n.Slice(lower, upper, None if step == 1 else w.whole(step))


def _bound(size: int | str) -> n.Expr:
    if isinstance(size, int) or size.lstrip("-").isdigit():
        return w.whole(int(size))
    return size_text(size).node


class Acting(Text):
    """A matrix of zeros and ones as a text; it knows how to act on what stands beside it."""

    __slots__ = ("b", "resize", "turned")

    def __init__(self, b: Base, turned: bool, resize: Callable[[str], str]) -> None:
        alone = _alone(b, turned, resize)
        super().__init__(alone.node, alone.cost)
        self.b = b
        self.turned = turned
        self.resize = resize

    @property
    def takes(self) -> bool:
        """Whether it takes a slice: best done first."""
        return self.b.kind == "slice" and not self.turned

    def acting(self, x: Text, axis: int, rank: int) -> Text | None:
        """Its product with x along an axis of x in a shorter way; None where there is none.

        It stands before x on axis 0, behind a matrix x on axis 1.
        """
        b, turned = self.b, self.turned is not (axis == 1)
        if b.kind == "slice":
            if not turned:
                return w.indexed(x, [*[None] * axis, span(b, self.resize)])
            return self.padded(x, rank == 2 and axis == 0)
        if b.kind == "flip":
            return w.called("flip", x, w.numeral(axis))
        if b.kind == "roll":
            return w.called("roll", x, _signed(-b.name if turned else b.name), w.numeral(axis))
        if b.name == 0 and not turned and b.dims[0] == b.dims[1]:
            return w.called("cumsum", x, w.numeral(axis))
        return None

    def padded(self, x: Text, rows: bool) -> Text | None:
        """x with zeros around, along its last axis or along the rows."""
        start, step = self.b.name
        if step != 1:
            return None
        short, long = (self.resize(d) for d in self.b.dims)
        low = sizes.plus(long, start) if isinstance(start, int) and start < 0 else str(start)
        low = self.resize(low)
        ends = [size_text(s) for s in (low, sizes.plus(sizes.plus(long, short, -1), low, -1))]
        both = [*([w.numeral(0)] * 2 if rows else []), *ends]
        node = x.node
        if n.called(node) == "pad":
            have = node.args[1]
            assert isinstance(have, n.Tuple)
            old = [*have.items, *([w.numeral(0).node] * (4 - len(have.items)))]
            at = 2 if rows else 0
            zero = all(n.is_number(t, 0) for t in old[at : at + 2])
            if zero:
                old[at : at + 2] = [t.node for t in ends]
                if not rows and len(have.items) == 2:
                    old = old[:2]
                call = n.Call(node.func, (node.args[0], n.Tuple(tuple(old))), ())
                return Text(call, x.cost + sum(t.cost for t in ends))
        pair = Text(n.Tuple(tuple(t.node for t in both)), sum(t.cost for t in both))
        return w.called("pad", x, pair)

    def mask(self, x: Text) -> Text | None:
        """It times x entry by entry."""
        if self.b.kind != "below":
            return None
        k = -self.b.name if self.turned else self.b.name
        return w.called("triu" if self.turned else "tril", x, *([_signed(k)] if k else []))


def _signed(k: int) -> Text:
    return Text(w.whole(k), 0)


def _alone(b: Base, turned: bool, resize: Callable[[str], str]) -> Text:
    rows, columns = (size_text(resize(d)) for d in b.dims[-2:])
    if b.kind == "slice":
        eye = w.called("eye", columns)
        where = span(b, resize)
        return w.indexed(eye, [None, where] if turned else [where])
    if b.kind == "flip":
        return w.called("flip", w.called("eye", rows), w.numeral(0))
    if b.kind == "roll":
        shift = -b.name if turned else b.name
        return w.called("roll", w.called("eye", rows), _signed(shift), w.numeral(0))
    k = -b.name if turned else b.name
    ones = w.called("ones", *((columns, rows) if turned else (rows, columns)))
    return w.called("triu" if turned else "tril", ones, *([_signed(k)] if k else []))


def reshaped(x: Text, texts: Sequence[Text]) -> Text:
    """``reshape(x, (n, m))``."""
    shape = Text(n.Tuple(tuple(t.node for t in texts)), sum(t.cost for t in texts))
    return w.called("reshape", x, shape)


def alone(b: Base, resize: Callable[[str], str]) -> Text:
    """A selector as a text by itself."""
    if b.kind == "entry":
        return w.indexed(w.called("eye", size_text(resize(b.dims[0]))), [w.whole(b.name)])
    if b.kind == "join":
        texts = [size_text(resize(d)) for d in b.dims]
        return reshaped(w.called("eye", texts[0]), texts)
    return Acting(b, False, resize)


def acted(chain: Sequence[Text], vector: bool) -> tuple[Text, ...]:
    """The factors of a product with those that act on a neighbour carried out.

    ``vector`` where the last one is a vector.
    """
    parts = list(chain)
    i = len(parts) - 1
    while i >= 0:
        act = parts[i]
        if isinstance(act, Acting) and len(parts) > 1:
            found = None
            if i + 1 < len(parts):
                if act.takes or i + 2 == len(parts):
                    rank = 1 if vector and i + 2 == len(parts) else 2
                    found = act.acting(parts[i + 1], 0, rank)
                    if found is not None:
                        parts[i : i + 2] = [found]
                else:
                    found = act.acting(w.joined(parts[i + 1 :], "@"), 0, 1 if vector else 2)
                    if found is not None:
                        parts[i:] = [found]
            elif not isinstance(parts[i - 1], Acting):
                found = act.acting(parts[i - 1], 1, 2)
                if found is not None:
                    parts[i - 1 : i + 1] = [found]
            if found is not None:
                i = len(parts) - 1
                continue
        i -= 1
    return tuple(parts)
