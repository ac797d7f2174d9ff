"""``gradcli why`` knows every code that is raised, and each example really makes its error."""

from __future__ import annotations

import ast
import io
import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import gradcli
from gradcli.cli.main import run
from gradcli.language.diagnostics import codes
from gradcli.language.diagnostics.codes import CODES
from gradcli.language.runtime.run import prepare
from gradcli.ops.errors import Fault
from tests.support.batches import read_rows
from tests.support.families import family

PACKAGE = Path(gradcli.__file__).parent


def raised() -> set[str]:
    """Every code that stands as a string in the package, outside the explanations."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if not path.name.startswith("codes"):
            found |= set(re.findall(r'"(E0\d{3})"', path.read_text(encoding="utf-8")))
    return found


def test_every_code_that_is_raised_is_explained():
    assert raised() - set(CODES) == set()


def test_every_code_that_is_explained_is_raised():
    assert set(CODES) - raised() == set()


def test_no_code_is_explained_twice():
    tree = ast.parse(Path(codes.__file__).read_text("utf-8"))
    table = next(node for node in ast.walk(tree) if isinstance(node, ast.Dict))
    keys = [key.value for key in table.keys]
    assert keys == sorted(set(keys)) == list(CODES)


@family("code", CODES)
def test_an_explanation_is_plain_and_whole(code):
    title, explanation, _ = CODES[code]
    assert title[0].islower() or title.split()[0] in ("NaN", "^", "=")
    assert not title.endswith(".")
    assert explanation.endswith((".", "...")) and explanation.isascii()
    assert (title + explanation).isprintable()
    assert 5 <= len(explanation.split()) <= 80


PROGRAMS = [
    c for c, e in CODES.items() if e[2] and e[2][0] not in "$>" and not c.startswith("E092")
]
PYTHON = [code for code, entry in CODES.items() if entry[2].startswith(">>>")]
COMMANDS = [code for code, entry in CODES.items() if entry[2].startswith("$")]
ROWS = [code for code, entry in CODES.items() if code.startswith("E092") and entry[2]]


@family("code", PROGRAMS)
def test_program(code):
    with pytest.raises(Fault) as caught, np.errstate(all="ignore"):
        program = prepare(CODES[code][2], "file")
        program.checked.require(())
        program.run({})
    assert caught.value.code == code


@pytest.mark.filterwarnings("ignore:(?s).*(Anomaly Detection|Error detected)")
@pytest.mark.parametrize("code", PYTHON)
def test_python(code):
    lines = CODES[code][2].splitlines()
    assert all(line.startswith(">>> ") for line in lines)
    with pytest.raises(Fault) as caught:
        exec("\n".join(line[4:] for line in lines), {})
    assert caught.value.code == code


@pytest.mark.parametrize("code", COMMANDS)
def test_command(code, tmp_path, monkeypatch, capsys):
    words = shlex.split(CODES[code][2])
    assert words[:2] == ["$", "gradcli"]
    monkeypatch.chdir(tmp_path)
    with open(os.devnull, encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert run(words[2:]) in (1, 2, 3)
    assert f"error[{code}]" in capsys.readouterr().err


@family("code", ROWS)
def test_row(code):
    text = CODES[code][2]
    (row,) = read_rows(io.BytesIO(text.encode()), "jsonl" if text[0] == "{" else "csv")
    assert row.problem.code == code
