"""The values that flags carry: every form, every error with its place, none of it slow."""

from __future__ import annotations

import json
import math
import time
import timeit
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradcli.display.values import show_value
from gradcli.language.values.flags import read_value
from gradcli.language.values.reader import ValueFormFault
from gradcli.ops.errors import Fault, LimitFault, ValueFault
from tests.support.families import family

NAMES = {"pi": math.pi, "e": math.e, "max": max, "grid": lambda n: np.arange(float(n))}


def evaluate(text: str) -> object:
    """Stands in for the expression language."""
    try:
        return eval(text, {"__builtins__": {}}, NAMES)
    except (SyntaxError, NameError) as error:
        raise Fault("E0101", "not an expression", help="see") from error


def same(value: object, expected: np.ndarray) -> None:
    expected = np.asarray(expected)
    assert isinstance(value, np.generic if expected.ndim == 0 else np.ndarray)
    assert value.dtype == expected.dtype
    assert value.shape == expected.shape
    np.testing.assert_array_equal(value, expected)
    if expected.ndim:
        assert value.flags.c_contiguous and value.flags.writeable


F = np.float64


@family(
    "text, expected",
    [
        ("5", F(5)),
        (" -5 ", F(-5)),
        ("+.5e-3", F(0.0005)),
        ("1_000", F(1000)),
        ("inf", F(np.inf)),
        ("-Infinity", F(-np.inf)),
        ("NaN", F(np.nan)),
        ("5,", [5.0]),
        ("0,1,2,3", [0.0, 1, 2, 3]),
        ("0, 1 ,\t2,", [0.0, 1, 2]),
        ("-1,-inf,nan", [-1, -np.inf, np.nan]),
        ("1,2;3,4", [[1.0, 2], [3, 4]]),
        ("1,2;3,4;", [[1.0, 2], [3, 4]]),
        ("1,2,;3,4,", [[1.0, 2], [3, 4]]),
        ("1;2;3", [[1.0], [2], [3]]),
        ("1,2;", [[1.0, 2]]),
        ("2x2:1,2,3,4", [[1.0, 2], [3, 4]]),
        ("1x1:7", [[7.0]]),
        ("2 x 1 : 1,2", [[1.0], [2]]),
        ("2x2x1:0:4", [[[0.0], [1]], [[2], [3]]]),
        ("[[1,2],[3,4]]", [[1.0, 2], [3, 4]]),
        ("[ 1, 2, ]", [1.0, 2]),
        ("[[[1],[2]]]", [[[1.0], [2]]]),
        ("[]", np.zeros(0)),
        ("[[],[]]", np.zeros((2, 0))),
        ("[NaN, -Infinity]", [np.nan, -np.inf]),
        ("0:4", [0.0, 1, 2, 3]),
        ("0:1:0.1", np.arange(10) / 10),
        ("1:1.3:0.1", [1, 1.1, 1.2]),
        ("10:0:-2.5", [10, 7.5, 5, 2.5]),
        ("-1:1:5e-1", [-1, -0.5, 0, 0.5]),
        ("3:3", np.zeros(0)),
        ("1e20:5e20:2e20", [1e20, 3e20]),
        ("int:3", np.int64(3)),
        ("int:-1,2", np.array([-1, 2])),
        ("int:1e3", np.int64(1000)),
        ("int:9007199254740993.0", np.int64(2**53 + 1)),
        ("int:1.2345678901234567e18", np.int64(1234567890123456700)),
        ("int:9223372036854775807.0", np.int64(2**63 - 1)),
        ("int:9007199254740993", np.int64(9007199254740993)),
        ("int:[[1],[2]]", np.array([[1], [2]])),
        ("int:0:3", np.array([0, 1, 2])),
        ("int32: 7", np.int32(7)),
        ("uint8:255", np.uint8(255)),
        ("long:2", np.int64(2)),
        ("bool:true", np.bool_(True)),
        ("bool:1,False,0,TRUE", np.array([True, False, False, True])),
        ("bool:[true,false]", np.array([True, False])),
        ("float32:1,2", np.array([1, 2], np.float32)),
        ("float:0.1", np.float32(0.1)),
        ("double:0.1", F(0.1)),
        ("float16:1,2;3,4", np.array([[1, 2], [3, 4]], np.float16)),
        ("float32:2x1:1,2", np.array([[1], [2]], np.float32)),
        ("2x1:float32:1,2", np.array([[1], [2]], np.float32)),
        ("complex128:1+2j", np.complex128(1 + 2j)),
        ("complex:1", np.complex128(1)),
        ("complex64:1, 2j", np.array([1, 2j], np.complex64)),
        ("1+2j", np.complex128(1 + 2j)),
        ("1 - 2j, 3", np.array([1 - 2j, 3])),
        ("[1,2j]", np.array([1, 2j])),
    ],
)
def test_forms(text, expected):
    same(read_value(text), expected)


@family(
    "text, expected",
    [
        ("pi/4", F(math.pi / 4)),
        ("2+3", F(5)),
        ("grid(3)", [0.0, 1, 2]),
        ("0,pi/2,max(1,2)", [0, math.pi / 2, 2]),
        ("0,pi;max(1,2),1", [[0, math.pi], [2, 1]]),
        ("[pi, 2*pi]", [math.pi, 2 * math.pi]),
        ("[1,2]*2", [1.0, 2, 1, 2]),
        ("(1,2)", [1.0, 2]),
        ("2x2:grid(4)", [[0.0, 1], [2, 3]]),
        ("0:2*pi:pi/8", np.arange(16) * (math.pi / 8)),
        ("pi:4", [math.pi]),
        ("e", F(math.e)),
        ("int:2+3", np.int64(5)),
        ("float32:pi", np.float32(math.pi)),
        ("2*(1+1j)", np.complex128(2 + 2j)),
        ("1<2", F(1)),
    ],
)
def test_constant_expressions(text, expected):
    same(read_value(text, evaluate=evaluate), expected)


def test_the_dtype_of_what_names_none():
    same(read_value("1,2", dtype="float32"), np.array([1, 2], np.float32))
    same(read_value("1j", dtype="float32"), np.complex64(1j))
    same(read_value("float64:1", dtype="float32"), F(1))
    same(read_value("7", dtype="int64"), np.int64(7))
    with pytest.raises(ValueFault) as caught:
        read_value("1", dtype="object")
    assert caught.value.code == "E0905"


@family(
    "text, code, part, message, help",
    [
        ("0,1,2o,3", "E0901", "2o", "item 3 is not a number", "did you mean 20?"),
        ("2o", "E0901", "2o", "the value is not a number", "did you mean 20?"),
        ("1,2;3, 4l", "E0901", "4l", "item 2 of row 2 is not a number", "did you mean 41?"),
        ("[1,2o]", "E0901", "2o", "item 2 is not a number", "did you mean 20?"),
        ("1,\u22123", "E0901", "\u22123", "item 2", "did you mean -3? (this minus sign is U+2212)"),
        ("\uff15", "E0901", "\uff15", "not a number", "did you mean 5? (a character here is"),
        ("\u00e9", "E0901", "\u00e9", "not a number", "plain ASCII"),
        ("1 2 3", "E0901", "1 2 3", "not a number", "did you mean 1,2,3?"),
        ("1.000.000", "E0901", "1.000.000", "not a number", "did you mean 1000000?"),
        ("3.5kg", "E0901", "3.5kg", "not a number", "did you mean 3.5?"),
        ("1e", "E0901", "1e", "not a number", "did you mean 1e0?"),
        ("0x10", "E0901", "0x10", "not a number", "did you mean 16?"),
        ("1d5", "E0901", "1d5", "not a number", "did you mean 1e5?"),
        ("1__0", "E0901", "1__0", "not a number", "did you mean 1_0?"),
        ("1+2i", "E0901", "1+2i", "not a number", "did you mean 1+2j?"),
        ("2.5.1", "E0901", "2.5.1", "not a number", None),
        ("1e400", "E0901", "1e400", "too large for float64", "write inf"),
        ("0,-1e999", "E0901", "-1e999", "item 2 is too large", "write inf"),
        ("0,1-1e999j", "E0901", "1-1e999j", "item 2 is too large for complex128", "write inf"),
        ("float32:1,1e39", "E0901", "1e39", "item 2 is too large for float32", "wider dtype"),
        ("true", "E0901", "true", "not a number", "did you mean bool:true?"),
        ("1,,2", "E0901", ",", "item 2 is empty", "remove"),
        ("1, ;2,3", "E0903", "2,3", "row 2 has 2 items; row 1 has 1", None),
        ("[1,,2]", "E0901", ",", "item 2 is empty", "remove"),
        ("", "E0901", "", "the value is empty", None),
        ("  ", "E0901", "", "the value is empty", None),
        ("int:", "E0901", "", "the value is empty", None),
        (",", "E0901", ",", "item 1 is empty", None),
        (";", "E0901", ";", "item 1 of row 1 is empty", None),
        ("1,2;3", "E0903", "3", "row 2 has 1 item; row 1 has 2", "as many items"),
        ("1,2; 3,4,5 ;6,7", "E0903", "3,4,5", "row 2 has 3 items; row 1 has 2", None),
        ("[[1,2],[3]]", "E0903", "[3]", "row 2 has 1 item; row 1 has 2", None),
        ("[[[1],[2,3]]]", "E0903", "[2,3]", "row 2 of [0] has 2 items", None),
        ("[[[1]],[[2],[3]]]", "E0903", "[[2],[3]]", "item 2 has shape (2, 1)", None),
        ("[1,[2]]", "E0903", "[2]", "item 2 is a list; item 1 is a number", None),
        ("[[1],2]", "E0903", "2", "item 2 is a number; item 1 is a list", None),
        ("[" * 65 + "]" * 65, "E0903", "[", "nest deeper than 64", None),
        ("[1,2", "E0901", "[", "never closed", "add a ]"),
        ("[1,2]]", "E0901", "]", "never opened", None),
        ("[1][2]", "E0901", "[2]", "more follows", None),
        ("[1],[2]", "E0901", ",[2]", "more follows", "[[1,2],[3,4]]"),
        ("[1 [2]]", "E0901", "[", "a comma is missing", None),
        ("[[1] 2]", "E0901", "2", "a comma is missing", None),
        ("3x3:1,2", "E0903", "3x3", "3x3 needs 9 items; 2 given", None),
        ("2x2:2x2:1", "E0903", "2x2", "two shapes", None),
        ("x".join("1" * 65) + ":1", "E0903", "x".join("1" * 65), "axes", None),
        ("int:float:3", "E0901", "float", "two dtypes", None),
        ("flot32:1", "E0901", "flot32", "`flot32:` is not a dtype", "did you mean float32:?"),
        ("zebra:1", "E0901", "zebra", "is not a dtype", "int:"),
        ("int:3.5", "E0901", "3.5", "not a whole number", "int64 holds"),
        ("int:4503599627370497.25", "E0901", "4503599627370497.25", "not a whole number", None),
        (
            "int:0.99999999999999999999",
            "E0901",
            "0.99999999999999999999",
            "not a whole number",
            "int64 holds",
        ),
        ("int:1,nan", "E0901", "nan", "item 2 is not a whole number", None),
        ("int:0:1:0.5", "E0901", "0:1:0.5", "item 2 is not one that int64 holds", None),
        ("uint8:1,256", "E0901", "256", "item 2 does not fit uint8", "0 to 255"),
        ("int:" + "9" * 5000, "E0901", "9" * 5000, "does not fit int64", None),
        ("bool:2", "E0901", "2", "neither true nor false", None),
        ("float64:1j", "E0901", "1j", "complex, not float64", "complex128:"),
        ("0:1:0", "E0901", "0", "the step is zero", None),
        ("1:0", "E0901", "1:0", "away from the end", "did you mean 1:0:-1?"),
        ("0:1:-0.1", "E0901", "0:1:-0.1", "away from the end", "did you mean 0:1:0.1?"),
        ("0:", "E0901", "", "the end is missing", None),
        (":1", "E0901", ":", "the first value is missing", None),
        ("0:inf", "E0901", "inf", "the end is not a finite real number", None),
        ("0:1:2:3", "E0901", ":", "a range stands alone", None),
        ("0:1,2", "E0901", ":", "a range stands alone", None),
        ("0:2o", "E0901", "2o", "the end is not a number", "did you mean 20?"),
        ("apple", "E0901", "apple", "not a number", None),
    ],
)
def test_errors_and_their_places(text, code, part, message, help):
    with pytest.raises(ValueFormFault) as caught:
        read_value(text)
    fault = caught.value
    assert isinstance(fault, ValueError)
    assert (fault.code, fault.text) == (code, text)
    assert text[fault.start : fault.end] == part
    assert fault.end > fault.start
    assert message in fault.message
    if help is not None:
        assert help in fault.help


@pytest.mark.parametrize(
    "text", ["2024-10-12", "12/25/2024", "2024-10-12 10:30", "1.#INF", "-1.#IND", "1#2"]
)
def test_what_is_written_out_is_not_computed(text):
    for form in (text, f"[pi, {text}]", f"1,{text}"):
        with pytest.raises(ValueFormFault) as caught:
            read_value(form, evaluate=lambda _: pytest.fail("it was evaluated"))
        assert caught.value.code == "E0901"


def test_a_slip_is_named_even_where_expressions_are_read():
    with pytest.raises(ValueFormFault) as caught:
        read_value("0,1,2o,3", evaluate=evaluate)
    assert (caught.value.start, caught.value.end) == (4, 6)


def test_faults_of_an_expression():
    with pytest.raises(Fault) as caught:  # the whole text: its own positions hold
        read_value("pi*", evaluate=evaluate)
    assert type(caught.value) is Fault
    with pytest.raises(ValueFormFault) as caught:
        read_value("1, pi*, 2", evaluate=evaluate)
    assert caught.value.code == "E0101"
    assert caught.value.text[caught.value.start : caught.value.end] == "pi*"
    with pytest.raises(LimitFault):
        read_value("1, grid(9)", evaluate=_limited)
    with pytest.raises(ValueFormFault) as caught:
        read_value("1, grid(9)", evaluate=evaluate)
    assert caught.value.code == "E0903"
    for wrong in ("text", [[1], [1, 2]], None, 2**70):
        with pytest.raises(ValueFormFault) as caught:
            read_value("f(1)", evaluate=lambda _, wrong=wrong: wrong)
        assert caught.value.code == "E0901"


def _limited(_: str) -> object:
    raise LimitFault("E0602", "too much")


@family(
    "text", ["0:1e12", "0:1e300", "0:1e18:1e-18", "-1e308:1e308:1e-300", "0:1:1e-300", "int:0:1e10"]
)
def test_ranges_are_sized_before_they_are_made(text):
    with pytest.raises(LimitFault) as caught:
        read_value(text)
    assert caught.value.code == "E0602"


def test_the_limit_can_be_set():
    assert read_value("0:10", max_bytes=80).size == 10
    for text in ("0:11", "[" + "1," * 11 + "]", "pi," * 11):
        with pytest.raises(LimitFault):
            read_value(text, max_bytes=80, evaluate=evaluate)


def test_ranges_do_not_add_up_errors():
    value = read_value("0:1000:0.1")
    assert value.tolist() == [i / 10 for i in range(10_000)]
    assert read_value("0:0.3:0.1").tolist() == [0.0, 0.1, 0.2]


def test_long_and_deep_texts_are_no_trouble():
    assert read_value("[" * 32 + "1" + "]" * 32).ndim == 32
    try:  # NumPy 2 has 64 axes, NumPy 1 half as many
        assert read_value("[" * 64 + "1" + "]" * 64).ndim == 64
    except ValueFormFault as fault:
        assert fault.code == "E0903"
    assert read_value(",".join(["1"] * 200_000)).shape == (200_000,)
    assert read_value("[" + ",".join(["[1,2]"] * 50_000) + "]").shape == (50_000, 2)
    for text in ("[" * 100_000, "(" * 100_000, "-" * 100_000, "1x" * 100_000 + ":"):
        with pytest.raises(Fault):
            read_value(text)


@family(
    "text",
    [
        "1" + " " * 100_000 + "j",
        "1" * 100_000 + "!",
        "1" + "+1i" * 30_000 + "!",
        "1 " * 50_000 + "!",
        "1e+" * 30_000,
        "1_" * 50_000,
        "1.1" * 30_000 + "kg",
        "int:" + "1" * 100_000 + "x",
        "[" + "1 " * 50_000 + "]",
        "0:" + "9" * 100_000,
    ],
)
def test_time_grows_with_the_length_only(text):
    start = time.process_time()
    with pytest.raises(Fault):
        read_value(text)
    assert time.process_time() - start < 1


def test_the_everyday_list_is_fast():
    best = min(timeit.repeat(lambda: read_value("0,1,2,3"), number=2000, repeat=5)) / 2000
    assert best < 20e-6


def test_a_long_list_takes_little_beside_its_text():
    expected = np.arange(300_000) % 7 + 0.5
    for rows in (expected, expected.reshape(3, -1)):
        text = json.dumps(rows.tolist())
        tracemalloc.start()
        try:
            value = read_value(text)
            assert tracemalloc.get_traced_memory()[1] < 8 * len(text)
        finally:
            tracemalloc.stop()
        np.testing.assert_array_equal(value, rows)


# -- round trips --------------------------------------------------------------------------------


@seed(40)
@settings(max_examples=100, deadline=None, database=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=3)))
def test_what_is_shown_in_full_reads_back(array):
    same(read_value(show_value(array, "full")), array)


@seed(41)
@settings(max_examples=100, deadline=None, database=None)
@given(
    hnp.arrays(
        st.sampled_from(["int64", "int8", "uint8", "bool", "float32", "float16", "complex64"]),
        hnp.array_shapes(min_dims=1, max_dims=3, max_side=3),
    )
)
def test_every_dtype_reads_back(array):
    same(read_value(f"{array.dtype}:{show_value(array, 'full')}"), array)


@seed(42)
@settings(max_examples=100, deadline=None, database=None)
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=3, max_side=3)))
def test_the_shape_prefix_reads_back(array):
    sizes = "x".join(map(str, array.shape))
    same(read_value(f"{sizes}:{','.join(map(repr, array.reshape(-1).tolist()))}"), array)


@seed(43)
@settings(max_examples=400, deadline=None, database=None)
@given(st.text(alphabet="0123456789.,;:[]()xeEjio+-_ @tru\u2212\"'\n", max_size=24))
def test_any_text_gives_a_value_or_a_fault_within_it(text):
    try:
        value = read_value(text, max_bytes=1 << 16, allow_files=False)
    except ValueFormFault as fault:
        assert 0 <= fault.start <= len(text) and fault.start < fault.end <= len(text) + 1
    except LimitFault:
        pass
    else:
        assert value.dtype.kind in "biufc"
