"""What a condition says about what stands beside it: guards of a division that cancel."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli import func, tensor
from gradcli.symbolic import diff

SHAPES = {"A": "matrix:m,n", "X": "matrix:m,n", "x": "vector:n", "b": "vector:m", "a": "vector:m"}
LOW = {
    "A": -np.arange(1.0, 7.0).reshape(3, 2), "X": -np.ones((3, 2)), "x": np.array([-0.5, -0.25]),
    "b": np.array([9.0, 8.0, 7.0]), "a": -np.ones(3),
}  # fmt: skip
"""A point at which every ramp below is 0, and with it every length."""


def answer(text: str, wrt: str, order: int = 1) -> tuple[str, np.ndarray]:
    """The closed form, and its value where the guards matter."""
    used = {k: d for k, d in SHAPES.items() if k in text.replace("max", "").replace("relu", "")}
    found = diff(text, wrt, order=order, declared=used)
    return found.text, np.asarray(found.evaluate(**{k: LOW[k] for k in used}))


@pytest.mark.parametrize(
    ("text", "order", "short"),
    [
        ("norm(max(A @ x - b, 0))**2", 1, "2*A.T @ max(A @ x - b, 0)"),
        ("norm(max(A @ x - b, 0))**2/2", 2, "A.T @ diag(where(A @ x > b, 1, 0)) @ A"),
        ("norm(relu(x))**2", 1, "2*relu(x)"),
        ("norm(relu(x))**3", 1, "3*norm(relu(x))*relu(x)"),
        ("norm(clamp(x, 0, 1))**2", 1, "where(x <= 1, 2*max(x, 0), 0)"),
        ("norm(where(x > 0, x, 0))**2", 1, "2*max(x, 0)"),
        ("norm(outer(relu(a), x))**2", 1, "2*norm(relu(a))**2*x"),
        ("norm(relu(x))", 1, "relu(x)/where(norm(relu(x)) == 0, 1, norm(relu(x)))"),
    ],
)
def test_a_length_that_may_be_zero(text: str, order: int, short: str) -> None:
    found, value = answer(text, "x", order)
    assert found == short
    np.testing.assert_array_equal(value, 0)


def test_along_an_axis() -> None:
    found, value = answer("sum(norm(relu(X), 2, 1)**2)", "X")
    assert found == "2*relu(X)"
    np.testing.assert_array_equal(value, 0)


@pytest.mark.parametrize(
    ("text", "wrt", "short", "at", "value"),
    [
        # a factor that is 0 where the length is, over one that has no value there, keeps the guard
        ("xlogy(x, y)", "y", "where(x == 0, 0, x/y)", (0.0, 0.0), 0.0),
        ("xlogy(x, y)", "x", "where(x == 0, 0, log(y))", (0.0, 0.0), 0.0),
        ("clamp(x, 0, 1)**2", "x", "where(x <= 1, 2*max(x, 0), 0)", (3.0, 1.0), 0.0),
        ("min(x, 1)**2", "x", "where(x < 1, 2*x, 0)", (0.5, 1.0), 1.0),
        ("where(x > y, max(x, y)**2, 0)", "x", "where(x > y, 2*x, 0)", (3.0, 2.0), 6.0),
        ("where(x > y, min(x, y)**2, 0)", "y", "where(x > y, 2*y, 0)", (3.0, 2.0), 4.0),
        ("where(x > y, 0, max(x, y)**2)", "y", "where(y > x, 2*y, 0)", (1.0, 2.0), 4.0),
    ],
)
def test_one_condition_once(text: str, wrt: str, short: str, at: tuple, value: float) -> None:
    found = diff(text, wrt)
    assert found.text == short
    point = {k: v for k, v in zip("xy", at, strict=True) if k in text.replace("max", "")}
    assert found.evaluate(**point) == value


def test_a_second_derivative_where_the_length_is_zero() -> None:
    found, value = answer("norm(relu(x))", "x", 2)
    np.testing.assert_array_equal(value, 0)
    x = np.array([0.6, 0.8])
    wanted = func.hessian(lambda u: u.relu().norm())(tensor(x))
    again = diff("norm(relu(x))", "x", order=2, declared={"x": "vector:n"}).evaluate(x=x)
    np.testing.assert_allclose(again, np.asarray(wanted), atol=1e-14)
    assert "where" in found
