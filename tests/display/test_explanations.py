"""The chain rule step by step: every line is right, and says so with the operands' own names."""

from __future__ import annotations

import itertools
import re
from math import inf

import numpy as np
import pytest

from gradcli.cli.main import run
from gradcli.engine import dtypes
from gradcli.language.diagnostics.parsing import parse
from gradcli.language.runtime.run import prepare
from gradcli.ops import OPERATORS
from gradcli.symbolic import partial_text


@pytest.fixture
def explained(capsys):
    before = dtypes.get_default_dtype()

    def call(*args):
        assert run(["explain", *args]) == 0
        return capsys.readouterr().out

    yield call
    dtypes.set_default_dtype(before)


def test_the_parts_of_a_variable_used_twice_add(explained):
    assert explained("(x+1 - 2*x)^2", "--x", "3") == (
        "forward   y1 = x + 1 = 4\n"
        "          y2 = 2*x = 6\n"
        "          y3 = y1 - y2 = -2\n"
        "          y = y3**2 = 4\n"
        "backward  dy/dy3 = 2*y3 = -4\n"
        "          dy/dy2 = -dy/dy3 = 4\n"
        "          dy/dy1 = dy/dy3 = -4\n"
        "          dy/dx = dy/dy1 + dy/dy2*2 = 4      (x is used 2 times: the parts add)\n"
    )


@pytest.mark.parametrize("text, line", [
    ("x[0:1]", "y1 = x[0:1] = [2]"),
    ("x[[1, 0]]", "y1 = x[[1, 0]] = [3, 2]"),
    ("x[None, -1:]", "y1 = x[None, -1:] = [[3]]"),
    ("deg2rad(x)", "dy/dx = dy/dy1*0.01745329"),  # the number that its node keeps for good
    ("where(x > 2, 2*3.0, x)", "y1 = where([False, True], 6, x) = [2, 6]"),
    ("clamp(x, max=1)", "dy/dx = dy/dy1*(where(x <= 1, 1, 0))"),
])  # fmt: skip
def test_an_operation_is_written_as_a_program_writes_it(explained, text, line):
    assert line in explained(f"sum({text})", "--x", "2,3")


@pytest.mark.parametrize("call, said", [
    (("max(x, y)", "--x", "1", "--y", "1"), "= 0.5      (where x = y: the formula leaves ties"),
    (("max(x, 0)", "--x", "0"), "= 0.5      (where x = 0: the formula leaves ties"),
    (("x^y", "--x", "0", "--y", "0"), "y*x**(y - 1) = 0      (x**0 has slope 0;"),
    (("hypot(x, y)", "--x", "0", "--y", "0"), "= 0      (at x = y = 0: hypot has no derivative"),
    (("atan2(x, y)", "--x", "0", "--y", "0"), "= 0      (at x = y = 0: atan2 has no derivative"),
    (("xlogy(x, y)", "--x", "0", "--y", "0"), "log(y) = 0      (where x is 0 and"),
    (("sinc(x)", "--x", "0"), "= 0      (at x = 0: the formula divides by it"),
    (("sum(max(x, y)*x)", "--x", "2,3", "--y", "3"), "= 3.5      (where x = y: the formula"),
])  # fmt: skip
def test_where_a_formula_does_not_hold_it_says_so(explained, call, said):
    """And beside such points it does not."""
    assert said in explained(*call)
    beside = [v if v[0] == "-" else str(4 + 1.5 * i) for i, v in enumerate(call[1:])]
    notes = explained(call[0], *beside).replace("      (x is used", "")
    assert "      (" not in notes


@pytest.mark.parametrize(
    "expression",
    ["sin(x)*exp(-x) + x^3/y", "h = x*y; tanh(h) - h^2", "sqrt(x + y)/(1 + x)", "x**y",
     "log(x/y)*y", "where(x > y, x*y, -x)", "max(x, y) + sigmoid(x - y)"],
)  # fmt: skip
def test_every_line_is_true(explained, expression):
    """Each right side, evaluated with the numbers of the lines above it, gives the number shown."""
    known = {"x": 2.0, "y": 0.5, "True": True}
    lines = explained(expression, "--x", "2", "--y", "0.5").splitlines()
    for line in lines:
        parts = line[10:].partition("      (")[0].split(" = ")
        name = re.sub(r"\W", "_", parts[0])
        formula = re.sub(r"\b(d\w+)/(d\w+)", r"\1_\2", parts[1])
        value = float(parts[-1]) if len(parts) == 3 else None
        found = prepare(formula).run({k: v for k, v in known.items() if k != "True"}).value
        if value is not None:
            assert float(found) == pytest.approx(value, rel=2e-6), line
        known[name] = float(found)
    assert len(lines) >= 3


@pytest.mark.parametrize(
    ("expression", "line"),
    [("norm(u*x)", "dy/dx = sum(dy/dy1*u) = 3"), ("norm(u - x)", "dy/dx = sum(-dy/dy1)"),
     ("norm(x**2 + u)", "dy/dy1 = sum(dy/dy2)"),
     ("norm(A*u)", "dy/du = sum_to(dy/dy1*A, (2,)) = [0.7071068, 0.7071068]")],
)  # fmt: skip
def test_an_operand_that_is_repeated_gets_the_sum(explained, expression, line):
    """Without it the right side is a matrix, and the number beside it another thing."""
    given = {"u": "3,0", "x": "1", "A": "1,0;0,1"}
    if "A" in expression:
        given |= {"u": "3,3"}
    flags = [part for k, v in given.items() if k in expression for part in (f"--{k}", v)]
    assert line in explained(expression, *flags)


def test_one_of_several_results_pulls_back(explained):
    for expression in ("aminmax(x*3)[0]", "var_mean(x*3)[1]", "std_mean(x)[0]*2"):
        assert "joint pulls back" in explained(expression, "--x", "1,2")


def test_nothing_to_explain_and_too_much(explained, capsys):
    assert "nothing is computed" in explained("x", "--x", "3")
    assert run(["explain", "+".join(["x"] * 400), "--x", "1"]) == 3
    assert "E0611" in capsys.readouterr().err


ELEMENTWISE = [name for name, op in OPERATORS.items() if op.kind == "elementwise"]


def test_every_rule_is_a_text_or_none_whatever_numbers_are_put_in():
    shares = []
    for name in ELEMENTWISE:
        op = OPERATORS[name]
        for place in (i for i, rule in enumerate(op.rules) if rule is not None):
            others = [x for i, x in enumerate(op.inputs) if i != place]
            found = []
            for numbers in itertools.product((None, 0, 1, 2, -1, 0.5, inf), repeat=len(others)):
                given = {k: v for k, v in zip(others, numbers, strict=True) if v is not None}
                text = partial_text(name, place, given)
                found.append(text is not None)
                assert text is None or parse(text), (name, place, given)
            shares.append(np.mean(found))
    assert len(shares) > 100 and np.mean(shares) > 0.8


@pytest.mark.parametrize("expression", [
    "x**0 + x", "x/0 + x", "heaviside(x, 0)*x", "gammainc(2.0, x)", "xlogy(x, 0)",
])  # fmt: skip
def test_numbers_at_which_a_rule_has_no_text(explained, expression):
    assert "dy/dx" in explained(expression, "--x", "1.5")
