"""``gradcli repl`` on a pipe: its streams and its exit code."""

import io
import re

import pytest

from gradcli.cli import watchdog
from gradcli.cli.repl.interrupts import Interrupts
from gradcli.cli.repl.settings import Settings
from gradcli.cli.repl.shell import Shell, read_lines
from tests.cli.conftest import ROOT


def test_a_session_on_a_pipe(process):
    lines = (
        "x = 3\nx^2 + 1\ngrad x^2*y\ny = 2\ngrad x^2*y\n"
        "def f(x):\n    return x*2\nf(4)\nx = x + 1\nx\n"
    )
    done = process("repl", stdin=lines)
    assert done.out == "10\nvalue  18\nd/dx   12\nd/dy   9\n8\n4\n"
    assert "E0202" in done.err and "set it first, y = 2.5" in done.err and done.code == 1


def test_an_open_bracket_asks_for_more_and_quit_ends(piped):
    done = piped("repl", stdin="y = [1,\n2]\ny\n:quit\n99\n")
    assert (done.out, done.err, done.code) == ("[1, 2]\n", "", 0)


def test_strings_go_on_over_empty_lines(piped):
    lines = 'def f(x):\n    """One.\n\n    Two.\n    """\n    return x\n\nf(3)\n'
    assert piped("repl", stdin=lines).out == "3\n"
    done = piped("repl", stdin='a = """b\n\nc = 3\n\nc\n')
    assert done.out == "3\n" and "E0119" in done.err and done.code == 1


def test_flag_variables_and_what_is_left_at_the_end(piped):
    done = piped("repl", "--a", "1,2", stdin=":vars\na*2\nif True:\n    a.sum()")
    assert done.out == "a  float64[2]  [1, 2]\ntensor([2., 4.])\ntensor(3.)\n" and done.code == 0


def test_a_function_that_reads_what_is_not_there_yet_says_so(piped):
    lines = "def f(x):\n    return sni(x) + g(x)\n\nf(0)\nsni = sin\ng = cos\nf(0.)\n"
    done = piped("repl", stdin=lines)
    assert done.out == "1.0\n"
    assert "`sni` is not defined yet; did you mean `sin`?\n" in done.err and "E0203" in done.err


def test_programs_run_as_sessions(piped):
    """But for the values that a session echoes."""
    for name in ("custom_relu", "newton", "logistic", "rnn"):
        path = ROOT / "examples" / f"{name}.grad"
        done = piped("repl", "--no-config", stdin=path.read_text())
        assert done.code == 0 and not done.err, (path, done.err)
        shown = path.with_suffix(".out").read_text().splitlines()
        echoed = [line for line in done.out.splitlines() if line not in shown]
        assert len(echoed) <= 3, (path, echoed)


def test_questions_and_comments(piped):
    done = piped("repl", stdin="x = 1  # why?\nx\n?\n:\nx?\n'a?'\n:undo 2\nx\n")
    assert done.out.startswith("1\n") and done.out.count(":hess EXPR") == 2
    assert "an int" in done.out and "E0202" in done.err


def test_a_block_whose_head_is_wrong_is_one_error(piped):
    lines = "for i in range(3)):\n    x = i\n\n    y = i\nz = 1\nz\n"
    done = piped("repl", stdin=lines)
    assert done.out == "1\n" and done.err.count("error[") == 1


def test_bytes_that_are_no_text(piped):
    done = piped("repl", stdin=b"\xff\xfe\n1\n\x00\n2\n'\xff'\n")
    assert "1\n2\n" in done.out and done.err.count("E0114") == 2 and done.code == 1


def test_a_session_is_read_as_programs_are(cli, monkeypatch):
    """Whatever PYTHONIOENCODING says, which no other command's input follows."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1\n"), "utf-16"))
    assert cli("repl").out == "1\n"


def test_what_is_shown_is_inert(piped, tmp_path):
    lines = (
        "print('\\x1b[2J')\n'\\x1b'\nprint('a\\tb')\n"
        "class A:\n    def __repr__(self): return '\\x1b[2J'\n\nA()\n:save \x1b.grad\n"
    )
    folder = tmp_path / "gradcli"
    folder.mkdir()
    (folder / "config.toml").write_text('"\\u001b[2J" = 3\n')
    done = piped("repl", stdin=lines, XDG_CONFIG_HOME=str(tmp_path))
    assert done.out == ("\\x1b[2J\n'\\x1b'\na\tb\n\\x1b[2J\n5 statements saved to \\x1b.grad\n")
    assert "no setting \\x1b[2J" in done.err and "\x1b" not in done.err


def test_imports_go_on(piped):
    lines = (
        "import torch\nx = torch.tensor([1., 2.])\nx.sum().dtype == torch.float32\n"
        "from torch import sum as s\ns(x)\n"
        "F = torch.nn.functional\nF.relu(-x)\ngrad sum(F.relu(x)*2)\nimport math as x\n"
        "x.floor(2.5)\nx = 3\nx\ntorch = 5\ntorch\n:reset\nF\n"
    )
    done = piped("repl", stdin=lines)
    assert done.out == ("True\ntensor(3.)\ntensor([0., 0.])\nvalue  6\nd/dx   [2, 2]\n2\n3\n5\n")
    assert done.err.count("error") == 1 and "E0202" in done.err


def test_settings_come_from_the_file_and_options_count_more(piped, tmp_path):
    folder = tmp_path / "gradcli"
    folder.mkdir()
    (folder / "config.toml").write_text('precision = 8\ndtype = "float32"\nprecison = 3\n')
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    lines = ":set precision\ntensor(1/3)\n(tensor(1.)).dtype == float32\n"
    done = piped("repl", stdin=lines, **env)
    assert "precision  8" in done.out and "0.33333334" in done.out and "True" in done.out
    assert "there is no setting precison" in done.err and done.code == 0
    assert "precision  3" in piped("repl", "--precision", "3", stdin=lines, **env).out
    assert "precision  auto" in piped("repl", "--no-config", stdin=lines, **env).out
    done = piped("repl", stdin=":set max_steps\n:set timeout\n", GRADCLI_MAX_STEPS="77",
                   GRADCLI_TIMEOUT="soon", **env)  # fmt: skip
    assert "max_steps  77" in done.out and "timeout  60" in done.out
    assert "GRADCLI_TIMEOUT: timeout soon" in done.err
    wrong = piped("repl", "--precision", "ful", stdin="1\n", **env)
    assert wrong.code == 2 and "--precision ful" in wrong.err


def test_help_is_found_in_every_way(piped):
    done = piped("repl", stdin="help\nhelp(sin)\n?:grad\n:help limits\n:grad --help\n?nothing\n")
    assert done.code == 1 and done.err.count("error[") == 1
    assert "?sin or sin? describes a name" in done.out and "derivative   cos(x)" in done.out
    assert done.out.count("Usage: :grad") == 2 and "gradcli grad" not in done.out
    assert ":set timeout S" in done.out


def test_classes_and_functions_by_name(piped):
    lines = (
        "import torch\nclass Net(torch.nn.Module):\n    def forward(self, v):\n        return v*2\n"
        "\nnet = Net()\nf = lambda v: v*v\nx = torch.tensor(3.)\n:vars\n:diff f(x)\n:diff net(x)\n"
        ":grad net(x)\n"
    )
    done = piped("repl", stdin=lines)
    assert "Net  class\nnet  Net\nf    function\n" in done.out and "d/dx  2*x\n" in done.out
    assert "net has values of its own" in done.err and done.out.endswith("d/dx   2\n")


def test_no_derivative_comes_without_a_word(piped):
    for made, what in (("1,2,3", "a tuple"), ("[1., 2.]", "a list"), ("tensor([1, 2])", "int64")):
        commands = (f":{name} sum(x)^2\n" for name in ("grad", "hess", "jac", "jvp", "hvp"))
        done = piped("repl", stdin=f"x = {made}\n" + "".join(commands))
        assert done.out == "" and done.err.count(f"x is {what}, which has no derivative") == 5
        mend = re.search(r"help: (x = .*)", done.err)[1]
        done = piped("repl", stdin=f"x = {made}\n{mend}\n:grad sum(x)^2\n")
        assert "d/dx" in done.out and not done.err


def test_each_run_of_a_command_begins_with_the_lists_that_the_session_has(piped):
    lines = (
        "l, d, s = [], {'n': 0}, {1}\ndef f(t):\n    l.append(t)\n    d['n'] += 1\n"
        "    s.add(len(l) + 1)\n    return t*len(l)*d['n']*len(s)\n\nx = 3.\n"
        ":jac f(x)\n:hess f(x)\n:check f(x)\n:minimize f(x)*x + len(l)\nlen(l), d, s\n"
    )
    done = piped("repl", stdin=lines)
    assert not done.err and re.findall("value +(.*)", done.out) == ["6", "6", "6", "1"]
    assert re.findall("d/dx +(.*)", done.out) == ["2", "2"]
    assert done.out.endswith("(0, {'n': 0}, {1})\n")


@pytest.mark.parametrize("text", [
    "class C:\n    def __init__(self):\n        self.n = 0\n    def __call__(self, t):\n"
    "        self.n += 1\n        return t*self.n\n\nf = C()\n",
    "class C:\n    n = 0\n\ndef f(t):\n    C.n += 1\n    return t*C.n\n\n",
    "n = 0\ndef f(t):\n    global n\n    n += 1\n    return t*n\n\n",
    "def f(t, l=[]):\n    l.append(1)\n    return t*len(l)\n\n",
    "from collections import deque\nd = deque()\ndef f(t):\n    d.append(2)\n    return t*len(d)\n",
    "it = iter([1, 2, 3, 4])\ndef f(t):\n    return t*next(it)\n\n",
    "d = [torch.zeros(1)]\ndef f(t):\n    d[0] += 1\n    return t*d[0].sum()\n\n",
    "import numpy as np\nd = np.zeros(2)\ndef f(t):\n    d[0] += 1\n    return t*d[0]\n\n",
    "import numpy as np\nd = np.ones(2)\ndef f(t):\n    r = t*d[1]\n    d[1:] += 1\n"
    "    np.add(d, 1, out=d)\n    d.sort()\n    np.random.shuffle(d)\n    d.fill(2)\n    return r",
])  # fmt: skip
def test_each_run_of_a_command_begins_with_the_values_that_the_session_has(piped, text):
    commands = ":jac f(x)*x\n:hess f(x)*x\n:grad f(x)*x\n"
    done = piped("repl", stdin=f"{text}\n\nx = 3.\n{commands}{commands}")
    assert not done.err and re.findall("value +(.*)", done.out) == ["9"] * 6
    assert re.findall("d2?/dx2? +(.*)", done.out) == ["6", "2", "6"] * 2


def test_what_functions_write_to_global_variables_stays(piped):
    lines = (
        "n = 1\ndef f():\n    global n\n    n = n + 1\n    return n\n\ndef g(): return n\n\n"
        "f()\nn, g()\nf() + n\nn\nf(); f()\nn, g()\nn = 9; f(); print(n)\nn\nn = 7\nf(), g\n"
        ":undo\nn\n"
    )
    done = piped("repl", stdin=lines)
    assert done.out.startswith("2\n(2, 2)\n6\n3\n5\n(5, 5)\n10\n10\n(8, ")
    assert done.out.endswith("7\n") and not done.err


def test_functions_share_the_variables_of_the_session(piped):
    """Also within one statement, and where what defined them is gone."""
    lines = (
        "n = 1.0\ndef f(x):\n    global n, m\n    n = n + 1\n    m = x\n    return x\n\n"
        "def g(x): return n*x\n\ndef both(x): return f(x) + g(10.0) + m\n\n"
        "def made():\n    return lambda x: n*x\n\nh = made(); made = 0\n"
        "f(1.0) + g(10.0)\nn, m\nboth(2.0), h(1.0)\nn = 5.0; h(1.0)\n"
        "x = 2.0\n:grad f(x)*n\n:jac f(x)*n --wrt x\n:check f(x)*n --wrt x\nn\n:undo\nh(1.0)\n"
    )
    done = piped("repl", stdin=lines)
    assert done.out.startswith(
        "21.0\n(2.0, 1.0)\n(34.0, 3.0)\n5.0\nvalue  12\nd/dx   6\nd/dn   2\n"
    )
    assert re.findall("d/dx +(.*)", done.out) == ["6", "6", "6"] and "agrees" in done.out
    assert done.err == "note: `m` is not defined yet\n"


def test_a_formula_is_of_what_functions_are_now(process):
    """Where no definition says that, there is none: an older text would be silently wrong."""
    lines = (
        "x = 2.\ndef f(x): return x**2\n\nk = tensor([1., 2.])\n:diff f(x)\n"
        "def g(x): return sum(k*f(x))\n\n:diff g(x)\nf, g = g, f\n:diff f(x)\n"
        "if True:\n    def f(x): return x**3\n\n:diff f(x)\n"
        "def h(x, n=x): return n*x\n\n:diff h(x)\ne = 3\n:diff log(e)*x\n"
    )
    done = process("repl", stdin=lines)
    assert re.findall(r"d/dx  (.*)", done.out) == ["2*x", "2*x*sum(k)"]
    said = re.findall(r"error\[E0(?:907|701)\]: (.*)", done.err)
    assert said == [
        "f is another name of g, and no formula",
        "f has no definition of its own, and no formula",
        "h has defaults that were variables, and no formula",
        "no closed form: `e` is a number in formulas, not a variable",
    ]


def test_reading_and_checking_a_line_take_its_time(piped):
    done = piped("repl", "--timeout", "0.3", stdin="x = 5\nx = " + "1*" * 80_000 + "1\nx\n")
    assert done.out == "5\n" and "E0608" in done.err and done.code == 1


def test_a_line_has_one_deadline(monkeypatch):
    """Asked whether it is complete, read, checked, run; a command, what it reads as well."""
    ends = []
    began = watchdog.start

    def start(*limits):
        outermost = began(*limits)
        ends.append(watchdog._watch.deadline)
        return outermost

    monkeypatch.setattr(watchdog, "start", start)
    watchdog.keep_process()
    try:
        shell = Shell(Settings(), Interrupts())
        for line in ("x = 2.0; y = x*x", ":eval x + y", ":grad x**2"):
            ends.clear()
            read_lines(shell, [line])
            assert len(ends) > 2 and len(set(ends)) == 1 and not watchdog._watch.running, line
    finally:
        watchdog.keep_process(False)
