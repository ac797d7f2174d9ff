"""Linear, quadratic and matrix forms: as the textbook writes them, shapes inferred or declared."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff, parse_declaration, rule_text
from gradcli.symbolic.directional_derivative import structured
from tests.support.families import family

NEAT = [
    ("x.T @ A @ x", "x", "(A + A.T) @ x"),
    ("2*dot(x, x)", "x", "4*x"),
    ("a.T @ x", "x", "a"),
    ("norm(A @ x - b)**2", "x", "2*A.T @ (A @ x - b)"),
    ("trace(A @ X)", "X", "A.T"),
    ("trace(X.T @ X)", "X", "2*X"),
    ("a.T @ X @ b", "X", "outer(a, b)"),
    ("a.T @ X @ b", "a", "X @ b"),
    ("trace(A @ X @ B)", "X", "(B @ A).T"),
    ("trace(X @ X @ X)", "X", "3*(X @ X).T"),
    ("trace(X)**2", "X", "2*trace(X)*eye(n)"),
    ("norm(x)", "x", "x/norm(x)"),
    ("norm(X)**2", "X", "2*X"),
    ("sum(A @ x)", "x", "sum(A, 0)"),
    ("sum(x)", "x", "ones(n)"),
    ("mean(x**2)", "x", "2*x/n"),
    ("sum(sin(x))", "x", "cos(x)"),
    ("sum(sigmoid(x))", "x", "sigmoid(x)*sigmoid(-x)"),
    ("log(1 + exp(-x))", "x", "-sigmoid(-x)"),
    ("log(1 + exp(-x*y))", "x", "-y*sigmoid(-x*y)"),
    ("log(1 + exp(-y*(a*x + b)))", "a", "-x*y*sigmoid(-y*(a*x + b))"),
    ("sum(log(1 + exp(-y*(X @ w))))", "X", "-outer(y*sigmoid(-y*(X @ w)), w)"),
    ("1 - sigmoid(x)", "x", "-sigmoid(x)*sigmoid(-x)"),
    ("sum((A*X)**2)", "X", "2*A**2*X"),
    ("logsumexp(z)", "z", "softmax(z)"),
    ("softmax(z)", "z", "diag(softmax(z)) - outer(softmax(z), softmax(z))"),
    ("A @ exp(x)", "x", "A*exp(x)"),
    ("sigmoid(W @ x + b)", "x", "diag(sigmoid(W @ x + b)*sigmoid(-W @ x - b)) @ W"),
    ("x - mean(x)", "x", "eye(n) - 1/n"),
    ("trace(sin(X))", "X", "diag(cos(diag(X)))"),
    ("dot(x, y)**2", "x", "2*dot(x, y)*y"),
    ("exp(-norm(x - y)**2)", "x", "-2*exp(-norm(x - y)**2)*(x - y)"),
    ("pinv(A) @ A @ pinv(A) @ x", "x", "pinv(A)"),
    ("A @ pinv(A) @ A @ x", "x", "A"),
    ("sum(W @ H - X*log(W @ H))", "H", "W.T @ (1 - X/(W @ H))"),
    ("sum((A.T - 1) @ B*C)", "B", "(A - 1) @ C"),
    ("sum(amin(X.T, 1))", "X", "where(X.T == amin(X.T, 1, True), 1, 0).T"),
]


@family("text, wrt, answer", NEAT)
def test_neat(text: str, wrt: str, answer: str) -> None:
    assert diff(text, wrt).text == answer


def test_quadratic_form_and_its_hessian() -> None:
    assert diff("(x - mu).T @ S @ (x - mu)/2", "x").text == "(S + S.T) @ (x - mu)/2"
    spd = {"S": "matrix:n,n spd"}
    assert diff("(x - mu).T @ S @ (x - mu)/2", "x", declared=spd).text == "S @ (x - mu)"
    assert diff("x.T @ A @ x", "x", order=2).text == "A + A.T"
    assert diff("dot(x, x)**2", "x", order=2).costs["x"] <= 7


def test_assumptions() -> None:
    assert diff("x.T @ A @ x", "x").assumed == {"x": "vector:n", "A": "matrix:n,n"}
    declared = {"x": "vector", "A": "matrix"}
    assert diff("A @ x", "x", declared=declared).assumed == {"A": "matrix:n,m", "x": "vector:m"}
    assert diff("A @ x", "x", declared={"x": "vector:m", "A": "matrix:n,m"}).assumed == {}
    assert diff("n*sum(A @ x)", "x").assumed["n"] == "scalar"


def test_names_say_what_is_a_matrix() -> None:
    """A capital and what follows it: W1, X_train, Sigma; and b1, mu are vectors."""
    layers = diff("norm(W2 @ tanh(W1 @ x + b1) + b2 - y)**2", "b2")
    assert layers.assumed == {
        "W1": "matrix:m,p", "W2": "matrix:n,m", "x": "vector:p", "b1": "vector:m",
        "b2": "vector:n", "y": "vector:n",
    }  # fmt: skip
    assert diff("X_train @ w", "w").text == "X_train"
    normal = diff("logdet(Sigma) + (x - mu).T @ inv(Sigma) @ (x - mu)", "mu")
    assert normal.assumed == {"Sigma": "matrix:n,n", "x": "vector:n", "mu": "vector:n"}
    assert diff("R1*I**2", "I").assumed == {"R1": "scalar", "I": "scalar"}
    square = {"S": "matrix:n,n"}
    assert diff("sum(C*S)", "S", declared=square).text == "C"
    assert diff("sum(S/N)", "S", declared=square).text == "ones(n, n)/N"
    heads = diff("sum(softmax(Q @ K.T/sqrt(d), 1) @ V)", "V")
    assert heads.assumed["d"] == "scalar"
    assert diff("norm((y - X @ b)/s)**2", "b").assumed["s"] == "scalar"
    assert diff("sum(x/y)", "x").assumed == {"x": "vector:n", "y": "vector:n"}


def test_numbers_for_sizes() -> None:
    assert diff("sum(x)", "x", declared={"x": "vector:5"}).text == "ones(5)"
    wide = diff("trace(X)", "X", declared={"X": "matrix:5000,5000"})
    assert wide.text == "eye(5000)"


def test_broadcasting() -> None:
    """What the summed index does not touch still counts once for every value of it."""
    shapes = {"X": "matrix:n,m", "b": "vector:m"}
    assert diff("sum((X + b)**2)", "b", declared=shapes).text == "2*sum(X + b, 0)"
    assert diff("ones(n).T @ X @ b", "X", declared=shapes).text == "outer(ones(n), b)"
    for text in (
        "sum(X*b)",
        "sum((X + b)*(X - b))",
        "sum(exp(X)/b)",
        "sum(X, 0) @ b",
        "mean(X + b)",
        "sum((b + 1)**2 + X)",
        "sum(X @ b)*sum(b)",
        "sum(max(X, b))",
        "sum(X*b*b) + sum(b)",
    ):
        for wrt in ("X", "b"):
            if wrt == "X" and text == "mean(X + b)":
                continue
            diff(text, wrt, declared=shapes)


def test_evaluate_takes_sizes_from_values() -> None:
    x = np.array([1.0, 2.0, 3.0])
    hessian = diff("dot(x, x)**2", "x", order=2)
    assert np.allclose(hessian.evaluate(x=x), 4 * x @ x * np.eye(3) + 8 * np.outer(x, x))
    both = diff("a.T @ X @ b", "a,b").evaluate(a=[1.0, 2], X=np.eye(2), b=[3.0, 4])
    assert np.allclose(both["a"], [3, 4]) and np.allclose(both["b"], [1, 2])


@family(
    "text, declared",
    [
        ("dot(x, x) + trace(x)", {}),
        ("A @ x", {"A": "matrix:n,m", "x": "vector:n"}),
        ("x + y", {"x": "vector:3", "y": "vector:4"}),
        ("x @ y.T", {}),
        ("trace(A)", {"A": "matrix:n,m"}),
    ],
)
def test_contradictions_name_places(text: str, declared: dict) -> None:
    with pytest.raises(Fault) as caught:
        diff(text, declared=declared)
    assert caught.value.code == "E0301"
    assert caught.value.labels  # type: ignore[attr-defined]


def test_declarations() -> None:
    good = "scalar|scalar positive|vector|vector:n|matrix:n,m|matrix:3,3 symmetric|matrix:n,n spd"
    for text in good.split("|"):
        assert str(parse_declaration(text)) == text
    bad = "|vector:n,m|matrix:n|vector:0|scalar nice|vector symmetric|matrix:n,m spd|vector:a-b"
    for text in bad.split("|"):
        with pytest.raises(Fault):
            parse_declaration(text)


def test_rule_text() -> None:
    assert rule_text("tanh") == "1 - out**2"
    assert rule_text("sin") == "cos(x)"
    assert rule_text("div") in ("by x: 1/y, by y: -out/y", "by x: 1/y, by y: -x/y**2")
    assert rule_text("log2") == "1/(x*log(2))"
    assert rule_text("add").startswith("linear")
    assert rule_text("matmul").startswith("bilinear")
    assert rule_text("floor").startswith("zero")
    assert rule_text("norm") == "the slope by each entry"
    assert rule_text("softmax") == "its own vjp and jvp"


@family("text, wrt, declared, answer", [
        ("ndtri(x)", "x", {}, "sqrt(2*pi)*exp(ndtri(x)**2/2)"),
        ("erfinv(x)", "x", {}, "sqrt(pi)*exp(erfinv(x)**2)/2"),
        (
            "(x - u).T @ inv(S) @ (x - u)/2", "S",
            {"x": "vector:n", "u": "vector:n", "S": "matrix:n,n spd"},
            "-outer(solve(S, x - u), solve(S, x - u))/2",
        ),
    ],
)  # fmt: skip
def test_constants_in_front_and_equal_factors(
    text: str, wrt: str, declared: dict, answer: str
) -> None:
    assert diff(text, wrt, declared=declared).text == answer


def test_a_structured_gradient_has_no_double_minus() -> None:
    found = structured(
        prepare("trace(inv(X) @ A)"), "X", {"X": "matrix:n,n spd", "A": "matrix:n,n symmetric"}
    )
    assert found.text == "-2*inv(X) @ A @ inv(X) + eye(n)*(inv(X) @ A @ inv(X))"


def test_what_does_not_hang_on_a_variable_has_derivative_zero() -> None:
    """A declared variable that is gone from a derivative is no typing error."""
    first = diff("a.T @ X @ a", "X", declared={"X": "matrix:n,n"})
    assert first.text == "outer(a, a)"
    assert first.diff("X").text == "zeros(n, n, n, n)"
    assert diff("x**2 + y", "y").diff("x").text == "0"
    both = diff("A @ x", "x,b", declared={"b": "vector:k"}).derivatives
    assert both == {"x": "A", "b": "zeros(n, k)"}
    with pytest.raises(Fault) as caught:
        diff("x**2", "y")
    assert caught.value.code == "E0902"


SPECTRAL = (
    ("sum(svdvals(X))", "svd(X, False)[0] @ svd(X, False)[2]", {}),
    ("torch.linalg.norm(X, 2)", "outer(svd(X, False)[0][:, 0], svd(X, False)[2][0])", {}),
    ("sum(svdvals(X)**2)", "2*X", {}),
    ("max(eigvalsh(X))", "outer(eigh(X)[1][:, -1], eigh(X)[1][:, -1])", {"X": "symmetric"}),
    ("sum(eigvalsh(X))", "eye(n)", {"X": "symmetric"}),
    ("sum(log(eigvalsh(X)))", "inv(X)", {"X": "spd"}),
    ("trace(matrix_exp(t*X))", "t*matrix_exp(t*X).T", {}),
    ("trace(X @ logm(X))", "eye(n) + logm(X)", {"X": "spd"}),
    ("sum(A*sqrtm(X))", "solve_sylvester(sqrtm(X).T, sqrtm(X).T, A)", {}),
    ("sum(logdet(T))", "inv(T).mT", {}),
    ("a.T @ inv(X) @ b", "-outer(solve(X.T, a), solve(X, b))", {}),
    ("trace(A @ inv(X) @ B)", "-(inv(X) @ B @ A @ inv(X)).T", {}),
    ("trace(pinv(X) @ X)", "zeros(n, n)", {}),
)


@family("text, answer, traits", SPECTRAL)
def test_functions_of_matrices(text, answer, traits):
    declared = {k: "matrix:n,n" for k in "XAB" if k in text}
    declared |= {k: "vector:n" for k in "ab" if f"{k}." in text or text.endswith(k)}
    declared |= {"T": "tensor:k,n,n"} if "T)" in text else {}
    declared |= {k: f"{declared[k]} {t}" for k, t in traits.items()}
    found = diff(text, next(k for k in "XT" if k in declared), declared=declared)
    assert found.text == answer
    assert found.latex and found.code("numpy")


def test_all_results_of_a_decomposition():
    text = "import torch; U, S, V = torch.linalg.svd(X, full_matrices=False); sum(S)"
    assert diff(text, declared={"X": "matrix:n,m"}).text == SPECTRAL[0][1]
    text = "w, V = eigh(A); w[0]"
    found = diff(text, declared={"A": "matrix:n,n symmetric"})
    assert found.text == "outer(eigh(A)[1][:, 0], eigh(A)[1][:, 0])"
    with pytest.raises(Fault, match=r"all of `svd\(X\)\[0\]` \(write svd\(X, False\)\[0\]\)"):
        diff("sum(svd(X)[0])", declared={"X": "matrix:n,m"})
    with pytest.raises(Fault, match="not declared or seen to be symmetric"):
        diff("eigh(A)[1][0, 0]", declared={"A": "matrix:n,n"})


def test_the_form_of_a_deep_rectifier_does_not_double() -> None:
    text = "x"
    for k in range(10):
        text = f"elu(leaky_relu({text}*{k + 2} + 1), 0.5)"
    assert len(diff(text, "x").text) < 10_000
