"""Corners of autograd print under gradcli what they print under PyTorch."""

from __future__ import annotations

from pathlib import Path

import gradcli
from tests.behaviours.snippets import cells, printed
from tests.support.families import family
from tests.support.oracles import load
from tests.support.recorded import difference

FILES = ("corners", "modes", "nodes")
CELLS = {file: cells([Path(__file__).parent / f"{file}.py"]) for file in FILES}
RECORDS = {file: load(file)["cases"] for file in FILES}


@family("file", FILES)
def test_the_recording_is_of_these_cells(file):
    assert list(RECORDS[file]) == list(CELLS[file])


@family("file, name", [(file, name) for file in FILES for name in CELLS[file]])
def test_prints_what_pytorch_prints(file, name):
    assert not difference(printed(gradcli, CELLS[file][name]), RECORDS[file][name])
