"""Random programs print under gradcli what they print under PyTorch (generate.py makes them)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import gradcli
from tests.support.oracles import load
from tests.support.recorded import difference

HERE = Path(__file__).parent


def _load(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate, snippets = _load("generate"), _load("snippets")
RECORD = load("differential")
TEXTS = RECORD["cases"]
STRIPE = 100


def test_there_are_many_and_they_differ():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert len(TEXTS) >= 2600
    assert TEXTS.count(None) < 5  # of which PyTorch dies
    assert len({generate.program(seed) for seed in range(len(TEXTS))}) == len(TEXTS)


@pytest.mark.parametrize("start", range(0, len(TEXTS), STRIPE))
def test_programs_print_what_pytorch_prints(start):
    for seed in range(start, start + STRIPE):
        if TEXTS[seed] is None:
            continue
        text = generate.program(seed)
        got = snippets.printed(gradcli, text)
        if found := difference(got, TEXTS[seed]):
            pytest.fail(f"program {seed}, {found}\n{text}\n--- here\n{got}")
