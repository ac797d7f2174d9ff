"""``gradcli.nn``: the functions of PyTorch's ``nn.functional`` that gradcli has."""

from gradcli.nn import functional

__all__ = ["functional"]
