"""A batch gives one record a row, in order; a bad row costs only itself."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcli
from gradcli.batch.evaluate import RECORD_LIMIT, Evaluator
from gradcli.batch.readers import Row
from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault
from tests.support.batches import output_of
from tests.support.families import family


def batch(program, text, form="jsonl", mode="line", **options):
    """The records as a strict reader finds them."""
    output, summary = output_of(program, text, form, mode, **options)
    records = [strict(line) for line in output.split("\n")[:-1]]
    assert summary.rows == len(records)
    assert summary.failed == sum(not record["ok"] for record in records)
    assert [record["row"] for record in records] == list(range(1, len(records) + 1))
    return records


def strict(line):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    assert all(" " <= c <= "~" for c in line)
    return json.loads(line, parse_constant=refuse)


def codes(records):
    return [None if record["ok"] else record["error"]["code"] for record in records]


def test_values_and_gradients():
    (record,) = batch("a*exp(-b*t)", '{"id": "p", "a": 2, "b": 0.5, "t": 3}')
    e = math.exp(-1.5)
    assert list(record) == ["schema", "row", "id", "ok", "value", "grads"]
    assert record["id"] == "p" and record["ok"] is True and record["schema"] == 1
    assert record["value"] == {"data": pytest.approx(2 * e), "shape": [], "dtype": "float64"}
    assert {n: g["data"] for n, g in record["grads"].items()} == pytest.approx(
        {"a": e, "b": -6 * e, "t": -e}
    )


def test_csv_and_jsonl_agree():
    csv = 'id,x,y\nfirst,"0,1,2,3",2\nsecond,5,0.1\n'
    lines = '{"id": "first", "x": [0,1,2,3], "y": 2}\n{"id": "second", "x": 5, "y": 0.1}\n'
    assert batch("sum(x*x)*y", csv, "csv") == batch("sum(x*x)*y", lines)


POISON = {
    '{"x": 1}': "E0202",
    '{"x": [1, 2], "y": [1, 2, 3]}': "E0301",
    '{"x": [1, 2], "y": 1}': "E0403",
    '{"x": "two", "y": 1}': "E0901",
    '{"x": 1, "y": "0:1e12"}': "E0602",
    '{"x": 1, "y": 1': "E0920",
    '{"x": 1, "y": 1, "y": 2}': "E0924",
}


def test_a_bad_row_harms_no_other():
    good = '{"id": "g", "x": 3, "y": 4}'
    (alone,) = batch("x*y", good)
    for bad in POISON:
        found = batch("x*y", f"{good}\n{bad}\n{good}\n")
        assert codes(found) == [None, POISON[bad], None]
        assert found[0] == alone
        assert {**found[2], "row": 1} == alone
        error = found[1]["error"]
        assert list(error) == ["code", "message", "help", "span"]


def test_an_error_of_the_program_has_its_span():
    (record,) = batch("1 + x[5]", '{"x": [1, 2]}')
    assert record["error"]["code"] == "E0307"
    assert record["error"]["span"] == {"line": 1, "column": 5, "end_line": 1, "end_column": 9}


def test_limits_hold_for_each_row_alone():
    program = "s = x\nwhile s < 100:\n    s = s + step\ns*x"
    text = '{"x": 1, "step": 1}\n{"x": 1, "step": 0}\n{"x": 1, "step": 2}\n'
    found = batch(program, text, mode="file", limits=Limits(steps=150))
    assert codes(found) == [None, "E0601", None]
    text = '{"x": 1, "n": "int:1000000"}\n{"x": 1, "n": "int:2"}\n'
    found = batch("sum(ones(n)*x)", text, limits=Limits(memory=1 << 20))
    assert codes(found) == ["E0602", None]


def test_a_record_has_a_bounded_size():
    found = batch("outer(x, x)", '{"x": "0:2000"}\n{"x": "0:2"}', grad=False)
    assert codes(found) == ["E0609", None]
    assert f"{RECORD_LIMIT:,}" in found[0]["error"]["message"]


def test_what_a_row_switches_is_switched_back():
    program = "if x > 1:\n    manual_seed(0)\n    assert x < 3, 'too large'\nx*x*ones(())"
    records = batch(program, '{"x": 5}\n{"x": 1}\n', mode="file")
    assert codes(records) == ["E0313", None]
    assert records[1]["value"]["dtype"] == "float64"
    assert gradcli.get_default_dtype() is gradcli.float32 and gradcli.is_grad_enabled()


def test_wrt_and_values_only():
    text = '{"x": 3, "n": "int:2"}'
    (record,) = batch("x^n", text)
    assert list(record["grads"]) == ["x"] and record["grads"]["x"]["data"] == 6
    assert "grads" not in batch("x^n", text, grad=False)[0]
    assert batch("x^n", text, wrt=["x"])[0]["grads"]["x"]["data"] == 6
    assert codes(batch("x^n", text, wrt=["n"])) == ["E0910"]
    assert codes(batch("x*e", '{"x": 1}', wrt=["e"])) == ["E0202"]
    with pytest.raises(Fault) as caught:
        Evaluator(prepare("x*y"), wrt=["z"])
    assert caught.value.code == "E0910"


def test_a_result_that_depends_on_nothing_has_zero_gradients():
    for program in ("floor(x)", "3", "len(x) if False else 2.5"):
        (record,) = batch(program, '{"x": 3, "y": 1}')
        for g in record["grads"].values():
            assert g == {"data": 0.0, "shape": [], "dtype": "float64"}


def test_the_programs_own_backward_does_not_add_up():
    (record,) = batch("y = x*x\ny.backward()\nx*3", '{"x": 5}', mode="file")
    assert record["grads"]["x"]["data"] == 3
    text = "y = x*x\ny.backward()\nx.grad"
    (record,) = batch(text, '{"x": 5}', mode="file")
    assert record["value"]["data"] == 10 and record["grads"]["x"]["data"] == 0
    (record,) = batch(text, '{"x": 5}', mode="file", grad=False)  # as the command eval
    assert record["value"]["data"] == 10
    (record,) = batch("y = x*z\ny.backward()\nz.grad", '{"x": 5, "z": 2}', mode="file", wrt=["x"])
    assert record["value"]["data"] == 5 and record["grads"]["x"]["data"] == 0
    text = "z.requires_grad_(False)\nx*z"  # no 0 for what the program took off the graph
    assert codes(batch(text, '{"x": 5, "z": 2}', mode="file")) == ["E0404"]


def test_a_cotangent():
    (record,) = batch("x^2", '{"x": [1, 2, 3]}', cotangent=[1, 0, 2])
    assert record["grads"]["x"]["data"] == [2, 0, 12]
    assert codes(batch("x^2", '{"x": [1, 2]}', cotangent=[1, 0, 2])) == ["E0912"]


def test_dtype():
    (record,) = batch("x*y", '{"x": 1.5, "y": [1]}', dtype="float32")
    assert record["value"]["dtype"] == record["grads"]["y"]["dtype"] == "float32"
    with pytest.raises(Fault) as caught:
        Evaluator(prepare("x"), dtype="int64")
    assert caught.value.code == "E0905"


def test_results_that_are_no_numbers():
    for program in ("'text'", "print(x)", "2**70", "[None]", "y = 'text'"):
        assert codes(batch(program, '{"x": 1}')) == ["E0314"]
    (record,) = batch("[1, 2]", '{"x": 3}', grad=False)
    assert record["value"] == {"data": [1, 2], "shape": [2], "dtype": "int64"}
    (record,) = batch("y = x*x", '{"x": 3}')
    assert record["value"]["data"] == 9 and record["grads"]["x"]["data"] == 6
    (record,) = batch("[x, 2*x]", '{"x": 3}', cotangent=[1, 10])
    assert record["value"]["data"] == [3, 6] and record["grads"]["x"]["data"] == 21
    (record,) = batch("x > 1", '{"x": 2}')
    assert record["value"] == {"data": True, "shape": [], "dtype": "bool"}


def test_infinities_are_strings():
    records = batch("x/y", '{"x": 1, "y": 0}\n{"x": 0, "y": 0}\n{"x": "-inf", "y": 1}')
    assert [record["value"]["data"] for record in records] == ["Infinity", "NaN", "-Infinity"]


def test_a_field_does_not_replace_a_function_but_a_constant():
    (record,) = batch("sin(x) + e", '{"x": 0, "sin": 7, "e": 5}')
    assert record["value"]["data"] == 5 and "sin" not in record["grads"]


def test_unknown_functions_are_the_programs_error():
    with pytest.raises(Fault) as caught:
        Evaluator(prepare("sni(x)"))
    assert caught.value.code == "E0201"


def test_the_order_of_fields_makes_no_new_program():
    program = prepare("a + b*c")
    evaluator = Evaluator(program)
    for order in ("abc", "cba", "bca"):
        evaluator.answers([Row(1, None, {name: np.float64(2) for name in order})])
    assert len(program.generated.codes) == 1


@family("id", ["=1+1", "@cmd", "\x1b[31m", "a\u2028b\x85", "\u202e", "[/red]", "é"])
def test_ids_come_back_inert(id):
    line = json.dumps({"id": id, "x": 1}, ensure_ascii=False) + "\n"
    (record,) = batch("x", line)
    assert record["id"] == id


def test_broken_ids_are_still_strict_json():
    (record,) = batch("x", '{"id": "\\ud800", "x": 1}')
    assert record["id"] == "\ufffd"


numbers = st.one_of(
    st.floats().map(lambda v: v if math.isfinite(v) else str(v).replace("inf", "Infinity")),
    st.integers(), st.booleans(), st.none(), st.text(max_size=5),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
)  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.dictionaries(st.sampled_from(["id", "x", "y", "sin", "e"]), numbers), max_size=6)
)
def test_one_record_a_row_whatever_it_holds(data):
    text = "".join(json.dumps(row) + "\n" for row in data)
    records = batch("sum(x*y + sin(x)) + e", text)
    assert len(records) == len(data)
    for row, record in zip(data, records, strict=True):
        if record["ok"]:
            assert record["id"] == row.get("id")
            assert set(record["grads"]) <= {"x", "y", "e"}
        alone = batch("sum(x*y + sin(x)) + e", json.dumps(row))[0]
        assert {**alone, "row": record["row"]} == record
