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
from gradcli.language.diagnostics import SyntaxFault, closest
from gradcli.language.emit import (
    COMPARED,
    COMPARISONS,
    DEEP,
    GUARDED,
    LOAD,
    OPERATORS,
    STORE,
    Emitter,
    Value,
    arguments,
    only_names,
)


def plain_index(code: ast.expr) -> bool:
    """Whether an index is written as a number: it can hold no list."""
    if isinstance(code, ast.UnaryOp):
        code = code.operand
    return isinstance(code, ast.Constant)


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


LONGEST_PATH = 8
"""No name of a module stands deeper than this: ``torch.nn.functional.relu``."""


def _true(where: dict) -> ast.expr:
    return ast.Constant(True, **where)


def _compares_inline(op: str, left: Value, right: Value) -> bool:
    """Whether a comparison looks at no list: one side is surely a number or a text."""
    if op in ("is", "is not"):
        return True
    sure = (v.inexact or v.bits or isinstance(v.code, ast.Constant) for v in (left, right))
    return "in" not in op and any(sure)


class Expressions(Emitter):
    """How each kind of expression is lowered; every method gives a Value."""

    def Name(self, node: n.Name) -> Generator:
        if id(node) in self.checked.variables or node.id in self.inputs:
            counter = id(node) in self.counters and node.id not in self.inputs
            bits = COUNTER if counter else 0
            return Value(ast.Name(f"v_{node.id}", LOAD, **self.at(node)), 1, bits=bits)
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
        exact = isinstance(node.value, int)
        bits = node.value.bit_length() + 1 if exact else 0
        return Value(ast.Constant(node.value, **self.at(node)), 1, not exact, bits)
        yield

    def String(self, node: n.String) -> Generator:
        return Value(ast.Constant(node.value, **self.at(node)), 1)
        yield

    def Literal(self, node: n.Literal) -> Generator:
        return Value(ast.Constant(node.value, **self.at(node)), 1)
        yield

    def Binary(self, node: n.Binary) -> Generator:
        left, right = yield from self.sequence((node.left, node.right))
        where = self.at(node)
        inexact = left.inexact or right.inexact
        bits = _bits(node.op, left.bits, right.bits)
        if bits:
            code: ast.expr = ast.BinOp(left.code, OPERATORS[node.op](), right.code, **where)
        elif node.op in GUARDED and not inexact:
            code = self.call(GUARDED[node.op], left.code, right.code, at=where)
        elif node.op == "%" and not left.inexact:
            code = self.call("h_modulo", left.code, right.code, at=where)
        else:
            code = ast.BinOp(left.code, OPERATORS[node.op](), right.code, **where)
        depth = max(left.depth, right.depth) + 1
        return Value(code, depth, inexact or node.op == "/", bits if node.op != "/" else 0)

    def Unary(self, node: n.Unary) -> Generator:
        (operand,) = yield from self.sequence((node.operand,))
        op = {"-": ast.USub, "+": ast.UAdd, "not": ast.Not}[node.op]()
        where = self.at(node)
        inexact = operand.inexact and node.op != "not"
        bits = operand.bits if node.op != "not" else 0
        return Value(ast.UnaryOp(op, operand.code, **where), operand.depth + 1, inexact, bits)

    def Compare(self, node: n.Compare) -> Generator:
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

    def Attribute(self, node: n.Attribute) -> Generator:
        found = self.from_module(node)
        if found is not None:
            return found
        (value,) = yield from self.sequence((node.value,))
        where = self.at(node)
        code = self.call("h_attribute", value.code, ast.Constant(node.name, **where), at=where)
        return Value(code, value.depth + 1)

    def from_module(self, node: n.Attribute) -> Value | None:
        """``torch.sin``, ``np.linalg.norm``: a name of an imported module, or None."""
        path: list[str] = []
        inner: n.Node = node
        while isinstance(inner, n.Attribute):
            path.append(inner.name)
            inner = inner.value
            if len(path) > LONGEST_PATH:
                return None
        if not isinstance(inner, n.Name) or inner.id not in self.checked.modules:
            return None
        if id(inner) in self.checked.variables or inner.id in self.inputs:
            return None
        module = self.checked.modules[inner.id]
        table = names.namespace(module) or {}
        dotted = ".".join(reversed(path))
        if dotted in table:
            value = table[dotted]
            where = self.at(node)
            if isinstance(value, float):
                return Value(ast.Constant(value, **where), 1, True)
            return Value(ast.Name(self.constant("k_", value), LOAD, **where), 1)
        if names.namespace(f"{module}.{dotted}") is not None:
            raise SyntaxFault(
                "E0206", f"`{dotted}` is a module, not a value", self.checked.source, node.start,
                node.end, help=f"write `import {module}.{dotted} as {node.name[0].upper()}` on top",
            )  # fmt: skip
        last = path[0]
        if last in names.WITHHELD:
            raise SyntaxFault(
                "E0204", f"programs cannot use `{last}`", self.checked.source, node.start, node.end,
                help=names.WITHHELD[last],
            )  # fmt: skip
        from gradcli.language.foreign import module_help

        near = closest(dotted, table)
        mend = f"did you mean `{inner.id}.{near}`?" if near else "all names: gradcli ops"
        raise SyntaxFault(
            "E0204", f"`{inner.id}` has no `{dotted}` here", self.checked.source,
            node.start, node.end, help=module_help(f"{module}.{dotted}") or mend,
        )  # fmt: skip

    def Subscript(self, node: n.Subscript) -> Generator:
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
        present = [p for p in (node.lower, node.upper, node.step) if p is not None]
        lowered = iter((yield from self.sequence(present)))
        parts = [
            None if p is None else next(lowered).code for p in (node.lower, node.upper, node.step)
        ]
        # Never deeper than it is: a slice cannot be kept in a temporary.
        return Value(ast.Slice(*parts, **self.at(node)), 1)

    def Tuple(self, node: n.Tuple) -> Generator:
        items = yield from self.sequence(node.items)
        code = ast.Tuple([i.code for i in items], LOAD, **self.at(node))
        return Value(code, max([0, *(i.depth for i in items)]) + 1)

    def List(self, node: n.List) -> Generator:
        items = yield from self.sequence(node.items)
        code = ast.List([i.code for i in items], LOAD, **self.at(node))
        return Value(code, max([0, *(i.depth for i in items)]) + 1)

    def Call(self, node: n.Call) -> Generator:
        func = node.func
        given = (*node.args, *(k.value for k in node.keywords))
        if isinstance(func, n.Attribute) and (found := self.from_module(func)) is None:
            values = yield from self.sequence((func.value, *given))
            name = f"m_{func.name}_{len(node.args)}" if not node.keywords else f"m_{func.name}_n"
            if name not in self.constants:
                self.constants[name] = (
                    "method",
                    func.name,
                    None if node.keywords else len(node.args),
                )
            return self.finish_call(node, ast.Name(name, LOAD, **self.at(func)), values, False)
        if isinstance(func, n.Attribute):
            values = yield from self.sequence(given)
            return self.finish_call(node, found.code, values, False)
        values = yield from self.sequence((func, *given))
        target = values[0].code
        own = not (isinstance(target, ast.Name) and target.id.startswith(("g_", "k_")))
        return self.finish_call(node, target, values[1:], own)

    def finish_call(self, node: n.Call, target: ast.expr, values: list[Value], own: bool) -> Value:
        where = self.at(node)
        plain = len(values) - len(node.keywords)
        args = [v.code for v in values[:plain]]
        keywords = [
            ast.keyword(k.name, v.code, **where)
            for k, v in zip(node.keywords, values[plain:], strict=True)
        ]
        if own and keywords:
            # A function of the program: its parameters carry generated names.
            target = self.call("h_keywords", target, at=where)
            for keyword in keywords:
                keyword.arg = f"v_{keyword.arg}"
        elif not own and not keywords and len(args) in (1, 2) and isinstance(target, ast.Name):
            target = self.by_count(target, len(args), where)
        depth = max([0, *(v.depth for v in values)]) + 1
        return Value(ast.Call(target, args, keywords, **where), depth)

    def by_count(self, target: ast.Name, count: int, where: dict) -> ast.Name:
        """A function of the tables for calls with so many arguments: the shortest way to it."""
        if target.id.startswith("m_"):
            return target
        name = f"{target.id}_{count}"
        self.constants[name] = ("function", self.constants[target.id], count)
        return ast.Name(name, LOAD, **where)

    def Lambda(self, node: n.Lambda) -> Generator:
        defaults = yield from self.sequence(
            [p.default for p in node.params if p.default is not None]
        )
        body, value = yield from self.aside(node.body)
        where = self.at(node)
        args = arguments([f"v_{p.name}" for p in node.params], [d.code for d in defaults])
        if not body and value.depth <= DEEP:
            last = self.call("h_up", _true(where))
            steps = [self.call("h_tick"), self.deeper(), value.code, last]
            code = ast.Subscript(
                ast.Tuple(steps, LOAD, **where), ast.Constant(2, **where), LOAD, **where
            )
            return Value(ast.Lambda(args, code, **where), 2)
        name = self.fresh()
        self.out.append(self.function(name, args, [*body, *self.leave(value.code, where)]))
        return Value(self.name(name), 1)

    def deeper(self) -> ast.expr:
        """A function is entered: one of the tokens that say how deep calls may nest is taken."""
        return ast.BoolOp(ast.Or(), [self.call("h_down"), self.call("h_deep")], **self.here())

    def leave(self, value: ast.expr | None, where: dict) -> list[ast.stmt]:
        """Return from a function: the token is given back once the value is there."""
        give_back = ast.Expr(self.call("h_up", _true(where), at=where), **where)
        if value is None or isinstance(value, ast.Constant):
            return [give_back, ast.Return(value, **where)]
        name = self.fresh()
        return [self.assign(name, value), give_back, ast.Return(self.name(name), **where)]

    def ListComp(self, node: n.ListComp) -> Generator:
        (first,) = yield from self.sequence((node.clauses[0].iter,))
        parts = []
        simple = True
        for i, clause in enumerate(node.clauses):
            body, value = ([], first) if i == 0 else (yield from self.aside(clause.iter))
            conditions = []
            for child in clause.conditions:
                conditions.append((yield from self.aside(child)))
            simple = simple and not body and value.depth <= DEEP
            simple = simple and not any(b or v.depth > DEEP for b, v in conditions)
            parts.append((clause, body, value, conditions))
        element_body, element = yield from self.aside(node.element)
        where = self.at(node)
        simple = simple and not element_body and element.depth <= DEEP
        if simple and all(only_names(c.target) for c in node.clauses):
            generators = [
                ast.comprehension(
                    target=self.target(clause.target), iter=self.walked(value.code),
                    ifs=[c.code for _, c in conditions], is_async=0,
                )
                for clause, _, value, conditions in parts
            ]  # fmt: skip
            return Value(ast.ListComp(element.code, generators, **where), element.depth + 2)
        stores = []
        for clause in node.clauses:
            if only_names(clause.target):
                stores.append((self.target(clause.target), []))
                continue
            name = self.fresh()
            outer, self.out = self.out, []
            yield from self.store(clause.target, Value(self.name(name), 1))
            stores.append((ast.Name(name, STORE, **where), self.out))
            self.out = outer
        return self.comprehension_function(parts, stores, element_body, element, first)

    def comprehension_function(
        self, parts: list, stores: list, body: list, element: Value, first: Value
    ) -> Value:
        """A comprehension too deep for one expression, as a function of its first iterable."""
        name = self.fresh()
        where = self.here()
        append = self.call("h_append", self.name("made"), element.code)
        inner: list[ast.stmt] = [*body, ast.Expr(append, **where)]
        for i, (_, before, value, conditions) in reversed(list(enumerate(parts))):
            for condition_body, condition in reversed(conditions):
                inner = [*condition_body, ast.If(condition.code, inner, [], **where)]
            items = self.name("items") if i == 0 else value.code
            target, stored = stores[i]
            loop = ast.For(target, self.walked(items), [*stored, *inner], [], **where)
            inner = [*before, loop]
        start = self.assign("made", ast.List([], LOAD, **where))
        args = arguments(["items"], [])
        made = self.name("made")
        self.out.append(self.function(name, args, [start, *inner, *self.leave(made, where)]))
        return Value(self.call(name, first.code), first.depth + 1)

    def FString(self, node: n.FString) -> Generator:
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
