"""The node that the pieces of a tensor share: one, with an output for each piece, as in PyTorch.

x --> split --> Output 0 --> ...        backward joins what arrives at the outputs, with zeros
           `--> Output 1 --> ...        for a piece that nothing arrives at
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli.engine.grad_mode import current, mode
from gradcli.engine.graph.node import Cotangents, Extra, Node, Part, keeps_result, more
from gradcli.engine.record.composite import one_of_several
from gradcli.engine.tensor.tensor import Plain, Tensor, own_meta, wrap
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS


class Pieces(Node):
    """What ``split`` and ``unbind`` leave in the graph."""

    __slots__ = ("axis", "join", "outputs", "ports")
    op = OPERATORS["getitem"]
    only = 0

    def __init__(self, source: Tensor, pieces: Sequence[Tensor], axis: int, join: str) -> None:
        super().__init__((source.edge,), source.dtype)
        self.axis, self.join = axis, join
        self.outputs = [(piece.array.shape, piece.dtype) for piece in pieces]
        self.ports: dict[int, Any] = {}

    @staticmethod
    def pull(node: Pieces, g: Cotangents) -> Any:
        """The cotangents of all pieces, joined."""
        recorded = any(isinstance(part, Tensor) for part in g.parts)
        parts = [
            _nothing(node, shape, recorded) if part is None else part
            for part, (shape, _) in zip(g.parts, node.outputs, strict=True)
        ]
        charge_shape(node.edges[0].shape, node.dtype.itemsize)
        join = OPERATORS[node.join]
        return (join if recorded else join.compute)(*parts, dim=node.axis)

    @staticmethod
    def pull_recorded(node: Pieces, g: Cotangents, _wrap: Any) -> tuple[Any, ...]:
        """The same for a pass that is recorded."""
        return (Pieces.pull(node, g),)


def _nothing(node: Pieces, shape: tuple[Any, ...], recorded: bool) -> Any:
    zeros = np.zeros(shape, node.dtype.numpy)
    return wrap(zeros, node.dtype) if recorded else zeros


def together(
    pieces: Sequence[Any], source: Any, axis: int, join: str, name: str
) -> tuple[Any, ...]:
    """``pieces`` of ``source``, outputs of one node called ``name`` that joins their cotangents."""
    if current().grad and isinstance(source, Plain) and source.edge is not None:
        node = Pieces(source, pieces, axis, join)
        more(node).params["called"] = name
        for i, piece in enumerate(pieces):
            piece.edge = node.port(i)
    if mode.rebinds:  # NumPy's rows may be written to
        return tuple(pieces)
    return tuple(one_of_several(piece, name) for piece in pieces)


class Joint(Node):
    """The node of a function of several results, each of which operators of its own made.

    What looks at it, a hook of the node, sees the cotangents of all of them.
    """

    __slots__ = ("outputs", "ports")
    op = Part("joint", "joint")

    def __init__(self, results: Sequence[Tensor], name: str, sources: Sequence[Any]) -> None:
        edges = tuple([None if s is None else s.edge for s in sources])
        extra = Extra({"called": name, "called_on": edges})
        super().__init__(tuple(r.edge for r in results), results[0].dtype, extra=extra)
        self.outputs = [(r.array.shape, r.dtype) for r in results]
        self.ports: dict[int, Any] = {}

    @staticmethod
    def pull(node: Joint, g: Cotangents) -> tuple[Any, ...]:
        """Each result's cotangent goes where it was made."""
        return tuple(g.parts)


def joined(name: str, results: Iterable[Any], *sources: Any) -> tuple[Any, ...]:
    """``results`` of ``sources`` as outputs of one node called ``name``."""
    results = tuple(results)
    recorded = any(isinstance(r, Plain) and r.edge is not None and not r.edge.leaf for r in results)
    if not recorded:
        for r in results:  # parts of one array, which nothing goes on to read
            if isinstance(r, Plain) and r.meta is not None and r.meta.base is None:
                r.meta = own_meta()
    if not recorded or not all(isinstance(r, Plain) for r in results):
        return results
    node = Joint(results, name, sources)
    for i, result in enumerate(results):
        if result.edge is not None and keeps_result(result.edge):
            result._meta()  # shown to the operator's node, which is to see writes to the result
        result.edge = node.port(i)
    return results
