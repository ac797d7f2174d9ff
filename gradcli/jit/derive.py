"""Derivatives of what was noted: the rules run backwards or forwards over a tape.

Both directions call the operators' own rules with values, so that what they compute is noted on the
same tape, and derivatives can be taken of the result. Shapes, dtypes and complex numbers are met
as the engine's backward pass meets them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradcli.engine.dtypes import DType
from gradcli.engine.record.cotangents import fit
from gradcli.jit.ir import Instruction, Value
from gradcli.jit.trace import Trace
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS, is_number
from gradcli.ops.read import push_forward
from gradcli.transforms.batched import Batched
from gradcli.transforms.vmap import mapping


def depends_on(tape: Sequence[Instruction], inputs: Sequence[Value]) -> set[Value]:
    """The values that have a derivative by one of ``inputs``, and those inputs."""
    active = {v for v in inputs if v.dtype.differentiable}
    for ins in tape:
        if is_active(ins, active):
            active.add(ins.out)
    return active


def is_active(ins: Instruction, active: set[Value]) -> bool:
    """Whether a result has a derivative by one of the ``active`` values."""
    if not ins.recorded or not ins.op.recorded or not ins.out.dtype.differentiable:
        return False
    rules, variadic = ins.op.rules, ins.op.variadic
    for i, a in enumerate(ins.args):
        if a.__class__ is Value and a in active and rules[0 if variadic else i] is not None:
            return True
    return False


def gradients(trace: Trace, output: Value, cotangent: Any, inputs: Sequence[Value]) -> list:
    """``pull_back`` with zeros where the output does not depend on an input."""
    found = pull_back(trace, output, cotangent, inputs)
    return [zeros(trace, v) if g is None else g for v, g in zip(inputs, found, strict=True)]


def zeros(trace: Trace, like: Value, before: tuple = ()) -> Value:
    """Zeros of the shape ``before`` + that of ``like``."""
    return trace.constant(np.zeros((*before, *like.shape), like.dtype.numpy))


def pull_back(trace: Trace, output: Value, cotangent: Any, inputs: Sequence[Value]) -> list:
    """Reverse mode: the cotangent of each input, None where the output does not depend on it."""
    tape = list(trace.tape)
    active = depends_on(tape, inputs)
    arrived: dict[Value, Any] = {}
    if output in active:
        arrived[output] = cotangent
    wanted = set(inputs)
    for ins in reversed(tape):
        out = ins.out
        if out not in arrived or out not in active:
            continue
        g = arrived[out] if out in wanted else arrived.pop(out)
        for a, r in cotangents(trace, ins, g, active):
            arrived[a] = arrived[a] + r if a in arrived else r
    return [arrived.get(v) for v in inputs]


def cotangents(
    trace: Trace, ins: Instruction, g: Any, active: set[Value]
) -> Iterator[tuple[Value, Any]]:
    """The cotangents of an instruction's active arguments, given that of its result."""
    for i, a in enumerate(ins.args):
        if a.__class__ is not Value or a not in active:
            continue
        r = _cotangent(ins, i, g)
        if r is None:
            continue
        if is_number(r):
            r = trace.constant(np.asarray(r, a.dtype.numpy)[()])
        if r.shape != a.shape:
            r = fit(r, a.shape)
        yield a, r if r.dtype is a.dtype else _cast(r, a.dtype)


def _cotangent(ins: Instruction, i: int, g: Any) -> Any:
    op = ins.op
    place = 0 if op.variadic else i
    rule = op.rules[place]
    if rule is None:
        return None
    complex_out = ins.out.dtype.is_complex
    # A vjp without conjugates is right for holomorphic operators when both ends are turned.
    turned = complex_out and (op.scaled[place] or op.kind in ("reduction", "general"))
    words = []
    for name in op.reads[place]:
        if name in ("g", "t"):
            words.append(_conj(g) if turned else g)
        elif name == "out":
            words.append(ins.out)
        elif name == "shape":
            words.append(ins.args[i].shape)
        elif name == "shapes" and op.variadic:
            words.append(tuple(getattr(a, "shape", ()) for a in ins.args))
        elif name == "index" and op.variadic:
            words.append(i)
        elif name in op.inputs and not op.variadic:
            value = ins.args[op.inputs.index(name)]
            words.append(_conj(value) if complex_out and op.kind == "bilinear" else value)
        else:
            words.append(ins.params[name])
    r = rule(*words)
    if op.kind == "elementwise" and not op.scaled[place]:
        return g * (_conj(r) if complex_out else r)
    return _conj(r) if turned else r


def _conj(value: Any) -> Any:
    return value.conjugate() if is_number(value) else OPERATORS["conj"](value)


def _cast(r: Value, dtype: DType) -> Value:
    if r.dtype.is_complex and not dtype.is_complex:
        r = OPERATORS["real"](r)
    return r if r.dtype is dtype else OPERATORS["cast"](r, dtype.numpy)


def push(tape: Sequence[Instruction], tangents: dict[Value, Any]) -> dict[Value, Any]:
    """Forward mode: ``tangents`` of some values, carried to all that depend on them.

    A tangent is a value, or a batch of them with the batch in front.
    """
    found = dict(tangents)
    for ins in tape:
        if not (ins.recorded and ins.op.recorded and ins.out.dtype.differentiable):
            continue
        along = [found.get(a) if a.__class__ is Value else None for a in ins.args]
        if ins.op.variadic is False and None in ins.op.rules:
            along = [None if rule is None else t for rule, t in zip(ins.op.rules, along,
                strict=True)]  # fmt: skip
        if all(t is None for t in along):
            continue
        tangent = push_forward(ins.op, ins.args, along, ins.out, ins.params)
        if tangent is None:
            continue
        if tuple(tangent.shape) != tuple(ins.out.shape):
            tangent = OPERATORS["expand"](tangent, tuple(ins.out.shape))
        found[ins.out] = tangent
    return found


def directions(trace: Trace, inputs: Sequence[Value], outputs: Sequence[Any]) -> list[list]:
    """The Jacobians of ``outputs`` by ``inputs``: for each input a list with one for each output.

    All of an input's directions are pushed forward at once, as a batch in front: a Jacobian has
    shape (entries of the input, *shape of the output). None stands for zeros.
    """
    tape = list(trace.tape)
    rows = []
    for v in inputs:
        if not v.shape:
            one = trace.constant(np.ones((), v.dtype.numpy))
            found = push(tape, {v: one})
            rows.append([found.get(o) if o.__class__ is Value else None for o in outputs])
            continue
        size = int(np.prod(v.shape))
        if not size:
            rows.append([None] * len(outputs))
            continue
        entries = size + sum(math.prod(o.shape) for o in outputs if o.__class__ is Value)
        charge_shape((size, entries), v.dtype.itemsize)  # with what will be given
        eye = np.eye(size, dtype=v.dtype.numpy).reshape(size, *v.shape)
        with mapping(size, "error", internal=True) as level:
            found = push(tape, {v: Batched(trace.constant(eye), level)})
            row = []
            for o in outputs:
                t = found.get(o) if o.__class__ is Value else None
                if t is not None and t.__class__ is not Batched:
                    t = OPERATORS["expand"](t, (size, *o.shape))
                row.append(t.value if t.__class__ is Batched else t)
        rows.append(row)
    return rows
