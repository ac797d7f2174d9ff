"""Run the functions that gradcli writes for PyTorch and JAX, for tests/symbolic/test_printers.py.

Run with torch 2.13.0, or jax 0.10.2, beside NumPy, and with the checkout on the path:
    python -m tests.oracles.record_code torch
    python -m tests.oracles.record_code jax
Writes tests/oracles/code.json.gz or code_jax.json.gz: for every recipe of
tests/symbolic/printed.json the values put in, what the function gave, and whether its derivatives
of order 1 are those of torch.autograd or jax.jacobian. JAX's has the text that ran too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.symbolic import diff
from tests.support.oracles import save

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


class Torch:
    """How PyTorch takes arrays, differentiates, and gives numbers back."""

    def __init__(self) -> None:
        import torch

        self.torch, self.version = torch, torch.__version__.partition("+")[0]

    def array(self, x: np.ndarray) -> Any:
        return self.torch.tensor(x, requires_grad=True)

    def jacobian(self, function: Callable, x: Any) -> np.ndarray:
        return self.torch.autograd.functional.jacobian(function, x).numpy()

    def numbers(self, x: Any) -> np.ndarray:
        return x.detach().numpy()


class Jax:
    """The same of JAX, in 64 bits."""

    def __init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax, self.version = jax, jax.__version__

    def array(self, x: np.ndarray) -> Any:
        return self.jax.numpy.asarray(x)

    def jacobian(self, function: Callable, x: Any) -> np.ndarray:
        return np.asarray(self.jax.jacobian(function)(x))

    def numbers(self, x: Any) -> np.ndarray:
        return np.asarray(x)


def record(recipe: dict, target: str, peer: Any) -> dict:
    """One recipe's run."""
    result = diff(recipe["expr"], recipe["wrt"], order=recipe["order"], declared=recipe["vars"])
    scope: dict = {}
    text = result.code(target)
    exec(text, scope)
    values = {k: np.asarray(x) for k, x in point(result.declared).items()}
    arrays = {k: peer.array(x) for k, x in values.items()}
    found = [peer.numbers(x) for x in scope["f"](*arrays.values())]
    agrees = True
    if recipe["order"] == 1:
        for name, derivative in zip(result.derivatives, found[1:], strict=True):
            exact = peer.jacobian(
                lambda x, name=name: scope["f"](*{**arrays, name: x}.values())[0], arrays[name]
            )
            agrees = agrees and np.allclose(derivative, exact, rtol=1e-9, atol=1e-11)
    case = {
        "expr": recipe["expr"], "agrees": agrees,
        "values": {k: x.tolist() for k, x in values.items()},
        "results": [x.tolist() for x in found],
    }  # fmt: skip
    return case if target == "torch" else {**case, "text": text}


def main(target: str) -> None:
    """Write the file of one library."""
    peer = {"torch": Torch, "jax": Jax}[target]()
    cases = [record(r, target, peer) for r in json.loads(RECIPES.read_text())]
    head = {"made_with": {target: peer.version}, "script": "tests/oracles/record_code.py"}
    lines = ",\n".join(json.dumps(c) for c in cases)
    text = json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n"
    save({"torch": "code", "jax": "code_jax"}[target], text)
    print(len(cases), "recorded;", [c["expr"] for c in cases if not c["agrees"]])


if __name__ == "__main__":
    main(sys.argv[1])
