"""The commands of the command line on an expression of the session: ``:grad x**2 --wrt x``.

They are the commands themselves, with their options; only where the values come from differs.
Whatever they do to the session is taken back.
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from gradcli.cli import inputs, options, watchdog
from gradcli.cli.arguments import Variables, invoke
from gradcli.cli.catalogue import COMMANDS, module_of
from gradcli.cli.job import Job
from gradcli.cli.repl.rollback import Snapshot
from gradcli.cli.repl.session import LAST_BUT_ONE, Session, defined_by
from gradcli.engine import Tensor, dtypes
from gradcli.engine.creation import factories
from gradcli.engine.undo_log import current_log, open_log
from gradcli.language.diagnostics.render import did_you_mean
from gradcli.language.names.table import CONSTANTS
from gradcli.language.runtime.run import Limits
from gradcli.language.syntax import nodes as n
from gradcli.language.type_names import a_value
from gradcli.ops.errors import ValueFault

ON_EXPRESSIONS = (
    "grad", "jac", "hess", "jvp", "vjp", "hvp", "diff", "check", "doctor", "explain", "graph",
    "plot", "minimize", "eval",
)  # fmt: skip
ON_NAMES = ("ops", "why")
DERIVATIVES = frozenset(("grad", "jac", "hess", "jvp", "vjp", "hvp", "check", "minimize"))
"""Commands that are nothing without a variable to differentiate by."""
REFUSED = frozenset(("--file", "--vars", "--against-file", "--out", "--tensorboard"))
"""Options that name files: a session may be piped in, and its text anybody's."""
_OPTION = re.compile(r"(?:^|\s)(--[A-Za-z][\w-]*(?:[=\s]|$))")


def evaluate(session: Session, command: str, rest: str, digits: Any) -> int:
    """Run a command of the command line; gives its exit code. Raises Fault."""
    words = _words(rest, command in ON_EXPRESSIONS)
    for word in words:
        if word.partition("=")[0] in REFUSED:
            said = f"{word.partition('=')[0]} reads or writes a file, a session does not"
            mend = "x = @FILE reads numbers, :load a program; or use the command itself"
            raise ValueFault("E0907", said, help=mend)
    variables = _OfSession(session, command, digits)
    with session.transaction(keep=False), session.interrupts.allowed():
        module = importlib.import_module(f"gradcli.cli.commands.{module_of(command)}")
        if command == "diff":
            variables.declare(words)
        return invoke(command, module.__dict__[command], words, COMMANDS[command], variables)


def _words(rest: str, expression: bool) -> list[str]:
    """The arguments of a command: the expression as it is written, then options as in a shell."""
    found = _OPTION.search(rest) if expression else None
    text, options_text = (
        (rest, "") if found is None else (rest[: found.start()], rest[found.start(1) :])
    )
    try:
        words = shlex.split(options_text if expression else text)
    except ValueError as problem:
        raise ValueFault("E0907", f"the options cannot be read: {problem}") from None
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1]  # as it is written in a shell
    return [text, *words] if expression and text else words


class _OfSession(Variables):
    """Where a command gets its variables from: the session."""

    __slots__ = ("command", "digits", "session")
    prefix = ":"

    def __init__(self, session: Session, command: str, digits: Any) -> None:
        super().__init__()
        self.session = session
        self.command = command
        self.digits = digits

    def job(self, asked: Mapping[str, Any]) -> Job:
        """The work on one expression of the session."""
        return _SessionJob(self, asked)

    def declare(self, words: list[str]) -> None:
        """For a closed form: the shapes of the session's variables, and the functions it needs."""
        if not words or words[0].startswith("-"):
            return
        program = self.session.prepared(words[0])
        for name in program.names.called:
            value = self.session.variables.get(name)
            if value is not None and not isinstance(value, FunctionType):
                raise _no_formula(name, "has values of its own")
        words[0] = "\n".join([*definitions(self.session, program.names.outer), words[0]])
        whole = self.session.prepared(words[0])
        values = {k: v for k, v in self.session.variables.items() if whole.takes(k)}
        known = leaf_names(values, tuple(values)) | (CONSTANTS.keys() & values)
        for name in values:
            if name in known:
                value = values[name]
                shape = value.array.shape if isinstance(value, Tensor) else ()
                self.given.append((name, _declared(shape)))
        leaves = leaf_names({k: v for k, v in values.items() if program.takes(k)})
        if leaves and not any(word.startswith("--wrt") for word in words):
            words += ["--wrt", ",".join(k for k in program.names.outer if k in leaves)]


def _declared(shape: Sequence[int]) -> str:
    kind = ("scalar", "vector", "matrix")[len(shape)] if len(shape) < 3 else "tensor"
    return kind if not shape else f"{kind}:{','.join(map(str, shape))}"


def definitions(session: Session, names: Iterable[str]) -> list[str]:
    """The statements that define these functions and those that they call.

    Raises ValueFault (E0907) where what a function is now does not follow from such a statement.
    """
    needed = {i: line.text for i, line in enumerate(session.lines) if "import " in line.text}
    work = list(names)
    while work:
        name = work.pop()
        value = session.variables.get(name)
        if not isinstance(value, FunctionType):
            continue
        place = next((i for i, line in enumerate(session.lines) if line.made is value), None)
        if place is None:
            raise _no_formula(name, "has no definition of its own")
        checked = session.prepared(session.lines[place].text).checked
        made, params = defined_by(checked.module)
        if made != name:
            raise _no_formula(name, f"is another name of {made}")
        if any(isinstance(node, n.Name) for p in params if p.default for node in n.walk(p.default)):
            raise _no_formula(name, "has defaults that were variables")
        if place not in needed:
            needed[place] = session.lines[place].text
            work += checked.outer
    return [needed[number] for number in sorted(needed)]


def _no_formula(name: str, why: str) -> ValueFault:
    mend = f":grad and :jac differentiate it; write def {name}(x): ... for a formula"
    return ValueFault("E0907", f"{name} {why}, and no formula", help=mend)


class _SessionJob(Job):
    """A job whose variables are the session's: leaves for numbers, the rest as they are."""

    before: Snapshot | None = None

    @contextmanager
    def anew(self) -> Iterator[None]:
        """A run from what the session has: what the run before it did to values that its functions
        and records lead to is taken back."""
        outer = current_log()
        if self.before is None:
            self.before = Snapshot(self.fixed)
            self.before.log.outer = outer
        else:
            self.before.restore()
        open_log(self.before.log)
        try:
            with super().anew():
                yield
        finally:
            open_log(outer)

    def load(self, variables: Any, asked: Mapping[str, Any]) -> None:
        """Take the expression's variables from the session."""
        session = self.session = variables.session
        self.digits = self.digits or variables.digits
        self.bounds = _limits(session.limits, asked)
        source, _ = inputs.read_source(
            asked.get("expression"), asked.get("pieces"), asked.get("file")
        )
        watchdog.start(session.timeout, self.bounds.memory or 0)
        self.program = session.prepared(source.text)
        self.leaves = {}
        wrt = asked.get("wrt")
        values = {k: v for k, v in session.variables.items() if self.program.takes(k)}
        for name, text in variables.given:
            if not self.program.takes(name):
                said = f"--{name} is neither an option nor a variable of this expression"
                raise ValueFault("E0902", said, help=_near(name, [*self.program.names.outer]))
            read = inputs.read_flag(name, text, dtypes.get_default_dtype())
            values[name] = factories.as_tensor(read)
        missing = [name for name in self.program.free if name not in values]
        if asked.get("fill") and len(missing) == 1:
            read = inputs.read_flag(missing[0], asked["fill"], dtypes.get_default_dtype())
            values[missing[0]] = factories.as_tensor(read)
        own = variables.command in ("graph", "explain")
        chosen = [w.strip() for w in wrt.split(",")] if wrt else None
        self._sort(values, own, chosen)
        self.program.names.require({*self.leaves, *self.fixed})
        derived = variables.command in DERIVATIVES and not leaf_names(values, chosen)
        if derived and not self.program.names.bound:  # else the text may make leaves itself
            for name in chosen or values:
                # As a tensor a list would mean something else: it is repeated by x*2.
                if isinstance(value := values.get(name), list | tuple | bool | Tensor):
                    said, mend = f"{name} is {a_value(value)}", f"tensor({name})"
                    if isinstance(value, Tensor):
                        said, mend = f"{name} is {value.dtype.name}", name
                    raise ValueFault(
                        "E0910", f"{said}, which has no derivative", help=f"{name} = 1.0*{mend}"
                    )
        self.wanted = inputs.wanted(wrt, self.leaves, self.program)

    @property
    def names(self) -> Mapping[str, Any]:
        """The session's own tensors too: a graph may go back to them."""
        own = {k: v for k, v in self.session.variables.items() if k not in ("_", LAST_BUT_ONE)}
        return {**own, **self.leaves}

    def _sort(self, values: Mapping[str, Any], own: bool, wrt: Sequence[str] | None) -> None:
        """Leaves and fixed values among what the expression reads.

        A whole number is a leaf where ``--wrt`` says so, or where nothing else could be one.
        ``own``: tensors of a graph stay what they are, and the graph goes on behind them.
        """
        chosen = leaf_names(values, wrt)
        for name, value in values.items():
            if isinstance(value, Tensor) and name not in chosen:
                self.leaves[name] = value.detach()
            elif name not in chosen:
                self.fixed[name] = value
            elif own and isinstance(value, Tensor) and value.requires_grad:
                self.leaves[name] = value
            else:
                number = float(value) if isinstance(value, int) else value
                if isinstance(number, Tensor):
                    leaf = number.detach().clone()
                else:
                    leaf = factories.tensor(number)
                self.leaves[name] = leaf.requires_grad_()


def leaf_names(values: Mapping[str, Any], wrt: Sequence[str] | None = None) -> set[str]:
    """The variables that a derivative is taken by."""
    whole = {k for k, v in values.items() if isinstance(v, int) and not isinstance(v, bool)}
    real = {
        k for k, v in values.items()
        if isinstance(v, float) or (isinstance(v, Tensor) and v.dtype.differentiable)
    }  # fmt: skip
    return real | (whole & set(wrt or ())) if real or wrt else whole


def _limits(own: Limits, asked: Mapping[str, Any]) -> Limits:
    """The session's limits, but for those that an option sets."""
    named = {"max_steps": "steps", "max_mem": "memory", "max_depth": "depth",
             "max_output": "output"}  # fmt: skip
    found = {field: getattr(own, field) for field in named.values()}
    for name, field in named.items():
        if (value := asked.get(name)) not in (None, options.LIMITS[name][1]):
            found[field] = inputs.read_size(value) if name == "max_mem" else value
    return Limits(**found)


def _near(name: str, known: Sequence[str]) -> str | None:
    shown = [k for k in known if k != LAST_BUT_ONE]
    return did_you_mean(name, known, f"it reads {', '.join(shown) or 'no variables'}", "--{}")
