"""Record what PyTorch prints for the cells of tests/behaviours/cells and tests/autograd.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_behaviours
Writes behaviours.json.gz, corners.json.gz, modes.json.gz and nodes.json.gz beside itself. A cell
that raises what it does not catch ends the run.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.behaviours.snippets import cells, printed
from tests.support.oracles import save

AUTOGRAD = Path(__file__).parents[1] / "autograd"


def record(
    name: str, texts: dict[str, str], script: str = "tests/oracles/record_behaviours.py"
) -> None:
    """Run the cells ``texts`` and write what they print."""
    import numpy as np
    import torch

    found = {cell: printed(torch, text) for cell, text in texts.items()}
    wrong = [f"{cell}\n{text}" for cell, text in found.items() if "\nraises " in f"\n{text}"]
    if wrong:
        raise SystemExit("\n".join(wrong))
    made = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": script,
        "cases": found,
    }
    save(name, json.dumps(made, indent=0) + "\n")
    print(f"{name}: {len(found)} cells")


def main() -> None:
    record("behaviours", cells())
    for name in ("corners", "modes", "nodes"):
        record(name, cells([AUTOGRAD / f"{name}.py"]))


if __name__ == "__main__":
    main()
