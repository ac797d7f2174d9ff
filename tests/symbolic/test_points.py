"""Points to check at: found where the expression is regular, and no wrong formula gets by."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff
from gradcli.symbolic.closed_form import _confirmed
from gradcli.symbolic.emit.tree import Text
from gradcli.symbolic.program.steps import steps_of
from gradcli.symbolic.shapes.declarations import parse_declaration
from gradcli.symbolic.shapes.inference import infer
from gradcli.symbolic.verify import Points, agreeing
from tests.support.families import family

RESIDUAL = "norm(y - X @ inv(X.T @ X) @ X.T @ y)**2"


def points_of(text, declared=()):
    program = prepare(text)
    shaped = {k: parse_declaration(d) for k, d in dict(declared).items()}
    return Points(program, infer(steps_of(program), shaped, program.source))


@family("shape", ["matrix", "matrix:p,k", "matrix:k,p", "matrix:5,2"])
def test_least_squares_twice_by_the_matrix(shape):
    """Points near a singular matrix, where the formula is all rounding, judge no formula."""
    result = diff(RESIDUAL, "X", order=2, declared={"X": shape})
    assert result.checked["max_rel_error"] < 1e-8


def test_what_is_zero_wherever_it_has_a_value():
    text = "2*(X - X @ inv(X.T @ X) @ X.T @ X) @ inv(X.T @ X)"
    result = diff(text, "X", declared={"X": "matrix:p,k"})
    x = np.array([[1.0, 2], [0, 1], [3, -1]])
    assert np.allclose(result.evaluate(X=x), 0, atol=1e-12)


@family(
    "text, by, rows",
    [
        ("logdet(X.T @ X)", "X", ("n", "m")),
        ("logdet(X @ X.T)", "X", ("m", "n")),
        ("trace(inv(X.T @ X))*trace(inv(Z.T @ Z))*sum(X @ Z)", "Z", ("n", "m", "k")),
        ("trace(inv(X @ X.T))*trace(inv(Z @ Z.T))*sum(X @ Z)", "Z", ("k", "m", "n")),
    ],
)
def test_products_that_are_inverted_are_regular(text, by, rows):
    declared = {"X": "matrix:n,m", "Z": "matrix:m,k"} if "Z" in text else {"X": "matrix:n,m"}
    points = points_of(text, declared)
    assert len(points.at((by,))) == 3
    sizes = [points.sizes[d] for d in rows]
    assert sizes == sorted(sizes, reverse=True)


def test_the_points_of_a_path_keep_their_sizes():
    points = points_of("logdet(X.T @ X)*sum(X)")
    by_x = points.at(("X",))
    sizes = dict(points.sizes)
    points.sizes = dict.fromkeys(sizes, 2)
    assert points.at(("X",)) is by_x and points.sizes == sizes


def test_a_branch_that_the_usual_points_do_not_take():
    points = points_of("max(2, y)**2*x", {"x": "scalar", "y": "scalar"})
    assert all(point["y"] < 2 for point, _ in points.at(("y",)))
    wide = points.wide(("y",), prepare("where(y > 2, 2*x*y, 0)"))
    assert any(point["y"] > 2 and exact for point, exact in wide)
    found = diff("var(w*max(2, y))", "y", declared={"w": "vector:3", "y": "scalar"})
    assert np.allclose(found.evaluate(w=np.array([1.0, 2, 4]), y=np.array(3.0)), 14)


@family("text, wrong", [
    ("fmod(x, y)", "floor_divide(abs(x), abs(y))"), ("remainder(x, y)", "trunc(1 - x/y)"),
])  # fmt: skip
def test_a_formula_that_is_right_where_nothing_jumps_is_withheld(text, wrong):
    options = [Text(prepare(wrong).checked.module.body[-1].value, 9)]
    points = points_of(text)
    assert agreeing(options, options, points.at(("y",)), {})[1][0] == 0
    with pytest.raises(Fault) as caught:
        _confirmed(options, options, points, ("y",))
    assert caught.value.code == "E0702"


@family("x, y", [(7.0, 2.0), (-7.0, 2.0), (7.0, -2.0), (-7.0, -2.0), (1.0, -3.0)])
def test_fmod_by_its_divisor(x, y):
    """Formulas that compare the signs of both lose the side where these are equal."""
    for text, turns in [
        ("fmod(x, y)", x / y), ("fmod(3*x, -y)", 3 * x / y), ("fmod(-3, y)", -3 / y),
        ("fmod(exp(x), y)", np.exp(x) / y), ("fmod(max(x, 1), y)", max(x, 1) / y),
    ]:  # fmt: skip
        found = diff(text, "y", declared={"x": "scalar"} if "x" in text else {})
        given = {"x": x, "y": y} if "x" in text else {"y": y}
        assert found.evaluate(**given) == -np.trunc(turns), text
    # by its name, not by trunc(x/y), which rounds 1 by 0.1 up to 10
    assert diff("fmod(x, y)**2", "x").evaluate(x=1.0, y=0.1) == 2 * np.fmod(1.0, 0.1)


def test_factors_that_come_up_while_others_are_written():
    text = "sum(outer(A[0], softmax(B, 1)[0])*diag(v)[[2, 0, 1]])"
    found = diff(text, "A", declared={"A": "matrix:3,3", "B": "matrix:3,3", "v": "vector:3"})
    assert found.checked["max_rel_error"] < 1e-8


@family("values", [
    {"x": [1.0, 2, 3], "y": [1.0]}, {"x": [[1.0]], "y": [[1.0]]}, {"x": [1.0], "y": [1.0], "n": 2},
])  # fmt: skip
def test_values_of_other_shapes_are_refused(values):
    """Not broadcast, nor measured by one of two sizes that contradict each other."""
    found = diff("n*sum(x*y)", "x", declared={"x": "vector:n", "y": "vector:n"})
    assert found.text == "n*y"
    with pytest.raises(Fault) as caught:
        found.evaluate(**values)
    assert caught.value.code == "E0912"
