"""Record which exceptions PyTorch raises for wrong calls, and what they say.

The calls are those of tests/functions/misuses.py and tests/functions/statements.py.
Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_misuses
Writes tests/oracles/misuses.json.gz. A line that raises nothing there ends the run.
"""

from __future__ import annotations

import json
import warnings

from tests.functions.misuses import MISUSES, raised
from tests.functions.statements import OWN_WORDS, STATEMENTS, refusal
from tests.support.oracles import save


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    cases = {line: raised(torch, line) for line in MISUSES}
    listed = [*STATEMENTS, *(line for lines in OWN_WORDS.values() for line in lines)]
    statements = {line: refusal(torch, line) for line in listed}
    silent = [line for line, (kind, _) in {**cases, **statements}.items() if kind == "nothing"]
    if silent:
        raise SystemExit("these raise nothing:\n" + "\n".join(silent))
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_misuses.py",
        "cases": cases,
        "statements": statements,
    }
    save("misuses", json.dumps(record, indent=0) + "\n")
    print(f"{len(cases)} calls, {len(statements)} statements")


if __name__ == "__main__":
    main()
