"""Entries, slices, joins, triangles and running sums: closed forms, their shapes and printers."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic import diff
from gradcli.symbolic.expr import sizes
from gradcli.symbolic.verify import evaluate
from tests.support.families import family

NEAT = [
    ("x[0]", "x", {}, "eye(n)[0]"),
    ("x[0]*x[1] + x[2]**2", "x", {"x": "vector:3"}, "stack([x[1], x[0], 2*x[2]])"),
    ("x[-1]**2", "x", {}, "2*x[-1]*eye(n)[-1]"),
    ("norm(stack((cos(q), sin(q))) - x)**2/2", "q", {"x": "vector"},
     "dot(stack([cos(q), sin(q)]) - x, stack([-sin(q), cos(q)]))"),
    ("A[0] @ x", "x", {}, "A[0]"),
    ("(A @ x)[0]", "x", {}, "A[0]"),
    ("A.T[0] @ x", "A", {}, "outer(x, eye(m)[0])"),
    ("A[:, 1] @ x", "x", {}, "A[:, 1]"),
    ("(A @ x)[1:]", "x", {}, "A[1:]"),
    ("A @ x[1:]", "x", {}, "pad(A, (1, 0))"),
    ("x[1:] - x[:-1]", "x", {}, "eye(n)[1:] - eye(n)[:-1]"),
    ("sum((x[1:] - x[:-1])**2)", "x", {},
     "2*(eye(n)[:, 1:] - eye(n)[:, :-1]) @ (x[1:] - x[:-1])"),
    ("sum(x[::2]**2)", "x", {}, "2*eye(n)[:, ::2] @ x[::2]"),
    ("sum(A[:2, :2]**2)", "A", {}, "2*pad(A[:2, :2], (0, m - 2, 0, n - 2))"),
    ("sum(A[1:, :-1]**2)", "A", {}, "2*pad(A[1:, :-1], (0, 1, 1, 0))"),
    ("A[0, 1]**2", "A", {"A": "matrix:n,m"}, "2*A[0, 1]*outer(eye(n)[0], eye(m)[1])"),
    ("A[0, 0]*A[1, 1] - A[0, 1]*A[1, 0]", "A", {"A": "matrix:2,2"},
     "stack([stack([A[1, 1], -A[1, 0]]), stack([-A[0, 1], A[0, 0]])])"),
    ("sum(flip(x, 0)*y)", "x", {}, "flip(y, 0)"),
    ("sum(roll(x, 1)*x)", "x", {}, "roll(x, -1, 0) + roll(x, 1, 0)"),
    ("cumsum(x, 0)", "x", {}, "tril(ones(n, n))"),
    ("cumsum(A, 1) @ x", "x", {}, "cumsum(A, 1)"),
    ("sum(tril(A)**2)", "A", {}, "2*tril(A)"),
    ("sum(cat([x, y])**2)", "x", {}, "2*x"),
    ("dot(cat([x, y]), w)", "y", {}, "w[n:]"),
    ("pad(x, (1, 2)) @ w", "x", {}, "w[1:-2]"),
    ("exp(x)[0]", "x", {}, "exp(x)[0]*eye(n)[0]"),
    ("sum(x[n-1:n]**2)", "x", {"x": "vector:n"}, "2*x[-1]*eye(n)[-1]"),
]  # fmt: skip


@family("text, wrt, declared, answer", NEAT)
def test_neat(text: str, wrt: str, declared: dict, answer: str) -> None:
    assert diff(text, wrt, declared=declared).text == answer


CURVED = [
    "100*(x[1] - x[0]**2)**2 + (1 - x[0])**2", "x[0]*x[1]*x[2]", "norm(x[:2])", "exp(x[0])*x[1]",
    "dot(x[1:], x[:-1])", "sum(cumsum(x, 0)**2)", "x[0]",
    "sum((x[::2] - 1)**2)", "logsumexp(x[1:])", "dot(flip(x, 0), x)", "sum(cat([x, x[:1]])**3)",
    "x[1]/x[0]", "(x**3)[1]", "sqrt(x[2]**2 + 1)", "sum(roll(x, 2)**2*x)", "x[0]*sum(x)",
]  # fmt: skip


@family(
    "text, size",
    [(text, size) for i, text in enumerate(CURVED) for size in ("n", "34"[i % 2])],
    long=[(text, "43"[i % 2]) for i, text in enumerate(CURVED)],
)
def test_gradients_and_hessians(text: str, size: str) -> None:
    """Right for a dimension with a name and for known ones; the answer is input again."""
    declared = {"x": f"vector:{size}"}
    first = diff(text, "x", declared=declared)
    again = diff(first.text, "x", declared=declared) if "x" in first.text else None
    second = diff(text, "x", order=2, declared=declared)
    x = np.array([0.7, 1.3, 0.4, 2.1])[: 4 if size == "n" else int(size)]
    if again is not None:
        assert np.allclose(again.evaluate(x=x), second.evaluate(x=x))
    assert second.evaluate(x=x).shape == (len(x), len(x))


def test_sizes_follow_from_one_another() -> None:
    assert diff("x[1:] + y", "y").assumed == {"x": "vector:n+1", "y": "vector:n"}
    assert diff("A @ x[1:]", "x").assumed == {"A": "matrix:n,m-1", "x": "vector:m"}
    assert diff("dot(cat([x, y]), w)").assumed["w"] == "vector:m+n"
    declared = {"x": "vector:n", "y": "vector:n-1"}
    assert diff("dot(x[1:], y)", "y", declared=declared).text == "x[1:]"
    with pytest.raises(Fault) as caught:
        diff("x[1:] + x", "x", declared={"x": "vector"})
    assert caught.value.code == "E0301"
    with pytest.raises(Fault) as caught:
        diff("x[4]", declared={"x": "vector:3"})
    assert caught.value.code == "E0701"


def test_a_size_put_together_again_is_the_declared_one() -> None:
    text = "matrix_power(outer(cat([x[:1], x[1:]]), x), 2)"
    assert diff(text, "x", declared={"x": "vector:n"}).checked["max_rel_error"] < 1e-12


def test_large_known_sizes_are_kept() -> None:
    assert diff("x[50]**2", "x", declared={"x": "vector:100"}).text == "2*x[50]*eye(100)[50]"


def test_evaluated_with_sizes_from_values() -> None:
    found = diff("dot(x[1:], y)", "x", declared={"x": "vector:n", "y": "vector:n-1"})
    assert np.allclose(found.evaluate(y=[1.0, 2.0], x=[0.0, 0, 0]), [0, 1, 2])


@family(
    "text",
    [
        "x[x > 0]",
        "x[k]",
        "x[:3:2] + x[0:9]",
        "stack(x)",
        "x[::-1]",
        "x[m:m+1]",
        "x*(5|2)",
        "(3 & 6)*x",
    ],
)
def test_refused_plainly(text: str) -> None:
    with pytest.raises(Fault) as caught:
        diff(text, "x", declared={"x": "vector:n"})
    assert caught.value.code in ("E0701", "E0301")


def test_a_formula_that_shapes_cannot_read_again_is_refused_plainly() -> None:
    found = diff("A[::2][:-1] @ w", "w", declared={"A": "matrix:n,m", "w": "vector:m"})
    with pytest.raises(Fault) as caught:
        found.latex  # noqa: B018
    assert caught.value.code == "E0701"


def test_sizes() -> None:
    assert sizes.plus("n", -1) == "n-1" and sizes.plus("n-1", 1) == "n"
    assert sizes.plus("n", "m") == "m+n" and sizes.times("n+1", "n-1") == "n*n-1"
    assert sizes.extent("n", 1, None, None) == ("n-1", 1)
    assert sizes.extent("n", None, None, 2) == ("((n+1)//2)", 0)
    assert sizes.extent("n", -3, -1, None) == ("2", -3)
    assert sizes.value("((n+1)//2)-1", {"n": 5}) == 2
    assert sizes.value("n*m", {"n": 2}) is None
    assert sizes.solved("n-1", 3) == ("n", 4) and sizes.solved("n*m", 4) is None
    with pytest.raises(ValueError, match="both ends"):
        sizes.extent("n", -3, 4, None)


def test_latex_and_code() -> None:
    found = diff("sum((x[1:] - x[:-1])**2)", "x")
    assert r"{\mathbf{I}_{n}}_{:, 1:}" in found.latex
    stacked = diff("x[0]*x[1]", "x", declared={"x": "vector:2"})
    assert stacked.latex == r"\begin{pmatrix} \mathbf{x}_{1} \\ \mathbf{x}_{0} \end{pmatrix}"
    spaces: dict = {}
    for result, given in (
        (found, {"x": np.array([1.0, 3.0, 2.0])}),
        (diff("sum(A[1:, :-1]**2)", "A"), {"A": np.arange(6.0).reshape(2, 3)}),
        (diff("dot(x[1:], y)", "x"), {"x": np.ones(3), "y": np.ones(2)}),
    ):
        exec(result.code("numpy"), spaces)
        assert np.allclose(spaces["f"](**given)[1], result.evaluate(**given))


def test_a_stack_of_numbers_has_a_norm() -> None:
    found = diff("norm(stack([ones(n), 2*ones(n)]))**2*x", "x", declared={"x": "scalar"})
    assert found.evaluate(x=1.0, n=3) == pytest.approx(15)
    assert diff("x[0] + 2*x[1]", "x", declared={"x": "vector:2"}).text == "stack([1, 2])"


def test_entries_of_both_ends_differ() -> None:
    """x[0] and x[-1] are taken as two entries of a dimension with a name."""
    found = diff("x[0]*x[-1]", "x").text
    value = evaluate(prepare(found), {"x": np.array([2.0, 5.0, 3.0])}, {"n": 3})
    assert np.allclose(value, [3, 0, 2])
