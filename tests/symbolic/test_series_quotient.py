"""Series of quotients at points where both sides are 0."""

from __future__ import annotations

import pytest

from gradcli.ops.errors import Fault
from gradcli.symbolic.series import taylor
from tests.support.families import family


@family(
    "expression, around, coefficients",
    [
        ("sin(x)/x", "0", ["1", "0", "-1/6", "0", "1/120"]),
        ("x/(exp(x) - 1)", "0", ["1", "-1/2", "1/12", "0", "-1/720"]),
        ("(1 - cos(x))/x**2", "0", ["1/2", "0", "-1/24", "0", "1/720"]),
        ("(1 - cos(x))/(x*sin(x))", "0", ["1/2", "0", "1/24", "0", "1/240"]),
        ("x/tan(x)", "0", ["1", "0", "-1/3", "0", "-1/45"]),
        ("log(x)/(x - 1)", "1", ["1", "-1/2", "1/3", "-1/4", "1/5"]),
        ("(x**2 - 1)/(x - 1)", "1", ["2", "1", "0", "0", "0"]),
        ("x**5/sin(x)**4", "0", ["0", "1", "0", "2/3", "0"]),
    ],
)
def test_a_limit_of_a_quotient(expression: str, around: str, coefficients: list[str]) -> None:
    found = taylor(expression, "x", 4, around)
    assert found.coefficients == coefficients
    assert found.max_rel_error < 1e-8


@family("expression", ["1/x", "cos(x)/x", "x/sin(x)**2", "log(x)/x", "sqrt(x)/x"])
def test_a_pole_has_no_series(expression: str) -> None:
    with pytest.raises(Fault) as caught:
        taylor(expression, "x", 3)
    assert caught.value.code == "E0704"


def test_letters_stay() -> None:
    assert taylor("sin(a*x)/sin(b*x)", "x", 1).text == "a/b"


def test_signs_and_quotients_of_coefficients() -> None:
    assert taylor("erf(x)", "x", 3).text == "2*x/sqrt(pi) - 2*x**3/(3*sqrt(pi))"
