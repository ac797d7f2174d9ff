"""Chunks computed by the workers of a Dask cluster: the same results as on this machine.

A chunk that is lost with its worker is sent again by Dask, to another one. One that ends every
worker it comes to is cut in two, down to the row, which then gets E0610: a row that ends a process
costs only itself here too. The clock is kept in each Dask worker, as by the serial executor.
"""

from __future__ import annotations

import logging
import pickle
from collections import deque
from collections.abc import Iterator
from typing import Any

from gradcli.batch.arrays import Source
from gradcli.batch.chunk import Chunk, Crowded
from gradcli.batch.encode import Result
from gradcli.batch.worker import by_the_clock, ended
from gradcli.ops.errors import LimitFault, RuntimeFault, ValueFault

SIZE = 1 << 18
"""Bytes of a chunk."""
AHEAD = 4
"""Chunks per worker that are sent or finished ahead of what can be written."""
RETRIES = 2

_workers: dict[bytes, Any] = {}
"""What computes, by the task, in the process of a Dask worker."""


def compute(task: bytes, chunk: Chunk, seconds: float) -> Result:
    """A chunk's result, as Dask calls it; ``task`` is the pickled task of this command."""
    worker = _workers.get(task)
    if worker is None:
        _workers.clear()
        worker = _workers[task] = pickle.loads(task).worker()
    return by_the_clock(worker, chunk, seconds)


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
            said = "--executor dask needs distributed, which is not installed"
            raise ValueFault("E0905", said, help='pip install "gradcli[dask]"') from None
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
                said = f"no Dask scheduler answers at {self.address}"
                mend = f"{type(problem).__name__}; start one with: dask scheduler"
                raise ValueFault("E0904", said, help=mend) from None
        return self.distributed.Client(
            n_workers=self.count or None, threads_per_worker=1, dashboard_address=None, **options
        )

    def results(self, source: Source, task: Any) -> Iterator[Result]:
        """The results of all chunks of ``source``, in order."""
        blob = pickle.dumps(task)
        # What goes wrong is said once, by us; its own log of it is a page of traceback.
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] in ("distributed", "asyncio", "tornado"):
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        client = self._client()
        waiting: deque[tuple[Chunk, Any]] = deque()
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
                        waiting.append((chunk, self._send(client, blob, chunk)))
                if not waiting:
                    if source.ended:
                        return
                    continue
                yield from self._finished(client, blob, task, *waiting.popleft())
        finally:
            client.close()
            if self.address is None and client.cluster is not None:
                client.cluster.close()

    def _send(self, client: Any, blob: bytes, chunk: Chunk) -> Any:
        return client.submit(compute, blob, chunk, self.seconds, pure=False, retries=RETRIES)

    def _finished(
        self, client: Any, blob: bytes, task: Any, chunk: Chunk, future: Any
    ) -> Iterator[Result]:
        """The results of a chunk, in parts where it had to be cut."""
        work = [(chunk, future)]
        while work:
            chunk, future = work.pop()
            try:
                found: Result = future.result()
            except (self.distributed.KilledWorker, Crowded):
                if chunk.count == 1:
                    yield task.worker().result(chunk, chunk.each(ended(None)))
                    continue
                parts = [(part, self._send(client, blob, part)) for part in chunk.halves()]
                work += reversed(parts)
                continue
            except Exception as problem:
                if isinstance(problem, LimitFault):
                    raise
                said = str(problem).partition("\n")[0]
                raise RuntimeFault(
                    "E0905",
                    f"the Dask cluster failed: {type(problem).__name__}: {said}",
                    help="see the logs of its scheduler and workers; --journal with --resume "
                    "goes on from here",
                ) from None
            yield found
