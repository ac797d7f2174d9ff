"""Views under PyTorch's names of what they are when copied: ``permute_copy`` and its like.

A copy has memory of its own: writing to it does not show in the tensor that it was taken from.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.engine.dtypes import contiguous_format
from gradcli.engine.graph.torch_names import shown_name
from gradcli.engine.record.composite import called, named
from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.engine.record.multi_output import joined
from gradcli.engine.record.out import may_be
from gradcli.functions import arithmetic, indexing, reshaping, scatter, strided
from gradcli.ops.errors import bad_value

_SHOWN = {"alias": "AliasBackward0_copy", "narrow": "NarrowCopyBackward0"}


def _copied(function: Callable) -> Callable:
    """``function``, a view of its first argument, or several, copied."""
    name = function.__name__.strip("_")

    @functools.wraps(function)
    def copied(input: Any, *args: Any, **options: Any) -> Any:
        found = function(input, *args, **options)
        several = isinstance(found, tuple)
        views = found if several else (found,)
        copies = [O["clone"](view, contiguous_format) for view in views]
        edge = getattr(views[0], "edge", None) if views else None
        shown = "" if edge is None else _SHOWN.get(name) or f"{shown_name(edge)}_copy"
        if several:
            return joined(shown, copies, input)
        return called(copies[0], shown, input) if shown else copies[0]

    copied.__dict__.pop("operator", None)  # which is a view, and has no out
    may_be("same", copied)
    return named(copied, f"{name}_copy", f"What ``{name}`` gives, in memory of its own.")


def _alias(input: Any) -> Any:
    return input


def _detach(input: Any) -> Any:
    return input.detach()


def _view(input: Any, size: Any) -> Any:
    return O["reshape"](input, size if isinstance(size, int) else tuple(size))


def _expand(input: Any, size: Any, *, implicit: bool = False) -> Any:
    return O["expand"](input, tuple(size))


def _slice(
    input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    if step < 1:
        raise bad_value("slice step must be positive")
    return indexing._along(input, dim, slice(start, end, step))


for _function in (
    _alias, _detach, _view, _expand, _slice, O["squeeze"], arithmetic.view_as_real, indexing.narrow,
    indexing.select, reshaping.permute, reshaping.split, reshaping.split_with_sizes, reshaping.t,
    reshaping.transpose, reshaping.unbind, reshaping.unsqueeze, scatter.diagonal, scatter.unfold,
    scatter.view_as_complex, strided.as_strided,
):  # fmt: skip
    _copy = _copied(_function)
    globals()[_copy.__name__] = _copy
