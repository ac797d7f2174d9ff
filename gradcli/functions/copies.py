"""Views under PyTorch's names of what they are when copied: ``permute_copy`` and its like.

A copy has memory of its own: writing to it does not show in the tensor that it was taken from.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradcli.engine.record.fast_path import FUNCTIONS as O
from gradcli.functions import arithmetic, indexing, reshaping, scatter, strided


def _copied(function: Callable) -> Callable:
    """``function``, a view of its first argument, or several, copied."""
    name = function.__name__.strip("_")

    @functools.wraps(function)
    def copied(input: Any, *args: Any, **options: Any) -> Any:
        found = function(input, *args, **options)
        return tuple(map(O["clone"], found)) if isinstance(found, tuple) else O["clone"](found)

    copied.__name__ = copied.__qualname__ = f"{name}_copy"
    copied.__doc__ = f"What ``{name}`` gives, in memory of its own."
    return copied


def _alias(input: Any) -> Any:
    return input


def _detach(input: Any) -> Any:
    return input.detach()


def _view(input: Any, size: Any) -> Any:
    return O["reshape"](input, size if isinstance(size, int) else tuple(size))


def _expand(input: Any, size: Any, *, implicit: bool = False) -> Any:
    return O["expand"](input, tuple(size))


def _slice(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return indexing._along(input, dim, slice(start, end, step))


alias_copy = _copied(_alias)
as_strided_copy = _copied(strided.as_strided)
detach_copy = _copied(_detach)
diagonal_copy = _copied(scatter.diagonal)
expand_copy = _copied(_expand)
narrow_copy = _copied(indexing.narrow)
permute_copy = _copied(reshaping.permute)
select_copy = _copied(indexing.select)
slice_copy = _copied(_slice)
split_copy = _copied(reshaping.split)
split_with_sizes_copy = _copied(reshaping.split_with_sizes)
squeeze_copy = _copied(O["squeeze"])
t_copy = _copied(reshaping.t)
transpose_copy = _copied(reshaping.transpose)
unbind_copy = _copied(reshaping.unbind)
unfold_copy = _copied(scatter.unfold)
unsqueeze_copy = _copied(O["unsqueeze"])
view_copy = _copied(_view)
view_as_complex_copy = _copied(scatter.view_as_complex)
view_as_real_copy = _copied(arithmetic.view_as_real)
