"""Optimizers under PyTorch's names, with PyTorch's formulas and arguments.

optimizer   parameter groups, zero_grad, state_dict      sgd          SGD
rmsprop     RMSprop                                      adam         Adam, AdamW
lbfgs       LBFGS                                        line_search  its strong Wolfe search
"""

from gradcli.optim.adam import Adam, AdamW
from gradcli.optim.lbfgs import LBFGS
from gradcli.optim.optimizer import Optimizer
from gradcli.optim.rmsprop import RMSprop
from gradcli.optim.sgd import SGD

__all__ = ["LBFGS", "SGD", "Adam", "AdamW", "Optimizer", "RMSprop"]
