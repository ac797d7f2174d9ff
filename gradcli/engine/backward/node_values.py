"""Values of the nodes of a graph, as far as they can be known.

A graph keeps what backward needs and no more. A node's value is known where the caller gives it or
the program named its tensor, where the node saved its own result or a user of it saved its input;
the rest is computed again from what is known. A value that was overwritten since is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcli.engine.graph.node import AccumulateGrad, Node, verify
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.errors import Fault


def raw(value: Any) -> Any:
    """The array of a Tensor; anything else as it is."""
    return value.array if isinstance(value, Tensor) else value


def constant(node: Node, place: int) -> Any:
    """An input that no gradient flows to, where the node kept it (see ``mode.annotate``)."""
    saved = _saved(node)
    kept = raw(saved[place]) if place < len(saved) - 1 else None
    if kept is None and node.extra is not None:
        return node.extra.params.get("constants", {}).get(place)
    return kept


def _saved(node: Node) -> tuple[Any, ...]:
    """What a node keeps for backward, its own result last; empty once it was let go of."""
    return node.saved if isinstance(node.saved, tuple) else ()


def values_of(order: list[Node], tensors: Mapping[Node, Tensor]) -> dict[Any, Any]:
    """Values by node: named, saved by a user of the node or by itself, or computed again."""
    known: dict[Any, Any] = {}
    for node in order:
        owner = tensors.get(node)
        if owner is None and node.__class__ is AccumulateGrad:
            owner = node.variable
        if owner is not None:
            known[node] = owner.array
        elif (own := _saved(node)[-1:]) and own[0] is not None and _unchanged(node, -1):
            known[node] = own[0]
    for node in order:
        for place, (edge, kept) in enumerate(zip(node.edges, _saved(node)[:-1], strict=False)):
            if edge is None or edge in known:
                continue
            if isinstance(kept, Tensor) and kept.edge is edge and _unchanged(node, place):
                known[edge] = kept.array
    for node in order:
        if node not in known and node.edges:
            value = _again(node, known)
            if value is not None:
                known[node] = value
    return known


def _unchanged(node: Node, place: int) -> bool:
    """Whether a saved value is still what it was when it was saved."""
    if place == -1:
        value = node.extra.out_meta if node.extra is not None else None
        if value is None:
            return True
    else:
        value = node.saved[place]
        if value.meta is None:
            return True
    try:
        verify(node, place, value)
    except Fault:
        return False
    return True


def _again(node: Node, known: Mapping[Node, Any]) -> Any:
    """The value of a node from its inputs' values, where all of them are there."""
    inputs = []
    for place, edge in enumerate(node.edges):
        value = constant(node, place) if edge is None else known.get(edge)
        if value is None:
            return None
        inputs.append(value)
    op = node.op
    params = dict(op.params)
    if node.extra is not None:
        params.update((k, v) for k, v in node.extra.params.items() if k in params)
    try:
        with np.errstate(all="ignore"):
            value = op.compute(*inputs, **params)
    except Exception:  # whatever it is: a value that cannot be shown, not an error of the user's
        return None
    return value if np.shape(value) == tuple(node.shape) else None
