"""NumPy's names of parameters, in functions and methods."""

from __future__ import annotations

import enum

import pytest

import gradcli as torch
from tests.support.families import family

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@family(
    "call, wanted",
    [
        (lambda: torch.narrow(X, axis=1, start=1, length=1), [[2], [4]]),
        (lambda: torch.sum(a=X, axis=0, keepdims=True), [[4, 6]]),
        (lambda: torch.var(X, axis=0, out=torch.empty(2)), [2, 2]),
        (lambda: torch.atan2(X, X).ne(0).sum(axis=1), [2, 2]),
        (lambda: X.var(axis=0), [2, 2]),
        (lambda: X.cumsum(axis=1), [[1, 3], [3, 7]]),
    ],
)
def test_they_stand_for_pytorchs(call, wanted):
    assert call().tolist() == wanted


@family(
    "call, words",
    [
        (lambda: torch.narrow(X, axis=1, begin=0, length=1), "unexpected keyword argument 'begin'"),
        (lambda: torch.narrow(X, 0, axis=1, start=0, length=1), "multiple values for argument 'di"),
        (lambda: torch.var(X, dim=0, axis=1), "multiple values for argument 'dim'"),
        (lambda: X.var(dim=0, axis=1), "multiple values for argument 'dim'"),
        (lambda: torch.mv(X, None), "argument 'vec' \\(position 2\\) must be Tensor, not NoneType"),
    ],
)
def test_errors_are_those_of_the_call_as_it_was_written(call, words):
    with pytest.raises(TypeError, match=words) as fault:
        call()
    assert fault.value.__context__ is None


class Two(enum.IntEnum):
    VALUE = 2


class Half(float):
    pass


@family("text", (
    "X + n", "n - X", "X == n", "n * W", "W ** n", "W.clamp(n)", "torch.where(W > 1, W, n)",
    "torch.full((2,), n)", "torch.add(W, W, alpha=n)", "torch.result_type(W, n)", "X // n",
    "torch.nn.functional.leaky_relu(-X, n)", "torch.tensor([n])", "W.masked_fill(W > 1, n)",
))  # fmt: skip
def test_a_number_of_a_class_of_its_own_counts_as_pythons(text):
    scope = {"torch": torch, "X": X, "W": torch.tensor([1, 2])}
    for value, plain in ((Two.VALUE, 2), (Half(0.5), 0.5)):
        if plain == 2 or "alpha" not in text:  # whole tensors have whole factors
            assert repr(eval(text, scope | {"n": value})) == repr(eval(text, scope | {"n": plain}))


def test_no_dimensions_have_no_slopes():
    assert torch.gradient(X, dim=()) == ()
