"""Optimizers under PyTorch's names: each takes an iterable of leaves, and ``step()`` changes them.

sgd        SGD                          lbfgs      LBFGS, with line_search
adam       Adam, AdamW                  adaptive   Adagrad, Adadelta, Rprop
rmsprop    RMSprop                      adamlike   Adamax, NAdam, RAdam
minimize   a loop around any of them, with a word on how it ended
"""

from gradcli.optim.adam import Adam, AdamW
from gradcli.optim.adamlike import Adamax, NAdam, RAdam
from gradcli.optim.adaptive import Adadelta, Adagrad, Rprop
from gradcli.optim.lbfgs import LBFGS
from gradcli.optim.optimizer import Optimizer
from gradcli.optim.rmsprop import RMSprop
from gradcli.optim.sgd import SGD

__all__ = [
    "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop",
]  # fmt: skip
