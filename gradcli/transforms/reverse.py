"""Reverse-mode transforms of functions: what grad, vjp and the Jacobians stand on.

Functions take and give Tensors, or what stands for them in an enclosing transform: tangents and
batches. Each transform makes its own leaves, so the caller's tensors are neither changed nor left
with a gradient; the result is recorded where an enclosing transform, or the caller, will
differentiate it.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import gradcli.engine as engine
from gradcli.engine import Tensor
from gradcli.engine.backward.api import grad_of_all, no_graph, not_scalar, real_only, start, unused
from gradcli.engine.backward.gradient_edges import GradientEdge, edge_of
from gradcli.engine.backward.hooks import before, deliver, first_hook, seen
from gradcli.engine.backward.traverse import WHOLE, Cut, Towards, nested, no_history, only_towards
from gradcli.engine.dtypes import get_default_dtype
from gradcli.engine.grad_mode import enable_grad, mode, next_number, no_grad, refuse_node_hook
from gradcli.engine.graph.node import AccumulateGrad, Freed, collect, keeps_result, more
from gradcli.engine.graph.own_passes import ENDED, is_around, passes_by
from gradcli.engine.record.apply import record, share_memory
from gradcli.engine.record.captures import captured
from gradcli.engine.record.composite import bottom, of_its_own
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
    chain_of,
    lasting,
    memory_of,
    operands_of,
    overlaps,
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


def own_tensor(value: Any, memories: Counter[int], twins: dict[int, Any]) -> Any:
    """An argument that nothing is differentiated by: a write to it leaves no graph on the caller's.

    The memory is the caller's: of one of the ``memories``, by id, that several arguments have there
    is one twin.
    """
    tensor = bottom(value)
    batches = all(layer.batch for layer in chain_of(value))
    if tensor.__class__ is not Tensor or tensor.edge is not None or not batches:
        return value
    base = memory_of(tensor)
    if memories[id(base)] < 2:
        return rebuilt(value, Tensor.detach)
    if value is not tensor:
        return value
    twin = twins.setdefault(id(base), base.detach())
    if value is base:
        return twin
    view = value._alias()
    share_memory(view, twin)
    return view


def end_at(leaf: Any, edge: Any) -> Any:
    """A leaf at the place in the graph that it had."""
    return leaf if bottom(leaf).edge is edge else rebuilt(leaf, lambda t: t._alias(edge))


def finished(leaf: Any) -> None:
    """Note that only the transform which made this leaf differentiates by it."""
    edge = bottom(leaf).edge
    if edge.__class__ is AccumulateGrad:
        ENDED[edge] = next_number()


def watched(outputs: Sequence[Any]) -> bool:
    """Whether a value behind ``outputs`` has a hook, or a custom function made one."""
    nodes = collect([*_edges(outputs)])
    return any(n.foreign or (n.extra is not None and n.extra.hooks) for n in nodes)


def reaches_further(outputs: Sequence[Any], leaves: Sequence[Any], made: range = range(0)) -> bool:
    """Whether anyone but this transform can differentiate by something behind ``outputs``: not by
    what its function ``made``, by sequence number."""
    own = {bottom(leaf).edge for leaf in leaves}
    ends = [n for n in collect([*_edges(outputs)]) if n.leaf and n not in own]
    return any(n.seq not in made and n not in ENDED for n in ends)


def without_leaves(value: Any, made: range, leaves: Sequence[Any] = (), outer: bool = True) -> Any:
    """A result of which no Tensor is in a graph that leads to leaves of its transform alone, or,
    where nothing is recorded around (not ``outer``), in one that its function ``made``."""

    def ends(t: Tensor) -> bool:
        if t.edge is None or t.edge.seq < made.start:  # as the function found it
            return False
        return not (outer and reaches_further([t], leaves, made))

    if not any(map(ends, tensors_of(value))):
        return value
    if rank_of(value) > 1:
        return value.over(lambda part: without_leaves(part, made, leaves, outer))
    return value.detach()


def _batches(leaves: Sequence[Any]) -> dict[int, Any]:
    """The batches around leaves, by level."""
    chain = chain_of(leaves[0]) if leaves else ()  # all are lifted to the same levels
    return {v.__gradcli_rank__: v for v in chain if v.batch}


def pull_back(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool
) -> list:
    """Cotangents of ``outputs`` to cotangents of ``leaves``, with the tangents that they have.

    Where a value has a hook the pass ends, and begins again with what the hook makes of the whole
    gradient. So it does at a leaf that is in a graph: what comes to a value by its tangent, which
    may have been computed from it as that of ``exp`` is, is no part of its gradient.
    """
    for out, cotangent in zip(outputs, cotangents, strict=True):
        if cotangent is None:
            real_only(out.dtype)
    tangents = any(not v.batch for o in (*outputs, *cotangents) for v in operands_of(o))
    pull: Callable = _by_hooks if tangents else _pull_back
    with enable_grad() if create_graph else no_grad():
        found = pull(outputs, leaves, cotangents, create_graph)
    zeros = OPERATORS["zeros_like"]
    return [zeros(x.detach()) if g is None else g for g, x in zip(found, leaves, strict=True)]


def _by_hooks(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool
) -> Sequence[Any]:
    ends = [bottom(leaf).edge for leaf in leaves]
    roots = list(_edges(map(bottom, outputs)))
    order, runs = only_towards(
        dict.fromkeys(ends), collect(roots), roots if len(roots) == 1 else ()
    )
    values: dict[Any, Any] = {}
    tangents: dict[Any, set] = {}  # the places of their tangents
    for value in (*running.hooked, *leaves):
        node = bottom(value).edge
        values[node] = value
        tangents.setdefault(node, set()).update(_edges([value]) - {node})
    ports = {r() for n in order if n in runs for r in (n.ports or {}).values()} - {None}
    points = {
        n: values[n] if n in values else _at(n)
        for n in {*order, *ports}
        if (n in ends and n.edges and tangents[n]) or _is_watched(n, ends)
    }
    given = [n for nodes in running.given.values() for n in nodes]
    cut = Cut(points.keys() | set().union(given, *(tangents.get(n, ()) for n in points)))
    cut.wanted = frozenset(ends)
    if not points:
        return _pull_back(outputs, leaves, cotangents, create_graph, cut)
    values.update(points)
    arrived: dict[Any, Any] = {}

    def arrive(node: Any, g: Any) -> None:
        if g is not None:
            arrived[node] = arrived[node] + g if node in arrived else g

    def spread(tops: Sequence[Any], weights: Sequence[Any], own: Any = frozenset()) -> None:
        """Cotangents to the next points, and to leaves."""
        stops = Cut(cut - own)
        stops.wanted = cut.wanted
        behind = collect([*_edges(tops)], stops)
        reached = {*behind, *(e for n in behind for e in n.edges)} - own
        groups: dict[frozenset[int], list] = {}
        for node in dict.fromkeys((*ends, *points)):
            if node in reached:
                groups.setdefault(frozenset(_batches([values[node]])), []).append(node)
        for group in groups.values():
            places = [values[n] for n in group]
            found = _pull_back(tops, places, weights, create_graph, stops)
            for node, g in zip(group, found, strict=True):
                arrive(node, g)

    def walk() -> None:
        mode.passing = Towards(order)
        mode.passing.wanted = cut.wanted
        first = []
        for o, c in zip(outputs, cotangents, strict=True):
            if bottom(o).edge in points:
                arrive(bottom(o).edge, OPERATORS["ones_like"](o) if c is None else as_value(c))
            else:
                first.append((o, c))
        if first:
            spread(*zip(*first, strict=True))
        for node in sorted(points, key=lambda n: (-n.origin.seq, first_hook(n))):
            if node not in arrived and node not in ports:
                continue
            g = seen(node, arrived.get(node), True, whole=True)
            if g is None:  # nothing arrived at one of several results
                continue
            if node not in runs:
                arrived[node] = g  # PyTorch's order: what arrives, where the node runs
                continue
            if node.extra is not None and node.extra.pre_hooks:
                g = before(node, g, True)
            if create_graph and (node.foreign or keeps_result(node.origin)):
                more(node).params["pulled"] = True
            spread([values[node]], [g], {node, *tangents.get(node, ())})

    nested(create_graph, walk)
    return [arrived.get(end) for end in ends]


def _edges(values: Iterable[Any]) -> set[Any]:
    """Where all Tensors in values are in the graph."""
    return {t.edge for v in values for t in tensors_of(v) if t.edge is not None}


def _is_watched(node: Any, ends: Sequence[Any]) -> bool:
    """Whether a node has hooks for a pass to ``ends``. Raises RuntimeFault (E0412) for those of
    which gradients with tangents are not known."""
    extra = node.extra
    if extra is None or node.origin is None:  # a view made under no_grad: no pass gets there
        return False
    if extra.post_hooks and not node.leaf:
        refuse_node_hook()
    hooks = [getattr(hook, "gradcli_passes", None) for hook in (extra.hooks or {}).values()]
    own = any(h is None or passes_by(h[0], h[1], ends) for h in hooks)
    if not own and not extra.pre_hooks and extra.kept is None:
        return False
    if "pulled" in extra.params:
        # There what leads to v was led through y, which it was computed from.
        said = "a further gradient of a gradient that came by a hook, both with tangents"
        raise RuntimeFault("E0412", said, help="take the derivative in reverse mode: jacrev, vjp")
    return True


def _pull_back(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool,
    cut: Cut = WHOLE, passed: frozenset[int] = frozenset(),
) -> list:  # fmt: skip
    """``pull_back`` up to ``cut``, a level of the towers at a time; None where nothing arrives.

    A tangent of the pulled-back value is the pull-back of the outputs' tangents, the primals'
    cotangents held, and that of the primals along the cotangents' own tangents.
    """
    ranks = [rank_of(o) for o in (*outputs, *cotangents)]
    around = {level: v for level, v in _batches(leaves).items() if level not in passed}
    top = max([0, *ranks, *around])
    if top <= 1:
        return _pulled(outputs, leaves, cotangents, create_graph, cut)
    if top in around and top not in ranks:
        # What does not differ along a batch of the leaves does not depend on them, but by a node
        # without a derivative, which looked at their numbers: that is met, and refuses.
        return _pull_back(outputs, leaves, cotangents, create_graph, cut, passed | {top})
    at_top = [rank_of(o) == top for o in outputs]
    towers = [o for o in (*outputs, *cotangents) if rank_of(o) == top]
    sample = next((o for o in towers if not o.batch or o.given != ()), towers[0])
    if lasting(sample) is not sample:
        outputs, cotangents = over(lasting, [list(outputs), list(cotangents)])
        return _pull_back(outputs, leaves, cotangents, create_graph, cut, passed)
    if sample.batch and top not in around:
        # Many cotangents, or outputs, of one value that is not mapped over: the vjp for each.
        batches = all(v.batch for c in cotangents for v in operands_of(c))
        tensors = batches and all(isinstance(v, Plain) for v in (*outputs, *leaves))
        if tensors and mode.inspect is None:  # else each is looked at by itself
            return _pulled(outputs, leaves, cotangents, create_graph, cut)
        return _for_each(outputs, leaves, cotangents, create_graph, cut, passed, sample)
    if sample.batch:
        inner, weights = [], []
        for o, c, mine in zip(outputs, cotangents, at_top, strict=True):
            if not mine:  # as above
                inner.append(o)
                weights.append(OPERATORS["ones_like"](o))
                continue
            if rank_of(c) != top:
                c = OPERATORS["ones_like"](o) if c is None else as_value(c)
            c = c.content if rank_of(c) == top else OPERATORS["expand"](c, (sample.count, *c.shape))
            inner.append(o.content)
            weights.append(c)
        found = _pull_back(inner, leaves, weights, create_graph, cut, passed | {top})
        return [
            None if g is None else sample.around(_in_rows(g, leaf, weights))
            for g, leaf in zip(found, leaves, strict=True)
        ]
    plain = [c.primal if rank_of(c) == top else c for c in cotangents]
    primals = [o.primal if mine else o for o, mine in zip(outputs, at_top, strict=True)]
    moved = [(o.tangent, c) for o, c in zip(outputs, plain, strict=True) if rank_of(o) == top]
    moved += [(p, c.tangent) for p, c in zip(primals, cotangents, strict=True) if rank_of(c) == top]
    if not create_graph and top in running.linear:  # no graph leads to what it is linear in
        running.linear[top] = True
    pulling, running.pulling = running.pulling, running.pulling | {top}
    try:
        found = _pull_back(primals, leaves, plain, create_graph, cut, passed)
        ends, weights = ([pair[i] for pair in moved] for i in (0, 1))
        pushed = _pull_back(ends, leaves, weights, create_graph, cut, passed)
    finally:
        running.pulling = pulling
    for i, (g, t) in enumerate(zip(found, pushed, strict=True)):
        if t is not None:
            found[i] = sample.__class__(OPERATORS["zeros_like"](t) if g is None else g, t, top)
    return found


def _in_rows(g: Any, leaf: Any, weights: Sequence[Any]) -> Any:
    """A batch of gradients, laid out in rows where their matrices lie so and products by transposes
    made columns. Of one matrix alone the product itself looks after this."""
    if isinstance(g, Plain) and g.ndim == 3 and not g.array.flags.c_contiguous:
        array, lies = g.own_array(), bottom(leaf).own_array()
        turned = array.mT.flags.c_contiguous and lies[:1].flags.c_contiguous
        if turned and not overlaps(g, weights):
            charge_shape(array.shape, array.itemsize)
            of_its_own(g).array = np.ascontiguousarray(array)
    return g


def _for_each(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool,
    cut: Cut, passed: frozenset[int], sample: Any,
) -> list:  # fmt: skip
    level = sample.__gradcli_rank__

    def row(i: int) -> list:
        with enable_grad():  # a view that nobody records has no place in the graph
            ends, weights = (
                [v.content[i] if rank_of(v) == level else v for v in values]
                for values in (outputs, cotangents)
            )
        return _pull_back(ends, leaves, weights, create_graph, cut, passed)

    rows = [row(i) for i in range(sample.count)]
    found: list = []
    for column in zip(*rows, strict=True):
        one = next((g for g in column if g is not None), None)
        if one is not None:
            full = (OPERATORS["zeros_like"](one) if g is None else g for g in column)
            one = sample.around(OPERATORS["stack"](*full))
        found.append(one)
    return found


def _pulled(
    outputs: Sequence[Any], leaves: Sequence[Any], cotangents: Sequence[Any], create_graph: bool,
    cut: Cut,
) -> list[Any]:  # fmt: skip
    pairs = [
        (o, c)
        for o, c in zip(outputs, cotangents, strict=True)
        if isinstance(o, Plain) and o.edge is not None
    ]
    targets = [bottom(leaf) for leaf in leaves]
    if not pairs:
        return [None for _ in targets]
    ends, weights = zip(*pairs, strict=True)
    batches = any(isinstance(c, Layer) for c in weights)
    with enable_grad():
        return grad_of_all(ends, targets, weights, create_graph, cut, batches)


def gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], weights: Sequence[Any], keep: bool,
    create_graph: bool, allow_unused: bool | None, materialize: bool,
) -> tuple:  # fmt: skip
    """``autograd.grad`` where tangents or batches of enclosing transforms take part."""
    inputs = [_at(edge_of(t)) if isinstance(t, GradientEdge) else t for t in inputs]
    ends = [bottom(as_value(t)) for t in inputs]
    roots = [t.edge for t in map(bottom, outputs) if t.edge is not None]
    behind = collect(roots)
    reached = [
        end.edge in behind and end.edge.origin is not None and not is_around(end.edge, roots)
        for end in ends
    ]
    for i, (out, weight) in enumerate(zip(outputs, weights, strict=True)):
        if not isinstance(out, GradientEdge) and not out.requires_grad:
            raise no_history(i)
        if weight is None and out.numel() != 1:
            raise not_scalar(out.shape)
    for i, end in enumerate(ends):
        if end.edge is None or not inputs[i].requires_grad:  # a leaf that is mapped over
            raise no_graph(i)
        if not reached[i] and not (allow_unused or materialize):
            raise unused(i)
    found = pull_back(outputs, inputs, weights, create_graph)
    if not keep:
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
    own, plain = (
        [v.primal if rank_of(v) == level else v for v in values] for values in (outputs, weights)
    )
    nodes = collect(start(own, plain, create_graph)[0])
    if inputs is None:
        inputs = [_at(n) for n in nodes if n.__class__ is AccumulateGrad]
    for value in inputs:
        if not isinstance(value, GradientEdge) and not value.is_leaf:
            value.retain_grad()  # for good, as in PyTorch
    leaves = [_at(edge_of(v)) if isinstance(v, GradientEdge) else v for v in inputs]
    found = pull_back(outputs, leaves, weights, create_graph)
    with enable_grad() if create_graph else no_grad():
        for node, g in zip([bottom(v).edge for v in leaves], found, strict=True):
            if node.__class__ is AccumulateGrad and node in nodes:
                whole = create_graph or node.grad is not None
                deliver(node, g if whole else bottom(g).array, whole)
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
    for v, begin in zip(tensors, ends, strict=False):
        charge_shape((rows, *v.shape), v.dtype.itemsize)
        ones = np.eye(rows, v.numel(), first - begin, dtype=v.dtype.numpy)
        basis.append(engine.wrap(ones.reshape(rows, *v.shape), v.dtype))
    return basis


def rows_at_once(outputs: Sequence[Any], leaves: Sequence[Any]) -> int:
    """How many rows of a Jacobian one pass takes.

    What it computes stays in the cache, and takes some megabytes at most, or little beside the
    Jacobian.
    """
    entries = sum(out.numel() for out in outputs) * sum(leaf.numel() for leaf in leaves)
    shapes = [v.shape for v in (*outputs, *collect([*_edges(outputs)]), *leaves)]
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
