"""From a checked program to a Python code object: expressions, calls, comprehensions, statements.

The tree becomes ``ast`` nodes, never text, and those a code object. Measured on a loop over plain
numbers, code objects run at 1.0 to 1.6 times CPython's own time, closures several times slower.
``lower`` is the entry.

    what is emitted                       why it is safe
    ``a - b``, ``a / b``, comparisons     nothing they can be applied to grows
    ``a + b``, ``a * b``, ``a ** b``      inline only where one side is surely a float
    attributes, methods                   a look-up in the fixed tables, never an attribute access
    loops, function entries               take a step from the step budget per turn or call
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeVar

from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.compile.resolve import METHOD_MARKS, Checked
from gradcli.language.diagnostics.render import SyntaxFault
from gradcli.language.limits.sizes import INT_BITS
from gradcli.language.names import attributes, settings
from gradcli.language.names import table as names
from gradcli.language.names.context_managers import SWITCHES, TAKES
from gradcli.language.syntax import nodes as n

DEEP = 40
MOST_KEYWORDS = 100
"""More named arguments are passed by a dictionary: CPython compares each with each."""
LOAD, STORE = ast.Load(), ast.Store()

Made = TypeVar("Made", bound=ast.AST)


def _slotted(kind: type[Made]) -> type[Made]:
    """The same kind of node in a third of its memory: without a dictionary, and on one line.

    Only a line number is kept of the place, which is all that generated code has.
    """
    slots = {"__slots__": (*kind._fields, "lineno"), "col_offset": 0, "end_col_offset": 0}
    made: Any = type(kind.__name__, (kind,), slots)
    made.end_lineno = made.lineno
    return made  # type: ignore[no-any-return]


Name, Call, Constant = _slotted(ast.Name), _slotted(ast.Call), _slotted(ast.Constant)
BinOp, Compare, IfExp = _slotted(ast.BinOp), _slotted(ast.Compare), _slotted(ast.IfExp)
Assign = _slotted(ast.Assign)

Lowering = Generator[Any, Any, Any]
"""Lowers one node: yields the children to be lowered first and is sent what they became."""

OPERATORS = {
    "+": ast.Add(), "-": ast.Sub(), "*": ast.Mult(), "/": ast.Div(), "//": ast.FloorDiv(),
    "%": ast.Mod(), "**": ast.Pow(), "@": ast.MatMult(), "&": ast.BitAnd(), "|": ast.BitOr(),
}  # fmt: skip
COMPARISONS = {
    "==": ast.Eq(), "!=": ast.NotEq(), "<": ast.Lt(), "<=": ast.LtE(), ">": ast.Gt(),
    ">=": ast.GtE(), "is": ast.Is(), "is not": ast.IsNot(), "in": ast.In(), "not in": ast.NotIn(),
}  # fmt: skip
COMPARED = {
    "==": "h_eq", "!=": "h_ne", "<": "h_lt", "<=": "h_le", ">": "h_gt", ">=": "h_ge",
    "in": "h_in", "not in": "h_not_in",
}  # fmt: skip
"""Comparisons that look into lists: through a helper where both sides may be one."""
GUARDED = {"+": "h_add", "*": "h_multiply", "**": "h_power", "%": "h_modulo",
           "<<": "h_shift_left", ">>": "h_shift_right"}  # fmt: skip
IN_PLACE = {
    "+": "h_add_to", "*": "h_multiply_by", "**": "h_power_by", "%": "h_modulo_by",
    "<<": "h_shift_left_by", ">>": "h_shift_right_by", "-": "h_sub_from", "/": "h_divide_by",
    "//": "h_floor_by", "@": "h_matmul_by", "&": "h_and_by", "|": "h_or_by",
}  # fmt: skip


class Value:
    """A lowered expression.

    code     what computes it
    depth    how deep that is
    inexact  whether it is surely no int, str or list
    bits     where it is surely an int or a float, the most bits that it has; else 0
    """

    __slots__ = ("bits", "code", "depth", "inexact")

    def __init__(self, code: ast.expr, depth: int, inexact: bool = False, bits: int = 0) -> None:
        self.code = code
        self.depth = depth
        self.inexact = inexact
        self.bits = bits


def arguments(params: Sequence[str] = ()) -> ast.arguments:
    """The parameters of a generated function, which are plain names."""
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=p) for p in params],
        kwonlyargs=[], kw_defaults=[], defaults=[], vararg=None, kwarg=None,
    )  # fmt: skip


def _definition(name: str, args: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    """A function of the generated code."""
    made = ast.FunctionDef(name=name, args=args, body=body, decorator_list=[])
    if "type_params" in ast.FunctionDef._fields:
        made.type_params = []  # type: ignore[attr-defined]  # from Python 3.12 on
    return made


def parameters(params: tuple[n.Param, ...], defaults: list[ast.expr]) -> ast.arguments:
    """The parameters of a function of the program; ``defaults`` are those that there are."""
    made = arguments()
    left = iter(defaults)
    for param in params:
        arg = ast.arg(arg=f"v_{param.name}")
        default = next(left) if param.default is not None else None
        if param.kind == "*":
            made.vararg = arg
        elif param.kind == "**":
            made.kwarg = arg
        elif param.kind == "=":
            made.kwonlyargs.append(arg)
            made.kw_defaults.append(default)
        else:
            (made.posonlyargs if param.kind == "/" else made.args).append(arg)
            if default is not None:
                made.defaults.append(default)
    return made


def only_names(target: n.Node) -> bool:
    """Whether a target is a name, or a tuple of names however nested; none takes the rest."""
    work = [target]
    while work:
        node = work.pop()
        if isinstance(node, n.Tuple | n.List):
            work += node.items
        elif not isinstance(node, n.Name):
            return False
    return True


def plain_index(code: ast.expr) -> bool:
    """Whether an index is written as a number: it can hold no list."""
    if isinstance(code, ast.UnaryOp):
        code = code.operand
    return isinstance(code, ast.Constant)


def _stays(code: ast.expr) -> bool:
    """Whether code may be read twice: a name, or a number as written."""
    number = isinstance(code, ast.Constant) and isinstance(code.value, int | float)
    return number or isinstance(code, ast.Name)


def _merged(keywords: Iterable[ast.keyword]) -> list[ast.keyword]:
    """Named arguments as one dictionary of them."""
    names, values = zip(*((Constant(one.arg), one.value) for one in keywords), strict=True)
    return [ast.keyword(None, ast.Dict([*names], [*values]))]


def _element(node: n.Comprehension) -> n.Expr:
    """What a comprehension collects: of a dictionary, pairs."""
    element = node.element
    if isinstance(element, n.DictItem):
        assert element.key is not None  # the actions see to it
        return n.Tuple((element.key, element.value), element.start, element.end)
    return element


def _marks_method(decorator: n.Expr) -> bool:
    """Whether a decorator says what kind of method stands under it: staticmethod, property ..."""
    if isinstance(decorator, n.Attribute):
        return decorator.name == "setter"
    return isinstance(decorator, n.Name) and decorator.id in METHOD_MARKS


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


_TRACED = (n.Assign, n.AugAssign, n.ExprStmt, n.Assert, n.Def, n.ClassDef, n.FunctionClass)
"""Statements that a trace shows once they are done; it shows others as they begin."""


def _targets(node: n.Node) -> list[n.Name]:
    """The names that a statement assigns to."""
    if isinstance(node, n.Assign):
        found = [name for target in node.targets for name in n.walk(target)]
    else:
        found = [*n.walk(node.target)] if isinstance(node, n.AugAssign | n.For) else []
    names = {name.id: name for name in found if isinstance(name, n.Name)}
    return list(names.values())[:8]


class Lowerer:
    """One pass over one program: the statements made so far, and how each kind of node is lowered.

    The methods that lower a kind of node are named after it; they are generators that yield the
    children to be lowered first. The driver runs them suspended on a list, so that a tree of any
    depth is lowered without recursion; an expression deeper than ``DEEP`` is computed into a
    temporary, because CPython's own compiler recurses.
    """

    def __init__(
        self, checked: Checked, inputs: frozenset[str], keep: frozenset[str] | None,
        trace: bool = False, lists_in_place: bool = True, shares: bool = False,
    ) -> None:  # fmt: skip
        self.shares = shares
        self.lists_in_place = lists_in_place
        self.keep = keep
        self.trace = trace
        self.checked = checked
        self.inputs = inputs
        self.places: list[n.Node] = [checked.module]
        self.constants: dict[str, Any] = {}
        self.helpers: dict[str, ast.Name] = {}
        self.out: list[ast.stmt] = []
        self.temporaries = 0
        self.row = ""  # the name of that of the columns in a long sum
        self.nesting = 0  # of functions
        self.generator = False  # whether the function at hand is one
        self.classes: list[tuple[str, str]] = []  # the class of each method at hand, and its self
        self.line = 1
        counted = "range" not in inputs and "range" not in checked.imported
        self.counters = checked.counters if counted else frozenset()

    # -- the driver ----------------------------------------------------------------------------

    def run(self, root: Any) -> Any:
        """Lower without recursion: a stack of suspended generators, each with its line and the
        nodes that begin with what it lowers, for which none has to wait."""
        stack = [self.innermost(root)]
        value = None
        while stack:
            generator, self.line, around = stack[-1]
            try:
                child = generator.send(value)
            except StopIteration as done:
                value = done.value
                if value.__class__ is Value and not hasattr(value.code, "lineno"):
                    value.code.lineno = self.line
                if around:
                    generator, line = self.visit(around.pop())
                    next(generator)  # asks for the value that is there
                    stack[-1] = generator, line, around
                else:
                    stack.pop()
            else:
                stack.append(self.innermost(child))
                value = None
        return value

    def innermost(self, node: Any) -> tuple[Lowering, int, list[n.Node]]:
        """The generator that lowers what a node begins with, its line, and the nodes around it."""
        around: list[n.Node] = []
        while (first := self.first(node)) is not None:
            around.append(node)
            node = first
        return (*self.visit(node), around)

    def first(self, node: Any) -> n.Node | None:
        """What is lowered before all else where chains of such nodes can be long, as in x*y*z."""
        kind = node.__class__
        if kind is n.Binary:
            return node.left  # type: ignore[no-any-return]
        if kind is n.Unary:
            return node.operand  # type: ignore[no-any-return]
        if kind is n.Subscript:
            return node.value  # type: ignore[no-any-return]
        part = node.func if kind is n.Call else node
        if part.__class__ is not n.Attribute or self.checked.in_module(part) is not None:
            return None
        special = part is node and getattr(part.value, "name", "") == "__class__"
        return None if special else part.value  # type: ignore[no-any-return]

    def visit(self, node: Any) -> tuple[Lowering, int]:
        """The generator that lowers a node, or a block where ``node`` is a tuple of statements."""
        if node.__class__ is tuple:
            return self.block(node), self.line
        return getattr(self, node.__class__.__name__)(node), self.line_of(node)

    # -- making code -----------------------------------------------------------------------------

    def line_of(self, node: n.Node) -> int:
        """A line of its own for code that comes from ``node``."""
        self.places.append(node)
        return len(self.places)

    def add(self, *statements: ast.stmt, at: n.Node | None = None) -> None:
        """Add statements that come from the node that is lowered, or from ``at``."""
        line = self.line if at is None else self.line_of(at)
        for made in statements:
            made.lineno = line
            self.out.append(made)

    def name(self, name: str) -> ast.Name:
        """A variable of the generated code, read."""
        return Name(name, LOAD)

    def helper(self, name: str) -> ast.Name:
        """A helper of the generated code: one node for all its uses, as it is always there."""
        found = self.helpers.get(name)
        if found is None:
            found = self.helpers[name] = Name(name, LOAD)
        return found

    def assign(self, name: str, code: ast.expr) -> ast.Assign:
        """``name = code`` in the generated code."""
        return Assign([Name(name, STORE)], code)

    def call(self, function: str, *args: ast.expr, at: n.Node | None = None) -> ast.Call:
        """A call of a helper or function of the generated code, by position only.

        ``at`` is what it comes from, where that is not what the code around it comes from.
        """
        made = Call(self.helper(function), list(args), [])
        if at is not None:
            made.lineno = self.line_of(at)
        return made

    def run_call(self, function: str, *args: ast.expr, at: n.Node | None = None) -> None:
        """Add a statement that is a call of a helper."""
        self.add(ast.Expr(self.call(function, *args)), at=at)

    def constant(self, prefix: str, value: Any) -> str:
        """Put a value into the table of constants; the new name it has there."""
        name = f"{prefix}{len(self.constants)}"
        self.constants[name] = value
        return name

    def table(self, name: str) -> ast.expr:
        """A name of the language: a number as it is, a function by its global ``g_name``."""
        if name in names.CONSTANTS:
            return Constant(names.CONSTANTS[name])
        self.constants[f"g_{name}"] = names.function(name)
        return Name(f"g_{name}", LOAD)

    def variable(self, name: n.Name) -> str:
        """What a variable is called in generated code."""
        return self.checked.renamed.get(id(name)) or f"v_{name.id}"

    def fresh(self) -> str:
        """The name of a new temporary."""
        self.temporaries += 1
        return f"t_{self.temporaries}"

    def spill(self, value: Value, at: int | None = None) -> Value:
        """Compute ``value`` into a temporary, now or at an earlier place in the block."""
        name = self.fresh()
        made = self.assign(name, value.code)
        made.lineno = self.line
        self.out.insert(len(self.out) if at is None else at, made)
        return Value(self.name(name), 1, value.inexact, value.bits)

    def sequence(self, children: Sequence[n.Node]) -> Lowering:
        """Lower expressions that are evaluated one after the other, keeping that order."""
        done: list[Value] = []
        for child in children:
            mark = len(self.out)
            value = yield child
            if value.depth > DEEP:
                value = self.spill(value)
            if len(self.out) > mark:
                for i, earlier in enumerate(done):
                    if not self.lasts(earlier.code):
                        done[i] = self.spill(earlier, mark)
                        mark += 1
            done.append(value)
        return done

    def lasts(self, code: ast.expr) -> bool:
        """Whether code gives the same after other statements: a constant, or a name that no
        function writes to."""
        if not isinstance(code, ast.Name):
            return isinstance(code, ast.Constant)
        return code.id[:2] != "v_" or not (self.shares or code.id[2:] in self.checked.written)

    def aside(self, child: Any) -> Lowering:
        """Lower an expression that runs only sometimes: the statements it needs, and its value."""
        outer, self.out = self.out, []
        value = yield child
        body, self.out = self.out, outer
        return body, value

    def asides(self, children: Sequence[Any]) -> Lowering:
        """The same for each of several expressions."""
        found = []
        for child in children:
            found.append((yield from self.aside(child)))
        return found

    # -- expressions, each a Value --------------------------------------------------------------

    def Name(self, node: n.Name) -> Lowering:
        """A variable, or a name of the language. Raises SyntaxFault (E0206) for a module."""
        if id(node) in self.checked.variables or node.id in self.inputs:
            counter = id(node) in self.counters and node.id not in self.inputs
            bits = COUNTER if counter else 0
            return Value(Name(self.variable(node), LOAD), 1, bits=bits)
        if node.id in self.checked.imported:
            name = self.constant("k_", self.checked.imported[node.id])
            return Value(Name(name, LOAD), 1)
        if node.id in self.checked.modules:
            said = f"`{node.id}` is a module, not a value"
            mend = f"write {node.id}.sin(x)"
            raise SyntaxFault("E0206", said, self.checked.source, node.start, node.end, help=mend)
        if node.id == "__name__":
            return Value(Constant("__main__"), 1)
        value = names.CONSTANTS.get(node.id)
        return Value(self.table(node.id), 1, value is not None)
        yield

    def Number(self, node: n.Number) -> Lowering:
        """A number as written; of a whole one it is known how many bits it has."""
        value = node.value
        bits = value.bit_length() + 1 if isinstance(value, int) else 0
        return Value(Constant(value), 1, not bits, bits)
        yield

    def String(self, node: n.String | n.Literal) -> Lowering:
        """A text, ``True``, ``False``, ``None`` or ``...`` as written."""
        return Value(Constant(node.value), 1)
        yield

    Literal = String

    def Binary(self, node: n.Binary) -> Lowering:
        """``a op b``: inline where the result cannot grow past its bounds, else by a helper."""
        left, right = yield from self.sequence((node.left, node.right))
        inexact = left.inexact or right.inexact
        bits = _bits(node.op, left.bits, right.bits)
        if bits:
            code: ast.expr = BinOp(left.code, OPERATORS[node.op], right.code)
        elif node.op in GUARDED and not inexact:
            code = self.call(GUARDED[node.op], left.code, right.code)
            tested = node.op in "+*" and _stays(left.code) and _stays(right.code)
            if tested and not self.checked.long:  # there they cost more than they save
                code = self._of_tensors(node.op, left.code, right.code, code)
        elif node.op in ("<<", ">>") or (node.op == "%" and not left.inexact):
            code = self.call(GUARDED[node.op], left.code, right.code)
        else:
            code = BinOp(left.code, OPERATORS[node.op], right.code)
        depth = max(left.depth, right.depth) + 1
        return Value(code, depth, inexact or node.op == "/", bits if node.op != "/" else 0)

    def _of_tensors(self, op: str, left: ast.expr, right: ast.expr, guarded: ast.expr) -> ast.expr:
        """``left op right`` at once where both are tensors (or written numbers), else guarded."""
        tests = [self.is_tensor(side) for side in (left, right) if isinstance(side, ast.Name)]
        if not tests:
            return guarded
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        return IfExp(test, BinOp(left, OPERATORS[op], right), guarded)

    def is_tensor(self, code: ast.Name) -> ast.expr:
        """A test for a Tensor, and nothing derived from it."""
        return Compare(self.call("h_type", code), [COMPARISONS["is"]], [self.helper("h_Tensor")])

    def Sum(self, node: n.Sum) -> Lowering:
        """A long sum: as ``walk`` computes it, else one term after the other, each by the code of
        the one it is written like."""
        used = {
            name.id: self.variable(name) for name in n.walk(node) if isinstance(name, n.Name)
            and (id(name) in self.checked.variables or name.id in self.inputs)
        }  # fmt: skip
        keys: list[ast.expr | None] = [Constant(name) for name in used]
        given = ast.Lambda(arguments(), ast.Dict(keys, [*map(self.name, used.values())]))
        total, turn, at, self.row = (self.fresh() for _ in range(4))
        whole = self.call(self.constant("k_", ("sum", node)), given)
        self.add(self.assign(total, whole))
        joined = self.call("h_term", self.name(total), self.name(turn), self.name(at))
        chosen: list[ast.stmt] = []
        for i, term in reversed([*enumerate(node.terms)]):
            body, value = yield from self.aside(term)
            test = Compare(self.name(at), [ast.Eq()], [Constant(i)])
            chosen = [ast.If(test, [*body, self.assign(at, value.code)], chosen)]
        target = ast.Tuple([Name(one, STORE) for one in (turn, at, self.row)], STORE)
        turns = self.call(self.constant("k_", ("turns", node)))
        loop = ast.For(target, turns, [*chosen, self.assign(total, joined)], [])
        missing = Compare(self.name(total), [COMPARISONS["is"]], [Constant(None)])
        self.add(ast.If(missing, [loop], []))
        return Value(self.name(total), 1)

    def Column(self, node: n.Column) -> Lowering:
        """The number of the term at hand."""
        return Value(
            self.call(self.constant("k_", ("column", node.values)), self.name(self.row)), 2
        )
        yield

    def Unary(self, node: n.Unary) -> Lowering:
        """``-a``, ``+a`` and ``not a``: inline, as nothing grows."""
        (operand,) = yield from self.sequence((node.operand,))
        if node.op == "~":
            return Value(self.call("h_invert", operand.code), operand.depth + 1)
        op = {"-": ast.USub, "+": ast.UAdd, "not": ast.Not}[node.op]()
        inexact = operand.inexact and node.op != "not"
        bits = operand.bits if node.op != "not" else 0
        return Value(ast.UnaryOp(op, operand.code), operand.depth + 1, inexact, bits)

    def Compare(self, node: n.Compare) -> Lowering:
        """A chain of comparisons: a side is computed once, and only if those before it hold."""
        left, right = yield from self.sequence((node.left, node.rights[0]))
        rest = yield from self.asides(node.rights[1:])
        ops = [COMPARISONS[op] for op in node.ops]
        sides = [left, right, *(value for _, value in rest)]
        plain = all(map(_compares_inline, node.ops, sides, sides[1:]))
        if len(ops) == 1 and not plain:
            code = self.compared(left.code, node.ops[0], right.code)
            return Value(code, max(left.depth, right.depth) + 1)
        if plain and not any(body or value.depth > DEEP for body, value in rest):
            codes = [right.code, *(value.code for _, value in rest)]
            depth = max(left.depth, right.depth, *(v.depth for _, v in rest), 0)
            return Value(Compare(left.code, ops, codes), depth + 1)
        # a < b < c with a deep c: b is kept, and c is computed only if a < b holds.
        if not self.lasts(left.code):
            left = self.spill(left)
        held = self.spill(right)
        truth = self.fresh()
        first = self.compared(left.code, node.ops[0], held.code)
        self.add(self.assign(truth, first))
        for op, (body, value) in zip(node.ops[1:], rest, strict=True):
            name = self.fresh()
            compare = self.compared(held.code, op, self.name(name))
            inner = [*body, self.assign(name, value.code), self.assign(truth, compare)]
            self.add(ast.If(self.name(truth), inner, []))
            held = Value(self.name(name), 1)
        return Value(self.name(truth), 1)

    def compared(self, left: ast.expr, op: str, right: ast.expr) -> ast.expr:
        """One comparison, through the helper that bounds it where there is one."""
        if op in COMPARED:
            return self.call(COMPARED[op], left, right)
        return Compare(left, [COMPARISONS[op]], [right])

    def BoolOp(self, node: n.BoolOp) -> Lowering:
        """``and`` and ``or``: a side is computed only if those before it leave it open."""
        (first,) = yield from self.sequence(node.values[:1])
        rest = yield from self.asides(node.values[1:])
        if not any(body or value.depth > DEEP for body, value in rest):
            op = ast.And() if node.op == "and" else ast.Or()
            codes = [first.code, *(value.code for _, value in rest)]
            depth = max(first.depth, *(v.depth for _, v in rest))
            return Value(ast.BoolOp(op, codes), depth + 1)
        held = self.fresh()
        self.add(self.assign(held, first.code))
        for body, value in rest:
            test: ast.expr = self.name(held)
            if node.op == "or":
                test = ast.UnaryOp(ast.Not(), test)
            self.add(ast.If(test, [*body, self.assign(held, value.code)], []))
        return Value(self.name(held), 1)

    def Conditional(self, node: n.Conditional) -> Lowering:
        """``a if test else b``: an IfExp where both sides are simple, else an if statement."""
        (test,) = yield from self.sequence((node.test,))
        yes_body, yes = yield from self.aside(node.body)
        no_body, no = yield from self.aside(node.orelse)
        depth = max(test.depth, yes.depth, no.depth) + 1
        inexact = yes.inexact and no.inexact
        if not yes_body and not no_body and depth <= DEEP:
            return Value(IfExp(test.code, yes.code, no.code), depth, inexact)
        held = self.fresh()
        yes_body.append(self.assign(held, yes.code))
        no_body.append(self.assign(held, no.code))
        self.add(ast.If(test.code, yes_body, no_body))
        return Value(self.name(held), 1, inexact)

    def Subscript(self, node: n.Subscript) -> Lowering:
        """An item: inline for an index that is surely a number, else by ``h_item`` or ``h_cut``."""
        value, index = yield from self.sequence((node.value, node.index))
        if isinstance(index.code, ast.Slice):
            cut = self.cut(index.code)
            code: ast.expr = self.call("h_cut", value.code, cut)
        elif index.bits or plain_index(index.code):
            code = ast.Subscript(value.code, index.code, LOAD)
        else:
            code = self.call("h_item", value.code, self.index(index.code))
        return Value(code, max(value.depth, index.depth) + 1)

    def index(self, code: ast.expr) -> ast.expr:
        """An index as a value: the slices in it too."""
        if isinstance(code, ast.Slice):
            return self.cut(code)
        if isinstance(code, ast.Tuple):
            parts = [self.cut(e) if isinstance(e, ast.Slice) else e for e in code.elts]
            return ast.Tuple(parts, LOAD)
        return code

    def cut(self, made: ast.Slice) -> ast.expr:
        """A slice as a value: ``slice(lower, upper, step)``."""
        bounds = [p or Constant(None) for p in (made.lower, made.upper, made.step)]
        return self.call("h_slice", *bounds)

    def Slice(self, node: n.Slice) -> Lowering:
        """The bounds of a slice; one that is left out stays left out."""
        present = [p for p in (node.lower, node.upper, node.step) if p is not None]
        lowered = iter((yield from self.sequence(present)))
        parts = [
            None if p is None else next(lowered).code for p in (node.lower, node.upper, node.step)
        ]
        # Never deeper than it is: a slice cannot be kept in a temporary.
        return Value(ast.Slice(*parts), 1)

    def Tuple(self, node: n.Tuple | n.List) -> Lowering:
        """A tuple or a list, its items in the order written."""
        codes, depth = yield from self.items(node.items)
        return Value(getattr(ast, type(node).__name__)(codes, LOAD), depth)

    List = Tuple

    def Data(self, node: n.Data) -> Lowering:
        """A long list of numbers: a copy of it at each run."""
        return Value(self.call(self.constant("k_", ("data", node.values))), 1)
        yield

    def Set(self, node: n.Set) -> Lowering:
        """A set, its items in the order written."""
        codes, depth = yield from self.items(node.items)
        return Value(self.call("h_set", ast.List(codes, LOAD)), depth + 1)

    def items(self, items: tuple[n.Expr, ...]) -> Lowering:
        """The codes of several items, those of ``*values`` among them, and how deep they are."""
        plain = [one.value if isinstance(one, n.Starred) else one for one in items]
        values = yield from self.sequence(plain)
        codes = [
            self.spread(value.code, item) if isinstance(item, n.Starred) else value.code
            for item, value in zip(items, values, strict=True)
        ]
        return codes, max([0, *(v.depth for v in values)]) + 1

    def spread(self, code: ast.expr, node: n.Node) -> ast.expr:
        """``*values``: a list of them, its length checked."""
        return ast.Starred(self.call("h_spread", code, at=node), LOAD)

    def Dict(self, node: n.Dict) -> Lowering:
        """A dictionary, its keys checked; ``**more`` among its items."""
        parts: list[n.Expr] = []
        for item in node.items:
            parts += [item.value] if item.key is None else [item.key, item.value]
        values = iter((yield from self.sequence(parts)))
        keys: list[ast.expr | None] = []
        codes: list[ast.expr] = []
        depth = 0
        for item in node.items:
            if item.key is None:
                value = next(values)
                keys.append(None)
                codes.append(self.call("h_mapping", value.code, at=item))
            else:
                key, value = next(values), next(values)
                depth = max(depth, key.depth)
                plain = isinstance(key.code, ast.Constant)
                keys.append(key.code if plain else self.call("h_key", key.code, at=item))
                codes.append(value.code)
            depth = max(depth, value.depth)
        return Value(ast.Dict(keys, codes), depth + 2)

    def FString(self, node: n.FString) -> Lowering:
        """Texts and formatted values, joined by a helper that bounds the length."""
        fields = [p for p in node.parts if isinstance(p, n.FormatPart)]
        values = iter((yield from self.sequence([p.value for p in fields])))
        pieces: list[ast.expr] = []
        for part in node.parts:
            if isinstance(part, n.String):
                pieces.append(Constant(part.value))
                continue
            if part.text is not None:
                pieces.append(Constant(part.text))
            conversion = part.conversion
            if part.text is not None and not part.spec and not conversion:
                conversion = "r"
            how = [Constant(one) for one in (part.spec, conversion)]
            pieces.append(self.call("h_field", next(values).code, *how, at=part))
        return Value(self.call("h_concat", *pieces), 3)

    # -- attributes and calls -------------------------------------------------------------------

    def Attribute(self, node: n.Attribute) -> Lowering:
        """A name of an imported module, or what the fixed tables have for the value."""
        found = self.from_module(node)
        if found is not None:
            return found
        inner: n.Node = node.value
        if isinstance(inner, n.Attribute) and inner.name == "__class__":
            inner = inner.value  # x.__class__.__name__ is type(x).__name__
        (value,) = yield from self.sequence((inner,))
        if inner is not node.value:
            value = Value(self.call("h_kind", value.code), value.depth + 1)
        code = self.call("h_attribute", value.code, Constant(node.name))
        return Value(code, value.depth + 1)

    def from_module(self, node: n.Attribute) -> Value | None:
        """``torch.sin``, ``np.linalg.norm``: a name of an imported module, or None."""
        found = self.checked.in_module(node)
        if found is None or found[0].id in self.inputs:
            return None
        prefix, dotted = found[0].id, found[1]
        module = self.checked.modules[prefix]
        table = names.namespace(module) or {}
        if dotted in table:
            value = table[dotted]
            if isinstance(value, float):
                return Value(Constant(value), 1, True)
            return Value(Name(self.constant("k_", value), LOAD), 1)
        # Needed after an error only.
        from gradcli.language.diagnostics.unknown_names import not_in_module

        raise not_in_module(self.checked.source, node, prefix, module, dotted)

    def Call(self, node: n.Call) -> Lowering:
        """A call: the receiver or function first, then the arguments in the order written."""
        func = node.func
        given = (
            *(one.value if isinstance(one, n.Starred) else one for one in node.args),
            *(k.value for k in node.keywords),
        )
        counted = not node.keywords and not any(isinstance(one, n.Starred) for one in node.args)
        if isinstance(func, n.Attribute) and (found := self.from_module(func)) is None:
            values = yield from self.sequence((func.value, *given))
            name = f"m_{func.name}_{len(node.args)}" if counted else f"m_{func.name}_n"
            if name not in self.constants:
                self.constants[name] = ("method", func.name, len(node.args) if counted else None)
            called = self.finish_call(node, Name(name, LOAD), values, False, 1)
            if len(values) == 1 and isinstance(values[0].code, ast.Name):
                called.code = self.of_a_tensor(func.name, values[0].code, called.code)
            return called
        if isinstance(func, n.Attribute) and found is not None:
            values = yield from self.sequence(given)
            return self.finish_call(node, found.code, values, False)
        if isinstance(func, n.Name) and func.id == "super" and not given:
            return self.parent(node, func)
        values = yield from self.sequence((func, *given))
        target = values[0].code
        own = not (isinstance(target, ast.Name) and target.id.startswith(("g_", "k_")))
        return self.finish_call(node, target, values[1:], own)

    def parent(self, node: n.Call, func: n.Name) -> Value:
        """``super()`` in a method. Raises SyntaxFault (E0162) outside one."""
        if not self.classes or not self.classes[-1][1] or id(func) in self.checked.variables:
            said = "`super()` stands outside a method"
            mend = "it belongs in a method: def __init__(self): super().__init__()"
            raise SyntaxFault("E0162", said, self.checked.source, node.start, node.end, help=mend)
        kind, own = self.classes[-1]
        instance = Name(own, LOAD)
        return Value(self.call("h_super", Name(kind, LOAD), instance), 2)

    def finish_call(
        self, node: n.Call, target: ast.expr, values: list[Value], own: bool, before: int = 0
    ) -> Value:
        """The call itself, of arguments already lowered: those with a keyword last.

        ``own`` says that the program itself may have defined what is called; the first ``before``
        values are no arguments of the text.
        """
        plain = len(values) - len(node.keywords)
        args = [v.code for v in values[:plain]]
        for i, one in enumerate(node.args):
            if isinstance(one, n.Starred):
                args[i + before] = self.spread(args[i + before], one)
        keywords = []
        for k, v in zip(node.keywords, values[plain:], strict=True):
            if k.name is not None:
                keywords.append(ast.keyword(f"v_{k.name}" if own else k.name, v.code))
            else:
                helper = "h_own_named" if own else "h_named"
                more = self.call(helper, v.code, at=k)
                keywords.append(ast.keyword(None, more))
        if own and keywords:
            # A function of the program: its parameters carry generated names.
            target = self.call("h_keywords", target)
        if len(keywords) > MOST_KEYWORDS:
            runs = itertools.groupby(keywords, lambda one: one.arg is not None)
            keywords = [one for named, run in runs for one in (_merged(run) if named else run)]
        if not own and not keywords and isinstance(target, ast.Name):
            starred = any(isinstance(arg, ast.Starred) for arg in args)
            if len(args) in (1, 2) and not starred:
                target = self.by_count(target, len(args))
        depth = max([0, *(v.depth for v in values)]) + 1
        return Value(Call(target, args, keywords), depth)

    def of_a_tensor(self, method: str, receiver: ast.Name, called: ast.expr) -> ast.expr:
        """``receiver.method()`` at once where it is a tensor: no call stands in between."""
        other = settings.BY_NUMPY if self.checked.uses_numpy else settings.OF_ARRAYS
        if method not in attributes.CALL[Tensor] or method in other | settings.OF_ARRAYS:
            return called
        name = f"t_{method}"
        self.constants[name] = ("tensor method", method)
        return IfExp(self.is_tensor(receiver), self.call(name, receiver), called)

    def by_count(self, target: ast.Name, count: int) -> ast.Name:
        """A function of the tables for calls with so many arguments: the shortest way to it."""
        if target.id.startswith("m_"):
            return target
        name = f"{target.id}_{count}"
        self.constants[name] = ("function", self.constants[target.id], count)
        return Name(name, LOAD)

    def Lambda(self, node: n.Lambda) -> Lowering:
        """An expression where it needs no statements and is not too deep, else a function."""
        defaults = yield from self.sequence(
            [p.default for p in node.params if p.default is not None]
        )
        self.classes.append(("", ""))
        generator, self.generator = self.generator, False
        body, value = yield from self.aside(node.body)
        self.classes.pop()
        args = parameters(node.params, [d.code for d in defaults])
        body = [*self.named_rest(node.params), *body]
        if not body and value.depth <= DEEP:
            last = self.call("h_up", Constant(True))
            steps = [self.call("h_tick"), self.deeper(), value.code, last]
            code = ast.Subscript(ast.Tuple(steps, LOAD), Constant(2), LOAD)
            self.generator = generator
            return Value(ast.Lambda(args, code), 2)
        name = self.fresh()
        self.add(self.function(name, args, [*body, *self.leave(value.code)]))
        self.generator = generator
        return Value(self.name(name), 1)

    def named_rest(self, params: tuple[n.Param, ...]) -> list[ast.stmt]:
        """``**options`` under the names of the text: they come under those of generated code."""
        rest = [p for p in params if p.kind == "**"]
        return [
            self.assign(f"v_{p.name}", self.call("h_rest", self.name(f"v_{p.name}"))) for p in rest
        ]

    def deeper(self) -> ast.expr:
        """A function is entered: one of the tokens that say how deep calls may nest is taken."""
        return ast.BoolOp(ast.Or(), [self.call("h_down"), self.call("h_deep")])

    def leave(self, value: ast.expr | None) -> list[ast.stmt]:
        """Return from a function: the token is given back once the value is there."""
        if self.generator:
            return [ast.Return(value)]
        give_back = ast.Expr(self.call("h_up", Constant(True)))
        if value is None or isinstance(value, ast.Constant):
            return [give_back, ast.Return(value)]
        name = self.fresh()
        return [self.assign(name, value), give_back, ast.Return(self.name(name))]

    # -- lists with for -------------------------------------------------------------------------

    def ListComp(self, node: n.Comprehension) -> Lowering:
        """A comprehension, a loop in place or a loop in a function (see the top of the file)."""
        lazy = isinstance(node, n.GeneratorExp)
        (first,) = yield from self.sequence((node.clauses[0].iter,))
        if lazy:  # what it walks over says how deep it stands in others
            first = self.spill(first)
        parts = []
        simple = True
        for i, clause in enumerate(node.clauses):
            body, value = ([], first) if i == 0 else (yield from self.aside(clause.iter))
            conditions = yield from self.asides(clause.conditions)
            simple = simple and not body and value.depth <= DEEP
            simple = simple and not any(b or v.depth > DEEP for b, v in conditions)
            parts.append((clause, body, value, conditions))
        element_body, element = yield from self.aside(_element(node))
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
            if lazy:
                code: ast.expr = ast.GeneratorExp(element.code, generators)
                code = self.call("h_generator", code, first.code)
            else:
                code = ast.ListComp(element.code, generators)
            return Value(code, element.depth + 2)
        stores: list[tuple[ast.expr, list[ast.stmt]]] = []
        for clause in node.clauses:
            stores.append((yield from self.loop_target(clause.target)))
        name = self.fresh()
        if lazy:
            # The first items are asked for now, as Python does, and the others one by one.
            give = ast.Expr(ast.Yield(element.code))
            items = self.call("h_steps", self.name("items"))
            body = self.loops(items, parts, stores, [*element_body, give])
            self.add(self.function(name, arguments(["items"]), body, deep=False))
            made = self.call(name, self.call("h_iterate", first.code))
            return Value(self.call("h_generator", made, first.code), first.depth + 2)
        made_list = name if in_place else "made"
        append = self.call("h_put", self.name(made_list), element.code)
        inner = [*element_body, ast.Expr(append)]
        start = self.assign(made_list, ast.List([], LOAD))
        if in_place:
            self.add(start, *self.loops(self.walked(first.code), parts, stores, inner))
            return Value(self.name(name), 1)
        body = [start, *self.loops(self.walked(self.name("items")), parts, stores, inner)]
        generator, self.generator = self.generator, False
        leave = self.leave(self.name("made"))
        self.generator = generator
        self.add(self.function(name, arguments(["items"]), [*body, *leave]))
        return Value(self.call(name, first.code), first.depth + 1)

    GeneratorExp = ListComp

    def SetComp(self, node: n.SetComp) -> Lowering:
        """The set of a list."""
        made = yield from self.ListComp(node)
        return Value(self.call("h_set", made.code), made.depth + 1)

    def DictComp(self, node: n.DictComp) -> Lowering:
        """The dictionary of a list of pairs."""
        made = yield from self.ListComp(node)
        return Value(self.call("h_dict", made.code), made.depth + 1)

    def loops(
        self, items: ast.expr, parts: list, stores: list, inner: list[ast.stmt]
    ) -> list[ast.stmt]:
        """A comprehension as loops with ``inner`` in their midst, the first one over ``items``."""
        for i, (_, before, value, conditions) in reversed(list(enumerate(parts))):
            for condition_body, condition in reversed(conditions):
                inner = [*condition_body, ast.If(condition.code, inner, [])]
            target, stored = stores[i]
            walked = items if i == 0 else self.walked(value.code)
            inner = [*before, ast.For(target, walked, [*stored, *inner], [])]
        return inner

    # -- statements, which add to out -----------------------------------------------------------

    def block(self, body: tuple[n.Statement, ...]) -> Lowering:
        """The statements of a block; ``pass`` where there would be none."""
        outer, self.out = self.out, []
        for statement in body:
            yield statement
            if self.trace and isinstance(statement, _TRACED):
                self.traced(statement)
        made, self.out = self.out, outer
        if not made:
            made.append(ast.Pass())
        return made

    def traced(self, node: n.Statement, value: ast.expr | None = None) -> None:
        """A call that shows a statement and what it left, where a trace was asked for."""
        shown: list[ast.expr] = [Constant(node.start)]
        if value is not None:
            word = "returns" if isinstance(node, n.Return) else ""
            shown += [Constant(word), value]
        elif isinstance(node, n.ExprStmt) and self.nesting == 0:
            shown += [Constant(""), self.name("result")]
        for target in _targets(node):
            shown += [Constant(target.id), self.name(f"v_{target.id}")]
        self.run_call("h_trace", *shown, at=node)

    def announced(self, node: n.Statement) -> list[ast.stmt]:
        """What shows a statement as it begins, where a trace was asked for."""
        if not self.trace:
            return []
        outer, self.out = self.out, []
        self.traced(node)
        made, self.out = self.out, outer
        return made

    def function(
        self, name: str, args: ast.arguments, body: list[ast.stmt], deep: bool = True
    ) -> ast.FunctionDef:
        """A function that takes a step and, but for a generator, a token of depth when it is
        entered."""
        head = [self.call("h_tick"), *([self.deeper()] if deep else [])]
        return _definition(name, args, [*(ast.Expr(call) for call in head), *body])

    def walked(self, code: ast.expr) -> ast.expr:
        """What a loop runs over: a checked iterator that takes a step at each turn."""
        return self.call("h_steps", self.call("h_iterate", code))

    def target(self, node: n.Node) -> ast.expr:
        """A target made of names only."""
        if isinstance(node, n.Name):
            return Name(self.variable(node), STORE)
        # A target nests as deep as its brackets; lists of names are flat in practice.
        shell = ast.Tuple([], STORE)
        work: list[tuple[Any, ast.Tuple]] = [(node, shell)]
        while work:
            source, made = work.pop()
            for item in source.items:
                if isinstance(item, n.Name):
                    made.elts.append(Name(self.variable(item), STORE))
                else:
                    inner = ast.Tuple([], STORE)
                    made.elts.append(inner)
                    work.append((item, inner))
        return shell

    def store(self, target: Any, value: Value) -> Lowering:
        """Assign a value that is a name or a constant to any kind of target."""
        work: list[tuple[Any, Value]] = [(target, value)]
        while work:
            target, value = work.pop()
            if only_names(target):
                self.add(Assign([self.target(target)], value.code), at=target)
            elif isinstance(target, n.Subscript):
                held, index = yield from self.sequence((target.value, target.index))
                plain = value.inexact or value.bits or isinstance(value.code, ast.Constant)
                if plain and (index.bits or plain_index(index.code)):
                    place = ast.Subscript(held.code, index.code, STORE)
                    self.add(Assign([place], value.code), at=target)
                else:
                    at = self.index(index.code)
                    self.run_call("h_set_item", held.code, at, value.code, at=target)
            elif isinstance(target, n.Attribute):
                (held,) = yield from self.sequence((target.value,))
                name = Constant(target.name)
                self.run_call("h_set_attribute", held.code, name, value.code, at=target)
            else:
                parts = [self.fresh() for _ in target.items]
                stores: list[ast.expr] = [Name(p, STORE) for p in parts]
                items = list(target.items)
                code = value.code
                for i, item in enumerate(items):
                    if isinstance(item, n.Starred):
                        items[i] = item.value
                        stores[i] = ast.Starred(stores[i], STORE)
                        code = self.call("h_spread", code)
                self.add(Assign([ast.Tuple(stores, STORE)], code), at=target)
                work += reversed(
                    [(i, Value(self.name(p), 1)) for i, p in zip(items, parts, strict=True)]
                )

    def loop_target(self, node: n.Node) -> Lowering:
        """What a loop assigns to, and the statements that take a target but of names apart."""
        if only_names(node):
            return self.target(node), []
        name = self.fresh()
        outer, self.out = self.out, []
        yield from self.store(node, Value(self.name(name), 1))
        stores, self.out = self.out, outer
        return Name(name, STORE), stores

    def Assign(self, node: n.Assign) -> Lowering:
        """One name at once, other targets from a temporary; names to keep retain their gradient."""
        (value,) = yield from self.sequence((node.value,))
        if len(node.targets) == 1 and only_names(node.targets[0]):
            target = node.targets[0]
            if isinstance(target, n.Name) and (self.keep is None or target.id in self.keep):
                value = Value(self.call("h_keep", value.code), value.depth + 1)
            self.add(Assign([self.target(target)], value.code))
            return
        held = self.spill(value)
        for target in node.targets:
            yield from self.store(target, held)

    def AugAssign(self, node: n.AugAssign) -> Lowering:
        """``a += b``, where the parts of an item or an attribute are computed once."""
        op = node.op.rstrip("=")
        target = node.target
        if isinstance(target, n.Name):
            mark = len(self.out)
            (value,) = yield from self.sequence((node.value,))
            now: ast.expr = Name(f"v_{target.id}", LOAD)
            place = Name(f"v_{target.id}", STORE)
            early = len(self.out) > mark and not self.lasts(now)
            if early:
                now = self.spill(Value(now, 1), mark).code
            if early or op in GUARDED:
                self.add(Assign([place], self.call(IN_PLACE[op], now, value.code)))
            else:
                self.add(ast.AugAssign(place, OPERATORS[op], value.code))
            return
        assert isinstance(target, n.Subscript | n.Attribute)  # the grammar takes no other
        parts = (target.value, target.index) if isinstance(target, n.Subscript) else (target.value,)
        held, *indices = yield from self.sequence(parts)
        held = self.spill(held)
        if isinstance(target, n.Subscript):
            (index,) = indices
            index = self.spill(Value(self.index(index.code), 2, bits=index.bits))
            part: ast.expr = index.code
            get, put = "h_item", "h_set_item"
        else:
            part = Constant(target.name)
            get, put = "h_attribute", "h_set_attribute"
        old: ast.expr = self.call(get, held.code, part)
        if isinstance(target, n.Subscript) and index.bits:
            old = ast.Subscript(held.code, part, LOAD)
        current = self.spill(Value(old, 2))
        (value,) = yield from self.sequence((node.value,))
        changed = self.spill(Value(self.call(IN_PLACE[op], current.code, value.code), 2))
        self.run_call(put, held.code, part, changed.code)

    def ExprStmt(self, node: n.ExprStmt) -> Lowering:
        """An expression; outside functions its value becomes the result of the program."""
        (value,) = yield from self.sequence((node.value,))
        code, of = value.code, node.value.func if isinstance(node.value, n.Call) else None
        last = node is self.checked.module.body[-1]  # whose result is the program's
        if isinstance(of, n.Attribute) and of.name in settings.WRITING and not last:
            code = self.call("h_unused", code)
        self.add(ast.Expr(code) if self.nesting else Assign([Name("result", STORE)], code))

    def Def(self, node: n.Def) -> Lowering:
        """A function of the program, ``v_`` and its name in generated code."""
        decorators = yield from self.decorators(node)
        yield from self.defined(node, f"v_{node.name}")
        self.decorate(f"v_{node.name}", decorators, node)

    def decorators(self, node: n.Def | n.ClassDef) -> Lowering:
        """The decorators that are computed before what stands under them, outermost first."""
        applied = [one for one in node.decorators if not _marks_method(one)]
        values = yield from self.sequence(applied)
        return [(self.spill(value), one) for value, one in zip(values, applied, strict=True)]

    def decorate(self, name: str, decorators: list, node: n.Node) -> None:
        """``name = decorator(name)`` for each, the innermost first."""
        for value, decorator in reversed(decorators):
            call = self.call("h_decorate", value.code, self.name(name), at=decorator)
            self.add(self.assign(name, call))

    def defined(self, node: n.Def, name: str, method: tuple[str, str] = ("", "")) -> Lowering:
        """A function of the program under a name of the generated code.

        ``method``: what holds its class, and its first parameter, in generated code.
        """
        defaults = yield from self.sequence(
            [p.default for p in node.params if p.default is not None]
        )
        outer, self.generator = (
            self.generator,
            any(isinstance(one, n.Yield) for one in n.statements(node.body)),
        )
        self.nesting += 1
        self.classes.append(method)
        body = yield node.body
        self.classes.pop()
        self.nesting -= 1
        args = parameters(node.params, [d.code for d in defaults])
        if not isinstance(body[-1], ast.Return):
            body += self.leave(None)
        head: list[ast.stmt] = self.named_rest(node.params)
        shared = [one for one in n.statements(node.body) if isinstance(one, n.Outer)]
        if shared:
            called = sorted({f"v_{one}" for outer_names in shared for one in outer_names.names})
            head.insert(0, ast.Nonlocal(called))
        self.add(self.function(name, args, [*head, *body], deep=not self.generator), at=node)
        self.generator = outer

    def FunctionClass(self, node: n.FunctionClass) -> Lowering:
        """Never a class: a record of functions."""
        parts: list[ast.expr] = []
        for method in node.methods:
            name = f"{self.fresh()}_{method.name}"
            yield from self.defined(method, name)
            code: ast.expr = self.name(name)
            if method.decorators:  # once_differentiable is the only one that it may have
                code = self.call("h_once", code)
            parts.append(code)
        called = [node.name, *(method.name for method in node.methods)]
        if node.rule is not None:
            called.append("generate_vmap_rule")
            parts.append(Constant(node.rule))
        words: list[ast.expr] = [Constant(word) for word in called]
        made = self.call("h_record", ast.Tuple(words, LOAD), *parts)
        self.add(self.assign(f"v_{node.name}", made))

    def ClassDef(self, node: n.ClassDef) -> Lowering:
        """Never a Python class: a record of functions and values (see ``names.records``).

        Its methods know it by a name of generated code, as Python's know ``__class__``.
        """
        decorators = yield from self.decorators(node)
        bases = yield from self.sequence(node.bases)
        base = self.spill(bases[0]).code if bases else Constant(None)
        kind = self.fresh()
        prefix = self.checked.prefixes[id(node)]
        held: dict[str, ast.expr] = {}
        for item in node.body:
            if isinstance(item, n.Def):
                name = f"{self.fresh()}_{item.name.strip('_')}"
                own = item.params[0] if item.params else None
                first = f"v_{own.name}" if own is not None and own.kind in ("", "/") else ""
                applied = yield from self.decorators(item)
                yield from self.defined(item, name, (kind, first))
                self.decorate(name, applied, item)
                code: ast.expr = self.name(name)
                marks: list[Any] = [d for d in item.decorators if _marks_method(d)]
                for mark in reversed(marks):
                    word = mark.name if isinstance(mark, n.Attribute) else mark.id
                    before = [held[item.name]] if word == "setter" and item.name in held else []
                    code = self.call("h_marked", Constant(word), code, *before, at=item)
                self.add(self.assign(f"{prefix}{item.name}", code))
                held[item.name] = self.name(f"{prefix}{item.name}")
            elif isinstance(item, n.Assign | n.Annotation) and item.value is not None:
                yield item
                targets: Any = item.targets if isinstance(item, n.Assign) else (item.target,)
                for target in targets:
                    held[target.id] = self.name(f"{prefix}{target.id}")
        words: list[ast.expr] = [Constant(word) for word in (node.name, *held)]
        made = self.call("h_class", ast.Tuple(words, LOAD), base, *held.values())
        self.add(self.assign(kind, made))
        self.add(self.assign(f"v_{node.name}", self.name(kind)))
        self.decorate(f"v_{node.name}", decorators, node)

    def Annotation(self, node: n.Annotation) -> Lowering:
        """An assignment, where there is a value."""
        if node.value is not None:
            yield n.Assign((node.target,), node.value, node.start, node.end)

    def Yield(self, node: n.Yield) -> Lowering:
        """``yield``; of many values one after the other."""
        if node.value is None:
            code: ast.expr = Constant(None)
        else:
            (value,) = yield from self.sequence((node.value,))
            code = value.code
        if not node.many:
            self.add(ast.Expr(ast.Yield(code)))
            return
        name = self.fresh()
        give = ast.Expr(ast.Yield(self.name(name)))
        target = Name(name, STORE)
        self.add(ast.For(target, self.walked(code), [give], []))

    def Raise(self, node: n.Raise) -> Lowering:
        """``raise``: of nothing, what the handler around it caught."""
        parts = [part for part in (node.value, node.cause) if part is not None]
        values = yield from self.sequence(parts)
        self.out += self.announced(node)
        helper = "h_raise" if values else "h_raise_again"
        self.run_call(helper, *(v.code for v in values[:1]))

    def Try(self, node: n.Try) -> Lowering:
        """``try``, which catches errors and never a limit or an interrupt.

        Which handler takes an error is asked of ``h_catches`` when there is one; it says none for
        what a program cannot catch. The tokens of the calls that the error left are given back.
        For a limit and an interrupt the last block does not run either.
        """
        depth = self.fresh()
        self.add(self.assign(depth, self.call("h_depth")))
        body = yield node.body
        handlers = []
        for handler in node.handlers:
            kind: list[ast.expr] = []
            if handler.kind is not None:
                before, value = yield from self.aside(handler.kind)
                if before:
                    raise SyntaxFault(
                        "E0604", "what `except` catches is too long", self.checked.source,
                        handler.start, handler.start + 6, help="write except ValueError:",
                    )  # fmt: skip
                kind = [value.code]
            caught = self.call("h_catches", self.name(depth), *kind)
            held = self.fresh()
            inner: list[ast.stmt] = []
            if handler.name is not None:
                error = self.call("h_error", self.name(held))
                inner.append(Assign([self.target(handler.name)], error))
            inner += yield handler.body
            if handler.name is not None and not isinstance(
                inner[-1], ast.Return | ast.Break | ast.Continue
            ):
                name = self.variable(handler.name)
                forgotten = ast.Delete([Name(name, ast.Del())])
                inner += [self.assign(name, Constant(None)), forgotten]
            line = self.line_of(handler)
            handlers.append(ast.ExceptHandler(caught, held, inner, lineno=line))
        orelse = (yield node.orelse) if node.orelse else []
        final: list[ast.stmt] = []
        if node.final:
            inside = yield node.final
            final = [ast.If(self.call("h_finishes"), inside, [])]
        self.add(ast.Try(body, handlers, orelse, final))

    def Del(self, node: n.Del) -> Lowering:
        """``del`` of names, items and attributes."""
        targets: Any = node.targets
        for target in targets:
            if isinstance(target, n.Name):
                self.add(ast.Delete([Name(self.variable(target), ast.Del())]), at=target)
            elif isinstance(target, n.Subscript):
                held, index = yield from self.sequence((target.value, target.index))
                self.run_call("h_del_item", held.code, self.index(index.code), at=target)
            else:
                (held,) = yield from self.sequence((target.value,))
                name = Constant(target.name)
                self.run_call("h_del_attribute", held.code, name, at=target)

    def Return(self, node: n.Return) -> Lowering:
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
        self.add(*self.leave(value))

    def If(self, node: n.If) -> Lowering:
        """An if statement; an elif is one in the block of its else."""
        (test,) = yield from self.sequence((node.test,))
        if self.trace:
            test = self.spill(test)
            self.traced(node, test.code)
        body = yield node.body
        orelse = (yield node.orelse) if node.orelse else []
        self.add(ast.If(test.code, body, orelse), at=node.test)

    def While(self, node: n.While) -> Lowering:
        """A loop that takes a step before each test."""
        before, test = yield from self.aside(node.test)
        body = yield node.body
        orelse = (yield node.orelse) if node.orelse else []
        step = self.call("h_tick", at=node)
        if self.trace:
            outer, self.out = self.out, before
            test = self.spill(test)
            self.traced(node, test.code)
            self.out = outer
        elif not before and test.depth <= DEEP:
            code = ast.BoolOp(ast.And(), [step, test.code])
            self.add(ast.While(code, body, orelse), at=node.test)
            return
        ended = self.fresh()
        last: list[ast.stmt] = [ast.Break()]
        if orelse:  # runs where the test ended the loop, and not a break
            self.add(self.assign(ended, Constant(False)))
            last.insert(0, self.assign(ended, Constant(True)))
        stop = ast.If(ast.UnaryOp(ast.Not(), test.code), last, [])
        self.add(ast.While(step, [*before, stop, *body], []), at=node.test)
        if orelse:
            self.add(ast.If(self.name(ended), orelse, []))

    def For(self, node: n.For) -> Lowering:
        """A loop over what ``walked`` gives; targets but names go through a temporary."""
        (items,) = yield from self.sequence((node.iter,))
        walked = self.walked(items.code)
        target, stores = yield from self.loop_target(node.target)
        stores += self.announced(node)
        body = yield node.body
        orelse = (yield node.orelse) if node.orelse else []
        self.add(ast.For(target, walked, [*stores, *body], orelse), at=node.iter)

    def Break(self, node: n.Statement) -> Lowering:
        """``break``, ``continue`` or ``pass``; a trace shows it as it begins."""
        self.out += self.announced(node)
        self.add(getattr(ast, type(node).__name__)())
        return
        yield

    Continue = Pass = Break

    def Import(self, _node: n.Statement) -> Lowering:
        """Nothing runs: the check before has found what the names stand for."""
        return
        yield

    FromImport = Outer = Import

    def Assert(self, node: n.Assert) -> Lowering:
        """A test; the message is computed only where it fails."""
        (test,) = yield from self.sequence((node.test,))
        body: list[ast.stmt] = []
        message: list[ast.expr] = []
        if node.message is not None:
            body, value = yield from self.aside(node.message)
            message = [value.code]
        body.append(ast.Expr(self.call("h_fail", *message)))
        self.add(ast.If(ast.UnaryOp(ast.Not(), test.code), body, []))

    def With(self, node: n.With) -> Lowering:
        """Contexts, checked when entered. Raises SyntaxFault (E0164) for what is surely none."""
        items = []
        for item in node.items:
            self.refuse_table(item.expr)
            (value,) = yield from self.sequence((item.expr,))
            target = None if item.target is None else self.target(item.target)
            held = self.call("h_context", value.code, at=item.expr)
            items.append(ast.withitem(context_expr=held, optional_vars=target))
        body = yield node.body
        self.add(ast.With(items, [*self.announced(node), *body]))

    def refuse_table(self, node: n.Expr) -> None:
        """What is surely no context is refused before the program runs: ``with ones(3):``."""
        name = node.func if isinstance(node, n.Call) else node
        own = id(name) in self.checked.variables or getattr(name, "id", "") in self.inputs
        if not isinstance(name, n.Name) or own or name.id in self.checked.imported:
            return
        if name.id not in SWITCHES or name is node:
            mend = f"write with {name.id}():" if name.id in SWITCHES else TAKES
            said = f"`with` cannot take {name.id}"
            raise SyntaxFault("E0164", said, self.checked.source, node.start, node.end, help=mend)

    # -- the program ----------------------------------------------------------------------------

    def program(self) -> list[ast.stmt]:
        """The body of ``main``."""
        checked = self.checked
        first: list[ast.stmt] = [
            self.assign(f"v_{name}", self.table(name))
            for name in checked.bound
            if name in names.NAMES and name not in self.inputs
        ]
        for name in sorted(checked.shared - set(checked.bound) - self.inputs):
            # A variable of the program for the functions that say `global`; it has no value yet.
            nothing = self.assign(f"v_{name}", Constant(None))
            first.append(ast.If(Constant(False), [nothing], []))
        first.append(self.assign("result", Constant(None)))
        body = self.run(checked.module.body)
        final = ast.Return(ast.Tuple([self.name("result"), self.call("h_locals")], LOAD))
        return [*first, *body, final]


_SLOTTED = frozenset((Name, Call, Constant, BinOp, Compare, IfExp, Assign))
_ALLOWED = _SLOTTED | frozenset(
    (ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.AugAssign, ast.Expr,
     ast.If, ast.While, ast.For, ast.With, ast.withitem, ast.Break, ast.Continue, ast.Pass,
     ast.Return, ast.UnaryOp, ast.BoolOp, ast.keyword, ast.Subscript, ast.Slice, ast.Tuple,
     ast.List, ast.Lambda, ast.ListComp, ast.comprehension, ast.Dict, ast.Starred,
     ast.GeneratorExp, ast.Yield, ast.Try, ast.ExceptHandler, ast.Delete, ast.Nonlocal)
)  # fmt: skip
_SIGNS = frozenset(
    (ast.Load, ast.Store, ast.Del, ast.And, ast.Or, ast.Not, ast.USub, ast.UAdd,
     *map(type, (*OPERATORS.values(), *COMPARISONS.values())))
)  # fmt: skip


def lower(
    checked: Checked, inputs: Sequence[str], keep: frozenset[str] | None = frozenset(),
    trace: bool = False, lists_in_place: bool = True, shares: bool = False,
) -> tuple[ast.Module, list[n.Node], dict[str, Any]]:  # fmt: skip
    """The code of ``main(inputs...)``, the tree node behind each line number, and its constants.

    Tensors assigned to a name in ``keep`` (None: any) keep their gradient, as by ``retain_grad``.
    With ``trace`` each statement comes with a call of ``h_trace``. ``lists_in_place``: some lists
    with ``for`` become loops, which nest 20 deep at most in CPython. ``shares``: ``main()`` stands
    in a function that has the variables, of which it takes them all.
    ``main`` returns the value of the last expression statement and all variables. Raises
    SyntaxFault for names that are not known (E0201, E0202, E0204).
    """
    checked.require(inputs)
    work = Lowerer(checked, frozenset(inputs), keep, trace, lists_in_place, shares)
    body = work.program()
    taken = [f"v_{name}" for name in inputs]
    if shares:
        taken = sorted({*taken, *(f"v_{name}" for name in (*checked.bound, *checked.shared))})
        body = [ast.Nonlocal(taken), *body] if taken else body
        body = [_definition("main", arguments([]), body)]
    main = _definition("shared" if shares else "main", arguments(taken), body)
    tree = ast.Module(body=[main], type_ignores=[])
    _placed(tree)
    return tree, work.places, work.constants


def _placed(tree: ast.Module) -> None:
    """Give code that has no line that of what it stands in. Raises AssertionError where the tree
    holds anything that lowering never writes.

    ``ast.walk`` asks every field of every node in turn, and takes as long as the lowering.
    """
    waiting: list[tuple[Any, int]] = [(tree, 1)]
    while waiting:
        item, line = waiting.pop()
        if item._attributes:
            item.lineno = line = getattr(item, "lineno", line)
            if item.__class__ not in _SLOTTED:
                item.col_offset, item.end_lineno, item.end_col_offset = 0, line, 0
        for name in item._fields:
            held: Any = getattr(item, name, None)
            for part in held if held.__class__ is list else (held,):
                kind = part.__class__
                if kind is Name or kind is Constant:
                    part.lineno = getattr(part, "lineno", line)
                elif kind in _ALLOWED:
                    waiting.append((part, line))
                elif kind not in _SIGNS and isinstance(part, ast.AST):
                    raise AssertionError(f"lowering emitted {kind.__name__}")
