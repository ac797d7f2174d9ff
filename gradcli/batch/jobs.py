"""Jobs: each line has its own expression, variables and command.

    {"id": 1, "expr": "a*x^2", "vars": {"a": 2, "x": [1, 2]}, "command": "grad", "wrt": ["x"]}

    expr or program   a one-line expression, or a program of lines
    vars              numbers, nested lists, texts with a value form; for diff, shapes too
    command           grad (when left out), eval, diff, hess, jac or check
    wrt               a name, "x,y" or a list of names; all variables when left out
    order             of diff; of the derivative of ``against`` that a check compares with
    against           another expression, with which a check compares ``expr``

A result is what the command gives with --json, with ``row`` and ``id``; its ``ok`` says that the
job ran. hess gives blocks {"x": {"y": T}}, jac {"value": {"x": T}}, check "agrees" (null where
nothing was compared; "differs" says what is wrong) and "max_rel_error" (null for a wrong gradient).
A text is parsed once, however many jobs have it. Jobs run on the engine, as single commands do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcli import silence_numpy
from gradcli.batch.chunk import Chunk, Crowded
from gradcli.batch.encode import Result, error_line
from gradcli.batch.evaluate import Evaluator, dtype_of, number_of, unwatched, without_frames
from gradcli.batch.fields import Fields, shown
from gradcli.batch.lines import text_of
from gradcli.batch.readers import Reader
from gradcli.batch.task import Poisoned, Watch, fault_of
from gradcli.display.answers import Answer
from gradcli.display.expression import Expression, need_scalar
from gradcli.display.records import dump_json, tensor_record
from gradcli.display.values import of_complex_result
from gradcli.display.verdict import Entries
from gradcli.engine import Tensor, wrap
from gradcli.engine.creation import generator as random
from gradcli.engine.creation.factories import as_tensor, tensor
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.diagnostics.runtime import placed
from gradcli.language.names import settings
from gradcli.language.runtime.run import MAX_MEMORY, Limits, Program, prepare
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault, RuntimeFault, ValueFault
from gradcli.ops.memory_budget import within
from gradcli.transforms.functional import hessian
from gradcli.transforms.reverse import jacobian

_FIELDS = ("id", "expr", "program", "vars", "command", "wrt", "order", "against")
_HELD = 1 << 25
"""Characters of records up to which jobs are computed together."""
_MOST_KEPT = 4096
AGREE = 1e-9
"""The relative difference up to which two expressions agree."""
SMALL = 1e-3
"""Values below this are compared as if they were of this size: what is left of a cancellation."""
_POINTS = 12


@dataclass(eq=False)
class JobTask:
    """Jobs, in values that another process can be sent.

    limits   of each job's run
    dtype    of values that name none; None for that of ``Evaluator``
    seed     of the random numbers: every job draws its own
    """

    form = "jobs"
    output = "jsonl"

    limits: Limits
    dtype: str | None = None
    seed: int = 0

    def worker(self) -> JobWorker:
        """What computes."""
        silence_numpy()
        return JobWorker(self)

    def deciding(self) -> dict[str, Any]:
        """Everything besides the input that decides the output, for a journal."""
        limits = self.limits
        return {"dtype": self.dtype, "seed": self.seed, "format": "jsonl",
                "limits": [limits.steps, limits.memory, limits.depth]}  # fmt: skip


class Job:
    """A line of jobs, looked at."""

    __slots__ = ("against", "command", "number", "order", "text", "vars", "whole", "wrt")

    def __init__(self, line: Mapping[str, Any], number: int = 1) -> None:
        self.number = number
        for name in line:
            if name not in _FIELDS:
                mend = did_you_mean(name, _FIELDS, f"its fields: {', '.join(_FIELDS)}")
                raise ValueFault("E0923", f"a job has no field {shown(name)}", help=mend)
        text = {name: line[name] for name in ("expr", "program") if name in line}
        if len(text) != 1 or not isinstance(next(iter(text.values())), str):
            mend = 'like {"expr": "a*x^2", "vars": {"a": 2, "x": 3}}'
            raise ValueFault("E0923", "a job has one text: expr or program", help=mend)
        self.whole = "program" in text
        self.text: str = next(iter(text.values()))
        self.command = line.get("command", "grad")
        if not isinstance(self.command, str) or self.command not in COMMANDS:
            mend = did_you_mean(str(self.command), COMMANDS, f"one of {', '.join(COMMANDS)}")
            raise ValueFault("E0923", f"a job has no command {shown(str(self.command))}", help=mend)
        self.vars = line.get("vars", {})
        if not isinstance(self.vars, dict):
            raise ValueFault("E0923", "vars: not an object", help='like "vars": {"x": [1, 2]}')
        wrt = line.get("wrt")
        if isinstance(wrt, str):
            wrt = [name.strip() for name in wrt.split(",") if name.strip()]
        if wrt is not None and not (isinstance(wrt, list) and set(map(type, wrt)) == {str}):
            raise ValueFault("E0923", "wrt: neither a name nor a list of names")
        self.wrt: list[str] | None = wrt and list(dict.fromkeys(wrt))
        if wrt is not None and self.command == "eval":
            raise ValueFault("E0923", "wrt does not go with the command eval")
        self.order = line.get("order")
        least = 1 if self.command == "diff" else 0
        if self.order is not None and (self.order.__class__ is not int or self.order < least):
            raise ValueFault("E0923", f"order: not a whole number from {least}")
        self.against = line.get("against")
        if self.against is not None and not isinstance(self.against, str):
            raise ValueFault("E0923", "against: not an expression")
        if self.against is not None and self.command != "check":
            raise ValueFault("E0923", "against goes with the command check")
        if self.order is not None and self.command != "diff" and self.against is None:
            raise ValueFault("E0923", "order goes with diff, and with the against of a check")


class JobWorker:
    """Jobs at work in one process."""

    names: Sequence[str] = ()

    def __init__(self, task: JobTask) -> None:
        self.task = task
        self.limits = task.limits
        self.max_bytes = task.limits.memory or MAX_MEMORY
        self.reader = Reader("jsonl", self.fields("float64"))
        self._kept: dict[tuple, Any] = {}

    def result(
        self, chunk: Chunk, poisoned: Poisoned = None, single: bool = False,
        watch: Watch = unwatched,
    ) -> Result:  # fmt: skip
        """The records of a chunk of jobs. Raises Crowded where they are too long together."""
        assert isinstance(chunk.data, bytes)
        lines, failed, held = [], [], 0
        for place, raw in enumerate(chunk.data.split(b"\n")):
            number = chunk.first + place
            id: Any = None
            problem: Fault | None
            try:
                with within(self.limits.memory):  # a derivative takes more than a run
                    id, line = self.reader.parsed(text_of(raw))
                    if poisoned and number in poisoned:
                        raise fault_of(poisoned[number])
                    watch(number)
                    lines.append(dump_json(self.record(number, id, line)) + "\n")
                problem = None
            except Fault as fault:
                problem = without_frames(fault)
            except Exception as fault:
                problem = placed(fault, prepare("0"), [])
            finally:
                settings.put_back()  # a closed form may have drawn numbers without a run
            if problem is not None:
                failed.append((place, number))
                lines.append(error_line(number, id, problem))
            held += len(lines[-1])
            if held > _HELD and chunk.count > 1:
                raise Crowded
        body = "".join(lines).encode()
        return Result(chunk.first, chunk.count, chunk.count, failed, body, b"", chunk.seal)

    def record(self, number: int, id: Any, line: Mapping[str, Any]) -> dict[str, Any]:
        """What a job gives. Raises Fault for whatever is wrong with it."""
        job = Job(line, number)
        random.seed_when_asked((self.task.seed * 0x9E3779B1 + number) & 0xFFFFFFFF)
        program = self.program(job.text, job.whole)
        used = {name: value for name, value in job.vars.items() if program.takes(name)}
        if job.against is not None:
            other = self.program(job.against, False)
            used.update({n: v for n, v in job.vars.items() if other.takes(n)})
        unused = [name for name in job.vars if name not in used]
        notes = [f"not used: {', '.join(shown(name)[1:-1] for name in unused)}"] if unused else []
        found = COMMANDS[job.command](self, job, program, used)
        notes += found.pop("notes", ())
        head = {"schema": 1, "row": number, "id": id, "ok": True, "command": job.command}
        record = {**head, **found, "warnings": found.get("warnings") or _warnings(found)}
        return {**record, "notes": notes} if notes else record

    def program(self, text: str, whole: bool) -> Program:
        """A text, parsed once. Raises Fault."""
        name, mode = ("<program>", "file") if whole else ("<expr>", "line")

        def make() -> Program | Fault:
            try:
                return prepare(Source(text, name), mode)
            except Fault as fault:
                return fault

        found: Program | Fault = self.kept((text, whole), make)
        if isinstance(found, Fault):
            raise found
        return found

    def kept(self, key: tuple, make: Callable[[], Any]) -> Any:
        """What was made once for a text and what is asked of it."""
        if key not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = make()
        return self._kept[key]

    def evaluator_of(
        self, program: Program, grad: bool = False, wrt: Sequence[str] | None = None,
        dtype: str | None = None,
    ) -> Evaluator:  # fmt: skip
        """What evaluates a program, made once for each and ``wrt``."""
        key = (program, grad, None if wrt is None else tuple(wrt), dtype)
        found: Evaluator = self.kept(key, lambda: Evaluator(
            program, wrt=wrt, grad=grad, dtype=dtype or self.task.dtype, limits=self.limits,
            seed=self.task.seed,
        ))  # fmt: skip
        return found

    def fields(self, dtype: str) -> Fields:
        """What reads variables of a dtype."""
        return Fields(lambda name: True, dtype, self.max_bytes)

    def values(self, given: Mapping[str, Any], dtype: str) -> dict[str, Any]:
        """Variables as numbers and arrays. Raises Fault that names the variable."""
        fields = self.fields(dtype)
        return {name: fields.json(name, value) for name, value in given.items()}


# ---- Commands ------------------------------------------------------------------------------------


def _evaluated(worker: JobWorker, job: Job, program: Program, used: dict) -> dict[str, Any]:
    """eval and grad."""
    grad = job.command == "grad"
    evaluator = worker.evaluator_of(program, grad, job.wrt if grad else None)
    try:
        value, grads = evaluator.row(worker.values(used, evaluator.dtype), job.number)
    except Fault as fault:
        if fault.code == "E0202":
            fault.help = (fault.help or "").replace("the row a field", "vars a")
        raise
    found: dict[str, Any] = {"value": tensor_record(value)}
    if grads is not None:
        found["grads"] = {n: tensor_record(g) for n, g in grads.items()}
    return found


class _Function(Expression):
    """A job's program as a function of the variables that are differentiated by."""

    def __init__(self, worker: JobWorker, job: Job, program: Program, used: dict) -> None:
        self.evaluator = worker.evaluator_of(program)
        self.worker, self.job, self.program = worker, job, program
        self.leaves = {n: tensor(v) for n, v in worker.values(used, self.evaluator.dtype).items()}
        self.fixed = {}
        program.names.require([*self.leaves, *program.names.called])
        self.wanted = [n for n, v in self.leaves.items() if v.dtype.differentiable]
        if job.wrt is not None:
            for name in job.wrt:
                if name not in self.wanted:
                    said = f"wrt: {shown(name)} is no real variable of the job"
                    mend = f"its variables: {', '.join(self.wanted) or 'none'}"
                    raise ValueFault("E0910", said, help=mend)
        for name in self.wanted:
            if job.wrt is None or name in job.wrt or program.differentiates:
                self.leaves[name].requires_grad_()
        self.wanted = self.wanted if job.wrt is None else list(job.wrt)
        self.inputs = tuple(self.leaves[n] for n in self.wanted)

    def result(self, put_in: Mapping[str, Any]) -> Any:
        """The value with some variables replaced, on the random numbers of this job's run."""
        given = {**self.leaves, **put_in}
        with self.anew():
            found = self.evaluator.result(self.program.run(given, limits=self.worker.limits))
        return found if getattr(found, "__gradcli_rank__", 0) else as_tensor(number_of(found))

    def redraw(self) -> None:
        self.evaluator.redraw(self.job.number)

    def closed_form(self, declared: Mapping[str, Any]) -> Any:
        """The formulas of the gradient, made once for all jobs of a text."""
        job = self.job
        return _closed_form(self.worker, job.text, job.whole, self.wanted, None, declared, {})


def _tables(worker: JobWorker, job: Job, program: Program, used: dict) -> dict[str, Any]:
    """hess and jac."""
    function = _Function(worker, job, program, used)
    take = hessian if job.command == "hess" else jacobian
    of_inputs = function.function(*function.wanted)
    with function.evaluator.settings():
        value = function.value()
        if take is hessian:
            need_scalar(value, "sum(...) of it, or the command jac")
        tables = take(of_inputs, function.inputs) if function.wanted else ()

    def by_name(found: Any) -> dict[str, Any]:
        if not isinstance(found, tuple):
            return _record(found)
        return {n: by_name(part) for n, part in zip(function.wanted, found, strict=True)}

    found = by_name(tables)
    of = {"hessians": found} if take is hessian else {"jacobians": {"value": found}}
    return {"value": _record(value), **of}


def _diff(worker: JobWorker, job: Job, program: Program, used: dict) -> dict[str, Any]:
    from gradcli.symbolic.shapes.declarations import declares  # needed by some jobs only

    declared = {n: v for n, v in used.items() if isinstance(v, str) and declares(v)}
    given = {n: v for n, v in used.items() if n not in declared}
    values = worker.values(given, dtype_of(program, worker.task.dtype))
    result = _closed_form(worker, job.text, job.whole, job.wrt, job.order, declared, values)
    answer = Answer(result, values)
    return {**answer.record(), "warnings": answer.warnings()}


def _closed_form(
    worker: JobWorker, text: str, whole: bool, wrt: Sequence[str] | None, order: int | None,
    declared: Mapping[str, Any], values: Mapping[str, Any],
) -> Any:  # fmt: skip
    from gradcli.symbolic import Declaration, diff  # needed by some jobs only

    shapes = {**declared, **{n: Declaration.of_shape(np.shape(v)) for n, v in values.items()}}
    key = (text, whole, wrt and tuple(wrt), order, tuple((n, str(d)) for n, d in shapes.items()))
    return worker.kept(
        key, lambda: diff(worker.program(text, whole), wrt, order=order or 1, declared=shapes)
    )


def _check(worker: JobWorker, job: Job, program: Program, used: dict) -> dict[str, Any]:
    if job.against is not None:
        return _compared(worker, job, program, used)
    function = _Function(worker, job, program, used)
    off = []
    with function.evaluator.settings():
        value = function.value()
        grads = function.evaluator.gradients(value, list(function.inputs))
        seen = Entries(function, value, function.function)
        try:
            seen.examine([wrap(g, x.dtype) for g, x in zip(grads, function.inputs, strict=True)])
        except RuntimeFault as fault:
            if fault.code != "E0410":
                raise
            off.append(fault.message)
    compared = seen.compared + seen.stepped
    agrees = not off if off or compared else None
    worst = None if off else seen.worst
    found = {"value": _record(value), "agrees": agrees, "max_rel_error": worst,
             "compared": compared, "notes": seen.notes}  # fmt: skip
    return {**found, **({"differs": off} if off else {})}


def _compared(worker: JobWorker, job: Job, program: Program, used: dict) -> dict[str, Any]:
    """Whether two expressions are one function: at the values given, else at points."""
    assert job.against is not None
    other = worker.program(job.against, False)
    values = worker.values(used, worker.task.dtype or "float64")
    if job.order:
        names = job.wrt if job.wrt is not None else other.free
        if len(names) != 1:
            raise ValueFault(
                "E0923", "wrt: the derivative of against is by one variable", help='"wrt": "x"'
            )
        form = _closed_form(worker, job.against, False, names, job.order, {}, values)
        other = worker.program(form.text, False)
    free = sorted({*program.free, *other.free} - values.keys())
    given, count = _points(free)
    columns = {n: np.broadcast_to(v, (count, *np.shape(v))) for n, v in values.items()}
    columns.update(given)
    mine, theirs = (_series(worker, p, columns, count) for p in (program, other))
    compared, worst, at = 0, 0.0, None
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if isinstance(b, Fault):
            if count == 1:
                raise b
            continue
        if not np.isfinite(b).all():
            continue
        compared += 1
        error = float("inf")
        if not isinstance(a, Fault) and np.shape(a) == np.shape(b):
            scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), SMALL)
            error = float(np.max(np.abs(a - b) / scale, initial=0.0))
            error = error if error == error else float("inf")
        elif count == 1 and isinstance(a, Fault):
            raise a
        if error > worst:
            worst, at = error, i
    if not compared:
        said = "against has no finite value at any point that was tried"
        raise RuntimeFault("E0910", said, help="give vars at which it has one")
    found: dict[str, Any] = {"agrees": worst <= AGREE, "max_rel_error": worst, "points": compared}
    if worst > AGREE and at is not None and given:
        found["differs_at"] = {n: float(v[at]) for n, v in given.items()}
    return found


def _points(names: Sequence[str]) -> tuple[dict[str, np.ndarray], int]:
    """Values for variables without one: the same points for every job."""
    if not names:
        return {}, 1
    rng = np.random.default_rng(20_261)
    found = {}
    for name in names:
        positive = rng.uniform(0.2, 2.5, _POINTS // 2)
        found[name] = np.concatenate([positive, rng.uniform(-2.5, 2.5, _POINTS - _POINTS // 2)])
    return found, _POINTS


def _series(
    worker: JobWorker, program: Program, columns: Mapping[str, np.ndarray], count: int
) -> list[Any]:
    """The value at each point, or the fault there."""
    evaluator = worker.evaluator_of(program, dtype=worker.task.dtype or "float64")
    found: list[Any] = []
    for i in range(count):
        try:
            found.append(evaluator.row({n: a[i] for n, a in columns.items()})[0])
        except Fault as fault:
            found.append(fault)
    return found


def _record(value: Any) -> dict[str, Any]:
    return tensor_record(value.detach().array if isinstance(value, Tensor) else value)


def _warnings(found: Mapping[str, Any]) -> list[str]:
    jacobians = found.get("jacobians", {}).get("value", {})
    blocks = {
        first if first == second else f"{first},{second}": block
        for first, row in found.get("hessians", {}).items() for second, block in row.items()
    }  # fmt: skip
    said = ["the value is not finite"] if "value" in found and _odd(found["value"]) else []
    for called, tables in (
        ("gradient by", found.get("grads", {})), ("Jacobian by", jacobians),
        ("second derivative by", blocks),
    ):  # fmt: skip
        said += [f"the {called} {name} is not finite" for name, t in tables.items() if _odd(t)]
    if found.get("value", {}).get("dtype", "").startswith("complex"):
        said += [
            of_complex_result(name, table["dtype"].startswith("complex"))
            for name, table in jacobians.items()
        ]
    return said


def _odd(record: Mapping[str, Any]) -> bool:
    """Whether a record holds NaN or an infinity, which stand in it as texts."""
    text = dump_json(record["data"])
    return "NaN" in text or "Infinity" in text


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "grad": _evaluated, "eval": _evaluated, "diff": _diff, "hess": _tables, "jac": _tables,
    "check": _check,
}  # fmt: skip
