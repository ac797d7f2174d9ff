"""Whose pass it is: nested transforms share one graph, and what a function does to the gradients of
its own values is for the passes of its own transform."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from gradcli.engine.grad_mode import Transform, mode, transformed

ENDED: Any = weakref.WeakKeyDictionary()
"""The leaves of reverse transforms that have ended, in graphs that live on: when they did, as the
sequence number of a node. What is computed later from values that leaked is a constant to them."""


def made_by(edge: Any, argument: Any = None) -> Transform | None:
    """The innermost transform inside of which a value was computed, but for those that map, or of
    which it is an ``argument``.

    Of a value without an edge: the one that it would be computed in.
    """
    for t in reversed(transformed.by):
        if t.since is not None and (edge is None or is_inside(t, edge) or t.is_given(argument)):
            return t
    return None


def is_inside(transform: Transform, edge: Any) -> bool:
    """Whether a value was computed inside: by the thread of the transform, or from what it
    differentiates by. Other threads may record meanwhile what is no business of the function's."""
    if transform.since is None or edge.seq <= transform.since:
        return False
    return transform.made(edge) or leads_inside(transform, edge)


def ends_of(transform: Transform, edge: Any) -> tuple[frozenset[Any], bool]:
    """What a reverse transform differentiates by of what is behind ``edge``, and whether there is
    a leaf behind it that it does not differentiate by.

    Known of each node from then on, so that asking in every turn of a loop is no walk of the whole.
    """
    if transform.behind[0] != (leaves := leaves_of(transform)):
        transform.behind = leaves, weakref.WeakKeyDictionary()
    known: Any = transform.behind[1]
    work = [edge]
    while work:
        node = work[-1]
        behind = [e for e in node.edges if e is not None]
        if node not in known and (ahead := [e for e in behind if e not in known]):
            work += ahead
            continue
        work.pop()
        ends = {known[e][0] for e in behind} | ({frozenset((node,))} if node in leaves else set())
        around = (node.leaf and node not in leaves) or any(known[e][1] for e in behind)
        known[node] = ends.pop() if len(ends) == 1 else frozenset().union(*ends), around
    found: tuple[frozenset[Any], bool] = known[edge]
    return found


def own_edge(edge: Any, value: Any = None) -> Any:
    """``edge``, but None where the innermost transform that it was made in has no graph with it:
    what a function computes from values of the transforms around alone is a constant to it, and so
    is ``value`` itself as an argument that nothing is differentiated by, or its data."""
    if edge is None or not (transformed.by or ENDED.data):
        return edge
    data = getattr(getattr(value, "meta", None), "outer", None) is not None
    for t in transformed.by:
        known = t.since is not None and not is_inside(t, edge)
        if known and (data or any(value is a for a in t.arguments)):
            return None
    viewed = getattr(edge, "viewed", None)
    if edge.leaf and viewed is None:
        return edge
    transform = made_by(edge)
    if transform is None and not ENDED.data:
        return edge
    return edge if leads_inside(transform, edge) else None


def leads_inside(transform: Transform | None, edge: Any, leaves: Any = None) -> bool:
    """Whether ``edge`` leads to what a transform differentiates by, which had its places at
    ``leaves``, or to a leaf made inside; of none, to any leaf but those of transforms that had
    ended when it was recorded."""
    since: Any = -1 if transform is None else transform.since
    leaves = leaves or (set() if transform is None else leaves_of(transform))
    work, seen = [edge], set()
    while work:
        node = work.pop()
        if node is None or node in seen or node.seq <= since:
            continue
        viewed = getattr(node, "viewed", None)  # where nothing was recorded
        if viewed is not None:
            work.append(viewed)
            continue
        if node in leaves:
            return True
        own = not node.edges and (transform is None or transform.made(node))
        if own and ENDED.get(node, edge.seq) >= edge.seq:
            return True
        seen.add(node)
        # A LevelDetach of the transform lets its passes through to the second alone.
        work += node.edges[getattr(node, "since", None) == since :]
    return False


def is_around(edge: Any, roots: Iterable[Any]) -> bool:
    """Whether ``edge`` is that of a transform around those that all of ``roots`` were made in: in
    PyTorch's levels their graphs do not lead there."""
    if not transformed.by:
        return False
    return all(t is not None and not is_inside(t, edge) for t in map(made_by, roots))


def leaves_of(transform: Transform) -> set[Any]:
    """Where in the graph the values are, and were, that a reverse transform differentiates by."""
    since = transform.since
    if since is None or transform.level is not None:
        return transform.ends
    return {e for a in transform.arguments for e in _edges(a) if e.seq > since} | transform.ends


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


def passes_by(since: Any, ends: frozenset[Any], wanted: Any = None) -> bool:
    """Whether the pass under way, or one to ``wanted``, is of the transform that began ``since``:
    asked for by its function, or by one of ``ends``."""
    wanted = getattr(mode.passing, "wanted", set()) if wanted is None else wanted
    return any(t.since == since for t in transformed.by) or not ends.isdisjoint(wanted)


def in_own_passes(hook: Callable[..., Any], edge: Any) -> Callable[..., Any]:
    """``hook`` of a value or a node of a reverse transform, called in its own passes alone.

    Those of a transform around it go through the same graph, but never met the hook's tensor.
    """
    transform = made_by(edge) if transformed.by else None
    if transform is None:
        return hook
    since, (ends, _) = transform.since, ends_of(transform, edge)
    if not ends:
        return hook

    @functools.wraps(hook, assigned=())
    def own(*given: Any) -> Any:
        return hook(*given) if passes_by(since, ends) else None

    own.gradcli_passes = since, ends  # type: ignore[attr-defined]
    return own
