"""Record the trajectories of PyTorch's optimizers, for tests/optim/test_optim.py.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_optim
Writes tests/oracles/optim.json.gz: the parameters after every step of each recipe, in float64.
``run`` takes the library as an argument and is what the test runs too.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.oracles import save

STEPS = 12
RECIPES = (
    ("SGD", {"lr": 0.05}), ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3}),
        ("SGD", {"lr": 0.05, "weight_decay": 0.2}),
    ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.02, "momentum": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.1}), ("Adam", {"lr": 0.1, "betas": [0.8, 0.95], "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.3}), ("Adam", {"lr": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.05, "maximize": True}), ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "maximize": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.05}), ("RMSprop", {"lr": 0.05, "alpha": 0.8, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.05, "momentum": 0.7}), ("RMSprop", {"lr": 0.05, "centered": True}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.7, "weight_decay": 0.2}),
    ("RMSprop", {"lr": 0.02, "maximize": True}),
    ("Adagrad", {"lr": 0.3}), ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.2}),
    ("Adagrad", {"lr": 0.2, "initial_accumulator_value": 0.5, "eps": 1e-3, "maximize": True}),
    ("Adadelta", {"lr": 1.0}), ("Adadelta", {"lr": 2.0, "rho": 0.7, "weight_decay": 0.2}),
    ("Rprop", {"lr": 0.05}), ("Rprop", {"lr": 0.1, "etas": [0.4, 1.5], "step_sizes": [0.01, 0.2]}),
    ("Adamax", {"lr": 0.1}), ("Adamax", {"lr": 0.1, "betas": [0.8, 0.9], "weight_decay": 0.2}),
    ("NAdam", {"lr": 0.1}), ("NAdam", {"lr": 0.1, "momentum_decay": 0.1, "weight_decay": 0.2}),
    ("NAdam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.2}),
    ("RAdam", {"lr": 0.1}), ("RAdam", {"lr": 0.1, "betas": [0.8, 0.9], "weight_decay": 0.2}),
    ("RAdam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.2}),
    ("ASGD", {"lr": 0.05}), ("ASGD", {"lr": 0.05, "lambd": 0.1, "alpha": 0.5, "t0": 4}),
    ("ASGD", {"lr": 0.02, "weight_decay": 0.2, "maximize": True}),
)  # fmt: skip


def loss(lib: Any, x: Any, y: Any) -> Any:
    """Rosenbrock's valley in two of the numbers, and a bowl tied to it by the third."""
    return (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2 + lib.sin(y) * x[1] + y**2


def run(lib: Any, name: str, options: dict) -> list[list[float]]:
    """Parameters after each step: three numbers a step; the second group has half the rate.

    In float64 by default too: PyTorch's NAdam keeps a product in the default dtype.
    """
    lib.set_default_dtype(lib.float64)
    try:
        return _path(lib, name, options)
    finally:
        lib.set_default_dtype(lib.float32)


def _path(lib: Any, name: str, options: dict) -> list[list[float]]:
    x = lib.tensor([-0.7, 0.8], dtype=lib.float64, requires_grad=True)
    y = lib.tensor(0.4, dtype=lib.float64, requires_grad=True)
    groups = [{"params": [x]}, {"params": [y], "lr": options["lr"] / 2}]
    optimizer = getattr(lib.optim, name)(groups, **options)
    path = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss(lib, x, y).backward()
        optimizer.step()
        path.append([*x.detach().tolist(), y.item()])
    return path


def main() -> None:
    import torch

    cases = [{"name": n, "options": o, "path": run(torch, n, o)} for n, o in RECIPES]
    head = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_optim.py",
    }
    lines = ",\n".join(json.dumps(case) for case in cases)
    save("optim", json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
