"""The cells run by the language: what is in it prints what PyTorch prints.

A cell that needs what the language leaves out must be refused for exactly that: a construct by the
parser or the checker, or one of the names that programs cannot use, each with what to write
instead. Any other refusal is a bug.
"""

from __future__ import annotations

import functools
import importlib.util
import warnings
from pathlib import Path

import pytest

import gradcli
from gradcli.language.diagnostics.foreign_names import FUNCTIONS
from gradcli.language.diagnostics.render import SyntaxFault
from gradcli.language.names.attributes import WITHHELD
from gradcli.language.runtime.run import Limits, prepare
from gradcli.ops.errors import Fault
from tests.support.families import family
from tests.support.oracles import load
from tests.support.recorded import difference

HERE = Path(__file__).parent


def _loaded(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


snippets = _loaded("snippets")
CELLS = snippets.cells()
RECORD = load("behaviours")
PRELUDE = "import torch\nimport numpy as np\n"
CONSTRUCTS = {
    "E0112": "names with two underscores",
    "E0115": "exclusive or",
    "E0139": "other modules",
    "E0163": "modules of PyTorch that programs do not have",
    "E0206": "modules as values",
}
# Cells that print something else as programs alone, and why.
APART = {
    "notebook_tensors: hook returning the wrong thing": "the message has the hook's generated name",
    "notebook_learning: numpy of grad errors": "np.array of a tensor leads its gradient",
    "inplace: a leaf refuses": "tensors have no methods with two underscores",
}


@pytest.fixture(autouse=True)
def as_it_was():
    gradcli.set_default_dtype(gradcli.float32)
    yield
    gradcli.set_default_dtype(gradcli.float32)


@functools.cache
def refusal(text):
    """The construct or name that keeps a text out of the language; None where it is in."""
    try:
        prepare(PRELUDE + text, "file").checked.require(())
    except SyntaxFault as fault:
        return _construct(fault)
    return None


def _construct(fault):
    if fault.code in CONSTRUCTS:
        return CONSTRUCTS[fault.code]
    if any(fault.message == f"programs cannot use `{name}`" for name in (*WITHHELD, *FUNCTIONS)):
        return fault.message
    raise fault


def printed(text):
    """What a program prints, and what kept it from ending."""
    out = []
    program = prepare(PRELUDE + text, "file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program.run({}, limits=Limits(), write=out.append)
    except Fault as fault:
        return snippets.plain("".join(out)), fault
    return snippets.plain("".join(out)), None


@family("name", CELLS, by=lambda name: name.partition(":")[0])
def test_prints_what_pytorch_prints(name):
    needs = refusal(CELLS[name])
    if needs is not None:
        pytest.skip(f"needs {needs}")
    text, fault = printed(CELLS[name])
    if fault is not None and name not in APART:
        pytest.skip(f"needs what is withheld: {_construct(fault)}")
    found = difference(text, RECORD["cases"][name])
    if name in APART:
        assert fault or found, "now the same: take it off the list"
    else:
        assert not found


def test_most_cells_are_programs():
    taken = [name for name, text in CELLS.items() if refusal(text) is None]
    assert len(taken) >= 0.95 * len(CELLS)


def test_what_a_program_sets_ends_with_it():
    text = (
        "import torch\ntorch.set_printoptions(precision=2)\ntorch.set_default_dtype(torch.float64)"
    )
    prepare(f"{text}\nprint(torch.tensor(1 / 3))", "file").run({})
    assert repr(gradcli.tensor(1 / 3)) == "tensor(0.3333)"
    prepare(text, "file").run({}, lasting=True)
    try:
        assert repr(gradcli.tensor(1 / 3)) == "tensor(0.33)"
    finally:
        gradcli.set_printoptions(profile="default")
