"""``gradcli.utils``: ``checkpoint`` trades time for memory, ``data`` gives rows in batches,
``hooks`` has the class of what registering a hook gives back."""

from __future__ import annotations

from gradcli._lazy import lazily

__all__ = ["checkpoint", "data", "hooks"]

__getattr__ = lazily(__name__, dict.fromkeys(__all__, ""))
