"""Branches not taken: where a cotangent is 0 because ``where`` chose otherwise, nothing flows.

Plain arithmetic would make NaN of 0 times an infinite slope. Only a result that is not finite is
looked at, and only where every cotangent that reaches the entry is 0; so where nothing went wrong
this costs one test.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.engine.graph.node import Node
from gradcli.engine.record.rule_compiler import assemble
from gradcli.engine.tensor.tensor import Tensor
from gradcli.ops.comparison import all_finite
from gradcli.ops.dims import normal_dims
from gradcli.ops.operator import OPERATORS

CHOSEN = frozenset(("elementwise", "bilinear", "reduction", "general"))
"""The kinds of operators whose rules multiply by a slope."""


def chosen(op: Any) -> bool:
    """Whether the cotangents that an operator gives are looked at."""
    return op.kind in CHOSEN and not op.sharp


def taken(node: Node, g: Any, pulled: tuple[Any, ...]) -> tuple[Any, ...]:
    """The cotangents ``pulled`` by a node, 0 wherever only zeros of ``g`` lead."""
    return tuple(
        r if r is None or all_finite(_raw(r)) else _mended(node, i, g, r)
        for i, r in enumerate(pulled)
    )


def _mended(node: Node, i: int, g: Any, r: Any) -> Any:
    """The cotangent ``r`` of input ``i``, not all of it finite, as ``taken`` gives it."""
    if hasattr(r, "each_of"):  # a batch of cotangents
        return r.each_of(_mended, (node, i, g, r), {})
    raw = _raw(r)
    finite = np.isfinite(raw)
    if finite.all():  # though their squares are not
        return r
    if node.op.kind == "bilinear" and not node.op.entrywise:
        return _product(node, i, g, r)
    idle = _idle(node, g, raw.shape)
    # Only where 0 met inf or NaN: a cotangent that is 0 by chance has its own derivative.
    return r if idle is None else _choose(~finite & idle, 0.0, r)


def careful_step(node: Node, g: Any, arrived: dict[Node, Any], gone: Any) -> None:
    """``Node.careful`` of a class that has none yet: it is written out, and does the step."""
    cls: Any = node.__class__
    step = cls.step
    if chosen(cls.op):
        step = assemble(cls.op, cls.numbers, cls.is_complex, careful=_mended)[1]
    cls.careful = staticmethod(step)
    step(node, g, arrived, gone)


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


def _product(node: Node, i: int, g: Any, r: Any) -> Any:
    """A bilinear rule's result without the terms 0 * inf, the others as they are.

    The same rule runs twice more, on the finite part of the other operand, and on where it is not
    finite against where g is not 0: entries that the second reaches keep their inf or NaN.
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

    some = np.abs(pull((_raw(g) != 0).astype(np.float64), bad.astype(np.float64))) > 0
    operand = other if isinstance(g, Tensor) else other.array
    return _choose(some, r, pull(g, _choose(bad, 0.0, operand)))
