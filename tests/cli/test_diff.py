"""``gradcli diff`` on the command line: each option, its output, and what goes wrong with it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.support.families import family

PROGRAM = """b = a*2
while b.norm() < 1000:
    b = b*2
if b.sum() > 0:
    d = b
else:
    d = 100*b
d
"""


def test_a_formula_with_names_below(cli):
    done = cli(
        "diff", "-logdet(S)/2 - (x - mu).T @ inv(S) @ (x - mu)/2", "--S", "matrix:n,n spd",
        "--wrt", "S",
    )  # fmt: skip
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "d/dS  (outer(r, r) - inv(S))/2"
    assert lines[1] == "      where r = inv(S) @ (x - mu)"
    assert lines[2].startswith("# assumed: x vector:n, mu vector:n      checked at 3 points: ")


def test_no_let_and_json_give_the_whole_expression(cli):
    whole = "diag(softmax(z)) - outer(softmax(z), softmax(z))"
    assert f"d/dz  {whole}\n" in cli("diff", "softmax(z)", "--no-let").out
    found = cli("diff", "softmax(z)", "--json").json
    assert found["derivatives"] == {"z": whole}
    assert found["assumed"] == {"z": "vector:n"} and found["checked"]["points"] == 3


def test_mixed_in_sequence(cli):
    assert cli("diff", "x**2*y**3", "--wrt", "x,y", "--order", "2").out.startswith(
        "d2/dxdy  6*x*y**2\n"
    )
    found = cli("diff", "x**2*y**3", "--wrt", "y,x", "--order", "2", "--json").json
    assert found["derivatives"] == {"y,x": "6*x*y**2"} and found["order"] == 2
    assert cli("diff", "x**2*y**3", "--wrt", "x", "--json").json["order"] == 1
    every = cli("diff", "x**2*y**3", "--order", "2").out
    assert [line.split()[0] for line in every.splitlines()[:3]] == ["d2/dx2", "d2/dxdy", "d2/dy2"]


def test_latex(cli):
    done = cli("diff", "x.T @ A @ x", "--wrt", "x", "--latex")
    assert done.out.splitlines()[0] == (
        r"\frac{\partial f}{\partial \mathbf{x}} = "
        r"\left(\mathbf{A} + \mathbf{A}^{\top}\right) \mathbf{x}"
    )
    assert all(line.startswith("%") for line in done.out.splitlines()[1:])


@family("target", ["numpy", "torch", "jax"])
def test_code_compiles(cli, target):
    done = cli("diff", "norm(A @ x - b)**2", "--wrt", "x", "--code", target)
    assert done.code == 0, done.err
    compile(done.out, "printed", "exec")
    assert "def f(A, x, b):" in done.out
    assert cli("diff", "x", "--code", "cobol").code == 2


def test_at(cli):
    done = cli("diff", "a*x**2", "--wrt", "x", "--at", "x=3", "--at", "a=0.5")
    assert done.out.startswith("d/dx  2*a*x\n  at  3\n")
    found = cli("diff", "x.T @ A @ x", "--wrt", "x", "--at", "x=1,2", "--at", "A=1,2;3,4", "--json")
    assert found.json["values"]["x"]["data"] == [12.0, 21.0]
    assert cli("diff", "x**2", "--at", "y=3").code == 2
    assert cli("diff", "x**2", "--at", "x").code == 2


def test_zeros(cli):
    done = cli("diff", "x**3 - 3*x", "--zeros")
    assert "  zero  x = -1, x = 1\n" in done.out and "Sturm" in done.out
    found = cli("diff", "x*exp(-x)", "--zeros", "--range", "0,5", "--json").json["zeros"]["x"]
    assert found["points"] == [1.0] and found["interval"] == [0.0, 5.0]
    assert "zero  nowhere" in cli("diff", "x**3 + x", "--zeros").out
    assert cli("diff", "x**2", "--zeros", "--range", "5,0").code == 2
    assert "E0704" in cli("diff", "norm(x)", "--zeros").err
    assert "E0704" in cli("diff", "a*x**2", "--wrt", "x", "--zeros").err


def test_taylor(cli):
    done = cli("diff", "exp(x)", "--taylor", "3")
    assert done.out.startswith("1 + x + x**2/2 + x**3/6 + O(x**4)\n# x around 0")
    found = cli("diff", "log(x)", "--taylor", "2", "--around", "1", "--json").json["taylor"]
    assert found["polynomial"] == "x - 1 - (x - 1)**2/2"
    assert found["coefficients"] == ["0", "1", "-1/2"]
    assert "E0704" in cli("diff", "abs(x)", "--taylor", "2").err
    assert cli("diff", "x*y", "--taylor", "2").code == 2


def test_along_and_structured(cli):
    assert cli("diff", "x.T @ A @ x", "--along", "x=v").out.startswith(
        "along x = v  dot(v, (A + A.T) @ x)\n"
    )
    done = cli("diff", "sum(x**2)", "--x", "1,2", "--along", "x=1,0", "--json").json
    assert done["along"] == {"x": "dx"} and done["values"]["x"]["data"] == 2.0
    done = cli("diff", "logdet(S)", "--S", "matrix:n,n spd", "--structured")
    assert done.out.startswith("d/dS  2*inv(S) - eye(n)*inv(S)\n")
    assert cli("diff", "trace(X)", "--X", "matrix:n,n", "--structured").code == 2
    assert cli("diff", "x**2", "--along", "x=v", "--zeros").code == 2


def test_programs(cli, tmp_path):
    (tmp_path / "w.grad").write_text(PROGRAM)
    done = cli("diff", "-f", "w.grad", "--a", "1")
    assert done.code == 0, done.err
    assert done.out.startswith("d/da  1024\n")
    assert "# valid while b.norm() < 1000 held 9 times and b.sum() > 0" in done.out
    found = cli("diff", "-f", "w.grad", "--a", "1", "--json").json
    assert found["conditions"][0] == {
        "condition": "b.norm() < 1000", "line": 2, "held": 9, "asked": 10,
    }  # fmt: skip
    assert "d/da  1024" in cli("diff", "-f", "w.grad", "--a", "1", "--of", "d").out
    refused = cli("diff", "-f", "w.grad")
    assert refused.code == 1 and "E0703" in refused.err and "w.grad:2:7" in refused.err
    pieces = cli("diff", "-e", "def f(x):", "-e", "    return x**2", "-e", "f(a)*f(b)")
    assert pieces.out.startswith("d/da  2*a*b**2\nd/db  2*a**2*b\n")
    for terms in ("[x**k for k in range(4)]", "x**k for k in range(4)"):
        assert cli("diff", f"sum({terms})").out.startswith("d/dx  3*x**2 + 2*x + 1\n")


def test_output_is_the_same_every_time_and_inert(cli):
    words = ["diff", "sum(log(1 + exp(-y*(X @ w))))", "--wrt", "w"]
    for more in ((), ("--latex",), ("--code", "torch"), ("--json",)):
        first, second = cli(*words, *more).out, cli(*words, *more).out
        assert first == second and first.isascii() and "\x1b" not in first


def test_every_option_has_a_line_of_help(cli):
    shown = cli("diff", "--help").out
    for option in ("--order", "--along", "--structured", "--at", "--zeros", "--range", "--taylor",
                   "--around", "--let", "--no-let", "--latex", "--code"):  # fmt: skip
        assert option in shown


def test_of_takes_the_program_up_to_a_name(cli, tmp_path):
    place = tmp_path / "net.py"
    place.write_text("h = tanh(W @ x + b)\nloss = norm(V @ h - y)**2\nloss\n")
    done = cli(
        "diff", "-f", str(place), "--of", "h", "--W", "matrix", "--x", "vector", "--b", "vector",
        "--wrt", "b",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "d/db  diag(1/cosh(W @ x + b)**2)"
    assert done.out.splitlines()[1].startswith("# assumed: W matrix:n,m, x vector:m, b vector:n ")
    missing = cli("diff", "-f", str(place), "--of", "g", "--wrt", "b")
    assert missing.code == 2
    assert "E0910" in missing.err


def test_zeros_are_not_dropped_in_silence(cli):
    done = cli("diff", "sin(x)", "--zeros", "--latex")
    assert done.code == 2
    assert "--zeros and --latex exclude each other" in done.err
    assert cli("diff", "abs(x)", "--zeros").out.splitlines()[1].split() == ["zero", "x", "=", "0"]


def test_latex_of_a_direction_and_of_row_norms(cli):
    along = cli(
        "diff", "x.T @ A @ x", "--x", "vector", "--A", "matrix", "--along", "x=v", "--latex"
    )
    assert along.out.startswith(r"\mathrm{D} f\left[\mathbf{v}\right] = ")
    rows = cli(
        "diff", "sum(abs(X), 1) @ y", "--X", "matrix", "--y", "vector", "--wrt", "y", "--latex"
    )
    assert r"\right\rVert_{1, \mathrm{dim}\,1}" in rows.out


def test_the_left_side_stands_before_names_too(cli):
    done = cli("diff", "softmax(z)", "--z", "vector", "--latex")
    assert done.out.splitlines()[:4] == [
        r"\begin{aligned}",
        r"\frac{\partial f}{\partial \mathbf{z}} &= "
        r"\operatorname{diag}\left(\mathbf{p}\right) - \mathbf{p} \mathbf{p}^{\top} \\",
        r"& \quad\text{where } \mathbf{p} = \operatorname{softmax}\left(\mathbf{z}\right)",
        r"\end{aligned}",
    ]


def test_a_squared_length_has_no_kink(cli):
    smooth = cli("diff", "norm(A @ x - b)**2/2 + norm(x, 1)", "--A", "matrix", "--wrt", "x")
    assert "norm has no derivative" not in smooth.out
    assert "an entry of x is 0" in smooth.out
    rough = cli("diff", "norm(x) + norm(x)**2", "--x", "vector")
    assert "norm has no derivative" in rough.out


def test_a_constant_of_a_program_stands_in_one_line(cli):
    done = cli("diff", "x @ tensor([[2.0, 0.25], [0.25, 1]]) @ x", "--x", "vector:2")
    assert done.out.startswith("d/dx  2*c1 @ x\n")
    assert "# c1 = [[2, 0.25], [0.25, 1]]  " in done.out


@family("expr, name", [
        ("y = functional.norm(x)\ny", "norm"), ("functional.softmax(x, 0)", "softmax"),
        ("y = F.relu(x)\ny", "relu"),
    ],
)  # fmt: skip
def test_a_module_that_is_not_imported_is_no_variable(cli, expr, name):
    done = cli("diff", expr, "--x", "vector", "--wrt", "x")
    assert done.code == 2 and "is not imported" in done.err
    assert f"the bare name: {name}\n" in done.err


@family("expr, bare", [
        ("np.sum(x**2)", "sum(x**2)"), ("np.max(x)", "max(x)"), ("sum(x)*np.pi", "sum(x)*pi"),
        ("x @ np.eye(3) @ x", "x @ eye(3) @ x"), ("torch.linalg.norm(x)", "norm(x)"),
        ("linalg.norm(x)", "norm(x)"),
        ("sum(torch.nn.functional.silu(x))", "sum(silu(x))"),
        ("math.log(2)*sum(x)", "log(2)*sum(x)"),
        ("sum(F.softmax(x, 0)**2)", "sum(softmax(x, 0)**2)"),
        ("y = linalg.norm(x)\ny", "norm(x)"), ("y = np.sum(x**2)\ny", "sum(x**2)"),
        ("y = torch.linalg.norm(x)\ny", "norm(x)"),
        ("y = special.expit(x)\nsum(y)", "sum(sigmoid(x))"),
        ("fft = x*x\nfft.sum()", "sum(x*x)"),
    ],
)  # fmt: skip
def test_an_expression_takes_the_usual_prefixes(cli, expr, bare):
    for words in (("diff", "--x", "vector"), ("grad", "--x", "1,2,4")):
        done, plain = (cli(words[0], text, *words[1:]) for text in (expr, bare))
        assert done.code == 0 and done.out == plain.out


def test_a_variable_may_be_called_as_a_module_often_is(cli):
    assert cli("diff", "trace(F.T @ F)", "--F", "matrix").out.startswith("d/dF  2*F\n")
    assert cli("diff", "F.sum()*x", "--F", "vector", "--wrt", "x").out.startswith("d/dx  sum(F)\n")


@family(
    "flag, mend",
    [
        ("symmetric", 'write --A "matrix symmetric"'),
        ("spd", 'write --A "matrix spd"'),
        ("symmetric:n,n", 'write --A "matrix:n,n symmetric"'),
        ("positive matrix", 'write --A "matrix positive"'),
        ("positive", 'write --A "scalar positive"'),
        ("Matrix", "did you mean --A matrix?"),
        ("matirx:n,n", "did you mean --A matrix:n,n?"),
        ("foo", "a value is 2, 1,2,3 or pi/4, a declaration scalar, vector or matrix:n,m"),
        ("1,foo", "a value is 2, 1,2,3 or pi/4, a declaration scalar, vector or matrix:n,m"),
    ],
)
def test_a_flag_that_is_neither_value_nor_declaration(cli, flag, mend):
    done = cli("diff", "trace(X.T @ A @ X)", "--wrt", "X", "--A", flag)
    assert done.code == 2
    assert f"help: {mend}\n" in done.err and "gradcli diff" not in done.err


@family("text, x, order, exact", [
    ("erfcx(x)", "1e8", 1, -5.641895835477562e-17), ("erfcx(x)", "1e8", 2, 1.1283791670955126e-24),
    ("bessel_j0(x)", "0", 2, -0.5), ("bessel_j1(x)", "1e-9", 2, -3.75e-10),
    ("sinc(x)", "1e-9", 2, -3.289868133696453), ("i1(x)", "1e-9", 2, 3.75e-10),
    ("log_ndtr(x)", "-1e6", 2, -0.999999999999),
    ("asinh(x)", "1e200", 1, 1e-200), ("x/(1 + x**2)", "1e100", 1, -1e-200),
])  # fmt: skip
def test_a_value_where_rounding_spoils_the_formula_is_the_engines(cli, text, x, order, exact):
    found = cli("diff", text, f"--x={x}", "--order", str(order), "--json")
    assert found.json["values"]["x"]["data"] == pytest.approx(exact, rel=1e-9)
    assert found.json["values_of_engine"] == ["x"]


@pytest.mark.parametrize("call", [
    ["erfcx(x)", "--along", "x=1"], ["-e", "y = x", "-e", "if x > 0: y = erfcx(x)", "-e", "y"],
])  # fmt: skip
def test_along_a_line_and_on_a_path_too(cli, call):
    found = cli("diff", *call, "--x", "1e8", "--json").json
    assert found["values"]["x"]["data"] == pytest.approx(-5.641895835477562e-17, rel=1e-9)
    assert found["values_of_engine"] == ["x"]


@family("call, exact", [
    (["det(A)", "--A", "0,0;0,0"], [[0, 0], [0, 0]]), (["det(A)*b", "--A", "1,1;1,1", "--b", "2"],
    [[2, -2], [-2, 2]]), (["det(A)", "--A", "0,0;0,3", "--along", "A=1,0;0,0"], 3),
    (["x**A", "--wrt", "A", "--x", "0", "--A", "2"], 0),  # beside it below 0 there is no slope
    (["sum(x**A)", "--wrt", "A", "--x", "0,1,2", "--A", "2", "--order", "2"], 4 * math.log(2) ** 2),
])  # fmt: skip
def test_a_value_where_the_formula_has_none_is_the_engines(cli, call, exact):
    found = cli("diff", *call, "--json").json
    assert found["values"]["A"]["data"] == pytest.approx(np.asarray(exact))
    assert found["values_of_engine"] == ["A"]
    assert cli("diff", "logdet(A)", "--A", "0,0;0,0").code == 1  # nor has the engine one


def test_a_formula_that_is_rounding_somewhere_is_checked_elsewhere(cli):
    found = cli("diff", "erfcx(erfc(y) - x/y**2)", "--order", "2", "--wrt", "x", "--json").json
    assert found["checked"]["points"] == 2 and found["checked"]["max_rel_error"] < 1e-8
    done = cli("diff", "erfcx(1000*x)", "--order", "2")
    assert done.code == 1 and "all rounding where it was checked" in done.err


def test_code_holds_the_arrays_of_the_program(cli):
    program = "A = tensor([[1.0, 1/3], [inf, 4.0]])\nsum((A[0] @ x)**2)"
    for library in ("numpy", "torch", "jax"):
        text = cli("diff", "-e", program, "--x", "2,3", "--code", library).out
        assert "def f(x):" in text and "0.3333333333333333]" in text and "c1 =" not in text[-60:]


def test_a_formula_that_goes_on_where_the_expression_has_no_value(cli):
    for text, x in (("sqrt(x)*sqrt(x)", "-1"), ("x/abs(x)", "0"), ("exp(log(x))", "-2")):
        done = cli("diff", text, f"--x={x}", "--json").json
        assert done["warnings"] == ["the expression itself is NaN there"]
    assert not cli("diff", "x**2", "--x", "1e200").err


def test_a_value_where_not_all_is_given(cli):
    assert cli("diff", "x*y", "--wrt", "y", "--x", "7").out.startswith("d/dy  x\n  at  7\n")
    assert cli("diff", "sum(masked_fill(y, y > 0, 0))", "--y", "1,-2").out.startswith(
        "d/dy  where(y > 0, 0, 1)\n  at  [0, 1]\n"
    )


def test_a_value_is_the_formulas_where_nothing_is_rounded_away(cli):
    for text, x, value in (
        ("sin(x)**2 + cos(x)**2", "3", "0"), ("x**2*cos(pi/2) + x", "3", "1"), ("1/x", "0", "-inf"),
    ):  # fmt: skip
        done = cli("diff", text, f"--x={x}")
        assert f"  at  {value}\n" in done.out and "engine" not in done.out, text


@family("text, x, said", [
    ("(1 + 1/x)**x", "1e8", True), ("sqrt(x + 1) - sqrt(x)", "1e16", True),
    ("(1 - cos(x))/x**2", "1e-9", True), ("lgamma(x + 1) - lgamma(x)", "1e10", True),
    ("sqrt(1 + x*x)", "1e200", True), ("x/(exp(x) - 1)", "1e-9", True),
    ("sqrt(x + 1) - sqrt(x)", "1e6", False), ("(1 - cos(x))/x**2", "0.5", False),
    ("sqrt(1 + x*x)", "1e100", False), ("1/(1 + exp(-x))", "-800", False),
    ("x**3 - 3*x**2 + 3*x - 1", "1", False), ("x - sin(x)", "0", False),
    ("cos(x)", "3.141592653589793", False), ("sin(x)", "1e10", False),
    ("max(x)", "1,2,3", False), ("prod(x)/prod(x)", "3,0.1", False),
])  # fmt: skip
def test_a_value_that_lost_its_digits_is_said(cli, text, x, said):
    done = cli("diff", text, f"--x={x}")
    warning = "warning: the value of d/dx may have lost digits to rounding\n"
    assert done.code == 0 and done.err == warning * said


def test_a_value_that_is_not_finite_is_said(cli):
    done = cli("diff", "sum(1/x)", "--x", "0,1")
    assert done.code == 0 and "[-inf, -1]" in done.out
    assert done.err == "warning: the value of d/dx is not finite\n"
    found = cli("diff", "sum(1/x)", "--x", "0,1", "--json").json
    assert found["warnings"] == ["the value of d/dx is not finite"]


@family("text, x, value, warning", [
    # a convention of the engine, which another slope is beside, is no value of the formula
    ("x**x", "0", "-inf", "the value of d/dx is not finite"),
    ("std(x)", "1,1", "[nan, nan]", "the value of d/dx is not finite"),
    ("sinc(x)", "0", "0", ""),
    ("max(x, 0)", "0", "0", "d/dx by gradcli grad is 0.5 there: at a kink a slope is chosen"),
    ("abs(x)", "0", "0", ""),
])  # fmt: skip
def test_a_value_at_a_kink(cli, text, x, value, warning):
    done = cli("diff", text, f"--x={x}")
    assert f"  at  {value}\n" in done.out
    assert done.err == (f"warning: {warning}\n" if warning else "")


@pytest.mark.parametrize("words", ["--e 5", "--e scalar --wrt e", "--at e=5", "--e 5 --taylor 2"])
def test_a_variable_called_as_a_constant_has_no_closed_form(cli, words):
    done = cli("diff", "log(e)*x", "--x", "scalar", *words.split())
    assert done.code == 1 and "`e` is a number in formulas" in done.err
    assert cli("check", "log(e)*x", "--e", "5", "--x", "3").code == 0


def test_one_variable_to_an_at(cli):
    done = cli("diff", "a*b", "--at", "a=2,b=3")
    assert done.code == 2 and "help: --at a=2 --at b=3\n" in done.err
    assert "'foo' is not a value" in cli("diff", "a*b", "--at", "a=foo").err
    assert cli("diff", "dot(a, b)", "--at", "a=1,2", "--at", "b=3,4").code == 0


def test_transposes_of_vectors(cli):
    assert "error[E0204]: a tensor has no attribute `selu`" in cli("diff", "x.selu()").err
    done = cli("diff", "x.transpose() @ x", "--x", "vector")
    assert done.code == 1 and "help: write x.T\n" in done.err
    assert cli("diff", "x.t() @ x", "--x", "vector").out.startswith("d/dx  2*x\n")
    assert cli("diff", "y @ A.t() @ x", "--wrt", "x").out.startswith("d/dx  A @ y\n")


def test_a_norm_whose_order_is_a_variable(cli):
    """The help is a form that has an answer."""
    done = cli("diff", "norm(A @ x, q + 1)**2", "--wrt", "x", "--x", "vector")
    assert done.code == 1 and "a norm of order q + 1" in done.err
    assert "help: write sum(abs(A @ x)**(q + 1))**(1/(q + 1))\n" in done.err
    again = "sum(abs(A @ x)**(q + 1))**(1/(q + 1))"
    assert cli("diff", again, "--wrt", "x", "--q", "scalar").code == 0
    rows = cli("diff", "norm(A, q, dim=1)", "--q", "scalar")
    assert "help: write sum(abs(A)**q, dim=1)**(1/q)\n" in rows.err
    assert "help: write sum(abs(x)**q)**(1/q)\n" in cli("diff", "norm(x, p=q)").err
    assert cli("diff", "norm(x, p=3)", "--x", "vector").code == 0


@family("call", [
    ["z**2", "--z", "1+2j"], ["z**2", "--at", "z=1+2j"], ["abs(z)*y", "--z", "1j", "--y", "2"],
    ["-e", "w = z*1\nw[0] = 2\nsum(w)", "--z", "1j,2"], ["x**2", "--x", "2", "--along", "x=1j"],
    ["x*y", "--y", "1j", "--x", "2", "--zeros"], ["abs(x + 2j)", "--x", "2"],
    ["class F(Function):\n    @staticmethod\n    def forward(ctx, a): return 2*a\nF.apply(x)",
     "--x", "2"],
    ["sum(conv1d(x.view(1, 1, 3), w.view(1, 1, 2))**2)", "--x", "1,2,3", "--w", "1,2"],
    ["pad(x)", "--x", "vector:2"], ["nn.functional.pad(2)*x"], ["pad(x, 2)", "--x", "vector:2"],
    ["sum_to(x, 2)", "--x", "vector:2"], ["put(0.6, 1.2)*x"], ["svd_lowrank(int(2))*x"],
    *([text + "*x"] for text in (
        "bernoulli(tensor([0.6, 0.2]))", "dropout(tensor([1.0, 2]))", "poisson(tensor([3.0, 9]))",
        "normal(0.0, tensor([1.0, 2]))", "multinomial(tensor([0.5, 0.5]), 1)",
        "rand_like(tensor([1.0, 2]))", "tensor([1.0, 2])[randperm(2)]",
    )),
])  # fmt: skip
def test_complex_numbers_and_fancy_indices_have_no_closed_form(cli, call):
    done = cli("diff", *call)
    assert done.code == 1 and "E0701" in done.err and not done.out


@family("text, formula", [
    ("sgn(0.624)*x", "d/dx  1"), ("clamp_min(0.6, 1.2)*x", "1.2"),
    ("clamp_max(0.6, 1.2)*x", "0.6"), ("maximum(x, minimum(0.5 + b, sgn(1e2)))", "min(b + 1/2, 1)"),
    ("sum_to(x)", "ones(n)"),
])  # fmt: skip
def test_functions_of_numbers_alone(cli, text, formula):
    assert formula in cli("diff", text, "--wrt", "x").out


def test_draws_of_a_program_need_a_seed(cli):
    text = "y = x\nw = rand(2)\nfor i in range(2):\n    y = y*w\nsum(y)"
    done = cli("diff", "-e", text)
    assert done.code == 1 and "a random number without a seed has no closed form" in done.err
    assert "dot(c1, c2)" in cli("diff", "-e", f"manual_seed(3)\n{text}").out
    assert "needs numbers, got a formula" in cli("diff", "normal(x)").err


def test_several_results_have_no_closed_form(cli):
    for text in ("x, y", "x, x"):
        done = cli("diff", text, "--x", "1,2,3")
        assert done.code == 1 and "a tuple has no closed form" in done.err
