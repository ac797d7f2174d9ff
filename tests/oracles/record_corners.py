"""Record what PyTorch prints for every cell of tests/autograd/corners.py.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_corners
Writes tests/oracles/corners.json.gz. A cell that raises what it does not catch ends the run.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.behaviours.snippets import cells, printed
from tests.support.oracles import save

CORNERS = Path(__file__).parents[1] / "autograd" / "corners.py"


def main() -> None:
    import numpy as np
    import torch

    texts = {name: printed(torch, text) for name, text in cells([CORNERS]).items()}
    wrong = [f"{name}\n{text}" for name, text in texts.items() if "\nraises " in f"\n{text}"]
    if wrong:
        raise SystemExit("\n".join(wrong))
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_corners.py",
        "cases": texts,
    }
    save("corners", json.dumps(record, indent=0) + "\n")
    print(f"{len(texts)} cells")


if __name__ == "__main__":
    main()
