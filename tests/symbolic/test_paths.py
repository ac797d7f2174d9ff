"""Programs: the path that values take has a closed form, and its conditions are told."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.ops.errors import Fault
from gradcli.symbolic import diff_program
from gradcli.symbolic.program.conditions import conditions_text
from gradcli.symbolic.program.path import Pair
from tests.support.families import family

LOOP = """b = a*2
while b.norm() < 1000:
    b = b*2
if b.sum() > 0:
    d = b
else:
    d = 100*b
"""


def test_the_while_loop_of_the_tutorials():
    result = diff_program(LOOP + "d\n", values={"a": 1.0})
    assert result.text == "1024"
    assert conditions_text(result.conditions) == (
        "valid while b.norm() < 1000 held 9 times and b.sum() > 0"
    )
    assert [c.line for c in result.conditions] == [2, 4]
    other = diff_program(LOOP + "d\n", values={"a": -3.0})
    assert other.text == "51200" and "b.sum() > 0 did not hold" in str(other.conditions[1])


def test_backward_names_the_result():
    result = diff_program(LOOP + "d.backward()\nprint(a.grad)\n", values={"a": 1.0})
    assert result.text == "1024"
    assert diff_program(LOOP + "d\n", values={"a": 1.0}, of="b").text == "1024"
    written = "b = a*1\nc = b\nc += 1\nd = b*c\nd.backward()\n"  # as of the whole text
    assert diff_program(written, values={"a": 3.0}).text == "2*a + 2"


@family("text, values, want", [
        ("def f(x):\n    return x**2\nf(a)*f(b)", {}, {"a": "2*a*b**2", "b": "2*a**2*b"}),
        ("s = x\nfor i in range(3):\n    s = s*x\ns", {}, {"x": "4*x**3"}),
        ("y = sum([x**k for k in range(4)])", {}, {"x": "3*x**2 + 2*x + 1"}),
        ("y = 2*x\ny += x\ny*y", {}, {"x": "18*x"}),
        ("y = x*1\ny[0], y[1] = y[1], y[0]\ny[0]*y[0]", {"x": np.array([1.0, 2.0])},
         {"x": "2*stack([0, x[1]])"}),
        ("y = x*1\ns = 0\nfor t in y:\n    s += t*t\n    y[1] = 5\ns", {"x": np.array([1.0, 2.0])},
         {"x": "2*stack([x[0], 0])"}),
        ("g = lambda u: sin(u)\ng(x)", {}, {"x": "cos(x)"}),
        ("with no_grad():\n    c = x*2\nc*x", {}, {"x": "2*x"}),
        ("x.detach()*x", {}, {"x": "x"}),
        ("x.item()*x", {}, {"x": "x"}),
        ("y = x if x > 0 else -x\ny", {"x": -2.0}, {"x": "-1"}),
        ("max(x, 0)*x", {"x": 2.0}, None),
        ("w = x @ x\nfor i in range(2):\n    w = w*w\nw", {"x": np.array([1.0, 2.0])}, None),
        ("A = tensor([[1.0, 2], [3, 4]])\nx @ A @ x", {"x": np.array([1.0, 2.0])},
         {"x": "(c1 + c1.T) @ x"}),
        ("A = tensor([[1.0, 2], [2, 4]])\nx @ A @ x", {"x": np.array([1.0, 2.0])},
         {"x": "2*c1 @ x"}),
        ("x = 1.0\nfor i in range(3):\n    x = x - (x**2 - a)/(2*x)\nx", {"a": 2.0}, None),
        ("k = 3\nwhile k > 0:\n    x = x*k\n    k = k - 1\nx", {"x": 1.5}, {"x": "6"}),
        ("eye(2) @ x + ones(2)*x", {"x": np.array([1.0, 2.0])}, {"x": "2*eye(2)"}),
    ],
)  # fmt: skip
def test_path(text, values, want):
    result = diff_program(text, values=values)
    if want is not None:
        assert result.derivatives == want
    assert result.checked is not None and result.checked["max_rel_error"] < 1e-8


def test_second_order_along_a_path():
    result = diff_program("s = x\nfor i in range(3):\n    s = s*x\ns", order=2)
    assert result.text == "12*x**2"


def test_every_kind_of_question_is_told():
    def told(text, **values):
        return conditions_text(diff_program(text, "x", values=values).conditions)

    assert told("y = 0 < x < 3\nz = x*2 if y else x", x=2.0) == "valid while 0 < x and x < 3"
    assert told("x*2 if x > 0 and not x > 3 else x", x=2.0) == (
        "valid while x > 0 and x > 3 did not hold"
    )
    assert told("for i in range(int(k)):\n    x = x*2\nx", x=1.0, k=3.0) == (
        "valid while int(k) == 3"
    )
    assert told("assert x > 0\nx*x", x=1.0) == "valid while x > 0"
    assert told("t = 0*x\nfor i in range(4):\n    if x > i:\n        t = t + x\nt", x=2.5) == (
        "valid while x > i held 3 times"
    )
    assert told("t = 0*x\nfor i in range(4):\n    if x < i:\n        t = t + x\nt", x=1.5) == (
        "valid while x < i held 2 of 4 times"
    )


def test_values_are_asked_for_where_the_path_depends_on_them():
    with pytest.raises(Fault) as caught:
        diff_program(LOOP + "d\n")
    assert caught.value.code == "E0703" and "--a" in (caught.value.help or "")
    assert diff_program("def f(x):\n    return x@x\nf(v)", declared={"v": "vector"}).text == "2*v"


@family("text, code", [
        ("x.add_(1)\nx", "E0701"), ("y = x*2\nprint(y.grad)\ny", "E0701"),
        ("y = x*1\nsort(y)[0].sum()", "E0701"),
        ("tile(x, (2,)).sum()", "E0701"), ("for i in range(2):\n    x.backward()\nx", "E0701"),
        ("[[1, 2], [3]]", "E0701"), ("["*70 + "x" + "]"*70, "E0701"),
        ("1 + 1", "E0902"), ("# x", "E0314"), ("print(x)", "E0314"), ("log(x - 3)", "E0701"),
    ],
)  # fmt: skip
def test_refused(text, code):
    with pytest.raises(Fault) as caught:
        diff_program(text, values={"x": np.float64(2.0)} if "x" in text else {})
    assert caught.value.code == code


def test_the_value_of_a_path_keeps_its_borders():
    text = "z = where(x <= 0, where(x < 0, exp(x), 0), 0)*y\nif y > 0: z = z*1\nz"
    found = diff_program(text, "y", values={"x": np.float64(0.0), "y": np.float64(2.0)})
    assert float(found.program.run({"x": 0.0, "y": 2.0}).value) == 0


def test_a_wrong_path_is_withheld(monkeypatch):
    """A tape that loses a write in place: the numbers see it, the formula does not."""
    text = "import torch\ny = x*1\nz = y\ny += x\nz*z"
    assert diff_program(text, values={"x": 2.0}).text == "8*x"
    monkeypatch.setattr(Pair, "become", lambda self, made: made)
    with pytest.raises(Fault) as caught:
        diff_program(text, values={"x": 2.0})
    assert caught.value.code == "E0702"


def test_printers_take_a_path():
    result = diff_program(LOOP + "d*d\n", values={"a": 1.0})
    scope: dict = {}
    exec(result.code(), scope)
    value, gradient = scope["f"](np.float64(1.0))
    assert value == 1024**2 and gradient == 2 * 1024**2
    assert result.latex == "2097152 a"


def test_deterministic():
    first = diff_program(LOOP + "d*sin(d)\n", values={"a": 1.0})
    second = diff_program(LOOP + "d*sin(d)\n", values={"a": 1.0})
    assert first.derivatives == second.derivatives and first.checked == second.checked


SQUARES = "2*stack([x[0], x[1], x[2]])"
IN_PLACE = [
    ("s = zeros(3)\nfor i in range(3):\n    s += x*i\ns.sum()", "3*ones(3)"),
    ("s = zeros(3)\nfor i in range(3):\n    s[i] = x[i]**2\ns.sum()", SQUARES),
    ("s = zeros(3)\nfor i in range(3):\n    s[i] += x[i]**2\nsum(s)", SQUARES),
    ("y = x*1\ny *= 3\ny -= 1\ny /= 2\nsum(y)", "3*ones(3)/2"),
    ("y = x*1\ny[0] *= x[1]\nsum(y)", "stack([x[1], x[0] + 1, 1])"),
    ("y = x.clone()\ny.add_(1)\ny.mul_(2)\nsum(y)", "2*ones(3)"),
    ("y = x*1\nz = y\ny += 1\nsum(z*x)", "2*x + 1"),
    ("y = x.copy()\ny += 1\nsum(y*x)", "2*x + 1"),
    ("out = []\nfor v in x:\n    out.append(v**2)\nstack(out).sum()", SQUARES),
    ("def f(u):\n    print(u)\n    assert u > 0\n    return u**2\nf(x[1]) + x[0]",
     "stack([1, 2*x[1], 0])"),
]  # fmt: skip


@family("text, answer", IN_PLACE)
def test_writes_in_place(text, answer):
    found = diff_program(text, values={"x": np.array([1.0, 2.0, 3.0])})
    assert found.text == answer


def test_views_see_what_is_written_and_write_through():
    x = np.array([1.0, 2.0, 3.0])
    through = diff_program("y = x*1\nz = y[0:2]\nz += 1\nsum(y*x)", values={"x": x})
    assert np.allclose(through.evaluate(x=x), 2 * x + [1, 1, 0])
    seen = diff_program("y = x*1\nz = y[1:]\ny *= x\nsum(z)", values={"x": x})
    assert np.allclose(seen.evaluate(x=x), [0, 4, 6])
    with pytest.raises(Fault) as caught:
        diff_program("y = x*1\nz = y.reshape(3, 1)\ny += 1\nsum(z)", values={"x": x})
    assert caught.value.code == "E0701"


def test_counters_are_no_conditions():
    found = diff_program("i = zeros(1)\ny = x\nwhile i < 3:\n    y = y*x\n    i += 1\ny",
                         values={"x": np.float64(2.0)})  # fmt: skip
    assert found.text == "4*x**3" and not found.conditions


@family("kind", ["matrix", "matrix symmetric", "matrix spd"])
def test_a_matrix_without_sizes_is_square_where_it_must_be(kind):
    text = "s = 0\nfor i in range(2):\n    s += logdet(X)\ns"
    found = diff_program(text, declared={"X": kind})
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert np.allclose(found.evaluate(X=x), 2 * np.linalg.inv(x))
    with pytest.raises(Fault) as caught:
        diff_program("logcumsumexp(X, 0)[0, 0]", declared={"X": kind})
    assert caught.value.code == "E0701" and "logcumsumexp" in caught.value.message


def test_sizes_that_nobody_gave_fit():
    text = "s = 0\nfor i in range(2):\n    s += sum(W @ x)\ns"
    found = diff_program(text, "x", declared={"W": "matrix", "x": "vector"})
    assert np.allclose(found.evaluate(W=np.array([[1.0, 2], [3, 5]]), x=np.ones(2)), [8, 14])
    with pytest.raises(Fault) as caught:
        diff_program(text, "x", declared={"W": "matrix:n,m", "x": "vector:n"})
    assert caught.value.code == "E0301"
