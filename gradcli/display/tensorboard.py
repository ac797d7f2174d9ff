"""The recorded graph as an event file that TensorBoard's graph page shows.

The file is written by the tensorboard package (an extra); a node's name is what the program calls
its result, its attributes are shape, dtype, and value and gradient where they are known.
"""

from __future__ import annotations

import re
from typing import Any

from gradcli.display.graphs import Graph, GraphNode, Ref, operation, short

LIMIT = 10_000
"""How many nodes are written: TensorBoard's page does not take more in a useful time."""


def write_graph(graph: Graph, folder: str) -> None:
    """Write ``graph`` into an event file in ``folder``, which is made.

    Raises ImportError without the tensorboard package, OSError where the folder cannot be written.
    """
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(folder)
    try:
        # The time stays out: the same computation gives the same bytes.
        writer.add_event(Event(wall_time=0.0, graph_def=graph_def(graph).SerializeToString()))
    finally:
        writer.close()


def graph_def(graph: Graph) -> Any:
    """TensorBoard's ``GraphDef`` message of a graph. Raises ImportError without tensorboard."""
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.node_def_pb2 import NodeDef

    made = GraphDef()
    names = _names(graph[:LIMIT])
    for node in graph[:LIMIT]:
        entry = NodeDef(name=names[node.id], op=node.op)
        entry.input.extend(names[i.id] for i in node.inputs if isinstance(i, Ref))
        for key, text in _attributes(node):
            entry.attr[key].s = text.encode("utf-8")
        shape = entry.attr["_output_shapes"].list.shape.add()
        for size in node.shape:
            shape.dim.add(size=size)
        made.node.append(entry)
    return made


def _names(nodes: list[GraphNode]) -> dict[int, str]:
    """A name for each node, each once, of the characters that TensorBoard takes."""
    taken: set[str] = set()
    names = {}
    for node in nodes:
        name = re.sub(r"[^A-Za-z0-9_]", "_", node.name or f"{node.op}_{node.id}")
        if name in taken or not name[0].isalnum():
            name = f"n{node.id}_{name}"
        taken.add(name)
        names[node.id] = name
    return names


def _attributes(node: GraphNode) -> list[tuple[str, str]]:
    found = [("operation", operation(node)), ("type", node.type)]
    if node.value is not None:
        found.append(("value", short(node.value)))
    if node.grad is not None:
        found.append(("grad", short(node.grad)))
    return found
