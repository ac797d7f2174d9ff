"""Recorded gradients of operators that are linear between their kinks: they lead to the input too.

    y = relu(x)     g = grad(y.sum(), x, create_graph=True)     grad(g.sum(), x) is zeros

The slope does not change with x, and where nothing else needs a gradient the rule leaves none in
the graph. PyTorch's backward kernels have x, or y, among their inputs all the same: g requires a
gradient, and a further derivative is zeros, not the error of an input that is not used. These zeros
do not go through the graph: the places behind that get nothing else receive them at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradcli.engine.graph.node import Cotangents, Extra, Node, Part, collect
from gradcli.engine.tensor.tensor import Plain, Tensor, wrap
from gradcli.ops.cupy_compat import zeros


class PiecewiseLinearBackward(Node):
    """A cotangent that such an operator gave, with the operator's input behind it."""

    __slots__ = ()
    made = False  # whether any graph has such a node
    op = Part("piecewise_linear", "piecewise_linear")

    def __init__(self, title: str, cotangent: Tensor, end: Node) -> None:
        edges, shape = (cotangent.edge, end), cotangent.array.shape
        super().__init__(edges, cotangent.dtype, shape, Extra({"called": title}))

    @staticmethod
    def pull(node: PiecewiseLinearBackward, g: Any) -> tuple[Any, ...]:
        """The cotangent as it is; for the input see ``Zeros``."""
        return g, None


def leading(pulled: tuple[Any, ...], title: str, end: Node | None) -> tuple[Any, ...]:
    """``pulled`` with its cotangents leading to ``end`` too: the edge of the input, or for an
    operator of which PyTorch saves the result its own node."""
    if end is None:
        return pulled
    PiecewiseLinearBackward.made = True

    def led(g: Any) -> Any:
        if not isinstance(g, Plain):
            return g
        return wrap(g.array, g.dtype, PiecewiseLinearBackward(title, g, end))

    return tuple(led(g) for g in pulled)


class Zeros(frozenset[Node]):
    """The leaves and wanted places of a pass that get zeros where no cotangent arrives."""

    like: Any  # an array of the pass, for where zeros are to be

    def at(self, place: Node, recorded: bool) -> Any:
        """The zeros of one of them."""
        array = zeros(self.like, place.shape).astype(place.dtype.numpy, copy=False)
        return wrap(array, place.dtype) if recorded else array


NOWHERE = Zeros()


def zeros_of(order: Iterable[Node], wanted: Any, cotangents: Iterable[Any]) -> Zeros:
    """Those of a pass that begins with ``cotangents``."""
    if not PiecewiseLinearBackward.made:
        return NOWHERE
    ends = [node.edges[1] for node in order if isinstance(node, PiecewiseLinearBackward)]
    if not ends:
        return NOWHERE
    found = Zeros(  # and what has hooks, which are shown them
        n for n in collect(ends) if n.leaf or n.extra is not None or n in (wanted or ())
    )
    like: Any = next((g for g in cotangents if not isinstance(g, Cotangents)), np.zeros(()))
    while getattr(like, "__gradcli_rank__", 1) > 1:  # a batch of cotangents
        like = like.content
    found.like = like.array if isinstance(like, Tensor) else like
    return found
