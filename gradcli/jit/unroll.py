"""Small arrays as single numbers: a program on up to 8 entries, written out entry by entry.

A call of NumPy costs as much as some ten operations on Python floats. So a program in which every
array is small, and every operator works by entries, moves them or adds them up, is run once more on
arrays of single values, each of which notes its own instructions. Sums are added in NumPy's order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.jit.emit import Emitter, scalar_kind
from gradcli.jit.ir import Instruction, NotTraceable, Pack, Program, Value
from gradcli.jit.simplify import simplify
from gradcli.jit.trace import Trace
from gradcli.ops.indexing import is_basic
from gradcli.ops.operator import OPERATORS

MOST = 8
"""Entries of the largest array that is written out."""

# Microseconds: an operator on a small array, a float, a float by a call of NumPy; making an array.
_ARRAY, _FLOAT, _CALL, _PACK = 0.35, 0.03, 1.2, 0.6


def unroll(program: Program) -> Program:
    """The program on single numbers where that is possible and faster, else the program."""
    if not any(v.shape for v in _values(program)):
        return program
    exact = Emitter(program).exact
    for ins in program.instructions:  # of a product the order of additions is not NumPy's
        adds = not ins.op.entrywise and ins.op.kind == "bilinear"
        if (adds or ins.op.name == "sum_to") and ins.out in exact:
            return program
    found = written_out(program, MOST)
    return program if found is None or _cost(found) >= _cost(program) else found


def _values(program: Program) -> list[Value]:
    return [*program.inputs, *program.captures, *(i.out for i in program.instructions)]


def written_out(program: Program, most: int) -> Program | None:
    """The program on single numbers; None where an array has more than ``most`` entries, or an
    operator is not one that works by entries, moves them or adds them up."""
    for v in _values(program):
        if not 0 < math.prod(v.shape) <= most or v.dtype not in (dtypes.float64, dtypes.bool_):
            return None
    for ins in program.instructions:
        op, name = ins.op, ins.op.name
        if op.entrywise or op.moves or op.kind == "bilinear" or name in ("scatter", "sum_to"):
            continue
        if name not in ("sum", "mean") or ins.params["dim"] is not None:
            return None
    try:
        return simplify(_written_out(program))
    except (NotTraceable, TypeError, ValueError, IndexError, AttributeError):
        return None  # a computation that takes no objects


def _cost(program: Program) -> float:
    emitter = Emitter(program)
    total = sum(_PACK for v in program.outputs if v.__class__ is Pack)
    total += sum(0.1 for v in program.unpacked)
    for ins in program.instructions:
        if ins.out.shape or any(a.shape for a in ins.inputs()):
            total += _ARRAY
        elif scalar_kind(ins.out) and emitter.on_numbers(ins) is not None:
            total += _FLOAT
        else:
            total += _CALL
    return total


def _written_out(program: Program) -> Program:
    trace = Trace()
    now: dict[Value, Any] = {}
    inputs: list[Value] = []
    captures: list[Value] = []
    unpacked = {}
    for given, taken in ((program.inputs, inputs), (program.captures, captures)):
        for v in given:
            whole = Value(trace, v.shape, v.dtype)
            taken.append(whole)
            if not v.shape:
                now[v] = whole
                continue
            entries = [Value(trace, (), v.dtype) for _ in range(math.prod(v.shape))]
            unpacked[whole] = entries
            now[v] = _array(entries, v.shape)

    def of(a: Any) -> Any:
        if a.__class__ is not Value or a in now:
            return now[a] if a.__class__ is Value else a
        if not a.shape:
            return trace.constant(a.const)
        return _array([trace.constant(n) for n in np.ravel(a.const)], a.shape)

    for ins in program.instructions:
        found = _entries(ins, [of(a) for a in ins.args], trace)
        if np.shape(found) != tuple(ins.out.shape):
            raise NotTraceable("a computation that takes no objects")
        now[ins.out] = found[()] if isinstance(found, np.ndarray) and not found.shape else found
    outputs = []
    for v in program.outputs:
        v = of(v)
        outputs.append(Pack(v.shape, list(v.ravel())) if isinstance(v, np.ndarray) else v)
    return Program(inputs, captures, trace.tape, outputs, unpacked)


def _array(entries: list, shape: tuple) -> np.ndarray:
    found = np.empty(len(entries), object)
    for i, entry in enumerate(entries):  # one by one: NumPy would ask values for their arrays
        found[i] = entry
    return found.reshape(shape)


def _entries(ins: Instruction, args: list, trace: Trace) -> Any:
    """The result's entries, each computed from single values."""
    op, shape = ins.op, tuple(ins.out.shape)
    if op.entrywise:
        if not shape:
            return trace.apply(op, args, ins.params)
        full = [np.broadcast_to(a, shape).ravel() if isinstance(a, np.ndarray) else a for a in args]
        out = [
            trace.apply(op, [a[i] if isinstance(a, np.ndarray) else a for a in full], ins.params)
            for i in range(math.prod(shape))
        ]
        return _array(out, shape)
    args = [a if isinstance(a, np.ndarray) else _array([_value(a, trace)], ()) for a in args]
    if op.name in ("sum", "mean"):
        total = _sum(list(args[0].ravel()), trace)
        n = args[0].size
        total = total if op.name == "sum" else OPERATORS["div"](total, float(n))
        return _array([total], ()).reshape(shape)
    if op.name == "scatter":
        zero = trace.constant(np.float64(0.0))
        placed = _array([zero] * math.prod(shape), shape)
        index = ins.params["index"]
        if not is_basic(index):  # entries that are met twice are added up
            raise NotTraceable("indices of entries")
        placed[index if isinstance(index, tuple) else (index,)] = (
            args[0] if args[0].ndim else args[0][()]
        )
        return placed
    return op.compute(*args, **ins.params)


def _value(a: Any, trace: Trace) -> Value:
    return a if a.__class__ is Value else trace.constant(np.float64(a))


def _sum(terms: list, trace: Trace) -> Any:
    """In the order of NumPy's, up to 128: one after the other, from eight on in eight sums."""
    if not terms:
        return trace.constant(np.float64(0.0))
    rest = 0
    if len(terms) >= 8:
        rest = len(terms) // 8 * 8
        sums = terms[:8]
        for start in range(8, rest, 8):
            sums = [s + t for s, t in zip(sums, terms[start : start + 8], strict=True)]
        a, b, c, d, e, f, g, h = sums
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    else:
        total, rest = terms[0], 1
    for term in terms[rest:]:
        total = total + term
    return total
