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
from collections.abc import Generator, Mapping, Sequence
from types import GeneratorType
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import factories
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import enable_grad
from gradcli.engine.tensor.tensor import Tensor
from gradcli.jit import scalars
from gradcli.jit.control import Block, Branch, Check, Loop, Step, Structured
from gradcli.jit.grown import Grown
from gradcli.jit.ir import NotTraceable, Value
from gradcli.jit.iteration import UNROLLED, ByTurn, Range, by_turn
from gradcli.jit.specs import UNSET, PyNumber, is_narrow, joined_type, optional, widened
from gradcli.jit.trace import NO_RANDOM
from gradcli.jit.values import TENSOR_READ, Closure, Frame, Lost, Region, Values, is_dynamic
from gradcli.language.compile.resolve import Checked
from gradcli.language.names import attributes, builtins
from gradcli.language.names import table as names
from gradcli.language.names.context_managers import SWITCHES
from gradcli.language.syntax import nodes as n

MOST_STATEMENTS = 20_000
"""Statements lowered, those of functions and of both sides of a branch each time."""
DEEPEST = 18
"""Loops and branches inside each other: CPython takes 20."""
_SIGNS: dict[str, Any] = {"-": operator.neg, "+": operator.pos, "~": builtins.invert}

Lowering = Generator[Any, Any, Any]


@functools.cache
def _unread(kind: Any) -> tuple[str, ...]:
    """The fields that a node need not have and lowering does not read: a program that has them
    says something else than what would be lowered."""
    read = {"start", "end", "op_start", "op_end", "returns", "annotation"}
    read |= {"orelse"} if kind in (n.For, n.While) else set()
    return tuple(field for field in kind.defaults if field not in read)


def lower(
    checked: Checked, given: Mapping[str, Any], by: Sequence[str], of: str | None = None,
    depth: int = 500,
) -> Structured:  # fmt: skip
    """The program as a function of the variables ``by``.

    ``given`` holds the arrays or tensors of all variables; those that are not in ``by`` are
    constants. Raises NotTraceable.
    """
    work = _Lowerer(checked, depth)
    drawing = random.drawing.set(NO_RANDOM)
    try:
        with enable_grad(), np.errstate(all="ignore"):
            return work.program(given, by, of)
    except (Exception, NotTraceable) as fault:  # the engine finds the same one
        why = fault if isinstance(fault, NotTraceable) else NotTraceable(
            f"{type(fault).__name__}: {fault}")  # fmt: skip
        why.at = None if work.node is None else (work.node.start, work.node.end)
        raise why from None
    finally:
        random.drawing.reset(drawing)


def exits(node: n.Node) -> set[Any]:
    """The kinds of statements by which one may leave the block that it stands in."""
    found: set[Any] = set()
    stack: list[tuple[n.Node, bool]] = [(node, True)]
    while stack:
        one, own = stack.pop()
        kind = one.__class__
        if kind is n.Return or (own and kind in (n.Break, n.Continue)):
            found.add(kind)
        elif kind in (n.If, n.With, n.For, n.While):
            inner = own and kind not in (n.For, n.While)
            stack += [(c, inner) for c in n.children(one) if isinstance(c, n.Statement)]
    return found


def first_target(node: Any) -> n.Node:
    """The first target of an assignment."""
    return node.targets[0] if isinstance(node, n.Assign) else node.target


def assigned(body: Sequence[n.Statement], items: bool = False) -> list[str]:
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
        self.frame = Frame(None)
        self.depth = depth
        self.calls: list[Any] = []
        self.loops: list[bool] = []  # around the statement: whether each is a loop of the program
        self.nesting = 0
        self.statements = 0
        self.node: n.Node | None = None  # what is lowered, or could not be
        writes = "[" in checked.source.text and any(
            isinstance(node, n.Assign | n.AugAssign) and isinstance(first_target(node), n.Subscript)
            for node in n.walk(checked.module)
        )
        modules = {*checked.modules.values(), *(["torch"] if checked.imported else [])}
        self.values = Values(sorted(modules), writes)

    # -- the driver ----------------------------------------------------------------------------

    def run(self, first: Lowering) -> Any:
        """Run a generator that yields nodes and generators: a stack of suspended ones."""
        stack = [(first, self.node)]
        value = None
        while stack:
            generator, self.node = stack[-1]
            try:
                child = generator.send(value)
            except StopIteration as done:
                stack.pop()
                value = done.value
                continue
            value = None
            kind = child.__class__
            if kind is not GeneratorType:
                self.node = child
                if kind is n.Name:
                    value = self.named(child.id, child)
                    continue
                if kind is n.Number:
                    value = child.value
                    continue
                child = self.visit(child)
            stack.append((child, self.node))
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
                self.frame.names[name] = self.values.trace.input(array)
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
        block = Block(self.values.trace.tape, [self.values.operand(found)])
        return Structured(inputs, block)

    # -- expressions -----------------------------------------------------------------------------

    def named(self, name: str, node: n.Name) -> Any:
        """A variable, or a name of the language."""
        frame: Frame | None = self.frame
        while frame is not None:
            if name in frame.names:
                found = frame.names[name]
                if found.__class__ is Lost:
                    raise NotTraceable(found.why)
                return self.values.read(found)
            if name in frame.local:
                raise NotTraceable(f"{name}, which is not set on every way")
            frame = frame.parent
        if name in self.checked.imported:
            return self.checked.imported[name]
        if name in self.checked.modules:
            raise NotTraceable("a module")
        if name in names.CONSTANTS:
            return names.CONSTANTS[name]
        if id(node) in self.checked.variables and name not in names.NAMES:
            raise NotTraceable(f"{name}, which is not set on every way")
        return names.function(name)

    def Literal(self, node: Any) -> Lowering:
        """A text, ``True``, ``False``, ``None`` or ``...``, as written."""
        return node.value
        yield

    String = Literal

    def Binary(self, node: n.Binary) -> Lowering:
        """``a op b``."""
        a = yield node.left
        b = yield node.right
        return self.values.binary(node.op, a, b)

    def Unary(self, node: n.Unary) -> Lowering:
        """``-a``, ``+a`` and ``not a``."""
        a = yield node.operand
        if node.op == "not":
            if a.__class__ not in (Value, PyNumber):
                return not a
            return self.values.note(scalars.NOT, (self.values.truth(a),), "bool")
        if a.__class__ is not PyNumber:
            return self.values.computed(_SIGNS[node.op](a))
        if node.op == "~" or a.kind == "bool":  # which may be a tensor's
            raise NotTraceable("the bits of a number, or the sign of a truth")
        made = scalars.NEGATIVE if node.op == "-" else scalars.POSITIVE
        return self.values.note(made, (a.value,), a.kind, a.small)

    def Compare(self, node: n.Compare) -> Lowering:
        """A chain of comparisons."""
        left = yield node.left
        right = yield node.rights[0]
        found = self.values.compared(node.ops[0], left, right)
        for op, child in zip(node.ops[1:], node.rights[1:], strict=True):
            if found.__class__ not in (Value, PyNumber):
                if not found:
                    return found
                left, right = right, (yield child)
                found = self.values.compared(op, left, right)
                continue
            held = right

            def then(held: Any = held, op: str = op, child: Any = child) -> Lowering:
                nonlocal right
                right = yield child
                return self.values.boolean(self.values.compared(op, held, right))

            if len(node.ops) > 2:
                raise NotTraceable("a comparison of more than three")
            found = yield self.choose(self.values.truth(found), then, False)
        return found

    def BoolOp(self, node: n.BoolOp) -> Lowering:
        """``and`` and ``or``: a side is computed only if those before it leave it open."""
        found = yield node.values[0]
        for child in node.values[1:]:
            if not is_dynamic(found):
                if bool(found) == (node.op == "or"):
                    return found
                found = yield child
                continue

            def side(child: Any = child) -> Lowering:
                return self.values.boolean((yield child))

            test = self.values.truth(self.values.boolean(found))
            if node.op == "and":
                found = yield self.choose(test, side, False)
            else:
                found = yield self.choose(test, True, side)
        return found

    def Conditional(self, node: n.Conditional) -> Lowering:
        """``a if test else b``."""
        test = self.values.truth((yield node.test))
        if test.__class__ is bool:
            return (yield node.body if test else node.orelse)
        return (yield self.choose(test, node.body, node.orelse))

    def choose(self, test: Any, then: Any, orelse: Any) -> Lowering:
        """The value of one of two sides, of which one runs: nodes, functions or constants."""
        sides = []
        for side in (then, orelse):
            outer = self.enter()
            if side.__class__ is not bool:
                side = yield side() if callable(side) else side
            sides.append((side, self.leave(outer)))
        joined = joined_type(*(self.values.spec(value) for value, _ in sides))
        outs: list[Value] = []
        results: list[list[Any]] = [[], []]
        made = self.values.join(joined, [value for value, _ in sides], outs, results)
        blocks = [Block(tape, r) for (_, tape), r in zip(sides, results, strict=True)]
        self.values.trace.tape.append(Branch(test, blocks[0], blocks[1], outs))
        return made

    def enter(self) -> tuple:
        """Begin a block: what follows is noted there."""
        outer = self.values.trace.tape, self.values.region
        self.values.trace.tape, self.values.region = [], Region(self.values.region)
        self.nesting += 1
        if self.nesting > DEEPEST:
            raise NotTraceable("loops and branches that nest that deep")
        return outer

    def leave(self, outer: tuple) -> list:
        """End a block: what was noted in it."""
        made = self.values.trace.tape
        self.values.trace.tape, self.values.region = outer
        self.nesting -= 1
        return made

    def Tuple(self, node: n.Tuple) -> Lowering:
        """A tuple."""
        found = []
        for item in node.items:
            found.append(self.values.keep((yield item)))
        return tuple(found)

    def List(self, node: n.List) -> Lowering:
        """A list."""
        found = yield from self.Tuple(node)  # type: ignore[arg-type]
        return self.values.made_list(list(found))

    def Subscript(self, node: n.Subscript) -> Lowering:
        """An item or a slice, at a place that is known."""
        value = yield node.value
        index = yield from self.index(node.index)
        if value.__class__ is Value or isinstance(value, Tensor):
            self.values.of_tensor([value, index])
            if is_dynamic(index):
                return self.values.pick(value, index)
            return value[index]
        if value.__class__ is Grown:
            return value.item(index)
        if is_dynamic(index):
            raise NotTraceable("a computed index of a list")
        if isinstance(value, list | tuple | range | str):
            found = value[index]
            return self.values.made_list(found) if found.__class__ is list and (
                isinstance(index, slice)) else found  # fmt: skip
        raise NotTraceable("an item of something that is no list or tensor")

    def index(self, node: n.Node) -> Lowering:
        """What stands between brackets."""
        if isinstance(node, n.Slice):
            parts = []
            for part in (node.lower, node.upper, node.step):
                parts.append(None if part is None else (yield part))
            if any(is_dynamic(p) for p in parts):
                raise NotTraceable("a computed slice")
            return slice(*(p.item() if isinstance(p, Tensor) else p for p in parts))
        if isinstance(node, n.Tuple):
            found = []
            for item in node.items:
                found.append((yield from self.index(item)))
            if any(is_dynamic(part) for part in found):
                raise NotTraceable("a computed index, but of a vector")
            return tuple(found)
        return (yield node)

    def ListComp(self, node: n.ListComp) -> Lowering:
        """A list with ``for`` over what is known."""
        if len(node.clauses) != 1:
            raise NotTraceable("a list with two loops")
        (clause,) = node.clauses
        over = yield clause.iter
        items = self.values.items(over)
        outer = self.frame
        self.frame = Frame(outer)  # one for all turns: a function made there reads the last item
        made = []
        for item in items:
            yield self.store(clause.target, item)
            for condition in clause.conditions:
                test = self.values.truth((yield condition))
                if test.__class__ is not bool:
                    raise NotTraceable("a list whose length is computed")
                if not test:
                    break
            else:
                made.append(self.values.keep((yield node.element)))
        self.frame = outer
        return self.values.made_list(made)

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
            defaults.append(
                UNSET if param.default is None else self.values.keep((yield param.default))
            )
        return Closure(node, body, defaults, self.frame)

    # -- calls -----------------------------------------------------------------------------------

    def Attribute(self, node: n.Attribute) -> Lowering:
        """A name of an imported module, or an attribute."""
        found = self.from_module(node)
        if found is not UNSET:
            return found
        value = yield node.value
        self.values.of_tensor(value)
        if (value.__class__ is Value or isinstance(value, Tensor)) and node.name in TENSOR_READ:
            return attributes.attribute(value, node.name)
        raise NotTraceable(f"the attribute {node.name}")

    def from_module(self, node: n.Attribute) -> Any:
        """``torch.sin``: what a module has by that name; UNSET for an attribute of a value."""
        held = self.checked.in_module(node)
        if held is None or held[0].id in self.frame.names:
            return UNSET
        table = names.namespace(self.checked.modules[held[0].id]) or {}
        found = table.get(held[1], UNSET)
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
            return self.values.method(target, func.name, args, options)
        if target.__class__ is Closure:
            return (yield self.inline(target, args, options))
        return self.values.function(target, args, options)

    def inline(self, target: Closure, args: list, options: dict) -> Lowering:
        """A function of the program, in place of its call."""
        if any(held is target.node for held in self.calls) or len(self.calls) >= min(
            self.depth - 1, 40
        ):
            raise NotTraceable("recursion")
        own = assigned(target.body) if target.body.__class__ is tuple else ()
        frame = Frame(target.frame, [*own, *target.defaults])
        placed = dict(zip(target.by_place, args, strict=False))
        if len(args) > len(placed) or not target.by_name - placed.keys() >= options.keys():
            raise NotTraceable("a call with an argument that there is not")
        for name, value in (placed | options).items():
            frame.names[name] = self.values.bind(value)
        frame.names = target.defaults | frame.names
        if any(v is UNSET for v in frame.names.values()):
            raise NotTraceable("a call without an argument")
        self.values.trace.tape.append(Step())
        outer, self.frame = self.frame, frame
        loops, self.loops = self.loops, []
        self.calls.append(target.node)
        if target.body.__class__ is tuple:
            self.frame.names["<returned>"] = False
            yield self.block(list(target.body))
            found = self.values.read(self.frame.names.get("<return>"))
        else:
            found = yield target.body
        self.calls.pop()
        self.frame, self.loops = outer, loops
        named = found.__class__ is Value and found in self.values.bound
        return self.values.bind(found) if named else found

    # -- statements, each of which gives how it ends: fall, break, continue, return, done ---------

    def block(self, body: list[Any]) -> Lowering:
        """Statements; those after an ``if`` that may leave the block go into its sides."""
        for place, node in enumerate(body):
            self.statements += 1
            if self.statements > MOST_STATEMENTS:
                raise NotTraceable("a program of that length")
            kind: Any = node.__class__
            self.node = node
            if kind is n.If:
                status = yield self.branch(node, body[place + 1 :])
            elif isinstance(node, n.For | n.While):
                status = yield self.loop(node, body[place + 1 :])
            else:
                status = yield node
            if status is not None and status != "fall":
                return status
        return "fall"

    def branch(self, node: n.If, rest: list) -> Lowering:
        """An ``if``, with what follows it where it may leave the block."""
        test = self.values.truth((yield node.test))
        jumps = bool(exits(node))
        then, orelse = list(node.body), list(node.orelse)
        return (yield self.either(test, then, orelse, rest if jumps else [], jumps))

    def either(self, test: Any, then: list, orelse: list, rest: list, jumps: bool) -> Lowering:
        """One of two lists of statements and ``rest``; ``jumps``: one may leave the block."""
        if test.__class__ is bool:
            status = yield self.block([*(then if test else orelse), *rest])
            return "done" if jumps and status == "fall" else status
        if jumps and self.loops and not self.loops[-1]:
            raise NotTraceable("a loop over a list that is left where a value says so")
        before = self.frame.names
        sides = []
        for part in (then, orelse):
            self.frame.names = dict(before)
            outer = self.enter()
            yield self.block([*part, *rest])
            sides.append((self.frame.names, self.leave(outer)))
        self.merge(test, sides)
        return "done" if jumps else "fall"

    def merge(self, test: Any, sides: list) -> None:
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
                joined = joined_type(*(self.values.spec(v) for v in pair))
            except NotTraceable as why:
                found[name] = Lost(str(why))
                continue
            found[name] = self.values.join(joined, list(pair), outs, results)
        self.frame.names = found
        blocks = Block(yes_tape, results[0]), Block(no_tape, results[1])
        self.values.trace.tape.append(Branch(test, *blocks, outs))

    def loop(self, node: Any, rest: list) -> Lowering:
        """A loop and its ``else``, and what follows where the loop may return from a function."""
        if not node.orelse:
            return (yield self.turns(node, rest))
        if any(n.Return in exits(c) for c in node.body):
            raise NotTraceable("a loop with else that returns")
        left = f"<left{len(self.loops)}>"
        self.frame.names[left] = False
        yield self.turns(node, rest)
        found = self.values.truth(self.frame.names.pop(left))
        jumps = any(exits(c) for c in node.orelse)
        return (yield self.either(found, [], list(node.orelse), rest if jumps else [], jumps))

    def turns(self, node: Any, rest: list) -> Lowering:
        """A loop without its ``else``."""
        over: Any = None
        if node.__class__ is n.For:
            over = yield node.iter
            if over.__class__ is not Range and not isinstance(over, range):
                long = by_turn(self.values, over)
                if long is None or not long.is_long:
                    return (yield self.written_out(node, self.values.items(over)))
                over = long
            if isinstance(over, range) and not len(over):
                return "fall"
        returns = n.Return in exits(node)
        if isinstance(over, range) and len(over) <= UNROLLED:
            names_before, tape = dict(self.frame.names), list(self.values.trace.tape)
            marks = self.values.marks()
            state = self.frame, self.loops, list(self.calls), self.nesting, self.values.region
            try:
                self.run(self.turning(node, over))
            except NotTraceable:
                # It may do what a loop cannot, such as filling a list: it is short enough.
                self.frame, self.loops, calls, self.nesting, self.values.region = state
                self.calls[:] = calls
                self.frame.names, self.values.trace.tape = names_before, tape
                self.values.reset(marks)
                return (yield self.written_out(node, list(over)))
        else:
            self.grow(node)
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
        self.merge(self.values.truth(test), sides)
        return "done"

    def grow(self, node: Any) -> None:
        """Let the lists that a long loop appends to grow in the run."""
        for call in n.walk(node):
            func: Any = call.func if isinstance(call, n.Call) else None
            if not isinstance(func, n.Attribute) or func.name != "append":
                continue
            frame: Frame | None = self.frame
            name = func.value.id if isinstance(func.value, n.Name) else ""
            while frame is not None and name not in frame.names:
                frame = frame.parent
            if frame is None:
                continue
            held = frame.names[name]
            alone = held.__class__ is list and id(held) not in self.values.shared
            if alone and self.values.is_new(held):
                frame.names[name] = Grown(self.values, held)

    def written_out(self, node: Any, items: list) -> Lowering:
        """A loop over what is known, turn by turn."""
        self.loops = [*self.loops, False]
        status = "fall"
        for item in items:
            self.values.trace.tape.append(Step())
            yield self.store(node.target, self.values.bind(item))
            status = yield self.block(list(node.body))
            if status in ("break", "return"):
                break
        self.loops = self.loops[:-1]
        return "return" if status == "return" else "fall"

    def turning(self, node: Any, over: Any) -> Lowering:
        """A loop of the program: its variables are carried, their types found by trying."""
        changed = assigned(node.body, items=True)
        if (left := f"<left{len(self.loops)}>") in self.frame.names:
            changed.append(left)
        if over is not None:
            if not all(isinstance(t, n.Name | n.Tuple) for t in n.walk(node.target)):
                raise NotTraceable("a loop with such a target")
            changed = list(dict.fromkeys([*changed, *assigned([node])]))
        before = self.frame.names
        first = {name: before[name] for name in changed if name in before}
        specs = {name: widened(self.values.spec(value)) for name, value in first.items()}
        solid: set[str] = set()  # names whose memory may have another name
        for _ in range(8):
            marks = self.values.marks()
            found = yield self.body(node, over, before, first, specs, solid)
            if found is None:  # it never turns
                return
            loop, ends, carried = found
            again = False
            for name, spec in specs.items():
                end = ends.get(name, UNSET)
                joined = joined_type(spec, self.values.spec(end))
                if joined != spec:
                    specs[name], again = widened(joined), True
                if end.__class__ is Value and end not in self.values.fresh and name not in solid:
                    solid.add(name)
                    again = again or bool(
                        carried[name] and carried[name][0] in self.values.overwritten
                    )
            if not again:
                break
            self.values.reset(marks)
        else:
            raise NotTraceable("variables that change their types in a loop")
        self.close(loop, before, first, specs, ends, carried)

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
            value = self.values.join(spec, [first[name]], made, starts)
            leaves[name], initial[name] = made, starts[0]
            for v, start in zip(made, starts[0], strict=True):
                owner = start.__class__ is not Value or start in self.values.fresh
                if owner and name not in solid and value.__class__ is Value:
                    self.values.fresh.add(v)
                    self.values.bound.add(v)
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
            index = Value(self.values.trace, (), dtypes.int64, example=np.int64(1))
            turn = PyNumber(index, "int", True)
            if over.__class__ is ByTurn:
                bounds = 0, self.values.operand(over.count), 1
                yield self.store(node.target, over.item(turn))
            else:
                bounds = over.bounds(self.values) if over.__class__ is Range else (
                    over.start, over.stop, over.step)  # fmt: skip
                yield self.store(node.target, turn)
        else:
            tested = self.values.truth((yield node.test))
            if tested is False:
                self.leave(outer)
                self.loops = self.loops[:-1]
                self.frame.names = before
                return None
            test = Block(self.values.trace.tape, [tested])
            self.values.trace.tape = []
        walked = getattr(over, "over", None)
        if walked is not None:
            walked.walked = True
        yield self.block(list(node.body))
        if walked is not None:
            walked.walked = False
        tape = self.leave(outer)
        self.loops = self.loops[:-1]
        ends = self.frame.names
        self.frame.names = before
        stopping = ends.pop(stop)
        loop = Loop(bounds, index, test, [], [], Block(tape), [], self.values.truth(stopping))
        carried = {name: list(v) for name, v in leaves.items()}
        for name, values in carried.items():
            loop.carried += values
            loop.initial += initial[name]
        return loop, ends, carried

    def close(
        self, loop: Loop, before: dict, first: dict, specs: dict, ends: dict, carried: dict
    ) -> None:
        """Note a loop, and what the variables are after it."""
        after = dict(before)
        ranged = loop.bounds is not None and all(b.__class__ is int for b in loop.bounds)
        for name, spec in specs.items():
            made: list[Value] = []
            results: list[list[Any]] = [[], []]
            if spec[0] == "either" and self.values.spec(ends[name])[0] == "tensor" and (
                ranged or is_narrow(self.values.spec(first[name]))
            ):  # fmt: skip
                # Only after no turn it would still be a number.
                spec, loop.turns = ("tensor", *spec[1:3]), loop.turns or not ranged
            value = self.values.join(spec, [ends[name], first[name]], made, results)
            loop.body.results += results[0]
            loop.outs += made
            after[name] = value
            for v, end in zip(carried[name], results[0], strict=True):
                if v in self.values.overwritten and end.__class__ is Value:
                    self.values.only(end, [e for other, e in ends.items() if other != name])
                    self.values.overwrite(end)
        for name, end in ends.items():
            if name in specs or name in before:
                continue
            made, results = [], [[], []]
            try:
                spec = optional(self.values.spec(end))
                value = self.values.join(spec, [end, UNSET], made, results)
            except NotTraceable as why:
                after[name] = Lost(str(why))
                continue
            for v in made:
                phi = Value(self.values.trace, v.shape, v.dtype, example=v.example)
                loop.carried.append(phi)
                loop.initial.append(None)
            loop.body.results += results[0]
            loop.outs += made
            after[name] = value
        self.values.trace.tape.append(loop)
        self.frame.names = after

    # -- assignments -----------------------------------------------------------------------------

    def store(self, target: Any, value: Any) -> Lowering:
        """Assign a value to a target."""
        if isinstance(target, n.Name):
            if value.__class__ is ByTurn:
                raise NotTraceable("an iterator with a name")
            if value.__class__ is list:
                self.values.name(value)
            if value.__class__ is Value:
                if value in self.values.bound:
                    self.values.fresh.discard(value)
                self.values.bound.add(value)
            self.frame.names[target.id] = value
            return
        if isinstance(target, n.Tuple | n.List):
            if isinstance(value, Tensor) or value.__class__ is Value:
                value = self.values.items(value)
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
            self.values.writable(held)
            held[index] = self.values.keep(value)
            return
        raise NotTraceable("an assignment to an attribute")

    def put(self, target: n.Expr, held: Value, index: Any, value: Any) -> None:
        """``x[index] = value`` of a tensor that one name has: a new value of that name."""
        if not isinstance(target, n.Name) or target.id not in self.frame.names:
            raise NotTraceable("a write to a tensor that something else may have")
        self.frame.names[target.id] = self.values.written(held, index, value)

    def Assign(self, node: n.Assign) -> Lowering:
        """``a = b = value``."""
        target, given = node.targets[0], node.value
        if isinstance(target, n.Tuple) and isinstance(given, n.Tuple) and (
            len(node.targets) == 1 and len(target.items) == len(given.items)
        ):  # fmt: skip
            parts = []  # of which no tuple remains
            for item in given.items:
                parts.append((yield item))
            for inner, part in zip(target.items, parts, strict=True):
                yield self.store(inner, part)
            return
        value = yield given
        if is_dynamic(value) and isinstance(value, Range):
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
                old = self.values.pick(held, index) if is_dynamic(index) else held[index]
                made = self.values.binary(op, old, (yield node.value))
                return self.put(node.target.value, held, index, made)
            if held.__class__ is not list:
                raise NotTraceable("a write to an item")
            if index.__class__ is not int:
                raise NotTraceable("a computed index of a list")
            self.values.writable(held)
            old = held[index]
            value = yield node.value
            if not isinstance(old, int | float | PyNumber):
                raise NotTraceable("a write to a tensor in a list")
            held[index] = self.values.binary(op, old, value)
            return
        old = yield node.target
        value = yield node.value
        if old.__class__ is list or isinstance(old, Tensor):
            raise NotTraceable("a write in place")
        made = self.values.binary(op, old, value)
        if old.__class__ is Value:
            same = made.__class__ is Value and made.shape == old.shape and made.dtype is old.dtype
            if not same or old not in self.values.fresh:
                raise NotTraceable("a write to a tensor that something else may have")
            self.values.writers[made.source] = old
            self.values.overwrite(old)
            self.values.fresh.add(made)
        yield self.store(node.target, made)

    def ExprStmt(self, node: n.ExprStmt) -> Lowering:
        """An expression; outside functions its value becomes the result."""
        value = yield node.value
        if self.frame.parent is None:
            self.frame.names["<result>"] = self.values.bind(value)

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
        if (left := f"<left{len(self.loops) - 1}>") in self.frame.names:
            self.frame.names[left] = True
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
        test = self.values.truth((yield node.test))
        if test.__class__ is bool:
            if not test:
                raise NotTraceable("an assertion that fails")
            return
        self.values.trace.tape.append(Check(test))

    def With(self, node: n.With) -> Lowering:
        """Gradient modes."""
        if len(node.items) != 1 or node.items[0].target is not None or exits(node):
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
