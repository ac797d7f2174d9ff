"""Faults of the backward pass show the other places in the text: saved, changed, freed."""

from __future__ import annotations

import pytest

import gradcli
from gradcli.engine.creation.generator import seed_when_asked
from gradcli.language.diagnostics.render import Diagnostic
from gradcli.language.runtime.run import prepare
from gradcli.language.syntax.source import Source
from gradcli.ops.errors import Fault
from tests.support.families import family

LEAF = "x = tensor([2.0, 3.0], requires_grad=True)\n"


def shown(text, values=None):
    """The diagnostic of a program that fails."""
    with pytest.raises(Fault) as raised:
        prepare(Source(text, "a.grad"), "file").run(values or {})
    return Diagnostic.of(raised.value).render()


@family(
    "body, wanted",
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


RANDOM = """\
a = 1*x
for _ in range(5):
    if rand(1) > 0.5:
        b, name = a**2, 'a**2'
    else:
        b, name = sin(a), 'sin(a)'
print(name)
a += 1
b.sum().backward()
"""


@family("seed", [*range(12), None])
def test_the_second_run_takes_the_same_random_branches(seed):
    """The value that was changed is named where the run that failed saved it."""
    seed_when_asked(seed)
    x = gradcli.tensor([2.0, 3.0], requires_grad=True)
    taken = []
    with pytest.raises(Fault) as raised:
        prepare(Source(RANDOM, "a.grad"), "file").run({"x": x}, write=taken.append)
    saved = [RANDOM[a:b] for a, b, _, main in raised.value.labels if not main]
    assert saved == ["".join(taken).strip()]
    if seed is not None:
        after = gradcli.rand(3).tolist()
        gradcli.manual_seed(seed)
        gradcli.rand(5)
        assert gradcli.rand(3).tolist() == after  # where the first run left the numbers


def test_the_second_run_starts_from_the_values_of_the_first():
    text = (
        "with no_grad(): x -= 5\n"
        "b = (exp(x) if x.sum() < 0 else sigmoid(x)).sum()\nb.backward()\nb.backward()\n"
    )
    x = gradcli.tensor([2.0, 3.0], requires_grad=True)
    assert "saved by `exp(x)` (line 2)" in shown(text, {"x": x})
    assert x.tolist() == [-3.0, -2.0]


def test_no_second_run_on_lists_of_the_caller():
    held = [1.0]
    shown(LEAF + "l.append(2)\ny = exp(x).sum()\ny.backward()\ny.backward()\n", {"l": held})
    assert held == [1.0, 2]
