"""Random expressions: the closed form is the numeric gradient, and it is input again.

``pytest -m long`` takes 20,000 of them over random shapes, the usual run a hundred.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff
from gradcli.symbolic.verify import evaluate
from tests.symbolic.random_forms import SHAPES as KINDS
from tests.symbolic.random_forms import expression, matrix_expression

USUAL = settings(
    max_examples=60, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
FUNCTIONS = [
    "sin",
    "cos",
    "tan",
    "exp",
    "tanh",
    "sigmoid",
    "sinh",
    "cosh",
    "atan",
    "asinh",
    "softplus",
    "abs",
    "log",
    "sqrt",
    "relu",
    "log1p",
    "cbrt",
    "square",
]


def grown(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(st.sampled_from(FUNCTIONS), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, st.sampled_from(["2", "3", "-1", "0.5", "y"])).map(
            lambda t: f"({t[0]})**{t[1]}"
        ),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"where({t[0]} > 0, {t[0]}, {t[1]})"),
    )


LEAVES = st.sampled_from(["x", "x", "y", "2", "3", "1/2", "pi"])
SCALARS = st.recursive(LEAVES, grown, max_leaves=6)
VECTORS = st.recursive(
    st.sampled_from(["x", "x", "v", "A @ x", "A.T @ v"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(
            st.sampled_from(["sin", "exp", "tanh", "sigmoid", "A @ ", "2*", "softmax"]), inner
        ).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"dot({t[0]}, {t[1]})*{t[1]}"),
    ),
    max_leaves=4,
)
SHAPES = {"x": "vector:n", "v": "vector:n", "A": "matrix:n,n"}


def derived(text: str, **options: object):
    """The result, or None where there is no closed form (a wrong one would be E0702)."""
    try:
        return diff(text, "x", **options)  # type: ignore[arg-type]
    except Fault as fault:
        assert fault.code in ("E0701", "E0902"), f"{text}: {fault}"
        return None


@given(SCALARS)
@USUAL
def test_scalar_expressions(text: str) -> None:
    result = derived(f"{text} + 0*x")
    assume(result is not None)
    assert result.checked["max_rel_error"] <= 1e-8
    again = prepare(result.text)
    value = evaluate(again, {"x": np.array(0.7), "y": np.array(1.3)}, {})
    assert value.shape == ()


@given(VECTORS)
@settings(USUAL, max_examples=40)
def test_sums_over_vector_expressions(text: str) -> None:
    result = derived(f"sum({text}) + 0*sum(x)", declared=SHAPES)
    assume(result is not None)
    assert result.checked["max_rel_error"] <= 1e-8


@given(VECTORS)
@settings(USUAL, max_examples=20)
def test_jacobians(text: str) -> None:
    result = derived(f"{text} + 0*x", declared=SHAPES)
    assume(result is not None)
    assert result.checked["max_rel_error"] <= 1e-8


@given(SCALARS)
@settings(USUAL, max_examples=20)
def test_second_derivatives(text: str) -> None:
    result = derived(f"{text} + 0*x", order=2)
    assume(result is not None)
    assert result.checked["max_rel_error"] <= 1e-8


def random_forms(numbers: Sequence[int], expression: Any = expression) -> float:
    """Closed forms of random expressions over random shapes; the share that has one.

    ``diff`` compares each with the numeric gradient at three random points: what it gives is right,
    what it refuses says E0701, and anything else fails the test.
    """
    known = 0
    for number in numbers:
        text, wrt, order = expression(number)
        try:
            result = diff(text, wrt, order=order, declared=KINDS)
        except Fault as fault:
            assert fault.code == "E0701", f"{number}: {text} by {wrt}: {fault}"
            continue
        assert result.checked["max_rel_error"] <= 1e-8
        known += 1
    return known / len(numbers)


def test_random_shapes() -> None:
    assert random_forms(range(80)) > 0.95


def test_random_functions_of_matrices() -> None:
    assert random_forms([*range(15), 1647], matrix_expression) > 0.8  # 0, of terms that cancel


@pytest.mark.long
def test_many_random_functions_of_matrices() -> None:
    assert random_forms(range(2000), matrix_expression) > 0.8


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 20_000, 1000))
def test_many_random_shapes(start: int) -> None:
    assert random_forms(range(start, start + 1000)) > 0.95
