"""What happens to a cotangent besides the rule: hooks, kept gradients, arrival at a leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.engine import dtypes
from gradcli.engine.grad_mode import mode, no_grad
from gradcli.engine.graph.node import AccumulateGrad, AtInputs, Cotangents, Node, sharing
from gradcli.engine.graph.torch_names import shown_edges
from gradcli.engine.record.composite import called
from gradcli.engine.record.cotangents import cast, fit
from gradcli.engine.record.inplace import dense, write_result
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.engine.undo_log import note_write, undo
from gradcli.ops.errors import RuntimeFault, TypeFault, UnwrittenFault, bad_shape
from gradcli.ops.memory_budget import charge_shape
from gradcli.ops.operator import OPERATORS


def _as_tensor(g: Any) -> Tensor | None:
    if g is None or isinstance(g, Tensor):
        return g
    return wrap(g if g.shape else g[()], dtypes.dtype_of(g))  # a number gets memory when written to


def arriving(node: Node, g: Any, recorded: bool) -> Any:
    """Tensor hooks, then kept gradients: both see what arrives, whether the node runs or not.

    Those of all outputs, with None for an output that nothing arrived at: PyTorch's order.
    """
    if node.ports is None:
        return seen(node, g, recorded)
    ports = [port for reference in node.ports.values() if (port := reference()) is not None]
    parts = list(g.parts)
    for port in sorted(ports, key=first_hook):
        if port.extra is not None:
            parts[port.number] = seen(port, parts[port.number], recorded)
    return Cotangents(parts)


def first_hook(port: Node) -> float:
    """The number of the hook that was registered first: those of several results run so."""
    hooks = None if port.extra is None else port.extra.hooks
    return min(hooks) if hooks else float("inf")


def seen(node: Node, g: Any, recorded: bool, whole: bool = False) -> Any:
    """What the hooks of one result make of its gradient; ``retain_grad`` keeps it.

    Hooks of a value of a transform are given its content's gradient, or with ``whole`` its own.
    """
    extra = node.extra
    if extra is None:
        return g
    for hook in list((extra.hooks or {}).values()):
        given = _as_tensor(g)
        call = getattr(hook, "gradcli_whole", hook) if whole else hook
        g = _replaced(call(given), given, given is not None and given.shape, recorded, hook)
    if extra.kept is not None and g is not None:
        # In memory of its own: what is done to it is not done to the gradient that goes on.
        found = OPERATORS["clone"](_as_tensor(g))
        if found.__class__ is Tensor and not found.array.flags.c_contiguous:
            found.array = found.array.copy()  # by rows, as in PyTorch
        exchange_grad(extra.kept, lambda have: found if have is None else have + found)
    return g


def before(node: Node, g: Any, recorded: bool) -> Any:
    """Node pre-hooks: they get the gradients of all outputs, and may replace them."""
    parts = list(g.parts) if g.__class__ is Cotangents else [g]
    for hook in list(node.extra.pre_hooks.values()):
        shapes = [node.shape] if node.ports is None else [o and o[0] for o in node.outputs]
        given = tuple(map(_as_tensor, parts))
        parts = _all_replaced(hook(given), given, shapes, recorded, hook)
    return Cotangents(parts) if g.__class__ is Cotangents else parts[0]


def after(
    node: Node, pulled: tuple[Any, ...], g: Any, recorded: bool, at_inputs: list[Any] | None
) -> tuple[Any, ...]:
    """The cotangents ``pulled`` by a node, as its post-hooks leave them: each may replace them.

    Of a function whose last operator this is hooks see those ``at_inputs``: what they replace
    comes back ``AtInputs``.
    """
    # Where a pass goes to some places alone, only a function of the user's computes the others.
    parts = fitted(node, pulled, frozenset(node.edges) if node.foreign else mode.passing)
    shapes = [
        r.shape if e is None and r is not None else e and e.shape
        for r, e in zip(parts, node.edges, strict=True)
    ]
    given, hooks = shown(g), list(node.extra.post_hooks.values())
    places, replaced = shown_places(node), False
    seen, seen_shapes = [[i if i is None else of[i] for i in places] for of in (parts, shapes)]
    if at_inputs is not None:
        seen, seen_shapes = at_inputs, [e and e.shape for e in shown_edges(node)]
    for hook in hooks:
        inputs = tuple(map(_as_tensor, seen))
        result = hook(inputs, given)
        replaced = (
            replaced or result is not None or any(t is not None and t._version for t in inputs)
        )
        seen = _all_replaced(result, inputs, seen_shapes, recorded, hook)
    if at_inputs is not None:
        return AtInputs(seen) if replaced else tuple(parts)
    for i, part in zip(places, seen, strict=True):
        if i is not None:
            parts[i] = part
    return tuple(parts)


def of_view(node: Node, g: Any, shape: tuple[int, ...], recorded: bool) -> Any:
    """The cotangent of a result that is in PyTorch a view of another one of ``shape``, as the
    post-hooks of that view leave it."""
    given, part = shown(g), g.reshape(shape)
    for hook in list(node.extra.post_hooks.values()):
        seen = (_as_tensor(part),)
        (part,) = _all_replaced(hook(seen, given), seen, [shape], recorded, hook)
    return None if part is None else part.reshape(node.shape)


def fitted(node: Node, pulled: Sequence[Any], on: Any) -> list[Any]:
    """What a node's rules gave, in the shapes and types of its inputs; of those ``on`` the way."""
    parts = []
    for r, e in zip(pulled, node.edges, strict=True):
        if e is not None and r is not None:
            r = None if e not in on else cast(r if r.shape == e.shape else fit(r, e.shape), e.dtype)
        parts.append(r)
    return parts


def shown_places(node: Node) -> list[int | None]:
    """The places in ``node.edges`` of what ``next_functions`` shows; None for more constants."""
    left, found = list(range(len(node.edges))), []
    if node.extra is not None and "turned" in node.extra.params:
        left.reverse()
    for edge in shown_edges(node):
        found.append(next((i for i in left if node.edges[i] is edge), None))
        left = [i for i in left if i != found[-1]]
    return found


def shown(g: Any) -> tuple[Tensor | None, ...]:
    """The cotangents of all outputs, as hooks see them."""
    return tuple(map(_as_tensor, g.parts if g.__class__ is Cotangents else (g,)))


def _all_replaced(
    result: Any, parts: Sequence[Tensor | None], shapes: list[Any], recorded: bool, hook: Any
) -> list[Any]:
    """``parts`` as a hook of a node replaces them, or has written to them."""
    if result is None:
        return [_passed_on(p, recorded) for p in parts]
    if not isinstance(result, tuple):
        raise TypeFault("E0407", f"expected tuple, but hook returned {type(result).__name__!r}")
    if len(result) != len(parts):
        raise RuntimeFault(
            "E0407",
            f"hook {_name(hook)!r} has returned an incorrect number of values (got {len(result)}, "
            f"but expected {len(parts)})",
        )
    places = zip(result, parts, shapes, strict=True)
    # A node's hook says with None that there is no gradient, a tensor's that it leaves it.
    return [None if r is None else _replaced(r, p, s, recorded, hook) for r, p, s in places]


def _name(hook: Any) -> str:
    return getattr(hook, "__name__", "hook")


def _replaced(result: Any, g: Tensor | None, shape: Any, recorded: bool, hook: Any) -> Any:
    if result is None:
        return _passed_on(g, recorded)
    if g is None:
        raise RuntimeFault("E0407", "can't replace a None gradient with a non-None value")
    if not isinstance(result, Tensor):
        said = f"a hook must return a Tensor or None, got {type(result).__name__}"
        told = f"expected Variable, but hook returned {type(result).__name__!r}"
        raise TypeFault("E0407", said, help="return the new gradient, or nothing", torch=told)
    if result.shape != shape:
        shapes = f"{tuple(result.shape)} for a gradient of shape {tuple(shape)}"
        words = f"hook {_name(hook)!r} has changed the size of value"
        raise RuntimeFault("E0407", f"a hook returned shape {shapes}", torch=words)
    if result.dtype is not g.dtype:
        kinds = [f"gradcli.{d.scalar_name}Tensor" for d in (g.dtype, result.dtype)]
        said = f"hook {_name(hook)!r} has changed the type of value (was {kinds[0]} got {kinds[1]})"
        raise RuntimeFault("E0407", said)
    return _passed_on(result, recorded)


def _passed_on(g: Any, recorded: bool) -> Any:
    """A gradient as the pass has it, after a hook."""
    if recorded or g is None:
        return g
    if g.__gradcli_rank__ > 1:
        said = "a hook returned a value of a transform for a gradient that is none"
        raise UnwrittenFault("E0412", said, help="compute with that value outside of the hook")
    return g.array


def arrive_at_leaf(
    leaf: AccumulateGrad, total: Any, recorded: bool, wanted: dict[Any, Any] | None
) -> None:
    """The whole gradient of a leaf is there, or None came: its hooks, then where it goes."""
    if mode.inspect is not None:
        mode.inspect.running = leaf
    if leaf.extra is not None:
        total = arriving(leaf, total, recorded)
    if wanted is not None:
        wanted[leaf] = total
    else:
        deliver(leaf, total, recorded)


def deliver(leaf: Any, total: Any, recorded: bool, alone: bool = False) -> None:
    """Add a gradient to a leaf's, with the hooks around that; ``alone`` without the node's."""
    extra = leaf.extra
    if extra is not None and extra.pre_hooks and not alone:
        total = before(leaf, total, recorded)
    first = leaf.grad is None and not recorded
    if total is not None:
        accumulate(leaf, total, recorded)
    if extra is None:
        return
    # A first gradient becomes the leaf's own: what is done to that, node hooks see, as in PyTorch.
    given = (leaf.grad.data,) if first and extra.node_hooks and total is not None else shown(total)
    for hook in list((extra.post_hooks or {}).values()):
        returned = hook(leaf.variable)
        if returned is not None and returned is not leaf.variable:  # p.add_(p.grad) gives p
            fault = RuntimeFault if isinstance(returned, Tensor) else TypeFault
            raise fault("E0407", "Tensor post accumulate grad hooks should return None.")
    for hook in [] if alone else list((extra.node_hooks or {}).values()):
        _all_replaced(hook((), given), (), [], recorded, hook)  # of no inputs: () at most


def exchange_grad(owner: Any, change: Callable[[Any], Any]) -> None:
    """``owner.grad`` becomes ``change`` of it, also where other threads do the same.

    What records runs without the lock: hooks of the user's may be called there.
    """
    while True:
        have = owner.grad
        version = have._meta().version if isinstance(have, Plain) else None
        then = version and version.number
        new = change(have)
        with sharing:
            if owner.grad is have and (version is None or version.number == then):
                owner.grad = new
                return


def receiver(leaf: Any) -> Any:
    """The leaf that stores what arrives at one: the tensor's own, which set_() makes another.

    Raises RuntimeFault (E0409) where it was turned off and then written to in the graph, (E0301)
    where it has been given another shape.
    """
    owner = leaf.variable
    if not leaf.extra.rested or owner is None:
        return leaf
    if not owner._is_leaf:
        said = "leaf variable has been moved into the graph interior"
        raise RuntimeFault("E0409", said, help="write to a clone() of what was detached")
    if owner.array.shape != leaf.shape:
        raise outgrown(leaf.shape, owner.shape)
    return leaf if owner.edge is None else owner.edge


def outgrown(then: Sequence[int], now: Sequence[int]) -> RuntimeFault:
    """The error of a gradient for a leaf that had another shape when it was used, or memory."""
    has = f"come to have {list(now)}" if then != now else "taken other memory by set_()"
    said = f"there is a gradient of shape {list(then)} for a leaf that has {has}"
    return bad_shape(said, help="compute again from the leaf as it is")


def accumulate(leaf: Any, total: Any, recorded: bool) -> None:
    """Store or add."""
    if not recorded:
        leaf.step(leaf, total)
        return
    if leaf.extra is not None:
        leaf = receiver(leaf)

    # A gradient of its own, as in PyTorch: what is done to x.grad is not done to the graph.
    def added(have: Any) -> Any:
        if have is not None:
            return have + total
        out = called(OPERATORS["clone"](total), "CopyBackwards", None, total)
        if out.__class__ is Tensor:
            out._meta().version.number = 1  # PyTorch writes to new memory
            if not (leaf.rows and out.array.flags.c_contiguous):
                out.array = _copied(out.array, leaf.owner())
        return out

    exchange_grad(leaf, added)


def _step(leaf: Any, total: Any, arrived: Any = None, gone: Any = None) -> None:
    """Store or add an array. The buffer is the leaf's own, so what may alias another is copied."""
    if leaf.extra is not None:
        leaf = receiver(leaf)
    with sharing:
        have = leaf.grad
        if have is None:
            if not isinstance(total, np.generic):
                charge_shape(total.shape, total.itemsize)
                total = total.copy() if leaf.rows else _copied(total, leaf.owner())
            leaf.grad = wrap(total, leaf.dtype or dtypes.dtype_of(total))
            return
        meta = have.meta
        if have.array.shape != total.shape or (
            meta is not None
            and (meta.views or meta.base is not None or meta.version.twins or meta.inference)
        ):
            with no_grad():  # memory of other tensors, which see it
                write_result(have, OPERATORS["add"], wrap(total, dtypes.dtype_of(total)))
            return
        if isinstance(have.array, np.ndarray):
            if undo.on:
                note_write(have.array)
            have.array += total
        else:
            have.array = have.array + total
        version = have._meta().version  # for what saved the gradient, and for exchange_grad
        version.number, version.place = version.number + 1, None  # of no line of the user's


def clear(leaf: Tensor, set_to_none: bool) -> None:
    """Forget a leaf's gradient, or write zeros to it, out of the graph."""
    have = leaf.grad
    if set_to_none or have is None:
        leaf.grad = None
    else:
        (have.requires_grad_(False) if have._is_leaf else have.detach_()).zero_()


def _copied(total: np.ndarray, leaf: Any) -> np.ndarray:
    """A copy that lies in memory as the leaf does, where that is dense."""
    like: Any = None if leaf is None else leaf.own_array()
    if like.__class__ is not np.ndarray or like.shape != total.shape or not dense(like):
        return total.copy()
    out = np.empty_like(like, total.dtype)
    out[...] = total
    return out


AccumulateGrad.step = staticmethod(_step)
