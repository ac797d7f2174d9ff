"""Closed forms in LaTeX: scalars italic, vectors and matrices bold, nothing beyond amsmath.

Products of scalars are written side by side; entry by entry on tensors they are ``\\odot``, and a
power entry by entry is ``x^{\\odot 2}``. A choice is a ``cases`` environment. Where the language
broadcasts, the formula says so in matrices (``broadcasting``); what has more than two dimensions,
and every ``einsum``, is written by its entries (``index_notation``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradcli.language.runtime.run import Program
from gradcli.ops.declaration.infix import is_comparison
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr.sizes import names as names_of
from gradcli.symbolic.printers.formula import FREE, Formula
from gradcli.symbolic.printers.latex import notation as t
from gradcli.symbolic.printers.latex.blocks import Joined
from gradcli.symbolic.printers.latex.broadcasting import Spread
from gradcli.symbolic.printers.latex.index_notation import entries, is_indexed, unwritten
from gradcli.symbolic.printers.latex.notation import (
    ATOM,
    ENTRIES,
    POWER,
    PRODUCT,
    ROW,
    SUM,
    Factor,
    Piece,
    no_notation,
    parameters,
)
from gradcli.symbolic.program.steps import Step
from gradcli.symbolic.shapes.declarations import Declaration

_PASSING = frozenset(("reverse_dims", "mT", "neg", "unsqueeze", "clone"))
"""What mathematics marks on a letter or leaves out: not it gets a name, but what it is of.

A choice of this notation; to other printers ``clone`` alone is nothing."""
_FEW = 3
"""Factors of a product of entries that reads as well as an entry of its name."""
_CAPITALS = "RSUQHWZK"
"""Letters for named matrices, where that of the language's own name is taken."""


def result_latex(result: Any, let: bool = True, left: str | None = None) -> str:
    """A Result's formulas; several, or one with names, as an aligned block.

    ``left`` is the left side of a single one; several have theirs in any case.
    """
    parts = [(name, latex(text, result.declared, let)) for name, text in result.derivatives.items()]
    if len(parts) == 1 and not parts[0][1][1]:
        formula = parts[0][1][0]
        return formula if left is None else f"{left} = {formula}"
    lines = []
    for name, (formula, bindings) in parts:
        by = symbol_of_derivative(name, result) if len(parts) > 1 else left
        front = "& " if by is None else f"{by} &= "
        where = [f"& {a} = {b}" for a, b in bindings]
        if where:
            where[0] = r"& \quad\text{where } " + where[0][2:]
        lines += [front + formula, *where]
    body = " \\\\\n".join(lines)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def symbol_of_derivative(key: str, result: Any, along: Mapping[str, str] | None = None) -> str:
    """``\\frac{\\partial f}{\\partial x}`` with the variable as the formula writes it.

    In a direction ``\\mathrm{D} f[v]``; ``along`` has its name for each variable.
    """
    names = key.split(",")
    order = result.order
    if along:
        ways = [t.symbol(d, result.declared[x].rank) for x, d in along.items()]
        power = "" if order == 1 else f"^{{{order}}}"
        return rf"\mathrm{{D}}{power} f\left[{', '.join(ways)}\right]"
    top = r"\partial f" if order == 1 else rf"\partial^{{{order}}} f"
    symbols = [t.symbol(x, result.declared[x].rank if x in result.declared else 0) for x in names]
    if len(names) == 1 and order > 1:
        return rf"\frac{{{top}}}{{\partial {symbols[0]}^{{{order}}}}}"
    below = r" \, ".join(rf"\partial {s}" for s in symbols)
    return rf"\frac{{{top}}}{{{below}}}"


def latex(
    expression: str | Program, declared: Mapping[str, Declaration], let: bool = True
) -> tuple[str, list[tuple[str, str]]]:
    """An expression in LaTeX, and what its names stand for.

    Raises a fault (E0701) for an operator that has no notation here.
    """
    formula = Formula([expression], declared, let)
    return _Writer(formula, declared).run()


class _Writer(Spread, Joined):
    def __init__(self, formula: Formula, declared: Mapping[str, Declaration]) -> None:
        self.formula = formula
        self.declared = declared
        self.pieces: list[Piece | None] = []
        self.rows: dict[int, Piece] = {}
        self.indexed: list[bool] = []
        self.taken = {*declared, *formula.names()}
        self.sizes = {x for dims in formula.dims for d in dims if d for x in names_of(d)}
        formula.named = self.worth_naming()
        self.names: dict[int, str] = {}
        self.letters: dict[int, str] = {}
        letters = formula.letters(self.taken)
        used = {*self.taken, *letters.values()}
        for i, x in letters.items():
            rank = formula.rank(i)
            capitals = (y for y in (x.upper(), *_CAPITALS) if y not in used)
            large = next(capitals, x) if rank > 1 else x
            used.add(large)
            self.names[i] = t.symbol(large, rank)
            self.letters[i] = large

    def worth_naming(self) -> list[int]:
        """The steps to be named: no transposes and signs, but what they are of; nothing made."""
        found = set()
        for i in self.formula.named:
            place = i
            while self.formula.steps[place].op in _PASSING:
                place = self.formula.steps[place].inputs[0]
            s = self.formula.steps[place]
            plain = all(self.formula.steps[k].op in FREE for k in s.inputs)
            if self.unsummed(place):
                continue
            if s.op in FREE or s.op in ("eye", "ones", "zeros") or (place != i and plain):
                continue
            if s.op != "getitem" or not plain:
                found.add(place)
        return sorted(found)

    def unsummed(self, i: int) -> bool:
        """Whether a step is an einsum that sums nothing, of a few things that have names anyway."""
        waiting, factors = [i], 0
        while waiting:
            s = self.formula.steps[waiting.pop()]
            if s.op == "contract":
                labels, _, result = s.params["labels"].replace(" ", "").partition("->")
                if not set(labels) <= {",", *result}:
                    return False
                waiting += s.inputs
            elif s.op not in FREE and s.op not in ("eye", "ones"):
                return False
            factors += s.op != "contract"
            if factors > _FEW:
                return False
        return self.formula.steps[i].op == "contract"

    def run(self) -> tuple[str, list[tuple[str, str]]]:
        """The formula and its names."""
        bindings = []
        for i, step in enumerate(self.formula.steps):
            self.indexed.append(is_indexed(self, i))
            piece = None if self.indexed[i] else self.step(i, step)
            self.pieces.append(piece)
            if i in self.names:
                bindings.append((self.names[i], self.piece(i).shown(ROW)))
                self.indexed[i] = False
                self.pieces[i] = self.single(i, self.names[i])
        return self.piece(self.formula.roots[0]).shown(ROW), bindings

    def piece(self, i: int) -> Piece:
        """What a step is written as; by its entries only where it is asked for."""
        found = self.pieces[i]
        waiting = [] if found is not None else [i]
        while waiting:
            inner = unwritten(self, waiting[-1])
            if inner:
                waiting += inner
                continue
            here = waiting.pop()
            found = self.pieces[here] = entries(self, here)
        assert found is not None
        return found

    def at(self, i: int, asked: int = ROW) -> str:
        """A step's text, in brackets where it is looser than asked."""
        return self.piece(i).shown(asked)

    def scalar(self, i: int) -> bool:
        """Whether a step is one number."""
        return not any(self.formula.dims[i])

    def single(self, i: int, text: str, level: int = ATOM) -> Piece:
        """A step that is one factor."""
        s, dims = self.formula.steps[i], self.formula.dims[i]
        if s.op in ("number", "constant"):
            factor = Factor(text, t.NUMBER if s.op == "number" else t.CONSTANT, level)
        elif self.scalar(i):
            factor = Factor(text, t.SCALAR, level, merges=level == ATOM)
        else:
            square = len(dims) == 2 and dims[0] == dims[1]
            alike = s.op in ("eye", "diag", "undiagonal") and square
            alike = alike or (s.op == "name" and self.symmetric(s.value))
            factor = Factor(text, t.TENSOR, level, merges=square, symmetric=alike)
        return Piece.product([factor])

    def symmetric(self, name: str) -> bool:
        """Whether a variable was declared symmetric."""
        return name in self.declared and "symmetric" in self.declared[name].traits

    def step(self, i: int, s: Step) -> Piece:
        """The text of a step and how tightly it holds together."""
        if s.op == "name":
            return self.single(i, t.symbol(s.value, self.formula.rank(i)))
        if s.op == "number":
            text = t.numeral(s.node.value)  # type: ignore[attr-defined]
            return self.single(i, text, PRODUCT if " " in text else ATOM)
        if s.op == "constant":
            return self.single(i, r"\pi" if s.value == "pi" else r"\mathrm{e}")
        if s.op == "size":
            return Piece(t.size(str(s.value)), SUM)
        if s.op in ("eye", "ones", "zeros"):
            return self.single(i, _made(s))
        method: Callable | None = getattr(self, f"do_{s.op}", None)
        if method is not None:
            return method(i, s)
        if is_comparison(s.op):
            a, b = (self.beside(k, i).shown(SUM) for k in s.inputs)
            op = OPERATORS[s.op]
            return Piece(f"{a} {op.latex or op.infix} {b}", ROW)
        return self.called(i, s)

    def called(self, i: int, s: Step) -> Piece:
        """A function with its arguments in brackets."""
        rank = self.formula.rank(s.inputs[0]) if s.inputs else 0
        params = parameters(s.op, s.params)
        head = t.head(s.op, params, rank)
        if s.op == "abs" and self.formula.rank(i) > 1:
            head = t.word("abs")  # bars round a matrix are its determinant
        if head is None:
            raise no_notation(s.op)
        if "{x}" in head:
            return self.single(i, head.replace("{x}", self.at(s.inputs[0])))
        spreads = t.spreads(s.op)
        said = [(self.beside(k, i) if spreads else self.piece(k)).shown(ROW) for k in s.inputs]
        text = head + t.grouped(", ".join(said))
        if self.formula.rank(i) == 2 and params.get("keepdim") and not self.formula.dims[i][0]:
            text += r"^{\top}"
            return self.single(i, text, POWER)
        return self.single(i, text)

    # -- arithmetic ------------------------------------------------------------------------------

    def term(self, p: Piece, minus: bool) -> str:
        """The right side of a sum with its sign, which takes up the term's own."""
        if p.negative:
            return f" {'+' if minus else '-'} {p.body(ENTRIES)}"
        open_end = p.factors is not None and p.factors[0].kind == t.OPEN and p.level == SUM
        text = p.text if open_end else p.shown(ENTRIES if minus else SUM)
        return f" {'-' if minus else '+'} {t.grouped(text) if text.startswith('-') else text}"

    def do_add(self, i: int, s: Step) -> Piece:
        a, b = (self.full(k, i) for k in s.inputs)
        return Piece(a.shown(SUM) + self.term(b, s.op == "sub"), SUM)

    do_sub = do_add

    def do_add_scaled(self, i: int, s: Step) -> Piece:
        scale = s.params.get("alpha" if s.op == "add_scaled" else "value", 1)
        a = self.full(s.inputs[0], i)
        parts = [self.full(k, i) if len(s.inputs) == 2 else self.piece(k) for k in s.inputs[1:]]
        if len(parts) > 1 and not all(self.scalar(k) for k in s.inputs):
            raise no_notation(s.op, " of tensors")
        negative = sum(p.negative for p in parts) % 2 == 1
        factors = [f for p in parts for f in self.factors(p, self.kind(i))]
        if abs(scale) != 1:
            factors.insert(0, Factor(t.numeral(abs(scale)), t.NUMBER))
        product = Piece.product(factors, negative != (scale < 0))
        return Piece(a.shown(SUM) + self.term(product, False), SUM)

    do_addcmul = do_add_scaled

    def do_neg(self, i: int, s: Step) -> Piece:
        p = self.piece(s.inputs[0])
        if p.level < ENTRIES and p.factors is None:
            return Piece.product([Factor(t.grouped(p.text), self.kind(i))], True)
        return Piece(p.text, p.level, not p.negative, p.factors)

    def do_reciprocal(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        if not self.scalar(a):
            return self.raised(i, a, "-1")
        return self.single(i, rf"\frac{{1}}{{{self.at(a)}}}", PRODUCT)

    def do_pow(self, i: int, s: Step) -> Piece:
        a, b = s.inputs
        under, exponent = self.formula.steps[a], self.formula.steps[b]
        value = getattr(exponent.node, "value", None) if exponent.op == "number" else None
        head = t.power_before(under.op)
        plain = a not in self.names and self.scalar(a)
        if head is not None and plain and isinstance(value, int) and value > 1:
            inside = t.grouped(self.at(under.inputs[0]))
            return self.single(i, f"{head}^{{{value}}}{inside}")
        return self.raised(i, a, self.beside(b, i).shown(ROW if self.scalar(i) else PRODUCT))

    def raised(self, i: int, a: int, exponent: str) -> Piece:
        """A power; of a tensor, entry by entry."""
        mark = "" if self.scalar(i) else r"\odot "
        return self.single(i, f"{self.beside(a, i).shown(ATOM)}^{{{mark}{exponent}}}", POWER)

    def do_square(self, i: int, s: Step) -> Piece:
        return self.raised(i, s.inputs[0], "2")

    def do_sqrt(self, i: int, s: Step) -> Piece:
        if self.formula.rank(i) > 1:
            return self.raised(i, s.inputs[0], r"\frac{1}{2}")
        return self.single(i, rf"\sqrt{{{self.at(s.inputs[0])}}}")

    def do_rsqrt(self, i: int, s: Step) -> Piece:
        if not self.scalar(i):
            return self.raised(i, s.inputs[0], r"-\frac{1}{2}")
        return self.single(i, rf"\frac{{1}}{{\sqrt{{{self.at(s.inputs[0])}}}}}", PRODUCT)

    def do_hypot(self, i: int, s: Step) -> Piece:
        a, b = (self.full(k, i) for k in s.inputs)
        mark = "" if self.scalar(i) else r"\odot "
        one, two = (f"{p.shown(ATOM)}^{{{mark}2}}" for p in (a, b))
        return self.single(i, rf"\sqrt{{{one} + {two}}}")

    def do_exp(self, i: int, s: Step) -> Piece:
        if not self.scalar(i):
            return self.single(i, r"\exp" + t.grouped(self.at(s.inputs[0])))
        return self.single(i, rf"\mathrm{{e}}^{{{self.at(s.inputs[0])}}}", POWER)

    def do_exp2(self, i: int, s: Step) -> Piece:
        mark = "" if self.scalar(i) else r"\odot "
        return self.single(i, rf"2^{{{mark}{self.at(s.inputs[0])}}}", POWER)

    def do_expm1(self, i: int, s: Step) -> Piece:
        exp = self.do_exp(i, s)
        return Piece(exp.text + self.term(self.spread(Piece("1", ATOM), (), i), True), SUM)

    def do_log1p(self, i: int, s: Step) -> Piece:
        one = self.spread(Piece("1", ATOM), (), i)
        inside = one.text + self.term(self.piece(s.inputs[0]), False)
        return self.single(i, r"\log" + t.grouped(inside))

    def do_remainder(self, i: int, s: Step) -> Piece:
        a, b = (self.full(k, i) for k in s.inputs)
        return Piece(rf"{a.shown(PRODUCT)} \bmod {b.shown(PRODUCT)}", SUM)

    def do_floor_divide(self, i: int, s: Step) -> Piece:
        return self.single(i, rf"\left\lfloor {self.do_div(i, s).shown(ROW)} \right\rfloor")

    def do_clamp(self, i: int, s: Step) -> Piece:
        low, high = s.params.get("min"), s.params.get("max")
        text = self.at(s.inputs[0])
        if low is not None:
            text = r"\max" + t.grouped(f"{text}, {t.numeral(low)}")
        if high is not None:
            text = r"\min" + t.grouped(f"{text}, {t.numeral(high)}")
        return self.single(i, text)

    def do_hardtanh(self, i: int, s: Step) -> Piece:
        return self.single(i, rf"\min\left(\max\left({self.at(s.inputs[0])}, -1\right), 1\right)")

    def do_where(self, i: int, s: Step) -> Piece:
        c, a, b = (self.beside(k, i).shown(ROW) for k in s.inputs)
        rows = rf"{a} & \text{{if }} {c} \\ {b} & \text{{otherwise}}"
        text = rf"\begin{{cases}} {rows} \end{{cases}}"
        if not self.scalar(i):
            return Piece(text, SUM)
        return Piece(text, SUM, False, [Factor(text, t.OPEN, PRODUCT)])

    def do_logical_and(self, i: int, s: Step) -> Piece:
        sign = {"logical_and": r"\land", "logical_or": r"\lor", "logical_xor": r"\oplus"}[s.op]
        a, b = (self._condition(k, s.op) for k in s.inputs)
        return Piece(f"{a} {sign} {b}", ROW)

    do_logical_or = do_logical_xor = do_logical_and

    def _condition(self, k: int, outer: str) -> str:
        op = self.formula.steps[k].op
        return self.at(k, ROW if is_comparison(op) or op in (outer, "logical_not") else SUM)

    def do_logical_not(self, i: int, s: Step) -> Piece:
        return Piece(rf"\lnot {self.at(s.inputs[0], ATOM)}", ROW)

    def do_clone(self, i: int, s: Step) -> Piece:
        return self.piece(s.inputs[0])

    def free_letters(self, count: int) -> list[str]:
        """Letters for indices that stand for nothing else in the formula."""
        used = self.taken | self.sizes | {x.lower() for x in self.names.values() if len(x) == 1}
        free = [x for x in "ijklmnpqrstuvwxyz" if x not in used]
        free += [f"i_{{{k}}}" for k in range(1, count + 1)]
        return free[:count]


def _made(s: Step) -> str:
    sizes = r" \times ".join(t.size(d) for d in s.value)
    letter = {"eye": "I", "ones": "1", "zeros": "0"}[s.op]
    return rf"\mathbf{{{letter}}}_{{{sizes}}}"
