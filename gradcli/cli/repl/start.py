"""Begin a session: on a terminal with the line editor, else line by line.

Nothing here loads numbers: on a terminal they come while the user looks at the prompt.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gradcli.cli.repl.interrupts import Interrupts
from gradcli.cli.repl.settings import Settings, WrongSetting, app_dir

if TYPE_CHECKING:
    from gradcli.cli.repl.shell import Shell


def configured(no_config: bool = False) -> tuple[Settings, str | None]:
    """The settings of the configuration file, and the folder that it and the history are in."""
    settings = Settings()
    folder = None if no_config else app_dir()
    wrong = [] if folder is None else settings.load(os.path.join(folder, "config.toml"))
    for name in ("max_steps", "max_depth", "max_output", "max_mem", "timeout"):
        text = os.environ.get(f"GRADCLI_{name.upper()}")
        if text:
            try:
                settings.set(name, text)
            except WrongSetting as fault:
                wrong.append(f"GRADCLI_{name.upper()}: {fault.message}")
    if wrong:
        from gradcli.language.diagnostics.render import inert  # the language is no part of a start

        sys.stderr.writelines(f"warning: {inert(line)}\n" for line in wrong)
    return settings, folder


def on_terminal() -> bool:
    """Whether somebody sits at both ends."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def start(
    settings: Settings, folder: str | None, rng: int | None = None,
    given: Sequence[tuple[str, str]] = (),
) -> int:  # fmt: skip
    """Run a session to its end; gives the exit code: 1 where a statement on a pipe failed."""
    interrupts = Interrupts()
    interrupts.watch()
    try:
        return _talk(settings, folder, rng, given, interrupts)
    finally:
        interrupts.release()
        watchdog = sys.modules.get("gradcli.cli.watchdog")
        if watchdog is not None:
            watchdog.keep_process(False)


def _talk(
    settings: Settings, folder: str | None, rng: int | None, given: Sequence[tuple[str, str]],
    interrupts: Interrupts,
) -> int:  # fmt: skip
    """The session itself."""

    def make() -> Shell:
        from gradcli.cli import watchdog  # it and the shell load the engine
        from gradcli.cli.repl.shell import Shell

        watchdog.keep_process()
        shell = Shell(settings, interrupts)
        interrupts.leave = lambda: _leave(shell, folder)
        return shell

    if on_terminal():
        from gradcli.cli.repl.terminal import talk  # loads prompt_toolkit

        return talk(settings, folder, make, lambda shell: shell.begin(rng, given))
    from gradcli.cli.repl.shell import read_lines
    from gradcli.cli.streams import standard_input

    stream = standard_input()
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding="utf-8", errors="replace")  # as other commands read it
    shell = make()
    shell.begin(rng, given)
    read_lines(shell, _lines(stream, interrupts))
    return 1 if shell.failed else 0


def _lines(stream: Iterator[str], interrupts: Interrupts) -> Iterator[str]:
    """The lines of a stream; Ctrl-C while one is awaited ends the session."""
    while True:
        interrupts.reading = True
        try:
            line = next(stream, None)
        finally:
            interrupts.reading = False
        if line is None:
            return
        yield line


def _leave(shell: Shell, folder: str | None) -> None:
    """Save the statements of a session that cannot be stopped otherwise."""
    from gradcli.cli.repl.saving import save
    from gradcli.language.diagnostics.render import inert

    place = folder or os.getcwd()
    path = os.path.join(place, time.strftime("session-%Y%m%d-%H%M%S.grad"))
    try:
        os.makedirs(place, exist_ok=True)
        count = save(shell.session, path)
        sys.stderr.write(f"\n{count} statements saved to {inert(path)}\n")
    except Exception as problem:
        sys.stderr.write(f"\nthe statements could not be saved: {inert(str(problem))}\n")
    sys.stderr.flush()
