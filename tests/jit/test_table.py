"""Every operator of the table as generated code, against the engine: values and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcli
from gradcli.jit import eager
from gradcli.jit.emit import decides, math_function
from gradcli.ops import OPERATORS
from tests.ops.table import ROWS
from tests.support.families import family

CASES = [(name, place) for name, row in ROWS.items() for place in range(len(row.cases))]
RTOL = {"value": 1e-13, "gradient": 1e-13, "jvp": 1e-13, "hessian": 1e-12, "hvp": 1e-12}
ONE_SIDED = ("zeta", "gammainc", "gammaincc")
"""No rule by the first argument, so that mixed second derivatives depend on the mode."""
MANY = 16
"""Entries from which a Hessian is left to the product with a vector, and to the long form. After
two cases of an operator, all but its value and gradient are left to it."""
DOMAIN = (ArithmeticError, ValueError)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def leaves(tree: Any) -> list:
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def close(got: Any, want: Any, rtol: float, unsure: float = 0.0) -> None:
    """Equal to within ``rtol`` of the entry or of the array's largest entry, or to ``unsure``."""
    for a, b in zip(leaves(got), leaves(want), strict=True):
        if b is None:
            assert a is None
            continue
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype == b.dtype
        finite = np.abs(b[np.isfinite(b)])
        atol = max(rtol * float(np.max(finite, initial=1.0)), unsure)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def functions(name: str, place: int) -> tuple:
    """The operator, a scalar made of it that is curved, and the arrays they take."""
    row = ROWS[name]
    op, params = OPERATORS[name], row.cases[place].params  # not the tables: a program holds these
    arguments = row.arguments(place)
    places = [i for i, a in enumerate(arguments) if isinstance(a, np.ndarray)]

    def operation(*values: Any) -> Any:
        full = list(arguments)
        for i, v in zip(places, values, strict=True):
            full[i] = v
        return op(*full, **params)

    def scalar(*values: Any) -> Any:
        out = operation(*values)
        if out.is_complex():
            out = gradcli.real(out) + 2 * gradcli.imag(out)
        if not out.is_floating_point():
            out = out.double()
        return (gradcli.sin(out) * 1.3 + out).sum()

    return operation, scalar, [arguments[i] for i in places]


@family("name, place", CASES, by=lambda name, place: name[0])
def test_generated_code_agrees_with_the_engine(name, place):
    """A program that runs to its end is compared; a domain error is left to the engine."""
    many = sum(np.size(a) for a in ROWS[name].arguments(place)) > MANY
    left = {"jvp", "hessian", "hvp"} if place > 1 else {"hessian"} if many else set()
    agree(name, place, [what for what in RTOL if what not in left])


@pytest.mark.long
@family("name, place", CASES)
def test_every_further_derivative_of_generated_code_agrees_with_the_engine(name, place):
    agree(name, place, ["jvp", "hessian", "hvp"])


def agree(name: str, place: int, kinds: list[str]) -> None:
    operation, scalar, arrays = functions(name, place)
    real = all(a.dtype.kind == "f" for a in arrays)
    rng = np.random.default_rng(place)
    along = [np.asarray(rng.standard_normal(a.shape)) for a in arrays]
    for what in kinds:
        function = operation if what == "value" else scalar
        second = what not in ("value", "gradient")
        if (what != "value" and not ROWS[name].wrt) or (second and not real):
            continue
        if what == "hvp" and name in ONE_SIDED:
            continue
        given = [*arrays, *along] if what in ("jvp", "hvp") else arrays
        given = [float(a) if a.shape == () and a.dtype == np.float64 else a for a in given]
        try:
            want = eager.RUN[what](function, given, False)
        except gradcli.ops.errors.Fault:
            continue
        compiled = gradcli.compile(function)
        entry = compiled._wanted(what, tuple(arrays))
        assert entry.program is not None, (what, entry.reason)
        try:
            found = compiled._generated(entry, given)
        except DOMAIN:
            continue
        if found is not None:
            close(entry.finish(found, False), want, RTOL[what])


def test_operators_that_jump_are_known():
    """What they are computed from has to have NumPy's digits."""
    jumps = {op.name for op in OPERATORS.values() if decides(op)}
    assert {
        "floor",
        "round",
        "sign",
        "gt",
        "eq",
        "argmax",
        "remainder",
        "frac",
        "floor_divide",
    } <= (jumps)
    assert not jumps & {"zeros_like", "sin", "where", "relu", "maximum"}


@family("name", sorted(o.name for o in OPERATORS.values() if math_function(o)))
def test_functions_of_math_are_the_operators(name):
    """But for the last digits, wherever both give a number."""
    op = OPERATORS[name]
    function = math_function(op)
    compared = 0
    for x in np.concatenate([np.linspace(-3, 3, 61), [1e-9, -1e-9, 30.0, 170.0, -170.0]]).tolist():
        given = (x, 0.7 - x)[: op.arity]
        try:
            got = function(*given)
        except DOMAIN:
            continue
        want = float(op.compute(*(np.float64(v) for v in given)))
        assert got == pytest.approx(want, rel=1e-14, abs=1e-300)
        compared += 1
    assert compared > 20
