"""The event file is what TensorBoard's own reader takes for a graph."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.display import graphs

pytest.importorskip("tensorboard")


def test_the_reader_finds_the_graph(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from gradcli.display.tensorboard import write_graph

    x = gradcli.tensor([1.0, 2.0], requires_grad=True)
    y = (x.sin() * x).sum()
    write_graph(graphs.graph_of(y, {"x": x, "a name": y}, values=True), str(tmp_path))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    nodes = {node.name: node for node in events.Graph().node}
    assert nodes["x"].op == "leaf" and not nodes["x"].input
    (total,) = [node for node in nodes.values() if node.op == "sum"]
    assert total.name == "a_name"
    (product,) = total.input
    assert nodes[product].op == "mul" and "x" in nodes[product].input
    assert nodes["x"].attr["value"].s == b"[1, 2]"
    assert [d.size for d in nodes["x"].attr["_output_shapes"].list.shape[0].dim] == [2]


def test_names_are_kept_apart(tmp_path):
    from gradcli.display.tensorboard import graph_def

    x = gradcli.tensor(1.0, requires_grad=True)
    y = x * 2
    found = graph_def(graphs.graph_of(y + 1, {"a b": x, "a_b": y}))
    assert len({node.name for node in found.node}) == len(found.node) == 3
