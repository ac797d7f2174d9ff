"""Lists with ``for`` to Python code: a comprehension where it is simple, else a loop.

One that may call back into the program is a loop in place (see ``check_lists``), so that calls
through it nest as deep as others; its variables carry names of their own. One too deep for a single
expression is a loop in a function of its first iterable.
"""

from __future__ import annotations

import ast
from collections.abc import Generator

from gradcli.language import nodes as n
from gradcli.language.emit import DEEP, LOAD, STORE, Emitter, Value, arguments, only_names


class Comprehensions(Emitter):
    """How lists with ``for`` are lowered."""

    def ListComp(self, node: n.ListComp) -> Generator:
        """A comprehension, a loop in place or a loop in a function (see the top of the file)."""
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
        in_place = self.lists_in_place and id(node) in self.checked.in_place
        if simple and not in_place and all(only_names(c.target) for c in node.clauses):
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
        if in_place:
            made = self.fresh()
            self.out += self.loops(made, first.code, parts, stores, element_body, element)
            return Value(self.name(made), 1)
        name = self.fresh()
        body = self.loops("made", self.name("items"), parts, stores, element_body, element)
        args = arguments(["items"], [])
        leave = self.leave(self.name("made"), where)
        self.out.append(self.function(name, args, [*body, *leave]))
        return Value(self.call(name, first.code), first.depth + 1)

    def loops(
        self, made: str, items: ast.expr, parts: list, stores: list, body: list, element: Value
    ) -> list[ast.stmt]:
        """A comprehension as loops that add to the list ``made``."""
        where = self.here()
        append = self.call("h_put", self.name(made), element.code)
        inner: list[ast.stmt] = [*body, ast.Expr(append, **where)]
        for i, (_, before, value, conditions) in reversed(list(enumerate(parts))):
            for condition_body, condition in reversed(conditions):
                inner = [*condition_body, ast.If(condition.code, inner, [], **where)]
            target, stored = stores[i]
            walked = self.walked(items if i == 0 else value.code)
            inner = [*before, ast.For(target, walked, [*stored, *inner], [], **where)]
        return [self.assign(made, ast.List([], LOAD, **where)), *inner]
