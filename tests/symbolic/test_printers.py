"""What is printed is what was found: code runs and agrees with the engine, LaTeX is well formed.

PyTorch's and JAX's code was run where it is recorded (tests/oracles/record_code.py); here JAX's
text must still be the one that ran. JAX's names are NumPy's: on a stand-in of NumPy it runs too.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.special

from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff
from gradcli.symbolic.closed_form import Result
from gradcli.symbolic.program.let import named
from gradcli.symbolic.verify import evaluate
from tests.support.families import family
from tests.support.oracles import load

RECIPES = json.loads((Path(__file__).parent / "printed.json").read_text())
SPD = "matrix:n,n spd"
SIZES = {"n": 3, "m": 4, "k": 2}


@functools.cache
def derivative(place: int) -> Result:
    """What a recipe asks for."""
    recipe = RECIPES[place]
    return diff(recipe["expr"], recipe["wrt"], order=recipe["order"], declared=recipe["vars"])


def point(declared: dict) -> dict[str, np.ndarray]:
    """Values for the variables of a result."""
    rng = np.random.default_rng(5)
    sizes = dict(SIZES)
    values = {}
    for name, d in declared.items():
        shape = tuple(int(x) if x.isdigit() else sizes.setdefault(x, 5) for x in d.dims)
        x = rng.uniform(0.3, 0.9, shape)
        values[name] = x @ x.T + np.eye(len(x)) if "spd" in d.traits else x
    return values


def ran(source: str, values: dict) -> tuple:
    scope: dict = {}
    exec(compile(source, "printed", "exec"), scope)
    return scope["f"](*values.values())


@pytest.fixture
def jax_numpy(monkeypatch):
    """``import jax.numpy`` gives NumPy here, and ``jax.scipy`` SciPy."""
    jax = types.ModuleType("jax")
    jax.numpy, jax.scipy = np, scipy
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.numpy", np)
    monkeypatch.setitem(sys.modules, "jax.scipy", scipy)


@family("place", range(len(RECIPES)))
def test_code_runs_and_agrees(place, jax_numpy):
    result = derivative(place)
    values = point(result.declared)
    sizes = {
        k: x.shape[i] for name, x in values.items()
        for i, k in enumerate(result.declared[name].dims)
    }  # fmt: skip
    want = [evaluate(prepare(RECIPES[place]["expr"]), values, sizes)]
    want += [evaluate(prepare(t), values, sizes) for t in result.derivatives.values()]
    for target in ("numpy", "jax"):
        source = result.code(target)
        got = ran(source, values)
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12, err_msg=source)
    ast.parse(result.code("torch"))


def test_pytorchs_code_is_the_one_that_ran():
    recorded = load("code")
    assert len(recorded["cases"]) == len(RECIPES)
    for place, case in enumerate(recorded["cases"]):
        assert case["agrees"], case
        result = derivative(place)
        values = point(result.declared)
        for k, x in case["values"].items():
            np.testing.assert_allclose(values[k], x)
        got = ran(result.code("numpy"), values)
        for a, b in zip(got, case["results"], strict=True):
            np.testing.assert_allclose(a, np.array(b), rtol=1e-10, atol=1e-12)


def test_jaxs_code_is_the_one_that_ran():
    recorded = load("code_jax")
    assert recorded["made_with"] == {"jax": "0.10.2"}
    assert len(recorded["cases"]) == len(RECIPES)
    for place, case in enumerate(recorded["cases"]):
        assert case["agrees"], case["expr"]
        result = derivative(place)
        assert result.code("jax") == case["text"]
        got = ran(result.code("numpy"), point(result.declared))
        for a, b in zip(got, case["results"], strict=True):
            np.testing.assert_allclose(a, np.array(b), rtol=1e-10, atol=1e-12)


def test_a_scale_that_is_not_given_is_one():
    assert "value = x + y*z\n" in diff("addcmul(x, y, z)").code("numpy")
    assert "value = x + y\n" in diff("add_scaled(x, y)").code("jax")


@pytest.mark.parametrize(
    "text", [
        "((x > 0) + (x > 1))*y", "exp(x > 0)*y", "x**((x > 0) + (y > 1))*y", "((x > 0)/3)*y",
        "(min(x > 2, y > 0) + (y > 0))*y", "(fmax(x > 2, y > 0)*(x > 0) + (x > 1))*y",
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", ["scalar", "vector:n"])
def test_code_takes_truths_for_the_numbers_that_they_are(text, shape):
    result = diff(text, "y", declared={"x": shape, "y": shape})
    values = {
        k: np.array(a if shape == "scalar" else [a, 0.5]) for k, a in (("x", 2.0), ("y", 3.0))
    }
    got = ran(result.code(), values)
    want = [evaluate(prepare(text), values, {}), result.evaluate(**values)]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_code_of_a_layer_defines_what_it_calls():
    layer = diff("sum(layer_norm(2*A, (3,))**3)", declared={"A": "matrix:2,3"})
    A = np.array([[1.0, 2, 4], [0, 3, 1]])
    slope = ran(layer.code(), {"A": A})[1]
    assert np.allclose(slope, layer.evaluate(A=A)) and "torch.mean(x, " in layer.code("torch")


def test_a_function_is_complete():
    text = diff("x.T @ A @ x", "x").code("numpy")
    assert text.startswith("import numpy as np\n")
    assert "def f(x, A):" in text and "vector (n,)" in text and "matrix (n, n)" in text
    assert text.rstrip().endswith("return value, gradient")
    assert diff("x**2*y", "x,y").code().rstrip().endswith("return value, d_x, d_y")


@family("expr", ["max(eigvalsh(A))", "trace(cholesky(A))", "sum(B.eigvalsh()**3)*sum(square(A))"])
def test_code_of_a_matrix_that_is_not_symmetric_has_the_value_of_its_symmetric_part(expr):
    known = dict.fromkeys("AB", np.array([[5, 1, 0.3], [-0.7, 6, 2], [0.4, -1, 7]]))
    result = diff(expr, "A", declared={"A": "matrix:n,n", "B": "matrix:n,n"})
    values = {k: known[k] for k in result.declared}
    got = ran(result.code(), values)
    np.testing.assert_allclose(got[0], evaluate(prepare(expr), values, {"n": 3}), rtol=1e-12)
    np.testing.assert_allclose(got[1], result.evaluate(**values), rtol=1e-12)
    assert "np.linalg.cholesky(2*S)" in diff("sum(cholesky(2*S))", declared={"S": SPD}).code()


def test_a_size_that_no_variable_has_is_a_parameter():
    assert ran(diff("sum(ones(n))*t").code(), {"t": 0.5, "n": 3}) == (1.5, 3)


def test_value_and_derivative_share_parts():
    text = diff("norm(A @ x - b)**2", "x").code()
    assert text.count("A @ x") == 2  # in the docstring's title, and once in the body
    assert "r = A @ x - b" in text


def test_names_of_variables_do_not_clash():
    result = diff("np*sin(value*f) + gradient", "np", declared={"np": "scalar"})
    values = {k: np.float64(0.5) for k in result.declared}
    got = ran(result.code("numpy"), values)
    assert np.allclose(got[1], np.sin(0.25))


def test_an_operator_that_is_another_by_its_formula_has_the_calls_of_that():
    """``logistic``, which the slope of silu is written with, is sigmoid."""
    source = diff("silu(x)", "x", declared={"x": "scalar"}).code("numpy")
    out = 1 / (1 + np.exp(-0.5))
    assert np.allclose(ran(source, {"x": 0.5}), [0.5 * out, out * (1 + 0.5 * (1 - out))])


def test_what_a_library_lacks_is_told_with_one_that_has_it():
    result = diff("bessel_j1(x)")
    assert "special.j0(x)" in result.code("numpy")
    with pytest.raises(Fault) as caught:
        result.code("jax")
    assert caught.value.code == "E0701"
    assert "`bessel_j1` has no counterpart in jax" in str(caught.value)
    assert caught.value.help == "--code numpy has one"


def test_a_result_stands_for_itself():
    """What the value computed the derivative does not compute again."""
    assert "gradient = 1/(2*value)" in diff("sqrt(x)").code()
    assert "gradient = value\n" in diff("exp(x)").code("torch")


def test_another_target_is_refused():
    with pytest.raises(Fault) as caught:
        diff("x**2").code("fortran")
    assert caught.value.code == "E0907"


# ---- LaTeX ---------------------------------------------------------------------------------------

TOKEN = re.compile(r"\\begin\{\w+\}|\\end\{\w+\}|\\left|\\right|\\[a-zA-Z]+|\\.|[{}()&^_]|[^\\]")


def well_formed(text: str) -> None:
    """Brackets, environments and left/right pairs close in order; no two scripts on one base."""
    waiting: list[str] = []
    closes = {"{": "}", r"\left": r"\right"}
    for token in TOKEN.findall(text):
        if token.startswith(r"\begin"):
            waiting.append(token.replace("begin", "end"))
        elif token in closes:
            waiting.append(closes[token])
        elif token in ("}", r"\right") or token.startswith(r"\end"):
            assert waiting and waiting.pop() == token, f"{token} in {text}"
        elif token == "&":
            assert any(w.startswith(r"\end") for w in waiting), text
    assert not waiting, text
    assert "^{}" not in text and "_{}" not in text
    assert not re.search(r"\^\{[^{}]*\}\^", text), f"double superscript: {text}"
    assert text.replace("\n", "").isascii() and text.replace("\n", "").isprintable()


@family("place", range(len(RECIPES)))
def test_latex_is_well_formed(place):
    result = derivative(place)
    try:
        text = result.latex
    except Fault as fault:
        assert fault.code == "E0701"
        return
    well_formed(text)
    assert text == result.latex


@family("expr, wrt, want", [
        ("x.T @ A @ x", "x", r"\left(\mathbf{A} + \mathbf{A}^{\top}\right) \mathbf{x}"),
        ("x**3", "x", "3 x^{2}"),
        ("log(x)", "x", r"\frac{1}{x}"),
        ("mu*lam_1**2", "lam_1", r"2 \lambda_{1} \mu"),
        ("where(x > 0, x**2, -x)", "x",
         r"\begin{cases} 2 x & \text{if } x > 0 \\ -1 & \text{otherwise} \end{cases}"),
        ("sqrt(a**2 - x**2)", "x", r"-\frac{x}{\sqrt{a^{2} - x^{2}}}"),
        ("sum(log(1 + exp(x)))", "x", r"\sigma\left(\mathbf{x}\right)"),
        ("norm(x)", "x", r"\frac{\mathbf{x}}{\left\lVert \mathbf{x} \right\rVert}"),
        ("tan(x)", "x", r"\tan^{2}\left(x\right) + 1"),
    ],
)  # fmt: skip
def test_latex(expr, wrt, want):
    assert diff(expr, wrt).latex == want


def test_latex_names_and_notebooks():
    result = diff("softmax(z)", "z")
    assert r"\text{where } \mathbf{p} = \operatorname{softmax}" in result.latex
    assert result._repr_latex_().startswith(r"$\displaystyle \begin{aligned}")
    assert "<code>" in result._repr_html_() and "<script" not in result._repr_html_()
    assert "&lt;" in diff("where(x < 0, x**2, x)")._repr_html_()


# ---- Names for what stands twice -----------------------------------------------------------------


@family("text, short, names", [
        ("(outer(inv(S) @ (x - m), inv(S) @ (x - m)) - inv(S))/2", "(outer(r, r) - inv(S))/2",
         [("r", "inv(S) @ (x - m)")]),
        ("sin(x)*cos(x)", "sin(x)*cos(x)", []),
        ("sin(x) + sin(x)*y", "sin(x) + sin(x)*y", []),
        ("diag(softmax(z)) - outer(softmax(z), softmax(z))", "diag(p) - outer(p, p)",
         [("p", "softmax(z)")]),
        ("f*exp(r*s)*r + exp(r*s)", "f*u*r + u", [("u", "exp(r*s)")]),
        ("sum(X @ w, dim=0) + sum(X @ w, dim=0)", "r + r", [("r", "sum(X @ w, dim=0)")]),
    ],
)  # fmt: skip
def test_let(text, short, names):
    assert named(text) == (short, names)


def test_a_whole_that_stands_twice_inside_itself_is_named_inside_out():
    text = "exp(sin(a*x))*cos(a*x) + exp(sin(a*x))"
    short, names = named(text)
    scope = {"exp": np.exp, "sin": np.sin, "cos": np.cos, "a": 0.3, "x": 0.7}
    want = eval(text, scope)
    for name, meaning in names:
        scope[name] = eval(meaning, scope)
    assert np.isclose(eval(short, scope), want)


def test_let_of_a_deep_expression_needs_no_stack():
    text = "x"
    for _ in range(900):
        text = f"sin({text})"
    assert named(text)[1] == []


# ---- The object ----------------------------------------------------------------------------------


def test_differentiate_again():
    again = diff("x.T @ A @ x", "x").diff("x")
    assert again.text == "A + A.T"
    assert diff("sin(x)").diff().diff().text == "-cos(x)"
    with pytest.raises(Fault):
        diff("x*y").diff("x")
