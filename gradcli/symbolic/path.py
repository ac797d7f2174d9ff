"""Programs: the path that given values take, as straight-line steps, and its closed form.

The program itself is run, on values that are a number and a step of a formula at once. Operators
compute the number and write down the step; where the program asks whether something holds, the
number decides and the question is kept as a condition. What was written down is a formula that
holds for all values that take the same path.

    b = a*2                          step 1: a*2
    while b.norm() < 1000:           condition: b.norm() < 1000 held 9 times
        b = b*2                      steps 2 ... 10
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.engine.creation import as_tensor
from gradcli.engine.modes import mode
from gradcli.engine.tensor import Tensor
from gradcli.language import names
from gradcli.language import nodes as n
from gradcli.language.check import check
from gradcli.language.printer import unparse
from gradcli.language.run import FILE, Limits, Outcome, Program
from gradcli.ops.core import OPERATORS, Operator
from gradcli.ops.errors import RuntimeFault, ValueFault
from gradcli.ops.indexing import is_basic
from gradcli.symbolic.program import COMPARISON, Step
from gradcli.symbolic.unsupported import at, no_closed_form, too_large

MOST_STEPS = 20_000
_FILLING = frozenset(("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "empty"))
_VIEWS = frozenset((
    "reshape", "expand", "transpose", "reverse_dims", "mT", "permute", "squeeze", "unsqueeze",
    "diagonal", "real",
))  # fmt: skip
NEEDS_VALUES = "E0703"


class Condition:
    """A question that the program asked: its text, its line, and the answers in order."""

    __slots__ = ("answers", "line", "node", "text")

    def __init__(self, text: str, line: int, node: n.Node | None) -> None:
        self.text = text
        self.line = line
        self.node = node
        self.answers: list[bool] = []

    def __str__(self) -> str:
        held = sum(self.answers)
        last = self.answers[-1]
        if held == len(self.answers) or (held == len(self.answers) - 1 and not last and held):
            return self.text if held == 1 and last else f"{self.text} held {_times(held)}"
        if not held:
            times = len(self.answers)
            return f"{self.text} did not hold" + (f" {_times(times)}" if times > 1 else "")
        return f"{self.text} held {held} of {len(self.answers)} times"

    def record(self) -> dict[str, Any]:
        """The condition as plain data."""
        return {
            "condition": self.text, "line": self.line, "held": sum(self.answers),
            "asked": len(self.answers),
        }  # fmt: skip


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def conditions_text(conditions: Sequence[Condition]) -> str:
    """``valid while b.norm() < 1000 held 9 times and b.sum() > 0``; "" without conditions."""
    if not conditions:
        return ""
    return "valid while " + " and ".join(map(str, conditions))


class Tape:
    """What a run wrote down: steps, conditions, constants that have no short name."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.steps: list[Step] = []
        self.lines: list[int] = []
        self.detached: set[int] = set()
        self.asked: dict[tuple[int, str], list[bool]] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.result: Pair | None = None
        self._moving: list[bool] = []

    def write(self, op: str, inputs: Sequence[int] = (), params: Any = None, value: Any = None,
              node: n.Node | None = None) -> int:  # fmt: skip
        """One more step; its index."""
        if len(self.steps) > MOST_STEPS:
            raise too_large()
        self.steps.append(Step(op, node or self.program.checked.module, inputs, params, value))
        self.lines.append(_line())
        return len(self.steps) - 1

    def variable(self, name: str, value: Tensor) -> Pair:
        """A variable of the formula."""
        return Pair(self, self.write("name", value=name), value)

    def place(self, value: Any) -> int:
        """The step of an argument: its own, or a constant."""
        if isinstance(value, Pair):
            return value.fresh().index
        if isinstance(value, Tensor):
            value = value.detach().array
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise no_closed_form(f"a constant of type {type(value).__name__}")
        if not array.ndim:
            return self.number(array.item())
        dims = tuple(map(str, array.shape))
        if array.size and np.all(array == array.flat[0]) and np.isfinite(array.flat[0]):
            made = self.write("ones", value=dims)
            if array.flat[0] == 1:
                return made
            return self.write("mul", (self.number(array.flat[0].item()), made))
        if array.ndim == 2 and len(set(dims)) == 1 and np.array_equal(array, np.eye(len(array))):
            return self.write("eye", value=dims)
        known = {*self.program.checked.outer, *self.program.checked.bound}
        name = next(
            c for c in (f"c{i}" for i in range(1, 10**6)) if c not in known
            and c not in self.constants
        )  # fmt: skip
        self.constants[name] = np.asarray(array, np.float64)
        return self.write("name", value=name)

    def made(self, function: Any, called: Any) -> Any:
        """What fills a tensor makes a step here: entries may be written into it later."""
        if not any(function is names.NAMES.get(name) for name in _FILLING):
            return called

        def filled(*args: Any, **options: Any) -> Any:
            value = called(*args, **options)
            plain = value.__class__ is Tensor and not options.get("requires_grad")
            if not plain or not value.dtype.differentiable:
                return value
            return Pair(self, self.place(value), value).detach()

        return filled

    def moves(self, index: int) -> bool:
        """Whether a step depends on a variable."""
        while len(self._moving) < len(self.steps):
            s = self.steps[len(self._moving)]
            known = s.op == "name" and s.value not in self.constants
            self._moving.append(known or any(self._moving[i] for i in s.inputs))
        return self._moving[index]

    def number(self, value: Any) -> int:
        """The step of a number."""
        if value - value != 0:
            raise no_closed_form("an infinite number or NaN")
        value = int(value) if isinstance(value, bool) else value
        return self.write("number", value=Fraction(repr(value)), node=n.Number(value, repr(value)))

    def apply(self, op: Operator, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """An operator on pairs: the number, and the step."""
        numbers = [a.fresh().value if isinstance(a, Pair) else a for a in args]
        value = op(*numbers, **params)
        name = "diag" if op.name in ("undiagonal", "diagonal") else op.name
        kept = {} if name == "diag" else params
        index = self.write(name, [self.place(a) for a in args], kept)
        made = Pair(self, index, value)
        made = made if mode.grad else made.detach()
        if op.name == "getitem" or op.name in _VIEWS:
            made.seen_of(args[0], params.get("index") if op.name == "getitem" else None)
        return made

    def ask(self, pair: Pair, answer: bool) -> None:
        """Keep a question and its answer."""
        if not self.moves(pair.index):
            return
        step = self.steps[pair.index]
        name = step.value if step.op == "name" else step.op
        self.asked.setdefault((self.lines[pair.index], name), []).append(answer)

    def used(self, pair: Pair, number: float) -> None:
        """Keep that a value was taken as a plain number, on which the rest may depend."""
        if not self.moves(pair.index):
            return
        step = self.steps[pair.index]
        name = step.value if step.op == "name" else ""
        text = f"int({name})" if isinstance(number, int) and name else name
        key = (self.lines[pair.index], f"{text} == {number!r}".lstrip())
        self.asked.setdefault(key, []).append(True)

    def conditions(self, places: Sequence[n.Node]) -> list[Condition]:
        """The questions in the order in which they were first asked, in the program's words."""
        found: dict[tuple, Condition] = {}
        source = self.program.source
        for (line, op), answers in self.asked.items():
            node = places[line - 1] if 0 < line <= len(places) else None
            text = op if node is None else _words(node, op)
            where = 0 if node is None else source.place(node.start)[0]
            found.setdefault((text, where), Condition(text, where, node)).answers += answers
        return list(found.values())


def _words(node: n.Node, op: str) -> str:
    """What was asked, as the program says it."""
    if isinstance(node, n.Compare):
        sides = [node.left, *node.rights]
        for i, sign in enumerate(node.ops):  # Python turns 0 < x into x > 0
            turned = isinstance(sides[i], n.Number)
            if COMPARISON.get(sign) == (_MIRRORED.get(op) if turned else op):
                return f"{unparse(sides[i])} {sign} {unparse(sides[i + 1])}"
        return unparse(node)
    if not isinstance(node, n.Expr):
        node = getattr(node, "test", None) or getattr(node, "iter", None) or getattr(
            node, "value", node
        )  # fmt: skip
    text = unparse(node) if isinstance(node, n.Expr) else "a value"
    return f"{text} {op}" if op.startswith("==") else text


_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _line() -> int:
    """The line of generated code that is being run: the number of a node of the program."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == FILE:
            return frame.f_lineno or 0
        frame = frame.f_back  # type: ignore[assignment]
    return 0


class Pair:
    """A number that also is a step of the formula."""

    __slots__ = ("index", "parent", "place", "seen", "tape", "value", "version", "viewed")
    __gradcli_rank__ = 900
    __array_priority__ = 3000
    __hash__ = object.__hash__

    def __init__(self, tape: Tape, index: int, value: Any) -> None:
        self.tape = tape
        self.index = index
        self.value = value
        self.version = 0  # how often it was written to
        self.viewed = False  # whether a view other than of entries was taken of it
        self.parent: Pair | None = None  # what it is a view of
        self.place: Any = None  # the entries that it is a view of, None for another view
        self.seen = 0  # the parent's version when it was last looked at

    # -- writing in place ------------------------------------------------------------------------

    def seen_of(self, parent: Any, place: Any) -> None:
        """Note that this is a view of entries of ``parent``, or (place None) of another kind."""
        if not isinstance(parent, Pair):
            return
        parts = place if isinstance(place, tuple) else (place,)
        if place is not None and not is_basic(parts):
            return
        self.parent, self.place, self.seen = parent, place, parent.version
        if place is None:
            parent.viewed = True

    def fresh(self) -> Pair:
        """Itself, read again where what it is a view of has been written to."""
        chain = []
        here: Pair | None = self
        while here is not None:
            chain.append(here)
            here = here.parent
        for view in reversed(chain):
            parent = view.parent
            if parent is not None and parent.version != view.seen:
                again = self.tape.apply(OPERATORS["getitem"], (parent,), {"index": view.place})
                view.index, view.value, view.seen = again.index, again.value, parent.version
                view.version += 1
        return self

    def become(self, made: Pair) -> Pair:
        """Take another's value: a write in place, seen by every name and by what it views."""
        views, here = [], self
        while True:
            if here.viewed or (here.parent is not None and here.place is None):
                raise no_closed_form("a write in place to what another view looks at")
            views.append(here)
            if here.parent is None:
                break
            here = here.parent
        for view in views:
            view.index, view.value = made.index, made.value
            view.version += 1
            if view.parent is not None:
                made = self.tape.apply(OPERATORS["put"], (view.parent, made), {"index": view.place})
                view.seen = view.parent.version + 1
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        parts = index if isinstance(index, tuple) else (index,)
        if not is_basic(parts):
            raise no_closed_form("an assignment to entries by a mask or an array of numbers")
        self.fresh().become(OPERATORS["put"](self, value, index=index))

    def __gradcli_apply__(self, op: Operator, args: Sequence[Any], params: dict[str, Any]) -> Any:
        return self.tape.apply(op, args, params)

    def detach(self) -> Pair:
        """The same value without a derivative."""
        index = self.tape.write("clone", (self.index,))
        self.tape.detached.add(index)
        return Pair(self.tape, index, self.value)

    def item(self) -> Pair:
        """The one entry: a plain number in the program, so it has no derivative."""
        as_tensor(self.value).item()
        return self.detach()

    def backward(self, *_args: Any, **_options: Any) -> None:
        """Refused: what is differentiated is the result, see ``up_to_backward``."""
        raise no_closed_form("backward() inside a loop, a branch or a function, or with arguments")

    # -- what it is ------------------------------------------------------------------------------

    shape = property(lambda self: as_tensor(self.value).shape, doc="The size of each dimension.")
    ndim = property(lambda self: len(self.shape), doc="The number of dimensions.")
    dtype = property(lambda self: as_tensor(self.value).dtype, doc="The element type.")
    T = property(lambda self: OPERATORS["reverse_dims"](self), doc="Dimensions in reverse order.")
    mT = property(lambda self: OPERATORS["mT"](self), doc="The last two dimensions exchanged.")
    data = property(lambda self: self.detach(), doc="The same value without a derivative.")
    requires_grad = property(lambda self: self.index not in self.tape.detached)
    is_leaf = property(lambda self: self.tape.steps[self.index].op == "name")

    @property
    def grad(self) -> Any:
        """Refused: the gradient is what is being asked for."""
        raise no_closed_form("`.grad` in the program")

    def __len__(self) -> int:
        return len(as_tensor(self.value))

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Any:
        return OPERATORS["getitem"](self, index=index)

    # -- Python's questions ----------------------------------------------------------------------

    def __bool__(self) -> bool:
        answer = bool(as_tensor(self.value))
        self.tape.ask(self, answer)
        return answer

    def __float__(self) -> float:
        number = float(as_tensor(self.value).item())
        self.tape.used(self, number)
        return number

    def __int__(self) -> int:
        number = int(as_tensor(self.value).item())
        self.tape.used(self, number)
        return number

    __index__ = __int__

    def __format__(self, spec: str) -> str:
        return format(as_tensor(self.value), spec)

    def __repr__(self) -> str:
        return repr(as_tensor(self.value))

    def __neg__(self) -> Any:
        return OPERATORS["neg"](self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return OPERATORS["abs"](self)

    def __invert__(self) -> Any:
        return OPERATORS["logical_not"](self)


_WORDS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "matmul": "matmul",
    "mod": "remainder", "floordiv": "floor_divide", "and": "logical_and", "or": "logical_or",
}  # fmt: skip
for _word, _name in _WORDS.items():
    _op = OPERATORS[_name]
    setattr(Pair, f"__{_word}__", lambda self, other, op=_op: op(self, other))
    setattr(Pair, f"__r{_word}__", lambda self, other, op=_op: op(other, self))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Pair, f"__{_name}__", lambda self, other, op=OPERATORS[_name]: op(self, other))
Pair.__hash__ = object.__hash__  # type: ignore[method-assign]


def _in_place(op: Operator) -> Any:
    """The operator with its result written into its first argument, whose shape it keeps."""

    def method(self: Pair, *args: Any, **params: Any) -> Pair:
        if self.tape.steps[self.index].op == "name" and not self.version:
            raise no_closed_form("a write in place to a variable")
        made = op(self, *args, **params)
        if tuple(made.shape) != tuple(self.shape):
            raise no_closed_form("a write in place that changes the shape")
        return self.become(made)

    return method


for _word in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv"):
    setattr(Pair, f"__i{_word}__", _in_place(OPERATORS[_WORDS[_word]]))


def _same(self: Pair, *_args: Any, **_options: Any) -> Pair:
    """For methods that change nothing about a formula."""
    return self


def _sized(op: str) -> Any:
    def method(self: Pair, *sizes: Any) -> Any:
        if len(sizes) == 1 and isinstance(sizes[0], tuple | list):
            sizes = tuple(sizes[0])
        return OPERATORS[op](self, tuple(sizes))

    return method


def _extreme(name: str) -> Any:
    def method(self: Pair, *args: Any, **options: Any) -> Any:
        if not args and not options:
            return OPERATORS[f"a{name}"](self)
        if args and getattr(args[0], "__gradcli_rank__", 0):
            return OPERATORS[f"{name}imum"](self, args[0])
        raise no_closed_form(f"`.{name}` along a dimension")

    return method


def _methods() -> dict[str, Any]:
    """Every method that a tensor has in the language: done on pairs, or refused by name."""
    table: dict[str, Any] = {}
    for op in OPERATORS.values():
        for name in (op.name, *op.aliases):
            table[name] = lambda self, *args, op=op, **params: op(self, *args, **params)
    for op in OPERATORS.values():
        if op.kind in ("elementwise", "constant", "linear", "bilinear"):
            table.setdefault(f"{op.name}_", _in_place(op))
    for name in ("requires_grad_", "retain_grad", "contiguous", "to", "double", "cpu", "type_as"):
        table[name] = _same
    for name, op in (
        ("reshape", "reshape"), ("view", "reshape"), ("expand", "expand"), ("permute", "permute"),
    ):  # fmt: skip
        table[name] = _sized(op)
    table |= {
        "item": Pair.item, "detach": Pair.detach, "backward": Pair.backward,
        "size": lambda self, *a: as_tensor(self.value).size(*a), "dim": lambda self: self.ndim,
        "numel": lambda self: as_tensor(self.value).numel(),
        "t": lambda self: OPERATORS["mT"](self) if self.ndim == 2 else self,
        "max": _extreme("max"), "min": _extreme("min"),
    }  # fmt: skip

    def refused(name: str) -> Any:
        def method(self: Pair, *_args: Any, **_options: Any) -> Any:
            raise no_closed_form(f"`.{name}` in a program")

        return method

    return {name: table.get(name) or refused(name) for name in {*names.CALL[Tensor], *table}}


names.CALL[Pair] = _methods()
names.READ[Pair] = ("shape", "ndim", "dtype", "T", "mT", "data", "requires_grad", "is_leaf", "grad")


def follow(
    program: Program, values: Mapping[str, Any], of: str | None = None,
    limits: Limits | None = None, fixed: Sequence[str] = (),
) -> tuple[Tape, list[Condition]]:  # fmt: skip
    """Run a program on values and write its path down; ``tape.result`` is the last value.

    values   arrays by variable; those that are not floats, or are in ``fixed``, are constants

    Raises a fault (E0701) where a step has no formula, E0910 for a name ``of`` that is not there.
    """
    tape = Tape(program)
    given: dict[str, Any] = {}
    for name, value in values.items():
        tensor = as_tensor(value)
        traced = tensor.dtype.differentiable and name not in fixed
        given[name] = tape.variable(name, tensor) if traced else tensor
    done = program.run(given, limits=limits, instead=tape.made)
    found = result_of(program, done, of)
    if not isinstance(found, Pair):
        found = Pair(tape, tape.place(found), found)
    tape.result = found
    places = next(reversed(program._cache.values()))[1]
    return tape, tape.conditions(places)


def up_to_backward(program: Program) -> Program:
    """A program that ends with the value on which its first ``backward()`` is called."""
    body = program.checked.module.body
    for i, statement in enumerate(body):
        call = statement.value if isinstance(statement, n.ExprStmt) else None
        if not isinstance(call, n.Call) or not isinstance(call.func, n.Attribute):
            continue
        if call.func.name == "backward" and not call.args and not call.keywords:
            last = n.ExprStmt(call.func.value, statement.start, statement.end)
            module = n.Module((*body[:i], last), 0, statement.end)
            return Program(check(program.source, module))
    return program


def result_of(program: Program, outcome: Outcome, of: str | None) -> Any:
    """The value of a run: the variable ``of``, the last expression, or what was assigned last."""
    if of is not None:
        if of not in outcome.variables:
            raise ValueFault("E0910", f"--of {of}: the program leaves no variable of that name")
        return outcome.variables[of]
    if outcome.value is not None:
        return outcome.value
    body = program.checked.module.body
    last = body[-1] if body else None
    target: Any = None
    if isinstance(last, n.Assign):
        target = last.targets[0]
    elif isinstance(last, n.AugAssign):
        target = last.target
    if isinstance(target, n.Name) and target.id in outcome.variables:
        return outcome.variables[target.id]
    raise ValueFault(
        "E0314", "the text ends without a value",
        help="end with an expression, or name one with --of NAME",
    )  # fmt: skip


def needs_values(program: Program, conditions: Sequence[Condition], given: str) -> RuntimeFault:
    """The fault (E0703) for a path that cannot be followed without values."""
    fault = RuntimeFault(
        NEEDS_VALUES, f"the path through the program depends on values: {conditions[0].text}",
        help=f"give them, for example --{given} 1: the formula is then that of their path",
    )  # fmt: skip
    return at(fault, program.source, conditions[0].node)
