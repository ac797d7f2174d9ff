"""The REPL on a terminal, through a pseudo-terminal: typing, pasting, completing, interrupting."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from gradcli.cli.repl.interrupts import Interrupts
from gradcli.cli.repl.settings import Settings
from gradcli.cli.repl.shell import Shell
from gradcli.cli.repl.terminal import _History, talk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX's")


def test_a_tutorial_session(terminal, tmp_path):
    """Definitions over several lines, gradients, completion, errors, an interrupt, save, reload."""
    t = terminal()
    for line, shown in (
        ("import torch", ""),
        ("x = torch.tensor([1., 2.], requires_grad=True)", ""),
        ("x", r"tensor\(\[1., 2.\], requires_grad=True\)"),
        ("y = (x^2).sum()", ""),
        ("y", r"tensor\(5., grad_fn=<SumBackward0>\)"),
        ("y.backward()", ""),
        ("x.grad", r"tensor\(\[2., 4.\]\)"),
        ("_ * 2", r"tensor\(\[4., 8.\]\)"),
        ("__ + 1", r"tensor\(\[3., 5.\]\)"),
        (":grad sum(x^3)", r"d/dx +\[3, 12\]"),
        (":vars", r"x +float32\[2\] +\[1, 2\] +leaf, with grad"),
        ("?tanh", r"1 - out\*\*2"),
        (":set precision 2", ""),
        ("x/3", r"tensor\(\[0.33, 0.67\]"),
    ):
        assert re.search(shown, t.enter(line)), (line, t.text)
    # A function over several lines: Enter goes on while the text is unfinished.
    t.enter("def f(a):", r"\. +$")
    t.enter("if a > 0:", r"\. +$")
    t.enter("return a*2", r"\. +$")
    t.enter("", r"\n> $")
    assert "8" in t.enter("f(4)")
    # Who types the indentation, too, means it from the margin.
    typed = "def g(n):|    if n > 0:|        return 1|    elif n == 0:|        return 0|    else:"
    for line in (*typed.split("|"), "        return -1"):
        t.enter(line, r"\. +$")
    t.enter("", r"\n> $")
    assert "(1, 0, -1)" in t.enter("g(5), g(0), g(-5)")
    t.enter("z = [1,", r"\. $")
    assert "[1, 2]" in (t.enter("2]"), t.enter("z"))[1]
    # The best of several, since others run too.
    for endless in ("while True: x.data.mul_(1.5)", "sum(i*i for i in range(10**9))"):
        assert any(t.stopped(endless) < 0.2 for _ in range(5))
    assert "tensor([1., 2.], requires_grad=True)" in t.enter("x")
    t.enter(":save session.grad")
    t.enter(":quit", "")
    assert t.end() == 0
    again = terminal()
    again.enter(":load session.grad")
    assert "tensor([2., 4.])" in again.enter("x.grad")
    assert "8" in again.enter("f(4)") and "[1, 2]" in again.enter("z")
    again.send("\x04")
    assert again.end() == 0
    texts = (tmp_path / "config/gradcli/history").read_text().splitlines()
    assert "y = (x^2).sum()" in [json.loads(line) for line in texts]


def test_completion_of_each_kind(terminal, tmp_path):
    t = terminal()
    t.enter("value_of_mine = tensor([1., 2.])")
    (tmp_path / "work" / "points.csv").write_text("1,2\n")
    for typed, shown in (
        ("value_o\t", "value_of_mine"),  # a name in scope
        ("softpl\t", "softplus"),  # an operator
        ("logsumex\t\t", r"logsumexp"),
        ("value_of_mine.requ\t", "requires_grad"),  # an attribute
        (":expl\t", ":explain"),  # a command
        (":set prec\t", ":set precision"),  # a setting
        ("p = @poi\t", "@points.csv"),  # a file
    ):
        t.raw = t.text = ""
        t.send(typed)
        t.expect(shown)
        t.enter("\x03", r"> $")
    t.raw = t.text = ""
    t.send("value_of_mine.cum\t")
    t.expect(r"cumprod\(.*dim")  # with signatures
    t.enter("\x03", r"> $")
    assert "tensor([1., 2.])" in (t.enter("p = @points.csv"), t.enter("p"))[1]


def test_a_pasted_session(terminal):
    t = terminal()
    t.paste(">>> def f(x):\n...     return x*3\n...\n>>> f(4)\n12\n>>> y = 5\n")
    assert "\n12\n> " in t.enter("")
    assert "\n5\n" in t.enter("y")
    t.paste("In [1]: a = 2\n\nIn [2]: a + 1\nOut[2]: 3\n")
    assert "\n3\n> " in t.enter("")


class Output(io.StringIO):
    """What is printed, with the number that a terminal has."""

    def fileno(self):
        return 1


def calls_of_a_paste(lines, monkeypatch):
    """The Python functions called in a session that takes a paste of so many lines."""
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((80, 24)))
    shell = Shell(Settings(), Interrupts())
    pasted = "".join(f"a{i} = {i}*2\n" for i in range(lines))
    monkeypatch.setattr(sys, "stdout", Output())
    calls = []
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text(f"\x1b[200~{pasted}\x1b[201~a{lines - 1}\r\x04")
        sys.settrace(lambda frame, *_: calls.append(frame.f_code.co_name))
        try:
            assert talk(Settings(), None, lambda: shell, lambda _: shell.begin(None, ())) == 0
        finally:
            sys.settrace(None)
    assert shell.failed == 0 and sys.stdout.getvalue().endswith(f"\n{lines * 2 - 2}\n")
    return len(calls)


def test_a_long_paste_takes_work_in_proportion(monkeypatch):
    """Each line is read, coloured and run a fixed number of times."""
    few = calls_of_a_paste(50, monkeypatch)
    many = calls_of_a_paste(200, monkeypatch)
    assert many < 4.5 * few


def test_a_long_history_is_read_once(tmp_path):
    texts = [f"x{i} = sin({i})" for i in range(10_000)]
    (tmp_path / "history").write_text("".join(json.dumps(text) + "\n" for text in texts))
    history = _History(str(tmp_path / "history"), Settings())
    assert list(history.load_history_strings()) == texts[::-1]


def test_the_prompt_is_drawn_before_numbers_are_loaded(tmp_path):
    """By name, as the other start-up guards: the loader begins once the prompt was drawn."""
    code = (
        "import os, sys\nfrom gradcli.cli.main import main\n"
        "from gradcli.cli.repl.terminal import Loader\n"
        "Loader.begin = lambda *_: os._exit(os.write(2, ' '.join(sys.modules).encode()) == 0)\n"
        "main([])"
    )
    screen, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code], stdin=terminal, stdout=terminal, stderr=subprocess.PIPE,
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path)}, check=True,
    )  # fmt: skip
    assert b"> " in os.read(screen, 65536)
    os.close(screen)
    os.close(terminal)
    modules = set(done.stderr.decode().split())
    assert "prompt_toolkit" in modules
    assert not modules & {"numpy", "typer", "gradcli.engine", "gradcli.ops", "gradcli.language"}


def test_a_second_interrupt_saves_and_leaves(terminal, tmp_path):
    t = terminal()
    t.enter("import torch")
    t.enter("a = torch.randn(1500, 1500)")
    t.send("[(print(6*7), torch.linalg.svd(a)) for i in range(1)]\r")
    t.expect(r"\n42")  # it runs, however slow the machine
    time.sleep(0.2)
    t.interrupt()
    t.expect("stops when the call that is running returns")
    t.interrupt()
    assert t.end() == 130
    (saved,) = (tmp_path / "config" / "gradcli").glob("session-*.grad")
    assert "a = torch.randn(1500, 1500)\n" in saved.read_text()


ERRORS = [
    ("1 +* 2", "E0101"), ("sni(1)", "E0201"), ("q + 1", "E0202"), ("x.view(5)", "E0306"),
    ("x.foo", "E0204"), ("1/0", "E0311"), ("x @ ones(3)", "E0301"), ("l[9]", "E0307"),
    ("x.sum(7)", "E03"), ("x.mul_(2); 1/0", "E0311"), ("import os", "E0"), ("'abc", "E0119"),
    ("x[", "E0105"), ("assert x[0] == 7", "E0"), ("while True: pass", "E0601"),
    ("def g(n): return g(n)", ""), ("g(1)", "E0606"), ("ones(10**6, 10**6)", "E0602"),
    ("x.backward()", "E04"), (":foo", "E0906"), (":set precison 3", "E0907"), ("?nothing", "E0907"),
    (":load no.grad", "E0904"), (":grad x", "E0403"), ("x = 1; x.y = 2", "E0204"),
]  # fmt: skip


def test_the_session_goes_on_after_every_error(terminal):
    t = terminal(columns=44)
    t.enter("x = tensor([1., 2.]); l = [1]")
    for line, code in ERRORS:
        shown = t.enter(line + ("\r" if line == "x[" else ""), r"\n> $")
        assert code in shown and "--" + "max" not in shown, (line, shown)
        assert not re.search("Traceback|gradcli (ops|why|diff|eval|grad)", shown), (line, shown)
    assert "tensor([1., 2.])" in t.enter("x")
    assert "\x1b[31m" not in t.raw and t.enter("randn(3, 20)").count("\n") > 6  # it is narrow


def test_vi_keys_no_config_and_colours(terminal, tmp_path):
    t = terminal("repl", "--no-config", "--color", "always", NO_COLOR="")
    t.enter("def")
    assert "\x1b[0;3" in t.raw
    t.enter("\x03", r"> $")
    t.enter(":set keys vi")
    t.raw = t.text = ""
    t.send("1 + 45\x1bXXi6\x1bA\r")  # Esc, delete back twice, insert
    t.expect(r"\n> $")
    assert not (tmp_path / "config").exists()
