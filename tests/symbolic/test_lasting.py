"""Closed forms at large and at tiny arguments, held against derivatives to 420 digits (mpmath)."""

from __future__ import annotations

import random

import mpmath as mp
import numpy as np
import pytest

from gradcli.symbolic import diff
from tests.support.families import family

POINTS = [s * p for p in (1e-8, 1.0, 40.0, 400.0, 750.0, 1e8) for s in (1, -1)]
ARGUMENTS = ["x", "x", "2*x", "-x", "x/3", "x - 1", "3 - x", "x**2/2", "-x**2"]
FAMILIES = """
1 - sigmoid({a}) | sigmoid({a})*sigmoid({b}) | log(1 + exp({a})) | exp({a})/(1 + exp({a}))
1/(1 + exp({a}))**2 | exp({a})/(exp({a}) + exp({b})) | log(exp({a}) + exp({b})) | tanh({a})
tanh({a})**2 | 1/cosh({a}) | log(cosh({a})) | sinh({a})/cosh({a}) | exp(-({a})**2/2) | x*exp(-x**2)
exp({a})/sqrt(1 + exp(2*x)) | asinh(exp(x)) - x | sqrt(1 + ({a})**2) | 1/(1 + ({a})**2)
x/sqrt(1 + x**2) | atan({a}) | log1p(({a})**2) | x**2/(1 + x**2) | x*sigmoid({a}) | exp(-exp({a}))
log(1 + exp({a}) + exp({b})) | 1/(2 + exp(x) + exp(-x)) | log(x**2/(1 + x**2)) | erf({a})
(exp(2*x) - 1)/(exp(2*x) + 1) | log(2 + tanh({a})) | exp({a})/(exp({a}) + 3)
log(exp(3*x) + exp(x) + 1) | 1 - tanh({a})**2 | softplus({a})*x
"""  # fmt: skip
NAMES = {
    name: getattr(mp, name)
    for name in ("exp", "log", "sqrt", "tanh", "sinh", "cosh", "expm1", "erfc")
}
NAMES |= {"asinh": mp.asinh, "atan": mp.atan, "erf": mp.erf, "log1p": lambda u: mp.log(1 + u)}
NAMES["sigmoid"] = lambda u: 1 / (1 + mp.exp(-u))
NAMES["softplus"] = lambda u: mp.log(1 + mp.exp(u))
NAMES["exp"] = lambda u: mp.exp(min(max(u, -1e17), 1e17))  # beyond, 0 and inf to a float
LAST = [
    "exp(x)/sqrt(1 + exp(2*x))", "asinh(exp(x)) - x", "log(exp(3*x) + exp(x) + 1)", "tanh(x)**2",
    "x*exp(x)/(exp(2*x) + exp(x) + 1)", "1 - tanh(x)**2", "log(1 + exp(x) + exp(-x))",
    "x**3/expm1(x)", "log(erfc(x))", "log(1 + (log(1 + exp(2 - x))/(x + 3))**2)",
]  # fmt: skip


def true(text: str, x: float, order: int) -> float | None:
    """The derivative, None where it is no finite number."""
    with mp.workdps(420):
        try:
            found = mp.diff(lambda u: eval(text, NAMES, {"x": u}), mp.mpf(x), order)
        except (ZeroDivisionError, OverflowError, ValueError):
            return None
        return float(found) if isinstance(found, mp.mpf) and mp.isfinite(found) else None


def off(text: str, order: int, *, finite: bool) -> list[str]:
    """Where a closed form is wrong; with ``finite`` also where it has no value."""
    form = diff(text, "x", order=order)
    found = []
    for x in POINTS:
        want = true(text, x, order)
        got = float(form.evaluate(x=x))
        if want is None or (not finite and not np.isfinite(got)):
            continue
        if not np.isclose(got, want, rtol=1e-6, atol=1e-9):
            found.append(f"{text} at {x}: {form.text} is {got}, not {want}")
    return found


@family("text", LAST)
def test_a_form_that_lasts_is_preferred(text: str) -> None:
    assert not off(text, 1, finite=True)


def wrong(seed: int, count: int) -> list[str]:
    """Values of random forms that are finite and wrong."""
    rng = random.Random(seed)
    families = [f.strip() for line in FAMILIES.strip().splitlines() for f in line.split(" | ")]
    found = []
    for _ in range(count):
        a, b = rng.choice(ARGUMENTS), rng.choice(ARGUMENTS)
        text = rng.choice(families).format(a=a, b=b)
        found += off(text, rng.choice([1, 2]), finite=False)
    return found


def test_no_finite_value_is_wrong() -> None:
    assert not wrong(1, 6)


@pytest.mark.long
def test_no_finite_value_is_wrong_in_many_forms() -> None:
    assert not wrong(2, 300)


@family("text, shape, form", [
        ("logsumexp(X)", "matrix", "exp(X - logsumexp(X))"),
        ("sum(exp(x)**2)/sum(exp(x))**2", "vector",
         "2*softmax(x)*(softmax(x) - norm(softmax(x))**2)"),
        ("-sum(softmax(x)*log(softmax(x)))", "vector", "softmax(x)*(dot(x, softmax(x)) - x)"),
    ],
)  # fmt: skip
def test_shares_do_not_overflow(text: str, shape: str, form: str) -> None:
    found = diff(text, declared={"X" if shape == "matrix" else "x": shape})
    assert found.text == form
    at = np.array([[900.0, 1.0], [-900.0, 900.5]])
    value = found.evaluate(X=at) if shape == "matrix" else found.evaluate(x=at[0])
    assert np.isfinite(value).all()


@pytest.mark.parametrize("text", ["x**3/(exp(3 - x) - 1)", "x**3/(exp(x - 1) - 1)"])
def test_what_the_engine_has_no_value_for_is_judged_by_its_rounding(text: str) -> None:
    assert not off(text, 2, finite=False)


def test_a_group_that_cancels_is_kept() -> None:
    """With ``x**2`` and its mean multiplied out, the mean's terms cancel among each other only."""
    found = diff("sum(softmax(x)*x**2)", order=2, declared={"x": "vector"})
    x = np.array([-1e8, -1e8 + 12.5, -1e8 + 1.25])
    p = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
    g = np.array([sum(p * (a - x) * (a + x)) for a in x]) + 2 * x
    want = np.diag(p * (g + 2 * x + 2)) - np.outer(p * g, p) - np.outer(p, p * g)
    assert np.allclose(found.evaluate(x=x), want, rtol=1e-4, atol=1e-6)
    assert found.text.count("x**2*softmax(x)") == found.text.count("x**2 + 2*x - sum(")


@pytest.mark.parametrize("x", [30.0, 300.0, 700.0])
def test_what_cancels_to_nothing_far_out_is_the_engines(x: float) -> None:
    """All digits of the formula are lost there, and the engine's value falls steeply."""
    found, lost, doubtful, _ = diff("exp(-x)*x/(1-exp(-x))", order=2).settled(x=x)
    assert np.allclose(found["x"], (x - 2) * np.exp(-x), rtol=1e-9, atol=0)
    assert lost == ["x"] and not doubtful


def test_quotients_by_expm1_do_not_overflow() -> None:
    found = diff("x/expm1(x)", order=2)
    assert all(found.evaluate(x=x) == 0 for x in (800.0, 1500.0, -1500.0))


def test_a_value_of_which_a_factor_has_few_digits_is_the_engines() -> None:
    """``exp(-x**2)`` at -27 is smaller than the least number of 53 bits."""
    found, lost, doubtful, others = diff("exp(-x**2/2)/special.ndtr(x)").settled(x=-27.0)
    assert lost == ["x"] and not doubtful and not others
    assert np.isclose(found["x"], -2.503217808065501, rtol=1e-9, atol=0)


def test_a_form_without_digits_says_where() -> None:
    for text, sizes in (
        ("x/sinh(x)", [-1e-8, 1e-8]),
        ("x*(digamma(x + 1) - digamma(x))", [-25.0, -1e-8, 1e-8]),
        ("-log(1 - (1 - exp(-x))**1.5)", [25.0]),  # there the engine loses the same digits
        ("x*exp(-sinh(x))", [1500.0, 1e8]),  # there both are 0*inf
        ("log(cosh(2*x))**2", [-250.0, 250.0]),  # a square of cosh(2*x), which is finite, is not
    ):
        found = diff(text, order=2 if "cosh" in text else 1).checked
        assert found is not None and found["loses_digits_near"] == sizes
    found = diff("1/tanh(x/j)/j - 2/tanh(2*x)", "x").checked  # of both tiny x/j is not
    assert found is not None and found["loses_digits_near"] == [-1e-8, 1e-8]
    for text in ("sin(x**2)", "x*exp(-x)", "1 - tanh(x)**2"):
        assert "loses_digits_near" not in (diff(text).checked or {})


def test_a_form_without_a_value_says_where() -> None:
    """Of ``x**z*log(x)`` at x = 0 the engine has one: 0, as of ``p*abs(x)**p/x``."""
    for text, sizes in (
        ("x**z", [0.0]), ("sum(abs(x)**z)", [0.0]), ("x*log(x)", None), ("abs(x)**p", [0.0]),
        ("abs(x)**3", None), ("norm(stack([x, 0]))", None),
    ):  # fmt: skip
        found = diff(text, "z" if "z" in text else "x").checked
        assert found is not None and found.get("loses_digits_near") == sizes


@family("text, x", [("sigmoid(1/cosh(x - z))", 300.0), ("tanh(log_ndtr(x - z))", -40.0)])
def test_variables_that_are_large_with_both_signs(text: str, x: float) -> None:
    """At numbers that are all alike ``x - z`` is small, and nothing overflows."""
    assert np.isfinite(diff(text, "x", order=2).evaluate(x=x, z=0.5))


def test_one_variable_that_is_large_beside_another() -> None:
    """Where both are, or neither is, both forms of the mixed derivative keep their digits."""
    found = diff("log(exp(x) + exp(y))", "x,y", order=2)
    assert np.isclose(float(found.evaluate(x=40.0, y=0.5)), -np.exp(-39.5), rtol=1e-12, atol=0)


@pytest.mark.parametrize("scalar", [
    "det(softmax(S, 1))", "det(softmax(S, 0) + eye(2))", "trace(inv(softmax(S, 1)))",
    "inv(softmax(S, 1))[0, 1]", "sum(inv(softmax(S, 1) + S))", "amax(softmax(S, 1))",
    "norm(softmax(S, 1) @ S)", "trace(inv(softmax(S, 1) @ S))", "softmax(S, 1)[0, 1]",
    "sum(softmax(S, 1)[0])", "norm(softmax(S, 1)[1:])", "exp(log_softmax(S, 1))[0, 0]",
    "log(softmax(S, 1))[0, 1]", "sum(S @ exp(log_softmax(S, 0) + log_softmax(S, 1)))",
])  # fmt: skip
def test_shares_inside_functions_of_matrices(scalar):
    """Under a condition a NaN would not show: the other branch would be taken."""
    S = np.array([[1000.0, 0.0], [0.0, 1000.0]])  # its shares are those of the unit matrix
    shares = {"softmax": lambda *_: np.eye(2), "log_softmax": lambda *_: 1000 * np.eye(2) - 1000}
    known = {"S": S, "det": np.linalg.det, "eye": np.eye, "inv": np.linalg.inv, "amax": np.max,
             "trace": np.trace, "sum": np.sum, "norm": np.linalg.norm, "exp": np.exp,
             "log": lambda _: 1000*np.eye(2) - 1000}  # fmt: skip
    want = eval(scalar, shares | known)
    declared = {"x": "scalar", "S": "matrix:2,2"}
    for text, wanted in ((f"x*{scalar}", want), (f"where(x > {scalar}, x, 0)", 1.0)):
        form = diff(text, "x", declared=declared)
        assert np.isclose(float(form.evaluate(x=want + 0.5, S=S)), wanted, rtol=1e-12), form.text


@family("text, short", [
    ("x*log_ndtr(x - z)",
     "(sqrt(2*pi)*(x*(z - x) + 2) - 2*x/erfcx((z - x)/sqrt(2)))/(pi*erfcx((z - x)/sqrt(2)))"),
    ("sigmoid(log_ndtr(1 - x))", None), ("sigmoid(log_ndtr(x**2 - z))", None),
    ("log_ndtr(log(ndtr(3*x)))", None),
])  # fmt: skip
def test_erfcx_below_the_line_is_no_quotient_of_infinities(text, short):
    found = diff(text, "x", order=2)
    assert short is None or found.text == short
    at = dict.fromkeys(found.declared, 0.5)
    with np.errstate(all="ignore"):
        assert all(np.isfinite(found.evaluate(**at | {"x": x})) for x in (40.0, 300.0))
        if "3*x" not in text:
            assert all(np.isfinite(found.evaluate(**at | {"x": x})) for x in (-40.0, -300.0))
