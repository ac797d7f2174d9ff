"""Record what PyTorch does with writes to views, by mode, base, kind of view and kind of write.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_views
Writes tests/oracles/views.json.gz: the different outcomes, and for each case of
tests/engine/tensor/view_cases.py which of them it is; and storage.json.gz, what the cells of
tests/engine/tensor/storage_cells.py print.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.behaviours.snippets import cells
from tests.engine.tensor import view_cases
from tests.engine.tensor.view_cases import CASES, outcome
from tests.oracles.record_behaviours import record as record_cells
from tests.support.oracles import save

STORAGE = Path(view_cases.__file__).with_name("storage_cells.py")


def _text(record: dict) -> str:
    outcomes = ",\n".join(json.dumps(line) for line in record.pop("outcomes"))
    return f'{json.dumps(record)[:-1]}, "outcomes": [\n{outcomes}\n]}}\n'


def main() -> None:
    import torch

    places: dict[str, int] = {}
    numbers = [places.setdefault(outcome(torch, case), len(places)) for case in CASES]
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_views.py",
        "outcomes": list(places),
        "cases": numbers,
    }
    save("views", _text(record))
    print(f"{len(numbers)} cases, {len(places)} outcomes")
    record_cells("storage", cells([STORAGE]), record["script"])


if __name__ == "__main__":
    main()
