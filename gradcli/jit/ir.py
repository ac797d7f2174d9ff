"""The intermediate representation: values, the instructions that make them, and a flat program.

A value is single-assignment and typed by shape and dtype. It answers the operators' protocol, so a
function of tensors, or a derivative rule, that is called with values notes its operators on the
trace that the values belong to (``gradcli.jit.trace``). What would need a value's numbers, such as
``bool(x)`` or ``x.item()``, raises ``NotTraceable``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType, bool_
from gradcli.engine.grad_mode import mode
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.storage import Slots
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.declaration.infix import METHODS, by_sign
from gradcli.ops.operator import OPERATORS, Operator
from gradcli.transforms.tracer import Operand


class NotTraceable(BaseException):
    """A function does what a program of operators cannot say: it runs eagerly instead.

    ``at`` is where a program does it, as offsets in its text, where that is known. No handler of
    ``Exception`` takes it: one in the function would go down a path that no run on values takes.
    """

    at: tuple[int, int] | None = None


class FailedOnExample(NotTraceable):
    """An operator fails on the values that a function is traced with; on others it may not."""


def refusing(what: str) -> Any:
    """A method that raises NotTraceable: what a program of operators cannot say."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        raise NotTraceable(what)

    return method


class Value(Operand):
    """A typed value of a program.

    ``const``    the number that a constant is, or its array; None for what is computed
    ``source``   the instruction that computes it; None for inputs, captures and constants
    ``example``  its array on the inputs that were traced with, where it has been computed
    """

    __slots__ = ("const", "dtype", "example", "shape", "source", "trace")
    __gradcli_rank__ = 1.5  # above Tensors, below the tangents and batches of inner transforms
    __gradcli_traced__ = True  # for a rule that looks at numbers

    def __init__(
        self, trace: Any, shape: tuple[int, ...], dtype: DType, const: Any = None,
        example: Any = None,
    ) -> None:  # fmt: skip
        self.trace = trace
        self.shape = shape if shape.__class__ is Size else tuple.__new__(Size, shape)
        self.dtype = dtype
        self.const = const
        self.example = example
        self.source: Instruction | None = None

    def __gradcli_apply__(self, op: Operator, args: tuple, params: dict) -> Any:
        return self.trace.apply(op, args, params)

    def __gradcli_function__(self, definition: Any, *_: Any) -> Any:
        raise NotTraceable(f"the custom function {definition.__name__}")

    @property
    def _base(self) -> Value | None:
        """What it is made a view of by one step. Raises NotTraceable for what was given: that may
        be a view of something."""
        if (made := self.source) is None and self.const is None:
            raise NotTraceable("a tensor's _base")
        return made.args[0] if made and getattr(made.op, "moves", "") == "view" else None

    def detach(self) -> Value:
        """The same value, with no derivative."""
        return self.trace.apply(OPERATORS["clone"], (self,), {}, recorded=False)

    def __bool__(self) -> bool:
        return self.trace.decide(self)

    def __getattr__(self, name: str) -> Any:
        """Tensor's method of that name. Raises NotTraceable for what only a Tensor has."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if hasattr(Tensor, name) and name not in Slots.__slots__:
                raise NotTraceable(f"a tensor's {name}") from None
            raise

    # A program has types and no numbers.
    write = admit = refusing("a write in place")
    item = tolist = numpy = each_of = pick_from = put_at = refusing("a value's number")
    __float__ = __int__ = __index__ = __gradcli_like__ = item
    stride = storage_offset = strided = viewed = is_inference = item
    __format__ = __repr__ = refusing("a value's text")
    __array__ = refusing("a value as a NumPy array")
    array = property(refusing("something that reads a value's numbers"))
    requires_grad = grad = grad_fn = is_leaf = data = device = array


def _of_truths(op: Operator, turned: bool = False) -> Any:
    """``a & b`` of truths; of whole numbers it is about bits, for which there is no operator."""

    def method(self: Value, *other: Any) -> Any:
        given = (*other, self) if turned else (self, *other)
        if all(v is True or v is False or getattr(v, "dtype", None) is bool_ for v in given):
            return op(*given)
        raise NotTraceable("an operation on bits")

    return method


for _sign, _op in by_sign().items():
    if _op.dtypes == "keep":
        setattr(Value, f"__{METHODS[_sign]}__", _of_truths(_op))
        setattr(Value, f"__r{METHODS[_sign]}__", _of_truths(_op, turned=True))


def _invert(self: Value) -> Any:
    if mode.rebinds and not self.shape:
        raise NotTraceable("the bits of a number")
    return _of_truths(OPERATORS["logical_not"])(self)


setattr(Value, "__invert__", _invert)  # noqa: B010


@dataclass(eq=False, repr=False, slots=True)
class Instruction:
    """``out = op(*args, **params)``; ``args`` are values, numbers and NumPy scalars.

    ``op`` is an operator, or one of Python's operations in a program with control flow.

    ``recorded`` is whether gradient mode was on: only then does it have a derivative. ``fails``:
    of what may be Python's numbers, which raise an error where a tensor becomes infinite.
    """

    op: Any
    args: tuple
    params: dict[str, Any]
    out: Value
    recorded: bool
    fails: bool = False

    def inputs(self) -> Iterable[Value]:
        """The values among the arguments."""
        return (a for a in self.args if a.__class__ is Value)

    @property
    def raises(self) -> bool:
        """Whether it may raise an error that is the program's own: of a matrix, for example."""
        op = self.op
        if self.fails or not isinstance(op, Operator):
            return self.fails or op.raises
        return op.kind == "general" or (op.of_whole and self.out.dtype.kind < 2)


@dataclass(eq=False, repr=False, slots=True)
class Pack:
    """A result that is made of single values."""

    shape: tuple[int, ...]
    values: list[Value]


@dataclass(eq=False, repr=False, slots=True)
class Program:
    """Straight-line code: parameters, instructions, results.

    ``inputs`` are given by the caller of each run, ``captures`` belong to tensors and arrays that
    the traced function found outside, ``unpacked`` are the entries of small ones; ``outputs`` are
    values, or packs of them.
    """

    inputs: list[Value]
    captures: list[Value]
    instructions: list[Instruction]
    outputs: list[Any]
    unpacked: dict[Value, list[Value]] = field(default_factory=dict)

    def results(self) -> list[Any]:
        """The outputs, those of packs one by one."""
        return [v for out in self.outputs for v in (out.values if out.__class__ is Pack else [out])]

    def held(self) -> int:
        """The most bytes that its values take at a time: each until it, or a view of it, is read
        for the last time."""
        whole: dict[Any, Any] = {}  # what the memory of a view is of
        last: dict[Any, int] = {}
        for place, ins in enumerate(self.instructions):
            given = [whole.get(a, a) for a in ins.inputs()]
            last.update(dict.fromkeys((*given, ins.out), place))
            if getattr(ins.op, "moves", "") == "view" and given:
                whole[ins.out] = given[0]
        last.update((whole.get(v, v), len(self.instructions)) for v in self.results())
        ends: dict[int, list[int]] = {}
        most = now = 0
        for place, ins in enumerate(self.instructions):
            out = ins.out
            size = 0 if out in whole else math.prod(out.shape) * out.dtype.itemsize
            ends.setdefault(last[out], []).append(size)
            most = max(most, now := now + size)
            now -= sum(ends.get(place, ()))
        return most

    def names(self) -> dict[Value, str]:
        """A name for every value: x for inputs, k for captures, v for what is computed."""
        found = {v: f"x{i}" for i, v in enumerate(self.inputs)}
        found.update((v, f"k{i}") for i, v in enumerate(self.captures))
        for whole, entries in self.unpacked.items():
            found.update((v, f"{found[whole]}_{i}") for i, v in enumerate(entries))
        found.update((ins.out, f"v{i}") for i, ins in enumerate(self.instructions))
        return found

    def __str__(self) -> str:
        names = self.names()
        given = ", ".join(f"{names[v]}: {type_of(v)}" for v in (*self.inputs, *self.captures))
        lines = [f"program({given})"]
        for whole, entries in self.unpacked.items():
            lines.append(f"  {', '.join(names[v] for v in entries)} = {names[whole]}")
        lines.extend(f"  {line_of(ins, names)}" for ins in self.instructions)
        lines.append(f"  return {', '.join(shown(v, names) for v in self.outputs)}")
        return "\n".join(lines)


def shown(value: Any, names: dict[Value, str]) -> str:
    """An operand as the texts of a program show it."""
    if value.__class__ is Pack:
        return f"[{', '.join(shown(v, names) for v in value.values)}]"
    if value.__class__ is Value:
        if value not in names:
            return shown(value.const, names)
        return names[value]
    if isinstance(value, np.ndarray) and value.ndim:
        return f"array{list(value.shape)}"
    return repr(value.item()) if isinstance(value, np.generic | np.ndarray) else repr(value)


def line_of(ins: Instruction, names: dict[Value, str]) -> str:
    """``v1: float64 = mul x0 v0``."""
    words = [ins.op.name, *(shown(a, names) for a in ins.args)]
    words += [f"{n}={shown(p, names)}" for n, p in ins.params.items()]
    return f"{names[ins.out]}: {type_of(ins.out)} = {' '.join(words)}"


def type_of(value: Value) -> str:
    """``float64[3, 2]``, and for a single number the dtype alone."""
    sizes = ", ".join(map(str, value.shape))
    return f"{value.dtype.name}[{sizes}]" if value.shape else value.dtype.name
