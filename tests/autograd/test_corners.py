"""Corners of autograd print under gradcli what they print under PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcli
from tests.behaviours.snippets import cells, printed
from tests.support.oracles import load
from tests.support.recorded import difference

CELLS = cells([Path(__file__).parent / "corners.py"])
RECORD = load("corners")


def test_the_recording_is_of_these_cells():
    assert list(RECORD["cases"]) == list(CELLS)


@pytest.mark.parametrize("name", CELLS)
def test_prints_what_pytorch_prints(name):
    assert not difference(printed(gradcli, CELLS[name]), RECORD["cases"][name])
