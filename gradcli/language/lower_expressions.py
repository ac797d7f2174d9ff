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
from gradcli.language.diagnostics import SyntaxFault, closest
from gradcli.language.emit import (
    COMPARISONS,
    DEEP,
    GUARDED,
    LOAD,
    OPERATORS,
    Emitter,
    Value,
    arguments,
    only_names,
)


class Expressions(Emitter):
    """How each kind of expression is lowered; every method gives a Value."""

    def Name(self, node: n.Name) -> Generator:
        if id(node) in self.checked.variables or node.id in self.inputs:
            return Value(ast.Name(f"v_{node.id}", LOAD, **self.at(node)), 1)
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
        return Value(ast.Constant(node.value, **self.at(node)), 1, not isinstance(node.value, int))
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
        if node.op in GUARDED and not inexact:
            code: ast.expr = self.call(GUARDED[node.op], left.code, right.code, at=where)
        elif node.op == "%" and not left.inexact:
            code = self.call("h_modulo", left.code, right.code, at=where)
        else:
            code = ast.BinOp(left.code, OPERATORS[node.op](), right.code, **where)
        return Value(code, max(left.depth, right.depth) + 1, inexact or node.op == "/")

    def Unary(self, node: n.Unary) -> Generator:
        (operand,) = yield from self.sequence((node.operand,))
        op = {"-": ast.USub, "+": ast.UAdd, "not": ast.Not}[node.op]()
        where = self.at(node)
        return Value(ast.UnaryOp(op, operand.code, **where), operand.depth + 1, operand.inexact)

    def Compare(self, node: n.Compare) -> Generator:
        left, right = yield from self.sequence((node.left, node.rights[0]))
        rest = []
        for child in node.rights[1:]:
            rest.append((yield from self.aside(child)))
        where = self.at(node)
        ops = [COMPARISONS[op]() for op in node.ops]
        if not any(body or value.depth > DEEP for body, value in rest):
            codes = [right.code, *(value.code for _, value in rest)]
            depth = max(left.depth, right.depth, *(v.depth for _, v in rest), 0)
            return Value(ast.Compare(left.code, ops, codes, **where), depth + 1)
        # a < b < c with a deep c: b is kept, and c is computed only if a < b holds.
        held = self.spill(right)
        truth = self.fresh()
        self.out.append(self.assign(truth, ast.Compare(left.code, ops[:1], [held.code], **where)))
        block = self.out
        for op, (body, value) in zip(ops[1:], rest, strict=True):
            name = self.fresh()
            compare = ast.Compare(held.code, [op], [self.name(name)], **where)
            inner = [*body, self.assign(name, value.code), self.assign(truth, compare)]
            block.append(ast.If(self.name(truth), inner, [], **where))
            block, held = inner, Value(self.name(name), 1)
        return Value(self.name(truth), 1)

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
        near = closest(dotted, table)
        raise SyntaxFault(
            "E0204", f"`{inner.id}` has no `{dotted}` here", self.checked.source,
            node.start, node.end,
            help=f"did you mean `{inner.id}.{near}`?" if near else "all names: gradcli ops",
        )  # fmt: skip

    def Subscript(self, node: n.Subscript) -> Generator:
        value, index = yield from self.sequence((node.value, node.index))
        code = ast.Subscript(value.code, index.code, LOAD, **self.at(node))
        return Value(code, max(value.depth, index.depth) + 1)

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
            args.insert(0, target)
            target = ast.Name("h_invoke", LOAD, **where)
        depth = max([0, *(v.depth for v in values)]) + 1
        return Value(ast.Call(target, args, keywords, **where), depth)

    def Lambda(self, node: n.Lambda) -> Generator:
        defaults = yield from self.sequence(
            [p.default for p in node.params if p.default is not None]
        )
        body, value = yield from self.aside(node.body)
        where = self.at(node)
        args = arguments([f"v_{p.name}" for p in node.params], [d.code for d in defaults])
        if not body and value.depth <= DEEP:
            step = self.call("h_tick")
            code = ast.BoolOp(ast.And(), [step, value.code], **where)
            return Value(ast.Lambda(args, code, **where), 2)
        name = self.fresh()
        self.out.append(self.function(name, args, [*body, ast.Return(value.code, **where)]))
        return Value(self.name(name), 1)

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
        return self.comprehension_function(parts, element_body, element, first)

    def comprehension_function(
        self, parts: list, body: list, element: Value, first: Value
    ) -> Value:
        """A comprehension too deep for one expression, as a function of its first iterable."""
        name = self.fresh()
        where = self.here()
        append = self.call("h_append", self.name("made"), element.code)
        inner: list[ast.stmt] = [*body, ast.Expr(append, **where)]
        for i, (clause, before, value, conditions) in reversed(list(enumerate(parts))):
            for condition_body, condition in reversed(conditions):
                inner = [*condition_body, ast.If(condition.code, inner, [], **where)]
            items = self.name("items") if i == 0 else value.code
            loop = ast.For(self.target(clause.target), self.walked(items), inner, [], **where)
            inner = [*before, loop]
        start = self.assign("made", ast.List([], LOAD, **where))
        args = arguments(["items"], [])
        self.out.append(
            self.function(name, args, [start, *inner, ast.Return(self.name("made"), **where)])
        )
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
