"""``:save``: the statements that worked, as a program that gives the same values."""

import pytest

from gradcli.cli.repl import saving
from gradcli.cli.repl.session import Session
from gradcli.engine import dtypes
from gradcli.engine.creation import generator
from gradcli.ops.errors import Fault

SESSIONS = [
    ["x = 3", "y = x^2 + 1; z = y^-1", "s = 'a^b'  # ^"],
    ["3", "4", "a = _ * 10 + __", "_", "b = _"],
    ["x = tensor([1., 2.])", "x*2; x + 1", "y = _ - 1", "for _ in range(2): x.add_(1)"],
    ["def f(x):\n    return x^2 + k\n", "k = 1", "a = f(2)", "k = 10", "b = f(2)"],
    ["a = randn(3)", "b = rand(2)", "c = [randn(1) for i in a]"],
    ["import torch", "from torch import nn", "net = nn.Linear(2, 1)", "w = net.weight.tolist()"],
    ["out1 = 5", "out1 + 1", "z = _"],
    ["x = tensor(2., requires_grad=True)", "(x^3).backward()", "g = x.grad", "_ = 3", "h = _"],
    ["a = 1/tensor(3.)", "import torch", "b = torch.tensor(1.)/3"],
    ["a = ones(1)/3", ":set dtype float32", "b = ones(1)/3", ":set dtype float64", "c = ones(1)/3"],
]


@pytest.mark.parametrize("lines", SESSIONS, ids=lambda lines: lines[0])
def test_a_saved_session_gives_the_same_values(lines, tmp_path):
    before = dtypes.get_default_dtype()
    dtypes.set_default_dtype(dtypes.float64)
    generator.seed_when_asked(None)
    try:
        session = Session()
        for line in lines:
            setting = line.partition(":set dtype ")[2]
            dtypes.set_default_dtype(setting or dtypes.get_default_dtype())
            list(session.feed("" if setting else line))
        with pytest.raises(Fault):
            list(session.feed("lost = 1; 1/0"))
        path = tmp_path / "s.grad"
        assert saving.save(session, str(path)) == len(session.lines)
        assert "lost" not in path.read_text() and "^2" not in path.read_text()
        dtypes.set_default_dtype(dtypes.float64)
        again = Session()
        list(again.feed(path.read_text(), "file"))
        for name, value in session.variables.items():
            if name not in ("_", "o_"):
                assert getattr(again.variables[name], "dtype", 0) == getattr(value, "dtype", 0)
                assert (
                    str(again.variables[name]).split(" at 0x")[0] == str(value).split(" at 0x")[0]
                )
        compile(path.read_text(), "s.py", "exec")  # valid Python
    finally:
        dtypes.set_default_dtype(before)


def test_a_file_that_exists_stays(piped, tmp_path):
    (tmp_path / "kept.grad").write_text("mine\n")
    lines = "x = 1\n:save kept.grad\n:save ! kept.grad\n:save no/where.grad\n:save new.grad\n"
    done = piped("repl", "--a", "1,2", stdin=f"{lines}:load new.grad\nx\na\n")
    assert "kept.grad exists" in done.err and "cannot write no/where.grad" in done.err
    assert "only on a terminal" in done.err and done.out.endswith("1\ntensor([1., 2.])\n")
    assert (tmp_path / "kept.grad").read_text() == "mine\n"
    assert (tmp_path / "new.grad").read_text() == "a = tensor([1.0, 2.0])\nx = 1\n"
    assert piped("run", "new.grad", "--show", "a").out == "a  [1, 2]\n"


def test_a_session_reads_and_writes_nothing_but_programs(piped, tmp_path):
    """What is piped in may be anybody's text."""
    (tmp_path / "secret").write_text("hunter2 is the word\n")
    (tmp_path / "secret.json").write_text('{"hunter2": 1}')
    lines = (
        ":load secret\n:save secret\n:save canary\n:grad -f secret\n:eval x --vars secret.json\n"
        ":plot sin(x) --out canary.png\n:graph 2*x --x 1 --tensorboard canary\n"
        ":check x^2 --x 1 --against-file secret\n:diff --file secret\n:help ../secret\n"
        "s = @secret\ns = @secret.json\n:time open('secret')\n:load secret.grad\n"
    )
    done = piped("repl", stdin=lines)
    assert "hunter2" not in done.out + done.err and done.code == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["secret", "secret.json"]
