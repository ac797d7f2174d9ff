"""The memory budget: what an operation will allocate is known from shapes and charged first.

No budget is set when gradcli is used as a library. A front end that runs a stranger's text sets one
for its thread (``set_budget``); then creation functions, operators and broadcasting call ``charge``
before NumPy allocates anything. One request above the budget is refused at once; the sum of smaller
ones is held by looking at the process's own memory each time a further slice of the budget has been
handed out, so the usual small operation costs two attribute reads.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from gradcli.ops.errors import LimitFault

LARGE = 1 << 16
"""Element counts up to this are never charged: they are bounded by the step limit instead."""


FASTEST = 4 << 30
"""Bytes that a computation may come to use in a second."""
SHORTEST = 0.003
"""Seconds between two looks at the memory at least."""


class Use:
    """Whether any thread ever began to use what is counted: until then nobody need look for it."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on = False


budget = Use()


class _Budget:
    """The budget of one run of a program."""

    __slots__ = ("base", "next_look", "spent", "tick", "total")

    def __init__(
        self, total: int | None, tick: Callable[[], object] | None, base: int = -1
    ) -> None:
        self.total = total
        self.tick = tick
        self.spent = 0
        self.next_look = (total or 0) // 4
        self.base = base


_running: ContextVar[_Budget | None] = ContextVar("budget", default=None)


def set_budget(total: int | None, tick: Callable[[], object] | None = None) -> _Budget | None:
    """Allow ``total`` bytes of new memory from now on, in this thread; None lifts the budget.

    Inside another budget what that one allows counts from its beginning. Gives the budget from
    before, for ``put_back``.

    ``tick`` is called at each turn of a loop in gradcli itself that a program makes long
    (``step``); it raises LimitFault when there have been too many.
    """
    if total is not None:
        budget.on = True
    before = _running.get()
    base = -1 if before is None else before.base
    _running.set(None if total is None and tick is None else _Budget(total, tick, base))
    return before


def held_from_here() -> int:
    """Count what the process comes to hold from now on, large requests or not; what it holds.

    What an evaluation before this one has freed is not held.
    """
    run = _running.get()
    if run is None:
        return 0
    run.base = resident()
    if _last and run.total and run.base - _last[0] > run.total // 16:
        _give_back()
        run.base = resident()
    _last[:] = [run.base]
    return run.base


_last: list[int] = []
"""What the process held where the last count began."""


def put_back(before: _Budget | None) -> None:
    """Go on with a budget from before."""
    _running.set(before)


@contextlib.contextmanager
def within(total: int | None) -> Iterator[None]:
    """Allow ``total`` bytes for all that happens in here, large requests or not."""
    before = set_budget(total)
    held_from_here()
    try:
        yield
    finally:
        put_back(before)


def step(times: int = 1) -> None:
    """One turn of a loop whose length the user's data decide; ``times`` where it costs as many."""
    run = _running.get()
    if run is not None and run.tick is not None:
        for _ in range(max(1, times)):
            run.tick()


def spends() -> bool:
    """Whether this thread's budget was asked for anything large yet."""
    run = _running.get()
    return run is not None and run.spent > 0


def charge(nbytes: int) -> None:
    """Account for ``nbytes`` that are about to be allocated. Raises LimitFault (E0602)."""
    run = _running.get()
    if run is None or run.total is None:
        return
    _refuse_above(run.total, nbytes)
    if run.base < 0:
        run.base = resident()  # what the process held before its first large request
    run.spent += nbytes
    if run.spent >= run.next_look:
        used = held(run.base, run.total - nbytes)
        if used + nbytes > run.total:
            raise LimitFault(
                "E0602",
                f"the evaluation holds {show_bytes(used)} and asks for {show_bytes(nbytes)} more; "
                f"the limit is {show_bytes(run.total)}",
                help=f"--max-mem {_rounded_up(2 * max(run.total, used + nbytes))} raises the limit",
            )
        run.next_look = run.spent + max(1, (run.total - used) // 4)


def look(allowed: int) -> float:
    """Raise LimitFault (E0602) where a run that counts from its beginning holds too much: what it
    took a little at a time. Gives the seconds until the next look, where none runs for one that is
    allowed so many bytes."""
    run = _running.get()
    if run is None or run.total is None or run.base < 0:
        return until_next_look(allowed)
    used = held(run.base, run.total)
    if used > run.total:
        raise LimitFault("E0602", too_much(used, run.total), help=MORE_MEMORY)
    return until_next_look(run.total - used)


def until_next_look(left: int) -> float:
    """Seconds in which no computation comes to use so many more bytes."""
    return max(SHORTEST, left / FASTEST)


MORE_MEMORY = "--max-mem SIZE raises the limit: 4G"


def too_much(used: int, allowed: int) -> str:
    """What to say where more is held than allowed."""
    return f"the evaluation holds {show_bytes(used)}; the limit is {show_bytes(allowed)}"


def _refuse_above(total: int, nbytes: int) -> None:
    if nbytes > total:
        said = f"refusing to allocate {show_bytes(nbytes)}; the limit is {show_bytes(total)}"
        mend = f"--max-mem {_rounded_up(2 * nbytes)} raises the limit"
        raise LimitFault("E0602", said, help=mend)


def check_view(shape: Sequence[int], itemsize: int) -> None:
    """Refuse a view that shows more than may be held: what reads it mostly makes as much."""
    run = _running.get() if budget.on else None
    if run is not None and run.total is not None:
        _refuse_above(run.total, math.prod(shape) * itemsize)


def charge_shape(shape: Sequence[int], itemsize: int = 8) -> None:
    """Account for an array of ``shape``; a negative size is left for NumPy to refuse."""
    if budget.on:
        count = 1
        for n in shape:
            count *= int(n)
        if count > LARGE:
            charge(count * itemsize)


def charge_copies(*arrays: Any, result: Sequence[int] = ()) -> None:
    """Account for the copies that NumPy makes of expanded arrays before it multiplies them.

    The result, of the shape given, is charged with them: both are held at once.
    """
    if not budget.on:
        return
    expanded = [a for a in arrays if 0 in getattr(a, "strides", ()) and a.size > LARGE]
    size = math.prod(result)
    nbytes = sum(a.nbytes for a in expanded) + (size * arrays[0].itemsize if size > LARGE else 0)
    if nbytes:
        charge(nbytes)


def charge_broadcast(*shapes: Sequence[int], itemsize: int = 8) -> None:
    """Account for the result of broadcasting ``shapes`` together."""
    if not budget.on:
        return
    dims = itertools.zip_longest(*map(reversed, shapes), fillvalue=1)
    charge_shape([max(sizes) if min(sizes) else 0 for sizes in dims], itemsize)


def show_bytes(n: int) -> str:
    """A byte count as a person reads it: ``74.5 GiB``."""
    for unit, size in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= size:
            return f"{n / size:.3g} {unit}" if n < 1000 * size else f"{n / size:.0f} {unit}"
    return f"{n} bytes"


def _rounded_up(n: int) -> str:
    gib = -(-n // (1 << 30))
    return f"{gib}G" if n >= 1 << 30 else f"{max(1, -(-n // (1 << 20)))}M"


def resident() -> int:
    """Bytes of memory this process holds now, or 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as f:
            pages = int(f.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    import resource

    return pages * resource.getpagesize()


def held(base: int, allowed: int) -> int:
    """Bytes held beyond ``base``; where more than ``allowed``, without what only cycles keep."""
    used = resident() - base
    if used > allowed and gc.collect():
        _give_back()
        used = resident() - base
    return max(0, used)


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """The collector at rest while trees and formulas are built, which it would go through again and
    again as they grow and find nothing: a fifth of the time for a program of 50,000 lines, a tenth
    for a closed form."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _give_back() -> None:
    """Have the C library return free memory to the system: glibc's can, others count it as held."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def hold_address_space(room: int) -> tuple[int, int] | None:
    """Limit the process's address space to what is in use now and ``room`` bytes more.

    Gives the limit from before, for ``resource.setrlimit``; None where none was set: the system
    has no such limit, or has a lower one already.
    """
    try:
        import resource

        with open("/proc/self/statm", "rb") as f:
            size = int(f.read().split()[0]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_AS)
        wanted = size + room
        if before[1] == resource.RLIM_INFINITY or wanted < before[1]:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, before[1]))
            return before
    except (ImportError, OSError, ValueError, OverflowError):
        pass  # a system without this limit, or with a lower one, keeps the others
    return None
