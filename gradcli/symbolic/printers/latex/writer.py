"""Closed forms in LaTeX: scalars italic, vectors and matrices bold, nothing beyond amsmath.

Products of scalars are written side by side; entry by entry on tensors they are ``\\odot``, and a
power entry by entry is ``x^{\\odot 2}``. A choice is a ``cases`` environment. Where the language
broadcasts, the formula says so in matrices: a vector that is subtracted from all rows of a matrix
is ``\\mathbf{1} v^{\\top}``, one that multiplies its columns ``\\operatorname{diag}(v)``. What has
more than two dimensions, and every ``einsum``, is written by its entries (``index_notation``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradcli.language.runtime.run import Program
from gradcli.ops.declaration.infix import is_comparison
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr.sizes import names as names_of
from gradcli.symbolic.printers.formula import FREE, Formula
from gradcli.symbolic.printers.latex import notation as t
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
from gradcli.symbolic.printers.library_names import index_text
from gradcli.symbolic.program.steps import Step
from gradcli.symbolic.shapes.declarations import Declaration
from gradcli.symbolic.unsupported import NO_CLOSED_FORM

SCALAR, COLUMN, AS_ROW, FULL = "scalar", "column", "row", "full"
"""How a step fills the shape of one that broadcasts it."""
_ONE = r"\mathbf{1}"

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


class _Writer:
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

    def marked(self, i: int, name: str, marks: str, a: int) -> Piece:
        """A function in upright letters of step a, its parameters below it."""
        head = rf"\operatorname{{{name}}}" + (f"_{{{marks}}}" if marks else "")
        return self.single(i, head + t.grouped(self.at(a)))

    def symmetric(self, name: str) -> bool:
        """Whether a variable was declared symmetric."""
        return name in self.declared and "symmetric" in self.declared[name].traits

    def by_entry(self, i: int) -> str:
        """What stands before an exponent: on tensors it is of each entry."""
        return "" if self.scalar(i) else r"\odot "

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
        return self.reduced(i, s, head + t.grouped(", ".join(said)))

    def reduced(self, i: int, s: Step, text: str) -> Piece:
        """A function whose result is a vector, or a row where it keeps the dimension."""
        if self.formula.rank(i) == 2 and s.params.get("keepdim") and not self.formula.dims[i][0]:
            return self.single(i, text + r"^{\top}", POWER)
        return self.single(i, text)

    # -- shapes ----------------------------------------------------------------------------------

    def kind(self, i: int) -> int:
        """What a step is as a factor."""
        return t.SCALAR if self.scalar(i) else t.TENSOR

    def manner(self, k: int, i: int) -> str:
        """How step k fills the shape of step i: as it is, or along its rows or columns."""
        own, whole = self.formula.dims[k], self.formula.dims[i]
        if not any(own):
            return FULL if not any(whole) else SCALAR
        padded = (None,) * (len(whole) - len(own)) + tuple(own)
        missing = [a is None and b is not None for a, b in zip(padded, whole, strict=True)]
        if not any(missing):
            return FULL
        if len(whole) > 2:
            said = "broadcasting to more than two dimensions has no notation in LaTeX"
            mend = "without --latex the formula is written in the language"
            raise RuntimeFault(NO_CLOSED_FORM, said, help=mend)
        return AS_ROW if missing[0] else COLUMN

    def full(self, k: int, i: int) -> Piece:
        """Step k with the shape of step i, which broadcasts it."""
        manner = self.manner(k, i)
        if manner == SCALAR:
            return self.spread(self.piece(k), i)
        if manner == FULL:
            flat = len(self.formula.dims[k]) == 1 and self.formula.rank(i) == 2
            return self.row(k) if flat and any(self.formula.dims[k]) else self.piece(k)
        if manner == AS_ROW:
            flat = self.formula.rank(k) == 1
            p = self.rows.get(k) or self.each_turned(k) if flat else self.piece(k)
            factors = [Factor(_ONE, t.TENSOR), *self.factors(p, t.TENSOR)]
        else:
            p = self.piece(k)
            factors = [*self.factors(p, t.TENSOR), Factor(_ONE + r"^{\top}", t.TENSOR, POWER)]
        return Piece.product(factors, p.negative)

    def beside(self, k: int, i: int) -> Piece:
        """Step k as an operand of an entrywise function of the shape of step i."""
        return self.piece(k) if self.manner(k, i) == SCALAR else self.full(k, i)

    def spread(self, p: Piece, i: int) -> Piece:
        """A scalar times as many ones as step i has entries."""
        if self.scalar(i):
            return p
        dims = self.formula.dims[i]
        if len(dims) > 2:
            sizes = r" \times ".join(t.size(d or "1") for d in dims)
            ones = [Factor(rf"{_ONE}_{{{sizes}}}", t.TENSOR)]
        else:
            ones = [Factor(_ONE, t.TENSOR)] if dims[0] else []
            if len(dims) == 2 and dims[1]:
                ones.append(Factor(_ONE, t.TENSOR).transposed())
        if p.text == "1":
            return Piece.product(ones, p.negative)
        return Piece.product([*self.factors(p, t.SCALAR), *ones], p.negative)

    # -- products --------------------------------------------------------------------------------

    @staticmethod
    def factors(p: Piece, kind: int) -> Sequence[Factor]:
        """The factors of a piece without its sign."""
        return p.factors if p.factors is not None else [Factor(p.text, kind, p.level)]

    def product(self, i: int) -> Sequence[Factor]:
        """The factors of a step without its sign."""
        return self.factors(self.piece(i), self.kind(i))

    def do_mul(self, i: int, s: Step) -> Piece:
        a, b = s.inputs
        pa, pb = self.piece(a), self.piece(b)
        negative = pa.negative != pb.negative
        ways = self.manner(a, i), self.manner(b, i)
        if self.scalar(a) or self.scalar(b):
            fa, fb = (
                self.product(k) if self.scalar(k) else self.factors(self.full(k, i), t.TENSOR)
                for k in (a, b)
            )
            return Piece.product([*fa, *fb], negative)
        if ways == (COLUMN, AS_ROW) or ways == (AS_ROW, COLUMN):
            column, row = (a, b) if ways[0] == COLUMN else (b, a)
            turned = self.row(row) if self.formula.rank(row) == 1 else self.piece(row)
            return Piece.product([*self.product(column), *self.factors(turned, t.TENSOR)], negative)
        for k, other, way in ((a, b, ways[0]), (b, a, ways[1])):
            if way in (COLUMN, AS_ROW) and FULL in ways:
                return self.scaled(i, k, other, way, "", negative)
        left, right = (self.full(k, i).body(ENTRIES) for k in (a, b))
        return Piece(rf"{left} \odot {right}", ENTRIES, negative)

    def scaled(self, i: int, k: int, other: int, way: str, mark: str, negative: bool) -> Piece:
        """A matrix whose rows or columns the vector k multiplies, or divides."""
        p = self.along(k)
        factor = Factor(
            self.diagonal(p.text) + mark, t.TENSOR, POWER if mark else ATOM, symmetric=True
        )
        whole = [] if self.formula.steps[other].op == "eye" else list(self.product(other))
        if self.formula.steps[other].op == "ones" and not mark:
            return Piece(self.full(k, i).text, PRODUCT, negative)
        return Piece.product([factor, *whole] if way == COLUMN else [*whole, factor], negative)

    def along(self, k: int) -> Piece:
        """A vector, a single row or a single column as a vector."""
        if self.formula.rank(k) == 2 and not self.formula.dims[k][0]:
            return self.row(k)
        return self.piece(k)

    @staticmethod
    def diagonal(text: str) -> str:
        """The matrix with these entries on its diagonal."""
        return r"\operatorname{diag}" + t.grouped(text)

    def do_div(self, i: int, s: Step) -> Piece:
        a, b = s.inputs
        pa, pb = self.piece(a), self.piece(b)
        negative = pa.negative != pb.negative
        if self.scalar(b):
            top = self.full(a, i).body(ROW)
            numbers = self.formula.steps[a].op == self.formula.steps[b].op == "number"
            kind = t.NUMBER if numbers else self.kind(i)
            factor = Factor(rf"\frac{{{top}}}{{{pb.body(ROW)}}}", kind, PRODUCT)
            return Piece.product([factor], negative)
        ways = self.manner(a, i), self.manner(b, i)
        if self.scalar(a):
            inverse = self.inverse_entries(b)
            one = pa.text == "1"
            return Piece.product([*([] if one else self.product(a)), inverse], negative)
        if ways[0] == FULL and ways[1] in (COLUMN, AS_ROW):
            return self.scaled(i, b, a, ways[1], "^{-1}", negative)
        over, under = self.full(a, i), self.full(b, i)
        return Piece(rf"{over.body(ENTRIES)} \oslash {under.body(POWER)}", ENTRIES, negative)

    def inverse_entries(self, b: int) -> Factor:
        """One over every entry; of a power, with one exponent."""
        s = self.formula.steps[b]
        value = 1
        if s.op == "pow" and b not in self.names and not self.scalar(s.inputs[0]):
            exponent = self.formula.steps[s.inputs[1]]
            if exponent.op == "number":
                value, b = exponent.node.value, s.inputs[0]  # type: ignore[attr-defined]
        text = self.piece(b).body(ATOM)
        return Factor(rf"{text}^{{\odot -{t.numeral(value)}}}", t.TENSOR, POWER)

    # -- matrices --------------------------------------------------------------------------------

    def do_matmul(self, i: int, s: Step) -> Piece:
        a, b = s.inputs
        ranks = self.formula.rank(a), self.formula.rank(b)
        left = self.row(a) if ranks[0] == 1 else self.piece(a)
        right = self.piece(b)
        negative = left.negative != right.negative
        fl, fr = self.factors(left, self.kind(a)), self.factors(right, self.kind(b))
        if ranks == (1, 2):  # a vector, though what is written first is a row
            self.rows[i] = Piece.product([*fl, *fr], negative)
            turned, columns = self.transposed(b), self.product(a)
            return Piece.product([*self.factors(turned, t.TENSOR), *columns], negative)
        if not self.scalar(i):
            return Piece.product([*fl, *fr], negative)
        numbers = [f for f in (*fl, *fr) if f.kind != t.TENSOR]
        text, level = t.joined([f for f in (*fl, *fr) if f.kind == t.TENSOR])
        return Piece.product([*numbers, Factor(text, t.OPEN, level)], negative)

    do_dot = do_matmul

    def do_outer(self, i: int, s: Step) -> Piece:
        return self.times(self.piece(s.inputs[0]), self.row(s.inputs[1]))

    def times(self, left: Piece, right: Piece) -> Piece:
        """The product of two tensors."""
        factors = [f for p in (left, right) for f in self.factors(p, t.TENSOR)]
        return Piece.product(factors, left.negative != right.negative)

    def row(self, i: int) -> Piece:
        """A vector as a row."""
        return self.rows.get(i) or self.transposed(i)

    def transposed(self, i: int) -> Piece:
        """The transpose: scalars stand before it, of a single factor without a double one."""
        factors = self.product(i)
        front = [f for f in factors if f.kind != t.TENSOR]
        rest = [f for f in factors if f.kind == t.TENSOR]
        if len(rest) == 1:
            back = rest[0].transposed()
        else:
            back = Factor(t.grouped(t.joined(rest)[0]), t.TENSOR).transposed()
        return Piece.product([*front, back], self.piece(i).negative)

    def each_turned(self, i: int) -> Piece:
        """The transpose of a product as that of its factors: ``v^T A^T``, not ``(A v)^T``."""
        factors = self.product(i)
        front = [f for f in factors if f.kind != t.TENSOR]
        back = [f.transposed() for f in reversed(factors) if f.kind == t.TENSOR]
        return Piece.product([*front, *back], self.piece(i).negative)

    def do_reverse_dims(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        if self.formula.rank(a) < 2:
            return self.piece(a)
        return self.transposed(a)

    do_mT = do_reverse_dims

    def do_transpose(self, i: int, s: Step) -> Piece:
        if self.formula.rank(i) != 2:
            marks = f"{s.params.get('dim0', -2)},{s.params.get('dim1', -1)}"
            return self.marked(i, "transpose", marks, s.inputs[0])
        if s.op == "transpose" and (s.params.get("dim0", -2) - s.params.get("dim1", -1)) % 2 == 0:
            return self.piece(s.inputs[0])
        return self.transposed(s.inputs[0])

    def inverse(self, i: int) -> Piece:
        """The inverse of a matrix."""
        p, factors = self.piece(i), self.product(i)
        if len(factors) == 1 and factors[0].level >= POWER and not p.negative:
            return Piece.product([factors[0].inverted()])
        return Piece.product([Factor(p.shown(ATOM), t.TENSOR, merges=True).inverted()])

    def do_inv(self, i: int, s: Step) -> Piece:
        return self.inverse(s.inputs[0])

    def do_pinv(self, i: int, s: Step) -> Piece:
        if s.params.get("rtol") is not None or s.params.get("atol"):
            raise no_notation("pinv", " with a tolerance")
        return self.single(i, self.at(s.inputs[0], ATOM) + "^{+}", POWER)

    def do_undiagonal(self, i: int, s: Step) -> Piece:
        if s.params.get("shape") and len(set(s.params["shape"])) > 1:
            raise no_notation("undiagonal", " of these sizes")
        return self.single(i, self.diagonal(self.at(s.inputs[0])))

    def do_norm(self, i: int, s: Step) -> Piece:
        p, dim = s.params.get("p", 2), s.params.get("dim")
        plain = p in (2, "fro", None)
        rank = self.formula.rank(s.inputs[0])
        marks = [] if plain else [t.numeral(p)]
        if dim is not None and rank > 1:
            marks.append(rf"\mathrm{{dim}}\,{t.listed(dim)}")
        elif plain and rank == 2:
            marks.append("F")
        mark = f"_{{{', '.join(marks)}}}" if marks else ""
        return self.reduced(i, s, rf"\left\lVert {self.at(s.inputs[0])} \right\rVert{mark}")

    def do_solve(self, i: int, s: Step) -> Piece:
        return self.times(self.inverse(s.inputs[0]), self.piece(s.inputs[1]))

    # -- shapes ----------------------------------------------------------------------------------

    def do_sum(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        rank, dim = self.formula.rank(a), s.params.get("dim")
        if dim is None and rank in (1, 2):
            return self.over_entries(r"\sum", a)
        return self.summed(i, a, dim) if rank == 2 and isinstance(dim, int) else self.called(i, s)

    def do_prod(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        if s.params.get("dim") is not None or self.formula.rank(a) not in (1, 2):
            return self.called(i, s)
        return self.over_entries(r"\prod", a)

    def over_entries(self, sign: str, a: int) -> Piece:
        """The sum or product of all entries."""
        index = ",".join(self.free_letters(self.formula.rank(a)))
        return Piece.open(rf"{sign}_{{{index}}} {t.below(self.at(a, ATOM), index)}")

    def summed(self, i: int, a: int, dim: int) -> Piece:
        """The sums of a matrix's rows or columns: the matrix times ones."""
        over_rows, kept = dim % 2 == 0, self.formula.rank(i) == 2
        p = self.transposed(a) if over_rows and not kept else self.piece(a)
        one = Factor(_ONE, t.TENSOR)
        inner = self.factors(p, t.TENSOR)
        factors = [one.transposed(), *inner] if over_rows and kept else [*inner, one]
        return Piece.product(factors, p.negative)

    def do_mean(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        dim = s.params.get("dim")
        if self.formula.rank(a) != 2 or not isinstance(dim, int):
            return self.called(i, s)
        p, count = self.summed(i, a, dim), self.formula.dims[a][dim]
        share = Factor(rf"\frac{{1}}{{{t.size(count or '1')}}}", t.SCALAR, PRODUCT)
        return Piece.product([share, *self.factors(p, t.TENSOR)], p.negative)

    def do_unsqueeze(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        if not any(self.formula.dims[a]):
            return self.piece(a)
        if self.formula.rank(a) > 1:
            return self.marked(i, "unsqueeze", str(s.params.get("dim", 0)), a)
        return self.row(a) if self.formula.dims[i][0] is None else self.piece(a)

    def do_squeeze(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        dims = self.formula.dims[a]
        if len(dims) == 2 and dims[0] is None and self.formula.rank(i) == 1:
            return self.transposed(a)
        if len(dims) < 3:
            return self.piece(a)
        dim = s.params.get("dim")
        return self.marked(i, "squeeze", "" if dim is None else t.listed(dim), a)

    def do_expand(self, i: int, s: Step) -> Piece:
        return self.full(s.inputs[0], i)

    # -- blocks, entries, paddings -----------------------------------------------------------------

    def do_getitem(self, i: int, s: Step) -> Piece:
        (a,), index = s.inputs, s.params["index"]
        if index == (slice(None), None):
            return self.piece(a)
        if index == (None, slice(None)):
            return self.row(a)
        return self.single(i, t.below(self.at(a, ATOM), index_text(index)))

    def do_stack(self, i: int, s: Step) -> Piece:
        dim, rank = s.params.get("dim", 0), self.formula.rank(s.inputs[0])
        if rank > 1 or (dim and rank == 0):
            raise no_notation("stack", " of these dimensions")
        if dim:
            return self.single(i, _matrix([" & ".join(self.at(k) for k in s.inputs)]))
        rows = []
        for k in s.inputs:
            inner = self.formula.steps[k]
            whole = inner.op == "stack" and not inner.params.get("dim", 0) and k not in self.names
            if not self.formula.rank(k):
                rows.append(self.at(k))
            elif whole:
                rows.append(" & ".join(self.at(j) for j in inner.inputs))
            else:
                rows.append(self.row(k).shown(ROW))
        return self.single(i, _matrix(rows))

    def do_cat(self, i: int, s: Step) -> Piece:
        dim, rank = s.params.get("dim", 0), self.formula.rank(i)
        if rank > 2:
            raise no_notation("cat", " of these dimensions")
        parts = [self.at(k) for k in s.inputs]
        return self.single(i, _matrix(parts if dim % rank == 0 else [" & ".join(parts)]))

    def do_pad(self, i: int, s: Step) -> Piece:
        return self.marked(
            i, "pad", ", ".join(t.size(str(d)) for d in s.params["pad"]), s.inputs[0]
        )

    def do_reshape(self, i: int, s: Step) -> Piece:
        given = s.params["repeats" if s.op == "tile" else "dims" if s.op == "permute" else "shape"]
        parts = given if isinstance(given, tuple | list) else (given,)
        pair = self.kronecker(s)
        if pair is not None:
            return self.multiplied(r"\otimes", pair)
        if s.op == "permute" and self.formula.rank(i) == 2:
            return self.do_transpose(i, s) if parts[0] % 2 else self.piece(s.inputs[0])
        marks = (r" \times " if s.op == "reshape" else ",").join(t.size(str(d)) for d in parts)
        return self.marked(i, s.op, marks, s.inputs[0])

    def do_cross(self, i: int, s: Step) -> Piece:
        return self.multiplied(r"\times", s.inputs)

    def multiplied(self, sign: str, pair: Sequence[int]) -> Piece:
        """Two steps with the sign of a product between them."""
        left, right = (self.piece(k) for k in pair)
        text = f"{left.body(PRODUCT)} {sign} {right.body(PRODUCT)}"
        return Piece(text, ENTRIES, left.negative != right.negative)

    def kronecker(self, s: Step) -> tuple[int, int] | None:
        """The factors of ``kron``, which is written as a reshaped product of reshaped ones."""
        steps = self.formula.steps
        inner = steps[s.inputs[0]]
        if s.op != "reshape" or inner.op != "mul" or s.inputs[0] in self.names:
            return None
        found = []
        for place, k in enumerate(inner.inputs):
            whole = steps[k]
            shape = whole.params.get("shape") if whole.op == "reshape" else None
            if not isinstance(shape, tuple | list) or k in self.names:
                return None
            ones = [str(d) for d in shape[1 - place :: 2]]
            if len(shape) != 2 * self.formula.rank(whole.inputs[0]) or set(ones) != {"1"}:
                return None
            found.append(whole.inputs[0])
        return found[0], found[1]

    do_tile = do_permute = do_reshape

    def do_ones_like(self, i: int, s: Step) -> Piece:
        digit = "1" if s.op == "ones_like" else "0"
        return self.spread(Piece(digit, ATOM), i)

    do_zeros_like = do_ones_like

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
        under = self.beside(a, i).shown(ATOM)
        return self.single(i, f"{under}^{{{self.by_entry(i)}{exponent}}}", POWER)

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
        one, two = (f"{self.full(k, i).shown(ATOM)}^{{{self.by_entry(i)}2}}" for k in s.inputs)
        return self.single(i, rf"\sqrt{{{one} + {two}}}")

    def do_exp(self, i: int, s: Step) -> Piece:
        if not self.scalar(i):
            return self.single(i, r"\exp" + t.grouped(self.at(s.inputs[0])))
        return self.single(i, rf"\mathrm{{e}}^{{{self.at(s.inputs[0])}}}", POWER)

    def do_exp2(self, i: int, s: Step) -> Piece:
        return self.single(i, rf"2^{{{self.by_entry(i)}{self.at(s.inputs[0])}}}", POWER)

    def do_expm1(self, i: int, s: Step) -> Piece:
        exp = self.do_exp(i, s)
        return Piece(exp.text + self.term(self.spread(Piece("1", ATOM), i), True), SUM)

    def do_log1p(self, i: int, s: Step) -> Piece:
        one = self.spread(Piece("1", ATOM), i)
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

    def do_where(self, i: int, s: Step) -> Piece:
        c, a, b = (self.beside(k, i).shown(ROW) for k in s.inputs)
        rows = rf"{a} & \text{{if }} {c} \\ {b} & \text{{otherwise}}"
        text = rf"\begin{{cases}} {rows} \end{{cases}}"
        return Piece.open(text) if self.scalar(i) else Piece(text, SUM)

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


def _matrix(rows: Sequence[str]) -> str:
    body = r" \\ ".join(rows)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"
