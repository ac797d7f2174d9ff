"""Run the functions that gradcli writes for PyTorch, for tests/symbolic/test_printers.py.

Run in an environment that has torch 2.13.0 and NumPy, with the checkout on the path:
    PYTHONPATH=. python tests/oracles/record_code.py
Writes tests/oracles/code.json: for every recipe of tests/symbolic/printed.json the values put in,
what the function gave, and whether its derivatives of order 1 are those of torch.autograd.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from gradcli.symbolic import diff

HERE = Path(__file__).parent
RECIPES = HERE.parent / "symbolic" / "printed.json"
SIZES = {"n": 3, "m": 4, "k": 2}


def point(declared: dict) -> dict[str, np.ndarray]:
    """The values that the test uses too."""
    rng = np.random.default_rng(5)
    sizes = dict(SIZES)
    values = {}
    for name, d in declared.items():
        shape = tuple(int(x) if x.isdigit() else sizes.setdefault(x, 5) for x in d.dims)
        x = rng.uniform(0.3, 0.9, shape)
        values[name] = x @ x.T + np.eye(len(x)) if "spd" in d.traits else x
    return values


def record(recipe: dict) -> dict:
    """One recipe's run."""
    result = diff(recipe["expr"], recipe["wrt"], order=recipe["order"], declared=recipe["vars"])
    scope: dict = {}
    exec(result.code("torch"), scope)
    values = {k: np.asarray(x) for k, x in point(result.declared).items()}
    tensors = {k: torch.tensor(x, requires_grad=True) for k, x in values.items()}
    found = scope["f"](*tensors.values())
    agrees = True
    if recipe["order"] == 1:
        for name, derivative in zip(result.derivatives, found[1:], strict=True):
            exact = torch.autograd.functional.jacobian(
                lambda x, name=name: scope["f"](*{**tensors, name: x}.values())[0], tensors[name]
            )
            agrees = agrees and torch.allclose(derivative, exact, rtol=1e-9, atol=1e-11)
    return {
        "expr": recipe["expr"], "agrees": agrees,
        "values": {k: x.tolist() for k, x in values.items()},
        "results": [x.detach().tolist() for x in found],
    }  # fmt: skip


def main() -> None:
    """Write the file."""
    cases = [record(r) for r in json.loads(RECIPES.read_text())]
    head = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_code.py",
    }
    lines = ",\n".join(json.dumps(c) for c in cases)
    text = json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n"
    (HERE / "code.json").write_text(text)
    print(len(cases), "recorded;", [c["expr"] for c in cases if not c["agrees"]])


if __name__ == "__main__":
    main()
