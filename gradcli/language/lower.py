"""From a checked program to Python code: the second half of lowering.

The tree becomes ``ast`` nodes, never text, and those a code object. Measured on a loop over plain
numbers, code objects run at 1.0 to 1.6 times CPython's own time, nested closures at 5.8.

    what is emitted                        why it is safe
    user names as ``v_name``               they cannot meet a helper's or a builtin's name
    ``a - b``, ``a / b``, comparisons      nothing they can be applied to grows
    ``a + b``, ``a * b``, ``a ** b``       inline where one side is surely a float or a tensor, else
                                           through a helper that bounds whole numbers and lists
    ``x.name``                             never an attribute access: a look-up in the fixed tables
    ``for``, ``while``, calls              take one step each from the step budget, in C

The line number of every emitted node is the number of the tree node it came from, so that a
traceback leads back to an exact span of the user's text at no cost while running.

A subtree deeper than ``DEEP`` is computed into a temporary first: CPython's compiler recurses, and a
sum of 100,000 terms is one deep tree.
"""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from typing import Any

from gradcli.language import names
from gradcli.language import nodes as n
from gradcli.language.check import Checked
from gradcli.language.diagnostics import SyntaxFault, closest

DEEP = 40
_LOAD, _STORE = ast.Load(), ast.Store()
_OPERATORS = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "**": ast.Pow, "^": ast.Pow, "@": ast.MatMult,
}  # fmt: skip
_COMPARISONS = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
    "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}  # fmt: skip
_GUARDED = {"+": "h_add", "*": "h_multiply", "**": "h_power", "^": "h_power", "%": "h_modulo"}
_GUARDED_IN_PLACE = {"+": "h_add_to", "*": "h_multiply_by", "**": "h_power_by", "^": "h_power_by"}
_SWITCHES = ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode")
_ALLOWED = frozenset(
    (ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Assign, ast.AugAssign, ast.Expr, ast.If,
     ast.While, ast.For, ast.With, ast.withitem, ast.Break, ast.Continue, ast.Pass, ast.Return,
     ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Call,
     ast.keyword, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Lambda, ast.ListComp,
     ast.comprehension, ast.Load, ast.Store, ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd,
     *_OPERATORS.values(), *_COMPARISONS.values())
)  # fmt: skip


class Value:
    """A lowered expression: its code, how deep it is, whether it is surely no int, str or list."""

    __slots__ = ("code", "depth", "inexact")

    def __init__(self, code: ast.expr, depth: int, inexact: bool = False) -> None:
        self.code = code
        self.depth = depth
        self.inexact = inexact


def lower(
    checked: Checked, inputs: Sequence[str], keep: frozenset[str] | None = frozenset()
) -> tuple[ast.Module, list[n.Node], dict[str, Any]]:
    """The code of ``main(inputs...)``, the tree node behind each line number, and its constants.

    Tensors assigned to a name in ``keep`` (None: any) keep their gradient, as by ``retain_grad``.
    ``main`` returns the value of the last expression statement and all variables. Raises SyntaxFault
    for names that are not known (E0201, E0202, E0204).
    """
    checked.require(inputs)
    work = _Lowering(checked, frozenset(inputs), keep)
    body = work.program()
    main = ast.FunctionDef(
        name="main",
        args=_arguments([f"v_{name}" for name in inputs], []),
        body=body,
        decorator_list=[],
        lineno=1,
        col_offset=0,
    )
    if "type_params" in ast.FunctionDef._fields:
        main.type_params = []
    tree = ast.Module(body=[main], type_ignores=[])
    for node in ast.walk(tree):
        if node.__class__ not in _ALLOWED:
            raise AssertionError(f"lowering emitted {type(node).__name__}")
    return tree, work.places, work.constants


def _arguments(params: list[str], defaults: list[ast.expr]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=p, lineno=1, col_offset=0) for p in params], kwonlyargs=[],
        kw_defaults=[], defaults=defaults, vararg=None, kwarg=None,
    )  # fmt: skip


class _Lowering:
    """One pass over one program. Methods are generators that yield children to be lowered first."""

    def __init__(
        self, checked: Checked, inputs: frozenset[str], keep: frozenset[str] | None
    ) -> None:
        self.keep = keep
        self.checked = checked
        self.inputs = inputs
        self.places: list[n.Node] = [checked.module]
        self.constants: dict[str, Any] = {}
        self.out: list[ast.stmt] = []
        self.temporaries = 0
        self.nesting = 0  # of functions
        self.line = 1

    # -- the driver ----------------------------------------------------------------------------

    def run(self, root: Any) -> Any:
        """Lower without recursion: a stack of suspended generators."""
        stack = [self.visit(root)]
        value = None
        while stack:
            try:
                child = stack[-1].send(value)
            except StopIteration as done:
                stack.pop()
                value = done.value
            else:
                stack.append(self.visit(child))
                value = None
        return value

    def visit(self, node: Any) -> Generator:
        if node.__class__ is tuple:
            return self.block(node)
        return getattr(self, node.__class__.__name__)(node)

    def program(self) -> list[ast.stmt]:
        checked = self.checked
        first = [
            self.assign(f"v_{name}", self.table(name, place))
            for name, place in checked.bound.items()
            if name in names.NAMES and name not in self.inputs
        ]
        first.append(self.assign("result", ast.Constant(None, **self.at(checked.module))))
        body = self.run(checked.module.body)
        final = ast.Return(
            ast.Tuple([self.name("result"), self.call("h_locals")], _LOAD, **self.here()), **self.here()
        )
        return [*first, *body, final]

    # -- making code -----------------------------------------------------------------------------

    def at(self, node: n.Node) -> dict[str, int]:
        """The position arguments of code that comes from ``node``."""
        self.places.append(node)
        self.line = len(self.places)
        return {"lineno": self.line, "col_offset": 0, "end_lineno": self.line, "end_col_offset": 0}

    def here(self) -> dict[str, int]:
        return {"lineno": self.line, "col_offset": 0, "end_lineno": self.line, "end_col_offset": 0}

    def name(self, name: str) -> ast.Name:
        return ast.Name(name, _LOAD, **self.here())

    def assign(self, name: str, code: ast.expr) -> ast.Assign:
        return ast.Assign([ast.Name(name, _STORE, **self.here())], code, **self.here())

    def call(self, function: str, *args: ast.expr, at: dict | None = None) -> ast.Call:
        where = at or self.here()
        return ast.Call(ast.Name(function, _LOAD, **where), list(args), [], **where)

    def constant(self, prefix: str, value: Any) -> str:
        name = f"{prefix}{len(self.constants)}"
        self.constants[name] = value
        return name

    def table(self, name: str, node: n.Node) -> ast.expr:
        where = self.at(node)
        if name in names.CONSTANTS:
            return ast.Constant(names.CONSTANTS[name], **where)
        self.constants[f"g_{name}"] = names.NAMES[name]
        return ast.Name(f"g_{name}", _LOAD, **where)

    def fresh(self) -> str:
        self.temporaries += 1
        return f"t_{self.temporaries}"

    def spill(self, value: Value, at: int | None = None) -> Value:
        """Compute ``value`` into a temporary, now or at an earlier place in the block."""
        name = self.fresh()
        self.out.insert(len(self.out) if at is None else at, self.assign(name, value.code))
        return Value(self.name(name), 1, value.inexact)

    def sequence(self, children: Sequence[n.Node]) -> Generator:
        """Lower expressions that are evaluated one after the other, keeping that order."""
        done: list[Value] = []
        for child in children:
            mark = len(self.out)
            value = yield child
            if len(self.out) > mark:
                for i, earlier in enumerate(done):
                    if not isinstance(earlier.code, ast.Constant | ast.Name):
                        done[i] = self.spill(earlier, mark)
                        mark += 1
            done.append(self.spill(value) if value.depth > DEEP else value)
        return done

    def aside(self, child: Any) -> Generator:
        """Lower an expression that runs only sometimes: the statements it needs, and its value."""
        outer, self.out = self.out, []
        value = yield child
        body, self.out = self.out, outer
        return body, value

    # -- expressions -----------------------------------------------------------------------------

    def Name(self, node: n.Name) -> Generator:
        if id(node) in self.checked.variables or node.id in self.inputs:
            return Value(ast.Name(f"v_{node.id}", _LOAD, **self.at(node)), 1)
        if node.id in self.checked.imported:
            name = self.constant("k_", self.checked.imported[node.id])
            return Value(ast.Name(name, _LOAD, **self.at(node)), 1)
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
        if node.op in _GUARDED and not inexact:
            code: ast.expr = self.call(_GUARDED[node.op], left.code, right.code, at=where)
        elif node.op == "%" and not left.inexact:
            code = self.call("h_modulo", left.code, right.code, at=where)
        else:
            code = ast.BinOp(left.code, _OPERATORS[node.op](), right.code, **where)
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
        ops = [_COMPARISONS[op]() for op in node.ops]
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
            return Value(ast.Name(self.constant("k_", value), _LOAD, **where), 1)
        near = closest(dotted, table)
        raise SyntaxFault(
            "E0204", f"`{inner.id}` has no `{dotted}` here", self.checked.source, node.start, node.end,
            help=f"did you mean `{inner.id}.{near}`?" if near else "all names: gradcli ops",
        )  # fmt: skip

    def Subscript(self, node: n.Subscript) -> Generator:
        value, index = yield from self.sequence((node.value, node.index))
        code = ast.Subscript(value.code, index.code, _LOAD, **self.at(node))
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
        code = ast.Tuple([i.code for i in items], _LOAD, **self.at(node))
        return Value(code, max([0, *(i.depth for i in items)]) + 1)

    def List(self, node: n.List) -> Generator:
        items = yield from self.sequence(node.items)
        code = ast.List([i.code for i in items], _LOAD, **self.at(node))
        return Value(code, max([0, *(i.depth for i in items)]) + 1)

    def Call(self, node: n.Call) -> Generator:
        func = node.func
        given = (*node.args, *(k.value for k in node.keywords))
        if isinstance(func, n.Attribute) and (found := self.from_module(func)) is None:
            values = yield from self.sequence((func.value, *given))
            name = f"m_{func.name}_{len(node.args)}" if not node.keywords else f"m_{func.name}_n"
            if name not in self.constants:
                self.constants[name] = ("method", func.name, None if node.keywords else len(node.args))
            return self.finish_call(node, ast.Name(name, _LOAD, **self.at(func)), values, False)
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
            target = ast.Name("h_invoke", _LOAD, **where)
        depth = max([0, *(v.depth for v in values)]) + 1
        return Value(ast.Call(target, args, keywords, **where), depth)

    def Lambda(self, node: n.Lambda) -> Generator:
        defaults = yield from self.sequence([p.default for p in node.params if p.default is not None])
        body, value = yield from self.aside(node.body)
        where = self.at(node)
        args = _arguments([f"v_{p.name}" for p in node.params], [d.code for d in defaults])
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
        if simple and all(_only_names(c.target) for c in node.clauses):
            generators = [
                ast.comprehension(
                    target=self.target(clause.target), iter=self.walked(value.code),
                    ifs=[c.code for _, c in conditions], is_async=0,
                )
                for clause, _, value, conditions in parts
            ]  # fmt: skip
            return Value(ast.ListComp(element.code, generators, **where), element.depth + 2)
        return self.comprehension_function(parts, element_body, element, first)

    def comprehension_function(self, parts: list, body: list, element: Value, first: Value) -> Value:
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
        start = self.assign("made", ast.List([], _LOAD, **where))
        args = _arguments(["items"], [])
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

    # -- statements ------------------------------------------------------------------------------

    def block(self, body: tuple[n.Statement, ...]) -> Generator:
        outer, self.out = self.out, []
        for statement in body:
            yield statement
        made, self.out = self.out, outer
        if not made:
            made.append(ast.Pass(**self.here()))
        return made

    def function(self, name: str, args: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
        made = ast.FunctionDef(
            name=name, args=args, body=[ast.Expr(self.call("h_tick"), **self.here()), *body],
            decorator_list=[], **self.here(),
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
            return ast.Name(f"v_{node.id}", _STORE, **self.at(node))
        # A target nests as deep as its brackets; lists of names are flat in practice.
        shell = ast.Tuple([], _STORE, **self.at(node))
        work = [(node, shell)]
        while work:
            source, made = work.pop()
            for item in source.items:
                if isinstance(item, n.Name):
                    made.elts.append(ast.Name(f"v_{item.id}", _STORE, **self.at(item)))
                else:
                    made.elts.append(ast.Tuple([], _STORE, **self.at(item)))
                    work.append((item, made.elts[-1]))
        return shell

    def store(self, target: n.Node, value: Value) -> Generator:
        """Assign a value that is a name or a constant to any kind of target."""
        work: list[tuple[n.Node, Value]] = [(target, value)]
        while work:
            target, value = work.pop()
            if _only_names(target):
                self.out.append(ast.Assign([self.target(target)], value.code, **self.at(target)))
            elif isinstance(target, n.Subscript):
                held, index = yield from self.sequence((target.value, target.index))
                where = self.at(target)
                if any(isinstance(x, n.Slice) for x in n.walk(target.index)) and not isinstance(
                    target.index, n.Tuple
                ):
                    cut = self.call("h_slice", *(p or ast.Constant(None, **where) for p in (
                        index.code.lower, index.code.upper, index.code.step)))  # fmt: skip
                    call = self.call("h_set_item", held.code, cut, value.code, at=where)
                    self.out.append(ast.Expr(call, **where))
                else:
                    place = ast.Subscript(held.code, index.code, _STORE, **where)
                    self.out.append(ast.Assign([place], value.code, **where))
            elif isinstance(target, n.Attribute):
                (held,) = yield from self.sequence((target.value,))
                where = self.at(target)
                name = ast.Constant(target.name, **where)
                call = self.call("h_set_attribute", held.code, name, value.code, at=where)
                self.out.append(ast.Expr(call, **where))
            else:
                parts = [self.fresh() for _ in target.items]
                stores = [ast.Name(p, _STORE, **self.at(target)) for p in parts]
                self.out.append(
                    ast.Assign([ast.Tuple(stores, _STORE, **self.here())], value.code, **self.here())
                )
                work += reversed(
                    [(i, Value(self.name(p), 1)) for i, p in zip(target.items, parts, strict=True)]
                )

    def Assign(self, node: n.Assign) -> Generator:
        (value,) = yield from self.sequence((node.value,))
        if len(node.targets) == 1 and _only_names(node.targets[0]):
            target = node.targets[0]
            if isinstance(target, n.Name) and (self.keep is None or target.id in self.keep):
                value = Value(self.call("h_keep", value.code, at=self.at(node)), value.depth + 1)
            self.out.append(ast.Assign([self.target(target)], value.code, **self.at(node)))
            return
        held = self.spill(value)
        for target in node.targets:
            yield from self.store(target, held)

    def AugAssign(self, node: n.AugAssign) -> Generator:
        op = node.op.rstrip("=")
        target = node.target
        if isinstance(target, n.Name):
            (value,) = yield from self.sequence((node.value,))
            where = self.at(node)
            old: ast.expr = ast.Name(f"v_{target.id}", _LOAD, **where)
            place: ast.expr = ast.Name(f"v_{target.id}", _STORE, **where)
            if op in _GUARDED_IN_PLACE or op == "%":
                code = self.in_place(op, old, value, where)
                self.out.append(ast.Assign([place], code, **where))
            else:
                self.out.append(ast.AugAssign(place, _OPERATORS[op](), value.code, **where))
            return
        if isinstance(target, n.Subscript):
            held, index = yield from self.sequence((target.value, target.index))
            held = self.spill(held)
            if not isinstance(index.code, ast.Slice | ast.Tuple):
                index = self.spill(index)
            where = self.at(node)
            old = ast.Subscript(held.code, index.code, _LOAD, **where)
            current = self.spill(Value(old, 2))
            (value,) = yield from self.sequence((node.value,))
            changed = self.spill(Value(self.in_place(op, current.code, value, where), 2))
            place = ast.Subscript(held.code, index.code, _STORE, **where)
            self.out.append(ast.Assign([place], changed.code, **where))
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
        if op in _GUARDED_IN_PLACE:
            return self.call(_GUARDED_IN_PLACE[op], old, value.code, at=where)
        helper = {"-": "h_sub_from", "/": "h_divide_by", "//": "h_floor_by", "%": "h_modulo_by",
                  "@": "h_matmul_by"}[op]  # fmt: skip
        return self.call(helper, old, value.code, at=where)

    def ExprStmt(self, node: n.ExprStmt) -> Generator:
        (value,) = yield from self.sequence((node.value,))
        where = self.at(node)
        if self.nesting == 0:
            self.out.append(ast.Assign([ast.Name("result", _STORE, **where)], value.code, **where))
        else:
            self.out.append(ast.Expr(value.code, **where))

    def Def(self, node: n.Def) -> Generator:
        defaults = yield from self.sequence([p.default for p in node.params if p.default is not None])
        self.nesting += 1
        body = yield node.body
        self.nesting -= 1
        self.at(node)
        args = _arguments([f"v_{p.name}" for p in node.params], [d.code for d in defaults])
        self.out.append(self.function(f"v_{node.name}", args, body))

    def Return(self, node: n.Return) -> Generator:
        value = None
        if node.value is not None:
            (found,) = yield from self.sequence((node.value,))
            value = found.code
        self.out.append(ast.Return(value, **self.at(node)))

    def If(self, node: n.If) -> Generator:
        (test,) = yield from self.sequence((node.test,))
        body = yield node.body
        orelse = (yield node.orelse) if node.orelse else []
        self.out.append(ast.If(test.code, body, orelse, **self.at(node.test)))

    def While(self, node: n.While) -> Generator:
        before, test = yield from self.aside(node.test)
        body = yield node.body
        where = self.at(node.test)
        step = self.call("h_tick")
        if not before and test.depth <= DEEP:
            code = ast.BoolOp(ast.And(), [step, test.code], **where)
            self.out.append(ast.While(code, body, [], **where))
            return
        stop = ast.If(ast.UnaryOp(ast.Not(), test.code, **where), [ast.Break(**where)], [], **where)
        self.out.append(ast.While(step, [*before, stop, *body], [], **where))

    def For(self, node: n.For) -> Generator:
        (items,) = yield from self.sequence((node.iter,))
        where = self.at(node.iter)
        walked = self.walked(items.code)
        if _only_names(node.target):
            target = self.target(node.target)
            body = yield node.body
            self.out.append(ast.For(target, walked, body, [], **where))
            return
        name = self.fresh()
        outer, self.out = self.out, []
        yield from self.store(node.target, Value(self.name(name), 1))
        stores, self.out = self.out, outer
        body = yield node.body
        target = ast.Name(name, _STORE, **where)
        self.out.append(ast.For(target, walked, [*stores, *body], [], **where))

    def Break(self, node: n.Break) -> Generator:
        self.out.append(ast.Break(**self.at(node)))
        return
        yield

    def Continue(self, node: n.Continue) -> Generator:
        self.out.append(ast.Continue(**self.at(node)))
        return
        yield

    def Pass(self, node: n.Pass) -> Generator:
        self.out.append(ast.Pass(**self.at(node)))
        return
        yield

    def Import(self, _node: n.Import) -> Generator:
        return
        yield

    FromImport = Import

    def Assert(self, node: n.Assert) -> Generator:
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
        items = []
        for item in node.items:
            call = item.expr
            name = call.func if isinstance(call, n.Call) else call
            word = name.name if isinstance(name, n.Attribute) else getattr(name, "id", "")
            if word not in _SWITCHES or not isinstance(call, n.Call) or id(name) in self.checked.variables:
                raise SyntaxFault(
                    "E0164", "`with` takes no_grad(), enable_grad(), set_grad_enabled(...) or "
                    "inference_mode()", self.checked.source, item.start, item.end,
                    help=f"write with {word}():" if word in _SWITCHES else None,
                )  # fmt: skip
            (value,) = yield from self.sequence((item.expr,))
            target = None if item.target is None else self.target(item.target)
            items.append(ast.withitem(context_expr=value.code, optional_vars=target))
        body = yield node.body
        self.out.append(ast.With(items, body, **self.at(node)))


def _only_names(target: n.Node) -> bool:
    """Whether a target is a name, or a tuple of names however nested."""
    work = [target]
    while work:
        node = work.pop()
        if isinstance(node, n.Tuple | n.List):
            work += node.items
        elif not isinstance(node, n.Name):
            return False
    return True
