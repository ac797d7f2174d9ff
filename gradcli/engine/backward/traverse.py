"""The walk over the graph that a backward pass is: once, from the youngest node, no recursion.

Nodes run from the youngest to the oldest (PyTorch's order: a node has a higher sequence number than
all it depends on), a leaf's AccumulateGrad as soon as its last contribution is there.
"""

from __future__ import annotations

import _thread
import math
import threading
from collections.abc import Callable, Sequence, Set
from contextvars import copy_context
from itertools import takewhile
from operator import attrgetter
from sys import getrefcount
from typing import Any

import numpy as np

from gradcli.engine.backward import hooks
from gradcli.engine.backward.float_errors import ignore
from gradcli.engine.backward.float_errors import restore as restore_errors
from gradcli.engine.backward.hooks import accumulate, after, arrive_at_leaf, arriving, before
from gradcli.engine.backward.untaken_branches import CHOSEN, Choices, note, taken, watching
from gradcli.engine.grad_mode import current, mode, next_number, of_transforms, restore
from gradcli.engine.graph.level_detach import LevelDetach
from gradcli.engine.graph.node import (
    AccumulateGrad,
    AtInputs,
    Cotangents,
    Extra,
    Freed,
    Node,
    Output,
    Part,
    by_age,
    collect,
    freed,
    verify,
)
from gradcli.engine.graph.own_passes import ENDED
from gradcli.engine.graph.torch_names import shown_edges, shown_view
from gradcli.engine.graph.view_edges import Stale
from gradcli.engine.record.composite import bottom
from gradcli.engine.record.cotangents import cast, fit
from gradcli.engine.record.index_writes import verify_index, writes
from gradcli.engine.record.piecewise_linear import zeros_of
from gradcli.engine.record.rule_compiler import held, pull_recorded
from gradcli.engine.tensor.tensor import Tensor, wrap
from gradcli.engine.undo_log import current_log, undo
from gradcli.ops.errors import Fault, LimitFault, RuntimeFault
from gradcli.ops.memory_budget import LARGE, budget, charge, spends

RECORDED = 4096
"""What a node's rule, recorded for a further pass, takes in memory: a few nodes and tensors. Graphs
of higher derivatives grow by a factor with each order, inside one call."""

DEEP = 20
"""How many passes may run inside one another, each asked for by a backward of the user's, before
the next one gets a stack of its own: as in PyTorch, so that thousands can."""


BEGINS = 10.0
"""Seconds within which a thread does its first step, unless memory does not suffice for it."""


class _Depth(threading.local):
    """Of the passes under way in which functions of the user's may run: no other holds one."""

    passes = 0
    final: list[Callable[[], object]] | None = None  # to be called when the innermost has ended


_depth = _Depth()
of_transforms.append(_depth)


def queue_callback(callback: Callable[[], object]) -> None:
    """Call ``callback()`` when the backward pass under way has ended and leaves have their sums.

    For hooks and custom functions; a callback may queue further ones. Raises RuntimeFault (E0407)
    outside a pass.
    """
    if _depth.final is None:
        said = "Final callbacks can only be installed during backward pass."
        mend = "queue it in a hook, or in the backward of a custom function"
        raise RuntimeFault("E0407", said, help=mend)
    _depth.final.append(callback)


class Pass(frozenset[Node]):
    """The nodes of a backward pass; see ``mode.passing``. Unlike a frozenset it can be referred to
    weakly."""


class Towards(Pass):
    """The nodes of a pass that only some places receive gradients from."""

    wanted: Set[Node]  # those places


class Cut(Pass):
    """Where a pass ends that is a part of one to the places ``wanted``."""

    wanted: Set[Node] = frozenset()


def only_towards(
    wanted: dict[Any, Any], order: list[Node], roots: Sequence[Node] = ()
) -> tuple[list[Node], set[Node]]:
    """The nodes that a wanted input lies behind, and those that must run to reach it.

    ``roots`` are among the first, whose hooks run in any case: as in PyTorch, those of the only
    root. What a stale view depends on is not known, so that is reached too, and raises.
    """
    runs: set[Node] = set()
    reached: set[Any] = set(wanted)
    for node in reversed(order):
        if not reached.isdisjoint(node.edges) or node.__class__ is Stale:
            runs.add(node)
            reached.add(node)
    reached.update(roots)
    return [node for node in order if node in reached], runs


WHOLE = Cut()


def run(
    roots: Sequence[Node],
    cotangents: Sequence[Any],
    keep: bool,
    recorded: bool,
    wanted: dict[Any, Any] | None,
    accumulates: bool = False,
    batches: bool = False,
    cut: Cut = WHOLE,
) -> None:
    """One pass. Gradients go to the leaves, or, with ``wanted``, into that dict's places alone.

    With ``accumulates`` only ``wanted`` places receive, but as in a pass without: leaves add to
    their gradients, and the nodes behind the other places run. With ``batches`` the cotangents are
    values of a transform: rules are read with Tensors, ``recorded`` or not. It ends at ``cut``,
    where no hook is called.
    """
    order = collect(roots, cut)
    if wanted is None and ENDED.data and all(n in ENDED for n in order if not n.edges):
        raise no_history(0)
    arrived: dict[Node, Any] = {}
    if len(roots) == 1:  # nearly always
        arrived[roots[0]] = cotangents[0]
    else:
        for root, g in zip(roots, cotangents, strict=True):
            arrived[root] = arrived[root] + g if root in arrived else g
    gone = None if keep else Freed()  # what is put in the place of saved values
    if gone is not None and undo.on and (log := current_log()) is not None:
        log.release(reversed(order))
    errors = ignore()
    try:
        looked_at = mode.watching or current().inspect is not None
        if recorded or batches or accumulates or looked_at or cut:
            ask = (order, roots, arrived, gone, recorded or batches, wanted, accumulates, cut)
            nested(recorded, _explained, *ask)
            return
        if mode.foreign:
            nested(recorded, _walk_plain, wanted, cotangents, order, arrived, gone)
        else:
            _walk_plain(wanted, cotangents, order, arrived, gone)
    except (IndexError, TypeError, ValueError):  # of a saved leaf that has another shape by now
        for node in order:
            if node.__class__ is AccumulateGrad and node.extra is not None:
                hooks.receiver(node)
        raise
    finally:
        restore_errors(errors)


def no_history(i: int) -> RuntimeFault:
    """The error of an output ``i`` that no graph leads to."""
    said = f"element {i} of tensors does not require grad and does not have a grad_fn"
    mend = "make a leaf with requires_grad=True, and compute outside no_grad()"
    return RuntimeFault("E0405", said, help=mend)


def nested(recorded: bool, walk: Callable[..., None], *ask: Any) -> None:
    """``walk(*ask)`` where functions of the user's may run, which may begin passes themselves.

    Then what they queued is called, in the same modes.
    """
    if _depth.passes >= DEEP:
        _on_a_fresh_stack(lambda: nested(recorded, walk, *ask))
        return
    before = current()
    inside = before.recording(recorded, before.inference)
    passes, outer = _depth.passes, _depth.final
    try:
        _depth.passes, _depth.final = passes + 1, []
        restore(inside)
        walk(*ask)
        restore(inside)
        for callback in _depth.final:  # which may queue more
            callback()
    finally:
        _depth.passes, _depth.final = passes, outer
        restore(before)


def _on_a_fresh_stack(work: Callable[[], None]) -> None:
    """Do ``work`` in a thread of its own, whose stack is empty.

    The modes, the budget and the transforms of this one hold there too. Raises LimitFault (E0606)
    where memory does not suffice for a stack.
    """
    failed: list[BaseException] = []
    begun: list[bool] = []
    context = copy_context()
    known = [(one, dict(vars(one))) for one in of_transforms if one is not _depth]
    running = _thread.allocate_lock()
    running.acquire()

    def guarded() -> None:
        begun.append(True)
        if not begun[0]:  # given up
            return
        try:
            for one, here in known:
                vars(one).update(here)
            context.run(work)
        except BaseException as fault:  # it is raised where the work was asked for
            failed.append(fault)
        finally:
            running.release()

    # Not by threading.Thread, which waits for ever for a thread that ends before its first line.
    try:
        _thread.start_new_thread(guarded, ())
        if not running.acquire(timeout=BEGINS):
            begun.append(False)
            if not begun[0]:
                raise MemoryError
            running.acquire()
    except (MemoryError, RuntimeError):
        said = "there is no memory for the stack of a backward pass inside others"
        raise LimitFault("E0606", said, help="use a loop, or see that the recursion ends") from None
    if failed:
        raise failed[0]


# Each walk is ``careful`` of slopes of branches that were not taken from the first node on that
# chose between branches: nodes after it may lie behind it.


def _walk_plain(
    wanted: dict[Any, Any] | None, cotangents: Sequence[Any], order: list[Node],
    arrived: dict[Node, Any], gone: Freed | None,
) -> None:  # fmt: skip
    """The pass where nobody looks on: no hooks, nothing recorded.

    All leaves receive their sums, in an order that cannot be seen, so they simply come last; or
    the ``wanted`` places alone.
    """
    pop = arrived.pop
    seeds = dict(arrived) if mode.branches else None
    zeroed: Any = None
    node = None
    if wanted is not None:
        order, runs = only_towards(wanted, order)
        zeroed = zeros_of(order, wanted, cotangents)
    careful = watching(order, seeds)
    charged = budget.on and _some_large(order)
    weighed = careful is not None
    try:
        for node in order:
            g = pop(node, None)
            if wanted is not None and node in wanted:
                wanted[node] = zeroed.at(node, False) if g is None and node in zeroed else g
                if node not in runs:
                    continue
            if g is None and not node.foreign:  # that runs all the same: nothing may mean zeros
                if zeroed is None:
                    zeroed = zeros_of(order, None, cotangents)
                if wanted is not None or node not in zeroed:
                    _pass_by(node, gone)
                    continue
                g = zeroed.at(node, False)
            kept = node.saved if node.masks or (weighed and node.weighs) else None
            if charged:
                _charge(node, arrived)
            step = node.step
            if step is None:
                _step(node, g, arrived, gone, careful)
            elif careful is not None:
                node.careful(node, g, arrived, gone, careful)
            else:
                step(node, g, arrived, gone)
            if kept is not None and seeds is not None:
                careful = careful or Choices(order, seeds)
                careful.kept[node] = kept
    except Fault:
        if wanted is None:
            assert node is not None
            _accumulate_whole(order[order.index(node) :], order, arrived)
        raise


def _accumulate_whole(rest: list[Node], order: list[Node], arrived: dict[Node, Any]) -> None:
    """Where ``rest`` will not run: the leaves that wait for none of it have what they get."""
    waiting = {edge for node in rest for edge in node.edges}
    for node in order:
        if node.__class__ is AccumulateGrad and node not in waiting and node in arrived:
            accumulate(node, arrived.pop(node), False)


def _some_large(order: list[Node]) -> bool:
    """Whether any gradient of a pass may be large: what is, was asked for or is a leaf's."""
    leaves = takewhile(attrgetter("leaf"), reversed(order))
    return spends() or any(math.prod(n.shape) > LARGE for n in leaves)


def _charge(node: Node, arrived: dict[Node, Any]) -> None:
    """Account for what a node's rules are about to hold on arrays, where these are no views, and
    for the sums of what they give and what has arrived.

    An operator that gives a view charges its copies, what is recorded its operators. Raises
    LimitFault (E0602).
    """
    op = node.op
    wanted = [e for e in node.edges if e is not None]
    given = sum([math.prod(node.shape if op.entrywise else e.shape) for e in wanted])
    if given <= LARGE:
        return
    most: float = 0
    alike = all(e.dtype is node.dtype for e in wanted)  # parts of complex numbers are not
    if not (op.kind == "linear" and ((op.moves == "view" and alike) or op.variadic)):
        most = held(node) * (math.prod(node.shape) if op.entrywise else given)
    added = sum([math.prod(e.shape) for e in wanted if _in_use(arrived.get(e))])
    if added:
        most = max(most, min(most, given) + added)
    each = [e.dtype.itemsize for e in (node, *wanted) if e.dtype]  # of a real part, complex
    if most:
        charge(math.ceil(most * max(each)))


def _in_use(total: Any) -> bool:
    """Whether NumPy cannot write a further sum into an array: a view, or one that others have."""
    if total.__class__ is not np.ndarray:
        return False
    return total.base is not None or _references(total) > _ALONE


def _references(total: Any) -> int:
    return getrefcount(total)


_place = {0: np.zeros(1)}
_ALONE = _references(_place.get(0)) + 1
"""References that ``_in_use`` counts to what only its place has: Python's versions differ."""


def _pass_by(node: Node, gone: Freed | None) -> None:
    """Free a node that no gradient arrives at, as those that run. Raises E0401, E0402."""
    _refuse_again(node)
    if writes and getattr(node.op, "by_index", None):
        verify_index(node)
    for place, value in enumerate(node.saved if node.saved.__class__ is tuple else ()):
        if isinstance(value, Tensor) and value.meta is not None:
            verify(node, place, value)
    if node.extra is not None and node.extra.out_meta is not None:
        verify(node, -1, node.extra.out_meta)
    if gone is not None and node.saved:
        node.saved = gone


def _step(
    node: Node, g: Any, arrived: dict[Node, Any], gone: Freed | None, careful: Choices | None
) -> None:
    """What ``Node.step`` does, for classes that have none, or with an eye on branches not taken."""
    pulled = _given(node, g, isinstance(g, Tensor), careful)
    for edge, r in zip(node.edges, hooks.fitted(node, pulled, node.edges), strict=True):
        if r is not None and edge is not None:  # a custom Function may give nothing, or too much
            arrived[edge] = arrived.pop(edge) + r if edge in arrived else r
    if gone is not None and node.saved:
        node.saved = gone


def _pulled(node: Node, g: Any) -> tuple[Any, ...]:
    """What the node's rules give on arrays, a place for each edge."""
    only = node.only
    if only is None:
        result: tuple[Any, ...] = node.pull(node, g)
        return result
    places: list[Any] = [None] * len(node.edges)
    places[only] = node.pull(node, g)
    return tuple(places)


def _waits(order: list[Node], roots: Sequence[Node], wanted: Set[Node] | None) -> dict[Node, int]:
    """How many contributions each leaf has to wait for."""
    waits: dict[Node, int] = {}
    for edge in (*roots, *(e for node in order for e in node.edges)):
        if edge.__class__ is AccumulateGrad and (wanted is None or edge in wanted):
            waits[edge] = waits.get(edge, 0) + 1
    return waits


def _differentiated_zeros(g: Any) -> bool:
    return isinstance(g, Tensor) and g.requires_grad and not bottom(g).array.any()


def _explained(*ask: Any) -> None:
    """``_walk``. Where anyone inspects passes, they are told what ran when an error was raised."""
    inspect = mode.inspect
    outer = inspect and inspect.running
    try:
        _walk(*ask)
    except Exception as fault:
        if inspect and inspect.running is not outer:
            inspect.explain(inspect.running, fault)
        raise
    finally:
        if inspect:
            inspect.running = outer


def _walk(
    order: list[Node], roots: Sequence[Node], arrived: dict[Node, Any], gone: Freed | None,
    recorded: bool, wanted: dict[Any, Any] | None, accumulates: bool, cut: Cut,
) -> None:  # fmt: skip
    """The pass with everything: hooks, recording, wanted inputs, branches not taken."""
    inspect = mode.inspect
    runs: Any = None  # where something is wanted: the nodes on the way there
    captures: dict[Node, list[Node]] = {}  # the nodes of wanted edges, with those edges
    if wanted is not None:
        for edge in wanted:
            captures.setdefault(edge if edge in cut else edge.origin or edge, []).append(edge)
        receive = [*captures] if accumulates else []
        if len(roots) == 1 and roots[0].__class__ is Output:
            captures.setdefault(roots[0].origin, [])  # whose hooks are those of the root
        order, runs = only_towards(captures, order, roots if len(roots) == 1 else ())
        runs.update(receive)
    waits = _waits(order, roots, None if wanted is None else captures.keys() - cut)
    zeroed = zeros_of(order, wanted, arrived.values())
    to_leaf = None if accumulates else wanted
    seeds = dict(arrived) if mode.branches else None
    if seeds is not None and recorded and all(map(_differentiated_zeros, arrived.values())):
        # As in a tangent by two backward passes: of these zeros all is wanted.
        seeds = {root: np.ones(root.shape) for root in seeds}
    careful = watching(order, seeds)
    weighed = careful is not None
    since, ends = next_number() if recorded else 0, []
    passing = Pass(order)
    if wanted is not None:  # a wanted place need not be in the graph
        passing = Towards(node for node in order if node in runs or node in captures)
        passing.wanted = {*wanted, *cut.wanted}
    mode.passing = passing
    offered: set[Node] = set()  # what a node before gave something, if only None
    for root in roots:
        if root in waits:
            waits[root] -= 1
            if not waits[root]:
                leaf: Any = root
                arrive_at_leaf(leaf, arrived.pop(leaf), recorded, to_leaf)
        elif root.__class__ is AccumulateGrad and len(roots) == 1:
            arriving(root, arrived.pop(root), recorded)  # its hooks see what it does not keep
    for node in order:
        if node.leaf:  # a Severed view has hooks for nothing
            continue
        if budget.on:
            charge(RECORDED) if recorded else _charge(node, arrived)
        if inspect:
            inspect.running = node
        g = arrived.pop(node, None)
        shut = g is None and node not in offered and node not in zeroed
        if shut:  # what led here leads to others in this pass
            pulled: tuple[Any, ...] = (None,) * len(node.edges)
        elif node.__class__ is Output:
            pulled = (None if g is None else node.pull(node, g),)
        else:
            if node.ports is not None and g is None:
                g = Cotangents([None] * len(node.outputs))
            captured = captures.get(node, ())
            if g is None and node in zeroed:
                g = zeroed.at(node, recorded)
            on = runs is None or node in runs
            saved: Any = node.saved
            kept: Any = saved if node.masks or (weighed and node.weighs) else None
            again = kept is not None or (careful is not None and node.op.kind == "bilinear")
            packed = again and hasattr(saved, "entries")
            if packed:  # which may be asked once
                node.saved = tuple(saved)
                kept = node.saved if kept is not None else None
            ask = (node, g, gone, recorded, wanted, captured, on, careful)
            pulled = _pull_watched(*ask, cut is WHOLE)
            if packed and gone is None:
                node.saved = saved
            if kept is not None and seeds is not None:
                careful = careful or Choices(order, seeds)
                careful.kept[node] = kept
            if since and seeds is not None and _of_the_user(node):
                since = next_number()
        if pulled.__class__ is AtInputs:
            for edge, r in zip(shown_edges(node), pulled, strict=True):
                if r is not None and (wanted is None or edge in runs or edge in captures):
                    arrived[edge] = arrived.pop(edge) + r if edge in arrived else r
                    offered.add(edge)
            pulled = (None,) * len(node.edges)
        for edge, r in zip(node.edges, pulled, strict=True):
            if edge is None or (wanted is not None and not (edge in runs or edge in captures)):
                continue
            if r is not None:
                if r.shape != edge.shape:
                    r = fit(r, edge.shape)
                r = cast(r, edge.dtype)  # what a hook unpacked may have any type
                arrived[edge] = arrived.pop(edge) + r if edge in arrived else r
            if not shut and not (r is None and node.__class__ is LevelDetach):
                offered.add(edge)
            if edge in waits:
                waits[edge] -= 1
                if not waits[edge]:
                    total = arrived.pop(edge, None)
                    if total is None and edge in zeroed:
                        total = zeroed.at(edge, recorded)
                    if edge in offered or total is not None:
                        ends.append(total)
                        arrive_at_leaf(edge, total, recorded, to_leaf)
    for edge in cut & captures.keys():
        wanted[edge] = arrived.get(edge)  # type: ignore[index]
    if recorded and careful is not None:
        note((*ends, *(wanted or {}).values()), since)


def _of_the_user(node: Node) -> bool:
    """Whether a function of the user's may have run with ``node``, whose choices are no rule's."""
    extra: Any = node.extra or Extra
    hooked = extra.hooks or extra.pre_hooks or extra.post_hooks
    return bool(hooked) or node.foreign or node.ports is not None


def _pull_watched(
    node: Node, g: Any, gone: Freed | None, recorded: bool, wanted: Any, captured: Sequence[Node],
    runs: bool, careful: Choices | None, hooked: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """One node's cotangents, its hooks run if ``hooked``, and its saved values released.

    ``captured`` are the edges to this node that are wanted: if the node ``runs`` they get what
    arrives, else what the tensors' hooks make of it. That is PyTorch's order.
    """
    if runs:
        _capture(captured, g, wanted)
    extra = node.extra
    if hooked and (extra is not None or node.ports is not None):
        g = arriving(node, g, recorded)
    if not runs:
        _capture(captured, g, wanted)
        return (None,) * len(node.edges)
    if hooked and extra is not None and extra.pre_hooks:
        g = before(node, g, recorded)
    watched = hooked and extra is not None and extra.post_hooks and not _nothing(g)
    shape = shown_view(node) if watched else None
    if shape is not None:
        g = hooks.of_view(node, g, shape, recorded)
    if node.foreign or not _nothing(g):
        pulled = _given(node, g, recorded, careful)
    else:
        _pass_by(node, gone)
        pulled = (None,) * len(node.edges)
    extra = node.extra  # an unpack hook may have registered one
    if extra is not None and extra.post_hooks and shape is None:
        pulled = after(node, pulled, g, recorded, at_inputs(node, g, mode.passing or ()))
    if mode.inspect is not None:
        mode.inspect.look(node, g, pulled)
    if gone is not None and node.saved:
        node.saved = gone
    return pulled


def at_inputs(node: Node, g: Any, on: Any = None) -> list[Any] | None:
    """What arrives at the inputs of a function that is composed of operators, of which ``node`` is
    the last, at those ``on`` the way alone; None where they are the inputs of the node. Raises
    RuntimeFault (E0407).
    """
    inputs = shown_edges(node)
    known = {e for e in inputs if e is not None}
    if known == {e for e in node.edges if e is not None}:
        return None
    twice = len(known) + list(inputs).count(None) < len(inputs)
    # What was written to a view tells them, where one operator computed it.
    put = twice and node.extra is not None and "written" in node.extra.params
    written = node.extra.params["written"][1].origin if put else None
    if twice and (written is None or written.edges[1:] != tuple(inputs[1:])):
        said = f"a hook of {node.name()} cannot tell the gradients of a tensor that is given twice"
        raise RuntimeFault("E0407", said, help="register hooks on the tensors")
    arrived, order = {node: g}, [node]
    seen = {None, *known}
    for inner in order:  # which grows
        order += [e for e in dict.fromkeys(inner.edges) if e not in seen and not e.leaf]
        seen.update(inner.edges)
    apart: list[Any] = []
    for inner in sorted(order, key=by_age, reverse=True):
        if (have := arrived.pop(inner, None)) is None:
            continue
        _step(inner, have, arrived, None, None)
        if inner is written:
            pulled = _given(inner, have, isinstance(have, Tensor), None)
            apart = hooks.fitted(inner, pulled, inner.edges)[1:]
    found = [*(arrived.get(e) for e in inputs[: len(inputs) - len(apart)]), *apart]
    return [r if on is None or e in on else None for r, e in zip(found, inputs, strict=True)]


def _capture(captured: Sequence[Node], g: Any, wanted: dict[Any, Any]) -> None:
    for edge in captured:
        wanted[edge] = g.parts[edge.number] if g.__class__ is Cotangents else g


def _nothing(g: Any) -> bool:
    return g is None or (g.__class__ is Cotangents and all(part is None for part in g.parts))


def _given(node: Node, g: Any, recorded: bool, careful: Choices | None) -> tuple[Any, ...]:
    """What the node's rules give, with an eye on branches not taken."""
    _refuse_again(node)
    try:
        pulled = pull_recorded(node, g, wrap) if recorded else _pulled(node, g)
    except (TypeError, AttributeError):
        _refuse_again(node)
        raise
    if careful is not None and node.op.kind in CHOSEN:
        pulled = taken(node, g, pulled, careful)
    return pulled


def _refuse_again(node: Node) -> None:
    """Raise E0401 where the values are freed, if only by another thread's pass meanwhile; of a
    custom Function not: that one looks at its saved tensors."""
    if node.saved.__class__ is Freed and node.op.__class__ is not Part:
        raise freed(node) from None
