"""A terminal for the REPL: the process at the other end of a pseudo-terminal, and its screen."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from fcntl import ioctl

import pytest

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()].?|\r")


class Terminal:
    """A session that is typed to. ``text`` is what came since the last prompt, without control."""

    def __init__(self, args: list[str], env: dict[str, str], folder: str, columns: int) -> None:
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "gradcli", *args], env)
        ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.text = ""
        self.raw = ""
        self.code: int | None = None
        self.expect("> ")

    def send(self, text: str) -> None:
        """Type, without Enter."""
        os.write(self.fd, text.encode())

    def read(self, seconds: float = 0.05) -> None:
        """Take in what comes within ``seconds``."""
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            self.raw += data.decode("utf-8", "replace")
            self.text = _CONTROL.sub("", self.raw)

    def expect(self, wanted: str, seconds: float = 20.0) -> str:
        """Wait until ``wanted``, a regular expression, is on the screen; gives the text."""
        until = time.monotonic() + seconds
        while not re.search(wanted, self.text):
            assert time.monotonic() < until, f"{wanted!r} did not come:\n{self.text}"
            self.read()
        return self.text

    def enter(self, text: str, wanted: str = r"\n> $") -> str:
        """Type a line with Enter; gives what it printed up to the next prompt."""
        self.raw = self.text = ""
        self.send(f"{text}\r")
        return self.expect(wanted)

    def paste(self, text: str) -> None:
        """A bracketed paste, as terminals send it."""
        self.raw = self.text = ""
        self.send(f"\x1b[200~{text}\x1b[201~")

    def interrupt(self) -> None:
        """Ctrl-C while something is computed."""
        self.raw = self.text = ""
        os.kill(self.pid, signal.SIGINT)

    def stopped(self, text: str) -> float:
        """The seconds from Ctrl-C to the prompt, pressed while a statement runs.

        On a busy machine the line may not be running yet when it comes, and the prompt takes it:
        after five seconds it is pressed again.
        """
        self.raw = self.text = ""
        self.send(f"{text}\r")
        time.sleep(0.3)
        self.read(0.01)
        self.interrupt()
        began, again = time.perf_counter(), 5.0
        while "interrupted: everything is as it was before\n> " not in self.text:
            took = time.perf_counter() - began
            assert took < 20, f"it goes on:\n{self.text}"
            if took > again and not self.text:
                again = 20.0
                self.interrupt()
            self.read(0.005)
        return took

    def end(self) -> int:
        """Wait for the end; gives the exit code."""
        until = time.monotonic() + 20
        while self.code is None and time.monotonic() < until:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        assert self.code is not None, self.text
        return self.code

    def close(self) -> None:
        """End it in any case."""
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminal(wheel, tmp_path):
    """Start ``gradcli`` on a terminal, its files under an empty folder."""
    open_ones = []

    def start(*args: str, columns: int = 80, **env: str) -> Terminal:
        full = {
            **os.environ, "PYTHONPATH": str(wheel), "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "TERM": "xterm", "NO_COLOR": "1", **env,
        }  # fmt: skip
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        open_ones.append(Terminal(list(args), full, str(folder), columns))
        return open_ones[-1]

    yield start
    for one in open_ones:
        one.close()
