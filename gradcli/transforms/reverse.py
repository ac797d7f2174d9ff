"""Reverse-mode transforms of functions: grad, vjp, jacobian, hessian, hvp.

Functions take and give Tensors, or what stands for them in an enclosing transform: tangents and
batches. Each transform makes its own leaves, so the caller's tensors are neither changed nor left
with a gradient; the result is recorded where an enclosing transform, or the caller, will
differentiate it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli import engine
from gradcli.engine import Tensor
from gradcli.engine.backward.traverse import collect
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.dtypes import get_default_dtype
from gradcli.engine.grad_mode import enable_grad, mode
from gradcli.engine.graph.node import AccumulateGrad
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.memory_budget import charge_shape, step
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.batched import Batched
from gradcli.transforms.forward import Dual
from gradcli.transforms.tracer import as_value
from gradcli.transforms.vmap import active

# ---- Towers: a Tensor at the bottom, batches and tangents of enclosing transforms around it ------


def bottom(value: Any) -> Tensor:
    """The Tensor inside tangents and batches."""
    while value.__class__ is not Tensor:
        value = value.primal if value.__class__ is Dual else value.value
    return value


def rebuilt(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same tower around a changed Tensor."""
    if value.__class__ is Dual:
        return Dual(rebuilt(value.primal, change), value.tangent, value.__gradcli_rank__)
    if value.__class__ is Batched:
        return Batched(rebuilt(value.value, change), value.__gradcli_rank__)
    return change(value)


def detached(value: Any) -> Any:
    """The tower with every Tensor in it outside the graph."""
    if value.__class__ is Dual:
        tangent = None if value.tangent is None else detached(value.tangent)
        return Dual(detached(value.primal), tangent, value.__gradcli_rank__)
    if value.__class__ is Batched:
        return Batched(detached(value.value), value.__gradcli_rank__)
    return value.detach() if isinstance(value, Tensor) else value


def lifted(value: Any, running: Sequence[tuple[int, int]]) -> Any:
    """``value`` as a batch at every running vmap: each element has a gradient of its own."""
    if not running:
        return value
    level, count = running[-1]
    rank = getattr(value, "__gradcli_rank__", 1)
    if rank > level:
        if value.__class__ is Dual:
            return Dual(lifted(value.primal, running), value.tangent, rank)
        return Batched(lifted(value.value, running), rank)
    if rank == level:
        return Batched(lifted(value.value, running[:-1]), level)
    inner = lifted(value, running[:-1])
    return Batched(OPERATORS["expand"](inner, (count, *inner.shape)), level)


def leaf_of(value: Any, link: bool = True) -> Any:
    """A value to differentiate by: in the caller's graph still (``link``), where it was in one."""

    def leaf(t: Tensor) -> Tensor:
        if not t.dtype.differentiable:
            t = t.to(get_default_dtype())
        if link and t.edge is not None:
            return OPERATORS["clone"](t)
        return t.detach().requires_grad_()

    return rebuilt(lifted(as_value(value), active()), leaf)


def tensors_of(value: Any) -> list[Tensor]:
    """Every Tensor of a tower, tangents included."""
    found, stack = [], [value]
    while stack:
        v = stack.pop()
        if v.__class__ is Dual:
            stack += [v.primal] if v.tangent is None else [v.primal, v.tangent]
        elif v.__class__ is Batched:
            stack.append(v.value)
        elif isinstance(v, Tensor):
            found.append(v)
    return found


def reaches_further(outputs: Sequence[Any], leaves: Sequence[Any]) -> bool:
    """Whether anyone but this transform can differentiate by something behind ``outputs``."""
    own = {bottom(leaf).edge for leaf in leaves}
    if any(edge.__class__ is not AccumulateGrad for edge in own):
        return True
    edges = [t.edge for out in outputs for t in tensors_of(out) if t.edge is not None]
    return any(n.__class__ is AccumulateGrad and n not in own for n in collect(edges))


def _batches(leaves: Sequence[Any]) -> set[int]:
    """The levels of the batches around leaves."""
    found = set()
    for leaf in leaves[:1]:  # all are lifted to the same levels
        while leaf.__class__ is not Tensor:
            if leaf.__class__ is Batched:
                found.add(leaf.__gradcli_rank__)
            leaf = leaf.primal if leaf.__class__ is Dual else leaf.value
    return found


def pull_back(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool,
    passed: frozenset[int] = frozenset(),
) -> list:  # fmt: skip
    """Cotangents of ``outputs`` to cotangents of ``leaves``, a level of the towers at a time.

    A tangent of the pulled-back value is the pull-back of the outputs' tangents, the primals'
    cotangents held, and that of the primals along the cotangents' own tangents.
    """
    ranks = [getattr(o, "__gradcli_rank__", 0) for o in (*outputs, *cotangents)]
    around = _batches(leaves) - passed
    top = max([0, *ranks, *around])
    if top <= 1:
        return _pulled(outputs, leaves, cotangents, create_graph)
    if top in around and top not in ranks:
        # What does not differ along a batch of the leaves does not depend on them.
        found = pull_back([], leaves, [], create_graph, passed | {top})
        return [Batched(g, top) for g in found]
    at_top = [getattr(o, "__gradcli_rank__", 0) == top for o in outputs]
    sample = next(o for o in (*outputs, *cotangents) if getattr(o, "__gradcli_rank__", 0) == top)
    if sample.__class__ is Batched and not any(at_top) and top not in around:
        # Many cotangents of one value that this vmap has not made: its vjp for each.
        return _for_each(outputs, leaves, cotangents, create_graph, passed, top)
    if sample.__class__ is Batched:
        inner = [o.value if mine else o for o, mine in zip(outputs, at_top, strict=True)]
        weights = []
        for o, c, mine in zip(outputs, cotangents, at_top, strict=True):
            if getattr(c, "__gradcli_rank__", 0) == top:
                c = c.value
            elif mine:
                c = OPERATORS["ones_like"](o) if c is None else as_value(c)
                c = c.value if getattr(c, "__gradcli_rank__", 0) == top else OPERATORS["expand"](
                    c, (sample.count, *c.shape)
                )  # fmt: skip
            weights.append(c)
        found = pull_back(inner, leaves, weights, create_graph, passed | {top})
        return [Batched(g, top) for g in found]
    primals = [o.primal if mine else o for o, mine in zip(outputs, at_top, strict=True)]
    along = [o.tangent if mine else None for o, mine in zip(outputs, at_top, strict=True)]
    plain, turned = [], []
    for c in cotangents:
        dual = c.__class__ is Dual and c.__gradcli_rank__ == top
        plain.append(c.primal if dual else c)
        turned.append(c.tangent if dual else None)
    found = pull_back(primals, leaves, plain, create_graph, passed)
    moved = [(t, c) for t, c in zip(along, plain, strict=True) if t is not None]
    moved += [(p, t) for p, t in zip(primals, turned, strict=True) if t is not None]
    if not moved:
        return found
    pushed = pull_back([o for o, _ in moved], leaves, [c for _, c in moved], create_graph, passed)
    return [Dual(g, t, top) for g, t in zip(found, pushed, strict=True)]


def _for_each(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool,
    passed: frozenset[int], level: int,
) -> list:  # fmt: skip
    own = [getattr(c, "__gradcli_rank__", 0) == level for c in cotangents]
    count = next(c.count for c, mine in zip(cotangents, own, strict=True) if mine)
    rows = []
    for i in range(count):
        chosen = [c.value[i] if mine else c for c, mine in zip(cotangents, own, strict=True)]
        rows.append(pull_back(outputs, leaves, chosen, create_graph, passed))
    return [Batched(OPERATORS["stack"](*column), level) for column in zip(*rows, strict=True)]


def _pulled(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool
) -> list[Tensor]:
    pairs = [
        (o, c)
        for o, c in zip(outputs, cotangents, strict=True)
        if isinstance(o, Tensor) and o.edge is not None
    ]
    targets = [bottom(leaf) for leaf in leaves]
    if not pairs:
        return [OPERATORS["zeros_like"](t.detach()) for t in targets]
    with enable_grad():
        return list(
            engine.grad(
                [o for o, _ in pairs], targets, [c for _, c in pairs], retain_graph=True,
                create_graph=create_graph, allow_unused=True, materialize_grads=True,
            )
        )  # fmt: skip


# ---- Transforms of functions of tensors, as the command line calls them --------------------------


def value_and_vjp(
    function: Callable[..., Tensor], primals: Sequence[Any], create_graph: bool = False
) -> tuple[Tensor, list[Tensor], Callable[[Any], tuple[Tensor, ...]]]:
    """The value, the leaves it was computed from, and a function from cotangents to gradients."""
    leaves = [leaf_of(p, create_graph) for p in primals]
    with enable_grad():
        out = function(*leaves)
    out = as_value(out)

    def pull(cotangent: Any) -> tuple[Tensor, ...]:
        return tuple(pull_back([out], leaves, [cotangent], create_graph))

    return out, leaves, pull


def jacobian(function: Callable[..., Tensor], primals: Any, create_graph: bool = False) -> Any:
    """All partial derivatives: shape of the result + shape of the input, one per input.

    One backward pass per entry of the result. A tuple of inputs gives a tuple of Jacobians.
    """
    several = isinstance(primals, tuple | list)
    out, leaves, pull = value_and_vjp(function, primals if several else (primals,), create_graph)
    result = tuple(jacobians_of(out, leaves, pull))
    return result if several else result[0]


def jacobians_of(out: Any, leaves: Sequence[Any], pull: Callable[[Any], Sequence[Any]]) -> list:
    """The Jacobian of ``out`` by each leaf, a row for each entry of ``out``."""
    shape = tuple(out.shape)
    size = int(np.prod(shape, dtype=np.int64))
    for leaf in leaves:
        charge_shape((*shape, *leaf.shape), leaf.dtype.itemsize)
    rows: list[list] = [[] for _ in leaves]
    for i in range(size):
        step()
        seed = np.zeros(size, out.dtype.numpy)
        seed[i] = 1
        weights = engine.wrap(seed.reshape(shape)[()], out.dtype)
        for row, g in zip(rows, pull(weights), strict=True):
            row.append(g)
    return [_assembled(row, shape, leaf) for row, leaf in zip(rows, leaves, strict=True)]


def _assembled(row: list, shape: tuple, leaf: Any) -> Any:
    full = (*shape, *leaf.shape)
    if not row:
        return engine.wrap(np.zeros(full, leaf.dtype.numpy), leaf.dtype)
    return OPERATORS["reshape"](OPERATORS["stack"](*row), full)


def hessian(function: Callable[..., Tensor], primal: Any, create_graph: bool = False) -> Tensor:
    """The second derivatives of a scalar-valued function of one tensor: shape + shape."""

    def gradient(x: Any) -> Any:
        out, _, pull = value_and_vjp(function, (x,), True)
        scalar_only(out)
        return pull(None)[0]

    return jacobian(gradient, primal, create_graph)


def scalar_only(out: Any) -> None:
    """Raise RuntimeFault (E0403) unless ``out`` is a single number."""
    if tuple(out.shape) != ():
        raise RuntimeFault(
            "E0403",
            f"grad needs a scalar-valued function, this one gave shape {tuple(out.shape)}",
            help="reduce with sum(), or use jacobian",
            torch="grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got "
            f"tensor with {len(out.shape)} dims. Maybe you wanted to use the vjp or jacrev APIs "
            "instead?",
        )


def hvp(function: Callable[..., Tensor], primal: Any, vector: Any) -> tuple[Tensor, Tensor]:
    """The value and the Hessian times ``vector``, without forming it (reverse over reverse)."""
    out, leaves, _ = value_and_vjp(function, (primal,), create_graph=False)
    (g,) = pull_back([out], leaves, [None], True)
    (product,) = pull_back([g], leaves, [as_tensor(vector)], False)
    return out.detach(), product


def recording() -> bool:
    """Whether the caller records: only then may a transform's result have a graph."""
    return mode.grad
