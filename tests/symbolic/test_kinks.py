"""What is said of kinks, and that the formula does there what is said."""

from __future__ import annotations

import numpy as np
import pytest

import gradcli
from gradcli.engine import dtypes
from gradcli.language.runtime.run import prepare
from gradcli.symbolic import diff, diff_program, directional, structured
from tests.support.families import family

AT_A_KINK = [
    ("abs(x)", 0.0, "at x = 0: derivative of abs taken as 0"),
    ("relu(x - 1)", 1.0, "at (x - 1) = 0: derivative of relu taken as 0"),
    ("elu(x, 2.0)", 0.0, "at x = 0: slope of elu taken as alpha, second derivative as 0"),
    ("leaky_relu(x)", 0.0, "at x = 0: derivative of leaky_relu taken as the negative slope"),
    ("hardtanh(x)", 1.0, "at x = -1 and 1: derivative of hardtanh taken as 0"),
    ("clamp(x, -1, 1)", 1.0, "where x meets a bound: derivative of clamp taken as 1"),
    ("where(x > 2, x**2, 3*x)", 2.0, "where x > 2 changes: derivative of the side that is taken"),
]


@family("text, x, words", AT_A_KINK)
def test_the_formula_takes_the_engines_choice(text: str, x: float, words: str) -> None:
    found = diff(text, "x")
    assert found.kinks == [words]
    t = gradcli.tensor(x, dtype=dtypes.float64, requires_grad=True)
    prepare(text).run({"x": t}).value.backward()
    assert float(found.evaluate(x=x)) == pytest.approx(float(t.grad.item()))


@family("text, order, value", [
    ("leaky_relu(clamp(x, 0, 1))", 1, "0.01 at x = 0, not 1"),
    ("maximum(clamp(x, 0, 1), 0)", 1, "0.5 at x = 0, not 1"),
    ("leaky_relu(clamp(x, 0, 1))**2", 2, "0.0002 at x = 0, not 2"),
    ("relu(x) - relu(-x)", 1, "0 at x = 0, not 1"),
])  # fmt: skip
def test_a_slope_of_neither_side_is_told(text: str, order: int, value: str) -> None:
    """What the engine chose twice at one place, no form of pieces has."""
    words = f"where pieces meet gradcli grad may differ: {value}"
    assert words in diff(text, "x", order=order).kinks
    along = directional(text, {"x": "v"}, order=order).kinks
    assert any(said.startswith("where pieces meet gradcli grad may differ") for said in along)


@family("text, wrt, order, at, short", [
    # of what is not differentiated by a border is a point like any other
    ("where(x <= 0, where(x < 0, exp(x), 0), 0)*y", "y", 1, {"x": 0.0}, "where(x < 0, exp(x), 0)"),
    ("sign(x)**2*y", "y", 1, {"x": 0.0}, "sign(x)**2"),
    # the side that the engine takes, as is said
    ("where(x <= 0, where(x < 0, exp(x), 0), 0)", "x", 1, {"x": 0.0}, "where(x < 0, exp(x), 0)"),
    ("celu(x)", "x", 2, {"x": 0.0}, "where(x < 0, exp(x), 0)"),
    # the slope of both sides
    ("relu(x) - relu(-x)", "x", 1, {}, "1"),
])  # fmt: skip
def test_the_border_of_pieces(text: str, wrt: str, order: int, at: dict, short: str) -> None:
    found = diff(text, wrt, order=order)
    assert found.text == short
    if at:
        x = {k: gradcli.tensor(at.get(k, 2.0), dtype=dtypes.float64) for k in found.declared}
        f = gradcli.func.grad(lambda u: prepare(text).run({**x, wrt: u}).value)
        f = gradcli.func.grad(f) if order == 2 else f
        assert float(found.evaluate(**at)) == float(f(x[wrt]))


def test_two_tests_of_one_choice_under_a_sum_meet_under_it() -> None:
    # Checked at random points: the choice once left the sum of the softmax's slope.
    square = dict.fromkeys("SA", "matrix:3,3")
    found = diff("sum(minimum(S @ A, softmax(S @ A, 0)))", "A", declared=square)
    assert found.checked["max_rel_error"] < 1e-9


def test_the_border_of_pieces_of_other_derivatives() -> None:
    text = "where(x <= 0, where(x < 0, exp(x), 0), 0)"
    line = directional(f"{text}*y", {"y": "v"})
    assert line.text == "where(x < 0, v*exp(x), 0)"
    assert line.evaluate(x=0.0, v=2.0) == 0
    moved = directional(f"{text}*y", {"y": "v", "x": "u"}, order=2)
    assert moved.evaluate(x=0.0, y=3.0, u=1.0, v=2.0) == 0
    often = diff_program(f"y = 0\nfor i in range(2):\n    y = y + {text}*z\ny", "z")
    assert often.text == "where(x < 0, 2*exp(x), 0)"
    held = f"w = tensor([1.5, -2.25, 0.7], dtype=float64)\ny = {text}*z\ny*w"  # a constant array
    assert not any(diff_program(held, "z").evaluate(x=0.0))
    shapes = {"x": "scalar", "S": "matrix:n,n symmetric"}
    # of which 0 is no value to check a determinant at, but it is the border's
    assert diff(f"{text}*logdet(S)", "S", declared=shapes).text == "where(x < 0, exp(x)*inv(S), 0)"
    own = diff("sum(where(S <= 0, where(S < 0, exp(S), 0), 0))", declared={"S": shapes["S"]})
    assert own.text == "where(S < 0, exp(S), 0)"
    folded = structured(f"{text}*sum(S*S)", None, shapes)
    assert not any(np.any(g) for g in folded.evaluate(x=0.0, S=np.eye(3)).values())


def test_kinks_of_the_slope_alone() -> None:
    assert diff("softsign(x)", "x", order=1).kinks == []
    said = "at x = 0: second derivative of softsign taken as 0"
    assert diff("softsign(x)", "x", order=2).kinks == [said]


@family("text, orders", [
    ("i1(x)", (1, 2)), ("i1e(x)", (1, 2)), ("bessel_j1(x)", (1, 2)), ("sinc(x)", (1, 2)),
    ("i0(x)", (2,)), ("bessel_j0(x)", (2,)), ("x*i1(x)", ()), ("x*sinc(x)", ()),
])  # fmt: skip
def test_a_formula_that_divides_says_so(text: str, orders: tuple[int, ...]) -> None:
    for order in (1, 2):
        found = diff(text, "x", order=order)
        assert any("divides by it" in said for said in found.kinks) == (order in orders)
        assert np.isnan(found.evaluate(x=0.0)) == (order in orders)


@family("text, said", [
    *(
        (f"{f}(x)", [f"where the piece of {f} changes: derivative of the side that is taken"])
        for f in ("hardsigmoid", "hardswish", "hardshrink", "softshrink", "relu6", "celu", "selu")
    ),
    ("l1_loss(x, y)", ["at the argument of abs in l1_loss = 0: derivative of abs taken as 0"]),
    ("F.softplus(x, 2, 3)", [
        "where beta times x is the threshold: derivative of softplus taken below it"
    ]),
    ("hinge_embedding_loss(x, y)", [
        "where the argument of clamp in hinge_embedding_loss meets a bound: derivative of clamp "
        "taken as 1"
    ]),
    # a condition that does not move has no border
    ("where(y > 0, x, 2*x)", []), ("heaviside(y, x)", []),
    ("copysign(x, y)", ["at x = 0: derivative of abs taken as 0"]),
])  # fmt: skip
def test_kinks_inside_composed_functions(text: str, said: list[str]) -> None:
    assert diff(text, "x").kinks == said


def test_norm_1_at_zero_entries() -> None:
    found = diff("norm(x, 1)", "x")
    assert found.kinks == ["where an entry of x is 0: derivative of abs taken as 0"]
    assert np.array_equal(found.evaluate(x=[0.0, -2, 3]), [0, -1, 1])


@family("text, words", [
    ("max(x, y)", "the formula leaves ties of max out (gradcli grad splits them in half)"),
    ("amax(x)", "tie: the formula leaves them out"), ("norm(x, inf)", "largest entries of x tie"),
    ("norm(x)", "at x = 0: norm has no derivative"), ("prod(x)", "the formula divides by it"),
    ("det(diag(x))/x", "where diag(x) is singular: the formula divides by its determinant"),
    ("huber_loss(x, y)", "where the piece of huber_loss changes"),
    ("std(x)", "where x is constant"), ("x*floor(x)", "where floor of x jumps"),
    ("sum(norm(outer(x, y), dim=1))", "at outer(x, y) = 0 along dim 1: norm has no derivative"),
    ("sum(std(outer(x, y), 0))", "where outer(x, y) is constant along dim 0: std"),
])  # fmt: skip
def test_told_where_the_formula_stops(text: str, words: str) -> None:
    declared = {"x": "vector:n", "y": "vector:n"} if "y" in text else {"x": "vector:n"}
    assert any(words in said for said in diff(text, "x", declared=declared).kinks)


@family("text, said", [
    ("sqrt(x**2)", ["at x**2 = 0: sqrt has no derivative"]),
    ("(x**2)**0.5", ["at x**2 = 0: pow has no derivative"]),
    ("(x**2)**(1/2)", ["at x**2 = 0: pow has no derivative"]),
    ("sqrt((x + 1)**2 + 1) + abs(x)", ["at x = 0: derivative of abs taken as 0"]),
    ("sqrt(var(x))", ["at var(x) = 0: sqrt has no derivative"]),
    ("sqrt(sum(x**2))", ["at sum(x**2) = 0: sqrt has no derivative"]),
    ("sqrt(x**2 + 1)*abs(x)", ["at x = 0: derivative of abs taken as 0"]),
    ("sqrt((x - 1)**2) + abs(x)", [
        "at (x - 1)**2 = 0: sqrt has no derivative", "at x = 0: derivative of abs taken as 0"
    ]),
    ("sqrt(x**2 + 1)", []), ("sqrt(x**4)", []), ("(x**2)**1.5", []),
    # a point of two arguments, one of which may be a number
    ("hypot(x, 0)", ["at x = 0: hypot has no derivative (gradcli grad takes 0)"]),
    ("hypot(x, 3)", []),
    ("atan2(x, y)", ["at x = y = 0: atan2 has no derivative (gradcli grad takes 0)"]),
])  # fmt: skip
def test_lengths_and_points_of_two(text: str, said: list[str]) -> None:
    assert diff(text, "x").kinks == said


@family("text, said", [
    # both sides are one between the bounds, and the formula holds there and at the bounds
    ("min(r*A, clamp(r, 0.8, 1.2)*A)", ["where r meets a bound: derivative of clamp taken as 1"]),
    ("min(max(r, 0), 1)", [
        "where r = 0: the formula leaves ties of max out (gradcli grad splits them in half)",
        "where max(r, 0) = 1: the formula leaves ties of min out "
        "(gradcli grad splits them in half)",
    ]),
    ("max((r - y)**2, (max(r, 0) - y)**2)", [
        "where r = 0: the formula leaves ties of max out (gradcli grad splits them in half)",
        "where (r - y)**2 = (max(r, 0) - y)**2 at isolated points: the formula leaves ties of max "
        "out (gradcli grad splits them in half)",
    ]),
    ("sum(max(r, r.T))", []), ("max(r, r)", []),
])  # fmt: skip
def test_ties_that_the_formula_holds(text: str, said: list[str]) -> None:
    declared = {"r": "matrix:n,n"} if ".T" in text else {}
    assert diff(text, "r", declared=declared).kinks == said


def test_at_the_bounds_of_what_is_clipped() -> None:
    text = "min(r*A, clamp(r, 0.8, 1.2)*A)"
    for r, a in ((0.8, 1.0), (0.8, -1.0), (1.2, 1.0), (1.2, -1.0), (1.0, 2.0)):
        t = gradcli.tensor(r, dtype=dtypes.float64, requires_grad=True)
        prepare(text).run({"r": t, "A": gradcli.tensor(a, dtype=dtypes.float64)}).value.backward()
        assert float(diff(text, "r").evaluate(r=r, A=a)) == float(t.grad.item())


def test_largest_entries_of_a_symmetric_matrix_tie() -> None:
    """They come in pairs, between which the formula shares."""
    declared = {"X": "matrix:n,n symmetric"}
    found = diff("amax(X)", "X", declared=declared)
    assert found.kinks == []
    np.testing.assert_array_equal(
        found.evaluate(X=[[1.0, 3], [3, 2]]), [[0, 0.5], [0.5, 0]]
    )  # fmt: skip
    assert diff("amax(X)", "X", declared={"X": "matrix:n,n"}).kinks != []


def test_nothing_is_said_of_smooth_functions_and_of_other_variables() -> None:
    assert diff("sin(x)*abs(y)", "x").kinks == []
    assert diff("exp(x)/x", "x").kinks == []


@family("text", ["norm(A @ x - b)**2", "abs(x)**2*y", "norm(x)**4", "abs(x)**4/2"])
def test_what_cancels_is_not_told(text: str) -> None:
    assert diff(text, "x").kinks == []
    assert diff(text.partition("**")[0], "x").kinks != []


def test_kinks_of_programs_and_variants() -> None:
    path = diff_program("y = abs(x)\nfor i in range(2):\n    y = y*x\ny", values={"x": 2.0})
    assert path.kinks and "derivative of abs taken as 0" in path.kinks[0]
    for order in (1, 2):
        said = ["at x = 0: derivative of abs taken as 0"]
        assert directional("abs(x)", {"x": "v"}, order=order).kinks == said
        assert diff("abs(x)", "x", order=order).kinks == said
        assert diff_program("y = abs(x)\ny", values={"x": 2.0}, order=order).kinks


SECOND = [
    ("x.T @ A @ x", {"x": "v"}, {}, "2*dot(v, A @ v)"),
    ("logdet(X)", {"X": "V"}, {"X": "matrix"}, "-trace(solve(X, V @ solve(X, V)))"),
    ("x**3", {"x": "v"}, {}, "6*v**2*x"),
]


@family("text, along, declared, answer", SECOND)
def test_second_directional(text: str, along: dict, declared: dict, answer: str) -> None:
    found = directional(text, along, declared, 2)
    assert found.text == answer and found.checked["max_rel_error"] <= 1e-8


def test_directional_in_several_variables_at_order_two() -> None:
    found = directional("sum(x*y)", {"x": "v", "y": "w"}, {"x": "vector:n", "y": "vector:n"}, 2)
    assert found.text == "2*dot(v, w)"


def test_structured_hessians() -> None:
    found = structured("trace(S @ S)", "S", {"S": "matrix:n,n symmetric"}, 2)
    hessian = found.evaluate(S=np.eye(2))
    # trace(S @ S) is a**2 + 2*b**2 + c**2 of the three entries
    assert hessian[0, 0, 0, 0] == 2 and hessian[0, 1, 0, 1] == 4 and hessian[0, 1, 1, 0] == 4
    assert hessian[0, 0, 1, 1] == 0
    flat = structured("x.T @ S @ x", "S", {"S": "matrix:n,n symmetric"}, 2)
    assert flat.text == "zeros(n, n, n, n)"


def test_threads_do_not_see_each_others_ties() -> None:
    """A rule that is traced in one thread says nothing of a value that is traced in another."""
    import threading

    from gradcli.symbolic.trace.symbol import in_a_rule, inside_a_rule, ties

    seen = []
    with inside_a_rule():
        ties.seen.add("kept")
        other = threading.Thread(target=lambda: seen.append((in_a_rule(), set(ties.seen))))
        other.start()
        other.join()
        assert in_a_rule() and "kept" in ties.seen
        ties.seen.clear()
    assert seen == [(False, set())]


@family("text, at", [
    # by both sides of a choice that are equal in places, and by rounding
    ("sum(max(M, M + M.T))", [[0.0, 0, -1], [1, 0, -1], [1, 0, 1]]),
    ("sin(amin(max(M, M + M.T)))", np.zeros((3, 3))),
    ("logsumexp(relu6(-max(2*M, M*M.T)))", [[-0.5, 0, 2], [0.5, 2, 0.5], [-0.5, 1, 0.5]]),
    ("sum((-M - M.T)*max(M, M + M.T))", [[0.0, 0, -1], [1, 0, -1], [1, 0, 1]]),
])  # fmt: skip
def test_ties_in_places(text: str, at: list) -> None:
    found = diff(text, "M", declared={"M": "matrix:3,3"})
    t = gradcli.tensor(np.array(at), dtype=dtypes.float64, requires_grad=True)
    prepare(text).run({"M": t}).value.backward()
    np.testing.assert_allclose(found.evaluate(M=np.array(at)), t.grad.array, atol=1e-12)


@family("text, slope", [
    ("logsumexp(min(softplus(x/2), x/2))", 0.5), ("logsumexp(max(3*x, x*3.0 + 1e-20))", 3.0),
])  # fmt: skip
def test_ties_by_rounding_take_a_side(text: str, slope: float) -> None:
    assert diff(text, "x").evaluate(x=[1000.0]) == [slope]
