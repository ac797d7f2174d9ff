"""Record what PyTorch prints for the random programs of tests/behaviours/generate.py.

Run in an environment that has torch 2.13.0 and NumPy:  python tests/oracles/record_differential.py
Writes tests/oracles/differential.json: the printed text of the programs 0 to COUNT - 1. A program
that PyTorch ends with an error it does not catch is stored by that error's kind.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "behaviours"))

from generate import program  # noqa: E402
from snippets import printed  # noqa: E402

COUNT = 2000


def main() -> None:
    import numpy as np
    import torch

    warnings.simplefilter("ignore")
    texts = [printed(torch, program(seed)) for seed in range(COUNT)]
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_differential.py",
        "cases": texts,
    }
    path = HERE / "differential.json"
    path.write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")
    raised = sum("\nraises " in f"\n{text}" for text in texts)
    print(f"{len(texts)} programs, {raised} end with an error, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
