"""A wrong formula never gets out: what disagrees with the engine is withheld, with both values.

Closed form and number come from one rule; to make them differ, a rule is made wrong for symbols.
"""

from __future__ import annotations

from typing import Any

import pytest

from gradcli.ops.errors import Fault
from gradcli.ops.operator import OPERATORS
from gradcli.symbolic import diff
from gradcli.symbolic.trace.symbol import Symbol


def wrong_for_symbols(name: str, monkeypatch: pytest.MonkeyPatch, spoil: Any) -> None:
    op = OPERATORS[name]
    (rule,) = op.rules

    if op.reads[0] == ("x",):

        def changed(x: Any) -> Any:
            return spoil(rule(x)) if isinstance(x, Symbol) else rule(x)
    else:

        def changed(out: Any) -> Any:
            return spoil(rule(out)) if isinstance(out, Symbol) else rule(out)

    monkeypatch.setattr(op, "rules", (changed,))


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "tanh", "cosh"])
def test_a_wrong_rule_is_withheld(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_for_symbols(name, monkeypatch, lambda d: d * 1.001)
    with pytest.raises(Fault) as caught:
        diff(f"x*{name}(2*x)", "x")
    assert caught.value.code == "E0702"
    assert "by the formula" in caught.value.message and "by the engine" in caught.value.message
    assert any("the formula was" in note for note in caught.value.notes)


def test_a_wrong_sign_in_a_matrix_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_for_symbols("sin", monkeypatch, lambda d: -d)
    with pytest.raises(Fault) as caught:
        diff("sum(sin(A @ x))", "x")
    assert caught.value.code == "E0702"


@pytest.mark.parametrize("order", [1, 2])
def test_a_wrong_rule_beside_an_inverse(monkeypatch: pytest.MonkeyPatch, order: int) -> None:
    """Where points are chosen with care, what is wrong by a little is found all the same."""
    wrong_for_symbols("sin", monkeypatch, lambda d: d * 1.0001)
    with pytest.raises(Fault) as caught:
        diff("sin(a*trace(inv(X.T @ X)))", "a", order=order)
    assert caught.value.code == "E0702"


def test_unchecked_answers_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_for_symbols("sin", monkeypatch, lambda d: -d)
    result = diff("sin(x)", "x", check=False)
    assert result.text == "-cos(x)" and result.checked is None


def test_no_point_of_the_domain() -> None:
    with pytest.raises(Fault) as caught:
        diff("log(-1 - x**2)", "x")
    assert caught.value.code == "E0701"


def test_a_formula_without_a_value_is_refused() -> None:
    """det(A)*inv(A) where A is singular everywhere: right nowhere that could be checked."""
    with pytest.raises(Fault) as caught:
        diff("det(flip(eye(m), 0) + eye(m) + y)", "y", declared={"y": "vector:m"})
    assert caught.value.code == "E0701" and "no value" in caught.value.message
