"""Names of a module that are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__``: ``homes`` says where each name stands, "" for modules of ``module``."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = import_module(homes[name] or f"{module}.{name}")
        found = getattr(home, name) if homes[name] else home
        return vars(sys.modules[module]).setdefault(name, found)

    return load
