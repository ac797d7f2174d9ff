"""``gradcli.return_types.max``: the class of what the function ``max`` gives, and others."""

from __future__ import annotations

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.named_tuples import FIELDS, Results, return_type


def __getattr__(name: str) -> type[Results]:
    if name not in FIELDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return return_type(name)


def __dir__() -> list[str]:
    return sorted(FIELDS)
