"""Every trouble a row can have becomes that row's problem, and the next row is read as ever."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcli.batch import lines as lines_module
from gradcli.ops.errors import ValueFault
from tests.support.batches import read_rows
from tests.support.families import family

GOOD = '{"id": "good", "x": 1.5}\n'


def rows(text, form="jsonl", **options):
    return list(read_rows(io.BytesIO(text.encode("utf-8", "surrogateescape")), form, **options))


def test_values_of_every_form():
    line = {
        "id": 7, "a": 2, "b": [1, 2.5], "c": [[1, 2], [3, 4]], "d": "1,2;3,4", "e": "int:3",
        "f": "NaN", "g": ["NaN", "-Infinity", 1], "h": True, "i": [True, False], "j": [],
        "k": "1+2j", "l": [[], []], "m": {"re": 1, "im": 2}, "n": [[{"re": 1, "im": "NaN"}], [2]],
    }  # fmt: skip
    (row,) = rows(json.dumps(line) + "\n")
    assert row.problem is None and row.number == 1 and row.id == 7
    v = row.values
    assert type(v["a"]) is np.float64 and v["a"] == 2
    assert v["b"].tolist() == [1.0, 2.5] and v["c"].shape == (2, 2) and v["c"].dtype == "float64"
    assert v["d"].tolist() == [[1, 2], [3, 4]] and v["e"].dtype == "int64"
    assert np.isnan(v["f"]) and np.isnan(v["g"][0]) and v["g"][1] == -np.inf
    assert v["h"].dtype == "bool" and v["i"].tolist() == [True, False]
    assert v["j"].shape == (0,) and v["k"] == 1 + 2j and v["l"].shape == (2, 0)
    assert v["m"] == 1 + 2j and v["n"].shape == (2, 1) and v["n"][1, 0] == 2
    assert v["n"][0, 0].real == 1 and np.isnan(v["n"][0, 0].imag)


def test_dtype_is_that_of_values_that_name_none():
    (row,) = rows('{"a": 2, "b": [1], "c": "3", "d": "float64:1"}', dtype="float32")
    assert [v.dtype.name for v in row.values.values()] == ["float32"] * 3 + ["float64"]


JSON_TROUBLES = {
    "not JSON": ("{x: 1}", "E0920"),
    "cut off": ('{"x": 1', "E0920"),
    "more after the object": ('{"x": 1} {"x": 2}', "E0920"),
    "not an object": ("[1, 2]", "E0920"),
    "null": ("null", "E0920"),
    "a bare NaN": ('{"x": NaN}', "E0920"),
    "a bare infinity": ('{"x": -Infinity}', "E0920"),
    "5,000 digits": ('{"x": ' + "9" * 5000 + "}", "E0920"),
    "deep lists": ("[" * 100_000, "E0920"),
    "deep objects": ('{"x":' * 100_000, "E0920"),
    "a control character": ('{"x": "1\x01"}', "E0920"),
    "a NUL": ('{"x": 1\0}', "E0921"),
    "a lone surrogate": ('{"x": 1, "id": "\udcff"}', "E0921"),
    "a field twice": ('{"x": 1, "x": 2}', "E0924"),
    "a field twice, inside": ('{"x": 1, "other": {"a": 1, "a": 2}}', "E0924"),
    "null as value": ('{"x": null}', "E0923"),
    "an object as value": ('{"x": {"re": 1}}', "E0923"),
    "a word as a complex part": ('{"x": {"re": 1, "im": "a"}}', "E0923"),
    "complex parts": ('{"x": [{"re": {"re": 1, "im": 1}, "im": 1}]}', "E0923"),
    "lists as complex parts": ('{"x": {"re": [1], "im": [2]}}', "E0923"),
    "too large": ('{"x": 1e999}', "E0923"),
    "a whole number too large": ('{"x": 1' + "0" * 400 + "}", "E0923"),
    "too large, in a list": ('{"x": [1, 1e999]}', "E0923"),
    "too large beside an infinity": ('{"x": ["Infinity", 1e999]}', "E0923"),
    "ragged": ('{"x": [[1, 2], [3]]}', "E0923"),
    "ragged in depth": ('{"x": [1, [2]]}', "E0923"),
    "ragged the other way": ('{"x": [[1], 2]}', "E0923"),
    "65 axes": ('{"x": ' + "[" * 65 + "1" + "]" * 65 + "}", "E0923"),
    "true among numbers": ('{"x": [true, 1]}', "E0923"),
    "null in a list": ('{"x": [null]}', "E0923"),
    "text in a list": ('{"x": ["1", "two"]}', "E0923"),
    "a list as id": ('{"id": [1], "x": 1}', "E0923"),
    "an infinite id": ('{"id": 1e999, "x": 1}', "E0923"),
    "no value form": ('{"x": "two"}', "E0901"),
    "an expression": ('{"x": "__import__(\'os\')"}', "E0901"),
    "an empty text": ('{"x": ""}', "E0901"),
    "uneven rows": ('{"x": "1,2;3"}', "E0903"),
    "a file": ('{"x": "@/etc/passwd"}', "E0904"),
    "standard input": ('{"x": "@-"}', "E0904"),
    "too much memory": ('{"x": "0:1e12"}', "E0602"),
}


@family("name", JSON_TROUBLES)
def test_json_trouble_stays_in_its_row(name):
    bad, code = JSON_TROUBLES[name]
    before, found, after = rows(GOOD + bad + "\n" + GOOD)
    assert found.problem is not None and found.problem.code == code
    assert found.problem.message.isprintable() and len(found.problem.message) < 200
    assert before.problem is after.problem is None
    assert [row.number for row in (before, found, after)] == [1, 2, 3]
    assert after.id == "good" and after.values == {"x": 1.5}


CSV_TROUBLES = {
    "too few cells": ("only", "E0925"),
    "too many cells": ("a,1,2,3", "E0925"),
    "an open quote": ('a,"1', "E0925"),
    "the end of a cell of the line before": ('a",1,2', "E0925"),
    "text after a quote": ('a,"1"2,3', "E0925"),
    "a carriage return": ("a,1\r2,3", "E0925"),
    "a NUL": ("a,\0,3", "E0921"),
    "no number": ("a,oops,3", "E0901"),
    "an empty cell": ("a,,3", "E0901"),
    "a file": ("a,@x.npy,3", "E0904"),
}


@family("name", CSV_TROUBLES)
def test_csv_trouble_stays_in_its_row(name):
    bad, code = CSV_TROUBLES[name]
    text = f'id,x,note\ngood,1.5,"a,b"\n{bad}\ngood,1.5,\n'
    before, found, after = rows(text, "csv", wanted={"x"}.__contains__)
    assert found.problem is not None and found.problem.code == code
    assert before.problem is after.problem is None
    assert before.values == after.values == {"x": 1.5}


def test_csv_quotes_lists_blank_lines_and_spaces():
    text = '\ufeffid, x ,y\r\n\r\n=1+1,"1,2,3", 4\r\n"a ""b""","[[1,2],[3,4]]",0:3:1\n'
    first, second = rows(text, "csv")
    assert first.id == "=1+1" and first.values["x"].tolist() == [1, 2, 3] and first.values["y"] == 4
    assert second.id == 'a "b"' and second.values["x"].shape == (2, 2)
    assert second.values["y"].tolist() == [0, 1, 2]


def test_a_huge_quoted_cell():
    cell = ",".join(["1"] * 200_000)
    (row,) = rows(f'x\n"{cell}"\n', "csv")
    assert row.values["x"].shape == (200_000,)


@family("header, code", [("x,x", "E0924"), ('"x', "E0925"), ("1,2", "E0925"), ("x\0", "E0921")])
def test_a_bad_header_is_one_error(header, code):
    with pytest.raises(ValueFault, match="header") as caught:
        rows(f"{header}\n1,2\n3,4\n", "csv")
    assert caught.value.code == code


def test_empty_inputs():
    assert rows("") == rows("\n\n  \n") == rows("x,y\n", "csv") == []


def test_lines_end_at_newlines_only():
    text = '{"id": "a\u2028b\x85c", "x": 1}\r\n\n \t\n{"x": 2}'
    found = rows(text)
    assert [(row.number, row.id, row.values["x"]) for row in found] == [
        (1, "a\u2028b\x85c", 1), (2, None, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_line_past_the_limit_is_passed_over(form, monkeypatch):
    monkeypatch.setattr(lines_module, "LINE_LIMIT", 100)
    lines = ["x"] if form == "csv" else []
    good = "1" if form == "csv" else '{"x": 1}'
    exact = good.ljust(100)
    for long in ("1" * 101, "1" * 102, "1" * 103, "[" * 5000):
        lines += [good, long, exact]
    found = rows("\n".join(lines), form)
    codes = [row.problem and row.problem.code for row in found]
    assert codes == [None, "E0922", None] * 4
    assert rows("\n".join(lines[:-1]) + "\n", form)[-1].problem.code == "E0922"


def test_a_header_past_the_limit_is_refused(monkeypatch):
    """Where it never ends, too: /dev/zero as a CSV."""
    monkeypatch.setattr(lines_module, "LINE_LIMIT", 100)
    with pytest.raises(ValueFault, match="the first line is longer"):
        lines_module.LineSource(io.BytesIO(b"x" * 500), "csv")


def test_a_line_without_an_end_ends_the_batch(monkeypatch):
    monkeypatch.setattr(lines_module, "LINE_LIMIT", 100)
    monkeypatch.setattr(lines_module, "READ", 100)
    source = lines_module.LineSource(io.BytesIO(bytes(20_000)), "jsonl")
    with pytest.raises(ValueFault, match="the input has a line longer than") as caught:
        for _ in range(200):
            source.read()
    assert caught.value.code == "E0922" and source.stream.tell() < 7000


def test_bytes_that_are_not_utf8_spoil_their_row_only():
    data = GOOD.encode() + b'{"x": "\xff\xfe"}\n' + GOOD.encode()
    found = list(read_rows(io.BytesIO(data)))
    assert [row.problem and row.problem.code for row in found] == [None, "E0921", None]
    assert "0xff" in found[1].problem.message


def test_fields_that_are_not_wanted_are_not_read():
    (row,) = rows('{"x": 1, "note": "@secret", "y": null}', wanted={"x"}.__contains__)
    assert row.problem is None and row.values == {"x": 1}


def test_rows_come_before_the_stream_ends():
    class Slow(io.RawIOBase):
        given = iter([GOOD.encode(), b'{"x"'])

        def readable(self):
            return True

        def readinto(self, buffer):
            data = next(self.given, None)
            assert data is not None, "read too far"
            buffer[: len(data)] = data
            return len(data)

    assert next(read_rows(io.BufferedReader(Slow()))).id == "good"


pieces = st.sampled_from(
    ['{"x": ', "1", "}", "[", "]", ",", '"', "id", ":", "\\u0000", "\0", "\udc80", "\u2028", "NaN",
     "1e999", "@-", "true", "null", "\r", " ", "x", "\x1b[31m"]
)  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    st.lists(st.lists(pieces, min_size=1).map("".join), max_size=5),
    st.sampled_from(["jsonl", "csv"]),
)
def test_any_text_gives_a_row_a_line(lines, form):
    lines = [line for line in lines if line.strip()]
    head = ["id,x"] if form == "csv" else []
    found = rows("\n".join(head + lines), form)
    assert len(found) == len(lines)
    for row in found:
        assert row.problem is None or row.problem.message.isprintable()


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_give_rows(data):
    for form in ("jsonl", "csv"):
        for row in read_rows(io.BytesIO(b"id,x\n" * (form == "csv") + data), form):
            assert row.problem is None or row.problem.code.startswith("E09")
