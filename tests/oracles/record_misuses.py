"""Record which exceptions PyTorch raises for the wrong calls of tests/functions/misuses.py.

Run in an environment that has torch 2.13.0 and NumPy:  python tests/oracles/record_misuses.py
Writes tests/oracles/misuses.json. A line that raises nothing there ends the run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "functions"))

from misuses import MISUSES, raised  # noqa: E402


def main() -> None:
    import torch

    cases = {line: raised(torch, line) for line in MISUSES}
    silent = [line for line, name in cases.items() if name == "nothing"]
    if silent:
        raise SystemExit("these raise nothing:\n" + "\n".join(silent))
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_misuses.py",
        "cases": cases,
    }
    (HERE / "misuses.json").write_text(json.dumps(record, indent=0) + "\n", encoding="utf-8")
    print(f"{len(cases)} lines")


if __name__ == "__main__":
    main()
