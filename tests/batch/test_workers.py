"""A batch over processes: order, time, lost processes, and the same bytes from any number."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import pytest

from gradcli.batch import task, workers
from gradcli.batch.chunk import Chunk
from gradcli.batch.evaluate import Evaluator
from gradcli.batch.workers import Processes
from gradcli.language.runtime.run import Limits
from gradcli.ops.errors import Fault
from tests.support.batches import output_of
from tests.support.processes import started


def apart(program, text, form="jsonl", mode="line", count=1, seconds=0.0, **options):
    found, summary = output_of(
        program, text, form, mode, executor=Processes(count, seconds), **options
    )
    assert summary.rows == found.count("\n")
    return found


by_fork = pytest.mark.skipif(not workers.FORKS, reason="only fork brings the patch along")


def codes(output):
    records = [json.loads(line) for line in output.splitlines()]
    assert [r["row"] for r in records] == list(range(1, len(records) + 1))
    return [None if r["ok"] else r["error"]["code"] for r in records]


MIXED = "".join(
    json.dumps(
        {"id": f"r{i}", "x": bad if (bad := [1, "two", "1;2,3", None, "pi/4"][i % 5]) else i}
    )
    + "\n"
    for i in range(400)
)


def test_the_same_bytes_from_any_number_of_workers():
    program = "sum(x*x + rand(3))"
    alone, _ = output_of(program, MIXED, seed=7)
    assert len(set(alone.splitlines())) == 400
    for count in (1, 2, 5):
        assert apart(program, MIXED, count=count, seed=7) == alone
    assert apart(program, MIXED, seed=8) != alone


def test_rows_that_are_too_much_together_are_computed_in_parts(monkeypatch):
    rows = [{"x": "rand(400000)"}, {"x": 2}, {"x": "[1, two]"}, {"x": "ones(300000)"}] * 3
    text = "".join(json.dumps(row) + "\n" for row in rows)
    program = "sum(x)*ones(200000)"
    monkeypatch.setattr(task, "RECORD_LIMIT", 10**9)
    whole, _ = output_of(program, text, grad=False)
    monkeypatch.setattr(task, "RECORD_LIMIT", 10**6)
    tried = []
    monkeypatch.setattr(
        Chunk, "halves", lambda c, halves=Chunk.halves: tried.append(c) or halves(c)
    )
    assert output_of(program, text, grad=False)[0] == whole and tried
    for count in (1, 2):
        tried.clear()
        assert apart(program, text, grad=False, count=count) == whole
        assert tried


def test_a_rows_random_numbers_do_not_hang_on_the_rows_before_it():
    rows = ['{"x": 1}', '{"x": "randn(2)"}', '{"x": 3}']
    full = apart("sum(x)*randn(1)", "\n".join(rows)).splitlines()
    other = apart("sum(x)*randn(1)", "\n".join(['{"x": "bad"}', *rows[1:]])).splitlines()
    assert full[1:] == other[1:] and full[0] != other[0]
    # A field and the program draw different numbers.
    (found,) = apart("x - randn(1)", '{"x": "randn(1)"}').splitlines()
    assert json.loads(found)["ok"] is False or json.loads(found)["value"]["data"] != [0.0]


def test_a_csv_with_its_header():
    text = "id,x,y\n" + "".join(f'r{i},{i},"{i},1"\n' for i in range(500)) + "last,1\n"
    found = apart("x*sum(y)", text, "csv", count=3)
    assert codes(found) == [None] * 500 + ["E0925"]
    assert json.loads(found.splitlines()[499])["id"] == "r499"
    for text, code in (("x,x\n1,2\n", "E0924"), ("", "E0925"), ("a,b\n1,2\n", "E0910")):
        with pytest.raises(Fault) as caught:
            apart("x", text, "csv")
        assert caught.value.code == code
    assert apart("x", "x\n", "csv") == apart("x", "", "jsonl") == ""


SLOW = "if x > 10:\n    s = ones(200, 200)\n    for i in range(10**9): s = s * 0.5\nx*2"


@pytest.mark.parametrize("count", [1, 3])
def test_a_row_that_takes_too_long_costs_only_itself(count):
    text = "".join(
        f'{{"id": "r{i}", "x": {11 if i in (0, 40, 41, 299) else i % 10}}}\n' for i in range(300)
    )
    found = apart(SLOW, text, mode="file", count=count, seconds=0.25, limits=Limits(steps=10**10))
    expected = ["E0608" if i in (0, 40, 41, 299) else None for i in range(300)]
    assert codes(found) == expected
    late = json.loads(found.splitlines()[40])
    assert late["id"] == "r40" and "longer than 0.25 s" in late["error"]["message"]


@by_fork
def test_a_process_that_ends_costs_only_its_row(monkeypatch):
    honest = Evaluator.answers

    def deadly(self, rows, *rest):
        if any(row.id == "boom" for row in rows):
            os._exit(77)
        return honest(self, rows, *rest)

    monkeypatch.setattr(Evaluator, "answers", deadly)
    text = "".join(
        json.dumps({"id": "boom" if i in (3, 4, 130) else i, "x": i}) + "\n" for i in range(200)
    )
    for count in (1, 2):
        monkeypatch.setattr(Evaluator, "answers", deadly)
        found = apart("x*x", text, count=count)
        assert codes(found) == ["E0610" if i in (3, 4, 130) else None for i in range(200)]
        assert json.loads(found.splitlines()[3])["id"] == "boom"


@by_fork
def test_a_process_that_never_begins_does_not_hang_the_batch(monkeypatch):
    parent = os.getpid()
    honest = task.Task.worker
    monkeypatch.setattr(
        task.Task, "worker", lambda self: honest(self) if os.getpid() == parent else os._exit(1)
    )
    assert codes(apart("x", '{"x": 1}\n{"x": 2}\n')) == ["E0610", "E0610"]


def test_a_worker_killed_from_outside_costs_no_row():
    rows = "".join(f'{{"x": {i}}}\n' for i in range(1000))
    program = "y = x\nfor i in range(int(x*0) + 40): y = y*0.5 + x\ny"
    whole = apart(program, rows, mode="file")
    killed: list[float] = [time.monotonic()]

    class Harassed(Processes):
        def _wait(self):
            super()._wait()
            if not self.workers or len(killed) == 4 or time.monotonic() - killed[-1] < 0.1:
                return
            worker = self.workers[0]
            # A second end at the same row would be that row's fault.
            blamed = worker.work.suspects if worker.work else ()
            if all(row < abs(worker.progress.value) for row in blamed):
                killed.append(time.monotonic())
                worker.process.kill()

    found, _ = output_of(program, rows, mode="file", executor=Harassed(2))
    assert len(killed) > 2 and found == whole


def test_large_records_come_in_parts():
    text = "".join(f'{{"x": "0:{5000 + i}"}}\n' for i in range(30))
    found = apart("x*2", text, grad=False)
    assert [len(json.loads(r)["value"]["data"]) for r in found.splitlines()] == [
        5000 + i for i in range(30)
    ]


def test_a_wrong_program_is_said_before_any_row():
    with pytest.raises(Fault) as caught:
        apart("sni(x)", '{"x": 1}\n')
    assert caught.value.code == "E0201"


def test_rows_are_answered_as_they_come():
    """Who writes a row into a pipe gets its record before writing the next."""
    words = [sys.executable, "-m", "gradcli.cli.main", "batch", "x^2", "--jsonl", "-"]
    with started(words) as process:
        for x in (3, 4, 5):
            process.stdin.write(b'{"x": %d}\n' % x)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["value"]["data"] == x * x
        process.stdin.close()
        assert process.wait(20) == 0
        assert process.stderr.read() == b"3 rows, 0 failed\n"


def slow_batch(tmp_path):
    """The words of a batch whose rows above 10 take hours, without a clock."""
    program = tmp_path / "slow.grad"
    program.write_text(SLOW)
    return [sys.executable, "-m", "gradcli.cli.main", "batch", "-f", str(program), "--jsonl", "-",
            "--timeout", "0", "--max-steps", str(10**10)]  # fmt: skip


def keep_busy(process):
    """One row that is answered, and one that takes hours: a worker is at it now."""
    process.stdin.write(b'{"x": 1}\n{"x": 11}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["value"]["data"] == 2
    time.sleep(0.3)


def test_ctrl_c_ends_the_batch_and_its_processes(tmp_path):
    words = slow_batch(tmp_path)
    with started(words) as process:
        keep_busy(process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(20) == 130  # the row takes hours
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()


@by_fork
def test_a_killed_batch_leaves_no_process(tmp_path):
    words = slow_batch(tmp_path)
    with started(words) as process:
        keep_busy(process)
        process.kill()
        process.wait(20)
        until = time.monotonic() + 20
        with pytest.raises(ProcessLookupError):  # once the group has no member left
            while time.monotonic() < until:
                os.killpg(process.pid, 0)
                time.sleep(0.02)
