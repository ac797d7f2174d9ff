"""Functions composed of operators, expanded: run on stand-ins that record the operators.

``lerp``, ``cross``, ``matrix_power``, ``huber_loss`` are written as Python that calls operators.
Here they are read once more, as they stand: a stand-in has the rank and the sizes of what it stands
for, and every operator that is applied to one becomes a step of the formula. What looks at numbers,
or gives several results, has no closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType, bool_, float64
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.printer import unparse
from gradcli.ops.declaration.infix import put_signs
from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic.expr import sizes
from gradcli.symbolic.program.lookup import called_by_name
from gradcli.symbolic.program.steps import DATA, Step, is_test
from gradcli.symbolic.unsupported import at, no_closed_form

_ASKED = {"cross": "3"}
"""Functions that take vectors of one size only."""


class Extent:
    """The size of a dimension that has no number yet, or a product of such."""

    __slots__ = ("dims", "of", "work")

    def __init__(self, work: _Expansion, dims: tuple[int, ...]) -> None:
        self.work = work
        self.of = work.unifier
        self.dims = dims

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Extent):
            return Extent(self.work, (*self.dims, *other.dims))
        if isinstance(other, int):
            more = () if other == 1 else (self.of.new(str(other)),)
            return Extent(self.work, (*self.dims, *more))
        return NotImplemented

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Stand:
        return OPERATORS["add"](self.stand(), other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Stand:
        return OPERATORS["sub"](self.stand(), other)

    def __truediv__(self, other: Any) -> Stand:
        return OPERATORS["div"](self.stand(), other)

    def __rtruediv__(self, other: Any) -> Stand:
        return OPERATORS["div"](other, self.stand())

    def stand(self) -> Stand:
        """The size as a number of the formula."""
        return Stand(self.work, self.work._number(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Extent):
            return False
        roots = [sorted(x.of.root(d) for d in x.dims) for x in (self, other)]
        if roots[0] == roots[1]:
            return True
        free = [x.of.size(x.dims[0]) is None for x in (self, other)]
        if len(self.dims) == len(other.dims) == 1 and any(free):
            self.of.join(self.dims[0], other.dims[0], self.of.steps[-1])  # asked: so it must be
            return True
        return False

    def __lt__(self, _other: object) -> bool:
        return False  # a size without a number is as large as it takes

    __le__ = __lt__

    def __gt__(self, _other: object) -> bool:
        return True

    __ge__ = __gt__

    def __hash__(self) -> int:
        return hash(self.dims)

    def __str__(self) -> str:
        total = "1"
        for size in map(self.of.size, self.dims):
            if size is None:
                return "?"  # any
            total = sizes.times(total, size)
        return total

    __repr__ = __str__  # in messages


class Stand:
    """Stands for the value of one step."""

    __slots__ = ("place", "work")
    __gradcli_rank__ = 1000
    __array_priority__ = 3000
    requires_grad = False

    def __init__(self, work: _Expansion, place: int) -> None:
        self.work = work
        self.place = place

    @property
    def dtype(self) -> DType:
        """Formulas are of real numbers and of truth values."""
        return bool_ if is_test(self.work.steps[self.place].op) else float64

    def __gradcli_apply__(self, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Stand:
        return self.work.applied(op, args, params)

    shape = property(lambda self: tuple(map(self.work.entry, self.work.shapes[self.place])))
    """The sizes: numbers where they are known."""
    ndim = property(lambda self: len(self.work.shapes[self.place]), doc="The number of dimensions.")
    T = property(lambda self: OPERATORS["reverse_dims"](self), doc="Dimensions in reverse order.")
    mT = property(lambda self: OPERATORS["mT"](self), doc="The last two dimensions exchanged.")

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    def numel(self) -> Any:
        """The number of entries."""
        return prod(self.shape)

    def t(self) -> Stand:
        """A matrix's transpose."""
        return self.T

    def is_complex(self) -> bool:
        """Formulas are real."""
        return False

    def is_floating_point(self) -> bool:
        """Formulas are of real numbers."""
        return True

    def to(self, *_dtype: Any, **_options: Any) -> Stand:
        """The same: a formula has no dtype."""
        return self

    def __getitem__(self, index: Any) -> Stand:
        return OPERATORS["getitem"](self, index=index)

    __iter__ = None
    """Else Python would ask for entries without end."""

    def __repr__(self) -> str:
        return unparse(self.work.steps[self.place].node)  # in messages

    def __bool__(self) -> bool:
        raise no_closed_form("a choice that depends on a value (write where)")

    def __getattr__(self, name: str) -> Any:
        op = called_by_name(name)
        if op is None or name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **params: op(self, *args, **params)


put_signs(Stand)
Stand.__name__ = "formula"  # in messages of functions that it was given to
Stand.__hash__ = object.__hash__  # type: ignore[method-assign]


class _Expansion:
    """The steps made so far with their shapes, and the step that is expanded."""

    def __init__(self, unifier: Any, steps: list[Step], shapes: list[tuple], step: Step) -> None:
        self.unifier = unifier
        self.steps = steps
        self.shapes = shapes
        self.step = step

    def entry(self, d: int | None) -> Any:
        """A dimension as it stands in a shape."""
        if d is None:
            return 1
        size = self.unifier.size(d)
        return int(size) if size is not None and size.isdigit() else Extent(self, (d,))

    def applied(self, op: Any, args: Sequence[Any], params: Mapping[str, Any]) -> Stand:
        """A step more; of an operator that only a formula says, the steps of that."""
        if op.formula is not None and not (op.public or op.numpy or op.kink):
            return op.formula(*args, **params)
        inputs = [a.place if isinstance(a, Stand) else self._number(a) for a in args]
        return self._kept(Step(op.name, self.step.node, inputs, dict(params)))

    def _number(self, value: Any) -> int:
        if isinstance(value, Extent):
            return self._kept(Step("size", self.step.node, value=value)).place
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, bool | int | float | Fraction):
            exact = value if isinstance(value, float) else Fraction(value)
            shown = int(value) if isinstance(value, bool | Fraction) else value
            return self._kept(Step("number", n.Number(shown, repr(shown)), value=exact)).place
        raise no_closed_form(f"a {type(value).__name__}")

    def _kept(self, step: Step) -> Stand:
        self.steps.append(step)
        self.shapes.append(self.unifier.shape(step, [self.shapes[i] for i in step.inputs]))
        return Stand(self, len(self.steps) - 1)


def expand(unifier: Any, steps: list[Step], shapes: list[tuple], step: Step) -> int:
    """Append the steps of a composed function; the place of its result.

    Raises a fault (E0701) for a function that cannot be expanded, and what it raises itself.
    """
    function: Callable = step.params["function"]
    name = function.__name__
    before = len(steps)
    for i in step.inputs:
        if name in _ASKED and shapes[i] and shapes[i][-1] is not None:
            unifier.join(shapes[i][-1], unifier.new(_ASKED[name]), step)
    work = _Expansion(unifier, steps, shapes, step)
    given = iter([Stand(work, i) for i in step.inputs])

    def filled(a: Any) -> Any:
        if isinstance(a, list):
            return [filled(x) for x in a]
        return next(given) if a is DATA else a

    args = [filled(a) for a in step.params["args"]]
    options = {k: filled(a) for k, a in step.params["options"].items()}
    if unifier.printed and name == "clamp":
        function = _between
    try:
        found = function(*args, **options)
    except Fault as fault:
        raise at(fault, unifier.source, step.node) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        found = None
    if isinstance(found, bool | int | float | np.generic) and step.params["args"]:
        return work._number(found)  # one of nothing is of the process: its seed
    if not isinstance(found, Stand):
        raise no_closed_form(f"`{name.lstrip('_')}`", unifier.source, step.node)
    if unifier.printed and name == "cross" and len(shapes[found.place]) == 1:
        shape = shapes[found.place]
        del steps[before:], shapes[before:]
        steps.append(Step("cross", step.node, step.inputs))
        shapes.append(shape)
        return before
    return found.place


def _between(input: Any, min: Any = None, max: Any = None) -> Any:
    """The value of ``clamp``, whose derivative at a bound is another."""
    out = input if min is None else OPERATORS["maximum"](input, min)
    return out if max is None else OPERATORS["minimum"](out, max)
