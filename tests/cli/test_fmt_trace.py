"""``gradcli fmt`` and ``gradcli run --trace``."""

from __future__ import annotations


def test_fmt_of_a_text_and_of_a_file(cli, tmp_path):
    assert cli("fmt", "y=x^2;(2*(y))").out == "y = x**2\n2*y\n"
    file = tmp_path / "a.grad"
    file.write_text("if x>0 : # sign\n  y=1\n")
    done = cli("fmt", str(file))
    assert done.out == "if x > 0:  # sign\n    y = 1\n"
    file.write_text(done.out)
    assert cli("fmt", str(file)).out == done.out


def test_fmt_spells_out_what_a_terminal_could_act_on(cli):
    assert cli("fmt", "x = 1 # a\x1b[31m").out == "x = 1  # a\\x1b[31m\n"


def test_fmt_of_no_program(cli):
    assert cli("fmt", "2 +* 3").code == 2
    assert cli("fmt").code == 2


def test_trace_shows_statements_with_shapes_and_values(cli):
    text = (
        "def f(z):\n    return z.sum()\nw = ones(2, 3)\nfor i in range(2): w = w + i\nprint(f(w))"
    )
    done = cli("run", "-e", text, "--trace")
    assert done.out == "tensor(12.)\n" or done.out.startswith("tensor(12.")
    lines = [" ".join(line.split()) for line in done.err.splitlines()]
    assert lines == [
        "1 | def f(z):",
        "3 | w = ones(2, 3) w = float64[2, 3] [1, 1, 1, 1, 1, 1]",
        "4 | for i in range(2): w = w + i i = 0",
        "4 | w = w + i w = float64[2, 3] [1, 1, 1, 1, 1, 1]",
        "4 | for i in range(2): w = w + i i = 1",
        "4 | w = w + i w = float64[2, 3] [2, 2, 2, 2, 2, 2]",
        "2 | return z.sum() returns float64 12",
        "5 | print(f(w))",
    ]


def test_trace_shows_tests_and_jumps(cli):
    text = (
        "x = 3\nwhile x > 1:\n    x -= 1\n    if x == 2: continue\n"
        "    elif x == 1:\n        break\n"
        "for l[0], _ in [(4, 5)]:\n    with no_grad(): pass\ndef f(): return\nf()"
    )
    done = cli("run", "-e", f"l = [0]\n{text}", "--trace")
    lines = [" ".join(line.split()) for line in done.err.splitlines()]
    assert lines == [
        "1 | l = [0] l = list of 1",
        "2 | x = 3 x = 3",
        "3 | while x > 1: True",
        "4 | x -= 1 x = 2",
        "5 | if x == 2: continue True",
        "5 | continue",
        "3 | while x > 1: True",
        "4 | x -= 1 x = 1",
        "5 | if x == 2: continue False",
        "6 | elif x == 1: True",
        "7 | break",
        "8 | for l[0], _ in [(4, 5)]: l = list of 1 _ = 5",
        "9 | with no_grad(): pass",
        "9 | pass",
        "10 | def f(): return",
        "10 | return",
        "11 | f()",
    ]


def test_a_kept_gradient_that_is_shown_stands_there_once(cli):
    done = cli("run", "-e", "h = x*2\n(h*h).backward()", "--x", "3", "--show", "h", "--retain", "h")
    assert done.out.split() == ["h", "6", "h.grad", "12"]


def test_trace_is_bounded(cli):
    done = cli("run", "-e", "for i in range(5000): x = i", "--trace")
    assert done.err.count("\n") == 1001 and "the trace ends here" in done.err


def test_without_trace_nothing_is_shown(cli):
    assert cli("run", "-e", "x = 1").err == ""
