"""What is put together of parts or laid out anew: blocks, entries, paddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradcli.symbolic.printers.latex import notation as t
from gradcli.symbolic.printers.latex.notation import ATOM, ENTRIES, PRODUCT, ROW, Piece, no_notation
from gradcli.symbolic.printers.library_names import index_text
from gradcli.symbolic.program.steps import Step

if TYPE_CHECKING:
    from gradcli.symbolic.printers.formula import Formula


class Joined:
    """The part of the writer for operators that move entries and compute nothing."""

    formula: Formula
    names: dict[int, str]

    if TYPE_CHECKING:  # the other parts

        def piece(self, i: int) -> Piece: ...
        def at(self, i: int, asked: int = ROW) -> str: ...
        def single(self, i: int, text: str, level: int = ATOM) -> Piece: ...
        def row(self, i: int) -> Piece: ...
        def do_transpose(self, i: int, s: Step) -> Piece: ...
        def spread(self, p: Piece, product: object, i: int) -> Piece: ...

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
        marks = ", ".join(t.size(str(d)) for d in s.params["pad"])
        return self.single(
            i, rf"\operatorname{{pad}}_{{{marks}}}" + t.grouped(self.at(s.inputs[0]))
        )

    def do_reshape(self, i: int, s: Step) -> Piece:
        given = s.params["repeats" if s.op == "tile" else "dims" if s.op == "permute" else "shape"]
        parts = given if isinstance(given, tuple | list) else (given,)
        pair = self.kronecker(s)
        if pair is not None:
            left, right = (self.piece(k) for k in pair)
            text = rf"{left.body(PRODUCT)} \otimes {right.body(PRODUCT)}"
            return Piece(text, ENTRIES, left.negative != right.negative)
        if s.op == "permute" and self.formula.rank(i) == 2:
            return self.do_transpose(i, s) if parts[0] % 2 else self.piece(s.inputs[0])
        marks = (r" \times " if s.op == "reshape" else ",").join(t.size(str(d)) for d in parts)
        head = rf"\operatorname{{{s.op}}}_{{{marks}}}"
        return self.single(i, head + t.grouped(self.at(s.inputs[0])))

    def do_cross(self, i: int, s: Step) -> Piece:
        left, right = (self.piece(k) for k in s.inputs)
        text = rf"{left.body(PRODUCT)} \times {right.body(PRODUCT)}"
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
        return self.spread(Piece(digit, ATOM), (), i)

    do_zeros_like = do_ones_like


def _matrix(rows: Sequence[str]) -> str:
    body = r" \\ ".join(rows)
    return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"
