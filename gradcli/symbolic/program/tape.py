"""Running a program on a tape: the path of given values, and what its result is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradcli.engine.creation import generator as random
from gradcli.engine.creation.factories import as_tensor
from gradcli.language.compile.resolve import check
from gradcli.language.runtime.run import Limits, Outcome, Program
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import RuntimeFault, ValueFault
from gradcli.symbolic.program import path as path  # what a Pair can do
from gradcli.symbolic.program.conditions import Condition
from gradcli.symbolic.program.path import Pair, Tape
from gradcli.symbolic.unsupported import at, no_closed_form

NEEDS_VALUES = "E0703"


def follow(
    program: Program, values: Mapping[str, Any], of: str | None = None,
    limits: Limits | None = None, fixed: Sequence[str] = (),
) -> tuple[Tape, list[Condition]]:  # fmt: skip
    """Run a program on values and write its path down; ``tape.result`` is the last value.

    values   arrays by variable; those that are not floats, or are in ``fixed``, are constants

    Raises a fault (E0701) where a step has no formula, E0910 for a name ``of`` that is not there.
    """
    tape = Tape(program)
    given: dict[str, Any] = {}
    for name, value in values.items():
        tensor = as_tensor(value)
        traced = tensor.dtype.differentiable and name not in fixed
        given[name] = tape.variable(name, tensor) if traced else tensor
    unseeded = random.generator()

    def made(make: Any, shape: Any) -> Any:
        if random.generator() is unseeded:  # other numbers at each point that is followed
            raise no_closed_form("a random number without a seed")
        return make(shape)

    drawing = random.drawing.set(random.Drawing(made, "different"))
    try:
        done = program.run(given, limits=limits, instead=tape.made)
    finally:
        random.drawing.reset(drawing)
    found = result_of(program, done, of)
    if not isinstance(found, Pair):
        found = Pair(tape, tape.place(found), found)
    tape.result = found
    return tape, tape.conditions(program.generated.places if program.generated else [])


def up_to_backward(program: Program) -> Program:
    """A program that ends with the value on which its first ``backward()`` is called."""
    body = program.checked.module.body
    for i, statement in enumerate(body):
        call = statement.value if isinstance(statement, n.ExprStmt) else None
        if not isinstance(call, n.Call) or not isinstance(call.func, n.Attribute):
            continue
        if call.func.name == "backward" and not call.args and not call.keywords:
            last = n.ExprStmt(call.func.value, statement.start, statement.end)
            return _part(program, (*body[:i], last))
    return program


def _part(program: Program, body: tuple[n.Statement, ...]) -> Program:
    """Statements of a program, as a program that computes as the whole does."""
    part = Program(check(program.source, n.Module(body, 0, body[-1].end)))
    part.rebinds = program.rebinds
    return part


def ending_with(program: Program, of: str) -> Program | None:
    """The program up to the last plain assignment of a variable, with that as its value.

    None where there is none at its top level: then the program has to be followed. Raises
    ValueFault (E0910) for a name that is nowhere in the program.
    """
    if not any(isinstance(x, n.Name) and x.id == of for x in n.walk(program.checked.module)):
        said = f"--of {of}: the program leaves no variable of that name"
        raise ValueFault("E0910", said)
    body = program.checked.module.body
    for i in range(len(body) - 1, -1, -1):
        statement: Any = body[i]
        target = statement.targets[0] if isinstance(statement, n.Assign) else None
        if isinstance(target, n.Name) and target.id == of and len(statement.targets) == 1:
            last = n.ExprStmt(n.Name(of, target.start, target.end), statement.start, statement.end)
            return _part(program, (*body[: i + 1], last))
    return None


def result_of(program: Program, outcome: Outcome, of: str | None) -> Any:
    """The value of a run, as ``Program.result`` has it; also what was assigned to in place last.

    Raises ValueFault (E0910, E0314) where there is none.
    """
    found = program.result(outcome, of)
    last = program.checked.module.body[-1] if program.checked.module.body else None
    if found is None and isinstance(last, n.AugAssign) and isinstance(last.target, n.Name):
        found = outcome.variables.get(last.target.id)
    if found is None:
        mend = "end with an expression, or name one with --of NAME"
        raise ValueFault("E0314", "the text ends without a value", help=mend)
    return found


def needs_values(program: Program, conditions: Sequence[Condition], given: str) -> RuntimeFault:
    """The fault (E0703) for a path that cannot be followed without values."""
    said = f"the path through the program depends on values: {conditions[0].text}"
    mend = f"give them, for example --{given} 1: the formula is then that of their path"
    fault = RuntimeFault(NEEDS_VALUES, said, help=mend)
    return at(fault, program.source, conditions[0].node)
