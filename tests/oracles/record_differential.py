"""Record what PyTorch prints for the random programs of tests/behaviours/generate.py.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_differential
Writes tests/oracles/differential.json.gz: the printed text of the programs 0 to COUNT - 1. A
program that PyTorch ends with an error it does not catch is stored by that error's kind. The
programs run in separate processes, a few in each: where PyTorch dies of one (a segmentation
fault), null stands in its place.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings

from tests.behaviours.generate import program
from tests.behaviours.snippets import printed
from tests.support.oracles import save

COUNT = 2600
TOGETHER = 50


def run(first: int, last: int) -> None:
    """Print what the programs ``first`` to ``last - 1`` print, as JSON."""
    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(json.dumps([printed(torch, program(seed)) for seed in range(first, last)]))


def texts(first: int, last: int) -> list[str | None]:
    """The same from a process of their own; where that dies, from one for each program."""
    call = [sys.executable, __file__, str(first), str(last)]
    done = subprocess.run(call, capture_output=True, text=True)
    if not done.returncode:
        return json.loads(done.stdout)
    if last - first == 1:
        print(f"PyTorch dies of program {first}: {done.returncode}")
        return [None]
    return [text for seed in range(first, last) for text in texts(seed, seed + 1)]


def main() -> None:
    import numpy as np
    import torch

    cases = []
    for first in range(0, COUNT, TOGETHER):
        cases += texts(first, min(first + TOGETHER, COUNT))
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_differential.py",
        "cases": cases,
    }
    save("differential", json.dumps(record, indent=0) + "\n")
    raised = sum("\nraises " in f"\n{text}" for text in cases)
    print(f"{len(cases)} programs, {raised} end with an error")


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else run(*map(int, sys.argv[1:]))
