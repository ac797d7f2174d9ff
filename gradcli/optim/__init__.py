"""Optimizers under PyTorch's names, with PyTorch's formulas and arguments.

optimizer   parameter groups, zero_grad, state_dict      sgd       SGD
rmsprop     RMSprop                                      adam      Adam, AdamW
"""

from gradcli.optim.adam import Adam, AdamW
from gradcli.optim.optimizer import Optimizer
from gradcli.optim.rmsprop import RMSprop
from gradcli.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "RMSprop"]
