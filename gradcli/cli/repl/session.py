"""A session: variables, and statements that change them all or not at all.

A statement that fails or is interrupted leaves everything as it was: variables, entries written in
place, gradients, graphs, random numbers. Each one that ran can be undone, the last one first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import CellType
from typing import Any, NamedTuple

from gradcli.cli import watchdog
from gradcli.cli.arguments import noted
from gradcli.cli.repl.interrupts import Interrupts
from gradcli.cli.repl.rollback import EMPTY, Snapshot, held_by, repeatable, restore_cell
from gradcli.cli.repl.splitting import units
from gradcli.engine import dtypes, printing
from gradcli.engine.creation import generator as random
from gradcli.engine.grad_mode import mode, unchanged
from gradcli.engine.undo_log import open_log
from gradcli.language.compile.resolve import Checked, check
from gradcli.language.diagnostics.parsing import parse
from gradcli.language.names.table import CALLED, CONSTANTS, NAMES
from gradcli.language.runtime.run import Limits, Program
from gradcli.language.syntax import nodes as n
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault

UNDO = 50
"""Statements that ``:undo`` can take back."""
UNDO_BYTES = 1 << 28
"""The most memory that this takes."""

LITERAL = 1000
"""Entries up to which a value from a data file is written out in a saved program."""


class Line(NamedTuple):
    """A statement that worked: its text in the language of files and of lines, and its value.

    shown  whether it gave a value, which ``_`` is then
    looks  whether it calls nothing, and so cannot change anything else
    dtype  the default one that it began with
    made   the function that it defines, where it does nothing else
    """

    text: str
    mode: str
    shown: bool
    looks: bool
    dtype: dtypes.DType
    made: Any = None


class _Before:
    """What a statement can be taken back to."""

    __slots__ = ("count", "defaults", "held", "lines", "modes", "program", "snapshot", "variables")

    def __init__(self, session: Session) -> None:
        self.variables = dict(session.variables)
        self.held = {name: held_by(cell) for name, cell in session.cells.items()}
        self.program, self.modes = session.program, session.modes
        self.lines, self.count = session.lines, len(session.lines)
        self.defaults = dtypes.get_default_dtype(), printing.get_printoptions()
        self.snapshot = Snapshot(session.variables)

    def restore(self, session: Session) -> None:
        """Make the session what it was."""
        session.variables.clear()
        session.variables.update(self.variables)
        for name, cell in session.cells.items():
            restore_cell(cell, self.held.get(name, EMPTY))
        session.program, session.modes = self.program, self.modes
        session.lines = self.lines
        del session.lines[self.count :]
        dtypes.set_default_dtype(self.defaults[0])
        printing.set_printoptions(**self.defaults[1])
        self.snapshot.restore()


class Session:
    """The program so far.

    variables   name -> value
    cells       name -> where its functions find the value, for each name that a statement said
    program     the last statement that ran: its imports go on
    lines       the statements that worked, in order
    limits      what each statement may use; ``timeout`` is its seconds, 0 for no limit
    dtype       the default one that somebody asked for: an ``import torch`` leaves it alone
    """

    def __init__(
        self, write: Callable[[str], Any] | None = None, interrupts: Interrupts | None = None
    ) -> None:
        self.limits = Limits()
        self.write = write
        self.interrupts = interrupts or Interrupts()
        self.timeout = 0.0
        self.dtype: str | None = None
        self.variables: dict[str, Any] = {}
        self.cells: dict[str, CellType] = {}
        self.program: Program | None = None
        self.lines: list[Line] = []
        self.undefined: list[str] = []  # what functions of the last statement read and nothing is
        self.modes = True, False  # whether operations are recorded, and inference mode
        self.seed = random.snapshot()
        self._undo: list[_Before] = []

    # -- statements --------------------------------------------------------------------------------

    def feed(self, text: str, mode: str = "line", name: str = "<repl>") -> Iterator[Any]:
        """Run the statements of a text, one transaction each; yields the value of each.

        Statements on one line are one transaction. Raises what the first that fails raises: Fault,
        or KeyboardInterrupt; those before it stand, nothing after it runs.
        """
        source = Source(_last_but_one(text) if mode == "line" else text, name)
        with _quoted(source, text):
            with self.bounded(), self.interrupts.allowed():
                modules = units(source, mode)
            for module in modules:
                with self.bounded():
                    value = self._statement(source, module, mode)
                yield value

    def _statement(self, source: Source, module: n.Module, mode: str) -> Any:
        noted.clear()  # each statement warns anew
        with self.interrupts.allowed():
            program = self._checked(source, module, mode)
        dtype = dtypes.get_default_dtype()
        with self.transaction():
            value = self.run(program, self.variables, commit=True)
            shown = value is not None and isinstance(module.body[-1], n.ExprStmt)
            if shown:
                if "_" in self.variables:
                    self.variables[LAST_BUT_ONE] = self.variables["_"]
                self.variables["_"] = value
            looks = all(isinstance(s, n.ExprStmt) for s in module.body) and not any(
                isinstance(node, n.Call) for node in n.walk(module)
            )
            text = source.text[module.start : module.end]
            made = self.variables.get(defined_by(module)[0])
            self.lines.append(Line(text, mode, shown, looks, dtype, made))
        return value

    def assign(self, name: str, value: Any, origin: str) -> None:
        """Give a variable a value that no statement computed: ``origin`` says where it is from."""
        with self.transaction():
            self._assign({name: value})
            literal = value.tolist() if value.array.size <= LITERAL else None
            text = f"{name} = tensor({literal!r})" if literal is not None else (
                f"# {name} is {origin}: give it with --{name} {origin}"
            )  # fmt: skip
            self.lines.append(Line(text, "file", False, False, dtypes.get_default_dtype()))

    def prepared(self, text: str) -> Program:
        """A text, checked as a statement of this session. Raises SyntaxFault."""
        source = Source(_last_but_one(text), "<repl>")
        with _quoted(source, text):
            return self._checked(source, parse(source, compact=True), "line")

    def _checked(self, source: Source, module: n.Module, mode: str) -> Program:
        before = self.program.names if self.program is not None else None
        start, end = module.start, module.end

        def whole() -> Checked:
            body = (one for one in parse(source, mode).body if start <= one.start < end)
            return check(source, n.Module(tuple(body), start, end), before)

        checked = check(source, module, before)
        program = Program(checked, mode == "line", whole if checked.sums or checked.data else None)
        program.rebinds = False  # a session has tensors
        program.cells = self.cells
        return program

    def run(self, program: Program, values: Mapping[str, Any], commit: bool = False) -> Any:
        """The value of a program on ``values``; with ``commit`` its variables become the session's.

        Raises Fault and KeyboardInterrupt.
        """
        checked = program.names
        names = (*checked.outer, *checked.bound, *checked.shared)
        known = {k: values[k] for k in names if k in values}
        own = self._of_functions(program, known)
        known.update(own)
        known_already = self.program is not None and self.program.names.uses_torch
        if checked.uses_torch and not known_already and self.dtype is None:
            dtypes.set_default_dtype(dtypes.float32)
        held = {name: held_by(cell) for name, cell in self.cells.items()}
        with self.bounded(), unchanged(), self.interrupts.allowed():
            mode.grad, mode.inference = self.modes
            outcome = program.run(known, limits=self.limits, write=self.write, lasting=commit)
            modes = mode.grad, mode.inference
        if commit:
            self.program = program
            self.modes = modes
            for name in (*checked.modules, *checked.imported):
                self.variables.pop(name, None)
            made = {
                k: repeatable(v) for k, v in outcome.variables.items()
                if k not in own or k in checked.bound
            }  # fmt: skip
            held.update(own)
            for name, cell in self.cells.items():  # functions that say `global` write to them
                if (new := held_by(cell)) is not held.get(name, EMPTY) and new is not EMPTY:
                    made.setdefault(name, repeatable(new))
            self._assign(made)
            self.undefined = [k for k, v in own.items() if v is None and k not in self.variables]
            for name in self.undefined:
                restore_cell(self.cells[name], EMPTY)
        return outcome.value

    def _assign(self, made: Mapping[str, Any]) -> None:
        self.variables.update(made)
        for name in made.keys() & self.cells.keys():
            self.cells[name].cell_contents = made[name]

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """The seconds and the memory that a statement may take, for the block; inside another, what
        is left of them."""
        outermost = watchdog.start(self.timeout, self.limits.memory or 0)
        try:
            yield
        finally:
            if outermost:
                watchdog.stop()

    # -- functions see the session's variables as they are now ---------------------------------

    def _of_functions(self, program: Program, known: Collection[str]) -> dict[str, Any]:
        """Further values for a program that defines functions: names that only they read.

        A name without a value (None here) may get one before the call, and a constant such as
        ``e`` may become a variable.
        """
        checked = program.names
        read_now: set[str] = set()
        functions = False
        work: list[n.Node] = [checked.module]
        while work:
            node = work.pop()
            if isinstance(node, n.Name):
                read_now.add(node.id)
            if isinstance(node, n.Def | n.Lambda):
                functions = True
                work += (*node.params, *getattr(node, "decorators", ()))
            else:
                work += n.children(node)
        if not functions:
            return {}
        names = {k for k in checked.outer if k not in known and k not in checked.bound}
        names -= {k for k in names if k in CALLED and k in checked.called} | read_now
        return {k: CONSTANTS.get(k) for k in names if k not in NAMES or k in CONSTANTS}

    # -- transactions ------------------------------------------------------------------------------

    @contextmanager
    def transaction(self, keep: bool = True) -> Iterator[None]:
        """Whatever the block does to the session is taken back where it raises.

        ``keep=False``: it is taken back in any case. With ``keep``, ``undo`` takes it back later.
        """
        before = _Before(self)
        self._undo.append(before)
        open_log(before.snapshot.log)
        done = False
        try:
            yield
            watchdog.stop()  # what follows is done as a whole
            done = keep
        finally:
            watchdog.stop()
            self.interrupts.computing = 0
            open_log(None)
            if not done:
                self._undo.pop()
                before.restore(self)
        while len(self._undo) > 1 and (
            len(self._undo) > UNDO or sum(b.snapshot.nbytes for b in self._undo) > UNDO_BYTES
        ):
            del self._undo[0]
            self._undo[0].snapshot.is_oldest()

    @property
    def undoable(self) -> bool:
        """Whether there is anything to take back."""
        return bool(self._undo)

    def undo(self) -> Line | None:
        """Take back the last statement that may have changed something, and what came after it;
        None where there is none."""
        undone = None
        while self._undo:
            undone = self.lines[-1] if len(self.lines) > self._undo[-1].count else None
            self._undo.pop().restore(self)
            if undone is None or not undone.looks:
                break
        return undone

    def reset(self) -> None:
        """Forget the variables and the lines; ``undo`` brings them back."""
        with self.transaction():
            self.variables.clear()
            self.program = None
            self.lines = []


def defined_by(module: n.Module) -> tuple[str, tuple[n.Param, ...]]:
    """The function that a statement defines, ``def name`` or ``name = lambda``, and what it takes;
    "" where it does more."""
    first, *more = module.body
    if isinstance(first, n.Def) and not more:
        return first.name, first.params
    if isinstance(first, n.Assign) and isinstance(first.value, n.Lambda) and not more:
        target = first.targets[-1]
        if isinstance(target, n.Name):
            return target.id, first.value.params
    return "", ()


LAST_BUT_ONE = "o_"
"""What ``__`` is called inside: no program can name that."""
_WRITTEN = re.compile(r"(?<![\w.\"'])__(?![\w\"'])")


def _last_but_one(text: str) -> str:
    """``text`` with ``__`` under the name that the session gives it."""
    return _WRITTEN.sub(LAST_BUT_ONE, text) if "__" in text else text


@contextmanager
def _quoted(source: Source, text: str) -> Iterator[None]:
    """Errors inside quote ``text``, where ``source`` has other names in the same places."""
    try:
        yield
    except Fault as fault:
        if getattr(fault, "source", None) is source and source.text != text:
            fault.source = Source(text, source.name)  # type: ignore[attr-defined]
        raise
