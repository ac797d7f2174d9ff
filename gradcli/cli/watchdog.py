"""The wall-clock and memory limits of one command, kept from outside the computation.

A timer signal comes ten times a second; between two bytecodes it looks at the clock and at the
memory, and raises a fault that a program cannot catch. A call into NumPy can hold the signal up, so
a thread waits a little longer and then ends the process itself; the same thread looks at the memory
the more often the less is left, and hears Ctrl-C at once through a pipe. Address space is limited
too: a single allocation past all checks fails instead of filling the machine.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradcli.ops.errors import LimitFault
from gradcli.ops.memory_budget import (
    MORE_MEMORY,
    held,
    held_from_here,
    hold_address_space,
    resident,
    set_budget,
    too_much,
    until_next_look,
)

GRACE = 2.0
"""The most seconds after the limit until the process is ended from outside the computation."""
PULSE = 0.1
"""Seconds between two looks."""
PATIENCE = 0.5
"""Seconds after Ctrl-C until the process is ended from outside the computation."""
EXCESS = 1.02
"""How much of the memory allowed may be held for a moment."""


class _Watch:
    """What is being watched now."""

    running = False
    final = False
    lasting = False  # a session: no computation ends the process
    guarded = False  # whether the thread is there
    seconds = 0.0
    deadline = 0.0
    soon = float("inf")  # the deadline of a part
    memory = 0
    base = 0
    told = 0.0
    space: Any = None  # the address space limit from before


_watch = _Watch()
_speaking = _thread.allocate_lock()
"""Held while it is decided who tells of a limit: the computation, or the thread that ends it."""


def start(seconds: float, memory: int = 0) -> bool:
    """Limit what follows to ``seconds`` of wall time (E0608) and ``memory`` bytes (E0602); 0: none.

    Where the fault cannot get through, the process ends, unless it is a session's. Inside another
    one of a session it has the time that is left. Gives whether it is the outermost.
    """
    watch = _watch
    inside = watch.lasting and watch.running
    if inside and memory == watch.memory:
        return False
    watch.memory = memory
    set_budget(memory or None)  # for what runs outside the program too: a backward pass
    watch.base = held_from_here()
    if inside:
        return False
    watch.final = final = not watch.lasting
    watch.running, watch.seconds, watch.told = True, seconds, 0.0
    watch.deadline = time.monotonic() + seconds if seconds > 0 else float("inf")
    if hasattr(signal, "setitimer") and (seconds > 0 or memory):
        signal.signal(signal.SIGALRM, _pulse)
        signal.setitimer(signal.ITIMER_REAL, PULSE, PULSE)
    if final and not watch.guarded:
        watch.guarded = True
        _thread.start_new_thread(_guard, (_interrupts(),))
    return True


@contextmanager
def share_of_time(share: float) -> Iterator[None]:
    """Limit a part of a computation to a share of the seconds that are left (E0608)."""
    now = time.monotonic()
    _watch.soon = now + share * (_watch.deadline - now)
    try:
        yield
    finally:
        _watch.soon, _watch.told = float("inf"), 0.0


def keep_process(keep: bool = True) -> None:
    """From now on no computation ends the process: a session goes on."""
    _watch.lasting = keep


def memory() -> int | None:
    """The bytes allowed, of which a value given in an expression takes its share; None: any."""
    return (_watch.running and _watch.memory) or None


def stop() -> None:
    """The computation is over: output may take as long as it needs."""
    with _speaking:
        _watch.running = False
    set_budget(None)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    if _watch.space is not None:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_AS, _watch.space)
        _watch.space = None


def hold_memory(device: str) -> None:
    """Limit the address space to what is in use now and the memory allowed, with room to spare.

    Not with a GPU: its driver reserves far more address space than it uses.
    """
    watch = _watch
    if not watch.running or not watch.memory or device != "cpu" or "cupy" in sys.modules:
        return
    before = hold_address_space(2 * watch.memory + (1 << 30))
    watch.space = watch.space or before


def _pulse(_number: int, _frame: Any) -> None:
    watch = _watch
    now = time.monotonic()
    if not watch.running or now < watch.told:
        return
    if now >= min(watch.deadline, watch.soon):
        watch.told = now + 1  # should something have swallowed the fault, it comes again
        mend = "--timeout SECONDS raises the limit"
        raise LimitFault("E0608", f"the evaluation took longer than {watch.seconds:g} s", help=mend)
    if watch.memory:
        used = held(watch.base, watch.memory)
        if used > watch.memory:
            watch.told = now + 1
            raise LimitFault("E0602", too_much(used, watch.memory), help=MORE_MEMORY)


_pipe: list[int] = []


def _interrupts() -> int:
    """A pipe that has something to read once Ctrl-C was pressed; -1 where signals are not ours."""
    if not _pipe:
        try:
            reading, writing = os.pipe()
            os.set_blocking(writing, False)
            signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        except (ValueError, OSError):
            return -1
        _pipe.append(reading)
    return _pipe[0]


def _guard(reading: int) -> None:
    """The thread: ends the process where a fault or Ctrl-C cannot get through.

    It stays for the next computation of the process, and looks about once a second.
    """
    watch = _watch
    while True:
        if not (watch.running and watch.final):
            if reading < 0:
                time.sleep(1.0)
            else:
                _pressed(reading, 1.0)
            continue
        left = watch.deadline + min(GRACE, 0.2 + 0.2 * watch.seconds) - time.monotonic()
        if left <= 0:
            _end(f"E0608]: the evaluation took longer than {watch.seconds:g} s",
                 "--timeout SECONDS raises the limit")  # fmt: skip
        left = min(left, 1.0, _until_next_look())
        if reading < 0:
            time.sleep(left)
        elif _pressed(reading, left):
            time.sleep(PATIENCE)
            if watch.running and watch.final:
                os._exit(130)


def _until_next_look() -> float:
    """Seconds in which the memory cannot come to be too much; ends the process where it is."""
    watch = _watch
    if not watch.memory:
        return 1.0
    used = resident() - watch.base
    if used > watch.memory and time.monotonic() > watch.told:
        if hasattr(signal, "SIGALRM"):
            os.kill(os.getpid(), signal.SIGALRM)  # between two bytecodes it becomes a fault
        used = held(watch.base, watch.memory)
        if used > EXCESS * watch.memory and time.monotonic() > watch.told and watch.running:
            _end(f"E0602]: {too_much(used, watch.memory)}", MORE_MEMORY)
    return until_next_look(watch.memory - used)


def _end(message: str, help: str) -> None:
    """Ends the process with an error, whatever the computation is at, if it is not over."""
    with _speaking:
        if _watch.running:
            sys.stderr.write(f"error[{message}\n   help: {help}\n")
            sys.stderr.flush()
            os._exit(3)


def _pressed(reading: int, seconds: float) -> bool:
    """Whether Ctrl-C came within ``seconds``."""
    ready, _, _ = select.select([reading], [], [], seconds)
    return bool(ready) and signal.SIGINT in os.read(reading, 512)
