"""Index notation: ``einsum``, and sums and products of what has more than two dimensions.

The answer is ``\\left[ \\sum_{m} A_{im} B_{mj} \\right]_{ij}``: the array with these entries.
Contractions within contractions, outer products and transposes become one product.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from gradcli.symbolic.printers.latex import notation as t
from gradcli.symbolic.printers.latex.notation import ATOM, PRODUCT, SUM, Factor, Piece

_OPENED = ("add", "sub", "neg", "contract", "mul", "div", "outer")
"""Operators that this module writes by entries: sums, then products; a sign is of both.

Each has its lines below, in which the notation is."""
_TERMS, _PRODUCTS = _OPENED[:3], _OPENED[2:]
Key = tuple[int, tuple[str | None, ...]]


def is_indexed(w: Any, i: int) -> bool:
    """Whether a step is written by its entries."""
    s = w.formula.steps[i]
    if s.op == "contract":
        return True
    if s.op not in _OPENED or w.scalar(i):
        return False
    return w.formula.rank(i) > 2 or any(w.indexed[k] and not w.scalar(k) for k in s.inputs)


def unwritten(w: Any, i: int) -> list[int]:
    """The steps that the entries of a step show as wholes, and that have no text yet."""
    letters = w.free_letters(26)
    index = tuple(letters[: w.formula.rank(i)])
    within = _Entries(w, letters, (i, index)).wholes()
    return sorted(k for k in within if w.pieces[k] is None)


def entries(w: Any, i: int) -> Piece:
    """A step as the array of its entries; a number as the sum that it is."""
    rank = w.formula.rank(i)
    letters = w.free_letters(26)
    index = tuple(letters[:rank])
    said = _Entries(w, letters, (i, index)).total()
    if not rank:
        summed = said.level == SUM and said.factors is None and r"\sum" in said.text[:5]
        return Piece.open(said.text)._replace(negative=said.negative) if summed else said
    shown = "".join(index)
    text = rf"\left[ {said.shown(t.ROW)} \right]_{{{shown}}}"
    return Piece.product([Factor(text, t.TENSOR)])


class _Entries:
    """Entries of steps, each written once; what is within brackets is written before it.

    A step that has a name is shown by it, but for ``root``: there it is what the name stands for.
    """

    def __init__(self, w: Any, letters: list[str], root: Key) -> None:
        self.w = w
        self.letters = letters
        self.root = root
        self.done: dict[Key, Piece] = {}

    def wholes(self) -> set[int]:
        """The steps that stand in the entries of the root and are not opened themselves."""
        found: set[int] = set()
        seen = {self.root}
        waiting = [self.root]
        while waiting:
            for _, term in self.terms(waiting.pop()):
                p = self.product(term)
                for k in (*p.above, *p.under):
                    if not self.summed(k):
                        found.add(k[0])
                    elif k not in seen:
                        seen.add(k)
                        waiting.append(k)
        return found

    def total(self) -> Piece:
        """The entry of the root."""
        waiting = [self.root]
        while waiting:
            here = waiting[-1]
            terms = [(sign, self.product(k)) for sign, k in self.terms(here)]
            inner = [k for _, p in terms for k in (*p.above, *p.under) if self.summed(k)]
            missing = [k for k in inner if k not in self.done and k != here]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            self.done[here] = self.added([(sign * p.sign, self.text(p)) for sign, p in terms])
        return self.done[self.root]

    def opened(self, i: int) -> bool:
        """Whether a step is written as what it is made of."""
        return not self.named(i) and self.w.formula.steps[i].op in _OPENED

    def named(self, i: int) -> bool:
        """Whether a step is shown by its name."""
        return i in self.w.names and i != self.root[0]

    def summed(self, key: Key) -> bool:
        """Whether a factor is a sum of terms."""
        return self.opened(key[0]) and self.w.formula.steps[key[0]].op in _TERMS

    def inner(self, i: int, k: int, index: tuple) -> Key:
        """The entry of an operand k that belongs to an entry of i."""
        dims = self.w.formula.dims[k]
        own = index[len(index) - len(dims) :] if dims else ()
        whole = self.w.formula.dims[i][len(index) - len(dims) :] if dims else ()
        return k, tuple(
            None if d is None and e is not None else x
            for x, d, e in zip(own, dims, whole, strict=True)
        )

    def terms(self, key: Key) -> list[tuple[int, Key]]:
        """The terms of a sum, with their signs."""
        found: list[tuple[int, Key]] = []
        waiting = [(1, key)]
        while waiting:
            sign, (i, index) = waiting.pop()
            s = self.w.formula.steps[i]
            if not self.summed((i, index)):
                found.append((sign, (i, index)))
            elif s.op == "neg":
                waiting.append((-sign, self.inner(i, s.inputs[0], index)))
            else:
                second = -sign if s.op == "sub" else sign
                waiting.append((second, self.inner(i, s.inputs[1], index)))
                waiting.append((sign, self.inner(i, s.inputs[0], index)))
        return found

    def product(self, key: Key) -> _Product:
        """The factors of a term, those of contractions within it among them."""
        found = _Product()
        used = {x for x in (*key[1], *self.root[1]) if x}
        waiting = deque([(key, False)])
        while waiting:
            (i, index), under = waiting.popleft()
            s = self.w.formula.steps[i]
            used.update(x for x in index if x)
            if not self.opened(i) or s.op not in _PRODUCTS or (under and s.op == "contract"):
                turned = s.op in ("reverse_dims", "mT") and not self.named(i)
                if turned and len(index) == 2:
                    waiting.appendleft(((s.inputs[0], index[::-1]), under))
                elif turned and len(index) < 2:
                    waiting.appendleft(((s.inputs[0], index), under))
                else:
                    (found.under if under else found.above).append((i, index))
            elif s.op == "neg":
                inner = s.inputs[0]
                if self.summed((inner, ())) and self.w.formula.steps[inner].op != "neg":
                    found.above.append(self.inner(i, inner, index))
                else:
                    waiting.appendleft((self.inner(i, inner, index), under))
                found.sign = -found.sign
            elif s.op == "contract":
                parts = self.contracted(s, index, used, found)
                waiting.extendleft((p, under) for p in reversed(parts))
            elif s.op == "outer":
                a, b = s.inputs
                waiting.extendleft([((b, index[1:]), under), ((a, index[:1]), under)])
            else:
                a, b = (self.inner(i, k, index) for k in s.inputs)
                waiting.extendleft([(b, under != (s.op == "div")), (a, under)])
        return found

    def contracted(self, s: Any, index: tuple, used: set[str], found: _Product) -> list[Key]:
        """The operands of a contraction with their letters; the summed ones are fresh."""
        labels, _, result = s.params["labels"].replace(" ", "").partition("->")
        known = dict(zip(result, index, strict=True))
        for x in labels.replace(",", ""):
            if x not in known:
                known[x] = next(y for y in self.letters if y not in used)
                used.add(known[x])
                found.bound.append(known[x])
        return [
            (k, tuple(known[x] for x in part))
            for k, part in zip(s.inputs, labels.split(","), strict=True)
        ]

    # -- texts -----------------------------------------------------------------------------------

    def added(self, terms: list[tuple[int, Piece]]) -> Piece:
        """A sum of terms."""
        if len(terms) == 1:
            sign, p = terms[0]
            return Piece(p.text, p.level, p.negative != (sign < 0), p.factors)
        said = ""
        for place, (sign, p) in enumerate(terms):
            minus = (sign < 0) != p.negative
            text = t.grouped(p.text) if p.level == SUM and place < len(terms) - 1 else p.text
            said += (" - " if minus else " + ") + text if said else ("-" if minus else "") + text
        return Piece(said, SUM)

    def text(self, p: _Product) -> Piece:
        """A product with its sum sign."""
        above = [f for k in p.above if (f := self.factor(k)).text != "1"]
        under = [f for k in p.under if (f := self.factor(k)).text != "1"]
        body, level = t.joined(above) if above else ("1", ATOM)
        if under:
            body, level = rf"\frac{{{body}}}{{{t.joined(under)[0]}}}", PRODUCT
        if not p.bound:
            return Piece(body, level)
        body = t.grouped(body) if level < PRODUCT else body
        return Piece(rf"\sum_{{{','.join(p.bound)}}} {body}", SUM)

    def factor(self, key: Key) -> Factor:
        """One factor: an entry of a variable, a delta, or of what stands in brackets."""
        i, index = key
        w, s = self.w, self.w.formula.steps[i]
        if self.summed(key):
            p = self.done[key]
            if p.level > SUM:
                return Factor(p.shown(t.SIGN), t.SCALAR, p.level if not p.negative else SUM)
            return Factor(p.shown(t.ROW), t.SCALAR, SUM)
        named = self.named(i)
        power = None
        if not named and s.op == "pow" and w.scalar(s.inputs[1]) and not w.scalar(i):
            power = w.at(s.inputs[1])
            i = s.inputs[0]
            s, named = w.formula.steps[i], self.named(i)
        while s.op == "unsqueeze" and not named:
            place = s.params.get("dim", 0) % len(index)
            index = index[:place] + index[place + 1 :]
            i = s.inputs[0]
            s, named = w.formula.steps[i], self.named(i)
        shown = "".join(x for x in index if x)
        if not named and s.op == "ones":
            return Factor("1", t.NUMBER)
        kind = t.NUMBER if s.op == "number" else t.SCALAR
        if not shown:
            p = w.piece(i)
            level = t.SIGN if p.negative else p.level
            return Factor(p.shown(t.ROW), kind, level)
        if not named and s.op == "eye":
            text = rf"\delta_{{{shown}}}"
        elif (named or s.op == "name") and "_" not in (
            bare := t.symbol(w.letters[i] if named else s.value, 0)
        ):
            text = f"{bare}_{{{shown}}}"
        else:
            inner = w.at(i, ATOM)
            text = f"{t.grouped(inner) if '_' in inner and inner[-1] == '}' else inner}_{{{shown}}}"
        merges = power is None
        return Factor(text if merges else f"{text}^{{{power}}}", t.TENSOR, merges=merges)


class _Product:
    """Factors above and below a fraction bar, the sign, and the indices summed over."""

    __slots__ = ("above", "bound", "sign", "under")

    def __init__(self) -> None:
        self.above: list[Key] = []
        self.under: list[Key] = []
        self.bound: list[str] = []
        self.sign = 1
