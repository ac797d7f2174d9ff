"""Every program in examples/ runs, and prints what was recorded beside it."""

from __future__ import annotations

import io
import pathlib
import re

import pytest

from gradcli.engine import dtypes
from gradcli.engine.creation import generator as random
from gradcli.language.runtime.run import prepare
from gradcli.language.syntax.source import Source
from tests.support.recorded import difference

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.grad"))


@pytest.fixture(autouse=True)
def _same_start():
    before = dtypes.get_default_dtype()
    random.manual_seed(0)
    yield
    dtypes.set_default_dtype(before)


def test_there_are_examples():
    assert len(PROGRAMS) >= 15


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_example_prints_what_was_recorded(path):
    program = prepare(Source(path.read_text(), path.name), "file")
    dtypes.set_default_dtype("float32" if program.checked.uses_torch else "float64")
    out = io.StringIO()
    program.run({}, write=out.write)
    assert not difference(out.getvalue(), path.with_suffix(".out").read_text())


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_batch_files_give_the_recorded_records(form, capsys):
    from gradcli.cli.main import run

    code = run(["batch", "sum(a*exp(-b*t))", f"--{form}", str(EXAMPLES / f"decay.{form}")])
    captured = capsys.readouterr()
    assert not difference(captured.out, (EXAMPLES / f"decay.{form}.out").read_text())
    assert code == (0 if form == "csv" else 1)  # one row of the JSONL file lacks a variable


def test_a_file_of_rows_as_a_table(capsys):
    from gradcli.cli.main import run

    rows = ["--csv", str(EXAMPLES / "decay.csv"), "--wrt", "a,b", "--id", "id", "--format", "csv"]
    assert run(["batch", "a*exp(-b*t)", *rows]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "id,value,d_a,d_b" and lines[1].startswith("first,1.21306131942526")


@pytest.mark.parametrize("name", ["jobs", "grading"])
def test_files_of_jobs_give_the_recorded_records(name, capsys):
    from gradcli.cli.main import run

    code = run(["batch", "--jobs", str(EXAMPLES / f"{name}.jsonl")])
    recorded = (EXAMPLES / f"{name}.jsonl.out").read_text()
    found = [re.sub(_ROUNDING, r"\1 0", text) for text in (capsys.readouterr().out, recorded)]
    assert not difference(*found)
    assert code == 1  # one job of each cannot be run


_ROUNDING = r'("max_rel_error":) [0-9.]+(e-\d+|(?=[,}]))'
"""What is left of rounding errors, in every digit the processor's."""
