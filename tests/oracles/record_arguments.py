"""Record what PyTorch declares each parameter of its functions to take.

The functions are those that gradcli has too, by name: operators and composed functions. Of each
signature every argument is recorded as its name, its type and whether it is given by name alone.
Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_arguments
Writes tests/oracles/arguments.json.gz.
"""

from __future__ import annotations

import json

from gradcli.functions.index import LATER
from gradcli.functions.methods import COMPOSED, public_operators
from tests.support.oracles import save


def main() -> None:
    import torch

    def signatures(name: str) -> list:
        for prefix in ("", "special_", "linalg_"):
            found = []
            for schema in torch._C._jit_get_schemas_for_operator(f"aten::{prefix}{name}"):
                given = [(a.name, str(a.type), a.kwarg_only) for a in schema.arguments]
                of_tensors = given and "Tensor" in f"{given[:2]}"
                named = any("Dimname" in kind or "str dim" in kind for _, kind, _ in given)
                if of_tensors and not named and not any(a.is_out for a in schema.arguments):
                    found.append(given)
            if found:
                return found
        return []

    names = sorted({*public_operators(), *COMPOSED, *LATER})
    cases = {name: found for name in names if (found := signatures(name))}
    record = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_arguments.py",
        "cases": cases,
    }
    save("arguments", json.dumps(record, indent=0) + "\n")
    print(f"{len(cases)} functions")


if __name__ == "__main__":
    main()
