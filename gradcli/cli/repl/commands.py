"""What begins with a colon: ``:vars``, ``:set precision 10``, ``:save session.grad``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gradcli.cli.catalogue import COMMANDS
from gradcli.cli.repl import describing, evaluation, saving
from gradcli.cli.repl.messages import translated
from gradcli.cli.repl.session import LAST_BUT_ONE
from gradcli.cli.repl.settings import SETTINGS, WrongSetting, unknown_setting
from gradcli.cli.topics import TOPICS
from gradcli.display.values import show_rows
from gradcli.language.diagnostics.render import closest, did_you_mean, inert
from gradcli.language.syntax import nodes as n
from gradcli.ops.errors import ValueFault

if TYPE_CHECKING:
    from gradcli.cli.repl.shell import Shell


class Command(NamedTuple):
    """One command: what it is given, what it does, in a few words, and the work."""

    given: str
    doc: str
    work: Callable[[Shell, str], bool | None]


def run(shell: Shell, line: str) -> bool:
    """Do what a line with a colon says; False to leave. Raises Fault."""
    if "\n" in line:
        raise ValueFault("E0907", "a command is one line", help="run what follows it by itself")
    name, _, rest = line[1:].strip().partition(" ")
    name = name or "help"
    if name not in ALL:
        help = did_you_mean(name, ALL, "all commands: :help", ":{}")
        raise ValueFault("E0906", f"no command :{inert(name)}", help=help)
    return ALL[name].work(shell, rest.strip()) is not False


def _vars(shell: Shell, rest: str) -> None:
    names = [n for n in shell.session.variables if n not in ("_", LAST_BUT_ONE)]
    rows = []
    for name in names:
        value = shell.session.variables[name]
        rows.append((name, describing.kind(value), describing.brief(value),
                     describing.standing(value)))  # fmt: skip
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(4)]
    for row in rows:
        line = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        shell.write(_cut(line.rstrip(), shell.width) + "\n")


def _cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else line[: max(1, width - 1)] + "…"


def _set(shell: Shell, rest: str) -> None:
    name, _, value = rest.replace("=", " ", 1).partition(" ")
    name = name.replace("-", "_")
    if not name:
        values = {k: f"{v:g}" if isinstance(v, float) else str(v)
                  for k, v in shell.settings.values.items()}  # fmt: skip
        rows = [(setting.name, values[setting.name], setting.doc) for setting in SETTINGS.values()]
        shell.write(show_rows(rows) + "\n")
        return
    try:
        if value.strip():
            shell.settings.set(name, value.strip())
            shell.apply(name)
            return
        if name not in SETTINGS:
            raise unknown_setting(name)
    except WrongSetting as wrong:
        near = closest(wrong.word, wrong.choices) if wrong.word else None
        help = f"did you mean {near}?" if near else wrong.help
        raise ValueFault("E0907", wrong.message, help=help) from None
    shell.write(f"{name}  {shell.settings[name]}  {SETTINGS[name].doc}\n")


def _save(shell: Shell, rest: str) -> None:
    over = rest.startswith("! ")
    path = rest[1:].strip() if over else rest
    if not path:
        raise ValueFault("E0907", "there is no file to save to", help=":save session.grad")
    _check_name(path)
    if over and shell.width is None:
        raise ValueFault("E0904", "only on a terminal a file is written over", help=":save NEW")
    if os.path.exists(path) and not over:
        raise ValueFault("E0904", f"{path} exists", help=f":save ! {path} writes over it")
    count = saving.save(shell.session, path)
    shell.write(f"{count} statement{'s' * (count != 1)} saved to {path}\n")


def _load(shell: Shell, rest: str) -> None:
    if not rest:
        raise ValueFault("E0907", "there is no file to load", help=":load session.grad")
    path = rest.removeprefix("@")
    _check_name(path)
    shell.load(path)


ENDINGS = (".grad", ".py", ".txt")


def _check_name(path: str) -> None:
    """A session may be piped in, and its text anybody's: it touches nothing but programs."""
    if not path.endswith(ENDINGS):
        raise ValueFault(
            "E0904", f"{path}: a program's name ends in .grad, .py or .txt", help="session.grad"
        )


def _reset(shell: Shell, rest: str) -> None:
    shell.session.reset()


def _undo(shell: Shell, rest: str) -> None:
    if rest and not (rest.isdecimal() and int(rest)):
        raise ValueFault("E0907", f":undo {rest}: a number of statements", help=":undo 2")
    for _ in range(int(rest or 1)):
        if not shell.session.undoable:
            raise ValueFault("E0907", "there is nothing to undo")
        undone = shell.session.undo()
        what = "the reset" if undone is None else _cut(undone.text.partition("\n")[0], 60)
        shell.write(f"undone: {what}\n")


def _time(shell: Shell, rest: str) -> None:
    if not rest:
        raise ValueFault("E0907", "there is nothing to time", help=":time x @ x")
    session = shell.session
    program = session.prepared(rest)
    body = program.names.module.body
    if len(body) == 1 and isinstance(body[0], n.ExprStmt):
        runs, spent, best = 0, 0.0, float("inf")
        while spent < ENOUGH and runs < MOST_RUNS:
            with session.transaction(keep=False):
                began = time.perf_counter()
                session.run(program, session.variables)
                took = time.perf_counter() - began
            runs, spent, best = runs + 1, spent + took, min(best, took)
        shell.write(f"{_seconds(best)}, the best of {runs}\n")
        return
    began = time.perf_counter()
    for value in session.feed(rest):
        shell.show(value)
    shell.write(f"{_seconds(time.perf_counter() - began)}\n")


ENOUGH = 0.3
"""Seconds that an expression is timed."""
MOST_RUNS = 10_000


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def _help(shell: Shell, rest: str) -> None:
    name = rest.removeprefix(":")
    if name in ("", "help"):
        shell.write(overview() + "\n")
    elif name in ALL:
        command = ALL[name]
        shell.write(f":{name} {command.given}".rstrip() + f"   {command.doc}\n")
        if name in COMMANDS:
            _evaluate(name)(shell, "--help")
    elif name in TOPICS:
        shell.write(translated(TOPICS[name]))
    else:
        shell.write(describing.describe(shell.session, rest) + "\n")


def overview() -> str:
    """The text of ``:help``."""
    listed = [n for n in names() if n not in ("jvp", "vjp", "hvp", "eval", "ops", "why")]
    rows = show_rows([(f":{name} {ALL[name].given}", ALL[name].doc) for name in listed])
    return "\n".join([*INTRODUCTION, "", rows, "", *REST])


INTRODUCTION = (
    "x = 3, x = tensor([1., 2.], requires_grad=True), x = @points.csv:height   a variable",
    "def f(x): ...   a function; an empty line ends the block",
    "_ and __   the last value and the one before      ^ is power",
)
REST = (
    "?sin or sin? describes a name; Tab completes it; Ctrl-C stops, Ctrl-D leaves",
    f"short topics: {', '.join(f':help {topic}' for topic in TOPICS)}",
)


def _evaluate(command: str) -> Callable[[Shell, str], None]:
    def work(shell: Shell, rest: str) -> None:
        if not rest and command in evaluation.ON_EXPRESSIONS:
            raise ValueFault("E0907", "there is nothing to compute", help=f":{command} x**2")
        code = evaluation.evaluate(shell.session, command, rest, shell.digits)
        if code == 130:  # Typer's word for Ctrl-C
            raise KeyboardInterrupt
        shell.failed += code != 0

    return work


ALL: dict[str, Command] = {
    **{
        name: Command("EXPR", COMMANDS[name], _evaluate(name)) for name in evaluation.ON_EXPRESSIONS
    },
    **{name: Command("NAME", COMMANDS[name], _evaluate(name)) for name in evaluation.ON_NAMES},
    "time": Command("EXPR", "how long it takes", _time),
    "vars": Command("", "the variables", _vars),
    "set": Command("NAME VALUE", "change a setting; alone it shows all", _set),
    "save": Command("FILE", "the statements that worked, as a program", _save),
    "load": Command("FILE", "run a program file here", _load),
    "undo": Command("", "take back the last statement", _undo),
    "reset": Command("", "forget everything", _reset),
    "help": Command("NAME", "this, or what a command or a name does", _help),
    "quit": Command("", "leave (also Ctrl-D)", lambda _shell, _: False),
}
OTHER_NAMES = {"q": "quit", "exit": "quit", "clear": "reset"}
ALL |= {name: ALL[known] for name, known in OTHER_NAMES.items()}


def names() -> list[str]:
    """The commands, without their other names."""
    return [name for name in ALL if name not in OTHER_NAMES]
