"""Nested tuples, lists and dicts of values, as arguments and results of transformed functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.ops.errors import ValueFault

_DEPTH = 64


def flatten(tree: Any, depth: int = 0) -> tuple[list, Any]:
    """The leaves of ``tree`` in order, and its shape for ``unflatten``; a dict in order of keys."""
    if depth > _DEPTH:
        raise ValueFault("E0303", f"values are nested in more than {_DEPTH} lists or dicts")
    if tree.__class__ not in (tuple, list, dict):
        return [tree], None
    keys = list(tree) if isinstance(tree, dict) else None
    leaves, shapes = [], []
    for part in tree.values() if isinstance(tree, dict) else tree:
        found, shape = flatten(part, depth + 1)
        leaves += found
        shapes.append((shape, len(found)))
    return leaves, (tree.__class__, keys, shapes)


def unflatten(leaves: list, shape: Any) -> Any:
    """The tree of ``shape`` with ``leaves`` in it."""
    if shape is None:
        return leaves[0]
    kind, keys, shapes = shape
    parts, start = [], 0
    for inner, count in shapes:
        parts.append(unflatten(leaves[start : start + count], inner))
        start += count
    return dict(zip(keys, parts, strict=True)) if kind is dict else kind(parts)


def over(function: Callable[[Any], Any], tree: Any) -> Any:
    """``tree`` with ``function`` of each leaf in its place."""
    leaves, shape = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], shape)
