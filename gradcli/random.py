"""``gradcli.random``: the generator that random numbers come from where none is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradcli.functions  # noqa: F401  whole, before its parts: see gradcli/__init__.py
from gradcli.engine.creation.generator import default_generator
from gradcli.engine.creation.sampling import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
           "set_rng_state"]  # fmt: skip


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Random numbers inside ``with`` leave those after it as if none had been drawn.

    Example:
        >>> import gradcli
        >>> with gradcli.random.fork_rng():
        ...     inside = gradcli.rand(2)
        >>> gradcli.equal(gradcli.rand(2), inside)
        True
    """
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)
