"""Chunks computed by the workers of a Dask cluster: the same results as on this machine.

A chunk that is lost with its worker is sent again by Dask, to another one. One that ends every
worker it comes to is cut in two, down to the row, which then gets E0610: a row that ends a process
costs only itself here too. A chunk that waits longer than all its rows may take is given up by the
worker's own clock: its rows are computed one by one, and the late one gets E0608.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from gradcli.batch.arrays import Source
from gradcli.batch.encode import Result
from gradcli.batch.sources import Chunk
from gradcli.batch.workers import ended, too_long
from gradcli.ops.errors import LimitFault, RuntimeFault, ValueFault

SIZE = 1 << 18
"""Bytes of a chunk."""
AHEAD = 4
"""Chunks per worker that are sent or finished ahead of what can be written."""
RETRIES = 2

_workers: dict[bytes, Any] = {}
"""What computes, by the task, in the process of a Dask worker."""


def compute(task: bytes, first: int, count: int, data: Any, seconds: float) -> tuple:
    """A chunk's result, as Dask calls it; ``task`` is the pickled task of this command."""
    import pickle

    worker = _workers.get(task)
    if worker is None:
        _workers.clear()
        worker = _workers[task] = pickle.loads(task).worker()
    chunk = Chunk(first, count, data)
    if seconds:
        found = _by_the_clock(worker, chunk, seconds)
    else:
        found = worker.result(chunk)
    return (found.records, found.failed, found.body, found.errors)


def _by_the_clock(worker: Any, chunk: Chunk, seconds: float) -> Result:
    """The result; a row at work for longer than ``seconds`` is broken off, and gets its error."""
    import ctypes
    import threading
    import time

    poisoned: dict[int, Any] = {}
    own = threading.get_ident()
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    while True:
        state: dict[str, Any] = {"row": 0, "since": time.monotonic(), "done": False, "late": 0}
        lock = threading.Lock()

        def watch(row: int, state: dict = state) -> None:
            state["since"], state["row"] = time.monotonic(), row

        def keep(state: dict = state, lock: Any = lock) -> None:
            while not state["done"]:
                time.sleep(min(0.05, seconds / 4))
                with lock:
                    late = time.monotonic() - state["since"] > seconds
                    if not state["done"] and state["row"] > 0 and late:
                        state["late"] = state["row"]
                        raise_in(ctypes.c_ulong(own), ctypes.py_object(_Late))
                        return

        threading.Thread(target=keep, daemon=True).start()
        try:
            found = worker.result(chunk, poisoned, False, watch)
            with lock:
                state["done"] = True
            if not state["late"]:
                return found
        except _Late:
            pass
        finally:
            state["done"] = True
        poisoned[state["late"]] = too_long(seconds)


class _Late(BaseException):
    """A row that is broken off; no handler of ``Exception`` takes it for a row's own error."""


class _Sent:
    """A chunk that was sent, as parts once it had to be cut."""

    __slots__ = ("chunk", "future")

    def __init__(self, chunk: Chunk, future: Any) -> None:
        self.chunk = chunk
        self.future = future


class Cluster:
    """An executor: a Dask cluster.

    address  of its scheduler; None starts workers on this machine, ``count`` of them
    seconds  of wall time for one row, 0 for no limit

    Raises ValueFault (E0905) where distributed is not installed.
    """

    def __init__(self, address: str | None = None, count: int | None = None,
                 seconds: float = 0.0) -> None:  # fmt: skip
        try:
            import distributed  # an extra, slow to load
        except ImportError:
            raise ValueFault(
                "E0905",
                "--executor dask needs distributed, which is not installed",
                help='pip install "gradcli[dask]"',
            ) from None
        self.distributed = distributed
        self.address = address
        self.count = count
        self.seconds = seconds

    def _client(self) -> Any:
        options: dict[str, Any] = {"set_as_default": False}
        if self.address is not None:
            try:
                return self.distributed.Client(self.address, timeout=10, **options)
            except (OSError, ValueError) as problem:
                raise ValueFault(
                    "E0904",
                    f"no Dask scheduler answers at {self.address}",
                    help=f"{type(problem).__name__}; start one with: dask scheduler",
                ) from None
        return self.distributed.Client(
            n_workers=self.count or None, threads_per_worker=1, dashboard_address=None, **options
        )

    def results(self, source: Source, task: Any) -> Iterator[Result]:
        """The results of all chunks of ``source``, in order."""
        import pickle

        blob = pickle.dumps(task)
        client = self._client()
        waiting: deque[_Sent] = deque()
        try:
            while True:
                most = AHEAD * max(1, len(client.scheduler_info().get("workers", ())))
                while not source.ended and len(waiting) < most:
                    if not source.pending:
                        if waiting:
                            break  # what is computed already is written first
                        source.read()
                        continue
                    chunk = source.cut(SIZE)
                    if chunk is not None:
                        waiting.append(_Sent(chunk, self._send(client, blob, chunk)))
                if not waiting:
                    if source.ended:
                        return
                    continue
                sent = waiting.popleft()
                yield from self._finished(client, blob, task, sent)
        finally:
            client.close()
            if self.address is None and client.cluster is not None:
                client.cluster.close()

    def _send(self, client: Any, blob: bytes, chunk: Chunk) -> Any:
        return client.submit(
            compute, blob, chunk.first, chunk.count, chunk.data, self.seconds,
            pure=False, retries=RETRIES,
        )  # fmt: skip

    def _finished(self, client: Any, blob: bytes, task: Any, sent: _Sent) -> Iterator[Result]:
        """The results of a chunk, in parts where it had to be cut."""
        work = [sent]
        while work:
            at = work.pop()
            chunk = at.chunk
            try:
                records, failed, body, errors = at.future.result()
            except self.distributed.KilledWorker:
                if chunk.count == 1:
                    found = task.worker().refused(chunk, ended(None))
                    found.seal = chunk.seal
                    yield found
                    continue
                parts = halves(chunk)
                work += [_Sent(part, self._send(client, blob, part)) for part in reversed(parts)]
                continue
            except Exception as problem:
                if isinstance(problem, LimitFault):
                    raise
                raise RuntimeFault(
                    "E0905",
                    f"the Dask cluster failed: {type(problem).__name__}: {problem}",
                    help="see the logs of its scheduler and workers; --journal with --resume "
                    "goes on from here",
                ) from None
            first = chunk.first
            yield Result(first, chunk.count, records, failed, body, errors, chunk.seal)


def halves(chunk: Chunk) -> list[Chunk]:
    """A chunk as two; only the second tells what was read until its end."""
    middle = chunk.count // 2
    if isinstance(chunk.data, bytes):
        lines = chunk.data.split(b"\n")
        parts: list[Any] = [b"\n".join(lines[:middle]), b"\n".join(lines[middle:])]
    else:
        parts = [{n: a[:middle] for n, a in chunk.data.items()},
                 {n: a[middle:] for n, a in chunk.data.items()}]  # fmt: skip
    rest = chunk.count - middle
    return [Chunk(chunk.first, middle, parts[0]),
            Chunk(chunk.first + middle, rest, parts[1], chunk.seal)]  # fmt: skip
