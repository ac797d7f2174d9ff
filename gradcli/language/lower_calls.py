"""Calls, attributes and lambdas to Python code.

An attribute is never an attribute access but a look-up in the fixed tables; a function takes a step
from the step budget when it is entered, and a token of those that say how deep calls may nest.
"""

from __future__ import annotations

import ast
from collections.abc import Generator

from gradcli.language import names
from gradcli.language import nodes as n
from gradcli.language.diagnostics import SyntaxFault, closest
from gradcli.language.emit import DEEP, LOAD, Emitter, Value, arguments

LONGEST_PATH = 8
"""No name of a module stands deeper than this: ``torch.nn.functional.relu``."""


def _true(where: dict) -> ast.expr:
    return ast.Constant(True, **where)


class Calls(Emitter):
    """How calls, attributes and lambdas are lowered."""

    def Attribute(self, node: n.Attribute) -> Generator:
        """A name of an imported module, or what the fixed tables have for the value."""
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
        from gradcli.language.foreign import FUNCTIONS, module_help

        near = None if last in FUNCTIONS else closest(dotted, table)
        mend = f"did you mean `{inner.id}.{near}`?" if near else None
        raise SyntaxFault(
            "E0204", f"`{inner.id}` has no `{dotted}` here", self.checked.source,
            node.start, node.end,
            help=mend or module_help(f"{module}.{dotted}") or "all names: gradcli ops",
        )  # fmt: skip

    def Call(self, node: n.Call) -> Generator:
        """A call: the receiver or function first, then the arguments in the order written."""
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
            target = ast.Name(name, LOAD, **self.at(func))
            called = self.finish_call(node, target, values, False)
            if len(values) == 1 and isinstance(values[0].code, ast.Name):
                called.code = self.of_a_tensor(func.name, values[0].code, called.code)
            return called
        if isinstance(func, n.Attribute):
            values = yield from self.sequence(given)
            return self.finish_call(node, found.code, values, False)
        values = yield from self.sequence((func, *given))
        target = values[0].code
        own = not (isinstance(target, ast.Name) and target.id.startswith(("g_", "k_")))
        return self.finish_call(node, target, values[1:], own)

    def finish_call(self, node: n.Call, target: ast.expr, values: list[Value], own: bool) -> Value:
        """The call itself, of arguments already lowered: those with a keyword last.

        ``own`` says that the program itself may have defined what is called.
        """
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

    def of_a_tensor(self, method: str, receiver: ast.Name, called: ast.expr) -> ast.expr:
        """``receiver.method()`` at once where it is a tensor: no call stands in between."""
        if method not in names.CALL[names.Tensor]:
            return called
        where = {k: getattr(called, k) for k in self.here()}
        name = f"t_{method}"
        self.constants[name] = ("tensor method", method)
        tensor = ast.Name("h_Tensor", LOAD, **where)
        test = ast.Compare(self.call("h_type", receiver, at=where), [ast.Is()], [tensor], **where)
        return ast.IfExp(test, self.call(name, receiver, at=where), called, **where)

    def by_count(self, target: ast.Name, count: int, where: dict) -> ast.Name:
        """A function of the tables for calls with so many arguments: the shortest way to it."""
        if target.id.startswith("m_"):
            return target
        name = f"{target.id}_{count}"
        self.constants[name] = ("function", self.constants[target.id], count)
        return ast.Name(name, LOAD, **where)

    def Lambda(self, node: n.Lambda) -> Generator:
        """An expression where it needs no statements and is not too deep, else a function."""
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
