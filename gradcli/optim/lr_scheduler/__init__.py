"""Learning rates that change as training goes on, under PyTorch's names.

base       LRScheduler: what all share; subclass it and give ``get_lr``
by_ratio   LambdaLR, MultiplicativeLR, StepLR, MultiStepLR, ConstantLR, LinearLR, ExponentialLR,
           PolynomialLR, CosineAnnealingLR: each rate from the one before, so that they chain
cycles     CyclicLR, OneCycleLR, CosineAnnealingWarmRestarts: rates by the step's number
joined     ChainedScheduler, SequentialLR: schedulers of schedulers
plateau    ReduceLROnPlateau: by how the loss goes
"""

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.optim.lr_scheduler.base import LRScheduler, _LRScheduler
from gradcli.optim.lr_scheduler.by_ratio import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from gradcli.optim.lr_scheduler.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from gradcli.optim.lr_scheduler.joined import ChainedScheduler, SequentialLR
from gradcli.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
    "_LRScheduler",
]  # fmt: skip
