"""``python -m tests.benchmarks [--torch PYTHON]``: all benchmarks, one line each.

    --torch PYTHON   an interpreter that has PyTorch (default: this one, where it has); without one
                     the comparison with PyTorch is left out and said so
    --gradcli FILE   the installed ``gradcli`` command for the start-up figure (default: beside this
                     interpreter)

Each line gives the ratio to a named peer measured in the same run, interleaved; medians throughout.
Single times depend on the machine and are shown only so that a reader sees the scale.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

from tests.benchmarks import closed_forms, language

HERE = pathlib.Path(__file__).parent
ROUNDS = 5


def has_torch(python: str) -> bool:
    """Whether an interpreter can import PyTorch."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def worker(python: str, script: str, *arguments: str) -> float:
    """One run of ``chain.py`` or ``memory.py`` in a process of its own."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, str(HERE / script), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=env,
    )
    return float(done.stdout)


def against_torch(python: str) -> None:
    """Cost per operation against PyTorch eager."""
    for shape in ("scalar", "vector"):
        pairs = [
            (
                worker(sys.executable, "chain.py", "gradcli", shape),
                worker(python, "chain.py", "torch", shape),
            )
            for _ in range(ROUNDS)
        ]
        own, peer = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        show(f"chain of 1,000 {shape} operations, us an operation", "PyTorch eager", own, peer,
             statistics.median(a / b for a, b in pairs))  # fmt: skip


def calls(python: str) -> None:
    """A table of common calls on small tensors; the interpreter needs what gradcli needs, too."""
    subprocess.run([python, "-m", "tests.benchmarks.calls"], check=False, cwd=HERE.parent.parent)


def memory(python: str) -> None:
    """Peak memory of 20 operations on 10 million float64, forward and backward, in arrays."""
    own = worker(sys.executable, "memory.py", "gradcli")
    peer = worker(python, "memory.py", "torch")
    show("peak of 20 operations on 1e7 float64, arrays", "PyTorch eager", own, peer, own / peer)


def startup(command: str) -> None:
    """The whole process of one gradient against importing NumPy alone."""
    ours = [command, "grad", "2*dot(x,x)", "--x", "0,1,2,3"]
    peer = [sys.executable, "-c", "import numpy"]
    pairs = []
    for _ in range(15):
        times = []
        for args in (ours, peer):
            start = time.perf_counter()
            subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
            times.append((time.perf_counter() - start) * 1e3)
        pairs.append(times)
    own, other = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    show("start-up of gradcli grad, ms", "python -c 'import numpy'", own, other, own / other)


def show(what: str, peer: str, own: float, other: float, ratio: float) -> None:
    """One line of the report."""
    print(f"{what:<52} {ratio:6.2f} x {peer}   ({own:.4g} against {other:.4g})", flush=True)


def main() -> None:
    """Run everything."""
    options = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    options.add_argument("--torch", default=sys.executable, metavar="PYTHON")
    options.add_argument(
        "--gradcli", default=str(pathlib.Path(sys.executable).parent / "gradcli"), metavar="FILE"
    )
    asked = options.parse_args()
    startup(asked.gradcli)
    if has_torch(asked.torch):
        against_torch(asked.torch)
        calls(asked.torch)
        memory(asked.torch)
    else:
        print("PyTorch is not installed here: give --torch PYTHON for the comparison")
    for what, peer, measured in (
        (
            "1,000 tensor operations in the language, s",
            "the same calls from Python",
            language.tensors(),
        ),
        ("1,000,000 turns over plain numbers, s", "CPython", language.numbers()),
        ("20,000 entries of a tensor read, s", "the same calls from Python", language.reads()),
        ("200,000 items of a list read and written, s", "CPython", language.items()),
        ("parsing an expression 100 times, s", "ast.parse", language.parsing()),
    ):
        show(what, peer, *measured)
    show(f"closed forms, all of {closed_forms.place().stem}, s", "python -c 'import numpy'",
         *closed_forms.identities())  # fmt: skip
    against_sympy = closed_forms.scalars()
    if against_sympy is None:
        print("SymPy is not installed here: closed forms of scalars are not compared")
    else:
        show("closed forms of 20 textbook scalars, s", "SymPy's simplify", *against_sympy)


if __name__ == "__main__":
    main()
