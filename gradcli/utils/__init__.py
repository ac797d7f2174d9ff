"""``gradcli.utils``: ``checkpoint`` trades time for memory, ``data`` gives rows in batches,
``hooks`` has the class of what registering a hook gives back."""

from __future__ import annotations

import importlib

__all__ = ["checkpoint", "data", "hooks"]


def __getattr__(name: str) -> object:
    """Load a namespace when it is first used."""
    if name in __all__:
        return importlib.import_module(f"gradcli.utils.{name}")
    raise AttributeError(f"module 'gradcli.utils' has no attribute {name!r}")
