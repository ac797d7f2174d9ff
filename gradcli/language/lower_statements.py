"""Statements to Python code, one method per kind of node.

Loops and functions take one step each from the step budget per turn or call; targets other than
names go through helpers or subscripts; augmented assignment is in place on tensors, as in PyTorch.
"""

from __future__ import annotations

import ast
from collections.abc import Generator

from gradcli.language import nodes as n
from gradcli.language.contexts import SWITCHES, TAKES
from gradcli.language.diagnostics import SyntaxFault
from gradcli.language.emit import (
    DEEP,
    GUARDED_IN_PLACE,
    LOAD,
    OPERATORS,
    STORE,
    Value,
    arguments,
    only_names,
)
from gradcli.language.lower_expressions import Expressions, plain_index

_TRACED = (n.Assign, n.AugAssign, n.ExprStmt, n.Assert, n.Def, n.FunctionClass)
"""Statements that a trace shows once they are done; it shows others as they begin."""


def _targets(node: n.Node) -> list[n.Name]:
    """The names that a statement assigns to."""
    if isinstance(node, n.Assign):
        found = [name for target in node.targets for name in n.walk(target)]
    else:
        found = [*n.walk(node.target)] if isinstance(node, n.AugAssign | n.For) else []
    names = {name.id: name for name in found if isinstance(name, n.Name)}
    return list(names.values())[:8]


class Statements(Expressions):
    """How each kind of statement is lowered; every method adds to ``out``."""

    def block(self, body: tuple[n.Statement, ...]) -> Generator:
        """The statements of a block; ``pass`` where there would be none."""
        outer, self.out = self.out, []
        for statement in body:
            yield statement
            if self.trace and isinstance(statement, _TRACED):
                self.traced(statement)
        made, self.out = self.out, outer
        if not made:
            made.append(ast.Pass(**self.here()))
        return made

    def traced(self, node: n.Statement, value: ast.expr | None = None) -> None:
        """A call that shows a statement and what it left, where a trace was asked for."""
        where = self.at(node)
        shown: list[ast.expr] = [ast.Constant(node.start, **where)]
        if value is not None:
            word = "returns" if isinstance(node, n.Return) else ""
            shown += [ast.Constant(word, **where), value]
        elif isinstance(node, n.ExprStmt) and self.nesting == 0:
            shown += [ast.Constant("", **where), self.name("result")]
        for target in _targets(node):
            shown += [ast.Constant(target.id, **where), self.name(f"v_{target.id}")]
        self.out.append(ast.Expr(self.call("h_trace", *shown, at=where), **where))

    def announced(self, node: n.Statement) -> list[ast.stmt]:
        """What shows a statement as it begins, where a trace was asked for."""
        if not self.trace:
            return []
        outer, self.out = self.out, []
        self.traced(node)
        made, self.out = self.out, outer
        return made

    def function(self, name: str, args: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
        """A function that takes a step and a token of depth when it is entered."""
        made = ast.FunctionDef(
            name=name, args=args, decorator_list=[], **self.here(),
            body=[
                ast.Expr(self.call("h_tick"), **self.here()),
                ast.Expr(self.deeper(), **self.here()), *body,
            ],
        )  # fmt: skip
        if "type_params" in ast.FunctionDef._fields:
            made.type_params = []
        return made

    def walked(self, code: ast.expr) -> ast.expr:
        """What a loop runs over: a checked iterator that takes a step at each turn."""
        return self.call("h_steps", self.call("h_iterate", code))

    def target(self, node: n.Node) -> ast.expr:
        """A target made of names only."""
        if isinstance(node, n.Name):
            return ast.Name(self.spelled(node), STORE, **self.at(node))
        # A target nests as deep as its brackets; lists of names are flat in practice.
        shell = ast.Tuple([], STORE, **self.at(node))
        work = [(node, shell)]
        while work:
            source, made = work.pop()
            for item in source.items:
                if isinstance(item, n.Name):
                    made.elts.append(ast.Name(self.spelled(item), STORE, **self.at(item)))
                else:
                    made.elts.append(ast.Tuple([], STORE, **self.at(item)))
                    work.append((item, made.elts[-1]))
        return shell

    def store(self, target: n.Node, value: Value) -> Generator:
        """Assign a value that is a name or a constant to any kind of target."""
        work: list[tuple[n.Node, Value]] = [(target, value)]
        while work:
            target, value = work.pop()
            if only_names(target):
                self.out.append(ast.Assign([self.target(target)], value.code, **self.at(target)))
            elif isinstance(target, n.Subscript):
                held, index = yield from self.sequence((target.value, target.index))
                where = self.at(target)
                plain = value.inexact or value.bits or isinstance(value.code, ast.Constant)
                if plain and (index.bits or plain_index(index.code)):
                    place = ast.Subscript(held.code, index.code, STORE, **where)
                    self.out.append(ast.Assign([place], value.code, **where))
                else:
                    at = self.index(index.code, where)
                    call = self.call("h_set_item", held.code, at, value.code, at=where)
                    self.out.append(ast.Expr(call, **where))
            elif isinstance(target, n.Attribute):
                (held,) = yield from self.sequence((target.value,))
                where = self.at(target)
                name = ast.Constant(target.name, **where)
                call = self.call("h_set_attribute", held.code, name, value.code, at=where)
                self.out.append(ast.Expr(call, **where))
            else:
                parts = [self.fresh() for _ in target.items]
                stores = [ast.Name(p, STORE, **self.at(target)) for p in parts]
                self.out.append(
                    ast.Assign([ast.Tuple(stores, STORE, **self.here())], value.code, **self.here())
                )
                work += reversed(
                    [(i, Value(self.name(p), 1)) for i, p in zip(target.items, parts, strict=True)]
                )

    def Assign(self, node: n.Assign) -> Generator:
        """One name at once, other targets from a temporary; names to keep retain their gradient."""
        (value,) = yield from self.sequence((node.value,))
        if len(node.targets) == 1 and only_names(node.targets[0]):
            target = node.targets[0]
            if isinstance(target, n.Name) and (self.keep is None or target.id in self.keep):
                value = Value(self.call("h_keep", value.code, at=self.at(node)), value.depth + 1)
            self.out.append(ast.Assign([self.target(target)], value.code, **self.at(node)))
            return
        held = self.spill(value)
        for target in node.targets:
            yield from self.store(target, held)

    def AugAssign(self, node: n.AugAssign) -> Generator:
        """``a += b``, where the parts of an item or an attribute are computed once."""
        op = node.op.rstrip("=")
        target = node.target
        if isinstance(target, n.Name):
            (value,) = yield from self.sequence((node.value,))
            where = self.at(node)
            old: ast.expr = ast.Name(f"v_{target.id}", LOAD, **where)
            place: ast.expr = ast.Name(f"v_{target.id}", STORE, **where)
            if op in GUARDED_IN_PLACE or op == "%":
                code = self.in_place(op, old, value, where)
                self.out.append(ast.Assign([place], code, **where))
            else:
                self.out.append(ast.AugAssign(place, OPERATORS[op](), value.code, **where))
            return
        if isinstance(target, n.Subscript):
            held, index = yield from self.sequence((target.value, target.index))
            held = self.spill(held)
            where = self.at(node)
            index = self.spill(Value(self.index(index.code, where), 2, bits=index.bits))
            if index.bits:
                old: ast.expr = ast.Subscript(held.code, index.code, LOAD, **where)
            else:
                old = self.call("h_item", held.code, index.code, at=where)
            current = self.spill(Value(old, 2))
            (value,) = yield from self.sequence((node.value,))
            changed = self.spill(Value(self.in_place(op, current.code, value, where), 2))
            call = self.call("h_set_item", held.code, index.code, changed.code, at=where)
            self.out.append(ast.Expr(call, **where))
            return
        (held,) = yield from self.sequence((target.value,))
        held = self.spill(held)
        where = self.at(node)
        name = ast.Constant(target.name, **where)
        current = self.spill(Value(self.call("h_attribute", held.code, name, at=where), 2))
        (value,) = yield from self.sequence((node.value,))
        changed = self.spill(Value(self.in_place(op, current.code, value, where), 2))
        call = self.call("h_set_attribute", held.code, name, changed.code, at=where)
        self.out.append(ast.Expr(call, **where))

    def in_place(self, op: str, old: ast.expr, value: Value, where: dict) -> ast.expr:
        """The value that ``old op= value`` leaves, by a helper that bounds what may grow."""
        if op in GUARDED_IN_PLACE:
            return self.call(GUARDED_IN_PLACE[op], old, value.code, at=where)
        helper = {"-": "h_sub_from", "/": "h_divide_by", "//": "h_floor_by", "%": "h_modulo_by",
                  "@": "h_matmul_by"}[op]  # fmt: skip
        return self.call(helper, old, value.code, at=where)

    def ExprStmt(self, node: n.ExprStmt) -> Generator:
        """An expression; outside functions its value becomes the result of the program."""
        (value,) = yield from self.sequence((node.value,))
        where = self.at(node)
        if self.nesting == 0:
            self.out.append(ast.Assign([ast.Name("result", STORE, **where)], value.code, **where))
        else:
            self.out.append(ast.Expr(value.code, **where))

    def Def(self, node: n.Def) -> Generator:
        """A function of the program, ``v_`` and its name in generated code."""
        yield from self.defined(node, f"v_{node.name}")

    def defined(self, node: n.Def, name: str) -> Generator:
        """A function of the program under a name of the generated code."""
        defaults = yield from self.sequence(
            [p.default for p in node.params if p.default is not None]
        )
        self.nesting += 1
        body = yield node.body
        self.nesting -= 1
        where = self.at(node)
        args = arguments([f"v_{p.name}" for p in node.params], [d.code for d in defaults])
        if not isinstance(body[-1], ast.Return):
            body += self.leave(None, where)
        self.out.append(self.function(name, args, body))

    def FunctionClass(self, node: n.FunctionClass) -> Generator:
        """Never a class: a record of functions."""
        parts = []
        for method in node.methods:
            name = f"{self.fresh()}_{method.name}"
            yield from self.defined(method, name)
            parts.append(self.name(name))
        where = self.at(node)
        called = (node.name, *(method.name for method in node.methods))
        if node.rule is not None:
            called += ("generate_vmap_rule",)
            parts.append(ast.Constant(node.rule, **where))
        words = [ast.Constant(word, **where) for word in called]
        made = self.call("h_record", ast.Tuple(words, LOAD, **where), *parts, at=where)
        self.out.append(self.assign(f"v_{node.name}", made))

    def Return(self, node: n.Return) -> Generator:
        """A return, which gives back the token of depth once the value is there."""
        value = None
        if node.value is not None:
            (found,) = yield from self.sequence((node.value,))
            value = found.code
            if self.trace:
                value = self.spill(found).code
                self.traced(node, value)
        else:
            self.out += self.announced(node)
        self.out += self.leave(value, self.at(node))

    def If(self, node: n.If) -> Generator:
        """An if statement; an elif is one in the block of its else."""
        (test,) = yield from self.sequence((node.test,))
        if self.trace:
            test = self.spill(test)
            self.traced(node, test.code)
        body = yield node.body
        orelse = (yield node.orelse) if node.orelse else []
        self.out.append(ast.If(test.code, body, orelse, **self.at(node.test)))

    def While(self, node: n.While) -> Generator:
        """A loop that takes a step before each test."""
        before, test = yield from self.aside(node.test)
        body = yield node.body
        step = self.call("h_tick", at=self.at(node))
        where = self.at(node.test)
        if self.trace:
            outer, self.out = self.out, before
            test = self.spill(test)
            self.traced(node, test.code)
            self.out = outer
        elif not before and test.depth <= DEEP:
            code = ast.BoolOp(ast.And(), [step, test.code], **where)
            self.out.append(ast.While(code, body, [], **where))
            return
        stop = ast.If(ast.UnaryOp(ast.Not(), test.code, **where), [ast.Break(**where)], [], **where)
        self.out.append(ast.While(step, [*before, stop, *body], [], **where))

    def For(self, node: n.For) -> Generator:
        """A loop over what ``walked`` gives; targets but names go through a temporary."""
        (items,) = yield from self.sequence((node.iter,))
        where = self.at(node.iter)
        walked = self.walked(items.code)
        if only_names(node.target):
            target = self.target(node.target)
            stores = self.announced(node)
            body = yield node.body
            self.out.append(ast.For(target, walked, [*stores, *body], [], **where))
            return
        name = self.fresh()
        outer, self.out = self.out, []
        yield from self.store(node.target, Value(self.name(name), 1))
        stores, self.out = self.out, outer
        stores += self.announced(node)
        body = yield node.body
        target = ast.Name(name, STORE, **where)
        self.out.append(ast.For(target, walked, [*stores, *body], [], **where))

    def Break(self, node: n.Break) -> Generator:
        """A break; a trace shows it as it begins."""
        self.out += self.announced(node)
        self.out.append(ast.Break(**self.at(node)))
        return
        yield

    def Continue(self, node: n.Continue) -> Generator:
        """A continue; a trace shows it as it begins."""
        self.out += self.announced(node)
        self.out.append(ast.Continue(**self.at(node)))
        return
        yield

    def Pass(self, node: n.Pass) -> Generator:
        """A pass; a trace shows it as it begins."""
        self.out += self.announced(node)
        self.out.append(ast.Pass(**self.at(node)))
        return
        yield

    def Import(self, _node: n.Import) -> Generator:
        """Nothing runs: the check before has found what the names stand for."""
        return
        yield

    FromImport = Import

    def Assert(self, node: n.Assert) -> Generator:
        """A test; the message is computed only where it fails."""
        (test,) = yield from self.sequence((node.test,))
        body: list[ast.stmt] = []
        message: list[ast.expr] = []
        if node.message is not None:
            body, value = yield from self.aside(node.message)
            message = [value.code]
        where = self.at(node)
        body.append(ast.Expr(self.call("h_fail", *message, at=where), **where))
        self.out.append(ast.If(ast.UnaryOp(ast.Not(), test.code, **where), body, [], **where))

    def With(self, node: n.With) -> Generator:
        """Contexts, checked when entered. Raises SyntaxFault (E0164) for what is surely none."""
        items = []
        for item in node.items:
            self.refuse_table(item.expr)
            (value,) = yield from self.sequence((item.expr,))
            target = None if item.target is None else self.target(item.target)
            held = self.call("h_context", value.code, at=self.at(item.expr))
            items.append(ast.withitem(context_expr=held, optional_vars=target))
        body = yield node.body
        self.out.append(ast.With(items, [*self.announced(node), *body], **self.at(node)))

    def refuse_table(self, node: n.Expr) -> None:
        """What is surely no context is refused before the program runs: ``with ones(3):``."""
        name = node.func if isinstance(node, n.Call) else node
        own = id(name) in self.checked.variables or getattr(name, "id", "") in self.inputs
        if not isinstance(name, n.Name) or own or name.id in self.checked.imported:
            return
        if name.id not in SWITCHES or name is node:
            mend = f"write with {name.id}():" if name.id in SWITCHES else TAKES
            raise SyntaxFault(
                "E0164", f"`with` cannot take {name.id}", self.checked.source, node.start,
                node.end, help=mend,
            )  # fmt: skip
