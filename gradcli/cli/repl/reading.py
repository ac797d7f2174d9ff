"""Inputs from a pipe: plain lines, put together while a statement is unfinished."""

from __future__ import annotations

from collections.abc import Iterable

from gradcli.cli.repl.shell import Shell
from gradcli.cli.repl.splitting import begins_anew, is_command, unfinished, without_prompts


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
        why = "" if is_command(pending) else unfinished(without_prompts(pending))
        if not why and not line.strip() and pending.startswith(_DEFINING):
            why = "block"  # files have empty lines inside classes, and nothing is shown anyway
        if not why:
            failed = shell.failed
            if not shell.take(pending):
                return ""
            wrong = shell.failed > failed and line.rstrip().endswith(":")
            pending = ""
    if pending and why != "string":
        shell.take(pending)
        return ""
    return pending
