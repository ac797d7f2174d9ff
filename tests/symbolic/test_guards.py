"""What a condition says about what stands beside it: guards of a division that cancel."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli import func, tensor
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff
from gradcli.symbolic.expr import tensor as v
from gradcli.symbolic.simplify.choice_trees import by_cases
from tests.support.families import family

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


@family(
    "text, order, short",
    [
        ("norm(max(A @ x - b, 0))**2", 1, "2*A.T @ max(A @ x - b, 0)"),
        ("norm(max(A @ x - b, 0))**2/2", 2, "A.T @ diag(where(A @ x > b, 1, 0)) @ A"),
        ("norm(relu(x))**2", 1, "2*relu(x)"),
        ("norm(relu(x))**3", 1, "3*norm(relu(x))*relu(x)"),
        ("norm(clamp(x, 0, 1))**2", 1, "where(x <= 1, 2*max(x, 0), 0)"),
        ("norm(where(x > 0, x, 0))**2", 1, "2*max(x, 0)"),
        ("norm(outer(relu(a), x))**2", 1, "2*norm(relu(a))**2*x"),
        ("norm(relu(x))", 1, "where(x > 0, relu(x)/norm(relu(x)), 0)"),
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


@family(
    "text, wrt, short, at, value",
    [
        # a factor that is 0 where the length is, over one that has no value there, keeps the guard
        ("where(x == 0, 0, x*log(y))", "y", "where(x == 0, 0, x/y)", (0.0, 0.0), 0.0),
        ("where(x == 0, 0, x*log(y))", "x", "where(x == 0, 0, log(y))", (0.0, 0.0), 0.0),
        ("xlogy(x, y)", "x", "log(y)", (0.0, 2.0), 0.6931471805599453),
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
    assert np.isnan(value).all()  # it has none, and the engine's value is printed: see below
    low = func.hessian(lambda u: u.relu().norm())(tensor(LOW["x"]))
    np.testing.assert_array_equal(np.asarray(low), 0)
    x = np.array([0.6, 0.8])
    wanted = func.hessian(lambda u: u.relu().norm())(tensor(x))
    again = diff("norm(relu(x))", "x", order=2, declared={"x": "vector:n"}).evaluate(x=x)
    np.testing.assert_allclose(again, np.asarray(wanted), atol=1e-14)
    assert "where" in found


TREES = [
    # what was clipped: between the bounds both sides are one, and their halves add up
    ("min(r*A, clamp(r, 0.8, 1.2)*A)", "r",
     "where(A > 0, where(r <= 1.2, A, 0), where(r >= 0.8, A, 0))"),
    ("min(r*A, min(max(r, 1 - c), 1 + c)*A)", "r",
     "where(r > c + 1, min(A, 0), where(r > 1 - c, A, max(A, 0)))"),
    ("min(exp(l - o)*A, clamp(exp(l - o), 1 - c, 1 + c)*A)", "l",
     "exp(l - o)*where(exp(l - o) > c + 1, min(A, 0), where(exp(l - o) < 1 - c, max(A, 0), A))"),
    ("max((v - y)**2, (clamp(v, a, b) - y)**2)", "v",
     "where((v - y)**2 > (clamp(v, a, b) - y)**2, 2, where(v < a, 0, where(v > b, 0, 2)))*(v - y)"),
    ("max(v, clamp(v, a, b))", "v", "where(v < a, where(v > b, 1, 0), 1)"),
    ("max(max(x, y), x)", "x", "where(x > y, 1, 0)"),
    ("min(abs(x), x)", "x", "1"),
    # bounds one after the other
    ("min(max(x, 0), 6)", "x", "where(x > 0, where(x < 6, 1, 0), 0)"),
    ("max(min(x, 1), -1)", "x", "where(abs(x) < 1, 1, 0)"),
    ("max(min(b, d) - max(a, c), 0)", "b", "where(d > b, where(b > max(a, c), 1, 0), 0)"),
    ("max(0, 1 - min(x, 1))", "x", "where(x < 1, -1, 0)"),
    ("clamp(clamp(x, 0, 2), 1, 3)", "x", "where(x <= 2, where(x >= 1, 1, 0), 0)"),
    ("clamp(x/6 + 1/2, 0, 1)", "x", "where(abs(x) <= 3, 1/6, 0)"),
    ("clamp(x**2, 0, c)", "x", "where(x**2 > c, 0, 2*x)"),
    ("clamp(x, a, b)", "b", "where(max(x, a) > b, 1, 0)"),  # also where a > b
    ("x*clamp(x + 3, 0, 6)/6", "x", "(clamp(x + 3, 0, 6) + where(abs(x) <= 3, x, 0))/6"),
    ("min(max(x, 0), 6)*x/6", "x", "where(x > 0, where(x < 6, x/3, 1), 0)"),
    ("c*max(x - d, 0) - r*min(x, d)", "x", "where(x > d, c, -r)"),
    ("max(x, 0) - max(-x, 0)", "x", "1"),
    # a last branch of 0 stays the last branch
    ("where(z < 0, 1/2 - z, where(z < 1, (1 - z)**2/2, 0))", "z",
     "where(z < 0, -1, where(z < 1, z - 1, 0))"),
    ("where(x < 0, x**2, where(x < 1, x**3, 0))", "x", "x*where(x < 0, 2, where(x < 1, 3*x, 0))"),
    ("where(x < 1, 1 - 3*x**2/2 + 3*x**3/4, where(x < 2, (2 - x)**3/4, 0))", "x",
     "3*where(x < 1, x*(3*x - 4), where(x < 2, -(2 - x)**2, 0))/4"),
    # sides that are made of pieces and are one at single points only
    ("max(relu(x) + x*y, 2*x**2 + clamp(2*x, -1, 1))", "x",
     "where(x*y + relu(x) > 2*x**2 + clamp(2*x, -1, 1), y + where(x > 0, 1, 0), "
     "4*x + where(2*x >= -1, where(2*x <= 1, 2, 0), 0))"),
    ("max(x, abs(x))", "x", "where(x > 0, 1, -1)"),
    # conditions that stay apart: one may hold without the other
    ("where(max(x, 0) > x, a*x, 0) + where(x > max(x, 0), b*x, 0)", "x",
     "where(x >= 0, 0, a)"),  # at 0 neither holds
    # a variable stands left of a number, numbers right of it
    ("relu(b + 1)", "b", "where(b > -1, 1, 0)"), ("relu(x/2 + 3)", "x", "where(x > -6, 1/2, 0)"),
    ("where(6 == x, y**2, y)", "y", "where(x == 6, 2*y, 1)"),
    ("xlogy(relu(y), y)", "y", "where(y > 0, log(y) + 1, 0)"),
    # truth values as numbers: 2 where both hold
    ("(x > 0)*y + (x > 1)*y", "y", "where(x > 0, where(x > 1, 2, 1), 0)"),
    ("(x > 0)*y - (x > 1)*y", "y", "where(x > 0, where(x > 1, 0, 1), 0)"),
]  # fmt: skip


@family("text, wrt, short", TREES)
def test_choices_as_one_tree(text: str, wrt: str, short: str) -> None:
    """The shortest tree, right at many points: three may lie in one cell."""
    found = diff(text, wrt)
    assert found.text == short
    rng = np.random.default_rng(7)
    names, program = list(found.declared), prepare(text)
    points = {k: rng.uniform(-2.5, 2.5, 200) for k in names}
    leaves = {k: tensor(x, requires_grad=k == wrt) for k, x in points.items()}
    program.run(leaves).value.sum().backward()  # entry by entry, so that each has its own slope
    wanted = leaves[wrt].grad.numpy()
    for i, slope in enumerate(wanted):
        value = found.evaluate(**{k: x[i] for k, x in points.items()})
        assert float(value) == pytest.approx(slope, abs=1e-9)


@family("text, wrt, declared, short", [
    ("min(r*A, clamp(r, 0.8, 1.2)*A)", "r", {"r": "vector:n", "A": "vector:n"},
     "diag(where(A > 0, where(r <= 1.2, A, 0), where(r >= 0.8, A, 0)))"),
    ("mean(min(r*A, clamp(r, 1 - c, 1 + c)*A))", "r", {"r": "vector:n", "A": "vector:n"},
     "where(r > c + 1, min(A, 0), where(r < 1 - c, max(A, 0), A))/n"),
    ("sum(clamp(A @ x, -1, 1)**2)/2", "x", {"A": "matrix:m,n", "x": "vector:n"},
     "A.T @ where(abs(A @ x) <= 1, A @ x, 0)"),
    ("max(min(x, c), -c)", "x", {"c": "scalar positive"}, "where(abs(x) < c, 1, 0)"),
    ("clamp(x, -c, c)", "x", {"c": "scalar positive"}, "where(abs(x) <= c, 1, 0)"),
])  # fmt: skip
def test_trees_of_vectors_and_of_bounds_by_name(
    text: str, wrt: str, declared: dict, short: str
) -> None:
    assert diff(text, wrt, declared=declared).text == short


def test_a_clamp_beyond_its_bound() -> None:
    """Where x > 0 holds, clamp(x + 1, -1, 1) is 1, not x + 1."""
    text = "relu(where(clamp(x + 1, -1, 1) <= max(x*y, 2*x), max(1, x + 1), 0))"
    found = diff(text, "x")
    assert float(found.evaluate(x=0.97, y=-2.3)) == 1.0
    assert float(found.evaluate(x=0.3, y=-2.3)) == 0.0


@family(
    "text, order, at",
    [("tanh(x)**2", 2, 400.0), ("exp(-x)/(1+exp(-x))**2", 1, 1500.0), ("1/cosh(x)", 2, 800.0)],
)
def test_a_form_that_keeps_its_value_at_large_arguments(text: str, order: int, at: float) -> None:
    found = diff(text, "x", order=order)
    for x in (at, -at):
        with np.errstate(all="ignore"):
            assert abs(float(found.evaluate(x=np.asarray(x)))) < 1e-300


def test_one_comparison_the_other_way_around_is_another_condition() -> None:
    """2 where X > Y or (X > Y).T: one tree of two choices, not three terms."""
    dims = ("n", "n")
    there = v.labels_of(dims)
    x, y = (v.factor(v.base("name", name, (), dims), there) for name in "XY")
    test = v.base("call", "gt", (x, y), dims)
    asked = [(v.factor(test, at), v.number(1)) for at in (there, there[::-1])]
    one, other = (v.factor(v.base("call", "where", a, dims), there) for a in asked)
    either = v.add(one, other, v.scale(v.mul(one, other), -1))
    assert len(by_cases(v.scale(either, 2)).terms) == 2


@pytest.mark.parametrize(
    "text, shape", [("", "scalar"), ("", "vector:n"), ("import torch\n", "scalar")]
)
def test_truths_of_numbers_add_up_as_in_python_those_of_arrays_do_not(
    text: str, shape: str
) -> None:
    found = diff(text + "((x > 0) + (x > 1))*y", "y", declared={"x": shape, "y": "scalar"}).text
    counted = "where(x > 0, where(x > 1, 2, 1), 0)"
    either = "where(logical_or(x > 0, x > 1), 1, 0)"
    assert found == (either if text or shape != "scalar" else counted)


@family("text, shape, short", [
    ("where(not (x > y), x**2, y)", "scalar", "where(x > y, 0, 2*x)"),
    ("where(x > y and not x > 0 or y > 1, x**2, y)", "scalar",
     "where(logical_or(logical_and(x > y, logical_not(x > 0)), y > 1), 2*x, 0)"),
    ("where(not not x > y, x**2, y)", "scalar", "where(x > y, 2*x, 0)"),
    ("sum(where(~(x > y), x**2, y))", "vector:n", "where(x > y, 0, 2*x)"),
    ("sum(where(~((x > y) & (x != 0)), x**2, 3*x))", "vector:n",
     "where(logical_and(x > y, x != 0), 3, 2*x)"),
])  # fmt: skip
def test_conditions_negated_and_joined(text: str, shape: str, short: str) -> None:
    """As they are written: at NaN ``not x > y`` holds, and ``x <= y`` does not."""
    assert diff(text, "x", declared={"x": shape, "y": shape}).text == short


@family("text", ["where(not x, x**2, 1)", "where(x > 0 and y, x, 1)", "sum(where(~x, x, 1))"])
def test_what_is_no_condition_is_not_negated(text: str) -> None:
    with pytest.raises(Fault, match="has no closed form yet"):
        diff(text, "x")
