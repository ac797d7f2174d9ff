"""A program of one row as code over many: every value becomes an array with an entry for each row.

A function is traced on the values of one row. What its control flow decides is noted too, so a
trace is one path through the function: the decisions that it met, and straight-line code behind
them. A program of single numbers, small arrays written out entry by entry, becomes a function of
blocks of rows in which each instruction is one call of NumPy. Any other program is run instruction
by instruction: what works by entries, moves or adds them on all rows of a block at once, the rest
(products of matrices, factorisations) row by row.

No row's result depends on the rows around it, to the last bit: one row goes through the same code
as a million. That is why arrays are contiguous and buffers do not touch (NumPy takes another loop
for strided memory, and for a result that ends where an operand begins), and why BLAS sees one row
at a time (its kernels add up in an order that depends on the number of rows).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcli.engine import Tensor, dtypes, wrap
from gradcli.engine.grad_mode import no_grad
from gradcli.jit import blocks, derive
from gradcli.jit.emit import Block, Emitter
from gradcli.jit.ir import FailedOnExample, NotTraceable, Pack, Program, Value
from gradcli.jit.simplify import simplify
from gradcli.jit.trace import Trace, Traced
from gradcli.jit.unroll import written_out
from gradcli.ops.declaration import batching
from gradcli.transforms.batch_rules import rule_of
from gradcli.transforms.batched import Batched
from gradcli.transforms.vmap import mapping

MOST_DECISIONS = 24
"""Decisions that a path may meet; a function that takes more runs eagerly."""
WRITTEN_OUT = 64
"""Entries of the largest array of a row that is written out as single numbers."""
LONGEST = 12_000
"""Instructions of a path, and of a program of single numbers."""
GAP = 8
"""Numbers between two buffers."""


class Path(Trace):
    """A trace that notes what control flow decides: as asked first, then as the row's values."""

    longest = LONGEST

    def __init__(self, asked: Sequence[bool] = ()) -> None:
        super().__init__()
        self.asked = asked
        self.met: list[tuple[Value, bool]] = []

    def decide(self, value: Value) -> bool:
        """What is decided. Raises NotTraceable after too many decisions."""
        for known, taken in self.met:
            if known is value:
                return taken
        if math.prod(value.shape) != 1 or len(self.met) >= MOST_DECISIONS:
            raise NotTraceable("control flow of that kind")
        if value.const is not None:
            return bool(value.const)
        at = len(self.met)
        taken = self.asked[at] if at < len(self.asked) else bool(self.example(value))
        self.met.append((value, taken))
        return taken


@dataclass(eq=False, slots=True)
class PathCode:
    """What one path of a function is: a guard for each decision, and the code behind them.

    The guards are those of the decisions that were not asked for.

    ``code`` gives the value and the gradients; None where the function cannot be traced.
    ``chooses``: an infinity in a gradient may come from a branch of ``where`` that is not taken,
    which only the engine knows. ``adds``: products are added up in another order than the engine's,
    so that a sum may overflow here alone. ``failed``: the row itself fails, which says nothing of
    others.
    """

    guards: list[tuple[RowCode | None, bool]] = field(default_factory=list)
    code: RowCode | None = None
    chooses: bool = False
    adds: bool = False
    failed: bool = False
    nbytes: int = 0
    outputs: list[tuple[tuple[int, ...], np.dtype]] = field(default_factory=list)


def path_of(
    function: Callable[..., Any], arrays: Sequence[Any], wanted: Sequence[int] | None,
    cotangent: Any = None, asked: Sequence[bool] = (),
) -> PathCode:  # fmt: skip
    """The path that ``function`` takes on the values of one row, ``arrays``.

    wanted     which inputs to differentiate by; None: the value only
    cotangent  weights of a result that is no scalar
    asked      the first decisions, where they are known already
    """
    trace = Path(asked)
    found = PathCode()
    outputs: list[Any] = []
    try:
        traced = Traced(function, arrays, trace)
        inputs = traced.inputs
        if traced.form is not None:
            raise NotTraceable("several results")
        y = traced.outputs[0]
        outputs = [y]
        if wanted is not None:
            outputs += _gradients(trace, y, [inputs[i] for i in wanted], cotangent)
        if any(v.dtype.is_complex for v in outputs):
            raise NotTraceable("complex numbers")
        whole = _program(trace, len(arrays), outputs)
        found.code = RowCode(whole, trace)
        found.outputs = [(tuple(v.shape), v.dtype.numpy) for v in outputs]
        found.chooses = wanted is not None and any(i.op.masks for i in trace.tape)
        found.adds = any(i.op.kind == "bilinear" and not i.op.entrywise for i in trace.tape)
        found.nbytes = sum(math.prod(i.out.shape) * i.out.dtype.itemsize for i in trace.tape)
    except (Exception, NotTraceable) as why:  # whatever it is, the engine gives the exact error
        found.code = None
        found.failed = isinstance(why, FailedOnExample)
    for value, taken in trace.met[len(asked) :]:
        try:
            guard = RowCode(_program(trace, len(arrays), [value]), trace)
        except NotTraceable:
            guard = None
        found.guards.append((guard, taken))
    for value in (*[ins.out for ins in trace.tape], *[v for _, v in trace.captures()]):
        value.example = None
    trace.captured.clear()  # what the codes read of it they have; a trace goes in its own time
    return found


def _gradients(trace: Trace, y: Value, by: Sequence[Value], cotangent: Any) -> list[Value]:
    if cotangent is None and math.prod(y.shape) != 1:
        raise NotTraceable("a result that is not a single number")
    if not y.dtype.is_floating_point or (cotangent is not None and cotangent.shape != y.shape):
        raise NotTraceable("a result without these gradients")
    seed = np.ones(y.shape, y.dtype.numpy) if cotangent is None else cotangent.astype(y.dtype.numpy)
    return derive.gradients(trace, y, trace.constant(seed), by)


def _program(trace: Path, count: int, outputs: list[Any]) -> Program:
    captures = [v for _, v in trace.captures()]
    return simplify(Program(trace.inputs[:count], captures, trace.tape, outputs))


class RowCode:
    """A program of one row, run on arrays with the rows in front.

    Raises NotTraceable where an operator cannot be run that way.
    """

    def __init__(self, program: Program, trace: Trace) -> None:
        held = {v: thing for thing, v in trace.captures()}
        self.captures = [
            np.asarray(h.array if isinstance(h, Tensor) else h)
            for h in (held[v] for v in program.captures)
        ]
        flat = _flat(program)
        self.run: Callable[[Sequence[np.ndarray], int], list[np.ndarray]]
        self.run = _Interpreted(program, self.captures) if flat is None else (
            _Emitted(flat, self.captures)
        )  # fmt: skip

    def __call__(self, columns: Sequence[np.ndarray], count: int) -> list[np.ndarray]:
        """The results, an array (rows, ...) each, for arrays (rows, ...) of the inputs."""
        with np.errstate(all="ignore"):
            return self.run(columns, count)


def _flat(program: Program) -> Program | None:
    """The program on single numbers, where it can be written so."""
    simple = all(
        ins.op.entrywise and not ins.out.shape and not any(a.shape for a in ins.inputs())
        for ins in program.instructions
    ) and not any(getattr(v, "shape", ()) for v in program.outputs)
    found = program if simple else written_out(program, WRITTEN_OUT)
    if found is None or len(found.instructions) > LONGEST:
        return None
    fits = all(ins.op.entrywise and not ins.out.shape for ins in found.instructions)
    return found if fits else None


class _Emitted:
    """A program of single numbers as a function of blocks of rows."""

    def __init__(self, program: Program, captures: Sequence[np.ndarray]) -> None:
        self.program = program
        own = {ins.out for ins in program.instructions}
        self.results = list(dict.fromkeys(
            v for v in program.results() if v.__class__ is Value and v in own
        ))  # fmt: skip
        emitter = Emitter(program)
        block = Block(emitter, blocks.Group((), program.instructions), self.results)
        lines = block.lines() if program.instructions else []
        # An array that is not unpacked is one that nothing reads.
        entries = {
            v: program.unpacked.get(v, [] if v.shape else [v])
            for v in (*program.inputs, *program.captures)
        }
        self.arguments = [len(entries[v]) for v in program.inputs]
        given = [v for whole in program.inputs for v in entries[whole]]
        held = [v for whole in program.captures for v in entries[whole]]
        words = ", ".join(["t", *(emitter.names[v] for v in (*given, *held, *self.results))])
        self.text = "\n".join([f"def rows({words}):", *lines, "    return None\n"])
        exec(compile(self.text, "<gradcli rows>", "exec"), emitter.scope)
        self.function = emitter.scope["rows"]
        self.buffers = max(block.most, 1)
        self.given = given
        self.own = set(self.results)
        self.held = [
            x for whole, array in zip(program.captures, captures, strict=True)
            for x in array.reshape(-1)[: len(entries[whole])]
        ]  # fmt: skip
        self.fixed = dict(zip(held, self.held, strict=True))

    def __call__(self, columns: Sequence[np.ndarray], count: int) -> list[np.ndarray]:
        given = []
        for size, column in zip(self.arguments, columns, strict=True):
            flat = np.ascontiguousarray(column).reshape(count, -1) if size else column
            given += [np.ascontiguousarray(flat[:, i]) for i in range(size)]
        made = [np.empty(count, v.dtype.numpy) for v in self.results]

        def work(low: int, high: int) -> None:
            space = np.empty((self.buffers, blocks.BLOCK + GAP))
            with np.errstate(all="ignore"):
                for at in range(low, high, blocks.BLOCK):
                    end = min(at + blocks.BLOCK, high)
                    self.function(
                        space[:, : end - at], *[x[at:end] for x in given], *self.held,
                        *[x[at:end] for x in made],
                    )  # fmt: skip

        if self.results:
            _on_two_threads(work, count)
        known = dict(zip(self.given, given, strict=True))
        known.update(zip(self.results, made, strict=True))
        return [self._result(v, known, count) for v in self.program.outputs]

    def _result(self, value: Any, known: dict[Value, np.ndarray], count: int) -> np.ndarray:
        if value.__class__ is Pack:
            dtype = value.values[0].dtype.numpy
            found = np.empty((count, len(value.values)), dtype)
            for i, v in enumerate(value.values):
                found[:, i] = self._result(v, known, count)
            return found.reshape(count, *value.shape)
        if value.__class__ is Value and value in known:
            return known[value] if value in self.own else known[value].copy()
        number = value
        if value.__class__ is Value:
            number = self.fixed[value] if value.const is None else value.const
        return np.full((count, *np.shape(number)), number)


def _on_two_threads(work: Callable[[int, int], None], count: int) -> None:
    if count < blocks.THREADED or (os.cpu_count() or 1) < 2:
        work(0, count)
        return
    half = count // (2 * blocks.BLOCK) * blocks.BLOCK
    blocks.on_two_threads(lambda: work(0, half), lambda: work(half, count))


class _Interpreted:
    """A program run instruction by instruction on blocks of rows."""

    def __init__(self, program: Program, captures: Sequence[np.ndarray]) -> None:
        self.program = program
        self.captures = captures
        entries = max([1, *(math.prod(i.out.shape) for i in program.instructions)])
        self.rows = max(1, blocks.BLOCK // entries)
        self.last = {a: n for n, i in enumerate(program.instructions) for a in i.inputs()}
        self.last.update((v, -1) for v in program.outputs if v.__class__ is Value)

    def __call__(self, columns: Sequence[np.ndarray], count: int) -> list[np.ndarray]:
        parts = [
            self._block([np.ascontiguousarray(c[at : at + self.rows]) for c in columns],
                        min(self.rows, count - at))
            for at in range(0, count, self.rows)
        ]  # fmt: skip
        if len(parts) == 1:
            return parts[0]
        return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]

    def _block(self, columns: list[np.ndarray], count: int) -> list[np.ndarray]:
        program = self.program
        rows: dict[Value, np.ndarray] = dict(zip(program.inputs, columns, strict=True))
        fixed: dict[Value, Any] = dict(zip(program.captures, self.captures, strict=True))
        for place, ins in enumerate(program.instructions):
            args = [
                fixed.get(a, a.const) if a.__class__ is Value and a not in rows else a
                for a in ins.args
            ]
            if not any(a.__class__ is Value for a in args):
                fixed[ins.out] = ins.op.compute(*args, **ins.params)
                continue
            found = np.ascontiguousarray(self._applied(ins, args, rows, count))
            if found.shape != (count, *ins.out.shape) or found.dtype != ins.out.dtype.numpy:
                raise NotTraceable(f"{ins.op.name} on rows")
            rows[ins.out] = found
            for a in ins.inputs():
                if self.last[a] == place:
                    rows.pop(a, None)
        return [self._result(v, rows, fixed, count) for v in program.outputs]

    def _result(self, v: Any, rows: dict, fixed: dict, count: int) -> np.ndarray:
        if v.__class__ is Value and v in rows:
            return rows[v]
        number = fixed.get(v, v.const) if v.__class__ is Value else v
        return np.array(np.broadcast_to(number, (count, *np.shape(number))))

    def _applied(self, ins: Any, args: list, rows: dict, count: int) -> np.ndarray:
        op = ins.op
        if op.entrywise:
            rank = len(ins.out.shape)
            return op.compute(*[_lined_up(rows[a], rank) if a.__class__ is Value else a
                                for a in args], **ins.params)  # fmt: skip
        if op.kind in ("linear", "reduction") and rule_of(op) is not None and not _own_batching(op):
            if not op.few:
                return _mapped(ins, args, rows, 0, count)
            largest = max(1, *(math.prod(a.shape) for a in ins.inputs()))
            most = max(1, op.few // largest)  # so that one row is computed as many are
            return np.concatenate([
                _mapped(ins, args, rows, at, min(count, at + most)) for at in range(0, count, most)
            ])  # fmt: skip
        each = []
        for i in range(count):
            given = [rows[a][i] if a.__class__ is Value else a for a in args]
            each.append(op.compute(*given, **ins.params))
        return np.stack(each)


def _mapped(ins: Any, args: list, rows: dict, low: int, high: int) -> np.ndarray:
    """What an instruction gives of some rows, by the batch's rule."""
    with no_grad(), mapping(high - low, "error", internal=True) as level:
        given = [_batched(a, rows, low, high, level) for a in args]
        return ins.op(*given, **ins.params).value.array  # type: ignore[no-any-return]


def _batched(a: Any, rows: dict, low: int, high: int, level: int) -> Any:
    if a.__class__ is Value:
        return Batched(wrap(rows[a][low:high], a.dtype), level)
    return wrap(a, dtypes.dtype_of(a)) if isinstance(a, np.ndarray | np.generic) else a


def _own_batching(op: Any) -> bool:
    """Whether the batch's rule is none of those that move and add entries as they stand."""
    return op.batching is not None and op.batching.__module__ != batching.__name__ and (
        op.kind == "reduction"
    )  # fmt: skip


def _lined_up(array: np.ndarray, rank: int) -> np.ndarray:
    """A value of each row with as many dimensions as the result, so that they broadcast."""
    missing = rank - (array.ndim - 1)
    return array.reshape(array.shape[0], *(1,) * missing, *array.shape[1:]) if missing else array
