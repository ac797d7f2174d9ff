"""Record what PyTorch prints for every cell of tests/behaviours/cells.

Run in an environment that has torch 2.13.0 and NumPy:  python tests/oracles/record_behaviours.py
Writes tests/oracles/behaviours.json. A cell that raises what it does not catch ends the run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "behaviours"))

from snippets import cells, printed  # noqa: E402


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
    path = HERE / "behaviours.json"
    path.write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")
    print(f"{len(texts)} cells")


if __name__ == "__main__":
    main()
