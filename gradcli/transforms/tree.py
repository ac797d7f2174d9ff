"""Nested collections of values, as arguments and results of transformed functions."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from gradcli.engine.named_tuples import Results
from gradcli.ops.errors import ValueFault

_DEPTH = 64
_MADE_WITH = {defaultdict: "default_factory", deque: "maxlen"}


def is_tree(value: Any) -> bool:
    """Whether a value has parts: a tuple, with or without names for its places, a list, a dict."""
    kind = value.__class__
    return kind in (tuple, list, dict, OrderedDict, *_MADE_WITH) or (
        isinstance(value, tuple) and (isinstance(value, Results) or hasattr(kind, "_fields"))
    )


def parts_of(tree: Any) -> list:
    """The parts of a tree in order; of a dict its values."""
    return list(tree.values()) if isinstance(tree, dict) else list(tree)


def flatten(tree: Any, depth: int = 0) -> tuple[list, Any]:
    """The leaves of ``tree`` in order, and its shape for ``unflatten``; a dict in order of keys."""
    if depth > _DEPTH:
        raise ValueFault("E0303", f"values are nested in more than {_DEPTH} lists or dicts")
    if not is_tree(tree):
        return [tree], None
    names = list(tree) if isinstance(tree, dict) else None
    leaves, shapes = [], []
    for part in parts_of(tree):
        found, shape = flatten(part, depth + 1)
        leaves += found
        shapes.append((shape, len(found)))
    kind = tree.__class__
    own = {_MADE_WITH[kind]: getattr(tree, _MADE_WITH[kind])} if kind in _MADE_WITH else {}
    return leaves, (kind, own, names, shapes)


def unflatten(leaves: list, shape: Any) -> Any:
    """The tree of ``shape`` with ``leaves`` in it."""
    if shape is None:
        return leaves[0]
    kind, own, names, shapes = shape
    parts, start = [], 0
    for inner, count in shapes:
        parts.append(unflatten(leaves[start : start + count], inner))
        start += count
    if names is not None:
        return kind(*own.values(), zip(names, parts, strict=True))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts, **own)


def over(function: Callable[[Any], Any], tree: Any) -> Any:
    """``tree`` with ``function`` of each leaf in its place."""
    leaves, shape = flatten(tree)
    return unflatten([function(leaf) for leaf in leaves], shape)
