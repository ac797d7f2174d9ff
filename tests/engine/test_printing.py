"""Tensors print as PyTorch prints them, to the character (tests/oracles/printing.json.gz)."""

from __future__ import annotations

import json
import math
import tracemalloc

import numpy as np
import pytest

import gradcli
from gradcli.engine import printing
from gradcli.engine.printing import format_tensor, get_printoptions, printoptions, set_printoptions
from gradcli.ops.errors import ValueFault
from tests.oracles import record_printing as recorder
from tests.support.families import family
from tests.support.oracles import load

RECORD = load("printing")


@pytest.fixture(autouse=True)
def default_options():
    yield
    set_printoptions(profile="default")


def _printed(case: dict) -> str:
    set_printoptions(profile="default")
    set_printoptions(**case["options"])
    return format_tensor(
        recorder.build(case),
        case["dtype"],
        default_dtype=case["default_dtype"],
        requires_grad=case.get("requires_grad", False),
        grad_fn=case.get("grad_fn"),
    )


def test_every_recorded_text():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    cases = RECORD["cases"]
    assert len(cases) >= 400
    for case in cases:
        text = _printed(case)
        if text != case["text"]:
            inputs = {key: value for key, value in case.items() if key != "text"}
            pytest.fail(f"{inputs}\n--- PyTorch\n{case['text']}\n--- here\n{text}")


def test_the_recording_is_of_the_recipes_in_the_script():
    recorded = [{k: v for k, v in case.items() if k != "text"} for case in RECORD["cases"]]
    assert recorded == json.loads(json.dumps(recorder.recipes()))


@family("shape", [(1_000_000,), (1000, 1000), (2, 500_000), (100,) * 3, (10,) * 6])
def test_a_million_elements_cost_only_what_is_shown(shape):
    data = np.random.default_rng(1).standard_normal(shape)
    format_tensor(data[:1], "float64")  # what is loaded once is loaded
    tracemalloc.start()
    try:
        text = format_tensor(data, "float64")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    shown = math.prod(min(n, 6) for n in shape)
    assert peak < 600 * shown + data.nbytes / 8
    assert "..." in text


def test_as_many_axes_as_numpy_has():
    ndim = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
    text = format_tensor(np.ones((1,) * ndim), "float32")
    assert text == "tensor(" + "[" * ndim + "1." + "]" * ndim + ")"


def test_options_come_back_after_the_block():
    set_printoptions(precision=3, sci_mode=False)
    before = get_printoptions()
    with pytest.raises(ZeroDivisionError), printoptions(precision=1, profile="full"):
        assert printing.get_printoptions()["threshold"] == float("inf")
        _ = 1 / 0
    assert get_printoptions() == before


@family("wrong", [{"profile": "wide"}, {"precision": -1}, {"edgeitems": -2}])
def test_options_that_mean_nothing_are_refused(wrong):
    before = get_printoptions()
    with pytest.raises(ValueFault) as caught:
        set_printoptions(**wrong)
    assert caught.value.code == "E0303"
    assert get_printoptions() == before


def test_a_tangent_stands_on_a_line_of_its_own_where_it_is_long():
    x = gradcli.arange(3.0).double()
    with gradcli.autograd.forward_ad.dual_level():
        dual = gradcli.autograd.forward_ad.make_dual(x, x)
        assert repr(dual) == (
            "tensor([0., 1., 2.], dtype=gradcli.float64,\n"
            "       tangent=tensor([0., 1., 2.], dtype=gradcli.float64))"
        )
