"""Products, and what the language broadcasts, in matrices.

A vector that is subtracted from every row of a matrix is ``\\mathbf{1} v^{\\top}`` there, one that
multiplies the columns ``\\operatorname{diag}(v)``: read as matrices, the formulas are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradcli.ops.errors import RuntimeFault
from gradcli.symbolic.printers.latex import notation as t
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
)
from gradcli.symbolic.program.steps import Step
from gradcli.symbolic.unsupported import NO_CLOSED_FORM

if TYPE_CHECKING:
    from gradcli.symbolic.printers.formula import Formula

SCALAR, COLUMN, AS_ROW, FULL = "scalar", "column", "row", "full"
_ONE = r"\mathbf{1}"


class Spread:
    """The half of the writer that knows shapes."""

    formula: Formula
    names: dict[int, str]
    rows: dict[int, Piece]

    if TYPE_CHECKING:  # the other half

        def piece(self, i: int) -> Piece: ...
        def at(self, i: int, asked: int = ROW) -> str: ...
        def scalar(self, i: int) -> bool: ...
        def single(self, i: int, text: str, level: int = ATOM) -> Piece: ...
        def called(self, i: int, s: Step) -> Piece: ...
        def free_letters(self, count: int) -> list[str]: ...
        def raised(self, i: int, a: int, exponent: str) -> Piece: ...

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
            return self.spread(self.piece(k), self.product(k), i)
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

    def spread(self, p: Piece, product: Any, i: int) -> Piece:
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
        left, right = self.piece(s.inputs[0]), self.row(s.inputs[1])
        return Piece.product(
            [*self.factors(left, t.TENSOR), *self.factors(right, t.TENSOR)],
            left.negative != right.negative,
        )

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
            head = rf"\operatorname{{transpose}}_{{{s.params.get('dim0', -2)},"
            text = f"{head}{s.params.get('dim1', -1)}}}" + t.grouped(self.at(s.inputs[0]))
            return self.single(i, text)
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

    def do_logabsdet(self, i: int, s: Step) -> Piece:
        inner = self.at(s.inputs[0])
        return self.single(i, rf"\log\left\lvert \det\left({inner}\right) \right\rvert")

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
        text = rf"\left\lVert {self.at(s.inputs[0])} \right\rVert{mark}"
        if s.params.get("keepdim") and self.formula.rank(i) == 2 and not self.formula.dims[i][0]:
            return self.single(i, text + r"^{\top}", POWER)
        return self.single(i, text)

    def do_solve(self, i: int, s: Step) -> Piece:
        a, b = s.inputs
        inverse, right = self.inverse(a), self.piece(b)
        return Piece.product(
            [*self.factors(inverse, t.TENSOR), *self.factors(right, t.TENSOR)], right.negative
        )

    # -- shapes ----------------------------------------------------------------------------------

    def do_sum(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        rank, dim = self.formula.rank(a), s.params.get("dim")
        if dim is None and rank in (1, 2):
            index = ",".join(self.free_letters(rank))
            text = rf"\sum_{{{index}}} {t.below(self.at(a, ATOM), index)}"
            return Piece(text, SUM, False, [Factor(text, t.OPEN, PRODUCT)])
        return self.summed(i, a, dim) if rank == 2 and isinstance(dim, int) else self.called(i, s)

    def do_prod(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        if s.params.get("dim") is not None or self.formula.rank(a) not in (1, 2):
            return self.called(i, s)
        index = ",".join(self.free_letters(self.formula.rank(a)))
        text = rf"\prod_{{{index}}} {t.below(self.at(a, ATOM), index)}"
        return Piece(text, SUM, False, [Factor(text, t.OPEN, PRODUCT)])

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
            mark = s.params.get("dim", 0)
            text = rf"\operatorname{{unsqueeze}}_{{{mark}}}" + t.grouped(self.at(a))
            return self.single(i, text)
        return self.row(a) if self.formula.dims[i][0] is None else self.piece(a)

    def do_squeeze(self, i: int, s: Step) -> Piece:
        (a,) = s.inputs
        dims = self.formula.dims[a]
        if len(dims) == 2 and dims[0] is None and self.formula.rank(i) == 1:
            return self.transposed(a)
        if len(dims) < 3:
            return self.piece(a)
        mark = "" if s.params.get("dim") is None else f"_{{{t.listed(s.params['dim'])}}}"
        return self.single(i, rf"\operatorname{{squeeze}}{mark}" + t.grouped(self.at(a)))

    def do_expand(self, i: int, s: Step) -> Piece:
        return self.full(s.inputs[0], i)
