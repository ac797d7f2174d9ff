"""``x.data`` and ``x.detach_()`` inside nested transforms: out of the innermost one's graph alone.

    grad(lambda x: grad(lambda x: (x.data * x).sum())(x).sum())(a)

The inner gradient takes x.data for a constant, the outer one differentiates through it. Both are
passes over one graph, so that a node there stops the inner pass and lets the outer one through.
"""

from __future__ import annotations

import itertools
from typing import Any

from gradcli.engine.grad_mode import Transform, mode, transformed
from gradcli.engine.graph.node import EMPTY, Node, Part, next_number
from gradcli.engine.graph.own_passes import ends_of, made_by, passes_by


class LevelDetach(Node):
    """A value that in the passes of ``transform``, which differentiates by ``ends``, is another
    one, ``own``, or a constant."""

    __slots__ = ("ends", "since")
    op = Part("level_detach", "level_detach")

    def __init__(
        self, edge: Node | None, ends: set[Any], transform: Transform, own: Node | None = None
    ) -> None:
        self.ends, self.since = ends, transform.since
        self.edges = (edge, own)
        self.saved = EMPTY
        self.seq = next_number()
        first: Any = edge or own
        self.shape, self.dtype = first.shape, first.dtype
        self.extra = None

    def name(self) -> str:
        """It has no name in PyTorch, where levels are objects around one another."""
        return "LevelDetachBackward0"

    @staticmethod
    def pull(node: LevelDetach, g: Any) -> tuple[Any, ...]:
        """The cotangent, to the first in the passes of the transforms around."""
        return (None, g) if passes_by(node.since, node.ends) else (g, None)


def detached(edge: Node | None) -> LevelDetach | None:
    """The edge of a value that leaves the innermost graph: None where there is no other one.

    A value of no transform, or of one around the innermost, leaves the graph of its own.
    """
    if edge is None or not transformed.by or (transform := made_by(edge)) is None:
        return None
    ends, behind = ends_of(transform, edge)
    if not any(n.leaf and n not in ends for n in behind):
        return None
    mode.watching = True  # a pass is known to its nodes
    return LevelDetach(edge, ends, transform)


def within(edge: Node | None) -> Node | None:
    """``detached``, but of a value of the innermost transform alone; others stay as they are."""
    return detached(edge) if edge is not None and made_by(edge) is made_by(None) else edge


def following(own: Node | None, edge: Node | None) -> Node | None:
    """The edge of a value with the edge ``own`` to whose data one with the other edge was written.

    For the innermost transform it is what it was, for those around what was written.
    """
    if detached(own) is detached(edge) is None:  # there is no graph around
        return own
    transform: Any = made_by(None)
    ends = set().union(*(ends_of(transform, e)[0] for e in (own, edge) if e))
    return LevelDetach(edge, ends, transform, own)


def recorded_inside(level: int, edge: Node | None) -> bool:
    """Whether the graph of a value with this edge is one that is made inside of ``level``.

    The value that PyTorch has there is around the one of the level, whose own graph is not to be
    seen. True where no transform that is running has this level.
    """
    if edge is None:
        return True
    inner = itertools.takewhile(lambda t: t.level != level, reversed(transformed.by))
    within = list(inner)
    return len(within) == len(transformed.by) or any(
        _inside(t, edge) for t in within if t.since is not None and t.level is None
    )


def _inside(transform: Transform, edge: Node) -> bool:
    """Whether a graph leads to what a transform differentiates by, or to a leaf made inside."""
    ends, behind = ends_of(transform, edge)
    return bool(ends) or any(
        n.leaf and n.seq > transform.since and not (n.extra and "finished" in n.extra.params)
        for n in behind
    )
