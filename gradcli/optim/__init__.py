"""Optimizers under PyTorch's names: each takes an iterable of leaves, and ``step()`` changes them.

sgd        SGD, ASGD                           lbfgs      LBFGS, with line_search
adam       Adam, AdamW, Adamax, NAdam, RAdam   adaptive   Adagrad, Adadelta, RMSprop, Rprop
lr_scheduler   learning rates that change, a folder
minimize   a loop around any of them, with a word on how it ended
"""

from typing import TYPE_CHECKING

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli._lazy import lazily
from gradcli.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from gradcli.optim.adaptive import Adadelta, Adagrad, RMSprop, Rprop
from gradcli.optim.lbfgs import LBFGS
from gradcli.optim.optimizer import Optimizer
from gradcli.optim.sgd import ASGD, SGD

if TYPE_CHECKING:
    from gradcli.optim import lr_scheduler as lr_scheduler

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop",
]  # fmt: skip

__getattr__ = lazily(__name__, {"lr_scheduler": ""})
