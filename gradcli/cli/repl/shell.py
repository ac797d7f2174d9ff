"""The REPL without its screen: inputs go in, what they show goes out.

An input is a statement, a command that begins with a colon, or a question: ``?sin``, ``sin?``.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gradcli.cli import inputs, output, watchdog
from gradcli.cli.repl import commands
from gradcli.cli.repl.describing import describe
from gradcli.cli.repl.interrupts import Interrupts
from gradcli.cli.repl.messages import in_session
from gradcli.cli.repl.session import Session
from gradcli.cli.repl.settings import Settings
from gradcli.cli.repl.splitting import (
    begins_anew,
    is_command,
    question,
    unfinished,
    without_prompts,
)
from gradcli.display.values import show_value
from gradcli.engine import dtypes, printing
from gradcli.engine.creation import factories
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import unchanged
from gradcli.language.diagnostics.render import Diagnostic, closest
from gradcli.language.names import showing
from gradcli.language.names.table import CALLED, NAMES
from gradcli.language.runtime.run import Limits
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault

LEAVING = frozenset(("exit", "quit", "exit()", "quit()"))
_READ = re.compile(r"([A-Za-z]\w*)\s*=\s*(@\S+)")


class Shell:
    """A session, its settings, and what is shown of both.

    failed   how many inputs failed
    width    the columns of the screen, None where there is no terminal
    """

    def __init__(self, settings: Settings, interrupts: Interrupts | None = None) -> None:
        self.settings = settings
        self.failed = 0
        self.width: int | None = None
        self.session = Session(
            # No method: what a print can reach is noted before each statement.
            write=lambda shown: output.inert_writer(sys.stdout)(shown),
            interrupts=interrupts,
        )

    def begin(self, rng: int | None, given: Iterable[tuple[str, str]]) -> None:
        """Apply the settings, seed the random numbers, read the variables that options gave.

        In the thread, and the context, that the statements will run in: modes belong to those.
        """
        if not gc.isenabled():  # it rested while modules were imported
            gc.freeze()
            gc.enable()
        for name in self.settings.values:
            self.apply(name)
        if rng is not None:
            random.manual_seed(rng)
            self.session.seed = rng
        for name, value in given:
            self.read(name, value)

    def apply(self, name: str) -> None:
        """Let a setting take effect."""
        session, settings = self.session, self.settings
        if name in ("max_steps", "max_mem", "max_depth", "max_output"):
            session.limits = Limits(
                settings["max_steps"], inputs.read_size(settings["max_mem"]),
                settings["max_depth"], settings["max_output"],
            )  # fmt: skip
        elif name == "timeout":
            session.timeout = settings["timeout"]
        elif name == "dtype":
            session.dtype = settings["dtype"] if name in settings.chosen else None
            inputs.set_dtype(settings["dtype"])
        elif name == "precision":
            digits = settings["precision"]
            places = {"auto": 4, "full": 16}.get(digits, digits)
            printing.set_printoptions(precision=places)

    @property
    def digits(self) -> int | str | None:
        """``precision`` as the commands take it."""
        digits = self.settings["precision"]
        return None if digits == "auto" else digits

    # -- inputs --------------------------------------------------------------------------------

    def take(self, given: str) -> bool:
        """Do what one input says; False to leave."""
        given = without_prompts(given)
        word = given.strip()
        self.session.interrupts.pending = False
        if not word:
            return True
        if word in LEAVING and word not in self.session.variables:
            return False
        try:
            with unchanged(), self.session.bounded():
                try:
                    return self._take(given, word)
                finally:
                    watchdog.stop()  # the time that a line may take is over, whoever began it
        except Fault as fault:
            self.complain(fault)
        except KeyboardInterrupt:
            self.failed += 1
            sys.stdout.flush()
            sys.stderr.write("interrupted: everything is as it was before\n")
        except (RecursionError, MemoryError) as problem:
            self.complain(LimitFault("E0604", f"too deep or too large ({type(problem).__name__})"))
        except OSError:
            raise  # what is shown cannot be written
        except Exception as problem:
            if os.environ.get("GRADCLI_DEBUG"):
                raise
            said = f"gradcli stumbled: {type(problem).__name__}: {problem}"
            help = "this is a fault of gradcli; the session is as it was before"
            self.complain(RuntimeFault("E0999", said, help=help))
        return True

    def _take(self, given: str, word: str) -> bool:
        asked = question(word)
        if asked is not None:
            if asked.startswith(":") or asked in ("", "help"):
                return commands.run(self, f":help {asked}")
            self.write(describe(self.session, asked) + "\n")
            return True
        if word.startswith(":"):
            return commands.run(self, word)
        name, _, rest = word.partition(" ")
        if name in ("grad", "diff") and rest and rest.lstrip()[0] not in "=(.[,":
            return commands.run(self, f":{word}")
        if (read := _READ.fullmatch(word)) is not None:
            self.read(*read.groups())
            return True
        for value in self.session.feed(given):
            self.show(value)
            for name in self.session.undefined:
                near = closest(name, [*self.session.variables, *NAMES, *CALLED])
                mend = f"; did you mean `{near}`?" if near else ""
                sys.stderr.write(f"note: `{name}` is not defined yet{mend}\n")
        return True

    def read(self, name: str, text: str) -> None:
        """``x = @points.csv:height``: a variable from a data file."""
        array = inputs.read_flag(name, text, dtypes.get_default_dtype())
        self.session.assign(name, factories.tensor(array), text)

    def load(self, path: str) -> None:
        """Run the statements of a program file."""
        for value in self.session.feed(inputs.read_text(path), "file", path):
            del value

    # -- output --------------------------------------------------------------------------------

    def show(self, value: Any) -> None:
        """Echo the value of a statement in PyTorch's form."""
        if value is not None:
            with self._narrow():
                self.write(self.shown(value) + "\n")

    def shown(self, value: Any) -> str:
        """A value as the REPL shows it.

        Showing may run the program's own code, a ``__repr__``, and so is bounded like a statement.
        """
        if isinstance(value, float) and self.digits not in (None, "full"):
            return show_value(value, self.digits)
        session = self.session
        torch = session.program is not None and session.program.names.says_torch
        spelling = showing.spelled_torch.set(torch)
        try:
            with session.bounded(), session.interrupts.allowed():
                return showing.show(value, True)
        finally:
            showing.spelled_torch.reset(spelling)

    def _narrow(self) -> AbstractContextManager[None]:
        """Tensors no wider than the screen."""
        if self.width is None or self.width >= printing.get_printoptions()["linewidth"]:
            return nullcontext()
        return printing.printoptions(linewidth=max(20, self.width))

    def write(self, shown: str) -> None:
        """Results go to standard output, with all spelled out that a terminal could act on."""
        output.inert_writer(sys.stdout)(shown)

    def complain(self, fault: Fault) -> None:
        """Show a fault; the session goes on."""
        self.failed += 1
        sys.stdout.flush()
        colour = output.colour(sys.stderr, self.settings["color"])
        sys.stderr.write(Diagnostic.of(in_session(fault)).render(colour) + "\n")
        sys.stderr.flush()


def read_lines(shell: Shell, lines: Iterable[str]) -> None:
    """Take the statements and commands of ``lines`` in turn, until one of them leaves."""
    left = _read(shell, lines)
    while left:
        # A string that never ends has taken in the rest: its first part is told as a mistake.
        first, _, rest = left.partition("\n\n")
        if not shell.take(first):
            return
        left = _read(shell, rest.split("\n"))


_DEFINING = ("def ", "class ", "@")


def _read(shell: Shell, lines: Iterable[str]) -> str:
    """Take what is complete; gives what was still unfinished at the end."""
    pending = why = ""
    wrong = False  # the head of a block was: its lines say nothing by themselves
    for raw in lines:
        line = raw.rstrip("\r\n")
        if wrong and (not line.strip() or line[0] in " \t"):
            continue
        wrong = False
        if not pending:
            if not line.strip():
                continue
            pending = line
        elif why == "block" and begins_anew(pending, line):
            if not shell.take(pending):
                return ""
            pending = line
        else:
            pending += f"\n{line}"
        if why == "string" and '"""' not in line and "'''" not in line:
            continue
        with shell.session.bounded():
            why = "" if is_command(pending) else unfinished(without_prompts(pending))
            if not why and not line.strip() and pending.startswith(_DEFINING):
                why = "block"  # files have empty lines inside classes, and nothing is shown anyway
            failed = shell.failed
            if not why and not shell.take(pending):
                return ""
        if not why:
            wrong = shell.failed > failed and line.rstrip().endswith(":")
            pending = ""
    if pending and why != "string":
        shell.take(pending)
        return ""
    return pending
