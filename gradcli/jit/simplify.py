"""Simplification that changes no rounding: constants, identities, equal instructions, dead ones.

What is done is exact for every floating-point value, infinities, NaN and the sign of zero
included: ``x * 1``, ``x / 1`` and ``x - 0`` are x, but ``x + 0`` is not where x is -0.0, and ``0 *
x`` stays. An array that repeats one number is read as that number where broadcasting gives the
same result, and an operator on such arrays alone is computed once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.jit.ir import Instruction, Pack, Program, Value
from gradcli.jit.trace import freeze
from gradcli.ops.operator import OPERATORS, Operator

_COMMUTE = ("add", "mul")


def simplify(program: Program) -> Program:
    """An equal program with less to do."""
    work = _Simplifier()
    for ins in program.instructions:
        work.add(ins)
    outputs = [
        Pack(v.shape, [work.now(e) for e in v.values]) if v.__class__ is Pack else work.now(v)
        for v in program.outputs
    ]
    done = Program(program.inputs, program.captures, work.done, outputs, program.unpacked)
    done.instructions = _alive(work.done, done.results())
    return done


def _alive(instructions: list[Instruction], outputs: list) -> list[Instruction]:
    needed = {v for v in outputs if v.__class__ is Value}
    kept = []
    for ins in reversed(instructions):
        if ins.out in needed or ins.raises:
            kept.append(ins)
            needed.update(ins.inputs())
    return kept[::-1]


class _Simplifier:
    def __init__(self) -> None:
        self.done: list[Instruction] = []
        self.replaced: dict[Value, Any] = {}
        self.seen: dict[tuple, Value] = {}
        self.repeats: dict[Value, Any] = {}  # arrays that repeat one number, and which

    def now(self, value: Any) -> Any:
        return self.replaced.get(value, value) if value.__class__ is Value else value

    def add(self, ins: Instruction) -> None:
        """Take over one instruction, or what is equal to it."""
        args = ins.args
        op, out = ins.op, ins.out
        known = False  # whether an argument is a constant, or an array that repeats one
        for a in args:
            if a.__class__ is Value:
                if a in self.replaced:
                    args = tuple([self.now(a) for a in args])
                    known = True
                    break
                known = known or a.const is not None or a in self.repeats
        if known and op.entrywise:
            args = tuple([_number(a) for a in args])
            shaped = self._broadcast(ins, args)
            if shaped is None:
                return
            args = shaped
            folded = self._folded(ins, args)
            if folded is not None:
                self.replaced[out] = folded
                return
        same = _identity(op, args, out)
        if same is not None:
            self.replaced[out] = same
            return
        if args is not ins.args:
            ins = Instruction(op, args, ins.params, out, ins.recorded)
        self._emit(ins)

    def _emit(self, ins: Instruction) -> None:
        frozen: Any = freeze(ins.params) if ins.params else ()
        if frozen is not None:
            words = [id(a) if a.__class__ is Value else freeze(a) or (id(a), 0) for a in ins.args]
            if ins.op.name in _COMMUTE and words[0].__class__ is words[1].__class__ is int:
                words.sort()
            key = (ins.op, frozen, *words)
            have = self.seen.get(key)
            if have is not None:
                self.replaced[ins.out] = have
                return
            self.seen[key] = ins.out
        self.done.append(ins)
        if ins.op.name == "expand" and not getattr(ins.args[0], "shape", ()):
            self.repeats[ins.out] = ins.args[0]

    def _broadcast(self, ins: Instruction, args: tuple) -> tuple | None:
        """The arguments, repeated numbers read as one; None where all are, and it is done."""
        out = ins.out
        repeated = [a for a in args if a.__class__ is Value and a in self.repeats]
        if not repeated:
            return args
        full = [a for a in args if a.__class__ is Value and a.shape and a not in self.repeats]
        if full:
            shape = np.broadcast_shapes(*(a.shape for a in full))
            # The numbers of other dtypes are weak: only an array of the same dtype may decide.
            strong = out.dtype is dtypes.float64 or any(a.dtype is out.dtype for a in full)
            if shape != tuple(out.shape) or not strong:
                return args
            return tuple([
                _number(self.repeats[a]) if a.__class__ is Value and a in self.repeats else a
                for a in args
            ])  # fmt: skip
        if out.dtype is not dtypes.float64:
            return args
        args = tuple([self.repeats.get(a, a) if a.__class__ is Value else a for a in args])
        one = Value(out.trace, (), out.dtype)
        self.add(Instruction(ins.op, args, ins.params, one, ins.recorded))
        self._emit(Instruction(OPERATORS["expand"], (self.now(one),), {"shape": tuple(out.shape)},
            out, ins.recorded))  # fmt: skip
        return None

    def _folded(self, ins: Instruction, args: tuple) -> Value | None:
        """The result where all arguments are numbers."""
        if any(a.__class__ is Value for a in args) or ins.out.shape:
            return None
        given = [np.float64(a) if a.__class__ is float else a for a in args]
        with np.errstate(all="ignore"):
            found = np.asarray(ins.op.compute(*given, **ins.params))
        if found.dtype != ins.out.dtype.numpy or found.shape:
            return None
        return Value(ins.out.trace, (), ins.out.dtype, const=found)


def _number(value: Any) -> Any:
    """A constant float64 as a Python number."""
    if value.__class__ is Value and value.const is not None and not value.shape:
        return float(value.const) if value.dtype is dtypes.float64 else value
    return value


def _is(value: Any, number: float) -> bool:
    same = value.__class__ in (float, int) and value == number
    return same and math.copysign(1, value) == math.copysign(1, number)


def _like(value: Any, out: Value) -> bool:
    return value.__class__ is Value and value.shape == out.shape and value.dtype is out.dtype


def _identity(op: Operator, args: tuple, out: Value) -> Any:
    """The argument that the result is equal to, or None."""
    x = args[0]
    if op.neutral is True:
        return x if _like(x, out) and not out.dtype.is_complex else None
    if op.neutral is not None:
        if _is(args[1], op.neutral) and _like(x, out):
            return x
        turned = op.name in _COMMUTE and _is(x, op.neutral) and _like(args[1], out)
        return args[1] if turned else None
    if op.name == "neg" and _like(x, out) and x.source is not None and x.source.op is op:
        inner = x.source.args[0]
        return inner if _like(inner, out) and inner.source is None else None
    return None
