"""What a learner is told to write instead, for slips in programs that run."""

from __future__ import annotations

import pytest

from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault
from tests.support.families import family

T = "import torch\nx = torch.ones(2, requires_grad=True)\n"
# text, code, a part of the message, a part of the help
SLIPS = [
    (T + "torch.tensr([1.0])", "E0204", "no `tensr`", "`torch.tensor`"),
    (T + "import torch.nn as nn\nnn.Linaer(2, 3)", "E0204", "`Linaer`", "`nn.Linear`"),
    (T + "torch.optim.lr_scheduler.SteppLR(3)", "E0204", "SteppLR", "lr_scheduler.StepLR`"),
    (T + "torch.optim.SGD([x], learning_rate=0.1)", "E0302", "SGD()", "did you mean `lr`?"),
    (T + "torch.tensor([1.0], requires_gard=True)", "E0302", "gard", "`requires_grad`"),
    (T + "import torch.nn as nn\nnn.Linear(2, 3, bais=False)", "E0302", "Linear()", "`bias`"),
    (T + "import torch.nn as nn\nnn.Linear(3)", "E0302", "Linear() missing", "in_features"),
    (T + "x.grad.item()", "E0204", "None has no", "until backward() ran"),
    (T + "y = x.sum\ny.backward()", "E0204", "a function has no", "call it first"),
    (T + "torch.ones(2).requires_grad()", "E0303", "a bool cannot", "leave out the brackets"),
    (T + "torch.cat(x, x)", "E0303", "a list of tensors", "cat([a, b])"),
    (T + "torch.autograd.grad('a', 'b')", "E0303", "expected a Tensor", "tensors"),
    (T + "torch.Size('ab')", "E0303", "takes an iterable of 'int'", "torch.Size([2, 3])"),
    ("total = 0\nfor i in range(3):\n    totl += i", "E0203", "'totl'", "`total`"),
    ("n = 1\ndef f():\n    n += 1\nf()", "E0203", "'n'", "a name of its own"),
    ("def f(a):\n    a**2\nf(3) + 1", "E0303", "None and an int", "without `return`"),
    ("a = [1]\na.push(2)", "E0204", "`push`", "x.append(3)"),
    ("a = 5\na.append(2)", "E0204", "an int has no", "collect in a list"),
    ("range(1.5)", "E0303", "whole number is needed here, got a float", "int(x)"),
    ("float([1])", "E0303", "cannot be made of a list", "digits"),
    ("int('a')", "E0304", "invalid literal", "float() reads others"),
    ("[1]*1.5", "E0303", "not by a float", "tensor([...])"),
    ("round(1.5, 'a')", "E0303", "got a string", "round(x, 2)"),
    ("sum(1, 2, 3)", "E0302", "sum takes a list", "sum([a, b, c])"),
    ("str(1, 2)", "E0302", "str() takes", "parameters"),
    ("import math\nmath.factorial(10**9)", "E0605", "up to 500", "lgamma"),
]
# text with its place as line and column, and a part of the help
WRITTEN = [
    ("x = 3\nx.", 2, 3, "a name after the dot"),
    ("x = 3\nx..a", 2, 3, "one dot"),
    ("y = (1,,2)", 1, 8, "leave the `,` out"),
    ("x = [1]\nx[]", 2, 3, "x[0]"),
    ("x = [1]\nx[1:2:3:4]", 2, 8, "x[begin:end:step]"),
    ("for x: x", 1, 6, "for x in range(3):"),
    ("def f: 3", 1, 6, "def f(x):"),
    ("def (x): x", 1, 5, "def f(x):"),
    ("import", 1, 7, "import torch"),
    ("from torch import", 1, 18, "from torch import sin"),
    ("pass pass", 1, 6, "alone on its line"),
    ("if 1: if 1: 2", 1, 7, "a new line"),
    ("f = lambda x", 1, 13, None),
]


@family("text, code, message, mend", SLIPS)
def test_a_slip_gets_a_mend(text, code, message, mend):
    with pytest.raises(Fault) as caught:
        prepare(text, "file").run({}, limits=Limits(steps=10_000))
    fault = caught.value
    assert fault.code == code
    assert message in fault.message
    assert mend in (fault.help or "")
    assert fault.start < fault.end


@family("text, line, column, mend", WRITTEN)
def test_what_was_not_expected_says_how_it_is_written(text, line, column, mend):
    with pytest.raises(Fault) as caught:
        prepare(text, "file")
    fault = caught.value
    assert fault.code == "E0108"
    assert fault.source.place(fault.start) == (line, column)
    assert mend is None or mend in fault.help


def test_one_letter_is_a_slip_of_its_other_case_alone():
    program = prepare("x = 3\ny = X + 1", "file")
    with pytest.raises(Fault, match="no value for `X`") as caught:
        program.checked.require([])
    assert caught.value.help.startswith("did you mean `x`?")
    with pytest.raises(Fault) as caught:
        prepare("x = 3\ny = w + 1", "file").checked.require([])
    assert "did you mean" not in caught.value.help


def test_rounding_a_tensor_keeps_digits():
    import gradcli

    found = prepare("round(x, 2)").run({"x": gradcli.tensor([1.234, 2.345])}).value
    assert found.tolist() == pytest.approx([1.23, 2.34], abs=0.006)
    with pytest.warns(UserWarning, match="zero-element"):
        assert gradcli.nn.Conv2d(1, 1, 0).weight.shape == (1, 1, 0, 0)
