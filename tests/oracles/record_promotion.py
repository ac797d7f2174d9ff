"""Record the dtype in which PyTorch lets two operands meet, for tests/engine/test_dtypes.py.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_promotion
Writes tests/oracles/promotion.json.gz: for every pair of dtypes and every pair of ranks (a tensor
with dimensions, a 0-d tensor, a Python number) the result of +, *, /, **, where, maximum and
comparison; None where PyTorch refuses.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.oracles import save

DTYPES = (
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool",
        "complex64",
    "complex128",
)  # fmt: skip
NUMBERS = {"bool": True, "int": 2, "float": 2.5, "complex": 1 + 2j}
OPERATIONS = {
    "add": lambda lib, x, y: x + y,
    "mul": lambda lib, x, y: x * y,
    "div": lambda lib, x, y: x / y,
    "pow": lambda lib, x, y: x**y,
    "where": lambda lib, x, y: lib.where(lib.tensor([True, False]), x, y),
    "maximum": lambda lib, x, y: lib.maximum(x, y),
    "eq": lambda lib, x, y: x == y,
    "cat": lambda lib, x, y: lib.cat([x, y]),
}


def operands(lib: Any) -> dict[str, Any]:
    """Every operand by a name such as ``float32[2]``, ``int8[]`` and ``float``."""
    made: dict[str, Any] = {}
    for name in DTYPES:
        made[f"{name}[2]"] = lib.tensor([1, 1], dtype=getattr(lib, name))
        made[f"{name}[]"] = lib.tensor(1, dtype=getattr(lib, name))
    return made | NUMBERS


def table(lib: Any, refused: tuple) -> dict[str, dict[str, str | None]]:
    """Operation -> "left right" -> the result's dtype."""
    made = operands(lib)
    found: dict[str, dict[str, str | None]] = {}
    for operation, call in OPERATIONS.items():
        rows = found[operation] = {}
        for a, x in made.items():
            for b, y in made.items():
                if a in NUMBERS and b in NUMBERS:
                    continue
                if operation in ("cat", "maximum") and (a in NUMBERS or b in NUMBERS):
                    continue
                if operation == "cat" and not (a.endswith("[2]") and b.endswith("[2]")):
                    continue
                try:
                    rows[f"{a} {b}"] = str(call(lib, x, y).dtype).rpartition(".")[2]
                except refused:
                    rows[f"{a} {b}"] = None
    return found


def main() -> None:
    import torch

    head = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_promotion.py",
    }
    lines = ",\n".join(
        f"{json.dumps(op)}: {json.dumps(rows, separators=(',', ':'))}"
        for op, rows in table(torch, (RuntimeError, TypeError)).items()
    )
    text = json.dumps(head)[:-1] + ', "results": {\n' + lines + "\n}}\n"
    save("promotion", text)


if __name__ == "__main__":
    main()
