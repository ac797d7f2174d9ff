"""Faults of the backward pass show the other places in the text: saved, changed, freed."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.language.diagnostics import Diagnostic
from gradcli.language.run import prepare
from gradcli.language.source import Source
from gradcli.ops.errors import Fault

LEAF = "x = tensor([2.0, 3.0], requires_grad=True)\n"


def shown(text, values=None):
    """The diagnostic of a program that fails."""
    with pytest.raises(Fault) as raised:
        prepare(Source(text, "a.grad"), "file").run(values or {})
    return Diagnostic.of(raised.value).render()


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            "a = 1*x\nb = a**2\na += 1\nb.sum().backward()\n",
            """error[E0402]: `a` changed after `a**2` saved it
   --> a.grad:4:1
   3 | b = a**2
     |     ---- saved a, version 0
   4 | a += 1
     | ^^^^^^ version 1
   help: write a = a + 1""",
        ),
        (
            "def f(w):\n    y = exp(w)\n    y[0] = 4\n    return y\nsum(f(2*x)).backward()\n",
            """error[E0402]: `y` changed after `exp(w)` saved it
   --> a.grad:4:5
   3 |     y = exp(w)
     |         ------ saved it, version 0
   4 |     y[0] = 4
     |     ^^^^ version 1
   help: write y = y.clone() before it""",
        ),
        (
            "w = 2*x\ny = sum(sin(w))\nw.mul_(3)\ny.backward()\n",
            """error[E0402]: `w` changed after `sin(w)` saved it
   --> a.grad:4:1
   3 | y = sum(sin(w))
     |         ------ saved w, version 0
   4 | w.mul_(3)
     | ^^^^^^^^^ version 1
   help: write w = w.mul(3)""",
        ),
        (
            "loss = sum(exp(x))\nloss.backward()\n\nloss.backward()\n",
            """error[E0401]: backward() already ran on this graph
   --> a.grad:5:1
   3 | loss.backward()
     | --------------- the first run freed the values saved by `exp(x)` (line 2)
   5 | loss.backward()
     | ^^^^^^^^^^^^^^^ needs them again
   help: make the first call loss.backward(retain_graph=True)""",
        ),
        (
            "y = exp(x)\nfor i in range(2):\n    y.backward(gradient=ones(2))\n",
            """error[E0401]: backward() already ran on this graph
   --> a.grad:4:5
   4 |     y.backward(gradient=ones(2))
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the first run freed the values saved by `exp(x)` (line 2); \
the second needs them again
   help: make the first call y.backward(gradient=ones(2), retain_graph=True)""",
        ),
    ],
)
def test_both_places_are_shown(body, wanted):
    assert shown(LEAF + body).rstrip() == wanted


def test_the_second_run_is_silent_and_leaves_the_inputs_alone():
    x = gradcli.tensor([2.0], requires_grad=True)
    b = gradcli.tensor([1.0])
    text = "print('once')\nb += 1\ny = exp(x*b)\ny.backward()\nprint(x.grad)\ny.backward()\n"
    printed = []
    with pytest.raises(Fault) as raised:
        prepare(text, "file").run({"x": x, "b": b}, write=printed.append)
    assert raised.value.message == "backward() already ran on this graph"
    assert "".join(printed).count("once") == 1
    assert b.tolist() == [2.0]
    assert x.grad.tolist() == pytest.approx([2 * 2.718281828459045**4])


def test_a_graph_of_an_earlier_program_is_named_without_its_text():
    first = prepare(LEAF + "y = exp(x)\n", "file").run({})
    y = first.variables["y"]
    prepare("y.sum().backward()\n", "file").run({"y": y})
    text = shown("y.sum().backward()\n", {"y": y})
    assert "second time" in text
    assert "E0401" in text
