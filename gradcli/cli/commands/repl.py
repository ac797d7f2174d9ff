"""``gradcli repl``: the language live, on a terminal and on a pipe.

A line is a statement or an expression; variables stay. ``grad EXPRESSION`` shows the value and the
gradient by every variable in it, ``diff EXPRESSION`` the closed form, ``:help`` the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import typer

from gradcli.cli import inputs, options, output, watchdog
from gradcli.cli.commands.grad import gradients
from gradcli.cli.streams import standard_input
from gradcli.display.values import show_rows, show_value
from gradcli.engine import Tensor
from gradcli.engine.creation import factories
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import unchanged
from gradcli.language.diagnostics.render import Diagnostic, SyntaxFault
from gradcli.language.runtime import text
from gradcli.language.runtime.run import MAX_STEPS, Limits, Program, prepare
from gradcli.ops.errors import Fault

HELP = """\
x = 0,1,2,3 style values are written tensor([0., 1, 2, 3]); numbers are just x = 3
grad EXPRESSION   the value and the gradient by every variable in it
diff EXPRESSION   the closed form
:vars             the variables
:clear            forget them
:quit             leave (also Ctrl-D)"""
GREETING = "gradcli: type an expression, or :help"


def repl(
    ctx: typer.Context,
    dtype: options.DType = None,
    rng: options.Rng = None,
    precision: options.Precision = None,
    color: options.Color = "auto",
    max_steps: options.MaxSteps = MAX_STEPS,
    max_mem: options.MaxMem = inputs.DEFAULT_MEMORY,
    timeout: options.Timeout = 60.0,
) -> int:
    """Example: gradcli repl"""
    inputs.set_dtype(dtype)
    if rng is not None:
        random.manual_seed(rng)
    session = Session(
        Limits(max_steps, inputs.read_size(max_mem)),
        timeout,
        output.read_precision(precision),
        dtype,
    )
    for name, value in ctx.obj.given:
        session.variables[name] = factories.tensor(
            inputs.read_flag(name, value, inputs.set_dtype(dtype))
        )
    if standard_input().isatty():
        output.write(GREETING + "\n")
        session.talk(_terminal(session))
        return 0
    return session.talk(_pipe())


class Session:
    """The variables of a REPL and what a line does to them."""

    def __init__(
        self, bounds: Limits, timeout: float, digits: int | str | None, dtype: str | None = None
    ) -> None:
        self.bounds = bounds
        self.timeout = timeout
        self.digits = digits
        self.dtype = dtype
        self.variables: dict[str, Any] = {}
        self.before: Program | None = None  # the last line that ran: its imports go on
        self.failed = 0
        self.pending = ""  # what was typed of an input that is not complete yet

    def talk(self, lines: Iterator[str]) -> int:
        """Work through the lines; gives the exit code of the first that failed, else 0."""
        for line in lines:
            pending = self.pending = f"{self.pending}\n{line}" if self.pending else line
            if not pending.strip():
                self.pending = ""
                continue
            # A block goes on until an empty line, as in Python's own prompt.
            if (
                "\n" in pending
                and line.strip()
                and pending.partition("\n")[0].rstrip().endswith(":")
            ):
                continue
            try:
                with unchanged():
                    if not self.take(pending):
                        break
            except SyntaxFault as fault:
                if fault.incomplete and line.strip():
                    continue
                self.complain(fault)
            except Fault as fault:
                self.complain(fault)
            except KeyboardInterrupt:
                sys.stderr.write("interrupted\n")
            finally:
                watchdog.stop()
            self.pending = ""
        return self.failed

    def complain(self, fault: Fault) -> None:
        """Show a fault and go on."""
        sys.stdout.flush()
        sys.stderr.write(Diagnostic.of(fault).render(output.colour(sys.stderr)) + "\n")
        self.failed = self.failed or output.exit_code(fault)

    def take(self, line: str) -> bool:
        """Do what one input says; False to leave."""
        word, _, rest = line.strip().partition(" ")
        if word in (":quit", ":q", ":exit", "exit", "quit") and not rest:
            return False
        if word == ":help":
            output.write(HELP + "\n")
        elif word == ":clear":
            self.variables.clear()
            self.before = None
        elif word == ":vars":
            for name, value in self.variables.items():
                output.write(f"{name} = {self.shown(value)}\n")
        elif word == "grad" and rest and rest[0] not in "=(.":
            self.gradient(rest)
        elif word == "diff" and rest and rest[0] not in "=(.":
            self.closed_form(rest)
        else:
            self.statement(line)
        return True

    def statement(self, line: str) -> None:
        """Run a line; show the value of an expression and keep the variables."""
        program = self.program(line)
        if program.checked.uses_torch and not (self.before and self.before.checked.uses_torch):
            inputs.set_dtype(self.dtype, program)
        outcome = self.run(program, self.variables)
        self.before = program
        for name in (*program.checked.modules, *program.checked.imported):
            self.variables.pop(name, None)
        self.variables.update(outcome.variables)
        if outcome.value is not None:
            output.write(self.shown(outcome.value) + "\n")

    def gradient(self, line: str) -> None:
        """``grad EXPRESSION``: by the variables that stand in it."""
        program = self.program(line)
        leaves: dict[str, Any] = {}
        wanted = []
        for name in program.checked.outer:
            if name not in self.variables:
                continue
            value = self.variables[name]
            if isinstance(value, bool) or not isinstance(value, int | float | Tensor):
                leaves[name] = value
                continue
            leaf = factories.tensor(float(value) if isinstance(value, int) else value)
            leaves[name] = leaf
            if leaf.dtype.differentiable:
                leaves[name] = leaf.requires_grad_()
                wanted.append(name)
        value = inputs.as_result(self.run(program, {**self.variables, **leaves}).value)
        inputs.need_scalar(value, program)
        rows = [("value", show_value(output.array_of(value), self.digits))]
        for name, g in zip(
            wanted, gradients(value, [leaves[n] for n in wanted], None), strict=True
        ):
            rows.append((f"d/d{name}", show_value(output.array_of(g), self.digits)))
        output.write(show_rows(rows) + "\n")

    def closed_form(self, line: str) -> None:
        """``diff EXPRESSION``: the formula, with shapes as the variables have them."""
        from gradcli.symbolic import diff  # slow to load

        found = diff(self.program(line))
        for name, formula in found.derivatives.items():
            output.write(f"d/d{name}   {formula}\n")

    def program(self, line: str) -> Program:
        """A checked line; what it reads must be known."""
        return prepare(line, "line", self.before)

    def run(self, program: Program, values: dict[str, Any]) -> Any:
        """Run within the limits, which start afresh for each line."""
        watchdog.start(self.timeout, final=False)
        known = {
            name: v
            for name, v in values.items()
            if program.takes(name) or name in program.checked.bound
        }
        write = output.inert_writer(sys.stdout)
        return program.run(known, limits=self.bounds, write=write, lasting=True)

    def shown(self, value: Any) -> str:
        """A value as the REPL shows it."""
        if isinstance(value, Tensor):
            return show_value(output.array_of(value), self.digits)
        if isinstance(value, float):
            return show_value(value, self.digits)
        return text.show(value, True)


def _pipe() -> Iterator[str]:
    for line in sys.stdin:
        yield line.rstrip("\n")


def _terminal(session: Session) -> Iterator[str]:
    prompt = _prompt()
    while True:
        try:
            yield prompt("... " if session.pending else "> ")
        except EOFError:
            return
        except KeyboardInterrupt:
            session.pending = ""


def _prompt() -> Callable[[str], str]:
    """prompt_toolkit's line editor with history; the plain prompt where it is missing."""
    try:
        from prompt_toolkit import PromptSession  # slow to load, not for pipes
    except ImportError:
        return input
    return PromptSession().prompt
