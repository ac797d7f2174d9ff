"""``x.data`` and ``x.detach_()`` inside nested transforms: out of the innermost one's graph alone.

    grad(lambda x: grad(lambda x: (x.data * x).sum())(x).sum())(a)

The inner gradient takes x.data for a constant, the outer one differentiates through it. Both are
passes over one graph, so that a node there stops the inner pass and lets the outer one through.
"""

from __future__ import annotations

from typing import Any

from gradcli.engine.grad_mode import Transform, mode, transformed
from gradcli.engine.graph.node import Node, Part
from gradcli.engine.graph.own_passes import ends_of, is_inside, leads_inside, made_by, passes_by


class LevelDetach(Node):
    """A value that in the passes of ``transform``, which differentiates by ``ends``, is another
    one, ``own``, or a constant."""

    __slots__ = ("ends", "since")
    op = Part("level_detach", "level_detach")

    def __init__(
        self, edge: Node | None, ends: frozenset[Any], transform: Transform, own: Node | None = None
    ) -> None:
        first: Any = edge or own
        super().__init__((edge, own), first.dtype, first.shape)
        self.ends, self.since = ends, transform.since

    def name(self) -> str:
        """It has no name in PyTorch, where levels are objects around one another."""
        return "LevelDetachBackward0"

    @staticmethod
    def pull(node: LevelDetach, g: Any) -> tuple[Any, ...]:
        """The cotangent, to the first in the passes of the transforms around."""
        return (None, g) if passes_by(node.since, node.ends) else (g, None)


def detached(edge: Node | None, argument: Any = None) -> Node | None:
    """The edge of a value that leaves the innermost graph: None where there is no other one.

    A value of no transform, or of one around the innermost, leaves the graph of its own; an
    ``argument`` is a value of the innermost that was given it.
    """
    if edge is None or not transformed.by or (transform := made_by(edge, argument)) is None:
        return None
    if not is_inside(transform, edge):
        return edge
    ends, around = ends_of(transform, edge)
    if not around:
        return None
    mode.watching = True  # a pass is known to its nodes
    return LevelDetach(edge, ends, transform)


def within(edge: Node | None, transform: Any) -> Node | None:
    """``detached``, but of a value of this transform alone; others stay as they are."""
    return detached(edge) if edge is not None and made_by(edge) is transform else edge


def following(own: Node | None, edge: Node | None) -> Node | None:
    """The edge of a value with the edge ``own`` to whose data one with the other edge was written.

    For the innermost transform it is what it was, for those around what was written.
    """
    if detached(own) is detached(edge) is None:  # there is no graph around
        return own
    transform: Any = made_by(None)
    ends = frozenset().union(*(ends_of(transform, e)[0] for e in (own, edge) if e))
    return LevelDetach(edge, ends, transform, own)


def recorded_inside(level: int, edge: Node | None) -> bool:
    """Whether the graph of a value with this edge is one that is made inside of ``level``.

    The value that PyTorch has there is around the one of the level, whose own graph is not to be
    seen. True where no transform that is running has this level.
    """
    if edge is None:
        return True
    by = transformed.by[::-1]
    inside = next((i for i, t in enumerate(by, 1) if t.level == level), None)
    return inside is None or any(leads_inside(t, edge) for t in by[:inside] if t.since is not None)
