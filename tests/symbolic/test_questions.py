"""Zeros, series, directions and symmetric matrices: exact where they can be, always checked."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from gradcli.symbolic import directional, structured, taylor, zeros
from gradcli.symbolic import polynomial as poly
from gradcli.symbolic.verify import evaluate
from tests.support.families import family

# ---- Zeros ---------------------------------------------------------------------------------------


@family("text, want", [
        ("3*x**2 - 12", [-2, 2]), ("x**3 - x/3", [-(3**-0.5), 0, 3**-0.5]), ("x**2 + 1", []),
        ("(1 - x**2)/(1 + x**2)**2", [-1, 1]), ("(x - 1)**2*(x - 1.5)**3", [1, 1.5]), ("1/x", []),
        ("x**20 - 1", [-1, 1]), ("(x - 1)/(x - 1)", []), ("x**2 - 2", [-(2**0.5), 2**0.5]),
        ("x**3 - 1e-12*x", [-1e-6, 0, 1e-6]), ("2*x + 1", [-0.5]),
    ],
)  # fmt: skip
def test_zeros_of_polynomials_and_quotients(text, want):
    found = zeros(text, "x")
    assert found.interval is None and len(found.points) == len(want)
    assert np.allclose(found.points, want, rtol=1e-12, atol=1e-13)
    assert all(abs(r) < 1e-9 for r in found.residuals)


def test_exact_zeros_are_fractions():
    assert zeros("6*x**2 - 5*x + 1", "x").exact == [Fraction(1, 3), Fraction(1, 2)]
    assert zeros("x**2 - 2", "x").exact == [None, None]
    assert zeros("0*x", "x").everywhere


@family("text, interval, want", [
        ("cos(x)", (0.0, 10.0), [np.pi / 2, 3 * np.pi / 2, 5 * np.pi / 2]),
        ("exp(x) - 2", None, [np.log(2)]), ("sin(x)**2", (-1.0, 4.0), [0, np.pi]),
        ("tan(x)", (-4.0, 4.0), [-np.pi, 0, np.pi]), ("exp(x)", None, []),
        ("exp(-x)*(1 - x)", (0.0, 5.0), [1]), ("log(x)", (0.1, 3.0), [1]),
    ],
)  # fmt: skip
def test_zeros_by_bracketing(text, interval, want):
    found = zeros(text, "x", interval=interval)
    assert found.interval == (interval or (-10.0, 10.0)) and "bracketed" in found.method
    assert np.allclose(found.points, want, atol=1e-6)


def test_zeros_need_values():
    assert zeros("a*x - 1", "x", {"a": 4}).points == [0.25]
    for text, code in (("a*x", "E0704"), ("x*ones(3)", "E0704")):
        with pytest.raises(Fault) as caught:
            zeros(text, "x")
        assert caught.value.code == code


def test_real_roots_against_sturms_count():
    rng = np.random.default_rng(1)
    for _ in range(60):
        roots = rng.integers(-6, 7, rng.integers(1, 7))
        p = [Fraction(1)]
        for r in roots:
            p = poly.multiplied(p, [Fraction(-int(r), 2), Fraction(1)])
        p = poly.multiplied(p, [Fraction(1), Fraction(0), Fraction(1)])
        assert [x for _, x in poly.real_roots(p)] == sorted({Fraction(int(r), 2) for r in roots})


# ---- Series --------------------------------------------------------------------------------------


@family("text, order, around, want", [
        ("exp(x)", 3, "0", "1 + x + x**2/2 + x**3/6"),
        ("sin(x)", 5, "0", "x - x**3/6 + x**5/120"),
        ("sin(x)", 3, "pi", "-(x - pi) + (x - pi)**3/6"),
        ("log(1 + x)", 4, "0", "x - x**2/2 + x**3/3 - x**4/4"),
        ("1/(1 - x)", 3, "0", "1 + x + x**2 + x**3"),
        ("x**2", 4, "-2", "4 - 4*(x + 2) + (x + 2)**2"),
        ("sqrt(x)", 2, "4", "2 + (x - 4)/4 - (x - 4)**2/64"),
        ("exp(a*x)", 2, "0", "1 + a*x + a**2*x**2/2"),
        ("sin(x)", 2, "c", "sin(c) + cos(c)*(x - c) - sin(c)*(x - c)**2/2"),
        ("tan(x)", 5, "0", "x + x**3/3 + 2*x**5/15"),
        ("abs(x)", 2, "3", "3 + (x - 3)"),
        ("((x > 0) + (x > 1))*exp(x)", 1, "2", "2*exp(2) + 2*exp(2)*(x - 2)"),
        ("5", 2, "0", None),
    ],
)  # fmt: skip
def test_taylor(text, order, around, want):
    if want is None:
        with pytest.raises(Fault):
            taylor(text, "x", order, around)
        return
    series = taylor(text, "x", order, around)
    assert series.text == want
    assert series.max_rel_error < 1e-9
    prepare(series.text)


@family("text", ["exp(sin(x))", "x/(exp(x) + 1)", "log(2 + cos(x))", "x**x"])
def test_taylor_against_mpmath(text):
    series = taylor(text, "x", 4, "1/2")
    names = {"exp": mpmath.exp, "sin": mpmath.sin, "cos": mpmath.cos, "log": mpmath.log}
    want = mpmath.taylor(lambda x: eval(text, {**names, "x": x}), mpmath.mpf("0.5"), 4)
    got = [float(evaluate(prepare(c), {}, {})) for c in series.coefficients]
    assert np.allclose(got, [float(c) for c in want], rtol=1e-10)


@family("text, around", [
     ("abs(x)", "0"), ("sqrt(x)", "0"), ("max(x, 1)", "1"), ("log(x)", "0"), ("1/x", "0"),
     ("where(x > 2, x, 0)", "2"), ("sin(x)", "x + 1"), ("leaky_relu(x)", "0"),
     ("hardtanh(x)", "-1"), ("round(x)", "1/2"), ("frac(x)", "1"), ("x % 2", "4"),
     ("heaviside(x, 1/2)", "0")],
)  # fmt: skip
def test_no_series_at_kinks_and_poles(text, around):
    with pytest.raises(Fault) as caught:
        taylor(text, "x", 3, around)
    assert caught.value.code == "E0704"


# ---- Directions and symmetric matrices -----------------------------------------------------------


@family("text, along, declared, want", [
        ("x.T @ A @ x", {"x": "v"}, {"A": "matrix symmetric"}, "2*dot(v, A @ x)"),
        ("A @ x", {"x": "v"}, {}, "A @ v"),
        ("A @ x", {"A": "V"}, {}, "V @ x"),
        ("sin(x)*y", {"x": "u", "y": "v"}, {}, None),
        ("norm(x)**2*y", {"x": "u", "y": "v"}, {"y": "scalar"}, None),
        ("exp(-dot(x, x))", {"x": "v"}, {}, None),
    ],
)  # fmt: skip
def test_directional(text, along, declared, want):
    result = directional(text, along, declared)
    if want is not None:
        assert result.text == want
    assert result.checked is not None and result.checked["max_rel_error"] < 1e-9
    rng = np.random.default_rng(3)
    values = {
        k: rng.uniform(0.3, 0.9, tuple({"n": 3, "m": 4}[d] for d in x.dims))
        for k, x in result.declared.items()
    }
    if "symmetric" in result.declared.get("A", next(iter(result.declared.values()))).traits:
        values["A"] = values["A"] + values["A"].T
    h = 1e-6
    plain = {k: x for k, x in values.items() if k not in along.values()}
    sides = [
        evaluate(prepare(text), {k: x + s * h * values[along[k]] if k in along else x
                                 for k, x in plain.items()}, {})
        for s in (1, -1)
    ]  # fmt: skip
    got = result.evaluate(**values)
    assert np.allclose(got, (sides[0] - sides[1]) / (2 * h), rtol=1e-7, atol=1e-8)


@family("text, want", [
        ("logdet(S)", "2*inv(S) - eye(n)*inv(S)"), ("trace(S @ S)", "4*S - 2*eye(n)*S"),
        ("trace(A @ S)", "A + A.T - eye(n)*A"), ("x.T @ S @ x", None),
        ("x.T @ inv(S) @ x", None),
    ],
)  # fmt: skip
def test_structured(text, want):
    result = structured(text, "S", {"S": "matrix:n,n spd", "A": "matrix:n,n", "x": "vector:n"})
    if want is not None:
        assert result.text == want
    rng = np.random.default_rng(3)
    r = rng.uniform(0.3, 0.9, (3, 3))
    values = {"S": r @ r.T + np.eye(3), "A": rng.uniform(size=(3, 3)), "x": rng.uniform(size=3)}
    used = {k: x for k, x in values.items() if k in result.declared}
    got = result.evaluate(**used)
    h = 1e-6
    for i in range(3):
        for j in range(3):
            step = np.zeros((3, 3))
            step[i, j] = step[j, i] = h
            up, down = (
                float(evaluate(prepare(text), {**used, "S": values["S"] + s * step}, {}))
                for s in (1, -1)
            )
            assert np.isclose(got[i, j], (up - down) / (2 * h), rtol=1e-6, atol=1e-7)


def test_structured_needs_a_symmetric_variable():
    with pytest.raises(Fault) as caught:
        structured("trace(X @ X)", "X")
    assert caught.value.code == "E0907"
