"""Dumps of a graph: as a person, Graphviz and another program read it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import gradcli
from gradcli.display.graphs import graph_of, to_dot, to_json, to_text, watch_gradients
from gradcli.display.records import dump_json
from gradcli.engine.creation.factories import tensor
from gradcli.language.runtime.run import prepare


def leaf(data):
    return tensor(data, dtype=gradcli.float64, requires_grad=True)


def ran(program, **given):
    """The graph of a program's result, with all values and gradients."""
    with np.errstate(all="ignore"):
        outcome = prepare(program).run(given)
    seen = watch_gradients(outcome.value)
    outcome.value.backward(retain_graph=True)
    return graph_of(outcome.value, {**given, **outcome.variables}, values=True, grads=seen)


def test_text_is_aligned_and_complete():
    x = leaf([0.0, 1, 2, 3])
    assert to_text(ran("2*dot(x,x)", x=x)) == (
        "%0  x = leaf       float64[4]  [0, 1, 2, 3]  grad [0, 4, 8, 12]\n"
        "%1    = dot %0 %0  float64     14            grad 2\n"
        "%2    = mul 2 %1   float64     28            grad 1"
    )
    assert to_text(graph_of(prepare("2*dot(x,x)").run({"x": x}).value, {"x": x})) == (
        "%0  x = leaf       float64[4]\n"
        "%1    = dot %0 %0  float64\n"
        "%2    = mul 2 %1   float64"
    )  # fmt: skip


def test_names_constants_and_parameters():
    text = to_text(
        ran(
            "h = W @ x + b; s = h**2; sum(s, dim=0) + s[0] + x[0]",
            W=leaf([[1.0, 2], [3, 4]]), b=leaf([0.5, 0.5]), 
            x=leaf([1.0, -1]).detach(),
        )
    )  # fmt: skip
    lines = [re.split(r"  +", line) for line in text.split("\n")]
    assert [line[1] for line in lines] == [
        "W = leaf", "b = leaf", "= matmul %0 x", "h = add %2 %1", "s = pow %3 2", "= sum %4 dim=0",
        "= getitem %4 index=0", "= add %5 %6", "= add %7 const",
    ]  # fmt: skip
    assert [line[3] for line in lines] == [
        "[[1, 2], [3, 4]]", "[0.5, 0.5]", "[-1, -1]", "[-0.5, -0.5]", "[0.25, 0.25]", "0.5", "0.25",
        "0.75", "1.75",
    ]  # fmt: skip
    assert [line[4] for line in lines][:2] == ["grad [[-2, 2], [-1, 1]]", "grad [-2, -1]"]


def test_operators_with_many_inputs_indices_and_types():
    x = leaf([1.0, 2])
    ops = [
        re.split(r"  +", line)[1]
        for line in to_text(ran("y = cat([x, x*2])[1:3]; sum(y.float() * x[1])", x=x)).split("\n")
    ]
    assert ops == [
        "x = leaf", "= mul %0 2", "= cat %0 %1", "y = getitem %2 index=1:3",
        "= cast %3 dtype=float32", "= getitem %0 index=1", "= mul %4 %5", "= sum %6",
    ]  # fmt: skip


def test_every_value_and_gradient_equals_the_engines():
    x = leaf([0.5, 1.5])
    a = x.sin()
    b = a * x
    c = b + a
    d = (c / x).exp()
    y = d.sum()
    for t in (a, b, c, d, y):
        t.retain_grad()
    seen = watch_gradients(y)
    y.backward(retain_graph=True)
    graph = graph_of(y, {"x": x}, values=True, grads=seen)
    assert [node.op for node in graph] == ["leaf", "sin", "mul", "add", "div", "exp", "sum"]
    for t, node in zip((x, a, b, c, None, d, y), graph, strict=True):
        assert node.value is not None
        if t is not None:
            np.testing.assert_array_equal(node.value, t.array)
            np.testing.assert_array_equal(node.grad, t.grad.array)


def test_gradients_given_by_the_caller():
    x = leaf(3.0)
    y = x + 1
    z = y + 1
    graph = graph_of(z, {"x": x}, values=True, grads={y.edge: tensor(9.0)})
    assert [node.value for node in graph][::2] == [3, 5]
    assert [node.grad for node in graph] == [None, 9, None]


def test_a_value_overwritten_since_is_not_shown():
    x = leaf([1.0, 2.0])
    a = x * 2
    b = a * a
    root = b.sum()
    edge = a.edge
    a.add_(1)
    graph = graph_of(root, {"x": x}, values=True)
    assert graph[1].op == "mul"
    assert graph[1].value.tolist() == [2.0, 4.0]  # computed again from x
    assert edge is not a.edge


def test_after_backward_the_graph_is_still_shown():
    x = leaf(2.0)
    y = (x * x).exp()
    y.backward()
    assert [node.op for node in graph_of(y, {"x": x}, values=True)] == ["leaf", "mul", "exp"]


def test_a_constant_and_a_leaf_alone():
    assert to_text(graph_of(tensor(2.0), {}, values=True)) == "%0  = constant  float32  2"
    c = tensor([1.0])
    assert "c = constant" in to_text(graph_of(c, {"c": c, "n": 3}))
    x = leaf(1.0)
    assert to_text(graph_of(x, {"x": x})) == "%0  x = leaf  float64"


def test_watching_ends():
    x = leaf(2.0)
    y = x * x
    seen = watch_gradients(y)
    y.backward(retain_graph=True)
    first = dict(seen)
    seen.remove()
    y.backward()
    assert len(first) == 2 and dict(seen) == first and x.grad.item() == 8


def test_dot_is_inert():
    x = leaf(1.0)
    evil = '"];\n  evil [label="\\N<b>\x1b[31m\u202e'
    dot = to_dot(graph_of(x * 2, {evil: x}, values=True))
    assert dot.startswith("digraph gradcli {\n") and dot.endswith("\n}")
    for line in dot.split("\n")[1:-1]:
        assert line.isprintable()
        assert re.fullmatch(
            r'  (node \[shape=box, fontname="monospace"\]'
            r'|n\d+ -> n\d+|n\d+ \[label="(?:[^"\\]|\\\\|\\"|\\n)*"(, style=rounded)?\]);',
            line,
        ), line
    assert "n0 -> n1;" in dot
    assert all(line.isprintable() for line in to_text(graph_of(x * 2, {evil: x})).split("\n"))


def test_json():
    text = dump_json(to_json(ran("sum(c*x/0, dim=0)", x=leaf([1.0, -1]), c=tensor([2.0, 2]))))
    found = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    assert found["omitted"] == 0
    first, product, quotient, total = found["nodes"]
    assert first["name"] == "x" and first["op"] == "leaf" and first["inputs"] == []
    assert product["inputs"] == [{"name": "c"}, {"node": 0}]
    assert quotient["inputs"] == [{"node": 1}, {"constant": 0}]
    assert quotient["value"]["data"] == ["Infinity", "-Infinity"] and quotient["shape"] == [2]
    assert total["params"] == {"dim": 0} and total["grad"]["data"] == 1.0


def test_a_long_chain():
    x = y = leaf(1.0)
    for _ in range(30_000):
        y = y * 1.00001
    seen = watch_gradients(y)
    y.backward(retain_graph=True)
    graph = graph_of(y, {"x": x}, values=True, grads=seen)
    assert len(graph) == 30_001
    assert graph[-1].value == y.item() and graph[0].grad == x.grad.item()
    text = to_text(graph)
    assert text.count("\n") == 10_000 and text.endswith("\n... 20,001 more")
    assert to_text(graph, limit=2).count("\n") == 2
    assert len(to_json(graph)["nodes"]) == 10_000 and to_json(graph)["omitted"] == 20_001
    assert "20,001 more" in to_dot(graph)


def test_long_values_stay_on_one_short_line():
    text = to_text(ran("sum(x*x)", x=leaf(np.arange(500.0).reshape(5, 100))))
    assert text.count("\n") == 2 and max(map(len, text.split("\n"))) < 200


def test_the_module_example():
    x = gradcli.tensor(3.0, requires_grad=True)
    y = (x + 1) ** 2
    seen = watch_gradients(y)
    y.backward(retain_graph=True)
    assert to_text(graph_of(y, {"x": x}, values=True, grads=seen)).split("\n") == [
        "%0  x = leaf          float32  3   grad 8",
        "%1    = add %0 const  float32  4   grad 8",
        "%2    = pow %1 2      float32  16  grad 1",
    ]
