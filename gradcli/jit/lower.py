"""From a checked program to a structured one: the tree is run once on values.

What does not depend on an input, lists and functions included, is computed while this runs; what
does is noted on the trace, functions of the program in line. ``if`` and loops that depend on a
value, and loops over ranges, become branches and loops. A variable that a loop changes is carried
by it, with one type for all turns.

Everything else raises NotTraceable, and the program runs eagerly: prints, random numbers, hooks,
graphs, writes to what has another name or was saved for the backward pass, recursion.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from types import GeneratorType
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import factories
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import enable_grad
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions import methods
from gradcli.jit import loops, scalars
from gradcli.jit.control import Block, Branch, Check, Loop, Scalar, Step, Structured
from gradcli.jit.emit import is_fresh
from gradcli.jit.ir import Instruction, NotTraceable, Value
from gradcli.jit.trace import Trace, no_random
from gradcli.language.compile.resolve import Checked
from gradcli.language.names import attributes, builtins, functions
from gradcli.language.names import table as names
from gradcli.language.names.argument_checks import with_checks
from gradcli.language.names.context_managers import SWITCHES
from gradcli.language.syntax import nodes as n
from gradcli.ops.indexing import is_basic
from gradcli.ops.operator import OPERATORS, Operator

MOST_STATEMENTS = 20_000
"""Statements lowered, those of functions and of both sides of a branch each time."""
DEEPEST = 18
"""Loops and branches inside each other: CPython takes 20."""
UNROLLED = 256
"""The most turns of a loop that is written out."""

Lowering = Generator[Any, Any, Any]


class PyNumber:
    """A Python number of the program that is not known before the run.

    kind   int, float, bool, or mixed where it may be an int or a float
    small  whether it is surely of a few digits: the index of a loop
    """

    __slots__ = ("kind", "small", "value")

    def __init__(self, value: Value, kind: str, small: bool = False) -> None:
        self.value = value
        value.trace.numbers.add(value)
        value.example = {"float": 1.0, "int": 1, "bool": True, "mixed": 1.0}[kind]
        self.kind = kind
        self.small = small


class Closure:
    """A function of the program."""

    __slots__ = ("body", "by_name", "by_place", "defaults", "frame", "node")

    def __init__(self, node: Any, body: Any, defaults: list[Any], frame: Frame) -> None:
        self.node = node
        self.body = body
        self.by_place = [p.name for p in node.params if p.kind != "="]
        self.by_name = frozenset(p.name for p in node.params if p.kind != "/")
        self.defaults = {p.name: d for p, d in zip(node.params, defaults, strict=True)}
        self.frame = frame


class Frame:
    """The variables of the text or of one call, by name."""

    __slots__ = ("local", "names", "parent")

    def __init__(self, parent: Frame | None, local: Sequence[str] = ()) -> None:
        self.parent = parent
        self.local = frozenset(local)
        self.names: dict[str, Any] = {}


UNSET = object()
_NUMBERS = frozenset((int, float, bool))
FLOATS = (dtypes.float64, dtypes.float32)
"""What programs are lowered in."""
_KINDS = {int: "int", float: "float", bool: "bool"}
_DTYPES = {
    "int": dtypes.int64, "float": dtypes.float64, "bool": dtypes.bool_, "mixed": dtypes.float64,
}  # fmt: skip
_FLAT = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": builtins.modulo, "**": builtins.power, "^": builtins.power,
    "@": operator.matmul,
}  # fmt: skip
_KNOWN = {**_FLAT, "+": builtins.add, "*": builtins.multiply}
"""The same on what is known, within the limits of a program."""
_COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
# Python's functions that compute and do nothing else, some of them under names of operators.
_STATEFUL = frozenset(("iter", "next", "map", "filter"))
"""Python's own functions that are not lowered: what they make changes as it is used."""
# Methods that are lowered as they are: no write, no random number, nothing that is printed.
_TENSOR_METHODS = frozenset((
    "size", "dim", "numel", "nelement", "item", "detach", "float", "double", 
    "repeat", "flatten", "max", "min", "tolist", "is_floating_point",
    "is_complex",
))  # fmt: skip
_MEMORY = frozenset(("zeros", "ones", "full", "zeros_like", "ones_like", "full_like"))
"""Functions that make memory for entries to be written to."""
_TENSOR_READ = frozenset(("shape", "ndim", "dtype", "T", "mT"))


@functools.cache
def _pure() -> frozenset[str]:
    """The names of functions that do nothing but compute."""
    made = ("tensor", "as_tensor", "ones", "zeros", "full", "eye", "arange", "linspace",
            "logspace", "ones_like", "zeros_like", "full_like")  # fmt: skip
    own = (*(builtins.TABLE.keys() - _STATEFUL), "numel", "is_tensor")
    whole = ("gcd", "lcm", "factorial", "comb", "isclose", "fabs", "degrees", "radians")
    return frozenset((*methods.public_operators(), *functions.composed(), *own, *made, *whole))


@functools.cache
def _allowed(module: str) -> dict[int, Any]:
    """The functions of a module that do nothing but compute, by id; "" for bare names."""
    table = {**names.CALLED, **names.NAMES} if not module else names.namespace(module) or {}
    return {id(f): f for name, f in table.items() if name.rpartition(".")[2] in _pure()}


@functools.cache
def _unread(kind: Any) -> tuple[str, ...]:
    """The fields that a node need not have and lowering does not read: a program that has them
    says something else than what would be lowered."""
    read = {"start", "end", "op_start", "op_end", "returns", "annotation"}
    read |= {"orelse"} if kind in (n.For, n.While) else set()
    return tuple(field for field in kind.defaults if field not in read)


class _Notes(Trace):
    """A trace in which every tensor of the program itself is a constant."""

    def capture(self, found: Any) -> Value:
        held = self.captured.get(id(found))
        if held is None:
            array = found.array if isinstance(found, Tensor) else found
            held = self.captured[id(found)] = found, self.constant(array)
        return held[1]

    def apply(
        self, op: Operator, args: Sequence[Any], params: dict, recorded: bool | None = None
    ) -> Value:
        out = super().apply(op, args, params, recorded)
        assert out.source is not None
        if all(a in self.numbers for a in out.source.inputs()):
            self.numbers.add(out)  # what a rule computes with numbers alone
        return out

    def _weak(self, operands: list) -> list:
        weak = [1.0 if a.__class__ is Value and a in self.numbers else a for a in operands]
        return weak if any(a.__class__ is Value for a in weak) else operands

    def _promoted(self, op: Operator, operands: list) -> list:
        weak = self._weak(operands)
        met = super()._promoted(op, weak)
        return [a if w is not a else m for a, w, m in zip(operands, weak, met, strict=True)]

    def _typed(self, op: Operator, operands: list, params: dict) -> tuple:
        return super()._typed(op, self._weak(operands), params)


def lower(
    checked: Checked, given: Mapping[str, Any], by: Sequence[str], of: str | None = None,
    depth: int = 500,
) -> Structured:  # fmt: skip
    """The program as a function of the variables ``by``.

    ``given`` holds the arrays or tensors of all variables; those that are not in ``by`` are
    constants. Raises NotTraceable.
    """
    work = _Lowerer(checked, depth)
    drawing = random.drawing.set(no_random)
    try:
        with enable_grad(), np.errstate(all="ignore"):
            return work.program(given, by, of)
    except NotTraceable:
        raise
    except Exception as fault:  # the engine finds the same one, with its place
        raise NotTraceable(f"{type(fault).__name__}: {fault}") from None
    finally:
        random.drawing.reset(drawing)


def _jumps(node: n.Node, loop: bool = True) -> bool:
    """Whether a statement may leave the block that it stands in."""
    stack: list[tuple[n.Node, bool]] = [(node, loop)]
    while stack:
        one, own = stack.pop()
        kind = one.__class__
        if kind is n.Return or (own and kind in (n.Break, n.Continue)):
            return True
        if kind in (n.If, n.With, n.For, n.While):
            inner = own and kind not in (n.For, n.While)
            stack += [(c, inner) for c in n.children(one) if isinstance(c, n.Statement)]
    return False


def _first(node: Any) -> n.Node:
    """The first target of an assignment."""
    return node.targets[0] if isinstance(node, n.Assign) else node.target


def _assigned(body: Sequence[n.Statement], items: bool = False) -> list[str]:
    """The names that statements may give a value to, in their own scope.

    ``items``: those too whose items are written to.
    """
    found: dict[str, None] = {}
    stack: list[Any] = list(reversed(body))
    while stack:
        node: Any = stack.pop()
        kind = node.__class__
        if kind is n.Assign:
            parts: list[n.Node] = list(node.targets)
        elif kind in (n.AugAssign, n.Annotation, n.For):
            parts = [node.target]
        else:
            parts = []
        while parts:
            part = parts.pop()
            if isinstance(part, n.Tuple | n.List):
                parts += part.items
            elif items and isinstance(part, n.Subscript):
                parts.append(part.value)
            elif isinstance(part, n.Name):
                found[part.id] = None
        if kind is n.Def:
            found[node.name] = None
        elif kind is n.ExprStmt:
            found["<result>"] = None
        elif kind is n.Return:
            found["<return>"] = found["<returned>"] = None
        elif kind in (n.If, n.While, n.For, n.With):
            stack += [c for c in reversed(n.children(node)) if isinstance(c, n.Statement)]
    return list(found)


class _Lowerer:
    """One run of the tree on values."""

    def __init__(self, checked: Checked, depth: int) -> None:
        self.checked = checked
        self.trace = _Notes()
        self.frame = Frame(None)
        self.depth = depth
        self.calls: list[Any] = []
        self.loops: list[bool] = []  # around the statement: whether each is a loop of the program
        self.nesting = 0
        self.statements = 0
        self.region: object = object()
        self.born: dict[int, tuple[list, object]] = {}  # lists, and where they were made
        self.fresh: set[Value] = set()  # tensors that one name has, and nothing else
        self.bound: set[Value] = set()  # tensors that have a name, or a place in a list
        self.sources: dict[Value, list[Any]] = {}  # of what joins values: those
        self.overwritten: set[Value] = set()
        self.writers: dict[Instruction, Value] = {}  # operations in place, and their targets
        self.writes = any(  # whether items are written to
            isinstance(node, n.Assign | n.AugAssign) and isinstance(_first(node), n.Subscript)
            for node in n.walk(checked.module)
        )
        modules = {*checked.modules.values(), *(["torch"] if checked.imported else [])}
        self.pure = dict(_allowed(""))
        for module in modules:
            self.pure.update(_allowed(module))

    # -- the driver ----------------------------------------------------------------------------

    def run(self, first: Lowering) -> Any:
        """Run a generator that yields nodes and generators: a stack of suspended ones."""
        stack = [first]
        value = None
        while stack:
            try:
                child = stack[-1].send(value)
            except StopIteration as done:
                stack.pop()
                value = done.value
            else:
                stack.append(child if child.__class__ is GeneratorType else self.visit(child))
                value = None
        return value

    def visit(self, node: Any) -> Lowering:
        kind = node.__class__
        method = getattr(self, kind.__name__, None)
        if method is None:
            raise NotTraceable(f"a {kind.__name__}")
        for field in _unread(kind):
            if getattr(node, field) != kind.defaults[field]:
                raise NotTraceable(f"the {field} of a {kind.__name__}")
        return method(node)

    def program(self, given: Mapping[str, Any], by: Sequence[str], of: str | None) -> Structured:
        """The whole text."""
        inputs = []
        for name, value in given.items():
            if name in by:
                array = value.array if isinstance(value, Tensor) else value
                self.frame.names[name] = self.trace.input(array)
            else:
                held = value if isinstance(value, Tensor) else factories.as_tensor(value)
                self.frame.names[name] = held.detach()
        inputs = [self.frame.names[name] for name in by]
        body = self.checked.module.body
        self.run(self.block(list(body)))
        last = body[-1] if body else None
        if of is not None:
            found = self.frame.names.get(of, UNSET)
        else:
            found = self.frame.names.get("<result>", UNSET)
            if found is UNSET or found is None:
                if not (isinstance(last, n.Assign) and isinstance(last.targets[0], n.Name)):
                    raise NotTraceable("no result")
                found = self.frame.names.get(last.targets[0].id, UNSET)
        if found is UNSET:
            raise NotTraceable("no result")
        if found.__class__ is PyNumber and found.kind in ("int", "mixed", "bool"):
            raise NotTraceable("a result that is a whole number")
        if found.__class__ is not Value and not isinstance(found, Tensor) and (
            found.__class__ is not PyNumber
        ):  # fmt: skip
            raise NotTraceable("a result that depends on nothing")
        block = Block(self.trace.tape, [self.operand(found)])
        return Structured(inputs, block, list(by))

    # -- values ----------------------------------------------------------------------------------

    def note(self, op: Scalar, args: Sequence[Any], kind: str, small: bool = False) -> PyNumber:
        """An operation of Python's on numbers."""
        out = Value(self.trace, (), _DTYPES[kind])
        return PyNumber(self.trace.note(op, args, out, recorded=False), kind, small)

    def operand(self, value: Any) -> Any:
        """What stands for a value in an instruction or among results."""
        kind = value.__class__
        if kind is Value or kind in _NUMBERS:
            return value
        if kind is PyNumber:
            return value.value
        if isinstance(value, Tensor):
            if not value.dtype.differentiable and value.dtype is not dtypes.bool_:
                raise NotTraceable("a tensor of whole numbers")
            return self.trace.constant(value.array if value.array.ndim else value.array[()])
        raise NotTraceable(f"a value of class {kind.__name__} that depends on an input")

    def tensor(self, value: Any) -> Any:
        """What a tensor is computed with: a number as a float."""
        if value.__class__ is not PyNumber:
            return value
        if value.kind in ("float", "mixed"):
            return value.value
        return self.note(scalars.AS_FLOAT, (value.value,), "float").value

    def keep(self, value: Any) -> Any:
        """A value that is about to get a second name, or a place in a list."""
        if value.__class__ is Value:
            self.fresh.discard(value)
            self.bound.add(value)
        return value

    def computed(self, value: Any) -> Any:
        """The result of an operation, new memory where the last instruction made it."""
        if value.__class__ is Value:
            ins = value.source
            if ins is not None and ins.op.__class__ is not Scalar and is_fresh(ins):
                self.fresh.add(value)
        return value

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """``a op b``."""
        kinds = (a.__class__, b.__class__)
        if Value in kinds:
            for v in (a, b):
                if not (
                    v.__class__ in (Value, PyNumber, int, float, bool) or isinstance(v, Tensor)
                ):
                    raise NotTraceable("a tensor computed with a list or a text")
            if op == "@" and PyNumber in kinds:
                raise NotTraceable("a product of a number")
            function = {"**": operator.pow, "^": operator.pow, "%": operator.mod}.get(op)
            function = function or _FLAT[op]
            return self.computed(function(self.tensor(a), self.tensor(b)))
        if PyNumber not in kinds:
            return _KNOWN[op](a, b)
        if any(isinstance(v, Tensor) for v in (a, b)):
            constant = [self.operand(v) if isinstance(v, Tensor) else v for v in (a, b)]
            return self.binary(op, *constant)
        return self.numbers(op, a, b)

    def numbers(self, op: str, a: Any, b: Any) -> PyNumber:
        """``a op b`` of Python numbers."""
        kinds = [v.kind if v.__class__ is PyNumber else _KINDS.get(v.__class__) for v in (a, b)]
        if None in kinds:
            raise NotTraceable("a number computed with something else")
        args = (self.operand(a), self.operand(b))
        kind = "float" if "float" in kinds else "mixed" if "mixed" in kinds else "int"
        if op == "/":
            return self.note(scalars.DIVIDE, args, "float")
        if op in ("**", "^"):
            whole = kind == "int" and b.__class__ is int and b >= 0
            return self.note(scalars.POWER, args, kind if kind == "float" or whole else "mixed")
        if op not in scalars.ARITHMETIC:
            raise NotTraceable(f"{op} of numbers")
        small = [v.__class__ is PyNumber and v.small for v in (a, b)]
        short = [s or (v.__class__ in (int, bool) and abs(v) < 1 << 24)
                 for s, v in zip(small, (a, b), strict=True)]  # fmt: skip
        # A sum with a small number takes more turns than there are steps to become too large.
        free = kind == "float" or op in ("//", "%") or (op in "+-" and any(short))
        made = scalars.ARITHMETIC[op] if free else scalars.BOUNDED[op]
        return self.note(made, args, kind)

    # -- expressions -----------------------------------------------------------------------------

    def Name(self, node: n.Name) -> Lowering:
        """A variable, or a name of the language."""
        frame: Frame | None = self.frame
        while frame is not None:
            if node.id in frame.names:
                return frame.names[node.id]
            if node.id in frame.local:
                raise NotTraceable(f"{node.id}, which is not set on every way")
            frame = frame.parent
        if node.id in self.checked.imported:
            return self.checked.imported[node.id]
        if node.id in self.checked.modules:
            raise NotTraceable("a module")
        if node.id in names.CONSTANTS:
            return names.CONSTANTS[node.id]
        if id(node) in self.checked.variables and node.id not in names.NAMES:
            raise NotTraceable(f"{node.id}, which is not set on every way")
        return names.function(node.id)
        yield

    def Number(self, node: n.Number) -> Lowering:
        """A number as written."""
        return node.value
        yield

    def String(self, node: n.String) -> Lowering:
        """A text as written."""
        return node.value
        yield

    def Literal(self, node: n.Literal) -> Lowering:
        """``True``, ``False``, ``None`` or ``...``."""
        return node.value
        yield

    def Binary(self, node: n.Binary) -> Lowering:
        """``a op b``."""
        a = yield node.left
        b = yield node.right
        return self.binary(node.op, a, b)

    def Unary(self, node: n.Unary) -> Lowering:
        """``-a``, ``+a`` and ``not a``."""
        a = yield node.operand
        if node.op == "not":
            if a.__class__ not in (Value, PyNumber):
                return not a
            return self.note(scalars.NOT, (self.truth(a),), "bool")
        if a.__class__ is not PyNumber:
            return self.computed(-a if node.op == "-" else +a)
        kind = "int" if a.kind == "bool" else a.kind
        made = scalars.NEGATIVE if node.op == "-" else scalars.POSITIVE
        return self.note(made, (a.value,), kind, a.small)

    def Compare(self, node: n.Compare) -> Lowering:
        """A chain of comparisons."""
        left = yield node.left
        right = yield node.rights[0]
        found = self.compared(node.ops[0], left, right)
        for op, child in zip(node.ops[1:], node.rights[1:], strict=True):
            if found.__class__ not in (Value, PyNumber):
                if not found:
                    return found
                left, right = right, (yield child)
                found = self.compared(op, left, right)
                continue
            held = right

            def then(held: Any = held, op: str = op, child: Any = child) -> Lowering:
                nonlocal right
                right = yield child
                return self.boolean(self.compared(op, held, right))

            if len(node.ops) > 2:
                raise NotTraceable("a comparison of more than three")
            found = yield self.choose(self.truth(found), then, self.known(False))
        return found

    def compared(self, op: str, a: Any, b: Any) -> Any:
        """One comparison."""
        kinds = (a.__class__, b.__class__)
        if Value not in kinds and PyNumber not in kinds:
            if op in ("is", "is not"):
                return (a is b) == (op == "is")
            if op in ("in", "not in"):
                if any(isinstance(v, list | tuple) for v in (a,)) or _dynamic(b):
                    raise NotTraceable("a search")
                return (a in b) == (op == "in")
            if _dynamic(a) or _dynamic(b):
                raise NotTraceable("lists that are compared")
            return _COMPARISONS[op](a, b)
        if op in ("is", "is not") and (a is None or b is None):
            return op == "is not"
        if op not in _COMPARISONS:
            raise NotTraceable(f"{op} of values")
        if Value in kinds or any(isinstance(v, Tensor) for v in (a, b)):
            given = [self.operand(v) if isinstance(v, Tensor) else self.tensor(v) for v in (a, b)]
            return _COMPARISONS[op](*given)
        return self.note(scalars.COMPARED[op], (self.operand(a), self.operand(b)), "bool")

    def truth(self, value: Any) -> Any:
        """What a test looks at: a value, or True or False."""
        if value.__class__ is PyNumber:
            return value.value
        if value.__class__ is Value:
            if value.shape or value.dtype not in (dtypes.bool_, *FLOATS):
                raise NotTraceable("a test of more than one number")
            return value
        if isinstance(value, list | tuple | str | range) or value is None:
            return bool(value)
        if value.__class__ in _NUMBERS or isinstance(value, Tensor):
            return bool(value)
        raise NotTraceable("a test of something that is no number")

    def boolean(self, value: Any) -> Any:
        """The truth of a value, which has to be a boolean: a side of ``and`` or ``or``."""
        if value.__class__ is PyNumber and value.kind == "bool":
            return value
        if value.__class__ is bool:
            return value
        if value.__class__ is Value and not value.shape and value.dtype is dtypes.bool_:
            return PyNumber(value, "bool")
        if isinstance(value, Tensor) and value.dtype is dtypes.bool_ and not value.array.ndim:
            return bool(value)
        raise NotTraceable("`and` or `or` of what is no boolean")

    def BoolOp(self, node: n.BoolOp) -> Lowering:
        """``and`` and ``or``: a side is computed only if those before it leave it open."""
        found = yield node.values[0]
        for child in node.values[1:]:
            if not _dynamic(found):
                if bool(found) == (node.op == "or"):
                    return found
                found = yield child
                continue

            def side(child: Any = child) -> Lowering:
                return self.boolean((yield child))

            test = self.truth(self.boolean(found))
            if node.op == "and":
                found = yield self.choose(test, side, self.known(False))
            else:
                found = yield self.choose(test, self.known(True), side)
        return found

    def known(self, value: Any) -> Callable[[], Lowering]:
        """A side of a branch that is a constant."""

        def side() -> Lowering:
            return value
            yield

        return side

    def Conditional(self, node: n.Conditional) -> Lowering:
        """``a if test else b``."""
        test = self.truth((yield node.test))
        if test.__class__ is bool:
            return (yield node.body if test else node.orelse)

        def side(child: Any) -> Callable[[], Lowering]:
            def lowered() -> Lowering:
                return (yield child)

            return lowered

        return (yield self.choose(test, side(node.body), side(node.orelse)))

    def choose(self, test: Any, then: Callable, orelse: Callable) -> Lowering:
        """The value of one of two sides; only one of them runs."""
        sides = []
        for side in (then, orelse):
            outer = self.enter()
            value = yield side()
            sides.append((value, self.leave(outer)))
        joined = _join(*(self.spec(value) for value, _ in sides))
        outs: list[Value] = []
        results: list[list[Any]] = [[], []]
        made = self.join(joined, [value for value, _ in sides], outs, results)
        blocks = [Block(tape, r) for (_, tape), r in zip(sides, results, strict=True)]
        self.trace.tape.append(Branch(test, blocks[0], blocks[1], outs))
        return made

    def enter(self) -> tuple:
        """Begin a block: what follows is noted there."""
        outer = self.trace.tape, self.region
        self.trace.tape, self.region = [], object()
        self.nesting += 1
        if self.nesting > DEEPEST:
            raise NotTraceable("loops and branches that nest that deep")
        return outer

    def leave(self, outer: tuple) -> list:
        """End a block: what was noted in it."""
        made = self.trace.tape
        self.trace.tape, self.region = outer
        self.nesting -= 1
        return made

    def Tuple(self, node: n.Tuple) -> Lowering:
        """A tuple."""
        found = []
        for item in node.items:
            found.append(self.keep((yield item)))
        return tuple(found)

    def List(self, node: n.List) -> Lowering:
        """A list."""
        found = yield from self.Tuple(node)  # type: ignore[arg-type]
        return self.made_list(list(found))

    def made_list(self, made: list) -> list:
        """A new list, which may be written to where it was made."""
        self.born[id(made)] = made, self.region
        return made

    def Subscript(self, node: n.Subscript) -> Lowering:
        """An item or a slice, at a place that is known."""
        value = yield node.value
        index = yield from self.index(node.index)
        if value.__class__ is Value or isinstance(value, Tensor):
            if _dynamic(index):
                return self.pick(value, index)
            if value.__class__ is not Value and _dynamic(index):
                raise NotTraceable("a computed index")
            return value[index]
        if _dynamic(index):
            raise NotTraceable("a computed index of a list")
        if isinstance(value, list | tuple | range | str):
            found = value[index]
            return self.made_list(found) if found.__class__ is list and (
                isinstance(index, slice)) else found  # fmt: skip
        raise NotTraceable("an item of something that is no list or tensor")

    def pick(self, value: Any, index: Any) -> Any:
        """An entry of a vector at a place that is computed in the run."""
        if isinstance(value, Tensor):
            value = self.operand(value)
        whole = index.__class__ is PyNumber and index.kind == "int"
        if not whole or len(value.shape) != 1 or value.dtype not in FLOATS:
            raise NotTraceable("a computed index, but of a vector")
        out = Value(self.trace, (), value.dtype, example=value.dtype.numpy.type(1))
        return self.trace.note(scalars.PICK, (value, index.value), out)

    def index(self, node: n.Node) -> Lowering:
        """What stands between brackets."""
        if isinstance(node, n.Slice):
            parts = []
            for part in (node.lower, node.upper, node.step):
                parts.append(None if part is None else (yield part))
            if any(_dynamic(p) for p in parts):
                raise NotTraceable("a computed slice")
            return slice(*(p.item() if isinstance(p, Tensor) else p for p in parts))
        if isinstance(node, n.Tuple):
            found = []
            for item in node.items:
                found.append((yield from self.index(item)))
            if any(_dynamic(part) for part in found):
                raise NotTraceable("a computed index, but of a vector")
            return tuple(found)
        return (yield node)

    def ListComp(self, node: n.ListComp) -> Lowering:
        """A list with ``for`` over what is known."""
        if len(node.clauses) != 1:
            raise NotTraceable("a list with two loops")
        (clause,) = node.clauses
        over = yield clause.iter
        items = self.items(over)
        outer = self.frame
        made = []
        for item in items:
            self.frame = Frame(outer)  # the targets are set before anything reads them
            yield self.store(clause.target, item)
            for condition in clause.conditions:
                test = self.truth((yield condition))
                if test.__class__ is not bool:
                    raise NotTraceable("a list whose length is computed")
                if not test:
                    break
            else:
                made.append(self.keep((yield node.element)))
        self.frame = outer
        return self.made_list(made)

    def items(self, over: Any) -> list:
        """What a loop that is written out goes over."""
        if over.__class__ is Value:
            if not over.shape or over.shape[0] > UNROLLED:
                raise NotTraceable("a loop over a long tensor")
            return [over[i] for i in range(over.shape[0])]
        if isinstance(over, range) and len(over) > UNROLLED:
            raise NotTraceable("a long list")
        if isinstance(over, list | tuple | range | str | Tensor) or hasattr(over, "items"):
            found = list(over)
            if len(found) > UNROLLED:
                raise NotTraceable("a long list")
            return found
        raise NotTraceable("a loop over something else")

    def Lambda(self, node: n.Lambda) -> Lowering:
        """A function of one expression."""
        return (yield from self.closure(node, node.body))

    def closure(self, node: Any, body: Any) -> Lowering:
        """A function with its defaults."""
        defaults = []
        if any(p.kind in ("*", "**") for p in node.params) or (
            body.__class__ is tuple and any(isinstance(part, n.Yield) for part in n.walk(node))
        ):
            raise NotTraceable("a function of any number of arguments, or a generator")
        for param in node.params:
            defaults.append(UNSET if param.default is None else self.keep((yield param.default)))
        return Closure(node, body, defaults, self.frame)

    # -- calls -----------------------------------------------------------------------------------

    def Attribute(self, node: n.Attribute) -> Lowering:
        """A name of an imported module, or an attribute."""
        found = self.from_module(node)
        if found is not UNSET:
            return found
        value = yield node.value
        if value.__class__ is Value and node.name in _TENSOR_READ:
            return attributes.attribute(value, node.name)
        if isinstance(value, Tensor) and node.name in _TENSOR_READ:
            return attributes.attribute(value, node.name)
        raise NotTraceable(f"the attribute {node.name}")

    def from_module(self, node: n.Attribute) -> Any:
        """``torch.sin``: what a module has by that name; UNSET for an attribute of a value."""
        path: list[str] = []
        inner: n.Node = node
        while isinstance(inner, n.Attribute):
            path.append(inner.name)
            inner = inner.value
        if not isinstance(inner, n.Name) or inner.id not in self.checked.modules:
            return UNSET
        if id(inner) in self.checked.variables or inner.id in self.frame.names:
            return UNSET
        table = names.namespace(self.checked.modules[inner.id]) or {}
        found = table.get(".".join(reversed(path)), UNSET)
        if found is UNSET:
            raise NotTraceable("a name that a module has not")
        return found

    def Call(self, node: n.Call) -> Lowering:
        """A call of a function of the program or of the language, or of a method."""
        func: Any = node.func
        method = isinstance(func, n.Attribute) and self.from_module(func) is UNSET
        target = (yield func.value) if method else (yield func)
        args = []
        for part in node.args:
            args.append((yield part))
        options = {}
        for keyword in node.keywords:
            if keyword.name is None or keyword.name in options:
                raise NotTraceable("a call with a table of arguments")
            options[keyword.name] = yield keyword.value
        if method:
            return self.method(target, func.name, args, options)
        if target.__class__ is Closure:
            return (yield self.inline(target, args, options))
        return self.function(target, args, options)

    def inline(self, target: Closure, args: list, options: dict) -> Lowering:
        """A function of the program, in place of its call."""
        if any(held is target.node for held in self.calls) or len(self.calls) >= min(
            self.depth - 1, 40
        ):
            raise NotTraceable("recursion")
        own = _assigned(target.body) if target.body.__class__ is tuple else ()
        frame = Frame(target.frame, [*own, *target.defaults])
        placed = dict(zip(target.by_place, args, strict=False))
        if len(args) > len(placed) or not target.by_name - placed.keys() >= options.keys():
            raise NotTraceable("a call with an argument that there is not")
        for name, value in (placed | options).items():
            frame.names[name] = self.keep(value)
        frame.names = target.defaults | frame.names
        if any(v is UNSET for v in frame.names.values()):
            raise NotTraceable("a call without an argument")
        self.trace.tape.append(Step())
        outer, self.frame = self.frame, frame
        loops, self.loops = self.loops, []
        self.calls.append(target.node)
        if target.body.__class__ is tuple:
            self.frame.names["<returned>"] = False
            yield self.block(list(target.body))
            found = self.frame.names.get("<return>")
        else:
            found = yield target.body
        self.calls.pop()
        self.frame, self.loops = outer, loops
        return self.keep(found) if found.__class__ is Value and found in self.bound else found

    def function(self, target: Any, args: list, options: dict) -> Any:
        """A function of the language."""
        given = [*args, *options.values()]
        if id(target) not in self.pure:
            raise NotTraceable(f"a call of {getattr(target, '__name__', target)}")
        if any(options.get(word) for word in ("requires_grad", "out", "generator", "inplace")):
            raise NotTraceable("a call with such an option")
        if any(v.__class__ is PyNumber for v in given):
            return self.of_numbers(target, args, options)
        if any(v.__class__ is Closure for v in given):
            raise NotTraceable("a function as an argument")
        if len(given) == 1 and args and args[0].__class__ is Value:
            made = self.number_of(target, args[0])
            if made is not None:
                return made
        found = with_checks(target)(*args, **options)
        if any(_dynamic(v) for v in given):
            return self.computed(found)
        if self.writes and isinstance(found, Tensor) and found.dtype in FLOATS and (
            getattr(target, "__name__", "") in _MEMORY and found.array.ndim
        ):  # fmt: skip
            found = self.trace.constant(found.array)
            self.fresh.add(found)
        return self.made_list(found) if found.__class__ is list else found

    def number_of(self, target: Any, value: Value) -> PyNumber | None:
        """``float(x)``, ``int(x)`` or ``bool(x)`` of a tensor; None for another function."""
        known = names.NAMES
        if target not in (known["float"], known["int"], known["bool"]):
            return None
        if value.shape or value.dtype not in FLOATS:
            raise NotTraceable("the number of such a tensor")
        if target is known["float"]:
            return self.note(scalars.FLOAT, (value,), "float")
        made = scalars.INT if target is known["int"] else scalars.BOOL
        return self.note(made, (value,), "int" if target is known["int"] else "bool")

    def of_numbers(self, target: Any, args: list, options: dict) -> Any:
        """A function of the language with numbers that are not known among its arguments."""
        known = names.NAMES
        if options:
            raise NotTraceable("a computed option")
        tensors = any(v.__class__ is Value or isinstance(v, Tensor) for v in args)
        op = target if isinstance(target, Operator) else getattr(target, "operator", None)
        if op is None and target in (known["max"], known["min"]) and tensors and len(args) == 2:
            op = OPERATORS["maximum" if target is known["max"] else "minimum"]
        if op is None and target is known["pow"] and tensors:
            op = OPERATORS["pow"]
        if tensors:
            if op is None or not op.entrywise or len(args) != op.arity:
                raise NotTraceable("a number among the arguments of such a function")
            return self.computed(op(*(self.tensor(self.lifted(a)) for a in args)))
        (first, *rest) = args
        if target is known["abs"] and not rest:
            return self.note(scalars.ABSOLUTE, (first.value,), "int" if first.kind == "bool" else
                first.kind)  # fmt: skip
        if target is known["float"] and not rest:
            return self.note(scalars.FLOAT, (first.value,), "float")
        if target is known["int"] and not rest:
            return self.note(scalars.INT, (first.value,), "int")
        if target is known["bool"] and not rest:
            return self.note(scalars.BOOL, (first.value,), "bool")
        if target is known["pow"] and len(args) == 2:
            return self.numbers("**", *args)
        if target in (known["max"], known["min"]) and len(args) == 2:
            kinds = {a.kind if a.__class__ is PyNumber else _KINDS[a.__class__] for a in args}
            made = scalars.LARGEST if target is known["max"] else scalars.SMALLEST
            return self.note(made, [self.operand(a) for a in args],
                             kinds.pop() if len(kinds) == 1 else "mixed")  # fmt: skip
        if target is known["range"]:
            return _Range(args)
        if op is None or not op.entrywise or len(args) != op.arity or op.params:
            raise NotTraceable("a function of numbers")
        sample = with_checks(target)(*(0.5 for _ in args))
        if sample.__class__ is not float:
            raise NotTraceable("a function of numbers that gives something else")
        out = self.trace.apply(op, [self.tensor(a) for a in args], {}, recorded=False)
        if out.shape or out.dtype is not dtypes.float64:
            raise NotTraceable("a function of numbers that gives something else")
        return PyNumber(out, "float")

    def lifted(self, value: Any) -> Any:
        """A tensor of the program as a constant."""
        return self.operand(value) if isinstance(value, Tensor) else value

    def method(self, target: Any, name: str, args: list, options: dict) -> Any:
        """``target.name(...)``."""
        if target.__class__ is list:
            return self.list_method(target, name, args, options)
        given = [*args, *options.values()]
        if target.__class__ is not Value and not isinstance(target, Tensor):
            raise NotTraceable(f"the method {name}")
        pure = name in _TENSOR_METHODS or name in functions.composed() or name in OPERATORS
        if name.endswith("_") or not pure or any(options.get(w) for w in ("requires_grad", "out")):
            raise NotTraceable(f"the method {name}")
        if name == "item" and target.__class__ is Value and not given:
            if target.shape or target.dtype not in (*FLOATS, dtypes.bool_):
                raise NotTraceable("the number of such a tensor")
            if target.dtype is dtypes.bool_:
                return self.note(scalars.ITEM, (target,), "bool")
            return self.note(scalars.FLOAT, (target,), "float")
        if any(v.__class__ in (Closure, PyNumber) for v in given):
            raise NotTraceable("a computed argument of a method")
        return self.computed(attributes.attribute(target, name)(*args, **options))

    def list_method(self, target: list, name: str, args: list, options: dict) -> Any:
        """``append`` and its like, on a list that was made in the same block."""
        if name not in ("append", "extend", "pop", "insert", "reverse", "clear", "copy") or options:
            raise NotTraceable(f"the method {name} of a list")
        if any(_dynamic(a) for a in args) and name in ("pop", "insert"):
            raise NotTraceable("a computed index of a list")
        if name != "copy":
            self.writable(target)
        for a in args:
            self.keep(a)
        found = builtins.LIST_METHODS[name](target, *args)
        return self.made_list(found) if name == "copy" else found

    def writable(self, target: list) -> None:
        """Raises NotTraceable for a list that other turns or other sides of a branch see."""
        if self.born.get(id(target), (None, None))[1] is not self.region:
            raise NotTraceable("a list that is written to in a loop or a branch")

    # -- statements, each of which gives how it ends: fall, break, continue, return, done ---------

    def block(self, body: list[Any]) -> Lowering:
        """Statements; those after an ``if`` that may leave the block go into its sides."""
        for place, node in enumerate(body):
            self.statements += 1
            if self.statements > MOST_STATEMENTS:
                raise NotTraceable("a program of that length")
            kind: Any = node.__class__
            if kind is n.If:
                rest = body[place + 1 :] if _jumps(node) else []
                status = yield self.branch(node, rest)
            elif isinstance(node, n.For | n.While):
                status = yield self.loop(node, body[place + 1 :])
            else:
                status = yield node
            if status is not None and status != "fall":
                return status
        return "fall"

    def branch(self, node: n.If, rest: list) -> Lowering:
        """An ``if``, with what follows it where it may leave the block."""
        test = self.truth((yield node.test))
        jumps = bool(rest) or _jumps(node)
        if test.__class__ is bool:
            status = yield self.block([*(node.body if test else node.orelse), *rest])
            return "done" if jumps and status == "fall" else status
        if jumps and self.loops and not self.loops[-1]:
            raise NotTraceable("a loop over a list that is left where a value says so")
        before = self.frame.names
        sides = []
        for part in (node.body, node.orelse):
            self.frame.names = dict(before)
            outer = self.enter()
            yield self.block([*part, *rest])
            sides.append((self.frame.names, self.leave(outer)))
        self.merge(test, before, sides)
        return "done" if jumps else "fall"

    def merge(self, test: Any, before: dict, sides: list) -> None:
        """What the variables are after a branch."""
        (yes, yes_tape), (no, no_tape) = sides
        outs: list[Value] = []
        results: list[list[Any]] = [[], []]
        found: dict[str, Any] = {}
        for name in {**yes, **no}:
            pair = yes.get(name, UNSET), no.get(name, UNSET)
            if pair[0] is pair[1]:
                found[name] = pair[0]
                continue
            try:
                joined = _join(*(self.spec(v) for v in pair))
            except NotTraceable as why:
                found[name] = _Lost(str(why))
                continue
            found[name] = self.join(joined, list(pair), outs, results)
        self.frame.names = found
        blocks = Block(yes_tape, results[0]), Block(no_tape, results[1])
        self.trace.tape.append(Branch(test, *blocks, outs))

    def loop(self, node: Any, rest: list) -> Lowering:
        """A loop and its ``else``, and what follows where the loop may return from a function."""
        if node.orelse:
            if any(_jumps(c) for c in (*node.body, *node.orelse)):
                raise NotTraceable("a loop with else that may be left")
            yield self.turns(node, rest)
            return (yield self.block(list(node.orelse)))
        return (yield self.turns(node, rest))

    def turns(self, node: Any, rest: list) -> Lowering:
        """A loop without its ``else``."""
        over: Any = None
        if node.__class__ is n.For:
            over = yield node.iter
            if over.__class__ is not _Range and not isinstance(over, range):
                return (yield self.written_out(node, self.items(over)))
            if isinstance(over, range) and not len(over):
                return "fall"
        returns = any(isinstance(c, n.Return) for c in _inside(node))
        if isinstance(over, range) and len(over) <= UNROLLED:
            names_before, tape = dict(self.frame.names), list(self.trace.tape)
            marks = set(self.fresh), set(self.bound), set(self.overwritten)
            state = self.frame, self.loops, list(self.calls), self.nesting, self.region
            try:
                self.run(self.turning(node, over))
            except NotTraceable:
                # It may do what a loop cannot, such as filling a list: it is short enough.
                self.frame, self.loops, calls, self.nesting, self.region = state
                self.calls[:] = calls
                self.frame.names, self.trace.tape = names_before, tape
                self.fresh, self.bound, self.overwritten = marks
                return (yield self.written_out(node, list(over)))
        else:
            yield self.turning(node, over)
        if not returns:
            return "fall"
        test = self.frame.names["<returned>"]
        if test.__class__ is bool:
            return "return" if test else "fall"
        if self.loops:
            raise NotTraceable("a return from a loop in a loop")
        before = self.frame.names
        sides = []
        for done in (True, False):
            self.frame.names = dict(before)
            outer = self.enter()
            if not done:
                self.frame.names.pop("<return>", None)
                self.frame.names["<returned>"] = False
                yield self.block(rest)
            sides.append((self.frame.names, self.leave(outer)))
        self.merge(self.truth(test), before, sides)
        return "done"

    def written_out(self, node: Any, items: list) -> Lowering:
        """A loop over what is known, turn by turn."""
        self.loops = [*self.loops, False]
        status = "fall"
        for item in items:
            self.trace.tape.append(Step())
            yield self.store(node.target, self.keep(item))
            status = yield self.block(list(node.body))
            if status in ("break", "return"):
                break
        self.loops = self.loops[:-1]
        return "return" if status == "return" else "fall"

    def turning(self, node: Any, over: Any) -> Lowering:
        """A loop of the program: its variables are carried, their types found by trying."""
        changed = _assigned(node.body, items=True)
        if over is not None:
            if not isinstance(node.target, n.Name):
                raise NotTraceable("a loop with such a target")
            changed = list(dict.fromkeys([*changed, node.target.id]))
        before = self.frame.names
        first = {name: before[name] for name in changed if name in before}
        specs = {name: _widened(self.spec(value)) for name, value in first.items()}
        solid: set[str] = set()  # names whose memory may have another name
        for _ in range(8):
            marks = set(self.fresh), set(self.bound), set(self.overwritten)
            found = yield self.body(node, over, before, first, specs, solid)
            if found is None:  # it never turns
                return
            loop, ends, carried = found
            again = False
            for name, spec in specs.items():
                end = ends.get(name, UNSET)
                joined = _join(spec, self.spec(end))
                if joined != spec:
                    specs[name], again = _widened(joined), True
                if end.__class__ is Value and end not in self.fresh and name not in solid:
                    solid.add(name)
                    again = again or bool(carried[name] and carried[name][0] in self.overwritten)
            if not again:
                break
            self.fresh, self.bound, self.overwritten = marks
        else:
            raise NotTraceable("variables that change their types in a loop")
        self.close(node, loop, before, first, specs, ends, carried)

    def body(
        self, node: Any, over: Any, before: dict, first: dict, specs: dict, solid: set
    ) -> Lowering:
        """One try: the loop, what its variables are after a turn, and what they are in it."""
        names_ = dict(before)
        leaves: dict[str, list[Value]] = {}
        initial: dict[str, list[Any]] = {}
        for name, spec in specs.items():
            made: list[Value] = []
            starts: list[list[Any]] = [[]]
            value = self.join(spec, [first[name]], made, starts)
            leaves[name], initial[name] = made, starts[0]
            for v, start in zip(made, starts[0], strict=True):
                owner = start.__class__ is not Value or start in self.fresh
                if owner and name not in solid and value.__class__ is Value:
                    self.fresh.add(v)
                    self.bound.add(v)
            names_[name] = value
        stop = f"<break{len(self.loops)}>"
        names_[stop] = False
        self.loops = [*self.loops, True]
        self.frame.names = names_
        index = None
        bounds: tuple | None = None
        outer = self.enter()
        test = None
        if over is not None:
            index = Value(self.trace, (), dtypes.int64, example=np.int64(1))
            bounds = over.bounds(self) if over.__class__ is _Range else (
                over.start, over.stop, over.step)  # fmt: skip
            self.frame.names[node.target.id] = PyNumber(index, "int", True)
        else:
            tested = self.truth((yield node.test))
            if tested is False:
                self.leave(outer)
                self.loops = self.loops[:-1]
                self.frame.names = before
                return None
            test = Block(self.trace.tape, [tested])
            self.trace.tape = []
        yield self.block(list(node.body))
        tape = self.leave(outer)
        self.loops = self.loops[:-1]
        ends = self.frame.names
        self.frame.names = before
        stopping = ends.pop(stop)
        loop = Loop(bounds, index, test, [], [], Block(tape), [], self.truth(stopping))
        carried = {name: list(v) for name, v in leaves.items()}
        for name, values in carried.items():
            loop.carried += values
            loop.initial += initial[name]
        return loop, ends, carried

    def close(
        self, node: Any, loop: Loop, before: dict, first: dict, specs: dict, ends: dict,
        carried: dict,
    ) -> None:  # fmt: skip
        """Note a loop, and what the variables are after it."""
        after = dict(before)
        ranged = loop.bounds is not None and all(b.__class__ is int for b in loop.bounds)
        for name, spec in specs.items():
            made: list[Value] = []
            results: list[list[Any]] = [[], []]
            value = self.join(spec, [ends[name], first[name]], made, results)
            loop.body.results += results[0]
            loop.outs += made
            after[name] = value
            for v, end in zip(carried[name], results[0], strict=True):
                if v in self.overwritten and end.__class__ is Value:
                    self.overwrite(end)
            # After no turn it would still be a number.
            if _narrow(self.spec(first[name])) and spec[0] == "tensor":
                loop.turns = loop.turns or not ranged
        for name, end in ends.items():
            if name in specs or name in before:
                continue
            made, results = [], [[], []]
            try:
                spec = _widened(self.spec(end))
                value = self.join(spec, [end, UNSET], made, results)
            except NotTraceable as why:
                after[name] = _Lost(str(why))
                continue
            for v in made:
                phi = Value(self.trace, v.shape, v.dtype, example=v.example)
                loop.carried.append(phi)
                loop.initial.append(None)
            loop.body.results += results[0]
            loop.outs += made
            after[name] = value
        self.trace.tape.append(loop)
        self.frame.names = after

    # -- types of joined values -------------------------------------------------------------------

    def spec(self, value: Any) -> tuple:
        """The type of a value: what is carried or merged as one."""
        kind = value.__class__
        if kind is Value:
            return "tensor", tuple(value.shape), value.dtype
        if kind is PyNumber:
            return "number", value.kind
        if kind in _NUMBERS:
            return "constant", kind, value, str(value)
        if isinstance(value, Tensor):
            return "held", id(value), tuple(value.array.shape), value.dtype, value
        if kind in (list, tuple):
            if kind is list and len(value) > 64:
                raise NotTraceable("a long list that changes")
            return (kind, *(self.spec(v) for v in value))
        if kind is _Lost:
            raise NotTraceable(value.why)
        return "same", id(value), value

    def join(self, spec: tuple, values: list, outs: list, results: list[list]) -> Any:
        """A new value of a type for those of several ways; its parts are added to the lists."""
        head = spec[0]
        if head in ("same", "held", "constant"):
            return values[0]
        if head in (list, tuple):
            parts = []
            for place, inner in enumerate(spec[1:]):
                items = [v if v is UNSET else v[place] for v in values]
                parts.append(self.keep(self.join(inner, items, outs, results)))
            return self.made_list(parts) if head is list else tuple(parts)
        dtype = spec[2] if head == "tensor" else _DTYPES[spec[1]]
        shape = spec[1] if head == "tensor" else ()
        out = Value(self.trace, shape, dtype, example=np.ones(shape, dtype.numpy)[()])
        own = True
        for value, into in zip(values, results, strict=True):
            if value is UNSET:
                into.append(None)
                continue
            found = self.operand(value)
            if head == "tensor" and found.__class__ in (int, bool):
                found = float(found)
            into.append(found)
            own = own and (value.__class__ is not Value or value in self.fresh)
        self.sources[out] = [v for v in values if v.__class__ is Value]
        outs.append(out)
        if head == "tensor":
            if own:
                self.fresh.add(out)
                self.bound.add(out)
            return out
        return PyNumber(out, spec[1])

    # -- assignments -----------------------------------------------------------------------------

    def store(self, target: Any, value: Any) -> Lowering:
        """Assign a value to a target."""
        if isinstance(target, n.Name):
            if value.__class__ is Value:
                if value in self.bound:
                    self.fresh.discard(value)
                self.bound.add(value)
            self.frame.names[target.id] = value
            return
        if isinstance(target, n.Tuple | n.List):
            if isinstance(value, Tensor) or value.__class__ is Value:
                value = self.items(value)
            if value.__class__ not in (list, tuple) or len(value) != len(target.items):
                raise NotTraceable("a tuple of another length")
            for inner, part in zip(target.items, value, strict=True):
                yield self.store(inner, part)
            return
        if isinstance(target, n.Subscript):
            held = yield target.value
            index = yield from self.index(target.index)
            if held.__class__ is Value:
                return self.put(target.value, held, index, value)
            if held.__class__ is not list or index.__class__ is not int:
                raise NotTraceable("a write to an item")
            self.writable(held)
            held[index] = self.keep(value)
            return
        raise NotTraceable("an assignment to an attribute")

    def put(self, target: n.Expr, held: Value, index: Any, value: Any) -> None:
        """``x[index] = value`` of a tensor that one name has: a new value of that name."""
        one = isinstance(target, n.Name) and target.id in self.frame.names
        value = self.lifted(self.tensor(value))
        value = float(value) if value.__class__ in (int, bool) else value
        if not one or held not in self.fresh:
            raise NotTraceable("a write to a tensor that something else may have")
        if held.dtype not in FLOATS or getattr(value, "dtype", held.dtype) is not held.dtype:
            raise NotTraceable("a write to a tensor of another dtype")
        if index.__class__ is PyNumber:
            if index.kind != "int" or len(held.shape) != 1 or np.shape(value):
                raise NotTraceable("a write to a computed place, but of a vector")
            made = self.trace.note(scalars.PUT, (held, index.value, value), loops.like(held))
        else:
            if not is_basic(index):
                raise NotTraceable("a write to several places")
            mask = np.zeros(held.shape, bool)
            mask[index] = True
            region = mask[index].shape
            if region:
                value = OPERATORS["expand"](value, region)
                value = OPERATORS["scatter"](value, tuple(held.shape), index)
            made = OPERATORS["where"](self.trace.constant(mask), value, held)
        assert made.source is not None
        self.writers[made.source] = held
        self.overwrite(held)
        self.fresh.add(made)
        self.bound.add(made)
        self.frame.names[target.id] = made  # type: ignore[attr-defined]

    def Assign(self, node: n.Assign) -> Lowering:
        """``a = b = value``."""
        value = yield node.value
        if _dynamic(value) and isinstance(value, _Range):
            raise NotTraceable("a range with a name")
        for target in node.targets:
            yield self.store(target, value)

    def Annotation(self, node: n.Annotation) -> Lowering:
        """``a: kind = value``."""
        if node.value is not None:
            yield self.store(node.target, (yield node.value))

    def AugAssign(self, node: n.AugAssign) -> Lowering:
        """``a += b``: numbers get a new value, tensors are written to."""
        op = node.op.rstrip("=")
        if not isinstance(node.target, n.Name):
            if not isinstance(node.target, n.Subscript):
                raise NotTraceable("an assignment to an attribute")
            held = yield node.target.value
            index = yield from self.index(node.target.index)
            if held.__class__ is Value and op in "+-":  # whose rules save nothing
                old = self.pick(held, index) if _dynamic(index) else held[index]
                made = self.binary(op, old, (yield node.value))
                return self.put(node.target.value, held, index, made)
            if held.__class__ is not list:
                raise NotTraceable("a write to an item")
            if index.__class__ is not int:
                raise NotTraceable("a computed index of a list")
            self.writable(held)
            old = held[index]
            value = yield node.value
            if not isinstance(old, int | float | PyNumber):
                raise NotTraceable("a write to a tensor in a list")
            held[index] = self.binary(op, old, value)
            return
        old = yield node.target
        value = yield node.value
        if old.__class__ is list or isinstance(old, Tensor):
            raise NotTraceable("a write in place")
        made = self.binary(op, old, value)
        if old.__class__ is Value:
            same = made.__class__ is Value and made.shape == old.shape and made.dtype is old.dtype
            if not same or old not in self.fresh:
                raise NotTraceable("a write to a tensor that something else may have")
            self.writers[made.source] = old
            self.overwrite(old)
            self.fresh.add(made)
        yield self.store(node.target, made)

    def overwrite(self, value: Value) -> None:
        """A tensor is written to. Raises NotTraceable where a rule has saved what it was.

        An operation that writes keeps a copy of what it needs of its target.
        """
        stack = [value]
        seen: set[Value] = set()
        while stack:
            v = stack.pop()
            if v in seen or v.__class__ is not Value:
                continue
            seen.add(v)
            self.overwritten.add(v)
            stack += self.sources.get(v, ())
        views = set(seen)
        for ins in self.trace.noted:
            target = self.writers.get(ins)
            if (ins.op is scalars.PICK or not is_fresh(ins)) and any(
                v in views for v in ins.inputs()
            ):
                if ins.out in self.bound:
                    raise NotTraceable("a write to a tensor that has a view")
                views.add(ins.out)
            if ins.recorded and any(v in views and v is not target for v in _saved(ins)):
                raise NotTraceable("a write to a tensor that a rule has saved")

    def ExprStmt(self, node: n.ExprStmt) -> Lowering:
        """An expression; outside functions its value becomes the result."""
        value = yield node.value
        if self.frame.parent is None:
            self.frame.names["<result>"] = self.keep(value)

    def Def(self, node: n.Def) -> Lowering:
        """A function."""
        self.frame.names[node.name] = yield from self.closure(node, node.body)

    def Return(self, node: n.Return) -> Lowering:
        """A return, which leaves the loops of the function too."""
        self.frame.names["<return>"] = None if node.value is None else (yield node.value)
        self.frame.names["<returned>"] = True
        if self.loops:
            if len(self.loops) > 1 or not self.loops[0]:
                raise NotTraceable("a return from a loop in a loop")
            self.frame.names["<break0>"] = True
        return "return"

    def Break(self, node: n.Break) -> Lowering:
        """A break."""
        if self.loops[-1]:
            self.frame.names[f"<break{len(self.loops) - 1}>"] = True
        return "break"
        yield

    def Continue(self, node: n.Continue) -> Lowering:
        """A continue."""
        return "continue"
        yield

    def Pass(self, node: n.Pass) -> Lowering:
        """Nothing."""
        return None
        yield

    Import = FromImport = Pass

    def Assert(self, node: n.Assert) -> Lowering:
        """A test that has to hold: where it does not, the engine gives the error."""
        test = self.truth((yield node.test))
        if test.__class__ is bool:
            if not test:
                raise NotTraceable("an assertion that fails")
            return
        self.trace.tape.append(Check(test))

    def With(self, node: n.With) -> Lowering:
        """Gradient modes."""
        if len(node.items) != 1 or node.items[0].target is not None or _jumps(node):
            raise NotTraceable("such a with")
        call = node.items[0].expr
        if not isinstance(call, n.Call) or call.args or call.keywords:
            raise NotTraceable("such a with")
        target = yield call.func
        if target not in [names.NAMES[name] for name in SWITCHES if name != "set_grad_enabled"]:
            raise NotTraceable("such a with")
        if target is names.NAMES["inference_mode"]:
            raise NotTraceable("inference mode")
        with target():
            yield self.block(list(node.body))


class _Range:
    """A range whose bounds are not known before the run."""

    __slots__ = ("args",)

    def __init__(self, args: list) -> None:
        for a in args:
            whole = a.__class__ is int or (a.__class__ is PyNumber and a.kind == "int")
            if not whole:
                raise NotTraceable("a range of such bounds")
        if len(args) == 3 and args[2].__class__ is not int:
            raise NotTraceable("a range of such bounds")
        self.args = args

    def bounds(self, lowerer: _Lowerer) -> tuple:
        """Start, stop and step as operands."""
        given = [lowerer.operand(a) for a in self.args]
        if len(given) == 1:
            return 0, given[0], 1
        return given[0], given[1], given[2] if len(given) == 3 else 1


class _Lost:
    """A variable that has two types at once: whoever reads it finds that out."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


def _saved(ins: Instruction) -> Iterator[Any]:
    """What the rules of an instruction save."""
    op = ins.op
    for place, (rule, words) in enumerate(zip(op.rules, op.saves, strict=True)):
        by = ins.args if op.variadic else ins.args[place : place + 1]
        if rule is None or not any(a.__class__ is Value and a.const is None for a in by):
            continue
        for word in words:
            if word == "out":
                yield ins.out
            elif op.variadic:
                yield from ins.args
            else:
                yield ins.args[op.inputs.index(word)]


def _inside(node: n.Node) -> list[n.Node]:
    found = []
    stack = [node]
    while stack:
        one = stack.pop()
        found.append(one)
        if one.__class__ in (n.If, n.With, n.For, n.While):
            stack += [c for c in n.children(one) if isinstance(c, n.Statement)]
    return found


def _dynamic(value: Any) -> bool:
    """Whether a value is not known before the run."""
    stack = [value]
    while stack:
        one = stack.pop()
        if one.__class__ in (Value, PyNumber, _Range):
            return True
        if one.__class__ in (list, tuple):
            stack += one
        elif one.__class__ is _Lost:
            raise NotTraceable(one.why)
    return False


def _narrow(spec: tuple) -> bool:
    return spec[0] in ("constant", "number")


def _widened(spec: tuple) -> tuple:
    """The type of a variable that a loop changes: not one number, but any."""
    if spec[0] == "constant":
        return "number", _KINDS[spec[1]]
    if spec[0] == "held":
        return "tensor", spec[2], spec[3]
    if spec[0] in (list, tuple):
        return (spec[0], *map(_widened, spec[1:]))
    return spec


def _join(a: tuple, b: tuple) -> tuple:
    """The type that values of two types have together. Raises NotTraceable."""
    if a == b:
        return a
    if a[0] == "same" and a[2] is UNSET:
        return _widened(b)
    if b[0] == "same" and b[2] is UNSET:
        return _widened(a)
    if a[0] in (list, tuple) and b[0] is a[0] and len(a) == len(b):
        return (a[0], *(_join(x, y) for x, y in zip(a[1:], b[1:], strict=True)))
    if "same" in (a[0], b[0]) or a[0] in (list, tuple) or b[0] in (list, tuple):
        raise NotTraceable("a variable that is one thing or another")
    a, b = _widened(a), _widened(b)
    if a == b:
        return a
    if a[0] == b[0] == "number":
        return "number", "mixed"
    for one, other in ((a, b), (b, a)):
        if one[0] == "tensor" and other[0] == "number":
            if one[1] or one[2] not in FLOATS or other[1] == "bool":
                break
            return one
    raise NotTraceable("a variable of several shapes or types")
