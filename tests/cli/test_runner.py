"""``--runner``: the same results from the engine and from generated code, and when each runs."""

from __future__ import annotations

import pytest

import gradcli.jit
from gradcli.cli import runner

ROSENBROCK = ("(1-x)^2 + 100*(y-x^2)^2", "--x", "-1.2", "--y", "1")
COMMANDS = [
    ("minimize", *ROSENBROCK),
    ("minimize", "sum((A@x - b)^2)", "--A", "1,2;3,4;5,7", "--b", "1,2,3", "--x", "0,0",
     "--wrt", "x", "--method", "adam", "--lr", "0.1", "--steps", "300"),
    ("plot", "sin(x)*exp(-x)", "--x", "0:5:0.05"),
    ("grad", "sum(exp(x)*roll(x, 1)) * y", "--x", "1,2,3", "--y", "2"),
    ("check", "sum(exp(x)*roll(x, 1)) * y", "--x", "1,2,3", "--y", "2"),
    ("hess", "sum(exp(x)*roll(x, 1))", "--x", "1,2,3"),
    ("hess", "x^2*y + sin(x*y)", "--x", "1.5", "--y", "3"),
]  # fmt: skip


def results(done):
    return done.code, done.out, done.err


@pytest.fixture
def made(monkeypatch):
    """What was compiled, in order."""
    found = []
    compile = gradcli.jit.compile
    monkeypatch.setattr(gradcli.jit, "compile", lambda f: found.append(compile(f)) or found[-1])
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: f"{c[0]} {c[1]}")
def test_both_runners_agree(cli, made, command):
    eager = cli(*command, "--runner", "eager")
    assert eager.code == 0 and not made
    generated = cli(*command, "--runner", "generated")
    assert made and results(generated) == results(eager)


def test_auto_generates_where_many_evaluations_follow(cli, made):
    assert cli("minimize", "x^2", "--x", "3").code == 0
    assert cli("hess", "dot(x,x)", "--x", "1,2").code == 0
    assert cli("plot", "x^2", "--x", "0:1:0.1").code == 0
    assert not made
    assert cli("minimize", *ROSENBROCK, "--method", "adam", "--steps", "80").code == 0
    assert len(made) == 1
    assert cli("hess", "dot(x,x)^2", "--x", ",".join("1" * runner.MANY)).code == 0
    assert cli("plot", "x^2", "--x", "0:1:0.01").code == 0
    assert len(made) == 3


@pytest.mark.parametrize(
    "text", ["if x > 1:\n    y = x*x\nelse:\n    y = -x\ny", "y = randn(2)\nx*x + y.sum()**2",
             "print('here')\nx*x"],
)  # fmt: skip
def test_what_has_no_program_runs_on_the_engine(cli, text):
    eager, generated = (
        results(cli("minimize", text, "--x", "3", "--rng", "3", "--runner", name))
        for name in ("eager", "generated")
    )
    assert generated == eager
    shown = cli("graph", text, "--x", "3", "--format", "ir")
    assert shown.code and "no program of operators" in shown.err


def test_errors_are_the_engines(cli):
    text = ("minimize", "log(x) + x", "--x", "0.5", "--method", "sgd", "--lr", "0.4")
    eager, generated = (results(cli(*text, "--runner", name)) for name in ("eager", "generated"))
    assert eager[0] and eager == generated
    wrong = cli("minimize", "x^2", "--x", "3", "--runner", "fast")
    assert "E0907" in wrong.err and "auto, eager or generated" in wrong.err


def test_the_program_is_shown(cli):
    assert cli("graph", "2*dot(x,x)", "--x", "0,1,2,3", "--format", "ir").out.splitlines() == [
        "# x0 = x",
        "program(x0: float64[4])",
        "  v0: float64 = dot x0 x0",
        "  v1: float64 = mul 2 v0",
        "  v2: float64[4] = mul 2.0 x0",
        "  v3: float64[4] = add v2 v2",
        "  return v1, v3",
    ]
    assert "return v0" in cli("graph", "x*2", "--x", "0,1,2", "--format", "ir").out
