"""A session: a statement changes everything or nothing."""

import os
import signal
import threading

import numpy as np
import pytest

from gradcli.cli.repl.interrupts import Interrupts
from gradcli.cli.repl.rollback import Snapshot
from gradcli.cli.repl.session import Session
from gradcli.cli.repl.settings import Settings
from gradcli.cli.repl.shell import Shell
from gradcli.engine import dtypes, printing
from gradcli.language.names.settings import drawing_states, restore_drawing
from gradcli.language.runtime.run import Limits
from gradcli.ops.errors import Fault


@pytest.fixture
def session():
    """A session that prints nowhere; defaults and random sequences are put back."""
    before, shown = dtypes.get_default_dtype(), printing.get_printoptions()
    drawn = drawing_states()
    dtypes.set_default_dtype(dtypes.float64)
    yield Session()
    dtypes.set_default_dtype(before)
    printing.set_printoptions(**shown)
    restore_drawing(drawn)


def run(session, *texts):
    """The value of the last statement of the last text."""
    return [value for text in texts for value in session.feed(text)][-1]


def fails(session, text, code):
    """The text raises a fault of this code."""
    with pytest.raises(Fault) as caught:
        run(session, text)
    assert caught.value.code == code


SETUP = """\
import torch
x = torch.tensor([1., 2., 3.], requires_grad=True)
y = (x**2).sum()
h = x*2
h.retain_grad()
v = torch.zeros(4)
part = v[1:3]
box = [v, [1, 2]]
net = torch.nn.Linear(2, 1)
opt = torch.optim.Adam([x], lr=0.1)
g = torch.Generator()
k = 2
def f(a):
    return a*k

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 1)
        self.count = 0
    def forward(self, x):
        self.count += 1
        return self.inner(x)*k

own = Net()
lazy = torch.nn.LazyLinear(1)
d = {"a": 1, "v": v}
"""
SEEN = (
    "x.tolist()", "x.grad", "h.grad is None", "v.tolist()", "part.tolist()", "box[1]",
    "net.weight.tolist()", "net.training", "x.requires_grad", "k", "f(3)", "g.initial_seed()",
    "x.is_leaf", "v.shape", "own.count", "own.inner.weight.tolist()", "sorted(d)", "d['a']",
    "own.inner.bias.grad", "lazy",
)  # fmt: skip
CHANGES = (
    "v.mul_(0).add_(5)", "part += 7", "v[2] = 9", "part[0] = 3", "box.append(4)", "box[1][0] = 8",
    "box[1].pop()", "y.backward()", "h.sum().backward()", "x.grad = torch.ones(3)",
    "y.backward(retain_graph=True); opt.step()", "opt.zero_grad()", "net.eval()",
    "net.weight.requires_grad_(False)", "torch.nn.init.zeros_(net.weight)", "k = 5", "k += 1",
    "x = 3", "v = v + 1", "g.manual_seed(3)", "torch.sin(v, out=v)", "v.data = torch.ones(2)",
    "x.requires_grad_(False)", "for i in range(4): v[i] = i", "x.register_hook(lambda g: g*100)",
    "v.view(2, 2).t().fill_(6)", "k = 7; f(1); v.fill_(k)", "h.sum().backward(); x.grad.mul_(3)",
    "torch.set_default_dtype(torch.float64)", "v.requires_grad_(); v2 = v*2",
    "torch.manual_seed(5); v.uniform_()", "own.count = 7", "own(torch.ones(2)).sum().backward()",
    "d['b'] = 2", "d['v'].mul_(3).add_(1)", "d.pop('a')", "d.update(a=5)", "own.more = 3",
    "torch.nn.init.ones_(own.inner.weight)", "lazy(torch.ones(1, 2))",
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_statement_is_taken_back_by_undo_and_by_an_error_on_its_line(session, change):
    """And what it would do, still works."""
    run(session, SETUP, "k")

    def seen():
        return [*map(str, run(session, f"[{', '.join(SEEN)}]")), str(dtypes.get_default_dtype())]

    before, lines = seen(), [line.text for line in session.lines]
    names = set(session.variables)
    run(session, change)
    assert session.undo().text == change
    fails(session, f"{change}; v.view(77)", "E0306")
    session.lines[:] = [line for line in session.lines if line.text in lines]
    assert seen() == before and set(session.variables) == names
    run(session, "y.backward(); h.sum().backward()")  # no graph was lost
    assert run(session, "x.grad.tolist()") == [4.0, 6.0, 8.0]


def test_a_write_to_an_index_goes_back(session):
    run(session, "i = tensor([1, 0]); x = tensor([1., 2.], requires_grad=True)")
    run(session, "y = (x[i] * tensor([3., 5.])).sum()")
    fails(session, "i.zero_(); zeros(2).view(5)", "E0306")
    run(session, "i.zero_()")
    session.undo()
    run(session, "y.backward()")
    assert run(session, "x.grad.tolist()") == [5.0, 3.0]


STALE = (
    "a = torch.tensor(1.5, requires_grad=True)", "w = torch.tensor([1., 2.]) * 1", "q, p = w",
    "w[1] = a",
)  # fmt: skip


def test_a_view_that_nothing_may_be_recorded_of_stops_nothing(session, capsys):
    """The session goes on; the view is shown and described, and is the same after an undo."""
    run(session, *STALE, "k = 3")
    shell = Shell(Settings())
    shell.session = session
    for line in (":vars", "?p", ":graph w"):
        shell.take(line)
    said = capsys.readouterr()
    assert said.out.count("Invalid") == 3 and "w = put" in said.out and not said.err
    assert session.undo().text == "k = 3"
    fails(session, "p * 2", "E0409")
    fails(session, "w.detach_(); zeros(2).view(5)", "E0306")
    fails(session, "p * 2", "E0409")
    session.undo()  # the write to the base
    assert run(session, "p * 2").tolist() == 4.0
    assert run(session, "w.tolist()") == [1.0, 2.0]


ITERATORS = (
    "iter([1, 2, 3, 4])", "count(1)", "(v for v in range(1, 9))", "map(abs, [-1, -2, -3, -4])",
    "iter({1: 0, 2: 0, 3: 0, 4: 0})", "iter(range(1, 5))", "filter(None, [0, 1, 2, 3, 4])",
)  # fmt: skip


@pytest.mark.parametrize("made", ITERATORS)
def test_an_iterator_goes_back(session, made):
    run(session, f"def count(n):\n    while True:\n        yield n\n        n += 1\n\nit = {made}")
    assert run(session, "next(it)") == 1
    fails(session, "next(it); list(zip(range(2), it)); zeros(2).view(5)", "E0306")
    assert run(session, "next(it)") == 2
    assert run(session, "pairs = zip(it, [5])", "next(pairs)") == (3, 5)
    fails(session, "next(it); zeros(2).view(5)", "E0306")
    session.undo()
    assert run(session, "next(it)") == 3


def test_an_interrupt_undoes_the_writes_of_a_loop(session):
    run(session, "v = zeros(3); n = 0")
    turns = 0

    def interrupt(_text):
        nonlocal turns
        turns += 1
        if turns == 5:
            raise KeyboardInterrupt

    session.write = interrupt
    with pytest.raises(KeyboardInterrupt):
        run(session, "while True: v.add_(1); n += 1; print(n)")
    assert run(session, "n") == 0 and run(session, "v.tolist()") == [0, 0, 0]


def test_statements_on_lines_of_their_own_stand(session):
    fails(session, "a = 1\nb = 2; b.foo\nc = 3", "E0204")
    assert set(session.variables) == {"a"}


def test_a_command_computes_what_the_session_does(session, capsys):
    shell = Shell(Settings())
    shell.session = session
    run(session, "x = tensor(3.0, requires_grad=True)")
    run(session, "def f(t):\n    s = t*1\n    u = s\n    u += 1\n    return s*u")
    for line in ("f(x).item()", ":grad f(x)", ":diff f(x)"):
        shell.take(line)
    assert capsys.readouterr().out.startswith("16.0\nvalue  16\nd/dx   8\nd/dx  2*x + 2\n")


def test_functions_see_variables_as_they_are_now(session):
    run(session, "k = 2\ndef f(x):\n    return k*x\n")
    assert run(session, "f(3)") == 6
    assert run(session, "k = 5", "f(3)") == 15
    assert run(session, "k = 7; f(3)") == 21
    assert run(session, "total = 0", "for k in range(4): total += f(1)", "total") == 6
    assert run(session, "def f(x):\n    return k - x\n", "k = 10", "f(1)") == 9
    inner = "def make(k):\n    def inner(x):\n        return k*x\n    return inner\n"
    assert run(session, inner, "g = make(3)", "k = 100", "g(2)") == 6
    assert run(session, "fs = [lambda x: x + k]", "k = 1", "fs[0](1)") == 2


def test_functions_may_be_defined_before_what_they_call(session):
    run(session, "def even(n):\n    return True if n == 0 else odd(n - 1)\n")
    fails(session, "even(3)", "E0203")
    run(session, "def odd(n):\n    return False if n == 0 else even(n - 1)\n")
    assert run(session, "even(10)") is True and "odd" in session.variables
    fails(session, "1 + nothing", "E0202")
    assert run(session, "double = lambda v: twice*v", "twice = 2", "double(4)") == 8
    fails(session, "def f(x=nothing):\n    return x\n", "E0202")


def test_a_constant_may_become_a_variable(session):
    run(session, "def f(x):\n    return e*x\n")
    assert run(session, "f(1)") == pytest.approx(np.e)
    assert run(session, "e = 2", "f(1)") == 2


def test_the_last_two_values(session):
    assert run(session, "3", "4", "_ * 10 + __") == 43
    assert run(session, "_ - __") == 39
    fails(session, "__.foo", "E0204")


def test_limits_start_afresh_and_reach_functions_of_functions(session):
    session.limits = Limits(steps=500)
    run(session, "def f(n):\n    s = 0\n    for i in range(n):\n        s += 1\n    return s\n",
        "def g(n):\n    return f(n)\n")  # fmt: skip
    for _ in range(5):
        assert run(session, "g(300)") == 300
        assert run(session, "[g][0](300)") == 300
    fails(session, "g(600)", "E0601")
    session.limits = Limits(memory=1 << 20)
    fails(session, "ones(1000, 1000)", "E0602")


def test_reset_and_back(session):
    run(session, "a = 1", "b = a + 1")
    session.reset()
    assert not session.variables and not session.lines
    session.undo()
    assert session.variables["b"] == 2 and len(session.lines) == 2


def test_random_numbers_of_a_failed_statement_come_again(session):
    run(session, "import random, torch", "random.seed(1); torch.manual_seed(1)")
    fails(session, "random.random(); torch.rand(3); torch.ones(2).view(9)", "E0306")
    assert run(session, "random.random()") == 0.13436424411240122
    fails(session, "np.random.rand(); 1 / 0", "E0311")
    run(session, "import numpy as np", "np.random.seed(1)")
    fails(session, "np.random.rand(); 1 / 0", "E0311")
    assert run(session, "np.random.rand()") == 0.417022004702574
    first = run(session, "torch.rand(3).tolist()")
    run(session, "torch.manual_seed(1)")
    assert run(session, "torch.rand(3).tolist()") == first


def test_modes_last_and_are_undone(session):
    run(session, "x = ones(2, requires_grad=True)", "set_grad_enabled(False)")
    assert run(session, "(x*2).requires_grad") is False
    fails(session, "set_grad_enabled(True); x.view(9)", "E0306")
    assert run(session, "(x*2).requires_grad") is False
    session.undo()
    assert run(session, "(x*2).requires_grad") is True
    fails(session, "with no_grad(): x.view(9)", "E0306")
    assert run(session, "(x*2).requires_grad") is True


def test_undo_goes_past_what_only_looked(session):
    run(session, "a = [1]", "a.append(2)", "a", "a[0]", "_ + 1")
    assert session.undo().text == "a.append(2)" and session.variables["a"] == [1]
    assert session.undo().text == "a = [1]" and session.undo() is None
    assert not session.variables and not session.undoable


def test_a_snapshot_copies_no_entries(session):
    run(session, "v = zeros(1000, 1000)", "w = v[0]")
    taken = Snapshot(session.variables)
    assert taken.log.nbytes == 0 and len(taken) < 20


def test_a_fault_of_the_tool_does_not_end_the_session(session, capsys, monkeypatch):
    shell = Shell(Settings())
    shell.begin(None, ())
    shell.take("x = tensor([1., 2.])")

    def stumble(*args):
        raise KeyError("inside")

    monkeypatch.setattr("gradcli.cli.repl.shell.Session.feed", stumble)
    assert shell.take("x.mul_(2)")
    monkeypatch.undo()
    shell.take("x")
    captured = capsys.readouterr()
    assert "E0999" in captured.err and captured.out == "tensor([1., 2.])\n" and shell.failed == 1


def test_ctrl_c_stops_a_command(session, capsys):
    interrupts = Interrupts()
    interrupts.watch()
    try:
        shell = Shell(Settings(), interrupts)
        shell.begin(None, ())
        shell.take("x = tensor(3.)")
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        shell.take(":minimize (x - 1)^2 --method sgd --lr 0.00001 --steps 10000000")
        shell.take("x")
    finally:
        interrupts.release()
    captured = capsys.readouterr()
    assert "interrupted" in captured.err and captured.out == "tensor(3.)\n"


def test_ctrl_c_between_computations_breaks_off_the_next(session):
    """While a command is prepared, say; what is typed after it runs."""
    interrupts = session.interrupts
    interrupts.handle(signal.SIGINT, None)
    with pytest.raises(KeyboardInterrupt):
        run(session, "x = 1")
    assert run(session, "x = 2", "x") == 2
    interrupts.handle(signal.SIGINT, None)
    Shell(Settings(), interrupts).take("y = 1")
    assert not interrupts.pending


def test_a_long_sum_is_read_by_its_different_terms(session):
    values = [*session.feed("x = 2.0; y = 3\n" + "x+" * 9000 + "y\nx + 1")]
    assert values[1:] == [18003.0, 3.0]
    [*session.feed("z = " + "x+" * 9000 + "y; z")]
    assert session.program.names.sums == 1
    assert len(session.program.generated.places) < 40
