"""``gradcli repl`` on a pipe."""


def test_a_session_on_a_pipe(process):
    lines = (
        "x = 3\nx^2 + 1\ngrad x^2*y\ny = 2\ngrad x^2*y\n"
        "def f(x):\n    return x*2\n\nf(4)\nx = x + 1\nx\n"
    )
    done = process("repl", stdin=lines)
    assert done.out == "10\nvalue  18\nd/dx   12\nd/dy   9\n8\n4\n"
    assert "E0202" in done.err and done.code == 2


def test_an_open_bracket_asks_for_more(process):
    assert process("repl", stdin="y = [1,\n2]\ny\n:quit\n99\n").out == "[1, 2]\n"


def test_variables_and_help(process):
    done = process("repl", "--a", "1,2", stdin=":vars\na*2\n:help\n:clear\n:vars\n")
    assert done.out.startswith("a = [1, 2]\n[2, 4]\n") and ":quit" in done.out and done.code == 0


def test_prints_are_inert(process):
    done = process("repl", stdin="print('\\x1b[2J')\n'\\x1b'\nprint('a\\tb')\n")
    assert done.out == "\\x1b[2J\n'\\x1b'\na\tb\n"


def test_imports_go_on(process):
    lines = (
        "import torch\nx = torch.tensor([1., 2.])\nx.dtype\nfrom torch import sum as s\ns(x)\n"
        "F = torch.nn.functional\nF.relu(-x)\ngrad sum(F.relu(x)*2)\nimport math as x\n"
        "x.floor(2.5)\nx = 3\nx\ntorch = 5\ntorch\n:clear\nF\n"
    )
    done = process("repl", stdin=lines)
    assert done.out == ("gradcli.float32\n3\n[0, 0]\nvalue  6\nd/dx   [2, 2]\n2\n3\n5\n")
    assert done.err.count("error") == 1 and "E0202" in done.err
