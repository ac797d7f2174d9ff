"""The wall-clock limit of one command.

A timer signal raises a fault between two bytecodes, which a program cannot catch (the language has
no ``try``). A call into NumPy can hold the signal up, so a thread waits a little longer and then
ends the process itself.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from gradcli.ops.errors import LimitFault

GRACE = 2.0
"""Seconds after the limit until the process is ended from outside the computation."""


def start(seconds: float, final: bool = True) -> None:
    """Limit what follows to ``seconds`` of wall time; 0 sets no limit. Raises LimitFault (E0608).

    ``final``: end the process where the fault cannot get through. A REPL, which goes on, says no.
    """
    if seconds <= 0:
        return
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda number, frame: _expire(seconds, frame))
        signal.setitimer(signal.ITIMER_REAL, seconds)
    if not final:
        return
    import _thread

    _thread.start_new_thread(_end, (seconds,))


def stop() -> None:
    """The computation is over: output may take as long as it needs."""
    global _running
    _running = False
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


_running = True


def _expire(seconds: float, _frame: FrameType | None) -> None:
    raise LimitFault(
        "E0608",
        f"the evaluation took longer than {seconds:g} s",
        help="--timeout SECONDS raises the limit",
    )


def _end(seconds: float) -> None:
    import time

    time.sleep(seconds + GRACE)
    if _running:
        sys.stderr.write(
            f"error[E0608]: the evaluation took longer than {seconds:g} s\n"
            "   help: --timeout SECONDS raises the limit\n"
        )
        sys.stderr.flush()
        os._exit(3)
