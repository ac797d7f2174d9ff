"""``--runner``: the same results from the engine and from generated code, and when each runs."""

from __future__ import annotations

import json

import pytest

import gradcli.jit
from gradcli.cli import runner
from tests.support.families import family

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


@family(
    "text, ir",
    [
        ("if x > 1:\n    y = x*x\nelse:\n    y = -x\ny", "= if v0"),
        ("y = randn(2)\nx*x + y.sum()**2", "randn\n   --> <expr>:1:5\n   1 | y = randn(2)"),
        ("print('here')\nx*x", "no program of operators: it has a call of print"),
    ],
)
def test_what_has_no_flat_program_runs_on_the_engine(cli, text, ir):
    eager, generated = (
        results(cli("minimize", text, "--x", "3", "--rng", "3", "--steps", "40", "--runner", name))
        for name in ("eager", "generated")
    )
    assert generated == eager
    shown = cli("graph", text, "--x", "3", "--format", "ir")
    assert ir in (shown.err if shown.code else shown.out)


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


EULER = "y = y0\nfor i in range(steps):\n    y = y - 1.5 / steps * k * y\ny"
VALUES = ("--k", "0.7", "--y0", "2", "--steps")


@pytest.fixture
def programs(monkeypatch):
    """The programs that were made of texts with loops."""
    import gradcli.jit.program as module

    found = []

    class Noted(module.Generated):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            found.append(self)

    monkeypatch.setattr(module, "Generated", Noted)
    return found


def test_long_loops_become_generated_code(cli, programs):
    command = ("grad", "-e", EULER, *VALUES)
    assert cli(*command, "int:500").code == 0 and not programs
    long = cli(*command, "int:5000")
    assert len(programs) == 1
    assert results(long) == results(cli(*command, "int:5000", "--runner", "eager"))
    assert results(cli(*command, "int:5000", "--checkpoint", "sqrt")) == results(long)
    assert results(cli(*command, "int:5000", "--checkpoint", "revolve:9")) == results(long)
    assert len(programs) == 3
    assert "d/dk" in cli(*command, "int:5000", "--retain", "y").out and len(programs) == 3


def test_what_a_loop_does_besides_is_done_once(cli, programs):
    text = "for i in range(5000):\n    if i % 1000 == 0:\n        print(i)\n    x = x * 0.9999\nx"
    said = cli("grad", "-e", text.replace("x = x", "y = x"), "--x", "2")
    assert said.err.count("\n") == 5 and not programs


def test_errors_in_loops_are_the_engines(cli, programs):
    text = "y = x\nfor i in range(5000):\n    y = y + 1 / (4000 - i)\ny"
    eager, generated = (
        results(cli("grad", "-e", text, "--x", "2", "--runner", name))
        for name in ("eager", "generated")
    )
    assert eager[0] and eager == generated and len(programs) == 1
    short = ("--max-steps", "3000")
    eager, generated = (
        results(
            cli("grad", "-e", "y = x\nwhile y > 0:\n    y = y + 1\ny", "--x", "2", *short, *more)
        )
        for more in (("--runner", "eager"), ())
    )
    assert eager[0] == 3 and eager == generated and len(programs) == 2


@pytest.mark.parametrize("sum_of", ["s = (x > 0) + (x > 1)", "s = x > 0\n    s += x > 1"])
def test_truths_add_up_alike_and_are_refused_beside_numpy(cli, sum_of):
    text = f"t = 0\nfor i in range(3):\n    {sum_of}\n    t = t + s * x\nt"
    for head, told in (("", "d/dx   6"), ("import numpy as np\n", "E0303")):
        done = [results(cli("grad", "-e", head + text, "--x", "2", "--runner", name))
                for name in ("eager", "generated")]  # fmt: skip
        assert done[0] == done[1] and told in "".join(done[0][1:])


def test_bits_and_numbers_of_arrays_are_alike_in_generated_code(cli):
    turned = "n = 5\nfor i in range(3):\n    n = ~n\nx*n"
    head = "import numpy as np\na = np.array([x, 2*x])\ns = 0.0\n"
    left = f"{head}for i in range(3):\n    s = s + float(a[0])*a[1].item()\ns"
    for text, value, slope in ((turned, -12, -6), (left, 24, 24)):
        for name in ("eager", "generated"):
            done = cli("grad", "-e", text, "--x", "2", "--runner", name, "--json")
            found = json.loads(done.out)
            assert (found["value"]["data"], found["grads"]["x"]["data"]) == (value, slope)


def test_loops_are_minimized_and_plotted_as_generated_code(cli, programs):
    text = "s = 0\nfor i in range(60):\n    s = s + (x - i / 60)**2\ns"
    done = [cli("minimize", "-e", text, "--x", "3", "--runner", name)
            for name in ("eager", "generated")]  # fmt: skip
    assert results(done[0]) == results(done[1]) and len(programs) == 1
    assert "for i" in cli("graph", "-e", text, "--x", "3", "--format", "ir").out


def test_checkpoints_need_generated_code(cli):
    command = ("grad", "-e", "print(x)\nx*x", "--x", "2", "--checkpoint")
    assert "a call of print" in cli(*command, "sqrt").err
    assert "E0907" in cli(*command, "revolve").err


@pytest.mark.parametrize("text", [EULER, "k * sin(k * y0)**2 * steps"])
def test_products_agree(cli, made, programs, text):
    command = ("hvp", "-e", text, *VALUES, "int:3000", "--along", "k=1", "--along", "y0=-2")
    eager = cli(*command, "--runner", "eager")
    assert eager.code == 0 and not made and not programs
    assert results(cli(*command, "--runner", "generated")) == results(eager)
    assert len(made) + len(programs) == 1
    assert results(cli(*command)) == results(eager)


def test_long_loops_are_minimized_as_generated_code_from_the_first(cli, programs):
    text = "s = 0\nfor i in range(3000):\n    s = s + (x - i / 3000)**2 / 3000\ns"
    done = cli("minimize", "-e", text, "--x", "3")
    assert len(programs) == 1 and done.code == 0
    assert results(done) == results(cli("minimize", "-e", text, "--x", "3", "--runner", "eager"))


def test_a_run_is_given_up_in_the_middle_for_what_counts_steps_itself(cli, programs):
    text = "s = x\nfor i in range(5000):\n    s = s + sum([x * j for j in range(3)]) / 5000\ns"
    found = cli("grad", "-e", text, "--x", "2")
    assert len(programs) == 1
    assert results(found) == results(cli("grad", "-e", text, "--x", "2", "--runner", "eager"))


def test_long_loops_are_plotted_as_generated_code(cli, programs):
    text = "s = 0\nfor i in range(3000):\n    s = s + sin(x + i / 3000) / 3000\ns"
    command = ("plot", "-e", text, "--x", "0:1:0.25", "--format", "csv")
    done = cli(*command)
    assert len(programs) == 1 and done.code == 0
    eager = cli(*command, "--runner", "eager")
    for a, b in zip(done.out.split(), eager.out.split(), strict=True):
        if a != b:
            assert [float(v) for v in a.split(",")] == pytest.approx(
                [float(v) for v in b.split(",")], rel=1e-12
            )
