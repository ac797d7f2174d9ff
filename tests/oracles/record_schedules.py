"""Record PyTorch's learning rates, for tests/optim/test_schedules.py.

Run in an environment that has torch 2.13.0 and NumPy:  python -m tests.oracles.record_schedules
Writes tests/oracles/schedules.json.gz: the rates (and momentums) of two groups at the start and
after each of 30 steps. ``run`` takes the library as an argument and is what the test runs too.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from typing import Any

from tests.support.oracles import save

STEPS = 30


def loss(t: int) -> float:
    """A loss that falls, stalls, falls again and rises."""
    return 1 / (1 + t) if t < 8 else 0.12 if t < 17 else 0.05 + 0.001 * (t - 17) ** 2


def make(name: str, *args: Any, **options: Any) -> Callable:
    return lambda schedules, optimizer: getattr(schedules, name)(optimizer, *args, **options)


def chained(*makers: Callable) -> Callable:
    return lambda s, o: s.ChainedScheduler([m(s, o) for m in makers])


def sequential(milestones: list, *makers: Callable) -> Callable:
    return lambda s, o: s.SequentialLR(o, [m(s, o) for m in makers], milestones=milestones)


RECIPES: dict[str, Callable] = {
    "lambda": make("LambdaLR", lambda t: 0.95**t),
    "lambdas": make("LambdaLR", [lambda t: 1 / (t + 1), lambda t: t // 10]),
    "multiplicative": make("MultiplicativeLR", lambda t: 0.9 if t % 2 else 1.05),
    "step": make("StepLR", 7), "step gamma": make("StepLR", step_size=4, gamma=0.5),
    "multistep": make("MultiStepLR", [3, 10, 10, 21], gamma=0.3),
    "multistep 0": make("MultiStepLR", [0, 5]),
    "constant": make("ConstantLR"),
    "constant 12": make("ConstantLR", factor=0.25, total_iters=12),
    "linear": make("LinearLR"),
    "linear down": make("LinearLR", start_factor=1.0, end_factor=0.0, total_iters=20),
    "exponential": make("ExponentialLR", gamma=0.9),
    "polynomial": make("PolynomialLR"),
    "polynomial 25": make("PolynomialLR", total_iters=25, power=2.0),
    "cosine": make("CosineAnnealingLR", T_max=10),
    "cosine low": make("CosineAnnealingLR", T_max=7, eta_min=0.001),
    "restarts": make("CosineAnnealingWarmRestarts", 10),
    "restarts longer": make("CosineAnnealingWarmRestarts", T_0=4, T_mult=2, eta_min=0.01),
    "cyclic": make("CyclicLR", base_lr=0.001, max_lr=0.1, step_size_up=5),
    "cyclic 2": make("CyclicLR", 0.01, 0.1, 4, 6, mode="triangular2", cycle_momentum=False),
    "cyclic exp": make("CyclicLR", [0.01, 0.02], [0.1, 0.3], 5, mode="exp_range", gamma=0.97),
    "cyclic own": make("CyclicLR", 0.01, 0.1, 5, scale_fn=lambda c: 1 / c),
    "cyclic own steps": make(
        "CyclicLR", 0.01, 0.1, 5, scale_fn=lambda i: math.exp(-i / 9), scale_mode="iterations"
    ),
    "one cycle": make("OneCycleLR", max_lr=0.5, total_steps=30),
    "one cycle linear": make(
        "OneCycleLR", [0.5, 0.3], epochs=4, steps_per_epoch=8, anneal_strategy="linear",
        pct_start=0.4, div_factor=10.0, final_div_factor=50.0,
    ),
    "one cycle three": make(
        "OneCycleLR", 0.5, total_steps=30, three_phase=True, cycle_momentum=False
    ),
    "plateau": make("ReduceLROnPlateau", patience=3),
    "plateau abs": make(
        "ReduceLROnPlateau", factor=0.5, patience=2, threshold=0.05, threshold_mode="abs",
        cooldown=2, min_lr=[0.02, 0.01],
    ),
    "plateau max": make("ReduceLROnPlateau", mode="max", patience=4, factor=0.3, threshold=0.1),
    "plateau max abs": make(
        "ReduceLROnPlateau", "max", 0.3, 2, threshold_mode="abs", min_lr=0.003, eps=0.01
    ),
    "chained": chained(make("ConstantLR", 0.1, 4), make("ExponentialLR", 0.9)),
    "chained cosine": chained(
        make("LinearLR", 0.1, total_iters=6), make("CosineAnnealingLR", 12), make("StepLR", 9)
    ),
    "sequential": sequential([20], make("ConstantLR", 0.1, 20), make("ExponentialLR", 0.9)),
    "sequential three": sequential(
        [5, 14], make("LinearLR", 0.2, total_iters=5), make("CosineAnnealingLR", 9),
        make("StepLR", 4),
    ),
    "sequential others": sequential(
        [6, 12, 18], make("LambdaLR", lambda t: 0.8**t), make("PolynomialLR", 5, 2.0),
        make("MultiStepLR", [2, 4], 0.5), make("CosineAnnealingWarmRestarts", 3),
    ),
    "sequential ratio": sequential(
        [8], make("MultiplicativeLR", lambda t: 0.9),
        make("ConstantLR", 0.5, 3),
    ),
    "adam one cycle": make("OneCycleLR", 0.5, total_steps=31),
    "adam cyclic": make("CyclicLR", 0.01, 0.1, 5),
}  # fmt: skip


def start(lib: Any, name: str) -> tuple[Any, Any]:
    """An optimizer of two groups, and its scheduler."""
    groups = [
        {"params": [lib.zeros(1, requires_grad=True)], "lr": 0.1},
        {"params": [lib.zeros(1, requires_grad=True)], "lr": 0.04},
    ]
    if name.startswith("adam"):
        optimizer = lib.optim.Adam(groups)
    else:
        optimizer = lib.optim.SGD(groups, lr=0.1, momentum=0.9)
    return optimizer, RECIPES[name](lib.optim.lr_scheduler, optimizer)


def advance(name: str, optimizer: Any, scheduler: Any, steps: range) -> list[list[float]]:
    """Rates, then momentums where they move, after each step."""
    rows = []
    for t in steps:
        optimizer.step()
        scheduler.step(*([loss(t)] if name.startswith("plateau") else []))
        rows.append(row(optimizer, scheduler))
    return rows


def row(optimizer: Any, scheduler: Any) -> list[float]:
    moments = [g["betas"][0] if "betas" in g else g["momentum"] for g in optimizer.param_groups]
    rates = [g["lr"] for g in optimizer.param_groups]
    if scheduler.get_last_lr() != rates:
        raise ValueError("get_last_lr() is not what the groups have")
    return [*rates, *moments]


def run(lib: Any, name: str) -> list[list[float]]:
    optimizer, scheduler = start(lib, name)
    return [row(optimizer, scheduler), *advance(name, optimizer, scheduler, range(STEPS))]


def saved(lib: Any, name: str) -> list[str]:
    """The names in a scheduler's state."""
    return sorted(start(lib, name)[1].state_dict())


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    cases = [{"name": n, "rows": run(torch, n), "saved": saved(torch, n)} for n in RECIPES]
    head = {
        "made_with": {"torch": torch.__version__.partition("+")[0]},
        "script": "tests/oracles/record_schedules.py",
    }
    lines = ",\n".join(json.dumps(case) for case in cases)
    save("schedules", json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
