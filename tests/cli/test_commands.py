"""Every command: its help, the example in it, and what is particular to it."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import time
import warnings
from itertools import product

import pytest

from gradcli.cli.catalogue import COMMANDS, module_of
from gradcli.cli.commands.ops import example
from gradcli.cli.main import overview
from gradcli.ops import OPERATORS
from tests.support.families import family

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_overview_names_every_command(cli):
    done = cli("--help")
    assert done.code == 0 and done.out.strip() == overview()
    for name, said in COMMANDS.items():
        assert f"  {name} " in done.out and said in done.out
    assert cli().code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_one_line_and_an_example_that_runs(cli, name, monkeypatch):
    done = cli(name, "--help")
    assert done.code == 0
    found = re.search(r"Example: (gradcli .*)", done.out)
    assert found, done.out
    words = shlex.split(found[1])[1:]
    assert words[0] == name
    if name == "repl":
        return  # talked to in test_repl.py
    monkeypatch.chdir(ROOT)
    again = cli(*words)
    assert again.code == 0, again.err
    assert again.out


@family("name", COMMANDS)
def test_every_command_has_a_module(name):
    module = importlib.import_module(f"gradcli.cli.commands.{module_of(name)}")
    assert callable(getattr(module, name))


def test_unknown_command(cli):
    done = cli("grda", "x")
    assert done.code == 2 and "`gradcli grad`" in done.err
    assert 'gradcli eval "x+1"' in cli("x+1").err


@family("call, ways", [
    (["sum(x^2*sin(x))", "--x", "1,2"], "Richardson differences, complex step, closed form"),
    (["sum(abs(x))", "--x", "1,2"], "forward mode, Richardson differences, closed form"),
    (["sum(x^3)", "--x", "0.1,2", "--dtype", "float32"], "forward mode, Richardson differences"),
    (["abs(z)*sum(w.imag)", "--z", "1+2j", "--w", "1j,2"], "forward mode, Richardson differences"),
    (["x @ A @ y", "--x", "1,2", "--A", "1,2;3,4", "--y", "2,1"], "closed form"),
])  # fmt: skip
def test_check_goes_further_ways(cli, call, ways):
    assert ways in cli("check", *call).out
    also = cli("check", *call, "--json").json["checked"]["also"]
    enough = 1e-3 if "float32" in call else 1e-10
    assert len(also) > 1 and max(also.values()) < enough


def test_check_computes_a_long_sum_as_grad_does(cli, monkeypatch):
    from gradcli.language.runtime.run import Program

    monkeypatch.setattr(Program, "checked", None)  # the text with every term is never read
    assert "agrees" in cli("check", "+".join(["x"] * 40_000), "--x", "2").out


def test_check_moves_both_axes_of_complex_numbers(cli):
    told = cli("check", "abs(z)", "--z", "0j").out
    assert "d/dz along the imaginary axis: a kink" in told and "nothing was compared" in told
    wrong = cli("check", "sum(z.real + z.detach().imag)", "--z", "1j,2")
    assert wrong.code == 1 and "d/dz at entry (0,) along the imaginary axis is 0" in wrong.err


def test_a_wrong_forward_mode_is_told(cli, monkeypatch):
    from gradcli.display import agreements

    monkeypatch.setattr(agreements, "_forward", lambda *args: 7.0)
    done = cli("check", "x^2", "--x", "3")
    assert done.code == 1 and "E0410" in done.err and "forward mode gives 7" in done.err


def test_topics(cli):
    for topic in ("language", "values", "limits", "pytorch", "formulas"):
        done = cli("help", topic)
        assert done.code == 0 and 5 < done.out.count("\n") < 24
        assert max(map(len, done.out.splitlines())) <= 100
    assert "gradcli help limits" in cli("help", "limit").err
    assert cli("help", "grad").out == cli("grad", "--help").out
    for command in re.findall(
        r"^  (gradcli (?:diff|check) .*?)(?:  .*|)$", cli("help", "formulas").out, re.M
    ):
        assert cli(*shlex.split(command)[1:]).code == 0, command


def test_examples_work_from_anywhere(cli):
    """The fixture runs in an empty folder."""
    listed = cli("example").out
    assert "newton.grad" in listed and "decay.csv" in listed
    assert "import torch" in cli("example", "newton").out
    ran = cli("example", "newton", "--run")
    assert ran.code == 0 and ran.out == cli("run", "examples/newton.grad").out
    assert "did you mean newton?" in cli("example", "newtn").err
    assert cli("example", "decay.csv", "--run").code == 2


def test_the_environment_for_bug_reports(cli):
    done = cli("doctor", "--env")
    assert done.code == 0
    assert re.search(r"^gradcli +0.1.0\npython +3", done.out) and "\nnumpy " in done.out


SHELLS = {
    "bash": ("--norc", "--noprofile", "-i"), "zsh": ("-f", "-i"), "fish": ("--no-config", "-i"),
}  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_are_taught_the_commands(cli, tmp_path, shell):
    """Tab in the shell itself, where it is installed."""
    script = cli("completion", shell).out
    assert all(name in script for name in (*COMMANDS, "against-file"))
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    pty = pytest.importorskip("pty")

    (tmp_path / "points.csv").write_text("1\n")
    (tmp_path / "script").write_text(script)
    pid, fd = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.environ.update(TERM="dumb", HOME=str(tmp_path), PS1="% ")
        os.execvp(shell, [shell, *SHELLS[shell]])

    def typed(text, wanted):
        os.write(fd, text.encode())
        shown, until = "", time.monotonic() + 20
        while wanted not in shown:
            assert time.monotonic() < until, (text, shown)
            if select.select([fd], [], [], 0.1)[0]:
                shown += os.read(fd, 65536).decode("utf-8", "replace").replace("\a", "")

    try:
        if shell == "zsh":
            typed("autoload -Uz compinit; compinit -u -D\n", "")
        typed("source ./script; echo rea''dy\n", "ready")
        for text, wanted in (
            ("mini\t", "minimize"), ("check --against-\t", "against-file"),
            ("help lang\t", "language"), ("example newt\t", "newton"), ("--vers\t", "--version"),
            ("grad --x @poi\t", "points.csv"),
        ):  # fmt: skip
            typed(f"\x15gradcli {text}", wanted)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


def test_other_shells_are_refused(cli):
    assert cli("completion", "tcsh").code == 2


def test_version(cli):
    assert cli("--version").out == "gradcli 0.1.0\n"


@family("name", [name for name, op in OPERATORS.items() if example(op)])
def test_every_operators_example_runs(cli, name):
    words = shlex.split(example(OPERATORS[name]))[1:]
    done = cli(*words)
    assert done.code == 0, done.err
    assert done.out.startswith("value")


def test_ops_lists_families_and_one_operator(cli):
    listed = cli("ops").out
    assert "trigonometric" in listed and " tanh" in listed
    shown = cli("ops", "tanh").out
    assert shown.startswith("tanh(x)") and "1 - out**2" in shown and "saves" in shown
    assert 'gradcli grad "tanh(x)" --x 0.5' in shown
    assert cli("ops", "tahn").code == 2 and "tanh" in cli("ops", "tahn").err
    assert cli("ops", "tanh", "--json").json["operator"]["domain"] == "all x"


def test_ops_is_a_table(cli):
    listed = cli("ops", "--json").json["operators"]
    by_name = {entry["name"]: entry for entry in listed}
    counted = cli("ops", "--count", "--json").json["count"]
    assert counted["functions"] == len(listed)
    for fact in ("derivative", "second", "forward", "batching", "closed_form"):
        assert counted[fact] == sum(entry[fact] for entry in listed) > 300
    assert {"gelu", "silu", "layer_norm", "cross_entropy", "svd", "conv2d", "stft"} <= {*by_name}
    for name in ("argsort", "histc", "isin", "matrix_rank", "nonzero"):
        assert not by_name[name]["derivative"]
    for name in ("deg2rad", "masked.softmax", "grid_sample", "scatter_reduce", "clamp"):
        assert by_name[name]["derivative"]


def test_ops_filters(cli):
    assert "matmul" in cli("ops", "--kind", "bilinear").out
    assert "sin" not in cli("ops", "--kind", "bilinear").out.split()
    assert "layer_norm" in cli("ops", "--search", "norm").out.split()
    assert "no operator says zzz" in cli("ops", "--search", "zzz").err
    assert cli("ops", "einsum").out == cli("ops", "torch.einsum").out
    wrong = cli("ops", "--kind", "linaer")
    assert wrong.code == 2 and "did you mean linear" in wrong.err
    for name in ("gelu", "F.gelu", "nn.functional.gelu", "torch.nn.functional.gelu"):
        assert "second derivative" in cli("ops", name).out
    assert cli("ops", "torch.sin").out.startswith("sin(x)")


def test_why(cli):
    assert cli("why", "E0301").out.startswith("E0301: ")
    assert cli("why", "e0301").code == 0
    assert cli("why", "E9999").code == 2


def test_products_with_the_derivative(cli):
    assert (
        cli("jvp", "sin(x)*y", "--x", "0", "--y", "2", "--along", "x=1").out
        == "value    0\ntangent  2\n"
    )
    found = cli("hvp", "dot(x,x)**2", "--x", "1,2", "--along", "1,0", "--json").json["hvp"]
    assert found["x"]["data"] == [28.0, 16.0]
    found = cli("hess", "x^3*y", "--x", "2", "--y", "3", "--json").json["hessians"]
    assert found["x"]["data"] == 36.0 and found["y"]["data"] == 0.0
    assert found["x,y"]["data"] == found["y,x"]["data"] == 12.0
    lines = cli(
        "hess", "x @ A @ y", "--x", "1,2", "--y", "1,2", "--A", "1,2;3,4", "--wrt", "x,y"
    ).out
    assert "d2/dx dy  [[1, 2],\n           [3, 4]]" in lines and "d2/dy dx  [[1, 3]," in lines
    assert cli("hess", "x^2", "--x", "1,").out == "value   [1]\nd2/dx2  [[2]]\n"
    out = cli("hvp", "x^2*y", "--x", "2", "--y", "3", "--along", "x=1", "--along", "y=2").out
    assert out == "value          12\n(H @ v) for x  14\n(H @ v) for y  4\n"
    assert "cotangent @ d/dx  6" in cli("vjp", "x^2", "--x", "1", "--cotangent", "3").out
    assert cli("jvp", "x", "--x", "1").code == 2
    assert cli("jvp", "x", "--x", "1", "--along", "x=1,2").code == 2


@family(
    "x, text",
    product(["1e-5", "1e-8", "-1e-20"], ["exp(x)", "log(1 + exp(x))", "exp(x) + x - 0.5"]),
)
def test_check_in_single_precision_beside_zero(cli, text, x):
    """Over the smallest steps the value does not change, which is rounding and no slope of 0."""
    done = cli("check", text, "--x", x, "--dtype", "float32")
    assert done.code == 0 and "agrees with central differences" in done.out


def test_check_agrees_and_disagrees(cli, monkeypatch):
    done = cli("check", "sum(sin(x)*exp(x))", "--x", "0.5,1")
    assert done.code == 0 and "worst relative difference" in done.out
    done = cli("check", "floor(x)", "--x", "2")
    assert done.code == 1 and "E0410" in done.err


@family("call, code, said", [
        (("sin(1e6*x)", "--x", "0.3"), 0, "agrees"),
        (("sin(1e9*x)", "--x", "0.3"), 0, "settle at no step; a complex step agrees with 89821711"),
        (("cos(x)", "--x", "1e15"), 0, "\nagrees with complex steps"),
        (("sum(sin(1e9*x))", "--x", "0,0.3"), 0, "(1,): differences settle"),
        (("1e-9*sin(1e9*x)", "--x", "0.3"), 0, "a complex step agrees with 0.898217"),
        (("x.half().float()*2", "--x", "1.5"), 0, "agrees"),
        (("sum(x.float()**2)", "--x", "1.25,3"), 0, "agrees"),
        (("x.float()*x.detach()", "--x", "1.5"), 1, "`detach` takes a value off"),
        (("sin(1e9*abs(x))", "--x", "0.3"), 1, "settle at no step"),
        (("1e-9*sin(1e9*x).detach() + x", "--x", "123.4"), 1, "settle at no step"),
        (("x.detach()*0 + x**3", "--x", "1e5"), 0, "agrees"),
        (("1e-20*x*x.detach()", "--x", "3"), 1, "3e-20 by the rules; 6e-20 by differences"),
        (("1e-300*x**3", "--x", "0"), 0, "agrees with central"),
        (("1e-30*abs(x)", "--x", "0"), 0, "a kink, -1e-30 on the left and 1e-30 on the right"),
        (("(1 + 1e-12*x) - 1", "--x", "1"), 0, "a complex step agrees with 1e-12"),
        (("hardtanh(x)", "--x", "nan"), 1, "no value on one side"),
        (("1e-30*sin(x)", "--x", "1", "--against", "1e-30*cos(x)"), 0, "--against for x: agrees"),
        (("1e-9*sin(1e9*abs(x))", "--x", "0.3"), 1, "settle at no step"),
        (("1/(x-1)", "--x", "1.0000000000005"), 0, "agrees with central"),
        (("relu(1/(x-1))", "--x", "1.0000000000005"), 0, "agrees with central"),
        (("1/(x-1)", "--x", "1.000000000000002"), 0, "find a jump; a complex step agrees"),
        (("log(x-1)*log(x-1).detach()", "--x", "1.000000000001"), 1, "`detach` takes a value"),
        (("where(x > 1, 1/(x-1), x)", "--x", "1.0000000000000002"), 1, "find a jump"),
        (("sin(1e9*x.detach())", "--x", "0.3"), 1, "by the rules"),
        (("lgamma(x)", "--x", "1e-300"), 0, "agrees"),
        (("sin(1e6*x)", "--x", "0.3", "--dtype", "float32"), 0, "a complex step agrees"),
        (("x**2", "--x", "3", "--dtype", "float32"), 0, "agrees"),
        (("sum(tanh(x)**3)", "--x", "1,2,3", "--dtype", "float32"), 0, "agrees"),
        (("exp(x)", "--x", "80", "--dtype", "float32"), 0, "agrees"),
        (("cross_entropy(y, tensor(0))", "--y", "1,2", "--dtype", "float32"), 0, "agrees"),
        (("sum(sin(y)*tensor([1,1]))", "--y", "1,2", "--dtype", "float32"), 0, "agrees"),
        (("sum(sin(y)*tensor([1,1]))", "--y", "1,2", "--dtype", "float16"), 0, "agrees"),
        (("1e-4*sin(1e4*x).detach() + x", "--x", "1.4", "--dtype", "float32"), 1, "settle at no"),
        (("atan2(x, y)", "--x", "1e-200", "--y", "1e-200"), 0, "agrees"),
        (("atan(y/x)", "--x", "1e-200", "--y", "1e-200"), 0, "agrees"),
        (("sin(x)", "--x", "5e-324"), 0, "agrees"), (("sum(x)", "--x", "1,1e-323"), 0, "agrees"),
        (("abs(x)", "--x", "1e-7"), 0, "agrees"), (("1/x", "--x", "1e-12"), 0, "agrees"),
        (("tan(x)", "--x", "1.5707963"), 0, "agrees"),
        (("reshape(x, (1,))*2", "--x", "3"), 0, "agrees"),
        (("abs(x)", "--x", "0"), 0, "a kink, -1 on the left and 1 on the right; the rules take 0\n"
         "nothing was compared"),
        (("abs(x)", "--x", "0", "--dtype", "float32"), 0, "nothing was compared"),
        (("sum(x + 1e6)", "--x", "1,2", "--dtype", "float32"), 0, "agrees"),
        (("sum(exp(x)*x)", "--x", "1,2", "--dtype", "float16"), 0, "agrees"),
        (("sum(x**2)", "--x", "1e8,1", "--dtype", "float32"), 0, "entry (1,): not compared"),
        (("sum(x**2)", "--x", "1e8,1"), 0, "entry (1,): not compared"),
        (("floor(x) + 1e7", "--x", "1", "--dtype", "float32"), 1, "settle at no step"),
        (("heaviside(x, .5)", "--x", "0"), 1, "find a jump"),
        (("x**2 + sign(x - 1)", "--x", "1"), 1, "find a jump"),
        (("x.detach()*x", "--x", "2"), 1, "`detach` takes a value off the graph"),
        (("x.item()*x", "--x", "2", "--dtype", "float32"), 1, "`item` takes a value off"),
        (("sum(relu(x))", "--x", "0,1"), 0, "(0,): a kink, 0 on the left and 1 on the right"),
        (("max(x, y)", "--x", "1", "--y", "1"), 0, "the rules take 0.5"),
        (("log(exp(x)) - x", "--x", "0.3"), 0, "agrees"),
        (("(x + 1)^2 - x^2 - 2*x - 1", "--x", "1.1"), 0, "agrees"),
        (("imag(z*conj(z)*(1 + 0j)^0.5)", "--z", "0.5+0.3j"), 0, "agrees"),
        (("x*(1/49)*49 - x", "--x", "0.7"), 0, "too small for central"),
        (("max(x*1e-20, 1)", "--x", "1e20"), 0, "0 on the left and 1e-20 on the right"),
        (("where(abs(x)<1e-3, 0, x)", "--x", "1e-3"), 1, "find a jump"),
        (("where(x.abs()<2, x, x+1)", "--x", "2"), 1, "find a jump"),
        (("where(x.real<2, x, x+1)", "--x", "2"), 1, "find a jump"),
        (("x.long()*x", "--x", "2"), 1, "a jump"), (("x.int()*x", "--x", "3"), 1, "a jump"),
        (("x.to(int64)*x", "--x", "2"), 1, "a jump"),
        (("exp(-x^2)", "--x", "10"), 0, "worst relative difference 6.0e-08"),
        (("sin(x)", "--x", "1.5707963267948966"), 0, "compared: 1 slope is too small for central"),
        (("sum(exp(-x^2))", "--x", "1,6"), 0, "e-12; 1 slope is too small for them\nalso: forward"),
        (("floor(x)", "--x", "2"), 1, "a jump"), (("heaviside(x, 1)", "--x", "0"), 1, "a jump"),
        (("sqrt(x)", "--x", "0"), 1, "no value on one side"),
        (("cbrt(x)", "--x", "0"), 1, "has no bound"), (("log(x)", "--x", "1e-30"), 0, "agrees"),
        (("where(x > 0, x**2, -x**2)", "--x", "0"), 0, "agrees"),
        (("sum(sort(x)[0]*x)", "--x", "1,1"), 0, "agrees"),
        (("2 + 2",), 0, "nothing was compared: there is no entry to move"),
        (("sum(x)", "--x", "[]"), 0, "nothing was compared"),
        (("gammainc(a, y)", "--a", "2", "--y", "1.5"), 0, "agrees"),
        (("zeta(a, y)", "--a", "2", "--y", "1.5"), 0, "agrees"),
        (("polygamma(n, y)", "--n", "2", "--y", "1.5"), 1, "no derivative by a parameter"),
        (("linalg.cond(x*eye(2), p)", "--x", "3", "--p", "2"), 1, "p must be Number"),
        (("linalg.matrix_norm(x*eye(2), p)", "--x", "3", "--p", "2"), 1, "no derivative by a"),
    ],
)  # fmt: skip
def test_check_says_what_it_compared(cli, call, code, said):
    done = cli("check", *call)
    assert done.code == code and said in (done.err if code else done.out)
    assert code or ("agrees" in done.out) != ("nothing was compared" in done.out)


def test_run_prints_and_shows(cli, tmp_path):
    (tmp_path / "p.grad").write_text(
        "import torch\na = torch.tensor(3.0, requires_grad=True)\n"
        "h = a*2\nc = h*h\nc.backward()\nprint(a.grad)\n"
    )
    done = cli("run", "p.grad", "--retain", "h", "--show", "a")
    assert done.out == "tensor(24.)\na       3\na.grad  24\nh       6\nh.grad  12\n"
    found = cli("run", "p.grad", "--retain", "all", "--json")
    assert found.json["retained"]["h"]["grad"]["data"] == 12.0 and "tensor(24.)" in found.err
    assert cli("run", "p.grad", "--show", "b").code == 2
    assert cli("run", "none.grad").code == 2


def test_while_loop_of_the_tutorials(cli, tmp_path):
    """The gradient of a piecewise linear function built by control flow is d/a."""
    (tmp_path / "w.grad").write_text(
        "b = a*2\nwhile b.norm() < 1000:\n    b = b*2\n"
        "if b.sum() > 0:\n    d = b\nelse:\n    d = 100*b\n"
        "d.backward()\nprint((a.grad == d/a).item())\n"
    )
    for a in ("0.7", "-3", "250"):
        assert cli("run", "w.grad", "--a", a).out == "True\n"


def test_a_warning_is_given_once_though_the_program_runs_many_times(cli):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        said = cli("check", "tensor(x)*x", "--x", "1.5").err
    assert said.count("warning: To copy construct from a tensor") == 1 and "by differences" in said


def test_a_warning_of_the_engine_is_one_line_on_stderr(cli, tmp_path):
    (tmp_path / "p.grad").write_text(
        "x = tensor(2.0, requires_grad=True)\ny = 2*x\nprint(y.grad)\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = cli("run", "p.grad")
    assert (done.code, done.out) == (0, "None\n")
    assert done.err.startswith("warning: The .grad attribute of a Tensor that is not a leaf")
    assert done.err.count("\n") == 1


def test_a_warning_is_inert(cli, tmp_path):
    (tmp_path / "r.csv").write_text("a\n1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = cli("batch", "a", "--csv", "r.csv", "--quiet", "-o", "x.\x1b[31m\n")
    assert done.code == 0 and "-o x.\\x1b[31m\\x0a: the suffixes are" in done.err


@family("text, value", [
    ("y.add_(1)\nsum(x*x*y)", 18),
    ("y[0] = y[0]*2\nsum(x*x*y)", 25),
    ("y.data = y*1 + 1\nsum(x*x*y)", 18),
    ("q = sum(x*y)\nq.backward()\nsum(y.grad*x*x)", 9),
    ("with no_grad():\n    y.unsqueeze_(0)\nsum(x*x*y)*y.ndim", 26),
    ("y.data.add_(1)\nsum(x*x*y)", 18),
    ("f = y.add_\nf(1)\nsum(x*x*y)", 18),
    ("a = y.detach().numpy()\na += 1\nsum(x*x*y)", 18),
    ("w = y.grad is None\ny.grad = y*1\nsum(x*x*y)*w", 13),
    ("y.requires_grad = not y.requires_grad\nsum(x*x*y)*(2 - y.requires_grad)", 26),
])  # fmt: skip
def test_what_a_run_writes_to_a_variable_is_put_back_before_the_next(cli, text, value):
    """Commands that run a program several times added the writes up: 23 and 10 for 18 and 8."""
    given = (text, "--x", "2,1", "--y", "3,1", "--wrt", "x", "--json")
    found = {c: json.loads(cli(c, *given).out) for c in ("grad", "jac", "hess")}
    assert {record["value"]["data"] for record in found.values()} == {value}
    slopes = found["grad"]["grads"]["x"]["data"]
    assert found["jac"]["jacobians"]["x"]["data"] == slopes
    seconds = found["hess"]["hessians"]["x"]["data"]
    assert [seconds[0][0] * 2, seconds[1][1]] == slopes
    if "backward" not in text:
        assert json.loads(cli("check", *given).out)["checked"]["compared"]


def test_a_run_does_not_differentiate_through_what_the_run_before_it_wrote(cli):
    """A check said that 36 by the rules is 0 by differences: y was what x had made of it."""
    given = ("y.mul_(x)\nsum(x*x*y)", "--x", "2,1", "--y", "3,1", "--wrt", "x")
    assert "forward mode" in cli("check", *given).out
    assert "tangent  39" in cli("jvp", *given[:-2], "--along", "x=1,1").out
    text = "with no_grad():\n    y.add_(1)\nsum((x-y)^2)"
    assert "x      [4, 2]" in cli("minimize", text, "--x", "0,0", *given[3:]).out
