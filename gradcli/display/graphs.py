"""The graph that a computation recorded, as text, for Graphviz and as JSON.

    %0  x = leaf       float64[4]  [0, 1, 2, 3]  grad [0, 4, 8, 12]
    %1    = dot %0 %0  float64     14            grad 2
    %2    = mul 2 %1   float64     28            grad 1

A node stands after all it depends on: nodes are numbered in the order in which they were made. What
backward needed is all that a graph keeps, so a value in the middle is known where somebody saved or
named it, or where it follows from known ones; cotangents are known where ``watch_gradients`` looked
on.
Nothing here recurses: a chain of a million operations is a graph like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gradcli.display.records import tensor_record
from gradcli.display.values import show_value
from gradcli.engine.backward.node_values import constant, raw, values_of
from gradcli.engine.grad_mode import no_grad
from gradcli.engine.graph.node import AccumulateGrad, Node, RemovableHandle, collect, more
from gradcli.engine.tensor.tensor import Tensor
from gradcli.language.diagnostics.render import inert
from gradcli.ops.operator import is_number

LIMIT = 10_000
"""How many nodes are shown before ``... N more``."""

WIDTH = 60
"""The most characters of one value or gradient in a line of text."""


class Ref(NamedTuple):
    """An input that is another node of the graph, by number."""

    id: int

    def __repr__(self) -> str:
        return f"%{self.id}"


@dataclass(eq=False, repr=False, slots=True)
class GraphNode:
    """One line of a dump.

    id      its number: inputs have lower ones
    op      the operator's name; ``"leaf"`` for a variable, ``"constant"`` for a lone value
    name    what the program calls the result, or None
    inputs  a Ref for a node; for a constant its name in the program, a Python number or an array,
            None where backward does not need it and the graph did not keep it
    params  the operator's other arguments that are not at their default
    shape, dtype
    value, grad  arrays, or None where they are not known or not asked for
    """

    id: int
    op: str
    name: str | None
    shape: tuple[int, ...]
    dtype: str
    inputs: list[Any] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    value: Any = None
    grad: Any = None

    @property
    def type(self) -> str:
        """Element type and shape: ``float64``, ``float64[2,3]``."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]" if self.shape else self.dtype


Graph = list[GraphNode]
"""The nodes behind one result, oldest first."""


class Watched(dict):
    """Cotangents by node, filled by backward; ``remove()`` ends the watch."""

    handles: list[RemovableHandle]

    def remove(self) -> None:
        """Take the hooks away; what was seen stays."""
        for handle in self.handles:
            handle.remove()
        self.handles = []


def watch_gradients(root: Tensor) -> Watched:
    """Look on when backward runs: a dict from node to the gradient of ``root`` by its result.

    The dict is empty until then. A second backward replaces what the first left.

    >>> import gradcli
    >>> x = gradcli.tensor(3.0, requires_grad=True)
    >>> y = (x + 1) ** 2
    >>> seen = watch_gradients(y)
    >>> y.backward(retain_graph=True)
    >>> print(to_text(graph_of(y, {"x": x}, values=True, grads=seen)))
    %0  x = leaf          float32  3   grad 8
    %1    = add %0 const  float32  4   grad 8
    %2    = pow %1 2      float32  16  grad 1
    """
    watched = Watched()
    watched.handles = []
    for node in _behind(root):
        extra = more(node)
        if extra.hooks is None:
            extra.hooks = {}
        watched.handles.append(RemovableHandle(extra.hooks, partial(_note, watched, node)))
    return watched


def _note(watched: dict, node: Node, g: Tensor) -> None:
    watched[node] = g


def _behind(root: Tensor) -> list[Node]:
    """The nodes and leaves that ``root`` depends on, oldest first."""
    return [] if root.edge is None else collect([root.edge])[::-1]


@no_grad()  # a view that nothing may be recorded of has a name, too
def graph_of(
    root: Tensor, names: Mapping[str, Any], *, values: bool = False,
    grads: Mapping[Node, Any] | None = None,
) -> Graph:  # fmt: skip
    """The graph behind ``root``.

    names   the variables of the program; what is no Tensor in it is passed over. Of two names for
            one tensor the first counts
    values  shows those that are known; call it before the saved values are freed, or keep them
            with ``retain_graph=True``
    grads   cotangents by node, as ``watch_gradients`` collects them
    """
    order = _behind(root)
    called: dict[Node, str] = {}
    tensors: dict[Node, Tensor] = {}
    constants: dict[int, str] = {}
    for name, value in names.items():
        if isinstance(value, Tensor) and value.edge is not None:
            called.setdefault(value.edge, name)
            tensors.setdefault(value.edge, value)
        elif isinstance(value, Tensor):
            constants.setdefault(id(value), name)
    if not order:
        own = next((name for name, value in names.items() if value is root), None)
        alone = GraphNode(0, "constant", own, tuple(root.shape), root.dtype.name)
        alone.value = root.array if values else None
        return [alone]
    assert root.edge is not None  # it was recorded
    tensors.setdefault(root.edge, root)
    number = {node: i for i, node in enumerate(order)}
    nodes = []
    for i, node in enumerate(order):
        leaf = node.__class__ is AccumulateGrad
        op = "leaf" if leaf else node.op.name
        shown = GraphNode(i, op, called.get(node), tuple(node.shape), node.dtype.name)
        if not leaf:
            shown.inputs = [
                Ref(number[edge]) if edge is not None else _shown_constant(node, place, constants)
                for place, edge in enumerate(node.edges)
            ]
            if node.extra is not None:
                shown.params = _params(node)
        if grads is not None:
            shown.grad = raw(grads.get(node))
        nodes.append(shown)
    if values:
        known = values_of(order, tensors)
        for shown, node in zip(nodes, order, strict=True):
            shown.value = known.get(node)
    return nodes


def _shown_constant(node: Any, place: int, called: Mapping[int, str]) -> Any:
    name = called.get(id(node.saved[place])) if node.saved and place < len(node.saved) else None
    return name or constant(node, place)


def _params(node: Any) -> dict[str, Any]:
    defaults = node.op.params
    found = {}
    for name, value in node.extra.params.items():
        if name in defaults:
            default = defaults[name]
            numbers = is_number(value) and is_number(default)
            if value is not default and not (numbers and value == default):
                found[name] = raw(value)
    return found


# ---- Text ----------------------------------------------------------------------------------------


def to_text(graph: Graph, *, limit: int = LIMIT) -> str:
    """A line for each node, in columns: number, name, operation, type, value, gradient."""
    shown = graph[:limit]
    wide = max((len(inert(node.name)) for node in shown if node.name), default=0)
    rows = []
    for node in shown:
        name = inert(node.name or "").ljust(wide) + " " * bool(wide)
        value = "" if node.value is None else short(node.value)
        grad = "" if node.grad is None else f"grad {short(node.grad)}"
        rows.append((f"%{node.id}", f"{name}= {operation(node)}", node.type, value, grad))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width]
        lines.append("  ".join(cells).rstrip())
    if len(graph) > limit:
        lines.append(f"... {len(graph) - limit:,} more")
    return "\n".join(lines)


def operation(node: GraphNode) -> str:
    """The operation of a node with its inputs and parameters: ``mul 2 %1``."""
    parts = [node.op, *map(_input, node.inputs)]
    parts += [f"{name}={argument(value)}" for name, value in node.params.items()]
    return " ".join(parts)


def _input(value: Any) -> str:
    if isinstance(value, Ref):
        return f"%{value.id}"
    if isinstance(value, str):
        return inert(value)
    if value is None:
        return "const"
    if is_number(value):
        return short(value)
    size = "x".join(map(str, np.shape(value)))
    return f"const[{size}]" if size else short(value)


def argument(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"[{'x'.join(map(str, value.shape))}]"
    if isinstance(value, tuple):
        text = ",".join(argument(item) for item in value[:8]) + (",..." if len(value) > 8 else "")
        return f"({text})"
    if isinstance(value, slice):
        ends = [value.start, value.stop] + ([] if value.step is None else [value.step])
        return ":".join("" if end is None else str(end) for end in ends)
    if value is Ellipsis:
        return "..."
    if value is None or is_number(value) or isinstance(value, np.generic | np.dtype | str):
        return inert(str(value))[:WIDTH]
    return type(value).__name__


def short(value: Any) -> str:
    """A value on one line, cut where it is long."""
    text = " ".join(show_value(value).split()).replace("[ ", "[")
    return text if len(text) <= WIDTH else text[: WIDTH - 3].rstrip(" ,") + "..."


# ---- Graphviz ------------------------------------------------------------------------------------


def to_dot(graph: Graph, *, limit: int = LIMIT) -> str:
    """The graph in Graphviz' DOT language; arrows follow the data. Every label is plain text."""
    lines = ["digraph gradcli {", '  node [shape=box, fontname="monospace"];']
    for node in graph[:limit]:
        title = f"{node.name} = {node.op}" if node.name else node.op
        constants = [_input(i) for i in node.inputs if not isinstance(i, Ref)]
        constants += [f"{name}={argument(value)}" for name, value in node.params.items()]
        label = [" ".join([title, *constants]), node.type]
        if node.value is not None:
            label.append(short(node.value))
        if node.grad is not None:
            label.append(f"grad {short(node.grad)}")
        style = ", style=rounded" if node.op == "leaf" else ""
        lines.append(f"  n{node.id} [label={_quoted(label)}{style}];")
        lines += [f"  n{i.id} -> n{node.id};" for i in node.inputs if isinstance(i, Ref)]
    if len(graph) > limit:
        lines.append(f'  more [label="... {len(graph) - limit:,} more", shape=plaintext];')
    return "\n".join([*lines, "}"])


def _quoted(lines: list[str]) -> str:
    # Backslashes first: \N and \G would be replaced by names of nodes and graphs.
    plain = [inert(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(plain) + '"'


# ---- JSON ----------------------------------------------------------------------------------------


def to_json(graph: Graph, *, limit: int = LIMIT) -> dict[str, Any]:
    """The graph as a dict for ``dump_json``: ``{"nodes": [...], "omitted": 0}``.

    A node has id, op, name, inputs, params, shape and dtype, and where they are known value and
    grad as tensor records. An input is ``{"node": 0}``, ``{"name": "x"}`` for a constant of the
    program, or ``{"constant": 2.0}``, with null where the graph did not keep it.
    """
    return {
        "nodes": [_json_node(node) for node in graph[:limit]],
        "omitted": max(0, len(graph) - limit),
    }


def _json_node(node: GraphNode) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": node.id, "op": node.op, "name": node.name,
        "inputs": [
            {"node": i.id} if isinstance(i, Ref)
            else {"name" if isinstance(i, str) else "constant": i} for i in node.inputs
        ],
        "params": {
            name: value if value is None or isinstance(value, int | float) else argument(value)
            for name, value in node.params.items()
        },
        "shape": list(node.shape), "dtype": node.dtype,
    }  # fmt: skip
    if node.value is not None:
        found["value"] = tensor_record(node.value, node.dtype)
    if node.grad is not None:
        found["grad"] = tensor_record(node.grad, node.dtype)
    return found
