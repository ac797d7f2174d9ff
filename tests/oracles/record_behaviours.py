"""Record what PyTorch prints for every cell of tests/behaviours/cells.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_behaviours
Writes tests/oracles/behaviours.json.gz. A cell that raises what it does not catch ends the run.
"""

from __future__ import annotations

import json

from tests.behaviours.snippets import cells, printed
from tests.support.oracles import save


def main() -> None:
    import numpy as np
    import torch

    texts = {name: printed(torch, text) for name, text in cells().items()}
    wrong = [f"{name}\n{text}" for name, text in texts.items() if "\nraises " in f"\n{text}"]
    if wrong:
        raise SystemExit("\n".join(wrong))
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_behaviours.py",
        "cases": texts,
    }
    save("behaviours", json.dumps(record, indent=0) + "\n")
    print(f"{len(texts)} cells")


if __name__ == "__main__":
    main()
