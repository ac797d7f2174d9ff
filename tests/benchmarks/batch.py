"""``python -m tests.benchmarks.batch [--rows N] [--large]``: batches against scripts by hand.

CSV in and out against a NumPy script that computes the value and both derivatives with the same
reader and writer (pyarrow where it is installed, else NumPy's); evaluation alone against NumPy by
hand and, where it is installed, ``torch.func.vmap(grad)`` on the same arrays; jobs a second on two
workers, one in a hundred of them poison; with ``--large`` the memory of ten million rows. Ratios
are of medians measured in turn, and of processor time beside them: on a machine that others use
too, that is the steadier figure. Wanted: at most 1.5 times the script, at most 1.2 times NumPy and
no more than torch, 3,000 jobs a second, 400 MB. Run it with an interpreter that has PyTorch for
the comparison with that.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import gradcli.batch

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS = 5
HAND = """
import sys
import numpy as np
try:
    import pyarrow, pyarrow.csv
    table = pyarrow.csv.read_csv(sys.argv[1])
    a, b, t = (table[name].to_numpy() for name in "abt")
except ImportError:
    pyarrow = None
    a, b, t = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1, unpack=True)
e = np.exp(-b * t)
value = a * e
found = {"value": value, "d_a": e, "d_b": -value * t}
if pyarrow:
    pyarrow.csv.write_csv(pyarrow.table(found), sys.argv[2])
else:
    rows = zip(*(map(repr, column.tolist()) for column in found.values()))
    with open(sys.argv[2], "w") as out:
        out.write("value,d_a,d_b\\n" + "\\n".join(map(",".join, rows)) + "\\n")
"""


def timed(words: list[str]) -> tuple[float, float]:
    """Seconds of a command, and those of processors that it took."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled once, as an installed package is
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(words, check=False, cwd=ROOT, capture_output=True, env=env)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(what: str, own: float, peer: float, name: str, unit: str = "s") -> None:
    """A line of the report."""
    print(f"{what:<52} {own / peer:6.2f} x {name}   ({own:.4g} against {peer:.4g} {unit})")


def points(path: pathlib.Path, count: int) -> None:
    """A CSV of ``count`` rows."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("a,b,t\n")
        for at in range(0, count, 100_000):
            m = min(100_000, count - at)
            columns = rng.uniform(1, 3, m), rng.uniform(0, 1, m), rng.uniform(0, 5, m)
            rows = zip(*(map(repr, c.tolist()) for c in columns), strict=True)
            file.write("\n".join(map(",".join, rows)) + "\n")


def files(folder: pathlib.Path, count: int) -> None:
    """CSV in, CSV out."""
    points(folder / "in.csv", count)
    (folder / "hand.py").write_text(HAND)
    own = [sys.executable, "-m", "gradcli.cli.main", "batch", "a*exp(-b*t)", "--wrt", "a,b",
           "--csv", str(folder / "in.csv"), "-o", str(folder / "out.csv"), "--quiet"]  # fmt: skip
    hand = [sys.executable, str(folder / "hand.py"), str(folder / "in.csv"),
            str(folder / "hand.csv")]  # fmt: skip
    pairs = [(timed(own), timed(hand)) for _ in range(ROUNDS + 1)][1:]
    for i, unit in ((0, "s"), (1, "s of processors")):
        mine, peer = (statistics.median(p[side][i] for p in pairs) for side in (0, 1))
        show(f"{count:,} rows, CSV in and out", mine, peer, "a script by hand", unit)


def rate(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median milliseconds of each call, measured in turn."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(31):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            found[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(times) for name, times in found.items()}


def evaluation(count: int) -> None:
    """The arrays alone."""
    rng = np.random.default_rng(0)
    a, b, t = rng.uniform(1, 3, count), rng.uniform(0, 1, count), rng.uniform(0, 5, count)
    table = {"a": a, "b": b, "t": t}

    def hand() -> tuple:
        e = np.exp(-b * t)
        value = a * e
        return value, e, -value * t

    calls: dict[str, Callable[[], object]] = {
        "gradcli": lambda: gradcli.batch.run("a*exp(-b*t)", table, wrt="a,b"), "hand": hand,
    }  # fmt: skip
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed here: its vmap(grad) is not compared")
    else:
        slopes = torch.func.vmap(
            torch.func.grad_and_value(lambda a, b, t: a * torch.exp(-b * t), (0, 1))
        )
        tensors = [torch.from_numpy(v) for v in (a, b, t)]
        calls["torch"] = lambda: slopes(*tensors)
    found = rate(calls)
    show(f"{count:,} rows, evaluation alone", found["gradcli"], found["hand"], "NumPy by hand",
         "ms")  # fmt: skip
    if "torch" in found:
        show(f"{count:,} rows, evaluation alone", found["gradcli"], found["torch"],
             "torch.func.vmap(grad)", "ms")  # fmt: skip


TEXTS = ("a*x^2", "sin(x)*y", "exp(-x*x/2)", "x/(1 + y*y)", "sum(v*v)*x", "dot(v, v)", "(x - y)^3")
POISON = (
    '{"expr": "x +"}', '{"expr": "sni(x)"}', '{"expr": "x*q", "vars": {"x": 1}}',
    '{"expr": "x", "vars": {"x": "@/etc/passwd"}}', '{"expr": "x^2", "vars": {"x": [1, 2]}}',
    '{"expr": "ones(100000, 100000)*x", "vars": {"x": 1}}', '{"expr": "x"', '{"exp": "x"}',
)  # fmt: skip


def jobs(folder: pathlib.Path, count: int) -> None:
    """Jobs a second, one in a hundred of them poison of eight kinds."""
    rng = np.random.default_rng(0)
    with (folder / "jobs.jsonl").open("w") as file:
        for i in range(count):
            if i % 100 == 37:
                file.write(POISON[i // 100 % len(POISON)] + "\n")
                continue
            x, y = rng.uniform(size=2).tolist()
            given = {"a": 2, "x": x, "y": y, "v": [1, 2, 3]}
            job = {"id": i, "expr": TEXTS[i % len(TEXTS)], "vars": given}
            file.write(json.dumps(job) + "\n")
    out = folder / "jobs.out.jsonl"
    own = [sys.executable, "-m", "gradcli.cli.main", "batch", "--jobs", str(folder / "jobs.jsonl"),
           "-o", str(out), "--workers", "2", "--quiet"]  # fmt: skip
    wall, processors = timed(own)
    failed = out.read_text().count('"ok": false')
    assert failed == count // 100, failed
    print(
        f"{count:,} jobs on two workers, {failed:,} of them poison: {count / wall:,.0f} a second, "
        f"{count / processors:,.0f} for each second of a processor"
    )


def memory(folder: pathlib.Path, count: int) -> None:
    """The most memory that the command and its workers hold, together."""
    points(folder / "large.csv", count)
    words = [sys.executable, "-m", "gradcli.cli.main", "batch", "a*exp(-b*t)", "--wrt", "a,b",
             "--csv", str(folder / "large.csv"), "-o", str(folder / "large.out.csv"), "--quiet",
             "--workers", "2"]  # fmt: skip
    process = subprocess.Popen(words, cwd=ROOT)
    most = 0.0
    while process.poll() is None:
        most = max(most, _held(process.pid))
        time.sleep(0.05)
    print(f"{count:,} rows: {most:.0f} MB, the command and two workers together")


def _held(pid: int) -> float:
    """Megabytes of a process and its children, shared pages once each."""
    total = 0.0
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    try:
        members = [pid, *map(int, children.read_text().split())]
        for member in members:
            for line in pathlib.Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) / 1024
    except (OSError, ValueError):
        return 0.0
    return total


def main() -> None:
    """Run everything."""
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks.batch")
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--jobs", type=int, default=100_000)
    options.add_argument("--large", action="store_true")
    asked = options.parse_args()
    evaluation(asked.rows)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        files(folder, asked.rows)
        jobs(folder, asked.jobs)
        if asked.large:
            memory(folder, 10_000_000)


if __name__ == "__main__":
    main()
