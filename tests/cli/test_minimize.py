"""``gradcli minimize``."""

from __future__ import annotations

import json

from tests.support.families import family

ROSENBROCK = ("minimize", "(1-x)^2 + 100*(y-x^2)^2", "--x", "-1.2", "--y", "1")


def test_text(cli):
    done = cli(*ROSENBROCK)
    lines = done.out.splitlines()
    assert done.code == 0 and [line.split()[0] for line in lines[:3]] == ["value", "x", "y"]
    assert [line.split()[1] for line in lines[1:3]] == ["1", "1"]
    assert lines[3].startswith("converged after ") and "1e-08" in lines[3]


def test_json(cli):
    done = cli(*ROSENBROCK, "--json")
    record = json.loads(done.out)
    assert record["command"] == "minimize" and record["converged"] and not record["warnings"]
    assert abs(record["minimum"]["x"]["data"] - 1) < 1e-8
    assert record["gradient"] <= 1e-8 and record["method"] == "lbfgs"
    assert 0 < record["steps"] <= record["evaluations"]


def test_only_what_wrt_names_moves(cli):
    done = cli(
        "minimize", "(x-a)^2 + b^2", "--x", "0", "--a", "3", "--b", "5", "--wrt", "x", "--json"
    )
    record = json.loads(done.out)
    assert set(record["minimum"]) == {"x"} and abs(record["minimum"]["x"]["data"] - 3) < 1e-8
    assert record["value"]["data"] == 25


def test_trace(cli):
    done = cli("minimize", "(x-3)^2", "--x", "0", "--trace")
    lines = done.err.splitlines()
    assert lines[0].split() == ["step", "value", "gradient"]
    assert lines[1].split() == ["0", "9", "6"]
    long = cli("minimize", "(x-3)^2", "--x", "0", "--trace", "--method", "sgd", "--steps", "3000")
    assert len(long.err.splitlines()) == 1003 and "the trace ends here" in long.err


def test_a_program(cli, tmp_path):
    file = tmp_path / "a.grad"
    file.write_text("def f(v):\n    return sum([(t - i)**2 for i, t in enumerate(v)])\nf(x)\n")
    done = cli("minimize", "-f", str(file), "--x", "5,5,5", "--precision", "3")
    assert done.code == 0 and "[" in done.out and "converged" in done.out


@family("call, said", [
        (("x**3", "--x", "1"), "x = -0.000740096 has a smaller value"),
        (("x**2 - y**2", "--x", "1", "--y", "0"), "y = 0.000740096 has a smaller value"),
        (("cos(x)", "--x", "0"), "a saddle"), (("x**4", "--x", "1"), None),
        (("abs(x)", "--x", "1"), None), (("1e6*x**2 + x", "--x", "1"), None),
        (("sum((x - 1.3)**4) + sum(x**2)", "--x", "3,4", "--dtype", "float32"), None),
    ],
)  # fmt: skip
def test_a_place_that_is_no_minimum_is_told(cli, call, said):
    done = cli("minimize", *call)
    assert done.code == 0 and "converged after" in done.out
    assert said in done.err if said else not done.err


def test_not_converged_is_said(cli):
    done = cli("minimize", "abs(x)", "--x", "3.3")
    assert "not converged" in done.err and "converged" not in done.out
    record = json.loads(cli("minimize", "x^2", "--x", "3", "--method", "sgd", "--steps", "2",
                            "--json").out)  # fmt: skip
    assert not record["converged"] and record["steps"] == 2 and "limit" in record["warnings"][0]


@family("argv, code, said", [
        (["x^2", "--x", "1,2"], 1, "E0403"),
        (["log(x)", "--x", "-3"], 1, "log of a negative number"),
        (["-x^2", "--x", "3"], 1, "falls to -inf"),
        (["3"], 2, "no variable to move"),
        (["n + 1", "--n", "int:3"], 2, "no variable to move"),
        (["x^2", "--x", "1", "--method", "adm"], 2, "did you mean adam?"),
        (["x^2", "--x", "1", "--lr", "-1"], 2, "--lr -1"),
        (["x^2", "--x", "1", "--lr", "nan"], 2, "--lr nan"),
        (["x^2", "--x", "1", "--steps", "0"], 2, "--steps 0"),
        (["x^2", "--x", "1", "--tolerance", "0"], 2, "--tolerance 0"),
        (["-e", "while True: y = x", "-e", "y", "--x", "1", "--max-steps", "99"], 3, "E0601"),
        (["(x-1)^2", "--x", "9", "--method", "sgd", "--lr", "1e-9", "--steps", "10000000",
          "--timeout", "0.5"], 3, "E0608"),
        (["sum(x^2)", "--x", "1", "--max-mem", "1K", "-e", "x"], 2, "E0907"),
        (["sum(outer(x, x))", "--x", "ones(3000)", "--max-mem", "20M"], 3, "E0602"),
    ],
)  # fmt: skip
def test_errors(cli, argv, code, said):
    done = cli("minimize", *argv)
    assert done.code == code, done.err
    assert said in done.err and "Traceback" not in done.err


def test_steps_that_grow_tenfold_stay_floats(cli):
    done = cli("minimize", "x", "--x", "1.0")
    assert done.code == 1 and "without end" in done.err


def test_a_start_that_counts_as_the_minimum_is_said(cli):
    found = cli("minimize", "1e-9*(x-3)**2", "--x", "1")
    assert "warning: nothing was moved: the gradient at the start, 4e-09, is small" in found.err
    for words in (["1e-9*(x-3)**2", "--x", "1", "--tolerance", "1e-12"], ["(x-3)**2", "--x", "3"]):
        assert cli("minimize", *words).err == ""
