"""``gradcli.utils.hooks``: what registering a hook gives back, under PyTorch's name."""

from gradcli.engine.graph.node import RemovableHandle

__all__ = ["RemovableHandle"]
