"""Sums taken together again: by what is summed over, around inverses, by one condition."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.symbolic import diff
from tests.support.families import family
from tests.symbolic.cost import cost

SHAPES = {
    "A": "matrix:n,n", "B": "matrix:n,n", "X": "matrix:n,n", "K": "matrix:p,n", "W": "matrix:n,k",
    "x": "vector:n", "w": "vector:n", "v": "vector:p", "y": "vector:p", "u": "vector:k",
    "S": "matrix:n,n spd", "C": "matrix:n,n spd", "r": "vector:n",
}  # fmt: skip


def text(expression: str, wrt: str, **more: str) -> str:
    used = {k: d for k, d in {**SHAPES, **more}.items() if k in expression}
    return diff(expression, wrt, declared=used).text


@family("expression, wrt, answer", [
        # factors that are summed over
        ("sum(y*exp(-K @ w) + K @ w)", "w", "K.T @ (1 - y*exp(-K @ w))"),
        ("dot(softmax(K @ w), y)", "w", "K.T @ (softmax(K @ w)*(y - dot(softmax(K @ w), y)))"),
        (
            "trace(inv(S) @ C) + w.T @ inv(S) @ w", "S", "-inv(S) @ (C + outer(w, w)) @ inv(S)",
        ),
        # inverses
        ("trace(X @ inv(X + A))", "X", "(inv(X + A) @ A @ inv(X + A)).T"),
        ("trace(inv(X @ A))", "X", "-inv(X @ A @ X).T"),
        ("trace(inv(X))", "X", "-(inv(X) @ inv(X)).T"),
        ("logdet(kron(A, X))", "X", "n*inv(X).T"),
        ("trace(inv(kron(X, A)))", "X", "-trace(inv(A))*(inv(X) @ inv(X)).T"),
        # logarithms of shares, choices, masks
        (
            "-sum(softmax(x)*log_softmax(x))", "x",
            "softmax(x)*(dot(x, softmax(x)) - x)",
        ),
        (
            "-sum(softmax(X, 1)*log_softmax(X, 1))", "X",
            "softmax(X, 1)*(sum(softmax(X, 1)*log_softmax(X, 1), 1, True) - log_softmax(X, 1))",
        ),
        ("sum(x*log(x)) - sum(x)*log(sum(x))", "x", "log(x/sum(x))"),
        ("norm(x/norm(x) - r)**2", "x", "2*(dot(x, r)*x/dot(x, x) - r)/norm(x)"),
        ("trace(A.T @ log(X))", "X", "A/X"),
        ("sum(max(2*x, x**2))", "x", "where(2*x > x**2, 2, 2*x)"),
        (
            "sum(max(3*(v - K @ w), 2*(v - K @ w)))", "w", "K.T @ where(v > K @ w, -3, -2)",
        ),
        ("sum(relu(K @ W) @ u)", "W", "K.T @ where(K @ W > 0, u, 0)"),
        ("norm(relu(x) - r)**2", "x", "where(x > 0, 2*(x - r), 0)"),
        (
            "sum(where(abs(x) < c, x**2/2, c*(abs(x) - c/2)))", "x", "clamp(x, -c, c)",
        ),
        (
            "y.T @ K @ inv(K.T @ K + c*eye(n)) @ K.T @ y", "c",
            "-norm(solve(K.T @ K + c*eye(n), K.T @ y))**2",
        ),
        ("sum(softmax(x)**c)", "x", "c*(softmax(x)**c - sum(softmax(x)**c)*softmax(x))"),
        # inverses of products
        ("norm(K @ inv(K.T @ K) @ w)**2", "w", "2*solve(K.T @ K, w)"),
        (
            "norm(y - K @ solve(K.T @ K, K.T @ y))**2", "y",
            "2*(y - K @ solve(K.T @ K, K.T @ y))",
        ),
        ("trace(A @ inv(X @ A) @ X @ X)", "X", "eye(n)"),
        # like terms, entry by entry and in outer products
        ("dot(x*(A @ w), exp(A @ w))", "w", "A.T @ (x*exp(A @ w)*(A @ w + 1))"),
        ("dot(x*(A @ w), exp(A @ w))", "A", "outer(x*exp(A @ w)*(A @ w + 1), w)"),
        # entries, one matrix with several numbers
        ("sum(prod(X, 1))", "X", "prod(X, 1, True)/X"),
        ("sum(log(X)/x)", "X", "1/(x*X)"),
        ("x.T @ (A*B) @ x", "A", "B*outer(x, x)"),
        # one function of one denominator, one sign, one length
        ("c*sum(log(x))", "c", "sum(log(x))"),
        ("norm(x, 1)**2", "x", "2*norm(x, 1)*sign(x)"),
        ("-sum(log(c*x + (1 - c)*r))", "c", "sum((r - x)/(c*x + (1 - c)*r))"),
    ],
)  # fmt: skip
def test_regrouped(expression: str, wrt: str, answer: str) -> None:
    got = text(expression, wrt, c="scalar positive")
    assert got == answer


def test_an_inverse_of_a_product_is_right_past_its_factors() -> None:
    """A scalar in front may stand between, an elementwise product may not."""
    values = {k: np.random.default_rng(3).normal(size=(3, 3)) + 3 * np.eye(3) for k in "XAB"}
    for expression in ("trace(X*(inv(A) @ inv(B)))", "sum((B*inv(A)) @ inv(X))"):
        result = diff(expression, "X", declared={k: "matrix:n,n" for k in "XAB" if k in expression})
        given = {k: a for k, a in values.items() if k in expression}
        x = values["X"]
        step = np.zeros((3, 3))
        step[0, 1] = 1e-6
        from gradcli.language.runtime.run import prepare
        from gradcli.symbolic.verify import evaluate

        ends = [evaluate(prepare(expression), {**given, "X": x + s}, {}) for s in (step, -step)]
        slope = (ends[0] - ends[1]) / 2e-6
        assert result.evaluate(**given)[0, 1] == pytest.approx(float(slope), rel=1e-6, abs=1e-8)


def test_the_sum_of_shares_is_1() -> None:
    declared = {"A": "matrix:n,m", "x": "vector:m"}
    found = diff("sum(softmax(A @ x)*log_softmax(A @ x))", "A", order=2, declared=declared)
    assert "sum(" not in found.text.replace("einsum(", "")


def test_a_comparison_keeps_its_shape() -> None:
    """In ``x + s < x + 1`` the vector may not cancel: the choice has an entry for each of its."""
    result = diff("min(x + s, x + 1)", "s", declared={"x": "vector:n", "s": "scalar"})
    assert result.evaluate(x=np.zeros(3), s=np.array(0.5)).shape == (3,)


def test_what_is_rounding_is_not_called_wrong() -> None:
    """The engine's std of equal numbers is rounding, and its gradient noise: nothing to compare."""
    result = diff("std(X[0, 1] + ones(n) - 3)", "X", declared={"X": "matrix:n,m"})
    assert np.all(result.evaluate(X=np.ones((3, 4))) == 0)


def test_a_small_number_stays_a_decimal() -> None:
    """What keeps a root away from 0 multiplies nothing: no 100000*u + 1."""
    expression = "dot(r, (x - mean(x))/sqrt(mean((x - mean(x))**2) + 1e-5))"
    assert "100000" not in text(expression, "x")
    assert diff("x/sqrt(x**2 + 1e-3)").text == "0.001/(x**2 + 0.001)**1.5"
    assert diff("x/1000 + x**2").text == "2*x + 0.001"


@family("expression, wrt, answer", [
        ("sum(A*((X - mean(X, 0))/std(X, 0)))", "A", "(X - mean(X, 0))/std(X, 0)"),
        ("sum(std(K, 0))", "K", "(K - mean(K, 0))/((p - 1)*std(K, 0))"),
        (
            "sum(X*((A - mean(A, 1, True))/std(A, 1, keepdim=True)))", "X",
            "(A - mean(A, 1, True))/std(A, 1, keepdim=True)",
        ),
        ("sum(var(K, 0)*w)", "w", "var(K, 0)"),
    ],
)  # fmt: skip
def test_a_spread_along_an_axis_keeps_its_name(expression: str, wrt: str, answer: str) -> None:
    assert text(expression, wrt) == answer


def test_terms_that_share_a_factor_and_cancel_leave_nothing() -> None:
    """What is left of them is the empty sum, which has no content to take out."""
    text = "amax(lerp(cumsum(b, 0) - amax(cumsum(b, 0)), flip(y, 0), 0.3))"
    result = diff(text, "b", declared={"b": "vector:n", "y": "vector:n"})
    assert result.checked is not None and result.checked["max_rel_error"] < 1e-8


@family("expression, answer", [
        ("(norm(x) - c)**2/2", "c*outer(x, x)/norm(x)**3 + (1 - c/norm(x))*eye(n)"),
        (
            "a*(norm(x - w) - c)**2/2",
            "a*((1 - c/norm(x - w))*eye(n) + c*outer(x - w, x - w)/norm(x - w)**3)",
        ),
        ("a*norm(x) + b*dot(x, x)", "(a/norm(x) + 2*b)*eye(n) - a*outer(x, x)/norm(x)**3"),
    ],
)  # fmt: skip
def test_numbers_before_one_matrix_are_added_up(expression: str, answer: str) -> None:
    shapes = {"x": "vector:n", "a": "scalar", "b": "scalar", "c": "scalar", "w": "vector:n"}
    used = {k: d for k, d in shapes.items() if k in expression}
    assert diff(expression, "x", order=2, declared=used).text == answer


def test_terms_that_read_the_same_are_added() -> None:
    shapes = {"c": "vector:n", "W": "matrix:n,m", "x": "vector:m"}
    found = diff("dot(c, (W @ x)*ndtr(W @ x))", "x", order=2, declared=shapes).text
    assert found == ("W.T @ diag(c*exp(-(W @ x)**2/2)*(2 - (W @ x)**2)) @ W/sqrt(2*pi)")


@family(
    "expression, answer",
    [
        ("norm(kron(A, B) @ x - y)**2", "2*kron(A, B).T @ (kron(A, B) @ x - y)"),
        ("norm(kron(S, S) @ x - y)**2", "2*kron(S, S) @ (kron(S, S) @ x - y)"),
        ("x.T @ kron(A, eye(3)) @ x", "kron(A + A.T, eye(3)) @ x"),
        ("x.T @ kron(A, B) @ x", "(kron(A, B) + kron(A, B).T) @ x"),
    ],
)
def test_kron_is_written_without_needless_transposes(expression: str, answer: str) -> None:
    shapes = {"A": "matrix:n,n", "B": "matrix:m,m", "S": "matrix:n,n symmetric"}
    used = {k: d for k, d in shapes.items() if f"{k}," in expression or f"{k})" in expression}
    assert diff(expression, "x", declared=used).text == answer


@family(
    "expression, answer",
    [
        ("log(var(x))", "2*(x - mean(x))/norm(x - mean(x))**2"),
        ("norm(x - mean(x))", "(x - mean(x))/norm(x - mean(x))"),
        ("sum((x - mean(x))**3)", "3*((x - mean(x))**2 - mean((x - mean(x))**2))"),
        ("norm(x + sum(x))**2", "2*(x + 7*sum(x))"),
    ],
)
def test_means_stay_means_where_sizes_are_numbers(expression: str, answer: str) -> None:
    assert diff(expression, "x", declared={"x": "vector:5"}).text == answer


@family(
    "expression, wrt, answer",
    [
        ("dot(u, 1/sqrt(var(W, 0) + c))", "u", "1/sqrt(var(W, 0) + c)"),
        ("sum(1/(var(W, 0) + c))", "c", "-1/(var(W, 0) + c)**2"),
        ("(1 + c**2/(2*a))**(-a)", "c", "-c/(c**2/(2*a) + 1)**(a + 1)"),
        ("(1 - c/2)**a", "c", "-a*(1 - c/2)**(a - 1)/2"),
        ("(1 + c**2/a)**(-(a + 1)/2)", "c", "-c*(a + 1)/(a*(c**2/a + 1)**((a + 3)/2))"),
    ],
)
def test_in_sums_and_powers_too(expression: str, wrt: str, answer: str) -> None:
    found = diff(
        expression,
        wrt,
        declared={"W": "matrix:n,k", "u": "vector:k"} if "W" in expression else None,
    )
    assert cost(found.text) <= cost(answer)
    assert found.text.count("var") == answer.count("var")


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        (
            "trace(C.T @ softmax(A @ Q @ B, 1) @ V)",
            "(B @ (softmax(A @ Q @ B, 1).T*(V @ C.T - sum(softmax(A @ Q @ B, 1)*(C @ V.T), 1))) "
            "@ A).T",
        ),
        (
            "trace(C.T @ softmax(X @ Q @ K.T @ X.T/sqrt(d), 1) @ X @ V)",
            "X.T @ (softmax(X @ Q @ K.T @ X.T/sqrt(d), 1)*(C @ V.T @ X.T - sum(C @ V.T*(softmax(X "
            "@ Q @ K.T @ X.T/sqrt(d), 1) @ X), 1, True)) @ X @ K)/sqrt(d)",
        ),
    ],
)
def test_attention_is_a_product_of_matrices(expression: str, answer: str) -> None:
    """No array of four dimensions: labels of three matrices are met by products of two."""
    assert diff(expression, "Q").text == answer
