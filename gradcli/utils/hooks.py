"""``gradcli.utils.hooks``: what registering a hook gives back, under PyTorch's name."""

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.graph.node import RemovableHandle

__all__ = ["RemovableHandle"]
