"""``gradcli.nn``: layers under PyTorch's names, as functions and as modules with parameters.

functional  relu, linear, conv2d, cross_entropy ...: functions of tensors
modules     Linear, Conv2d, ReLU, CrossEntropyLoss ...: the same, with what they learn
init        first values of weights        utils   clipping gradients, parameters as one vector

All are loaded when they are first used.
"""

from __future__ import annotations

import importlib

from gradcli.nn.modules import HOME

_NAMESPACES = ("functional", "init", "modules", "parameter", "utils")

__all__ = ["Buffer", "Parameter", *sorted(HOME), *_NAMESPACES]


def __getattr__(name: str) -> object:
    """Load a namespace, or the file of a module, when it is first used."""
    if name in _NAMESPACES:
        return importlib.import_module(f"gradcli.nn.{name}")
    if name in ("Parameter", "Buffer"):
        return getattr(importlib.import_module("gradcli.nn.parameter"), name)
    if name in HOME:
        return getattr(importlib.import_module(f"gradcli.nn.modules.{HOME[name]}"), name)
    raise AttributeError(f"module 'gradcli.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
