"""What other programs read: strict JSON, CSV without formulas, NPY without pickle."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradcli.display.records import csv_text, dump_json, tensor_record, write_csv, write_npy
from gradcli.ops.errors import TypeFault, ValueFault
from tests.support.families import family


def strict(text: str) -> object:
    """Parse as a reader that takes no NaN, and look for anything a terminal would act on."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    assert all(" " <= character <= "~" for character in text)
    return json.loads(text, parse_constant=refuse)


@family(
    "data, record",
    [
        (np.float64(2.5), {"data": 2.5, "shape": [], "dtype": "float64"}),
        (3, {"data": 3, "shape": [], "dtype": "int64"}),
        (np.array([True]), {"data": [True], "shape": [1], "dtype": "bool"}),
        ([[1.0], [math.inf]], {"data": [[1.0], ["Infinity"]], "shape": [2, 1], "dtype": "float64"}),
        (-math.inf, {"data": "-Infinity", "shape": [], "dtype": "float64"}),
        (np.zeros((2, 0)), {"data": [[], []], "shape": [2, 0], "dtype": "float64"}),
        (np.full((2, 1, 0), 1j), {"data": [[[]], [[]]], "shape": [2, 1, 0], "dtype": "complex128"}),
        (
            np.array([1 + 2j, complex(math.nan, 0)]),
            {
                "data": [{"re": 1.0, "im": 2.0}, {"re": "NaN", "im": 0.0}],
                "shape": [2],
                "dtype": "complex128",
            },
        ),
    ],
)
def test_records(data, record):
    assert tensor_record(data) == record
    assert strict(dump_json(tensor_record(data))) == record


def test_the_dtype_name_can_be_given():
    assert tensor_record([1.5], "float32")["dtype"] == "float32"


def _from_json(data: object) -> object:
    names = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return [_from_json(item) for item in data] if isinstance(data, list) else names.get(data, data)


@seed(30)
@settings(max_examples=100, deadline=None, database=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
def test_float64_round_trip(array):
    record = strict(dump_json(tensor_record(array)))
    back = np.array(_from_json(record["data"]), dtype=np.float64).reshape(record["shape"])
    np.testing.assert_array_equal(back, array)
    assert (np.signbit(back) == np.signbit(array))[~np.isnan(array)].all()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@seed(31)
@settings(max_examples=150, deadline=None, database=None)
@given(_JSON)
def test_any_object_becomes_strict_json(obj):
    strict(dump_json(obj))


def test_arrays_and_numbers_inside_objects():
    obj = {"x": np.array([1.0, np.nan]), "n": np.int64(3), "f": np.float32(np.inf), "c": 1 - 1j}
    assert strict(dump_json(obj)) == {
        "x": [1.0, "NaN"],
        "n": 3,
        "f": "Infinity",
        "c": {"re": 1.0, "im": -1.0},
    }


def test_the_object_itself_is_left_as_it_was():
    obj = {"a": [math.nan, (math.inf,)]}
    dump_json(obj)
    assert math.isnan(obj["a"][0]) and obj["a"][1] == (math.inf,)


def test_half_characters_and_controls_are_made_harmless():
    name = "\ud800 \udc80\x7f\x1b[31m \\ud800 \U0001f600 \u2028"
    assert strict(dump_json({name: name}))  # the parser takes it
    assert "\\ud800 " not in dump_json(["\ud800 "])
    assert strict(dump_json(["\\ud800", "\U0001f600"])) == ["\\ud800", "\U0001f600"]


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(TypeFault):
        dump_json({"f": print})
    with pytest.raises(TypeFault):
        tensor_record(np.array(["a"]))
    circle: list = []
    circle.append(circle)
    with pytest.raises(ValueError, match="Circular"):
        dump_json(circle)


def test_a_million_floats():
    data = np.random.default_rng(3).standard_normal((1000, 1000))
    data[5, 5] = np.nan
    text = dump_json(tensor_record(data))
    assert text.count(",") > 999_999


@seed(32)
@settings(max_examples=60, deadline=None, database=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=2, max_side=5)))
def test_csv_keeps_every_digit(array):
    rows = [[float(cell) for cell in row] for row in csv.reader(io.StringIO(csv_text(array)))]
    np.testing.assert_array_equal(np.array(rows).reshape(array.shape), array)


def test_csv_of_other_values():
    assert csv_text(3.0) == "3.0\n"
    assert csv_text(np.arange(3)) == "0\n1\n2\n"
    assert csv_text(np.array([1 + 2j])) == "1+2j\n"
    assert csv_text([]) == ""
    with pytest.raises(ValueFault) as caught:
        csv_text(np.zeros((1, 1, 1)))
    assert caught.value.code == "E0905"


@family("text", ["=1+1", "+A1", "-2+3", "@SUM(A1)", " =1", "\t=1", "\uff1d1"])
def test_no_formula_leaves(text):
    (cell,) = next(csv.reader(io.StringIO(write_csv([[text]]))))
    assert cell.startswith("'")


def test_cells():
    row = ["a,b", 'say "hi"', "two\nlines", "\x1b[31m", None, True, 2, 0.1, np.float64(2), 1j, -3]
    text = write_csv([row])
    assert text == '"a,b","say ""hi""",two\\nlines,\\x1b[31m,,true,2,0.1,2.0,1j,-3\n'


def test_npy_round_trip():
    data = np.arange(6.0).reshape(2, 3).T
    write_npy(out := io.BytesIO(), data)
    back = np.load(io.BytesIO(out.getvalue()), allow_pickle=False)
    np.testing.assert_array_equal(back, data)
    with pytest.raises(TypeFault):
        write_npy(out, np.array([object()]))
