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
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.grad_mode import mode
from gradcli.engine.tensor.tensor import Tensor
from gradcli.functions.arithmetic import positive
from gradcli.functions.in_place import rebound
from gradcli.functions.subscripts import reads_number
from gradcli.language.limits.step_budget import FILE
from gradcli.language.names import attributes
from gradcli.language.names.table import NAMES
from gradcli.language.runtime.run import Program
from gradcli.language.syntax import nodes as n
from gradcli.ops.declaration.infix import METHODS, by_sign, put_signs
from gradcli.ops.indexing import is_basic
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.symbolic.program.conditions import Condition, words
from gradcli.symbolic.program.steps import COUNTED, Step
from gradcli.symbolic.unsupported import as_reals, no_closed_form, too_large

MOST_STEPS = 20_000
_FILLING = frozenset(("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "empty"))


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
        if isinstance(value, tuple):
            raise no_closed_form("a tuple")
        try:
            array = np.asarray(value)
        except ValueError:  # rows that differ in length, or more axes than NumPy has
            raise no_closed_form("a list that is no array") from None
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
        self.constants[name] = as_reals(name, array)
        return self.write("name", value=name)

    def made(self, function: Any, called: Any) -> Any:
        """What fills a tensor makes a step here: entries may be written into it later."""
        if not any(function is NAMES.get(name) for name in _FILLING):
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
        counts = COUNTED if mode.rebinds and op.of_truths and not np.ndim(value) else None
        index = self.write(name, [self.place(a) for a in args], kept, counts)
        made = Pair(self, index, value)
        made = made if mode.grad else made.detach()
        if op.moves == "view" or (mode.rebinds and op.name == "flip"):
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
            text = op if node is None else words(node, op)
            where = 0 if node is None else source.place(node.start)[0]
            found.setdefault((text, where), Condition(text, where, node)).answers += answers
        return list(found.values())


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

    def __gradcli_function__(self, definition: Any, *_: Any) -> Any:
        raise no_closed_form(f"the custom function {definition.__name__}")

    def detach(self) -> Pair:
        """The same value without a derivative."""
        index = self.tape.write("clone", (self.index,))
        self.tape.detached.add(index)
        return Pair(self.tape, index, self.value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """The same value, which is not written to with this one; of tensors it is a leaf."""
        if not mode.rebinds:
            raise no_closed_form("a copy of a tensor that has a derivative of its own")
        return OPERATORS["clone"](self)

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
    _base = property(lambda self: self.parent, doc="What it is a view of.")
    T = property(lambda self: OPERATORS["reverse_dims"](self), doc="Dimensions in reverse order.")
    mT = property(lambda self: OPERATORS["mT"](self), doc="The last two dimensions exchanged.")
    data = property(lambda self: self.detach(), doc="The same value without a derivative.")
    requires_grad = property(lambda self: self.index not in self.tape.detached)
    is_leaf = property(lambda self: self.tape.steps[self.index].op == "name")

    @property
    def grad(self) -> Any:
        """Refused: the gradient is what is being asked for."""
        raise no_closed_form("`.grad` in the program")

    def __getattr__(self, name: str) -> Any:
        """Refused: what else a tensor has is asked for by functions that compute with numbers."""
        if name.startswith("__") or not hasattr(Tensor, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise no_closed_form("a function that computes with the numbers of its argument")

    def __len__(self) -> int:
        return len(as_tensor(self.value))

    def __iter__(self) -> Any:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        found = OPERATORS["getitem"](self, index=index)
        if reads_number(found, index):
            found.parent = None
        return found

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


put_signs(Pair)
setattr(Pair, "__pos__", positive)  # noqa: B010
Pair.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]


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


for _sign in ("+", "-", "*", "/", "//", "%", "**"):
    setattr(Pair, f"__i{METHODS[_sign]}__", rebound(_in_place(by_sign()[_sign])))


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
        first: Any = args[0] if args else None
        if getattr(first, "__gradcli_rank__", 0):
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
    for op in OPERATORS.values():
        if op.sizes:
            table[op.name] = _sized(op.name)
    table["view"] = table["reshape"]
    table |= {
        "item": Pair.item, "detach": Pair.detach, "backward": Pair.backward,
        "copy": attributes.CALL[Tensor]["copy"],
        "size": lambda self, *a: as_tensor(self.value).size(*a), "dim": lambda self: self.ndim,
        "numel": lambda self: as_tensor(self.value).numel(),
        "t": lambda self: OPERATORS["mT"](self) if self.ndim == 2 else self,
        "max": _extreme("max"), "min": _extreme("min"),
    }  # fmt: skip

    def refused(name: str) -> Any:
        def method(self: Pair, *_args: Any, **_options: Any) -> Any:
            raise no_closed_form(f"`.{name}` in a program")

        return method

    return {name: table.get(name) or refused(name) for name in {*attributes.CALL[Tensor], *table}}


attributes.CALL[Pair] = _methods()
attributes.READ[Pair] = tuple(n for n, v in vars(Pair).items() if isinstance(v, property))
