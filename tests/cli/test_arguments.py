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
TAKERS = {"--wrt", "-e", "--set"}


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
     "fmt no.grad"],
)  # fmt: skip
def test_an_option_that_says_nothing_is_refused(cli, words):
    found = cli(*words.split())
    assert found.code == 2 and found.err.startswith("error[E090") and words.split()[-1] in found.err
