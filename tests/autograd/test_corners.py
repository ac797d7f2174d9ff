"""Corners of autograd print under gradcli what they print under PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcli
from tests.behaviours.snippets import cells, printed
from tests.support.oracles import load
from tests.support.recorded import difference

HERE = Path(__file__).parent
CELLS = {name: cells([HERE / f"{name}.py"]) for name in ("corners", "nodes")}
RECORDS = {name: load(name)["cases"] for name in CELLS}


def test_the_recording_is_of_these_cells():
    assert {n: list(cases) for n, cases in RECORDS.items()} == {n: list(CELLS[n]) for n in CELLS}


@pytest.mark.parametrize("file, name", [(file, name) for file in CELLS for name in CELLS[file]])
def test_prints_what_pytorch_prints(file, name):
    assert not difference(printed(gradcli, CELLS[file][name]), RECORDS[file][name])
