"""What happens to a cotangent besides the rule: hooks, kept gradients, arrival at a leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.graph.node import AccumulateGrad, Cotangents, Node, sharing
from gradcli.engine.record.composite import called
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.engine.undo_log import note_write, undo
from gradcli.ops.errors import RuntimeFault, TypeFault
from gradcli.ops.operator import OPERATORS


def _as_tensor(g: Any, node: Node) -> Tensor:
    return g if isinstance(g, Tensor) else wrap(g, dtypes.dtype_of(g))


def arriving(node: Node, g: Any, recorded: bool) -> Any:
    """Tensor hooks: they see a gradient wherever it arrives, whether the node runs or not."""
    for hook in list((node.extra.hooks or {}).values()):
        g = _replaced(hook(_as_tensor(g, node)), g, node, recorded, hook)
    return g


def before(node: Node, g: Any, recorded: bool) -> Any:
    """Node pre-hooks, then the kept gradient: PyTorch's order."""
    extra = node.extra
    for hook in list((extra.pre_hooks or {}).values()):
        result = hook(_shown(g, node))
        if result is not None:
            g = _replaced_all(result, g, node, recorded)
    return g


def keep(node: Node, g: Any) -> None:
    """Store what ``retain_grad()`` asked for."""
    kept = node.extra.kept
    if kept is not None:
        found = _as_tensor(g, node)
        exchange_grad(kept, lambda have: found if have is None else have + found)


def after(node: Node, pulled: tuple[Any, ...], g: Any, recorded: bool) -> tuple[Any, ...]:
    """The cotangents ``pulled`` by a node, as its post-hooks leave them: each may replace them."""
    given = tuple(
        None if r is None or e is None else _as_tensor(r, e)
        for r, e in zip(pulled, node.edges, strict=True)
    )
    for hook in list(node.extra.post_hooks.values()):
        result = hook(given, _shown(g, node))
        if result is not None:
            given = result if isinstance(result, tuple) else (result,)
    return tuple(t if t is None or recorded else t.array for t in given)


def _shown(g: Any, node: Node) -> tuple[Any, ...]:
    """The cotangents of all outputs, as hooks see them."""
    if g.__class__ is not Cotangents:
        return (_as_tensor(g, node),)
    return tuple(None if part is None else _as_tensor(part, node) for part in g.parts)


def _replaced_all(result: Any, g: Any, node: Node, recorded: bool) -> Any:
    """What a node's pre-hook gave back, for one output or for several."""
    if g.__class__ is not Cotangents:
        return _replaced(result[0] if isinstance(result, tuple) else result, g, node, recorded)
    return Cotangents([t if t is None or recorded else t.array for t in result])


def _replaced(result: Any, g: Any, node: Node, recorded: bool, hook: Any = None) -> Any:
    if result is None:
        return g
    if not isinstance(result, Tensor):
        raise TypeFault(
            "E0407",
            f"a hook must return a Tensor or None, got {type(result).__name__}",
            help="return the new gradient, or nothing",
            torch=f"expected Variable, but hook returned {type(result).__name__!r}",
        )
    if result.array.shape != node.shape:
        raise RuntimeFault(
            "E0407",
            f"a hook returned shape {tuple(result.array.shape)} for a gradient of shape "
            f"{tuple(node.shape)}",
            torch=f"hook {getattr(hook, '__name__', 'hook')!r} has changed the size of value",
        )
    return result if recorded else result.array


def arrive_at_leaf(
    leaf: AccumulateGrad, total: Any, recorded: bool, wanted: dict[Any, Any] | None
) -> None:
    """The whole gradient of a leaf is there: its hooks, then where it goes."""
    if leaf.extra is not None and leaf.extra.hooks:
        total = arriving(leaf, total, recorded)
    if wanted is not None:
        wanted[leaf] = total
    else:
        deliver(leaf, total, recorded)


def deliver(leaf: AccumulateGrad, total: Any, recorded: bool) -> None:
    """Add a gradient to a leaf's, with the hooks around that."""
    extra = leaf.extra
    if extra is not None and extra.pre_hooks:
        total = before(leaf, total, recorded)
    accumulate(leaf, total, recorded)
    if extra is None:
        return
    for hook in list((extra.post_hooks or {}).values()):
        hook(leaf.variable)
    for hook in list((extra.node_hooks or {}).values()):
        hook((), _shown(total, leaf))


def exchange_grad(owner: Any, change: Callable[[Any], Any]) -> None:
    """``owner.grad`` becomes ``change`` of it, also where other threads do the same.

    What records runs without the lock: hooks of the user's may be called there.
    """
    while True:
        have = owner.grad
        version = None if have is None else have._meta().version
        then = version and version.number
        new = change(have)
        with sharing:
            if owner.grad is have and (version is None or version.number == then):
                owner.grad = new
                return


def accumulate(leaf: Any, total: Any, recorded: bool) -> None:
    """Store or add. The buffer is the leaf's own, so what may alias another value is copied."""
    if recorded:
        # A gradient of its own, as in PyTorch: what is done to x.grad is not done to the graph.
        exchange_grad(
            leaf,
            lambda have: (
                called(OPERATORS["clone"](total), "CopyBackwards") if have is None else have + total
            ),
        )
        return
    with sharing:
        have = leaf.grad
        if have is None:
            if not isinstance(total, np.generic):
                total = total.copy()
            leaf.grad = wrap(total, leaf.dtype)
        elif isinstance(have.array, np.ndarray):
            if undo.on:
                note_write(have.array)
            have.array += total
            if have.meta is not None:
                have.meta.version.bump()
        else:
            have.array = have.array + total
