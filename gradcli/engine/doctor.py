"""Where a NaN or an infinity comes from: the first operation that made one, forward and backward.

No text is written here: a front end shows the ``Finding``.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from gradcli.engine.anomaly import place_of
from gradcli.engine.backward import collect, run, start
from gradcli.engine.graph import AccumulateGrad, Cotangents, Node
from gradcli.engine.modes import mode
from gradcli.engine.tensor import Tensor
from gradcli.engine.values import constant, values_of


class Finding:
    """The first value that is not finite.

    operator   the operator's name, ``"leaf"`` for a number that was given
    node       its node in the graph
    index      the place of the first such entry, a tuple; ``()`` for a single number
    value      the entry: nan, inf or -inf
    count      how many entries are not finite, of ``size``
    operands   for each operand its value at that place, None where it is not known or where the
               operator does not work entry by entry
    place      ``(code object, line)`` of the forward call, where anomaly mode noted it
    input      in the backward pass: which operand the gradient belongs to
    cotangent  in the backward pass: what arrived at that place, None where shapes differ
    """

    __slots__ = (
        "cotangent", "count", "index", "input", "node", "operands", "operator", "place", "size",
        "value",
    )  # fmt: skip

    def __init__(self, node: Node, raw: Any, operands: tuple) -> None:
        bad = ~np.isfinite(raw)
        self.node = node
        self.operator = node.op.name
        self.index = tuple(int(i) for i in np.argwhere(bad)[0]) if np.ndim(raw) else ()
        self.value = raw[self.index].item() if np.ndim(raw) else raw.item()
        self.count = int(np.count_nonzero(bad))
        self.size = int(np.size(raw))
        self.operands = tuple(_entry(o, self.index, np.shape(raw)) for o in operands)
        self.place = place_of(node)
        self.input: int | None = None
        self.cotangent: Any = None

    def __repr__(self) -> str:
        return (
            f"Finding({self.operator}, {self.value} at {self.index}, {self.count} of {self.size}, "
            f"operands {self.operands})"
        )


def _entry(operand: Any, index: tuple, shape: tuple) -> Any:
    """An operand's entry where the result has ``index``; None where entries do not correspond."""
    if operand is None:
        return None
    try:
        return np.broadcast_to(operand, shape)[index].item()
    except ValueError:
        return None


def _bad(raw: Any) -> bool:
    if not isinstance(raw, np.ndarray | np.generic) or raw.dtype.kind not in "fc":
        return False
    return not np.isfinite(raw).all()


def _entry_by_entry(node: Node) -> bool:
    return node.op.kind == "elementwise" or node.op.name in ("add", "sub", "mul", "neg", "clone")


def _operands(node: Node, known: dict) -> tuple:
    if not _entry_by_entry(node):
        return (None,) * len(node.edges)
    return tuple(
        constant(node, i) if edge is None else known.get(edge) for i, edge in enumerate(node.edges)
    )


def first_nonfinite(root: Tensor) -> Finding | None:
    """The oldest operation behind ``root`` whose result is not finite, or None.

    Call it before backward frees the graph. A value that the graph did not keep and that cannot be
    computed again is passed over.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 0.0, -1.0], requires_grad=True)
        >>> first_nonfinite(gradcli.log(x).sum())
        Finding(log, -inf at (1,), 2 of 3, operands (0.0,))
    """
    if root.edge is None:
        return None
    order = sorted(collect([root.edge]), key=attrgetter("seq"))
    known = values_of(order, {root.edge: root}, {})
    for node in order:
        raw = known.get(node)
        if raw is not None and _bad(raw):
            return Finding(node, raw, _operands(node, known))
    return None


class _Found(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.finding = finding


class _Search:
    """Looks at every step of backward, for ``mode.inspect``."""

    def __init__(self, known: dict) -> None:
        self.known = known

    def look(self, node: Node, g: Any, pulled: tuple) -> None:
        for number, r in enumerate(pulled):
            if r is None or r.__class__ is Cotangents or not _bad(r):
                continue
            finding = Finding(node, np.asarray(r)[()], _operands(node, self.known))
            finding.input = number
            if g.__class__ is not Cotangents:
                finding.cotangent = _entry(g, finding.index, np.shape(r))
            raise _Found(finding)

    def explain(self, node: Node, fault: Exception) -> None:
        """Errors of backward pass through."""


def first_nonfinite_gradient(root: Tensor, cotangent: Any = None) -> Finding | None:
    """The first operation on the way back from ``root`` whose gradient is not finite, or None.

    No leaf's gradient is touched and the graph is kept. ``cotangent`` as for ``backward``.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([4.0, 0.0], requires_grad=True)
        >>> found = first_nonfinite_gradient(gradcli.sqrt(x).sum())
        >>> found.operator, found.value, found.index, found.operands, found.cotangent
        ('sqrt', inf, (1,), (0.0,), 1.0)
    """
    if root.edge is None:
        return None
    order = collect([root.edge])
    known = values_of(sorted(order, key=attrgetter("seq")), {root.edge: root}, {})
    leaves = {node: None for node in order if node.__class__ is AccumulateGrad}
    roots, cotangents = start([root], [cotangent], False)
    before, mode.inspect = mode.inspect, _Search(known)
    try:
        run(roots, cotangents, True, False, leaves)
    except _Found as found:
        return found.finding
    finally:
        mode.inspect = before
    return None


__all__ = ["Finding", "first_nonfinite", "first_nonfinite_gradient"]
