"""Every cell prints under gradcli what it prints under PyTorch; random numbers to the character."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import gradcli
from tests.support.families import family
from tests.support.oracles import load
from tests.support.recorded import difference

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("snippets", HERE / "snippets.py")
snippets = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(snippets)
CELLS = snippets.cells()
RECORD = load("behaviours")


def printed(name):
    """What a cell prints; what it sets ends with it."""
    try:
        return snippets.printed(gradcli, CELLS[name])
    finally:
        gradcli.set_default_dtype(gradcli.float32)
        gradcli.set_printoptions(profile="default")
        gradcli.set_grad_enabled(True)


def test_the_recording_is_of_these_cells():
    assert RECORD["made_with"]["torch"] == "2.13.0"
    assert list(RECORD["cases"]) == list(CELLS)
    assert len(CELLS) >= 500


@family("name", CELLS, by=lambda name: name.partition(":")[0])
def test_prints_what_pytorch_prints(name):
    assert not difference(printed(name), RECORD["cases"][name])


@pytest.mark.parametrize("name", [name for name in CELLS if "random numbers" in name])
def test_a_seed_gives_pytorchs_numbers_bit_for_bit(name):
    assert printed(name) == RECORD["cases"][name]
