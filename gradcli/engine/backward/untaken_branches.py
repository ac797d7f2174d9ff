"""Branches not taken: where a cotangent is 0 because ``where`` chose otherwise, nothing flows.

Plain arithmetic would make NaN of 0 times an infinite slope. Only a result that is not finite is
looked at, and only where every cotangent that reaches the entry is 0; so where nothing went wrong
this costs one test. A cotangent may be 0 by its numbers as well, as that of sqrt in sqrt(x)**2 at
0, and then NaN is right: which it is, a second pass over what has run finds out, see ``Choices``.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from gradcli.engine.graph.node import Cotangents, Freed, Node
from gradcli.engine.record.cotangents import fit
from gradcli.engine.record.rule_compiler import assemble
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.comparison import all_finite
from gradcli.ops.dims import normal_dims
from gradcli.ops.operator import OPERATORS, is_complex

CHOSEN = frozenset(("elementwise", "bilinear", "reduction", "general"))
"""The kinds of operators whose rules multiply by a slope."""
MOVES = frozenset(("joint", "linear", "output"))
"""The kinds of nodes that a pass with slopes of 1 goes through as it is."""


class Choices:
    """The nodes that chose between branches in a pass so far.

    ``seeds`` is what the pass began with, and ``order`` its nodes.
    """

    __slots__ = ("kept", "order", "seeds")

    def __init__(self, order: Sequence[Node], seeds: dict[Node, Any]) -> None:
        self.order = order
        self.seeds = seeds
        self.kept: dict[Node, Any] = {}  # with what they saved, which is freed behind them

    def live(self, node: Node) -> Any:
        """Positive where a cotangent reaches ``node`` on branches that were taken, else 0: the
        pass itself with slopes of 1. None in a transform."""
        lit: dict[Node, Any] = {}
        for root, seed in self.seeds.items():
            if not isinstance(_raw(seed), np.ndarray | np.generic):
                return None
            lit[root] = (_raw(seed) != 0).astype(np.float64)
        for n in self.order:
            if n is node:
                break
            if (on := lit.pop(n, None)) is None:
                continue
            for edge, r in zip(n.edges, self._passed(n, on), strict=True):
                if edge is not None and r is not None:
                    r = r if r.__class__ is Cotangents else fit(np.abs(r), edge.shape)
                    lit[edge] = lit[edge] + r if edge in lit else r
        return lit.get(node)

    def _passed(self, node: Node, on: Any) -> Sequence[Any]:
        """What ``live`` has of a node for each of its edges."""
        op = node.op
        if node in self.kept or (op.kind in MOVES and node.saved.__class__ is not Freed):
            whole = copy(node)
            whole.saved = self.kept.get(node, node.saved)
            both = is_complex(node) and on.__class__ is not Cotangents
            pulled: Sequence[Any] = whole.pull(whole, on * (1 + 1j) if both else on)
            if node.only is None:
                return pulled
            return [pulled if i == node.only else None for i in range(len(node.edges))]
        some = on.__class__ is Cotangents or on.any()
        mixes = op.kind not in CHOSEN or (op.kind == "bilinear" and not op.entrywise)
        idle = [
            None if e is None or mixes else _idle(node, on, on.shape if op.entrywise else e.shape)
            for e in node.edges
        ]
        return [
            None if e is None else np.full(e.shape, 1.0 * some) if i is None else 1.0 - i
            for e, i in zip(node.edges, idle, strict=True)
        ]


def taken(node: Node, g: Any, pulled: tuple[Any, ...], choices: Choices) -> tuple[Any, ...]:
    """The cotangents ``pulled`` by a node, 0 wherever only zeros of ``g`` lead."""
    return tuple(
        r if r is None or all_finite(_raw(r)) else _mended(node, i, g, r, choices)
        for i, r in enumerate(pulled)
    )


def _mended(node: Node, i: int, g: Any, r: Any, choices: Choices) -> Any:
    """The cotangent ``r`` of input ``i``, not all of it finite, as ``taken`` gives it."""
    if hasattr(r, "each_of"):  # a batch of cotangents
        return r.each_of(_of_element, (node, i, g, r, choices, *choices.seeds.values()), {})
    raw = _raw(r)
    finite = np.isfinite(raw)
    if finite.all():  # though their squares are not
        return r
    if g.__class__ is Cotangents:
        return r
    zero, live = _raw(g) == 0, choices.live(node)
    if live is not None:
        zero &= live == 0
    if node.op.kind == "bilinear" and not node.op.entrywise:
        return _product(node, i, g, r, ~zero)
    idle = _idle(node, ~zero, raw.shape)
    # Only where 0 met inf or NaN: what is 0 otherwise has its own derivative.
    return r if idle is None else _choose(~finite & idle, 0.0, r)


def _of_element(node: Node, i: int, g: Any, r: Any, choices: Choices, *seeds: Any) -> Any:
    one = Choices(choices.order, dict(zip(choices.seeds, seeds, strict=True)))
    one.kept = choices.kept
    return _mended(node, i, g, r, one)


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
    while getattr(value, "__gradcli_rank__", 1) > 1:  # a batch
        value = value.content
    return value.array if isinstance(value, Tensor) else value


def _choose(condition: Any, x: Any, y: Any) -> Any:
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return OPERATORS["where"](condition, x, y)
    return np.where(condition, x, y)[()]


def _idle(node: Node, g: Any, shape: tuple[Any, ...]) -> Any:
    """Where in ``shape`` only zeros of the cotangent lead; None where entries are mixed."""
    zero = _raw(g) == 0
    if node.op.kind in ("reduction", "general"):
        params = node.extra.params if node.extra is not None else {}
        if "dim" not in params:
            return None
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
