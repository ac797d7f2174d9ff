"""Inputs from a pipe: plain lines, put together while a statement is unfinished."""

from __future__ import annotations

from collections.abc import Iterable

from gradcli.cli.repl.shell import Shell
from gradcli.cli.repl.splitting import begins_anew, is_complete, without_prompts


def read_lines(shell: Shell, lines: Iterable[str]) -> None:
    """Take the statements and commands of ``lines`` in turn, until one of them leaves."""
    pending = ""
    block = False
    for raw in lines:
        line = raw.rstrip("\r\n")
        if not pending:
            if not line.strip():
                continue
            pending = line
        elif block and begins_anew(pending, line):
            if not shell.take(pending):
                return
            pending, block = line, False
        else:
            pending += f"\n{line}"
        if _is_command(pending) or is_complete(without_prompts(pending)):
            if not shell.take(pending):
                return
            pending, block = "", False
        else:
            block = block or line.rstrip().endswith(":")
    if pending:
        shell.take(pending)


def _is_command(text: str) -> bool:
    return text.lstrip()[:1] in (":", "?") or text.rstrip().endswith("?")
