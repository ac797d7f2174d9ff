"""Record PyTorch's values, gradients and second derivatives of the calls of composed functions.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_functions
Writes tests/oracles/functions.json.gz. The calls come from tests/functions/function_table.py. Every
derivative is checked by central differences of the level before it; a mismatch ends the run.
"""

from __future__ import annotations

import json

import numpy as np

from tests.functions.function_table import CALLS
from tests.ops.rows import derivatives
from tests.oracles.record_operators import checked, plain
from tests.support.oracles import save


def main() -> None:
    import torch

    torch.set_default_dtype(torch.float64)
    cases, problems = {}, []
    for name, call in CALLS.items():
        arrays = call.arrays()
        wrt = tuple(range(len(arrays)))
        try:
            function = call.function(torch)
            levels = derivatives(torch, function, arrays, wrt, call.order)
            if not call.convention:
                checked(name, function, arrays, wrt, levels)
        except (SystemExit, Exception) as fault:
            problems.append(f"{name}: {type(fault).__name__} {str(fault)[:400]}")
            continue
        cases[name] = [[plain(a) for a in level] for level in levels]
    if problems:
        raise SystemExit("\n".join(problems))
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0], "numpy": np.__version__},
        "script": "tests/oracles/record_functions.py",
    }
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(case, separators=(',', ':'))}"
        for name, case in cases.items()
    )
    text = json.dumps(record)[:-1] + ', "cases": {\n' + lines + "\n}}\n"
    save("functions", text)
    print(f"{len(cases)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
