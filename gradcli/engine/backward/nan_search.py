"""Where a NaN or an infinity comes from: the first operation that made one, forward and backward.

No text is written here: a front end shows the ``Finding``.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from gradcli.engine.backward.anomaly import detect_anomaly, place_of
from gradcli.engine.backward.api import start
from gradcli.engine.backward.node_values import constant, values_of
from gradcli.engine.backward.traverse import run
from gradcli.engine.grad_mode import mode
from gradcli.engine.graph.node import AccumulateGrad, Cotangents, Node, collect
from gradcli.engine.tensor.tensor import Tensor, wrap


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
    reaches    whether the result looked at is not finite because of this one
    input      in the backward pass: which operand the gradient belongs to
    cotangent  in the backward pass: what arrived at that place, None where shapes differ
    """

    __slots__ = (
        "cotangent", "count", "index", "input", "node", "operands", "operator", "place", "reaches",
        "size", "value",
    )  # fmt: skip

    def __init__(self, node: Node, raw: Any, operands: tuple[Any, ...]) -> None:
        bad = ~np.isfinite(raw)
        self.node = node
        self.operator = node.op.name
        self.index = tuple(int(i) for i in np.argwhere(bad)[0]) if np.ndim(raw) else ()
        self.value = raw[self.index].item() if np.ndim(raw) else raw.item()
        self.count = int(np.count_nonzero(bad))
        self.size = int(np.size(raw))
        self.operands = tuple(_entry(o, self.index, np.shape(raw)) for o in operands)
        self.place = place_of(node)
        self.reaches = True
        self.input: int | None = None
        self.cotangent: Any = None

    def __repr__(self) -> str:
        return (
            f"Finding({self.operator}, {self.value} at {self.index}, {self.count} of {self.size}, "
            f"operands {self.operands})"
        )


def _entry(operand: Any, index: tuple[Any, ...], shape: tuple[Any, ...]) -> Any:
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


def _inputs(node: Node, known: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(
        constant(node, i) if edge is None else known.get(edge) for i, edge in enumerate(node.edges)
    )


def _operands(node: Node, known: dict[Any, Any]) -> tuple[Any, ...]:
    return _inputs(node, known) if node.op.entrywise else (None,) * len(node.edges)


def _values(root: Tensor) -> tuple[list[Node], dict[Any, Any]]:
    order = sorted(collect([root.edge]), key=attrgetter("seq"))
    return order, values_of(order, {root.edge: root})


def first_nonfinite(root: Tensor) -> Finding | None:
    """The oldest operation behind ``root`` whose result is not finite, or None.

    Where ``root`` itself is not finite, only what it got from is looked at: a NaN in the branch of
    ``where`` that was not taken is not the cause. Where it is finite, ``reaches`` of the finding is
    False. Call it before backward frees the graph. A value that the graph did not keep and that
    cannot be computed again is passed over.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([1.0, 0.0, -1.0], requires_grad=True)
        >>> first_nonfinite(gradcli.log(x).sum())
        Finding(log, -inf at (1,), 2 of 3, operands (0.0,))
    """
    if root.edge is None:
        return None
    order, known = _values(root)
    reaches = _bad(root.array)
    causes = _causes(root.edge, known) if reaches else set()
    for node in order:
        raw = known.get(node)
        if raw is not None and _bad(raw) and (not reaches or node in causes):
            finding = Finding(node, raw, _operands(node, known))
            finding.reaches = reaches
            return finding
    return None


def _causes(root: Node, known: dict[Any, Any]) -> set[Node]:
    """The nodes whose values are not finite and that hand this on to ``root``."""
    found = {root}
    work = [root]
    while work:
        node = work.pop()
        inputs = _inputs(node, known)
        for place, edge in enumerate(node.edges):
            if edge is None or edge in found:
                continue
            # What is not known may hand it on.
            if inputs[place] is None or _bad(_taken(node, inputs, place)):
                found.add(edge)
                work.append(edge)
    return found


def _taken(node: Node, inputs: tuple[Any, ...], place: int) -> Any:
    """An input as far as the result holds it: of a branch of a choice the entries chosen."""
    if node.op.dtypes != "where" or inputs[0] is None:
        return inputs[place]
    chosen = inputs[0] if place == 1 else np.logical_not(inputs[0])
    return np.where(chosen, inputs[place], 0.0)


class GradientFound(BaseException):
    """Ends a backward pass at the first gradient that is not finite: ``finding`` says which.

    No error of the user's code, so nothing that handles those catches it.
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.finding = finding


class _Search:
    """Looks at every step of backward, for ``mode.inspect``."""

    def __init__(self, known: dict[Any, Any] | None = None) -> None:
        self.known = known
        self.running: Node | None = None  # for the pass that it looks at

    def look(self, node: Node, g: Any, pulled: tuple[Any, ...]) -> None:
        for number, r in enumerate(pulled):
            raw = r.array if isinstance(r, Tensor) else r
            if raw is None or raw.__class__ is Cotangents or not _bad(raw):
                continue
            known = self.known
            if known is None:
                order = sorted(collect([node]), key=attrgetter("seq"))
                known = values_of(order, {})
            finding = Finding(node, np.asarray(raw)[()], _operands(node, known))
            finding.input = number
            if g.__class__ is not Cotangents:
                cotangent = g.array if isinstance(g, Tensor) else g
                finding.cotangent = _entry(cotangent, finding.index, np.shape(raw))
            raise GradientFound(finding)

    def explain(self, node: Node, fault: Exception) -> None:
        """Errors of backward pass through."""


class stop_at_nonfinite(detect_anomaly):
    """Inside, every backward pass ends with ``GradientFound`` at a gradient that is not finite.

    Recorded nodes note their places, as in anomaly mode, and the numbers they were given.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor(0.0, requires_grad=True)
        >>> with stop_at_nonfinite():
        ...     try:
        ...         gradcli.sqrt(x).backward()
        ...     except GradientFound as stop:
        ...         print(stop.finding)
        Finding(sqrt, inf at (), 1 of 1, operands (0.0,))
    """

    def __init__(self) -> None:
        super().__init__()
        self.looker: Any = _Search()
        self.annotated: list[bool] = []

    def __enter__(self) -> None:
        self.annotated.append(mode.annotate)
        mode.annotate = True
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        mode.annotate = self.annotated.pop()


def first_nonfinite_gradient(root: Tensor) -> Finding | None:
    """The first operation on the way back from ``root`` whose gradient is not finite, or None.

    Of a root with entries the way back from their sum. No leaf's gradient is touched and the graph
    is kept.

    Example:
        >>> import gradcli
        >>> x = gradcli.tensor([4.0, 0.0], requires_grad=True)
        >>> found = first_nonfinite_gradient(gradcli.sqrt(x).sum())
        >>> found.operator, found.value, found.index, found.operands, found.cotangent
        ('sqrt', inf, (1,), (0.0,), 1.0)
    """
    if root.edge is None:
        return None
    order, known = _values(root)
    leaves = {node: None for node in order if node.__class__ is AccumulateGrad}
    roots, cotangents = start([root], [wrap(np.ones_like(root.array), root.dtype)], False)
    before, mode.inspect = mode.inspect, _Search(known)
    try:
        run(roots, cotangents, True, False, leaves)
    except GradientFound as stop:
        return stop.finding
    finally:
        mode.inspect = before
    return None


__all__ = [
    "Finding", "GradientFound", "first_nonfinite", "first_nonfinite_gradient", "stop_at_nonfinite",
]  # fmt: skip
