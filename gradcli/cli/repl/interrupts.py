"""Ctrl-C in a session: it breaks off what is being computed and nothing else.

Python calls a signal's handler between two of its bytecodes. A statement inside one long call of
NumPy therefore stops when that returns; a thread hears the signal at once through a pipe, says so,
and at the second Ctrl-C saves the session's lines and leaves.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

SAID_AFTER = 0.5
"""Seconds after Ctrl-C until the session says why it goes on."""


class Interrupts:
    """What Ctrl-C does, now.

    ``leave`` is called by the second Ctrl-C while the first cannot get through, before the process
    ends.
    """

    def __init__(self) -> None:
        self.leave: Callable[[], Any] | None = None
        self.computing = 0  # the number of the computation under way, 0 for none
        self.numbers = 0
        self.pressed = False  # during this computation
        self.pending = False  # while nothing could be broken off: the next computation is
        self.reading = False  # Ctrl-C then ends the session
        self.pipe: tuple[int, int] | None = None
        self.before: Any = signal.SIG_DFL

    def watch(self) -> None:
        """Take over SIGINT; in the main thread only."""
        self.before = signal.signal(signal.SIGINT, self.handle)
        if sys.platform == "win32":
            return  # nothing can wait for a pipe there
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        self.pipe = reading, writing
        threading.Thread(target=self._listen, daemon=True).start()

    def release(self) -> None:
        """Give SIGINT back; the thread ends."""
        signal.signal(signal.SIGINT, self.before)
        if self.pipe is not None:
            signal.set_wakeup_fd(-1)
            os.close(self.pipe[1])
            self.pipe = None

    def allowed(self) -> _Allowed:
        """Ctrl-C raises KeyboardInterrupt inside this block, once."""
        return _Allowed(self)

    def handle(self, _number: int, _frame: Any) -> None:
        """The handler of SIGINT."""
        if self.computing and not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        if self.reading:
            raise KeyboardInterrupt
        self.pending = not self.computing

    def _listen(self) -> None:
        assert self.pipe is not None
        reading = self.pipe[0]
        while True:
            heard = _heard(reading, None)
            if heard is None:
                os.close(reading)
                return
            first = self.computing
            if not heard or not first:
                continue
            again = _heard(reading, SAID_AFTER)
            if not again and self.computing == first:
                sys.stderr.write(
                    "stops when the call that is running returns; Ctrl-C again saves the session's "
                    "lines and leaves\n"
                )
                sys.stderr.flush()
            while self.computing == first:
                if again or _heard(reading, 0.1):
                    if self.leave is not None:
                        self.leave()
                    os._exit(130)


class _Allowed:
    """A block that may be interrupted; blocks inside it belong to it."""

    __slots__ = ("interrupts", "outer")

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts

    def __enter__(self) -> None:
        state = self.interrupts
        self.outer = state.computing
        if self.outer:
            return
        if state.pipe is not None:
            # The line editor's event loop takes both for itself each time.
            signal.signal(signal.SIGINT, state.handle)
            signal.set_wakeup_fd(state.pipe[1], warn_on_full_buffer=False)
        if state.pending:
            state.pending = False
            raise KeyboardInterrupt
        state.numbers += 1
        state.pressed = False
        state.computing = state.numbers

    def __exit__(self, *exc: object) -> None:
        self.interrupts.computing = self.outer


def _heard(reading: int, seconds: float | None) -> bool | None:
    """Whether Ctrl-C came within ``seconds``, None of which wait for it; None at the end."""
    ready, _, _ = select.select([reading], [], [], seconds)
    if not ready:
        return False
    found = os.read(reading, 512)
    return signal.SIGINT in found if found else None
