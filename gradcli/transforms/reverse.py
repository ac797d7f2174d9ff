"""Reverse-mode transforms of functions: grad, vjp, jacobian, hessian, hvp.

Functions take and give Tensors, or what stands for them in an enclosing transform: tangents and
batches. Each transform makes its own leaves, so the caller's tensors are neither changed nor left
with a gradient; the result is recorded where an enclosing transform, or the caller, will
differentiate it.
"""

from __future__ import annotations

import bisect
import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import gradcli.engine as engine
from gradcli.engine import Tensor
from gradcli.engine.backward.api import grad_of_all, grad_of_batches, no_graph, no_history, unused
from gradcli.engine.backward.gradient_edges import GradientEdge, edge_of
from gradcli.engine.backward.hooks import calls, plainly, tangent_lost
from gradcli.engine.backward.traverse import collect, only_towards
from gradcli.engine.creation.factories import as_tensor
from gradcli.engine.dtypes import get_default_dtype
from gradcli.engine.grad_mode import enable_grad, mode
from gradcli.engine.graph.node import AccumulateGrad, Freed, more, without_hooks
from gradcli.engine.graph.own_passes import is_around
from gradcli.engine.record.apply import record
from gradcli.engine.record.captures import captured
from gradcli.engine.tensor.conversion import no_array
from gradcli.engine.tensor.storage import ARGUMENT, Meta
from gradcli.engine.tensor.tensor import Plain
from gradcli.ops.errors import RuntimeFault
from gradcli.ops.memory_budget import charge_shape, step
from gradcli.ops.operator import OPERATORS
from gradcli.transforms.levels import Vmap, running
from gradcli.transforms.tracer import (
    Layer,
    as_value,
    bottom,
    lasting,
    operands_of,
    rank_of,
    tensors_of,
)
from gradcli.transforms.tree import over

# ---- What to differentiate by, inside tangents and batches of enclosing transforms ---------------


def rebuilt(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same tower around a changed Tensor."""
    if isinstance(value, Layer):
        return value.around(rebuilt(value.content, change))
    return change(value)


def detached(value: Any) -> Any:
    """The tower with every Tensor in it outside the graph."""
    if isinstance(value, Layer):
        return value.over(detached)
    return value.detach() if isinstance(value, Plain) else value


def lifted(value: Any, around: Sequence[Vmap]) -> Any:
    """``value`` as a batch at every vmap of ``around``: each element has a gradient of its own."""
    if not around:
        return value
    inner = around[-1]
    rank = getattr(value, "__gradcli_rank__", 1)
    if rank > inner.level:
        return value.around(lifted(value.content, around))
    if rank == inner.level:
        return value.around(lifted(value.content, around[:-1]))
    value = lifted(value, around[:-1])
    return inner.batched(OPERATORS["expand"](value, (inner.count, *value.shape)))


def batches_seen(function: Callable, values: Sequence[Any]) -> list[Vmap]:
    """The running vmaps that a function meets in ``values``, its arguments, or in what it captures.

    At these its leaves are lifted. A batch that it finds in another way is right too, but its
    gradients are taken one by one.
    """
    around = running.vmaps
    if not around:
        return around
    seen = {v.__gradcli_rank__ for t in (*values, *captured(function)) for v in operands_of(t)}
    return [vmap for vmap in around if vmap.level in seen]


def leaf_of(value: Any, link: bool = True, around: Sequence[Vmap] | None = None) -> Any:
    """A value to differentiate by: in the caller's graph still (``link``), where it was in one.

    As a leaf it cannot be written to in place. It is a batch at every vmap of ``around``, else of
    all that run.
    """

    def leaf(t: Tensor) -> Tensor:
        if not t.dtype.differentiable:
            t = t.to(get_default_dtype())
        if t.is_inference():
            t = OPERATORS["clone"](t)
        if link and t.edge is not None:
            argument = t._alias()
            record(OPERATORS["clone"], [t], {}, argument)
            argument.meta = Meta(t._meta().version)
            argument.meta.made = ARGUMENT
            return argument
        return t.detach()._require(True)

    return rebuilt(lifted(as_value(value), running.vmaps if around is None else around), leaf)


def own_tensor(value: Any) -> Any:
    """An argument that nothing is differentiated by: a write to it leaves no graph on the caller's.

    The memory is the caller's.
    """
    return value.detach() if value.__class__ is Tensor and value.edge is None else value


def end_at(leaf: Any, edge: Any) -> Any:
    """A leaf at the place in the graph that it had."""
    return leaf if bottom(leaf).edge is edge else rebuilt(leaf, lambda t: t._alias(edge))


def finished(leaf: Any) -> None:
    """Note that only the transform which made this leaf differentiates by it."""
    edge = bottom(leaf).edge
    if edge.__class__ is AccumulateGrad:
        more(edge).params["finished"] = True


def reaches_further(outputs: Sequence[Any], leaves: Sequence[Any]) -> bool:
    """Whether anyone but this transform can differentiate by something behind ``outputs``."""
    own = {bottom(leaf).edge for leaf in leaves}
    edges = [t.edge for out in outputs for t in tensors_of(out) if t.edge is not None]
    ends = [n for n in collect(edges) if n.__class__ is AccumulateGrad and n not in own]
    return any(n.extra is None or "finished" not in n.extra.params for n in ends)


def _batches(leaves: Sequence[Any]) -> dict[int, Any]:
    """The batches around leaves, by level."""
    found = {}
    for leaf in leaves[:1]:  # all are lifted to the same levels
        while isinstance(leaf, Layer):
            if leaf.batch:
                found[leaf.__gradcli_rank__] = leaf
            leaf = leaf.content
    return found


def pull_back(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool,
    passed: frozenset[int] = frozenset(),
) -> list:  # fmt: skip
    """Cotangents of ``outputs`` to cotangents of ``leaves``, a level of the towers at a time.

    A tangent of the pulled-back value is the pull-back of the outputs' tangents, the primals'
    cotangents held, and that of the primals along the cotangents' own tangents.
    """
    ranks = [rank_of(o) for o in (*outputs, *cotangents)]
    around = {level: v for level, v in _batches(leaves).items() if level not in passed}
    top = max([0, *ranks, *around])
    if top <= 1:
        return _pulled(outputs, leaves, cotangents, create_graph)
    if top in around and top not in ranks:
        # What does not differ along a batch of the leaves does not depend on them.
        found = pull_back([], leaves, [], create_graph, passed | {top})
        return [around[top].around(g) for g in found]
    at_top = [rank_of(o) == top for o in outputs]
    sample = next(o for o in (*outputs, *cotangents) if rank_of(o) == top)
    if lasting(sample) is not sample:
        outputs, cotangents = over(lasting, [list(outputs), list(cotangents)])
        return pull_back(outputs, leaves, cotangents, create_graph, passed)
    if sample.batch and top not in around:
        # Many cotangents, or outputs, of one value that is not mapped over: the vjp for each.
        batches = all(v.batch for c in cotangents for v in operands_of(c))
        tensors = batches and all(isinstance(v, Plain) for v in (*outputs, *leaves))
        if tensors and mode.inspect is None:  # else each is looked at by itself
            return _pulled(outputs, leaves, cotangents, create_graph)
        return _for_each(outputs, leaves, cotangents, create_graph, passed, sample)
    if sample.batch:
        inner, weights = [], []
        for o, c, mine in zip(outputs, cotangents, at_top, strict=True):
            if not mine:  # does not differ along a batch of the leaves, nor depend on them
                continue
            if rank_of(c) != top:
                c = OPERATORS["ones_like"](o) if c is None else as_value(c)
            c = c.content if rank_of(c) == top else OPERATORS["expand"](c, (sample.count, *c.shape))
            inner.append(o.content)
            weights.append(c)
        found = pull_back(inner, leaves, weights, create_graph, passed | {top})
        return [sample.around(g) for g in found]
    primals = [o.primal if mine else o for o, mine in zip(outputs, at_top, strict=True)]
    along = [o.tangent if mine else None for o, mine in zip(outputs, at_top, strict=True)]
    plain, turned = [], []
    for c in cotangents:
        dual = rank_of(c) == top
        plain.append(c.primal if dual else c)
        turned.append(c.tangent if dual else None)
    first: dict = {}
    with running.turning(top, False), _hooks_called(sample, first, False):
        found = pull_back(primals, leaves, plain, create_graph, passed)
    pushed = _pushed(sample, primals, along, leaves, plain, turned, create_graph, passed, first)
    if pushed is None:
        return found
    return [sample.__class__(g, t, top) for g, t in zip(found, pushed, strict=True)]


def _pushed(
    sample: Any, primals: Sequence[Any], along: Sequence[Any], leaves: Sequence[Any],
    plain: Sequence[Any], turned: Sequence[Any], create_graph: bool, passed: frozenset[int],
    first: dict,
) -> list | None:  # fmt: skip
    """The tangents of gradients, after the pass for their primals; None where there are none.

    ``along`` are the outputs' tangents, ``turned`` those of their cotangents ``plain``; ``first``
    is what hooks were shown in that pass.
    """
    top = sample.__gradcli_rank__
    moved = [(t, c) for t, c in zip(along, plain, strict=True) if t is not None]
    moved += [(p, t) for p, t in zip(primals, turned, strict=True) if t is not None]
    if not moved:
        _all_shown(first)
        return None
    # Where a hook was called, it has to be called again.
    hooked = [noted for noted in running.hooked.get(top, ()) if noted[-1]]
    moved += [(p, OPERATORS["zeros_like"](p)) for p, *_ in hooked]
    ends = [v.edges() for leaf in leaves for v in operands_of(leaf) if rank_of(v) == top]
    duals = [*ends, *(noted[1:4] for noted in hooked)]
    with (
        running.turning(top, True), _apart(duals, running.given.get(top, ())),
        _hooks_called(sample, first, True), _kept_apart(sample, [o for o, _ in moved]),
    ):  # fmt: skip
        return pull_back([o for o, _ in moved], leaves, [c for _, c in moved], create_graph, passed)


@contextlib.contextmanager
def _hooks_called(sample: Any, first: dict, again: bool) -> Iterator[None]:
    """A pass for the primals of gradients, or ``again`` one for their tangents.

    In the second a hook that changed the first is shown both: what it makes of a gradient need not
    be linear. A pass that a hook begins is neither.
    """
    level, before = sample.__gradcli_rank__, calls.call

    def call(number: int, hook: Callable, g: Any) -> Any:
        if level in getattr(hook, "gradcli_levels", ()):  # it tells the passes apart itself
            return shown(number, hook, g)
        if g is None:  # nothing arrived
            return None if again else shown(number, hook, g)
        place = number, running.place(level)
        if not again:
            primal, version = OPERATORS["clone"](g), g._version
            given = shown(number, hook, g)
            if given is None and g._version == version:  # it looks on, once
                first[place] = None
                return None
            found = g if given is None else given
            bent = rank_of(found) == level
            first[place] = primal, bent
            return found.primal if bent else given
        if first.get(place, first) is None:
            return None
        primal, _ = first.pop(place, (None, False))
        both = sample.__class__(OPERATORS["zeros_like"](g) if primal is None else primal, g, level)
        given = shown(number, hook, both)
        both = both if given is None else given
        if rank_of(both) > level:
            raise tangent_lost()
        return both.tangent if rank_of(both) == level else OPERATORS["zeros_like"](g)

    def shown(number: int, hook: Callable, g: Any) -> Any:
        calls.call = plainly
        try:
            return before(number, hook, g)
        finally:
            calls.call = call

    calls.call = call
    try:
        yield
    finally:
        calls.call = before
    if again:
        _all_shown(first)


def _all_shown(first: dict) -> None:
    """Raise UnwrittenFault (E0412) where the pass for tangents did not come by a hook that gave
    one."""
    if any(noted is not None and noted[1] for noted in first.values()):
        raise tangent_lost()


@contextlib.contextmanager
def _kept_apart(sample: Any, outputs: Sequence[Any]) -> Iterator[None]:
    """What ``retain_grad`` keeps in a pass for tangents becomes the tangent of what it kept."""
    nodes = collect([t.edge for o in outputs for t in tensors_of(o) if t.edge is not None])
    kept = [n.extra.kept for n in nodes if n.extra is not None and n.extra.kept is not None]
    before = [keeper.grad for keeper in kept]
    for keeper in kept:
        keeper.grad = None
    try:
        yield
    finally:
        for keeper, have in zip(kept, before, strict=True):
            keeper.grad = _with_tangent(sample, have, keeper.grad)


def _with_tangent(sample: Any, gradient: Any, tangent: Any) -> Any:
    """A gradient that is kept, with one more tangent: those of a transform end with it."""
    level = sample.__gradcli_rank__
    if gradient is None or tangent is None or level not in running.dual:
        return gradient
    if rank_of(gradient) == level:
        return sample.__class__(gradient.primal, gradient.tangent + tangent, level)
    return sample.__class__(gradient, tangent, level)


@contextlib.contextmanager
def _apart(duals: Sequence[tuple], given: Iterable[Any]) -> Iterator[None]:
    """Have tangents that were computed from their primals, as that of ``exp`` is, lead to twins of
    the primals' nodes: what comes to a primal by its tangent is not for its hooks, and no part of
    its gradient. Nor is how a tangent that was ``given`` was computed."""
    changed = []
    try:
        for node in given:
            changed.append((node, node.edges))
            node.edges = (_NOWHERE,)
        for end, primals, tangents in duals:
            if end is None or not end.edges:
                continue
            twins = {end: without_hooks(end)}
            lower = _younger(primals, end)  # the formulas of tangents of other levels
            for node in sorted(lower - {end}, key=lambda n: n.seq):
                if not twins.keys().isdisjoint(node.edges):
                    twins[node] = without_hooks(node, twins)
            for node in _younger(tangents, end) - lower:
                if not twins.keys().isdisjoint(node.edges):
                    changed.append((node, node.edges))
                    node.edges = tuple(twins.get(e, e) for e in node.edges)
        yield
    finally:
        for node, edges in reversed(changed):
            node.edges = edges


_NOWHERE = AccumulateGrad(engine.wrap(np.zeros(()), get_default_dtype()))
"""An end of the graph that is no leaf's."""


def _younger(edges: Sequence[Any], end: Any) -> set:
    """The nodes behind edges that are not older than one."""
    found: set = set()
    work = list(edges)
    while work:
        node = work.pop()
        if node is not None and node not in found and node.seq >= end.seq:
            found.add(node)
            work += node.edges
    return found


def _for_each(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool,
    passed: frozenset[int], sample: Any,
) -> list:  # fmt: skip
    level = sample.__gradcli_rank__

    def row(i: int) -> list:
        with enable_grad():  # a view that nobody records has no place in the graph
            ends, weights = (
                [v.content[i] if rank_of(v) == level else v for v in values]
                for values in (outputs, cotangents)
            )
        with running.turning(level, i):  # hooks of one row are not those of another
            return pull_back(ends, leaves, weights, create_graph, passed)

    rows = [row(i) for i in range(sample.count)]
    return [sample.around(OPERATORS["stack"](*column)) for column in zip(*rows, strict=True)]


def _pulled(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool
) -> list[Tensor]:
    pairs = [
        (o, c)
        for o, c in zip(outputs, cotangents, strict=True)
        if isinstance(o, Plain) and o.edge is not None
    ]
    targets = [bottom(leaf) for leaf in leaves]
    if not pairs:
        return [OPERATORS["zeros_like"](t.detach()) for t in targets]
    ends, weights = zip(*pairs, strict=True)
    found: Any
    if any(isinstance(c, Layer) for c in weights):
        found = grad_of_batches(ends, targets, weights, create_graph)
    else:
        with enable_grad():
            found = grad_of_all(ends, targets, weights, create_graph)
    zeros = OPERATORS["zeros_like"]
    return [zeros(t.detach()) if g is None else g for g, t in zip(found, targets, strict=True)]


def gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], weights: Sequence[Any], keep: bool,
    create_graph: bool, allow_unused: bool | None, materialize: bool,
) -> tuple:  # fmt: skip
    """``autograd.grad`` where tangents or batches of enclosing transforms take part."""
    inputs = [_at(edge_of(t)) if isinstance(t, GradientEdge) else t for t in inputs]
    ends = [bottom(as_value(t)) for t in inputs]
    roots = [t.edge for t in map(bottom, outputs) if t.edge is not None]
    behind = collect(roots)
    reached = [end.edge in behind and not is_around(end.edge, roots) for end in ends]
    for i, (out, weight) in enumerate(zip(outputs, weights, strict=True)):
        if isinstance(out, Layer) and not out.requires_grad:  # the graph is that of what is inside
            raise no_history(i)
        if weight is None and out.numel() != 1:
            raise RuntimeFault(
                "E0403",
                "grad can be implicitly created only for scalar outputs; this one has shape "
                f"{tuple(out.shape)}",
                torch="grad can be implicitly created only for scalar outputs",
            )
    for i, end in enumerate(ends):
        if end.edge is None or not inputs[i].requires_grad:  # a leaf that is mapped over
            raise no_graph(i)
        if not reached[i] and not (allow_unused or materialize):
            raise unused(i)
    found = pull_back(outputs, inputs, weights, create_graph)
    if not keep and any(rank_of(v) in running.dual for v in (*outputs, *inputs, *weights)):
        _free(only_towards(dict.fromkeys(end.edge for end in ends), behind)[1])
    zeros = OPERATORS["zeros_like"]
    pairs = zip(found, reached, strict=True)
    return tuple(g if here else zeros(g) if materialize else None for g, here in pairs)


def accumulate_gradients(
    outputs: Sequence[Any], weights: Sequence[Any], keep: bool, create_graph: bool, inputs: Any
) -> None:
    """``backward`` of values with tangents in ``forward_ad``: what leaves and ``retain_grad`` keep
    has tangents too.

    But for the first gradient of a leaf, of which PyTorch keeps the numbers, unless there is a
    graph of it.
    """
    sample = next(v for v in (*outputs, *weights, *(inputs or ())) if isinstance(v, Layer))
    level = sample.__gradcli_rank__
    if level not in running.dual:
        raise no_array()
    own = [[v.primal if rank_of(v) == level else v for v in vs] for vs in (outputs, weights)]
    along = [[v.tangent if rank_of(v) == level else None for v in vs] for vs in (outputs, weights)]
    primals, plain = own
    if inputs is not None:
        inputs = [v.primal if rank_of(v) == level else v for v in inputs]
    nodes = collect([t.edge for t in primals if isinstance(t, Plain) and t.edge is not None])
    ends: list[Any] = nodes if inputs is None else [edge_of(v) for v in inputs]
    leaves: Any = [n for n in ends if n.__class__ is AccumulateGrad]
    leaves = [leaf for leaf in leaves if create_graph or leaf.grad is not None]
    kept = any(n.extra is not None and n.extra.kept is not None for n in nodes)
    again = bool(leaves) or kept or inputs is not None
    first: dict = {}
    with running.turning(level, False), _hooks_called(sample, first, False):
        engine.backward(primals, plain, keep or again, create_graph, inputs=inputs)
    if not again:
        return
    ends = [n for n in ends if inputs is not None or n.__class__ is AccumulateGrad]
    found = _pushed(
        sample, primals, along[0], [_at(n) for n in ends], plain, along[1], create_graph,
        frozenset(), first,
    )  # fmt: skip
    for leaf, tangent in zip(ends, found or (), strict=False):
        if leaf in leaves:
            leaf.grad = _with_tangent(sample, leaf.grad, tangent)
    if not keep:
        _free(nodes)


def _free(nodes: Iterable[Any]) -> None:
    """Have no second pass go through ``nodes``: what they saved is gone."""
    gone = Freed()
    for node in nodes:
        if node.saved:
            node.saved = gone


def _at(edge: Any) -> Tensor:
    """A tensor at a place in the graph."""
    return engine.wrap(np.zeros(edge.shape, edge.dtype.numpy)[()], edge.dtype, edge)


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
    result = tuple(jacobians_of([out], leaves, lambda _, rows: pull(rows[0]))[0])
    return result if several else result[0]


def jacobians_of(
    outputs: Sequence[Any], leaves: Sequence[Any],
    pull: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]], at_once: int = 0,
) -> list[list]:  # fmt: skip
    """For each output its Jacobian by each leaf, a row for each entry of the output.

    ``pull`` takes an output and its cotangent; with ``at_once`` all outputs, and for each so many
    cotangents side by side.
    """
    for out in outputs:
        for leaf in leaves:
            charge_shape((*out.shape, *leaf.shape), leaf.dtype.itemsize)
    ends = np.cumsum([0, *(out.numel() for out in outputs)]).tolist()
    total = ends[-1]
    tables = [_Rows(total, leaf) for leaf in leaves]
    for first in range(0, total, at_once or 1):
        step()
        if at_once:
            rows = min(at_once, total - first)
            found = pull(outputs, unit_directions(outputs, ends, first, rows))
        else:
            k = bisect.bisect_right(ends, first) - 1
            (row,) = unit_directions([outputs[k]], ends[k:], first, 1)
            found = pull([outputs[k]], [row[0]])
        for table, g in zip(tables, found, strict=True):
            table.append(first, g, bool(at_once))
    return [
        [table.part(start, end, out.shape) for table in tables]
        for out, start, end in zip(outputs, ends, ends[1:], strict=False)
    ]


def unit_directions(
    tensors: Sequence[Any], ends: Sequence[int], first: int, rows: int
) -> list[Tensor]:
    """For each tensor its part of directions: a row has a 1 in one entry of one of them.

    ``ends`` says where the entries of each begin and end among all of them; the first row has its 1
    in entry ``first``.
    """
    basis = []
    for v, start in zip(tensors, ends, strict=False):
        charge_shape((rows, *v.shape), v.dtype.itemsize)
        ones = np.eye(rows, v.numel(), first - start, dtype=v.dtype.numpy)
        basis.append(engine.wrap(ones.reshape(rows, *v.shape), v.dtype))
    return basis


def rows_at_once(outputs: Sequence[Any], leaves: Sequence[Any]) -> int:
    """How many rows of a Jacobian one pass takes.

    What it computes stays in the cache, and takes some megabytes at most, or little beside the
    Jacobian.
    """
    entries = sum(out.numel() for out in outputs) * sum(leaf.numel() for leaf in leaves)
    edges = [t.edge for out in outputs for t in tensors_of(out) if t.edge is not None]
    shapes = [v.shape for v in (*outputs, *collect(edges), *leaves)]
    largest = max(1, *(math.prod(shape) for shape in shapes))
    most = 2**18 if entries > 2**19 else max(entries // 16, 2**12)
    return max(1, most // largest)


class _Rows:
    """The rows of a Jacobian as they come: in its memory, or side by side where they are more."""

    def __init__(self, size: int, leaf: Any) -> None:
        self.leaf, self.size = leaf, size
        self.array: Any = None
        self.kept: list = []
        self.join: Any = None
        self.whole: Any = None

    def append(self, first: int, g: Any, several: bool) -> None:
        plain = g.__class__ is Tensor and g.edge is None and isinstance(g.array, np.ndarray)
        if plain and not self.kept:
            if self.array is None:
                self.array = np.empty((self.size, *self.leaf.shape), g.array.dtype)
            self.array[first : first + len(g.array) if several else first + 1] = g.array
            return
        if self.array is not None:  # the first with a graph, or inside a transform
            before = engine.wrap(self.array[:first], g.dtype)
            self.kept, self.array = [before] if several else list(before), None
        self.kept.append(g)
        self.join = OPERATORS["cat" if several else "stack"]

    def part(self, start: int, end: int, shape: tuple) -> Any:
        full = (*shape, *self.leaf.shape)
        if start == end:
            return self.leaf.detach().new_zeros(full)
        if self.array is not None:
            return engine.wrap(self.array[start:end].reshape(full), self.leaf.dtype)
        if self.whole is None:
            self.whole = self.join(*self.kept)
        part = self.whole if end - start == self.size else self.whole[start:end]
        return OPERATORS["reshape"](part, full)


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
