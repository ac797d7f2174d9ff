"""Tracing: a function of tensors runs once on values, and what it does is noted as instructions.

Promotion is the engine's, noted as casts. The type of a result is found by a rule where that is
cheap: an entrywise operator broadcasts shapes, and its dtype is learnt once from single entries.
Any other operator is computed on the inputs that were traced with; what those computations need is
computed then and not before.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import current, set_grad_enabled, transformed
from gradcli.engine.record.apply import _promoted as promoted
from gradcli.engine.record.whole_numbers import bound, fits
from gradcli.engine.tensor.attributes import Size
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.jit.ir import FailedOnExample, Instruction, NotTraceable, Value
from gradcli.ops.errors import LimitFault
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS, Operator, is_number
from gradcli.transforms.tree import flatten

LONGEST = 50_000
"""How many instructions a trace may have: a longer one costs more than it brings."""

_SINGLE = Size()
_FLOATS = frozenset((dtypes.float64, dtypes.float32))
_dtypes: dict[tuple, dtypes.DType] = {}
_singles: dict[tuple, dtypes.DType] = {}
"""What an operator makes of single numbers of these dtypes and classes, which are not promoted."""
_types: dict[tuple, tuple] = {}


class Trace:
    """The tape that values note their operators on."""

    longest = LONGEST

    def __init__(self, forward: bool = False, records: bool = True) -> None:
        self.tape: list[Any] = []
        self.noted: list[Instruction] = []  # all of it, of the blocks of a program too
        self.captured: dict[int, tuple[Any, Value]] = {}
        self.inputs: list[Value] = []
        self.numbers: set[Value] = set()  # which are Python numbers, weak in promotion
        self.most: dict[Value, float] = {}  # what the size of whole numbers does not pass
        self.forward = forward  # whether tangents are to pass, as they do where gradients are off
        self.records = records  # whether what is recorded comes out as derivatives

    def input(self, array: Any) -> Value:
        """A value for one argument of the traced function."""
        return Value(self, np.shape(array), dtypes.dtype_of(array), example=array)

    def constant(self, array: Any) -> Value:
        """A value that is the same in every run."""
        return Value(self, np.shape(array), dtypes.dtype_of(array), const=array, example=array)

    def capture(self, found: Any) -> Value:
        """A value for a tensor or an array that was not given as an argument: read in every run."""
        held = self.captured.get(id(found))
        if held is None:
            array = found.array if isinstance(found, Tensor) else found
            held = self.captured[id(found)] = found, self.taken(array)
        return held[1]

    taken = input  # what stands for one

    def decide(self, value: Value) -> bool:
        """The truth of a value, asked for by control flow. Raises NotTraceable."""
        raise NotTraceable("control flow that depends on a value")

    def captures(self) -> list[tuple[Any, Value]]:
        """The captured tensors and arrays with their values."""
        return list(self.captured.values())

    def apply(
        self, op: Operator, args: Sequence[Any], params: dict, recorded: bool | None = None
    ) -> Value:
        """Note ``op(*args, **params)``. Raises NotTraceable where a parameter is a value."""
        if op.params:
            params = {**op.params, **params}
            for name, given in params.items():
                if isinstance(given, Tensor):
                    params[name] = given.array
                elif _holds_value(given):
                    raise NotTraceable(f"a computed {name} of {op.name}")
        key = self._single(op, args)
        dtype = _singles.get(key)  # type: ignore[arg-type]
        if dtype is not None:
            operands, shape, example = args, _SINGLE, None
        else:
            given = [self._operand(a) for a in args]
            operands = self._promoted(op, given)
            shape, dtype, example = self._typed(op, operands, params)
            if key is not None and not shape and all(map(operator.is_, given, operands)):
                _singles[key] = dtype
        state = current()
        if state.inference:
            raise NotTraceable("inference mode, whose results no rule may save")
        if state.saving:
            raise NotTraceable("hooks on what graphs save")
        if state.grad and not self.records:
            raise NotTraceable("gradients that are turned on, of which a value has none")
        if recorded is None:
            recorded = state.grad or self.forward
        out = Value(self, shape, dtype, example=example)
        if dtype.kind == 1 and state.exact:
            self.most[out] = self._most(op, operands, params, dtype)
        self.note(op, operands, out, recorded, params)
        if len(self.noted) > self.longest:
            raise NotTraceable("a program of that length")
        return out

    def _most(self, op: Operator, operands: Sequence[Any], params: dict, dtype: Any) -> float:
        """What the size of whole numbers does not pass. Raises NotTraceable where that could be
        more than their type has room for: the engine looks at the numbers."""
        sizes = [math.prod(np.shape(a)) for a in operands]
        most = [
            abs(a) if a.__class__ is not Value else 1 if a.dtype is dtypes.bool_
            else self.most.get(a, math.inf) for a in operands
        ]  # fmt: skip
        if not op.grows:  # places and counts, and what is moved
            return max(
                sum(sizes), *(0 if a.__class__ is Value and a.dtype.kind > 1 else b
                              for a, b in zip(operands, most, strict=True))
            )  # fmt: skip
        found = bound(op, most, sizes, params)
        if not fits(found, dtype.numpy):
            raise NotTraceable("whole numbers, of which the engine sees whether they lose bits")
        return found

    def note(
        self, op: Any, args: Sequence[Any], out: Value, recorded: bool = True, params: Any = None
    ) -> Value:
        """Note an operation, perhaps of Python's, whose result is of a known type."""
        out.source = Instruction(op, tuple(args), params or {}, out, recorded)
        self.tape.append(out.source)
        self.noted.append(out.source)
        return out

    def _single(self, op: Operator, args: Sequence[Any]) -> tuple | None:
        """What the type of an entrywise result depends on where all operands are single floats."""
        if op.params or not op.entrywise:
            return None
        key: list = [op]
        for a in args:
            cls = a.__class__
            if cls is float or cls is int:
                key.append(cls)
            elif cls is Value and not a.shape and a.dtype in _FLOATS and a.trace is self:
                key.append(cls if a in self.numbers else a.dtype)
            else:
                return None
        return tuple(key)

    def _operand(self, value: Any) -> Any:
        cls = value.__class__
        if cls is Value:
            if value.trace is not self:
                raise NotTraceable("a value of another trace")
            return value
        if is_number(value):
            return value
        if isinstance(value, Tensor | np.ndarray):
            return self.capture(value)
        if isinstance(value, np.generic):
            return value.item()
        raise NotTraceable(f"an operand of class {cls.__name__}")

    def _promoted(self, op: Operator, operands: list) -> list:
        """The operands in the dtypes that the engine computes with."""
        judged = operands[1:] if op.dtypes == "where" else operands
        common = None
        for a in judged:
            if a.__class__ is Value:
                plain = a.dtype.quick
                if not plain or (common is not None and a.dtype is not common):
                    break
                common = a.dtype
            elif a.__class__ is complex or a.__class__ is bool:  # which some operators refuse
                break
        else:
            if common is dtypes.float64 or (common is not None and op.dtypes != "where"):
                return operands
        tensors = [wrap(self.example(a), a.dtype) if a.__class__ is Value else a for a in operands]
        met = []
        for a, raw in zip(operands, promoted(op, tensors), strict=True):
            if a.__class__ is not Value:
                float64 = raw.__class__ is np.float64
                met.append(float(raw) if float64 else raw)
            elif raw.dtype == a.dtype.numpy:
                met.append(a)
            else:
                met.append(self.apply(OPERATORS["cast"], (a,), {"dtype": raw.dtype}))
        return met

    def _typed(self, op: Operator, operands: list, params: dict) -> tuple:
        """Shape and dtype of a result, and its array where that had to be computed."""
        frozen: Any = freeze(params) if params else ()
        if op.entrywise and frozen is not None:
            dtype = _entry_dtype(op, operands, params, frozen)
            if dtype is not None:
                return _broadcast(operands), dtype, None
        key = None
        if frozen is None:  # indices, perhaps of a tensor's numbers
            transformed.taken += 1
        else:
            key = (op.name, frozen, *(
                (a.dtype, a.shape) if a.__class__ is Value else (a.__class__, a) for a in operands
            ))  # fmt: skip
            if key in _types:
                return (*_types[key], None)
        example = _computed(op, [self.example(a) for a in operands], params)
        found = np.shape(example), dtypes.dtype_of(np.asarray(example))
        if key is not None:
            if len(_types) > 10_000:
                _types.clear()
            _types[key] = found
        return (*found, example)

    def example(self, value: Any) -> Any:
        """A value's array on the inputs that were traced with."""
        if value.__class__ is not Value or value.example is not None:
            return value.example if value.__class__ is Value else value
        stack: list[Any] = [value]
        while stack:
            ins = stack[-1].source
            missing = [a for a in ins.inputs() if a.example is None]
            if missing:
                stack += missing
                continue
            out = stack.pop()
            if out.example is None:
                charge_shape(out.shape, out.dtype.itemsize)
                given = [a.example if a.__class__ is Value else a for a in ins.args]
                out.example = _computed(ins.op, given, ins.params)
        return value.example


def _computed(op: Operator, args: list, params: dict) -> Any:
    """What an operator makes of the example. Raises FailedOnExample, LimitFault."""
    try:
        with np.errstate(all="ignore"):
            return op.compute(*args, **params)
    except LimitFault:
        raise
    except Exception as fault:
        raise FailedOnExample(f"{type(fault).__name__}: {fault}") from fault


def _entry_dtype(op: Operator, operands: list, params: dict, frozen: Any) -> Any:
    """The dtype of an entrywise result, learnt from single entries; None where they fail."""
    key = (op, frozen, *(a.dtype if a.__class__ is Value else a.__class__ for a in operands))
    dtype = _dtypes.get(key)
    if dtype is None:
        sample = [np.ones(1, a.dtype.numpy) if a.__class__ is Value else a for a in operands]
        try:
            with np.errstate(all="ignore"):
                out = op.compute(*sample, **params)
            dtype = dtypes.dtype_of(out)
        except Exception:
            return None
        if np.shape(out) != (1,):
            return None
        if len(_dtypes) > 10_000:
            _dtypes.clear()
        _dtypes[key] = dtype
    return dtype


def _broadcast(operands: list) -> tuple:
    shape: tuple = ()
    for a in operands:
        if a.__class__ is Value and a.shape != shape:
            if not shape:
                shape = a.shape
            elif a.shape:
                shape = np.broadcast_shapes(shape, a.shape)
    return shape


def _holds_value(tree: Any) -> bool:
    if tree.__class__ in (tuple, list):
        return any(_holds_value(part) for part in tree)
    return bool(getattr(tree, "__gradcli_rank__", 0))


def freeze(params: Any) -> Any:
    """Parameters as something hashable, equal where they are; None where they hold arrays."""
    cls = params.__class__
    if cls is dict:
        frozen = tuple([freeze(v) for v in params.values()])
    elif isinstance(params, tuple | list):
        frozen = cls, tuple([freeze(v) for v in params])
        return None if None in frozen[1] else frozen
    elif cls is slice:
        frozen = slice, freeze((params.start, params.stop, params.step))
    elif cls in (int, float, str, bool, complex):
        return cls, params, str(params) if cls in (float, complex) else ""
    elif params is None or params is Ellipsis or isinstance(params, np.dtype):
        return "", params
    else:
        return None
    return None if None in frozen else frozen


class Traced:
    """What one run of a function on values noted: the trace, its inputs and its results.

    ``recorded``: whether it ran in gradient mode.
    """

    def __init__(
        self, function: Callable[..., Any], arrays: Sequence[Any], trace: Trace | None = None,
        recorded: bool = True,
    ) -> None:  # fmt: skip
        self.trace = trace or Trace()
        self.inputs = self.trace.inputs = [self.trace.input(a) for a in arrays]
        drawing = random.drawing.set(NO_RANDOM)
        try:
            with set_grad_enabled(recorded):
                result = function(*self.inputs)
        finally:
            random.drawing.reset(drawing)
        leaves, self.form = flatten(result)
        self.outputs = [self._result(leaf) for leaf in leaves]

    def _result(self, leaf: Any) -> Any:
        if leaf.__class__ is Value and leaf.trace is self.trace:
            return leaf
        if isinstance(leaf, Tensor | np.ndarray):
            return self.trace.capture(leaf)
        raise NotTraceable(f"a result of class {leaf.__class__.__name__}")


def _no_random(make: Any, shape: Any) -> Any:
    raise NotTraceable("random numbers")


NO_RANDOM = random.Drawing(_no_random, "error")
"""What raises NotTraceable where a random tensor is made."""
