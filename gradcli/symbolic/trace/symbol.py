"""Symbols: what an operator is given so that it builds a formula instead of numbers.

A symbol takes part in the operators' protocol, so that derivative rules run on it unchanged. It
holds a tensor, its visible axes (a label, or None for an axis of size 1), and may carry hidden
labels: those of the variable by which is differentiated. ``.shape``, ``.ndim`` and axis numbers see
the visible part only, so a rule that was written for gradients gives a whole Jacobian.
"""

from __future__ import annotations

import math
from _thread import _local as local
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from gradcli.ops.declaration.infix import put_signs
from gradcli.ops.errors import Fault
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.expr.elementwise import applied
from gradcli.symbolic.unsupported import no_closed_form

Axes = tuple["v.Label | None", ...]


class Symbol:
    """A formula with axes. Every operator of ``OPERATION`` can be applied to it."""

    __slots__ = ("axes", "tensor")
    __gradcli_rank__ = 1000
    __array_priority__ = 3000
    __hash__ = object.__hash__

    def __init__(self, tensor: v.Tensor, axes: Axes = ()) -> None:
        self.tensor = tensor
        self.axes = axes

    def __gradcli_apply__(self, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Symbol:
        operation = OPERATION.get(op.name)
        symbols = [as_symbol(a) for a in args]
        if operation is not None:
            try:
                return operation(*symbols, **params)
            except Fault:
                raise
            except (TypeError, ValueError, OverflowError):  # a parameter of another kind
                raise no_closed_form(f"`{op.name}` of these arguments") from None
        plain = all(type(p) in (int, float) for p in params.values())
        known = op.entrywise and op.kind in ("elementwise", "constant") and op.public
        if known and plain and (op.formula is None or op.breaks):
            # Parameters that are numbers are arguments of the call, as they are written. Pieces
            # that are composed stay one call: written out they double at each level.
            usual = params == {name: op.params[name] for name in params}
            return call(op.name, [*symbols, *map(as_symbol, () if usual else params.values())])
        if op.formula is not None:
            return op.formula(*symbols, **params)
        raise no_closed_form(f"`{op.name}`")

    @property
    def shape(self) -> tuple:
        """The visible sizes: numbers where known, else symbols of dimensions."""
        return tuple(1 if x is None else _size(x[0]) for x in self.axes)

    @property
    def ndim(self) -> int:
        """The number of visible axes."""
        return len(self.axes)

    @property
    def T(self) -> Symbol:
        """The axes in reverse order."""
        return Symbol(self.tensor, self.axes[::-1])

    def number(self) -> Fraction | None:
        """The value of a symbol that is a plain number, else None."""
        return self.tensor.number()

    def __neg__(self) -> Symbol:
        return Symbol(v.scale(self.tensor, -1), self.axes)

    def __bool__(self) -> bool:
        found = self.number()
        if found is None:
            raise no_closed_form("a choice that depends on a value (write where)")
        return found != 0

    def __repr__(self) -> str:
        return f"Symbol({self.tensor.key!r}, {self.axes!r})"


class Size(Symbol):
    """The size of a dimension that has a name: equal to itself only, and a number in formulas."""

    __slots__ = ("dimension",)

    def __init__(self, dimension: str) -> None:
        super().__init__(v.size(dimension))
        self.dimension = dimension

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and other.dimension == self.dimension

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.dimension)


def _size(dimension: str) -> Any:
    return int(dimension) if dimension.isdigit() else Size(dimension)


def dimension_of(entry: Any) -> str | None:
    """The name of the dimension that an entry of a shape stands for; None for size 1."""
    if isinstance(entry, Size):
        return entry.dimension
    return None if entry == 1 else str(entry)


put_signs(Symbol)
Symbol.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]


def _constants() -> dict[float, v.Tensor]:
    """What the floats of rules stand for: logarithms, roots, and powers of pi."""
    pi = v.factor(v.base("constant", "pi"))
    two = v.number(2)
    half = Fraction(1, 2)
    found = {math.log(n): v.factor(v.base("call", "log", (v.number(n),))) for n in (2, 10)}
    found |= {n**0.5: v.power(v.number(n), half) for n in (2, 3)}
    for power in (Fraction(1), Fraction(-1), half, -half):
        found[math.pi**power] = v.power(pi, power)
        if power.denominator == 2:
            found[(2 * math.pi) ** power] = v.mul(v.power(two, power), v.power(pi, power))
    return found


def _constant(value: float) -> v.Tensor:
    """A float of many digits as a small multiple of a known constant; else as the decimal it is."""
    if len(repr(value)) > MANY_DIGITS:
        for known, tensor in _constants().items():
            share = Fraction(value / known).limit_denominator(12)
            if share and abs(float(share) * known - value) <= 4e-16 * abs(value):
                return v.mul(v.number(share), tensor)
    return v.number(Fraction(repr(value)))


MANY_DIGITS = 14
"""Characters of a float from which on it is held to be more than a decimal."""


def as_symbol(value: Any) -> Symbol:
    """A number, a truth value or a symbol as a symbol. Raises a fault for anything else."""
    if isinstance(value, Symbol):
        return value
    if isinstance(value, bool | int | Fraction):
        return Symbol(v.number(int(value) if isinstance(value, bool) else value))
    if isinstance(value, float):
        if value - value == 0:
            return Symbol(_constant(value))
        raise no_closed_form("an infinite value or NaN")
    raise no_closed_form(f"a {type(value).__name__}")


# ---- Rules look away from kinks ------------------------------------------------------------------


class _Looking(local):
    """Whether this thread traces a rule, and not a value."""

    generic = False


_looking = _Looking()


@contextmanager
def inside_a_rule() -> Iterator[None]:
    """Within this block two different symbols never are equal.

    Rules guard isolated points (``where(out == 0, 1.0, out)``); a formula speaks of all the others.
    """
    before = _looking.generic
    _looking.generic = True
    try:
        yield
    finally:
        _looking.generic = before


def in_a_rule() -> bool:
    """Whether a derivative rule is being traced."""
    return _looking.generic


class Ties(local):
    """What became of ``u == v`` in the rules since ``seen`` was emptied; ``wrt`` is the variable.

    "left"   they are equal at isolated points, which the formula leaves out
    "kept"   the formula holds where they are equal on more than that
    "both"   it does, and leaves isolated points out
    "one"    one entry only was taken as the largest
    """

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.wrt = ""


ties = Ties()


def aligned(symbols: Sequence[Symbol]) -> tuple[list[v.Tensor], Axes]:
    """Tensors with common labels on their broadcast axes, and these axes."""
    whole = [s.axes for s in symbols if s.axes]
    if not whole or (len({*whole}) == 1 and _in_order(whole[0])):
        return [s.tensor for s in symbols], whole[0] if whole else ()
    rank = max(map(len, whole))
    axes: list[Any] = [None] * rank
    for s in symbols:
        for i, x in enumerate(s.axes, rank - len(s.axes)):
            if x is None:
                continue
            if axes[i] is None:
                axes[i] = v.fresh(x[0])
            elif axes[i][0] != x[0]:
                raise no_closed_form(f"joining dimensions {axes[i][0]} and {x[0]} entry by entry")
    found = []
    for s in symbols:
        shift = rank - len(s.axes)
        names = {x: axes[i + shift] for i, x in enumerate(s.axes) if x is not None}
        found.append(v.relabel(s.tensor, names))
    return found, tuple(axes)


def _in_order(axes: Axes) -> bool:
    """Whether axes have distinct labels, in the order in which those were made."""
    numbers = [x[1] for x in axes if x is not None]
    return numbers == sorted({*numbers})


def call(name: str, symbols: Sequence[Symbol]) -> Symbol:
    """The operator of that name applied entry by entry."""
    tensors, axes = aligned(symbols)
    return Symbol(applied(name, tensors), axes)


OPERATION: dict[str, Any] = {}
"""What an operator does to symbols, by name. Values only: derivatives come from the rules."""


def operation(*names: str) -> Any:
    """Register what the operators of these names do to symbols."""

    def keep(function: Any) -> Any:
        for name in names:
            OPERATION[name] = function
        return function

    return keep
