"""Numbers as people read them: short, right to seven digits, aligned, never wrapped."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradcli.display.values import show_rows, show_value
from gradcli.ops.errors import ValueFault
from tests.support.families import family


@family(
    "value, text",
    [
        (28.0, "28"),
        (28, "28"),
        (0.1 + 0.2, "0.3"),
        (28.000000000000004, "28"),
        (2 / 3, "0.6666667"),
        (-0.0, "-0"),
        (12345678.0, "12345678"),
        (12345678.5, "1.234568e+07"),
        (1e15, "1e+15"),
        (1e-9, "1e-09"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (True, "True"),
        (2**62, "4611686018427387904"),
        (1 + 2j, "1+2j"),
        (complex(0.5, -1 / 3), "0.5-0.3333333j"),
        (complex(math.nan, math.inf), "nan+infj"),
        (np.float32(0.1), "0.1"),
        (np.float64(4.0), "4"),
        (np.array(4.0), "4"),
        (np.uint8(200), "200"),
        (np.longdouble(1.5), "1.5"),
        ([0.0, 4.0, 8.0, 12.0], "[0, 4, 8, 12]"),
        ([0.28085451, 0.28115231], "[0.2808545, 0.2811523]"),
        ([True, False], "[True, False]"),
        ([], "[]"),
        (np.zeros((0, 3)), "[] shape (0, 3)"),
        ([[0.0]], "[[0]]"),
    ],
)
def test_default(value, text):
    assert show_value(value) == text


@family(
    "value, precision, text",
    [
        (0.1 + 0.2, "full", "0.30000000000000004"),
        (2 / 3, 3, "0.667"),
        (123456.0, 3, "1.23e+05"),
        (123456, 3, "123456"),
        (28.0, "full", "28"),
        (1e300, "full", "1e+300"),
        (np.float32(0.1), "full", "0.1"),
        (np.float16(0.1), "full", "0.1"),
        (np.complex64(0.1 - 0.2j), "full", "0.1-0.2j"),
        (1 / 3, 20, "0.33333333333333331483"),
        ([0.1, 1 / 3], "full", "[0.1, 0.3333333333333333]"),
    ],
)
def test_precision(value, precision, text):
    assert show_value(value, precision) == text


@family("wrong", [0, -1, "most", 1.5, True])
def test_a_precision_that_means_nothing(wrong):
    with pytest.raises(ValueFault) as caught:
        show_value(1.0, wrong)
    assert caught.value.code == "E0905"


def test_matrices_are_aligned():
    value = [[-0.28085451, 0.56170901], [-0.28115231, 0.56230462]]
    assert show_value(value) == "[[-0.2808545,  0.5617090],\n [-0.2811523,  0.5623046]]"
    assert show_value([[1, 200], [-3, 4]]) == "[[  1, 200],\n [ -3,   4]]"
    assert show_value([[1.0, 0.5], [0.0, 0.25]]) == "[[   1, 0.50],\n [   0, 0.25]]"
    assert show_value([[1e-9, 0.5]]) == "[[1e-09,   0.5]]"


def test_restored_zeros_never_pass_the_digits_that_are_right():
    assert show_value([[123456.75, 0.001234568]]) == "[[   123456.8, 0.001234568]]"


def test_three_axes():
    text = show_value(np.arange(8).reshape(2, 2, 2))
    assert text == "[[[0, 1],\n  [2, 3]],\n [[4, 5],\n  [6, 7]]]"


def test_large_arrays_show_their_corners():
    assert show_value(np.arange(1001)) == "[0, 1, 2, ..., 998, 999, 1000]"
    assert show_value(np.arange(1000)).count(",") == 999
    assert show_value(np.arange(1001), "full").count(",") == 1000
    lines = show_value(np.arange(1600).reshape(40, 40)).split("\n")
    assert len(lines) == 7
    assert lines[0] == "[[   0,    1,    2, ...,   37,   38,   39],"
    assert lines[3] == " ...,"


@seed(20)
@settings(max_examples=150, deadline=None, database=None)
@given(st.floats(width=64))
def test_full_reads_back_as_the_same_float(value):
    back = float(show_value(value, "full"))
    assert back == value or (math.isnan(back) and math.isnan(value))


@seed(21)
@settings(max_examples=150, deadline=None, database=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_default_is_right_to_seven_digits(value):
    assert float(show_value(value)) == pytest.approx(value, rel=5.1e-7)


@seed(22)
@settings(max_examples=80, deadline=None, database=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=4)))
def test_the_lines_of_a_matrix_are_equally_long(array):
    lines = show_value(array).split("\n")
    assert len(lines) == len(array)
    assert len({len(line) for line in lines}) == 1
    for line, row in zip(lines, array, strict=True):
        cells = [float(cell) for cell in line.strip("[], ").split(",")]
        np.testing.assert_allclose(cells, row, rtol=5.1e-7)


def test_rows():
    rows = [("value", "28"), ("d/dx", "[0, 4, 8, 12]"), ("d/dW", "[[1, 2],\n [3, 4]]")]
    text = "value  28\nd/dx   [0, 4, 8, 12]\nd/dW   [[1, 2],\n        [3, 4]]"
    assert show_rows(rows) == text


def test_notes_stand_in_a_column():
    rows = [("value", "4"), ("d/dx", "4", "(leaf)"), ("d/dh", "-4", "kept"), ("d/dz", "1", "")]
    assert show_rows(rows) == "value  4\nd/dx   4   (leaf)\nd/dh   -4  kept\nd/dz   1"


def test_no_rows():
    assert show_rows([]) == ""
