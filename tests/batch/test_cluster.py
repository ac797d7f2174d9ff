"""A batch on Dask workers: the bytes of this machine, whatever happens to a worker."""

from __future__ import annotations

import os
import signal

import pytest

from gradcli.batch.chunk import Chunk
from gradcli.batch.cluster import Cluster, compute
from gradcli.batch.task import Task
from gradcli.language.runtime.run import Limits
from tests.support.batches import output_of

distributed = pytest.importorskip("distributed")

ROWS = "".join(f'{{"id": {i}, "x": {"null" if i % 50 == 3 else i}}}\n' for i in range(3000))
SLOW = "if x == 77:\n    s = ones(50, 50)\n    for i in range(10**8): s = s @ s * 0.001\nx*2"


def test_a_chunk_is_cut_in_two():
    first, second = Chunk(11, 3, b"a\nb\nc", "seal").halves()
    assert (first.first, first.data, first.seal) == (11, b"a", "")
    assert (second.first, second.count, second.data, second.seal) == (12, 2, b"b\nc", "seal")


def test_a_row_that_takes_too_long_is_broken_off():
    import pickle

    task = Task(SLOW, "<expr>", "file", "jsonl", Limits(steps=10**9))
    lines = b"\n".join(b'{"x": %d}' % x for x in (1, 77, 3))
    found = compute(pickle.dumps(task), Chunk(1, 3, lines), 0.3)
    assert found.records == 3 and found.failed == [(1, 2)] and found.body.count(b"E0608") == 1


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_costs_no_row():
    expected, _ = output_of("x^2*y", ROWS, constants={"y": 3.0})
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        executor = Cluster(cluster.scheduler_address)
        assert output_of("x^2*y", ROWS, constants={"y": 3.0}, executor=executor)[0] == expected
        honest = Cluster._send
        sent = []

        def harassed(self, client, blob, chunk):
            sent.append(chunk)
            if len(sent) == 2:
                pids = client.run(os.getpid)
                os.kill(next(iter(pids.values())), signal.SIGKILL)
            return honest(self, client, blob, chunk)

        Cluster._send = harassed
        try:
            from gradcli.batch import cluster as module

            module.SIZE, size = 4000, module.SIZE
            found, _ = output_of("x^2*y", ROWS, constants={"y": 3.0}, executor=executor)
        finally:
            Cluster._send, module.SIZE = honest, size
        assert found == expected and len(sent) > 10


def test_a_row_that_ends_every_worker_costs_only_itself(monkeypatch):
    class Future:
        def __init__(self, *given):
            self.given = given

        def result(self):
            if b'"x": 7,' in self.given[1].data:
                raise distributed.KilledWorker("chunk", None, 3)
            return compute(*self.given)

    class Client:
        cluster = None

        def submit(self, function, *given, **options):
            return Future(*given)

        def scheduler_info(self):
            return {"workers": {"one": 1}}

        def close(self):
            pass

    executor = Cluster("tcp://somewhere:1")
    monkeypatch.setattr(executor, "_client", Client)
    rows = "".join(f'{{"x": {i}, "id": "r{i}"}}\n' for i in range(40))
    expected, _ = output_of("x^2", rows)
    found, summary = output_of("x^2", rows, executor=executor)
    changed = [
        (i, new) for i, (old, new) in enumerate(
            zip(expected.splitlines(), found.splitlines(), strict=True)
        ) if old != new
    ]  # fmt: skip
    assert [i for i, _ in changed] == [7] and summary.failed == 1
    assert "E0610" in changed[0][1] and '"id": "r7"' in changed[0][1]
