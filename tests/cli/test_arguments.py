"""Arguments are sorted into options, variables and words before Typer sees them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.cli.arguments import Variables, split
from gradcli.ops.errors import ValueFault
from tests.support.families import family

FLAGS = {"--json", "--help", "-h"}
TAKERS = {"--wrt": "wrt", "-e": "", "--set": ""}


def sorted_args(*args):
    variables = Variables()
    variables.options = [*FLAGS, *TAKERS]
    return split(args, FLAGS, TAKERS, variables), variables.given


def test_a_variable_takes_exactly_one_value():
    assert sorted_args("x+y", "--x", "-1,2", "--y=3", "--json") == (
        ["--json", "--", "x+y"], [("x", "-1,2"), ("y", "3")],
    )  # fmt: skip


def test_an_expression_may_begin_with_a_sign():
    assert sorted_args("-x**2", "--x", "--json") == (["--", "-x**2"], [("x", "--json")])
    assert sorted_args("-e", "-x") == (["-e", "-x"], [])


def test_what_is_no_name_says_nothing_of_the_variables():
    """They are not known yet: the expression may well have some."""
    with pytest.raises(ValueFault) as caught:
        sorted_args("x+y", "--x", "1", "--v-x", "2")
    assert caught.value.code == "E0902" and "letters, digits and _" in caught.value.help


def test_double_dash_ends_the_options():
    assert sorted_args("--json", "--", "--x") == (["--json", "--", "--x"], [])


@family("args, code",
    [(["--x"], "E0908"), (["--wrt"], "E0908"), (["--x", "1", "--x", "2"], "E0909"),
     (["--max-step", "3"], "E0902"), (["--_x", "3"], "E0902"), (["--é", "3"], "E0902")],
)  # fmt: skip
def test_what_is_refused(args, code):
    with pytest.raises(ValueFault) as caught:
        sorted_args(*args)
    assert caught.value.code == code


@settings(derandomize=True, max_examples=100)
@given(st.lists(st.text(max_size=6), max_size=6))
def test_nothing_is_lost_or_crashes(args):
    try:
        options, given_variables = sorted_args(*args)
    except ValueFault:
        return
    kept = sum(len(o) for o in options if o != "--") + sum(
        len(n) + len(v) for n, v in given_variables
    )
    assert kept <= sum(map(len, args)) + len(args)


def test_a_variable_that_the_program_sets_is_told(cli):
    text = "for i in range(3): x = x*a"
    done = cli("grad", "-e", text, "-e", "x", "--x", "2", "--a", "3")
    assert done.code == 2 and "--x: the program sets `x` itself" in done.err
    assert "begin with x = x0, and give --x0 a value" in done.err
    done = cli("grad", "-e", "x = x0", "-e", text, "-e", "x", "--x0", "2", "--a", "3")
    assert done.code == 0 and "d/dx0  27" in done.out


@pytest.mark.filterwarnings("always::UserWarning")
def test_a_variable_that_a_file_does_not_read_is_a_note(tmp_path, capsys):
    from gradcli.cli.main import run

    file = tmp_path / "square.grad"
    file.write_text("y = x**2\ny\n")
    assert run(["grad", "-f", str(file), "--x", "3", "--zeta", "4"]) == 0
    said = capsys.readouterr().err
    assert said == "warning: --zeta: the program reads no variable of that name\n"
    assert run(["eval", "-f", str(file), "--x", "3", "--zeta", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [said[9:-1]]
    (tmp_path / "v.json").write_text('{"x": 3, "eta": [1, 2], "zeta": 4}')
    assert run(["eval", "x**2", "--vars", str(tmp_path / "v.json")]) == 0
    said = f"warning: --vars {tmp_path / 'v.json'}: the program reads no 'eta', 'zeta'\n"
    assert tuple(capsys.readouterr()) == ("value  9\n", said)
    assert run(["eval", "x**2", "--x", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
    assert run(["grad", "x**2", "--x", "3", "--zeta", "4"]) == 2
    assert run(["grad", "-f", str(file), "--x", "3", "--jsn", "4"]) == 2
    assert capsys.readouterr().err.count("E0902") == 2


@family("command", ["fmt -e x", "ops", "why E0101", "example", "doctor --env"])
def test_a_command_without_variables_refuses_one(cli, command):
    for value in [["3"], []] if "doctor" not in command else [["3"]]:
        found = cli(*command.split(), "--nonsense", *value)
        assert found.code == 2 and "error[E0902]" in found.err and "--nonsense" in found.err


@family("words", [
     "fmt x --color blue", "diff x --color blue", "diff x --timeout -1", "diff x --range 0,1",
     "fmt no.grad", "diff x --around 1"],
)  # fmt: skip
def test_an_option_that_says_nothing_is_refused(cli, words):
    found = cli(*words.split())
    assert found.code == 2 and found.err.startswith("error[E090") and words.split()[-1] in found.err


@family("words, code", [
    ("grad x*y --x 1 --y 2 --wrt x --wrt y", "E0909"), ("eval x -f a.grad --file b.grad", "E0909"),
    ("grad x --x 1 --dtype float32 --dtype=float64", "E0909"), ("eval x --x 1 --set x=2", "E0909"),
    ("eval x --set x=1 --set x=2", "E0909"),
    ("jvp x*y --x 1 --y 2 --along x=1 --along x=2", "E0909"),
    ("hvp x --x 1 --along 1 --along 2", "E0909"), ("diff x*y --at x=1 --at x=2 --at y=3", "E0909"),
    ("diff x*y --along x=a --along x=b", "E0909"), ("diff x*y --at x=1", "E0202"),
    ("diff x**3 --taylor 2 --order 2", "E0907"), ("diff x**3 --taylor 2 --at x=2", "E0907"),
    ("diff x**3 --taylor 2 --code numpy", "E0907"), ("diff x**3*y --along x=1 --wrt y", "E0907"),
    ("diff x**3 --code numpy --at x=2", "E0907"),
    ("diff sum(x**3) --x vector:3 --at x=1,2", "E0912"),
    ("diff sum(x**3) --x vector --at x=5", "E0912"),
    ("diff sum(x)*sum(y) --x vector:n --y vector:n --at x=1,2 --at y=1,2,3", "E0912"),
    ("diff n*sum(x**2) --x vector:n --n scalar --at x=1,2 --at n=7", "E0912"),
    ("diff n*sum(x**2) --x vector:n --at x=1,2 --at n=2.5", "E0912"),
    ("diff n*sum(x**2) --x vector:n --n scalar --wrt n", "E0902"),
])  # fmt: skip
def test_no_value_is_left_out_without_a_word(cli, words, code):
    found = cli(*words.split())
    assert found.code and found.err.startswith(f"error[{code}]")


def test_what_may_be_repeated(cli):
    assert (
        cli("eval", "-e", "z = x*y", "-e", "z", "--set", "x=2", "--set", "y=3").out == "value  6\n"
    )
    assert cli("jvp", "x*y", "--x", "1", "--y", "2", "--along", "x=1", "--along", "y=1").code == 0
