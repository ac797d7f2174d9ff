"""Views under PyTorch's names of what they are when copied: ``permute_copy`` and its like.

A copy has memory of its own: writing to it does not show in the tensor that it was taken from.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.functions import arithmetic, indexing, reshaping, scatter, strided


def _copied(name: str, function: Callable) -> Callable:
    @functools.wraps(function)
    def copied(input: Any, *args: Any, **options: Any) -> Any:
        found = function(input, *args, **options)
        return tuple(map(O["clone"], found)) if isinstance(found, tuple) else O["clone"](found)

    copied.__name__ = copied.__qualname__ = f"{name}_copy"
    copied.__doc__ = f"What ``{name}`` gives, in memory of its own."
    return copied


def _view(input: Any, size: Any) -> Any:
    return O["reshape"](input, size if isinstance(size, int) else tuple(size))


def _expand(input: Any, size: Any, *, implicit: bool = False) -> Any:
    return O["expand"](input, tuple(size))


def slice_along(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """The entries from ``start`` to ``end`` along a dimension."""
    return indexing._along(input, dim, slice(start, end, step))


_VIEWS: dict[str, Callable] = {
    "alias": arithmetic.resolve_conj, "as_strided": strided.as_strided,
    "detach": lambda input: input.detach(), "diagonal": scatter.diagonal, "expand": _expand,
    "narrow": indexing.narrow, "permute": reshaping.permute, "select": indexing.select,
    "slice": slice_along, "split": reshaping.split, "split_with_sizes": reshaping.split,
    "squeeze": O["squeeze"], "t": reshaping.t, "transpose": reshaping.transpose,
    "unbind": reshaping.unbind, "unfold": scatter.unfold, "unsqueeze": O["unsqueeze"],
    "view": _view, "view_as_complex": scatter.view_as_complex,
    "view_as_real": arithmetic.view_as_real,
}  # fmt: skip

BOTH: tuple = ()
"""Functions that are methods too."""
ALONE = tuple(_copied(name, view) for name, view in _VIEWS.items())
"""Functions only."""
ALIASES: dict[str, Any] = {}
"""Further names."""
