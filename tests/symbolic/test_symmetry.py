"""Several derivatives by symmetric matrices, and diagonals that other entries must not disturb."""

from __future__ import annotations

import numpy as np

from gradcli.symbolic import diff
from gradcli.symbolic.directional_derivative import directional
from gradcli.symbolic.path_diff import diff_program
from tests.support.families import family

SPD = "matrix:n,n spd"
SYMMETRIC = "matrix:n,n symmetric"


@family(
    "text, wrt, declared, want",
    [
        ("logdet(X)", "X", {"X": SPD}, "-einsum('il,jk->ijkl', inv(X), inv(X))"),
        ("trace(X @ X)", "X", {"X": SYMMETRIC}, "2*einsum('il,jk->ijkl', eye(n), eye(n))"),
        ("trace(inv(X))", "X", {"X": SPD}, None),
        ("det(X)", "X", {"X": SPD}, None),
        ("trace(X @ X @ X)", "X", {"X": SYMMETRIC}, None),
        ("a.T @ inv(X) @ a", "X", {"X": SPD}, None),
        ("logdet(S)/2 + trace(inv(S) @ C)/2", "S", {"S": SPD, "C": SYMMETRIC}, None),
        ("x.T @ A @ x", "x,A", {"A": SYMMETRIC}, None),
        ("x.T @ A @ x", "A,x", {"A": SYMMETRIC}, None),
        ("(x - u).T @ inv(S) @ (x - u)/2", "x,S", {"S": SPD}, None),
        ("x.T @ A @ x", "x", {"A": SYMMETRIC}, "2*A"),
    ],
)
def test_second_derivatives_by_symmetric_matrices(text, wrt, declared, want):
    result = diff(text, wrt, order=2, declared=declared)
    assert result.checked["max_rel_error"] < 1e-9
    assert want is None or result.text == want


def test_a_fisher_information_keeps_symmetry_in_its_form():
    """What was told apart between the derivatives is one again in the answer: no transposes."""
    result = diff("logdet(S)/2 + trace(inv(S) @ C)/2", "S", order=2, declared={"S": SPD, "C": SPD})
    assert ".T" not in result.text


def test_twice_along_a_direction():
    twice = directional("logdet(X)", {"X": "V"}, {"X": SPD}, order=2)
    assert twice.text == "-trace(solve(X, V @ solve(X, V)))"
    both = directional("x.T @ A @ x", {"x": "v", "A": "V"}, {"A": SYMMETRIC}, order=2)
    assert both.checked["max_rel_error"] < 1e-9


def test_a_third_derivative():
    assert diff("logdet(X)", "X", order=3, declared={"X": SPD}).checked["max_rel_error"] < 1e-9


def test_along_a_path():
    a = np.array([[2.0, 0.5], [0.5, 1.0]])
    text = "s = trace(A @ A @ A)\nfor i in range(2):\n    s = s*2\ns"
    result = diff_program(text, "A", order=2, declared={"A": "matrix:2,2 symmetric"},
                          values={"A": a})  # fmt: skip
    assert result.checked["max_rel_error"] < 1e-9


# ---- Diagonals -----------------------------------------------------------------------------------


@family(
    "text, want",
    [
        ("sum(log(diag(L)))", "diag(1/diag(L))"),
        ("prod(diag(L))", "diag(prod(diag(L))/diag(L))"),
        ("trace(sqrt(L))", "diag(1/sqrt(diag(L)))/2"),
        ("trace(1/L)", "-diag(1/diag(L)**2)"),
        ("trace(log(L)*B)", "diag(diag(B)/diag(L))"),
        ("trace(L*L)", "2*eye(n)*L"),
        ("sum(diag(L)**3)", "3*diag(diag(L)**2)"),
    ],
)
def test_only_the_diagonal_is_looked_at(text, want):
    """A triangular factor has zeros beside its diagonal: 0/0 there would be no answer."""
    shapes = {"L": "matrix:n,n", "B": "matrix:n,n"}
    result = diff(text, "L", declared={k: d for k, d in shapes.items() if k in text})
    assert result.text == want
    lower = np.array([[1.0, 0.0], [2.0, 3.0]])
    values = {"L": lower, "B": np.ones((2, 2))}
    found = result.evaluate(**{k: x for k, x in values.items() if k in text})
    assert np.isfinite(np.asarray(found)).all()


def test_softmax_is_not_taken_entry_by_entry():
    result = diff("trace(softmax(A, 0))", "A", declared={"A": "matrix:n,n"})
    assert result.checked["max_rel_error"] < 1e-9
