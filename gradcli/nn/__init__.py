"""``gradcli.nn``: layers under PyTorch's names, as functions and as modules with parameters.

functional  relu, linear, conv2d, cross_entropy ...: functions of tensors
modules     Linear, Conv2d, ReLU, CrossEntropyLoss ...: the same, with what they learn
init        first values of weights        utils   clipping gradients, parameters as one vector
grad        the gradients of convolutions as functions

All are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli._lazy import lazily
from gradcli.nn.modules import HOME

if TYPE_CHECKING:  # what an editor completes
    from gradcli.nn import functional as functional
    from gradcli.nn import grad as grad
    from gradcli.nn import init as init
    from gradcli.nn import utils as utils
    from gradcli.nn.modules.activation import *  # noqa: F403
    from gradcli.nn.modules.attention import *  # noqa: F403
    from gradcli.nn.modules.batchnorm import *  # noqa: F403
    from gradcli.nn.modules.container import *  # noqa: F403
    from gradcli.nn.modules.conv import *  # noqa: F403
    from gradcli.nn.modules.distance import *  # noqa: F403
    from gradcli.nn.modules.dropout import *  # noqa: F403
    from gradcli.nn.modules.flatten import *  # noqa: F403
    from gradcli.nn.modules.linear import *  # noqa: F403
    from gradcli.nn.modules.loss import *  # noqa: F403
    from gradcli.nn.modules.module import *  # noqa: F403
    from gradcli.nn.modules.normalization import *  # noqa: F403
    from gradcli.nn.modules.padding import *  # noqa: F403
    from gradcli.nn.modules.pooling import *  # noqa: F403
    from gradcli.nn.modules.resampling import *  # noqa: F403
    from gradcli.nn.modules.rnn import *  # noqa: F403
    from gradcli.nn.modules.sparse import *  # noqa: F403
    from gradcli.nn.parameter import Buffer as Buffer
    from gradcli.nn.parameter import Parameter as Parameter

_NAMESPACES = ("functional", "grad", "init", "modules", "parameter", "utils")

__all__ = ["Buffer", "Parameter", *sorted(HOME), *_NAMESPACES]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(_NAMESPACES, ""),
        **dict.fromkeys(("Parameter", "Buffer"), "gradcli.nn.parameter"),
        **{name: f"gradcli.nn.modules.{home}" for name, home in HOME.items()},
    },
)


def __dir__() -> list[str]:
    return __all__
