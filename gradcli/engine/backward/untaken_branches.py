"""Branches not taken: where a cotangent is 0 because ``where`` chose otherwise, nothing flows.

Plain arithmetic would make NaN of 0 times an infinite slope. Only a result that is not finite is
looked at, and only where every cotangent that reaches the entry is 0; so where nothing went wrong
this costs one test. A cotangent may be 0 by its numbers as well, as that of sqrt in sqrt(x)**2 at
0, and then NaN is right: which it is, a second pass over what has run finds out, see ``Choices``.

In the graph of a gradient the 0 of a branch is a factor, which may have no history any more::

    n = norm(x)     y = where(n > 0, n, 0)     grad(y, x) is g * direction(x, n), and g is 0

Nothing flows from that product to the direction, which has no slope where n is 0. A factor that is
0 where the gradient was recorded counts so if it depends on nothing; that of norm(x)**2 does not.
Nor does relu's slope of 0 at 0, which is a convention: that of relu(norm(x))**2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from gradcli.engine.grad_mode import mode
from gradcli.engine.graph.node import Cotangents, Freed, Node, copied, more
from gradcli.engine.record.composite import bottom
from gradcli.engine.record.cotangents import fit
from gradcli.engine.record.rule_compiler import assemble
from gradcli.engine.tensor.tensor import Plain, Tensor
from gradcli.ops.comparison import all_finite
from gradcli.ops.declaration.batching import matrices, vectors
from gradcli.ops.dims import normal_dims
from gradcli.ops.linalg import solved
from gradcli.ops.operator import OPERATORS, Operator, is_complex
from gradcli.ops.products import multiplied

CHOSEN = frozenset(("elementwise", "bilinear", "reduction", "general"))
"""The kinds of operators whose rules multiply by a slope."""
_CORE: dict[Any, int] = {vectors: 1, matrices: 2, solved: 2, multiplied: 2}
"""Of how many of the last dimensions one value is made of which an operator takes many."""
MOVES = frozenset(("joint", "linear", "output", "piecewise_linear"))
"""The kinds of nodes that a pass with slopes of 1 goes through as it is."""


def note(gradients: Iterable[Any], since: int) -> None:
    """A pass that met choices has recorded ``gradients``, in nodes of the number ``since`` on."""
    for g in map(bottom, gradients):
        if isinstance(g, Plain) and g.edge is not None:
            mode.twice = True
            more(g.edge).since = since


def watching(order: Sequence[Node], seeds: dict[Node, Any] | None) -> Choices | None:
    """``Choices`` of a pass over what such a pass recorded; None of others."""
    if seeds is None or not mode.twice:
        return None
    ends = [n for n in order if n.extra is not None and n.extra.since]
    return Choices(order, seeds, ends) if ends else None


class Choices:
    """The nodes that chose between branches in a pass so far.

    ``seeds`` is what the pass began with, ``order`` its nodes; at ``ends`` passes before it ended
    that recorded some of these.
    """

    def __init__(
        self, order: Sequence[Node], seeds: dict[Node, Any], ends: Sequence[Node] = ()
    ) -> None:
        self.order, self.seeds, self.ends = order, seeds, ends
        self.kept: dict[Node, Any] = {}  # with what they saved, which is freed behind them
        self.varying: dict[Node, Any] = {}
        # Of seeds that are not 0 at these places: how far ``live`` has come in the order, with what
        # it has of the nodes behind.
        self.reached: dict[tuple[bytes, ...], tuple[int, dict[Node, Any]]] = {}

    @cached_property
    def made(self) -> set[Node]:
        """The nodes that passes before have recorded."""
        older = ((end, lambda n, since=end.extra.since: n.seq < since) for end in self.ends)
        return {n for end, known in older for n in _behind(end, known)}

    def live(self, node: Node, seeds: Iterable[Any]) -> Any:
        """Positive where a cotangent reaches ``node`` on branches that were taken, else 0: the
        pass itself with slopes of 1, from ``seeds``. None in a transform."""
        raw = list(map(_raw, seeds))
        if not all(isinstance(seed, np.ndarray | np.generic) for seed in raw):
            return None
        some = [1.0 * (seed != 0) for seed in raw]
        key = tuple(seed.tobytes() for seed in some)
        at, lit = self.reached.get(key) or (0, dict(zip(self.seeds, some, strict=True)))
        while (n := self.order[at]) is not node:  # asked for in this order
            at += 1
            if (on := lit.pop(n, None)) is None:
                continue
            for edge, r in zip(n.edges, self._passed(n, on), strict=True):
                if edge is not None and r is not None:
                    r = r if r.__class__ is Cotangents else 1.0 * (fit(np.abs(r), edge.shape) != 0)
                    lit[edge] = lit[edge] + r if edge in lit else r
        self.reached[key] = at, lit
        return lit.get(node)

    def _passed(self, node: Node, on: Any) -> Sequence[Any]:
        """What ``live`` has of a node for each of its edges."""
        op = node.op
        saved = self.kept.get(node, node.saved)
        known = saved.__class__ is not Freed and not hasattr(saved, "entries")  # nor packed
        if (node.masks or op.kind in MOVES) and known:
            whole = copied(node, saved=saved)
            if on.__class__ is not Cotangents:
                on = _uneven(on) * (1 + 1j if is_complex(node) else 1)
            pulled: Any = whole.pull(whole, on)
            if node.only is not None:
                pulled = [pulled if i == node.only else None for i in range(len(node.edges))]
            tied = _tied(node, saved)
            if np.any(tied):
                pulled = [r if r is None else np.where(tied, on, r) for r in pulled]
            return pulled  # type: ignore[no-any-return]
        many = on.__class__ is Cotangents
        some = many or on.any()
        idle = [
            None if e is None or many else _idle(node, on, on.shape if op.entrywise else e.shape)
            for e in node.edges
        ]
        return [
            None if e is None
            else self._weight(node, i) * (np.full(e.shape, 1.0 * some) if at is None else 1.0 - at)
            for i, (e, at) in enumerate(zip(node.edges, idle, strict=True))
        ]  # fmt: skip

    def _weight(self, node: Node, i: int) -> Any:
        """0 where the other input of a product is 0 all around, so that input ``i`` counts for
        nothing; else 1."""
        op, saved = node.op, self.kept.get(node, node.saved)
        if not (node.weighs and op.inputs[1 - i] in op.vanishes and node in self.made):
            return 1.0
        if saved.__class__ is not tuple or not saved or node.edges[i] is None:
            return 1.0
        other, zero = node.edges[1 - i], _raw(saved[1 - i]) == 0
        if other is not None and np.any(zero):
            zero = zero & (self._varies(other) == 0)
        return 1.0 - (zero if op.entrywise else _by_matrix(op, zero, node.edges[i].shape))

    def _varies(self, node: Node) -> Any:
        """Positive where the result of ``node`` depends on anything, on the branches that were
        taken: ``live`` in the other direction."""
        for n in sorted(_behind(node, self.varying.__contains__), key=attrgetter("seq")):
            self.varying[n] = self._forward(n)
        return self.varying[node]

    def _forward(self, node: Node) -> Any:
        """What ``_varies`` has of a node whose inputs it has."""
        op, edges = node.op, node.edges
        lit = [0.0 if e is None else self.varying[e] for e in edges]
        if op.kind == "piecewise_linear":
            (slope, end), on = edges, lit[0]
            if slope is not None and end.op.node.get("backward") == node.extra.params["called"]:
                reaching = sum(self.varying[e] for e in slope.edges if e is not None)
                on = on + reaching * _tied(end, end.saved)
            return np.broadcast_to(on, node.shape)
        if op.entrywise:
            # What the program chose may be at the border of its choice, and then is 0 only there.
            by_rules = node in self.made
            at = self._passed(node, np.ones(node.shape)) if by_rules else [1.0] * len(lit)
            on = sum(on * np.abs(a) for on, a in zip(lit, at, strict=True) if a is not None)
            return np.broadcast_to(1.0 * (on != 0), node.shape)
        lead = any(np.any(on * self._weight(node, i)) for i, on in enumerate(lit))
        some = np.full(node.shape, 1.0 * (node.leaf or lead))
        many = node.outputs is not None
        if op.kind != "linear" or many or any(e is not None and is_complex(e) for e in edges):
            return some
        if op.variadic:
            lit = [np.broadcast_to(on, s) for on, s in zip(lit, node.extra.shapes, strict=True)]
        elif None in edges:
            return some
        given = {n: node.extra.params[n] for n in op.params}
        return np.abs(op.compute(*map(_uneven, lit), **given))


def _behind(node: Node, known: Callable[[Node], bool]) -> list[Node]:
    """``node`` and all that is behind it, up to what is ``known``."""
    order, seen = [node] * (not known(node)), {None, node}
    for n in order:  # which grows
        order += [e for e in dict.fromkeys(n.edges) if e not in seen and not known(e)]
        seen.update(n.edges)
    return order


def _tied(node: Node, saved: Any) -> Any:
    """Where a choice is at its border, so that a slope of 0 there is a convention and no branch.

    Of NaN, which bounds that are numbers pass on, their slope of 0 is none either.
    A rectifier has saved its result alone, which is 0 of all that is below 0 too: what it was given
    is asked of the operator behind it, if that saved what it made or made it of.
    """
    breaks = node.op.breaks if node.masks else ""
    if node.masks and not breaks:
        return np.isnan(_raw(saved[0]))
    if breaks == "ties":
        return np.equal(*map(_raw, saved[:2]))
    behind = node.edges[0] if breaks == "0" else None
    if behind is None or behind.op.kind not in CHOSEN:
        return False
    known = behind.saved
    if not known or known.__class__ is not tuple:
        return False
    *given, made = map(_raw, known)
    if made is None:
        if any(v is None for v in given):
            return False
        made = behind.op.compute(*given, **{n: behind.extra.params[n] for n in behind.op.params})
    return np.equal(made, 0.0)


def _uneven(on: Any) -> Any:
    """``on`` times numbers that do not cancel."""
    return on * np.random.default_rng(0).uniform(1.0, 2.0, np.shape(on))


def taken(node: Node, g: Any, pulled: tuple[Any, ...], choices: Choices) -> tuple[Any, ...]:
    """The cotangents ``pulled`` by a node, 0 wherever only zeros of ``g`` lead."""
    return tuple(
        r if r is None or all_finite(_raw(r)) else _mended(node, i, g, r, choices)
        for i, r in enumerate(pulled)
    )


def _mended(node: Node, i: int, g: Any, r: Any, choices: Choices, *seeds: Any) -> Any:
    """The cotangent ``r`` of input ``i``, not all of it finite, as ``taken`` gives it.

    ``seeds`` are those of an element of a batch.
    """
    seeds = seeds or tuple(choices.seeds.values())
    if hasattr(r, "each_of"):  # a batch of cotangents
        return r.each_of(_mended, (node, i, g, r, choices, *seeds), {})
    raw = _raw(r)
    finite = np.isfinite(raw)
    if finite.all():  # though their squares are not
        return r
    if g.__class__ is Cotangents:
        return r
    zero, live = _raw(g) == 0, choices.live(node, seeds)
    if live is not None:
        zero &= live == 0
    if node.op.kind == "bilinear" and not node.op.entrywise:
        return _product(node, i, g, r, ~zero)
    idle = _idle(node, ~zero, raw.shape)
    # Only where 0 met inf or NaN: what is 0 otherwise has its own derivative.
    return r if idle is None else _choose(~finite & idle, 0.0, r)


def careful_step(
    node: Node, g: Any, arrived: dict[Node, Any], gone: Any, choices: Choices
) -> None:  # fmt: skip
    """``Node.careful`` of a class that has none yet: it is written out, and does the step."""
    cls: Any = node.__class__
    plain = cls.step
    step: Any = lambda node, g, arrived, gone, choices: plain(node, g, arrived, gone)  # noqa: E731
    if cls.op.kind in CHOSEN:
        step = assemble(cls.op, cls.numbers, cls.is_complex, careful=_mended)[1]
    cls.careful = staticmethod(step)
    step(node, g, arrived, gone, choices)


Node.careful = staticmethod(careful_step)


def _raw(value: Any) -> Any:
    value = bottom(value)
    return value.array if isinstance(value, Tensor) else value


def _choose(condition: Any, x: Any, y: Any) -> Any:
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return OPERATORS["where"](condition, x, y)
    return np.where(condition, x, y)[()]


def _idle(node: Node, g: Any, shape: tuple[Any, ...]) -> Any:
    """Where in ``shape`` only zeros of the cotangent lead; None where entries are mixed."""
    op, zero = node.op, _raw(g) == 0
    if op.kind not in (*CHOSEN, "constant") or (op.kind == "bilinear" and not op.entrywise):
        return _by_matrix(op, zero, shape)
    if op.kind in ("reduction", "general"):
        params = node.extra.params if node.extra is not None else {}
        if "dim" not in params:
            return _by_matrix(op, zero, shape)
        dim = params["dim"]
        if np.shape(zero) == shape and not params.get("keepdim", False):
            # softmax and its like: each entry depends on all along the dimension.
            zero = np.all(zero, axis=normal_dims(dim, len(shape)), keepdims=True)
        elif not params.get("keepdim", False) and dim is not None:
            zero = np.expand_dims(zero, normal_dims(dim, len(shape)))
    try:
        return np.broadcast_to(zero, shape)
    except ValueError:
        return None


def _by_matrix(op: Operator, zero: Any, shape: tuple[Any, ...]) -> Any:
    """Where in ``shape`` all of ``zero`` is true: of matrices, or of lines, each by itself."""
    core = _CORE.get(op.batching, len(shape))
    lead = shape[: max(len(shape) - core, 0)]
    if np.shape(zero)[: len(lead)] != lead:
        lead = ()
    zero = np.all(zero, axis=tuple(range(len(lead), np.ndim(zero))))
    return np.broadcast_to(zero.reshape(lead + (1,) * (len(shape) - len(lead))), shape)


def _product(node: Node, i: int, g: Any, r: Any, live: Any) -> Any:
    """A bilinear rule's result without the terms 0 * inf, the others as they are.

    The same rule runs twice more, on the finite part of the other operand, and on where it is not
    finite against where g is ``live``: entries that the second reaches keep their inf or NaN.
    """
    op = node.op
    name = op.inputs[1 - i]
    if name not in op.reads[i] or not isinstance(node.saved[1 - i], Tensor):
        return r
    other = node.saved[1 - i]
    bad = ~np.isfinite(other.array)
    if not bad.any():
        return r
    given = {"shape": node.edges[i].shape, **(node.extra.params if node.extra is not None else {})}

    def pull(cotangent: Any, operand: Any) -> Any:
        given.update({"g": cotangent, name: operand})
        return op.rules[i](*(given[n] for n in op.reads[i]))

    some = np.abs(pull(live.astype(np.float64), bad.astype(np.float64))) > 0
    operand = other if isinstance(g, Tensor) else other.array
    return _choose(some, r, pull(g, _choose(bad, 0.0, operand)))
