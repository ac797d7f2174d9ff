"""``testing.assert_close``: what is close, and what it says where something is not."""

import pytest

import gradcli as g
from gradcli.testing import assert_close
from tests.support.families import family


@family(
    "actual, expected, options",
    [
        (g.tensor([1.0, 2.0]), g.tensor([1.0, 2.0 + 1e-6]), {}),
        (g.tensor([float("inf")]), g.tensor([float("inf")]), {}),
        (g.tensor(float("nan")), g.tensor(float("nan")), {"equal_nan": True}),
        (g.tensor([1]), g.tensor([1.0]), {"check_dtype": False}),
        ([g.ones(2), {"b": 1.0}], (g.ones(2), {"b": 1.0}), {}),
        (g.zeros(0, 3), g.zeros(0, 3), {}),
        (3.0, 3.0, {}),
    ],
)
def test_close(actual, expected, options):
    assert_close(actual, expected, **options)


@family(
    "actual, expected, said",
    [
        (g.tensor([1.0, 2.0]), g.tensor([1.0, 2.5]), "0.5 at index (1,) (up to 1e-05 allowed)"),
        (g.tensor([1, 2]), g.tensor([1, 3]), "not equal!\n\nMismatched elements: 1 / 2 (50.0%)"),
        (g.tensor(float("nan")), g.tensor(float("nan")), "Expected nan but got nan."),
        (g.ones(2), g.ones(3), "attribute 'shape' do not match: gradcli.Size([2])"),
        (g.ones(2), g.ones(2).double(), "gradcli.float32 != gradcli.float64"),
        ([g.ones(1), g.ones(1)], [g.ones(1), g.zeros(1)], "The failure occurred for item [1]"),
        ({"a": 1.0}, {"b": 1.0}, "Missing keys in the actual mapping: ['b']"),
        (1.0, 1.1, "Expected 1.1 but got 1.0."),
    ],
)
def test_not_close(actual, expected, said):
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected)
    assert said in str(caught.value)


def test_values_of_two_kinds_are_not_compared():
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close(g.ones(2), "1")
    parameter = g.nn.Parameter(g.ones(2))
    assert_close(parameter, g.ones(2))
    with pytest.raises(TypeError, match="Parameter"):
        assert_close([parameter], [g.ones(2)], allow_subclasses=False)
    assert_close([g.ones(2)], [g.ones(2)], allow_subclasses=False)


def test_message_and_lone_tolerance():
    with pytest.raises(AssertionError, match=r"^mine"):
        assert_close(1.0, 2.0, msg="mine")
    with pytest.raises(AssertionError, match=r"^> Scalars"):
        assert_close(1.0, 2.0, msg=lambda said: f"> {said}")
    with pytest.raises(ValueError, match="either specified or omitted"):
        assert_close(1.0, 1.0, rtol=1e-3)
