"""Programs as learners write them print what Python prints, the Python face in PyTorch's place.

They stand in ``learner_programs.txt``, one after another: closures, slices, formats, numbers,
lists and strings, and tensors among them.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pathlib
import sys

import pytest

import gradcli
from gradcli.cli import inputs
from gradcli.language.runtime.run import prepare
from tests.support.families import family

TEXT = pathlib.Path(__file__).with_suffix("").with_name("learner_programs.txt").read_text()
PROGRAMS = [part.strip("\n") for part in TEXT.split("\n# ----\n")]


@pytest.fixture
def torch_is_gradcli(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", gradcli)
    for name in ("nn", "nn.functional", "autograd", "func", "optim"):
        monkeypatch.setitem(
            sys.modules, f"torch.{name}", importlib.import_module(f"gradcli.{name}")
        )
    before = gradcli.get_default_dtype()
    yield
    gradcli.set_default_dtype(before)


@family("number", range(len(PROGRAMS)))
@pytest.mark.usefixtures("torch_is_gradcli")
def test_a_program_prints_what_python_prints(number):
    text = PROGRAMS[number]
    gradcli.set_default_dtype(gradcli.float32)
    gradcli.manual_seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "program", "exec"), {"__name__": "__main__"})
    gradcli.manual_seed(0)
    program = prepare(text, "file")
    inputs.set_dtype(None, program)
    said = []
    program.run({}, write=said.append)
    wanted = printed.getvalue()
    if "import torch" in text or "from torch" in text:  # then types print as PyTorch's
        wanted = wanted.replace("gradcli.", "torch.")
    assert "".join(said) == wanted
