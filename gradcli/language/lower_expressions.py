"""Expressions to Python code, one method per kind of node.

what is emitted                        why it is safe
``a - b``, ``a / b``, comparisons      nothing they can be applied to grows
``a + b``, ``a * b``, ``a ** b``       inline where one side is surely a float or a tensor, else
                                       through a helper that bounds whole numbers and lists
``x.name``                             never an attribute access: a look-up in the fixed tables
calls                                  functions take a step from the step budget when entered
"""

from __future__ import annotations

import ast
from collections.abc import Generator

from gradcli.language import names
from gradcli.language import nodes as n
from gradcli.language.bounds import INT_BITS
from gradcli.language.diagnostics import SyntaxFault
from gradcli.language.emit import COMPARED, COMPARISONS, DEEP, GUARDED, LOAD, OPERATORS, Value
from gradcli.language.lower_calls import Calls
from gradcli.language.lower_comprehensions import Comprehensions


def plain_index(code: ast.expr) -> bool:
    """Whether an index is written as a number: it can hold no list."""
    if isinstance(code, ast.UnaryOp):
        code = code.operand
    return isinstance(code, ast.Constant)


def _stays(code: ast.expr) -> bool:
    """Whether code may be read twice: a name, or a number as written."""
    number = isinstance(code, ast.Constant) and isinstance(code.value, int | float)
    return number or isinstance(code, ast.Name)


COUNTER = 64
"""The most bits of a number that a range gives."""


def _bits(op: str, left: int, right: int) -> int:
    """The most bits of ``left op right`` for whole numbers of so many bits; 0 where that is unknown
    or too many."""
    if not left or not right:
        return 0
    bits = {"+": max(left, right) + 1, "-": max(left, right) + 1, "*": left + right,
            "%": max(left, right), "//": left + 1}.get(op, 0)  # fmt: skip
    return bits if bits <= INT_BITS else 0


def _compares_inline(op: str, left: Value, right: Value) -> bool:
    """Whether a comparison looks at no list: one side is surely a number or a text."""
    if op in ("is", "is not"):
        return True
    sure = (v.inexact or v.bits or isinstance(v.code, ast.Constant) for v in (left, right))
    return "in" not in op and any(sure)


class Expressions(Calls, Comprehensions):
    """How each kind of expression is lowered; every method gives a Value."""

    def Name(self, node: n.Name) -> Generator:
        """A variable, or a name of the language. Raises SyntaxFault (E0206) for a module."""
        if id(node) in self.checked.variables or node.id in self.inputs:
            counter = id(node) in self.counters and node.id not in self.inputs
            bits = COUNTER if counter else 0
            return Value(ast.Name(self.spelled(node), LOAD, **self.at(node)), 1, bits=bits)
        if node.id in self.checked.imported:
            name = self.constant("k_", self.checked.imported[node.id])
            return Value(ast.Name(name, LOAD, **self.at(node)), 1)
        if node.id in self.checked.modules:
            raise SyntaxFault(
                "E0206", f"`{node.id}` is a module, not a value", self.checked.source, node.start,
                node.end, help=f"write {node.id}.sin(x)",
            )  # fmt: skip
        value = names.CONSTANTS.get(node.id)
        return Value(self.table(node.id, node), 1, value is not None)
        yield

    def Number(self, node: n.Number) -> Generator:
        """A number as written; of a whole one it is known how many bits it has."""
        exact = isinstance(node.value, int)
        bits = node.value.bit_length() + 1 if exact else 0
        return Value(ast.Constant(node.value, **self.at(node)), 1, not exact, bits)
        yield

    def String(self, node: n.String) -> Generator:
        """A text as written."""
        return Value(ast.Constant(node.value, **self.at(node)), 1)
        yield

    def Literal(self, node: n.Literal) -> Generator:
        """``True``, ``False``, ``None`` or ``...``."""
        return Value(ast.Constant(node.value, **self.at(node)), 1)
        yield

    def Binary(self, node: n.Binary) -> Generator:
        """``a op b``: inline where the result cannot grow past its bounds, else by a helper."""
        left, right = yield from self.sequence((node.left, node.right))
        where = self.at(node)
        inexact = left.inexact or right.inexact
        bits = _bits(node.op, left.bits, right.bits)
        if bits:
            code: ast.expr = ast.BinOp(left.code, OPERATORS[node.op](), right.code, **where)
        elif node.op in GUARDED and not inexact:
            code = self.call(GUARDED[node.op], left.code, right.code, at=where)
            if node.op in "+*" and _stays(left.code) and _stays(right.code):
                code = self._of_tensors(node.op, left.code, right.code, code, where)
        elif node.op == "%" and not left.inexact:
            code = self.call("h_modulo", left.code, right.code, at=where)
        else:
            code = ast.BinOp(left.code, OPERATORS[node.op](), right.code, **where)
        depth = max(left.depth, right.depth) + 1
        return Value(code, depth, inexact or node.op == "/", bits if node.op != "/" else 0)

    def _of_tensors(
        self, op: str, left: ast.expr, right: ast.expr, guarded: ast.expr, where: dict[str, int]
    ) -> ast.expr:
        """``left op right`` at once where both are tensors (or written numbers), else guarded."""
        tests: list[ast.expr] = []
        for side in (left, right):
            if isinstance(side, ast.Name):
                tensor = ast.Name("h_Tensor", LOAD, **where)
                kind = self.call("h_type", side, at=where)
                tests.append(ast.Compare(kind, [ast.Is()], [tensor], **where))
        if not tests:
            return guarded
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests, **where)
        plain = ast.BinOp(left, OPERATORS[op](), right, **where)
        return ast.IfExp(test, plain, guarded, **where)

    def Unary(self, node: n.Unary) -> Generator:
        """``-a``, ``+a`` and ``not a``: inline, as nothing grows."""
        (operand,) = yield from self.sequence((node.operand,))
        op = {"-": ast.USub, "+": ast.UAdd, "not": ast.Not}[node.op]()
        where = self.at(node)
        inexact = operand.inexact and node.op != "not"
        bits = operand.bits if node.op != "not" else 0
        return Value(ast.UnaryOp(op, operand.code, **where), operand.depth + 1, inexact, bits)

    def Compare(self, node: n.Compare) -> Generator:
        """A chain of comparisons: a side is computed once, and only if those before it hold."""
        left, right = yield from self.sequence((node.left, node.rights[0]))
        rest = []
        for child in node.rights[1:]:
            rest.append((yield from self.aside(child)))
        where = self.at(node)
        ops = [COMPARISONS[op]() for op in node.ops]
        sides = [left, right, *(value for _, value in rest)]
        plain = all(map(_compares_inline, node.ops, sides, sides[1:]))
        if len(ops) == 1 and not plain:
            code = self.compared(left.code, node.ops[0], right.code, where)
            return Value(code, max(left.depth, right.depth) + 1)
        if plain and not any(body or value.depth > DEEP for body, value in rest):
            codes = [right.code, *(value.code for _, value in rest)]
            depth = max(left.depth, right.depth, *(v.depth for _, v in rest), 0)
            return Value(ast.Compare(left.code, ops, codes, **where), depth + 1)
        # a < b < c with a deep c: b is kept, and c is computed only if a < b holds.
        if not isinstance(left.code, ast.Constant | ast.Name):
            left = self.spill(left)
        held = self.spill(right)
        truth = self.fresh()
        first = self.compared(left.code, node.ops[0], held.code, where)
        self.out.append(self.assign(truth, first))
        block = self.out
        for op, (body, value) in zip(node.ops[1:], rest, strict=True):
            name = self.fresh()
            compare = self.compared(held.code, op, self.name(name), where)
            inner = [*body, self.assign(name, value.code), self.assign(truth, compare)]
            block.append(ast.If(self.name(truth), inner, [], **where))
            block, held = inner, Value(self.name(name), 1)
        return Value(self.name(truth), 1)

    def compared(self, left: ast.expr, op: str, right: ast.expr, where: dict) -> ast.expr:
        """One comparison, through the helper that bounds it where there is one."""
        if op in COMPARED:
            return self.call(COMPARED[op], left, right, at=where)
        return ast.Compare(left, [COMPARISONS[op]()], [right], **where)

    def BoolOp(self, node: n.BoolOp) -> Generator:
        """``and`` and ``or``: a side is computed only if those before it leave it open."""
        (first,) = yield from self.sequence(node.values[:1])
        rest = []
        for child in node.values[1:]:
            rest.append((yield from self.aside(child)))
        where = self.at(node)
        if not any(body or value.depth > DEEP for body, value in rest):
            op = ast.And() if node.op == "and" else ast.Or()
            codes = [first.code, *(value.code for _, value in rest)]
            depth = max(first.depth, *(v.depth for _, v in rest))
            return Value(ast.BoolOp(op, codes, **where), depth + 1)
        held = self.fresh()
        self.out.append(self.assign(held, first.code))
        for body, value in rest:
            test: ast.expr = self.name(held)
            if node.op == "or":
                test = ast.UnaryOp(ast.Not(), test, **where)
            self.out.append(ast.If(test, [*body, self.assign(held, value.code)], [], **where))
        return Value(self.name(held), 1)

    def Conditional(self, node: n.Conditional) -> Generator:
        """``a if test else b``: an IfExp where both sides are simple, else an if statement."""
        (test,) = yield from self.sequence((node.test,))
        yes_body, yes = yield from self.aside(node.body)
        no_body, no = yield from self.aside(node.orelse)
        where = self.at(node)
        depth = max(test.depth, yes.depth, no.depth) + 1
        inexact = yes.inexact and no.inexact
        if not yes_body and not no_body and depth <= DEEP:
            return Value(ast.IfExp(test.code, yes.code, no.code, **where), depth, inexact)
        held = self.fresh()
        yes_body.append(self.assign(held, yes.code))
        no_body.append(self.assign(held, no.code))
        self.out.append(ast.If(test.code, yes_body, no_body, **where))
        return Value(self.name(held), 1, inexact)

    def Subscript(self, node: n.Subscript) -> Generator:
        """An item: inline for an index that is surely a number, else by ``h_item`` or ``h_cut``."""
        value, index = yield from self.sequence((node.value, node.index))
        where = self.at(node)
        if isinstance(index.code, ast.Slice):
            cut = self.cut(index.code, where)
            code: ast.expr = self.call("h_cut", value.code, cut, at=where)
        elif index.bits or plain_index(index.code):
            code = ast.Subscript(value.code, index.code, LOAD, **where)
        else:
            code = self.call("h_item", value.code, self.index(index.code, where), at=where)
        return Value(code, max(value.depth, index.depth) + 1)

    def index(self, code: ast.expr, where: dict) -> ast.expr:
        """An index as a value: the slices in it too."""
        if isinstance(code, ast.Slice):
            return self.cut(code, where)
        if isinstance(code, ast.Tuple):
            parts = [self.cut(e, where) if isinstance(e, ast.Slice) else e for e in code.elts]
            return ast.Tuple(parts, LOAD, **where)
        return code

    def cut(self, made: ast.Slice, where: dict) -> ast.expr:
        """A slice as a value of its own."""
        bounds = [p or ast.Constant(None, **where) for p in (made.lower, made.upper, made.step)]
        return self.call("h_slice", *bounds, at=where)

    def Slice(self, node: n.Slice) -> Generator:
        """The bounds of a slice; one that is left out stays left out."""
        present = [p for p in (node.lower, node.upper, node.step) if p is not None]
        lowered = iter((yield from self.sequence(present)))
        parts = [
            None if p is None else next(lowered).code for p in (node.lower, node.upper, node.step)
        ]
        # Never deeper than it is: a slice cannot be kept in a temporary.
        return Value(ast.Slice(*parts, **self.at(node)), 1)

    def Tuple(self, node: n.Tuple) -> Generator:
        """A tuple, its items in the order written."""
        items = yield from self.sequence(node.items)
        code = ast.Tuple([i.code for i in items], LOAD, **self.at(node))
        return Value(code, max([0, *(i.depth for i in items)]) + 1)

    def List(self, node: n.List) -> Generator:
        """A list, its items in the order written."""
        items = yield from self.sequence(node.items)
        code = ast.List([i.code for i in items], LOAD, **self.at(node))
        return Value(code, max([0, *(i.depth for i in items)]) + 1)

    def FString(self, node: n.FString) -> Generator:
        """Texts and formatted values, joined by a helper that bounds the length."""
        fields = [p for p in node.parts if isinstance(p, n.FormatPart)]
        values = iter((yield from self.sequence([p.value for p in fields])))
        where = self.at(node)
        pieces: list[ast.expr] = []
        for part in node.parts:
            if isinstance(part, n.String):
                pieces.append(ast.Constant(part.value, **where))
                continue
            if part.text is not None:
                pieces.append(ast.Constant(part.text, **where))
            shown = "h_repr" if part.text is not None and not part.spec else "h_field"
            spec = [ast.Constant(part.spec, **where)] if shown == "h_field" else []
            pieces.append(self.call(shown, next(values).code, *spec, at=self.at(part)))
        return Value(self.call("h_concat", *pieces, at=where), 3)
