"""``x.data`` and ``x.detach_()`` inside nested transforms: out of the innermost one's graph alone.

    grad(lambda x: grad(lambda x: (x.data * x).sum())(x).sum())(a)

The inner gradient takes x.data for a constant, the outer one differentiates through it. Both are
passes over one graph, so that a node there stops the inner pass and lets the outer one through.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine.grad_mode import mode, transformed
from gradcli.engine.graph.node import EMPTY, Node, Part, next_number


class LevelDetach(Node):
    """A value outside the graph for whoever differentiates by one of ``ends``."""

    __slots__ = ("ends",)
    op = Part("level_detach", "level_detach")

    def __init__(self, edge: Node, ends: set[Any]) -> None:
        self.ends = ends
        self.edges = (edge,)
        self.saved = EMPTY
        self.seq = next_number()
        self.shape, self.dtype = edge.shape, edge.dtype
        self.extra = None

    def name(self) -> str:
        """It has no name in PyTorch, where levels are objects around one another."""
        return "LevelDetachBackward0"

    @staticmethod
    def pull(node: LevelDetach, g: Any) -> tuple[Any, ...]:
        """The cotangent, in the passes of the transforms around."""
        return (None if node.ends & getattr(mode.passing, "wanted", set()) else g,)


def level_of(edge: Node) -> tuple[set[Any], set[Any]]:
    """What the innermost reverse transform that ``edge`` belongs to differentiates by, and all
    nodes behind ``edge``."""
    behind, work = {edge}, [edge]
    while work:
        nodes = [e for e in work.pop().edges if e is not None and e not in behind]
        behind.update(nodes)
        work += nodes
    for transform in reversed(transformed.by):
        if transform.level is None:
            ends = {end for a in transform.arguments for end in _edges(a)} & behind
            if ends:
                return ends, behind
    return set(), behind


def _edges(value: Any) -> list[Any]:
    """The edges of the tensors of a value, which may be a tower of tangents and batches."""
    found, work = [], [value]
    while work:
        v = work.pop()
        parts = getattr(v, "components", None)
        if parts is not None:
            work += parts()
        elif getattr(v, "edge", None) is not None:
            found.append(v.edge)
    return found


def detached(edge: Node | None) -> LevelDetach | None:
    """The edge of a value that leaves the innermost graph: None where there is no other one."""
    if edge is None or not transformed.by:
        return None
    ends, behind = level_of(edge)
    if not ends or not any(n.leaf and n not in ends for n in behind):
        return None
    mode.watching = True  # a pass is known to its nodes
    return LevelDetach(edge, ends)
