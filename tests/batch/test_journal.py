"""A killed batch goes on where its journal ends, and writes what an unbroken one writes."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import time

import numpy as np
import pytest

from gradcli.batch import journal as journal_module
from gradcli.batch.arrays import array_source
from gradcli.batch.journal import MAGIC, Journal, status
from gradcli.batch.lines import LineSource
from gradcli.batch.outputs import open_output
from gradcli.batch.session import Serial, run_session
from gradcli.batch.task import Task
from gradcli.batch.workers import FORKS
from gradcli.cli.main import run
from gradcli.language.runtime.run import Limits
from gradcli.ops.errors import Fault

rng = np.random.default_rng(11)
ROWS = "x,y\n" + "".join(
    f"{'oops' if i % 37 == 5 else repr(x)},{y!r}\n"
    for i, (x, y) in enumerate(rng.normal(size=(3000, 2)).tolist())
)
TEXT = "sin(x)*y"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text(ROWS)
    return tmp_path


def words(out, *more, text="sin(x)*y", form="csv"):
    return ["batch", text, f"--{form}", f"in.{form}", "-o", out, "--quiet", *more]


class Slowly(Serial):
    """Small blocks, one after the other."""

    def results(self, source, task):
        worker = task.worker()
        while not source.ended:
            if not source.pending:
                source.read()
                continue
            chunk = source.cut(6000)
            if chunk is not None:
                yield worker.result(chunk)


def session(out, form="csv", resume=True):
    """A whole batch with a journal, as the command makes it; killed at any time."""
    with open("in.csv", "rb") as stream:
        source = LineSource(stream, "csv")
        task = Task(TEXT, "<expr>", "line", "csv", Limits(), {"seed": 3}, output=form,
                    header=source.header)  # fmt: skip
        source.seal()
        log = Journal(f"{out}.journal", resume, {}, {"input": "", **task.deciding()})
        assert source.skip(log.rows, log.seal)
        target = open_output(form, out, task.worker().names, False)
        run_session(source, task, Slowly(), target, journal=log)


def killed_often(place, out, form, times, seed):
    """Start the batch again and again, each time killed at a random moment; then to its end."""
    context = multiprocessing.get_context("fork")
    chosen, kills = random.Random(seed), 0
    start = time.monotonic()
    session("whole", form)
    full = time.monotonic() - start
    for _ in range(20 * times):
        if kills == times:
            break
        process = context.Process(target=session, args=(out, form))
        process.start()
        process.join(chosen.uniform(0, 0.8 * full))
        if process.exitcode is None:
            kills += 1
        else:
            full *= 0.8
        process.kill()
        process.join()
        if os.path.exists(out):  # it was done: from the beginning
            os.unlink(out)
            os.unlink(f"{out}.journal")
    session(out, form)
    return kills


@pytest.mark.skipif(not FORKS, reason="a fork has everything loaded")
@pytest.mark.parametrize("form", ["csv", "npz"])
def test_killed_at_random_points(place, form):
    kills = killed_often(place, "out", form, 7 if form == "csv" else 5, 5)
    assert kills >= 4
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()
    assert (place / "out.errors.jsonl").read_bytes() == (place / "whole.errors.jsonl").read_bytes()
    assert not list(place.glob("*partial"))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
def test_killed_at_a_thousand_random_points(place, seed):
    assert killed_often(place, "out", "csv", 20, seed) == 20
    assert (place / "out").read_bytes() == (place / "whole").read_bytes()


def test_a_journal_cut_anywhere_is_continued(place):
    assert run(words("whole.csv")) == 1
    assert run(words("out.csv", "--journal", "j")) == 1
    whole, data = (place / "whole.csv").read_bytes(), (place / "j").read_bytes()
    assert (place / "out.csv").read_bytes() == whole
    chosen = random.Random(1)
    sizes = [0, 1, len(MAGIC), len(MAGIC) + 5, len(data) - 1, len(data)]
    for size in [*sizes, *(chosen.randrange(len(data)) for _ in range(3))]:
        (place / "j").write_bytes(data[:size])
        (place / "out.csv").unlink(missing_ok=True)
        assert run(words("out.csv", "--journal", "j", "--resume", "--executor", "serial")) == 1
        assert (place / "out.csv").read_bytes() == whole, size
        assert status("j")["state"] == "finished" and status("j")["rows"] == 3000
    for at in [len(MAGIC) + 3, *(chosen.randrange(len(MAGIC), len(data)) for _ in range(3))]:
        broken = bytearray(data)
        broken[at] ^= 0x10  # what a disk may do to what it had not kept yet
        (place / "j").write_bytes(broken)
        (place / "out.csv").unlink()
        assert run(words("out.csv", "--journal", "j", "--resume", "--executor", "serial")) == 1
        assert (place / "out.csv").read_bytes() == whole, at


def test_every_form_is_continued(place):
    pytest.importorskip("pyarrow")
    for form in ("jsonl", "npy", "parquet"):
        assert run(words(f"whole.{form}")) == 1
        assert run(words(f"out.{form}", "--journal", form)) == 1
        data = (place / form).read_bytes()
        (place / form).write_bytes(data[: len(data) * 2 // 3])
        (place / f"out.{form}").unlink()
        assert run(words(f"out.{form}", "--journal", form, "--resume")) == 1
        assert (place / f"out.{form}").read_bytes() == (place / f"whole.{form}").read_bytes()


def refused(place, capsys, *arguments):
    before = (place / "j").read_bytes()
    assert run(list(arguments)) == 2
    assert (place / "j").read_bytes() == before
    return capsys.readouterr().err


def test_another_batch_is_refused(place, capsys):
    assert run(words("out.csv", "--journal", "j")) == 1
    go_on = ("--journal", "j", "--resume")
    assert "exists already" in refused(place, capsys, *words("out.csv", "--journal", "j"))
    assert "wrt was null" in refused(place, capsys, *words("out.csv", *go_on, "--wrt", "x"))
    assert "program was" in refused(place, capsys, *words("out.csv", *go_on, text="x*y"))
    assert "seed was 0" in refused(place, capsys, *words("out.csv", *go_on, "--rng", "1"))
    assert "format was" in refused(place, capsys, *words("out.jsonl", *go_on))
    assert "dtype was" in refused(place, capsys, *words("out.csv", *go_on, "--dtype", "float32"))
    (place / "in.csv").write_text(ROWS + "1,2\n")
    assert "the input has changed" in refused(place, capsys, *words("out.csv", *go_on))
    (place / "j").write_text("my thesis\n")
    assert "no journal" in refused(place, capsys, *words("out.csv", *go_on))
    assert "no journal" in refused(place, capsys, "batch", "status", "j")


def test_a_pipe_is_known_by_what_was_read(place):
    def source(text):
        import io

        found = LineSource(io.BytesIO(text.encode()), "csv")
        found.seal()
        return found

    first = source(ROWS)
    while not first.over:
        first.read()
    chunk = first.cut(5000)
    assert source(ROWS).skip(chunk.count, chunk.seal)
    assert source(ROWS.replace("\n", "\n\n", 5)).skip(chunk.count, chunk.seal)  # blank lines
    assert not source(ROWS.replace("1", "2")).skip(chunk.count, chunk.seal)
    assert not source(ROWS[:2000]).skip(chunk.count, chunk.seal)
    second = source(ROWS)
    assert second.skip(chunk.count, chunk.seal) and second.cut(1).first == chunk.count + 1


def test_two_runs_do_not_share_a_journal(place):
    pytest.importorskip("fcntl")
    log = Journal("j", False, {}, {"input": "a"})
    assert not list(log.replay())  # what a run reads again does not give up its lock
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()

    def other():
        try:
            Journal("j", True, {}, {"input": "a"})
        except Fault as fault:
            there.send((fault.code, fault.message))
        time.sleep(30)

    worker = context.Process(target=other)
    worker.start()
    code, message = here.recv()
    assert code == "E0927" and "another run" in message
    # What a run that is killed leaves behind holds no lock.
    log.file.close()
    Journal("j", True, {}, {"input": "a"}).file.close()
    worker.kill()
    worker.join()


def test_a_full_disk_is_one_message_and_can_be_continued(place, monkeypatch, capsys):
    assert run(words("whole.csv")) == 1
    honest, calls = Journal.append, []

    def full(self, result):
        calls.append(1)
        if len(calls) > 2:
            self.file.write(b"B\x10")  # what still fitted
            self.file.flush()
            raise OSError(28, "No space left on device")
        honest(self, result)

    monkeypatch.setattr(Journal, "append", full)
    monkeypatch.setattr(journal_module, "FSYNC_SECONDS", 0.0)
    assert run(words("out.csv", "--journal", "j")) != 0
    assert "No space left" in capsys.readouterr().err
    assert not (place / "out.csv").exists() and not list(place.glob("*partial"))
    assert status("j")["state"] == "unfinished" and status("j")["torn"] == 2
    monkeypatch.setattr(Journal, "append", honest)
    assert run(words("out.csv", "--journal", "j", "--resume")) == 1
    assert (place / "out.csv").read_bytes() == (place / "whole.csv").read_bytes()


def test_halted_and_continued(place, capsys):
    assert run(words("whole.csv")) == 1
    assert run(words("out.csv", "--journal", "j", "--halt", "first")) == 1
    assert len((place / "out.csv").read_text().splitlines()) == 7
    capsys.readouterr()
    assert run(["batch", "status", "j"]) == 0
    said = capsys.readouterr().out
    assert "halted" in said and "sin(x)*y" in said
    assert run(["batch", "status", "j", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["rows"] == 6 and record["failed"] == 1 and record["state"] == "halted"
    assert run(words("out.csv", "--journal", "j", "--resume")) == 1
    assert (place / "out.csv").read_bytes() == (place / "whole.csv").read_bytes()


def test_arrays_are_continued(place):
    table = {"x": rng.normal(size=1000), "y": rng.normal(size=1000)}
    source = array_source(table)
    assert source.skip(400, "") and source.cut(1 << 20).first == 401
    np.savez("in.npz", **table)
    assert run(words("whole.npz", form="npz")) == 0
    assert run(words("out.npz", "--journal", "j", form="npz")) == 0
    data = (place / "j").read_bytes()
    (place / "j").write_bytes(data[:-20])
    assert run(words("out.npz", "--journal", "j", "--resume", form="npz")) == 0
    assert (place / "out.npz").read_bytes() == (place / "whole.npz").read_bytes()
